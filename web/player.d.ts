export type * from './lib/types.js';
export type { HlsHandle } from './hlsjs.js';

export { attach as attachDashjs } from './dashjs.js';
export { attach as attachHlsjs } from './hlsjs.js';
export { attach as attachShaka } from './shaka.js';
export { localPolicy } from './lib/policy.js';

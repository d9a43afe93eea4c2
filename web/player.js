/**
 * player.js - all of @abrd/player in one import. A bundler drops the adapters that the page does not use.
 *
 *     import { attachDashjs } from '@abrd/player';
 *
 * @module abrd
 */

export { attach as attachDashjs } from './dashjs.js';
export { attach as attachHlsjs } from './hlsjs.js';
export { attach as attachShaka } from './shaka.js';
export { localPolicy } from './lib/policy.js';

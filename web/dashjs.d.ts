import type { Handle, Options } from './lib/types.js';

export type * from './lib/types.js';

/** Lets the daemon decide the video bitrate. Call it before player.initialize().
 *  @param player a dash.js 5 MediaPlayer */
export function attach(player: object, options?: Options): Handle;

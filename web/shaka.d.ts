import type { Handle, Options } from './lib/types.js';

export type * from './lib/types.js';

/** Puts the daemon in charge of the video bitrate. Call it before player.load().
 *  @param player a shaka.Player */
export function attach(player: object, options?: Options): Handle;

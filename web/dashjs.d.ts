// @ts-ignore dash.js from a script element has no types: then any player is accepted
import type { MediaPlayerClass } from 'dashjs';
import type { Handle, Options } from './lib/types.js';

export type * from './lib/types.js';

/** Lets the daemon decide the video bitrate. Call it before player.initialize().
 *  @param player a dash.js 5 MediaPlayer: MediaPlayer().create() */
export function attach(player: MediaPlayerClass, options?: Options): Handle;

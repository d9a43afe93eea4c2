import type { Handle, Options } from './lib/types.js';

export type * from './lib/types.js';

export interface HlsHandle extends Handle {
    /** The class for `abrController` in the player's configuration; one player each. */
    readonly controller: any;
}

/** Makes the controller of one hls.js player. Call it before `new Hls`.
 *  @param Hls the class of hls.js */
export function attach(Hls: object, options?: Options): HlsHandle;

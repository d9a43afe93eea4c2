import type { Handle, Options } from './lib/types.js';

export type * from './lib/types.js';

export interface HlsHandle extends Handle {
    /** The class for `abrController` in the configuration of one player. */
    readonly controller: any;
}

/** Creates the controller for one hls.js player. Call it before `new Hls`.
 *  @param Hls the class of hls.js */
export function attach(Hls: object, options?: Options): HlsHandle;

export interface Measured {
    bytes: number;
    download_s: number;
}

/** What a page remembers of the viewer's link (memory.js). */
export interface LinkMemory {
    /** Measurements to begin with; none if there is no record. */
    link(): Measured[];
    /** A chunk has arrived. */
    note(chunk: Measured): void;
    /** Removes the record. */
    forget(): void;
}

export interface LinkMemoryOptions {
    /** Name of the record ('abrd:link'). */
    key?: string;
    /** An older record does not count, in seconds (7 days). */
    maxAgeS?: number;
    /** Default: localStorage. */
    storage?: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;
}

export function linkMemory(options?: LinkMemoryOptions): LinkMemory;

/**
 * abandon.js - a chunk that is being downloaded: the daemon may replace it by another level.
 *
 * For the first chunk the daemon is asked once, FIRST_S after its first byte or when half of it has
 * arrived. Nothing was measured before, so the link may be much faster or slower than expected. For
 * other chunks it is asked every LOOK_MS while, at the rate so far, the rest would arrive after the
 * buffer is empty. A timer drives this, since there are no progress events in an outage.
 *
 * @module abrd/abandon
 */

import { later, now } from './core.js';

const LOOK_MS = 500, FIRST_MS = 25, FIRST_S = .25;

/**
 * @typedef {(chunk: number, level: number, signal: AbortSignal, first: boolean) => Promise<void>} Look
 *     watches a chunk until the signal; first: nothing was measured before
 */

/**
 * @param {import('./core.js').Core} core
 * @param {() => [number, number]} progress bytes that have arrived, and of the whole chunk; 0 or NaN: not known
 * @param {() => number} buffer media from the playhead to the beginning of the chunk [s]
 * @param {(kbps: number) => boolean} restart downloads it again at a bitrate; false: not possible
 * @returns {Look}
 */
export const abandoning = (core, progress, buffer, restart) => async (chunk, level, signal, first) => {
    const began = now(), { levels, chunkS } = core.track;
    const sizeOf = l => levels[l].sizes?.[chunk] ?? levels[l].kbps * chunkS * 125;
    const left = ([bytes, total] = progress()) => (total || sizeOf(level)) - bytes;
    // a lower level is faster only if it has fewer bytes than the rest
    const again = a => (a.level > level || sizeOf(a.level) < left()) && restart(a.kbps);

    for (let from; ;) {
        await later(first ? FIRST_MS : LOOK_MS);
        const [bytes] = progress(), elapsed_s = now() - began, buffer_s = first ? 0 : Math.max(buffer(), 0);
        if (signal.aborted) return;
        if (bytes) from ??= elapsed_s;
        const due = first ? bytes >= left() || elapsed_s - from >= FIRST_S :
            left() > sizeOf(0) && left() * elapsed_s > buffer_s * bytes;
        if (due && (!await core.doubt({ chunk, level, bytes, elapsed_s, buffer_s }, again, signal) || first)) return;
    }
};

/**
 * abandon.js - second thoughts about a chunk on its way: the daemon may have it given up and fetched
 * at another level.
 *
 * Of the first chunk, before which nothing was measured, it is asked once, FIRST_S after its first
 * byte or when half of it has come: the link may be much faster or slower than the start assumed. Of any
 * other one every LOOK_MS while at the rate so far the rest would come later than the buffer lasts. By
 * a timer, as in an outage no progress is told.
 *
 * @module abrd/abandon
 */

import { later, now } from './core.js';

const LOOK_MS = 500, FIRST_MS = 25, FIRST_S = .25;

/**
 * @typedef {(chunk: number, level: number, signal: AbortSignal, first: boolean) => Promise<void>} Look
 *     looks after a chunk until the signal; first: nothing was measured before
 */

/**
 * @param {import('./core.js').Core} core
 * @param {() => [number, number]} progress bytes that have come, and of the whole; 0 or NaN: not known
 * @param {() => number} buffer media from the picture to the beginning of the chunk [s]
 * @param {(kbps: number) => boolean} restart gives it up and fetches it at a bitrate, or would not
 * @returns {Look}
 */
export const abandoning = (core, progress, buffer, restart) => async (chunk, level, signal, first) => {
    const began = now(), { levels, chunkS } = core.track;
    const sizeOf = l => levels[l].sizes?.[chunk] ?? levels[l].kbps * chunkS * 125;
    const left = ([bytes, total] = progress()) => (total || sizeOf(level)) - bytes;
    // lower is only faster where less is to come than is left by now
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

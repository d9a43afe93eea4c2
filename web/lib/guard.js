/**
 * guard.js - the levels that a decision may take, as src/abr/deciders/guard.h and first_level.h compute
 * them.
 *
 * @module abrd/guard
 */

import { levelOf, rewardsOf } from './view.js';

/** Link rates that a session may begin with, as shares of the top rate (first_level.h). */
const LINKS = [0.0915, 0.171, 0.2496, 0.3393, 0.45, 0.5967, 0.8114, 1.184, 2.2138];
const LIVE_CHUNKS = 48;

/** The level of the first chunk, when nothing was measured. */
function firstLevel(view) {
    const { ladder, chunkS, chunk, chunks, bytes, qoe: { stall } } = view;
    const later = Math.max((chunks ? chunks - chunk : LIVE_CHUNKS) - 1, 0);
    const smooth = rewardsOf(view, null), links = LINKS.map(share => ladder.at(-1) * share);
    const rest = links.map(link => ladder.map((kbps, j) => {
        const late = kbps / link - 1;
        return later * (smooth[j] - stall * (late > 0 ? chunkS * late : 0));
    }));
    const worth = ladder.map((_, k) => {
        const cost = rewardsOf(view, levelOf(view, k)).map((r, j) => (later ? smooth[j] - r : 0));
        return links.reduce((sum, link, i) => sum + smooth[k] - stall * (bytes[k] * 8e-3 / link) +
            Math.max(...rest[i].map((r, j) => r - cost[j])), 0);
    });
    return worth.indexOf(Math.max(...worth));
}

/** With a short buffer and a large weight of stalls: whether level k leaves at least a second in the buffer. */
function bearable({ bufferS, bufferMaxS, rates, bytes, qoe: { quality, fall, stall } }) {
    const last = rates.at(-1), wary = bufferMaxS <= 12 && last > 0 && stall >= 5 * quality && stall >= 5 * fall;
    const most = wary ? 0.9 * last * 125 * (bufferS - 1) : Infinity;
    return k => k === 0 || bytes[k] <= most;
}

/**
 * Whether each level is offered. Before anything was measured, only the first level is.
 * @param {import('./view.js').View} view
 * @returns {boolean[]}
 */
export function offered(view) {
    const first = !view.rates.length && view.last < 0 ? firstLevel(view) : -1, fits = bearable(view);
    return view.ladder.map((_, k) => (first < 0 ? fits(k) : k === first));
}

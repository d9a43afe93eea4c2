/**
 * first_level.js - the levels that a decision may take, as src/abr/deciders/first_level.h computes them.
 *
 * @module abrd/first_level
 */

import { levelOf, rewardsOf } from './view.js';

/** Link rates that a session may begin with, as shares of the top rate (first_level.h). */
const LINKS = [0.0915, 0.171, 0.2496, 0.3393, 0.45, 0.5967, 0.8114, 1.184, 2.2138];
const LIVE_CHUNKS = 48, SLOW_LINK = 0.09, SLOW_KBPS = 1000, USUAL_KBPS = 4300;

/** The highest level that starts in time on a slow link, for viewers with a ceiling. */
function firstMost({ ladder, bytes, startKbps, qoe: { startupMaxS } }) {
    const slow = SLOW_LINK * ladder.at(-1), usual = slow > SLOW_KBPS ? Math.sqrt(slow * SLOW_KBPS) : slow;
    let top = ladder.length - 1;
    if (startupMaxS > 0) while (top > 0 && bytes[top] * 8e-3 > (startKbps || usual) * startupMaxS) top--;
    return top;
}

/** The level of the first chunk, when nothing was measured. */
function firstLevel(view) {
    const { ladder, chunkS, chunk, chunks, bytes, qoe: { stall, start } } = view;
    const later = Math.max((chunks ? chunks - chunk : LIVE_CHUNKS) - 1, 0);
    const top = Math.min(ladder.at(-1), USUAL_KBPS);
    const smooth = rewardsOf(view, null), links = LINKS.map(share => top * share);
    const rest = links.map(link => ladder.map((kbps, j) => {
        const late = kbps / link - 1;
        return later * (smooth[j] - stall * (late > 0 ? chunkS * late : 0));
    }));
    const worth = ladder.slice(0, firstMost(view) + 1).map((_, k) => {
        const cost = rewardsOf(view, levelOf(view, k)).map((r, j) => (later ? smooth[j] - r : 0));
        return links.reduce((sum, link, i) => sum + smooth[k] - start * (bytes[k] * 8e-3 / link) +
            Math.max(...rest[i].map((r, j) => r - cost[j])), 0);
    });
    return worth.indexOf(Math.max(...worth));
}

/**
 * Whether each level is offered. Before anything was measured, only the first level is.
 * @param {import('./view.js').View} view
 * @returns {boolean[]}
 */
export function offered(view) {
    const { ladder, rates, last } = view, first = !rates.length && last < 0 ? firstLevel(view) : -1;
    return ladder.map((_, k) => first < 0 || k === first);
}

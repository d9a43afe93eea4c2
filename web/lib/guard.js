/**
 * guard.js - the levels that a decision may take, as src/abr/deciders/guard.h and first_level.h compute
 * them.
 *
 * @module abrd/guard
 */

import { forecastOf } from './forecast.js';
import { levelOf, rewardsOf } from './view.js';

/** Link rates that a session may begin with, as shares of the top rate (first_level.h). */
const LINKS = [0.0915, 0.171, 0.2496, 0.3393, 0.45, 0.5967, 0.8114, 1.184, 2.2138];
/** Of the forecast's nine, what a link that disappoints carries. */
const QUANTILE = 1;
const LIVE_CHUNKS = 48, SLOW_LINK = 0.09, SLOW_KBPS = 1000;

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
    const smooth = rewardsOf(view, null), links = LINKS.map(share => ladder.at(-1) * share);
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

/** With a ceiling of stalls: the most bytes that arrive in time on a link that disappoints. */
function ceiled(view) {
    const forecast = forecastOf(view);
    return forecast ? forecast.next[QUANTILE] * Math.exp(-view.margin) * 125 * view.bufferS : Infinity;
}

/** With a short buffer and a large weight of stalls: the most bytes that leave a second in the buffer. */
function wary({ bufferS, bufferMaxS, rates, qoe: { quality, fall, stall } }) {
    const last = rates.at(-1), cares = bufferMaxS <= 12 && last > 0 && stall >= 5 * quality && stall >= 5 * fall;
    return cares ? 0.9 * last * 125 * (bufferS - 1) : Infinity;
}

/**
 * Whether each level is offered. Before anything was measured, only the first level is.
 * @param {import('./view.js').View} view
 * @returns {boolean[]}
 */
export function offered(view) {
    const { ladder, bytes, rates, last, qoe } = view, first = !rates.length && last < 0 ? firstLevel(view) : -1;
    const most = qoe.stallRatioMax > 0 ? ceiled(view) : wary(view);
    return ladder.map((_, k) => (first < 0 ? k === 0 || bytes[k] <= most : k === first));
}

/**
 * plan.js - what each level is worth under each quantile of the forecast, as src/abr/deciders/plan.h
 * computes it: this level for the next chunk, then the best level held for `tail` more chunks.
 *
 * @module abrd/plan
 */

import { lastOf, levelOf, rewardsOf } from './view.js';

/**
 * @param {import('./view.js').View} view
 * @param {import('./forecast.js').Forecast} forecast
 * @param {number} tail chunks
 * @returns {{values: number[][], mean: number[]}} by quantile and level; their mean by level
 */
export function planOf(view, { next, later }, tail) {
    const { ladder, chunkS, chunk, chunks, bufferS, bufferMaxS, bytes, qoe: { stall } } = view;
    const held = chunks ? Math.min(tail, chunks - chunk - 1) : tail;
    const first = rewardsOf(view, lastOf(view)), after = ladder.map((_, k) => rewardsOf(view, levelOf(view, k)));
    const steady = after.map((rewards, m) => (held - 1) * rewards[m]);
    const values = next.map((rate, i) => {
        // the held level m stalls by what this exceeds the buffer
        const late = ladder.map(kbps => {
            const e = kbps * chunkS / later[i];
            return e <= chunkS ? e : held * e - (held - 1) * chunkS;
        });
        return ladder.map((_, k) => {
            const left = bufferS - bytes[k] * 8e-3 / rate;
            const buffer = Math.min(Math.max(left, 0) + chunkS, bufferMaxS);
            const best = held < 1 ? 0 :
                Math.max(...late.map((s, m) => after[k][m] + steady[m] - stall * Math.max(s - buffer, 0)));
            return first[k] + stall * Math.min(left, 0) + best;
        });
    });
    const mean = ladder.map((_, k) => values.reduce((sum, v) => sum + v[k] / values.length, 0));
    return { values, mean };
}

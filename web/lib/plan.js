/**
 * plan.js - what each level is worth under each quantile of the forecast, as src/abr/deciders/plan.h
 * computes it: this level for the next chunk, then the best level held for some chunks more.
 *
 * @module abrd/plan
 */

import { SHARES } from './forecast.js';
import { lastOf, levelOf, rewardsOf } from './view.js';

/** As shipped: PLAN_DEFAULT. */
const TAIL = 8, REACH = 0.75, TAIL_MAX = 60, POOR = 6, CAUTION = 0.5;

/**
 * @param {import('./view.js').View} view
 * @param {import('./forecast.js').Forecast} forecast
 * @returns {{values: number[][], mean: number[]}} by quantile and level; their mean by level
 */
export function planOf(view, { next, later }) {
    const { ladder, chunkS, chunk, chunks, bufferS, bufferMaxS, bytes, margin, qoe: { stall } } = view;
    const trust = margin === 0 ? 1 : Math.exp(-margin);
    const tail = Math.min(TAIL + REACH * bufferS / chunkS, TAIL_MAX);
    const held = chunks ? Math.min(tail, chunks - chunk - 1) : tail;
    const first = rewardsOf(view, lastOf(view)), after = ladder.map((_, k) => rewardsOf(view, levelOf(view, k)));
    const steady = after.map((rewards, m) => (held - 1) * rewards[m]);
    const values = next.map((rate, i) => {
        const heldStall = i < POOR ? CAUTION * stall : stall;
        // the held level m stalls by what this exceeds the buffer
        const late = ladder.map(kbps => {
            const e = kbps * chunkS / (trust * later[i]);
            return e <= chunkS ? e : held * e - (held - 1) * chunkS;
        });
        return ladder.map((_, k) => {
            const left = bufferS - bytes[k] * 8e-3 / (trust * rate);
            const buffer = Math.min(Math.max(left, 0) + chunkS, bufferMaxS);
            const best = held < 1 ? 0 :
                Math.max(...late.map((s, m) => after[k][m] + steady[m] - heldStall * Math.max(s - buffer, 0)));
            return first[k] + stall * Math.min(left, 0) + best;
        });
    });
    const mean = ladder.map((_, k) => values.reduce((sum, v, i) => sum + v[k] * SHARES[i], 0));
    return { values, mean };
}

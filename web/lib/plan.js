/**
 * plan.js - what each level is worth under each quantile of the forecast, as src/abr/deciders/plan.h
 * computes it: this level for the next chunk, then the best level held for some chunks more.
 *
 * @module abrd/plan
 */

import { bytesThatCount, SHARES } from './forecast.js';
import { lastOf, levelOf, rewardsOf } from './view.js';

/** As shipped: PLAN_DEFAULT. */
const TAIL = 8, TAIL_MAX = 60, TAIL_CHUNK_S = 3, REACH = 0.75, SLOW = 12, SLOW_FROM = 0.3;
const FAR = 8, FAR_S = 10, FAR_LIMIT_S = 60, POOR = 6, CAUTION = 0.5, LOW = 0.1, LOW_S = 20, LOW_PART = 5;
const LATER = 10, MIDDLE = 6, NARROW = 0.5, NEXT = 1.04;

/**
 * @param {import('./view.js').View} view
 * @param {import('./forecast.js').Forecast} forecast
 * @returns {{values: number[][], mean: number[]}} by quantile and level; their mean by level
 */
export function planOf(view, forecast) {
    const { mean: meanKbps, spread, next, later } = forecast;
    const { ladder, chunkS, chunk, chunks, bufferS, bufferMaxS, margin, qoe: { stall } } = view;
    const bytes = view.bytes.map(size => bytesThatCount(forecast, size));
    const trust = margin === 0 ? 1 : Math.exp(-margin);
    const slow = Math.max(Math.min(ladder[0] / meanKbps, 1) - SLOW_FROM, 0);
    const large = Math.min(bufferMaxS / FAR_LIMIT_S, 1), far = chunks ? FAR * large * large : 0;
    const reachS = (REACH + SLOW * slow) * bufferS + far * Math.max(bufferS - FAR_S, 0);
    const less = Math.min(TAIL_CHUNK_S / chunkS, 1);
    const tail = Math.min(TAIL + reachS / chunkS, TAIL_MAX * less * Math.sqrt(less));
    const lowS = Math.min(LOW_S * spread * Math.sqrt(chunkS), bufferMaxS / LOW_PART), lowCost = LOW * stall;
    const held = chunks ? Math.min(tail, chunks - chunk - 1) : tail;
    const share = held > LATER ? (LATER / held) ** NARROW : 1, middle = later[MIDDLE];
    // quantiles of the mean of `held` chunks
    const laterHeld = share === 1 ? later : later.map(rate => middle * (rate / middle) ** share);
    const first = rewardsOf(view, lastOf(view)), after = ladder.map((_, k) => rewardsOf(view, levelOf(view, k)));
    const steady = after.map((rewards, m) => (held - 1) * rewards[m]);
    // what a change between m and m + 1 costs
    const change = after.slice(1).map((high, m) => Math.min(after[m][m] - high[m], high[m + 1] - after[m][m + 1]));
    const values = next.map((rate, i) => {
        const heldStall = i < POOR ? CAUTION * stall : stall;
        // the held level m stalls by what this exceeds the buffer
        const late = ladder.map(kbps => {
            const e = kbps * chunkS / (trust * laterHeld[i]);
            return e <= chunkS ? e : held * e - (held - 1) * chunkS;
        });
        return ladder.map((_, k) => {
            const left = bufferS - bytes[k] * 8e-3 / (NEXT * trust * rate);
            const buffer = Math.min(Math.max(left, 0) + chunkS, bufferMaxS);
            let best = held < 1 ? 0 : -Infinity;
            if (held >= 1) late.forEach((until, m) => {
                const low = after[k][m] + steady[m];
                best = Math.max(best, low - heldStall * Math.max(until - buffer, 0)
                    - lowCost * Math.max(until - buffer + lowS, 0));
                // m and m + 1 in turn
                const turn = (buffer - until) * (1 / (late[m + 1] - until));
                if (turn > 0 && turn < 1)
                    best = Math.max(best, low + turn * (after[k][m + 1] + steady[m + 1] - low) - change[m] - lowCost * lowS);
            });
            if (held >= 1) best -= (stall - heldStall) * Math.max(late[0] - buffer, 0);
            return first[k] + stall * Math.min(left, 0) + best;
        });
    });
    const mean = ladder.map((_, k) => values.reduce((sum, v, i) => sum + v[k] * SHARES[i], 0));
    return { values, mean };
}

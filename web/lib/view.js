/**
 * view.js - everything that is known when the next chunk's level is chosen: a question to the daemon,
 * complete and in the units of src/abr/emulator/view.h. Observations and the guard read nothing else.
 *
 * @module abrd/view
 *
 * @typedef {object} View
 * @property {number[]} ladder bitrates of the levels [kbit/s], ascending
 * @property {number[]} bytes of the next chunk at each level
 * @property {number[]} points quality of the next chunk at each level
 * @property {number} chunkS
 * @property {number} chunk
 * @property {number} chunks 0: live, or not known
 * @property {number} bufferS
 * @property {number} bufferMaxS
 * @property {number} last level of the chunk before; -1: none
 * @property {number} lastPoints its quality
 * @property {number[]} rates throughput of the last chunks [kbit/s], oldest first
 * @property {number[]} times their download times
 * @property {Past} past
 * @property {import('./qoe.js').Qoe} qoe
 * @property {number} stalledS of the session so far, without the start
 * @property {number} playedS media of the session so far
 * @property {number} lambda share by which stalls of viewers with a ceiling weigh more (caution.js)
 * @property {number} margin by which forecasts are lowered, a logarithm (caution.js)
 * @property {object[]|null} correction of the forecast (forecast.js); null: none
 * @property {number} startKbps low quantile of first throughputs in this viewer's network; 0: not known
 *
 * @typedef {object} Past a summary of all downloads of a session (struct view_past)
 * @property {number} n downloads, at most PAST; 0: none
 * @property {number} kbit of a download, the mean
 * @property {number} seconds the same
 * @property {number} low the logarithm of the lowest throughput, which is forgotten slowly
 * @property {number} lnMean mean of the throughputs' logarithms
 * @property {number} lnVariance their variance
 * @property {number} lnChange the mean absolute change from one to the next
 * @property {number} lnLast the newest one
 */

import { chunkQoe, qualityCurve } from './qoe.js';
import { leftKbps } from './sound.js';

/** Longest ladder, and chunks remembered one by one. */
export const LEVELS = 32, HISTORY = 8;
/** Downloads that a summary weighs alike; older ones fade. */
export const PAST = 256;

/**
 * @param {number[]} rates [kbit/s], oldest first
 * @param {number[]} times
 * @returns {Past}
 */
export function pastOf(rates, times) {
    const past = { n: 0, kbit: 0, seconds: 0, low: 0, lnMean: 0, lnVariance: 0, lnChange: 0, lnLast: 0 };
    rates.forEach((rate, i) => {
        const logarithm = Math.log(Math.max(rate, 1e-3)), higher = past.n && past.low < logarithm;
        past.low = higher ? past.low + (logarithm - past.low) / PAST : logarithm;
        if (past.n) past.lnChange += (Math.abs(logarithm - past.lnLast) - past.lnChange) / past.n;
        past.lnLast = logarithm;
        past.n = Math.min(past.n + 1, PAST);
        past.kbit += (rate * times[i] - past.kbit) / past.n;
        past.seconds += (times[i] - past.seconds) / past.n;
        const off = logarithm - past.lnMean, step = off / past.n;
        past.lnMean += step;
        past.lnVariance += off * step;
        past.lnVariance -= past.lnVariance / past.n;
    });
    return past;
}

/**
 * @param {import('./types').Question} question the body of POST /v1/decide
 * @param {import('./qoe.js').Qoe} qoe
 * @param {{stalledS?: number, playedS?: number, lambda?: number}} [seen] what the viewer has seen of the
 *     session, and lambda
 * @returns {View}
 */
export function viewOf(question, qoe, { stalledS = 0, playedS = 0, lambda = 0 } = {}) {
    const { ladder_kbps: ladder, chunk_s: chunkS, chunk = 0, chunks = 0, buffer_s: bufferS,
        buffer_max_s: bufferMaxS = 60, last_level: last = -1, quality, height, next_quality: now,
        last_quality: lastPoints, next_bytes: bytes, throughput_kbps: rates = [], download_s: times = [],
        other_kbps: other = 0 } = question;
    // the best source there is
    const usual = quality ?? qualityCurve(ladder, height), left = rates.map(kbps => leftKbps(kbps, other));
    return {
        ladder, chunkS, chunk, chunks, bufferS, bufferMaxS, last, qoe,
        bytes: ladder.map((kbps, k) => (bytes?.[k] > 0 ? bytes[k] : kbps * 1000 / 8 * chunkS)),
        points: usual.map((points, k) => now?.[k] ?? points),
        lastPoints: lastPoints ?? usual[last] ?? 0,
        rates: left.slice(-HISTORY), times: times.slice(-HISTORY), past: pastOf(left, times),
        stalledS, playedS, lambda, margin: 0, correction: null, startKbps: 0,
    };
}

/** The chunk before, as its viewer saw it; null: none. */
export const lastOf = view => (view.last < 0 ? null :
    { kbps: view.ladder[view.last], points: view.lastPoints });

/** Level k of the next chunk. */
export const levelOf = (view, k) => ({ kbps: view.ladder[k], points: view.points[k] });

/** The reward of each level of the next chunk after `before`, without a wait. */
export const rewardsOf = (view, before) => view.ladder.map((_, k) => chunkQoe(view.qoe, levelOf(view, k), before,
    { chunkS: view.chunkS, lowest: view.ladder[0] }).reward);

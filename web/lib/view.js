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
 * @property {import('./qoe.js').Qoe} qoe
 * @property {number} stalledS of the session so far, without the start
 * @property {number} playedS media of the session so far
 * @property {number} lambda share by which stalls of viewers with a ceiling weigh more (caution.js)
 * @property {number} margin by which forecasts are lowered, a logarithm (caution.js)
 * @property {object[]|null} correction of the forecast (forecast.js); null: none
 * @property {number} startKbps low quantile of first throughputs in this viewer's network; 0: not known
 */

import { chunkQoe, qualityCurve } from './qoe.js';
import { leftKbps } from './sound.js';

/** Longest ladder, and chunks remembered. */
export const LEVELS = 32, HISTORY = 8;

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
    const usual = quality ?? qualityCurve(ladder, height), n = Math.min(rates.length, HISTORY);
    return {
        ladder, chunkS, chunk, chunks, bufferS, bufferMaxS, last, qoe,
        bytes: ladder.map((kbps, k) => (bytes?.[k] > 0 ? bytes[k] : kbps * 1000 / 8 * chunkS)),
        points: usual.map((points, k) => now?.[k] ?? points),
        lastPoints: lastPoints ?? usual[last] ?? 0,
        rates: n ? rates.slice(-n).map(kbps => leftKbps(kbps, other)) : [],
        times: n ? times.slice(-n) : [],
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

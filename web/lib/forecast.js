/**
 * forecast.js - a distribution of the throughput to come, given the session's history: the network of
 * src/abr/deciders/forecast.h, and the correction of a daemon's own (forecast_own.h).
 *
 * @module abrd/forecast
 *
 * @typedef {object} Forecast
 * @property {number} mean harmonic mean of the last chunks [kbit/s]
 * @property {number} spread deviation of the logarithms of the history
 * @property {number[]} next quantiles of the throughput of the next chunk, ascending
 * @property {number[]} later of the next ten chunks together
 * @property {number} usual size of a chunk for which `next` holds [bytes]
 * @property {number} growth how the throughput of the next chunk grows with its size
 */

import { NET } from './forecast_net.js';
import { HISTORY, PAST } from './view.js';

const WINDOW = 5;
// what lies far beyond is cut; added: keeps the logarithm of a short download finite
const RATIO_MIN = 0.01, RATIO_MAX = 100, LN_MAX = 4, DOWNLOAD_MAX_S = 100, ADDED_S = 0.05;
const GROWTH_MAX = 0.9, SIZE_MAX_RATIO = 20;
const CORRECTION_UNITS = 24, CORRECTION_MOST = 1.386; // forecast_own.h
/** Added to the spread of a short history, as variances are, by its length. */
const UNSEEN = [0, 0.34, 0.34, 0.25, 0.20, 0.13, 0.08, 0.04, 0];

/** Entries of the network's input. */
export const ENTRIES = 3 * HISTORY + 7;
/** The share of downloads that each quantile stands for. */
export const SHARES = [0.01, 0.02, 0.04, 0.06, 0.22 / 3, 0.35 / 3, 0.13, 0.13, 0.14, 0.14, 0.14];

/** Harmonic mean of up to five of `rates` before `end`. */
export function harmonic(rates, end) {
    const from = Math.max(0, end - WINDOW);
    let sum = 0;
    for (let i = end - 1; i >= from; i--) sum += 1 / Math.max(rates[i], 1e-3);
    return (end - from) / sum;
}

/** Deviation of the logarithms of a history; NaN if it is empty. */
export function spreadOf(rates) {
    const n = rates.length, logs = rates.map(rate => Math.log(Math.max(rate, 1e-3)));
    const mean = logs.reduce((a, x) => a + x, 0) / n, square = logs.reduce((a, x) => a + x * x, 0) / n;
    return Math.sqrt(Math.max(square - mean * mean, 0) + UNSEEN[n] ** 2);
}

const within = (x, low, high) => (x < low ? low : x > high ? high : x);

/**
 * What the network sees of a history that is not empty.
 * @param {{rates: number[], times: number[], past: import('./view.js').Past, chunkS: number}} view
 */
export function entriesOf({ rates, times, past, chunkS }) {
    const n = rates.length, mean = harmonic(rates, n), spread = spreadOf(rates), entries = new Array(ENTRIES).fill(0);
    rates.forEach((rate, i) => {
        const at = HISTORY - n + i;
        entries[at] = Math.log(within(Math.max(rate, 1e-3) / mean, RATIO_MIN, RATIO_MAX));
        entries[HISTORY + at] = Math.log(within(times[i], 0, DOWNLOAD_MAX_S) + ADDED_S);
        entries[2 * HISTORY + at] = 1;
    });
    entries[3 * HISTORY] = spread;
    entries[3 * HISTORY + 1] = Math.log(chunkS);
    entries[3 * HISTORY + 2] = Math.log(within(past.kbit / past.seconds / mean, RATIO_MIN, RATIO_MAX));
    entries[3 * HISTORY + 3] = within(past.low - Math.log(mean), Math.log(RATIO_MIN), Math.log(RATIO_MAX));
    entries[3 * HISTORY + 4] = Math.log(1 + past.n);
    entries[3 * HISTORY + 5] = within(Math.sqrt(Math.max(past.lnVariance, 0)), 0, LN_MAX);
    entries[3 * HISTORY + 6] = within(past.lnChange, 0, LN_MAX);
    return { mean, spread, entries };
}

/** The geometric mean of the newest sizes [bytes]. */
export function usualBytes({ rates, times }) {
    const logs = rates.map((rate, i) => Math.log(Math.max(rate * times[i] * 125, 1))).slice(-WINDOW);
    return Math.exp(logs.reduce((a, x) => a + x, 0) / logs.length);
}

/** The size of a chunk in proportion to the usual one, as far as it counts. */
export const sizeRatio = (bytes, usual) => within(bytes / usual, 1 / SIZE_MAX_RATIO, SIZE_MAX_RATIO);

/**
 * A next chunk of this size takes as long as one of that many bytes at the rates of `next`.
 * @param {Forecast} forecast
 * @param {number} bytes
 */
export const bytesThatCount = ({ usual, growth }, bytes) => bytes * sizeRatio(bytes, usual) ** -growth;

function layer({ weights, bias }, x) {
    const y = [...bias];
    x.forEach((value, i) => { if (value !== 0) weights[i].forEach((w, j) => { y[j] += w * value; }); });
    return y;
}

const outputsOf = (net, entries) => net.reduce((x, one, l) => layer(one, l ? x.map(v => Math.max(v, 0)) : x), entries);

/** Which forecast this is, as forecast_crc32 of the daemon: a correction counts only for its own (input_of). */
export function forecastId() {
    const meaning = 2, layers = NET.flatMap(({ weights, bias }) => [...weights.flat(), ...bias]);
    const places = [0, 1, 2, 3, 4, 5, 6].map(i => 3 * HISTORY + i);
    const numbers = Float64Array.of(meaning, WINDOW, HISTORY, 2 * HISTORY, ...places, RATIO_MIN, RATIO_MAX,
        LN_MAX, DOWNLOAD_MAX_S, ADDED_S, GROWTH_MAX, SIZE_MAX_RATIO, PAST, ...UNSEEN, ...layers);
    let crc = ~0;
    for (const byte of new Uint8Array(numbers.buffer)) {
        crc ^= byte;
        for (let bit = 0; bit < 8; bit++) crc = crc >>> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc >>> 0 || 1;
}

/**
 * The correction as layers.
 * @param {Float32Array} numbers for each layer a row per input, then the biases
 */
export function correctionOf(numbers) {
    const net = [];
    let inputs = ENTRIES + 1, at = 0;
    for (const outputs of [CORRECTION_UNITS, CORRECTION_UNITS, 2 * SHARES.length]) {
        const rows = Array.from({ length: inputs + 1 }, (_, i) => numbers.subarray(at + i * outputs, at + (i + 1) * outputs));
        net.push({ bias: rows.pop(), weights: rows });
        at += (inputs + 1) * outputs;
        inputs = outputs;
    }
    if (at !== numbers.length) throw new Error(`the weights correct the forecast by ${numbers.length} numbers, not ${at}`);
    return net;
}

/**
 * @param {import('./view.js').View} view
 * @returns {Forecast|null} null: nothing was measured
 */
export function forecastOf(view) {
    if (!view.rates.length) return null;
    const { mean, spread, entries } = entriesOf(view), n = SHARES.length;
    const y = outputsOf(NET, entries), growth = within(y.pop(), 0, GROWTH_MAX);
    if (view.correction)
        outputsOf(view.correction, [...entries, Math.log(mean * 1e-3)])
            .forEach((off, j) => { y[j] += within(off, -CORRECTION_MOST, CORRECTION_MOST); });
    for (const from of [0, n]) for (let i = from + 1; i < from + n; i++) y[i] = Math.max(y[i], y[i - 1]);
    const kbps = y.map(x => mean * Math.exp(x));
    return { mean, spread, next: kbps.slice(0, n), later: kbps.slice(n), usual: usualBytes(view), growth };
}

/**
 * forecast.js - a distribution of the throughput to come, given the session's history: the tables and
 * rules of src/abr/deciders/forecast.h.
 *
 * @module abrd/forecast
 *
 * @typedef {object} Forecast
 * @property {number} mean harmonic mean of the last chunks [kbit/s]
 * @property {number} spread deviation of the logarithms of the history
 * @property {number[]} next nine quantiles of the throughput of the next chunk, ascending
 * @property {number[]} later of the ten chunks that follow
 */

const WINDOW = 5;
const KNOT = [0.026, 0.086, 0.169, 0.283, 0.439, 0.671, 1.005];
const NEXT = [
    [-0.151, -0.047, -0.023, -0.010, -0.001, 0.007, 0.018, 0.032, 0.070],
    [-0.393, -0.162, -0.082, -0.031, 0.006, 0.039, 0.076, 0.122, 0.218],
    [-0.584, -0.275, -0.139, -0.046, 0.023, 0.088, 0.153, 0.232, 0.386],
    [-0.758, -0.355, -0.154, -0.017, 0.087, 0.184, 0.278, 0.388, 0.580],
    [-0.958, -0.442, -0.158, 0.026, 0.177, 0.320, 0.451, 0.602, 0.839],
    [-1.155, -0.515, -0.121, 0.150, 0.388, 0.600, 0.789, 0.981, 1.271],
    [-1.234, -0.443, 0.058, 0.418, 0.774, 1.070, 1.308, 1.540, 1.917],
];
const LATER = [
    [-0.424, -0.160, -0.062, -0.028, -0.011, -0.001, 0.010, 0.024, 0.085],
    [-0.653, -0.328, -0.191, -0.098, -0.038, 0.004, 0.047, 0.110, 0.279],
    [-0.752, -0.414, -0.259, -0.140, -0.048, 0.030, 0.114, 0.228, 0.448],
    [-0.826, -0.448, -0.264, -0.137, -0.027, 0.076, 0.184, 0.323, 0.596],
    [-0.882, -0.486, -0.285, -0.132, -0.002, 0.125, 0.264, 0.429, 0.737],
    [-1.014, -0.544, -0.289, -0.087, 0.085, 0.258, 0.446, 0.669, 1.080],
    [-1.164, -0.556, -0.210, 0.078, 0.322, 0.566, 0.852, 1.199, 1.805],
];
/** Added to the spread of a short history, as variances are, by its length. */
const UNSEEN = [0, 0.34, 0.34, 0.25, 0.20, 0.13, 0.08, 0.04, 0];

/** Harmonic mean of up to five of `rates` before `end`. */
export function harmonic(rates, end) {
    const from = Math.max(0, end - WINDOW);
    let sum = 0;
    for (let i = end - 1; i >= from; i--) sum += 1 / Math.max(rates[i], 1e-3);
    return (end - from) / sum;
}

function spreadOf(rates) {
    const n = rates.length, logs = rates.map(rate => Math.log(Math.max(rate, 1e-3)));
    const mean = logs.reduce((a, x) => a + x, 0) / n, square = logs.reduce((a, x) => a + x * x, 0) / n;
    return Math.sqrt(Math.max(square - mean * mean, 0) + UNSEEN[n] ** 2);
}

/**
 * @param {import('./view.js').View} view
 * @returns {Forecast|null} null: nothing was measured
 */
export function forecastOf({ rates }) {
    if (!rates.length) return null;
    const mean = harmonic(rates, rates.length), spread = spreadOf(rates);
    let k = 0;
    while (k < KNOT.length - 2 && spread > KNOT[k + 1]) k++;
    const x = Math.min(Math.max((spread - KNOT[k]) / (KNOT[k + 1] - KNOT[k]), 0), 1);
    const scaled = table => table[k].map((low, i) => mean * Math.exp(low + x * (table[k + 1][i] - low)));
    return { mean, spread, next: scaled(NEXT), later: scaled(LATER) };
}

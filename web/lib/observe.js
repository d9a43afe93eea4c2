/**
 * observe.js - the policy's observation of a request, as the daemon computes it: the layout "full" of
 * src/abr/emulator/feat.h, entry by entry, in the same precision.
 *
 * @module abrd/observe
 *
 * @typedef {object} Weights the viewer's weights
 * @property {[number, number, number]} mu quality, switches, stalls
 * @property {'linear'|'log'|'pamoe'} [utility]
 */

export const OBSERVATION = 128;
export const LEVELS = 12;
const HISTORY = 8, RECENT = 5;
const UTILITIES = ['linear', 'log', 'pamoe'];

// places in the observation
const WEIGHTS = 10, UTILITY = 13, LAST = 28, THROUGHPUT = 40, DOWNLOAD = 48, LEVEL = 56, PER_LEVEL = 6;

const f = Math.fround;
const clip = (x, low, high) => (x < low ? low : x > high ? high : x);
const bounded = x => f(clip(x, 0, 1e9));

/** Maps [0, inf) to [0, 1), with 0.5 at x = half. */
function squash(x, half) {
    const y = bounded(x);
    return f(y / f(y + f(half)));
}

const bits = new Int32Array(1), single = new Float32Array(bits.buffer);
const PER_LN2 = f(2.88539008), A = f(1 / 3), B = f(1 / 5), C = f(1 / 7);

/** log2(x) / 4 within -3 .. 3, by the daemon's polynomial. */
function quarterLog(x) {
    single[0] = clip(f(x), 2 ** -12, 2 ** 12);
    const e = (bits[0] - 0x3f3504f3) >> 23;
    bits[0] -= e << 23;
    const m = single[0], s = f(f(m - 1) / f(m + 1)), q = f(s * s);
    const ln = f(s + f(f(s * q) * f(A + f(q * f(B + f(q * C))))));
    return f(0.25 * f(e + f(PER_LN2 * ln)));
}

/** q(R), src/abr/emulator/qoe.h */
function quality(utility, kbps, lowest) {
    const mbps = kbps / 1000;
    if (utility === 'log') return Math.log(kbps / lowest);
    return utility === 'pamoe' ? Math.log(mbps + 0.7) - 0.01 / mbps : mbps;
}

const change = (utility, a, b, lowest) => (utility === 'pamoe' ? Math.abs(a - b) / 1000
    : Math.abs(quality(utility, a, lowest) - quality(utility, b, lowest)));

/** The reward of a chunk of `kbps` without a stall. */
function reward({ mu, utility }, kbps, before, lowest) {
    const switched = before > 0 ? change(utility, kbps, before, lowest) : 0;
    const r = mu[0] * quality(utility, kbps, lowest) - mu[1] * switched;
    return utility === 'pamoe' ? r + (mu[0] - 1) * 0.01 / (kbps / 1000) : r;
}

/** Harmonic mean of up to five of `rates` before `end`. */
function harmonic(rates, end) {
    const from = Math.max(0, end - RECENT);
    let sum = 0;
    for (let i = end - 1; i >= from; i--) sum += 1 / Math.max(rates[i], 1e-3);
    return (end - from) / sum;
}

/** Estimated throughput of the next chunk: mean, and a cautious low value; 0: nothing was measured. */
function estimate(rates) {
    const n = rates.length;
    if (!n) return { mean: 0, low: 0 };
    let worst = 0;
    for (let i = n > RECENT ? n - RECENT : 1; i < n; i++)
        worst = Math.max(worst, Math.abs(harmonic(rates, i) / Math.max(rates[i], 1e-3) - 1));
    const mean = harmonic(rates, n);
    return { mean, low: mean / (1 + worst) };
}

/** The highest rate of the ladder up to `kbps`, as a share of the top rate. */
function sustainable(ladder, kbps) {
    if (!(kbps > 0)) return 0;
    let k = 0;
    while (k + 1 < ladder.length && ladder[k + 1] <= kbps) k++;
    return ladder[k] * (1 / ladder.at(-1));
}

/** The span of each term of the reward over the ladder, and their scale. */
function spans({ mu, utility }, ladder, chunkS) {
    const low = ladder[0], top = ladder.at(-1);
    const share = [mu[0] * (quality(utility, top, low) - quality(utility, low, low)),
        mu[1] * change(utility, top, low, low), mu[2] * chunkS];
    const whole = share[0] + share[1] + share[2];
    return { share, whole, scale: whole / 4 > 1e-6 ? whole / 4 : 1 };
}

function putSession(o, q, weights, sizes, span) {
    const { ladder_kbps: ladder, chunk_s, chunk = 0, chunks = 0, buffer_s, buffer_max_s = 60,
        last_level: last = -1 } = q;
    const live = chunks === 0, left = chunks - chunk;
    const sum = list => list.reduce((a, b) => a + b, 0);
    if (last >= 0) {
        o[0] = 1;
        o[1] = ladder[last] * (1 / ladder.at(-1));
        o[LAST + last] = 1;
    }
    o[2] = clip(buffer_s / 20, 0, 3);
    o[3] = squash(buffer_s, 8);
    o[4] = clip(buffer_s / Math.max(buffer_max_s, 1), 0, 1);
    o[5] = clip(buffer_max_s / 60, 0, 2);
    o[6] = live ? 1 : clip(left / chunks, 0, 1);
    o[7] = live ? 1 : squash(left, 8);
    o[8] = live ? 1 : 0;
    o[9] = chunk_s / 4;
    for (let i = 0; i < 3; i++) o[WEIGHTS + i] = span.whole > 1e-6 ? span.share[i] / span.whole : 0;
    o[UTILITY + UTILITIES.indexOf(weights.utility)] = 1;
    o[25] = clip(sum(sizes) / (sum(ladder) * chunk_s * 125) - 1, -1, 3);
}

function putThroughput(o, q, rates, times, guess) {
    const ladder = q.ladder_kbps, perTop = 1 / ladder.at(-1), n = rates.length;
    const log = kbps => quarterLog((kbps + 1e-3) * perTop);
    let sum = 0, square = 0, least = Infinity, ewma = 0;
    rates.forEach((rate, i) => {
        const x = clip(rate, 0, 1e9), at = HISTORY - n + i;
        ewma = i ? ewma + 0.4 * (x - ewma) : x;
        sum += x;
        square += x * x;
        least = Math.min(least, x);
        o[THROUGHPUT + at] = log(rate);
        o[DOWNLOAD + at] = squash(times[i], q.chunk_s);
    });
    if (n) {
        const mean = sum / n, variance = Math.max(square / n - mean * mean, 0);
        o[16] = log(guess.mean);
        o[17] = log(guess.low);
        o[18] = log(rates[n - 1]);
        o[19] = log(least);
        o[20] = log(ewma);
        o[21] = mean > 0 ? clip(Math.sqrt(variance) / mean, 0, 3) : 0;
    }
    o[22] = n / HISTORY;
    o[23] = quarterLog(ladder.at(-1) / 1e3);
    o[24] = quarterLog(ladder.at(-1) / ladder[0]);
    o[26] = sustainable(ladder, guess.mean);
    o[27] = sustainable(ladder, guess.low);
}

function putLevels(o, q, weights, sizes, span, guess) {
    const { ladder_kbps: ladder, chunk_s, buffer_s, last_level: last = -1 } = q;
    const perScale = 1 / span.scale;
    const per = kbps => (kbps > 0 ? 8e-3 / kbps : 0);
    const waits = s => Math.max(Math.min(s, 1e6) - buffer_s, 0);
    ladder.forEach((kbps, k) => {
        const mean = sizes[k] * per(guess.mean), low = sizes[k] * per(guess.low);
        const earned = reward(weights, kbps, last >= 0 ? ladder[last] : 0, ladder[0]);
        const worth = s => clip((earned - weights.mu[2] * waits(s)) * perScale, -4, 4);
        o.set([kbps * (1 / ladder.at(-1)), squash(mean, chunk_s), squash(waits(mean), chunk_s),
            squash(waits(low), chunk_s), worth(mean), worth(low)], LEVEL + k * PER_LEVEL);
    });
}

/** Bytes of the next chunk at each level. */
const chunkSizes = q => q.ladder_kbps.map((kbps, k) =>
    (q.next_bytes?.[k] > 0 ? q.next_bytes[k] : kbps * 1000 / 8 * q.chunk_s));

/** Link rates that a session may begin with, as shares of the top rate: src/abr/deciders/first_level.h */
const LINKS = [0.0915, 0.171, 0.2496, 0.3393, 0.45, 0.5967, 0.8114, 1.184, 2.2138];
const LIVE_CHUNKS = 48;

/** The level of the first chunk, when nothing was measured. */
function startLevel(q, weights) {
    const { ladder_kbps: ladder, chunk_s, chunk = 0, chunks = 0 } = q;
    const later = Math.max((chunks ? chunks - chunk : LIVE_CHUNKS) - 1, 0);
    const stall = weights.mu[2], sizes = chunkSizes(q);
    const earned = before => ladder.map(kbps => reward(weights, kbps, before, ladder[0]));
    const smooth = earned(0);
    const links = LINKS.map(share => ladder.at(-1) * share);
    const rest = links.map(link => ladder.map((kbps, j) => {
        const late = kbps / link - 1;
        return later * (smooth[j] - stall * (late > 0 ? chunk_s * late : 0));
    }));
    const worth = ladder.map((kbps, k) => {
        const cost = earned(kbps).map((r, j) => (later ? smooth[j] - r : 0));
        return links.reduce((sum, link, i) => sum + smooth[k] - stall * (sizes[k] * 8e-3 / link) +
            Math.max(...rest[i].map((r, j) => r - cost[j])), 0);
    });
    return worth.indexOf(Math.max(...worth));
}

/**
 * The levels that are offered, as in src/abr/deciders/guard.h. All are offered, except: with a short
 * buffer and a large weight of stalls, those that leave at least a second in the buffer; before anything
 * was measured, the first level alone.
 *
 * @param {object} q the body of POST /v1/decide
 * @param {Weights} weights
 * @returns {boolean[]}
 */
export function offered(q, weights) {
    const [quality, switches, stalls] = weights.mu;
    const last = q.throughput_kbps?.at(-1);
    if (last === undefined && !(q.last_level >= 0)) {
        const first = startLevel(q, weights);
        return q.ladder_kbps.map((_, k) => k === first);
    }
    const wary = q.buffer_max_s <= 12 && last > 0 && stalls >= 5 * quality && stalls >= 5 * switches;
    const bytes = wary ? 0.9 * last * 125 * (q.buffer_s - 1) : Infinity;
    return chunkSizes(q).map((size, k) => k === 0 || size <= bytes);
}

/**
 * @param {object} q the body of POST /v1/decide, without profile, mu and utility
 * @param {Weights} weights
 * @returns {Float32Array} (OBSERVATION)
 */
export function observe(q, weights) {
    const n = Math.min(q.throughput_kbps?.length ?? 0, HISTORY);
    const newest = list => (n ? list.slice(-n) : []);
    const rates = newest(q.throughput_kbps), times = newest(q.download_s);
    const valued = { mu: weights.mu, utility: weights.utility ?? 'linear' };
    const sizes = chunkSizes(q);
    const span = spans(valued, q.ladder_kbps, q.chunk_s), guess = estimate(rates);
    const o = new Float32Array(OBSERVATION);
    putSession(o, q, valued, sizes, span);
    putThroughput(o, q, rates, times, guess);
    putLevels(o, q, valued, sizes, span, guess);
    return o;
}

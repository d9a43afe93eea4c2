/**
 * observe.js - the policy's observation of a view, as the daemon computes it: the layouts of
 * src/abr/emulator/feat.h, entry by entry, in the same precision. A view has at most 12 levels here (window.js).
 *
 * @module abrd/observe
 */

import { forecastOf, harmonic } from './forecast.js';
import { planOf } from './plan.js';
import { chunkQoe, chunkRange } from './qoe.js';
import { HISTORY, lastOf, levelOf, rewardsOf } from './view.js';
import { SEEN } from './window.js';

const RECENT = 5, UTILITIES = ['linear', 'log', 'pamoe'];

// the layout "full": places in the observation
const FULL = 128, WEIGHTS = 10, UTILITY = 13, LAST = 28, THROUGHPUT = 40, DOWNLOAD = 48, LEVEL = 56, PER_LEVEL = 6;
// the layout "plan": behind "full", entries of the session and of each level
const PLAN = 208, PLAN_LEVEL = 136, PER_PLAN_LEVEL = 6, LIMIT_S = 60;
// quantiles of the forecast whose plans are shown
const SHOWN = [1, 4, 6, 8];
/** How many times a level's worth on average counts, on a fast link and with long chunks (feat.h). */
const FAST_KBPS = 3000, LONG_S = 4, PLAN_MOST = 4;

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
function spans(view) {
    const { qoe, chunkS, ladder } = view, low = levelOf(view, 0), about = { chunkS, lowest: ladder[0] };
    const climb = chunkQoe(qoe, levelOf(view, ladder.length - 1), low, about), floor = chunkQoe(qoe, low, low, about);
    const share = [qoe.quality * (climb.quality - floor.quality), qoe.fall * climb.change, qoe.stall * chunkS];
    const whole = share[0] + share[1] + share[2];
    return { share, whole, scale: whole / 4 > 1e-6 ? whole / 4 : 1 };
}

function putBuffer(o, bufferS, limitS) {
    o[4] = clip(bufferS / Math.max(limitS, 1), 0, 1);
    o[5] = clip(limitS / 60, 0, 2);
}

function putSession(o, view, span) {
    const { ladder, bytes, chunkS, chunk, chunks, bufferS, bufferMaxS, last, qoe } = view;
    const live = chunks === 0, left = chunks - chunk;
    const sum = list => list.reduce((a, b) => a + b, 0);
    if (last >= 0) {
        o[0] = 1;
        o[1] = ladder[last] * (1 / ladder.at(-1));
        o[LAST + last] = 1;
    }
    o[2] = clip(bufferS / 20, 0, 3);
    o[3] = squash(bufferS, 8);
    putBuffer(o, bufferS, bufferMaxS);
    o[6] = live ? 1 : clip(left / chunks, 0, 1);
    o[7] = live ? 1 : squash(left, 8);
    o[8] = live ? 1 : 0;
    o[9] = chunkS / 4;
    for (let i = 0; i < 3; i++) o[WEIGHTS + i] = span.whole > 1e-6 ? span.share[i] / span.whole : 0;
    if (UTILITIES.includes(qoe.utility)) o[UTILITY + UTILITIES.indexOf(qoe.utility)] = 1;
    o[25] = clip(sum(bytes) / (sum(ladder) * chunkS * 125) - 1, -1, 3);
}

function putThroughput(o, { ladder, chunkS, rates, times }, guess) {
    const perTop = 1 / ladder.at(-1), n = rates.length;
    const log = kbps => quarterLog((kbps + 1e-3) * perTop);
    let sum = 0, square = 0, least = Infinity, ewma = 0;
    rates.forEach((rate, i) => {
        const x = clip(rate, 0, 1e9), at = HISTORY - n + i;
        ewma = i ? ewma + 0.4 * (x - ewma) : x;
        sum += x;
        square += x * x;
        least = Math.min(least, x);
        o[THROUGHPUT + at] = log(rate);
        o[DOWNLOAD + at] = squash(times[i], chunkS);
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

function putLevels(o, view, span, guess) {
    const { ladder, bytes, chunkS, bufferS, qoe } = view, perScale = 1 / span.scale;
    const smooth = rewardsOf(view, lastOf(view));
    const per = kbps => (kbps > 0 ? 8e-3 / kbps : 0);
    const waits = s => Math.max(Math.min(s, 1e6) - bufferS, 0);
    ladder.forEach((kbps, k) => {
        const mean = bytes[k] * per(guess.mean), low = bytes[k] * per(guess.low);
        const worth = s => clip((smooth[k] - qoe.stall * waits(s)) * perScale, -4, 4);
        o.set([kbps * (1 / ladder.at(-1)), squash(mean, chunkS), squash(waits(mean), chunkS),
            squash(waits(low), chunkS), worth(mean), worth(low)], LEVEL + k * PER_LEVEL);
    });
}

function observeFull(view) {
    const o = new Float32Array(FULL), span = spans(view), guess = estimate(view.rates);
    putSession(o, view, span);
    putThroughput(o, view, guess);
    putLevels(o, view, span, guess);
    return o;
}

/** The layout "plan": what "full" leaves to be inferred. */
function observePlan(view) {
    const { ladder, points, last, qoe } = view, inPoints = qoe.utility === 'points', top = points.at(-1) * 0.01;
    const o = new Float32Array(PLAN), forecast = forecastOf(view);
    o.set(observeFull(view));
    putBuffer(o, view.bufferS, Math.min(view.bufferMaxS, LIMIT_S));
    const session = o.subarray(FULL), put = (k, entry, x) => { o[PLAN_LEVEL + k * PER_PLAN_LEVEL + entry] = x; };
    session[3] = last < 0 ? 1 : 0;
    session[7] = ladder.length / SEEN;
    if (inPoints) {
        session[0] = 1;
        session[1] = squash(qoe.rise, f(f(qoe.quality) + f(1e-6)));
        session[2] = squash(qoe.start, f(f(qoe.stall) + f(1e-6)));
        points.forEach((p, k) => put(k, 0, p * 0.01 / Math.max(top, 0.05)));
    }
    if (!forecast) return o;
    const { mean, spread, later } = forecast, perTop = 1 / ladder.at(-1);
    session[4] = clip(spread, 0, 3);
    session[5] = quarterLog(later[later.length >> 1] * perTop);
    session[6] = quarterLog(later[SHOWN[0]] * perTop);
    const plan = planOf(view, forecast), unit = 1 / linkScale(view, mean);
    const counts = Math.max(mean * (1 / FAST_KBPS), view.chunkS / LONG_S);
    const worth = (values, i, per) => {
        const most = Math.max(...values);
        values.forEach((v, k) => put(k, 1 + i, f(1 - f(2 * squash((most - v) * per, 1)))));
    };
    SHOWN.forEach((quantile, i) => worth(plan.values[quantile], i, unit));
    worth(plan.mean, SHOWN.length, unit * clip(counts, 1, PLAN_MOST));
    return o;
}

/** What the rewards of a link are divided by: the range of a chunk's, and a tenth of a stall of one chunk. */
function linkScale(view, kbps) {
    const { ladder, chunkS, qoe } = view, levels = ladder.map((_, k) => levelOf(view, k));
    const { low, high } = chunkRange(qoe, levels, chunkS, Math.max(kbps, 1e-3));
    return high - low + 0.1 * qoe.stall * chunkS + 1e-3 * (qoe.quality + qoe.fall + qoe.stall) + 1e-9;
}

/**
 * The layouts that policies in the page may read, by their number of entries.
 * @type {Map<number, (view: import('./view.js').View) => Float32Array>}
 */
export const LAYOUTS = new Map([[FULL, observeFull], [PLAN, observePlan]]);

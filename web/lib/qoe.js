/**
 * qoe.js - what a viewer values, and the quality of experience (QoE) of a chunk, as the daemon computes
 * them (src/abr/emulator/qoe.h and quality.h).
 *
 * Quality is in points: 0 to 100, the scale of VMAF. A chunk of d seconds has q points, the chunk before
 * it had q' points, and the viewer waited T seconds for it:
 *
 *   r = quality q d/4 - stall T - fall max(0, q' - q) - rise max(0, q - q')
 *
 * Before the first picture the wait costs `start` instead of `stall`, and nothing changes. The utilities
 * of the papers (linear, log, pamoe) count Mbit/s: r = quality q(R) - stall T - fall |dq|.
 *
 * @module abrd/qoe
 *
 * @typedef {object} Qoe what a viewer values
 * @property {'points'|'linear'|'log'|'pamoe'} utility
 * @property {number} quality
 * @property {number} fall per point of a fall; with the papers' utilities of any change
 * @property {number} rise
 * @property {number} stall per second
 * @property {number} start per second before the first picture
 * @property {number} stallRatioMax ceiling of stalled / (stalled + played); 0: none
 * @property {number} startupMaxS ceiling of the wait for the first picture; 0: none
 *
 * @typedef {{kbps: number, points: number}} Level a level as a viewer sees it
 */

/** `standard`; src/abr/emulator/qoe.c says where the numbers come from. */
const A = 0.8469, FALL = 1.0610, STALL = 28.7959, START = STALL / 4;

/** Weights relative to `standard`: quality, switches, stalls, startup. */
const product = (quality = 1, switches = 1, stalls = 1, startup = 1) => ({
    utility: 'points', quality: A * quality, fall: FALL * switches, rise: 0, stall: STALL * stalls,
    start: START * startup, stallRatioMax: 0.01, startupMaxS: 3,
});

/** The papers' weights. They know no start, so a wait for the first picture is a stall. */
const paper = ([quality, fall, stall], utility = 'linear') => ({
    utility, quality, fall, rise: 0, stall, start: stall, stallRatioMax: 0, startupMaxS: 0,
});

/** The built-in profiles: those of the product, then those of the papers. */
export const PROFILES = new Map(Object.entries({
    standard: product(),
    documentary: product(1, 3, 1.5, 1),
    live: product(1, 1, 2, 1),
    news: product(1.5, 0.5, 1, 2),
    sports: product(1.25, 0.5, 1.5, 1),
    lecture: product(1.5, 1, 1, 0.5),
    'paper-documentary': paper([1, 6, 1]),
    'paper-live': paper([1, 1, 6]),
    'paper-news': paper([6, 1, 1]),
    pensieve: paper([1, 1, 4.3]),
}));

/**
 * @param {string|import('./types').Weights|import('./types').Qoe|null} weights a profile's name, named
 *     weights, or the papers' `mu`
 * @returns {Qoe|null} null: no such profile
 */
export function qoeOf(weights) {
    if (typeof weights === 'string') return PROFILES.get(weights) ?? null;
    const { weights: named, mu, utility, stall_ratio_max: ratio, startup_max_s: startup } = weights ?? {};
    if (!named && !mu) return null;
    const qoe = named ? product(named.quality, named.switches, named.stalls, named.startup) : paper(mu, utility);
    return { ...qoe, stallRatioMax: ratio ?? qoe.stallRatioMax, startupMaxS: startup ?? qoe.startupMaxS };
}

/** q(R) of the papers' utilities. */
function utility(kind, kbps, lowest) {
    const mbps = kbps / 1000;
    if (kind === 'log') return Math.log(kbps / lowest);
    return kind === 'pamoe' ? Math.log(mbps + 0.7) - 0.01 / mbps : mbps;
}

/**
 * The parts of a chunk's QoE.
 * @param {Qoe} qoe
 * @param {Level} now
 * @param {Level|null} before null: no chunk came before, so wait_s is the wait for the first picture
 * @param {{chunkS: number, waitS?: number, lowest: number}} about lowest: the ladder's lowest bitrate [kbit/s]
 * @returns {{quality: number, change: number, reward: number}}
 */
export function chunkQoe(qoe, now, before, { chunkS, waitS = 0, lowest }) {
    const wait = (before ? qoe.stall : qoe.start) * waitS;
    if (qoe.utility === 'points') {
        const quality = now.points * chunkS / 4, rise = before ? now.points - before.points : 0;
        const change = Math.abs(rise);
        return { quality, change, reward: qoe.quality * quality - wait - (rise < 0 ? qoe.fall : qoe.rise) * change };
    }
    const pamoe = qoe.utility === 'pamoe', q = level => utility(qoe.utility, level.kbps, lowest);
    const quality = q(now);
    // the utility of the PA-MoE authors counts a switch in Mbit/s
    const change = before ? Math.abs(pamoe ? (now.kbps - before.kbps) / 1000 : quality - q(before)) : 0;
    // and its term of low bitrates has no weight
    const low = pamoe ? (qoe.quality - 1) * 0.01 / (now.kbps / 1000) : 0;
    return { quality, change, reward: qoe.quality * quality - qoe.fall * change - wait + low };
}

/**
 * The range of a chunk's reward, for sessions that stay at one level on a link that carries `carried` kbit/s.
 * @param {Qoe} qoe
 * @param {Level[]} levels
 */
export function chunkRange(qoe, levels, chunkS, carried) {
    const lowest = levels[0].kbps;
    const worth = levels.map(level => chunkQoe(qoe, level, level,
        { chunkS, lowest, waitS: chunkS * Math.max(0, level.kbps / carried - 1) }).reward);
    return { low: worth[0], high: Math.max(...worth) };
}

const SPAN = 2.66, LEAST = 5, SCREEN = 1080;

/** What a picture of that height [pixels] has at most on a screen of SCREEN lines. */
const cap = height => (height >= SCREEN ? 100 : Math.max(100 - 17 * Math.log2(SCREEN / height) ** 1.1, LEAST));

/**
 * Points of each level from bitrates and heights alone; quality.h has the curve and its source.
 * @param {number[]} ladder
 * @param {number[]} [heights] absent: not known, then the top level has 100 points
 */
export function qualityCurve(ladder, heights) {
    const top = ladder.at(-1), span = Math.log(top / ladder[0]), unit = span > SPAN ? SPAN / span : 1;
    const share = heights ? cap(heights.at(-1)) / 100 : 1;
    const points = ladder.map(kbps => {
        const x = unit * Math.log(top / kbps);
        return Math.max(share * (100 - x * (16.1 + 1.75 * x * x)), LEAST);
    });
    // from the top: a level is capped by its own height, and by the levels above it
    for (let k = ladder.length - 1; heights && k >= 0; k--)
        points[k] = Math.min(points[k], cap(heights[k]), points[k + 1] ?? 100);
    return points;
}

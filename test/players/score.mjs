// score.mjs - from what a viewer saw to figures: the QoE of a session, and players compared in pairs.
import { random } from '../http/lib/tools.mjs';
import { chunkQoe, qualityCurve } from '../../web/lib/qoe.js';

export const sum = x => x.reduce((a, b) => a + b, 0);
export const mean = x => sum(x) / x.length;
export const quantile = (x, p) => {
    const sorted = [...x].sort((a, b) => a - b), i = p * (sorted.length - 1), lo = Math.floor(i);
    return sorted[lo] + (sorted[Math.min(lo + 1, sorted.length - 1)] - sorted[lo]) * (i - lo);
};

/**
 * QoE per chunk, without the first chunk, as `abrd eval` counts it: the quality of what was shown, minus
 * switches, minus the time that the picture stood still after it had begun.
 * @param {import('../../web/lib/qoe.js').Qoe} qoe
 * @param {{shown: number[], stalls: number[]}} session levels by chunk; seconds
 */
export function qoeOf(qoe, { shown, stalls }, { kbps, chunkS, heights }) {
    const points = qualityCurve(kbps, heights);
    const levels = shown.filter(l => l >= 0).map(l => ({ kbps: kbps[l], points: points[l] }));
    const chunks = levels.slice(1).map((level, i) => chunkQoe(qoe, level, levels[i], { chunkS, lowest: kbps[0] }).reward);
    return (sum(chunks) - qoe.stall * sum(stalls)) / chunks.length;
}

/** Mean of paired differences and its 95 % bootstrap interval over the pairs; NaN below 2 pairs. */
export function paired(differences, draws = 2000) {
    const n = differences.length, next = random(n);
    if (n < 2) return { mean: mean(differences), low: NaN, high: NaN };
    const means = Array.from({ length: draws }, () => {
        let total = 0;
        for (let i = 0; i < n; i++) total += differences[Math.floor(next() * n)];
        return total / n;
    }).sort((a, b) => a - b);
    return { mean: mean(differences), low: means[Math.floor(draws * .025)], high: means[Math.ceil(draws * .975) - 1] };
}

/** The figures of one session. */
export function figures(session, video, profiles) {
    const { shown, stalls, startupS, bytes, wasted, requests } = session;
    const played = shown.filter(l => l >= 0);
    return {
        ended: session.ended, startup_s: startupS, stall_s: sum(stalls), stalls: stalls.length,
        kbps: mean(played.map(l => video.kbps[l])), switches: played.filter((l, i) => i && l !== played[i - 1]).length,
        requests: requests.length, mbytes: bytes / 1e6, wasted_mbytes: wasted / 1e6,
        levels: shown.map(l => (l < 0 ? '-' : l.toString(36))).join(''),
        qoe: Object.fromEntries(Object.entries(profiles).map(([name, qoe]) => [name, qoeOf(qoe, session, video)])),
    };
}

/**
 * One line per rule: means over the traces that all rules have played, and the paired difference to `ours`.
 * @param {{trace: string, rule: string, ...}[]} rows of figures()
 */
export function table(rows, profile, ours) {
    const rules = [...new Set(rows.map(r => r.rule))];
    const at = (rule, trace) => rows.find(r => r.rule === rule && r.trace === trace);
    const traces = [...new Set(rows.map(r => r.trace))].filter(t => rules.every(rule => at(rule, t)));
    return { traces, lines: !traces.length ? [] : rules.map(rule => {
        const own = traces.map(t => at(rule, t));
        const of = name => mean(own.map(r => r[name]));
        const mine = traces.map(t => at(ours, t)?.qoe[profile] ?? NaN);
        return {
            rule, qoe: mean(own.map(r => r.qoe[profile])),
            behind: paired(own.map((r, i) => mine[i] - r.qoe[profile])),
            kbps: of('kbps'), stall_s: of('stall_s'), switches: of('switches'), startup_s: quantile(own.map(r => r.startup_s), .5),
            requests: of('requests'), mbytes: of('mbytes'), wasted_mbytes: of('wasted_mbytes'),
            unfinished: own.filter(r => !r.ended).length,
        };
    }) };
}

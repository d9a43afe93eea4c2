// score.mjs - from what a viewer saw to figures: QoE of a run, and players compared in pairs.
import { chunkQoe, qoeOf as viewerOf } from '../../web/lib/qoe.js';
import { random } from '../http/lib/tools.mjs';

/**
 * QoE per chunk: quality of what was shown, minus switches, minus all the time that the picture stood
 * still after it had begun. The wait for the first picture is told beside it, as in the daemon.
 * @param {{mu: number[], utility: string}} qoe
 * @param {{kbps: number[], stalls: number[]}} run bitrate of every chunk in order; seconds
 * @param {number} lowest bitrate of the ladder
 */
export function qoeOf(qoe, { kbps, stalls }, lowest) {
    const viewer = viewerOf({ mu: qoe.mu, utility: qoe.utility }), level = k => ({ kbps: k, points: 0 });
    const chunks = kbps.reduce((sum, k, i) =>
        sum + chunkQoe(viewer, level(k), i ? level(kbps[i - 1]) : null, { chunkS: 4, lowest }).reward, 0);
    const stalled = stalls.reduce((a, b) => a + b, 0);
    return (chunks - qoe.mu[2] * stalled) / kbps.length;
}

/**
 * Bitrate of every chunk as it was shown. A player that fetches a chunk again shows the new copy only
 * when it came before the picture reached that chunk: what is being shown goes on to its last
 * picture, as a chunk has one key frame. Where stalls leave open when that was, the new copy counts.
 * @param {{loads: number[][], chunk_s?: number, stalls: number[]}} run loads: [chunk, kbps, from, took]
 */
export function shownOf({ loads, chunk_s = 4, stalls }) {
    const end = ([, , from, took]) => from + took;
    const stalled = stalls.reduce((a, b) => a + b, 0);
    const chunks = [];
    for (const load of [...loads].sort((a, b) => end(a) - end(b))) (chunks[load[0]] ??= []).push(load);
    const began = end(chunks[0][0]);
    return chunks.map((copies, chunk) => {
        const reached = began + chunk * chunk_s + (chunk && stalled);
        return (copies.findLast(c => end(c) <= reached) ?? copies[0])[1];
    });
}

export const mean = x => x.reduce((a, b) => a + b, 0) / x.length;

/** Mean of paired differences and its 95 % bootstrap interval over the pairs; NaN below 2 pairs. */
export function paired(differences, draws = 10000) {
    const n = differences.length, next = random(n);
    if (n < 2) return { mean: mean(differences), low: NaN, high: NaN };
    const means = Array.from({ length: draws }, () => {
        let sum = 0;
        for (let i = 0; i < n; i++) sum += differences[Math.floor(next() * n)];
        return sum / n;
    }).sort((a, b) => a - b);
    return { mean: mean(differences), low: means[Math.floor(draws * .025)], high: means[Math.ceil(draws * .975) - 1] };
}

/**
 * One row per profile, trace and player. A run without a profile counts for all of them.
 * @param {object[]} runs of contest.mjs
 * @param {Record<string, object>} profiles name -> qoe
 */
export function scored(runs, profiles) {
    const shown = runs.map(r => ({ ...r, kbps: r.loads ? shownOf(r) : r.kbps }));
    return Object.entries(profiles).flatMap(([profile, qoe]) => shown
        .filter(r => (r.profile ?? profile) === profile)
        .map(r => ({
            profile, trace: r.trace, player: r.player,
            qoe: qoeOf(qoe, r, r.ladder[0]),
            kbps: mean(r.kbps),
            stall_s: r.stalls.reduce((a, b) => a + b, 0),
            stalls: r.stalls.length,
            switches: r.kbps.filter((k, i) => i && k !== r.kbps[i - 1]).length,
            startup_s: r.startup_s,
            chunks: r.kbps.length,
            attempts: r.attempt, starved: r.starved,
            late_share: r.cpu.late_share, dropped_share: r.cpu.dropped_share, busy_share: r.cpu.busy_share,
            excess_s: r.cpu.excess_s, pressure: r.cpu.pressure,
        })));
}

/** Per profile and player the means over the traces that all players have, best QoE first. */
export function table(rows, profile, ours = 'abrd') {
    const mine = rows.filter(r => r.profile === profile);
    const players = [...new Set(mine.map(r => r.player))];
    const has = (p, t) => mine.find(r => r.player === p && r.trace === t);
    const traces = [...new Set(mine.map(r => r.trace))].filter(t => players.every(p => has(p, t)));
    return {
        traces,
        rows: !traces.length ? [] : players.map(player => {
            const own = traces.map(t => has(player, t));
            const gain = traces.map(t => (has(ours, t)?.qoe ?? NaN) - has(player, t).qoe);
            const of = name => mean(own.map(r => r[name]));
            return {
                player, qoe: of('qoe'), kbps: of('kbps'), stall_s: of('stall_s'), stalls: of('stalls'),
                switches: of('switches'), startup_s: of('startup_s'),
                gain: paired(gain), wins: gain.filter(g => g > 0).length,
                starved: own.filter(r => r.starved).length,
            };
        }).sort((a, b) => b.qoe - a.qoe),
    };
}

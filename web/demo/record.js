/**
 * record.js - the record of one playback: every chunk, and four samples per second.
 *
 * The charts, the tiles, the comparison and the CSV file come from it. It does not use the page. Times are seconds since
 * the start.
 *
 * @module demo/record
 */
import { chunkQoe, qoeOf, qualityCurve } from '../lib/qoe.js';

/**
 * Mean quality of two playbacks over the chunks that both have shown: one that is behind has seen another part
 * of the film, which may be easier to encode. Null where they have none in common.
 * @param {Recording} a
 * @param {Recording} b
 * @returns {[number|null, number|null]}
 */
export function inCommon(a, b) {
    const both = [...a.shown.keys()].filter(n => b.shown.has(n));
    if (!both.length) return [null, null];
    return [a, b].map(r => both.reduce((sum, n) => sum + r.shown.get(n).points_s / r.shown.get(n).s, 0) / both.length);
}

/** Shortest stall that counts [s], as in lib/stall.js. */
const STALL_MIN_S = 0.1;

/** Mbit/s of a link at `s` on its own clock; NaN for a link without limit. */
export function capacity(link, s) {
    if (!link?.mbps) return NaN;
    const { time_s: t, mbps } = link, first = t[0], round = t.at(-1) - first;
    const at = first + (((s % round) + round) % round);
    let lo = 1, hi = t.length - 1;
    while (lo < hi) {
        const mid = (lo + hi) >> 1;
        if (t[mid] > at) hi = mid; else lo = mid + 1;
    }
    return mbps[lo];
}

const COLUMNS = ['chunk', 'requested_s', 'arrived_s', 'by', 'level', 'kbps', 'decided_kbps', 'bytes',
    'download_s', 'throughput_kbps', 'rebuffer_s', 'buffer_s', 'reward', 'expert', 'policy',
    'mode', 'latency_s', 'probability', 'points'];

export class Recording {
    chunks = [];        // in the order of the requests
    qoe = null;         // what the rewards are computed with (lib/qoe.js)
    ladder = [];
    session = null;     // the daemon's answer when it was opened
    start = { from: 0, to: null }; // the wait for the first picture; to null while it lasts
    stalls = [];        // {from, to}; to null while it lasts
    seen_s = 0;         // video that was shown
    link = null;        // {time_s, mbps, now_s} and offset: time on the link's clock = t + offset
    factor = () => 1;   // what the link's rate is multiplied by, at a time on its clock
    quality = null;     // points of a chunk: (chunk, kbps) => number or null; null: of the level
    screen = { points_s: 0, s: 0, switches: 0, level: null }; // what was on the screen
    shown = new Map();  // chunk -> {points_s, s} of its time on the screen
    /** columns of the charts, one entry per sample */
    samples = { t: [], buffer: [], asked: [], played: [], measured: [], link: [], points: [],
        mean: [], seen: [] };
    #decisions = new Map(); // chunk -> latest answer
    #points = [];       // of each level
    #position = NaN;    // of the last sample

    /** The player's own rules: what the manifest says, without a session. */
    describe(ladder, chunkS) {
        this.ladder = ladder;
        this.session = { ladder_kbps: ladder, chunk_s: chunkS };
        this.#points = qualityCurve(ladder);
    }

    open(session) {
        this.session = session;
        this.qoe = qoeOf(session.qoe) ?? this.qoe;
        this.ladder = session.ladder_kbps ?? this.ladder;
        this.#points = session.quality ?? qualityCurve(this.ladder, session.height);
    }

    decision(answer) { this.#decisions.set(answer.chunk, answer); }

    request(t, r) {
        const answer = r.decided === null ? null : this.#decisions.get(r.chunk);
        const last = this.chunks.at(-1);
        // abandoned and downloaded at another level: one row, with the final outcome
        if (last?.chunk === r.chunk && last.arrived_s === null) this.chunks.pop();
        this.chunks.push({
            chunk: r.chunk, by: r.by, level: r.level, kbps: r.kbps, requested_s: t, arrived_s: null,
            decided_kbps: r.decided === r.level ? r.kbps : answer?.kbps ?? null, answer: answer ?? null,
        });
    }

    arrival(t, o) {
        const i = this.chunks.findLastIndex(c => c.chunk === o.chunk && c.arrived_s === null);
        if (i < 0) return null;
        const c = this.chunks[i], before = this.chunks[i - 1] ?? null;
        // the daemon states the quality of the level that it chose
        const points = (c.answer?.level === o.level ? c.answer.quality : null) ?? this.quality?.(c.chunk, c.kbps);
        Object.assign(c, {
            arrived_s: t, bytes: o.bytes, download_s: o.download_s, rebuffer_s: o.rebuffer_s,
            buffer_s: o.buffer_s, throughput_kbps: o.bytes * 8 / 1000 / o.download_s,
            points: points ?? this.#points[o.level] ?? null,
        });
        c.reward = this.qoe && chunkQoe(this.qoe, c, before, {
            chunkS: this.session.chunk_s, waitS: o.rebuffer_s, lowest: this.ladder[0],
        }).reward;
        const s = this.samples, n = s.t.length;
        // a download between two samples belongs to the sample before it
        for (let k = n - 1; k >= 0 && (k === n - 1 || s.t[k] >= t - o.download_s); k--)
            s.measured[k] = c.throughput_kbps / 1000;
        return c;
    }

    /** Playback stands still from t on, or goes on. Before the first picture this is the start, and no stall. */
    stall(t, begins) {
        if (this.start.to === null) {
            if (!begins) this.start.to = t;
            return;
        }
        const last = this.stalls.at(-1);
        if (begins && last?.to !== null) this.stalls.push({ from: t, to: null });
        if (!begins && last?.to === null) {
            last.to = t;
            if (t - last.from < STALL_MIN_S) this.stalls.pop();
        }
    }

    /**
     * One column of the charts.
     * @param {number} t
     * @param {number} buffer
     * @param {object|null} shown the chunk on the screen
     * @param {number} [position] of the playhead
     * @param {number} [rate] of the playback
     */
    sample(t, buffer, shown, position = NaN, rate = 1) {
        const s = this.samples, step = position - this.#position;
        // a longer step is a seek
        if (step > 0 && step <= rate * (t - s.t.at(-1)) + 1) {
            this.seen_s += step;
            this.#show(shown, step);
        }
        this.#position = position;
        s.t.push(t);
        s.seen.push(this.seen_s);
        s.buffer.push(buffer);
        s.asked.push(this.chunks.at(-1)?.kbps ?? null);
        s.played.push(shown?.kbps ?? null);
        s.measured.push(null);
        s.link.push(this.link ? this.#capacity(t + this.link.offset) : null);
        s.points.push(shown?.points ?? null);
        s.mean.push(this.screen.s > 0 ? this.screen.points_s / this.screen.s : null);
    }

    #capacity(s) {
        const factor = this.factor(s);
        return factor > 0 ? factor * capacity(this.link, s + (this.link.from_s ?? 0)) : 0;
    }

    #show(chunk, s) {
        const { screen } = this;
        if (!(chunk?.points >= 0)) return;
        const own = this.shown.get(chunk.chunk) ?? { points_s: 0, s: 0 };
        this.shown.set(chunk.chunk, { points_s: own.points_s + chunk.points * s, s: own.s + s });
        screen.points_s += chunk.points * s;
        screen.s += s;
        if (screen.level !== null && screen.level !== chunk.level) screen.switches++;
        screen.level = chunk.level;
    }

    /** What the viewer saw until `t`, for the comparison (verdict.js). */
    seen(t = this.samples.t.at(-1) ?? 0) {
        const { start, screen, stalls } = this;
        return {
            points: screen.s > 0 ? screen.points_s / screen.s : null,
            stalls: stalls.filter(x => (x.to ?? t) - x.from >= STALL_MIN_S).length,
            stall_s: stalls.reduce((s, x) => s + (x.to ?? t) - x.from, 0),
            startup_s: start.to === null ? null : start.to - start.from,
            switches: screen.switches,
            switches_a_minute: this.seen_s > 5 ? 60 * screen.switches / this.seen_s : null,
        };
    }

    /**
     * The chunk whose picture is on the screen; null: none. A playhead that waits for a chunk shows the last picture of
     * the chunk before it.
     * @param {number} position of the playhead [s]
     */
    onScreen(position) {
        const chunkS = this.session?.chunk_s;
        if (!chunkS || !position) return null;
        const n = Math.floor(position / chunkS + 1e-3);
        const arrived = chunk => this.chunks.findLast(c => c.arrived_s !== null && c.chunk === chunk);
        return arrived(n) ?? arrived(n - 1) ?? null;
    }

    arrived() { return this.chunks.filter(c => c.arrived_s !== null); }

    /** Means over the chunks that have arrived, and what the viewer saw until `t`. */
    totals(t = this.samples.t.at(-1) ?? 0) {
        const done = this.arrived(), n = done.length;
        const mean = (list, f) => list.length ? list.reduce((s, c) => s + f(c), 0) / list.length : null;
        const switches = done.filter((c, i) => i && c.level !== done[i - 1].level).length;
        const stall_s = this.stalls.reduce((s, x) => s + (x.to ?? t) - x.from, 0);
        const minutes = n * (this.session?.chunk_s ?? 0) / 60;
        return {
            n,
            kbps: mean(done, c => c.kbps),
            points: mean(done.filter(c => c.points !== null), c => c.points),
            stall_s,
            stall_ratio: this.seen_s > 0 ? stall_s / (stall_s + this.seen_s) : null,
            switches,
            switches_a_minute: minutes > 0 ? switches / minutes : null,
            followed: done.filter(c => c.by === 'abrd').length,
        };
    }

    csv() {
        const cell = v => v === null || v === undefined ? '' :
            typeof v === 'number' ? String(+v.toPrecision(9)) : v;
        const rows = this.chunks.map(c => {
            const a = c.answer;
            const all = { ...c, expert: a?.expert, policy: a?.policy, mode: a?.mode,
                latency_s: a?.latency_s, probability: a?.probabilities?.[a.level] };
            return COLUMNS.map(k => cell(all[k])).join(',');
        });
        return [COLUMNS.join(','), ...rows].join('\r\n') + '\r\n';
    }
}

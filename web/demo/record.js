/**
 * record.js - the record of one playback: every chunk, and four samples per second.
 *
 * The charts, the tiles and the CSV file come from it. It does not use the page. Times are seconds since
 * the start.
 *
 * @module demo/record
 */

/**
 * The reward of one chunk: mu_q * q(R) - mu_s * |dq| - mu_t * stall, as the daemon computes it.
 * @param {{mu: number[], utility: string}} qoe
 */
export function reward(qoe, kbps, before, stallS, lowest) {
    const [quality, change, stall] = qoe.mu;
    const q = r => qoe.utility === 'log' ? Math.log(r / lowest) :
        qoe.utility === 'pamoe' ? Math.log(r / 1000 + 0.7) - 10 / r : r / 1000;
    // the utility of the PA-MoE authors counts a switch in Mbit/s
    const d = before === null ? 0 :
        Math.abs(qoe.utility === 'pamoe' ? (kbps - before) / 1000 : q(kbps) - q(before));
    return quality * q(kbps) - change * d - stall * stallS;
}

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
    'mode', 'latency_s', 'probability'];

export class Recording {
    chunks = [];        // in the order of the requests
    qoe = null;         // {mu, utility}: what the rewards are computed with
    ladder = [];
    session = null;     // the daemon's answer when it was opened
    stalls = [];        // {from, to}; to null while it lasts
    link = null;        // {time_s, mbps, now_s} and offset: time on the link's clock = t + offset
    /** columns of the charts, one entry per sample */
    samples = { t: [], buffer: [], decided: [], played: [], measured: [], link: [], reward: [],
        mean: [] };
    #decisions = new Map(); // chunk -> latest answer

    open(session) {
        this.session = session;
        this.qoe = session.qoe ?? this.qoe;
        this.ladder = session.ladder_kbps ?? this.ladder;
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
        const c = this.chunks[i], before = this.chunks[i - 1]?.kbps ?? null;
        Object.assign(c, {
            arrived_s: t, bytes: o.bytes, download_s: o.download_s, rebuffer_s: o.rebuffer_s,
            buffer_s: o.buffer_s, throughput_kbps: o.bytes * 8 / 1000 / o.download_s,
            reward: this.qoe &&
                reward(this.qoe, c.kbps, before, o.rebuffer_s, this.ladder[0] ?? c.kbps),
        });
        const s = this.samples, n = s.t.length;
        // a download between two samples belongs to the sample before it
        for (let k = n - 1; k >= 0 && (k === n - 1 || s.t[k] >= t - o.download_s); k--)
            s.measured[k] = c.throughput_kbps / 1000;
        return c;
    }

    stall(t, begins) {
        const last = this.stalls.at(-1);
        if (begins && last?.to !== null) this.stalls.push({ from: t, to: null });
        if (!begins && last?.to === null) {
            last.to = t;
            if (t - last.from < 0.1) this.stalls.pop();
        }
    }

    /** One column of the charts; played: kbps on the screen, or null. */
    sample(t, buffer, played) {
        const s = this.samples, done = this.arrived();
        const fresh = done.findLast(c => c.arrived_s > (s.t.at(-1) ?? -1));
        s.t.push(t);
        s.buffer.push(buffer);
        s.decided.push(this.chunks.at(-1)?.decided_kbps ?? null);
        s.played.push(played);
        s.measured.push(null);
        s.link.push(this.link ? capacity(this.link, t + this.link.offset) : null);
        s.reward.push(fresh?.reward ?? null);
        s.mean.push(done.length ? this.totals().qoe : null);
    }

    arrived() { return this.chunks.filter(c => c.arrived_s !== null); }

    /** Means over the chunks that have arrived, the first one not counted for QoE. */
    totals() {
        const done = this.arrived(), n = done.length;
        const mean = (list, f) => list.length ? list.reduce((s, c) => s + f(c), 0) / list.length : 0;
        const scored = done.slice(1).filter(c => c.reward !== null);
        return {
            n,
            kbps: mean(done, c => c.kbps),
            qoe: scored.length ? mean(scored, c => c.reward) : null,
            stall_s: done.reduce((s, c) => s + c.rebuffer_s, 0),
            switches: done.filter((c, i) => i && c.level !== done[i - 1].level).length,
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

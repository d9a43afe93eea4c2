/**
 * series.js - curves from counters that are read once per second; does not use the page.
 *
 * @module dashboard/series
 */

/** Quantile q of a histogram, linear within a bucket; bounds as in the stats, counts have one more; null: empty. */
export function quantile(q, counts, bounds) {
    const total = counts.reduce((a, b) => a + b, 0);
    if (!total) return null;
    let below = 0;
    for (let i = 0; i < bounds.length; i++) {
        const from = i ? bounds[i - 1] : 0;
        if (below + counts[i] >= q * total && counts[i])
            return from + (bounds[i] - from) * (q * total - below) / counts[i];
        below += counts[i];
    }
    return bounds.at(-1);
}

const over = (a, b) => b > 0 ? a / b : null;

/**
 * What viewers of a profile saw between two readings of its figures, or since the start; null where nothing
 * was counted. Start-ups in seconds, stalls and player (chunks that the daemon did not decide) as shares. The
 * figures of a label have sums of start-ups and no histogram: only their mean is known.
 */
export function seen(now, then, bounds) {
    const grown = key => now[key] - (then?.[key] ?? 0);
    const each = key => (now[key] ?? []).map((n, i) => n - (then?.[key][i] ?? 0));
    const starts = each('startup'), [daemon = 0, other = 0, player = 0] = each('by');
    const played = grown('played_s'), stalled = grown('stall_sum_s');
    return {
        median: quantile(0.5, starts, bounds),
        p90: quantile(0.9, starts, bounds),
        ...(now.started !== undefined && { mean: over(grown('startup_s'), grown('started')) }),
        stalls: over(stalled, stalled + played),
        quality: over(grown('quality_sum'), grown('rewards')),
        switches: over(60 * grown('switches'), played),
        player: over(other + player, daemon + other + player),
    };
}

const SUMS = ['rewards', 'played_s', 'stall_sum_s', 'quality_sum', 'switches', 'kbps_sum'], LISTS = ['startup', 'by'];

/** The counters of several rows as those of one. */
export function together(rows) {
    const sum = (key, i) => rows.reduce((s, r) => s + ((i === undefined ? r[key] : r[key]?.[i]) ?? 0), 0);
    const all = Object.fromEntries(SUMS.map(key => [key, sum(key)]));
    for (const key of LISTS) all[key] = (rows[0]?.[key] ?? []).map((_, i) => sum(key, i));
    return all;
}

const LABEL_SUMS = {
    chunks: 'rewards', started: 'started', startup_seconds: 'startup_s', stall_seconds: 'stall_sum_s',
    played_seconds: 'played_s', quality_points: 'quality_sum', switches: 'switches',
};

/**
 * The figures of ended sessions by the label of the setting metrics-label, from samples of /metrics: {key, value}
 * with counters that are named like those of a profile.
 */
export function labelsOf(metrics) {
    const rows = new Map();
    for (const [name, v] of metrics) {
        const [, what, key, value] = /^abrd_label_(\w+)_total\{label="(.*)",value="(.*)"\}$/.exec(name) ?? [];
        if (!LABEL_SUMS[what]) continue;
        const id = `${key} ${value}`;
        if (!rows.has(id)) rows.set(id, { key, value });
        rows.get(id)[LABEL_SUMS[what]] = v;
    }
    return [...rows.values()];
}

/** The rows of figures that `by` groups viewers by: profiles, or the values of a label (labelsOf). */
export const grouped = (s, by) => (by ? (s?.labels ?? []).filter(l => l.key === by).map(l => ({ ...l, name: l.value })) :
    s?.profiles ?? []);

/**
 * The rows of an exam (`exam` of GET /v1/policy/updates): worse cells, groups, the other cells. A group is all
 * profiles on one kind of links, or one profile on all. Losses are those against the shipped policy, gains those
 * against the published one, as shares.
 */
export function examined(exam) {
    const cells = exam.cells.map(c => ({ ...c, group: false, name: `${c.profile} on ${c.links_of}`,
        worse: c.why !== 'fine', result: c.why }));
    const groups = exam.groups.map(g => ({ ...g, group: true, name: g.profile ? `${g.profile} on all` : `all on ${g.links_of}`,
        result: g.worse ? 'worse' : 'fine' }));
    return [...cells.filter(c => c.worse), ...groups.sort((a, b) => b.worse - a.worse), ...cells.filter(c => !c.worse)];
}

/** Samples of /metrics: name with labels -> value. */
export const samples = text => new Map(text.split('\n').filter(l => l && l[0] !== '#').map(l => {
    const at = l.lastIndexOf(' ');
    return [l.slice(0, at), Number(l.slice(at + 1))];
}));

/** The errors that an operator looks at, from samples of /metrics. */
export function errorsOf(metrics) {
    const sum = test => [...metrics].reduce((n, [name, v]) => (test(name) ? n + v : n), 0);
    // probes get 503 while the daemon starts or stops: that is their purpose
    const isProbe = name => /route="\/(readyz|healthz)"/.test(name);
    const answers = code => sum(name => name.startsWith('abrd_http_requests_total{') && code.test(name) && !isProbe(name));
    return {
        'answers with 5xx': answers(/code="5/),
        'answers with 429 (rate limits)': answers(/code="429"/),
        'answers with another 4xx': answers(/code="4(?!29)/),
        'errors of the store': metrics.get('abrd_store_errors_total') ?? 0,
        'trajectories dropped by the bus': metrics.get('abrd_bus_dropped_total') ?? 0,
        'decisions that the player did not follow': metrics.get('abrd_not_followed_total') ?? 0,
    };
}

/** The last readings of the counters, and curves from them. */
export class Series {
    /** @param {number} keepS length of the curves [s] */
    constructor(keepS = 600) {
        this.keepS = keepS;
        this.clear();
    }

    clear() {
        /** @type {{t: number, s: object}[]} */
        this.readings = [];
        /** seen, reward: by profile */
        this.columns = { t: [], rate: [], live: [], seen: new Map(), reward: new Map() };
    }

    /** Adds a reading at t seconds. Counters that fell belong to a new process: the curves begin again. */
    add(t, s) {
        const last = this.readings.at(-1);
        if (last && (s.decisions < last.s.decisions || s.rewards < last.s.rewards)) this.clear();
        this.readings.push({ t, s });
        while (this.readings[0].t < t - this.keepS) this.readings.shift();

        const c = this.columns, n = c.t.length;
        c.t.push(t);
        c.rate.push(this.rate(5));
        c.live.push(s.sessions_live);
        for (const p of s.profiles)
            for (const by of [c.reward, c.seen])
                if (!by.has(p.name)) by.set(p.name, Array(n).fill(null));
        for (const [name, column] of c.reward) column.push(this.reward(name, 15));
        for (const [name, column] of c.seen) column.push(this.seen(name, 60));
        while (c.t[0] < t - this.keepS) {
            c.t.shift();
            c.rate.shift();
            c.live.shift();
            for (const column of [...c.reward.values(), ...c.seen.values()]) column.shift();
        }
    }

    /** The reading that a time range begins with; null: too few readings. */
    before(s) { return this.readings.length > 1 ? this.#since(s).s : null; }

    /** The oldest reading at most `s` seconds before the newest one, but not the newest itself. */
    #since(s) {
        const now = this.readings.at(-1);
        const first = this.readings.find(r => r.t >= now.t - s);
        return first === now ? this.readings.at(-2) : first;
    }

    /** Decisions per second over the last `s` seconds; null before the second reading. */
    rate(s) {
        const now = this.readings.at(-1), then = this.readings.length > 1 ? this.#since(s) : null;
        return then ? (now.s.decisions - then.s.decisions) / (now.t - then.t) : null;
    }

    /** seen() of this profile over the last `s` seconds; null before the second reading. */
    seen(name, s) {
        if (this.readings.length < 2) return null;
        const of = r => r.s.profiles.find(p => p.name === name);
        const now = this.readings.at(-1), then = this.#since(s);
        return of(now) ? seen(of(now), of(then), now.s.startup_bounds_s) : null;
    }

    /** Mean reward per chunk of this profile over the last `s` seconds; null without chunks. */
    reward(name, s) {
        if (this.readings.length < 2) return null;
        const of = r => r.s.profiles.find(p => p.name === name) ?? { rewards: 0, reward_sum: 0 };
        const now = of(this.readings.at(-1)), then = of(this.#since(s));
        const n = now.rewards - then.rewards;
        return n > 0 ? (now.reward_sum - then.reward_sum) / n : null;
    }
}

/**
 * The newest steps of a session as columns, one row per step: a seek may repeat a
 * chunk. A chunk without a decision has the player's own level and no buffer; the buffer is not known
 * for the opening of the session either.
 *
 * @param {object} h the session's history, as the daemon sends it
 * @param {number} most rows
 */
export function watched(h, most) {
    const steps = h.steps.slice(-most).map(s => ({ ...s, shown: s.decided_level >= 0 ? s.decided_level : s.level }));
    return {
        steps,
        at: steps.map((_, i) => i),
        chunk: steps.map(s => s.chunk),
        buffer: steps.map((s, i) => s.decided_level < 0 || steps.length - i === h.steps.length ? null : s.buffer_s),
        mbps: steps.map(s => h.ladder_kbps[s.shown] / 1000),
        measured: steps.map(s => s.reported && s.download_s > 0 ? s.bytes * 8e-6 / s.download_s : null),
    };
}

/** The sessions with recent events, the latest first. */
export class Roster {
    #heard = new Map(); // id -> {id, at, profile, chunk}, in the order of their first events

    /** @param {number} most sessions to remember */
    constructor(most = 24) { this.most = most; }

    /** An event "session", "decision" or "reward" at t seconds; the watched session is never dropped. */
    hear(t, e, watched = null) {
        const known = this.#heard.get(e.session);
        const s = known ?? { id: e.session };
        s.at = t;
        if (e.profile) s.profile = e.profile;
        if (e.chunk !== undefined) s.chunk = e.chunk;
        if (known) return;
        this.#heard.set(s.id, s);
        if (this.#heard.size <= this.most) return;
        const silent = [...this.#heard.values()].filter(x => x.id !== watched).reduce((a, b) => b.at < a.at ? b : a);
        this.#heard.delete(silent.id);
    }

    list() { return [...this.#heard.values()].sort((a, b) => b.at - a.at); }

    get(id) { return this.#heard.get(id) ?? null; }

    /** The session to watch: the current one until it is over or silent, else the one with the latest event. */
    follow(id, t, silentS = 20) {
        const now = this.#heard.get(id);
        if (now && !now.over && now.at > t - silentS) return id;
        return this.list().find(s => !s.over && s.at > t - 3)?.id ?? id ?? this.list()[0]?.id ?? null;
    }
}

/**
 * Specialisation of the experts: the share of the expert's entropy that the profile explains,
 * I(profile; expert) / H(expert), 0 .. 1. counts: (profiles, experts).
 */
export function specialisation(counts) {
    const total = counts.flat().reduce((a, b) => a + b, 0);
    if (!total) return null;
    const entropy = list => list.reduce((h, n) => n ? h - n / total * Math.log(n / total) : h, 0);
    const columns = (counts[0] ?? []).map((_, k) => counts.reduce((sum, row) => sum + (row[k] ?? 0), 0));
    const sums = counts.map(row => row.reduce((a, b) => a + b, 0));
    const expert = entropy(columns);
    if (expert < 1e-12) return 0;
    return Math.max(0, expert + entropy(sums) - entropy(counts.flat())) / expert;
}

/** A point of the simplex over n corners in the plane: corner k at angle 2 pi k / n from the top. */
export function onPlane(x) {
    const n = x.length;
    if (n === 2) return [2 * x[1] - 1, 0];
    return x.reduce(([a, b], w, k) => {
        const angle = 2 * Math.PI * (k + (n === 4 ? 0.5 : 0)) / n;
        return [a + w * Math.sin(angle), b - w * Math.cos(angle)];
    }, [0, 0]);
}

/**
 * The place of each node of a tree in its row; leaves have equal shares of the width, 0 .. 1.
 * nodes: {parent}, parents first. -> [{from, to}]
 */
export function icicle(nodes) {
    const children = nodes.map(() => []);
    nodes.forEach((n, i) => { if (n.parent >= 0) children[n.parent].push(i); });
    const leaves = nodes.map(() => 0);
    for (let i = nodes.length - 1; i >= 0; i--) {
        if (!children[i].length) leaves[i] = 1;
        if (nodes[i].parent >= 0) leaves[nodes[i].parent] += leaves[i];
    }
    const place = nodes.map(() => ({ from: 0, to: 0 }));
    nodes.forEach((n, i) => {
        if (n.parent < 0) place[i] = { from: 0, to: 1 };
        let { from } = place[i];
        const width = place[i].to - from;
        for (const c of children[i]) {
            const to = from + width * leaves[c] / leaves[i];
            place[c] = { from, to };
            from = to;
        }
    });
    return place;
}

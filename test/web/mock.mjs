// mock.mjs - the daemon's session API as far as the plugin needs it, strict about what it is
// sent. For the plugin's unit tests; the browser tests run against the real daemon.
import assert from 'node:assert/strict';
import http from 'node:http';

const isNumber = (v, lo, hi) => typeof v === 'number' && Number.isFinite(v) && v >= lo && v <= hi;

export class Mock {
    sessions = new Map();
    requests = [];    // {method, path, type, body}
    delayMs = 0;      // before each answer
    gate = null;      // a promise that each answer waits for
    observe = false;  // its sessions are observed
    refuse = null;    // {status, body} for every request
    poor = false;     // it refuses quality and heights
    pick = (session, chunk) => chunk % session.ladder_kbps.length;
    second = (session, body) => body.level; // what it thinks of a chunk under way
    #server = null;
    #opened = 0;

    async start(port = 0) {
        this.#server = http.createServer((q, r) => this.#handle(q, r));
        await new Promise(done => this.#server.listen(port, '127.0.0.1', done));
        this.port = this.#server.address().port;
        return this;
    }

    get url() { return `http://127.0.0.1:${this.port}`; }

    async stop() {
        this.#server.closeAllConnections();
        await new Promise(done => this.#server.close(done));
    }

    of(what) { return this.requests.filter(q => q.path.endsWith(what)).map(q => q.body); }

    async #handle(q, r) {
        let text = '';
        for await (const part of q) text += part;
        const path = new URL(q.url, this.url).pathname;
        const seen = { method: q.method, path, type: q.headers['content-type'], body: null };
        this.requests.push(seen);
        if (this.delayMs) await new Promise(done => setTimeout(done, this.delayMs));
        await this.gate;

        let status, body;
        try {
            seen.body = JSON.parse(text);
            [status, body] = this.refuse ? [this.refuse.status, this.refuse.body] :
                this.#answer(path, seen.body);
        } catch (e) {
            [status, body] = [400, { error: 'invalid', field: '', detail: e.message }];
        }
        r.writeHead(status, { 'content-type': 'application/json' });
        r.end(JSON.stringify(body));
    }

    #answer(path, body) {
        if (path === '/v1/sessions') return this.#open(body);
        const [, id, what] = /^\/v1\/sessions\/(\w+)\/(\w+)$/.exec(path) ?? [];
        const s = this.sessions.get(id);
        if (!s) return [404, { error: 'absent', field: 'session', detail: 'no such session' }];
        if (what === 'abandon') return this.#doubt(s, body);
        return what === 'decisions' ? this.#decide(s, body) : this.#reward(s, body);
    }

    #open(b) {
        const bad = (field, detail) => [400, { error: 'invalid', field, detail }];
        if (b.profile === 'unknown') return bad('profile', 'no profile "unknown"');
        if (this.poor && (b.quality || b.next_quality || b.height)) return bad('quality', 'has 9 entries, the ladder has 3');
        if (b.quality && b.quality.length !== b.ladder_kbps.length) return bad('quality', 'length');
        if (!Array.isArray(b.ladder_kbps) || b.ladder_kbps.length < 2) return bad('ladder_kbps', '');
        if (b.ladder_kbps.some((k, i, l) => i && k <= l[i - 1])) return bad('ladder_kbps', 'order');
        if (!isNumber(b.chunk_s, 1, 10)) return bad('chunk_s', '');
        if (!isNumber(b.chunks, 0, 1e6)) return bad('chunks', '');
        if (!isNumber(b.buffer_max_s, b.chunk_s, 3600)) return bad('buffer_max_s', '');
        const session = (++this.#opened).toString(16).padStart(32, '0');
        const s = { session, ...b, decisions: new Map(), outcomes: [], final: false };
        this.sessions.set(session, s);
        return [201, { session, explores: false, hinted: !!b.profile,
            profile: b.profile ?? (b.mu ? 'custom' : 'pensieve'),
            qoe: { mu: b.mu ?? [1, 1, 4.3], utility: 'linear' }, ...this.#choice(s, 0) }];
    }

    #choice(s, chunk) {
        const level = this.pick(s, chunk);
        s.decisions.set(chunk, level);
        return { chunk, level, kbps: s.ladder_kbps[level], policy: 1, expert: 0,
            probabilities: s.ladder_kbps.map((_, i) => +(i === level)), mode: this.observe || s.mode === 'observe' ? 'observe' : 'greedy' };
    }

    #take(s, o) {
        for (const [k, hi] of [['chunk', 1e6], ['level', s.ladder_kbps.length - 1],
            ['bytes', 1e9], ['download_s', 600], ['rebuffer_s', 600]])
            if (!isNumber(o[k], 0, hi)) throw new Error(`${k}: ${o[k]}`);
        if (!s.outcomes.some(p => p.chunk === o.chunk)) s.outcomes.push(o);
    }

    #decide(s, b) {
        if (!isNumber(b.chunk, 0, 1e6)) throw new Error(`chunk: ${b.chunk}`);
        if (!isNumber(b.buffer_s, 0, s.buffer_max_s)) throw new Error(`buffer_s: ${b.buffer_s}`);
        if (this.poor && b.next_quality) return [400, { error: 'invalid', field: 'next_quality', detail: 'no' }];
        if (s.final) return [409, { error: 'conflict', field: '', detail: 'closed' }];
        if (b.last) this.#take(s, b.last);
        return [200, this.#choice(s, b.chunk)];
    }

    #doubt(s, b) {
        for (const [k, lo, hi] of [['bytes', 0, 1e9], ['elapsed_s', 1e-6, 600], ['buffer_s', 0, s.buffer_max_s]])
            if (!isNumber(b[k], lo, hi)) throw new Error(`${k}: ${b[k]}`);
        assert.deepEqual(Object.keys(b), ['chunk', 'level', 'bytes', 'elapsed_s', 'buffer_s']);
        const [chunk, decided] = [...s.decisions].at(-1);
        if (b.chunk !== chunk || b.level !== decided) return [409, { error: 'conflict', field: 'chunk', detail: '' }];
        const level = this.second(s, b);
        s.decisions.set(chunk, level);
        return [200, { chunk, level, kbps: s.ladder_kbps[level] }];
    }

    #reward(s, b) {
        this.#take(s, b);
        s.final ||= !!b.final;
        return [200, { chunk: b.chunk, reward: 1 }];
    }
}

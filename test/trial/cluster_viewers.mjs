// cluster_viewers.mjs - viewers who ask as the plugin does: a question for every chunk, a new session
// when theirs is not known, their own choice when there is no answer.
import http from 'node:http';
import { random } from '../http/lib/tools.mjs';

export const LADDER = [300, 750, 1200, 1850, 2850, 4300];
const CHUNK_S = 4;

export function call(agent, host, port, method, path, body, timeoutMs = 2000) {
    return new Promise((resolve, reject) => {
        const q = http.request({ agent, host, port, method, path, timeout: timeoutMs }, r => {
            let text = '', bytes = 0;
            r.on('data', d => { text += d; bytes += d.length; });
            r.on('end', () => resolve({ status: r.statusCode, text, bytes }));
            r.on('error', reject);
        });
        q.on('timeout', () => q.destroy(new Error('no answer')));
        q.on('error', reject);
        q.end(body && JSON.stringify(body));
    });
}

export class Viewers {
    /** perSecond questions in all, of `many` viewers */
    constructor({ host, port, many, perSecond, chunks = 24, seed = 1 }) {
        Object.assign(this, { host, port, chunks, seed, stopping: false });
        this.agent = new http.Agent({ keepAlive: true, maxSockets: many });
        this.pauseMs = 1000 * many / perSecond;
        this.sessions = [];          // ids of all that were opened
        this.answers = this.silent = this.moved = this.longestSilent = 0;
        this.latencyMs = [];
        this.errors = new Map();
        this.running = Promise.all(Array.from({ length: many }, (_, i) => this.#watch(i)));
    }

    async stop() {
        this.stopping = true;
        await this.running;
        this.agent.destroy();
        return this;
    }

    async #watch(i) {
        const draw = random(this.seed * 1000 + i);
        await new Promise(r => setTimeout(r, draw() * this.pauseMs));
        while (!this.stopping) await this.#play(draw);
    }

    #ask(method, path, body) {
        return call(this.agent, this.host, this.port, method, path, body);
    }

    async #open(draw) {
        const r = await this.#ask('POST', '/v1/sessions', {
            profile: ['news', 'live', 'documentary', 'pensieve'][Math.floor(draw() * 4)],
            ladder_kbps: LADDER, chunk_s: CHUNK_S, chunks: this.chunks,
        });
        if (r.status !== 201) throw new Error(`open ${r.status}`);
        const { session, level } = JSON.parse(r.text);
        this.sessions.push(session);
        return { session, level };
    }

    /** The level of a chunk, or null: nobody answered. */
    async #decide(v, draw, chunk, last) {
        const t = performance.now();
        try {
            for (let tries = 0; tries < 2; tries++) {
                if (!v.session) {
                    const o = await this.#open(draw);
                    v.session = o.session;
                    if (chunk === 0) return o.level;
                    this.moved++;
                }
                const r = await this.#ask('POST', `/v1/sessions/${v.session}/decisions`,
                    { chunk, buffer_s: v.buffer, ...(last && { last }) });
                if (r.status === 200) {
                    this.latencyMs.push(performance.now() - t);
                    return JSON.parse(r.text).level;
                }
                if (![404, 409, 410].includes(r.status)) throw new Error(`ask ${r.status}`);
                v.session = null;
            }
        } catch (e) {
            this.errors.set(e.message, (this.errors.get(e.message) ?? 0) + 1);
        }
        return null;
    }

    async #play(draw) {
        const v = { session: null, buffer: 0 };
        let last = null, silent = 0;
        const mbps = 1 + 5 * draw();
        for (let chunk = 0; chunk < this.chunks && !this.stopping; chunk++) {
            const began = performance.now();
            let level = await this.#decide(v, draw, chunk, last);
            if (level === null) {
                this.silent++;
                this.longestSilent = Math.max(this.longestSilent, ++silent);
                level = 0;
            } else {
                this.answers++;
                silent = 0;
            }
            const bytes = Math.round(LADDER[level] * CHUNK_S * 125);
            const download_s = Math.max(.01, bytes * 8e-6 / (mbps * (.7 + .6 * draw())));
            const rebuffer_s = Math.max(0, download_s - v.buffer);
            v.buffer = Math.min(60, Math.max(0, v.buffer - download_s) + CHUNK_S);
            last = { chunk, level, bytes, download_s, rebuffer_s };
            const left = this.pauseMs - (performance.now() - began);
            if (left > 0) await new Promise(r => setTimeout(r, left));
        }
        if (!v.session) return;
        await this.#ask('POST', `/v1/sessions/${v.session}/rewards`,
            { ...last, ...(last.chunk === this.chunks - 1 && { final: true }) }).catch(() => {});
        await this.#ask('DELETE', `/v1/sessions/${v.session}`).catch(() => {});
    }
}

/** Of a session as the node stored it: the steps that were sampled, followed and reported in time, so that
 * they teach, and how many trajectories they make, each without a gap. It is what track.h says, written
 * a second time; sessions of up to 128 chunks, as longer ones are cut there. */
export function taught(history) {
    const all = history.steps;
    const teaches = all.map((s, i) => s.sampled && s.reported && s.followed && (i + 1 < all.length
        ? all[i + 1].sampled && all[i + 1].chunk === s.chunk + 1 : history.terminal));
    return {
        steps: teaches.filter(Boolean).length,
        trajectories: teaches.filter((yes, i) => yes && !teaches[i - 1]).length,
    };
}

// viewers.mjs - viewers who play without pause, and remember what they were told.
import assert from 'node:assert/strict';
import { untilStored } from './tools.mjs';

const video = { profile: 'news', ladder_kbps: [300, 750, 1200], chunk_s: 4, chunks: 20 };

const insist = (daemon, ...call) => untilStored(() => daemon.call(...call));

/** One session: its id, what was answered to it, and which outcomes were acknowledged when. */
export class Viewer {
    static async open(daemon, key) {
        const v = new Viewer();
        const r = await insist(daemon, 'POST', '/v1/sessions', { ...video, key });
        assert.equal(r.status, 201, r.text);
        return Object.assign(v, { id: r.json.session, level: r.json.level, chunk: 0, told: [], acknowledged: [] });
    }

    /** Reports the last chunk and asks for the next. */
    async ask(daemon) {
        const { chunk, level } = this;
        const q = { chunk: chunk + 1, buffer_s: 8 + chunk % 5,
            last: { chunk, level, bytes: 300000 + 1000 * chunk, download_s: 1.1, rebuffer_s: 0 } };
        const a = await insist(daemon, 'POST', `/v1/sessions/${this.id}/decisions`, q);
        assert.equal(a.status, 200, a.text);
        this.acknowledged.push({ chunk, at: Date.now() });
        this.told.push({ question: q, answer: a.text });
        this.chunk++;
        this.level = a.json.level;
    }

    async close(daemon) {
        const r = await insist(daemon, 'DELETE', `/v1/sessions/${this.id}`);
        assert.equal(r.status, 204, r.text);
        this.closed = true;
    }
}

/** n viewers at a time play until stop(); every third leaves a session open half-way. */
export function crowd(daemon, n, firstKey = 1) {
    const all = [];
    let key = firstKey, going = true;
    const one = async () => {
        while (going) {
            const v = await Viewer.open(daemon, key++);
            all.push(v);
            const end = key % 3 ? video.chunks - 1 : 7;
            for (let i = 0; i < end && going; i++) await v.ask(daemon);
            if (going && key % 3) await v.close(daemon);
        }
    };
    const playing = Promise.all(Array.from({ length: n }, one));
    return { all, stop: async () => { going = false; await playing; return all; } };
}

/** Of what was acknowledged up to a moment: how many, and how many the daemon does not know. */
export async function missing(daemon, viewers, until) {
    let asked = 0, lost = 0;
    for (const v of viewers) {
        const due = v.acknowledged.filter(a => a.at <= until);
        if (!due.length) continue;
        const r = await daemon.call('GET', `/v1/sessions/${v.id}`);
        const known = new Set((r.json?.steps ?? []).filter(s => s.reward !== undefined && s.reward !== null).map(s => s.chunk));
        asked += due.length;
        lost += due.filter(a => !known.has(a.chunk)).length;
    }
    return { asked, lost };
}

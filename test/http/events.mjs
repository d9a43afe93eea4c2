// The event stream as the pages use it: order, resuming, limits, and that it blocks nobody.
import assert from 'node:assert/strict';
import { Daemon, done, test, until } from './lib/daemon.mjs';

const d = await Daemon.start(['--learn', 'off', '--workers', '1']);
const video = { ladder_kbps: [300, 750, 1200], chunk_s: 4, chunks: 9 };

class Watcher {
    static async open(query = '', headers = {}) {
        const w = new Watcher();
        w.response = await fetch(`${d.url}/v1/events${query}`, { headers });
        w.events = [];
        w.reader = w.response.body.getReader();
        w.pump = w.response.ok ? w.#read() : Promise.resolve();
        return w;
    }

    async #read() {
        let text = '';
        try {
            for (;;) {
                const { done: ended, value } = await this.reader.read();
                if (ended) break;
                text += Buffer.from(value).toString();
                for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
                    const event = {};
                    for (const line of text.slice(0, end).split('\n')) {
                        const [, key, value] = /^(\w+): (.*)$/.exec(line);
                        event[key] = key === 'data' ? JSON.parse(value) : value;
                    }
                    this.events.push(event);
                }
            }
        } catch { /* the daemon closed it */ }
    }

    async wait(what, n = 1) {
        return until(what, () => {
            const found = this.events.filter(e => e.event === what);
            return found.length >= n && found;
        });
    }

    // not by an AbortSignal: fetch of node 18 forgets those that were collected meanwhile
    async close() {
        await this.reader.cancel();
        await this.pump;
    }
}

const nobody = () => until('nobody to watch', async () =>
    await d.metric('abrd_http_streams') === 0);

await test('sessions, decisions and rewards arrive in order, stats between them', async () => {
    const w = await Watcher.open();
    assert.match(w.response.headers.get('content-type'), /^text\/event-stream/);
    await w.wait('stats');
    const s = (await d.call('POST', '/v1/sessions', video)).json;
    const answer = (await d.call('POST', `/v1/sessions/${s.session}/decisions`,
        { chunk: 1, buffer_s: 4 })).json;
    const reward = (await d.call('POST', `/v1/sessions/${s.session}/rewards`,
        { chunk: 1, level: answer.level, bytes: 9, download_s: 1, rebuffer_s: 0 })).json;
    await w.wait('reward');
    const kinds = w.events.filter(e => e.id);
    assert.deepEqual(kinds.map(e => e.event), ['session', 'decision', 'reward']);
    assert.deepEqual(kinds[0].data, s);
    assert.deepEqual(kinds[1].data, { session: s.session, ...answer });
    assert.deepEqual(kinds[2].data, { session: s.session, ...reward });
    const stats = await w.wait('stats', 2);
    assert.equal(stats[1].data.sessions_live, 1);
    assert.ok(stats[1].data.at > stats[0].data.at && Math.abs(stats[1].data.at - Date.now() / 1000) < 60);
    await w.close();
});

await test('a watcher that comes back misses nothing', async () => {
    const w = await Watcher.open();
    await d.call('POST', '/v1/sessions', video);
    const [seen] = await w.wait('session');
    await w.close();
    await nobody();

    // while nobody watches nothing is kept, so the gap must have another watcher
    const other = await Watcher.open();
    await other.wait('stats');
    await d.call('POST', '/v1/sessions', video);
    await other.wait('session');
    const again = await Watcher.open('', { 'Last-Event-ID': seen.id });
    assert.equal((await again.wait('session'))[0].id, String(Number(seen.id) + 1));
    await again.close();
    await other.close();
});

await test('only stats', async () => {
    const w = await Watcher.open('?only=stats');
    await w.wait('stats');
    await d.call('POST', '/v1/sessions', video);
    await w.wait('stats', 2);
    assert.ok(w.events.every(e => e.event === 'stats' || e.retry));
    await w.close();
    assert.equal((await d.call('GET', '/v1/events?only=all')).status, 400);
});

await test('64 watchers and the other clients, all on one worker; the 65th is refused', async () => {
    await nobody();
    const crowd = await Promise.all(Array.from({ length: 64 }, () => Watcher.open()));
    assert.ok(crowd.every(w => w.response.status === 200));
    const r = await d.call('GET', '/v1/events');
    assert.equal(r.status, 429);
    assert.ok(r.headers.get('retry-after'));
    const s = (await d.call('POST', '/v1/sessions', video)).json;
    for (const w of crowd)
        assert.equal((await w.wait('session'))[0].data.session, s.session);
    await Promise.all(crowd.map(w => w.close()));
    await nobody();
});

await d.stop();
done();

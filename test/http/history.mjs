// A long session, read in pages and whole: every step once and in order, also over a restart.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Daemon, done, folder, lasting, test } from './lib/daemon.mjs';

const STEPS = 1100; // more than one page
const args = ['--data', join(folder, 'long'), '--learn', 'off', '--address-rate', '0', '--session-rate', '0'];
let d = await Daemon.start(args);
const opened = (await d.call('POST', '/v1/sessions', { ladder_kbps: [300, 750, 1200], chunk_s: 4, profile: 'live' })).json;
const path = `/v1/sessions/${opened.session}`;
let level = opened.level;
for (let chunk = 1; chunk < STEPS; chunk++) {
    const last = { chunk: chunk - 1, level, bytes: 300000 + chunk, download_s: 1.25, rebuffer_s: 0 };
    const r = await d.call('POST', `${path}/decisions`, { chunk, buffer_s: 8, last });
    assert.equal(r.status, 200, r.text);
    ({ level } = r.json);
}

const chunks = page => page.steps.map(s => s.chunk);
const range = (from, to) => Array.from({ length: to - from }, (_, i) => from + i);
let first;

await test('without a cursor there is a bounded page, which says how to go on', async () => {
    first = (await d.call('GET', path)).json;
    assert.deepEqual(chunks(first), range(0, 1000));
    assert.deepEqual([first.first, first.next], [0, 1000]);
});

await test('pages have every step once, in order, over kill -9', async () => {
    let seen = [], after = 0, pages = 0;
    await d.kill('SIGKILL');
    d = lasting(await Daemon.start(args));
    while (after !== null) {
        const page = (await d.call('GET', `${path}?after=${after}&limit=400`)).json;
        assert.equal(page.first, after);
        assert.equal(page.closed, false);
        seen = seen.concat(chunks(page));
        after = page.next;
        pages++;
    }
    assert.ok(pages >= 2);
    // what was acknowledged in the last moment before kill -9 may be lost
    assert.deepEqual(seen, range(0, seen.length));
    assert.ok(seen.length > STEPS - 500, `${seen.length} of ${STEPS}`);

    const again = (await d.call('GET', path)).json;
    assert.deepEqual(again.steps, first.steps);
    const small = (await d.call('GET', `${path}?after=37&limit=5`)).json;
    assert.deepEqual(small.steps, first.steps.slice(37, 42));
    assert.equal(small.next, 42);
    const all = (await d.call('GET', `${path}?limit=10000`)).json;
    assert.deepEqual(chunks(all), seen);
    assert.equal(all.next, null);
});

await test('as CSV it comes whole, or so many rows as are wanted', async () => {
    const all = (await d.call('GET', `${path}?limit=10000`)).json;
    const rows = async query => (await d.call('GET', `${path}?format=csv${query}`)).text
        .trim().split('\r\n').slice(1).map(row => Number(row.split(',')[0]));
    assert.deepEqual(await rows(''), chunks(all));
    assert.deepEqual(await rows('&after=5&limit=3'), [5, 6, 7]);
    assert.deepEqual(await rows('&after=100000'), []);
});

await test('a short session is one answer', async () => {
    const s = (await d.call('POST', '/v1/sessions', { ladder_kbps: [300, 750], chunk_s: 4 })).json;
    const h = (await d.call('GET', `/v1/sessions/${s.session}`)).json;
    assert.deepEqual([h.steps.length, h.first, h.next], [1, 0, null]);
});

await test('mistakes in the cursor are named', async () => {
    for (const [query, field] of [['after=x', 'after'], ['after=-1', 'after'], ['after=4294967296', 'after'],
        ['limit=0', 'limit'], ['limit=10001', 'limit'], ['limit=many', 'limit'], ['limit=', 'limit'],
        ['format=xml', 'format']]) {
        const r = await d.call('GET', `${path}?${query}`);
        assert.equal(r.status, 400, query);
        assert.equal(r.json.field, field, query);
    }
    assert.equal((await d.call('GET', '/v1/sessions/none?after=3')).status, 404);
});

await test('who leaves in the middle takes nothing along', async () => {
    for (let i = 0; i < 20; i++) {
        const leave = new AbortController();
        const r = await fetch(`${d.url}${path}?format=csv`, { signal: leave.signal });
        await r.body.getReader().read();
        leave.abort();
    }
    assert.equal((await d.call('GET', `${path}?limit=10000`)).status, 200);
    assert.deepEqual(await d.stop(), { code: 0, signal: null });
});

done();

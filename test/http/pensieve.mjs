// A test bed of Pensieve against the daemon: whole videos in its wire form, many clients at once,
// the same levels as by the sessions' API, and what is refused.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { answerFits } from './lib/schema.mjs';
import { Daemon, done, folder, test } from './lib/daemon.mjs';

const ORIGIN = 'http://localhost:8000';
const d = await Daemon.start(['--data', join(folder, 'data'), '--explore', '0', '--seed', '3',
    '--learn', 'off', '--allow-origin', ORIGIN, '--trust-proxy', '127.0.0.1']);

const LADDER = [300, 750, 1200, 1850, 2850, 4300];
const CHUNKS = 49;

/** Bytes of a chunk, as a real encoder's: they vary with the scene. */
const bytesOf = (chunk, level) =>
    Math.round(LADDER[level] * 500 * (0.85 + 0.3 * Math.abs(Math.sin(chunk * 1.7))));
const sizes = chunk => LADDER.map((_, level) => (chunk < CHUNKS ? bytesOf(chunk, level) : 0));

/** A player on a link of `kbps`, which posts as the test bed's page does. */
class Bed {
    constructor(name, kbps, { client = '', query = '', headers = {} } = {}) {
        Object.assign(this, { name, kbps, headers });
        const params = [client && `client=${client}`, query].filter(Boolean).join('&');
        this.path = params ? `/?${params}` : '/';
        this.load();
    }

    load() {
        this.chunk = -1;
        this.level = 2; // the page's own first choice
        this.buffer = 0;
        this.stalled = 0;
        this.now = 1503002051000;
        this.levels = [];
    }

    /** Fetches the next chunk; the body that tells of it. */
    fetch() {
        this.chunk++;
        const bytes = bytesOf(this.chunk, this.level);
        const kbps = this.kbps * (1 + 0.6 * Math.sin(this.chunk / 3));
        const took = Math.round(80 + bytes * 8 / kbps);
        const dry = Math.max(0, took / 1000 - this.buffer);
        this.stalled += Math.round(dry * 1000);
        this.buffer = Math.max(0, this.buffer - took / 1000) + 4;
        const begun = this.now;
        this.now += took;
        if (this.buffer > 56) {
            this.now += (this.buffer - 56) * 1000;
            this.buffer = 56;
        }
        return {
            nextChunkSize: sizes(this.chunk + 1), Type: 'RL', lastquality: this.level,
            buffer: this.buffer, bufferAdjusted: this.buffer - 4.55, bandwidthEst: kbps,
            lastRequest: this.chunk, RebufferTime: this.stalled,
            lastChunkFinishTime: begun + took, lastChunkStartTime: begun, lastChunkSize: bytes,
        };
    }

    async post(body) {
        const r = await d.call('POST', this.path, body,
            { 'Content-Type': 'text/plain;charset=UTF-8', ...this.headers });
        assert.equal(answerFits('POST', '/', r), '');
        return r;
    }

    /** One chunk; the word that came back. */
    async step() {
        const r = await this.post(this.fetch());
        assert.equal(r.status, 200, r.text);
        assert.match(r.text, /^([0-5]|REFRESH)$/);
        if (r.text !== 'REFRESH') this.level = Number(r.text);
        this.levels.push(r.text);
        return r.text;
    }

    async watch() {
        while (await this.step() !== 'REFRESH');
        return this.levels;
    }
}

const live = async () => (await d.call('GET', '/readyz')).json.sessions_live;
const opened = () => d.metric('abrd_sessions_opened_total');

await test('a whole video, and the page that is loaded again behind it', async () => {
    const bed = new Bed('one', 2500);
    for (let turn = 1; turn <= 2; turn++) {
        const levels = await bed.watch();
        assert.equal(levels.length, CHUNKS);
        assert.equal(levels.at(-1), 'REFRESH');
        assert.equal(await opened(), turn);
        assert.equal(await live(), 0);
        bed.load();
    }
});

await test('a cap in the address', async () => {
    const bed = new Bed('capped', 4000, { client: 'capped', query: 'max_kbps=300' });
    assert.deepEqual([...new Set(await bed.watch())].filter(l => Number(l) > 0), []);
    const free = new Bed('free', 4000, { client: 'free' });
    assert.ok((await free.watch()).some(l => Number(l) > 0), 'without a cap it takes more');
    for (const wrong of ['x', '-1', '5']) {
        const r = await new Bed('wrong', 1000, { client: 'wrong', query: `max_kbps=${wrong}` }).post(bed.fetch());
        assert.deepEqual([r.status, r.json.field], [400, 'max_kbps']);
    }
});

await test('the levels are those of the sessions\' API', async () => {
    const bed = new Bed('twin', 1800, { client: 'twin', query: 'profile=news' });
    const twin = (await d.call('POST', '/v1/sessions',
        { ladder_kbps: LADDER, chunk_s: 4, chunks: CHUNKS, buffer_max_s: 60, profile: 'news' })).json;
    let stalled = 0;
    for (let chunk = 0; chunk < CHUNKS - 1; chunk++) {
        const body = bed.fetch();
        const mine = await bed.post(body);
        const asked = await d.call('POST', `/v1/sessions/${twin.session}/decisions`, {
            chunk: chunk + 1, buffer_s: body.buffer, next_bytes: body.nextChunkSize,
            last: {
                chunk, level: body.lastquality, bytes: body.lastChunkSize,
                download_s: (body.lastChunkFinishTime - body.lastChunkStartTime) / 1000,
                rebuffer_s: body.RebufferTime / 1000 - stalled,
            },
        });
        assert.equal(asked.status, 200, asked.text);
        assert.equal(mine.text, String(asked.json.level), `chunk ${chunk}`);
        stalled = body.RebufferTime / 1000;
        bed.level = asked.json.level;
    }
});

await test('fifty clients at once, by address, name and cookie, do not mix', async () => {
    const how = i => [
        { headers: { 'X-Forwarded-For': `198.51.100.${i}` } },
        { client: `bed${i}` },
        { headers: { Cookie: `other=1; abrd=bed-${i}` } },
    ][i % 3];
    const rates = Array.from({ length: 50 }, (_, i) => 600 + 90 * i);
    const before = await opened();
    const together = await Promise.all(rates.map((kbps, i) => new Bed(i, kbps, how(i)).watch()));
    assert.equal(await opened(), before + 50);
    for (const i of [0, 1, 2, 25, 49]) {
        const alone = await new Bed(i, rates[i], { client: `alone${i}` }).watch();
        assert.deepEqual(together[i], alone);
    }
    assert.ok(together[49].map(Number).filter(x => x >= 0).reduce((a, b) => a + b) >
        together[0].map(Number).filter(x => x >= 0).reduce((a, b) => a + b));
});

await test('the same post again, a page loaded in the middle, a client who comes late', async () => {
    const bed = new Bed('again', 2000, { client: 'again' });
    for (let i = 0; i < 3; i++) {
        const body = bed.fetch();
        const one = await bed.post(body), two = await bed.post(body);
        assert.equal(one.text, two.text);
        bed.level = Number(one.text);
    }
    const before = await opened();
    bed.load();
    await bed.step();
    assert.equal(await opened(), before + 1);
    bed.load(); // and at once again: chunk 0 with other numbers
    bed.kbps = 900;
    await bed.step();
    assert.equal(await opened(), before + 2);

    const late = new Bed('late', 2000, { client: 'late' });
    for (let i = 0; i < 20; i++) late.fetch();
    await late.step();
    assert.equal(await opened(), before + 3);
});

await test('a chunk without a duration is not measured; sizes may be missing', async () => {
    const bed = new Bed('zero', 2000, { client: 'zero' });
    await bed.step();
    const { nextChunkSize, ...body } = bed.fetch();
    assert.equal((await bed.post({ ...body, lastChunkFinishTime: body.lastChunkStartTime })).status, 200);
    assert.equal((await bed.post({ ...bed.fetch(), nextChunkSize: [] })).status, 200);
});

await test('summaries ask nothing', async () => {
    const bed = new Bed('sum', 2000);
    const r = await bed.post({ pastThroughput: [1200.5, null, 900], pastDownloadTime: [1, 2, 3] });
    assert.deepEqual([r.status, r.text], [204, '']);
});

await test('pages of the test bed may read the answer, others may not write', async () => {
    const ours = await new Bed('page', 2000, { client: 'page', headers: { Origin: ORIGIN } })
        .post(new Bed('x', 2000).fetch());
    assert.equal(ours.headers.get('access-control-allow-origin'), ORIGIN);
    const foreign = await d.call('POST', '/', new Bed('x', 2000).fetch(), { Origin: 'http://evil.example' });
    assert.equal(foreign.status, 403);
});

await test('what is refused, with the field\'s name; the page at / stays', async () => {
    const bed = new Bed('bad', 2000, { client: 'bad' });
    const good = bed.fetch();
    const bad = async (field, change, status = 400) => {
        const r = await bed.post({ ...good, ...change });
        assert.deepEqual([r.status, r.json?.field], [status, field], r.text);
    };
    for (const name of Object.keys(good).filter(n => /^(last|Rebuffer|buffer$)/.test(n)))
        await bad(name, { [name]: undefined });
    await bad('lastRequest', { lastRequest: 49 });
    await bad('lastRequest', { lastRequest: -1 });
    await bad('lastRequest', { lastRequest: 1.5 });
    await bad('lastquality', { lastquality: 6 });
    await bad('lastquality', { lastquality: '2' });
    await bad('buffer', { buffer: -1 });
    await bad('buffer', { buffer: 1e9 });
    await bad('RebufferTime', { RebufferTime: -5 });
    await bad('RebufferTime', { RebufferTime: 1e9 });
    await bad('lastChunkFinishTime', { lastChunkFinishTime: good.lastChunkStartTime - 1 });
    await bad('lastChunkFinishTime', { lastChunkFinishTime: good.lastChunkStartTime + 1e8 });
    await bad('lastChunkSize', { lastChunkSize: -1 });
    await bad('lastChunkSize', { lastChunkSize: 5e9 });
    await bad('nextChunkSize', { nextChunkSize: [1, 2, 3] });
    await bad('nextChunkSize', { nextChunkSize: 12 });
    await bad('nextChunkSize[0]', { nextChunkSize: ['1'] });
    const nobody = await d.call('POST', '/?profile=nobody&client=nobody', good);
    assert.deepEqual([nobody.status, nobody.json.field], [404, 'profile'], nobody.text);
    for (const body of ['', '{', '[]', '"x"']) assert.equal((await bed.post(body)).status, 400);
    assert.equal((await bed.post(good)).status, 200); // nothing was kept of the refused ones

    assert.equal((await d.call('GET', '/')).status, 200);
    assert.equal((await d.call('PUT', '/', '{}')).status, 404);
});

await d.stop();
done();

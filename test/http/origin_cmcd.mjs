// Players that send CMCD for media of other servers: what the manifest told when it passed, and who is
// steered by it.
import assert from 'node:assert/strict';
import http from 'node:http';
import { Daemon, done, test, until } from './lib/daemon.mjs';

const LADDER = [300, 750, 1200, 1850, 2850, 4300], CHUNKS = 8, CHUNK_S = 2, FIRST = 0;

/** A film with 2 s a chunk; its chunks are numbered from 0, which their names alone do not tell. */
const manifest = (name = 'v$RepresentationID$-$Number%03d$.m4s', attributes = '') => `<?xml version="1.0"?>
<MPD mediaPresentationDuration="PT${CHUNKS * CHUNK_S}S" ${attributes}><Period>
<AdaptationSet contentType="audio"><SegmentTemplate media="a-$Number$.m4s" duration="2"/><Representation id="a" bandwidth="64000"/></AdaptationSet>
<AdaptationSet contentType="video"><SegmentTemplate media="${name}" duration="${CHUNK_S}" startNumber="${FIRST}"/>
${LADDER.map(kbps => `<Representation id="${kbps}" bandwidth="${kbps}000"/>`).join('\n')}
</AdaptationSet></Period></MPD>`;
const bytesOf = (kbps, n) => Math.round(kbps * 125 * CHUNK_S * (0.8 + 0.4 * Math.abs(Math.sin(n))));

const files = {
    '/film/m.mpd': manifest(), '/chunked/m.mpd': manifest(), '/time/m.mpd': manifest('$RepresentationID$/t$Time$.m4s'),
    '/broken/m.mpd': '<MPD/>', '/huge/m.mpd': manifest() + ' '.repeat(2200000),
};
const server = http.createServer((q, r) => {
    const path = q.url.split('?')[0], text = files[path], chunked = path.startsWith('/chunked');
    const m = /(\d+)[-/][a-z]*(\d+)\.m4s$/.exec(path);
    const body = text ?? Buffer.alloc(m ? bytesOf(Number(m[1]), Number(m[2])) : 16000);
    r.setHeader('Content-Type', text ? 'application/dash+xml' : 'video/iso.segment');
    r.setHeader('Cache-Control', 'max-age=60');
    if (!chunked) r.setHeader('Content-Length', body.length);
    r.write(body.slice(0, 100));
    r.end(body.slice(100));
});
await new Promise(ok => server.listen(0, '127.0.0.1', ok));

const d = await Daemon.start(['--learn', 'off', '--origin', `far=http://127.0.0.1:${server.address().port}/`]);
const encode = told => Object.entries(told).filter(([, v]) => v !== false).map(([k, v]) => (v === true ? k : `${k}=${v}`)).join(',');

async function segment(path, told, headers = false) {
    const h = headers ? { 'CMCD-Object': encode({ br: told.br, ot: told.ot }), 'CMCD-Request': encode({ bl: told.bl }),
        'CMCD-Session': encode({ sid: told.sid, cid: told.cid, st: told.st }) } : {};
    const r = await d.call('GET', `/o/far/${path}${headers ? '' : `?CMCD=${encodeURIComponent(encode(told))}`}`, undefined, h);
    assert.equal(r.status, 200);
    return r;
}
const dynamic = r => {
    const m = /^"abrd"(?:;etp=(\d+))?(?:;mb=(\d+))?$/.exec(r.headers.get('cmsd-dynamic') ?? '');
    assert.ok(m, `CMSD-Dynamic: ${r.headers.get('cmsd-dynamic')}, ${r.headers.get('abrd-cmcd-error')}`);
    return { etp: Number(m[1]), mb: Number(m[2]) };
};
const session = async r => (await d.call('GET', `/v1/sessions/${r.headers.get('abrd-session')}`)).json;

await test('without its manifest nobody is steered', async () => {
    const r = await segment('film/v750-000.m4s', { br: 750, bl: 0, ot: 'v', sid: '"early"' });
    assert.deepEqual([r.headers.get('cmsd-dynamic'), r.headers.get('abrd-session'), r.headers.get('cache-control')], [null, null, 'max-age=60']);
});

await test('a film by query and by headers: caps of its ladder, chunks by their names', async () => {
    for (const folder of ['film', 'chunked']) for (const headers of [false, true]) {
        const m = await d.call('GET', `/o/far/${folder}/m.mpd`);
        assert.deepEqual([m.status, m.text], [200, manifest()]);
        const caps = [], sid = `"${folder}-${headers}"`;
        let cap = 750, r;
        for (let n = 0; n < CHUNKS; n++) {
            const kbps = LADDER.findLast(l => l <= cap) ?? LADDER[0];
            r = await segment(`${folder}/v${kbps}-${String(n).padStart(3, '0')}.m4s`,
                { bl: 1000 * Math.min(n, 8), br: kbps, cid: '"film"', ot: 'v', sid, st: 'v' }, headers);
            assert.equal(r.headers.get('abrd-cmcd-error'), null);
            assert.ok(!/chunk/.test(r.headers.get('abrd-estimated')), 'the manifest names it');
            assert.equal(r.headers.get('cache-control'), 'no-store');
            cap = dynamic(r).mb;
            caps.push(cap);
        }
        assert.ok(caps.every(c => LADDER.includes(c)), `${caps}`);
        assert.ok(dynamic(r).etp > 0);
        const h = await session(r);
        assert.deepEqual([h.content_id, h.hinted, h.ladder_kbps, h.chunks, h.chunk_s], ['film', false, LADDER, CHUNKS, CHUNK_S]);
        assert.deepEqual(h.steps.map(s => s.chunk), [...Array(CHUNKS).keys()]);
        assert.deepEqual(h.steps.slice(1).map(s => LADDER[s.decided_level]), caps.slice(0, -1));
        assert.ok(h.steps.every(s => s.reported), 'outcomes');
        assert.deepEqual([h.closed, h.terminal], [true, true]);
        if (folder === 'film') h.steps.forEach((s, n) => assert.equal(s.bytes, bytesOf(LADDER[s.level], n)));
    }
});

await test('names with times in them, a live stream, and sound', async () => {
    await d.call('GET', '/o/far/time/m.mpd');
    const at = async (n, extra = {}) => segment(`time/750/t${n * CHUNK_S}.m4s`, { br: 750, bl: 2000 * n, ot: 'v', sid: '"times"', ...extra });
    await at(0);
    let r = await at(3); // he seeked
    assert.deepEqual((await session(r)).steps.map(s => s.chunk), [0, 1, 4]);
    const sound = await segment('time/a-4.m4s', { br: 64, bl: 0, ot: 'a', sid: '"times"' });
    assert.equal(dynamic(sound).mb, dynamic(r).mb + 64);

    // whose window moves: counted, and the same file again is the same chunk
    const live = n => segment(`time/750/t${n}.m4s`, { br: 750, bl: 4000, ot: 'v', sid: '"live"', st: 'l' });
    for (const n of [900, 902, 902, 904]) r = await live(n);
    assert.match(r.headers.get('abrd-estimated'), /chunk/);
    const h = await session(r);
    assert.equal(h.chunks, 0);
    assert.deepEqual(h.steps.map(s => s.chunk), [0, 1, 2, 3]);
});

await test('manifests that say nothing are handed on all the same', async () => {
    for (const folder of ['broken', 'huge']) {
        assert.equal((await d.call('GET', `/o/far/${folder}/m.mpd`)).text, files[`/${folder}/m.mpd`]);
        await until('it is told', () => d.output.includes(`nobody is steered by far/${folder}/m.mpd`));
        assert.equal((await segment(`${folder}/v750-000.m4s`, { br: 750, bl: 0, ot: 'v', sid: '"b"' })).headers.get('cmsd-dynamic'), null);
    }
});

await test('what is wrong with it is said beside the segment', async () => {
    const r = await d.call('GET', '/o/far/film/v300-000.m4s?CMCD=bl%3Dx');
    assert.equal(r.text.length, bytesOf(300, 0));
    assert.match(r.headers.get('abrd-cmcd-error'), /^bl/);
});

await test('reports of events are about it, too', async () => {
    const told = { bl: 4000, br: 750, ot: 'v', sid: '"events"' };
    await segment('film/v750-000.m4s', told);
    const sent = await d.call('POST', '/v1/cmcd', 'e=rr,ot=v,ttlb=812,url="https://x/o/far/film/v750-000.m4s",sid="events",v=2\n');
    assert.equal(sent.status, 204);
    const r = await segment('film/v750-001.m4s', told);
    assert.equal((await session(r)).steps[0].download_s, 0.812);
});

await d.stop();
server.close();
done();

// Players without a plugin, over HTTP: what they tell with their requests (CMCD v1 in the query and
// in headers, v2 in lists and reports) and what they are told (CMSD).
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerFits } from './lib/schema.mjs';
import { Daemon, done, folder, test } from './lib/daemon.mjs';

const LADDER = [300, 750, 1200, 1850, 2850, 4300], CHUNKS = 12, CHUNK_S = 2;
const ORIGIN = 'http://player.example';

const media = join(folder, 'media');
mkdirSync(media);
const bytesOf = (kbps, n) => Math.round(kbps * 125 * CHUNK_S * (0.8 + 0.4 * Math.abs(Math.sin(n))));
for (const kbps of LADDER)
    for (let n = 1; n <= CHUNKS; n++)
        writeFileSync(join(media, `${kbps}-${n}.m4s`), Buffer.alloc(bytesOf(kbps, n)));
writeFileSync(join(media, 'audio-1.m4s'), Buffer.alloc(16000));
writeFileSync(join(media, 'manifest.mpd'), `<MPD mediaPresentationDuration="PT${CHUNKS * CHUNK_S}S">
<Period><AdaptationSet contentType="video">
<SegmentTemplate media="$RepresentationID$-$Number$.m4s" duration="${CHUNK_S}" startNumber="1"/>
${LADDER.map(kbps => `<Representation id="${kbps}" bandwidth="${kbps}000"/>`).join('\n')}
</AdaptationSet></Period></MPD>`);

const d = await Daemon.start(['--learn', 'off', '--media-dir', media, '--allow-origin', ORIGIN]);

const encode = told => Object.entries(told).filter(([, v]) => v !== false).map(([k, v]) => (v === true ? k : `${k}=${v}`)).join(',');

/** Fetches a file as a player does, with `told` in the query, or in headers. */
async function segment(file, told, { headers = false, link = 'unlimited', extra = {} } = {}) {
    const path = `/demo/${link}/v/${file}`;
    if (!headers)
        return d.call('GET', `${path}?CMCD=${encodeURIComponent(encode(told))}`, undefined, extra);
    const group = keys => encode(Object.fromEntries(Object.entries(told).filter(([k]) => keys.includes(k))));
    const h = {
        'CMCD-Object': group(['br', 'd', 'ot', 'tb']), 'CMCD-Request': group(['bl', 'mtp', 'nor', 'su']),
        'CMCD-Session': group(['cid', 'sid', 'sf', 'st', 'v']), 'CMCD-Status': group(['bs', 'bsd']),
    };
    return d.call('GET', path, undefined, { ...Object.fromEntries(Object.entries(h).filter(([, v]) => v)), ...extra });
}

function dynamic(r) {
    const m = /^"abrd"(?:;etp=(\d+))?(?:;mb=(\d+))?$/.exec(r.headers.get('cmsd-dynamic') ?? '');
    assert.ok(m, `CMSD-Dynamic: ${r.headers.get('cmsd-dynamic')}`);
    return { etp: Number(m[1]), mb: Number(m[2]) };
}
const session = async r => (await d.call('GET', `/v1/sessions/${r.headers.get('abrd-session')}`)).json;

/** Plays all chunks at the cap; the caps. */
async function play(sid, how) {
    const caps = [];
    let cap = 750, r;
    for (let n = 1; n <= CHUNKS; n++) {
        const kbps = LADDER.findLast(l => l <= cap) ?? LADDER[0];
        r = await segment(`${kbps}-${n}.m4s`, {
            bl: 1000 * Math.min(n - 1, 8), br: kbps, bs: n === 1, cid: '"film"', d: CHUNK_S * 1000,
            mtp: 2400, nor: '"..%2Fnext.m4s"', ot: 'v', sf: 'd', sid: `"${sid}"`, st: 'v', tb: 4300, v: 1,
        }, how);
        assert.equal(r.status, 200);
        assert.equal(r.headers.get('abrd-cmcd-error'), null);
        cap = dynamic(r).mb;
        caps.push(cap);
    }
    return { caps, r };
}

await test('a video by query and by headers: caps of the ladder, one session each', async () => {
    for (const [sid, how] of [['by-query', {}], ['by-headers', { headers: true }]]) {
        const { caps, r } = await play(sid, how);
        assert.ok(caps.every(c => LADDER.includes(c)), `${caps}`);
        assert.ok(dynamic(r).etp > 0);
        const h = await session(r);
        assert.deepEqual([h.content_id, h.hinted, h.ladder_kbps, h.chunks], ['film', false, LADDER, CHUNKS]);
        assert.deepEqual(h.steps.map(s => s.chunk), [...Array(CHUNKS).keys()]);
        // what each chunk's answer capped the next one to is what the session decided for it
        assert.deepEqual(h.steps.slice(1).map(s => LADDER[s.decided_level]), caps.slice(0, -1));
        assert.ok(h.steps.every(s => s.reported), 'outcomes');
        assert.deepEqual([h.closed, h.terminal], [true, true]);
        h.steps.forEach((s, i) => assert.equal(s.bytes, bytesOf(LADDER[s.level], i + 1)));
    }
});

await test('what is estimated is said', async () => {
    const told = { br: 750, ot: 'v', sid: '"guess"' };
    const first = await segment('750-1.m4s', { ...told, bl: 100 });
    assert.equal(first.headers.get('abrd-estimated'), 'buffer_s');
    const starved = await segment('750-2.m4s', { ...told, bl: 500, bs: true });
    assert.equal(starved.headers.get('abrd-estimated'), 'buffer_s, download_s, rebuffer_s');
    const measured = await segment('750-3.m4s', { ...told, bl: 500, bs: true, bsd: '(300;v)', v: 2 });
    assert.equal(measured.headers.get('abrd-estimated'), 'buffer_s, download_s');
    assert.equal((await session(measured)).steps[1].rebuffer_s, 0.3);
});

await test('sound counts into the cap; other objects are left alone', async () => {
    const sid = '"sound"';
    const before = dynamic(await segment('750-1.m4s', { br: 750, ot: 'v', sid })).mb;
    assert.equal(dynamic(await segment('audio-1.m4s', { br: 64, ot: 'a', sid })).mb, before + 64);
    for (const ot of ['i', 'm', 'c', 'tt'])
        assert.equal((await segment('750-1.m4s', { br: 750, ot, sid })).headers.get('cmsd-dynamic'), null);
    assert.equal((await segment('750-1.m4s', { br: 750, ot: 'v' })).headers.get('cmsd-dynamic'), null);
    const nothing = await d.call('GET', '/demo/unlimited/v/750-1.m4s');
    assert.deepEqual([nothing.headers.get('cmsd-dynamic'), nothing.headers.get('abrd-session')], [null, null]);
});

await test('a shaped link: etp is what it carried', async () => {
    const told = n => ({ bl: 2000 * n, br: 300, ot: 'v', sid: '"shaped"' });
    for (let n = 1; n <= 2; n++) await segment(`300-${n}.m4s`, told(n), { link: 'lte' });
    const r = await segment('300-3.m4s', told(3), { link: 'lte' });
    const link = (await d.call('GET', '/demo/lte/v/link.json')).json;
    const { etp } = dynamic(r);
    assert.ok(etp > 0 && etp < 1000 * Math.max(...link.mbps), `etp ${etp}`);
});

await test('what is wrong with it is said beside the segment', async () => {
    for (const [text, word] of [['bl=x', 'bl'], ['br=(', 'br'], ['sid="a', 'sid'], ['bs=3', 'bs'], ['ot=v,,', '']]) {
        const r = await d.call('GET', `/demo/unlimited/v/300-1.m4s?CMCD=${encodeURIComponent(text)}`);
        assert.equal(r.status, 200);
        assert.equal(r.text.length, bytesOf(300, 1));
        assert.match(r.headers.get('abrd-cmcd-error'), new RegExp(`^${word}`), text);
        assert.equal(r.headers.get('cmsd-dynamic'), null);
    }
    assert.equal((await d.call('GET', '/demo/unlimited/v/nothing.m4s?CMCD=bl%3Dx')).status, 404);
});

const report = async (text, headers = {}) => {
    const r = await d.call('POST', '/v1/cmcd', text, { 'Content-Type': 'application/cmcd', ...headers });
    assert.equal(answerFits('POST', '/v1/cmcd', r), '');
    return r;
};

await test('reports of events: measured downloads and stalls, and the end', async () => {
    const told = { bl: 4000, br: 750, ot: 'v', sid: '"events"' };
    await segment('750-1.m4s', told);
    assert.equal((await report('e=ps,sta=p,ts=1754400000000,sid="events",v=2\n' +
        'e=rr,ot=v,br=(750;v),ttlb=812,url="https://x/750-1.m4s",sid="events",v=2\r\n' +
        'e=ps,sta=r,bsd=(450;v),sid="events",v=2\n')).status, 204);
    const r = await segment('750-2.m4s', { ...told, bs: true });
    assert.equal(r.headers.get('abrd-estimated'), 'buffer_s');
    const first = (await session(r)).steps[0];
    assert.deepEqual([first.download_s, first.rebuffer_s], [0.812, 0.45]);
    assert.equal((await report('e=ps,sta=e,sid="events"')).status, 204);
    assert.equal((await session(r)).closed, true);
    for (const nobody of ['e=ps,sta=q,sid="nobody"', 'e=ps,sta=q', '\n'])
        assert.equal((await report(nobody)).status, 204);
});

await test('reports that are refused change nothing', async () => {
    const r = await segment('750-1.m4s', { bl: 0, br: 750, ot: 'v', sid: '"kept"' });
    for (const [text, field] of [['e=ps,sta=q,sid="kept"\ne=ps,bl=x,sid="kept"', 'bl'],
        ['e=ps,sta=q,sid="kept"\ne=ps,sid="kept', 'sid'], ['{"e":"ps"}', ''], ['', '']]) {
        const refused = await report(text);
        assert.equal(refused.status, 400, text);
        assert.equal(refused.json.field, field, refused.text);
    }
    assert.equal((await session(r)).closed, false);
    assert.equal((await report('e=ps,sid="x"', { Origin: 'http://evil.example' })).status, 403);
    assert.equal((await report('x'.repeat(20000))).status, 413);
});

await test('pages of an allowed origin may send it and read it', async () => {
    const r = await segment('750-1.m4s', { bl: 0, br: 750, ot: 'v', sid: '"cors"' }, { extra: { Origin: ORIGIN } });
    assert.match(r.headers.get('access-control-expose-headers'), /CMSD-Dynamic/);
    const asked = await d.call('OPTIONS', '/demo/unlimited/v/750-1.m4s', undefined,
        { Origin: ORIGIN, 'Access-Control-Request-Method': 'GET', 'Access-Control-Request-Headers': 'cmcd-request' });
    assert.match(asked.headers.get('access-control-allow-headers'), /CMCD-Request/);
});

await d.stop();

await test('media that nobody understands are served without a cap', async () => {
    writeFileSync(join(media, 'manifest.mpd'), '<MPD/>');
    const other = await Daemon.start(['--learn', 'off', '--media-dir', media]);
    const r = await other.call('GET', '/demo/unlimited/v/750-1.m4s?CMCD=ot%3Dv%2Cbr%3D750%2Csid%3D%22a%22');
    assert.deepEqual([r.status, r.headers.get('cmsd-dynamic')], [200, null]);
    assert.match(other.output, /media/);
});

done();

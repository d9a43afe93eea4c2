// HLS and SegmentBase of other servers: playlists on their way, media playlists and index boxes that the
// daemon reads once, chunks known by name or byte range, caps, sound, and origins that misbehave.
import assert from 'node:assert/strict';
import http from 'node:http';
import zlib from 'node:zlib';
import { Daemon, done, test, until } from './lib/daemon.mjs';

const LEVELS = [{ kbps: 400, peak: 600, height: 240 }, { kbps: 900, peak: 1350, height: 480 },
    { kbps: 2000, peak: 3000, height: 720 }, { kbps: 4500, peak: 6800, height: 1080 }];
const CHUNKS = 6, CHUNK_S = 4;
const sizeOf = (k, n) => Math.round(LEVELS[k].kbps * 125 * CHUNK_S * (0.8 + 0.05 * n));

/** A multivariant playlist of levels; uri(k) names a level's media playlist. */
const multivariant = (uri, { levels = LEVELS, codecs = 'avc1.4d401f,mp4a.40.2', more = '', audio = 'URI="a/x.m3u8"' } = {}) => `#EXTM3U
#EXT-X-VERSION:6
# a comment
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="s",NAME="en",DEFAULT=YES,${audio}
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="t",NAME="en",URI="t/x.m3u8"
${levels.slice().reverse().map(l => variant(l, uri(LEVELS.indexOf(l)), codecs)).join('')}${more}`;
function variant(l, uri, codecs) {
    return `#EXT-X-STREAM-INF:BANDWIDTH=${l.peak}000,AVERAGE-BANDWIDTH=${l.kbps}000,CODECS="${codecs}",RESOLUTION=${l.height * 16 / 9 | 0}x${l.height},AUDIO="s",SUBTITLES="t"\r\n${uri}\r\n`;
}
const media = (name, { ranges = false, k = 0, end = true } = {}) => {
    let at = 1000, text = `#EXTM3U\n#EXT-X-TARGETDURATION:${CHUNK_S}\n#EXT-X-MAP:URI="init.mp4"\n`;
    for (let n = 0; n < CHUNKS; n++) {
        text += `#EXTINF:${CHUNK_S}.0,\n`;
        if (ranges) text += `#EXT-X-BYTERANGE:${sizeOf(k, n)}${n ? '' : `@${at}`}\n`;
        text += `${name(n)}\n`;
        at += sizeOf(k, n);
    }
    return text + (end ? '#EXT-X-ENDLIST\n' : '');
};

/** An index box: version 0, CHUNKS references. */
function sidx(k) {
    const b = Buffer.alloc(32 + 12 * CHUNKS);
    b.writeUInt32BE(b.length, 0);
    b.write('sidx', 4);
    b.writeUInt32BE(1, 12);
    b.writeUInt32BE(1000, 16);
    b.writeUInt16BE(CHUNKS, 30);
    for (let n = 0; n < CHUNKS; n++) {
        b.writeUInt32BE(sizeOf(k, n), 32 + 12 * n);
        b.writeUInt32BE(CHUNK_S * 1000, 36 + 12 * n);
        b.writeUInt32BE(0x90000000, 40 + 12 * n);
    }
    return b;
}
const INDEX_AT = 700;
/** Head, index box, chunks. */
const file = k => Buffer.concat([Buffer.alloc(INDEX_AT), sidx(k), ...[...Array(CHUNKS).keys()].map(n => Buffer.alloc(sizeOf(k, n), n + 1))]);
const chunkAt = (k, n) => INDEX_AT + 32 + 12 * CHUNKS + [...Array(n).keys()].reduce((sum, i) => sum + sizeOf(k, i), 0);
const onDemand = (extra = '') => `<MPD mediaPresentationDuration="PT${CHUNKS * CHUNK_S}S"><Period><AdaptationSet contentType="video" ${extra}>
${LEVELS.map((l, k) => `<Representation id="${k}" bandwidth="${l.kbps}000"><BaseURL>${k}.mp4</BaseURL><SegmentBase indexRange="${INDEX_AT}-${INDEX_AT + 31 + 12 * CHUNKS}"/></Representation>`).join('\n')}
</AdaptationSet></Period></MPD>`;

const asked = [];        // paths, with ranges
const special = {};      // path: (request, response) => void
const files = {};
const server = http.createServer((q, r) => {
    const path = q.url.split('?')[0];
    asked.push(`${path}${q.headers.range ? ` ${q.headers.range}` : ''}`);
    if (special[path]) return special[path](q, r);
    let body = files[path];
    const segment = /\/(\d)\/(\d+)\.(ts|m4s)$/.exec(path);
    if (segment) body = Buffer.alloc(sizeOf(Number(segment[1]), Number(segment[2])));
    if (/\/h\d-\d+\.m4s$/.test(path)) body = Buffer.alloc(1000);
    if (/\/a\/\d+\.aac$/.test(path)) body = Buffer.alloc(64 * 125 * CHUNK_S);
    if (body === undefined) { r.statusCode = 404; return r.end(); }
    if (typeof body === 'string') body = Buffer.from(body);
    r.setHeader('Content-Type', path.endsWith('.m3u8') ? 'application/vnd.apple.mpegurl' : path.endsWith('.mpd') ? 'application/dash+xml' : 'video/mp4');
    const range = /^bytes=(\d+)-(\d*)$/.exec(q.headers.range ?? '');
    if (range) {
        const from = Number(range[1]), to = Math.min(range[2] === '' ? body.length - 1 : Number(range[2]), body.length - 1);
        r.statusCode = 206;
        r.setHeader('Content-Range', `bytes ${from}-${to}/${body.length}`);
        body = body.subarray(from, to + 1);
    }
    r.setHeader('Content-Length', body.length);
    r.end(body);
});
await new Promise(ok => server.listen(0, '127.0.0.1', ok));
const base = `http://127.0.0.1:${server.address().port}`;

/** A film in a folder: the playlist and its media playlists. */
function film(folder, { options, ...how } = {}) {
    files[`/${folder}/m.m3u8`] = multivariant(k => `${k}/x.m3u8`, options);
    LEVELS.forEach((l, k) => { files[`/${folder}/${k}/x.m3u8`] = media(n => (how.ranges ? 'all.mp4' : `${n}.ts`), { k, ...how }); });
    files[`/${folder}/a/x.m3u8`] = media(n => `${n}.aac`);
}

const d = await Daemon.start(['--learn', 'off', '--origin-silence', '10', '--origin', `far=${base}`, '--origin', `near=${base}/near`]);
const encode = told => Object.entries(told).filter(([, v]) => v !== false).map(([k, v]) => (v === true ? k : `${k}=${v}`)).join(',');
const get = (path, told, range) => d.call('GET', `/o/far/${path}${told ? `?CMCD=${encodeURIComponent(encode(told))}` : ''}`, undefined, range ? { Range: range } : {});
const cap = r => {
    const m = /;mb=(\d+)/.exec(r.headers.get('cmsd-dynamic') ?? '');
    assert.ok(m, `CMSD-Dynamic: ${r.headers.get('cmsd-dynamic')}, ${r.headers.get('abrd-cmcd-error')}\n${d.output}`);
    return Number(m[1]);
};
const session = async r => (await d.call('GET', `/v1/sessions/${r.headers.get('abrd-session')}`)).json;
const bitrates = text => [...text.matchAll(/AVERAGE-BANDWIDTH=(\d+)000/g)].map(m => Number(m[1]));
/** Until a segment of this path is steered: the daemon reads a manifest's files on its own. */
let probes = 0;
async function known(path, told = {}, range = undefined) {
    await until(`${path} is known`, async () => {
        const r = await get(path, { br: 900, bl: 0, ot: 'v', sid: `"probe${probes++}"`, ...told }, range);
        return r.headers.get('cmsd-dynamic') !== null;
    });
}

await test('a film in HLS: its ladder, its chunks, and a session that ends', async () => {
    film('film');
    const r = await get('film/m.m3u8');
    assert.equal(r.status, 200);
    assert.match(r.headers.get('content-type'), /mpegurl/);
    // the same lines, in another order
    assert.deepEqual(r.text.split(/\r?\n/).sort(), files['/film/m.m3u8'].split(/\r?\n/).sort());
    assert.equal(bitrates(r.text).length, 4);
    await known('film/1/0.ts');
    const caps = [];
    let last, top = 900;
    for (let n = 0; n < CHUNKS; n++) {
        const k = Math.max(0, LEVELS.findLastIndex(l => l.kbps <= top));
        // as hls.js: br is the peak
        last = await get(`film/${k}/${n}.ts`, { br: LEVELS[k].peak, bl: 4000 * n, ot: 'v', sid: '"one"', st: 'v' });
        assert.ok(!/chunk/.test(last.headers.get('abrd-estimated')));
        caps.push(top = cap(last));
    }
    assert.ok(caps.every(c => LEVELS.some(l => l.kbps === c)), `${caps}`);
    const h = await session(last);
    assert.deepEqual([h.ladder_kbps, h.chunks, h.chunk_s], [LEVELS.map(l => l.kbps), CHUNKS, CHUNK_S]);
    assert.deepEqual(h.steps.map(s => s.chunk), [...Array(CHUNKS).keys()]);
    assert.deepEqual(h.steps.slice(1).map(s => s.level), h.steps.slice(1).map(s => s.decided_level));
    assert.deepEqual([h.closed, h.terminal], [true, true]);
});

await test('what a playlist refers to is read once', async () => {
    const before = asked.filter(a => /film\/\d\/x/.test(a)).length;
    assert.equal(before, 4);
    await get('film/m.m3u8');
    await get('film/m.m3u8');
    await known('film/2/0.ts');
    assert.equal(asked.filter(a => /film\/\d\/x/.test(a)).length, before);
});

await test('the first variant is the level that would be decided, within the caps', async () => {
    for (const [query, most] of [['', 4], ['?abrd-max-kbps=1000', 2], ['?abrd-max-height=720', 3], ['?abrd-max-height=100', 1],
        ['?x=1&abrd-max-kbps=2000&y=2', 3]]) {
        const r = await d.call('GET', `/o/far/film/m.m3u8${query}`);
        assert.equal(bitrates(r.text).length, most, query);
        assert.ok(bitrates(r.text)[0] <= 900, 'a level of which nothing is known begins low');
        assert.match(r.text, /TYPE=AUDIO.*URI="a\/x.m3u8"/);
        assert.match(r.text, /TYPE=SUBTITLES/);
    }
    for (const query of ['abrd-max-kbps=x', 'abrd-max-kbps=-1', 'abrd-max-height=0', 'abrd-max-height=']) {
        const r = await d.call('GET', `/o/far/film/m.m3u8?${query}`);
        assert.equal(r.status, 400, query);
        assert.match(r.json.field, /^abrd-max-/);
    }
    assert.ok(!asked.some(a => a.includes('abrd-')));
});

await test('no cache keeps a playlist, whose text is for one viewer', async () => {
    const told = { ETag: '"v1"', 'Last-Modified': 'Sun, 01 Nov 2026 00:00:00 GMT', Expires: 'Sun, 01 Nov 2037 00:00:00 GMT',
        'Accept-Ranges': 'bytes', 'Cache-Control': 'public, max-age=60' };
    special['/film/cached.m3u8'] = (q, r) => { r.writeHead(200, { ...told, 'Content-Type': 'application/x-mpegURL' }); r.end(files['/film/m.m3u8']); };
    special['/film/cached.mp4'] = (q, r) => { r.writeHead(200, told); r.end('x'); };
    const headers = async (method, path) => {
        const r = await d.call(method, `/o/far/film/${path}`);
        return Object.keys(told).map(name => r.headers.get(name));
    };
    for (const method of ['GET', 'HEAD'])
        assert.deepEqual(await headers(method, 'cached.m3u8'), [null, null, null, null, 'no-store'], method);
    assert.deepEqual(await headers('GET', 'cached.mp4'), Object.values(told));
});

await test('addresses: absolute, from the root, of another origin and of nobody', async () => {
    special['/near/abs.m3u8'] = (q, r) => r.end(multivariant(k => [`${base}/near/${k}/x.m3u8`, `/near/${k}/x.m3u8`, `${base}/film/${k}/x.m3u8`, `https://else.example/${k}.m3u8`][k],
        { audio: `URI="/near/a.m3u8"` }));
    const lines = (await d.call('GET', '/o/near/abs.m3u8')).text.split(/\r?\n/);
    for (const uri of ['../near/0/x.m3u8', '../near/1/x.m3u8', 'https://else.example/3.m3u8'])
        assert.ok(lines.includes(uri), `${uri}\n${lines.join('\n')}`);
    assert.ok(lines.includes('../far/film/2/x.m3u8'));
    assert.ok(lines.some(l => l.includes('URI="../near/a.m3u8"')));
    // a path that leaves the origin's own folder goes to its server
    special['/near/up.m3u8'] = (q, r) => r.end('#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n../film/0/0.ts\n#EXTINF:4,\n1.ts\n#EXT-X-KEY:METHOD=AES-128,URI="skd://k"\n#EXTINF:4,\ndata:x\n');
    const up = (await d.call('GET', '/o/near/up.m3u8')).text;
    assert.match(up, /\n\.\.\/far\/film\/0\/0\.ts\n/);
    assert.match(up, /\n1\.ts\n/);
    assert.match(up, /URI="skd:\/\/k"/);
    assert.match(up, /\ndata:x\n/);
});

await test('a playlist that was redirected', async () => {
    film('moved/there');
    special['/moved/m.m3u8'] = (q, r) => { r.writeHead(302, { Location: '/moved/there/m.m3u8' }); r.end(); };
    const r = await get('moved/m.m3u8');
    assert.match(r.text, /\n\.\.\/\.\.\/far\/moved\/there\/1\/x\.m3u8/);
    await known('moved/there/1/2.ts');
});

await test('chunks that are byte ranges of a file', async () => {
    film('ranges', { ranges: true });
    LEVELS.forEach((l, k) => { files[`/ranges/${k}/all.mp4`] = Buffer.alloc(1000 + [...Array(CHUNKS).keys()].reduce((s, n) => s + sizeOf(k, n), 0)); });
    await get('ranges/m.m3u8');
    const range = n => { const from = 1000 + [...Array(n).keys()].reduce((s, i) => s + sizeOf(1, i), 0); return `bytes=${from}-${from + sizeOf(1, n) - 1}`; };
    await known('ranges/1/all.mp4', {}, range(0));
    let r;
    for (const n of [0, 1, 4]) r = await get('ranges/1/all.mp4', { br: 1350, bl: 8000, ot: 'v', sid: '"r"' }, range(n));
    assert.equal(r.status, 206);
    assert.deepEqual((await session(r)).steps.map(s => s.chunk), [0, 1, 2, 5]);
    assert.equal((await session(r)).steps[0].bytes, sizeOf(1, 0));
    const head = await get('ranges/1/all.mp4', { br: 1350, bl: 8000, ot: 'v', sid: '"r"' }, 'bytes=0-999');
    assert.equal(head.headers.get('cmsd-dynamic'), null, 'the head of the file is no chunk');
});

await test('SegmentBase: index boxes are read once, ranges are chunks', async () => {
    LEVELS.forEach((l, k) => { files[`/base/${k}.mp4`] = file(k); });
    files['/base/m.mpd'] = onDemand();
    assert.equal((await get('base/m.mpd')).text, files['/base/m.mpd']);
    const range = (k, n) => `bytes=${chunkAt(k, n)}-${chunkAt(k, n) + sizeOf(k, n) - 1}`;
    await known('base/1.mp4', {}, range(1, 0));
    const reads = () => asked.filter(a => /base\/\d\.mp4 bytes=700-/.test(a)).length;
    assert.equal(reads(), 4);
    let r, k = 1;
    for (let n = 0; n < CHUNKS; n++) {
        r = await get(`base/${k}.mp4`, { br: LEVELS[k].kbps, bl: 4000, ot: 'v', sid: '"base"' }, range(k, n));
        k = LEVELS.findLastIndex(l => l.kbps <= cap(r));
    }
    const h = await session(r);
    assert.deepEqual(h.steps.map(s => s.chunk), [...Array(CHUNKS).keys()]);
    h.steps.forEach((s, n) => assert.equal(s.bytes, sizeOf(s.level, n)));
    assert.deepEqual([h.closed, h.terminal], [true, true]);
    await get('base/m.mpd');
    await get('base/2.mp4', { br: 2000, ot: 'v', sid: '"again"' }, range(2, 1));
    assert.equal(reads(), 4);
    // the box itself, asked for by a player, is no chunk
    const box = await get('base/2.mp4', { br: 2000, ot: 'v', sid: '"again"' }, 'bytes=0-803');
    assert.equal(box.headers.get('cmsd-dynamic'), null);
});

await test('sound counts once: in the ladder of HLS, beside that of DASH', async () => {
    const hls = await get('film/1/1.ts', { br: 1350, bl: 4000, ot: 'v', sid: '"s"' });
    const sound = await get('film/a/1.aac', { br: 64, bl: 4000, ot: 'a', sid: '"s"' });
    assert.equal(cap(sound), cap(hls));
    const at = chunkAt(1, 1), range = `bytes=${at}-${at + sizeOf(1, 1) - 1}`;
    const dash = await get('base/1.mp4', { br: 900, bl: 4000, ot: 'v', sid: '"t"' }, range);
    assert.equal(cap(await get('base/a/1.aac', { br: 64, bl: 4000, ot: 'a', sid: '"t"' })), cap(dash) + 64);
    const muxed = await get('base/1.mp4', { br: 900, bl: 4000, ot: 'av', sid: '"t"' }, `bytes=${chunkAt(1, 2)}-${chunkAt(1, 3) - 1}`);
    assert.ok(LEVELS.some(l => l.kbps === cap(muxed)));
});

await test('a player of our own reports its sound', async () => {
    const { json: { session: id } } = await d.call('POST', '/v1/sessions', { ladder_kbps: [300, 750], chunk_s: 4, chunks: 9 });
    const path = `/v1/sessions/${id}/decisions`, last = { chunk: 0, level: 0, bytes: 150000, download_s: 0.8, rebuffer_s: 0 };
    const question = { chunk: 1, buffer_s: 4, other_kbps: 128, last: { ...last, other_bytes: 50000 } };
    for (let i = 0; i < 2; i++) assert.equal((await d.call('POST', path, question)).status, 200); // the second is a repeat
    // 200,000 bytes in 0.8 s, less 128 kbit/s
    assert.equal((await d.call('GET', `/v1/sessions/${id}`)).json.steps[0].bytes, 187200);
    assert.equal((await d.call('POST', path, { ...question, other_kbps: 64 })).status, 409);
    for (const [field, body] of [['last.other_bytes', { ...question, last: { ...last, other_bytes: -1 } }], ['other_kbps', { ...question, other_kbps: -1 }],
        ['other_kbps', { ...question, last, other_kbps: 1e7 }]]) {
        const r = await d.call('POST', path, { ...body, chunk: 2 });
        assert.deepEqual([r.status, r.json.field], [400, field]);
    }
    const report = { chunk: 1, level: 1, bytes: 375000, download_s: 2, rebuffer_s: 0, other_bytes: 64000, other_kbps: 128 };
    assert.equal((await d.call('POST', `/v1/sessions/${id}/rewards`, report)).status, 200);
    assert.equal((await d.call('GET', `/v1/sessions/${id}`)).json.steps[1].bytes, 407000);
    // a link that carries the sound and little else, decided by the shipped policy
    const shipped = await new Daemon(['--port', '0', '--learn', 'off']).ready;
    const decide = other_kbps => shipped.call('POST', '/v1/decide', { ladder_kbps: [300, 750, 1200], chunk_s: 4, buffer_s: 8, last_level: 0,
        throughput_kbps: [1500, 1500, 1500, 1500, 1500], download_s: [1, 1, 1, 1, 1], profile: 'live', other_kbps });
    assert.ok((await decide(1300)).json.level < (await decide(0)).json.level);
    assert.deepEqual([(await decide(-1)).status, (await decide(-1)).json.field], [400, 'other_kbps']);
    await shipped.stop();
});

await test("the player's own cap is part of the question", async () => {
    for (const [key, top, most] of [['tb', 1350, 900], ['tb', 900, 900], ['tpb', 400, 400]]) {
        let r;
        for (let n = 0; n < 4; n++) r = await get(`film/0/${n}.ts`, { br: 600, bl: 60000, mtp: 90000, ot: 'v', sid: `"cap${key}${top}"`, tb: 6800, [key]: top });
        assert.ok(cap(r) <= most, `${key}=${top}: ${cap(r)}`);
        assert.ok((await session(r)).steps.every(s => LEVELS[s.decided_level].kbps <= most));
    }
});

await test('two codecs are two ladders', async () => {
    film('codecs');
    const own = LEVELS.map(l => ({ ...l, kbps: l.kbps / 2, peak: l.peak / 2 }));
    files['/codecs/m.m3u8'] += own.map((l, i) => variant(l, `h${i}.m3u8`, 'hvc1.1.6.L93,mp4a.40.2')).join('');
    own.forEach((l, i) => { files[`/codecs/h${i}.m3u8`] = media(n => `h${i}-${n}.m4s`); });
    const r = await d.call('GET', '/o/far/codecs/m.m3u8?abrd-max-kbps=1000');
    assert.deepEqual(bitrates(r.text).sort((a, b) => a - b), [200, 400, 450, 900, 1000]);
    await known('codecs/h1-0.m4s');
    for (const [path, ladder] of [['codecs/h1-1.m4s', own], ['codecs/1/1.ts', LEVELS]]) {
        const one = await session(await get(path, { br: 450, bl: 0, ot: 'v', sid: `"${path}"` }));
        assert.deepEqual(one.ladder_kbps, ladder.map(l => l.kbps), path);
    }
});

await test('a live stream in HLS', async () => {
    film('live', { end: false });
    await get('live/m.m3u8');
    await known('live/1/0.ts');
    let r;
    for (const n of [900, 901, 901, 902]) {
        special[`/live/1/${n}.ts`] = (q, s) => s.end(Buffer.alloc(1000));
        r = await get(`live/1/${n}.ts`, { br: 1350, bl: 4000, ot: 'v', sid: '"l"' }); // without st
    }
    const h = await session(r);
    assert.equal(h.chunks, 0);
    assert.deepEqual(h.steps.map(s => s.chunk), [0, 1, 2, 3]);
});

await test('periods with other ladders: the link goes on', async () => {
    const period = (name, levels, s) => `<Period duration="PT${s}S"><AdaptationSet contentType="video"><SegmentTemplate media="${name}$RepresentationID$-$Number$.m4s" duration="4"/>
${levels.map(b => `<Representation id="${b}" bandwidth="${b}000"/>`).join('')}</AdaptationSet></Period>`;
    files['/ads/m.mpd'] = `<MPD>${period('film', [300, 900, 2700], 40)}${period('ad', [500, 1500], 20)}</MPD>`;
    await get('ads/m.mpd');
    for (const name of ['film900-1', 'film900-2', 'film900-3', 'ad500-1', 'ad500-2']) files[`/ads/${name}.m4s`] = Buffer.alloc(400000);
    let r;
    const told = { bl: 12000, ot: 'v', sid: '"viewer"' };
    for (const n of [1, 2, 3]) r = await get(`ads/film900-${n}.m4s`, { ...told, br: 900 });
    const first = await session(r);
    assert.deepEqual(first.ladder_kbps, [300, 900, 2700]);
    r = await get('ads/ad500-1.m4s', { ...told, br: 500 });
    const ad = await session(r);
    assert.deepEqual(ad.ladder_kbps, [500, 1500]);
    assert.notEqual(ad.session, first.session);
    assert.ok(Number(/etp=(\d+)/.exec(r.headers.get('cmsd-dynamic'))?.[1]) > 0, 'the throughput is that of the film');
});

await test('what is malformed, huge, compressed or of another kind is handed on', async () => {
    const bad = {
        'bad/malformed.m3u8': '#EXTM3U\n#EXT-X-STREAM-INF:AVERAGE-BANDWIDTH=1\nx\n',
        'bad/open.m3u8': '#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000000\n',
        'bad/page.m3u8': '<html></html>', 'bad/empty.m3u8': '',
        'bad/huge.m3u8': `#EXTM3U\n#EXT-X-TARGETDURATION:4\n${'#EXTINF:4,\n/a/segment-of-some-length.ts\n'.repeat(90000)}`,
        'bad/long.m3u8': `#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n${'x'.repeat(9000)}\n`,
        'bad/one.m3u8': `#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000000\nx.m3u8\n`,
    };
    for (const [path, text] of Object.entries(bad)) {
        special[`/${path}`] = (q, r) => { r.setHeader('Content-Type', 'application/x-mpegURL'); r.write(text.slice(0, 20)); r.end(text.slice(20)); }; // no length
        const r = await get(path);
        assert.deepEqual([path, r.status, r.text.length], [path, 200, text.length]);
        assert.ok(r.text === text, path);
    }
    for (const path of ['bad/malformed.m3u8', 'bad/open.m3u8', 'bad/huge.m3u8', 'bad/one.m3u8'])
        await until(`${path} is told`, () => d.output.includes(`nobody is steered by far/${path}`));
    assert.match(d.output, /far\/bad\/malformed.m3u8: .*BANDWIDTH/);
    special['/bad/zipped.m3u8'] = (q, r) => { r.setHeader('Content-Encoding', 'gzip'); r.end(zlib.gzipSync(files['/film/m.m3u8'])); };
    assert.equal((await get('bad/zipped.m3u8')).text, files['/film/m.m3u8']);
    const head = await d.call('HEAD', '/o/far/film/m.m3u8');
    assert.deepEqual([head.status, head.headers.get('content-length')], [200, null]);
});

await test('origins that hang or fail while the daemon reads are asked again', async () => {
    film('hang');
    special['/hang/2/x.m3u8'] = (q, r) => { r.writeHead(200); r.write('#EXTM3U\n'); };
    await get('hang/m.m3u8');
    await until('it is told', () => d.output.includes('nobody is steered by far/hang/m.m3u8'));
    assert.equal((await get('hang/1/0.ts', { br: 900, ot: 'v', sid: '"h"' })).headers.get('cmsd-dynamic'), null);
    special['/hang/2/x.m3u8'] = (q, r) => { r.writeHead(503); r.end(); };
    await get('hang/m.m3u8');
    await until('it is told again', () => d.output.split('nobody is steered by far/hang/m.m3u8').length > 2);
    delete special['/hang/2/x.m3u8'];
    await get('hang/m.m3u8');
    await known('hang/1/0.ts');
});

await test('a daemon that stops does not wait for a manifest', async () => {
    const own = await Daemon.start(['--learn', 'off', '--origin-silence', '600', '--origin', `far=${base}`]);
    special['/stuck/0/x.m3u8'] = (q, r) => { r.writeHead(200); r.write('#EXTM3U\n'); };
    film('stuck');
    await own.call('GET', '/o/far/stuck/m.m3u8');
    await until('it is asked', () => asked.some(a => a.startsWith('/stuck/')));
    assert.deepEqual(await own.stop(), { code: 0, signal: null });
});

await d.stop();
server.closeAllConnections();
server.close();
done();

// abrd video --fetch: manifests and sizes over HTTP, and what it does not follow.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { ABRD, done, folder, test } from './lib/daemon.mjs';

const mpd = `<MPD mediaPresentationDuration="PT8S"><Period><AdaptationSet contentType="video">
<SegmentTemplate media="$RepresentationID$-$Number$.m4s" duration="4"/>
<Representation id="lo" bandwidth="500000"/><Representation id="hi" bandwidth="2000000"/>
</AdaptationSet></Period></MPD>`;
const sizes = { 'lo-1': 100, 'lo-2': 110, 'hi-1': 400, 'hi-2': 410 };

/** An index box of two references of 4 s. */
function sidx(first, second) {
    const b = Buffer.alloc(56);
    b.writeUInt32BE(56, 0);
    b.write('sidx', 4);
    b.writeUInt32BE(1, 16);
    b.writeUInt16BE(2, 30);
    [first, second].forEach((bytes, i) => {
        b.writeUInt32BE(bytes, 32 + 12 * i);
        b.writeUInt32BE(4, 36 + 12 * i);
    });
    return b;
}

const indexed = `<MPD><Period><AdaptationSet contentType="video">
<Representation bandwidth="500000"><BaseURL>lo.mp4</BaseURL><SegmentBase indexRange="0-55"/></Representation>
<Representation bandwidth="2000000"><BaseURL>hi.mp4</BaseURL><SegmentBase/></Representation>
</AdaptationSet></Period></MPD>`;

// the boxes lie behind 100 other bytes
const deep = indexed.replace('0-55', '100-155').replace('<SegmentBase/>', '<SegmentBase indexRange="100-155"/>');

const master = `#EXTM3U
#EXT-X-STREAM-INF:BANDWIDTH=500000
old/lo.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=2000000
hi.m3u8
`;
const playlist = id => `#EXTM3U\n#EXTINF:4,\n${id}-1.m4s\n#EXTINF:4,\n${id}-2.m4s\n`;

let other; // a second private server, which nobody typed
const seen = [];
function serve(req, res) {
    seen.push(`${req.method} ${req.url}`);
    const name = req.url.slice(req.url.lastIndexOf('/') + 1);
    const segment = sizes[name.replace('.m4s', '')];
    const file = { 'lo.mp4': sidx(50, 60), 'hi.mp4': sidx(70, 80) }[name];
    const [, how] = /^\/(chunked|headless|zero|unranged|broken)\//.exec(req.url) ?? [];
    if (how && segment) return shy(how, segment, req, res);
    if (how === 'unranged' && file) return void res.end(Buffer.concat([Buffer.alloc(100), file, Buffer.alloc(1 << 20)]));
    if (name === 'deep.mpd') return void res.end(deep);
    const moved = {
        '/moved': '/a/m.mpd',
        '/away': `http://127.0.0.1:${other}/a/m.mpd`,
        '/file': 'file:///etc/passwd',
        '/loop': '/loop',
        '/hls/old/lo.m3u8': '/new/lo.m3u8',
    }[req.url];
    if (moved) {
        res.writeHead(302, { location: moved }).end();
    } else if (name === 'm.mpd') {
        res.end(mpd);
    } else if (name === 'm.m3u8') {
        res.end(master);
    } else if (name.endsWith('.m3u8')) {
        res.end(playlist(name.slice(0, 2)));
    } else if (name === 'index.mpd') {
        res.end(indexed);
    } else if (name === 'elsewhere.mpd') {
        res.end(mpd.replace('$RepresentationID$', `http://127.0.0.1:${other}/$RepresentationID$`));
    } else if (name === 'huge.mpd') {
        res.write(Buffer.alloc(17 << 20, ' '));
        res.end();
    } else if (file) {
        const [, from, to] = /bytes=(\d+)-(\d+)/.exec(req.headers.range).map(Number);
        res.writeHead(206).end(file.subarray(from, to + 1));
    } else if (segment && req.method === 'HEAD') {
        res.writeHead(200, { 'content-length': segment }).end();
    } else {
        res.writeHead(404).end();
    }
}

/** Servers that do not say the length of a segment in HEAD. */
function shy(how, segment, req, res) {
    if (req.method === 'HEAD') {
        if (how === 'headless' || how === 'broken') res.writeHead(405).end();
        else res.writeHead(200, how === 'zero' ? { 'content-length': 0 } : { 'transfer-encoding': 'chunked' }).end();
    } else if (how === 'broken') {
        res.writeHead(403).end();
    } else if (how === 'unranged') { // the whole, in pieces, more than the program keeps of an answer
        res.writeHead(200);
        res.write(Buffer.alloc(17 << 20));
        res.end(Buffer.alloc(segment));
    } else {
        res.writeHead(206, { 'content-range': `bytes 0-0/${segment}` }).end('x');
    }
}

const server = http.createServer(serve);
const second = http.createServer(serve);
await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
await new Promise(resolve => second.listen(0, '127.0.0.1', resolve));
other = second.address().port;
const url = `http://127.0.0.1:${server.address().port}`;

/** Runs abrd while this process serves. */
function run(...args) {
    return new Promise(resolve => {
        const child = spawn(ABRD, ['video', ...args, '--quiet'], { stdio: ['ignore', 'pipe', 'pipe'] });
        let text = '';
        child.stdout.on('data', d => text += d);
        child.stderr.on('data', d => text += d);
        child.on('exit', code => resolve({ code, text }));
    });
}

const convert = async path => {
    const out = join(folder, 'table');
    const r = await run('convert', url + path, '--fetch', '--out', out);
    assert.equal(r.code, 0, r.text);
    return JSON.parse(readFileSync(join(out, 'video.json'), 'utf8'));
};

await test('sizes by HEAD', async () => {
    const table = await convert('/a/m.mpd');
    assert.deepEqual(table.segment_sizes_bits, [[800, 3200], [880, 3280]]);
    assert.deepEqual(table.bitrates_kbps, [500, 2000]);
    assert.equal(seen.filter(s => s.startsWith('HEAD')).length, 4);
});

await test('behind a redirect of the same host', async () => {
    const table = await convert('/moved');
    assert.deepEqual(table.segment_sizes_bits[1], [880, 3280]);
});

await test('segments of a redirected playlist are beside where it was found', async () => {
    seen.length = 0;
    const table = await convert('/hls/m.m3u8');
    assert.deepEqual(table.segment_sizes_bits, [[800, 3200], [880, 3280]]);
    assert.deepEqual(seen.filter(s => s.startsWith('HEAD')).sort(),
        ['HEAD /hls/hi-1.m4s', 'HEAD /hls/hi-2.m4s', 'HEAD /new/lo-1.m4s', 'HEAD /new/lo-2.m4s']);
});

await test('index boxes by ranges', async () => {
    const table = await convert('/a/index.mpd');
    assert.deepEqual(table.segment_sizes_bits, [[400, 560], [480, 640]]);
});

for (const how of ['chunked', 'headless', 'zero']) {
    await test(`sizes by ranges: HEAD is ${how}`, async () => {
        seen.length = 0;
        const table = await convert(`/${how}/m.mpd`);
        assert.deepEqual(table.segment_sizes_bits, [[800, 3200], [880, 3280]]);
        assert.equal(seen.filter(s => s.startsWith('GET') && s.endsWith('.m4s')).length, 4);
    });
}

await test('sizes by counting, from a server without ranges', async () => {
    const table = await convert('/unranged/m.mpd');
    assert.deepEqual(table.segment_sizes_bits.flat().map(bits => bits / 8 - (17 << 20)), [100, 400, 110, 410]);
});

await test('index boxes from a server without ranges', async () => {
    const table = await convert('/unranged/deep.mpd');
    assert.deepEqual(table.segment_sizes_bits, [[400, 560], [480, 640]]);
});

const refused = async (path, why) => {
    const r = await run('show', url + path, '--fetch');
    assert.equal(r.code, 1, r.text);
    assert.match(r.text, why);
};

await test('nowhere private but where it was sent', async () => {
    await refused('/away', /private address/);
    await refused('/a/elsewhere.mpd', /private address/);
});

await test('no other protocols, no loops, no endless answers, nothing that is missing', async () => {
    await refused('/file', /rotocol/);
    await refused('/loop', /redirects/);
    await refused('/huge.mpd', /more than 16777216 bytes/);
    await refused('/absent', /answered with status 404/);
    await refused('/broken/m.mpd', /m4s: answered with status 403/);
});

server.close();
second.close();
done();

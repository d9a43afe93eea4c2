// Media of other servers, handed on: what an origin is asked, what players get of its answer, where
// the daemon does not go, and what happens when either side is slow or leaves.
import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerFits } from './lib/schema.mjs';
import { Daemon, done, folder, test, until } from './lib/daemon.mjs';

const PAGE = 'http://player.example';
const bytes = Buffer.from(Array.from({ length: 300000 }, (_, i) => i * 7 & 255));

/** An origin: a path's answer is what `routes` has for it; `seen` are the requests that came. */
async function origin(routes) {
    const seen = [], open = new Set();
    const server = http.createServer((q, r) => {
        seen.push(q);
        const route = routes[q.url.split('?')[0]];
        if (route) route(q, r);
        else r.writeHead(404, { 'Content-Type': 'text/html' }).end('<h1>not here</h1>');
    });
    server.on('connection', s => { open.add(s); s.on('close', () => open.delete(s)); s.on('error', () => {}); });
    await new Promise(ok => server.listen(0, '127.0.0.1', ok));
    const { port } = server.address();
    return { port, url: `http://127.0.0.1:${port}`, seen, open, close: () => { open.forEach(s => s.destroy()); server.close(); } };
}

/** What a server says is a byte for byte text: what node would not send. */
async function rawOrigin(say) {
    const open = new Set();
    const server = net.createServer(s => {
        open.add(s);
        s.on('error', () => {});
        s.on('close', () => open.delete(s));
        s.once('data', q => say(s, String(q)));
    });
    await new Promise(ok => server.listen(0, '127.0.0.1', ok));
    return { url: `http://127.0.0.1:${server.address().port}`, open, close: () => { open.forEach(s => s.destroy()); server.close(); } };
}

function file(q, r) {
    const headers = {
        'Content-Type': 'video/mp4', ETag: '"v1"', 'Last-Modified': 'Sun, 01 Nov 2026 00:00:00 GMT',
        'Cache-Control': 'public, max-age=60', 'Accept-Ranges': 'bytes', 'Set-Cookie': 'a=b',
        'Access-Control-Allow-Origin': '*', 'X-Own': '1', 'Content-Security-Policy': 'default-src *',
        'Keep-Alive': 'timeout=7', 'X-Long': 'x'.repeat(2000),
    };
    if (q.headers['if-none-match'] === '"v1"') return r.writeHead(304, headers).end();
    const m = /^bytes=(\d+)-(\d+)$/.exec(q.headers.range ?? '');
    if (m && Number(m[1]) >= bytes.length)
        return r.writeHead(416, { 'Content-Range': `bytes */${bytes.length}` }).end();
    const part = m ? bytes.subarray(Number(m[1]), Number(m[2]) + 1) : bytes;
    if (m) headers['Content-Range'] = `bytes ${m[1]}-${m[2]}/${bytes.length}`;
    r.writeHead(m ? 206 : 200, { ...headers, 'Content-Length': part.length });
    return r.end(q.method === 'HEAD' ? undefined : part);
}

const secret = await origin({ '/secret': (q, r) => r.end('secret') });
const held = []; // answers that a test ends itself
const a = await origin({
    '/vod/1.m4s': file,
    '/vod/chunked': (q, r) => { r.write(bytes.subarray(0, 1000)); r.end(bytes.subarray(1000)); },
    '/vod/empty': (q, r) => r.end(),
    '/vod/none': (q, r) => r.writeHead(204).end(),
    '/vod/changed': (q, r) => r.writeHead(203, { 'Content-Type': 'video/mp4' }).end('x'),
    '/vod/page': (q, r) => r.writeHead(200, { 'Content-Type': 'text/html' }).end('<script>1</script>'),
    '/vod/untyped': (q, r) => r.end('x'),
    '/vod/401': (q, r) => r.writeHead(401, { 'WWW-Authenticate': 'Basic' }).end(),
    '/vod/500': (q, r) => r.writeHead(500).end('oops'),
    '/vod/503': (q, r) => r.writeHead(503, { 'Retry-After': '7' }).end(),
    '/vod/never': (q, r) => held.push(r),
    '/vod/half': (q, r) => { r.writeHead(200, { 'Content-Length': 1000 }); r.write('x'.repeat(500)); held.push(r); },
    '/vod/half-chunked': (q, r) => { r.write('x'.repeat(500)); held.push(r); },
    '/vod/own': (q, r) => r.writeHead(302, { Location: '/vod/1.m4s' }).end('x'.repeat(1000)),
    '/vod/ring': (q, r) => r.writeHead(302, { Location: '/vod/ring' }).end(),
    '/vod/secret': (q, r) => r.writeHead(302, { Location: `${secret.url}/secret` }).end(),
    '/vod/secret-name': (q, r) => r.writeHead(307, { Location: `http://localhost:${secret.port}/secret` }).end(),
    '/vod/secret-mapped': (q, r) => r.writeHead(301, { Location: `http://[::ffff:127.0.0.1]:${secret.port}/secret` }).end(),
    '/vod/private': (q, r) => r.writeHead(302, { Location: 'http://10.255.255.1:9/x' }).end(),
    '/vod/metadata': (q, r) => r.writeHead(302, { Location: 'http://169.254.169.254/latest/' }).end(),
    '/vod/any': (q, r) => r.writeHead(302, { Location: `http://0.0.0.0:${secret.port}/secret` }).end(),
    '/vod/file': (q, r) => r.writeHead(302, { Location: 'file:///etc/passwd' }).end(),
    '/vod/user': (q, r) => r.writeHead(302, { Location: `http://u:p@127.0.0.1:${a.port}/vod/1.m4s` }).end(),
    '/vod/nowhere': (q, r) => r.writeHead(302).end('no Location'),
    '/vod/big-head': (q, r) => r.writeHead(200, Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`X-${i}`, 'y'.repeat(1000)]))).end(),
});
const gone = await origin({});
gone.close(); // its port refuses

const options = ['--learn', 'off', '--allow-origin', PAGE, '--origin', `a=${a.url}/vod/`, '--origin', `top=${a.url}`,
    '--origin', `secret=${secret.url}/`, '--origin', `gone=${gone.url}`];
const d = await Daemon.start(options);

const get = async (path, headers = {}, method = 'GET', from = d) => {
    const r = await fetch(from.url + path, { method, headers, redirect: 'manual' });
    return { status: r.status, headers: r.headers, body: Buffer.from(await r.arrayBuffer()) };
};
const error = async (status, path, pattern, headers) => {
    const r = await d.call('GET', path, undefined, headers);
    assert.equal(r.status, status, `${path}: ${r.text}`);
    assert.equal(answerFits('GET', '/o/{origin}/{path}', r), '');
    assert.match(r.json.detail, pattern);
    return r;
};

await test('a file comes as it is, with what players need of its head', async () => {
    const r = await get('/o/a/1.m4s');
    assert.equal(r.status, 200);
    assert.ok(r.body.equals(bytes));
    const want = {
        'content-type': 'video/mp4', 'content-length': '300000', etag: '"v1"', 'cache-control': 'public, max-age=60',
        'last-modified': 'Sun, 01 Nov 2026 00:00:00 GMT', 'accept-ranges': 'bytes', 'set-cookie': null,
        'access-control-allow-origin': null, 'x-own': null, 'x-long': null, 'keep-alive': 'timeout=60',
        'content-security-policy': 'sandbox', 'x-content-type-options': 'nosniff',
    };
    delete want['keep-alive'];
    for (const [name, value] of Object.entries(want)) assert.equal(r.headers.get(name), value, name);
    assert.ok((await get('/o/top/vod/1.m4s')).body.equals(bytes));
    assert.equal((await get('/o/a/page')).headers.get('content-security-policy'), 'sandbox');
    assert.equal((await get('/o/a/untyped')).headers.get('content-type'), 'application/octet-stream');
    assert.equal((await get('/o/a/untyped')).headers.get('cache-control'), 'no-store');
});

await test('parts, conditions, HEAD, and bodies of unknown length', async () => {
    const part = await get('/o/a/1.m4s', { Range: 'bytes=1000-1999' });
    assert.deepEqual([part.status, part.headers.get('content-range')], [206, 'bytes 1000-1999/300000']);
    assert.ok(part.body.equals(bytes.subarray(1000, 2000)));
    const beyond = await error(416, '/o/a/1.m4s', /416/, { Range: 'bytes=300000-300001' });
    assert.equal(beyond.headers.get('content-range'), 'bytes */300000');
    const same = await get('/o/a/1.m4s', { 'If-None-Match': '"v1"' });
    assert.deepEqual([same.status, same.body.length, same.headers.get('etag')], [304, 0, '"v1"']);
    const head = await get('/o/a/1.m4s', {}, 'HEAD');
    assert.deepEqual([head.status, head.body.length, head.headers.get('content-length')], [200, 0, '300000']);
    assert.equal(a.seen.at(-1).method, 'HEAD');
    const chunked = await get('/o/a/chunked');
    assert.ok(chunked.body.equals(bytes));
    assert.equal(chunked.headers.get('content-length'), null);
    assert.equal((await get('/o/a/chunked', {}, 'HEAD')).status, 200);
    assert.equal((await get('/o/a/empty')).body.length, 0);
    for (const [path, status] of [['none', 204], ['changed', 203]]) {
        const r = await d.call('GET', `/o/a/${path}`);
        assert.equal(r.status, status);
        assert.equal(answerFits('GET', '/o/{origin}/{path}', r), '');
    }
});

await test('the origin is asked for what was asked, and told nothing else', async () => {
    await get('/o/a/1.m4s?x=1&CMCD=bl%3D100%2Csid%3D%22s%22&y=a+b%2F&z', {
        Cookie: 'a=b', Authorization: 'Bearer 0123456789abcdef', 'CMCD-Request': 'bl=100', Range: 'bytes=0-1',
        'If-Range': '"v1"', 'X-Forwarded-For': '192.0.2.1', Referer: `${PAGE}/x`, 'X-Own': '1', 'Accept-Encoding': 'gzip',
    });
    const q = a.seen.at(-1);
    assert.equal(q.url, '/vod/1.m4s?x=1&y=a+b%2F&z');
    assert.deepEqual(q.headers, {
        host: `127.0.0.1:${a.port}`, 'user-agent': 'abrd', accept: '*/*', 'accept-encoding': 'identity',
        range: 'bytes=0-1', 'if-range': '"v1"',
    });
    await get('/o/a/%E2%82%AC;v=1//x?CMCD=bl%3D1');
    assert.equal(a.seen.at(-1).url, '/vod/%E2%82%AC;v=1//x');
    await get(`/o/a/${'long/'.repeat(600)}x?${'q'.repeat(2000)}`);
    assert.equal(a.seen.at(-1).url.length, '/vod/'.length + 3001 + 2001);
    await get('/o/a/');
    assert.equal(a.seen.at(-1).url, '/vod/');
});

await test('pages of an allowed origin may read it', async () => {
    const r = await get('/o/a/1.m4s', { Origin: PAGE });
    assert.equal(r.headers.get('access-control-allow-origin'), PAGE);
    assert.equal((await get('/o/a/1.m4s', { Origin: 'http://evil.example' })).headers.get('access-control-allow-origin'), null);
    const asked = await get('/o/a/1.m4s', { Origin: PAGE, 'Access-Control-Request-Method': 'GET' }, 'OPTIONS');
    assert.deepEqual([asked.status, asked.headers.get('access-control-allow-methods')], [204, 'GET, HEAD, OPTIONS']);
    assert.equal((await get('/o/a/1.m4s', { Origin: PAGE }, 'POST')).status, 405);
});

await test('no path leaves what was configured', async () => {
    const before = a.seen.length;
    for (const path of ['..', '../x', 'x/../../secret', '%2e%2e/x', '.%2E/', 'x/..%2fx', 'x%5cx', '..;/x', '%252e%252e/x',
        '%00', '%0d%0aX:1', 'x%zz', '.', 'x/%2e/y']) {
        const got = await d.raw(`GET /o/a/${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
        assert.match(got, /^HTTP\/1.1 400 /, path);
        assert.match(got, /"field":"path"/);
    }
    for (const line of [`http://127.0.0.1:${secret.port}/secret`, `${secret.url}/o/a/x`, '//o/a/x', '/o/nobody/x', '/o/a', '/o//x', '/o/%61%2f/x'])
        assert.match(await d.raw(`GET ${line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`), /^HTTP\/1.1 404 /, line);
    assert.equal(a.seen.length, before);
    assert.equal(secret.seen.length, 0);
    await error(404, '/o/nobody/x', /--origin/);
});

await test('errors of an origin are ours', async () => {
    await error(404, '/o/a/nothing', /'a' answered 404/);
    assert.equal((await error(403, '/o/a/401', /401/)).headers.get('www-authenticate'), null);
    await error(502, '/o/a/500', /500/);
    assert.equal((await error(503, '/o/a/503', /503/)).headers.get('retry-after'), '7');
    const refused = await error(502, '/o/gone/x', /'gone' cannot be reached/);
    assert.ok(!refused.text.includes('127.0.0.1'), 'where origins are is not for players');
    assert.match(d.output, /origin +gone cannot be reached: .*127\.0\.0\.1/);
    await error(502, '/o/a/big-head', /broke off/);
    const empty = await rawOrigin(s => s.end());
    const odd = await rawOrigin(s => s.end('SSH-2.0-x\r\n'));
    const other = await Daemon.start(['--learn', 'off', '--origin', `empty=${empty.url}`, '--origin', `odd=${odd.url}`]);
    for (const name of ['empty', 'odd'])
        assert.equal((await other.call('GET', `/o/${name}/x`)).status, 502);
    assert.equal(await other.metric('abrd_origin_failures_total{why="broken"}'), 2);
    await other.stop();
    empty.close();
    odd.close();
});

await test('redirects: to the origin itself, and to nothing else that is private', async () => {
    assert.ok((await get('/o/a/own')).body.equals(bytes));
    const before = await d.metric('abrd_origin_failures_total{why="redirect"}');
    const paths = ['secret', 'secret-name', 'secret-mapped', 'private', 'metadata', 'any', 'file', 'user', 'ring'];
    for (const path of paths) await error(502, `/o/a/${path}`, /is not allowed/);
    assert.equal(await d.metric('abrd_origin_failures_total{why="redirect"}'), before + paths.length);
    assert.equal(secret.seen.length, 0);
    await error(502, '/o/a/nowhere', /302/);
    // also when a connection to there is open already, since it is an origin of its own
    assert.equal(String((await get('/o/secret/secret')).body), 'secret');
    for (const path of ['secret', 'secret-name']) await error(502, `/o/a/${path}`, /is not allowed/);
    assert.equal(secret.seen.length, 1);
});

const cut = async (path, end, from = d) => {
    const n = held.length;
    const got = from.raw(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`, { keep: true });
    await until('the origin is asked', () => held.length > n);
    end(held.at(-1));
    return got;
};

await test('an answer that breaks off is seen to break off', async () => {
    for (const path of ['/o/a/half', '/o/a/half-chunked']) {
        const got = await cut(path, r => r.destroy());
        assert.match(got, /^HTTP\/1.1 200 /);
        assert.ok(got.includes('x'.repeat(500)), 'what came is handed on');
        assert.ok(!got.endsWith('0\r\n\r\n') && !got.includes('x'.repeat(501)), path);
        await assert.rejects(async () => {
            const n = held.length, r = fetch(d.url + path).then(x => x.text());
            await until('the origin is asked', () => held.length > n);
            held.at(-1).destroy();
            await r;
        }, undefined, 'a player sees it');
    }
    assert.ok(await d.metric('abrd_origin_failures_total{why="broken"}') >= 4);
    assert.match(d.output, /origin +a broke off its answer/);
});

await test('an origin that is silent', async () => {
    const other = await Daemon.start(['--learn', 'off', '--origin-silence', '5', '--origin', `a=${a.url}/vod`]);
    const r = await other.call('GET', '/o/a/never');
    assert.deepEqual([r.status, r.json.error], [504, 'origin']);
    assert.match(r.json.detail, /in time/);
    const got = await other.raw('GET /o/a/half HTTP/1.1\r\nHost: localhost\r\n\r\n', { keep: true });
    assert.match(got, /^HTTP\/1.1 200 /);
    assert.equal(await other.metric('abrd_origin_failures_total{why="silent"}'), 2);
});

await test('who leaves ends the transfer, before the answer and within it', async () => {
    for (const path of ['/o/a/never', '/o/a/half']) {
        const n = held.length, s = net.connect(d.port, '127.0.0.1');
        s.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
        await until('the origin is asked', () => held.length > n);
        if (path.endsWith('half')) await new Promise(ok => s.once('data', ok));
        const closed = new Promise(ok => held.at(-1).on('close', ok));
        s.destroy();
        await closed; // the origin sees it as well
    }
    await until('none is under way', async () => (await d.metric('abrd_origin_transfers')) === 0);
});

await test('so many transfers and no more', async () => {
    const other = await Daemon.start(['--learn', 'off', '--origin-transfers', '2', '--origin', `a=${a.url}/vod`]);
    const n = held.length;
    const waiting = [1, 2].map(() => other.call('GET', '/o/a/never'));
    await until('both are asked', () => held.length === n + 2);
    const r = await other.call('GET', '/o/a/1.m4s');
    assert.deepEqual([r.status, r.json.error], [503, 'unavailable']);
    assert.ok(Number(r.headers.get('retry-after')) > 0);
    assert.equal(await other.metric('abrd_origin_refused_total'), 1);
    assert.equal((await other.call('GET', '/healthz')).status, 200);
    held.slice(n).forEach(h => h.end('now'));
    assert.deepEqual((await Promise.all(waiting)).map(w => w.text), ['now', 'now']);
    await until('there is room again', async () => (await other.call('GET', '/o/a/1.m4s')).status === 200);
});

const rss = pid => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;

await test('a player that reads slowly costs no memory, and gets all of it', async () => {
    const MB = 1 << 20, size = 200 * MB, block = Buffer.alloc(MB, 'z');
    let sent = 0;
    const big = await origin({ '/big': (q, r) => {
        r.writeHead(200, { 'Content-Length': size });
        const more = () => { while (sent < size) { sent += MB; if (!r.write(block)) return r.once('drain', more); } return r.end(); };
        more();
    } });
    const other = await Daemon.start(['--learn', 'off', '--origin', `big=${big.url}`]);
    const before = rss(other.child.pid);
    const s = net.connect(other.port, '127.0.0.1');
    let got = 0;
    s.write('GET /o/big/big HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    await new Promise(ok => s.once('readable', ok));
    // nobody reads: the origin stands still, with what lies in the buffers of three programs
    let last = -1;
    await until('the origin is made to wait', async () => {
        const stands = sent === last;
        last = sent;
        for (let i = 0; i < 3; i++) await other.call('GET', '/healthz');
        return stands && (await other.metric('abrd_origin_bytes_total')) > 0;
    });
    assert.ok(sent < size / 2, `${sent} bytes were taken from the origin`);
    for (const end = new Promise(ok => s.on('end', ok)); s.on('data', b => { got += b.length; }); ) { await end; break; }
    assert.ok(got > size && got < size + 1000, `${got}`);
    assert.ok(rss(other.child.pid) - before < 40, `${rss(other.child.pid) - before} MB more`);
    await other.stop();
    big.close();
});

await test('many at once, from connections that are kept', async () => {
    const before = a.seen.length;
    for (let round = 0; round < 4; round++) {
        const all = await Promise.all(Array.from({ length: 40 }, (_, i) => get(`/o/a/1.m4s?${i}`)));
        assert.ok(all.every(r => r.status === 200 && r.body.equals(bytes)));
    }
    assert.equal(a.seen.length, before + 160);
    await until('none is under way', async () => (await d.metric('abrd_origin_transfers')) === 0);
});

await test('the end does not wait for origins', async () => {
    const other = await Daemon.start(['--learn', 'off', '--origin', `a=${a.url}/vod`]);
    const n = held.length;
    const cuts = ['never', 'half', 'half-chunked'].map(p =>
        other.raw(`GET /o/a/${p} HTTP/1.1\r\nHost: localhost\r\n\r\n`, { keep: true }).catch(() => ''));
    await until('all are asked', () => held.length === n + 3);
    assert.deepEqual(await other.stop(), { code: 0, signal: null });
    await Promise.all(cuts);
});

await test('the end waits for a segment that is on its way', async () => {
    const other = await Daemon.start(['--learn', 'off', '--origin', `a=${a.url}/vod`]);
    const n = held.length;
    const whole = fetch(`${other.url}/o/a/half`).then(r => r.arrayBuffer());
    await until('half of it is there', () => held.length === n + 1);
    await until('it is on its way', async () => (await other.metric('abrd_origin_bytes_total')) >= 500);
    other.child.kill('SIGTERM');
    await until('it drains', () => /no new sessions/.test(other.output));
    held[n].end('y'.repeat(500));
    assert.equal((await whole).byteLength, 1000);
    assert.deepEqual(await other.exited, { code: 0, signal: null });
});

await test('what waits for an origin is answered, whatever the configuration became meanwhile', async () => {
    const conf = join(folder, 'hosts.conf');
    const hosts = names => writeFileSync(conf, `port = 0\nlearn = off\norigin = a=${a.url}/vod\nhost = ${names}\n`);
    hosts('old.example, new.example');
    const other = await Daemon.start(['--config', conf]);
    const n = held.length;
    const answer = other.raw('GET /o/a/never HTTP/1.1\r\nHost: old.example\r\nConnection: close\r\n\r\n',
        { keep: true });
    await until('it is asked', () => held.length === n + 1);
    hosts('new.example');
    other.child.kill('SIGHUP');
    const status = async () => /^HTTP\S+ (\d+)/.exec(
        await other.raw('GET /healthz HTTP/1.1\r\nHost: old.example\r\nConnection: close\r\n\r\n'))[1];
    await until('the old name is none any more', async () => await status() === '403');
    held[n].end('late');
    assert.match(await answer, /late$/);
    assert.equal(await other.metric('abrd_origin_transfers'), 0);
    assert.deepEqual(await other.stop(), { code: 0, signal: null });
});

await test('in a file, and mistakes in it', async () => {
    const conf = join(folder, 'origin.conf');
    writeFileSync(conf, `port = 0\nlearn = off\norigin = a=${a.url}/vod, b=${secret.url}\n`);
    const other = await Daemon.start(['--config', conf]);
    assert.equal((await other.call('GET', '/o/a/untyped')).text, 'x');
    assert.equal((await other.call('GET', '/o/b/secret')).text, 'secret');
    writeFileSync(conf, `port = 0\nlearn = off\norigin = a=${a.url}/vod\n`);
    other.child.kill('SIGHUP');
    await until('it says so', () => /origin has changed, but only a restart applies it/.test(other.output));
    await other.stop();
    writeFileSync(conf, 'origin = a=ftp://x/\n');
    const bad = new Daemon(['--config', conf]);
    assert.equal((await bad.exited).code, 2);
    assert.match(bad.output, /origin a must begin with http/);
});

held.forEach(r => r.destroy());
await d.stop();
a.close();
secret.close();
done();

// Requests that no honest client sends, over raw sockets to the real daemon. What can be read in
// two ways is an error and the end of the connection, and other clients notice nothing.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { Daemon, done, folder, test } from './lib/daemon.mjs';

const web = join(folder, 'web');
mkdirSync(join(web, 'sub'), { recursive: true });
writeFileSync(join(web, 'index.html'), 'home');
writeFileSync(join(web, 'sub', 'in.txt'), 'inside');
writeFileSync(join(folder, 'secret.txt'), 'secret');
symlinkSync(join(folder, 'secret.txt'), join(web, 'link.txt'));
symlinkSync(folder, join(web, 'up'));
symlinkSync('sub/in.txt', join(web, 'fine.txt'));

const d = await Daemon.start(['--web-dir', web, '--learn', 'off', '--allow-origin', '*',
    '--max-connections', '2000']);
const video = { ladder_kbps: [300, 750, 1200], chunk_s: 4, chunks: 100 };
const count = name => d.metric(name);

/** What comes back until the daemon closes; a connection that stays open fails (10 s). */
const raw = bytes => d.raw(bytes, { keep: true });
const status = text => Number(/^HTTP\/1\.[01] (\d+)/.exec(text)?.[1]);
const HIDDEN = 'POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: '
    + `${JSON.stringify(video).length}\r\n\r\n${JSON.stringify(video)}`;

await test('what two servers could read differently', async () => {
    const post = 'POST /v1/decide HTTP/1.1\r\nHost: localhost\r\n';
    const confusing = {
        'two lengths': `${post}Content-Length: 0\r\nContent-Length: 5\r\n\r\n`,
        'two equal lengths': `${post}Content-Length: 0\r\nContent-Length: 0\r\n\r\n`,
        'a list of lengths': `${post}Content-Length: 0, 0\r\n\r\n`,
        'length and coding': `${post}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
        'coding and length': `${post}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n`,
        'a space before the colon': `${post}Content-Length : 0\r\n\r\n`,
        'a tab before the colon': `${post}Content-Length\t: 0\r\n\r\n`,
        'an unknown coding': `${post}Transfer-Encoding: chunky\r\n\r\n0\r\n\r\n`,
        'a coding in front': `${post}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
        'identity': `${post}Transfer-Encoding: identity\r\n\r\n`,
        'a coding twice': `${post}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
        'a vertical tab': `${post}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n`,
        'bare LF in the head': 'POST /v1/decide HTTP/1.1\nHost: localhost\r\nContent-Length: 0\r\n\r\n',
        'bare LF between headers': `${post}X: y\nContent-Length: 0\r\n\r\n`,
        'bare LF at the end': `${post}Content-Length: 0\r\n\n`,
        'a folded line': `${post}X: y\r\n z\r\nContent-Length: 0\r\n\r\n`,
        'a NUL': `${post}X: y\0z\r\nContent-Length: 0\r\n\r\n`,
        'a negative length': `${post}Content-Length: -1\r\n\r\n`,
        'a length in hex': `${post}Content-Length: 0x0\r\n\r\n`,
        'a length with a plus': `${post}Content-Length: +0\r\n\r\n`,
        'no Host': 'GET /healthz HTTP/1.1\r\n\r\n',
        'two Hosts': 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n',
        'no name': 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n: x\r\n\r\n',
    };
    const opened = await count('abrd_sessions_opened_total');
    for (const [name, head] of Object.entries(confusing)) {
        const got = await raw(head + HIDDEN);
        assert.equal(status(got), 400, `${name}: ${got}`);
        assert.match(got, /^Connection: close\r$/mi, name);
        assert.ok(!/^HTTP\S+ 201/m.test(got), `${name}: the hidden request was answered: ${got}`);
    }
    assert.equal(await count('abrd_sessions_opened_total'), opened);
});

await test('a bare CR anywhere in the head (RFC 9112, 2.2)', async () => {
    const opened = await count('abrd_sessions_opened_total');
    const get = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n';
    const heads = {
        'in a value, a length behind it': `${get}X: a\rContent-Length: ${HIDDEN.length}\r\n\r\n`,
        'in a value, a coding behind it': `${get}X: a\rTransfer-Encoding: chunked\r\n\r\n`,
        'in a value': `${get}X: a\rb\r\n\r\n`,
        'in front of a value': `${get}X:\ra\r\n\r\n`,
        'behind a value': `${get}X: a\r\r\n\r\n`,
        'as a value': `${get}X:\r\r\n\r\n`,
        'in the value of Host': 'GET /healthz HTTP/1.1\r\nHost: localhost\r\r\n\r\n',
        'in the value of Content-Length': `${get}Content-Length: 0\r\r\n\r\n`,
        'in the value of Cookie': `${get}Cookie: a=b\rc=d\r\n\r\n`,
        'in a name': `${get}X\rY: a\r\n\r\n`,
        'in front of a name': `${get}\rX: a\r\n\r\n`,
        'behind a name': `${get}X\r: a\r\n\r\n`,
        'for an empty line': `${get}\r\r\n`,
        'for all lines': 'GET /healthz HTTP/1.1\rHost: localhost\r\r\n\r\n',
        'in front of the method': `\r${get}\r\n`,
        'behind the method': 'GET\r /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n',
        'in the method': 'G\rET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n',
        'in the path': 'GET /heal\rthz HTTP/1.1\r\nHost: localhost\r\n\r\n',
        'in front of the path': 'GET \r/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n',
        'behind the path': 'GET /healthz\r HTTP/1.1\r\nHost: localhost\r\n\r\n',
        'in the name of a parameter': 'GET /healthz?a\rb=c HTTP/1.1\r\nHost: localhost\r\n\r\n',
        'in the value of a parameter': 'GET /healthz?a=b\rc HTTP/1.1\r\nHost: localhost\r\n\r\n',
        'in the version': 'GET /healthz HTTP/1\r.1\r\nHost: localhost\r\n\r\n',
        'behind the version': 'GET /healthz HTTP/1.1\r\r\nHost: localhost\r\n\r\n',
        'in a chunk that is one': 'POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n'
            + '1;a\rb\r\nX\r\n0\r\n\r\n',
        'in a trailer': 'POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n'
            + '1\r\nX\r\n0\r\nX: a\rb\r\n\r\n',
    };
    for (const [name, head] of Object.entries(heads)) {
        const got = await raw(head + HIDDEN);
        assert.equal(status(got), 400, `${name}: ${got}`);
        assert.match(got, /^Connection: close\r$/mi, name);
        assert.equal(got.match(/^HTTP/gm).length, 1, `${name}: ${got}`);
    }
    assert.equal(await count('abrd_sessions_opened_total'), opened);
});

await test('chunks of a wrong form', async () => {
    const opened = await count('abrd_sessions_opened_total');
    const chunked = 'POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n';
    for (const body of ['zz\r\n', '-1\r\nx\r\n0\r\n\r\n', 'ffffffffffffffffff\r\nx', '1\r\nxy\r\n0\r\n\r\n']) {
        const got = await raw(chunked + body + HIDDEN);
        assert.ok([0, 400, 413].includes(status(got) || 0), `${body}: ${got}`);
        assert.ok(!/^HTTP\S+ 201/m.test(got), got);
    }
    // a bare LF as the end of a line in there: who sees another end of the body sends more behind it
    for (const body of ['1;\nX\r\n0\r\n\r\n', '1\nX\n0\n\n', '1\r\nX\n0\r\n\r\n', '2\r\n{}\r\n0\r\n\r\n']) {
        const got = await raw(chunked + body + HIDDEN);
        assert.equal(status(got), 400, `${body}: ${got}`);
        assert.match(got, /^Connection: close\r$/mi, got);
        assert.equal(got.match(/^HTTP/gm).length, 1, got);
    }
    assert.equal(await count('abrd_sessions_opened_total'), opened);
});

await test('too long', async () => {
    const long = 'x'.repeat(40000);
    assert.ok([414, 431].includes(status(await raw(`GET /${long} HTTP/1.1\r\nHost: localhost\r\n\r\n`))));
    assert.equal(status(await raw(`GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ${long}\r\n\r\n`)), 431);
    const many = Array.from({ length: 4000 }, (_, i) => `X${i}: y\r\n`).join('');
    assert.equal(status(await raw(`GET /healthz HTTP/1.1\r\nHost: localhost\r\n${many}\r\n`)), 431);
    assert.equal(status(await raw('POST /v1/decide HTTP/1.1\r\nHost: localhost\r\n'
        + 'Content-Length: 1000000000000\r\n\r\n')), 413);
});

/** Splits what came into answers, each with head and body by Content-Length; fails on anything else. */
function answers(got) {
    const list = [];
    for (let rest = got; rest;) {
        const m = /^HTTP\/1\.1 (\d{3}) [A-Z][ -~]*\r\n((?:[A-Za-z-]+: [ -~]*\r\n)*)\r\n/.exec(rest);
        assert.ok(m, `no answer: ${JSON.stringify(rest.slice(0, 200))}`);
        const headers = new Map(m[2].split('\r\n').filter(Boolean)
            .map(l => [l.slice(0, l.indexOf(':')).toLowerCase(), l.slice(l.indexOf(':') + 2)]));
        const n = Number(headers.get('content-length'));
        const body = rest.slice(m[0].length, m[0].length + n);
        assert.equal(body.length, n, `a body of ${n} bytes is short: ${body}`);
        list.push({ status: Number(m[1]), headers, body });
        rest = rest.slice(m[0].length + n);
    }
    return list;
}

/** The one answer to a request: an error of ours with that status, and the end of the connection. */
async function refused(name, bytes, want) {
    const all = answers(await raw(bytes));
    assert.equal(all.length, 1, `${name}: ${JSON.stringify(all)}`);
    const [{ status: got, headers, body }] = all;
    assert.ok([want].flat().includes(got), `${name}: ${got} ${body}`);
    assert.equal(headers.get('content-type'), 'application/json', `${name}: ${body}`);
    assert.equal(headers.get('connection'), 'close', name);
    const error = JSON.parse(body);
    assert.equal(error.error, [413, 414, 431].includes(got) ? 'too_large' : 'invalid', body);
    assert.ok(error.detail, body);
    assert.equal(error.request, headers.get('x-request-id'), body);
}

const rows = (n, row, between) => Array.from({ length: n }, (_, i) => row(i)).join(between);

await test('what the HTTP library refuses by itself is one answer of ours, counted and logged', async () => {
    const get = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n';
    const chunked = 'POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n';
    const cases = [
        ['a length that is none', `${get}Content-Length: x\r\n\r\n${HIDDEN}`, 400],
        ['a length with a space within', `${get}Content-Length: 1 2\r\n\r\n${HIDDEN}`, 400],
        ['an empty length', `${get}Content-Length:\r\n\r\n${HIDDEN}`, 400],
        ['a length beyond 64 bits', `${get}Content-Length: 99999999999999999999999\r\n\r\n${HIDDEN}`, [400, 413]],
        ['a line without a colon', `${get}nothing\r\n\r\n${HIDDEN}`, 400],
        ['no version', `GET /healthz HTTP/x\r\n\r\n${HIDDEN}`, [400, 505]],
        ['another version', `GET /healthz HTTP/3.7\r\nHost: localhost\r\n\r\n${HIDDEN}`, [400, 505]],
        ['400 cookies', `${get}Cookie: ${rows(400, i => `c${i}=v`, '; ')}\r\n\r\n`, 431],
        ['2000 cookies', `${get}Cookie: ${rows(2000, () => 'c', ';')}\r\n\r\n`, 431],
        ['150 parameters', `GET /healthz?${rows(150, i => `a${i}=v`, '&')} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 414],
        ['2000 parameters', `GET /healthz?${rows(2000, () => 'a', '&')} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 414],
        ['2000 lines', `${get}${rows(2000, () => 'X:y', '\r\n')}\r\n\r\n`, 431],
        ['chunks without a size', `${chunked}zz\r\nx\r\n0\r\n\r\n`, 400],
        ['a chunk that is longer than it says', `${chunked}1\r\nxy\r\n0\r\n\r\n`, 400],
    ];
    const ours = 'abrd_http_requests_total{route="none",method="any",code="';
    const counted = async () => {
        const text = (await d.call('GET', '/metrics')).text.split('\n').filter(l => l.startsWith(ours));
        return text.reduce((sum, l) => sum + Number(l.slice(l.lastIndexOf(' '))), 0);
    };
    const before = await counted();
    for (const [name, bytes, want] of cases) await refused(name, bytes, want).catch(e => { throw new Error(`${name}: ${e.message}`); });
    assert.equal(await counted(), before + cases.length);
    assert.match(d.output, /400 OTHER \(refused before any route\) from 127\.0\.0\.1.*Content-Length/);

    // what comes behind whole requests on a connection is its own
    const first = `${get}\r\n`, later = await raw(`${first}${first}${get}Content-Length: x\r\n\r\n${HIDDEN}`);
    assert.deepEqual(answers(later).map(a => a.status), [200, 200, 400]);
    assert.ok(later.endsWith('}\n'), later);
});

await test('heads of every size and number of fields get one answer', async () => {
    const heads = n => `GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${n}\r\n`;
    const one = async (name, bytes, fits) => {
        const all = answers(await raw(bytes));
        assert.equal(all.length, 1, name);
        if (all[0].status < 300) return;
        assert.ok(!fits, `${name}: ${all[0].body}`);
        assert.ok([400, 404, 414, 431].includes(all[0].status), `${name}: ${all[0].status}`);
        assert.equal(all[0].headers.get('content-type'), 'application/json', `${name}: ${all[0].body}`);
    };
    const sizes = [100, 1000, 4000, 7000, 8000, 8100];
    for (let n = 8180; n <= 8200; n++) sizes.push(n);
    for (let n = 8300; n < 20000; n += 97) sizes.push(n);
    for (let n = 20000; n <= 65536; n += 4001) sizes.push(n);
    const least = heads('').length;
    for (const n of sizes) {
        const fits = n <= 8192;
        await one(`a line of ${n}`, heads(`X: ${'y'.repeat(Math.max(0, n - least - 5))}\r\n`), fits);
        await one(`an address of ${n}`, `GET /${'y'.repeat(n)} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`, false);
        await one(`lines up to ${n}`, heads(`${`X: ${'y'.repeat(95)}\r\n`.repeat(Math.floor((n - least) / 100))}`), fits);
        await one(`a cookie of ${n}`, heads(`Cookie: a=${'y'.repeat(n)}\r\n`), n <= 4000);
    }
    for (const n of [1, 2, 10, 30, 50, 60, 70, 80, 90, 100, 110, 120, 130, 150, 180, 200, 250, 300, 400, 500, 700, 1000, 1500, 2000]) {
        await one(`${n} lines`, heads(`${rows(n, i => `X${i}: y\r\n`, '')}`), n <= 90);
        await one(`${n} short lines`, heads('X:\r\n'.repeat(n)), n <= 90);
        await one(`${n} cookies`, heads(`Cookie: ${rows(n, i => `c${i}=v`, '; ')}\r\n`), n <= 90);
        await one(`${n} cookie lines`, heads(`${rows(n, i => `Cookie: c${i}=v\r\n`, '')}`), n <= 90);
        await one(`${n} parameters`, heads('').replace('/healthz', `/healthz?${rows(n, i => `a${i}=v`, '&')}`), n <= 90);
        await one(`${n} of each`, heads(`${rows(n, i => `X${i}: y\r\n`, '')}Cookie: ${rows(n, i => `c${i}`, ';')}\r\n`)
            .replace('/healthz', `/healthz?${rows(n, i => `a${i}`, '&')}`), n <= 25);
    }
});

await test('no HTTP at all', async () => {
    for (const bytes of ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 'GET\r\n\r\n', '\r\n\r\n\r\nx\r\n\r\n',
        'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'GET /healthz HTTP/3.7\r\nHost: localhost\r\n\r\n']) {
        const got = await d.raw(bytes);
        assert.ok(!/^HTTP\/1\.[01] 2/.test(got), got);
    }
    assert.equal((await d.call('GET', '/healthz')).status, 200);
});

/** A connection that is kept, and gathers what comes. */
function open(first = '') {
    return new Promise((resolve, reject) => {
        const s = net.connect(d.port, '127.0.0.1', () => { if (first) s.write(first); resolve(s); });
        s.got = '';
        s.on('data', data => { s.got += data; });
        s.on('error', reject);
        s.ended = new Promise(r => s.on('close', r));
    });
}

await test('five hundred that trickle; the others are served, and so are they in the end', async () => {
    const body = JSON.stringify(video);
    const text = `POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n`
        + `Connection: close\r\n\r\n${body}`;
    const slow = await Promise.all(Array.from({ length: 500 }, () => open()));
    // half of them get stuck in the head, half in the body
    const stuck = i => (i % 2 ? 40 : text.length - 20);
    slow.forEach((s, i) => s.write(text.slice(0, stuck(i))));
    for (let round = 0; round < 10; round++) {
        for (const [i, s] of slow.entries()) s.write(text[stuck(i) + round]);
        const r = await d.call('POST', '/v1/sessions', video);
        assert.equal(r.status, 201);
        assert.equal((await d.call('POST', `/v1/sessions/${r.json.session}/decisions`,
            { chunk: 1, buffer_s: 4 })).status, 200);
    }
    slow.forEach((s, i) => s.write(text.slice(stuck(i) + 10)));
    await Promise.all(slow.map(s => s.ended));
    for (const s of slow) assert.equal(status(s.got), 201);
});

await test('half-closed in mid-request', async () => {
    const got = await d.raw('POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{"x"');
    assert.ok(!/ 200 /.test(got), got);
    const whole = await d.raw('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    assert.equal(status(whole), 200);
});

await test('pipelined requests are answered in their order', async () => {
    const n = 60;
    let text = '';
    for (let i = 0; i < n; i++)
        text += `GET /v1/profiles/p${i} HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: r${i}\r\n`
            + `${i === n - 1 ? 'Connection: close\r\n' : ''}\r\n`;
    const got = await raw(text);
    const ids = [...got.matchAll(/^X-Request-Id: r(\d+)\r$/gmi)].map(m => Number(m[1]));
    assert.deepEqual(ids, Array.from({ length: n }, (_, i) => i));
});

await test('paths that lead out of the pages', async () => {
    const get = async path => {
        const got = await d.raw(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
        return { status: status(got), got };
    };
    assert.equal((await get('/sub/in.txt')).status, 200);
    assert.equal((await get('/fine.txt')).status, 200);
    for (const path of ['/../secret.txt', '/sub/../../secret.txt', '/%2e%2e/secret.txt', '/..%2fsecret.txt',
        '/%2e%2e%2fsecret.txt', '/%252e%252e/secret.txt', '/sub/%2e%2e/%2e%2e/secret.txt', '/..%5csecret.txt',
        '/..\\secret.txt', '//etc/passwd', '/%2fetc/passwd', '/etc/passwd%00.html', '/index.html%00',
        '/sub%00/in.txt', '/link.txt', '/up/secret.txt', '/%c0%ae%c0%ae/secret.txt', '/./index.html', '/sub//in.txt',
        '/.%00./secret.txt', '/%', '/%2', '/%zz', '/sub/in.txt/', '/sub', `${'/sub/..'.repeat(50)}/secret.txt`]) {
        const r = await get(path);
        assert.ok(r.status === 404 || r.status === 400, `${path}: ${r.got}`);
        assert.ok(!r.got.includes('secret\n') && !r.got.includes('root:') && !r.got.endsWith('secret'), r.got);
    }
});

await test('what is echoed cannot make a header', async () => {
    const heads = text => text.slice(0, text.indexOf('\r\n\r\n')).split('\r\n');
    const ask = lines => raw(`GET /v1/nothing%0d%0aSet-Cookie:%20a=b HTTP/1.1\r\nHost: localhost\r\n${lines}`
        + 'Connection: close\r\n\r\n');
    for (const origin of ['https://a\tb', 'https://a\x01Set-Cookie: x', 'https://a\x7f']) {
        const got = await ask(`Origin: ${origin}\r\nX-Request-Id: a b\r\n`);
        for (const line of heads(got)) assert.ok(/^[\x20-\x7e]*$/.test(line) && !/^set-cookie/i.test(line), line);
    }
    // ids that are no ids are replaced, also in the body
    for (const id of ['a b', 'x"y', 'x'.repeat(65), '<b>', '%0d%0a']) {
        const got = await ask(`X-Request-Id: ${id}\r\n`);
        const made = /^X-Request-Id: ([0-9a-f]{16})\r$/mi.exec(got);
        assert.ok(made, got);
        assert.equal(JSON.parse(got.slice(got.indexOf('\r\n\r\n') + 4)).request, made[1]);
    }
    const s = (await d.call('POST', '/v1/sessions', { ...video, content_id: 'a"b\\c</script>é' })).json;
    const h = await d.call('GET', `/v1/sessions/${s.session}?format=json%0d%0aX:%20y`);
    assert.equal(h.status, 400);
    assert.equal((await d.call('GET', `/v1/sessions/${s.session}`)).json.content_id, 'a"b\\c</script>é');
});

await test('names that point here from elsewhere (DNS rebinding)', async () => {
    const strict = await Daemon.start(['--learn', 'off', '--host', 'abr.example']);
    const ask = (host, origin) => strict.raw(`POST /v1/sessions HTTP/1.1\r\nHost: ${host}\r\n`
        + `${origin ? `Origin: ${origin}\r\n` : ''}Content-Length: 2\r\nConnection: close\r\n\r\n{}`);
    // the page of evil.example, whose name now means 127.0.0.1: same origin to the browser
    for (const host of ['evil.example', `evil.example:${strict.port}`, 'localhost.evil.example', '127.0.0.1.evil.example'])
        assert.equal(status(await ask(host, `http://${host}`)), 403, host);
    for (const host of ['localhost', `127.0.0.1:${strict.port}`, '[::1]', 'ABR.example:80'])
        assert.equal(status(await ask(host, `http://${host}`)), 400, host); // let in: {} is no session
    assert.equal(status(await ask('localhost', 'http://evil.example')), 403);
});

await test('JSON at its edges: the fast reader and the full one give one verdict', async () => {
    const s = (await d.call('POST', '/v1/sessions', video)).json.session;
    const at = (field, text) => `{"chunk":1,"buffer_s":4,"next_bytes":[1,2,3]}`
        .replace(new RegExp(`"${field}":[^,}]*`), `"${field}":${text}`);
    const bodies = {
        400: [at('buffer_s', '1e999'), at('buffer_s', '-1e999'), at('buffer_s', 'NaN'), at('buffer_s', 'Infinity'),
            at('buffer_s', '01'), at('buffer_s', '+1'), at('buffer_s', '.5'), at('buffer_s', '1.'), at('buffer_s', '0x10'),
            at('buffer_s', '1e'), at('buffer_s', '-'), at('buffer_s', '1_0'), at('buffer_s', `1${'0'.repeat(400)}`),
            at('chunk', '99999999999999999999'), at('chunk', '1.5'), at('chunk', '"1"'), at('chunk', 'true'),
            '{"chunk":1,"chunk":1,"buffer_s":4}', '{"chunk":1,"buffer_s":4,"buffer_s":4}',
            '{"chunk":1,"buffer_s":4,"\\ud800":1}', '{"chunk":1,"buffer_s":4,"x":"\\ud800"}',
            '{"chunk":1,"buffer_s":4,"\\u0000":1}', '{"chunk\\u0000":1,"buffer_s":4}', '{"chunk":1,"buffer_s":4}\0',
            '{"chunk":1,"buffer_s":4}x', '{"chunk":1,"buffer_s":4,}', '{"chunk":1 "buffer_s":4}', '\ufeff{"chunk":1,"buffer_s":4}',
            '['.repeat(16000), `${'{"a":'.repeat(2500)}1${'}'.repeat(2500)}`, `{"chunk":1,"buffer_s":${'['.repeat(8000)}`,
            '{"chunk":1,"buffer_s":4,"last":{"chunk":0}}', "{'chunk':1,'buffer_s':4}", '{"chunk":1,/**/"buffer_s":4}',
            '{chunk:1,buffer_s:4}', '', ' ', '"', '{', '\\', '{"chunk":1,"buffer_s":4,"next_bytes":[1,2,1e400]}'],
        200: [at('buffer_s', '4.0'), at('buffer_s', '4e0'), at('buffer_s', '40E-1'), at('chunk', '1.0'), at('chunk', '1e0')],
    };
    for (const [want, list] of Object.entries(bodies)) {
        for (const body of list) {
            // a space in front is more than the fast reader takes
            const fast = await d.call('POST', `/v1/sessions/${s}/decisions`, body);
            const full = await d.call('POST', `/v1/sessions/${s}/decisions`, ` ${body}`);
            assert.equal(fast.status, Number(want), `${body.slice(0, 80)}: ${fast.text}`);
            assert.equal(full.status, fast.status, body.slice(0, 80));
            for (const r of [fast.json, full.json]) delete r.request;
            if (!/is not JSON|is empty/.test(fast.text)) assert.deepEqual(full.json, fast.json, body.slice(0, 80));
        }
    }
    // -0 is a number like any other, and no other one than 0
    const zero = (await d.call('POST', '/v1/sessions', video)).json.session;
    const answers = [];
    for (const number of ['0', '-0', '-0.0', '0e5', '-0e-5']) {
        const r = await d.call('POST', `/v1/sessions/${zero}/decisions`, `{"chunk":1,"buffer_s":${number}}`);
        assert.equal(r.status, 200, `${number}: ${r.text}`);
        answers.push(r.text);
    }
    assert.equal(new Set(answers).size, 1);
});

await test('after all that it lives, with nothing left open', async () => {
    assert.equal((await d.call('GET', '/readyz')).status, 200);
    assert.deepEqual(await d.stop(), { code: 0, signal: null });
});

done();

// deploy/nginx.conf as it stands, but for ports, names of files and the daemon's port: a real nginx
// with a certificate made here, a real daemon behind it. `make proxy` runs it; it needs nginx and
// openssl.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { join } from 'node:path';
import tls from 'node:tls';
import { Daemon, done, folder, test, until } from '../http/lib/daemon.mjs';
import { freePort } from '../http/lib/tools.mjs';

const NAME = 'abr.example.org';
const video = { ladder_kbps: [300, 750, 1200], chunk_s: 4, chunks: 100 };

const d = await Daemon.start(['--learn', 'off', '--trust-proxy', '127.0.0.1', '--host', NAME,
    '--allow-origin', 'https://player.example.org', '--open-rate', '0.001', '--log', 'json']);
const plain = await freePort(), secure = await freePort();
const key = join(folder, 'key.pem'), cert = join(folder, 'cert.pem');
execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
    '-subj', `/CN=${NAME}`, '-addext', `subjectAltName=DNS:${NAME}`, '-days', '2', '-keyout', key, '-out', cert],
{ stdio: 'ignore' });

// what a machine's own nginx.conf has around it
const site = readFileSync('deploy/nginx.conf', 'utf8')
    .replaceAll(/^\s*listen \[::\].*$/gm, '')
    .replace('listen 80;', `listen 127.0.0.1:${plain};`)
    .replace('listen 443 ssl http2;', `listen 127.0.0.1:${secure} ssl http2;`)
    .replace('127.0.0.1:8080', `127.0.0.1:${d.port}`)
    .replace('/etc/ssl/abrd/fullchain.pem', cert)
    .replace('/etc/ssl/abrd/privkey.pem', key);
const conf = join(folder, 'nginx.conf');
for (const dir of ['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']) mkdirSync(join(folder, dir));
writeFileSync(conf, `daemon off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
worker_processes 2;
events { worker_connections 1024; }
http {
    access_log off;
    client_body_temp_path ${folder}/body;
    proxy_temp_path ${folder}/proxy;
    fastcgi_temp_path ${folder}/fastcgi;
    uwsgi_temp_path ${folder}/uwsgi;
    scgi_temp_path ${folder}/scgi;
${site}
}
`);

/** One request through nginx, over TLS with the certificate checked; as somebody else than nginx
 * itself is, unless from says so. */
function call(method, path, body, headers = {}, { agent, from = '127.0.0.2' } = {}) {
    return new Promise((resolve, reject) => {
        const text = body === undefined ? undefined : JSON.stringify(body);
        const q = https.request({ host: '127.0.0.1', port: secure, servername: NAME, method, path, agent,
            localAddress: from,
            ca: readFileSync(cert), headers: { Host: NAME, ...(text ? { 'Content-Length': text.length } : {}), ...headers } },
        r => {
            let raw = '';
            r.on('data', data => { raw += data; });
            r.on('end', () => {
                let json;
                try { json = JSON.parse(raw); } catch { /* not every answer is JSON */ }
                resolve({ status: r.statusCode, headers: r.headers, text: raw, json, reused: q.reusedSocket });
            });
        });
        q.on('error', reject);
        q.end(text);
    });
}

execFileSync('nginx', ['-t', '-q', '-e', join(folder, 'error.log'), '-c', conf]);
const nginx = spawn('nginx', ['-e', join(folder, 'error.log'), '-c', conf], { stdio: 'inherit' });
process.on('exit', () => nginx.kill('SIGKILL'));
await until('nginx to answer', () => call('GET', '/healthz').then(r => r.status === 200, () => false));

await test('a session over TLS, on one connection', async () => {
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1 });
    const s = await call('POST', '/v1/sessions', video, {}, { agent });
    assert.equal(s.status, 201, s.text);
    for (let chunk = 1; chunk < 20; chunk++) {
        const r = await call('POST', `/v1/sessions/${s.json.session}/decisions`, { chunk, buffer_s: 8 }, {}, { agent });
        assert.equal(r.status, 200, r.text);
        assert.ok(r.reused);
    }
    agent.destroy();
});

await test('limits count who asks nginx, whatever he writes into the header', async () => {
    let last;
    for (let i = 0; i < 20; i++)
        last = await call('POST', '/v1/sessions', video, { 'X-Forwarded-For': `198.51.100.${i}`, Forwarded: `for=198.51.100.${i}` });
    assert.equal(last.status, 429, last.text);
    assert.ok(Number(last.headers['retry-after']) >= 1);
});

await test('the id of a request is nginx\'s, in the answer and in the log', async () => {
    const ids = [];
    // of a flood of errors, like the one just before, not every one is logged
    await until('a log line', async () => {
        const r = await call('GET', '/v1/profiles/nobody', undefined, { 'X-Request-Id': 'mine' });
        assert.match(r.json.request, /^[0-9a-f]{32}$/);
        ids.push(r.json.request);
        return ids.some(id => d.output.includes(`from 127.0.0.2, request ${id}:`));
    });
});

await test('pages of the allowed origin may, others may not', async () => {
    const mine = await call('GET', '/v1/profiles', undefined, { Origin: 'https://player.example.org' });
    assert.equal(mine.headers['access-control-allow-origin'], 'https://player.example.org');
    assert.equal((await call('POST', '/v1/sessions', video, { Origin: 'https://evil.example' })).status, 403);
    // its own pages come over https, too
    const own = await call('GET', '/v1/profiles', undefined, { Origin: `https://${NAME}` });
    assert.equal(own.headers['access-control-allow-origin'], `https://${NAME}`);
});

await test('events come at once', async () => {
    await new Promise((resolve, reject) => {
        const q = https.request({ host: '127.0.0.1', port: secure, servername: NAME, path: '/v1/events',
            ca: readFileSync(cert), headers: { Host: NAME } }, r => {
            assert.equal(r.headers['content-type'], 'text/event-stream');
            r.once('data', () => { r.destroy(); resolve(); });
        });
        q.setTimeout(10000, () => reject(new Error('no event within 10 s')));
        q.on('error', e => (e.code === 'ECONNRESET' ? resolve() : reject(e)));
        q.end();
    });
});

await test('http leads to https; old TLS, other names and confusing requests are refused', async () => {
    const r = await fetch(`http://127.0.0.1:${plain}/v1/policy`, { redirect: 'manual' });
    assert.equal(r.status, 308);
    assert.match(r.headers.get('location'), /^https:\/\//);

    const old = await new Promise(resolve => {
        const s = tls.connect({ host: '127.0.0.1', port: secure, servername: NAME, ca: readFileSync(cert),
            maxVersion: 'TLSv1.1', minVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }, () => resolve('connected'));
        s.on('error', e => resolve(e.code));
    });
    assert.notEqual(old, 'connected');
    assert.equal((await call('GET', '/healthz', undefined, { Host: 'evil.example' })).status, 403);

    const raw = await new Promise((resolve, reject) => {
        let got = '';
        const s = tls.connect({ host: '127.0.0.1', port: secure, servername: NAME, ca: readFileSync(cert) }, () =>
            s.write(`POST /v1/sessions HTTP/1.1\r\nHost: ${NAME}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n`
                + `\r\n0\r\n\r\nGET /v1/policy HTTP/1.1\r\nHost: ${NAME}\r\n\r\n`));
        s.on('data', data => { got += data; });
        s.on('close', () => resolve(got));
        s.on('error', reject);
    });
    assert.match(raw, /^HTTP\/1\.1 400 /);
    assert.ok(!raw.includes('version'), raw);
});

await test('metrics are for this machine; bodies have a limit', async () => {
    assert.equal((await call('GET', '/metrics', undefined, {}, { from: '127.0.0.1' })).status, 200);
    assert.equal((await call('GET', '/metrics')).status, 403);
    assert.equal((await call('POST', '/v1/decide', { x: 'y'.repeat(20000) })).status, 413);
});

nginx.kill('SIGQUIT');
await new Promise(r => nginx.on('exit', r));
assert.deepEqual(await d.stop(), { code: 0, signal: null });
done();

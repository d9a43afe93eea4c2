// deploy_route.mjs HAPROXY.CFG - runs HAProxy with this configuration before stand-ins of three of its
// nodes, on addresses of this machine: sessions go to the node whose number they begin with, those of
// nodes that are not there to another, /metrics nowhere.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const listen = handler => new Promise(resolve => {
    const s = http.createServer(handler).listen(0, '127.0.0.1', () => resolve(s));
});
const free = async () => {
    const s = await listen(() => {}), { port } = s.address();
    await new Promise(r => s.close(r));
    return port;
};

// nodes 1 to 3; whatever else the file names has no address
const nodes = [];
for (let n = 1; n <= 3; n++) nodes.push(await listen((q, r) => r.end(q.url === '/readyz' ? 'ready' : String(n))));
let text = readFileSync(process.argv[2], 'utf8'), named = 0;
text = text.replace(/^( +server s([0-9a-f]{2})) (\S+):8080$/gm, (_, head, digits) => {
    named++;
    const node = nodes[parseInt(digits, 16) - 1];
    return `${head} ${node ? `127.0.0.1:${node.address().port}` : 'nowhere.invalid:8080'}`;
});
assert.ok(named >= 3, 'no servers in it');
text = text.replace('maxconn 20000', 'maxconn 200'); // this machine may allow fewer files
const port = await free(), health = await free();
text = text.replace('bind :8080', `bind 127.0.0.1:${port}`).replace('bind :8081', `bind 127.0.0.1:${health}`);

const dir = mkdtempSync(join(tmpdir(), 'abrd-route-'));
writeFileSync(join(dir, 'haproxy.cfg'), text);
const haproxy = spawn('haproxy', ['-db', '-f', join(dir, 'haproxy.cfg')], { stdio: 'ignore' });
process.on('exit', () => { haproxy.kill('SIGKILL'); rmSync(dir, { recursive: true, force: true }); });

const ask = async path => {
    const r = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: r.status, text: await r.text() };
};
const id = n => n.toString(16).padStart(2, '0') + '0'.repeat(30);
const until = async (what, condition) => {
    for (let i = 0; i < 400; i++) {
        if (await condition().catch(() => false)) return;
        await new Promise(r => setTimeout(r, 25));
    }
    throw new Error(`waited 10 s for ${what}`);
};
for (const n of [1, 2, 3])
    await until(`node ${n}`, async () => (await ask(`/v1/sessions/${id(n)}`)).text === String(n));
for (let i = 0; i < 20; i++)
    for (const n of [1, 2, 3])
        assert.equal((await ask(`/v1/sessions/${id(n)}/decisions`)).text, String(n));
for (const path of [`/v1/sessions/${id(9)}`, `/v1/sessions/${id(200)}/rewards`, '/v1/sessions', '/v1/policy'])
    assert.equal((await ask(path)).status, 200, path);
assert.equal((await ask('/metrics')).status, 403);
if (text.includes('monitor-uri')) assert.equal((await fetch(`http://127.0.0.1:${health}/healthz`)).status, 200);

// a node ends: what was its is asked of another
nodes[1].closeAllConnections();
await new Promise(r => nodes[1].close(r));
for (let i = 0; i < 10; i++) {
    const r = await ask(`/v1/sessions/${id(2)}/decisions`);
    assert.equal(r.status, 200);
    assert.notEqual(r.text, '2');
}
console.log(`${process.argv[2]}: ${named} nodes, sessions go to theirs`);
process.exit(0);

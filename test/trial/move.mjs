// move.mjs - a player moves: two nodes that decide behind HAProxy (deploy/haproxy.cfg), a real Chromium
// playing a real stream through it, and the node that has its session is killed. `make move` runs
// it (packages nats-server, haproxy, chromium).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { chromium } from '../../web/node_modules/playwright-core/index.mjs';
import { freePort } from '../http/lib/tools.mjs';
import { Daemon } from '../web/daemon.mjs';
import { finish, test, until } from '../web/harness.mjs';

const ENOUGH = 20; // chunks
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'abrd-move-'));
const children = [];
process.on('exit', () => {
    for (const c of children) c.kill('SIGKILL');
    fs.rmSync(dir, { recursive: true, force: true });
});

function run(argv, log) {
    const out = fs.openSync(path.join(dir, log), 'w');
    const child = spawn(argv[0], argv.slice(1), { stdio: ['ignore', out, out] });
    children.push(child);
    return child;
}

const natsPort = await freePort();
run(['nats-server', '-a', '127.0.0.1', '-p', String(natsPort), '-js', '-sd', path.join(dir, 'nats')], 'nats.log');
const nodes = [];
for (const n of [1, 2])
    nodes.push(await new Daemon({ role: 'decide', bus: `nats://127.0.0.1:${natsPort}`, node: `node${n}`,
        'node-number': n, 'trust-proxy': '127.0.0.1' }).start());

const port = await freePort();
let conf = fs.readFileSync('deploy/haproxy.cfg', 'utf8').replace('maxconn 20000', 'maxconn 1000')
    .replace('bind :8080', `bind 127.0.0.1:${port}`)
    .replace(/^.*(use-server n3|server n3).*\n/gm, '');
nodes.forEach((d, i) => { conf = conf.replace(`10.0.0.1${i + 1}:8080`, `127.0.0.1:${d.port}`); });
fs.writeFileSync(path.join(dir, 'haproxy.cfg'), conf);
run(['haproxy', '-db', '-f', path.join(dir, 'haproxy.cfg')], 'haproxy.log');
const url = `http://127.0.0.1:${port}`;
await until(async () => (await fetch(`${url}/readyz`).catch(() => null))?.ok, 'HAProxy to find the nodes');

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'] });
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
const sessions = [], errors = [];
page.on('pageerror', e => errors.push(e.message));
page.on('response', async r => {
    if (r.request().method() === 'POST' && r.url().endsWith('/v1/sessions') && r.ok())
        sessions.push((await r.json()).session);
});
const arrived = () => page.evaluate(() => window.demo.recording.arrived().length);

await test('a killed node costs a player no more than one chunk of its decisions', async () => {
    await page.goto(`${url}/?${new URLSearchParams({ link: 'high-4g', rate: 4, profile: 'live', timeout: 5000 })}`);
    await page.waitForFunction(() => window.demo !== undefined);
    await until(async () => await arrived() >= 8, 'eight chunks', 60000);
    assert.equal(sessions.length, 1);
    const first = Number.parseInt(sessions[0].slice(0, 2), 16), at = await arrived();
    await nodes[first - 1].kill('SIGKILL');

    await until(async () => await arrived() >= ENOUGH, `${ENOUGH} chunks`, 180000);
    assert.equal(await page.locator('#who').getAttribute('data-mode'), 'abrd');
    const chunks = await page.evaluate(() => window.demo.recording.chunks.map(c => ({ chunk: c.chunk, by: c.by, stall: c.rebuffer_s })));
    assert.ok(chunks.length >= ENOUGH);
    const own = chunks.filter(c => c.by !== 'abrd');
    console.log(`killed at chunk ${at}; sessions of nodes ${sessions.map(s => Number.parseInt(s.slice(0, 2), 16)).join(' and ')}; ` +
        `chunks without a decision: ${own.map(c => c.chunk).join(', ') || 'none'}; ` +
        `stalls after it: ${chunks.filter(c => c.chunk >= at).reduce((s, c) => s + (c.stall ?? 0), 0).toFixed(2)} s`);
    assert.ok(own.length <= 1, `the player chose ${own.length} chunks itself`);
    assert.equal(sessions.length, 2);
    assert.equal(Number.parseInt(sessions[1].slice(0, 2), 16), 3 - first);
    assert.deepEqual(errors, []);
    if (process.env.SHOT) await page.screenshot({ path: process.env.SHOT });
});

await browser.close();
await Promise.all(nodes.map(d => d.stop()));
finish();

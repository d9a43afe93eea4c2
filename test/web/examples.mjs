// examples.mjs - the pages that README.md, web/README.md and the manual show, taken from there and played in
// Chromium: with the daemon, without it, with one that is silent, and with one that does not allow
// the page. Only addresses are replaced. TypeScript is compiled with the players' own declarations.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';

import { codeBlocks } from '../http/lib/blocks.mjs';
import { figure, freePort } from '../http/lib/tools.mjs';
import { Daemon, ROOT } from './daemon.mjs';
import { ANSWER_MS, finish, test, until } from './harness.mjs';
import { SCRIPTS, launch } from './stage.mjs';

const SERVER = 'http://127.0.0.1:8080', LIMIT = ', 2000)';
const ESBUILD = path.join(ROOT, 'test/web/node_modules/esbuild/bin/esbuild');
const TYPES = { '.mpd': 'application/dash+xml', '.m3u8': 'application/vnd.apple.mpegurl', '.js': 'text/javascript',
    '.html': 'text/html', '.m4s': 'video/iso.segment', '.mp4': 'video/mp4' };
const FILES = { 'dash.all.min.js': SCRIPTS.dashjs, 'dash.mediaplayer.min.js': SCRIPTS.dashjs,
    'hls.min.js': SCRIPTS.hlsjs, 'shaka-player.compiled.js': SCRIPTS.shaka };

/** Replaces a text that must be there. */
function swap(text, from, to) {
    assert.ok(text.includes(from), `the example lacks ${from}`);
    return text.replaceAll(from, to);
}

/** The page's own site: the example, the player and the stream. */
class Site {
    page = '';
    script = '';
    csp = '';
    async start() {
        this.server = http.createServer((q, r) => this.#answer(new URL(q.url, 'http://x').pathname, r));
        await new Promise(done => this.server.listen(0, '127.0.0.1', done));
        this.url = `http://127.0.0.1:${this.server.address().port}`;
        return this;
    }
    #answer(where, r) {
        const name = path.basename(where);
        const send = (type, body) => r.writeHead(200, { 'content-type': type,
            ...(this.csp && { 'content-security-policy': this.csp }) }).end(body);
        if (where === '/') return send('text/html', this.page);
        if (where === '/bundle.js') return send('text/javascript', this.script);
        if (FILES[name]) return send('text/javascript', fs.readFileSync(FILES[name]));
        const file = path.join(ROOT, 'build/media', { 'video.mpd': 'manifest.mpd', 'video.m3u8': 'minute.m3u8' }[name] ?? name);
        return fs.existsSync(file) ? send(TYPES[path.extname(name)] ?? 'application/octet-stream', fs.readFileSync(file)) :
            r.writeHead(404).end();
    }
    stop() {
        this.server.closeAllConnections();
        return new Promise(done => this.server.close(done));
    }
}

const PAGES = ['README.md', 'web/README.md', 'web/docs/dashjs.md', 'web/docs/hlsjs.md', 'web/docs/shaka.md'];

/** Every example, once if pages share it: {name, fill: (site, server, limitMs) makes the site show it}. */
function examples() {
    const list = [], seen = new Set();
    for (const file of PAGES)
        for (const { lang, text, line } of codeBlocks(file)) {
            if (seen.has(text)) continue;
            seen.add(text);
            const name = `${file}:${line} (${/hls|shaka|dash/i.exec(text)?.[0].toLowerCase()})`;
            if (lang === 'html') list.push({ name, imports: true, fill: (site, server, limitMs) => {
                site.page = swap(swap(text, SERVER, server), LIMIT, `, ${limitMs})`).replaceAll('https://example.org', site.url);
            } });
            // a block without a video shows options only
            if (lang === 'js' && text.includes('https://example.org')) list.push({ name, imports: false, fill: (site, server) => {
                site.page = '<video id="video" autoplay muted></video><script type="module" src="bundle.js"></script>';
                site.script = bundled(swap(swap(text, SERVER, server), 'https://example.org', site.url));
            } });
        }
    return list;
}

/** What a bundler makes of it, with the packages by their names. */
function bundled(code) {
    const player = path.join(ROOT, 'web'), { exports } = JSON.parse(fs.readFileSync(path.join(player, 'package.json'), 'utf8'));
    const alias = Object.entries(exports).filter(([, e]) => e.default)
        .map(([name, e]) => `--alias:@abrd/player${name.slice(1)}=${path.join(player, e.default)}`);
    const found = ['web', 'test/web'].map(dir => path.join(ROOT, dir, 'node_modules')).join(path.delimiter);
    return execFileSync(process.execPath, [ESBUILD, '--bundle', '--format=esm', '--log-level=error', ...alias],
        { input: code, encoding: 'utf8', cwd: ROOT, maxBuffer: 1 << 28, env: { ...process.env, NODE_PATH: found } });
}

const browser = await launch(), site = await new Site().start();

/** Opens the page and waits until its sessions are `enough`, or until the picture moves. */
async function played({ fill }, server, { limitMs = 2000, enough = null, csp = '' } = {}) {
    fill(site, server, limitMs);
    site.csp = csp.replaceAll('SELF', site.url);
    const context = await browser.newContext(), page = await context.newPage(), wrong = [], sessions = new Set();
    page.on('pageerror', e => wrong.push(e.message));
    page.on('request', q => sessions.add(/\/v1\/sessions\/(\w+)\//.exec(q.url())?.[1]));
    try {
        await page.goto(`${site.url}/`);
        await until(async () => await page.evaluate(() => document.querySelector('video').currentTime > .5) &&
            (!enough || await enough([...sessions].filter(Boolean))), `${enough ? 'decisions' : 'the picture to move'}; ${wrong}`);
        assert.deepEqual(wrong, []);
    } finally {
        await context.close(); // with it the page's session
    }
}

const opened = async daemon => figure(await (await fetch(`${daemon.url}/metrics`)).text(), 'abrd_sessions_opened_total');

const allowing = await new Daemon({ 'allow-origin': site.url, explore: 0 }).start();
const refusing = await new Daemon({ explore: 0 }).start();
const away = `http://127.0.0.1:${await freePort()}`;
const connections = new Set();
const silent = net.createServer(c => { connections.add(c); c.on('error', () => {}); });
await new Promise(done => silent.listen(0, '127.0.0.1', done));
const silentUrl = `http://127.0.0.1:${silent.address().port}`;

try {
    const list = examples();
    await test('there are examples of every player, with and without a bundler', () => {
        assert.deepEqual(list.map(e => [e.name.replace(/:\d+/, ''), e.imports]), [['README.md (dash)', true],
            ['web/README.md (dash)', true], ['web/README.md (hls)', true], ['web/README.md (shaka)', true],
            ['web/README.md (dash)', false], ['web/README.md (hls)', false],
            ['web/docs/hlsjs.md (hls)', false], ['web/docs/shaka.md (shaka)', false]]);
    });

    await test('the TypeScript of the manual compiles, strictly', () => {
        const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'abrd-ts-')), modules = path.join(dir, 'node_modules');
        try {
            fs.mkdirSync(path.join(modules, '@abrd'), { recursive: true });
            fs.symlinkSync(path.join(ROOT, 'web'), path.join(modules, '@abrd/player'));
            for (const [from, name] of [['web', 'dashjs'], ['test/web', 'hls.js'], ['test/web', 'shaka-player']])
                fs.symlinkSync(path.join(ROOT, from, 'node_modules', name), path.join(modules, name));
            const blocks = PAGES.flatMap(codeBlocks).filter(b => b.lang === 'ts');
            assert.equal(blocks.length, 3);
            blocks.forEach((b, i) => fs.writeFileSync(path.join(dir, `${i}.ts`), b.text));
            fs.writeFileSync(path.join(dir, 'wrong.ts'), swap(blocks[0].text, 'timeoutMs: 300', "timeoutMs: 'soon'"));
            const said = spawnSync(process.execPath, [path.join(ROOT, 'test/web/node_modules/typescript/bin/tsc'), '--noEmit',
                '--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'esnext', '--moduleResolution', 'bundler',
                '--lib', 'es2022,dom', '0.ts', '1.ts', '2.ts', 'wrong.ts'], { cwd: dir, encoding: 'utf8' }).stdout;
            // the one that is wrong shows that the compiler looks
            assert.match(said, /^wrong\.ts\(.*\): error .*'string' is not assignable to type 'number'[^\n]*\n$/);
        } finally {
            fs.rmSync(dir, { recursive: true, force: true });
        }
    });

    await test('an import statement with the address of a daemon that is away runs nothing: what they must not be', async () => {
        site.page = `<script>window.ran = []</script><script type="module" onerror="window.ran.push('error')">
            import { attach } from '${away}/dashjs.js'; window.ran.push('script');</script>`;
        const page = await browser.newPage();
        await page.goto(`${site.url}/`);
        assert.deepEqual(await until(() => page.evaluate(() => window.ran.length && window.ran), 'the end of the script'), ['error']);
        await page.close();
    });

    for (const example of list) {
        const { name } = example;
        await test(`${name}: with the daemon its decisions are followed`, async () => {
            const followed = async id => {
                const { profile, steps } = await allowing.get(`/v1/sessions/${id}`);
                assert.equal(profile, 'live');
                return steps.some(s => s.reported && s.followed && s.level === s.decided_level);
            };
            // a session begins again when the answer to its first question comes too late
            await played(example, allowing.url, { limitMs: ANSWER_MS, enough: async ids => (await Promise.all(ids.map(followed))).includes(true) });
        });
        await test(`${name}: without the daemon it plays`, () => played(example, away));
        if (name.startsWith('web/docs')) continue; // the rest is the same in every bundle
        await test(`${name}: a daemon that takes the connection and says nothing does not stop it`, async () => {
            const before = connections.size;
            await played(example, silentUrl);
            assert.ok(connections.size > before, 'it was never asked');
        });
        await test(`${name}: a daemon that does not allow the page does not stop it`, async () => {
            await played(example, refusing.url);
            assert.equal(await opened(refusing), 0);
        });
        await test(`${name}: a policy of the page that forbids the daemon does not stop it`, () =>
            played(example, allowing.url, { csp: "default-src SELF 'unsafe-inline'; media-src SELF blob:; worker-src blob:" }));
    }
} finally {
    await browser.close();
    await site.stop();
    await allowing.stop();
    await refusing.stop();
    for (const c of connections) c.destroy();
    silent.close();
}
finish();

// chromium.mjs - the rig against a real Chromium: the same player, video and link, compared request by request.
// `make players-chromium`, with
//
//   TRACE=FILE        the link (default: a bundled one)
//   CHUNKS=20         of the tests' video, 4 s each; a session takes about as long as it plays
//   ONLY=A;B          sessions' names, or beginnings of them
//   JOBS=1            pages at a time: a busy machine delays Chromium and the server, which is seen as a difference
//   OUT=build/players chromium.json has all requests of both
//
// A server plays the link of link.mjs in real time: it sends each body as fast as the link allows, and the first
// byte one round trip after the request. The rig has chunks of the same sizes, and navigator.connection of the page.
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { Daemon } from '../web/daemon.mjs';
import { sideBySide } from '../web/harness.mjs';
import { SCRIPTS, launch } from '../web/stage.mjs';
import { Link, readTrace } from './link.mjs';
import { LADDER, siteOf } from './media.mjs';
import { EVENTS, play } from './session.mjs';

const { env } = process, HERE = path.dirname(fileURLToPath(import.meta.url)), ROOT = path.join(HERE, '../..');
const file = env.TRACE || path.join(ROOT, 'traces/3g-commute-03'), out = env.OUT || 'build/players';
const chunks = Number(env.CHUNKS || 20), FILES = path.join(ROOT, 'build/media');
const TICK_MS = 10, LIMIT_MS = 300e3, SOUND = 64;
const fail = text => { console.error(`players-chromium: ${text}`); process.exit(2); };

const STILL = { streaming: { buffer: { fastSwitchEnabled: false } } };
// a busy machine drops frames, and Shaka would leave a level for that
const CALM = { abr: { droppedFrames: false } };
/** name -> {kind, own, abrd, sound} */
const SESSIONS = {
    'dash.js, no fast switch': { kind: 'dashjs', own: STILL },
    'dash.js, as it comes': { kind: 'dashjs' },
    'dash.js, no fast switch, sound': { kind: 'dashjs', own: STILL, sound: SOUND },
    'hls.js': { kind: 'hlsjs' },
    'Shaka': { kind: 'shaka', own: CALM },
    'abrd in dash.js': { kind: 'dashjs', abrd: {} },
    'abrd in hls.js': { kind: 'hlsjs', abrd: {} },
    'abrd in Shaka': { kind: 'shaka', own: CALM, abrd: {} },
};

/** The tests' video: real chunks, of these sizes. */
function videoOf() {
    const sizeOf = (kbps, n) => statSync(path.join(FILES, `${kbps}-${n}.m4s`)).size;
    const codecs = /codecs="([^"]*)"/.exec(readFileSync(path.join(FILES, 'manifest.mpd'), 'utf8'))[1];
    return { kbps: LADDER, chunkS: 4, heights: LADDER.map(() => 240), codecs,
        sizes: Array.from({ length: chunks }, (_, i) => LADDER.map(kbps => sizeOf(kbps, i + 1))) };
}

/** The clock of a link in real time. */
class WallClock {
    late = [];            // of its timers [ms]: what a busy machine adds
    #began = performance.now();
    get now() { return performance.now() - this.#began; }
    after(ms, fn) {
        const due = this.now + ms;
        return setTimeout(() => { this.late.push(this.now - due); fn(); }, ms);
    }
    cancel(id) { clearTimeout(id); }
}

/** A server of one session's page and files; `log` has a row for each request of a file of the video. */
class Site {
    log = [];
    #link = null;
    #server;
    constructor({ site, trace, kind }) { Object.assign(this, { site, trace, kind }); }

    async start() {
        this.#server = http.createServer((q, r) => this.#answer(q, r));
        await new Promise(done => this.#server.listen(0, '127.0.0.1', done));
        this.url = `http://127.0.0.1:${this.#server.address().port}`;
        return this;
    }
    stop() {
        this.#server.closeAllConnections();
        return new Promise(done => this.#server.close(done));
    }

    #answer(q, r) {
        const name = decodeURIComponent(new URL(q.url, 'http://a').pathname).slice(1);
        const send = (type, body) => { r.writeHead(200, { 'content-type': type }); r.end(body); };
        if (name === '') return send('text/html', '<!doctype html><title>rig</title><video id="v" muted width="128" height="72"></video>');
        if (name === 'player.js') return send('text/javascript', readFileSync(SCRIPTS[this.kind]));
        if (name === 'begin.mjs') return send('text/javascript', readFileSync(path.join(HERE, name)));
        const module = path.join(ROOT, 'web', path.normalize(name));
        if (/^[\w/]+\.js$/.test(name) && existsSync(module)) return send('text/javascript', readFileSync(module));
        if (!this.site.at(name, 0)) { r.writeHead(404); return r.end(); } // the page's icon, the time of a server
        return this.#media(name, r);
    }

    #media(name, r) {
        // the trace begins with the first request, as the page begins with it
        const clock = this.clock ??= new WallClock(), link = this.#link ??= new Link(clock, this.trace);
        const found = this.site.at(name, 0), [, id, what] = /^([va]\d+)\/(.*)$/.exec(name) ?? [];
        const own = id && path.join(FILES, `${id[0] === 'a' ? 'audio' : LADDER[id.slice(1)]}-${what}`);
        const body = own && existsSync(own) ? readFileSync(own) : Buffer.from(found.body);
        const row = { at: clock.now, path: name, kind: found.kind ?? null, chunk: found.chunk ?? -1, level: found.level ?? -1,
            bytes: body.length, loaded: 0, end: NaN, aborted: false };
        this.log.push(row);
        let sent = 0, tick;
        const push = to => { if (to > sent) r.write(body.subarray(sent, sent = to)); row.loaded = sent; };
        const more = () => { push(transfer.loaded()); tick = setTimeout(more, TICK_MS); };
        const transfer = link.request(body.length, {
            first: () => {
                r.writeHead(200, { 'content-type': found.type, 'content-length': body.length, 'cache-control': 'no-store' });
                r.flushHeaders();
                more();
            },
            end: () => {
                clearTimeout(tick);
                push(body.length);
                r.end();
                row.end = clock.now;
            },
        });
        r.on('close', () => {
            if (!Number.isNaN(row.end)) return;
            clearTimeout(tick);
            transfer.stop();
            row.aborted = true;
            row.end = clock.now;
        });
    }
}

/** In the page. */
async function inPage({ kind, own, abrd, manifest, events }) {
    const { begin } = await import('/begin.mjs'), { attach } = abrd ? await import(`/${kind}.js`) : {};
    const video = document.getElementById('v'), state = window.run = { over: false, failed: '', stalls: [], seen: [], firstMs: NaN };
    const began = performance.now(), still = open => {
        const last = state.stalls.at(-1), now = performance.now();
        if (open && state.firstMs >= 0 && last?.to !== null) state.stalls.push({ from: now, to: null });
        if (!open && last?.to === null) last.to = now;
    };
    video.addEventListener('waiting', () => still(!video.seeking));
    video.addEventListener('playing', () => {
        still(false);
        if (!(state.firstMs >= 0)) state.firstMs = performance.now() - began;
    });
    video.addEventListener('ended', () => { state.over = true; });
    begin[kind]({ dashjs: window.dashjs, Hls: window.Hls, shaka: window.shaka, attach }, video, new URL(manifest, location).href, { own, abrd,
        listen: handle => { for (const event of events) handle.on(event, data => state.seen.push({ ...data, event })); },
        over: () => { state.over = true; }, failed: text => { state.failed = text; } });
}

async function inChromium(browser, daemon, { kind, own, abrd }, about, trace, video) {
    const site = siteOf(video, about), server = await new Site({ site, trace, kind }).start();
    // small: without a graphics card every picture costs
    const page = await browser.newPage({ viewport: { width: 200, height: 120 } }), errors = [];
    try {
        page.on('pageerror', e => errors.push(e.message));
        await page.goto(server.url);
        await page.addScriptTag({ url: '/player.js' });
        const connection = await page.evaluate(
            '(c => c && { downlink: c.downlink, rtt: c.rtt, effectiveType: c.effectiveType, saveData: c.saveData })(navigator.connection)');
        await page.evaluate(inPage, { kind, own, abrd: abrd && { server: daemon.url, profile: 'standard', ...abrd },
            manifest: kind === 'hlsjs' ? site.hls : site.dash, events: EVENTS });
        await page.waitForFunction(() => window.run.over || window.run.failed, null, { timeout: LIMIT_MS, polling: 200 });
        const run = await page.evaluate(() => ({ ...window.run, frames: document.getElementById('v').getVideoPlaybackQuality().droppedVideoFrames }));
        if (run.failed) errors.push(run.failed);
        return { connection, errors, files: server.log, requests: server.log.filter(r => r.kind === 'video'), startupS: run.firstMs / 1000,
            stalls: run.stalls.filter(s => s.to !== null).map(s => (s.to - s.from) / 1000).filter(s => s >= .1), seen: run.seen,
            dropped: run.frames, late: server.clock.late };
    } finally {
        await page.close();
        await server.stop();
    }
}

const total = list => list.reduce((a, b) => a + b, 0);
const median = list => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? NaN;

/** Requests of both, one by one: how many from the start are for the same file, and their times apart. */
function compare(rig, chromium) {
    const a = rig.requests, b = chromium.requests;
    let same = 0;
    while (same < Math.min(a.length, b.length) && a[same].path === b[same].path) same++;
    const apart = Array.from({ length: same }, (_, i) => (b[i].at - b[0].at) - (a[i].at - a[0].at));
    const took = Array.from({ length: same }, (_, i) => (b[i].end - b[i].at) - (a[i].end - a[i].at));
    const levels = run => Object.values(Object.fromEntries(run.requests.filter(r => !r.aborted).map(r => [r.chunk, r.level])));
    const [x, y] = [levels(rig), levels(chromium)];
    return { same, requests: [a.length, b.length], apart: apart.map(Math.abs), took: took.map(Math.abs),
        levels: [x.join(''), y.join('')], chunksEqual: x.filter((l, i) => l === y[i]).length, of: Math.max(x.length, y.length),
        meanKbps: [x, y].map(list => total(list.map(l => LADDER[l])) / list.length) };
}

if (!existsSync(path.join(FILES, 'manifest.mpd'))) fail(`there is no ${path.relative(ROOT, FILES)}: 'make media' encodes it`);
if (!existsSync(file)) fail(`TRACE: there is no file ${file}`);
if (!(chunks >= 2 && chunks <= 30)) fail(`CHUNKS: ${env.CHUNKS} is not a number from 2 to 30`);
const only = (env.ONLY || '').split(';').filter(Boolean);
const names = Object.keys(SESSIONS).filter(n => !only.length || only.some(o => (o in SESSIONS ? n === o : n.startsWith(o))));
if (!names.length) fail(`ONLY: no session begins with '${env.ONLY}'; they are ${Object.keys(SESSIONS).join('; ')}`);

const trace = readTrace(file), video = videoOf(), rows = [], all = {};
const daemon = await new Daemon({ explore: 0, learn: 'off', 'allow-origin': '*', 'open-rate': 0, 'address-rate': 0, 'session-rate': 0 }, { stored: false }).start();
const browser = await launch();
let failed = 0;
console.log(`${path.basename(file)}, ${chunks} chunks of 4 s; rig and Chromium, in this order`);
console.log('                                 requests  same from   chunks of   requests apart   download apart   kbit/s      stalls       first      frames   server late');
console.log('                                           the start   one level   median    most   median    most                            picture    dropped  median  most');
try {
    await sideBySide(names.map(name => async () => {
        const about = { sound: SESSIONS[name].sound ?? 0, sets: [{ codecs: video.codecs, levels: LADDER.map((_, i) => i) }] };
        try {
            const real = await inChromium(browser, daemon, SESSIONS[name], about, trace, video);
            const rig = await play({ ...SESSIONS[name], abrd: SESSIONS[name].abrd && { profile: 'standard', ...SESSIONS[name].abrd }, trace, video,
                site: about, daemon: daemon.url, latencyMs: 3, browser: { connection: real.connection }, limitS: 600 });
            const c = compare(rig, real), n = (x, w, digits = 0) => (Number.isFinite(x) ? x.toFixed(digits) : '-').padStart(w);
            if (!rig.ended || real.errors.length) throw new Error(real.errors.join('; ') || 'the session in the rig has not ended');
            rows.push({ name, ...c });
            all[name] = { compared: c, rig: { files: rig.files, stalls: rig.stalls, startupS: rig.startupS },
                chromium: { files: real.files, stalls: real.stalls, startupS: real.startupS, dropped: real.dropped, late: { median: median(real.late), most: Math.max(...real.late) }, connection: real.connection } };
            console.log(`  ${name.padEnd(31)}${`${c.requests.join(' ')}`.padStart(8)}${n(c.same, 11)}${`${c.chunksEqual} of ${c.of}`.padStart(12)}${
                n(median(c.apart), 9)}${n(Math.max(...c.apart), 6)} ms${n(median(c.took), 6)}${n(Math.max(...c.took), 6)} ms${
                c.meanKbps.map(k => n(k, 6)).join('')}${[rig, real].map(r => n(total(r.stalls), 6, 2)).join('')} s${
                [rig, real].map(r => n(r.startupS, 5, 1)).join('')} s${n(real.dropped, 7)}${n(median(real.late), 9)}${
                n(Math.max(...real.late), 6)} ms`);
        } catch (e) {
            failed++;
            console.log(`  ${name.padEnd(31)}FAILED: ${e.message.split('\n')[0]}`);
        }
    }), Number(env.JOBS) || 1);
} finally {
    await browser.close();
    await daemon.stop();
}
mkdirSync(out, { recursive: true });
writeFileSync(path.join(out, 'chromium.json'), `${JSON.stringify(all, null, 1)}\n`);
console.log(`all requests are in ${path.join(out, 'chromium.json')}`);
process.exit(failed ? 1 : 0);

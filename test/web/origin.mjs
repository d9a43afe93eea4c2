// origin.mjs - dash.js and Shaka as they come play what another server has through the daemon (--origin):
// they are steered by the manifest that passed, and play on when that server was away for a moment.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

import { figure, freePort } from '../http/lib/tools.mjs';
import { Daemon, ROOT } from './daemon.mjs';
import { finish, test, until } from './harness.mjs';
import { launch } from './stage.mjs';
import { PLAYERS, alwaysSays, capOf, chunkOf, stockPage } from './stock.mjs';

const CAP = 2, CAP_KBPS = 1200, CHUNKS = 15, LADDER = [300, 750, 1200, 1850, 2850, 4300];
const LATE = 6; // LATE_CHUNKS of src/serve/players/steer.c
const WAYS = { dashjs: [{}, { headers: true }], shaka: [{}, { oneByOne: true, headers: true }] };
const TYPES = { '.mpd': 'application/dash+xml', '.mp4': 'video/mp4', '.m4s': 'video/iso.segment' };

/** A server of files that knows nothing of the daemon, and is away when it is told so. */
class Origin {
    asked = [];
    onAsked = () => {};

    async start() {
        this.port ??= await freePort();
        this.server = http.createServer((q, r) => this.#answer(q, r));
        await new Promise(done => this.server.listen(this.port, '127.0.0.1', done));
        return this;
    }

    #answer(q, r) {
        this.asked.push(q.url);
        if (this.onAsked(q.url)) return;
        const name = path.basename(q.url.split('?')[0]);
        fs.readFile(path.join(ROOT, 'build/media', name), (e, bytes) => {
            if (e) return r.writeHead(404).end();
            const own = / abrd:sizes="[^"]*"| xmlns:abrd="[^"]*"|<SupplementalProperty [^>]*>/g;
            const body = name.endsWith('.mpd') ? Buffer.from(String(bytes).replace(own, '')) : bytes;
            return r.writeHead(200, { 'Content-Type': TYPES[path.extname(name)], 'Content-Length': body.length }).end(body);
        });
    }

    /** Nobody listens on its port any more; what was under way breaks off. */
    stop() {
        this.server.closeAllConnections();
        return new Promise(done => this.server.close(done));
    }
}

/** A player on the origin's stream: what it asked for and was told, until `enough`. */
async function play(browser, daemon, kind, options, enough) {
    const page = await stockPage(browser, daemon, kind);
    const run = { page, asked: [], told: [], failed: [], wrong: [] };
    let cap = NaN;
    page.on('pageerror', e => run.wrong.push(e.message));
    page.on('request', q => {
        const segment = chunkOf(q.url());
        if (segment) run.asked.push({ ...segment, cap });
    });
    page.on('response', r => {
        const segment = chunkOf(r.url()), h = r.headers();
        if (h['abrd-cmcd-error']) run.wrong.push(h['abrd-cmcd-error']);
        if (r.status() >= 400) run.failed.push(r.status());
        else if (segment) run.told.push({ ...segment, cap: cap = capOf(h), dynamic: h['cmsd-dynamic'], session: h['abrd-session'] });
    });
    await page.evaluate(PLAYERS[kind].begin, { url: `${daemon.url}/o/far/film/minute-av.mpd`, cap: true, ...options });
    try {
        await until(() => enough(run), 'what is to come');
    } catch (e) {
        const at = await page.evaluate(() => document.querySelector('#v').currentTime);
        throw new Error(`${e.message}\nat ${at} s, failed ${run.failed}, wrong ${run.wrong}\n${JSON.stringify(run.asked)}`);
    }
    return run;
}

/** From the first picture to the last, four times as fast. */
const seen = page => page.evaluate(() => {
    const v = document.querySelector('#v');
    if (v.playbackRate && v.playbackRate !== 4) v.playbackRate = 4;
    if (v.paused && !v.ended) v.play().catch(() => {});
    return v.currentTime > 0 && v.currentTime >= v.duration - .1;
});

const sessions = async daemon => figure(await (await fetch(`${daemon.url}/metrics`)).text(), 'abrd_sessions_opened_total');
const above = asked => asked.filter(a => a.kbps > CAP_KBPS);
const capped = asked => asked.filter(a => a.cap === CAP_KBPS);
const numbers = n => [...Array(n).keys()];

/** That server goes when it is asked for the seventh chunk, and is back when a player was told so. */
async function playThroughOutage(browser, daemon, origin, kind, options) {
    let away = false;
    origin.onAsked = url => {
        if (away || !/-7\.m4s/.test(url)) return false;
        away = true;
        void origin.stop();
        return true;
    };
    const run = await play(browser, daemon, kind, options, async ({ page, failed }) => {
        if (away && failed.length && !origin.server.listening) await origin.start();
        return seen(page);
    });
    origin.onAsked = () => {};
    await run.page.close();
    assert.ok(away && run.failed.length, 'the server was never away');
    assert.ok(run.failed.every(status => status === 502), `${run.failed}`);
    assert.deepEqual(run.wrong, []);
    return run;
}

/** Each answer has a cap, all are of one session, and what follows obeys. */
function wasSteered({ asked, told }) {
    assert.ok(capped(asked).length >= CHUNKS / 2, JSON.stringify(asked));
    assert.deepEqual(above(capped(asked)), []);
    assert.ok(told.every(t => t.session && t.session === told[0].session), JSON.stringify(told));
    assert.ok(told.slice(2).some(t => /;etp=[1-9]/.test(t.dynamic)), JSON.stringify(told));
    assert.deepEqual([...new Set(told.map(t => t.chunk))].sort((a, b) => a - b), numbers(CHUNKS));
}

async function originTest(browser, daemon, origin, kind, options) {
    const how = `${kind}, ${Object.keys(options).join(', ') || 'as it comes'}`;
    await test(`${how}: follows the cap, and plays on when the other server was away`, async () => {
        const opened = await sessions(daemon), from = origin.asked.length;
        const run = await playThroughOutage(browser, daemon, origin, kind, { sid: how.replace(/\W/g, ''), ...options });
        wasSteered(run);
        assert.equal(await sessions(daemon), opened + 1);
        const there = origin.asked.slice(from);
        assert.ok(there.length && !there.some(url => /cmcd/i.test(url)), 'that server is told of its player');

        // Shaka by itself has several under way, and begins anew when it changes the level: of those that
        // overtake each other the session knows some without a decision. If the last one is overtaken, the
        // session ends by its silence alone; if it comes first, the session does not know those before it
        const inOrder = kind !== 'shaka' || options.oneByOne;
        const h = await until(async () => {
            const s = await daemon.get(`/v1/sessions/${run.told[0].session}`);
            return (s.closed || (!inOrder && s.steps.length >= CHUNKS - 1)) && s;
        }, 'the end of the session');
        assert.deepEqual([h.content_id, h.hinted, h.ladder_kbps, h.chunks, h.chunk_s, h.terminal || !inOrder],
            ['minute', false, LADDER, CHUNKS, 4, true]);
        const chunks = h.steps.map(s => s.chunk), decided = h.steps.slice(1).map(s => s.decided_level);
        if (inOrder) assert.deepEqual(chunks, numbers(CHUNKS));
        assert.deepEqual(numbers(CHUNKS - (inOrder ? 0 : LATE)).filter(n => !chunks.includes(n)), []);
        assert.ok(decided.every(level => level === CAP || (!inOrder && level < 0)), `${decided}`);
    });
}

async function freeTest(browser, daemon, kind) {
    await test(`${kind}: what it does without a cap`, async () => {
        const { page, wrong } = await play(browser, daemon, kind, { sid: `${kind}free`, cap: false, headers: true },
            run => above(capped(run.asked)).length);
        await page.close();
        assert.deepEqual(wrong, []);
    });
}

const origin = await new Origin().start();
// pensieve has no ceiling: a guard would withhold the cap on a busy machine
const daemon = new Daemon({ explore: 0, learn: 'off', untagged: 'default', default_profile: 'pensieve', origin: `far=http://127.0.0.1:${origin.port}/` });
const file = path.join(daemon.data, 'always.safetensors');
alwaysSays(CAP, file);
daemon.config.policy = file;
await daemon.start();
const browser = await launch();
try {
    for (const [kind, ways] of Object.entries(WAYS)) {
        await freeTest(browser, daemon, kind);
        for (const options of ways) await originTest(browser, daemon, origin, kind, options);
    }
} finally {
    await browser.close();
    await daemon.stop();
    await origin.stop();
}
finish();

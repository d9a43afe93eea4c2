// fading.mjs - chunks given up on their way, in real players against a real daemon: on a link that fades
// while they come, and at the start of one that is faster or slower than the daemon assumed.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { Daemon } from './daemon.mjs';
import { ANSWER_MS, finish, sideBySide, test, until } from './harness.mjs';
import { launch, stage } from './stage.mjs';

const CHUNKS = 15;
const KINDS = {
    dashjs: { name: 'dash.js', file: 'minute-av.mpd' },
    hlsjs: { name: 'hls.js', file: 'minute-av.m3u8' },
};

/** A folder of links, each seconds of so many Mbit/s; they go on as they end. */
function linksOf(links) {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'abrd-links-'));
    for (const [name, parts] of Object.entries(links)) {
        const mbps = parts.flatMap(([seconds, rate]) => Array(seconds).fill(rate));
        fs.writeFileSync(path.join(dir, name), [mbps[0], ...mbps].map((m, i) => `${i}\t${m}\n`).join(''));
    }
    return dir;
}
// A chunk that is nearly there when the link fades is let come, and the next one is decided for a slow
// link: then nothing is to be given up, and it is tried on a link that fades at another moment.
const FADES = [8, 7, 9, 6];
const LINKS = linksOf({ ...Object.fromEntries(FADES.map(s => [`fading-${s}`, [[s, 6], [12, .3], [300, 6]]])), fast: [[300, 4]], slow: [[300, .4]] });

const over = at => at.ended && at.seen.chunk.length >= CHUNKS;
const numbers = n => [...Array(n).keys()];
/** Numbers of the chunks of video that were fetched, in order. */
const fetched = files => files.map(([name]) => /^\d+-(\d+)\.m4s$/.exec(name)).filter(Boolean).map(m => m[1] - 1);

/** Media that the player holds, in one piece from the picture on? */
const isWhole = page => page.evaluate(() => {
    const { buffered, currentTime } = document.getElementById('v0');
    return buffered.length === 1 && buffered.start(0) <= currentTime;
});

/** Every chunk arrived once and was reported as it came. */
async function counted(daemon, at) {
    assert.deepEqual(at.seen.chunk.map(c => c.chunk), numbers(CHUNKS));
    const [{ session }] = at.seen.session;
    assert.equal(at.seen.session.length, 1);
    const { steps } = await until(async () => {
        const h = await daemon.get(`/v1/sessions/${session}`);
        return h.steps.at(-1)?.reported && h;
    }, 'the last report');
    // the daemon keeps the bytes that the sound beside it left for the video
    assert.deepEqual(steps.map(x => [x.chunk, x.level, x.download_s]),
        at.seen.chunk.map(c => [c.chunk, c.level, c.download_s]));
    return steps;
}

/** A stage on which a chunk was given up, or is over without, on the last link. */
async function fade(browser, daemon, kind, options = {}) {
    for (const seconds of FADES) {
        const s = await stage(browser, daemon, kind);
        await s.begin(kind, 0, `fading-${seconds}`, KINDS[kind].file,
            { rate: 3, timeoutMs: ANSWER_MS, profile: 'paper-live', ...options });
        const at = await s.when(0, a => a.seen.abandon.length || over(a), 'a chunk that is given up');
        if (at.seen.abandon.length || seconds === FADES.at(-1)) return s;
        await s.close();
    }
}

async function fadingTest(browser, daemon, kind) {
    const { name } = KINDS[kind];
    await test(`${name}: what a fading link would bring too late is fetched lower, and played without a gap`, async () => {
        const s = await fade(browser, daemon, kind), at = await s.when(0, over, 'the end');
        const { abandon, request } = at.seen;
        assert.ok(abandon.length > 0, 'nothing was given up');
        // on a busy machine a chunk may be given up a second time
        const times = n => abandon.filter(a => a.chunk === n);
        for (const n of new Set(abandon.map(a => a.chunk))) {
            const levels = [times(n)[0].from, ...times(n).map(a => a.level)];
            assert.ok(n > 0 && times(n).every((a, i) => a.from === levels[i] && a.level < a.from), JSON.stringify(times(n)));
            const asked = request.filter(r => r.chunk === n).map(r => [r.level, r.decided, r.by]);
            assert.deepEqual(asked, levels.map(level => [level, level, 'abrd']));
            assert.equal(at.seen.chunk[n].level, levels.at(-1));
        }
        assert.ok(request.every(r => r.by === 'abrd'), JSON.stringify(request));
        assert.deepEqual(fetched(s.files[0]), numbers(CHUNKS).flatMap(n => Array(1 + times(n).length).fill(n)));
        await counted(daemon, at);
        assert.equal(await isWhole(s.page), true);
        assert.deepEqual([s.errors, at.seen.error], [[], []]);
        await s.close();
    });
}

async function patientTest(browser, daemon, kind) {
    const { name, file } = KINDS[kind];
    await test(`${name}: with \`abandon: false\` all is let come`, async () => {
        const s = await stage(browser, daemon, kind);
        await s.begin(kind, 0, 'fading-8', file, { rate: 3, timeoutMs: ANSWER_MS, profile: 'paper-live', abandon: false });
        const at = await s.when(0, over, 'the end');
        assert.deepEqual(at.seen.abandon, []);
        // even the lowest level takes four seconds of the twelve that are slow
        assert.ok(at.seen.chunk.some(c => c.download_s > 3), 'the link did not fade');
        assert.deepEqual(fetched(s.files[0]), numbers(CHUNKS));
        const steps = await counted(daemon, at);
        assert.ok(steps.every(x => x.followed), JSON.stringify(steps));
        await s.close();
    });
}

/**
 * The level of a first chunk, with the chunk after it as it was decided. A page that asks when the chunk is
 * nearly there, as on a busy machine, gains nothing by another: then it is tried again.
 */
async function firstLevel(browser, daemon, kind, link, abandon) {
    for (let left = 10; ; left--) {
        const s = await stage(browser, daemon, kind);
        await s.begin(kind, 0, link, KINDS[kind].file, { timeoutMs: ANSWER_MS, profile: 'paper-documentary', abandon });
        const { seen } = await s.when(0, a => a.seen.chunk.length >= 2, 'two chunks');
        await s.close();
        if (abandon && !seen.abandon.length && left > 1) continue;
        assert.deepEqual(seen.abandon.map(a => a.chunk), abandon ? [0] : []);
        assert.equal(seen.session[0].level, seen.request[0].level);
        assert.deepEqual(seen.chunk.slice(0, 2).map(c => c.chunk), numbers(2));
        assert.ok(seen.request.every(r => r.by === 'abrd'), JSON.stringify(seen.request));
        assert.deepEqual([s.errors, seen.error], [[], []]);
        return seen.chunk[0].level;
    }
}
const bothLevels = (browser, daemon, kind, link) => Promise.all([true, false]
    .map(abandon => firstLevel(browser, daemon, kind, link, abandon)));

const fastTest = (browser, daemon, kind) =>
    test(`${KINDS[kind].name}: a first chunk that comes fast is fetched higher`, async () => {
        const [abandoned, kept] = await bothLevels(browser, daemon, kind, 'fast');
        assert.ok(abandoned > kept, `${abandoned} is not above ${kept}`);
    });

const slowTest = (browser, daemon, kind) =>
    test(`${KINDS[kind].name}: a first chunk that comes slowly is fetched lower`, async () => {
        const [abandoned, kept] = await bothLevels(browser, daemon, kind, 'slow');
        assert.ok(abandoned < kept, `${abandoned} is not below ${kept}`);
    });

async function deathTest(browser, daemon, kind) {
    await test(`${KINDS[kind].name}: a daemon that dies while the link fades does no harm`, async () => {
        const other = await new Daemon({ 'allow-origin': daemon.url, explore: 0 }).start();
        const s = await fade(browser, daemon, kind, { server: other.url });
        try {
            await other.kill();
            const at = await s.when(0, over, 'the end');
            assert.deepEqual([...new Set(at.seen.chunk.map(c => c.chunk))], numbers(CHUNKS));
            assert.ok(at.seen.error.every(e => e.status === 0), JSON.stringify(at.seen.error));
            assert.equal(await isWhole(s.page), true);
            assert.deepEqual(s.errors, []);
        } finally {
            await s.close();
            await other.stop();
        }
    });
}

const daemon = await new Daemon({ traces: LINKS, explore: 0 }).start();
const browser = await launch();
try {
    const kinds = Object.keys(KINDS).filter(k => (process.env.ONLY ?? k) === k);
    for (const kind of kinds) await fastTest(browser, daemon, kind); // over in a second
    await sideBySide([fadingTest, patientTest, deathTest, slowTest]
        .flatMap(body => kinds.map(kind => () => body(browser, daemon, kind))));
} finally {
    await browser.close();
    await daemon.stop();
    fs.rmSync(LINKS, { recursive: true, force: true });
}
finish();

// players.mjs - the plugin in real players of three kinds, against a real daemon that also serves what
// they play: every chunk is what was decided, whatever happens meanwhile.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { Daemon, ROOT, distant } from './daemon.mjs';
import { ANSWER_MS, finish, sideBySide, test, until } from './harness.mjs';
import { liveMedia } from './live.mjs';
import { launch, stage } from './stage.mjs';

const CHUNKS = 15, CHUNK_S = 4, LADDER = [300, 750, 1200, 1850, 2850, 4300];
const MEDIA = path.join(ROOT, 'build/media');
const KINDS = {
    dashjs: { name: 'dash.js', sound: 'minute-av.mpd', other: 'minute-base.mpd', live: 'live.mpd' },
    hlsjs: { name: 'hls.js', sound: 'minute-av.m3u8', other: 'minute.m3u8', live: 'live.m3u8' },
    shaka: { name: 'Shaka', sound: 'minute-av.mpd', other: 'minute-base.mpd', live: 'live.mpd' },
};
const played = new Set(); // levels of all videos that were followed

const over = at => at.ended && at.seen.chunk.length >= CHUNKS;
const numbers = n => [...Array(n).keys()];

/** [chunk, kbps] of the video files that a viewer fetched, in order. */
function fetched(files) {
    return files.map(([name]) => /^(\d+)-(\d+)\.m4s$/.exec(name)).filter(Boolean)
        .map(m => [Number(m[2]) - 1, Number(m[1])]);
}

/** What the daemon wrote down of a session that is over. */
const history = (daemon, session) => until(async () => {
    const h = await daemon.get(`/v1/sessions/${session}`);
    return h.steps.at(-1)?.reported && h;
}, 'the last report');

/** All chunks, once each, at the level that was decided. The players do not abandon, since a slow machine makes them. */
async function followed(daemon, at, n = CHUNKS) {
    assert.equal(at.seen.session.length, 1, 'one session');
    const h = await history(daemon, at.seen.session[0].session);
    assert.deepEqual(at.seen.request.map(r => r.chunk), numbers(n));
    assert.ok(at.seen.request.every(r => r.by === 'abrd' && r.decided === r.level), JSON.stringify(at.seen.request));
    assert.equal(h.steps.length, n);
    assert.ok(h.steps.every(s => s.followed && s.reported && s.level === s.decided_level), JSON.stringify(h.steps));
    assert.deepEqual(h.steps.map(s => s.level), at.seen.request.map(r => r.level));
    assert.equal(h.terminal, true);
    for (const { level } of h.steps) played.add(level);
    return h;
}

async function playTest(browser, daemon, kind) {
    const { name, sound } = KINDS[kind];
    await test(`${name}: every chunk follows, beside sound; stalls are what the picture did`, async () => {
        const s = await stage(browser, daemon, kind);
        // twelve times as fast, so that this link is too thin
        await s.begin(kind, 0, 'high-4g', sound,
            { rate: 12, timeoutMs: ANSWER_MS, abandon: false, profile: 'live', contentId: 'demo' });
        const at = await s.when(0, over, 'the end');
        const h = await followed(daemon, at);
        assert.deepEqual([h.profile, h.content_id, h.chunks], ['live', 'demo', CHUNKS]);

        const files = fetched(s.files[0]);
        assert.deepEqual(files.map(f => f[0]), numbers(CHUNKS));
        assert.deepEqual(files.map(f => f[1]), h.steps.map(x => LADDER[x.level]));
        // the daemon keeps what the sound leaves for the video
        assert.deepEqual(at.seen.chunk.map(c => c.bytes), files.map(([, rate], i) => fs.statSync(path.join(MEDIA, `${rate}-${i + 1}.m4s`)).size));
        assert.deepEqual(h.steps.map(x => x.download_s), at.seen.chunk.map(c => c.download_s));
        assert.equal(s.files[0].filter(([f]) => /^audio-\d+\.m4s$/.test(f)).length >= CHUNKS, true);

        // every stall up to the last chunk was reported, nothing else
        const end = at.seen.chunk.at(-1).at;
        const seen = at.stalls.map(x => Math.min(x.to ?? end, end) - x.from).filter(d => d >= .1)
            .reduce((a, b) => a + b, 0);
        const told = h.steps.slice(1).reduce((sum, x) => sum + x.rebuffer_s, 0);
        assert.ok(h.steps[0].rebuffer_s >= h.steps[0].download_s, 'the start');
        assert.ok(seen > 0 && told > 0, `stalls ${seen} ${told}`);
        assert.ok(Math.abs(seen - told) < .1 + .05 * seen, `${seen} s seen, ${told} s told`);
        assert.deepEqual(s.errors, []);
        await s.close();
    });
}

async function twoTest(browser, daemon, kind) {
    const { name, sound, other } = KINDS[kind];
    await test(`${name}: two players on one page, the other one on ${other}`, async () => {
        const s = await stage(browser, daemon, kind);
        const options = { rate: 8, timeoutMs: ANSWER_MS, abandon: false };
        await s.begin(kind, 0, 'unlimited', sound, { ...options, profile: 'news' });
        await s.begin(kind, 1, 'unlimited', other, options);
        const [a, b] = [await s.when(0, over, 'the end'), await s.when(1, over, 'the other end')];
        const [h, k] = [await followed(daemon, a), await followed(daemon, b)];
        assert.deepEqual([h.profile, k.profile], ['news', 'documentary']); // the manifest's hint
        assert.notEqual(a.seen.session[0].session, b.seen.session[0].session);
        // with SegmentBase too every length and size is what the file's index says
        if (other === 'minute-base.mpd') {
            assert.deepEqual(k.ladder_kbps, [300, 750, 1200]);
            const parts = s.files[1].filter(([f, range]) => /^minute-\d+\.mp4$/.test(f) && range);
            for (const { chunk, level, bytes } of b.seen.chunk) {
                const want = parts.filter(([f]) => f === `minute-${k.ladder_kbps[level]}.mp4`)
                    .map(([, range]) => /(\d+)-(\d+)/.exec(range)).map(m => m[2] - m[1] + 1);
                assert.ok(want.includes(bytes), `chunk ${chunk}: ${bytes} is no part of ${want}`);
            }
        }
        assert.deepEqual(s.errors, []);
        await s.close();
    });
}

/** A daemon a quarter of a second away, so that every question is pending for a while. */
async function pendingTest(browser, daemon, kind) {
    const { name, sound } = KINDS[kind];
    await test(`${name}: pause, resume and seek while an answer is pending`, async () => {
        const other = await new Daemon({ 'allow-origin': daemon.url, explore: 1 }).start();
        const proxy = await distant(other.url, 250);
        const s = await stage(browser, daemon, kind);
        try {
            await s.begin(kind, 0, 'unlimited', sound, { rate: 6, timeoutMs: ANSWER_MS, server: proxy.url,
                deeds: [[2, 'pause'], [3, 'play'], [5, 44.5]] }); // to chunk 11
            const at = await s.when(0, a => a.ended, 'the end');
            for (const n of [3, 4])
                assert.ok(at.seen.decision.some(d => d.chunk === n && d.latency_s >= .2), JSON.stringify(at.seen));

            const asked = at.seen.request.map(r => r.chunk);
            // Shaka begins a chunk before
            const before = at.seen.request.filter(r => r.chunk < 10), after = at.seen.request.filter(r => r.chunk >= 10);
            assert.ok(before.every(r => r.by === 'abrd'), JSON.stringify(before));
            assert.deepEqual(numbers(6), asked.slice(0, 6));
            assert.ok(!asked.some(n => n > 6 && n < 10), `skipped chunks were fetched: ${asked}`);
            assert.ok(asked.includes(14));
            // what was under way at the seek, and the first chunk there, may be the player's; no other.
            // The player's own rules may give that chunk up and fetch it again at another level.
            assert.ok(after.filter(r => r.chunk !== after[0].chunk).every(r => r.by === 'abrd'),
                JSON.stringify(at.seen.request));
            assert.deepEqual(s.errors, []);
        } finally {
            await s.close();
            await proxy.stop();
            await other.stop();
        }
    });
}

async function deathTest(browser, daemon, kind) {
    const { name, sound } = KINDS[kind];
    await test(`${name}: the daemon dies and returns`, async () => {
        const other = await new Daemon({ 'allow-origin': daemon.url, explore: 1 }, { stored: true }).start();
        const s = await stage(browser, daemon, kind);
        try {
            // paused while the daemon ends and begins: with a full buffer chunks remain, however long that takes
            await s.begin(kind, 0, 'unlimited', sound, { rate: 2, timeoutMs: ANSWER_MS, server: other.url, deeds: [[3, 'pause']] });
            await s.when(0, a => a.paused && a.seen.chunk.length >= 4, 'four chunks');
            await other.kill();
            await s.page.evaluate(() => window.stage.pauseAt(0, 2));
            const gone = await s.when(0, a => a.paused && a.state.mode === 'player', 'two chunks by the player\'s own rules');
            assert.match(gone.state.reason, /does not answer/);
            await other.start();
            await s.page.evaluate(() => { window.stage.runs[0].video.play(); });
            await s.when(0, a => a.state.mode === 'abrd', 'the daemon to decide again');
            const at = await s.when(0, over, 'the end');

            const by = at.seen.request.map(r => r.by), first = by.indexOf('player'), last = by.lastIndexOf('player');
            assert.deepEqual([...new Set(at.seen.request.map(r => r.chunk))], numbers(CHUNKS));
            assert.ok(first >= 4 && last - first >= 2 && last < by.length - 1, by.join(' '));
            assert.ok(by.slice(first, last + 1).every(b => b === 'player'), by.join(' '));
            const h = await history(other, at.seen.session.at(-1).session);
            for (const r of at.seen.request.slice(last + 1)) {
                const x = h.steps.findLast(y => y.chunk === r.chunk);
                assert.deepEqual([x.level, x.followed], [r.level, true]);
            }
            assert.deepEqual(s.errors, []);
        } finally {
            await s.close();
            await other.stop();
        }
    });
}

/**
 * The level that was decided for a chunk does not have it: hls.js and Shaka turn to another level. dash.js
 * looks for another place of the same, with or without the plugin.
 */
async function missingTest(browser, daemon, kind) {
    const { name, sound } = KINDS[kind];
    const n = 4;
    await test(`${name}: a chunk that the decided level lacks is played at another`, async () => {
        const s = await stage(browser, daemon, kind);
        let missing, asked = 0;
        await s.page.route(new RegExp(`/\\d+-${n + 1}\\.m4s$`), (route, q) => {
            missing ??= q.url();
            if (q.url() !== missing) return route.fallback();
            asked++;
            return route.fulfill({ status: 404 });
        });
        await s.begin(kind, 0, 'unlimited', sound, { rate: 6, timeoutMs: ANSWER_MS });
        const at = await s.when(0, a => over(a) || asked > 9, 'the end');
        assert.ok(asked <= 9, `${missing} was asked for ${asked} times`);
        const [first, ...more] = at.seen.request.filter(r => r.chunk === n);
        assert.equal(first.by, 'abrd');
        assert.ok(more.length && more.at(-1).level !== first.level, JSON.stringify(at.seen.request));
        // what comes after it is decided again, though Shaka shuts the level out for a while
        assert.ok(at.seen.request.filter(r => r.chunk > n).every(r => r.by === 'abrd' || r.decided === first.level),
            JSON.stringify(at.seen.request));
        assert.deepEqual(at.seen.chunk.map(c => c.chunk), numbers(CHUNKS));
        assert.equal(at.seen.session.length, 1);
        assert.deepEqual(s.errors, []);
        await s.close();
    });
}

/** The first level that is decided and not loaded yet has no playlist. */
async function unlistedTest(browser, daemon) {
    await test('hls.js: a decided level whose playlist is missing is left for another', async () => {
        const s = await stage(browser, daemon, 'hlsjs');
        const lists = [];
        await s.page.route(/\/minute-\d+\.m3u8$/, (route, q) => {
            lists.push(q.url());
            // the first one is hls.js's choice, as nothing can be decided before
            const missing = lists.find(url => url !== lists[0]);
            return q.url() === missing ? route.fulfill({ status: 404 }) : route.fallback();
        });
        await s.begin('hlsjs', 0, 'unlimited', KINDS.hlsjs.sound, { rate: 6, timeoutMs: ANSWER_MS });
        const at = await s.when(0, a => over(a) || lists.length > 40, 'the end');
        const missing = lists.find(url => url !== lists[0]);
        assert.ok(missing, 'only one level was decided');
        // it may be decided anew for every chunk
        const asked = lists.filter(url => url === missing).length;
        assert.ok(asked <= CHUNKS, `${missing} was asked for ${asked} times`);
        assert.deepEqual(at.seen.chunk.map(c => c.chunk), numbers(CHUNKS));
        assert.ok(at.seen.request.some(r => r.by === 'player' && missing.endsWith(`-${LADDER[r.decided]}.m3u8`)),
            JSON.stringify(at.seen.request));
        assert.deepEqual(s.errors, []);
        await s.close();
    });
}

/** hls.js goes to where it shall start only when the first fragment is in the buffer. */
async function startTest(browser, daemon) {
    await test('hls.js: started in the middle, it holds what lies after that', async () => {
        const s = await stage(browser, daemon, 'hlsjs');
        const settings = { startPosition: 5 * CHUNK_S + 1 };
        await s.begin('hlsjs', 0, 'unlimited', KINDS.hlsjs.sound, { timeoutMs: ANSWER_MS, settings });
        const at = await s.when(0, a => a.seen.request.length > 1, 'the second chunk');
        const [{ chunk, buffer_s }] = at.seen.chunk;
        assert.equal(chunk, 5);
        assert.ok(Math.abs(buffer_s - (CHUNK_S - 1)) < .1, `${buffer_s} s`);
        assert.deepEqual(s.errors, []);
        await s.close();
    });
}

/** live.mpd for one player, who is told with patches what has changed. Returns how many they were. */
async function patches(page, dir) {
    const NAME = 'patched.mpd', read = () => fs.readFileSync(path.join(dir, 'live.mpd'), 'utf8');
    let published, n = 0;
    await page.route(`**/${NAME}`, route => {
        [, published] = /publishTime="([^"]+)"/.exec(read());
        return route.fulfill({ contentType: 'application/dash+xml', body: read().replace('<MPD ', '<MPD id="live" ')
            .replace('<Period', '<PatchLocation>live.mpp</PatchLocation><Period') });
    });
    await page.route('**/live.mpp', route => {
        const before = published, [, r] = / r="(\d+)"/.exec(read());
        published = new Date().toISOString();
        n++;
        const change = (what, to) => `<replace sel="/MPD/${what}">${to}</replace>`;
        return route.fulfill({ contentType: 'application/dash-patch+xml', body: '<?xml version="1.0"?>' +
            `<Patch xmlns="urn:mpeg:dash:schema:mpd-patch:2020" mpdId="live" originalPublishTime="${before}" ` +
            `publishTime="${published}">${change('@publishTime', published)}` +
            `${change('Period[1]/AdaptationSet[1]/SegmentTemplate[1]/SegmentTimeline[1]/S[1]/@r', r)}</Patch>` });
    });
    return { name: NAME, get n() { return n; } };
}

/** All three at once, on one page, at a stream that grows meanwhile; dash.js a second time, with patches. */
async function liveTest(browser) {
    await test('live: four players follow a stream that grows', async () => {
        const media = liveMedia(MEDIA);
        const daemon = await new Daemon({ explore: 1, 'media-dir': media.dir }).start();
        const s = await stage(browser, daemon, ...Object.keys(KINDS));
        try {
            const patched = await patches(s.page, media.dir);
            const players = [...Object.entries(KINDS).map(([kind, { live }]) => [kind, live]), ['dashjs', patched.name]];
            for (const [i, [kind, file]] of players.entries())
                await s.begin(kind, i, 'unlimited', file, { timeoutMs: ANSWER_MS, profile: 'live' });
            const had = media.chunks();
            for (const [i, [kind]] of players.entries()) {
                const at = await s.when(i, a => a.seen.chunk.length >= 5 && a.t > 0 &&
                    fetched(s.files[i]).some(f => f[0] >= had), `${kind}: chunks that were not there at first`);
                assert.equal(at.seen.session.length, 1, kind);
                assert.equal(at.seen.session[0].chunks, 0);
                const told = `${kind}: ${JSON.stringify([at.seen.request, fetched(s.files[i])])}`;
                const later = at.seen.request.filter(r => r.chunk > 0);
                assert.deepEqual([0, ...later.map(r => r.chunk)], numbers(later.length + 1), told);
                // where it comes in only the player knows: its first chunk may be its own choice, even twice
                assert.ok(later.every(r => r.by === 'abrd'), told);
                const { steps } = await daemon.get(`/v1/sessions/${at.seen.session[0].session}`);
                assert.ok(steps.filter(x => x.reported).slice(1).every(x => x.followed), kind);
            }
            assert.ok(patched.n > 1, `${patched.n} patches`);
            assert.equal(s.files[3].filter(([f]) => f === patched.name).length, 1, 'a patch was not taken');
            assert.deepEqual(s.errors, []);
        } finally {
            await s.close();
            await daemon.stop();
            media.stop();
        }
    });
}

const daemon = await new Daemon({ explore: 1 }).start();
const browser = await launch();
const wanted = Object.keys(KINDS).filter(k => (process.env.ONLY ?? k) === k); // or "live"
try {
    // stalls are measured in these: each has the machine for itself
    for (const kind of wanted) await playTest(browser, daemon, kind);
    await sideBySide(wanted.flatMap(kind => [
        () => deathTest(browser, daemon, kind),
        () => pendingTest(browser, daemon, kind),
        () => twoTest(browser, daemon, kind),
        ...(kind === 'dashjs' ? [] : [() => missingTest(browser, daemon, kind)]),
        ...(kind === 'hlsjs' ? [() => unlistedTest(browser, daemon), () => startTest(browser, daemon)] : []),
    ]));
    if (wanted.length)
        await test('what was followed had several levels', () => { assert.ok(played.size > 1, `only ${[...played]}`); });
    if ((process.env.ONLY ?? 'live') === 'live') await liveTest(browser);
} finally {
    await browser.close();
    await daemon.stop();
}
finish();

// plugin.mjs - the plugin without a browser: fake player, mock daemon over real HTTP.
import assert from 'node:assert/strict';
import http from 'node:http';

import { DOMParser, FakePlayer, manifest } from './fake.mjs';
import { test, until } from './harness.mjs';
import { Mock } from './mock.mjs';
import { attach } from '../../web/dashjs.js';
import { durationS, readManifest } from '../../web/lib/manifest.js';
import { linkMemory } from '../../web/lib/memory.js';
import { readHint, readPlaylist } from '../../web/lib/playlist.js';
import { fetchIndexes, readIndex } from '../../web/lib/sidx.js';
import { StallClock } from '../../web/lib/stall.js';

globalThis.DOMParser = DOMParser;

/** One player on one mock: {player, mock, abrd, seen: events by name}. */
async function setting(periods, options = {}, mpd = {}) {
    const mock = await new Mock().start();
    const player = new FakePlayer(periods);
    const abrd = attach(player, { server: mock.url, timeoutMs: 5000, ...options }); // a busy machine decides nothing
    const seen = {};
    for (const event of ['session', 'decision', 'request', 'chunk', 'report', 'state', 'error']) {
        seen[event] = [];
        abrd.on(event, data => seen[event].push(data));
    }
    const s = { mock, player, abrd, seen, text: manifest(periods, mpd) };
    s.close = async () => { abrd.detach(); await mock.stop(); };
    return s;
}

async function pluginTest(name, periods, options, body, mpd) {
    await test(`plugin: ${name}`, async () => {
        const s = await setting(periods, options, mpd);
        try { await body(s); } finally { await s.close(); }
    });
}

/** Runs body on a page where one failed request is no reason to spare the next. */
async function withoutPause(body) {
    const { random } = Math;
    Math.random = () => 1;
    try { await body(); } finally { Math.random = random; }
}

const answers = [() => new Promise(() => {}), () => { throw new Error('page'); }, async () => 7, () => null, () => 'high'];

export async function pluginTests() {
    await test('manifest: durations', () => {
        assert.equal(durationS('PT1H2M3.5S'), 3723.5);
        assert.equal(durationS('P1DT2S'), 86402);
        assert.equal(durationS('P0Y0M0DT0H3M30.000S'), 210); // as Bitmovin's encoder writes it
        for (const bad of ['2 minutes', 'P1Y', 'P1M', null]) assert.ok(isNaN(durationS(bad)));
    });

    await test('manifest: ladder, chunks, sizes, hint', () => {
        const m = readManifest(manifest([{
            kbps: [1200, 300, 300, 750], chunks: 3, hint: 'news',
            sizes: [[7, 8, 9], [1, 2, 3], [1, 2, 3], [4, 5, 6]],
        }]));
        assert.equal(m.live, false);
        assert.equal(m.durationS, 12);
        assert.deepEqual(m.periods, [{
            id: 'defaultId_0', chunkS: 4, chunks: 3, profile: 'news', sound: [],
            levels: [[300, [1, 2, 3]], [750, [4, 5, 6]], [1200, [7, 8, 9]]]
                .map(([kbps, sizes]) => ({ kbps, sizes, quality: null, height: null, index: null })),
        }]);
        assert.deepEqual(readManifest('<html></html>').periods, []);
        assert.deepEqual(readManifest('').periods, []);
    });

    await test('manifest: quality and height', () => {
        const of = more => readManifest(manifest([{ kbps: [300, 750], ...more }])).periods[0].levels
            .map(l => [l.quality, l.height]);
        assert.deepEqual(of({ quality: [41.5, 80], height: [240, 480] }), [[[41.5], 240], [[80], 480]]);
        assert.deepEqual(of({ quality: [[40, 42.5], [79, 0]] }), [[[40, 42.5], null], [[79, 0], null]]);
        assert.deepEqual(of({ quality: [101, -1] }), [[null, null], [null, null]]);
        assert.deepEqual(of({ quality: ['40 x', 'good'] }), [[null, null], [null, null]]);
        const set = '<MPD mediaPresentationDuration="PT8S"><Period><AdaptationSet mimeType="video/mp4" height="360">' +
            '<Representation bandwidth="1000"/></AdaptationSet></Period></MPD>';
        assert.equal(readManifest(set).periods[0].levels[0].height, 360);
        const wide = (width, height) => readManifest(set.replace('"360"', `"${height}" width="${width}"`)).periods[0].levels[0].height;
        // as src/abr/emulator/quality.h: the width of a wide picture fills the screen, an upright one an upright screen
        assert.deepEqual([wide(1280, 536), wide(1280, 720), wide(640, 480), wide(720, 1280), wide(0, 360)], [720, 720, 480, 720, 360]);
    });

    await test('manifest: timeline, live, SegmentBase', () => {
        const mpd = (template, type = 'static') =>
            `<MPD type="${type}" mediaPresentationDuration="PT20S"><Period><AdaptationSet mimeType="video/mp4">` +
            `<Representation bandwidth="1000">${template}</Representation></AdaptationSet></Period></MPD>`;
        const timeline = r => `<SegmentTemplate timescale="10"><SegmentTimeline><S d="40"${r}/></SegmentTimeline></SegmentTemplate>`;
        const of = (...a) => { const [p] = readManifest(mpd(...a)).periods; return [p.chunkS, p.chunks]; };
        assert.deepEqual(of(timeline(' r="4"')), [4, 5]);
        assert.deepEqual(of(timeline(' r="-1"')), [4, 5]);
        assert.deepEqual(of(timeline('')), [4, 1]);
        assert.deepEqual(of(timeline(' r="4"'), 'dynamic'), [4, 0]);
        assert.deepEqual(of('<SegmentTemplate duration="3"/>'), [3, 7]);
        assert.deepEqual(of('<SegmentBase indexRange="0-9"/>'), [null, 0]);
        // a chunk of another length: at the beginning, before the rest of the period, among very many
        const runs = s => `<SegmentTemplate timescale="10"><SegmentTimeline>${s}</SegmentTimeline></SegmentTemplate>`;
        assert.deepEqual(of(runs('<S d="20"/><S d="60" r="2"/>')), [6, 4]);
        assert.deepEqual(of(runs('<S d="20"/><S d="60" r="-1"/>')), [6, 4]);
        assert.deepEqual(of(runs('<S d="20"/><S d="60" r="999999999"/>')), [6, 1e9 + 1]);
        assert.deepEqual(of(runs('')), [null, 0]);
    });

    await test('manifest: where a SegmentBase has its index', () => {
        const of = (base, inside) => readManifest('<MPD mediaPresentationDuration="PT20S">' +
            `<BaseURL>/films/</BaseURL><Period><AdaptationSet mimeType="video/mp4"><Representation bandwidth="1000">${inside}` +
            '</Representation></AdaptationSet></Period></MPD>', base).periods[0].levels[0].index;
        const own = '<BaseURL>a.mp4</BaseURL><SegmentBase indexRange="800-899"/>';
        assert.deepEqual(of('https://example.org/x/y.mpd', own),
            { url: 'https://example.org/films/a.mp4', range: '800-899' });
        assert.equal(of('https://example.org/x/y.mpd', '<BaseURL>a.mp4</BaseURL>'), null);
        assert.equal(of(undefined, own), null);

        // an address relative to the page, as players are given it; one that is none costs only itself
        globalThis.location = { href: 'https://example.org/page/' };
        try {
            assert.equal(of('x/y.mpd', own).url, 'https://example.org/films/a.mp4');
            assert.equal(of('y.mpd', own.replace('a.mp4', 'http://[')), null);
        } finally {
            delete globalThis.location;
        }
    });

    await test('playlist: chunks, live, hint', () => {
        const media = end => `#EXTM3U\n#EXT-X-MAP:URI="a"\n#EXTINF:3.84,\na-1.m4s\r\n#EXTINF:4,x\na-2.m4s\n${end}`;
        assert.deepEqual(readPlaylist(media('#EXT-X-ENDLIST')), { chunkS: 3.84, chunks: 2, live: false });
        assert.deepEqual(readPlaylist(media('')), { chunkS: 3.84, chunks: 0, live: true });
        assert.equal(readPlaylist('').chunkS, null);
        assert.equal(readPlaylist(`#EXTM3U\n${[0.4, 6, 6].map(s => `#EXTINF:${s},\na.m4s\n`).join('')}`).chunkS, 6);
        const hint = '#EXT-X-SESSION-DATA:DATA-ID="urn:abrd:qoe-profile",VALUE="news"';
        assert.equal(readHint(`#EXTM3U\n#EXT-X-SESSION-DATA:DATA-ID="x",VALUE="live"\n${hint}\n`), 'news');
        assert.equal(readHint('#EXT-X-SESSION-DATA:VALUE="live",DATA-ID="urn:abrd:qoe-profile"'), 'live');
        assert.equal(readHint('#EXTM3U\n#EXT-X-SESSION-DATA:DATA-ID="x",VALUE="live"'), null);
    });

    await test('sidx: lengths and sizes; anything else is none', () => {
        const index = (sizes, version = 0) => {
            const head = version ? 40 : 32, v = new DataView(new ArrayBuffer(head + 12 * sizes.length));
            v.setUint32(0, v.byteLength);
            v.setUint32(4, 0x73696478);
            v.setUint8(8, version);
            v.setUint32(16, 12288);
            v.setUint16(head - 2, sizes.length);
            sizes.forEach((n, i) => {
                v.setUint32(head + 12 * i, n);
                v.setUint32(head + 12 * i + 4, 24576);
            });
            return v.buffer;
        };
        for (const version of [0, 1])
            assert.deepEqual(readIndex(index([700, 900, 800], version)), { chunkS: 2, sizes: [700, 900, 800] });
        assert.equal(readIndex(index([])), null);
        assert.equal(readIndex(index([700, 900]).slice(0, 50)), null); // cut
        assert.equal(readIndex(index([2 ** 31 + 700])), null);         // another index
        assert.throws(() => readIndex(new ArrayBuffer(7)), RangeError);
        assert.equal(readIndex(new ArrayBuffer(700)), null);
    });

    await test('sidx: what cannot be fetched stays unknown', async () => {
        const track = { levels: [{ kbps: 300, sizes: null, index: { url: 'http://127.0.0.1:1/a', range: '0-9' } }],
            chunkS: null, chunks: 0 };
        await fetchIndexes(track, new AbortController().signal);
        assert.deepEqual([track.chunkS, track.chunks, track.levels[0].sizes], [null, 0, null]);
    });

    await test('sidx: a level without an index is passed over', async () => {
        const track = { levels: [{ kbps: 300, sizes: null, index: null }], chunkS: null, chunks: 0 };
        await fetchIndexes(track, new AbortController().signal);
        assert.equal(track.levels[0].sizes, null);
    });

    await test('link memory: a record of the page\'s storage, and none where the browser forbids it', () => {
        const kept = {}, storage = { getItem: k => kept[k] ?? null, setItem: (k, v) => { kept[k] = v; }, removeItem: k => { delete kept[k]; } };
        const rates = memory => {
            for (let i = 0; i < 4; i++) memory.note({ bytes: 125e3, download_s: 1 });
            return memory.link().map(l => l.bytes / 125 / l.download_s);
        };
        const own = Object.getOwnPropertyDescriptor(globalThis, 'localStorage');
        const page = get => Object.defineProperty(globalThis, 'localStorage', { configurable: true, get });
        try {
            page(() => storage);
            assert.deepEqual(rates(linkMemory()), [1000]);
            linkMemory().forget();
            assert.deepEqual(kept, {});
            page(() => { throw new Error('access is denied'); });
            assert.deepEqual(rates(linkMemory()), []);
            linkMemory().forget();
            assert.deepEqual(rates(linkMemory({ storage })), [1000]);
        } finally {
            Reflect.deleteProperty(globalThis, 'localStorage');
            if (own) Object.defineProperty(globalThis, 'localStorage', own);
        }
    });

    await test('stalls: threshold, attribution, seeks and pauses', () => {
        const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-9, `${a} is not ${b}`);
        const c = new StallClock();
        c.waiting(0); c.playing(3);           // startup is no stall
        near(c.take(3), 0);
        c.waiting(4); c.playing(4.09);        // too short
        near(c.take(5), 0);
        c.waiting(5); c.playing(5.5);
        near(c.take(6), 0.5);
        near(c.take(6), 0);
        c.waiting(7); near(c.take(7.05), 0);  // not yet known to be one
        near(c.take(8), 1);                   // then from its beginning
        c.playing(8.02); near(c.take(9), 0.02);
        c.waiting(10); c.seeking(10.5); c.waiting(10.6); c.playing(12);
        near(c.take(13), 0.5);                // what a seek takes is no stall
        c.waiting(14); c.paused(14.2); c.playing(20);
        near(c.take(21), 0.2);
    });

    await pluginTest('follows every decision and reports every chunk', [{ hint: 'news' }],
        { contentId: 'film', timeoutMs: 2000 }, async ({ mock, player, abrd, seen, text }) => {
            await player.load(text);
            const levels = [];
            for (let i = 0; i < 10; i++) levels.push(await player.chunk(i));
            assert.deepEqual(levels, [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]);
            assert.ok(seen.request.every(r => r.by === 'abrd' && r.decided === r.level));
            assert.equal(abrd.state.mode, 'abrd');
            assert.equal(abrd.state.profile, 'news');
            await until(() => seen.report.length, 'the report');

            const [s] = [...mock.sessions.values()];
            assert.equal(mock.sessions.size, 1);
            assert.equal(s.profile, 'news');
            assert.equal(s.content_id, 'film');
            assert.deepEqual(s.ladder_kbps, [300, 750, 1200]);
            assert.deepEqual([s.chunk_s, s.chunks, s.buffer_max_s], [4, 10, 56]);
            assert.equal(s.final, true);
            assert.deepEqual(s.outcomes.map(o => o.chunk), [...Array(10).keys()]);
            assert.deepEqual(s.outcomes.map(o => o.level), levels);
            assert.deepEqual(seen.chunk.map(({ chunk, level, bytes, download_s, rebuffer_s }) =>
                ({ chunk, level, bytes, download_s, rebuffer_s })),
            s.outcomes.map(({ final: _, ...o }) => o));
            assert.deepEqual(mock.of('/decisions').map(d => d.chunk), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
            assert.ok(mock.requests.every(q => q.type.startsWith('text/plain')));
        });

    /** Plays all chunks of an observed player, which keeps to `own`; the daemon answers only afterwards. */
    const watched = async ({ mock, player, abrd, seen, text }) => {
        let open;
        const before = structuredClone(player.settings);
        mock.gate = new Promise(done => { open = done; });
        await player.load(text);
        player.own = 2;
        const levels = [];
        for (let i = 0; i < 4; i++) levels.push(await player.chunk(i));
        assert.deepEqual(levels, [2, 2, 2, 2]);
        assert.ok(seen.request.every(r => r.by === 'player'));
        assert.deepEqual([abrd.state.mode, abrd.state.reason], ['player', 'the daemon observes']);
        assert.deepEqual(player.settings, before);
        assert.equal(before.streaming.abr.rules.abandonRequestsRule.active, true); // attach() changed nothing
        open();
        await until(() => seen.report.length, 'the report');
        const [s] = [...mock.sessions.values()];
        assert.deepEqual(s.outcomes.map(o => [o.chunk, o.level]), [[0, 2], [1, 2], [2, 2], [3, 2]]);
        assert.equal(s.final, true);
        assert.deepEqual(mock.of('/decisions').map(d => d.chunk), [1, 2, 3]);
        return s;
    };
    await pluginTest('observe: the player keeps its rules, nothing is held, every chunk is reported',
        [{ chunks: 4 }], { mode: 'observe', viewer: 'anna', labels: { device: 'tv' }, timeoutMs: 1e6 }, async s => {
            const { mode, viewer, labels } = await watched(s);
            assert.deepEqual([mode, viewer, labels], ['observe', 'anna', { device: 'tv' }]);
        });

    await pluginTest('observe: as the daemon says, from its first answer on', [{ chunks: 4 }], {},
        async ({ mock, player, abrd, text }) => {
            mock.observe = true;
            await player.load(text); // held for the first answer
            player.own = 2;
            for (let i = 0; i < 4; i++) assert.equal(await player.chunk(i), 2);
            assert.equal(abrd.state.reason, 'the daemon observes');
            assert.equal(player.settings.streaming.abr.rules.abandonRequestsRule.active, true);
            const { fastSwitchEnabled, bufferTimeDefault } = player.settings.streaming.buffer;
            assert.deepEqual([fastSwitchEnabled, bufferTimeDefault], [null, 18]);
        });

    await pluginTest('observe: late reports of a period do not go to the session of the next one',
        [{ id: 'a', chunks: 3 }, { id: 'b', chunks: 2, kbps: [100, 200] }], { mode: 'observe' }, async ({ mock, player, seen, text }) => {
            let open;
            mock.gate = new Promise(done => { open = done; });
            await player.load(text);
            for (let i = 0; i < 3; i++) await player.chunk(i);
            for (let i = 0; i < 2; i++) await player.chunk(i, { period: 1 });
            open();
            await until(() => seen.report.length, 'the report');
            const [a, b] = mock.sessions.values();
            assert.deepEqual([a.outcomes, b.ladder_kbps], [[], [100, 200]]);
            assert.deepEqual(mock.of('/decisions').map(d => d.chunk), [1]);
            assert.deepEqual(b.outcomes.map(o => o.chunk), [0, 1]);
            assert.deepEqual(seen.error, []);
        });

    await pluginTest('the option goes before the hint; own weights', [{ hint: 'news' }],
        { profile: { mu: [1, 2, 3], utility: 'log' } }, async ({ mock, player, text }) => {
            await player.load(text);
            const [{ profile, mu, utility }] = mock.of('/sessions');
            assert.deepEqual([profile, mu, utility], [undefined, [1, 2, 3], 'log']);
        });

    await pluginTest('named weights go before the hint and the profile', [{ hint: 'news' }],
        { profile: 'live', weights: { stalls: 2 } }, async ({ mock, player, text }) => {
            await player.load(text);
            const [{ profile, weights }] = mock.of('/sessions');
            assert.deepEqual([profile, weights], [undefined, { stalls: 2 }]);
        });

    const chunked = [{ chunks: 3, quality: [[40, 50, 60], [70, 75, 80], [90, 92, 94]], height: [240, 480, 720] }];
    const nextOf = mock => [...mock.of('/sessions'), ...mock.of('/decisions')].map(b => b.next_quality);
    await pluginTest('quality and heights, where the manifest has them', chunked, {}, async ({ mock, player, text }) => {
        await player.load(text);
        for (let i = 0; i < 3; i++) await player.chunk(i);
        const [{ quality, height }] = mock.of('/sessions');
        assert.deepEqual([quality, height], [[50, 75, 92], [240, 480, 720]]); // means of the chunks
        assert.deepEqual(nextOf(mock), [[40, 70, 90], [50, 75, 92], [60, 80, 94]]);
    });

    await pluginTest('one number counts for all chunks of a level', [{ quality: [40, 70, 90] }], {},
        async ({ mock, player, text }) => {
            await player.load(text);
            await player.chunk(0);
            const [{ quality, height }] = mock.of('/sessions');
            assert.deepEqual([quality, height], [[40, 70, 90], undefined]);
            assert.deepEqual(nextOf(mock), [undefined, undefined]);
        });

    await pluginTest('the quality of one level alone is none', [{ quality: [40, 'x', 90] }], {},
        async ({ mock, player, text }) => {
            await player.load(text);
            assert.equal(mock.of('/sessions')[0].quality, undefined);
        });

    await pluginTest('the page\'s own quality, by level', chunked, { quality: [10, 20, 30] }, async ({ mock, player, text }) => {
        await player.load(text);
        assert.deepEqual(mock.of('/sessions')[0].quality, [10, 20, 30]);
    });

    await pluginTest('the page\'s own quality, by chunk', [{ chunks: 4 }], {
        quality: (chunk, ladder) => (chunk === 1 ? null : ladder.map(kbps => chunk + kbps / 100)),
    }, async ({ mock, player, text }) => {
        await player.load(text);
        for (let i = 0; i < 4; i++) await player.chunk(i);
        assert.equal(mock.of('/sessions')[0].quality, undefined);
        assert.deepEqual(nextOf(mock), [[3, 7.5, 12], undefined, [5, 9.5, 14], [6, 10.5, 15]]);
    });

    await pluginTest('a quality that the daemon refuses is left out', chunked, {}, async ({ mock, player, seen, text }) => {
        mock.poor = true;
        await player.load(text);
        for (let i = 0; i < 3; i++) await player.chunk(i);
        assert.deepEqual(seen.request.map(r => r.by), ['abrd', 'abrd', 'abrd']);
        assert.deepEqual(seen.error.map(e => e.field), ['quality']);
        assert.deepEqual(mock.of('/sessions').map(b => !!b.quality), [true, false]);
    });

    await pluginTest('the quality of a chunk that the daemon refuses is left out', [{ chunks: 3 }],
        { quality: chunk => chunk && [1, 2] }, async ({ mock, player, seen, text }) => {
            mock.poor = true;
            await player.load(text);
            for (let i = 0; i < 3; i++) await player.chunk(i);
            assert.deepEqual(seen.request.map(r => r.by), ['abrd', 'abrd', 'abrd']);
            assert.deepEqual(seen.error.map(e => e.field), ['next_quality']);
            assert.deepEqual(mock.of('/decisions').map(b => !!b.next_quality), [true, false, false]);
        });

    await pluginTest('an unknown name in the manifest is only a hint', [{ hint: 'unknown' }], {},
        async ({ mock, player, seen, text }) => {
            await player.load(text);
            assert.equal(await player.chunk(0), 0);
            assert.equal(seen.request[0].by, 'abrd');
            assert.deepEqual(mock.of('/sessions').map(b => b.profile), ['unknown', undefined]);
            assert.equal(seen.error[0].field, 'profile');
        });

    await pluginTest('an unknown name in the option is said, and the player goes on', [{}],
        { profile: 'unknown' }, async ({ mock, player, abrd, text }) => {
            await player.load(text);
            player.own = 2;
            assert.equal(await player.chunk(0), 2);
            assert.equal(await player.chunk(1), 2);
            assert.equal(abrd.state.mode, 'player');
            assert.match(abrd.state.reason, /no profile "unknown"/);
            assert.equal(mock.requests.length, 1); // it does not ask again and again
        });

    await pluginTest('sizes of the next chunk, where the manifest has them',
        [{ chunks: 3, sizes: [[10, 20, 30], [11, 21, 31], [12, 22, 32]] }], {},
        async ({ mock, player, text }) => {
            await player.load(text);
            await player.chunk(0);
            assert.deepEqual(mock.of('/sessions')[0].next_bytes, [10, 11, 12]);
            assert.deepEqual(mock.of('/decisions')[0].next_bytes, [20, 21, 22]);
        });

    await pluginTest('the buffer is what it will be at the next request', [{ chunks: 30 }], { bufferS: null },
        async ({ mock, player, text }) => {
            await player.load(text);
            mock.pick = () => 1; // below the top: dash.js stops at 18 s
            player.video.currentTime = 0;
            for (let i = 0; i < 6; i++) await player.chunk(i);
            player.video.currentTime = 21;
            await player.chunk(6);
            const buffers = mock.of('/decisions').map(d => d.buffer_s);
            assert.deepEqual(buffers, [4, 8, 12, 14, 14, 14, 7]);
        });

    await pluginTest('a stall belongs to the chunk under way', [{}], {},
        async ({ player, seen, text }) => {
            await player.load(text);
            await player.chunk(0);
            player.trigger('playbackPlaying');
            const request = await player.request(1);
            const waited = performance.now();
            player.trigger('playbackWaiting');
            await new Promise(done => setTimeout(done, 150));
            const arrived = performance.now();
            await player.response(request, new ArrayBuffer(9));
            player.trigger('playbackPlaying');
            const played = performance.now();
            await player.chunk(2);
            const [a, b, c] = seen.chunk.map(o => o.rebuffer_s);
            assert.ok(a >= seen.chunk[0].download_s - 0.005, `${a}`); // the start
            assert.ok(b >= 0.14 && b <= (played - waited) / 1000 + 0.01, `${b}`);
            assert.ok(c <= (played - arrived) / 1000 + 0.01, `${c}`);
        });

    await pluginTest('the wait for the first chunk is reported with it, once for a source', [{ chunks: 2 }, { chunks: 2 }], {},
        async ({ player, mock, seen, text }) => {
            await player.load(text);
            const asked = performance.now(), request = await player.request(0);
            await new Promise(done => setTimeout(done, 150));
            player.trigger('playbackWaiting'); // nothing plays yet
            await player.response(request, new ArrayBuffer(9));
            const arrived = performance.now();
            await player.chunk(1);
            await player.chunk(0, { period: 1 }); // another session, no other start
            const [a, b, c] = seen.chunk.map(o => o.rebuffer_s);
            assert.ok(a >= 0.149 && a <= (arrived - asked) / 1000 + 0.001, `${a}`);
            assert.deepEqual([b, c], [0, 0]);
            assert.equal(mock.of('/decisions')[0].last.rebuffer_s, a);

            await player.load(text); // another source
            await player.chunk(0);
            assert.ok(seen.chunk.at(-1).rebuffer_s >= seen.chunk.at(-1).download_s);
        });

    await pluginTest('a session that opens after the first chunk still has the wait for it as its start', [{}], {},
        async ({ mock, player, text }) => {
            await withoutPause(async () => {
                mock.refuse = { status: 503, body: { error: 'unavailable', field: '', detail: 'full' } };
                await player.load(text);
                mock.refuse = null;
                await player.chunk(0);
            });
            mock.sessions.clear(); // the daemon loses it
            await player.chunk(1);
            assert.deepEqual(mock.of('/sessions').map(b => b.continues), [undefined, undefined, true]);
            assert.deepEqual(mock.of('/decisions').map(d => d.last.chunk), [0, 1, 1]);
        });

    await pluginTest('a first chunk that is under way is no chunk that the source has had', [{}], { timeoutMs: 300 },
        async ({ mock, player }) => {
            let refuse;
            const files = http.createServer((_, r) => { refuse = () => r.writeHead(404).end(); });
            await new Promise(done => files.listen(0, '127.0.0.1', done));
            try {
                await player.load('<MPD mediaPresentationDuration="PT40S"><Period id="defaultId_0"><AdaptationSet mimeType="video/mp4">' +
                    [300, 750, 1200].map(k => `<Representation bandwidth="${k}000"><BaseURL>a.mp4</BaseURL>` +
                    `${k > 300 ? '' : '<SegmentBase indexRange="0-9"/>'}</Representation>`).join('') +
                    '</AdaptationSet></Period></MPD>', `http://127.0.0.1:${files.address().port}/a.mpd`);
                await player.request(0);
                await until(() => refuse, 'the request for the index');
                refuse(); // it is late, and the player has not waited for it
                await until(() => mock.of('/sessions').length, 'the session');
                assert.equal(mock.of('/sessions')[0].continues, undefined);
            } finally {
                files.closeAllConnections();
                files.close();
            }
        });

    await pluginTest('a dead daemon: the player chooses, and the daemon comes back', [{ chunks: 20 }],
        {}, async s => {
            const { player, abrd, seen, text } = s;
            await player.load(text);
            for (let i = 0; i < 4; i++) await player.chunk(i);
            const { port } = s.mock;
            await s.mock.stop();
            player.own = 2;
            // chunk 4 was decided before the daemon died
            for (let i = 4; i < 8; i++) await player.chunk(i);
            assert.deepEqual(seen.request.slice(4).map(r => r.by), ['abrd', 'player', 'player', 'player']);
            assert.deepEqual(seen.request.slice(5).map(r => r.level), [2, 2, 2]);
            assert.equal(abrd.state.mode, 'player');
            assert.ok(seen.error.length >= 1);

            s.mock = await new Mock().start(port); // knows nothing of the session
            try {
                for (let i = 8; i < 13; i++) await player.chunk(i);
                // the question at chunk 8 may be spared (outage.mjs)
                const first = seen.request[9].by === 'abrd' ? 9 : 10;
                assert.ok(seen.request.slice(8).every(r => (r.by === 'abrd') === r.chunk >= first));
                assert.equal(seen.session.length, 2);
                assert.deepEqual(s.mock.of('/decisions').map(d => d.chunk),
                    [first, ...[9, 10, 11, 12, 13].filter(n => n >= first)]);
            } finally {
                abrd.detach();
                await s.mock.stop();
            }
        });

    await pluginTest('a slow daemon holds a chunk once, not always', [{ chunks: 20 }],
        { timeoutMs: 5000 }, async ({ mock, player, seen, text }) => {
            await player.load(text);
            await player.chunk(0);
            mock.delayMs = 60000;
            const timer = globalThis.setTimeout;
            let held = 0;
            globalThis.setTimeout = (f, ms, ...a) => { // the hold is counted, and is over at once
                held += ms === 5000;
                return timer(f, ms === 5000 ? 0 : ms, ...a);
            };
            try {
                for (let i = 1; i < 12; i++) await player.chunk(i);
            } finally {
                globalThis.setTimeout = timer;
            }
            assert.equal(held, 1);
            assert.ok(seen.request.slice(2).every(r => r.by === 'player'));
            mock.delayMs = 0;
            await player.chunk(12); // the question of chunk 11 has no answer yet: spared
            await player.chunk(13);
            await until(() => seen.decision.at(-1).chunk === 14, 'an answer in time');
            await player.chunk(14);
            await player.chunk(15);
            assert.deepEqual(seen.request.slice(-2).map(r => r.by), ['abrd', 'abrd']);
        });

    const local = { timeoutMs: 2000, fallback: async q => (q.chunk === 2 ? null : { level: q.chunk % 2 + 1, why: q }) };
    await pluginTest('without the daemon the page\'s own fallback decides', [{ chunks: 6, hint: 'news',
        sizes: [[1, 2, 3, 4, 5, 6], [2, 3, 4, 5, 6, 7], [3, 4, 5, 6, 7, 8]] }], local, async ({ mock, player, abrd, seen, text }) => {
        mock.refuse = { status: 503, body: { error: 'unavailable', field: '', detail: 'full' } };
        await player.load(text);
        const levels = [];
        for (let i = 0; i < 3; i++) levels.push(await player.chunk(i));
        assert.deepEqual(levels, [1, 2, 0]);
        assert.deepEqual(seen.request.map(r => r.by), ['local', 'local', 'player']);
        assert.match(abrd.state.reason, /full/);
        assert.deepEqual(seen.decision.map(d => d.mode), ['local', 'local', 'local']);
        const { throughput_kbps: rates, download_s: times, ...question } = seen.decision[1].why;
        assert.deepEqual(question, { profile: 'news', ladder_kbps: [300, 750, 1200], chunk_s: 4, chunks: 6,
            chunk: 1, buffer_s: 4, buffer_max_s: 56, next_bytes: [2, 3, 4], last_level: 1 });
        assert.deepEqual([rates.length, times.length], [1, 1]);
        assert.ok(rates[0] > 0 && times[0] > 0);

        mock.refuse = null;
        await player.chunk(3); // decided by the page, and the daemon is asked again here or at the next one
        await player.chunk(4);
        await player.chunk(5);
        const by = seen.request.slice(3).map(r => r.by);
        assert.deepEqual([by[0], by[2]], ['local', 'abrd']);
        assert.equal(abrd.state.reason, '');
    });

    await pluginTest('the page\'s own fallback is asked with the quality', chunked,
        { timeoutMs: 2000, fallback: q => ({ level: 1, why: q }) }, async ({ mock, player, seen, text }) => {
            mock.refuse = { status: 503, body: { error: 'unavailable', field: '', detail: 'full' } };
            await player.load(text);
            await player.chunk(0);
            const [, { why }] = seen.decision;
            assert.deepEqual([why.quality, why.next_quality, why.last_quality, why.height],
                [[50, 75, 92], [50, 75, 92], 70, [240, 480, 720]]);
        });

    await pluginTest('a period with another ladder: the page asks with the link of the one before, but without its level', [
        { id: 'a', chunks: 2, kbps: [300, 750, 1200, 1850, 2850, 4300] }, { id: 'b', chunks: 3, kbps: [100, 200, 400, 800] }],
    { fallback: q => ({ level: 3, why: q }) }, async ({ mock, player, seen, text }) => {
        mock.pick = () => 5;
        await player.load(text);
        await player.chunk(0);
        mock.refuse = { status: 503, body: { error: 'unavailable', field: '', detail: 'full' } };
        await player.chunk(1);
        for (let i = 0; i < 3; i++) await player.chunk(i, { period: 1 });
        const asked = seen.decision.filter(d => d.mode === 'local' && d.why.ladder_kbps.length === 4).map(d => d.why);
        // as the daemon, whose session begins there
        assert.deepEqual(asked.map(q => [q.chunk, q.last_level, q.throughput_kbps.length, q.download_s.length]),
            [[0, -1, 2, 2], [1, 3, 3, 3], [2, 3, 4, 4]]);
        assert.deepEqual(seen.request.slice(2).map(r => r.by), ['local', 'local', 'local']);
    });

    await pluginTest('a fallback that is late, throws or names no level is none', [{}],
        { timeoutMs: 40, fallback: () => answers.shift()() }, async ({ mock, player, seen, text }) => {
            const silent = console.error;
            console.error = () => {};
            try {
                mock.refuse = { status: 503, body: { error: 'unavailable', field: '', detail: '' } };
                player.own = 2;
                await player.load(text);
                for (let i = 0; i < 4; i++) assert.equal(await player.chunk(i), 2);
            } finally {
                console.error = silent;
            }
            assert.ok(seen.request.every(r => r.by === 'player'));
            assert.deepEqual(answers, []); // each was asked for
        });

    await pluginTest('a slow index of the video is not the daemon\'s slowness', [{}], { timeoutMs: 500 },
        async ({ mock, player, abrd, seen }) => {
            const files = http.createServer(() => {}); // never answers
            await new Promise(done => files.listen(0, '127.0.0.1', done));
            const base = `http://127.0.0.1:${files.address().port}/`;
            try {
                await player.load('<MPD mediaPresentationDuration="PT40S"><Period id="defaultId_0">' +
                    '<AdaptationSet mimeType="video/mp4">' + [300, 750, 1200].map(k => `<Representation bandwidth="${k}000">` +
                    `<BaseURL>${k}.mp4</BaseURL><SegmentBase indexRange="0-9"/></Representation>`).join('') +
                    '</AdaptationSet></Period></MPD>', `${base}a.mpd`);
                const request = await player.request(0);
                assert.match(abrd.state.reason, /index is late/);
                // a daemon that takes its time is still waited for
                mock.delayMs = 100;
                await player.response(request, new ArrayBuffer(9));
                assert.equal(mock.of('/decisions').length, 1);
                await player.chunk(1);
                assert.deepEqual(seen.request.map(r => r.by), ['player', 'abrd']);
            } finally {
                files.closeAllConnections();
                files.close();
            }
        });

    await pluginTest('a level that is on no ladder opens no more sessions and is not reported',
        [{ chunks: 6 }], {}, async ({ mock, player, seen, text }) => {
            await player.load(text);
            await player.chunk(0);
            player.rules.clear();
            const { representations } = player; // another track of the same period, of which the player tells nothing
            player.representations = (...a) => representations.apply(player, a).map(r => ({ ...r, bandwidth: r.bandwidth + 7e3 }));
            player.getRepresentationsByTypeUnfiltered = () => representations.call(player, player.periods[0]);
            for (let i = 1; i < 6; i++) await player.chunk(i);
            assert.equal(seen.session.length, 1);
            assert.deepEqual(mock.of('/decisions').map(d => d.last?.level), [0, undefined, undefined, undefined, undefined]);
            assert.deepEqual(seen.chunk.map(c => [c.level, c.kbps]).slice(0, 2), [[0, 300], [-1, 307]]);
            assert.equal(mock.of('/rewards').length, 0);
            await until(() => mock.requests.at(-1).method === 'DELETE', 'the session to be closed');
        });

    await pluginTest('what arrives after detach is passed over, without a word', [{}], {},
        async ({ player, abrd, seen, text }) => {
            await player.load(text);
            const request = await player.request(0), after = [...player.after];
            abrd.detach();
            const said = [], say = console.error;
            console.error = (...a) => said.push(a.join(' '));
            try {
                for (const f of after) await f({ request: { customData: { request } }, data: new ArrayBuffer(9), status: 200 });
            } finally {
                console.error = say;
            }
            assert.deepEqual([said, seen.chunk], [[], []]);
        });

    await pluginTest('what arrives when its source is gone is passed over, without a word', [{}], {},
        async ({ player, seen, text }) => {
            await player.load(text);
            const request = await player.request(0);
            player.trigger('streamTeardownComplete');
            const said = [], say = console.error;
            console.error = (...a) => said.push(a.join(' '));
            try {
                await player.response(request, new ArrayBuffer(9));
            } finally {
                console.error = say;
            }
            assert.deepEqual([said, seen.chunk], [[], []]);
        });

    await pluginTest('a late answer counts while its chunk is not yet asked for', [{}],
        { timeoutMs: 300 }, async ({ mock, player, seen, text }) => {
            await player.load(text);
            mock.delayMs = 1500;
            await player.chunk(0);
            await until(() => seen.decision.at(-1)?.chunk === 1, 'the late answer');
            assert.equal(await player.chunk(1), 1);
            assert.equal(seen.request.at(-1).by, 'abrd');
        });

    await pluginTest('an answer for another chunk is not used', [{}], {},
        async ({ player, seen, text }) => {
            await player.load(text);
            await player.chunk(0);
            await player.chunk(5); // the player went somewhere else
            assert.deepEqual(seen.request.map(r => r.decided), [0, null]);
            await player.chunk(6);
            assert.equal(seen.request.at(-1).by, 'abrd');
        });

    await pluginTest('a seek out of the buffer asks for the chunk there', [{ chunks: 20 }], {},
        async ({ mock, player, seen, text }) => {
            await player.load(text);
            await player.chunk(0);
            player.video.buffered = { length: 1, start: () => 0, end: () => 4 };
            player.trigger('playbackSeeking', { seekTime: 2 });   // inside: nothing changes
            player.trigger('playbackSeeking', { seekTime: 41.5 });
            await until(() => seen.decision.at(-1).chunk === 10, 'the answer');
            await player.chunk(10);
            assert.equal(seen.request.at(-1).by, 'abrd');
            assert.deepEqual(mock.of('/decisions').map(d => d.chunk), [1, 10, 11]);
        });

    await pluginTest('an outcome that the daemon has not heard is not reported on another ladder', [{}], {},
        async ({ mock, player, text }) => {
            await player.load(text);
            await withoutPause(async () => {
                mock.refuse = { status: 503, body: { error: 'unavailable', field: '', detail: 'full' } };
                await player.chunk(0);
                mock.refuse = null;
                player.periods = [{ kbps: [100, 200] }];
                await player.request(1);
                player.trigger('playbackSeeking', { seekTime: 20 });
                await until(() => mock.of('/decisions').length > 1, 'the question of the seek');
            });
            const { chunk, last } = mock.of('/decisions')[1];
            assert.deepEqual([chunk, last, mock.of('/sessions')[1].ladder_kbps], [5, undefined, [100, 200]]);
        });

    await pluginTest('a chunk that comes twice is reported once', [{}], {},
        async ({ mock, player, seen, text }) => {
            await player.load(text);
            const request = await player.request(0);
            await player.response(request, new ArrayBuffer(9));
            await player.response(request, new ArrayBuffer(9));
            assert.equal(mock.of('/decisions').length, 1);
            assert.equal(seen.chunk.length, 1);
            await player.chunk(1);
            assert.equal(seen.request.at(-1).by, 'abrd');
        });

    await pluginTest('a level that the user chose is not ours', [{}], {},
        async ({ mock, player, abrd, seen, text }) => {
            await player.load(text);
            await player.chunk(0);
            player.rules.clear(); // as with autoSwitchBitrate off: no rule is asked
            player.own = 2;
            await player.chunk(1);
            assert.deepEqual([seen.request[1].decided, seen.request[1].by], [1, 'player']);
            assert.match(abrd.state.reason, /chose otherwise/);
            assert.equal(mock.of('/decisions').at(-1).last.level, 2);
        });

    await pluginTest('failed, aborted and audio requests are passed over', [{}], {},
        async ({ mock, player, text }) => {
            await player.load(text);
            const request = await player.request(0);
            await player.response(request, null, 0);
            await player.response(request, new ArrayBuffer(5), 404);
            const audio = await player.request(0, { mediaType: 'audio' });
            assert.equal(audio.by, 'player');
            await player.response(audio, new ArrayBuffer(5));
            assert.equal(mock.of('/decisions').length, 0);
        });

    await pluginTest('two periods are two sessions', [
        { id: 'a', chunks: 3 }, { id: 'b', chunks: 2, kbps: [100, 200], hint: 'live' }], {},
    async ({ mock, player, seen, text }) => {
        await player.load(text);
        for (let i = 0; i < 3; i++) await player.chunk(i);
        for (let i = 0; i < 2; i++) await player.chunk(i, { period: 1 });
        await until(() => seen.report.length === 2, 'two reports');
        assert.ok(seen.request.every(r => r.by === 'abrd'));
        const [a, b] = mock.sessions.values();
        assert.deepEqual([a.chunks, b.chunks, b.profile], [3, 2, 'live']);
        assert.ok(a.final && b.final);
    });

    await pluginTest('a period that nobody announced opens a session late', [{ id: 'a' }], {},
        async ({ mock, player, seen, text }) => {
            await player.load(text);
            player.periods = [{ id: 'x', kbps: [100, 200, 400], chunks: 9 }];
            await player.chunk(0);
            await player.chunk(1);
            assert.deepEqual(seen.request.map(r => r.by), ['player', 'abrd']);
            const s = [...mock.sessions.values()].at(-1);
            assert.deepEqual([s.ladder_kbps, s.chunks, s.chunk_s], [[100, 200, 400], 9, 4]);
        });

    const parts = [{ id: 'a' }, { id: 'ad', chunks: 5, kbps: [200, 900] }, { id: 'b' }];
    await pluginTest('live with several periods: the session of the first one is closed, and the viewer begins in another', parts, {},
        async ({ mock, player, text }) => {
            await player.load(text);
            for (let i = 4; i < 6; i++) await player.chunk(i, { period: 2, startTime: 60 + 4 * i });
            await until(() => mock.requests.some(q => q.method === 'DELETE'), 'the session to be closed');
            const [a, b] = mock.sessions.keys();
            assert.deepEqual(mock.requests.filter(q => q.method === 'DELETE').map(q => q.path), [`/v1/sessions/${a}`]);
            assert.equal(mock.sessions.size, 2);
            assert.equal(mock.sessions.get(b).continues, undefined);
        }, { live: true });

    await pluginTest('live: counts from the chunk where it came in', [{ chunks: 1 }], {},
        async ({ mock, player, seen, text }) => {
            await player.load(text);
            for (let i = 0; i < 5; i++) await player.chunk(700 + i, { startTime: 2800 + 4 * i });
            await player.load(text); // an update of the manifest
            await player.chunk(705, { startTime: 2820 });
            assert.equal(mock.sessions.size, 1);
            assert.equal([...mock.sessions.values()][0].chunks, 0);
            assert.deepEqual(seen.chunk.map(c => c.chunk), [0, 1, 2, 3, 4, 5]);
            assert.ok(seen.request.slice(1).every(r => r.by === 'abrd'));
        }, { live: true });

    await pluginTest('live: a stream that ends is counted on, in the same session', [{ chunks: 400 }], {},
        async ({ mock, player, abrd, seen, text }) => {
            await player.load(text);
            for (let i = 300; i < 303; i++) await player.chunk(i);
            const { startupS } = abrd.state;
            await player.load(manifest(player.periods)); // type="static"
            for (let i = 303; i < 305; i++) await player.chunk(i);
            await player.load(manifest(player.periods)); // once more
            for (let i = 305; i < 307; i++) await player.chunk(i);
            assert.equal(mock.sessions.size, 1);
            assert.equal(abrd.state.startupS, startupS);
            assert.deepEqual(seen.chunk.map(c => c.chunk), [0, 1, 2, 3, 4, 5, 6]);
            assert.ok(seen.request.every(r => r.by === 'abrd'));
            player.trigger('streamTeardownComplete');
            await player.load(manifest(player.periods)); // another source
            assert.equal([...mock.sessions.values()][1].chunks, 400);
        }, { live: true });

    await test('plugin: the page closes the session when it goes away, and keeps no player that was destroyed', async () => {
        const page = new EventTarget(), waiting = new Set();
        globalThis.addEventListener = (name, fn) => { waiting.add(fn); page.addEventListener(name, fn); };
        globalThis.removeEventListener = (name, fn) => { waiting.delete(fn); page.removeEventListener(name, fn); };
        const s = await setting([{}]);
        try {
            assert.equal(waiting.size, 0);
            await s.player.load(s.text);
            assert.equal(waiting.size, 1);
            page.dispatchEvent(new Event('pagehide'));
            await until(() => s.mock.requests.at(-1).method === 'DELETE', 'the session to be closed');
            await s.player.load(s.text);
            s.player.trigger('streamTeardownComplete');
            assert.equal(waiting.size, 0);
            await s.player.load(s.text);
            s.abrd.detach();
            assert.equal(waiting.size, 0);
        } finally {
            await s.close();
            delete globalThis.addEventListener;
            delete globalThis.removeEventListener;
        }
    });

    await pluginTest('detach leaves the player as it was', [{}], {},
        async ({ mock, player, abrd, seen, text }) => {
            await player.load(text);
            await player.chunk(0);
            const { streaming } = player.getSettings();
            const { bufferTimeDefault: usual, bufferTimeAtTopQuality: top, bufferTimeAtTopQualityLongForm: long } = streaming.buffer;
            assert.deepEqual([usual, top, long], [60, 60, 60]);
            assert.equal(streaming.buffer.fastSwitchEnabled, false);
            assert.equal(streaming.abr.rules.abandonRequestsRule.active, false);
            abrd.detach();
            assert.deepEqual(streaming.buffer, { fastSwitchEnabled: null, bufferTimeDefault: 18, bufferTimeAtTopQuality: 30,
                bufferTimeAtTopQualityLongForm: 60, longFormContentDurationThreshold: 600 });
            assert.equal(streaming.abr.rules.abandonRequestsRule.active, true);
            assert.deepEqual([player.rules.size, player.before.length, player.after.length,
                player.listeners.length], [0, 0, 0, 0]);
            await until(() => mock.requests.at(-1).method === 'DELETE', 'the session to be closed');
            const before = mock.requests.length;
            player.own = 2;
            assert.equal(await player.chunk(1), 2);
            assert.equal(mock.requests.length, before);
            assert.equal(seen.request.length, 1);
            abrd.detach(); // twice is nothing
        });

    await pluginTest('another source is another session', [{}], {},
        async ({ mock, player, text }) => {
            await player.load(text);
            await player.chunk(0);
            player.trigger('streamTeardownComplete');
            await player.load(text);
            await player.chunk(0);
            assert.equal(mock.sessions.size, 2);
        });

    await pluginTest('a listener that throws stops nothing', [{}], {},
        async ({ player, abrd, seen, text }) => {
            const silent = console.error;
            console.error = () => {};
            try {
                abrd.on('decision', () => { throw new Error('page'); });
                await player.load(text);
                await player.chunk(0);
                assert.equal(await player.chunk(1), 1);
            } finally {
                console.error = silent;
            }
            assert.ok(seen.request.every(r => r.by === 'abrd'));
        });
}

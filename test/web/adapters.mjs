// adapters.mjs - hls.js's and Shaka's adapter without a browser: just enough of both players, the mock
// daemon over real HTTP. What the adapters do when all goes well the browser tests show; here is what
// they owe a player that is destroyed, detached, restricted or shared with others.
import assert from 'node:assert/strict';

import { DOMParser, manifest } from './fake.mjs';
import { test, until } from './harness.mjs';
import { Mock } from './mock.mjs';
import { attach as attachHls } from '../../web/hlsjs.js';
import { attach as attachShaka } from '../../web/shaka.js';

globalThis.DOMParser = DOMParser;

export const KBPS = [300, 750, 1200];
const media = () => Object.assign(new EventTarget(), { currentTime: 0, buffered: { length: 0 } });

/* ----- Shaka ----- */

export class FakeShaka extends EventTarget {
    own = 0;          // variant that its own manager would choose
    starts = Array.from({ length: 11 }, (_, i) => 4 * i); // of segments, and the end of the last
    filters = { request: new Set(), response: new Set() };
    variants = KBPS.map((k, i) => ({ bandwidth: k * 1000,
        video: { type: 'video', bandwidth: k * 1000, height: 100 * (i + 1), width: 200 * (i + 1),
            segmentIndex: { find: t => this.#find(t) } }, audio: null }));
    config = { abrFactory: () => this.manager(), streaming: { bufferingGoal: 20, disableVideoPrefetch: false, retryParameters: { timeout: 3e4 } },
        abr: { restrictions: { minBandwidth: 0, maxBandwidth: Infinity, minHeight: 0, maxHeight: Infinity,
            minWidth: 0, maxWidth: Infinity } } };

    #find(t) {
        const n = this.starts.findIndex((s, i) => s <= t && t < this.starts[i + 1]);
        return n < 0 ? null : n;
    }
    manager() {
        return { setVariants() {}, setMediaElement() {}, trySuggestStreams() {}, segmentDownloaded() {}, getBandwidthEstimate: () => 1e6,
            chooseVariant: () => this.variants[this.own] };
    }
    getConfiguration() { return this.config; }
    configure({ abrFactory, streaming }) {
        if (abrFactory) this.config.abrFactory = abrFactory;
        Object.assign(this.config.streaming, streaming);
    }
    getNetworkingEngine() {
        const set = (kind, what) => f => this.filters[kind][what](f);
        return { registerRequestFilter: set('request', 'add'), unregisterRequestFilter: set('request', 'delete'),
            registerResponseFilter: set('response', 'add'), unregisterResponseFilter: set('response', 'delete') };
    }
    getMediaElement() { return this.media; }

    /** type: of the manifest, Shaka's AdvancedRequestType. */
    async load(text, type = 4) {
        this.abr ??= this.config.abrFactory();
        this.abr.setVariants(this.variants);
        this.abr.setMediaElement(this.media = media());
        const response = { uri: 'https://example.org/a.mpd', data: new TextEncoder().encode(text).buffer };
        for (const f of this.filters.response) await f(0, response, { type });
    }

    /** Chooses and begins a segment. */
    request(n) {
        const { video } = this.abr.chooseVariant();
        const context = { type: 1, stream: video, segment: { startTime: this.starts[n], endTime: this.starts[n + 1] } };
        for (const f of this.filters.request) f(1, {}, context);
        return context;
    }

    async arrive(context) {
        const response = { data: new ArrayBuffer(1000), timeMs: 20 };
        for (const f of this.filters.response) await f(1, response, context);
        this.dispatchEvent(Object.assign(new Event('segmentappended'), { contentType: 'video' }));
    }

    /** One segment from choice to buffer; returns its level. */
    async chunk(n) {
        const context = this.request(n);
        await this.arrive(context);
        return this.variants.findIndex(v => v.video === context.stream);
    }

    /** As the real one: from then on nothing of it can be configured. */
    destroy() {
        this.configure = () => { throw new TypeError("Cannot read properties of null (reading 'abrFactory')"); };
    }
}

/* ----- hls.js ----- */

class Loader {
    load(context, config, callbacks) {
        this.done = callbacks.onSuccess({ data: context.answer ?? new ArrayBuffer(1000) },
            { loading: { start: 0, end: 20 } }, context);
    }
    abort() {}
    destroy() {}
}

export class FakeHls {
    static Events = Object.fromEntries(['MEDIA_ATTACHED', 'MEDIA_DETACHED', 'MANIFEST_LOADING', 'MANIFEST_PARSED',
        'LEVELS_UPDATED', 'DESTROYING'].map(n => [n, n]));
    static DefaultConfig = { abrController: class {
        constructor(hls) { this.hls = hls; }
        get nextAutoLevel() { return this.hls.own; }
        set nextAutoLevel(level) { this.set = level; }
        onFragLoading() {}
        clearTimer() {}
    } };

    own = 0;
    minAutoLevel = 0;
    maxAutoLevel = KBPS.length - 1;
    media = null;
    listeners = [];
    config = { loader: Loader, fLoader: undefined, pLoader: undefined, testBandwidth: true,
        maxBufferSize: 6e7, maxBufferLength: 30, maxMaxBufferLength: 600 };
    playlist = `#EXTM3U\n${'#EXTINF:4,\na.m4s\n'.repeat(10)}#EXT-X-ENDLIST\n`;
    levels = KBPS.map((k, i) => ({ bitrate: k * 1000, height: 100 * (i + 1), details: { live: false, startSN: 1, fragments: [] } }));

    constructor(Controller) { this.abr = new Controller(this); }
    on(event, f) { this.listeners.push({ event, f }); }
    off(event, f) { this.listeners = this.listeners.filter(l => l.event !== event || l.f !== f); }
    trigger(event, data = {}) { for (const l of this.listeners) if (l.event === event) l.f(event, data); }

    /** What one of its loaders does; settles when the answer has been given on. */
    get(Class, context) {
        return new Promise(done => new Class().load(context, {}, { onSuccess: done }));
    }

    async load() {
        this.trigger('MANIFEST_PARSED');
        await this.get(this.config.pLoader ?? this.config.loader, { type: 'level', answer: this.playlist });
    }

    request(n) {
        const level = this.abr.nextAutoLevel;
        const frag = { type: 'main', sn: 1 + n, level, start: 4 * n, end: 4 * n + 4, stats: { loaded: 0, total: 0 } };
        return { level, arrived: this.get(this.config.fLoader ?? this.config.loader, { frag }) };
    }

    async chunk(n) {
        const { level, arrived } = this.request(n);
        await arrived;
        return level;
    }
}

/** Runs body on a player and its mock. */
async function with_(make, options, body) {
    const mock = await new Mock().start();
    mock.pick = () => 2;
    try {
        await body({ mock, ...make({ server: mock.url, timeoutMs: 5000, ...options(mock) }) });
    } finally {
        await mock.stop();
    }
}
const onShaka = (body, options = () => ({})) => with_(o => {
    const player = new FakeShaka();
    return { player, abrd: attachShaka(player, o) };
}, options, body);
const onHls = (body, options = () => ({})) => with_(o => {
    const abrd = attachHls(FakeHls, o);
    return { abrd, player: new FakeHls(abrd.controller) };
}, options, body);

const MPD = manifest([{ kbps: KBPS }]);

export async function adapterTests() {
    await test('Shaka: every chunk follows', () => onShaka(async ({ player, mock, abrd }) => {
        await player.load(MPD);
        for (let i = 0; i < 3; i++) assert.equal(await player.chunk(i), 2);
        assert.equal(abrd.state.mode, 'abrd');
        assert.deepEqual(mock.of('/decisions').map(d => d.last.level), [2, 2, 2]);
        abrd.detach();
    }));

    await test('Shaka: an observed player keeps its rules and its buffer', async () => {
        const observed = async ({ player, mock, abrd }) => {
            await player.load(MPD);
            player.own = 1;
            for (let i = 0; i < 3; i++) assert.equal(await player.chunk(i), 1);
            await until(() => mock.of('/decisions').length > 2, 'the reports');
            assert.deepEqual(mock.of('/decisions').map(d => d.last.level), [1, 1, 1]);
            const own = { bufferingGoal: 20, disableVideoPrefetch: false, retryParameters: { timeout: 3e4 } };
            assert.deepEqual({ ...player.config.streaming, ...own }, player.config.streaming);
            abrd.detach();
            assert.deepEqual({ ...player.config.streaming, ...own }, player.config.streaming);
        };
        await onShaka(s => observed(s), () => ({ mode: 'observe' }));
        await onShaka(s => { s.mock.observe = true; return observed(s); });
        await onShaka(async ({ player, abrd }) => {
            assert.equal(player.config.streaming.bufferingGoal, 60);
            assert.equal(player.config.streaming.disableVideoPrefetch, true);
            assert.equal(player.config.streaming.retryParameters.timeout, 6e4);
            abrd.detach();
            assert.equal(player.config.streaming.bufferingGoal, 20);
            assert.equal(player.config.streaming.retryParameters.timeout, 3e4);
        });
    });

    await test('Shaka: segments of many lengths are counted as Shaka counts them', () => onShaka(async ({ player, mock, abrd }) => {
        player.starts = [0, 2, 8, 9.5, 14, 20, 26, 32, 38, 44, 50];
        const chunks = [];
        abrd.on('request', r => chunks.push(r.chunk));
        await player.load(MPD);
        for (let i = 0; i < 4; i++) assert.equal(await player.chunk(i), 2);
        assert.deepEqual(chunks, [0, 1, 2, 3]);
        const asked = mock.of('/decisions').length;
        for (const t of [60, 27]) { // behind the end there is nothing to ask for
            player.media.currentTime = t;
            player.media.dispatchEvent(new Event('seeking'));
        }
        await until(() => mock.of('/decisions').length > asked, 'the question of the seek');
        assert.deepEqual(mock.of('/decisions').slice(asked).map(d => d.chunk), [6]);
        abrd.detach();
    }));

    await test('Shaka: heights and quality, of HLS and of DASH with one or more periods', () => onShaka(async ({ player, mock, abrd }) => {
        const asked = async (text, type) => {
            await player.load(text, type);
            const { height, quality, next_quality: next } = mock.of('/sessions').at(-1);
            return [height, quality, next];
        };
        const period = { kbps: KBPS, quality: [[40, 50], [60, 70], [80, 90]], height: [240, 360, 480], chunks: 2 };
        assert.deepEqual(await asked(manifest([period])), [[240, 360, 480], [45, 65, 85], [40, 60, 80]]);
        assert.deepEqual(await asked(manifest([period, period])), [[240, 360, 480], undefined, undefined]);
        await player.load('#EXTM3U\n', 3);
        assert.deepEqual(await asked(`#EXTM3U\n${'#EXTINF:4,\na.m4s\n'.repeat(10)}#EXT-X-ENDLIST\n`, 2),
            [[113, 225, 338], undefined, undefined]); // 200 x 100 fills the width
        abrd.detach();
    }));

    await test('Shaka: a live stream that ends is counted on, in the same session', () => onShaka(async ({ player, mock, abrd }) => {
        const period = { kbps: KBPS, chunks: 400 }, chunks = [];
        player.starts = Array.from({ length: 401 }, (_, i) => 4 * i);
        abrd.on('request', r => chunks.push(r.chunk));
        await player.load(manifest([period], { live: true }));
        for (const n of [300, 301]) await player.chunk(n);
        const response = { uri: 'https://example.org/a.mpd', data: new TextEncoder().encode(manifest([period])).buffer };
        for (const f of player.filters.response) await f(0, response, { type: 4 }); // type="static"
        for (const n of [302, 303]) assert.equal(await player.chunk(n), 2);
        assert.deepEqual(chunks, [0, 1, 2, 3]);
        assert.equal(mock.sessions.size, 1);
        player.dispatchEvent(new Event('unloading'));
        await player.load(manifest([period])); // another source
        assert.equal([...mock.sessions.values()][1].chunks, 400);
        abrd.detach();
    }));

    await test('Shaka: an index that Shaka closes meanwhile is not asked again', () => onShaka(async ({ player, mock, abrd }) => {
        await player.load(MPD);
        const under = player.request(0);
        under.stream.segmentIndex = null;
        await player.arrive(under);
        assert.deepEqual(mock.of('/decisions').map(d => d.chunk), [1]);
        abrd.detach();
    }));

    await test('Shaka: detached while a decided segment is under way, its own rules choose the next', () =>
        onShaka(async ({ player, abrd }) => {
            await player.load(MPD);
            const under = player.request(0);
            abrd.detach();
            await player.arrive(under);
            assert.equal(await player.chunk(1), 0);
            player.own = 1;
            assert.equal(await player.chunk(2), 1);
        }));

    await test('Shaka: detached after the player was destroyed, nothing throws and all else is undone', () =>
        onShaka(async ({ player, abrd, mock }) => {
            await player.load(MPD);
            await player.chunk(0);
            player.destroy();
            abrd.detach();
            assert.deepEqual([player.filters.request.size, player.filters.response.size], [0, 0]);
            assert.equal(abrd.state.mode, 'idle');
            const asked = mock.of('/decisions').length;
            player.dispatchEvent(Object.assign(new Event('segmentappended'), { contentType: 'video' }));
            await player.chunk(1);
            assert.equal(mock.of('/decisions').length, asked);
        }));

    for (const [name, limit] of [['bandwidth', { maxBandwidth: 800e3 }], ['height', { maxHeight: 250 }],
        ['width', { maxWidth: 599 }]])
        await test(`Shaka: what abr.restrictions forbid is not chosen: ${name}`, () =>
            onShaka(async ({ player, mock, abrd }) => {
                Object.assign(player.config.abr.restrictions, limit);
                await player.load(MPD);
                assert.equal(await player.chunk(0), 0);
                assert.match(abrd.state.reason, /chose otherwise/);
                mock.pick = () => 1;
                assert.equal(await player.chunk(1), 0); // was decided before
                assert.equal(await player.chunk(2), 1);
                assert.equal(abrd.state.mode, 'abrd');
                abrd.detach();
            }));

    await test('hls.js: every chunk follows; detach gives the settings back', () =>
        onHls(async ({ player, mock, abrd }) => {
            await player.load();
            for (let i = 0; i < 3; i++) assert.equal(await player.chunk(i), 2);
            assert.deepEqual(mock.of('/decisions').map(d => d.last.level), [2, 2, 2]);
            const { testBandwidth: tests, maxBufferLength: most, maxMaxBufferLength: mostOfAll } = player.config;
            assert.deepEqual([tests, most, mostOfAll], [false, 60, 60]);
            abrd.detach();
            const { testBandwidth, fLoader, pLoader, maxBufferLength, maxMaxBufferLength } = player.config;
            assert.deepEqual([testBandwidth, fLoader, pLoader, maxBufferLength, maxMaxBufferLength],
                [true, undefined, undefined, 30, 600]);
            assert.equal(player.listeners.length, 0);
            assert.equal(await player.chunk(3), 0);
        }));

    await test('hls.js: an observed player keeps its rules and its buffer', async () => {
        const observed = async ({ player, mock, abrd }) => {
            const own = () => [player.config.maxBufferLength, player.config.maxMaxBufferLength, player.config.testBandwidth];
            await player.load();
            player.own = 1;
            for (let i = 0; i < 3; i++) assert.equal(await player.chunk(i), 1);
            await until(() => mock.of('/decisions').length > 2, 'the reports');
            assert.deepEqual(mock.of('/decisions').map(d => d.last.level), [1, 1, 1]);
            assert.deepEqual(own(), [30, 600, true]);
            abrd.detach();
            assert.deepEqual(own(), [30, 600, true]);
        };
        await onHls(s => observed(s), () => ({ mode: 'observe' }));
        await onHls(s => { s.mock.observe = true; return observed(s); });
    });

    await test('hls.js: heights, if each level has one; the page\'s quality', () => onHls(async ({ player, mock, abrd }) => {
        await player.load();
        player.levels[1].height = 0;
        await player.load();
        assert.deepEqual(mock.of('/sessions').map(b => [b.height, b.quality]),
            [[[100, 200, 300], [40, 60, 80]], [undefined, [40, 60, 80]]]);
        abrd.detach();
    }, () => ({ quality: [40, 60, 80] })));

    await test('hls.js: a live stream that ends is counted on', () => onHls(async ({ player, abrd }) => {
        player.playlist = player.playlist.replace('#EXT-X-ENDLIST\n', '');
        const details = { live: true, startSN: 1, fragments: [{ sn: 13, start: 48, end: 52 }] }, chunks = [];
        for (const l of player.levels) l.details = details;
        abrd.on('request', r => chunks.push(r.chunk));
        await player.load();
        player.trigger('MEDIA_ATTACHED', { media: player.media = media() });
        for (const n of [5, 6]) await player.chunk(n);
        details.live = false; // the playlist has got its end
        player.media.currentTime = 50;
        player.media.dispatchEvent(new Event('seeking')); // of live streams nothing is known ahead
        for (const n of [7, 8]) assert.equal(await player.chunk(n), 2);
        assert.deepEqual(chunks, [0, 1, 2, 3]);
        abrd.detach();
    }));

    await test('hls.js: a level that is removed leaves the ladder, before the first fragment and later', async () => {
        for (const before of [0, 2])
            await onHls(async ({ player, mock, abrd }) => {
                const by = [];
                abrd.on('request', r => by.push(r.by));
                await player.load();
                for (let n = 0; n < 4; n++) {
                    if (n === before) {
                        player.maxAutoLevel = 1;
                        player.levels.splice(2, 1);
                        player.trigger('LEVELS_UPDATED');
                        mock.pick = () => 1;
                    }
                    await player.chunk(n);
                }
                assert.deepEqual(mock.of('/sessions').map(b => b.ladder_kbps), [KBPS, [300, 750]]);
                assert.deepEqual(by, [0, 1, 2, 3].map(n => (n === before ? 'player' : 'abrd')));
                abrd.detach();
            });
    });

    await test('hls.js: another source while a fragment is under way: its first decision counts', () => onHls(async ({ player, abrd }) => {
        await player.load();
        await player.chunk(0);
        player.request(1).arrived.catch(() => {}); // hls.js cancels it
        player.trigger('MANIFEST_LOADING');
        player.trigger('MANIFEST_PARSED');
        player.abr.nextAutoLevel = 1; // the level of its start
        await player.get(player.config.pLoader, { type: 'level', answer: player.playlist });
        assert.equal(player.abr.nextAutoLevel, 2);
        abrd.detach();
    }));

    await test('hls.js: detached while the playlist is under way, nothing is asked', () => onHls(async ({ player, abrd, mock }) => {
        const { pLoader } = player.config, { playlist } = player;
        await player.get(pLoader, { type: 'level', get answer() { abrd.detach(); return playlist; } });
        assert.deepEqual(mock.requests, []);
    }));

    await test('hls.js: detach leaves loaders that others put around ours', () =>
        onHls(async ({ player, mock, abrd }) => {
            // as its CMCD controller does, which is made after the one for bitrates
            const around = Inner => class extends Inner {};
            const fLoader = player.config.fLoader = around(player.config.fLoader);
            const pLoader = player.config.pLoader = around(player.config.pLoader);
            await player.load();
            await player.chunk(0);
            abrd.detach();
            assert.equal(player.config.fLoader, fLoader);
            assert.equal(player.config.pLoader, pLoader);
            const asked = mock.requests.filter(q => q.method === 'POST').length;
            assert.equal(await player.chunk(1), 0);
            assert.equal(mock.requests.filter(q => q.method === 'POST').length, asked);
        }));

    await test('hls.js: detached while a decided fragment is under way, its own rules choose the next', () =>
        onHls(async ({ player, abrd, mock }) => {
            await player.load();
            mock.delayMs = 200;
            const { arrived } = player.request(0);
            abrd.detach();
            assert.equal(player.abr.nextAutoLevel, 0);
            await arrived;
            assert.equal(await player.chunk(1), 0);
        }));

    await test('hls.js: after a seek its own rules choose until there is a decision, not one that is given up', () =>
        onHls(async ({ player, abrd }) => {
            await player.load();
            const element = media();
            player.trigger('MEDIA_ATTACHED', { media: element });
            const under = player.request(0);
            assert.deepEqual([under.level, player.abr.nextAutoLevel], [2, 2]); // nothing is known of the next
            element.currentTime = 20;
            element.dispatchEvent(new Event('seeking'));
            assert.equal(player.abr.nextAutoLevel, 0);
            await under.arrived;
            abrd.detach();
        }));
}

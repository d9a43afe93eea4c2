/**
 * players.js - starts dash.js, hls.js or Shaka Player, with the plugin or by its own rules.
 *
 * A player by its own rules has no plugin. What it fetches is read from its own events and passes through
 * the same callbacks as with the plugin. Its settings are its defaults, but for what SETTINGS says.
 *
 * @module demo/players
 *
 * @typedef {object} Side
 * @property {HTMLVideoElement} video
 * @property {string} url the manifest
 * @property {object|null} options of attach(); null: the player's own rules
 * @property {number|null} bufferS of a player by its own rules; null: its default
 * @property {object} on callbacks: session, decision, request, chunk, state of the plugin (lib/types.d.ts);
 *     ladder(kbps[], chunkS); progress(loaded, total) of the first chunk; stall(begins); error(text)
 *
 * @typedef {{abrd: object|null, player: object, stop(): void}} Run
 */

/** An outage of the emulated link may be long: a request then waits instead of failing. */
const PATIENCE_MS = 120000;

const loaded = new Map(); // path -> promise

const ATTEMPT_MS = 4000, ATTEMPTS = 5;

/** A file; a transfer that takes long is begun again on another connection. */
async function file(path) {
    for (let i = 0; i < ATTEMPTS; i++) {
        const over = new AbortController(), timer = setTimeout(() => over.abort(), ATTEMPT_MS << i);
        try {
            const answer = await fetch(path, { signal: over.signal });
            return answer.ok ? await answer.blob() : null;
        } catch (e) {
            if (e.name !== 'AbortError') return null;
        } finally {
            clearTimeout(timer);
        }
    }
    return null;
}

/** Loads a player's script. */
async function script(path) {
    const text = await file(path);
    if (!text) throw new Error(`${path} is missing. Run \`make web\`, then reload this page.`);
    const src = URL.createObjectURL(text);
    await new Promise((done, fail) => {
        const failed = () => fail(new Error(`${path} cannot be loaded`));
        document.head.append(Object.assign(document.createElement('script'), { src, onload: done, onerror: failed }));
    });
    URL.revokeObjectURL(src);
}

/** Chunk number of a time on the presentation's clock. */
const chunkAt = (s, chunkS) => Math.round(s / chunkS);

function listen(abrd, on) {
    for (const event of ['session', 'decision', 'request', 'chunk', 'state']) abrd.on(event, on[event]);
}

/** Reports requests and arrivals of a player by its own rules, chunk by chunk. */
class Watch {
    #ladder = [];
    #chunkS = 0;

    constructor(video, on) {
        this.video = video;
        this.on = on;
    }

    ladder(kbps, chunkS) {
        const sorted = [...new Set(kbps)].sort((a, b) => a - b);
        if (sorted.join() === this.#ladder.join() && chunkS === this.#chunkS) return;
        this.#ladder = sorted;
        this.#chunkS = chunkS;
        this.on.ladder(sorted, chunkS);
    }

    #of(startS, kbps) {
        return { chunk: chunkAt(startS, this.#chunkS), level: this.#ladder.indexOf(kbps), kbps, by: 'player' };
    }

    request(startS, kbps) { this.on.request({ ...this.#of(startS, kbps), decided: null }); }

    arrival(startS, kbps, bytes, download_s) {
        const { video } = this, end = video.buffered.length ? video.buffered.end(video.buffered.length - 1) : 0;
        this.on.chunk({ ...this.#of(startS, kbps), bytes, download_s, rebuffer_s: 0,
            buffer_s: Math.max(end - video.currentTime, 0) });
    }
}

/** Stalls as the video element reports them; the start is told apart by the recording. */
function watchStalls(video, on) {
    const over = new AbortController(), { signal } = over;
    video.addEventListener('waiting', () => { if (!video.seeking) on.stall(true); }, { signal });
    video.addEventListener('playing', () => on.stall(false), { signal });
    return () => over.abort();
}

const seconds = ms => ms / 1000;

const starts = {
    async dashjs({ video, url, options, bufferS, on }) {
        const { dashjs } = window, player = dashjs.MediaPlayer().create();
        player.updateSettings({ streaming: {
            fragmentRequestTimeout: PATIENCE_MS,
            // runs repeat only if nothing is remembered from an earlier one
            lastBitrateCachingInfo: { enabled: false },
            ...(bufferS && { buffer: { bufferTimeDefault: bufferS, bufferTimeAtTopQuality: bufferS,
                bufferTimeAtTopQualityLongForm: bufferS } }),
        } });
        const abrd = options && (await import('../dashjs.js')).attach(player, options);
        const isVideo = r => r?.type === 'MediaSegment' && r.mediaType === 'video' && r.index >= 0;
        const rate = r => (r.representation ?? r).bandwidth / 1000;
        const watch = new Watch(video, on), began = new Map();
        let first = null;
        player.on('fragmentLoadingStarted', ({ request: r }) => {
            if (!isVideo(r)) return;
            first ??= r;
            if (abrd) return;
            watch.ladder(player.getRepresentationsByType('video').map(rate), r.duration);
            began.set(r, performance.now());
            watch.request(r.startTime, rate(r));
        });
        player.on('fragmentLoadingCompleted', ({ request: r, error }) => {
            if (abrd || error || !isVideo(r) || !began.has(r)) return;
            watch.arrival(r.startTime, rate(r), r.bytesTotal, seconds(performance.now() - began.get(r)));
            began.delete(r);
        });
        player.on('error', e => on.error(e.error?.message ?? String(e.error)));
        if (abrd) listen(abrd, on);
        player.initialize(video, url, true);
        return { abrd, player, progress: () => [first?.bytesLoaded ?? 0, first?.bytesTotal ?? 0],
            stop: () => { abrd?.detach(); player.destroy(); } };
    },

    async hlsjs({ video, url, options, bufferS, on }) {
        const { Hls } = window;
        const abrd = options && (await import('../hlsjs.js')).attach(Hls, options);
        const hls = new Hls({ ...(abrd && { abrController: abrd.controller }),
            ...(bufferS && { maxBufferLength: bufferS, maxMaxBufferLength: bufferS }) });
        const { Events } = Hls, watch = new Watch(video, on);
        const rate = i => hls.levels[i].bitrate / 1000;
        let first = null;
        hls.on(Events.MANIFEST_PARSED, () => video.play().catch(() => {}));
        hls.on(Events.FRAG_LOADING, (_, { frag: f }) => {
            if (f.type !== 'main' || f.sn === 'initSegment') return;
            first ??= f;
            if (abrd) return;
            watch.ladder(hls.levels.map((_, i) => rate(i)), f.duration);
            watch.request(f.start, rate(f.level));
        });
        hls.on(Events.FRAG_LOADED, (_, { frag: f }) => {
            if (abrd || f.type !== 'main' || f.sn === 'initSegment') return;
            const { loading, total } = f.stats;
            watch.arrival(f.start, rate(f.level), total, seconds(loading.end - loading.start));
        });
        hls.on(Events.ERROR, (_, e) => {
            if (!e.fatal) return;
            if (e.type === Hls.ErrorTypes.NETWORK_ERROR) hls.startLoad(); // as pages do
            else on.error(e.details);
        });
        if (abrd) listen(abrd, on);
        hls.loadSource(url);
        hls.attachMedia(video);
        return { abrd, player: hls, progress: () => [first?.stats.loaded ?? 0, first?.stats.total ?? 0],
            stop: () => { abrd?.detach(); hls.destroy(); } };
    },

    async shaka({ video, url, options, bufferS, on }) {
        const { shaka } = window;
        shaka.polyfill.installAll();
        const player = new shaka.Player();
        await player.attach(video);
        player.configure({ abr: { droppedFrames: false }, // a busy machine is no reason to leave a level
            ...(bufferS && { streaming: { bufferingGoal: bufferS } }) });
        const abrd = options && (await import('../shaka.js')).attach(player, options);
        const watch = new Watch(video, on), { SEGMENT } = shaka.net.NetworkingEngine.RequestType;
        const isVideo = (type, context) => type === SEGMENT && context?.stream?.type === 'video' && context.segment;
        const rates = () => player.getVariantTracks().map(t => (t.videoBandwidth || t.bandwidth) / 1000);
        let began = 0;
        if (!abrd) {
            const net = player.getNetworkingEngine();
            net.registerRequestFilter((type, _, context) => {
                if (!isVideo(type, context)) return;
                const { segment: s, stream } = context;
                watch.ladder(rates(), s.endTime - s.startTime);
                began = performance.now();
                watch.request(s.startTime, stream.bandwidth / 1000);
            });
            net.registerResponseFilter((type, response, context) => {
                if (!isVideo(type, context)) return;
                const { segment: s, stream } = context;
                watch.arrival(s.startTime, stream.bandwidth / 1000, response.data.byteLength,
                    seconds(performance.now() - began));
            });
        }
        player.addEventListener('buffering', e => on.stall(e.buffering));
        player.addEventListener('error', ({ detail: e }) => {
            if (e.category === shaka.util.Error.Category.NETWORK) player.retryStreaming(); // as pages do
            else on.error(`code ${e.code}`);
        });
        if (abrd) listen(abrd, on);
        player.load(url).then(() => video.play().catch(() => {}), e => {
            if (e.code !== shaka.util.Error.Code.LOAD_INTERRUPTED) on.error(`code ${e.code}`);
        });
        return { abrd, player, progress: () => [0, 0], stop: () => { abrd?.detach(); player.destroy(); } };
    },
};

/** What the page can play with: the name, the file, the demo's manifest, the version. */
export const KINDS = {
    dashjs: { name: 'dash.js', path: 'vendor/dash.mediaplayer.min.js', manifest: 'manifest.mpd', buffer: '18 s',
        version: () => window.dashjs.Version ?? window.dashjs.MediaPlayer().create().getVersion() },
    hlsjs: { name: 'hls.js', path: 'vendor/hls.min.js', manifest: 'manifest.m3u8', buffer: '30 s or more',
        version: () => window.Hls.version },
    shaka: { name: 'Shaka Player', path: 'vendor/shaka-player.compiled.js', manifest: 'manifest.mpd', buffer: '10 s',
        version: () => window.shaka.Player.version.replace(/^v/, '').replace(/-.*$/, '') },
};

/** Loads the player's script, once. */
export function prepare(kind) {
    const { path } = KINDS[kind];
    if (!loaded.has(path)) loaded.set(path, script(path).catch(e => { loaded.delete(path); throw e; }));
    return loaded.get(path);
}

/** @param {keyof KINDS} kind @param {Side} side @returns {Promise<Run>} */
export async function begin(kind, side) {
    const unwatch = watchStalls(side.video, side.on);
    try {
        const run = await starts[kind](side), { stop } = run;
        run.stop = () => { unwatch(); stop(); };
        return run;
    } catch (e) {
        unwatch();
        throw e;
    }
}

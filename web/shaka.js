/**
 * shaka.js - lets an abrd daemon choose the bitrate of every segment that Shaka Player 5 plays.
 *
 *     import { attach } from '@abrd/player/shaka';
 *     const player = new shaka.Player();
 *     await player.attach(video);
 *     const abrd = attach(player, { server: 'http://127.0.0.1:8080', profile: 'live' });
 *     await player.load('https://example.org/video.mpd');
 *
 * attach() comes before load(). It wraps the manager that the configured abrFactory creates.
 *
 * Shaka is held in its response filter: the manifest (with HLS the first media playlist) until the
 * decision for chunk 0, each segment until the decision for the next one. The manager returns the
 * decision as the variant to play if it fits, else its own choice (core.js). It is called when the
 * segment has been appended, not before: Shaka cancels a download when the variant changes.
 *
 * A chunk is abandoned (abandon.js) by choosing again: Shaka cancels a segment when the variant changes.
 *
 * Download time is the time that Shaka reports. The buffer is what the player will hold when it requests
 * the next chunk: media up to the end of the arrived one, but no more than bufferingGoal. Several
 * periods are one session. With HLS the player may choose the first segment, since it chooses the
 * variant before any playlist has the length of a chunk.
 *
 * @module abrd/shaka
 */

import { abandoning } from './lib/abandon.js';
import { Core, guard, ladder, later, sameRate } from './lib/core.js';
import { readManifest } from './lib/manifest.js';
import { watch } from './lib/media.js';
import { readHint, readPlaylist } from './lib/playlist.js';
import { fetchIndexes } from './lib/sidx.js';

/** Shaka reports progress in steps of this size; the step that is on its way counts as arrived. */
const STEP_BYTES = 16e3;
// shaka.net.NetworkingEngine.RequestType and AdvancedRequestType
const MANIFEST = 0, SEGMENT = 1;
const MEDIA_SEGMENT = 1, MEDIA_PLAYLIST = 2, MASTER_PLAYLIST = 3, MPD = 4;

/**
 * Lets the daemon decide the video bitrate. Call it before player.load().
 * @param {object} player a shaka.Player
 * @param {import('./lib/types').Options} [options]
 * @returns {import('./lib/types').Handle}
 */
export function attach(player, options = {}) {
    return new Adapter(player, options).handle;
}

class Adapter {
    #player;
    #core;
    #live = false;
    #variants = [];
    #own = null;        // the manager of the player
    #playing = null;    // variant of the current segment
    #chunk;             // its number; its index may be gone when it arrives
    #loaded;            // bytes of it that have arrived, as far as Shaka has reported them
    #heard = 0;         // bytes of sound
    #estimate = null;   // [bit/s] that Shaka's manager sees; null: its own
    #ownChoice;         // its chooseVariant
    #ours = false;      // it was decided, and there is no decision for the next: stay
    #unwatch = () => {};

    constructor(player, options) {
        this.#player = player;
        this.#core = new Core(options, () => this.#bufferMaxS(), () => this.#mostKbps(),
            () => [this.#playing?.audio?.bandwidth / 1000, this.#heard]);
        this.#core.install(() => this.#install());
        this.handle = this.#core.handle();
    }

    #install() {
        const p = this.#player, core = this.#core;
        const { abrFactory, streaming: { bufferingGoal, disableVideoPrefetch, retryParameters: { timeout } } } = p.getConfiguration();
        const was = { bufferingGoal, disableVideoPrefetch, retryParameters: { timeout } };
        // prefetched segments would be chosen before the decision
        const ours = { bufferingGoal: core.bufferS(bufferingGoal), disableVideoPrefetch: true,
            // after 30 s Shaka throws away what has arrived, and requests the chunk again
            retryParameters: { timeout: timeout && Math.max(timeout, 60e3) } };
        p.configure({ abrFactory: () => this.#wrap(abrFactory()) });
        core.observing(observed => p.configure({ streaming: observed ? was : ours }));
        core.undo(() => p.configure({ abrFactory, streaming: was }));

        const net = p.getNetworkingEngine();
        core.tie(net, 'registerRequestFilter', 'unregisterRequestFilter',
            (...asked) => this.#requested(...asked));
        core.tie(net, 'registerResponseFilter', 'unregisterResponseFilter',
            (...asked) => this.#responded(...asked));

        const listen = (event, fn) => core.tie(p, 'addEventListener', 'removeEventListener', event, fn);
        listen('segmentappended', e => {
            if (core.observed || e.contentType !== 'video') return;
            this.#ours = false; // it is in the buffer: choose the next; does nothing while ABR is switched off
            this.#own.trySuggestStreams();
        });
        const stop = () => { this.#ours = false; this.#unwatch(); };
        listen('unloading', () => { stop(); core.forget(); });
        core.undo(stop);
    }

    /* ----- called by Shaka ----- */

    #wrap(own) {
        this.#own = own;
        const instead = (name, fn) => {
            const was = own[name].bind(own);
            own[name] = (...args) => fn(() => was(...args), ...args);
        };
        instead('setVariants', (was, variants) => {
            this.#variants = variants;
            return was();
        });
        instead('segmentDownloaded', (was, ...args) => {
            if (isVideo(args[4])) this.#loaded += args[1]; // of one segment at a time
            else if (args[4]?.stream?.type === 'audio') this.#heard += args[1];
            was();
        });
        instead('getBandwidthEstimate', was => this.#estimate ?? was());
        this.#ownChoice = own.chooseVariant.bind(own);
        instead('chooseVariant', was => guard(() => this.#choose(was)) ?? was());
        instead('setMediaElement', (was, media) => {
            this.#unwatch();
            this.#unwatch = media && this.#core.attached ?
                watch(media, this.#core, t => this.#seek(t)) : () => {};
            was();
        });
        return own;
    }

    #choose(own) {
        const d = this.#core.choice();
        // after an error Shaka disables the variant that it played
        if (!d) return this.#ours && this.#variants.includes(this.#playing) ? this.#playing : own();
        const { restrictions } = this.#player.getConfiguration().abr;
        const fitting = this.#variants.filter(v => sameRate(rateOf(v), d.kbps) && isAllowed(v, restrictions));
        if (!fitting.length) return own();
        return withSound(fitting, this.#playing ?? own());
    }

    #requested(type, request, context) {
        if (type !== SEGMENT || !isVideo(context)) return;
        const core = this.#core, variant = this.#playing = this.#variantOf(context);
        if (!core.track) return;
        const { startTime, endTime } = context.segment;
        this.#loaded = 0;
        this.#estimate = null;
        core.track.chunkS ??= endTime - startTime;
        core.meet(rateOf(variant), () => this.#variants.map(rowOf));
        this.#chunk = this.#chunkOf(context);
        this.#ours = core.requested(this.#chunk, rateOf(variant), abandoning(core,
            () => [this.#loaded + STEP_BYTES], () => this.#ahead(startTime), () => this.#restart())) !== 'player';
    }

    /**
     * Chooses again when the new decision is there. Shaka then cancels the segment if its own estimate says
     * that this is faster, and it may take bits for bytes; any time is short with a bandwidth below 0.
     */
    #restart() {
        this.#estimate = -1;
        return later(0).then(() => this.#own.trySuggestStreams());
    }

    #responded(type, response, context) {
        if (!this.#core.attached || !response.data?.byteLength) return null;
        if (type === SEGMENT && isVideo(context)) return this.#arrived(response, context);
        if (type !== MANIFEST) return null;
        const text = new TextDecoder().decode(response.data), kind = context?.type;
        if (kind === MPD) return this.#manifest(text, response.uri);
        return kind === MASTER_PLAYLIST ? this.#begin({ levels: [], chunkS: null, chunks: 0, profile: readHint(text) }) :
            kind === MEDIA_PLAYLIST && this.#playlist(text, context);
    }

    /* ----- one source ----- */

    #manifest(text, uri) {
        if (this.#live && this.#core.track) return null; // read again; a stream that ends stays live: its session continues
        const plan = readManifest(text, uri);
        const [track] = plan.periods;
        if (!track) return null;
        if (plan.periods.length > 1) {
            track.chunks = 0;
            for (const level of track.levels) level.sizes = level.quality = level.index = null;
        }
        this.#begin(track, plan.live);
        return this.#core.ask(signal => fetchIndexes(track, signal));
    }

    #begin(track, live) {
        this.#live = live;
        this.#playing = null;
        this.#ours = false;
        this.#core.source();
        this.#core.enter(track);
    }

    #playlist(text, context) {
        const { track } = this.#core;
        if (!track || track.chunkS || context.stream?.type === 'audio') return null;
        const { chunkS, chunks, live } = readPlaylist(text);
        Object.assign(track, { levels: ladder(this.#variants.map(rowOf)), chunkS, chunks });
        this.#live = live;
        return this.#core.ask();
    }

    #variantOf({ stream }) { return withSound(this.#variants.filter(v => v.video === stream), this.#playing); }

    /** The number of a chunk. For VOD it is Shaka's own, since chunks may differ in length. */
    #chunkOf({ stream, segment: { startTime } }) {
        const core = this.#core;
        return this.#live ? Math.round((startTime - core.origin(startTime)) / core.track.chunkS) :
            stream.segmentIndex.find(startTime);
    }

    #arrived(response, context) {
        return this.#core.arrived({
            chunk: this.#chunk,
            kbps: rateOf(this.#variantOf(context)),
            bytes: response.data.byteLength,
            download_s: response.timeMs / 1000,
        }, this.#ahead(context.segment.endTime), this.#bufferMaxS());
    }

    /** Media from the playhead to time t. */
    #ahead(t) { return t - (this.#player.getMediaElement()?.currentTime ?? 0); }

    #seek(t) {
        if (this.#live || !this.#core.track) return;
        // Shaka looks slightly earlier, since manifests may be inexact
        const { inaccurateManifestTolerance: early = 0 } = this.#player.getConfiguration().streaming;
        const chunk = this.#playing?.video.segmentIndex?.find(Math.max(t - early, 0));
        if (chunk != null) this.#core.seek(chunk);
    }

    /** What Shaka itself would choose on a link without limit: restrictions, screen and element count. */
    #mostKbps() {
        if (this.#core.observed || !this.#variants.length) return NaN;
        const was = this.#estimate;
        this.#estimate = Infinity;
        try {
            return rateOf(this.#ownChoice());
        } finally {
            this.#estimate = was;
        }
    }

    #bufferMaxS() { return this.#player.getConfiguration().streaming.bufferingGoal; }
}

const isVideo = context => context?.type === MEDIA_SEGMENT && context.stream?.type === 'video' &&
    context.segment;
const rateOf = variant => (variant?.video?.bandwidth || variant?.bandwidth) / 1000;
/** The variant with the sound of another one, else the first. */
const withSound = (variants, other) => variants.find(v => v.audio === other?.audio) ?? variants[0];
const rowOf = variant => [rateOf(variant), variant.video?.width, variant.video?.height];

/** Whether abr.restrictions allow a variant; properties that it does not state are allowed. */
function isAllowed({ bandwidth, video }, limits) {
    const fits = (of, x) => !(x < limits[`min${of}`] || x > limits[`max${of}`]);
    return fits('Bandwidth', bandwidth) && fits('Width', video?.width) && fits('Height', video?.height);
}

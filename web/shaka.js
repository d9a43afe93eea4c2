/**
 * shaka.js - lets an abrd daemon choose the bitrate of every segment that Shaka Player 5 plays.
 *
 *     import { attach } from '@abrd/player/shaka';
 *     const player = new shaka.Player();
 *     await player.attach(video);
 *     const abrd = attach(player, { server: 'http://127.0.0.1:8080', profile: 'news' });
 *     await player.load('https://example.org/video.mpd');
 *
 * attach() comes before load(). It wraps the manager that the configured abrFactory makes.
 *
 * Shaka is held in its response filter: the manifest (with HLS the first media playlist) for the
 * answer to chunk 0, each segment for that to the next. The manager gives the answer as the variant
 * to play while it fits, and else its own choice (core.js). It is asked when the segment has been
 * appended, not before: Shaka gives up what it is loading when the variant changes meanwhile.
 *
 * Download time is what Shaka says it took. The buffer is what the player will hold when it asks for
 * the next chunk: media up to the end of the arrived one, but no more than bufferingGoal. Several
 * periods are one session. With HLS the first segment may be the player's own choice, as the variant
 * is chosen before any playlist tells how long a chunk is.
 *
 * @module abrd/shaka
 */

import { Core, guard, ladder, sameRate } from './lib/core.js';
import { readManifest } from './lib/manifest.js';
import { watch } from './lib/media.js';
import { readHint, readPlaylist } from './lib/playlist.js';
import { fetchIndexes } from './lib/sidx.js';

// shaka.net.NetworkingEngine.RequestType and AdvancedRequestType
const MANIFEST = 0, SEGMENT = 1;
const MEDIA_SEGMENT = 1, MEDIA_PLAYLIST = 2, MASTER_PLAYLIST = 3, MPD = 4;

/**
 * Puts the daemon in charge of the video bitrate. Call it before player.load().
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
    #startS = 0;        // where chunk 0 begins; live: null before the first request
    #variants = [];
    #own = null;        // the manager of the player
    #playing = null;    // variant of the segment under way
    #ours = false;      // it was decided, and nothing is known of the next: stay
    #unwatch = () => {};

    constructor(player, options) {
        this.#player = player;
        this.#core = new Core(options, () => player.getConfiguration().streaming.bufferingGoal);
        this.#install();
        this.handle = this.#core.handle();
    }

    #install() {
        const p = this.#player, core = this.#core;
        const { abrFactory, streaming } = p.getConfiguration();
        // what is fetched ahead was chosen before the answer
        p.configure({ abrFactory: () => this.#wrap(abrFactory()), streaming: { disableVideoPrefetch: true } });
        core.undo(() => p.configure({
            abrFactory, streaming: { disableVideoPrefetch: streaming.disableVideoPrefetch },
        }));

        const net = p.getNetworkingEngine();
        const before = (type, request, context) => guard(() => this.#requested(type, context));
        const after = (type, response, context) => guard(() => this.#responded(type, response, context));
        net.registerRequestFilter(before);
        net.registerResponseFilter(after);
        core.undo(() => net.unregisterRequestFilter(before));
        core.undo(() => net.unregisterResponseFilter(after));

        const listen = (event, fn) => {
            p.addEventListener(event, fn);
            core.undo(() => p.removeEventListener(event, fn));
        };
        listen('segmentappended', e => { if (e.contentType === 'video') this.#turn(); });
        listen('unloading', () => { this.#ours = false; this.#unwatch(); core.forget(); });
        core.undo(() => this.#unwatch());
    }

    /* ----- what Shaka calls ----- */

    #wrap(own) {
        this.#own = own;
        const instead = (name, fn) => {
            const was = own[name].bind(own);
            own[name] = (...args) => fn(was, ...args);
        };
        instead('setVariants', (was, variants, ...more) => {
            this.#variants = variants;
            return was(variants, ...more);
        });
        instead('chooseVariant', (was, ...args) => this.#choose(() => was(...args)));
        instead('setMediaElement', (was, media) => {
            this.#unwatch();
            this.#unwatch = media && this.#core.attached ?
                watch(media, this.#core, t => this.#seek(t)) : () => {};
            was(media);
        });
        return own;
    }

    #choose(own) {
        const d = this.#core.choice();
        if (!d) return this.#ours && this.#playing || own();
        const fitting = this.#variants.filter(v => sameRate(rateOf(v), d.kbps));
        if (!fitting.length) return own();
        const sound = (this.#playing ?? own())?.audio;
        return fitting.find(v => v.audio === sound) ?? fitting[0];
    }

    /** A segment is in the buffer: what comes next? */
    #turn() {
        this.#ours = false;
        if (this.#core.attached) this.#own.trySuggestStreams(); // none while ABR is switched off
    }

    #requested(type, context) {
        if (type !== SEGMENT || !isVideo(context)) return;
        this.#meet(context);
        const variant = this.#variantOf(context);
        this.#playing = variant;
        this.#ours = this.#core.requested(this.#chunkOf(context), this.#levelOf(context)) !== 'player';
    }

    #responded(type, response, context) {
        if (!this.#core.attached || !response.data?.byteLength) return null;
        if (type === SEGMENT && isVideo(context)) return this.#arrived(response, context);
        if (type !== MANIFEST) return null;
        const text = new TextDecoder().decode(response.data);
        const read = { [MPD]: this.#manifest, [MASTER_PLAYLIST]: this.#master, [MEDIA_PLAYLIST]: this.#playlist };
        return read[context?.type]?.call(this, text, response, context);
    }

    /* ----- the way of one source ----- */

    #manifest(text, { uri }) {
        const plan = readManifest(text, uri);
        if (this.#live && plan.live && this.#core.track) return null; // read again
        const [track] = plan.periods;
        if (!track) return null;
        if (plan.periods.length > 1) {
            track.chunks = 0;
            for (const level of track.levels) level.sizes = level.index = null;
        }
        this.#begin(track, plan.live);
        const indexed = track.levels[0]?.index;
        return this.#core.ask(indexed ? signal => fetchIndexes(track, signal) : undefined);
    }

    #master(text) {
        this.#begin({ levels: [], chunkS: null, chunks: 0, profile: readHint(text) });
    }

    #begin(track, live) {
        this.#count(live);
        this.#playing = null;
        this.#ours = false;
        this.#core.source();
        this.#core.enter(track);
    }

    #count(live) {
        this.#live = live;
        this.#startS = live ? null : 0;
    }

    #playlist(text, _, context) {
        const { track } = this.#core;
        if (!track || track.chunkS || context.stream?.type === 'audio') return null;
        const { chunkS, chunks, live } = readPlaylist(text);
        Object.assign(track, { levels: this.#ladder(), chunkS, chunks });
        this.#count(live);
        return this.#core.ask();
    }

    /** A chunk is on its way: is it on the ladder that we think? */
    #meet(context) {
        const { segment } = context, { track } = this.#core;
        if (!track) return;
        track.chunkS ??= segment.endTime - segment.startTime;
        if (this.#levelOf(context) < 0) {
            this.#core.reopen();
            track.levels = this.#ladder();
        }
        if (this.#live && (this.#startS === null || segment.startTime < this.#startS - .01)) {
            if (this.#startS !== null) this.#core.reopen(); // chunk numbers are not negative
            this.#startS = segment.startTime;
        }
    }

    #ladder() { return ladder(this.#variants.map(rateOf)); }

    #variantOf({ stream }) {
        const fitting = this.#variants.filter(v => v.video === stream);
        return fitting.find(v => v.audio === this.#playing?.audio) ?? fitting[0];
    }

    #levelOf(context) {
        const variant = this.#variantOf(context);
        return variant && this.#core.track ?
            this.#core.track.levels.findIndex(l => sameRate(l.kbps, rateOf(variant))) : -1;
    }

    #chunkOf({ segment }) {
        return Math.round((segment.startTime - this.#startS) / this.#core.track.chunkS);
    }

    #arrived(response, context) {
        if (!this.#core.track) return null;
        return this.#core.arrived({
            chunk: this.#chunkOf(context),
            level: this.#levelOf(context),
            bytes: response.data.byteLength,
            download_s: Math.max(response.timeMs / 1000 || 0, 1e-4),
        }, this.#bufferAfter(context.segment));
    }

    #seek(t) {
        const { track } = this.#core;
        if (!track?.chunkS || this.#live) return;
        // Shaka looks a little before, as manifests may be inexact
        const { inaccurateManifestTolerance: early = 0 } = this.#player.getConfiguration().streaming;
        this.#core.seek(Math.floor(Math.max(t - early, 0) / track.chunkS + 1e-6));
    }

    /* ----- measuring ----- */

    #bufferAfter(segment) {
        const held = segment.endTime - (this.#player.getMediaElement()?.currentTime ?? 0);
        return Math.min(Math.max(held || 0, 0), this.#player.getConfiguration().streaming.bufferingGoal);
    }
}

const isVideo = context => context?.type === MEDIA_SEGMENT && context.stream?.type === 'video' &&
    context.segment;
const rateOf = variant => (variant.video?.bandwidth || variant.bandwidth) / 1000;

/**
 * hlsjs.js - lets an abrd daemon choose the bitrate of every fragment that hls.js 1.x plays.
 *
 *     import { attach } from '@abrd/player/hlsjs';
 *     const abrd = attach(Hls, { server: 'http://127.0.0.1:8080', profile: 'live' });
 *     const hls = new Hls({ abrController: abrd.controller });
 *     hls.loadSource('https://example.org/video.m3u8');
 *     hls.attachMedia(video);
 *
 * hls.js is held in its loaders: the first level playlist, which has the lengths and the number of chunks,
 * until the decision for chunk 0, each fragment until the decision for the next one. The controller
 * extends that of hls.js. It returns the decision as the next level if it fits, else the choice of its
 * base class (core.js).
 *
 * A fragment is abandoned (abandon.js) with the event of hls.js's own rule.
 *
 * Download time runs from the request to the last byte. The buffer is what the player will hold when
 * it requests the next chunk: media up to the end of the arrived one, but no more than the length at
 * which hls.js stops requesting at that level. hls.js itself decides for streams in parts (low latency).
 *
 * @module abrd/hlsjs
 */

import { abandoning } from './lib/abandon.js';
import { Core, guard, ladder, sameRate } from './lib/core.js';
import { watch } from './lib/media.js';
import { PROFILE_ID, readPlaylist } from './lib/playlist.js';

/**
 * Creates the controller for one player. Call attach() once per player.
 * @param {object} Hls the class of hls.js
 * @param {import('./lib/types').Options} [options]
 * @returns {import('./hlsjs').HlsHandle}
 */
export function attach(Hls, options = {}) {
    const adapter = new Adapter(options);

    /** The class for `abrController` in the configuration. */
    class AbrdController extends Hls.DefaultConfig.abrController {
        constructor(hls) {
            super(hls);
            adapter.install(hls, Hls.Events);
        }

        get nextAutoLevel() {
            const level = adapter.hls === this.hls ? guard(() => adapter.choice()) : -1;
            return level >= 0 ? level : super.nextAutoLevel;
        }

        set nextAutoLevel(level) {
            if (adapter.hls === this.hls) guard(() => adapter.turn(level));
            super.nextAutoLevel = level;
        }

        /** hls.js starts a timer that may abandon the fragment: not for a fragment that was decided. */
        onFragLoading(event, data) {
            super.onFragLoading(event, data);
            if (adapter.decided(data.frag)) this.clearTimer();
        }
    }
    return adapter.core.handle({ controller: AbrdController });
}

class Adapter {
    hls = null;
    #aborted;           // name of the event
    #profile = null;    // the playlist's hint
    #decided = null;    // current fragment, unless the player chose it
    #turned = false;    // after an error hls.js left the decided level

    constructor(options) {
        this.core = new Core(options, track => this.#bufferMaxS(track.levels[0].kbps),
            () => this.hls?.levels[this.hls.maxAutoLevel]?.bitrate / 1000);
    }

    /** Only the first player is controlled. */
    install(hls, Events) {
        if (this.hls) return console.error('abrd: attach() is for one player; call it again for another');
        this.hls = hls;
        return this.core.install(() => this.#install(hls, Events));
    }

    #install(hls, Events) {
        this.#aborted = Events.FRAG_LOAD_EMERGENCY_ABORTED;
        const { core } = this, { config } = hls;
        const ours = {
            fLoader: held(config.fLoader ?? config.loader, context => this.#requested(context)),
            pLoader: held(config.pLoader ?? config.loader, context => this.#playlist(context)),
        };
        for (const [name, value] of Object.entries(ours)) {
            const was = config[name];
            config[name] = value;
            // others (CMCD) may have wrapped the plugin's loader since; after detach it does nothing
            core.undo(() => { if (config[name] === value) config[name] = was; });
        }
        for (const name of ['maxBufferLength', 'maxMaxBufferLength', 'testBandwidth']) {
            // the test would fetch a fragment that is not played
            const was = config[name], value = name > 't' ? false : core.bufferS(was);
            core.observing(observed => { config[name] = observed ? was : value; });
            core.undo(() => { if (config[name] === value) config[name] = was; });
        }

        const listen = (event, fn) => core.tie(hls, 'on', 'off', event, fn);
        let unwatch = () => {};
        const unwatchNow = () => { unwatch(); unwatch = () => {}; };
        listen(Events.MEDIA_ATTACHED, (_, { media }) => {
            unwatchNow();
            unwatch = watch(media, core, t => this.#seek(t));
        });
        listen(Events.MEDIA_DETACHED, unwatchNow);
        core.undo(unwatchNow);
        listen(Events.MANIFEST_LOADING, () => {
            this.#decided = null; // hls.js cancels it
            core.forget();
        });
        listen(Events.MANIFEST_PARSED, (_, { sessionData }) => {
            this.#profile = sessionData?.[PROFILE_ID]?.VALUE ?? null;
            this.#turned = false;
            core.source();
        });
        // a level that the browser cannot decode is gone
        listen(Events.LEVELS_UPDATED, () => core.track && core.meet(NaN, () => this.#rows()));
        listen(Events.DESTROYING, () => core.forget());
    }

    /* ----- called by the controller ----- */

    /** Index into hls.levels of the decision for the next fragment; -1: none. */
    choice() {
        if (this.#turned) return -1;
        const d = this.core.choice();
        // a fragment that is requested again keeps its decision
        if (!d) return this.core.attached ? this.#decided?.level ?? -1 : -1;
        return this.#levelOf(d.kbps);
    }

    /** hls.js sets the next level: at every tick the decided one or, after an error, another one. */
    turn(level) {
        const ours = this.choice();
        if (ours >= 0 && level !== ours) this.#turned = true; // until the next request for a fragment
    }

    /** Index into hls.levels, among the levels that hls.js may choose; -1: none. */
    #levelOf(kbps) {
        const { levels, minAutoLevel, maxAutoLevel } = this.hls;
        return levels.findIndex((l, i) => i >= minAutoLevel && i <= maxAutoLevel && this.#isAlike(l) && rateIs(l, kbps));
    }

    /** Whether a level has the codecs of the current one: hls.js stays with them. */
    #isAlike(level) {
        const { levels, loadLevel } = this.hls, now = levels[loadLevel] ?? level;
        return level.codecSet === now.codecSet && level.videoRange === now.videoRange;
    }

    #rows() {
        return this.hls.levels.filter(l => this.#isAlike(l)).map(l => [l.bitrate / 1000, l.width, l.height]);
    }

    decided(frag) { return frag === this.#decided; }

    /* ----- one source ----- */

    /** A playlist is requested; the first one of the video is held. */
    #playlist({ type }) {
        if (type !== 'level') return null;
        return ({ data }) => {
            if (!this.core.attached || this.core.track || typeof data !== 'string') return null;
            const track = this.#track(data);
            this.core.enter(track);
            return this.core.ask();
        };
    }

    #track(playlist) {
        const { chunkS, chunks } = readPlaylist(playlist);
        return {
            levels: ladder(this.#rows()),
            chunkS,
            chunks,
            profile: this.#profile,
        };
    }

    /** A fragment is requested. This call comes before the events of the fragment. */
    #requested({ frag, part }) {
        const { core } = this;
        if (!core.attached || !core.track || !isVideo(frag) || part) return null;
        const details = this.hls.levels[frag.level]?.details;
        if (!details) return null;

        // as live or not when it was first seen: a live stream may end, and its numbers continue
        const chunk = frag.sn - (core.track.chunks ? details.startSN : core.origin(frag.sn));
        const kbps = this.hls.levels[frag.level].bitrate / 1000;
        this.#turned = false;
        core.meet(kbps, () => this.#rows());
        const by = core.requested(chunk, kbps, abandoning(core,
            () => [frag.stats.loaded, frag.stats.total],
            () => this.#ahead(frag.start),
            other => this.#restart(frag, other)));
        this.#decided = by === 'player' ? null : frag;

        return async ({ data }, { loading }) => {
            await core.arrived({
                chunk,
                kbps,
                bytes: data.byteLength,
                download_s: (loading.end - loading.start) / 1000,
            }, this.#ahead(frag.end), this.#bufferMaxS(kbps));
            this.#decided = null;
        };
    }

    /** Abandons a fragment as hls.js's own rules do; choice() then returns another level for it. */
    #restart(frag, kbps) {
        const hls = this.hls, { stats } = frag;
        if (!hls.autoLevelEnabled || this.#levelOf(kbps) < 0) return false;
        frag.abortRequests();
        hls.trigger(this.#aborted, { frag, part: null, stats });
        return true;
    }

    #seek(t) {
        this.#decided = null; // hls.js cancels it
        const { track } = this.core;
        const details = this.hls.levels[this.hls.loadLevel]?.details;
        if (!track?.chunks || !details) return;
        const frag = details.fragments.find(f => t >= f.start - 1e-3 && t < f.end - 1e-3);
        if (frag) this.core.seek(frag.sn - details.startSN);
    }

    /* ----- measuring ----- */

    /** Media from the playhead to time t. hls.js seeks to its start once the first fragment is buffered. */
    #ahead(t) {
        const { media, hasEnoughToStart, startPosition } = this.hls;
        return t - Math.max(media?.currentTime ?? 0, hasEnoughToStart === false ? startPosition : 0);
    }

    /** Buffer at which hls.js stops requesting, at a bitrate. */
    #bufferMaxS(kbps) {
        const { maxBufferSize, maxBufferLength, maxMaxBufferLength } = this.hls.config;
        return Math.min(Math.max(maxBufferSize * 8 / 1000 / kbps, maxBufferLength), maxMaxBufferLength);
    }
}

const isVideo = frag => frag?.type === 'main' && typeof frag.sn === 'number' && !frag.bitrateTest;
const rateIs = (level, kbps) => sameRate(level.bitrate / 1000, kbps);

/**
 * A loader that holds what has arrived until the function from `begin` settles.
 * @param {object} Loader class of hls.js's loader interface
 * @param {(context: object) => ((response, stats) => Promise|null)|null} begin called for every
 *     load; the returned function is called with the answer
 */
function held(Loader, begin) {
    return class extends Loader {
        #gone = false; // aborted while it was held

        load(context, config, callbacks) {
            const arrived = guard(begin, context);
            if (!arrived) return super.load(context, config, callbacks);
            return super.load(context, config, {
                ...callbacks,
                onSuccess: async (...answer) => {
                    await guard(arrived, ...answer);
                    if (!this.#gone) callbacks.onSuccess(...answer);
                },
            });
        }

        abort() {
            this.#gone = true;
            super.abort();
        }

        destroy() {
            this.#gone = true;
            super.destroy();
        }
    };
}

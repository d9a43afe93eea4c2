/**
 * hlsjs.js - lets an abrd daemon choose the bitrate of every fragment that hls.js 1.x plays.
 *
 *     import { attach } from '@abrd/player/hlsjs';
 *     const abrd = attach(Hls, { server: 'http://127.0.0.1:8080', profile: 'live' });
 *     const hls = new Hls({ abrController: abrd.controller });
 *     hls.loadSource('https://example.org/video.m3u8');
 *     hls.attachMedia(video);
 *
 * hls.js is held where it loads: the first level playlist, which tells lengths and number of the
 * chunks, for the answer to chunk 0, each fragment for that to the next. The controller, which
 * extends hls.js's own, gives the answer as the next level while it fits, and else what its base
 * class says (core.js).
 *
 * A fragment that the daemon no longer wants (abandon.js) is given up by the event of hls.js's own rule.
 *
 * Download time runs from the request to the last byte. The buffer is what the player will hold when
 * it asks for the next chunk: media up to the end of the arrived one, but no more than the length at
 * which hls.js stops asking at that level. Of a stream in parts (low latency) hls.js chooses itself.
 *
 * @module abrd/hlsjs
 */

import { abandoning } from './lib/abandon.js';
import { Core, guard, ladder, sameRate } from './lib/core.js';
import { watch } from './lib/media.js';
import { PROFILE_ID, readPlaylist } from './lib/playlist.js';

/**
 * One player's controller. Every player needs an attach() of its own.
 * @param {object} Hls the class of hls.js
 * @param {import('./lib/types').Options} [options]
 * @returns {import('./hlsjs').HlsHandle}
 */
export function attach(Hls, options = {}) {
    const adapter = new Adapter(options);

    /** What `abrController` of the configuration takes. */
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

        /** Begins to watch for a fragment that is better given up: not one that was decided. */
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
    #decided = null;    // fragment under way that was not the player's choice
    #turned = false;    // hls.js left the level that was decided, after an error

    constructor(options) {
        this.core = new Core(options, track => this.#bufferMaxS(track.levels[0].kbps));
    }

    /** Only its first player is steered. */
    install(hls, Events) {
        if (this.hls) return console.error('abrd: attach() is for one player; call it again for another');
        this.hls = hls;
        return this.core.install(() => this.#install(hls, Events));
    }

    #install(hls, Events) {
        this.#aborted = Events.FRAG_LOAD_EMERGENCY_ABORTED;
        const { core } = this, { config } = hls;
        const ours = {
            testBandwidth: false, // it fetches a fragment that is thrown away
            fLoader: held(config.fLoader ?? config.loader, context => this.#requested(context)),
            pLoader: held(config.pLoader ?? config.loader, context => this.#playlist(context)),
        };
        for (const [name, value] of Object.entries(ours)) {
            const was = config[name];
            config[name] = value;
            // others (CMCD) may have put theirs around ours since; detached, ours does nothing in there
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
        listen(Events.MANIFEST_LOADING, () => core.forget());
        listen(Events.MANIFEST_PARSED, (_, { sessionData }) => {
            this.#profile = sessionData?.[PROFILE_ID]?.VALUE ?? null;
            this.#turned = false;
            core.source();
        });
        listen(Events.DESTROYING, () => core.forget());
    }

    /* ----- what the controller asks ----- */

    /** Index into hls.levels of what was decided for the next fragment; -1: nothing. */
    choice() {
        if (this.#turned) return -1;
        const d = this.core.choice();
        // given up and asked for again: what was decided for it
        if (!d) return this.core.attached ? this.#decided?.level ?? -1 : -1;
        return this.#levelOf(d.kbps);
    }

    /** hls.js sets the next level: what it is told at every tick, or, after an error, another one. */
    turn(level) {
        const ours = this.choice();
        if (ours >= 0 && level !== ours) this.#turned = true; // until it asks for a fragment
    }

    /** Index into hls.levels, among those that hls.js may choose; -1: none. */
    #levelOf(kbps) {
        const { levels, minAutoLevel, maxAutoLevel } = this.hls;
        return levels.findIndex((l, i) => i >= minAutoLevel && i <= maxAutoLevel && rateIs(l, kbps));
    }

    decided(frag) { return frag === this.#decided; }

    /* ----- the way of one source ----- */

    /** A playlist is asked for; of the first one of the video the answer is held. */
    #playlist({ type }) {
        if (type !== 'level' || !this.core.attached) return null;
        return ({ data }) => {
            if (this.core.track || typeof data !== 'string') return null;
            const track = this.#track(data);
            this.core.enter(track);
            return this.core.ask();
        };
    }

    #track(playlist) {
        const { chunkS, chunks } = readPlaylist(playlist);
        return {
            levels: ladder(this.hls.levels.map(l => l.bitrate / 1000)),
            chunkS,
            chunks,
            profile: this.#profile,
        };
    }

    /** A fragment is asked for; that it comes before the fragment's events is of no matter. */
    #requested({ frag, part }) {
        const { core } = this;
        if (!core.attached || !core.track || !isVideo(frag) || part) return null;
        const details = this.hls.levels[frag.level]?.details;
        if (!details) return null;

        // by what it was when it was met: a live stream may end, and its numbers go on
        const chunk = frag.sn - (core.track.chunks ? details.startSN : core.origin(frag.sn));
        const kbps = this.hls.levels[frag.level].bitrate / 1000;
        this.#turned = false;
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

    /** What gives a fragment up, as hls.js's own rules do; the choice for it is then another. */
    #restart(frag, kbps) {
        const hls = this.hls, { stats } = frag;
        if (!hls.autoLevelEnabled || this.#levelOf(kbps) < 0) return false;
        frag.abortRequests();
        hls.trigger(this.#aborted, { frag, part: null, stats });
        return true;
    }

    #seek(t) {
        this.#decided = null; // hls.js gives it up
        const { track } = this.core;
        const details = this.hls.levels[this.hls.loadLevel]?.details;
        if (!track?.chunks || !details) return;
        const frag = details.fragments.find(f => t >= f.start - 1e-3 && t < f.end - 1e-3);
        if (frag) this.core.seek(frag.sn - details.startSN);
    }

    /* ----- measuring ----- */

    /** Media from the picture to time t. hls.js goes to where it starts once the first fragment is buffered. */
    #ahead(t) {
        const { media, hasEnoughToStart, startPosition } = this.hls;
        return t - Math.max(media?.currentTime ?? 0, hasEnoughToStart === false ? startPosition : 0);
    }

    /** Media beyond which hls.js asks for nothing more at a bitrate. */
    #bufferMaxS(kbps) {
        const { maxBufferSize, maxBufferLength, maxMaxBufferLength } = this.hls.config;
        return Math.min(Math.max(maxBufferSize * 8 / 1000 / kbps, maxBufferLength), maxMaxBufferLength);
    }
}

const isVideo = frag => frag?.type === 'main' && typeof frag.sn === 'number' && !frag.bitrateTest;
const rateIs = (level, kbps) => sameRate(level.bitrate / 1000, kbps);

/**
 * A loader that keeps what has arrived for as long as `begin` says.
 * @param {object} Loader class of hls.js's loader interface
 * @param {(context: object) => ((response, stats) => Promise|null)|null} begin is called for every
 *     load, what it returns with the answer
 */
function held(Loader, begin) {
    return class extends Loader {
        #gone = false; // given up while it was held

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

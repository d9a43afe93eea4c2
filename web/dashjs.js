/**
 * dashjs.js - lets an abrd daemon choose the bitrate of every chunk that dash.js 5 plays.
 *
 *     import { attach } from '@abrd/player/dashjs';
 *     const player = dashjs.MediaPlayer().create();
 *     const abrd = attach(player, { server: 'http://127.0.0.1:8080', profile: 'live' });
 *     player.initialize(video, 'https://example.org/video.mpd', true);
 *
 * attach() comes before initialize(); the player stays as it is, no file of it is changed.
 *
 * dash.js is held in its response interceptor: the manifest until the decision for chunk 0, each chunk
 * until the decision for the next one. Before each request dash.js asks a rule of the plugin. It returns
 * the decision with priority STRONG if it is for that chunk, and "no change" otherwise (core.js).
 *
 * A chunk is abandoned (abandon.js) with the same call that dash.js's own rules make, but higher levels
 * are not excluded for a time afterwards.
 *
 * Download time runs from the request to the last byte. The buffer is what the player will hold
 * when it requests the next chunk: media up to the end of the arrived chunk, but no more than the
 * buffer at which dash.js stops requesting.
 *
 * @module abrd/dashjs
 */

import { abandoning } from './lib/abandon.js';
import { Core, guard, now, sameRate } from './lib/core.js';
import { readManifest } from './lib/manifest.js';
import { isBuffered } from './lib/media.js';
import { fetchIndexes } from './lib/sidx.js';

const STRONG = 1; // SwitchRequest.PRIORITY.STRONG of dash.js
const RULE_NAME = 'AbrdRule';
/** Settings of the buffer: below the top level, at it, at it in a long video. */
const LIMITS = ['bufferTimeDefault', 'bufferTimeAtTopQuality', 'bufferTimeAtTopQualityLongForm'];

/**
 * Lets the daemon decide the video bitrate. Call it before player.initialize().
 * @param {object} player a dash.js 5 MediaPlayer
 * @param {import('./lib/types').Options} [options]
 * @returns {import('./lib/types').Handle}
 */
export function attach(player, options = {}) {
    return new Adapter(player, options).handle;
}

class Adapter {
    #player;
    #core;
    #plan = null;       // {live, durationS, periods}
    #sounds = new Set(); // requests for sound under way
    #heard = 0;         // bytes of those that have arrived
    #startedAt;         // when the current chunk was requested [s]
    #asked = null;      // the newest context of dash.js's questions
    #context = null;    // in which dash.js asked for the next level; null: it did not ask

    constructor(player, options) {
        this.#player = player;
        this.#core = new Core(options, track => Math.max(...this.#bufferLimits(track.chunkS)), () => this.#mostKbps(),
            () => [this.#asked && rateOf(player.getCurrentRepresentationForType('audio')),
                [...this.#sounds].reduce((n, r) => n + (r.bytesLoaded || 0), this.#heard)]);
        this.#core.install(() => this.#install());
        this.handle = this.#core.handle();
    }

    #install() {
        const p = this.#player, core = this.#core;
        // a fast switch would download buffered chunks again; an abandoned request would request a chunk
        // twice
        const set = (buffer, active, fragmentRequestTimeout) => p.updateSettings({ streaming: {
            buffer, fragmentRequestTimeout, abr: { rules: { abandonRequestsRule: { active } } },
        } });
        const { abr: { rules }, buffer, fragmentRequestTimeout: limit } = p.getSettings().streaming;
        const { active } = rules.abandonRequestsRule;
        const was = { fastSwitchEnabled: buffer.fastSwitchEnabled }, ours = { fastSwitchEnabled: false };
        for (const name of LIMITS) ours[name] = core.bufferS(was[name] = buffer[name]);
        // after 20 s dash.js would request the same level again, and stop after three times
        core.observing(observed => (observed ? set(was, active, limit) : set(ours, false, limit && Math.max(limit, 6e4))));
        core.undo(() => set(was, active, limit));

        const rule = {
            getClassName: () => RULE_NAME,
            getSwitchRequest: context => this.#switchRequest(context),
        };
        p.addABRCustomRule('qualitySwitchRules', RULE_NAME, () => ({ create: () => rule }));
        core.undo(() => p.removeABRCustomRule(RULE_NAME));

        core.tie(p, 'addRequestInterceptor', 'removeRequestInterceptor',
            async r => { guard(() => this.#requested(r)); return r; }); // r, whatever happens
        core.tie(p, 'addResponseInterceptor', 'removeResponseInterceptor',
            async r => { await guard(() => this.#responded(r)); return r; });

        const listen = (event, fn) => core.tie(p, 'on', 'off', event, fn);
        listen('playbackWaiting', () => core.waiting());
        listen('playbackPlaying', () => core.playing());
        listen('playbackPaused', () => core.paused());
        listen('playbackSeeking', e => this.#seeking(e));
        listen('streamTeardownComplete', () => {
            this.#plan = this.#asked = null;
            core.forget();
        });
    }

    /* ----- called by dash.js ----- */

    /** Called before every request for its representation. Synchronous. */
    #switchRequest(context) {
        const core = this.#core;
        const [abrd, representation] = guard(() => {
            if (context.getMediaType() !== 'video') return [];
            this.#asked = this.#context = context;
            const d = context.getStreamInfo().id === core.track?.id && core.choice();
            // BOLA is asked as well, and delays requests so that lower levels do not fill the buffer
            if (d) context.getScheduleController?.().setTimeToLoadDelay(0);
            return [d, d && representationOf(context, d.kbps)];
        }) ?? [];
        return { representation: representation || null, priority: STRONG, rule: RULE_NAME, reason: { abrd } };
    }

    #requested(r) {
        const request = r.customData?.request;
        if (isSegment(request, 'audio')) this.#sounds.add(request);
        if (!isSegment(request, 'video')) return;
        this.#startedAt = now();
        this.#meet(request);
        const context = this.#context;
        this.#context = null;
        this.#core.requested(this.#chunkOf(request), rateOf(request), context && abandoning(this.#core,
            () => [request.bytesLoaded || 0, request.bytesTotal],
            () => this.#ahead(request.startTime),
            kbps => {
                const representation = representationOf(context, kbps);
                return representation && context.getAbrController().setPlaybackQuality('video',
                    context.getStreamInfo(), representation, { forceAbandon: true });
            }));
    }

    async #responded(r) {
        const request = r.request?.customData?.request;
        if (this.#sounds.delete(request)) this.#heard += r.data?.byteLength || 0;
        if (!this.#core.attached || !request || !r.data || r.status > 299) return;
        if (request.type === 'MPD') await this.#manifest(r.data, r.url || request.url);
        else if (isSegment(request, 'video')) await this.#arrived(request, r.data);
        // before the first chunk: the player has chosen among the codecs
        else if (request.type === 'InitializationSegment' && request.mediaType === 'video' &&
            idOf(request) === this.#core.track?.id && this.#ladder(request)) await this.#core.ask();
    }

    /* ----- one source ----- */

    async #manifest(text, url) {
        const plan = readManifest(text, url);
        if (!plan.periods.length) return; // a patch: the plan stays
        const again = this.#plan?.live;
        this.#plan = plan;
        if (again) { // a stream that ends stays live: its session continues
            plan.live = true;
            for (const period of plan.periods) period.chunks = 0;
            return;
        }
        this.#core.source();
        return this.#begin(plan.periods[0]);
    }

    #begin(period, held) {
        this.#core.enter(period);
        return this.#core.ask(signal => fetchIndexes(period, signal), held);
    }

    /** A chunk was requested: checks that its period and ladder are the expected ones. */
    #meet(request) {
        const id = idOf(request), { mediaFinishedInformation: info } = request.representation;
        if (id !== this.#core.track?.id) {
            this.#core.enter(this.#plan?.periods.find(p => p.id === id) ??
                { id, levels: [], chunkS: null, chunks: 0, profile: null });
        }
        // data that the manifest lacks, or that the player reads differently
        const p = this.#core.track;
        if (!p) return;
        p.chunkS ||= request.duration || null;
        if (!this.#plan?.live) p.chunks ||= info?.numberOfSegments || 0;
        this.#ladder(request);
    }

    /** Compares the ladder with the representations that dash.js has for the period of a request. */
    #ladder(request) {
        return this.#core.meet(rateOf(request), () =>
            this.#player.getRepresentationsByTypeUnfiltered('video', idOf(request)).map(r => [rateOf(r), r.width, r.height]));
    }

    #chunkOf(request) {
        if (!this.#plan?.live) return request.index;
        const core = this.#core, { startTime } = request;
        return Math.round((startTime - core.origin(startTime)) / core.track.chunkS);
    }

    async #arrived(request, data) {
        const core = this.#core, period = core.track, kbps = rateOf(request);
        if (!period) return; // its source has ended
        const atTop = core.levelOf(kbps) === period.levels.length - 1;
        const more = await core.arrived({
            chunk: this.#chunkOf(request),
            kbps,
            bytes: data.byteLength,
            download_s: now() - this.#startedAt,
        }, this.#ahead(request.startTime + request.duration), this.#bufferLimits(request.duration)[+atTop]);
        if (more) return;
        // the last chunk of the period has arrived: open the session of the next period
        const i = this.#plan?.periods.indexOf(period) ?? -1;
        const next = i >= 0 && this.#plan.periods[i + 1];
        if (next) await this.#begin(next, Math.max(this.#ahead(request.startTime + request.duration), 0));
    }

    #seeking({ seekTime: t }) {
        const core = this.#core, video = this.#video(), { chunkS } = core.track ?? {};
        core.seeking();
        if (!chunkS || !video || this.#plan?.live || this.#plan?.periods.length > 1) return;
        t ??= video.currentTime;
        if (!isBuffered(video, t)) core.seek(Math.floor(t / chunkS + 1e-6));
    }

    /** The highest bitrate that the settings allow; before dash.js has asked, as far as they state it. */
    #mostKbps() {
        const { video } = this.#player.getSettings().streaming.abr?.maxBitrate ?? {};
        const all = this.#asked?.getMediaInfo && allowed(this.#asked);
        return all?.length ? rateOf(all.at(-1)) : video > 0 ? video : undefined;
    }

    /* ----- measuring ----- */

    /** Media that dash.js holds when it requests a chunk: below the top level, and at it. */
    #bufferLimits(chunkS) {
        const b = this.#player.getSettings().streaming.buffer;
        const long = this.#plan?.durationS >= b.longFormContentDurationThreshold;
        const top = long ? b.bufferTimeAtTopQualityLongForm : b.bufferTimeAtTopQuality;
        const usual = b.bufferTimeDefault;
        return [usual, top].map(target => Math.max(target - chunkS, chunkS));
    }

    /** Media from the playhead to time t. */
    #ahead(t) { return t - (this.#video()?.currentTime ?? 0); }

    #video() {
        try { return this.#player.getVideoElement(); } catch { return null; } // none attached yet
    }
}

// dash.js fetches the index of SegmentBase as a segment without a number
const isSegment = (r, kind) => r?.type === 'MediaSegment' && r.mediaType === kind && r.index >= 0;
const rateOf = r => (r?.representation ?? r)?.bandwidth / 1000;
const idOf = request => request.representation.mediaInfo.streamInfo.id;

/** The representations that dash.js may play, ascending. */
const allowed = context => context.getAbrController()
    .getPossibleVoRepresentationsFilteredBySettings(context.getMediaInfo(), true);
/** The one of them at a bitrate. */
const representationOf = (context, kbps) => allowed(context).find(r => sameRate(rateOf(r), kbps));

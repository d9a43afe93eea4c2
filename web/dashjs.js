/**
 * dashjs.js - lets an abrd daemon choose the bitrate of every chunk that dash.js 5 plays.
 *
 *     import { attach } from '@abrd/player/dashjs';
 *     const player = dashjs.MediaPlayer().create();
 *     const abrd = attach(player, { server: 'http://127.0.0.1:8080', profile: 'news' });
 *     player.initialize(video, 'https://example.org/video.mpd', true);
 *
 * attach() comes before initialize(); the player stays as it is, no file of it is changed.
 *
 * dash.js is held in its response interceptor: the manifest for the answer to chunk 0, each chunk
 * for that to the next. The rule that it asks before its next request gives the answer with
 * priority STRONG if it is for that chunk, and "no change" otherwise (core.js).
 *
 * Download time runs from the request to the last byte. The buffer is what the player will hold
 * when it asks for the next chunk: media up to the end of the arrived chunk, but no more than the
 * level at which dash.js stops asking.
 *
 * @module abrd/dashjs
 */

import { Core, guard, now, sameRate } from './lib/core.js';
import { readManifest } from './lib/manifest.js';
import { isBuffered } from './lib/media.js';
import { fetchIndexes } from './lib/sidx.js';

const STRONG = 1; // SwitchRequest.PRIORITY.STRONG of dash.js
const RULE_NAME = 'AbrdRule';

/**
 * Puts the daemon in charge of the video bitrate. Call it before player.initialize().
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
    #startedAt = new WeakMap(); // request -> performance time [s]

    constructor(player, options) {
        this.#player = player;
        this.#core = new Core(options, track => this.#bufferLimits(track.chunkS).most);
        this.#install();
        this.handle = this.#core.handle();
    }

    #install() {
        const p = this.#player, core = this.#core;
        const { abr, buffer } = p.getSettings().streaming;
        const was = {
            fast: buffer.fastSwitchEnabled, abandon: abr.rules.abandonRequestsRule.active,
        };
        // a fast switch would download chunks again that are in the buffer; an abandoned
        // request would ask twice for one chunk
        const set = (fast, abandon) => p.updateSettings({ streaming: {
            buffer: { fastSwitchEnabled: fast },
            abr: { rules: { abandonRequestsRule: { active: abandon } } },
        } });
        set(false, false);
        core.undo(() => set(was.fast, was.abandon));

        const rule = {
            getClassName: () => RULE_NAME,
            getSwitchRequest: context => this.#switchRequest(context),
            reset() {},
        };
        p.addABRCustomRule('qualitySwitchRules', RULE_NAME, () => ({ create: () => rule }));
        core.undo(() => p.removeABRCustomRule(RULE_NAME));

        core.tie(p, 'addRequestInterceptor', 'removeRequestInterceptor',
            async r => { guard(() => this.#requested(r)); return r; });
        core.tie(p, 'addResponseInterceptor', 'removeResponseInterceptor',
            async r => { await guard(() => this.#responded(r)); return r; });

        const listen = (event, fn) => core.tie(p, 'on', 'off', event, fn);
        listen('playbackWaiting', () => core.waiting());
        listen('playbackPlaying', () => core.playing());
        listen('playbackPaused', () => core.paused());
        listen('playbackSeeking', e => this.#seeking(e));
        listen('streamTeardownComplete', () => {
            this.#plan = null;
            core.forget();
        });
    }

    /* ----- what dash.js calls ----- */

    /** Before every request: which representation? Synchronous. */
    #switchRequest(context) {
        const none = { representation: null, priority: STRONG, rule: RULE_NAME, reason: null };
        const d = this.#core.choice();
        if (!d || context.getMediaType() !== 'video' ||
            context.getStreamInfo().id !== this.#core.track?.id) return none;

        const representation = context.getAbrController()
            .getPossibleVoRepresentationsFilteredBySettings(context.getMediaInfo(), true)
            .find(r => sameRate(r.bandwidth / 1000, d.kbps));
        if (!representation) return none;
        return { ...none, representation, reason: { abrd: { ...d } } };
    }

    #requested(r) {
        const request = r.customData?.request;
        if (!isVideoSegment(request)) return;
        this.#startedAt.set(request, now());
        this.#meet(request);
        this.#core.requested(this.#chunkOf(request), rateOf(request));
    }

    async #responded(r) {
        const request = r.request?.customData?.request;
        if (!this.#core.attached || !request || !r.data || r.status < 200 || r.status > 299) return;
        if (request.type === 'MPD') await this.#manifest(r.data, r.url || request.url);
        else if (isVideoSegment(request)) await this.#arrived(request, r.data);
    }

    /* ----- the way of one source ----- */

    async #manifest(text, url) {
        const plan = readManifest(text, url);
        const update = this.#plan?.live && plan.live;
        this.#plan = plan;
        if (update) return; // a live manifest read again
        this.#core.source();
        await this.#begin(plan.periods[0] ?? null);
    }

    #begin(period) {
        this.#core.enter(period);
        return period && this.#core.ask(signal => fetchIndexes(period, signal));
    }

    /** A chunk is on its way: are we in the period, and on the ladder, that we think? */
    #meet(request) {
        const id = request.representation?.mediaInfo?.streamInfo?.id;
        const info = request.representation?.mediaFinishedInformation;
        if (id !== undefined && id !== this.#core.track?.id) {
            const known = this.#plan?.periods.find(p => p.id === id);
            this.#core.enter(known ?? { id, levels: [], chunkS: null, chunks: 0, profile: null });
        }
        // what the manifest left open, or said otherwise than the player understood it
        const p = this.#core.track;
        if (!p) return;
        if (!p.chunkS && request.duration > 0) p.chunkS = request.duration;
        if (!p.chunks && !this.#plan?.live) p.chunks = info?.numberOfSegments || 0;
        this.#core.meet(rateOf(request), () =>
            this.#player.getRepresentationsByType('video').map(r => r.bandwidth / 1000));
    }

    #chunkOf(request) {
        if (!this.#plan?.live) return request.index;
        const core = this.#core, { startTime } = request;
        return Math.round((startTime - core.origin(startTime)) / core.track.chunkS);
    }

    async #arrived(request, data) {
        const core = this.#core, period = core.track, kbps = rateOf(request);
        if (!period) return; // its source is gone
        const { usual, top } = this.#bufferLimits(request.duration);
        const atTop = core.levelOf(kbps) === period.levels.length - 1;
        const more = await core.arrived({
            chunk: this.#chunkOf(request),
            kbps,
            bytes: data.byteLength || request.bytesLoaded,
            download_s: now() - this.#startedAt.get(request),
        }, request.startTime + request.duration - (this.#video()?.currentTime ?? 0), atTop ? top : usual);
        if (more) return;
        // the period's last chunk is here: open the next one's session
        const i = this.#plan?.periods.indexOf(period) ?? -1;
        const next = i >= 0 && this.#plan.periods[i + 1];
        if (next) await this.#begin(next);
    }

    #seeking({ seekTime }) {
        this.#core.seeking();
        const p = this.#core.track, video = this.#video();
        if (!p?.chunkS || !video?.buffered || this.#plan?.live || this.#plan?.periods.length > 1) return;
        const t = seekTime ?? video.currentTime ?? 0;
        if (!isBuffered(video, t)) this.#core.seek(Math.floor(t / p.chunkS + 1e-6));
    }

    /* ----- measuring ----- */

    /** Media that dash.js holds when it asks for a chunk: at the top level, and below. */
    #bufferLimits(chunkS) {
        const b = this.#player.getSettings().streaming.buffer;
        const long = this.#plan?.durationS >= b.longFormContentDurationThreshold;
        const top = long ? b.bufferTimeAtTopQualityLongForm : b.bufferTimeAtTopQuality;
        const usual = b.bufferTimeDefault || 18;
        const before = target => Math.max(target - chunkS, chunkS);
        return { usual: before(usual), top: before(top), most: before(Math.max(usual, top)) };
    }

    #video() {
        try { return this.#player.getVideoElement(); } catch { return null; } // none attached yet
    }
}

// dash.js fetches the index of a SegmentBase as a segment without a number
const isVideoSegment = r => r?.type === 'MediaSegment' && r.mediaType === 'video' && r.index >= 0;
const rateOf = r => (r.representation?.bandwidth ?? r.bandwidth) / 1000;

/**
 * abrd.js - lets an abrd daemon choose the bitrate of every chunk that dash.js plays.
 *
 *     import { attach } from './abrd.js';
 *     const player = dashjs.MediaPlayer().create();
 *     const abrd = attach(player, { server: 'http://127.0.0.1:8080', profile: 'news' });
 *     player.initialize(video, 'https://example.org/video.mpd', true);
 *
 * attach() comes before initialize(); the player stays as it is, no file of it is changed.
 *
 * How one chunk is decided. When chunk n has arrived, dash.js is held for a moment in its
 * response interceptor while the daemon is told how chunk n went and asked for chunk n + 1. The
 * answer carries its chunk number; the rule that dash.js asks before its next request gives
 * it with priority STRONG if the number fits, and "no change" otherwise. So without an
 * answer, in time and for this chunk, the player's own rules go on, chunk by chunk, and the
 * daemon is back with the first answer that arrives. For chunk 0 the manifest is held instead.
 *
 * What is measured. Download time runs from the request to the last byte. The buffer is
 * what the player will hold when it asks for the next chunk: media up to the end of
 * the arrived chunk, but no more than the level at which dash.js stops asking. A stall
 * is the time from `waiting` to `playing` after playback began, outside seeks and
 * pauses, when it lasts 100 ms or longer; it belongs to the chunk that was under way.
 *
 * Bodies are text/plain, so that no request needs a CORS preflight.
 *
 * @module abrd
 */

import { readManifest } from './lib/manifest.js';
import { post } from './lib/post.js';
import { StallClock } from './lib/stall.js';

const STRONG = 1; // SwitchRequest.PRIORITY.STRONG of dash.js
const RULE_NAME = 'AbrdRule';

/**
 * @typedef {object} Options
 * @property {string} [server] where the daemon answers; default: where the page came from
 * @property {string|{mu: number[], utility?: string}|null} [profile] what the viewer values:
 *     a name, or own weights [quality, switches, stalls]; null: say nothing. Default: the
 *     manifest's SupplementalProperty urn:abrd:qoe-profile; without one, nothing.
 * @property {string} [contentId] names the video in the daemon's records
 * @property {number} [timeoutMs] how long a chunk may be held for an answer (300)
 * @property {(answer: Answer) => void} [onDecision] short for on('decision', ...)
 *
 * @typedef {object} Answer what the daemon said about one chunk
 * @property {number} chunk
 * @property {number} level index into the ladder, lowest bitrate first
 * @property {number} kbps
 * @property {number} policy version of the weights that decided
 * @property {number} expert which expert was in charge, -1: none (fallback)
 * @property {number[]} probabilities of the levels
 * @property {string} mode 'greedy', 'sample', or 'fallback' when the weights gave nothing finite
 *
 * @typedef {object} Outcome what became of one chunk
 * @property {number} chunk
 * @property {number} level
 * @property {number} bytes
 * @property {number} download_s
 * @property {number} rebuffer_s
 *
 * @typedef {object} State
 * @property {'idle'|'abrd'|'player'} mode who chose the chunk that was requested last
 * @property {string} reason why the player chooses itself; '' otherwise
 * @property {string|null} session
 * @property {string|null} profile as the daemon understood it; 'custom' for own weights
 * @property {number} startupS from the manifest's arrival to the first picture; NaN before
 *
 * Events of Handle.on:
 *   session  {session, profile, hinted, qoe: {mu, utility}, policy, explores, ladder_kbps,
 *             chunks, chunk_s}            a session was opened
 *   decision Answer + {latency_s}         the daemon answered in time
 *   request  {chunk, level, kbps, by: 'abrd'|'player', decided: number|null}
 *   chunk    Outcome + {kbps, buffer_s, by}   a chunk has arrived
 *   report   {chunk, reward}              the daemon took the last chunk's report
 *   state    State                        mode or reason changed
 *   error    {where, status, field, detail}
 *
 * @typedef {object} Handle
 * @property {() => void} detach takes the plugin out; the player goes on by itself
 * @property {State} state
 * @property {(event: string, fn: (data: any) => void) => (() => void)} on returns "off"
 */

const later = ms => new Promise(resolve => setTimeout(resolve, ms));

/**
 * Puts the daemon in charge of the video bitrate. Call it before player.initialize().
 * @param {object} player a dash.js 5 MediaPlayer
 * @param {Options} [options]
 * @returns {Handle}
 */
export function attach(player, options = {}) {
    return new Plugin(player, options).handle;
}

class Plugin {
    #player;
    #server;
    #options;
    #timeoutMs;
    #listeners = new Map();
    #state = { mode: 'idle', reason: '', session: null, profile: null, startupS: NaN };
    #hooks = [];        // what detach() undoes
    #attached = true;

    // one source
    #plan = null;       // {live, periods}
    #period = null;     // Period that is being downloaded
    #session = null;    // id of that period's session
    #refused = '';      // the daemon will not have this source: why
    #baseS = null;      // live: start time of the session's chunk 0
    #nextChunk = 0;     // number the next request should have
    #decision = null;   // latest Answer
    #unsent = null;     // Outcome that the daemon has not confirmed
    #by = new Map();    // chunk -> who chose it
    #startedAt = new WeakMap(); // request -> performance time [s]
    #arrivedS = NaN;    // when the manifest came
    #stall = new StallClock();
    #ask = null;        // AbortController of the running question
    #slow = false;      // the last question ran out of time: do not hold for the next
    #trouble = '';      // what is wrong with the daemon at the moment

    constructor(player, options) {
        this.#player = player;
        this.#options = options;
        this.#server = (options.server ?? '').replace(/\/+$/, '');
        this.#timeoutMs = options.timeoutMs ?? 300;
        if (options.onDecision) this.#on('decision', options.onDecision);
        this.#install();

        const plugin = this;
        this.handle = {
            detach: () => this.#detach(),
            get state() { return { ...plugin.#state }; },
            on: (event, fn) => this.#on(event, fn),
        };
    }

    #on(event, fn) {
        const list = this.#listeners.get(event) ?? [];
        this.#listeners.set(event, [...list, fn]);
        return () => this.#listeners.set(event,
            this.#listeners.get(event).filter(f => f !== fn));
    }

    #emit(event, data) {
        for (const fn of this.#listeners.get(event) ?? []) {
            // a listener's fault must not stop the playback
            try { fn(data); } catch (e) { console.error('abrd:', e); }
        }
    }

    #setState(change) {
        const before = this.#state;
        this.#state = { ...before, ...change };
        if (Object.keys(change).some(k => !Object.is(before[k], change[k])))
            this.#emit('state', { ...this.#state });
    }

    #install() {
        const p = this.#player;
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
        this.#hooks.push(() => set(was.fast, was.abandon));

        const rule = {
            getClassName: () => RULE_NAME,
            getSwitchRequest: context => this.#switchRequest(context),
            reset() {},
        };
        p.addABRCustomRule('qualitySwitchRules', RULE_NAME, () => ({ create: () => rule }));
        this.#hooks.push(() => p.removeABRCustomRule(RULE_NAME));

        const onRequest = async r => { this.#requested(r); return r; };
        const onResponse = async r => { await this.#responded(r); return r; };
        p.addRequestInterceptor(onRequest);
        p.addResponseInterceptor(onResponse);
        this.#hooks.push(() => p.removeRequestInterceptor(onRequest),
            () => p.removeResponseInterceptor(onResponse));

        const listen = (event, fn) => {
            p.on(event, fn);
            this.#hooks.push(() => p.off(event, fn));
        };
        const now = () => performance.now() / 1000;
        listen('playbackWaiting', () => this.#stall.waiting(now()));
        listen('playbackPlaying', () => this.#playing(now()));
        listen('playbackPaused', () => this.#stall.paused(now()));
        listen('playbackSeeking', e => this.#seeking(e, now()));
        listen('streamTeardownComplete', () => this.#forget());

        const leave = () => this.#leave();
        globalThis.addEventListener?.('pagehide', leave);
        this.#hooks.push(() => globalThis.removeEventListener?.('pagehide', leave));
    }

    #detach() {
        if (!this.#attached) return;
        this.#attached = false;
        this.#hooks.splice(0).reverse().forEach(undo => undo());
        this.#forget();
    }

    /** The source is gone; the next manifest begins anew. */
    #forget() {
        this.#leave();
        this.#ask?.abort();
        this.#plan = null;
        this.#refused = '';
        this.#enter(null);
        this.#stall = new StallClock();
        this.#setState({ mode: 'idle', reason: '', startupS: NaN });
    }

    /** Another period, or none: nothing of the last one holds any more. */
    #enter(period) {
        this.#period = period;
        this.#session = this.#decision = this.#unsent = this.#baseS = null;
        this.#nextChunk = 0;
        this.#by.clear();
        this.#setState({ session: null });
    }

    /* ----- what dash.js calls ----- */

    /** Before every request: which representation? Synchronous. */
    #switchRequest(context) {
        const none = { representation: null, priority: STRONG, rule: RULE_NAME, reason: null };
        const d = this.#decision;
        if (!this.#attached || !d || context.getMediaType() !== 'video') return none;
        if (d.chunk !== this.#nextChunk || context.getStreamInfo().id !== this.#period?.id)
            return none;

        const representation = context.getAbrController()
            .getPossibleVoRepresentationsFilteredBySettings(context.getMediaInfo(), true)
            .find(r => sameRate(r.bandwidth / 1000, d.kbps));
        if (!representation) return none;
        return { ...none, representation, reason: { abrd: { ...d } } };
    }

    #requested(r) {
        const request = r.customData?.request;
        if (!isVideoSegment(request)) return;
        this.#startedAt.set(request, performance.now() / 1000);
        this.#meet(request);

        const chunk = this.#chunkOf(request);
        const kbps = rateOf(request);
        const level = this.#levelOf(request);
        const decided = this.#decision?.chunk === chunk ? this.#decision.level : null;
        const by = decided !== null && decided === level ? 'abrd' : 'player';
        this.#by.set(chunk, by);
        this.#nextChunk = chunk + 1;
        this.#setState(by === 'abrd' ? { mode: by, reason: '' } :
            { mode: by, reason: this.#whyNot(decided) });
        this.#emit('request', { chunk, level, kbps, by, decided });
    }

    #whyNot(decided) {
        if (decided !== null) return 'the player chose otherwise';
        return this.#refused || this.#trouble || 'no decision for this chunk';
    }

    async #responded(r) {
        const request = r.request?.customData?.request;
        if (!this.#attached || !request || !r.data || r.status < 200 || r.status > 299) return;
        try {
            if (request.type === 'MPD') await this.#manifest(r.data);
            else if (isVideoSegment(request)) await this.#arrived(request, r.data);
        } catch (e) {
            console.error('abrd:', e); // a fault of ours must not stop the playback
        }
    }

    #playing(now) {
        this.#stall.playing(now);
        if (isNaN(this.#state.startupS) && this.#plan)
            this.#setState({ startupS: now - this.#arrivedS });
    }

    /* ----- the way of one source ----- */

    async #manifest(text) {
        const plan = readManifest(text);
        const update = this.#plan?.live && plan.live;
        this.#plan = plan;
        if (update) return; // a live manifest read again
        this.#refused = '';
        this.#arrivedS = performance.now() / 1000;
        this.#stall = new StallClock();
        this.#enter(plan.periods[0] ?? null);
        await this.#hold(signal => this.#answerFor(0, 0, null, signal));
    }

    /** A chunk is on its way: are we in the period, and on the ladder, that we think? */
    #meet(request) {
        const id = request.representation?.mediaInfo?.streamInfo?.id;
        const info = request.representation?.mediaFinishedInformation;
        if (id !== undefined && id !== this.#period?.id) {
            const known = this.#plan?.periods.find(p => p.id === id);
            this.#enter(known ?? { id, levels: [], chunkS: null, chunks: 0, profile: null });
        }
        // what the manifest left open, or said otherwise than the player understood it
        const p = this.#period;
        if (!p) return;
        if (!p.chunkS && request.duration > 0) p.chunkS = request.duration;
        if (!p.chunks && !this.#plan?.live) p.chunks = info?.numberOfSegments || 0;
        if (this.#levelOf(request) < 0) this.#readLadder();
        if (this.#plan?.live && (this.#baseS === null || request.startTime < this.#baseS - .01)) {
            if (this.#baseS !== null) this.#session = null; // chunk numbers are not negative
            this.#baseS = request.startTime;
        }
    }

    /** The ladder as the player sees it; the session must begin again. */
    #readLadder() {
        this.#session = this.#decision = null;
        const rates = this.#player.getRepresentationsByType('video').map(r => r.bandwidth / 1000);
        this.#period.levels = [...new Set(rates)].sort((a, b) => a - b)
            .map(kbps => ({ kbps, sizes: null }));
    }

    #chunkOf(request) {
        if (!this.#plan?.live) return request.index;
        return Math.round((request.startTime - this.#baseS) / this.#period.chunkS);
    }

    #levelOf(request) {
        return this.#period?.levels.findIndex(l => sameRate(l.kbps, rateOf(request))) ?? -1;
    }

    async #arrived(request, data) {
        const now = performance.now() / 1000;
        const chunk = this.#chunkOf(request);
        const outcome = {
            chunk,
            level: this.#levelOf(request),
            bytes: data.byteLength || request.bytesLoaded,
            download_s: Math.max(now - this.#startedAt.get(request), 1e-4),
            rebuffer_s: this.#stall.take(now),
        };
        const buffer = this.#bufferAfter(request);
        this.#emit('chunk', {
            ...outcome, kbps: rateOf(request), buffer_s: buffer, by: this.#by.get(chunk),
        });
        this.#unsent = outcome;

        const { chunks } = this.#period;
        if (chunks && chunk >= chunks - 1) return this.#finish(outcome);
        await this.#hold(signal => this.#answerFor(chunk + 1, buffer, outcome, signal));
    }

    /** The period's last chunk is here: report it, and open the next period's session. */
    async #finish(last) {
        if (this.#session) {
            post(this.#url(this.#session, 'rewards'), { ...last, final: true })
                .then(reply => this.#emit('report', reply), e => this.#failed(e));
        }
        this.#unsent = this.#session = null;
        const i = this.#plan?.periods.indexOf(this.#period) ?? -1;
        const next = i >= 0 && this.#plan.periods[i + 1];
        if (!next) return;
        this.#enter(next);
        await this.#hold(signal => this.#answerFor(0, 0, null, signal));
    }

    /** A seek out of the buffer: the next request will be for another chunk. */
    #seeking({ seekTime }, now) {
        this.#stall.seeking(now);
        const p = this.#period;
        const { buffered, currentTime = 0 } = this.#video() ?? {};
        if (!p?.chunkS || !buffered || this.#plan?.live || this.#plan?.periods.length > 1) return;
        const t = seekTime ?? currentTime;
        for (let i = 0; i < buffered.length; i++)
            if (buffered.start(i) <= t && t < buffered.end(i)) return;

        const chunk = Math.floor(t / p.chunkS + 1e-6);
        if (chunk === this.#nextChunk || chunk >= p.chunks) return;
        this.#nextChunk = chunk;
        this.#decision = null;
        this.#hold(signal => this.#answerFor(chunk, 0, this.#unsent, signal));
    }

    /* ----- questions ----- */

    /**
     * Runs a question and waits for it, but no longer than a chunk may be held. A
     * question that is late goes on; its answer counts if it still fits.
     */
    async #hold(question) {
        this.#ask?.abort();
        const ask = this.#ask = new AbortController();
        const opening = !this.#session;
        const began = performance.now();
        // a new connection and two questions take longer than one on an open connection
        const limit = this.#timeoutMs * (opening ? 3 : 1);
        const running = question(ask.signal).then(answer => {
            if (ask.signal.aborted || !answer) return;
            this.#slow = performance.now() - began > limit;
            this.#trouble = '';
            this.#decision = answer;
            this.#emit('decision', { ...answer, latency_s: (performance.now() - began) / 1000 });
        }, e => {
            if (ask.signal.aborted) return;
            this.#slow = performance.now() - began > limit;
            this.#failed(e);
        });
        if (this.#slow) return;
        const late = later(limit).then(() => 'late');
        if (await Promise.race([running, late]) !== 'late' || ask !== this.#ask) return;
        this.#slow = true;
        this.#trouble = 'the daemon does not answer in time';
    }

    async #answerFor(chunk, buffer, last, signal) {
        if (this.#session) {
            try {
                return await this.#decide(chunk, buffer, last, signal);
            } catch (e) {
                // unknown or closed there (restart, expiry), or it remembers it otherwise
                if (![404, 409, 410].includes(e.status)) throw e;
                this.#session = null;
            }
        }
        const first = await this.#open(signal);
        if (!first || chunk === 0) return first;
        return this.#decide(chunk, buffer, last, signal);
    }

    async #decide(chunk, buffer, last, signal) {
        const answer = await post(this.#url(this.#session, 'decisions'), {
            chunk, buffer_s: buffer, ...(last && { last }), ...this.#sizesOf(chunk),
        }, signal);
        if (this.#unsent === last) this.#unsent = null;
        return answer;
    }

    async #open(signal) {
        const p = this.#period;
        if (this.#refused || !p?.levels.length || !p.chunkS) return null;
        const own = this.#options.profile;
        const hint = own === undefined ? p.profile : own;
        const body = {
            ...(hint && (typeof hint === 'string' ? { profile: hint } : hint)),
            ladder_kbps: p.levels.map(l => l.kbps),
            chunk_s: p.chunkS,
            chunks: p.chunks,
            buffer_max_s: this.#bufferLimits(p.chunkS).most,
            ...(this.#options.contentId && { content_id: this.#options.contentId }),
            ...this.#sizesOf(0),
        };
        let reply;
        try {
            reply = await post(this.#url(), body, signal);
        } catch (e) {
            // no use in asking again; but a name in a manifest is only a hint
            if (e.status < 400 || e.status > 499 || [408, 429].includes(e.status)) throw e;
            if (e.field !== 'profile' || own !== undefined || !p.profile) {
                this.#refused = `refused: ${e.detail || e.message}`;
                throw e;
            }
            this.#failed(e);
            p.profile = null;
            return this.#open(signal);
        }
        if (signal.aborted || p !== this.#period) return null;
        this.#session = reply.session;
        this.#setState({ session: reply.session, profile: reply.profile });
        const { ladder_kbps, chunk_s, chunks } = body;
        this.#emit('session', { ...reply, ladder_kbps, chunk_s, chunks });
        return reply;
    }

    #url(session, what) {
        return [`${this.#server}/v1/sessions`, session, what].filter(Boolean).join('/');
    }

    #sizesOf(chunk) {
        const sizes = this.#period.levels.map(l => l.sizes?.[chunk]);
        return sizes.every(Boolean) ? { next_bytes: sizes } : {};
    }

    #failed(e) {
        const { where, status, field, detail, message } = e;
        this.#trouble = status ? `the daemon cannot: ${detail || message}` : 'the daemon does not answer';
        if (status >= 400 && status < 500) console.warn(`abrd: ${where}: ${detail || message}`);
        this.#emit('error', { where, status, field, detail: detail || message });
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

    #bufferAfter(request) {
        const { usual, top } = this.#bufferLimits(request.duration);
        const atTop = this.#levelOf(request) === this.#period.levels.length - 1;
        const t = this.#video()?.currentTime ?? 0;
        const held = request.startTime + request.duration - t;
        return Math.min(Math.max(held || 0, 0), atTop ? top : usual);
    }

    /** No more chunks will come: tell what the daemon does not know yet, else that it is over. */
    #leave() {
        if (!this.#session) return;
        const id = this.#session;
        this.#session = null;
        if (this.#unsent)
            globalThis.navigator?.sendBeacon?.(this.#url(id, 'rewards'), JSON.stringify(this.#unsent));
        else
            fetch(this.#url(id), { method: 'DELETE', keepalive: true, credentials: 'omit' })
                .catch(() => {}); // it expires by itself
    }
}

const isVideoSegment = r => r?.type === 'MediaSegment' && r.mediaType === 'video';
const rateOf = r => (r.representation?.bandwidth ?? r.bandwidth) / 1000;
const sameRate = (a, b) => Math.abs(a - b) < 1e-6 * Math.max(a, b);

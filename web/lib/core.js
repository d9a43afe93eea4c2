/**
 * core.js - the part between a player and the daemon that does not depend on the player: requests,
 * holding, time limit, fallback and reports. dashjs.js, hlsjs.js and shaka.js are the adapters.
 *
 * How a chunk is decided: when chunk n has arrived, the adapter holds its player while arrived() runs.
 * This reports chunk n to the daemon and requests a decision for chunk n + 1. choice() returns the
 * decision only while exactly this chunk is next. If no answer arrives in time, there is no decision,
 * and the player's own rules decide this chunk. For chunk 0, ask() holds the manifest.
 *
 * Back-off: a daemon that does not answer is asked at every second chunk. This is the longest pause with
 * which it decides within two chunks of its return. All players of a page share what they know about a
 * server, so a failed request of one player saves that of another. The pause begins after the first
 * failure or, for half of the pages, after the second. So pages that lost the daemon at the same chunk
 * of a live stream do not all ask it at the same chunk. Chunks are counted, not seconds.
 *
 * With the option `fallback` a function of the page decides when the daemon does not; its arguments are
 * the body of POST /v1/decide, and the seconds that the session has stalled and played.
 *
 * With the option mode: 'observe', or if the daemon's answer says so, the player keeps its own rules: the
 * chunks are reported one after another, nothing is held and no decision is used.
 *
 * Times are seconds. Bodies are text/plain, so that no request needs a CORS preflight.
 *
 * @module abrd/core
 */

import { post } from './post.js';
import { measuredKbps } from './sound.js';
import { StallClock } from './stall.js';

/**
 * @typedef {import('./types').Options} Options
 * @typedef {import('./types').Handle} Handle
 * @typedef {import('./types').Answer} Answer
 * @typedef {import('./types').Question} Question
 *
 * @typedef {object} Track one bitrate ladder from its first chunk to its last: one session
 * @property {{kbps: number, sizes: number[]|null, quality: number[]|null, height: number|null}[]} levels
 *     ascending; quality: points of each chunk, a single number counts for all chunks
 * @property {number|null} chunkS seconds per chunk; null: not known yet, so nothing is requested
 * @property {number} chunks 0: live, or not known
 * @property {string|null} profile hint of the manifest
 * @property {{kbps: number, sizes: number[]|null}[]} [sound] what may be fetched with the chunks, ascending;
 *     absent: nothing, or the bitrates of the levels contain it
 * @property {boolean} [refused] the daemon refuses the quality or the heights, so they are left out
 *
 * @typedef {object} Arrival
 * @property {number} chunk
 * @property {number} kbps of its level
 * @property {number} bytes
 * @property {number} download_s from the request to the last byte
 */

/** Default of the option `bufferS`: the length that the policy was trained with. */
const BUFFER_S = 60;

export const later = (ms, value) => new Promise(resolve => setTimeout(resolve, ms, value));
export const now = () => performance.now() / 1000;
export const sameRate = (a, b) => Math.abs(a - b) < 1e-6 * Math.max(a, b);

/** Whether a later request may succeed after this status; 0: no answer. */
const passes = status => !/^4(?!08|29)/.test(status);

let turn = 0;       // counts the chunk boundaries of all players on the page
const outages = {}; // by server: {turn: boundary of the newest request that failed or NaN, failures, why, deaf}

/**
 * The height that decides how much a 16:9 screen magnifies a picture: 720 of 1280 x 536, since its width
 * fills the screen (src/abr/emulator/quality.h). null: not known.
 */
export function heightOf(width, height) {
    if (!(height > 0)) return null;
    width ||= height;
    return Math.max(Math.min(width, height), Math.round(Math.max(width, height) * 9 / 16));
}

/** The levels of a track if only bitrates and pictures are known: [kbps, width, height] of each. */
export const ladder = rows => [...new Map(rows.map(row => [row[0], row]))].sort(([a], [b]) => a - b)
    .map(([kbps, [, ...size]]) => ({ kbps, sizes: null, quality: null, height: heightOf(...size) }));

/**
 * The usual length of a chunk, the median: the first chunk, and that before a splice, may be short.
 * @param {number[][]} lengths [length, number of chunks] of each run
 * @returns {number|undefined} undefined without any
 */
export function usualOf(lengths) {
    let left = lengths.reduce((n, [, chunks]) => n + chunks, 0) / 2;
    return [...lengths].sort(([a], [b]) => a - b).find(([, chunks]) => (left -= chunks) <= 0)?.[0];
}

const mean = list => list.reduce((a, b) => a + b, 0) / list.length;

/** Measurements as the daemon reads them; {} without any. */
const linkOf = link => link.length && {
    throughput_kbps: link.map(measuredKbps), download_s: link.map(o => o.download_s),
};

/** {[name]: the value of every level}; {} if it is not known of each. */
const ofAll = (name, levels, value) => {
    const values = levels.map(value);
    return values.every(v => v != null) && { [name]: values };
};

/** Runs fn and logs its failures: a fault of the plugin must not stop the playback. */
export function guard(fn, ...args) {
    const failed = e => { console.error('abrd:', e); };
    try {
        const value = fn(...args);
        return value?.then ? value.catch(failed) : value;
    } catch (e) {
        return failed(e);
    }
}

export class Core {
    #options;
    #server;
    #outage;            // what the page knows about this server
    #timeoutMs;
    #bufferMaxS;
    #mostKbps;
    #sound;
    #listeners = new Set(); // {event, fn}
    #state = { mode: 'idle', reason: '', session: null, profile: null, startupS: NaN };
    #hooks = [];        // called by detach()
    #attached = true;

    #track = null;      // the ladder that is being downloaded
    #met = null;        // the track that was compared with the player's ladder
    #origin = NaN;      // live: where its chunk 0 began; NaN: not known yet
    #session = null;    // id of its session
    #refused = false;   // the daemon refuses this source
    #nextChunk = 0;     // number of the chunk that should be requested next
    #decision = null;   // latest Answer
    #unsent = null;     // outcome that the daemon has not confirmed
    #soundBefore;       // bytes of sound before the current chunk
    #link;              // newest measurements of the player's sources
    #history;           // newest outcomes of the session, kept without a session, too
    #seen;              // what the viewer has seen of it: seconds stalled and played
    #by;                // who chose the current chunk; null: the source has had none
    #arrivedS = NaN;    // when the manifest arrived
    #askedS = NaN;      // when the source's first chunk was requested; NaN after its arrival
    #start = null;      // outcome of the source's first chunk; null: it has not arrived
    #stall = new StallClock();
    #asking = null;     // AbortController of the current request
    #watching = null;   // AbortController of the watch over the current chunk
    #slow = false;      // the last request timed out: do not hold the player for the next
    #turn = Infinity;   // last boundary; Infinity: the first request is always sent
    #waits = 0;         // boundary of the unanswered request
    #trouble = '';      // current problem with the daemon
    #observed = false;  // the player keeps its own rules
    #reports = Promise.resolve(); // observed: the requests so far
    #switches = [];     // called when #observed changes
    #hidden = () => guard(() => this.#leave()); // called when the page goes away

    /**
     * @param {Options} options
     * @param {(track: Track) => number} bufferMaxS the player's largest buffer for it [s]
     * @param {() => number|undefined} [mostKbps] the highest bitrate that the player may choose now
     * @param {() => [number|undefined, number]} [sound] bitrate of the sound that the player fetches now, and all bytes of
     *     sound that have arrived
     */
    constructor(options, bufferMaxS, mostKbps, sound) {
        const { server = '', timeoutMs = 300, onDecision, mode } = this.#options = options ?? {};
        this.#observed = mode === 'observe';
        this.#server = `${server ?? ''}`.replace(/\/+$/, '');
        this.#outage = outages[this.#server] ??= { turn: NaN, failures: 0 };
        this.#timeoutMs = timeoutMs;
        this.#bufferMaxS = bufferMaxS;
        this.#mostKbps = mostKbps;
        this.#sound = sound;
        this.#link = options?.link ?? [];
        if (onDecision) this.#on('decision', onDecision);
    }

    /** The handle that attach() returns; `more`: members of the adapter. */
    handle(more = {}) {
        const core = this;
        return {
            ...more,
            detach: () => this.#detach(),
            get state() { return { ...core.#state }; },
            on: (event, fn) => this.#on(event, fn),
        };
    }

    /** The length of buffer to ask the player for [s]; `own`: its own, if the option says so. */
    bufferS(own) {
        const { bufferS = BUFFER_S } = this.#options;
        return bufferS ?? own;
    }

    get attached() { return this.#attached; }
    get observed() { return this.#observed; }
    get track() { return this.#track; }

    /** Runs fn, which connects the plugin to its player; if it fails, restores the player. */
    install(fn) {
        try {
            fn();
        } catch (e) {
            console.error('abrd:', e);
            this.#detach();
        }
    }

    /** Calls fn(observed) now and whenever it changes: an observed player must have its own settings. */
    observing(fn) {
        this.#switches.push(fn);
        fn(this.#observed);
    }

    #setObserved(observed) {
        if (observed === this.#observed) return;
        this.#observed = observed;
        for (const fn of this.#switches) guard(fn, observed);
    }

    /** Registers a function that detach() calls. */
    undo(fn) { this.#hooks.push(fn); }

    /**
     * Calls target[on](...more, fn) now, and target[off](...more, fn) in detach(). Exceptions of fn do
     * not reach the player.
     */
    tie(target, on, off, ...more) {
        const fn = more.pop(), args = [...more, (...a) => guard(fn, ...a)];
        target[on](...args);
        this.undo(() => target[off](...args));
    }

    #on(event, fn) {
        const listener = { event, fn };
        this.#listeners.add(listener);
        return () => { this.#listeners.delete(listener); };
    }

    #emit(event, data) {
        for (const l of [...this.#listeners]) if (l.event === event) guard(l.fn, data);
    }

    #setState(change) {
        const changed = Object.keys(change).some(k => !Object.is(this.#state[k], change[k]));
        Object.assign(this.#state, change);
        if (changed) this.#emit('state', { ...this.#state });
    }

    #detach() {
        if (!this.#attached) return;
        this.#attached = false;
        for (const undo of this.#hooks.splice(0).reverse()) {
            // a destroyed player has nothing to restore
            try { undo(); } catch { /* continue with the other hooks */ }
        }
        this.forget();
    }

    /* ----- one source ----- */

    /** A manifest has arrived; the startup time counts from here. */
    source() {
        this.#refused = false;
        this.#by = this.#start = null;
        this.#arrivedS = now();
        this.#askedS = NaN;
        this.#stall = new StallClock();
        this.#seen = { stalledS: 0, playedS: 0 };
        this.enter(null);
    }

    /** Starts another ladder, or none. */
    enter(track) {
        this.#leave(); // the session of another period
        this.#track = track;
        this.#origin = NaN;
        this.#nextChunk = 0;
        // only while a source plays: the page must not keep a player that was destroyed
        globalThis[track ? 'addEventListener' : 'removeEventListener']?.('pagehide', this.#hidden);
        this.reopen();
    }

    /** The ladder was corrected: its session begins again. */
    reopen() {
        this.#watching?.abort();
        this.#session = this.#decision = this.#unsent = null;
        this.#history = [];
        this.#setState({ session: null });
    }

    /**
     * Live: the position of chunk 0, in seconds or numbers, when a chunk at `at` is requested. This is
     * the first chunk seen. An earlier one begins another session, since numbers are not negative.
     */
    origin(at) {
        const before = this.#origin - .01;
        if (at < before) this.reopen();
        return at >= before ? this.#origin : this.#origin = at;
    }

    /** Index of a bitrate on the ladder; -1: not on the ladder. */
    levelOf(kbps) { return this.#track?.levels.findIndex(l => sameRate(l.kbps, kbps)) ?? -1; }

    /**
     * A bitrate is requested. When it is the first one of the track, or is not on its ladder, the ladder becomes
     * that of the player: a player plays one codec, and only what the browser decodes.
     * @param {() => number[][]} rows those of the player (ladder)
     * @returns {boolean} whether the ladder has changed
     */
    meet(kbps, rows) {
        const track = this.#track, first = track !== this.#met;
        if (!first && this.levelOf(kbps) >= 0) return false;
        this.#met = track;
        const levels = ladder(rows()).map(l => track.levels[this.levelOf(l.kbps)] ?? l);
        // without a bitrate the player has changed its levels
        const fewer = (first || isNaN(kbps)) && levels.length < track.levels.length;
        // nothing new, so no second session
        if (!levels.length || !fewer && levels.every(l => track.levels.includes(l))) return false;
        this.reopen();
        track.levels = levels;
        return true;
    }

    /** The source has ended; the next manifest begins another one. */
    forget() {
        this.#leave();
        this.#asking?.abort();
        this.source();
        this.#setState({ mode: 'idle', reason: '', startupS: NaN });
    }

    /** The decision for the next chunk, or null. */
    choice() {
        const d = this.#decision;
        return this.#attached && !this.#observed && d?.chunk === this.#nextChunk ? d : null;
    }

    /**
     * A chunk was requested. Returns who chose it.
     * @param {import('./abandon.js').Look|null} [look] watches it, if the daemon decided
     */
    requested(chunk, kbps, look) {
        const level = this.levelOf(kbps);
        const { level: decided = null, mode, from } = this.#decision?.chunk === chunk ? this.#decision : {};
        const first = !this.#by;
        if (first) this.#askedS = now();
        const by = this.#by = decided !== level || this.#observed ? 'player' : mode === 'local' ? mode : 'abrd';
        this.#nextChunk = chunk + 1;
        this.#soundBefore = this.#track && this.#beside(chunk).bytes;
        this.#setState({ mode: by, reason: by === 'abrd' ? '' : this.#observed ? 'the daemon observes' :
            by === 'player' && decided !== null ? 'the player chose otherwise' : this.#trouble || 'no decision' });
        this.#emit('request', { chunk, level, kbps, by, decided });
        this.#watching?.abort();
        this.#watching = new AbortController();
        // a chunk is abandoned at most once
        if (look && by === 'abrd' && from == null && this.#options.abandon !== false)
            guard(look, chunk, level, this.#watching.signal, first);
        return by;
    }

    /**
     * Asks whether to abandon the current chunk; a late answer is ignored.
     * @param {{chunk: number, level: number, bytes: number, elapsed_s: number, buffer_s: number}} seen
     * @param {(answer: {level: number, kbps: number}) => boolean} restart downloads it so instead; the
     *     request for it must come later
     * @param {AbortSignal} signal
     * @returns {Promise<boolean>} whether to ask again
     */
    async doubt(seen, restart, signal) {
        if (this.#slow || this.#trouble || !this.#session) return false;
        const { chunk, level } = seen;
        try {
            const question = { ...seen, ...this.#cap() };
            const answer = await Promise.race([post(this.#url('abandon'), question, signal), later(this.#timeoutMs)]);
            if (signal.aborted || !answer) return false;
            if (answer.level === level || !restart(answer)) return true;
            this.#decision = { ...this.#decision, ...answer, from: level };
            this.#nextChunk = chunk;
            this.#emit('abandon', { ...seen, ...answer, from: level });
        } catch (e) {
            if (!signal.aborted) this.#failed(e);
        }
        return false;
    }

    /**
     * A chunk has arrived: hold the player until this settles. A level that is not on the ladder is not
     * reported to the daemon.
     * @param {Arrival} arrival
     * @param {number} held media from the playhead to the end of the chunk; not a number counts as 0
     * @param {number} most with more than this the player does not request the next chunk
     * @returns {Promise<boolean>} whether more chunks of this track follow
     */
    async arrived({ chunk, kbps, bytes, download_s }, held, most) {
        if (!this.#track) return false; // after detach()
        this.#watching?.abort();
        const before = this.#history.at(-1);
        if (before?.chunk === chunk && this.#decision?.chunk === chunk + 1) return true; // arrived twice
        const level = this.levelOf(kbps), buffer_s = Math.min(Math.max(held || 0, 0), most);
        // before the first chunk there is no picture: the wait for it is the start, and no stall
        const start_s = now() - this.#askedS;
        this.#askedS = NaN;
        const outcome = { chunk, level, bytes, download_s: Math.max(download_s || 0, 1e-4),
            rebuffer_s: start_s >= 0 ? Math.max(start_s, download_s || 0) : this.#stall.take(now()) };
        if (start_s >= 0) this.#start = outcome;
        this.#emit('chunk', { ...outcome, kbps, buffer_s, by: this.#by });
        const { other_kbps, bytes: all } = this.#beside(chunk), heard = all - this.#soundBefore;
        if (heard >= 0) outcome.other_bytes = heard;
        const known = this.#unsent = level < 0 ? null : outcome;
        // no more than POST /v1/decide takes
        if (bytes) this.#link = [...this.#link, heard >= 0 ? { ...outcome, other_kbps } : outcome].slice(-64);
        if (known) {
            this.#seen.stalledS += start_s >= 0 ? 0 : outcome.rebuffer_s; // the start is no stall
            this.#seen.playedS += this.#track.chunkS;
            this.#history = [...this.#history, known].slice(-8); // the daemon uses as many
        }

        const { chunks } = this.#track;
        if (chunks && chunk >= chunks - 1) {
            this.#finish(known);
            return false;
        }
        if (this.#observed) this.#report(chunk + 1, buffer_s, known);
        else await this.#hold(chunk + 1, buffer_s, known);
        return true;
    }

    /**
     * Requests a decision for chunk 0 before the player requests anything of the track.
     * @param {(signal: AbortSignal) => Promise<void>} [prepare] fetches missing data of the
     *     track; never fails
     * @param {number} [held] media from the playhead to the beginning of the chunk
     */
    ask(prepare, held = 0) {
        return this.#observed ? this.#report(0, held, null) : this.#hold(0, held, null, prepare);
    }

    /** The last chunk has arrived: report it. */
    #finish(last) {
        if (!last) this.#leave();
        const { other_kbps } = this.#beside(last?.chunk);
        const send = () => {
            if (!this.#session) return;
            post(this.#url('rewards'), { ...last, other_kbps, final: true })
                .then(reply => this.#emit('report', reply), e => this.#failed(e));
            this.#unsent = this.#session = null;
        };
        if (this.#observed) this.#reports = this.#reports.then(send);
        else send();
    }

    /** A seek outside the buffer: the next request is for this chunk. */
    seek(chunk) {
        const { chunks } = this.#track;
        if (chunk === this.#nextChunk || chunks && chunk >= chunks) return;
        this.#nextChunk = chunk;
        this.#decision = null;
        if (this.#observed) this.#report(chunk, 0, this.#unsent);
        else this.#hold(chunk, 0, this.#unsent);
    }

    /* ----- playback ----- */

    waiting() { this.#stall.waiting(now()); }
    paused() { this.#stall.paused(now()); }
    seeking() {
        this.#watching?.abort();
        this.#stall.seeking(now());
    }
    playing() {
        this.#stall.playing(now());
        if (isNaN(this.#state.startupS) && !isNaN(this.#arrivedS))
            this.#setState({ startupS: now() - this.#arrivedS });
    }

    /* ----- requests to the daemon ----- */

    /**
     * Sends a request and waits for the answer, at most as long as a chunk may be held. Before that it waits
     * for prepare(), at most as long again. A late request continues; its answer is used if it still fits.
     */
    async #hold(chunk, buffer, last, prepare) {
        // no request if one failed since the previous boundary, of this player or another, or if the one
        // sent there has no answer yet; but never two boundaries in a row
        const before = this.#turn, away = this.#outage.turn >= before || this.#slow && this.#waits === before;
        this.#turn = ++turn;
        if (away) this.#trouble ||= this.#outage.why;
        this.#asking?.abort();
        const { signal } = this.#asking = new AbortController();
        // a new connection and two requests take longer than one request on an open connection
        const limit = this.#timeoutMs * (this.#session ? 1 : 3);
        const isLate = async work =>
            await Promise.race([work, later(limit, true)]) && !signal.aborted;

        const ready = prepare?.(signal);
        const running = away ? ready : this.#run(chunk, buffer, last, signal, limit, ready);
        if (!this.#slow) {
            // a slow server of the video is not the daemon's fault
            if (ready && await isLate(ready)) this.#trouble = 'the video\'s index is late';
            else if (await isLate(running)) {
                this.#slow = true;
                this.#trouble = 'the daemon does not answer in time';
            }
        }
        if (!signal.aborted && this.#decision?.chunk !== chunk) await this.#local(chunk, buffer, signal);
    }

    /** Observed: sends the request when those before have their answers; nobody waits for it. */
    #report(chunk, buffer, last) {
        const before = this.#turn;
        this.#turn = ++turn;
        if (this.#outage.turn >= before) return;
        if (!this.#asking || this.#asking.signal.aborted) this.#asking = new AbortController();
        const { signal } = this.#asking, track = this.#track;
        // once the next period has begun, a report would go to the session of that one
        this.#reports = this.#reports.then(() =>
            !signal.aborted && track === this.#track && this.#run(chunk, buffer, last, signal, Infinity));
    }

    /** Sends the request after `ready`; never fails. */
    async #run(chunk, buffer, last, signal, limit, ready) {
        const asked = this.#waits = this.#turn;
        await ready;
        const began = now();
        const done = () => {
            this.#slow = now() - began > limit / 1000;
            this.#waits = 0;
        };
        try {
            const answer = await this.#answerFor(chunk, buffer, last, signal);
            if (signal.aborted || !answer) return;
            done();
            this.#trouble = '';
            this.#outage.turn = NaN;
            this.#outage.failures = 0;
            this.#decide(answer, began);
        } catch (e) {
            if (signal.aborted) return;
            done();
            this.#failed(e, asked);
        }
    }

    #decide(answer, began) {
        this.#decision = answer;
        this.#emit('decision', { ...answer, latency_s: now() - began });
    }

    async #answerFor(chunk, buffer, last, signal) {
        const ask = async () => {
            const answer = await post(this.#url('decisions'), {
                chunk, buffer_s: buffer, last: last ?? undefined, ...this.#nextOf(chunk), ...this.#cap(),
                other_kbps: this.#beside(chunk).other_kbps,
            }, signal);
            if (this.#unsent === last) this.#unsent = null;
            return answer;
        };
        if (this.#session) {
            try {
                return await ask();
            } catch (e) {
                if (this.#leavesOut(e)) return await ask();
                // an observed player fetched a chunk again: its first outcome counts
                if (this.#observed && e.status === 409) return null;
                // the daemon does not know the session (restart, timeout), or knows it differently
                if (![404, 409, 410].includes(e.status)) throw e;
                this.#session = null;
            }
        }
        const first = await this.#open(signal, buffer, last);
        return !first || chunk === 0 ? first : ask();
    }

    /** The body for a session: the video and the viewer. */
    #body() {
        const { levels, chunkS, chunks, profile, refused } = this.#track;
        const { profile: hint = profile, weights, quality } = this.#options;
        return {
            ...(weights ? { weights } : hint && (typeof hint === 'string' ? { profile: hint } : hint)),
            ladder_kbps: levels.map(l => l.kbps),
            chunk_s: chunkS,
            chunks,
            buffer_max_s: this.#bufferMaxS(this.#track),
            ...(!refused && {
                ...ofAll('height', levels, l => l.height),
                ...ofAll('quality', levels, l => l.quality && mean(l.quality)),
                ...(Array.isArray(quality) && { quality }),
            }),
        };
    }

    /** The cap of the question: of the page, and of the player; {} if all levels are allowed. */
    #cap() {
        const { levels } = this.#track, { maxKbps, maxHeight } = this.#options;
        const [page, player, height] = [maxKbps, this.#mostKbps, maxHeight]
            .map(cap => (cap?.call ? guard(cap, levels) : cap) || Infinity);
        const tall = levels.findIndex(l => l.height > height);
        const most = Math.min(page, player, tall < 0 ? Infinity : levels[Math.max(tall - 1, 0)].kbps);
        return most < levels.at(-1)?.kbps && { max_kbps: most };
    }

    get #known() { return this.#track?.levels.length && this.#track.chunkS; }

    async #open(signal, buffer_s, last) {
        const track = this.#track, { contentId, mode, viewer, labels, explore } = this.#options;
        if (this.#refused || !this.#known) return null;
        const body = this.#body();
        let reply;
        try {
            reply = await post(this.#url(), {
                ...body,
                content_id: contentId || undefined,
                mode,
                viewer,
                labels,
                explore,
                ...this.#nextOf(0),
                ...this.#cap(),
                // a source that has had chunks: another period, another ladder, or the daemon has lost the session;
                // but the wait for its first chunk is a start, which `last` still reports
                ...(this.#start && last !== this.#start && { continues: true, buffer_s }),
                ...linkOf(this.#link.slice(0, last ? -1 : 64)), // that of `last` is sent with it
            }, signal);
        } catch (e) {
            if (this.#leavesOut(e)) return this.#open(signal, buffer_s, last);
            // the same request would fail again; but an unknown profile in a manifest is dropped
            if (passes(e.status)) throw e;
            this.#refused = e.field !== 'profile' || this.#options.profile !== undefined || !track.profile;
            if (this.#refused) throw e;
            this.#failed(e);
            track.profile = null;
            return this.#open(signal, buffer_s, last);
        }
        if (signal.aborted || track !== this.#track) return null;
        this.#session = reply.session;
        this.#setObserved((mode ?? reply.mode) === 'observe');
        this.#setState({ session: reply.session, profile: reply.profile });
        // the answer's quality is that of the chunk
        this.#emit('session', { ...body, ...reply, quality: body.quality });
        return reply;
    }

    /** Asks the option `fallback` for a decision. */
    async #local(chunk, buffer_s, signal) {
        const { fallback } = this.#options;
        if (!fallback || !this.#known) return;
        const began = now(), last = this.#history.at(-1);
        const was = last && this.#nextOf(last.chunk).next_quality?.[last.level];
        const question = {
            ...this.#body(), chunk, buffer_s, ...this.#nextOf(chunk), ...this.#cap(),
            last_level: last?.level ?? -1,
            ...(was >= 0 && { last_quality: was }),
            ...linkOf(this.#link),
        };
        const answer = await Promise.race([guard(fallback, question, { ...this.#seen }), later(this.#timeoutMs)]);
        const level = answer?.level ?? answer, kbps = this.#track?.levels[level]?.kbps;
        if (signal.aborted || this.#decision?.chunk === chunk || !kbps) return;
        this.#decide({ ...answer, chunk, level, kbps, mode: 'local' }, began);
    }

    /** The URL of the session, or of all sessions. */
    #url(what) {
        return [`${this.#server}/v1/sessions`, this.#session, what].filter(Boolean).join('/');
    }

    /** Sizes and quality of a chunk, as far as they are known. */
    #nextOf(chunk) {
        const { levels, refused } = this.#track, { quality } = this.#options;
        const own = !refused && typeof quality === 'function' && guard(quality, chunk, levels.map(l => l.kbps));
        return {
            ...ofAll('next_bytes', levels, l => l.sizes?.[chunk]),
            ...(!refused && ofAll('next_quality', levels, l => (l.quality?.length > 1 ? l.quality[chunk] : null))),
            ...(own && { next_quality: own }),
        };
    }

    /** The sound that comes with a chunk, and its bytes since the newest request; {} without sound of its own. */
    #beside(chunk) {
        const { sound = [], chunks, chunkS } = this.#track;
        if (!sound.length || this.#outage.deaf) return {};
        const [now, bytes] = guard(this.#sound) ?? [], { kbps, sizes } = sound.find(s => sameRate(s.kbps, now)) ?? sound[0];
        return { other_kbps: sizes?.length === chunks && sizes[chunk] ? sizes[chunk] / 125 / chunkS : kbps, bytes };
    }

    /** Whether the daemon has refused the quality, the heights or the sound: then they are left out from now on. */
    #leavesOut(e) {
        const track = this.#track, outage = this.#outage;
        if (/other_/.test(e.field)) { // an older daemon does not know the sound
            delete this.#unsent?.other_bytes;
            return !outage.deaf && (outage.deaf = true);
        }
        if (!track || track.refused || !/quality|height/.test(e.field)) return false;
        this.#failed(e);
        return track.refused = true;
    }

    /** `asked`: the boundary at which the request was sent. */
    #failed(e, asked = turn) {
        const { where, status, field } = e, words = e.detail || e.message;
        const { origin } = globalThis.location ?? {}, outage = this.#outage;
        this.#trouble = status ? `the daemon answers ${status}: ${words}` : 'the daemon does not answer';
        // the browser hides the answer to a page that the daemon does not allow
        if (!status && origin && /^\w*:?\/\//.test(this.#server) && !`${this.#server}/`.startsWith(`${origin}/`))
            this.#trouble += `, or does not allow this page: abrd serve --allow-origin ${origin}`;
        outage.why = this.#trouble;
        if (!passes(status)) console.warn(`abrd: ${where}: ${words}`);
        else if (outage.failures++ || Math.random() < .5) outage.turn = asked;
        this.#emit('error', { where, status, field, detail: words });
    }

    /** No more chunks follow: send the last outcome, or close the session. */
    #leave() {
        if (!this.#session) return;
        if (this.#unsent)
            globalThis.navigator?.sendBeacon?.(this.#url('rewards'), JSON.stringify(this.#unsent));
        else
            fetch(this.#url(), { method: 'DELETE', keepalive: true, credentials: 'omit' })
                .catch(() => {}); // the session times out by itself
        this.#session = null;
    }
}

/**
 * core.js - what lies between any player and the daemon: question, hold, time limit, fallback,
 * report. It knows no player; dashjs.js, hlsjs.js and shaka.js each tie one to it.
 *
 * How one chunk is decided. When chunk n has arrived, the adapter holds its player for as long as
 * arrived() takes: the daemon is told how chunk n went and asked for chunk n + 1. The answer
 * carries its chunk number and is given out by choice() only while exactly that chunk comes next.
 * Without an answer in time there is none, so the player's own rules go on, chunk by chunk, and the
 * daemon is back with the first answer that arrives. For chunk 0, ask() holds the manifest.
 *
 * Back-off. A daemon that does not answer is asked at every second chunk: the longest pause with
 * which the first decision still comes within two chunks of its return. All players of a page share
 * what they know of a server, so that the question of one spares that of another. The pause begins
 * after the first failure or, for half of the pages, after the second: pages that lost the daemon at
 * the same chunk of a live stream then do not ask it at the same chunk. Chunks are counted, not
 * seconds, so no clock matters.
 *
 * With the option `fallback` a function in the page decides what the daemon did not; its question
 * is the body of POST /v1/decide.
 *
 * Times are seconds. Bodies are text/plain, so that no request needs a CORS preflight.
 *
 * @module abrd/core
 */

import { post } from './post.js';
import { StallClock } from './stall.js';

/**
 * @typedef {import('./types').Options} Options
 * @typedef {import('./types').Handle} Handle
 * @typedef {import('./types').Answer} Answer
 * @typedef {import('./types').Question} Question
 *
 * @typedef {object} Track one ladder from its first chunk to its last: one session
 * @property {{kbps: number, sizes: number[]|null}[]} levels ascending
 * @property {number|null} chunkS seconds per chunk; null: not known yet, nothing is asked
 * @property {number} chunks 0: live, or not known
 * @property {string|null} profile hint of the manifest
 *
 * @typedef {object} Arrival
 * @property {number} chunk
 * @property {number} kbps of its level
 * @property {number} bytes
 * @property {number} download_s from the request to the last byte
 */

export const later = (ms, value) => new Promise(resolve => setTimeout(resolve, ms, value));
export const now = () => performance.now() / 1000;
export const sameRate = (a, b) => Math.abs(a - b) < 1e-6 * Math.max(a, b);

/** Whether a status is a matter of time (0: no answer), and not of what was asked. */
const passes = status => status < 400 || status > 499 || [408, 429].includes(status);

let turn = 0;       // counts the chunk boundaries of all players on the page
const outages = {}; // by server: {turn: boundary of the newest question that failed or NaN, failures, why}

/** The levels of a track, when only their bitrates are known. */
export const ladder = rates => [...new Set(rates)].sort((a, b) => a - b)
    .map(kbps => ({ kbps, sizes: null }));

/** What fn returns; nothing when it fails, as a fault of ours must not stop the playback. */
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
    #outage;            // what the page knows of this server
    #timeoutMs;
    #bufferMaxS;
    #listeners = new Set(); // {event, fn}
    #state = { mode: 'idle', reason: '', session: null, profile: null, startupS: NaN };
    #hooks = [];        // what detach() undoes
    #attached = true;

    #track = null;      // the ladder that is being downloaded
    #origin = NaN;      // live: where its chunk 0 began; NaN: not known yet
    #session = null;    // id of its session
    #refused = false;   // the daemon will not have this source
    #nextChunk = 0;     // number the next request should have
    #decision = null;   // latest Answer
    #unsent = null;     // outcome that the daemon has not confirmed
    #history;           // newest outcomes of the session, or of what would be one
    #by;                // who chose the chunk under way; null: the source has had none
    #arrivedS = NaN;    // when the manifest came
    #stall = new StallClock();
    #asking = null;     // AbortController of the running question
    #watching = null;   // AbortController of the watch over the chunk under way
    #slow = false;      // the last question ran out of time: do not hold for the next
    #turn = Infinity;   // boundary that was reached last; none: the first question is always asked
    #waits = 0;         // boundary of the question without an answer
    #trouble = '';      // what is wrong with the daemon at the moment

    /**
     * @param {Options} options
     * @param {(track: Track) => number} bufferMaxS what the player buffers of it at most
     */
    constructor(options, bufferMaxS) {
        const { server = '', timeoutMs = 300, onDecision } = this.#options = options ?? {};
        this.#server = `${server ?? ''}`.replace(/\/+$/, '');
        this.#outage = outages[this.#server] ??= { turn: NaN, failures: 0 };
        this.#timeoutMs = timeoutMs;
        this.#bufferMaxS = bufferMaxS;
        if (onDecision) this.#on('decision', onDecision);
        if (globalThis.addEventListener)
            this.tie(globalThis, 'addEventListener', 'removeEventListener', 'pagehide', () => this.#leave());
    }

    /** What attach() returns; `more` is what an adapter adds. */
    handle(more = {}) {
        const core = this;
        return {
            ...more,
            detach: () => this.#detach(),
            get state() { return { ...core.#state }; },
            on: (event, fn) => this.#on(event, fn),
        };
    }

    get attached() { return this.#attached; }
    get track() { return this.#track; }

    /** Runs what ties the plugin to its player; when that fails, the player is left as it was. */
    install(fn) {
        try {
            fn();
        } catch (e) {
            console.error('abrd:', e);
            this.#detach();
        }
    }

    /** detach() will call it. */
    undo(fn) { this.#hooks.push(fn); }

    /**
     * Calls target[on](...more, fn) now, and with detach() target[off](...more, fn). What fn throws
     * does not reach the player.
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
            // a player that was destroyed has nothing left to restore
            try { undo(); } catch { /* the other hooks still */ }
        }
        this.forget();
    }

    /* ----- the way of one source ----- */

    /** A manifest has come; the wait for the first picture counts from here. */
    source() {
        this.#refused = false;
        this.#by = null;
        this.#arrivedS = now();
        this.#stall = new StallClock();
        this.enter(null);
    }

    /** Another ladder, or none: nothing of the last one holds any more. */
    enter(track) {
        this.#track = track;
        this.#origin = NaN;
        this.#nextChunk = 0;
        this.reopen();
        this.#unsent = null;
    }

    /** The same ladder, understood anew: its session must begin again. */
    reopen() {
        this.#watching?.abort();
        this.#session = this.#decision = null;
        this.#history = [];
        this.#setState({ session: null });
    }

    /**
     * Live: where chunks are counted from, in seconds or numbers, when one at `at` is asked for.
     * That is the first one seen; an earlier one begins another session, as no number is negative.
     */
    origin(at) {
        const before = this.#origin - .01;
        if (at < before) this.reopen();
        return at >= before ? this.#origin : this.#origin = at;
    }

    /** Index of a bitrate on the ladder; -1: it is not there. */
    levelOf(kbps) { return this.#track?.levels.findIndex(l => sameRate(l.kbps, kbps)) ?? -1; }

    /** A bitrate is asked for that may not be on the ladder: then rates() tells what the player sees. */
    meet(kbps, rates) {
        if (this.levelOf(kbps) >= 0) return;
        const levels = ladder(rates());
        if (levels.every(l => this.levelOf(l.kbps) >= 0)) return; // nothing new: no second session
        this.reopen();
        this.#track.levels = levels;
    }

    /** The source is gone; the next manifest begins anew. */
    forget() {
        this.#leave();
        this.#asking?.abort();
        this.source();
        this.#setState({ mode: 'idle', reason: '', startupS: NaN });
    }

    /** The answer for the chunk that comes next, or null. */
    choice() {
        const d = this.#decision;
        return this.#attached && d?.chunk === this.#nextChunk ? d : null;
    }

    /**
     * A chunk is on its way. Returns who chose it.
     * @param {import('./abandon.js').Look|null} [look] looks after it, if the daemon decided
     */
    requested(chunk, kbps, look) {
        const level = this.levelOf(kbps);
        const { level: decided = null, mode, from } = this.#decision?.chunk === chunk ? this.#decision : {};
        const first = !this.#by, by = this.#by = decided !== level ? 'player' : mode === 'local' ? mode : 'abrd';
        this.#nextChunk = chunk + 1;
        this.#setState({ mode: by, reason: by === 'abrd' ? '' : by === 'player' && decided !== null ?
            'the player chose otherwise' : this.#trouble || 'no decision' });
        this.#emit('request', { chunk, level, kbps, by, decided });
        this.#watching?.abort();
        this.#watching = new AbortController();
        // once given up a chunk comes as it comes
        if (look && by === 'abrd' && from == null && this.#options.abandon !== false)
            guard(look, chunk, level, this.#watching.signal, first);
        return by;
    }

    /**
     * A second question about the chunk under way, answered in time or not at all.
     * @param {{chunk: number, level: number, bytes: number, elapsed_s: number, buffer_s: number}} seen
     * @param {(answer: {level: number, kbps: number}) => boolean} restart fetches it so instead; the
     *     request for it must come later
     * @param {AbortSignal} signal
     * @returns {Promise<boolean>} whether to ask again
     */
    async doubt(seen, restart, signal) {
        if (this.#slow || this.#trouble || !this.#session) return false;
        const { chunk, level } = seen;
        try {
            const answer = await Promise.race([post(this.#url('abandon'), seen, signal), later(this.#timeoutMs)]);
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
     * A chunk is here: hold the player until this settles. The daemon is told nothing of a level
     * that is not on the ladder.
     * @param {Arrival} arrival
     * @param {number} held media from the picture to the end of the chunk; what is no number is 0
     * @param {number} most with more of it the player does not ask for the next one
     * @returns {Promise<boolean>} whether more of this track is to come
     */
    async arrived({ chunk, kbps, bytes, download_s }, held, most) {
        if (!this.#track) return false; // after detach()
        this.#watching?.abort();
        const before = this.#history.at(-1);
        if (before?.chunk === chunk && this.#decision?.chunk === chunk + 1) return true; // once more
        const level = this.levelOf(kbps), buffer_s = Math.min(Math.max(held || 0, 0), most);
        const outcome = { chunk, level, bytes, download_s: Math.max(download_s || 0, 1e-4),
            rebuffer_s: this.#stall.take(now()) };
        this.#emit('chunk', { ...outcome, kbps, buffer_s, by: this.#by });
        const known = this.#unsent = level < 0 ? null : outcome;
        if (known) this.#history = [...this.#history, known].slice(-8); // as many as the daemon looks at

        const { chunks } = this.#track;
        if (chunks && chunk >= chunks - 1) {
            this.#finish(known);
            return false;
        }
        await this.#hold(chunk + 1, buffer_s, known);
        return true;
    }

    /**
     * Asks for chunk 0 of the track, before anything of it is requested.
     * @param {(signal: AbortSignal) => Promise<void>} [prepare] fetches what the track lacks yet;
     *     never fails
     */
    ask(prepare) { return this.#hold(0, 0, null, prepare); }

    /** The last chunk is here: report it. */
    #finish(last) {
        if (!last) this.#leave();
        if (this.#session) {
            post(this.#url('rewards'), { ...last, final: true })
                .then(reply => this.#emit('report', reply), e => this.#failed(e));
        }
        this.#unsent = this.#session = null;
    }

    /** A seek out of the buffer: the next request will be for this chunk. */
    seek(chunk) {
        const { chunks } = this.#track;
        if (chunk === this.#nextChunk || chunks && chunk >= chunks) return;
        this.#nextChunk = chunk;
        this.#decision = null;
        this.#hold(chunk, 0, this.#unsent);
    }

    /* ----- what the picture does ----- */

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

    /* ----- questions ----- */

    /**
     * Runs a question and waits for it, but no longer than a chunk may be held; before that, as long
     * at most, for what it needs. What is late goes on; its answer counts if it still fits.
     */
    async #hold(chunk, buffer, last, prepare) {
        // the daemon is passed over when a question failed since the boundary before, this player's or
        // another's, or the one asked there still has no answer; but not twice in a row
        const before = this.#turn, away = this.#outage.turn >= before || this.#slow && this.#waits === before;
        this.#turn = ++turn;
        if (away) this.#trouble ||= this.#outage.why;
        this.#asking?.abort();
        const { signal } = this.#asking = new AbortController();
        // a new connection and two questions take longer than one on an open connection
        const limit = this.#timeoutMs * (this.#session ? 1 : 3);
        const isLate = async work =>
            await Promise.race([work, later(limit, true)]) && !signal.aborted;

        const ready = prepare?.(signal);
        const running = away ? ready : this.#run(chunk, buffer, last, signal, limit, ready);
        if (!this.#slow) {
            // that the video's own server is slow is not the daemon's doing
            if (ready && await isLate(ready)) this.#trouble = 'the video\'s index is late';
            else if (await isLate(running)) {
                this.#slow = true;
                this.#trouble = 'the daemon does not answer in time';
            }
        }
        if (!signal.aborted && this.#decision?.chunk !== chunk) await this.#local(chunk, buffer, signal);
    }

    /** Asks once it is `ready`; never fails. */
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
                chunk, buffer_s: buffer, last: last ?? undefined, ...this.#sizesOf(chunk),
            }, signal);
            if (this.#unsent === last) this.#unsent = null;
            return answer;
        };
        if (this.#session) {
            try {
                return await ask();
            } catch (e) {
                // unknown or closed there (restart, expiry), or it remembers it otherwise
                if (![404, 409, 410].includes(e.status)) throw e;
                this.#session = null;
            }
        }
        const first = await this.#open(signal);
        return !first || chunk === 0 ? first : ask();
    }

    /** What is played and for whom. */
    #body() {
        const { levels, chunkS, chunks, profile } = this.#track;
        const { profile: hint = profile } = this.#options;
        return {
            ...(hint && (typeof hint === 'string' ? { profile: hint } : hint)),
            ladder_kbps: levels.map(l => l.kbps),
            chunk_s: chunkS,
            chunks,
            buffer_max_s: this.#bufferMaxS(this.#track),
        };
    }

    get #known() { return this.#track?.levels.length && this.#track.chunkS; }

    async #open(signal) {
        const track = this.#track;
        if (this.#refused || !this.#known) return null;
        const body = this.#body();
        let reply;
        try {
            reply = await post(this.#url(), {
                ...body,
                content_id: this.#options.contentId || undefined,
                ...this.#sizesOf(0),
            }, signal);
        } catch (e) {
            // no use in asking again; but a name in a manifest is only a hint
            if (passes(e.status)) throw e;
            this.#refused = e.field !== 'profile' || this.#options.profile !== undefined || !track.profile;
            if (this.#refused) throw e;
            this.#failed(e);
            track.profile = null;
            return this.#open(signal);
        }
        if (signal.aborted || track !== this.#track) return null;
        this.#session = reply.session;
        this.#setState({ session: reply.session, profile: reply.profile });
        this.#emit('session', { ...body, ...reply });
        return reply;
    }

    /** What the page itself would do, when it can. */
    async #local(chunk, buffer_s, signal) {
        const { fallback } = this.#options;
        if (!fallback || !this.#known) return;
        const began = now(), history = this.#history;
        const question = {
            ...this.#body(), chunk, buffer_s, ...this.#sizesOf(chunk),
            last_level: history.at(-1)?.level ?? -1,
            throughput_kbps: history.map(o => o.bytes * 8 / 1000 / o.download_s),
            download_s: history.map(o => o.download_s),
        };
        const answer = await Promise.race([guard(fallback, question), later(this.#timeoutMs)]);
        const level = answer?.level ?? answer, kbps = this.#track?.levels[level]?.kbps;
        if (signal.aborted || this.#decision?.chunk === chunk || !kbps) return;
        this.#decide({ ...answer, chunk, level, kbps, mode: 'local' }, began);
    }

    /** Of the session there is. */
    #url(what) {
        return [`${this.#server}/v1/sessions`, this.#session, what].filter(Boolean).join('/');
    }

    #sizesOf(chunk) {
        const sizes = this.#track.levels.map(l => l.sizes?.[chunk]);
        return sizes.every(Boolean) && { next_bytes: sizes };
    }

    /** `asked`: the boundary at which the question was asked. */
    #failed(e, asked = turn) {
        const { where, status, field } = e, words = e.detail || e.message;
        const { origin } = globalThis.location ?? {}, outage = this.#outage;
        this.#trouble = status ? `the daemon answers ${status}: ${words}` : 'the daemon does not answer';
        // what the daemon says to a page that it does not allow, the browser keeps from the page
        if (!status && origin && /^\w*:?\/\//.test(this.#server) && !`${this.#server}/`.startsWith(`${origin}/`))
            this.#trouble += `, or does not allow this page: abrd serve --allow-origin ${origin}`;
        outage.why = this.#trouble;
        if (!passes(status)) console.warn(`abrd: ${where}: ${words}`);
        else if (outage.failures++ || Math.random() < .5) outage.turn = asked;
        this.#emit('error', { where, status, field, detail: words });
    }

    /** No more chunks will come: tell what the daemon does not know yet, else that it is over. */
    #leave() {
        if (!this.#session) return;
        if (this.#unsent)
            globalThis.navigator?.sendBeacon?.(this.#url('rewards'), JSON.stringify(this.#unsent));
        else
            fetch(this.#url(), { method: 'DELETE', keepalive: true, credentials: 'omit' })
                .catch(() => {}); // it expires by itself
        this.#session = null;
    }
}

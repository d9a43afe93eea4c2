/**
 * daemon.js - the daemon's event stream and what is asked beside it.
 *
 * One stream, only while the page is seen: a daemon that nobody watches formats no events.
 *
 * Who looks from elsewhere is told no sessions, as who knows one may speak for it, unless he has the
 * daemon's token: behind the page's address, `#token=TOKEN`, where no server hears of it.
 *
 * @module dashboard/daemon
 */
import { TokenStream } from './stream.js';

export class Daemon extends EventTarget {
    #events = null;
    #again = 0;

    /** @param {string} server '' is where the page comes from */
    constructor(server) {
        super();
        this.server = server;
        this.token = new URLSearchParams(location.hash.slice(1)).get('token');
        document.addEventListener('visibilitychange', () => document.hidden ? this.close() : this.open());
    }

    open() {
        if (this.#events || document.hidden) return; // a page may be opened where nobody sees it
        const url = `${this.server}/v1/events`, { token } = this;
        const events = this.#events = token ? new TokenStream(url, token) : new EventSource(url);
        for (const type of ['stats', 'session', 'decision', 'reward', 'withheld'])
            events.addEventListener(type, e => this.#tell(type, JSON.parse(e.data)));
        // a stream that begins may be that of another process: what is known of the one before is old
        events.onopen = () => this.#tell('open');
        events.onerror = () => {
            this.#tell('gone');
            // a refusal ends the stream for good; a lost connection it mends itself
            if (events.readyState !== EventSource.CLOSED) return;
            this.close();
            this.#again = setTimeout(() => this.open(), 3000);
        };
    }

    close() {
        clearTimeout(this.#again);
        this.#events?.close();
        this.#events = null;
    }

    #tell(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }

    /** JSON from a path, null when it cannot be had, false when there is no such thing. */
    async get(path) {
        try {
            const answer = await fetch(this.server + path);
            return answer.ok ? await answer.json() : answer.status === 404 ? false : null;
        } catch {
            return null;
        }
    }
}

/**
 * Runs fn, which may be slow, when it is asked to: one at a time, at most every `ms`, and once
 * more when it was asked meanwhile.
 */
export function paced(fn, ms) {
    let busy = false, again = false;
    return async function run() {
        if (busy) {
            again = true;
            return;
        }
        busy = true;
        try {
            await fn();
        } finally {
            setTimeout(() => {
                busy = false;
                if (again) {
                    again = false;
                    run();
                }
            }, ms);
        }
    };
}

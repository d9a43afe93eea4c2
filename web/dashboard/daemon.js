/**
 * daemon.js - the daemon's event stream, and requests for other data.
 *
 * The page has one stream, only while it is visible: without a stream the daemon formats no events.
 *
 * From another machine the daemon sends no sessions, since a client that knows a session's id can act for
 * it. With the daemon's token it sends them. The token is in the fragment of the page's address,
 * `#token=TOKEN`, which no server receives.
 *
 * @module dashboard/daemon
 */
import { TokenStream } from './stream.js';

export class Daemon extends EventTarget {
    #events = null;
    #again = 0;

    /** @param {string} server '' is the origin of the page */
    constructor(server) {
        super();
        this.server = server;
        this.token = new URLSearchParams(location.hash.slice(1)).get('token');
        document.addEventListener('visibilitychange', () => document.hidden ? this.close() : this.open());
    }

    open() {
        if (this.#events || document.hidden) return; // a page may be opened in the background
        const url = `${this.server}/v1/events`, { token } = this;
        const events = this.#events = token ? new TokenStream(url, token) : new EventSource(url);
        for (const type of ['stats', 'session', 'decision', 'reward', 'withheld'])
            events.addEventListener(type, e => this.#tell(type, JSON.parse(e.data)));
        // the new stream may be that of another process, so earlier data may be obsolete
        events.onopen = () => this.#tell('open');
        events.onerror = () => {
            this.#tell('gone');
            // EventSource reconnects after a lost connection, but not after a refusal
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

    /** The text of a path; null after a failure. */
    async text(path) {
        const answer = await fetch(this.server + path).catch(() => null);
        return answer?.ok ? answer.text().catch(() => null) : null;
    }

    /** JSON from a path; null after a failure, false after 404. */
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
 * Returns a function that runs fn: one run at a time, at most one per `ms`. A call during a run causes
 * one more run.
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

/**
 * stream.js - the daemon's events for a page with the token, which EventSource cannot send.
 *
 * @module dashboard/stream
 */
const AGAIN_MS = 2000;

/** The part of EventSource that daemon.js uses; it reconnects for ever. */
export class TokenStream extends EventTarget {
    #stop = new AbortController();

    constructor(url, token) {
        super();
        this.#run(url, { headers: { Authorization: `Bearer ${token}` }, cache: 'no-store', signal: this.#stop.signal });
    }

    close() { this.#stop.abort(); }

    async #run(url, how) {
        while (!how.signal.aborted) {
            try {
                const answer = await fetch(url, how);
                if (answer.ok) await this.#read(answer.body.pipeThrough(new TextDecoderStream()).getReader());
            } catch { /* ended or failed: reported below */ }
            if (how.signal.aborted) return;
            this.onerror?.();
            await new Promise(resolve => setTimeout(resolve, AGAIN_MS));
        }
    }

    async #read(reader) {
        this.onopen?.();
        let text = '';
        for (let got; !(got = await reader.read()).done;) {
            const events = (text + got.value).split('\n\n');
            text = events.pop();
            for (const event of events) {
                const of = name => new RegExp(`^${name}: (.*)$`, 'm').exec(event)?.[1];
                if (of('event')) this.dispatchEvent(new MessageEvent(of('event'), { data: of('data') }));
            }
        }
    }
}

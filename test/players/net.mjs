// net.mjs - XMLHttpRequest and fetch of a page. Media comes over the page's link. Requests for the daemon
// cross the bridge: they are real HTTP requests, during which the virtual clock stands still; their answers
// arrive a fixed virtual time later.
//
// Progress is reported with the first bytes and then every 50 ms, as in Chromium: dash.js takes the time of
// the first report for the latency.
import http from 'node:http';

import { Event, EventTarget } from './events.mjs';

const PROGRESS_MS = 50;
export const MEDIA = 'http://media.test/', DAEMON = 'http://abrd.test';

/**
 * Real requests to a daemon. `state`: null, or 'away'; latencyMs may change at any time. standIn(method, path, body)
 * answers instead of the daemon with {status, text}; undefined: the daemon answers.
 */
export class Bridge {
    state = null;
    log = [];             // {at, method, path, body, status, reply}
    #clock;
    #agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

    constructor(clock, url, latencyMs = 20, standIn = () => undefined) {
        Object.assign(this, { url, latencyMs, standIn });
        this.#clock = clock;
    }

    /** Calls done({status, text}), or done(null) for no answer. Returns a function that forgets the answer. */
    send(method, path, body, done) {
        const { state, latencyMs } = this, entry = { at: this.#clock.now, method, path, body, status: 0, reply: null };
        this.log.push(entry);
        let answer = null;
        const given = state !== 'away' && this.standIn(method, path, body && JSON.parse(body));
        if (given) {
            answer = given;
            entry.status = given.status;
            entry.reply = given.text;
        } else if (state !== 'away') {
            this.#clock.hold(this.#ask(method, path, body).then(a => {
                answer = a;
                entry.status = a.status;
                entry.reply = a.text;
            }, () => {}));
        }
        const timer = this.#clock.after(latencyMs, () => done(answer));
        return () => this.#clock.cancel(timer);
    }

    #ask(method, path, body) {
        return new Promise((resolve, reject) => {
            const q = http.request(this.url + path, { method, agent: this.#agent,
                headers: body ? { 'content-type': 'text/plain', 'content-length': Buffer.byteLength(body) } : {} }, r => {
                const parts = [];
                r.on('data', d => parts.push(d));
                r.on('end', () => resolve({ status: r.statusCode, text: Buffer.concat(parts).toString(),
                    type: r.headers['content-type'] }));
                r.on('error', reject);
            });
            q.on('error', reject);
            q.end(body);
        });
    }

    close() { this.#agent.destroy(); }
}

/** What a page can request. `log` has a row for every request of the video's files. */
export class Network {
    log = [];             // {at, path, kind, chunk, level, bytes, loaded, first, heard (its newest bytes), end, aborted}
    resources = [];       // for performance.getEntriesByType('resource')
    clock;
    #link;
    #site;
    #bridge;
    #epochMs;

    constructor(clock, link, site, bridge, epochMs) {
        this.clock = clock;
        this.#link = link;
        this.#site = site;
        this.#bridge = bridge;
        this.#epochMs = epochMs;
    }

    /**
     * @param {{first: (answer: object) => void, progress: (loaded: number) => void, end: (answer: object) => void,
     *     failed: () => void}} on answer: {status, type, body, total}
     * @returns {() => void} aborts it
     */
    request(method, url, body, on) {
        if (url.startsWith(DAEMON)) {
            return this.#bridge.send(method, url.slice(DAEMON.length), body, reply => {
                if (!reply) return on.failed();
                const answer = { status: reply.status, type: reply.type ?? '', body: reply.text, total: reply.text.length };
                on.first(answer);
                on.end(answer);
            });
        }
        const { clock } = this, path = url.replace(MEDIA, '').replace(/[?#].*/, '');
        const file = this.#site.at(path, (this.#epochMs + clock.now) / 1000);
        const bytes = typeof file?.body === 'string' ? new TextEncoder().encode(file.body) : file?.body ?? new Uint8Array(0);
        const { kind = null, chunk = -1, level = -1 } = file ?? {};
        const row = { at: clock.now, path, kind, chunk, level, bytes: bytes.length, loaded: 0, first: NaN, heard: clock.now, end: NaN, aborted: false,
            status: file ? 200 : 404 };
        this.log.push(row);
        const answer = { status: row.status, type: file?.type ?? 'text/plain', body: bytes, total: bytes.length };
        let tick = 0;
        const look = () => {
            tick = clock.after(PROGRESS_MS, look);
            const loaded = transfer.loaded();
            if (loaded > row.loaded) row.heard = clock.now;
            on.progress(row.loaded = loaded);
        };
        const transfer = this.#link.request(bytes.length, {
            first: () => {
                row.first = clock.now;
                on.first(answer);
                tick = clock.after(1, look);
            },
            end: () => {
                clock.cancel(tick);
                row.loaded = bytes.length;
                row.end = clock.now;
                this.resources.push({ name: url, entryType: 'resource', startTime: row.at, requestStart: row.at,
                    responseStart: row.first, responseEnd: row.end, duration: row.end - row.at,
                    transferSize: bytes.length + 300, encodedBodySize: bytes.length, decodedBodySize: bytes.length });
                if (this.resources.length > 250) this.resources.shift();
                on.progress(bytes.length);
                on.end(answer);
            },
        });
        return () => {
            if (!Number.isNaN(row.end)) return;
            row.loaded = transfer.loaded();
            row.aborted = true;
            row.end = clock.now;
            clock.cancel(tick);
            transfer.stop();
        };
    }
}

const asText = body => (typeof body === 'string' ? body : new TextDecoder().decode(body));
const asBuffer = body => {
    const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
    return bytes.byteLength === bytes.buffer.byteLength ? bytes.buffer : bytes.slice().buffer;
};
const absolute = url => (/^\w+:/.test(url) ? `${url}` : `http://page.test${`${url}`.startsWith('/') ? '' : '/'}${url}`);
/** Requests to the page's own origin are for the daemon, which serves the page. */
const resolved = url => absolute(url).replace(/^http:\/\/page\.test/, DAEMON);

/** XMLHttpRequest and fetch for a network. */
export function networkApi(net) {
    const { clock } = net;

    class XMLHttpRequest extends EventTarget {
        static UNSENT = 0;
        static OPENED = 1;
        static HEADERS_RECEIVED = 2;
        static LOADING = 3;
        static DONE = 4;
        UNSENT = 0;
        OPENED = 1;
        HEADERS_RECEIVED = 2;
        LOADING = 3;
        DONE = 4;
        readyState = 0;
        status = 0;
        statusText = '';
        response = null;
        responseType = '';
        responseURL = '';
        timeout = 0;
        withCredentials = false;
        upload = new EventTarget();
        #method;
        #url;
        #stop = null;
        #timer = 0;
        #answer = null;

        open(method, url) {
            this.#method = method;
            this.#url = `${url}`;
            this.#state(1);
        }
        setRequestHeader() {}
        overrideMimeType() {}
        getAllResponseHeaders() {
            return this.#answer ? `content-type: ${this.#answer.type}\r\ncontent-length: ${this.#answer.total}\r\n` : '';
        }
        getResponseHeader(name) {
            return { 'content-type': this.#answer?.type, 'content-length': `${this.#answer?.total}` }[name.toLowerCase()] ?? null;
        }
        get responseText() { return typeof this.response === 'string' ? this.response : ''; }
        get responseXML() { return null; }

        #state(n) {
            this.readyState = n;
            this.emit('readystatechange');
        }
        #over(type) {
            clock.cancel(this.#timer);
            this.#stop = null;
            const { total = 0 } = this.#answer ?? {};
            this.readyState = 4;
            if (type !== 'load') this.status = 0;
            this.emit('readystatechange');
            this.emit(type, { loaded: type === 'load' ? total : 0, total, lengthComputable: true });
            this.emit('loadend', { loaded: type === 'load' ? total : 0, total, lengthComputable: true });
        }

        send(body) {
            this.#stop = net.request(this.#method, resolved(this.#url), body, {
                first: a => {
                    this.#answer = a;
                    this.status = a.status;
                    this.statusText = a.status === 200 ? 'OK' : '';
                    this.responseURL = this.#url;
                    this.#state(2);
                },
                progress: loaded => {
                    if (this.readyState < 3) this.#state(3);
                    this.emit('progress', { loaded, total: this.#answer.total, lengthComputable: true });
                },
                end: a => {
                    this.response = this.responseType === 'arraybuffer' ? asBuffer(a.body) :
                        this.responseType === 'json' ? JSON.parse(asText(a.body)) : asText(a.body);
                    this.#over('load');
                },
                failed: () => this.#over('error'),
            });
            this.emit('loadstart');
            if (this.timeout) {
                this.#timer = clock.after(this.timeout, () => {
                    this.#stop?.();
                    this.#over('timeout');
                });
            }
        }

        abort() {
            if (!this.#stop) return;
            this.#stop();
            this.#over('abort');
            this.readyState = 0;
        }
    }

    /** A body that arrives in parts; readers take them each from the beginning. */
    class Body {
        parts = [];
        done = false;
        error = null;
        #waiting = [];
        push(part) { this.parts.push(part); this.#wake(); }
        end(error = null) { this.done = true; this.error = error; this.#wake(); }
        #wake() { for (const go of this.#waiting.splice(0)) go(); }
        getReader() {
            let i = 0;
            return {
                read: async () => {
                    while (i >= this.parts.length && !this.done) await new Promise(go => this.#waiting.push(go));
                    if (this.error) throw this.error;
                    return i < this.parts.length ? { done: false, value: this.parts[i++] } : { done: true, value: undefined };
                },
                cancel: async () => {},
                releaseLock() {},
            };
        }
        async whole() {
            while (!this.done) await new Promise(go => this.#waiting.push(go));
            if (this.error) throw this.error;
        }
    }

    class Headers {
        #map = new Map();
        constructor(of = {}) { for (const [k, v] of Object.entries(of)) this.append(k, v); }
        append(k, v) { this.#map.set(`${k}`.toLowerCase(), `${v}`); }
        set(k, v) { this.append(k, v); }
        get(k) { return this.#map.get(`${k}`.toLowerCase()) ?? null; }
        has(k) { return this.#map.has(`${k}`.toLowerCase()); }
        forEach(fn) { this.#map.forEach((v, k) => fn(v, k, this)); }
        entries() { return this.#map.entries(); }
        [Symbol.iterator]() { return this.#map[Symbol.iterator](); }
    }

    class Response {
        bodyUsed = false;
        redirected = false;
        type = 'basic';
        #answer;
        constructor(body, { status = 200, url = '', answer = { body: body ?? '', type: '', total: 0 } } = {}) {
            this.#answer = answer;
            this.body = body instanceof Body ? body : new Body();
            if (!(body instanceof Body)) this.body.end();
            Object.assign(this, { status, url, ok: status >= 200 && status < 300, statusText: status === 200 ? 'OK' : '' });
            this.headers = new Headers({ 'content-type': answer.type, 'content-length': answer.total });
        }
        clone() { return new Response(this.body, { status: this.status, url: this.url, answer: this.#answer }); }
        async arrayBuffer() { await this.body.whole(); return asBuffer(this.#answer.body); }
        async text() { await this.body.whole(); return asText(this.#answer.body); }
        async json() { return JSON.parse(await this.text()); }
    }

    const fetch = (url, { method = 'GET', body, signal } = {}) => new Promise((resolve, reject) => {
        const aborted = () => new DOMException('The operation was aborted.', 'AbortError');
        if (signal?.aborted) return reject(aborted());
        const content = new Body();
        let passed = 0;
        const over = () => signal?.removeEventListener('abort', cancel);
        const stop = net.request(method, resolved(`${url}`), body, {
            first: answer => resolve(new Response(content, { status: answer.status, url: absolute(`${url}`), answer })),
            progress: loaded => {
                if (loaded > passed) content.push(new Uint8Array(loaded - passed));
                passed = loaded;
            },
            end: () => { over(); content.end(); },
            failed: () => { over(); reject(new TypeError('Failed to fetch')); },
        });
        function cancel() {
            stop();
            content.end(aborted());
            reject(aborted());
        }
        signal?.addEventListener('abort', cancel, { once: true });
    });

    return { XMLHttpRequest, fetch, Headers, Response, Event };
}

// page.mjs - a page without a browser: the globals that players use, on a virtual clock. A script is compiled
// once, as a function whose parameters are these globals; so it runs unmodified, and any number of pages can
// run it. Adapters are ES modules: esbuild bundles them first.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';

import { random } from '../http/lib/tools.mjs';
import { DOMParser } from '../web/fake.mjs';
import { CustomEvent, Event, EventTarget } from './events.mjs';
import { MediaSource, SourceBuffer, TimeRanges } from './mse.mjs';
import { networkApi } from './net.mjs';
import { HTMLElement, HTMLVideoElement } from './video.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const WEB = path.join(HERE, '../../web'), TOOLS = path.join(HERE, '../web/node_modules');

/** The players' own files, as npm has them. */
export const SCRIPTS = {
    dashjs: path.join(WEB, 'node_modules/dashjs/dist/modern/umd/dash.mediaplayer.min.js'),
    hlsjs: path.join(TOOLS, 'hls.js/dist/hls.min.js'),
    shaka: path.join(TOOLS, 'shaka-player/dist/shaka-player.compiled.js'),
};

/** The version of a player's package. */
export function versionOf(kind) {
    const folder = SCRIPTS[kind].slice(0, SCRIPTS[kind].indexOf('/dist/'));
    return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')).version;
}

// Shaka needs it; Node has it since 22
const RESOLVERS = 'withResolvers';
if (!(RESOLVERS in Promise)) {
    Object.defineProperty(Promise, RESOLVERS, { configurable: true, writable: true, value() {
        let resolve, reject;
        const promise = new this((a, b) => { resolve = a; reject = b; });
        return { promise, resolve, reject };
    } });
}

// those that the page lacks hide Node's own
const NAMES = ['window', 'self', 'globalThis', 'document', 'navigator', 'location', 'Date', 'Math', 'setTimeout', 'clearTimeout',
    'setInterval', 'clearInterval', 'requestAnimationFrame', 'cancelAnimationFrame', 'requestIdleCallback', 'performance',
    'XMLHttpRequest', 'fetch', 'Headers', 'Response', 'MediaSource', 'ManagedMediaSource', 'SourceBuffer', 'HTMLElement',
    'HTMLVideoElement', 'HTMLMediaElement', 'MediaKeys', 'MediaKeySystemAccess', 'Event', 'CustomEvent', 'EventTarget', 'DOMParser', 'URL', 'console', 'crypto',
    'localStorage', 'sessionStorage', 'Worker', 'process', 'require', 'module', 'exports', 'define', 'global', 'setImmediate',
    'addEventListener', 'removeEventListener', 'screen', 'ResizeObserver'];
const compiled = new Map();
const compile = (file, code) => {
    if (!compiled.has(file)) compiled.set(file, vm.compileFunction(code(), NAMES, { filename: file }));
    return compiled.get(file);
};

/** An adapter, or another module of web, as one script that sets module.exports. */
const bundle = name => execFileSync(process.execPath, [path.join(TOOLS, 'esbuild/bin/esbuild'), path.join(WEB, `${name}.js`),
    '--bundle', '--format=cjs', '--target=node18', '--log-level=error'], { encoding: 'utf8', maxBuffer: 1e7 });

export class Page {
    said = [];            // lines of the console, from warnings on
    #globals;

    /**
     * @param {object} options
     * @param {number} [options.seed] of Math.random
     * @param {number} options.epochMs
     * @param {object} [options.connection] navigator.connection
     * @param {RegExp} [options.codecs] those that MediaSource decodes
     * @param {number} [options.tallest] pictures that it decodes, as navigator.mediaCapabilities says
     */
    constructor(clock, net, { seed = 1, epochMs, connection = { downlink: 10, rtt: 50, effectiveType: '4g', saveData: false },
        codecs = /^(avc1|mp4a)/, tallest = Infinity }) {
        this.clock = clock;
        const began = clock.now, sources = new Map(), next = random(seed);
        const events = new EventTarget();
        const video = () => new HTMLVideoElement(clock, url => sources.get(url));
        const element = tag => (/^(video|audio)$/i.test(tag) ? video() : new HTMLElement(tag.toLowerCase()));

        class PageDate extends Date {
            constructor(...args) { if (args.length) super(...args); else super(PageDate.now()); }
            static now() { return epochMs + Math.floor(clock.now); }
        }
        class PageUrl extends URL {
            static createObjectURL(object) {
                const url = `blob:http://page.test/${sources.size + 1}`;
                sources.set(url, object);
                return url;
            }
            static revokeObjectURL() {}
        }
        class PageMediaSource extends MediaSource {
            static isTypeSupported(type) {
                const [container, list] = `${type}`.split(/; *codecs=/);
                return /^(video|audio)\/mp4$/.test(container) &&
                    (list ?? '').split(',').every(c => !c || codecs.test(c.replace(/"/g, '').trim()));
            }
            constructor() { super(clock); }
        }
        const say = (kind, ...words) => { this.said.push(`${kind}: ${words.map(w => w?.stack ?? String(w)).join(' ')}`); };
        const talk = (...words) => { if (process.env.TALK) console.log(...words); };
        const storage = () => {
            const map = new Map();
            return { getItem: k => map.get(k) ?? null, setItem: (k, v) => { map.set(k, `${v}`); }, removeItem: k => { map.delete(k); } };
        };
        class ResizeObserver { // an element's size never changes
            #fn;
            constructor(fn) { this.#fn = fn; }
            observe(target) { clock.after(0, () => this.#fn([{ target, contentRect: target.getBoundingClientRect() }], this)); }
            unobserve() {}
            disconnect() {}
        }
        const body = element('body');
        const document = Object.assign(new EventTarget(), {
            createElement: element, createElementNS: (_, tag) => element(tag), createTextNode: () => element('text'),
            createEvent: () => Object.assign(new Event(''), { initEvent(type) { this.type = type; } }),
            querySelector: () => null, querySelectorAll: () => [], getElementsByTagName: () => [], getElementById: () => null,
            body, head: element('head'), documentElement: element('html'), hidden: false, visibilityState: 'visible',
            readyState: 'complete', fullscreenElement: null, pictureInPictureElement: null, currentScript: null,
        });
        const api = networkApi(net);
        const immediate = fn => clock.setTimeout(fn, 1);
        this.#globals = {
            ...api, document, TimeRanges, ResizeObserver,
            location: new URL('http://page.test/'),
            navigator: {
                userAgent: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
                platform: 'Linux x86_64', vendor: 'Google Inc.', language: 'en', languages: ['en'], onLine: true, maxTouchPoints: 0,
                hardwareConcurrency: 4,
                connection: connection && Object.assign(new EventTarget(), connection),
                mediaCapabilities: {
                    decodingInfo: async config => {
                        const supported = [config.video, config.audio].every(c => !c || PageMediaSource.isTypeSupported(c.contentType)) &&
                            !(config.video?.height > tallest);
                        return { supported, smooth: supported, powerEfficient: supported, configuration: config };
                    },
                },
                requestMediaKeySystemAccess: () => Promise.reject(new DOMException('', 'NotSupportedError')),
                sendBeacon: (url, content) => { api.fetch(url, { method: 'POST', body: content }).catch(() => {}); return true; },
            },
            Date: PageDate, Math: Object.create(Math, { random: { value: next } }), URL: PageUrl,
            setTimeout: clock.setTimeout, clearTimeout: clock.clear, setInterval: clock.setInterval, clearInterval: clock.clear,
            requestAnimationFrame: fn => clock.setTimeout(() => fn(clock.now - began), 16), cancelAnimationFrame: clock.clear,
            requestIdleCallback: immediate,
            performance: {
                now: () => clock.now - began, timeOrigin: epochMs + began, mark() {}, measure() {}, clearResourceTimings() {},
                setResourceTimingBufferSize() {}, addEventListener() {},
                getEntriesByType: type => (type === 'resource' ? net.resources : []),
                getEntriesByName: name => net.resources.filter(r => r.name === name),
            },
            MediaSource: PageMediaSource, SourceBuffer,
            MediaKeys: class MediaKeys {}, MediaKeySystemAccess: class MediaKeySystemAccess {},
            HTMLElement, HTMLVideoElement, HTMLMediaElement: HTMLVideoElement, Event, CustomEvent, EventTarget, DOMParser,
            console: { log: talk, info: talk, debug() {}, trace() {}, group() {}, groupEnd() {}, time() {}, timeEnd() {},
                assert() {}, warn: (...w) => say('warn', ...w), error: (...w) => say('error', ...w) },
            crypto: { getRandomValues: a => { for (let i = 0; i < a.length; i++) a[i] = Math.floor(next() * 2 ** 32); return a; },
                randomUUID: () => `${'00000000-0000-4000-8000-'}${Math.floor(next() * 2 ** 40).toString(16).padStart(12, '0')}` },
            localStorage: storage(), sessionStorage: storage(),
            screen: { width: 1920, height: 1080, orientation: new EventTarget() }, devicePixelRatio: 1,
            innerWidth: 1280, innerHeight: 720,
            addEventListener: events.addEventListener.bind(events), removeEventListener: events.removeEventListener.bind(events),
            dispatchEvent: events.dispatchEvent.bind(events), getComputedStyle: () => ({ getPropertyValue: () => '' }),
            matchMedia: () => ({ matches: false, addEventListener() {}, removeEventListener() {}, addListener() {}, removeListener() {} }),
            AbortController, AbortSignal, ReadableStream, TextEncoder, TextDecoder, URLSearchParams, DOMException, Promise, Intl,
            Uint8Array, Uint16Array, Uint32Array, ArrayBuffer, DataView, Map, Set, WeakMap, Symbol, Object, Array, Number, String,
            JSON, Error, TypeError, RegExp, Function, Boolean, parseInt, parseFloat, isNaN, isFinite, atob, btoa,
            encodeURIComponent, decodeURIComponent, encodeURI, decodeURI, escape, unescape, queueMicrotask, structuredClone,
        };
        const g = this.#globals;
        g.window = g.self = g.globalThis = g.top = g.parent = g;
        this.window = g;
    }

    createVideo() { return this.#globals.document.createElement('video'); }

    /** Runs a player's script. */
    load(kind) { this.#run(compile(SCRIPTS[kind], () => readFileSync(SCRIPTS[kind], 'utf8'))); }

    /** The exports of a module of web: 'dashjs', 'lib/policy'. */
    import(name) {
        const module = { exports: {} };
        this.#run(compile(`web/${name}`, () => bundle(name)), { module, exports: module.exports });
        return module.exports;
    }

    #run(fn, more = {}) { fn.apply(this.#globals, NAMES.map(name => (name in more ? more[name] : this.#globals[name]))); }
}

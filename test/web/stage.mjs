// stage.mjs - a page with players of any kind under the plugin, on content that the daemon serves;
// what they did is recorded in the page.
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { chromium } from '../../web/node_modules/playwright-core/index.mjs';
import { PATIENCE_MS, until } from './harness.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const ARGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync',
    '--autoplay-policy=no-user-gesture-required'];

/** A browser whose pages wait as long as the tests. Whoever launches it closes it, also after a signal. */
export async function launch() {
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGS, handleSIGINT: false, handleSIGTERM: false });
    const newContext = browser.newContext.bind(browser);
    browser.newContext = async options => {
        const context = await newContext(options);
        context.setDefaultTimeout(PATIENCE_MS);
        return context;
    };
    return browser;
}

/** The players' own files, as they come. */
export const SCRIPTS = {
    dashjs: path.join(HERE, '../../web/node_modules/dashjs/dist/modern/umd/dash.mediaplayer.min.js'),
    hlsjs: path.join(HERE, 'node_modules/hls.js/dist/hls.min.js'),
    shaka: path.join(HERE, 'node_modules/shaka-player/dist/shaka-player.compiled.js'),
};

const BLANK = [0, 1, 2, 3].map(i => `<video id="v${i}" muted playsinline width="280" height="158"></video>`).join('');

/**
 * Runs in the page: window.stage begins players and keeps what is seen of them. `options` are those
 * of attach(), null for a player without the plugin; `settings` are the player's own. No player gives a
 * request up because the machine is busy. `deeds` are [chunk, deed], done when that chunk has arrived.
 */
function inPage() {
    const buffer = 24;
    const merge = (into, from = {}) => {
        for (const [k, v] of Object.entries(from))
            if (v && typeof v === 'object') into[k] = merge(into[k] ?? {}, v); else into[k] = v;
        return into;
    };
    const begins = {
        async dashjs({ attach }, video, url, options, settings) {
            const player = window.dashjs.MediaPlayer().create();
            player.updateSettings(merge({ streaming: {
                manifestRequestTimeout: 0,
                buffer: { bufferTimeDefault: buffer, bufferTimeAtTopQuality: buffer },
                fragmentRequestTimeout: 120000, lastBitrateCachingInfo: { enabled: false },
            } }, settings));
            const abrd = options && attach(player, options);
            player.initialize(video, url, true);
            return { abrd, stop: () => player.destroy() };
        },
        async hlsjs({ attach }, video, url, options, settings) {
            const abrd = options && attach(window.Hls, options);
            const patient = Object.fromEntries(['manifest', 'playlist', 'frag'].map(what => `${what}LoadPolicy`).map(policy =>
                [policy, { default: { ...window.Hls.DefaultConfig[policy].default, maxTimeToFirstByteMs: Infinity, maxLoadTimeMs: 300e3 } }]));
            const hls = new window.Hls(merge({ ...patient, maxBufferLength: buffer, maxMaxBufferLength: buffer,
                ...(abrd && { abrController: abrd.controller }) }, settings));
            hls.loadSource(url);
            hls.attachMedia(video);
            video.play().catch(() => {});
            return { abrd, stop: () => hls.destroy(), hls };
        },
        async shaka({ attach }, video, url, options, settings) {
            window.shaka.polyfill.installAll();
            const player = new window.shaka.Player();
            await player.attach(video);
            const retryParameters = { timeout: 0, stallTimeout: 0, connectionTimeout: 0 };
            player.configure(merge({ streaming: { bufferingGoal: buffer, retryParameters }, manifest: { retryParameters } }, settings));
            // a busy machine drops frames, and Shaka would leave a level for that
            if (options) player.configure({ abr: { droppedFrames: false } });
            const abrd = options && attach(player, options);
            player.load(url).then(() => video.play(), e => console.error('shaka', e.code, e.message));
            return { abrd, stop: () => player.destroy(), player };
        },
    };
    window.stage = {
        runs: [],
        async begin(kind, i, url, { rate = 1, settings, plain = false, deeds = [], ...given } = {}) {
            const options = { bufferS: null, ...given }; // the stage's own
            const plugin = await import(`/${kind}.js`);
            const video = document.getElementById(`v${i}`);
            if (rate !== 1) {
                const faster = () => { // Shaka stands still by a rate of 0
                    if (video.playbackRate && video.playbackRate !== rate) video.playbackRate = rate;
                };
                video.addEventListener('playing', faster);
                video.addEventListener('ratechange', faster);
            }
            const run = { video, seen: {}, ended: false, stalls: [] };
            window.stage.runs[i] = run;
            video.addEventListener('ended', () => { run.ended = true; });
            const stall = open => {
                const last = run.stalls.at(-1), now = performance.now() / 1000;
                if (open && run.began && !(last && last.to === null)) run.stalls.push({ from: now, to: null });
                if (!open && last && last.to === null) last.to = now;
            };
            video.addEventListener('waiting', () => stall(!video.seeking));
            video.addEventListener('playing', () => { stall(false); run.began = true; });
            Object.assign(run, await begins[kind](plugin, video, url, plain ? null : options, settings));
            if (plain) return;
            for (const event of ['session', 'decision', 'request', 'abandon', 'chunk', 'report', 'error']) {
                run.seen[event] = [];
                run.abrd.on(event, data => run.seen[event].push({ ...data, at: performance.now() / 1000 }));
            }
            for (const [chunk, deed] of deeds) {
                const off = run.abrd.on('chunk', c => {
                    if (c.chunk !== chunk) return;
                    off();
                    if (typeof deed === 'string') video[deed](); else video.currentTime = deed;
                });
            }
        },
        /** Plays on, until player i has requested n chunks by its own rules. */
        pauseAt(i, n) {
            const { abrd, video } = window.stage.runs[i];
            const off = abrd.on('request', r => {
                if (r.by !== 'player' || --n) return;
                off();
                video.pause();
            });
            video.play();
        },
        at(i) {
            const { seen, ended, abrd, video, stalls } = window.stage.runs[i];
            // dash.js may pause at the last picture instead
            const over = ended || video.currentTime >= video.duration - .05;
            return { seen, ended: over, stalls, state: abrd?.state, t: video.currentTime, paused: video.paused };
        },
    };
}

let stages = 0;

/** A page of the daemon's with `kind`'s scripts; the files it fetched as [name, range], by player. */
export async function stage(browser, daemon, ...kinds) {
    const page = await browser.newPage({ viewport: { width: 900, height: 300 } });
    const files = {}, errors = [], players = new Map(), number = stages++;
    page.on('request', q => {
        const m = /\/demo\/[^/]+\/([^/]+)\/([^/]+)$/.exec(new URL(q.url()).pathname);
        if (m) (files[players.get(m[1])] ??= []).push([m[2], q.headers().range ?? '']);
    });
    page.on('pageerror', e => errors.push(e.message));
    page.on('console', m => { if (process.env.TALK) console.log(`  page: ${m.text()}`); });
    // any document of the daemon's will do; one that playwright makes up may not ask other local servers
    await page.goto(`${daemon.url}/healthz`);
    await page.evaluate(html => { document.body.innerHTML = html; }, BLANK);
    for (const kind of kinds) await page.addScriptTag({ path: SCRIPTS[kind] });
    await page.evaluate(inPage);

    return {
        page, files, errors,
        /** Begins player i. A viewer has its own link, whose clock begins with its first request: the name is new. */
        begin(kind, i, link, file, { viewer = `stage${number}-${i}`, ...options } = {}) {
            players.set(viewer, i);
            return page.evaluate(([...a]) => window.stage.begin(...a),
                [kind, i, `${daemon.url}/demo/${link}/${viewer}/${file}`, options]);
        },
        at: i => page.evaluate(n => window.stage.at(n), i),
        /** Waits until what happened to player i fulfils `test`, and returns it. */
        async when(i, test, what) {
            let at;
            try {
                return await until(async () => (at = await this.at(i), test(at) && at), what);
            } catch (e) {
                const { seen, ...rest } = at;
                throw new Error(`${e.message}\n${JSON.stringify(rest)}\n` +
                    `requests ${JSON.stringify(seen.request)}\nerrors ${JSON.stringify(seen.error)}`);
            }
        },
        close: () => page.close(),
    };
}

// session.mjs - one viewer: a player, by itself or with the plugin, plays a video over a link to its end.
import { Clock } from './clock.mjs';
import { thrown } from './events.mjs';
import { Link } from './link.mjs';
import { siteOf } from './media.mjs';
import { Bridge, DAEMON, MEDIA, Network } from './net.mjs';
import { Page } from './page.mjs';

/** Of every virtual session: pages begin at the same time of the day. */
const EPOCH_MS = Date.UTC(2026, 0, 1);

const EVENTS = ['session', 'decision', 'request', 'abandon', 'chunk', 'report', 'error', 'state'];

const merge = (into, from = {}) => {
    for (const [k, v] of Object.entries(from))
        if (v && typeof v === 'object' && !Array.isArray(v)) into[k] = merge(into[k] ?? {}, v); else into[k] = v;
    return into;
};

/** Starts a player in a page: {player, stop}. `own` are its settings; listen() gets the plugin's handle. */
const begin = {
    dashjs(page, video, site, { own, abrd, listen }) {
        const player = page.window.dashjs.MediaPlayer().create();
        player.updateSettings(merge({ debug: { logLevel: Number(process.env.TALK ?? 0) }, streaming: { lastBitrateCachingInfo: { enabled: false },
            lastMediaSettingsCachingInfo: { enabled: false } } }, own));
        if (abrd) listen(page.import('dashjs').attach(player, abrd));
        player.initialize(video, MEDIA + site.dash, true);
        return { player, stop: () => player.destroy() };
    },
    hlsjs(page, video, site, { own, abrd, listen }) {
        const { Hls } = page.window;
        const handle = abrd && page.import('hlsjs').attach(Hls, abrd);
        if (handle) listen(handle);
        const player = new Hls(merge({ enableWorker: false, ...(handle && { abrController: handle.controller }) }, own));
        player.loadSource(MEDIA + site.hls);
        player.attachMedia(video);
        video.play();
        return { player, stop: () => player.destroy() };
    },
    shaka(page, video, site, { own, abrd, listen }) {
        const { shaka } = page.window;
        shaka.polyfill.installAll();
        const player = new shaka.Player();
        player.configure(own ?? {});
        // Shaka gives up after two attempts, and leaves it to the page to go on
        player.configure({ streaming: { failureCallback: _error => { player.retryStreaming(1); } } });
        player.attach(video).then(() => {
            if (abrd) listen(page.import('shaka').attach(player, abrd));
            return player.load(MEDIA + site.dash);
        }).then(() => video.play()).catch(e => page.said.push(`error: shaka ${e.code} ${e.message}`));
        return { player, stop: () => player.destroy() };
    },
};

/**
 * @param {object} what
 * @param {'dashjs'|'hlsjs'|'shaka'} what.kind
 * @param {number[][]} what.trace rows of link.mjs
 * @param {object} what.video of media.mjs
 * @param {object} [what.own] settings of the player
 * @param {object|null} [what.abrd] options of attach(); null: without the plugin
 * @param {string} [what.daemon] its real address
 * @param {number} [what.latencyMs] of the daemon, virtual
 * @param {(method: string, path: string, body: object) => object|undefined} [what.standIn] of Bridge
 * @param {object} [what.site] options of siteOf
 * @param {object} [what.browser] options of Page
 * @param {object} [what.link] options of Link
 * @param {(run: object) => void} [what.during] called at the start, with {clock, bridge, video, abrd, player}
 * @param {number} [what.limitS] of virtual time
 */
export async function play({ kind, trace, video, own, abrd = null, daemon = '', latencyMs = 20, standIn, site: about, browser,
    link: linkOptions, during, limitS = 3600, seed = 1, untilS = Infinity }) {
    const clock = new Clock(), link = new Link(clock, trace, linkOptions);
    const site = siteOf(video, about), bridge = new Bridge(clock, daemon, latencyMs, standIn);
    const net = new Network(clock, link, site, bridge, EPOCH_MS);
    const page = new Page(clock, net, { seed, epochMs: EPOCH_MS, ...browser });
    page.load(kind);
    const element = page.createVideo(), seen = [];
    thrown.length = 0;
    let running, handle = null, over = false, failed = null;
    // the end as the player declares it: dash.js may open the source again after the last picture
    const isOver = () => over || element.ended || failed;
    const listen = of => {
        handle = of;
        for (const event of EVENTS) handle.on(event, data => seen.push({ event, at: clock.now, ...data }));
    };
    clock.after(0, () => {
        try {
            running = begin[kind](page, element, site, { own, listen, abrd: abrd && { server: DAEMON, ...abrd } });
        } catch (e) {
            failed = e;
            return;
        }
        if (kind === 'dashjs') running.player.on('playbackEnded', e => { over = e.isLast !== false; });
        during?.({ clock, bridge, video: element, page, net, get abrd() { return handle; }, player: running.player });
    });
    const rejected = [];
    const onRejection = e => { rejected.push(e); };
    process.on('unhandledRejection', onRejection);
    try {
        await clock.run(isOver, Math.min(limitS, untilS) * 1000);
        if (failed) throw failed;
        element.sync();
        const ended = Boolean(isOver()), state = handle?.state, overMs = clock.now;
        // whoever closes the page sends the last report
        await clock.run(() => false, clock.now + 2000);
        handle?.detach();
        try { await running.stop(); } catch { /* a stopped player has nothing more to do */ }
        await clock.run(() => false, clock.now + 2000);
        return result({ net, element, bridge, page, seen, state, overMs, video, ended,
            errors: [...clock.errors, ...thrown, ...rejected] });
    } finally {
        process.off('unhandledRejection', onRejection);
        bridge.close();
    }
}

function result({ net, element, bridge, page, seen, state, overMs, video, ended, errors }) {
    const requests = net.log.filter(r => r.kind === 'video');
    const stalls = element.stalls.map(s => ((s.to ?? overMs) - s.from) / 1000).filter(s => s >= .1);
    // the level on the screen for most of each chunk
    const levels = [];
    for (const { from, to, level, number } of element.shown) {
        const row = levels[number - 1] ??= new Map();
        row.set(level, (row.get(level) ?? 0) + to - from);
    }
    const shown = Array.from(levels, row => (row ? [...row].sort((a, b) => b[1] - a[1])[0][0] : -1));
    const useful = new Map(); // bytes of the copies that were shown
    shown.forEach((level, chunk) => { if (level >= 0) useful.set(chunk, video.sizes[chunk][level]); });
    const bytes = requests.reduce((n, r) => n + r.loaded, 0);
    return {
        ended, shown, stalls, startupS: element.firstMs / 1000, wallS: overMs / 1000,
        pieces: element.shown, requests, bytes, wasted: bytes - [...useful.values()].reduce((a, b) => a + b, 0),
        files: net.log, asked: bridge.log, seen, state, said: page.said, errors,
    };
}

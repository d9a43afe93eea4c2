// session.mjs - one viewer: a player, by itself or with the plugin, plays a video over a link to its end.
import { begin } from './begin.mjs';
import { Clock } from './clock.mjs';
import { thrown } from './events.mjs';
import { Link } from './link.mjs';
import { siteOf } from './media.mjs';
import { Bridge, DAEMON, MEDIA, Network } from './net.mjs';
import { Page } from './page.mjs';

/** Of every virtual session: pages begin at the same time of the day. */
const EPOCH_MS = Date.UTC(2026, 0, 1);

const libraries = ({ dashjs, Hls, shaka }) => ({ dashjs, Hls, shaka });

export const EVENTS = ['session', 'decision', 'request', 'abandon', 'chunk', 'report', 'error', 'state'];

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
    // the end as the player declares it
    const isOver = () => over || element.ended || failed;
    const listen = of => {
        handle = of;
        for (const event of EVENTS) handle.on(event, data => seen.push({ event, at: clock.now, ...data }));
    };
    clock.after(0, () => {
        try {
            running = begin[kind]({ ...libraries(page.window), attach: (...a) => page.import(kind).attach(...a) }, element,
                MEDIA + (kind === 'hlsjs' ? site.hls : site.dash), { own, listen, abrd: abrd && { server: DAEMON, ...abrd },
                    over: () => { over = true; }, failed: text => page.said.push(`error: ${text}`), logLevel: Number(process.env.TALK ?? 0) });
        } catch (e) {
            failed = e;
            return;
        }
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

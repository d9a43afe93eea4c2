// contest.mjs - one run: one player plays the demo's first minute over one link, in a page of its own,
// and what a viewer would have seen is measured the same way for all.
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { capacity } from '../../web/demo/record.js';
import { ROOT } from '../web/daemon.mjs';
import { stage } from '../web/stage.mjs';

/** dash.js with one of its rules alone, as its own reference player sets them. */
const only = rule => ({ kind: 'dashjs', file: 'minute.mpd', settings: { streaming: { abr: { rules:
    Object.fromEntries(['throughputRule', 'bolaRule', 'insufficientBufferRule', 'switchHistoryRule',
        'droppedFramesRule', 'abandonRequestsRule', 'l2ARule', 'loLPRule']
        .map(name => [name, { active: name === rule }])) } } } });
const without = rule => ({ kind: 'dashjs', file: 'minute.mpd',
    settings: { streaming: { abr: { rules: { [rule]: { active: false } } } } } });

/** name -> how it is begun; the first plays once per profile, the others do not know of any. */
export const PLAYERS = {
    abrd: { kind: 'dashjs', file: 'minute.mpd', ours: true },
    'dash.js dynamic': { kind: 'dashjs', file: 'minute.mpd' },
    'dash.js BOLA': without('throughputRule'),
    'dash.js throughput': without('bolaRule'),
    'dash.js L2A': only('l2ARule'),
    'dash.js LoL+': only('loLPRule'),
    'hls.js': { kind: 'hlsjs', file: 'minute.m3u8' },
    Shaka: { kind: 'shaka', file: 'minute.mpd' },
};

const LIMIT_S = 300;

// What makes a run worthless: the page itself was late, pictures were not drawn, or chunks took longer
// than the link needs for them.
const TICK_MS = 50, LATE_MS = 150;
const STARVED = { late_share: .02, dropped_share: .05, excess_s: 2 };
const isStarved = cpu => Object.keys(STARVED).some(k => !(cpu[k] <= STARVED[k]));

/** Runs in the page: when the picture began, stood still, and how late the page itself was. */
function watch([tick, late]) {
    const video = document.getElementById('v0');
    const seen = { began: performance.now(), startup: null, stalls: [], since: null, ticks: 0, late: 0, ended: false };
    const now = () => performance.now();
    video.addEventListener('playing', () => {
        seen.startup ??= now() - seen.began;
        if (seen.since !== null && now() - seen.since >= 100) seen.stalls.push((now() - seen.since) / 1000);
        seen.since = null;
    });
    video.addEventListener('waiting', () => {
        if (seen.startup !== null && !video.ended) seen.since ??= now();
    });
    video.addEventListener('ended', () => { seen.ended = true; });
    let before = now();
    setInterval(() => {
        seen.ticks++;
        if (now() - before > tick + late) seen.late++;
        before = now();
    }, tick);
    window.seen = seen;
}

/** Jiffies of all processors: [busy, all]. */
function jiffies() {
    const all = os.cpus().map(c => c.times);
    const sum = of => all.reduce((s, t) => s + of(t), 0);
    const idle = sum(t => t.idle), total = sum(t => t.idle + t.user + t.nice + t.sys + t.irq);
    return [total - idle, total];
}

/** Microseconds in which somebody waited for a processor, where the kernel tells. */
function pressure() {
    try { return Number(/total=(\d+)/.exec(fs.readFileSync('/proc/pressure/cpu', 'utf8'))[1]); } catch { return NaN; }
}

/** Seconds that the link needs for `bytes` from `from_s` on its clock. */
function needs(link, from_s, bytes) {
    const step = .01;
    let s = from_s + link.rtt_s, bits = bytes * 8;
    while (bits > 0 && s - from_s < LIMIT_S) {
        bits -= capacity(link, s) * 1e6 * step;
        s += step;
    }
    return s - from_s;
}

/**
 * @param {object} browser
 * @param {object} daemon serves pages, media and, for abrd, decisions
 * @param {{trace: string, player: string, profile: string|null}} what
 */
export async function contest(browser, daemon, { trace, player, profile }) {
    const { kind, file, settings, ours } = PLAYERS[player];
    const s = await stage(browser, daemon, kind);
    const { page } = s;
    const kbps = []; // by chunk, of the copy that came last
    const loads = []; // {chunk, from, to}: by the clock of this machine, ms
    page.on('requestfinished', q => {
        const m = /\/(\d+)-(\d+)\.m4s$/.exec(q.url());
        if (!m) return;
        kbps[Number(m[2]) - 1] = Number(m[1]);
        const { startTime, requestStart, responseEnd } = q.timing();
        loads.push({ chunk: Number(m[2]) - 1, kbps: Number(m[1]), from: startTime + requestStart, to: startTime + responseEnd,
            bytes: fs.statSync(path.join(ROOT, 'build/media', `${m[1]}-${m[2]}.m4s`)).size });
    });
    try {
        const [busy, all] = jiffies(), waited = pressure(), began = Date.now();
        await page.evaluate(watch, [TICK_MS, LATE_MS]);
        const viewer = randomBytes(6).toString('hex'); // a new one, so that the link begins anew
        await s.begin(kind, 0, trace, file, { viewer, ...(ours ? { profile, contentId: 'demo', timeoutMs: 1000 } : { plain: true, settings }) });
        await page.waitForFunction(() => {
            const { currentTime: t, duration } = document.getElementById('v0');
            return window.seen.ended || t >= duration - .05; // dash.js may pause at the last picture
        }, null, { timeout: LIMIT_S * 1000, polling: 500 });

        const seen = await page.evaluate(() => {
            const { totalVideoFrames: n, droppedVideoFrames: lost } =
                document.getElementById('v0').getVideoPlaybackQuality();
            return { ...window.seen, frames: n, dropped: lost };
        });
        const [busyNow, allNow] = jiffies();
        const link = await daemon.get(`/demo/${trace}/${viewer}/link.json`);
        const clock = Date.now() / 1000 - link.now_s; // when the link's clock showed 0
        const took = loads.map(l => ({ chunk: l.chunk, kbps: l.kbps, from_s: l.from / 1000 - clock, s: (l.to - l.from) / 1000,
            needed_s: needs(link, l.from / 1000 - clock, l.bytes) }));
        const cpu = {
            late_share: seen.late / seen.ticks,
            dropped_share: seen.dropped / seen.frames,
            excess_s: took.reduce((sum, l) => sum + Math.max(l.s - l.needed_s, 0), 0),
            busy_share: (busyNow - busy) / (allNow - all),
            pressure: (pressure() - waited) / 1000 / (Date.now() - began),
        };
        const ladder = (await (await fetch(`${daemon.url}/demo/unlimited/ladder/minute.mpd`)).text())
            .match(/bandwidth="(\d+)"/g).map(b => Number(b.match(/\d+/)[0]) / 1000);
        const at = ours ? await s.at(0) : null;
        return {
            trace, player, profile, kbps: [...kbps], ladder, stalls: seen.stalls, startup_s: seen.startup / 1000,
            ...(at && { followed: at.seen.request.filter(r => r.by === 'abrd').length }),
            cpu, starved: isStarved(cpu), took_s: (Date.now() - began) / 1000,
            loads: took.map(l => [l.chunk, l.kbps, ...[l.from_s, l.s, l.needed_s].map(x => Number(x.toFixed(3)))]),
        };
    } finally {
        await s.close();
    }
}

// minute.mjs - what viewers of the demo get with abrd in the first minute: real time, Chromium, four links, six
// profiles. The left player plays, too, as on the page; SOLO=1 leaves it out and needs half of the processor. It takes
// half an hour and belongs to no other test. Nothing else should run on the machine meanwhile, since a busy processor
// stalls the playback as a slow link does.
//
//   node test/web/minute.mjs
//   LINK=lte-02,outage PROFILE=news,live SECONDS=60 POLICY=FILE SHOTS=build/minute node test/web/minute.mjs
//
// A row passes if 57 of 60 seconds of video were seen and the first picture came within 3 s, or what the
// lowest level alone gives on this link, if that is less (alone.mjs). SHOTS: a folder for a picture of each
// page. `late` is the longest time that the page's own clock was late: with more than LATE_S the machine was
// too busy, and the row says nothing: it is played again, TRIES times in all (3). Exits with 1 if a row fails, with
// 2 if one says nothing.
import fs from 'node:fs';
import path from 'node:path';

import { alone } from './alone.mjs';
import { Daemon, ROOT } from './daemon.mjs';
import { until } from './harness.mjs';
import { launch } from './stage.mjs';

const { LINK, PROFILE, POLICY, SHOTS, SOLO, SECONDS = '60', TRIES = '3' } = process.env;
const PROFILES = ['standard', 'documentary', 'live', 'news', 'sports', 'lecture'];
const seconds = Number(SECONDS), SEEN = 0.95, FIRST_S = 3, SLACK_S = 0.5, LATE_S = 0.5;
const MEDIA = path.join(ROOT, 'build/film');

const bytesOf = name => fs.statSync(path.join(MEDIA, name)).size;
const LOWEST = 300, CHUNKS = fs.readdirSync(MEDIA).filter(f => f.startsWith(`${LOWEST}-`) && f.endsWith('.m4s')).length;
const before = [bytesOf('manifest.mpd'), bytesOf(`${LOWEST}-init.mp4`)];
const sizes = Array.from({ length: CHUNKS }, (_, i) => bytesOf(`${LOWEST}-${i + 1}.m4s`));

/** What a row is whose page did not even open in time. */
const NONE = { late: Infinity, first: null, seen: 0, stalled: 0, points: null, kbps: NaN, switches: null, n: 0, followed: 0, link: null };

/** Runs in the page: what was seen in the first `limit` seconds; null: not over. */
function seenIn(limit) {
    const { recording } = window.demo, { samples: { t, seen }, start, stalls, link } = recording;
    if (!(t.at(-1) >= limit) || !link) return null;
    const i = t.findIndex(x => x >= limit), share = i ? (limit - t[i - 1]) / (t[i] - t[i - 1]) : 0;
    const { points, kbps, switches_a_minute: switches, n, followed } = recording.totals(limit);
    const stalled = stalls.reduce((s, x) => s + Math.max(Math.min(x.to ?? limit, limit) - x.from, 0), 0);
    const late = t.reduce((most, x, k) => (k ? Math.max(most, x - t[k - 1]) : most), t[0]) - 0.25; // a sample each 250 ms
    return { late, first: start.to, seen: i ? seen[i - 1] + share * (seen[i] - seen[i - 1]) : 0, stalled, points, kbps,
        switches, n, followed, link: { time_s: link.time_s, mbps: link.mbps, rtt_s: link.rtt_s } };
}

async function play(browser, daemon, link, profile) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    try {
        await page.goto(`${daemon.url}/?${new URLSearchParams({ link, profile, ...(SOLO && { solo: 1 }) })}`);
        await page.waitForFunction(() => window.demo);
        const row = await until(() => page.evaluate(seenIn, seconds), `${seconds} s of ${link}`, 1000 * seconds + 60000);
        if (SHOTS) await page.screenshot({ path: path.join(SHOTS, `${link}-${profile}.png`), fullPage: true });
        return row;
    } catch (e) {
        if (e.name !== 'TimeoutError' && !/^waited/.test(e.message)) throw e;
        return NONE;
    } finally {
        await page.close();
    }
}

const wide = [16, 12, 6, 7, 6, 7, 8, 7, 7, 7, 9, 8, 6];
const line = cells => console.log(cells.map((c, i) => (i < 2 ? `${c}`.padEnd(wide[i]) : `${c}`.padStart(wide[i]))).join(' '));
const fixed = (x, digits) => (x === null || isNaN(x) ? '-' : x.toFixed(digits));

if (SHOTS) fs.mkdirSync(SHOTS, { recursive: true });
const daemon = await new Daemon({ explore: 0, learn: 'off', 'media-dir': MEDIA, ...(POLICY && { policy: path.resolve(POLICY) }) }).start();
const browser = await launch();
for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => Promise.all([browser.close(), daemon.stop()]).finally(() => process.exit(130)));
let failed = 0, starved = 0, rows = 0;
try {
    const four = async () => {
        const page = await browser.newPage();
        await page.goto(`${daemon.url}/?autoplay=0`);
        await page.waitForFunction(() => window.demo);
        const links = await page.evaluate(() => Object.keys(window.demo.links));
        await page.close();
        return links;
    };
    const links = LINK?.split(',') ?? await four(), profiles = PROFILE?.split(',') ?? PROFILES;
    console.log(`${seconds} s in real time; lowest: what the lowest level alone gives on the link`);
    line(['link', 'profile', 'first', 'lowest', 'seen', 'lowest', 'stalled', 'ratio', 'points', 'Mbit/s', 'switches', 'by abrd', 'late']);
    line(['', '', 's', 's', 's', 's', 's', '%', '', '', 'a minute', 'chunks', 's']);
    for (const link of links)
        for (const profile of profiles) {
            let r = NONE, tries = 0;
            while (r.late > LATE_S && tries++ < Number(TRIES)) r = await play(browser, daemon, link, profile);
            const lowest = r.link ? alone(r.link, before, sizes, { seconds }) : { first_s: NaN, seen_s: NaN };
            const good = r.seen >= Math.min(SEEN * seconds, lowest.seen_s - SLACK_S) && r.first !== null &&
                r.first <= Math.max(FIRST_S, lowest.first_s + SLACK_S);
            const busy = r.late > LATE_S;
            rows++;
            if (busy) starved++; else if (!good) failed++;
            line([link, profile, fixed(r.first, 1), fixed(lowest.first_s, 1), fixed(r.seen, 1), fixed(lowest.seen_s, 1),
                fixed(r.stalled, 1), fixed(100 * r.stalled / (r.stalled + r.seen), 1), fixed(r.points, 0), fixed(r.kbps / 1000, 2),
                fixed(r.switches, 1), `${r.followed}/${r.n}`, fixed(r.late, 2), `${busy ? '  busy' : good ? '' : '  fails'}${tries > 1 ? ` (try ${Math.min(tries, Number(TRIES))})` : ''}`]);
        }
} finally {
    await browser.close();
    await daemon.stop();
}
console.log(`${rows - failed - starved} passed, ${failed} failed, ${starved} on a busy machine`);
process.exitCode = failed ? 1 : starved ? 2 : 0;

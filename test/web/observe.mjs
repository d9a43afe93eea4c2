// observe.mjs - an observed player in a real Chromium against a real daemon: what it fetches is what it
// fetches without the plugin, within what it fetches in two runs without.
//
// Players choose by what they measure, so two runs of one player differ on a busy machine. An observed run
// must be as near to one without the plugin as the runs without are to each other. Runs are added until one
// is, eight of each kind at most: what the plugin changed would be changed in all of them.
import assert from 'node:assert/strict';

import { Daemon } from './daemon.mjs';
import { finish, test, until } from './harness.mjs';
import { launch, stage } from './stage.mjs';

const CHUNKS = 15, MOST = 8;
const KINDS = {
    dashjs: { name: 'dash.js', file: 'minute-av.mpd' },
    hlsjs: { name: 'hls.js', file: 'minute-av.m3u8' },
    shaka: { name: 'Shaka', file: 'minute-av.mpd' },
};

const daemon = await new Daemon({ learn: 'off' }).start();

async function metric(name) {
    const text = await (await fetch(`${daemon.url}/metrics`)).text();
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

const browser = await launch();

/** One session; what was fetched: [file, range], in order. */
async function play(kind, link, options) {
    const s = await stage(browser, daemon, kind);
    await s.begin(kind, 0, link, KINDS[kind].file, { rate: 8, ...options });
    const at = await s.when(0, a => a.ended, 'the end', 240000);
    await s.close();
    assert.deepEqual(s.errors, []);
    return { files: s.files[0], at };
}

/** Of a run: the levels by chunk, how often each file was fetched, and the order of the kinds of file. */
function requests({ files }) {
    const video = files.map(([name]) => /^(\d+)-(\d+)\.m4s$/.exec(name)).filter(Boolean);
    return {
        chunks: video.map(m => Number(m[2])),
        levels: video.map(m => Number(m[1])),
        sound: files.filter(([name]) => /^audio-\d+\.m4s$/.test(name)).map(([name]) => name).sort(),
        lists: [...new Set(files.map(([name]) => name).filter(name => !/-\d+\.m4s$/.test(name)))].length,
        ranges: files.filter(([, range]) => range).length,
    };
}

/** In how many requests two runs differ. */
function apart(a, b) {
    const differ = (x, y) => Array.from({ length: Math.max(x.length, y.length) }, (_, i) => x[i] !== y[i]).filter(Boolean).length;
    return differ(a.chunks, b.chunks) + differ(a.levels, b.levels) + differ(a.sound, b.sound) +
        Math.abs(a.lists - b.lists) + Math.abs(a.ranges - b.ranges);
}

const spread = runs => Math.max(...runs.flatMap((a, i) => runs.slice(0, i).map(b => apart(a, b))));
const nearest = (run, runs) => Math.min(...runs.map(r => apart(run, r)));

/** Runs without the plugin and runs with it, until one of these is among them. */
async function compare(kind, link, options, check = () => {}) {
    const plain = [], seen = [];
    const run = async (list, o) => { list.push(requests(await play(kind, link, o))); };
    await run(plain, { plain: true });
    while (plain.length <= MOST) {
        await run(plain, { plain: true });
        const watched = await play(kind, link, options);
        check(watched);
        seen.push(requests(watched));
        const limit = spread(plain);
        if (seen.some(s => nearest(s, plain) <= limit)) return { plain, seen, limit };
    }
    const shown = list => list.map(r => r.levels.join(' ')).join('\n    ');
    throw new Error(`${link}: no run with the plugin is within ${spread(plain)} of those without\n  without\n    ${
        shown(plain)}\n  with\n    ${shown(seen)}`);
}

for (const [kind, { name }] of Object.entries(KINDS)) {
    if ((process.env.ONLY ?? kind) !== kind) continue;
    await test(`${name}: observed, its requests are those without the plugin`, async () => {
        const before = await metric('abrd_observed_sessions_total');
        const { limit, seen } = await compare(kind, 'high-4g', { mode: 'observe' }, ({ at }) => {
            assert.equal(at.seen.session.length, 1);
            assert.ok(at.seen.request.every(r => r.by === 'player'), JSON.stringify(at.seen.request));
        });
        await until(async () => await metric('abrd_observed_sessions_total') === before + seen.length, 'its sessions');
        if (process.env.TALK) console.log(`  ${name}: ${seen.length} runs, spread ${limit}`);
    });
    // the test can fail: where the daemon decides, no run is like those without
    await test(`${name}: decided by the daemon they are other requests`, async () => {
        const run = requests(await play(kind, 'unlimited', { profile: 'live', maxKbps: 300 }));
        assert.ok(apart(run, requests(await play(kind, 'unlimited', { plain: true }))) > CHUNKS / 2, run.levels.join(' '));
    });
}

await browser.close();
await daemon.stop();
finish();

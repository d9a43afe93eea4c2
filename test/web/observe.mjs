// observe.mjs - observed players in a real Chromium against a real daemon: what they fetch is what they fetch
// without the plugin, within what players without it differ.
//
// Players choose by what they measure, so two of them differ on a busy machine. Two players without the
// plugin and two that are observed play side by side. An observed one must be as near to one without as
// those without are to each other. Pages are added until one is: what the plugin changed would be changed in
// all of them.
import assert from 'node:assert/strict';

import { Daemon } from './daemon.mjs';
import { finish, test, until } from './harness.mjs';
import { launch, stage } from './stage.mjs';

const CHUNKS = 10, MOST = 5; // chunks of a player, pages
const KINDS = {
    dashjs: { name: 'dash.js', file: 'minute-av.mpd' },
    hlsjs: { name: 'hls.js', file: 'minute-av.m3u8' },
    shaka: { name: 'Shaka', file: 'minute-av.mpd' },
};

const daemon = await new Daemon({ learn: 'off' }).start();

const browser = await launch();

const videoOf = files => files.map(([name]) => /^(\d+)-(\d+)\.m4s$/.exec(name)).filter(Boolean);

/** Of a player: chunks and levels of its first requests, sound in its order, lists, and ranges. */
function requests(files) {
    const video = videoOf(files).slice(0, CHUNKS);
    const names = files.map(([name]) => name);
    return {
        chunks: video.map(m => Number(m[2])),
        levels: video.map(m => Number(m[1])),
        sound: names.filter(name => /^audio-\d+\.m4s$/.test(name)).slice(0, CHUNKS - 2),
        ranges: files.filter(([, range]) => range).length,
    };
}

/** Plays on one page, a player for each of the options, until each has fetched its chunks. */
async function play(kind, each) {
    const s = await stage(browser, daemon, kind);
    for (const [i, options] of each.entries()) await s.begin(kind, i, 'unlimited', KINDS[kind].file, { rate: 2, ...options });
    const enough = i => videoOf(s.files[i] ?? []).length >= CHUNKS &&
        (s.files[i] ?? []).filter(([name]) => /^audio-/.test(name)).length >= CHUNKS - 2;
    await until(() => each.every((_, i) => enough(i)), `${CHUNKS} chunks of each player`);
    const at = await Promise.all(each.map((o, i) => (o.plain ? null : s.at(i))));
    await s.close();
    assert.deepEqual(s.errors, []);
    return { runs: each.map((_, i) => requests(s.files[i])), at };
}

/** In how many requests two players differ. */
function apart(a, b) {
    const differ = (x, y) => Array.from({ length: Math.max(x.length, y.length) }, (_, i) => x[i] !== y[i]).filter(Boolean).length;
    return differ(a.chunks, b.chunks) + differ(a.levels, b.levels) + differ(a.sound, b.sound) + Math.abs(a.ranges - b.ranges);
}

const spread = runs => Math.max(...runs.flatMap((a, i) => runs.slice(0, i).map(b => apart(a, b))));
const nearest = (run, runs) => Math.min(...runs.map(r => apart(run, r)));

/** Adds pages until an observed player is among those without the plugin. */
async function compare(kind, check) {
    const plain = [], seen = [], sessions = [];
    for (let pages = 1; pages <= MOST; pages++) {
        const { runs, at } = await play(kind, [{ plain: true }, { mode: 'observe' }, { plain: true }, { mode: 'observe' }]);
        plain.push(runs[0], runs[2]);
        seen.push(runs[1], runs[3]);
        for (const i of [1, 3]) {
            check(at[i]);
            sessions.push(at[i].seen.session[0].session);
        }
        if (seen.some(s => nearest(s, plain) <= spread(plain))) return { pages, spread: spread(plain), seen, sessions };
    }
    const shown = list => list.map(r => r.levels.join(' ')).join('\n    ');
    throw new Error(`no observed player is within ${spread(plain)} of those without the plugin\n  without\n    ${
        shown(plain)}\n  observed\n    ${shown(seen)}`);
}

await test('players that differ are told apart', () => {
    const run = levels => ({ chunks: levels.map((_, i) => i), levels, sound: [], ranges: 0 });
    const plain = [run([300, 1200, 4300, 4300]), run([300, 1850, 4300, 4300])];
    assert.equal(spread(plain), 1);
    assert.ok(nearest(run([300, 1200, 2850, 4300]), plain) <= spread(plain));
    assert.ok(nearest(run([300, 300, 300, 300]), plain) > spread(plain));
    assert.ok(nearest({ ...run([300, 1200, 4300, 4300]), chunks: [0, 1, 1, 2] }, plain) > spread(plain)); // one twice
});

for (const [kind, { name }] of Object.entries(KINDS)) {
    if ((process.env.ONLY ?? kind) !== kind) continue;
    await test(`${name}: observed, its requests are those without the plugin`, async () => {
        const found = await compare(kind, at => {
            assert.equal(at.seen.session.length, 1);
            assert.equal(at.state.mode, 'player');
            assert.ok(at.seen.request.every(r => r.by === 'player'), JSON.stringify(at.seen.request));
        });
        for (const id of found.sessions) {
            const { mode, steps } = await daemon.get(`/v1/sessions/${id}`);
            assert.equal(mode, 'observe');
            assert.ok(steps.some(x => x.reported), id);
        }
        if (process.env.TALK) console.log(`  ${name}: ${found.pages} pages, spread ${found.spread}; ${found.seen[0].levels.join(' ')}`);
    });
}

await browser.close();
await daemon.stop();
finish();

// adapters.mjs - the three adapters in the players' real code, with a real daemon that is up, late, away,
// restarted or refuses: every chunk has its decision, none is fetched twice, and nothing stops the player.
// Times are virtual, so they are the same on every machine.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { Daemon } from '../web/daemon.mjs';
import { test } from '../web/harness.mjs';
import { readTrace } from './link.mjs';
import { LADDER, readVideo } from './media.mjs';
import { SCRIPTS, versionOf } from './page.mjs';
import { merge } from './begin.mjs';
import { fastSwitch } from './fastswitch.mjs';
import { play } from './session.mjs';

const GOLDEN = path.join(path.dirname(fileURLToPath(import.meta.url)), '../golden');
const CHUNKS = 30, VIDEO = readVideo(path.join(GOLDEN, 'video'), { chunks: CHUNKS });
const LONG = readVideo(path.join(GOLDEN, 'video'), { chunks: 48 });
const trace = name => readTrace(path.join(GOLDEN, 'traces', name));
const KINDS = Object.keys(SCRIPTS).filter(kind => !process.env.ONLY || kind === process.env.ONLY), NAMES = { dashjs: 'dash.js', hlsjs: 'hls.js', shaka: 'Shaka' };
const TIMEOUT_MS = 300;

const of = (run, event) => run.seen.filter(e => e.event === event);
const by = run => of(run, 'request').map(r => r.by[0]).join('');
const chunks = run => run.requests.map(r => r.chunk);
const inOrder = n => Array.from({ length: n }, (_, i) => i);
/** The sessions that were opened; a daemon may refuse a first question because of the sound. */
const opened = run => run.asked.filter(q => q.method === 'POST' && q.path === '/v1/sessions' && q.status < 400);
const bodies = run => run.asked.filter(q => q.body && /sessions$|decisions$|abandon$/.test(q.path)).map(q => JSON.parse(q.body));
const questions = run => run.asked.filter(q => q.method === 'POST' && /(sessions|decisions)$/.test(q.path));

/** What holds however the daemon is: the video was played to its end, nothing failed. */
function played(run, { twice = 0 } = {}) {
    const errors = run.errors.map(e => e?.stack ?? String(e)), said = run.said.filter(s => /abrd|error/.test(s));
    assert.deepEqual(errors, []);
    assert.deepEqual(said.filter(s => !/warn: abrd: \/v1/.test(s)), []);
    assert.ok(run.ended, 'it has not ended');
    assert.equal(run.shown.length, CHUNKS);
    // a decided chunk is requested twice only if the daemon has abandoned it
    const decided = new Set(of(run, 'request').filter(r => r.by === 'abrd').map(r => r.chunk));
    const copies = run.requests.filter(r => decided.has(r.chunk)).length - decided.size;
    assert.ok(copies <= of(run, 'abandon').length + twice, `${copies} more requests: ${chunks(run)}`);
}

/** What a run is compared by. */
const essence = run => ({ shown: run.shown, stalls: run.stalls, startupS: run.startupS,
    requests: run.requests.map(r => [r.at, r.path, r.end]), asked: run.asked.map(q => [q.at, q.body, q.status]) });

export async function playerTests() {
    const daemon = await new Daemon({ explore: 0, learn: 'off', 'open-rate': 0, 'address-rate': 0, 'session-rate': 0 }, { stored: false }).start();
    const session = (kind, { abrd = {}, ...more } = {}) => play({ kind, video: VIDEO, trace: trace('commute_markov'),
        daemon: daemon.url, abrd: abrd && { profile: 'pensieve', ...abrd }, ...more });
    try {
        for (const kind of KINDS) {
            await adapterTests(kind, session);
            await observeTests(kind, session);
            await seekTests(kind, session);
            await periodTests(kind, session);
            await liveTests(kind, session);
            await soundTests(kind, session, daemon);
            await codecTests(kind, session);
            await capTests(kind, session);
        }
        await goldenTests(session);
        await ruleTests();
    } finally {
        await daemon.stop();
    }
}

async function adapterTests(kind, session) {
    const name = NAMES[kind];

    await test(`${name}: every chunk has its decision and is fetched once; twice the same, to the bit`, async () => {
        const run = await session(kind), again = await session(kind);
        played(run);
        assert.equal(by(run), 'a'.repeat(run.requests.length));
        assert.deepEqual([...new Set(chunks(run))], inOrder(CHUNKS));
        assert.ok(run.asked.every(q => q.status >= 200 && q.status < 300), JSON.stringify(run.asked.map(q => q.status)));
        assert.equal(opened(run).length, 1);
        assert.equal(of(run, 'report').length, 1);
        // what was shown is what was decided
        const decided = new Map(of(run, 'request').map(r => [r.chunk, r.level]));
        assert.deepEqual(run.shown, inOrder(CHUNKS).map(c => decided.get(c)));
        assert.deepEqual(essence(again), essence(run));
    });

    await test(`${name}: the next chunk is requested at once while the buffer has room, also at a low level`, async () => {
        const run = await session(kind, { trace: [[0, .56], [600, .56]] }), v = run.requests;
        played(run);
        // ten seconds of buffer, or more: the player's own rules might wait here
        const waits = v.slice(10).map((r, i) => r.at - v[i + 9].end);
        assert.ok(run.shown.every(level => level < 3), run.shown.join('')); // the link carries no more
        assert.ok(Math.max(...waits) < 300, waits.map(Math.round).join(' '));
    });

    await test(`${name}: a chunk that needs more than 30 s is not requested again`, async () => {
        const run = await session(kind, { trace: [[0, 3.2], [60, 3.2], [60.5, .15], [105, .15], [105.5, 3.2], [900, 3.2]],
            video: LONG, standIn: knowing(3) });
        assert.ok(run.ended, 'it has not ended');
        assert.ok(run.requests.every(r => !r.aborted));
        assert.ok(run.requests.some(r => r.end - r.at > 30500), 'every chunk came within 30 s');
    });

    await test(`${name}: with sound of its own, on a link with outages`, async () => {
        const run = await session(kind, { site: { sound: 96 }, trace: trace('outages') });
        // Shaka requests a chunk again that has been silent for 5 s; dash.js the last one, if playback stalls before it
        const silent = run.requests.filter(r => r.aborted && r.end - r.heard > 4500).length;
        played(run, { twice: kind === 'dashjs' ? 1 : kind === 'shaka' ? silent : 0 });
        assert.ok(run.files.some(f => f.kind === 'audio'));
        assert.match(by(run), /^a+$/);
    });

    await test(`${name}: on a link that fades, a chunk is abandoned for a lower level, and followed by it`, async () => {
        const run = await session(kind, { trace: [[0, 5], [25, 5], [40, .5], [400, 1]] });
        played(run);
        const [lost] = of(run, 'abandon');
        assert.ok(lost && lost.level < lost.from, 'no chunk was abandoned');
        const copies = run.requests.filter(r => r.chunk === lost.chunk);
        assert.deepEqual(copies.map(r => [r.level, r.aborted]), [[lost.from, true], [lost.level, false]]);
        // Shaka cancels at once, too
        assert.ok(copies[0].end - lost.at < 100, `cancelled after ${copies[0].end - lost.at} ms`);
        assert.equal(by(run), 'a'.repeat(run.requests.length));
    });

    await test(`${name}: a daemon that is always late holds the player once, then its own rules decide`, async () => {
        const run = await session(kind, { latencyMs: 700, abrd: { abandon: false } });
        played(run);
        assert.match(by(run), /^ap+$/);
        const v = run.requests, held = v.slice(1).filter((r, i) => r.at - v[i].end >= TIMEOUT_MS - 1 &&
            r.at - v[i].end < TIMEOUT_MS + 100);
        assert.ok(held.length >= 1, 'never held');
        assert.ok(v[1].at - v[0].end < TIMEOUT_MS + 100, `${v[1].at - v[0].end} ms`);
        assert.match(run.state.reason, /does not answer in time|no decision/);
    });

    await test(`${name}: away from the start, the daemon is asked at every second chunk`, async () => {
        const run = await session(kind, { during: ({ bridge }) => { bridge.state = 'away'; } });
        played(run);
        assert.match(by(run), /^p+$/);
        const n = questions(run).length;
        assert.ok(n >= CHUNKS / 2 - 1 && n <= CHUNKS / 2 + 2, `${n} questions`);
        assert.match(run.state.reason, /does not answer/);
    });

    await test(`${name}: away for a minute, it decides again within two chunks of its return`, async () => {
        let back;
        const run = await session(kind, { during: ({ clock, bridge }) => {
            clock.after(12e3, () => { bridge.state = 'away'; });
            clock.after(32e3, () => { bridge.state = null; back = clock.now; });
        } });
        played(run);
        assert.match(by(run), /^a+p+a+$/);
        const after = of(run, 'request').filter(r => r.at > back);
        assert.ok(after.findIndex(r => r.by === 'abrd') <= 2, after.map(r => r.by).join());
    });

    await test(`${name}: a daemon that was restarted without its data gets a new session`, async () => {
        const other = await new Daemon({ explore: 0, learn: 'off' }).start();
        try {
            const run = await session(kind, { daemon: other.url, during: ({ clock }) => {
                clock.after(15e3, () => clock.hold((async () => {
                    await other.kill();
                    fs.rmSync(path.join(other.data, 'var'), { recursive: true, force: true });
                    await other.start();
                })()));
            } });
            played(run);
            assert.equal(opened(run).length, 2);
            assert.ok(run.asked.some(q => q.status === 404));
            assert.equal(by(run), 'a'.repeat(run.requests.length));
        } finally {
            await other.stop();
        }
    });

    await test(`${name}: a daemon that refuses the viewer is asked once, and the reason says why`, async () => {
        const run = await session(kind, { abrd: { profile: 'nobody' } });
        played(run);
        assert.match(by(run), /^p+$/);
        assert.equal(run.asked.length, 1);
        assert.match(run.state.reason, /the daemon answers 404: .*nobody/);
    });

    await test(`${name}: a seek outside the buffer: the chunk there is decided, and no other is fetched`, async () => {
        const run = await session(kind, { during: ({ clock, video }) => {
            clock.after(10e3, () => { video.currentTime = 98; });
        } });
        assert.deepEqual(run.errors, []);
        assert.ok(run.ended);
        const asked = chunks(run), at = asked.findIndex(c => c >= 24);
        assert.equal(asked[at], 24, `${asked}`);
        assert.deepEqual([...new Set(asked.slice(at))], inOrder(CHUNKS).slice(24), `${asked}`);
        // the one that was sought may be requested before its decision has come
        assert.match(by(run).slice(at), /^.a+$/);
        assert.equal(opened(run).length, 1);
    });

    await test(`${name}: detached on the way, its own rules and settings are back, and nothing is asked any more`, async () => {
        let when, settings, player;
        const buffer = () => JSON.stringify({
            dashjs: () => player.getSettings().streaming.buffer,
            hlsjs: () => [player.config.maxBufferLength, player.config.maxMaxBufferLength, player.config.testBandwidth],
            shaka: () => player.getConfiguration().streaming.bufferingGoal,
        }[kind]());
        const run = await session(kind, { during: at => {
            ({ player } = at);
            at.clock.after(20e3, () => {
                const during = buffer();
                at.abrd.detach();
                settings = [during, buffer()];
                when = at.clock.now;
            });
        } });
        assert.deepEqual(run.errors, []);
        assert.ok(run.ended);
        assert.notEqual(settings[0], settings[1]);
        const late = run.asked.filter(q => q.at > when);
        assert.deepEqual(late.map(q => q.method), [], JSON.stringify(late));
        assert.equal(run.state.mode, 'idle');
    });
}

/** An observed player fetches and shows what it does without the plugin, at the same times. */
async function observeTests(kind, session) {
    await test(`${NAMES[kind]}: observed, its media requests are those without the plugin, to the millisecond`, async () => {
        const media = run => run.requests.map(r => [r.path, r.at, r.end]);
        const [without, again, observed] = [await session(kind, { abrd: false }), await session(kind, { abrd: false }),
            await session(kind, { abrd: { mode: 'observe' } })];
        played(observed);
        assert.deepEqual(media(again), media(without)); // two runs do not differ
        assert.deepEqual(media(observed), media(without));
        assert.deepEqual([observed.shown, observed.stalls, observed.startupS], [without.shown, without.stalls, without.startupS]);
        assert.equal(opened(observed).length, 1);
        // and each chunk is reported; dash.js fetches some twice
        assert.deepEqual([...new Set(questions(observed).map(q => JSON.parse(q.body).chunk ?? 0))], inOrder(CHUNKS));
    });
}

/** Three periods, with HLS two discontinuities: each is a session of its own in dash.js, all are one in the others. */
async function periodTests(kind, session) {
    await test(`${NAMES[kind]}: three periods are played on, and every chunk is decided`, async () => {
        const run = await session(kind, { site: { periods: [8, 10, 12] } });
        played(run);
        assert.equal(opened(run).length, { dashjs: 3, shaka: 1, hlsjs: 1 }[kind]);
        assert.equal(by(run), 'a'.repeat(run.requests.length));
        assert.deepEqual([...new Set(chunks(run))], inOrder(CHUNKS));
        assert.ok(run.shown.every(level => level >= 0));
        if (kind !== 'dashjs') return;
        // a period goes on: with what was measured, what is in the buffer, and no start
        const [cold, ...others] = opened(run).map(q => JSON.parse(q.body));
        assert.equal(cold.continues, undefined);
        assert.equal(cold.throughput_kbps, undefined);
        assert.deepEqual(others.map(body => body.throughput_kbps.length), [8, 18]);
        for (const body of others) {
            assert.equal(body.continues, true);
            assert.ok(body.buffer_s > 1, `${body.buffer_s} s`);
            assert.equal(body.download_s.length, body.throughput_kbps.length);
        }
        for (const q of opened(run).slice(1)) assert.equal(JSON.parse(q.reply).guarded, undefined, 'a cold start');
    });

    await test(`${NAMES[kind]}: periods with sound; a seek into the last one`, async () => {
        const run = await session(kind, { site: { periods: [8, 10, 12], sound: 96 }, during: ({ clock, video }) => {
            clock.after(10e3, () => { video.currentTime = 98; });
        } });
        assert.deepEqual(run.errors, []);
        assert.ok(run.ended, 'it has not ended');
        const asked = chunks(run), at = asked.findIndex(c => c >= 24);
        assert.deepEqual([...new Set(asked.slice(at))].sort((a, b) => a - b), inOrder(CHUNKS).slice(24), `${asked}`);
        // in dash.js it is not known where a period begins that was not played: its first chunk is the player's
        assert.match(by(run).slice(at), { dashjs: /^.{1,2}a+$/, hlsjs: /^.a+$/, shaka: /^.a+$/ }[kind]);
        const heard = run.files.filter(f => f.kind === 'audio' && !f.aborted && f.chunk >= 24).map(f => f.chunk);
        assert.deepEqual([...new Set(heard)].sort((a, b) => a - b), inOrder(CHUNKS).slice(24));
    });

    if (kind === 'dashjs') {
        await test(`${NAMES[kind]}: an advertisement with another ladder, and the film goes on`, async () => {
            const run = await session(kind, { site: { periods: [8, { chunks: 10, levels: [0, 2, 4] }, 12] } });
            played(run);
            assert.deepEqual(opened(run).map(q => JSON.parse(q.body).ladder_kbps.length), [6, 3, 6]);
            assert.equal(by(run), 'a'.repeat(run.requests.length));
            assert.ok(run.requests.filter(r => r.chunk >= 8 && r.chunk < 18).every(r => r.level % 2 === 0));
        });
    }
}

/** Seeks besides that out of the buffer (adapterTests). */
async function seekTests(kind, session) {
    const name = NAMES[kind];

    await test(`${name}: a seek within the buffer fetches nothing twice, and every chunk is decided`, async () => {
        let buffered;
        const run = await session(kind, { trace: [[0, 4], [600, 4]], site: { sound: 64 }, during: ({ clock, video }) => {
            clock.after(20e3, () => {
                buffered = video.buffered.end(video.buffered.length - 1) - video.currentTime;
                video.currentTime += buffered / 2;
            });
        } });
        assert.deepEqual(run.errors, []);
        assert.ok(run.ended && buffered > 10, `${buffered} s`);
        assert.deepEqual([...new Set(chunks(run))], inOrder(CHUNKS));
        assert.equal(opened(run).length, 1);
        // what was under way at the seek may begin again
        assert.ok(run.requests.length <= CHUNKS + 1, `${chunks(run)}`);
        assert.ok(by(run).replaceAll('a', '').length <= 1, by(run));
    });

    await test(`${name}: back to the beginning: what is gone is decided again, in the same session`, async () => {
        const run = await session(kind, { site: { sound: 64 }, during: ({ clock, video }) => {
            clock.after(60e3, () => { video.currentTime = 1; });
        } });
        assert.deepEqual(run.errors, []);
        assert.ok(run.ended, 'it has not ended');
        const asked = chunks(run), again = asked.findIndex((c, i) => i > 5 && c < asked[i - 1] - 1);
        assert.equal(run.shown.length, CHUNKS);
        assert.ok(run.pieces.some((p, i) => i && p.number < run.pieces[i - 1].number), 'nothing was shown again');
        if (again < 0) return; // all of it was still in the buffer
        assert.ok(asked[again] <= 1, `${asked}`);
        assert.match(by(run).slice(again), /^.a+$/, `${asked}`);
    });
}

/** Caps of page and player, and what is known of the link before the first chunk. */
async function capTests(kind, session) {
    const name = NAMES[kind];

    await test(`${name}: a cap of the page is part of every question, and no chunk is above it`, async () => {
        let most = 1200;
        const run = await session(kind, { trace: [[0, 6], [600, 6]], abrd: { maxKbps: () => most },
            during: ({ clock }) => { clock.after(20e3, () => { most = null; }); } });
        played(run);
        const capped = of(run, 'request').filter(r => r.at < 20e3);
        assert.ok(capped.length > 3 && capped.every(r => r.level <= 2), capped.map(r => r.level).join(''));
        assert.ok(bodies(run)[0].max_kbps === 1200 && bodies(run).at(-1).max_kbps === undefined);
        assert.equal(by(run), 'a'.repeat(run.requests.length));
        assert.equal(run.shown.at(-1), 5);
    });

    await test(`${name}: a cap of the player is part of the question`, async () => {
        const own = { dashjs: { streaming: { abr: { maxBitrate: { video: 2000 } } } }, shaka: { abr: { restrictions: { maxBandwidth: 2e6 } } } }[kind];
        const run = await session(kind, { own, trace: [[0, 6], [600, 6]],
            during: ({ player }) => { if (kind === 'hlsjs') player.autoLevelCapping = 3; } });
        played(run);
        assert.ok(run.shown.every(level => level <= 3), run.shown.join(''));
        // Shaka's manager has no variants before the manifest is read
        assert.equal(by(run), 'a'.repeat(run.requests.length));
        assert.ok(bodies(run).slice(2).every(q => q.max_kbps >= 1850 && q.max_kbps <= 2000));
    });

    await test(`${name}: the page's cap of the height, as a number and as a function`, async () => {
        let asked = [];
        for (const maxHeight of [480, levels => { asked = levels; return 500; }]) {
            const run = await session(kind, { trace: [[0, 6], [600, 6]], abrd: { maxHeight } });
            played(run);
            assert.ok(run.shown.every(level => level <= 2), run.shown.join(''));
            assert.ok(bodies(run).every(q => q.max_kbps === 1200), JSON.stringify(bodies(run)[0]));
            assert.equal(by(run), 'a'.repeat(run.requests.length));
        }
        assert.deepEqual(asked.map(l => l.height), [240, 360, 480, 720, 720, 1080]);
        // lower than the lowest: that is played
        const least = await session(kind, { trace: [[0, 6], [600, 6]], abrd: { maxHeight: 100 } });
        assert.ok(least.shown.every(level => level === 0), least.shown.join(''));
    });

    await test(`${name}: the player's cap by the size of its element is part of the question`, async () => {
        // the element has 1280 x 720: Shaka allows the level that fills it, as the others do
        const own = { dashjs: { streaming: { abr: { limitBitrateByPortal: true } } }, hlsjs: { capLevelToPlayerSize: true },
            shaka: { abr: { restrictToElementSize: true } } }[kind];
        const run = await session(kind, { own, trace: [[0, 9], [600, 9]] });
        played(run);
        assert.equal(Math.max(...run.shown), 4, run.shown.join(''));
        assert.ok(bodies(run).slice(3).every(q => q.max_kbps === 2850), JSON.stringify(bodies(run).map(q => q.max_kbps)));
    });

    await test(`${name}: the next visit begins with what the last one has measured`, async () => {
        const stored = new Map(), storage = { getItem: k => stored.get(k) ?? null, setItem: (k, v) => { stored.set(k, v); } };
        const { linkMemory } = await import('../../web/lib/memory.js');
        const visit = async mbps => {
            const memory = linkMemory({ storage });
            const run = await session(kind, { trace: [[0, mbps], [600, mbps]], abrd: { profile: 'standard', link: memory.link() } });
            played(run);
            for (const c of of(run, 'chunk')) memory.note(c);
            return run;
        };
        const first = await visit(8), second = await visit(8), answers = [first, second].map(r => JSON.parse(opened(r)[0].reply));
        assert.equal(bodies(first)[0].throughput_kbps, undefined);
        assert.equal(bodies(second)[0].throughput_kbps.length, 1);
        assert.deepEqual(answers.map(a => a.guarded), [true, undefined]);
        stored.clear();
        const slow = [await visit(.6), await visit(.6)];
        assert.ok(slow[1].startupS <= slow[0].startupS, `${slow.map(r => r.startupS)} s`);
    });
}

/** A daemon that knows other_kbps, and decides the same level for all chunks. */
const knowing = (level, refuses, { ladder = LADDER } = {}) => (method, path, body) => {
    if (method !== 'POST') return { status: 204, text: '' };
    ladder = body.ladder_kbps ?? ladder;
    if (body[refuses] !== undefined || body.last?.[refuses] !== undefined)
        return { status: 400, text: JSON.stringify({ field: refuses, error: 'is not a known field' }) };
    const reply = { chunk: body.chunk ?? 0, level, kbps: ladder[level], mode: 'greedy' };
    return /sessions$/.test(path) ? { status: 201, text: JSON.stringify({ ...reply, session: '1'.repeat(32), profile: 'pensieve' }) } :
        { status: 200, text: JSON.stringify(reply) };
};

/** The sound is part of the question: its bitrate, or its size. */
async function soundTests(kind, session, daemon) {
    const name = NAMES[kind], asks = run => bodies(run).filter(q => q.elapsed_s === undefined && !q.ladder_kbps);

    await test(`${name}: sound of its own is part of every question, once`, async () => {
        const run = await session(kind, { site: { sound: [64, 128] }, standIn: knowing(1) });
        played(run);
        assert.equal(by(run), 'a'.repeat(run.requests.length));
        if (kind === 'hlsjs') { // the bitrate of a variant contains the sound
            assert.deepEqual(JSON.parse(opened(run)[0].body).ladder_kbps, LADDER.map(k => k + 64));
            assert.ok(asks(run).every(q => q.other_kbps === undefined));
            return;
        }
        assert.deepEqual(JSON.parse(opened(run)[0].body).ladder_kbps, LADDER);
        assert.ok(asks(run).length >= CHUNKS - 1);
        // that of the track which the player fetches, once it fetches one
        const heard = run.files.filter(f => f.kind === 'audio');
        assert.ok(heard.length >= CHUNKS);
        const last = [64, 128][heard.at(-1).level];
        assert.ok(asks(run).every(q => [64, 128].includes(q.other_kbps)));
        assert.ok(asks(run).slice(-5).every(q => q.other_kbps === last), asks(run).map(q => q.other_kbps).join());
        // its bytes during each chunk: together what the link carried of it meanwhile
        const during = asks(run).map(q => q.last.other_bytes), sum = list => list.reduce((a, b) => a + b, 0);
        const overlap = sum(run.requests.flatMap(v => heard.map(a => a.loaded *
            Math.max(0, Math.min(v.end, a.end) - Math.max(v.at, a.first)) / (a.end - a.first))));
        assert.ok(during.every(n => n >= 0) && sum(during) > .7 * overlap && sum(during) < 1.3 * overlap + 4e4, `${during} for ${overlap}`);
        const closing = JSON.parse(run.asked.find(q => /rewards$/.test(q.path)).body);
        assert.ok(closing.other_bytes >= 0 && closing.other_kbps === last);
    });

    await test(`${name}: sound in the files of the video is part of their bitrates and sizes alone`, async () => {
        const run = await session(kind, { site: { muxed: 96 } });
        played(run);
        assert.equal(by(run), 'a'.repeat(run.requests.length));
        assert.ok(!run.files.some(f => f.kind === 'audio'));
        const ladder = JSON.parse(opened(run)[0].body).ladder_kbps;
        assert.deepEqual(ladder, LADDER.map(k => k + 96));
        assert.ok(asks(run).every(q => q.other_kbps === undefined));
    });

    await test(`${name}: the daemon records what the link leaves beside sound of its own`, async () => {
        for (const [site, own] of [[{ sound: [64, 128] }, kind !== 'hlsjs'], [{ muxed: 96 }, false]]) {
            const run = await session(kind, { site });
            played(run);
            const [{ reply }] = opened(run), { steps } = await daemon.get(`/v1/sessions/${JSON.parse(reply).session}`);
            const closing = JSON.parse(run.asked.find(q => /rewards$/.test(q.path)).body);
            const sent = [...asks(run).map(q => ({ ...q.last, other_kbps: q.other_kbps })), closing];
            assert.deepEqual(sent.map(o => o.chunk), inOrder(CHUNKS));
            assert.equal(steps.length, CHUNKS);
            let less = 0;
            for (const { chunk, bytes, download_s, other_bytes, other_kbps } of sent) {
                assert.deepEqual([other_bytes >= 0, other_kbps > 0], [own, own]);
                const all = bytes + (other_bytes ?? 0), left = Math.max(all - (other_kbps ?? 0) * 125 * download_s, all / 20);
                assert.ok(Math.abs(steps[chunk].bytes - left) <= 1, `chunk ${chunk}: ${steps[chunk].bytes}, not ${left}`);
                less += bytes !== steps[chunk].bytes;
            }
            assert.ok(own ? less > CHUNKS / 2 : less === 0, `${less} differ from the bytes of the video`);
        }
    });

    if (kind === 'hlsjs') return;
    await test(`${name}: without the daemon the page knows what the link leaves beside the sound as the daemon did`, async () => {
        const asked = [];
        const run = await session(kind, { site: { sound: 96 }, abrd: { fallback: q => { asked.push(q); return 1; } },
            during: ({ clock, bridge }) => { clock.after(40e3, () => { bridge.state = 'away'; }); } });
        played(run);
        const [{ chunk, throughput_kbps: page, download_s }] = asked, from = chunk - page.length;
        const { steps } = await daemon.get(`/v1/sessions/${JSON.parse(opened(run)[0].reply).session}`);
        const known = steps.filter(s => s.reported && s.chunk >= from && s.chunk < chunk);
        assert.ok(known.length >= 3, `${known.length} chunks`);
        for (const s of known) {
            const mine = page[s.chunk - from], theirs = s.bytes / 125 / download_s[s.chunk - from];
            assert.ok(Math.abs(mine / theirs - 1) < 1e-4, `chunk ${s.chunk}: ${mine}, not ${theirs}`);
        }
    });

    await test(`${name}: where the manifest has the sizes of the sound, that of the chunk counts`, async () => {
        const run = await session(kind, { site: { sound: 100, soundStated: true }, standIn: knowing(1) });
        played(run);
        // the sizes are those of 101 kbit/s
        assert.ok(asks(run).every(q => q.other_kbps === 101), asks(run).map(q => q.other_kbps).join());
    });

    for (const refused of ['other_kbps', 'other_bytes']) await test(`${name}: a daemon that does not know ${refused} is not sent it again, and decides`, async () => {
        const run = await session(kind, { site: { sound: 64 }, standIn: knowing(1, refused) });
        played(run);
        assert.equal(by(run), 'a'.repeat(run.requests.length));
        assert.deepEqual(asks(run).map(q => q.other_kbps !== undefined || q.last.other_bytes !== undefined), asks(run).map((_, i) => !i));
        assert.equal(of(run, 'error').length, 0);
    });
}

/** Ladders of several codecs and heights: only what the player decodes is offered, and it stays with one codec. */
async function codecTests(kind, session) {
    const name = NAMES[kind], AVC = 'avc1.64001f', HEVC = 'hvc1.1.6.L93.B0', TWO = [{ codecs: AVC, levels: [0, 2, 4] }, { codecs: HEVC, levels: [1, 3, 5] }];
    const offered = run => JSON.parse(opened(run).at(-1).body).ladder_kbps.map(k => LADDER.indexOf(k));
    const fetched = run => [...new Set(run.requests.map(r => r.level))].sort((a, b) => a - b);
    const fast = [[0, 9], [600, 9]];

    for (const mixed of kind === 'hlsjs' ? [false] : [false, true]) {
        await test(`${name}: a codec that the browser lacks, in ${mixed ? 'the same' : 'another'} set: its levels are not offered`, async () => {
            const run = await session(kind, { site: { sets: TWO, mixed }, trace: fast });
            played(run);
            assert.equal(opened(run).length, 1);
            assert.deepEqual(offered(run), [0, 2, 4]);
            assert.ok(fetched(run).every(l => l % 2 === 0), `${fetched(run)}`);
            assert.equal(by(run), 'a'.repeat(run.requests.length));
        });
    }

    await test(`${name}: two codecs that the browser has: the ladder is that of the one which the player chose`, async () => {
        for (const sets of [TWO, [...TWO].reverse()]) {
            let tracks = null;
            const run = await session(kind, { site: { sets }, trace: fast, browser: { codecs: /^(avc1|hvc1|mp4a)/ }, during: ({ clock, player }) => {
                clock.after(20e3, () => { tracks = player.getVariantTracks?.().map(t => LADDER.indexOf(t.bandwidth / 1000)).sort(); });
            } });
            played(run);
            // Shaka has one codec for each height
            const has = tracks ?? [0, 2, 4].map(l => l + run.requests.at(-1).level % 2);
            assert.deepEqual(offered(run), has);
            assert.ok(fetched(run).every(l => has.includes(l)), `${fetched(run)}`);
            // Shaka's first chunk is on its way before its codec is known
            assert.match(by(run), kind === 'shaka' ? /^.a+$/ : /^a+$/);
        }
    });

    await test(`${name}: pictures that are too tall for the decoder are not offered, and not fetched`, async () => {
        const run = await session(kind, { trace: fast, browser: { tallest: 1080 }, video: { ...VIDEO, heights: [240, 360, 480, 720, 1080, 2160] } });
        played(run);
        assert.ok(run.shown.every(level => level < 5), run.shown.join(''));
        assert.equal(Math.max(...run.shown), 4);
        assert.deepEqual(offered(run), [0, 1, 2, 3, 4]);
        assert.match(by(run), kind === 'dashjs' ? /^a+$/ : /^.{0,2}a+$/);
    });
}

/** A stream whose chunks come when they are complete; the viewer begins a minute after it did. */
async function liveTests(kind, session) {
    const startMs = Date.UTC(2026, 0, 1) - 60e3;
    for (const sound of [0, 96]) await test(`${NAMES[kind]}: a live stream${sound ? ' with sound' : ''}, from its edge, chunk by chunk`, async () => {
        const run = await session(kind, { site: { live: { startMs, delayS: 12 }, sound }, limitS: 60 });
        assert.deepEqual(run.errors, []);
        // nothing is requested before it is there, and little of it is late
        const made = f => (startMs - Date.UTC(2026, 0, 1)) + 4000 * (f.chunk + 1);
        const media = run.files.filter(f => f.kind);
        assert.ok(media.every(f => f.at >= made(f)), 'a chunk was requested before its time');
        assert.ok(!sound || media.filter(f => f.kind === 'audio').length > 10);
        assert.ok(media.every(f => f.status === 200));
        assert.equal(opened(run).length, 1);
        const asked = chunks(run), own = by(run).replaceAll('a', '');
        assert.ok(asked[0] >= 10 && asked.at(-1) >= 28, `${asked}`);
        assert.deepEqual([...new Set(asked)], inOrder(CHUNKS).slice(asked[0], asked.at(-1) + 1));
        // hls.js fetches a chunk again when it changes the level of a live stream
        const switches = run.requests.filter((r, i) => i && r.level !== run.requests[i - 1].level).length;
        assert.ok(own.length <= (kind === 'hlsjs' ? switches : 0), by(run));
        assert.equal(run.stalls.length, 0);
    });
}

/* ----- recorded levels ----- */

const STILL = { streaming: { buffer: { fastSwitchEnabled: false } } };

/**
 * A stand-in for a daemon, which never changes: the highest level below 0.8 of the throughput that the adapter
 * reports, and a level lower with less than 8 s of buffer.
 */
function ruled() {
    let ladder = [], rates = [];
    return (method, path, body) => {
        if (method !== 'POST') return { status: 204, text: '' };
        if (/rewards$/.test(path)) return { status: 200, text: JSON.stringify({ chunk: body.chunk, reward: 0 }) };
        if (body.elapsed_s) return { status: 200, text: JSON.stringify({ chunk: body.chunk, level: 0, kbps: ladder[0] }) };
        if (body.ladder_kbps) {
            ladder = body.ladder_kbps;
            rates = body.throughput_kbps ?? [];
        }
        if (body.last) rates = [...rates, body.last.bytes / 125 / body.last.download_s].slice(-5);
        const mean = rates.length / rates.reduce((n, r) => n + 1 / r, 0);
        const fits = Math.max(ladder.filter(k => k <= .8 * mean).length - 1, 0);
        const level = Math.max(body.buffer_s < 8 ? fits - 1 : fits, 0);
        const reply = { chunk: body.chunk ?? 0, level, kbps: ladder[level], mode: 'greedy' };
        return body.ladder_kbps ? { status: 201, text: JSON.stringify({ ...reply, session: '1'.repeat(32), profile: 'pensieve' }) } :
            { status: 200, text: JSON.stringify(reply) };
    };
}

/** Levels per version of a player's package: another version, or another adapter, needs new strings (RECORD=1). */
const LEVELS = {
    'dashjs 5.2.1, fast switch': ['dashjs', {}],
    'dashjs 5.2.1, no fast switch': ['dashjs', STILL],
    'hlsjs 1.7.4': ['hlsjs', {}],
    'shaka 5.2.12': ['shaka', {}],
    'dashjs 5.2.1, with the adapter': ['dashjs', {}, {}],
    'hlsjs 1.7.4, with the adapter': ['hlsjs', {}, {}],
    'shaka 5.2.12, with the adapter': ['shaka', {}, {}],
};
const EXPECTED = JSON.parse(fs.readFileSync(new URL('levels.json', import.meta.url), 'utf8'));

/** What was shown, how many requests it took, the first picture, and the time that it stood still. */
const summary = run => `${run.shown.join('')} ${run.requests.length} ${run.startupS.toFixed(3)} ${
    run.stalls.reduce((a, b) => a + b, 0).toFixed(2)}`;

async function goldenTests(session) {
    for (const [name, [kind, own, abrd = null]] of Object.entries(LEVELS)) {
        if (!KINDS.includes(kind)) continue;
        await test(`${name}: levels, requests, first picture and stalls are as recorded`, async () => {
            assert.equal(name.split(/[ ,]/)[1], versionOf(kind), 'another version of the player is installed');
            const seen = {};
            for (const link of ['commute_markov', 'outages', 'steady_3mbps']) {
                const run = await session(kind, { abrd, own: merge(own), trace: trace(link), standIn: abrd && ruled() });
                assert.deepEqual(run.errors, []);
                seen[link] = summary(run);
            }
            if (process.env.RECORD) EXPECTED[name] = seen;
            assert.deepEqual(seen, EXPECTED[name], 'node test/players/run.mjs with RECORD=1 writes levels.json');
        });
    }
    if (process.env.RECORD) fs.writeFileSync(new URL('levels.json', import.meta.url), `${JSON.stringify(EXPECTED, null, 4)}\n`);
}

/** Faults of players that web/docs/players.md describes: a version without one needs other words there. */
async function ruleTests() {
    if (!KINDS.includes('dashjs')) return;
    await test('dash.js: with fast switch an up-switch fetches the chunk on the screen again, and it is not shown', async () => {
        const { again } = await fastSwitch({ video: VIDEO, trace: trace('commute_markov') });
        assert.ok(again.length > 5, `${again.length}`);
        const late = again.filter(r => r.onScreen && !r.shown);
        assert.ok(late.length > .6 * again.length, `${late.length} of ${again.length}`);
        assert.equal((await fastSwitch({ video: VIDEO, trace: trace('commute_markov'), active: false })).again.length, 0);
    });
}

// abandon.mjs - second thoughts about a chunk under way, without a browser: when the daemon is asked, by
// a clock that the test turns, and what comes of its answers in the fake player.
import assert from 'node:assert/strict';

import { DOMParser, FakePlayer, manifest } from './fake.mjs';
import { test, until } from './harness.mjs';
import { Mock } from './mock.mjs';
import { attach } from '../../web/dashjs.js';
import { abandoning } from '../../web/lib/abandon.js';

globalThis.DOMParser = DOMParser;

/* ----- when ----- */

const OURS = [25, 100, 500, 1200]; // milliseconds; fetch has timers of its own, which go on

/** Runs body with timers and performance.now() that only turn(seconds) moves. */
async function withClock(body) {
    const { setTimeout } = globalThis;
    let ms = 0, due = [];
    const settled = () => new Promise(done => setImmediate(done));
    const turn = async s => {
        const end = ms + 1000 * s;
        for (;;) {
            await settled();
            const next = due.filter(t => t.at <= end).sort((a, b) => a.at - b.at)[0];
            if (!next) break;
            due = due.filter(t => t !== next);
            ms = next.at;
            next.fn();
        }
        ms = end;
    };
    try { // what a failure here left replaced, every later test would wait for
        globalThis.setTimeout = (fn, delay, ...args) => (OURS.includes(delay) ?
            due.push({ at: ms + delay, fn: () => fn(...args) }) : setTimeout(fn, delay, ...args));
        // Node 18 inherits a read-only `now`: an assignment throws, a property of the instance hides it
        Object.defineProperty(performance, 'now', { value: () => ms, configurable: true });
        await body(turn);
    } finally {
        globalThis.setTimeout = setTimeout;
        delete performance.now;
    }
}

const LEVELS = [300, 750, 1200].map(kbps => ({ kbps, sizes: null })); // 150, 375 and 600 kB
/** A chunk of level 2 under way; `load` is what has come of it, and what the player holds. */
function underWay({ level = 2, first = false, levels = LEVELS, says = () => true } = {}) {
    const load = { bytes: 0, total: 600e3, buffer: 4 }, asked = [], restarts = [], over = new AbortController();
    const core = {
        track: { levels, chunkS: 4 },
        doubt: async (seen, restart) => { asked.push(seen); return says(restart, asked.length); },
    };
    const look = abandoning(core, () => [load.bytes, load.total], () => load.buffer,
        kbps => { restarts.push(kbps); return true; });
    const done = look(7, level, over.signal, first);
    return { load, asked, restarts, over, done };
}
const timing = (name, options, body) => test(`abandon: ${name}`, () => withClock(async turn => {
    const chunk = underWay(options);
    await body(chunk, turn);
    chunk.over.abort();
    await turn(1);
}));

async function timingTests() {
    await timing('of the first chunk it is asked once, a quarter second after its first byte', { first: true },
        async ({ load, asked }, turn) => {
            await turn(3);
            assert.equal(asked.length, 0);
            load.bytes = 1000;
            await turn(.25);
            assert.equal(asked.length, 0);
            load.bytes = 90e3;
            load.buffer = 9; // that there is no picture yet is what counts
            await turn(.05);
            assert.deepEqual(asked, [{ chunk: 7, level: 2, bytes: 90e3, elapsed_s: 3.275, buffer_s: 0 }]);
            await turn(5);
            assert.equal(asked.length, 1);
        });
    await timing('or as soon as half of it has come', { first: true }, async ({ load, asked }, turn) => {
        load.bytes = 299e3;
        await turn(.06);
        assert.equal(asked.length, 0);
        load.bytes = 300e3;
        await turn(.03);
        assert.deepEqual(asked.map(a => a.elapsed_s), [.075]);
        await turn(5);
        assert.equal(asked.length, 1);
    });

    await timing('a chunk that comes in time is not asked about', {}, async ({ load, asked }, turn) => {
        for (let i = 1; i <= 8; i++) {
            load.bytes = 75e3 * i;
            load.buffer -= .5;
            await turn(.5);
        }
        assert.equal(asked.length, 0);
    });

    await timing('a chunk that will be late is, every half second, and in an outage too', {}, async ({ load, asked }, turn) => {
        load.bytes = 100e3;
        await turn(.5); // 200 kB/s, 500 kB to come, 4 s of buffer
        assert.equal(asked.length, 0);
        load.buffer = 2;
        await turn(1); // the third look finds 67 kB/s
        assert.deepEqual(asked.map(a => [a.elapsed_s, a.bytes, a.buffer_s]), [[1, 100e3, 2], [1.5, 100e3, 2]]);
        load.bytes = 450e3; // no other level is smaller than what is left
        await turn(2);
        assert.equal(asked.length, 2);
    });

    await timing('nothing has come: that is too slow for any buffer', {}, async ({ load, asked }, turn) => {
        load.buffer = 50;
        await turn(.5);
        assert.deepEqual(asked.map(a => a.bytes), [0]);
    });

    await timing('of the lowest level nothing is asked', { level: 0 }, async ({ load, asked }, turn) => {
        load.total = 0; // not known: by its bitrate
        load.buffer = 0;
        await turn(3);
        assert.equal(asked.length, 0);
    });

    await timing('one question at a time; none after one that had no answer', {
        says: (_, n) => (n === 1 ? new Promise(done => setTimeout(done, 1200, true)) : false),
    }, async ({ load, asked }, turn) => {
        load.buffer = 0;
        await turn(1.7);
        assert.equal(asked.length, 1);
        await turn(1);
        assert.deepEqual(asked.map(a => a.elapsed_s), [.5, 2.2]);
        await turn(3);
        assert.equal(asked.length, 2);
    });

    await timing('nothing is asked once the chunk is of no more concern', {}, async ({ load, asked, over }, turn) => {
        load.buffer = 0;
        await turn(.4);
        over.abort();
        await turn(3);
        assert.equal(asked.length, 0);
    });

    const sized = LEVELS.map((l, i) => ({ ...l, sizes: { 7: [500e3, 520e3, 600e3][i] } }));
    await timing('what is not less than the rest is not begun', {
        levels: sized, says: restart => !restart({ level: 0, kbps: 300 }),
    }, async ({ load, asked, restarts }, turn) => {
        load.buffer = 0;
        load.bytes = 99e3;
        await turn(.45);
        assert.equal(asked.length, 0);
        await turn(.1);
        assert.deepEqual([asked.length, restarts], [1, [300]]); // 500 kB instead of 501
    });
    await timing('nor is it when the answer was overtaken', {
        levels: sized, says: (restart, n) => n < 2 && new Promise(done => setTimeout(() => done(!restart({ level: 0, kbps: 300 })), 100)),
    }, async ({ load, asked, restarts }, turn) => {
        load.buffer = 0;
        await turn(.55);
        load.bytes = 101e3;
        await turn(.4);
        assert.deepEqual([asked.length, restarts], [1, []]);
    });
    await timing('the first chunk may begin again higher', { first: true, level: 0, says: restart => !restart({ level: 2, kbps: 1200 }) },
        async ({ load, restarts }, turn) => {
            Object.assign(load, { bytes: 100e3, total: 150e3 });
            await turn(.3);
            assert.deepEqual(restarts, [1200]);
        });
    await timing('or lower', { first: true, says: restart => !restart({ level: 0, kbps: 300 }) },
        async ({ load, restarts }, turn) => {
            load.bytes = 10e3;
            await turn(.3);
            assert.deepEqual(restarts, [300]);
        });
    await timing('but not where no less is to come than is left', {
        first: true, says: restart => new Promise(done => setTimeout(() => done(!restart({ level: 0, kbps: 300 })), 100)),
    }, async ({ load, asked, restarts }, turn) => {
        load.bytes = 10e3;
        await turn(.3);
        load.bytes = 450e3;
        await turn(.2);
        assert.deepEqual([asked.length, restarts], [1, []]);
    });
}

/* ----- what comes of it ----- */

async function played(name, { level = 2, periods = [{ chunks: 4 }], ...options }, body) {
    await test(`abandon: ${name}`, async () => {
        const mock = await new Mock().start(), player = new FakePlayer(periods);
        mock.pick = () => level;
        const abrd = attach(player, { server: mock.url, timeoutMs: 5000, ...options }), seen = {};
        for (const event of ['request', 'chunk', 'abandon', 'error', 'report'])
            abrd.on(event, data => (seen[event] ??= []).push(data));
        try {
            await player.load(manifest(periods));
            await body({ mock, player, abrd, seen, given: player.given, asked: () => mock.of('/abandon') });
        } finally {
            abrd.detach();
            await mock.stop();
        }
    });
}
const aWhile = () => new Promise(done => setTimeout(done, 700));

async function playerTests() {
    await played('a chunk is fetched lower, and counts once', {}, async ({ mock, player, abrd, seen, given, asked }) => {
        mock.second = () => 0;
        await player.chunk(0);
        const began = performance.now(), slow = await player.request(1);
        Object.assign(slow, { bytesLoaded: 1000, bytesTotal: 600e3 });
        await until(() => given.length, 'the chunk to be given up');
        const [body] = asked();
        assert.deepEqual({ ...body, elapsed_s: 0 }, { chunk: 1, level: 2, bytes: 1000, elapsed_s: 0, buffer_s: 4 });
        assert.deepEqual(given, [['video', 300e3, { forceAbandon: true }]]);
        const { elapsed_s, ...told } = seen.abandon[0];
        assert.deepEqual(told, { chunk: 1, level: 0, kbps: 300, from: 2, bytes: 1000, buffer_s: 4 });
        assert.equal(elapsed_s, body.elapsed_s);

        const again = await player.request(1, { level: 0 });
        assert.deepEqual([again.representation.bandwidth, abrd.state.mode], [300e3, 'abrd']);
        await aWhile(); // nothing comes: but once is enough
        await player.response(again, new ArrayBuffer(150e3));
        const came = performance.now();
        assert.equal(asked().length, 1);
        for (const i of [2, 3]) await player.chunk(i);
        assert.deepEqual(seen.request.map(r => [r.chunk, r.level, r.by, r.decided]),
            [[0, 2, 'abrd', 2], [1, 2, 'abrd', 2], [1, 0, 'abrd', 0], [2, 2, 'abrd', 2], [3, 2, 'abrd', 2]]);
        assert.deepEqual(seen.chunk.map(c => [c.chunk, c.level, c.by]),
            [[0, 2, 'abrd'], [1, 0, 'abrd'], [2, 2, 'abrd'], [3, 2, 'abrd']]);
        assert.ok(seen.chunk[1].download_s <= (came - began) / 1000 + .001 && seen.chunk[1].bytes === 150e3);
        await until(() => seen.report, 'the report');
        const [session] = mock.sessions.values();
        assert.deepEqual(session.outcomes.map(o => [o.chunk, o.level]), [[0, 2], [1, 0], [2, 2], [3, 2]]);
        assert.equal(seen.error, undefined);
    });

    await played('the first one of a later period is no first one', { periods: [{ id: 'a', chunks: 2 }, { id: 'b', chunks: 3 }] },
        async ({ player, asked }) => {
            for (const i of [0, 1]) await player.chunk(i);
            Object.assign(await player.request(0, { period: 1 }), { bytesLoaded: 1000, bytesTotal: 600e3 });
            await until(() => asked().length, 'a question');
            assert.equal(asked()[0].chunk, 0);
            assert.ok(asked()[0].elapsed_s >= .49); // a first one is asked about a quarter second after its first byte
        });

    await played('the first one may begin again higher', { level: 0 }, async ({ mock, player, given, seen }) => {
        mock.second = () => 2;
        const request = await player.request(0);
        request.bytesLoaded = 5;
        await until(() => given.length, 'the chunk to be given up');
        assert.deepEqual(given, [['video', 1200e3, { forceAbandon: true }]]);
        assert.deepEqual([seen.abandon[0].from, seen.abandon[0].level], [0, 2]);
        await player.response(await player.request(0, { level: 2 }), new ArrayBuffer(600e3));
        assert.equal(await player.chunk(1), 0);
        assert.ok(seen.request.every(r => r.by === 'abrd'));
    });

    await played('or lower', {}, async ({ mock, player, given, seen }) => {
        mock.second = () => 0;
        Object.assign(await player.request(0), { bytesLoaded: 5000, bytesTotal: 600e3 });
        await until(() => given.length, 'the chunk to be given up');
        assert.deepEqual(given, [['video', 300e3, { forceAbandon: true }]]);
        await player.response(await player.request(0, { level: 0 }), new ArrayBuffer(150e3));
        assert.equal(await player.chunk(1), 2);
        assert.deepEqual(seen.request.map(r => [r.chunk, r.level, r.by]), [[0, 2, 'abrd'], [0, 0, 'abrd'], [1, 2, 'abrd']]);
    });

    await played('nothing comes of a session that the daemon has lost', {}, async ({ mock, player, given, seen }) => {
        mock.second = () => 0;
        mock.sessions.clear();
        const request = await player.request(0);
        request.bytesLoaded = 5;
        await until(() => seen.error, 'the refusal');
        assert.deepEqual([seen.error[0].status, given], [404, []]);
        await player.response(request, new ArrayBuffer(600e3));
        assert.equal(await player.chunk(1), 2);
        assert.deepEqual(seen.request.map(r => r.by), ['abrd', 'abrd']);
    });

    for (const [why, options, prepare] of [
        ['`abandon: false`', { abandon: false }, () => {}],
        ['a chunk of the player\'s own', {}, ({ player }) => player.rules.clear()],
        ['a player that does not ask for a level', {}, ({ player }) => { player.asks = false; }],
    ]) await played(`nothing is asked with ${why}`, options, async s => {
        await s.player.chunk(0);
        prepare(s);
        await s.player.request(1);
        await aWhile();
        assert.deepEqual([s.asked(), s.given], [[], []]);
    });

    for (const [why, deed] of [
        ['detached', ({ abrd }) => abrd.detach()],
        ['a seek', ({ player }) => player.trigger('playbackSeeking', { seekTime: 12 })],
        ['another source', ({ player }) => player.trigger('streamTeardownComplete')],
        ['the chunk is here', ({ player }) => player.response(player.last, new ArrayBuffer(9))],
    ]) await played(`an answer that comes after ${why} is none`, {}, async s => {
        s.mock.second = () => 0;
        await s.player.chunk(0);
        await s.player.request(1);
        s.mock.delayMs = 300;
        await until(() => s.asked().length, 'the question');
        await deed(s);
        await aWhile();
        assert.deepEqual([s.given, s.seen.abandon], [[], undefined]);
        assert.equal(s.asked().length, 1);
    });

    await played('a daemon that dies in between does no harm', {}, async ({ mock, player, given, seen }) => {
        await player.chunk(0);
        const request = await player.request(1);
        await mock.stop();
        await until(() => seen.error?.length, 'the failure');
        await aWhile();
        assert.equal(seen.error.length, 1); // it does not ask again and again
        await player.response(request, new ArrayBuffer(600e3));
        await player.chunk(2);
        await player.chunk(3);
        assert.deepEqual([given, seen.chunk.map(c => c.chunk)], [[], [0, 1, 2, 3]]);
        await mock.start(mock.port);
    });

    await played('a level that the player does not have is not begun', {}, async ({ mock, player, given, seen }) => {
        mock.second = () => 0;
        await player.chunk(0);
        const { representations } = player;
        const request = await player.request(1);
        player.representations = (...a) => representations.apply(player, a).slice(1);
        await aWhile();
        assert.deepEqual([given, seen.abandon], [[], undefined]);
        player.representations = representations;
        await player.response(request, new ArrayBuffer(600e3));
        assert.equal(await player.chunk(2), 2);
        assert.equal(seen.request.at(-1).by, 'abrd');
    });
}

export async function abandonTests() {
    await timingTests();
    await playerTests();
}

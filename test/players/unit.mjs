// unit.mjs - the parts of the rig alone: clock, link, media, requests, source buffers, video element, bridge.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { test } from '../web/harness.mjs';
import { Clock } from './clock.mjs';
import { Link, readTrace } from './link.mjs';
import { boxes, chunkOf, initOf, readMedia, readVideo, siteOf } from './media.mjs';
import { MediaSource } from './mse.mjs';
import { Bridge, DAEMON, MEDIA, Network, networkApi } from './net.mjs';
import { paired, qoeOf } from './score.mjs';
import { HTMLVideoElement } from './video.mjs';

const GOLDEN = path.join(path.dirname(fileURLToPath(import.meta.url)), '../golden');
const near = (a, b, eps = 1e-9) => assert.ok(Math.abs(a - b) <= eps, `${a} is not ${b}`);
const video = { kbps: [300, 1200], chunkS: 4, sizes: [[15000, 60000], [15000, 60000], [15000, 60000]] };
const MBIT = [[0, 1], [1000, 1]]; // 1 Mbit/s

/** A page's network: a link of 1 Mbit/s without loss, 100 ms. */
function network(about) {
    const clock = new Clock(), site = siteOf(video, about);
    const bridge = new Bridge(clock, 'http://127.0.0.1:9', 20);
    const net = new Network(clock, new Link(clock, MBIT, { payload: 1, rttMs: 100 }), site, bridge, 0);
    return { clock, net, bridge, ...networkApi(net) };
}

/** A video element with a source of one buffer. */
async function element() {
    const clock = new Clock(), source = new MediaSource(clock), events = [];
    const media = new HTMLVideoElement(clock, () => source);
    for (const type of ['loadedmetadata', 'playing', 'waiting', 'seeking', 'seeked', 'ended', 'pause'])
        media.addEventListener(type, () => events.push(type));
    media.src = 'blob:1';
    await clock.run();
    const buffer = source.addSourceBuffer('video/mp4; codecs="avc1.64001f"');
    const append = async data => {
        buffer.appendBuffer(data);
        await clock.run(() => !buffer.updating);
    };
    const chunk = (i, level = 0) => append(chunkOf({ bytes: 9000, startS: 4 * i, durationS: 4, level, number: i + 1 }));
    return { clock, source, media, buffer, append, chunk, events };
}

export async function unitTests() {
    await test('clock: in order of time, then of the calls; cancelled timers never', async () => {
        const clock = new Clock(), seen = [];
        for (const ms of [50, 10, 30, 10, 20]) clock.setTimeout(x => seen.push(x), ms, `${ms}/${seen.length}`);
        clock.clear(clock.setTimeout(() => seen.push('never'), 15));
        const every = clock.setInterval(() => { if (seen.push(`every ${clock.now}`) > 8) clock.clear(every); }, 25);
        await clock.run();
        assert.deepEqual(seen.map(s => s.replace(/\/.*/, '')),
            ['10', '10', '20', 'every 25', '30', '50', 'every 50', 'every 75', 'every 100']);
        assert.equal(clock.now, 100);
    });

    await test('clock: microtasks finish before the next timer, and the clock stands while it is held', async () => {
        const clock = new Clock(), seen = [];
        clock.after(1, async () => { for (let i = 0; i < 50; i++) await null; seen.push('microtasks'); });
        clock.after(1, () => {
            seen.push('timer');
            clock.hold(new Promise(done => setImmediate(() => setImmediate(done))).then(() => seen.push(`held at ${clock.now}`)));
        });
        clock.after(2, () => seen.push('later'));
        clock.after(3, () => { throw new Error('of a timer'); });
        await clock.run(() => false, 10);
        assert.deepEqual(seen, ['microtasks', 'timer', 'held at 1', 'later']);
        assert.equal(clock.errors.length, 1);
        clock.after(20, () => seen.push('beyond'));
        await clock.run(() => false, 15);
        assert.equal(clock.now, 15);
        assert.equal(seen.length, 4);
    });

    await test('link: the emulator\'s download times, for every chunk of the golden sessions', async () => {
        const [head, ...lines] = readFileSync(path.join(GOLDEN, 'traj.csv'), 'utf8').trim().split('\n').map(l => l.split(','));
        const rows = lines.map(l => Object.fromEntries(head.map((h, i) => [h, isNaN(l[i]) ? l[i] : Number(l[i])])));
        const sessions = new Map();
        for (const r of rows) {
            const key = `${r.trace} ${r.seq}`;
            sessions.set(key, [...sessions.get(key) ?? [], r]);
        }
        let chunks = 0;
        for (const session of sessions.values()) {
            // the emulator's trace stands still during the round trip
            const clock = new Clock();
            const link = new Link(clock, readTrace(path.join(GOLDEN, 'traces', session[0].trace)), { rttMs: 0 });
            let buffer = 0;
            for (const r of session) {
                const from = clock.now;
                let over = false;
                link.request(r.chunk_bytes, { end: () => { over = true; } });
                await clock.run(() => over);
                near(clock.now - from, r.delay_ms - 80, 1e-6 * r.delay_ms);
                // sleep_ms is only what remained in the last row of the trace
                const sleepS = Math.max(buffer - r.delay_ms / 1000, 0) + 4 - r.buffer_s;
                buffer = r.buffer_s;
                await clock.run(() => false, clock.now + 1000 * Math.max(sleepS, 0));
                chunks++;
            }
        }
        assert.equal(chunks, rows.length);
        assert.ok(chunks > 1000);
    });

    await test('link: requests share it equally, and one that is stopped leaves its share', async () => {
        const clock = new Clock(), link = new Link(clock, MBIT, { payload: 1, rttMs: 100 }), ends = {};
        const get = (name, bytes) => link.request(bytes, { end: () => { ends[name] = clock.now; } });
        get('a', 25000); // alone 300 ms: 100 + 200
        await clock.run(() => false, 50);
        get('b', 25000);
        const c = get('c', 1e6);
        await clock.run(() => false, 250);
        // a alone until 150, then three
        assert.equal(c.loaded(), Math.floor(125 * 100 / 3));
        c.stop();
        await clock.run();
        // at 250 a has 6250 + 4166.7 of 25000; then a and b share: 14583.3 * 2 / 125 ms
        near(ends.a, 250 + (25000 - 6250 - 12500 / 3) * 2 / 125, 1e-6);
        near(ends.b, 150 + 100 + (ends.a - 250) + (6250) / 125, 1e-6);
        assert.equal(c.loaded(), 0);
    });

    await test('media: a chunk has its size, its time and its level; the boxes are whole', () => {
        for (const bytes of [3000, 15000, 300001]) {
            const data = chunkOf({ bytes, startS: 8, durationS: 4, level: 3, number: 3 });
            assert.equal(data.length, bytes);
            assert.deepEqual([...boxes(data)].map(b => b.type), ['moof', 'mdat', 'free']);
            assert.equal([...boxes(data)].at(-1).end, bytes);
            assert.deepEqual(readMedia(data), { start: 8, end: 12, level: 3, number: 3 });
        }
        for (const kind of ['video', 'audio']) assert.deepEqual(readMedia(initOf(kind, 720, 12)), { timescale: 1000 });
        assert.equal(readMedia(new Uint8Array(20)), null);
        const golden = readVideo(path.join(GOLDEN, 'video'), { chunks: 48 });
        assert.equal(golden.sizes.length, 48);
        assert.ok(golden.sizes.every(row => row.length === 6 && row.every((b, i) => !i || b > row[i - 1])));
    });

    await test('media: live chunks come when they are complete, and periods continue', () => {
        const live = siteOf(video, { live: { startMs: 0, delayS: 8 } });
        assert.equal(live.at('v0/1.m4s', 3.9), null);
        assert.equal(live.at('v0/1.m4s', 4).chunk, 0);
        assert.match(live.at('v1.m3u8', 8).body, /v1\/2\.m4s\n$/);
        assert.match(live.at('v1.m3u8', 100).body, /v1\/3\.m4s\n#EXT-X-ENDLIST\n$/);
        const two = siteOf(video, { periods: [1, 2], sound: 64 }).at('a.mpd', 0).body;
        assert.equal(two.match(/<Period /g).length, 2);
        assert.match(two, /<Period id="p1" start="PT4S" duration="PT8S">.*startNumber="2".*presentationTimeOffset="4000"/);
        for (const none of ['v2/1.m4s', 'v0/4.m4s', 'v0/0.m4s', 'b.mpd']) assert.equal(siteOf(video).at(none, 0), null);
    });

    await test('XMLHttpRequest: latency, progress and the end; an abort leaves the link', async () => {
        const { clock, net, XMLHttpRequest } = network(), seen = [];
        clock.after(0, () => {
            const x = new XMLHttpRequest();
            x.open('GET', `${MEDIA}v0/1.m4s`);
            x.responseType = 'arraybuffer';
            x.onprogress = e => seen.push([clock.now, e.loaded]);
            x.onload = () => seen.push(['load', clock.now, x.status, x.response.byteLength]);
            x.send();
        });
        await clock.run();
        assert.deepEqual(seen[0], [101, 125]);
        assert.deepEqual(seen.slice(1, 3), [[151, 6375], [201, 12625]]);
        assert.deepEqual(seen.slice(-2), [[220, 15000], ['load', 220, 200, 15000]]);
        assert.equal(net.resources[0].responseStart - net.resources[0].startTime, 100);
        clock.after(0, () => {
            const x = new XMLHttpRequest(), y = new XMLHttpRequest();
            x.open('GET', `${MEDIA}v1/1.m4s`);
            x.onabort = () => seen.push(['abort', x.status]);
            x.send();
            clock.after(150, () => x.abort());
            y.open('GET', `${MEDIA}none`);
            y.onloadend = () => seen.push(['none', y.status]);
            y.send();
        });
        await clock.run();
        assert.deepEqual(seen.slice(-2), [['none', 404], ['abort', 0]]);
        assert.deepEqual([net.log[1].aborted, net.log[1].loaded], [true, 6250]);
    });

    await test('fetch: the body comes in parts, also of a clone, and an abort rejects', async () => {
        const { clock, fetch } = network(), seen = [];
        clock.after(0, async () => {
            const answer = await fetch(`${MEDIA}v0/2.m4s`);
            seen.push([clock.now, answer.status, answer.headers.get('Content-Length')]);
            const reader = answer.clone().body.getReader();
            for (let part; !(part = await reader.read()).done;) seen.push(part.value.length);
            seen.push((await answer.arrayBuffer()).byteLength, clock.now);
        });
        await clock.run();
        assert.deepEqual(seen, [[100, 200, '15000'], 125, 6250, 6250, 2375, 15000, 220]);
        clock.after(0, () => {
            const over = new AbortController();
            clock.after(110, () => over.abort());
            fetch(`${MEDIA}v0/2.m4s`, { signal: over.signal }).then(a => a.arrayBuffer())
                .catch(e => seen.push(e.name));
        });
        await clock.run();
        assert.equal(seen.at(-1), 'AbortError');
    });

    await test('bridge: a real answer after a fixed virtual time; no answer; its server away', async () => {
        const { clock, bridge, fetch } = network(), seen = [];
        const server = http.createServer((q, r) => { q.resume(); q.on('end', () => r.end(`{"path":"${q.url}"}`)); });
        await new Promise(done => server.listen(0, '127.0.0.1', done));
        bridge.url = `http://127.0.0.1:${server.address().port}`;
        const ask = () => clock.after(0, () => fetch(`${DAEMON}/v1/x`, { method: 'POST', body: '{}' }).then(a => a.json())
            .then(a => seen.push([clock.now, a.path]), () => seen.push([clock.now, 'none'])));
        ask();
        await clock.run();
        bridge.latencyMs = 300;
        ask();
        await clock.run();
        bridge.state = 'away';
        ask();
        await clock.run();
        assert.deepEqual(seen, [[20, '/v1/x'], [320, '/v1/x'], [620, 'none']]);
        assert.deepEqual(bridge.log.map(e => e.status), [200, 200, 0]);
        bridge.close();
        server.close();
    });

    await test('video element: plays what is there, stands still, goes on, and ends', async () => {
        const { clock, source, media, append, chunk, events } = await element();
        await append(initOf('video', 360, 12));
        assert.equal(media.readyState, 1);
        clock.after(0, () => media.play());
        await chunk(0, 1);
        const began = clock.now;
        await clock.run(() => media.readyState < 3);
        near(media.currentTime, 4, 1e-3);
        near(clock.now - began, 4000, 1);
        await clock.run(() => false, clock.now + 1500);
        await chunk(1, 0);
        await clock.run(() => false, clock.now + 1000);
        near(media.currentTime, 5, 1e-2);
        await chunk(2, 1);
        source.endOfStream();
        await clock.run(() => media.ended);
        await clock.run(() => false, clock.now + 10);
        assert.deepEqual(events, ['loadedmetadata', 'waiting', 'playing', 'waiting', 'playing', 'pause', 'ended']);
        assert.deepEqual(media.shown.map(p => [Math.round(p.from), Math.round(p.to), p.level]), [[0, 4, 1], [4, 8, 0], [8, 12, 1]]);
        assert.equal(media.stalls.length, 1);
        near(media.stalls[0].to - media.stalls[0].from, 1505, 1);
    });

    await test('video element: a chunk on the screen stays, one that waits is replaced; a seek', async () => {
        const { clock, media, append, chunk, events } = await element();
        await append(initOf('video', 360, 12));
        for (const i of [0, 1, 2]) await chunk(i, 0);
        clock.after(0, () => media.play());
        await clock.run(() => media.currentTime > 1);
        await chunk(0, 1);
        await chunk(1, 1);
        await clock.run(() => media.currentTime > 5);
        media.currentTime = 9;
        await clock.run(() => media.currentTime > 10);
        media.sync();
        assert.deepEqual(media.shown.map(p => [Math.floor(p.from), p.level]), [[0, 0], [4, 1], [9, 0]]);
        assert.deepEqual(events.slice(-2), ['seeking', 'seeked']);
        media.currentTime = 0;
        await clock.run(() => false, clock.now + 100);
        assert.equal(media.seeking, false);
    });

    await test('source buffer: ranges, removal, what is refused', async () => {
        const { clock, source, buffer, append, chunk } = await element();
        await append(initOf('video', 360, 12));
        await chunk(0);
        await chunk(2);
        const ranges = () => Array.from({ length: buffer.buffered.length }, (_, i) => [buffer.buffered.start(i), buffer.buffered.end(i)]);
        assert.deepEqual(ranges(), [[0, 4], [8, 12]]);
        await chunk(1);
        assert.deepEqual(ranges(), [[0, 12]]);
        buffer.remove(2, 5);
        assert.throws(() => buffer.appendBuffer(new Uint8Array(8)), { name: 'InvalidStateError' });
        assert.throws(() => source.endOfStream(), { name: 'InvalidStateError' });
        await clock.run(() => !buffer.updating);
        assert.deepEqual(ranges(), [[0, 2], [5, 12]]);
        assert.throws(() => buffer.buffered.start(2), { name: 'IndexSizeError' });
        assert.throws(() => source.addSourceBuffer('video/webm; codecs="vp9"'), { name: 'NotSupportedError' });
    });

    await test('score: QoE without the first chunk; the interval is the same every time', () => {
        const about = { kbps: [300, 1200], chunkS: 4, heights: [360, 720] };
        const pensieve = { utility: 'linear', quality: 1, fall: 1, rise: 0, stall: 4.3, start: 4.3 };
        near(qoeOf(pensieve, { shown: [0, 1, 1], stalls: [.5] }, about), (1.2 - .9 + 1.2 - 2.15) / 2);
        near(qoeOf(pensieve, { shown: [0, 1, -1], stalls: [] }, about), .3);
        const five = paired([1, 2, 3, 4, 5]);
        assert.deepEqual(paired([1, 2, 3, 4, 5]), five);
        assert.ok(five.low < 3 && five.high > 3 && five.mean === 3);
        assert.ok(Number.isNaN(paired([1]).low));
    });
}

// unit.mjs - the parts of the rig alone: clock, link, media, requests, source buffers, video element, bridge.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { test } from '../web/harness.mjs';
import { cellQoe } from './cells.mjs';
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

    await test('media: several codecs and sound tracks, sound in the video, discontinuities', () => {
        const sets = [{ codecs: 'avc1.64001f', levels: [0] }, { codecs: 'hvc1.1.6.L93.B0', levels: [1] }];
        const reps = text => [...text.matchAll(/<Representation id="(\w+)" bandwidth="(\d+)" codecs="([^"]*)"/g)].map(m => m.slice(1).join(' '));
        const site = siteOf(video, { sets, sound: [64, 96], soundStated: true }), mpd = site.at('a.mpd', 0).body;
        assert.equal(mpd.match(/<AdaptationSet /g).length, 3);
        assert.deepEqual(reps(mpd), ['v0 300000 avc1.64001f', 'v1 1200000 hvc1.1.6.L93.B0', 'a0 64000 mp4a.40.2', 'a1 96000 mp4a.40.2']);
        assert.equal(siteOf(video, { sets, mixed: true }).at('a.mpd', 0).body.match(/<AdaptationSet /g).length, 1);
        assert.match(mpd, /id="a0".*abrd:sizes="32320 32320 32320"/);
        assert.deepEqual([site.at('a1/2.m4s', 0).body.length, site.at('a1/2.m4s', 0).kind, site.at('a2/2.m4s', 0)], [48480, 'audio', null]);
        // the bitrate of a variant contains its sound
        assert.match(site.at('a.m3u8-master', 0).body, /BANDWIDTH=364000,.*CODECS="avc1.64001f,mp4a.40.2"/);
        const muxed = siteOf(video, { muxed: 80 });
        assert.deepEqual(reps(muxed.at('a.mpd', 0).body), ['v0 380000 avc1.64001f,mp4a.40.2', 'v1 1280000 avc1.64001f,mp4a.40.2']);
        assert.equal(muxed.at('v0/1.m4s', 0).body.length, 15000 + 40000);
        const parts = siteOf(video, { periods: [1, { chunks: 2, levels: [1] }] });
        assert.equal(parts.at('v0.m3u8', 0).body.match(/#EXT-X-DISCONTINUITY\n#EXTINF:4.000,\nv0\/2.m4s/g).length, 1);
        assert.deepEqual(reps(parts.at('a.mpd', 0).body).map(r => r.slice(0, 2)), ['v0', 'v1', 'v1']);
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

    await test('video element: sound and video, it stands still without either', async () => {
        const { clock, source, media, append, chunk } = await element();
        const sound = source.addSourceBuffer('audio/mp4; codecs="mp4a.40.2"');
        const hear = async data => {
            sound.appendBuffer(data);
            await clock.run(() => !sound.updating);
        };
        await append(initOf('video', 360, 12));
        assert.equal(media.readyState, 0);
        await hear(initOf('audio', 0, 12));
        assert.equal(media.readyState, 1);
        clock.after(0, () => media.play());
        for (const i of [0, 1, 2]) await chunk(i);
        await clock.run(() => false, clock.now + 500);
        assert.equal(media.currentTime, 0);
        await hear(chunkOf({ bytes: 3000, startS: 0, durationS: 6 }));
        await clock.run(() => media.readyState < 3);
        near(media.currentTime, 6, 1e-3);
        assert.deepEqual([media.buffered.length, media.buffered.end(0)], [1, 6]);
        await hear(chunkOf({ bytes: 3000, startS: 6, durationS: 4 }));
        source.endOfStream();
        await clock.run(() => media.ended); // the shorter track ends with the longer one
        near(media.currentTime, 12, 1e-3);
        assert.equal(media.stalls.length, 1);
    });

    await test('trace: a wrong line has its file and number', () => {
        const dir = mkdtempSync(path.join(os.tmpdir(), 'abrd-trace-'));
        const from = text => { writeFileSync(path.join(dir, 'a'), text); return readTrace(path.join(dir, 'a')); };
        try {
            assert.deepEqual(from('# seconds, Mbit/s\n0 1\n\n1.5\t2\n'), [[0, 1], [1.5, 2]]);
            assert.throws(() => from('0 1\n1 x\n'), /a:2: not "seconds Mbit\/s"; 'abrd trace convert'/);
            assert.throws(() => from('[{"duration_ms": 1}]'), /a:1: not/);
            assert.throws(() => from('0 1\n1 0\n'), /a: has less than two rows, or nothing arrives/);
        } finally {
            rmSync(dir, { recursive: true });
        }
    });

    await test('score: QoE of a cell counts the first chunk and its wait', () => {
        const pensieve = { utility: 'linear', quality: 1, fall: 1, rise: 0, stall: 4.3, start: 4.3 };
        const cell = { kbps: [300, 1200], chunk_s: 4, points: [[30, 60], [30, 60]] };
        near(cellQoe(pensieve, { shown: [0, 1], stalls: [.5], startupS: 2 }, cell), (.3 - 8.6 + 1.2 - .9 - 2.15) / 2);
        const points = { utility: 'points', quality: 1, fall: 1, rise: 0, stall: 4, start: 1 };
        near(cellQoe(points, { shown: [1, 0], stalls: [], startupS: 3 }, cell), (60 - 3 + 30 - 30) / 2);
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

// record.mjs - what the demo page computes, against figures worked out by hand.
import assert from 'node:assert/strict';

import { alone } from './alone.mjs';
import { test } from './harness.mjs';
import { Recording, capacity, inCommon } from '../../web/demo/record.js';
import { CUT_S, changes, factorAt, isGone, read, write } from '../../web/demo/script.js';
import { verdict } from '../../web/demo/verdict.js';

const near = (a, b, eps = 1e-12) => assert.ok(Math.abs(a - b) <= eps, `${a} is not ${b}`);

function example() {
    const r = new Recording();
    r.open({ session: 's', profile: 'paper-news', qoe: { mu: [6, 1, 1], utility: 'linear' }, chunk_s: 4,
        ladder_kbps: [300, 1200], quality: [40, 80] });
    r.decision({ chunk: 0, level: 0, kbps: 300, quality: 45, expert: 2, policy: 7, mode: 'greedy',
        probabilities: [0.75, 0.25] });
    r.request(0, { chunk: 0, level: 0, kbps: 300, by: 'abrd', decided: 0 });
    r.arrival(1, { chunk: 0, level: 0, bytes: 150000, download_s: 1, rebuffer_s: 0, buffer_s: 4 });
    r.request(1, { chunk: 1, level: 1, kbps: 1200, by: 'player', decided: null });
    r.arrival(4, { chunk: 1, level: 1, bytes: 600000, download_s: 3, rebuffer_s: 0.5, buffer_s: 5 });
    return r;
}

export async function recordTests() {
    await test('record: a link begins anew at its end', () => {
        const link = { time_s: [10, 11, 13], mbps: [9, 1, 5] };
        assert.deepEqual([0, 0.99, 1, 2.9, 3, 4.5, -0.5].map(s => capacity(link, s)), [1, 1, 5, 5, 1, 5, 5]);
        assert.ok(isNaN(capacity({}, 1)));
    });

    await test('record: totals and CSV', () => {
        const r = example(), t = r.totals();
        assert.deepEqual([t.n, t.kbps, t.points, t.switches, t.switches_a_minute, t.followed], [2, 750, 62.5, 1, 7.5, 1]);
        const [head, a, b, end] = r.csv().split('\r\n');
        assert.equal(end, '');
        assert.equal(head, 'chunk,requested_s,arrived_s,by,level,kbps,decided_kbps,bytes,download_s,' +
            'throughput_kbps,rebuffer_s,buffer_s,reward,expert,policy,mode,latency_s,probability,points');
        assert.equal(a, '0,0,1,abrd,0,300,300,150000,1,1200,0,4,1.8,2,7,greedy,,0.75,45');
        assert.equal(b, '1,1,4,player,1,1200,,600000,3,1600,0.5,5,5.8,,,,,,80');
    });

    await test('record: a chunk that is given up is one row, as it came', () => {
        const r = example();
        r.decision({ chunk: 2, level: 1, kbps: 1200 });
        r.request(4, { chunk: 2, level: 1, kbps: 1200, by: 'abrd', decided: 1 });
        r.request(5, { chunk: 2, level: 0, kbps: 300, by: 'abrd', decided: 0 });
        r.arrival(6, { chunk: 2, level: 0, bytes: 150000, download_s: 1, rebuffer_s: 0, buffer_s: 4 });
        assert.deepEqual(r.chunks.map(c => [c.chunk, c.level, c.decided_kbps, c.requested_s]),
            [[0, 0, 300, 0], [1, 1, null, 1], [2, 0, 300, 5]]);
        near(r.chunks[2].reward, 1.8 - 0.9); // a step down from chunk 1
    });

    await test('record: rewards in points, with the quality that the daemon states', () => {
        const r = new Recording();
        r.open({ session: 's', qoe: { mu: [1, 1, 1], utility: 'points', weights: { stalls: 2 } }, chunk_s: 4,
            ladder_kbps: [300, 1200], quality: [40, 80] });
        const chunk = (n, level, rebuffer_s, quality) => {
            r.decision({ chunk: n, level, kbps: 300, quality });
            r.request(n, { chunk: n, level, kbps: r.ladder[level], by: 'abrd', decided: level });
            return r.arrival(n + 1, { chunk: n, level, bytes: 1e5, download_s: 1, rebuffer_s, buffer_s: 4 }).reward;
        };
        near(chunk(0, 1, 0, 90), 0.8469 * 90);
        near(chunk(1, 0, 0.5, undefined), 0.8469 * 40 - 1.061 * 50 - 28.7959);
        near(r.totals().points, 65);
    });

    await test('record: the start is no stall; what was seen has no seeks in it', () => {
        const r = new Recording(), at = () => [r.start.to, r.stalls, r.totals().stall_ratio, r.seen_s];
        r.stall(0.5, true); // dash.js waits before it plays
        r.sample(0.5, 0, null, 0);
        assert.deepEqual(at(), [null, [], null, 0]);
        r.stall(2, false);
        r.sample(2, 4, null, 0);
        for (let t = 3; t <= 6; t++) r.sample(t, 4, null, t - 2);
        r.stall(6, true);
        r.sample(7, 0, null, 4);
        assert.deepEqual(at(), [2, [{ from: 6, to: null }], 1 / 5, 4]);
        r.stall(7, false);
        r.sample(8, 4, null, 80); // a seek
        r.sample(9, 4, null, 81);
        assert.deepEqual(at(), [2, [{ from: 6, to: 7 }], 1 / 6, 5]);
        r.sample(10, 4, null, 84, 4); // four times as fast
        assert.equal(r.seen_s, 8);
    });

    await test('record: stalls under 100 ms are none; measured throughput lies where it was', () => {
        const r = new Recording();
        r.stall(0.5, false); // the first picture
        r.stall(1, true); r.stall(1.05, false);
        r.stall(2, true); r.stall(2, true); r.stall(3, false); r.stall(4, false);
        assert.deepEqual(r.stalls, [{ from: 2, to: 3 }]);

        r.request(0, { chunk: 0, level: 0, kbps: 300, by: 'player', decided: null });
        for (const t of [0, 1, 2, 3]) r.sample(t, 0, null);
        r.arrival(3.5, { chunk: 0, level: 0, bytes: 250000, download_s: 2, rebuffer_s: 0, buffer_s: 4 });
        assert.deepEqual(r.samples.measured, [null, null, 1, 1]);
    });

    await test('record: what was on the screen', () => {
        const r = new Recording(), chunk = (points, level) => ({ points, level, kbps: 300 });
        r.stall(1, false);
        r.sample(1, 4, null, 0);
        r.sample(2, 4, chunk(40, 0), 1);
        r.sample(4, 4, chunk(70, 2), 3);
        r.stall(4, true);
        r.sample(5, 0, chunk(90, 1), 3); // it stands still
        r.stall(5, false);
        r.sample(6, 4, null, 4); // not known
        const { points, stalls, stall_s, startup_s, switches } = r.seen();
        near(points, (40 + 2 * 70) / 3);
        assert.deepEqual([stalls, stall_s, startup_s, switches], [1, 1, 1, 1]);
    });

    await test('record: a playhead that waits for a chunk shows the last picture of the chunk before it', () => {
        const r = example(), on = s => r.onScreen(s)?.chunk ?? null;
        assert.deepEqual([0, 0.1, 3.9, 3.9995, 4, 7.9].map(on), [null, 0, 0, 1, 1, 1]);
        assert.equal(on(8), 1);     // chunk 2 is not asked for
        r.request(5, { chunk: 2, level: 0, kbps: 300, by: 'abrd', decided: 0 });
        assert.equal(on(8), 1);     // and has not arrived
        assert.equal(on(12.5), null); // a seek: no chunk there
        r.arrival(6, { chunk: 2, level: 0, bytes: 150000, download_s: 1, rebuffer_s: 0, buffer_s: 4 });
        assert.equal(on(8), 2);
        assert.equal(new Recording().onScreen(1), null);
    });

    await test('record: two playbacks are compared over what both have shown', () => {
        const a = new Recording(), b = new Recording(), chunk = (n, points) => ({ chunk: n, points, level: 0 });
        assert.deepEqual(inCommon(a, b), [null, null]);
        for (const [r, list] of [[a, [[0, 50], [1, 70]]], [b, [[0, 60], [1, 80], [2, 5]]]]) {
            r.sample(0, 4, null, 0);
            list.forEach(([n, points], i) => r.sample(i + 1, 4, chunk(n, points), i + 1));
        }
        assert.deepEqual(inCommon(a, b), [60, 70]);
        near(b.seen().points, 145 / 3);
    });

    await test('demo: a run as text, and what it does to the link', () => {
        const actions = [{ at: 3, kind: 'gone' }, { at: 10, kind: 'rate', rate: 0.5 }, { at: 12.25, kind: 'cut' }, { at: 14, kind: 'back' },
            { at: 15, kind: 'rate', rate: 2 }];
        assert.equal(write(actions), 'gone@3,rate0.5@10,cut@12.25,back@14,rate2@15');
        assert.deepEqual(read(write(actions)), actions);
        assert.deepEqual(read('cut@9,nonsense,rate@3,rate-1@3,cut@-1,back@1;x'), [{ at: 9, kind: 'cut' }]);
        assert.deepEqual(read(null), []);
        const c = changes(actions);
        assert.deepEqual(c, { at_s: [10, 12.25, 15, 12.25 + CUT_S], factor: [0.5, 0, 0, 2] });
        assert.deepEqual([0, 10, 13, 16, 30].map(t => factorAt(t, c)), [1, 0.5, 0, 0, 2]);
        assert.deepEqual([0, 3, 13.9, 14].map(t => isGone(t, actions)), [false, true, true, false]);
    });

    await test('demo: the comparison in words, whoever is better', () => {
        const seen = (points, stalls, stall_s, startup_s = 1) => ({ points, stalls, stall_s, startup_s });
        const words = (a, b) => { const { winner, lead, text } = verdict('dash.js', a, b); return [winner, lead, text]; };
        assert.deepEqual(words(seen(50, 2, 6.1), seen(56, 0, 0)),
            ['abrd', 'abrd is better.', 'abrd: 12 % sharper, no stall; dash.js: 2 stalls, 6.1 s.']);
        assert.deepEqual(words(seen(56, 0, 0), seen(50, 1, 2, 3)),
            ['own', 'dash.js is better.', 'abrd: 1 stall, 2.0 s; dash.js: 12 % sharper, no stall, first picture 2.0 s sooner.']);
        assert.deepEqual(words(seen(60, 1, 4), seen(50, 0, 0)).slice(0, 2), ['even', 'Each is better at something.']);
        assert.deepEqual(words(seen(50, 0, 0), seen(50.5, 0, 0)).slice(0, 2), ['even', 'No difference.']);
        assert.equal(words(seen(null, 0, 0, null), seen(null, 0, 0, null))[0], null);
        assert.deepEqual(words(seen(null, 0, 0, null), seen(50, 0, 0)), ['abrd', 'abrd is better.', 'abrd: no stall; dash.js: no picture yet.']);
    });

    await test('alone: the lowest level on a link without changes', () => {
        const flat = mbps => ({ time_s: [0, 1000], mbps: [mbps, mbps], rtt_s: 0.1 });
        const of = (mbps, before = []) => alone(flat(mbps), before, Array(40).fill(150000));
        const steps = 0.15; // its clock goes in steps
        near(of(1.2, [15000]).first_s, 0.1 + 0.1 + 0.1 + 1 + 0.3, steps); // two round trips, 15 and 150 kB, the decoder
        near(of(1.2, [15000]).seen_s, 60 - of(1.2, [15000]).first_s, steps); // it never stands still
        // 8.1 s for each 4 s of video: seven chunks come, the last at 56.7 s
        near(of(0.15).seen_s, 6 * 4 + (60 - 56.7), steps);
        assert.ok(of(100).seen_s < 60 && of(100).seen_s > 59);
        assert.equal(of(0.01).seen_s, 0);
    });
}

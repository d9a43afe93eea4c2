// record.mjs - what the demo page computes, against figures worked out by hand.
import assert from 'node:assert/strict';

import { test } from './harness.mjs';
import { Recording, capacity, reward } from '../../web/demo/record.js';

const near = (a, b, eps = 1e-12) => assert.ok(Math.abs(a - b) <= eps, `${a} is not ${b}`);

function example() {
    const r = new Recording();
    r.open({ session: 's', profile: 'news', qoe: { mu: [6, 1, 1], utility: 'linear' },
        ladder_kbps: [300, 1200] });
    r.decision({ chunk: 0, level: 0, kbps: 300, expert: 2, policy: 7, mode: 'greedy',
        probabilities: [0.75, 0.25] });
    r.request(0, { chunk: 0, level: 0, kbps: 300, by: 'abrd', decided: 0 });
    r.arrival(1, { chunk: 0, level: 0, bytes: 150000, download_s: 1, rebuffer_s: 0, buffer_s: 4 });
    r.request(1, { chunk: 1, level: 1, kbps: 1200, by: 'player', decided: null });
    r.arrival(4, { chunk: 1, level: 1, bytes: 600000, download_s: 3, rebuffer_s: 0.5, buffer_s: 5 });
    return r;
}

export async function recordTests() {
    await test('record: rewards of the three utilities', () => {
        const of = (utility, mu = [1, 1, 4.3]) => ({ mu, utility });
        near(reward(of('linear'), 1200, 750, 0.5, 300), 1.2 - 0.45 - 2.15);
        near(reward(of('linear'), 1200, null, 0, 300), 1.2);
        near(reward(of('linear', [6, 1, 1]), 300, 1200, 2, 300), 1.8 - 0.9 - 2);
        near(reward(of('log'), 1200, 300, 0, 300), 2 * Math.log(4) - Math.log(4) - Math.log(4));
        near(reward(of('pamoe'), 1000, 300, 0, 300), Math.log(1.7) - 0.01 - 0.7);
    });

    await test('record: a link begins anew at its end', () => {
        const link = { time_s: [10, 11, 13], mbps: [9, 1, 5] };
        assert.deepEqual([0, 0.99, 1, 2.9, 3, 4.5, -0.5].map(s => capacity(link, s)), [1, 1, 5, 5, 1, 5, 5]);
        assert.ok(isNaN(capacity({}, 1)));
    });

    await test('record: totals and CSV', () => {
        const r = example(), t = r.totals();
        assert.deepEqual([t.n, t.kbps, t.stall_s, t.switches, t.followed], [2, 750, 0.5, 1, 1]);
        near(t.qoe, 7.2 - 0.9 - 0.5);
        const [head, a, b, end] = r.csv().split('\r\n');
        assert.equal(end, '');
        assert.equal(head, 'chunk,requested_s,arrived_s,by,level,kbps,decided_kbps,bytes,download_s,' +
            'throughput_kbps,rebuffer_s,buffer_s,reward,expert,policy,mode,latency_s,probability');
        assert.equal(a, '0,0,1,abrd,0,300,300,150000,1,1200,0,4,1.8,2,7,greedy,,0.75');
        assert.equal(b, '1,1,4,player,1,1200,,600000,3,1600,0.5,5,5.8,,,,,');
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

    await test('record: stalls under 100 ms are none; measured throughput lies where it was', () => {
        const r = new Recording();
        r.stall(1, true); r.stall(1.05, false);
        r.stall(2, true); r.stall(2, true); r.stall(3, false); r.stall(4, false);
        assert.deepEqual(r.stalls, [{ from: 2, to: 3 }]);

        r.request(0, { chunk: 0, level: 0, kbps: 300, by: 'player', decided: null });
        for (const t of [0, 1, 2, 3]) r.sample(t, 0, null);
        r.arrival(3.5, { chunk: 0, level: 0, bytes: 250000, download_s: 2, rebuffer_s: 0, buffer_s: 4 });
        assert.deepEqual(r.samples.measured, [null, null, 1, 1]);
    });
}

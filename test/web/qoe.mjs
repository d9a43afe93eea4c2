// qoe.mjs - QoE, quality and the first level of the policy in the page, against figures worked out by hand.
// test/http/policy.mjs compares the same with the program.
import assert from 'node:assert/strict';

import { test } from './harness.mjs';
import { cautious } from '../../web/lib/caution.js';
import { offered } from '../../web/lib/first_level.js';
import { SHARES, forecastOf } from '../../web/lib/forecast.js';
import { chunkQoe, qoeOf, qualityCurve } from '../../web/lib/qoe.js';
import { lastOf, pastOf, rewardsOf, viewOf } from '../../web/lib/view.js';

const near = (a, b, eps = 1e-12) => assert.ok(Math.abs(a - b) <= eps, `${a} is not ${b}`);

export async function qoeTests() {
    await test('qoe: rewards in points', () => {
        const standard = qoeOf('standard'), level = points => ({ kbps: 1000, points });
        const of = (qoe, now, before, waitS = 0, chunkS = 4) =>
            chunkQoe(qoe, level(now), before === null ? null : level(before), { chunkS, waitS, lowest: 300 }).reward;
        near(of(standard, 80, 80), 0.8469 * 80);
        near(of(standard, 80, 90, 0.5), 0.8469 * 80 - 1.061 * 10 - 28.7959 / 2);
        near(of(standard, 80, 60), 0.8469 * 80); // a rise costs nothing
        near(of(standard, 80, 80, 0, 2), 0.8469 * 40);
        near(of(standard, 80, null, 2), 0.8469 * 80 - 28.7959 / 2); // a start: a quarter of a stall
        near(of(qoeOf('news'), 80, null, 2), 1.5 * 0.8469 * 80 - 28.7959);
        near(of(qoeOf({ weights: { stalls: 3 } }), 80, 80, 1), 0.8469 * 80 - 3 * 28.7959);
    });

    await test('qoe: rewards of the papers\' utilities', () => {
        const of = (utility, kbps, before, waitS, mu = [1, 1, 4.3]) => chunkQoe(qoeOf({ mu, utility }), { kbps },
            before && { kbps: before }, { chunkS: 4, waitS, lowest: 300 }).reward;
        near(of('linear', 1200, 750, 0.5), 1.2 - 0.45 - 2.15);
        near(of('linear', 1200, null, 0), 1.2);
        near(of('linear', 1200, null, 1), 1.2 - 4.3); // the papers know no start
        near(of(undefined, 300, 1200, 2, [6, 1, 1]), 1.8 - 0.9 - 2);
        near(of('log', 1200, 300, 0), 2 * Math.log(4) - Math.log(4) - Math.log(4));
        near(of('pamoe', 1000, 300, 0), Math.log(1.7) - 0.01 - 0.7);
        near(of('pamoe', 1000, 300, 0, [3, 1, 1]), 3 * Math.log(1.7) - 0.01 - 0.7);
    });

    await test('qoe: what is no profile and no weights is null', () => {
        for (const weights of ['nobody', null, undefined, {}, 5]) assert.equal(qoeOf(weights), null);
    });

    await test('qoe: the curve begins at 100 and ends no lower on a taller ladder', () => {
        const points = qualityCurve([1000, 1000 * Math.E]);
        near(points[1], 100);
        near(points[0], 100 - 16.1 - 1.75);
        const tall = qualityCurve([300, 3000, 40000]);
        near(tall[0], 100 - 16.1 * 2.66 - 1.75 * 2.66 ** 3);
        assert.ok(tall[1] > tall[0] && tall[1] < 100);

        // a height caps its level, the one below it, and all by that of the top
        const heights = qualityCurve([1000, 1000 * Math.E, 4000], [1080, 540, 1080]);
        near(heights[2], 100);
        near(heights[1], 100 - 17);
        assert.ok(heights[0] < heights[1]);
        const low = qualityCurve([1000, 1000 * Math.E], [270, 540]);
        near(low[1], 83);
        near(low[0], Math.min(0.83 * (100 - 16.1 - 1.75), 100 - 17 * 2 ** 1.1));
    });

    await test('view: the quality of a chunk, then of its level, then the curve', () => {
        const ladder_kbps = [300, 1200], q = { ladder_kbps, chunk_s: 4, buffer_s: 8, last_level: 1 };
        const of = more => { const v = viewOf({ ...q, ...more }, qoeOf('standard')); return [v.points, v.lastPoints]; };
        assert.deepEqual(of({}), [qualityCurve(ladder_kbps), 100]);
        assert.deepEqual(of({ quality: [40, 80] }), [[40, 80], 80]);
        assert.deepEqual(of({ quality: [40, 80], next_quality: [50, 90] }), [[50, 90], 80]);
        assert.deepEqual(of({ next_quality: [50, 90], last_quality: 70 }), [[50, 90], 70]);
        const view = viewOf({ ...q, next_quality: [50, 90], last_quality: 70 }, qoeOf('documentary'));
        rewardsOf(view, lastOf(view)).forEach((r, k) => near(r, [0.8469 * 50 - 3 * 1.061 * 20, 0.8469 * 90][k]));
    });

    const q = { ladder_kbps: [300, 1200, 4300], chunk_s: 4, buffer_s: 4, buffer_max_s: 8 };
    const offers = (profile, more) => offered(viewOf({ ...q, ...more }, qoeOf(profile)));
    const measured = { throughput_kbps: [1500], download_s: [1], last_level: 0 };

    await test('first level: one, that starts in time for viewers with a ceiling', () => {
        for (const profile of ['live', 'paper-live']) assert.equal(offers(profile, {}).filter(Boolean).length, 1);
        // an eighth of the top rate carries 1.6 Mbit in 3 s
        assert.deepEqual(offers('news', {}), [true, false, false]);
        assert.deepEqual(offers('news', { next_bytes: [2e6, 2e6, 2e6] }), [true, false, false]);
    });

    await test('first level: then all levels are offered', () => {
        for (const profile of ['live', 'paper-live'])
            assert.deepEqual(offers(profile, { ...measured, buffer_s: 0 }), [true, true, true]);
    });

    await test('forecast: wider after one chunk than on a calm link, and ten times as high at ten times the rate', () => {
        const of = (rates, times = rates.map(() => 2)) => forecastOf({ rates, times, past: pastOf(rates, times), chunkS: 4 });
        const calm = of(Array(8).fill(2000)), one = of([2000]), fast = of(Array(8).fill(20000));
        assert.deepEqual([calm.mean, calm.spread, calm.next.length, calm.later.length], [2000, 0, 11, 11]);
        near(one.spread, 0.34);
        assert.ok(one.next[9] / one.next[1] > 1.2 * calm.next[9] / calm.next[1]);
        for (const list of [calm.next, calm.later, one.next])
            assert.ok(list.every((x, i) => x > 0 && (!i || x >= list[i - 1])));
        calm.next.forEach((x, i) => near(fast.next[i] / x, 10));
        near(SHARES.reduce((a, x) => a + x, 0), 1);
        assert.equal(forecastOf({ rates: [] }), null);
    });

    await test('caution: forecasts are lowered, and a stall weighs more while the session stalls too much', () => {
        const weight = (profile, seen, kbps) => cautious(viewOf(kbps ? { ...q, throughput_kbps: [kbps], download_s: [1] } : q,
            qoeOf(profile), seen)).qoe.stall / qoeOf(profile).stall;
        near(weight('live', undefined), 1);
        near(weight('live', { stalledS: 0.4, playedS: 99.6 }), 1); // below 1 %
        near(weight('live', { stalledS: 1.5, playedS: 98.5 }), 1.25); // half a second above
        near(weight('live', { stalledS: 1.5, playedS: 98.5, lambda: 0.5 }), 1.5 * 1.25);
        near(weight('live', { stalledS: 50, playedS: 50 }), 3);
        near(weight('paper-live', { stalledS: 50, playedS: 50 }), 1);
        // links that carry half, three quarters and all of the top level
        near(weight('live', undefined, 2150), 1.3);
        near(weight('live', undefined, 3225), 1.15);
        near(weight('live', undefined, 4300), 1);
        near(weight('live', { stalledS: 1.5, playedS: 98.5 }, 1000), 1.3 * 1.25);
        near(weight('paper-live', undefined, 1000), 1);
        const margin = (profile, ...throughput_kbps) => cautious(viewOf({ ...q, throughput_kbps,
            download_s: throughput_kbps.map(() => 1) }, qoeOf(profile))).margin;
        const link = (low, high) => [low, high, low, high, low, high, low, high];
        assert.deepEqual([margin('live', ...link(1000, 1000)), margin('live', ...link(1000, 1500)),
            margin('live', ...link(1000, 4000))], [0, 0, 0.05]); // calm, uneven, volatile
        assert.deepEqual([margin('paper-live', ...link(1000, 4000)), margin('live')], [0, 0]);
    });
}

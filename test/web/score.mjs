// score.mjs - what the showdown makes of its runs, against figures worked out by hand.
import assert from 'node:assert/strict';

import { test } from './harness.mjs';
import { csv, page } from '../showdown/report.mjs';
import { paired, qoeOf, scored, shownOf, table } from '../showdown/score.mjs';

const near = (a, b, eps = 1e-12) => assert.ok(Math.abs(a - b) <= eps, `${a} is not ${b}`);
const live = { mu: [1, 1, 6], utility: 'linear' }, news = { mu: [6, 1, 1], utility: 'linear' };

/** Two chunks at one level, or one of 300 and one of 1200 kbit/s. */
const run = (trace, player, profile, kbps, stalls = [], more = {}) => ({
    trace, player, profile, kbps, stalls, ladder: [300, 1200], startup_s: 1, attempt: 1, starved: false,
    cpu: { late_share: 0, dropped_share: 0, busy_share: .5, excess_s: 0, pressure: 0 }, ...more,
});

export async function scoreTests() {
    await test('showdown: QoE of a run', () => {
        near(qoeOf(live, run('t', 'p', null, [300, 1200], [.5, .25]), 300), (.3 + 1.2 - .9 - 6 * .75) / 2);
        near(qoeOf(news, run('t', 'p', null, [1200, 1200], []), 300), 7.2);
    });

    await test('showdown: a chunk that comes again is shown anew only if it was not reached', () => {
        const at = (loads, stalls = []) => shownOf({ loads, stalls });
        // the picture begins at 2; chunk 1 is reached at 6
        const first = [[0, 750, 0, 2], [1, 300, 2, 1]];
        assert.deepEqual(at(first), [750, 300]);
        assert.deepEqual(at([...first, [0, 4300, 2, 1]]), [750, 300]);
        assert.deepEqual(at([...first, [1, 4300, 3, 2.9]]), [750, 4300]);
        assert.deepEqual(at([...first, [1, 4300, 3, 3.1]]), [750, 300]);
        assert.deepEqual(at([...first, [1, 4300, 3, 3.1]], [.2]), [750, 4300]); // in doubt
        assert.deepEqual(at([[0, 750, 0, 2], [1, 300, 7, 2]], [3]), [750, 300]); // late, and the only one
        const [row] = scored([run('t', 'p', null, [4300, 4300], [],
            { loads: [...first, [0, 4300, 2, 1], [1, 4300, 3, 2]], ladder: [300, 4300] })], { live });
        near(row.qoe, (.75 + 4.3 - 3.55) / 2);
        assert.equal(row.switches, 1);
    });

    await test('showdown: a run without a profile counts for all, one with a profile for that', () => {
        const runs = [run('t', 'abrd', 'live', [300, 300]), run('t', 'abrd', 'news', [1200, 1200], [1]),
            run('t', 'other', null, [300, 1200], [.5])];
        const rows = scored(runs, { live, news });
        assert.deepEqual(rows.map(r => [r.profile, r.player]),
            [['live', 'abrd'], ['live', 'other'], ['news', 'abrd'], ['news', 'other']]);
        assert.deepEqual(rows.map(r => r.switches), [0, 1, 0, 1]);
        assert.deepEqual(rows.map(r => r.stall_s), [0, .5, 1, .5]);
        near(rows[2].qoe, 7.2 - .5);
    });

    await test('showdown: compared only on traces that all have played', () => {
        const runs = [run('a', 'abrd', 'live', [1200, 1200]), run('b', 'abrd', 'live', [300, 300]),
            run('c', 'abrd', 'live', [300, 300]),
            run('a', 'other', null, [300, 300]), run('b', 'other', null, [300, 300], [1], { starved: true })];
        const { traces, rows } = table(scored(runs, { live }), 'live');
        assert.deepEqual(traces, ['a', 'b']);
        assert.deepEqual(rows.map(r => r.player), ['abrd', 'other']);
        near(rows[0].qoe, .75);
        near(rows[1].gain.mean, (.9 + 3) / 2);
        assert.deepEqual([rows[1].wins, rows[1].starved], [2, 1]);
        assert.ok(rows[1].gain.low >= .9 - 1e-9 && rows[1].gain.high <= 3 + 1e-9);
        assert.deepEqual(table([], 'live').rows, []);
    });

    await test('showdown: the interval is the same every time, and none for one pair', () => {
        assert.deepEqual(paired([1, 2, 3, 4]), paired([1, 2, 3, 4]));
        const { mean, low, high } = paired([1, 2, 3, 4]);
        assert.ok(mean === 2.5 && low > 1 && low < 2 && high > 3 && high < 4);
        assert.ok(isNaN(paired([7]).low));
    });

    await test('showdown: CSV and page hold every row, and nothing that is not escaped', () => {
        const rows = scored([run('a<b', 'abrd', 'live', [300, 1200]), run('a<b', 'x', null, [300, 300])], { live });
        assert.equal(csv(rows).trim().split('\r\n').length, 3);
        assert.match(csv(rows), /^profile,trace,player,qoe,/);
        const html = page([{ profile: 'live', qoe: live, ...table(rows, 'live') }], rows, { done: 2, all: 2 });
        assert.ok(html.includes('a&lt;b') && !html.includes('a<b'));
        assert.equal(csv([]), '');
    });
}

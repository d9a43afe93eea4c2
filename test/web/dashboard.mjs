// dashboard.mjs - the dashboard: what its curves are made of, and, in a real Chromium beside a daemon
// that learns, that its numbers are those of /metrics, that nothing jumps, and that it can be read
// and reached everywhere.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';

import { Roster, Series, errorsOf, examined, grouped, icicle, labelsOf, onPlane, quantile, samples, seen, specialisation, together, watched } from '../../web/dashboard/series.js';
import { faint } from './contrast.mjs';
import { Daemon, ROOT } from './daemon.mjs';
import { test, until } from './harness.mjs';
import { launch } from './stage.mjs';

const near = (a, b, eps = 1e-12) => assert.ok(Math.abs(a - b) <= eps, `${a} is not ${b}`);

const reading = (decisions, rewards, sum) =>
    ({ decisions, rewards, sessions_live: 3, startup_bounds_s: [1, 2], profiles: [{ name: 'news', rewards, reward_sum: sum,
        startup: [0, 0, 0], by: [rewards, 0, 0], played_s: 4 * rewards, stall_sum_s: 0, quality_sum: 80 * rewards, switches: 0 }] });

async function seriesTests() {
    await test('dashboard: figures of several profiles, of labels, and errors', () => {
        const row = (name, rewards, by) => ({ name, rewards, by, startup: [rewards, 0], played_s: 4 * rewards, stall_sum_s: 1, quality_sum: 50 * rewards, switches: 1 });
        const all = together([row('a', 2, [2, 0, 0]), row('b', 6, [3, 1, 2])]);
        assert.deepEqual([all.rewards, all.by, all.startup, all.stall_sum_s], [8, [5, 1, 2], [8, 0], 2]);
        near(seen(all, null, [1]).player, 3 / 8);
        const s = { profiles: [row('a', 1, [1, 0, 0])], labels: [{ key: 'device', value: 'tv', rewards: 4 }, { key: 'cdn', value: 'x', rewards: 3 }] };
        assert.deepEqual(grouped(s, 'device').map(p => [p.name, p.rewards]), [['tv', 4]]);
        assert.deepEqual(grouped(s, '').map(p => p.name), ['a']);
        assert.deepEqual(grouped({ profiles: [] }, 'device'), []);
        const label = (what, value, n) => `abrd_label_${what}_total{label="device",value="${value}"} ${n}\n`;
        const labels = labelsOf(samples(label('sessions', 'tv', 2) + label('chunks', 'tv', 20) + label('started', 'tv', 2) +
            label('startup_seconds', 'tv', 3) + label('stall_seconds', 'tv', 5) + label('played_seconds', 'tv', 95) +
            label('quality_points', 'tv', 1200) + label('switches', 'tv', 19) + label('chunks', 'other', 1) + 'abrd_build_info{version="1"} 1\n'));
        assert.deepEqual(grouped({ labels }, 'device').map(p => [p.name, p.rewards]), [['tv', 20], ['other', 1]]);
        assert.deepEqual(seen(labels[0], null, [1]), { median: null, p90: null, mean: 1.5, stalls: 0.05, quality: 60, switches: 12, player: null });
        const http = (code, n) => `abrd_http_requests_total{route="/x",method="GET",code="${code}"} ${n}\n`;
        assert.deepEqual(Object.values(errorsOf(samples(`# HELP x y\n${http(200, 9)}${http(503, 2)}${http(500, 1)}${http(429, 4)}${http(404, 5)}${http(503, 99).replace('/x', '/readyz')}abrd_store_errors_total 7\n`))),
            [3, 4, 5, 7, 0, 0]);
    });

    await test('dashboard: an exam is listed with what is worse first', () => {
        const cell = (profile, links_of, why) => ({ profile, links_of, why, links: 24, loss: 0, loss_bound: 0, gain: 0 });
        const group = (name, worse) => ({ ...name, worse, links: 48, loss: 0.1, loss_bound: 0.2, gain: 0 });
        const rows = examined({ cells: [cell('news', 'lte', 'fine'), cell('live', 'lte', 'stalls')],
            groups: [group({ links_of: 'lte' }, false), group({ profile: 'live' }, true)] });
        assert.deepEqual(rows.map(r => [r.name, r.result, r.worse, r.group]), [['live on lte', 'stalls', true, false],
            ['live on all', 'worse', true, true], ['all on lte', 'fine', false, true], ['news on lte', 'fine', false, false]]);
    });

    await test('dashboard: decisions a second and rewards are differences of counters', () => {
        const s = new Series();
        s.add(100, reading(50, 10, 5));
        assert.equal(s.rate(5), null);
        assert.equal(s.reward('news', 15), null);
        for (let i = 1; i <= 20; i++) s.add(100 + i, reading(50 + 10 * i, 10 + (i > 18 ? 4 : 0), 5 + (i > 18 ? 6 : 0)));
        near(s.rate(5), 10);
        near(s.reward('news', 15), 1.5);
        assert.equal(s.reward('nobody', 15), null);
        assert.deepEqual(s.columns.reward.get('news').slice(-3), [null, 1.5, 1.5]);
        assert.equal(s.columns.t.length, 21);
    });

    await test('dashboard: what viewers see are differences of counters', () => {
        const bounds = [1, 2, 4];
        assert.equal(quantile(0.5, [0, 0, 0, 0], bounds), null);
        near(quantile(0.5, [0, 4, 4, 0], bounds), 2); // as histogram_quantile
        near(quantile(0.9, [0, 4, 4, 0], bounds), 2 + 2 * (7.2 - 4) / 4);
        near(quantile(0.5, [2, 0, 0, 0], bounds), 0.5);
        near(quantile(0.9, [0, 0, 0, 7], bounds), 4); // above the last bound
        const then = { rewards: 10, startup: [1, 0, 0, 0], by: [8, 1, 1], played_s: 40, stall_sum_s: 1, quality_sum: 700, switches: 2 };
        const now = { rewards: 15, startup: [1, 4, 4, 0], by: [11, 1, 3], played_s: 60, stall_sum_s: 6, quality_sum: 1000, switches: 4 };
        const v = seen(now, then, bounds);
        near(v.median, 2);
        near(v.stalls, 5 / 25);
        near(v.quality, 60);
        near(v.switches, 6);
        near(v.player, 2 / 5);
        near(seen(now, null, bounds).stalls, 6 / 66);
        assert.deepEqual(seen(then, then, bounds), { median: null, p90: null, stalls: null, quality: null, switches: null, player: null });
    });

    await test('dashboard: another process is another curve; what is old goes', () => {
        const s = new Series(30);
        s.add(0, reading(1000, 0, 0));
        for (let t = 1; t <= 100; t++) s.add(t, reading(t, 0, 0));
        assert.deepEqual([s.columns.t[0], s.columns.t.at(-1)], [70, 100]);
        near(s.rate(5), 1);
        for (const column of [s.columns.rate, s.columns.live, s.columns.reward.get('news'), s.columns.seen.get('news')])
            assert.equal(column.length, s.columns.t.length);
    });

    await test('dashboard: a session in which the player chose and went back, row by row', () => {
        const step = (chunk, decided_level, level, buffer_s, more) =>
            ({ chunk, decided_level, level, buffer_s, reported: true, bytes: 125000, download_s: 0.5, ...more });
        const h = { ladder_kbps: [300, 750, 1200], steps: [step(0, 2, 2, 0), step(1, -1, 1, 0), step(2, 0, 0, 8),
            step(1, 1, 1, 5, { reported: false })] };
        const w = watched(h, 60);
        assert.deepEqual(w.at, [0, 1, 2, 3]); // ascending, as uPlot wants it
        assert.deepEqual(w.chunk, [0, 1, 2, 1]);
        assert.deepEqual(w.steps.map(s => s.shown), [2, 1, 0, 1]);
        assert.deepEqual(w.mbps, [1.2, 0.75, 0.3, 0.75]);
        assert.deepEqual(w.buffer, [null, null, 8, 5]);
        assert.deepEqual(w.measured, [2, 2, 2, null]);
        assert.deepEqual(watched(h, 3).buffer, [null, 8, 5]); // the newest only
    });

    await test('dashboard: who is watched until he is silent or over', () => {
        const r = new Roster(3);
        assert.equal(r.follow(null, 0), null);
        r.hear(1, { session: 'a', profile: 'live' });
        r.hear(2, { session: 'b', chunk: 4 });
        assert.equal(r.follow(null, 2), 'b');
        assert.equal(r.follow('a', 20), 'a');
        r.hear(22, { session: 'b', chunk: 5 });
        assert.equal(r.follow('a', 22), 'b');
        r.get('b').over = true;
        assert.equal(r.follow('b', 22), 'b'); // nobody else has just asked
        r.hear(23, { session: 'c' });
        assert.equal(r.follow('b', 23), 'c');
        r.hear(24, { session: 'd' });
        assert.deepEqual(r.list().map(s => s.id), ['d', 'c', 'b']);
        assert.deepEqual(r.list()[2], { id: 'b', at: 22, chunk: 5, over: true });
        // where many ask, who is watched is not lost among them
        for (let i = 0; i < 50; i++) r.hear(25, { session: `e${i}` }, 'c');
        assert.equal(r.list().length, 3);
        assert.equal(r.follow('c', 25), 'c');
    });

    await test('dashboard: specialisation is 1 when the profile tells the expert, 0 when it tells nothing', () => {
        near(specialisation([[7, 0, 0], [0, 5, 0], [0, 0, 9]]), 1);
        near(specialisation([[2, 4], [3, 6]]), 0);
        near(specialisation([[5, 0], [9, 0]]), 0);
        assert.equal(specialisation([[0, 0]]), null);
        // H(expert) = ln 2, H(expert | profile) = (3/4 ln 4/3 + 1/4 ln 4)
        near(specialisation([[3, 1], [1, 3]]), 1 - (0.75 * Math.log(4 / 3) + 0.25 * Math.log(4)) / Math.LN2);
    });

    await test('dashboard: the simplex in the plane, the tree in its rows', () => {
        const corner = (n, k) => onPlane(Array.from({ length: n }, (_, i) => Number(i === k)));
        near(corner(3, 0)[1], -1);
        near(Math.hypot(...corner(4, 2)), 1);
        near(Math.hypot(...onPlane([1, 1, 1].map(v => v / 3))), 0);
        const place = icicle([{ parent: -1 }, { parent: 0 }, { parent: 0 }, { parent: 2 }, { parent: 2 }]);
        const [root, a, b, c, d] = place;
        assert.deepEqual(root, { from: 0, to: 1 });
        near(a.to, 1 / 3);
        assert.deepEqual([b.from, b.to], [a.to, 1]);
        near(c.to, 2 / 3);
        assert.equal(d.from, c.to);
        near(d.to, 1);
    });
}

/** samples of /metrics: "name{labels}" -> value */
async function metricsOf(daemon) {
    const text = await (await fetch(`${daemon.url}/metrics`)).text();
    return new Map(text.split('\n').filter(l => l && l[0] !== '#').map(l => {
        const at = l.lastIndexOf(' ');
        return [l.slice(0, at), Number(l.slice(at + 1))];
    }));
}

/** Every number on the page that says which metric it is. */
const shownOn = page => page.evaluate(() => [...document.querySelectorAll('[data-metric]')].map(e => ({
    metric: e.dataset.metric, over: e.dataset.over?.split(' '), scale: Number(e.dataset.scale ?? 1), text: e.textContent })));

/** Those that are not what /metrics says, to the digits that are shown. */
function wrong(shown, metrics) {
    return shown.filter(({ metric, over, scale, text }) => {
        // several names are a sum; a label may hold no space
        let value = metric.split(' ').reduce((sum, name) => sum + metrics.get(name), 0);
        if (over) value /= over.reduce((sum, name) => sum + metrics.get(name), 0);
        if (text === '–') return Number.isFinite(value);
        const digits = /^-?[\d,]+(?:\.(\d+))?(?: %)?$/.exec(text);
        if (!digits) return true;
        const number = Number(text.replace(/[, %]/g, ''));
        return !(Math.abs(number - scale * value) <= 0.5 * 10 ** -(digits[1]?.length ?? 0) + 1e-9);
    });
}

/** The cells of the row of device=tv behind its chunks. */
function shownOfLabel(metrics) {
    const of = what => metrics.get(`abrd_label_${what}_total{label="device",value="tv"}`);
    const stalled = of('stall_seconds'), played = of('played_seconds');
    return [of('startup_seconds') / of('started'), null, 100 * stalled / (stalled + played), of('quality_points') / of('chunks'),
        60 * of('switches') / played, null, null].map((v, i) => (Number.isFinite(v) ? v.toFixed([1, 1, 2, 1, 2][i]) : '–'));
}

async function sameAsMetrics(page, daemon) {
    let off, shown;
    try {
        await until(async () => {
            const metrics = await metricsOf(daemon);
            shown = await shownOn(page);
            off = wrong(shown, metrics).map(s => ({ ...s, is: metrics.get(s.metric) }));
            return shown.length && !off.length;
        }, 'the numbers of /metrics');
    } catch (e) {
        throw new Error(`${e.message}; other than these: ${JSON.stringify(off.slice(0, 5))}`);
    }
    return shown;
}

async function open(browser, daemon, { width, scheme = 'light', query = '', clock = false }) {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: scheme });
    if (clock) await page.clock.install();
    page.errors = [];
    page.on('pageerror', e => page.errors.push(e.stack));
    await page.addInitScript(() => {
        window.shifts = [];
        new PerformanceObserver(list => {
            for (const e of list.getEntries())
                window.shifts.push({ by: e.value, what: e.sources.map(s => s.node?.id || s.node?.className || s.node?.nodeName) });
        }).observe({ type: 'layout-shift', buffered: true });
    });
    await page.goto(`${daemon.url}/dashboard.html${query}`);
    await page.waitForFunction(() => window.dashboard?.series.readings.length);
    return page;
}

async function steady(page) {
    const shifts = await page.evaluate(() => window.shifts);
    const sum = shifts.reduce((s, x) => s + x.by, 0);
    assert.ok(sum < 0.01, `the layout has moved by ${sum}: ${JSON.stringify(shifts)}`);
    assert.deepEqual(page.errors, []);
}

/** Emulated viewers, until all have played. */
async function viewers(daemon, n) {
    const process = spawn(path.join(ROOT, 'build/abrd'), ['emulate', '--server', daemon.url, '--viewers', String(n),
        '--no-hint', '0.2', '--seed', '5'], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
    assert.equal(await new Promise(done => process.on('exit', done)), 0);
}

/** One viewer whose buffer is known; his session. */
async function viewer(daemon, chunks, labels) {
    const s = await daemon.send('POST', '/v1/sessions', { ladder_kbps: [300, 750, 1200, 1850, 2850, 4300], chunk_s: 4, chunks: 30, profile: 'news', labels });
    let { level } = s;
    for (let chunk = 1; chunk <= chunks; chunk++) {
        const last = { chunk: chunk - 1, level, bytes: 400000, download_s: 1.5, rebuffer_s: 0 };
        ({ level } = await daemon.send('POST', `/v1/sessions/${s.session}/decisions`, { chunk, buffer_s: 4 + chunk / 2, last }));
    }
    return { id: s.session, level };
}


async function pageTests(browser, daemon) {
    const page = await open(browser, daemon, { width: 1280 });

    await test('dashboard: the numbers shown are those of /metrics', async () => {
        await sameAsMetrics(page, daemon);
        await viewers(daemon, 120);
        await until(() => page.evaluate(() => window.dashboard.learner.updates.some(u => u.kind !== 'start')), 'an update');
        const shown = await sameAsMetrics(page, daemon);
        // a refused update may have no score
        const scored = await page.evaluate(() => window.dashboard.learner.updates.findLast(u => u.learned).score !== null);
        const of = name => shown.filter(s => s.metric.startsWith(name));
        assert.ok(Number(of('abrd_decisions_total')[0].text.replace(/,/g, '')) > 2000);
        for (const [family, least] of Object.entries({ abrd_sessions_live: 1, abrd_policy_version: 2,
            abrd_profile_chunks_total: 4, abrd_profile_stall_seconds_total: 4, abrd_profile_quality_points_total: 4,
            abrd_profile_switches_total: 4, abrd_profile_chunks_by_total: 4, abrd_profile_expert_decisions_total: 4,
            abrd_learner_updates_total: 1, abrd_learner_rollbacks_total: 1, abrd_learner_check_score: Number(scored), abrd_learner_check_best: 1,
            abrd_policy_layer_dormant_ratio: 6, abrd_policy_layer_rank_effective: 6, abrd_policy_layer_weight_rms: 12,
            abrd_merge_weight: 2, abrd_untagged_mix: 4, abrd_merge_tree_leaves: 1, abrd_merge_expected: 1 }))
            assert.ok(of(family).length >= least, `${of(family).length} of ${family}`);
    });

    await test('dashboard: curves and versions are those of the learner', async () => {
        // an update, or the end of a slot, may come between the two readings
        await until(async () => {
            const { updates } = await daemon.get('/v1/policy/updates');
            return isDeepStrictEqual(await page.evaluate(() => window.dashboard.learner.updates), updates) &&
                await page.locator('#versions tr').count() === updates.length;
        }, 'every update on the page');
        await until(async () => {
            const { nodes, weights } = await daemon.get('/v1/untagged');
            assert.ok(Math.abs(weights.reduce((a, b) => a + b) - 1) < 1e-5);
            return await page.locator('#tree rect').count() === nodes.length &&
                await page.locator('#simplex .leaf').count() === nodes.filter(n => n.leaf && n.active).length;
        }, 'the whole tree on the page');
        assert.ok(await page.locator('.plot canvas').count() >= 14);
        const rates = await page.evaluate(() => window.dashboard.series.columns.rate);
        assert.ok(Math.max(...rates) > 5, rates.join(' ')); // many more where the machine is free
    });

    await test('dashboard: a session is watched as it goes on', async () => {
        const { id, level } = await viewer(daemon, 6);
        await until(async () => (await page.textContent('#session-facts')).startsWith(id.slice(0, 8)), 'the session');
        await until(async () => /chunk 6 of 30/.test(await page.textContent('#session-facts')), 'its last chunk');
        assert.match(await page.textContent('#session-facts'), new RegExp(`news, explores .* level ${level} · buffer 7\\.0 s`));
        assert.equal(await page.locator('#strip li').count(), 7);
        const other = await viewer(daemon, 3);
        await until(async () => (await page.locator('#session option').allTextContents()).some(t => t.startsWith(other.id.slice(0, 8))), 'the other in the list');
        await page.selectOption('#session', other.id);
        await until(async () => (await page.textContent('#session-facts')).startsWith(other.id.slice(0, 8)), 'the other');
        assert.equal(await page.locator('#strip li').count(), 4);
    });

    await test('dashboard: a chosen time counts what came in it', async () => {
        const chunks = () => page.locator('#profiles td:nth-child(2)').allTextContents();
        await page.selectOption('#range', '600');
        // the page was open before the first viewer came
        await until(async () => {
            const { rewards } = await page.evaluate(() => window.dashboard.series.readings.at(-1).s);
            const shown = (await chunks()).reduce((n, text) => n + Number(text.replace(/,/g, '')), 0);
            return shown === rewards && await page.locator('#profiles [data-metric]').count() === 0;
        }, 'all chunks of the last ten minutes');
        assert.match(await page.textContent('#tile-quality'), /^\d+$/);
        await page.selectOption('#range', '');
        await sameAsMetrics(page, daemon);
    });

    await test('dashboard: viewers by the label of the setting metrics-label', async () => {
        const { id } = await viewer(daemon, 5, { device: 'tv' });
        await daemon.send('DELETE', `/v1/sessions/${id}`);
        await until(async () => (await page.locator('#by option').allTextContents()).includes('device'), 'the label');
        await page.selectOption('#by', 'device');
        // the end of the session may count after the first reading
        let shown, wanted;
        await until(async () => {
            const metrics = await metricsOf(daemon);
            shown = await page.locator('#profiles tr').filter({ hasText: 'tv' }).locator('td').allTextContents();
            wanted = [`${metrics.get('abrd_label_chunks_total{label="device",value="tv"}')}`, ...shownOfLabel(metrics)];
            return isDeepStrictEqual(shown, wanted);
        }, 'its figures').catch(e => assert.deepEqual(shown, wanted, e.message));
        await page.selectOption('#by', '');
        await sameAsMetrics(page, daemon);
    });

    await test('dashboard: viewers without the label are shown after an empty table', async () => {
        let chunks = 0;
        await page.route('**/metrics', async route => {
            const text = await (await route.fetch()).text();
            await route.fulfill({ body: text.replace(/^abrd_label_.*\n/gm, '') +
                `abrd_label_chunks_total{label="device",value="none"} ${chunks}\n` });
        });
        await page.selectOption('#by', 'device');
        await until(async () => /appear here/.test(await page.textContent('#profiles')), 'the empty table');
        chunks = 3;
        await until(async () => /^none3/.test(await page.textContent('#profiles')), 'the row');
        await page.unroute('**/metrics');
        await page.selectOption('#by', '');
        await sameAsMetrics(page, daemon);
    });

    await test('dashboard: the last exam, cell by cell', async () => {
        await until(async () => {
            const { exam } = await daemon.get('/v1/policy/updates');
            return exam && await page.locator('#cells tr').count() === exam.cells.length + exam.groups.length &&
                (await page.textContent('#exam-note')).startsWith(`Exam ${exam.exams}: `);
        }, 'every cell on the page');
        const [row] = await page.locator('#cells tr').evaluateAll(list => list.map(r => [...r.children].map(c => c.textContent)));
        assert.match(row.slice(2).join(' '), /^(-?\d+\.\d\d ){3}\d+$/);
    });

    await test('dashboard: everything is reached by the keyboard and shows it', async () => {
        const tour = async ids => {
        await page.waitForFunction(() => window.dashboard?.series.readings.length);
        const wanted = await page.evaluate(() => [...document.querySelectorAll('a, select, [tabindex="0"]')].filter(e => e.checkVisibility()).length);
        await page.evaluate(() => { document.activeElement.blur(); window.scrollTo(0, 0); });
        const seen = new Set();
        for (let i = 0; i < wanted; i++) {
            await page.keyboard.press('Tab');
            const at = await page.evaluate(() => {
                const e = document.activeElement;
                return { e: e.id || e.getAttribute('aria-labelledby') || e.textContent.trim(), outline: getComputedStyle(e).outlineStyle };
            });
            assert.notEqual(at.outline, 'none', at.e);
            seen.add(at.e);
        }
        assert.ok(seen.size >= wanted - 1, `${seen.size} of ${wanted}: ${[...seen]}`); // two links have one text
        for (const id of ids) assert.ok(seen.has(id), id);
        };
        await tour(['session', 'by', 'range', 'h-profiles', 'h-errors']);
        await page.click('nav a[data-view="learner"]');
        await page.waitForURL(/page=learner/);
        await tour(['h-experts', 'h-versions', 'h-actor', 'h-critic', 'h-cells']);
        await page.click('nav a[data-view="operations"]');
        await page.waitForURL(url => !url.search);
        await page.waitForFunction(() => window.dashboard?.series.readings.length);
    });

    await test('dashboard: nothing has moved meanwhile', () => steady(page));

    await test('dashboard: a daemon that goes and comes back', async () => {
        await daemon.kill();
        await until(async () => /does not answer/.test(await page.textContent('#daemon-line')), 'the page to say so');
        await daemon.start();
        await until(async () => await page.getAttribute('#main', 'data-stale') === 'no', 'the daemon');
        await until(() => page.evaluate(() => window.dashboard.learner.updates.some(u => u.kind === 'earlier')), 'versions of before');
        await sameAsMetrics(page, daemon);
        await steady(page);
    });
    await page.close();
}

/** What no short run shows for sure: updates that were rolled back, experts disabled. */
async function rollbackTest(browser, daemon) {
    await test('dashboard: what was rolled back is told from what was learned', async () => {
        const learned = { policy_loss: 0, value_loss: null, entropy: 1, approx_kl: 0, clip_share: 0, explained_variance: 0, grad_norm: 1 };
        const point = (number, kind, version, score, more) => ({ number, kind, at: 1, version, steps: 0, score, best: 0.5, ...more });
        const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
        await page.route('**/v1/policy/updates*', route => route.fulfill({ json: { updates: [
            point(1, 'start', 4, 0.5), point(2, 'rollback', 4, 0.25, { learned }), point(3, 'rollback', 4, null, { learned }),
            point(4, 'held', 4, 0.5, { learned }), point(5, 'order', 5, 0.5)].filter(u => u.number > Number(new URL(route.request().url()).searchParams.get('after'))) } }));
        await page.goto(`${daemon.url}/dashboard.html`);
        await until(async () => await page.locator('#versions tr').count() === 5, 'five rows');
        const rows = await page.locator('#versions tr').evaluateAll(list => list.map(r => [r.className, ...[...r.children].map(c => c.textContent)]));
        assert.deepEqual(rows.map(([kind, version, , what, score]) => [kind, version, what, score]), [
            ['order', '5', 'experts disabled or enabled', '0.5000'], ['held', '–', 'learned, not published', '0.5000'], ['rollback', '–', 'rolled back to 4', '–'],
            ['rollback', '–', 'rolled back to 4', '0.2500'], ['start', '4', 'start of the daemon', '0.5000']]);
        const colour = kind => page.evaluate(k => getComputedStyle(document.querySelector(`#versions .${k} td`)).color, kind);
        assert.notEqual(await colour('rollback'), await colour('start'));
        await page.close();
    });
}

/** What nobody tells the page: that it is not seen, that a profile has become another or is gone. */
async function quietTests(browser, daemon) {
    await test('dashboard: opened where nobody sees it, it asks for nothing until it is seen', async () => {
        const page = await browser.newPage();
        await page.addInitScript(() => Object.defineProperty(document, 'hidden', { get: () => !window.seen }));
        const asked = [];
        page.on('request', q => { if (q.url().includes('/v1/')) asked.push(q.url()); });
        await page.goto(`${daemon.url}/dashboard.html`);
        await page.waitForFunction(() => window.dashboard);
        assert.deepEqual(asked, []);
        await page.evaluate(() => { window.seen = true; document.dispatchEvent(new Event('visibilitychange')); });
        await page.waitForFunction(() => window.dashboard.series.readings.length);
        await page.close();
    });

    await test('dashboard: a session that is not there is asked for once', async () => {
        const page = await browser.newPage();
        const asked = [];
        page.on('request', q => { if (q.url().includes('/v1/sessions/')) asked.push(q.url()); });
        const id = '0123456789abcdef0123456789abcdef';
        await page.goto(`${daemon.url}/dashboard.html?session=${id}`);
        // of who is silent for three seconds is asked once a second whether he is over
        await page.waitForFunction(() => window.dashboard?.series.readings.length > 7);
        assert.match(await page.textContent('#session-facts'), /^01234567: the daemon does not know it$/);
        assert.deepEqual(asked, [`${daemon.url}/v1/sessions/${id}`]);
        await page.close();
    });

    await test('dashboard: without uPlot the boxes say what is missing', async () => {
        const page = await browser.newPage();
        await page.route('**/uPlot.iife.min.js', route => route.fulfill({ status: 404 }));
        await page.goto(`${daemon.url}/dashboard.html`);
        await page.waitForFunction(() => window.dashboard?.series.readings.length);
        for (const text of await page.locator('.plot').allTextContents()) assert.match(text, /uPlot.*make web/);
        await page.close();
    });

    await test('dashboard: a profile that is put again or deleted is so on the page', async () => {
        const page = await open(browser, daemon, { width: 1280, clock: true });
        // the page asks for the profiles once in ten seconds, when the daemon reports its figures
        const soon = (fn, what) => until(async () => {
            await page.clock.fastForward(10000);
            return fn();
        }, what);
        const unit = () => page.evaluate(() => window.dashboard.overview.units.fresh);
        for (const quality of [3, 5]) {
            await daemon.send('PUT', '/v1/profiles/fresh', { mu: [quality, 1, 1] });
            await soon(async () => await unit() === quality, `a unit of ${quality}`);
        }
        const drawn = async () => (await page.textContent('#chart-reward')).includes('fresh');
        await soon(drawn, 'its curve');
        await daemon.send('DELETE', '/v1/profiles/fresh');
        await soon(async () => await unit() === undefined && !await drawn(), 'it to leave');
        await page.close();
    });
}

/** Nobody watches while one daemon ends and another begins on its port and folder. */
async function restartTest(browser) {
    await test('dashboard: a daemon that began anew while the page was hidden', async () => {
        const daemon = await new Daemon({}, { stored: true }).start();
        const page = await browser.newPage();
        await page.addInitScript(() => Object.defineProperty(document, 'hidden', { get: () => !!window.away }));
        const see = seen => page.evaluate(s => {
            window.away = !s;
            document.dispatchEvent(new Event('visibilitychange'));
        }, seen);
        const same = () => until(async () => {
            const { updates } = await daemon.get('/v1/policy/updates');
            return isDeepStrictEqual(await page.evaluate(() => window.dashboard.learner.updates), updates);
        }, 'every version on the page');
        await page.goto(`${daemon.url}/dashboard.html`);
        await same();
        await see(false);
        await daemon.kill();
        await daemon.start();
        await viewer(daemon, 3); // no count has fallen
        await see(true);
        await same();
        await page.close();
        await daemon.stop();
    });
}

async function frugalTest(browser) {
    await test('dashboard: a daemon that neither learns nor merges says so', async () => {
        const daemon = await new Daemon({ learn: 'off', untagged: 'default' }).start();
        const page = await open(browser, daemon, { width: 1280 });
        for (const [where, words] of [['#versions-note', 'does not learn'], ['#actor', 'does not learn'], ['#tree', 'no merge in this mode']])
            await until(async () => (await page.textContent(where)).includes(words), `${where} to say so`);
        await sameAsMetrics(page, daemon);
        await steady(page);
        await page.close();
        await daemon.stop();
    });
}

/** Through a proxy, as a stranger and as one who has the token. */
async function tokenTest(browser) {
    await test('dashboard: from elsewhere it says why no sessions are shown, and shows them to who has the token', async () => {
        const token = 'a-token-that-nobody-guesses', daemon = new Daemon({ learn: 'off', 'trust-proxy': '127.0.0.1' });
        const file = path.join(daemon.data, 'token');
        fs.writeFileSync(file, `${token}\n`, { mode: 0o600 });
        daemon.config['admin-token-file'] = file;
        await daemon.start();
        const context = await browser.newContext({ extraHTTPHeaders: { 'X-Forwarded-For': '192.0.2.1' } });
        const facts = async (hash, words) => {
            const page = await context.newPage();
            await page.goto(`${daemon.url}/dashboard.html${hash}`);
            await until(async () => {
                await fetch(`${daemon.url}/v1/sessions`, { method: 'POST',
                    body: JSON.stringify({ ladder_kbps: [300, 750], chunk_s: 4, chunks: 9, profile: 'news' }) });
                return words.test(await page.textContent('#session-facts'));
            }, `${words} on ${hash}`);
            await page.close();
        };
        await facts('', /shown on the daemon's own machine .* or with its token/);
        await facts('#token=wrong', /shown on the daemon's own machine/);
        await facts(`#token=${token}`, /news.* chunk 0 of 9/);
        await context.close();
        await daemon.stop();
    });
}

async function looksTests(browser, daemon) {
    const page = await open(browser, daemon, { width: 375, scheme: 'dark' });
    await test('dashboard: nothing moves on a phone, and nothing is wider', async () => {
        await sameAsMetrics(page, daemon);
        await steady(page);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 375);
    });
    for (const [width, scheme] of [[375, 'dark'], [375, 'light'], [1280, 'dark'], [1280, 'light']])
        await test(`dashboard: can be read at ${width} px, ${scheme}`, async () => {
            await page.emulateMedia({ colorScheme: scheme });
            await page.setViewportSize({ width, height: 900 });
            for (const view of ['learner', 'operations']) {
                await page.click(`nav a[data-view="${view}"]`);
                await page.waitForSelector(`body[data-view="${view}"] main[data-stale="no"]`);
                // the strongest colour behind a number
                await page.evaluate(() => document.querySelectorAll('.heat').forEach(e => e.style.setProperty('--share', 1)));
                assert.deepEqual(await faint(page), [], view);
            }
            const [r, g, b] = await page.evaluate(() =>
                getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number));
            assert.equal(r + g + b > 3 * 128, scheme === 'light');
            await page.screenshot({ path: path.join(ROOT, `build/dashboard-${width}-${scheme}.png`), fullPage: true });
        });
    assert.deepEqual(page.errors, []);
    await page.close();
}

export async function dashboardTests() {
    await seriesTests();
    const daemon = await new Daemon({ explore: 1, untagged: 'merge', slot: 4, 'exam-links': 4, 'source-share': 1, 'metrics-label': 'device' }, { stored: true }).start();
    const browser = await launch();
    try {
        await pageTests(browser, daemon);
        await looksTests(browser, daemon);
        await rollbackTest(browser, daemon);
        await quietTests(browser, daemon);
        await restartTest(browser);
        await frugalTest(browser);
        await tokenTest(browser);
    } finally {
        await browser.close();
        await daemon.stop();
    }
}

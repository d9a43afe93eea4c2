// A trial over HTTP: observed sessions, arms, the report, guard rails, promotion, rollback, and kill -9 in
// the middle of it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { ABRD, Daemon, done, folder, test } from './lib/daemon.mjs';
import { answerFits } from './lib/schema.mjs';

const video = { ladder_kbps: [300, 750, 1200, 1850, 2850, 4300], chunk_s: 4, chunks: 100, profile: 'news' };
const ARMS = 'old:0.4:player, new:0.4:abrd, tail:0.2:mpc-tail';
const args = ['--seed', '5', '--learn', 'off', '--open-rate', '0', '--session-rate', '0', '--address-rate', '0'];

const data = () => mkdtempSync(join(folder, 'trial-'));
const start = (...more) => Daemon.start([...args, ...more]);

async function ok(d, method, path, body, status = 200) {
    const r = await d.call(method, path, body);
    assert.equal(r.status, status, r.text);
    return r.json;
}
const report = d => ok(d, 'GET', '/v1/trial');
const open = (d, more = {}) => ok(d, 'POST', '/v1/sessions', { ...video, ...more }, 201);

/** Reports n chunks; those after the first stall. */
async function watch(d, session, n, stall_s, ends = true) {
    for (let chunk = 1; chunk <= n; chunk++) {
        const last = { chunk: chunk - 1, level: 2, bytes: 600000, download_s: 1, rebuffer_s: chunk > 1 ? stall_s : 1 };
        await ok(d, 'POST', `/v1/sessions/${session}/decisions`, { chunk, buffer_s: 8, last });
    }
    if (ends) await ok(d, 'DELETE', `/v1/sessions/${session}`, undefined, 204);
}

/** n sessions, eight at a time; of(i, opened) watches one. Returns what was opened. */
async function sessions(d, n, of, more = () => ({})) {
    const opened = [];
    let next = 0;
    await Promise.all(Array.from({ length: 8 }, async () => {
        while (next < n) {
            const i = next++;
            opened[i] = await open(d, more(i));
            await of(i, opened[i]);
        }
    }));
    return opened;
}

await test('an observed session, and one that the daemon decides', async () => {
    const d = await start();
    const seen = await open(d, { mode: 'observe' });
    assert.deepEqual([seen.mode, seen.explores], ['observe', false]);
    await watch(d, seen.session, 3, .5, false);
    const history = await ok(d, 'GET', `/v1/sessions/${seen.session}`);
    assert.equal(history.mode, 'observe');
    answerFits('GET', '/v1/sessions/{id}', await d.call('GET', `/v1/sessions/${seen.session}`));
    const { text } = await d.call('GET', `/v1/sessions/${seen.session}?format=csv`);
    assert.match(text.split('\r\n')[1], /,observe,,,,,,,,,$/);
    await ok(d, 'DELETE', `/v1/sessions/${seen.session}`, undefined, 204);
    assert.equal(await d.metric('abrd_observed_sessions_total'), 1);
    assert.equal(await d.metric('abrd_observed_stall_seconds_total'), 1);
    assert.equal(await d.metric('abrd_profile_chunks_total{profile="news"}'), 0);
    assert.notEqual((await open(d)).mode, 'observe');
    const bad = await d.call('POST', '/v1/sessions', { ...video, mode: 'watch' });
    assert.deepEqual([bad.status, bad.json.field], [400, 'mode']);
});

await test('learn = observe', async () => {
    const d = await start('--learn', 'observe');
    assert.equal((await open(d)).mode, 'observe');
    assert.notEqual((await open(d, { mode: 'decide' })).mode, 'observe');
});

await test('without a trial there is no report', async () => {
    const d = await start();
    assert.equal((await d.call('GET', '/v1/trial')).status, 404);
    assert.equal((await d.call('POST', '/v1/trial/rollback', {})).status, 409);
    const r = await d.call('PUT', '/v1/trial', { name: 'x', arms: 'a:0.9:abrd, b:0.9:rate' });
    assert.deepEqual([r.status, r.json.field], [400, 'trial-arms']);
    const unknown = await d.call('PUT', '/v1/trial', { name: 'x', arms: 'a:0.5:abrd, b:0.5:mpc' });
    assert.equal(unknown.status, 400, unknown.text);
});

await test('kill -9 in the middle of a trial loses no assignment', async () => {
    const where = data();
    let d = await start('--data', where);
    const begun = await d.call('PUT', '/v1/trial', { name: 'spring', arms: ARMS });
    assert.equal(begun.status, 201, begun.text);
    answerFits('PUT', '/v1/trial', begun);
    assert.equal((await d.call('PUT', '/v1/trial', { name: 'spring', arms: ARMS })).status, 200);

    const viewer = i => ({ viewer: `viewer ${i}` });
    const opened = await sessions(d, 60, (i, { session }) =>
        (i % 3 ? watch(d, session, 4, i % 2 ? .2 : 0, i % 3 === 1) : null), viewer);
    const flow = r => r.arms.map(a => [a.name, a.assigned, a.running, a.empty, a.analysed, a.figures.map(f => [f.sessions, f.mean])]);
    // every answer is in the store 0.2 s after it, and the history is read behind all of them
    for (const { session } of opened.slice(-8)) await ok(d, 'GET', `/v1/sessions/${session}`);
    const before = flow(await report(d));
    execFileSync(ABRD, ['backup', where, `${where}-copy`, '--quiet']);
    await d.kill('SIGKILL');

    d = await start('--data', where);
    assert.deepEqual(flow(await report(d)), before);
    for (const [i, { session, arm, trial }] of opened.entries()) {
        const history = await ok(d, 'GET', `/v1/sessions/${session}`);
        assert.deepEqual([history.trial, history.arm], [trial, arm]);
        assert.equal((await open(d, viewer(i))).arm, arm); // and the viewer keeps it
    }
    const again = await report(d);
    assert.equal(again.arms.reduce((n, a) => n + a.again, 0), 60);
    answerFits('GET', '/v1/trial', await d.call('GET', '/v1/trial'));

    // the session that was running goes on and counts with all its chunks
    const running = opened.findIndex((_, i) => i % 3 === 2);
    const at = again.arms.findIndex(a => a.name === opened[running].arm);
    await ok(d, 'DELETE', `/v1/sessions/${opened[running].session}`, undefined, 204);
    assert.equal((await report(d)).arms[at].analysed, again.arms[at].analysed + 1);

    // a backup continues the trial, too
    assert.deepEqual(flow(await report(await start('--data', `${where}-copy`))), before);
});

await test('QoE by other weights has no difference', async () => {
    const d = await start('--trial', 'weights', '--trial-arms', 'now:0.5:abrd,news:0.5:abrd@news');
    await sessions(d, 24, (i, { session }) => watch(d, session, 3, 0), () => ({ profile: 'standard' }));
    const figures = new Map((await report(d)).arms[1].figures.map(f => [f.figure, new Map(Object.entries(f))]));
    assert.equal(typeof figures.get('quality').get('difference'), 'number');
    assert.equal(typeof figures.get('qoe').get('mean'), 'number');
    assert.deepEqual(['difference', 'lo', 'hi', 'needed'].map(k => figures.get('qoe').get(k)), [null, null, null, null]);
    answerFits('GET', '/v1/trial', await d.call('GET', '/v1/trial'));
});

await test('a guard rail stops a bad arm; promotion and rollback', async () => {
    const d = await start('--trial', 'guard', '--trial-arms', 'now:0.5:abrd,bad:0.5:rate', '--trial-sessions', '300');
    assert.equal(await d.metric('abrd_trial_stops_total'), 0);
    let n = 0;
    for (; n < 1200 && !(await report(d)).arms[1].stopped_by; n += 40)
        await sessions(d, 40, (i, { session, arm }) => watch(d, session, 3, arm === 'bad' ? .4 : 0));
    const r = await report(d);
    assert.equal(r.arms[1].stopped_by, 'stall_ratio');
    assert.equal(await d.metric('abrd_trial_stops_total'), 1);
    assert.equal(await d.metric('abrd_trial_stopped{arm="bad"}'), 1);
    const figure = r.arms[1].figures.find(f => f.figure === 'stall_ratio'), { lo, hi, needed } = figure;
    const found = new Map(Object.entries(figure)).get('difference');
    assert.ok(lo > 0 && lo < found && found < hi, `${lo} ${found} ${hi}`);
    assert.equal(needed, 0);
    const later = await sessions(d, 30, () => {});
    assert.ok(later.every(s => s.by === 'router'), 'its sessions are decided as the control');
    assert.ok((await report(d)).arms[1].fell_back > 0);

    const { text, headers } = await d.call('GET', '/v1/trial?format=csv');
    assert.match(headers.get('content-type'), /^text\/csv/);
    const lines = text.trim().split('\r\n');
    assert.equal(lines.length, 1 + 2 * 5 * 6);
    assert.ok(lines.every(l => l.split(',').length === 13));
    assert.match((await d.call('GET', '/v1/trial?format=flow')).text, /guard,runs,bad,rate,,0.5,stopped: stall_ratio,/);

    assert.equal((await d.call('POST', '/v1/trial/promote', { arm: 'none' })).status, 404);
    const promoted = await d.call('POST', '/v1/trial/promote', { arm: 'bad' }); // a person may
    assert.equal(promoted.status, 200, promoted.text);
    answerFits('POST', '/v1/trial/promote', promoted);
    assert.equal((await open(d)).by, 'arm');
    answerFits('POST', '/v1/trial/rollback', await d.call('POST', '/v1/trial/rollback', {}));
    assert.equal((await open(d)).by, 'router');
    assert.equal(await d.metric('abrd_trial_phase{phase="ended"}'), 1);
});

await test('abrd trial: start, show, promote, rollback', async () => {
    const d = await start();
    const run = (...words) => execFileSync(ABRD, ['trial', ...words, '--url', d.url], { encoding: 'utf8', stdio: 'pipe' });
    assert.throws(() => run('show'), /there was no trial/);
    assert.match(run('start', 'summer', 'old:0.5:player,new:0.5:abrd', '--sessions', '500'), /the trial runs/);
    await sessions(d, 160, (i, { session }) => watch(d, session, 2, 0)); // an interval needs 30 of each arm
    const shown = run('show');
    assert.match(shown, /trial summer, runs; shares as planned/);
    assert.match(shown, /new \(abrd, arm\): assigned \d+ = again 0 \+ fell back 0 \+ running 0 \+ empty 0 \+ analysed \d+/);
    const page = join(data(), 'trial.html');
    const rows = JSON.parse(run('show', '--networks', '--json', '-', '--report', page)).rows;
    assert.equal(rows.length, 2 * 5 * 6);
    assert.ok(rows.some(r => r.arm === 'new' && r.figure === 'startup' && r.network === 'all' && r.lo < r.hi));
    if (existsSync('web/vendor')) assert.match(readFileSync(page, 'utf8'), /Differences to the control/);
    assert.match(run('promote', 'new'), /promoted/);
    assert.match(run('show'), /new \(abrd, promoted\)/);
    assert.match(run('rollback'), /rolled back/);
    assert.throws(() => run('promote', 'none'), /no arm 'none'/);
});

await test('the report of sessions with labels', async () => {
    const where = data();
    const d = await start('--data', where, '--trial', 'spring', '--trial-arms', 'old:0.5:player, new:0.5:abrd');
    const labels = i => ({ labels: { device: i % 4 ? 'tv' : 'phone', app: i % 2 ? 'web' : 'native' } });
    const opened = await sessions(d, 80, (i, { session }) => watch(d, session, 2, 0), labels);
    await ok(d, 'GET', `/v1/sessions/${opened.at(-1).session}`); // waits for the store
    const analysed = r => r.arms.reduce((n, a) => n + a.analysed, 0);
    const answer = await d.call('GET', '/v1/trial?label=device=tv');
    answerFits('GET', '/v1/trial', answer);
    assert.deepEqual([analysed(answer.json), answer.json.labels], [60, { device: 'tv' }]);
    assert.equal(analysed(await ok(d, 'GET', '/v1/trial?label=device%3Dtv,app=web')), 40);
    assert.equal(analysed(await ok(d, 'GET', '/v1/trial?label=device=watch')), 0);
    const whole = await report(d);
    assert.deepEqual([analysed(whole), whole.labels, whole.nodes], [80, undefined, 1]);
    const { text } = await d.call('GET', '/v1/trial?format=csv&label=device=phone,app=native');
    assert.match(text, /\r\nspring,new,all,startup,\d+,.*,device=phone;app=native\r\n/);
    for (const [label, says] of [['colour=red', /colour=red.*device, cdn/], ['device=smart%20tv', /device/],
        ['device=tv,device=tv', /given twice/], ['tv', /KEY=VALUE/]]) {
        const r = await d.call('GET', `/v1/trial?label=${label}`);
        assert.deepEqual([r.status, r.json.field], [400, 'label']);
        assert.match(r.json.detail, says);
    }
    const run = (...words) => execFileSync(ABRD, words, { encoding: 'utf8', stdio: 'pipe' });
    assert.match(run('trial', 'show', '--url', d.url, '--label', 'device=tv'), /sessions with device=tv, .*[\s\S]*analysed/);
    assert.throws(() => run('trial', 'show', '--url', d.url, '--label', 'colour=red'), /--label: 'colour=red'/);
    const used = run('eval', '--sessions', where, '--policy', 'rate', '--label', 'device=phone', '--least', '1');
    assert.match(used, /80 sessions, 20 used, 60 left out by the filters/);

    const token = join(data(), 'token');
    writeFileSync(token, '0123456789abcdef0123456789abcdef\n', { mode: 0o600 });
    const closed = await start('--trial', 'spring', '--trial-arms', ARMS, '--admin-token-file', token);
    assert.equal((await closed.call('GET', '/v1/trial?label=device=tv')).status, 401);
    const without = await closed.call('GET', '/v1/trial?label=device=tv', undefined,
        { Authorization: 'Bearer 0123456789abcdef0123456789abcdef' });
    assert.deepEqual([without.status, without.json.field], [409, 'label']); // nothing is stored
});

done();

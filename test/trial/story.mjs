// story.mjs - from a week of observing to a retrained policy, on a daemon with emulated viewers: observe, a
// trial, a guard rail, promotion, retraining, the next trial. `make story`; QUICK=1: a few seconds, as the
// tests run it. It prints the commands and what they said; web/docs/tutorial-trial.md is made of that.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { ABRD, Daemon, done, folder, test } from '../http/lib/daemon.mjs';

const QUICK = process.env.QUICK === '1';
const WEEK = QUICK ? 160 : 1500; // sessions of the observed week
const MOST = QUICK ? 700 : 4000; // of a trial
const LEAST = QUICK ? 0 : 2000; // the full story's trial goes on until then
const BATCH = QUICK ? 60 : 200;
const STEPS = QUICK ? 10000 : 400000; // of the retraining
const LADDER = [300, 750, 1200, 1850, 2850, 4300], CHUNK_S = 4, BUFFER_S = 24;

const data = mkdtempSync(join(folder, 'story-'));

/* ---- viewers ---- */

/** Equal seeds give equal numbers (mulberry32). */
function random(seed) {
    let a = seed >>> 0;
    const uniform = () => {
        a = (a + 0x6d2b79f5) >>> 0;
        let t = Math.imul(a ^ (a >>> 15), a | 1);
        t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
    const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
    return { uniform, normal };
}

/** What a player without the daemon does: the highest level below 0.9 of the last throughput. */
const ownRule = kbps => Math.max(0, LADDER.findLastIndex(r => r < 0.9 * kbps));

/** Asks again while a slow disk makes the store say 503, as players do, and if the daemon closed the
 * connection while a long command held this program. */
async function insist(d, ...call) {
    for (let i = 0; ; i++) {
        const r = await d.call(...call).catch(e => { if (i > 3) throw e; });
        if (r && (r.status !== 503 || i === 200)) return r;
        await new Promise(next => setTimeout(next, 50));
    }
}

/** One session of a viewer whose link wanders around a mean of its own. */
async function watch(d, i) {
    const r = random(1000 + i);
    const mean = Math.exp(7.9 + 0.6 * r.normal());
    const chunks = Math.round(Math.min(40, 6 + Math.exp(2 + 0.7 * r.normal())));
    const opened = await insist(d, 'POST', '/v1/sessions', { ladder_kbps: LADDER, chunk_s: CHUNK_S, chunks: 60,
        buffer_max_s: BUFFER_S, profile: i % 2 ? 'news' : 'standard', content_id: `film-${i % 3}`, viewer: `viewer ${i}` });
    assert.equal(opened.status, 201, opened.text);
    const { session, mode, arm } = opened.json;
    const own = mode === 'observe';
    let level = own ? 0 : opened.json.level, buffer_s = 0, wander = 0, last;
    for (let chunk = 0; chunk < chunks; chunk++) {
        if (chunk) {
            const a = await insist(d, 'POST', `/v1/sessions/${session}/decisions`, { chunk, buffer_s, last });
            assert.equal(a.status, 200, a.text);
            if (!own) level = a.json.level;
        }
        wander = 0.8 * wander + 0.35 * r.normal();
        const kbps = mean * Math.exp(wander);
        const bytes = Math.round(LADDER[level] * 125 * CHUNK_S * Math.exp(0.15 * r.normal()));
        const download_s = 0.08 + bytes * 0.008 / kbps;
        const rebuffer_s = Math.max(0, download_s - buffer_s);
        buffer_s = Math.min(BUFFER_S, Math.max(0, buffer_s - download_s) + CHUNK_S);
        last = { chunk, level, bytes, download_s, rebuffer_s };
        if (own) level = ownRule(bytes * 0.008 / download_s);
    }
    const end = await insist(d, 'DELETE', `/v1/sessions/${session}`);
    assert.equal(end.status, 204, end.text);
    return { arm, mode };
}

let viewers = 0;

/** n new viewers, eight at a time. */
async function watchAll(d, n) {
    const seen = [];
    const last = viewers + n;
    await Promise.all(Array.from({ length: 8 }, async () => {
        while (viewers < last) seen.push(await watch(d, viewers++));
    }));
    return seen;
}

/* ---- commands ---- */

const shown = text => text.replaceAll(data, 'DATA').replace(/http:\/\/127\.0\.0\.1:\d+/g, 'http://127.0.0.1:8080');

/** Runs a command of abrd, prints it with its output as a page would, and returns the output. */
function abrd(...args) {
    const text = execFileSync(ABRD, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
    console.log(`\n$ abrd ${shown(args.map(a => (/[\s:,]/.test(a) && !a.startsWith('http') ? `"${a}"` : a)).join(' '))}`);
    console.log(shown(text).trimEnd());
    return text;
}

/** The rows that a command gives as JSON. */
const rows = (...args) => JSON.parse(execFileSync(ABRD, [...args, '--json', '-', '--quiet'],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 26 })).rows;

const start = (...more) => new Daemon(['--port', '0', '--workers', '2', '--data', data, '--seed', '5',
    '--open-rate', '0', '--session-rate', '0', '--address-rate', '0', ...more]).ready;

const say = text => console.log(`\n## ${text}`);

/* ---- the story ---- */

await test('the story', async () => {
    say('Observe');
    let d = await start('--learn', 'observe');
    const week = await watchAll(d, WEEK);
    assert.ok(week.every(s => s.mode === 'observe'));
    await d.stop(); // which puts all of them into the store; the commands below read a running daemon's
    abrd('eval', '--sessions', data, '--policy', 'recorded,mpc,moe', '--quiet');
    const predicted = rows('eval', '--sessions', data, '--policy', 'recorded,moe');
    const [was, moe] = predicted.filter(r => r.n);
    assert.ok(was.n > 0.9 * WEEK, `${was.n} of ${WEEK} sessions are usable`);
    assert.ok(moe.diff_lo > 0, 'the shipped policy is predicted to be better than the player\'s own rules');
    const own = predicted.find(r => r.figure === 'qoe');
    assert.ok(own.predicted_lo > 0 && own.bias === null, 'no trial has run, so the bias is not known');

    say('Trial');
    d = await start('--learn', 'off');
    abrd('trial', 'start', 'spring', 'old:0.4:player,new:0.4:abrd,bad:0.2:fixed-5', '--sessions', '300',
        '--url', d.url);
    const report = async () => (await insist(d, 'GET', '/v1/trial')).json;
    let n = 0;
    for (; n < MOST && !(await report()).arms[2].stopped_by; n += BATCH) await watchAll(d, BATCH);
    const stopped = await report();
    assert.equal(stopped.arms[2].stopped_by, 'stall_ratio', 'the guard rail stops the bad arm');
    assert.equal(await d.metric('abrd_trial_stopped{arm="bad"}'), 1);
    console.log(`\nThe guard rail stopped the arm bad after ${stopped.arms[2].analysed} of its sessions.`);
    const told = r => r.arms[1].figures.find(f => f.figure === 'switches');
    for (; n < MOST && (n < LEAST || !(told(await report()).hi < 0)); n += BATCH) await watchAll(d, BATCH);
    const last = told(await report());
    assert.ok(last.hi < 0, `the arm new surely switches less: ${JSON.stringify(last)}`);
    const worse = (await report()).arms[1].figures.filter(f => (f.lower_is_better ? f.lo > 0 : f.hi < 0));
    // fewer stalls and switches may cost some points of quality, which the report shows
    assert.deepEqual(worse.map(f => f.figure).filter(f => f !== 'quality'), [], 'no other figure is surely worse');
    assert.equal(stopped.arms[1].stopped_by ?? null, null, 'and no guard rail stops it');

    say('The bias of replays');
    const shows = abrd('trial', 'show', '--data', data, '--url', d.url);
    assert.match(shows, /trial spring: differences to the control/);
    assert.match(shows, /stall_ratio +predicted .*, observed .*, bias /);
    const other = rows('eval', '--sessions', data, '--policy', 'recorded,mpc').filter(r => r.figure === 'qoe');
    const ran = other.find(r => r.arm === 'new'), not = other.find(r => r.policy === 'mpc');
    assert.ok(ran.bias_lo < ran.bias_hi, 'an arm that ran has a bias');
    assert.ok(Math.abs(ran.predicted - ran.observed - ran.bias) < 1e-9);
    assert.ok(not.predicted > 0 && not.observed === null && not.bias === null);
    abrd('eval', '--sessions', data, '--policy', 'recorded,mpc', '--quiet');

    say('Promote');
    abrd('trial', 'promote', 'new', '--url', d.url);
    const later = await watchAll(d, 20);
    assert.ok(later.every(s => s.mode !== 'observe'), 'all sessions are decided by the daemon');

    say('Retrain');
    const candidate = join(data, 'candidate.safetensors');
    // a training whose result is surely worse is refused: then the next seed
    for (let seed = 1; seed < 9 && !existsSync(candidate); seed++)
        abrd('retrain', '--data', data, '--steps', String(STEPS), '--enough', '100', '--seed', String(seed), '--quiet');
    assert.ok(existsSync(candidate), 'there is a candidate');
    const weights = await insist(d, 'GET', '/v1/policy');
    abrd('trial', 'rollback', '--url', d.url);
    abrd('trial', 'start', 'autumn', `now:0.5:abrd,next:0.5:abrd:${candidate}`, '--url', d.url);
    const after = await insist(d, 'GET', '/v1/policy');
    assert.equal(after.json?.version, weights.json?.version, 'the candidate is not in service');
    const next = await watchAll(d, 40);
    for (const arm of ['now', 'next'])
        assert.ok(next.filter(s => s.arm === arm && s.mode !== 'observe').length > 8, arm);
    const arms = (await report()).arms;
    assert.deepEqual(arms.map(a => a.name), ['now', 'next']);
    assert.ok(arms.every(a => a.analysed > 8));
    assert.ok(readFileSync(join(data, 'trial.state'), 'utf8').includes('autumn'));
    abrd('trial', 'show', '--url', d.url);
});
done();

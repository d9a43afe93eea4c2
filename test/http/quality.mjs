// Quality in viewers' units on the wire: named weights, ceilings of profiles, points of levels and chunks.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Daemon, done, folder, lasting, test } from './lib/daemon.mjs';
import { answerFits } from './lib/schema.mjs';

const VIDEO = { ladder_kbps: [300, 750, 1200, 1850, 2850, 4300], chunk_s: 4, chunks: 48 };
const LEVELS = [30, 60, 75, 84, 92, 99];
const data = join(folder, 'quality'), conf = join(folder, 'quality.conf');
writeFileSync(conf, 'ceilings = news:0.02:2\n');
const args = ['--data', data, '--config', conf, '--explore', '0', '--learn', 'off'];
let d = lasting(await Daemon.start(args));

const ok = async (status, method, path, body) => {
    const r = await d.call(method, path, body);
    assert.equal(r.status, status, r.text);
    return r.json;
};
const refused = async (method, path, body, field, words = '') => {
    const r = await d.call(method, path, body);
    assert.equal(r.status, 400, r.text);
    assert.equal(r.json.field, field, r.text);
    assert.ok(r.json.detail.includes(words), r.text);
};
const decision = (chunk, level, more) => ({
    chunk, buffer_s: 12, ...more,
    last: { chunk: chunk - 1, level, bytes: 600000, download_s: 1.5, rebuffer_s: 0 }
});

await test('profiles say what they mean, in points and with their ceilings', async () => {
    const { profiles, default: name } = await ok(200, 'GET', '/v1/profiles');
    assert.equal(name, 'standard');
    const by = Object.fromEntries(profiles.map(p => [p.name, p]));
    for (const p of profiles) assert.ok(p.means.includes('one second of stall is worth'), p.means);
    assert.deepEqual(by.standard.qoe.weights, { quality: 1, switches: 1, stalls: 1, startup: 1 });
    assert.ok(by.standard.means.startsWith('one second of stall is worth 34 points of one 4 s chunk'));
    assert.ok(by.live.help.length > 0);
    assert.deepEqual([by.standard.stall_ratio_max, by.standard.startup_max_s], [0.01, 3]);
    assert.deepEqual([by.news.stall_ratio_max, by.news.startup_max_s], [0.02, 2]);
    assert.deepEqual([by.pensieve.stall_ratio_max, by.pensieve.startup_max_s], [0, 0]);
    assert.deepEqual(by['paper-news'].qoe, { mu: [6, 1, 1], utility: 'linear' });
    assert.ok(by.pensieve.means.includes('4.3 Mbit/s'));
});

await test('named weights are those of the answer; mu is what it was', async () => {
    const own = { ...VIDEO, weights: { switches: 3 } };
    const opened = await d.call('POST', '/v1/sessions', own);
    assert.equal(answerFits('POST', '/v1/sessions', opened), '');
    const s = opened.json;
    assert.deepEqual(s.qoe.weights, { quality: 1, switches: 3, stalls: 1, startup: 1 });
    assert.equal(s.qoe.utility, 'points');
    assert.equal(s.profile, 'custom');
    const r = await ok(200, 'POST', '/v1/decide', { ...own, buffer_s: 0 });
    assert.deepEqual(r.qoe, s.qoe);
    const paper = await ok(201, 'POST', '/v1/sessions', { ...VIDEO, mu: [1, 2, 3], utility: 'log' });
    assert.deepEqual(paper.qoe, { mu: [1, 2, 3], utility: 'log' });
});

await test('what contradicts itself is refused by its field', async () => {
    const bodies = [
        [{ weights: { foo: 1 } }, 'weights.foo', 'quality, switches, stalls, startup'],
        [{ weights: { stalls: 101 } }, 'weights.stalls'],
        [{ weights: {}, mu: [1, 1, 1] }, 'weights', 'send weights or mu, not both'],
        [{ mu: [1, 1, 1], utility: 'points' }, 'utility', 'send weights']
    ];
    for (const [body, field, words] of bodies) {
        await refused('POST', '/v1/sessions', { ...VIDEO, ...body }, field, words);
        await refused('POST', '/v1/decide', { ...VIDEO, buffer_s: 0, ...body }, field, words);
        await refused('PUT', '/v1/profiles/mine', body, field, words);
    }
    await refused('POST', '/v1/sessions', { ...VIDEO, weights: {}, profile: 'news' }, 'weights');
    await refused('POST', '/v1/sessions', { ...VIDEO, quality: [1, 2] }, 'quality');
    await refused('POST', '/v1/sessions', { ...VIDEO, quality: [1, 2, 3, 4, 5, 101] }, 'quality[5]');
    await refused('POST', '/v1/sessions', { ...VIDEO, height: [8, 9, 10, 11, 12, 13] }, 'height[0]');
    await refused('PUT', '/v1/profiles/mine', { weights: {}, stall_ratio_max: 0.7 }, 'stall_ratio_max');
    await refused('PUT', '/v1/profiles/mine', {}, 'weights');
});

await test('a profile of the operator keeps its ceilings over a restart', async () => {
    const put = await ok(201, 'PUT', '/v1/profiles/mine', { weights: { startup: 2 }, startup_max_s: 1.5 });
    assert.deepEqual([put.stall_ratio_max, put.startup_max_s], [0.01, 1.5]);
    await d.stop();
    d = lasting(await Daemon.start([...args, '--stall-ratio-max', '0.05', '--startup-max-s', '9']));
    const again = await ok(200, 'GET', '/v1/profiles/mine');
    assert.deepEqual([again.stall_ratio_max, again.startup_max_s], [0.05, 1.5]);
    assert.deepEqual(again.qoe, put.qoe);
});

await test('quality: of the chunk, of the level, of the curve', async () => {
    const s = await ok(201, 'POST', '/v1/sessions', { ...VIDEO, quality: LEVELS });
    assert.deepEqual([s.quality, s.quality_from], [LEVELS[s.level], 'level']);
    const path = `/v1/sessions/${s.session}/decisions`;
    const next_quality = LEVELS.map(q => q - 0.25);
    const a = await ok(200, 'POST', path, decision(1, s.level, { next_quality }));
    assert.deepEqual([a.quality, a.quality_from], [LEVELS[a.level] - 0.25, 'chunk']);
    const b = await ok(200, 'POST', path, decision(2, a.level, { next_quality: LEVELS.map(() => null) }));
    assert.deepEqual([b.quality, b.quality_from], [LEVELS[b.level], 'level']);

    const rewarded = await ok(200, 'POST', `/v1/sessions/${s.session}/rewards`,
        { chunk: 2, level: 1, bytes: 600000, download_s: 2, rebuffer_s: 0 });
    const fall = Math.max(0, LEVELS[a.level] - 0.25 - LEVELS[1]);
    assert.ok(Math.abs(rewarded.reward - (0.8469 * LEVELS[1] - 1.061 * fall)) < 1e-9, `${rewarded.reward}`);

    const curve = await ok(201, 'POST', '/v1/sessions', VIDEO);
    assert.equal(curve.quality_from, 'curve');
    assert.ok(curve.quality >= 5 && curve.quality <= 100);

    const { qoe, level, quality, quality_from } = await ok(200, 'POST', '/v1/decide',
        { ...VIDEO, buffer_s: 0, quality: LEVELS, next_quality });
    assert.deepEqual([quality, quality_from], [LEVELS[level] - 0.25, 'chunk']);
    assert.equal(qoe.utility, 'points');
});

await test('a repeat after kill -9 is the same answer, and the history has the quality', async () => {
    const s = await ok(201, 'POST', '/v1/sessions', { ...VIDEO, quality: LEVELS, next_quality: [1, 2, 3, 4, 5.55, null] });
    const path = `/v1/sessions/${s.session}`;
    const question = decision(1, s.level, { next_quality: [10.01, 20, 30, 40, 50, 60.5] });
    const a = await ok(200, 'POST', `${path}/decisions`, question);
    const history = await ok(200, 'GET', path); // waits for the store
    assert.deepEqual(history.quality, LEVELS);
    assert.equal(history.quality_from, 'level');
    assert.deepEqual(history.steps.map(x => x.quality), [s.quality, a.quality]);
    await d.kill('SIGKILL');
    d = lasting(await Daemon.start(args));
    assert.deepEqual(await ok(200, 'POST', `${path}/decisions`, question), a);
    assert.deepEqual((await ok(200, 'GET', path)).steps, history.steps);
    const csv = (await d.call('GET', `${path}?format=csv`)).text.trim().split('\r\n').map(l => l.split(','));
    const column = csv[0].indexOf('quality');
    assert.ok(column > 0);
    assert.deepEqual(csv.slice(1).map(l => Number(l[column])), [s.quality, a.quality]);
    // the reward is of what the decision saw, also after the restart
    const r = await ok(200, 'POST', `${path}/rewards`, { chunk: 1, level: a.level, bytes: 1, download_s: 1, rebuffer_s: 0 });
    const fall = Math.max(0, s.quality - a.quality);
    assert.ok(Math.abs(r.reward - (0.8469 * a.quality - 1.061 * fall)) < 1e-9, `${r.reward}`);
});

await d.stop();
done();

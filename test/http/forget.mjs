// abrd forget and DELETE /v1/sessions: a viewer's sessions leave the data folder, and the others stay.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { ABRD, Daemon, done, folder, test } from './lib/daemon.mjs';
import { answerFits } from './lib/schema.mjs';

const run = promisify(execFile);
const video = { ladder_kbps: [300, 750, 1200], chunk_s: 4, chunks: 100, profile: 'news' };
const data = mkdtempSync(join(folder, 'forget-'));
const start = () => Daemon.start(['--data', data, '--learn', 'off', '--open-rate', '0', '--session-rate', '0',
    '--address-rate', '0', '--trial', 'spring', '--trial-arms', 'old:0.5:player, new:0.5:abrd']);
const forget = async (...args) => JSON.parse(
    (await run(ABRD, ['forget', '--data', data, ...args, '--json', '-'])).stdout).rows[0];

async function ok(d, method, path, body, status = 200) {
    const r = await d.call(method, path, body);
    assert.equal(r.status, status, r.text);
    return r.json;
}

/** Whether any file of the folder has the bytes. */
const found = bytes => readdirSync(data).filter(f => readFileSync(join(data, f)).includes(bytes));

await test('a forgotten viewer is in no file, another one is as before', async () => {
    let d = await start();
    const sessions = { anna: [], bob: [] };
    for (let i = 0; i < 40; i++) {
        const viewer = i % 2 ? 'anna' : 'bob';
        const { session } = await ok(d, 'POST', '/v1/sessions',
            { ...video, viewer, content_id: `film-of-${viewer}`, labels: { tenant: `home-of-${viewer}` } }, 201);
        sessions[viewer].push(session);
        for (let chunk = 1; chunk < 6; chunk++) {
            const last = { chunk: chunk - 1, level: 1, bytes: 300000, download_s: 1, rebuffer_s: 0 };
            await ok(d, 'POST', `/v1/sessions/${session}/decisions`, { chunk, buffer_s: 8, last });
        }
        if (i % 4) await ok(d, 'DELETE', `/v1/sessions/${session}`, undefined, 204);
    }
    const before = await ok(d, 'GET', `/v1/sessions/${sessions.bob[0]}`); // waits for the store
    await assert.rejects(forget('--viewer', 'anna'), /in use by another abrd/);
    await d.kill('SIGKILL');

    const traces = [...sessions.anna.map(id => Buffer.from(id, 'hex')), 'film-of-anna', 'home-of-anna'];
    for (const trace of traces) assert.notDeepEqual(found(trace), []);
    assert.deepEqual(found('anna').filter(f => !f.startsWith('abrd.db')), []); // the name itself is in no file
    const dry = await forget('--viewer', 'anna', '--dry-run');
    assert.deepEqual([dry.sessions, dry.steps], [20, 120]);
    for (const trace of traces) assert.notDeepEqual(found(trace), []);
    assert.deepEqual(await forget('--viewer', 'anna'), dry);
    for (const trace of traces) assert.deepEqual(found(trace), []);

    d = await start();
    for (const id of sessions.anna) await ok(d, 'GET', `/v1/sessions/${id}`, undefined, 404);
    assert.deepEqual(await ok(d, 'GET', `/v1/sessions/${sessions.bob[0]}`), before);
    const { arms } = await ok(d, 'GET', '/v1/trial');
    assert.equal(arms.reduce((n, a) => n + a.assigned, 0), 20);
});

await test('what is not said clearly deletes nothing', async () => {
    for (const [args, why] of [
        [[], /give session, viewer, before or a label/],
        [['--session', '12'], /32 hex digits/],
        [['--before', 'yesterday'], /not a time/],
        [['--label', 'colour=red'], /KEY=VALUE/],
        [['--viewer', ''], /1 to 128 bytes/],
    ]) await assert.rejects(forget(...args), why);
});

await test('a daemon that runs deletes sessions while others play', async () => {
    const where = mkdtempSync(join(folder, 'forget-'));
    const args = ['--data', where, '--learn', 'off', '--open-rate', '0', '--session-rate', '0', '--address-rate', '0',
        '--trial', 'spring', '--trial-arms', 'old:0.5:player, new:0.5:abrd'];
    let d = await Daemon.start(args);
    const has = bytes => readdirSync(where).some(f => readFileSync(join(where, f)).includes(bytes));
    const open = async viewer => (await ok(d, 'POST', '/v1/sessions',
        { ...video, viewer, content_id: `film-of-${viewer}`, labels: { tenant: `home-of-${viewer}`, device: 'tv' } }, 201)).session;
    const say = (session, chunk) => d.call('POST', `/v1/sessions/${session}/decisions`,
        { chunk, buffer_s: 8, last: { chunk: chunk - 1, level: 1, bytes: 300000, download_s: 1, rebuffer_s: 0 } });
    /** Plays until the daemon does not know the session any more, or `n` chunks. */
    const play = async (session, n) => {
        for (let chunk = 1; chunk < n;) {
            const { status } = await say(session, chunk);
            if (status === 404) return 'gone';
            assert.ok(status === 200 || status === 503, `${status}`);
            chunk += status === 200;
        }
        return 'played';
    };
    const forget = body => ok(d, 'DELETE', '/v1/sessions', body);
    const ids = { anna: [], bob: [] };
    for (let i = 0; i < 20; i++) {
        const viewer = i % 2 ? 'anna' : 'bob', session = await open(viewer);
        ids[viewer].push(session);
        await play(session, 4);
        if (i % 4 > 1) await ok(d, 'DELETE', `/v1/sessions/${session}`, undefined, 204);
    }
    await ok(d, 'GET', `/v1/sessions/${ids.bob[0]}`); // waits for the store
    const traces = [...ids.anna.map(id => Buffer.from(id, 'hex')), 'film-of-anna', 'home-of-anna'];
    for (const trace of traces) assert.ok(has(trace));

    const dry = await forget({ viewer: 'anna', dry_run: true });
    assert.deepEqual([dry.sessions, dry.live, dry.steps, dry.dry_run], [10, 5, 40, true]);
    assert.ok(has(traces[0]));
    // sessions that run are deleted while their players ask
    const playing = [...ids.anna, ...ids.bob].map(id => play(id, 60));
    const answer = await d.call('DELETE', '/v1/sessions', { viewer: 'anna' });
    answerFits('DELETE', '/v1/sessions', answer);
    assert.equal(answer.json.sessions, 10, answer.text);
    const ended = await Promise.all(playing);
    assert.deepEqual(ended.slice(0, 10), Array(10).fill('gone'));
    assert.equal(ended.slice(10).filter(e => e === 'played').length, 5); // the others were closed before
    for (const id of ids.anna) await ok(d, 'GET', `/v1/sessions/${id}`, undefined, 404);
    for (const trace of traces) assert.equal(has(trace), false);
    // nothing is left to delete, and the counts of the trial have them until the daemon starts again
    assert.equal((await forget({ viewer: 'anna' })).sessions, 0);
    const assigned = async () => (await ok(d, 'GET', '/v1/trial')).arms.reduce((n, a) => n + a.assigned, 0);
    assert.equal(await assigned(), 20);

    // by id, by label, by time
    assert.equal((await forget({ session: ids.bob[0] })).sessions, 1);
    const carl = await open('carl');
    assert.equal((await forget({ labels: { tenant: 'home-of-carl', device: 'tv' } })).sessions, 1);
    await ok(d, 'GET', `/v1/sessions/${carl}`, undefined, 404);
    assert.equal((await forget({ labels: { tenant: 'home-of-carl' } })).sessions, 0);
    const { stdout } = await run(ABRD, ['forget', '--url', d.url, '--session', ids.bob[1], '--json', '-']);
    assert.equal(JSON.parse(stdout).rows[0].sessions, 1);
    assert.equal((await forget({ before: '2020-01-01' })).sessions, 0);
    for (const [body, field] of [[{}, ''], [{ viewer: '' }, 'viewer'], [{ labels: { colour: 'red' } }, 'labels.colour'],
        [{ labels: { device: 'smart tv' } }, 'labels.device'], [{ session: '12' }, 'session'], [{ before: 'soon' }, 'before']]) {
        const r = await d.call('DELETE', '/v1/sessions', body);
        assert.deepEqual([r.status, r.json.field ?? ''], [400, field], r.text);
    }
    await d.kill('SIGKILL');
    d = await Daemon.start(args);
    assert.equal(await assigned(), 8);
    await ok(d, 'GET', `/v1/sessions/${ids.bob[2]}`);
});

await test('without a store, and without the token', async () => {
    const token = join(folder, 'forget-token');
    writeFileSync(token, '0123456789abcdef0123456789abcdef\n', { mode: 0o600 });
    const d = await Daemon.start(['--learn', 'off', '--admin-token-file', token]);
    const { session } = await ok(d, 'POST', '/v1/sessions', { ...video, viewer: 'anna' }, 201);
    assert.equal((await d.call('DELETE', '/v1/sessions', { viewer: 'anna' })).status, 401);
    const allowed = { Authorization: 'Bearer 0123456789abcdef0123456789abcdef' };
    const dry = await d.call('DELETE', '/v1/sessions', { viewer: 'anna', dry_run: true }, allowed);
    assert.deepEqual([dry.status, dry.json.sessions, dry.json.live], [200, 1, 1]);
    assert.equal((await d.call('DELETE', '/v1/sessions', { viewer: 'anna' }, allowed)).json.sessions, 1);
    await ok(d, 'GET', `/v1/sessions/${session}`, undefined, 404);
});

done();

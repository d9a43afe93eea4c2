// abrd forget: a viewer's sessions leave the data folder of a daemon that was killed, and the others stay.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { ABRD, Daemon, done, folder, test } from './lib/daemon.mjs';

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
        [[], /--session, --viewer, --before or --label/],
        [['--session', '12'], /32 hex digits/],
        [['--before', 'yesterday'], /not a time/],
        [['--label', 'colour=red'], /KEY=VALUE/],
        [['--viewer', ''], /1 to 128 bytes/],
    ]) await assert.rejects(forget(...args), why);
});

done();

// `abrd backup` beside a daemon that answers: what was acknowledged before it is in it, and a daemon
// that is started on it goes on where the other one was.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ABRD, Daemon, PUBLISH_ALL, done, folder, test, until } from './lib/daemon.mjs';
import { crowd, missing } from './lib/viewers.mjs';

const run = promisify(execFile);
const data = join(folder, 'data'), to = join(folder, 'copy');

const start = dir => Daemon.start(['--data', dir, '--explore', '1', '--batch', '64', '--checkpoint', '1',
    ...PUBLISH_ALL, '--open-rate', '0', '--session-rate', '0', '--address-rate', '0']);
const d = await start(data);
const players = crowd(d, 8);
let report, began;

await test('a copy is made while viewers play and weights are learned', async () => {
    assert.equal((await d.call('PUT', '/v1/profiles/cycling', { mu: [3, 1, 3], grow: true })).status, 201);
    await until('a checkpoint', () => existsSync(join(data, 'policy.safetensors')));
    await until('sessions', () => players.all.filter(v => v.closed).length >= 10);
    began = Date.now();
    // it waits until what was acknowledged is stored
    assert.equal((await d.call('GET', `/v1/sessions/${players.all[0].id}`)).status, 200);
    const { stdout } = await run(ABRD, ['backup', data, to, '--quiet', '--json', '-']);
    [report] = JSON.parse(stdout).rows;
    assert.ok(report.sessions >= 10 && report.steps >= 100 && report.files >= 4, stdout);
    assert.deepEqual(readdirSync(to).filter(f => !f.endsWith('.prev')).sort(),
        ['abrd.db', 'grown-cycling.safetensors', 'policy.safetensors', 'secret', 'untagged.state']);
    assert.equal(statSync(to).mode & 0o777, 0o700);
    await assert.rejects(run(ABRD, ['backup', data, to]), /exists and cannot be replaced/);
});

await test('viewers did not notice, and the copy is of that moment', async () => {
    const before = players.all.length;
    await until('more sessions', () => players.all.length > before + 8);
    await players.stop(); // every one was answered, or this throws
    await d.kill('SIGKILL'); // the machine is gone
});

const version = async daemon => (await daemon.call('GET', '/v1/policy')).json.version;
const restored = await start(to);

await test('nothing that was acknowledged before it is missing', async () => {
    const { asked, lost } = await missing(restored, players.all, began);
    assert.ok(asked >= 10, `${asked} rewards`);
    assert.equal(lost, 0, `of ${asked}`);
    console.log(`${asked} rewards acknowledged before the backup, ${lost} missing`);
});

await test('sessions go on: a question that was answered has the same answer, the next one is answered', async () => {
    let same = 0, next = 0;
    for (const v of players.all.filter(v => !v.closed)) {
        const s = (await restored.call('GET', `/v1/sessions/${v.id}`)).json;
        if (!s || s.error || s.closed) continue;
        const newest = s.steps.at(-1).chunk, told = v.told.find(t => t.question.chunk === newest);
        if (!told) continue;
        const again = await restored.call('POST', `/v1/sessions/${v.id}/decisions`, told.question);
        assert.equal(again.status, 200, again.text);
        assert.equal(again.text, told.answer);
        same++;
        const level = again.json.level, chunk = newest;
        if (chunk + 1 === s.chunks) continue; // that was the last one
        const more = await restored.call('POST', `/v1/sessions/${v.id}/decisions`, { chunk: chunk + 1,
            buffer_s: 9, last: { chunk, level, bytes: 300000, download_s: 1, rebuffer_s: 0 } });
        assert.equal(more.status, 200, more.text);
        next++;
    }
    assert.ok(same > 0 && next > 0, 'no session was open');
});

await test('profiles, grown ones too, and what was learned', async () => {
    const cycling = await restored.call('GET', '/v1/profiles/cycling');
    assert.equal(cycling.json?.grow, true, cycling.text);
    assert.ok(await version(restored) > 1);
    assert.match(restored.output, /profile cycling has its experts again/);
});

await test('what is no data folder is none', async () => {
    await assert.rejects(run(ABRD, ['backup', folder, join(folder, 'x')]), /is it a data folder/);
    assert.equal(existsSync(join(folder, 'x')), false);
    const { stdout } = await run(ABRD, ['doctor', '--data', to, '--port', '0', '--json', '-']);
    const store = JSON.parse(stdout).rows.find(r => r.check === 'store');
    assert.equal(store.verdict, 'ok', store.detail);
});

assert.equal((await restored.stop()).code, 0);
done();

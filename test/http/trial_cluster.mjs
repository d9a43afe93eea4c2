// One trial on two nodes and a learner around a NATS server: arms, assignments, counts and stopped arms are
// common, also after kill -9 and without the bus.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { ABRD, Daemon, done, folder, lasting, test, until } from './lib/daemon.mjs';
import { Nats } from './lib/nats.mjs';
import { freePort, untilStored } from './lib/tools.mjs';

const video = { ladder_kbps: [300, 750, 1200, 1850, 2850, 4300], chunk_s: 4, chunks: 100, profile: 'news' };
const ARMS = 'now:0.5:abrd, bad:0.5:rate';
const nats = await new Nats(await freePort()).start();
const start = (role, name, ...more) => Daemon.start(['--role', role, '--bus', nats.url, '--node', name,
    '--data', join(folder, name), '--open-rate', '0', '--session-rate', '0', '--address-rate', '0', ...more]);

/** Asks until the store or the bus takes it: a disk that stalls for half a second is the machine's (503). */
async function ok(d, method, path, body, status = 200) {
    const r = await untilStored(() => d.call(method, path, body));
    assert.ok([status].flat().includes(r.status), `${r.status} ${r.text}`);
    return r.json;
}
const report = d => ok(d, 'GET', '/v1/trial', undefined, [200, 404]);
const open = (d, more = {}) => ok(d, 'POST', '/v1/sessions', { ...video, ...more }, 201);

/** A session of a viewer from begin to end; every chunk after the first stalls. */
async function watch(d, viewer, stall = () => 0) {
    const opened = await open(d, { viewer });
    for (let chunk = 1; chunk < 4; chunk++) {
        const last = { chunk: chunk - 1, level: 2, bytes: 600000, download_s: 1, rebuffer_s: chunk > 1 ? stall(opened.arm) : 1 };
        await ok(d, 'POST', `/v1/sessions/${opened.session}/decisions`, { chunk, buffer_s: 8, last });
    }
    await ok(d, 'DELETE', `/v1/sessions/${opened.session}`, undefined, 204);
    return opened;
}

const counts = r => r.arms?.map(a => [a.name, a.assigned, a.again, a.running, a.empty, a.analysed,
    a.stopped_by, ...a.figures.map(f => [f.sessions, f.mean])]);
const analysed = r => (r.arms || []).reduce((n, a) => n + a.analysed, 0);

const learner = await start('learn', 'l1');
const nodes = [await start('decide', 'n1'), await start('decide', 'n2')];
const all = [...nodes, learner];
const allSee = (what, is) => until(`${what} on all`, async () =>
    (await Promise.all(all.map(report))).every(r => is(r)));

await test('a trial that begins on one runs on all', async () => {
    await until('the learner to lead', async () => (await learner.call('GET', '/readyz')).json.bus.leading);
    await ok(nodes[1], 'PUT', '/v1/trial', { name: 'spring', arms: ARMS, sessions: 300 }, [201, 200]);
    assert.equal((await report(nodes[1])).phase, 'runs');
    await allSee('the trial', r => r.name === 'spring' && r.phase === 'runs');
    // the same again is no other trial, other arms of this name are
    await ok(learner, 'PUT', '/v1/trial', { name: 'spring', arms: ARMS, sessions: 300 });
    await ok(nodes[0], 'PUT', '/v1/trial', { name: 'spring', arms: 'a:0.5:abrd, b:0.5:hyb' }, 409);
});

const arm = new Map();

await test('a viewer has one arm on every node, counts once, and every node has the sum', async () => {
    for (let i = 0; i < 40; i++) arm.set(`viewer ${i}`, (await watch(nodes[i % 2], `viewer ${i}`)).arm);
    assert.equal(new Set(arm.values()).size, 2);
    await allSee('40 sessions', r => analysed(r) === 40 && r.nodes >= 2);
    for (const viewer of arm.keys()) // at the other node
        assert.equal((await watch(nodes[1 - [...arm.keys()].indexOf(viewer) % 2], viewer)).arm, arm.get(viewer));
    await allSee('their second sessions', r => r.arms.reduce((n, a) => n + a.again, 0) === 40);
    const [one, ...others] = await Promise.all(all.map(report));
    assert.equal(analysed(one), 40);
    for (const other of others) assert.deepEqual(counts(other), counts(one));
    const text = d => execFileSync(ABRD, ['trial', 'show', '--url', d.url, '--csv', '-'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    assert.equal(text(learner), text(nodes[0]));
});

await test('kill -9 of a node, and one without a bus: assignments and counts stay', async () => {
    const before = counts(await report(nodes[0]));
    await nodes[1].kill('SIGKILL');
    assert.deepEqual(counts(await report(nodes[0])), before);
    await nats.kill();
    nodes[1] = all[1] = lasting(await start('decide', 'n2')); // there is no bus
    for (const viewer of [...arm.keys()].slice(0, 8)) assert.equal((await open(nodes[1], { viewer })).arm, arm.get(viewer));
    await nats.start();
    await until('the sum on the node that came back', async () => analysed(await report(nodes[1])) === 40);
});

await test('an arm that is stopped on one is stopped on all, by the sessions of all', async () => {
    let n = 0;
    const stopped = async d => (await report(d)).arms[1].stopped_by;
    for (; n < 1600 && !await stopped(nodes[0]); n += 16)
        await Promise.all(Array.from({ length: 16 }, (_, i) =>
            watch(nodes[i % 2], `guard ${n + i}`, a => (a === 'bad' ? .4 : 0))));
    assert.equal(await stopped(nodes[0]), 'stall_ratio');
    await allSee('the stop', r => r.arms[1].stopped_by === 'stall_ratio');
    assert.equal(await nodes[1].metric('abrd_trial_stops_total'), 1);
    const later = [];
    for (let i = 0; i < 20; i++) later.push(await open(nodes[1], { viewer: `later ${i}` }));
    assert.ok(later.every(s => s.by === 'router'), 'its sessions are decided as the control');
});

await test('promotion and rollback are those of all; a name is used once', async () => {
    await ok(learner, 'POST', '/v1/trial/promote', { arm: 'bad' });
    await allSee('the promotion', r => r.phase === 'promoted');
    await ok(nodes[1], 'POST', '/v1/trial/rollback', {});
    await allSee('the end', r => r.phase === 'ended');
    await ok(nodes[0], 'PUT', '/v1/trial', { name: 'summer', arms: ARMS }, [201, 200]);
    await allSee('the next trial', r => r.name === 'summer' && analysed(r) === 0);
    await ok(nodes[1], 'PUT', '/v1/trial', { name: 'spring', arms: ARMS, sessions: 300 }, 409);
});

done();

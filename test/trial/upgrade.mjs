// upgrade.mjs - from an older program to this one and back: OLD_ABRD on one machine, PEER_ABRD in a
// cluster, process by process while viewers play. upgrade.sh builds the two; deploy/README.md has the steps.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { ABRD, Daemon, done, folder, lasting, policy, test, until } from '../http/lib/daemon.mjs';
import { Nats } from '../http/lib/nats.mjs';
import { freePort } from '../http/lib/tools.mjs';
import { Viewer, crowd, missing } from '../http/lib/viewers.mjs';

const { OLD_ABRD, PEER_ABRD } = process.env;
const NOW = Infinity, WINDOW_MS = 1500; // as in test/http/backup.mjs
const limits = ['--open-rate', '0', '--session-rate', '0', '--address-rate', '0'];
const run = (program, ...args) => execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
console.log(`from ${run(OLD_ABRD, 'version').trim()} and ${run(PEER_ABRD, 'version').trim()} to ${run(ABRD, 'version').trim()}`);

// ---- one machine

const data = join(folder, 'data'), backup = join(folder, 'backup');
const start = (program, dir) => Daemon.start(['--data', dir, '--explore', '1', '--batch', '64',
    '--checkpoint', '1', ...limits], program).then(lasting);
const version = async d => (await d.call('GET', '/v1/policy')).json.version;
const live = players => players.filter(v => !v.closed && v.told.length && v.chunk < 18);
/** Asks once more what was answered, and then goes on. */
async function goOn(d, players) {
    for (const v of players) {
        const last = v.told.at(-1);
        const again = await d.call('POST', `/v1/sessions/${v.id}/decisions`, last.question);
        assert.equal(again.status, 200, again.text);
        assert.equal(JSON.parse(again.text).level, JSON.parse(last.answer).level);
        await v.ask(d);
    }
    assert.ok(players.length > 0, 'no session is open');
    return players.length;
}
const digest = path => createHash('sha256').update(readFileSync(path)).digest('hex');

let d = await start(OLD_ABRD, data), began, players, learned;

await test('a backup of the old daemon by the new program, while it answers', async () => {
    const c = crowd(d, 6);
    await until('a checkpoint and sessions', () => existsSync(join(data, 'policy.safetensors')) &&
        c.all.filter(v => v.closed).length >= 8 && c.all[0].acknowledged[0].at < Date.now() - 3 * WINDOW_MS);
    began = Date.now();
    run(ABRD, 'backup', data, backup, '--quiet');
    await until('more of them', () => c.all.length > 24);
    players = await c.stop();
    learned = await version(d);
    assert.equal((await d.stop()).code, 0);
});

await test('the new program on the old folder: all is there, sessions go on, versions do not go back', async () => {
    d = await start(ABRD, data);
    assert.ok(d.url, d.output);
    const { asked, lost } = await missing(d, players, NOW);
    assert.equal(lost, 0, `of ${asked}`);
    const went = await goOn(d, live(players).slice(0, 5));
    assert.ok(await version(d) >= learned);
    console.log(`upgrade: ${asked} rewards, ${lost} missing; ${went} sessions went on; version ${learned} -> ${await version(d)}`);
    assert.equal((await d.stop()).code, 0);
});

await test('the old program refuses what the new one has written, in words, and leaves it alone', async () => {
    const before = digest(join(data, 'abrd.db'));
    const refused = new Daemon(['--port', '0', '--policy', policy(), '--data', data], OLD_ABRD);
    assert.notEqual((await refused.exited).code, 0);
    assert.match(refused.output, /has schema \d+, this program knows \d+/);
    console.log(`the old program says: ${/[^\n]*has schema[^\n]*/.exec(refused.output)[0].replaceAll(folder, '')}`);
    assert.equal(digest(join(data, 'abrd.db')), before);
});

await test('the way back is the backup', async () => {
    d = await start(OLD_ABRD, backup);
    assert.ok(d.url, d.output);
    const { asked, lost } = await missing(d, players, began - WINDOW_MS);
    assert.ok(asked > 50, `${asked} rewards`);
    assert.equal(lost, 0, `of ${asked}`);
    const v = await Viewer.open(d, 999);
    await v.ask(d);
    console.log(`back: ${asked} rewards of before the backup, ${lost} missing`);
    assert.equal((await d.stop()).code, 0);
});

// ---- a cluster: learners first, then nodes, and the way back

const nats = await new Nats(await freePort()).start();
const before = name => join(folder, `${name}-before`); // its backup
const node = (program, role, name, more = [], data = join(folder, name)) => Daemon.start(
    ['--role', role, '--bus', nats.url, '--node', name,
    '--data', data, '--explore', '1', '--batch', '32', ...limits, ...more], program).then(lasting);
const names = { l1: 'learn', l2: 'learn', n1: 'decide', n2: 'decide' };
const all = {};
for (const [name, role] of Object.entries(names)) {
    all[name] = await node(PEER_ABRD, role, name);
    if (!all[name].url) throw new Error(all[name].output);
}
const metric = async (who, name) =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec((await who.call('GET', '/metrics')).text)?.[1]);
const leader = async () => {
    for (const name of ['l1', 'l2']) {
        const l = all[name];
        if (l.running !== false && (await l.call('GET', '/readyz')).json.bus.leading) return l;
    }
    return null;
};
let played = 0, key = 1;
async function play(n) {
    for (let i = 0; i < n; i++) for (const name of ['n1', 'n2']) {
        if (all[name].running === false) continue;
        const v = await Viewer.open(all[name], key++);
        for (let k = 0; k < 6; k++) await v.ask(all[name]);
        await v.close(all[name]);
        played++;
    }
}
const counted = () => until(`${played} trajectories to be counted`, async () => {
    const l = await leader();
    return l && await metric(l, 'abrd_ledger_counted_total') === played;
});
async function replace(name, program) {
    const old = all[name];
    old.running = false;
    const ended = old.stop();
    await play(1); // the others go on
    assert.equal((await ended).code, 0);
    all[name] = await node(program, names[name], name);
    assert.ok(all[name].url, all[name].output);
    await until('a leader', leader);
    await play(2);
    await counted();
}
const inStep = async () => {
    const l = await leader();
    await until('the same weights everywhere', async () => {
        const want = await version(l);
        return (await version(all.n1)) === want && (await version(all.n2)) === want;
    });
    for (const name of ['n1', 'n2']) assert.equal(await metric(all[name], 'abrd_weights_refused_total'), 0);
    return l;
};

await test('the learner that stands by, the one that learns, then the nodes', async () => {
    await until('a leader', leader);
    await play(4);
    await counted();
    for (const name of Object.keys(names)) run(ABRD, 'backup', join(folder, name), before(name), '--quiet');
    const leads = await leader() === all.l1 ? 'l1' : 'l2', stands = leads === 'l1' ? 'l2' : 'l1';
    for (const name of [stands, leads, 'n1', 'n2']) await replace(name, ABRD);
    assert.equal(await metric(await inStep(), 'abrd_ledger_missing'), 0);
    console.log(`rolling upgrade: ${played} trajectories played, all learned once`);
});

await test('and back, with the backups: an older learner does not go on from newer weights; with another bus name it begins with its own', async () => {
    const stop = async name => { all[name].running = false; assert.equal((await all[name].stop()).code, 0); };
    await stop('l1');
    await stop('l2');
    const l = await node(PEER_ABRD, 'learn', 'l1', [], before('l1'));
    const said = await until('the old learner to lead, or to say why it does not', async () =>
        /newer|form/.exec(l.output)?.[0] ?? ((await l.call('GET', '/readyz')).json.bus.leading && 'leads'));
    console.log(`the old learner on the new board: ${/[^\n]*(newer|form)[^\n]*/.exec(l.output)?.[0] ?? said}`);
    assert.equal((await l.stop()).code, 0);

    const again = ['--bus-name', 'back'];
    for (const name of ['l1', 'l2']) all[name] = await node(PEER_ABRD, 'learn', name, again, before(name));
    await until('a leader', leader);
    const began = await version(await leader());
    const since = played;
    for (const name of ['n1', 'n2']) {
        await stop(name);
        await play(1); // the other goes on
        all[name] = await node(PEER_ABRD, 'decide', name, again, before(name));
        assert.ok(all[name].url, all[name].output);
    }
    await play(8);
    // what a node still kept is sent once more
    await until('what was played since to be learned', async () =>
        await metric(await leader(), 'abrd_ledger_counted_total') >= played - since - 1);
    await inStep(); // its ledger misses the numbers that the other bus had
    assert.ok(await version(all.n1) > began, `${await version(all.n1)} after ${began}`);
    console.log(`back: ${played - since} trajectories played since, version ${began} -> ${await version(all.n1)}`);
});

for (const name of Object.keys(all)) assert.equal((await all[name].stop()).code, 0);
await nats.kill();
done();

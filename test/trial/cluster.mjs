// cluster.mjs - three NATS servers, three nodes that decide, two learners, HAProxy and viewers, each
// in a network namespace of its own; then everything that can go wrong does. `make cluster` runs it
// (root; packages nats-server, haproxy, iproute2), some ten minutes:
//   KILLS=50 PARTITION_S=60 FULL_S=40 DOWN_S=120 RATE=100 VIEWERS=60 SEED=1 SPARE_NATS=0
// On a disk that stalls for half a second nodes rightly answer 503; TMPDIR=/dev/shm takes it out.
//
// Counted twice and lost is judged from outside: what the nodes' stores say was played, by the rules
// of track.h written a second time (cluster_viewers.mjs: taught), against what the learner learned.
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Host, networkUp } from './cluster_net.mjs';
import { Viewers, call, taught } from './cluster_viewers.mjs';
import { random, until as waitFor } from '../http/lib/tools.mjs';

const env = (name, fallback) => Number(process.env[name] || fallback);
const KILLS = env('KILLS', 50), PARTITION_S = env('PARTITION_S', 60), DOWN_S = env('DOWN_S', 120);
const FULL_S = env('FULL_S', 40); // without a learner, and on until the stream is full, four times as long at most
const RATE = env('RATE', 100), VIEWERS = env('VIEWERS', 60), SEED = env('SEED', 1);
const SPARE_NATS = env('SPARE_NATS', 0); // 1: its servers are not killed one by one
const CPU_S = env('CPU_S', 20), TTL_S = 20, PORT = 8080, BATCH = 2048;
const out = 'build/trial', dir = mkdtempSync(join(tmpdir(), 'abrd-cluster-'));
mkdirSync(out, { recursive: true });

const sleep = s => new Promise(r => setTimeout(r, 1000 * s));
const draw = random(SEED);
const pick = list => list[Math.floor(draw() * list.length)];
const agent = new http.Agent({ keepAlive: false });
let failures = 0;
const sessions = []; // ids of all viewers so far
const rows = [];

function row(what, value, goal, ok) {
    if (ok === false) failures++;
    rows.push({ what, value, goal, ok });
    console.log(`${ok === false ? 'SHORT ' : ''}${what}: ${value}${goal ? ` (goal: ${goal})` : ''}`);
}

const until = (what, seconds, condition) => waitFor(what, condition, seconds);

const get = async (h, path) => {
    try { return await call(agent, h.ip, PORT, 'GET', path); } catch { return { status: 0, text: '' }; }
};
const ready = async h => {
    const r = await get(h, '/readyz');
    return r.status === 200 ? JSON.parse(r.text) : null;
};
const metrics = async h => Object.fromEntries((await get(h, '/metrics')).text.split('\n')
    .filter(l => /^abrd_[a-z_]+ /.test(l)).map(l => l.split(' ')).map(([k, v]) => [k, Number(v)]));

/* ---- the machines ---- */

networkUp();
// behind the end of all that writes there
process.on('exit', () => rmSync(dir, { recursive: true, force: true, maxRetries: 20 }));
const nats = [1, 2, 3].map(i => new Host(`nats${i}`, 10 + i));
const nodes = [1, 2, 3].map(i => new Host(`node${i}`, 20 + i));
const learners = [1, 2].map(i => new Host(`learn${i}`, 30 + i));
const balancer = new Host('lb', 40);
const all = [...nats, ...nodes, ...learners, balancer];
for (const h of all) h.log = join(out, `cluster-${h.name}.log`), writeFileSync(h.log, '');

const natsArgv = h => ['nats-server', '-n', h.name, '-a', h.ip, '-p', '4222', '-m', '8222', '-js', '-sd',
    join(dir, h.name), '-cluster_name', 'abrd', '-cluster', `nats://${h.ip}:6222`,
    '-routes', nats.map(o => `nats://${o.ip}:6222`).join(',')];
const bus = nats.map(h => `nats://${h.ip}:4222`).join(',');
const token = join(dir, 'token');
writeFileSync(token, '0123456789abcdef0123456789abcdef\n', { mode: 0o600 });
const common = h => ['build/abrd', 'serve', '--bind', '0.0.0.0', '--port', String(PORT),
    '--admin-token-file', token, '--data', join(dir, h.name), '--session-ttl', String(TTL_S),
    '--explore', '1', '--batch', String(BATCH), '--address-rate', '0', '--open-rate', '0', '--untagged', 'default'];
const among = (h, role) => [...common(h), '--role', role, '--bus', bus, '--bus-replicas', '3',
    '--node', h.name, '--bus-buffer', '4096', '--bus-stream-mb', '0.9',
    '--exam-links', '0', '--tolerance', '1']; // every update is published

function startBalancer() {
    let conf = readFileSync('deploy/haproxy.cfg', 'utf8');
    nodes.forEach((h, i) => { conf = conf.replace(`10.0.0.1${i + 1}:8080`, `${h.ip}:${PORT}`); });
    conf = conf.replace('maxconn 20000', 'maxconn 2000');
    const file = join(dir, 'haproxy.cfg');
    writeFileSync(file, conf);
    balancer.start(['haproxy', '-db', '-f', file]);
}

const view = (more = {}) => new Viewers({ host: balancer.ip, port: PORT, many: VIEWERS,
    perSecond: RATE, seed: SEED, ...more });
const leader = async () => {
    for (const h of learners) if (h.alive && (await ready(h))?.bus.leading) return h;
    return null;
};

/* ---- what a node costs ---- */

/** CPU us per answer of one process at a rate, and how many. */
async function cost(h) {
    const v = new Viewers({ host: h.ip, port: PORT, many: 40, perSecond: 400, seed: SEED });
    await sleep(3);
    const cpu = h.cpu(), n = v.answers;
    await sleep(CPU_S);
    const us = 1e6 * (h.cpu() - cpu) / (v.answers - n);
    await v.stop();
    return { us, sessions: v.sessions };
}

async function measureCost() {
    const alone = nodes[0];
    const one = [];
    for (const learn of ['on', 'off']) {
        rmSync(join(dir, alone.name), { recursive: true, force: true });
        alone.start([...common(alone), '--learn', learn]);
        await until('a standalone daemon', 20, () => ready(alone));
        one.push((await cost(alone)).us);
        await alone.kill('SIGTERM');
    }
    rmSync(join(dir, alone.name), { recursive: true, force: true });
    return one;
}

/** Bytes that the nodes' connections have brought to the NATS servers, and taken from them. */
async function traffic() {
    const sum = { sent: 0, taken: 0 };
    for (const h of nats) {
        const r = await until('NATS to tell of its connections', 60, async () =>
            call(agent, h.ip, 8222, 'GET', '/connz?limit=1000').then(x => JSON.parse(x.text), () => null));
        for (const c of r.connections.filter(x => nodes.some(n => n.name === x.name))) {
            sum.sent += c.in_bytes;
            sum.taken += c.out_bytes;
        }
    }
    return sum;
}

/** The nodes start one by one; what each number of them costs. */
async function measureGrowth() {
    for (let k = 1; k <= nodes.length; k++) {
        nodes[k - 1].start([...among(nodes[k - 1], 'decide'), '--node-number', String(k)]);
        const some = nodes.slice(0, k), l = await leader();
        await until('all nodes to know the learner', 60, async () =>
            (await Promise.all(some.map(ready))).every(s => s?.bus.learner && s.bus.connected));
        const views = some.map((h, i) => new Viewers({ host: h.ip, port: PORT, many: 40, perSecond: 150, seed: SEED + i }));
        const sum = list => list.reduce((n, x) => n + x, 0);
        const now = async () => ({ cpu: sum(some.map(h => h.cpu())), answers: sum(views.map(v => v.answers)),
            learner: l.cpu(), steps: (await metrics(l)).abrd_learner_steps_total, bytes: await traffic(), at: Date.now() });
        await sleep(3);
        const a = await now();
        await sleep(CPU_S);
        const b = await now(), steps = b.steps - a.steps, seconds = (b.at - a.at) / 1000;
        for (const v of views) sessions.push(...(await v.stop()).sessions);
        row(`${k} nodes: CPU per decision [us] / of the learner per step that teaches [us] / bytes sent per such step / kB/s taken per node`,
            `${(1e6 * (b.cpu - a.cpu) / (b.answers - a.answers)).toFixed(0)} / ${(1e6 * (b.learner - a.learner) / steps).toFixed(0)} / ` +
            `${((b.bytes.sent - a.bytes.sent) / steps).toFixed(0)} / ${((b.bytes.taken - a.bytes.taken) / 1000 / k / seconds).toFixed(1)}`);
    }
}

/* ---- judging ---- */


/** What the stores say was played. */
async function stored() {
    await until('sessions to end', TTL_S + 60, async () => {
        const states = await Promise.all(nodes.map(ready));
        return states.every(s => s && s.sessions_live === 0 && s.bus.buffered === 0 && s.bus.connected);
    });
    const sum = { steps: 0, trajectories: 0, played: 0 };
    for (const id of sessions) {
        const h = nodes[parseInt(id.slice(0, 2), 16) - 1];
        const r = await get(h, `/v1/sessions/${id}`);
        if (r.status !== 200) continue; // answered, but not stored before the node was killed
        const history = JSON.parse(r.text), t = taught(history);
        sum.steps += t.steps;
        sum.trajectories += t.trajectories;
        sum.played += history.steps.length;
    }
    return sum;
}

/** Waits until all that was closed has arrived, then compares. What the stream has lost is sent again
 * when weights are published that were learned from what came after it: then viewers play another batch. */
async function judge(what) {
    let s, m = {}, rounds = 0;
    const all = () => m.abrd_learner_steps_total >= s.steps && m.abrd_ledger_counted_total >= s.trajectories;
    for (;; rounds++) {
        s = await stored();
        await until(`${s.steps} steps to be learned`, 15, async () => {
            const h = await leader();
            if (h) m = await metrics(h);
            return all();
        }).catch(() => {});
        if (all() || rounds === 3) break;
        const v = view({ seed: SEED + 1000 + rounds });
        await sleep(1.2 * BATCH / RATE);
        await v.stop();
        sessions.push(...v.sessions);
    }
    const steps = m.abrd_learner_steps_total, counted = m.abrd_ledger_counted_total;
    const dropped = m.abrd_learner_dropped_old_total + m.abrd_learner_dropped_full_total +
        m.abrd_learner_dropped_client_total;
    row(`${what}: steps that teach, by the stores / by the learner`,
        `${s.steps} / ${steps} of ${s.played} (${dropped} not taken)`,
        'equal', s.steps > 0 && s.steps === steps && dropped === 0);
    // as many steps may be lost as are counted twice: so the number of trajectories, too
    row(`${what}: trajectories, by the stores / by the ledger`,
        `${s.trajectories} / ${counted} (${m.abrd_ledger_repeated_total} came again)`,
        'equal', s.trajectories > 0 && s.trajectories === counted);
    row(`${what}: numbers missing in the ledger`, m.abrd_ledger_missing, '0', m.abrd_ledger_missing === 0);
    const resent = nodes.flatMap(h => [...h.output.matchAll(/the stream has lost (\d+)/g)].map(x => Number(x[1])));
    row(`${what}: acknowledged, lost by the stream and sent again, so far; batches played until all had come`,
        `${resent.reduce((n, x) => n + x, 0)}; ${rounds}`);
}

async function during(seconds, what, fn, more) {
    const v = view(more);
    await sleep(2);
    await fn(v);
    await sleep(seconds);
    await v.stop();
    sessions.push(...v.sessions);
    const errors = [...v.errors].map(([k, n]) => `${n} ${k}`).join(', ');
    row(`${what}: answers, chunks without one, sessions moved`,
        `${v.answers}, ${v.silent}, ${v.moved}${errors && ` (${errors})`}`);
    return v;
}

/** All servers have what they missed, and a learner is heard: the next thing may break. */
const whole = () => until('everything to be well', 300, async () => {
    for (const h of nats) {
        const r = await call(agent, h.ip, 8222, 'GET', '/healthz').catch(() => null);
        if (r?.status !== 200) return false;
    }
    const l = await leader();
    if (!l) return false;
    const states = await Promise.all([...nodes, ...learners].map(ready));
    return states.every(s => s?.bus.connected && s.bus.learner_silent_s < 2);
});

const p99 = list => [...list].sort((a, b) => a - b)[Math.floor(.99 * (list.length - 1))];

/* ---- the trial ---- */

const [alone, quiet] = await measureCost();
for (const h of nats) h.start(natsArgv(h));
await sleep(2);
learners.forEach(h => h.start(among(h, 'learn')));
await until('a learner', 60, leader);
await measureGrowth();
startBalancer();
await until('all nodes to know it', 60, async () =>
    (await Promise.all(nodes.map(ready))).every(s => s?.bus.learner && s.bus.connected));
await until('the balancer', 20, async () => (await get(balancer, '/healthz')).status === 200);

const { us: node, sessions: first } = await cost(nodes[0]);
sessions.push(...first);
// a node does not learn: what it costs to be one is seen beside a daemon that does not either
row('CPU per decision of a node / of a standalone daemon that learns / that does not [us]',
    `${node.toFixed(0)} / ${alone.toFixed(0)} / ${quiet.toFixed(0)}: x ${(node / alone).toFixed(2)}, x ${(node / quiet).toFixed(2)}`,
    'x 1.3 of the last', node / quiet <= 1.3);

async function calm() {
    const l = await leader(), cpu = l.cpu(), before = (await metrics(l)).abrd_learner_steps_total;
    const v = await during(20, 'calm', async () => {});
    const learned = (await metrics(l)).abrd_learner_steps_total - before;
    row('CPU of the learner per step that teaches, all it does counted [us]', (1e6 * (l.cpu() - cpu) / learned).toFixed(0));
    row('bytes of the weights', (await get(nodes[0], '/v1/policy/weights')).bytes);
    row('calm: p99 of an answer through the balancer [ms]', p99(v.latencyMs).toFixed(1));
}

async function kills() {
    const killable = [...(SPARE_NATS ? [] : nats), ...nodes, ...learners], failover = [];
    let longest = 0;
    await during(3, `${KILLS} processes killed`, async v => {
        for (let i = 0; i < KILLS; i++) {
            const h = pick(killable.filter(x => x.alive));
            const led = learners.includes(h) && h === await leader();
            await h.kill();
            const at = Date.now();
            if (led) {
                await until('the next learner', 120, leader);
                failover.push((Date.now() - at) / 1000);
            } else {
                await sleep(.3 + draw());
            }
            h.start();
            await whole();
        }
        longest = v.longestSilent;
    });
    row('kills: longest run of chunks without an answer, of one viewer', longest, '1', longest <= 1);
    return failover;
}

async function failovers(failover) {
    await whole();
    await during(1, 'learners killed', async () => {
        for (let i = 0; i < 6; i++) {
            const h = await until('a learner', 30, leader);
            await h.kill();
            const at = Date.now();
            await until('the next learner', 120, leader);
            failover.push((Date.now() - at) / 1000);
            h.start();
            await whole();
        }
    });
    row(`learner killed (${failover.length} times): until another one learns [s], longest`,
        Math.max(...failover).toFixed(1), '5', Math.max(...failover) <= 5);
}

async function partition() {
    const h = nodes[1];
    let reached;
    const v = await during(5, `${h.name} cut off for ${PARTITION_S} s`, async () => {
        h.cut(true);
        await sleep(PARTITION_S / 2);
        reached = (await get(h, '/readyz')).status;
        await sleep(PARTITION_S / 2);
        h.cut(false);
    });
    row('cut off: was the node, and did sessions move', `${reached ? 'no' : 'yes'}, ${v.moved}`, 'yes, some',
        !reached && v.moved > 0);
    row('cut off: longest run of chunks without an answer, of one viewer', v.longestSilent, '1', v.longestSilent <= 1);
}

async function fullStream() {
    // learners stopped, a stream that holds little: nodes keep what it does not take
    for (const h of learners) await h.kill('SIGTERM');
    let full = 0, buffered = 0, stored, seconds = 0;
    await during(3, 'no learner', async () => {
        for (; seconds < FULL_S || (!full && seconds < 4 * FULL_S); seconds++) {
            await sleep(1);
            const m = await Promise.all(nodes.map(metrics));
            full = m.reduce((n, x) => n + x.abrd_outbox_full_total, 0);
            buffered = m.reduce((n, x) => n + x.abrd_outbox_waiting, 0);
        }
        const jsz = JSON.parse((await call(agent, nats[0].ip, 8222, 'GET', '/jsz?streams=true')).text);
        stored = jsz.account_details?.[0]?.stream_detail.find(s => s.name === 'abrd_traj')?.state;
        for (const h of learners) h.start();
        await until('a learner', 30, leader);
    }, { perSecond: 300 });
    if (stored?.messages)
        row('bytes of a trajectory in the stream', Math.round(stored.bytes / stored.messages));
    row(`no learner for ${seconds} s: refused by the full stream, then waiting in the nodes`, `${full}, ${buffered}`,
        'the stream was full', full > 0);
}

async function down() {
    let mid;
    const before = (await ready(nodes[0])).policy;
    const v = await during(5, `NATS down for ${DOWN_S} s`, async () => {
        for (const h of nats) await h.kill();
        await sleep(DOWN_S);
        mid = await ready(nodes[0]);
        for (const h of nats) h.start();
        await until('a learner', 90, leader);
    });
    row('NATS down: a node meanwhile', `ready ${mid?.ready}, policy ${mid?.policy} (before: ${before}), ` +
        `connected ${mid?.bus.connected}, buffered ${mid?.bus.buffered}, dropped ${mid?.bus.dropped}`,
    'ready, same weights', mid?.ready === true && mid.policy === before && !mid.bus.connected);
    row('NATS down: chunks without an answer', v.silent, '0', v.silent === 0);
}

async function slowNode() {
    let slow;
    await during(1, 'one node stands still for 80 of 100 ms', async v => {
        const well = nodes[2].limp(80, 100);
        v.latencyMs.length = 0;
        await sleep(20);
        slow = [...v.latencyMs];
        well();
    });
    slow.sort((a, b) => a - b);
    row('slow node: median and p99 of all answers [ms]',
        `${slow[slow.length >> 1].toFixed(1)}, ${p99(slow).toFixed(1)}`);
}

/** Ages of weights when a node had them, of those published while it was connected: what it finds when
 * it starts or comes back is older. */
function weightsAge(h) {
    const ages = [];
    let connected = Infinity;
    for (const [, at, , age] of h.output.matchAll(/^(\S+Z) .*(connected to|published ([\d.]+) s ago)/gm)) {
        const t = Date.parse(at) / 1000;
        if (!age) connected = t;
        else if (t - Number(age) > connected) ages.push(Number(age));
    }
    ages.sort((a, b) => a - b);
    return { n: ages.length, p50: ages[ages.length >> 1], p99: p99(ages), max: ages.at(-1) };
}

const stolen = () => Number(/^cpu +(\d+ +){7}(\d+)/.exec(readFileSync('/proc/stat', 'utf8'))[2]) / 100;
const began = [Date.now(), stolen()];
await calm();
await judge('calm');
await slowNode();
await judge('slow node');
const failover = await kills();
await judge('kills');
await failovers(failover);
await judge('failover');
await partition();
await judge('partition');
await fullStream();
await judge('no learner');
await down();
await judge('NATS down');
for (const h of nodes) {
    const w = weightsAge(h);
    row(`weights' age on ${h.name} after publication [s], ${w.n} times: p50, p99, max`,
        `${w.p50}, ${w.p99}, ${w.max}`, 'p99 1', w.n > 0 && w.p99 <= 1);
}

row('other machines took of the processors, mean', (1000 * (stolen() - began[1]) / (Date.now() - began[0])).toFixed(2));

for (const h of [...nodes, ...learners, ...nats, balancer]) await h.kill('SIGTERM');
const table = ['| | figure | wanted |', '|---|---|---|',
    ...rows.map(r => `| ${r.what} | ${r.value} | ${r.goal ?? ''}${r.ok === false ? ', **short**' : ''} |`)].join('\n');
writeFileSync(join(out, 'cluster.md'), `${table}\n`);
appendFileSync(join(out, 'cluster.md'), `\nKILLS=${KILLS} PARTITION_S=${PARTITION_S} FULL_S=${FULL_S} DOWN_S=${DOWN_S} RATE=${RATE} VIEWERS=${VIEWERS} SEED=${SEED} SPARE_NATS=${SPARE_NATS}\n`);
console.log(`${rows.filter(r => r.ok).length} passed, ${failures} failed`);
process.exit(failures ? 1 : 0);

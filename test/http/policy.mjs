// The policy in the page (web/lib/policy.js) against the program: on chunks that `abrd eval`
// recorded and on questions to the daemon, the same observation, the same level, the same expert;
// weights that are fetched while they are published are whole; what the page does when the daemon
// is gone, is back, or sends something else.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { ABRD, Daemon, PUBLISH_ALL, done, folder, policy, test, until } from './lib/daemon.mjs';
import { crc32 } from './lib/tools.mjs';
import { Core } from '../../web/lib/core.js';
import { ENTRIES, forecastId } from '../../web/lib/forecast.js';
import { Policy, localPolicy } from '../../web/lib/policy.js';
import { LAYOUTS } from '../../web/lib/observe.js';
import { PROFILES, chunkQoe, qoeOf } from '../../web/lib/qoe.js';
import { lastOf, levelOf, viewOf } from '../../web/lib/view.js';
import { windowOf } from '../../web/lib/window.js';

const SHIPPED = 'deploy/policy/moe.safetensors';
const load = file => new Policy(new Uint8Array(readFileSync(file)).buffer);
const NAMES = [...PROFILES.keys()], isPaper = name => PROFILES.get(name).utility !== 'points';

/** Uniform in [0, 1), the same in every run. */
let state = 1n;
function random() {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
    return Number(state >> 33n) / 2 ** 31;
}
const between = (low, high) => low + (high - low) * random();
const among = list => list[Math.floor(random() * list.length)];

function near(mine, theirs, most, what) {
    theirs.forEach((v, i) => assert.ok(Math.abs(mine[i] - v) <= most, `${what}[${i}]: ${mine[i]}, ${v}`));
}

/**
 * The daemon's sums are made in the order that its processor likes, and a last bit of theirs may
 * round an input of 16 bits the other way: a probability is off by 1e-3 at most, and only levels so
 * close to each other may be told apart otherwise. Whether they were.
 */
function same(mine, theirs, what) {
    near(mine.probabilities, theirs.probabilities, 1e-3, `${what} probability`);
    assert.equal(mine.expert, theirs.expert, what);
    const { probabilities: p } = theirs;
    assert.ok(p[theirs.level] - p[mine.level] < 1e-3, `${what}: ${mine.level}, not ${theirs.level}`);
    return mine.level !== theirs.level;
}

// ---- chunks that abrd recorded

const LADDER = [300, 750, 1200, 1850, 2850, 4300], CHUNKS = 48;

/** A video with sizes and points of each chunk; rise: points from level to level. */
function videoOf(ladder, rise) {
    const sizes = Array.from({ length: CHUNKS }, () => {
        const scene = between(0.7, 1.4);
        return ladder.map(kbps => Math.round(kbps * 500 * scene));
    });
    const points = sizes.map(row =>
        row.map((bytes, k) => Math.round(4 * (30 + rise * k - 9 * (bytes / ladder[k] / 500 - 1))) / 4));
    return { ladder, sizes, points };
}
const VIDEO = videoOf(LADDER, 12);
/** Ladders of which a policy sees a window. Even steps have many equal ratios. */
const geometric = (n, top) => Array.from({ length: n }, (_, k) => Math.round(1000 * 150 * (top / 150) ** (k / (n - 1))) / 1000);
const LONG = [[13, 6000], [20, 12000], [32, 40000]].map(([n, top]) => videoOf(geometric(n, top), 60 / (n - 1)));

/** Rows of `abrd eval --trajectories`, as the questions that their choices were answers to, and what was seen. */
function* recorded(rows, buffer_max_s, { ladder, sizes, points }) {
    let before = null, history = [], seen;
    for (const row of rows) {
        if (!before || row.trace !== before.trace || row.profile !== before.profile) {
            before = null;
            history = [];
            seen = { stalledS: 0, playedS: 0 };
        } else {
            seen.stalledS += before.chunk && before.stall_s;
            seen.playedS += 4;
            history.push({ kbps: before.throughput_kbps, s: before.download_s });
        }
        yield [row, {
            ladder_kbps: ladder, chunk_s: 4, chunks: CHUNKS, chunk: row.chunk,
            buffer_s: row.buffer_s, buffer_max_s, last_level: before ? before.level : -1,
            throughput_kbps: history.map(h => h.kbps), download_s: history.map(h => h.s),
            next_bytes: sizes[row.chunk], next_quality: points[row.chunk],
            ...(before && { last_quality: points[before.chunk][before.level] }),
        }, seen];
        before = row;
    }
}

/** The chunks of a video, played by a policy for each of `profiles`, in viewers' buffers of `buffer_s`. */
function record(policyFile, profiles, buffer_s, { ladder, sizes, points }) {
    const video = join(folder, 'video'), out = join(folder, 'steps.jsonl');
    mkdirSync(video, { recursive: true });
    writeFileSync(join(video, 'video.json'), JSON.stringify({
        segment_duration_ms: 4000, bitrates_kbps: ladder,
        segment_sizes_bits: sizes.map(row => row.map(bytes => bytes * 8)), quality: points,
    }));
    execFileSync(ABRD, ['eval', '--policy', `moe:${policyFile}`, '--profile', profiles, '--video', video,
        '--buffer-s', String(buffer_s), '--count-first', '--trajectories', out, '--detail', 'obs,probs', '--quiet',
        '--csv', join(folder, 'rows.csv')], { stdio: ['ignore', 'ignore', 'pipe'] });
    return readFileSync(out, 'utf8').trim().split('\n').map(line => JSON.parse(line));
}

/** A policy of few steps, whose decisions are as good as chance. */
function trained(name, ...options) {
    const file = join(folder, `${name}.safetensors`);
    execFileSync(ABRD, ['train', ...options, '--steps', '2000', '--seed', '7', '--quiet', '--out', file], { stdio: 'ignore' });
    return file;
}

/** The check sum of a file of weights: of its numbers and its metadata. */
function crcOf(meta, numbers) {
    const rest = Object.keys(meta).filter(k => k !== 'crc32').sort().map(k => `${k}=${meta[k]}\n`).join('');
    return crc32(numbers, new TextEncoder().encode(rest));
}

/**
 * The shipped policy with a correction of a forecast: drawn numbers, so that decisions change. of 0: the file
 * does not say which one.
 */
function corrected(of = forecastId()) {
    const file = join(folder, `corrected-${of}.safetensors`), from = readFileSync(SHIPPED), size = Number(from.readBigUInt64LE(0));
    const head = JSON.parse(from.subarray(8, 8 + size)), body = from.subarray(8 + size);
    const inputs = [ENTRIES + 1, 24, 24], outputs = [24, 24, 22]; // src/abr/deciders/forecast_own.h
    const numbers = Float32Array.from(outputs.flatMap((n, l) =>
        Array.from({ length: (inputs[l] + 1) * n }, () => between(-0.25, 0.25))));
    head.__metadata__.input_n = String(numbers.length);
    if (of) head.__metadata__.input_of = String(of);
    head.input = { dtype: 'F32', shape: [numbers.length], data_offsets: [body.length, body.length + numbers.byteLength] };
    const all = Buffer.concat([body, Buffer.from(numbers.buffer)]);
    head.__metadata__.crc32 = crcOf(head.__metadata__, all).toString(16).padStart(8, '0');
    const text = Buffer.from(JSON.stringify(head)), length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(text.length));
    writeFileSync(file, Buffer.concat([length, text, all]));
    return file;
}

/** Recorded chunks decided again by the page. Returns how many there were. */
function decideAgain(weights, profiles, names, video) {
    const page = load(weights), played = new Set();
    let n = 0, differ = 0;
    for (const buffer_s of [60, 10])
        for (const [row, question, seen] of recorded(record(weights, profiles, buffer_s, video), buffer_s, video)) {
            const what = `${row.profile} ${row.trace} ${row.chunk}`;
            const view = { ...viewOf(question, qoeOf(row.profile)), correction: page.correction };
            const shown = windowOf(view, view.ladder.map(() => true));
            near(LAYOUTS.get(row.obs.length)(shown.view), row.obs, 4e-6, `${what} obs`);
            const { reward } = chunkQoe(view.qoe, levelOf(view, row.level), lastOf(view),
                { chunkS: 4, waitS: row.stall_s, lowest: view.ladder[0] });
            near([reward], [row.reward], 1e-6 * Math.max(1, Math.abs(row.reward)), `${what} reward`);
            const mine = page.decide(question, row.profile, seen);
            assert.equal(mine.probabilities.length, row.prob.length);
            differ += same(mine, { ...row, probabilities: row.prob }, what);
            played.add(row.profile);
            n++;
        }
    assert.deepEqual([...played].sort(), [...names].sort());
    assert.ok(n >= 1000 && differ <= n / 1000, `${n} rows, ${differ} other decisions`);
    console.log(`${n} recorded chunks: ${differ} other decisions`);
}

const PRODUCT = ['all', NAMES.filter(n => !isPaper(n))], PAPERS = ['papers', NAMES.filter(isPaper)];
for (const [kind, file] of [['full', () => SHIPPED], ['plan', () => trained('plan', '--layout', 'plan')],
    ['plan and prior', () => trained('prior', '--layout', 'plan', '--prior', '60')], ['corrected', () => corrected()]])
    for (const [profiles, names] of [PRODUCT, PAPERS])
        await test(`recorded chunks (${kind}, ${profiles}): the same observations, rewards and decisions`, () =>
            decideAgain(file(), profiles, names, VIDEO));

await test('a correction counts only for the forecast that it names, and that is the one of the program', () => {
    assert.ok(load(corrected()).correction);
    for (const of of [forecastId() - 1, 0]) {
        assert.equal(load(corrected(of)).correction, null);
        decideAgain(corrected(of), ...PAPERS, VIDEO);
    }
});

for (const video of LONG)
    await test(`recorded chunks of a ladder of ${video.ladder.length} levels: the same windows and decisions`, () =>
        decideAgain(SHIPPED, ...PRODUCT, video));

// ---- questions of every kind

function question() {
    const levels = among([2 + Math.floor(random() * 11), 13 + Math.floor(random() * 20)]), begins = random() < 0.1; // nothing measured yet
    const n = begins ? 0 : Math.floor(random() * among([12, 64]));
    const ladder = [between(100, 600)];
    while (ladder.length < levels) ladder.push(ladder.at(-1) * (levels > 12 ? between(1.05, 1.3) : between(1.1, 2)));
    const chunks = among([0, 0, 48, 300]), chunk_s = among([1, 2, 4, 6]);
    const rate = Math.exp(between(Math.log(100), Math.log(40000)));
    const rates = Array.from({ length: n }, () => rate * between(0.3, 1.7));
    const q = {
        ladder_kbps: ladder, chunk_s, chunks, chunk: Math.floor(random() * (chunks || 1000)),
        buffer_max_s: among([8, 12, 30, 60, 240]), buffer_s: among([between(0, 70), between(0, 8)]),
        last_level: begins ? -1 : Math.floor(random() * (levels + 1)) - 1,
        throughput_kbps: rates, download_s: rates.map(r => ladder[0] * chunk_s / r + 0.08),
    };
    if (random() < 0.5)
        q.next_bytes = ladder.map(kbps => (random() < 0.1 ? null : Math.round(kbps * chunk_s * 125 * between(0.5, 1.6))));
    const quality = () => ladder.map((_, k) => 20 + 80 * (k + random()) / levels);
    if (random() < 0.3) q.quality = quality();
    if (random() < 0.3) q.next_quality = quality().map(points => (random() < 0.1 ? null : points));
    if (random() < 0.3 && q.last_level >= 0) q.last_quality = between(0, 100);
    if (random() < 0.3) q.height = ladder.map((_, k) => 180 + 120 * k);
    if (random() < 0.3) q.other_kbps = rate * between(0, 1.3);
    if (random() < 0.5) Object.assign(q, { stalled_s: between(0, 4), played_s: between(0, 200) });
    return Object.assign(q, among([
        { profile: among(NAMES) },
        { weights: Object.fromEntries(['quality', 'switches', 'stalls', 'startup'].filter(() => random() < 0.8)
            .map(name => [name, between(0.1, 4)])) },
        { mu: [between(0.1, 8), between(0, 8), between(0, 12)], utility: among(['linear', 'log', 'pamoe']) },
    ]));
}

async function compare(d, n) {
    const local = localPolicy({ server: d.url, refreshS: 0 });
    assert.equal(await local.ready, true);
    let differ = 0, guarded = 0;
    const experts = new Set();
    for (let i = 0; i < n; i++) {
        const q = question();
        const r = await d.call('POST', '/v1/decide', q);
        assert.equal(r.status, 200, r.text);
        const mine = local.fallback(q, { stalledS: q.stalled_s, playedS: q.played_s });
        assert.equal(mine.policy, r.json.policy);
        differ += same(mine, r.json, JSON.stringify(q));
        guarded += r.json.guarded ?? 0;
        experts.add(mine.expert).add(r.json.expert);
    }
    assert.ok(differ <= Math.ceil(n / 1000), `${differ} of ${n} decisions are others`);
    return { differ, guarded, experts };
}

await test('the built-in profiles are those of the daemon, ceilings included', async () => {
    const d = await Daemon.start(['--learn', 'off']);
    const { profiles } = (await d.call('GET', '/v1/profiles')).json;
    assert.deepEqual(profiles.map(p => p.name).sort(), [...NAMES].sort());
    for (const { name, qoe, stall_ratio_max, startup_max_s } of profiles) {
        const mine = PROFILES.get(name), theirs = qoeOf({ ...qoe, stall_ratio_max, startup_max_s });
        for (const [key, value] of Object.entries(theirs))
            if (key === 'utility') assert.equal(mine[key], value, name);
            else near([mine[key]], [value], 1e-6, `${name} ${key}`);
    }
    await d.stop();
});

await test('1,200 questions to the daemon with the shipped policy: the same decisions', async () => {
    const d = await new Daemon(['--port', '0', '--policy', SHIPPED, '--workers', '1', '--learn', 'off']).ready;
    const { differ, guarded } = await compare(d, 1200);
    assert.ok(guarded >= 100, `levels were withheld ${guarded} times`);
    console.log(`1200 questions: ${differ} other decisions; levels withheld ${guarded} times`);
});

for (const [variant, route] of [['mlp', 'single'], ['moe', 'dense']])
    await test(`a policy without a router's choice (${route})`, async () => {
        const file = trained(variant, '--variant', variant);
        const d = await new Daemon(['--port', '0', '--policy', file, '--workers', '1', '--learn', 'off']).ready;
        await compare(d, 100);
        await d.stop();
    });

await test('an expert that is set aside is asked by neither', async () => {
    const d = await new Daemon(['--port', '0', '--policy', SHIPPED, '--workers', '1', '--explore', '0']).ready;
    const busy = async () => await d.metric('abrd_experts_busy{network="actor"}') === 1;
    assert.ok((await compare(d, 200)).experts.has(1), 'it is asked before');
    assert.equal((await d.call('PUT', '/v1/policy/experts/actor/1', { updates: 1000 })).status, 202);
    await until('a version without it', busy);
    const { experts } = await compare(d, 200);
    assert.ok(experts.size && !experts.has(1), `experts ${[...experts]}`);
});

// ---- life

/** Version in a file of weights whose CRC is right (src/learn/ckpt.h). */
function checked(bytes) {
    const n = Number(new DataView(bytes.buffer).getBigUint64(0, true));
    const meta = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + n))).__metadata__;
    assert.equal(crcOf(meta, bytes.subarray(8 + n)), parseInt(meta.crc32, 16));
    return meta.version;
}

await test('weights that are fetched while new ones are published are whole, and their tag is theirs', async () => {
    const d = await Daemon.start(['--data', join(folder, 'learns'), '--explore', '1', '--batch', '128', ...PUBLISH_ALL]);
    const versions = new Map();
    let playing = true;
    const viewers = (async () => {
        for (let key = 1; playing && key < 400; key++) {
            const s = (await d.call('POST', '/v1/sessions',
                { ladder_kbps: LADDER, chunk_s: 4, chunks: 32, profile: 'live', key })).json;
            let level = s.level;
            for (let chunk = 1; chunk < 32; chunk++)
                level = (await d.call('POST', `/v1/sessions/${s.session}/decisions`, {
                    chunk, buffer_s: 8,
                    last: { chunk: chunk - 1, level, bytes: 1000 * LADDER[level], download_s: 1.7, rebuffer_s: 0 },
                })).json.level;
            await d.call('POST', `/v1/sessions/${s.session}/rewards`, {
                chunk: 31, level, bytes: 1000 * LADDER[level], download_s: 1.7, rebuffer_s: 0, final: true,
            });
        }
    })();
    await until('three versions', async () => {
        const r = await fetch(`${d.url}/v1/policy/weights`);
        const version = checked(new Uint8Array(await r.arrayBuffer()));
        assert.match(r.headers.get('etag'), new RegExp(`^"v${version}-`));
        assert.ok(!versions.has(version) || versions.get(version) === r.headers.get('etag'));
        versions.set(version, r.headers.get('etag'));
        return versions.size >= 3;
    });
    playing = false;
    await viewers;

    const local = localPolicy({ server: d.url, refreshS: 0 });
    await local.ready;
    const had = local.version;
    assert.ok(had >= 3);
    assert.equal(await local.refresh(), true);
    assert.ok(local.version >= had);
    await d.kill('SIGKILL');
    assert.equal(await local.refresh(), true); // what it has is kept
    assert.ok(local.version >= had);
    assert.ok(local.fallback({ ladder_kbps: LADDER, chunk_s: 4, buffer_s: 8, profile: 'live' }).level >= 0);
    assert.equal(local.fallback({ ladder_kbps: LADDER, chunk_s: 4, buffer_s: 8, profile: 'nobody' }), null);
});

await test('without weights there is no answer; what is no policy is refused', async () => {
    const warn = console.warn;
    console.warn = () => {};
    const away = localPolicy({ server: 'http://127.0.0.1:1', refreshS: 0 });
    assert.equal(await away.ready, false);
    console.warn = warn;
    assert.equal(away.version, null);
    assert.equal(away.fallback({ ladder_kbps: LADDER, chunk_s: 4, buffer_s: 8 }), null);

    const whole = new Uint8Array(readFileSync(policy()));
    for (const cut of [0, 7, 8, 100, whole.length - 4])
        assert.throws(() => new Policy(whole.slice(0, cut).buffer), `${cut} bytes`);
    const text = new TextDecoder('latin1').decode(whole);
    for (const [from, to] of [['abrd-1', 'abrd-9'], ['"obs_dim":"128"', '"obs_dim":"048"'], ['"top1"', '"odd1"']]) {
        assert.ok(text.includes(from), from);
        const other = Uint8Array.from(text.replace(from, to), c => c.charCodeAt(0));
        assert.throws(() => new Policy(other.buffer), `${to}`);
    }
    const page = load(policy());
    assert.throws(() => page.decide({ ladder_kbps: [300], chunk_s: 4, buffer_s: 8 }, 'live'), /levels/);
    assert.throws(() => page.decide({ ladder_kbps: LADDER, chunk_s: 4, buffer_s: 8 }, 'nobody'), /profile/);
});

await test('the players\' core goes on by the page\'s policy when the daemon dies', async () => {
    const d = await Daemon.start(['--learn', 'off', '--explore', '0']);
    const local = localPolicy({ server: d.url, refreshS: 0 });
    await local.ready;
    const asked = [];
    const core = new Core({
        server: d.url, profile: 'news', timeoutMs: 60000,
        fallback: q => { asked.push(q); return local.fallback(q); },
    }, () => 60);
    core.source();
    core.enter({ levels: LADDER.map(kbps => ({ kbps, sizes: null })), chunkS: 4, chunks: 20, profile: null });
    const warn = console.warn;
    console.warn = () => {};
    await core.ask();
    assert.equal(core.choice().mode, 'greedy');
    for (let chunk = 0; chunk < 6; chunk++) {
        const { level } = core.choice();
        assert.equal(core.requested(chunk, LADDER[level]), chunk < 3 ? 'abrd' : 'local');
        if (chunk === 2) await d.kill('SIGKILL');
        await core.arrived({ chunk, kbps: LADDER[level], bytes: 500 * LADDER[level], download_s: 1.3 }, 4 * chunk, 60);
        assert.equal(core.choice().chunk, chunk + 1);
    }
    console.warn = warn;
    assert.deepEqual(asked.map(q => [q.chunk, q.profile]), [[3, 'news'], [4, 'news'], [5, 'news'], [6, 'news']]);
    const page = load(policy());
    assert.equal(core.choice().level, page.decide(asked.at(-1), 'news').level);
    assert.equal(core.choice().policy, local.version);
});

await test('an unchanged version is not sent again', async () => {
    const bytes = readFileSync(policy()), seen = [];
    const server = http.createServer((q, r) => {
        seen.push(`${q.url} ${q.headers['if-none-match'] ?? '-'}`);
        if (q.url === '/v1/profiles') r.end('{"default":"live","profiles":[{"name":"live","qoe":{"mu":[1,1,6]}}]}');
        else if (q.headers['if-none-match']) r.writeHead(304).end();
        else r.writeHead(200, { ETag: '"v1-x"' }).end(bytes);
    });
    await new Promise(ready => server.listen(0, '127.0.0.1', ready));
    const local = localPolicy({ server: `http://127.0.0.1:${server.address().port}/`, refreshS: 0 });
    assert.equal(await local.ready, true);
    assert.equal(await local.refresh(), true);
    assert.deepEqual(seen.filter(s => s.startsWith('/v1/policy')),
        ['/v1/policy/weights -', '/v1/policy/weights "v1-x"']);
    // who says nothing is taken for the daemon's default profile
    const q = { ladder_kbps: LADDER, chunk_s: 4, buffer_s: 8, last_level: 2 };
    assert.deepEqual(local.fallback(q), local.fallback({ ...q, profile: 'live' }));
    server.close();
    server.closeAllConnections();
});

done();

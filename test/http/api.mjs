// Every operation, each with its good answer and its errors, over real HTTP; every answer is held
// against web/openapi.json.
import assert from 'node:assert/strict';
import { answerFits, api } from './lib/schema.mjs';
import { Daemon, done, folder, test } from './lib/daemon.mjs';
import { figure, replaced } from './lib/tools.mjs';
import { join } from 'node:path';

const d = await Daemon.start(['--data', join(folder, 'data'), '--explore', '0.5', '--seed', '3',
    '--learn', 'off']);
const seen = new Set();

/** Calls an operation, checks status and schema, returns the answer. */
async function call(status, method, template, params = {}, body, headers = {}) {
    let path = template.replace(/\{(\w+)\}/g, (_, name) => params[name]);
    if (params.query) path += params.query;
    const r = await d.call(method, path, body, headers);
    assert.equal(r.status, status, `${method} ${path} -> ${r.status} ${r.text.slice(0, 300)}`);
    assert.equal(answerFits(method, template, r), '');
    seen.add(`${method.toLowerCase()} ${template} ${status}`);
    return r;
}

async function refuse(status, field, method, template, params, body, headers) {
    const r = await call(status, method, template, params, body, headers);
    assert.equal(r.json.field, field, r.text);
    return r;
}

const LADDER = [300, 750, 1200, 1850, 2850, 4300];
const video = { ladder_kbps: LADDER, chunk_s: 4, chunks: 6 };
const open = async (extra = {}) =>
    (await call(201, 'POST', '/v1/sessions', {}, { ...video, ...extra })).json;
const outcome = (chunk, level, more = {}) =>
    ({ chunk, level, bytes: 500000, download_s: 2.5, rebuffer_s: 0, ...more });

await test('a session from its first chunk to its last', async () => {
    const r = await call(201, 'POST', '/v1/sessions', {}, { ...video, profile: 'paper-news', content_id: 'ü' });
    const s = r.json;
    assert.equal(r.headers.get('location'), `/v1/sessions/${s.session}`);
    assert.deepEqual([s.chunk, s.profile, s.hinted], [0, 'paper-news', true]);
    assert.deepEqual(s.qoe, { mu: [6, 1, 1], utility: 'linear' });
    assert.equal(s.kbps, LADDER[s.level]);

    let level = s.level, sum = 0;
    for (let chunk = 1; chunk < 6; chunk++) {
        const q = { chunk, buffer_s: 4 * chunk, last: outcome(chunk - 1, level) };
        const answer = (await call(200, 'POST', '/v1/sessions/{id}/decisions', { id: s.session }, q)).json;
        assert.equal(answer.chunk, chunk);
        assert.ok(Math.abs(answer.probabilities.reduce((a, b) => a + b) - 1) < 1e-5);
        const again = await call(200, 'POST', '/v1/sessions/{id}/decisions', { id: s.session }, q);
        assert.deepEqual(again.json, answer);
        level = answer.level;
    }
    const last = await call(200, 'POST', '/v1/sessions/{id}/rewards', { id: s.session },
        { ...outcome(5, level), final: true });
    assert.deepEqual([last.json.chunk, last.json.followed, last.json.repeated], [5, true, false]);

    const h = (await call(200, 'GET', '/v1/sessions/{id}', { id: s.session })).json;
    assert.equal(h.steps.length, 6);
    assert.equal(h.content_id, 'ü');
    assert.deepEqual(h.steps.map(t => t.chunk), [0, 1, 2, 3, 4, 5]);
    for (const [i, t] of h.steps.entries()) {
        const q = LADDER[t.level] / 1000, before = i ? LADDER[h.steps[i - 1].level] / 1000 : q;
        assert.ok(t.reported && t.followed);
        assert.ok(Math.abs(t.reward - (6 * q - Math.abs(q - before) - t.rebuffer_s)) < 1e-9);
        sum += t.reward;
    }
    assert.equal(h.steps[5].reward, last.json.reward);

    const csv = await call(200, 'GET', '/v1/sessions/{id}', { id: s.session, query: '?format=csv' });
    const rows = csv.text.trim().split('\r\n').map(line => line.split(','));
    assert.equal(rows.length, 7);
    const column = rows[0].indexOf('reward');
    assert.equal(rows.slice(1).reduce((a, row) => a + Number(row[column]), 0), sum);
    const accepted = await call(200, 'GET', '/v1/sessions/{id}', { id: s.session }, undefined,
        { Accept: 'text/csv' });
    assert.equal(accepted.text, csv.text);
});

await test('own weights, no hint, keys', async () => {
    const own = await open({ mu: [1, 2, 3.3], utility: 'log' });
    assert.deepEqual([own.profile, own.hinted, own.qoe],
        ['custom', true, { mu: [1, 2, 3.3], utility: 'log' }]);
    const none = await open();
    assert.deepEqual([none.profile, none.hinted], ['standard', false]);
    const one = await open({ key: 42 }), two = await open({ key: '42' });
    assert.equal(one.key, '42');
    assert.deepEqual({ ...one, session: '' }, { ...two, session: '' });
    assert.equal((await open({ key: '18446744073709551615' })).key, '18446744073709551615');
});

await test('a chunk on its way may be abandoned', async () => {
    const path = '/v1/sessions/{id}/abandon';
    const who = async (explores, profile) => { // half of them explore
        for (;;) {
            const s = await open({ profile });
            if (s.explores === explores) return s;
        }
    };
    const s = await who(false, 'live'), at = { id: s.session };
    const ask = (more, status = 200) =>
        call(status, 'POST', path, at, { chunk: 1, level: 3, bytes: 20000, elapsed_s: 1, buffer_s: 3, ...more });
    assert.equal((await ask({}, 409)).json.field, 'chunk'); // chunk 0 is on its way
    const q = { chunk: 1, buffer_s: 4, last: outcome(0, s.level) };
    await call(200, 'POST', '/v1/sessions/{id}/decisions', at, q);
    const { json } = await ask({});
    assert.ok(json.level < 3);
    assert.deepEqual(json, { chunk: 1, level: json.level, kbps: LADDER[json.level] });
    assert.equal((await ask({ buffer_s: 60 })).json.level, 3); // it will be there in time
    const bad = (field, more) => refuse(400, field, 'POST', path, at,
        { chunk: 1, level: 3, bytes: 20000, elapsed_s: 1, buffer_s: 3, ...more });
    await bad('level', { level: 6 });
    await bad('bytes', { bytes: -1 });
    await bad('elapsed_s', { elapsed_s: 0 });
    await bad('buffer_s', { buffer_s: undefined });
    await bad('sizes', { sizes: [] });
    await refuse(404, 'session', 'POST', path, { id: 'nobody' }, { chunk: 1, level: 3, bytes: 1, elapsed_s: 1, buffer_s: 3 });
    assert.equal(await d.metric('abrd_underway_total'), 2);
    assert.equal(await d.metric('abrd_abandoned_total'), 1);

    await call(200, 'POST', '/v1/sessions/{id}/rewards', at, outcome(1, json.level));
    await ask({}, 409); // it has arrived
    const h = (await call(200, 'GET', '/v1/sessions/{id}', at)).json;
    assert.deepEqual([h.steps.length, h.steps[1].level], [2, json.level]); // nothing else has changed

    const fast = async explores => {
        const { session, level } = await who(explores, 'documentary');
        const { json } = await call(200, 'POST', path, { id: session },
            { chunk: 0, level, bytes: 1e5, elapsed_s: .05, buffer_s: 0 });
        return json.level - level;
    };
    assert.ok(await fast(false) > 0);
    assert.equal(await fast(true), 0); // who explores has what was drawn
});

await test('a level that was not the decided one is kept as not followed', async () => {
    const s = await open();
    const other = s.level === 0 ? 1 : 0;
    await call(200, 'POST', '/v1/sessions/{id}/decisions', { id: s.session },
        { chunk: 1, buffer_s: 4, last: outcome(0, other) });
    const h = (await call(200, 'GET', '/v1/sessions/{id}', { id: s.session })).json;
    assert.deepEqual([h.steps[0].level, h.steps[0].decided_level, h.steps[0].followed],
        [other, s.level, false]);
});

await test('live video and seeks', async () => {
    const s = await open({ chunks: 0 });
    const far = await call(200, 'POST', '/v1/sessions/{id}/decisions', { id: s.session },
        { chunk: 900, buffer_s: 2, last: outcome(0, s.level) });
    assert.equal(far.json.chunk, 900);
});

await test('an external figure is bounded and kept', async () => {
    const s = await open();
    await call(200, 'POST', '/v1/sessions/{id}/rewards', { id: s.session }, { chunk: 0, reward: -7.25 });
    const h = (await call(200, 'GET', '/v1/sessions/{id}', { id: s.session })).json;
    assert.equal(h.steps[0].external, -7.25);
    for (const reward of [1001, -1000.5])
        await refuse(400, 'reward', 'POST', '/v1/sessions/{id}/rewards', { id: s.session },
            { chunk: 0, reward });
});

await test('opening: what is refused', async () => {
    const bad = (field, extra) =>
        refuse(400, field, 'POST', '/v1/sessions', {}, { ...video, ...extra });
    await bad('ladder_kbps', { ladder_kbps: undefined });
    await bad('ladder_kbps', { ladder_kbps: [300] });
    await bad('ladder_kbps[1]', { ladder_kbps: [300, 300] });
    await bad('ladder_kbps[0]', { ladder_kbps: [0, 300] });
    await bad('ladder_kbps', { ladder_kbps: Array.from({ length: 33 }, (_, i) => 100 + i) });
    await bad('chunk_s', { chunk_s: 0 });
    await bad('chunk_s', { chunk_s: '4' });
    await bad('chunks', { chunks: -1 });
    await bad('buffer_max_s', { buffer_max_s: 1e9 });
    await bad('profle', { profle: 'news' });
    await bad('mu', { profile: 'news', mu: [1, 1, 1] });
    await bad('next_bytes', { next_bytes: [1, 2] });
    await bad('content_id', { content_id: 'x'.repeat(128) });
    await refuse(404, 'profile', 'POST', '/v1/sessions', {}, { ...video, profile: 'nobody' });
    for (const body of ['', '{', '[]', 'null', '"x"', '{"a":1,}', '{"chunk_s":NaN}', '{"chunk_s":1e999}'])
        await refuse(400, '', 'POST', '/v1/sessions', {}, body);
    const big = await d.call('POST', '/v1/sessions', `{"content_id":"${'x'.repeat(20000)}"}`);
    assert.equal(big.status, 413);
    assert.equal(answerFits('POST', '/v1/sessions', big), '');
    seen.add('post /v1/sessions 413');
});

await test('deciding: what is refused', async () => {
    const s = await open();
    const path = '/v1/sessions/{id}/decisions', at = { id: s.session };
    const bad = (field, q) => refuse(400, field, 'POST', path, at, q);
    await refuse(404, 'session', 'POST', path, { id: '0'.repeat(32) }, { chunk: 1, buffer_s: 4 });
    await refuse(404, 'session', 'POST', path, { id: 'nobody' }, { chunk: 1, buffer_s: 4 });
    await bad('buffer_s', { chunk: 1 });
    await bad('chunk', { buffer_s: 4 });
    await bad('chunk', { chunk: 6, buffer_s: 4 });
    await bad('chunk', { chunk: -1, buffer_s: 4 });
    await bad('chunk', { chunk: 1.5, buffer_s: 4 });
    await bad('buffer_s', { chunk: 1, buffer_s: -1 });
    await bad('last.level', { chunk: 1, buffer_s: 4, last: outcome(0, 6) });
    await bad('last.download_s', { chunk: 1, buffer_s: 4, last: outcome(0, 1, { download_s: 0 }) });
    await bad('last.bytes', { chunk: 1, buffer_s: 4, last: outcome(0, 1, { bytes: -1 }) });
    await bad('next_bytes', { chunk: 1, buffer_s: 4, next_bytes: [1, 2, 3] });
    await bad('next_bytes', { chunk: 1, buffer_s: 4, next_bytes: [] });
    await bad('next_bytes[5]', { chunk: 1, buffer_s: 4, next_bytes: [1, 2, 3, 4, 5, -6] });
    await bad('last.rebuffer_s', { chunk: 1, buffer_s: 4, last: outcome(0, 1, { rebuffer_s: null }) });

    await call(200, 'POST', path, at, { chunk: 1, buffer_s: 4, last: outcome(0, s.level) });
    await refuse(409, 'chunk', 'POST', path, at, { chunk: 1, buffer_s: 5, last: outcome(0, s.level) });
    const h = (await call(200, 'GET', '/v1/sessions/{id}', at)).json;
    assert.equal(h.steps.length, 2); // nothing of the refused ones was kept
});

await test('reporting: what is refused', async () => {
    const s = await open();
    const path = '/v1/sessions/{id}/rewards', at = { id: s.session };
    await refuse(404, 'session', 'POST', path, { id: 'nobody' }, outcome(0, 1));
    await refuse(400, 'level', 'POST', path, at, { chunk: 0 });
    await refuse(400, 'final', 'POST', path, at, { ...outcome(0, 1), final: 'yes' });
    const once = await call(200, 'POST', path, at, outcome(0, s.level));
    const twice = await call(200, 'POST', path, at, outcome(0, s.level));
    assert.deepEqual(twice.json, { ...once.json, repeated: true });
    const conflict = await d.call('POST', `/v1/sessions/${s.session}/rewards`, outcome(0, s.level, { bytes: 1 }));
    assert.equal(conflict.status, 409, conflict.text);
    assert.equal(answerFits('POST', path, conflict), '');
    seen.add(`post ${path} 409`);
});

await test('closing', async () => {
    const s = await open();
    await call(204, 'DELETE', '/v1/sessions/{id}', { id: s.session });
    const h = (await call(200, 'GET', '/v1/sessions/{id}', { id: s.session })).json;
    assert.deepEqual([h.closed, h.terminal], [true, false]);
    await refuse(404, 'session', 'DELETE', '/v1/sessions/{id}', { id: 'nobody' });
    await refuse(404, 'session', 'GET', '/v1/sessions/{id}', { id: 'nobody' });
    await refuse(400, 'format', 'GET', '/v1/sessions/{id}', { id: s.session, query: '?format=xml' });
});

await test('what a viewer without a hint was, said at the end', async () => {
    const s = await open({ content_id: 'match' });
    assert.deepEqual([s.hinted, s.explores, s.by, s.profile], [false, false, 'merge', 'standard']);
    const rewards = (status, body) =>
        call(status, 'POST', '/v1/sessions/{id}/rewards', { id: s.session }, body);
    assert.equal((await rewards(400, { ...outcome(0, s.level), profile: 'news' })).json.field, 'profile');
    assert.equal((await rewards(404, { ...outcome(0, s.level), final: true, profile: 'nobody' })).json.field,
        'profile');
    await rewards(200, { ...outcome(0, s.level), final: true, profile: 'news' });
    assert.equal((await rewards(200, { ...outcome(0, s.level), final: true, profile: 'news' })).json.repeated,
        true);
    await rewards(409, { ...outcome(0, s.level), final: true, profile: 'live' });
    const h = (await call(200, 'GET', '/v1/sessions/{id}', { id: s.session })).json;
    assert.deepEqual([h.profile, h.hinted, h.steps[0].by], ['news', false, 'merge']);

    const close = (id, status, query) =>
        call(status, 'DELETE', '/v1/sessions/{id}', { id, query });
    const t = await open();
    await close(t.session, 404, '?profile=nobody');
    await close(t.session, 204, '?profile=live');
    await close(t.session, 204, '?profile=live');
    await close(t.session, 409, '?profile=news');
    const hinted = await open({ profile: 'news' });
    assert.equal(hinted.by, 'router');
    await close(hinted.session, 409, '?profile=live');
    await close(hinted.session, 400, '?profile=%zz');
    await close(hinted.session, 204, '?profile=news');
    assert.equal(await d.metric('abrd_untagged_labels_total'), 2);
});

await test('one stateless question', async () => {
    const q = { ladder_kbps: LADDER, chunk_s: 4, buffer_s: 12, last_level: 2,
        throughput_kbps: [2100, 1800, 2400], download_s: [2.2, 2.6, 2] };
    const one = await call(200, 'POST', '/v1/decide', {}, { ...q, profile: 'news' });
    assert.deepEqual([one.json.profile, one.json.mode], ['news', 'greedy']);
    assert.deepEqual((await call(200, 'POST', '/v1/decide', {}, { ...q, profile: 'news' })).json, one.json);
    assert.equal((await call(200, 'POST', '/v1/decide', {}, q)).json.hinted, false);
    assert.equal((await call(200, 'POST', '/v1/decide', {}, { ...q, mu: [1, 2, 3] })).json.profile, 'custom');
    await refuse(400, 'download_s', 'POST', '/v1/decide', {}, { ...q, download_s: [1] });
    await refuse(400, 'last_level', 'POST', '/v1/decide', {}, { ...q, last_level: 6 });
    await refuse(400, 'throughput_kbps[1]', 'POST', '/v1/decide', {}, { ...q, throughput_kbps: [1, -1, 1] });
    // the entry as it was sent, also of more than are looked at
    const many = Array(12).fill(1);
    await refuse(400, 'throughput_kbps[9]', 'POST', '/v1/decide', {},
        { ...q, throughput_kbps: replaced(many, 9, -1), download_s: many });
    await refuse(400, 'download_s[1]', 'POST', '/v1/decide', {},
        { ...q, throughput_kbps: many, download_s: replaced(many, 1, -1) });
    await refuse(404, 'profile', 'POST', '/v1/decide', {}, { ...q, profile: 'nobody' });
});

await test('the examples of the description work', async () => {
    for (const [path, item] of Object.entries(api.paths)) {
        const body = item.post?.requestBody?.content['application/json']?.example;
        if (!body || path === '/v1/policy/gate') continue; // this daemon does not learn
        if (path.startsWith('/v1/trial')) continue; // nor has it a trial (trial.mjs)
        const s = await open({ chunks: 48 });
        const r = await d.call('POST', path.replace('{id}', s.session), body);
        assert.ok(r.status < 300, `${path}: ${r.text}`);
    }
});

await test('ladders of up to 32 levels: all of a session, probabilities of all levels', async () => {
    for (const levels of [13, 20, 32]) {
        const ladder = Array.from({ length: levels }, (_, k) => Math.round(150 * 1.2 ** k));
        const all = value => ladder.map((_, k) => value(k));
        const perLevel = chunk => ({ next_bytes: all(k => ladder[k] * 500 + chunk), next_quality: all(k => 2.5 * k + chunk / 10) });
        const s = await open({ ladder_kbps: ladder, chunks: 48, quality: all(k => 3 * k), height: all(k => 180 + 60 * k), ...perLevel(0) });
        let { level } = s;
        for (let chunk = 1; chunk < 20; chunk++) {
            const bytes = ladder[level] * 500, kbps = 20000 / (1 + chunk % 4);
            const a = (await call(200, 'POST', '/v1/sessions/{id}/decisions', { id: s.session }, {
                chunk, buffer_s: 10 + chunk, ...perLevel(chunk),
                last: { chunk: chunk - 1, level, bytes, download_s: bytes * 8e-3 / kbps, rebuffer_s: 0 },
            })).json;
            assert.equal(a.probabilities.length, levels);
            const some = a.probabilities.filter(p => p > 0);
            assert.ok(some.length <= 12 && Math.abs(some.reduce((x, p) => x + p, 0) - 1) < 1e-4, `${a.probabilities}`);
            assert.ok(a.probabilities[a.level] > 0);
            assert.equal(a.kbps, ladder[a.level]);
            ({ level } = a);
        }
        const history = (await call(200, 'GET', '/v1/sessions/{id}', { id: s.session })).json;
        assert.equal(history.ladder_kbps.length, levels);
        assert.equal(history.quality.length, levels);
        assert.equal(history.steps[19].decided_level ?? history.steps[19].level, level);
        await call(204, 'DELETE', '/v1/sessions/{id}', { id: s.session });
    }
    const long = Array.from({ length: 33 }, (_, i) => 300 * (i + 1));
    await refuse(400, 'ladder_kbps', 'POST', '/v1/sessions', {}, { ...video, ladder_kbps: long });
    await refuse(400, 'ladder_kbps', 'POST', '/v1/decide', {}, { ladder_kbps: long, chunk_s: 4, buffer_s: 4 });
});

await test('text/plain is read as JSON', async () => {
    await call(201, 'POST', '/v1/sessions', {}, video, { 'Content-Type': 'text/plain' });
});

await test('profiles', async () => {
    const path = '/v1/profiles/{name}', at = { name: 'sports-1' };
    const made = await call(201, 'PUT', path, at, { mu: [1, 0.5, 8], utility: 'log' });
    const { means, ...rest } = made.json;
    assert.match(means, /^one second of stall is worth 8 units of the logarithm/);
    assert.deepEqual(rest, { name: 'sports-1', qoe: { mu: [1, 0.5, 8], utility: 'log' }, stall_ratio_max: 0,
        startup_max_s: 0, builtin: false, grow: false });
    await call(200, 'PUT', path, at, { mu: [1, 0.5, 9] });
    assert.deepEqual((await call(200, 'GET', path, at)).json.qoe, { mu: [1, 0.5, 9], utility: 'linear' });
    const names = (await call(200, 'GET', '/v1/profiles')).json.profiles.map(p => p.name);
    assert.deepEqual(names, ['documentary', 'lecture', 'live', 'news', 'paper-documentary', 'paper-live', 'paper-news',
        'pensieve', 'sports', 'sports-1', 'standard']);
    assert.equal((await open({ profile: 'sports-1' })).profile, 'sports-1');

    await refuse(409, 'profile', 'PUT', path, { name: 'news' }, { mu: [1, 1, 1] });
    await refuse(409, 'profile', 'DELETE', path, { name: 'news' });
    await refuse(400, 'weights', 'PUT', path, at, {});
    await refuse(400, 'mu', 'PUT', path, at, { mu: [0, 0, 0] });
    assert.equal((await d.call('PUT', '/v1/profiles/Big', { mu: [1, 1, 1] })).status, 400);
    assert.equal((await d.call('PUT', `/v1/profiles/${'x'.repeat(64)}`, { mu: [1, 1, 1] })).status, 400);
    const grown = { mu: [3, 1, 3], grow: true };
    assert.equal((await call(200, 'PUT', path, at, { mu: [3, 1, 3] })).json.grow, false);
    assert.equal((await call(200, 'PUT', path, at, grown)).json.grow, true);
    assert.equal((await call(200, 'GET', path, at)).json.grow, true);
    assert.equal((await call(200, 'PUT', path, at, { mu: [3, 1, 3] })).json.grow, true);
    await refuse(409, 'mu', 'PUT', path, at, { mu: [3, 2, 3] });
    await refuse(400, 'grow', 'PUT', path, at, { mu: [3, 1, 3], grow: 'yes' });
    await open({ profile: 'sports-1' });
    assert.equal(await d.metric('abrd_grown_decisions_total{profile="sports-1"}'), 1);
    await call(204, 'DELETE', path, at);
    await refuse(404, 'profile', 'GET', path, at);
    await refuse(404, 'profile', 'DELETE', path, at);
});

await test('the policy and its weights', async () => {
    const info = (await call(200, 'GET', '/v1/policy')).json;
    const r = await fetch(`${d.url}/v1/policy/weights`);
    const bytes = new Uint8Array(await r.arrayBuffer());
    const header = new DataView(bytes.buffer).getBigUint64(0, true);
    const tensors = JSON.parse(new TextDecoder().decode(bytes.slice(8, 8 + Number(header))));
    assert.equal(tensors.__metadata__.version, String(info.version));
    const weights = Object.entries(tensors).filter(([name]) => /^(actor|critic)\./.test(name))
        .reduce((n, [, t]) => n + t.shape.reduce((a, b) => a * b), 0);
    assert.equal(weights, info.parameters);
    seen.add('get /v1/policy/weights 200');
    const same = await call(304, 'GET', '/v1/policy/weights', {}, undefined, { 'If-None-Match': r.headers.get('etag') });
    assert.equal(same.headers.get('cache-control'), r.headers.get('cache-control'));
    const other = await fetch(`${d.url}/v1/policy/weights`, { headers: { 'If-None-Match': '"v0-0"' } });
    assert.equal(other.status, 200);
});

await test('what pages are shown: updates, plasticity, the merge and its tree', async () => {
    const updates = (await call(200, 'GET', '/v1/policy/updates')).json.updates;
    assert.deepEqual(updates.map(u => [u.number, u.kind, u.version]), [[1, 'start', 1]]);
    assert.deepEqual((await call(200, 'GET', '/v1/policy/updates', { query: '?after=1' })).json.updates, []);
    await refuse(400, 'after', 'GET', '/v1/policy/updates', { query: '?after=x' });
    // nothing learns here
    assert.equal((await call(200, 'GET', '/v1/policy/plasticity')).json.known, false);

    const u = (await call(200, 'GET', '/v1/untagged')).json;
    const text = (await d.call('GET', '/metrics')).text;
    const metric = name => figure(text, name);
    assert.equal(u.nodes.length, metric('abrd_merge_tree_nodes'));
    assert.equal(u.nodes.filter(n => n.leaf && n.active).length, metric('abrd_merge_tree_leaves'));
    u.nodes.forEach((n, i) => assert.ok(i ? n.parent < i && !u.nodes[n.parent].leaf : n.parent === -1));
    u.weights.forEach((w, k) => assert.ok(Math.abs(w - u.nodes[u.chosen].x[k]) < 1e-6));
});

await test('health, readiness, metrics, pages', async () => {
    await call(200, 'GET', '/healthz');
    await call(200, 'GET', '/readyz');
    assert.match((await call(200, 'GET', '/metrics')).text, /^abrd_decisions_total [1-9]/m);
    const page = await call(200, 'GET', '/{page}', { page: '' });
    await call(304, 'GET', '/{page}', { page: '' }, undefined, { 'If-None-Match': page.headers.get('etag') });
    assert.equal((await call(200, 'GET', '/{page}', { page: 'openapi.json' })).json.openapi, '3.1.0');
    await call(404, 'GET', '/{page}', { page: 'nothing.html' });
    await call(308, 'GET', '/{page}', { page: 'docs' }); // the rendered manual (make web)
    await call(200, 'GET', '/demo/links');
    await call(404, 'GET', '/demo/{link}/{viewer}/{file}', { link: 'no-such-link', viewer: 'v', file: 'x.m4s' });
    await call(400, 'GET', '/demo/{link}/{viewer}/{file}', { link: '.x', viewer: 'v', file: 'x.m4s' });
    const link = { link: 'lte', viewer: 'v', file: 'link.json' }, change = { from_s: 30, at_s: [5, 12], factor: [0, 0.5] };
    const { now_s, time_s, mbps, ...changed } = (await call(200, 'PUT', '/demo/{link}/{viewer}/{file}', link, change)).json;
    assert.deepEqual([changed.from_s, changed.at_s, changed.factor], [30, [5, 12], [0, 0.5]]);
    await call(400, 'PUT', '/demo/{link}/{viewer}/{file}', link, { at_s: [5], factor: [1, 2] });
    await call(404, 'PUT', '/demo/{link}/{viewer}/{file}', { ...link, file: 'x.m4s' }, change);
});

// ---- the limits of the description are those of the daemon ----

const LONGEST = Array.from({ length: 32 }, (_, i) => 300 * (i + 1));
const LENGTHS = { ladder_kbps: n => Array.from({ length: n }, (_, i) => 300 * (i + 1)) };

/** The values at a field's limits and those just beyond, of this part of a request's schema. */
function* probes(name, node) {
    const s = node.oneOf ? node.oneOf[0] : node;
    // two beyond 2^53: the next number there is
    const step = v => (s.type === 'integer' ? (v > Number.MAX_SAFE_INTEGER ? 2 : 1) : Math.max(Math.abs(v), 1) * 1e-6);
    for (const [limit, sign] of [[s.minimum, -1], [s.maximum, 1]]) {
        if (limit === undefined) continue;
        const outside = limit - Math.sign(limit) * Math.min(Math.abs(limit) / 2, 1e-6);
        yield { fits: true, field: name, value: limit };
        yield { fits: false, field: name,
            value: sign < 0 && limit > 0 && s.type !== 'integer' ? outside : limit + sign * step(limit) };
    }
    if (s.type === 'string' && s.maxLength !== undefined) {
        yield { fits: true, field: name, value: 'a'.repeat(s.maxLength) };
        yield { fits: false, field: name, value: 'a'.repeat(s.maxLength + 1) };
    }
}

/** One request body per probe: base with one field, one entry or one length changed. */
function* bodies(schema, base) {
    for (const [name, raw] of Object.entries(api.components.schemas[schema].properties)) {
        if (['integer', 'number'].includes(raw.type))
            assert.ok('minimum' in raw && 'maximum' in raw, `${schema}.${name} has no limits`);
        for (const p of probes(name, raw)) yield { ...p, body: { ...base, [name]: p.value } };
        if (raw.type !== 'array') continue;
        for (const p of probes(name, raw.items)) {
            const up = p.value > (raw.items.minimum + raw.items.maximum) / 2;
            const entries = [...base[name]], at = up ? entries.length - 1 : 0;
            entries[at] = p.value;
            yield { ...p, field: `${name}[${at}]`, body: { ...base, [name]: entries } };
        }
        for (const [n, fits] of [[raw.minItems, true], [raw.minItems - 1, false], [raw.maxItems, true],
            [raw.maxItems + 1, false]]) {
            if (!(n >= 0)) continue;
            const entries = LENGTHS[name]?.(n) ?? Array.from({ length: n }, () => base[name][0]);
            yield { fits, field: name, value: `${n} entries`, body: { ...base, [name]: entries } };
        }
    }
}

const fresh = async () => (await call(201, 'POST', '/v1/sessions', {},
    { ladder_kbps: LONGEST, chunk_s: 4, chunks: 0 })).json.session;
const told = { bytes: 500000, download_s: 2.5, rebuffer_s: 0 };
const sizes = LONGEST.map(() => 1000);
const next = { next_bytes: sizes, next_quality: LONGEST.map(() => 50) };
const perLevel = { ...next, quality: LONGEST.map(() => 50), height: LONGEST.map(() => 720) };
/** What has an entry for each level goes with the whole ladder. */
const fitLadder = b => b.ladder_kbps.length === LONGEST.length ? b
    : Object.fromEntries(Object.entries(b).filter(([name]) => !(name in perLevel)));

/** Both lists of a history have the same length. */
const fitHistory = b => ({ ...b,
    download_s: b.download_s.length === 1 ? b.throughput_kbps.map(() => b.download_s[0]) : b.download_s,
    throughput_kbps: b.throughput_kbps.length === 1 ? b.download_s.map(() => b.throughput_kbps[0])
        : b.throughput_kbps });

for (const [schema, path, base, also] of [
    ['SessionOpen', () => '/v1/sessions',
        { ladder_kbps: LONGEST, chunk_s: 0.5, mu: [1, 1, 1], throughput_kbps: [1000], download_s: [1], ...perLevel },
        b => fitHistory(fitLadder(b))],
    ['Question', async () => `/v1/sessions/${await fresh()}/decisions`,
        { chunk: 1, buffer_s: 4, ...next }],
    ['Outcome', async () => `/v1/sessions/${await fresh()}/decisions`, { chunk: 0, level: 1, ...told },
        last => ({ chunk: Math.min(last.chunk + 1, 1e9), buffer_s: 4, last })],
    ['Reward', async () => `/v1/sessions/${await fresh()}/rewards`, { chunk: 0, level: 1, ...told }],
    ['Underway', async () => `/v1/sessions/${await fresh()}/abandon`,
        { chunk: 0, level: 1, bytes: 1000, elapsed_s: 1, buffer_s: 4 }],
    ['Decide', () => '/v1/decide', { ladder_kbps: LONGEST, chunk_s: 0.5, buffer_s: 4, mu: [1, 1, 1],
        throughput_kbps: [1000], download_s: [1], ...perLevel },
        b => fitHistory(fitLadder(b))],
    ['ProfileIn', () => '/v1/profiles/limits', { mu: [1, 1, 1] }],
])
    await test(`limits of ${schema} are those of the description`, async () => {
        let tried = 0;
        for (const p of bodies(schema, base)) {
            const method = schema === 'ProfileIn' ? 'PUT' : 'POST';
            const r = await d.call(method, await path(), also ? also(p.body) : p.body);
            const what = `${p.field} = ${p.value}: ${r.status} ${r.text.slice(0, 200)}`;
            const prefix = schema === 'Outcome' ? 'last.' : '';
            if (schema === 'Reward' && p.field === 'profile') continue; // of one that there is
            tried++;
            if (!p.fits) {
                assert.equal(r.status, 400, what);
                // two lists of one length: the first one is named
                const named = p.field === 'download_s' ? 'throughput_kbps' : prefix + p.field;
                assert.ok([named, prefix + p.field].includes(r.json.field), what);
            } else if (r.status !== 409) { // a chunk out of its order is within the limits
                assert.ok(r.status < 300, what);
            }
        }
        assert.ok(tried >= 6);
    });

await test('pages do not lead out of their folder', async () => {
    for (const path of ['/../Makefile', '/..%2fMakefile', '/%2e%2e/Makefile', '/demo/..%2f..%2fMakefile',
        '/package.json%00.html', '/.gitignore', '//etc/passwd', '/node_modules/x.js/../../../Makefile']) {
        const got = await d.raw(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
        assert.match(got, /^HTTP\/1.1 40[04] /, path);
    }
});

await test('sessions are deleted (forget.mjs says which)', async () => {
    await call(400, 'DELETE', '/v1/sessions', {}, { colour: 'red' });
    await call(200, 'DELETE', '/v1/sessions', {}, { labels: { tenant: 'nobody' } });
});

await test('every operation and nearly every answer of the description was met', () => {
    // what needs a token, a foreign origin, a full table or a stopping daemon is in limits.mjs,
    // life.mjs and the unit tests; what orders the learner is in gates.mjs, a trial in trial.mjs; of other
    // standards in pensieve.mjs and cmcd.mjs; media of other servers in origin.mjs; the manual's folder in manual.mjs
    const elsewhere = new Set(['401', '403', '429', '503']);
    const ordered = ['/', '/o/{origin}/{path}', '/v1/cmcd', '/v1/policy/gate', '/v1/policy/experts/{network}/{expert}',
        '/v1/trial', '/v1/trial/promote', '/v1/trial/rollback'];
    const missing = [];
    for (const [path, item] of Object.entries(api.paths).filter(([p]) => !ordered.includes(p)))
        for (const [method, operation] of Object.entries(item))
            for (const status of Object.keys(operation.responses))
                if (!elsewhere.has(status) && !seen.has(`${method} ${path} ${status}`))
                    missing.push(`${method} ${path} ${status}`);
    const allowed = ['get /{page} 308', 'get /v1/events 200', 'get /v1/events 400', 'get /demo/{link}/{viewer}/{file} 200',
        'get /demo/{link}/{viewer}/{file} 206', 'get /demo/{link}/{viewer}/{file} 416',
        'get /demo/links 404', 'put /demo/{link}/{viewer}/{file} 413', 'post /v1/sessions/{id}/decisions 413',
        'post /v1/sessions/{id}/rewards 413', 'post /v1/sessions/{id}/abandon 413', 'post /v1/decide 413', 'put /v1/profiles/{name} 413',
        'delete /v1/sessions 413'];
    assert.deepEqual(missing.filter(m => !allowed.includes(m)), []);
});

await d.stop();
done();

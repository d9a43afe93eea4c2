// Experts set aside and routers woken, in the real daemon while viewers ask.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerFits } from './lib/schema.mjs';
import { Daemon, done, folder, test, until } from './lib/daemon.mjs';

const d = await Daemon.start(['--seed', '3', '--latch', '50', '--quarantine', '4',
    '--noise', '0.25', '--tolerance', '0.02', '--learn-rate', '0.0001']);
const GATE = '/v1/policy/gate', EXPERT = '/v1/policy/experts/{network}/{expert}';

const metric = async (name, labels = '') => {
    const value = await d.metric(name + labels);
    assert.ok(!Number.isNaN(value), `no ${name}${labels}`);
    return value;
};

const aside = (network, expert, updates) =>
    d.call('PUT', `/v1/policy/experts/${network}/${expert}`, { updates });

/** Asks in sessions until told to stop; every answer must be good. */
class Viewers {
    constructor(n) {
        this.answers = [];
        this.bad = [];
        this.going = true;
        this.all = Promise.all(Array.from({ length: n }, (_, i) => this.watch(i)));
    }

    async ask(path, body, good) {
        const r = await d.call('POST', path, body);
        if (r.status !== good || r.json.expert < 0 || r.json.expert === null) this.bad.push(r.text);
        else this.answers.push(r.json);
        return r.json;
    }

    async watch(i) {
        const profile = ['documentary', 'live', 'news', 'pensieve'][i % 4];
        while (this.going) {
            const s = await this.ask('/v1/sessions', { ladder_kbps: [300, 750, 1200, 1850, 2850, 4300],
                chunk_s: 4, chunks: 20, profile }, 201);
            let level = s.level;
            for (let chunk = 1; chunk < 20 && this.going; chunk++) {
                const last = { chunk: chunk - 1, level, bytes: 400000 + 30000 * ((chunk * 7 + i) % 9),
                    download_s: 1 + 0.3 * ((chunk * 5 + i) % 8), rebuffer_s: 0 };
                const a = await this.ask(`/v1/sessions/${s.session}/decisions`,
                    { chunk, buffer_s: 4 + 2 * (chunk % 10), last }, 200);
                level = a.level;
            }
        }
    }

    async stop() {
        this.going = false;
        await this.all;
    }
}

await test('the weights of the start are measured, expert by expert', async () => {
    const at = '/v1/policy/plasticity';
    const r = await until('figures', async () => {
        const r = await d.call('GET', at);
        return r.json.known && r;
    });
    assert.equal(answerFits('GET', at, r), '');
    for (const network of ['actor', 'critic'])
        for (const [k, x] of r.json[network].entries())
            for (const [i, layer] of x.layers.entries()) {
                const labels = `{network="${network}",expert="${k}",layer="${i}"}`;
                assert.equal(await metric('abrd_policy_layer_weight_rms', labels), layer.weight_rms);
                if (x.reached) assert.equal(await metric('abrd_policy_layer_rank', labels), layer.rank);
            }
});

await test('the learner says how it is set', async () => {
    for (const [name, value] of [['noise', 0.25], ['tolerance', 0.02], ['learn-rate', 0.0001], ['quarantine', 4]]) {
        assert.equal(await metric('abrd_learner_setting', `{setting="${name}"}`), value);
        const r = await d.call('GET', '/v1/policy');
        assert.equal(answerFits('GET', '/v1/policy', r), '');
        assert.equal(r.json.settings[name], value);
    }
});

await test('an expert is set aside under load and comes back', async () => {
    const viewers = new Viewers(6);
    await until('answers', () => viewers.answers.length > 60);
    for (const expert of [0, 1, 2]) {
        const before = await metric('abrd_policy_version');
        const r = await aside('actor', expert, 1000);
        assert.equal(r.status, 202, r.text);
        assert.equal(answerFits('PUT', EXPERT, r), '');
        const version = await until('a version without it', async () => {
            const now = await metric('abrd_policy_version');
            return now > before && now;
        });
        assert.equal(await metric('abrd_experts_busy', '{network="actor"}'), 1);
        const at = viewers.answers.length;
        await until('answers by the others', () => viewers.answers.length > at + 120);
        const later = viewers.answers.filter(a => a.policy >= version);
        assert.ok(later.length > 60, `${later.length} answers`);
        assert.ok(later.every(a => a.expert !== expert), `expert ${expert} answered`);

        assert.equal((await aside('actor', expert, 0)).status, 202);
        await until('it is back', async () => !await metric('abrd_experts_busy', '{network="actor"}'));
        viewers.answers.length = 0;
        const told = await d.call('GET', '/v1/policy/updates');
        assert.equal(answerFits('GET', '/v1/policy/updates', told), '');
        assert.ok(told.json.updates.some(u => u.kind === 'order' && u.version === version));
    }
    await viewers.stop();
    assert.deepEqual(viewers.bad, []);
});

await test('somebody has to decide', async () => {
    assert.equal((await aside('actor', 0, 5)).status, 202);
    assert.equal((await aside('actor', 1, 5)).status, 202);
    await until('both are aside', async () => await metric('abrd_experts_busy', '{network="actor"}') === 2);
    const r = await aside('actor', 2, 5);
    assert.equal(r.status, 409, r.text);
    assert.equal(answerFits('PUT', EXPERT, r), '');
    assert.equal(r.json.field, 'expert');
    assert.equal((await aside('critic', 2, 5)).status, 202);
    await until('all is done', async () => await metric('abrd_experts_busy', '{network="critic"}') === 1);
    assert.deepEqual([await metric('abrd_experts_busy', '{network="actor"}')], [2]);
    for (const expert of [0, 1]) assert.equal((await aside('actor', expert, 0)).status, 202);
});

await test('what is wrong is named', async () => {
    for (const [network, expert, body, status, field] of [
        ['actor', 3, { updates: 1 }, 400, 'expert'], ['actor', 'x', { updates: 1 }, 400, 'expert'],
        ['router', 0, { updates: 1 }, 404, 'network'], ['actor', 0, { updates: -1 }, 400, 'updates'],
        ['actor', 0, { updates: 1e7 }, 400, 'updates'], ['actor', 0, {}, 400, 'updates']]) {
        const r = await d.call('PUT', `/v1/policy/experts/${network}/${expert}`, body);
        assert.equal(r.status, status, r.text);
        assert.equal(r.json.field, field, r.text);
        assert.equal(answerFits('PUT', EXPERT, r), '');
    }
    for (const body of [{}, { reset: false }, { reset: 1 }, { now: true }]) {
        const r = await d.call('POST', GATE, body);
        assert.equal(r.status, 400, r.text);
        assert.equal(answerFits('POST', GATE, r), '');
    }
});

await test('routers are woken', async () => {
    assert.equal(await metric('abrd_gate_resets_total', '{by="operator"}'), 0);
    const r = await d.call('POST', GATE, { reset: true });
    assert.equal(r.status, 202, r.text);
    assert.equal(answerFits('POST', GATE, r), '');
    assert.deepEqual([r.json.actor.latched, r.json.actor.converged], [false, 0]);
    await until('the learner did it', async () =>
        await metric('abrd_gate_resets_total', '{by="operator"}') === 1);
    for (const network of ['actor', 'critic'])
        assert.equal(await metric('abrd_gate_latched', `{network="${network}"}`), 0);
});

await test('what was taken on is not counted as a failure', async () => {
    const { text } = await d.call('GET', '/metrics');
    const codes = route => text.split('\n').filter(l => l.startsWith(`abrd_http_requests_total{route="${route}"`))
        .map(l => l.match(/code="(\w+)"/)[1]).sort();
    assert.deepEqual(codes(GATE), ['202', '400']);
    assert.deepEqual(codes(EXPERT), ['202', '400', '404', '409']);
});
await d.stop();

await test('with a token these need it', async () => {
    const token = join(folder, 'token');
    writeFileSync(token, 'abcdefghijklmnopqrst\n');
    const guarded = await Daemon.start(['--admin-token-file', token, '--learn', 'off']);
    assert.equal((await guarded.call('POST', GATE, { reset: true })).status, 401);
    assert.equal((await guarded.call('PUT', '/v1/policy/experts/actor/0', { updates: 1 })).status, 401);
    const auth = { Authorization: 'Bearer abcdefghijklmnopqrst' };
    const r = await guarded.call('POST', GATE, { reset: true }, auth);
    assert.equal(r.status, 409, r.text); // nothing learns here
    assert.equal(answerFits('POST', GATE, r), '');
});

done();

// What clients say of viewers without a hint counts for little: sessions that watched nothing, one
// address that says much, the same address by other names.
import assert from 'node:assert/strict';
import { answerFits } from './lib/schema.mjs';
import { Daemon, done, test } from './lib/daemon.mjs';

const LADDER = [300, 750, 1200, 1850, 2850, 4300], CHUNK_S = 4;
const video = { ladder_kbps: LADDER, chunk_s: CHUNK_S, chunks: 100 };
const start = (...args) => Daemon.start(['--learn', 'off', '--open-rate', '0', '--trust-proxy', '127.0.0.1', ...args]);

const metric = (text, name) => {
    const line = text.split('\n').find(l => l.startsWith(`${name} `));
    assert.ok(line, `no ${name}`);
    return Number(line.slice(name.length + 1));
};
const refused = (text, reason) => metric(text, `abrd_untagged_labels_refused_total{reason="${reason}"}`);
const news = text => metric(text, 'abrd_untagged_mix{profile="news"}');
const metrics = async d => (await d.call('GET', '/metrics')).text;

/** Waits until so many slots have ended; how long that takes is nobody's business. */
async function slots(d, n) {
    for (;;) {
        const text = await metrics(d);
        if (metric(text, 'abrd_slots_total') >= n) return text;
        await new Promise(resolve => setTimeout(resolve, 100));
    }
}

/** Opens a session, plays `chunks` of it as decided, and says what the viewer was. */
async function session(d, chunks, label, address) {
    const headers = address ? { 'X-Forwarded-For': address } : {};
    const opened = await d.call('POST', '/v1/sessions', video, headers);
    assert.equal(opened.status, 201, opened.text);
    const path = `/v1/sessions/${opened.json.session}`;
    let { level } = opened.json;
    for (let chunk = 1; chunk <= chunks; chunk++) {
        const bytes = LADDER[level] * 1000 / 8 * CHUNK_S;
        const last = { chunk: chunk - 1, level, bytes, download_s: bytes * 8 / 3e6, rebuffer_s: 0 };
        const r = await d.call('POST', `${path}/decisions`, { chunk, buffer_s: 12, last }, headers);
        assert.equal(r.status, 200, r.text);
        ({ level } = r.json);
    }
    const ended = await d.call('DELETE', `${path}?profile=${label}`, undefined, headers);
    assert.equal(ended.status, 204, ended.text);
}

/** n sessions, a few at a time. */
async function sessions(d, n, chunks, label, address = () => undefined) {
    let next = 0;
    const some = async () => {
        while (next < n) await session(d, chunks, label, address(next++));
    };
    await Promise.all(Array.from({ length: 8 }, some));
}

await test('ten sessions that watched nothing do not move the mix', async () => {
    const d = await start('--slot', '1');
    const before = news(await metrics(d));
    assert.ok(Math.abs(before - 1 / 6) < 1e-12, `${before}`); // six built-in profiles in points
    await sessions(d, 10, 0, 'news');
    const text = await slots(d, metric(await metrics(d), 'abrd_slots_total') + 2);
    assert.equal(news(text), before);
    assert.equal(metric(text, 'abrd_untagged_mix_known'), 0);
    assert.equal(refused(text, 'unwatched'), 10);
});

await test('419 labels of one address move the mix as far as the prior lets them', async () => {
    const d = await start('--slot', '1000000', '--slot-sessions', '419');
    await sessions(d, 419, 8, 'news');
    const text = await slots(d, 1);
    const keep = 2 ** (-1 / 3), most = 20 * (1 - keep);
    assert.ok(news(text) <= (most + 20 / 6) / (most + 20) + 1e-9, `news ${news(text)}`);
    assert.ok(news(text) > 1 / 6);
    assert.ok(refused(text, 'address') > 380, `${refused(text, 'address')} refused`);
    assert.equal(refused(text, 'unwatched'), 0);

    const r = await d.call('GET', '/v1/untagged');
    assert.equal(answerFits('GET', '/v1/untagged', r), '');
    assert.ok(r.json.exam.loss <= 0.01, JSON.stringify(r.json.exam));
});

await test('as many addresses as sessions count in full, those of one /64 as one', async () => {
    for (const [address, one] of [[i => `192.0.2.${i}`, false], [i => `2001:db8:1:2::${i.toString(16)}`, true],
        [i => `2001:db8:1:${i.toString(16)}::1`, false]]) {
        const d = await start('--slot', '1000000', '--slot-sessions', '48');
        await sessions(d, 48, 8, 'news', address);
        const text = await slots(d, 1);
        if (one) assert.ok(news(text) < 0.4 && refused(text, 'address') > 30, `news ${news(text)}`);
        else assert.ok(news(text) > 0.65 && refused(text, 'address') === 0, `news ${news(text)}`);
        await d.stop();
    }
});

done();

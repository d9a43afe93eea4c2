// Labels of sessions: what is accepted, and where they are seen again, also after kill -9.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';

import { ABRD, Daemon, done, folder, test } from './lib/daemon.mjs';
import { answerFits } from './lib/schema.mjs';

const video = { ladder_kbps: [300, 750, 1200, 1850, 2850, 4300], chunk_s: 4, chunks: 100, profile: 'news' };
const ARMS = 'old:0.5:player, new:0.5:abrd';
const args = ['--seed', '5', '--learn', 'off', '--open-rate', '0', '--session-rate', '0', '--address-rate', '0'];
const data = () => mkdtempSync(join(folder, 'labels-'));
const start = (...more) => Daemon.start([...args, ...more]);

async function ok(d, method, path, body, status = 200) {
    const r = await d.call(method, path, body);
    assert.equal(r.status, status, r.text);
    return r.json;
}
const open = (d, more = {}) => ok(d, 'POST', '/v1/sessions', { ...video, ...more }, 201);

const ALL = { device: 'tv', cdn: 'edge-1', country: 'DE', app: 'web_4.2', network: 'wifi',
    experiment: 'spring', tenant: 'kids' };

await test('labels come back in the answer, the history and the CSV', async () => {
    const d = await start('--data', data());
    const opened = await d.call('POST', '/v1/sessions', { ...video, labels: ALL });
    answerFits('POST', '/v1/sessions', opened);
    assert.deepEqual(opened.json.labels, ALL);
    const path = `/v1/sessions/${opened.json.session}`;
    const history = await d.call('GET', path);
    answerFits('GET', '/v1/sessions/{id}', history);
    assert.deepEqual(history.json.labels, ALL);
    const { text } = await d.call('GET', `${path}?format=csv`);
    const [head, row] = text.split('\r\n').map(line => line.split(','));
    assert.equal(head.length, row.length);
    assert.deepEqual(Object.fromEntries(head.map((k, i) => [k, row[i]]).slice(-7)), ALL);

    const some = await open(d, { labels: { device: 'phone', cdn: null, app: '' } });
    assert.deepEqual(some.labels, { device: 'phone' });
    const none = await open(d);
    assert.equal('labels' in none, false);
    assert.match((await d.call('GET', `/v1/sessions/${none.session}?format=csv`)).text.split('\r\n')[1], /,decide,,,,,,,,,$/);
});

await test('what is no label is refused, with its name', async () => {
    const d = await start();
    for (const [labels, field] of [
        [{ colour: 'red' }, 'labels.colour'],
        [{ device: 'smart tv' }, 'labels.device'],
        [{ device: 'a,b' }, 'labels.device'],
        [{ tenant: 'x'.repeat(32) }, 'labels.tenant'],
        [{ app: 7 }, 'labels.app'],
        ['tv', 'labels'],
    ]) {
        const r = await d.call('POST', '/v1/sessions', { ...video, labels });
        assert.deepEqual([r.status, r.json.field], [400, field], r.text);
    }
    const r = await d.call('POST', '/v1/sessions', { ...video, labels: { colour: 'red' } });
    assert.match(r.json.detail, /device, cdn, country, app, network, experiment, tenant/);
    await open(d, { labels: { tenant: 'x'.repeat(31) } });
});

await test('/metrics by one label, with so many values', async () => {
    const d = await start('--metrics-label', 'device', '--metrics-values', '2');
    for (const device of ['tv', 'phone', 'tv', 'watch', undefined]) {
        const { session } = await open(d, { labels: { device } });
        const last = { chunk: 0, level: 1, bytes: 400000, download_s: 1, rebuffer_s: 1 };
        await ok(d, 'POST', `/v1/sessions/${session}/decisions`, { chunk: 1, buffer_s: 4, last });
        await ok(d, 'DELETE', `/v1/sessions/${session}`, undefined, 204);
    }
    for (const [value, n] of [['tv', 2], ['phone', 1], ['other', 1], ['none', 1]]) {
        assert.equal(await d.metric(`abrd_label_sessions_total{label="device",value="${value}"}`), n);
        assert.equal(await d.metric(`abrd_label_played_seconds_total{label="device",value="${value}"}`), 4 * n);
    }
    assert.equal((await d.call('GET', '/metrics')).text.includes('value="watch"'), false);
    const without = await start();
    assert.equal((await without.call('GET', '/metrics')).text.includes('abrd_label'), false);
    const { status, stderr } = spawnSync(ABRD, ['serve', '--port', '0', '--metrics-label', 'colour'], { encoding: 'utf8' });
    assert.notEqual(status, 0);
    assert.match(stderr, /metrics-label: 'colour' is none of/);
});

await test('kill -9 keeps labels and arms', async () => {
    const folder = data(), more = ['--data', folder, '--trial', 'spring', '--trial-arms', ARMS];
    let d = await start(...more);
    const opened = [];
    for (let i = 0; i < 12; i++) opened.push(await open(d, { viewer: `viewer-${i}`, labels: { device: i % 2 ? 'tv' : 'phone' } }));
    for (const o of opened) await ok(d, 'GET', `/v1/sessions/${o.session}`); // waits for the store
    await d.kill('SIGKILL');
    d = await start(...more);
    for (let i = 0; i < 12; i++) {
        const { arm, labels } = await ok(d, 'GET', `/v1/sessions/${opened[i].session}`);
        assert.deepEqual([arm, labels], [opened[i].arm, { device: i % 2 ? 'tv' : 'phone' }]);
        const next = await open(d, { viewer: `viewer-${i}`, labels: { device: 'desktop' } });
        assert.equal(next.arm, opened[i].arm); // labels do not move a viewer
    }
});

done();

// trial.mjs - the page of the trial in a real Chromium: its numbers are those of /v1/trial, an arm is
// promoted and rolled back with the token only, and it can be read on a phone, light and dark.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { faint } from './contrast.mjs';
import { Daemon, ROOT } from './daemon.mjs';
import { test, until } from './harness.mjs';
import { launch } from './stage.mjs';

const TOKEN = 'a-token-of-32-bytes-for-this-test';
const video = { ladder_kbps: [300, 750, 1200, 1850], chunk_s: 4, chunks: 100, profile: 'news' };

const call = (daemon, method, where, body, token) => daemon.send(method, where, body,
    token && { authorization: `Bearer ${token}` });

/** Viewers of the trial: some end, one in five has no chunk, one in four comes again. */
async function viewers(daemon, n) {
    for (let i = 0; i < n; i++) {
        const { session } = await call(daemon, 'POST', '/v1/sessions', { ...video, viewer: `v${i - (i % 4 === 3)}` });
        for (let chunk = 1; i % 5 && chunk < 4; chunk++) {
            const last = { chunk: chunk - 1, level: i % 3, bytes: 400000, download_s: 1, rebuffer_s: chunk > 1 ? .1 : .8 };
            await call(daemon, 'POST', `/v1/sessions/${session}/decisions`, { chunk, buffer_s: 8, last });
        }
        if (i % 7) await call(daemon, 'DELETE', `/v1/sessions/${session}`);
    }
}

/** The page's words of the flow, by arm. */
const flowOf = page => page.evaluate(() => Object.fromEntries([...document.querySelectorAll('.arm')].map(arm =>
    [arm.dataset.arm, [...arm.querySelectorAll('.box b')].slice(1).map(b => Number(b.textContent))])));

/** The page must not be wider than the window, and every text must fit into its box. */
const overflows = page => page.evaluate(() => [...document.querySelectorAll('body *')]
    .filter(e => !e.closest('svg, pre, .skip') && e.getBoundingClientRect().right > innerWidth + 1)
    .map(e => e.outerHTML.slice(0, 80)));

/** The report with an arm that a guard rail stopped. */
function stopped(report) {
    const r = structuredClone(report), bad = r.arms[1];
    r.shares_mismatch = true;
    bad.stopped_by = 'stall_ratio';
    Object.assign(bad.figures.find(f => f.figure === 'stall_ratio'), { difference: .02, lo: .01, hi: .03, needed: 0 });
    Object.assign(bad.figures.find(f => f.figure === 'quality'), { difference: 5, lo: 2, hi: 8, needed: 0 });
    return r;
}

export async function trialTests() {
    const daemon = new Daemon({ learn: 'off', 'open-rate': 0, 'session-rate': 0, 'address-rate': 0 }, { stored: true });
    const file = path.join(daemon.data, 'token');
    fs.writeFileSync(file, `${TOKEN}\n`, { mode: 0o600 });
    daemon.config['admin-token-file'] = file;
    await daemon.start();
    const browser = await launch();
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } }), errors = [];
    page.on('pageerror', e => errors.push(String(e)));
    page.on('dialog', d => d.accept());
    const shoot = async name => {
        fs.mkdirSync(path.join(ROOT, 'build'), { recursive: true });
        for (const [width, scheme] of [[1280, 'light'], [360, 'light'], [360, 'dark']]) {
            await page.setViewportSize({ width, height: 800 });
            await page.emulateMedia({ colorScheme: scheme });
            await page.screenshot({ path: path.join(ROOT, `build/trial-${name}-${width}-${scheme}.png`), fullPage: true });
            assert.deepEqual(await overflows(page), [], `${name} at ${width}`);
            assert.deepEqual(await faint(page), [], `${name}, ${scheme}`);
        }
        await page.setViewportSize({ width: 1280, height: 900 });
        await page.emulateMedia({ colorScheme: 'light' });
    };
    const open = async () => {
        await page.goto(`${daemon.url}/trial.html`);
        await page.waitForSelector('#daemon-line[data-up="yes"]');
    };
    try {
        await test('trial page: without a trial it says how to begin one', async () => {
            await open();
            assert.ok(await page.isVisible('#empty'));
            assert.ok(!await page.isVisible('#flow'));
            await shoot('empty');
        });

        await test('trial page: the flow is that of the report, and adds up', async () => {
            await call(daemon, 'PUT', '/v1/trial', { name: 'spring', sessions: 1000,
                arms: 'old:0.4:player, new:0.4:abrd, tail:0.2:mpc-tail' }, TOKEN);
            await viewers(daemon, 40);
            await open();
            const { arms } = await call(daemon, 'GET', '/v1/trial'), flow = await flowOf(page);
            for (const a of arms) {
                assert.deepEqual(flow[a.name], [a.assigned, a.again, a.fell_back, a.empty, a.running, a.analysed]);
                assert.equal(a.assigned, a.again + a.fell_back + a.empty + a.running + a.analysed);
            }
            assert.match(await page.textContent('#assigned'), /Assigned 40/);
            assert.deepEqual(await page.$$eval('[data-figure]', all => all.map(e => e.dataset.figure)),
                arms[0].figures.map(f => f.figure));
            assert.equal(await page.locator('.rows .text').count(), 2 * arms[0].figures.length);
            await shoot('runs');
        });

        await test('trial page: a stopped arm, what is surely worse or better, and shares that came out wrong', async () => {
            const report = stopped(await call(daemon, 'GET', '/v1/trial'));
            await page.route('**/v1/trial', route => route.fulfill({ json: report }));
            await open();
            const alerts = await page.$$eval('#alerts li', all => all.map(e => e.textContent));
            assert.equal(alerts.length, 2);
            assert.match(alerts[0], /stopped new: stall ratio is surely worse/);
            assert.match(await page.textContent('[data-figure="stall_ratio"] .worse.text'), /\+2\.00 \(\+1\.00 to \+3\.00\), worse/);
            assert.match(await page.textContent('[data-figure="quality"] .better.text'), /, better/);
            await shoot('stopped');
            await page.unroute('**/v1/trial');
        });

        await test('trial page: promotion and rollback need the token', async () => {
            await open();
            const phase = async () => (await call(daemon, 'GET', '/v1/trial')).phase;
            await page.click('text=Promote new');
            await until(async () => /refused/.test(await page.textContent('#answer')), 'the refusal');
            assert.equal(await phase(), 'runs');
            await page.fill('#token', TOKEN);
            await page.click('text=Promote new');
            await until(async () => await page.textContent('#answer') === 'done', 'the promotion');
            assert.equal(await phase(), 'promoted');
            assert.match(await page.textContent('#phase'), /promoted/);
            await page.click('text=Roll back');
            await until(async () => /ended/.test(await page.textContent('#phase')), 'the rollback');
            assert.equal(await phase(), 'ended');
            assert.ok(await page.isDisabled('text=Roll back'));
        });

        await test('trial page: without the daemon it says so, and keeps what it shows', async () => {
            await page.route('**/v1/trial', route => route.abort());
            await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
            await until(async () => await page.getAttribute('#daemon-line', 'data-up') === 'no', 'the line');
            assert.ok(await page.isVisible('#flow'));
            assert.deepEqual(errors, []);
        });
    } finally {
        await browser.close();
        await daemon.stop();
    }
}

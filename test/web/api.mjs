// api.mjs - the page of the HTTP API in a real Chromium: it shows every route of openapi.json, and its forms
// send what curl would send.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import { faint } from './contrast.mjs';
import { Daemon, ROOT } from './daemon.mjs';
import { test, until } from './harness.mjs';
import { launch } from './stage.mjs';

const TOKEN = 'a-token-of-the-tests';

/** Opens a route, fills its form and sends it: {status, answer, curl}. */
async function tryIt(page, id, values = {}) {
    const box = page.locator(`details#${id}`);
    if (!await box.evaluate(e => e.open)) await box.locator('summary').click();
    for (const [name, value] of Object.entries(values)) {
        const field = box.locator(`[name="${name}"]`);
        if (await field.evaluate(e => e.tagName) === 'SELECT') await field.selectOption(value);
        else await field.fill(value);
    }
    await box.locator('.send').click();
    await until(async () => /^\d/.test(await box.locator('.status').textContent()) &&
        await box.locator('button', { hasText: 'Stop' }).isDisabled(), `the answer of ${id}`);
    const text = what => box.locator(what).textContent();
    return { status: await text('.status'), answer: await text('.answer'), curl: await text('.curl') };
}

export async function apiTests() {
    const api = JSON.parse(fs.readFileSync(path.join(ROOT, 'web/openapi.json'), 'utf8'));
    const ids = Object.values(api.paths).flatMap(p => Object.values(p)).map(op => op.operationId).filter(Boolean);
    const dir = fs.mkdtempSync(path.join(ROOT, 'build/api-')), token = path.join(dir, 'token');
    fs.writeFileSync(token, `${TOKEN}\n`, { mode: 0o600 });
    const daemon = await new Daemon({ learn: 'off', 'admin-token-file': token }).start();
    const browser = await launch();
    try {
        const page = await browser.newPage(), foreign = [], errors = [];
        page.on('request', r => r.url().startsWith(daemon.url) || foreign.push(r.url()));
        page.on('pageerror', e => errors.push(e.message));
        await page.goto(`${daemon.url}/api.html`);
        await page.waitForSelector('body[data-ready]');

        await test('api page: every route, and it can be opened', async () => {
            assert.deepEqual((await page.locator('details.route').evaluateAll(all => all.map(e => e.id))).sort(), [...ids].sort());
            await page.evaluate(() => document.querySelectorAll('details.route').forEach(d => { d.open = true; }));
            await until(async () => await page.locator('.inside').count() === ids.length, 'the forms of all routes');
            await page.evaluate(() => document.querySelectorAll('details.route').forEach(d => { d.open = false; }));
        });

        await test('api page: a search keeps the routes that fit', async () => {
            await page.fill('#search', 'get profiles');
            assert.match(await page.locator('#found').textContent(), new RegExp(`^[1-9]\\d? of ${ids.length} routes$`));
            assert.ok(await page.locator('#getProfile, #listProfiles, #getProfiles').first().isVisible());
            assert.ok(!await page.locator('#decide').isVisible());
            await page.fill('#search', '');
            assert.ok(await page.locator('#decide').isVisible());
        });

        await test('api page: a POST and a GET are answered as for curl', async () => {
            const { status, answer, curl } = await tryIt(page, 'decide');
            assert.match(status, /^200 /);
            assert.ok(Number.isInteger(JSON.parse(answer).level));
            const same = JSON.parse(execFileSync('sh', ['-c', `${curl} -sS`], { encoding: 'utf8' }));
            assert.equal(same.level, JSON.parse(answer).level);

            const wrong = await tryIt(page, 'decide', { body: '{"chunk_s": -1}' });
            assert.match(wrong.status, /^400 /);
            assert.equal(JSON.parse(wrong.answer).error, 'invalid');

            const [, get] = Object.entries(api.paths).find(([p]) => p === '/v1/profiles/{name}');
            const one = await tryIt(page, get.get.operationId, { 'path:name': 'live' });
            assert.match(one.status, /^200 /);
            assert.equal(JSON.parse(one.answer).name, 'live');
        });

        await test('api page: the token goes to the routes that need it, and into no command', async () => {
            const put = api.paths['/v1/profiles/{name}'].put.operationId;
            const without = await tryIt(page, put, { 'path:name': 'mine' });
            assert.match(without.status, /^401 .*enter the daemon/);
            await page.fill('#token', TOKEN);
            const sent = page.waitForRequest(r => r.url().endsWith('/v1/profiles/mine'));
            const made = await tryIt(page, put, { 'path:name': 'mine' });
            assert.match(made.status, /^201 /);
            assert.equal((await (await sent).allHeaders()).authorization, `Bearer ${TOKEN}`);
            assert.ok(made.curl.includes('$TOKEN') && !made.curl.includes(TOKEN), made.curl);
            const plain = page.waitForRequest(r => r.url().endsWith('/v1/decide'));
            await tryIt(page, 'decide');
            assert.equal((await (await plain).allHeaders()).authorization, undefined);
        });

        await test('api page: an endless answer is stopped', async () => {
            const events = api.paths['/v1/events'].get.operationId, box = page.locator(`details#${events}`);
            await box.locator('summary').click();
            await box.locator('.send').click();
            await until(async () => (await box.locator('.answer').textContent()).includes('data:'), 'an event');
            await box.locator('button', { hasText: 'Stop' }).click();
            await until(async () => (await box.locator('.status').textContent()).includes('stopped'), 'its end');
        });

        await test('api page: a phone needs no sideways scrolling, all can be read, and nothing comes from elsewhere', async () => {
            await page.setViewportSize({ width: 360, height: 740 });
            await page.evaluate(() => document.querySelectorAll('details.route').forEach(d => { d.open = true; }));
            assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
            for (const colorScheme of ['light', 'dark']) {
                await page.emulateMedia({ colorScheme });
                assert.deepEqual(await faint(page), [], colorScheme);
            }
            assert.deepEqual([foreign, errors], [[], []]);
        });
    } finally {
        await browser.close();
        await daemon.stop();
        fs.rmSync(dir, { recursive: true, force: true });
    }
}

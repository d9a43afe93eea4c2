// manual.mjs - the manual in a browser: its search, a phone's width, dark colours.
import assert from 'node:assert/strict';

import { faint } from './contrast.mjs';
import { Daemon } from './daemon.mjs';
import { test, until } from './harness.mjs';
import { launch } from './stage.mjs';

const PAGES = ['', 'dashjs.html', 'deploy-reference.html', 'options.html', 'scores.html', 'papers.html'];

export async function manualTests() {
    const daemon = await new Daemon().start(), browser = await launch();
    const open = async (where, options) => {
        const context = await browser.newContext(options), page = await context.newPage(), errors = [];
        page.on('pageerror', e => errors.push(e.message));
        page.on('response', r => { if (r.status() >= 400) errors.push(`${r.status()} ${r.url()}`); });
        await page.goto(`${daemon.url}/docs/${where}`);
        return { page, errors, close: () => context.close() };
    };
    try {
        await test('manual: the search finds an option, a metric and a question, and Enter goes there', async () => {
            const { page, errors, close } = await open('');
            const first = async query => {
                await page.keyboard.press('Escape');
                await page.fill('#search', query);
                return until(() => page.evaluate(() => document.querySelector('#results a b')?.textContent), `results for ${query}`);
            };
            await page.keyboard.press('/');
            assert.equal(await page.evaluate(() => document.activeElement.id), 'search');
            for (const [query, heading] of [['--port', '--port N'], ['which metric is start-up', 'Which metric shows the start-up?'],
                ['abrd_bus_queue', 'abrd_bus_queue'], ['daemon dies', 'What happens when the daemon dies?']])
                await until(async () => await first(query) === heading, `${heading} first for "${query}"`);
            await page.fill('#search', 'qqzzqq');
            await until(() => page.evaluate(() => /Nothing found/.test(document.getElementById('results').textContent)), 'nothing to be found');
            await until(async () => await first('--session-ttl') === '--session-ttl S *', 'the option');
            await page.keyboard.press('Enter');
            await page.waitForURL(/deploy-reference\.html#session-ttl$/);
            assert.deepEqual(errors, []);
            await close();
        });

        await test('manual: pages fit a phone, where the contents open at a tap', async () => {
            for (const where of PAGES) {
                const { page, errors, close } = await open(where, { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true });
                assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360, where);
                const nav = page.locator('nav.contents');
                assert.equal(await nav.isVisible(), false);
                await page.tap('label[for=menu]');
                assert.equal(await nav.isVisible(), true);
                assert.deepEqual(errors, []);
                await close();
            }
        });

        await test('manual: dark and light have other colours, and text that can be read on them', async () => {
            const seen = [];
            for (const colorScheme of ['light', 'dark']) {
                for (const where of ['faq.html', 'commands.html', 'dashjs.html']) {
                    const { page, close } = await open(where, { colorScheme });
                    if (where === 'faq.html') {
                        await page.fill('#search', 'port');
                        await until(() => page.locator('#results a').count(), 'results');
                        seen.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
                    }
                    assert.deepEqual(await faint(page), [], `${colorScheme}, ${where}`);
                    await close();
                }
            }
            assert.notEqual(...seen);
        });
    } finally {
        await browser.close();
        await daemon.stop();
    }
}

// cmcd.mjs - dash.js and Shaka as they come, without the plugin, steered by the answers to what they
// tell of themselves. The daemon's policy always says the same level here, so that a cap is told from a choice.
import assert from 'node:assert/strict';
import path from 'node:path';

import { Daemon } from './daemon.mjs';
import { test, until } from './harness.mjs';
import { launch } from './stage.mjs';
import { PLAYERS, alwaysSays, capOf, chunkOf, stockPage } from './stock.mjs';

const CAP = 2, CAP_KBPS = 1200;

/**
 * Lets a player fetch the first minute by its own rules, until `enough` of what it asked for.
 * @returns {Promise<{asked: object[], reports: number[], measured: number}>} asked: chunk, kbps, and
 *     the cap of the pictures that the answer before told; measured: downloads that need no estimate
 */
async function play(browser, daemon, kind, options, enough) {
    const page = await stockPage(browser, daemon, kind);
    const asked = [], reports = [], wrong = [];
    let cap = NaN, measured = 0;
    page.on('pageerror', e => wrong.push(e.message));
    page.on('request', q => {
        const segment = chunkOf(q.url());
        if (segment) asked.push({ ...segment, cap });
    });
    page.on('response', r => {
        const h = r.headers();
        if (r.url().endsWith('/v1/cmcd')) reports.push(r.status());
        if (h['abrd-cmcd-error']) wrong.push(h['abrd-cmcd-error']);
        if (chunkOf(r.url())?.chunk > 0 && h['abrd-session'] && !/download_s/.test(h['abrd-estimated'])) measured++;
        if (chunkOf(r.url())) cap = capOf(h);
    });
    await page.evaluate(PLAYERS[kind].begin, {
        url: `${daemon.url}/demo/unlimited/${options.sid}/minute-av.mpd`, cap: true, headers: false, ...options,
    });
    await until(() => enough(asked, reports), 'chunks');
    await page.close();
    assert.deepEqual(wrong, []);
    return { asked, reports, measured };
}

const above = asked => asked.filter(a => a.kbps > CAP_KBPS);
const capped = asked => asked.filter(a => a.cap === CAP_KBPS);

export async function cmcdTests() {
    const daemon = new Daemon({ explore: 0, learn: 'off', untagged: 'default', default_profile: 'pensieve' });
    const file = path.join(daemon.data, 'always.safetensors');
    alwaysSays(CAP, file);
    daemon.config.policy = file;
    await daemon.start();
    const browser = await launch();
    try {
        for (const kind of Object.keys(PLAYERS)) {
            await test(`${kind} without the plugin: what it does without a cap`, () =>
                play(browser, daemon, kind, { sid: `${kind}-free`, cap: false, headers: true },
                    list => above(capped(list)).length));

            await test(`${kind} without the plugin: CMCD in the query, the cap of CMSD is followed`, async () => {
                const { asked } = await play(browser, daemon, kind, { sid: `${kind}-capped` },
                    list => capped(list).length >= 8);
                assert.deepEqual(above(capped(asked)), []);
            });
        }

        await test('dashjs without the plugin: CMCD 2 in headers, with reports of events', async () => {
            const { asked, reports, measured } = await play(browser, daemon, 'dashjs',
                { sid: 'second', headers: true, reports: `${daemon.url}/v1/cmcd` },
                (list, told) => capped(list).length >= 8 && told.length >= 4);
            assert.deepEqual(above(capped(asked)), []);
            assert.ok(reports.every(status => status === 204), `${reports}`);
            assert.ok(measured > 0, 'no report was taken for the chunk it is about');
        });
    } finally {
        await browser.close();
        await daemon.stop();
    }
}

// cmcd.mjs - dash.js and Shaka as they come, without the plugin, steered by the answers to what they
// tell of themselves. The daemon's policy always says the same level here, so that a cap is told from a choice.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { crc32 } from '../http/lib/tools.mjs';
import { Daemon, ROOT } from './daemon.mjs';
import { test, until } from './harness.mjs';
import { SCRIPTS, launch } from './stage.mjs';

const CAP = 2, CAP_KBPS = 1200, AUDIO_KBPS = 64;
const PAGE = '<!doctype html><title>stock</title><video id="v" muted width="426" height="240"></video>' +
    '<script src="/stock.js"></script>';

/** How each player begins, in the page. */
const PLAYERS = {
    dashjs: {
        begin({ url, sid, cap, headers, reports }) {
            const player = window.dashjs.MediaPlayer().create();
            const keys = ['br', 'bs', 'bsd', 'e', 'ot', 'sid', 'sta', 'ts', 'ttlb', 'url', 'v'];
            player.updateSettings({ streaming: {
                cmcd: {
                    enabled: true, sid, cid: 'minute', mode: headers ? 'header' : 'query',
                    ...(reports && { version: 2, eventTargets: [
                        { enabled: true, url: reports, events: ['ps', 'rr'], enabledKeys: keys, batchSize: 1 }] }),
                },
                cmsd: { enabled: true, abr: { applyMb: cap } },
                // room for all, so that the chunks come one after the other
                buffer: { bufferTimeDefault: 60, bufferTimeAtTopQuality: 60, fastSwitchEnabled: false },
                fragmentRequestTimeout: 120000,
                lastBitrateCachingInfo: { enabled: false },
            } });
            player.initialize(document.querySelector('#v'), url, true);
        },
    },
    shaka: {
        async begin({ url, sid, cap, headers }) {
            const player = new window.shaka.Player();
            await player.attach(document.querySelector('#v'));
            player.configure({
                cmcd: { enabled: true, sessionId: sid, contentId: 'minute', useHeaders: headers },
                cmsd: { applyMaximumSuggestedBitrate: cap },
                abr: { switchInterval: 0 },
                streaming: { bufferingGoal: 60 },
            });
            await player.load(url);
        },
    },
};

/** The shipped policy with heads that know one level (include/rl/ckpt.h tells the form). */
function alwaysSays(level, file) {
    const bytes = fs.readFileSync(path.join(ROOT, 'deploy/policy/moe.safetensors'));
    const n = Number(bytes.readBigUInt64LE(0));
    const { __metadata__: meta, ...tensors } = JSON.parse(bytes.toString('utf8', 8, 8 + n));
    const data = Buffer.from(bytes.subarray(8 + n));
    for (const [name, { data_offsets: [from, to] }] of Object.entries(tensors))
        if (new RegExp(`^actor\\.expert\\.\\d+\\.${meta.layers}\\.`).test(name)) {
            data.fill(0, from, to);
            if (name.endsWith('.bias')) data.writeFloatLE(100, from + 4 * level);
        }
    const rest = Object.keys(meta).filter(k => k !== 'crc32').sort().map(k => `${k}=${meta[k]}\n`).join('');
    meta.crc32 = crc32(data, Buffer.from(rest)).toString(16).padStart(8, '0');
    const header = JSON.stringify({ __metadata__: meta, ...tensors });
    const padded = Buffer.from(header.padEnd(Math.ceil(header.length / 8) * 8));
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(padded.length));
    fs.writeFileSync(file, Buffer.concat([length, padded, data]));
}

/**
 * Lets a player fetch the first minute by its own rules, until `enough` of what it asked for.
 * @returns {Promise<{asked: object[], reports: number[], measured: number}>} asked: chunk, kbps, and
 *     the cap of the pictures that the answer before told; measured: downloads that need no estimate
 */
async function play(browser, daemon, kind, options, enough) {
    const page = await browser.newPage({ viewport: { width: 500, height: 300 } });
    const asked = [], reports = [], wrong = [];
    let cap = NaN, measured = 0;
    const parse = url => /\/(\d+)-(\d+)\.m4s$/.exec(new URL(url).pathname);
    page.on('pageerror', e => wrong.push(e.message));
    page.on('request', q => {
        const m = parse(q.url());
        if (m) asked.push({ chunk: Number(m[2]) - 1, kbps: Number(m[1]), cap });
    });
    page.on('response', r => {
        const h = r.headers();
        if (r.url().endsWith('/v1/cmcd')) reports.push(r.status());
        if (h['abrd-cmcd-error']) wrong.push(h['abrd-cmcd-error']);
        if (Number(parse(r.url())?.[2]) > 1 && h['abrd-session'] && !/download_s/.test(h['abrd-estimated'])) measured++;
        if (parse(r.url())) cap = Number(/;mb=(\d+)/.exec(h['cmsd-dynamic'])?.[1]) - AUDIO_KBPS;
    });
    await page.route('**/stock.html', route => route.fulfill({ contentType: 'text/html', body: PAGE }));
    await page.route('**/stock.js', route => route.fulfill({ path: SCRIPTS[kind] }));
    await page.goto(`${daemon.url}/stock.html`);
    await page.evaluate(PLAYERS[kind].begin, {
        url: `${daemon.url}/demo/unlimited/${options.sid}/minute-av.mpd`, cap: true, headers: false, ...options,
    });
    await until(() => enough(asked, reports), 'chunks', 60000);
    await page.close();
    assert.deepEqual(wrong, []);
    return { asked, reports, measured };
}

const above = asked => asked.filter(a => a.kbps > CAP_KBPS);
/** Once the sound is known the cap counts it, too. */
const capped = asked => asked.filter(a => a.cap === CAP_KBPS);

export async function cmcdTests() {
    const daemon = new Daemon({ explore: 0, learn: 'off', untagged: 'default' });
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

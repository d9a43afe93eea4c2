// stock.mjs - dash.js and Shaka as they come, without the plugin, in a page of the daemon's; and a policy
// that always says the same level, so that a cap is told from a choice.
import fs from 'node:fs';
import path from 'node:path';

import { crc32 } from '../http/lib/tools.mjs';
import { ROOT } from './daemon.mjs';
import { SCRIPTS } from './stage.mjs';

export const AUDIO_KBPS = 64;
const PAGE = '<!doctype html><title>stock</title><video id="v" muted width="426" height="240"></video>' +
    '<script src="/stock.js"></script>';

/** How each player begins, in the page. */
export const PLAYERS = {
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
                retryAttempts: { MediaSegment: 100 }, // until a server that is away is back
                lastBitrateCachingInfo: { enabled: false },
            } });
            player.initialize(document.querySelector('#v'), url, true);
        },
    },
    shaka: {
        async begin({ url, sid, cap, headers, oneByOne }) {
            const player = new window.shaka.Player();
            await player.attach(document.querySelector('#v'));
            player.configure({
                cmcd: { enabled: true, sessionId: sid, contentId: 'minute', useHeaders: headers },
                cmsd: { applyMaximumSuggestedBitrate: cap },
                abr: { switchInterval: 0 },
                streaming: {
                    bufferingGoal: 60, ...(oneByOne && { segmentPrefetchLimit: 0 }),
                    retryParameters: { maxAttempts: 100, backoffFactor: 1, timeout: 0, stallTimeout: 0, connectionTimeout: 0 },
                },
            });
            await player.load(url);
        },
    },
};

/** The shipped policy with heads that know one level (src/learn/ckpt.h tells the form). */
export function alwaysSays(level, file) {
    const bytes = fs.readFileSync(path.join(ROOT, 'deploy/policy/moe.safetensors'));
    const n = Number(bytes.readBigUInt64LE(0));
    const { __metadata__: meta, ...tensors } = JSON.parse(bytes.toString('utf8', 8, 8 + n));
    const data = Buffer.from(bytes.subarray(8 + n));
    for (const [name, { data_offsets: [from, to] }] of Object.entries(tensors))
        if (new RegExp(`^actor\\.expert\\.\\d+\\.${meta.layers}\\.`).test(name)) {
            data.fill(0, from, to);
            if (name.endsWith('.bias')) data.writeFloatLE(100, from + 4 * level);
        }
    // the prior would have a say
    for (const key of Object.keys(meta)) if (key.startsWith('prior_')) delete meta[key];
    const rest = Object.keys(meta).filter(k => k !== 'crc32').sort().map(k => `${k}=${meta[k]}\n`).join('');
    meta.crc32 = crc32(data, Buffer.from(rest)).toString(16).padStart(8, '0');
    const header = JSON.stringify({ __metadata__: meta, ...tensors });
    const padded = Buffer.from(header.padEnd(Math.ceil(header.length / 8) * 8));
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(padded.length));
    fs.writeFileSync(file, Buffer.concat([length, padded, data]));
}

/** A page with the player's script, in which PLAYERS[kind].begin can be evaluated. */
export async function stockPage(browser, daemon, kind) {
    const page = await browser.newPage({ viewport: { width: 500, height: 300 } });
    await page.route('**/stock.html', route => route.fulfill({ contentType: 'text/html', body: PAGE }));
    await page.route('**/stock.js', route => route.fulfill({ path: SCRIPTS[kind] }));
    await page.goto(`${daemon.url}/stock.html`);
    return page;
}

/** A segment of the pictures by its address: its bitrate, and its chunk from 0; or null. */
export function chunkOf(url) {
    const m = /\/(\d+)-(\d+)\.m4s$/.exec(new URL(url).pathname);
    return m && { kbps: Number(m[1]), chunk: Number(m[2]) - 1 };
}

/** What an answer caps the pictures to: once the sound is known the cap counts it, too. */
export const capOf = headers => Number(/;mb=(\d+)/.exec(headers['cmsd-dynamic'])?.[1]) - AUDIO_KBPS;

// shots.mjs - renews the pictures of the READMEs: web/demo.png and web/dashboard.png. `make shots` runs it.
// Look at the pictures before you commit them.
//
// The demo plays on one of its links, which is cut for 7 s. The dashboard shows viewers of the product's
// profiles.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import { random } from '../../test/http/lib/tools.mjs';
import { Daemon, ROOT } from '../../test/web/daemon.mjs';
import { until } from '../../test/web/harness.mjs';
import { launch } from '../../test/web/stage.mjs';

const PLAYED_S = 40, CUT_AT_S = 20, WATCHED_S = 90, MOST = 200e3; // bytes of a picture
const LINK = process.env.LINK ?? 'lte-02';

/** Fewer colours reduce the file to a third, since the video is noisy. ffmpeg is needed for the video anyway. */
async function shoot(page, name, options, { colours = 256, width = -1 } = {}) {
    const file = path.join(ROOT, 'web', name), whole = path.join(ROOT, 'build', name);
    await page.screenshot({ path: whole, ...options });
    execFileSync('ffmpeg', ['-v', 'error', '-y', '-i', whole, '-vf',
        `scale=${width}:-1,split[a][b];[a]palettegen=max_colors=${colours}:reserve_transparent=0[p];[b][p]paletteuse=dither=none`, file]);
    const { size } = fs.statSync(file);
    console.log(`web/${name}: ${size} bytes`);
    if (size > MOST) throw new Error(`web/${name} has ${size} bytes, more than ${MOST}`);
}

async function demo(browser) {
    const daemon = await new Daemon({ explore: 0, learn: 'off', 'media-dir': path.join(ROOT, 'build/film') }).start();
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    try {
        await page.goto(`${daemon.url}/?link=${LINK}&profile=standard&do=cut@${CUT_AT_S}`);
        await until(() => page.evaluate(s => window.demo?.recording.samples.t.at(-1) >= s, PLAYED_S), 'the play', 240000);
        const { mode, chunks } = await page.evaluate(() => ({ mode: window.demo.abrd.state.mode,
            chunks: window.demo.recording.chunks.map(c => c.by) }));
        if (mode !== 'abrd' || chunks.some(by => by !== 'abrd'))
            throw new Error(`the player chose chunks itself, so the machine is too busy: ${chunks}`);
        await shoot(page, 'demo.png', {}, { colours: 96, width: 960 });
    } finally {
        await page.close();
        await daemon.stop();
    }
}

/** Plays viewers one by one, with each profile in turn, at eight times real time, until `over`. */
async function viewers(daemon, n, over) {
    const draw = random(n + 1), profiles = ['standard', 'documentary', 'live', 'news', 'sports', 'lecture'], chunks = 48, chunk_s = 4, most = 60;
    const post = async (where, body) => (await fetch(daemon.url + where, { method: 'POST', body: JSON.stringify(body) })).json();
    for (let i = n; !over(); i++) {
        let mbps = .6 + 3 * draw(), buffer_s = 0;
        let { session, level, kbps } = await post('/v1/sessions', { profile: profiles[i % profiles.length],
            ladder_kbps: [300, 750, 1200, 1850, 2850, 4300], chunk_s, chunks, buffer_max_s: most });
        for (let chunk = 0; chunk < chunks && !over(); chunk++) {
            mbps = Math.min(Math.max(mbps * Math.exp(.5 * (draw() - .5)), .4), 6);
            const bytes = Math.round(kbps * 125 * chunk_s * (.9 + .2 * draw())), download_s = .08 + bytes * 8e-6 / mbps;
            const last = { chunk, level, bytes, download_s, rebuffer_s: chunk ? Math.max(download_s - buffer_s, 0) : 0 };
            buffer_s = Math.max(buffer_s - download_s, 0) + chunk_s;
            const wait_s = download_s + Math.max(buffer_s - most + chunk_s, 0);
            buffer_s = Math.min(buffer_s, most - chunk_s);
            await new Promise(done => setTimeout(done, 1000 * wait_s / 8));
            if (chunk === chunks - 1) await post(`/v1/sessions/${session}/rewards`, { ...last, final: true });
            else ({ level, kbps } = await post(`/v1/sessions/${session}/decisions`, { chunk: chunk + 1, buffer_s, last }));
        }
    }
}

async function dashboard(browser) {
    const daemon = await new Daemon({ explore: .5, batch: 1024 }).start();
    let over = false;
    const playing = Promise.all(Array.from({ length: 48 }, (_, n) => viewers(daemon, n, () => over)));
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    try {
        await page.goto(`${daemon.url}/dashboard.html`);
        const began = Date.now();
        await until(() => Date.now() > began + WATCHED_S * 1000 && page.evaluate(() =>
            window.dashboard.learner.updates.length > 7), 'updates', 300000);
        // a session near its end, which has long curves
        await until(() => page.evaluate(() => /live.* chunk (3[5-9]|4\d) of/.test(document.getElementById('session-facts').textContent)),
            'a live session to watch', 120000);
        const { y, height } = await page.locator('.card:has(> #h-errors)').boundingBox();
        await shoot(page, 'dashboard.png', { fullPage: true, clip: { x: 0, y: 0, width: 1280, height: y + height + 12 } });
    } finally {
        over = true;
        await playing;
        await page.close();
        await daemon.stop();
    }
}

const browser = await launch();
try {
    const wanted = { demo, dashboard };
    for (const [name, make] of Object.entries(wanted)) if ((process.env.ONLY ?? name) === name) await make(browser);
} finally {
    await browser.close();
}

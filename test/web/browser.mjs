// browser.mjs - plugin and demo page in a real Chromium, against a real daemon: an unmodified
// dash.js plays a real stream by what the daemon decides.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { faint } from './contrast.mjs';
import { Daemon, ROOT, distant } from './daemon.mjs';
import { ANSWER_MS, sideBySide, test, until } from './harness.mjs';
import { launch } from './stage.mjs';
import { chunkQoe, qoeOf } from '../../web/lib/qoe.js';

const CHUNKS = 30;

/**
 * A page of the demo. `urls` are the chunks it asked for: [chunk, kbps], in order. On a busy machine the daemon may
 * abandon a chunk: it stands there once, with the level that replaced the first one, and is in `abandoned`.
 * `init` runs in the page before its own scripts.
 */
async function open(browser, daemon, query, init = () => {}) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await page.addInitScript(init);
    const urls = [], errors = [], doubted = new Set(), abandoned = new Set();
    page.on('request', q => {
        const { pathname } = new URL(q.url()), m = /\/(\d+)-(\d+)\.m4s$/.exec(pathname);
        if (pathname.endsWith('/abandon') && q.method() === 'POST') doubted.add(q.postDataJSON().chunk);
        if (!m) return;
        const chunk = Number(m[2]) - 1;
        if (doubted.has(chunk) && urls.at(-1)?.[0] === chunk) {
            abandoned.add(chunk);
            urls.pop();
        }
        urls.push([chunk, Number(m[1])]);
    });
    page.on('pageerror', e => errors.push(e.message));
    // solo: most tests are about the player with the plugin
    await page.goto(`${daemon.url}/?${new URLSearchParams({ solo: 1, ...query })}`);
    await page.waitForFunction(() => window.demo !== undefined);
    return { page, urls, errors, abandoned };
}

const chunksOf = page => page.evaluate(() =>
    window.demo.recording.chunks.map(({ answer, ...c }) => ({ ...c, answer })));
const arrived = page => page.evaluate(() => window.demo.recording.arrived().length);
const who = page => page.locator('#who').getAttribute('data-mode');

/** All chunks are there and the video is over. */
async function played(page) {
    await until(async () => await who(page) === 'over', 'the end of the video');
    assert.equal(await arrived(page), CHUNKS);
}

/** The player asked for exactly what was decided, chunk by chunk, once each unless it was abandoned. */
function sameLevels({ urls, abandoned }, steps, ladder) {
    assert.deepEqual(urls.map(u => u[0]), [...Array(CHUNKS).keys()]);
    assert.equal(steps.length, CHUNKS);
    assert.deepEqual(urls.map(u => u[1]), steps.map(s => ladder[s.level]));
    assert.ok(steps.every(s => s.reported && s.followed === !abandoned.has(s.chunk)
        && s.followed === (s.level === s.decided_level)));
}

export async function browserTests() {
    const daemon = await new Daemon({ explore: 1 }).start();
    const browser = await launch();
    try {
        await playTest(browser, daemon);
        await sideBySide([deathTest, distanceTest, seekTest, profileTests, pageTest, pairTests]
            .map(body => () => body(browser, daemon)));
    } finally {
        await browser.close();
        await daemon.stop();
    }
}

/** Every chunk and every reward of one whole video. */
async function playTest(browser, daemon) {
    // twelve times as fast, so that this link is too thin: levels change, the picture stands still
    const demo = await open(browser, daemon,
        { link: 'high-4g-00', rate: 12, profile: 'live', timeout: ANSWER_MS, explore: 1 });
    const { page, urls, errors } = demo;
    let history, chunks;

    await test('browser: the player asks for what the daemon decided, for every chunk', async () => {
        await played(page);
        const session = await page.evaluate(() => window.demo.recording.session.session);
        history = await until(async () => {
            const h = await daemon.get(`/v1/sessions/${session}`);
            return h.steps.length === CHUNKS && h.steps.at(-1).reported && h;
        }, 'the last report');
        chunks = await chunksOf(page);
        sameLevels(demo, history.steps, history.ladder_kbps);
        assert.ok(chunks.every(c => c.by === 'abrd'));
        assert.equal(history.terminal, true);
        // it explores, so that "every chunk at one level" cannot pass by chance
        assert.ok(new Set(urls.map(u => u[1])).size > 1, 'all chunks had one level');
        assert.ok(chunks.slice(1).some(c => c.rebuffer_s > 0), 'no stall');
        assert.ok(chunks[0].rebuffer_s >= chunks[0].download_s, 'no start');
        // one player has nothing to be compared with
        assert.equal(await page.locator('#verdict-text').textContent(), '');
    });

    await test('browser: the rewards of the history are what the page measured', () => {
        assert.equal(history.steps.length, chunks.length);
        history.steps.forEach((s, i) => {
            const c = chunks[i];
            assert.deepEqual([s.bytes, s.download_s, s.rebuffer_s], [c.bytes, c.download_s, c.rebuffer_s]);
            assert.ok(Math.abs(s.quality - c.points) < 1e-3, `chunk ${i}: ${s.quality} is not ${c.points} points`);
            const own = chunkQoe(qoeOf(history.qoe), c, chunks[i - 1] ?? null, {
                chunkS: history.chunk_s, waitS: c.rebuffer_s, lowest: history.ladder_kbps[0],
            }).reward;
            // the daemon rounds the quality that it states
            assert.ok(Math.abs(s.reward - own) < 1e-2, `chunk ${i}: ${s.reward} is not ${own}`);
            assert.ok(Math.abs(c.reward - own) < 1e-12);
        });
    });

    await test('browser: the bytes reported are the bytes of the files', () => {
        for (const c of chunks) {
            const file = path.join(ROOT, 'build/media', `${c.kbps}-${c.chunk + 1}.m4s`);
            assert.equal(c.bytes, fs.statSync(file).size);
        }
    });

    await test('browser: no error on the page', () => assert.deepEqual(errors, []));
    await page.close();
}

async function profileTests(browser, daemon) {
    const seen = async query => {
        const { page } = await open(browser, daemon, { link: 'unlimited', autoplay: 0, ...query });
        if (query.profile === 'custom') {
            await page.fill('#weight-quality', '2');
            await page.fill('#weight-switches', '0.5');
            await page.fill('#weight-stalls', '3');
        }
        await page.click('#start');
        await until(() => page.evaluate(() => window.demo.recording.session), 'a session');
        const id = await page.evaluate(() => window.demo.recording.session.session);
        await page.close();
        return daemon.get(`/v1/sessions/${id}`);
    };
    await test('browser: the profile comes from the manifest', async () => {
        const { profile, hinted, qoe, content_id: content, chunks, ladder_kbps: ladder } = await seen({});
        assert.deepEqual([profile, hinted, content, chunks], ['documentary', true, 'demo', CHUNKS]);
        assert.deepEqual([qoe.utility, qoe.weights], ['points', { quality: 1, switches: 3, stalls: 1.5, startup: 1 }]);
        assert.deepEqual(ladder, [300, 750, 1200, 1850, 2850, 4300]);
    });
    await test('browser: the product\'s profiles, what they mean, and the papers\' apart', async () => {
        const { page } = await open(browser, daemon, { link: 'unlimited', autoplay: 0 });
        const groups = await page.evaluate(() => [...document.querySelectorAll('#profile option')]
            .map(o => [o.parentElement.label ?? '', o.value]));
        assert.deepEqual(groups.filter(([g]) => !g).map(([, name]) => name), ['mpd', 'standard', 'documentary', 'live',
            'news', 'sports', 'lecture', 'custom', 'none']);
        assert.deepEqual(groups.filter(([g]) => /papers/.test(g)).map(([, name]) => name).sort(),
            ['paper-documentary', 'paper-live', 'paper-news', 'pensieve']);
        const { profiles } = await daemon.get('/v1/profiles');
        for (const name of ['standard', 'news', 'pensieve', 'mpd']) {
            await page.selectOption('#profile', name);
            assert.equal(await page.textContent('#means'),
                profiles.find(p => p.name === (name === 'mpd' ? 'documentary' : name)).means);
        }
        await page.close();
    });

    await test('browser: the picker goes before the manifest; own weights; no hint', async () => {
        assert.equal((await seen({ profile: 'news' })).profile, 'news');
        const custom = await seen({ profile: 'custom' });
        assert.equal(custom.profile, 'custom');
        assert.deepEqual(custom.qoe.weights, { quality: 2, switches: 0.5, stalls: 3, startup: 1 });
        const none = await seen({ profile: 'none' });
        assert.equal(none.hinted, false);
        assert.equal(none.profile, 'standard');
    });
}

async function seekTest(browser, daemon) {
    await test('browser: after a seek the daemon decides on', async () => {
        const { page, urls } = await open(browser, daemon,
            { link: 'unlimited', rate: 6, timeout: ANSWER_MS });
        // in the page: a busy test may come when more chunks have arrived
        await page.evaluate(() => new Promise(done => {
            const timer = setInterval(() => {
                if (window.demo.recording.arrived().length < 5) return;
                clearInterval(timer);
                document.getElementById('video').currentTime = 90;
                done();
            }, 10);
        }));
        await until(async () => await who(page) === 'over', 'the end');
        const chunks = await chunksOf(page), after = chunks.filter(c => c.chunk >= 22);
        assert.ok(!urls.some(u => u[0] > 14 && u[0] < 22), `skipped chunks were fetched: ${urls}`);
        assert.deepEqual(after.map(c => c.chunk), [22, 23, 24, 25, 26, 27, 28, 29]);
        // the first chunk there may be under way before the answer is; no other
        assert.ok(after.slice(1).every(c => c.by === 'abrd'), JSON.stringify(after));
        await page.close();
    });
}

async function distanceTest(browser, daemon) {
    await test('browser: a daemon 150 ms away is followed on every chunk', async () => {
        const far = await new Daemon({ 'allow-origin': daemon.url, explore: 1 }).start();
        const proxy = await distant(far.url, 150);
        try {
            const demo = await open(browser, daemon,
                { link: 'unlimited', rate: 12, server: proxy.url, timeout: ANSWER_MS });
            const { page } = demo;
            await played(page);
            const id = await page.evaluate(() => window.demo.recording.session.session);
            const { steps, ladder_kbps: ladder } = await until(async () => {
                const h = await far.get(`/v1/sessions/${id}`);
                return h.steps.at(-1).reported && h;
            }, 'the last report');
            sameLevels(demo, steps, ladder);
            await page.close();
        } finally {
            await proxy.stop();
            await far.stop();
        }
    });
}

async function deathTest(browser, daemon) {
    await test('browser: without the daemon the player goes on, and the daemon comes back', async () => {
        const other = await new Daemon({ 'allow-origin': daemon.url }, { stored: true }).start();
        try {
            const { page, urls, errors, abandoned } = await open(browser, daemon,
                { link: 'unlimited', rate: 2, server: other.url, timeout: ANSWER_MS });
            await until(async () => await arrived(page) >= 8, 'eight chunks');
            assert.equal(await who(page), 'abrd');

            await other.kill();
            const from = await arrived(page);
            await until(async () => await who(page) === 'player', 'the player\'s own rules');
            assert.match(await page.textContent('#who-text'), /own rules/);
            assert.match(await page.textContent('#who-why'), /does not answer/);
            await until(async () => await arrived(page) >= from + 4, 'four chunks without the daemon');
            const still = await page.evaluate(() => document.getElementById('video').currentTime);

            // paused with a full buffer, so chunks remain however long the daemon takes to start
            await page.evaluate(() => document.getElementById('video').pause());
            await page.screenshot({ path: path.join(ROOT, 'build/demo-fallback.png') });
            await other.start();
            await page.evaluate(() => { document.getElementById('video').play(); });
            await until(async () => await who(page) === 'abrd', 'the daemon to decide again');
            await played(page);
            const chunks = await chunksOf(page);
            const end = await page.evaluate(() => document.getElementById('video').currentTime);
            assert.ok(end > still);
            assert.deepEqual(urls.map(u => u[0]), [...Array(CHUNKS).keys()]);

            const by = chunks.map(c => c.by);
            const first = by.indexOf('player'), last = by.lastIndexOf('player');
            assert.ok(first >= 8 && last - first >= 2 && last < CHUNKS - 2, by.join(' '));
            assert.ok(by.slice(first, last + 1).every(b => b === 'player'), by.join(' '));

            // and what it decided after that is what was fetched
            const id = await page.evaluate(() => window.demo.abrd.state.session);
            const { steps } = await other.get(`/v1/sessions/${id}`);
            for (const c of chunks.slice(last + 1)) {
                const s = steps.findLast(x => x.chunk === c.chunk);
                assert.deepEqual([s.level, s.followed], [c.level, !abandoned.has(c.chunk)]);
            }
            assert.deepEqual(errors, []);
            await page.close();
        } finally {
            await other.stop();
        }
    });
}

/** Both players of the demo. */
async function pairTests(browser, daemon) {
    const seen = page => page.evaluate(() => [window.demo.other, window.demo.recording]
        .map(r => ({ n: r.arrived().length, kbps: r.chunks.map(c => c.kbps), by: r.chunks.map(c => c.by), ...r.seen() })));
    const linksOf = page => page.evaluate(async () => {
        const urls = performance.getEntriesByType('resource').map(e => e.name).filter(u => u.endsWith('link.json'));
        return Promise.all([...new Set(urls)].slice(-2).map(u => fetch(u).then(r => r.json())));
    });

    await test('browser: what is done reaches both links at once, and an address repeats it', async () => {
        const { page, errors } = await open(browser, daemon, { solo: 0, link: 'unlimited', seed: 3, timeout: ANSWER_MS });
        await until(async () => (await seen(page)).every(s => s.n >= 2), 'two chunks each');
        const [own, abrd] = await seen(page);
        assert.deepEqual([...new Set(own.by), ...new Set(abrd.by)], ['player', 'abrd']);
        await page.click('#kill');
        await until(async () => await who(page) === 'player', 'the player\'s own rules');
        assert.match(await page.textContent('#who-why'), /does not answer/);
        await page.click('#kill');
        await until(async () => await who(page) === 'abrd', 'the daemon again');
        await page.evaluate(() => { // the second one later, within the cut
            document.getElementById('cut').click();
            setTimeout(() => document.getElementById('halve').click(), 500);
        });
        const [a, b] = await until(async () => {
            const links = await linksOf(page);
            return links.every(l => l.factor?.length === 3) && links;
        }, 'both links');
        assert.deepEqual([a.at_s, a.factor, a.from_s], [b.at_s, b.factor, b.from_s]);
        assert.deepEqual([a.factor, a.from_s], [[0, 0, 0.5], 3 * 37]);
        assert.equal(a.at_s[2], a.at_s[0] + 7);
        await until(async () => /abrd: .*; dash\.js: /.test(await page.textContent('#verdict')), 'both pictures');

        const { actions, address } = await page.evaluate(() => ({ actions: window.demo.actions, address: window.demo.address }));
        assert.deepEqual(actions.map(x => x.kind), ['gone', 'back', 'cut', 'rate']);
        const off = () => Promise.all(['replay', 'share'].map(id => page.locator(`#${id}`).isDisabled()));
        await page.click('#stop'); // it can be repeated and shared, until it is cleared away
        assert.deepEqual(await off(), [false, false]);
        await page.click('#share');
        assert.equal(await page.inputValue('#share-url'), address);
        await page.click('#reset');
        assert.deepEqual(await off(), [true, true]);
        await page.goto(address);
        await page.waitForFunction(() => window.demo?.actions.length);
        assert.deepEqual(await page.evaluate(() => window.demo.actions), actions);
        const [again] = await until(async () => {
            const links = await linksOf(page);
            return links.length === 2 && links;
        }, 'links of the repeat');
        assert.deepEqual([again.at_s, again.factor, again.from_s], [a.at_s, a.factor, a.from_s]);
        assert.deepEqual(errors, []);
        await page.close();
    });

    for (const player of ['hlsjs', 'shaka'])
        await test(`browser: ${player} beside itself`, async () => {
            const { page, errors } = await open(browser, daemon, { solo: 0, player, link: 'unlimited', timeout: ANSWER_MS });
            await until(async () => (await seen(page)).every(s => s.n >= 3 && s.startup_s !== null && s.points > 0), 'three chunks each');
            const [own, abrd] = await seen(page);
            assert.deepEqual([...new Set(own.by)], ['player']);
            assert.ok(abrd.by.includes('abrd'), `${abrd.by}`);
            assert.ok(own.kbps.every(k => [300, 750, 1200, 1850, 2850, 4300].includes(k)), `${own.kbps}`);
            assert.deepEqual(errors, []);
            await page.close();
        });

    await test('browser: both play a manifest of one\'s own, without the link\'s buttons', async () => {
        const { page, errors } = await open(browser, daemon, { solo: 0, timeout: ANSWER_MS,
            mpd: `${daemon.url}/demo/unlimited/mine/minute.mpd` });
        await until(async () => (await seen(page)).every(s => s.n >= 2 && s.startup_s !== null), 'two chunks each');
        for (const [id, off] of Object.entries({ cut: true, halve: true, rate: true, share: true, replay: true, kill: false }))
            assert.equal(await page.locator(`#${id}`).isDisabled(), off, id);
        assert.match(await page.textContent('#fine-abrd'), /your own connection, which they share/);
        assert.deepEqual(errors, []);
        await page.close();
    });

    await test('browser: the demo can be read, light and dark, and on a phone', async () => {
        const { page } = await open(browser, daemon, { solo: 0, link: 'lte', timeout: ANSWER_MS });
        await until(async () => (await seen(page)).every(s => s.points > 0), 'both pictures');
        await page.click('#more summary');
        for (const scheme of ['light', 'dark'])
            for (const width of [360, 1440]) {
                await page.emulateMedia({ colorScheme: scheme });
                await page.setViewportSize({ width, height: 900 });
                assert.deepEqual(await faint(page), [], `${scheme}, ${width} px`);
                // the charts follow the window a frame later
                await until(async () => await page.evaluate(() => document.documentElement.scrollWidth) === width,
                    `a page that is ${width} px wide`);
            }
        const { y, height } = await page.locator('.charts.first').boundingBox();
        assert.ok(y + height <= 900 + 60, `the buffer's chart ends at ${y + height}`); // the open settings take 60
        await page.close();
    });
}

async function pageTest(browser, daemon) {
    await test('browser: the page shows what happens', async () => {
        const { page } = await open(browser, daemon, { link: 'lte', rate: 1, timeout: ANSWER_MS });
        await until(async () => await arrived(page) >= 3, 'three chunks');
        assert.equal(await page.textContent('#who-text'), 'abrd decides');
        assert.match(await page.textContent('#who-why'), /documentary.*expert \d.*answered in \d+ ms/);
        assert.match(await page.textContent('#daemon-line'), /policy version \d/);
        assert.equal(await page.locator('#probabilities li').count(), 6);
        assert.equal(await page.locator('#strip li').count(), CHUNKS);
        assert.equal(await page.locator('.uplot canvas').count(), 4);
        const { time_s: t, mbps } = await page.evaluate(() => window.demo.recording.link);
        assert.ok(t.length > 100 && t.length === mbps.length);

        const [file] = await Promise.all([page.waitForEvent('download'), page.click('#csv')]);
        const lines = fs.readFileSync(await file.path(), 'utf8').trim().split('\r\n');
        assert.match(lines[0], /^chunk,requested_s,/);
        assert.ok(lines.length >= 4);

        await page.click('#stop');
        assert.equal(await page.textContent('#who-text'), 'stopped');
        await page.click('#reset');
        assert.equal(await page.textContent('#who-text'), 'ready');
        assert.equal(await page.textContent('#tile-quality'), '–');
        await page.close();
    });

    await test('browser: the wait for the first picture is counted down and marked, and is no stall', async () => {
        // a busy test may look only after the countdown
        const watch = () => addEventListener('DOMContentLoaded', () => {
            const wait = document.getElementById('wait');
            window.waits = [];
            new MutationObserver(() => window.waits.push(wait.textContent)).observe(wait, { childList: true });
        });
        const { page } = await open(browser, daemon, { link: 'broadband-07', profile: 'live', do: 'rate0.5@0' }, watch);
        await until(() => page.evaluate(() => window.waits.some(text => /until the first picture/.test(text))), 'the countdown');
        await until(() => page.evaluate(() => window.demo.recording.start.to), 'the first picture');
        await until(() => page.locator('#wait').isHidden(), 'the countdown to end');
        await until(() => page.evaluate(() => window.demo.recording.seen_s > 1), 'a second of video');
        const { start, stalls, waited, session } = await page.evaluate(() => ({ ...window.demo.recording,
            waited: window.demo.recording.chunks[0].arrived_s }));
        assert.ok(start.from === 0 && start.to >= waited, JSON.stringify(start));
        assert.ok(stalls.every(s => s.from > start.to), JSON.stringify(stalls));
        assert.match(await page.textContent('#tile-startup'), new RegExp(`^${start.to.toFixed(1).replace('.', '\\.')}s$`));
        assert.match(await page.textContent('#tile-quality'), /^\d+of 100 points$/);
        assert.match(await page.textContent('#tile-level'), /level \d of 6$/);
        assert.equal(session.profile, 'live');
        await page.close();
    });

    await test('browser: no chunk comes faster than its link carries', async () => {
        const { page } = await open(browser, daemon, { link: 'broadband', rate: 1 });
        await until(async () => await arrived(page) >= 4, 'four chunks');
        const off = await page.evaluate(() => {
            const { recording } = window.demo;
            const { link } = recording;
            const at = s => link.mbps[1 + Math.max(0, link.time_s.slice(1).findIndex(t => t > s))];
            return recording.arrived().map(c => {
                // mean capacity while the chunk came, one round trip left out
                const from = c.arrived_s - c.download_s + link.rtt_s + link.offset;
                const to = c.arrived_s + link.offset, n = 200;
                let sum = 0;
                for (let i = 0; i < n; i++) sum += at(from + (to - from) * (i + 0.5) / n);
                const kbps = c.bytes * 8 / 1000 / (c.download_s - link.rtt_s);
                return kbps / (1000 * sum / n);
            });
        });
        for (const x of off) assert.ok(x > 0 && x < 1.1, off.join(' '));
        await page.screenshot({ path: path.join(ROOT, 'build/demo.png') });
        await page.close();
    });
}

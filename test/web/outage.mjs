// outage.mjs - a daemon that is away, refuses, or answers anything at all, under all three adapters:
// the player plays on, the daemon is asked rarely, it is back within two chunks, and the reason says
// what the page can know. Fake players, the mock over real HTTP; what is counted is chunks and requests.
import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';

import { FakeHls, FakeShaka, KBPS } from './adapters.mjs';
import { DOMParser, FakePlayer, manifest } from './fake.mjs';
import { test, until } from './harness.mjs';
import { Mock } from './mock.mjs';
import { attach as attachDash } from '../../web/dashjs.js';
import { attach as attachHls } from '../../web/hlsjs.js';
import { attach as attachShaka } from '../../web/shaka.js';

globalThis.DOMParser = DOMParser;

const CHUNKS = 60, PATIENT = 5000;
const MPD = manifest([{ kbps: KBPS, chunks: CHUNKS }]);

/** {player, abrd, load, chunk: plays one chunk and returns its level} of each kind. */
const KINDS = {
    'dash.js'(options) {
        const player = new FakePlayer([{ kbps: KBPS, chunks: CHUNKS }]);
        const abrd = attachDash(player, options);
        return { player, abrd, load: () => player.load(MPD), chunk: n => player.chunk(n) };
    },
    'hls.js'(options) {
        const abrd = attachHls(FakeHls, options), player = new FakeHls(abrd.controller);
        player.playlist = `#EXTM3U\n${'#EXTINF:4,\na.m4s\n'.repeat(CHUNKS)}#EXT-X-ENDLIST\n`;
        return { player, abrd, load: () => player.load(), chunk: n => player.chunk(n) };
    },
    Shaka(options) {
        const player = new FakeShaka();
        player.starts = Array.from({ length: CHUNKS + 1 }, (_, i) => 4 * i);
        const abrd = attachShaka(player, options);
        return { player, abrd, load: () => player.load(MPD), chunk: n => player.chunk(n) };
    },
};

function begin(kind, options) {
    const s = KINDS[kind]({ timeoutMs: PATIENT, ...options });
    s.requests = [];
    s.abrd.on('request', r => s.requests.push(r));
    return s;
}

/** Runs body with something else in a global's place. */
async function instead(target, name, value, body) {
    const was = Object.getOwnPropertyDescriptor(target, name);
    Object.defineProperty(target, name, { value, configurable: true, writable: true });
    try {
        return await body();
    } finally {
        if (was) Object.defineProperty(target, name, was); else delete target[name];
    }
}

/** Questions that body sent. */
async function counted(body) {
    const own = globalThis.fetch;
    let n = 0;
    await instead(globalThis, 'fetch', (...a) => { n++; return own(...a); }, body);
    return n;
}

/** The mock on a port of its own, gone and back again. */
async function mocked(body) {
    const at = { mock: await new Mock().start() };
    at.mock.pick = () => 2;
    const { port, url } = at.mock;
    try {
        await body({
            url,
            get mock() { return at.mock; },
            leave: () => at.mock.stop(),
            async back() {
                at.mock = await new Mock().start(port);
                at.mock.pick = () => 2;
            },
        });
    } finally {
        await at.mock.stop().catch(() => {});
    }
}

/** What goes wrong behind the page's back. */
async function quietly(body) {
    const said = [], wrong = [], unhandled = e => wrong.push(e);
    process.on('unhandledRejection', unhandled);
    try {
        await instead(console, 'warn', (...a) => said.push(a.join(' ')), () =>
            instead(console, 'error', (...a) => said.push(a.join(' ')), () => body(said)));
        await new Promise(done => setImmediate(done));
    } finally {
        process.off('unhandledRejection', unhandled);
    }
    assert.deepEqual(wrong, []);
}

/* ----- back-off ----- */

async function backOffTests(kind) {
    for (const [draw, wait] of [[0, 0], [.9, 1]])
        await test(`${kind}: away, the daemon is asked at every second chunk; back, it decides the second at the latest (draw ${draw})`,
            () => instead(Math, 'random', () => draw, async () => {
                for (let lost = 1; lost <= 7; lost++)
                    await mocked(async daemon => {
                        const s = begin(kind, { server: daemon.url });
                        await s.load();
                        let n = 0;
                        for (; n < 3; n++) assert.equal(await s.chunk(n), 2);
                        await daemon.leave();
                        assert.equal(await s.chunk(n++), 2); // was decided before; here is the first refusal
                        const refused = await counted(async () => {
                            for (let i = 1; i < lost; i++) assert.equal(await s.chunk(n++), 0);
                        });
                        // at once if drawn so, and then at every second
                        assert.equal(refused, Math.floor((lost - 1 + wait) / 2), `${lost} chunks lost`);
                        await daemon.back();
                        const from = n;
                        for (let i = 0; i < 4; i++) await s.chunk(n++);
                        const by = s.requests.filter(r => r.chunk >= from).map(r => r.by), first = by.indexOf('abrd');
                        assert.ok(first >= 1 && first <= 2 && by.slice(first).every(b => b === 'abrd'), `${lost}: ${by}`);
                        s.abrd.detach();
                    });
            }));

    await test(`${kind}: another player's first chunk is always asked for`, () => instead(Math, 'random', () => 0, () =>
        mocked(async daemon => {
            const a = begin(kind, { server: daemon.url });
            await daemon.leave();
            await a.load();
            await daemon.back();
            const b = begin(kind, { server: daemon.url });
            await b.load();
            assert.equal(await b.chunk(0), 2);
            a.abrd.detach();
            b.abrd.detach();
        })));

    await test(`${kind}: players of one page share what they know; each has its decision within two chunks`, () =>
        instead(Math, 'random', () => 0, () => mocked(async daemon => {
            const players = [0, 1, 2].map(() => begin(kind, { server: daemon.url }));
            for (const p of players) {
                await p.load();
                await p.chunk(0);
            }
            await daemon.leave();
            let n = 1;
            const round = async () => {
                for (const p of players) await p.chunk(n);
                n++;
            };
            await round();
            const alone = 6, refused = await counted(async () => { for (let i = 0; i < 2 * alone; i++) await round(); });
            assert.ok(refused > 0 && refused < alone * players.length, `${refused} requests`);
            for (const p of players) assert.match(p.abrd.state.reason, /does not answer/);
            await daemon.back();
            for (let i = 0; i < 3; i++) await round();
            for (const p of players) assert.equal(p.requests.at(-1).by, 'abrd');
            for (const p of players) p.abrd.detach();
        })));

    await test(`${kind}: a daemon that takes questions and never answers is asked at every second chunk`, () =>
        mocked(async daemon => {
            const s = begin(kind, { server: daemon.url, timeoutMs: 150 });
            await s.load();
            await s.chunk(0);
            const silent = await new Silent().start();
            try {
                const t = begin(kind, { server: silent.url, timeoutMs: 20 });
                await t.load();
                const asked = await counted(async () => { for (let n = 0; n < 10; n++) assert.equal(await t.chunk(n), 0); });
                assert.equal(asked, 5);
                assert.match(t.abrd.state.reason, /does not answer in time/);
                t.abrd.detach();
            } finally {
                await silent.stop();
            }
            s.abrd.detach();
        }));

    await test(`${kind}: a 4xx for one source is no outage, and is not asked for again`, () => quietly(() => mocked(async daemon => {
        const s = begin(kind, { server: daemon.url, profile: 'unknown' });
        const asked = await counted(async () => {
            await s.load();
            for (let n = 0; n < 6; n++) assert.equal(await s.chunk(n), 0);
        });
        assert.equal(asked, 1);
        const other = begin(kind, { server: daemon.url });
        await other.load();
        for (let n = 0; n < 3; n++) assert.equal(await other.chunk(n), 2);
        s.abrd.detach();
        other.abrd.detach();
    })));
}

/** Takes connections and says nothing. */
class Silent {
    #open = new Set();
    async start() {
        this.server = net.createServer(c => { this.#open.add(c); c.on('error', () => {}); });
        await new Promise(done => this.server.listen(0, '127.0.0.1', done));
        this.url = `http://127.0.0.1:${this.server.address().port}`;
        return this;
    }
    stop() {
        for (const c of this.#open) c.destroy();
        return new Promise(done => this.server.close(done));
    }
}

/* ----- reasons ----- */

async function reasonTests(kind) {
    await test(`${kind}: the reason says the status, and the daemon's words, where the page may read them`, () =>
        quietly(() => mocked(async daemon => {
            for (const [status, detail] of [[401, 'a token'], [403, 'list it with --allow-origin'], [429, 'too many'], [503, 'full']]) {
                daemon.mock.refuse = { status, body: { error: 'refused', field: '', detail } };
                const s = begin(kind, { server: daemon.url });
                await s.load();
                assert.equal(await s.chunk(0), 0);
                assert.equal(s.abrd.state.reason, `the daemon answers ${status}: ${detail}`);
                s.abrd.detach();
            }
        })));

    await test(`${kind}: to a page of another origin no answer may also be a refusal, and the reason says how to allow it`, () =>
        mocked(async daemon => {
            await daemon.leave();
            const reason = (origin, server) => instead(globalThis, 'location', { origin, href: `${origin}/a/` }, async () => {
                const s = begin(kind, { server });
                await s.load();
                await s.chunk(0);
                const { state } = s.abrd;
                s.abrd.detach();
                return state.reason;
            });
            const away = 'the daemon does not answer';
            assert.equal(await reason('https://video.example', daemon.url),
                `${away}, or does not allow this page: abrd serve --allow-origin https://video.example`);
            assert.equal(await reason(daemon.url, daemon.url), away);
            assert.equal(await reason(daemon.url, ''), away);
            assert.equal(await reason(daemon.url, `${daemon.url}/below`), away);
            assert.match(await reason(daemon.url, `${daemon.url}0`), /--allow-origin/); // another port
        }));
}

/* ----- answers of any kind ----- */

const json = body => (q, r) => r.writeHead(200, { 'content-type': 'application/json' }).end(body);
const ANSWERS = {
    'a page of HTML': (q, r) => r.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Log in</title>'),
    'HTML with 502': (q, r) => r.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad Gateway</h1>'),
    'no content': (q, r) => r.writeHead(204).end(),
    'null': json('null'),
    'a number': json('7'),
    'a string': json('"level"'),
    'a list': json('[{"level":2}]'),
    'an empty object': json('{}'),
    'wrong types': json('{"session":5,"chunk":"0","level":{},"kbps":[],"mode":7,"probabilities":1}'),
    'a level off the ladder': json('{"session":"0a","chunk":0,"level":99,"kbps":99999,"profile":"live"}'),
    'a bitrate that is none': json('{"session":"0a","chunk":0,"level":2,"kbps":"x"}'),
    'JSON of 4 MB': json(`{"session":[${'0,'.repeat(2e6)}0]}`),
    'deep JSON': json('['.repeat(1e5)),
    'a redirect to itself': (q, r) => r.writeHead(307, { location: q.url }).end(),
    'a redirect to nowhere': (q, r) => r.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    'an answer that is cut': (q, r) => {
        r.writeHead(200, { 'content-length': 999 }).write('{"session":');
        setImmediate(() => r.destroy());
    },
    'a byte now and then': (q, r) => {
        r.writeHead(200, { 'content-type': 'application/json' });
        const timer = setInterval(() => r.write(' '), 5);
        r.on('close', () => clearInterval(timer));
    },
    'nothing at all': () => {},
    'a closed connection': (q, r) => r.destroy(),
    'no HTTP': (q, r) => { r.socket.end('220 mail.example ESMTP\r\n'); },
};

async function answerTests(kind) {
    for (const [name, answer] of Object.entries(ANSWERS))
        await test(`${kind}: the daemon answers ${name}: the player plays on`, () => quietly(async () => {
            const server = http.createServer((q, r) => { q.resume(); q.on('end', () => answer(q, r)); });
            await new Promise(done => server.listen(0, '127.0.0.1', done));
            const s = begin(kind, { server: `http://127.0.0.1:${server.address().port}`, timeoutMs: 40 });
            try {
                s.player.own = 1;
                await s.load();
                for (let n = 0; n < 5; n++) assert.equal(await s.chunk(n), 1);
                assert.ok(s.requests.length === 5 && s.requests.every(r => r.by === 'player'), JSON.stringify(s.requests));
                assert.equal(s.abrd.state.mode, 'player');
                assert.ok(s.abrd.state.reason);
            } finally {
                s.abrd.detach();
                server.closeAllConnections();
                await new Promise(done => server.close(done));
            }
        }));
}

/* ----- options and faults of our own ----- */

const OPTIONS = {
    'null': null,
    'a server that is a number': { server: 7 },
    'a server that is a URL object': { server: new URL('http://127.0.0.1:1/') },
    'a server that is null': { server: null },
    'a server that is no address': { server: 'http://[' },
    'a time that is none': { server: 'http://127.0.0.1:1', timeoutMs: 'soon' },
    'no time': { server: 'http://127.0.0.1:1', timeoutMs: -1 },
    'a profile of the wrong kind': { server: 'http://127.0.0.1:1', profile: 5 },
    'listeners that are none': { server: 'http://127.0.0.1:1', onDecision: 'log', fallback: 'bola' },
};

async function faultTests(kind) {
    for (const [name, options] of Object.entries(OPTIONS))
        await test(`${kind}: options: ${name}: the player plays on`, () => quietly(async () => {
            const s = KINDS[kind](options);
            s.player.own = 1;
            await s.load();
            for (let n = 0; n < 3; n++) assert.equal(await s.chunk(n), 1);
            s.abrd.detach();
        }));

    // Shaka's player is an EventTarget, which keeps such faults to itself
    if (kind !== 'Shaka') await test(`${kind}: a listener of the player's events that fails does not reach the player`, () => quietly(said =>
        mocked(async daemon => {
            const s = begin(kind, { server: daemon.url });
            await s.load();
            const before = said.length;
            if (kind === 'dash.js') s.player.trigger('playbackSeeking', null);
            if (kind === 'hls.js') s.player.trigger('MEDIA_ATTACHED', null);
            assert.equal(said.length, before + 1);
            assert.equal(await s.chunk(0), 2);
            s.abrd.detach();
        })));
}

const boom = () => { throw new Error('another version'); };

async function ownFaultTests() {
    await test('dash.js: a rule that fails asks for no change', () => quietly(said => mocked(async daemon => {
        const s = begin('dash.js', { server: daemon.url });
        await s.load();
        s.player.representations = (was => (...a) => was.apply(s.player, a).map(r => ({ ...r, get bandwidth() { return boom(); } })))(
            s.player.representations);
        const [rule] = s.player.rules.values();
        const context = { getMediaType: () => 'video', getStreamInfo: () => ({ id: 'defaultId_0' }), getMediaInfo: boom,
            getAbrController: boom };
        const { representation, priority } = rule.getSwitchRequest(context);
        assert.deepEqual([representation, priority], [null, 1]);
        assert.equal(rule.getSwitchRequest({}).representation, null);
        assert.equal(said.length, 2);
        s.abrd.detach();
    })));

    await test('hls.js: a controller that fails leaves the level to hls.js', () => quietly(said => mocked(async daemon => {
        const s = begin('hls.js', { server: daemon.url });
        await s.load();
        const { levels } = s.player;
        assert.equal(s.player.abr.nextAutoLevel, 2);
        Object.defineProperty(s.player, 'levels', { get: boom, configurable: true });
        assert.equal(s.player.abr.nextAutoLevel, 0);
        s.player.abr.nextAutoLevel = 1; // the setter as well
        assert.equal(said.length, 2);
        Object.defineProperty(s.player, 'levels', { value: levels, configurable: true });
        assert.equal(s.player.abr.nextAutoLevel, 2);
        s.abrd.detach();
    })));

    await test('hls.js: a second player with the same controller plays by its own rules', () => quietly(said => mocked(async daemon => {
        const s = begin('hls.js', { server: daemon.url });
        const other = new FakeHls(s.abrd.controller);
        assert.match(said[0], /attach\(\) is for one player/);
        await s.load();
        await other.load();
        for (let n = 0; n < 3; n++) {
            assert.equal(await s.chunk(n), 2);
            assert.equal(await other.chunk(n), 0);
        }
        s.abrd.detach();
    })));

    await test('Shaka: a manager that fails leaves the variant to Shaka', () => quietly(said => mocked(async daemon => {
        const s = begin('Shaka', { server: daemon.url }), { getConfiguration } = s.player;
        await s.load();
        s.player.getConfiguration = boom;
        assert.equal(s.player.abr.chooseVariant(), s.player.variants[0]);
        assert.equal(said.length, 1);
        s.player.getConfiguration = getConfiguration;
        assert.equal(s.player.abr.chooseVariant(), s.player.variants[2]);
        s.abrd.detach();
    })));

    for (const [kind, make] of [['dash.js', () => {
        const player = new FakePlayer([{}]);
        player.addResponseInterceptor = undefined; // as before dash.js 5
        return [attachDash(player, {}), () => player.getSettings().streaming.buffer.fastSwitchEnabled, null, player.rules];
    }], ['Shaka', () => {
        const player = new FakeShaka(), { abrFactory } = player.config;
        player.getNetworkingEngine = boom;
        return [attachShaka(player, {}), () => player.config.abrFactory, abrFactory, new Map()];
    }]])
        await test(`${kind}: attach to a player that lacks something leaves it as it was`, () => quietly(said => {
            const [abrd, setting, was, rules] = make();
            assert.equal(setting(), was);
            assert.equal(rules.size, 0);
            assert.equal(abrd.state.mode, 'idle');
            assert.equal(said.length, 1);
            abrd.detach();
        }));

    await test('no clock that can be set is read', () => mocked(async daemon => {
        let calls = 0;
        await instead(Date, 'now', () => (++calls % 2 ? 0 : 4e12), async () => { // between 1970 and 2096
            for (const kind of Object.keys(KINDS)) {
                const s = begin(kind, { server: daemon.url });
                await s.load();
                for (let n = 0; n < 3; n++) assert.equal(await s.chunk(n), 2);
                s.abrd.detach();
            }
        });
        await until(() => daemon.mock.requests.length, 'requests');
        const { outcomes } = [...daemon.mock.sessions.values()][0];
        assert.ok(outcomes.every(o => o.download_s < 600 && o.rebuffer_s < 600));
    }));
}

export async function outageTests() {
    for (const kind of Object.keys(KINDS)) {
        await backOffTests(kind);
        await reasonTests(kind);
        await answerTests(kind);
        await faultTests(kind);
    }
    await ownFaultTests();
}

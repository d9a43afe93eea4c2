// How often somebody may ask, and who that is when proxies stand between. The daemon is told that
// this machine is a proxy, so that the header says who asks.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { answerFits } from './lib/schema.mjs';
import { Daemon, done, folder, test, until } from './lib/daemon.mjs';

const video = { ladder_kbps: [300, 750, 1200], chunk_s: 4, chunks: 100 };
const learn = ['--learn', 'off'];
const proxied = (...args) => Daemon.start([...learn, '--trust-proxy', '127.0.0.1,10.0.0.0/8', ...args]);
const from = address => ({ 'X-Forwarded-For': address });

/** Asks until it is refused, at most n times; how many were let in, and the refusal. */
async function flood(n, ask) {
    for (let i = 0; i < n; i++) {
        const r = await ask();
        if (r.status === 429) return { let_in: i, refused: r };
        assert.ok(r.status < 300, `${r.status} ${r.text}`);
    }
    return { let_in: n };
}

// One in a thousand seconds: the first is let in, and no test takes so long that a second one is.
const RARELY = '0.001';

await test('one address that floods is refused, others are not', async () => {
    const d = await proxied('--address-rate', RARELY, '--open-rate', '0', '--session-rate', '0');
    const health = who => d.call('GET', '/healthz', undefined, from(who));
    const { let_in, refused } = await flood(1e6, () => health('192.0.2.1'));
    assert.equal(let_in, 1);
    assert.equal(answerFits('GET', '/healthz', refused), '');
    assert.equal(refused.json.error, 'too_many');
    assert.ok(Number(refused.headers.get('retry-after')) > 900);
    assert.match(refused.json.request, /^[0-9a-f]{16}$/);
    assert.equal(refused.headers.get('x-request-id'), refused.json.request);

    assert.equal((await health('192.0.2.2')).status, 200);
    assert.match(d.output, /429 GET \/healthz from 192\.0\.2\.1, request/); // not the proxy's
    assert.match((await d.call('GET', '/metrics', undefined, from('192.0.2.3'))).text,
        /^abrd_limited_total\{limit="address"\} [1-9]/m);
});

await test('a million sessions are not to be had from one address', async () => {
    const d = await proxied('--open-rate', RARELY, '--data', join(folder, 'opens'));
    const open = who => d.call('POST', '/v1/sessions', video, from(who));
    const { let_in, refused } = await flood(1e6, () => open('192.0.2.1'));
    assert.equal(let_in, 1);
    assert.equal(answerFits('POST', '/v1/sessions', refused), '');
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    assert.equal((await open('192.0.2.2')).status, 201);

    // the whole /64 of an IPv6 subscriber is one address, another /64 is another
    await flood(1e6, () => open('2001:db9::1'));
    assert.equal((await open('2001:db9:0:0:ffff::7')).status, 429);
    assert.equal((await open('2001:db9:0:1::1')).status, 201);
    // what is already open goes on
    const s = (await open('192.0.2.3')).json.session;
    assert.equal((await d.call('POST', `/v1/sessions/${s}/decisions`, { chunk: 1, buffer_s: 4 },
        from('192.0.2.1'))).status, 200);
});

await test('one session that is asked about too often does not harm others', async () => {
    const d = await proxied('--session-rate', RARELY);
    const open = async who => (await d.call('POST', '/v1/sessions', video, from(who))).json.session;
    const mine = await open('192.0.2.1'), yours = await open('192.0.2.1');
    const ask = (s, who) => d.call('POST', `/v1/sessions/${s}/decisions`, { chunk: 1, buffer_s: 4 }, from(who));
    const { let_in, refused } = await flood(1e6, () => ask(mine, '192.0.2.1'));
    assert.equal(let_in, 1);
    assert.equal(answerFits('POST', '/v1/sessions/{id}/decisions', refused), '');
    assert.equal((await ask(yours, '192.0.2.1')).status, 200);
    assert.equal((await ask(mine, '192.0.2.9')).status, 429); // from elsewhere it is the same session
});

await test('so is one that has no id in the address: a test bed of Pensieve\'s, a player that sends CMCD', async () => {
    const d = await proxied('--session-rate', RARELY, '--address-rate', '0');
    const post = (client, type = 'RL') => d.call('POST', `/?client=${client}`, {
        nextChunkSize: [1e5, 2e5, 3e5, 4e5, 5e5, 6e5], Type: type, lastquality: 2, buffer: 4, lastRequest: 0,
        RebufferTime: 0, lastChunkFinishTime: 1503002052000, lastChunkStartTime: 1503002051000, lastChunkSize: 6e5,
    }, from('192.0.2.1'));
    const bed = await flood(1e6, () => post('a'));
    assert.equal(bed.let_in, 1);
    assert.ok(Number(bed.refused.headers.get('retry-after')) > 900);
    assert.equal(answerFits('POST', '/', bed.refused), '');
    assert.equal((await post('b')).status, 200);

    const tell = lines => d.call('POST', '/v1/cmcd', lines,
        { 'Content-Type': 'application/cmcd', ...from('192.0.2.1') });
    const report = sid => `e=ps,sta=p,ts=1503002051000,sid="${sid}",v=2`;
    const player = await flood(1e6, () => tell(report('a')));
    assert.equal(player.let_in, 1);
    assert.ok(Number(player.refused.headers.get('retry-after')) > 900);
    assert.equal(answerFits('POST', '/v1/cmcd', player.refused), '');
    assert.equal((await tell(`${report('a')}\n${report('b')}`)).status, 429);
    assert.equal((await tell(report('c'))).status, 204);
});

await test('ids of sessions are told on this machine and to who has the token', async () => {
    const file = join(folder, 'token');
    writeFileSync(file, 'much-too-secret-to-tell\n', { mode: 0o600 });
    const d = await proxied('--admin-token-file', file);
    const watch = async (headers, until) => {
        const r = await fetch(`${d.url}/v1/events`, { headers });
        const { session } = (await d.call('POST', '/v1/sessions', video, from('192.0.2.1'))).json;
        const reader = r.body.getReader();
        let text = '';
        while (!until.test(text)) text += Buffer.from((await reader.read()).value).toString();
        await reader.cancel();
        return text.includes(session);
    };
    const stranger = from('192.0.2.9'), twice = /(event: stats[^]*){3}/;
    assert.equal(await watch(stranger, twice), false);
    assert.equal(await watch({ ...stranger, Authorization: 'Bearer wrong' }, twice), false);
    assert.equal(await watch(stranger, /event: withheld\ndata: \{\}\n\n/), false);
    assert.equal(await watch({ ...stranger, Authorization: 'Bearer much-too-secret-to-tell' }, /event: session/), true);
    assert.equal(await watch({}, /event: session/), true);
});

await test('who asks cannot be forged', async () => {
    const d = await proxied('--open-rate', RARELY);
    const open = async lines => {
        const body = JSON.stringify(video);
        const got = await d.raw(`POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\n${lines}`
            + `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`);
        return Number(got.slice(9, 12));
    };
    let n = 0;
    const flooded = async lines => {
        for (let i = 0; i < 20; i++) if (await open(lines(n++)) === 429) return true;
        return false;
    };
    const xff = text => `X-Forwarded-For: ${text}\r\n`;
    // what the client wrote changes each time; the proxy's entry at the right end does not
    assert.ok(await flooded(i => xff(`198.51.100.${i}, 192.0.2.1`)));
    assert.equal(await open(xff('10.9.9.9, 192.0.2.1')), 429);
    assert.equal(await open(xff('192.0.2.1, 10.0.0.7')), 429); // through a second proxy of ours
    // a proxy that adds a line of its own instead
    assert.equal(await open(xff('203.0.113.9') + xff('192.0.2.1')), 429);
    assert.equal(await open(xff('127.0.0.1') + xff('192.0.2.1')), 429);
    // and one that keeps the client's endless list
    assert.equal(await open(xff(`${'6.6.6.6, '.repeat(600)}192.0.2.1`)), 429);
    // the header that our proxies do not write says nothing
    assert.equal(await open(`Forwarded: for=198.51.100.77\r\n${xff('192.0.2.1')}`), 429);
    // but whoever is really somebody else is let in
    assert.equal(await open(xff('192.0.2.1, 203.0.113.5')), 201);
});

await test('the standard header, when it is the one', async () => {
    const d = await proxied('--open-rate', RARELY, '--proxy-header', 'forwarded');
    const open = line => d.call('POST', '/v1/sessions', video, { Forwarded: line });
    await flood(100, () => open('for=6.6.6.6, for=192.0.2.1;proto=https'));
    assert.equal((await open('for=192.0.2.1')).status, 429);
    assert.equal((await open('for="192.0.2.1:4711";by=10.0.0.1, for=10.0.0.1')).status, 429);
    assert.equal((await open('for="[2001:db9::7]"')).status, 201);
});

await test('this machine is not limited, and strangers are not believed', async () => {
    const d = await Daemon.start([...learn, '--address-rate', RARELY, '--open-rate', RARELY]);
    for (let i = 0; i < 30; i++)
        assert.equal((await d.call('POST', '/v1/sessions', video, from('192.0.2.1'))).status, 201);
});

await test('pages may read that they were refused', async () => {
    const d = await proxied('--address-rate', RARELY, '--allow-origin', 'https://player.example');
    const page = { Origin: 'https://player.example', ...from('192.0.2.1') };
    const { refused } = await flood(100, () => d.call('GET', '/healthz', undefined, page));
    assert.equal(refused.headers.get('access-control-allow-origin'), 'https://player.example');
    assert.match(refused.headers.get('access-control-expose-headers'), /Retry-After/);
});

await test('ids of requests come back, in the log as well', async () => {
    const d = await Daemon.start([...learn, '--log', 'json']);
    const ours = await d.call('GET', '/v1/profiles/nobody');
    const theirs = await d.call('POST', '/v1/sessions/0123/decisions', '{}', { 'X-Request-Id': 'edge-7.A_b' });
    assert.equal(theirs.json.request, 'edge-7.A_b');
    const refused = await d.raw('GET / HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: early\r\nContent-Length: 1\r\n'
        + 'Content-Length: 1\r\n\r\n', { keep: true });
    assert.match(refused, /"request":"early"\}/);
    assert.equal((await d.call('GET', '/healthz')).headers.get('x-request-id'), null); // no error, no id
    for (let i = 0; i < 200; i++) await d.call('GET', '/v1/nothing');
    await d.stop();

    const lines = d.output.split('\n').filter(l => l.startsWith('{"time"')).map(l => JSON.parse(l));
    const errors = lines.filter(l => l.event === 'error');
    const of = id => errors.filter(l => l.text.includes(`request ${id}:`));
    assert.equal(of(ours.json.request).length, 1);
    assert.match(of('edge-7.A_b')[0].text, /^400 POST \/v1\/sessions\/\{id\}\/decisions from 127\.0\.0\.1, request/);
    assert.equal(of('early').length, 1);
    assert.ok(!d.output.includes('0123/decisions')); // ids of sessions are not for logs
    assert.ok(errors.length < 200, `${errors.length}`); // ten a second and worker
});

const GET = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n';

/** A connection from one of this machine's addresses, which answers requests until it is closed. */
class Connection {
    constructor(d, from) {
        this.got = '';
        this.open = true;
        this.socket = net.connect({ port: d.port, host: '127.0.0.1', localAddress: from });
        this.ended = new Promise(resolve => this.socket.on('close', () => { this.open = false; resolve(); }));
        this.socket.on('error', () => {});
        this.socket.on('data', data => { this.got += data; this.hear?.(); });
    }

    /** The head of the answer; '' when the connection was closed instead. */
    async ask(lines = '') {
        this.got = '';
        this.socket.write(`${GET}${lines}\r\n`);
        while (this.open && !this.got.includes('}\n'))
            await Promise.race([this.ended, new Promise(resolve => { this.hear = resolve; })]);
        return this.got;
    }
}

/** n connections, one after the other; those that are answered. */
async function hold(d, from, n) {
    const held = [];
    for (let i = 0; i < n; i++) {
        const c = new Connection(d, from);
        if (/^HTTP\/1.1 200/.test(await c.ask())) held.push(c);
    }
    return held;
}

const close = list => Promise.all(list.map(c => { c.socket.destroy(); return c.ended; }));
const open = list => list.filter(c => c.open).length;

await test('one address holds its share of the connections, others are answered', async () => {
    const file = join(folder, 'connections.conf');
    writeFileSync(file, 'address-connections = 6\n');
    const d = await Daemon.start([...learn, '--max-connections', '40', '--config', file]);
    const attacker = await hold(d, '127.0.0.3', 30);
    assert.equal(attacker.length, 6);
    const victim = await hold(d, '127.0.0.2', 3);
    assert.equal(victim.length, 3);
    assert.ok(await d.metric('abrd_http_connections_refused_total') >= 24);
    assert.match(d.output, /closed a connection from 127\.0\.0\.3: .*--address-connections/);
    // what it gives back it may have again
    await close(attacker.splice(0, 2));
    await until('its places to be free', async () => {
        const more = await hold(d, '127.0.0.3', 1);
        attacker.push(...more);
        return attacker.length === 6;
    });
    assert.equal((await hold(d, '127.0.0.3', 3)).length, 0);
    // this machine's own programs are not counted
    assert.equal((await hold(d, '127.0.0.1', 10)).length, 10);
    // SIGHUP: more of them, and those that are there still count
    writeFileSync(file, 'address-connections = 8\n');
    d.child.kill('SIGHUP');
    await until('the new limit', () => /address-connections has changed/.test(d.output));
    attacker.push(...await hold(d, '127.0.0.3', 10));
    assert.equal(attacker.length, 8);
    for (const c of victim) assert.match(await c.ask(), /^HTTP\/1.1 200/);
});

await test('by default it is a quarter of all, and 0 is no limit', async () => {
    const d = await Daemon.start([...learn, '--max-connections', '20']);
    assert.equal((await hold(d, '127.0.0.3', 20)).length, 10);
    await d.stop();
    const free = await Daemon.start([...learn, '--workers', '1', '--max-connections', '40', '--address-connections', '0']);
    assert.equal((await hold(free, '127.0.0.3', 28)).length, 28);
});

await test('a trusted proxy holds as many as it likes', async () => {
    const d = await Daemon.start([...learn, '--max-connections', '40', '--address-connections', '2',
        '--trust-proxy', '127.0.0.3']);
    assert.equal((await hold(d, '127.0.0.3', 12)).length, 12);
    assert.equal((await hold(d, '127.0.0.4', 12)).length, 2);
});

await test('a crowded table: the idle connections of the address that holds most make room', async () => {
    const d = await Daemon.start([...learn, '--workers', '1', '--max-connections', '40', '--address-connections', '0']);
    const many = await hold(d, '127.0.0.3', 39);
    await until('some to be closed', () => open(many) <= 31);
    const few = await hold(d, '127.0.0.2', 5);
    assert.equal(few.length, 5);
    for (const c of few) assert.match(await c.ask(), /^HTTP\/1.1 200/);
    assert.ok(await d.metric('abrd_http_connections_evicted_total') > 0);
    assert.equal(open(few), 5);
});

await test('a refusal for its rate ends the connection, but not that of a proxy', async () => {
    const d = await proxied('--address-rate', RARELY);
    const direct = new Connection(d, '127.0.0.1');
    const client = 'X-Forwarded-For: 192.0.2.1\r\n';
    assert.match(await direct.ask(client), /^HTTP\/1.1 200/);
    const refused = await direct.ask(client);
    assert.match(refused, /^HTTP\/1.1 429/);
    assert.doesNotMatch(refused, /^Connection: close/m);
    assert.match(await direct.ask('X-Forwarded-For: 192.0.2.2\r\n'), /^HTTP\/1.1 200/);
});

await test('one address has its share of the event streams, others watch', async () => {
    const d = await proxied('--workers', '1');
    const streams = [];
    const watch = async who => {
        const stop = new AbortController();
        const r = await fetch(`${d.url}/v1/events`, { headers: who ? from(who) : {}, signal: stop.signal });
        if (r.ok) streams.push({ stop, r }); // an answer that is not kept may be collected, and ends
        return r;
    };
    for (let i = 0; i < 16; i++) assert.equal((await watch('192.0.2.1')).status, 200);
    const refused = await watch('192.0.2.1');
    assert.equal(refused.status, 429);
    const json = await refused.json();
    assert.equal(json.error, 'too_many');
    assert.equal(answerFits('GET', '/v1/events', { status: 429, headers: refused.headers, text: 'x', json }), '');
    assert.equal((await watch('192.0.2.2')).status, 200);
    assert.equal(await d.metric('abrd_limited_total{limit="events"}'), 1);
    // who leaves makes room for others of his; Node 18 may keep the connection of an answer that is only aborted
    await streams.shift().r.body.cancel();
    await until('its place to be free', async () => (await watch('192.0.2.1')).status === 200);

    // this machine's own programs get the rest, and then the connection is closed
    while ((await watch()).status === 200) assert.ok(streams.length <= 64);
    assert.equal(streams.length, 64);
    const c = new Connection(d, '127.0.0.1');
    c.socket.write('GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await c.ended;
    assert.match(c.got, /^HTTP\/1.1 429 [^]*^Connection: close\r$/m);
    for (const s of streams) s.stop.abort();
});

await test('one address has its share of the transfers from origins', async () => {
    const waiting = [];
    const origin = net.createServer(s => { waiting.push(s); s.on('error', () => {}); });
    await new Promise(resolve => origin.listen(0, '127.0.0.1', resolve));
    const d = await proxied('--origin', `cdn=http://127.0.0.1:${origin.address().port}/`, '--origin-transfers', '8');
    const stop = new AbortController();
    const ask = who => fetch(`${d.url}/o/cdn/a.mp4`, { headers: from(who), signal: stop.signal }).catch(() => {});
    ask('192.0.2.1');
    ask('192.0.2.1');
    await until('two to be under way', () => waiting.length === 2);
    const refused = await ask('192.0.2.1');
    assert.equal(refused.status, 429);
    assert.equal((await refused.json()).error, 'too_many');
    ask('192.0.2.2');
    await until('another address to be served', () => waiting.length === 3);
    assert.equal(await d.metric('abrd_limited_total{limit="transfers"}'), 1);
    // who leaves makes room
    stop.abort();
    await until('none to be under way', async () => await d.metric('abrd_origin_transfers') === 0);
    const again = new AbortController();
    fetch(`${d.url}/o/cdn/a.mp4`, { headers: from('192.0.2.1'), signal: again.signal }).catch(() => {});
    await until('it to be asked again', () => waiting.length === 4);
    again.abort();
    await d.stop();
    for (const s of waiting) s.destroy();
    origin.close();
});

/** A request that is answered and whose answer is not read: it stays on its way. */
class Unread {
    constructor(d, path, who) {
        this.got = '';
        this.socket = net.connect({ port: d.port, host: '127.0.0.1' });
        this.socket.on('error', () => {});
        this.ended = new Promise(resolve => this.socket.on('close', resolve));
        this.head = new Promise((resolve, reject) => {
            this.socket.on('data', data => {
                this.got += data.toString('latin1');
                if (!this.got.includes('\r\n\r\n')) return;
                this.socket.pause();
                resolve(Number(this.got.slice(9, 12)));
            });
            this.ended.then(() => reject(new Error(`closed: ${this.got}`)));
        });
        this.head.catch(() => {});
        this.socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n`
            + `${who ? `X-Forwarded-For: ${who}\r\n` : ''}\r\n`);
    }

    close() { this.socket.destroy(); return this.ended; }
}

/** Asks one address's share of `path` full; others and this machine's programs still get it. */
async function shareOf(d, { path, route, share, limit }) {
    const kept = [];
    const ask = async who => {
        const u = new Unread(d, path(kept.length), who);
        const status = await u.head;
        if (status === 200) kept.push(u); else await u.close();
        return status;
    };
    try {
        let n = 0;
        while (n <= share && await ask('192.0.2.1') === 200) n++;
        assert.equal(n, share);
        const refused = await d.call('GET', path(n), undefined, from('192.0.2.1'));
        assert.equal(answerFits('GET', route, refused), '');
        assert.equal(refused.json.error, 'too_many');
        assert.equal(refused.headers.get('retry-after'), '1');
        assert.equal(await ask('192.0.2.2'), 200); // an address that the proxy names is another one
        assert.equal(await ask(), 200);            // this machine's own programs are not counted
        assert.equal(await ask('192.0.2.1'), 429);
        assert.equal(await d.metric(`abrd_limited_total{limit="${limit}"}`), 3);
        await kept.shift().close();
        await until('its place to be free', async () => await ask('192.0.2.1') === 200);
    } finally {
        await Promise.all(kept.map(u => u.close()));
    }
}

await test('one address has its share of the demo\'s viewers', async () => {
    const media = join(folder, 'demo'), traces = join(folder, 'demo-traces');
    mkdirSync(media);
    mkdirSync(traces);
    writeFileSync(join(media, 'manifest.mpd'), '<MPD/>');
    writeFileSync(join(media, 'a.m4s'), Buffer.alloc(1e6));
    writeFileSync(join(traces, 'thin'), '0 0.05\n1000 0.05\n'); // it takes minutes
    const d = await proxied('--media-dir', media, '--traces', traces, '--address-rate', '0');
    await shareOf(d, { path: n => `/demo/thin/v${n}/a.m4s`, route: '/demo/{link}/{viewer}/{file}', share: 16,
        limit: 'demo_viewers' });
    // a viewer may have several requests
    const twice = [new Unread(d, '/demo/thin/v/a.m4s', '192.0.2.3'), new Unread(d, '/demo/thin/v/a.m4s', '192.0.2.3')];
    for (const u of twice) assert.equal(await u.head, 200);
    for (const u of twice) await u.close();
});

await test('one address has its share of the histories that are read at once', async () => {
    const d = await proxied('--workers', '1', '--address-rate', '0', '--session-rate', '0');
    const { session, level } = (await d.call('POST', '/v1/sessions', { ladder_kbps: [300, 750], chunk_s: 4 })).json;
    const path = `/v1/sessions/${session}`;
    for (let chunk = 0; chunk < 600; chunk++) {
        const reward = { chunk, level, bytes: 300000, download_s: 1.25, rebuffer_s: 0 };
        await until('the reward to be taken', async () =>
            (await d.call('POST', `${path}/rewards`, reward)).status === 200);
    }
    const read = (n, who) => Promise.all(Array.from({ length: n }, () =>
        d.call('GET', path, undefined, who ? from(who) : {})));
    let refused;
    for (let round = 0; round < 20 && !refused; round++) { // a slow client may find some answered before
        const answers = await read(100, '192.0.2.1');
        assert.ok(answers.some(r => r.status === 200));
        refused = answers.find(r => r.status !== 200);
    }
    assert.equal(refused?.status, 429, refused?.text);
    assert.equal(answerFits('GET', '/v1/sessions/{id}', refused), '');
    assert.equal(refused.json.error, 'too_many');
    assert.equal(refused.headers.get('retry-after'), '1');
    assert.ok(await d.metric('abrd_limited_total{limit="histories"}') > 0);
    for (const r of await read(100)) assert.equal(r.status, 200); // this machine's own programs
    for (const r of await read(60, '192.0.2.1')) assert.equal(r.status, 200); // it got all of them back
});

await test('mistakes in the options are named', async () => {
    const fails = async (args, pattern) => {
        const d = new Daemon(['--port', '0', ...learn, ...args]);
        const { code } = await d.exited;
        assert.equal(code, 1, d.output);
        assert.match(d.output, pattern);
    };
    await fails(['--trust-proxy', '10.0.0.1/8'], /trust.proxy.*10\.0\.0\.1\/8/);
    await fails(['--trust-proxy', 'proxy.example'], /trust.proxy/);
    await fails(['--proxy-header', 'x-real-ip'], /proxy.header/);
    const file = join(folder, 'limits.conf');
    writeFileSync(file, 'address-rate = -1\n');
    const d = new Daemon(['--config', file]);
    assert.equal((await d.exited).code, 2);
    assert.match(d.output, /limits\.conf:1/);
});

done();

// requests.mjs - requests of every route, good ones and spoiled ones, drawn from a seed.

/** A small generator (splitmix32), so that every Node draws the same. */
export class Random {
    constructor(seed) { this.state = seed >>> 0; }

    next() {
        this.state = (this.state + 0x9e3779b9) >>> 0;
        let z = this.state;
        z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
        z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
        return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32;
    }

    below(n) { return Math.floor(this.next() * n); }

    of(list) { return list[this.below(list.length)]; }
}

const LADDERS = [[300, 750, 1200, 1850, 2850, 4300], [500, 2500], [1000], [235, 375, 560, 750, 1050, 1750, 2350, 3000, 4300, 5800]];
const PROFILES = ['documentary', 'live', 'news', 'pensieve'];
const ODD = [null, true, '', 'x', -1, 1e9, 1e308, 0.5, [], {}, [1, 2], 'documentary', '\u0000', '7'];

/** The same with one member taken off, added or replaced, or the text cut. */
function spoiled(random, body) {
    const copy = JSON.parse(JSON.stringify(body)), keys = Object.keys(copy).filter(k => k !== 'key'); // without one it is drawn
    const key = random.of(keys);
    switch (random.below(6)) {
    case 0: delete copy[key]; return copy;
    case 1: copy.unknown = random.of(ODD); return copy;
    case 2: return JSON.stringify(copy).slice(0, random.below(40));
    case 3: if (Array.isArray(copy[key]) && copy[key].length) copy[key][random.below(copy[key].length)] = random.of(ODD); else copy[key] = random.of(ODD); return copy;
    case 4: if (copy.last) { delete copy.last[random.of(Object.keys(copy.last))]; return copy; } copy[key] = random.of(ODD); return copy;
    default: copy[key] = random.of(ODD); return copy;
    }
}

function opening(random) {
    const ladder_kbps = random.of(LADDERS);
    const body = { ladder_kbps, chunk_s: random.of([1, 2, 4, 6]), key: random.below(1000) };
    if (random.below(2)) body.chunks = 2 + random.below(30);
    if (random.below(3) === 0) body.buffer_max_s = random.of([10, 30, 60]);
    const hint = random.below(4);
    if (hint < 2) body.profile = random.of(PROFILES);
    if (hint === 2) { body.mu = [1 + random.below(5), 1, 1 + random.below(5)]; body.utility = random.of(['linear', 'log', 'pamoe']); }
    if (random.below(3) === 0) body.content_id = `film ${random.below(5)}`;
    if (random.below(3) === 0) body.next_bytes = ladder_kbps.map(k => Math.round(k * 125 * body.chunk_s));
    return body;
}

/** What came of a chunk: the same whenever it is asked for, but for one contradiction in eight. */
function outcome(random, s, chunk, level = s.level) {
    const own = new Random(chunk + (random.below(8) ? s.seed : random.below(1e9)));
    return { chunk, level, bytes: 20000 + own.below(2000000), download_s: 0.1 + 5 * own.next(),
        rebuffer_s: own.below(3) ? 0 : own.next() };
}

/** The next chunk's question, or a repeat, a contradiction, a seek. */
function question(random, s) {
    const chunk = s.chunk + 1;
    const q = { chunk, buffer_s: Math.round(600 * random.next()) / 10, last: outcome(random, s, s.chunk) };
    switch (random.below(10)) {
    case 0: return s.asked ?? q;
    case 1: delete q.last; return q;
    case 2: q.last.level = random.below(s.ladder.length); return q;
    case 3: q.chunk += random.below(4); return q;
    default: return q;
    }
}

const SITES = ['/', '/healthz', '/readyz', '/metrics', '/v1/profiles', '/v1/profiles/news', '/v1/profiles/absent',
    '/v1/policy', '/v1/policy/updates', '/v1/policy/updates?after=3', '/v1/policy/updates?after=x', '/v1/policy/plasticity',
    '/v1/policy/weights', '/v1/untagged', '/v1/events?only=sessions', '/v1/events?only=x', '/demo/links', '/demo/unlimited/v/manifest.mpd',
    '/demo/unlimited/v/300-1.m4s', '/demo/unlimited/v/absent', '/demo/absent/v/300-1.m4s', '/demo/unlimited/v/..%2Fx', '/o/none/x', '/dashjs.js',
    '/hlsjs.js', '/shaka.js', '/lib/core.js', '/dashboard.html', '/openapi.json', '/absent', '/..%2f..%2fetc/passwd', '/%00', '/v1', '/v1/',
    '/v1/sessions', '/v1/sessions/', '/v1/sessions/zz', '/v1/sessions/00000000000000000000000000000000',
    '/v1/decide', '/v1/cmcd', '/v1/policy/gate', '/v1/policy/experts/actor/9', '/v1/sessions?limit=3', '/index.html', '/favicon.ico'];

const RAW = ['GET / HTTP/1.1\r\n\r\n', 'GET /healthz HTTP/1.0\r\n\r\n', 'POST /v1/decide HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
    'POST /v1/decide HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}',
    'GET /healthz HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n', 'FOO /healthz HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nConnection: close\r\n\r\n'];

/** n requests; a request's took(answer) must be called before the next one is drawn. */
export function* plainRequests(n, world) {
    const random = new Random(77), live = [];
    for (let i = 0; i < n; i++) {
        const s = live.length ? random.of(live) : null;
        const kind = random.below(100);
        if (!s || kind < 12) {
            const body = opening(random), good = random.below(4);
            yield { method: 'POST', path: '/v1/sessions', body: good ? body : spoiled(random, body),
                took(r) {
                    if (r.status !== 201) return;
                    const a = JSON.parse(r.text);
                    live.push({ id: a.session, seed: 1000 * i, chunk: 0, level: a.level, ladder: body.ladder_kbps });
                    if (live.length > 40) live.shift();
                } };
        } else if (kind < 50) {
            const q = question(random, s), good = random.below(6);
            const body = good ? q : spoiled(random, q);
            yield { method: 'POST', path: `/v1/sessions/${s.id}/decisions`, body,
                took(r) {
                    if (r.status !== 200) return;
                    const a = JSON.parse(r.text);
                    Object.assign(s, { chunk: a.chunk, level: a.level, asked: body });
                } };
        } else if (kind < 58) {
            const body = outcome(random, s, s.chunk);
            if (random.below(4) === 0) body.final = true;
            if (random.below(8) === 0) { body.final = true; body.profile = random.of([...PROFILES, 'absent']); }
            yield { method: 'POST', path: `/v1/sessions/${s.id}/rewards`, body: random.below(5) ? body : spoiled(random, body) };
        } else if (kind < 62) {
            const body = { chunk: s.chunk, level: s.level, bytes: random.below(400000), elapsed_s: 0.1 + 4 * random.next(), buffer_s: 10 * random.next() };
            yield { method: 'POST', path: `/v1/sessions/${s.id}/abandon`, body: random.below(4) ? body : spoiled(random, body) };
        } else if (kind < 67) {
            yield { method: 'GET', path: `/v1/sessions/${s.id}${random.of(['', '?format=csv', '?format=x'])}` };
        } else if (kind < 69) {
            if (random.below(2)) live.splice(live.indexOf(s), 1);
            yield { method: 'DELETE', path: `/v1/sessions/${s.id}${random.of(['', '?profile=live', '?profile=absent'])}` };
        } else if (kind < 79) {
            const ladder_kbps = random.of(LADDERS);
            const body = { ladder_kbps, chunk_s: random.of([1, 2, 4]), buffer_s: random.below(40), last_level: random.below(ladder_kbps.length + 1) - 1,
                throughput_kbps: [500 + random.below(5000), 500 + random.below(5000)], download_s: [1, 2 * random.next() + 0.1], profile: random.of(PROFILES) };
            yield { method: 'POST', path: '/v1/decide', body: random.below(4) ? body : spoiled(random, body) };
        } else if (kind < 82) {
            const name = random.of(['sports', 'news', 'lecture', 'a/b', 'x'.repeat(80), 'ü']), token = random.below(3) ? world.token : 'wrong';
            const body = { mu: [random.below(6), 1, random.below(6)], utility: random.of(['linear', 'log', 'x']) };
            yield { method: random.of(['PUT', 'PUT', 'DELETE']), path: `/v1/profiles/${encodeURIComponent(name)}`, body, headers: { Authorization: `Bearer ${token}` } };
        } else if (kind < 83) {
            yield { method: 'POST', path: '/v1/policy/gate', body: random.of([{ reset: true }, { reset: 1 }, {}]), headers: { Authorization: `Bearer ${world.token}` } };
        } else if (kind < 84) {
            yield { method: 'PUT', path: `/v1/policy/experts/${random.of(['actor', 'critic', 'x'])}/${random.below(5)}`,
                body: { updates: random.of([0, 0, -1, 'x']) }, headers: { Authorization: `Bearer ${random.below(2) ? world.token : 'wrong'}` } };
        } else if (kind < 87) {
            const chunk = 1 + random.below(6), sid = `p${random.below(30)}`, told = `bl=${100 * random.below(90)},br=300,cid="film",d=2000,mtp=${100 * (1 + random.below(60))},ot=v,sf=d,sid="${sid}",st=v,v=1`;
            yield { method: 'GET', path: `/demo/unlimited/v/300-${chunk}.m4s?CMCD=${encodeURIComponent(random.below(5) ? told : told.slice(random.below(60)))}` };
        } else if (kind < 90) {
            const body = { nextChunkSize: LADDERS[0].map(k => k * 500), Type: 'BBA', lastquality: random.below(6), buffer: 20 * random.next(), bufferAdjusted: 5,
                bandwidthEst: 2000, lastRequest: random.below(5), RebufferTime: 0, lastChunkFinishTime: 1503002055000 + 1000 * i, lastChunkStartTime: 1503002051000 + 1000 * i, lastChunkSize: 400000 };
            yield { method: 'POST', path: `/?client=c${random.below(9)}`, body: random.below(3) ? body : spoiled(random, body) };
        } else if (kind < 91) {
            yield { method: 'POST', path: '/v1/cmcd', body: `bl=1000,cid="film",sid="p${random.below(30)}",sta=p,ts=1700000000000,v=2,e=ps\n`, headers: { 'Content-Type': 'application/cmcd' } };
        } else if (kind < 92) {
            yield { raw: random.of(RAW) };
        } else {
            const headers = {};
            if (random.below(4) === 0) headers.Origin = random.of(['https://page.example', 'https://evil.example', 'null']);
            if (random.below(10) === 0) headers.Range = random.of(['bytes=0-9', 'bytes=99999999-', 'bytes=-5', 'x']);
            if (random.below(10) === 0) headers.Accept = random.of(['text/csv', 'text/html', '*/*']);
            yield { method: random.of(['GET', 'GET', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PATCH']), path: random.of(SITES), headers };
        }
    }
}

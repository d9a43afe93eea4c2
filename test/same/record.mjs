// record.mjs PROGRAM DIR - what a build of abrd does, as text that two builds can be compared by:
//
//   DIR/requests.txt   10,000 requests of every route: status, headers that matter, body
//   DIR/errors.txt     the sentences of the refusals among them, in the same order
//   DIR/sessions.txt   500 sessions of 24 chunks, half of them exploring: every decision with its draw
//   DIR/commands.txt   rows (--json) of every command with a fixed seed, its options and exit codes
//   DIR/metrics.txt    the names, types and labels of /metrics
//
// Whatever differs from run to run (ids, times, ports, folders) is replaced by a name. All else comes
// from seeds, so two recordings of one program are equal (compare.mjs, and same.sh which calls both).
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { COMMANDS, OPTION_COMMANDS } from './commands.mjs';
import { plainRequests, Random } from './requests.mjs';

const [program, out] = process.argv.slice(2).map(p => resolve(p));
const REQUESTS = 10000, SESSIONS = 500, CHUNKS = 24;
const LADDER = [300, 750, 1200, 1850, 2850, 4300];
const HEADERS = ['content-type', 'cache-control', 'location', 'allow', 'vary', 'content-disposition',
    'content-range', 'accept-ranges', 'access-control-allow-origin', 'access-control-allow-methods',
    'access-control-allow-headers', 'access-control-expose-headers', 'www-authenticate', 'retry-after',
    'connection', 'cmsd-dynamic', 'cmsd-static', 'abrd-cmcd-error', 'x-content-type-options',
    'content-security-policy', 'referrer-policy', 'link', 'deprecation'];
/** Members of answers whose values are times, or come from the clock. */
const CLOCK = /^(.*_at|at|since|time|times?_s|started|uptime.*|age.*|created|closed|opened|last_seen|cpu.*|seconds|elapsed.*|t|now|.*_unix|memory.*|wall.*|next_slot_s|left_s|begun|until)$/;

mkdirSync(out, { recursive: true });
const folder = mkdtempSync(join(tmpdir(), 'abrd-same-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

// ---- a daemon

async function daemon(args) {
    const child = spawn(program, ['serve', '--port', '0', '--workers', '1', '--seed', '3', '--learn', 'off',
        '--address-rate', '0', '--open-rate', '0', '--session-rate', '0', '--log-level', 'error', ...args],
    { stdio: ['ignore', 'pipe', 'pipe'] });
    process.on('exit', () => child.kill('SIGKILL'));
    let said = '';
    const port = await new Promise((done, fail) => {
        const hear = data => {
            said += data;
            const found = /at http:\/\/[^/ ]*:(\d+)\//.exec(said);
            if (found) done(Number(found[1]));
        };
        child.stdout.on('data', hear);
        child.stderr.on('data', hear);
        child.on('exit', code => fail(new Error(`${program} serve ended with ${code}: ${said}`)));
    });
    child.removeAllListeners('exit');
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const ask = (method, path, body, headers = {}) => new Promise((done, fail) => {
        const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
        const sent = text === undefined ? headers : { 'Content-Length': Buffer.byteLength(text), ...headers };
        const request = http.request({ host: '127.0.0.1', port, method, path, agent, headers: sent }, answer => {
            let got = '';
            answer.setEncoding('latin1');
            answer.on('data', data => {
                got += data;
                if (answer.headers['content-type']?.startsWith('text/event-stream')) request.destroy();
            });
            answer.on('close', () => done({ status: answer.statusCode, headers: answer.headers, text: got }));
        });
        request.on('error', e => (e.code === 'ECONNRESET' ? done({ status: 0, headers: {}, text: '' }) : fail(e)));
        request.end(text);
    });
    const raw = text => new Promise(done => {
        let got = '';
        const s = net.connect(port, '127.0.0.1', () => s.end(text));
        s.on('data', d => { got += d; });
        s.on('close', () => done(got));
        s.on('error', () => done(got));
    });
    const stop = () => new Promise(done => { child.on('exit', done); child.kill('SIGTERM'); });
    return { ask, raw, stop, port };
}

// ---- what differs from run to run gets a name

const ids = new Map();
function named(text, port) {
    let s = text.replace(/"(description|summary)": ?"(?:[^"\\]|\\.)*"/g, '"$1":TEXT').replaceAll(`127.0.0.1:${port}`, 'HOST').replaceAll(folder, 'FOLDER')
        .replace(/(etp|mb)=\d+/g, '$1=CLOCK').replace(/\b[0-9a-f]{32}\b|\b[0-9A-Za-z_-]{22}\b(?=")/g, id => {
            if (!ids.has(id)) ids.set(id, `ID${ids.size}`);
            return ids.get(id);
        });
    return s;
}

function withoutClock(value, key = '') {
    if (Array.isArray(value)) return value.map(v => withoutClock(v, key));
    if (value && typeof value === 'object')
        return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, withoutClock(v, k)]));
    return typeof value === 'number' && CLOCK.test(key) ? 'CLOCK' : value;
}

const errors = [];
function answerLine(r, port) {
    const kept = HEADERS.filter(h => r.headers[h] !== undefined).map(h => `${h}=${r.headers[h]}`);
    const type = r.headers['content-type'] ?? '';
    let body = r.text;
    if (type.startsWith('application/json')) {
        try {
            const json = withoutClock(JSON.parse(body));
            if (json.request) json.request = 'REQUEST';
            if (r.status >= 400 && json.detail !== undefined) {
                errors.push(named(`${r.status} ${json.error} ${json.field}: ${json.detail}`, port));
                json.detail = 'TEXT';
            }
            body = JSON.stringify(json);
        } catch { /* as it is */ }
    } else if (/html|javascript|css|image|video|openmetrics|octet|mp4|safetensors|dash|text\/event-stream/.test(type) ||
               r.text.startsWith('# HELP')) {
        body = `${type} body`;
    }
    return named(`${r.status} ${kept.join('; ')} | ${body}`, port);
}

// ---- the recordings

/** A data folder of the demo's kind, for segments with and without CMCD. */
function mediaFolder() {
    const dir = join(folder, 'media');
    mkdirSync(dir);
    for (const kbps of LADDER)
        for (let n = 1; n <= 6; n++) writeFileSync(join(dir, `${kbps}-${n}.m4s`), Buffer.alloc(kbps * 20 + n));
    writeFileSync(join(dir, 'manifest.mpd'), `<MPD mediaPresentationDuration="PT12S">
<Period><AdaptationSet contentType="video">
<SegmentTemplate media="$RepresentationID$-$Number$.m4s" duration="2" startNumber="1"/>
${LADDER.map(kbps => `<Representation id="${kbps}" bandwidth="${kbps}000"/>`).join('\n')}
</AdaptationSet></Period></MPD>`);
    return dir;
}

async function recordRequests() {
    const token = join(folder, 'token');
    const d = await daemon(['--data', join(folder, 'requests'), '--explore', '0', '--media-dir', mediaFolder(),
        '--admin-token-file', token, '--allow-origin', 'https://page.example', '--host', 'abrd.example']);
    const lines = [];
    const world = { token: readFileSync(token, 'utf8').trim(), sessions: [] };
    for (const q of plainRequests(REQUESTS, world)) {
        const r = q.raw ? { status: 0, headers: {}, text: (await d.raw(q.raw.replaceAll('PORT', d.port))).split('\r\n')[0] } :
            await d.ask(q.method, q.path, q.body, q.headers);
        q.took?.(r);
        const body = q.body === undefined ? '' : ` ${typeof q.body === 'string' ? q.body : JSON.stringify(q.body)}`;
        lines.push(named(`${q.raw ? JSON.stringify(q.raw) : `${q.method} ${q.path}`}${body}`, d.port).slice(0, 400));
        lines.push(`    ${answerLine(r, d.port)}`);
    }
    const metrics = (await d.ask('GET', '/metrics')).text;
    writeFileSync(join(out, 'requests.txt'), `${lines.join('\n')}\n`);
    writeFileSync(join(out, 'errors.txt'), `${errors.join('\n')}\n`);
    const names = metrics.split('\n').filter(l => l && !l.startsWith('# HELP'))
        .map(l => (l.startsWith('#') ? l : l.replace(/ [^ ]+$/, '')));
    writeFileSync(join(out, 'metrics.txt'), `${[...new Set(names)].sort().join('\n')}\n`);
    await d.stop();
}

/** What a plain link gives: the time that a chunk takes, from (session, chunk). */
async function recordSessions() {
    const d = await daemon(['--data', join(folder, 'sessions'), '--explore', '0.5']);
    const kinds = ['documentary', 'live', 'news', 'pensieve', undefined];
    const lines = [];
    for (let k = 0; k < SESSIONS; k++) {
        const random = new Random(1000 + k), kbps = 300 * 20 ** random.next();
        const opened = JSON.parse((await d.ask('POST', '/v1/sessions', {
            ladder_kbps: LADDER, chunk_s: 4, chunks: CHUNKS, profile: kinds[k % kinds.length], key: k,
            content_id: `c${k % 7}` })).text);
        const id = opened.session;
        let a = opened, buffer = 0;
        lines.push(`session ${k}`, JSON.stringify({ ...opened, session: 'ID' }));
        for (let chunk = 0; chunk < CHUNKS; chunk++) {
            const bytes = Math.round(LADDER[a.level] * 500 * (0.8 + 0.4 * random.next()));
            const took = 0.08 + bytes * 8 / 1000 / (kbps * (0.5 + random.next()));
            const stall = Math.max(0, took - buffer);
            buffer = Math.min(60, Math.max(0, buffer - took) + 4);
            const outcome = { chunk, level: a.level, bytes, download_s: took, rebuffer_s: stall };
            const last = chunk === CHUNKS - 1;
            const r = await d.ask('POST', `/v1/sessions/${id}/${last ? 'rewards' : 'decisions'}`,
                last ? { ...outcome, final: true } : { chunk: chunk + 1, buffer_s: buffer, last: outcome });
            a = JSON.parse(r.text);
            lines.push(JSON.stringify(a));
        }
    }
    writeFileSync(join(out, 'sessions.txt'), `${lines.join('\n')}\n`);
    await d.stop();
}

/** Rows without what the clock or the machine put into them. */
const steadyRows = text => {
    try {
        return JSON.stringify(withoutClock(JSON.parse(text)), (k, v) => (/(_us|_ms|per_s|seconds|cpu)$/.test(k) ? 'CLOCK' : v), 1);
    } catch {
        return text;
    }
};

function recordCommands() {
    const lines = [];
    const dir = join(folder, 'commands');
    mkdirSync(dir);
    for (const command of COMMANDS) {
        const args = command.split(' ').map(a => a.replace('DIR', dir));
        const r = spawnSync(program, args, { encoding: 'utf8', cwd: resolve('.'), maxBuffer: 1 << 28, timeout: 600000 });
        lines.push(`abrd ${command}`, `exit ${r.status}`, named(steadyRows(r.stdout), 0));
    }
    for (const command of OPTION_COMMANDS) {
        const help = option => spawnSync(program, [...command.split(' ').filter(Boolean), option], { encoding: 'utf8' });
        let r = help('--help');
        if (r.stdout.includes('--help-all')) r = help('--help-all');
        // name, argument and default; sentences and their order are no part of what must stay
        const options = r.stdout.split(/\n(?= {2}--)/).slice(1).map(o => {
            const [entry] = o.split('\n\n'), text = entry.replace(/\s+/g, ' ');
            const name = /^ (--[^ ]+(?: [A-Z|a-z]\S*(?= {2}|\n| \*))?)/.exec(entry.slice(1))?.[1] ?? text;
            return `${name} [${/(?:\[([^\]]*)\]|\(default ([^()]*)\)) *$/.exec(text)?.slice(1).find(d => d !== undefined) ?? ''}]`;
        }).filter(o => !o.startsWith('--help-all')).sort();
        lines.push(`abrd ${command} --help`, `exit ${r.status}`, ...options.map(o => `    ${o}`));
    }
    for (const f of readdirSync(dir).sort()) lines.push(`file ${f}`);
    writeFileSync(join(out, 'commands.txt'), `${lines.join('\n')}\n`);
}

await recordRequests();
await recordSessions();
recordCommands();

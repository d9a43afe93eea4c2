// grid.mjs - what the scores share: sets of links, ladders, sessions played by build/release/grid with
// a cache, and paired intervals.
//
//   GRID=FILE     another program (default build/release/grid)
//   SHARED=DIR    holds traces/ and video/ (default ../shared)
//   THREADS=N     default: one per processor
//   CACHE=DIR     rules' sessions (default build/score)
//   LOOKS=FILE    looks at the test sets (default test/score/looks.tsv)
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync }
    from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';

export const shared = process.env.SHARED ?? '../shared';
const program = process.env.GRID ?? 'build/release/grid';
const cacheDir = process.env.CACHE ?? 'build/score';

// The classical rules. mpc-default plans with pensieve's weights for everybody.
export const plainRules = ['rate', 'buffer', 'bola', 'mpc'];
export const tunedRules = ['hyb', 'soda', 'bba-2', 'bola-e', 'mpc-tail', 'fugu'];
export const rules = [...plainRules, ...tunedRules];

export const product = ['standard', 'documentary', 'live', 'news', 'sports', 'lecture'];
export const papers = ['paper-documentary', 'paper-live', 'paper-news', 'pensieve'];

// Links to choose by and links to test on. Lumos 4G is split by the names of its traces.
export const sets = {
    train: {
        '3g': { traces: `${shared}/traces/pensieve-train-127`, part: 'all' },
        'puffer': { traces: `${shared}/traces/puffer-2021-train-240`, part: 'all' },
        'lumos': { traces: `${shared}/traces/lumos-4g-175`, part: 'train' },
    },
    test: {
        '3g': { traces: `${shared}/traces/pensieve-test-hsdpa-142`, part: 'all' },
        'puffer': { traces: `${shared}/traces/puffer-2021-test-100`, part: 'all' },
        'lumos': { traces: `${shared}/traces/lumos-4g-175`, part: 'test' },
        'sabre': { traces: `${shared}/traces/sabre-3g-86`, part: 'all' },
    },
};

// Generated links, of other seeds for each part.
export const kinds = ['3g-commute', 'broadband', 'lte', 'wifi', 'outage', 'high-4g'];
export const kindSeed = { train: 9001, test: 9002 };

// Ladders [kbit/s], and videos with chunks of their own. A ladder that is too long for the program is
// left out, as is a video that is not there.
const between = (low, top, n) => Array.from({ length: n }, (_, i) => Math.round(low * (top / low) ** (i / (n - 1))));
export const ladders = () => [
    { name: '2 to 1', ladder: [300, 1000] },
    { name: '2 to 4', ladder: [500, 4000] },
    { name: '3 to 4', ladder: [640, 1800, 4000] },
    { name: '4 to 2.5', ladder: [150, 400, 1000, 2500] },
    { name: '4 to 16', ladder: [800, 2500, 6000, 16000] },
    { name: '6 to 4.3', ladder: [300, 750, 1200, 1850, 2850, 4300] },
    { name: '6 to 12', ladder: [200, 640, 1100, 2500, 6000, 12000] },
    { name: '6 to 40', ladder: [1000, 2500, 5000, 8000, 16000, 40000] },
    { name: '7 to 40', ladder: [300, 750, 1200, 2500, 8000, 16000, 40000] },
    { name: '10 to 6', ladder: [230, 331, 477, 688, 991, 1427, 2056, 2962, 5027, 6000] },
    { name: '10 to 25', ladder: between(200, 25000, 10) },
    { name: '12 to 8', ladder: between(150, 8000, 12) },
    { name: '12 to 40', ladder: between(150, 40000, 12) },
    { name: '20 to 4', ladder: between(150, 4000, 20) },
    { name: '20 to 12', ladder: between(150, 12000, 20) },
    { name: '20 to 40', ladder: between(150, 40000, 20) },
    { name: 'Envivio', levels: 6, video: envivio(), chunk_s: 4, most: 48 },
    { name: 'Big Buck Bunny', levels: 10, video: existsSync(bunny) ? bunny : null, chunk_s: 3, most: 199 },
].filter(one => one.ladder ? one.ladder.length <= longestLadder() : one.video);

// A folder with the Envivio video, and with the VMAF of each chunk next to its sizes, as video_load reads
// it. null: the video is not there.
export function envivio() {
    const dir = `${cacheDir}/envivio`, sizes = `${shared}/video/envivio-dash3`, quality = `${shared}/video/envivio-vmaf`;
    if (!existsSync(sizes)) return null;
    mkdirSync(dir, { recursive: true });
    for (let k = 0; k < 6; k++) {
        copyFileSync(`${sizes}/video_size_${k}`, `${dir}/video_size_${k}`);
        if (existsSync(quality)) copyFileSync(`${quality}/vmaf_${k}`, `${dir}/video_quality_${k}`);
    }
    return dir;
}

export const bunny = `${shared}/video/sabre-bbb.json`;

// What a look at the test sets leaves behind: one line in test/score/looks.tsv. Returns their number.
export function look(part, tool, policy) {
    const file = process.env.LOOKS ?? 'test/score/looks.tsv';
    const lines = () => readFileSync(file, 'utf8').split('\n').filter(line => line && !line.startsWith('#'));
    if (part === 'test') appendFileSync(file, `${tool}\t${policy}\t${policyHash(policy)}\n`);
    return lines().length;
}

// The beginning of the SHA-256 of a policy's file; "-" for a rule.
export function policyHash(policy) {
    const file = policy === 'moe' ? 'deploy/policy/moe.safetensors' : /^(?:[a-z]+:)*moe:(.*)/.exec(policy)?.[1];
    return file ? createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 16) : '-';
}

// 0.0123 as +1.2, for percents
export const signed = (x, digits = 1) => Number.isFinite(x) ? `${x >= 0 ? '+' : ''}${(100 * x).toFixed(digits)}` : '-';

export const sum = values => values.reduce((a, b) => a + b, 0);
export const mean = values => sum(values) / values.length;

export function quantile(values, p) {
    const sorted = [...values].sort((a, b) => a - b), x = p * (sorted.length - 1), i = Math.floor(x);
    return sorted[i] + (sorted[Math.min(i + 1, sorted.length - 1)] - sorted[i]) * (x - i);
}

// mulberry32: the same draws everywhere
export function random(seed) {
    let state = seed >>> 0;
    return () => {
        state = (state + 0x6D2B79F5) >>> 0;
        let t = Math.imul(state ^ (state >>> 15), 1 | state);
        t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
}

// The mean of a - b, entry by entry, with its 95 % bootstrap interval.
export function paired(a, b, resamples = 1000) {
    const d = a.map((x, i) => x - b[i]), draw = random(1), means = [];
    for (let r = 0; r < resamples; r++) {
        let total = 0;
        for (let i = 0; i < d.length; i++) total += d[Math.floor(draw() * d.length)];
        means.push(total / d.length);
    }
    return { mean: mean(d), lo: quantile(means, 0.025), hi: quantile(means, 0.975) };
}

// The same for mean(a) / mean(b) - 1, in units of |mean(b)|.
export function gain(a, b) {
    const d = paired(a, b), unit = Math.abs(mean(b));
    return { mean: d.mean / unit, lo: d.lo / unit, hi: d.hi / unit };
}

// ---- sessions

// What a classical rule's sessions depend on. The policy's own code is not among it. A rule in a wrapper
// (RIVALS_AS) depends on every decider but the policy.
const bare = /^(algo|bba2|bola|bola_e|forecast|forecast_net|fugu|hyb|mpc|mpc_tail|settings|simple|soda)\.[ch]$/;
const wrapped = /^(?!moe|oracle|abandon)/;
function rulesHash(deciders) {
    const files = ['test/score/grid.c', 'src/abr/manifests/video.c', 'src/abr/manifests/video.h',
        ...readdirSync('src/abr/deciders').filter(f => deciders.test(f)).map(f => `src/abr/deciders/${f}`),
        ...readdirSync('src/abr/emulator').filter(f => !f.startsWith('feat')).map(f => `src/abr/emulator/${f}`),
        ...readdirSync('src/abr/traces').map(f => `src/abr/traces/${f}`)];
    const hash = createHash('sha256');
    for (const file of files.filter(f => /\.[ch]$/.test(f)).sort()) hash.update(file).update(readFileSync(file));
    return hash.digest('hex').slice(0, 16);
}

// Names and sizes of the files of a folder.
const stamps = new Map();
function stamp(path) {
    if (!path) return '';
    if (!stamps.has(path)) {
        const files = statSync(path).isDirectory() ? readdirSync(path).map(f => join(path, f)) : [path];
        stamps.set(path, files.map(f => `${f} ${statSync(f).size}`).join('\n'));
    }
    return stamps.get(path);
}

function cellKey(cell) {
    const own = { ...cell };
    delete own.policies;
    const text = JSON.stringify(own) + stamp(cell.traces) + stamp(cell.ladder ? null : cell.video);
    return createHash('sha256').update(text).digest('hex').slice(0, 24);
}

function run(cells, seen) {
    return new Promise((resolve, reject) => {
        const child = spawn(program, [process.env.THREADS ?? String(cpus().length)],
            { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, OPENBLAS_NUM_THREADS: '1' } });
        let rest = '';
        child.stdout.setEncoding('utf8').on('data', text => {
            const lines = (rest + text).split('\n');
            rest = lines.pop();
            for (const line of lines) seen(JSON.parse(line));
        });
        child.on('error', reject);
        child.on('close', code => code ? reject(new Error(`${program} ended with ${code}`)) : resolve());
        child.stdin.on('error', () => {});
        child.stdin.end(cells.map(cell => JSON.stringify(cell) + '\n').join(''));
    });
}

// null for a line that two runs tore, or that a kill cut off
function parsed(line) {
    try {
        return JSON.parse(line);
    } catch {
        return null;
    }
}

// Sessions of every cell's policies: for each cell an object of figures by policy (see grid.c). Rules'
// sessions come from the cache if there are any, and go there. Cells go to the program in groups, so
// that an end by a signal loses little. told(share) is called after each group.
export async function play(cells, told = () => {}) {
    const found = cells.map(() => ({}));
    const fileOf = Object.fromEntries([['bare', bare], ['wrapped', wrapped]].map(([name, deciders]) => {
        const dir = `${cacheDir}/rules-${name}-${rulesHash(deciders)}`;
        mkdirSync(dir, { recursive: true });
        return [name, `${dir}/sessions.jsonl`];
    }));
    const lowest = /^fixed-\d+$/, plain = rules.join('|');
    const kindOf = policy => lowest.test(policy) || rules.includes(policy) ? 'bare'
        : new RegExp(`^[a-z]+:(${plain})$`).test(policy) ? 'wrapped' : null;
    const keys = cells.map(cellKey), at = new Map();
    keys.forEach((key, i) => at.set(key, [...(at.get(key) ?? []), i]));
    for (const file of Object.values(fileOf).filter(f => existsSync(f))) {
        for (const line of readFileSync(file, 'utf8').split('\n')) {
            const one = parsed(line);
            for (const i of at.get(one?.key) ?? []) if (cells[i].policies.includes(one.policy)) found[i][one.policy] = one;
        }
    }
    const missing = cells.map((cell, i) => ({ ...cell, policies: cell.policies.filter(p => !found[i][p]), i }))
        .filter(cell => cell.policies.length);
    const GROUP = 60;
    for (let from = 0; from < missing.length; from += GROUP) {
        const group = missing.slice(from, from + GROUP), kept = { bare: [], wrapped: [] };
        await run(group, one => {
            const i = group[one.cell].i;
            delete one.cell;
            found[i][one.policy] = one;
            kept[kindOf(one.policy)]?.push(JSON.stringify({ key: keys[i], ...one }));
        });
        for (const [kind, lines] of Object.entries(kept))
            if (lines.length) appendFileSync(fileOf[kind], lines.join('\n') + '\n');
        told(Math.min(1, (from + GROUP) / missing.length));
    }
    return found;
}

export const longestLadder = () => Number(execFileSync(program, ['levels'], { encoding: 'utf8' }));

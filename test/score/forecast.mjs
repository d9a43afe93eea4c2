// forecast.mjs - makes the tables of src/abr/deciders/forecast.c from training traces.
//
//   SHARED=../shared node test/score/forecast.mjs
//
// Plays `rate` on three sets with chunks of 2 and 4 s. For every chunk with at least five before it: the
// deviation of the logarithms of the last eight throughputs (which of seven bins), and the logarithm of
// two ratios to the harmonic mean of the last five: of the chunk's throughput, and of the ten chunks from
// it on (their bits over their time). Prints the mean deviation of each bin and nine quantiles.
// ABRD=FILE takes another program.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const abrd = process.env.ABRD ?? 'build/abrd';
const shared = process.env.SHARED ?? '../shared';
const edges = [0, 0.05, 0.12, 0.22, 0.35, 0.55, 0.85, Infinity];
const QUANTILES = 9;
const sets = [['pensieve-train-127', '300,750,1200,1850,2850,4300'],
    ['puffer-2021-train-240', '300,750,1200,1850,2850,4300'],
    ['lumos-4g-175', '1000,2500,5000,8000,16000,40000']];

// one session: [{ bits, seconds, kbps }]
function sessions(set, ladder, chunk) {
    const csv = execFileSync(abrd, ['eval', '--policy', 'rate', '--traces', `${shared}/traces/${set}`, '--ladder',
        ladder, '--chunk-s', String(chunk), '--chunks', String(480 / chunk), '--quiet', '--trajectories', '-'],
    { encoding: 'utf8', maxBuffer: 1 << 30, stdio: ['ignore', 'pipe', 'ignore'] }).split('\n');
    const head = csv.findIndex(line => line.startsWith('policy,profile,trace,chunk'));
    const at = Object.fromEntries(csv[head].split(',').map((name, i) => [name, i]));
    const found = new Map();
    for (const line of csv.slice(head + 1)) {
        const cell = line.split(',');
        if (cell.length < 10) continue;
        if (!found.has(cell[at.trace])) found.set(cell[at.trace], []);
        found.get(cell[at.trace]).push({ bits: cell[at.bytes] * 8, seconds: Number(cell[at.download_s]),
            kbps: Number(cell[at.throughput_kbps]) });
    }
    return [...found.values()];
}

function quantile(sorted, p) {
    const x = p * (sorted.length - 1), i = Math.floor(x);
    return sorted[i] + (sorted[Math.min(i + 1, sorted.length - 1)] - sorted[i]) * (x - i);
}

if (!existsSync(`${shared}/traces/pensieve-train-127`)) {
    console.log(`forecast.mjs: no traces in ${shared}/traces`);
    process.exit(1);
}
const bins = edges.slice(1).map(() => ({ spread: [], next: [], later: [] }));
for (const chunk of [4, 2]) for (const [set, ladder] of sets) for (const session of sessions(set, ladder, chunk)) {
    for (let i = 5; i < session.length - 10; i++) {
        const logs = session.slice(Math.max(0, i - 8), i).map(c => Math.log(c.kbps));
        const mean = logs.reduce((a, b) => a + b) / logs.length;
        const spread = Math.sqrt(logs.reduce((a, x) => a + (x - mean) ** 2, 0) / logs.length);
        const harmonic = 5 / session.slice(i - 5, i).reduce((a, c) => a + 1 / c.kbps, 0);
        const ten = session.slice(i, i + 10);
        const later = ten.reduce((a, c) => a + c.bits, 0) / 1000 / ten.reduce((a, c) => a + c.seconds, 0);
        const bin = bins[edges.findIndex((edge, k) => spread >= edge && spread < edges[k + 1])];
        bin.spread.push(spread);
        bin.next.push(Math.log(session[i].kbps / harmonic));
        bin.later.push(Math.log(later / harmonic));
    }
}
const average = values => values.reduce((a, b) => a + b) / values.length;
console.log(`KNOT: ${bins.map(bin => average(bin.spread).toFixed(3)).join(', ')}`);
for (const name of ['next', 'later']) {
    console.log(name.toUpperCase());
    for (const bin of bins) {
        const sorted = bin[name].sort((a, b) => a - b);
        console.log('    {' + Array.from({ length: QUANTILES },
            (_, i) => quantile(sorted, (i + 0.5) / QUANTILES).toFixed(3)).join(', ') + '},');
    }
}

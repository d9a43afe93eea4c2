// forecast.mjs - fits the network of src/abr/deciders/forecast.h to training traces.
//
//   SHARED=../shared node test/score/forecast.mjs [--write]
//
// Plays rules on recorded and generated links, each with several ladders and chunk lengths: cautious and bold
// ones, since the size of a chunk changes its throughput, and none that uses the forecast. Every chunk with a
// history is one example: the network's entries (forecast.js), and the logarithms of two ratios to the harmonic
// mean of the last five throughputs: of the chunk's throughput, and of the ten chunks from it on (their bits
// over their time). The network learns their quantiles (pinball loss, Adam), and by the same loss how the first
// ratio grows with the chunk's size. A quarter of the traces is kept back: their loss, the mean growth and the
// share of examples below each quantile are printed.
//
// --write puts the weights into src/abr/deciders/forecast_net.h and web/lib/forecast_net.js. The same traces
// give the same weights. ABRD=FILE takes another program, STEPS=N another number of steps.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { entriesOf, ENTRIES, sizeRatio, usualBytes } from '../../web/lib/forecast.js';
import { HISTORY, pastOf } from '../../web/lib/view.js';
import { random } from './grid.mjs';

const abrd = process.env.ABRD ?? 'build/abrd', shared = process.env.SHARED ?? '../shared';
const steps = Number(process.env.STEPS ?? 8000), batch = 1024, HIDDEN = 48;

// Bounds of the shares that the quantiles stand for: fine where links fail. The fifth quantile is missed once
// in six downloads (caution.h).
const EDGES = [0, 0.01, 0.03, 0.07, 0.13, 0.61 / 3, 0.32, 0.45, 0.58, 0.72, 0.86, 1];
const SHARES = EDGES.slice(1).map((edge, i) => edge - EDGES[i]);
const QUANTILES = EDGES.slice(1).map((edge, i) => (edge + EDGES[i]) / 2);
const GROWTH = 2 * QUANTILES.length, OUTPUTS = GROWTH + 1; // the place of the growth

if (!existsSync(`${shared}/traces/pensieve-train-127`)) {
    console.log(`forecast.mjs: no traces in ${shared}/traces`);
    process.exit(1);
}

// ---- examples

const RULES = 'rate,buffer,mpc-tail';
const slow = '300,750,1200,1850,2850,4300', fast = '1000,2500,5000,8000,16000,40000', low = '150,400,1000,2500';
const generated = mkdtempSync(join(tmpdir(), 'abrd-links-'));
execFileSync(abrd, ['trace', 'generate', '--out', generated, '--n', '24', '--seconds', '600', '--seed', '77', '--quiet'],
    { stdio: 'ignore' });
const recorded = name => `${shared}/traces/${name}`;
const sets = [
    { name: '3g', traces: recorded('pensieve-train-127'), ladders: [slow, fast, low] },
    { name: 'puffer', traces: recorded('puffer-2021-train-240'), ladders: [slow, fast, low] },
    { name: 'lumos', traces: recorded('lumos-4g-175'), ladders: [fast, slow] },
    { name: 'generated', traces: generated, ladders: [slow, fast] },
];

// The sessions of a set, of each rule on each trace: the number of the trace and [{ bits, seconds, kbps }]
function sessions(traces, ladder, chunk) {
    const csv = execFileSync(abrd, ['eval', '--policy', RULES, '--traces', traces, '--ladder', ladder, '--chunk-s',
        String(chunk), '--chunks', String(480 / chunk), '--quiet', '--trajectories', '-'],
    { encoding: 'utf8', maxBuffer: 1 << 30, stdio: ['ignore', 'pipe', 'ignore'] }).split('\n');
    const head = csv.findIndex(line => line.startsWith('policy,profile,trace,chunk'));
    const at = Object.fromEntries(csv[head].split(',').map((name, i) => [name, i])), found = new Map();
    for (const line of csv.slice(head + 1)) {
        const cell = line.split(',');
        if (cell.length < 10) continue;
        const name = `${cell[at.policy]} ${cell[at.trace]}`;
        if (!found.has(name)) found.set(name, { trace: cell[at.trace], chunks: [] });
        found.get(name).chunks.push({ bits: cell[at.bytes] * 8, seconds: Number(cell[at.download_s]),
            kbps: Number(cell[at.throughput_kbps]) });
    }
    const names = [...new Set([...found.values()].map(one => one.trace))];
    return [...found.values()].map(one => ({ trace: names.indexOf(one.trace), session: one.chunks }));
}

const examples = sets.map(set => ({ ...set, learn: [], check: [] }));
for (const set of examples) for (const chunk of [1, 2, 4, 8]) for (const ladder of set.ladders) {
    sessions(set.traces, ladder, chunk).forEach(({ trace, session }) => {
        for (let i = 1; i < session.length - 10; i++) {
            // neighbours of short chunks say nearly the same; beginnings are rare
            if (i > 8 && (i + trace) % Math.max(8 / chunk, 1)) continue;
            const before = session.slice(0, i), ten = session.slice(i, i + 10);
            const kbps = before.map(c => c.kbps), seconds = before.map(c => c.seconds);
            const view = { rates: kbps.slice(-HISTORY), times: seconds.slice(-HISTORY), past: pastOf(kbps, seconds), chunkS: chunk };
            const { mean, entries } = entriesOf(view);
            const later = ten.reduce((a, c) => a + c.bits, 0) / 1000 / ten.reduce((a, c) => a + c.seconds, 0);
            const known = [Math.log(session[i].kbps / mean), Math.log(later / mean)];
            const size = Math.log(sizeRatio(session[i].bits / 8, usualBytes(view)));
            (trace % 4 ? set.learn : set.check).push({ entries, known, size });
        }
    });
}
rmSync(generated, { recursive: true });

// ---- the network: two hidden layers, quantiles of both ratios

const draw = random(1);
const normal = () => Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
// a layer's weights are one row per input, then the biases
const layer = (inputs, outputs, gain) => ({ inputs, outputs,
    w: Float64Array.from({ length: (inputs + 1) * outputs }, (_, i) => (i < inputs * outputs ? gain * normal() : 0)) });
const layers = [layer(ENTRIES, HIDDEN, Math.sqrt(2 / ENTRIES)), layer(HIDDEN, HIDDEN, Math.sqrt(2 / HIDDEN)),
    layer(HIDDEN, OUTPUTS, 0)];
// at first: a normal distribution
QUANTILES.forEach((q, i) => {
    let z = 0;
    for (let n = 0; n < 50; n++) z -= (phi(z) - q) / (Math.exp(-z * z / 2) / Math.sqrt(2 * Math.PI));
    for (const at of [i, i + QUANTILES.length]) layers[2].w[HIDDEN * OUTPUTS + at] = 0.35 * z;
});
function phi(z) { // the normal distribution's share below z
    let sum = z, term = z;
    for (let n = 3; n < 60; n += 2) sum += term *= z * z / n;
    return 0.5 + sum * Math.exp(-z * z / 2) / Math.sqrt(2 * Math.PI);
}

function forward(x) {
    const values = [x];
    layers.forEach(({ inputs, outputs, w }, l) => {
        const y = w.slice(inputs * outputs), from = values[l];
        for (let i = 0; i < inputs; i++) if (from[i] !== 0)
            for (let j = 0, at = i * outputs; j < outputs; j++) y[j] += w[at + j] * from[i];
        if (l + 1 < layers.length) for (let j = 0; j < outputs; j++) if (y[j] < 0) y[j] = 0;
        values.push(y);
    });
    return values;
}

function backward(values, gradient, into) {
    let d = gradient;
    for (let l = layers.length - 1; l >= 0; l--) {
        const { inputs, outputs, w } = layers[l], from = values[l], g = into[l], down = new Float64Array(inputs);
        for (let i = 0; i < inputs; i++) {
            if (from[i] === 0) continue; // a unit at rest passes nothing on
            let sum = 0;
            for (let j = 0, at = i * outputs; j < outputs; j++) {
                g[at + j] += from[i] * d[j];
                sum += w[at + j] * d[j];
            }
            down[i] = sum;
        }
        for (let j = 0, at = inputs * outputs; j < outputs; j++) g[at + j] += d[j];
        d = down;
    }
}

const quantileOf = j => QUANTILES[j % QUANTILES.length], kindOf = j => (j < QUANTILES.length ? 0 : 1);
// the forecast of an example from the network's outputs
const guessesOf = (y, size) => y.slice(0, GROWTH).map((guess, j) => (kindOf(j) ? guess : guess + y[GROWTH] * size));

// entries are scaled for learning alone; the scale goes into the first layer in the end
const all = examples.flatMap(set => set.learn);
const mean = Array.from({ length: ENTRIES }, (_, i) => all.reduce((a, one) => a + one.entries[i], 0) / all.length);
const deviation = mean.map((m, i) =>
    Math.sqrt(all.reduce((a, one) => a + (one.entries[i] - m) ** 2, 0) / all.length) + 1e-3);
const scaled = entries => entries.map((x, i) => (x - mean[i]) / deviation[i]);
for (const set of examples) for (const one of [...set.learn, ...set.check]) one.x = scaled(one.entries);

const moments = layers.map(({ w }) => [new Float64Array(w.length), new Float64Array(w.length)]);
for (let step = 1; step <= steps; step++) {
    const gradients = layers.map(({ w }) => new Float64Array(w.length));
    for (let n = 0; n < batch; n++) {
        const set = examples[n % examples.length], { x, known, size } = set.learn[Math.floor(draw() * set.learn.length)];
        const values = forward(x), d = new Float64Array(OUTPUTS);
        guessesOf(values.at(-1), size).forEach((guess, j) => {
            d[j] = ((known[kindOf(j)] < guess ? 1 : 0) - quantileOf(j)) / GROWTH / batch;
            if (!kindOf(j)) d[GROWTH] += d[j] * size;
        });
        backward(values, d, gradients);
    }
    const rate = 0.0015 * (1 + Math.cos(Math.PI * step / steps));
    layers.forEach(({ w }, l) => {
        const [m, v] = moments[l], g = gradients[l], warm = 1 - 0.9 ** step, warmer = 1 - 0.999 ** step;
        for (let i = 0; i < w.length; i++) {
            m[i] += 0.1 * (g[i] - m[i]);
            v[i] += 0.001 * (g[i] * g[i] - v[i]);
            w[i] -= rate * (m[i] / warm) / (Math.sqrt(v[i] / warmer) + 1e-8);
        }
    });
    if (step % 1000 === 0) console.error(`step ${step} of ${steps}`);
}

// ---- how good it is

for (const { name, check } of examples) {
    const loss = [0, 0], below = new Array(GROWTH).fill(0);
    let growth = 0;
    for (const { x, known, size } of check) {
        const y = forward(x).at(-1);
        growth += y[GROWTH] / check.length;
        guessesOf(y, size).forEach((guess, j) => {
            const above = known[kindOf(j)] - guess, q = quantileOf(j);
            loss[kindOf(j)] += Math.max(q * above, (q - 1) * above) / QUANTILES.length / check.length;
            below[j] += (above < 0 ? 1 : 0) / check.length;
        });
    }
    console.log(`${name}: ${check.length} examples, loss ${loss[0].toFixed(4)} next, ${loss[1].toFixed(4)} later; growth ${growth.toFixed(3)}; below: ` +
        `${below.slice(0, QUANTILES.length).map(b => b.toFixed(3)).join(' ')}`);
}
console.log(`wanted below: ${QUANTILES.map(q => q.toFixed(3)).join(' ')}`);

// ---- the tables

const number = x => `${Number(x.toPrecision(5))}`;
const first = layers[0];
for (let i = 0; i < ENTRIES; i++) for (let j = 0; j < HIDDEN; j++) {
    const at = i * HIDDEN + j;
    first.w[at] /= deviation[i];
    first.w[ENTRIES * HIDDEN + j] -= first.w[at] * mean[i];
}
const rows = ({ inputs, outputs, w }) =>
    Array.from({ length: inputs }, (_, i) => [...w.slice(i * outputs, (i + 1) * outputs)].map(number));
const bias = ({ inputs, outputs, w }) => [...w.slice(inputs * outputs)].map(number);
// lines of at most `width` columns
function wrapped(list, indent, width) {
    const lines = [''];
    for (const word of list.map((x, i) => x + (i + 1 < list.length ? ',' : ''))) {
        if (lines.at(-1) && lines.at(-1).length + word.length + 1 > width - indent) lines.push('');
        lines.push(lines.pop() + (lines.at(-1) === '' ? '' : ' ') + word);
    }
    return lines.map(line => ' '.repeat(indent) + line).join('\n');
}
const names = ['FIRST', 'SECOND', 'THIRD'];

function cTable() {
    let text = `/* forecast_net.h - the weights of forecast.h, made by test/score/forecast.mjs. */
#ifndef ABR_FORECAST_NET_H
#define ABR_FORECAST_NET_H

/* clang-format off */
enum { FORECAST_HIDDEN = ${HIDDEN} };
`;
    layers.forEach((one, l) => {
        text += `static const double FORECAST_${names[l]}[${one.inputs}][${one.outputs}] = {\n` +
            rows(one).map(row => `    {\n${wrapped(row, 8, 100)}},\n`).join('') + '};\n';
        text += `static const double FORECAST_${names[l]}_BIAS[${one.outputs}] = {\n${wrapped(bias(one), 4, 100)}};\n`;
    });
    return `${text}/* clang-format on */

#endif
`;
}

function jsTable() {
    const table = one => `{\n    weights: [\n${rows(one).map(row => `        [\n${wrapped(row, 12, 115)}],\n`).join('')}    ],\n` +
        `    bias: [\n${wrapped(bias(one), 8, 115)}],\n}`;
    return `/**
 * forecast_net.js - the weights of forecast.js, made by test/score/forecast.mjs.
 *
 * @module abrd/forecast_net
 */

/** Layers, one row of weights per input. */
export const NET = [${layers.map(table).join(', ')}];
`;
}

console.log(`shares: ${SHARES.map(number).join(', ')}`);
if (process.argv.includes('--write')) {
    writeFileSync('src/abr/deciders/forecast_net.h', cTable());
    writeFileSync('web/lib/forecast_net.js', jsTable());
    console.log('written: src/abr/deciders/forecast_net.h, web/lib/forecast_net.js');
}

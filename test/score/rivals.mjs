// rivals.mjs [NAME...] - searches the settings of the classical rivals on training traces and prints the
// best ones, as the tables in src/abr/deciders hold them.
//
//   SHARED=../shared node test/score/rivals.mjs mpc-tail soda
//
// Each kind of viewer is searched alone: every combination of the grid below is played on every scene
// (traces, ladder, chunk length, buffer). Score: mean over scenes of (QoE - QoE of RobustMPC) / scale,
// where scale is the larger of the gaps from RobustMPC to the buffer rule and to the lowest level.
// KINDS=papers searches for the papers' profiles, whose chunk 0 is not counted, instead of the product's.
// TAKE=N plays N traces of each set (default 0: all). test/score/grid.mjs names the other variables.
import { existsSync } from 'node:fs';
import { mean, papers, play, product, shared } from './grid.mjs';

const paper = process.env.KINDS === 'papers';
const take = Number(process.env.TAKE ?? 0);

// the papers' profiles ask for bolder settings
const grids = paper ? {
    'mpc-tail': { factor: [0.5, 0.65, 0.8, 1, 1.3], horizon: [2, 3], tail: [0, 5, 10, 20] },
    'soda': { target: [0.15, 0.3, 0.5, 0.7], beta: [0.03, 0.1, 0.3, 1], gamma: [0.3, 2, 10, 50] },
    'fugu': { factor: [0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3] },
    'hyb': { factor: [0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1, 1.5, 3] },
    'bba-2': { reservoir: [0.05, 0.1, 0.2, 0.3], cushion: [0.2, 0.4, 0.6, 0.8] },
    'hold': { factor: [0.6, 0.7, 0.8, 0.9, 1], tail: [5, 10, 20], caution: [1, 1.5, 2.5] },
} : {
    'mpc-tail': { factor: [0.5, 0.65, 0.8, 1], horizon: [2, 3], tail: [0, 2, 5, 10, 20] },
    'soda': { target: [0.3, 0.5, 0.7, 0.85], beta: [0.3, 1, 3, 10], gamma: [0.5, 2, 5, 20, 50] },
    'fugu': { factor: [0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1] },
    'hyb': { factor: [0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5] },
    'bba-2': { reservoir: [0.2, 0.3, 0.4, 0.5, 0.6], cushion: [0.4, 0.6, 0.8, 1] },
    'hold': { factor: [0.7, 0.8, 0.9], tail: [2, 3, 5, 10, 15, 30], caution: [0, 0.25, 0.5, 0.75, 1] },
};

const usual = { part: 'all', chunk_s: 4, chunks: 48, buffer_s: 60, take, free_start: paper };
const short = { ...usual, chunk_s: 2, chunks: 96, buffer_s: 12 };
const scenes = [
    paper ? { ...usual, traces: 'pensieve-train-127', video: `${shared}/video/envivio-dash3`, chunks: 0 }
        : { ...usual, traces: 'pensieve-train-127', ladder: [300, 750, 1200, 1850, 2850, 4300] },
    { ...usual, traces: 'puffer-2021-train-240', ladder: [300, 750, 1200, 1850, 2850, 4300] },
    { ...short, traces: 'puffer-2021-train-240', ladder: [200, 640, 1100, 2500, 6000, 12000] },
    { ...short, traces: 'pensieve-train-127', ladder: [640, 1800, 4000] },
    { ...usual, traces: 'lumos-4g-175', ladder: [1000, 2500, 5000, 8000, 16000, 40000] },
    { ...usual, traces: 'pensieve-train-127', ladder: [300, 750, 1200, 2500, 8000, 16000, 40000] },
].map(scene => ({ ...scene, traces: `${shared}/traces/${scene.traces}` }));

function combinations(grid) {
    return Object.entries(grid).reduce(
        (all, [name, values]) => all.flatMap(one => values.map(value => ({ ...one, [name]: value }))), [{}]);
}

if (!existsSync(`${shared}/traces/pensieve-train-127`)) {
    console.log(`rivals.mjs: no traces in ${shared}/traces`);
    process.exit(1);
}
const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(grids);
for (const profile of paper ? papers : product) {
    const base = (await play(scenes.map(s => ({ ...s, profile, policies: ['mpc', 'buffer', 'fixed-0'] })))).map(played => {
        const [mpc, buffer, lowest] = ['mpc', 'buffer', 'fixed-0'].map(p => mean(played[p].qoe));
        return { mpc, scale: Math.max(Math.abs(mpc - buffer), Math.abs(mpc - lowest), 1e-3) };
    });
    for (const name of names) {
        const found = combinations(grids[name]).map(settings => {
            const list = Object.entries(settings).map(([key, value]) => `${key}=${value}`);
            return { text: list.join('+'), score: 0 };
        });
        const policies = found.map(one => `${name}:${one.text}`);
        (await play(scenes.map(s => ({ ...s, profile, policies })))).forEach((played, i) => {
            found.forEach((one, n) => {
                one.score += (mean(played[policies[n]].qoe) - base[i].mpc) / base[i].scale / scenes.length;
            });
        });
        found.sort((a, b) => b.score - a.score);
        const best = found.slice(0, 3).map(one => `${one.text} ${one.score.toFixed(4)}`);
        console.log(`${name} ${profile}: ${best.join(' | ')}`);
    }
}

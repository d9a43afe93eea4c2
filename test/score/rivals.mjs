// rivals.mjs [NAME...] - searches the settings of the classical rivals on training traces and prints the
// best ones, as the tables in src/abr/deciders hold them.
//
//   SHARED=../shared node test/score/rivals.mjs mpc-tail soda
//
// Each kind of viewer is searched alone: every combination of the grid below is played on every scene
// (traces, ladder, chunk length, buffer). Score: mean over scenes of (QoE - QoE of RobustMPC) / scale,
// where scale is the larger of the gaps from RobustMPC to the buffer rule and to the lowest level.
// PART=NAME takes another part of the traces, ABRD=FILE another program.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const abrd = process.env.ABRD ?? 'build/abrd';
const shared = process.env.SHARED ?? '../shared';
const kinds = ['documentary', 'live', 'news', 'pensieve'];

const grids = {
    'mpc-tail': { factor: [0.5, 0.65, 0.8, 1, 1.3], horizon: [2, 3], tail: [0, 5, 10, 20] },
    'soda': { target: [0.15, 0.3, 0.5, 0.7], beta: [0.03, 0.1, 0.3, 1], gamma: [0.3, 2, 10, 50] },
    'fugu': { factor: [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1] },
    'hyb': { factor: [0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1, 1.5, 3] },
    'bba-2': { reservoir: [0.05, 0.1, 0.2, 0.3], cushion: [0.2, 0.4, 0.6, 0.8] },
    'hold': { factor: [0.6, 0.7, 0.8, 0.9, 1], tail: [5, 10, 20], caution: [1, 1.5, 2.5] },
};

const scenes = [
    ['pensieve-train-127', '--video', `${shared}/video/envivio-dash3`],
    ['puffer-2021-train-240', '--ladder', '300,750,1200,1850,2850,4300'],
    ['puffer-2021-train-240', '--ladder', '200,640,1100,2500,6000,12000', '--chunk-s', '2',
        '--buffer-s', '12'],
    ['pensieve-train-127', '--ladder', '640,1800,4000', '--chunk-s', '2', '--buffer-s', '12'],
    ['lumos-4g-175', '--ladder', '1000,2500,5000,8000,16000,40000'],
    ['pensieve-train-127', '--ladder', '300,750,1200,2500,8000,16000,40000'],
];

function play(policies, kind, [traces, ...options]) {
    const text = execFileSync(abrd, ['eval', '--policy', policies.join(','), '--profile', kind, '--traces',
        `${shared}/traces/${traces}`, '--part', process.env.PART ?? 'all', '--quiet', '--json', '-', ...options],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return JSON.parse(text.slice(text.indexOf('{'))).rows.map(row => row.mean_qoe);
}

function combinations(grid) {
    return Object.entries(grid).reduce(
        (all, [name, values]) => all.flatMap(one => values.map(value => ({ ...one, [name]: value }))), [{}]);
}

if (!existsSync(`${shared}/traces/pensieve-train-127`)) {
    console.log(`rivals.mjs: no traces in ${shared}/traces`);
    process.exit(1);
}
const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(grids);
for (const kind of kinds) {
    const base = scenes.map(scene => {
        const [mpc, buffer, lowest] = play(['mpc', 'buffer', 'fixed-0'], kind, scene);
        return { mpc, scale: Math.max(Math.abs(mpc - buffer), Math.abs(mpc - lowest), 1e-3) };
    });
    for (const name of names) {
        const found = combinations(grids[name]).map(settings => {
            const list = Object.entries(settings).map(([key, value]) => `${key}=${value}`);
            return { text: list.join('+'), score: 0 };
        });
        scenes.forEach((scene, i) => {
            const qoe = play(found.map(one => `${name}:${one.text}`), kind, scene);
            found.forEach((one, n) => { one.score += (qoe[n] - base[i].mpc) / base[i].scale / scenes.length; });
        });
        found.sort((a, b) => b.score - a.score);
        const best = found.slice(0, 3).map(one => `${one.text} ${one.score.toFixed(4)}`);
        console.log(`${name} ${kind}: ${best.join(' | ')}`);
    }
}

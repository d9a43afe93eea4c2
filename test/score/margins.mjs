// margins.mjs - the policy against the best rule of all where it is asked most: the papers' weights at home, short
// sessions, and fast links, there against the plain buffer rule.
//
//   POLICY=moe    or moe:FILE, or a rule
//   PART=train    links to choose by (default), or test: each look is counted in test/score/looks.tsv
//   TAKE=0        sessions of each set; 0: all. Generated links: 60
//   OUT=build/margins.json   the figures
//
// The first chunk counts for the product's profiles, and is free for the papers', as in their evaluation. The
// best rule is the one with the highest mean QoE in that row, so chance favours it. Intervals are 95 % bootstraps
// over the traces, paired, in units of the rule's mean QoE.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { envivio, gain, kindSeed, ladders, look, mean, papers, play, policyHash, product, rules, sets, signed } from './grid.mjs';

const policy = process.env.POLICY || 'moe', part = process.env.PART || 'train';
const take = Number(process.env.TAKE || 0), out = process.env.OUT || 'build/margins.json';
const GENERATED = 60, WANTED_HOME = 0.12, FAST_RULE = 'buffer';

if (!(part in sets)) {
    console.error(`margins.mjs: PART is train or test, not '${part}'`);
    process.exit(2);
}

const rivals = rules.filter(rule => rule !== policy), skipped = [];
const home = { video: envivio(), chunk_s: 4, chunks: 48, buffer_s: 60 };
const setOf = name => ({ ...sets[part][name], take });
const kindOf = kind => ({ kind, seed: kindSeed[part], take: take || GENERATED });

function rowsOf() {
    const rows = [];
    const add = (group, link, what, cell, profile, against) => {
        if (cell.traces && !existsSync(cell.traces)) return skipped.push(`${link}: its traces are not there`);
        if (!cell.ladder && !cell.video) return skipped.push(`${link}: the Envivio video is not there`);
        rows.push({ group, link, what, profile, against,
            cell: { ...cell, profile, free_start: papers.includes(profile), policies: [policy, ...against] } });
    };
    for (const link of ['3g', 'puffer']) {
        for (const profile of papers) add('home', link, 'Envivio', { ...setOf(link), ...home }, profile, rivals);
        for (const chunks of [10, 15]) for (const profile of ['live', 'paper-live', 'pensieve'])
            add('short', link, `Envivio, ${chunks} chunks`, { ...setOf(link), ...home, chunks }, profile, rivals);
    }
    if (policy === FAST_RULE) {
        skipped.push('fast links: the rule itself');
        return rows;
    }
    for (const [link, traces] of [['lumos', setOf('lumos')], ['lte', kindOf('lte')], ['high-4g', kindOf('high-4g')]])
        for (const name of ['6 to 4.3', '6 to 12', '6 to 40']) for (const profile of [...product, ...papers]) {
            const { ladder } = ladders().find(one => one.name === name);
            add('fast', link, `ladder ${name}`, { ...traces, ...home, video: undefined, ladder }, profile, [FAST_RULE]);
        }
    return rows;
}

const interval = g => `${signed(g.mean)} % [${signed(g.lo)}, ${signed(g.hi)}]`;

const looks = look(part, 'margins', policy);
const rows = rowsOf(), found = await play(rows.map(row => row.cell));
const judged = rows.map(({ group, link, what, profile, against }, i) => {
    const f = found[i], best = against.reduce((a, b) => mean(f[b].qoe) > mean(f[a].qoe) ? b : a);
    return { group, link, what, profile, n: f[policy].qoe.length, qoe: mean(f[policy].qoe), best, best_qoe: mean(f[best].qoe),
        gain: gain(f[policy].qoe, f[best].qoe) };
});
const told = r => `${r.link}, ${r.what}, ${r.profile}: ${r.qoe.toFixed(3)}, ${r.best} ${r.best_qoe.toFixed(3)}, ${interval(r.gain)}`;
const verdict = (pass, text) => console.log(`${pass ? 'pass ' : 'SHORT'}  ${text}`);

console.log(`policy ${policy} (sha256 ${policyHash(policy)}), part ${part}, looks at the test sets so far: ${looks}`);
for (const group of ['home', 'short']) for (const r of judged.filter(one => one.group === group)) console.log(`  ${told(r)}`);
for (const link of ['3g', 'puffer']) {
    const three = judged.filter(r => r.group === 'home' && r.link === link && r.profile !== 'pensieve');
    const m = three.length ? mean(three.map(r => r.gain.mean)) : NaN;
    if (three.length) verdict(m >= WANTED_HOME, `${link}: mean gain of the papers' three profiles over the best rule at least ${signed(WANTED_HOME)} %: ${signed(m)} %`);
}
const notBelow = (group, text) => {
    const all = judged.filter(r => r.group === group), below = all.filter(r => r.gain.mean < 0), sure = below.filter(r => r.gain.hi < 0);
    if (!all.length) return;
    verdict(!below.length, `${text}: ${all.length - below.length} of ${all.length} not below 0, ${sure.length} significantly below`);
    for (const r of below.sort((a, b) => a.gain.mean - b.gain.mean)) console.log(`         ${told(r)}`);
};
notBelow('short', 'sessions of 10 and 15 chunks, live and pensieve, against the best rule');
notBelow('fast', '4G and 5G links, against the plain buffer rule');
for (const text of new Set(skipped)) console.log(`  skipped: ${text}`);
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, JSON.stringify({ policy: policyHash(policy), part, looks, rows: judged }, null, 1) + '\n');
console.log(`figures in ${out}`);

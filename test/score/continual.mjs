// continual.mjs - what the daemon's learner gains, keeps and forgets: arms of settings over sequences of
// viewers, scored on every kind of link and profile before and after each phase.
//
//   PART=train    links of training folders (default), or test: each look is counted in test/score/looks.tsv
//   SEEDS=10      runs of each arm; intervals are t intervals over them
//   STRICT=1      end with 1 when a cell falls by more than 2 % (mean over seeds) by an attack or by liars
//   ARMS=FILE     lines NAME|OPTIONS of `abrd emulate` instead of the built-in arms; ONE stands for the
//                 shipped policy with one expert
//   MORE=FILE     further arms
//   ONLY=A,B      scenarios: abab, elsewhere, stationary, honest, attack, liars
//   SCALE=1       share of the viewers of each scenario
//   QUICK=1       two arms, two seeds, a hundredth of the viewers, in seconds: whether it works
//   JOBS=N        runs at a time (default: one per processor)
//   OUT=FILE      figures (default build/continual.json); the page lies beside it
//   RUNS=DIR      finished runs, which are not repeated (default build/continual)
//   SHARED, GRID  as grid.mjs
//
// A run is one `abrd emulate --sequence` with an arm's options and a seed: in process, with the daemon's
// defaults for all that the arm does not set. The weights after each phase are played greedily, and so are
// the shipped ones, on the same links. A change is (mean QoE after - shipped) as a share of the shipped
// mean where both are positive, else of the profile's top, the QoE of the best level without stalls.
// Scores of generated links are of other seeds than those that viewers have.
//
// The kind "volatile-low" is not in the training corpus by name; the training draws random links, some of
// which resemble it.
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { basename, dirname } from 'node:path';
import { envivio, kindSeed, kinds, look, mean, papers, play, policyHash, product, shared, signed, sum } from './grid.mjs';

const quick = process.env.QUICK === '1';
const part = process.env.PART || 'train';
const seeds = Number(process.env.SEEDS || (quick ? 2 : 10));
const scale = Number(process.env.SCALE || (quick ? 0.01 : 1));
const jobs = Number(process.env.JOBS || cpus().length);
const out = process.env.OUT || 'build/continual.json';
const runs = process.env.RUNS || 'build/continual';
const ABRD = process.env.ABRD ?? 'build/abrd';
const SHIPPED = 'deploy/policy/moe.safetensors';
// the share of a gap is a small difference, so it needs more links than other cells
const NEW_KIND = 'volatile-low', NEW_LINKS = quick ? 3 : 60;

if (!['train', 'test'].includes(part)) throw new Error(`PART=${part} is not train or test`);
mkdirSync(runs, { recursive: true });
mkdirSync(dirname(out), { recursive: true });

// ---- arms

const one = `${runs}/one.safetensors`;
execFileSync(ABRD, ['policy', 'keep', SHIPPED, '--experts', '1', '--out', one], { stdio: 'ignore' });
const help = execFileSync(ABRD, ['emulate', '--help-all'], { encoding: 'utf8' });
const hasOption = name => help.includes(`\n  ${name} `);

// Every thing that the learner has against forgetting, alone, is an arm; `plain` switches all of them off.
const readArms = text => text.split('\n').filter(line => line.trim() && !line.startsWith('#'))
    .map(line => {
        const [name, options = ''] = line.split('|');
        return { name: name.trim(), options: options.trim().split(/\s+/).filter(Boolean).map(o => o === 'ONE' ? one : o) };
    });
const builtin = readFileSync('test/score/continual.arms', 'utf8');
const known = arm => arm.options.every(o => !o.startsWith('--') || hasOption(o));
const wanted = [...readArms(process.env.ARMS ? readFileSync(process.env.ARMS, 'utf8') : builtin),
    ...(process.env.MORE ? readArms(readFileSync(process.env.MORE, 'utf8')) : [])];
const arms = wanted.filter(known).slice(quick ? -2 : 0);
for (const arm of wanted.filter(a => !known(a))) console.log(`  skipped: arm ${arm.name}, the program lacks one of its options`);

// ---- scenarios

const N = n => Math.max(quick ? 60 : 1, Math.round(n * scale));
const folder = name => existsSync(`${shared}/traces/${name}`) ? `${shared}/traces/${name}` : null;
const otherLinks = folder('puffer-2021-train-240') ? `traces=${folder('puffer-2021-train-240')}` : 'kind=wifi,outage links=40';
const trainedLinks = `kind=${kinds.join(',')} links=30`;
const A = `kind=${NEW_KIND} links=200`;
// every phase has all product profiles, an even mix
const scenarios = {
    abab: { phases: [A, otherLinks, A, otherLinks].map(l => `${l} viewers=${N(2500)}`), names: ['A', 'AB', 'ABA', 'ABAB'] },
    elsewhere: { phases: [`${A} viewers=${N(10000)}`], names: ['10,000 viewers elsewhere'] },
    stationary: {
        phases: Array.from({ length: 5 }, () => `${trainedLinks} viewers=${N(10000)}`),
        names: [1, 2, 3, 4, 5].map(i => `${i}0,000`),
    },
    attack: { phases: [`${trainedLinks} viewers=${N(2000)} liars=.5 lie=noise one-address explore-keys`], names: ['attack'] },
    honest: { phases: [`${trainedLinks} viewers=${N(2000)}`], names: ['honest'] },
    liars: { phases: ['up', 'down'].map(lie => `${trainedLinks} viewers=${N(1500)} liars=.3 lie=${lie}`), names: ['30 % up', '30 % down'] },
};
const chosen = (process.env.ONLY || (quick ? 'abab' : Object.keys(scenarios).join(','))).split(',');
for (const name of chosen) if (!scenarios[name]) throw new Error(`ONLY=${name} is not one of ${Object.keys(scenarios)}`);

// ---- cells

const usual = { ladder: [300, 750, 1200, 1850, 2850, 4300], chunks: 48, chunk_s: 4 };
const video = envivio() ? { video: envivio() } : usual;
const profiles = quick ? ['standard', 'documentary'] : [...product, ...papers];
const recorded = part === 'test'
    ? { 'hsdpa-142': 'pensieve-test-hsdpa-142', 'puffer-test': 'puffer-2021-test-100' }
    : { 'train-127': 'pensieve-train-127', 'puffer-train': 'puffer-2021-train-240' };
const columns = [
    { name: NEW_KIND, links: { kind: NEW_KIND, seed: kindSeed[part] }, take: NEW_LINKS },
    ...kinds.map(kind => ({ name: kind, links: { kind, seed: kindSeed[part] }, take: quick ? 3 : 20 })),
    ...Object.entries(recorded).filter(([, dir]) => folder(dir))
        .map(([name, dir]) => ({ name, links: { traces: folder(dir), part: 'all' }, take: quick ? 3 : part === 'test' ? 0 : 60 })),
];
const cells = columns.flatMap(column => profiles.map(profile => ({
    column: column.name, profile,
    spec: { ...column.links, take: column.take, profile, chunks: 0, ...(column.links.traces ? video : usual) },
})));

/** Sessions of policies in all cells: a Map from a policy to an array of QoE by cell. */
async function scores(policies) {
    const found = await play(cells.map(c => ({ ...c.spec, policies })));
    return new Map(policies.map(p => [p, found.map(f => ({ qoe: f[p].qoe, top: f[p].top }))]));
}

// ---- runs

const digest = createHash('sha256').update(readFileSync(SHIPPED)).update(readFileSync(ABRD))
    .update(JSON.stringify(cells)).digest('hex').slice(0, 12);

function emulate(args) {
    return new Promise((resolve, reject) => {
        const child = spawn(ABRD, args, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, OPENBLAS_NUM_THREADS: '1' } });
        let text = '';
        child.stderr.setEncoding('utf8').on('data', t => { text += t; });
        child.on('error', reject);
        child.on('close', code => code ? reject(new Error(text)) : resolve(text));
    });
}

/** One arm, scenario and seed: changes by phase and cell. */
async function run(arm, scenario, seed) {
    const key = createHash('sha256').update(JSON.stringify([arm, scenario, scenarios[scenario].phases, seed, digest])).digest('hex').slice(0, 16);
    const file = `${runs}/${key}.json`;
    if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'));
    const prefix = `${runs}/${key}`, { phases } = scenarios[scenario];
    const text = await emulate(['emulate', '--learn', '--seed', String(seed), '--quiet', '--json', '-',
        '--sequence', phases.join('; '), '--save-phases', prefix, ...arm.options]);
    const told = /(\d+) updates, (\d+) held, (\d+) rolled back/.exec(text);
    const files = phases.map((_, i) => `${prefix}-${i + 1}.safetensors`);
    const learned = await scores(files.map(f => `moe:${f}`));
    const result = {
        arm: arm.name, scenario, seed, updates: Number(told?.[1] ?? 0), held: Number(told?.[2] ?? 0), rollbacks: Number(told?.[3] ?? 0),
        mean: files.map(f => learned.get(`moe:${f}`).map(cell => mean(cell.qoe))),
    };
    for (const f of files) rmSync(f, { force: true });
    writeFileSync(`${file}.tmp`, JSON.stringify(result));
    renameSync(`${file}.tmp`, file);
    return result;
}

// ---- statistics

const T = [12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093];
/** Mean with its 95 % t interval over seeds. */
function interval(values) {
    const n = values.length, m = mean(values);
    if (n < 2) return { mean: m, lo: NaN, hi: NaN, n };
    const half = T[Math.min(n - 2, T.length - 1)] * Math.sqrt(sum(values.map(x => (x - m) ** 2)) / (n - 1) / n);
    return { mean: m, lo: m - half, hi: m + half, n };
}
const show = (x, digits = 1) => !x || !Number.isFinite(x.mean) ? '-'
    : `${signed(x.mean, digits)} [${signed(x.lo, digits)}, ${signed(x.hi, digits)}]`;

const base = (await scores([`moe:${SHIPPED}`])).get(`moe:${SHIPPED}`);
const shippedMean = base.map(cell => mean(cell.qoe));
/** Change of a cell's mean: as a share of the shipped mean if both are positive, else of the top. */
const change = (x, c) => (x - shippedMean[c]) / (x > 0 && shippedMean[c] > 0 ? shippedMean[c] : Math.abs(base[c].top));
const ofTop = (x, c) => (x - shippedMean[c]) / Math.abs(base[c].top);
const cellsOf = test => cells.map((_, c) => c).filter(c => test(cells[c]));
const newCells = cellsOf(c => c.column === NEW_KIND);
const knownCells = cellsOf(c => c.column !== NEW_KIND);
const recordedCells = cellsOf(c => c.column in recorded);
const otherCells = cellsOf(c => c.column.startsWith('puffer'));

// The oracle's mean on the new kind, for the share of the gap.
function oracle() {
    const dir = `${runs}/new-links-${part}-${NEW_LINKS}`;
    if (!existsSync(dir))
        execFileSync(ABRD, ['trace', 'generate', '--out', dir, '--kind', NEW_KIND, '--n', String(NEW_LINKS), '--seed', String(kindSeed[part]), '--quiet'], { stdio: 'ignore' });
    const file = `${dir}.json`;
    if (!existsSync(file))
        execFileSync(ABRD, ['eval', '--traces', dir, '--count-first', '--policy', 'moe,oracle', '--profile', 'all', '--json', file], { stdio: 'ignore' });
    const rows = JSON.parse(readFileSync(file, 'utf8')).rows;
    const of = (policy, profile) => rows.find(r => r.policy === policy && r.profile === profile)?.mean_qoe;
    return Object.fromEntries(product.map(p => [p, { shipped: of('moe', p), oracle: of('oracle', p) }]));
}

// ---- play

const plan = chosen.flatMap(scenario => Array.from({ length: seeds }, (_, s) => arms.map(arm => ({ arm, scenario, seed: 101 + s })))).flat();
const done = [];
let next = 0;
async function worker() {
    while (next < plan.length) {
        const { arm, scenario, seed } = plan[next++];
        done.push(await run(arm, scenario, seed));
        if (process.env.PROGRESS) console.error(`${done.length} of ${plan.length}: ${scenario} ${arm.name} ${seed}`);
    }
}
const looks = look(part, 'continual', 'moe');
await Promise.all(Array.from({ length: jobs }, worker));

const of = (arm, scenario) => done.filter(r => r.arm === arm && r.scenario === scenario).sort((a, b) => a.seed - b.seed);
/** Over seeds: the mean over cells of f in a phase (from 0). */
const over = (rs, phase, list, f = change) => rs.length ? interval(rs.map(r => mean(list.map(c => f(r.mean[phase][c], c))))) : null;
/** The worst cell: that with the lowest mean over seeds. */
function worst(rs, phase, list) {
    const all = list.map(c => ({ c, ...interval(rs.map(r => change(r.mean[phase][c], c))) }));
    return all.sort((a, b) => a.mean - b.mean)[0];
}
const where = c => `${cells[c].profile} on ${cells[c].column}`;
const significantlyWorse = (rs, phase, list) =>
    list.filter(c => interval(rs.map(r => change(r.mean[phase][c], c))).hi < 0);

function table(head, rows) {
    const widths = head.map((title, i) => Math.max(title.length, ...rows.map(row => String(row[i]).length)));
    return [head, ...rows].map(row => row.map((cell, i) => String(cell).padEnd(widths[i])).join('  ').trimEnd()).join('\n');
}

const page = { name: basename(out).replace(/\.json$/, ''), title: 'Learning without forgetting: the daemon on changing viewers',
    parameters: { policy: policyHash('moe'), part, seeds, scale, arms: arms.map(a => `${a.name} (${a.options.join(' ') || 'defaults'})`).join('; '),
        'looks at the test sets': looks }, sections: [] };
function put(title, note, head, rows) {
    console.log(`\n${title}${note ? `\n${note}` : ''}\n${table(head, rows)}`);
    page.sections.push({ title, text: note, columns: head, rows });
}

console.log(`policy moe (sha256 ${policyHash('moe')}), part ${part}, ${seeds} seeds, ${scale} of the viewers, looks at the test sets so far: ${looks}`);

// ---- gained, kept, forgotten

const summary = [];
if (chosen.includes('abab')) {
    for (const arm of arms) {
        const rs = of(arm.name, 'abab');
        const after = (phase, list, f) => over(rs, phase, list, f);
        const bad = worst(rs, 3, knownCells);
        summary.push({
            arm: arm.name, rs, gained: after(3, newCells, ofTop), kept: after(3, knownCells, ofTop),
            all: interval(rs.map(r => mean(cells.map((_, c) => ofTop(r.mean[3][c], c))))),
            // what a phase elsewhere takes of what was learned: A after AB minus A after A, B after ABA minus AB
            forgotten: interval(rs.map(r => mean([
                mean(newCells.map(c => ofTop(r.mean[1][c], c) - ofTop(r.mean[0][c], c))),
                ...(otherCells.length ? [mean(otherCells.map(c => ofTop(r.mean[2][c], c) - ofTop(r.mean[1][c], c)))] : []),
            ]))),
            worst: bad, worse: significantlyWorse(rs, 3, knownCells).length,
        });
    }
    const ranked = [...summary].sort((a, b) => b.all.mean - a.all.mean);
    // frozen is 0 in every column
    const best = ranked[0], second = ranked[1];
    const paired = second && interval(best.rs.map((r, i) => mean(cells.map((_, c) => ofTop(r.mean[3][c], c) - ofTop(second.rs[i].mean[3][c], c)))));
    page.winner = best.all.mean <= 0
        ? `Frozen weights win: after A, B, A, B every arm that learns is below the shipped policy over all cells; the best is ${best.arm}, ${show(best.all, 2)} % of the top.`
        : `${best.arm} wins: ${show(best.all, 2)} % of the top over all cells after A, B, A, B, where frozen weights have 0` +
          (second ? `; ${paired.lo > 0 ? 'it is significantly above' : 'it is level with'} ${second.arm} (${show(paired, 2)}).` : '.');
    console.log(page.winner);
    put('After A, B, A, B against the shipped policy',
        `Percent of the profile's top, mean with 95 % interval over ${seeds} seeds. A: ${NEW_KIND}. B: ${otherLinks.replace(/.*\//, '')}. Frozen weights have 0 in every column. ` +
        'Forgotten: change of what the phase before had learned, in the phases that are elsewhere. Worst cell: change as percent of the shipped QoE where both are positive.',
        ['arm', 'gained on A', 'kept on known links', 'all cells', 'forgotten', 'worst known cell', 'known cells significantly worse'],
        [['frozen', '0', '0', '0', '0', '0', '0'], ...summary.map(s => [s.arm, show(s.gained, 2), show(s.kept, 2), show(s.all, 2), show(s.forgotten, 2),
            `${show(s.worst)} ${where(s.worst.c)}`, `${s.worse} of ${knownCells.length}`])]);
    const groups = columns.map(column => column.name);
    for (const arm of arms) {
        const rs = of(arm.name, 'abab');
        put(`${arm.name}: after each phase, by kind of link`, 'Percent of the top, mean over profiles.', ['learned', ...groups],
            scenarios.abab.names.map((name, phase) => [name, ...groups.map(g => show(over(rs, phase, cellsOf(c => c.column === g), ofTop), 1))]));
    }
    const last = arms[arms.length - 1];
    put(`${last.name}: after A, B, A, B, each kind of link and profile`, 'Percent of the shipped QoE where both are positive, else of the top.',
        ['profile', ...groups], profiles.map(profile => [profile, ...groups.map(g => {
            const c = cells.findIndex(cell => cell.column === g && cell.profile === profile);
            return show(interval(of(last.name, 'abab').map(r => change(r.mean[3][c], c))));
        })]));
}

// ---- the figures to reach

const figures = [];
const figure = (what, wantedText, f) => figures.push([what, wantedText, ...arms.map(arm => f(arm.name) ?? '-')]);
const has = (scenario, f) => name => chosen.includes(scenario) && of(name, scenario).length ? f(of(name, scenario)) : null;
if (!quick) {
    figure(`worst cell on ${Object.keys(recorded).join(' and ')} after 10,000 viewers elsewhere`, '>= -1, above -2',
        has('elsewhere', rs => recordedCells.length ? (w => `${show(w)} ${where(w.c)}`)(worst(rs, 0, recordedCells)) : null));
    const top = chosen.includes('elsewhere') ? oracle() : null;
    figure('share of the gap to the oracle closed on the new kind, product profiles', '>= 35', has('elsewhere', rs => {
        const gap = sum(product.map(p => (top[p].oracle - top[p].shipped) / Math.abs(base[cells.findIndex(c => c.profile === p && c.column === NEW_KIND)].top)));
        return show(interval(rs.map(r => sum(product.map(p => {
            const c = cells.findIndex(cell => cell.profile === p && cell.column === NEW_KIND);
            return ofTop(r.mean[0][c], c);
        })) / gap)));
    }));
    figure('after A, B, A, B on A', '> 0', has('abab', rs => show(over(rs, 3, newCells, ofTop), 2)));
    figure('after A, B, A, B on B', '> 0', has('abab', rs => otherCells.length ? show(over(rs, 3, otherCells, ofTop), 2) : null));
    figure('stationary, 50,000 sessions, known links', '>= 0', has('stationary', rs => show(over(rs, 4, knownCells, ofTop), 2)));
    figure('stationary: scored versions with a significantly worse cell', '0', has('stationary', rs =>
        `${scenarios.stationary.names.filter((_, phase) => significantlyWorse(rs, phase, knownCells).length).length} of 5`));
    figure('the same viewers, honest, worst cell', '-', has('honest', rs => (w => `${show(w)} ${where(w.c)}`)(worst(rs, 0, knownCells))));
    figure('attack by one address, worst cell', '>= -2', has('attack', rs => (w => `${show(w)} ${where(w.c)}`)(worst(rs, 0, knownCells))));
    figure('updates refused while one address lies', '<= 20', has('attack', rs => show(interval(rs.map(r => r.rollbacks / Math.max(1, r.updates + r.held + r.rollbacks)))).replaceAll('+', '')));
    figure('30 % liars, worst cell', '>= -2', has('liars', rs => (w => `${show(w)} ${where(w.c)}`)([0, 1].map(phase => worst(rs, phase, knownCells)).sort((a, b) => a.mean - b.mean)[0])));
    put('Figures to reach', 'Percent. The attack: half of the sessions come from one address, choose session keys that explore, and report contradictory stalls.',
        ['figure', 'wanted', ...arms.map(a => a.name)], figures);
}

writeFileSync(out, JSON.stringify({ policy: policyHash('moe'), part, seeds, scale, looks, winner: page.winner, arms,
    cells: cells.map(({ column, profile }, c) => ({ column, profile, shipped: shippedMean[c], top: base[c].top })), runs: done, sections: page.sections }, null, 1) + '\n');
console.log(`figures in ${out}`);

// The page, where the pages' script is built (make web).
const program = process.env.PAGE ?? 'build/release/score_page';
if (existsSync(program)) {
    try {
        execFileSync(program, [out.replace(/\.json$/, '.html')], { input: JSON.stringify(page), stdio: ['pipe', 'inherit', 'pipe'] });
        console.log(`page in ${out.replace(/\.json$/, '.html')}`);
    } catch (error) {
        console.log(`  skipped: the page: ${String(error.stderr ?? error).trim()}`);
    }
}

if (process.env.STRICT) {
    const fallen = ['attack', 'liars'].flatMap(scenario => arms.flatMap(({ name }) => has(scenario, rs =>
        scenarios[scenario].names.map((_, phase) => worst(rs, phase, knownCells)))(name) ?? [])).filter(w => w.mean < -0.02);
    for (const w of fallen) console.log(`SHORT  ${show(w)} ${where(w.c)}: beyond -2`);
    process.exitCode = fallen.length ? 1 : 0;
}

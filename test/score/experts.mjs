// experts.mjs - what the experts of a policy are for: who is chosen by profile and by kind of link, and what
// is lost with one expert alone or without one. `abrd policy keep` makes the smaller policies.
//
//   POLICY=FILE   default deploy/policy/moe.safetensors
//   PART=train    links to choose by (default), or test: each look is counted in test/score/looks.tsv
//   TAKE=40       links of each set
//   OUT=FILE      figures (default build/experts.json)
//   SHARED, GRID  as grid.mjs
//
// Changes are mean QoE less the whole policy's, as percent of the profile's top (the best level without
// stalls), mean over all profiles, with 95 % bootstrap intervals over sessions.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { envivio, kindSeed, kinds, look, paired, papers, play, policyHash, product, sets } from './grid.mjs';

const file = process.env.POLICY || 'deploy/policy/moe.safetensors';
const part = process.env.PART || 'train';
const take = Number(process.env.TAKE || 40);
const out = process.env.OUT || 'build/experts.json';
const ABRD = process.env.ABRD ?? 'build/abrd';
const tmp = mkdtempSync(join(tmpdir(), 'experts-'));
const abrd = (...args) => execFileSync(ABRD, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
process.on('exit', () => rmSync(tmp, { recursive: true, force: true }));

const usual = { ladder: [300, 750, 1200, 1850, 2850, 4300], chunks: 48, chunk_s: 4 };
const links = [
    ...[...kinds, 'volatile-low'].map(kind => {
        const dir = `${tmp}/${kind}`;
        abrd('trace', 'generate', '--out', dir, '--kind', kind, '--n', String(take), '--seed', String(kindSeed[part]), '--quiet');
        return { name: kind, traces: dir, part: 'all', ...usual };
    }),
    ...Object.entries(sets[part]).filter(([, s]) => existsSync(s.traces))
        .map(([name, s]) => ({ name, ...s, ...(envivio() ? { video: envivio() } : usual) })),
];
const profiles = [...product, ...papers];

// ---- who is chosen

const route = l => {
    const json = `${tmp}/routing.json`;
    abrd('eval', '--routing', '--policy', `moe:${file}`, '--profile', profiles.join(','), '--traces', l.traces, '--part', l.part, '--json', json);
    return JSON.parse(execFileSync('cat', [json], { encoding: 'utf8' })).rows.filter(r => r.network === 'actor');
};
const routes = links.map(l => ({ name: l.name, rows: route(l) }));
const experts = Object.keys(routes[0].rows[0]).filter(k => /^expert\d+$/.test(k));
const shares = row => experts.map(e => row[e]);

/** Information of a label about the expert, as a share of the entropies: 2 I / (H(E) + H(V)). */
function normalised(rows) {
    const n = rows.reduce((a, r) => a + r.n, 0), h = ps => -ps.filter(p => p > 0).reduce((a, p) => a + p * Math.log(p), 0);
    const joint = rows.flatMap(r => shares(r).map(s => s * r.n / n));
    const byLabel = rows.map(r => r.n / n), byExpert = experts.map((_, k) => rows.reduce((a, r) => a + shares(r)[k] * r.n / n, 0));
    const sum = h(byLabel) + h(byExpert);
    return sum > 0 ? 2 * (sum - h(joint)) / sum : 0;
}
const byKind = routes.map(({ name, rows }) => ({ label: name, ...rows.find(r => r.profile === 'all') }));
const byProfile = profiles.map(profile => {
    const own = routes.map(({ rows }) => rows.find(r => r.profile === profile)), n = own.reduce((a, r) => a + r.n, 0);
    return { label: profile, n, ...Object.fromEntries(experts.map(e => [e, own.reduce((a, r) => a + r[e] * r.n, 0) / n])) };
});

// ---- what is lost

const K = experts.length, all = experts.map((_, k) => k);
const keep = (name, which) => {
    const to = `${tmp}/${name.replaceAll(' ', '-')}.safetensors`;
    abrd('policy', 'keep', file, '--experts', which.join(','), '--out', to);
    return { name, policy: `moe:${to}` };
};
const cut = K < 2 ? [] : [...all.map(k => keep(`only ${k}`, [k])), ...all.map(k => keep(`without ${k}`, all.filter(j => j !== k)))];
const looks = look(part, 'experts', `moe:${file}`);
const cells = links.flatMap(l => profiles.map(profile => ({ ...l, take, profile, chunks: l.chunks ?? 0, policies: [`moe:${file}`, ...cut.map(c => c.policy)] })));
const found = await play(cells);
const losses = cut.map(({ name, policy }) => ({
    name, by: links.map(l => {
        const own = [], whole = [];
        cells.forEach((cell, i) => {
            if (cell.name !== l.name) return;
            const top = Math.abs(found[i][policy].top);
            own.push(...found[i][policy].qoe.map(x => x / top));
            whole.push(...found[i][`moe:${file}`].qoe.map(x => x / top));
        });
        return paired(own, whole);
    }),
}));

// ---- tables

const percent = x => (100 * x).toFixed(1);
const table = rows => {
    const widths = rows[0].map((_, i) => Math.max(...rows.map(r => r[i].length)));
    return rows.map(r => r.map((c, i) => c.padEnd(widths[i])).join('  ').trimEnd()).join('\n');
};
console.log(`policy ${file} (sha256 ${policyHash(`moe:${file}`)}), part ${part}, looks at the test sets so far: ${looks}`);
for (const [what, rows] of [['kind of link', byKind], ['profile', byProfile]])
    console.log(`\npercent of decisions by ${what}; normalised information about the expert ${normalised(rows).toFixed(4)}\n` +
        table([[what, ...experts], ...rows.map(r => [r.label, ...shares(r).map(percent)])]));
if (cut.length)
    console.log(`\npercent of the top, less the whole policy\n` + table([['experts', ...links.map(l => l.name)],
        ...losses.map(l => [l.name, ...l.by.map(d => `${percent(d.mean)} [${percent(d.lo)}, ${percent(d.hi)}]`)])]));
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, JSON.stringify({ policy: file, part, looks, byKind, byProfile, information: { kind: normalised(byKind), profile: normalised(byProfile) },
    links: links.map(l => l.name), losses }, null, 1) + '\n');
console.log(`figures in ${out}`);

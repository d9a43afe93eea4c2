// regimes.mjs - where does a policy hold? A grid of cells (links x ladder x chunk length x buffer x session x
// profile), in each the policy against the best classical rule of that cell.
//
//   POLICY=moe    or moe:FILE, or a rule, which is then not its own rival
//   PART=train    links to choose by (default), or test: each look is counted in test/score/looks.tsv
//   CELLS=720     cells that are drawn from the whole grid, each value of a dimension equally often
//   TRACES=40     sessions of a cell
//   DRAW=0        another number draws other cells: choose on some, and look at others afterwards
//   DRAWS=12      drawn weights of each group; 0: none
//   PLAYERS=0     cells that real players play as well (test/players): the policy in dash.js against the players'
//                 own rules, all with the buffer of the cell; cells that are live, begin at chunk 1 or have more
//                 than 5 minutes of video are left out. 24 cells need about ten minutes of a processor
//   PLAYER_TRACES=8   sessions of such a cell
//   OUT=build/regimes   folder of regimes.html, regimes.csv, draws.csv, players.csv
//   RIVALS_AS=%   rivals' specs with their name for %, "ceiled:%" for example
//
// Verdict of a cell: better or worse when the 95 % interval of the paired difference excludes 0, else
// level. The rival is the best of the cell by its mean, so chance favours it. The product's profiles have a
// ceiling of stalls: a rule that stalls more than that, and more than the policy, is no rival there. By QoE
// alone (verdict_qoe) it is. verdict_halves: each session against the rival that is best in the other half of the
// sessions, so that chance favours nobody. The relative difference is
// in units of the rival's QoE, at least a tenth of what the best level earns without stalls.
//
// Rivals' sessions are kept in build/score and played again only when their sources or the cell change.
// The same policy and traces give the same figures.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { kinds, kindSeed, ladders, look, mean, paired, papers, play, policyHash, product, random, rules, sets, signed, sum }
    from './grid.mjs';

const policy = process.env.POLICY || 'moe', part = process.env.PART || 'train';
const wanted = Number(process.env.CELLS || 720), take = Number(process.env.TRACES || 40);
const draws = Number(process.env.DRAWS || 12), drawNumber = Number(process.env.DRAW || 0), out = process.env.OUT || 'build/regimes';
const rivalsAs = process.env.RIVALS_AS || '%';
const players = Number(process.env.PLAYERS || 0), playerTake = Number(process.env.PLAYER_TRACES || 8);
const NOISE = 0.03;
const CEILING = 0.01; // of stalls, of the product's profiles (src/abr/emulator/qoe.h)

if (!(part in sets)) {
    console.error(`regimes.mjs: PART is train or test, not '${part}'`);
    process.exit(2);
}
if (!(Number.isInteger(drawNumber) && drawNumber >= 0)) {
    console.error(`regimes.mjs: DRAW is a whole number from 0 on, not '${process.env.DRAW}'`);
    process.exit(2);
}
if (!(players >= 0 && playerTake >= 2)) {
    console.error('regimes.mjs: PLAYERS is a number of cells, 0 or more, and PLAYER_TRACES one of sessions, 2 or more');
    process.exit(2);
}
if (players && !/^moe(:.+)?$/.test(policy)) {
    console.error(`regimes.mjs: with PLAYERS, POLICY is moe or moe:FILE, since a daemon decides with it; not '${policy}'`);
    process.exit(2);
}
const { OURS, PLAYERS = [], cellsOf, playCells } = players ? await import('../players/cells.mjs') : {};
const rivals = rules.map(rule => rivalsAs.replace('%', rule)).filter(rule => rule !== policy);

// ---- the cells

const links = [
    ...Object.entries(sets[part]).filter(([, set]) => existsSync(set.traces))
        .flatMap(([name, set]) => [{ name, ...set }, { name, ...set }]), // twice as often as a generated kind
    ...kinds.map(kind => ({ name: kind, kind, seed: kindSeed[part] })),
];
const sessions = [
    { name: '10', chunks: 10 }, { name: '24', chunks: 24 }, { name: '48', chunks: 48 }, { name: '200', chunks: 200 },
    { name: 'live 48', chunks: 48, live: true }, { name: 'from chunk 1', chunks: 48, free_start: true },
];
const dimensions = {
    link: links, ladder: ladders(), chunk: [1, 2, 4, 6, 10], buffer: [6, 10, 15, 30, 60, 120],
    session: sessions, profile: [...product, ...papers],
};

// n values in which each of the list is equally often, in an order of its own
function spread(list, n, seed) {
    const draw = random(seed), values = Array.from({ length: n }, (_, i) => list[i % list.length]);
    for (let i = n - 1; i > 0; i--) {
        const j = Math.floor(draw() * (i + 1));
        [values[i], values[j]] = [values[j], values[i]];
    }
    return values;
}

function cellOf({ link, ladder, chunk, buffer, session, profile }) {
    const chunk_s = ladder.chunk_s ?? chunk;
    const chunks = Math.min(session.chunks, ladder.most ?? Infinity);
    const buffer_s = dimensions.buffer.find(b => b >= Math.max(buffer, chunk_s));
    const cell = { ...link, name: undefined, take, chunk_s, chunks, buffer_s, live: !!session.live,
        free_start: !!session.free_start };
    if (ladder.ladder) cell.ladder = ladder.ladder;
    else cell.video = ladder.video;
    Object.assign(cell, typeof profile === 'string' ? { profile } : profile.weights);
    const at = { link: link.name, ladder: ladder.name, levels: ladder.ladder?.length ?? ladder.levels, chunk: chunk_s,
        buffer: buffer_s, session: session.name, profile: profile.name ?? profile };
    return { cell: { ...cell, policies: [policy, ...rivals] }, at };
}

function gridCells() {
    const columns = Object.entries(dimensions).map(([name, list], i) => [name, spread(list, wanted, 11 + i + 100 * drawNumber)]);
    const cells = new Map();
    for (let i = 0; i < wanted; i++) {
        const one = cellOf(Object.fromEntries(columns.map(([name, values]) => [name, values[i]])));
        cells.set(Object.values(one.at).join(), one);
    }
    return [...cells.values()];
}

// Weights of viewers that nobody named, around the product's and the papers'.
function drawnWeights(world, i) {
    const draw = random(1000 * (world === 'product' ? 1 : 2) + i);
    for (let k = 0; k < 5; k++) draw();
    if (world === 'product')
        return { weights: [[0.5, 2], [0.2, 5], [0.5, 3], [0.25, 4]].map(([lo, hi]) => lo * (hi / lo) ** draw()) };
    const e = [0, 1, 2].map(() => -Math.log(1 - draw()));
    return { mu: e.map(x => x / sum(e)) };
}

function drawnCells() {
    const by = name => dimensions.ladder.find(one => one.name === name);
    const scenes = [
        { scene: 'home', ladder: by('6 to 4.3'), chunk: 4, buffer: 60, session: sessions[2] },
        { scene: 'short', ladder: by('6 to 12'), chunk: 2, buffer: 12, session: { name: '96', chunks: 96 } },
        { scene: 'three', ladder: by('3 to 4'), chunk: 4, buffer: 60, session: sessions[2] },
    ];
    dimensions.buffer = [...dimensions.buffer, 12].sort((a, b) => a - b);
    const where = links.filter((link, i) => links.findIndex(other => other.name === link.name) === i)
        .filter(link => link.traces || link.name === 'broadband');
    const cells = [];
    for (const world of ['product', 'papers']) for (const link of where) for (const scene of scenes)
        for (let i = 0; i < draws; i++) {
            // the papers' own evaluation does not count chunk 0
            const session = { ...scene.session, free_start: world === 'papers' };
            const one = cellOf({ ...scene, session, link, profile: { name: `drawn ${i}`, weights: drawnWeights(world, i) } });
            cells.push({ ...one, group: `${world}, ${link.name}, ${scene.scene}` });
        }
    return cells;
}

// ---- judging

function judge(found, { at, cell, group }, ours = policy, others = rivals) {
    const own = found[ours];
    const ratio = one => sum(one.stall) / (sum(one.stall) + one.played * one.stall.length);
    const among = list => list.reduce((a, b) => mean(found[b].qoe) > mean(found[a].qoe) ? b : a);
    const verdictOf = d => (d.hi < 0 ? 'worse' : d.lo > 0 ? 'better' : 'level');
    const isPaper = papers.includes(at.profile) || 'mu' in cell, allowed = Math.max(ratio(own), CEILING);
    const kept = isPaper ? others : others.filter(rival => ratio(found[rival]) <= allowed);
    const best = among(kept.length ? kept : others), free = verdictOf(paired(own.qoe, found[among(others)].qoe));
    const d = paired(own.qoe, found[best].qoe), theirs = mean(found[best].qoe);
    // the same, but every session against the rival that is best in the other half of the sessions
    const halves = [0, 1].map(half => list => mean(list.filter((_, i) => i % 2 === half)));
    const bestIn = halves.map(half => (kept.length ? kept : others).reduce((a, b) => half(found[b].qoe) > half(found[a].qoe) ? b : a));
    const crossed = verdictOf(paired(own.qoe, own.qoe.map((_, i) => found[bestIn[1 - i % 2]].qoe[i])));
    const rel = d.mean / Math.max(Math.abs(theirs), 0.1 * Math.abs(own.top));
    return { ...at, group, n: own.qoe.length, qoe: mean(own.qoe), best, best_qoe: theirs, diff: d.mean, lo: d.lo, hi: d.hi,
        rel, verdict: verdictOf(d), verdict_qoe: free, verdict_halves: crossed, papers: isPaper,
        stall_ratio: ratio(own), best_stall_ratio: ratio(found[best]), start_s: mean(own.start),
        best_start_s: mean(found[best].start), quality: mean(own.quality), best_quality: mean(found[best].quality) };
}

const percent = x => `${signed(x)} %`;
const named = r => `${r.link}, ladder ${r.ladder}, ${r.chunk} s chunks, buffer ${r.buffer} s, session ${r.session}, ${r.profile}`;
// Values of a dimension that the cells have, in the table's order.
function valuesOf(rows, name) {
    const order = dimensions[name].map(value => value.name ?? value), seen = [...new Set(rows.map(r => r[name]))];
    return seen.sort((a, b) => typeof a === 'number' ? a - b : order.indexOf(a) - order.indexOf(b));
}
const count = (rows, verdict, by = 'verdict') => rows.filter(r => r[by] === verdict).length;

function csv(rows) {
    const columns = ['group', 'link', 'ladder', 'levels', 'chunk', 'buffer', 'session', 'profile', 'n', 'qoe', 'best',
        'best_qoe', 'diff', 'lo', 'hi', 'rel', 'verdict', 'verdict_qoe', 'verdict_halves', 'stall_ratio', 'best_stall_ratio', 'start_s', 'best_start_s',
        'quality', 'best_quality'];
    const value = x => typeof x === 'number' && !Number.isInteger(x) ? x.toPrecision(6) : `"${x ?? ''}"`;
    return [columns.join(), ...rows.map(r => columns.map(c => value(r[c])).join())].join('\n') + '\n';
}

// ---- the page

const escape = text => String(text).replace(/[&<>"]/g, c => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }[c]));

// From red (-20 %) over grey to blue (+20 %).
function colour(rel) {
    const x = Math.max(-1, Math.min(1, rel / 0.2)), mix = (a, b) => Math.round(a + (b - a) * Math.abs(x) ** 0.6);
    const end = x < 0 ? [178, 24, 43] : [33, 102, 172];
    return `rgb(${end.map(c => mix(228, c)).join()})`;
}

// The map: one square a cell. Rows are links, columns ladders; on the left the product's profiles, on the
// right the papers'. A cell that is not separable from its rival has a smaller square.
function mapOf(rows) {
    const linkNames = [...new Set(links.map(l => l.name))], ladderNames = dimensions.ladder.map(l => l.name);
    const SIDE = 13, left = 96, head = 84, parts = [];
    let x0 = left;
    const rowHeight = Math.max(...linkNames.map(link => Math.max(...[false, true].flatMap(paper => ladderNames.map(ladder =>
        Math.ceil(rows.filter(r => r.link === link && r.ladder === ladder && r.papers === paper).length / 3))))), 1) * SIDE + 6;
    for (const paper of [false, true]) {
        parts.push(`<text x="${x0}" y="14" class="head">${paper ? "the papers' profiles" : "the product's profiles"}</text>`);
        ladderNames.forEach((ladder, c) => {
            const x = x0 + c * (3 * SIDE + 6);
            parts.push(`<text transform="translate(${x + 22},${head - 6}) rotate(-55)">${escape(ladder)}</text>`);
            linkNames.forEach((link, l) => {
                const y = head + l * rowHeight;
                rows.filter(r => r.link === link && r.ladder === ladder && r.papers === paper).sort((a, b) => a.rel - b.rel)
                    .forEach((r, i) => {
                        const inset = r.verdict === 'level' ? 3.5 : 0.5;
                        parts.push(`<rect x="${x + (i % 3) * SIDE + inset}" y="${y + Math.floor(i / 3) * SIDE + inset}" ` +
                            `width="${SIDE - 2 * inset}" height="${SIDE - 2 * inset}" fill="${colour(r.rel)}">` +
                            `<title>${escape(`${named(r)}: ${percent(r.rel)} against ${r.best}, ${r.verdict}`)}</title></rect>`);
                    });
            });
        });
        x0 += ladderNames.length * (3 * SIDE + 6) + 60;
    }
    linkNames.forEach((link, l) => parts.push(`<text x="0" y="${head + l * rowHeight + 12}">${escape(link)}</text>`));
    const mapHeight = head + linkNames.length * rowHeight;

    // shares of better, level and worse by the values of each dimension
    let x = 0, deepest = 0;
    for (const name of Object.keys(dimensions)) {
        const values = valuesOf(rows, name);
        parts.push(`<text x="${x}" y="${mapHeight + 26}" class="head">${name}</text>`);
        values.forEach((value, i) => {
            const y = mapHeight + 34 + i * 17, mine = rows.filter(r => r[name] === value);
            parts.push(`<text x="${x}" y="${y + 11}">${escape(value)}</text>`);
            let at = x + 116;
            for (const [verdict, fill] of [['better', colour(0.2)], ['level', 'rgb(228,228,228)'], ['worse', colour(-0.2)]]) {
                const width = 70 * count(mine, verdict) / mine.length;
                parts.push(`<rect x="${at}" y="${y + 1}" width="${width}" height="12" fill="${fill}">` +
                    `<title>${verdict}: ${count(mine, verdict)} of ${mine.length}</title></rect>`);
                at += width;
            }
        });
        deepest = Math.max(deepest, mapHeight + 40 + values.length * 17);
        x += 206;
    }
    const width = Math.max(x0, x);
    return `<svg viewBox="0 0 ${width} ${deepest}" width="${width}" xmlns="http://www.w3.org/2000/svg" role="img" ` +
        `aria-label="map of cells">${parts.join('')}</svg>`;
}

function page(lines, rows, groups) {
    const worst = rows.filter(r => r.verdict === 'worse').sort((a, b) => a.rel - b.rel).slice(0, 30);
    const cells = values => '<tr>' + values.map(v => `<td>${escape(v)}</td>`).join('') + '</tr>';
    return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Regimes of ${escape(policy)}</title>
<style>body{font:14px system-ui,sans-serif;margin:24px;color:#222;background:#fff}svg{max-width:100%;height:auto}
svg text{font:11px system-ui,sans-serif;fill:#222}svg .head{font-weight:600;font-size:12px}
table{border-collapse:collapse;margin:12px 0}td,th{padding:2px 10px 2px 0;text-align:left;font-size:13px}</style>
<h1>Where ${escape(policy)} holds</h1>${lines.map(line => `<p>${escape(line)}</p>`).join('')}
<p>One square a cell: blue is better than the best classical rule of that cell, red is worse, full colour from 20 % on. A small
square is not separable from 0. Rows are links. Columns are ladders: "6 to 12" has 6 levels up to 12 Mbit/s. Bars: shares of
better, level and worse.</p>${mapOf(rows)}
<h2>Worst cells</h2><table><tr><th>cell<th>QoE<th>best rival<th>its QoE<th>difference<th>stall ratio<th>rival's<th>start<th>rival's</tr>
${worst.map(r => cells([named(r), r.qoe.toFixed(2), r.best, r.best_qoe.toFixed(2), percent(r.rel), percent(r.stall_ratio).slice(1),
        percent(r.best_stall_ratio).slice(1), `${r.start_s.toFixed(1)} s`, `${r.best_start_s.toFixed(1)} s`])).join('\n')}</table>
<h2>Drawn weights not below the best rival</h2><table>${groups.map(([name, share]) => cells([name, `${(100 * share).toFixed(0)} %`])).join('\n')}</table>
</html>\n`;
}

// How often each rule is the best rival.
function bestOf(list, of) {
    const bests = of.map(rule => [rule, list.filter(r => r.best === rule).length]).sort((a, b) => b[1] - a[1]);
    return bests.map(([rule, n]) => `${rule} ${n}`).join(', ');
}

// Cells spread over the grid, judged as real players play them.
async function inPlayers() {
    const fit = cells.map((one, i) => ({ ...one, top: found[i][policy].top })).filter(({ cell }) => !cell.live && !cell.free_start && cell.chunks * cell.chunk_s <= 300);
    const some = fit.filter((_, i) => Math.floor(i * players / fit.length) !== Math.floor((i - 1) * players / fit.length));
    if (!some.length) return [];
    const result = await playCells(cellsOf(some.map(({ cell }) => ({ ...cell, take: playerTake }))), {
        policy: /^moe:(.+)/.exec(policy)?.[1],
        told: share => process.stderr.isTTY && process.stderr.write(`\rin players ${(100 * share).toFixed(0)} % `),
    });
    return some.map((one, i) => {
        result[i][OURS].top = one.top;
        return { ...judge(result[i], one, OURS, PLAYERS), unfinished: sum(PLAYERS.map(rule => result[i][rule].unfinished)) };
    });
}

// ---- the run

const looks = look(part, 'regimes', policy);
const cells = gridCells(), drawn = draws ? drawnCells() : [];
const began = Date.now();
const found = await play([...cells, ...drawn].map(one => one.cell),
    share => process.stderr.isTTY && process.stderr.write(`\r${(100 * share).toFixed(0)} % `));
const judged = [...cells, ...drawn].map((one, i) => judge(found[i], one));
const rows = judged.slice(0, cells.length), draw = judged.slice(cells.length);

const groups = [...new Set(draw.map(r => r.group))].map(name => {
    const mine = draw.filter(r => r.group === name);
    return [name, mine.filter(r => r.diff >= 0).length / mine.length];
});
const worseOf = list => list.filter(r => r.verdict === 'worse').sort((a, b) => a.rel - b.rel);
const verdictLine = list => `${list.length} cells, better ${count(list, 'better')}, level ${count(list, 'level')}, ` +
    `worse ${worseOf(list).length} (${worseOf(list).filter(r => r.rel < -NOISE).length} by more than 3 %); ` +
    `worst: ${worseOf(list).slice(0, 3).map(r => `${percent(r.rel)} ${named(r)} (${r.best})`).join('; ') || 'none'}`;
const played = await inPlayers();
const lines = [
    `policy ${policy} (sha256 ${policyHash(policy)}), part ${part}, ${take} sessions a cell, looks at the test sets so far: ${looks}`,
    verdictLine(rows),
    'each session against the rival that is best in the other half of the sessions: ' +
        ['better', 'level', 'worse'].map(verdict => `${verdict} ${count(rows, verdict, 'verdict_halves')}`).join(', '),
    ...[false, true].map(paper => {
        const mine = rows.filter(r => r.papers === paper);
        return `${paper ? "papers' profiles" : "product's profiles"}: ${mine.length} cells, better ${count(mine, 'better')}, ` +
            `level ${count(mine, 'level')}, worse ${count(mine, 'worse')} (` +
            `${mine.filter(r => r.verdict === 'worse' && r.rel < -NOISE).length} by more than 3 %)`;
    }),
];
if (players) {
    const unfinished = sum(played.map(r => r.unfinished));
    lines.push(`in players, ${playerTake} sessions a cell, ${OURS} against the best of ${PLAYERS.length} rules: ${verdictLine(played)}`,
        `  best rule: ${bestOf(played, PLAYERS)}${unfinished ? `; ${unfinished} sessions of rivals have not ended` : ''}`);
}
for (const line of lines) console.log(line);
for (const name of Object.keys(dimensions)) {
    const values = valuesOf(rows, name);
    console.log(`  worse by ${name}: ` + values.map(value => {
        const mine = rows.filter(r => r[name] === value);
        return `${value} ${count(mine, 'worse')}/${mine.length}`;
    }).join(', '));
}
console.log(`  best rival: ${bestOf(rows, rivals)}`);
for (const [name, share] of groups) console.log(`  drawn weights not below the best rival, ${name}: ${(100 * share).toFixed(0)} %`);
mkdirSync(out, { recursive: true });
writeFileSync(`${out}/regimes.csv`, csv(rows));
writeFileSync(`${out}/draws.csv`, csv(draw));
if (players) writeFileSync(`${out}/players.csv`, csv(played));
writeFileSync(`${out}/regimes.html`, page(lines, rows, groups));
console.log(`map in ${out}/regimes.html, cells in ${out}/regimes.csv; ${((Date.now() - began) / 1000).toFixed(0)} s`);

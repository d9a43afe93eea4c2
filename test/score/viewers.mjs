// viewers.mjs - what viewers feel, in the units of operators: the policy on every set for each profile of the
// product, next to the best classical rule given the same weights, and next to the best tuned one.
//
//   POLICY=moe    or moe:FILE, or a rule
//   PART=train    links to choose by (default), or test: each look is counted in test/score/looks.tsv
//   TAKE=0        sessions of each set; 0: all
//   RIVALS_AS=%   rivals' specs with their name for %, "ceiled:%" for rules under the policy's ceilings
//   OUT=build/viewers.json   the figures
//
// The first chunk is a decision like the others and counts. Stall ratio: stalled after the first picture,
// divided by that and the media played, over all sessions. A session is carried if the lowest level alone
// stays under the profile's ceiling; the ratio is shown for all sessions and for the carried ones.
// Intervals are 95 % bootstraps over the traces, paired.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { bunny, envivio, gain, look, mean, papers, plainRules, play, policyHash, product, quantile, sets, signed, sum, tunedRules }
    from './grid.mjs';

const policy = process.env.POLICY || 'moe', part = process.env.PART || 'train';
const take = Number(process.env.TAKE || 0), out = process.env.OUT || 'build/viewers.json';
const rivalsAs = process.env.RIVALS_AS || '%';
const CEILING = 0.01, START_MEDIAN_S = 2, START_P90_S = 4, QOE_LOSS = 0.02, GAIN = 0.05;
// of the policy before, in the papers' units, on the test set
const PAPERS_BEFORE = { 'paper-documentary': 0.774, 'paper-live': 0.990, 'paper-news': 12.71, 'pensieve': 0.994 };

if (!(part in sets)) {
    console.error(`viewers.mjs: PART is train or test, not '${part}'`);
    process.exit(2);
}
const as = rule => rivalsAs.replace('%', rule);
const plain = plainRules.map(as).filter(rule => rule !== policy), tuned = tunedRules.map(as).filter(rule => rule !== policy);

const videos = {
    'Envivio': { video: envivio(), chunk_s: 4, chunks: 48 },
    'to 40 Mbit/s': { ladder: [1000, 2500, 5000, 8000, 16000, 40000], chunk_s: 4, chunks: 48 },
    'Big Buck Bunny': { video: existsSync(bunny) ? bunny : null, chunk_s: 3, chunks: 199 },
};
const scenes = [['3g', 'Envivio'], ['puffer', 'Envivio'], ['lumos', 'to 40 Mbit/s'], ['lumos', 'Big Buck Bunny'],
    ['sabre', 'Big Buck Bunny']].filter(([set]) => sets[part][set]);
const skipped = [], cells = [];
for (const [set, video] of scenes) {
    if (!existsSync(sets[part][set].traces) || videos[video].video === null) {
        skipped.push(`${set}, ${video}: its files are not there`);
        continue;
    }
    const cell = { ...sets[part][set], take, ...videos[video], buffer_s: 60 };
    for (const profile of product)
        cells.push({ ...cell, set, title: video, profile, policies: [...new Set([policy, ...plain, ...tuned, 'mpc', 'fixed-0'])] });
    if (set === '3g')
        for (const profile of papers) cells.push({ ...cell, set, title: video, profile, free_start: true, policies: [policy] });
}

// ---- figures

const ratio = (one, keep = () => true) => {
    const stalls = one.stall.filter((_, i) => keep(i));
    return stalls.length ? sum(stalls) / (sum(stalls) + one.played * stalls.length) : NaN;
};
const best = (found, names) => names.length ? names.reduce((a, b) => mean(found[b].qoe) > mean(found[a].qoe) ? b : a) : null;
const over = (found, rule) => rule && { rule, ...gain(found[policy].qoe, found[rule].qoe) };

function figures(cell, found) {
    const own = found[policy], lowest = found['fixed-0'];
    const carried = i => lowest.stall[i] / (lowest.stall[i] + lowest.played) <= CEILING;
    const byPlain = best(found, plain), byTuned = best(found, tuned), byAny = best(found, [...plain, ...tuned]);
    return {
        set: cell.set, video: cell.title, profile: cell.profile, n: own.qoe.length, qoe: mean(own.qoe),
        best: byAny, best_qoe: mean(found[byAny].qoe), plain: over(found, byPlain), tuned: over(found, byTuned),
        stall_ratio: ratio(own), stall_ratio_carried: ratio(own, carried),
        carried: own.stall.filter((_, i) => carried(i)).length,
        mpc_stall_ratio: ratio(found.mpc), mpc_stall_ratio_carried: ratio(found.mpc, carried),
        lowest_stall_ratio: ratio(lowest), plain_stall_ratio: ratio(found[byPlain]),
        start_s: { median: quantile(own.start, 0.5), p90: quantile(own.start, 0.9) },
        lowest_start_s: { median: quantile(lowest.start, 0.5), p90: quantile(lowest.start, 0.9) },
        switches_per_min: 60 * mean(own.switches) / own.played, quality: mean(own.quality), mbps: mean(own.mbps),
    };
}

// ---- the table

const percent = (x, digits = 1) => Number.isFinite(x) ? `${(100 * x).toFixed(digits)} %` : '-';
const gained = g => g ? `${g.rule} ${signed(g.mean)} % [${signed(g.lo)}, ${signed(g.hi)}]` : '-';
const pair = s => `${s.median.toFixed(1)}, ${s.p90.toFixed(1)}`;

function table(head, rows) {
    const widths = head.map((title, i) => Math.max(title.length, ...rows.map(row => row[i].length)));
    return [head, ...rows].map(row => row.map((cell, i) => cell.padEnd(widths[i])).join('  ').trimEnd()).join('\n');
}

const looks = look(part, 'viewers', policy);
const found = await play(cells);
const all = cells.map((cell, i) => ({ cell, found: found[i] }));
const rows = all.filter(({ cell }) => product.includes(cell.profile)).map(({ cell, found: f }) => figures(cell, f));

console.log(`policy ${policy} (sha256 ${policyHash(policy)}), part ${part}, rivals ${rivalsAs === '%' ? 'as they are' : rivalsAs}, ` +
    `looks at the test sets so far: ${looks}`);
if (rows.length) console.log(table(
    ['set', 'video', 'profile', 'QoE', 'over the best of rate, buffer, bola, mpc', 'over the best tuned rule', 'quality',
        'stall ratio', 'of carried', 'mpc', 'of carried', 'start p50, p90 s', "lowest level's", 'switches/min'],
    rows.map(r => [r.set, r.video, r.profile, r.qoe.toFixed(2), gained(r.plain), gained(r.tuned), r.quality.toFixed(1),
        percent(r.stall_ratio, 2), `${percent(r.stall_ratio_carried, 2)} (${r.carried} of ${r.n})`, percent(r.mpc_stall_ratio, 2),
        percent(r.mpc_stall_ratio_carried, 2), pair(r.start_s), pair(r.lowest_start_s), r.switches_per_min.toFixed(1)])));

// ---- verdicts

const verdicts = [];
const where = r => `${r.set} ${r.video} ${r.profile}`;
function verdict(what, cases, short) {
    if (!cases.length) return;
    const bad = cases.filter(short.when);
    verdicts.push({ what, cases: cases.length, short: bad.length });
    console.log(`${bad.length ? 'SHORT' : 'pass '}  ${what}: ${cases.length - bad.length} of ${cases.length}` +
        (bad.length ? `; not ${bad.map(r => `${where(r)} (${short.tell(r)})`).join(', ')}` : ''));
}

console.log();
verdict(`stall ratio at most ${percent(CEILING, 0)} of the carried sessions, or at most mpc's of all`, rows, {
    when: r => !(r.stall_ratio_carried <= CEILING) && !(r.stall_ratio <= r.mpc_stall_ratio),
    tell: r => `${percent(r.stall_ratio_carried, 2)}, all ${percent(r.stall_ratio, 2)}, mpc ${percent(r.mpc_stall_ratio, 2)}`,
});
verdict(`QoE at most ${percent(QOE_LOSS, 0)} below the best rule of all`, rows, {
    when: r => r.qoe < r.best_qoe - QOE_LOSS * Math.abs(r.best_qoe), tell: r => `${r.best} ${r.best_qoe.toFixed(2)}, has ${r.qoe.toFixed(2)}`,
});
verdict(`first picture, news and documentary on slow links: ${START_MEDIAN_S} s, ${START_P90_S} s, or the lowest level's own`,
    rows.filter(r => ['news', 'documentary'].includes(r.profile) && ['3g', 'puffer', 'sabre'].includes(r.set)), {
        when: r => r.start_s.median > Math.max(START_MEDIAN_S, r.lowest_start_s.median + 0.05) ||
            r.start_s.p90 > Math.max(START_P90_S, r.lowest_start_s.p90 + 0.05),
        tell: r => `${pair(r.start_s)}; lowest ${pair(r.lowest_start_s)}`,
    });
verdict(`QoE over the best of rate, buffer, bola, mpc: at least ${signed(GAIN)} % on 3g and puffer`,
    rows.filter(r => ['3g', 'puffer'].includes(r.set)), {
        when: r => r.plain.mean < GAIN, tell: r => gained(r.plain),
    });
verdict('  and nowhere below 0', rows, { when: r => r.plain.mean < 0, tell: r => gained(r.plain) });
const paperRows = all.filter(({ cell }) => papers.includes(cell.profile)).map(({ cell, found: f }) => {
    const own = f[policy].qoe, d = gain(own, own.map(() => 1));
    return { set: cell.set, video: cell.title, profile: cell.profile, qoe: mean(own), hi: mean(own) + d.hi - d.mean };
});
if (part === 'test') verdict("papers' profiles on 3g not below the policy before by more than the interval", paperRows, {
    when: r => r.hi < PAPERS_BEFORE[r.profile], tell: r => `${r.qoe.toFixed(3)}, before ${PAPERS_BEFORE[r.profile]}`,
});
if (paperRows.length)
    console.log(`       papers' profiles on 3g, their own units: ${paperRows.map(r => `${r.profile} ${r.qoe.toFixed(3)}`).join(', ')}`);
for (const why of skipped) console.log(`  skipped: ${why}`);
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, JSON.stringify({ policy, sha256: policyHash(policy), part, looks, rows, papers: paperRows, verdicts }, null, 1) + '\n');
console.log(`figures in ${out}`);

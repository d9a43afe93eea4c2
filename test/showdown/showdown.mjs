// showdown.mjs - abrd against what players choose by themselves, in a real browser over the same
// links, one run after another in real time. `make showdown [TRACES=8] [TRIES=3] [OUT=build/showdown]
// [ONLY='abrd live,Shaka']`: some of who plays. [PART=1/2]: every second link, for two side by side with
// an OUT each; their runs.jsonl, put together, are those of one.
//
// Every finished run is a line of OUT/runs.jsonl; begun again it goes on where it stopped. A run
// that lacked CPU is repeated, at most TRIES times in all; then the least starved one counts and is
// marked. OUT/showdown.html and OUT/showdown.csv are written after every run.
import fs from 'node:fs';
import path from 'node:path';

import { Daemon } from '../web/daemon.mjs';
import { launch } from '../web/stage.mjs';
import { PLAYERS, contest } from './contest.mjs';
import { csv, page } from './report.mjs';
import { scored, table } from './score.mjs';

// all kinds of links; those of a kind whose mean lies within the ladder, where there is a choice
const TRACES = ['3g-commute-03', 'broadband-01', 'lte-02', 'outage-00', 'wifi-02', 'volatile-low', 'high-4g-02',
    '3g-commute-01', 'lte-03', 'outage-01', 'wifi-01', 'broadband-02', '3g-commute-05', 'outage-04', 'lte-05', 'wifi-06'];
const PROFILES = ['paper-documentary', 'paper-live', 'paper-news'];

const number = (name, fallback, most) => {
    const text = process.env[name] || String(fallback), n = Number(text);
    if (Number.isInteger(n) && n >= 1 && n <= most) return n;
    console.error(`showdown: ${name}=${text}: a whole number from 1 to ${most} is wanted`);
    process.exit(2);
};
const [part, parts] = (process.env.PART || '1/1').split('/').map(Number);
if (!(part >= 1 && part <= parts)) {
    console.error(`showdown: PART=${process.env.PART}: wanted is one part of several, as 1/2`);
    process.exit(2);
}
const traces = TRACES.slice(0, number('TRACES', 8, TRACES.length)).filter((_, i) => i % parts === part - 1);
const tries = number('TRIES', 3, 10);

/** Who plays: a player of abrd's by profile, others once for all profiles. */
const everybody = Object.entries(PLAYERS).flatMap(([player, { ours }]) =>
    (ours ? PROFILES : [null]).map(profile => ({ name: profile ? `${player} ${profile}` : player, player, profile })));
const names = everybody.map(x => x.name), only = (process.env.ONLY || names.join()).split(',').map(x => x.trim());
for (const x of only.filter(x => !names.includes(x))) {
    console.error(`showdown: ONLY: '${x}' is none of ${names.join(', ')}`);
    process.exit(2);
}
const playing = everybody.filter(x => only.includes(x.name)).map(({ player, profile }) => ({ player, profile }));
const out = process.env.OUT || 'build/showdown';
const log = path.join(out, 'runs.jsonl');
fs.mkdirSync(out, { recursive: true });

/** Who plays on a trace: the order turns from trace to trace. */
function schedule(trace, i) {
    const all = playing.map(x => ({ trace, ...x }));
    const turn = i * 3 % all.length;
    return [...all.slice(turn), ...all.slice(0, turn)];
}

const same = (a, b) => ['trace', 'player', 'profile'].every(k => a[k] === b[k]);
const runs = fs.existsSync(log) ?
    fs.readFileSync(log, 'utf8').split('\n').filter(Boolean).map(line => JSON.parse(line)) : [];

/** The run that counts: the first that did not starve, else the one that starved least. */
function counts(what) {
    const own = runs.filter(r => same(r, what));
    return own.find(r => !r.starved) ??
        own.sort((a, b) => a.cpu.excess_s - b.cpu.excess_s)[0];
}

const todo = traces.flatMap(schedule);

function report(profiles) {
    const rows = scored(todo.map(counts).filter(Boolean), profiles);
    const tables = PROFILES.map(profile => ({ profile, qoe: profiles[profile], ...table(rows, profile) }));
    fs.writeFileSync(path.join(out, 'showdown.csv'), csv(rows));
    fs.writeFileSync(path.join(out, 'showdown.html'), page(tables, rows, { done: todo.filter(counts).length, all: todo.length }));
    return tables;
}

const daemon = await new Daemon({ explore: 0 }).start();
const { profiles: known } = await daemon.get('/v1/profiles');
const profiles = Object.fromEntries(PROFILES.map(p => [p, known.find(k => k.name === p).qoe]));
let tables = report(profiles);
let stopped = false;
for (const signal of ['SIGINT', 'SIGTERM'])
    process.on(signal, () => { stopped = true; console.log('showdown: stops after this run'); });

try {
    for (const [i, what] of todo.entries()) {
        const name = `${what.trace} ${what.player}${what.profile ? ` (${what.profile})` : ''}`;
        let attempt = runs.filter(r => same(r, what)).length;
        while (!stopped && attempt < tries && (counts(what)?.starved ?? true)) {
            const browser = await launch(); // a fresh one, so that nothing of the last run is left
            try {
                const run = { ...await contest(browser, daemon, what), attempt: ++attempt, at: new Date().toISOString() };
                runs.push(run);
                fs.appendFileSync(log, `${JSON.stringify(run)}\n`);
                const { late_share: late, dropped_share: lost, busy_share: busy, excess_s: excess } = run.cpu;
                console.log(`${i + 1}/${todo.length} ${name}: ${run.took_s.toFixed(0)} s, stalls ` +
                    `${run.stalls.reduce((a, b) => a + b, 0).toFixed(1)} s, CPU ${(100 * busy).toFixed(0)} %, page late ` +
                    `${(100 * late).toFixed(1)} %, pictures lost ${(100 * lost).toFixed(1)} %, chunks late ${excess.toFixed(1)} s${run.starved ? ': starved' : ''}`);
            } catch (e) {
                attempt++;
                console.error(`${i + 1}/${todo.length} ${name}: failed: ${e.message.split('\n')[0]}`);
            } finally {
                await browser.close();
            }
            tables = report(profiles);
        }
        if (stopped) break;
    }
} finally {
    await daemon.stop();
}

for (const { profile, traces: on, rows } of tables) {
    console.log(`\n${profile}, ${on.length} traces`);
    for (const r of rows) {
        console.log(`  ${r.player.padEnd(19)} QoE ${r.qoe.toFixed(3).padStart(7)}  stalls ${r.stall_s.toFixed(2).padStart(6)} s  ` +
            `switches ${r.switches.toFixed(1).padStart(4)}  startup ${r.startup_s.toFixed(2)} s  ${r.kbps.toFixed(0)} kbit/s`);
    }
}
const left = todo.filter(w => !counts(w)).length;
console.log(`\n${path.join(out, 'showdown.html')}, ${path.join(out, 'showdown.csv')}${left ? `; ${left} runs are missing` : ''}`);
process.exit(left ? 1 : 0);

// players.mjs - abrd and the players' own rules over the same links, on a virtual clock: unmodified dash.js,
// hls.js and Shaka, a real daemon. `make players`, with
//
//   TRACES=DIR        folder of traces (default: the bundled ones)
//   TAKE=N            only every so many, N in all; 0: all
//   PROFILE=A,B       profiles of the viewers (default standard), or all; the players' own rules know none
//   VIDEO=DIR         folder with video_size_0, ... of Pensieve's ladder (default: Envivio below SHARED, else the
//                     one of the golden tests)
//   ONLY=A;B          rules' names, or beginnings of them
//   OURS=NAME         the others are compared with this rule (default: abrd in dash.js)
//   JOBS=N            processes (default: one per processor)
//   OUT=build/players players.csv and runs.jsonl
//   PART=test         the traces are a test set: the look is counted in test/score/looks.tsv
//
// Begun again with the same OUT it starts anew. Intervals are paired by trace (95 %, bootstrap).
import { fork } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { PROFILES } from '../../web/lib/qoe.js';
import { Daemon } from '../web/daemon.mjs';
import { readTrace } from './link.mjs';
import { HEIGHTS, readVideo } from './media.mjs';
import { RULES } from './rules.mjs';
import { figures, table } from './score.mjs';
import { play } from './session.mjs';

const { env } = process, HERE = path.dirname(fileURLToPath(import.meta.url));
const shared = env.SHARED || '../shared', envivio = path.join(shared, 'video/envivio-dash3');
const folder = env.TRACES || 'traces', out = env.OUT || 'build/players';
// of virtual time: a player that has given up by then is unfinished
const LIMIT_S = 600;
const fail = text => { console.error(`players: ${text}`); process.exit(2); };

function videoOf() {
    const from = env.VIDEO || (existsSync(envivio) ? envivio : path.join(HERE, '../golden/video'));
    return { ...readVideo(from, { chunks: 48 }), heights: HEIGHTS };
}

/** One rule with one profile on all traces, in their order; abrd with a daemon of its own. */
async function playAll({ rule, profile, traces }, report) {
    const { kind, own, abrd } = RULES[rule], video = videoOf();
    const daemon = abrd && await new Daemon({ explore: 0, learn: 'off', 'open-rate': 0, 'address-rate': 0, 'session-rate': 0 }, { stored: false }).start();
    try {
        for (const name of traces) {
            const run = await play({ kind, own, trace: readTrace(path.join(folder, name)), video,
                abrd: abrd && { profile, ...abrd }, daemon: daemon?.url, limitS: LIMIT_S });
            // without it the player's own rules would have played
            if (daemon && (daemon.process.exitCode ?? daemon.process.signalCode) !== null)
                throw new Error(`abrd serve has ended (${daemon.process.signalCode ?? daemon.process.exitCode}):\n${daemon.log}`);
            const said = [...run.said, ...run.errors.map(e => e?.stack ?? String(e))];
            report({ rule, profile, trace: name, ...figures(run, video, Object.fromEntries(PROFILES)),
                by_abrd: run.seen.filter(e => e.event === 'request' && e.by === 'abrd').length,
                ...(said.length && { said: said.slice(0, 5) }) });
        }
    } finally {
        await daemon?.stop();
    }
}

if (process.send) {
    process.on('message', async job => {
        try {
            await playAll(job, row => process.send({ row }));
            process.send({ done: true });
        } catch (e) {
            console.error(e);
            process.exit(1);
        }
    });
} else {
    const profiles = env.PROFILE === 'all' ? [...PROFILES.keys()] : (env.PROFILE || 'standard').split(',');
    for (const p of profiles) if (!PROFILES.has(p)) fail(`PROFILE: '${p}' is none of all, ${[...PROFILES.keys()].join(', ')}`);
    if (!existsSync(folder)) fail(`TRACES: there is no folder ${folder}`);
    let traces = readdirSync(folder).filter(f => !f.endsWith('.md')).sort();
    const take = Number(env.TAKE || 0);
    if (!(take >= 0)) fail(`TAKE: '${env.TAKE}' is no number of traces`);
    if (!traces.length) fail(`TRACES: there is no trace in ${folder}`);
    try { traces.forEach(name => readTrace(path.join(folder, name))); } catch (e) { fail(`TRACES: ${e.message}`); }
    if (take && take < traces.length) traces = Array.from({ length: take }, (_, i) => traces[Math.floor(i * traces.length / take)]);
    const only = (env.ONLY || '').split(';').filter(Boolean);
    const names = Object.keys(RULES).filter(n => !only.length || only.some(o => (o in RULES ? n === o : n.startsWith(o))));
    if (!names.length) fail(`ONLY: no rule begins with '${env.ONLY}'; the rules are ${Object.keys(RULES).join('; ')}`);
    const ours = env.OURS || (names.includes('abrd in dash.js') ? 'abrd in dash.js' : names[0]);
    if (!names.includes(ours)) fail(`OURS: '${ours}' does not play; these do: ${names.join('; ')}`);
    // the players' own rules know no profile: they play once for all
    const jobs = names.flatMap(rule => (RULES[rule].abrd ? profiles : [null]).map(profile => ({ rule, profile, traces })));
    mkdirSync(out, { recursive: true });

    if (env.PART === 'test') {
        const { look } = await import('../score/grid.mjs');
        console.log(`look ${look('test', 'players', 'moe')} at a test set`);
    }
    const rows = [], pending = [...jobs], log = path.join(out, 'runs.jsonl');
    writeFileSync(log, '');
    const began = Date.now(), total = jobs.length * traces.length;
    console.log(`${names.length} rules, ${profiles.join(', ')}, ${traces.length} traces of ${folder}: ${total} sessions`);
    // on a terminal one line that is written over, else one every tenth
    const told = () => {
        const text = `${rows.length} of ${total} sessions, ${((Date.now() - began) / 1000).toFixed(0)} s`;
        if (process.stderr.isTTY) process.stderr.write(`\r${text} ${rows.length === total ? '\n' : ''}`);
        else if (Math.floor(10 * rows.length / total) > Math.floor(10 * (rows.length - 1) / total)) console.error(text);
    };
    await Promise.all(Array.from({ length: Math.min(Number(env.JOBS) || os.cpus().length, jobs.length) }, () => new Promise((done, failed) => {
        const worker = fork(fileURLToPath(import.meta.url));
        const next = () => {
            const job = pending.shift();
            if (job) worker.send(job); else { worker.disconnect(); done(); }
        };
        worker.on('message', ({ row, done: over }) => {
            if (row) {
                rows.push(row);
                told();
                appendFileSync(log, `${JSON.stringify(row)}\n`);
            }
            if (over) next();
        });
        worker.on('exit', code => { if (code) failed(new Error(`a process has ended with ${code}; its error is above`)); });
        next();
    }))).catch(e => fail(e.message));

    const order = jobs.map(j => `${j.rule}\n${j.profile}`);
    rows.sort((a, b) => order.indexOf(`${a.rule}\n${a.profile}`) - order.indexOf(`${b.rule}\n${b.profile}`) || (a.trace < b.trace ? -1 : 1));
    writeFileSync(log, rows.map(r => `${JSON.stringify(r)}\n`).join(''));
    const csv = ['profile,rule,qoe,behind,low,high,kbps,stall_s,switches,startup_s,requests,mbytes,wasted_mbytes,unfinished'];
    for (const profile of profiles) {
        const { traces: on, lines } = table(rows.filter(r => r.profile === null || r.profile === profile), profile, ours);
        console.log(`\n${profile}, ${on.length} traces; ${ours} minus the rule, 95 %; median of the first picture`);
        console.log('                                          QoE   difference                kbit/s  stall s  switches  first s  requests    MB  wasted');
        for (const l of [...lines].sort((a, b) => b.qoe - a.qoe)) {
            const f = (x, n, w) => (Number.isFinite(x) ? x.toFixed(n) : '-').padStart(w);
            const difference = l.rule === ours ? ''.padStart(24) : `${f(l.behind.mean, 3, 7)}  ${f(l.behind.low, 3, 7)}..${f(l.behind.high, 3, 6)}`;
            console.log(`  ${l.rule.padEnd(36)}${f(l.qoe, 3, 8)}  ${difference}${f(l.kbps, 0, 8)}${f(l.stall_s, 2, 9)}${f(l.switches, 1, 10)}${
                f(l.startup_s, 2, 9)}${f(l.requests, 1, 10)}${f(l.mbytes, 1, 6)}${f(l.wasted_mbytes, 2, 8)}${l.unfinished ? `  ${l.unfinished} unfinished` : ''}`);
            csv.push([profile, l.rule, l.qoe, l.behind.mean, l.behind.low, l.behind.high, l.kbps, l.stall_s, l.switches, l.startup_s,
                l.requests, l.mbytes, l.wasted_mbytes, l.unfinished].map(v => (typeof v === 'number' ? Number(v.toPrecision(7)) : v.replaceAll(',', ' '))).join());
        }
    }
    writeFileSync(path.join(out, 'players.csv'), `${csv.join('\n')}\n`);
    const said = rows.filter(r => r.said);
    for (const r of said.slice(0, 5)) console.log(`\n${r.rule}, ${r.trace}: ${r.said[0]}`);
    console.log(`\n${rows.length} sessions in ${((Date.now() - began) / 1000).toFixed(0)} s; ${path.join(out, 'players.csv')}, ${log}${said.length ? `; ${said.length} sessions with complaints` : ''}`);
}

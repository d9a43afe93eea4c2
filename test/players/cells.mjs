// cells.mjs - cells of the map of test/score/regimes.mjs in real players on a virtual clock: abrd in dash.js, and the
// players' own rules as rivals, on the same links, with the video, the buffer and the viewer of the cell.
//
// All players get the buffer of the cell.
import { execFileSync, fork } from 'node:child_process';
import os from 'node:os';
import { fileURLToPath } from 'node:url';

import { chunkQoe, qoeOf } from '../../web/lib/qoe.js';
import { Daemon } from '../web/daemon.mjs';
import { RULES, withBuffer } from './rules.mjs';
import { mean, sum } from './score.mjs';
import { play } from './session.mjs';

/** The players' own rules, without fast switch; and what they are compared with. */
export const PLAYERS = [...['dynamic', 'BOLA', 'throughput', 'L2A', 'LoL+'].map(rule => `dash.js ${rule}, no fast switch`), 'hls.js', 'Shaka'];
export const OURS = 'abrd in dash.js';

/** Cells of grid.c with what they are made of: video and links (`grid show`). */
export function cellsOf(cells) {
    const text = execFileSync(process.env.GRID ?? 'build/release/grid', ['show'], { encoding: 'utf8', maxBuffer: 2 ** 30,
        input: cells.map(cell => `${JSON.stringify(cell)}\n`).join('') });
    return text.trim().split('\n').map((line, i) => ({ ...cells[i], ...JSON.parse(line) }));
}

/** QoE of a chunk, the first one and its wait included, as `grid` counts it. */
export function cellQoe(qoe, { shown, stalls, startupS }, { kbps, points, chunk_s: chunkS }) {
    const seen = shown.flatMap((l, i) => (l < 0 ? [] : [{ kbps: kbps[l], points: points[i][l] }]));
    const chunks = seen.map((now, i) => chunkQoe(qoe, now, seen[i - 1] ?? null, { chunkS, lowest: kbps[0], waitS: i ? 0 : startupS }).reward);
    return (sum(chunks) - qoe.stall * sum(stalls)) / chunks.length;
}

/** The sessions of a cell with one rule, as arrays of figures (grid.c). */
async function playCell(cell, rule, daemon) {
    const { kind, own, abrd } = RULES[rule], { kbps, bytes, points, chunk_s, buffer_s, traces } = cell, length = bytes.length * chunk_s;
    const viewer = cell.profile ?? (cell.weights ? { weights: cell.weights } : { mu: cell.mu }), qoe = qoeOf(viewer);
    const found = { qoe: [], stall: [], start: [], quality: [], switches: [], unfinished: 0, played: length };
    for (const trace of traces) {
        const run = await play({ kind, trace, video: { kbps, sizes: bytes, chunkS: chunk_s }, limitS: 4 * length + 600, daemon: daemon?.url,
            own: withBuffer(kind, own, buffer_s),
            abrd: abrd && { ...abrd, profile: viewer, bufferS: buffer_s, quality: chunk => points[chunk] } });
        const shown = run.shown.filter(l => l >= 0);
        if (!run.ended || !shown.length) found.unfinished++;
        // what was not shown by the end of the limit is a stall
        const missing = run.ended ? 0 : run.wallS - length;
        found.qoe.push(shown.length ? cellQoe(qoe, { ...run, stalls: [...run.stalls, ...missing > 0 ? [missing] : []] }, cell) : -qoe.stall * run.wallS);
        found.stall.push(sum(run.stalls) + Math.max(missing, 0));
        found.start.push(run.startupS);
        found.quality.push(shown.length ? mean(run.shown.flatMap((l, i) => (l < 0 ? [] : [points[i][l]]))) : 0);
        found.switches.push(shown.filter((l, i) => i && l !== shown[i - 1]).length);
    }
    return found;
}

/**
 * Plays all cells, several at a time. told(share) is called after each rule of a cell.
 * @param {string|null} policy file of the weights; null: the shipped ones
 * @returns {Promise<object[]>} for each cell an object of figures by rule
 */
export async function playCells(cells, { policy = null, told = () => {}, jobs = os.cpus().length } = {}) {
    const found = cells.map(() => ({})), rules = [OURS, ...PLAYERS];
    const pending = cells.flatMap((_, i) => rules.map(rule => ({ i, rule })));
    let over = 0;
    await Promise.all(Array.from({ length: jobs }, () => new Promise((done, failed) => {
        const worker = fork(fileURLToPath(import.meta.url), [], { env: { ...process.env, POLICY_FILE: policy ?? '' } });
        let job;
        const next = () => {
            job = pending.shift();
            if (job) worker.send({ cell: cells[job.i], rule: job.rule }); else worker.send({ over: true });
        };
        worker.on('message', figures => {
            found[job.i][job.rule] = figures;
            told(++over / (cells.length * rules.length));
            next();
        });
        worker.on('exit', code => { if (code) failed(new Error(`a process of players has ended with ${code}`)); else done(); });
        next();
    })));
    return found;
}

if (process.send && process.argv[1] === fileURLToPath(import.meta.url)) {
    let daemon = null;
    process.on('message', async ({ cell, rule, over }) => {
        try {
            if (over) {
                await daemon?.stop();
                return process.disconnect();
            }
            if (RULES[rule].abrd) {
                daemon ??= await new Daemon({ explore: 0, learn: 'off', 'open-rate': 0, 'address-rate': 0, 'session-rate': 0,
                    ...(process.env.POLICY_FILE && { policy: process.env.POLICY_FILE }) }, { stored: false }).start();
            }
            process.send(await playCell(cell, rule, daemon));
        } catch (e) {
            console.error(e);
            await daemon?.stop();
            process.exit(1);
        }
    });
}

/**
 * view.js - shows the state, tiles, chunks and probabilities on the page.
 *
 * @module demo/view
 */
import { $ } from '../page.js';

function element(tag, className, text) {
    const e = document.createElement(tag);
    if (className) e.className = className;
    if (text !== undefined) e.textContent = text;
    return e;
}

/** The style class with the colour of an expert. */
export const expertClass = k => k >= 0 && k < 4 ? `e${k}` : 'ex';

/** Who made a decision, in words. */
const byExpert = a => a.by === 'merge' ? 'merged experts' :
    a.expert >= 0 ? `expert ${a.expert}` : 'fallback: the lowest level';

export function showWho(state, recording, running) {
    const { mode, reason } = state;
    const last = recording.chunks.at(-1), { session } = recording;
    $('who').dataset.mode = mode;
    if (mode === 'abrd') {
        const a = last?.answer;
        $('who-text').textContent = 'abrd decides';
        $('who-why').textContent = [
            session && `viewer: ${session.profile}${session.hinted ? '' : ' (assumed)'}`,
            a && byExpert(a), a && `policy version ${a.policy}`,
            session?.explores && 'explores',
            a?.latency_s !== undefined && `answered in ${Math.max(1, Math.round(a.latency_s * 1000))} ms`,
        ].filter(Boolean).join(' · ');
    } else if (mode === 'player') {
        $('who-text').textContent = 'the player\u2019s own rules';
        $('who-why').textContent = reason;
    } else if (mode === 'over') {
        const { n, followed } = recording.totals();
        $('who-text').textContent = 'played to the end';
        $('who-why').textContent = `${followed} of ${n} chunks were decided by abrd`;
    } else {
        $('who-text').textContent = running ? 'loading' : recording.chunks.length ? 'stopped' : 'ready';
        $('who-why').textContent = reason || (running ? 'the manifest' : 'press Start');
    }
}

function tile(id, value, unit) {
    $(id).replaceChildren(value, ...(unit ? [element('i', '', unit)] : []));
}

/** @param {object|null} [shown] the chunk on the screen; absent: as it was */
export function showTiles(recording, shown) {
    const t = recording.totals(), { start } = recording, or = (v, digits) => (v === null ? '–' : v.toFixed(digits));
    tile('tile-startup', start.to === null ? '–' : (start.to - start.from).toFixed(1), start.to === null ? '' : 's');
    tile('tile-stall', t.stall_ratio === null ? '–' : (100 * t.stall_ratio).toFixed(1),
        t.stall_ratio === null ? '' : `% (${t.stall_s.toFixed(1)} s)`);
    tile('tile-quality', or(t.points, 0), t.points === null ? '' : 'of 100 points');
    tile('tile-switches', or(t.switches_a_minute, 1), t.n ? `a minute (${t.switches})` : '');
    if (shown !== undefined || !t.n) {
        const top = recording.ladder.length - 1;
        tile('tile-level', shown ? (shown.kbps / 1000).toFixed(2) : '–',
            shown ? `Mbit/s, level ${shown.level + 1} of ${top + 1}` : '');
    }
    tile('tile-followed', t.n ? String(t.followed) : '–', t.n ? `of ${t.n} chunks` : '');
}

/** What the viewer waits for; null: nothing. left_s NaN: not known yet. */
export function showWait(wait) {
    $('wait').hidden = !wait;
    if (!wait) return;
    const { waited_s, left_s, first } = wait;
    $('wait').replaceChildren(
        element('strong', '', isNaN(left_s) ? `${waited_s.toFixed(1)} s` : `${Math.max(left_s, 0).toFixed(1)} s`),
        element('span', '', !first ? 'stalled' : isNaN(left_s) ? 'waiting for the first picture' :
            `until the first picture, after ${waited_s.toFixed(1)} s`));
}

export function showStrip(recording) {
    const { chunks, session, ladder } = recording;
    const top = ladder.at(-1) ?? Math.max(...chunks.map(c => c.kbps));
    const experts = new Set();
    const cells = chunks.map(c => {
        const a = c.answer, cell = element('li');
        if (c.by === 'player') cell.classList.add('player');
        else {
            cell.classList.add(expertClass(a.expert));
            if (a.expert >= 0) experts.add(a.expert);
            if (a.mode === 'sample') cell.classList.add('sampled');
        }
        if (c.arrived_s === null) cell.classList.add('loading');
        cell.style.height = `${10 + 90 * c.kbps / top}%`;
        cell.title = `chunk ${c.chunk}: ${c.kbps} kbps` + (c.by === 'player' ?
            ', by the player\u2019s own rules' : `, by ${byExpert(a)}`) +
            (c.points === undefined || c.points === null ? '' : `, ${c.points.toFixed(0)} points`);
        return cell;
    });
    for (let i = chunks.length; i < Math.min(session?.chunks || 30, 200); i++)
        cells.push(element('li', 'todo'));
    $('strip').replaceChildren(...cells);

    const key = [...experts].sort().flatMap(k => [element('i', expertClass(k)), `expert ${k}`]);
    if (chunks.some(c => c.by === 'abrd' && c.answer.mode === 'sample'))
        key.push(element('i', 'dot'), 'sampled, to explore');
    if (chunks.some(c => c.by === 'player')) key.push(element('i', 'player'), 'player\u2019s own rules');
    $('strip-key').replaceChildren(...key);
}

export function showDecision(answer, recording) {
    if (!answer) {
        $('decision-what').textContent = '';
        $('probabilities').replaceChildren(element('li', 'none', 'none yet'));
        return;
    }
    $('decision-what').textContent = `chunk ${answer.chunk}, ${byExpert(answer)}` +
        ({ sample: ', sampled (explores)', greedy: ', the best action', merge: ', the best action' }[answer.mode] ?? '');
    const rows = answer.probabilities.map((p, i) => {
        const row = element('li', i === answer.level ? 'chosen' : ''), bar = element('span', 'bar');
        const fill = element('b');
        fill.style.width = `${(100 * p).toFixed(1)}%`;
        bar.append(fill);
        row.append(element('span', '', `${Math.round(recording.ladder[i] ?? 0)} kbps`), bar,
            element('span', '', `${(100 * p).toFixed(p < 0.1 ? 1 : 0)} %`));
        return row;
    });
    $('probabilities').replaceChildren(...rows.reverse());
}

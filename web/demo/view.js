/**
 * view.js - shows state, tiles, chunks and probabilities on the page.
 *
 * Elements of the player by its own rules have the prefix "own-".
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

const of = (side, id) => $(side === 'own' ? `own-${id}` : id);

/** Writes only what has changed. */
function text(e, value) {
    if (e.textContent !== value) e.textContent = value;
}

/** The style class with the colour of an expert. */
export const expertClass = k => k >= 0 && k < 4 ? `e${k}` : 'ex';

/** Who made a decision, in words. */
const byExpert = a => a.by === 'merge' ? 'merged experts' :
    a.expert >= 0 ? `expert ${a.expert}` : 'fallback: the lowest level';

/** The line above the right picture. */
export function showWho(state, recording, running, name) {
    const { mode, reason } = state;
    const last = recording.chunks.at(-1), { session } = recording;
    $('who').dataset.mode = mode;
    if (mode === 'abrd') {
        const a = last?.answer;
        text($('who-text'), 'abrd decides');
        text($('who-why'), [
            session && `in ${name}`,
            session && `viewer ${session.profile}${session.hinted ? '' : ' (assumed)'}`,
            a && byExpert(a),
            session?.explores && 'explores',
            a?.latency_s !== undefined && `answered in ${Math.max(1, Math.round(a.latency_s * 1000))} ms`,
        ].filter(Boolean).join(' · '));
    } else if (mode === 'player') {
        text($('who-text'), 'the player\u2019s own rules');
        text($('who-why'), reason);
    } else if (mode === 'over') {
        const { n, followed } = recording.totals();
        text($('who-text'), 'abrd: played to the end');
        text($('who-why'), `${followed} of ${n} chunks were decided by abrd`);
    } else {
        text($('who-text'), running ? 'abrd: loading' : recording.chunks.length ? 'stopped' : 'ready');
        text($('who-why'), reason || (running ? 'the manifest' : 'press Start'));
    }
}

/** The line above the left picture. */
export function showOwn(name, why, mode) {
    $('own-who').dataset.mode = mode;
    text($('own-who-text'), name);
    text($('own-who-why'), why);
}

function tile(e, value, unit) {
    const key = `${value} ${unit ?? ''}`;
    if (e.dataset.shown === key) return;
    e.dataset.shown = key;
    e.replaceChildren(value, ...(unit ? [element('i', '', unit)] : []));
}

const NONE = '–';

/** @param {object|null} [shown] the chunk on the screen; absent: as it was */
export function showTiles(side, recording, shown) {
    const seen = recording.seen(), at = id => of(side, `tile-${id}`);
    const { startup_s: startup, points, stalls, stall_s: stall, switches_a_minute: switches } = seen;
    tile(at('startup'), startup === null ? NONE : startup.toFixed(1), startup === null ? '' : 's');
    tile(at('stall'), startup === null ? NONE : stall.toFixed(1), startup === null ? '' : `s (${stalls})`);
    at('stall').classList.toggle('bad', stalls > 0);
    tile(at('quality'), points === null ? NONE : points.toFixed(0), points === null ? '' : 'of 100 points');
    tile(at('switches'), switches === null ? NONE : switches.toFixed(1), switches === null ? '' : `a minute (${seen.switches})`);
    if (shown !== undefined || !recording.chunks.length) {
        const badge = of(side, 'badge'), level = shown ?
            `${(shown.kbps / 1000).toFixed(2)} Mbit/s, level ${shown.level + 1} of ${recording.ladder.length}` : '';
        badge.hidden = !shown;
        text(badge, level);
        if (side !== 'own') text($('tile-level'), level || NONE);
    }
    if (side === 'own') return;
    const { n, followed } = recording.totals();
    text($('tile-followed'), n ? `${followed} of ${n} chunks` : NONE);
}

/** What the viewer waits for; null: nothing. left_s NaN: not known yet. */
export function showWait(side, wait) {
    const e = of(side, 'wait');
    e.hidden = !wait;
    if (!wait) return;
    const { waited_s, left_s, first } = wait;
    e.dataset.kind = first ? 'start' : 'stall';
    e.replaceChildren(
        element('strong', '', isNaN(left_s) ? `${waited_s.toFixed(1)} s` : `${Math.max(left_s, 0).toFixed(1)} s`),
        element('span', '', !first ? 'stalled' : isNaN(left_s) ? 'waiting for the first picture' :
            `until the first picture, after ${waited_s.toFixed(1)} s`));
}

/** @param {import('./verdict.js').verdict} v */
export function showVerdict({ winner, lead, text: words }, over) {
    $('verdict').dataset.winner = winner ?? '';
    text($('verdict-lead'), lead && !over ? `So far: ${lead}` : lead);
    text($('verdict-text'), words);
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
        cell.title = `chunk ${c.chunk}: ${c.kbps} kbit/s` + (c.by === 'player' ?
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
        $('probabilities').replaceChildren(element('li', 'none', 'The chance of each bitrate appears here.'));
        return;
    }
    $('decision-what').textContent = `chunk ${answer.chunk}, ${byExpert(answer)}` +
        ({ sample: ', sampled (explores)', greedy: ', the best action', merge: ', the best action' }[answer.mode] ?? '');
    const rows = answer.probabilities.map((p, i) => {
        const row = element('li', i === answer.level ? 'chosen' : ''), bar = element('span', 'bar');
        const fill = element('b');
        fill.style.width = `${(100 * p).toFixed(1)}%`;
        bar.append(fill);
        row.append(element('span', '', `${Math.round(recording.ladder[i] ?? 0)} kbit/s`), bar,
            element('span', '', `${(100 * p).toFixed(p < 0.1 ? 1 : 0)} %`));
        return row;
    });
    $('probabilities').replaceChildren(...rows.reverse());
}

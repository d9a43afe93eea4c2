/**
 * main.js - the page of the trial: reads GET /v1/trial every 5 s while it is visible, and sends orders.
 *
 * The daemon's token is typed, or in the fragment of the page's address, #token=TOKEN, which no server
 * receives.
 *
 * @module trial/main
 */
import { $, reachable } from '../page.js';
import { el, number, svg, text } from '../dashboard/dom.js';

const EVERY_MS = 5000;

/** Title, digits and factor of each figure. */
const FIGURES = {
    startup: ['Start-up', 2, 1, 's'], stall_ratio: ['Stalled', 2, 100, '% of the time'],
    quality: ['Quality', 1, 1, 'points'], switches: ['Switches', 2, 1, 'per minute'],
    qoe: ['QoE', 2, 1, 'per chunk'], watched: ['Watch time', 0, 1, 's'],
};
const shownAs = ({ figure, unit }) => FIGURES[figure] ?? [figure.replaceAll('_', ' '), 2, 1, unit];

/** better, worse or open: what the interval says. */
function verdict({ lo, hi, lower_is_better: lower }) {
    if (lo > 0 || hi < 0) return (lo > 0) === lower ? 'worse' : 'better';
    return 'open';
}

const sessions = n => `${number(n)} ${n === 1 ? 'session' : 'sessions'}`;

/* ----- what the trial is ----- */

function showState(r) {
    const words = { runs: 'runs', promoted: 'an arm is promoted: it decides for all', ended: 'has ended' };
    text($('h-state'), `Trial ${r.name}`);
    text($('phase'), `It ${words[r.phase] ?? r.phase}. It began on ${new Date(r.started_at * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC.`
        .replace('It an arm', 'An arm') + (r.nodes > 1 ? ` Sessions of ${r.nodes} nodes.` : ''));
    const alerts = r.arms.filter(a => a.stopped_by).map(a =>
        `A guard rail stopped ${a.name}: ${a.stopped_by.replaceAll('_', ' ')} is surely worse than the control's.`);
    if (r.shares_mismatch) alerts.push('The arms\' shares did not come out as planned: something loses sessions of one arm.');
    $('alerts').replaceChildren(...alerts.map(a => el('li', { class: 'alert' }, a)));
}

/* ----- the flow ----- */

const box = (kind, label, n) => el('p', { class: `box ${kind}` }, `${label} `, el('b', {}, number(n)));

function showFlow({ arms }) {
    $('assigned').replaceChildren('Assigned ', el('b', {}, number(arms.reduce((n, a) => n + a.assigned, 0))));
    $('flow-arms').replaceChildren(...arms.map(a => el('div', { class: 'arm', 'data-arm': a.name },
        el('p', { class: a.stopped_by ? 'box stopped' : 'box' }, el('b', {}, a.name), el('br'), `${a.decides}${a.profile ? ` @${a.profile}` : ''}, ${number(a.share * 100)} %`,
            el('br'), a.promoted ? 'promoted' : a.stopped_by ? `stopped: ${a.stopped_by.replaceAll('_', ' ')}` : a.control ? 'control' : 'arm'),
        box('', 'Assigned', a.assigned),
        el('p', { class: 'box out' }, 'Not analysed', ...[['again', a.again], ['fell back', a.fell_back], ['empty', a.empty],
            ['running', a.running]].flatMap(([label, n]) => [el('br'), `${label} `, el('b', {}, number(n))])),
        box('end', 'Analysed', a.analysed))));
}

/* ----- the differences ----- */

/** Arm minus control. Lint takes f.difference for a method of sets. */
const pointOf = f => Reflect.get(f, 'difference');

/** An interval on a scale that all arms of a figure share. */
function interval(f, most, name) {
    const mean = pointOf(f);
    const x = v => 50 + 48 * Math.max(-1, Math.min(1, v / most));
    const known = Number.isFinite(f.lo) && Number.isFinite(f.hi);
    return svg('svg', { viewBox: '0 0 100 22', preserveAspectRatio: 'none', class: known ? verdict(f) : 'open', role: 'img',
        'aria-label': `${name}: ${known ? verdict(f) : 'not known'}` },
        svg('line', { class: 'zero', x1: 50, x2: 50, y1: 0, y2: 22, 'vector-effect': 'non-scaling-stroke' }),
        ...(known ? [svg('line', { class: 'range', x1: x(f.lo), x2: x(f.hi), y1: 11, y2: 11, 'vector-effect': 'non-scaling-stroke' }),
            svg('rect', { class: 'mean', x: x(mean) - .4, width: .8, y: 5, height: 12 })] : []));
}

function words(f, digits, scale) {
    const mean = pointOf(f);
    if (!Number.isFinite(f.lo)) return 'not known yet';
    const signed = v => (v > 0 ? '+' : '') + number(v * scale, digits), v = verdict(f);
    const more = v !== 'open' ? `, ${v}` : f.needed > 0 && f.needed < 1e9 ? `, about ${sessions(Math.ceil(f.needed))} more` : ', open';
    return `${signed(mean)} (${signed(f.lo)} to ${signed(f.hi)})${more}`;
}

function showDifferences({ arms }) {
    const [control, ...others] = arms;
    text($('control-name'), control.name);
    $('figures').replaceChildren(...control.figures.map((of, i) => {
        const [title, digits, scale, unit] = shownAs(of), each = others.map(a => a.figures[i]);
        const most = Math.max(...each.flatMap(f => [f.lo, f.hi]).filter(Number.isFinite).map(Math.abs), 1e-9);
        return el('div', { 'data-figure': of.figure },
            el('h3', {}, title, el('small', {}, `${unit ? `${unit}, ` : ''}${control.name}: ${number(of.mean === null ? null : of.mean * scale, digits)}`)),
            el('div', { class: 'rows' }, ...others.flatMap((a, k) => [
                el('span', {}, a.name), interval(each[k], most, `${title} of ${a.name}`),
                el('span', { class: `text ${verdict(each[k])}` }, words(each[k], digits, scale))])));
    }));
}

/* ----- orders ----- */

async function order(path, body, question) {
    if (!confirm(question)) return;
    const token = $('token').value;
    text($('answer'), 'asking the daemon');
    try {
        const r = await fetch(`/v1/trial/${path}`, { method: 'POST', body: JSON.stringify(body),
            headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) } });
        const reply = await r.json();
        text($('answer'), r.ok ? 'done' : `refused: ${reply.detail ?? r.status}`);
        if (r.ok) show(reply);
    } catch {
        text($('answer'), 'the daemon does not answer');
    }
}

function showOrders(r) {
    const button = (label, enabled, fn) => {
        const b = el('button', { type: 'button', ...(!enabled && { disabled: '' }) }, label);
        b.addEventListener('click', fn);
        return b;
    };
    const acts = r.phase === 'runs' || r.phase === 'promoted';
    const key = JSON.stringify([r.phase, r.arms.map(a => [a.name, a.promoted, a.stopped_by])]);
    if ($('buttons').dataset.key === key) return; // keeps the focus
    $('buttons').dataset.key = key;
    $('buttons').replaceChildren(...r.arms.map(a => button(`Promote ${a.name}`, acts && !a.promoted,
        () => order('promote', { arm: a.name }, `Let ${a.name} decide for all sessions?`))),
    button('Roll back', acts, () => order('rollback', {}, 'End the trial, so that all sessions are decided as without it?')));
}

/* ----- the page ----- */

function show(r) {
    $('empty').hidden = !!r;
    for (const id of ['state', 'flow', 'differences', 'orders']) $(id).hidden = !r;
    if (!r) return;
    showState(r);
    showFlow(r);
    showDifferences(r);
    showOrders(r);
}

async function read() {
    if (document.hidden) return;
    try {
        const answer = await fetch('/v1/trial');
        if (answer.ok || answer.status === 404) {
            show(answer.ok ? await answer.json() : null);
            reachable(true, 'the daemon answers');
        } else {
            const { detail } = await answer.json();
            reachable(false, `the daemon answers ${answer.status}: ${detail}`);
        }
    } catch {
        reachable(false, 'the daemon does not answer');
    }
}

$('token').value = new URLSearchParams(location.hash.slice(1)).get('token') ?? '';
$('order').addEventListener('submit', e => e.preventDefault());
document.addEventListener('visibilitychange', read);
setInterval(read, EVERY_MS);
read();

/**
 * script.js - what a visitor does to the link and to the daemon, with its times, as text of an address.
 *
 *     cut@12.3,rate0.5@30,gone@50,back@57
 *
 * Times are seconds on the clock of the link. It does not use the page.
 *
 * @module demo/script
 *
 * @typedef {{at: number, kind: 'cut'|'rate'|'gone'|'back', rate?: number}} Action
 */

/** How long the link is cut [s]. */
export const CUT_S = 7;

const MOST = 24, FORM = /^(cut|gone|back|rate(\d+(?:\.\d+)?))@(\d+(?:\.\d+)?)$/;

const short = x => String(Math.round(x * 100) / 100);

/** @param {Action[]} actions */
export const write = actions => actions.map(a => `${a.kind}${a.kind === 'rate' ? short(a.rate) : ''}@${short(a.at)}`).join(',');

/** Leaves out what is malformed; in the order of the times. @returns {Action[]} */
export function read(text) {
    return (text ?? '').split(',').map(part => FORM.exec(part)).filter(Boolean).slice(0, MOST).map(([, word, rate, at]) =>
        rate === undefined ? { at: Number(at), kind: word } : { at: Number(at), kind: 'rate', rate: Number(rate) })
        .sort((a, b) => a.at - b.at);
}

/** The changes of the link (media.h) that follow from the actions. */
export function changes(actions) {
    const cuts = actions.filter(a => a.kind === 'cut').map(a => a.at), rates = actions.filter(a => a.kind === 'rate');
    const times = [...new Set([...cuts, ...cuts.map(t => t + CUT_S), ...rates.map(a => a.at)])].sort((a, b) => a - b);
    const factor = times.map(t => (cuts.some(c => c <= t && t < c + CUT_S) ? 0 :
        rates.findLast(a => a.at <= t)?.rate ?? 1));
    return { at_s: times, factor };
}

/** What the link's rate is multiplied by at `t`. */
export function factorAt(t, { at_s, factor }) {
    const i = at_s.findLastIndex(x => x <= t);
    return i < 0 ? 1 : factor[i];
}

/** Whether the daemon is away at `t`. */
export const isGone = (t, actions) => actions.findLast(a => a.at <= t && /gone|back/.test(a.kind))?.kind === 'gone';

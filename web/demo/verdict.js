/**
 * verdict.js - the comparison of two playbacks in a sentence. It does not use the page.
 *
 * @module demo/verdict
 *
 * @typedef {object} Seen what a viewer saw
 * @property {number|null} points mean quality on the screen, over what both have shown; null: nothing yet
 * @property {number} stalls
 * @property {number} stall_s
 * @property {number|null} startup_s null: no picture yet
 */

/** Smaller differences are none: of quality (a share), of stalls and of the first picture [s]. */
const SHARPER = 0.02, STALL_S = 0.5, START_S = 0.5;

const stalls = ({ stalls: n, stall_s: s }) => (n ? `${n} stall${n > 1 ? 's' : ''}, ${s.toFixed(1)} s` : 'no stall');

/** 1: a is better; -1: b is; 0: no difference. */
const compare = (a, b, least) => (Math.abs(a - b) <= least ? 0 : a < b ? 1 : -1);

/**
 * @param {string} name of the player by its own rules
 * @param {Seen} own
 * @param {Seen} abrd
 * @returns {{winner: 'abrd'|'own'|'even'|null, lead: string, text: string}}
 */
export function verdict(name, own, abrd) {
    if (own.startup_s === null && abrd.startup_s === null) return { winner: null, lead: '', text: 'Both wait for the first picture.' };
    const parts = { own: [], abrd: [] }, signs = [];
    if (own.points > 0 && abrd.points > 0) {
        const gain = abrd.points / own.points - 1, loss = own.points / abrd.points - 1;
        signs.push(gain > SHARPER ? 1 : loss > SHARPER ? -1 : 0);
        if (signs[0] > 0) parts.abrd.push(`${Math.round(100 * gain)} % sharper`);
        if (signs[0] < 0) parts.own.push(`${Math.round(100 * loss)} % sharper`);
    }
    signs.push(compare(abrd.stall_s, own.stall_s, STALL_S));
    for (const [side, seen] of [['own', own], ['abrd', abrd]])
        parts[side].push(seen.startup_s === null ? 'no picture yet' : stalls(seen));
    const start = compare(abrd.startup_s ?? Infinity, own.startup_s ?? Infinity, START_S);
    signs.push(start);
    if (start && own.startup_s !== null && abrd.startup_s !== null)
        parts[start > 0 ? 'abrd' : 'own'].push(`first picture ${Math.abs(own.startup_s - abrd.startup_s).toFixed(1)} s sooner`);
    const better = signs.some(s => s > 0), worse = signs.some(s => s < 0);
    const winner = better && worse ? 'even' : better ? 'abrd' : worse ? 'own' : 'even';
    return {
        winner,
        lead: winner === 'even' ? (better ? 'Each is better at something.' : 'No difference.') :
            `${winner === 'abrd' ? 'abrd' : name} is better.`,
        text: `abrd: ${parts.abrd.join(', ')}; ${name}: ${parts.own.join(', ')}.`,
    };
}

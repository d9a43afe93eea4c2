/**
 * window.js - the levels of a long ladder that a policy sees, as src/abr/deciders/window.h chooses them.
 *
 * @module abrd/window
 */

/** Most levels of an observation, and actions of a policy. */
export const SEEN = 12;

const REACH = 1.5, CHUNKS = 5;

/** The harmonic mean of the last throughputs, summed in the daemon's order. */
function usual(rates) {
    const recent = rates.slice(-CHUNKS);
    return recent.length / recent.reduce((sum, rate) => sum + 1 / Math.max(rate, 1e-3), 0);
}

/** The highest level that is seen. */
function topOf({ ladder, rates, chunk, chunks, chunkS, bufferS, last }) {
    const most = ladder.length - 1;
    if (!rates.length) return most;
    const reach = usual(rates) * (REACH + (chunks ? bufferS / ((chunks - chunk) * chunkS) : 0));
    let top = 0;
    while (top < most && ladder[top + 1] <= reach) top++;
    return Math.min(Math.max(top + 1, SEEN - 1, last + 1), most);
}

/**
 * @param {import('./view.js').View} view
 * @param {boolean[]} there whether each level is offered
 * @returns {{levels: number[], view: import('./view.js').View}} the levels, ascending, and the view of them
 */
export function windowOf(view, there) {
    const { ladder, last } = view, levels = ladder.map((_, k) => k);
    if (ladder.length <= SEEN) return { levels, view };
    const low = there.indexOf(true), high = there.lastIndexOf(true), top = Math.max(topOf(view), low);
    const kept = new Set([0, low, high, top]);
    if (last >= 0) [last - 1, last, last + 1].forEach(k => kept.add(k));
    levels.length = top + 1;
    while (levels.length > SEEN) {
        let spare = 0, least = Infinity;
        for (let i = 1; i < levels.length - 1; i++) {
            const ratio = ladder[levels[i + 1]] / ladder[levels[i - 1]];
            if (!kept.has(levels[i]) && ratio < least) [spare, least] = [i, ratio];
        }
        levels.splice(spare, 1);
    }
    const pick = list => levels.map(k => list[k]);
    return {
        levels,
        view: { ...view, ladder: pick(ladder), bytes: pick(view.bytes), points: pick(view.points), last: levels.indexOf(last) },
    };
}

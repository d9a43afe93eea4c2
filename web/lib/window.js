/**
 * window.js - the levels of a long ladder that a policy sees, as src/abr/deciders/window.h chooses them.
 *
 * @module abrd/window
 */

import { forecastOf } from './forecast.js';
import { planOf } from './plan.js';

/** Most levels of an observation, and actions of a policy. */
export const SEEN = 12;

/** Between the levels that the plan weighs. */
const STEPS = 5;

const ascending = levels => [...levels].sort((a, b) => a - b);

/** The view of some levels, which ascend. */
function pick(view, levels) {
    const of = list => levels.map(k => list[k]);
    return { ...view, ladder: of(view.ladder), bytes: of(view.bytes), points: of(view.points), last: levels.indexOf(view.last) };
}

/** Where the best level is about. */
function middleOf(view, forecast) {
    const most = view.ladder.length - 1, some = new Set(view.last < 0 ? [] : [view.last]);
    for (let i = 0; i <= STEPS; i++) some.add(Math.floor((i * most + (STEPS >> 1)) / STEPS));
    const levels = ascending(some), { mean } = planOf(pick(view, levels), forecast);
    return levels[mean.indexOf(Math.max(...mean))];
}

/** The levels that are kept, and those next to the middle. */
function near(kept, middle, count) {
    const levels = new Set(kept);
    for (let d = 0; levels.size < SEEN; d++)
        for (const k of [middle - d, middle + d])
            if (k >= 0 && k < count && levels.size < SEEN) levels.add(k);
    return ascending(levels);
}

/** About equal steps of log bitrate. */
function thinned(kept, ladder) {
    const levels = [...ladder.keys()];
    while (levels.length > SEEN) {
        let spare = 0, least = Infinity;
        for (let i = 1; i < levels.length - 1; i++) {
            const ratio = ladder[levels[i + 1]] / ladder[levels[i - 1]];
            if (!kept.has(levels[i]) && ratio < least) [spare, least] = [i, ratio];
        }
        levels.splice(spare, 1);
    }
    return levels;
}

/**
 * @param {import('./view.js').View} view
 * @param {boolean[]} there whether each level is offered
 * @returns {{levels: number[], view: import('./view.js').View}} the levels, ascending, and the view of them
 */
export function windowOf(view, there) {
    const { ladder, last } = view;
    if (ladder.length <= SEEN) return { levels: [...ladder.keys()], view };
    const kept = new Set([0, there.indexOf(true)]), forecast = forecastOf(view);
    if (last >= 0) [last - 1, last, last + 1].filter(k => k >= 0 && k < ladder.length).forEach(k => kept.add(k));
    const levels = forecast ? near(kept, middleOf(view, forecast), ladder.length) : thinned(kept, ladder);
    return { levels, view: pick(view, levels) };
}

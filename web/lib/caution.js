/**
 * caution.js - how much more a stall weighs for viewers with a ceiling of stalls, as
 * src/abr/deciders/caution.h computes it for a session alone: what a daemon has seen of other sessions is
 * not known here.
 *
 * @module abrd/caution
 */

import { harmonic, spreadOf } from './forecast.js';

const KAPPA = 0.5, WEIGHT_MAX = 3, SLOW = 0.3;
/** Margins by kind of link, and the spreads of the forecast where the second and the third begin. */
const MARGINS = [0, 0, 0.05], KINDS = [0.15, 0.4];

/**
 * @param {import('./view.js').View} view
 * @returns {import('./view.js').View} with a larger weight of stalls; the view itself without a ceiling
 */
export function cautious(view) {
    const { qoe, stalledS, playedS, lambda, rates, ladder } = view;
    if (!(qoe.stallRatioMax > 0)) return view;
    const above = stalledS - qoe.stallRatioMax * (stalledS + playedS);
    const carried = rates.length ? harmonic(rates, rates.length) / ladder[ladder.length - 1] : 1;
    const slow = SLOW * Math.min(Math.max(2 - 2 * carried, 0), 1);
    const weight = Math.min((1 + lambda + slow) * (1 + KAPPA * Math.max(above, 0)), WEIGHT_MAX);
    const spread = spreadOf(rates), margin = rates.length ? MARGINS[KINDS.filter(from => spread >= from).length] : 0;
    return { ...view, margin, qoe: { ...qoe, stall: qoe.stall * weight } };
}

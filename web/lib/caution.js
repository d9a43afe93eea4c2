/**
 * caution.js - how much more a stall weighs for viewers with a ceiling of stalls, as
 * src/abr/deciders/caution.h computes it for a session alone: what a daemon has seen of other sessions is
 * not known here.
 *
 * @module abrd/caution
 */

import { spreadOf } from './forecast.js';

const KAPPA = 0.5, WEIGHT_MAX = 3;
/** Margins by kind of link, and the spreads of the forecast where the second and the third begin. */
const MARGINS = [0, 0, 0.1], KINDS = [0.15, 0.4];

/**
 * @param {import('./view.js').View} view
 * @returns {import('./view.js').View} with a larger weight of stalls; the view itself without a ceiling
 */
export function cautious(view) {
    const { qoe, stalledS, playedS, lambda, rates } = view;
    if (!(qoe.stallRatioMax > 0)) return view;
    const above = stalledS - qoe.stallRatioMax * (stalledS + playedS);
    const weight = Math.min((1 + lambda) * (1 + KAPPA * Math.max(above, 0)), WEIGHT_MAX);
    const spread = spreadOf(rates), margin = rates.length ? MARGINS[KINDS.filter(from => spread >= from).length] : 0;
    return { ...view, margin, qoe: { ...qoe, stall: qoe.stall * weight } };
}

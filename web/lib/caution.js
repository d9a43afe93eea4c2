/**
 * caution.js - how much more a stall weighs for viewers with a ceiling of stalls, as
 * src/abr/deciders/caution.h computes it for a session alone: what a daemon has seen of other sessions is
 * not known here.
 *
 * @module abrd/caution
 */

const KAPPA = 1, WEIGHT_MAX = 3, MARGIN = 0.15;

/**
 * @param {import('./view.js').View} view
 * @returns {import('./view.js').View} with a larger weight of stalls; the view itself without a ceiling
 */
export function cautious(view) {
    const { qoe, stalledS, playedS, lambda } = view;
    if (!(qoe.stallRatioMax > 0)) return view;
    const above = stalledS - qoe.stallRatioMax * (stalledS + playedS);
    const weight = Math.min((1 + lambda) * (1 + KAPPA * Math.max(above, 0)), WEIGHT_MAX);
    return { ...view, margin: MARGIN, qoe: { ...qoe, stall: qoe.stall * weight } };
}

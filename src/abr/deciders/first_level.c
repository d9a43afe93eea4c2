#include "abr/deciders/first_level.h"

#include "abr/emulator/feat.h"

#include <math.h>

#define LINKS 9
#define SLOW_LINK 0.09 /* of the top rate: LINK's lowest */
#define SLOW_KBPS 1000.0
#define USUAL_KBPS 4300.0

/* shares of the top rate: 0.45 exp(z) at the quantiles 1/18, 3/18 .. 17/18 of z */
static const double LINK[LINKS] = {0.0915, 0.171,  0.2496, 0.3393, 0.45,
                                   0.5967, 0.8114, 1.184,  2.2138};

bool first_level_is(const struct view *v)
{
    return v->n_history == 0 && v->last_level < 0;
}

/* Reward of all later chunks at each level on one link, without the switch to the level. */
static void steady(double out[VIEW_LEVELS], const struct view *v,
                   const double smooth[VIEW_LEVELS], double kbps, int chunks)
{
    for (int j = 0; j < v->levels; j++) {
        double late = v->ladder_kbps[j] / kbps - 1.0;
        double stall_s = late > 0.0 ? v->chunk_s * late : 0.0;
        out[j] = chunks * (smooth[j] - v->qoe.mu_stall * stall_s);
    }
}

static double best_from(const struct view *v, const double rest[VIEW_LEVELS],
                        const double cost[VIEW_LEVELS])
{
    double best = -INFINITY;
    for (int j = 0; j < v->levels; j++) {
        double worth = rest[j] - cost[j];
        best = worth > best ? worth : best;
    }
    return best;
}

int first_level_most(const struct view *v)
{
    double kbps = v->start_kbps;
    if (!(kbps > 0)) {
        kbps = SLOW_LINK * v->ladder_kbps[v->levels - 1];
        if (kbps > SLOW_KBPS) kbps = sqrt(kbps * SLOW_KBPS);
    }
    int top = v->levels - 1;
    if (!(v->qoe.startup_max_s > 0)) return top;
    while (top > 0 && view_bytes(v, top) * 8e-3 > kbps * v->qoe.startup_max_s)
        top--;
    return top;
}

int first_level(const struct view *v)
{
    int left = v->chunks ? v->chunks - v->chunk : FIRST_LEVEL_LIVE_CHUNKS;
    int later = left > 1 ? left - 1 : 0;
    double smooth[VIEW_LEVELS], worth[VIEW_LEVELS], rest[LINKS][VIEW_LEVELS];
    double top = v->ladder_kbps[v->levels - 1];
    if (top > USUAL_KBPS) top = USUAL_KBPS;
    view_rewards(smooth, v, VIEW_NONE);
    for (int i = 0; i < LINKS; i++)
        steady(rest[i], v, smooth, top * LINK[i], later);

    int best = 0, highest = first_level_most(v);
    double mu_start = v->qoe.utility == QOE_POINTS ? v->qoe.mu_start : v->qoe.mu_stall;
    for (int k = 0; k <= highest; k++) {
        double cost[VIEW_LEVELS];
        view_rewards(cost, v, k);
        for (int j = 0; j < v->levels; j++)
            cost[j] = later ? smooth[j] - cost[j] : 0.0;

        worth[k] = 0.0;
        for (int i = 0; i < LINKS; i++) {
            double wait_s = view_bytes(v, k) * 8e-3 / (top * LINK[i]);
            worth[k] += smooth[k] - mu_start * wait_s + best_from(v, rest[i], cost);
        }
        if (worth[k] > worth[best]) best = k;
    }
    return best;
}

uint32_t first_level_offer(const struct view *v)
{
    return first_level_is(v) ? UINT32_C(1) << first_level(v) : feat_mask(v);
}

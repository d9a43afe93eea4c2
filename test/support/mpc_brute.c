#include "support/mpc_brute.h"

#include "abr/emulator/quality.h"

#include <math.h>
#include <stdbool.h>

struct attempt {
    const struct mpc_task *task;
    double unit;
    double smooth[VIEW_LEVELS + 1]
                 [VIEW_LEVELS]; /* reward without a stall; [0]: after task->last */
    double on_grid[VIEW_LEVELS + 1][VIEW_LEVELS]; /* its parts rounded, times unit */
    int plan[MPC_HORIZON];
    struct mpc_brute found;
};

static double rounded(double x)
{
    return nearbyint(x * 0x1p20) * 0x1p-20;
}

/* In lexicographic order, so that the first of equals is found first. */
static void try_all(struct attempt *a, int j, double value, double exact, double buffer_s,
                    int last)
{
    const struct mpc_task *t = a->task;
    if (j == t->horizon) {
        if (value > a->found.value) {
            a->found.value = value;
            a->found.level = a->plan[0];
        }
        if (exact > a->found.best) a->found.best = exact;
        return;
    }
    for (int k = 0; k < t->levels; k++) {
        double d = t->download_s[j][k], stall_s = d > buffer_s ? d - buffer_s : 0;
        double after_s = (d > buffer_s ? 0 : buffer_s - d) + t->chunk_s;
        double smooth = a->smooth[last + 1][k] * a->unit;
        double lost = stall_s * (t->qoe.mu_stall * a->unit);
        a->plan[j] = k;
        try_all(a, j + 1, value + a->on_grid[last + 1][k] - rounded(lost),
                exact + smooth - lost, after_s, k);
    }
}

struct mpc_brute mpc_brute(const struct mpc_task *t)
{
    double sum = t->qoe.mu_quality + t->qoe.mu_switch + t->qoe.mu_stall;
    struct attempt a = {.task = t, .unit = sum > 0 ? 1 / sum : 0};
    a.found.value = a.found.best = -INFINITY;
    for (int prev = -1; prev < t->levels; prev++)
        for (int k = 0; k < t->levels; k++) {
            struct qoe_level now = {t->ladder_kbps[k], t->points[k]}, before = t->last;
            if (prev >= 0)
                before = (struct qoe_level){t->ladder_kbps[prev], t->points[prev]};
            struct qoe_parts p =
                qoe_chunk(&t->qoe, now, before, t->chunk_s, 0, t->ladder_kbps[0]);
            double quality = t->qoe.mu_quality * p.quality;
            double change = t->qoe.mu_switch * p.change;
            a.smooth[prev + 1][k] = p.reward;
            a.on_grid[prev + 1][k] = rounded(quality * a.unit) -
                                     rounded(change * a.unit) +
                                     rounded((p.reward - quality + change) * a.unit);
        }
    try_all(&a, 0, 0, 0, t->buffer_s, -1);
    return a.found;
}

struct mpc_task mpc_brute_task(struct rng *r, int levels, int horizon)
{
    struct mpc_task t = {.levels = levels, .horizon = horizon};
    double kbps = rng_range(r, 100, 500);
    for (int k = 0; k < levels; k++) {
        t.ladder_kbps[k] = kbps;
        kbps *= rng_range(r, 1.05, 2);
    }
    bool whole = rng_below(r, 4) == 0;
    t.chunk_s = whole ? 4 : rng_range(r, 1, 10);
    double link = exp(rng_range(r, log(80), log(2 * kbps)));
    for (int j = 0; j < horizon; j++)
        for (int k = 0; k < levels; k++) {
            double d = t.ladder_kbps[k] * t.chunk_s / link * rng_range(r, .6, 1.6);
            t.download_s[j][k] = whole ? ceil(d) : d;
        }
    t.buffer_s = rng_below(r, 5) ? rng_range(r, 0, 30) : 0;
    if (whole) t.buffer_s = floor(t.buffer_s);
    quality_curve(t.points, t.ladder_kbps, NULL, levels);
    int last = (int)rng_below(r, (uint32_t)levels + 1) - 1;
    if (last >= 0) t.last = (struct qoe_level){t.ladder_kbps[last], t.points[last]};
    double *mu[] = {&t.qoe.mu_quality, &t.qoe.mu_switch, &t.qoe.mu_stall};
    bool builtin = rng_below(r, 3) == 0;
    for (int i = 0; i < 3; i++)
        *mu[i] = rng_below(r, 6) ? rng_range(r, 0, 7) : 0;
    if (builtin) t.qoe = qoe_papers[rng_below(r, QOE_PAPERS)].qoe;
    t.qoe.utility = (enum qoe_utility)rng_below(r, 3);
    return t;
}

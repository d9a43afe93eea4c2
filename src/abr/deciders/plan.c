#include "abr/deciders/plan.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Two levels at a time. A lane's arithmetic is that of one double, so the bytes are those of plain loops. */
typedef double pair __attribute__((vector_size(16)));
typedef int64_t pair_mask __attribute__((vector_size(16)));

enum {
    ROUND = 3, /* pairs whose sums stay in registers */
    PAIRS = (VIEW_LEVELS + 2 * ROUND - 1) / (2 * ROUND) * ROUND,
    WIDE = 2 * PAIRS
};

static inline pair pair_load(const double *x)
{
    pair v;
    memcpy(&v, x, sizeof v);
    return v;
}

static inline pair pair_of(double x)
{
    return (pair){x, x};
}

/* a > b ? a : b */
static inline pair pair_larger(pair a, pair b)
{
#ifdef __SSE2__
    return _mm_max_pd(a, b);
#else
    return (pair){a[0] > b[0] ? a[0] : b[0], a[1] > b[1] ? a[1] : b[1]};
#endif
}

static inline pair pair_choose(pair_mask on, pair a, pair b)
{
    return (pair)((on & (pair_mask)a) | (~on & (pair_mask)b));
}

/* Levels beyond the ladder hold 0. */
struct plan_task {
    const struct view *v;
    int pairs;
    pair first[PAIRS]; /* of k: r(k | last) */
    /* [m]: of k, r(m | k) + (T - 1) r(m | m) */
    pair held[VIEW_LEVELS][PAIRS];
    pair ladder_kbps[PAIRS], bytes[PAIRS];
    double change[VIEW_LEVELS]; /* of m: what a change between m and m + 1 costs */
    double tail, mu_low, low_s;
};

static void plan_prepare(struct plan_task *t, const struct plan_cfg *cfg,
                         const struct view *v, const struct forecast *f)
{
    double first[WIDE] = {0}, ladder_kbps[WIDE] = {0};
    double bytes[WIDE] = {0}, held[VIEW_LEVELS][WIDE] = {{0}};
    t->v = v;
    t->pairs = (v->levels + 1) / 2;
    double slow = fmax(fmin(v->ladder_kbps[0] / f->mean_kbps, 1) - PLAN_SLOW, 0);
    double large = fmin(v->buffer_max_s / PLAN_FAR_LIMIT_S, 1);
    double far = v->chunks ? cfg->far * large * large : 0;
    double reach_s = (cfg->reach + cfg->slow * slow) * v->buffer_s +
                     far * fmax(v->buffer_s - cfg->far_s, 0);
    t->mu_low = cfg->low * v->qoe.mu_stall;
    t->low_s =
        fmin(cfg->low_s * f->spread * sqrt(v->chunk_s), v->buffer_max_s / PLAN_LOW_PART);
    double less = fmin(PLAN_TAIL_CHUNK_S / v->chunk_s, 1);
    t->tail = fmin(cfg->tail + reach_s / v->chunk_s, PLAN_TAIL_MAX * less * sqrt(less));
    if (v->chunks) t->tail = fmin(t->tail, v->chunks - v->chunk - 1);
    view_rewards(first, v, VIEW_LAST);
    for (int k = 0; k < v->levels; k++) {
        double after[VIEW_LEVELS];
        ladder_kbps[k] = v->ladder_kbps[k];
        bytes[k] = forecast_bytes(f, view_bytes(v, k));
        view_rewards(after, v, k);
        for (int m = 0; m < v->levels; m++)
            held[m][k] = after[m];
    }
    memcpy(t->first, first, sizeof first);
    memcpy(t->ladder_kbps, ladder_kbps, sizeof ladder_kbps);
    memcpy(t->bytes, bytes, sizeof bytes);
    for (int m = 0; m + 1 < v->levels; m++)
        t->change[m] =
            fmin(held[m][m] - held[m][m + 1], held[m + 1][m + 1] - held[m + 1][m]);
    for (int m = 0; m < v->levels; m++) {
        pair steady = pair_of((t->tail - 1) * held[m][m]);
        for (int i = 0; i < PAIRS; i++)
            t->held[m][i] = pair_load(held[m] + 2 * i) + steady;
    }
}

/* best of k: max_m held[m] - mu_held z(m) - mu_low y(m), or m and m + 1 in turn */
static void plan_hold(pair *best, const struct plan_task *t, double mu_held,
                      const double *late, const pair *buffer_s)
{
    const pair mu = pair_of(mu_held), none = pair_of(0), whole = pair_of(1);
    const pair mu_low = pair_of(t->mu_low), low_s = pair_of(t->low_s);
    const pair used = mu_low * low_s; /* all of X */
    const int last = t->v->levels - 1;
    for (int i = 0; i < t->pairs; i += ROUND) {
        pair top[ROUND];
        for (int j = 0; j < ROUND; j++) {
            pair short_s = pair_of(late[last]) - buffer_s[i + j];
            top[j] = t->held[last][i + j] - (mu * pair_larger(short_s, none) +
                                             mu_low * pair_larger(short_s + low_s, none));
        }
        for (int m = 0; m < last; m++) {
            const pair *low = t->held[m] + i, *high = t->held[m + 1] + i;
            pair until = pair_of(late[m]), change = pair_of(t->change[m]);
            pair span = pair_of(1 / (late[m + 1] - late[m]));
#pragma GCC unroll 3
            for (int j = 0; j < ROUND; j++) {
                pair left_s = buffer_s[i + j] - until;
                pair cost = mu * pair_larger(none - left_s, none) +
                            mu_low * pair_larger(low_s - left_s, none);
                top[j] = pair_larger(low[j] - cost, top[j]);
                /* not a number or infinite if both levels are alike: then there is no turn */
                pair share = left_s * span;
                pair turns = low[j] + share * (high[j] - low[j]) - change - used;
                pair_mask some = (share > none) & (share < whole);
                top[j] = pair_choose(some, pair_larger(turns, top[j]), top[j]);
            }
        }
        memcpy(best + i, top, sizeof top);
    }
}

/* late: the held level m stalls by what this exceeds the buffer. */
static void plan_quantile(pair *value, const struct plan_task *t, double mu_held,
                          double next_kbps, double later_kbps)
{
    const struct view *v = t->v;
    const pair chunk_s = pair_of(v->chunk_s), none = pair_of(0);
    const pair played_s = pair_of((t->tail - 1) * v->chunk_s);
    const pair full_s = pair_of(v->buffer_max_s);
    pair late[PAIRS], buffer_s[PAIRS] = {{0}}, best[PAIRS] = {{0}};
    for (int i = 0; i < t->pairs; i++) {
        pair e = t->ladder_kbps[i] * chunk_s / pair_of(later_kbps);
        late[i] = pair_choose(e <= chunk_s, e, pair_of(t->tail) * e - played_s);

        pair left_s =
            pair_of(v->buffer_s) - t->bytes[i] * pair_of(8e-3) / pair_of(next_kbps);
        pair_mask stalls = left_s < none;
        pair stalled = t->first[i] + pair_of(v->qoe.mu_stall) * left_s;
        value[i] = pair_choose(stalls, stalled, t->first[i]);
        buffer_s[i] = pair_choose(stalls, none, left_s) + chunk_s;
        buffer_s[i] = pair_choose(buffer_s[i] > full_s, full_s, buffer_s[i]);
    }
    if (t->tail >= 1) {
        double held[WIDE];
        memcpy(held, late, sizeof held);
        plan_hold(best, t, mu_held, held, buffer_s);
        /* the lowest level's stall in full */
        const pair rest = pair_of(v->qoe.mu_stall - mu_held), lowest = pair_of(held[0]);
        for (int i = 0; i < t->pairs; i++)
            best[i] -= rest * pair_larger(lowest - buffer_s[i], none);
    }
    for (int i = 0; i < t->pairs; i++)
        value[i] += best[i];
}

/* Quantiles of the mean of `tail` chunks. */
static void plan_narrow(double later_kbps[FORECAST_QUANTILES], const struct forecast *f,
                        double tail, double narrow)
{
    memcpy(later_kbps, f->later_kbps, sizeof f->later_kbps);
    if (narrow == 0 || tail <= FORECAST_LATER) return;
    double share = pow(FORECAST_LATER / tail, narrow),
           middle = f->later_kbps[PLAN_MIDDLE];
    for (int i = 0; i < FORECAST_QUANTILES; i++)
        later_kbps[i] = middle * pow(f->later_kbps[i] / middle, share);
}

void plan_values(struct plan *out, const struct plan_cfg *cfg, const struct view *v,
                 const struct forecast *f)
{
    struct plan_task t;
    pair value[PAIRS] = {{0}}, mean[PAIRS] = {{0}};
    double later_kbps[FORECAST_QUANTILES];
    plan_prepare(&t, cfg, v, f);
    plan_narrow(later_kbps, f, t.tail, cfg->narrow);
    double factor = v->margin == 0 ? cfg->factor : cfg->factor * exp(-v->margin);
    for (int i = 0; i < FORECAST_QUANTILES; i++) {
        double mu_held = (i < PLAN_POOR ? cfg->caution : 1) * v->qoe.mu_stall;
        plan_quantile(value, &t, mu_held, cfg->next * factor * f->next_kbps[i],
                      factor * later_kbps[i]);
        for (int k = 0; k < t.pairs; k++)
            mean[k] += value[k] * pair_of(forecast_share[i]);
        memcpy(out->value[i], value, sizeof out->value[i]);
    }
    memcpy(out->mean, mean, sizeof out->mean);
}

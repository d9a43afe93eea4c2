#include "abr/deciders/window.h"

#include "abr/deciders/hold.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

enum { STEPS = 5 }; /* between the levels that the plan weighs */

static uint32_t window_bit(int level)
{
    return UINT32_C(1) << level;
}

/* The levels that are always seen, as bits. At most 5. */
static uint32_t window_kept(const struct view *v, uint32_t offered)
{
    uint32_t kept = window_bit(0) | (offered & -offered);
    if (v->last_level >= 0)
        kept |= (uint32_t)(UINT64_C(7) << v->last_level >> 1) & feat_mask(v);
    return kept;
}

static void window_take(struct window *w, const struct view *v, uint32_t levels)
{
    struct view *seen = &w->view;
    *seen = *v;
    seen->forecast = &w->forecast;
    w->n = 0;
    for (int k = 0; k < v->levels; k++) {
        if (!(levels & window_bit(k))) continue;
        int i = w->n++;
        w->level[i] = (uint8_t)k;
        seen->ladder_kbps[i] = v->ladder_kbps[k];
        seen->next_bytes[i] = v->next_bytes[k];
        seen->points[i] = v->points[k];
    }
    seen->levels = w->n;
    seen->last_level = window_place(w, v->last_level);
}

/* Where the best level is about. Uses w. */
static int window_middle(struct window *w, const struct view *v)
{
    static const struct plan_cfg cfg = PLAN_DEFAULT;
    uint32_t some = v->last_level < 0 ? 0 : window_bit(v->last_level);
    for (int i = 0; i <= STEPS; i++)
        some |= window_bit((i * (v->levels - 1) + STEPS / 2) / STEPS);
    window_take(w, v, some);
    return w->level[hold_level(&cfg, &w->view)];
}

/* The levels next to the middle. */
static uint32_t window_near(uint32_t kept, int middle, int levels)
{
    uint32_t seen = kept;
    for (int d = 0; __builtin_popcount(seen) < FEAT_LEVELS; d++) {
        if (middle >= d) seen |= window_bit(middle - d);
        if (middle + d < levels && __builtin_popcount(seen) < FEAT_LEVELS)
            seen |= window_bit(middle + d);
    }
    return seen;
}

/* The level to remove among those of `seen`. */
static int window_spare(uint32_t seen, uint32_t kept, const struct view *v)
{
    int spare = -1, before = -1, at = -1;
    double least = INFINITY;
    for (int next = 0; next < v->levels; next++) {
        if (!(seen & window_bit(next))) continue;
        if (before >= 0 && !(kept & window_bit(at))) {
            double ratio = v->ladder_kbps[next] / v->ladder_kbps[before];
            if (ratio < least) {
                least = ratio;
                spare = at;
            }
        }
        before = at;
        at = next;
    }
    assert(spare > 0);
    return spare;
}

/* About equal steps of log bitrate. */
static uint32_t window_thin(uint32_t kept, const struct view *v)
{
    uint32_t seen = feat_mask(v);
    while (__builtin_popcount(seen) > FEAT_LEVELS)
        seen &= ~window_bit(window_spare(seen, kept, v));
    return seen;
}

const struct view *window_see(struct window *w, const struct view *v, uint32_t offered)
{
    w->n = 0;
    if (v->levels <= FEAT_LEVELS) return v;
    uint32_t kept = window_kept(v, offered);
    w->forecast = forecast_of(v);
    window_take(w, v,
                w->forecast.mean_kbps > 0
                    ? window_near(kept, window_middle(w, v), v->levels)
                    : window_thin(kept, v));
    return &w->view;
}

uint32_t window_mask(const struct window *w, uint32_t levels)
{
    if (!w->n) return levels;
    uint32_t mask = 0;
    for (int i = 0; i < w->n; i++)
        mask |= (levels >> w->level[i] & 1) << i;
    return mask;
}

uint32_t window_levels(const struct window *w)
{
    uint32_t levels = 0;
    for (int i = 0; i < w->n; i++)
        levels |= window_bit(w->level[i]);
    return levels;
}

void window_spread(double *prob, int levels, uint32_t seen, const float *of_window)
{
    int place = 0;
    for (int k = 0; k < levels; k++)
        prob[k] = !seen || seen >> k & 1 ? (double)of_window[place++] : 0;
}

int window_level(const struct window *w, int i)
{
    return w->n ? w->level[i] : i;
}

int window_place(const struct window *w, int level)
{
    if (!w->n) return level;
    for (int i = 0; i < w->n; i++)
        if (w->level[i] == level) return i;
    return -1;
}

void window_observe(float *obs, enum feat_layout layout, const struct view *v)
{
    struct window w;
    struct view blind;
    if (layout == FEAT_BLIND) {
        blind = *v;
        blind.qoe = view_default().qoe;
        v = &blind;
    }
    feat_observe(obs, layout, window_see(&w, v, feat_mask(v)));
}

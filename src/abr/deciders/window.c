#include "abr/deciders/window.h"

#include "abr/deciders/simple.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

enum { CHUNKS = 5 }; /* of the throughput */

static int window_highest(uint32_t levels)
{
    int k = VIEW_LEVELS - 1;
    while (k > 0 && !(levels >> k & 1))
        k--;
    return k;
}

static int window_lowest(uint32_t levels)
{
    int k = 0;
    while (k < VIEW_LEVELS - 1 && !(levels >> k & 1))
        k++;
    return k;
}

static int window_top(const struct view *v)
{
    int most = v->levels - 1, top = 0;
    double kbps = simple_harmonic_kbps(v, v->n_history, CHUNKS);
    if (!(kbps > 0)) return most;
    double left_s = (v->chunks - v->chunk) * v->chunk_s;
    double reach_kbps = kbps * (WINDOW_REACH + (v->chunks ? v->buffer_s / left_s : 0));
    while (top < most && v->ladder_kbps[top + 1] <= reach_kbps)
        top++;
    top++;
    if (top < FEAT_LEVELS - 1) top = FEAT_LEVELS - 1;
    if (top <= v->last_level) top = v->last_level + 1;
    return top < most ? top : most;
}

/* The listed levels, as bits. */
static uint32_t window_kept(const struct view *v, int top, uint32_t offered)
{
    uint32_t kept = UINT32_C(1) | UINT32_C(1) << top;
    for (int k = v->last_level - 1; v->last_level >= 0 && k <= v->last_level + 1; k++)
        if (k >= 0 && k <= top) kept |= UINT32_C(1) << k;
    int high = window_highest(offered);
    kept |= UINT32_C(1) << window_lowest(offered);
    if (high <= top) kept |= UINT32_C(1) << high;
    return kept;
}

/* The place of the level to remove. level (n) ascends. */
static int window_spare(const uint8_t *level, int n, uint32_t kept,
                        const double *ladder_kbps)
{
    int spare = -1;
    double least = INFINITY;
    for (int i = 1; i < n - 1; i++) {
        if (kept >> level[i] & 1) continue;
        double ratio = ladder_kbps[level[i + 1]] / ladder_kbps[level[i - 1]];
        if (ratio < least) {
            least = ratio;
            spare = i;
        }
    }
    assert(spare > 0); /* at most 7 levels are kept */
    return spare;
}

static void window_choose(struct window *w, const struct view *v, uint32_t offered)
{
    uint8_t level[VIEW_LEVELS];
    int top = window_top(v), low = window_lowest(offered), n = 0;
    if (low > top) top = low;
    uint32_t kept = window_kept(v, top, offered);
    for (; n <= top; n++)
        level[n] = (uint8_t)n;
    while (n > FEAT_LEVELS) {
        int spare = window_spare(level, n, kept, v->ladder_kbps);
        n--;
        for (int i = spare; i < n; i++)
            level[i] = level[i + 1];
    }
    w->n = n;
    for (int i = 0; i < n; i++)
        w->level[i] = level[i];
}

const struct view *window_see(struct window *w, const struct view *v, uint32_t offered)
{
    w->n = 0;
    if (v->levels <= FEAT_LEVELS) return v;
    window_choose(w, v, offered);
    struct view *seen = &w->view;
    *seen = *v;
    seen->levels = w->n;
    for (int i = 0; i < w->n; i++) {
        int k = w->level[i];
        seen->ladder_kbps[i] = v->ladder_kbps[k];
        seen->next_bytes[i] = v->next_bytes[k];
        seen->points[i] = v->points[k];
    }
    seen->last_level = window_place(w, v->last_level);
    return seen;
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
        levels |= UINT32_C(1) << w->level[i];
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
    feat_observe(obs, layout, window_see(&w, v, feat_mask(v)));
}

#include "abr/deciders/abandon.h"

#include <math.h>

#include "abr/deciders/first_level.h"

/* counted when nothing arrived yet, so that no quotient is infinite; no link is that slow */
static const double LEAST_BYTES = 1;

static double rate(const struct underway *u) /* bytes/s */
{
    return fmax(u->bytes, LEAST_BYTES) / u->elapsed_s;
}

static double left(const struct view *v, const struct underway *u)
{
    return fmax(view_bytes(v, u->level) - u->bytes, 0.0);
}

static bool may_rise(const struct view *v)
{
    return first_level_is(v);
}

static double bytes_of(const struct view *v, const struct underway *u, int level)
{
    return level == u->level ? left(v, u) : view_bytes(v, level);
}

/* With a ceiling of the start-up: the first chunk would exceed it at this level. */
static bool starts_late(const struct view *v, const struct underway *u, int level)
{
    double most_s = v->qoe.startup_max_s;
    return first_level_is(v) && most_s > 0 &&
           u->elapsed_s + bytes_of(v, u, level) / rate(u) > most_s;
}

/* With a ceiling of stalls: a later chunk would outlast the buffer at this level. */
static bool outlasts(const struct view *v, const struct underway *u, int level)
{
    return !first_level_is(v) && v->qoe.stall_ratio_max > 0 &&
           view_bytes(v, level) > rate(u) * u->buffer_s;
}

static bool may_fall(const struct view *v, const struct underway *u)
{
    const struct qoe *k = &v->qoe;
    if (starts_late(v, u, u->level)) return true;
    if (k->mu_stall < k->mu_quality) return false;
    if (first_level_is(v)) return true;
    return k->mu_stall >= k->mu_switch && left(v, u) / rate(u) > u->buffer_s;
}

/* Chunks after the one that is being downloaded. */
static int later(const struct view *v)
{
    return v->chunks ? v->chunks - v->chunk - 1 : FIRST_LEVEL_LIVE_CHUNKS - 1;
}

/* Value of the rest of the session after a chunk at level `from`, with this much media in the buffer. */
static double worth_of_rest(const struct view *v, int from, double buffer_s, double kbps)
{
    int n = later(v);
    if (n < 1) return 0.0;
    double first[VIEW_LEVELS], steady[VIEW_LEVELS], best = -INFINITY;
    view_rewards(first, v, from);
    view_rewards(steady, v, VIEW_NONE);
    for (int i = 0; i < v->levels; i++) {
        double late_s = n * v->chunk_s * (v->ladder_kbps[i] / kbps - 1.0) - buffer_s;
        double worth =
            first[i] + (n - 1) * steady[i] - v->qoe.mu_stall * fmax(late_s, 0.0);
        best = fmax(best, worth);
    }
    return best;
}

static double worth(const struct view *v, const struct underway *u, int level)
{
    double earns[VIEW_LEVELS];
    view_rewards(earns, v, VIEW_LAST);
    double wait_s = bytes_of(v, u, level) / rate(u);
    double held_s = fmax(u->buffer_s - wait_s, 0.0);
    bool start = first_level_is(v) && v->qoe.utility == QOE_POINTS;
    double mu_wait = start ? v->qoe.mu_start : v->qoe.mu_stall;
    return earns[level] - mu_wait * fmax(wait_s - u->buffer_s, 0.0) +
           worth_of_rest(v, level, held_s + v->chunk_s, rate(u) * 8e-3);
}

int abandon_level(const struct view *v, const struct underway *u)
{
    int lo = may_fall(v, u) ? 0 : u->level, hi = may_rise(v) ? v->levels - 1 : u->level;
    int best = u->level;
    double most = worth(v, u, best), rest = left(v, u);
    bool late = starts_late(v, u, best);
    for (int j = lo; j <= hi; j++) {
        if (j == u->level || (j < u->level && view_bytes(v, j) >= rest)) continue;
        if (j > 0 && outlasts(v, u, j)) continue;
        bool j_late = starts_late(v, u, j);
        double w = worth(v, u, j);
        if (j_late != late ? late : w > most) {
            late = j_late;
            most = w;
            best = j;
        }
    }
    return best;
}

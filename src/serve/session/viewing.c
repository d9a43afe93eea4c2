#include "serve/session/viewing.h"

#include <math.h>

#include "serve/session/track.h"

const char *const viewing_by_words[VIEWING_WAYS + 1] = {"daemon", "other-level", "player",
                                                        NULL};

const double viewing_bounds_s[VIEWING_BOUNDS] = {.25, .5, 1,  1.5, 2,  3,
                                                 4,   6,  10, 15,  30, 60};

static enum viewing_by viewing_by(const struct step *s)
{
    if (s->flags & STEP_FOLLOWED) return VIEWING_DAEMON;
    return s->flags & STEP_DECIDED ? VIEWING_OTHER_LEVEL : VIEWING_PLAYER;
}

static double viewing_wait_s(const struct step *s)
{
    return fmax(s->rebuffer_s, s->download_s);
}

static void count_startup(struct viewing_sums *sums, const struct qoe *k,
                          const struct step *s)
{
    double wait_s = viewing_wait_s(s);
    int i = 0;
    while (i < VIEWING_BOUNDS && wait_s > viewing_bounds_s[i])
        i++;
    sums->startup[i]++;
    sums->startup_s += wait_s;
    sums->over_startup += k->startup_max_s > 0 && wait_s > k->startup_max_s;
}

void viewing_restore(struct viewing *v, const struct track_row *row, const struct step *s)
{
    if (!(s->flags & STEP_REPORTED)) return;
    if (track_starts(row, s)) {
        v->startup_s = (float)viewing_wait_s(s);
        v->started = true;
    } else {
        v->stall_s += (float)s->rebuffer_s;
        v->switches += s->last_level >= 0 && s->level != s->last_level;
    }
    v->played_s += (float)row->chunk_s;
    v->points += (float)track_seen(row, s, s->level).points;
    v->reward += (float)s->reward;
    v->chunks++;
    v->above_lowest |= s->level > 0;
}

void viewing_chunk(struct viewing *v, struct viewing_sums *sums,
                   const struct track_row *row, const struct step *s)
{
    viewing_restore(v, row, s);
    if (track_starts(row, s))
        count_startup(sums, &row->qoe, s);
    else
        sums->stall_s += s->rebuffer_s;
    sums->played_s += row->chunk_s;
    sums->points += track_seen(row, s, s->level).points;
    sums->switches += s->last_level >= 0 && s->level != s->last_level;
    sums->by[viewing_by(s)]++;
}

void viewing_end(const struct viewing *v, struct viewing_sums *sums, const struct qoe *k)
{
    if (v->played_s <= 0) return;
    double stall_s = (double)v->stall_s, played_s = (double)v->played_s;
    double ratio = stall_s / (stall_s + played_s), most = k->stall_ratio_max;
    sums->sessions++;
    sums->over_stalls += most > 0 && ratio > most;
    if (most <= 0) most = qoe_standard()->stall_ratio_max;
    if (v->above_lowest || ratio <= most) return;
    sums->bound++;
    sums->bound_stall_s += stall_s;
    sums->bound_played_s += played_s;
}

void viewing_add(struct viewing_sums *out, const struct viewing_sums *a)
{
    for (int i = 0; i < VIEWING_WAYS; i++)
        out->by[i] += a->by[i];
    for (int i = 0; i <= VIEWING_BOUNDS; i++)
        out->startup[i] += a->startup[i];
    out->switches += a->switches;
    out->over_startup += a->over_startup;
    out->sessions += a->sessions;
    out->over_stalls += a->over_stalls;
    out->bound += a->bound;
    out->startup_s += a->startup_s;
    out->stall_s += a->stall_s;
    out->played_s += a->played_s;
    out->points += a->points;
    out->bound_stall_s += a->bound_stall_s;
    out->bound_played_s += a->bound_played_s;
}

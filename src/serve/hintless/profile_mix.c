#include "serve/hintless/profile_mix.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "base/sketch.h"

/* labels from which on a content is known */
static const double KNOWN = .5;
enum { EMPTY = 4 }; /* counters of no task, which estimate the error of collisions */

/* The counts of an address in this slot. */
struct shown {
    double sum; /* s_a */
    float task[PROFILE_MIX_TASKS];
};

struct profile_mix {
    struct profile_mix_cfg cfg;
    int tasks;
    double n[PROFILE_MIX_TASKS];
    struct profile_mix_seats seats;
    struct sketch *labels; /* (content, task) -> c_v */
    /* NULL unless cfg.counts */
    struct shown *shown;      /* (PROFILE_MIX_BUCKETS) */
    struct sketch *labels_by; /* (content, address) -> labels that counted */
    struct profile_mix_refused refused;
};

struct profile_mix_cfg profile_mix_cfg_default(void)
{
    return (struct profile_mix_cfg){.width = 8192,
                                    .depth = 4,
                                    .half_life = 3,
                                    .content_half_life = 2000,
                                    .counts = true};
}

struct profile_mix *profile_mix_new(const struct profile_mix_cfg *cfg, int tasks,
                                    struct err *e)
{
    assert(tasks >= 1 && tasks <= PROFILE_MIX_TASKS);
    if (!(cfg->half_life > 0) || !(cfg->content_half_life > 0)) {
        err_set(e, ERR_RANGE, "a half-life must be more than 0 slots");
        return NULL;
    }
    struct profile_mix *a = calloc(1, sizeof *a);
    if (!a) {
        err_set(e, ERR_MEMORY, "no memory for the mix of profiles");
        return NULL;
    }
    a->cfg = *cfg;
    a->tasks = tasks;
    struct sketch_cfg sc = {cfg->width, cfg->depth, true, cfg->seed};
    a->labels = sketch_new(&sc, e);
    if (!a->labels) goto fail;
    if (!cfg->counts) return a;
    a->labels_by = sketch_new(&sc, e);
    if (!a->labels_by) goto fail;
    a->shown = calloc(PROFILE_MIX_BUCKETS, sizeof *a->shown);
    if (a->shown) return a;
    err_set(e, ERR_MEMORY, "no memory for labels by address");
fail:
    profile_mix_free(a);
    return NULL;
}

void profile_mix_free(struct profile_mix *a)
{
    if (!a) return;
    free(a->shown);
    sketch_free(a->labels_by);
    sketch_free(a->labels);
    free(a);
}

void profile_mix_grow(struct profile_mix *a)
{
    assert(a->tasks < PROFILE_MIX_TASKS);
    a->n[a->tasks++] = 0;
}

int profile_mix_tasks(const struct profile_mix *a)
{
    return a->tasks;
}

struct profile_mix_seats profile_mix_seats(const struct profile_mix *a)
{
    return a->seats;
}

void profile_mix_seats_put(struct profile_mix *a, const struct profile_mix_seats *s)
{
    a->seats = *s;
}

void profile_mix_forget(struct profile_mix *a, int task)
{
    assert(task >= 0 && task < a->tasks);
    a->n[task] = 0;
    a->seats.born[task]++;
    for (int b = 0; a->shown && b < PROFILE_MIX_BUCKETS; b++) {
        struct shown *s = &a->shown[b];
        s->sum = fmax(0, s->sum - (double)s->task[task]);
        s->task[task] = 0;
    }
}

uint64_t profile_mix_content(const struct profile_mix *a, const char *content_id)
{
    size_t n = strlen(content_id);
    return n ? sketch_key(a->cfg.seed, content_id, n) | 1 : 0;
}

/* Key of a counter; task >= PROFILE_MIX_TASKS: one that no task uses. */
static uint64_t counter(const struct profile_mix *a, uint64_t content, int task)
{
    uint64_t born = task < PROFILE_MIX_TASKS ? a->seats.born[task] : 0;
    return rng_u64_at(content, (uint64_t)task, born);
}

/* c_v without the error of collisions. Returns the sum. */
static double counts(double *c, const struct profile_mix *a, uint64_t content)
{
    double noise = 0, sum = 0;
    for (int i = 0; i < EMPTY; i++)
        noise = fmax(noise, sketch_estimate(a->labels,
                                            counter(a, content, PROFILE_MIX_TASKS + i)));
    for (int v = 0; v < a->tasks; v++) {
        c[v] = fmax(0, sketch_estimate(a->labels, counter(a, content, v)) - noise);
        if (a->seats.gone[v]) c[v] = 0;
        sum += c[v];
    }
    return sum;
}

bool profile_mix_may_add(double own, double all, double free)
{
    return own + 1 <= fmax(free, PROFILE_MIX_SHARE * (all + 1));
}

static struct shown *shown_by(struct profile_mix *a, uint64_t from)
{
    return &a->shown[rng_u64_at(a->cfg.seed, from, 1) % PROFILE_MIX_BUCKETS];
}

static void show(struct shown *s, int task, double weight)
{
    s->task[task] += (float)weight;
    s->sum += weight;
}

static void label_content(struct profile_mix *a, uint64_t content, int task,
                          uint64_t from)
{
    double c[PROFILE_MIX_TASKS];
    uint64_t by = rng_u64_at(content, from, 2);
    double own = sketch_estimate(a->labels_by, by);
    if (!profile_mix_may_add(own, counts(c, a, content), PROFILE_MIX_CONTENT)) {
        a->refused.content++;
        return;
    }
    sketch_add(a->labels_by, by, 1);
    sketch_add(a->labels, counter(a, content, task), 1);
}

void profile_mix_label(struct profile_mix *a, uint64_t content, int task, bool hintless,
                       uint64_t from)
{
    assert(a->shown && task >= 0 && task < a->tasks);
    if (hintless) show(shown_by(a, from), task, 1);
    if (content) label_content(a, content, task, from);
}

void profile_mix_unlabelled(struct profile_mix *a, uint64_t content, uint64_t from)
{
    double p[PROFILE_MIX_TASKS];
    assert(a->shown);
    if (!profile_mix_of(p, a, content)) return;
    struct shown *s = shown_by(a, from);
    for (int v = 0; v < a->tasks; v++)
        show(s, v, p[v]);
}

/* ---- the mix ---- */

/* keep */
static double kept(const struct profile_mix *a)
{
    return exp2(-1 / a->cfg.half_life);
}

/* cap: the largest solution of the header's equation, iterated from above. Each step reduces the
 * distance by a factor, so 200 steps are enough in practice. */
static double cap_of(const struct profile_mix *a)
{
    double keep = kept(a), lone = PROFILE_MIX_WEIGHT * (1 - keep) / keep, cap = INFINITY;
    for (int i = 0; i < 200; i++) {
        double sum = 0;
        for (int b = 0; b < PROFILE_MIX_BUCKETS; b++)
            sum += fmin(a->shown[b].sum, cap);
        double next = fmax(PROFILE_MIX_SHARE * sum, lone);
        if (next >= cap * (1 - 1e-9)) break;
        cap = next;
    }
    return cap;
}

/* n with the capped counts of this slot. Returns the dropped sessions. */
static double counted(double *n, const struct profile_mix *a)
{
    double dropped = 0;
    memcpy(n, a->n, sizeof a->n);
    if (!a->shown) return 0;
    double cap = cap_of(a);
    for (int b = 0; b < PROFILE_MIX_BUCKETS; b++) {
        const struct shown *s = &a->shown[b];
        double share = s->sum > cap ? cap / s->sum : 1;
        for (int v = 0; v < PROFILE_MIX_TASKS; v++)
            n[v] += share * (double)s->task[v];
        dropped += (1 - share) * s->sum;
    }
    return dropped;
}

bool profile_mix_weights(double *psi, const struct profile_mix *a)
{
    double sum = 0;
    int there = 0;
    for (int v = 0; v < a->tasks; v++) {
        if (a->seats.gone[v]) continue;
        sum += a->n[v];
        there++;
    }
    for (int v = 0; v < a->tasks; v++)
        psi[v] = a->seats.gone[v] ? 0
                                  : (a->n[v] + PROFILE_MIX_WEIGHT / there) /
                                        (sum + PROFILE_MIX_WEIGHT);
    return sum >= PROFILE_MIX_ENOUGH;
}

bool profile_mix_of(double *p, const struct profile_mix *a, uint64_t content)
{
    double c[PROFILE_MIX_TASKS];
    (void)profile_mix_weights(p, a);
    double sum = content ? counts(c, a, content) : 0;
    if (sum < KNOWN) return false;
    for (int v = 0; v < a->tasks; v++)
        p[v] = (c[v] + PROFILE_MIX_PRIOR * p[v]) / (sum + PROFILE_MIX_PRIOR);
    return true;
}

void profile_mix_turn(struct profile_mix *a)
{
    double n[PROFILE_MIX_TASKS], keep = kept(a),
                                 age = exp2(-1 / a->cfg.content_half_life);
    a->refused.mix += counted(n, a);
    for (int v = 0; v < PROFILE_MIX_TASKS; v++)
        a->n[v] = n[v] * keep;
    if (a->shown) memset(a->shown, 0, PROFILE_MIX_BUCKETS * sizeof *a->shown);
    sketch_age(a->labels, age);
    if (a->labels_by) sketch_age(a->labels_by, age);
}

struct profile_mix_refused profile_mix_refused(const struct profile_mix *a)
{
    return a->refused;
}

/* ---- state: tasks, n with the capped counts of addresses, counters ---- */

enum { HEAD = 8 + 8 * PROFILE_MIX_TASKS };

size_t profile_mix_state_size(const struct profile_mix *a)
{
    return HEAD + sketch_state_size(a->labels);
}

void profile_mix_state_get(const struct profile_mix *a, void *out)
{
    unsigned char *at = out;
    double n[PROFILE_MIX_TASKS];
    (void)counted(n, a);
    bytes_put_u64(at, (uint64_t)a->tasks);
    for (int v = 0; v < PROFILE_MIX_TASKS; v++)
        bytes_put_f64(at + 8 + 8 * v, n[v]);
    sketch_state_get(a->labels, at + HEAD);
}

int profile_mix_state_put(struct profile_mix *a, const void *in, size_t n, struct err *e)
{
    const unsigned char *at = in;
    if (n != profile_mix_state_size(a))
        return err_set(e, ERR_CORRUPT, "the mix of viewers has %zu bytes, not %zu", n,
                       profile_mix_state_size(a));
    uint64_t tasks = bytes_get_u64(at);
    double count[PROFILE_MIX_TASKS];
    bool sound = tasks >= 1 && tasks <= PROFILE_MIX_TASKS;
    for (int v = 0; v < PROFILE_MIX_TASKS; v++) {
        count[v] = bytes_get_f64(at + 8 + 8 * v);
        sound = sound && count[v] >= 0 && isfinite(count[v]);
    }
    if (!sound)
        return err_set(e, ERR_CORRUPT, "the mix of viewers has impossible counts");
    int rc = sketch_state_put(a->labels, at + HEAD, n - HEAD, e);
    if (rc) return rc;
    a->tasks = (int)tasks;
    memcpy(a->n, count, sizeof count);
    if (a->shown) memset(a->shown, 0, PROFILE_MIX_BUCKETS * sizeof *a->shown);
    return 0;
}

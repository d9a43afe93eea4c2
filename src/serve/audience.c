#include "serve/audience.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "base/sketch.h"

/* a content is known from half a label on */
static const double KNOWN = .5;
enum { EMPTY = 4 }; /* counters of no task, which hold what collisions add */

struct audience {
    struct audience_cfg cfg;
    int tasks;
    double n[AUDIENCE_TASKS];
    struct sketch *labels; /* (content, task) -> c_v */
};

struct audience_cfg audience_cfg_default(void)
{
    return (struct audience_cfg){
        .width = 8192, .depth = 4, .half_life = 3, .content_half_life = 2000};
}

struct audience *audience_new(const struct audience_cfg *cfg, int tasks, struct err *e)
{
    assert(tasks >= 1 && tasks <= AUDIENCE_TASKS);
    if (!(cfg->half_life > 0) || !(cfg->content_half_life > 0)) {
        err_set(e, ERR_RANGE, "a half-life of no slots");
        return NULL;
    }
    struct audience *a = calloc(1, sizeof *a);
    if (!a) {
        err_set(e, ERR_MEMORY, "no memory for the mix of viewers");
        return NULL;
    }
    a->cfg = *cfg;
    a->tasks = tasks;
    struct sketch_cfg sc = {cfg->width, cfg->depth, true, cfg->seed};
    a->labels = sketch_new(&sc, e);
    if (a->labels) return a;
    audience_free(a);
    return NULL;
}

void audience_free(struct audience *a)
{
    if (!a) return;
    sketch_free(a->labels);
    free(a);
}

void audience_grow(struct audience *a)
{
    assert(a->tasks < AUDIENCE_TASKS);
    a->n[a->tasks++] = 0;
}

int audience_tasks(const struct audience *a)
{
    return a->tasks;
}

uint64_t audience_content(const struct audience *a, const char *content_id)
{
    size_t n = strlen(content_id);
    return n ? sketch_key(a->cfg.seed, content_id, n) | 1 : 0;
}

static uint64_t counter(uint64_t content, int task)
{
    return rng_u64_at(content, (uint64_t)task, 0);
}

/* c_v without what collisions add: counters of tasks that cannot be tell how much that is. */
static double counts(double *c, const struct audience *a, uint64_t content)
{
    double noise = 0, sum = 0;
    for (int i = 0; i < EMPTY; i++)
        noise =
            fmax(noise, sketch_estimate(a->labels, counter(content, AUDIENCE_TASKS + i)));
    for (int v = 0; v < a->tasks; v++) {
        c[v] = fmax(0, sketch_estimate(a->labels, counter(content, v)) - noise);
        sum += c[v];
    }
    return sum;
}

void audience_label(struct audience *a, uint64_t content, int task, bool untagged)
{
    assert(task >= 0 && task < a->tasks);
    if (untagged) a->n[task]++;
    if (content) sketch_add(a->labels, counter(content, task), 1);
}

void audience_unlabelled(struct audience *a, uint64_t content)
{
    double p[AUDIENCE_TASKS];
    if (!audience_of(p, a, content)) return;
    for (int v = 0; v < a->tasks; v++)
        a->n[v] += p[v];
}

bool audience_mix(double *psi, const struct audience *a)
{
    double sum = 0;
    for (int v = 0; v < a->tasks; v++)
        sum += a->n[v];
    bool enough = sum >= AUDIENCE_ENOUGH;
    for (int v = 0; v < a->tasks; v++)
        psi[v] = enough ? (a->n[v] + 1.0 / a->tasks) / (sum + 1) : 1.0 / a->tasks;
    return enough;
}

bool audience_of(double *p, const struct audience *a, uint64_t content)
{
    double c[AUDIENCE_TASKS];
    (void)audience_mix(p, a);
    double sum = content ? counts(c, a, content) : 0;
    if (sum < KNOWN) return false;
    for (int v = 0; v < a->tasks; v++)
        p[v] = (c[v] + AUDIENCE_PRIOR * p[v]) / (sum + AUDIENCE_PRIOR);
    return true;
}

void audience_turn(struct audience *a)
{
    double keep = exp2(-1 / a->cfg.half_life);
    for (int v = 0; v < a->tasks; v++)
        a->n[v] *= keep;
    sketch_age(a->labels, exp2(-1 / a->cfg.content_half_life));
}

/* ---- state: tasks, n, counters ---- */

enum { HEAD = 8 + 8 * AUDIENCE_TASKS };

size_t audience_state_size(const struct audience *a)
{
    return HEAD + sketch_state_size(a->labels);
}

void audience_state_get(const struct audience *a, void *out)
{
    unsigned char *at = out;
    bytes_put_u64(at, (uint64_t)a->tasks);
    for (int v = 0; v < AUDIENCE_TASKS; v++)
        bytes_put_f64(at + 8 + 8 * v, a->n[v]);
    sketch_state_get(a->labels, at + HEAD);
}

int audience_state_put(struct audience *a, const void *in, size_t n, struct err *e)
{
    const unsigned char *at = in;
    if (n != audience_state_size(a))
        return err_set(e, ERR_CORRUPT, "the mix of viewers has %zu bytes, not %zu", n,
                       audience_state_size(a));
    uint64_t tasks = bytes_get_u64(at);
    double count[AUDIENCE_TASKS];
    bool sound = tasks >= 1 && tasks <= AUDIENCE_TASKS;
    for (int v = 0; v < AUDIENCE_TASKS; v++) {
        count[v] = bytes_get_f64(at + 8 + 8 * v);
        sound = sound && count[v] >= 0 && isfinite(count[v]);
    }
    if (!sound)
        return err_set(e, ERR_CORRUPT, "the mix of viewers has impossible counts");
    int rc = sketch_state_put(a->labels, at + HEAD, n - HEAD, e);
    if (rc) return rc;
    a->tasks = (int)tasks;
    memcpy(a->n, count, sizeof count);
    return 0;
}

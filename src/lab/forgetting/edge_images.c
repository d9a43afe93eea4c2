#include "lab/forgetting/edge_images.h"

#include "lab/forgetting/image_experts.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* streams of a repetition, apart from those of edge_sim.c */
enum { TASKS = 1 << 30, SERVERS, FIRST_TASK };

static void edge_images_stream(struct rng *r, uint64_t seed, int repetition, int id)
{
    rng_init(r, seed, ((uint64_t)repetition << 32) + (uint64_t)id);
}

struct edge_sim_cfg edge_images_theory(const struct edge_images_cfg *c)
{
    struct edge_sim_cfg like = edge_sim_default(c->experts, c->rule);
    like.task.tasks = like.task.clusters = c->digits.tasks;
    return like;
}

/* a task under way, or the one that is being routed */
struct work {
    struct digits_round round;
    double h[RECALL_EXPERTS];
    struct servers_task delays;
};

struct sim {
    const struct edge_images_cfg *cfg;
    uint64_t seed;
    int repetition, t1;
    struct image_experts *experts;
    double *theta;
    struct router gate;
    struct servers servers;
    struct work work[RECALL_EXPERTS];
    double h[RECALL_EXPERTS]; /* scores of the last routed task */
    int set[RECALL_EXPERTS];

    /* since the last point */
    int routed, ready, home, special, learned;
    double moved;
};

static bool gated(const struct sim *s)
{
    return s->cfg->rule == EDGE_STOP || s->cfg->rule == EDGE_ON;
}

static int edge_images_start(struct sim *s, const struct edge_images_cfg *c,
                             const struct digits_set *set, struct err *e)
{
    struct rng r;
    edge_images_stream(&r, s->seed, s->repetition, TASKS);
    s->experts = image_experts_new(set, &c->digits, c->experts, &r, e);
    if (!s->experts) return ERR_MEMORY;
    int pixels = digits_pixels(s->experts->digits);
    s->theta = calloc((size_t)c->experts * (size_t)pixels, sizeof *s->theta);
    if (!s->theta) return err_set(e, ERR_MEMORY, "no memory for a gate");

    double sigma0 = digits_sigma0(s->experts->digits);
    router_init(&s->gate,
                &(struct router_cfg){.experts = c->experts,
                                     .d = pixels,
                                     .eta = sqrt(sigma0),
                                     .noise = sigma0 * sigma0},
                s->theta);
    edge_images_stream(&r, s->seed, s->repetition, SERVERS);
    servers_init(&s->servers, c->experts, &r);
    struct edge_sim_cfg theory = edge_images_theory(c);
    s->t1 = edge_sim_t1(&theory);
    return 0;
}

static void stop(struct sim *s)
{
    image_experts_free(s->experts);
    free(s->theta);
}

/* ---- one task */

static void edge_images_draw(struct work *k, struct rng *r, const struct sim *s, int t)
{
    edge_images_stream(r, s->seed, s->repetition, FIRST_TASK + t);
    int n = (int)rng_below(r, (uint32_t)s->cfg->digits.tasks);
    servers_arrive(&k->delays, &s->servers, r);
    digits_draw(&k->round, s->experts->digits, n, r);
    router_scores(k->h, &s->gate, k->round.x);
}

/* counts whether the task found its specialist, and got it */
static void edge_images_count(struct sim *s, int n, int m)
{
    bool ready = false;
    for (int i = 0; i < s->cfg->experts; i++) {
        s->set[i] = router_specialty(&s->gate, i, digits_signal(s->experts->digits),
                                     s->cfg->digits.tasks, s->gate.cfg.d);
        ready = ready || (s->servers.idle[i] && s->set[i] == n);
    }
    s->routed++;
    s->ready += ready;
    s->home += s->set[m] == n;
    s->special += image_experts_habit(s->experts, m) == n;
}

static void edge_images_route(struct sim *s, int t)
{
    while (servers_ready(&s->servers, t, s->cfg->slots)) {
        struct work k;
        struct rng r;
        edge_images_draw(&k, &r, s, s->servers.next);
        int m = edge_sim_choose(s->cfg->rule, &s->gate, k.h, &s->servers, &k.delays, &r);
        edge_images_count(s, k.round.task, m);
        servers_start(&s->servers, m, &k.delays, t);
        s->work[m] = k;
        memcpy(s->h, k.h, sizeof s->h);
    }
}

static void edge_images_learn(struct sim *s, int m, bool step)
{
    const struct work *k = &s->work[m];
    double moved = image_experts_learn(s->experts, m, &k->round, false);
    router_count(&s->gate, m);
    if (step) router_step(&s->gate, k->h, k->round.x, m, moved);
    s->learned++;
    s->moved += moved;
}

static void edge_images_finish(struct sim *s, int t)
{
    const struct edge_images_cfg *c = s->cfg;
    bool step = c->rule == EDGE_ON || (c->rule == EDGE_STOP && t <= s->t1);
    for (int m = 0; m < c->experts; m++)
        if (servers_finish(&s->servers, m, t)) edge_images_learn(s, m, step);
}

/* ---- what is measured */

static double edge_images_share(double part, int of)
{
    return of ? part / of : (double)NAN;
}

static void edge_images_measure(double *at, int points, struct sim *s)
{
    double v[EDGE_IMAGES_SERIES];
    v[EDGE_IMAGES_ERROR] = image_experts_error(s->experts);
    v[EDGE_IMAGES_READY] = edge_images_share(s->ready, gated(s) ? s->routed : 0);
    v[EDGE_IMAGES_HOME] = edge_images_share(s->home, gated(s) ? s->routed : 0);
    v[EDGE_IMAGES_SPECIAL] = edge_images_share(s->special, s->routed);
    v[EDGE_IMAGES_MOVED] = edge_images_share(s->moved, s->learned);
    router_gaps(&v[EDGE_IMAGES_INSIDE], &v[EDGE_IMAGES_ACROSS], s->h, s->set,
                s->cfg->experts);
    for (int i = 0; i < EDGE_IMAGES_SERIES; i++)
        at[(size_t)i * (size_t)points] = v[i];
    s->routed = s->ready = s->home = s->special = s->learned = 0;
    s->moved = 0;
}

static void edge_images_play(double *out, struct edge_images_end *end, struct sim *s,
                             const int *grid, int points)
{
    int slots = s->cfg->slots, p = 0;
    for (int t = 1; t <= slots || servers_busy(&s->servers) || s->servers.next <= slots;
         t++) {
        edge_images_finish(s, t);
        edge_images_route(s, t);
        if (p < points && t == grid[p]) edge_images_measure(&out[p++], points, s);
    }
    assert(p == points);
    *end = (struct edge_images_end){.error = image_experts_error(s->experts),
                                    .sigma0 = digits_sigma0(s->experts->digits),
                                    .waited = s->servers.waited,
                                    .wait = s->servers.wait / slots,
                                    .delay = s->servers.delay / slots};
}

int edge_images_run(double *out, struct edge_images_end *end,
                    const struct edge_images_cfg *c, const struct digits_set *set,
                    const int *grid, int points, uint64_t seed, int repetition,
                    struct err *e)
{
    struct sim *s = calloc(1, sizeof *s);
    if (!s) return err_set(e, ERR_MEMORY, "no memory for a repetition");
    s->cfg = c;
    s->seed = seed;
    s->repetition = repetition;
    int rc = edge_images_start(s, c, set, e);
    if (!rc) edge_images_play(out, end, s, grid, points);
    stop(s);
    free(s);
    return rc;
}

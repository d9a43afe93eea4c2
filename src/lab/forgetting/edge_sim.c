#include "lab/forgetting/edge_sim.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct edge_sim_cfg edge_sim_default(int experts, enum edge_rule rule)
{
    struct task_cfg task = {.d = 15,
                            .s = 10,
                            .tasks = 10,
                            .clusters = 10,
                            .sigma0 = .6,
                            .within = .3,
                            .sigma_t = .1,
                            .scale = 3,
                            .signal = true};
    struct router_cfg router = {.experts = experts, .d = task.d, .eta = .2, .noise = .03};
    return (struct edge_sim_cfg){
        .task = task, .router = router, .rule = rule, .delta = .1, .slots = 3000};
}

const char *edge_sim_rule(enum edge_rule rule)
{
    static const char *const name[] = {"gate that stops", "gate that goes on",
                                       "nearest idle", "most powerful idle"};
    return name[rule];
}

int edge_sim_t1(const struct edge_sim_cfg *c)
{
    double experts = c->router.experts;
    return SERVERS_DELAY + (int)ceil(experts * log(experts / c->delta));
}

double edge_sim_mth(const struct edge_sim_cfg *c)
{
    return fmin(SERVERS_DELAY, log(1 / c->delta) / log(c->task.clusters));
}

int edge_sim_t2(const struct edge_sim_cfg *c)
{
    double settle = c->task.clusters * (edge_sim_mth(c) + log(1 / c->delta));
    return edge_sim_t1(c) + SERVERS_DELAY + (int)ceil(settle);
}

double edge_sim_need(const struct edge_sim_cfg *c)
{
    return c->task.clusters * edge_sim_mth(c) * log(1 / c->delta);
}

int edge_sim_choose(enum edge_rule rule, const struct router *gate, const double *h,
                    const struct servers *s, const struct servers_task *k, struct rng *r)
{
    switch (rule) {
    case EDGE_NEAREST:
        return servers_nearest(s, k);
    case EDGE_POWERFUL:
        return servers_powerful(s, k);
    default:
        return router_pick(gate, h, s->idle, r);
    }
}

struct exact_norms edge_sim_norms(const struct task_pool *p, const struct task_cfg *c)
{
    struct exact_norms n = exact_norms(p, c->clusters, c->d);
    double own = c->d * pow(c->within * c->sigma0 * c->sigma0, 2);
    n.a += own;
    n.b += 2 * own;
    return n;
}

/* ids of streams: repetition in the high half; 0 the pool, 1 the servers, 2 + t the tasks */
static void edge_sim_stream(struct rng *r, uint64_t seed, int repetition, int id)
{
    rng_init(r, seed, ((uint64_t)repetition << 32) + (uint64_t)id);
}

void edge_sim_pool(struct task_pool *p, const struct edge_sim_cfg *c, uint64_t seed,
                   int repetition)
{
    struct task_cfg centres = c->task;
    centres.within = 0;
    struct rng r;
    edge_sim_stream(&r, seed, repetition, 0);
    task_pool_draw(p, &centres, &r);
}

/* a task under way, or the one that is being routed */
struct work {
    struct task_data x;
    double truth[TASK_DIM], h[RECALL_EXPERTS];
    int cluster;
    struct servers_task delays;
};

struct sim {
    const struct edge_sim_cfg *cfg;
    const struct task_pool *pool;
    uint64_t seed;
    int repetition;
    struct exact_norms norms;
    struct router gate;
    double theta[RECALL_EXPERTS * TASK_DIM]; /* the gate's */
    struct recall recall;
    double w[RECALL_EXPERTS][TASK_DIM];
    struct work work[RECALL_EXPERTS];
    struct servers servers;
    int set[RECALL_EXPERTS];
    bool stale; /* the gate took a step since the sets were renewed */

    int at_t1[RECALL_EXPERTS];              /* L at T1 */
    double at_t2[RECALL_EXPERTS][TASK_DIM]; /* w at T2 */
    double h[RECALL_EXPERTS];               /* scores of the last routed task */
    int routed, home, ready;                /* since the last point */
    double slots_waited;
};

static struct sim *edge_sim_start(const struct edge_sim_cfg *c,
                                  const struct task_pool *pool, uint64_t seed,
                                  int repetition)
{
    struct sim *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->cfg = c;
    s->pool = pool;
    s->seed = seed;
    s->repetition = repetition;
    s->norms = edge_sim_norms(pool, &c->task);
    router_init(&s->gate, &c->router, s->theta);
    recall_init(&s->recall, c->router.experts, c->task.d);
    struct rng r;
    edge_sim_stream(&r, seed, repetition, 1);
    servers_init(&s->servers, c->router.experts, &r);
    return s;
}

/* ---- one task */

static void edge_sim_draw(struct work *k, struct rng *r, const struct sim *s, int t)
{
    const struct edge_sim_cfg *c = s->cfg;
    edge_sim_stream(r, s->seed, s->repetition, 2 + t);
    k->cluster = (int)rng_below(r, (uint32_t)c->task.clusters);
    servers_arrive(&k->delays, &s->servers, r);
    task_member(k->truth, s->pool->w[k->cluster], &c->task, r);
    task_draw(&k->x, &c->task, k->truth, r);
}

/* counts whether the task found its specialist, and got it */
static void count_home(struct sim *s, const struct work *k, int m)
{
    bool ready = false;
    for (int i = 0; i < s->cfg->router.experts; i++)
        ready = ready || (s->servers.idle[i] && s->set[i] == k->cluster);
    s->routed++;
    s->ready += ready;
    s->home += s->set[m] == k->cluster;
}

static void renew_sets(struct sim *s)
{
    if (!s->stale) return;
    s->stale = false;
    for (int m = 0; m < s->cfg->router.experts; m++)
        s->set[m] =
            router_specialty(&s->gate, m, s->pool->w[0], s->cfg->task.clusters, TASK_DIM);
}

/* routes the tasks in line while somebody is idle; task i arrived in slot i */
static void edge_sim_route(struct sim *s, int t)
{
    int slots = s->cfg->slots;
    if (servers_ready(&s->servers, t, slots)) renew_sets(s);
    while (servers_ready(&s->servers, t, slots)) {
        struct work k;
        struct rng r;
        edge_sim_draw(&k, &r, s, s->servers.next);
        router_scores(k.h, &s->gate, k.x.sum);
        int m = edge_sim_choose(s->cfg->rule, &s->gate, k.h, &s->servers, &k.delays, &r);
        count_home(s, &k, m);
        s->slots_waited += servers_start(&s->servers, m, &k.delays, t);
        s->work[m] = k;
        memcpy(s->h, k.h, sizeof s->h);
    }
}

/* experts whose task ends in slot t learn it */
static void edge_sim_finish(struct sim *s, int t)
{
    const struct edge_sim_cfg *c = s->cfg;
    bool step = c->rule == EDGE_ON || (c->rule == EDGE_STOP && t <= edge_sim_t1(c));
    for (int m = 0; m < c->router.experts; m++) {
        if (!servers_finish(&s->servers, m, t)) continue;
        const struct work *k = &s->work[m];
        double moved = task_learn(s->w[m], &c->task, &k->x, k->truth);
        recall_add(&s->recall, m, k->truth, s->w[m]);
        router_count(&s->gate, m);
        if (step) router_step(&s->gate, k->h, k->x.sum, m, moved);
        s->stale = s->stale || step;
    }
}

/* ---- what is measured */

static double theorem(const struct sim *s, int t)
{
    const struct task_cfg *c = &s->cfg->task;
    const struct recall *l = &s->recall;
    double r = 1 - (double)c->s / c->d, sum = 0;
    double own = 2 * c->d * pow(c->within * c->sigma0 * c->sigma0, 2);
    bool early = t <= edge_sim_t1(s->cfg);
    for (int m = 0; m < l->experts; m++) {
        int all = l->learned[m], before = early ? all : s->at_t1[m];
        sum += all * (pow(r, all) * s->norms.a +
                      (1 - pow(r, before)) * pow(r, all - before) * s->norms.b);
    }
    return sum / l->rounds + own;
}

static double drift(const struct sim *s, int t)
{
    int experts = s->cfg->router.experts;
    double mean = 0;
    if (t < edge_sim_t2(s->cfg)) return (double)NAN;
    for (int m = 0; m < experts; m++) {
        double far = 0;
        for (int i = 0; i < s->cfg->task.d; i++)
            far = fmax(far, fabs(s->w[m][i] - s->at_t2[m][i]));
        mean += far / experts;
    }
    return mean;
}

static void edge_sim_measure(double *at, int points, struct sim *s, int t)
{
    const struct task_cfg *c = &s->cfg->task;
    double r = 1 - (double)c->s / c->d, v[EDGE_SERIES];
    const struct recall *l = &s->recall;
    for (int i = 0; i < EDGE_SERIES; i++)
        v[i] = (double)NAN;
    if (l->rounds > 0) {
        v[EDGE_ERROR] = recall_error(l, (const double(*)[TASK_DIM])s->w);
        v[EDGE_PRINTED] = recall_bound_g(l, NULL, r, s->norms.a, s->norms.b);
        v[EDGE_EXACT] = recall_exact_g(l, r, s->norms.a, s->norms.b);
        v[EDGE_THEOREM] = theorem(s, t);
    }
    router_gaps(&v[EDGE_INSIDE], &v[EDGE_ACROSS], s->h, s->set, s->cfg->router.experts);
    v[EDGE_DRIFT] = drift(s, t);
    if (s->routed > 0) {
        v[EDGE_HOME] = (double)s->home / s->routed;
        v[EDGE_READY] = (double)s->ready / s->routed;
        v[EDGE_WAITED] = s->slots_waited / s->routed;
    }
    s->routed = s->home = s->ready = 0;
    s->slots_waited = 0;
    for (int i = 0; i < EDGE_SERIES; i++)
        at[(size_t)i * (size_t)points] = v[i];
}

static void edge_sim_note(struct sim *s, int t)
{
    if (t == edge_sim_t1(s->cfg)) memcpy(s->at_t1, s->recall.learned, sizeof s->at_t1);
    if (t == edge_sim_t2(s->cfg)) memcpy(s->at_t2, s->w, sizeof s->at_t2);
}

int edge_sim_run(double *out, struct edge_sim_end *end, const struct edge_sim_cfg *c,
                 const struct task_pool *pool, const int *grid, int points, uint64_t seed,
                 int repetition)
{
    struct task_pool own;
    if (!pool) {
        edge_sim_pool(&own, c, seed, repetition);
        pool = &own;
    }
    struct sim *s = edge_sim_start(c, pool, seed, repetition);
    if (!s) return ERR_MEMORY;

    int p = 0;
    for (int t = 1;
         t <= c->slots || servers_busy(&s->servers) || s->servers.next <= c->slots; t++) {
        edge_sim_finish(s, t);
        edge_sim_route(s, t);
        edge_sim_note(s, t);
        if (p < points && t == grid[p]) edge_sim_measure(&out[p++], points, s, t);
    }
    assert(p == points);

    double r = 1 - (double)c->task.s / c->task.d;
    renew_sets(s);
    end->error = recall_error(&s->recall, (const double(*)[TASK_DIM])s->w);
    end->printed = recall_bound_g(&s->recall, NULL, r, s->norms.a, s->norms.b);
    end->exact = recall_exact_g(&s->recall, r, s->norms.a, s->norms.b);
    end->waited = s->servers.waited;
    end->wait = s->servers.wait / c->slots;
    end->delay = s->servers.delay / c->slots;
    memcpy(end->set, s->set, sizeof end->set);
    free(s);
    return 0;
}

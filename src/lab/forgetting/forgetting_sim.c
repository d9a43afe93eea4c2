#include "lab/forgetting/forgetting_sim.h"

#include "lab/forgetting/exact.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct forgetting_sim_cfg forgetting_sim_default(int experts, bool terminate)
{
    struct task_cfg task = {.d = 10,
                            .s = 6,
                            .tasks = 6,
                            .clusters = 3,
                            .sigma0 = .4,
                            .within = .3,
                            .sigma_t = .1,
                            .scale = 3,
                            .signal = true};
    struct router_cfg router = {.experts = experts,
                                .d = task.d,
                                .eta = .5,
                                .alpha = .5,
                                .noise = .3,
                                .gamma = pow(task.sigma0, 1.25)};
    return (struct forgetting_sim_cfg){.task = task,
                                       .router = router,
                                       .terminate = terminate,
                                       .settle = (int)ceil(experts / router.eta),
                                       .rounds = 1000};
}

enum stream { POOL, DATA, NOISE, STREAMS };

struct sim {
    const struct forgetting_sim_cfg *cfg;
    struct rng rng[STREAMS];
    struct task_pool pool;
    struct exact_norms norms;
    struct router gate;
    double theta[RECALL_EXPERTS * TASK_DIM]; /* the gate's */
    struct recall recall;
    double w[RECALL_EXPERTS][TASK_DIM];
    double h[RECALL_EXPERTS]; /* scores of the round, before the gate's step */
    bool stopped;

    /* what Theorem 1 needs of round T1 */
    int held[RECALL_EXPERTS];
    double bound_f;

    /* as they were at the last point */
    double old_w[RECALL_EXPERTS][TASK_DIM];
    int set[RECALL_EXPERTS];
};

static void forgetting_sim_start(struct sim *s, const struct forgetting_sim_cfg *c,
                                 const struct task_pool *pool, uint64_t seed,
                                 int repetition)
{
    memset(s, 0, sizeof *s);
    s->cfg = c;
    for (int i = 0; i < STREAMS; i++)
        rng_init(&s->rng[i], seed, (uint64_t)repetition * STREAMS + (uint64_t)i);
    if (pool)
        s->pool = *pool;
    else
        task_pool_draw(&s->pool, &c->task, &s->rng[POOL]);
    s->norms = exact_norms(&s->pool, c->task.tasks, c->task.d);
    router_init(&s->gate, &c->router, s->theta);
    recall_init(&s->recall, c->router.experts, c->task.d);
}

/* one round; returns the expert, and the task in *task */
static int forgetting_sim_play(struct sim *s, int t, int *task)
{
    const struct forgetting_sim_cfg *c = s->cfg;
    *task = (int)rng_below(&s->rng[DATA], (uint32_t)c->task.tasks);
    const double *truth = s->pool.w[*task];
    struct task_data x;
    task_draw(&x, &c->task, truth, &s->rng[DATA]);

    router_scores(s->h, &s->gate, x.sum);
    int m = router_pick(&s->gate, s->h, NULL, &s->rng[NOISE]);
    double moved = task_learn(s->w[m], &c->task, &x, truth);
    router_count(&s->gate, m);
    recall_add(&s->recall, m, truth, s->w[m]);

    if (t > c->settle) router_converge(&s->gate, s->h, m);
    if (c->terminate && router_settled(&s->gate)) s->stopped = true;
    if (!s->stopped) router_step(&s->gate, s->h, x.sum, m, moved);
    return m;
}

static void theorem(double *f, double *g, struct sim *s, int t)
{
    double r = 1 - (double)s->cfg->task.s / s->cfg->task.d, a = s->norms.a,
           b = s->norms.b;
    int settle = s->cfg->settle;
    if (t <= settle) {
        *f = recall_bound_f(&s->recall, r, a, b);
        *g = recall_bound_g(&s->recall, NULL, r, a, b);
    } else {
        *f = s->bound_f * (settle - 1) / (t - 1);
        *g = recall_bound_g(&s->recall, s->held, r, a, b);
    }
}

static int set_of(const struct sim *s, int m)
{
    /* v = scale w, so w decides */
    return s->pool.cluster[router_specialty(&s->gate, m, s->pool.w[0], s->cfg->task.tasks,
                                            TASK_DIM)];
}

/* shares of the experts in the largest and in the smallest set */
static void sizes(double *largest, double *smallest, const struct sim *s)
{
    int experts = s->cfg->router.experts, size[TASK_POOL] = {0};
    for (int m = 0; m < experts; m++)
        size[s->set[m]]++;
    *largest = 0;
    *smallest = 1;
    for (int n = 0; n < s->cfg->task.clusters; n++) {
        *largest = fmax(*largest, (double)size[n] / experts);
        *smallest = fmin(*smallest, (double)size[n] / experts);
    }
}

static void forgetting_sim_measure(double *at, int points, struct sim *s, int t)
{
    int experts = s->cfg->router.experts, changed = 0;
    double travel = 0;
    for (int m = 0; m < experts; m++) {
        int set = set_of(s, m);
        changed += set != s->set[m];
        s->set[m] = set;
        travel += sqrt(task_distance2(s->w[m], s->old_w[m], s->cfg->task.d)) / experts;
    }
    memcpy(s->old_w, s->w, sizeof s->w);

    double v[FORGETTING_SERIES];
    v[FORGETTING_FORGOT] = recall_forgot(&s->recall, (const double(*)[TASK_DIM])s->w);
    v[FORGETTING_ERROR] = recall_error(&s->recall, (const double(*)[TASK_DIM])s->w);
    theorem(&v[FORGETTING_BOUND_F], &v[FORGETTING_BOUND_G], s, t);
    router_gaps(&v[FORGETTING_INSIDE], &v[FORGETTING_ACROSS], s->h, s->set, experts);
    v[FORGETTING_MOVED] = (double)changed / experts;
    v[FORGETTING_TRAVEL] = travel;
    sizes(&v[FORGETTING_LARGEST], &v[FORGETTING_SMALLEST], s);
    v[FORGETTING_RUNNING] = !s->stopped;
    for (int i = 0; i < FORGETTING_SERIES; i++)
        at[(size_t)i * (size_t)points] = v[i];
}

void forgetting_sim_run(double *out, struct forgetting_sim_end *end,
                        const struct forgetting_sim_cfg *c, const struct task_pool *pool,
                        const int *grid, int points, uint64_t seed, int repetition)
{
    struct sim s;
    forgetting_sim_start(&s, c, pool, seed, repetition);
    memset(end, 0, sizeof *end);
    int p = 0;
    for (int t = 1; t <= c->rounds; t++) {
        int task, m = forgetting_sim_play(&s, t, &task);
        if (s.stopped && !end->stopped) end->stopped = t;
        if (2 * t > c->rounds) end->chosen[m][s.pool.cluster[task]]++;
        if (t == c->settle) {
            double r = 1 - (double)c->task.s / c->task.d;
            memcpy(s.held, s.recall.learned, sizeof s.held);
            s.bound_f = t > 1 ? recall_bound_f(&s.recall, r, s.norms.a, s.norms.b) : 0;
        }
        if (p < points && t == grid[p]) forgetting_sim_measure(&out[p++], points, &s, t);
    }
    assert(p == points);
    for (int m = 0; m < c->router.experts; m++)
        end->set[m] = set_of(&s, m);
}

void forgetting_sim_sets(int *set, const struct forgetting_sim_cfg *c, const int *grid,
                         int points, uint64_t seed, int repetition)
{
    struct sim s;
    forgetting_sim_start(&s, c, NULL, seed, repetition);
    for (int t = 1, p = 0; p < points; t++) {
        int task;
        forgetting_sim_play(&s, t, &task);
        if (t < grid[p]) continue;
        for (int m = 0; m < c->router.experts; m++)
            *set++ = set_of(&s, m);
        p++;
    }
}

struct forgetting_sim_spread forgetting_sim_spread(const struct forgetting_sim_end *end,
                                                   int experts, int clusters)
{
    struct forgetting_sim_spread out = {0, 0, 0};
    int served = 0, met = 0;
    for (int n = 0; n < clusters; n++) {
        double all = 0, home = 0, entropy = 0;
        int size = 0;
        for (int m = 0; m < experts; m++) {
            all += end->chosen[m][n];
            if (end->set[m] != n) continue;
            home += end->chosen[m][n];
            size++;
        }
        if (!size) continue;
        served++;
        out.home += all > 0 ? home / all : 0;
        if (home <= 0) continue; /* no picks inside the set: no shares */
        met++;
        for (int m = 0; m < experts; m++) {
            double share = end->set[m] == n ? end->chosen[m][n] / home : 0;
            if (share > 0) entropy -= share * log(share);
        }
        out.even += exp(entropy) / size;
    }
    out.served = (double)served / clusters;
    if (served) out.home /= served;
    if (met) out.even /= met;
    return out;
}

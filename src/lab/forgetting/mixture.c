#include "lab/forgetting/mixture.h"

#include "lab/forgetting/image_experts.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- settings ---- */

struct mixture_cfg mixture_default(bool edge, int experts, enum mixture_rule rule)
{
    struct task_cfg task = {.d = edge ? 15 : 10,
                            .s = edge ? 10 : 6,
                            .tasks = edge ? 10 : 6,
                            .clusters = edge ? 10 : 3,
                            .sigma0 = edge ? 0.6 : 0.4,
                            .within = 0.3,
                            .sigma_t = 0.1,
                            .scale = 3,
                            .signal = true};
    struct router_cfg router = {
        .experts = experts, .d = task.d, .eta = 0.2, .noise = 0.03};
    if (!edge)
        router = (struct router_cfg){.experts = experts,
                                     .d = task.d,
                                     .eta = 0.5,
                                     .alpha = 0.5,
                                     .noise = 0.3,
                                     .gamma = pow(task.sigma0, 1.25)};
    return (struct mixture_cfg){.edge = edge,
                                .rule = rule,
                                .rounds = edge ? 3000 : 1000,
                                .task = task,
                                .router = router,
                                .delta = 0.1};
}

struct mixture_cfg mixture_images(const struct digits_set *set, bool edge, int experts,
                                  enum mixture_rule rule)
{
    struct digits_cfg digits = digits_cfg_default();
    return (struct mixture_cfg){.edge = edge,
                                .rule = rule,
                                .task = {.tasks = digits.tasks, .clusters = digits.tasks},
                                .router = {.experts = experts},
                                .delta = 0.1,
                                .images = set,
                                .digits = digits};
}

struct router_cfg mixture_image_router(bool edge, int experts, int pixels, double sigma0)
{
    struct router_cfg c = {.experts = experts,
                           .d = pixels,
                           .eta = sqrt(sigma0),
                           .noise = edge ? sigma0 * sigma0 : pow(sigma0, 1.25)};
    if (!edge) {
        c.alpha = sqrt(sigma0);
        c.gamma = pow(sigma0, 1.25);
    }
    return c;
}

int mixture_t1(const struct mixture_cfg *c)
{
    double experts = c->router.experts;
    return c->edge ? SERVERS_DELAY + (int)ceil(experts * log(experts / c->delta))
                   : (int)ceil(experts / c->router.eta);
}

double mixture_mth(const struct mixture_cfg *c)
{
    return fmin(SERVERS_DELAY, log(1 / c->delta) / log(c->task.clusters));
}

double mixture_need(const struct mixture_cfg *c)
{
    return c->task.clusters * mixture_mth(c) * log(1 / c->delta);
}

int mixture_t2(const struct mixture_cfg *c)
{
    double settle = c->task.clusters * (mixture_mth(c) + log(1 / c->delta));
    return mixture_t1(c) + SERVERS_DELAY + (int)ceil(settle);
}

/* mean squared distance of a task's truth from its cluster's centre */
static double own_part(const struct task_cfg *c)
{
    return c->d * pow(c->within * c->sigma0 * c->sigma0, 2);
}

struct exact_norms mixture_norms(const struct task_pool *p, const struct mixture_cfg *c)
{
    struct exact_norms n = exact_norms(p, c->task.tasks, c->task.d);
    if (c->edge) {
        n.a += own_part(&c->task);
        n.b += 2 * own_part(&c->task);
    }
    return n;
}

/* ---- state ---- */

/* Ids of a repetition's streams. Continual learning draws all data from one stream and all noise from
 * another; in the edge setting a task has one of its own from FIRST on. */
enum { WORLD, DATA, NOISE, STREAMS, SERVERS = 1, FIRST = 2 };

static void mixture_stream(struct rng *r, const struct mixture_cfg *c, uint64_t seed,
                           int repetition, int id)
{
    uint64_t rep = (uint64_t)repetition, images = c->images != NULL;
    uint64_t stream =
        c->edge ? (rep << 32) + (images << 30) : (images << 20) + rep * STREAMS;
    rng_init(r, seed, stream + (uint64_t)id);
}

void mixture_pool(struct task_pool *p, const struct mixture_cfg *c, uint64_t seed,
                  int repetition)
{
    struct task_cfg centres = c->task;
    if (c->edge) centres.within = 0;
    struct rng r;
    mixture_stream(&r, c, seed, repetition, WORLD);
    task_pool_draw(p, &centres, &r);
}

/* a task under way, or the one that is being routed */
struct work {
    int task; /* its kind, or its number in the pool */
    double h[RECALL_EXPERTS];
    struct servers_task delays;
    struct task_data x; /* linear: these two */
    double truth[TASK_DIM];
    struct digits_round image;
};

struct sim {
    struct mixture_cfg cfg; /* with the images' own gate */
    uint64_t seed;
    int repetition, t1, t2;
    struct rng data, noise; /* continual */
    struct router gate;
    double *theta; /* the gate's */
    bool stopped;  /* the gate */

    /* linear */
    struct task_pool pool;
    struct exact_norms norms;
    struct recall recall;
    double w[RECALL_EXPERTS][TASK_DIM];
    int at_t1[RECALL_EXPERTS]; /* L at T1 */
    double bound_f;            /* of F at T1 */
    double at_t2[RECALL_EXPERTS][TASK_DIM];

    struct image_experts *images;
    struct servers servers;

    int set[RECALL_EXPERTS];
    bool stale;         /* the gate took a step since the sets were renewed */
    const double *last; /* scores of the last routed task */

    /* at the last point, and since then */
    int old_set[RECALL_EXPERTS];
    double old_w[RECALL_EXPERTS][TASK_DIM];
    int routed, home, ready, special, learned;
    double moved;

    struct work work[]; /* edge: by expert; continual: one */
};

static int mixture_start(struct sim *s, const struct task_pool *pool, struct err *e)
{
    struct mixture_cfg *c = &s->cfg;
    int experts = c->router.experts;
    struct rng r;
    if (c->images) {
        mixture_stream(&r, c, s->seed, s->repetition, WORLD);
        s->images = image_experts_new(c->images, &c->digits, experts, &r, e);
        if (!s->images) return ERR_MEMORY;
        const struct digits *d = s->images->digits;
        c->router =
            mixture_image_router(c->edge, experts, digits_pixels(d), digits_sigma0(d));
    } else {
        if (pool)
            s->pool = *pool;
        else
            mixture_pool(&s->pool, c, s->seed, s->repetition);
        s->norms = mixture_norms(&s->pool, c);
        recall_init(&s->recall, experts, c->task.d);
    }
    s->theta = calloc((size_t)experts * (size_t)c->router.d, sizeof *s->theta);
    if (!s->theta) return err_set(e, ERR_MEMORY, "no memory for a gate");
    router_init(&s->gate, &c->router, s->theta);
    s->last = s->work[0].h;
    s->t1 = mixture_t1(c);
    if (c->edge) {
        s->t2 = mixture_t2(c);
        mixture_stream(&r, c, s->seed, s->repetition, SERVERS);
        servers_init(&s->servers, experts, &r);
    } else {
        mixture_stream(&s->data, c, s->seed, s->repetition, DATA);
        mixture_stream(&s->noise, c, s->seed, s->repetition, NOISE);
    }
    return 0;
}

static void mixture_stop(struct sim *s)
{
    image_experts_free(s->images);
    free(s->theta);
    free(s);
}

/* ---- expert sets ---- */

static void renew_sets(struct sim *s)
{
    if (!s->stale) return;
    s->stale = false;
    const double *signal = s->images ? digits_signal(s->images->digits) : s->pool.w[0];
    int stride = s->images ? s->gate.cfg.d : TASK_DIM;
    for (int m = 0; m < s->gate.cfg.experts; m++) {
        /* linear: v = scale w, so w decides */
        int n = router_specialty(&s->gate, m, signal, s->cfg.task.tasks, stride);
        s->set[m] = s->images ? n : s->pool.cluster[n];
    }
}

/* Counts whether the task found an expert of its own set, and got it. */
static void count_home(struct sim *s, const struct work *k, int m)
{
    if (!s->cfg.edge && !s->images) return;
    renew_sets(s);
    bool ready = false;
    for (int i = 0; i < s->gate.cfg.experts && s->cfg.edge; i++)
        ready = ready || (s->servers.idle[i] && s->set[i] == k->task);
    s->routed++;
    s->ready += ready;
    s->home += s->set[m] == k->task;
}

static void count_special(struct sim *s, const struct work *k, int m)
{
    if (s->images) s->special += image_experts_habit(s->images, m) == k->task;
}

/* ---- one task ---- */

static void draw_work(struct work *k, const struct sim *s, struct rng *r)
{
    const struct mixture_cfg *c = &s->cfg;
    k->task = (int)rng_below(r, (uint32_t)c->task.tasks);
    if (c->edge) servers_arrive(&k->delays, &s->servers, r);
    if (s->images) {
        digits_draw(&k->image, s->images->digits, k->task, r);
        router_scores(k->h, &s->gate, k->image.x);
        return;
    }
    if (c->edge)
        task_member(k->truth, s->pool.w[k->task], &c->task, r);
    else
        memcpy(k->truth, s->pool.w[k->task], sizeof k->truth);
    task_draw(&k->x, &c->task, k->truth, r);
    router_scores(k->h, &s->gate, k->x.sum);
}

/* Expert m learns the task; returns how far it moved. */
static double learn_work(struct sim *s, int m, const struct work *k)
{
    double moved;
    if (s->images) {
        moved = image_experts_learn(s->images, m, &k->image, !s->cfg.edge);
    } else {
        moved = task_learn(s->w[m], &s->cfg.task, &k->x, k->truth);
        recall_add(&s->recall, m, k->truth, s->w[m]);
    }
    router_count(&s->gate, m);
    s->learned++;
    s->moved += moved;
    return moved;
}

static void step_gate(struct sim *s, const struct work *k, int m, double moved)
{
    router_step(&s->gate, k->h, s->images ? k->image.x : k->x.sum, m, moved);
    s->stale = true;
}

/* ---- continual learning ---- */

static void play_round(struct sim *s, struct mixture_end *end, int t)
{
    struct work *k = &s->work[0];
    draw_work(k, s, &s->data);
    int m = router_pick(&s->gate, k->h, NULL, &s->noise);
    count_home(s, k, m);
    double moved = learn_work(s, m, k);
    count_special(s, k, m);

    if (t > s->t1) router_converge(&s->gate, k->h, m);
    if (s->cfg.rule == MIXTURE_STOP && router_settled(&s->gate)) s->stopped = true;
    if (!s->stopped) step_gate(s, k, m, moved);

    if (s->stopped && !end->stopped) end->stopped = t;
    if (2 * t > s->cfg.rounds)
        end->chosen[m][s->images ? k->task : s->pool.cluster[k->task]]++;
}

/* ---- edge computing ---- */

/* experts whose task ends in slot t learn it */
static void finish_tasks(struct sim *s, int t)
{
    bool step = s->cfg.rule == MIXTURE_ON || (s->cfg.rule == MIXTURE_STOP && t <= s->t1);
    for (int m = 0; m < s->gate.cfg.experts; m++) {
        if (!servers_finish(&s->servers, m, t)) continue;
        double moved = learn_work(s, m, &s->work[m]);
        if (step) step_gate(s, &s->work[m], m, moved);
    }
}

static int choose_server(const struct sim *s, const struct work *k, struct rng *r)
{
    switch (s->cfg.rule) {
    case MIXTURE_NEAREST:
        return servers_nearest(&s->servers, &k->delays);
    case MIXTURE_POWERFUL:
        return servers_powerful(&s->servers, &k->delays);
    default:
        return router_pick(&s->gate, k->h, s->servers.idle, r);
    }
}

/* routes the tasks in line while a server is idle; task i arrived in slot i */
static void route_tasks(struct sim *s, int t)
{
    while (servers_ready(&s->servers, t, s->cfg.rounds)) {
        struct work k;
        struct rng r;
        mixture_stream(&r, &s->cfg, s->seed, s->repetition, FIRST + s->servers.next);
        draw_work(&k, s, &r);
        int m = choose_server(s, &k, &r);
        count_home(s, &k, m);
        count_special(s, &k, m);
        servers_start(&s->servers, m, &k.delays, t);
        s->work[m] = k;
        s->last = s->work[m].h;
    }
}

/* ---- what is measured ---- */

static double left_of(const struct sim *s)
{
    return 1 - (double)s->cfg.task.s / s->cfg.task.d;
}

/* Theorem 1 and what it needs of round T1; Theorem 2 */
static void note_t1(struct sim *s, int t)
{
    if (s->images) return;
    if (s->cfg.edge && t == s->t2) memcpy(s->at_t2, s->w, sizeof s->at_t2);
    if (t != s->t1) return;
    memcpy(s->at_t1, s->recall.learned, sizeof s->at_t1);
    s->bound_f =
        t > 1 ? recall_bound_f(&s->recall, left_of(s), s->norms.a, s->norms.b) : 0;
}

static void theorem_1(double *v, const struct sim *s, int t)
{
    double r = left_of(s), a = s->norms.a, b = s->norms.b;
    bool early = t <= s->t1;
    v[MIXTURE_BOUND_F] =
        early ? recall_bound_f(&s->recall, r, a, b) : s->bound_f * (s->t1 - 1) / (t - 1);
    v[MIXTURE_BOUND_G] = recall_bound_g(&s->recall, early ? NULL : s->at_t1, r, a, b);
}

static double theorem_2(const struct sim *s, int t)
{
    const struct recall *l = &s->recall;
    double r = left_of(s), sum = 0;
    for (int m = 0; m < l->experts; m++) {
        int all = l->learned[m], before = t <= s->t1 ? all : s->at_t1[m];
        sum += all * (pow(r, all) * s->norms.a +
                      (1 - pow(r, before)) * pow(r, all - before) * s->norms.b);
    }
    return sum / l->rounds + 2 * own_part(&s->cfg.task);
}

static double drift(const struct sim *s, int t)
{
    int experts = s->gate.cfg.experts;
    double mean = 0;
    if (t < s->t2) return (double)NAN;
    for (int m = 0; m < experts; m++) {
        double far = 0;
        for (int i = 0; i < s->cfg.task.d; i++)
            far = fmax(far, fabs(s->w[m][i] - s->at_t2[m][i]));
        mean += far / experts;
    }
    return mean;
}

/* shares of the experts in the largest and in the smallest set */
static void set_sizes(double *v, const struct sim *s)
{
    int experts = s->gate.cfg.experts, size[TASK_POOL] = {0};
    for (int m = 0; m < experts; m++)
        size[s->set[m]]++;
    v[MIXTURE_LARGEST] = 0;
    v[MIXTURE_SMALLEST] = 1;
    for (int n = 0; n < s->cfg.task.clusters; n++) {
        v[MIXTURE_LARGEST] = fmax(v[MIXTURE_LARGEST], (double)size[n] / experts);
        v[MIXTURE_SMALLEST] = fmin(v[MIXTURE_SMALLEST], (double)size[n] / experts);
    }
}

/* since the last point */
static void changes(double *v, struct sim *s)
{
    int experts = s->gate.cfg.experts, changed = 0;
    double travel = 0;
    for (int m = 0; m < experts; m++) {
        changed += s->set[m] != s->old_set[m];
        travel += sqrt(task_distance2(s->w[m], s->old_w[m], s->cfg.task.d)) / experts;
    }
    v[MIXTURE_CHANGED] = (double)changed / experts;
    v[MIXTURE_TRAVEL] = travel;
    memcpy(s->old_set, s->set, sizeof s->set);
    memcpy(s->old_w, s->w, sizeof s->w);
}

static double mixture_share(double part, int of)
{
    return of ? part / of : (double)NAN;
}

static void shares(double *v, struct sim *s)
{
    bool gated = s->cfg.rule <= MIXTURE_ON && s->gate.cfg.experts > 1;
    if (gated) v[MIXTURE_HOME] = mixture_share(s->home, s->routed);
    if (gated && s->cfg.edge) v[MIXTURE_READY] = mixture_share(s->ready, s->routed);
    if (s->images) {
        v[MIXTURE_SPECIAL] = mixture_share(s->special, s->routed);
        v[MIXTURE_STEP] = mixture_share(s->moved, s->learned);
    }
    s->routed = s->home = s->ready = s->special = s->learned = 0;
    s->moved = 0;
}

static double mixture_error(struct sim *s)
{
    if (s->images) return image_experts_error(s->images);
    return s->recall.rounds ? recall_error(&s->recall, (const double(*)[TASK_DIM])s->w)
                            : (double)NAN;
}

static double mixture_forgot(struct sim *s)
{
    if (s->cfg.edge) return (double)NAN;
    return s->images ? image_experts_forgot(s->images)
                     : recall_forgot(&s->recall, (const double(*)[TASK_DIM])s->w);
}

/* all but MIXTURE_CORE */
static void measure_more(double *v, struct sim *s, int t)
{
    bool edge = s->cfg.edge, linear = !s->images;
    if (!edge) renew_sets(s);
    router_gaps(&v[MIXTURE_INSIDE], &v[MIXTURE_ACROSS], s->last, s->set,
                s->gate.cfg.experts);
    if (!edge) v[MIXTURE_RUNNING] = !s->stopped;
    if (linear && !edge) {
        theorem_1(v, s, t);
        set_sizes(v, s);
        changes(v, s);
    }
    if (linear && edge && s->recall.rounds) {
        v[MIXTURE_EXACT] = recall_exact_g(&s->recall, left_of(s), s->norms.a, s->norms.b);
        v[MIXTURE_BOUND_G] = theorem_2(s, t);
    }
    if (linear && edge) v[MIXTURE_DRIFT] = drift(s, t);
    shares(v, s);
}

static void mixture_measure(const struct mixture_to *to, int point, struct sim *s, int t)
{
    double v[MIXTURE_SERIES];
    for (int i = 0; i < MIXTURE_SERIES; i++)
        v[i] = (double)NAN;
    v[MIXTURE_ERROR] = mixture_error(s);
    v[MIXTURE_FORGOT] = mixture_forgot(s);
    if (to->series > MIXTURE_CORE) measure_more(v, s, t);
    for (int i = 0; i < to->series; i++)
        to->value[(size_t)i * (size_t)to->points + (size_t)point] = v[i];
    int experts = s->gate.cfg.experts;
    if (to->set)
        memcpy(to->set + point * experts, s->set, (size_t)experts * sizeof *to->set);
}

static void mixture_finish(struct mixture_end *end, struct sim *s)
{
    int rounds = s->cfg.rounds;
    renew_sets(s);
    memcpy(end->set, s->set, sizeof end->set);
    end->error = mixture_error(s);
    end->t1 = s->t1;
    if (s->images) {
        end->sigma0 = digits_sigma0(s->images->digits);
    } else {
        double r = left_of(s), a = s->norms.a, b = s->norms.b;
        end->printed = recall_bound_g(&s->recall, NULL, r, a, b);
        end->exact = recall_exact_g(&s->recall, r, a, b);
    }
    end->waited = s->servers.waited;
    end->wait = s->servers.wait / rounds;
    end->delay = s->servers.delay / rounds;
}

int mixture_run(struct mixture_end *end, const struct mixture_to *to,
                const struct mixture_cfg *c, const struct task_pool *pool, uint64_t seed,
                int repetition, struct err *e)
{
    size_t works = c->edge ? (size_t)c->router.experts : 1;
    struct sim *s = calloc(1, sizeof *s + works * sizeof s->work[0]);
    if (!s) return err_set(e, ERR_MEMORY, "no memory for a repetition");
    s->cfg = *c;
    s->seed = seed;
    s->repetition = repetition;
    memset(end, 0, sizeof *end);
    int rc = mixture_start(s, pool, e);
    if (rc) goto out;

    int p = 0;
    for (int t = 1; t <= c->rounds || (c->edge && (servers_busy(&s->servers) ||
                                                   s->servers.next <= c->rounds));
         t++) {
        if (c->edge) {
            finish_tasks(s, t);
            route_tasks(s, t);
        } else {
            play_round(s, end, t);
        }
        note_t1(s, t);
        if (p < to->points && t == to->grid[p]) mixture_measure(to, p++, s, t);
    }
    assert(p == to->points);
    mixture_finish(end, s);
out:
    mixture_stop(s);
    return rc;
}

struct mixture_spread mixture_spread(const struct mixture_end *end, int experts,
                                     int clusters)
{
    struct mixture_spread out = {0, 0, 0};
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

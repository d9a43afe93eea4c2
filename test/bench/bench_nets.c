/* Speed of the networks: one decision, a rollout's forward pass, a gradient step.
 *
 * Every figure is CPU time of this thread, the best of a few repetitions, so that a busy
 * machine does not pass for a slow program. The gradient step is told in GFLOP/s beside the
 * peak of one large sgemm in the same run: products only are counted (two operations per
 * multiply-add), the rest of the step's time is its overhead. */
#include "base/clock.h"
#include "moe/policy.h"
#include "nn/adam.h"
#include "nn/blas.h"

#include <stdio.h>
#include <stdlib.h>

enum { WIDEST = 128, ACTIONS = 12, EXPERTS = 3, BATCH = 256, ROLLOUT = 64 };
static const int INPUTS[] = {48, WIDEST}; /* the paper's observation, the full one */

static float *numbers(size_t n, uint64_t seed)
{
    struct rng r;
    rng_init(&r, seed, 0);
    float *x = malloc(sizeof *x * n);
    if (!x) exit(1);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)rng_normal(&r);
    return x;
}

/* seconds per call: the best of 5 repetitions of at least ~20 ms */
static double best_of(void (*fn)(void *ctx), void *ctx)
{
    int calls = 1;
    double best = 1e9;
    for (int rep = 0; rep < 5;) {
        double t = clock_thread_cpu();
        for (int i = 0; i < calls; i++)
            fn(ctx);
        t = clock_thread_cpu() - t;
        if (t < 0.02) {
            calls *= 2;
            continue;
        }
        rep++;
        if (t / calls < best) best = t / calls;
    }
    return best;
}

struct gemm {
    float *a, *b, *c;
    int n;
};

static void run_gemm(void *ctx)
{
    struct gemm *g = ctx;
    blas_gemm_nn(g->c, g->a, g->b, g->n, g->n, g->n, 0.0f);
}

static double peak_gflops(void)
{
    struct gemm g = {.n = 512};
    size_t n = (size_t)g.n * (size_t)g.n;
    g.a = numbers(n, 1), g.b = numbers(n, 2), g.c = numbers(n, 3);
    double s = best_of(run_gemm, &g);
    free(g.a), free(g.b), free(g.c);
    return 2e-9 * (double)n * g.n / s;
}

struct bench {
    struct policy *p;
    struct policy_ws *decide_ws;
    struct mix_ws *ws;
    float *x, *y, *dy, *grad, *m, *v;
    int rows, turn;
};

static void run_actor(void *ctx)
{
    struct bench *b = ctx;
    b->turn = (b->turn + 1) % BATCH;
    mix_forward(b->y, NULL, NULL, b->p->actor, b->ws, b->x + b->turn * b->p->cfg.obs_dim,
                NULL, 1);
}

static void run_decide(void *ctx)
{
    struct bench *b = ctx;
    struct policy_choice c;
    b->turn = (b->turn + 1) % BATCH;
    if (policy_decide(&c, b->p, b->decide_ws, b->x + b->turn * b->p->cfg.obs_dim, 0xfff,
                      0.5))
        exit(1);
}

static void run_forward(void *ctx)
{
    struct bench *b = ctx;
    mix_forward(b->y, NULL, NULL, b->p->actor, b->ws, b->x, NULL, b->rows);
}

static void run_pass(void *ctx)
{
    struct bench *b = ctx;
    mix_forward(b->y, NULL, NULL, b->p->actor, b->ws, b->x, NULL, b->rows);
    mix_backward(b->grad, NULL, b->p->actor, b->ws, b->dy, 0.01f);
}

static void run_adam(void *ctx)
{
    struct bench *b = ctx;
    struct adam_cfg c = adam_cfg_default();
    c.lr = 0; /* the same weights every time */
    adam_step(b->p->actor->theta, b->m, b->v, b->grad, b->p->actor->n, &c, 1, 1e-3f);
}

/* floating point operations of the products in forward and backward, per row: the input's
 * gradient is not needed */
static double operations(const struct mix_cfg *c)
{
    double in = c->in, h = c->hidden, all = 0;
    for (int l = 0; l <= c->layers; l++) {
        double weights = (l ? h : in) * (l < c->layers ? h : c->out);
        all += 2 * weights * (l ? 3 : 2);
    }
    if (c->route == MIX_DENSE) all *= c->experts;
    return all + (c->route == MIX_SINGLE ? 0 : 4 * in * c->experts);
}

static void bench_one(int inputs, int hidden, enum mix_route route, double peak)
{
    struct policy_cfg c = policy_cfg_default(inputs);
    c.hidden = c.critic_hidden = hidden;
    c.route = c.critic_route = route;
    c.experts = c.critic_experts = route == MIX_SINGLE ? 1 : EXPERTS;
    struct bench b = {.p = policy_new(&c, NULL), .decide_ws = policy_ws_new(&c, NULL)};
    if (!b.p || !b.decide_ws) exit(1);
    policy_init(b.p, 1);
    b.ws = mix_ws_new(&b.p->actor->cfg, BATCH, NULL);
    b.x = numbers((size_t)(BATCH * inputs), 4);
    b.y = numbers(BATCH * ACTIONS, 5);
    b.dy = numbers(BATCH * ACTIONS, 6);
    b.grad = calloc(b.p->actor->n, sizeof(float));
    b.m = calloc(b.p->actor->n, sizeof(float));
    b.v = calloc(b.p->actor->n, sizeof(float));
    if (!b.ws || !b.grad || !b.m || !b.v) exit(1);
    /* routers that send rows to every expert */
    struct rng r;
    rng_init(&r, 2, 0);
    for (size_t i = 0; i < mix_router(&b.p->actor->cfg).n; i++)
        b.p->actor->theta[i] = 0.1f * (float)rng_normal(&r);

    double actor = best_of(run_actor, &b), decide = best_of(run_decide, &b);
    b.rows = ROLLOUT;
    double rollout = best_of(run_forward, &b);
    b.rows = BATCH;
    double pass = best_of(run_pass, &b), adam = best_of(run_adam, &b);
    double rate = 1e-9 * BATCH * operations(&b.p->actor->cfg) / pass;
    printf("%6d %6d  %-6s %9.3f %9.3f %9.3f %9.1f %7.1f %5.0f%% %8.1f %8.2f\n", inputs,
           hidden, mix_route_word(route), 1e6 * actor, 1e6 * decide,
           1e6 * rollout / ROLLOUT, 1e6 * pass, rate, 100 * rate / peak, 1e6 * adam,
           1e9 * adam / (double)b.p->actor->n);
    fflush(stdout);

    policy_free(b.p);
    policy_ws_free(b.decide_ws);
    mix_ws_free(b.ws);
    free(b.x), free(b.y), free(b.dy), free(b.grad), free(b.m), free(b.v);
}

int main(void)
{
    double peak = peak_gflops();
    printf("networks: 2 hidden layers, %d outputs, %d experts; %s\n", ACTIONS, EXPERTS,
           blas_config());
    printf("peak: sgemm 512 x 512 x 512 %.1f GFLOP/s, one thread\n", peak);
    printf("                    one row [us]       of %d     gradient, %d rows         "
           "Adam\n",
           ROLLOUT, BATCH);
    printf("inputs hidden  route     actor   decide*  row [us]      [us]  GFLOP/s  peak"
           "     [us] ns/param\n");
    static const int hidden[] = {18, 64, 128};
    static const enum mix_route routes[] = {MIX_SINGLE, MIX_TOP1, MIX_DENSE};
    for (int n = 0; n < 2; n++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                bench_one(INPUTS[n], hidden[i], routes[j], peak);
    printf("* policy_decide: actor, critic, softmax, sample\n");
    return 0;
}

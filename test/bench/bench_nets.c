/* Speed of the networks: a rollout's forward pass, a gradient step, the Adam step, by
 * inputs, width, route, batch and number of experts.
 *
 * The gradient is told in GFLOP/s beside the peak of one large product in the same run:
 * products only are counted (two operations per multiply-add), the rest of the step's time
 * is its overhead. */
#include "policy/policy.h"
#include "nn/adam.h"
#include "nn/blas.h"
#include "support/bench.h"

#include <stdio.h>
#include <stdlib.h>

enum { WIDEST = 128, ACTIONS = 12, EXPERTS = 3, BATCH = 256, ROLLOUT = 64, SAMPLES = 5 };
static const int INPUTS[] = {48, WIDEST}; /* the paper's observation, the full one */

static float *numbers(size_t n, uint64_t seed)
{
    struct rng r;
    rng_init(&r, seed, 0);
    float *x = malloc(sizeof *x * n);
    if (!x) bench_fail("no memory");
    for (size_t i = 0; i < n; i++)
        x[i] = (float)rng_normal(&r);
    return x;
}

struct nets {
    struct mix *m;
    struct mix_ws *ws;
    float *x, *y, *dy, *grad, *m1, *m2;
    int rows;
};

static void run_forward(void *ctx)
{
    struct nets *b = ctx;
    mix_forward(b->y, NULL, NULL, b->m, b->ws, b->x, NULL, b->rows);
}

static void run_pass(void *ctx)
{
    struct nets *b = ctx;
    mix_forward(b->y, NULL, NULL, b->m, b->ws, b->x, NULL, b->rows);
    mix_backward(b->grad, NULL, b->m, b->ws, b->dy, 0.01f);
}

static void run_adam(void *ctx)
{
    struct nets *b = ctx;
    struct adam_cfg c = adam_cfg_default();
    c.lr = 0; /* the same weights every time */
    adam_step(b->m->theta, b->m1, b->m2, b->grad, b->m->n, &c, 1, 1e-3f);
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

static struct nets nets_new(struct mix_cfg c, int rows)
{
    struct nets b = {.m = mix_new(&c, NULL), .rows = rows};
    if (!b.m) bench_fail("no memory");
    struct rng r;
    rng_init(&r, 2, 0);
    mix_init(b.m, 1.0f, &r);
    /* routers that send rows to every expert */
    for (size_t i = 0; i < mix_router(&c).n; i++)
        b.m->theta[i] = 0.1f * (float)rng_normal(&r);
    b.ws = mix_ws_new(&c, rows, NULL);
    b.x = numbers((size_t)rows * (size_t)c.in, 4);
    b.y = numbers((size_t)rows * ACTIONS, 5);
    b.dy = numbers((size_t)rows * ACTIONS, 6);
    b.grad = calloc(b.m->n, sizeof(float));
    b.m1 = calloc(b.m->n, sizeof(float));
    b.m2 = calloc(b.m->n, sizeof(float));
    if (!b.ws || !b.grad || !b.m1 || !b.m2) bench_fail("no memory");
    return b;
}

static void nets_free(struct nets *b)
{
    mix_free(b->m);
    mix_ws_free(b->ws);
    free(b->x), free(b->y), free(b->dy), free(b->grad), free(b->m1), free(b->m2);
}

/* time per `per` as `unit`, which has `scale` in a second; the median */
static double put(struct bench *b, const char *shape, const char *what,
                  void (*fn)(void *), struct nets *n, double per, double scale,
                  const char *unit, const char *note)
{
    double s[SAMPLES];
    char key[96];
    bench_time(s, SAMPLES, .005, fn, n);
    for (int i = 0; i < SAMPLES; i++)
        s[i] *= scale / per;
    snprintf(key, sizeof key, "%s.%s", shape, what);
    bench_put(b, key, s, SAMPLES, unit, (struct bench_goal){0}, note);
    return bench_median(s, SAMPLES);
}

static void one_shape(struct bench *b, int inputs, int hidden, enum mix_route route,
                      double peak)
{
    struct mix_cfg c = {inputs, hidden, 2, ACTIONS, route == MIX_SINGLE ? 1 : EXPERTS,
                        route,  {0}};
    char shape[64], note[96], key[96];
    snprintf(shape, sizeof shape, "%s_%dx%d", mix_route_word(route), inputs, hidden);

    struct nets n = nets_new(c, ROLLOUT);
    put(b, shape, "forward", run_forward, &n, ROLLOUT, 1e6, "us/row", "64 rows");
    nets_free(&n);
    n = nets_new(c, BATCH);
    double us = put(b, shape, "gradient", run_pass, &n, BATCH, 1e6, "us/row", "256 rows");
    double rate = 1e-3 * operations(&c) / us;
    snprintf(key, sizeof key, "%s.gradient_rate", shape);
    snprintf(note, sizeof note, "%.0f %% of the peak", 100 * rate / peak);
    bench_one(b, key, rate, "GFLOP/s", note);
    put(b, shape, "adam", run_adam, &n, (double)n.m->n, 1e9, "ns/param", "");
    nets_free(&n);
}

static void growth(struct bench *b)
{
    static const int rows[] = {1, 4, 16, 62, 256, 1024}, experts[] = {1, 3, 6, 16, 64},
                     hidden[] = {18, 32, 64, 128, 256, 512};
    char shape[64];
    bench_say("how a gradient grows, top-1, %d inputs:", WIDEST);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct mix_cfg c = {WIDEST, 64, 2, ACTIONS, EXPERTS, MIX_TOP1, {0}};
        struct nets n = nets_new(c, rows[i]);
        snprintf(shape, sizeof shape, "batch_%d", rows[i]);
        put(b, shape, "gradient", run_pass, &n, rows[i], 1e6, "us/row",
            "3 experts of 64");
        nets_free(&n);
    }
    for (size_t i = 0; i < sizeof experts / sizeof *experts; i++) {
        struct mix_cfg c = {WIDEST, 64, 2, ACTIONS, experts[i], MIX_TOP1, {0}};
        struct nets n = nets_new(c, BATCH);
        snprintf(shape, sizeof shape, "experts_%d", experts[i]);
        put(b, shape, "gradient", run_pass, &n, BATCH, 1e6, "us/row", "of 64, 256 rows");
        nets_free(&n);
    }
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        struct mix_cfg c = {WIDEST, hidden[i], 2, ACTIONS, EXPERTS, MIX_TOP1, {0}};
        struct nets n = nets_new(c, BATCH);
        snprintf(shape, sizeof shape, "hidden_%d", hidden[i]);
        put(b, shape, "gradient", run_pass, &n, BATCH, 1e6, "us/row",
            "3 experts, 256 rows");
        nets_free(&n);
    }
}

int main(void)
{
    struct bench *b = bench_open("nets");
    double peak = bench_peak_gflops();
    bench_say("networks: 2 hidden layers, %d outputs, %d experts; %s", ACTIONS, EXPERTS,
              blas_config());
    bench_one(b, "peak", peak, "GFLOP/s", "512 x 512 x 512, one core");
    static const int hidden[] = {18, 64, 128};
    static const enum mix_route routes[] = {MIX_SINGLE, MIX_TOP1, MIX_DENSE};
    for (int n = 0; n < 2; n++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                one_shape(b, INPUTS[n], hidden[i], routes[j], peak);
    growth(b);
    bench_close(b);
    return 0;
}

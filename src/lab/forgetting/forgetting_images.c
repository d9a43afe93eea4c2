#include "lab/forgetting/forgetting_images.h"

#include "lab/forgetting/image_experts.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* apart from the streams of forgetting_sim.c */
enum stream { TASKS, DATA, NOISE, STREAMS, FIRST = 1 << 20 };

struct router_cfg forgetting_images_router(int experts, int pixels, double sigma0)
{
    return (struct router_cfg){.experts = experts,
                               .d = pixels,
                               .eta = sqrt(sigma0),
                               .alpha = sqrt(sigma0),
                               .noise = pow(sigma0, 1.25),
                               .gamma = pow(sigma0, 1.25)};
}

struct sim {
    const struct forgetting_images_cfg *cfg;
    struct rng rng[STREAMS];
    struct image_experts *experts;
    double *theta;
    struct router gate;
    double h[RECALL_EXPERTS];
    struct digits_round round;
    int settle;
    bool stopped;

    int set[RECALL_EXPERTS];
    /* since the last point */
    int rounds, home, special;
    double moved;
};

static int forgetting_images_start(struct sim *s, const struct forgetting_images_cfg *c,
                                   const struct digits_set *set, uint64_t seed,
                                   int repetition, struct err *e)
{
    s->cfg = c;
    for (int i = 0; i < STREAMS; i++)
        rng_init(&s->rng[i], seed, FIRST + (uint64_t)repetition * STREAMS + (uint64_t)i);
    s->experts = image_experts_new(set, &c->digits, c->experts, &s->rng[TASKS], e);
    if (!s->experts) return ERR_MEMORY;
    const struct digits *d = s->experts->digits;
    int pixels = digits_pixels(d);
    s->theta = calloc((size_t)c->experts * (size_t)pixels, sizeof *s->theta);
    if (!s->theta) return err_set(e, ERR_MEMORY, "no memory for a gate");
    struct router_cfg gate =
        forgetting_images_router(c->experts, pixels, digits_sigma0(d));
    router_init(&s->gate, &gate, s->theta);
    s->settle = (int)ceil(c->experts / gate.eta);
    return 0;
}

static void stop(struct sim *s)
{
    image_experts_free(s->experts);
    free(s->theta);
}

static void find_sets(struct sim *s)
{
    for (int m = 0; m < s->cfg->experts; m++)
        s->set[m] = router_specialty(&s->gate, m, digits_signal(s->experts->digits),
                                     s->cfg->digits.tasks, s->gate.cfg.d);
}

static void forgetting_images_play(struct sim *s, int t)
{
    const struct forgetting_images_cfg *c = s->cfg;
    int n = (int)rng_below(&s->rng[DATA], (uint32_t)c->digits.tasks);
    digits_draw(&s->round, s->experts->digits, n, &s->rng[DATA]);

    router_scores(s->h, &s->gate, s->round.x);
    int m = router_pick(&s->gate, s->h, NULL, &s->rng[NOISE]);
    find_sets(s);
    double moved = image_experts_learn(s->experts, m, &s->round, true);
    router_count(&s->gate, m);

    s->rounds++;
    s->home += s->set[m] == n;
    s->special += image_experts_habit(s->experts, m) == n;
    s->moved += moved;

    if (t > s->settle) router_converge(&s->gate, s->h, m);
    if (c->terminate && router_settled(&s->gate)) s->stopped = true;
    if (!s->stopped) router_step(&s->gate, s->h, s->round.x, m, moved);
}

static void forgetting_images_measure(double *at, int points, struct sim *s)
{
    int experts = s->cfg->experts;
    double v[FORGETTING_IMAGES_SERIES];
    v[FORGETTING_IMAGES_FORGOT] = image_experts_forgot(s->experts);
    v[FORGETTING_IMAGES_ERROR] = image_experts_error(s->experts);
    v[FORGETTING_IMAGES_HOME] = experts > 1 ? (double)s->home / s->rounds : (double)NAN;
    v[FORGETTING_IMAGES_SPECIAL] = (double)s->special / s->rounds;
    v[FORGETTING_IMAGES_MOVED] = s->moved / s->rounds;
    router_gaps(&v[FORGETTING_IMAGES_INSIDE], &v[FORGETTING_IMAGES_ACROSS], s->h, s->set,
                experts);
    v[FORGETTING_IMAGES_RUNNING] = !s->stopped;
    for (int i = 0; i < FORGETTING_IMAGES_SERIES; i++)
        at[(size_t)i * (size_t)points] = v[i];
    s->rounds = s->home = s->special = 0;
    s->moved = 0;
}

static void play_all(double *out, struct forgetting_images_end *end, struct sim *s,
                     const int *grid, int points)
{
    int p = 0;
    for (int t = 1; t <= s->cfg->rounds; t++) {
        forgetting_images_play(s, t);
        if (s->stopped && !end->stopped) end->stopped = t;
        if (p < points && t == grid[p]) forgetting_images_measure(&out[p++], points, s);
    }
    assert(p == points);
}

int forgetting_images_run(double *out, struct forgetting_images_end *end,
                          const struct forgetting_images_cfg *c,
                          const struct digits_set *set, const int *grid, int points,
                          uint64_t seed, int repetition, struct err *e)
{
    struct sim *s = calloc(1, sizeof *s);
    if (!s) return err_set(e, ERR_MEMORY, "no memory for a repetition");
    int rc = forgetting_images_start(s, c, set, seed, repetition, e);
    if (!rc) {
        *end = (struct forgetting_images_end){.sigma0 = digits_sigma0(s->experts->digits),
                                              .settle = s->settle};
        play_all(out, end, s, grid, points);
    }
    stop(s);
    free(s);
    return rc;
}

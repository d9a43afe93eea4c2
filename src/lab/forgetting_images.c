#include "lab/forgetting_images.h"

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
    struct digits *digits;
    float *experts; /* (experts, digits_expert) */
    double *theta;
    struct router gate;
    struct tally tally;
    double h[LEDGER_EXPERTS];
    struct digits_round round;
    int settle;
    bool stopped;

    /* measured errors (tasks, experts), and whether the expert changed since */
    double error[TALLY_TASKS * LEDGER_EXPERTS];
    bool stale[TALLY_TASKS * LEDGER_EXPERTS];

    int set[LEDGER_EXPERTS];
    /* since the last point */
    int rounds, home, special;
    double moved;
};

static float *expert(const struct sim *s, int m)
{
    return s->experts + (size_t)m * digits_expert(s->digits);
}

static int start(struct sim *s, const struct forgetting_images_cfg *c,
                 const struct digits_set *set, uint64_t seed, int repetition,
                 struct err *e)
{
    s->cfg = c;
    for (int i = 0; i < STREAMS; i++)
        rng_init(&s->rng[i], seed, FIRST + (uint64_t)repetition * STREAMS + (uint64_t)i);
    s->digits = digits_new(set, &c->digits, &s->rng[TASKS], e);
    if (!s->digits) return ERR_MEMORY;
    size_t m = (size_t)c->experts;
    int pixels = digits_pixels(s->digits);
    s->experts = calloc(m * digits_expert(s->digits), sizeof *s->experts);
    s->theta = calloc(m * (size_t)pixels, sizeof *s->theta);
    if (!s->experts || !s->theta)
        return err_set(e, ERR_MEMORY, "no memory for %d experts", c->experts);
    for (int k = 0; k < c->experts; k++)
        digits_start(expert(s, k), s->digits);
    struct router_cfg gate =
        forgetting_images_router(c->experts, pixels, digits_sigma0(s->digits));
    router_init(&s->gate, &gate, s->theta);
    tally_init(&s->tally, c->digits.tasks, c->experts);
    s->settle = (int)ceil(c->experts / gate.eta);
    return 0;
}

static void stop(struct sim *s)
{
    digits_free(s->digits);
    free(s->experts);
    free(s->theta);
}

/* of expert m on task n, measured again only when the expert has learned since */
static double error_of(struct sim *s, int n, int m)
{
    int at = n * s->cfg->experts + m;
    if (s->stale[at]) s->error[at] = digits_error(expert(s, m), s->digits, n);
    s->stale[at] = false;
    return s->error[at];
}

/* the task that expert m learned most often */
static int habit(const struct sim *s, int m)
{
    int best = 0;
    for (int n = 1; n < s->tally.tasks; n++)
        if (s->tally.learned[n][m] > s->tally.learned[best][m]) best = n;
    return best;
}

static void find_sets(struct sim *s)
{
    for (int m = 0; m < s->cfg->experts; m++)
        s->set[m] = router_specialty(&s->gate, m, digits_signal(s->digits),
                                     s->tally.tasks, s->gate.cfg.d);
}

static void play(struct sim *s, int t)
{
    const struct forgetting_images_cfg *c = s->cfg;
    int n = (int)rng_below(&s->rng[DATA], (uint32_t)c->digits.tasks);
    digits_draw(&s->round, s->digits, n, &s->rng[DATA]);

    router_scores(s->h, &s->gate, s->round.x);
    int m = router_pick(&s->gate, s->h, NULL, &s->rng[NOISE]);
    find_sets(s);
    double moved = digits_learn(expert(s, m), s->digits, &s->round);
    router_count(&s->gate, m);
    for (int k = 0; k < c->digits.tasks && moved > 0; k++)
        s->stale[k * c->experts + m] = true;
    if (!s->tally.learned[n][m]) s->stale[n * c->experts + m] = true;
    tally_add(&s->tally, n, m, error_of(s, n, m));

    s->rounds++;
    s->home += s->set[m] == n;
    s->special += habit(s, m) == n;
    s->moved += moved;

    if (t > s->settle) router_converge(&s->gate, s->h, m);
    if (c->terminate && router_settled(&s->gate)) s->stopped = true;
    if (!s->stopped) router_step(&s->gate, s->h, s->round.x, m, moved);
}

static void measure(double *at, int points, struct sim *s)
{
    int experts = s->cfg->experts;
    for (int n = 0; n < s->tally.tasks; n++)
        for (int m = 0; m < experts; m++)
            if (s->tally.learned[n][m]) error_of(s, n, m);

    double v[FORGETTING_IMAGES_SERIES];
    v[FORGETTING_IMAGES_FORGOT] = tally_forgot(&s->tally, s->error);
    v[FORGETTING_IMAGES_ERROR] = tally_error(&s->tally, s->error);
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
        play(s, t);
        if (s->stopped && !end->stopped) end->stopped = t;
        if (p < points && t == grid[p]) measure(&out[p++], points, s);
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
    int rc = start(s, c, set, seed, repetition, e);
    if (!rc) {
        *end = (struct forgetting_images_end){.sigma0 = digits_sigma0(s->digits),
                                              .settle = s->settle};
        play_all(out, end, s, grid, points);
    }
    stop(s);
    free(s);
    return rc;
}

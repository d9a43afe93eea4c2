#include "lab/gates/hide.h"

#include "lab/gates/finetune.h"
#include "support/alloc.h"
#include "support/small_tasks.h"
#include "support/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 8 };

static const struct encoder_cfg ENCODER = {SIDE, 2, DIM, 2, 2, 12};

/* The encoder is pre-trained on the same kind of images, so that features tell classes apart. */
static const struct small_tasks *world(void)
{
    const struct finetune_cfg c = {
        .encoder = ENCODER, .epochs = 40, .batch = 32, .lr = 0.02};
    struct small_tasks *w = small_tasks(&ENCODER);
    struct rng r;
    double accuracy;
    rng_init(&r, 11, 2);
    ck_assert_int_eq(
        finetune_pretrain(w->theta, &accuracy, &c, &w->all[0], &w->all[0], r, NULL, NULL),
        0);
    ck_assert_double_ge(accuracy, 0.9);
    return w;
}

static struct hide_cfg small(enum residual_kind gate)
{
    struct hide_cfg c = hide_default(&ENCODER);
    c.length = 2;
    c.gate = gate;
    c.epochs = 8;
    c.lr = .02;
    return c;
}

static struct hide *make_hide(const struct small_tasks *w, const struct hide_cfg *c,
                              struct err *e)
{
    struct rng r;
    rng_init(&r, 12, 1);
    return hide_new(c, w->theta, &w->s, r, NULL, e);
}

static struct continual_result run(struct hide *h)
{
    struct continual_result out;
    struct continual_learner l = hide_learner(h);
    ck_assert(!continual_run(&out, &world()->s, &l));
    return out;
}

/* chance is .1 without the task and .5 with it */
TEST(tasks_are_learned_and_kept)
{
    for (int gate = 0; gate < RESIDUAL_KINDS; gate++) {
        struct hide_cfg c = small((enum residual_kind)gate);
        struct hide *h = make_hide(world(), &c, NULL);
        struct continual_result out = run(h);
        ck_assert_double_ge(continual_fa(&out.blind), .8);
        ck_assert_double_ge(continual_told(&out), .9);
        ck_assert_double_le(continual_fm(&out.blind), .2);
        ck_assert_double_ge(hide_inferred(h), .8);
        const double *loss = hide_first_task(h);
        ck_assert_double_eq_tol(loss[0], log(2), 1e-6); /* a head of zeros */
        ck_assert_double_le(loss[c.epochs], .5 * loss[0]);
        hide_free(h);
    }
}

TEST(no_prompt_is_a_gaussian_classifier)
{
    struct hide_cfg c = small(RESIDUAL_LINEAR);
    c.length = 0;
    struct hide *h = make_hide(world(), &c, NULL);
    struct continual_result out = run(h);
    ck_assert_double_ge(continual_fa(&out.blind), .8);
    hide_free(h);
}

/* the factors learn with the first task, each only when asked, and then stand still with its
 * prompt */
TEST(what_was_learned_is_frozen)
{
    struct hide_cfg c = small(RESIDUAL_TANH);
    c.learn_tau = false;
    struct hide *h = make_hide(world(), &c, NULL);
    struct continual_learner l = hide_learner(h);
    float first[256];
    size_t n = encoder_prompt_floats(&ENCODER, 2);
    ck_assert_uint_le(n, 256);
    ck_assert(!l.learn(l.self, 0));
    struct residual gate = hide_gate(h, 1);
    ck_assert_double_ne(gate.alpha, 1);
    ck_assert_double_eq(gate.tau, 1);
    memcpy(first, hide_prompt(h, 0), n * sizeof *first);
    ck_assert(!l.learn(l.self, 1));
    ck_assert_mem_eq(first, hide_prompt(h, 0), n * sizeof *first);
    ck_assert_mem_ne(first, hide_prompt(h, 1), n * sizeof *first);
    ck_assert_double_eq(hide_gate(h, 1).alpha, gate.alpha);
    hide_free(h);
}

/* the ensemble: p_2 = a e_1 + (1 - a) e_2, so with a = 1 it is e_1 whatever was learned */
TEST(prompts_are_combined)
{
    struct hide_cfg c = small(RESIDUAL_LINEAR);
    c.ensemble = 1;
    struct hide *h = make_hide(world(), &c, NULL);
    struct continual_learner l = hide_learner(h);
    ck_assert(!l.learn(l.self, 0) && !l.learn(l.self, 1));
    for (size_t i = 0; i < encoder_prompt_floats(&ENCODER, 2); i++)
        ck_assert_double_eq((double)hide_prompt(h, 0)[i], (double)hide_prompt(h, 1)[i]);
    hide_free(h);
}

TEST(contrast_changes_later_tasks_alone)
{
    struct hide_cfg off = small(RESIDUAL_GELU), on = off;
    off.contrast = 0;
    struct hide *a = make_hide(world(), &off, NULL);
    struct hide *b = make_hide(world(), &on, NULL);
    run(a);
    run(b);
    size_t bytes = sizeof(float) * encoder_prompt_floats(&ENCODER, 2);
    ck_assert_mem_eq(hide_prompt(a, 0), hide_prompt(b, 0), bytes);
    ck_assert_mem_ne(hide_prompt(a, 1), hide_prompt(b, 1), bytes);
    hide_free(a);
    hide_free(b);
}

static bool stop(void *ctx, double share)
{
    int *calls = ctx;
    ck_assert(share >= 0 && share < 1);
    return ++*calls == 3;
}

TEST(it_stops_when_asked)
{
    const struct small_tasks *w = world();
    struct hide_cfg c = small(RESIDUAL_LINEAR);
    struct rng r;
    int calls = 0;
    const struct lab_tick tick = {stop, &calls, 0, 0};
    rng_init(&r, 12, 1);
    struct hide *h = hide_new(&c, w->theta, &w->s, r, &tick, NULL);
    struct continual_learner l = hide_learner(h);
    ck_assert(l.learn(l.self, 0));
    ck_assert_int_eq(calls, 3);
    hide_free(h);
}

/* drawn before: the assertions in world() allocate too */
struct wanted {
    const struct small_tasks *world;
    struct hide_cfg cfg;
};

static void *make(void *ctx, struct err *e)
{
    const struct wanted *w = ctx;
    return make_hide(w->world, &w->cfg, e);
}

static void destroy(void *made)
{
    hide_free(made);
}

TEST(without_memory_it_says_so)
{
    struct wanted w = {world(), small(RESIDUAL_LINEAR)};
    ck_assert_int_eq(alloc_each_fails(make, destroy, &w), 1 + 3 + 2);
}

/* (1, 0) (3, 4) (2, 2): means 2 2, variances 1 4, covariance 2; with the ridge
 * L = [sqrt(1.001) 0; 2 / sqrt(1.001), sqrt(4.001 - 4 / 1.001)] */
TEST(a_fit_by_hand)
{
    const float x[6] = {1, 0, 3, 4, 2, 2};
    struct hide_gauss g;
    hide_gauss_fit(&g, x, 3, 2);
    ck_assert_double_eq_tol((double)g.mean[0], 2, 1e-6);
    ck_assert_double_eq_tol((double)g.mean[1], 2, 1e-6);
    ck_assert_double_eq_tol((double)g.root[0], sqrt(1.001), 1e-6);
    ck_assert_double_eq_tol((double)g.root[2], 2 / sqrt(1.001), 1e-6);
    ck_assert_double_eq_tol((double)g.root[3], sqrt(4.001 - 4 / 1.001), 1e-5);
}

/* what is drawn from a fit has its mean and covariance: 20000 draws, 4 standard errors */
TEST(draws_have_the_moments)
{
    enum { N = 20000 };
    struct hide_gauss g = {.dim = 2, .mean = {1, -1}, .root = {2, 0, 1, .5f}};
    float *x = malloc(sizeof(float) * 2 * N);
    struct rng r;
    rng_init(&r, 1, 1);
    hide_gauss_draw(x, &g, N, &r);
    double m0 = 0, m1 = 0, c = 0;
    for (int i = 0; i < N; i++) {
        m0 += (double)x[2 * i] / N;
        m1 += (double)x[2 * i + 1] / N;
        c += ((double)x[2 * i] - 1) * ((double)x[2 * i + 1] + 1) / N;
    }
    ck_assert_double_eq_tol(m0, 1, 4 * 2 / sqrt(N));
    ck_assert_double_eq_tol(m1, -1, 4 * sqrt(1.25) / sqrt(N));
    ck_assert_double_eq_tol(c, 2, 4 * 3 / sqrt(N)); /* var of a product: 4 1.25 + 4 = 9 */
    free(x);
}

/* all alike: the ridge alone is left */
TEST(a_point_has_a_root)
{
    const float x[4] = {1, 2, 1, 2};
    struct hide_gauss g;
    hide_gauss_fit(&g, x, 2, 2);
    ck_assert_double_eq_tol((double)g.root[0], sqrt(1e-3), 1e-6);
    ck_assert_double_eq_tol((double)g.root[2], 0, 1e-9);
    ck_assert_double_eq_tol((double)g.root[3], sqrt(1e-3), 1e-6);
}

enum { N = 3, K = 2, D = 4 };

static double plain(const float *h, const float *mu, double t)
{
    double loss = 0;
    for (int i = 0; i < N; i++) {
        double total = 0, s[N + K];
        for (int j = 0; j < N + K; j++) {
            s[j] = 0;
            for (int d = 0; d < D; d++)
                s[j] += (double)h[i * D + d] *
                        (double)(j < N ? h[j * D + d] : mu[(j - N) * D + d]) / t;
            total += exp(s[j]);
        }
        for (int c = 0; c < K; c++)
            loss += log(exp(s[N + c]) / total) / (N * K);
    }
    return loss;
}

static const float H[N * D] = {.5f, -1, .2f, .8f, -.3f, .4f, 1, -.6f, .9f, .1f, -.5f, 0};
static const float MU[K * D] = {1, .5f, -.5f, .2f, -.4f, .3f, .7f, 1};

/* one feature (1, 0), one mean (0, 2), T 1: ln [e^0 / (e^1 + e^0)] */
TEST(a_loss_by_hand)
{
    const float h[2] = {1, 0}, mu[2] = {0, 2};
    float dh[2] = {0};
    ck_assert_double_eq_tol(hide_contrast(dh, h, 1, mu, 1, 2, 1, 1), -log(1 + exp(1)),
                            1e-6);
    float all[N * D] = {0};
    ck_assert_double_eq_tol(hide_contrast(all, H, N, MU, K, D, .8, 1), plain(H, MU, .8),
                            1e-6);
}

TEST(the_gradient_is_added)
{
    float h[N * D], dh[N * D];
    memcpy(h, H, sizeof h);
    for (int i = 0; i < N * D; i++)
        dh[i] = 7;
    hide_contrast(dh, H, N, MU, K, D, .8, .5);
    for (int i = 0; i < N * D; i++) {
        float was = h[i], step = 1.0f / 1024;
        h[i] = was + step;
        double up = plain(h, MU, .8), high = (double)h[i];
        h[i] = was - step;
        double down = plain(h, MU, .8), low = (double)h[i];
        h[i] = was;
        ck_assert_double_eq_tol((double)dh[i], 7 + .5 * (up - down) / (high - low), 1e-5);
    }
}

SUITE(lab_gates_hide, tasks_are_learned_and_kept, no_prompt_is_a_gaussian_classifier,
      what_was_learned_is_frozen, prompts_are_combined,
      contrast_changes_later_tasks_alone, it_stops_when_asked, without_memory_it_says_so,
      a_fit_by_hand, draws_have_the_moments, a_point_has_a_root, a_loss_by_hand,
      the_gradient_is_added);

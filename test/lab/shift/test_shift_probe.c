#include "lab/shift/shift_probe.h"

#include "support/suites.h"

#include <math.h>
#include <string.h>

enum { ROWS = 60 };

struct fixture {
    struct video *video;
    struct worlds *worlds;
    struct recipe recipe;
    struct recipe_world world;
    struct policy *policy;
    struct shift_prober *prober;
};

static void setup(struct fixture *f, const char *preset, const char *variant)
{
    f->video = video_default(NULL);
    struct worlds_cfg c = {.links = 5, .link_s = 120, .video = f->video, .seed = 1};
    f->worlds = worlds_new(&c, NULL);
    ck_assert_int_eq(recipe_make(&f->recipe, preset, variant, 2000000, 1, NULL), 0);
    f->world = (struct recipe_world){&f->recipe, f->worlds};
    f->policy = policy_new(&f->recipe.policy, NULL);
    f->prober = shift_prober_new(&f->world, ROWS, NULL);
    ck_assert(f->worlds && f->policy && f->prober);
    struct rng r;
    rng_init(&r, 1, 1);
    for (int i = 0; i < ROWS * FEAT_PAPER_DIM; i++)
        shift_prober_obs(f->prober)[i] = (float)rng_uniform(&r);
}

static void teardown(struct fixture *f)
{
    shift_prober_free(f->prober);
    policy_free(f->policy);
    worlds_free(f->worlds);
    video_free(f->video);
}

static struct shift_probe take(struct fixture *f, uint64_t when)
{
    struct shift_probe p;
    struct err e = {0};
    ck_assert_msg(shift_prober_take(&p, f->prober, f->policy, ROWS, when, &e) == 0, "%s",
                  e.detail);
    return p;
}

/* Weights of 0: every unit is dead, every choice the lowest level. */
TEST(a_dead_network)
{
    struct fixture f;
    setup(&f, "paper", "moe");
    struct shift_probe p = take(&f, 0);
    for (int net = 0; net < SHIFT_NETS; net++) {
        for (int i = 0; i < 4; i++)
            ck_assert_float_eq(p.net[net].mean[SHIFT_DORMANT + i], 1);
        ck_assert_float_eq(p.net[net].mean[SHIFT_RANK], 0);
        ck_assert_float_eq(p.net[net].mean_weight, 0);
        ck_assert_float_eq(p.net[net].share[0], 1); /* of equal gates the first */
    }
    /* always 300 kbit/s and, after the drawn first chunk, no change: news at 6 times that */
    double best = .3, lowest = 6 * .3 - 1.5;
    ck_assert_double_le((double)p.exam[0], best);
    ck_assert_double_le((double)p.exam[2], 6 * best);
    ck_assert_double_ge((double)p.exam[2], lowest);
    teardown(&f);
}

/* With a router of 0 and noise, the shares are near a third; an expert that no state reaches is
 * a gap, but is asked all the same in the other reading. */
TEST(who_sees_what)
{
    struct fixture f;
    setup(&f, "code", "pamoe");
    policy_init(f.policy, 3);
    memset(f.policy->actor->theta, 0,
           sizeof(float) * mix_router(&f.policy->actor->cfg).n);
    /* the critic's router sends every state to expert 2, noise or not */
    struct mix *critic = f.policy->critic;
    size_t n = mix_router(&critic->cfg).n;
    memset(critic->theta, 0, sizeof(float) * n);
    critic->theta[n - 1] = 100;
    struct shift_probe a = take(&f, 1), b = take(&f, 1), c = take(&f, 2);
    ck_assert_mem_eq(&a, &b, sizeof a);
    ck_assert_mem_ne(a.net[0].share, c.net[0].share, sizeof a.net[0].share);
    for (int k = 0; k < SHIFT_EXPERTS; k++) {
        ck_assert_float_eq_tol(a.net[SHIFT_ACTOR].share[k], 1 / 3.f, .2f);
        ck_assert_float_eq(a.net[SHIFT_CRITIC].share[k], k == 2);
        ck_assert(isnan(a.net[SHIFT_CRITIC].layer[k][0][SHIFT_RANK]) == (k != 2));
    }
    const struct shift_probe_net *one = &a.net[SHIFT_CRITIC];
    float of2 = (one->layer[2][0][SHIFT_RANK] + one->layer[2][1][SHIFT_RANK]) / 2;
    ck_assert_float_eq_tol(one->mean[SHIFT_RANK], of2, 1e-5f);

    /* all experts alike: the mean over three is that of the one */
    struct mix_range of[SHIFT_EXPERTS];
    for (int k = 0; k < SHIFT_EXPERTS; k++)
        of[k] = mix_expert(&critic->cfg, k);
    for (int k = 0; k < 2; k++)
        memcpy(critic->theta + of[k].at, critic->theta + of[2].at,
               sizeof(float) * of[2].n);
    a = take(&f, 1);
    ck_assert_float_eq_tol(one->mean_all[SHIFT_RANK], of2, 1e-5f);
    /* two dead ones show there alone */
    for (int k = 0; k < 2; k++)
        memset(critic->theta + of[k].at, 0, sizeof(float) * of[k].n);
    a = take(&f, 1);
    ck_assert_float_eq_tol(one->mean_all[SHIFT_RANK], of2 / 3, 1e-5f);
    ck_assert_float_eq_tol(one->mean[SHIFT_RANK], of2, 1e-5f);
    teardown(&f);
}

TEST(one_expert_leaves_gaps)
{
    struct fixture f;
    setup(&f, "paper", "mlp");
    policy_init(f.policy, 3);
    struct shift_probe p = take(&f, 0);
    ck_assert(isfinite(p.net[0].layer[0][1][SHIFT_EFFECTIVE]));
    ck_assert(isnan(p.net[0].layer[1][0][SHIFT_EFFECTIVE]));
    ck_assert(isnan(p.net[0].share[1]) && isnan(p.net[0].router_weight));
    ck_assert_mem_eq(p.net[0].mean, p.net[0].mean_all, sizeof p.net[0].mean);
    f.policy->actor->theta[0] = NAN;
    struct err e = {0};
    ck_assert_int_eq(shift_prober_take(&p, f.prober, f.policy, ROWS, 0, &e), ERR_NUMERIC);
    teardown(&f);
}

SUITE(lab_shift_shift_probe, a_dead_network, who_sees_what, one_expert_leaves_gaps);

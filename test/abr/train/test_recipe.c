#include "abr/train/recipe.h"

#include "support/suites.h"

#include <math.h>

static struct recipe make(const char *preset, const char *variant)
{
    struct recipe r;
    ck_assert_int_eq(recipe_make(&r, preset, variant, 2000000, 1, NULL), 0);
    return r;
}

/* Table 1 of the paper. */
TEST(paper_is_table_1)
{
    struct recipe r = make("paper", "pamoe");
    const struct ppo_cfg *p = &r.train.ppo;
    ck_assert_int_eq(r.train.rollout.envs, 1);
    ck_assert_int_eq(r.train.rollout.steps, 2000);
    ck_assert_int_eq(p->minibatch, 62);
    ck_assert_int_eq(p->epochs, 5);
    ck_assert_double_eq(p->lr, 1e-4);
    ck_assert_double_eq(p->gamma, .99);
    ck_assert_double_eq(p->lambda, .95);
    ck_assert_double_eq(p->clip, .2);
    ck_assert_double_eq(p->entropy, 0);
    ck_assert_double_eq(p->value_coef, 5);
    ck_assert_double_eq(p->max_grad_norm, 0);
    ck_assert_int_eq(r.train.schedule, TRAIN_CONSTANT);
    ck_assert_int_eq(r.policy.experts, 3);
    ck_assert_int_eq(r.policy.hidden, 18);
    ck_assert_int_eq(r.env.cycle_steps, 200000);
    ck_assert_double_gt(p->noise_gamma, 0);
}

TEST(variants_differ_where_they_should)
{
    ck_assert_int_eq(make("tuned", "mlp").policy.route, MIX_SINGLE);
    ck_assert_int_eq(make("tuned", "moe").policy.route, MIX_DENSE);
    ck_assert_int_eq(make("tuned", "smoe").policy.route, MIX_TOP1);
    ck_assert_int_eq(make("code", "smoe").policy.route, MIX_TOP1_UNSCALED);
    ck_assert_double_eq(make("tuned", "smoe").train.ppo.noise_gamma, 0);
    ck_assert_double_gt(make("tuned", "pamoe").train.ppo.noise_gamma, 0);
    ck_assert_double_eq(make("code", "smoe").train.ppo.noise_std, 0);
    ck_assert_double_gt(make("code", "pamoe").train.ppo.noise_std, 0);
    ck_assert_int_eq(make("code", "mlp").policy.critic_experts, 1);
}

/* What the authors' code does otherwise. */
TEST(code_is_the_authors)
{
    struct recipe r = make("code", "pamoe");
    const struct ppo_cfg *p = &r.train.ppo;
    ck_assert_double_eq(p->beta1, .99);
    ck_assert_double_eq(p->beta2, .99);
    ck_assert_double_eq(p->eps, 1e-5);
    ck_assert_double_eq(p->weight_decay, 1e-4);
    ck_assert_double_eq(p->noise_std, 1e-3);
    ck_assert_double_eq(p->noise_gamma, 0);
    ck_assert_double_eq(p->router_noise, r.train.rollout.router_noise);
    ck_assert_double_eq_tol(p->router_noise, log(2), 1e-15);
    ck_assert(p->redraw_noise && p->tied_heads);
    ck_assert_double_eq(r.env.emu.bandwidth_x, 2);
    ck_assert_int_eq(r.env.emu.wrap, EMU_WRAP_FIRST);
    ck_assert_double_eq(r.env.noise, .1);
    ck_assert_int_eq(r.env.first_level, -1);
    ck_assert_double_eq(r.env.choose_first, 0);
    ck_assert_int_eq(r.env.profiles[0].utility, QOE_PAMOE);
    ck_assert_double_eq(r.env.profiles[0].mu_switch, 6);
    ck_assert(!r.env.scale_reward);
    ck_assert_double_eq(r.min_mbps, 1.5);

    r = make("paper", "pamoe");
    ck_assert(!r.train.ppo.redraw_noise && !r.train.ppo.tied_heads);
    ck_assert_double_eq(r.env.emu.bandwidth_x, 1);
    ck_assert_double_eq(r.train.ppo.weight_decay, 0);
    ck_assert_int_eq(r.env.profiles[0].utility, QOE_LINEAR);
}

TEST(unknown_names_are_told)
{
    struct recipe r;
    struct err e = {0};
    ck_assert_int_eq(recipe_make(&r, "best", "mlp", 1, 1, &e), ERR_ABSENT);
    ck_assert_str_eq(e.field, "preset");
    e = (struct err){0};
    ck_assert_int_eq(recipe_make(&r, "tuned", "gpt", 1, 1, &e), ERR_ABSENT);
    ck_assert_str_eq(e.field, "variant");
}

TEST(first_weights)
{
    struct recipe paper = make("paper", "moe"), tuned = make("tuned", "moe");
    struct policy *a = policy_new(&paper.policy, NULL),
                  *b = policy_new(&paper.policy, NULL);
    recipe_init(a, &paper, 4);
    policy_init_uniform(b, 4);
    ck_assert_mem_eq(a->actor->theta, b->actor->theta, sizeof(float) * a->actor->n);
    recipe_init(a, &tuned, 4);
    policy_init(b, 4);
    ck_assert_mem_eq(a->actor->theta, b->actor->theta, sizeof(float) * a->actor->n);
    policy_free(b);
    policy_free(a);
}

/* Every preset and variant trains: two updates, finite weights, and seeds matter. */
TEST(all_of_them_train)
{
    static const char *const presets[] = {"paper", "code", "tuned"};
    static const char *const variants[] = {"mlp", "moe", "smoe", "pamoe"};
    struct video *video = video_default(NULL);
    for (int i = 0; i < 12; i++) {
        struct recipe r = make(presets[i / 4], variants[i % 4]);
        r.train.rollout.envs = r.train.rollout.envs > 1 ? 4 : 1;
        r.train.rollout.steps = 32;
        struct worlds_cfg wc = {.links = 30,
                                .link_s = 60,
                                .min_mbps = r.min_mbps,
                                .video = video,
                                .ladders = r.ladders ? 3 : 0,
                                .seed = 2};
        struct worlds *worlds = worlds_new(&wc, NULL);
        struct policy *p = policy_new(&r.policy, NULL);
        ck_assert(worlds && p);
        recipe_init(p, &r, 1);
        struct recipe_world w = {&r, worlds};
        struct train *t = train_new(&r.train, p, recipe_env, &w, NULL);
        ck_assert_ptr_nonnull(t);
        for (int k = 0; k < 2; k++) {
            struct train_row row;
            ck_assert_int_eq(train_iterate(t, &row), 0);
            ck_assert(isfinite(row.ppo.policy_loss) && isfinite(row.ppo.value_loss));
            if (!r.train.ppo.redraw_noise)
                ck_assert_double_lt(row.ppo.first_ratio_error, 1e-4);
        }
        train_free(t);
        policy_free(p);
        worlds_free(worlds);
    }
    video_free(video);
}

SUITE_WITHIN(abr_train_recipe, 60, paper_is_table_1, code_is_the_authors,
             variants_differ_where_they_should, unknown_names_are_told, first_weights,
             all_of_them_train);

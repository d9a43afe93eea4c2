#include "lab/shift/shift_plan.h"

#include "support/suites.h"

#include <string.h>

static struct shift_request everything(void)
{
    return (struct shift_request){.presets = "paper,code,tuned",
                                  .variants = "mlp,moe,smoe,pamoe",
                                  .hints = "both",
                                  .noise_sweep = true,
                                  .once = true,
                                  .seeds = 3,
                                  .steps = 2000000,
                                  .probe_every = 10,
                                  .seed = 7};
}

static struct shift_plan make(struct shift_request q)
{
    struct shift_plan p;
    struct err e = {0};
    ck_assert_msg(shift_plan_make(&p, &q, &e) == 0, "%s", e.detail);
    return p;
}

TEST(all_of_it)
{
    struct shift_plan p = make(everything());
    const double *gammas;
    int n = shift_plan_gammas(&gammas);
    ck_assert_int_ge(n, 8);
    ck_assert_double_eq(gammas[0], 0);
    ck_assert_int_eq(p.sets, 3 * 4 * 2 + n + 4);
    ck_assert_int_eq(p.runs, p.sets * 3);
    /* paper without hints comes first, its sweep, what is shown once, then code */
    ck_assert_str_eq(p.name[0], "paper-mlp-1");
    ck_assert_str_eq(p.name[12], "paper-gamma_0-1");
    ck_assert_str_eq(p.name[3 * (4 + n + 2)], "paper-moe__weight_decay-1");
    ck_assert_str_eq(p.name[3 * (4 + n + 4)], "code-mlp-1");
    ck_assert_str_eq(p.name[p.runs - 1], "tuned-pamoe-hint-3");
    for (int i = 0; i < p.runs; i++)
        for (int k = 0; k < i; k++) {
            ck_assert_str_ne(p.name[i], p.name[k]);
            ck_assert_str_ne(p.config[i], p.config[k]);
        }
    ck_assert_uint_eq(shift_plan_arm(&p, 5).seed, 9);

    const struct shift_set *s = shift_plan_find(&p, "paper", false, "gamma 20");
    ck_assert(s && s->role == SHIFT_NOISE && s->gamma == 20.0);
    ck_assert_ptr_null(shift_plan_find(&p, "code", false, "gamma 20"));
    ck_assert_double_eq(shift_plan_find(&p, "paper", false, "smoe")->gamma, 0);
    struct recipe r;
    s = shift_plan_find(&p, "paper", false, "pamoe, weight decay");
    ck_assert_int_eq(shift_arm_recipe(&r, &s->arm, NULL), 0);
    ck_assert_double_eq(r.train.ppo.weight_decay, 1e-4);
    ck_assert_double_eq(r.train.ppo.noise_gamma, 5);
    s = shift_plan_find(&p, "paper", false, "pamoe, critic too");
    ck_assert(s->arm.noise_critic);
    ck_assert_ptr_eq(p.set[1].run, p.record + 3);
    shift_plan_free(&p);
}

TEST(less_when_asked)
{
    struct shift_request q = everything();
    q.presets = "code";
    q.variants = "pamoe,mlp";
    q.hints = "with";
    q.noise_sweep = q.once = false;
    q.set = "lr=3e-4";
    struct shift_plan p = make(q);
    ck_assert_int_eq(p.sets, 2);
    ck_assert(p.set[0].arm.hint && p.set[1].arm.hint);
    ck_assert_ptr_nonnull(strstr(p.config[0], "lr=3e-4"));
    struct recipe r;
    ck_assert_int_eq(shift_arm_recipe(&r, &p.set[0].arm, NULL), 0);
    ck_assert_double_eq(r.train.ppo.lr, 3e-4);
    ck_assert_int_eq(r.policy.obs_dim, FEAT_PAPER_HINT_DIM);
    shift_plan_free(&p);
}

TEST(words_that_are_none)
{
    struct shift_request q = everything();
    struct shift_plan p;
    struct err e = {0};
    q.presets = "paper,best";
    ck_assert_int_eq(shift_plan_make(&p, &q, &e), ERR_INVALID);
    ck_assert_str_eq(e.field, "preset");
    ck_assert_ptr_nonnull(strstr(e.detail, "best"));

    q = everything();
    q.hints = "some";
    e = (struct err){0};
    ck_assert_int_eq(shift_plan_make(&p, &q, &e), ERR_INVALID);
    ck_assert_str_eq(e.field, "hints");

    q = everything();
    q.presets = "";
    ck_assert_int_ne((q.noise_sweep = q.once = false, shift_plan_make(&p, &q, NULL)), 0);

    q = everything();
    q.set = "lr=fast";
    e = (struct err){0};
    ck_assert_int_ne(shift_plan_make(&p, &q, &e), 0);
    ck_assert_ptr_nonnull(strstr(e.field, "lr"));
}

TEST(runs_on_other_links_are_other_runs)
{
    struct shift_request q = everything();
    struct shift_plan p = make(q), same = make(q);
    q.worlds = 1;
    struct shift_plan other = make(q);
    for (int i = 0; i < p.runs; i++) {
        ck_assert_str_eq(p.config[i], same.config[i]);
        ck_assert_str_eq(p.name[i], other.name[i]);
        ck_assert_str_ne(p.config[i], other.config[i]);
    }
    shift_plan_free(&p);
    shift_plan_free(&same);
    shift_plan_free(&other);
}

SUITE(lab_shift_shift_plan, all_of_it, runs_on_other_links_are_other_runs,
      less_when_asked, words_that_are_none);

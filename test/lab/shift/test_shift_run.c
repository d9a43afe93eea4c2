#include "lab/shift/shift_run.h"

#include "learn/ckpt.h"
#include "support/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct video *video;
    struct worlds *worlds;
    struct shift_arm arm[3];
    int n;
};

static void setup(struct fixture *f)
{
    f->video = video_default(NULL);
    struct worlds_cfg c = {.links = 5, .link_s = 120, .video = f->video, .seed = 1};
    f->worlds = worlds_new(&c, NULL);
}

static void teardown(struct fixture *f)
{
    worlds_free(f->worlds);
    video_free(f->video);
}

static int one(void *ctx, int i, struct sweep_job *job, struct err *e)
{
    const struct fixture *f = ctx;
    return shift_run(job, &f->arm[i], f->worlds, e);
}

static struct sweep *go(struct fixture *f)
{
    static const struct sweep_run runs[] = {{"a", "a"}, {"b", "b"}, {"c", "c"}};
    struct sweep_cfg cfg = {.version = "1", .threads = 2};
    struct sweep *s = sweep_new(&cfg, runs, f->n, NULL);
    struct err e = {0};
    ck_assert_msg(sweep_go(s, one, f, &e) == 0, "%s", e.detail);
    return s;
}

/* ten segments of one iteration each */
static struct shift_arm small(const char *preset, const char *variant)
{
    return (struct shift_arm){.preset = preset,
                              .variant = variant,
                              .steps = 20000,
                              .probe_every = 5,
                              .seed = 3};
}

static struct shift_record record(const struct sweep *s, int i)
{
    struct shift_record r;
    size_t n;
    const void *data = sweep_result(s, i, &n);
    ck_assert_int_eq(shift_record_read(&r, data, n, NULL), 0);
    return r;
}

TEST(a_run_is_told_in_full)
{
    struct fixture f = {.n = 3};
    setup(&f);
    f.arm[0] = small("code", "pamoe");
    f.arm[1] = small("paper", "moe");
    f.arm[1].hint = true;
    f.arm[2] = small("tuned", "mlp");
    struct sweep *s = go(&f);
    for (int i = 0; i < 3; i++) {
        struct shift_record r = record(s, i);
        ck_assert_int_eq(r.points, 10);
        ck_assert_int_eq(r.probes, 2);
        for (int k = 0; k < 10; k++) {
            const struct shift_point *p = &r.point[k];
            ck_assert_float_eq(p->tag, (float)(k % 3));
            float levels = 0;
            for (int l = 0; l < SHIFT_LEVELS; l++)
                levels += p->level[l];
            ck_assert_float_eq_tol(levels, 1, 1e-5f);
            ck_assert(isfinite(p->qoe) && isfinite(p->recent_qoe) &&
                      isfinite(p->entropy));
        }
        ck_assert_float_eq(r.probe[1].iteration, 10);
        for (int k = 0; k < SHIFT_PROFILES; k++) {
            ck_assert(isfinite(r.probe[1].exam[k]));
            struct ckpt_meta *m = calloc(1, sizeof *m);
            struct policy *p =
                ckpt_decode(r.policy[k], r.policy_bytes[k], m, NULL, NULL, NULL);
            ck_assert_ptr_nonnull(p);
            ck_assert_str_eq(ckpt_meta_get(m, "layout"), i == 1 ? "paper-hint" : "paper");
            /* documentary was last in segment 10, live in 8, news in 9 */
            static const char *const steps[] = {"20000", "16000", "18000"};
            ck_assert_str_eq(ckpt_meta_get(m, "steps"), steps[k]);
            policy_free(p);
            free(m);
        }
    }

    /* the authors' router: no gradient, and a ratio that is off from the first update on */
    struct shift_record code = record(s, 0), paper = record(s, 1), tuned = record(s, 2);
    ck_assert_float_eq(code.point[9].router_norm[SHIFT_ACTOR], 0);
    ck_assert_float_eq(code.point[9].router_norm[SHIFT_CRITIC], 0);
    ck_assert_float_gt(paper.point[9].router_norm[SHIFT_ACTOR], 0);
    ck_assert(isnan(tuned.probe[0].net[SHIFT_ACTOR].weight[1][0])); /* one expert */
    ck_assert(isfinite(code.probe[0].net[SHIFT_ACTOR].weight[2][SHIFT_LAYERS]));
    sweep_free(s);
    teardown(&f);
}

TEST(a_run_is_a_function_of_its_arm)
{
    struct fixture f = {.n = 3};
    setup(&f);
    f.arm[0] = f.arm[1] = f.arm[2] = small("paper", "pamoe");
    f.arm[2].noise_critic = true;
    struct sweep *s = go(&f);
    size_t na, nb, nc;
    const void *a = sweep_result(s, 0, &na), *b = sweep_result(s, 1, &nb);
    const void *c = sweep_result(s, 2, &nc);
    ck_assert_uint_eq(na, nb);
    ck_assert_mem_eq(a, b, na);
    ck_assert(nc != na || memcmp(a, c, na) != 0);

    struct shift_record r;
    struct err e = {0};
    ck_assert_int_eq(shift_record_read(&r, a, na - 1, &e), ERR_CORRUPT);
    ck_assert_int_eq(shift_record_read(&r, a, 10, NULL), ERR_CORRUPT);
    char *other = malloc(na);
    memcpy(other, a, na);
    other[0] ^= 1;
    ck_assert_int_eq(shift_record_read(&r, other, na, NULL), ERR_CORRUPT);
    free(other);
    sweep_free(s);
    teardown(&f);
}

TEST(arms_as_recipes)
{
    struct recipe r;
    struct shift_arm a = small("tuned", "pamoe");
    a.hint = true;
    a.set = "epochs=3";
    ck_assert_int_eq(shift_arm_recipe(&r, &a, NULL), 0);
    ck_assert_int_eq(r.env.layout, FEAT_PAPER_HINT);
    ck_assert_int_eq(r.policy.hidden, 64);
    ck_assert_double_eq(r.train.ppo.entropy, .02);
    ck_assert_int_eq(r.train.ppo.epochs, 3);
    ck_assert_int_eq(r.env.cycle_steps, 2000);

    a = small("paper", "moe");
    a.mix_probs = true;
    ck_assert_int_eq(shift_arm_recipe(&r, &a, NULL), 0);
    ck_assert_int_eq(r.policy.route, MIX_DENSE_PROBS);
    ck_assert_int_eq(r.policy.critic_route, MIX_DENSE);

    a.preset = "other";
    ck_assert_int_eq(shift_arm_recipe(&r, &a, NULL), ERR_ABSENT);
}

SUITE_WITHIN(lab_shift_shift_run, 60, a_run_is_told_in_full,
             a_run_is_a_function_of_its_arm, arms_as_recipes);

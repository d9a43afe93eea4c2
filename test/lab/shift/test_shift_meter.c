#include "lab/shift/shift_meter.h"

#include "support/suites.h"

#include <math.h>

struct fixture {
    struct video *video;
    struct worlds *worlds;
    struct recipe recipe;
    struct recipe_world world;
    struct shift_meter meter;
};

static void setup(struct fixture *f)
{
    f->video = video_default(NULL);
    struct worlds_cfg c = {.links = 5, .link_s = 120, .video = f->video, .seed = 1};
    f->worlds = worlds_new(&c, NULL);
    ck_assert_int_eq(recipe_make(&f->recipe, "paper", "mlp", 2000000, 1, NULL), 0);
    f->world = (struct recipe_world){&f->recipe, f->worlds};
    shift_meter_init(&f->meter, &f->world);
}

static void teardown(struct fixture *f)
{
    worlds_free(f->worlds);
    video_free(f->video);
}

/* Level 2, but 5 in every fifth step, for 60 episodes: the sums once more by hand. */
TEST(readings_are_means_of_the_steps)
{
    struct fixture f;
    setup(&f);
    struct env env = shift_meter_env(&f.meter, 0, NULL);
    ck_assert_ptr_nonnull(env.self);
    float obs[FEAT_PAPER_DIM], kept[10 * FEAT_PAPER_DIM], first[FEAT_PAPER_DIM];
    shift_meter_keep(&f.meter, kept, 10, FEAT_PAPER_DIM);
    struct env_out out = {.obs = obs};
    env.reset(env.self, &out);
    double sum = 0, episode = 0, recent[60] = {0};
    int steps = 0, episodes = 0, in_episode = 0, fives = 0;
    for (int i = 0; i < FEAT_PAPER_DIM; i++)
        first[i] = obs[i];
    while (episodes < 60) {
        int level = steps % 5 ? 2 : 5;
        fives += level == 5;
        env.step(env.self, level, &out);
        sum += (double)out.reward;
        episode += (double)out.reward;
        steps++;
        in_episode++;
        if (!out.done) continue;
        recent[episodes++] = episode / in_episode;
        episode = in_episode = 0;
        env.reset(env.self, &out);
    }
    ck_assert_int_eq(f.meter.obs_n, 10);
    ck_assert_mem_eq(kept, first, sizeof first); /* what the first action answered */

    struct shift_reading r = shift_meter_take(&f.meter);
    ck_assert_double_eq(r.steps, steps);
    ck_assert_double_eq_tol(r.qoe, sum / steps, 1e-9);
    ck_assert_double_eq_tol(r.level[5], (double)fives / steps, 1e-12);
    ck_assert_double_eq_tol(r.level[2], 1 - (double)fives / steps, 1e-12);
    ck_assert_double_eq_tol(r.mean_level, 2 + 3.0 * fives / steps, 1e-12);
    /* documentary: the parts give the whole */
    ck_assert_double_eq_tol(r.quality - 6 * r.change - r.stall_s, r.qoe, 1e-5);
    double last50 = 0;
    for (int i = 10; i < 60; i++)
        last50 += recent[i] / 50;
    ck_assert_double_eq_tol(r.recent_qoe, last50, 1e-9);

    /* the next take begins anew, the last episodes stay */
    r = shift_meter_take(&f.meter);
    ck_assert_double_eq(r.steps, 0);
    ck_assert(isnan(r.qoe) && isnan(r.level[0]));
    ck_assert_double_eq_tol(r.recent_qoe, last50, 1e-9);
    env.free(env.self);
    teardown(&f);
}

/* The learner must not see a difference. */
TEST(the_meter_changes_nothing)
{
    struct fixture f;
    setup(&f);
    struct env plain = recipe_env(&f.world, 3, NULL);
    struct env metered = shift_meter_env(&f.meter, 3, NULL);
    float a[FEAT_PAPER_DIM], b[FEAT_PAPER_DIM];
    struct env_out x = {.obs = a}, y = {.obs = b};
    plain.reset(plain.self, &x);
    metered.reset(metered.self, &y);
    ck_assert_int_eq(plain.spec.obs_dim, metered.spec.obs_dim);
    for (int i = 0; i < 200; i++) {
        plain.step(plain.self, i % 6, &x);
        metered.step(metered.self, i % 6, &y);
        ck_assert_mem_eq(a, b, sizeof a);
        ck_assert_float_eq(x.reward, y.reward);
        ck_assert_int_eq(x.done, y.done);
        if (!x.done) continue;
        plain.reset(plain.self, &x);
        metered.reset(metered.self, &y);
    }
    metered.free(metered.self);
    plain.free(plain.self);
    teardown(&f);
}

SUITE(lab_shift_shift_meter, readings_are_means_of_the_steps, the_meter_changes_nothing);

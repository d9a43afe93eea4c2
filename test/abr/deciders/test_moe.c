#include "abr/deciders/moe.h"

#include "abr/emulator/feat.h"
#include "abr/deciders/first_level.h"
#include "abr/deciders/forecast_own.h"
#include "learn/ckpt.h"
#include "support/made.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A small untrained policy whose head is large enough to have opinions; its file. */
static struct policy *save(const char *path, int obs_dim, const char *layout)
{
    struct err e = {0};
    struct policy_cfg cfg = policy_cfg_default(obs_dim);
    cfg.hidden = cfg.critic_hidden = 8;
    struct policy *p = policy_new(&cfg, &e);
    ck_assert_ptr_nonnull(p);
    policy_init(p, 3);
    for (size_t i = 0; i < p->actor->n; i++)
        p->actor->theta[i] *= 3;
    struct ckpt_meta meta = {0};
    if (layout) ckpt_meta_set(&meta, "layout", "%s", layout);
    ck_assert_msg(ckpt_save(path, p, &meta, NULL, 0, &e) == 0, "%s", e.detail);
    return p;
}

/* an outcome that makes the next view differ */
static void next_chunk(struct view *v)
{
    view_push(v, 2e5 * (1 + v->chunk * 7 % 11), .2 + v->chunk * 3 % 5);
    v->buffer_s = v->chunk * 13 % 50;
    v->last_level = v->chunk % 6;
}

TEST(decides_as_the_network_says)
{
    const char *dir = tmpdir_new();
    const char *path = tmpdir_path(dir, "p.safetensors");
    struct policy *p = save(path, FEAT_FULL_DIM, NULL);
    struct err e = {0};
    struct policy_ws *ws = policy_ws_new(&p->cfg, &e);
    char spec[128];
    snprintf(spec, sizeof spec, "moe:%s", path);
    struct algo_ctx ctx = {.policy_path = path};
    struct algo named, plain;
    ck_assert_msg(algo_new(&named, spec, NULL, &e) == 0, "%s", e.detail);
    ck_assert_msg(algo_new(&plain, "moe", &ctx, &e) == 0, "%s", e.detail);

    struct view v = made_view(6);
    int seen = 0;
    for (v.chunk = 0; v.chunk < 48; v.chunk++) {
        float obs[FEAT_FULL_DIM];
        struct policy_choice want;
        feat_observe(obs, FEAT_FULL, &v);
        ck_assert_int_eq(policy_decide(&want, p, ws, obs, first_level_offer(&v), -1), 0);
        int level = named.decide(named.self, &v, NULL);
        ck_assert_int_eq(level, want.action);
        ck_assert_int_eq(plain.decide(plain.self, &v, NULL), want.action);
        seen |= 1 << level;
        next_chunk(&v);
    }
    ck_assert_msg(seen & (seen - 1), "one level only: the test shows nothing");
    algo_free(&named);
    algo_free(&plain);
    policy_ws_free(ws);
    policy_free(p);
}

TEST(a_profile_decides_with_its_added_experts)
{
    const char *dir = tmpdir_new();
    const char *path = tmpdir_path(dir, "p.safetensors");
    struct policy *p = save(path, FEAT_FULL_DIM, NULL);
    struct policy_added_cfg two = {2, NORGA_TANH};
    ck_assert_int_eq(policy_add(p, &two, NULL, 0, 1, NULL), 0);
    struct norga *actor = p->added->actor;
    struct rng r;
    rng_init(&r, 2, 2);
    for (size_t i = 0; i < actor->n; i++)
        actor->theta[i] += (float)rng_normal(&r);
    struct err e = {0};
    ck_assert_msg(ckpt_save(path, p, NULL, NULL, 0, &e) == 0, "%s", e.detail);
    struct algo_ctx ctx = {.policy_path = path};
    struct algo a;
    ck_assert_msg(algo_new(&a, "moe", &ctx, &e) == 0, "%s", e.detail);
    struct policy_ws *ws = policy_ws_new(&p->cfg, NULL);
    struct view v = made_view(6);
    int seen = 0;
    for (v.chunk = 0; v.chunk < 48; v.chunk++) {
        float obs[FEAT_FULL_DIM];
        struct policy_choice want;
        feat_observe(obs, FEAT_FULL, &v);
        ck_assert_int_eq(policy_decide(&want, p, ws, obs, first_level_offer(&v), -1), 0);
        ck_assert_int_eq(a.decide(a.self, &v, NULL), want.action);
        seen |= 1 << want.action;
        next_chunk(&v);
    }
    ck_assert_msg(seen & (seen - 1), "one level only: the test shows nothing");
    algo_free(&a);

    /* damaged: reported as what it is */
    ck_assert_int_eq(truncate(path, 3000), 0);
    ck_assert_int_lt(algo_new(&a, "moe", &ctx, &e), 0);
    policy_ws_free(ws);
    policy_free(p);
}

/* The level that a file decides. A correction makes all quantiles far lower. */
static int level_with(const char *path, bool corrected, uint32_t of)
{
    struct policy_cfg cfg = policy_cfg_default(FEAT_PLAN_DIM);
    cfg.prior = (struct mix_prior){FEAT_WORTH, FEAT_WORTH_STRIDE, 60};
    struct policy *p = policy_new(&cfg, NULL);
    float weights[FORECAST_OWN] = {0};
    for (int q = 0; q < FORECAST_OUTPUTS; q++)
        weights[FORECAST_OWN_B3 + q] = -2;
    if (corrected) policy_copy_input(p, weights, FORECAST_OWN);
    p->input_of = of;
    ck_assert_int_eq(ckpt_save(path, p, NULL, NULL, 0, NULL), 0);
    policy_free(p);

    struct algo_ctx ctx = {.policy_path = path};
    struct algo a;
    ck_assert_int_eq(algo_new(&a, "moe", &ctx, NULL), 0);
    struct view v = made_measured_view(6);
    v.qoe = qoe_find("pensieve")->qoe;
    int level = a.decide(a.self, &v, NULL);
    algo_free(&a);
    return level;
}

TEST(a_correction_counts_for_its_own_forecast_alone)
{
    const char *path = tmpdir_path(tmpdir_new(), "p.safetensors");
    uint32_t ours = forecast_crc32();
    int shipped = level_with(path, false, 0);
    ck_assert_int_lt(level_with(path, true, ours), shipped);
    ck_assert_int_eq(level_with(path, true, ours ^ 1), shipped);
    ck_assert_int_eq(level_with(path, true, 0), shipped);
}

TEST(paper_layout_forgets_at_reset)
{
    const char *dir = tmpdir_new();
    const char *path = tmpdir_path(dir, "p.safetensors");
    policy_free(save(path, FEAT_PAPER_DIM, "paper"));
    struct algo_ctx ctx = {.policy_path = path};
    struct err e = {0};
    struct algo a;
    ck_assert_msg(algo_new(&a, "moe", &ctx, &e) == 0, "%s", e.detail);
    int first[20];
    for (int round = 0; round < 2; round++) {
        struct view v = made_view(6);
        a.reset(a.self, 1);
        for (v.chunk = 0; v.chunk < 20; v.chunk++) {
            int level = a.decide(a.self, &v, NULL);
            ck_assert_int_lt(level, 6);
            if (round == 0) first[v.chunk] = level;
            ck_assert_int_eq(level, first[v.chunk]);
            view_push(&v, 1e5 * (1 + v.chunk % 3), .5);
            v.buffer_s = v.chunk;
            v.last_level = level;
        }
    }
    algo_free(&a);
}

/* What the viewer values changes the choices of the full layout, never those of the blind
 * one: the same weights under both names. */
TEST(blind_layout_does_not_see_the_viewer)
{
    const char *dir = tmpdir_new();
    const char *path = tmpdir_path(dir, "p.safetensors");
    static const char *const layouts[] = {"full", "blind"};
    int differ[2] = {0};
    for (int i = 0; i < 2; i++) {
        policy_free(save(path, FEAT_FULL_DIM, layouts[i]));
        struct algo_ctx ctx = {.policy_path = path};
        struct err e = {0};
        struct algo a;
        ck_assert_msg(algo_new(&a, "moe", &ctx, &e) == 0, "%s", e.detail);
        struct view v = made_view(6);
        for (v.chunk = 0; v.chunk < 48; v.chunk++) {
            v.qoe = qoe_find("paper-documentary")->qoe;
            int level = a.decide(a.self, &v, NULL);
            v.qoe = qoe_find("paper-news")->qoe;
            differ[i] += a.decide(a.self, &v, NULL) != level;
            view_push(&v, 2e5 * (1 + v.chunk * 7 % 11), .2 + v.chunk * 3 % 5);
            v.buffer_s = v.chunk * 13 % 50;
            v.last_level = v.chunk % 6;
        }
        algo_free(&a);
    }
    ck_assert_int_gt(differ[0], 0);
    ck_assert_int_eq(differ[1], 0);
}

/* Decision by decision what the network says of the rolled state and the weights. */
TEST(hinted_paper_layout)
{
    const char *dir = tmpdir_new();
    const char *path = tmpdir_path(dir, "p.safetensors");
    struct policy *p = save(path, FEAT_PAPER_HINT_DIM, "paper-hint");
    struct policy_ws *ws = policy_ws_new(&p->cfg, NULL);
    struct algo_ctx ctx = {.policy_path = path};
    struct algo a;
    ck_assert_int_eq(algo_new(&a, "moe", &ctx, NULL), 0);
    float obs[FEAT_PAPER_HINT_DIM] = {0};
    struct view v = made_view(6);
    a.reset(a.self, 1);
    for (v.chunk = 0; v.chunk < 20; v.chunk++) {
        struct policy_choice want;
        feat_paper_push(obs, &v);
        feat_paper_hint(obs + FEAT_PAPER_DIM, &v);
        ck_assert_int_eq(policy_decide(&want, p, ws, obs, feat_mask(&v), -1), 0);
        ck_assert_int_eq(a.decide(a.self, &v, NULL), want.action);
        view_push(&v, 1e5 * (1 + v.chunk % 3), .5);
        v.buffer_s = v.chunk;
        v.last_level = want.action;
    }
    algo_free(&a);
    policy_ws_free(ws);
    policy_free(p);
}

TEST(what_does_not_fit_is_told)
{
    const char *dir = tmpdir_new();
    const char *path = tmpdir_path(dir, "p.safetensors");
    struct algo_ctx ctx = {.policy_path = path};
    struct algo a;
    struct err e = {0};
    ck_assert_int_ne(algo_new(&a, "moe", &ctx, &e), 0); /* no file */
    ck_assert_ptr_nonnull(strstr(e.detail, path) ? e.detail : strstr(e.field, "p.safe"));
    algo_free(&a);

    e = (struct err){0};
    ck_assert_int_eq(algo_new(&a, "moe", NULL, &e), ERR_ABSENT); /* and no shipped one */
    ck_assert_ptr_nonnull(strstr(e.detail, "moe:FILE"));
    algo_free(&a);

    policy_free(save(path, FEAT_FULL_DIM, "paper")); /* 48 inputs are meant */
    e = (struct err){0};
    ck_assert_int_eq(algo_new(&a, "moe", &ctx, &e), ERR_INVALID);
    algo_free(&a);

    policy_free(save(path, FEAT_FULL_DIM, "cubist"));
    e = (struct err){0};
    ck_assert_int_eq(algo_new(&a, "moe", &ctx, &e), ERR_INVALID);
    algo_free(&a);
}

SUITE(abr_deciders_moe, decides_as_the_network_says,
      a_profile_decides_with_its_added_experts, paper_layout_forgets_at_reset,
      a_correction_counts_for_its_own_forecast_alone,
      blind_layout_does_not_see_the_viewer, hinted_paper_layout,
      what_does_not_fit_is_told);

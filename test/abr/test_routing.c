#include "abr/routing.h"

#include "abr/emulator/feat.h"
#include "abr/emulator/qoe.h"
#include "policy/policy.h"
#include "learn/ckpt.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

TEST(information_by_hand)
{
    /* each profile has its expert: ln 2 of ln 2 and ln 2 */
    struct routing_net n = {.experts = 3, .count = {{50, 0, 0}, {0, 0, 50}}};
    struct routing_information i = routing_information(&n, 2);
    ck_assert_double_eq_tol(i.nats, log(2), 1e-12);
    ck_assert_double_eq_tol(i.normalised, 1, 1e-12);
    ck_assert_double_eq_tol(i.bias, 1 / 200., 1e-12);
    ck_assert_double_eq(i.low_share, 0);
    ck_assert_double_eq(i.high_share, .5);

    /* the same mixture for both */
    n = (struct routing_net){.experts = 2, .count = {{30, 10}, {60, 20}}};
    i = routing_information(&n, 2);
    ck_assert_double_eq_tol(i.nats, 0, 1e-12);
    ck_assert_double_eq_tol(i.low_share, .25, 1e-12);
    ck_assert_double_eq_tol(i.high_share, .75, 1e-12);

    /* p = 3/8 1/8 / 1/8 3/8: 3/4 ln(3/2) + 1/4 ln(1/2) of ln 2 */
    n = (struct routing_net){.experts = 2, .count = {{3, 1}, {1, 3}}};
    i = routing_information(&n, 2);
    ck_assert_double_eq_tol(i.nats, .75 * log(1.5) + .25 * log(.5), 1e-12);
    ck_assert_double_eq_tol(i.normalised, i.nats / log(2), 1e-12);

    /* collapsed, and nothing seen at all */
    n = (struct routing_net){.experts = 2, .count = {{4, 0}}};
    i = routing_information(&n, 1);
    ck_assert(i.nats == 0 && i.normalised == 0 && i.bias == 0 && i.high_share == 1);
    n = (struct routing_net){.experts = 2};
    i = routing_information(&n, 2);
    ck_assert(i.nats == 0 && i.normalised == 0);
}

/* always the same experts, whatever the state */
static void save(const char *path, int actor, int critic, const char *layout, int obs_dim)
{
    struct policy_cfg c = policy_cfg_default(obs_dim);
    c.hidden = c.critic_hidden = 4;
    c.critic_experts = 4;
    struct policy *p = policy_new(&c, NULL);
    ck_assert_ptr_nonnull(p);
    p->actor->theta[3 * obs_dim + actor] = 1;
    p->critic->theta[4 * obs_dim + critic] = 1;
    struct ckpt_meta *m = calloc(1, sizeof *m);
    if (layout) ckpt_meta_set(m, "layout", "%s", layout);
    ck_assert_int_eq(ckpt_save(path, p, m, NULL, 0, NULL), 0);
    free(m);
    policy_free(p);
}

struct bed {
    struct corpus *corpus;
    struct video *video;
    struct qoe qoe[2];
    const char *paths[3];
    struct routing_cfg cfg;
};

static void make(struct bed *b, const char *dir)
{
    struct err e = {0};
    b->video = video_default(&e);
    b->corpus = corpus_generate("3g-commute", 3, 320, 3, &e);
    ck_assert_msg(b->video && b->corpus, "%s", e.detail);
    b->qoe[0] = qoe_find("paper-live")->qoe;
    b->qoe[1] = qoe_find("paper-news")->qoe;
    b->paths[0] = b->paths[2] = tmpdir_path(dir, "a.safetensors");
    b->paths[1] = tmpdir_path(dir, "b.safetensors");
    b->cfg = (struct routing_cfg){b->paths, 3, b->qoe, 2, emu_cfg_default()};
}

static void release(struct bed *b)
{
    corpus_free(b->corpus);
    video_free(b->video);
}

TEST(every_router_is_asked_in_every_state)
{
    const char *dir = tmpdir_new();
    struct bed b;
    make(&b, dir);
    save(b.paths[0], 0, 3, "full", FEAT_FULL_DIM);
    save(b.paths[1], 2, 3, NULL, FEAT_FULL_DIM);
    struct routing out[3];
    struct err e = {0};
    ck_assert_msg(routing_run(out, &b.cfg, b.corpus, b.video, &e) == 0, "%s", e.detail);
    int64_t each = 3 * (b.video->chunks - 1);
    ck_assert_int_gt(each, 64); /* more than are routed at a time */
    for (int p = 0; p < 3; p++) {
        const struct routing_net *actor = &out[p].net[ROUTING_ACTOR];
        const struct routing_net *critic = &out[p].net[ROUTING_CRITIC];
        ck_assert_int_eq(out[p].states, 2 * each);
        ck_assert_int_eq(actor->experts, 3);
        ck_assert_int_eq(critic->experts, 4);
        for (int v = 0; v < 2; v++) {
            ck_assert_int_eq(actor->count[v][p == 1 ? 2 : 0], each);
            ck_assert_int_eq(critic->count[v][3], each);
        }
        ck_assert_int_eq(actor->changed, p == 1 ? 2 * each : 0);
        ck_assert_int_eq(critic->changed, 0);
    }
    release(&b);
}

TEST(what_cannot_be_compared_is_named)
{
    const char *dir = tmpdir_new();
    struct bed b;
    make(&b, dir);
    struct routing out[3];
    struct err e = {0};
    ck_assert_int_lt(routing_run(out, &b.cfg, b.corpus, b.video, &e), 0);
    ck_assert_msg(strstr(e.field, "a.safetensors") != NULL, "%s", e.field);

    save(b.paths[0], 0, 0, "full", FEAT_FULL_DIM);
    save(b.paths[1], 0, 0, "blind", FEAT_FULL_DIM);
    e = (struct err){0};
    ck_assert_int_eq(routing_run(out, &b.cfg, b.corpus, b.video, &e), ERR_INVALID);
    ck_assert_msg(strstr(e.field, "b.safetensors") && strstr(e.detail, "another layout"),
                  "%s: %s", e.field, e.detail);
    save(b.paths[1], 0, 0, "paper", FEAT_PAPER_DIM);
    e = (struct err){0};
    ck_assert_int_eq(routing_run(out, &b.cfg, b.corpus, b.video, &e), ERR_INVALID);
    ck_assert_msg(strstr(e.detail, "'paper'") != NULL, "%s", e.detail);

    struct corpus none = {.name = "empty"};
    e = (struct err){0};
    ck_assert_int_eq(routing_run(out, &b.cfg, &none, b.video, &e), ERR_ABSENT);
    release(&b);
}

SUITE(abr_routing, information_by_hand, every_router_is_asked_in_every_state,
      what_cannot_be_compared_is_named);

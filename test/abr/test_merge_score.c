#include "abr/merge_score.h"

#include "abr/emulator/player.h"
#include "abr/traces/corpus.h"
#include "base/rng.h"
#include "policy/bank.h"
#include "policy/lattice.h"
#include "support/alloc.h"
#include "support/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { V = 2, STEPS = 2, POINTS = 3 };

/* Expert k always wants level 2 k: the bias of its head. */
static struct policy *experts(void)
{
    struct policy_cfg c = policy_cfg_default(FEAT_FULL_DIM);
    c.experts = c.critic_experts = 2;
    c.hidden = c.critic_hidden = 4;
    struct policy *p = policy_new(&c, NULL);
    for (int k = 0; k < 2; k++) {
        struct mix_range at = mix_expert(&p->actor->cfg, k);
        p->actor->theta[at.at + at.n - (size_t)(c.actions - 2 * k)] = 5;
    }
    return p;
}

static const struct qoe *tasks(struct qoe out[V])
{
    out[0] = qoe_find("paper-news")->qoe;
    out[1] = qoe_find("paper-live")->qoe;
    return out;
}

static struct merge_score_cfg small(struct qoe *qoe)
{
    return (struct merge_score_cfg){.steps = STEPS,
                                    .links = 1,
                                    .seed = 3,
                                    .tasks = V,
                                    .qoe = tasks(qoe),
                                    .layout = FEAT_BLIND,
                                    .threads = 1};
}

/* An independent twin for a policy that always fetches one level. */
static void fixed_level(double *out, const struct qoe *qoe, int level)
{
    struct corpus *c = corpus_generate(NULL, 1, 320, 3, NULL);
    struct video *video = video_default(NULL);
    double gain[V] = {0}, room[V] = {0};
    for (int i = 0; i < c->n; i++) {
        struct emu_world w = {video, c->traces[i], emu_cfg_default()};
        struct player p;
        player_start(&p, &w, 1, &qoe[0], 1);
        for (bool end = false; !end;) {
            int before = p.view.last_level;
            end = player_step(&p, level, 1);
            double carried = p.view.throughput_kbps[p.view.n_history - 1];
            for (int v = 0; v < V; v++) {
                double high = video->ladder_kbps[level] / 1000 * qoe[v].mu_quality;
                double change =
                    fabs(video->ladder_kbps[level] - video->ladder_kbps[before]) / 1000;
                struct qoe_range r =
                    qoe_chunk_range(&qoe[v],
                                    &(struct qoe_ladder){video->ladder_kbps, NULL,
                                                         video->levels, video->chunk_s},
                                    carried);
                gain[v] += high - qoe[v].mu_switch * change -
                           qoe[v].mu_stall * p.last.stall_s - r.low;
                room[v] += r.high - r.low;
            }
        }
    }
    for (int v = 0; v < V; v++)
        out[v] = fmin(fmax(gain[v] / room[v], -1), 1);
    video_free(video);
    corpus_free(c);
}

TEST(vertices_are_the_experts)
{
    struct qoe qoe[V];
    struct merge_score_cfg c = small(qoe);
    struct policy *p = experts();
    float got[POINTS * V], again[POINTS * V];
    ck_assert_int_eq(merge_score_all(got, p, &c, NULL), 0);
    double want[V];
    for (int k = 0; k < 2; k++) {
        /* point 0 is the last expert */
        fixed_level(want, qoe, 2 * k);
        for (int v = 0; v < V; v++)
            ck_assert_double_eq_tol((double)got[(k ? 0 : POINTS - 1) * V + v], want[v],
                                    1e-5);
    }
    for (int i = 0; i < POINTS * V; i++)
        ck_assert(got[i] >= -1 && got[i] <= 1);
    c.threads = 3;
    ck_assert_int_eq(merge_score_all(again, p, &c, NULL), 0);
    ck_assert_mem_eq(got, again, sizeof got);
    policy_free(p);
}

TEST(merges_that_are_none)
{
    struct qoe qoe[V];
    struct merge_score_cfg c = small(qoe);
    struct policy *p = experts();
    float got[POINTS * V];
    struct err e = {0};
    p->actor->theta[mix_expert(&p->actor->cfg, 1).at] = NAN;
    ck_assert_int_eq(merge_score_all(got, p, &c, &e), ERR_NUMERIC);
    ck_assert_ptr_nonnull(strstr(e.detail, "not finite"));
    policy_free(p);

    struct policy_cfg few = policy_cfg_default(FEAT_FULL_DIM);
    few.experts = few.critic_experts = 2;
    few.actions = 3;
    p = policy_new(&few, NULL);
    e = (struct err){0};
    ck_assert_int_eq(merge_score_all(got, p, &c, &e), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(e.detail, "among 3 levels"));
    policy_free(p);
}

SUITE(abr_merge_score, vertices_are_the_experts, merges_that_are_none);

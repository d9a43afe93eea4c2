#include "lab/merge/merge_world.h"

#include "abr/manifests/video.h"
#include "base/rng.h"
#include "policy/join.h"
#include "support/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { V = MERGE_TASKS, LINKS = 3, LEVELS = 3, CHUNKS = 8 };

static struct video *short_video(void)
{
    struct video *v = video_new(LEVELS, CHUNKS, 4, (double[]){300, 1200, 2850}, NULL);
    for (int i = 0; i < CHUNKS * LEVELS; i++)
        v->bytes[i] = (int64_t)(v->ladder_kbps[i % LEVELS] * 500);
    return v;
}

/* Chooses one level whatever it sees. */
static struct packed *stubborn(int level)
{
    struct policy_cfg c = policy_cfg_default(FEAT_FULL_DIM);
    c.experts = c.critic_experts = 1;
    c.route = c.critic_route = MIX_SINGLE;
    struct policy *p = policy_new(&c, NULL);
    p->actor->theta[p->actor->n - (size_t)(c.actions - level)] = 5; /* the head's bias */
    struct packed *s = packed_new(&c, NULL);
    packed_load(s, p);
    policy_free(p);
    return s;
}

struct set {
    struct corpus *corpus;
    struct video *video;
    struct merge_world *world;
};

static struct set make(int starts)
{
    struct set s = {corpus_generate("lte", LINKS, 100, 3, NULL), short_video(), NULL};
    s.world = merge_world_new(s.corpus, s.video, starts, 1, NULL);
    ck_assert_int_eq(merge_world_scale(s.world, 1, NULL), 0);
    return s;
}

static void drop(struct set s)
{
    merge_world_free(s.world);
    video_free(s.video);
    corpus_free(s.corpus);
}

TEST(zero_is_the_lowest_level_and_one_the_oracle)
{
    struct set s = make(2);
    ck_assert_int_eq(s.world->sessions, 2 * LINKS);
    float scores[2 * LINKS * V];
    double mean[V];
    struct packed *lowest = stubborn(0);
    merge_world_play(scores, s.world, lowest, FEAT_BLIND, NULL);
    merge_world_mean(mean, s.world, scores);
    for (int v = 0; v < V; v++)
        ck_assert_double_eq_tol(mean[v], 0, 1e-6);
    for (int level = 1; level < LEVELS; level++) {
        struct packed *other = stubborn(level);
        merge_world_play(scores, s.world, other, FEAT_FULL, &qoe_papers[level].qoe);
        merge_world_mean(mean, s.world, scores);
        for (int v = 0; v < V; v++) {
            ck_assert_double_lt(mean[v], 1.001);
            ck_assert_double_gt(fabs(mean[v]), 1e-3);
        }
        packed_free(other);
    }
    /* by hand: all chunks of 300 kbit/s after one of 1200: quality .3, a switch of .9 in the
     * first counted one; stalls aside */
    double most = .3 - 6 * .9 / (CHUNKS - 1);
    ck_assert_double_le(s.world->low[0], most + 1e-9);
    ck_assert_double_gt(s.world->low[0], most - 2);
    packed_free(lowest);
    drop(s);
}

TEST(threads_change_nothing)
{
    struct set a = make(1), b = make(1);
    memset(b.world->low, 0, sizeof b.world->low);
    memset(b.world->best, 0, sizeof b.world->best);
    ck_assert_int_eq(merge_world_scale(b.world, 3, NULL), 0);
    ck_assert_mem_eq(a.world->low, b.world->low, sizeof a.world->low);
    ck_assert_mem_eq(a.world->best, b.world->best, sizeof a.world->best);
    drop(a);
    drop(b);
}

TEST(states_are_what_a_policy_sees)
{
    enum { N = 20 };
    struct set s = make(1);
    struct packed *p = stubborn(1);
    float obs[N * FEAT_FULL_DIM];
    uint32_t mask[N];
    merge_world_states(obs, mask, N, s.world, p, FEAT_BLIND, 4);
    int differ = 0;
    for (int i = 0; i < N; i++) {
        ck_assert_uint_eq(mask[i], (1u << LEVELS) - 1);
        const float *o = obs + i * FEAT_FULL_DIM;
        ck_assert_float_eq(o[28 + 1], 1.0f); /* it was fetched at its level */
        differ += memcmp(o, obs, FEAT_FULL_DIM * sizeof *o) != 0;
    }
    ck_assert_int_gt(differ, N / 2);
    packed_free(p);
    drop(s);
}

TEST(every_session_is_looked_at)
{
    struct set s = make(1);
    struct packed *p = stubborn(1);
    float obs[LINKS * FEAT_FULL_DIM];
    merge_world_look(obs, s.world, p);
    for (int i = 0; i < LINKS; i++) {
        const float *o = obs + i * FEAT_FULL_DIM;
        ck_assert_float_eq(o[28 + 1], 1.0f); /* its last chunk was of level 1 */
        ck_assert(i == 0 || memcmp(o, obs, FEAT_FULL_DIM * sizeof *o) != 0);
    }
    packed_free(p);
    drop(s);
}

/* ---- the grid ---- */

static struct merge_grid *empty_grid(int dim, int steps)
{
    struct merge_world w = {.sessions = 2};
    return merge_grid_new(dim, steps, &w, NULL);
}

TEST(scores_are_interpolated)
{
    struct merge_grid *g = empty_grid(4, 4);
    for (int i = 0; i < g->points; i++) {
        float x[4];
        lattice_at(x, g->dim, g->steps, i);
        for (int v = 0; v < V; v++)
            for (int s = 0; s < 2; s++)
                g->scores[(i * 2 + s) * V + v] = (float)(v + 1) * x[1] + (float)s;
        for (int v = 0; v < V; v++)
            g->mean[i * V + v] = (v + 1) * (double)x[1] + .5;
    }
    const float x[4] = {.3f, .17f, .05f, .48f};
    struct lattice_mix m = lattice_mix(x, g->dim, g->steps);
    double mean[V];
    merge_grid_mean(mean, g, &m);
    for (int v = 0; v < V; v++) {
        ck_assert_double_eq_tol(mean[v], (v + 1) * .17 + .5, 1e-5);
        ck_assert_double_eq_tol(merge_grid_score(g, &m, 1, v), (v + 1) * .17 + 1, 1e-5);
    }
    merge_grid_free(g);
}

SUITE(lab_merge_merge_world, zero_is_the_lowest_level_and_one_the_oracle,
      threads_change_nothing, states_are_what_a_policy_sees, every_session_is_looked_at,
      scores_are_interpolated);

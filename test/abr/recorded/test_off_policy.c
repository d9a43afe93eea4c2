#include "abr/recorded/off_policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abr/emulator/player.h"
#include "abr/traces/gen.h"
#include "base/rng.h"
#include "support/suites.h"

/* Two decisions, from the last one back:
 *   D_1 = 0.5 + 0.5 (2 + 0 - 0.4) = 1.3
 *   D_0 = 1 + 2 (1 + 1.3 - 0.8)   = 4,  per chunk 2 */
TEST(a_session_by_hand)
{
    struct off_policy_step s[2] = {{.ratio = 2, .reward = 1, .q = .8, .v = 1},
                                   {.ratio = .5, .reward = 2, .q = .4, .v = .5}};
    ck_assert_double_eq_tol(off_policy_session(s, 2), 2, 1e-12);
    /* without a model it is importance sampling per decision: 2 * 1 + 2 * 0.5 * 2 = 4 */
    s[0].q = s[0].v = s[1].q = s[1].v = 0;
    ck_assert_double_eq_tol(off_policy_session(s, 2), 2, 1e-12);
    s[1].ratio = 50; /* clipped at 10: 2 * 1 + 2 * 10 * 2 = 42 */
    ck_assert_double_eq_tol(off_policy_session(s, 2), 21, 1e-12);
    s[0].ratio = 0; /* a level that the policy would not take: the model alone */
    s[0].v = .7;
    ck_assert_double_eq_tol(off_policy_session(s, 2), .35, 1e-12);
    const double w[3] = {2, 0, 1};
    ck_assert_double_eq_tol(off_policy_effective(w, 3), 9 / 5., 1e-12);
    ck_assert_double_eq(off_policy_effective(w + 1, 1), 0);
}

/* ---- sessions whose truth is known: hyb with a share of drawn levels, on links that slow down while high
 * levels are fetched, which no replay can see ---- */

enum { SESSIONS = 300, CHUNKS = 8, POOLS = 40 };
static const double DRAWN = .15;

struct watched {
    struct recorded_chunk chunk[CHUNKS];
    double reward; /* per chunk */
};

/* drawn 0: the policy itself. */
static void watch(struct watched *out, struct algo *algo, const struct emu_world *world,
                  double drawn, struct rng *r)
{
    struct player p;
    player_start(&p, world, 1, qoe_standard(), -1);
    out->reward = 0;
    for (int i = 0; i < CHUNKS; i++) {
        struct view v = p.view;
        int best = algo->decide(algo->self, &v, NULL), level = best;
        if (rng_uniform(r) < drawn) level = (int)rng_below(r, (uint32_t)v.levels);
        double m = drawn / v.levels + (level == best ? 1 - drawn : 0);
        player_step(&p, level, 1 + .8 * level / (v.levels - 1));
        struct recorded_chunk *c = &out->chunk[i];
        *c = (struct recorded_chunk){.chunk = i,
                                     .level = level,
                                     .bytes = (double)p.result.bytes,
                                     .download_s = p.result.delay_ms / 1000,
                                     .stall_s = p.last.stall_s,
                                     .buffer_s = v.buffer_s,
                                     .reward = p.last.reward,
                                     .reported = true,
                                     .sampled = drawn > 0,
                                     .followed = true,
                                     .logp = log(m)};
        memcpy(c->next_bytes, v.next_bytes, sizeof c->next_bytes);
        memcpy(c->points, v.points, sizeof c->points);
        out->reward += p.last.reward / CHUNKS;
    }
}

struct pool {
    struct recorded session[SESSIONS];
    double truth; /* mean reward per chunk of the policy itself */
};

static struct recorded_terms terms_of(const struct video *video)
{
    struct recorded_terms t = {.name = "drawn",
                               .levels = video->levels,
                               .chunks = video->chunks,
                               .chunk_s = video->chunk_s,
                               .buffer_max_s = 60,
                               .qoe = *qoe_standard()};
    memcpy(t.ladder_kbps, video->ladder_kbps, sizeof t.ladder_kbps);
    memcpy(t.points, video->level_points, sizeof t.points);
    return t;
}

static void pool_make(struct pool *p, const struct video *video, double drawn,
                      uint64_t seed)
{
    struct algo hyb;
    struct recorded_terms t = terms_of(video);
    ck_assert_int_eq(algo_new(&hyb, "hyb", &(struct algo_ctx){.seed = 1}, NULL), 0);
    struct rng r;
    rng_init(&r, seed, 1);
    p->truth = 0;
    for (uint64_t i = 0; i < SESSIONS; i++) {
        struct trace *link = gen_trace(gen_kinds[i % 6], 200, seed, i, NULL);
        const struct emu_world world = {video, link, emu_cfg_default()};
        struct watched w;
        watch(&w, &hyb, &world, 0, &r);
        p->truth += w.reward / SESSIONS;
        watch(&w, &hyb, &world, drawn, &r);
        ck_assert_int_eq(recorded_make(&p->session[i], &t, w.chunk, CHUNKS, NULL), 0);
        p->session[i].explores = true;
        trace_free(link);
    }
    algo_free(&hyb);
}

static void pool_free(struct pool *p)
{
    for (int i = 0; i < SESSIONS; i++)
        recorded_free(&p->session[i]);
}

static struct off_policy must_estimate(const char *policy, const struct pool *p)
{
    struct off_policy o;
    struct err e = {0};
    const struct algo_ctx ctx = {.seed = 1};
    ck_assert_msg(!off_policy_run(&o, policy, &ctx, p->session, SESSIONS, &e), "%s",
                  e.detail);
    return o;
}

/* The pools' truth is of the same links, so intervals, which allow for other links, cover it nearly always.
 * What was logged is off by five times as much. */
TEST(the_truth_is_covered)
{
    struct video *video = video_default(NULL);
    struct pool *p = calloc(1, sizeof *p);
    double error = 0, naive = 0;
    int covered = 0;
    for (int i = 0; i < POOLS; i++) {
        pool_make(p, video, DRAWN, (uint64_t)i);
        struct off_policy o = must_estimate("hyb", p);
        ck_assert_msg(!*o.why, "%s", o.why);
        ck_assert_int_eq(o.sessions, SESSIONS);
        ck_assert_double_gt(o.effective, 100);
        ck_assert_double_lt(o.effective, SESSIONS);
        covered += o.value.lo <= p->truth && o.value.hi >= p->truth;
        error += (o.value.mean - p->truth) / POOLS;
        naive += (o.logged - p->truth) / POOLS;
        pool_free(p);
    }
    ck_assert_int_ge(covered, POOLS * 9 / 10);
    ck_assert_msg(fabs(error) < fabs(naive) / 5, "%g, of what was logged %g", error,
                  naive);
    free(p);
    video_free(video);
}

TEST(silence_where_little_is_known)
{
    struct video *video = video_default(NULL);
    struct pool *p = calloc(1, sizeof *p);
    pool_make(p, video, DRAWN, 1);
    struct off_policy o = must_estimate("fixed-5", p); /* is hardly ever drawn */
    ck_assert(isnan(o.value.mean));
    ck_assert_ptr_nonnull(strstr(o.why, "effective sample size is "));
    o = must_estimate("mpc", p);
    ck_assert_ptr_nonnull(strstr(o.why, "keeps something"));
    for (int i = 0; i < SESSIONS; i++)
        p->session[i].chunk[3].followed = i < 10;
    o = must_estimate("hyb", p);
    ck_assert_int_eq(o.sessions, 10);
    ck_assert_int_eq(o.not_followed, SESSIONS - 10);
    ck_assert_str_eq(o.why, "10 sessions explored, below 30");
    pool_free(p);

    /* what was logged is what the policy earns if nothing was drawn: the ratios are 1 */
    pool_make(p, video, 0, 1);
    o = must_estimate("hyb", p);
    ck_assert_double_eq_tol(o.value.mean, p->truth, 1e-9);
    ck_assert_double_eq_tol(o.effective, SESSIONS, 1e-9);
    pool_free(p);
    free(p);
    video_free(video);
    struct err e = {0};
    const struct algo_ctx ctx = {.seed = 1};
    ck_assert_int_eq(off_policy_run(&o, "fixed-x", &ctx, NULL, 0, &e), ERR_INVALID);
}

SUITE_WITHIN(abr_recorded_off_policy, 60, a_session_by_hand, the_truth_is_covered,
             silence_where_little_is_known);

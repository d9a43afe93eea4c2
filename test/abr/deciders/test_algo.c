#include "abr/deciders/algo.h"

#include "abr/emulator/feat.h"
#include "abr/emulator/replay.h"
#include "abr/traces/gen.h"
#include "support/made.h"
#include "support/suites.h"

#include <math.h>
#include <string.h>

static int ask(const char *spec, const struct algo_ctx *ctx, uint64_t key,
               const struct view *v)
{
    struct err e = {0};
    struct algo a;
    ck_assert_msg(algo_new(&a, spec, ctx, &e) == 0, "%s: %s", spec, e.detail);
    a.reset(a.self, key);
    int level = a.decide(a.self, v, NULL);
    ck_assert_int_eq(a.decide(a.self, v, NULL), level); /* asked again, answered again */
    algo_free(&a);
    return level;
}

TEST(every_baseline_answers_any_view)
{
    const char *const specs[] = {"fixed-3", "random", "rate",       "buffer",
                                 "bola",    "mpc",    "mpc-default"};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        struct view v = made_view(6);
        for (v.chunk = 0; v.chunk < 48; v.chunk++) {
            int level = ask(specs[i], NULL, 1, &v);
            ck_assert_int_ge(level, 0);
            ck_assert_int_lt(level, v.levels);
            view_push(&v, 1e5 * (1 + v.chunk % 7), .1 + v.chunk % 5);
            v.buffer_s = v.chunk;
            v.last_level = level;
        }
    }
}

/* ---- long ladders ---- */

struct played {
    int level[100], n;
    double reward;
};

static int note_played(void *ctx, const struct replay_step *s, struct err *e)
{
    (void)e;
    struct played *p = ctx;
    p->level[p->n++] = s->level;
    p->reward += s->reward;
    return 0;
}

static struct played play_long(const char *spec, int levels, const struct trace *link)
{
    double ladder[VIEW_LEVELS];
    for (int k = 0; k < levels; k++)
        ladder[k] = 150 * pow(40000 / 150., k / (levels - 1.));
    struct video *video = video_generate(levels, 48, 4, ladder, .3, 1, NULL);
    const struct algo_ctx ctx = {.seed = 3,
                                 .policy_path = "deploy/policy/moe.safetensors"};
    struct err e = {0};
    struct algo a;
    ck_assert_msg(algo_new(&a, spec, &ctx, &e) == 0, "%s: %s", spec, e.detail);
    const struct emu_world world = {video, link, emu_cfg_default()};
    const struct replay r = {
        .world = &world, .qoe = qoe_standard(), .first_level = -1, .algo = &a, .key = 5};
    struct played p = {.n = 0};
    ck_assert_int_eq(replay_run(&r, note_played, &p, NULL), 0);
    algo_free(&a);
    video_free(video);
    return p;
}

/* A session is played to its end, on levels above the twelfth too, and again the same. */
TEST(each_plays_long_ladders)
{
    static const char *const specs[] = {
        "fixed-31", "random", "rate", "buffer",     "bola",        "bola-e",
        "bba-2",    "hyb",    "soda", "mpc",        "mpc-default", "mpc-tail",
        "fugu",     "hold",   "moe",  "ceiled:rate"};
    struct trace *link = gen_trace("high-4g", 320, 1, 2, NULL);
    ck_assert_ptr_nonnull(link);
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (int levels = 13; levels <= 32; levels += levels == 13 ? 7 : 12) {
            struct played p = play_long(specs[i], levels, link),
                          q = play_long(specs[i], levels, link);
            ck_assert_int_eq(p.n, 48);
            ck_assert_mem_eq(p.level, q.level, sizeof(int[48]));
            ck_assert(isfinite(p.reward) && p.reward == q.reward);
            int top = 0;
            for (int k = 0; k < p.n; k++)
                top = p.level[k] > top ? p.level[k] : top;
            ck_assert_msg(top < levels && (levels == 13 || top >= FEAT_LEVELS),
                          "%s, %d levels: at most level %d", specs[i], levels, top);
        }
    trace_free(link);
}

TEST(fixed_is_clipped_to_the_ladder)
{
    struct view v = made_view(6);
    ck_assert_int_eq(ask("fixed-0", NULL, 0, &v), 0);
    ck_assert_int_eq(ask("fixed-5", NULL, 0, &v), 5);
    ck_assert_int_eq(ask("fixed-11", NULL, 0, &v), 5);
}

TEST(random_depends_on_seed_key_and_chunk_alone)
{
    struct view v = made_view(6);
    const struct algo_ctx one = {.seed = 1}, two = {.seed = 2};
    int seen[6] = {0}, by_seed = 0, by_key = 0;
    for (v.chunk = 0; v.chunk < 600; v.chunk++) {
        int level = ask("random", &one, 7, &v);
        seen[level]++;
        by_seed += level != ask("random", &two, 7, &v);
        by_key += level != ask("random", &one, 8, &v);
    }
    for (int k = 0; k < 6; k++) /* 100 expected, standard deviation 9 */
        ck_assert_msg(seen[k] > 60 && seen[k] < 140, "level %d: %d of 600", k, seen[k]);
    ck_assert_int_gt(by_seed, 400); /* 500 expected */
    ck_assert_int_gt(by_key, 400);
}

TEST(wrong_names_are_told)
{
    const struct {
        const char *spec;
        int code;
    } cases[] = {
        {"", ERR_ABSENT},        {"bb", ERR_ABSENT},       {"fixed", ERR_ABSENT},
        {"fixed-", ERR_INVALID}, {"fixed-x", ERR_INVALID}, {"fixed-32", ERR_RANGE},
        {"fixed--1", ERR_RANGE}, {"mpcx", ERR_ABSENT},     {"rate:5", ERR_ABSENT},
        {"moe:", ERR_ABSENT},    {"soda:", ERR_ABSENT}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err e = {0};
        struct algo a;
        ck_assert_msg(algo_new(&a, cases[i].spec, NULL, &e) == cases[i].code,
                      "'%s': %d %s", cases[i].spec, e.code, e.detail);
        ck_assert_int_eq(e.code, cases[i].code);
        if (e.code == ERR_ABSENT) ck_assert_ptr_nonnull(strstr(e.detail, "mpc-default"));
        algo_free(&a);
    }
    char longer[200];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    struct algo a;
    ck_assert_int_eq(algo_new(&a, longer, NULL, NULL), ERR_ABSENT);
    algo_free(&a);
    algo_free(NULL);
}

SUITE(abr_deciders_algo, each_plays_long_ladders, every_baseline_answers_any_view,
      fixed_is_clipped_to_the_ladder, random_depends_on_seed_key_and_chunk_alone,
      wrong_names_are_told);

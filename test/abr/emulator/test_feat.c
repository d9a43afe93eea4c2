#include "abr/emulator/feat.h"

#include "abr/emulator/player.h"
#include "base/rng.h"
#include "support/feat_plain.h"
#include "support/made.h"
#include "support/shared.h"
#include "support/suites.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct view pensieve_view(void)
{
    struct view v = made_view(6);
    v.chunk = 10;
    v.buffer_s = 6;
    v.last_level = 2;
    v.qoe = qoe_find("pensieve")->qoe;
    return v;
}

static int index_of(const char *name)
{
    char got[48];
    for (int i = 0; i < FEAT_FULL_DIM; i++) {
        feat_name(got, sizeof got, FEAT_FULL, i);
        if (!strcmp(got, name)) return i;
    }
    ck_abort_msg("no entry is called %s", name);
}

static float entry(const struct view *v, const char *name)
{
    float obs[FEAT_FULL_DIM];
    feat_observe(obs, FEAT_FULL, v);
    return obs[index_of(name)];
}

TEST(names_are_distinct)
{
    char a[48], b[48];
    for (int i = 0; i < FEAT_FULL_DIM; i++)
        for (int j = 0; j < i; j++) {
            feat_name(a, sizeof a, FEAT_FULL, i);
            feat_name(b, sizeof b, FEAT_FULL, j);
            ck_assert_str_ne(a, b);
        }
}

/* Two viewers who value opposite things look alike; all else is as in the full layout. */
TEST(blind_hides_the_viewer_and_nothing_else)
{
    struct view v = pensieve_view();
    view_push(&v, 1e6, 4);
    float full[FEAT_FULL_DIM], a[FEAT_FULL_DIM], b[FEAT_FULL_DIM];
    feat_observe(full, FEAT_FULL, &v);
    feat_observe(a, FEAT_BLIND, &v);
    v.qoe =
        (struct qoe){.mu_quality = 6, .mu_switch = .1, .mu_stall = 9, .utility = QOE_LOG};
    feat_observe(b, FEAT_BLIND, &v);
    ck_assert_mem_eq(a, b, sizeof a);
    int hidden = 0;
    for (int i = 0; i < FEAT_FULL_DIM; i++) {
        char name[48];
        feat_name(name, sizeof name, FEAT_BLIND, i);
        bool viewer = strstr(name, "weight_") || strstr(name, "reward") ||
                      !strcmp(name, "linear") || !strcmp(name, "log") ||
                      !strcmp(name, "pamoe");
        ck_assert_float_eq(a[i], viewer ? 0 : full[i]);
        hidden += viewer;
    }
    ck_assert_int_eq(hidden, 6 + 2 * FEAT_LEVELS);
    enum feat_layout layout;
    ck_assert_int_eq(feat_layout_parse(&layout, "blind", NULL), 0);
    ck_assert_int_eq(layout, FEAT_BLIND);
    ck_assert_str_eq(feat_layout_name(FEAT_BLIND), "blind");
    ck_assert_int_eq(feat_dim(FEAT_BLIND), FEAT_FULL_DIM);
}

/* One chunk at 2000 kbit/s measured; level 4 has 2850 * 4 kbit, so it takes 5.7 s, which
 * is within the buffer of 6 s; level 5 takes 8.6 s and stalls for 2.6 s. */
TEST(predictions_by_hand)
{
    struct view v = pensieve_view();
    view_push(&v, 2000 * 125 * 4, 4);
    ck_assert_float_eq_tol(entry(&v, "level4.load"), 5.7f / (5.7f + 4.f), 1e-6f);
    ck_assert_float_eq(entry(&v, "level4.stall"), 0.f);
    ck_assert_float_eq_tol(entry(&v, "level5.stall"), 2.6f / (2.6f + 4.f), 1e-6f);
    /* pensieve weights: 4.3 - |4.3 - 1.2| - 4.3 * 2.6, over 1 + 1 + 4.3 */
    ck_assert_float_eq_tol(entry(&v, "level5.reward"), (4.3f - 3.1f - 4.3f * 2.6f) / 6.3f,
                           1e-5f);
    ck_assert_float_eq_tol(entry(&v, "sustainable"), 1850.f / 4300.f, 1e-6f);
    ck_assert_float_eq(entry(&v, "last2"), 1.f);
    ck_assert_float_eq(entry(&v, "last3"), 0.f);
    ck_assert_float_eq_tol(entry(&v, "remaining_share"), 38.f / 48.f, 1e-6f);

    /* a second one at 1000: predicted 2000, so off by 100 %: the mean 1333 counts half */
    view_push(&v, 1000 * 125 * 4, 4);
    ck_assert_float_eq_tol(entry(&v, "throughput_mean"),
                           log2f(4000.f / 3.f / 4300.f) / 4.f, 1e-5f);
    ck_assert_float_eq_tol(entry(&v, "throughput_low"),
                           log2f(2000.f / 3.f / 4300.f) / 4.f, 1e-5f);
}

TEST(known_sizes_beat_the_ladder)
{
    struct view v = pensieve_view();
    view_push(&v, 1e6, 4);
    float ladder = entry(&v, "level1.load");
    v.next_bytes[1] = 3 * 750 * 4 * 125;
    ck_assert_float_gt(entry(&v, "level1.load"), ladder);
}

TEST(scale_is_the_sum_of_weights_on_pensieves_ladder)
{
    struct view v = pensieve_view();
    for (int i = 0; i < QOE_PAPERS; i++) {
        v.qoe = qoe_papers[i].qoe;
        ck_assert_double_eq_tol(feat_reward_scale(&v),
                                v.qoe.mu_quality + v.qoe.mu_switch + v.qoe.mu_stall,
                                1e-9);
    }
    v.qoe = (struct qoe){0};
    ck_assert_double_gt(feat_reward_scale(&v), 0.0);
}

TEST(missing_levels_are_zero_and_masked)
{
    struct view v = pensieve_view();
    view_push(&v, 1e6, 3);
    float obs[FEAT_FULL_DIM];
    feat_observe(obs, FEAT_FULL, &v);
    for (int i = index_of("level6.rate"); i < FEAT_FULL_DIM; i++)
        ck_assert_float_eq(obs[i], 0.f);
    ck_assert_uint_eq(feat_mask(&v), 0x3f);
    v.levels = 2;
    v.last_level = 1;
    ck_assert_uint_eq(feat_mask(&v), 3);
}

static void check_finite(const struct view *v)
{
    float obs[FEAT_FULL_DIM];
    for (int layout = FEAT_FULL; layout <= FEAT_PAPER; layout++) {
        feat_observe(obs, (enum feat_layout)layout, v);
        for (int i = 0; i < feat_dim((enum feat_layout)layout); i++) {
            char name[48];
            feat_name(name, sizeof name, (enum feat_layout)layout, i);
            ck_assert_msg(isfinite(obs[i]), "%s is %g", name, (double)obs[i]);
            if (layout == FEAT_FULL)
                ck_assert_msg(fabsf(obs[i]) <= 12.f, "%s is %g", name, (double)obs[i]);
        }
    }
}

/* Every combination of extreme measurements, buffers, weights, sizes and ladders. */
TEST(finite_at_the_extremes)
{
    static const double throughput[] = {0, 1e-6, 1, 1e12, INFINITY};
    static const double buffer[] = {0, 1e9}, mu[] = {0, 1e-9, 1e6},
                        bytes[] = {0, 1, 1e12};
    for (int i = 0; i < 5 * 2 * 3 * 3 * 3 * 2; i++) {
        int k = i;
        struct view v = pensieve_view();
        double x = throughput[k % 5];
        k /= 5;
        v.buffer_s = buffer[k % 2];
        k /= 2;
        v.qoe.mu_quality = v.qoe.mu_switch = v.qoe.mu_stall = mu[k % 3];
        k /= 3;
        for (int l = 0; l < v.levels; l++)
            v.next_bytes[l] = bytes[k % 3];
        k /= 3;
        v.qoe.utility = (enum qoe_utility)(k % 3);
        k /= 3;
        for (int l = 0; k && l < v.levels; l++)
            v.ladder_kbps[l] = l ? 1e6 * l : 1;
        check_finite(&v); /* nothing measured yet */
        v.last_level = -1;
        v.chunks = 0;
        v.n_history = VIEW_HISTORY;
        for (int h = 0; h < VIEW_HISTORY; h++) {
            v.throughput_kbps[h] = h % 2 ? x : 1000;
            v.download_s[h] = h % 2 ? 1e9 : 0;
        }
        check_finite(&v);
    }
}

static double log_range(struct rng *r, double lo, double hi)
{
    return exp(rng_range(r, log(lo), log(hi)));
}

static struct view random_view(struct rng *r)
{
    struct view v = view_default();
    v.levels = 2 + (int)rng_below(r, FEAT_LEVELS - 1);
    v.ladder_kbps[0] = log_range(r, 50, 3000);
    for (int k = 1; k < v.levels; k++)
        v.ladder_kbps[k] = v.ladder_kbps[k - 1] * rng_range(r, 1.01, 2.5);
    v.chunk_s = rng_range(r, .5, 10);
    v.chunks = rng_below(r, 4) ? 1 + (int)rng_below(r, 300) : 0;
    v.chunk = (int)rng_below(r, v.chunks ? (uint32_t)v.chunks : 1000);
    v.buffer_max_s = rng_range(r, 2, 120);
    v.buffer_s = rng_below(r, 5) ? rng_range(r, 0, v.buffer_max_s) : 0;
    v.last_level = (int)rng_below(r, (uint32_t)v.levels + 1) - 1;
    for (int i = (int)rng_below(r, 12); i > 0; i--)
        view_push(&v, log_range(r, 1e3, 1e8), log_range(r, 1e-2, 100));
    for (int k = 0; k < v.levels && rng_below(r, 8); k++)
        v.next_bytes[k] = v.ladder_kbps[k] * 125 * v.chunk_s * rng_range(r, .3, 3);
    double *mu[] = {&v.qoe.mu_quality, &v.qoe.mu_switch, &v.qoe.mu_stall};
    for (int i = 0; i < 3; i++)
        *mu[i] = rng_below(r, 8) ? log_range(r, 1e-3, 100) : 0;
    v.qoe.utility = (enum qoe_utility)rng_below(r, 3);
    return v;
}

/* The weights that are in use were trained on these numbers. */
TEST(same_as_the_definitions)
{
    struct rng r;
    rng_init(&r, 21, 0);
    for (int i = 0; i < 20000; i++) {
        struct view v = random_view(&r);
        float got[FEAT_FULL_DIM], want[FEAT_FULL_DIM];
        feat_observe(got, FEAT_FULL, &v);
        feat_plain(want, &v);
        for (int j = 0; j < FEAT_FULL_DIM; j++) {
            if (fabsf(got[j] - want[j]) <= 1e-6f) continue;
            char name[48];
            feat_name(name, sizeof name, FEAT_FULL, j);
            ck_abort_msg("view %d, %s: %.9g, not %.9g", i, name, (double)got[j],
                         (double)want[j]);
        }
    }
}

/* The authors' environment, state by state: each line of the stored file is one state;
 * the draws that led to it are in the table beside it. */
static float *read_state(char *line, float *state)
{
    char *at = strstr(line, "\"state\"");
    if (!at) return NULL;
    for (int i = 0; i < FEAT_PAPER_DIM; i++) {
        at += strcspn(at, "-0123456789");
        state[i] = strtof(at, &at);
    }
    return state;
}

struct golden {
    struct trace *trace;
    struct video *video;
    struct emu_world world;
    struct player player;
    float state[FEAT_PAPER_DIM];
};

/* one row of the table; false when it is not of a stored episode */
static bool replay(struct golden *g, const char *row)
{
    char content[32], name[128], step[16];
    int episode, start, action;
    double noise;
    int n = sscanf(row, "%31[^,],%d,%127[^,],%d,%15[^,],%d,%lf", content, &episode, name,
                   &start, step, &action, &noise);
    ck_assert_int_eq(n, 7);
    if (episode != 0) return false;

    if (!strcmp(step, "reset")) {
        char path[256];
        trace_free(g->trace);
        snprintf(path, sizeof path, "traces/pensieve-train-127/%s", name);
        g->trace = trace_load(shared_path(path), NULL);
        ck_assert_ptr_nonnull(g->trace);
        g->world = (struct emu_world){g->video, g->trace, emu_cfg_default()};
        g->world.cfg.bandwidth_x = 2.0;
        g->world.cfg.wrap = EMU_WRAP_FIRST;
        memset(g->state, 0, sizeof g->state);
        player_start(&g->player, &g->world, start, &qoe_find(content)->qoe, -1);
    }
    /* behind the last chunk that environment shows the empty buffer of the next episode */
    if (player_step(&g->player, action, noise)) g->player.view.buffer_s = 0.0;
    feat_paper_push(g->state, &g->player.view);
    return true;
}

TEST(paper_states_equal_the_authors)
{
    const char *states = shared_path("golden/states_pamoe_env.jsonl");
    const char *table = shared_path("golden/traj_pamoe_env.csv");
    const char *video = shared_path("video/envivio-dash3");
    if (!states || !table || !video) return;

    struct golden g = {.video = video_load(video, NULL, NULL)};
    ck_assert_ptr_nonnull(g.video);
    FILE *rows = fopen(table, "r"), *lines = fopen(states, "r");
    ck_assert(rows && lines);
    char row[1024], line[4096];
    ck_assert_ptr_nonnull(fgets(row, sizeof row, rows));
    int compared = 0;
    while (fgets(row, sizeof row, rows)) {
        if (!replay(&g, row)) continue;
        float want[FEAT_PAPER_DIM];
        ck_assert_ptr_nonnull(fgets(line, sizeof line, lines));
        ck_assert_ptr_nonnull(read_state(line, want));
        for (int i = 0; i < FEAT_PAPER_DIM; i++) {
            char name[48];
            feat_name(name, sizeof name, FEAT_PAPER, i);
            ck_assert_msg(fabsf(g.state[i] - want[i]) <=
                              1e-6f * fmaxf(1.f, fabsf(want[i])),
                          "state %d, %s: %.9g, not %.9g", compared, name,
                          (double)g.state[i], (double)want[i]);
        }
        compared++;
    }
    ck_assert_int_eq(compared, 144);
    fclose(lines);
    fclose(rows);
    trace_free(g.trace);
    video_free(g.video);
}

TEST(paper_layout_from_one_view)
{
    struct view v = pensieve_view();
    view_push(&v, 1e6, 2);
    view_push(&v, 2e6, 5);
    float o[FEAT_PAPER_DIM], state[FEAT_PAPER_DIM] = {0};
    feat_observe(o, FEAT_PAPER, &v);
    ck_assert_float_eq_tol(o[2 * 8 + 6], .5f, 1e-6f); /* MB/s, the older */
    ck_assert_float_eq_tol(o[3 * 8 + 7], .5f, 1e-6f); /* tens of seconds, the newer */
    ck_assert_float_eq(o[1 * 8 + 6], 0.f);            /* a view knows no older buffers */
    feat_paper_push(state, &v);
    ck_assert_float_eq(state[1 * 8 + 7], o[1 * 8 + 7]);
}

TEST(hinted_layout_ends_with_the_weights)
{
    struct view v = pensieve_view();
    v.qoe = (struct qoe){.mu_quality = 1, .mu_switch = 6, .mu_stall = 1};
    view_push(&v, 1e6, 2);
    float plain[FEAT_PAPER_DIM], o[FEAT_PAPER_HINT_DIM];
    feat_observe(plain, FEAT_PAPER, &v);
    feat_observe(o, FEAT_PAPER_HINT, &v);
    ck_assert_mem_eq(o, plain, sizeof plain);
    ck_assert_float_eq(o[48], .125f);
    ck_assert_float_eq(o[49], .75f);
    ck_assert_float_eq(o[50], .125f);
    char name[48];
    feat_name(name, sizeof name, FEAT_PAPER_HINT, 49);
    ck_assert_str_eq(name, "weight_switch");

    v.qoe = (struct qoe){0};
    feat_paper_hint(o, &v);
    ck_assert_float_eq(o[0], 0.f);
}

/* ---- layout plan ---- */

static int plan_index(const char *name)
{
    char got[48];
    for (int i = FEAT_FULL_DIM; i < FEAT_PLAN_DIM; i++) {
        feat_name(got, sizeof got, FEAT_PLAN, i);
        if (!strcmp(got, name)) return i;
    }
    ck_abort_msg("no entry of the plan is called %s", name);
}

TEST(plan_begins_with_the_full_layout)
{
    struct rng r;
    rng_init(&r, 22, 0);
    ck_assert_int_eq(feat_dim(FEAT_PLAN), 208);
    char a[48], b[48];
    for (int i = 0; i < FEAT_PLAN_DIM; i++) {
        feat_name(a, sizeof a, FEAT_PLAN, i);
        if (i < FEAT_FULL_DIM) {
            feat_name(b, sizeof b, FEAT_FULL, i);
            ck_assert_str_eq(a, b);
        }
        for (int j = 0; j < i; j++) {
            feat_name(b, sizeof b, FEAT_PLAN, j);
            ck_assert_str_ne(a, b);
        }
    }
    for (int i = 0; i < 3000; i++) {
        struct view v = random_view(&r);
        if (i % 2) {
            v.qoe = qoe_profiles[rng_below(&r, QOE_PRODUCT)].qoe;
            for (int k = 0; k < v.levels; k++)
                v.points[k] = 100. * (k + 1) / v.levels;
            v.last_points = rng_range(&r, 0, 100);
        }
        float full[FEAT_FULL_DIM], plan[FEAT_PLAN_DIM];
        feat_observe(full, FEAT_FULL, &v);
        feat_observe(plan, FEAT_PLAN, &v);
        v.buffer_max_s = fmin(v.buffer_max_s, FEAT_LIMIT_S);
        feat_observe(full, FEAT_FULL, &v); /* that limit counts in the plan as well */
        ck_assert_mem_eq(full, plan, sizeof full);
        for (int j = FEAT_FULL_DIM; j < FEAT_PLAN_DIM; j++)
            ck_assert(isfinite(plan[j]) && fabsf(plan[j]) <= 100);
        ck_assert_float_eq(plan[plan_index("points")], (float)(i % 2));
        if (v.n_history) continue;
        /* no forecast: of each level its quality alone */
        for (int k = 0; k < v.levels; k++) {
            char name[48];
            static const char *const what[] = {"plan1", "plan4", "plan6", "plan8",
                                               "plan"};
            for (int p = 0; p < 5; p++) {
                snprintf(name, sizeof name, "level%d.%s", k, what[p]);
                ck_assert_float_eq(plan[plan_index(name)], 0.f);
            }
        }
    }
}

/* The entries of one view: quality over the top's; what each level is worth less than the best one,
 * w in units of the scale of the link: 1 - 2 w / (1 + w). */
TEST(plan_by_hand)
{
    struct view v = pensieve_view();
    static const double points[] = {20, 40, 55, 70, 80, 90};
    v.qoe = qoe_find("standard")->qoe;
    memcpy(v.points, points, sizeof points);
    v.last_points = 55;
    for (int i = 0; i < VIEW_HISTORY; i++)
        view_push(&v, 250e3, 1);
    float o[FEAT_PLAN_DIM];
    feat_observe(o, FEAT_PLAN, &v);
    ck_assert_float_eq(o[plan_index("points")], 1.f);
    ck_assert_float_eq(o[plan_index("first_chunk")], 0.f);
    ck_assert_float_eq(o[plan_index("levels")], .5f);
    ck_assert_float_eq_tol(o[plan_index("level1.quality")], 40.f / 90, 1e-6f);
    ck_assert_float_eq(o[plan_index("level5.quality")], 1.f);
    ck_assert_float_eq_tol(o[plan_index("weight_start")], .2f, 1e-6f); /* 1/4 over 5/4 */
    ck_assert_float_eq_tol(o[plan_index("spread")], 0, 1e-6f);
    struct forecast f = forecast_of(&v);
    ck_assert_float_eq_tol(o[plan_index("later_low")],
                           log2f((float)f.later_kbps[1] / 4300) / 4, 1e-5f);

    /* the link carries 2000: level 3 is the best to stay at */
    double scale =
        .8469 * (70 - 20) + .1 * 28.7959 * 4 + 1e-3 * (.8469 + 1.061 + 28.7959);
    ck_assert_double_eq_tol(feat_link_scale(&v, 2000), scale, 1e-6);
    struct plan plan;
    struct plan_cfg cfg = PLAN_DEFAULT;
    plan_values(&plan, &cfg, &v, &f);
    const double *value[] = {plan.value[1], plan.value[4], plan.value[6], plan.value[8],
                             plan.mean};
    static const char *const what[] = {"plan1", "plan4", "plan6", "plan8", "plan"};
    for (int p = 0; p < 5; p++) {
        double most = -INFINITY;
        for (int k = 0; k < 6; k++)
            most = fmax(most, value[p][k]);
        for (int k = 0; k < 6; k++) {
            char name[48];
            snprintf(name, sizeof name, "level%d.%s", k, what[p]);
            double w = (most - value[p][k]) / scale;
            ck_assert_float_eq_tol(o[plan_index(name)], (float)(1 - 2 * w / (1 + w)),
                                   1e-5f);
        }
    }
}

TEST(on_a_fast_link_and_with_long_chunks_the_plan_counts_more)
{
    static const struct {
        double kbps, chunk_s, times;
    } links[] = {{1500, 4, 1},    {6000, 4, 2},  {40000, 4, 4}, {1500, 10, 2.5},
                 {6000, 10, 2.5}, {9000, 10, 3}, {1500, 30, 4}};
    struct plan_cfg cfg = PLAN_DEFAULT;
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        struct view v = pensieve_view();
        v.chunk_s = links[i].chunk_s;
        for (int h = 0; h < VIEW_HISTORY; h++)
            view_push(&v, links[i].kbps * 125, 1);
        float o[FEAT_PLAN_DIM];
        feat_observe(o, FEAT_PLAN, &v);
        struct forecast f = forecast_of(&v);
        struct plan plan;
        plan_values(&plan, &cfg, &v, &f);
        double most = plan.mean[0], least = 1;
        for (int k = 1; k < v.levels; k++)
            most = fmax(most, plan.mean[k]);
        for (int k = 0; k < v.levels; k++) {
            double w =
                links[i].times * (most - plan.mean[k]) / feat_link_scale(&v, f.mean_kbps);
            float seen = o[FEAT_WORTH + k * FEAT_WORTH_STRIDE];
            ck_assert_float_eq_tol(seen, (float)(1 - 2 * w / (1 + w)), 1e-5f);
            least = fmin(least, (double)seen);
        }
        ck_assert_double_lt(least, .9);
    }
}

TEST(plan_is_finite_at_the_extremes)
{
    static const double throughput[] = {0, 1e-6, 1, 1e12}, buffer[] = {0, 1e9},
                        mu[] = {0, 1e-9, 1e6}, bytes[] = {0, 1, 1e12};
    for (int i = 0; i < 4 * 2 * 3 * 3 * 2; i++) {
        struct view v = pensieve_view();
        int k = i;
        double x = throughput[k % 4];
        k /= 4;
        v.buffer_s = buffer[k % 2];
        k /= 2;
        double m = mu[k % 3];
        k /= 3;
        v.qoe = (struct qoe){m, m, m, QOE_POINTS, m, m, .01, 3};
        for (int l = 0; l < v.levels; l++) {
            v.next_bytes[l] = bytes[k % 3];
            v.points[l] = k / 3 ? 100 : 0;
        }
        v.n_history = VIEW_HISTORY;
        for (int h = 0; h < VIEW_HISTORY; h++) {
            v.throughput_kbps[h] = h % 2 ? x : 1000;
            v.download_s[h] = h % 2 ? 1e9 : 0;
        }
        float o[FEAT_PLAN_DIM];
        feat_observe(o, FEAT_PLAN, &v);
        for (int j = 0; j < FEAT_PLAN_DIM; j++) {
            char name[48];
            feat_name(name, sizeof name, FEAT_PLAN, j);
            ck_assert_msg(isfinite(o[j]), "view %d: %s is %g", i, name, (double)o[j]);
        }
    }
}

/* On 1500 kbit/s the best of 300 .. 4300 is the best of 300 .. 40000. */
TEST(the_scale_of_a_link_ignores_levels_beyond_it)
{
    struct view v = pensieve_view();
    v.qoe = qoe_find("standard")->qoe;
    for (int k = 0; k < 6; k++)
        v.points[k] = 20 + 10 * k;
    double is = feat_link_scale(&v, 1500);
    v.levels = 7;
    v.ladder_kbps[6] = 40000;
    v.points[6] = 100;
    ck_assert_double_eq_tol(feat_link_scale(&v, 1500), is, 1e-9);
    ck_assert_double_gt(feat_link_scale(&v, 50000), is);
    v.qoe = qoe_find("paper-documentary")->qoe;
    double all = feat_reward_scale(&v);
    is = feat_link_scale(&v, 1500);
    v.ladder_kbps[6] = 80000;
    ck_assert_double_eq_tol(feat_link_scale(&v, 1500), is, 1e-9);
    ck_assert_double_gt(feat_reward_scale(&v),
                        1.5 * all); /* the scale of layout full does */
    v.qoe = (struct qoe){0};
    ck_assert_double_gt(feat_link_scale(&v, 0), 0);
}

SUITE(abr_emulator_feat, plan_begins_with_the_full_layout, plan_by_hand,
      on_a_fast_link_and_with_long_chunks_the_plan_counts_more,
      plan_is_finite_at_the_extremes, the_scale_of_a_link_ignores_levels_beyond_it,
      names_are_distinct, blind_hides_the_viewer_and_nothing_else, predictions_by_hand,
      known_sizes_beat_the_ladder, scale_is_the_sum_of_weights_on_pensieves_ladder,
      missing_levels_are_zero_and_masked, same_as_the_definitions, finite_at_the_extremes,
      paper_layout_from_one_view, hinted_layout_ends_with_the_weights,
      paper_states_equal_the_authors);

#include "abr/emulator/qoe.h"

#include <math.h>
#include <string.h>

#include "support/csv.h"
#include "support/shared.h"
#include "support/suites.h"

static const double ladder_kbps[] = {300, 750, 1200, 1850, 2850, 4300};

/* A level of the papers: its points are not looked at. */
static struct qoe_level mbps(double rate)
{
    return (struct qoe_level){rate * 1e3, -1e9};
}

TEST(profiles_of_the_papers)
{
    const struct {
        const char *name;
        double mu[3];
    } want[] = {{"paper-documentary", {1, 6, 1}},
                {"paper-live", {1, 1, 6}},
                {"paper-news", {6, 1, 1}},
                {"pensieve", {1, 1, 4.3}}};
    ck_assert_int_eq(sizeof want / sizeof *want, QOE_PAPERS);
    for (int i = 0; i < QOE_PAPERS; i++) {
        const struct qoe_profile *p = qoe_find(want[i].name);
        ck_assert_ptr_eq(p, &qoe_papers[i]);
        ck_assert(p->qoe.mu_quality == want[i].mu[0] &&
                  p->qoe.mu_switch == want[i].mu[1] && p->qoe.mu_stall == want[i].mu[2] &&
                  p->qoe.utility == QOE_LINEAR);
        ck_assert(p->qoe.stall_ratio_max == 0 && p->qoe.startup_max_s == 0);
    }
    ck_assert_ptr_null(qoe_find("Live"));
}

TEST(same_when_all_is_equal)
{
    const struct qoe k = qoe_of_mu(1, 6, 4.3, QOE_LOG);
    const struct qoe others[] = {qoe_of_mu(2, 6, 4.3, QOE_LOG),
                                 qoe_of_mu(1, 2, 4.3, QOE_LOG),
                                 qoe_of_mu(1, 6, 4, QOE_LOG)};
    struct qoe other = k;
    ck_assert(qoe_same(&k, &other) && qoe_same_weights(&k, &other));
    other.utility = QOE_LINEAR;
    ck_assert(!qoe_same(&k, &other) && qoe_same_weights(&k, &other));
    for (int i = 0; i < 3; i++)
        ck_assert(!qoe_same(&k, &others[i]) && !qoe_same_weights(&k, &others[i]));
}

TEST(linear_by_hand)
{
    struct qoe k = qoe_of_mu(1, 1, 4.3, QOE_LINEAR);
    struct qoe_parts p = qoe_chunk(&k, mbps(1.85), mbps(4.3), 4, 0.5, 300);
    ck_assert_double_eq_tol(p.quality, 1.85, 1e-12);
    ck_assert_double_eq_tol(p.change, 2.45, 1e-12);
    ck_assert_double_eq_tol(p.reward, 1.85 - 2.45 - 2.15, 1e-12);
}

TEST(log_by_hand)
{
    struct qoe k = qoe_of_mu(1, 2, 2.66, QOE_LOG);
    struct qoe_parts p = qoe_chunk(&k, mbps(1.2), mbps(.3), 4, 1.0, 300);
    ck_assert_double_eq_tol(p.quality, log(4.0), 1e-12);
    ck_assert_double_eq_tol(p.change, log(4.0), 1e-12);
    ck_assert_double_eq_tol(p.reward, -log(4.0) - 2.66, 1e-12);
}

/* one pass over a ladder gives the very numbers of chunk by chunk */
TEST(a_ladder_at_once)
{
    double reward[6];
    for (int u = QOE_LINEAR; u <= QOE_PAMOE; u++)
        for (int prev = -1; prev < 6; prev++) {
            struct qoe k = qoe_of_mu(6, .7, 2, (enum qoe_utility)u);
            const struct qoe_ladder ladder = {ladder_kbps, NULL, 6, 4};
            const struct qoe_level before = {prev < 0 ? 0 : ladder_kbps[prev], 0};
            qoe_rewards(reward, &k, &ladder, before);
            for (int i = 0; i < 6; i++) {
                const struct qoe_level now = {ladder_kbps[i], 0};
                ck_assert_double_eq(reward[i],
                                    qoe_chunk(&k, now, before, 4, 0, 300).reward);
            }
        }
}

TEST(first_chunk_pays_no_switch)
{
    for (int u = QOE_LINEAR; u <= QOE_PAMOE; u++) {
        struct qoe k = qoe_of_mu(1, 5, 1, (enum qoe_utility)u);
        struct qoe_parts p = qoe_chunk(&k, mbps(4.3), mbps(0), 4, 0.0, 300);
        ck_assert(p.change == 0.0 && p.reward == p.quality);
    }
}

TEST(utility_names)
{
    enum qoe_utility u;
    for (int i = QOE_LINEAR; i <= QOE_POINTS; i++) {
        ck_assert_int_eq(
            qoe_utility_parse(&u, qoe_utility_name((enum qoe_utility)i), NULL), 0);
        ck_assert_int_eq(u, i);
    }
    struct err e = {0};
    ck_assert_int_eq(qoe_utility_parse(&u, "quadratic", &e), ERR_INVALID);
    ck_assert_str_eq(e.field, "utility");
    ck_assert_ptr_nonnull(strstr(e.detail, "pamoe"));
}

/* The rewards that the PA-MoE authors' environment gave, with its coefficient 7. */
TEST(pamoe_rewards)
{
    const char *path = shared_path("golden/traj_pamoe_env.csv");
    if (!path) return;
    struct csv c;
    csv_open(&c, path);
    double prev = 0.0;
    int rows = 0;
    while (csv_next(&c)) {
        const char *content = csv_text(&c, "content");
        double kbps = ladder_kbps[(int)csv_number(&c, "action")];
        if (strcmp(csv_text(&c, "step"), "reset")) {
            struct qoe k = qoe_of_mu(1, 1, 1, QOE_PAMOE);
            *(!strcmp(content, "documentary") ? &k.mu_switch
              : !strcmp(content, "live")      ? &k.mu_stall
                                              : &k.mu_quality) = 7;
            struct qoe_parts p = qoe_chunk(&k, mbps(kbps / 1e3), mbps(prev / 1e3), 4,
                                           csv_number(&c, "rebuf_s"), 300);
            ck_assert_double_eq_tol(p.reward, csv_number(&c, "reward"), 1e-9);
            rows++;
        }
        prev = kbps;
    }
    csv_close(&c);
    ck_assert_int_eq(rows, 3 * 6 * 47);
}

TEST(a_range_from_the_lowest_level_to_the_best)
{
    static const double kbps[] = {500, 1000, 4000};
    const struct qoe_ladder ladder = {kbps, NULL, 3, 4};
    /* 2.5 Mbit/s carry 1000; at 4000 a chunk of 4 s comes 2.4 s late */
    struct qoe_range r = qoe_chunk_range(&qoe_find("paper-live")->qoe, &ladder, 2500);
    ck_assert_double_eq_tol(r.low, .5, 1e-12);
    ck_assert_double_eq_tol(r.high, 1, 1e-12);
    /* worth it for the news: 6 * 4 - 2.4 */
    r = qoe_chunk_range(&qoe_find("paper-news")->qoe, &ladder, 2500);
    ck_assert_double_eq_tol(r.low, 3, 1e-12);
    ck_assert_double_eq_tol(r.high, 21.6, 1e-12);
    /* a link that does not carry the lowest: 4 s late */
    r = qoe_chunk_range(&qoe_find("paper-live")->qoe, &ladder, 250);
    ck_assert_double_eq_tol(r.low, .5 - 6 * 4, 1e-12);
    ck_assert_double_eq(r.high, r.low);
    struct qoe k = qoe_of_mu(2, 1, 1, QOE_LOG);
    r = qoe_chunk_range(&k, &ladder, 1e6);
    ck_assert_double_eq(r.low, 0);
    ck_assert_double_eq_tol(r.high, 2 * log(8), 1e-12);
}

/* ---- points ---- */

static const struct qoe ROUND = {.mu_quality = 2,
                                 .mu_switch = 3,
                                 .mu_stall = 10,
                                 .mu_rise = .5,
                                 .mu_start = 4,
                                 .utility = QOE_POINTS};

/* A level in points: its bitrate says only that there is one. */
static struct qoe_level seen(double points)
{
    return (struct qoe_level){1, points};
}

TEST(points_by_hand)
{
    static const struct {
        double now, prev, chunk_s, wait_s, quality, change, reward;
    } rows[] = {
        {80, 80, 4, 0, 80, 0, 160},            /* 2 * 80 */
        {80, 80, 2, 0, 40, 0, 80},             /* half as long */
        {60, 80, 4, 0, 60, 20, 120 - 60},      /* a fall: 3 * 20 */
        {90, 80, 4, 0, 90, 10, 180 - 5},       /* a rise: .5 * 10 */
        {60, 80, 2, 0, 30, 20, 60 - 60},       /* the change is not scaled */
        {80, 80, 4, 1.5, 80, 0, 160 - 15},     /* a stall: 10 * 1.5 */
        {60, 80, 6, 2, 90, 20, 180 - 60 - 20}, /* all at once */
        {0, 100, 4, 0, 0, 100, -300},          /* the least */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct qoe_parts p = qoe_chunk(&ROUND, seen(rows[i].now), seen(rows[i].prev),
                                       rows[i].chunk_s, rows[i].wait_s, 300);
        ck_assert_double_eq_tol(p.quality, rows[i].quality, 1e-12);
        ck_assert_double_eq_tol(p.change, rows[i].change, 1e-12);
        ck_assert_double_eq(p.stall_s, rows[i].wait_s);
        ck_assert_double_eq_tol(p.reward, rows[i].reward, 1e-12);
    }
}

TEST(the_wait_for_the_first_picture_has_a_weight_of_its_own)
{
    const struct qoe_level none = {0, 55}; /* no bitrate: no chunk, whatever the points */
    struct qoe_parts p = qoe_chunk(&ROUND, seen(70), none, 4, 2.5, 300);
    ck_assert_double_eq(p.change, 0);
    ck_assert_double_eq(p.stall_s, 2.5);
    ck_assert_double_eq_tol(p.reward, 140 - 4 * 2.5, 1e-12);
    /* the papers charge a stall */
    struct qoe k = qoe_of_mu(1, 1, 10, QOE_LINEAR);
    k.mu_start = 4;
    p = qoe_chunk(&k, mbps(2), mbps(0), 4, 2.5, 300);
    ck_assert_double_eq_tol(p.reward, 2 - 25, 1e-12);
}

/* points decide alone: bitrates may be anything, and the papers' rewards do not see points */
TEST(a_ladder_in_points_at_once)
{
    static const double points[] = {20, 60, 60, 85, 93, 100};
    const struct qoe_ladder ladder = {ladder_kbps, points, 6, 2};
    double reward[6];
    qoe_rewards(reward, &ROUND, &ladder, seen(85));
    static const double want[] = {20 - 195., 60 - 75., 60 - 75., 85, 93 - 4., 100 - 7.5};
    for (int i = 0; i < 6; i++)
        ck_assert_double_eq_tol(reward[i], want[i], 1e-12);
    for (int prev = -1; prev < 6; prev++) {
        const struct qoe_level before = {prev < 0 ? 0 : ladder_kbps[prev],
                                         prev < 0 ? 0 : points[prev]};
        qoe_rewards(reward, &ROUND, &ladder, before);
        for (int i = 0; i < 6; i++) {
            const struct qoe_level now = {ladder_kbps[i], points[i]};
            double one = qoe_chunk(&ROUND, now, before, 2, 0, 300).reward;
            ck_assert_double_eq_tol(reward[i], one, 1e-12);
        }
    }
}

TEST(a_range_in_points)
{
    static const double kbps[] = {500, 1000, 4000}, points[] = {40, 70, 100};
    const struct qoe_ladder ladder = {kbps, points, 3, 4};
    /* 2.5 Mbit/s: the top comes 2.4 s late, 200 - 24 against 140 */
    struct qoe_range r = qoe_chunk_range(&ROUND, &ladder, 2500);
    ck_assert_double_eq_tol(r.low, 80, 1e-12);
    ck_assert_double_eq_tol(r.high, 176, 1e-12);
    /* 250 kbit/s: 4 s, 12 s and 60 s late; a stall, not a start */
    r = qoe_chunk_range(&ROUND, &ladder, 250);
    ck_assert_double_eq_tol(r.low, 80 - 40, 1e-12);
    ck_assert_double_eq(r.high, r.low);
}

TEST(weights_relative_to_standard)
{
    static const double by[][QOE_WEIGHTS] = {
        {1, 1, 1, 1}, {2, 3, 5, 7}, {0, .5, 0, 1}, {1, 0, 100, .25}};
    const struct qoe *std = qoe_standard();
    ck_assert_double_eq(std->mu_quality, .8469);
    ck_assert_double_eq(std->mu_switch, 1.061);
    ck_assert_double_eq(std->mu_stall, 28.7959);
    ck_assert_double_eq(std->mu_start, 28.7959 / 4);
    ck_assert_double_eq(std->mu_rise, 0);
    for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
        struct qoe k = qoe_of_weights(by[i]);
        ck_assert_double_eq_tol(k.mu_quality, .8469 * by[i][0], 1e-12);
        ck_assert_double_eq_tol(k.mu_switch, 1.061 * by[i][1], 1e-12);
        ck_assert_double_eq_tol(k.mu_stall, 28.7959 * by[i][2], 1e-9);
        ck_assert_double_eq_tol(k.mu_start, 28.7959 / 4 * by[i][3], 1e-9);
        ck_assert_int_eq(k.utility, QOE_POINTS);
        ck_assert(k.stall_ratio_max == std->stall_ratio_max &&
                  k.startup_max_s == std->startup_max_s);
        double back[QOE_WEIGHTS];
        qoe_weights(back, &k);
        for (int w = 0; w < QOE_WEIGHTS; w++)
            ck_assert_double_eq_tol(back[w], by[i][w], 1e-12);
    }
    ck_assert_str_eq(qoe_weight_names[0], "quality");
    ck_assert_str_eq(qoe_weight_names[1], "switches");
    ck_assert_str_eq(qoe_weight_names[2], "stalls");
    ck_assert_str_eq(qoe_weight_names[3], "startup");
}

TEST(profiles_of_the_product_come_first)
{
    static const struct {
        const char *name;
        double weight[QOE_WEIGHTS];
    } want[] = {{"standard", {1, 1, 1, 1}},     {"documentary", {1, 3, 1.5, 1}},
                {"live", {1, 1, 2, 1}},         {"news", {1.5, .5, 1, 2}},
                {"sports", {1.25, .5, 1.5, 1}}, {"lecture", {1.5, 1, 1, .5}}};
    ck_assert_int_eq(sizeof want / sizeof *want, QOE_PRODUCT);
    for (int i = 0; i < QOE_PRODUCT; i++) {
        const struct qoe_profile *p = &qoe_profiles[i];
        double weight[QOE_WEIGHTS];
        ck_assert_str_eq(p->name, want[i].name);
        ck_assert_ptr_eq(qoe_find(want[i].name), p);
        ck_assert(p->help && p->help[0]);
        qoe_weights(weight, &p->qoe);
        for (int w = 0; w < QOE_WEIGHTS; w++)
            ck_assert_double_eq_tol(weight[w], want[i].weight[w], 1e-12);
        ck_assert_int_eq(p->qoe.utility, QOE_POINTS);
        ck_assert_double_eq(p->qoe.stall_ratio_max, .01);
        ck_assert_double_eq(p->qoe.startup_max_s, 3);
    }
    ck_assert_ptr_eq(qoe_standard(), &qoe_profiles[0].qoe);
}

/* Each member counts, the ceilings for qoe_same alone. */
TEST(same_compares_every_member)
{
    struct qoe k = ROUND;
    double *const weights[] = {&k.mu_quality, &k.mu_switch, &k.mu_stall, &k.mu_rise,
                               &k.mu_start};
    double *const ceilings[] = {&k.stall_ratio_max, &k.startup_max_s};
    ck_assert(qoe_same(&k, &ROUND) && qoe_same_weights(&k, &ROUND));
    for (int i = 0; i < 5; i++) {
        k = ROUND;
        *weights[i] += 1;
        ck_assert(!qoe_same(&k, &ROUND) && !qoe_same_weights(&k, &ROUND));
    }
    for (int i = 0; i < 2; i++) {
        k = ROUND;
        *ceilings[i] += 1;
        ck_assert(!qoe_same(&k, &ROUND) && qoe_same_weights(&k, &ROUND));
    }
}

SUITE(abr_emulator_qoe, profiles_of_the_papers, points_by_hand,
      the_wait_for_the_first_picture_has_a_weight_of_its_own, a_ladder_in_points_at_once,
      a_range_in_points, weights_relative_to_standard, profiles_of_the_product_come_first,
      same_compares_every_member, same_when_all_is_equal, linear_by_hand, log_by_hand,
      a_ladder_at_once, first_chunk_pays_no_switch, utility_names, pamoe_rewards,
      a_range_from_the_lowest_level_to_the_best);

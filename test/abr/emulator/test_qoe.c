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

SUITE(abr_emulator_qoe, profiles_of_the_papers, same_when_all_is_equal, linear_by_hand,
      log_by_hand, a_ladder_at_once, first_chunk_pays_no_switch, utility_names,
      pamoe_rewards, a_range_from_the_lowest_level_to_the_best);

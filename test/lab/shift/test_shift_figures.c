#include "lab/shift/shift_figures.h"

#include "base/text.h"
#include "learn/plasticity.h"
#include "support/labs.h"
#include "support/shift_rows.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct report_assets ASSETS = {"js", "css", "js", "css"};

/* Two seeds of moe and pamoe, of what is shown once and of the noise sweep. */
enum { SEEDS = 2 };

/* QoE 1 to 4 by the quarter of the run, plus the seed; pamoe twice that. */
static void paint(struct shift_rows *f, const struct shift_set *s, int seed)
{
    shift_rows_fill(f, 100, 10);
    bool pa = !strcmp(s->arm.variant, "pamoe");
    for (int i = 0; i < 100; i++) {
        struct shift_point *p = &f->point[i];
        p->qoe = p->recent_qoe = (float)((1 + i / 25 + seed) * (pa ? 2 : 1));
        p->level[pa ? 3 : 2] = 1;
        p->mean_level = pa ? 3 : 2;
    }
    for (int i = 0; i < 10; i++) {
        struct shift_probe_net *n = &f->probe[i].net[SHIFT_ACTOR];
        n->mean[SHIFT_DORMANT + 1] = pa ? .125f : .25f;
        n->share[i % 3] = .75f;
        n->share[(i + 1) % 3] = .25f;
    }
}

static void make(struct shift_made *m)
{
    shift_made_new(m, &(struct shift_request){.presets = "paper",
                                              .variants = "moe,pamoe",
                                              .noise_sweep = true,
                                              .once = true,
                                              .seeds = SEEDS});
    for (int i = 0; i < m->plan.runs; i++) {
        paint(&m->rows[i], shift_made_set(m, i), i % SEEDS);
        m->plan.record[i] = m->rows[i].record;
    }
}

TEST(tables_by_hand)
{
    enum { PRESETS, READINGS, DORMANT, NOISE, TRIMS, SEGMENTS, TABLES };
    struct shift_made m;
    make(&m);
    struct report *r = report_new("shift", "test", NULL);
    ck_assert_int_eq(shift_figures(r, &m.plan), 0);
    ck_assert_int_eq(report_tables(r), TABLES);
    char buf[64];
    ck_assert_str_eq(labs_cell(buf, r, PRESETS, 6, "setting"), "value coefficient");
    ck_assert_str_eq(labs_cell(buf, r, PRESETS, 6, "paper"), "5");

    /* moe and its two readings, pamoe and its two */
    ck_assert_int_eq(report_rows(r, READINGS), 6);
    ck_assert_str_eq(labs_cell(buf, r, READINGS, 2, "variant"), "moe, weight decay");
    ck_assert_ptr_nonnull(
        strstr(labs_cell(buf, r, READINGS, 3, "dormant, policy"), "0.125"));
    const double *gammas;
    ck_assert_int_eq(report_rows(r, NOISE), shift_plan_gammas(&gammas));

    /* means 2.5 and 3.5 over the seeds; every point of pamoe is twice moe's */
    ck_assert_ptr_nonnull(strstr(labs_cell(buf, r, READINGS, 0, "QoE, mean"), "3.000"));
    ck_assert_str_eq(labs_cell(buf, r, TRIMS, 0, "kept [%]"), "all");
    ck_assert_ptr_nonnull(strstr(labs_cell(buf, r, TRIMS, 0, "over moe"), "2.00"));
    /* the last segment is of the fourth quarter: 4 and 5 */
    ck_assert_ptr_nonnull(strstr(labs_cell(buf, r, SEGMENTS, 0, "D 10"), "4.50"));
    ck_assert_ptr_nonnull(strstr(labs_cell(buf, r, SEGMENTS, 1, "D 10"), "9.00"));
    report_free(r);
    shift_made_free(&m);
}

static void has_line(const char *csv, const char *line)
{
    ck_assert_msg(strstr(csv, line) != NULL, "no line '%s'", line);
}

/* Every figure of the paper has its rows in the CSV. */
TEST(figures_in_the_csv)
{
    struct shift_made m;
    make(&m);
    const char *dir = tmpdir_new();
    struct report *r = report_new("shift", "test", NULL);
    ck_assert_int_eq(shift_figures(r, &m.plan), 0);
    struct err e = {0};
    ck_assert_msg(report_write(r, dir, &ASSETS, &e) == 0, "%s", e.detail);
    char *csv = text_read_file(tmpdir_path(dir, "shift.csv"), 1 << 24, NULL, &e);
    ck_assert_msg(csv != NULL, "%s", e.detail);

    static const char *const figures[] = {"qoe",           "parts",
                                          "state",         "iqm",
                                          "profiles",      "levels",
                                          "lag",           "exam",
                                          "updates",       "dormant",
                                          "ranks",         "weights",
                                          "selection",     "dormant-layers",
                                          "rank-layers",   "effective-layers",
                                          "approx-layers", "abs-approx-layers",
                                          "weight-layers"};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        char line[64];
        snprintf(line, sizeof line, "\n%s-paper,", figures[i]);
        has_line(csv, line);
    }
    for (int i = 0; i < PLASTICITY_TAUS; i++) { /* panels are named by their thresholds */
        char line[64];
        snprintf(line, sizeof line, "\ndormant-paper,\"critic, tau = %g\",moe,10,",
                 plasticity_tau(i));
        has_line(csv, line);
    }
    /* first iteration: 1 and 2 of the two seeds, 10 and 90 % of them */
    has_line(csv, "\nqoe-paper,mean of each time bin,moe,0.5,1.5,1.1,1.9\n");
    has_line(csv, "\nselection-paper,\"moe, actor\",most chosen,10,0.75,0.75,0.75\n");
    has_line(csv, "\nselection-paper,\"moe, actor\",least,10,0,0,0\n");
    has_line(csv, "\nlevels-paper,news,pamoe,3,1,1,1\n");
    free(csv);
    report_free(r);
    shift_made_free(&m);
}

SUITE_WITHIN(lab_shift_shift_figures, 30, tables_by_hand, figures_in_the_csv);

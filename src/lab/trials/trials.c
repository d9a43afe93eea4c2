#include "lab/trials/trials.h"

#include "base/pool.h"
#include "base/stats.h"
#include "lab/trials/replay_sim.h"
#include "lab/trials/trial_sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHUNK = 50 /* trials between two looks at progress */ };

static const double LONG = 4;    /* a trial of A/B, in sessions of the fixed-size test */
static const double NEVER = 1e9; /* sessions of a trial that did not decide */

struct scene {
    struct trial_sim_cfg cfg;
    struct trial_sim_truth truth;
    struct trial_sim *out; /* (trials) owned */
};

static void scene_one(void *ctx, int i)
{
    struct scene *s = ctx;
    trial_sim_run(&s->out[i], &s->cfg, &s->truth, (uint64_t)i);
}

struct chunk {
    struct scene *scene;
    int from;
};

static void chunk_one(void *ctx, int i)
{
    const struct chunk *c = ctx;
    scene_one(c->scene, c->from + i);
}

/* Plays all trials of a scene. */
static int scene_play(struct scene *s, const struct trial_sim_cfg *cfg,
                      struct lab_task *t, int trials, const char *note, struct err *e)
{
    *s = (struct scene){.cfg = *cfg, .out = calloc((size_t)trials, sizeof *s->out)};
    if (!s->out) return err_set(e, ERR_MEMORY, "no memory for %d trials", trials);
    s->cfg.seed = t->seed;
    trial_sim_truth(&s->truth, &s->cfg);
    for (int at = 0; at < trials; at += CHUNK) {
        if (lab_progress(t, (double)at / trials, note)) return LAB_STOPPED;
        struct chunk c = {s, at};
        pool_run(trials - at < CHUNK ? trials - at : CHUNK, t->threads, chunk_one, &c);
    }
    return 0;
}

static double scene_missed(const struct scene *s, int trials, int figure)
{
    int n = 0;
    for (int i = 0; i < trials; i++)
        n += s->out[i].missed[figure];
    return (double)n / trials;
}

/* ---- A/A ---- */

static int alike(struct lab_task *t, const struct trial_sim_pool *pool, double share,
                 int trials, int sessions, struct err *e)
{
    struct trial_sim_cfg cfg = trial_sim_cfg_default();
    struct scene s;
    char what[64];
    cfg.pool[0] = cfg.pool[1] = pool;
    cfg.share = share;
    cfg.sessions = sessions;
    snprintf(what, sizeof what, "A/A, share %.2g", share);
    int rc = scene_play(&s, &cfg, t, trials, what, e), stopped = 0, mismatch = 0;
    if (rc) goto out;
    double worst = 0;
    report_row(t->report);
    report_cell(t->report, "trial", "%s", what);
    for (int f = 0; f < COMPARE_FIGURES; f++) {
        double missed = scene_missed(&s, trials, f);
        report_real(t->report, compare_kinds[f].name, missed, 3);
        worst = fmax(worst, missed);
    }
    for (int i = 0; i < trials; i++) {
        stopped += s.out[i].stopped > 0;
        mismatch += s.out[i].mismatch;
    }
    report_real(t->report, "guard rails", (double)stopped / trials, 3);
    report_real(t->report, "shares", (double)mismatch / trials, 3);
    snprintf(what, sizeof what, "A/A, share %.2g: most false alarms of a figure", share);
    report_check(t->report, what, worst, 0, COMPARE_ALPHA);
    snprintf(what, sizeof what, "A/A, share %.2g: stopped by a guard rail", share);
    report_check(t->report, what, (double)stopped / trials, 0, COMPARE_ALPHA);
out:
    free(s.out);
    return rc;
}

/* ---- A/B ---- */

static void pace_row(struct lab_task *t, const struct scene *s, int trials, int figure,
                     double fixed)
{
    struct report *r = t->report;
    double *n = calloc((size_t)trials, sizeof *n), sum = 0;
    if (!n) return;
    int decided = 0;
    for (int i = 0; i < trials; i++) {
        int at = s->out[i].decided[figure];
        n[i] = at ? at : NEVER;
        sum += at ? at : s->cfg.sessions;
        decided += at > 0;
    }
    double covered = 1 - scene_missed(s, trials, figure);
    double median = stats_percentile(n, trials, .5) / fixed;
    double most = stats_percentile(n, trials, .8) / fixed, mean = sum / trials / fixed;
    char what[96];
    report_row(r);
    report_cell(r, "figure", "%s", compare_kinds[figure].name);
    report_real(r, "difference", s->truth.difference[figure], 5);
    report_real(r, "covered", covered, 3);
    report_real(r, "fixed-size sessions", fixed, 0);
    report_real(r, "decided", (double)decided / trials, 3);
    report_real(r, "median / fixed", median, 2);
    report_real(r, "mean / fixed", mean, 2);
    report_real(r, "80 % of trials / fixed", most, 2);
    snprintf(what, sizeof what, "A/B, %s: covered at all looks",
             compare_kinds[figure].name);
    report_check(r, what, covered, 1 - COMPARE_ALPHA, 1);
    snprintf(what, sizeof what, "A/B, %s: mean sessions over those of the fixed size",
             compare_kinds[figure].name);
    report_check(r, what, mean, 0, 1.6);
    free(n);
}

static int apart(struct lab_task *t, const struct trial_sim_pool *control,
                 const struct trial_sim_pool *treatment, int trials, struct err *e)
{
    static const int FIGURES[] = {COMPARE_STALL_RATIO, COMPARE_QUALITY, COMPARE_QOE};
    int rc = 0;
    for (size_t i = 0; i < sizeof FIGURES / sizeof *FIGURES && !rc; i++) {
        struct trial_sim_cfg cfg = trial_sim_cfg_default();
        struct trial_sim_truth truth;
        struct scene s;
        cfg.pool[0] = control;
        cfg.pool[1] = treatment;
        trial_sim_truth(&truth, &cfg);
        double fixed = trial_sim_fixed(&truth, cfg.share, FIGURES[i]);
        cfg.planned = fixed;
        cfg.sessions = (int)(LONG * fixed);
        char note[64];
        snprintf(note, sizeof note, "A/B, %s", compare_kinds[FIGURES[i]].name);
        rc = scene_play(&s, &cfg, t, trials, note, e);
        if (!rc) pace_row(t, &s, trials, FIGURES[i], fixed);
        free(s.out);
    }
    return rc;
}

/* ---- a bad arm ---- */

static int bad_arm(struct lab_task *t, const struct trial_sim_pool *pool,
                   const char *control, int trials, bool check, struct err *e)
{
    struct trial_sim_cfg cfg = trial_sim_cfg_default();
    struct scene s;
    double *n = calloc((size_t)trials, sizeof *n);
    cfg.pool[0] = cfg.pool[1] = pool;
    cfg.twice = cfg.stops = true;
    cfg.sessions = 10000;
    int rc = n ? scene_play(&s, &cfg, t, trials, "a bad arm", e)
               : err_set(e, ERR_MEMORY, "no memory for %d trials", trials);
    for (int i = 0; i < trials && !rc; i++)
        n[i] = s.out[i].stopped ? s.out[i].stopped : NEVER;
    if (!rc) {
        int stalled = 0;
        for (int i = 0; i < pool->n; i++)
            stalled += pool->session[i].ended.stall_s > 0;
        double median = stats_percentile(n, trials, .5);
        report_row(t->report);
        report_cell(t->report, "control", "%s", control);
        report_real(t->report, "its sessions with a stall", (double)stalled / pool->n, 3);
        report_real(t->report, "sessions of the arm, median", median, 0);
        report_real(t->report, "80 % of trials", stats_percentile(n, trials, .8), 0);
        if (check)
            report_check(t->report, "a bad arm: sessions until it stops, median", median,
                         1, 300);
    }
    if (n) free(s.out);
    free(n);
    return rc;
}

/* ---- the bias of replays ---- */

static const double CROWDED =
    0.8; /* a download of the highest level takes 1.8 times as long */

struct replays {
    struct replay_sim_cfg cfg;
    struct replay_bias (*out)[REPLAY_SIM_FIGURES]; /* (trials) owned */
    int from;
};

static int replays_one(void *ctx, int i, struct err *e)
{
    struct replays *r = ctx;
    return replay_sim_run(r->out[r->from + i], &r->cfg, (uint64_t)(r->from + i), e);
}

static void replays_rows(struct lab_task *t, const struct replays *r, int trials,
                         const char *links)
{
    double bias[REPLAY_SIM_FIGURES], difference[REPLAY_SIM_FIGURES], least = 1;
    replay_sim_truth(bias, difference, &r->cfg);
    const char *control = r->cfg.own ? "the player's own" : "replayed";
    for (int f = 0; f < REPLAY_SIM_FIGURES; f++) {
        int covered = 0;
        double mean = 0, width = 0;
        for (int i = 0; i < trials; i++) {
            const struct replay_bias *b = &r->out[i][f];
            covered += b->known && b->bias.lo <= bias[f] && b->bias.hi >= bias[f];
            mean += b->bias.mean / trials;
            width += (b->bias.hi - b->bias.lo) / 2 / trials;
        }
        int digits = compare_kinds[f].digits + 1;
        report_row(t->report);
        report_cell(t->report, "links", "%s", links);
        report_cell(t->report, "control", "%s", control);
        report_cell(t->report, "figure", "%s", compare_kinds[f].name);
        report_real(t->report, "difference", difference[f], digits);
        report_real(t->report, "bias", bias[f], digits);
        report_real(t->report, "mean of its estimates", mean, digits);
        report_real(t->report, "half width", width, digits);
        report_real(t->report, "covered", (double)covered / trials, 3);
        least = fmin(least, (double)covered / trials);
    }
    char what[128];
    snprintf(what, sizeof what, "replays, %s, control %s: least coverage of the bias",
             links, control);
    /* three standard deviations of a share of 0.95 */
    report_check(t->report, what, least, 0.95 - 3 * sqrt(0.95 * 0.05 / trials), 1);
}

static int replays_play(struct lab_task *t, const struct replay_sim_pool *pool, bool own,
                        int trials, const char *links, struct err *e)
{
    struct replays r = {.cfg = {.pool = pool,
                                .own = own,
                                .sessions = (int)lab_int(t, "replayed"),
                                .seed = t->seed},
                        .out = calloc((size_t)trials, sizeof *r.out)};
    int rc = r.out ? 0 : err_set(e, ERR_MEMORY, "no memory for %d trials", trials);
    for (r.from = 0; r.from < trials && !rc; r.from += CHUNK) {
        int n = trials - r.from < CHUNK ? trials - r.from : CHUNK;
        if (lab_progress(t, (double)r.from / trials, "replays")) rc = LAB_STOPPED;
        if (!rc) rc = pool_try(n, t->threads, replays_one, &r, e);
    }
    if (!rc) replays_rows(t, &r, trials, links);
    free(r.out);
    return rc;
}

/* How far predictions of replays are off, with and without congestion that they cannot see. */
static int replays_all(struct lab_task *t, const char *name[2], int trials, struct err *e)
{
    int rc = 0, n = (int)lab_int(t, "viewers");
    report_table(t->report,
                 "Replays: the bias of predictions, and how often its interval "
                 "covers it");
    for (int crowded = 0; crowded < 2 && !rc; crowded++) {
        struct replay_sim_pool pool;
        const char *links = crowded ? "congested by high levels" : "as recorded";
        lab_part(t, .8 + .1 * crowded, .83 + .1 * crowded);
        if (lab_progress(t, 0, "replays")) return LAB_STOPPED;
        rc = replay_sim_pool(&pool, name, n, crowded ? CROWDED : 0, t->seed, e);
        for (int own = 0; own < 2 && !rc; own++) {
            lab_part(t, .83 + .1 * crowded + .035 * own,
                     .865 + .1 * crowded + .035 * own);
            rc = replays_play(t, &pool, own, trials, links, e);
        }
        replay_sim_pool_free(&pool);
    }
    return rc;
}

/* ---- all ---- */

static int trial_all(struct lab_task *t, const struct trial_sim_pool pool[2],
                     const char *name[2], struct err *e)
{
    int trials = (int)lab_int(t, "trials"), sessions = (int)lab_int(t, "sessions");
    struct report *r = t->report;
    report_text(r, "Emulated viewers on generated links of all kinds, whose truth is "
                   "known. Every trial is looked at after every session.");
    report_table(r, "A/A: share of trials with a false alarm at any look");
    lab_part(t, .05, .2);
    int rc = alike(t, &pool[1], .5, trials, sessions, e);
    lab_part(t, .2, .35);
    if (!rc) rc = alike(t, &pool[1], .1, trials, sessions, e);
    report_table(r, "A/B: coverage at all looks, and sessions until a decision");
    lab_part(t, .35, .7);
    if (!rc) rc = apart(t, &pool[0], &pool[1], trials, e);
    report_table(r, "A bad arm: stalls twice as frequent");
    lab_part(t, .7, .75);
    if (!rc) rc = bad_arm(t, &pool[1], name[1], trials, true, e);
    lab_part(t, .75, .8);
    if (!rc) rc = bad_arm(t, &pool[0], name[0], trials, false, e);
    if (!rc) rc = replays_all(t, name, trials, e);
    return rc;
}

static int trial_run(struct lab_task *t, struct err *e)
{
    const char *name[2] = {lab_text(t, "control"), lab_text(t, "treatment")};
    struct trial_sim_pool pool[2] = {{0}, {0}};
    int n = (int)lab_int(t, "pool"), rc = 0;
    for (int i = 0; i < 2 && !rc; i++) {
        lab_part(t, 0, .05);
        rc = lab_progress(t, i / 2., name[i]) ? LAB_STOPPED : 0;
        if (!rc) rc = trial_sim_pool(&pool[i], name[i], n, t->seed, e);
    }
    if (!rc) rc = trial_all(t, pool, name, e);
    trial_sim_pool_free(&pool[0]);
    trial_sim_pool_free(&pool[1]);
    return rc;
}

static const struct lab_option OPTIONS[] = {
    LAB_NUMBER(LAB_INT, "trials", "N", 1000, 100, 20, 100000, "trials of each kind"),
    LAB_NUMBER(LAB_INT, "sessions", "N", 3000, 1000, 100, 1000000,
               "sessions of an A/A trial"),
    LAB_NUMBER(LAB_INT, "pool", "N", 4000, 1500, 200, 1000000,
               "emulated sessions of each algorithm"),
    LAB_NUMBER(LAB_INT, "viewers", "N", 2000, 400, 50, 1000000,
               "emulated viewers whose sessions are replayed"),
    LAB_NUMBER(LAB_INT, "replayed", "N", 400, 200, 100, 1000000,
               "sessions of a trial that are replayed"),
    {"control", "ALGO", "algorithm of the control", LAB_TEXT, .text = "hyb"},
    {"treatment", "ALGO", "algorithm of the treatment", LAB_TEXT, .text = "hold"},
    {0},
};

const struct lab trials_lab = {
    .name = "trial",
    .about = "how often a trial of the daemon errs, and how long it takes",
    .title = "Trials with a known truth",
    .source = "Howard, Ramdas, McAuliffe, Sekhon, Time-uniform, nonparametric, "
              "nonasymptotic confidence sequences, Annals of Statistics 2021",
    .options = OPTIONS,
    .run = trial_run,
};

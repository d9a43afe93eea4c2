#include "gates_priv.h"

#include "abr/emulator/feat.h"
#include "lab/gates/newcomer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAYS = NEWCOMER_WAYS, LESSONS = 40, LINKS = 40 };

static const struct continual_scores NOTHING = {.tasks = ARRIVALS};

struct work {
    struct lab_task *task;
    const struct arrivals *arrivals;
    int seeds, episodes;
    int64_t steps;
    struct sweep *before; /* a policy per seed */
};

/* What one way did with one seed: rewards per chunk. */
struct outcome {
    double hint[ARRIVALS][ARRIVALS], blind[ARRIVALS][ARRIVALS]; /* [kind][after] */
    double before[ARRIVALS];                                    /* of the base, hint */
    double lowest[ARRIVALS];
    double guessed; /* share of chunks whose kind was guessed at the end */
};

static uint64_t seed_of(const struct work *w, int seed)
{
    return rng_u64_at(w->task->seed, 0x61727269, (uint64_t)seed);
}

/* One of the learnings of a run. */
struct lesson {
    struct sweep_job *job;
    int k, of;
};

static bool tick(void *ctx, double share)
{
    const struct lesson *l = ctx;
    return sweep_tick(l->job, (l->k + share) / l->of);
}

/* ---- what was there before: one run per seed gives a policy's floats */

static int before(void *ctx, int i, struct sweep_job *job, struct err *e)
{
    const struct work *w = ctx;
    struct policy_cfg c = newcomer_policy();
    struct policy *p = policy_new(&c, e);
    if (!p) return ERR_MEMORY;
    struct lesson only = {job, 0, 1};
    const struct newcomer_tick t = {tick, &only};
    int rc = newcomer_before(p, w->arrivals, 3 * w->steps, seed_of(w, i), &t, e);
    if (!rc) {
        sweep_put(job, p->actor->theta, sizeof(float) * p->actor->n);
        sweep_put(job, p->critic->theta, sizeof(float) * p->critic->n);
        sweep_put(job, &p->ret_mean, sizeof p->ret_mean);
        sweep_put(job, &p->ret_std, sizeof p->ret_std);
    }
    policy_free(p);
    return rc;
}

static struct policy *policy_of(const struct work *w, int seed, struct err *e)
{
    struct policy_cfg c = newcomer_policy();
    struct policy *p = policy_new(&c, e);
    if (!p) return NULL;
    const float *at = sweep_result(w->before, seed, NULL);
    memcpy(p->actor->theta, at, sizeof(float) * p->actor->n);
    at += p->actor->n;
    memcpy(p->critic->theta, at, sizeof(float) * p->critic->n);
    at += p->critic->n;
    p->ret_mean = at[0];
    p->ret_std = at[1];
    p->version = 1;
    return p;
}

/* ---- one way with one seed */

static int lowest(void *self, int kind, const float *obs, uint32_t mask)
{
    (void)self;
    (void)kind;
    (void)obs;
    (void)mask;
    return 0;
}

/* everyone so far, with the hint and without */
static int exam(struct outcome *o, const struct work *w, int t,
                const struct identity *head, const struct arrivals_decider *d,
                struct err *e)
{
    double guessed = 0;
    for (int i = 0; i <= t; i++) {
        struct arrivals_score s;
        int rc = arrivals_exam(&s, w->arrivals, i, w->episodes, NULL, d, e);
        if (rc) return rc;
        o->hint[i][t] = s.reward;
        rc = arrivals_exam(&s, w->arrivals, i, w->episodes, head, d, e);
        if (rc) return rc;
        o->blind[i][t] = s.reward;
        guessed += s.told / (t + 1);
    }
    o->guessed = guessed;
    return 0;
}

static int references(struct outcome *o, const struct work *w,
                      const struct arrivals_decider *base, struct err *e)
{
    const struct arrivals_decider none = {NULL, lowest};
    for (int i = 0; i < ARRIVALS; i++) {
        struct arrivals_score s;
        int rc = arrivals_exam(&s, w->arrivals, i, w->episodes, NULL, &none, e);
        if (rc) return rc;
        o->lowest[i] = s.reward;
        rc = arrivals_exam(&s, w->arrivals, i, w->episodes, NULL, base, e);
        if (rc) return rc;
        o->before[i] = s.reward;
    }
    return 0;
}

struct bed {
    struct policy *base;
    struct newcomer *learner, *first; /* first: never learns, decides as the base */
    struct identity *head;
};

static void bed_free(struct bed *b)
{
    identity_free(b->head);
    newcomer_free(b->first);
    newcomer_free(b->learner);
    policy_free(b->base);
}

static int bed_make(struct bed *b, const struct work *w, enum newcomer_way way, int seed,
                    struct err *e)
{
    struct newcomer_cfg c = {way, w->steps * (way == NEWCOMER_SPECIALIST ? 2 : 1),
                             seed_of(w, seed)};
    struct identity_cfg head = identity_cfg_default(FEAT_FULL_DIM, 1);
    *b = (struct bed){.base = policy_of(w, seed, e)};
    if (!b->base) return ERR_MEMORY;
    b->learner = newcomer_new(&c, w->arrivals, b->base, e);
    c.way = NEWCOMER_TUNE;
    b->first = newcomer_new(&c, w->arrivals, b->base, e);
    b->head = identity_new(&head, e);
    return b->learner && b->first && b->head ? 0 : ERR_MEMORY;
}

/* seed by seed, the ways of each in their order */
static int gates_profiles_one(void *ctx, int i, struct sweep_job *job, struct err *e)
{
    const struct work *w = ctx;
    struct lesson lesson = {job, 0, ARRIVALS};
    const struct newcomer_tick t = {tick, &lesson};
    struct outcome o;
    struct bed b;
    int seed = i / WAYS;
    memset(&o, 0, sizeof o);
    int rc = bed_make(&b, w, (enum newcomer_way)(i % WAYS), seed, e);
    struct arrivals_decider now = {0}, first = {0};
    if (!rc) {
        now = newcomer_decider(b.learner);
        first = newcomer_decider(b.first);
        rc = references(&o, w, &first, e);
    }
    for (int k = 0; k < ARRIVALS && !rc; k++) {
        lesson.k = k;
        rc = newcomer_learn(b.learner, k, &t, e);
        if (!rc)
            rc = arrivals_teach(b.head, w->arrivals, k, LESSONS, seed_of(w, seed) ^ 1,
                                &first, e);
        if (!rc) rc = exam(&o, w, k, b.head, &now, e);
    }
    if (!rc) sweep_put(job, &o, sizeof o);
    bed_free(&b);
    return rc == NEWCOMER_STOPPED ? SWEEP_STOPPED : rc;
}

/* ---- figures of all seeds */

enum column { FA, CA, FM, BLIND_FA, BLIND_CA, BLIND_FM, GUESSED, BEFORE, COLUMNS };

struct found {
    const struct outcome *of[WAYS][1024]; /* [way][seed] */
    double zero[ARRIVALS],
        unit[ARRIVALS]; /* lowest level, specialist: means over seeds */
    struct reps *reps[WAYS];
};

static double scaled(const struct found *f, int kind, double reward)
{
    return (reward - f->zero[kind]) / (f->unit[kind] - f->zero[kind]);
}

static struct continual_scores scale(const struct found *f,
                                     const double s[ARRIVALS][ARRIVALS])
{
    struct continual_scores c = NOTHING;
    for (int i = 0; i < ARRIVALS; i++)
        for (int t = i; t < ARRIVALS; t++)
            c.s[i][t] = scaled(f, i, s[i][t]);
    return c;
}

static int digest(struct found *f, const struct work *w, const struct sweep *s,
                  struct err *e)
{
    for (int i = 0; i < w->seeds * WAYS; i++)
        f->of[i % WAYS][i / WAYS] = sweep_result(s, i, NULL);
    for (int k = 0; k < ARRIVALS; k++)
        for (int seed = 0; seed < w->seeds; seed++) {
            const struct outcome *o = f->of[NEWCOMER_SPECIALIST][seed];
            /* set above: NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
            f->zero[k] += o->lowest[k] / w->seeds;
            f->unit[k] += o->hint[k][k] / w->seeds;
        }
    for (int way = 0; way < WAYS; way++) {
        f->reps[way] = reps_new(w->seeds, COLUMNS, e);
        if (!f->reps[way]) return ERR_MEMORY;
        for (int seed = 0; seed < w->seeds; seed++) {
            const struct outcome *o = f->of[way][seed];
            struct continual_scores hint = scale(f, o->hint), blind = scale(f, o->blind);
            double *row = reps_row(f->reps[way], seed);
            row[FA] = continual_fa(&hint);
            row[CA] = continual_ca(&hint);
            row[FM] = continual_fm(&hint);
            row[BLIND_FA] = continual_fa(&blind);
            row[BLIND_CA] = continual_ca(&blind);
            row[BLIND_FM] = continual_fm(&blind);
            row[GUESSED] = o->guessed;
            row[BEFORE] = 0;
            for (int k = 0; k < ARRIVALS; k++)
                row[BEFORE] += scaled(f, k, o->before[k]) / ARRIVALS;
        }
    }
    return 0;
}

static void gates_profiles_put(struct report *r, const char *name,
                               const struct reps *reps, enum column column)
{
    struct stats_interval s = reps_mean(reps, (int)column);
    if (isfinite(s.lo))
        report_interval(r, name, s.mean, s.lo, s.hi, 3);
    else
        report_real(r, name, s.mean, 3);
}

static void gates_profiles_table(const struct work *w, const struct found *f)
{
    struct report *r = w->task->report;
    report_table(r, "Five kinds of viewer: 0 the lowest level, 1 the specialist");
    for (int way = 0; way < WAYS; way++) {
        report_row(r);
        report_cell(r, "way", "%s", newcomer_word((enum newcomer_way)way));
        gates_profiles_put(r, "FA, hint", f->reps[way], FA);
        gates_profiles_put(r, "CA, hint", f->reps[way], CA);
        gates_profiles_put(r, "FM, hint", f->reps[way], FM);
        gates_profiles_put(r, "FA, no hint", f->reps[way], BLIND_FA);
        gates_profiles_put(r, "CA, no hint", f->reps[way], BLIND_CA);
        gates_profiles_put(r, "FM, no hint", f->reps[way], BLIND_FM);
    }
    report_row(r);
    report_cell(r, "way", "before, nothing learned");
    gates_profiles_put(r, "FA, hint", f->reps[0], BEFORE);

    report_table(r, "Reward per chunk at the end, with the hint");
    for (int way = -1; way < WAYS; way++) {
        report_row(r);
        report_cell(r, "way", "%s",
                    way < 0 ? "lowest level" : newcomer_word((enum newcomer_way)way));
        for (int k = 0; k < ARRIVALS; k++) {
            double sum = 0;
            for (int seed = 0; seed < w->seeds; seed++)
                sum += f->of[way < 0 ? 0 : way][seed]->hint[k][ARRIVALS - 1] / w->seeds;
            report_real(r, arrivals_kinds[k].name, way < 0 ? f->zero[k] : sum, 3);
        }
    }
}

static void gates_profiles_claim(struct report *r, const char *what,
                                 struct stats_interval s, double at_least)
{
    report_row(r);
    report_cell(r, "claim", "%s", what);
    if (isfinite(s.lo))
        report_interval(r, "ours", s.mean, s.lo, s.hi, 3);
    else
        report_real(r, "ours", s.mean, 3);
    report_verdict(r, "verdict",
                   !isfinite(s.lo)      ? REPORT_UNTESTED
                   : s.lo >= at_least   ? REPORT_PASS
                   : s.mean >= at_least ? REPORT_SHORT
                                        : REPORT_DIFFERS);
}

static void gates_profiles_claims(const struct work *w, const struct found *f)
{
    struct report *r = w->task->report;
    report_table(r, "Claims on new kinds of viewer (differences, seed by seed)");
    gates_profiles_claim(
        r, "NoRGa over the linear gate, FA with the hint",
        reps_gap(f->reps[NEWCOMER_NORGA], FA, f->reps[NEWCOMER_LINEAR], FA), 0);
    gates_profiles_claim(
        r, "NoRGa over the linear gate, FA without it",
        reps_gap(f->reps[NEWCOMER_NORGA], BLIND_FA, f->reps[NEWCOMER_LINEAR], BLIND_FA),
        0);
    gates_profiles_claim(r, "NoRGa's FA with the hint, at least .95 of a specialist's",
                         reps_mean(f->reps[NEWCOMER_NORGA], FA), .95);
    gates_profiles_claim(
        r, "NoRGa over fine-tuning, FA with the hint",
        reps_gap(f->reps[NEWCOMER_NORGA], FA, f->reps[NEWCOMER_TUNE], FA), 0);
    gates_profiles_claim(
        r, "NoRGa over a fresh head, FA with the hint",
        reps_gap(f->reps[NEWCOMER_NORGA], FA, f->reps[NEWCOMER_HEAD], FA), 0);
    gates_profiles_claim(
        r, "NoRGa over what was there before, FA with the hint",
        reps_gap(f->reps[NEWCOMER_NORGA], FA, f->reps[NEWCOMER_NORGA], BEFORE), 0);
}

static void gates_profiles_figure(const struct work *w, const struct found *f)
{
    struct report *r = w->task->report;
    report_figure(
        r, "arrivals", "Score over the arrivals",
        "Mean score of the kinds so far: 0 the lowest level, 1 the specialist.");
    for (int blind = 0; blind < 2; blind++) {
        report_panel(r,
                     &(struct report_panel){.title = blind ? "kind guessed" : "kind told",
                                            .x = {.label = "kinds learned"},
                                            .y = {.label = "mean score"}});
        for (int way = 0; way < WAYS; way++) {
            double x[ARRIVALS], y[ARRIVALS] = {0};
            for (int t = 0; t < ARRIVALS; t++) {
                x[t] = t + 1;
                for (int seed = 0; seed < w->seeds; seed++)
                    for (int i = 0; i <= t; i++) {
                        const struct outcome *o = f->of[way][seed];
                        y[t] += scaled(f, i, blind ? o->blind[i][t] : o->hint[i][t]) /
                                ((t + 1) * w->seeds);
                    }
            }
            report_series(
                r, &(struct report_series){.name = newcomer_word((enum newcomer_way)way),
                                           .n = ARRIVALS,
                                           .x = x,
                                           .y = y});
        }
    }
}

/* the largest change, over seeds and kinds, of what was learned once */
static double changed(const struct work *w, const struct found *f, int way)
{
    double worst = 0;
    for (int seed = 0; seed < w->seeds; seed++)
        for (int i = 0; i < ARRIVALS; i++)
            for (int t = i; t < ARRIVALS; t++) {
                const struct outcome *o = f->of[way][seed];
                worst = fmax(worst, fabs(o->hint[i][t] - o->hint[i][i]));
            }
    return worst;
}

static void gates_profiles_draw(const struct work *w, const struct found *f)
{
    struct report *r = w->task->report;
    report_heading(r, "New kinds of viewer on a frozen policy");
    report_text(
        r,
        "Documentary, live, news, sports {3,1,3} and lecture {1,3,1} arrive one "
        "after the other, on generated links of kinds broadband, wifi, lte, "
        "3g-commute and outage; before them there is a policy for Pensieve's "
        "weights on all of these. Each way learns %lld steps of each kind by PPO, "
        "the specialists twice as many. %d seeds, examined on %d sessions of each "
        "kind on links that nobody trained on.",
        (long long)w->steps, w->seeds, w->episodes);
    report_text(
        r,
        "With the hint a kind's own head or experts decide, which nothing touches "
        "later, so their FM is 0 by construction. Without it a linear head guesses "
        "the kind from the observation without the viewer's weights; at the end it "
        "is right for %.0f %% of the chunks.",
        100 * reps_mean(f->reps[NEWCOMER_NORGA], GUESSED).mean);
    gates_profiles_claims(w, f);
    gates_profiles_table(w, f);
    gates_profiles_figure(w, f);
    report_check(r, "fresh head: change of what was learned, hint",
                 changed(w, f, NEWCOMER_HEAD), 0, 0);
    report_check(r, "linear gate: change of what was learned, hint",
                 changed(w, f, NEWCOMER_LINEAR), 0, 0);
    report_check(r, "NoRGa: change of what was learned, hint",
                 changed(w, f, NEWCOMER_NORGA), 0, 0);
    report_check(r, "fine-tuning: change of what was learned, hint",
                 changed(w, f, NEWCOMER_TUNE), 1e-6, INFINITY);
}

/* ---- all of it */

struct label {
    char name[40], config[128];
};

static int sweep(struct sweep **out, struct work *w, const char *what, int n, int each,
                 int (*run_one)(void *, int, struct sweep_job *, struct err *),
                 struct err *e)
{
    struct label *label = calloc((size_t)n, sizeof *label);
    struct sweep_run *run = calloc((size_t)n, sizeof *run);
    int rc = label && run ? 0 : err_set(e, ERR_MEMORY, "no memory for %d runs", n);
    for (int i = 0; i < n && !rc; i++) {
        snprintf(label[i].name, sizeof label[i].name, "%s-%d-%d", what, i / each + 1,
                 i % each);
        snprintf(label[i].config, sizeof label[i].config,
                 "%s way=%d seed=%llu run=%d steps=%lld sessions=%d", what, i % each,
                 (unsigned long long)w->task->seed, i / each, (long long)w->steps,
                 w->episodes);
        run[i] = (struct sweep_run){label[i].name, label[i].config};
    }
    if (!rc) rc = lab_sweep(out, w->task, run, n, run_one, w, e);
    free(run);
    free(label);
    return rc;
}

int gates_profiles(struct lab_task *t, struct err *e)
{
    struct work w = {.task = t,
                     .seeds = (int)lab_int(t, "seeds"),
                     .episodes = (int)lab_int(t, "sessions"),
                     .steps = lab_int(t, "steps")};
    struct sweep *ways = NULL;
    struct found *f = calloc(1, sizeof *f);
    struct arrivals *a = arrivals_new(LINKS, t->seed, e);
    w.arrivals = a;
    int rc = a && f ? 0 : err_set(e, ERR_MEMORY, "no memory for kinds of viewer");
    lab_part(t, .8, .85);
    if (!rc) rc = sweep(&w.before, &w, "before", w.seeds, 1, before, e);
    lab_part(t, .85, 1);
    if (!rc)
        rc = sweep(&ways, &w, "arrivals", w.seeds * WAYS, WAYS, gates_profiles_one, e);
    if (!rc) rc = digest(f, &w, ways, e);
    if (!rc) gates_profiles_draw(&w, f);
    for (int way = 0; way < WAYS && f; way++)
        reps_free(f->reps[way]);
    sweep_free(ways);
    sweep_free(w.before);
    arrivals_free(a);
    free(f);
    return rc;
}

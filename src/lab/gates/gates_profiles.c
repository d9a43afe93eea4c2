/* New kinds of viewer on a frozen policy: five kinds arrive one after the other. */
#include "gates_priv.h"

#include "abr/emulator/feat.h"
#include "lab/gates/continual.h"
#include "lab/gates/newcomer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAYS = NEWCOMER_WAYS, LESSONS = 40, LINKS = 40 };

struct work {
    struct lab_task *task;
    const struct arrivals *arrivals;
    int seeds, episodes;
    int64_t steps;
    struct sweep *before; /* a policy per seed */
};

/* What one way did with one seed: rewards per chunk, [kind][after]. */
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

/* ---- what was there before: one run per seed gives a policy's floats ---- */

static int before(void *ctx, int i, struct sweep_job *job, struct err *e)
{
    const struct work *w = ctx;
    struct policy_cfg c = newcomer_policy();
    struct policy *p = policy_new(&c, e);
    if (!p) return ERR_MEMORY;
    const struct lab_tick t = lab_tick_of(job);
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

/* ---- one way with one seed ---- */

static int lowest(void *self, int kind, const float *obs, uint32_t mask)
{
    (void)self;
    (void)kind;
    (void)obs;
    (void)mask;
    return 0;
}

/* All kinds so far, with the hint and without. */
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
static int profiles_one(void *ctx, int i, struct sweep_job *job, struct err *e)
{
    const struct work *w = ctx;
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
        struct lab_tick t = lab_tick_of(job);
        t.from = (double)k / ARRIVALS;
        t.to = (k + 1.0) / ARRIVALS;
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

/* ---- what all seeds give ---- */

/* Columns of a way's table, one row per seed. FA, CA and FM with the hint, then without. */
enum { FA, CA, FM, BLIND_FA, BLIND_CA, BLIND_FM, GUESSED, BEFORE, GAIN, COLUMNS };

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
    struct continual_scores c = {.tasks = ARRIVALS};
    for (int i = 0; i < ARRIVALS; i++)
        for (int t = i; t < ARRIVALS; t++)
            c.s[i][t] = scaled(f, i, s[i][t]);
    return c;
}

static void digest_run(double *row, const struct found *f, const struct outcome *o)
{
    for (int blind = 0; blind < 2; blind++) {
        struct continual_scores c = scale(f, blind ? o->blind : o->hint);
        row[blind ? BLIND_FA : FA] = continual_fa(&c);
        row[blind ? BLIND_CA : CA] = continual_ca(&c);
        row[blind ? BLIND_FM : FM] = continual_fm(&c);
    }
    row[GUESSED] = o->guessed;
    row[BEFORE] = 0;
    for (int k = 0; k < ARRIVALS; k++)
        row[BEFORE] += scaled(f, k, o->before[k]) / ARRIVALS;
    row[GAIN] = row[FA] - row[BEFORE];
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
        for (int seed = 0; seed < w->seeds; seed++)
            digest_run(reps_row(f->reps[way], seed), f, f->of[way][seed]);
    }
    return 0;
}

/* ---- what the report says ---- */

static struct stats_interval profiles_measure(const void *self, struct claims_number n)
{
    return reps_measure(((const struct found *)self)->reps, n);
}

#define OVER(text, column, other) \
    GATES_CLAIM(text, NULL, CLAIMS_SURE, 0, 3, CLAIMS_GAP, column, NEWCOMER_NORGA, other)
#define AT_LEAST(text, column, least) \
    GATES_CLAIM(text, NULL, CLAIMS_SURE, least, 3, CLAIMS_MEAN, column, NEWCOMER_NORGA, 0)

static const struct claims_claim CLAIMS[] = {
    OVER("NoRGa over the linear gate, FA with the hint", FA, NEWCOMER_LINEAR),
    OVER("NoRGa over the linear gate, FA without it", BLIND_FA, NEWCOMER_LINEAR),
    AT_LEAST("NoRGa's FA with the hint, at least .95 of a specialist's", FA, 0.95),
    OVER("NoRGa over fine-tuning, FA with the hint", FA, NEWCOMER_TUNE),
    OVER("NoRGa over a fresh head, FA with the hint", FA, NEWCOMER_HEAD),
    AT_LEAST("NoRGa over what was there before, FA with the hint", GAIN, 0),
};

static void profiles_tables(const struct work *w, const struct found *f)
{
    static const struct {
        const char *name;
        int column;
    } shown[] = {{"FA, hint", FA},          {"CA, hint", CA},
                 {"FM, hint", FM},          {"FA, no hint", BLIND_FA},
                 {"CA, no hint", BLIND_CA}, {"FM, no hint", BLIND_FM}};
    struct report *r = w->task->report;
    report_table(r, "Five kinds of viewer: 0 the lowest level, 1 the specialist");
    for (int way = 0; way < WAYS; way++) {
        report_row(r);
        report_cell(r, "way", "%s", newcomer_word((enum newcomer_way)way));
        for (int i = 0; i < 6; i++)
            claims_show(r, shown[i].name, reps_mean(f->reps[way], shown[i].column), 1, 3);
    }
    report_row(r);
    report_cell(r, "way", "before, nothing learned");
    claims_show(r, "FA, hint", reps_mean(f->reps[0], BEFORE), 1, 3);

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

static void profiles_figure(const struct work *w, const struct found *f)
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

static void profiles_explain(const struct work *w, const struct found *f)
{
    struct report *r = w->task->report;
    report_heading(r, "New kinds of viewer on a frozen policy");
    report_text(
        r,
        "Documentary, live, news, sports {3,1,3} and lecture {1,3,1} arrive one after "
        "the "
        "other, on generated links of kinds broadband, wifi, lte, 3g-commute and outage. "
        "Before them there is a policy for Pensieve's weights on all of these. Each way "
        "learns %lld steps of each kind by PPO, the specialists twice as many. There are "
        "%d seeds, and the exam has %d sessions of each kind on links that no way "
        "trained "
        "on.",
        (long long)w->steps, w->seeds, w->episodes);
    report_text(
        r,
        "With the hint, a kind's own head or experts decide. Nothing changes them later, "
        "so their FM is 0 by construction. Without the hint, a linear head guesses the "
        "kind from the observation without the viewer's weights. At the end it is right "
        "for %.0f %% of the chunks.",
        100 * reps_mean(f->reps[NEWCOMER_NORGA], GUESSED).mean);
}

/* The largest change, over seeds and kinds, of what was learned once. */
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

static void profiles_checks(const struct work *w, const struct found *f)
{
    static const struct {
        int way;
        double low, high;
    } row[] = {{NEWCOMER_HEAD, 0, 0},
               {NEWCOMER_LINEAR, 0, 0},
               {NEWCOMER_NORGA, 0, 0},
               {NEWCOMER_TUNE, 1e-6, INFINITY}};
    for (int i = 0; i < 4; i++) {
        char name[80];
        snprintf(name, sizeof name, "%s: change of what was learned, hint",
                 newcomer_word((enum newcomer_way)row[i].way));
        report_check(w->task->report, name, changed(w, f, row[i].way), row[i].low,
                     row[i].high);
    }
}

static void profiles_draw(const struct work *w, const struct found *f)
{
    static const struct claims_columns columns = {
        .text = "claim", .ours = "ours", .verdict = "verdict", .missing_shown = true};
    const struct claims_lab l = {
        .report = w->task->report, .self = f, .measure = profiles_measure};
    profiles_explain(w, f);
    report_table(l.report, "Claims on new kinds of viewer (differences, seed by seed)");
    claims_judge(&l, &columns, CLAIMS, sizeof CLAIMS / sizeof *CLAIMS);
    profiles_tables(w, f);
    profiles_figure(w, f);
    profiles_checks(w, f);
}

/* ---- all of it ---- */

static void profiles_label(struct lab_label *l, const struct work *w, const char *what,
                           int way, int seed)
{
    snprintf(l->name, sizeof l->name, "%s-%d-%d", what, seed + 1, way);
    snprintf(l->config, sizeof l->config,
             "%s way=%d seed=%llu run=%d steps=%lld sessions=%d", what, way,
             (unsigned long long)w->task->seed, seed, (long long)w->steps, w->episodes);
}

static void before_label(struct lab_label *l, const void *ctx, int i)
{
    profiles_label(l, ctx, "before", 0, i);
}

static void arrivals_label(struct lab_label *l, const void *ctx, int i)
{
    profiles_label(l, ctx, "arrivals", i % WAYS, i / WAYS);
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
    lab_part(t, 0.8, 0.85);
    if (!rc) rc = lab_sweep_of(&w.before, t, w.seeds, before_label, before, &w, e);
    lab_part(t, 0.85, 1);
    if (!rc)
        rc = lab_sweep_of(&ways, t, w.seeds * WAYS, arrivals_label, profiles_one, &w, e);
    if (!rc) rc = digest(f, &w, ways, e);
    if (!rc) profiles_draw(&w, f);
    for (int way = 0; way < WAYS && f; way++)
        reps_free(f->reps[way]);
    sweep_free(ways);
    sweep_free(w.before);
    arrivals_free(a);
    free(f);
    return rc;
}

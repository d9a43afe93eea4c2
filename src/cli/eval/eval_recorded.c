#include "cli/eval/eval_recorded.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abr/recorded/replay_bias.h"
#include "base/pool.h"

enum { FIGURES = COMPARE_WATCHED };

struct replay_bias_figures {
    struct replay_bias at[FIGURES];
};

struct eval_session *eval_recorded_sessions(const struct recordings *s, bool abandon,
                                            struct err *e)
{
    struct eval_session *out = calloc((size_t)s->n + 1, sizeof *out);
    if (!out) err_set(e, ERR_MEMORY, "no memory for %d sessions", s->n);
    for (int i = 0; i < s->n && out; i++) {
        const struct recorded *r = &s->at[i];
        out[i] = (struct eval_session){.trace = r->link,
                                       .video = r->video,
                                       .emu = recorded_emu(r),
                                       .qoe = r->terms.qoe,
                                       .key = r->terms.key,
                                       .chunks = r->n,
                                       .levels = r->level,
                                       .sized = r->sized};
        out[i].emu.abandon = abandon;
    }
    return out;
}

/* ---- values of sessions ---- */

struct values {
    int *arm;                  /* (n) */
    double *y;                 /* (FIGURES, n) */
    double *p[FIELD_LIST_MAX]; /* of row r: (FIGURES, n) */
};

static const struct eval_row *row_of(const struct eval_recorded *r, const char *policy)
{
    for (int i = 0; i < r->n; i++)
        if (!strcmp(r->rows[i].policy, policy)) return &r->rows[i];
    return NULL;
}

static void put_values(double *out, const struct compare_session *s, int i, int n)
{
    for (int f = 0; f < FIGURES; f++)
        out[(size_t)f * (size_t)n + (size_t)i] =
            replay_bias_clip(s->value[f], (enum compare_figure)f);
}

static int values_make(struct values *v, const struct eval_recorded *r, struct err *e)
{
    const struct recordings *s = r->recordings;
    size_t n = (size_t)s->n;
    v->arm = calloc(n, sizeof *v->arm);
    v->y = calloc(FIGURES * n, sizeof *v->y);
    if (!v->arm || !v->y) return err_set(e, ERR_MEMORY, "no memory for the bias");
    for (int i = 0; i < s->n; i++) {
        v->arm[i] = s->arms ? s->at[i].arm : 0; /* without a trial: as it was */
        put_values(v->y, &s->at[i].seen, i, s->n);
    }
    for (int p = 0; p < r->n; p++) {
        v->p[p] = calloc(FIGURES * n, sizeof *v->y);
        if (!v->p[p]) return err_set(e, ERR_MEMORY, "no memory for the bias");
        for (int i = 0; i < s->n; i++) {
            struct compare_session seen = eval_values(&r->rows[p], i);
            put_values(v->p[p], &seen, i, s->n);
        }
    }
    return 0;
}

static void values_free(struct values *v, int rows)
{
    for (int p = 0; p < rows; p++)
        free(v->p[p]);
    free(v->y);
    free(v->arm);
}

/* ---- comparing ---- */

static const double *played(const struct eval_recorded *r, const struct values *v,
                            const char *policy, int figure)
{
    const struct eval_row *row = *policy ? row_of(r, policy) : NULL;
    size_t at = (size_t)figure * (size_t)r->recordings->n;
    return row ? v->p[row - r->rows] + at : NULL;
}

static int compare_line(struct eval_recorded_line *line, const struct eval_recorded *r,
                        const struct values *v, struct err *e)
{
    const struct recordings *s = r->recordings;
    int at = line->arm >= 0 ? line->arm : s->arms ? s->arms : 1, rc = 0;
    bool reweighted = line->arm >= 0 && s->arm[line->arm].reweighted;
    line->of = calloc(1, sizeof *line->of);
    if (!line->of) return err_set(e, ERR_MEMORY, "no memory for the bias");
    for (int f = 0; f < FIGURES && !rc; f++) {
        struct replay_bias_in in = {
            .n = s->n, .arm = v->arm, .y = v->y + (size_t)f * (size_t)s->n};
        /* a replay has the weights of its session, which are not those of the arm */
        if (reweighted && f == COMPARE_QOE) in.n = 0;
        if (!reweighted) {
            in.p[0] = s->arms ? played(r, v, s->arm[0].policy, f) : NULL;
            in.p[at] = played(r, v, line->policy, f);
        }
        rc = replay_bias(&line->of->at[f], &in, at, e);
    }
    if (!rc && *line->policy)
        rc = off_policy_run(&line->off, line->policy, r->ctx, s->at, s->n, e);
    return rc;
}

/* The arm that decides so; -1: none. */
static int arm_of(const struct recordings *s, const char *policy)
{
    for (int a = 0; a < s->arms; a++)
        if (s->arm[a].known && !strcmp(s->arm[a].policy, policy)) return a;
    return -1;
}

static int explored(const struct recordings *s)
{
    int n = 0;
    for (int i = 0; i < s->n; i++)
        n += s->at[i].explores;
    return n;
}

static void put_line(struct out *o, const struct eval_recorded *r,
                     const struct eval_recorded_line *line)
{
    for (int f = 0; f < FIGURES; f++) {
        const struct compare_kind *k = &compare_kinds[f];
        const struct replay_bias *b = &line->of->at[f];
        out_row(o);
        out_text(o, "policy", line->policy);
        out_text(o, "arm", line->arm >= 0 ? r->recordings->arm[line->arm].name : "");
        out_text(o, "figure", k->name);
        out_interval(o, "predicted", b->predicted.mean, b->predicted.lo, b->predicted.hi,
                     k->digits);
        out_interval(o, "observed", b->observed.mean, b->observed.lo, b->observed.hi,
                     k->digits);
        out_interval(o, "bias", b->bias.mean, b->bias.lo, b->bias.hi, k->digits);
        if (f != COMPARE_QOE || !explored(r->recordings) || !*line->policy) continue;
        const struct off_policy *off = &line->off;
        out_interval(o, "off_policy", off->value.mean, off->value.lo, off->value.hi,
                     k->digits);
        out_real(o, "off_policy_effective", off->effective, 1);
    }
}

static void list_lines(struct eval_recorded *r)
{
    const struct recordings *s = r->recordings;
    for (int a = 1; a < s->arms; a++)
        r->line[r->lines++] =
            (struct eval_recorded_line){.policy = s->arm[a].policy, .arm = a};
    for (int p = 0; p < r->n; p++) {
        const char *policy = r->rows[p].policy;
        if (arm_of(s, policy) < 0 && strcmp(policy, EVAL_RECORDED) != 0)
            r->line[r->lines++] =
                (struct eval_recorded_line){.policy = policy, .arm = -1};
    }
}

int eval_recorded_compare(struct eval_recorded *r, struct out *o, struct err *e)
{
    struct values v = {.arm = NULL};
    r->line = calloc((size_t)(COMPARE_ARMS + r->n), sizeof *r->line);
    int rc = r->line ? values_make(&v, r, e)
                     : err_set(e, ERR_MEMORY, "no memory for %d policies", r->n);
    if (!rc) list_lines(r);
    for (int i = 0; i < r->lines && !rc; i++)
        rc = compare_line(&r->line[i], r, &v, e);
    for (int i = 0; i < r->lines && !rc && o; i++)
        put_line(o, r, &r->line[i]);
    values_free(&v, r->n);
    return rc;
}

void eval_recorded_free(struct eval_recorded *r)
{
    for (int i = 0; i < r->lines; i++)
        free(r->line[i].of);
    free(r->line);
    r->line = NULL;
    r->lines = 0;
}

/* ---- for people ---- */

static const char *short_policy(const char *policy)
{
    const char *slash = strrchr(policy, '/');
    return slash ? slash + 1 : *policy ? policy : "the player's own rules";
}

static void interval_text(char out[80], const struct stats_interval *i, int digits)
{
    if (isnan(i->mean))
        snprintf(out, 80, "not known");
    else
        snprintf(out, 80, "%+.*f (%+.*f .. %+.*f)", digits, i->mean, digits, i->lo,
                 digits, i->hi);
}

/* Of the arms that ran. */
static struct replay_bias worst_of(const struct eval_recorded *r, int figure)
{
    struct replay_bias ran[COMPARE_ARMS];
    int n = 0;
    for (int i = 0; i < r->lines; i++)
        if (r->line[i].arm >= 0) ran[n++] = r->line[i].of->at[figure];
    return replay_bias_worst(ran, n);
}

static void say_ran(const struct eval_recorded *r, const struct eval_recorded_line *line,
                    struct out *o)
{
    const struct recordings_arm *arm = &r->recordings->arm[line->arm];
    out_say(o, "%s (%s), %d sessions; control %s, %d sessions", arm->name,
            arm->reweighted ? "with the weights of another profile"
            : arm->known    ? short_policy(arm->policy)
                            : "not known what decides",
            arm->n, r->recordings->arm[0].name, r->recordings->arm[0].n);
    for (int f = 0; f < FIGURES; f++) {
        const struct compare_kind *k = &compare_kinds[f];
        const struct replay_bias *b = &line->of->at[f];
        char predicted[80], observed[80], bias[80];
        interval_text(predicted, &b->predicted, k->digits);
        interval_text(observed, &b->observed, k->digits);
        interval_text(bias, &b->bias, k->digits);
        out_say(o, "  %-11s predicted %s, observed %s, bias %s", k->name, predicted,
                observed, bias);
    }
}

static void say_other(const struct eval_recorded *r,
                      const struct eval_recorded_line *line, struct out *o)
{
    out_say(o, "%s, has not run", short_policy(line->policy));
    for (int f = 0; f < FIGURES; f++) {
        const struct compare_kind *k = &compare_kinds[f];
        struct replay_bias worst = worst_of(r, f);
        char predicted[80], bias[80] = "not known";
        interval_text(predicted, &line->of->at[f].predicted, k->digits);
        if (worst.known) interval_text(bias, &worst.bias, k->digits);
        out_say(o, "  %-11s predicted %s, bias of arms that ran %s", k->name, predicted,
                bias);
    }
}

/* Replayed at the levels that were played, a session should be what it was. */
static void say_check(const struct eval_recorded *r, struct out *o)
{
    const struct eval_row *row = row_of(r, EVAL_RECORDED);
    const struct recordings *s = r->recordings;
    if (!row) return;
    char text[400] = "";
    size_t n = 0;
    for (int f = 0; f < FIGURES; f++) {
        double was = 0, again = 0;
        for (int i = 0; i < s->n; i++) {
            struct compare_session v = eval_values(row, i);
            was += s->at[i].seen.value[f] / s->n;
            again += v.value[f] / s->n;
        }
        const struct compare_kind *k = &compare_kinds[f];
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s %.*f for %.*f",
                              f ? ", " : "", k->name, k->digits, again, k->digits, was);
    }
    out_say(o, "recorded levels, replayed for reported: %s", text);
}

static void say_off_policy(const struct eval_recorded *r, struct out *o)
{
    int n = explored(r->recordings);
    if (!n) out_say(o, "no session explored, so there are no off-policy estimates");
    for (int i = 0; i < r->lines && n; i++) {
        const struct off_policy *off = &r->line[i].off;
        const char *policy = short_policy(r->line[i].policy);
        if (!*r->line[i].policy) continue;
        if (*off->why)
            out_say(o, "%s: no off-policy estimate: %s", policy, off->why);
        else
            out_say(
                o,
                "%s: off-policy QoE %.2f (%.2f .. %.2f), logged %.2f; effective sample "
                "size %.1f of %d sessions that explored",
                policy, off->value.mean, off->value.lo, off->value.hi, off->logged,
                off->effective, off->sessions);
    }
}

void eval_recorded_say(const struct eval_recorded *r, struct out *o)
{
    const struct recordings *s = r->recordings;
    bool ran = false, others = false;
    say_check(r, o);
    for (int i = 0; i < r->lines; i++) {
        if (r->line[i].arm < 0) {
            others = true;
            continue;
        }
        if (!ran)
            out_say(o,
                    "trial %s: differences to the control, 95 %% intervals by sessions",
                    s->trial);
        ran = true;
        say_ran(r, &r->line[i], o);
    }
    if (!ran)
        out_say(o, "no trial ran in these sessions: predictions are differences to the "
                   "sessions as they were, and their bias is not known");
    for (int i = 0; i < r->lines; i++)
        if (r->line[i].arm < 0) say_other(r, &r->line[i], o);
    say_off_policy(r, o);
    if (ran && others)
        out_say(o, "The bias of another policy may be another: start a trial to know.");
}

/* ---- a trial's report ---- */

/* rows: (COMPARE_ARMS) */
static int play_arms(struct eval_row *rows, int *n, const struct recordings *s,
                     const struct eval_session *sessions, struct err *e)
{
    const struct algo_ctx ctx = {.seed = 1};
    struct eval_cfg cfg = eval_cfg_default();
    cfg.threads = pool_cpus();
    cfg.resamples = 0;
    int rc = 0;
    for (int a = 0; a < s->arms && !rc; a++) {
        const char *policy = s->arm[a].policy;
        if (!s->arm[a].known || !*policy) continue;
        rc = eval_run_sessions(&rows[*n], policy, &ctx, s->arm[a].name, sessions, s->n,
                               &cfg, e);
        if (!rc) (*n)++;
    }
    return rc;
}

int eval_recorded_trial(struct out *o, const char *data, const char *trial,
                        const struct field_list *labels, struct err *e)
{
    struct recordings s;
    struct recordings_cfg cfg = recordings_cfg_default();
    struct eval_row rows[COMPARE_ARMS] = {{0}};
    int n = 0;
    cfg.data = data;
    cfg.trial = trial;
    cfg.labels = *labels;
    int rc = recordings_load(&s, &cfg, e);
    if (rc) return rc;
    struct eval_session *sessions = eval_recorded_sessions(&s, false, e);
    rc = sessions ? play_arms(rows, &n, &s, sessions, e) : ERR_MEMORY;
    const struct algo_ctx ctx = {.seed = 1};
    struct eval_recorded r = {.recordings = &s, .rows = rows, .n = n, .ctx = &ctx};
    if (!rc) rc = eval_recorded_compare(&r, NULL, e);
    if (!rc) {
        recordings_say(o, &s, data);
        eval_recorded_say(&r, o);
    }
    eval_recorded_free(&r);
    for (int i = 0; i < n; i++)
        eval_row_free(&rows[i]);
    free(sessions);
    recordings_free(&s);
    return rc;
}

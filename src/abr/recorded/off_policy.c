#include "abr/recorded/off_policy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double Z = 1.959964; /* of the normal distribution, two-sided 0.05 */

static double clipped(double ratio)
{
    return fmin(ratio, OFF_POLICY_CLIP);
}

double off_policy_session(const struct off_policy_step *s, int n)
{
    double d = 0;
    for (int t = n - 1; t >= 0; t--)
        d = s[t].v + clipped(s[t].ratio) * (s[t].reward + d - s[t].q);
    return d / n;
}

double off_policy_effective(const double *w, int n)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++) {
        sum += w[i];
        squares += w[i] * w[i];
    }
    return squares > 0 ? sum * sum / squares : 0;
}

/* ---- the states of a session ---- */

static struct view first_view(const struct recorded *r)
{
    struct view v = view_default();
    v.levels = r->terms.levels;
    memcpy(v.ladder_kbps, r->terms.ladder_kbps, sizeof v.ladder_kbps);
    v.chunk_s = r->terms.chunk_s;
    v.chunks = r->terms.chunks;
    v.buffer_max_s = r->terms.buffer_max_s;
    v.qoe = r->terms.qoe;
    v.last_level = -1;
    return v;
}

/* The state in which chunk c was decided. */
static void look_at(struct view *v, const struct recorded_chunk *c)
{
    v->chunk = c->chunk;
    v->buffer_s = isnan(c->buffer_s) ? 0 : c->buffer_s;
    memcpy(v->next_bytes, c->next_bytes, sizeof v->next_bytes);
    memcpy(v->points, c->points, sizeof v->points);
}

static void move_on(struct view *v, const struct recorded_chunk *c)
{
    if (v->last_level >= 0) v->stalled_s += c->stall_s;
    v->played_s += v->chunk_s;
    view_push(v, c->bytes, c->download_s);
    v->last_level = c->level;
    v->last_points = c->points[c->level];
}

static double harmonic_kbps(const struct view *v)
{
    int n = v->n_history < OFF_POLICY_HARMONIC ? v->n_history : OFF_POLICY_HARMONIC;
    double sum = 0;
    for (int i = v->n_history - n; i < v->n_history; i++)
        sum += 1 / v->throughput_kbps[i];
    return n ? n / sum : 0;
}

/* q (levels): of this chunk alone. */
static void model(double *q, const struct view *v)
{
    double kbps = harmonic_kbps(v);
    bool first = v->last_level < 0;
    double mu = first && v->qoe.utility == QOE_POINTS ? v->qoe.mu_start : v->qoe.mu_stall;
    view_rewards(q, v, first ? VIEW_NONE : VIEW_LAST);
    for (int k = 0; k < v->levels && kbps > 0; k++)
        q[k] -= mu * fmax(view_bytes(v, k) * 8e-3 / kbps - v->buffer_s, 0);
}

/* ---- sessions ---- */

struct estimating {
    struct algo algo;
    double mean; /* reward per chunk of all sessions */
    struct off_policy_step step[RECORDED_MOST];
};

static void session_steps(struct estimating *x, const struct recorded *r)
{
    struct view v = first_view(r);
    if (x->algo.reset) x->algo.reset(x->algo.self, r->terms.key);
    for (int t = 0; t < r->n; t++) {
        const struct recorded_chunk *c = &r->chunk[t];
        double q[VIEW_LEVELS], later = (r->n - t - 1) * x->mean;
        look_at(&v, c);
        model(q, &v);
        int taken = c->sampled ? x->algo.decide(x->algo.self, &v, NULL) : c->level;
        double m = c->sampled ? exp(c->logp) : 1;
        x->step[t] = (struct off_policy_step){.ratio = taken == c->level ? 1 / m : 0,
                                              .reward = c->reward,
                                              .q = q[c->level] + later,
                                              .v = q[taken] + later};
        move_on(&v, c);
    }
}

static bool counts(const struct recorded *r, int *not_followed)
{
    if (!r->explores) return false;
    for (int t = 0; t < r->n; t++)
        if (r->chunk[t].sampled && !r->chunk[t].followed) {
            ++*not_followed;
            return false;
        }
    return true;
}

/* weight: (sessions, longest), -1 behind a session's end. */
static double effective(const double *weight, int sessions, int longest, double *column)
{
    double sum = 0, decisions = 0;
    for (int t = 0; t < longest; t++) {
        int n = 0;
        for (int i = 0; i < sessions; i++) {
            double w = weight[(size_t)i * (size_t)longest + (size_t)t];
            if (w >= 0) column[n++] = w;
        }
        sum += n * off_policy_effective(column, n);
        decisions += n;
    }
    return decisions > 0 ? sum / decisions : 0;
}

static struct stats_interval interval_of(const double *x, int n)
{
    double mean = stats_mean(x, n), se = stats_std(x, n) / sqrt(n);
    double t = Z + (Z * Z * Z + Z) / (4.0 * (n - 1));
    return (struct stats_interval){mean, mean - t * se, mean + t * se};
}

static int estimate(struct off_policy *out, struct estimating *x,
                    const struct recorded *const *used, int n, int longest, struct err *e)
{
    size_t cells = (size_t)n * (size_t)longest;
    double *weight = malloc(cells * sizeof *weight);
    double *value = malloc(2 * (size_t)n * sizeof *value);
    if (!weight || !value) {
        free(weight);
        free(value);
        return err_set(e, ERR_MEMORY, "no memory for %d sessions", n);
    }
    for (int i = 0; i < n; i++) {
        double w = 1;
        session_steps(x, used[i]);
        for (int t = 0; t < longest; t++) {
            if (t < used[i]->n) w *= clipped(x->step[t].ratio);
            weight[(size_t)i * (size_t)longest + (size_t)t] = t < used[i]->n ? w : -1;
        }
        value[i] = off_policy_session(x->step, used[i]->n);
    }
    out->effective = effective(weight, n, longest, value + n);
    if (out->effective < OFF_POLICY_LEAST)
        snprintf(out->why, sizeof out->why,
                 "the effective sample size is %.1f of %d sessions, below %g",
                 out->effective, n, OFF_POLICY_LEAST);
    else
        out->value = interval_of(value, n);
    free(weight);
    free(value);
    return 0;
}

/* moe has a workspace of its own, but its next decision does not depend on the one before. */
static bool keeps_nothing(const char *policy)
{
    return algo_shared(policy) || !strcmp(policy, "moe") || !strncmp(policy, "moe:", 4);
}

int off_policy_run(struct off_policy *out, const char *policy, const struct algo_ctx *ctx,
                   const struct recorded *sessions, int n, struct err *e)
{
    *out = (struct off_policy){.value = {(double)NAN, (double)NAN, (double)NAN}};
    if (!keeps_nothing(policy)) {
        snprintf(out->why, sizeof out->why, "the policy keeps something between chunks");
        return 0;
    }
    const struct recorded **used = calloc((size_t)n + 1, sizeof *used);
    struct estimating *x = calloc(1, sizeof *x);
    int rc = used && x ? algo_new(&x->algo, policy, ctx, e)
                       : err_set(e, ERR_MEMORY, "no memory for %d sessions", n);
    int longest = 0, chunks = 0;
    for (int i = 0; i < n && !rc; i++) {
        const struct recorded *r = &sessions[i];
        if (!counts(r, &out->not_followed)) continue;
        used[out->sessions++] = r;
        longest = r->n > longest ? r->n : longest;
        chunks += r->n;
        for (int t = 0; t < r->n; t++)
            out->logged += r->chunk[t].reward;
    }
    if (!rc && out->sessions < OFF_POLICY_LEAST)
        snprintf(out->why, sizeof out->why, "%d sessions explored, below %g",
                 out->sessions, OFF_POLICY_LEAST);
    out->logged = chunks ? out->logged / chunks : (double)NAN;
    if (!rc && !*out->why) {
        x->mean = out->logged;
        rc = estimate(out, x, used, out->sessions, longest, e);
    }
    if (x) algo_free(&x->algo);
    free(x);
    free(used);
    return rc;
}

/* What was learned is served as far as the exam (merge_exam.h) lets it. */
#include "untagged_priv.h"

#include <math.h>
#include <string.h>

/* Of the way to what was learned, in the order in which they are tried. */
static const double SHARES[] = {1, .75, .5, .25};
enum { N_SHARES = sizeof SHARES / sizeof *SHARES };

int untagged_exam_open(struct untagged *u, const struct untagged_new *how, struct err *e)
{
    struct untagged_exam *x = &u->exam;
    x->merge_share = x->hint_share = 1;
    if (!how->cfg.exam_links) return 0;
    int rc = decide_layout(&x->layout, how->router, e);
    if (rc) return rc;
    x->router = how->weights;
    x->exam = merge_exam_new(how->cfg.exam_links, how->cfg.exam_traces,
                             how->router->actions, e);
    return x->exam ? 0 : ERR_MEMORY;
}

void untagged_exam_tell(struct untagged_stats *out, const struct untagged_exam *x)
{
    out->examined = x->exam != NULL;
    out->merge_share = x->merge_share;
    out->hint_share = x->hint_share;
    out->exam_loss = x->loss;
    out->exam_kept = x->kept;
    out->exam_refused = x->refused;
    out->exam_kept_all = x->kept_all;
}

/* The mean hint where the profiles have the shares p, and the default profile the rest. */
struct qoe untagged_hint_of(const struct untagged_told *t, const double *p)
{
    struct qoe qoe[AUDIENCE_TASKS + 1];
    double share[AUDIENCE_TASKS + 1], rest = 1;
    for (int v = 0; v < t->tasks; v++) {
        qoe[v] = t->qoe[v];
        share[v] = p[v];
        rest -= p[v];
    }
    if (rest < 1e-9) return untagged_mean(qoe, share, t->tasks);
    qoe[t->tasks] = t->fallback;
    share[t->tasks] = rest;
    return untagged_mean(qoe, share, t->tasks + 1);
}

static struct qoe hint_at(const struct untagged_told *t, const double *p, double share)
{
    double part[AUDIENCE_TASKS];
    if (share <= 0) return t->fallback;
    for (int v = 0; v < t->tasks; v++)
        part[v] = share * p[v];
    return untagged_hint_of(t, part);
}

static bool same_hint(const struct qoe *a, const struct qoe *b)
{
    return a->mu_quality == b->mu_quality && a->mu_switch == b->mu_switch &&
           a->mu_stall == b->mu_stall;
}

/* ---- the router and the mean hint ---- */

struct router_exam {
    struct merge_exam *exam;
    const struct weights *weights;
    enum feat_layout layout;
    const struct untagged_told *t;
    bool sat; /* reference is known */
    struct merge_exam_marks reference;
};

static bool hint_marks(struct merge_exam_marks *out, const struct router_exam *r,
                       const struct qoe *hint)
{
    return merge_exam_play(out, r->exam, r->weights->swift, r->layout, hint, r->t->qoe,
                           r->t->tasks);
}

static bool hint_passes(struct router_exam *r, const struct qoe *hint)
{
    struct merge_exam_marks got;
    const struct qoe *base = &r->t->fallback;
    if (same_hint(hint, base)) return true;
    if (!r->sat && !hint_marks(&r->reference, r, base)) return false;
    r->sat = true;
    return hint_marks(&got, r, hint) &&
           merge_exam_loss(&got, &r->reference, r->t->tasks, NULL) <= MERGE_EXAM_LOSS;
}

static bool router_begin(struct router_exam *r, const struct untagged *u,
                         const struct untagged_told *t)
{
    const struct untagged_exam *x = &u->exam;
    if (!x->exam || !x->router) return false;
    *r = (struct router_exam){.exam = x->exam, .layout = x->layout, .t = t};
    r->weights = snap_get(x->router);
    return true;
}

/* The largest share of the way to p that passes. */
static double share_that_passes(struct router_exam *r, const double *p, uint64_t *refused)
{
    for (int i = 0; i < N_SHARES; i++) {
        struct qoe hint = hint_at(r->t, p, SHARES[i]);
        if (hint_passes(r, &hint)) return SHARES[i];
        if (refused) ++*refused;
    }
    return 0;
}

static void all_sure(struct untagged_told *t)
{
    for (int v = 0; v < AUDIENCE_TASKS; v++)
        t->sure[v] = 1;
}

static void examine_sureness(struct router_exam *r, struct untagged_told *t)
{
    for (int v = 0; v < t->tasks; v++) {
        double p[AUDIENCE_TASKS] = {0};
        p[v] = 1;
        t->sure[v] = share_that_passes(r, p, NULL);
    }
}

void untagged_exam_hint(struct untagged *u, struct untagged_told *next)
{
    struct router_exam r;
    all_sure(next);
    if (!router_begin(&r, u, next)) return;
    double share = 1;
    if (next->known) share = share_that_passes(&r, next->mix, &u->exam.refused);
    u->exam.hint_share = share;
    next->hint = hint_at(next, next->mix, share);
    next->hinted = next->known && share > 0;
    if (u->cfg.mode == UNTAGGED_IDENTIFY) examine_sureness(&r, next);
    snap_put(u->exam.router, r.weights);
}

/* ---- the merge ---- */

/* false: also when there is no memory for it; what is served is then what was served before. */
static bool merge_marks(struct merge_exam_marks *out, const struct untagged *u,
                        const struct untagged_told *t, const float *x,
                        const struct qoe *hint)
{
    struct policy *p = untagged_merge_make(&u->merge, x, t->slot, NULL);
    struct swift *w = p ? swift_new(&p->cfg, NULL) : NULL;
    if (w) swift_load(w, p);
    bool ok = w && merge_exam_play(out, u->exam.exam, w, u->merge.layout, hint, t->qoe,
                                   t->tasks);
    swift_free(w);
    policy_free(p);
    return ok;
}

struct merge_sitting {
    const struct untagged_told *t;
    struct merge_exam_marks reference;
    double loss; /* of the last that was examined */
};

static bool merge_begin(struct merge_sitting *s, const struct untagged *u,
                        const struct untagged_told *t)
{
    *s = (struct merge_sitting){.t = t, .loss = (double)NAN};
    return merge_marks(&s->reference, u, t, u->merge.first, &t->fallback);
}

static bool merge_passes(struct merge_sitting *s, const struct untagged *u)
{
    struct merge_exam_marks got;
    const struct qoe *hint = s->t->hinted ? &s->t->hint : &s->t->fallback;
    if (!merge_marks(&got, u, s->t, u->merge.x, hint)) return false;
    s->loss = merge_exam_loss(&got, &s->reference, s->t->tasks, NULL);
    return s->loss <= MERGE_EXAM_LOSS;
}

/* x is no node's: the visit will be that of the leaf it lies in. */
static void settle_between(struct untagged_merge *m, const double *mix)
{
    m->node = tree_find(tanbr_tree(m->bandit), m->x);
    m->expected = untagged_merge_expects(m, mix);
}

/* What was served last, if it still passes; else what a new bandit begins with, and without a mean
 * hint if need be. */
static void keep_last(struct untagged *u, const struct untagged_merge *last,
                      struct merge_sitting *s, struct untagged_told *next)
{
    struct untagged_merge *m = &u->merge;
    memcpy(m->x, last->good ? last->x : m->first, sizeof m->x);
    if (!merge_passes(s, u)) {
        memcpy(m->x, m->first, sizeof m->x);
        next->hinted = next->hinted && merge_passes(s, u);
        if (!next->hinted) s->loss = 0; /* the reference itself */
    }
    settle_between(m, next->mix);
    u->exam.merge_share = 0;
    u->exam.kept = true;
    u->exam.kept_all++;
    log_event(u->log, LOG_WARN, "slot",
              "no merge of slot %llu passed the exam: it keeps the last good one",
              (unsigned long long)next->slot);
}

int untagged_exam_merge(struct untagged *u, struct untagged_told *next, struct err *e)
{
    struct untagged_merge *m = &u->merge, last = *m;
    struct untagged_exam *x = &u->exam;
    struct merge_sitting s;
    float chosen[UNTAGGED_EXPERTS];
    x->kept = false;
    if (!x->exam) {
        untagged_merge_choose(m, next->mix);
        m->good = true;
        return 0;
    }
    if (!merge_begin(&s, u, next))
        return err_set(e, ERR_NUMERIC, "the merge that slots begin with is not finite");

    untagged_merge_choose(m, next->mix);
    memcpy(chosen, m->x, sizeof chosen);
    bool passed = false;
    for (int i = 0; i < N_SHARES && !passed; i++) {
        x->merge_share = SHARES[i];
        for (int k = 0; k < UNTAGGED_EXPERTS && SHARES[i] < 1; k++)
            m->x[k] = m->first[k] + (float)SHARES[i] * (chosen[k] - m->first[k]);
        passed = merge_passes(&s, u);
        x->refused += !passed;
    }
    if (passed && x->merge_share < 1) settle_between(m, next->mix);
    if (!passed) keep_last(u, &last, &s, next);
    m->good = true;
    x->loss = s.loss;
    return 0;
}

/* ---- after a start ---- */

bool untagged_exam_holds(struct untagged *u)
{
    struct router_exam r;
    struct merge_sitting s;
    bool holds = true;
    all_sure(&u->told);
    if (router_begin(&r, u, &u->told)) {
        holds = !u->told.hinted || hint_passes(&r, &u->told.hint);
        if (u->cfg.mode == UNTAGGED_IDENTIFY) examine_sureness(&r, &u->told);
        snap_put(u->exam.router, r.weights);
    }
    if (holds && u->exam.exam && u->merge.experts) {
        holds = merge_begin(&s, u, &u->told) && merge_passes(&s, u);
        u->exam.loss = s.loss;
        u->merge.good = holds;
    }
    u->exam.refused += !holds;
    return holds;
}

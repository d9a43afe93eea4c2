/* From one slot to the next: what was heard is learned, and what decides is chosen anew. */
#include "untagged_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abr/merits.h"
#include "policy/bank.h"
#include "policy/lattice.h"
#include "learn/ckpt.h"

/* Of the bandit's prior: points of the lattice at most, and the links' seed. */
enum { PRIOR_STEPS = 5, PRIOR_POINTS = 140, PRIOR_SEED = 21 };

/* ---- the experts and their merge ---- */

static int read_layout(enum feat_layout *out, const struct policy *p,
                       const struct ckpt_meta *meta, struct err *e)
{
    const char *name = ckpt_meta_get(meta, "layout");
    *out = FEAT_FULL;
    int rc = name ? feat_layout_parse(out, name, e) : 0;
    if (!rc && (feat_rolled(*out) || feat_dim(*out) != p->cfg.obs_dim))
        rc = err_set(e, ERR_INVALID, "the experts read %d observations, layout %s",
                     p->cfg.obs_dim, feat_layout_name(*out));
    return rc;
}

/* The profiles that `abrd policy join` noted, or "expert 0" and so on. */
static void read_names(struct untagged_merge *m, const struct ckpt_meta *meta)
{
    const char *at = ckpt_meta_get(meta, "experts_for");
    for (int k = 0; k < m->experts->cfg.experts; k++) {
        size_t n = at ? strcspn(at, ",") : 0;
        if (n > 0 && n < UNTAGGED_NAME)
            memcpy(m->name[k], at, n);
        else
            snprintf(m->name[k], UNTAGGED_NAME, "expert %d", k);
        if (at) at = at[n] ? at + n + 1 : NULL;
    }
}

static int check_experts(const struct policy *p, const struct policy_cfg *router,
                         struct err *e)
{
    if (p->cfg.experts < 2 || p->cfg.experts > UNTAGGED_EXPERTS)
        return err_set(e, ERR_INVALID, "%d experts; 2 .. %d can be merged",
                       p->cfg.experts, UNTAGGED_EXPERTS);
    if (p->cfg.actions < router->actions)
        return err_set(e, ERR_INVALID,
                       "the experts choose among %d actions, the router's among %d",
                       p->cfg.actions, router->actions);
    struct policy_cfg merged;
    return bank_policy_cfg(&merged, &p->cfg, e);
}

/* A bandit that begins with what an emulation says of the merges. */
static int make_bandit(struct untagged_merge *m, const struct untagged_new *how,
                       struct err *e)
{
    struct tanbr_cfg cfg = how->cfg.bandit;
    struct qoe qoe[QOE_PROFILES];
    int experts = cfg.experts = m->experts->cfg.experts;
    cfg.tasks = AUDIENCE_TASKS;
    if (!cfg.keep || cfg.keep > experts) cfg.keep = experts;
    struct merits_cfg merits = {.steps = PRIOR_STEPS,
                                .links = how->cfg.merge_links,
                                .seed = PRIOR_SEED,
                                .tasks = QOE_PROFILES,
                                .qoe = qoe,
                                .layout = m->layout,
                                .threads = 1};
    for (int v = 0; v < QOE_PROFILES; v++)
        qoe[v] = qoe_profiles[v].qoe;
    while (lattice_points(experts, merits.steps) > PRIOR_POINTS)
        merits.steps--;
    size_t n = (size_t)lattice_points(experts, merits.steps) * QOE_PROFILES;
    float *value = merits.links ? calloc(n, sizeof *value) : NULL;
    int rc = 0;
    if (merits.links) {
        cfg.prior = (struct tanbr_prior){merits.steps, QOE_PROFILES, value};
        rc = value ? merits_of_merges(value, m->experts, &merits, e)
                   : err_set(e, ERR_MEMORY, "no memory to judge merges");
    }
    if (!rc) {
        m->bandit = tanbr_new(&cfg, how->seed, e);
        rc = m->bandit ? 0 : ERR_RANGE;
    }
    free(value);
    return rc;
}

int untagged_merge_open(struct untagged_merge *m, const struct untagged_new *how,
                        struct err *e)
{
    const char *path = how->cfg.merge_policy;
    if (!path)
        return err_field(e, ERR_ABSENT, "merge-policy",
                         "no experts to merge: name a policy of several");
    struct ckpt_meta meta = {0};
    m->experts = ckpt_load(path, &meta, NULL, NULL, e);
    if (!m->experts) return ERR_IO;

    struct err why = {0};
    int rc = check_experts(m->experts, how->router, &why);
    if (!rc) rc = read_layout(&m->layout, m->experts, &meta, &why);
    if (rc) return err_field(e, rc, path, "%s", why.detail);

    m->crc = policy_crc32(m->experts);
    read_names(m, &meta);
    rc = make_bandit(m, how, e);
    if (rc) return rc;
    double mix[AUDIENCE_TASKS] = {0};
    for (int v = 0; v < QOE_PROFILES; v++)
        mix[v] = 1.0 / QOE_PROFILES;
    untagged_merge_choose(m, mix);
    memcpy(m->first, m->x, sizeof m->first);
    m->grove = grove_new(m->experts->cfg.experts, tanbr_cfg(m->bandit)->max_nodes, e);
    return m->grove ? 0 : ERR_MEMORY;
}

void untagged_merge_close(struct untagged_merge *m)
{
    snap_free(m->merged);
    grove_free(m->grove);
    tanbr_free(m->bandit);
    policy_free(m->experts);
    free(m->carried);
}

struct policy *untagged_merge_make(const struct untagged_merge *m, const float *x,
                                   uint64_t slot, struct err *e)
{
    struct policy_cfg cfg;
    int rc = bank_policy_cfg(&cfg, &m->experts->cfg, e);
    struct policy *p = rc ? NULL : policy_new(&cfg, e);
    if (!p) return NULL;
    p->version = slot;
    if (!bank_policy(p, m->experts, x)) return p;
    policy_free(p);
    err_set(e, ERR_NUMERIC, "the merge of slot %llu is not finite",
            (unsigned long long)slot);
    return NULL;
}

int untagged_merge_publish(struct untagged_merge *m, uint64_t slot, double now,
                           struct err *e)
{
    struct err why = {0};
    struct policy *p = untagged_merge_make(m, m->x, slot, &why);
    if (!p) return err_set(e, why.code, "%s", why.detail);
    if (m->merged) return snap_publish(m->merged, p, now, NAN, e);
    m->merged = snap_new(p, now, NAN, e);
    return m->merged ? 0 : ERR_MEMORY;
}

/* ---- what the slot was worth ---- */

struct earned {
    float reward[AUDIENCE_TASKS], trust[AUDIENCE_TASKS];
    double mean; /* over the mix, of the tasks that are trusted */
};

/* false: nobody played anything of it. */
static bool earned(struct earned *out, const struct untagged_sums *s, const double *mix)
{
    double of = 0;
    *out = (struct earned){0};
    for (int v = 0; v < AUDIENCE_TASKS; v++) {
        if (s->weight[v] <= 0 || s->room[v] <= 1e-9) continue;
        double f = fmin(fmax(s->gain[v] / s->room[v], -1), 1);
        out->reward[v] = (float)f;
        out->trust[v] = (float)fmin(s->weight[v] / UNTAGGED_CHUNKS, 1);
        out->mean += mix[v] * f;
        of += mix[v];
    }
    if (of > 0) out->mean /= of;
    return of > 0;
}

static double expects(struct tanbr *b, const float *x, const float *psi)
{
    float f[AUDIENCE_TASKS];
    double sum = 0;
    tanbr_predict(f, b, x);
    for (int v = 0; v < AUDIENCE_TASKS; v++)
        sum += (double)psi[v] * (double)f[v];
    return sum;
}

/* The best that the network expects of the experts alone, their mean and this slot's x. */
static double best_expected(struct untagged_merge *m, const float *psi)
{
    int n = m->experts->cfg.experts;
    double best = expects(m->bandit, m->x, psi);
    for (int k = 0; k <= n; k++) {
        float x[UNTAGGED_EXPERTS] = {0};
        for (int i = 0; i < n; i++)
            x[i] = k == n ? 1.0f / (float)n : (float)(i == k);
        best = fmax(best, expects(m->bandit, x, psi));
    }
    return best;
}

static void as_floats(float *psi, const double *mix)
{
    for (int v = 0; v < AUDIENCE_TASKS; v++)
        psi[v] = (float)mix[v];
}

void untagged_merge_tell(struct untagged_stats *out, const struct untagged_merge *m)
{
    struct tree_stats tree = tanbr_stats(m->bandit).tree;
    out->experts = m->experts->cfg.experts;
    memcpy(out->expert, m->name, sizeof out->expert);
    for (int k = 0; k < out->experts; k++)
        out->weight[k] = (double)m->x[k];
    out->nodes = tree.nodes;
    out->leaves = tree.leaves;
    out->depth = tree.depth;
    out->left = tree.left;
    out->expected = m->expected;
}

static int largest(const struct untagged_merge *m)
{
    int top = 0;
    for (int k = 1; k < m->experts->cfg.experts; k++)
        if (m->x[k] > m->x[top]) top = k;
    return top;
}

double untagged_merge_expects(const struct untagged_merge *m, const double *mix)
{
    float psi[AUDIENCE_TASKS];
    as_floats(psi, mix);
    return expects(m->bandit, m->x, psi);
}

/* Weights that the slot kept from another one need not be those of the node any more. */
static int learn_rewards(struct untagged_merge *m, const float *psi,
                         const struct earned *got)
{
    float x[UNTAGGED_EXPERTS] = {0};
    size_t n = sizeof *x * (size_t)m->experts->cfg.experts;
    tanbr_weights(x, m->bandit, m->node);
    if (!memcmp(x, m->x, n))
        return tanbr_learn(m->bandit, m->node, psi, got->reward, got->trust);
    return tanbr_learn_at(m->bandit, m->x, psi, got->reward, got->trust);
}

/* Learns from a slot that is over; stats is the tick's own copy. given: what others may learn of it,
 * number 0: nothing. */
static int learn(struct slot_record *given, struct untagged *u,
                 struct untagged_stats *stats, const struct untagged_sums *sums,
                 const double *mix, struct err *e)
{
    struct untagged_merge *m = &u->merge;
    struct earned got;
    float psi[AUDIENCE_TASKS];
    bool some = earned(&got, sums, mix);
    struct grove_slot slot = {.slot = u->told.slot,
                              .since = u->told.since,
                              .expected = m->expected,
                              .reward = some ? got.mean : (double)NAN};
    memcpy(slot.x, m->x, sizeof slot.x);
    grove_slot(m->grove, &slot);
    if (!some) {
        stats->empty_slots++;
        return 0;
    }
    as_floats(psi, mix);
    stats->reward = got.mean;
    stats->regret += fmax(best_expected(m, psi) - got.mean, 0);
    int rc = learn_rewards(m, psi, &got);
    if (rc)
        return err_set(e, rc, "the bandit could not learn from slot %llu",
                       (unsigned long long)u->told.slot);
    given->number = u->told.slot;
    memcpy(given->x, m->x, sizeof given->x);
    memcpy(given->psi, psi, sizeof psi);
    memcpy(given->reward, got.reward, sizeof got.reward);
    memcpy(given->trust, got.trust, sizeof got.trust);
    return 0;
}

void untagged_merge_choose(struct untagged_merge *m, const double *mix)
{
    struct tanbr_choice why;
    float psi[AUDIENCE_TASKS];
    as_floats(psi, mix);
    m->node = tanbr_choose(m->bandit, m->x, &why, psi);
    m->expected = why.mean;
}

/* ---- the head ---- */

void untagged_teach(struct untagged *u)
{
    pthread_mutex_lock(&u->lock);
    struct untagged_examples full = u->fresh;
    u->fresh = u->training;
    u->fresh.n = 0;
    pthread_mutex_unlock(&u->lock);
    u->training = full;

    for (int i = 0; i < full.n; i++)
        (void)!identity_learn(u->head, full.x + (size_t)i * FEAT_FULL_DIM, full.task[i],
                              NULL); /* observations are finite */
    u->training.n = 0;
    struct identity_stats s;
    identity_stats(&s, u->head);
    pthread_mutex_lock(&u->lock);
    u->stats.examples = s.examples;
    u->stats.accuracy = s.accuracy;
    u->stats.calibration = s.calibration;
    u->stats.log_loss = s.log_loss;
    pthread_mutex_unlock(&u->lock);
}

/* ---- the turn ---- */

/* What a profile's weights are worth to each other: those of quality, or of a twentieth of all
 * where quality counts less. */
static double unit_of(const struct qoe *k)
{
    return fmax(k->mu_quality, .05 * (k->mu_quality + k->mu_switch + k->mu_stall));
}

struct qoe untagged_mean(const struct qoe *qoe, const double *p, int tasks)
{
    struct qoe mean = {0};
    double sums = 0;
    for (int v = 0; v < tasks; v++) {
        double unit = unit_of(&qoe[v]), w = unit > 0 ? p[v] / unit : 0;
        mean.mu_quality += w * qoe[v].mu_quality;
        mean.mu_switch += w * qoe[v].mu_switch;
        mean.mu_stall += w * qoe[v].mu_stall;
        sums += p[v] * (qoe[v].mu_quality + qoe[v].mu_switch + qoe[v].mu_stall);
    }
    double sum = mean.mu_quality + mean.mu_switch + mean.mu_stall;
    double scale = sum > 0 ? sums / sum : 0;
    mean.mu_quality *= scale;
    mean.mu_switch *= scale;
    mean.mu_stall *= scale;
    return mean;
}

/* The mix, the hint and the tasks of the slot to come; the caller holds the lock. */
static void look_ahead(struct untagged_told *t, struct untagged *u)
{
    audience_turn(u->audience);
    while (audience_tasks(u->audience) < u->tasks)
        audience_grow(u->audience);
    memset(t->mix, 0, sizeof t->mix);
    t->known = audience_mix(t->mix, u->audience);
    t->tasks = u->tasks;
    memcpy(t->qoe, u->qoe, sizeof t->qoe);
    t->hint = untagged_mean(t->qoe, t->mix, t->tasks);
    t->hinted = t->known;
    t->fallback = u->fallback;
    struct audience_refused refused = audience_refused(u->audience);
    u->stats.labels_address = refused.mix;
}

static void grow_head(struct untagged *u, int tasks)
{
    while (identity_classes(u->head) < tasks)
        if (identity_grow(u->head, NULL) < 0) return;
}

/* Contents as they are known now, for this slot; the caller holds the lock. */
static void copy_audience(struct untagged *u, void *bytes)
{
    audience_state_get(u->audience, bytes);
    (void)!audience_state_put(u->told_audience, bytes, audience_state_size(u->audience),
                              NULL); /* of one shape */
}

int untagged_turn(struct untagged *u, double now, struct err *e)
{
    void *bytes = malloc(audience_state_size(u->audience));
    if (!bytes) return err_set(e, ERR_MEMORY, "no memory to begin a slot");
    struct untagged_merge *m = &u->merge;
    struct untagged_told next = {.slot = u->told.slot + 1, .since = now};

    pthread_mutex_lock(&u->lock);
    struct untagged_sums sums = u->sums;
    struct untagged_stats stats = u->stats;
    look_ahead(&next, u);
    pthread_mutex_unlock(&u->lock);

    untagged_exam_hint(u, &next);
    int rc = 0;
    struct slot_record given = {0};
    if (u->told.slot) stats.slots++;
    if (m->experts && u->told.slot) rc = learn(&given, u, &stats, &sums, u->told.mix, e);
    if (m->experts) {
        untagged_learn_heard(u);
        int failed = untagged_exam_merge(u, &next, e);
        grove_take(m->grove, m->bandit, m->node);
        if (!failed) failed = untagged_merge_publish(m, next.slot, now, e);
        if (!rc) rc = failed;
    }
    untagged_teach(u);
    grow_head(u, next.tasks);

    pthread_mutex_lock(&u->lock);
    next.taught = u->stats.examples >= UNTAGGED_LEARNED;
    u->told = next;
    if (given.number) untagged_keep(u, &given);
    identity_copy(u->told_head, u->head);
    copy_audience(u, bytes);
    u->sums = (struct untagged_sums){0};
    u->slot_sessions = 0;
    u->stats.slots = stats.slots;
    u->stats.empty_slots = stats.empty_slots;
    u->stats.reward = stats.reward;
    u->stats.regret = stats.regret;
    if (m->experts) {
        untagged_merge_tell(&u->stats, m);
        u->stats.chosen[largest(m)]++;
    }
    untagged_exam_tell(&u->stats, &u->exam);
    atomic_store(&u->slot, next.slot);
    pthread_mutex_unlock(&u->lock);
    free(bytes);
    return rc;
}

#include "serve/hintless/hintless.h"

#include "abr/deciders/window.h"
#include "abr/merge_score.h"
#include "base/bytes.h"
#include "base/pack.h"
#include "base/rng.h"
#include "base/table.h"
#include "base/text.h"
#include "learn/ckpt.h"
#include "policy/bank.h"
#include "policy/identity.h"
#include "policy/lattice.h"
#include "serve/cluster/slot_log.h"
#include "serve/hintless/merge_view.h"
#include "serve/hintless/merge_exam.h"
#include "serve/session/limits.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HINTLESS_EXAMPLES 1024 /* most that wait for the next tick */
#define HINTLESS_PENDING 128   /* most slots that wait for the slot log */

/* Labelled observations. */
struct hintless_examples {
    int n;
    float *x; /* (HINTLESS_EXAMPLES, FEAT_FULL_DIM) */
    int8_t *task;
};

/* Sums over the slot's chunks, for every task. */
struct hintless_sums {
    double weight[PROFILE_MIX_TASKS], gain[PROFILE_MIX_TASKS], room[PROFILE_MIX_TASKS];
};

/* Everything that decides in a slot, except the head, the contents and the merged expert. A worker
 * copies it when a slot begins. */
struct hintless_slot {
    uint64_t slot;
    double since;
    bool known;      /* the mix is known */
    bool hinted;     /* it is, and `hint` is used; false: the default profile is */
    bool head_ready; /* the head has learned from enough examples */
    int tasks;       /* removed ones included: their share of the mix is 0 */
    char task[PROFILE_MIX_TASKS][SERVICE_NAME];
    double mix[PROFILE_MIX_TASKS];
    struct qoe qoe[PROFILE_MIX_TASKS];
    struct qoe hint;
    struct qoe fallback;                      /* of the default profile */
    double identify_share[PROFILE_MIX_TASKS]; /* s_v of mode identify (hintless.h) */
};

/* The merge. Belongs to the tick, except `merged` and `view`, which have locks, and `layout`, which
 * is constant. */
struct hintless_merge {
    struct policy *experts; /* NULL: nothing is merged */
    enum feat_layout layout;
    uint32_t crc; /* of the experts */
    char name[HINTLESS_EXPERTS][HINTLESS_NAME];
    struct tanbr *bandit;
    struct published *merged;
    int node;
    float x[HINTLESS_EXPERTS];
    float first[HINTLESS_EXPERTS]; /* what a new bandit chooses for the prior's mix */
    bool good;                     /* x passed the exam */
    double expected;
    struct merge_view *view;
    void *carried; /* the bandit's saved state while nothing is merged */
    size_t carried_n;
    uint64_t carried_forget; /* tasks (bits) that the carried bandit must forget */
};

/* A position in a slot log. */
struct log_place {
    uint64_t log, count;
};

/* Slots shared among nodes. The state file holds the members above `kept`. */
struct hintless_share {
    bool on;
    uint64_t maker; /* id of this bandit; 0: it never shared */
    uint64_t store; /* id of the store that it was on */
    uint64_t was,
        was_number; /* a copy: id of the original, and its last slot that is here */
    struct log_place learned_to;
    int n_pending;
    struct slot_record pending[HINTLESS_PENDING];
    uint64_t kept; /* pending slots before this number are in the state file */
    struct log_place read_to;
    int n_received;
    struct slot_record *received,
        *learning; /* (SLOT_LOG_RECORDS); learning: the tick's, used without the lock */
    uint64_t given, learned, missed;
    int makers;
    double read_at;
};

/* The exam, and its results for what is served. */
struct hintless_exam {
    struct merge_exam *exam;  /* NULL: none */
    struct published *router; /* borrowed */
    enum feat_layout layout;  /* the router's */
    double merge_share, hint_share, loss;
    bool kept;
    uint64_t refused, kept_all;
};

struct hintless {
    struct hintless_cfg cfg;
    uint64_t seed;
    const struct log *log;
    char *state_path;
    char default_profile[SERVICE_NAME];
    struct hintless_merge merge;
    struct hintless_exam exam; /* the tick's */
    struct identity *head;     /* learns; the tick's */
    struct hintless_examples training;
    atomic_uint_fast64_t slot; /* = current.slot, read by workers without the lock */
    atomic_uint_fast64_t decisions[BY_WAYS];

    pthread_mutex_t lock; /* of all below */
    struct hintless_slot current;
    struct identity *slot_head;
    struct profile_mix *slot_mix;               /* at the beginning of the slot */
    struct profile_mix *profile_mix;            /* counts for the next slot */
    int tasks;                                  /* of the next slot */
    char task[PROFILE_MIX_TASKS][SERVICE_NAME]; /* likewise; "": free for a new profile */
    struct qoe qoe[PROFILE_MIX_TASKS];
    uint64_t to_forget;  /* tasks (bits) to forget when the slot ends */
    uint64_t forgetting; /* ... while hintless_turn forgets them */
    struct qoe fallback;
    struct hintless_examples fresh;
    struct table *watched; /* session id -> struct watched */
    int watched_hinted;
    uint32_t *examples_by; /* (PROFILE_MIX_BUCKETS) examples by address */
    uint32_t examples_all, examples_refused;
    struct hintless_sums sums;
    uint64_t slot_sessions;
    struct hintless_stats stats;
    struct hintless_share share;
};

struct hintless_worker {
    struct hintless_slot current;
    struct identity *head;
    struct decider merge; /* reads the experts' layout */
    float obs[FEAT_FULL_DIM];
};

_Static_assert(HINTLESS_NAME == SERVICE_NAME, "one length for names");
_Static_assert(BY_WAYS <= 8, "a step keeps three bits of it");

struct watched {
    bool hinted;
    float obs[FEAT_FULL_DIM];
};

static uint64_t task_bit(int task)
{
    return (uint64_t)1 << task;
}

/* ---- the mean hint ---- */

/* The sum of relative weights and u_v of hintless_cfg.h. */
static double weight_sum(const double w[QOE_WEIGHTS])
{
    double sum = 0;
    for (int i = 0; i < QOE_WEIGHTS; i++)
        sum += w[i];
    return sum;
}

static double unit_of(const double w[QOE_WEIGHTS])
{
    return fmax(w[0], .05 * weight_sum(w));
}

/* All in points; with the ceilings of the default profile. */
static struct qoe hintless_mean(const struct qoe *qoe, const double *p, int tasks,
                                const struct qoe *fallback)
{
    double mean[QOE_WEIGHTS] = {0}, sums = 0;
    for (int v = 0; v < tasks; v++) {
        double w[QOE_WEIGHTS];
        qoe_weights(w, &qoe[v]);
        double unit = unit_of(w), share = unit > 0 ? p[v] / unit : 0;
        for (int i = 0; i < QOE_WEIGHTS; i++)
            mean[i] += share * w[i];
        sums += p[v] * weight_sum(w);
    }
    double sum = weight_sum(mean), scale = sum > 0 ? sums / sum : 0;
    for (int i = 0; i < QOE_WEIGHTS; i++)
        mean[i] *= scale;
    struct qoe k = qoe_of_weights(mean);
    k.stall_ratio_max = fallback->stall_ratio_max;
    k.startup_max_s = fallback->startup_max_s;
    return k;
}

/* The mean hint of profiles with the shares p and the default profile with the rest. */
static struct qoe hintless_hint_of(const struct hintless_slot *t, const double *p)
{
    struct qoe qoe[PROFILE_MIX_TASKS + 1];
    double share[PROFILE_MIX_TASKS + 1], rest = 1;
    for (int v = 0; v < t->tasks; v++) {
        qoe[v] = t->qoe[v];
        share[v] = p[v];
        rest -= p[v];
    }
    if (rest < 1e-9) return hintless_mean(qoe, share, t->tasks, &t->fallback);
    qoe[t->tasks] = t->fallback;
    share[t->tasks] = rest;
    return hintless_mean(qoe, share, t->tasks + 1, &t->fallback);
}

static struct qoe hint_at(const struct hintless_slot *t, const double *p, double share)
{
    double part[PROFILE_MIX_TASKS];
    if (share <= 0) return t->fallback;
    for (int v = 0; v < t->tasks; v++)
        part[v] = share * p[v];
    return hintless_hint_of(t, part);
}

/* ---- adding and removing tasks; the caller holds the lock ----
 *
 * The index of a task is also the index of its class, rewards and counters. So other tasks keep
 * theirs when one is removed. The next new profile gets the free index. */

static int find_task(const struct hintless *u, const char *name)
{
    for (int v = 0; v < u->tasks; v++)
        if (!strcmp(u->task[v], name)) return v;
    return -1;
}

/* A pending record has indices, not names: the next profile must not get this one's rewards. */
static void forget_record(struct slot_record *r, uint64_t tasks)
{
    for (int v = 0; v < PROFILE_MIX_TASKS; v++)
        if (tasks & task_bit(v)) r->psi[v] = r->reward[v] = r->trust[v] = 0;
}

static void remove_task(struct hintless *u, int v)
{
    memset(u->task[v], 0, sizeof u->task[v]);
    u->to_forget |= task_bit(v);
    for (int i = 0; i < u->share.n_pending; i++)
        forget_record(&u->share.pending[i], task_bit(v));
}

static void put_task(struct hintless *u, const struct profile *p)
{
    int v = find_task(u, p->name);
    if (v < 0) {
        v = find_task(u, "");
        if (v >= 0)
            u->to_forget |= task_bit(v); /* the head's class drifted while it was free */
        if (v < 0 && u->tasks < PROFILE_MIX_TASKS) v = u->tasks++;
        if (v < 0) return;
        memcpy(u->task[v], p->name, SERVICE_NAME);
    }
    u->qoe[v] = p->qoe;
}

static bool is_task(const struct profile *p, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(p[i].name, name)) return p[i].qoe.utility == QOE_POINTS;
    return false;
}

void hintless_profiles(struct hintless *u, const struct profile *p, int n)
{
    pthread_mutex_lock(&u->lock);
    for (int v = QOE_PRODUCT; v < u->tasks; v++)
        if (u->task[v][0] && !is_task(p, n, u->task[v])) remove_task(u, v);
    for (int i = 0; i < n; i++) {
        if (!strcmp(p[i].name, u->default_profile)) u->fallback = p[i].qoe;
        if (p[i].qoe.utility == QOE_POINTS) put_task(u, &p[i]);
    }
    pthread_mutex_unlock(&u->lock);
}

void hintless_forget(struct hintless *u, const char *name)
{
    pthread_mutex_lock(&u->lock);
    int v = find_task(u, name);
    if (v >= QOE_PRODUCT) remove_task(u, v);
    pthread_mutex_unlock(&u->lock);
}

/* ---- decisions ---- */

/* Copies the current slot if it is a new one. */
static void refresh_worker(struct hintless_worker *d, struct hintless *u)
{
    if (d->current.slot == atomic_load(&u->slot)) return;
    pthread_mutex_lock(&u->lock);
    d->current = u->current;
    identity_copy(d->head, u->slot_head);
    pthread_mutex_unlock(&u->lock);
}

bool hintless_hint(struct qoe *out, struct hintless *u, struct hintless_worker *d)
{
    refresh_worker(d, u);
    if (d->current.hinted) *out = d->current.hint;
    return d->current.hinted;
}

void hintless_opened(struct hintless *u)
{
    pthread_mutex_lock(&u->lock);
    u->slot_sessions++;
    u->stats.sessions++;
    pthread_mutex_unlock(&u->lock);
}

/* A default profile in the papers' units has no mean with the tasks, which are in points. */
static bool has_mean(const struct qoe *fallback)
{
    return fallback->utility == QOE_POINTS;
}

/* The mean hint of this viewer (hintless_cfg.h: identify). false: neither the head nor the content
 * gives information. */
static bool identify_viewer(struct qoe *out, struct hintless *u,
                            struct hintless_worker *d, const struct view *view,
                            const char *content_id)
{
    const struct hintless_slot *t = &d->current;
    if (!has_mean(&t->fallback)) return false;
    double p[PROFILE_MIX_TASKS];
    uint64_t content = profile_mix_content(u->profile_mix, content_id);
    pthread_mutex_lock(&u->lock);
    bool known = profile_mix_of(p, u->slot_mix, content);
    pthread_mutex_unlock(&u->lock);
    if (!known && !t->head_ready) return false;

    if (t->head_ready) {
        window_observe(d->obs, FEAT_BLIND, view);
        (void)identity_posterior(p, d->head, d->obs, p);
    }
    for (int v = 0; v < t->tasks; v++)
        p[v] *= t->identify_share[v];
    *out = hintless_hint_of(t, p);
    return true;
}

static bool decide_merged(struct verdict *out, struct hintless *u,
                          struct hintless_worker *d, const struct view *view)
{
    if (!u->merge.merged) return false;
    const struct weights *w = published_get(u->merge.merged);
    bool ok = decide(out, w->packed, &d->merge, view, -1);
    published_put(u->merge.merged, w);
    out->by = BY_MERGE;
    out->expert = -1; /* all of them */
    return ok;
}

bool hintless_decide(struct verdict *out, struct hintless *u, struct hintless_worker *d,
                     struct decider *decider, struct published *router,
                     const struct view *view, const char *content_id, double stall_weight)
{
    refresh_worker(d, u);
    struct view asked = *view;
    enum service_by by = d->current.hinted ? BY_MEAN_HINT : BY_DEFAULT;
    if (d->current.hinted) asked.qoe = d->current.hint;
    if (u->cfg.mode == HINTLESS_IDENTIFY &&
        identify_viewer(&asked.qoe, u, d, view, content_id))
        by = BY_IDENTITY;
    if (by != BY_DEFAULT && asked.qoe.stall_ratio_max > 0)
        asked.qoe.mu_stall *= stall_weight;
    /* the router decides if the merge is not finite */
    bool ok = u->cfg.mode == HINTLESS_MERGE && decide_merged(out, u, d, &asked);
    if (!ok) {
        const struct weights *w = published_get(router);
        ok = decide(out, w->packed, decider, &asked, -1);
        published_put(router, w);
        out->by = by;
    }
    atomic_fetch_add_explicit(&u->decisions[out->by], 1, memory_order_relaxed);
    return ok;
}

/* ---- observations for the head ---- */

bool hintless_watches(const struct hintless *u, uint64_t key, int chunk)
{
    return rng_u64_at(~u->seed, key, (uint64_t)chunk) % HINTLESS_SAMPLE == 0;
}

void hintless_watch(struct hintless *u, struct hintless_worker *d,
                    const uint8_t id[TRACK_ID], bool hinted, const struct view *view)
{
    window_observe(d->obs, FEAT_BLIND, view);
    pthread_mutex_lock(&u->lock);
    struct watched *w = table_get(u->watched, id);
    if (!w && !(hinted && u->watched_hinted >= HINTLESS_WATCHED / 2))
        w = table_put(u->watched, id, NULL);
    if (w) {
        u->watched_hinted += hinted - w->hinted;
        w->hinted = hinted;
        memcpy(w->obs, d->obs, sizeof w->obs);
    }
    pthread_mutex_unlock(&u->lock);
}

/* The caller holds the lock. */
static void unwatch(struct hintless *u, const uint8_t *id, const struct watched *w)
{
    u->watched_hinted -= w->hinted;
    table_delete(u->watched, id);
}

void hintless_unwatch(struct hintless *u, const uint8_t id[TRACK_ID])
{
    pthread_mutex_lock(&u->lock);
    const struct watched *w = table_get(u->watched, id);
    if (w) unwatch(u, id, w);
    pthread_mutex_unlock(&u->lock);
}

/* ---- outcomes; static functions: the caller holds the lock ---- */

/* The index in this slot; -1: absent, or about to be forgotten. */
static int task_in_slot(const struct hintless *u, const char *name)
{
    for (int v = 0; v < u->current.tasks; v++)
        if (name[0] && !strcmp(u->current.task[v], name))
            return (u->to_forget | u->forgetting) & task_bit(v) ? -1 : v;
    return -1;
}

/* The counts by address last until the process ends. */
static void add_example(struct hintless *u, const float *obs, int task, uint64_t from)
{
    struct hintless_examples *x = &u->fresh;
    uint32_t *own =
        &u->examples_by[rng_u64_at(u->seed, from, HINTLESS_SAMPLE) % PROFILE_MIX_BUCKETS];
    if (!profile_mix_may_add(*own, u->examples_all, HINTLESS_EXAMPLES_FREE)) {
        u->examples_refused++;
        return;
    }
    if (x->n == HINTLESS_EXAMPLES) {
        u->stats.dropped++;
        return;
    }
    ++*own;
    u->examples_all++;
    memcpy(x->x + (size_t)x->n * FEAT_FULL_DIM, obs, FEAT_FULL_DIM * sizeof *obs);
    x->task[x->n++] = (int8_t)task;
}

static void add_chunk(struct hintless *u, const struct track_row *row,
                      const struct step *s)
{
    double p[PROFILE_MIX_TASKS];
    (void)profile_mix_of(p, u->slot_mix,
                         profile_mix_content(u->profile_mix, row->content_id));

    double carried = (double)s->bytes * 8 / 1000 / s->download_s;
    double points[VIEW_LEVELS];
    track_points(points, row, s);
    struct qoe_ladder ladder = {row->ladder_kbps, points, row->levels, row->chunk_s};
    for (int v = 0; v < u->current.tasks; v++) {
        const struct qoe *k = &u->current.qoe[v];
        struct qoe_range r = qoe_chunk_range(k, &ladder, carried);
        double got = qoe_chunk(k, track_seen(row, s, s->level), track_before(row, s),
                               row->chunk_s, s->rebuffer_s, row->ladder_kbps[0])
                         .reward;
        u->sums.weight[v] += p[v];
        u->sums.gain[v] += p[v] * (got - r.low);
        u->sums.room[v] += p[v] * (r.high - r.low);
    }
}

void hintless_chunk(struct hintless *u, const struct track_row *row, const struct step *s)
{
    bool first = s->last_level < 0; /* its download delays the start and is no stall */
    /* an empty chunk does not measure the link's rate */
    if (track_by(s) != BY_MERGE || !(s->flags & STEP_FOLLOWED) || first || s->bytes <= 0)
        return;
    pthread_mutex_lock(&u->lock);
    if (s->policy == u->current.slot)
        add_chunk(u, row, s);
    else
        u->stats.late++;
    pthread_mutex_unlock(&u->lock);
}

void hintless_ended(struct hintless *u, const struct track_row *row)
{
    pthread_mutex_lock(&u->lock);
    uint64_t content = profile_mix_content(u->profile_mix, row->content_id);
    bool watched = row->followed >= HINTLESS_WATCHED_CHUNKS;
    bool labelled = row->hinted ? !row->has_mu : row->labelled;
    int task = labelled ? task_in_slot(u, row->profile) : -1;
    if (task >= 0 && watched)
        profile_mix_label(u->profile_mix, content, task, !row->hinted, row->from);
    else if (!row->hinted && watched)
        profile_mix_unlabelled(u->profile_mix, content, row->from);
    u->stats.labels += task >= 0 && !row->hinted;
    u->stats.labels_unwatched += labelled && !watched;

    struct watched *w = table_get(u->watched, row->id);
    if (w) {
        if (task >= 0 && watched) add_example(u, w->obs, task, row->from);
        unwatch(u, row->id, w);
    }
    pthread_mutex_unlock(&u->lock);
}

/* ---- the rewards of a slot ---- */

struct slot_reward {
    float reward[PROFILE_MIX_TASKS], trust[PROFILE_MIX_TASKS];
    double mean; /* over the mix and the tasks with a reward */
};

/* f_v of hintless.h. false: no chunk counts. */
static bool slot_rewards(struct slot_reward *out, const struct hintless_sums *s,
                         const double *mix)
{
    double of = 0;
    *out = (struct slot_reward){0};
    for (int v = 0; v < PROFILE_MIX_TASKS; v++) {
        if (s->weight[v] <= 0 || s->room[v] <= 1e-9) continue;
        double f = fmin(fmax(s->gain[v] / s->room[v], -1), 1);
        out->reward[v] = (float)f;
        out->trust[v] = (float)fmin(s->weight[v] / HINTLESS_CHUNKS, 1);
        out->mean += mix[v] * f;
        of += mix[v];
    }
    if (of > 0) out->mean /= of;
    return of > 0;
}

static double expected_reward(struct tanbr *b, const float *x, const float *psi)
{
    float f[PROFILE_MIX_TASKS];
    double sum = 0;
    tanbr_predict(f, b, x);
    for (int v = 0; v < PROFILE_MIX_TASKS; v++)
        sum += (double)psi[v] * (double)f[v];
    return sum;
}

/* The largest reward expected of single experts, their mean and this slot's x. */
static double best_expected(struct hintless_merge *m, const float *psi)
{
    int n = m->experts->cfg.experts;
    double best = expected_reward(m->bandit, m->x, psi);
    for (int k = 0; k <= n; k++) {
        float x[HINTLESS_EXPERTS] = {0};
        for (int i = 0; i < n; i++)
            x[i] = k == n ? 1.0f / (float)n : (float)(i == k);
        best = fmax(best, expected_reward(m->bandit, x, psi));
    }
    return best;
}

static void as_floats(float *psi, const double *mix)
{
    for (int v = 0; v < PROFILE_MIX_TASKS; v++)
        psi[v] = (float)mix[v];
}

static void hintless_merge_report(struct hintless_stats *out,
                                  const struct hintless_merge *m)
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

static int largest_weight(const struct hintless_merge *m)
{
    int top = 0;
    for (int k = 1; k < m->experts->cfg.experts; k++)
        if (m->x[k] > m->x[top]) top = k;
    return top;
}

static double hintless_merge_expects(const struct hintless_merge *m, const double *mix)
{
    float psi[PROFILE_MIX_TASKS];
    as_floats(psi, mix);
    return expected_reward(m->bandit, m->x, psi);
}

/* A slot that kept the weights of an earlier one may have other weights than its node. */
static int learn_rewards(struct hintless_merge *m, const float *psi,
                         const struct slot_reward *got)
{
    float x[HINTLESS_EXPERTS] = {0};
    size_t n = sizeof *x * (size_t)m->experts->cfg.experts;
    tanbr_weights(x, m->bandit, m->node);
    if (!memcmp(x, m->x, n))
        return tanbr_learn(m->bandit, m->node, psi, got->reward, got->trust);
    return tanbr_learn_at(m->bandit, m->x, psi, got->reward, got->trust);
}

/* Learns from the slot that ends; stats is the tick's own copy. given: the record for other nodes,
 * number 0: none. */
static int learn_slot(struct slot_record *given, struct hintless *u,
                      struct hintless_stats *stats, const struct hintless_sums *sums,
                      const double *mix, struct err *e)
{
    struct hintless_merge *m = &u->merge;
    struct slot_reward got;
    float psi[PROFILE_MIX_TASKS];
    bool some = slot_rewards(&got, sums, mix);
    struct merge_view_slot slot = {.slot = u->current.slot,
                                   .since = u->current.since,
                                   .expected = m->expected,
                                   .reward = some ? got.mean : (double)NAN};
    memcpy(slot.x, m->x, sizeof slot.x);
    merge_view_add_slot(m->view, &slot);
    if (!some) {
        stats->empty_slots++;
        return 0;
    }
    as_floats(psi, mix);
    stats->reward = got.mean;
    stats->regret += fmax(best_expected(m, psi) - got.mean, 0);
    int rc = learn_rewards(m, psi, &got);
    if (rc)
        return err_set(
            e, rc, "the bandit cannot learn from slot %llu: its rewards are not finite",
            (unsigned long long)u->current.slot);
    given->number = u->current.slot;
    memcpy(given->x, m->x, sizeof given->x);
    memcpy(given->psi, psi, sizeof psi);
    memcpy(given->reward, got.reward, sizeof got.reward);
    memcpy(given->trust, got.trust, sizeof got.trust);
    return 0;
}

static void hintless_merge_choose(struct hintless_merge *m, const double *mix)
{
    struct tanbr_choice why;
    float psi[PROFILE_MIX_TASKS];
    as_floats(psi, mix);
    m->node = tanbr_choose(m->bandit, m->x, &why, psi);
    m->expected = why.mean;
}

/* The bandit's prior: the lattice, its most points, and the links' seed. */
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

/* The profiles noted by `abrd policy join`, or "expert 0" and so on. */
static void read_names(struct hintless_merge *m, const struct ckpt_meta *meta)
{
    const char *at = ckpt_meta_get(meta, "experts_for");
    for (int k = 0; k < m->experts->cfg.experts; k++) {
        size_t n = at ? strcspn(at, ",") : 0;
        if (n > 0 && n < HINTLESS_NAME)
            memcpy(m->name[k], at, n);
        else
            snprintf(m->name[k], HINTLESS_NAME, "expert %d", k);
        if (at) at = at[n] ? at + n + 1 : NULL;
    }
}

static int check_experts(const struct policy *p, const struct policy_cfg *router,
                         struct err *e)
{
    if (p->cfg.experts < 2 || p->cfg.experts > HINTLESS_EXPERTS)
        return err_set(e, ERR_INVALID, "%d experts; 2 .. %d can be merged",
                       p->cfg.experts, HINTLESS_EXPERTS);
    if (p->cfg.actions < router->actions)
        return err_set(e, ERR_INVALID,
                       "the experts choose among %d actions, the router's among %d",
                       p->cfg.actions, router->actions);
    struct policy_cfg merged;
    return bank_policy_cfg(&merged, &p->cfg, e);
}

/* A bandit whose prior is what merges score in an emulation. */
static int make_bandit(struct hintless_merge *m, const struct hintless_new *how,
                       struct err *e)
{
    struct tanbr_cfg cfg = how->cfg.bandit;
    struct qoe qoe[QOE_PRODUCT];
    int experts = cfg.experts = m->experts->cfg.experts;
    cfg.tasks = PROFILE_MIX_TASKS;
    if (!cfg.keep || cfg.keep > experts) cfg.keep = experts;
    struct merge_score_cfg score = {.steps = PRIOR_STEPS,
                                    .links = how->cfg.merge_links,
                                    .seed = PRIOR_SEED,
                                    .tasks = QOE_PRODUCT,
                                    .qoe = qoe,
                                    .layout = m->layout,
                                    .threads = 1};
    for (int v = 0; v < QOE_PRODUCT; v++)
        qoe[v] = qoe_profiles[v].qoe;
    while (lattice_points(experts, score.steps) > PRIOR_POINTS)
        score.steps--;
    size_t n = (size_t)lattice_points(experts, score.steps) * QOE_PRODUCT;
    float *value = score.links ? calloc(n, sizeof *value) : NULL;
    int rc = 0;
    if (score.links) {
        cfg.prior = (struct tanbr_prior){score.steps, QOE_PRODUCT, value};
        rc = value ? merge_score_all(value, m->experts, &score, e)
                   : err_set(e, ERR_MEMORY, "no memory to score merges");
    }
    if (!rc) {
        m->bandit = tanbr_new(&cfg, how->seed, e);
        rc = m->bandit ? 0 : ERR_RANGE;
    }
    free(value);
    return rc;
}

static int hintless_merge_open(struct hintless_merge *m, const struct hintless_new *how,
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

    /* nodes that compute in other units have another log of slots (cluster/slot_log.h) */
    m->crc = bytes_crc32(policy_crc32(m->experts), "points", 6);
    read_names(m, &meta);
    rc = make_bandit(m, how, e);
    if (rc) return rc;
    double mix[PROFILE_MIX_TASKS] = {0};
    for (int v = 0; v < QOE_PRODUCT; v++)
        mix[v] = 1.0 / QOE_PRODUCT;
    hintless_merge_choose(m, mix);
    memcpy(m->first, m->x, sizeof m->first);
    m->view = merge_view_new(m->experts->cfg.experts, tanbr_cfg(m->bandit)->max_nodes, e);
    return m->view ? 0 : ERR_MEMORY;
}

static void hintless_merge_close(struct hintless_merge *m)
{
    published_free(m->merged);
    merge_view_free(m->view);
    tanbr_free(m->bandit);
    policy_free(m->experts);
    free(m->carried);
}

static struct policy *hintless_merge_make(const struct hintless_merge *m, const float *x,
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

static int hintless_merge_publish(struct hintless_merge *m, uint64_t slot, double now,
                                  struct err *e)
{
    struct err why = {0};
    struct policy *p = hintless_merge_make(m, m->x, slot, &why);
    if (!p) return err_set(e, why.code, "%s", why.detail);
    if (m->merged) return published_swap(m->merged, p, now, NAN, e);
    m->merged = published_new(p, now, NAN, e);
    return m->merged ? 0 : ERR_MEMORY;
}

/* ---- the head, a classifier of viewers ---- */

static void hintless_teach(struct hintless *u)
{
    pthread_mutex_lock(&u->lock);
    struct hintless_examples full = u->fresh;
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

/* ---- the exam (merge_exam.h) ---- */

/* s of hintless.h, in the order in which they are tried. */
static const double SHARES[] = {1, .75, .5, .25};
enum { N_SHARES = sizeof SHARES / sizeof *SHARES };

static int hintless_exam_open(struct hintless *u, const struct hintless_new *how,
                              struct err *e)
{
    struct hintless_exam *x = &u->exam;
    x->merge_share = x->hint_share = 1;
    if (!how->cfg.exam_links) return 0;
    int rc = decide_layout(&x->layout, how->router, e);
    if (rc) return rc;
    x->router = how->weights;
    x->exam = merge_exam_new(how->cfg.exam_links, how->cfg.exam_traces,
                             how->router->actions, e);
    return x->exam ? 0 : ERR_MEMORY;
}

static void hintless_exam_report(struct hintless_stats *out,
                                 const struct hintless_exam *x)
{
    out->examined = x->exam != NULL;
    out->merge_share = x->merge_share;
    out->hint_share = x->hint_share;
    out->exam_loss = x->loss;
    out->exam_kept = x->kept;
    out->exam_refused = x->refused;
    out->exam_kept_all = x->kept_all;
}

/* ---- the router and the mean hint ---- */

struct router_exam {
    struct merge_exam *exam;
    const struct weights *weights;
    enum feat_layout layout;
    const struct hintless_slot *t;
    bool has_reference;
    struct merge_exam_marks reference;
};

static bool hint_marks(struct merge_exam_marks *out, const struct router_exam *r,
                       const struct qoe *hint)
{
    return merge_exam_play(out, r->exam, r->weights->packed, r->layout, hint, r->t->qoe,
                           r->t->tasks);
}

static bool hint_passes(struct router_exam *r, const struct qoe *hint)
{
    struct merge_exam_marks got;
    const struct qoe *base = &r->t->fallback;
    if (!has_mean(base)) return false;
    if (qoe_same_weights(hint, base)) return true;
    if (!r->has_reference && !hint_marks(&r->reference, r, base)) return false;
    r->has_reference = true;
    return hint_marks(&got, r, hint) &&
           merge_exam_loss(&got, &r->reference, r->t->tasks, NULL) <= MERGE_EXAM_LOSS;
}

static bool router_begin(struct router_exam *r, const struct hintless *u,
                         const struct hintless_slot *t)
{
    const struct hintless_exam *x = &u->exam;
    if (!x->exam || !x->router) return false;
    *r = (struct router_exam){.exam = x->exam, .layout = x->layout, .t = t};
    r->weights = published_get(x->router);
    return true;
}

/* The largest s that passes. */
static double share_that_passes(struct router_exam *r, const double *p, uint64_t *refused)
{
    for (int i = 0; i < N_SHARES; i++) {
        struct qoe hint = hint_at(r->t, p, SHARES[i]);
        if (hint_passes(r, &hint)) return SHARES[i];
        if (refused) ++*refused;
    }
    return 0;
}

static void identify_all(struct hintless_slot *t)
{
    for (int v = 0; v < PROFILE_MIX_TASKS; v++)
        t->identify_share[v] = 1;
}

static void examine_identify(struct router_exam *r, struct hintless_slot *t)
{
    for (int v = 0; v < t->tasks; v++) {
        double p[PROFILE_MIX_TASKS] = {0};
        p[v] = 1;
        t->identify_share[v] = share_that_passes(r, p, NULL);
    }
}

static void hintless_exam_hint(struct hintless *u, struct hintless_slot *next)
{
    struct router_exam r;
    identify_all(next);
    if (!router_begin(&r, u, next)) return;
    double share = 1;
    if (next->known) share = share_that_passes(&r, next->mix, &u->exam.refused);
    u->exam.hint_share = share;
    next->hint = hint_at(next, next->mix, share);
    next->hinted = next->known && share > 0;
    if (u->cfg.mode == HINTLESS_IDENTIFY) examine_identify(&r, next);
    published_put(u->exam.router, r.weights);
}

/* ---- the merge ---- */

/* false: not finite, or no memory. The previous merge is then served on. */
static bool merge_marks(struct merge_exam_marks *out, const struct hintless *u,
                        const struct hintless_slot *t, const float *x,
                        const struct qoe *hint)
{
    struct policy *p = hintless_merge_make(&u->merge, x, t->slot, NULL);
    struct packed *w = p ? packed_new(&p->cfg, NULL) : NULL;
    if (w) packed_load(w, p);
    bool ok = w && merge_exam_play(out, u->exam.exam, w, u->merge.layout, hint, t->qoe,
                                   t->tasks);
    packed_free(w);
    policy_free(p);
    return ok;
}

struct merge_exam_run {
    const struct hintless_slot *t;
    struct merge_exam_marks reference;
    double loss; /* of the last merge that was examined */
};

static bool merge_begin(struct merge_exam_run *s, const struct hintless *u,
                        const struct hintless_slot *t)
{
    *s = (struct merge_exam_run){.t = t, .loss = (double)NAN};
    return merge_marks(&s->reference, u, t, u->merge.first, &t->fallback);
}

static bool merge_passes(struct merge_exam_run *s, const struct hintless *u)
{
    struct merge_exam_marks got;
    const struct qoe *hint = s->t->hinted ? &s->t->hint : &s->t->fallback;
    if (!merge_marks(&got, u, s->t, u->merge.x, hint)) return false;
    s->loss = merge_exam_loss(&got, &s->reference, s->t->tasks, NULL);
    return s->loss <= MERGE_EXAM_LOSS;
}

/* Weights x that are no node's: the visit counts for the leaf that contains them. */
static void settle_between(struct hintless_merge *m, const double *mix)
{
    m->node = tree_find(tanbr_tree(m->bandit), m->x);
    m->expected = hintless_merge_expects(m, mix);
}

/* Serves the last good merge if it still passes; else x_0, without the mean hint if x_0 does not
 * pass with it. */
static void keep_last(struct hintless *u, const struct hintless_merge *last,
                      struct merge_exam_run *s, struct hintless_slot *next)
{
    struct hintless_merge *m = &u->merge;
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
              "no merge of slot %llu passed the exam: the last good one stays",
              (unsigned long long)next->slot);
}

static int hintless_exam_merge(struct hintless *u, struct hintless_slot *next,
                               struct err *e)
{
    struct hintless_merge *m = &u->merge, last = *m;
    struct hintless_exam *x = &u->exam;
    struct merge_exam_run s;
    float chosen[HINTLESS_EXPERTS];
    x->kept = false;
    if (!x->exam) {
        hintless_merge_choose(m, next->mix);
        m->good = true;
        return 0;
    }
    if (!merge_begin(&s, u, next))
        return err_set(e, ERR_NUMERIC, "the reference merge of the exam is not finite");

    hintless_merge_choose(m, next->mix);
    memcpy(chosen, m->x, sizeof chosen);
    bool passed = false;
    for (int i = 0; i < N_SHARES && !passed; i++) {
        x->merge_share = SHARES[i];
        for (int k = 0; k < HINTLESS_EXPERTS && SHARES[i] < 1; k++)
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

/* Does what the state file brought pass the exam? */

static bool hintless_exam_holds(struct hintless *u)
{
    struct router_exam r;
    struct merge_exam_run s;
    bool holds = true;
    identify_all(&u->current);
    if (router_begin(&r, u, &u->current)) {
        holds = !u->current.hinted || hint_passes(&r, &u->current.hint);
        if (u->cfg.mode == HINTLESS_IDENTIFY) examine_identify(&r, &u->current);
        published_put(u->exam.router, r.weights);
    }
    if (holds && u->exam.exam && u->merge.experts) {
        holds = merge_begin(&s, u, &u->current) && merge_passes(&s, u);
        u->exam.loss = s.loss;
        u->merge.good = holds;
    }
    u->exam.refused += !holds;
    return holds;
}

/* ---- slots shared among nodes (serve/cluster/slot_log.h) ---- */

/* The caller holds the lock. */
static bool shares(const struct hintless *u)
{
    return u->share.on && u->merge.bandit;
}

int hintless_share(struct hintless *u, uint64_t store, uint64_t id, struct err *e)
{
    struct hintless_share *s = &u->share;
    s->received = calloc(SLOT_LOG_RECORDS, sizeof *s->received);
    s->learning = calloc(SLOT_LOG_RECORDS, sizeof *s->learning);
    if (!s->received || !s->learning)
        return err_set(e, ERR_MEMORY, "no memory for the slots of other nodes");
    pthread_mutex_lock(&u->lock);
    if (s->maker && s->store != store) { /* a copy: the original may still run */
        s->was = s->maker;
        s->was_number = u->current.slot - 1;
    }
    if (!s->maker || s->store != store) s->maker = id;
    s->store = store;
    s->kept = u->current.slot; /* pending slots were read from the state file */
    s->on = true;
    pthread_mutex_unlock(&u->lock);
    return 0;
}

bool hintless_shares(struct hintless *u, uint32_t *crc, int *experts)
{
    pthread_mutex_lock(&u->lock);
    bool on = shares(u);
    pthread_mutex_unlock(&u->lock);
    if (!on) return false;
    *crc = u->merge.crc; /* constant, like the experts */
    *experts = u->merge.experts->cfg.experts;
    return true;
}

uint64_t hintless_maker(struct hintless *u)
{
    pthread_mutex_lock(&u->lock);
    uint64_t maker = u->share.maker;
    pthread_mutex_unlock(&u->lock);
    return maker;
}

/* The caller holds the lock. */
static void task_names(struct slot_tasks *out, const struct hintless *u)
{
    out->n = u->tasks;
    memcpy(out->name, u->task, sizeof out->name);
}

/* Drops pending records that are in the log; the caller holds the lock. */
static void drop_pending(struct hintless_share *s, const struct slot_log *l)
{
    int n = 0;
    for (int i = 0; i < s->n_pending; i++)
        if (!slot_log_has(l, s->pending[i].maker, s->pending[i].number))
            s->pending[n++] = s->pending[i];
    s->given += (uint64_t)(s->n_pending - n);
    s->n_pending = n;
}

/* Did this bandit, or the one that it is a copy of, make the record? */
static bool is_own_record(const struct hintless_share *s, const struct slot_record *r)
{
    return r->maker == s->maker || (r->maker == s->was && r->number <= s->was_number);
}

static void receive_record(struct hintless_share *s, const struct slot_record *r)
{
    if (s->n_received == SLOT_LOG_RECORDS) {
        memmove(&s->received[0], &s->received[1],
                sizeof *s->received * (size_t)--s->n_received);
        s->missed++;
    }
    s->received[s->n_received++] = *r;
}

void hintless_read_log(struct hintless *u, const struct slot_log *l, double now)
{
    struct hintless_share *s = &u->share;
    struct slot_tasks tasks;
    pthread_mutex_lock(&u->lock);
    task_names(&tasks, u);
    drop_pending(s, l);
    if (s->read_to.log != l->id || s->read_to.count > l->count)
        s->read_to = (struct log_place){.log = l->id}; /* it is a new log */
    uint64_t first = l->count - (uint64_t)l->n + 1;    /* number of record 0 */
    bool before = s->read_to.count > 0;
    if (before && s->read_to.count + 1 < first) s->missed += first - s->read_to.count - 1;
    for (int i = 0; i < l->n; i++) {
        struct slot_record r;
        if (first + (uint64_t)i <= s->read_to.count || is_own_record(s, &l->record[i]))
            continue;
        slot_log_read(&r, l, i, &tasks);
        receive_record(s, &r);
    }
    s->read_to.count = l->count;
    s->makers = l->makers;
    s->read_at = now;
    pthread_mutex_unlock(&u->lock);
}

/* Pending records that are in the state file; the caller holds the lock. */
static int n_sendable(const struct hintless_share *s)
{
    int n = s->n_pending;
    while (n && s->pending[n - 1].number >= s->kept)
        n--;
    return n;
}

int hintless_append_pending(struct hintless *u, struct slot_log *l)
{
    struct slot_tasks tasks;
    int n = 0;
    pthread_mutex_lock(&u->lock);
    task_names(&tasks, u);
    for (; n < n_sendable(&u->share); n++)
        slot_log_add(l, &u->share.pending[n], &tasks);
    pthread_mutex_unlock(&u->lock);
    return n;
}

bool hintless_has_pending(struct hintless *u)
{
    pthread_mutex_lock(&u->lock);
    bool some = shares(u) && n_sendable(&u->share);
    pthread_mutex_unlock(&u->lock);
    return some;
}

static void keep_pending(struct hintless *u, const struct slot_record *r)
{
    struct hintless_share *s = &u->share;
    if (!s->maker) return;
    if (s->n_pending == HINTLESS_PENDING) {
        memmove(&s->pending[0], &s->pending[1],
                sizeof *s->pending * (size_t)--s->n_pending);
        s->missed++;
    }
    s->pending[s->n_pending] = *r;
    s->pending[s->n_pending++].maker = s->maker;
}

/* Only the tick uses `learning`. */
static void learn_received(struct hintless *u)
{
    struct hintless_share *s = &u->share;
    pthread_mutex_lock(&u->lock);
    struct slot_record *full = s->received;
    int n = s->n_received, learned = 0;
    s->received = s->learning;
    s->learning = full;
    s->n_received = 0;
    struct log_place to = s->read_to;
    pthread_mutex_unlock(&u->lock);

    for (int i = 0; i < n; i++)
        learned += !tanbr_learn_at(u->merge.bandit, full[i].x, full[i].psi,
                                   full[i].reward, full[i].trust);
    pthread_mutex_lock(&u->lock);
    s->learned_to = to;
    s->learned += (uint64_t)learned;
    pthread_mutex_unlock(&u->lock);
}

static void hintless_share_report(struct hintless_stats *out,
                                  const struct hintless_share *s)
{
    out->shares = s->on;
    out->given = s->given;
    out->heard = s->learned;
    out->missed = s->missed;
    out->pending = s->n_pending;
    out->makers = s->makers;
    out->heard_at = s->read_at;
}

/* ---- the turn ---- */

static void forget_examples(struct hintless_examples *x, uint64_t tasks)
{
    int n = 0;
    for (int i = 0; i < x->n; i++) {
        if (tasks & task_bit(x->task[i])) continue;
        memmove(x->x + (size_t)n * FEAT_FULL_DIM, x->x + (size_t)i * FEAT_FULL_DIM,
                FEAT_FULL_DIM * sizeof *x->x);
        x->task[n++] = x->task[i];
    }
    x->n = n;
}

/* Forgets what is counted of removed tasks under the lock, which the caller holds. */
static void begin_forgetting(struct hintless *u, struct hintless_sums *sums)
{
    u->forgetting = u->to_forget;
    u->to_forget = 0;
    forget_examples(&u->fresh, u->forgetting);
    struct profile_mix_seats seats = profile_mix_seats(u->profile_mix);
    for (int v = 0; v < u->tasks; v++)
        seats.gone[v] = !u->task[v][0];
    profile_mix_seats_put(u->profile_mix, &seats);
    for (int v = 0; v < u->tasks; v++) {
        if (!(u->forgetting & task_bit(v))) continue;
        profile_mix_forget(u->profile_mix, v);
        sums->weight[v] = sums->gain[v] = sums->room[v] = 0;
    }
}

/* Forgets what the tick's head and bandit learned of them. */
static void forget_learned(struct hintless *u)
{
    struct hintless_merge *m = &u->merge;
    for (int v = 0; v < PROFILE_MIX_TASKS; v++) {
        if (!(u->forgetting & task_bit(v))) continue;
        if (v < identity_classes(u->head)) identity_forget(u->head, v);
        if (m->bandit) tanbr_forget(m->bandit, v);
    }
    if (!m->bandit && m->carried) m->carried_forget |= u->forgetting;
}

/* The mix, hint and tasks of the next slot; the caller holds the lock. */
static void plan_slot(struct hintless_slot *t, struct hintless *u,
                      struct hintless_sums *sums)
{
    profile_mix_turn(u->profile_mix);
    while (profile_mix_tasks(u->profile_mix) < u->tasks)
        profile_mix_grow(u->profile_mix);
    begin_forgetting(u, sums);
    memcpy(t->task, u->task, sizeof t->task);
    memset(t->mix, 0, sizeof t->mix);
    t->known = profile_mix_weights(t->mix, u->profile_mix);
    t->tasks = u->tasks;
    memcpy(t->qoe, u->qoe, sizeof t->qoe);
    for (int v = 0; v < t->tasks; v++)
        if (!t->task[v][0])
            t->qoe[v] = t->qoe[0]; /* the exam has then nothing to check */
    t->fallback = u->fallback;
    t->hint = hintless_mean(t->qoe, t->mix, t->tasks, &t->fallback);
    t->hinted = t->known && has_mean(&t->fallback);
    struct profile_mix_refused refused = profile_mix_refused(u->profile_mix);
    u->stats.labels_address = refused.mix;
}

static void grow_head(struct hintless *u, int tasks)
{
    while (identity_classes(u->head) < tasks)
        if (identity_grow(u->head, NULL) < 0) return;
}

/* Fixes the contents' shares for this slot; the caller holds the lock. */
static void copy_profile_mix(struct hintless *u, void *bytes)
{
    profile_mix_state_get(u->profile_mix, bytes);
    (void)!profile_mix_state_put(u->slot_mix, bytes,
                                 profile_mix_state_size(u->profile_mix),
                                 NULL); /* of one shape */
    struct profile_mix_seats seats = profile_mix_seats(u->profile_mix);
    profile_mix_seats_put(u->slot_mix, &seats);
}

static int hintless_turn(struct hintless *u, double now, struct err *e)
{
    void *bytes = malloc(profile_mix_state_size(u->profile_mix));
    if (!bytes) return err_set(e, ERR_MEMORY, "no memory to begin a slot");
    struct hintless_merge *m = &u->merge;
    struct hintless_slot next = {.slot = u->current.slot + 1, .since = now};

    pthread_mutex_lock(&u->lock);
    struct hintless_sums sums = u->sums;
    struct hintless_stats stats = u->stats;
    plan_slot(&next, u, &sums);
    pthread_mutex_unlock(&u->lock);

    hintless_exam_hint(u, &next);
    int rc = 0;
    struct slot_record given = {0};
    if (u->current.slot) stats.slots++;
    if (m->experts && u->current.slot)
        rc = learn_slot(&given, u, &stats, &sums, u->current.mix, e);
    if (m->experts) learn_received(u);
    forget_learned(u);
    if (m->experts) {
        int failed = hintless_exam_merge(u, &next, e);
        merge_view_update(m->view, m->bandit, m->node);
        if (!failed) failed = hintless_merge_publish(m, next.slot, now, e);
        if (!rc) rc = failed;
    }
    hintless_teach(u);
    grow_head(u, next.tasks);

    pthread_mutex_lock(&u->lock);
    next.head_ready = u->stats.examples >= HINTLESS_LEARNED;
    u->current = next;
    forget_record(&given, u->forgetting | u->to_forget);
    if (given.number) keep_pending(u, &given);
    u->forgetting = 0;
    identity_copy(u->slot_head, u->head);
    copy_profile_mix(u, bytes);
    u->sums = (struct hintless_sums){0};
    u->slot_sessions = 0;
    u->stats.slots = stats.slots;
    u->stats.empty_slots = stats.empty_slots;
    u->stats.reward = stats.reward;
    u->stats.regret = stats.regret;
    if (m->experts) {
        hintless_merge_report(&u->stats, m);
        u->stats.chosen[largest_weight(m)]++;
    }
    hintless_exam_report(&u->stats, &u->exam);
    atomic_store(&u->slot, next.slot);
    pthread_mutex_unlock(&u->lock);
    free(bytes);
    return rc;
}

/* ---- the state file ---- */

/* Layout: 32 bytes (magic, CRC-32 of the rest, form, length of the rest), then the slot, the tasks,
 * the merge, the slot's sums, counters, both heads, both profile mixes and the bandit. Numbers are
 * little-endian; heads and bandit are as in memory. One function reads and writes, so both agree.
 * The form is FORM plus the flags that apply. Forms 1 to 8 had other tasks, the papers' profiles.
 * FORM_AHEAD: the slot after this one may have begun. FORM_SHARED: struct hintless_share comes before the
 * bandit. FORM_SEATS: a task was removed, and struct seats comes before the heads. */

enum { HEAD = 32, FORM = 17, FORM_AHEAD = 1, FORM_SHARED = 2, FORM_SEATS = 4 };
enum { FORMS_BEFORE = 8 }; /* one wrong bit of FORM does not make one of these */
enum { FORMS = FORM + FORM_AHEAD + FORM_SHARED + FORM_SEATS, NUMBERS = 512 };
enum { FILE_MAX = 64 << 20 };
static const char MAGIC[8] = "abrduntg";

static void pass_qoe(struct pack *f, struct qoe *k)
{
    pack_real(f, &k->mu_quality);
    pack_real(f, &k->mu_switch);
    pack_real(f, &k->mu_stall);
    pack_real(f, &k->mu_rise);
    pack_real(f, &k->mu_start);
    pack_real(f, &k->stall_ratio_max);
    pack_real(f, &k->startup_max_s);
    if (!f->writing) k->utility = QOE_POINTS; /* of every task */
}

static void pass_name(struct pack *f, char *name)
{
    pack_text(f, name, SERVICE_NAME);
    f->ok = f->ok && (!name[0] || !limits_name(name, NULL));
}

/* The plain numbers of struct hintless and its merge. */
struct plain {
    struct hintless_slot current;
    int tasks;
    char task[PROFILE_MIX_TASKS][SERVICE_NAME];
    struct qoe qoe[PROFILE_MIX_TASKS];
    struct hintless_sums sums;
    uint64_t slot_sessions, decisions[BY_WAYS];
    struct hintless_stats stats;
    int node;
    uint64_t crc;
    double x[HINTLESS_EXPERTS], expected;
};

static void pass_slot(struct pack *f, struct hintless_slot *t)
{
    pack_u64(f, &t->slot);
    pack_real(f, &t->since);
    pack_bool(f, &t->known);
    pack_bool(f, &t->head_ready);
    pack_int(f, &t->tasks, 1, PROFILE_MIX_TASKS);
    for (int v = 0; v < PROFILE_MIX_TASKS; v++) {
        pack_real(f, &t->mix[v]);
        pass_qoe(f, &t->qoe[v]);
    }
    pass_qoe(f, &t->hint);
    f->ok = f->ok && t->slot > 0;
}

static void pass_stats(struct pack *f, struct hintless_stats *s)
{
    uint64_t *const counts[] = {&s->sessions, &s->slots,   &s->empty_slots, &s->labels,
                                &s->late,     &s->dropped, &s->refused};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        pack_u64(f, counts[i]);
    for (int k = 0; k < HINTLESS_EXPERTS; k++)
        pack_u64(f, &s->chosen[k]);
    pack_real(f, &s->reward);
    pack_real(f, &s->regret);
}

static void pass_plain(struct pack *f, struct plain *p)
{
    pass_slot(f, &p->current);
    pack_int(f, &p->tasks, p->current.tasks, PROFILE_MIX_TASKS);
    for (int v = 0; v < PROFILE_MIX_TASKS; v++) {
        pass_name(f, p->task[v]);
        pass_qoe(f, &p->qoe[v]);
        pack_real(f, &p->sums.weight[v]);
        pack_real(f, &p->sums.gain[v]);
        pack_real(f, &p->sums.room[v]);
    }
    pack_u64(f, &p->slot_sessions);
    for (int i = 0; i < BY_WAYS; i++)
        pack_u64(f, &p->decisions[i]);
    pass_stats(f, &p->stats);
    pack_int(f, &p->node, 0, INT32_MAX);
    pack_u64(f, &p->crc);
    pack_real(f, &p->expected);
    for (int k = 0; k < HINTLESS_EXPERTS; k++)
        pack_real(f, &p->x[k]);
}

/* Removed tasks: the slot's names, how often each index was forgotten, and what is to be forgotten. */
struct seats {
    char task[PROFILE_MIX_TASKS][SERVICE_NAME];
    uint64_t born[PROFILE_MIX_TASKS], to_forget, carried_forget;
};

static struct seats seats_of(const struct hintless *u)
{
    struct profile_mix_seats a = profile_mix_seats(u->profile_mix);
    struct seats s = {.to_forget = u->to_forget,
                      .carried_forget = u->merge.carried_forget};
    memcpy(s.task, u->current.task, sizeof s.task);
    memcpy(s.born, a.born, sizeof s.born);
    return s;
}

static bool any_left(const struct hintless *u)
{
    struct seats s = seats_of(u);
    uint64_t any = s.to_forget | s.carried_forget;
    for (int v = 0; v < PROFILE_MIX_TASKS; v++)
        any |= s.born[v];
    return any != 0;
}

static void pass_seats(struct pack *f, struct seats *s)
{
    for (int v = 0; v < PROFILE_MIX_TASKS; v++) {
        pass_name(f, s->task[v]);
        pack_u64(f, &s->born[v]);
    }
    pack_u64(f, &s->to_forget);
    pack_u64(f, &s->carried_forget);
    /* built-in tasks are never removed */
    uint64_t never = ~(task_bit(PROFILE_MIX_TASKS) - task_bit(QOE_PRODUCT));
    f->ok = f->ok && !((s->to_forget | s->carried_forget) & never);
}

/* Room for all experts and tasks, as pending records are few. */
static void pass_pending(struct pack *f, struct slot_record *r)
{
    pack_u64(f, &r->maker);
    pack_u64(f, &r->number);
    for (int k = 0; k < HINTLESS_EXPERTS; k++)
        pack_f32(f, &r->x[k]);
    for (int v = 0; v < PROFILE_MIX_TASKS; v++) {
        pack_f32(f, &r->psi[v]);
        pack_f32(f, &r->reward[v]);
        pack_f32(f, &r->trust[v]);
    }
    f->ok = f->ok && slot_record_is(r);
}

static void pass_share(struct pack *f, struct hintless_share *s)
{
    pack_u64(f, &s->maker);
    pack_u64(f, &s->store);
    pack_u64(f, &s->was);
    pack_u64(f, &s->was_number);
    pack_u64(f, &s->learned_to.log);
    pack_u64(f, &s->learned_to.count);
    pack_int(f, &s->n_pending, 0, HINTLESS_PENDING);
    for (int i = 0; i < s->n_pending && f->ok; i++)
        pass_pending(f, &s->pending[i]);
}

static void plain_of(struct plain *p, const struct hintless *u)
{
    *p = (struct plain){.current = u->current,
                        .tasks = u->tasks,
                        .sums = u->sums,
                        .slot_sessions = u->slot_sessions,
                        .stats = u->stats,
                        .node = u->merge.node,
                        .crc = u->merge.crc,
                        .expected = u->merge.expected};
    memcpy(p->task, u->task, sizeof p->task);
    memcpy(p->qoe, u->qoe, sizeof p->qoe);
    for (int i = 0; i < BY_WAYS; i++)
        p->decisions[i] = atomic_load(&u->decisions[i]);
    for (int k = 0; k < HINTLESS_EXPERTS; k++)
        p->x[k] = (double)u->merge.x[k];
}

/* ---- writing ---- */

static size_t bandit_size(const struct hintless *u)
{
    return u->merge.bandit ? tanbr_state_size(u->merge.bandit) : u->merge.carried_n;
}

static size_t file_size(const struct hintless *u)
{
    return HEAD + 8 * NUMBERS + 2 * PROFILE_MIX_TASKS * SERVICE_NAME +
           identity_state_size(u->slot_head) + identity_state_size(u->head) +
           2 * profile_mix_state_size(u->profile_mix) + sizeof u->share.pending + 8 +
           bandit_size(u);
}

/* The caller holds the lock. Returns the end. */
static unsigned char *write_state(unsigned char *at, unsigned char *end,
                                  struct hintless *u, uint32_t form)
{
    struct plain p;
    plain_of(&p, u);
    struct pack f = pack_writer(at, (size_t)(end - at));
    pass_plain(&f, &p);
    struct seats seats = seats_of(u);
    if ((form - FORM) & FORM_SEATS) pass_seats(&f, &seats);
    identity_state_get(u->slot_head, f.at);
    f.at += identity_state_size(u->slot_head);
    identity_state_get(u->head, f.at);
    f.at += identity_state_size(u->head);
    profile_mix_state_get(u->slot_mix, f.at);
    f.at += profile_mix_state_size(u->slot_mix);
    profile_mix_state_get(u->profile_mix, f.at);
    f.at += profile_mix_state_size(u->profile_mix);

    if (u->share.maker) pass_share(&f, &u->share);
    uint64_t n = bandit_size(u);
    pack_u64(&f, &n);
    if (u->merge.bandit)
        tanbr_state_get(u->merge.bandit, f.at);
    else if (n)
        memcpy(f.at, u->merge.carried, n);
    return f.at + n;
}

/* The state file of this slot is written: what earlier slots earned may be sent. */
static void set_kept(struct hintless *u, uint64_t slot)
{
    pthread_mutex_lock(&u->lock);
    u->share.kept = slot;
    pthread_mutex_unlock(&u->lock);
}

/* A record may be sent once the state file holds it: after a crash the bandit would otherwise learn
 * the slot again under another number. */
static int save_state(struct hintless *u, uint32_t form, struct err *e)
{
    uint64_t slot = u->current.slot; /* the tick's own to change */
    if (!u->state_path) {
        set_kept(u, slot);
        return 0;
    }
    size_t room = file_size(u);
    unsigned char *bytes = malloc(room);
    if (!bytes) return err_set(e, ERR_MEMORY, "no memory for a state file");

    pthread_mutex_lock(&u->lock);
    form += u->share.maker ? FORM_SHARED : 0;
    form += any_left(u) ? FORM_SEATS : 0;
    size_t n = (size_t)(write_state(bytes + HEAD, bytes + room, u, form) - bytes);
    pthread_mutex_unlock(&u->lock);
    memset(bytes, 0, HEAD);
    memcpy(bytes, MAGIC, sizeof MAGIC);
    bytes_put_u32(bytes + 8, bytes_crc32(0, bytes + HEAD, n - HEAD));
    bytes_put_u32(bytes + 12, form);
    bytes_put_u64(bytes + 16, n - HEAD);
    int rc = text_write_file(u->state_path, bytes, n, e);
    free(bytes);
    if (!rc) set_kept(u, slot);
    return rc;
}

int hintless_save(struct hintless *u, struct err *e)
{
    return save_state(u, FORM, e);
}

/* ---- reading ---- */

static int check_head(const unsigned char *bytes, size_t n, struct err *e)
{
    if (n < HEAD || memcmp(bytes, MAGIC, sizeof MAGIC) != 0)
        return err_set(e, ERR_CORRUPT, "is no state of viewers without a hint");
    uint32_t form = bytes_get_u32(bytes + 12);
    if (form >= 1 && form <= FORMS_BEFORE)
        return err_set(e, ERR_ABSENT,
                       "is of an older version, for which viewers had other profiles");
    if (form < FORM || form > FORMS)
        return err_set(e, ERR_CORRUPT, "has form %u, not %d", (unsigned)form, FORM);
    if (bytes_get_u64(bytes + 16) != n - HEAD)
        return err_set(e, ERR_CORRUPT, "has %zu bytes after its head, not %llu", n - HEAD,
                       (unsigned long long)bytes_get_u64(bytes + 16));
    if (bytes_get_u32(bytes + 8) != bytes_crc32(0, bytes + HEAD, n - HEAD))
        return err_set(e, ERR_CORRUPT, "its checksum is wrong: the file is damaged");
    return 0;
}

/* Both heads and both profile mixes. */
static int get_parts(struct pack *f, struct hintless *u, struct err *e)
{
    size_t slot_n = identity_state_size(u->slot_head),
           head_n = identity_state_size(u->head),
           mix_n = profile_mix_state_size(u->profile_mix);
    if ((size_t)(f->end - f->at) < slot_n + head_n + 2 * mix_n)
        return err_set(e, ERR_CORRUPT, "it ends too early");
    int rc = identity_state_put(u->slot_head, f->at, slot_n, e);
    f->at += slot_n;
    if (!rc) rc = identity_state_put(u->head, f->at, head_n, e);
    f->at += head_n;
    if (!rc) rc = profile_mix_state_put(u->slot_mix, f->at, mix_n, e);
    f->at += mix_n;
    if (!rc) rc = profile_mix_state_put(u->profile_mix, f->at, mix_n, e);
    f->at += mix_n;
    return rc;
}

static void get_merge(struct hintless_merge *m, const struct plain *p)
{
    m->node = p->node;
    m->expected = p->expected;
    for (int k = 0; k < HINTLESS_EXPERTS; k++)
        m->x[k] = (float)p->x[k];
}

/* Keeps the bandit's state while nothing is merged. */
static int carry_bandit(struct hintless_merge *m, const void *state, size_t n,
                        const struct plain *p, struct err *e)
{
    if (!n) return 0;
    m->carried = malloc(n);
    if (!m->carried) return err_set(e, ERR_MEMORY, "no memory for the bandit's state");
    memcpy(m->carried, state, n);
    m->carried_n = n;
    m->crc = (uint32_t)p->crc;
    get_merge(m, p);
    return 0;
}

/* The bandit's state is of use only with the same experts and settings. */
static bool get_bandit(struct hintless *u, const void *state, size_t n,
                       const struct plain *p)
{
    struct hintless_merge *m = &u->merge;
    struct err why = {0};
    const char *reason = !n                 ? "nothing was merged before"
                         : p->crc != m->crc ? "the experts have changed"
                         : tanbr_state_put(m->bandit, state, n, &why) ? why.detail
                                                                      : NULL;
    if (reason)
        log_event(u->log, LOG_WARN, "slot", "the bandit starts from its prior: %s",
                  reason);
    else
        get_merge(m, p);
    for (int v = QOE_PRODUCT; v < PROFILE_MIX_TASKS && !reason; v++)
        if (m->carried_forget & task_bit(v)) tanbr_forget(m->bandit, v);
    m->carried_forget = 0;
    return !reason;
}

/* named: the file holds the names. Else no task was removed, and they are those of the next slot. */
static void take_seats(struct hintless *u, const struct seats *s, bool named)
{
    struct profile_mix_seats a = {0};
    u->to_forget = s->to_forget;
    u->merge.carried_forget = s->carried_forget;
    memcpy(u->current.task, named ? s->task : u->task, sizeof u->current.task);
    for (int v = 0; v < u->current.tasks; v++)
        a.gone[v] = !u->current.task[v][0];
    memcpy(a.born, s->born, sizeof a.born);
    profile_mix_seats_put(u->slot_mix, &a);
    profile_mix_seats_put(u->profile_mix, &a);
}

static void take_plain(struct hintless *u, const struct plain *p, const struct seats *s,
                       bool named)
{
    u->current = p->current;
    u->current.fallback = u->fallback;
    const struct qoe *h = &p->current.hint,
                     *none = &u->fallback; /* the one that was served */
    u->current.hinted = p->current.known && has_mean(none) && !qoe_same_weights(h, none);
    u->tasks = p->tasks;
    memcpy(u->task, p->task, sizeof u->task);
    take_seats(u, s, named);
    memcpy(u->qoe, p->qoe, sizeof u->qoe);
    u->sums = p->sums;
    u->slot_sessions = p->slot_sessions;
    u->stats = p->stats;
    for (int i = 0; i < BY_WAYS; i++)
        atomic_store(&u->decisions[i], p->decisions[i]);
    atomic_store(&u->slot, p->current.slot);
}

/* Returns as hintless_load. After an error some parts may have changed. */
static int read_state(struct hintless *u, unsigned char *bytes, size_t n, struct err *e)
{
    struct plain p = {0};
    struct seats seats = {0};
    int rc = check_head(bytes, n, e);
    if (rc) return rc;
    struct pack f = pack_reader(bytes + HEAD, n - HEAD);
    uint32_t parts = bytes_get_u32(bytes + 12) - FORM;
    pass_plain(&f, &p);
    if (parts & FORM_SEATS) pass_seats(&f, &seats);
    if (!f.ok) return err_set(e, ERR_CORRUPT, "it holds numbers out of range");
    rc = get_parts(&f, u, e);
    if (rc) return rc;
    struct hintless_share *share = &u->share;
    if (parts & FORM_SHARED) pass_share(&f, share);
    uint64_t bandit = 0;
    pack_u64(&f, &bandit);
    if (!f.ok || bandit != (uint64_t)(f.end - f.at))
        return err_set(e, ERR_CORRUPT, "it ends in the wrong place");

    take_plain(u, &p, &seats, parts & FORM_SEATS);
    bool ahead = parts & FORM_AHEAD;
    u->current.slot += ahead; /* that number is in use */
    if (u->merge.bandit && !get_bandit(u, f.at, bandit, &p)) {
        *share = (struct hintless_share){0}; /* it belongs to another bandit */
        return 1;
    }
    share->read_to = share->learned_to;
    if (!u->merge.bandit) rc = carry_bandit(&u->merge, f.at, bandit, &p, e);
    return rc ? rc : 2 * ahead;
}

static void rename_state(const char *path, const char *end)
{
    char other[4096];
    if (snprintf(other, sizeof other, "%s%s", path, end) < (int)sizeof other)
        rename(path, other);
}

/* Returns 0: the slot of the file continues. 1: a new slot must begin, because there is no file, or it is of
 * an older version, or its bandit cannot be used. 2: a new slot must begin, because the next one may have
 * begun. ERR_CORRUPT: refused, logged and renamed; parts may be loaded. Other errors: it could not be read. */
static int hintless_load(struct hintless *u, struct err *e)
{
    if (!u->state_path || access(u->state_path, F_OK)) return 1;
    struct err why = {0};
    size_t n = 0;
    char *bytes = text_read_file(u->state_path, FILE_MAX, &n, &why);
    int rc = bytes ? read_state(u, (unsigned char *)bytes, n, &why) : why.code;
    free(bytes);
    if (rc >= 0) return rc;
    if (rc == ERR_ABSENT) {
        log_event(
            u->log, LOG_WARN, "slot",
            "%s %s; it is renamed to .old, and learning from viewers without a hint "
            "starts over",
            u->state_path, why.detail);
        rename_state(u->state_path, ".old");
        return 1;
    }
    if (rc != ERR_CORRUPT && rc != ERR_RANGE)
        return err_field(e, rc, u->state_path, "%s", why.detail);

    log_event(u->log, LOG_WARN, "slot",
              "%s: %s; it is renamed to .bad, and learning from viewers without a hint "
              "starts over",
              u->state_path, why.detail);
    rename_state(u->state_path, ".bad");
    return ERR_CORRUPT;
}

/* ---- start and end ---- */

static bool examples_new(struct hintless_examples *x)
{
    x->x = malloc((size_t)HINTLESS_EXAMPLES * FEAT_FULL_DIM * sizeof *x->x);
    x->task = malloc(HINTLESS_EXAMPLES);
    return x->x && x->task;
}

static void examples_free(struct hintless_examples *x)
{
    free(x->x);
    free(x->task);
}

/* learns false: a head that only decides and keeps no examples. */
static struct identity *make_head(const struct hintless *u, bool learns, struct err *e)
{
    struct identity_cfg cfg =
        identity_cfg_default(feat_dim(FEAT_BLIND), u->current.tasks);
    cfg.classes_max = PROFILE_MIX_TASKS;
    cfg.seed = u->seed;
    if (!learns) cfg.memory = 0;
    return identity_new(&cfg, e);
}

static int make_parts(struct hintless *u, struct err *e)
{
    struct profile_mix_cfg ac = profile_mix_cfg_default();
    ac.half_life = u->cfg.half_life;
    ac.seed = u->seed;
    u->profile_mix = profile_mix_new(&ac, u->current.tasks, e);
    ac.counts = false;
    u->slot_mix = profile_mix_new(&ac, u->current.tasks, e);
    u->head = make_head(u, true, e);
    u->slot_head = make_head(u, false, e);
    return u->profile_mix && u->slot_mix && u->head && u->slot_head ? 0 : ERR_MEMORY;
}

static void free_parts(struct hintless *u)
{
    identity_free(u->slot_head);
    identity_free(u->head);
    profile_mix_free(u->slot_mix);
    profile_mix_free(u->profile_mix);
    u->slot_head = u->head = NULL;
    u->slot_mix = u->profile_mix = NULL;
}

static int make_room(struct hintless *u, const struct hintless_new *how, struct err *e)
{
    u->watched =
        table_new(HINTLESS_WATCHED, TRACK_ID, sizeof(struct watched), how->seed, e);
    if (!u->watched) return ERR_MEMORY;
    if (!examples_new(&u->training) || !examples_new(&u->fresh))
        return err_set(e, ERR_MEMORY, "no memory for labelled observations");
    u->examples_by = calloc(PROFILE_MIX_BUCKETS, sizeof *u->examples_by);
    if (!u->examples_by) return err_set(e, ERR_MEMORY, "no memory for labels by address");
    if (how->state_path && !(u->state_path = strdup(how->state_path)))
        return err_set(e, ERR_MEMORY, "no memory for a path");
    return 0;
}

/* Continues the slot of the state file, or begins a new one. */
static int resume_or_begin(struct hintless *u, double now, struct err *e)
{
    int rc = hintless_load(u, e);
    if (rc < 0 && rc != ERR_CORRUPT) return rc;
    if (rc < 0) {
        free_parts(u);
        rc = make_parts(u, e);
        if (rc) return rc;
        u->share = (struct hintless_share){0};
        u->stats.refused++;
        rc = 1;
    }
    if (!rc && !hintless_exam_holds(u)) {
        log_event(
            u->log, LOG_WARN, "slot",
            "the merge or hint of slot %llu does not pass the exam: a new slot begins",
            (unsigned long long)u->current.slot);
        u->merge.good = false;
        rc = 1;
    }
    if (rc == 1) u->sums = (struct hintless_sums){0};
    if (rc) {
        rc = hintless_turn(u, now, e);
        return rc ? rc
                  : hintless_save(u,
                                  e); /* an unwritable folder fails here, at the start */
    }
    hintless_exam_report(&u->stats, &u->exam);
    if (!u->merge.experts) return 0;
    hintless_merge_report(&u->stats, &u->merge);
    merge_view_update(u->merge.view, u->merge.bandit, u->merge.node);
    return hintless_merge_publish(&u->merge, u->current.slot, now, e);
}

struct hintless *hintless_new(const struct hintless_new *how, struct err *e)
{
    if (hintless_cfg_check(&how->cfg, e)) return NULL;
    struct hintless *u = calloc(1, sizeof *u);
    if (!u) {
        err_set(e, ERR_MEMORY, "no memory for viewers without a hint");
        return NULL;
    }
    pthread_mutex_init(&u->lock, NULL);
    u->cfg = how->cfg;
    u->cfg.merge_policy = u->cfg.exam_traces = NULL; /* borrowed */
    u->seed = how->seed;
    u->log = how->log;
    u->tasks = u->current.tasks = QOE_PRODUCT;
    for (int v = 0; v < QOE_PRODUCT; v++) {
        strcpy(u->task[v], qoe_profiles[v].name);
        strcpy(u->current.task[v], qoe_profiles[v].name);
        u->qoe[v] = u->current.qoe[v] = qoe_profiles[v].qoe;
    }
    const char *name = how->default_profile ? how->default_profile : "standard";
    const struct qoe_profile *known = qoe_find(name);
    snprintf(u->default_profile, sizeof u->default_profile, "%s", name);
    u->fallback = (known ? known : qoe_find("standard"))->qoe;
    if (make_room(u, how, e) || make_parts(u, e)) goto fail;
    if (how->cfg.mode == HINTLESS_MERGE && hintless_merge_open(&u->merge, how, e))
        goto fail;
    if (hintless_exam_open(u, how, e)) goto fail;
    if (resume_or_begin(u, how->now, e)) goto fail;
    return u;

fail:
    hintless_free(u);
    return NULL;
}

void hintless_free(struct hintless *u)
{
    if (!u) return;
    merge_exam_free(u->exam.exam);
    hintless_merge_close(&u->merge);
    free(u->share.received);
    free(u->share.learning);
    examples_free(&u->fresh);
    examples_free(&u->training);
    table_free(u->watched);
    free(u->examples_by);
    free_parts(u);
    pthread_mutex_destroy(&u->lock);
    free(u->state_path);
    free(u);
}

void hintless_settings(struct hintless_cfg *out, const struct hintless *u)
{
    *out = u->cfg;
}

struct hintless_worker *hintless_worker_new(struct hintless *u, struct err *e)
{
    struct hintless_worker *d = calloc(1, sizeof *d);
    if (!d) {
        err_set(e, ERR_MEMORY, "no memory for a worker");
        return NULL;
    }
    d->merge.layout = u->merge.layout;
    pthread_mutex_lock(&u->lock);
    d->head = make_head(u, false, e);
    pthread_mutex_unlock(&u->lock);
    if (d->head) return d;
    hintless_worker_free(d);
    return NULL;
}

void hintless_worker_free(struct hintless_worker *d)
{
    if (!d) return;
    identity_free(d->head);
    free(d);
}

/* ---- time ---- */

int hintless_tick(struct hintless *u, double now)
{
    hintless_teach(u);
    pthread_mutex_lock(&u->lock);
    bool over = now >= u->current.since + u->cfg.slot_s || now < u->current.since;
    over |= u->cfg.slot_sessions && u->slot_sessions >= (uint64_t)u->cfg.slot_sessions;
    pthread_mutex_unlock(&u->lock);
    if (!over) return 0;

    struct err why = {0};
    int rc = save_state(u, FORM + FORM_AHEAD, &why);
    bool begun = !rc;
    if (begun) rc = hintless_turn(u, now, &why);
    if (!rc) rc = hintless_save(u, &why);
    if (rc) log_err(u->log, LOG_ERROR, "slot", &why);
    return begun;
}

/* The tasks that exist, without gaps. */
static void report_tasks(struct hintless_stats *out, const struct hintless_slot *t)
{
    out->tasks = 0;
    memset(out->task, 0, sizeof out->task);
    memset(out->mix, 0, sizeof out->mix);
    for (int v = 0; v < t->tasks; v++) {
        if (!t->task[v][0]) continue;
        memcpy(out->task[out->tasks], t->task[v], sizeof out->task[0]);
        out->mix[out->tasks++] = t->mix[v];
    }
}

void hintless_stats(struct hintless_stats *out, struct hintless *u)
{
    pthread_mutex_lock(&u->lock);
    *out = u->stats;
    for (int i = 0; i < BY_WAYS; i++)
        out->decisions[i] = atomic_load_explicit(&u->decisions[i], memory_order_relaxed);
    out->mode = u->cfg.mode;
    out->known = u->current.known;
    report_tasks(out, &u->current);
    out->labels_content =
        profile_mix_refused(u->profile_mix).content + (double)u->examples_refused;
    hintless_share_report(out, &u->share);
    pthread_mutex_unlock(&u->lock);
}

struct merge_view_copy *hintless_look(struct hintless *u, struct err *e)
{
    return u->merge.view ? merge_view_get(u->merge.view, e) : NULL;
}

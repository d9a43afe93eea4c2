#include "serve/hintless/hintless.h"

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
#include "serve/hintless/grove.h"
#include "serve/hintless/merge_exam.h"
#include "serve/session/limits.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HINTLESS_EXAMPLES 1024 /* that may wait for the next tick */
#define HINTLESS_PENDING 128   /* slots that may wait for the board */

/* Labelled observations. */
struct hintless_examples {
    int n;
    float *x; /* (HINTLESS_EXAMPLES, FEAT_FULL_DIM) */
    int8_t *task;
};

/* Of the slot's chunks, for every task. */
struct hintless_sums {
    double weight[PROFILE_MIX_TASKS], gain[PROFILE_MIX_TASKS], room[PROFILE_MIX_TASKS];
};

/* What decides in a slot, small enough to copy; the head and the contents go along. */
struct hintless_told {
    uint64_t slot;
    double since;
    bool known;  /* the mix */
    bool hinted; /* likewise, and `hint` is to be used; else the default profile */
    bool taught; /* the head has seen enough to be asked */
    int tasks;   /* of which some may have left: their share of the mix is 0 */
    char task[PROFILE_MIX_TASKS][SERVICE_NAME];
    double mix[PROFILE_MIX_TASKS];
    struct qoe qoe[PROFILE_MIX_TASKS];
    struct qoe hint;
    struct qoe fallback; /* of the default profile */
    double sure
        [PROFILE_MIX_TASKS]; /* by mode identify: share of a task that is not the fallback's */
};

/* The merge. Belongs to the tick, but for `merged`, which is locked inside, and `layout`. */
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
    bool good;                     /* x has passed the exam */
    double expected;
    struct grove *grove; /* locked inside */
    void *carried;       /* the bandit's state while nothing is merged */
    size_t carried_n;
    uint64_t owed; /* tasks (bits) that the carried bandit must forget */
};

/* Up to which record of which log. */
struct hintless_place {
    uint64_t log, count;
};

/* What nodes tell each other of their slots. The state file has what is kept over a restart. */
struct hintless_share {
    bool on;
    uint64_t maker; /* of this bandit, for as long as it lives; 0: it never shared */
    uint64_t store; /* of the node that it was on */
    uint64_t was, was_number; /* what it has of another one, of which it is a copy */
    struct hintless_place learned_to;
    int n_pending;
    struct slot_record pending[HINTLESS_PENDING];
    /* not kept */
    uint64_t kept; /* pending slots before this one are in the state file */
    struct hintless_place heard_to;
    int n_heard;
    struct slot_record *heard,
        *learning; /* (SLOT_LOG_RECORDS); learning: the tick's, without the lock */
    uint64_t given, learned, missed;
    int makers;
    double heard_at;
};

/* What the exam said of what is served, and how often it refused. */
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
    atomic_uint_fast64_t slot; /* = told.slot: for desks to notice */
    atomic_uint_fast64_t decisions[BY_WAYS];

    pthread_mutex_t lock; /* of all below */
    struct hintless_told told;
    struct identity *told_head;
    struct profile_mix *told_profile_mix;       /* as the slot began */
    struct profile_mix *profile_mix;            /* counts */
    int tasks;                                  /* told.tasks with the next slot */
    char task[PROFILE_MIX_TASKS][SERVICE_NAME]; /* likewise; "": free for a new profile */
    struct qoe qoe[PROFILE_MIX_TASKS];
    uint64_t leaves;  /* tasks (bits) to forget when the slot ends */
    uint64_t leaving; /* ... that the turn under way forgets */
    struct qoe fallback;
    struct hintless_examples fresh;
    struct table *watched; /* session -> struct hintless_watched */
    int watched_hinted;
    uint32_t *taught_by; /* (PROFILE_MIX_BUCKETS): examples from an address */
    uint32_t taught_all, taught_refused;
    struct hintless_sums sums;
    uint64_t slot_sessions;
    struct hintless_stats stats;
    struct hintless_share share;
};

struct hintless_desk {
    struct hintless_told told;
    struct identity *head;
    struct decider merge; /* reads the experts' layout */
    float obs[FEAT_FULL_DIM];
};

/* ---- slots (hintless_slot.c) ---- */

static uint64_t bit(int task)
{
    return (uint64_t)1 << task;
}

/* The experts of cfg.merge_policy, and a bandit that knows nothing. */
static int hintless_merge_open(struct hintless_merge *m, const struct hintless_new *how,
                               struct err *e);
static void hintless_merge_close(struct hintless_merge *m);
/* sum x_k W_k as the policy of a slot; NULL: ERR_MEMORY, ERR_NUMERIC. */
static struct policy *hintless_merge_make(const struct hintless_merge *m, const float *x,
                                          uint64_t slot, struct err *e);
/* Chooses x for a mix. */
static void hintless_merge_choose(struct hintless_merge *m, const double *mix);
/* What the network expects of x for a mix. */
static double hintless_merge_expects(const struct hintless_merge *m, const double *mix);
/* Publishes sum x_k W_k as this slot's. */
static int hintless_merge_publish(struct hintless_merge *m, uint64_t slot, double now,
                                  struct err *e);
/* What of the figures is the merge's. */
static void hintless_merge_tell(struct hintless_stats *out,
                                const struct hintless_merge *m);
/* Takes over what was learned and begins slot told.slot + 1. */
static int hintless_turn(struct hintless *u, double now, struct err *e);
static void hintless_teach(struct hintless *u);
/* The weights that viewers of profile v with probability p_v value on average (hintless_cfg.h). */
static struct qoe hintless_mean(const struct qoe *qoe, const double *p, int tasks);

/* Adds what the exam said; the caller holds the lock. */
static void hintless_exam_tell(struct hintless_stats *out, const struct hintless_exam *x);

/* ---- the exam (hintless_exam.c) ---- */

static int hintless_exam_open(struct hintless *u, const struct hintless_new *how,
                              struct err *e);
/* The mean hint where the profiles have the shares p, and the default profile what is left of 1. */
static struct qoe hintless_hint_of(const struct hintless_told *t, const double *p);
/* The mean hint of the slot to come, and how sure identify may be of each task. */
static void hintless_exam_hint(struct hintless *u, struct hintless_told *next);
/* The merge of the slot to come: published, or the last good one again. */
static int hintless_exam_merge(struct hintless *u, struct hintless_told *next,
                               struct err *e);
/* Does what was read from the state file pass? */
static bool hintless_exam_holds(struct hintless *u);

/* ---- among others (hintless_share.c) ---- */

/* A slot that was learned from is to be given; the caller holds the lock. */
static void hintless_keep(struct hintless *u, const struct slot_record *r);
/* The state file is written, in this slot. */
static void hintless_share_kept(struct hintless *u, uint64_t slot);
/* What other nodes' slots earned, into the bandit. */
static void hintless_learn_heard(struct hintless *u);
/* The caller holds the lock. */
static void hintless_share_tell(struct hintless_stats *out,
                                const struct hintless_share *s);
static void hintless_share_close(struct hintless_share *s);

/* ---- the state file (hintless_file.c) ---- */

/* As hintless_save, before the slot ends: should the process end while the next one begins, no other
 * slot gets its number. */
static int hintless_save_ahead(struct hintless *u, struct err *e);

/* Goes on from the state file: 0 in its slot; 1 with a new slot, as there is no file or its
 * bandit is of no use; 2 likewise, as the next slot may have begun; ERR_CORRUPT when it was
 * refused, which was logged, and put aside: the parts may then be half of the file's. Other
 * errors: it could not be read. */
static int hintless_load(struct hintless *u, struct err *e);

_Static_assert(HINTLESS_NAME == SERVICE_NAME, "one length for names");
_Static_assert(BY_WAYS <= 8, "a step keeps three bits of it");

struct watched {
    bool hinted;
    float obs[FEAT_FULL_DIM];
};

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

/* The head of a desk or of the slot keeps no examples: it only decides. */
static struct identity *make_head(const struct hintless *u, bool learns, struct err *e)
{
    struct identity_cfg cfg = identity_cfg_default(feat_dim(FEAT_BLIND), u->told.tasks);
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
    u->profile_mix = profile_mix_new(&ac, u->told.tasks, e);
    ac.counts = false;
    u->told_profile_mix = profile_mix_new(&ac, u->told.tasks, e);
    u->head = make_head(u, true, e);
    u->told_head = make_head(u, false, e);
    return u->profile_mix && u->told_profile_mix && u->head && u->told_head ? 0
                                                                            : ERR_MEMORY;
}

static void free_parts(struct hintless *u)
{
    identity_free(u->told_head);
    identity_free(u->head);
    profile_mix_free(u->told_profile_mix);
    profile_mix_free(u->profile_mix);
    u->told_head = u->head = NULL;
    u->told_profile_mix = u->profile_mix = NULL;
}

static int make_room(struct hintless *u, const struct hintless_new *how, struct err *e)
{
    u->watched =
        table_new(HINTLESS_WATCHED, TRACK_ID, sizeof(struct watched), how->seed, e);
    if (!u->watched) return ERR_MEMORY;
    if (!examples_new(&u->training) || !examples_new(&u->fresh))
        return err_set(e, ERR_MEMORY, "no memory for labelled observations");
    u->taught_by = calloc(PROFILE_MIX_BUCKETS, sizeof *u->taught_by);
    if (!u->taught_by) return err_set(e, ERR_MEMORY, "no memory for labels by address");
    if (how->state_path && !(u->state_path = strdup(how->state_path)))
        return err_set(e, ERR_MEMORY, "no memory for a path");
    return 0;
}

/* In the slot that the state file tells of, or in a new one. */
static int go_on(struct hintless *u, double now, struct err *e)
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
        log_event(u->log, LOG_WARN, "slot",
                  "what slot %llu served does not pass the exam: a new slot begins",
                  (unsigned long long)u->told.slot);
        u->merge.good = false;
        rc = 1;
    }
    if (rc == 1) u->sums = (struct hintless_sums){0};
    if (rc) {
        rc = hintless_turn(u, now, e);
        return rc ? rc
                  : hintless_save(u, e); /* a folder that takes no file is told now */
    }
    hintless_exam_tell(&u->stats, &u->exam);
    if (!u->merge.experts) return 0;
    hintless_merge_tell(&u->stats, &u->merge);
    grove_take(u->merge.grove, u->merge.bandit, u->merge.node);
    return hintless_merge_publish(&u->merge, u->told.slot, now, e);
}

struct hintless *hintless_new(const struct hintless_new *how, struct err *e)
{
    if (hintless_cfg_check(&how->cfg, e)) return NULL;
    struct hintless *u = calloc(1, sizeof *u);
    if (!u) {
        err_set(e, ERR_MEMORY, "no memory for untagged viewers");
        return NULL;
    }
    pthread_mutex_init(&u->lock, NULL);
    u->cfg = how->cfg;
    u->cfg.merge_policy = u->cfg.exam_traces = NULL; /* borrowed */
    u->seed = how->seed;
    u->log = how->log;
    u->tasks = u->told.tasks = QOE_PROFILES;
    for (int v = 0; v < QOE_PROFILES; v++) {
        strcpy(u->task[v], qoe_profiles[v].name);
        strcpy(u->told.task[v], qoe_profiles[v].name);
        u->qoe[v] = u->told.qoe[v] = qoe_profiles[v].qoe;
    }
    const char *name = how->default_profile ? how->default_profile : "pensieve";
    const struct qoe_profile *known = qoe_find(name);
    snprintf(u->default_profile, sizeof u->default_profile, "%s", name);
    u->fallback = (known ? known : qoe_find("pensieve"))->qoe;
    if (make_room(u, how, e) || make_parts(u, e)) goto fail;
    if (how->cfg.mode == HINTLESS_MERGE && hintless_merge_open(&u->merge, how, e))
        goto fail;
    if (hintless_exam_open(u, how, e)) goto fail;
    if (go_on(u, how->now, e)) goto fail;
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
    hintless_share_close(&u->share);
    examples_free(&u->fresh);
    examples_free(&u->training);
    table_free(u->watched);
    free(u->taught_by);
    free_parts(u);
    pthread_mutex_destroy(&u->lock);
    free(u->state_path);
    free(u);
}

void hintless_settings(struct hintless_cfg *out, const struct hintless *u)
{
    *out = u->cfg;
}

struct hintless_desk *hintless_desk_new(struct hintless *u, struct err *e)
{
    struct hintless_desk *d = calloc(1, sizeof *d);
    if (!d) {
        err_set(e, ERR_MEMORY, "no memory for a worker");
        return NULL;
    }
    d->merge.layout = u->merge.layout;
    pthread_mutex_lock(&u->lock);
    d->head = make_head(u, false, e);
    pthread_mutex_unlock(&u->lock);
    if (d->head) return d;
    hintless_desk_free(d);
    return NULL;
}

void hintless_desk_free(struct hintless_desk *d)
{
    if (!d) return;
    identity_free(d->head);
    free(d);
}

/* ---- tasks come and go; the caller holds the lock ----
 *
 * The index of a task is also that of its class, its rewards and its counters, so the others keep
 * theirs when one leaves. The free place goes to the next new profile. */

static int place_of(const struct hintless *u, const char *name)
{
    for (int v = 0; v < u->tasks; v++)
        if (!strcmp(u->task[v], name)) return v;
    return -1;
}

/* A record that waits has places, not names: the next profile must not get what this one earned. */
static void forget_record(struct slot_record *r, uint64_t tasks)
{
    for (int v = 0; v < PROFILE_MIX_TASKS; v++)
        if (tasks & bit(v)) r->psi[v] = r->reward[v] = r->trust[v] = 0;
}

static void leave(struct hintless *u, int v)
{
    memset(u->task[v], 0, sizeof u->task[v]);
    u->leaves |= bit(v);
    for (int i = 0; i < u->share.n_pending; i++)
        forget_record(&u->share.pending[i], bit(v));
}

static void come(struct hintless *u, const struct profile *p)
{
    int v = place_of(u, p->name);
    if (v < 0) {
        v = place_of(u, "");
        if (v >= 0) u->leaves |= bit(v); /* the head's class drifts while it is free */
        if (v < 0 && u->tasks < PROFILE_MIX_TASKS) v = u->tasks++;
        if (v < 0) return;
        memcpy(u->task[v], p->name, SERVICE_NAME);
    }
    u->qoe[v] = p->qoe;
}

static bool is_task(const struct profile *p, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(p[i].name, name)) return p[i].qoe.utility == QOE_LINEAR;
    return false;
}

void hintless_profiles(struct hintless *u, const struct profile *p, int n)
{
    pthread_mutex_lock(&u->lock);
    for (int v = QOE_PROFILES; v < u->tasks; v++)
        if (u->task[v][0] && !is_task(p, n, u->task[v])) leave(u, v);
    for (int i = 0; i < n; i++) {
        if (!strcmp(p[i].name, u->default_profile)) u->fallback = p[i].qoe;
        if (p[i].qoe.utility == QOE_LINEAR) come(u, &p[i]);
    }
    pthread_mutex_unlock(&u->lock);
}

void hintless_forget(struct hintless *u, const char *name)
{
    pthread_mutex_lock(&u->lock);
    int v = place_of(u, name);
    if (v >= QOE_PROFILES) leave(u, v);
    pthread_mutex_unlock(&u->lock);
}

/* ---- decisions ---- */

/* What holds in this slot, copied when the slot is another than last time. */
static void refresh(struct hintless_desk *d, struct hintless *u)
{
    if (d->told.slot == atomic_load(&u->slot)) return;
    pthread_mutex_lock(&u->lock);
    d->told = u->told;
    identity_copy(d->head, u->told_head);
    pthread_mutex_unlock(&u->lock);
}

bool hintless_hint(struct qoe *out, struct hintless *u, struct hintless_desk *d)
{
    refresh(d, u);
    if (d->told.hinted) *out = d->told.hint;
    return d->told.hinted;
}

void hintless_opened(struct hintless *u)
{
    pthread_mutex_lock(&u->lock);
    u->slot_sessions++;
    u->stats.sessions++;
    pthread_mutex_unlock(&u->lock);
}

/* What this viewer values on average: p(v | x, c) ~ p(v | x) p(v | c) over the shares that the
 * head has learned from. false: neither the head nor the content tells anything. */
static bool identify(struct qoe *out, struct hintless *u, struct hintless_desk *d,
                     const struct view *view, const char *content_id)
{
    const struct hintless_told *t = &d->told;
    double p[PROFILE_MIX_TASKS];
    uint64_t content = profile_mix_content(u->profile_mix, content_id);
    pthread_mutex_lock(&u->lock);
    bool known = profile_mix_of(p, u->told_profile_mix, content);
    pthread_mutex_unlock(&u->lock);
    if (!known && !t->taught) return false;

    if (t->taught) {
        feat_observe(d->obs, FEAT_BLIND, view);
        (void)identity_posterior(p, d->head, d->obs, p);
    }
    for (int v = 0; v < t->tasks; v++)
        p[v] *= t->sure[v];
    *out = hintless_hint_of(t, p);
    return true;
}

static bool decide_merged(struct verdict *out, struct hintless *u,
                          struct hintless_desk *d, const struct view *view)
{
    if (!u->merge.merged) return false;
    const struct weights *w = published_get(u->merge.merged);
    bool ok = decide(out, w->packed, &d->merge, view, -1);
    published_put(u->merge.merged, w);
    out->by = BY_MERGE;
    out->expert = -1; /* all of them */
    return ok;
}

bool hintless_decide(struct verdict *out, struct hintless *u, struct hintless_desk *d,
                     struct decider *decider, struct published *router,
                     const struct view *view, const char *content_id)
{
    refresh(d, u);
    struct view asked = *view;
    enum service_by by = d->told.hinted ? BY_MEAN_HINT : BY_DEFAULT;
    if (d->told.hinted) asked.qoe = d->told.hint;
    if (u->cfg.mode == HINTLESS_IDENTIFY && identify(&asked.qoe, u, d, view, content_id))
        by = BY_IDENTITY;
    /* a merge that is not finite is passed over */
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

void hintless_watch(struct hintless *u, struct hintless_desk *d,
                    const uint8_t id[TRACK_ID], bool hinted, const struct view *view)
{
    feat_observe(d->obs, FEAT_BLIND, view);
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

/* ---- what became of it; the caller holds the lock ---- */

/* Of this slot; -1 also when it is to be forgotten. */
static int task_of(const struct hintless *u, const char *name)
{
    for (int v = 0; v < u->told.tasks; v++)
        if (name[0] && !strcmp(u->told.task[v], name))
            return (u->leaves | u->leaving) & bit(v) ? -1 : v;
    return -1;
}

/* What an address taught is remembered until the process ends. */
static void add_example(struct hintless *u, const float *obs, int task, uint64_t from)
{
    struct hintless_examples *x = &u->fresh;
    uint32_t *own =
        &u->taught_by[rng_u64_at(u->seed, from, HINTLESS_SAMPLE) % PROFILE_MIX_BUCKETS];
    if (!profile_mix_may_add(*own, u->taught_all, HINTLESS_TEACHES)) {
        u->taught_refused++;
        return;
    }
    if (x->n == HINTLESS_EXAMPLES) {
        u->stats.dropped++;
        return;
    }
    ++*own;
    u->taught_all++;
    memcpy(x->x + (size_t)x->n * FEAT_FULL_DIM, obs, FEAT_FULL_DIM * sizeof *obs);
    x->task[x->n++] = (int8_t)task;
}

static void add_chunk(struct hintless *u, const struct track_row *row,
                      const struct step *s)
{
    const double *ladder = row->ladder_kbps;
    double p[PROFILE_MIX_TASKS];
    (void)profile_mix_of(p, u->told_profile_mix,
                         profile_mix_content(u->profile_mix, row->content_id));

    double carried = (double)s->bytes * 8 / 1000 / s->download_s;
    for (int v = 0; v < u->told.tasks; v++) {
        const struct qoe *k = &u->told.qoe[v];
        struct qoe_range r =
            qoe_chunk_range(k, ladder, row->levels, row->chunk_s, carried);
        double got = qoe_chunk(k, ladder[s->level], ladder[s->last_level], s->rebuffer_s,
                               ladder[0])
                         .reward;
        u->sums.weight[v] += p[v];
        u->sums.gain[v] += p[v] * (got - r.low);
        u->sums.room[v] += p[v] * (r.high - r.low);
    }
}

void hintless_chunk(struct hintless *u, const struct track_row *row, const struct step *s)
{
    bool first = s->last_level < 0; /* its download is the start, not a stall */
    /* an empty chunk says nothing about the link, and the link's rate is divided by */
    if (track_by(s) != BY_MERGE || !(s->flags & STEP_FOLLOWED) || first || s->bytes <= 0)
        return;
    pthread_mutex_lock(&u->lock);
    if (s->policy == u->told.slot)
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
    int task = labelled ? task_of(u, row->profile) : -1;
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

/* ---- time ---- */

int hintless_tick(struct hintless *u, double now)
{
    hintless_teach(u);
    pthread_mutex_lock(&u->lock);
    bool over = now >= u->told.since + u->cfg.slot_s || now < u->told.since;
    over |= u->cfg.slot_sessions && u->slot_sessions >= (uint64_t)u->cfg.slot_sessions;
    pthread_mutex_unlock(&u->lock);
    if (!over) return 0;

    struct err why = {0};
    int rc = hintless_save_ahead(u, &why);
    bool begun = !rc;
    if (begun) rc = hintless_turn(u, now, &why);
    if (!rc) rc = hintless_save(u, &why);
    if (rc) log_err(u->log, LOG_ERROR, "slot", &why);
    return begun;
}

/* Those that are there, one after the other. */
static void tasks_tell(struct hintless_stats *out, const struct hintless_told *t)
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
    out->known = u->told.known;
    tasks_tell(out, &u->told);
    out->labels_content =
        profile_mix_refused(u->profile_mix).content + (double)u->taught_refused;
    hintless_share_tell(out, &u->share);
    pthread_mutex_unlock(&u->lock);
}

struct grove_view *hintless_look(struct hintless *u, struct err *e)
{
    return u->merge.grove ? grove_look(u->merge.grove, e) : NULL;
}

/* ---- slots ---- */

/* From one slot to the next: what was heard is learned, and what decides is chosen anew. */

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

/* A bandit that begins with what an emulation says of the merges. */
static int make_bandit(struct hintless_merge *m, const struct hintless_new *how,
                       struct err *e)
{
    struct tanbr_cfg cfg = how->cfg.bandit;
    struct qoe qoe[QOE_PROFILES];
    int experts = cfg.experts = m->experts->cfg.experts;
    cfg.tasks = PROFILE_MIX_TASKS;
    if (!cfg.keep || cfg.keep > experts) cfg.keep = experts;
    struct merge_score_cfg score = {.steps = PRIOR_STEPS,
                                    .links = how->cfg.merge_links,
                                    .seed = PRIOR_SEED,
                                    .tasks = QOE_PROFILES,
                                    .qoe = qoe,
                                    .layout = m->layout,
                                    .threads = 1};
    for (int v = 0; v < QOE_PROFILES; v++)
        qoe[v] = qoe_profiles[v].qoe;
    while (lattice_points(experts, score.steps) > PRIOR_POINTS)
        score.steps--;
    size_t n = (size_t)lattice_points(experts, score.steps) * QOE_PROFILES;
    float *value = score.links ? calloc(n, sizeof *value) : NULL;
    int rc = 0;
    if (score.links) {
        cfg.prior = (struct tanbr_prior){score.steps, QOE_PROFILES, value};
        rc = value ? merge_score_all(value, m->experts, &score, e)
                   : err_set(e, ERR_MEMORY, "no memory to judge merges");
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

    m->crc = policy_crc32(m->experts);
    read_names(m, &meta);
    rc = make_bandit(m, how, e);
    if (rc) return rc;
    double mix[PROFILE_MIX_TASKS] = {0};
    for (int v = 0; v < QOE_PROFILES; v++)
        mix[v] = 1.0 / QOE_PROFILES;
    hintless_merge_choose(m, mix);
    memcpy(m->first, m->x, sizeof m->first);
    m->grove = grove_new(m->experts->cfg.experts, tanbr_cfg(m->bandit)->max_nodes, e);
    return m->grove ? 0 : ERR_MEMORY;
}

static void hintless_merge_close(struct hintless_merge *m)
{
    published_free(m->merged);
    grove_free(m->grove);
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

/* ---- what the slot was worth ---- */

struct earned {
    float reward[PROFILE_MIX_TASKS], trust[PROFILE_MIX_TASKS];
    double mean; /* over the mix, of the tasks that are trusted */
};

/* false: nobody played anything of it. */
static bool earned(struct earned *out, const struct hintless_sums *s, const double *mix)
{
    double of = 0;
    *out = (struct earned){0};
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

static double expects(struct tanbr *b, const float *x, const float *psi)
{
    float f[PROFILE_MIX_TASKS];
    double sum = 0;
    tanbr_predict(f, b, x);
    for (int v = 0; v < PROFILE_MIX_TASKS; v++)
        sum += (double)psi[v] * (double)f[v];
    return sum;
}

/* The best that the network expects of the experts alone, their mean and this slot's x. */
static double best_expected(struct hintless_merge *m, const float *psi)
{
    int n = m->experts->cfg.experts;
    double best = expects(m->bandit, m->x, psi);
    for (int k = 0; k <= n; k++) {
        float x[HINTLESS_EXPERTS] = {0};
        for (int i = 0; i < n; i++)
            x[i] = k == n ? 1.0f / (float)n : (float)(i == k);
        best = fmax(best, expects(m->bandit, x, psi));
    }
    return best;
}

static void as_floats(float *psi, const double *mix)
{
    for (int v = 0; v < PROFILE_MIX_TASKS; v++)
        psi[v] = (float)mix[v];
}

static void hintless_merge_tell(struct hintless_stats *out,
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

static int largest(const struct hintless_merge *m)
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
    return expects(m->bandit, m->x, psi);
}

/* Weights that the slot kept from another one need not be those of the node any more. */
static int learn_rewards(struct hintless_merge *m, const float *psi,
                         const struct earned *got)
{
    float x[HINTLESS_EXPERTS] = {0};
    size_t n = sizeof *x * (size_t)m->experts->cfg.experts;
    tanbr_weights(x, m->bandit, m->node);
    if (!memcmp(x, m->x, n))
        return tanbr_learn(m->bandit, m->node, psi, got->reward, got->trust);
    return tanbr_learn_at(m->bandit, m->x, psi, got->reward, got->trust);
}

/* Learns from a slot that is over; stats is the tick's own copy. given: what others may learn of it,
 * number 0: nothing. */
static int learn(struct slot_record *given, struct hintless *u,
                 struct hintless_stats *stats, const struct hintless_sums *sums,
                 const double *mix, struct err *e)
{
    struct hintless_merge *m = &u->merge;
    struct earned got;
    float psi[PROFILE_MIX_TASKS];
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

static void hintless_merge_choose(struct hintless_merge *m, const double *mix)
{
    struct tanbr_choice why;
    float psi[PROFILE_MIX_TASKS];
    as_floats(psi, mix);
    m->node = tanbr_choose(m->bandit, m->x, &why, psi);
    m->expected = why.mean;
}

/* ---- the head ---- */

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

/* ---- the turn ---- */

/* What a profile's weights are worth to each other: those of quality, or of a twentieth of all
 * where quality counts less. */
static double unit_of(const struct qoe *k)
{
    return fmax(k->mu_quality, .05 * (k->mu_quality + k->mu_switch + k->mu_stall));
}

static struct qoe hintless_mean(const struct qoe *qoe, const double *p, int tasks)
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

static void forget_examples(struct hintless_examples *x, uint64_t tasks)
{
    int n = 0;
    for (int i = 0; i < x->n; i++) {
        if (tasks & bit(x->task[i])) continue;
        memmove(x->x + (size_t)n * FEAT_FULL_DIM, x->x + (size_t)i * FEAT_FULL_DIM,
                FEAT_FULL_DIM * sizeof *x->x);
        x->task[n++] = x->task[i];
    }
    x->n = n;
}

/* What is counted under the lock, of tasks that leave; the caller holds it. */
static void begin_leaving(struct hintless *u, struct hintless_sums *sums)
{
    u->leaving = u->leaves;
    u->leaves = 0;
    forget_examples(&u->fresh, u->leaving);
    struct profile_mix_seats seats = profile_mix_seats(u->profile_mix);
    for (int v = 0; v < u->tasks; v++)
        seats.gone[v] = !u->task[v][0];
    profile_mix_seats_put(u->profile_mix, &seats);
    for (int v = 0; v < u->tasks; v++) {
        if (!(u->leaving & bit(v))) continue;
        profile_mix_forget(u->profile_mix, v);
        sums->weight[v] = sums->gain[v] = sums->room[v] = 0;
    }
}

/* ... and what the tick alone knows. */
static void forget_learned(struct hintless *u)
{
    struct hintless_merge *m = &u->merge;
    for (int v = 0; v < PROFILE_MIX_TASKS; v++) {
        if (!(u->leaving & bit(v))) continue;
        if (v < identity_classes(u->head)) identity_forget(u->head, v);
        if (m->bandit) tanbr_forget(m->bandit, v);
    }
    if (!m->bandit && m->carried) m->owed |= u->leaving;
}

/* The mix, the hint and the tasks of the slot to come; the caller holds the lock. */
static void look_ahead(struct hintless_told *t, struct hintless *u,
                       struct hintless_sums *sums)
{
    profile_mix_turn(u->profile_mix);
    while (profile_mix_tasks(u->profile_mix) < u->tasks)
        profile_mix_grow(u->profile_mix);
    begin_leaving(u, sums);
    memcpy(t->task, u->task, sizeof t->task);
    memset(t->mix, 0, sizeof t->mix);
    t->known = profile_mix_weights(t->mix, u->profile_mix);
    t->tasks = u->tasks;
    memcpy(t->qoe, u->qoe, sizeof t->qoe);
    for (int v = 0; v < t->tasks; v++)
        if (!t->task[v][0]) t->qoe[v] = t->qoe[0]; /* the exam asks nothing more of it */
    t->hint = hintless_mean(t->qoe, t->mix, t->tasks);
    t->hinted = t->known;
    t->fallback = u->fallback;
    struct profile_mix_refused refused = profile_mix_refused(u->profile_mix);
    u->stats.labels_address = refused.mix;
}

static void grow_head(struct hintless *u, int tasks)
{
    while (identity_classes(u->head) < tasks)
        if (identity_grow(u->head, NULL) < 0) return;
}

/* Contents as they are known now, for this slot; the caller holds the lock. */
static void copy_profile_mix(struct hintless *u, void *bytes)
{
    profile_mix_state_get(u->profile_mix, bytes);
    (void)!profile_mix_state_put(u->told_profile_mix, bytes,
                                 profile_mix_state_size(u->profile_mix),
                                 NULL); /* of one shape */
    struct profile_mix_seats seats = profile_mix_seats(u->profile_mix);
    profile_mix_seats_put(u->told_profile_mix, &seats);
}

static int hintless_turn(struct hintless *u, double now, struct err *e)
{
    void *bytes = malloc(profile_mix_state_size(u->profile_mix));
    if (!bytes) return err_set(e, ERR_MEMORY, "no memory to begin a slot");
    struct hintless_merge *m = &u->merge;
    struct hintless_told next = {.slot = u->told.slot + 1, .since = now};

    pthread_mutex_lock(&u->lock);
    struct hintless_sums sums = u->sums;
    struct hintless_stats stats = u->stats;
    look_ahead(&next, u, &sums);
    pthread_mutex_unlock(&u->lock);

    hintless_exam_hint(u, &next);
    int rc = 0;
    struct slot_record given = {0};
    if (u->told.slot) stats.slots++;
    if (m->experts && u->told.slot) rc = learn(&given, u, &stats, &sums, u->told.mix, e);
    if (m->experts) hintless_learn_heard(u);
    forget_learned(u);
    if (m->experts) {
        int failed = hintless_exam_merge(u, &next, e);
        grove_take(m->grove, m->bandit, m->node);
        if (!failed) failed = hintless_merge_publish(m, next.slot, now, e);
        if (!rc) rc = failed;
    }
    hintless_teach(u);
    grow_head(u, next.tasks);

    pthread_mutex_lock(&u->lock);
    next.taught = u->stats.examples >= HINTLESS_LEARNED;
    u->told = next;
    forget_record(&given, u->leaving | u->leaves);
    if (given.number) hintless_keep(u, &given);
    u->leaving = 0;
    identity_copy(u->told_head, u->head);
    copy_profile_mix(u, bytes);
    u->sums = (struct hintless_sums){0};
    u->slot_sessions = 0;
    u->stats.slots = stats.slots;
    u->stats.empty_slots = stats.empty_slots;
    u->stats.reward = stats.reward;
    u->stats.regret = stats.regret;
    if (m->experts) {
        hintless_merge_tell(&u->stats, m);
        u->stats.chosen[largest(m)]++;
    }
    hintless_exam_tell(&u->stats, &u->exam);
    atomic_store(&u->slot, next.slot);
    pthread_mutex_unlock(&u->lock);
    free(bytes);
    return rc;
}

/* ---- what nodes share ---- */

/* What this node's slots earned goes to the others, and what theirs earned comes here. */

/* The caller holds the lock. */
static bool shares(const struct hintless *u)
{
    return u->share.on && u->merge.bandit;
}

int hintless_share(struct hintless *u, uint64_t store, uint64_t id, struct err *e)
{
    struct hintless_share *s = &u->share;
    s->heard = calloc(SLOT_LOG_RECORDS, sizeof *s->heard);
    s->learning = calloc(SLOT_LOG_RECORDS, sizeof *s->learning);
    if (!s->heard || !s->learning)
        return err_set(e, ERR_MEMORY, "no memory for what other nodes' slots earn");
    pthread_mutex_lock(&u->lock);
    if (s->maker && s->store != store) { /* a copy: two may go on from here */
        s->was = s->maker;
        s->was_number = u->told.slot - 1;
    }
    if (!s->maker || s->store != store) s->maker = id;
    s->store = store;
    s->kept = u->told.slot; /* what waits was read from there */
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
    *crc = u->merge.crc; /* neither changes */
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
static void names(struct slot_tasks *out, const struct hintless *u)
{
    out->n = u->tasks;
    memcpy(out->name, u->task, sizeof out->name);
}

/* Those that arrived; the caller holds the lock. */
static void drop_pending(struct hintless_share *s, const struct slot_log *l)
{
    int n = 0;
    for (int i = 0; i < s->n_pending; i++)
        if (!slot_log_has(l, s->pending[i].maker, s->pending[i].number))
            s->pending[n++] = s->pending[i];
    s->given += (uint64_t)(s->n_pending - n);
    s->n_pending = n;
}

/* Did this bandit learn it when it was played? */
static bool own(const struct hintless_share *s, const struct slot_record *r)
{
    return r->maker == s->maker || (r->maker == s->was && r->number <= s->was_number);
}

static void hear(struct hintless_share *s, const struct slot_record *r)
{
    if (s->n_heard == SLOT_LOG_RECORDS) {
        memmove(&s->heard[0], &s->heard[1], sizeof *s->heard * (size_t)--s->n_heard);
        s->missed++;
    }
    s->heard[s->n_heard++] = *r;
}

void hintless_hear(struct hintless *u, const struct slot_log *l, double now)
{
    struct hintless_share *s = &u->share;
    struct slot_tasks tasks;
    pthread_mutex_lock(&u->lock);
    names(&tasks, u);
    drop_pending(s, l);
    if (s->heard_to.log != l->id || s->heard_to.count > l->count)
        s->heard_to = (struct hintless_place){.log = l->id}; /* it was begun anew */
    uint64_t first = l->count - (uint64_t)l->n + 1;          /* number of record 0 */
    bool before = s->heard_to.count > 0;
    if (before && s->heard_to.count + 1 < first)
        s->missed += first - s->heard_to.count - 1;
    for (int i = 0; i < l->n; i++) {
        struct slot_record r;
        if (first + (uint64_t)i <= s->heard_to.count || own(s, &l->record[i])) continue;
        slot_log_read(&r, l, i, &tasks);
        hear(s, &r);
    }
    s->heard_to.count = l->count;
    s->makers = l->makers;
    s->heard_at = now;
    pthread_mutex_unlock(&u->lock);
}

/* Pending ones that may be given; the caller holds the lock. */
static int ready(const struct hintless_share *s)
{
    int n = s->n_pending;
    while (n && s->pending[n - 1].number >= s->kept)
        n--;
    return n;
}

int hintless_give(struct hintless *u, struct slot_log *l)
{
    struct slot_tasks tasks;
    int n = 0;
    pthread_mutex_lock(&u->lock);
    names(&tasks, u);
    for (; n < ready(&u->share); n++)
        slot_log_add(l, &u->share.pending[n], &tasks);
    pthread_mutex_unlock(&u->lock);
    return n;
}

bool hintless_gives(struct hintless *u)
{
    pthread_mutex_lock(&u->lock);
    bool some = shares(u) && ready(&u->share);
    pthread_mutex_unlock(&u->lock);
    return some;
}

/* ---- the tick ---- */

static void hintless_keep(struct hintless *u, const struct slot_record *r)
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

static void hintless_share_kept(struct hintless *u, uint64_t slot)
{
    pthread_mutex_lock(&u->lock);
    u->share.kept = slot;
    pthread_mutex_unlock(&u->lock);
}

/* Only the tick touches `learning`. */
static void hintless_learn_heard(struct hintless *u)
{
    struct hintless_share *s = &u->share;
    pthread_mutex_lock(&u->lock);
    struct slot_record *full = s->heard;
    int n = s->n_heard, learned = 0;
    s->heard = s->learning;
    s->learning = full;
    s->n_heard = 0;
    struct hintless_place to = s->heard_to;
    pthread_mutex_unlock(&u->lock);

    for (int i = 0; i < n; i++)
        learned += !tanbr_learn_at(u->merge.bandit, full[i].x, full[i].psi,
                                   full[i].reward, full[i].trust);
    pthread_mutex_lock(&u->lock);
    s->learned_to = to;
    s->learned += (uint64_t)learned;
    pthread_mutex_unlock(&u->lock);
}

static void hintless_share_tell(struct hintless_stats *out,
                                const struct hintless_share *s)
{
    out->shares = s->on;
    out->given = s->given;
    out->heard = s->learned;
    out->missed = s->missed;
    out->pending = s->n_pending;
    out->makers = s->makers;
    out->heard_at = s->heard_at;
}

static void hintless_share_close(struct hintless_share *s)
{
    free(s->heard);
    free(s->learning);
}

/* ---- the state file ---- */

/* The state file: 32 bytes (magic, CRC-32 of the rest, form, length of the rest), then the slot,
 * the tasks, the merge, what the slot has brought so far, counters, both heads, both audiences and
 * the bandit. Numbers are little-endian, those of heads and bandit as they lie in memory. One
 * function walks over it in either direction, so that writing and reading cannot differ.
 * The form is 1 and the sum of what else holds: FORM_AHEAD, the slot after this one may have begun;
 * FORM_SHARED, what is shared with other nodes (slot_log.h) comes before the bandit; FORM_SEATS, a task
 * has left, and which ones and how often comes before the heads. */

enum { HEAD = 32, FORM = 1, FORM_AHEAD = 1, FORM_SHARED = 2, FORM_SEATS = 4 };
enum { FORMS = FORM + FORM_AHEAD + FORM_SHARED + FORM_SEATS, NUMBERS = 512 };
enum { FILE_MAX = 64 << 20 };
static const char MAGIC[8] = "abrduntg";

static void pass_qoe(struct pack *f, struct qoe *k)
{
    pack_real(f, &k->mu_quality);
    pack_real(f, &k->mu_switch);
    pack_real(f, &k->mu_stall);
}

static void pass_name(struct pack *f, char *name)
{
    pack_text(f, name, SERVICE_NAME);
    f->ok = f->ok && (!name[0] || !limits_name(name, NULL));
}

/* What is plain numbers in a struct untagged, and the merge's beside it. */
struct plain {
    struct hintless_told told;
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

static void pass_told(struct pack *f, struct hintless_told *t)
{
    pack_u64(f, &t->slot);
    pack_real(f, &t->since);
    pack_bool(f, &t->known);
    pack_bool(f, &t->taught);
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
    pass_told(f, &p->told);
    pack_int(f, &p->tasks, p->told.tasks, PROFILE_MIX_TASKS);
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

/* What a task that left leaves behind. Until the slot ends it has its name. */
struct seats {
    char task[PROFILE_MIX_TASKS][SERVICE_NAME];
    uint64_t born[PROFILE_MIX_TASKS], leaves, owed;
};

static struct seats seats_of(const struct hintless *u)
{
    struct profile_mix_seats a = profile_mix_seats(u->profile_mix);
    struct seats s = {.leaves = u->leaves, .owed = u->merge.owed};
    memcpy(s.task, u->told.task, sizeof s.task);
    memcpy(s.born, a.born, sizeof s.born);
    return s;
}

static bool any_left(const struct hintless *u)
{
    struct seats s = seats_of(u);
    uint64_t any = s.leaves | s.owed;
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
    pack_u64(f, &s->leaves);
    pack_u64(f, &s->owed);
    /* the built-in tasks never leave */
    uint64_t never = ~(bit(PROFILE_MIX_TASKS) - bit(QOE_PROFILES));
    f->ok = f->ok && !((s->leaves | s->owed) & never);
}

/* All experts and tasks, whether they are there or not: pending records are few. */
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
    *p = (struct plain){.told = u->told,
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
           identity_state_size(u->told_head) + identity_state_size(u->head) +
           2 * profile_mix_state_size(u->profile_mix) + sizeof u->share.pending + 8 +
           bandit_size(u);
}

/* The caller holds the lock. Returns the end. */
static unsigned char *put_all(unsigned char *at, unsigned char *end, struct hintless *u,
                              uint32_t form)
{
    struct plain p;
    plain_of(&p, u);
    struct pack f = pack_writer(at, (size_t)(end - at));
    pass_plain(&f, &p);
    struct seats seats = seats_of(u);
    if ((form - FORM) & FORM_SEATS) pass_seats(&f, &seats);
    identity_state_get(u->told_head, f.at);
    f.at += identity_state_size(u->told_head);
    identity_state_get(u->head, f.at);
    f.at += identity_state_size(u->head);
    profile_mix_state_get(u->told_profile_mix, f.at);
    f.at += profile_mix_state_size(u->told_profile_mix);
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

/* A slot is given when the file would not learn it again, as another one. */
static int save(struct hintless *u, uint32_t form, struct err *e)
{
    uint64_t slot = u->told.slot; /* the tick's own to change */
    if (!u->state_path) {
        hintless_share_kept(u, slot);
        return 0;
    }
    size_t room = file_size(u);
    unsigned char *bytes = malloc(room);
    if (!bytes) return err_set(e, ERR_MEMORY, "no memory for a state file");

    pthread_mutex_lock(&u->lock);
    form += u->share.maker ? FORM_SHARED : 0;
    form += any_left(u) ? FORM_SEATS : 0;
    size_t n = (size_t)(put_all(bytes + HEAD, bytes + room, u, form) - bytes);
    pthread_mutex_unlock(&u->lock);
    memset(bytes, 0, HEAD);
    memcpy(bytes, MAGIC, sizeof MAGIC);
    bytes_put_u32(bytes + 8, bytes_crc32(0, bytes + HEAD, n - HEAD));
    bytes_put_u32(bytes + 12, form);
    bytes_put_u64(bytes + 16, n - HEAD);
    int rc = text_write_file(u->state_path, bytes, n, e);
    free(bytes);
    if (!rc) hintless_share_kept(u, slot);
    return rc;
}

int hintless_save(struct hintless *u, struct err *e)
{
    return save(u, FORM, e);
}

static int hintless_save_ahead(struct hintless *u, struct err *e)
{
    return save(u, FORM + FORM_AHEAD, e);
}

/* ---- reading ---- */

static int check_head(const unsigned char *bytes, size_t n, struct err *e)
{
    if (n < HEAD || memcmp(bytes, MAGIC, sizeof MAGIC) != 0)
        return err_set(e, ERR_CORRUPT, "is no state of untagged viewers");
    uint32_t form = bytes_get_u32(bytes + 12);
    if (form < FORM || form > FORMS)
        return err_set(e, ERR_CORRUPT, "has form %u, not %d", (unsigned)form, FORM);
    if (bytes_get_u64(bytes + 16) != n - HEAD)
        return err_set(e, ERR_CORRUPT, "has %zu bytes after its head, not %llu", n - HEAD,
                       (unsigned long long)bytes_get_u64(bytes + 16));
    if (bytes_get_u32(bytes + 8) != bytes_crc32(0, bytes + HEAD, n - HEAD))
        return err_set(e, ERR_CORRUPT, "its checksum is wrong: it was damaged");
    return 0;
}

/* Both heads and both audiences: all of them or an error. */
static int get_parts(struct pack *f, struct hintless *u, struct err *e)
{
    size_t told = identity_state_size(u->told_head), head = identity_state_size(u->head),
           who = profile_mix_state_size(u->profile_mix);
    if ((size_t)(f->end - f->at) < told + head + 2 * who)
        return err_set(e, ERR_CORRUPT, "it ends too early");
    int rc = identity_state_put(u->told_head, f->at, told, e);
    f->at += told;
    if (!rc) rc = identity_state_put(u->head, f->at, head, e);
    f->at += head;
    if (!rc) rc = profile_mix_state_put(u->told_profile_mix, f->at, who, e);
    f->at += who;
    if (!rc) rc = profile_mix_state_put(u->profile_mix, f->at, who, e);
    f->at += who;
    return rc;
}

static void get_merge(struct hintless_merge *m, const struct plain *p)
{
    m->node = p->node;
    m->expected = p->expected;
    for (int k = 0; k < HINTLESS_EXPERTS; k++)
        m->x[k] = (float)p->x[k];
}

/* Kept for when there is something to merge again. */
static int carry(struct hintless_merge *m, const void *state, size_t n,
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

/* The bandit goes on only with the experts and settings that it learned about. */
static bool get_bandit(struct hintless *u, const void *state, size_t n,
                       const struct plain *p)
{
    struct hintless_merge *m = &u->merge;
    struct err why = {0};
    const char *reason = !n                 ? "nothing was merged before"
                         : p->crc != m->crc ? "the experts are others than before"
                         : tanbr_state_put(m->bandit, state, n, &why) ? why.detail
                                                                      : NULL;
    if (reason)
        log_event(u->log, LOG_WARN, "slot", "the bandit starts anew: %s", reason);
    else
        get_merge(m, p);
    for (int v = QOE_PROFILES; v < PROFILE_MIX_TASKS && !reason; v++)
        if (m->owed & bit(v)) tanbr_forget(m->bandit, v);
    m->owed = 0;
    return !reason;
}

/* named: by the file. Else nothing has left, and names are those of the next slot. */
static void take_seats(struct hintless *u, const struct seats *s, bool named)
{
    struct profile_mix_seats a = {0};
    u->leaves = s->leaves;
    u->merge.owed = s->owed;
    memcpy(u->told.task, named ? s->task : u->task, sizeof u->told.task);
    for (int v = 0; v < u->told.tasks; v++)
        a.gone[v] = !u->told.task[v][0];
    memcpy(a.born, s->born, sizeof a.born);
    profile_mix_seats_put(u->told_profile_mix, &a);
    profile_mix_seats_put(u->profile_mix, &a);
}

static void hintless_take(struct hintless *u, const struct plain *p,
                          const struct seats *s, bool named)
{
    u->told = p->told;
    u->told.fallback = u->fallback;
    const struct qoe *h = &p->told.hint,
                     *none = &u->fallback; /* the one that was served */
    u->told.hinted = p->told.known &&
                     (h->mu_quality != none->mu_quality ||
                      h->mu_switch != none->mu_switch || h->mu_stall != none->mu_stall);
    u->tasks = p->tasks;
    memcpy(u->task, p->task, sizeof u->task);
    take_seats(u, s, named);
    memcpy(u->qoe, p->qoe, sizeof u->qoe);
    u->sums = p->sums;
    u->slot_sessions = p->slot_sessions;
    u->stats = p->stats;
    for (int i = 0; i < BY_WAYS; i++)
        atomic_store(&u->decisions[i], p->decisions[i]);
    atomic_store(&u->slot, p->told.slot);
}

/* 0, 1, 2 as hintless_load, or an error: some parts may then have changed. */
static int get_all(struct hintless *u, unsigned char *bytes, size_t n, struct err *e)
{
    struct plain p = {0};
    struct seats seats = {0};
    int rc = check_head(bytes, n, e);
    if (rc) return rc;
    struct pack f = pack_reader(bytes + HEAD, n - HEAD);
    uint32_t parts = bytes_get_u32(bytes + 12) - FORM;
    pass_plain(&f, &p);
    if (parts & FORM_SEATS) pass_seats(&f, &seats);
    if (!f.ok) return err_set(e, ERR_CORRUPT, "it holds numbers that cannot be");
    rc = get_parts(&f, u, e);
    if (rc) return rc;
    struct hintless_share *share = &u->share;
    if (parts & FORM_SHARED) pass_share(&f, share);
    uint64_t bandit = 0;
    pack_u64(&f, &bandit);
    if (!f.ok || bandit != (uint64_t)(f.end - f.at))
        return err_set(e, ERR_CORRUPT, "it ends in the wrong place");

    hintless_take(u, &p, &seats, parts & FORM_SEATS);
    bool ahead = parts & FORM_AHEAD;
    u->told.slot += ahead; /* its number is taken */
    if (u->merge.bandit && !get_bandit(u, f.at, bandit, &p)) {
        *share = (struct hintless_share){0}; /* it is another's */
        return 1;
    }
    share->heard_to = share->learned_to;
    if (!u->merge.bandit) rc = carry(&u->merge, f.at, bandit, &p, e);
    return rc ? rc : 2 * ahead;
}

static void put_aside(const char *path)
{
    char bad[4096];
    if (snprintf(bad, sizeof bad, "%s.bad", path) < (int)sizeof bad) rename(path, bad);
}

static int hintless_load(struct hintless *u, struct err *e)
{
    if (!u->state_path || access(u->state_path, F_OK)) return 1;
    struct err why = {0};
    size_t n = 0;
    char *bytes = text_read_file(u->state_path, FILE_MAX, &n, &why);
    int rc = bytes ? get_all(u, (unsigned char *)bytes, n, &why) : why.code;
    free(bytes);
    if (rc >= 0) return rc;
    if (rc != ERR_CORRUPT && rc != ERR_RANGE)
        return err_field(e, rc, u->state_path, "%s", why.detail);

    log_event(u->log, LOG_WARN, "slot",
              "%s: %s; it is put aside as .bad, and what was learned of untagged viewers "
              "starts anew",
              u->state_path, why.detail);
    put_aside(u->state_path);
    return ERR_CORRUPT;
}

/* ---- the exam ---- */

/* What was learned is served as far as the exam (merge_exam.h) lets it. */

/* Of the way to what was learned, in the order in which they are tried. */
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

static void hintless_exam_tell(struct hintless_stats *out, const struct hintless_exam *x)
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
static struct qoe hintless_hint_of(const struct hintless_told *t, const double *p)
{
    struct qoe qoe[PROFILE_MIX_TASKS + 1];
    double share[PROFILE_MIX_TASKS + 1], rest = 1;
    for (int v = 0; v < t->tasks; v++) {
        qoe[v] = t->qoe[v];
        share[v] = p[v];
        rest -= p[v];
    }
    if (rest < 1e-9) return hintless_mean(qoe, share, t->tasks);
    qoe[t->tasks] = t->fallback;
    share[t->tasks] = rest;
    return hintless_mean(qoe, share, t->tasks + 1);
}

static struct qoe hint_at(const struct hintless_told *t, const double *p, double share)
{
    double part[PROFILE_MIX_TASKS];
    if (share <= 0) return t->fallback;
    for (int v = 0; v < t->tasks; v++)
        part[v] = share * p[v];
    return hintless_hint_of(t, part);
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
    const struct hintless_told *t;
    bool sat; /* reference is known */
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
    if (same_hint(hint, base)) return true;
    if (!r->sat && !hint_marks(&r->reference, r, base)) return false;
    r->sat = true;
    return hint_marks(&got, r, hint) &&
           merge_exam_loss(&got, &r->reference, r->t->tasks, NULL) <= MERGE_EXAM_LOSS;
}

static bool router_begin(struct router_exam *r, const struct hintless *u,
                         const struct hintless_told *t)
{
    const struct hintless_exam *x = &u->exam;
    if (!x->exam || !x->router) return false;
    *r = (struct router_exam){.exam = x->exam, .layout = x->layout, .t = t};
    r->weights = published_get(x->router);
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

static void all_sure(struct hintless_told *t)
{
    for (int v = 0; v < PROFILE_MIX_TASKS; v++)
        t->sure[v] = 1;
}

static void examine_sureness(struct router_exam *r, struct hintless_told *t)
{
    for (int v = 0; v < t->tasks; v++) {
        double p[PROFILE_MIX_TASKS] = {0};
        p[v] = 1;
        t->sure[v] = share_that_passes(r, p, NULL);
    }
}

static void hintless_exam_hint(struct hintless *u, struct hintless_told *next)
{
    struct router_exam r;
    all_sure(next);
    if (!router_begin(&r, u, next)) return;
    double share = 1;
    if (next->known) share = share_that_passes(&r, next->mix, &u->exam.refused);
    u->exam.hint_share = share;
    next->hint = hint_at(next, next->mix, share);
    next->hinted = next->known && share > 0;
    if (u->cfg.mode == HINTLESS_IDENTIFY) examine_sureness(&r, next);
    published_put(u->exam.router, r.weights);
}

/* ---- the merge ---- */

/* false: also when there is no memory for it; what is served is then what was served before. */
static bool merge_marks(struct merge_exam_marks *out, const struct hintless *u,
                        const struct hintless_told *t, const float *x,
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

struct merge_sitting {
    const struct hintless_told *t;
    struct merge_exam_marks reference;
    double loss; /* of the last that was examined */
};

static bool merge_begin(struct merge_sitting *s, const struct hintless *u,
                        const struct hintless_told *t)
{
    *s = (struct merge_sitting){.t = t, .loss = (double)NAN};
    return merge_marks(&s->reference, u, t, u->merge.first, &t->fallback);
}

static bool merge_passes(struct merge_sitting *s, const struct hintless *u)
{
    struct merge_exam_marks got;
    const struct qoe *hint = s->t->hinted ? &s->t->hint : &s->t->fallback;
    if (!merge_marks(&got, u, s->t, u->merge.x, hint)) return false;
    s->loss = merge_exam_loss(&got, &s->reference, s->t->tasks, NULL);
    return s->loss <= MERGE_EXAM_LOSS;
}

/* x is no node's: the visit will be that of the leaf it lies in. */
static void settle_between(struct hintless_merge *m, const double *mix)
{
    m->node = tree_find(tanbr_tree(m->bandit), m->x);
    m->expected = hintless_merge_expects(m, mix);
}

/* What was served last, if it still passes; else what a new bandit begins with, and without a mean
 * hint if need be. */
static void keep_last(struct hintless *u, const struct hintless_merge *last,
                      struct merge_sitting *s, struct hintless_told *next)
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
              "no merge of slot %llu passed the exam: it keeps the last good one",
              (unsigned long long)next->slot);
}

static int hintless_exam_merge(struct hintless *u, struct hintless_told *next,
                               struct err *e)
{
    struct hintless_merge *m = &u->merge, last = *m;
    struct hintless_exam *x = &u->exam;
    struct merge_sitting s;
    float chosen[HINTLESS_EXPERTS];
    x->kept = false;
    if (!x->exam) {
        hintless_merge_choose(m, next->mix);
        m->good = true;
        return 0;
    }
    if (!merge_begin(&s, u, next))
        return err_set(e, ERR_NUMERIC, "the merge that slots begin with is not finite");

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

/* ---- after a start ---- */

static bool hintless_exam_holds(struct hintless *u)
{
    struct router_exam r;
    struct merge_sitting s;
    bool holds = true;
    all_sure(&u->told);
    if (router_begin(&r, u, &u->told)) {
        holds = !u->told.hinted || hint_passes(&r, &u->told.hint);
        if (u->cfg.mode == HINTLESS_IDENTIFY) examine_sureness(&r, &u->told);
        published_put(u->exam.router, r.weights);
    }
    if (holds && u->exam.exam && u->merge.experts) {
        holds = merge_begin(&s, u, &u->told) && merge_passes(&s, u);
        u->exam.loss = s.loss;
        u->merge.good = holds;
    }
    u->exam.refused += !holds;
    return holds;
}

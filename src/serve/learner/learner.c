#include "serve/learner/learner.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/owner.h"
#include "base/text.h"
#include "learn/ckpt.h"
#include "serve/session/decide.h"
#include "serve/learner/training.h"

/* Orders of an operator; `updates` is valid for experts whose bit is set. */
struct orders {
    bool reset;
    uint64_t aside[2];
    int updates[2][MIX_EXPERTS_MAX];
};

static const char *const GATE_KEYS[] = {"gate.actor", "gate.critic"};

struct learner {
    struct owner turns; /* of all that no lock guards: one thread at a time */
    struct learner_cfg cfg;
    struct policy_cfg shape;
    struct training common; /* of the common policy */
    const struct bus *bus;
    enum feat_layout layout;
    struct traj traj; /* scratch, with its arrays over states */
    float *obs, *reward, *logp;
    uint32_t *mask;
    int *action;
    uint64_t links;         /* recorded */
    enum curve_kind untold; /* the origin of unpublished weights */
    atomic_uint_fast64_t misfits;
    struct vitals *vitals;
    pthread_mutex_t lock; /* of stats, vital, report and orders */
    struct online_stats stats;
    struct vitals_stats vital;
    struct cells_report report; /* with exams > 0 */
    struct orders orders;
};

static void refresh_stats(struct learner *l)
{
    struct online_stats now;
    online_stats(l->common.online, &now);
    const struct cells *cells = l->common.cells;
    pthread_mutex_lock(&l->lock);
    l->stats = now;
    if (cells) l->report = *cells_report(cells);
    pthread_mutex_unlock(&l->lock);
}

bool learner_exam(struct learner *l, struct cells_report *out)
{
    pthread_mutex_lock(&l->lock);
    *out = l->report;
    pthread_mutex_unlock(&l->lock);
    return out->exams > 0;
}

void learner_look(struct learner *l)
{
    struct vitals_stats now;
    vitals_measure(&now, l->vitals, online_policy(l->common.online));
    pthread_mutex_lock(&l->lock);
    l->vital = now;
    pthread_mutex_unlock(&l->lock);
}

/* Adds a point to the curve. */
static void learner_note(struct learner *l, enum curve_kind kind, double now)
{
    if (!l->cfg.curve) return;
    struct online_stats s;
    online_stats(l->common.online, &s);
    struct curve_point p = {.kind = kind,
                            .at = now,
                            .version = online_policy(l->common.online)->version,
                            .steps = s.steps,
                            .score = s.check_score,
                            .best = s.check_best};
    if (kind == CURVE_UPDATE || kind == CURVE_ORDER)
        p.score = online_score(l->common.online);
    /* an update that failed before the exam has no score: check_score is an earlier one */
    if (kind == CURVE_ROLLBACK &&
        s.check_score >= online_lowest(&l->cfg.online, s.check_best))
        p.score = NAN;
    if (kind != CURVE_ORDER)
        curve_update(&p, &s, kind == CURVE_UPDATE ? &l->vital : NULL);
    curve_add(l->cfg.curve, &p);
}

/* Publishes the experts that a restored state has disabled, under the same version. */
static int show_busy(struct learner *l, struct err *e)
{
    if (!l->stats.actor_busy && !l->stats.critic_busy) return 0;
    const struct weights *w = published_get(l->common.published);
    double at = w->published_at, score = w->check_score;
    published_put(l->common.published, w);
    struct policy *p = policy_clone(online_policy(l->common.online), e);
    return p ? published_swap(l->common.published, p, at, score, e) : ERR_MEMORY;
}

/* The exam by cells and rehearsal, which guard against forgetting, and the fit of the forecast. */
static int learner_memory(struct learner *l, const struct policy *start, struct err *e)
{
    const struct online_cfg *o = &l->cfg.online;
    const struct policy *shipped = l->cfg.shipped ? l->cfg.shipped : start;
    int links = o->exam_links > 4 ? o->exam_links + o->exam_links % 2 : 4;
    int recorded = 2 * links < CELLS_LINKS_MAX ? 2 * links : CELLS_LINKS_MAX;
    struct cells_cfg c = {.links = links,
                          .recorded = recorded,
                          .margin = o->exam_margin,
                          .seed = o->seed,
                          .source_share = o->source_share};
    if (o->exam_links) l->common.cells = cells_new(&c, shipped, e);
    if (o->exam_links && !l->common.cells) return ERR_MEMORY;
    /* the emulated viewers choose among as many levels as an observation has */
    int rows = start->cfg.actions == FEAT_LEVELS ? (int)(o->rehearse * o->batch) : 0;
    if (rows) l->common.rehearsal = rehearsal_new(shipped, l->layout, rows, o->seed, e);
    if (rows && !l->common.rehearsal) return ERR_MEMORY;
    struct forecaster_cfg f = {
        .steps = o->input_steps, .source_share = o->source_share, .seed = o->seed};
    bool learns = f.steps && l->layout == FEAT_PLAN;
    if (learns) l->common.forecaster = forecaster_new(&f, e);
    return learns && !l->common.forecaster ? ERR_MEMORY : 0;
}

struct learner *learner_new(const struct learner_cfg *cfg, const struct policy *start,
                            const void *state, size_t state_n, bool *fresh,
                            struct published *published, const struct bus *bus,
                            struct err *e)
{
    struct learner *l = calloc(1, sizeof *l);
    if (!l) {
        err_set(e, ERR_MEMORY, "no memory for the learner");
        return NULL;
    }
    pthread_mutex_init(&l->lock, NULL);
    l->cfg = *cfg;
    l->common.published = published;
    l->bus = bus;
    l->shape = start->cfg;
    if (decide_layout(&l->layout, &start->cfg, e)) goto fail;

    size_t states = TRAJ_STEPS + 1, dim = (size_t)start->cfg.obs_dim;
    l->obs = malloc(states * dim * sizeof *l->obs);
    l->reward = malloc(states * sizeof *l->reward);
    l->logp = malloc(states * sizeof *l->logp);
    l->mask = malloc(states * sizeof *l->mask);
    l->action = malloc(states * sizeof *l->action);
    if (!l->obs || !l->reward || !l->logp || !l->mask || !l->action) {
        err_set(e, ERR_MEMORY, "no memory for the learner");
        goto fail;
    }

    l->common.announce = cfg->announce;
    l->common.ctx = cfg->announce_ctx;
    l->common.exam = exam_new(&start->cfg, e);
    if (!l->common.exam || learner_memory(l, start, e)) goto fail;
    if (training_start(&l->common, &cfg->online, start, e)) goto fail;
    training_attach_judge(&l->common);
    l->vitals = vitals_new(l->common.exam, start, e);
    if (!l->vitals) goto fail;
    *fresh = !state || online_state_put(l->common.online, state, state_n, NULL) != 0;
    refresh_stats(l);
    if (show_busy(l, e)) goto fail;
    return l;

fail:
    learner_free(l);
    return NULL;
}

void learner_free(struct learner *l)
{
    if (!l) return;
    vitals_free(l->vitals);
    training_release(&l->common);
    free(l->action);
    free(l->mask);
    free(l->logp);
    free(l->reward);
    free(l->obs);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* The link of a trajectory: for the exam and for rehearsal in turn, never for both. */
static void learner_record(struct learner *l, const struct traj *t)
{
    struct training *c = &l->common;
    if (!c->cells && !c->rehearsal) return;
    struct trace *link = rehearsal_link(t);
    if (!link) return;
    bool exam = c->cells && (!c->rehearsal || l->links++ % 3 == 0);
    if (exam)
        cells_record(c->cells, link, t->source);
    else
        rehearsal_record(c->rehearsal, link);
}

static void add(struct learner *l)
{
    const struct traj *t = &l->traj;
    /* of a node with another policy, or with other rules */
    if (!decide_serves(&l->shape, t->view.levels) ||
        !traj_observe(l->obs, l->mask, l->action, t, l->layout)) {
        atomic_fetch_add(&l->misfits, 1);
        return;
    }
    uint64_t oldest = UINT64_MAX;
    for (int i = 0; i < t->n; i++) {
        l->logp[i] = t->step[i].logp;
        l->reward[i] = traj_reward(t, i, l->layout);
        if (t->step[i].policy < oldest) oldest = t->step[i].policy;
    }

    struct online_trajectory o = {.n = t->n,
                                  .obs = l->obs,
                                  .mask = l->mask,
                                  .action = l->action,
                                  .logp = l->logp,
                                  .reward = l->reward,
                                  .tag = t->tag,
                                  .client = t->client,
                                  .source = t->source,
                                  .version = oldest,
                                  .truncated = t->truncated};
    if (t->truncated) {
        o.last_obs = l->obs + (size_t)t->n * (size_t)feat_dim(l->layout);
        o.last_mask = l->mask[t->n];
    }
    const struct learner_others *others = &l->cfg.others;
    if (t->added_id)
        o.tag = others->self ? others->tag_of(others->self, t->added_id) : -1;
    if (t->added_id || o.tag >= TRAJ_TAG_OWN) {
        if (others->self) others->teach(others->self, &o, t->place);
        return;
    }
    /* refused ones are counted */
    if (online_add(l->common.online, &o)) return;
    learner_record(l, t);
    if (l->common.forecaster) forecaster_add(l->common.forecaster, t);
}

void learner_reset_gates(struct learner *l)
{
    pthread_mutex_lock(&l->lock);
    l->orders.reset = true;
    pthread_mutex_unlock(&l->lock);
}

/* The busy experts after all orders. */
static uint64_t busy_then(const struct learner *l, enum ppo_which which)
{
    uint64_t busy = which == PPO_ACTOR ? l->stats.actor_busy : l->stats.critic_busy;
    for (int k = 0; k < MIX_EXPERTS_MAX; k++) {
        uint64_t bit = (uint64_t)1 << k;
        if (!(l->orders.aside[which] & bit)) continue;
        busy = l->orders.updates[which][k] > 0 ? busy | bit : busy & ~bit;
    }
    return busy;
}

int learner_disable_expert(struct learner *l, enum ppo_which which, int expert,
                           int updates, struct err *e)
{
    const struct policy_cfg *c = &l->shape;
    int experts = which == PPO_ACTOR ? c->experts : c->critic_experts;
    if (expert < 0 || expert >= experts)
        return err_field(e, ERR_RANGE, "expert", "%d is none of the %d experts", expert,
                         experts);
    uint64_t bit = (uint64_t)1 << expert, all = UINT64_MAX >> (MIX_EXPERTS_MAX - experts);
    int rc = 0;
    pthread_mutex_lock(&l->lock);
    if (updates > 0 && ((busy_then(l, which) | bit) & all) == all) {
        rc = ERR_CONFLICT;
    } else {
        l->orders.aside[which] |= bit;
        l->orders.updates[which][expert] = updates;
    }
    pthread_mutex_unlock(&l->lock);
    if (rc)
        err_field(e, rc, "expert", "%d is the last idle expert and cannot be disabled",
                  expert);
    return rc;
}

/* 1: a version with other busy experts was published. */
static int obey(struct learner *l, double now, struct err *e)
{
    pthread_mutex_lock(&l->lock);
    struct orders orders = l->orders;
    l->orders = (struct orders){0};
    pthread_mutex_unlock(&l->lock);

    if (orders.reset) online_gate_reset(l->common.online);
    bool changed = false;
    for (int w = 0; w < 2; w++)
        for (int k = 0; k < MIX_EXPERTS_MAX; k++) {
            if (!(orders.aside[w] >> k & 1)) continue;
            /* fails if an update disabled the last other expert meanwhile */
            if (!online_disable_expert(l->common.online, (enum ppo_which)w, k,
                                       orders.updates[w][k], NULL))
                changed = true;
        }
    if (orders.reset) l->common.unsaved = true;
    if (!changed) return 0;
    l->common.unsaved = true;
    l->untold = CURVE_ORDER;
    int rc = training_publish(&l->common, now, e);
    if (!rc) learner_note(l, CURVE_ORDER, now);
    return rc ? rc : 1;
}

/* Publishes weights that could not be published before. Until then the bus is not read, so an
 * announcement covers everything received. 1: published. */
static int publish_again(struct learner *l, double now, struct err *e)
{
    if (!l->common.unpublished) return 0;
    int rc = training_publish(&l->common, now, e);
    if (!rc) learner_note(l, l->untold, now);
    return rc ? rc : 1;
}

/* Fits the forecast. 1: a correction was published; 0: none was taken; negative: it could not be published. */
static int take_forecast(struct learner *l, double now, struct err *e)
{
    int failed = 0;
    if (l->common.unpublished || training_forecast(&l->common, now, &failed, e) != 1)
        return 0;
    l->untold = CURVE_UPDATE;
    if (failed) return failed;
    learner_look(l);
    learner_note(l, CURVE_UPDATE, now);
    return 1;
}

/* As training_update, but a held update is 0, and what could not be published is its failure. */
static int take_update(struct learner *l, double now, struct err *e)
{
    int failed = 0, rc = training_update(&l->common, now, &failed, e);
    if (rc == ONLINE_HELD) learner_note(l, CURVE_HELD, now);
    if (rc == ERR_NUMERIC) learner_note(l, CURVE_ROLLBACK, now);
    if (rc != 1) return rc == ONLINE_HELD ? 0 : rc;
    l->untold = CURVE_UPDATE;
    learner_look(l);
    if (failed) return failed;
    learner_note(l, CURVE_UPDATE, now);
    return 1;
}

/* An update and a fit of the forecast. A version counts more than a failure, and a failure to publish more than
 * a rollback, so that the error is that of the result. */
static int learner_learn(struct learner *l, double now, struct err *e)
{
    int updated = take_update(l, now, e), fitted = take_forecast(l, now, e);
    if (updated == 1 || fitted == 1) return 1;
    if (fitted < 0) return fitted;
    if (updated == ERR_NUMERIC)
        err_set(e, updated, "new weights were not finite or clearly worse: rolled back");
    return updated;
}

static int take_turn(struct learner *l, double wait_s, double now, struct err *e)
{
    const struct learner_others *others = &l->cfg.others;
    int rc = obey(l, now, e);
    if (!rc) rc = publish_again(l, now, e);
    if (rc) {
        refresh_stats(l);
        return rc;
    }
    /* stop reading when a batch is full: the bus is the longer queue */
    while (!online_ready(l->common.online) &&
           !(others->self && others->ready(others->self)) &&
           l->bus->receive(l->bus->self, &l->traj, wait_s)) {
        add(l);
        wait_s = 0;
    }

    if (online_ready(l->common.online)) rc = learner_learn(l, now, e);
    refresh_stats(l);
    if (others->self) {
        int grew = others->turn(others->self, now, e);
        if (grew < 0 && !rc) rc = grew;
    }
    return rc;
}

int learner_turn(struct learner *l, double wait_s, double now, struct err *e)
{
    owner_enter(&l->turns);
    int rc = take_turn(l, wait_s, now, e);
    owner_leave(&l->turns);
    return rc;
}

static int resume(struct learner *l, const struct policy *p, const void *state,
                  size_t state_n, bool *fresh, double published_at, struct err *e)
{
    struct training next = l->common;
    struct policy *start = policy_clone(p, e);
    if (!start) return ERR_MEMORY;
    (void)online_drop_input(&l->cfg.online, start);
    int rc = training_start(&next, &l->cfg.online, start, e);
    policy_free(start);
    if (rc) return rc;
    *fresh = !state || online_state_put(next.online, state, state_n, NULL) != 0;
    struct policy *published = policy_clone(online_policy(next.online), e);
    rc = published ? published_swap(next.published, published, published_at,
                                    online_score(next.online), e)
                   : ERR_MEMORY;
    if (rc) {
        online_free(next.online);
        return rc;
    }
    online_free(l->common.online);
    l->common = next;
    l->common.unsaved = true;
    l->common.unpublished = false;
    training_attach_judge(&l->common);
    refresh_stats(l);
    return 0;
}

int learner_resume(struct learner *l, const struct policy *p, const void *state,
                   size_t state_n, bool *fresh, double published_at, struct err *e)
{
    owner_enter(&l->turns);
    int rc = resume(l, p, state, state_n, fresh, published_at, e);
    owner_leave(&l->turns);
    return rc;
}

bool learner_published(const struct learner *l)
{
    return !l->common.unpublished;
}

const struct policy *learner_policy(const struct learner *l)
{
    return online_policy(l->common.online);
}

uint64_t learner_misfits(const struct learner *l)
{
    return atomic_load(&l->misfits);
}

bool learner_settled(const struct learner *l)
{
    return online_buffered(l->common.online) == 0;
}

int learner_state(void **out, size_t *n, const struct learner *l, struct err *e)
{
    return training_state(out, n, &l->common, e);
}

/* Replaces the checkpoint and keeps the old one as the previous one. At every moment a checkpoint exists,
 * unless the file system has no hard links. */
static int put_in_place(const char *path, const char *new, struct err *e)
{
    char prev[1024], tmp[1024];
    snprintf(prev, sizeof prev, "%s.prev", path);
    snprintf(tmp, sizeof tmp, "%s.prev.tmp", path);
    unlink(tmp);
    bool linked = !link(path, tmp);
    if (!linked && errno != ENOENT) rename(path, prev);
    if (rename(new, path)) {
        int why = errno;
        if (linked) unlink(tmp);
        unlink(new);
        return err_field(e, ERR_IO, path, "cannot be written: %s", strerror(why));
    }
    if (linked) rename(tmp, prev);
    if (!text_sync_folder_of(path)) return 0;
    return err_field(e, ERR_IO, path, "cannot be written: %s", strerror(errno));
}

/* Writes under another name first, so that a failed write destroys no existing checkpoint. */
static int save(const char *path, const struct policy *p, const struct ckpt_meta *meta,
                const void *state, size_t n, struct err *e)
{
    char new[1024];
    snprintf(new, sizeof new, "%s.new", path);
    int rc = ckpt_save(new, p, meta, state, n, e);
    return rc ? rc : put_in_place(path, new, e);
}

static int checkpoint(struct learner *l, struct err *e)
{
    if (!l->cfg.ckpt_path || !l->common.unsaved) return 0;
    size_t n = 0;
    void *state = NULL;
    int rc = learner_state(&state, &n, l, e);
    if (rc) return rc;

    struct online_stats s;
    online_stats(l->common.online, &s);
    struct ckpt_meta meta = {0};
    ckpt_meta_set(&meta, "made_by", "abrd serve");
    ckpt_meta_set(&meta, "layout", "%s", feat_layout_name(l->layout));
    ckpt_meta_set(&meta, "updates", "%llu", (unsigned long long)s.updates);
    ckpt_meta_set(&meta, "check_score", "%.9g", online_score(l->common.online));
    for (int w = 0; w < 2; w++) {
        char text[GATE_TEXT];
        gate_text(text, online_gate(l->common.online, (enum ppo_which)w),
                  s.gate[w].experts);
        ckpt_meta_set(&meta, GATE_KEYS[w], "%s", text);
    }

    rc = save(l->cfg.ckpt_path, online_policy(l->common.online), &meta, state, n, e);
    if (!rc) l->common.unsaved = false;
    free(state);
    return rc;
}

int learner_checkpoint(struct learner *l, struct err *e)
{
    owner_enter(&l->turns);
    int rc = checkpoint(l, e);
    const struct learner_others *others = &l->cfg.others;
    int saved = others->self ? others->save(others->self, e) : 0;
    owner_leave(&l->turns);
    return rc ? rc : saved;
}

void learner_gates(struct learner *l, const struct ckpt_meta *meta)
{
    for (int w = 0; w < 2; w++) {
        enum ppo_which which = (enum ppo_which)w;
        struct gate g = *online_gate(l->common.online, which);
        const char *text = ckpt_meta_get(meta, GATE_KEYS[w]);
        if (text && !gate_parse(&g, text, l->stats.gate[w].experts, NULL))
            online_gate_put(l->common.online, which, &g);
    }
    refresh_stats(l);
}

void learner_stats(struct learner *l, struct online_stats *out)
{
    pthread_mutex_lock(&l->lock);
    *out = l->stats;
    pthread_mutex_unlock(&l->lock);
}

void learner_vitals(struct learner *l, struct vitals_stats *out)
{
    pthread_mutex_lock(&l->lock);
    *out = l->vital;
    pthread_mutex_unlock(&l->lock);
}

#include "serve/trial/trial_run.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abr/deciders/algo.h"
#include "abr/deciders/forecast_own.h"
#include "base/text.h"
#include "learn/ckpt.h"
#include "serve/session/networks.h"
#include "serve/session/profiles.h"
#include "serve/session/sessions.h"
#include "serve/session/viewer.h"
#include "serve/store/store.h"

enum {
    SEEN_SLOTS = 2 * TRIAL_VIEWERS,
    STATE_PATH = 600,
};

/* ---- deciders of the arms ---- */

enum way_kind { WAY_ABRD, WAY_PLAYER, WAY_ALGO, WAY_WEIGHTS };

struct way {
    enum way_kind kind;
    bool closed; /* it could not be opened: its sessions are treated as the control */
    struct algo algo;
    struct packed *packed;
};

/* The deciders of one trial: read-only once it runs, freed when nobody uses them. */
struct ways {
    int refs;     /* under the trial's lock, as retired */
    bool retired; /* the trial has others now: the last user frees these */
    int n;
    struct way way[COMPARE_ARMS];
};

static void ways_free(struct ways *w)
{
    for (int i = 0; w && i < w->n; i++) {
        algo_free(&w->way[i].algo);
        packed_free(w->way[i].packed);
    }
    free(w);
}

static int way_weights(struct way *out, const char *path, const struct policy_cfg *own,
                       struct err *e)
{
    struct ckpt_meta *meta = calloc(1, sizeof *meta); /* too large for the stack */
    if (!meta) return err_set(e, ERR_MEMORY, "no memory for the weights of an arm");
    struct err why = {0};
    struct policy *p = ckpt_load_any(path, meta, NULL, NULL, &why);
    free(meta);
    if (p && (p->cfg.obs_dim != own->obs_dim || p->cfg.actions != own->actions))
        err_field(&why, ERR_INVALID, path,
                  "reads %d inputs for %d levels, the daemon's weights %d for %d",
                  p->cfg.obs_dim, p->cfg.actions, own->obs_dim, own->actions);
    if (p && !why.code) out->packed = packed_new(&p->cfg, &why);
    if (p) (void)forecast_own_drop_foreign(p);
    if (out->packed) packed_load(out->packed, p);
    policy_free(p);
    out->kind = WAY_WEIGHTS;
    return why.code
               ? err_field(e, why.code, "trial-arms", "%.100s: %.120s", path, why.detail)
               : 0;
}

static int way_open(struct way *out, const struct trial_arm *arm,
                    const struct policy_cfg *own, struct err *e)
{
    const char *spec = arm->decides;
    struct err why = {0};
    *out = (struct way){.kind = WAY_ABRD};
    if (!strcmp(spec, "abrd")) return 0;
    if (!strncmp(spec, "abrd:", 5)) return way_weights(out, spec + 5, own, e);
    out->kind = WAY_PLAYER;
    if (!strcmp(spec, "player")) return 0;
    out->kind = WAY_ALGO;
    if (!algo_shared(spec))
        return err_field(
            e, ERR_INVALID, "trial-arms",
            "'%.60s' of %s is none of abrd, abrd:FILE, player, or an "
            "algorithm that keeps nothing from chunk to chunk (rate, buffer, "
            "bola, fixed-N, hyb, soda, mpc-tail, hold)",
            spec, arm->name);
    if (!algo_new(&out->algo, spec, NULL, &why)) return 0;
    return err_field(e, why.code, "trial-arms", "%s: %.180s", arm->name, why.detail);
}

static int way_open_with(struct way *out, const struct trial_arm *arm,
                         const struct policy_cfg *own, struct profiles *profiles,
                         struct err *e)
{
    struct profile known;
    if (arm->profile[0] && profiles_get(&known, NULL, profiles, arm->profile, NULL))
        return err_field(e, ERR_ABSENT, "trial-arms", "%s: there is no profile '%s'",
                         arm->name, arm->profile);
    return way_open(out, arm, own, e);
}

static void way_close(struct way *out, const struct trial_plan *p, int arm,
                      const struct log *log, const char *why)
{
    *out = (struct way){.kind = WAY_PLAYER, .closed = true};
    if (log)
        log_event(log, LOG_ERROR, "trial", "%s: arm %s is closed, falls back to %s: %s",
                  p->name, p->arm[arm].name,
                  arm ? p->arm[0].name : "the player's own rules", why);
}

enum trial_age { AGE_NEW, AGE_BEGUN, AGE_ENDED };

/* Arms whose file or profile is gone are an error in a new trial. Later they are closed, which is logged unless the
 * trial has ended. */
static struct ways *ways_open(const struct trial_plan *p, const struct trial_run_new *how,
                              enum trial_age age, struct err *e)
{
    const struct log *log = age == AGE_BEGUN ? how->log : NULL;
    struct ways *w = calloc(1, sizeof *w);
    int rc = w ? 0 : err_set(e, ERR_MEMORY, "no memory for the arms of a trial");
    for (int i = 0; i < p->arms && !rc; i++) {
        struct way *way = &w->way[w->n++];
        struct err why = {0};
        rc = way_open_with(way, &p->arm[i], how->policy, how->profiles, &why);
        if (rc && rc != ERR_MEMORY && age != AGE_NEW) {
            way_close(way, p, i, log, why.detail);
            rc = 0;
        }
        if (rc) err_field(e, rc, why.field, "%s", why.detail);
    }
    if (!rc) return w;
    ways_free(w);
    return NULL;
}

/* ---- the trial ---- */

struct trial_run {
    struct trial_run_new how;
    char path[STATE_PATH];
    struct trial_peers peers; /* change NULL: no cluster */
    pthread_mutex_t file;     /* one write of the file at a time; taken before the lock */
    uint64_t rev;             /* under `file`: of what is common */
    pthread_mutex_t lock;     /* guards the members below */
    struct trial_report now;
    uint8_t key[SIPHASH_KEY]; /* of the assignment */
    uint64_t id;              /* of a cluster's trial; 0: none */
    struct ways *ways;        /* NULL: no trial */
    uint32_t number;          /* of the trial in this process */
    uint64_t stops;
    uint64_t *seen; /* (SEEN_SLOTS) hashes of viewers, 0: free */
    int n_seen;
    uint64_t
        *own; /* (TRIAL_VIEWERS) those of them that this node counted; NULL: no cluster */
    int n_own;
    uint64_t counted;           /* trial_tally: changes */
    struct compare others, all; /* sums of other nodes; scratch */
    uint64_t changes, saved;    /* of what the file has */
};

struct trial_run *trial_run_new(const struct trial_run_new *how, struct err *e)
{
    struct trial_run *t = calloc(1, sizeof *t);
    if (!t) {
        err_set(e, ERR_MEMORY, "no memory for a trial");
        return NULL;
    }
    t->how = *how;
    if (how->state_path) snprintf(t->path, sizeof t->path, "%s", how->state_path);
    t->now.promoted = -1;
    t->now.nodes = 1;
    pthread_mutex_init(&t->file, NULL);
    pthread_mutex_init(&t->lock, NULL);
    return t;
}

void trial_run_free(struct trial_run *t)
{
    if (!t) return;
    ways_free(t->ways);
    free(t->seen);
    free(t->own);
    pthread_mutex_destroy(&t->lock);
    pthread_mutex_destroy(&t->file);
    free(t);
}

static int arm_of(const struct trial_plan *p, const char *name)
{
    for (int i = 0; i < p->arms; i++)
        if (!strcmp(p->arm[i].name, name)) return i;
    return -1;
}

/* ---- viewers that were here before ---- */

/* True if the hash was there, or cannot be remembered. Else it is there now. */
static bool seen_before(uint64_t *seen, int *n, uint64_t unit)
{
    uint64_t at = (unit >> 1) % SEEN_SLOTS;
    while (seen[at] && seen[at] != unit)
        at = (at + 1) % SEEN_SLOTS;
    if (seen[at] || *n >= TRIAL_VIEWERS) return true;
    seen[at] = unit;
    ++*n;
    return false;
}

/* The same for a viewer of this node. own NULL: no other node asks. */
static bool seen_here(uint64_t *seen, int *n, uint64_t *own, int *n_own, uint64_t unit)
{
    if (seen_before(seen, n, unit)) return true;
    if (own) own[(*n_own)++] = unit;
    return false;
}

/* ---- rows of the store ---- */

static enum compare_assigned counted_as(const struct track_row *row)
{
    static const enum compare_assigned of[] = {[TRACK_COUNTED] = COMPARE_COUNTED,
                                               [TRACK_AGAIN] = COMPARE_AGAIN,
                                               [TRACK_FELL_BACK] = COMPARE_FELL_BACK};
    return of[row->arm.assigned <= TRACK_FELL_BACK ? row->arm.assigned : TRACK_AGAIN];
}

static void count_end(struct trial_report *r, int arm, const struct track_row *row)
{
    struct compare_ended ended = trial_ended_of(row);
    int network = row->arm.network < COMPARE_NETWORKS ? row->arm.network : 0;
    compare_end(&r->compare, arm, network, &ended);
}

/* A trial that is put together outside the lock. */
struct draft {
    struct trial_report report;
    uint8_t key[SIPHASH_KEY];
    uint64_t id;
    uint64_t *seen, *own; /* as in struct trial_run; seen NULL: only figures are wanted */
    int n_seen, n_own, rows;
};

static void draft_free(struct draft *d)
{
    if (!d) return;
    free(d->seen);
    free(d->own);
    free(d);
}

static int draft_row(void *ctx, const struct track_row *row, struct err *e)
{
    (void)e;
    struct draft *d = ctx;
    int arm = arm_of(&d->report.plan, row->arm.name);
    d->rows++;
    if (arm < 0 || !labels_fit(&row->labels, &d->report.labels)) return 0;
    compare_assign(&d->report.compare, arm, counted_as(row));
    if (d->seen && row->arm.unit & VIEWER_NAMED)
        (void)seen_here(d->seen, &d->n_seen, d->own, &d->n_own, row->arm.unit);
    if (row->closed && row->arm.assigned == TRACK_COUNTED)
        count_end(&d->report, arm, row);
    return 0;
}

/* Counts the sessions in the store. labels NULL: all, to become the trial. */
static struct draft *draft_new(const struct trial_run *t, const struct trial_plan *plan,
                               const struct labels *labels, struct err *e)
{
    struct draft *d = calloc(1, sizeof *d);
    bool viewers = d && !labels, shares = viewers && t->how.peers;
    if (viewers) d->seen = calloc(SEEN_SLOTS, sizeof *d->seen);
    if (shares) d->own = calloc(TRIAL_VIEWERS, sizeof *d->own);
    if (!d || (viewers && !d->seen) || (shares && !d->own)) {
        draft_free(d);
        err_set(e, ERR_MEMORY, "no memory for a trial");
        return NULL;
    }
    memcpy(d->key, t->how.key, sizeof d->key);
    struct trial_report *r = &d->report;
    *r = (struct trial_report){
        .plan = *plan, .phase = TRIAL_RUNS, .promoted = -1, .nodes = 1};
    if (labels) r->labels = *labels;
    struct compare_cfg cfg = {.arms = plan->arms,
                              .sessions = plan->sessions,
                              .stall_margin = plan->stall_margin,
                              .startup_margin_s = plan->startup_margin_s};
    for (int i = 0; i < plan->arms; i++)
        cfg.share[i] = plan->arm[i].share;
    for (int i = 0; i < COMPARE_ARMS; i++)
        r->stopped_by[i] = -1;
    compare_init(&r->compare, &cfg);
    const struct store *store = t->how.store;
    if (!store || !store->trial ||
        !store->trial(store->self, plan->name, draft_row, d, e))
        return d;
    draft_free(d);
    return NULL;
}

/* Makes the draft the trial; takes it and the ways. */
static void draft_take(struct trial_run *t, struct draft *d, struct ways *ways)
{
    pthread_mutex_lock(&t->lock);
    struct ways *old = t->ways;
    uint64_t *seen = t->seen, *own = t->own;
    bool used = old && old->refs;
    if (used) old->retired = true;
    t->now = d->report;
    memcpy(t->key, d->key, sizeof t->key);
    t->id = d->id;
    t->seen = d->seen;
    t->n_seen = d->n_seen;
    t->own = d->own;
    t->n_own = d->n_own;
    compare_init(&t->others, &d->report.compare.cfg);
    t->ways = ways;
    t->number++;
    t->counted++;
    t->changes++;
    pthread_mutex_unlock(&t->lock);
    d->seen = seen;
    d->own = own;
    if (!used) ways_free(old);
    draft_free(d);
}

/* ---- the file ---- */

/* key NULL: not of a cluster. */
static size_t state_text(char *out, size_t size, const struct trial_report *r,
                         const uint8_t *key)
{
    char arms[TRIAL_ARMS_TEXT], stopped[COMPARE_ARMS * 2 * SERVICE_TRIAL] = "";
    trial_plan_arms(arms, &r->plan);
    size_t n = 0;
    for (int i = 0; i < r->plan.arms; i++)
        if (r->stopped_by[i] >= 0)
            n += (size_t)snprintf(stopped + n, sizeof stopped - n, "%s%s:%s",
                                  n ? "," : "", r->plan.arm[i].name,
                                  compare_kinds[r->stopped_by[i]].name);
    int written = snprintf(
        out, size,
        "name = %s\nphase = %s\npromoted = %s\nstopped = %s\narms = \"%s\"\n"
        "sessions = %.12g\nstall-margin = %.12g\nstartup-margin = %.12g\n"
        "started-at = %.3f\n",
        r->plan.name, trial_phases[r->phase],
        r->promoted >= 0 ? r->plan.arm[r->promoted].name : "", stopped, arms,
        r->plan.sessions, r->plan.stall_margin, r->plan.startup_margin_s, r->started_at);
    assert(written > 0 && (size_t)written < size);
    if (!key) return (size_t)written;
    char hex[2 * SIPHASH_KEY + 1];
    sessions_id_text(hex, key);
    written += snprintf(out + written, size - (size_t)written, "key = %s\n", hex);
    assert((size_t)written < size);
    return (size_t)written;
}
_Static_assert(TRACK_ID == SIPHASH_KEY, "a key is written as an id");

/* Under the file's lock. */
static int state_write(struct trial_run *t, struct err *e)
{
    char text[2 * TRIAL_ARMS_TEXT];
    pthread_mutex_lock(&t->lock);
    uint64_t changes = t->changes;
    bool same = t->saved == changes || t->now.phase == TRIAL_NONE;
    size_t n = same ? 0 : state_text(text, sizeof text, &t->now, t->id ? t->key : NULL);
    pthread_mutex_unlock(&t->lock);
    if (same || !t->path[0]) return 0;
    int rc = text_write_file(t->path, text, n, e);
    pthread_mutex_lock(&t->lock);
    if (!rc) t->saved = changes;
    pthread_mutex_unlock(&t->lock);
    return rc;
}

int trial_run_save(struct trial_run *t, struct err *e)
{
    pthread_mutex_lock(&t->file);
    int rc = state_write(t, e);
    pthread_mutex_unlock(&t->file);
    return rc;
}

static void state_stopped(struct trial_report *r, const struct field_list *stopped)
{
    for (int i = 0; i < stopped->n; i++) {
        char name[SERVICE_TRIAL] = "";
        const char *figure = strchr(stopped->item[i], ':');
        size_t n = figure ? (size_t)(figure - stopped->item[i]) : sizeof name;
        if (n >= sizeof name) continue;
        memcpy(name, stopped->item[i], n);
        int arm = arm_of(&r->plan, name);
        for (int f = 0; f < COMPARE_FIGURES && arm >= 0; f++)
            if (!strcmp(compare_kinds[f].name, figure + 1)) r->stopped_by[arm] = f;
    }
}

static uint64_t id_of(const uint8_t key[SIPHASH_KEY], const char *name)
{
    return siphash(key, name, strlen(name)) | 1;
}

uint64_t trial_common_id(const struct trial_common *c)
{
    return id_of(c->key, c->plan.name);
}

static int state_resume(struct trial_run *t, const struct trial_saved *s, struct err *e)
{
    struct trial_plan plan;
    int rc = s->name ? trial_saved_plan(&plan, s, e)
                     : err_field(e, ERR_CORRUPT, t->path, "has no name of a trial");
    int promoted = !rc && s->promoted ? arm_of(&plan, s->promoted) : -1;
    if (!rc && s->phase == TRIAL_PROMOTED && promoted < 0)
        rc = err_field(e, ERR_CORRUPT, t->path, "promotes no arm of the trial");
    enum trial_age age = s->phase == TRIAL_ENDED ? AGE_ENDED : AGE_BEGUN;
    struct ways *ways = rc ? NULL : ways_open(&plan, &t->how, age, e);
    struct draft *d = ways ? draft_new(t, &plan, NULL, e) : NULL;
    if (d && s->key && !sessions_id_parse(d->key, s->key)) {
        err_field(e, ERR_CORRUPT, t->path, "its key is not 32 hex digits");
        draft_free(d);
        d = NULL;
    }
    if (!d) {
        ways_free(ways);
        return rc ? rc : e->code;
    }
    if (s->key) d->id = id_of(d->key, plan.name);
    d->report.phase = s->phase;
    d->report.started_at = s->started_at;
    d->report.promoted = promoted;
    state_stopped(&d->report, &s->stopped);
    log_event(t->how.log, LOG_INFO, "trial", "%s: %s, %d sessions in the store",
              plan.name, trial_phases[s->phase], d->rows);
    draft_take(t, d, ways);
    return 0;
}

int trial_run_resume(struct trial_run *t, struct err *e)
{
    struct trial_saved s;
    struct err mine = {0};
    if (!e) e = &mine;
    if (!t->path[0] || access(t->path, F_OK)) return 0;
    char *text = NULL;
    int rc = trial_saved_read(&s, &text, t->path, e);
    if (!rc) rc = state_resume(t, &s, e);
    free(text);
    if (rc) return rc;
    pthread_mutex_lock(&t->lock);
    t->saved = t->changes;
    pthread_mutex_unlock(&t->lock);
    return 0;
}

/* ---- orders of operators ---- */

static int name_differs(const char *name, struct err *e)
{
    return err_field(e, ERR_CONFLICT, "trial",
                     "the trial %s has other arms: give the new one another name", name);
}

/* 1: the plan runs already. */
static int start_again(struct trial_run *t, const struct trial_plan *plan, struct err *e)
{
    pthread_mutex_lock(&t->lock);
    bool named = t->now.phase != TRIAL_NONE && !strcmp(t->now.plan.name, plan->name);
    bool same = trial_plan_same(&t->now.plan, plan);
    pthread_mutex_unlock(&t->lock);
    if (!named) return 0;
    if (same) return 1;
    return name_differs(plan->name, e);
}

int trial_run_check(struct trial_run *t, const struct trial_plan *plan, struct err *e)
{
    if (start_again(t, plan, NULL) == 1) return 0;
    struct ways *ways = ways_open(plan, &t->how, AGE_NEW, e);
    ways_free(ways);
    return ways ? 0 : e ? e->code : ERR_INVALID;
}

static int name_used(const char *name, struct err *e)
{
    return err_field(e, ERR_CONFLICT, "trial",
                     "there are sessions of an earlier trial %s: give this one another "
                     "name",
                     name);
}

/* Of a new trial. */
static struct draft *draft_unused(const struct trial_run *t,
                                  const struct trial_plan *plan, struct err *e)
{
    struct draft *d = draft_new(t, plan, NULL, e);
    if (!d || !d->rows) return d;
    name_used(plan->name, e);
    draft_free(d);
    return NULL;
}

static int start_new(struct trial_run *t, const struct trial_plan *plan, double now,
                     struct err *e)
{
    struct ways *ways = ways_open(plan, &t->how, AGE_NEW, e);
    struct draft *d = ways ? draft_unused(t, plan, e) : NULL;
    if (!d) {
        ways_free(ways);
        return e->code;
    }
    d->report.started_at = now;
    char arms[TRIAL_ARMS_TEXT];
    trial_plan_arms(arms, plan);
    log_event(t->how.log, LOG_INFO, "trial", "%s begins: %s", plan->name, arms);
    draft_take(t, d, ways);
    return 1;
}

/* ---- the same for all nodes ---- */

struct start_ctx {
    const struct trial_plan *plan;
    double now;
    uint8_t key[SIPHASH_KEY];
    int began;
};

/* The name of the trial that ends here is not used again. */
static void common_used(struct trial_common *c)
{
    if (c->used == TRIAL_NAMES) {
        memmove(c->used_name[0], c->used_name[1], sizeof c->used_name - SERVICE_TRIAL);
        c->used--;
    }
    memcpy(c->used_name[c->used++], c->plan.name, SERVICE_TRIAL);
}

static int start_change(void *ctx, struct trial_common *c, struct err *e)
{
    struct start_ctx *s = ctx;
    s->began = 0;
    if (c->plan.arms && !strcmp(c->plan.name, s->plan->name))
        return trial_plan_same(&c->plan, s->plan) ? 0 : name_differs(s->plan->name, e);
    for (int i = 0; i < c->used; i++)
        if (!strcmp(c->used_name[i], s->plan->name)) return name_used(s->plan->name, e);
    if (c->plan.arms) common_used(c);
    c->plan = *s->plan;
    c->phase = TRIAL_RUNS;
    c->promoted = -1;
    for (int i = 0; i < COMPARE_ARMS; i++)
        c->stopped_by[i] = -1;
    c->started_at = s->now;
    memcpy(c->key, s->key, sizeof c->key);
    c->makers = 0;
    s->began = 1;
    return 1;
}

/* What this node can see first: whether the arms can be opened, and whether the name is new here. */
static int start_shared(struct trial_run *t, const struct trial_plan *plan, double now,
                        struct err *e)
{
    struct start_ctx s = {.plan = plan, .now = now};
    int rc = start_again(t, plan, e);
    struct ways *ways = rc ? NULL : ways_open(plan, &t->how, AGE_NEW, e);
    struct draft *d = ways ? draft_unused(t, plan, e) : NULL;
    if (!rc && !d) rc = e->code;
    ways_free(ways);
    draft_free(d);
    if (rc < 0) return rc;
    rc = entropy_draw(&t->how.entropy, s.key, sizeof s.key, e);
    if (!rc) rc = t->peers.change(t->peers.self, start_change, &s, e);
    return rc ? rc : s.began;
}

struct phase_ctx {
    enum trial_phase phase;
    const char *arm; /* NULL: none */
};

static int no_trial(const char *field, struct err *e)
{
    return err_field(e, ERR_CONFLICT, field, "there is no trial");
}

static int no_arm(const char *arm, struct err *e)
{
    return err_field(e, ERR_ABSENT, "arm", "the trial has no arm '%.40s'", arm);
}

static int phase_change(void *ctx, struct trial_common *c, struct err *e)
{
    const struct phase_ctx *want = ctx;
    if (!c->plan.arms) return no_trial(want->arm ? "arm" : "", e);
    int arm = want->arm ? arm_of(&c->plan, want->arm) : -1;
    if (want->arm && arm < 0) return no_arm(want->arm, e);
    bool same = c->phase == want->phase && c->promoted == arm;
    c->phase = want->phase;
    c->promoted = arm;
    return !same;
}

static int phase_shared(struct trial_run *t, enum trial_phase phase, const char *arm,
                        struct err *e)
{
    struct phase_ctx want = {phase, arm};
    return t->peers.change(t->peers.self, phase_change, &want, e);
}

int trial_run_start(struct trial_run *t, const struct trial_plan *plan, double now,
                    struct err *e)
{
    struct err mine = {0};
    if (!e) e = &mine;
    if (t->peers.change) return start_shared(t, plan, now, e);
    pthread_mutex_lock(&t->file);
    int rc = start_again(t, plan, e);
    rc = rc ? (rc == 1 ? 0 : rc) : start_new(t, plan, now, e);
    int saved = rc == 1 ? state_write(t, e) : 0;
    pthread_mutex_unlock(&t->file);
    return saved ? saved : rc;
}

/* Changes the phase and writes it. */
static int set_phase(struct trial_run *t, enum trial_phase phase, int promoted,
                     struct err *e)
{
    pthread_mutex_lock(&t->lock);
    t->now.phase = phase;
    t->now.promoted = promoted;
    t->number++; /* running sessions are decided as without the trial */
    t->changes++;
    pthread_mutex_unlock(&t->lock);
    return state_write(t, e);
}

/* Whether the arm can decide, if there is one of this name. */
static int promote_check(struct trial_run *t, const char *arm, struct err *e)
{
    pthread_mutex_lock(&t->lock);
    int at = t->ways ? arm_of(&t->now.plan, arm) : -1;
    bool closed = at >= 0 && t->ways->way[at].closed;
    pthread_mutex_unlock(&t->lock);
    if (!closed) return 0;
    return err_field(
        e, ERR_CONFLICT, "arm",
        "%.40s could not be opened when the daemon started: restore its file "
        "or profile, and start the daemon again",
        arm);
}

int trial_run_promote(struct trial_run *t, const char *arm, struct err *e)
{
    int closed = promote_check(t, arm, e);
    if (closed) return closed;
    if (t->peers.change) return phase_shared(t, TRIAL_PROMOTED, arm, e);
    pthread_mutex_lock(&t->file);
    pthread_mutex_lock(&t->lock);
    int at = t->now.phase == TRIAL_NONE ? -1 : arm_of(&t->now.plan, arm);
    enum trial_phase was = t->now.phase;
    pthread_mutex_unlock(&t->lock);
    int rc = 0;
    if (was == TRIAL_NONE)
        rc = no_trial("arm", e);
    else if (at < 0)
        rc = no_arm(arm, e);
    else
        rc = set_phase(t, TRIAL_PROMOTED, at, e);
    pthread_mutex_unlock(&t->file);
    if (!rc) log_event(t->how.log, LOG_WARN, "trial", "arm %s is promoted", arm);
    return rc;
}

int trial_run_rollback(struct trial_run *t, struct err *e)
{
    if (t->peers.change) return phase_shared(t, TRIAL_ENDED, NULL, e);
    pthread_mutex_lock(&t->file);
    pthread_mutex_lock(&t->lock);
    enum trial_phase was = t->now.phase;
    pthread_mutex_unlock(&t->lock);
    int rc = was == TRIAL_NONE    ? no_trial("", e)
             : was == TRIAL_ENDED ? 0
                                  : set_phase(t, TRIAL_ENDED, -1, e);
    pthread_mutex_unlock(&t->file);
    if (!rc) log_event(t->how.log, LOG_WARN, "trial", "rolled back");
    return rc;
}

/* ---- a trial of all nodes on this one ---- */

void trial_run_share(struct trial_run *t, const struct trial_peers *peers)
{
    t->peers = *peers;
    pthread_mutex_lock(&t->lock);
    bool alone = t->now.phase != TRIAL_NONE && !t->id;
    if (alone) t->now.phase = TRIAL_NONE;
    pthread_mutex_unlock(&t->lock);
    if (alone)
        log_event(t->how.log, LOG_WARN, "trial",
                  "the trial %s was of this daemon alone: it does not go on in a cluster",
                  t->now.plan.name);
}

/* Another trial than that of this node. */
static int follow_new(struct trial_run *t, const struct trial_common *c, struct err *e)
{
    struct draft *d = draft_new(t, &c->plan, NULL, e);
    struct ways *ways = d ? ways_open(&c->plan, &t->how, AGE_BEGUN, e) : NULL;
    if (!ways) {
        draft_free(d);
        return e->code;
    }
    d->report.phase = c->phase;
    d->report.promoted = c->promoted;
    d->report.started_at = c->started_at;
    memcpy(d->report.stopped_by, c->stopped_by, sizeof c->stopped_by);
    memcpy(d->key, c->key, sizeof d->key);
    d->id = trial_common_id(c);
    log_event(t->how.log, LOG_INFO, "trial",
              "%s of the cluster: %s, %d sessions in the store", c->plan.name,
              trial_phases[c->phase], d->rows);
    draft_take(t, d, ways);
    return 0;
}

/* Under the file's lock. */
static void follow_phase(struct trial_run *t, const struct trial_common *c)
{
    unsigned stopped = 0;
    pthread_mutex_lock(&t->lock);
    bool other = t->now.phase != c->phase || t->now.promoted != c->promoted;
    t->now.phase = c->phase;
    t->now.promoted = c->promoted;
    t->number += other;
    t->changes += other;
    for (int a = 0; a < c->plan.arms; a++) {
        if (c->stopped_by[a] < 0 || t->now.stopped_by[a] >= 0) continue;
        t->now.stopped_by[a] = c->stopped_by[a];
        stopped |= 1u << a;
        t->stops++;
        t->changes++;
    }
    pthread_mutex_unlock(&t->lock);
    if (other && c->phase == TRIAL_PROMOTED)
        log_event(t->how.log, LOG_WARN, "trial", "arm %s is promoted",
                  c->plan.arm[c->promoted].name);
    if (other && c->phase == TRIAL_ENDED)
        log_event(t->how.log, LOG_WARN, "trial", "rolled back");
    for (int a = 0; a < c->plan.arms; a++)
        if (stopped >> a & 1)
            log_event(t->how.log, LOG_WARN, "trial",
                      "%s: arm %s is stopped by another node: its %s is worse than that "
                      "of %s",
                      c->plan.name, c->plan.arm[a].name,
                      compare_kinds[c->stopped_by[a]].name, c->plan.arm[0].name);
}

int trial_run_follow(struct trial_run *t, const struct trial_common *c, uint64_t rev,
                     bool older, struct err *e)
{
    struct err mine = {0};
    if (!e) e = &mine;
    pthread_mutex_lock(&t->file);
    int rc = rev < t->rev && !older ? ERR_CONFLICT : 0;
    if (!rc) {
        t->rev = rev;
        pthread_mutex_lock(&t->lock);
        bool same = t->now.phase != TRIAL_NONE && t->id == trial_common_id(c);
        pthread_mutex_unlock(&t->lock);
        if (!same) rc = follow_new(t, c, e);
        if (!rc) follow_phase(t, c);
        if (!rc) rc = state_write(t, e);
    }
    pthread_mutex_unlock(&t->file);
    return rc;
}

bool trial_run_common(struct trial_common *out, struct trial_run *t)
{
    *out = (struct trial_common){0};
    pthread_mutex_lock(&t->lock);
    const struct trial_report *r = &t->now;
    bool is = r->phase != TRIAL_NONE && t->id;
    if (is) {
        out->plan = r->plan;
        out->phase = r->phase;
        out->promoted = r->promoted;
        out->started_at = r->started_at;
        memcpy(out->stopped_by, r->stopped_by, sizeof out->stopped_by);
        memcpy(out->key, t->key, sizeof out->key);
    }
    pthread_mutex_unlock(&t->lock);
    return is;
}

void trial_run_tally(struct trial_tally *out, struct trial_run *t)
{
    pthread_mutex_lock(&t->lock);
    bool is = t->now.phase != TRIAL_NONE && t->id;
    out->id = is ? t->id : 0;
    if (is) {
        out->boot = t->how.boot;
        out->changes = t->counted;
        out->units = t->n_own;
        out->compare = t->now.compare;
    }
    pthread_mutex_unlock(&t->lock);
}

int trial_run_units(uint64_t *out, struct trial_run *t, uint64_t id, int from, int max)
{
    pthread_mutex_lock(&t->lock);
    int n = t->id == id && t->own && t->n_own > from ? t->n_own - from : 0;
    if (n > max) n = max;
    if (n) memcpy(out, t->own + from, (size_t)n * sizeof *out);
    pthread_mutex_unlock(&t->lock);
    return n;
}

void trial_run_seen(struct trial_run *t, uint64_t id, const uint64_t *unit, int n)
{
    pthread_mutex_lock(&t->lock);
    for (int i = 0; i < n && t->id == id; i++)
        if (unit[i]) (void)seen_before(t->seen, &t->n_seen, unit[i]);
    pthread_mutex_unlock(&t->lock);
}

/* ---- sessions ---- */

/* The arm of a unit; -1: in no arm. */
static int drawn(const struct trial_plan *p, uint64_t unit)
{
    double u = (double)(unit >> 11) * 0x1p-53;
    for (int i = 0; i < p->arms; i++) {
        if (u < p->arm[i].share) return i;
        u -= p->arm[i].share;
    }
    return -1;
}

/* What an arm does to a session. */
struct treatment {
    enum way_kind kind;
    char profile[SERVICE_NAME];
};

static void treat(struct trial_run *t, struct track_row *row, const struct treatment *w)
{
    row->observed = w->kind == WAY_PLAYER;
    row->apart = w->kind != WAY_ABRD;
    struct profile p;
    int slot = PROFILES_SLOT_CUSTOM;
    if (!w->profile[0] || profiles_get(&p, &slot, t->how.profiles, w->profile, NULL))
        return; /* it may have been deleted */
    row->qoe = p.qoe;
    row->slot = (uint8_t)slot;
    row->has_mu = false;
    row->hinted = true;
    memcpy(row->profile, p.name, sizeof row->profile);
}

/* The arm whose treatment the sessions of an arm get: that of the control, if it is stopped or closed.
 * Under the lock. */
static int arm_treated(const struct trial_run *t, int arm)
{
    bool stopped = t->now.phase == TRIAL_RUNS && t->now.stopped_by[arm] >= 0;
    return stopped || t->ways->way[arm].closed ? 0 : arm;
}

/* Whether the arm or the control, to which it may fall back, decides by itself. */
static bool arm_owns(const struct ways *w, int arm)
{
    return w->way[arm].kind >= WAY_ALGO || w->way[0].kind >= WAY_ALGO;
}

/* Fills row->arm. Under the lock. False: the session is in no arm. */
static bool assign_arm(struct trial_run *t, struct track_row *row, struct treatment *w,
                       const struct session_open *in, int network)
{
    struct trial_report *r = &t->now;
    struct track_arm *a = &row->arm;
    int arm = r->promoted;
    if (r->phase == TRIAL_RUNS) {
        a->unit = viewer_unit(t->key, r->plan.name, in->viewer, row->key);
        arm = drawn(&r->plan, a->unit);
        if (arm < 0) return false;
        bool fell_back = r->stopped_by[arm] >= 0 || t->ways->way[arm].closed;
        bool again = (a->unit & VIEWER_NAMED) &&
                     seen_here(t->seen, &t->n_seen, t->own, &t->n_own, a->unit);
        a->assigned = again ? TRACK_AGAIN : fell_back ? TRACK_FELL_BACK : TRACK_COUNTED;
        memcpy(a->trial, r->plan.name, sizeof a->trial);
        memcpy(a->name, r->plan.arm[arm].name, sizeof a->name);
        a->network = (uint8_t)network;
    }
    int treated = arm_treated(t, arm);
    a->index = (uint8_t)arm;
    a->number = t->number;
    a->own = arm_owns(t->ways, arm);
    w->kind = t->ways->way[treated].kind;
    memcpy(w->profile, r->plan.arm[treated].profile, sizeof w->profile);
    return true;
}

void trial_run_assign(struct trial_run *t, struct track_row *row,
                      const struct session_open *in)
{
    if (in->mode != SESSION_DEFAULT) return;
    int network = compare_network(networks_start_kbps(t->how.networks, row->network));
    struct treatment w;
    pthread_mutex_lock(&t->lock);
    bool acts = (t->now.phase == TRIAL_RUNS || t->now.phase == TRIAL_PROMOTED) && t->ways;
    bool in_arm = acts && assign_arm(t, row, &w, in, network);
    pthread_mutex_unlock(&t->lock);
    if (in_arm) treat(t, row, &w);
}

void trial_run_assigned(struct trial_run *t, struct track_row *row)
{
    if (!row->arm.trial[0]) return;
    pthread_mutex_lock(&t->lock);
    bool same = t->now.phase == TRIAL_RUNS && t->ways &&
                !strcmp(t->now.plan.name, row->arm.trial);
    int arm = same ? arm_of(&t->now.plan, row->arm.name) : -1;
    if (arm >= 0) {
        row->arm.index = (uint8_t)arm;
        row->arm.number = t->number;
        row->arm.own = arm_owns(t->ways, arm);
        row->apart = t->ways->way[arm].kind != WAY_ABRD;
    }
    pthread_mutex_unlock(&t->lock);
}

/* The decider of a session's arm; NULL: the daemon's own. ways_return follows. */
static const struct way *ways_lend(struct ways **lent, struct trial_run *t,
                                   const struct decision *d)
{
    pthread_mutex_lock(&t->lock);
    const struct way *way = NULL;
    if (d->trial == t->number && t->ways && d->arm < t->ways->n) {
        way = &t->ways->way[arm_treated(t, d->arm)];
        if (way->kind == WAY_ABRD || way->kind == WAY_PLAYER) way = NULL;
    }
    *lent = way ? t->ways : NULL;
    if (way) t->ways->refs++;
    pthread_mutex_unlock(&t->lock);
    return way;
}

static void ways_return(struct trial_run *t, struct ways *lent)
{
    pthread_mutex_lock(&t->lock);
    bool last = !--lent->refs && lent->retired;
    pthread_mutex_unlock(&t->lock);
    if (last) ways_free(lent);
}

enum part_decide trial_run_decide(struct verdict *out, struct trial_run *t,
                                  const struct decision *d)
{
    if (!d->trial) return PART_PASSES;
    struct ways *lent;
    const struct way *way = ways_lend(&lent, t, d);
    if (!way) return PART_PASSES;
    bool ok = true;
    if (way->kind == WAY_WEIGHTS) {
        ok = decide(out, way->packed, d->decider, d->view, -1);
    } else {
        int level = way->algo.decide(way->algo.self, d->asked, NULL);
        /* an algorithm sees the whole ladder: of a long one the step keeps the level chosen alone */
        bool whole = d->asked->levels <= FEAT_LEVELS;
        *out = (struct verdict){
            .level = level, .seen = whole ? 0 : UINT32_C(1) << level, .expert = -1};
        out->prob[whole ? level : 0] = 1;
    }
    out->by = BY_ARM;
    ways_return(t, lent);
    return ok ? PART_DECIDED : PART_NOT_FINITE;
}

/* What all nodes counted, until the lock is released. */
static const struct compare *compare_of_all(struct trial_run *t)
{
    if (!t->id) return &t->now.compare;
    t->all = t->now.compare;
    compare_merge(&t->all, &t->others);
    return &t->all;
}

/* Stops the arms that are surely worse; returns them as bits. Under the lock. */
static unsigned stop_worse(struct trial_run *t, const struct compare *all)
{
    struct trial_report *r = &t->now;
    unsigned stopped = 0;
    for (int a = 1; a < r->plan.arms; a++) {
        if (r->stopped_by[a] >= 0) continue;
        r->stopped_by[a] = compare_worse(all, a);
        if (r->stopped_by[a] < 0) continue;
        stopped |= 1u << a;
        t->stops++;
        t->changes++;
    }
    return stopped;
}

/* The arms that were stopped, for the log. */
struct stops {
    unsigned arms;
    struct trial_plan plan;
    int by[COMPARE_ARMS];
    struct confseq_interval k[COMPARE_ARMS];
};

/* Under the lock. */
static void look(struct stops *out, struct trial_run *t)
{
    out->arms = 0;
    if (t->now.phase != TRIAL_RUNS) return;
    const struct compare *all = compare_of_all(t);
    out->arms = stop_worse(t, all);
    if (!out->arms) return;
    out->plan = t->now.plan;
    for (int a = 1; a < out->plan.arms; a++) {
        out->by[a] = t->now.stopped_by[a];
        if (out->by[a] >= 0)
            out->k[a] = compare_diff(all, a, 0, (enum compare_figure)out->by[a]);
    }
}

static void say_stopped(const struct trial_run *t, const struct stops *s)
{
    const struct trial_plan *p = &s->plan;
    for (int a = 1; s->arms && a < p->arms; a++)
        if (s->arms >> a & 1)
            log_event(
                t->how.log, LOG_WARN, "trial",
                "%s: arm %s is stopped: %s is worse than that of %s by %.4g (%.4g to "
                "%.4g); its sessions are treated as %s from now on",
                p->name, p->arm[a].name, compare_kinds[s->by[a]].name, p->arm[0].name,
                s->k[a].mean, s->k[a].lo, s->k[a].hi, p->arm[0].name);
}

/* The arm of a session of this trial, by name as at a start: also of one that began before a change of the
 * phase. -1: of another trial. Under the lock. */
static int arm_here(const struct trial_run *t, const struct track_row *row)
{
    bool same = t->now.phase != TRIAL_NONE && !strcmp(t->now.plan.name, row->arm.trial);
    return same ? arm_of(&t->now.plan, row->arm.name) : -1;
}

void trial_run_opened(struct trial_run *t, const struct track_row *row)
{
    if (!row->arm.trial[0]) return;
    pthread_mutex_lock(&t->lock);
    int arm = arm_here(t, row);
    if (arm >= 0) compare_assign(&t->now.compare, arm, counted_as(row));
    t->counted += arm >= 0;
    pthread_mutex_unlock(&t->lock);
}

void trial_run_ended(struct trial_run *t, const struct track_row *row)
{
    if (!row->arm.trial[0] || row->arm.assigned != TRACK_COUNTED) return;
    struct stops stops = {.arms = 0};
    pthread_mutex_lock(&t->lock);
    int arm = arm_here(t, row);
    if (arm >= 0) {
        count_end(&t->now, arm, row);
        t->counted++;
        look(&stops, t);
    }
    pthread_mutex_unlock(&t->lock);
    say_stopped(t, &stops);
}

void trial_run_others(struct trial_run *t, uint64_t id, const struct compare *sum,
                      int nodes)
{
    struct stops stops = {.arms = 0};
    pthread_mutex_lock(&t->lock);
    if (t->id == id && t->now.phase != TRIAL_NONE) {
        struct compare_cfg cfg = t->others.cfg;
        t->others = *sum;
        t->others.cfg = cfg;
        t->now.nodes = 1 + nodes;
        look(&stops, t);
    }
    pthread_mutex_unlock(&t->lock);
    say_stopped(t, &stops);
}

/* ---- figures ---- */

int trial_run_report(struct trial_report *out, struct trial_run *t, struct err *e)
{
    pthread_mutex_lock(&t->lock);
    *out = t->now;
    if (t->id) compare_merge(&out->compare, &t->others);
    pthread_mutex_unlock(&t->lock);
    return out->phase == TRIAL_NONE
               ? err_field(e, ERR_ABSENT, "trial", "there was no trial")
               : 0;
}

int trial_run_labelled(struct trial_report *out, struct trial_run *t,
                       const struct labels *labels, struct err *e)
{
    struct err mine = {0};
    if (!e) e = &mine;
    int rc = trial_run_report(out, t, e);
    if (!rc && (!t->how.store || !t->how.store->trial))
        rc = err_field(e, ERR_CONFLICT, "label",
                       "needs the sessions of the trial: start the daemon with --data");
    struct draft *d = rc ? NULL : draft_new(t, &out->plan, labels, e);
    if (d) {
        out->compare = d->report.compare;
        out->labels = *labels;
        out->nodes = 1;
    }
    if (!rc && !d) rc = e->code;
    draft_free(d);
    return rc;
}

void trial_run_stats(struct trial_stats *out, struct trial_run *t)
{
    double unused;
    pthread_mutex_lock(&t->lock);
    const struct trial_report *r = &t->now;
    const struct compare *all = compare_of_all(t);
    *out = (struct trial_stats){.phase = r->phase,
                                .stops = t->stops,
                                .nodes = r->nodes,
                                .arms = r->phase == TRIAL_NONE ? 0 : r->plan.arms};
    for (int a = 0; a < out->arms; a++) {
        const struct compare_arm *arm = &all->arm[a];
        memcpy(out->arm[a], r->plan.arm[a].name, sizeof out->arm[a]);
        out->assigned[a] = arm->counted;
        out->analysed[a] = compare_analysed(arm);
        out->stopped[a] = r->stopped_by[a] >= 0;
        out->stall_ratio[a] = compare_mean(&arm->cell[0][COMPARE_STALL_RATIO]);
        out->startup_s[a] = compare_mean(&arm->cell[0][COMPARE_STARTUP]);
        out->quality[a] = compare_mean(&arm->cell[0][COMPARE_QUALITY]);
    }
    if (out->arms) out->mismatch = compare_mismatch(&unused, all);
    pthread_mutex_unlock(&t->lock);
}

/* The service as a whole: start, periodic work, drain. */
#include "service_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/cond.h"
#include "learn/ckpt.h"
#include "serve/cluster/cluster.h"
#include "serve/learner/bus_local.h"
#include "serve/session/limits.h"
#include "serve/store/store_sqlite.h"

enum {
    BUS_SLOTS = 1024,     /* trajectories waiting for the learner */
    EXPIRE_AT_ONCE = 128, /* sessions */
    SPARE_STEPS = 262144, /* most steps for open trajectories */
    MEMORY_STEPS = 1048576,
};
static const double PRUNE_EVERY_S = 10;
static const double BUS_WAIT_S = .04; /* of a caller's own turn */

static void set_live(struct service *s, const struct service_cfg *cfg)
{
    s->own_share = cfg->explore_share;
    if (!s->cluster) s->explore_share = cfg->explore_share;
    s->session_ttl_s = cfg->session_ttl_s;
    s->retention_s = cfg->retention_s;
    s->checkpoint_s = cfg->checkpoint_s;
}

int service_reload(struct service *s, const struct service_cfg *cfg, struct err *e)
{
    int rc = service_check(cfg, e);
    if (rc) return rc;
    set_live(s, cfg);
    if (s->cluster) cluster_reload(s);
    return 0;
}

double service_now(struct service *s)
{
    return s->cfg.clock ? s->cfg.clock(s->cfg.clock_ctx) : s->epoch + clock_mono();
}

/* ---- start ---- */

static int open_store(struct service *s, struct err *e)
{
    if (s->folder.lock < 0) return 0;
    struct store store;
    struct store_sqlite_cfg cfg = {.path = s->folder.db};
    const struct service_parts *parts = &s->cfg.parts;
    int rc = parts->store ? parts->store(&store, parts->ctx, cfg.path, e)
                          : store_sqlite_open(&store, &cfg, e);
    if (rc) return rc;
    s->writer = writer_new(&store, s->cfg.store_queue, s->cfg.flush_s, e);
    return s->writer ? 0 : ERR_MEMORY;
}

static int open_bus(struct service *s, struct err *e)
{
    const struct service_parts *parts = &s->cfg.parts;
    return parts->bus ? parts->bus(&s->bus, parts->ctx, e)
                      : bus_local_init(&s->bus, BUS_SLOTS, e);
}

/* Of what a version decides by: its weights, and who is busy. */
static uint32_t version_crc(const struct policy *p)
{
    uint64_t busy[2] = {p->actor->busy, p->critic->busy};
    uint32_t crc = policy_crc32(p);
    return busy[0] || busy[1] ? bytes_crc32(crc, busy, sizeof busy) : crc;
}

/* Versions never go back: the same weights keep theirs, others get the next one. A checkpoint may
 * know of a later one than the store, whose record of it was lost. state: p is of a checkpoint, whose
 * learner knows who is busy; that is part of what another version was. */
static int choose_version(struct service *s, struct policy *p, bool state, struct err *e)
{
    if (s->cluster) { /* where versions are the learner's */
        if (!p->version) p->version = 1;
        return 0;
    }
    struct store_version newest = {0};
    int rc = service_earlier(&newest, s, e);
    if (rc) return rc;
    uint64_t held = p->version;
    if (!newest.version)
        p->version = held ? held : 1;
    else if (held <= newest.version) {
        bool same = newest.crc == version_crc(p) && (!state || held == newest.version);
        p->version = same ? newest.version : newest.version + 1;
    }
    if (!held) held = 1; /* weights that were never served have no number in their file */
    if (newest.version && p->version != newest.version)
        log_event(
            s->cfg.log, LOG_WARN, "policy",
            "version %llu was the last one published; version %llu goes on as %llu%s",
            (unsigned long long)newest.version, (unsigned long long)held,
            (unsigned long long)p->version,
            state ? ""
                  : ": restore policy.safetensors from a backup, or the learner "
                    "begins anew");
    s->folder.missing += newest.version && p->version != newest.version && !state &&
                         s->folder.lock >= 0 && access(s->folder.policy, F_OK);
    return 0;
}

/* A version is in the store before anybody decides by it, so that none goes back after a crash. */
static int store_version(void *ctx, const struct policy *p, double now, double score,
                         struct err *e)
{
    struct service *s = ctx;
    if (s->cluster) return cluster_announce(s, p, score, e);
    if (!s->writer) return 0;
    struct store_rec r = {.kind = STORE_VERSION,
                          .version = {p->version, version_crc(p), now, score}};
    int rc = writer_reserve(s->writer, 1, e);
    if (rc) return rc;
    writer_put(s->writer, &r, 1, 1);
    return writer_flush(s->writer, e);
}

/* A store that fails now is no reason not to start: it may work again, and is told of by then. */
static void store_start(struct service *s)
{
    const struct weights *w = published_get(s->published);
    struct err why = {0};
    if (!s->cluster && store_version(s, w->policy, w->published_at, w->check_score, &why))
        log_err(s->cfg.log, LOG_ERROR, "store", &why);
    published_put(s->published, w);
}

/* Weights, and the learner that goes on from them. */
static int open_policy(struct service *s, struct err *e)
{
    void *state = NULL;
    size_t state_n = 0;
    struct ckpt_meta *meta = calloc(1, sizeof *meta); /* too much for a stack */
    if (!meta) return err_set(e, ERR_MEMORY, "no memory for the policy");
    struct policy *p = folder_policy(&s->folder, s->cfg.policy_path, meta, &state,
                                     &state_n, s->cfg.log, e);
    if (!p) {
        free(meta);
        return ERR_IO;
    }

    s->policy_cfg = p->cfg;
    double score = NAN;
    bool fresh = false;
    struct learner_cfg lc = {.online = s->cfg.online,
                             .added = s->added,
                             .curve = s->curve,
                             .ckpt_path = s->folder.lock >= 0 ? s->folder.policy : NULL,
                             .announce = store_version,
                             .announce_ctx = s};
    struct policy *published = NULL;
    int rc = choose_version(s, p, state != NULL, e);
    if (rc) goto out;
    /* not the file's number: the API tells this one */
    log_event(s->cfg.log, LOG_INFO, "policy", "version %llu from %s",
              (unsigned long long)p->version, s->folder.from);

    rc = ERR_MEMORY;
    struct exam *exam = exam_new(&p->cfg, e);
    if (!exam) goto out;
    score = exam_score(exam, p);
    exam_free(exam);
    published = policy_clone(p, e);
    if (!published) goto out;
    s->published = published_new(published, service_now(s), score, e);
    if (!s->published) goto out;
    rc = 0;
    if (!s->cfg.learn) goto out;

    rc = s->cluster ? 0 : open_bus(s, e);
    if (rc) goto out;
    s->learner = learner_new(&lc, p, state, state_n, &fresh, s->published, &s->bus, e);
    if (!s->learner) rc = ERR_MEMORY;
    if (s->learner && fresh) learner_gates(s->learner, meta);
    if (s->learner && fresh && state)
        log_event(
            s->cfg.log, LOG_WARN, "learner",
            "the checkpoint's optimiser is of another configuration: starting anew");
out:
    policy_free(p);
    free(meta);
    free(state);
    return rc;
}

static int open_added(struct service *s, struct err *e)
{
    struct added_cfg cfg = {.max = s->cfg.grow_max,
                            .experts = s->cfg.grow_experts,
                            .gate = s->cfg.grow_gate,
                            .learn = s->cfg.learn,
                            .online = s->cfg.online,
                            .dir = s->folder.lock >= 0 ? s->cfg.data_dir : NULL,
                            .log = s->cfg.log};
    s->added = added_new(&cfg, e);
    return s->added ? 0 : ERR_MEMORY;
}

static int open_hintless(struct service *s, struct err *e)
{
    struct hintless_new how = {.cfg = s->cfg.hintless,
                               .router = &s->policy_cfg,
                               .weights = s->published,
                               .default_profile = s->cfg.default_profile,
                               .state_path =
                                   s->folder.lock >= 0 ? s->folder.hintless : NULL,
                               .seed = s->cfg.seed,
                               .now = service_now(s),
                               .log = s->cfg.log};
    folder_hintless(&s->folder, s->cfg.log);
    s->hintless = hintless_new(&how, e);
    return s->hintless ? 0 : ERR_INVALID;
}

static struct sessions *make_sessions(const struct service_cfg *c, bool stored,
                                      struct err *e)
{
    struct sessions_cfg sc = {.max = c->max_sessions,
                              .keep = stored ? TRACK_KEEP : TRACK_MEMORY,
                              .entropy = c->parts.entropy,
                              .number = (uint8_t)c->cluster.number,
                              .strict = c->strict};
    double spare = stored ? c->explore_share * c->max_sessions * TRAJ_STEPS / 2
                          : 64.0 * c->max_sessions;
    double most = stored ? SPARE_STEPS : MEMORY_STEPS;
    sc.spare = 4096 + (int)fmin(spare, most);
    return sessions_new(&sc, e);
}

struct service *service_new(const struct service_cfg *cfg, struct err *e)
{
    struct err mine = {0};
    if (!e) e = &mine;
    if (service_check(cfg, e)) return NULL;
    struct service *s = calloc(1, sizeof *s);
    if (!s) {
        err_set(e, ERR_MEMORY, "no memory for the service");
        return NULL;
    }
    s->cfg = *cfg;
    set_live(s, cfg);
    s->epoch = clock_now() - clock_mono();
    s->folder.lock = -1;
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->profiles_lock, NULL);
    cond_init(&s->stop);
    atomic_flag_clear(&s->ticking);
    s->checkpoint_at = service_now(s) + cfg->checkpoint_s;

    if (folder_open(&s->folder, cfg->data_dir, e)) goto fail;
    if (cfg->secret &&
        folder_secret(&s->folder, s->secret, &cfg->parts.entropy, cfg->log, e))
        goto fail;
    s->curve = curve_new(e);
    if (!s->curve) goto fail;
    if (open_store(s, e) || cluster_open(s, e) || open_added(s, e) || open_policy(s, e) ||
        open_hintless(s, e) || cluster_start(s, e))
        goto fail;
    s->profiles = profiles_new(e);
    s->sessions = make_sessions(cfg, s->writer, e);
    if (!s->profiles || !s->sessions || service_restore(s, e)) goto fail;

    struct profile p;
    if (profiles_get(&p, NULL, s->profiles, cfg->default_profile, NULL)) {
        err_field(e, ERR_ABSENT, "default-profile", "there is no profile '%.63s'",
                  cfg->default_profile);
        goto fail;
    }
    store_start(s);
    service_begun(s);
    return s;

fail:
    service_free(s);
    return NULL;
}

/* ---- learning, periodic work ---- */

/* One turn of the learner; a rolled-back update is logged and told, nothing else happens. */
int service_turn(struct service *s, double wait_s, struct err *e)
{
    struct err why = {0};
    bool told = !learner_published(s->learner); /* of what is tried again in every turn */
    int rc = learner_turn(s->learner, wait_s, service_now(s), &why);
    if (rc == 1) {
        const struct weights *w = published_get(s->published);
        log_event(s->cfg.log, LOG_INFO, "policy", "version %llu, check %.4f",
                  (unsigned long long)w->policy->version, w->check_score);
        published_put(s->published, w);
    } else if (rc < 0) {
        log_err(s->cfg.log, told ? LOG_DEBUG : LOG_WARN, "learner", &why);
        err_field(e, why.code, why.field, "%s", why.detail);
    }
    return rc;
}

void service_checkpoint(struct service *s, bool now)
{
    double at = service_now(s);
    if (!s->learner || (!now && at < s->checkpoint_at)) return;
    s->checkpoint_at = at + s->checkpoint_s;
    struct err why = {0};
    if (learner_checkpoint(s->learner, &why))
        log_err(s->cfg.log, LOG_ERROR, "checkpoint", &why);
}

int service_learn(struct service *s, struct err *e)
{
    if (s->cluster && !s->threads) cluster_turn(s, BUS_WAIT_S);
    if (!s->learner || s->threads || s->cluster) return 0;
    int rc = service_turn(s, 0, e);
    service_checkpoint(s, false);
    return rc;
}

bool service_expire(struct service *s)
{
    double now = service_now(s);
    struct changes c;
    for (int n = 0; n < EXPIRE_AT_ONCE; n++) {
        if (s->writer && writer_pressed(s->writer)) return false;
        if (service_admit(s, NULL)) return false;
        track_changes_clear(&c);
        if (!sessions_expire(s->sessions, now - s->session_ttl_s, now, &c)) {
            service_dismiss(s);
            return false;
        }
        service_deliver(s, &c, false, c.row.id);
        atomic_fetch_add(&s->expired, 1);
    }
    return true;
}

/* The profiles as they are now, and the next slot when it is time. */
static void turn_slot(struct service *s, double now)
{
    struct profile p[PROFILES_MAX];
    int n = profiles_list(p, PROFILES_MAX, s->profiles);
    hintless_profiles(s->hintless, p, n);
    (void)hintless_tick(s->hintless, now);
}

static void prune(struct service *s, double now)
{
    if (!s->writer || s->retention_s <= 0 || now < s->prune_at) return;
    if (writer_reserve(s->writer, 1, NULL)) return;
    s->prune_at = now + PRUNE_EVERY_S;
    struct store_rec r = {.kind = STORE_PRUNE, .before = now - s->retention_s};
    writer_put(s->writer, &r, 1, 1);
}

static void tidy(struct service *s)
{
    const struct store *store = s->writer ? writer_store(s->writer) : NULL;
    struct err why = {0};
    if (store && store->tidy && store->tidy(store->self, &why))
        log_err(s->cfg.log, LOG_WARN, "store", &why);
}

void service_periodic(struct service *s)
{
    if (atomic_flag_test_and_set(&s->ticking)) return;
    double now = service_now(s);
    while (!s->threads && service_expire(s))
        ;
    turn_slot(s, now);
    prune(s, now);
    tidy(s);
    if (s->cluster) cluster_tick(s);
    if (!s->learner && !s->cluster) added_sweep(s->added);
    atomic_flag_clear(&s->ticking);
}

int service_commit(struct service *s, struct err *e)
{
    return s->writer ? writer_flush(s->writer, e) : 0;
}

void service_tick(struct service *s)
{
    service_periodic(s);
    struct err why = {0};
    if (service_commit(s, &why)) log_err(s->cfg.log, LOG_ERROR, "store", &why);
}

/* ---- end ---- */

/* What cannot be written now is lost with the process. */
static int drain_store(struct service *s, struct err *e)
{
    struct err why = {0};
    int rc = service_commit(s, &why);
    if (!rc) return 0;
    struct writer_stats stats;
    writer_stats(s->writer, &stats);
    log_event(s->cfg.log, LOG_ERROR, "store",
              "%llu records that were acknowledged cannot be written and are lost: %s",
              (unsigned long long)stats.queued, why.detail);
    return err_field(e, rc, why.field, "%llu acknowledged records are lost: %.180s",
                     (unsigned long long)stats.queued, why.detail);
}

int service_drain(struct service *s, struct err *e)
{
    atomic_store(&s->draining, true);
    if (s->cluster) cluster_drain(s);
    service_stop_threads(s);
    service_checkpoint(s, true);
    struct err why = {0};
    if (hintless_save(s->hintless, &why)) log_err(s->cfg.log, LOG_ERROR, "slot", &why);
    return drain_store(s, e);
}

void service_free(struct service *s)
{
    if (!s) return;
    service_stop_threads(s);
    learner_free(s->learner);
    curve_free(s->curve);
    if (s->bus.self) s->bus.free(s->bus.self);
    cluster_close(s);
    added_free(s->added);
    published_free(s->published);
    hintless_free(s->hintless);
    sessions_free(s->sessions);
    profiles_free(s->profiles);
    writer_free(s->writer);
    folder_close(&s->folder);
    pthread_cond_destroy(&s->stop);
    pthread_mutex_destroy(&s->profiles_lock);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

struct service_worker *service_worker_new(struct service *s, struct err *e)
{
    struct service_worker *w = calloc(1, sizeof *w);
    if (!w) {
        err_set(e, ERR_MEMORY, "no memory for a worker");
        return NULL;
    }
    w->service = s;
    w->desk = hintless_desk_new(s->hintless, e);
    if (!w->desk || decide_init(&w->decider, &s->policy_cfg, e)) {
        service_worker_free(w);
        return NULL;
    }
    return w;
}

void service_worker_free(struct service_worker *w)
{
    if (!w) return;
    hintless_desk_free(w->desk);
    free(w);
}

void service_worker_from(struct service_worker *w, uint64_t from)
{
    w->from = from;
}

void service_worker_stages(struct service_worker *w, struct stages *stages)
{
    w->stages = stages;
}

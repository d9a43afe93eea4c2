/* The service as a whole: start, drain and end. */
#include "serve/session/core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/rng.h"
#include "learn/ckpt.h"
#include "serve/learner/bus_local.h"
#include "serve/parts.h"
#include "serve/session/limits.h"
#include "serve/store/store_sqlite.h"

enum {
    SPARE_STEPS = 262144, /* most steps for open trajectories */
    MEMORY_STEPS = 1048576,
};

const char *const service_by_words[BY_WAYS + 1] = {
    "router", "default", "mean-hint", "identify", "merge", "arm", NULL};

const char *service_by_name(enum service_by by)
{
    return service_by_words[by];
}

static void set_live(struct service *s, const struct service_cfg *cfg)
{
    s->own_share = cfg->explore_share;
    if (!s->peers) s->explore_share = cfg->explore_share;
    s->session_ttl_s = cfg->session_ttl_s;
    s->retention_s = cfg->retention_s;
    s->checkpoint_s = cfg->checkpoint_s;
    struct profiles_ceilings ceilings; /* checked before */
    if (!profiles_ceilings_read(&ceilings, cfg, NULL))
        profiles_ceilings_put(s->profiles, &ceilings);
}

int service_reload(struct service *s, const struct service_cfg *cfg, struct err *e)
{
    int rc = service_check(cfg, e);
    if (rc) return rc;
    set_live(s, cfg);
    for (int i = 0; i < s->parts_started; i++)
        if (parts_at(i)->reload) parts_at(i)->reload(s->part[i]);
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

/* Opens the parts in the order of the table. */
static int open_parts(struct service *s, const struct parts_cfg *cfg, struct err *e)
{
    int rc = 0;
    for (int i = 0; i < parts_n() && !rc; i++) {
        const struct part *p = parts_at(i);
        if (p->open) rc = p->open(&s->part[i], s, parts_settings(i, cfg), e);
        s->parts_open = i + 1; /* includes a part whose open failed */
    }
    return rc;
}

/* Starts the parts from the last to the first. The cluster, the first row, shares data of the others. */
static int start_parts(struct service *s, struct err *e)
{
    int rc = 0;
    for (int i = parts_n(); i-- > 0 && !rc;)
        if (parts_at(i)->start) rc = parts_at(i)->start(s->part[i], e);
    if (!rc) s->parts_started = parts_n();
    return rc;
}

void *service_part(struct service *s, const char *name)
{
    for (int i = 0; i < s->parts_open; i++)
        if (!strcmp(parts_at(i)->name, name)) return s->part[i];
    return NULL;
}

static struct sessions *make_sessions(const struct service_cfg *c, bool stored,
                                      uint8_t number, struct err *e)
{
    struct sessions_cfg sc = {.max = c->max_sessions,
                              .keep = stored ? TRACK_KEEP : TRACK_MEMORY,
                              .entropy = c->parts.entropy,
                              .number = number,
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
    struct parts_cfg optional = cfg->optional ? *cfg->optional : parts_cfg_default();
    if (service_check(cfg, e)) return NULL;
    struct service *s = calloc(1, sizeof *s);
    if (!s) {
        err_set(e, ERR_MEMORY, "no memory for the service");
        return NULL;
    }
    s->cfg = *cfg;
    s->cfg.optional = NULL; /* borrowed only for this call */
    s->cfg.ceilings.n = 0;  /* likewise */
    s->epoch = clock_now() - clock_mono();
    s->folder.lock = -1;
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->profiles_lock, NULL);
    cond_init(&s->stop);
    atomic_flag_clear(&s->ticking);
    s->cfg.metrics_label = NULL; /* not borrowed: see labels */
    label_sums_init(&s->labels, cfg->metrics_label ? labels_find(cfg->metrics_label) : -1,
                    cfg->metrics_values);
    s->checkpoint_at = service_now(s) + cfg->checkpoint_s;
    s->profiles = profiles_new(e);
    if (!s->profiles) goto fail;
    set_live(s, cfg);

    if (folder_open(&s->folder, cfg->data_dir, e)) goto fail;
    for (int i = 0; i < SIPHASH_KEY; i++)
        s->viewers[i] = (uint8_t)rng_u64_at(cfg->seed, UINT64_MAX, (uint64_t)i);
    if (cfg->secret &&
        folder_secret(&s->folder, s->secret, &cfg->parts.entropy, cfg->log, e))
        goto fail;
    if (cfg->secret) memcpy(s->viewers, s->secret, sizeof s->viewers);
    s->curve = curve_new(e);
    s->experience = s->curve ? experience_new(e) : NULL;
    if (!s->experience) goto fail;
    s->networks =
        networks_new(NETWORKS_MAX, cfg->seed, e); /* its keys are keyed hashes */
    if (!s->networks) goto fail;
    if (open_store(s, e) || open_parts(s, &optional, e) || service_open_policy(s, e) ||
        start_parts(s, e))
        goto fail;
    s->sessions = make_sessions(cfg, s->writer, s->number, e);
    if (!s->sessions || service_restore(s, e)) goto fail;

    struct profile p;
    if (profiles_get(&p, NULL, s->profiles, cfg->default_profile, NULL)) {
        err_field(e, ERR_ABSENT, "default-profile", "there is no profile '%.63s'",
                  cfg->default_profile);
        goto fail;
    }
    service_begun(s);
    return s;

fail:
    service_free(s);
    return NULL;
}

/* ---- end ---- */

/* Records that cannot be written now are lost with the process. */
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
    for (int i = 0; i < s->parts_started; i++)
        if (parts_at(i)->drain) parts_at(i)->drain(s->part[i]);
    service_stop_threads(s);
    service_checkpoint(s, true);
    for (int i = 0; i < s->parts_started; i++)
        if (parts_at(i)->save) parts_at(i)->save(s->part[i]);
    service_save_experience(s);
    return drain_store(s, e);
}

void service_free(struct service *s)
{
    if (!s) return;
    service_stop_threads(s);
    learner_free(s->learner);
    curve_free(s->curve);
    if (s->bus.self) s->bus.free(s->bus.self);
    for (int i = 0; i < s->parts_open; i++)
        if (parts_at(i)->free) parts_at(i)->free(s->part[i]);
    published_free(s->published);
    sessions_free(s->sessions);
    experience_free(s->experience);
    networks_free(s->networks);
    label_sums_free(&s->labels);
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
    int rc = decide_init(&w->decider, &s->policy_cfg, e);
    for (int i = 0; i < parts_n() && !rc; i++) {
        if (!parts_at(i)->desk) continue;
        w->desk[i] = parts_at(i)->desk(s->part[i], e);
        if (!w->desk[i]) rc = ERR_MEMORY;
    }
    if (!rc) return w;
    service_worker_free(w);
    return NULL;
}

void service_worker_free(struct service_worker *w)
{
    if (!w) return;
    for (int i = 0; i < parts_n(); i++)
        if (w->desk[i]) parts_at(i)->desk_free(w->desk[i]);
    free(w);
}

void service_worker_from(struct service_worker *w, uint64_t from, uint64_t network)
{
    w->from = from;
    w->network = network;
}

void service_worker_stages(struct service_worker *w, struct stages *stages)
{
    w->stages = stages;
}

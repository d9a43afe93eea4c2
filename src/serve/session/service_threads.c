/* The threads of the service: learner, store, clock, and the heartbeat of a leader. */
#include "serve/session/core.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/cond.h"
#include "serve/parts.h"

enum { EXPIRE_AT_ONCE = 128 }; /* sessions */
static const double PRUNE_EVERY_S = 10, EXPERIENCE_EVERY_S = 60;
static const double EXPIRE_PAUSE_S = 1. / 64, RETRY_S = 1, HEARTBEAT_LOOK_S = .125;

/* ---- the clock's work ---- */

/* Closes some idle sessions while the store's queue has plenty of room. True: there may be more. */
static bool expire_some(struct service *s)
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

static void prune_store(struct service *s, double now)
{
    if (!s->writer || s->retention_s <= 0 || now < s->prune_at) return;
    if (writer_reserve(s->writer, 1, NULL)) return;
    s->prune_at = now + PRUNE_EVERY_S;
    struct store_rec r = {.kind = STORE_PRUNE, .before = now - s->retention_s};
    writer_put(s->writer, &r, 1, 1);
}

static void tidy_store(struct service *s)
{
    const struct store *store = s->writer ? writer_store(s->writer) : NULL;
    struct err why = {0};
    if (store && store->tidy && store->tidy(store->self, &why))
        log_err(s->cfg.log, LOG_WARN, "store", &why);
}

void service_save_experience(struct service *s)
{
    if (s->folder.lock < 0) return;
    struct err why = {0};
    if (experience_save(s->experience, s->folder.experience, s->profiles, &why))
        log_err(s->cfg.log, LOG_ERROR, "experience", &why);
}

static void keep_experience(struct service *s, double now)
{
    if (now < s->experience_at) return;
    if (s->experience_at > 0) service_save_experience(s);
    s->experience_at = now + EXPERIENCE_EVERY_S;
}

void service_periodic(struct service *s)
{
    if (atomic_flag_test_and_set(&s->ticking)) return;
    double now = service_now(s);
    while (!s->threads && expire_some(s))
        ;
    prune_store(s, now);
    tidy_store(s);
    for (int i = 0; i < s->parts_started; i++)
        if (parts_at(i)->tick) parts_at(i)->tick(s->part[i], now);
    keep_experience(s, now);
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

/* ---- threads ---- */

static bool service_stopping(struct service *s)
{
    pthread_mutex_lock(&s->lock);
    bool stop = s->stopping;
    pthread_mutex_unlock(&s->lock);
    return stop;
}

/* False: the service is stopping. */
static bool sleep_until(struct service *s, double at_s)
{
    pthread_mutex_lock(&s->lock);
    while (!s->stopping && cond_wait(&s->stop, &s->lock, at_s))
        ;
    bool stop = s->stopping;
    pthread_mutex_unlock(&s->lock);
    return !stop;
}

static void *learner_main(void *ctx)
{
    struct service *s = ctx;
    if (s->learner) learner_look(s->learner);
    while (!service_stopping(s)) {
        if (s->peers) {
            s->peers->turn(s->peers->self, .5);
            continue;
        }
        (void)!service_turn(s, .5, NULL);
        service_checkpoint(s, false);
        if (!learner_published(s->learner)) (void)sleep_until(s, clock_mono() + RETRY_S);
    }
    return NULL;
}

static void *writer_main(void *ctx)
{
    struct service *s = ctx;
    writer_run(s->writer);
    return NULL;
}

/* Many sessions may become idle at once. They are closed a few at a time, so that requests still get
 * the shards' locks, the processor and the store. */
static void *tick_main(void *ctx)
{
    struct service *s = ctx;
    double due_s = clock_mono() + 1;
    bool more = false;
    while (sleep_until(s, more ? fmin(due_s, clock_mono() + EXPIRE_PAUSE_S) : due_s)) {
        more = expire_some(s);
        if (clock_mono() < due_s) continue;
        service_periodic(s);
        due_s++;
    }
    return NULL;
}

/* A thread of its own, because an update or a checkpoint of the learner may take long. */
static void *heartbeat_main(void *ctx)
{
    struct service *s = ctx;
    while (sleep_until(s, clock_mono() + HEARTBEAT_LOOK_S))
        s->peers->heartbeat(s->peers->self);
    return NULL;
}

static int start_thread(struct service *s, enum service_thread which, void *(*fn)(void *),
                        const char *what, struct err *e)
{
    int rc = pthread_create(&s->thread[which], NULL, fn, s);
    if (rc) return err_set(e, ERR_IO, "no thread for the %s: %s", what, strerror(rc));
    pthread_setname_np(s->thread[which], what); /* shown by ps and top */
    s->has_thread[which] = s->threads = true;
    return 0;
}

int service_start_threads(struct service *s, struct err *e)
{
    assert(!s->threads);
    int rc = start_thread(s, THREAD_CLOCK, tick_main, "clock", e);
    if (s->writer && !rc) rc = start_thread(s, THREAD_STORE, writer_main, "store", e);
    if (s->peers && s->peers->heartbeat && !rc)
        rc = start_thread(s, THREAD_HEARTBEAT, heartbeat_main, "heartbeat", e);
    if ((s->learner || s->peers) && !rc)
        rc = start_thread(s, THREAD_LEARNER, learner_main, "learner", e);
    if (rc) service_stop_threads(s);
    return rc;
}

static void join_thread(struct service *s, enum service_thread which)
{
    if (s->has_thread[which]) pthread_join(s->thread[which], NULL);
    s->has_thread[which] = false;
}

void service_stop_threads(struct service *s)
{
    if (!s->threads) return;
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_cond_broadcast(&s->stop);
    pthread_mutex_unlock(&s->lock);

    join_thread(s, THREAD_CLOCK);
    if (s->has_thread[THREAD_LEARNER]) {
        if (s->peers)
            s->peers->wake(s->peers->self);
        else
            s->bus.wake(s->bus.self);
    }
    join_thread(s, THREAD_LEARNER);
    join_thread(s, THREAD_HEARTBEAT);
    if (s->has_thread[THREAD_STORE]) writer_stop(s->writer);
    join_thread(s, THREAD_STORE);
    s->threads = false;
}

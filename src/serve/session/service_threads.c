/* What runs beside the requests: the learner, the store and the clock, a thread each, and the
 * heartbeat of a leader. */
#include "serve/session/core.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/cond.h"
#include "serve/parts.h"

enum { EXPIRE_AT_ONCE = 128 }; /* sessions */
static const double PRUNE_EVERY_S = 10;
static const double EXPIRE_PAUSE_S = 1. / 64, RETRY_S = 1, HEARTBEAT_LOOK_S = .125;

/* ---- the clock's work ---- */

/* Ends some sessions that have fallen silent, while the store's queue has plenty of room: true when
 * there may be more of them to end now. */
static bool expire(struct service *s)
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
    while (!s->threads && expire(s))
        ;
    prune(s, now);
    tidy(s);
    for (int i = 0; i < s->parts_started; i++)
        if (parts_at(i)->tick) parts_at(i)->tick(s->part[i], now);
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

static bool stopping(struct service *s)
{
    pthread_mutex_lock(&s->lock);
    bool stop = s->stopping;
    pthread_mutex_unlock(&s->lock);
    return stop;
}

/* False: it is time to stop. */
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
    while (!stopping(s)) {
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

/* Many sessions may fall silent at once: they are ended a few at a time, so that neither their
 * shards' locks nor the processor nor the store are taken from those who ask. */
static void *tick_main(void *ctx)
{
    struct service *s = ctx;
    double due_s = clock_mono() + 1;
    bool more = false;
    while (sleep_until(s, more ? fmin(due_s, clock_mono() + EXPIRE_PAUSE_S) : due_s)) {
        more = expire(s);
        if (clock_mono() < due_s) continue;
        service_periodic(s);
        due_s++;
    }
    return NULL;
}

/* Apart from the learner, whose update or checkpoint may take long. */
static void *heartbeat_main(void *ctx)
{
    struct service *s = ctx;
    while (sleep_until(s, clock_mono() + HEARTBEAT_LOOK_S))
        s->peers->heartbeat(s->peers->self);
    return NULL;
}

static int start(pthread_t *thread, void *(*fn)(void *), struct service *s,
                 const char *what, struct err *e)
{
    int rc = pthread_create(thread, NULL, fn, s);
    if (rc) return err_set(e, ERR_IO, "no thread for the %s: %s", what, strerror(rc));
    pthread_setname_np(*thread, what); /* what ps and top show */
    return 0;
}

int service_start_threads(struct service *s, struct err *e)
{
    assert(!s->threads);
    int rc = start(&s->tick_thread, tick_main, s, "clock", e);
    if (rc) return rc;
    s->threads = true;
    if (s->writer) rc = start(&s->writer_thread, writer_main, s, "store", e);
    bool writing = s->writer && !rc;
    if (s->peers && s->peers->heartbeat && !rc) {
        rc = start(&s->heartbeat_thread, heartbeat_main, s, "heartbeat", e);
        s->has_heartbeat = !rc;
    }
    if ((s->learner || s->peers) && !rc)
        rc = start(&s->learner_thread, learner_main, s, "learner", e);
    if (!rc) return 0;

    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_cond_broadcast(&s->stop);
    pthread_mutex_unlock(&s->lock);
    if (writing) {
        writer_stop(s->writer);
        pthread_join(s->writer_thread, NULL);
    }
    if (s->has_heartbeat) pthread_join(s->heartbeat_thread, NULL);
    pthread_join(s->tick_thread, NULL);
    s->has_heartbeat = s->threads = false;
    return rc;
}

void service_stop_threads(struct service *s)
{
    if (!s->threads) return;
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_cond_broadcast(&s->stop);
    pthread_mutex_unlock(&s->lock);

    pthread_join(s->tick_thread, NULL);
    if (s->learner || s->peers) {
        if (s->peers)
            s->peers->wake(s->peers->self);
        else
            s->bus.wake(s->bus.self);
        pthread_join(s->learner_thread, NULL);
    }
    if (s->has_heartbeat) pthread_join(s->heartbeat_thread, NULL);
    if (s->writer) {
        writer_stop(s->writer);
        pthread_join(s->writer_thread, NULL);
    }
    s->has_heartbeat = s->threads = false;
}

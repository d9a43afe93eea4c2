#include "serve/players/origin.h"
#include "origin_priv.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "serve/http/reply.h"

enum { POLL_MS = 1000, LINES_A_SECOND = 10 };
static const long KEPT_CONNECTIONS = 64;

struct origin_cfg origin_cfg_default(void)
{
    return (struct origin_cfg){.transfers = 256, .silence_s = 20};
}

const char *origin_fault_name(enum origin_fault f)
{
    static const char *const names[] = {"none", "unreachable", "silent", "redirect",
                                        "broken"};
    return names[f];
}

const char *origin_fault_text(enum origin_fault f)
{
    static const char *const texts[] = {
        "has answered", "cannot be reached", "was silent for too long",
        "leads on to where the daemon does not follow", "broke off its answer"};
    return texts[f];
}

/* ---- from the workers ---- */

static void poke(struct origin *o)
{
    atomic_store(&o->poked, true);
    curl_multi_wakeup(o->multi);
}

static void transfer_free(struct origin_transfer *t)
{
    atomic_fetch_sub(&t->origin->running, 1);
    if (t->q.held) occupancy_give(t->q.held, &t->q.who);
    pthread_mutex_destroy(&t->lock);
    free(t->buf);
    free(t);
}

struct origin_transfer *origin_begin(struct origin *o, const struct origin_question *q,
                                     struct err *e)
{
    if (atomic_fetch_add(&o->running, 1) >= o->cfg.transfers) {
        atomic_fetch_sub(&o->running, 1);
        atomic_fetch_add(&o->refused, 1);
        err_set(e, ERR_FULL, "%d requests to origins are under way, which is the limit",
                o->cfg.transfers);
        return NULL;
    }
    struct origin_transfer *t = calloc(1, sizeof *t);
    if (!t) {
        atomic_fetch_sub(&o->running, 1);
        err_set(e, ERR_MEMORY, "no memory for a transfer");
        return NULL;
    }
    t->origin = o;
    t->q = *q;
    t->bell = q->bell;
    pthread_mutex_init(&t->lock, NULL);
    atomic_fetch_add(&o->begun, 1);

    pthread_mutex_lock(&o->lock);
    t->next = o->fresh;
    o->fresh = t;
    pthread_mutex_unlock(&o->lock);
    poke(o);
    return t;
}

bool origin_ready(void *transfer)
{
    struct origin_transfer *t = transfer;
    pthread_mutex_lock(&t->lock);
    bool ready = t->ready;
    pthread_mutex_unlock(&t->lock);
    return ready;
}

const struct origin_head *origin_head(const struct origin_transfer *t)
{
    return &t->head;
}

/* At most max bytes out of the ring. */
static size_t origin_take(struct origin_transfer *t, char *buf, size_t max)
{
    size_t n = t->n < max ? t->n : max, first = ORIGIN_BUFFER - t->at;
    if (first > n) first = n;
    if (n) {
        memcpy(buf, t->buf + t->at, first);
        memcpy(buf + first, t->buf, n - first);
    }
    t->at = (t->at + n) % ORIGIN_BUFFER;
    t->n -= n;
    return n;
}

ssize_t origin_pull(void *transfer, char *buf, size_t max)
{
    struct origin_transfer *t = transfer;
    pthread_mutex_lock(&t->lock);
    size_t n = origin_take(t, buf, max);
    bool go_on = t->paused && t->n <= ORIGIN_BUFFER / 2;
    if (go_on) t->paused = false;
    bool ended = !n && t->ended, broken = t->broken;
    t->hungry = !n;
    t->go_on |= go_on;
    pthread_mutex_unlock(&t->lock);

    if (go_on) poke(t->origin);
    atomic_fetch_add_explicit(&t->origin->bytes, n, memory_order_relaxed);
    if (ended) return broken ? REPLY_BROKEN : REPLY_END;
    return n ? (ssize_t)n : REPLY_LATER;
}

void origin_drop(void *transfer)
{
    struct origin_transfer *t = transfer;
    struct origin *o = t->origin;
    pthread_mutex_lock(&t->lock);
    t->bell = -1;
    t->dropped = true;
    bool last = t->ended;
    pthread_mutex_unlock(&t->lock);
    if (last)
        transfer_free(t);
    else
        poke(o);
}

/* ---- the thread ---- */

/* The lock is held. */
static void ring(const struct origin_transfer *t)
{
    if (t->bell >= 0) (void)!eventfd_write(t->bell, 1); /* full: it is ringing already */
}

void origin_publish(struct origin_transfer *t)
{
    pthread_mutex_lock(&t->lock);
    t->ready = true;
    ring(t);
    pthread_mutex_unlock(&t->lock);
}

enum origin_room origin_put(struct origin_transfer *t, const char *data, size_t n)
{
    enum origin_room room = ORIGIN_TAKEN;
    pthread_mutex_lock(&t->lock);
    if (!t->buf && !t->dropped) t->buf = malloc(ORIGIN_BUFFER);
    if (t->dropped || !t->buf) {
        room = ORIGIN_GONE;
    } else if (n > ORIGIN_BUFFER - t->n) {
        room = ORIGIN_WAIT;
        t->paused = true;
    } else {
        size_t at = (t->at + t->n) % ORIGIN_BUFFER, first = ORIGIN_BUFFER - at;
        if (first > n) first = n;
        memcpy(t->buf + at, data, first);
        memcpy(t->buf, data + first, n - first);
        t->n += n;
        if (t->hungry) ring(t);
        t->hungry = false;
    }
    pthread_mutex_unlock(&t->lock);
    return room;
}

/* At most ten a second: an origin that is away must not fill the disk. */
static void origin_tell(struct origin *o, const struct origin_transfer *t,
                        enum origin_fault fault)
{
    double now = clock_mono();
    if (now - o->since_s >= 1) {
        o->since_s = now;
        o->lines = 0;
    }
    if (o->lines++ >= LINES_A_SECOND) return;
    log_event(o->cfg.log, LOG_WARN, "origin", "%s %s: %s",
              o->cfg.names.at[t->q.origin].name, origin_fault_text(fault),
              t->error[0] ? t->error : "no more is known");
}

/* It leaves the thread's list; who is the last to let go of it frees it. */
static void end(struct origin *o, struct origin_transfer *t, enum origin_fault fault)
{
    origin_detach(t);
    struct origin_transfer **at = &o->all;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;

    pthread_mutex_lock(&t->lock);
    bool dropped = t->dropped;
    pthread_mutex_unlock(&t->lock);
    if (fault && !dropped) {
        atomic_fetch_add(&o->failed[fault], 1);
        origin_tell(o, t, fault);
    }

    pthread_mutex_lock(&t->lock);
    if (!t->ready) t->head.fault = fault;
    t->broken = fault != ORIGIN_SOUND;
    t->ready = t->ended = true;
    ring(t);
    dropped = t->dropped;
    pthread_mutex_unlock(&t->lock);
    if (dropped) transfer_free(t);
}

static void admit_fresh(struct origin *o)
{
    pthread_mutex_lock(&o->lock);
    struct origin_transfer *list = o->fresh;
    o->fresh = NULL;
    pthread_mutex_unlock(&o->lock);
    while (list) {
        struct origin_transfer *t = list;
        list = t->next;
        t->next = o->all;
        o->all = t;
        if (!origin_attach(t)) end(o, t, ORIGIN_UNREACHABLE);
    }
}

/* What the workers want: transfers begun, dropped, or with room again. */
static void hear_workers(struct origin *o)
{
    if (!atomic_exchange(&o->poked, false)) return;
    admit_fresh(o);
    for (struct origin_transfer *t = o->all, *next; t; t = next) {
        next = t->next;
        pthread_mutex_lock(&t->lock);
        bool dropped = t->dropped, go_on = t->go_on;
        t->go_on = false;
        pthread_mutex_unlock(&t->lock);
        if (dropped)
            end(o, t, ORIGIN_SOUND);
        else if (go_on)
            curl_easy_pause(t->easy, CURLPAUSE_CONT);
    }
}

static void hear_origins(struct origin *o)
{
    int n;
    curl_multi_perform(o->multi, &n);
    for (const CURLMsg *m; (m = curl_multi_info_read(o->multi, &n));) {
        struct origin_transfer *t = NULL;
        if (m->msg != CURLMSG_DONE) continue;
        CURLcode rc = m->data.result;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &t);
        enum origin_fault fault = ORIGIN_SOUND;
        if (!origin_goes_on(t, rc, &fault)) end(o, t, fault);
    }
}

static void *run(void *ctx)
{
    struct origin *o = ctx;
    while (!o->stop) {
        hear_workers(o);
        hear_origins(o);
        if (!atomic_load(&o->poked)) curl_multi_poll(o->multi, NULL, 0, POLL_MS, NULL);
    }
    hear_workers(o);
    return NULL;
}

/* ---- life ---- */

static void release(struct origin *o)
{
    curl_multi_cleanup(o->multi);
    pthread_mutex_destroy(&o->lock);
    curl_global_cleanup();
    free(o);
}

struct origin *origin_new(const struct origin_cfg *cfg, struct err *e)
{
    struct origin *o = calloc(1, sizeof *o);
    if (!o) {
        err_set(e, ERR_MEMORY, "no memory for the origins");
        return NULL;
    }
    o->cfg = *cfg;
    pthread_mutex_init(&o->lock, NULL);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) o->multi = curl_multi_init();
    if (!o->multi) {
        err_set(e, ERR_MEMORY, "libcurl does not start");
        release(o);
        return NULL;
    }
    curl_multi_setopt(o->multi, CURLMOPT_MAXCONNECTS, KEPT_CONNECTIONS);
    int rc = pthread_create(&o->thread, NULL, run, o);
    if (rc) {
        err_set(e, ERR_IO, "the origins' thread does not start: %s", strerror(rc));
        release(o);
        return NULL;
    }
    pthread_setname_np(o->thread, "origin");
    return o;
}

void origin_free(struct origin *o)
{
    if (!o) return;
    o->stop = true;
    poke(o);
    pthread_join(o->thread, NULL);
    assert(!o->all && o->running == 0);
    release(o);
}

const struct origins *origin_names(const struct origin *o)
{
    return &o->cfg.names;
}

struct origin_stats origin_stats(const struct origin *o)
{
    struct origin_stats s = {.transfers = o->running,
                             .transfers_max = o->cfg.transfers,
                             .begun = o->begun,
                             .refused = o->refused,
                             .bytes = o->bytes};
    for (int i = 0; i < ORIGIN_FAULTS; i++)
        s.failed[i] = o->failed[i];
    return s;
}

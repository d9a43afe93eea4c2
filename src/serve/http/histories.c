#include "serve/http/histories.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "serve/wire/emit.h"
#include "serve/http/reply.h"
#include "serve/wire/wire_put.h"

struct histories {
    struct service *service;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    /* guarded by lock: */
    bool stop;
    int open;
    struct histories_answer *first, *last; /* queue: they wait for their next slice */
};

struct histories_answer {
    struct histories *all;
    struct histories_question q;
    /* guarded by all->lock: */
    bool reading, dropped;
    struct histories_answer *next;
    /* the thread's while `reading`, else the owner's: */
    struct emit out;
    size_t sent;
    uint32_t at; /* next step */
    int left;    /* steps still to read */
    bool begun, ended;
    struct err err;
};

/* ---- the thread ---- */

static void put_slice(struct histories_answer *a, const struct history *h)
{
    bool more = h->next > 0, last = !more || a->left == 0;
    if (a->q.csv) {
        if (!a->begun) wire_put_history_csv_head(&a->out);
        wire_put_history_csv(&a->out, h);
    } else {
        if (!a->begun) wire_put_history_head(&a->out, h);
        wire_put_history_steps(&a->out, h);
        if (last) wire_put_history_tail(&a->out, h->next);
        if (last) emit_raw(&a->out, "\n", 1);
    }
    a->begun = true;
    a->ended = last;
    a->at = h->next;
}

/* Called without a lock: the answer belongs to the thread. */
static void read_slice(struct histories_answer *a)
{
    struct service *s = a->all->service;
    struct history h;
    int n = a->left < HISTORIES_SLICE ? a->left : HISTORIES_SLICE;
    bool comma = a->out.comma; /* state within the array of steps */
    emit_reset(&a->out);
    a->out.comma = comma;
    a->sent = 0;
    int rc = a->begun ? 0 : service_history_settle(s, &a->err);
    if (!rc) rc = service_history_page(&h, s, a->q.session, a->at, n, &a->err);
    if (rc) return;
    if (a->left != INT_MAX) a->left -= h.n;
    put_slice(a, &h);
    service_history_free(&h);
    if (a->out.failed) err_set(&a->err, ERR_FULL, "no memory for the history");
}

static void answer_free(struct histories_answer *a)
{
    emit_free(&a->out);
    free(a);
}

static void ring(int bell)
{
    uint64_t one = 1;
    ssize_t n = bell < 0 ? 0 : write(bell, &one, sizeof one);
    (void)n; /* a full eventfd wakes the worker all the same */
}

static void *histories_main(void *ctx)
{
    struct histories *h = ctx;
    /* lowers this thread's priority: decisions come first; a sandbox may forbid it */
    (void)setpriority(PRIO_PROCESS, 0, 10);
    pthread_mutex_lock(&h->lock);
    for (;;) {
        while (!h->first && !h->stop)
            pthread_cond_wait(&h->wake, &h->lock);
        if (h->stop) break;
        struct histories_answer *a = h->first;
        h->first = a->next;
        if (!h->first) h->last = NULL;
        bool wanted = !a->dropped;
        pthread_mutex_unlock(&h->lock);
        if (wanted) read_slice(a);
        pthread_mutex_lock(&h->lock);
        a->reading = false;
        if (a->dropped)
            answer_free(a);
        else
            ring(
                a->q.bell); /* under the lock: after a drop the owner may close the bell */
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

/* ---- life ---- */

struct histories *histories_new(struct service *s, struct err *e)
{
    struct histories *h = calloc(1, sizeof *h);
    if (!h) {
        err_set(e, ERR_MEMORY, "no memory for the reader of histories");
        return NULL;
    }
    h->service = s;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->wake, NULL);
    int rc = pthread_create(&h->thread, NULL, histories_main, h);
    if (!rc) {
        pthread_setname_np(h->thread, "histories");
        return h;
    }
    err_set(e, ERR_IO, "no thread for histories: %s", strerror(rc));
    pthread_mutex_destroy(&h->lock);
    pthread_cond_destroy(&h->wake);
    free(h);
    return NULL;
}

void histories_free(struct histories *h)
{
    if (!h) return;
    pthread_mutex_lock(&h->lock);
    h->stop = true;
    pthread_cond_signal(&h->wake);
    pthread_mutex_unlock(&h->lock);
    pthread_join(h->thread, NULL);
    while (h->first) { /* dropped while queued */
        struct histories_answer *a = h->first;
        h->first = a->next;
        assert(a->dropped);
        answer_free(a);
    }
    assert(!h->open);
    pthread_mutex_destroy(&h->lock);
    pthread_cond_destroy(&h->wake);
    free(h);
}

/* ---- answers ---- */

/* Appends to the queue; the lock is held. */
static void want_slice(struct histories_answer *a)
{
    struct histories *h = a->all;
    a->reading = true;
    a->next = NULL;
    if (h->last)
        h->last->next = a;
    else
        h->first = a;
    h->last = a;
    pthread_cond_signal(&h->wake);
}

struct histories_answer *
histories_begin(struct histories *h, const struct histories_question *q, struct err *e)
{
    struct histories_answer *a = calloc(1, sizeof *a);
    if (!a) {
        err_set(e, ERR_FULL, "no memory for the history");
        return NULL;
    }
    a->all = h;
    a->q = *q;
    a->at = q->after;
    a->left = q->limit;
    pthread_mutex_lock(&h->lock);
    bool room = h->open < HISTORIES_OPEN;
    if (room) {
        h->open++;
        want_slice(a);
    }
    pthread_mutex_unlock(&h->lock);
    if (room) return a;
    err_set(e, ERR_FULL, "too many histories are being sent: try again");
    free(a);
    return NULL;
}

static bool is_reading(struct histories_answer *a)
{
    pthread_mutex_lock(&a->all->lock);
    bool reading = a->reading;
    pthread_mutex_unlock(&a->all->lock);
    return reading;
}

bool histories_ready(void *answer)
{
    return !is_reading(answer);
}

const struct err *histories_error(const struct histories_answer *a)
{
    return a->err.code ? &a->err : NULL;
}

ssize_t histories_pull(void *answer, char *buf, size_t max)
{
    struct histories_answer *a = answer;
    if (is_reading(a)) return REPLY_LATER;
    if (a->err.code) return REPLY_BROKEN;
    size_t n = a->out.n - a->sent;
    if (n > max) n = max;
    if (n) {
        memcpy(buf, a->out.at + a->sent, n);
        a->sent += n;
        return (ssize_t)n;
    }
    if (a->ended) return REPLY_END;
    pthread_mutex_lock(&a->all->lock);
    want_slice(a);
    pthread_mutex_unlock(&a->all->lock);
    return REPLY_LATER;
}

void histories_drop(void *answer)
{
    struct histories_answer *a = answer;
    struct histories *h = a->all;
    if (a->q.held) occupancy_give(a->q.held, &a->q.who);
    pthread_mutex_lock(&h->lock);
    h->open--;
    a->dropped = true;
    bool reading = a->reading; /* true: the thread frees it */
    pthread_mutex_unlock(&h->lock);
    if (!reading) answer_free(a);
}

#include "serve/store/writer.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cond.h"

static const double RETRY_S = 1; /* pause after the store has failed */
static const double STUCK = 10;  /* flush intervals that a commit may take */

struct writer {
    struct store store; /* used by the thread that has set `writing` */
    const struct bus *bus;
    int cap;
    double flush_s;
    pthread_mutex_t lock; /* of everything below */
    pthread_cond_t work, done;
    struct store_rec *rec; /* ring (cap) */
    int first, n, reserved;
    double first_s;        /* clock_mono; the first of them came then or later */
    uint64_t put, written; /* records ever */
    uint64_t errors;
    bool writing, stopping;
    bool wake;          /* of the thread that runs: due when the lock is given back */
    double began_at;    /* the write under way */
    double failed_s;    /* when the last write failed */
    struct err failure; /* of the last write; code 0: it worked */
};

struct writer *writer_new(struct store *store, int cap, double flush_s, struct err *e)
{
    struct writer *w = calloc(1, sizeof *w);
    struct store_rec *rec = calloc((size_t)cap, sizeof *rec);
    if (!w || !rec) {
        err_set(e, ERR_MEMORY, "no memory for a queue of %d records", cap);
        free(w);
        free(rec);
        store->free(store->self);
        return NULL;
    }
    w->store = *store;
    w->rec = rec;
    w->cap = cap;
    w->flush_s = flush_s;
    if (w->store.room) {
        w->failure.code = w->store.room(w->store.self, &w->failure);
        w->failed_s = clock_mono();
    }
    pthread_mutex_init(&w->lock, NULL);
    cond_init(&w->work);
    cond_init(&w->done);
    return w;
}

void writer_free(struct writer *w)
{
    if (!w) return;
    w->store.free(w->store.self);
    pthread_cond_destroy(&w->work);
    pthread_cond_destroy(&w->done);
    pthread_mutex_destroy(&w->lock);
    free(w->rec);
    free(w);
}

void writer_tell(struct writer *w, const struct bus *bus)
{
    w->bus = bus;
}

int writer_reserve(struct writer *w, int n, struct err *e)
{
    pthread_mutex_lock(&w->lock);
    struct err failure = w->failure;
    bool room = w->n + w->reserved + n <= w->cap;
    bool stuck = w->writing && clock_mono() - w->began_at > STUCK * w->flush_s;
    if (!failure.code && room && !stuck) w->reserved += n;
    pthread_mutex_unlock(&w->lock);

    if (failure.code)
        return err_field(e, ERR_IO, "store", "the store refuses: %.200s", failure.detail);
    if (!room)
        return err_field(e, ERR_FULL, "store", "%d records wait to be stored: try again",
                         w->cap);
    if (stuck)
        return err_field(e, ERR_FULL, "store",
                         "the disk has not answered for %g s: try again",
                         STUCK * w->flush_s);
    return 0;
}

bool writer_pressed(struct writer *w)
{
    pthread_mutex_lock(&w->lock);
    bool pressed = w->n + w->reserved > w->cap / 4;
    pthread_mutex_unlock(&w->lock);
    return pressed;
}

/* Under the lock. */
static struct store_rec *ring_add(struct writer *w)
{
    assert(w->n < w->cap);
    if (!w->n || w->n == w->cap / 2) w->wake = true;
    if (!w->n) w->first_s = clock_mono();
    w->put++;
    return &w->rec[(w->first + w->n++) % w->cap];
}

/* Waking is a system call: not under the lock. */
static void unlock_and_wake(struct writer *w)
{
    bool wake = w->wake;
    w->wake = false;
    pthread_mutex_unlock(&w->lock);
    if (wake) pthread_cond_signal(&w->work);
}

void writer_put(struct writer *w, const struct store_rec *rec, int n, int reserved)
{
    assert(n <= reserved);
    pthread_mutex_lock(&w->lock);
    w->reserved -= reserved;
    for (int i = 0; i < n; i++)
        *ring_add(w) = rec[i];
    unlock_and_wake(w);
}

void writer_put_changes(struct writer *w, const struct changes *c, bool opened,
                        const uint8_t id[TRACK_ID], const struct bus_envelope *envelope,
                        int reserved)
{
    assert(c->n + opened + c->closed + (envelope != NULL) <= reserved);
    pthread_mutex_lock(&w->lock);
    w->reserved -= reserved;
    if (opened || c->closed) {
        struct store_rec *r = ring_add(w);
        r->kind = STORE_SESSION;
        r->row = c->row;
    }
    for (int i = 0; i < c->n; i++) {
        struct store_rec *r = ring_add(w);
        r->kind = STORE_STEP;
        memcpy(r->id, id, TRACK_ID);
        r->step = c->step[i];
    }
    if (envelope) {
        struct store_rec *r = ring_add(w);
        r->kind = STORE_ENVELOPE;
        r->envelope = *envelope;
    }
    unlock_and_wake(w);
}

/* Few records move to the beginning of the ring, whose memory is warm. The rest of the ring stays
 * untouched until a burst needs it. */
static void ring_rewind(struct writer *w)
{
    if (w->n > w->first / 4 || w->first + w->n > w->cap) return;
    memcpy(w->rec, &w->rec[w->first], (size_t)w->n * sizeof *w->rec);
    w->first = 0;
}

/* Writes what is queued up to the ring's end, in place: other threads only add behind it. A store that
 * has written, but has no room for more, fails for the records that come next. */
static void write_some(struct writer *w)
{
    w->writing = true;
    w->began_at = clock_mono();
    int first = w->first, n = w->n < w->cap - first ? w->n : w->cap - first;
    pthread_mutex_unlock(&w->lock);

    struct err failure = {0};
    int rc = n ? w->store.write(w->store.self, &w->rec[first], n, &failure) : 0;
    int room = !rc && w->store.room ? w->store.room(w->store.self, &failure) : 0;
    for (int i = first; !rc && w->bus && i < first + n; i++)
        if (w->rec[i].kind == STORE_ENVELOPE)
            w->bus->stored(w->bus->self, w->rec[i].envelope.number);

    pthread_mutex_lock(&w->lock);
    bool recovered = w->failure.code && !rc && !room;
    w->failure = failure;
    w->failure.code = rc ? rc : room;
    if (w->failure.code) {
        w->failed_s = clock_mono();
        w->errors++;
    }
    if (!rc) {
        w->first = (first + n) % w->cap;
        w->n -= n;
        w->written += (uint64_t)n;
        w->first_s = w->began_at; /* what is left came later */
        ring_rewind(w);
    }
    w->writing = false;
    pthread_cond_broadcast(&w->done);
    if (recovered) pthread_cond_signal(&w->work); /* it may be in the longer pause */
}

int writer_flush(struct writer *w, struct err *e)
{
    pthread_mutex_lock(&w->lock);
    uint64_t until = w->put;
    uint64_t written = w->written, errors = w->errors;
    bool idle = !w->n;
    /* an error after which other threads have written is not ours; nor is one of a store that wrote,
     * but has no room for more */
    while (w->written < until &&
           (w->errors == errors || w->written > written || !w->failure.code)) {
        written = w->written;
        errors = w->errors;
        if (w->writing)
            pthread_cond_wait(&w->done, &w->lock);
        else
            write_some(w);
    }
    if (idle && w->failure.code && !w->writing) write_some(w);
    struct err failure = w->written < until ? w->failure : (struct err){0};
    pthread_mutex_unlock(&w->lock);

    if (failure.code)
        return err_field(e, failure.code, failure.field, "%s", failure.detail);
    return 0;
}

/* Under the lock: is there something to write, or to ask the store for? */
static bool writer_is_due(const struct writer *w)
{
    return w->n || w->failure.code;
}

/* Under the lock: until what waits is due. A failing store is asked again after a pause, a working one
 * when the oldest record has waited for flush_s, or many have come. The store may begin or cease to
 * fail meanwhile, because writer_flush writes as well. */
static void writer_pause(struct writer *w)
{
    while (!w->stopping && !w->writing && writer_is_due(w)) {
        bool failing = w->failure.code != 0;
        double due_s = failing ? w->failed_s + RETRY_S : w->first_s + w->flush_s;
        if (!failing && w->n + w->reserved > w->cap / 2) return;
        if (!cond_wait(&w->work, &w->lock, due_s)) return;
    }
}

void writer_run(struct writer *w)
{
    pthread_mutex_lock(&w->lock);
    while (!w->stopping) {
        if (!writer_is_due(w)) {
            pthread_cond_wait(&w->work, &w->lock);
        } else if (w->writing) {
            pthread_cond_wait(&w->done, &w->lock);
        } else {
            writer_pause(w);
            if (!w->stopping && !w->writing && writer_is_due(w)) write_some(w);
        }
    }
    pthread_mutex_unlock(&w->lock);
}

void writer_stop(struct writer *w)
{
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    pthread_cond_broadcast(&w->work);
    pthread_cond_broadcast(&w->done);
    pthread_mutex_unlock(&w->lock);
}

void writer_stats(struct writer *w, struct writer_stats *out)
{
    pthread_mutex_lock(&w->lock);
    *out = (struct writer_stats){.queued = (uint64_t)w->n,
                                 .written = w->written,
                                 .errors = w->errors,
                                 .lag_s = w->n ? clock_mono() - w->first_s : 0,
                                 .ok = !w->failure.code};
    pthread_mutex_unlock(&w->lock);
}

const struct store *writer_store(const struct writer *w)
{
    return &w->store;
}

#include "serve/learner/bus_local.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cond.h"

struct ring {
    pthread_mutex_t lock; /* of everything below */
    pthread_cond_t arrived;
    struct traj *slot;
    int cap, first, n;
    uint64_t sent, dropped;
    bool woken;
};

static void copy(struct traj *to, const struct traj *from)
{
    size_t used = offsetof(struct traj, step) +
                  (size_t)traj_states(from) * sizeof(struct traj_step);
    memcpy(to, from, used);
}

static bool ring_send(void *self, const struct traj *t)
{
    struct ring *r = self;
    pthread_mutex_lock(&r->lock);
    bool room = r->n < r->cap;
    if (room) {
        copy(&r->slot[(r->first + r->n) % r->cap], t);
        r->n++;
        r->sent++;
        pthread_cond_signal(&r->arrived);
    } else {
        r->dropped++;
    }
    pthread_mutex_unlock(&r->lock);
    return room;
}

static bool ring_receive(void *self, struct traj *out, double wait_s)
{
    struct ring *r = self;
    double until_s = clock_mono() + wait_s;
    pthread_mutex_lock(&r->lock);
    while (wait_s > 0 && !r->n && !r->woken && cond_wait(&r->arrived, &r->lock, until_s))
        ;
    r->woken = false;
    bool got = r->n > 0;
    if (got) {
        copy(out, &r->slot[r->first]);
        r->first = (r->first + 1) % r->cap;
        r->n--;
    }
    pthread_mutex_unlock(&r->lock);
    return got;
}

static void ring_wake(void *self)
{
    struct ring *r = self;
    pthread_mutex_lock(&r->lock);
    r->woken = true;
    pthread_cond_signal(&r->arrived);
    pthread_mutex_unlock(&r->lock);
}

static void ring_stats(void *self, struct bus_stats *out)
{
    struct ring *r = self;
    pthread_mutex_lock(&r->lock);
    *out = (struct bus_stats){r->sent, r->dropped, (uint64_t)r->n};
    pthread_mutex_unlock(&r->lock);
}

static void ring_free(void *self)
{
    struct ring *r = self;
    if (!r) return;
    pthread_cond_destroy(&r->arrived);
    pthread_mutex_destroy(&r->lock);
    free(r->slot);
    free(r);
}

int bus_local_init(struct bus *out, int slots, struct err *e)
{
    *out = (struct bus){0};
    struct ring *r = calloc(1, sizeof *r);
    struct traj *slot = calloc((size_t)slots, sizeof *slot);
    if (!r || !slot) {
        free(r);
        free(slot);
        return err_set(e, ERR_MEMORY, "no memory for %d trajectories", slots);
    }
    r->slot = slot;
    r->cap = slots;
    pthread_mutex_init(&r->lock, NULL);
    cond_init(&r->arrived);
    *out = (struct bus){.self = r,
                        .send = ring_send,
                        .receive = ring_receive,
                        .wake = ring_wake,
                        .stats = ring_stats,
                        .free = ring_free};
    return 0;
}

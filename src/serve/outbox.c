#include "serve/outbox.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "serve/bus_wire.h"
#include "serve/ledger.h"

enum state { KEPT_NOT_YET, READY, UNDER_WAY, ACKED };

struct slot {
    enum state state;
    uint32_t n;
    int doubted;
    unsigned char bytes[BUS_WIRE_TRAJ_MAX];
};

struct outbox {
    uint64_t maker;
    bool stored;
    int cap;
    struct slot *slot;    /* ring (cap); number n lies in slot n % cap */
    pthread_mutex_t lock; /* of what follows, and of the slots' states */
    pthread_cond_t work;
    uint64_t first,
        next; /* numbers: first not acknowledged, and that of the next to be put */
    uint64_t to_send; /* all below are under way or acknowledged */
    bool woken;
    struct outbox_stats stats;
};

struct outbox *outbox_new(int slots, uint64_t maker, bool stored, struct err *e)
{
    struct outbox *o = calloc(1, sizeof *o);
    struct slot *slot = calloc((size_t)slots, sizeof *slot);
    if (!o || !slot) {
        free(o);
        free(slot);
        err_set(e, ERR_MEMORY, "no memory for %d trajectories", slots);
        return NULL;
    }
    *o = (struct outbox){.maker = maker,
                         .stored = stored,
                         .cap = slots,
                         .slot = slot,
                         .first = 1,
                         .next = 1,
                         .to_send = 1};
    o->stats.slots = slots;
    pthread_mutex_init(&o->lock, NULL);
    pthread_condattr_t mono;
    pthread_condattr_init(&mono);
    pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
    pthread_cond_init(&o->work, &mono);
    pthread_condattr_destroy(&mono);
    return o;
}

void outbox_free(struct outbox *o)
{
    if (!o) return;
    pthread_cond_destroy(&o->work);
    pthread_mutex_destroy(&o->lock);
    free(o->slot);
    free(o);
}

static struct slot *slot_of(struct outbox *o, uint64_t number)
{
    return &o->slot[number % (uint64_t)o->cap];
}

/* Is it in a slot, and not done with? Under the lock. */
static bool waits(const struct outbox *o, uint64_t number)
{
    return number >= o->first && number < o->next;
}

bool outbox_put(struct outbox *o, const struct traj *t, struct bus_parcel *parcel)
{
    pthread_mutex_lock(&o->lock);
    bool room = o->next - o->first < (uint64_t)o->cap;
    uint64_t number = o->next;
    if (room) {
        struct slot *s = slot_of(o, number);
        s->n = (uint32_t)bus_wire_put_traj(s->bytes, t,
                                           (struct bus_wire_id){o->maker, number});
        s->state = o->stored ? KEPT_NOT_YET : READY;
        s->doubted = 0;
        *parcel = (struct bus_parcel){.number = number, .bytes = s->bytes, .n = s->n};
        o->next++;
        o->stats.put++;
        if (!o->stored) pthread_cond_signal(&o->work);
    } else {
        o->stats.dropped++;
    }
    pthread_mutex_unlock(&o->lock);
    return room;
}

void outbox_stored(struct outbox *o, uint64_t number)
{
    pthread_mutex_lock(&o->lock);
    if (waits(o, number) && slot_of(o, number)->state == KEPT_NOT_YET) {
        slot_of(o, number)->state = READY;
        pthread_cond_signal(&o->work);
    }
    pthread_mutex_unlock(&o->lock);
}

/* Under the lock. */
static void advance(struct outbox *o)
{
    while (o->first < o->next && slot_of(o, o->first)->state == ACKED)
        o->first++;
    if (o->to_send < o->first) o->to_send = o->first;
}

int outbox_restore(struct outbox *o, const struct bus_parcel *in, struct err *e)
{
    bool begins = o->first == o->next;
    if (in->number < o->next || in->n > BUS_WIRE_TRAJ_MAX ||
        (!begins && in->number - o->first >= (uint64_t)o->cap))
        return err_set(e, ERR_CORRUPT, "trajectory %llu cannot follow on %llu",
                       (unsigned long long)in->number, (unsigned long long)o->next - 1);
    pthread_mutex_lock(&o->lock);
    if (begins) o->first = o->to_send = in->number;
    /* a number whose row was never written was never sent, and goes unused */
    for (uint64_t gap = begins ? in->number : o->next; gap < in->number; gap++)
        slot_of(o, gap)->state = ACKED;
    struct slot *s = slot_of(o, in->number);
    s->n = (uint32_t)in->n;
    s->state = in->n ? READY : ACKED;
    s->doubted = 0;
    if (in->n) memcpy(s->bytes, in->bytes, in->n);
    o->next = in->number + 1;
    advance(o);
    pthread_mutex_unlock(&o->lock);
    return 0;
}

/* Under the lock. */
static bool find(struct outbox *o, struct bus_parcel *out)
{
    uint64_t end =
        o->first + LEDGER_WINDOW < o->next ? o->first + LEDGER_WINDOW : o->next;
    while (o->to_send < end && slot_of(o, o->to_send)->state >= UNDER_WAY)
        o->to_send++;
    for (uint64_t n = o->to_send; n < end; n++) {
        struct slot *s = slot_of(o, n);
        if (s->state != READY) continue;
        s->state = UNDER_WAY;
        o->stats.under_way++;
        *out = (struct bus_parcel){n, s->bytes, s->n, s->doubted};
        return true;
    }
    return false;
}

bool outbox_next(struct outbox *o, struct bus_parcel *out, double wait_s)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    long ns = until.tv_nsec + (long)(wait_s * 1e9);
    until.tv_sec += ns / 1000000000L;
    until.tv_nsec = ns % 1000000000L;

    pthread_mutex_lock(&o->lock);
    bool found;
    int rc = 0;
    while (!(found = find(o, out)) && wait_s > 0 && !o->woken && !rc)
        rc = pthread_cond_timedwait(&o->work, &o->lock, &until);
    o->woken = false;
    pthread_mutex_unlock(&o->lock);
    return found;
}

void outbox_wake(struct outbox *o)
{
    pthread_mutex_lock(&o->lock);
    o->woken = true;
    pthread_cond_signal(&o->work);
    pthread_mutex_unlock(&o->lock);
}

void outbox_acked(struct outbox *o, uint64_t number)
{
    pthread_mutex_lock(&o->lock);
    struct slot *s = slot_of(o, number);
    if (waits(o, number) && s->state != ACKED) {
        if (s->state == UNDER_WAY) o->stats.under_way--;
        s->state = ACKED;
        o->stats.acked++;
        advance(o);
        pthread_cond_signal(&o->work); /* the window has moved */
    }
    pthread_mutex_unlock(&o->lock);
}

/* Under the lock. */
static void put_back(struct outbox *o, uint64_t number)
{
    struct slot *s = slot_of(o, number);
    if (s->state != UNDER_WAY) return;
    s->state = READY;
    o->stats.under_way--;
    if (number < o->to_send) o->to_send = number;
}

void outbox_refused(struct outbox *o, uint64_t number)
{
    pthread_mutex_lock(&o->lock);
    if (waits(o, number)) {
        o->stats.refused++;
        put_back(o, number);
    }
    pthread_mutex_unlock(&o->lock);
}

void outbox_doubted(struct outbox *o, uint64_t number)
{
    pthread_mutex_lock(&o->lock);
    if (waits(o, number)) {
        slot_of(o, number)->doubted++;
        put_back(o, number);
        pthread_cond_signal(&o->work);
    }
    pthread_mutex_unlock(&o->lock);
}

void outbox_again(struct outbox *o)
{
    pthread_mutex_lock(&o->lock);
    for (uint64_t n = o->first; n < o->next && n < o->first + LEDGER_WINDOW; n++)
        put_back(o, n);
    pthread_cond_signal(&o->work);
    pthread_mutex_unlock(&o->lock);
}

uint64_t outbox_delivered(struct outbox *o)
{
    pthread_mutex_lock(&o->lock);
    uint64_t number = o->first - 1;
    pthread_mutex_unlock(&o->lock);
    return number;
}

void outbox_stats(struct outbox *o, struct outbox_stats *out)
{
    pthread_mutex_lock(&o->lock);
    *out = o->stats;
    out->waiting = (int)(o->next - o->first);
    pthread_mutex_unlock(&o->lock);
}

#include "serve/cluster/outbox.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cond.h"
#include "serve/cluster/bus_wire.h"

/* DONE: confirmed or released, after one that is not */
enum state { NOT_STORED, READY, UNDER_WAY, ACKED, DONE, STATES };

struct slot {
    enum state state;
    uint32_t n;
    int doubted, lost; /* how often */
    uint64_t place;    /* in the stream, once acknowledged */
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
        next;         /* numbers: the first one not done with, and that of the next put */
    uint64_t to_send; /* all below are sent, or done with */
    int many[STATES]; /* of first <= n < next */
    bool woken;
    bool held;                   /* nothing is sent ... */
    double held_until;           /* ... before this; 0: outbox_next was not called yet */
    struct dedup_view published; /* last */
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
    cond_init(&o->work);
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

static struct slot *outbox_slot(struct outbox *o, uint64_t number)
{
    return &o->slot[number % (uint64_t)o->cap];
}

/* Is it in a slot, and not done with? The caller holds the lock. */
static bool outbox_has(const struct outbox *o, uint64_t number)
{
    return number >= o->first && number < o->next;
}

/* The next number's slot. The caller holds the lock. */
static struct slot *outbox_append(struct outbox *o, enum state state)
{
    struct slot *s = outbox_slot(o, o->next++);
    s->state = state;
    s->doubted = s->lost = 0;
    o->many[state]++;
    return s;
}

/* The caller holds the lock. */
static void slot_become(struct outbox *o, struct slot *s, enum state state)
{
    o->many[s->state]--;
    o->many[state]++;
    s->state = state;
}

/* Moves past what is done with. The caller holds the lock. */
static void outbox_advance(struct outbox *o)
{
    for (; o->first < o->next && outbox_slot(o, o->first)->state == DONE; o->first++)
        o->many[DONE]--;
    if (o->to_send < o->first) o->to_send = o->first;
}

/* The oldest one, if the stream has it. The caller holds the lock. */
static bool outbox_release_oldest(struct outbox *o)
{
    if (o->first == o->next || outbox_slot(o, o->first)->state != ACKED) return false;
    slot_become(o, outbox_slot(o, o->first), DONE);
    o->stats.released++;
    outbox_advance(o);
    return true;
}

static bool outbox_has_room(const struct outbox *o)
{
    return o->next - o->first < (uint64_t)o->cap;
}

bool outbox_put(struct outbox *o, const struct traj *t, struct bus_envelope *envelope)
{
    pthread_mutex_lock(&o->lock);
    bool free = outbox_has_room(o) || outbox_release_oldest(o);
    uint64_t number = o->next;
    if (free) {
        struct slot *s = outbox_append(o, o->stored ? NOT_STORED : READY);
        s->n = (uint32_t)bus_wire_put_traj(s->bytes, t,
                                           (struct bus_wire_id){o->maker, number});
        *envelope = (struct bus_envelope){.number = number, .bytes = s->bytes, .n = s->n};
        o->stats.put++;
        if (!o->stored) pthread_cond_signal(&o->work);
    } else {
        o->stats.dropped++;
    }
    pthread_mutex_unlock(&o->lock);
    return free;
}

void outbox_stored(struct outbox *o, uint64_t number)
{
    pthread_mutex_lock(&o->lock);
    if (outbox_has(o, number) && outbox_slot(o, number)->state == NOT_STORED) {
        slot_become(o, outbox_slot(o, number), READY);
        pthread_cond_signal(&o->work);
    }
    pthread_mutex_unlock(&o->lock);
}

int outbox_restore(struct outbox *o, const struct bus_envelope *in, struct err *e)
{
    bool begins = o->first == o->next;
    if (in->number < o->next || in->n > BUS_WIRE_TRAJ_MAX)
        return err_set(e, ERR_CORRUPT, "trajectory %llu cannot come after %llu",
                       (unsigned long long)in->number, (unsigned long long)o->next - 1);
    if (!begins && in->number - o->first >= (uint64_t)o->cap)
        return err_field(e, ERR_RANGE, "bus-buffer",
                         "the store has more than %d trajectories for the bus: raise it",
                         o->cap);
    pthread_mutex_lock(&o->lock);
    if (begins) o->first = o->next = o->to_send = in->number;
    /* a number without a row was never sent, and stays unused */
    while (o->next < in->number)
        outbox_append(o, DONE);
    struct slot *s = outbox_append(o, in->n ? READY : DONE);
    s->n = (uint32_t)in->n;
    if (in->n) memcpy(s->bytes, in->bytes, in->n);
    outbox_advance(o);
    pthread_mutex_unlock(&o->lock);
    return 0;
}

void outbox_hold(struct outbox *o)
{
    pthread_mutex_lock(&o->lock);
    o->held = true;
    o->held_until = 0;
    pthread_mutex_unlock(&o->lock);
}

void outbox_release(struct outbox *o)
{
    pthread_mutex_lock(&o->lock);
    if (o->held) pthread_cond_signal(&o->work);
    o->held = false;
    pthread_mutex_unlock(&o->lock);
}

/* The caller holds the lock. */
static bool outbox_is_held(struct outbox *o)
{
    if (!o->held) return false;
    double now = clock_mono();
    if (o->held_until <= 0) o->held_until = now + OUTBOX_HOLD_S;
    o->held = now < o->held_until;
    return o->held;
}

/* The caller holds the lock. */
static bool outbox_find(struct outbox *o, struct bus_envelope *out)
{
    if (outbox_is_held(o)) return false;
    if (o->many[UNDER_WAY] == OUTBOX_UNDER_WAY) return false;
    while (o->to_send < o->next && outbox_slot(o, o->to_send)->state >= UNDER_WAY)
        o->to_send++;
    for (uint64_t n = o->to_send; n < o->next; n++) {
        struct slot *s = outbox_slot(o, n);
        if (s->state != READY) continue;
        while (n - o->first >= DEDUP_WINDOW)
            if (!outbox_release_oldest(o)) return false;
        slot_become(o, s, UNDER_WAY);
        *out = (struct bus_envelope){n, s->bytes, s->n, s->doubted};
        return true;
    }
    return false;
}

bool outbox_next(struct outbox *o, struct bus_envelope *out, double wait_s)
{
    double until_s = clock_mono() + wait_s;
    pthread_mutex_lock(&o->lock);
    bool found, time_left = wait_s > 0;
    while (!(found = outbox_find(o, out)) && time_left && !o->woken)
        time_left = cond_wait(&o->work, &o->lock, until_s);
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

void outbox_acked(struct outbox *o, uint64_t number, uint64_t place)
{
    pthread_mutex_lock(&o->lock);
    struct slot *s = outbox_slot(o, number);
    if (outbox_has(o, number) && s->state < ACKED) {
        s->place = place;
        slot_become(o, s, dedup_view_has(&o->published, number) ? DONE : ACKED);
        o->stats.acked++;
        outbox_advance(o);
        pthread_cond_signal(&o->work); /* one less is under way */
    }
    pthread_mutex_unlock(&o->lock);
}

/* The caller holds the lock. */
static void slot_send_again(struct outbox *o, uint64_t number)
{
    slot_become(o, outbox_slot(o, number), READY);
    if (number < o->to_send) o->to_send = number;
}

/* Sent again, unless the published state counts it by now. The caller holds the lock. */
static void slot_put_back(struct outbox *o, uint64_t number)
{
    if (outbox_slot(o, number)->state != UNDER_WAY) return;
    if (dedup_view_has(&o->published, number))
        slot_become(o, outbox_slot(o, number), DONE);
    else
        slot_send_again(o, number);
}

void outbox_refused(struct outbox *o, uint64_t number)
{
    pthread_mutex_lock(&o->lock);
    if (outbox_has(o, number)) {
        o->stats.refused++;
        slot_put_back(o, number);
        outbox_advance(o);
    }
    pthread_mutex_unlock(&o->lock);
}

void outbox_doubted(struct outbox *o, uint64_t number)
{
    pthread_mutex_lock(&o->lock);
    if (outbox_has(o, number)) {
        outbox_slot(o, number)->doubted++;
        slot_put_back(o, number);
        outbox_advance(o);
        pthread_cond_signal(&o->work);
    }
    pthread_mutex_unlock(&o->lock);
}

void outbox_again(struct outbox *o)
{
    pthread_mutex_lock(&o->lock);
    for (uint64_t n = o->first; n < o->next && o->many[UNDER_WAY]; n++)
        slot_put_back(o, n);
    outbox_advance(o);
    pthread_cond_signal(&o->work);
    pthread_mutex_unlock(&o->lock);
}

/* The stream has lost it, or never had it. The caller holds the lock. */
static void slot_lost(struct outbox *o, uint64_t number)
{
    struct slot *s = outbox_slot(o, number);
    if (s->lost ==
        OUTBOX_TRIES) { /* the learner cannot read it, however often it arrives */
        slot_become(o, s, DONE);
        o->stats.released++;
        return;
    }
    s->lost++;
    s->doubted++; /* another id: the server knows this one for minutes */
    o->stats.resent++;
    slot_send_again(o, number);
}

int outbox_confirm(struct outbox *o, const struct dedup_view *v)
{
    pthread_mutex_lock(&o->lock);
    uint64_t before = o->stats.resent;
    bool is_new_stream = v->position < o->published.position;
    o->published = *v;
    for (uint64_t n = o->first; n < o->next; n++) {
        struct slot *s = outbox_slot(o, n);
        bool has = dedup_view_has(v, n);
        /* the sender reads what is under way: it is checked when it is acknowledged */
        if (has && (s->state == READY || s->state == ACKED))
            slot_become(o, s, DONE);
        else if (s->state == ACKED && (is_new_stream || s->place <= v->position))
            slot_lost(o, n);
    }
    outbox_advance(o);
    pthread_cond_signal(&o->work);
    int resent = (int)(o->stats.resent - before);
    pthread_mutex_unlock(&o->lock);
    return resent;
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
    out->waiting = o->many[NOT_STORED] + o->many[READY] + o->many[UNDER_WAY];
    out->under_way = o->many[UNDER_WAY];
    out->unconfirmed = o->many[ACKED];
    pthread_mutex_unlock(&o->lock);
}

/* What this node's slots earned goes to the others, and what theirs earned comes here. */
#include "untagged_priv.h"

#include <stdlib.h>
#include <string.h>

/* The caller holds the lock. */
static bool shares(const struct untagged *u)
{
    return u->share.on && u->merge.bandit;
}

int untagged_share(struct untagged *u, uint64_t store, uint64_t id, struct err *e)
{
    struct untagged_share *s = &u->share;
    s->heard = calloc(SLOT_LOG_RECORDS, sizeof *s->heard);
    s->learning = calloc(SLOT_LOG_RECORDS, sizeof *s->learning);
    if (!s->heard || !s->learning)
        return err_set(e, ERR_MEMORY, "no memory for what other nodes' slots earn");
    pthread_mutex_lock(&u->lock);
    if (s->maker && s->store != store) { /* a copy: two may go on from here */
        s->was = s->maker;
        s->was_number = u->told.slot - 1;
    }
    if (!s->maker || s->store != store) s->maker = id;
    s->store = store;
    s->kept = u->told.slot; /* what waits was read from there */
    s->on = true;
    pthread_mutex_unlock(&u->lock);
    return 0;
}

bool untagged_shares(struct untagged *u, uint32_t *crc, int *experts)
{
    pthread_mutex_lock(&u->lock);
    bool on = shares(u);
    pthread_mutex_unlock(&u->lock);
    if (!on) return false;
    *crc = u->merge.crc; /* neither changes */
    *experts = u->merge.experts->cfg.experts;
    return true;
}

uint64_t untagged_maker(struct untagged *u)
{
    pthread_mutex_lock(&u->lock);
    uint64_t maker = u->share.maker;
    pthread_mutex_unlock(&u->lock);
    return maker;
}

/* The caller holds the lock. */
static void names(struct slot_tasks *out, const struct untagged *u)
{
    out->n = u->tasks;
    memcpy(out->name, u->task, sizeof out->name);
}

/* Those that arrived; the caller holds the lock. */
static void drop_pending(struct untagged_share *s, const struct slot_log *l)
{
    int n = 0;
    for (int i = 0; i < s->n_pending; i++)
        if (!slot_log_has(l, s->pending[i].maker, s->pending[i].number))
            s->pending[n++] = s->pending[i];
    s->given += (uint64_t)(s->n_pending - n);
    s->n_pending = n;
}

/* Did this bandit learn it when it was played? */
static bool own(const struct untagged_share *s, const struct slot_record *r)
{
    return r->maker == s->maker || (r->maker == s->was && r->number <= s->was_number);
}

static void hear(struct untagged_share *s, const struct slot_record *r)
{
    if (s->n_heard == SLOT_LOG_RECORDS) {
        memmove(&s->heard[0], &s->heard[1], sizeof *s->heard * (size_t)--s->n_heard);
        s->missed++;
    }
    s->heard[s->n_heard++] = *r;
}

void untagged_hear(struct untagged *u, const struct slot_log *l, double now)
{
    struct untagged_share *s = &u->share;
    struct slot_tasks tasks;
    pthread_mutex_lock(&u->lock);
    names(&tasks, u);
    drop_pending(s, l);
    if (s->heard_to.log != l->id || s->heard_to.count > l->count)
        s->heard_to = (struct untagged_place){.log = l->id}; /* it was begun anew */
    uint64_t first = l->count - (uint64_t)l->n + 1;          /* number of record 0 */
    bool before = s->heard_to.count > 0;
    if (before && s->heard_to.count + 1 < first)
        s->missed += first - s->heard_to.count - 1;
    for (int i = 0; i < l->n; i++) {
        struct slot_record r;
        if (first + (uint64_t)i <= s->heard_to.count || own(s, &l->record[i])) continue;
        slot_log_read(&r, l, i, &tasks);
        hear(s, &r);
    }
    s->heard_to.count = l->count;
    s->makers = l->makers;
    s->heard_at = now;
    pthread_mutex_unlock(&u->lock);
}

/* Pending ones that may be given; the caller holds the lock. */
static int ready(const struct untagged_share *s)
{
    int n = s->n_pending;
    while (n && s->pending[n - 1].number >= s->kept)
        n--;
    return n;
}

int untagged_give(struct untagged *u, struct slot_log *l)
{
    struct slot_tasks tasks;
    int n = 0;
    pthread_mutex_lock(&u->lock);
    names(&tasks, u);
    for (; n < ready(&u->share); n++)
        slot_log_add(l, &u->share.pending[n], &tasks);
    pthread_mutex_unlock(&u->lock);
    return n;
}

bool untagged_gives(struct untagged *u)
{
    pthread_mutex_lock(&u->lock);
    bool some = shares(u) && ready(&u->share);
    pthread_mutex_unlock(&u->lock);
    return some;
}

/* ---- the tick ---- */

void untagged_keep(struct untagged *u, const struct slot_record *r)
{
    struct untagged_share *s = &u->share;
    if (!s->maker) return;
    if (s->n_pending == UNTAGGED_PENDING) {
        memmove(&s->pending[0], &s->pending[1],
                sizeof *s->pending * (size_t)--s->n_pending);
        s->missed++;
    }
    s->pending[s->n_pending] = *r;
    s->pending[s->n_pending++].maker = s->maker;
}

void untagged_share_kept(struct untagged *u, uint64_t slot)
{
    pthread_mutex_lock(&u->lock);
    u->share.kept = slot;
    pthread_mutex_unlock(&u->lock);
}

/* Only the tick touches `learning`. */
void untagged_learn_heard(struct untagged *u)
{
    struct untagged_share *s = &u->share;
    pthread_mutex_lock(&u->lock);
    struct slot_record *full = s->heard;
    int n = s->n_heard, learned = 0;
    s->heard = s->learning;
    s->learning = full;
    s->n_heard = 0;
    struct untagged_place to = s->heard_to;
    pthread_mutex_unlock(&u->lock);

    for (int i = 0; i < n; i++)
        learned += !tanbr_learn_at(u->merge.bandit, full[i].x, full[i].psi,
                                   full[i].reward, full[i].trust);
    pthread_mutex_lock(&u->lock);
    s->learned_to = to;
    s->learned += (uint64_t)learned;
    pthread_mutex_unlock(&u->lock);
}

void untagged_share_tell(struct untagged_stats *out, const struct untagged_share *s)
{
    out->shares = s->on;
    out->given = s->given;
    out->heard = s->learned;
    out->missed = s->missed;
    out->pending = s->n_pending;
    out->makers = s->makers;
    out->heard_at = s->heard_at;
}

void untagged_share_close(struct untagged_share *s)
{
    free(s->heard);
    free(s->learning);
}

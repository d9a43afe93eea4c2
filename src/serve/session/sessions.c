#include "serve/session/sessions.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "serve/session/profiles.h"

enum {
    SHARDS_MAX = 64,
    SESSIONS_PER_SHARD = 256,
    FORGET_AT_ONCE = 16, /* closed sessions per hold of the lock */
};

struct entry {
    struct track track;
    struct entry *older, *newer; /* neighbours in its queue */
    int unstored;                /* strict: operations not yet in the store's queue */
};

/* Doubly linked, longest idle first. */
struct queue {
    struct entry *oldest, *newest;
};

struct shard {
    pthread_mutex_t lock;      /* guards the members below */
    struct table *table;       /* id -> struct entry */
    struct queue live, closed; /* by the time of their last request */
    double latest;             /* last request of the live ones, or later */
    struct steps steps;
    struct session_stats stats;
    pthread_cond_t stored; /* signalled when an entry's unstored becomes 0 */
} __attribute__((aligned(64)));

struct sessions {
    int max, n_shards;
    uint8_t number;
    bool strict;
    struct entropy entropy;
    atomic_int live;    /* over all shards */
    atomic_int expires; /* shard that sessions_expire visits first */
    struct shard *shard;
};

/* ---- ids ---- */

static const char HEX[] = "0123456789abcdef";

void sessions_id_text(char out[SERVICE_ID], const uint8_t id[TRACK_ID])
{
    for (int i = 0; i < TRACK_ID; i++) {
        out[2 * i] = HEX[id[i] >> 4];
        out[2 * i + 1] = HEX[id[i] & 15];
    }
    out[2 * TRACK_ID] = '\0';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

bool sessions_id_parse(uint8_t out[TRACK_ID], const char *text)
{
    for (int i = 0; i < TRACK_ID; i++) {
        int hi = hex_digit(text[2 * i]);
        int lo = hi < 0 ? -1 : hex_digit(text[2 * i + 1]);
        if (lo < 0) return false;
        out[i] = (uint8_t)(hi << 4 | lo);
    }
    return text[2 * TRACK_ID] == '\0';
}

static struct shard *shard_of(struct sessions *s, const uint8_t *id)
{
    uint32_t bits; /* random bits, which follow the node's number */
    memcpy(&bits, s->number ? id + 4 : id, sizeof bits);
    return &s->shard[bits % (unsigned)s->n_shards];
}

/* ---- queues ---- */

static void queue_remove(struct queue *q, struct entry *t)
{
    *(t->older ? &t->older->newer : &q->oldest) = t->newer;
    *(t->newer ? &t->newer->older : &q->newest) = t->older;
}

static void queue_append(struct queue *q, struct entry *t)
{
    t->older = q->newest;
    t->newer = NULL;
    *(q->newest ? &q->newest->newer : &q->oldest) = t;
    q->newest = t;
}

static void enter_live(struct shard *h, struct entry *t)
{
    queue_append(&h->live, t);
    if (t->track.last_at > h->latest) h->latest = t->track.last_at;
}

/* Moves t to the recent end. was: its last_at before; a refused request does not change last_at. */
static void entry_touched(struct shard *h, struct entry *t, double was)
{
    if (t->track.row.closed || t->track.last_at == was) return;
    queue_remove(&h->live, t);
    enter_live(h, t);
}

/* The clock was set back: sessions with a last_at in the future would expire too late. */
static void clock_set_back(struct shard *h, double now)
{
    for (struct entry *t = h->live.newest; t; t = t->older)
        if (t->track.last_at > now) t->track.last_at = now;
    h->latest = now;
}

static void remove_entry(struct shard *h, struct entry *t)
{
    uint8_t id[TRACK_ID];
    memcpy(id, t->track.row.id, sizeof id);
    track_drop(&t->track, &h->steps);
    table_delete(h->table, id);
}

static void forget_closed(struct shard *h)
{
    struct entry *t = h->closed.oldest;
    queue_remove(&h->closed, t);
    remove_entry(h, t);
}

/* An empty entry; without a free one, the oldest closed session is removed. */
static struct entry *place_entry(struct shard *h, const struct track_row *row)
{
    struct entry *t = table_put(h->table, row->id, NULL);
    if (!t && h->closed.oldest) {
        forget_closed(h);
        t = table_put(h->table, row->id, NULL);
    }
    if (t) {
        track_init(&t->track, row);
        t->track.row.seen = (struct viewing){0};
        t->unstored = 0;
    }
    return t;
}

/* ---- counts ---- */

/* What the viewer saw: an operation has at most one outcome. */
static void count_viewing(struct session_slot *slot, struct entry *t, struct changes *c)
{
    const struct track_row *row = &t->track.row;
    for (int i = 0; i < c->n && c->rewards; i++)
        if (c->step[i].ord == c->rewarded)
            viewing_chunk(&t->track.row.seen, &slot->viewing, row, &c->step[i]);
    if (!c->closed) return;
    viewing_end(&t->track.row.seen, &slot->viewing, &row->qoe);
    c->row.seen = row->seen;
}

static void count_changes(struct sessions *s, struct shard *h, struct entry *entry,
                          struct changes *c)
{
    const struct track *t = &entry->track;
    bool observed = t->row.observed;
    struct session_slot *slot =
        observed ? &h->stats.observed : &h->stats.slot[t->row.slot];
    h->stats.rewards += (uint64_t)c->rewards;
    if (!observed) h->stats.not_followed += (uint64_t)c->not_followed;
    h->stats.starved += c->starved;
    slot->rewards += (uint64_t)c->rewards;
    slot->reward_sum += c->reward_sum;
    slot->kbps_sum += c->kbps_sum;
    count_viewing(slot, entry, c);
    h->stats.decisions += c->decided;
    if (c->expert >= 0 && c->expert < 16) slot->expert[c->expert]++;
    c->unhinted = !t->row.hinted;
    if (c->unhinted && c->rewards) c->row = t->row;
    if (c->closed) {
        h->stats.live--;
        atomic_fetch_sub(&s->live, 1);
    }
}

static void slot_add(struct session_slot *out, const struct session_slot *a)
{
    out->rewards += a->rewards;
    out->reward_sum += a->reward_sum;
    out->kbps_sum += a->kbps_sum;
    viewing_add(&out->viewing, &a->viewing);
    for (int x = 0; x < 16; x++)
        out->expert[x] += a->expert[x];
}

void sessions_stats(struct session_stats *out, struct sessions *s)
{
    *out = (struct session_stats){0};
    for (int i = 0; i < s->n_shards; i++) {
        struct shard *h = &s->shard[i];
        pthread_mutex_lock(&h->lock);
        struct session_stats a = h->stats;
        pthread_mutex_unlock(&h->lock);
        out->live += a.live;
        out->decisions += a.decisions;
        out->repeats += a.repeats;
        out->rewards += a.rewards;
        out->not_followed += a.not_followed;
        out->starved += a.starved;
        for (int k = 0; k < SERVICE_PROFILE_STATS; k++)
            slot_add(&out->slot[k], &a.slot[k]);
        slot_add(&out->observed, &a.observed);
    }
}

static void slot_leave(struct queue *q, int slot)
{
    for (struct entry *t = q->oldest; t; t = t->newer)
        if (t->track.row.slot == slot) t->track.row.slot = PROFILES_SLOT_CUSTOM;
}

void sessions_slot_gone(struct sessions *s, int slot)
{
    for (int i = 0; i < s->n_shards; i++) {
        struct shard *h = &s->shard[i];
        pthread_mutex_lock(&h->lock);
        slot_leave(&h->live, slot);
        slot_leave(&h->closed, slot);
        slot_add(&h->stats.slot[PROFILES_SLOT_CUSTOM], &h->stats.slot[slot]);
        h->stats.slot[slot] = (struct session_slot){0};
        pthread_mutex_unlock(&h->lock);
    }
}

/* ---- operations ---- */

/* Counts a change of t that other threads can see: sessions_stored must follow. */
static void count_unstored(const struct sessions *s, struct entry *t)
{
    t->unstored += s->strict;
}

void sessions_stored(struct sessions *s, const uint8_t id[TRACK_ID])
{
    if (!s->strict) return;
    struct shard *h = shard_of(s, id);
    pthread_mutex_lock(&h->lock);
    struct entry *t = table_get(h->table, id);
    /* no thread waits for a session that was removed meanwhile */
    bool all = !t || --t->unstored == 0;
    pthread_mutex_unlock(&h->lock);
    if (all) pthread_cond_broadcast(&h->stored);
}

void sessions_await_stored(struct sessions *s, const uint8_t id[TRACK_ID])
{
    struct shard *h = shard_of(s, id);
    pthread_mutex_lock(&h->lock);
    const struct entry *t;
    while ((t = table_get(h->table, id)) && t->unstored)
        pthread_cond_wait(&h->stored, &h->lock);
    pthread_mutex_unlock(&h->lock);
}

static int session_unknown(struct err *e)
{
    return err_field(e, ERR_ABSENT, "session", "no such session");
}

/* A free entry in a shard with room for its first step, or ERR_FULL. */
static int try_open(struct answer *first, struct sessions *s, struct track_row *row,
                    const struct question *q, const struct verdict *v, struct changes *c,
                    struct err *e)
{
    struct shard *h = shard_of(s, row->id);
    pthread_mutex_lock(&h->lock);
    int rc = ERR_FULL;
    struct entry *t = place_entry(h, row);
    if (t) rc = track_decide(first, &t->track, &h->steps, q, v, row->opened_at, c, e);
    if (t && rc) remove_entry(h, t);
    if (!rc) {
        enter_live(h, t);
        count_unstored(s, t);
        h->stats.live++;
        count_changes(s, h, t, c);
        c->row = *row;
    }
    pthread_mutex_unlock(&h->lock);
    return rc;
}

int sessions_open(struct answer *first, struct sessions *s, struct track_row *row,
                  const struct question *q, const struct verdict *v, struct changes *c,
                  struct err *e)
{
    int rc = ERR_FULL;
    if (atomic_fetch_add(&s->live, 1) < s->max) {
        /* ids spread unevenly: other shards may have room */
        for (int tries = 0; rc == ERR_FULL && tries < 16; tries++) {
            rc = entropy_draw(&s->entropy, row->id, TRACK_ID, e);
            if (rc) break;
            if (s->number) row->id[0] = s->number;
            rc = try_open(first, s, row, q, v, c, NULL);
        }
    }
    if (!rc) return 0;
    atomic_fetch_sub(&s->live, 1);
    if (rc != ERR_FULL) return rc;
    return err_field(e, ERR_FULL, "session", "the table of %d live sessions is full",
                     s->max);
}

/* Adds what the viewer has seen of the session to the view of a decision. */
static void view_seen(struct view *view, const struct entry *t)
{
    view->stalled_s += (double)t->track.row.seen.stall_s;
    view->played_s += (double)t->track.row.seen.played_s;
}

static void ticket_of(struct session_ticket *out, const struct entry *t)
{
    const struct track_row *row = &t->track.row;
    out->changes = t->track.changes;
    out->key = row->key;
    out->network = row->network;
    out->tag = row->tag;
    out->slot = row->slot;
    out->explores = row->explores;
    out->hinted = row->hinted;
    out->apart = row->apart;
    out->arm = row->arm.index;
    out->trial = row->arm.own ? row->arm.number : 0;
    if (!out->hinted) memcpy(out->content_id, row->content_id, SERVICE_CONTENT);
}

int sessions_peek(struct view *view, struct answer *again, struct session_ticket *ticket,
                  struct sessions *s, const uint8_t id[TRACK_ID],
                  const struct question *q, struct err *e)
{
    struct shard *h = shard_of(s, id);
    pthread_mutex_lock(&h->lock);
    struct entry *t = table_get(h->table, id);
    int rc;
    if (t) {
        rc = track_peek(view, again, &t->track, &h->steps, q, e);
        if (!rc) view_seen(view, t);
        ticket_of(ticket, t);
        h->stats.repeats += rc == 1;
    } else {
        rc = session_unknown(e);
    }
    pthread_mutex_unlock(&h->lock);
    return rc;
}

int sessions_underway(struct view *view, struct session_ticket *ticket,
                      struct sessions *s, const uint8_t id[TRACK_ID], int chunk,
                      struct err *e)
{
    struct shard *h = shard_of(s, id);
    pthread_mutex_lock(&h->lock);
    struct entry *t = table_get(h->table, id);
    int rc =
        t ? track_underway(view, &t->track, &h->steps, chunk, e) : session_unknown(e);
    if (!rc) {
        view_seen(view, t);
        ticket_of(ticket, t);
    }
    pthread_mutex_unlock(&h->lock);
    return rc;
}

int sessions_decide(struct answer *out, struct sessions *s, const uint8_t id[TRACK_ID],
                    const struct session_ticket *ticket, const struct question *q,
                    const struct verdict *v, double now, struct changes *c, struct err *e)
{
    struct shard *h = shard_of(s, id);
    pthread_mutex_lock(&h->lock);
    struct entry *t = table_get(h->table, id);
    int rc;
    if (!t) {
        rc = session_unknown(e);
    } else if (t->track.changes != ticket->changes) {
        rc = 1;
    } else {
        double was = t->track.last_at;
        rc = track_decide(out, &t->track, &h->steps, q, v, now, c, e);
        entry_touched(h, t, was);
        if (!rc) count_unstored(s, t);
        count_changes(s, h, t, c);
    }
    pthread_mutex_unlock(&h->lock);
    return rc;
}

/* Updates queues and counts after an operation on t. was: its last_at before. */
static void entry_changed(struct sessions *s, struct shard *h, struct entry *t,
                          double was, struct changes *c)
{
    if (c->closed) {
        queue_remove(&h->live, t);
        queue_append(&h->closed, t);
    } else {
        entry_touched(h, t, was);
    }
    count_changes(s, h, t, c);
}

static void close_entry(struct sessions *s, struct shard *h, struct entry *t, double now,
                        struct changes *c)
{
    double was = t->track.last_at;
    track_close(&t->track, &h->steps, now, c);
    entry_changed(s, h, t, was, c);
    count_unstored(s, t);
}

int sessions_report(struct reward_out *out, struct sessions *s,
                    const uint8_t id[TRACK_ID], const struct reward_in *in, double now,
                    struct changes *c, struct err *e)
{
    struct shard *h = shard_of(s, id);
    pthread_mutex_lock(&h->lock);
    struct entry *t = table_get(h->table, id);
    double was = t ? t->track.last_at : 0;
    int rc =
        t ? track_report(out, &t->track, &h->steps, in, now, c, e) : session_unknown(e);
    if (t) entry_changed(s, h, t, was, c);
    if (!rc) count_unstored(s, t);
    pthread_mutex_unlock(&h->lock);
    return rc;
}

int sessions_close(struct sessions *s, const uint8_t id[TRACK_ID], const char *profile,
                   double now, struct changes *c, struct err *e)
{
    struct shard *h = shard_of(s, id);
    pthread_mutex_lock(&h->lock);
    struct entry *t = table_get(h->table, id);
    int rc = t ? track_label(&t->track, profile, e) : session_unknown(e);
    if (!rc) close_entry(s, h, t, now, c);
    pthread_mutex_unlock(&h->lock);
    return rc;
}

static int find_in(uint8_t (*id)[TRACK_ID], int max, const struct queue *q,
                   bool (*fits)(void *ctx, const struct track_row *row), void *ctx)
{
    int n = 0;
    for (const struct entry *t = q->oldest; t && n < max; t = t->newer)
        if (fits(ctx, &t->track.row)) memcpy(id[n++], t->track.row.id, TRACK_ID);
    return n;
}

int sessions_find(uint8_t (*id)[TRACK_ID], int max, struct sessions *s,
                  bool (*fits)(void *ctx, const struct track_row *row), void *ctx)
{
    int n = 0;
    for (int i = 0; i < s->n_shards && n < max; i++) {
        struct shard *h = &s->shard[i];
        pthread_mutex_lock(&h->lock);
        n += find_in(id + n, max - n, &h->live, fits, ctx);
        n += find_in(id + n, max - n, &h->closed, fits, ctx);
        pthread_mutex_unlock(&h->lock);
    }
    return n;
}

void sessions_forget(struct sessions *s, const uint8_t id[TRACK_ID])
{
    struct shard *h = shard_of(s, id);
    pthread_mutex_lock(&h->lock);
    struct entry *t = table_get(h->table, id);
    if (t && t->track.row.closed) {
        queue_remove(&h->closed, t);
        remove_entry(h, t);
    }
    pthread_mutex_unlock(&h->lock);
}

bool sessions_live(struct sessions *s, const uint8_t id[TRACK_ID])
{
    struct shard *h = shard_of(s, id);
    pthread_mutex_lock(&h->lock);
    const struct entry *t = table_get(h->table, id);
    bool live = t && !t->track.row.closed;
    pthread_mutex_unlock(&h->lock);
    return live;
}

/* Removes some old closed sessions, so that requests do not wait for thousands. False: none left. */
static bool forget_some(struct shard *h, double before)
{
    int n = 0;
    pthread_mutex_lock(&h->lock);
    for (; n < FORGET_AT_ONCE; n++) {
        if (!h->closed.oldest || h->closed.oldest->track.row.closed_at >= before) break;
        forget_closed(h);
    }
    pthread_mutex_unlock(&h->lock);
    return n == FORGET_AT_ONCE;
}

static bool expire_one(struct sessions *s, struct shard *h, double before, double now,
                       struct changes *c)
{
    pthread_mutex_lock(&h->lock);
    if (h->latest > now) clock_set_back(h, now);
    struct entry *t = h->live.oldest;
    bool idle = t && t->track.last_at < before;
    if (idle) close_entry(s, h, t, now, c);
    pthread_mutex_unlock(&h->lock);
    return idle;
}

bool sessions_expire(struct sessions *s, double before, double now, struct changes *c)
{
    int first = atomic_load(&s->expires);
    for (int k = 0; k < s->n_shards; k++) {
        int i = (first + k) % s->n_shards;
        struct shard *h = &s->shard[i];
        while (forget_some(h, before))
            ;
        if (expire_one(s, h, before, now, c)) {
            atomic_store(&s->expires, i); /* this shard may have more */
            return true;
        }
    }
    return false;
}

int sessions_history(struct track_row *row, double *last_at, struct step **steps, int *n,
                     struct sessions *s, const uint8_t id[TRACK_ID], uint32_t after,
                     int limit, struct err *e)
{
    struct shard *h = shard_of(s, id);
    struct step *out = NULL;
    int room = 0, rc;
    do { /* allocated without the lock: repeat if the session has more steps now */
        pthread_mutex_lock(&h->lock);
        struct entry *t = table_get(h->table, id);
        int need = t && t->track.n < limit ? t->track.n : t ? limit : 0;
        rc = t ? 0 : session_unknown(e);
        if (t && need <= room) {
            *row = t->track.row;
            *last_at = t->track.last_at;
            *n = 0;
            for (int32_t i = t->track.oldest; i >= 0 && *n < limit;
                 i = h->steps.at[i].next) {
                if (h->steps.at[i].ord < after) continue;
                assert(*n < need);
                out[(*n)++] = h->steps.at[i];
            }
            pthread_mutex_unlock(&h->lock);
            *steps = out;
            return 0;
        }
        pthread_mutex_unlock(&h->lock);
        if (rc) break;
        free(out);
        room = need < INT_MAX - 4 ? need + 4 : need;
        out = malloc((size_t)room * sizeof *out);
        if (!out) rc = err_set(e, ERR_MEMORY, "no memory for %d steps", room);
    } while (!rc);
    free(out);
    return rc;
}

/* Inserts into the live queue by last_at; restored rows come oldest first. */
int sessions_restore(struct sessions *s, const struct track_row *row,
                     const struct step *steps, int n, double heard_at, struct err *e)
{
    assert(n > 0);
    struct shard *h = shard_of(s, row->id);
    pthread_mutex_lock(&h->lock);
    struct entry *t = atomic_load(&s->live) < s->max ? place_entry(h, row) : NULL;
    int rc = 0;
    if (!t)
        rc = err_field(e, ERR_FULL, "session", "the table of %d live sessions is full",
                       s->max);
    for (int i = 0; i < n && !rc; i++) {
        rc = track_restore(&t->track, &h->steps, &steps[i], e);
        viewing_restore(&t->track.row.seen, row, &steps[i]);
    }
    if (t && rc) remove_entry(h, t);
    if (!rc) {
        t->track.last_at = heard_at;
        enter_live(h, t);
        h->stats.live++;
        atomic_fetch_add(&s->live, 1);
    }
    pthread_mutex_unlock(&h->lock);
    return rc;
}

/* ---- life ---- */

static int shard_init(struct shard *h, int cap, int steps, const struct sessions_cfg *cfg,
                      struct err *e)
{
    uint64_t seed;
    int rc = entropy_draw(&cfg->entropy, &seed, sizeof seed, e);
    if (rc) return rc;
    h->table = table_new(cap, TRACK_ID, sizeof(struct entry), seed, e);
    return h->table ? track_steps_init(&h->steps, steps, cfg->keep, e) : ERR_MEMORY;
}

struct sessions *sessions_new(const struct sessions_cfg *cfg, struct err *e)
{
    assert(cfg->max > 0 && cfg->keep > 0);
    struct sessions *s = calloc(1, sizeof *s);
    if (!s) {
        err_set(e, ERR_MEMORY, "no memory for the sessions");
        return NULL;
    }
    s->max = cfg->max;
    s->entropy = cfg->entropy;
    s->number = cfg->number;
    s->strict = cfg->strict;
    s->n_shards = 1;
    while (s->n_shards < SHARDS_MAX && s->n_shards * SESSIONS_PER_SHARD < cfg->max)
        s->n_shards *= 2;
    s->shard = aligned_alloc(64, (size_t)s->n_shards * sizeof *s->shard);
    if (!s->shard) {
        err_set(e, ERR_MEMORY, "no memory for the sessions");
        free(s);
        return NULL;
    }
    memset(s->shard, 0, (size_t)s->n_shards * sizeof *s->shard);
    for (int i = 0; i < s->n_shards; i++) {
        pthread_mutex_init(&s->shard[i].lock, NULL);
        pthread_cond_init(&s->shard[i].stored, NULL);
    }

    /* a quarter more than its share: random ids spread unevenly */
    int share = cfg->max / s->n_shards + 1, cap = share + share / 4 + 8;
    int each = cfg->keep < TRACK_KEEP ? cfg->keep : TRACK_KEEP;
    int steps = cap * each + cfg->spare / s->n_shards + 1;
    for (int i = 0; i < s->n_shards; i++)
        if (shard_init(&s->shard[i], cap, steps, cfg, e)) {
            sessions_free(s);
            return NULL;
        }
    return s;
}

void sessions_free(struct sessions *s)
{
    if (!s) return;
    for (int i = 0; i < s->n_shards; i++) {
        struct shard *h = &s->shard[i];
        track_steps_release(&h->steps);
        table_free(h->table);
        pthread_cond_destroy(&h->stored);
        pthread_mutex_destroy(&h->lock);
    }
    free(s->shard);
    free(s);
}

/* The leader's heartbeat (lead.h). */
#include "lead_priv.h"

#include <stdlib.h>
#include <string.h>

#include "serve/cluster/cluster_cfg.h"

void lead_stand_by(struct lead *l, const char *why)
{
    if (!atomic_exchange(&l->leading, false)) return;
    log_event(l->cfg.log, LOG_WARN, "lead", "standing by: %s", why);
    follow_afresh(l->cfg.follow);
}

/* ---- beats: written by the learner's thread and by lead_heartbeat's, by one of them at a time ---- */

/* What the next beats say. */
void lead_beat_note(struct lead *l)
{
    pthread_mutex_lock(&l->lock);
    l->said.beat = l->beat;
    l->said.again = true;
    pthread_mutex_unlock(&l->lock);
}

/* The learner's thread is alive. */
void lead_beat_progress(struct lead *l, double mono)
{
    pthread_mutex_lock(&l->lock);
    l->said.progress_at = mono;
    pthread_mutex_unlock(&l->lock);
}

static int beat_put(uint64_t *rev, struct lead *l, const struct bus_wire_heartbeat *beat,
                    struct err *e)
{
    unsigned char bytes[BUS_WIRE_HEARTBEAT_MAX];
    size_t n = bus_wire_put_heartbeat(bytes, beat);
    struct bucket *b = &l->cfg.bucket;
    return b->put(b->self, FOLLOW_HEARTBEAT, bytes, n, *rev, rev, e);
}

/* The board has another beat than the one that was written last: our own, whose answer was lost, or
 * another's (*lost). */
static int beat_look(uint64_t *rev, bool *lost, struct lead *l,
                     const struct bus_wire_heartbeat *mine)
{
    struct bus_wire_heartbeat is = {0};
    void *bytes;
    size_t n;
    uint64_t found;
    struct bucket *b = &l->cfg.bucket;
    struct err why = {0};
    int rc = b->get(b->self, FOLLOW_HEARTBEAT, &bytes, &n, &found, &why);
    if (!rc && bytes) rc = bus_wire_get_heartbeat(&is, bytes, n, &why);
    free(bytes);
    if (!rc && is.term == mine->term && !strcmp(is.name, mine->name))
        *rev = found;
    else if (!rc)
        *lost = true;
    else if (rc == ERR_INVALID || rc == ERR_CORRUPT)
        *rev = found; /* damaged: ours comes over it */
    return rc;
}

/* One beat, from the revision before it; no lock is held while the board works. Sets deposed when
 * another one leads. */
static int beat_write(struct lead *l, double mono, struct err *e)
{
    bool lost = false;
    pthread_mutex_lock(&l->lock);
    struct bus_wire_heartbeat beat = l->said.beat;
    uint64_t rev = l->said.rev;
    beat.beats = ++l->said.count;
    l->said.again = false;
    pthread_mutex_unlock(&l->lock);

    int rc = beat_put(&rev, l, &beat, e);
    bool taken = !rc;
    if (rc == ERR_CONFLICT) rc = beat_look(&rev, &lost, l, &beat);

    pthread_mutex_lock(&l->lock);
    if (l->said.beat.term == beat.term) {
        l->said.rev = rev;
        /* what failed may hold up all else for a while: not in every turn */
        if (taken || rc) l->said.at = rc ? mono - CLUSTER_HEARTBEAT_S / 2 : mono;
        if (lost) atomic_store(&l->deposed, true);
    }
    pthread_mutex_unlock(&l->lock);
    return rc;
}

static bool beat_begin(struct lead *l)
{
    pthread_mutex_lock(&l->lock);
    bool free = !l->said.writing;
    l->said.writing = true;
    pthread_mutex_unlock(&l->lock);
    return free;
}

/* False: what is to be written has changed meanwhile, so it is written once more. */
static bool beat_end(struct lead *l, bool failed)
{
    pthread_mutex_lock(&l->lock);
    bool over = failed || !l->said.again || atomic_load(&l->deposed);
    if (over) l->said.writing = false;
    pthread_mutex_unlock(&l->lock);
    return over;
}

/* Now, or by the other thread, which writes just now. */
static int beat_now(struct lead *l, double mono, struct err *e)
{
    if (!beat_begin(l)) return 0;
    int rc;
    do
        rc = beat_write(l, mono, e);
    while (!beat_end(l, rc != 0));
    return rc;
}

bool lead_beat_due(struct lead *l, double mono)
{
    pthread_mutex_lock(&l->lock);
    bool due = mono >= l->said.at + CLUSTER_HEARTBEAT_S;
    pthread_mutex_unlock(&l->lock);
    return due;
}

/* What a beat found, for the learner's thread. */
bool lead_deposed(struct lead *l)
{
    if (!atomic_exchange(&l->deposed, false)) return false;
    lead_stand_by(l, "another learner leads");
    return true;
}

/* Of the learner's thread. */
int lead_beat_write(struct lead *l, double mono, struct err *e)
{
    int rc = beat_now(l, mono, e);
    (void)lead_deposed(l);
    return rc;
}

int lead_heartbeat(struct lead *l, double mono, struct err *e)
{
    if (!lead_leading(l) || !lead_beat_due(l, mono)) return 0;
    pthread_mutex_lock(&l->lock);
    bool stuck = mono >= l->said.progress_at + CLUSTER_STUCK_S;
    pthread_mutex_unlock(&l->lock);
    return stuck ? 0 : beat_now(l, mono, e);
}

/* The first beat of a term. ERR_CONFLICT: another was faster. */
int lead_beat_term(struct lead *l, uint64_t rev, double mono, struct err *e)
{
    if (!beat_begin(l))
        return ERR_CONFLICT; /* the last one of an earlier term is under way */
    pthread_mutex_lock(&l->lock);
    l->said.beat = l->beat;
    l->said.rev = rev;
    l->said.again = false;
    struct bus_wire_heartbeat first = l->beat;
    first.beats = ++l->said.count;
    pthread_mutex_unlock(&l->lock);
    int rc = beat_put(&rev, l, &first, e);
    pthread_mutex_lock(&l->lock);
    l->said.writing = false;
    if (!rc) {
        l->said.rev = rev;
        l->said.at = l->said.progress_at = mono;
    }
    pthread_mutex_unlock(&l->lock);
    return rc;
}

/* The last one. */
void lead_beat_over(struct lead *l)
{
    pthread_mutex_lock(&l->lock);
    double at = l->said.at;
    pthread_mutex_unlock(&l->lock);
    l->beat.over = true;
    lead_beat_note(l);
    (void)!beat_now(l, at, NULL);
}

#include "sim/disk.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* of a session that is restored (store_sqlite.c) */
enum {
    NEWEST_EXPLORING = TRAJ_STEPS + 4 * VIEW_HISTORY,
    NEWEST_GREEDY = 4 * VIEW_HISTORY
};

static void *added(void *p, int *cap, size_t size)
{
    *cap = *cap ? 2 * *cap : 16;
    p = realloc(p, (size_t)*cap * size);
    assert(p);
    return p;
}

void disk_init(struct disk *d)
{
    *d = (struct disk){.pruned = -INFINITY};
}

void disk_release(struct disk *d)
{
    for (int i = 0; i < d->n; i++)
        free(d->session[i].step);
    free(d->session);
    d->session = NULL;
    d->n = d->cap = 0;
}

void disk_copy(struct disk *to, const struct disk *from)
{
    *to = *from;
    to->session = malloc((size_t)(from->cap + 1) * sizeof *to->session);
    assert(to->session);
    for (int i = 0; i < from->n; i++) {
        struct disk_session *s = &to->session[i];
        *s = from->session[i];
        s->step = malloc((size_t)s->cap * sizeof *s->step);
        assert(s->step);
        memcpy(s->step, from->session[i].step, (size_t)s->n * sizeof *s->step);
    }
}

/* ---- rows ---- */

static struct disk_session *find(struct disk *d, const uint8_t *id)
{
    for (int i = d->n; i-- > 0;)
        if (!memcmp(d->session[i].row.id, id, TRACK_ID)) return &d->session[i];
    return NULL;
}

static struct disk_session *find_or_make(struct disk *d, const uint8_t *id)
{
    struct disk_session *s = find(d, id);
    if (s) return s;
    if (d->n == d->cap) d->session = added(d->session, &d->cap, sizeof *d->session);
    s = &d->session[d->n++];
    *s = (struct disk_session){0};
    s->step = added(NULL, &s->cap, sizeof *s->step);
    s->row.levels = -1; /* steps may come first */
    memcpy(s->row.id, id, TRACK_ID);
    return s;
}

/* What is not a column is not there when it is read again. */
static void put_session(struct disk *d, const struct track_row *row)
{
    struct disk_session *s = find_or_make(d, row->id);
    if (s->row.levels < 0) {
        s->row = *row;
    } else if (row->closed >= s->row.closed) {
        s->row.closed_at = row->closed_at;
        s->row.closed = row->closed;
        s->row.terminal = row->terminal;
        memcpy(s->row.profile, row->profile, sizeof s->row.profile);
    }
    s->row.tag = s->row.slot = 0;
    s->row.labelled = false;
}

static void put_step(struct disk *d, const uint8_t *id, const struct step *in)
{
    struct disk_session *s = find_or_make(d, id);
    int at = s->n;
    while (at > 0 && s->step[at - 1].ord >= in->ord)
        at--;
    if (at < s->n && s->step[at].ord == in->ord) {
        struct step *old = &s->step[at];
        if (in->rev <= old->rev) return;
        old->rev = in->rev;
        old->flags = in->flags;
        old->level = in->level;
        old->bytes = in->bytes;
        old->download_s = in->download_s;
        old->rebuffer_s = in->rebuffer_s;
        old->reward = in->reward;
        old->external = in->external;
        old->at = in->at;
        return;
    }
    if (s->n == s->cap) s->step = added(s->step, &s->cap, sizeof *s->step);
    memmove(&s->step[at + 1], &s->step[at], (size_t)(s->n - at) * sizeof *s->step);
    s->step[at] = *in;
    s->step[at].next = s->step[at].prev = -1;
    s->n++;
}

static void put_version(struct disk *d, const struct store_version *v)
{
    int at = d->versions;
    while (at > 0 && d->version[at - 1].version >= v->version)
        at--;
    if (at < d->versions && d->version[at].version == v->version) return;
    assert(d->versions < 256);
    memmove(&d->version[at + 1], &d->version[at],
            (size_t)(d->versions - at) * sizeof *d->version);
    d->version[at] = *v;
    d->versions++;
}

static int profile_at(const struct disk *d, const char *name)
{
    int i = 0;
    while (i < d->profiles && strcmp(d->profile[i].name, name) < 0)
        i++;
    return i;
}

static void put_profile(struct disk *d, const struct profile *p)
{
    int i = profile_at(d, p->name);
    if (i == d->profiles || strcmp(d->profile[i].name, p->name) != 0) {
        assert(d->profiles < 64);
        memmove(&d->profile[i + 1], &d->profile[i],
                (size_t)(d->profiles - i) * sizeof *d->profile);
        d->profiles++;
    }
    d->profile[i] = (struct profile){.qoe = p->qoe};
    memcpy(d->profile[i].name, p->name, sizeof p->name);
}

static void delete_profile(struct disk *d, const char *name)
{
    int i = profile_at(d, name);
    if (i == d->profiles || strcmp(d->profile[i].name, name) != 0) return;
    d->profiles--;
    memmove(&d->profile[i], &d->profile[i + 1],
            (size_t)(d->profiles - i) * sizeof *d->profile);
}

static void prune(struct disk *d, double before)
{
    int kept = 0;
    for (int i = 0; i < d->n; i++) {
        const struct track_row *r = &d->session[i].row;
        if (r->closed && r->closed_at < before)
            free(d->session[i].step);
        else
            d->session[kept++] = d->session[i];
    }
    d->n = kept;
}

/* ---- writing ---- */

/* Rules broken on purpose, as a store might. */
static bool spoilt(struct disk *d, const struct store_rec *r)
{
    if (r->kind == STORE_VERSION && d->broken == BREAK_BACK) return true;
    if (r->kind == STORE_PROFILE && d->broken == BREAK_PROFILE) return true;
    if (r->kind != STORE_STEP || !(r->step.flags & STEP_REPORTED)) return false;
    if (d->broken == BREAK_DROP) return true;
    if (d->broken == BREAK_TWICE && !d->broke) {
        struct step again = r->step;
        again.ord += 1000;
        put_step(d, r->id, &again);
        d->broke = true;
    }
    return false;
}

static void put(struct disk *d, const struct store_rec *r)
{
    if (spoilt(d, r)) return;
    switch (r->kind) {
    case STORE_SESSION:
        put_session(d, &r->row);
        break;
    case STORE_STEP:
        put_step(d, r->id, &r->step);
        break;
    case STORE_VERSION:
        put_version(d, &r->version);
        break;
    case STORE_PROFILE:
        put_profile(d, &r->profile);
        break;
    case STORE_PROFILE_GONE:
        delete_profile(d, r->profile.name);
        break;
    case STORE_PRUNE:
        prune(d, r->before);
        break;
    case STORE_PROFILE_NAME: /* no profile of the simulation has a built-in name */
    case STORE_ENVELOPE:
    case STORE_DELIVERED: /* of a bus that the simulation does not have */
        break;
    }
}

static int disk_write(void *self, const struct store_rec *rec, int n, struct err *e)
{
    struct disk *d = self;
    if (d->meanwhile) d->meanwhile(d->ctx);
    if (d->fail_writes) {
        if (d->fail_writes > 0) d->fail_writes--;
        d->failures++;
        return err_field(e, ERR_IO, "sim.db", "the disk is full: make room");
    }
    int rc = d->inner.self ? d->inner.write(d->inner.self, rec, n, e) : 0;
    if (rc) return rc;
    for (int i = 0; i < n; i++) {
        if (!d->inner.self) put(d, &rec[i]);
        if (rec[i].kind == STORE_PRUNE && rec[i].before > d->pruned)
            d->pruned = rec[i].before;
    }
    d->written += (uint64_t)n;
    return 0;
}

/* ---- reading ---- */

static double newest_at(const struct disk_session *s)
{
    double at = -INFINITY;
    for (int i = 0; i < s->n; i++)
        at = fmax(at, s->step[i].at);
    return at;
}

static int by_silence(const void *a, const void *b)
{
    const struct disk_session *const *x = a, *const *y = b;
    double u = newest_at(*x), v = newest_at(*y);
    if (u != v) return u < v ? -1 : 1;
    return memcmp((*x)->row.id, (*y)->row.id, TRACK_ID);
}

static int read_fault(struct disk *d, struct err *e)
{
    if (!d->fail_reads) return 0;
    d->fail_reads--;
    return err_field(e, ERR_IO, "sim.db", "cannot be read: disk I/O error");
}

/* A session as a restart sees it, with what is to be broken on its way. */
static int tell_session(struct disk *d, const struct disk_session *s,
                        int (*fn)(void *ctx, const struct track_row *row,
                                  const struct step *steps, int n, struct err *e),
                        void *ctx, struct err *e)
{
    int most = s->row.explores ? NEWEST_EXPLORING : NEWEST_GREEDY;
    int have = s->n - (d->broken == BREAK_OLD && s->n > 1), n = have < most ? have : most;
    if (!n || s->row.levels < 0) return 0;
    struct step *steps = malloc((size_t)n * sizeof *steps);
    assert(steps);
    memcpy(steps, s->step + have - n, (size_t)n * sizeof *steps);
    if (d->broken == BREAK_ANSWER)
        for (int i = 0; i < n; i++)
            if (steps[i].decided >= 0) steps[i].decided = (int8_t)!steps[i].decided;
    int rc = fn(ctx, &s->row, steps, n, e);
    free(steps);
    return rc;
}

static int disk_live(void *self,
                     int (*fn)(void *ctx, const struct track_row *row,
                               const struct step *steps, int n, struct err *e),
                     void *ctx, struct err *e)
{
    struct disk *d = self;
    int rc = read_fault(d, e);
    if (rc) return rc;
    if (d->inner.self) return d->inner.live(d->inner.self, fn, ctx, e);

    const struct disk_session **live = malloc((size_t)(d->n + 1) * sizeof *live);
    assert(live);
    int n = 0;
    for (int i = 0; i < d->n; i++)
        if (d->session[i].row.levels >= 0 && !d->session[i].row.closed)
            live[n++] = &d->session[i];
    qsort(live, (size_t)n, sizeof *live, by_silence);
    for (int i = 0; i < n && !rc; i++)
        rc = tell_session(d, live[i], fn, ctx, e);
    free(live);
    return rc;
}

static int disk_history(void *self, struct track_row *row, double *last_at,
                        struct step **steps, int *n, const uint8_t id[TRACK_ID],
                        uint32_t after, int limit, struct err *e)
{
    struct disk *d = self;
    if (d->inner.self)
        return d->inner.history(d->inner.self, row, last_at, steps, n, id, after, limit,
                                e);
    const struct disk_session *s = find(d, id);
    *steps = NULL;
    if (!s || s->row.levels < 0)
        return err_field(e, ERR_ABSENT, "session", "no such session");
    *row = s->row;
    *n = 0;
    *last_at = 0;
    *steps = malloc((size_t)(s->n + 1) * sizeof **steps);
    assert(*steps);
    for (int i = 0; i < s->n; i++) {
        if (s->step[i].at > *last_at) *last_at = s->step[i].at;
        if (s->step[i].ord >= after && *n < limit) (*steps)[(*n)++] = s->step[i];
    }
    return 0;
}

static int disk_profiles(void *self, struct profile *out, int max, int *n, struct err *e)
{
    struct disk *d = self;
    int rc = read_fault(d, e);
    if (rc) return rc;
    if (d->inner.self) return d->inner.profiles(d->inner.self, out, max, n, e);
    *n = d->profiles < max ? d->profiles : max;
    memcpy(out, d->profile, (size_t)*n * sizeof *out);
    return 0;
}

static int disk_versions(void *self, struct store_version *out, int max, int *n,
                         struct err *e)
{
    struct disk *d = self;
    int rc = read_fault(d, e);
    if (rc) return rc;
    if (d->inner.self) return d->inner.versions(d->inner.self, out, max, n, e);
    *n = d->versions < max ? d->versions : max;
    for (int i = 0; i < *n; i++)
        out[i] = d->version[d->versions - 1 - i];
    return 0;
}

static int disk_tidy(void *self, struct err *e)
{
    struct disk *d = self;
    return d->inner.tidy ? d->inner.tidy(d->inner.self, e) : 0;
}

/* The rows stay: it is the disk. */
static void disk_close(void *self)
{
    struct disk *d = self;
    if (d->inner.self) d->inner.free(d->inner.self);
    d->inner = (struct store){0};
}

struct store disk_store(struct disk *d)
{
    return (struct store){.self = d,
                          .write = disk_write,
                          .live = disk_live,
                          .history = disk_history,
                          .profiles = disk_profiles,
                          .versions = disk_versions,
                          .tidy = disk_tidy,
                          .free = disk_close};
}

#include "serve/cluster/trial_shared.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "serve/trial/trial_wire.h"

static const double READ_S = 5;  /* between two reads of what is common, without a call */
static const double COUNT_S = 2; /* between two exchanges of counts */

/* Another node, as it was read last. */
struct peer {
    uint64_t maker, boot;
    int units;           /* of its viewers, that were read */
    bool refused;        /* logged */
    struct compare *sum; /* owned; NULL: not read yet */
};

struct trial_shared {
    struct trial_shared_cfg cfg;
    struct shared_value value;
    struct trial_common read, now; /* as the turn reads it; as it was taken last */
    uint64_t id;                   /* of now; 0: there is none */
    uint64_t older;                /* a revision that was older than an order's */
    bool differs;                  /* logged: the settings have another trial */
    double count_at;
    uint64_t put_changes; /* of this node's counts, that the bucket has */
    int put_units;
    struct peer peer[TRIAL_MAKERS];
    int peers;
    struct trial_tally tally;      /* scratch */
    struct compare sum;            /* scratch */
    struct trial_wire_units units; /* scratch */
};

/* ---- what is common ---- */

struct call {
    int (*change)(void *ctx, struct trial_common *c, struct err *e);
    void *ctx;
};

static int call_change(void *ctx, void *value, bool there, struct err *e)
{
    const struct call *call = ctx;
    (void)there;
    return call->change(call->ctx, value, e);
}

static int trial_shared_change(void *self,
                               int (*change)(void *ctx, struct trial_common *c,
                                             struct err *e),
                               void *ctx, struct err *e)
{
    struct trial_shared *s = self;
    struct bucket *b = &s->cfg.bucket;
    struct call call = {change, ctx};
    uint64_t rev = 0;
    struct trial_common *c = calloc(1, sizeof *c);
    if (!c) return err_set(e, ERR_MEMORY, "no memory for the trial of all nodes");
    int rc =
        shared_value_change(c, &rev, &trial_wire_common_kind, b, call_change, &call, e);
    if (!rc && rev) {
        b->call(b->self);
        rc = trial_run_follow(s->cfg.trial, c, rev, false, e);
        if (rc == ERR_CONFLICT) rc = 0; /* there is a newer one by now */
    }
    free(c);
    return rc;
}

/* Fills an empty bucket; another process may be faster. */
static int propose_change(void *ctx, struct trial_common *c, struct err *e)
{
    (void)e;
    if (c->plan.arms) return 0;
    *c = *(const struct trial_common *)ctx;
    return 1;
}

static int propose(struct trial_shared *s, double now, struct err *e)
{
    struct trial_common mine;
    if (trial_run_common(&mine, s->cfg.trial))
        return trial_shared_change(s, propose_change, &mine, e);
    if (!s->cfg.wanted) return 0;
    int rc = trial_run_start(s->cfg.trial, s->cfg.wanted, now, e);
    return rc < 0 ? rc : 0;
}

static void say_differs(struct trial_shared *s)
{
    const struct trial_plan *own = s->cfg.wanted, *is = &s->now.plan;
    if (!own || s->differs || trial_plan_same(own, is)) return;
    s->differs = true;
    log_event(s->cfg.log, LOG_WARN, "trial",
              "the settings have the trial %s, the cluster has %s%s: begin another one "
              "with abrd trial start",
              own->name, is->name,
              strcmp(own->name, is->name) != 0 ? "" : " with other arms");
}

/* The keys of a trial that is over. */
static void drop_own(const struct trial_shared *s)
{
    const struct bucket *b = &s->cfg.bucket;
    char key[SHARED_VALUE_KEY];
    if (!s->id || !s->cfg.maker) return;
    trial_wire_tally_key(key, s->id, s->cfg.maker);
    (void)!b->set(b->self, key, NULL, 0, NULL);
    for (int i = 0; i * TRIAL_WIRE_UNITS < s->put_units; i++) {
        trial_wire_units_key(key, s->id, s->cfg.maker, i);
        (void)!b->set(b->self, key, NULL, 0, NULL);
    }
}

static void peers_forget(struct trial_shared *s)
{
    for (int i = 0; i < s->peers; i++)
        free(s->peer[i].sum);
    memset(s->peer, 0, sizeof s->peer);
    s->peers = 0;
}

static void put_again(struct trial_shared *s)
{
    s->put_changes = SHARED_VALUE_NONE;
    s->put_units = 0;
    s->count_at = -INFINITY;
}

static int trial_shared_take(void *ctx, struct shared_value *v, const struct err *wrong,
                             struct err *e)
{
    struct trial_shared *s = ctx;
    if (wrong) {
        shared_value_refuse(v, s->cfg.log, "trial",
                            "the trial of all nodes is refused, this node goes on with "
                            "what it has",
                            wrong);
        return 1;
    }
    if (!v->rev) {
        put_again(s); /* a new bucket */
        int rc = propose(s, v->now, e);
        return rc ? rc : 1;
    }
    int rc = trial_run_follow(s->cfg.trial, &s->read, v->rev, v->rev == s->older, e);
    s->older = rc == ERR_CONFLICT ? v->rev : 0;
    if (rc) return rc;
    uint64_t id = trial_common_id(&s->read);
    if (id != s->id) {
        drop_own(s);
        peers_forget(s);
        put_again(s);
    }
    s->now = s->read;
    s->id = id;
    say_differs(s);
    return 0;
}

/* ---- counts of this node ---- */

struct join_ctx {
    uint64_t id, maker;
    bool full;
};

static int join_change(void *ctx, struct trial_common *c, struct err *e)
{
    struct join_ctx *j = ctx;
    (void)e;
    if (!c->plan.arms || trial_common_id(c) != j->id) return 0;
    for (int i = 0; i < c->makers; i++)
        if (c->maker[i] == j->maker) return 0;
    j->full = c->makers == TRIAL_MAKERS;
    if (j->full) return 0;
    c->maker[c->makers++] = j->maker;
    return 1;
}

static bool is_maker(const struct trial_shared *s)
{
    for (int i = 0; i < s->now.makers; i++)
        if (s->now.maker[i] == s->cfg.maker) return true;
    return false;
}

/* Of the whole values that have viewers from number s->put_units on. */
static int put_units(struct trial_shared *s, int n, struct err *e)
{
    const struct bucket *b = &s->cfg.bucket;
    char key[SHARED_VALUE_KEY];
    int rc = 0;
    while (!rc && s->put_units < n) {
        int i = s->put_units / TRIAL_WIRE_UNITS;
        void *bytes;
        size_t size;
        s->units.n = trial_run_units(s->units.unit, s->cfg.trial, s->id,
                                     i * TRIAL_WIRE_UNITS, TRIAL_WIRE_UNITS);
        if (i * TRIAL_WIRE_UNITS + s->units.n <= s->put_units)
            return 0; /* another trial began */
        rc = shared_value_encode(&bytes, &size, &trial_wire_units_kind, &s->units, e);
        trial_wire_units_key(key, s->id, s->cfg.maker, i);
        if (!rc) rc = b->set(b->self, key, bytes, size, e);
        free(bytes);
        if (!rc) s->put_units = i * TRIAL_WIRE_UNITS + s->units.n;
    }
    return rc;
}

static int put_counts(struct trial_shared *s, struct err *e)
{
    const struct bucket *b = &s->cfg.bucket;
    struct trial_tally *t = &s->tally;
    trial_run_tally(t, s->cfg.trial);
    if (!s->cfg.maker || !s->id || t->id != s->id || t->changes == s->put_changes)
        return 0;
    struct join_ctx j = {s->id, s->cfg.maker, false};
    int rc = is_maker(s) ? 0 : trial_shared_change(s, join_change, &j, e);
    if (!rc && j.full)
        rc = err_set(e, ERR_FULL,
                     "%d nodes count in this trial: this node's sessions are missing on "
                     "the others. Nodes with a store (--data) keep their place",
                     TRIAL_MAKERS);
    if (!rc) rc = put_units(s, t->units, e);
    char key[SHARED_VALUE_KEY];
    void *bytes = NULL;
    size_t size;
    trial_wire_tally_key(key, s->id, s->cfg.maker);
    if (!rc) rc = shared_value_encode(&bytes, &size, &trial_wire_tally_kind, t, e);
    if (!rc) rc = b->set(b->self, key, bytes, size, e);
    free(bytes);
    if (!rc) s->put_changes = t->changes;
    return rc;
}

/* ---- counts of other nodes ---- */

static struct peer *peer_of(struct trial_shared *s, uint64_t maker)
{
    for (int i = 0; i < s->peers; i++)
        if (s->peer[i].maker == maker) return &s->peer[i];
    if (s->peers == TRIAL_MAKERS) return NULL;
    s->peer[s->peers] = (struct peer){.maker = maker};
    return &s->peer[s->peers++];
}

static int read_units(struct trial_shared *s, struct peer *p, int n, struct err *e)
{
    char key[SHARED_VALUE_KEY];
    uint64_t rev;
    while (p->units < n) {
        int i = p->units / TRIAL_WIRE_UNITS, from = p->units % TRIAL_WIRE_UNITS;
        trial_wire_units_key(key, s->id, p->maker, i);
        int rc = shared_value_get(&s->units, NULL, &rev, &trial_wire_units_kind,
                                  &s->cfg.bucket, key, e);
        if (rc) return rc;
        if (s->units.n <= from)
            return err_set(e, ERR_CORRUPT, "%s: it has fewer viewers than it says", key);
        trial_run_seen(s->cfg.trial, s->id, s->units.unit + from, s->units.n - from);
        p->units = i * TRIAL_WIRE_UNITS + s->units.n;
    }
    return 0;
}

static int read_peer(struct trial_shared *s, struct peer *p, struct err *e)
{
    char key[SHARED_VALUE_KEY];
    uint64_t rev;
    trial_wire_tally_key(key, s->id, p->maker);
    int rc = shared_value_get(&s->tally, NULL, &rev, &trial_wire_tally_kind,
                              &s->cfg.bucket, key, e);
    if (rc || !rev) return rc; /* it has joined, and not put its counts yet */
    if (s->tally.id != s->id || s->tally.compare.cfg.arms != s->now.plan.arms)
        return err_set(e, ERR_CORRUPT, "%s: it is of another trial", key);
    if (!p->sum) p->sum = malloc(sizeof *p->sum);
    if (!p->sum) return err_set(e, ERR_MEMORY, "no memory for a node's counts");
    *p->sum = s->tally.compare;
    if (p->boot != s->tally.boot) p->units = 0;
    p->boot = s->tally.boot;
    return read_units(s, p, s->tally.units, e);
}

/* A node whose counts cannot be read counts as before. */
static int read_counts(struct trial_shared *s, struct err *e)
{
    int rc = 0, nodes = 0;
    if (!s->id) return 0;
    for (int i = 0; i < s->now.makers && rc != ERR_IO && rc != ERR_MEMORY; i++) {
        struct err why = {0};
        struct peer *p =
            s->now.maker[i] == s->cfg.maker ? NULL : peer_of(s, s->now.maker[i]);
        if (!p) continue;
        rc = read_peer(s, p, &why);
        if (rc && rc != ERR_IO && !p->refused)
            log_err(s->cfg.log, LOG_ERROR, "trial", &why);
        p->refused = rc && rc != ERR_IO;
        if (rc) err_set(e, rc, "%s", why.detail);
    }
    memset(&s->sum, 0, sizeof s->sum);
    s->sum.cfg.arms = s->now.plan.arms;
    for (int i = 0; i < s->peers; i++) {
        if (!s->peer[i].sum) continue;
        compare_merge(&s->sum, s->peer[i].sum);
        nodes++;
    }
    trial_run_others(s->cfg.trial, s->id, &s->sum, nodes);
    return rc;
}

/* ---- stopped arms ---- */

static int stops_change(void *ctx, struct trial_common *c, struct err *e)
{
    const struct trial_common *mine = ctx;
    int more = 0;
    (void)e;
    if (!c->plan.arms || trial_common_id(c) != trial_common_id(mine)) return 0;
    for (int a = 0; a < c->plan.arms; a++) {
        if (mine->stopped_by[a] < 0 || c->stopped_by[a] >= 0) continue;
        c->stopped_by[a] = mine->stopped_by[a];
        more = 1;
    }
    return more;
}

static int put_stops(struct trial_shared *s, struct err *e)
{
    struct trial_common mine;
    if (!trial_run_common(&mine, s->cfg.trial) || trial_common_id(&mine) != s->id)
        return 0;
    bool same = !memcmp(mine.stopped_by, s->now.stopped_by, sizeof mine.stopped_by);
    return same ? 0 : trial_shared_change(s, stops_change, &mine, e);
}

/* ---- turns ---- */

void trial_shared_rest(struct trial_shared *s, double mono, bool drain)
{
    struct err why = {0};
    if (!drain && mono < s->count_at + COUNT_S) return;
    s->count_at = mono;
    int rc = put_counts(s, &why);
    if (!rc && !drain) rc = read_counts(s, &why);
    if (!rc) rc = put_stops(s, &why);
    if (rc) log_err(s->cfg.log, rc == ERR_FULL ? LOG_ERROR : LOG_DEBUG, "trial", &why);
}

struct shared_value *trial_shared_value(struct trial_shared *s)
{
    return &s->value;
}

void trial_shared_called(struct trial_shared *s)
{
    shared_value_called(&s->value);
}

struct trial_shared *trial_shared_new(const struct trial_shared_cfg *cfg, struct err *e)
{
    struct trial_shared *s = calloc(1, sizeof *s);
    if (!s) {
        err_set(e, ERR_MEMORY, "no memory for the trial of all nodes");
        return NULL;
    }
    s->cfg = *cfg;
    s->value = (struct shared_value){.kind = &trial_wire_common_kind,
                                     .bucket = cfg->bucket,
                                     .value = &s->read,
                                     .every_s = READ_S,
                                     .take = trial_shared_take,
                                     .ctx = s};
    shared_value_init(&s->value);
    put_again(s);
    trial_run_share(cfg->trial, &(struct trial_peers){s, trial_shared_change});
    return s;
}

void trial_shared_free(struct trial_shared *s)
{
    if (!s) return;
    peers_forget(s);
    free(s);
}

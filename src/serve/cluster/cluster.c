/* Several processes as a part of the daemon: with a role (cluster_cfg.h) the service has a struct
 * cluster: NATS, the shared values, the outbox of a node or the de-duplication and the lead of a
 * learner. A standalone daemon has none. The core calls it as a part (serve/part.h) and as the peers
 * of its node (session/core.h).
 *
 * A call that waits for NATS holds no lock. Taking over common settings holds profiles_lock, never
 * across NATS.
 *
 * Errors: ERR_IO the bus does not answer, ERR_CONFLICT other processes were always faster, and those
 * of the configuration. Threads: turns and announcements the learner's; the heartbeat a thread of its
 * own; open, start, drain and free the service's; the rest any. */
#include "serve/session/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "learn/ckpt.h"
#include "serve/cluster/bus_nats.h"
#include "serve/cluster/guest.h"
#include "serve/cluster/lead.h"
#include "serve/wire/emit.h"

static const double DRAIN_S = 2;  /* for closed trajectories to leave */
static const double LEADER_S = 1; /* between the leader's reads of the shared values */
static const double AGAIN_S = .1; /* between reads after a call */
enum { READS_AFTER_CALL = 5, VALUES = FOLLOW_VALUES + GUESTS_MAX };

extern const struct part cluster_part;

struct cluster {
    struct cluster_cfg cfg;
    struct service *service;
    struct peers peers;
    enum cluster_role role;
    char node[CLUSTER_NAME];
    struct bus_nats *nats;
    struct bucket bucket;
    struct outbox *outbox; /* decide */
    struct dedup *dedup;   /* learn */
    struct lead *lead;     /* learn */
    struct follow *follow;
    void *guest[GUESTS_MAX]; /* as parts_guests; NULL: shares nothing */
    struct shared_value *value[VALUES];
    int n_values;
    uint64_t maker;
    unsigned char note[8]; /* the maker, as the store keeps it */
    uint64_t delivered;    /* as the store knows it */
    double read_at;        /* of the leader */
    int reads;             /* still to come after a call */
    uint64_t kept;         /* the version in the folder */
    char trouble[128];     /* of the last lead_turn: logged once */
    /* the dedup's figures, for other threads */
    atomic_uint_fast64_t counted, repeated, missing, position;
    atomic_int makers;
    uint64_t common_rev, older_rev; /* under profiles_lock */
};

static struct cluster *cluster_of(struct service *s)
{
    return s->peers ? s->peers->self : NULL;
}

static void cluster_set_peers(struct cluster *c);

/* ---- start ---- */

static int cluster_read_maker(void *ctx, const struct bus_envelope *p, struct err *e)
{
    struct cluster *c = ctx;
    if (p->number == 0 && p->n == sizeof c->note) c->maker = bytes_get_u64(p->bytes);
    (void)e;
    return 0;
}

/* The id of this node's trajectories: the same as long as the store exists. */
static int cluster_find_maker(struct service *s, struct err *e)
{
    struct cluster *c = cluster_of(s);
    const struct store *store = s->writer ? writer_store(s->writer) : NULL;
    int rc = store && store->envelopes
                 ? store->envelopes(store->self, cluster_read_maker, c, e)
                 : 0;
    if (!rc && !c->maker) rc = entropy_draw(&s->cfg.parts.entropy, &c->maker, 8, e);
    if (rc || !store) return rc;
    bytes_put_u64(c->note, c->maker);
    struct store_rec r = {.kind = STORE_ENVELOPE,
                          .envelope = {.bytes = c->note, .n = sizeof c->note}};
    rc = writer_reserve(s->writer, 1, e);
    if (rc) return rc;
    writer_put(s->writer, &r, 1, 1);
    return writer_flush(s->writer, e);
}

static int cluster_restore_envelope(void *ctx, const struct bus_envelope *p,
                                    struct err *e)
{
    struct service *s = ctx;
    return p->number ? s->bus.restore(s->bus.self, p, e) : 0;
}

static int cluster_open_decide(struct service *s, struct err *e)
{
    struct cluster *c = cluster_of(s);
    int rc = cluster_find_maker(s, e);
    if (rc) return rc;
    c->outbox = outbox_new(c->cfg.buffer, c->maker, s->writer != NULL, e);
    if (!c->outbox) return ERR_MEMORY;
    rc = bus_nats_sender(&s->bus, c->nats, c->outbox, e);
    if (rc || !s->writer) {
        s->bus.stage = NULL; /* nothing is stored */
        return rc;
    }
    const struct store *store = writer_store(s->writer);
    if (store->envelopes)
        rc = store->envelopes(store->self, cluster_restore_envelope, s, e);
    writer_tell(s->writer, &s->bus);
    return rc;
}

static void cluster_node_name(char out[CLUSTER_NAME], const struct cluster_cfg *cfg)
{
    char host[CLUSTER_NAME] = "";
    if (gethostname(host, sizeof host)) host[0] = '\0';
    host[sizeof host - 1] = '\0';
    if (cfg->node[0])
        snprintf(out, CLUSTER_NAME, "%s", cfg->node);
    else
        snprintf(out, CLUSTER_NAME, "%.40s-%ld", host, (long)getpid());
}

static int cluster_check(const void *settings, const struct service_cfg *common,
                         struct err *e)
{
    const struct cluster_cfg *cfg = settings;
    int rc = cluster_cfg_check(cfg, e);
    if (rc || cfg->role == ROLE_STANDALONE) return rc;
    /* some batches must fit, or the learner would wait for ever */
    double least_mb = 4e-4 * common->online.batch;
    if (cfg->stream_mb >= least_mb) return 0;
    return err_field(e, ERR_RANGE, "bus-stream-mb",
                     "%g is too small for four batches of %d steps: set at least %g",
                     cfg->stream_mb, common->online.batch, least_mb);
}

static int cluster_open(void **self, struct service *s, const void *settings,
                        struct err *e)
{
    const struct cluster_cfg *cfg = settings;
    s->number = (uint8_t)cfg->number;
    if (cfg->role == ROLE_STANDALONE) return 0;
    struct cluster *c = *self = calloc(1, sizeof *c);
    if (!c) return err_set(e, ERR_MEMORY, "no memory for the cluster");
    c->service = s;
    c->cfg = *cfg;
    c->role = cfg->role;
    cluster_set_peers(c);
    if (c->role == ROLE_LEARN) s->no_sessions = "this node learns: ask one that decides";
    c->read_at = -LEADER_S;
    cluster_node_name(c->node, cfg);
    if (c->role == ROLE_LEARN)
        s->cfg.learn = LEARN_ON;
    else if (s->cfg.learn == LEARN_ON)
        s->cfg.learn = LEARN_OFF;

    struct bus_nats_cfg nats = {.url = cfg->url,
                                .creds = cfg->creds,
                                .name = cfg->name,
                                .who = c->node,
                                .replicas = cfg->replicas,
                                .stream_bytes = (int64_t)(cfg->stream_mb * 1048576),
                                .log = s->cfg.log};
    c->nats = bus_nats_new(&nats, e);
    if (!c->nats) return e ? e->code : ERR_INVALID;
    c->bucket = bus_nats_bucket(c->nats);
    if (c->role == ROLE_DECIDE) return cluster_open_decide(s, e);
    c->dedup = dedup_new(e);
    if (!c->dedup) return ERR_MEMORY;
    return bus_nats_receiver(&s->bus, c->nats, c->dedup, VIEW_LEVELS, e);
}

/* ---- published weights ---- */

/* A node keeps the last weights in its folder, for a start without a bus: when it is due, or now. */
static void cluster_keep_weights(struct service *s, bool now)
{
    struct cluster *c = cluster_of(s);
    double at = service_now(s);
    if (s->folder.lock < 0 || c->role != ROLE_DECIDE || (!now && at < s->checkpoint_at))
        return;
    const struct weights *w = published_get(s->published);
    struct ckpt_meta *meta =
        w->policy->version != c->kept ? calloc(1, sizeof *meta) : NULL;
    if (meta) {
        struct err why = {0};
        ckpt_meta_set(meta, "made_by", "abrd serve --role decide");
        enum feat_layout layout;
        if (!decide_layout(&layout, &w->policy->cfg, &why))
            ckpt_meta_set(meta, "layout", "%s", feat_layout_name(layout));
        s->checkpoint_at = at + s->checkpoint_s;
        if (ckpt_save(s->folder.policy, w->policy, meta, NULL, 0, &why))
            log_err(s->cfg.log, LOG_ERROR, "checkpoint", &why);
        else
            c->kept = w->policy->version;
    }
    published_put(s->published, w);
    free(meta);
}

static int cluster_take_weights(void *ctx, struct policy *p,
                                const struct bus_wire_weights *note, struct err *e)
{
    struct service *s = ctx;
    cluster_of(s)->reads = 0; /* the call was about these */
    return published_swap(s->published, p, note->published_at, note->check_score, e);
}

/* What the learner has counted need not be kept. What the stream has lost is sent again. */
static void cluster_take_dedup(void *ctx, const struct bus_wire_weights *note)
{
    struct service *s = ctx;
    struct cluster *c = cluster_of(s);
    struct dedup_view v;
    struct err why = {0};
    int lost = 0;
    if (!c->outbox || !note->dedup) return; /* an older learner publishes none */
    if (dedup_view(&v, c->maker, note->dedup, note->dedup_n, &why))
        log_err(s->cfg.log, LOG_ERROR, "follow", &why);
    else
        lost = outbox_confirm(c->outbox, &v);
    if (lost)
        log_event(s->cfg.log, LOG_WARN, "bus",
                  "the stream has lost %d acknowledged trajectories: they are sent again",
                  lost);
}

/* ---- common settings ---- */

static bool common_has(const struct bus_wire_common *c, const char *name)
{
    for (int i = 0; i < c->n; i++)
        if (!strcmp(c->profile[i].name, name)) return true;
    return false;
}

static bool profile_is_same(struct service *s, const struct profile *p)
{
    struct profile is;
    return !profiles_get(&is, NULL, s->profiles, p->name, NULL) &&
           is.qoe.utility == p->qoe.utility && qoe_same_weights(&is.qoe, &p->qoe) &&
           is.own_stall_ratio_max == p->own_stall_ratio_max &&
           is.own_startup_max_s == p->own_startup_max_s &&
           (!p->own_stall_ratio_max ||
            is.qoe.stall_ratio_max == p->qoe.stall_ratio_max) &&
           (!p->own_startup_max_s || is.qoe.startup_max_s == p->qoe.startup_max_s);
}

static void cluster_renew(struct cluster *c, const char *name)
{
    for (int i = 0; parts_guests[i]; i++)
        if (c->guest[i] && parts_guests[i]->renew)
            parts_guests[i]->renew(c->guest[i], name);
}

static int common_apply(struct service *s, const struct bus_wire_common *c, struct err *e)
{
    if (c->has_explore) s->explore_share = c->explore_share;
    struct profile *here = calloc(PROFILES_MAX, sizeof *here);
    if (!here) return err_set(e, ERR_MEMORY, "no memory for the profiles");
    int n = profiles_list(here, PROFILES_MAX, s->profiles), rc = 0;
    for (int i = 0; i < n && !rc; i++)
        if (!here[i].builtin && !common_has(c, here[i].name) &&
            strcmp(here[i].name, s->cfg.default_profile) != 0) {
            log_event(s->cfg.log, LOG_INFO, "follow",
                      "profile %s is deleted: the cluster does not have it",
                      here[i].name);
            rc = service_profile_drop(s, here[i].name, e);
        }
    for (int i = 0; i < c->n && !rc; i++) {
        if (profile_is_same(s, &c->profile[i])) continue;
        cluster_renew(cluster_of(s), c->profile[i].name);
        rc = service_profile_take(s, &c->profile[i], e);
        if (rc == 1) rc = 0;
    }
    free(here);
    return rc;
}

/* Each revision once, and none after a newer one: a request that puts a profile and the turns read the
 * bucket at the same time. 1: it is older. profiles_lock is held. */
static int common_take_revision(struct service *s, const struct bus_wire_common *c,
                                uint64_t rev, struct err *e)
{
    struct cluster *k = cluster_of(s);
    if (rev == k->common_rev) return 0;
    if (rev < k->common_rev) return 1;
    int rc = common_apply(s, c, e);
    if (!rc) k->common_rev = rev;
    return rc;
}

static int cluster_take_common(void *ctx, const struct bus_wire_common *c, uint64_t rev,
                               struct err *e)
{
    struct service *s = ctx;
    struct cluster *k = cluster_of(s);
    pthread_mutex_lock(&s->profiles_lock);
    /* a revision that is still older at the second read is of a new bucket */
    if (rev < k->common_rev && rev == k->older_rev) k->common_rev = 0;
    int rc = common_take_revision(s, c, rev, e);
    k->older_rev = rc == 1 ? rev : 0;
    pthread_mutex_unlock(&s->profiles_lock);
    if (rc == 1) return ERR_CONFLICT;
    return rc == ERR_CONFLICT ? ERR_INVALID : rc; /* an error of one profile is logged */
}

/* The leader's share of exploring sessions counts. A new bucket gets this process's profiles. */
static int cluster_give_common(void *ctx, struct bus_wire_common *c, bool first,
                               struct err *e)
{
    struct service *s = ctx;
    c->has_explore = true;
    c->explore_share = s->own_share;
    if (!first) return 0;
    struct profile *here = calloc(PROFILES_MAX, sizeof *here);
    if (!here) return err_set(e, ERR_MEMORY, "no memory for the profiles");
    int n = profiles_list(here, PROFILES_MAX, s->profiles);
    for (int i = 0; i < n; i++)
        if (!here[i].builtin) c->profile[c->n++] = here[i];
    free(here);
    return 0;
}

/* ---- profiles of all nodes ---- */

struct profile_change {
    struct service *s;
    const char *name;
    const struct profile *profile; /* NULL: delete it */
    bool created;
};

static int profile_change(void *ctx, void *value, bool there, struct err *e)
{
    struct profile_change *want = ctx;
    struct bus_wire_common *c = value;
    int rc = there ? 0 : cluster_give_common(want->s, c, true, e), i = 0;
    if (rc) return rc;
    while (i < c->n && strcmp(c->profile[i].name, want->name) != 0)
        i++;
    want->created = i == c->n;
    if (!want->profile) {
        if (want->created) return err_field(e, ERR_ABSENT, "profile", "no such profile");
        c->profile[i] = c->profile[--c->n];
        return 1;
    }
    if (want->created && c->n == PROFILES_MAX - QOE_PROFILES)
        return err_field(e, ERR_FULL, "profile", "there are %d profiles already",
                         PROFILES_MAX);
    c->profile[i] = *want->profile;
    c->n += want->created;
    return 1;
}

/* 1: created; 0: replaced or deleted. */
static int profile_put_common(struct service *s, const char *name,
                              const struct profile *p, struct err *e)
{
    struct cluster *k = cluster_of(s);
    if (qoe_find(name))
        return err_field(e, ERR_CONFLICT, "profile", "'%.63s' is built in", name);
    int rc = p ? profiles_check(p, e) : 0; /* no node could read a value with it */
    if (rc) return rc;
    struct bus_wire_common *c = calloc(1, sizeof *c);
    if (!c) return err_set(e, ERR_MEMORY, "no memory for the profiles");
    struct profile_change want = {.s = s, .name = name, .profile = p};
    uint64_t rev;
    rc = shared_value_change(c, &rev, &bus_wire_common_kind, &k->bucket, profile_change,
                             &want, e);
    if (!rc) {
        k->bucket.call(k->bucket.self);
        pthread_mutex_lock(&s->profiles_lock);
        rc = common_take_revision(s, c, rev, e); /* 1: there is a newer one by now */
        pthread_mutex_unlock(&s->profiles_lock);
    }
    free(c);
    return rc < 0 ? rc : p && want.created;
}

static bool cluster_grows(void *self, const char *name)
{
    const struct cluster *c = self;
    for (int i = 0; c && parts_guests[i]; i++)
        if (c->guest[i] && parts_guests[i]->grows &&
            parts_guests[i]->grows(c->guest[i], name))
            return true;
    return false;
}

static int cluster_check_profile(struct cluster *c, const struct profile *p,
                                 struct err *e)
{
    bool can_grow = !p->grow;
    int rc = 0;
    for (int i = 0; parts_guests[i] && !rc; i++) {
        can_grow |= parts_guests[i]->want != NULL;
        if (c->guest[i] && parts_guests[i]->check)
            rc = parts_guests[i]->check(c->guest[i], p, e);
    }
    if (rc || can_grow) return rc;
    return err_field(e, ERR_INVALID, "grow",
                     "this abrd was built without the part added");
}

static int cluster_want(struct cluster *c, const char *name, bool wanted, struct err *e)
{
    int rc = 0;
    for (int i = 0; parts_guests[i] && !rc; i++)
        if (c->guest[i] && parts_guests[i]->want)
            rc = parts_guests[i]->want(c->guest[i], name, wanted, e);
    return rc;
}

/* The profile comes first, so that the list names no profile that does not exist. */
static int cluster_profile_put(void *self, const struct profile *p, struct err *e)
{
    struct cluster *c = self;
    int rc = cluster_check_profile(c, p, e);
    if (rc) return rc;
    struct profile plain = *p;
    plain.grow = false; /* the learner makes the experts */
    int created = profile_put_common(c->service, p->name, &plain, e);
    if (created < 0 || !p->grow) return created;
    rc = cluster_want(c, p->name, true, e);
    if (rc && created) (void)!profile_put_common(c->service, p->name, NULL, NULL);
    return rc ? rc : created;
}

static int cluster_profile_delete(void *self, const char *name, struct err *e)
{
    struct cluster *c = self;
    int rc = cluster_want(c, name, false, e);
    return rc ? rc : profile_put_common(c->service, name, NULL, e);
}

/* ---- the shared values of this process ---- */

static void cluster_rewind(void *ctx)
{
    struct service *s = ctx;
    bus_nats_rewind(&s->bus);
}

static void cluster_trim(void *ctx, uint64_t position)
{
    struct service *s = ctx;
    bus_nats_trim(cluster_of(s)->nats, position);
}

static int cluster_resume(void *ctx, uint64_t term, struct err *e)
{
    struct service *s = ctx;
    struct cluster *c = cluster_of(s);
    int rc = 0;
    for (int i = 0; parts_guests[i] && !rc; i++)
        if (c->guest[i] && parts_guests[i]->resume)
            rc = parts_guests[i]->resume(c->guest[i], term, dedup_position(c->dedup),
                                         service_now(s), e);
    return rc;
}

static int cluster_start_follow(struct service *s, struct err *e)
{
    struct cluster *c = cluster_of(s);
    struct follow_cfg cfg = {.bucket = c->bucket,
                             .shape = s->policy_cfg,
                             .log = s->cfg.log,
                             .weights = cluster_take_weights,
                             .common = cluster_take_common,
                             .learned = cluster_take_dedup,
                             .ctx = s};
    c->follow = follow_new(&cfg, e);
    if (!c->follow) return ERR_MEMORY;
    follow_values(c->value, c->follow);
    c->n_values = FOLLOW_VALUES;
    return 0;
}

static int cluster_start_guests(struct cluster *c, struct err *e)
{
    struct guest_host host = {c->service, c->bucket, c->role, c->maker};
    int rc = 0;
    for (int i = 0; parts_guests[i] && !rc; i++) {
        rc = parts_guests[i]->open(&c->guest[i], &host, e);
        if (!rc && c->guest[i])
            c->value[c->n_values++] = parts_guests[i]->value(c->guest[i]);
    }
    return rc;
}

static int cluster_start_lead(struct service *s, struct err *e)
{
    struct cluster *c = cluster_of(s);
    if (c->role != ROLE_LEARN) return 0;
    struct lead_cfg cfg = {.bucket = c->bucket,
                           .who = c->node,
                           .follow = c->follow,
                           .dedup = c->dedup,
                           .published = s->published,
                           .shape = s->policy_cfg,
                           .log = s->cfg.log,
                           .rewind = cluster_rewind,
                           .trim = cluster_trim,
                           .resume = cluster_resume,
                           .common = cluster_give_common,
                           .ctx = s};
    c->lead = lead_new(&cfg, e);
    return c->lead ? 0 : ERR_MEMORY;
}

static int cluster_start(void *self, struct err *e)
{
    struct cluster *c = self;
    if (!c) return 0;
    struct policy_info begun;
    service_policy_info(&begun, c->service);
    c->kept = begun.version;
    int rc = cluster_start_follow(c->service, e);
    if (!rc) rc = cluster_start_guests(c, e);
    return rc ? rc : cluster_start_lead(c->service, e);
}

/* ---- turns ---- */

static void cluster_note_dedup(struct cluster *c)
{
    struct dedup_stats now;
    dedup_stats(&now, c->dedup);
    atomic_store(&c->counted, now.counted);
    atomic_store(&c->repeated, now.repeated);
    atomic_store(&c->missing, now.missing);
    atomic_store(&c->makers, now.makers);
    atomic_store(&c->position, dedup_position(c->dedup));
}

/* A call may arrive before the value it is about, so the values are read some more times. */
static void cluster_wait(struct service *s, double wait_s)
{
    struct cluster *c = cluster_of(s);
    if (wait_s <= 0) return;
    if (c->bucket.wait(c->bucket.self, c->reads ? AGAIN_S : wait_s))
        c->reads = READS_AFTER_CALL;
    if (!c->reads) return;
    c->reads--;
    follow_called(c->follow);
    for (int i = 0; parts_guests[i]; i++)
        if (c->guest[i] && parts_guests[i]->called) parts_guests[i]->called(c->guest[i]);
}

static void cluster_rest(struct cluster *c, bool drain)
{
    for (int i = 0; parts_guests[i]; i++)
        if (c->guest[i] && parts_guests[i]->rest)
            parts_guests[i]->rest(c->guest[i], drain);
}

static void cluster_lead_guests(struct cluster *c)
{
    struct service *s = c->service;
    for (int i = 0; parts_guests[i]; i++) {
        struct err why = {0};
        if (c->guest[i] && parts_guests[i]->lead &&
            parts_guests[i]->lead(c->guest[i], clock_mono(), service_now(s), &why))
            log_err(s->cfg.log, LOG_DEBUG, "grown", &why);
    }
    cluster_rest(c, false);
}

static void cluster_turn_leader(struct service *s, double wait_s)
{
    struct cluster *c = cluster_of(s);
    (void)!service_turn(s, wait_s / 2, NULL);
    cluster_lead_guests(c);
    service_checkpoint(s, false);
    if (!learner_published(s->learner)) cluster_wait(s, wait_s / 2);
}

static void cluster_turn_learner(struct service *s, double wait_s)
{
    struct cluster *c = cluster_of(s);
    struct err why = {0};
    int rc = lead_turn(c->lead, s->learner, clock_mono(), service_now(s), &why);
    if (rc) {
        bool news = strncmp(c->trouble, why.detail, sizeof c->trouble - 1) != 0;
        log_err(s->cfg.log, news ? LOG_WARN : LOG_DEBUG, "lead", &why);
        snprintf(c->trouble, sizeof c->trouble, "%.127s", why.detail);
    } else if (lead_leading(c->lead)) {
        c->trouble[0] = '\0';
    }
    if (lead_leading(c->lead))
        cluster_turn_leader(s, wait_s);
    else
        cluster_wait(s, wait_s);
    cluster_note_dedup(c);
}

static void cluster_read_values(struct service *s, bool leads, double mono)
{
    struct cluster *c = cluster_of(s);
    struct err why = {0};
    c->read_at = mono;
    int rc = shared_value_turn(c->value, c->n_values, leads, mono, service_now(s), &why);
    if (rc) log_err(s->cfg.log, LOG_DEBUG, "follow", &why);
    if (rc != ERR_IO && rc != ERR_MEMORY && c->outbox) outbox_release(c->outbox);
    cluster_keep_weights(s, false);
}

static bool cluster_leads(void *self)
{
    const struct cluster *c = self;
    return c->lead && lead_leading(c->lead);
}

static void cluster_turn(void *self, double wait_s)
{
    struct cluster *c = self;
    struct service *s = c->service;
    bool leads = cluster_leads(c);
    double mono = clock_mono();
    if (!leads || mono >= c->read_at + LEADER_S) cluster_read_values(s, leads, mono);
    if (!leads) cluster_rest(c, false);
    if (c->lead)
        cluster_turn_learner(s, wait_s);
    else
        cluster_wait(s, 2 * wait_s);
}

static void cluster_heartbeat(void *self)
{
    const struct cluster *c = self;
    struct err why = {0}; /* the learner's turns log that the bucket does not answer */
    if (lead_heartbeat(c->lead, clock_mono(), &why))
        log_err(c->service->cfg.log, LOG_DEBUG, "lead", &why);
}

static void cluster_wake(void *self)
{
    const struct cluster *c = self;
    c->bucket.wake(c->bucket.self);
}

/* The configuration has changed: the leader publishes its common settings. */
static void cluster_reload(void *self)
{
    const struct cluster *c = self;
    if (c && c->lead) lead_settle(c->lead);
}

/* The store need not keep what has arrived. */
static void cluster_tick(void *self, double now)
{
    struct cluster *c = self;
    (void)now;
    if (!c) return;
    struct service *s = c->service;
    if (!s->bus.delivered || !s->writer) return;
    uint64_t number = s->bus.delivered(s->bus.self);
    if (number <= c->delivered || writer_reserve(s->writer, 1, NULL)) return;
    struct store_rec r = {.kind = STORE_DELIVERED, .envelope = {.number = number}};
    writer_put(s->writer, &r, 1, 1);
    c->delivered = number;
}

static int cluster_announce(void *self, const struct policy *p, double score,
                            struct err *e)
{
    const struct cluster *c = self;
    return lead_commit(c->lead, c->service->learner, p, service_now(c->service), score,
                       e);
}

static void cluster_set_peers(struct cluster *c)
{
    c->peers =
        (struct peers){.self = c,
                       .announce = cluster_announce,
                       .leads = cluster_leads,
                       .turn = cluster_turn,
                       .wake = cluster_wake,
                       .heartbeat = c->role == ROLE_LEARN ? cluster_heartbeat : NULL,
                       .profile_put = cluster_profile_put,
                       .profile_delete = cluster_profile_delete};
    c->service->peers = &c->peers;
}

/* ---- end, figures ---- */

/* What was closed gets some time to leave; another learner may lead at once. */
static void cluster_drain(void *self)
{
    struct cluster *c = self;
    if (!c) return;
    struct service *s = c->service;
    double until = clock_mono() + DRAIN_S;
    struct cluster_stats n;
    struct outbox_stats o;
    while (c->outbox && clock_mono() < until) {
        (void)!service_commit(s, NULL);
        bus_nats_stats(&n, c->nats);
        outbox_stats(c->outbox, &o);
        if (!n.connected || !o.waiting) break;
        usleep(5000);
    }
    service_stop_threads(s);
    cluster_tick(c, service_now(s));
    cluster_keep_weights(s, true);
    cluster_rest(c, true);
    if (c->lead) lead_resign(c->lead);
}

static void cluster_free(void *self)
{
    struct cluster *c = self;
    if (!c) return;
    c->service->peers = NULL;
    lead_free(c->lead);
    follow_free(c->follow);
    for (int i = 0; parts_guests[i]; i++)
        if (c->guest[i]) parts_guests[i]->free(c->guest[i]);
    bus_nats_free(c->nats);
    outbox_free(c->outbox);
    dedup_free(c->dedup);
    free(c);
}

static void cluster_stats_node(struct cluster_stats *out, struct cluster *c)
{
    struct outbox_stats o;
    outbox_stats(c->outbox, &o);
    out->dropped = o.dropped;
    out->buffered = o.waiting;
    out->unconfirmed = o.unconfirmed;
    out->resent = o.resent;
    out->let_go = o.released;
    out->buffer = o.slots;
}

static void cluster_stats_learner(struct cluster_stats *out, struct cluster *c)
{
    out->counted = atomic_load(&c->counted);
    out->again = atomic_load(&c->repeated);
    out->missing = atomic_load(&c->missing);
    out->makers = atomic_load(&c->makers);
    out->position = atomic_load(&c->position);
}

static void cluster_stats(void *self, void *stats)
{
    struct cluster *c = self;
    struct cluster_stats *out = stats;
    if (!c) return; /* standalone: all 0 */
    *out = (struct cluster_stats){.role = c->role,
                                  .leading = c->lead && lead_leading(c->lead)};
    memcpy(out->node, c->node, sizeof out->node);
    bus_nats_stats(out, c->nats);
    follow_stats(out, c->follow, clock_mono());
    for (int i = 0; parts_guests[i]; i++)
        if (c->guest[i] && parts_guests[i]->stats)
            parts_guests[i]->stats(out, c->guest[i]);
    if (c->outbox) cluster_stats_node(out, c);
    if (c->dedup) cluster_stats_learner(out, c);
    if (!out->leading) return;
    /* newer than the heartbeat that was read last */
    memcpy(out->learner, c->node, sizeof out->learner);
    out->term = lead_term(c->lead);
    out->learner_silent_s = 0;
}

static void cluster_ready(struct emit *o, const void *figures)
{
    const struct cluster_stats *c = figures;
    emit_key(o, "role");
    emit_string(o, cluster_role_name(c->role));
    if (c->role == ROLE_STANDALONE) return;
    emit_key(o, "bus");
    emit_open(o, '{');
    figure_json(o, cluster_figures, c);
    emit_close(o, '}');
}

const struct part cluster_part = {.name = "cluster",
                                  .check = cluster_check,
                                  .open = cluster_open,
                                  .start = cluster_start,
                                  .reload = cluster_reload,
                                  .tick = cluster_tick,
                                  .drain = cluster_drain,
                                  .free = cluster_free,
                                  .stats = cluster_stats,
                                  .ready = cluster_ready,
                                  .grows = cluster_grows};

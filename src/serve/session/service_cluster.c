/* The service among others: what its role is connected to, and the turns of its thread. */
#include "service_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "learn/ckpt.h"
#include "serve/cluster/bus_nats.h"
#include "serve/cluster/growths.h"
#include "serve/cluster/lead.h"

static const double DRAIN_S = 2;  /* for what was closed to leave */
static const double LOOK_S = 1;   /* between the looks of who leads at the board */
static const double AGAIN_S = .1; /* between looks after a call */
enum { PUT_TRIES = 8, LOOKS = 5 };

struct cluster {
    enum cluster_role role;
    char node[CLUSTER_NAME];
    struct bus_nats *nats;
    struct bucket bucket;
    struct outbox *outbox; /* decide */
    struct dedup *dedup;   /* learn */
    struct lead *lead;     /* learn */
    struct follow *follow;
    uint64_t maker;
    unsigned char note[8]; /* the maker, as the store keeps it */
    uint64_t delivered;    /* as the store was told */
    double looked;
    int looks;            /* still to come, of a call */
    uint64_t kept;        /* the version in the folder */
    char said[128];       /* why who leads, or would, could not: once in the log */
    pthread_mutex_t lock; /* of what follows: the dedup's figures as they were last */
    struct dedup_stats learned;
    uint64_t position;
    uint64_t common_rev, older_rev; /* under profiles_lock */
};

/* ---- start ---- */

static int read_maker(void *ctx, const struct bus_envelope *p, struct err *e)
{
    struct cluster *c = ctx;
    if (p->number == 0 && p->n == sizeof c->note) c->maker = bytes_get_u64(p->bytes);
    (void)e;
    return 0;
}

/* Who makes the trajectories: for as long as the store lives. */
static int find_maker(struct service *s, struct err *e)
{
    struct cluster *c = s->cluster;
    const struct store *store = s->writer ? writer_store(s->writer) : NULL;
    int rc =
        store && store->envelopes ? store->envelopes(store->self, read_maker, c, e) : 0;
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

static int restore_envelope(void *ctx, const struct bus_envelope *p, struct err *e)
{
    struct service *s = ctx;
    return p->number ? s->bus.restore(s->bus.self, p, e) : 0;
}

static int open_decide(struct service *s, struct err *e)
{
    struct cluster *c = s->cluster;
    int rc = find_maker(s, e);
    if (rc) return rc;
    c->outbox = outbox_new(s->cfg.cluster.buffer, c->maker, s->writer != NULL, e);
    if (!c->outbox) return ERR_MEMORY;
    rc = bus_nats_sender(&s->bus, c->nats, c->outbox, e);
    if (rc || !s->writer) {
        s->bus.stage = NULL; /* nothing is kept */
        return rc;
    }
    const struct store *store = writer_store(s->writer);
    if (store->envelopes) rc = store->envelopes(store->self, restore_envelope, s, e);
    writer_tell(s->writer, &s->bus);
    return rc;
}

static void node_name(char out[CLUSTER_NAME], const struct cluster_cfg *cfg)
{
    char host[CLUSTER_NAME] = "";
    if (gethostname(host, sizeof host)) host[0] = '\0';
    host[sizeof host - 1] = '\0';
    if (cfg->node[0])
        snprintf(out, CLUSTER_NAME, "%s", cfg->node);
    else
        snprintf(out, CLUSTER_NAME, "%.40s-%ld", host, (long)getpid());
}

int service_cluster_open(struct service *s, struct err *e)
{
    const struct cluster_cfg *cfg = &s->cfg.cluster;
    if (cfg->role == ROLE_STANDALONE) return 0;
    struct cluster *c = s->cluster = calloc(1, sizeof *c);
    if (!c) return err_set(e, ERR_MEMORY, "no memory for the cluster");
    pthread_mutex_init(&c->lock, NULL);
    c->role = cfg->role;
    c->looked = -LOOK_S;
    node_name(c->node, cfg);
    s->cfg.learn = c->role == ROLE_LEARN;

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
    if (c->role == ROLE_DECIDE) return open_decide(s, e);
    c->dedup = dedup_new(e);
    if (!c->dedup) return ERR_MEMORY;
    return bus_nats_receiver(&s->bus, c->nats, c->dedup, POLICY_ACTIONS, e);
}

/* ---- what comes from the board ---- */

/* What was received last is kept in the folder, for a start without a bus: when it is due, or now. */
static void keep_weights(struct service *s, bool now)
{
    struct cluster *c = s->cluster;
    double at = service_now(s);
    if (s->folder.lock < 0 || c->role != ROLE_DECIDE || (!now && at < s->checkpoint_at))
        return;
    const struct weights *w = published_get(s->published);
    struct ckpt_meta *meta =
        w->policy->version != c->kept ? calloc(1, sizeof *meta) : NULL;
    if (meta) {
        struct err why = {0};
        ckpt_meta_set(meta, "made_by", "abrd serve --role decide");
        s->checkpoint_at = at + s->checkpoint_s;
        if (ckpt_save(s->folder.policy, w->policy, meta, NULL, 0, &why))
            log_err(s->cfg.log, LOG_ERROR, "checkpoint", &why);
        else
            c->kept = w->policy->version;
    }
    published_put(s->published, w);
    free(meta);
}

static int take_weights(void *ctx, struct policy *p, const struct bus_wire_weights *note,
                        struct err *e)
{
    struct service *s = ctx;
    return published_swap(s->published, p, note->published_at, note->check_score, e);
}

/* What the learner has counted need not be kept, what the stream has lost is sent again. */
static void take_dedup(void *ctx, const struct bus_wire_weights *note)
{
    struct service *s = ctx;
    struct cluster *c = s->cluster;
    struct dedup_view v;
    struct err why = {0};
    int lost = 0;
    if (!c->outbox || !note->dedup) return; /* an older learner tells nothing */
    if (dedup_view(&v, c->maker, note->dedup, note->dedup_n, &why))
        log_err(s->cfg.log, LOG_ERROR, "follow", &why);
    else
        lost = outbox_confirm(c->outbox, &v);
    if (lost)
        log_event(s->cfg.log, LOG_WARN, "bus",
                  "the stream has lost %d that it had acknowledged: sent again", lost);
}

static bool listed(const struct bus_wire_common *c, const char *name)
{
    for (int i = 0; i < c->n; i++)
        if (!strcmp(c->profile[i].name, name)) return true;
    return false;
}

static bool as_it_is(struct service *s, const struct profile *p)
{
    struct profile is;
    return !profiles_get(&is, NULL, s->profiles, p->name, NULL) &&
           qoe_same(&is.qoe, &p->qoe);
}

static int apply_common(struct service *s, const struct bus_wire_common *c, struct err *e)
{
    if (c->has_explore) s->explore_share = c->explore_share;
    struct profile *here = calloc(PROFILES_MAX, sizeof *here);
    if (!here) return err_set(e, ERR_MEMORY, "no memory for the profiles");
    int n = profiles_list(here, PROFILES_MAX, s->profiles), rc = 0;
    for (int i = 0; i < n && !rc; i++)
        if (!here[i].builtin && !listed(c, here[i].name) &&
            strcmp(here[i].name, s->cfg.default_profile) != 0) {
            log_event(s->cfg.log, LOG_INFO, "follow",
                      "profile %s is not the cluster's: dropped", here[i].name);
            rc = service_profile_drop(s, here[i].name, e);
        }
    for (int i = 0; i < c->n && !rc; i++) {
        if (as_it_is(s, &c->profile[i])) continue;
        if (added_tag(s->added, c->profile[i].name, NULL) >= 0) {
            /* of one that was deleted and put anew while this node was away */
            added_remove(s->added, c->profile[i].name);
            growths_renew(s->growths);
        }
        rc = service_profile_take(s, &c->profile[i], e);
        if (rc == 1) rc = 0;
    }
    free(here);
    return rc;
}

/* Each revision once, and none after a newer one: a request that puts a profile and the turns read the
 * board side by side. 1: it is older. profiles_lock is held. */
static int take_revision(struct service *s, const struct bus_wire_common *c, uint64_t rev,
                         struct err *e)
{
    struct cluster *k = s->cluster;
    if (rev == k->common_rev) return 0;
    if (rev < k->common_rev) return 1;
    int rc = apply_common(s, c, e);
    if (!rc) k->common_rev = rev;
    return rc;
}

static int take_common(void *ctx, const struct bus_wire_common *c, uint64_t rev,
                       struct err *e)
{
    struct service *s = ctx;
    struct cluster *k = s->cluster;
    pthread_mutex_lock(&s->profiles_lock);
    /* what is still the older one when it is read again is on a board that was made anew */
    if (rev < k->common_rev && rev == k->older_rev) k->common_rev = 0;
    int rc = take_revision(s, c, rev, e);
    k->older_rev = rc == 1 ? rev : 0;
    pthread_mutex_unlock(&s->profiles_lock);
    if (rc == 1) return ERR_CONFLICT;
    return rc == ERR_CONFLICT ? ERR_INVALID : rc; /* trouble of one profile is told */
}

/* The leader's settings count; profiles that are there stay, and his own are the first ones. */
static int give_common(void *ctx, struct bus_wire_common *c, bool first, struct err *e)
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

static void rewind_stream(void *ctx)
{
    struct service *s = ctx;
    bus_nats_rewind(&s->bus);
}

static int resume_added(void *ctx, uint64_t term, struct err *e)
{
    struct service *s = ctx;
    return growths_resume(s->growths, term, dedup_position(s->cluster->dedup),
                          service_now(s), e);
}

static void trim_stream(void *ctx, uint64_t position)
{
    struct service *s = ctx;
    bus_nats_trim(s->cluster->nats, position);
}

int service_cluster_start(struct service *s, struct err *e)
{
    struct cluster *c = s->cluster;
    if (!c) return 0;
    struct policy_info begun;
    service_policy_info(&begun, s);
    c->kept = begun.version;
    struct follow_cfg f = {.bucket = c->bucket,
                           .shape = s->policy_cfg,
                           .log = s->cfg.log,
                           .weights = take_weights,
                           .common = take_common,
                           .learned = take_dedup,
                           .ctx = s};
    c->follow = follow_new(&f, e);
    if (!c->follow) return ERR_MEMORY;
    if (c->role != ROLE_LEARN) return 0;
    struct lead_cfg l = {.bucket = c->bucket,
                         .who = c->node,
                         .follow = c->follow,
                         .dedup = c->dedup,
                         .published = s->published,
                         .shape = s->policy_cfg,
                         .log = s->cfg.log,
                         .rewind = rewind_stream,
                         .trim = trim_stream,
                         .resume = resume_added,
                         .common = give_common,
                         .ctx = s};
    c->lead = lead_new(&l, e);
    return c->lead ? 0 : ERR_MEMORY;
}

/* ---- turns ---- */

static void note_dedup(struct cluster *c)
{
    struct dedup_stats now;
    dedup_stats(&now, c->dedup);
    pthread_mutex_lock(&c->lock);
    c->learned = now;
    c->position = dedup_position(c->dedup);
    pthread_mutex_unlock(&c->lock);
}

/* A call may be faster than what it tells of, so it is looked for some more times. */
static void wait_for_news(struct service *s, double wait_s)
{
    struct cluster *c = s->cluster;
    if (wait_s <= 0) return;
    if (c->bucket.wait(c->bucket.self, c->looks ? AGAIN_S : wait_s)) c->looks = LOOKS;
    if (c->looks) {
        c->looks--;
        follow_called(c->follow);
        growths_called(s->growths);
    }
}

static void learn_turn(struct service *s, double wait_s)
{
    struct cluster *c = s->cluster;
    struct err why = {0};
    int rc = lead_turn(c->lead, s->learner, clock_mono(), service_now(s), &why);
    if (rc) {
        bool news = strncmp(c->said, why.detail, sizeof c->said - 1) != 0;
        log_err(s->cfg.log, news ? LOG_WARN : LOG_DEBUG, "lead", &why);
        snprintf(c->said, sizeof c->said, "%.127s", why.detail);
    } else if (lead_leading(c->lead)) {
        c->said[0] = '\0';
    }
    if (lead_leading(c->lead)) {
        (void)!service_turn(s, wait_s / 2, NULL);
        service_added_turn(s, true);
        service_checkpoint(s, false);
        if (!learner_published(s->learner)) wait_for_news(s, wait_s / 2);
    } else {
        wait_for_news(s, wait_s);
    }
    note_dedup(c);
}

void service_cluster_turn(struct service *s, double wait_s)
{
    struct cluster *c = s->cluster;
    bool leads = c->lead && lead_leading(c->lead);
    double mono = clock_mono();
    /* who leads looks now and then for what operators change */
    if (!leads || mono >= c->looked + LOOK_S) {
        c->looked = mono;
        struct err why = {0};
        int rc = follow_turn(c->follow, leads, mono, service_now(s), &why);
        if (rc < 0) log_err(s->cfg.log, LOG_DEBUG, "follow", &why);
        if (rc == 1) c->looks = 0;
        if (rc >= 0 && c->outbox) outbox_release(c->outbox);
        keep_weights(s, false);
    }
    service_share_turn(s);
    if (!leads) service_added_turn(s, false);
    if (c->lead)
        learn_turn(s, wait_s);
    else
        wait_for_news(s, 2 * wait_s);
}

bool service_cluster_beats(const struct service *s)
{
    return s->cluster && s->cluster->lead;
}

void service_cluster_beat(struct service *s)
{
    struct err why = {0}; /* the learner's turns tell of a board that is away */
    if (lead_heartbeat(s->cluster->lead, clock_mono(), &why))
        log_err(s->cfg.log, LOG_DEBUG, "lead", &why);
}

void service_cluster_wake(struct service *s)
{
    s->cluster->bucket.wake(s->cluster->bucket.self);
}

void service_cluster_reload(struct service *s)
{
    if (s->cluster->lead) lead_settle(s->cluster->lead);
}

void service_cluster_tick(struct service *s)
{
    struct cluster *c = s->cluster;
    if (!s->bus.delivered || !s->writer) return;
    uint64_t number = s->bus.delivered(s->bus.self);
    if (number <= c->delivered || writer_reserve(s->writer, 1, NULL)) return;
    struct store_rec r = {.kind = STORE_DELIVERED, .envelope = {.number = number}};
    writer_put(s->writer, &r, 1, 1);
    c->delivered = number;
}

int service_cluster_announce(struct service *s, const struct policy *p, double score,
                             struct err *e)
{
    return lead_commit(s->cluster->lead, s->learner, p, service_now(s), score, e);
}

struct bucket service_cluster_board(struct service *s, uint64_t *maker)
{
    *maker = s->cluster->maker;
    return s->cluster->bucket;
}

static int change(struct bus_wire_common *c, const char *name, const struct profile *p,
                  struct err *e)
{
    int i = 0;
    while (i < c->n && strcmp(c->profile[i].name, name) != 0)
        i++;
    bool new = i == c->n;
    if (!p) {
        if (new) return err_field(e, ERR_ABSENT, "profile", "no such profile");
        c->profile[i] = c->profile[--c->n];
        return 0;
    }
    if (new && c->n == PROFILES_MAX - QOE_PROFILES)
        return err_field(e, ERR_FULL, "profile", "there are %d profiles already",
                         PROFILES_MAX);
    c->profile[i] = *p;
    c->n += new;
    return new;
}

/* Read, change, put - and again when another node was faster. *rev: what it is then. */
static int change_board(struct service *s, struct bus_wire_common *c, uint64_t *rev,
                        const char *name, const struct profile *p, struct err *e)
{
    struct bucket *b = &s->cluster->bucket;
    int rc = ERR_CONFLICT;
    for (int i = 0; i < PUT_TRIES && rc == ERR_CONFLICT; i++) {
        void *bytes = NULL;
        size_t n;
        struct err why = {0};
        rc = b->get(b->self, FOLLOW_COMMON, &bytes, &n, rev, e);
        *c = (struct bus_wire_common){0};
        if (!rc && bytes) rc = bus_wire_get_common(c, bytes, n, e);
        if (!rc && !bytes) rc = give_common(s, c, true, e);
        free(bytes);
        if (rc) return rc;
        int changed = change(c, name, p, e);
        if (changed < 0) return changed;
        rc = bus_wire_put_common(&bytes, &n, c, e);
        if (!rc) rc = b->put(b->self, FOLLOW_COMMON, bytes, n, *rev, rev, &why);
        free(bytes);
        if (!rc) return changed;
        if (i == PUT_TRIES - 1 || rc != ERR_CONFLICT)
            err_field(e, rc, why.field, "%s", why.detail);
    }
    return rc;
}

int service_cluster_profile(struct service *s, const char *name, const struct profile *p,
                            struct err *e)
{
    if (qoe_find(name))
        return err_field(e, ERR_CONFLICT, "profile", "'%.63s' is built in", name);
    int wrong = p ? profiles_check(p, e) : 0; /* no node could read a board with it */
    if (wrong) return wrong;
    struct bus_wire_common *c = calloc(1, sizeof *c);
    if (!c) return err_set(e, ERR_MEMORY, "no memory for the profiles");
    uint64_t rev = 0;
    int changed = change_board(s, c, &rev, name, p, e), rc = changed;
    if (rc >= 0) {
        struct cluster *k = s->cluster;
        k->bucket.call(k->bucket.self);
        pthread_mutex_lock(&s->profiles_lock);
        rc = take_revision(s, c, rev, e); /* or somebody has put a newer one since */
        pthread_mutex_unlock(&s->profiles_lock);
    }
    free(c);
    return rc < 0 ? rc : changed;
}

/* ---- end, and what is seen ---- */

void service_cluster_drain(struct service *s)
{
    struct cluster *c = s->cluster;
    double until = clock_mono() + DRAIN_S;
    struct bus_nats_stats n;
    struct outbox_stats o;
    while (c->outbox && clock_mono() < until) {
        (void)!service_commit(s, NULL);
        bus_nats_stats(&n, c->nats);
        outbox_stats(c->outbox, &o);
        if (!n.connected || !o.waiting) break;
        usleep(5000);
    }
    service_stop_threads(s);
    service_cluster_tick(s);
    keep_weights(s, true);
    if (c->role == ROLE_DECIDE) service_added_keep(s);
    if (c->lead) lead_resign(c->lead);
}

void service_cluster_close(struct service *s)
{
    struct cluster *c = s->cluster;
    if (!c) return;
    lead_free(c->lead);
    follow_free(c->follow);
    bus_nats_free(c->nats);
    outbox_free(c->outbox);
    dedup_free(c->dedup);
    pthread_mutex_destroy(&c->lock);
    free(c);
    s->cluster = NULL;
}

static void tell_sent(struct cluster_stats *out, struct cluster *c)
{
    struct outbox_stats o;
    outbox_stats(c->outbox, &o);
    out->dropped = o.dropped;
    out->buffered = o.waiting;
    out->unconfirmed = o.unconfirmed;
    out->resent = o.resent;
    out->let_go = o.let_go;
    out->buffer = o.slots;
}

static void tell_learned(struct cluster_stats *out, struct cluster *c)
{
    pthread_mutex_lock(&c->lock);
    out->counted = c->learned.counted;
    out->again = c->learned.repeated;
    out->missing = c->learned.missing;
    out->makers = c->learned.makers;
    out->position = c->position;
    pthread_mutex_unlock(&c->lock);
}

void service_cluster_stats(struct cluster_stats *out, struct service *s)
{
    struct cluster *c = s->cluster;
    struct bus_nats_stats n;
    struct follow_stats f;
    bus_nats_stats(&n, c->nats);
    follow_stats(&f, c->follow, clock_mono());
    *out = (struct cluster_stats){.role = c->role,
                                  .connected = n.connected,
                                  .leading = c->lead && lead_leading(c->lead),
                                  .learner_silent_s = f.silent_s,
                                  .term = f.beat.term,
                                  .reconnects = n.reconnects,
                                  .weights_taken = f.taken,
                                  .weights_refused = f.refused,
                                  .weights_delay_s = f.delay_s,
                                  .weights_delay_max_s = f.delay_max_s,
                                  .published = n.published,
                                  .repeated = n.repeated,
                                  .refused = n.refused,
                                  .full = n.full,
                                  .damaged = n.damaged,
                                  .skipped = n.skipped};
    memcpy(out->node, c->node, sizeof out->node);
    if (!f.beat.over) memcpy(out->learner, f.beat.name, sizeof out->learner);
    if (out->leading) { /* newer than what was read last */
        memcpy(out->learner, c->node, sizeof out->learner);
        out->term = lead_term(c->lead);
        out->learner_silent_s = 0;
    }
    memcpy(out->trouble, n.trouble, sizeof out->trouble);
    if (c->outbox) tell_sent(out, c);
    if (c->dedup) tell_learned(out, c);
}

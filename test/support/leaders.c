#include "support/leaders.h"

#include <check.h>
#include <string.h>

#include "abr/emulator/feat.h"
#include "serve/learner/bus_local.h"
#include "support/trajs.h"

struct buckets leaders_keys;
struct bucket leaders_bucket;
struct log leaders_log;
static struct traj traj;
double leaders_mono;

static int announce(void *ctx, const struct policy *p, double now, double score,
                    struct err *e)
{
    struct leaders *r = ctx;
    return lead_commit(r->lead, r->learner, p, now, score, e);
}

static int take_weights(void *ctx, struct policy *p, const struct bus_wire_weights *note,
                        struct err *e)
{
    struct leaders *r = ctx;
    r->taken++;
    return published_swap(r->published, p, note->published_at, note->check_score, e);
}

static int take_common(void *ctx, const struct bus_wire_common *c, uint64_t rev,
                       struct err *e)
{
    struct leaders *r = ctx;
    (void)rev;
    (void)e;
    r->common = *c;
    return 0;
}

static int give_common(void *ctx, struct bus_wire_common *c, bool first, struct err *e)
{
    struct leaders *r = ctx;
    (void)first;
    (void)e;
    c->has_explore = true;
    c->explore_share = r->share;
    return 0;
}

static void on_rewind(void *ctx)
{
    ((struct leaders *)ctx)->rewinds++;
}

static void on_trim(void *ctx, uint64_t position)
{
    ((struct leaders *)ctx)->trimmed = position;
}

struct policy_cfg leaders_shape(int hidden)
{
    struct policy_cfg c = policy_cfg_default(FEAT_FULL_DIM);
    c.hidden = c.critic_hidden = hidden;
    return c;
}

void leaders_begin(struct leaders *r, const char *name, int hidden)
{
    *r = (struct leaders){0};
    strcpy(r->name, name);
    leaders_log = log_init(-1, LOG_ERROR, false);
    r->share = .5;
    struct policy_cfg cfg = leaders_shape(hidden);
    struct policy *p = policy_new(&cfg, NULL);
    policy_init(p, 3);
    p->version = 1;
    r->published = published_new(policy_clone(p, NULL), 0, 0, NULL);
    ck_assert_int_eq(bus_local_init(&r->bus, 64, NULL), 0);
    struct learner_cfg lc = {
        .online = online_cfg_default(), .announce = announce, .announce_ctx = r};
    lc.online.batch = 64;
    lc.online.capacity = 64 + TRAJ_STEPS;
    lc.online.tolerance = 1e9;
    lc.online.rehearse = lc.online.exam_links = 0;
    bool fresh;
    r->learner = learner_new(&lc, p, NULL, 0, &fresh, r->published, &r->bus, NULL);
    ck_assert_ptr_nonnull(r->learner);
    policy_free(p);
    r->dedup = dedup_new(NULL);
    struct follow_cfg fc = {.bucket = leaders_bucket,
                            .shape = cfg,
                            .weights = take_weights,
                            .common = take_common,
                            .ctx = r};
    r->follow = follow_new(&fc, NULL);
    struct lead_cfg cc = {.bucket = leaders_bucket,
                          .who = r->name,
                          .follow = r->follow,
                          .dedup = r->dedup,
                          .published = r->published,
                          .shape = cfg,
                          .log = &leaders_log,
                          .rewind = on_rewind,
                          .trim = on_trim,
                          .common = give_common,
                          .ctx = r};
    r->lead = lead_new(&cc, NULL);
}

void leaders_end(struct leaders *r)
{
    lead_free(r->lead);
    follow_free(r->follow);
    dedup_free(r->dedup);
    learner_free(r->learner);
    r->bus.free(r->bus.self);
    published_free(r->published);
}

int leaders_turn(struct leaders *r)
{
    struct shared_value *v[FOLLOW_VALUES];
    follow_values(v, r->follow);
    int rc = shared_value_turn(v, FOLLOW_VALUES, lead_leading(r->lead), leaders_mono,
                               leaders_mono, NULL);
    return rc < 0 ? rc : lead_turn(r->lead, r->learner, leaders_mono, leaders_mono, NULL);
}

uint64_t leaders_version(struct leaders *r)
{
    const struct weights *w = published_get(r->published);
    uint64_t v = w->policy->version;
    published_put(r->published, w);
    return v;
}

uint32_t leaders_crc(struct leaders *r)
{
    const struct weights *w = published_get(r->published);
    uint32_t c = policy_crc32(w->policy);
    published_put(r->published, w);
    return c;
}

uint64_t leaders_counted(struct leaders *r)
{
    struct dedup_stats s;
    dedup_stats(&s, r->dedup);
    return s.counted;
}

/* n trajectories of 32 steps arrive; every two make a batch. Returns what the last turn did. */
int leaders_learn(struct leaders *r, int n)
{
    int rc = 0;
    for (int i = 0; i < n; i++) {
        trajs_make(&traj, r->number + 1, 6, 32, false);
        traj.client = r->number;
        for (int k = 0; k < traj.n; k++)
            traj.step[k].policy = leaders_version(r);
        ck_assert(dedup_take(r->dedup, 5, ++r->number));
        dedup_advance(r->dedup, r->number);
        ck_assert(r->bus.send(r->bus.self, &traj));
        rc = learner_turn(r->learner, 0, leaders_mono, NULL);
    }
    return rc;
}

void *leaders_get(size_t *n, const char *key)
{
    void *data;
    uint64_t rev;
    ck_assert_int_eq(leaders_bucket.get(leaders_bucket.self, key, &data, n, &rev, NULL),
                     0);
    return data;
}

void leaders_set(const char *key, const void *data, size_t n)
{
    ck_assert_int_eq(leaders_bucket.set(leaders_bucket.self, key, data, n, NULL), 0);
}

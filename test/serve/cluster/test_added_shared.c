/* Two learners and two nodes around one bucket in memory. */
#include "serve/cluster/added_shared.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abr/emulator/feat.h"
#include "serve/cluster/bus_wire.h"
#include "serve/cluster/follow.h"
#include "support/buckets.h"
#include "support/capture.h"
#include "support/suites.h"
#include "support/tmpdir.h"

enum { STEPS = 64 };

struct side {
    struct added *added;
    struct added_shared *shared;
    struct published *published;
    struct policy_cfg shape;
    bool learns, knows; /* knows: the profiles */
    char dir[256];
};

static struct buckets keys;
static struct bucket bucket;
static struct log said;
static double mono, now;
static struct side lead, next, a, b;
static const struct qoe QOE = {.mu_quality = 3, .mu_switch = 1, .mu_stall = 3};

static bool profile(void *ctx, struct qoe *out, const char *name)
{
    const struct side *s = ctx;
    *out = QOE;
    return s->knows && strcmp(name, "unknown") != 0;
}

static void open_side(struct side *s, int max)
{
    struct policy *p = policy_new(&s->shape, NULL);
    policy_init(p, s->learns ? 3 : 8); /* a node has other weights than it was grown on */
    p->version = 5;
    s->published = published_new(p, 0, 0, NULL);
    struct added_cfg gc = {.max = max,
                           .experts = 2,
                           .gate = NORGA_TANH,
                           .learn = s->learns,
                           .online = online_cfg_default(),
                           .dir = s->dir,
                           .log = &said};
    gc.online.batch = STEPS;
    gc.online.tolerance = 1e9;
    gc.online.ppo.target_kl = 0;
    s->added = added_new(&gc, NULL);
    struct added_shared_cfg c = {.bucket = bucket,
                                 .added = s->added,
                                 .published = s->published,
                                 .shape = s->shape,
                                 .max = max,
                                 .decides = !s->learns,
                                 .log = &said,
                                 .profile = profile,
                                 .ctx = s};
    s->shared = added_shared_new(&c, NULL);
    ck_assert(s->added && s->shared);
}

static void begin(struct side *s, bool learns)
{
    *s = (struct side){.learns = learns, .knows = true};
    s->shape = policy_cfg_default(FEAT_FULL_DIM);
    s->shape.hidden = s->shape.critic_hidden = 16;
    snprintf(s->dir, sizeof s->dir, "%s", tmpdir_new());
    open_side(s, 4);
}

static void close_side(struct side *s)
{
    added_shared_free(s->shared);
    added_free(s->added);
    published_free(s->published);
}

static void setup(void)
{
    bucket = buckets_open(&keys);
    capture_begin(STDERR_FILENO);
    said = log_init(STDERR_FILENO, LOG_INFO, false);
    mono = 1000;
    now = 5000;
    begin(&lead, true);
    begin(&next, true);
    begin(&a, false);
    begin(&b, false);
    ck_assert_int_eq(added_shared_resume(lead.shared, 1, 0, now, NULL), 0);
}

static void teardown(void)
{
    struct side *all[] = {&lead, &next, &a, &b};
    for (int i = 0; i < 4; i++) {
        close_side(all[i]);
        tmpdir_remove(all[i]->dir);
    }
    buckets_free(&keys);
    free(capture_end());
}

static int leads(struct side *s)
{
    mono += 2;
    now += 2;
    return added_shared_lead(s->shared, mono, now, NULL);
}

static int follows(struct side *s)
{
    mono += 2;
    now += 2;
    struct shared_value *v = added_shared_value(s->shared);
    return shared_value_turn(&v, 1, false, mono, now, NULL);
}

static void all(void)
{
    ck_assert_int_eq(leads(&lead), 0);
    ck_assert_int_eq(follows(&a), 0);
    ck_assert_int_eq(follows(&b), 0);
}

static void want(struct side *s, const char *name)
{
    struct err e = {0};
    ck_assert_msg(!added_shared_want(s->shared, name, &e), "%s", e.detail);
}

/* The first one there; version 0: there is none. */
static struct added_one first(struct side *s)
{
    struct added_one at[SERVICE_ADDED] = {0};
    (void)added_look(at, s->added);
    return at[0];
}

static int count(struct side *s)
{
    struct added_one at[SERVICE_ADDED];
    return added_look(at, s->added);
}

static void same(struct side *s, struct side *as)
{
    struct added_one x = first(s), y = first(as);
    ck_assert_uint_eq(x.id, y.id);
    ck_assert_uint_eq(x.version, y.version);
    ck_assert_str_eq(x.name, y.name);
    ck_assert(policy_added_fits(x.experts, x.base));
    ck_assert_uint_eq(policy_crc32(x.base), policy_crc32(y.base));
    ck_assert_mem_eq(x.experts->actor->theta, y.experts->actor->theta,
                     sizeof(float) * y.experts->actor->n);
    ck_assert_mem_eq(x.experts->critic->theta, y.experts->critic->theta,
                     sizeof(float) * y.experts->critic->n);
}

/* A trajectory of a whole batch that lay there in the stream. */
static void teach(struct side *s, uint64_t place)
{
    static float obs[STEPS * FEAT_FULL_DIM], logp[STEPS], reward[STEPS];
    static uint32_t mask[STEPS];
    static int action[STEPS];
    for (int i = 0; i < STEPS; i++) {
        for (int k = 0; k < FEAT_FULL_DIM; k++)
            obs[i * FEAT_FULL_DIM + k] = (float)((i * 31 + k * 7) % 17) / 17;
        mask[i] = 0x3f;
        action[i] = i % 6;
        logp[i] = -1.79f;
        reward[i] = (float)(i % 6) - 2.5f;
    }
    struct added_one one = first(s);
    struct online_trajectory t = {.n = STEPS,
                                  .obs = obs,
                                  .mask = mask,
                                  .action = action,
                                  .logp = logp,
                                  .reward = reward,
                                  .tag = added_tag_of(s->added, one.id),
                                  .version = one.version};
    added_teach(s->added, &t, place);
}

static void learn(struct side *s, uint64_t place)
{
    teach(s, place);
    ck_assert_int_eq(added_turn(s->added, now, NULL), 1);
}

static uint64_t refused(struct side *s)
{
    struct cluster_stats st;
    added_shared_stats(&st, s->shared);
    return st.added_refused;
}

TEST(what_one_node_wants_all_have)
{
    ck_assert(!added_shared_wanted(a.shared, "cycling"));
    want(&a, "cycling");
    want(&a, "cycling"); /* once is enough */
    ck_assert(added_shared_wanted(a.shared, "cycling"));
    ck_assert_int_eq(follows(&a), 0);
    ck_assert_int_eq(count(&a), 0); /* nobody has made them yet */
    all();
    ck_assert_uint_eq(first(&lead).version, 1);
    same(&a, &lead);
    same(&b, &lead);
    ck_assert_uint_eq(first(&a).base->version, 5);
    ck_assert(added_shared_wanted(b.shared, "cycling"));
    ck_assert_int_gt(keys.calls, 0);

    /* who was here before they came goes on as before */
    double since;
    ck_assert_int_ge(added_tag(b.added, "cycling", &since), ADDED_TAG);
    ck_assert_double_eq(since, now);
    /* node and learner find each other by the growth, whatever tags they use */
    int tag = added_tag(a.added, "cycling", NULL);
    ck_assert_uint_eq(added_id(a.added, tag), first(&lead).id);
    ck_assert_int_eq(added_tag_of(lead.added, added_id(a.added, tag)),
                     added_tag(lead.added, "cycling", NULL));
    ck_assert_uint_eq(added_id(a.added, 200), 0);
    ck_assert_int_eq(added_tag_of(a.added, 1), -1);
}

TEST(what_is_learned_arrives_and_nothing_is_heaped_up)
{
    want(&a, "cycling");
    all();
    for (uint64_t v = 2; v < 6; v++) {
        learn(&lead, v);
        all();
        ck_assert_uint_eq(first(&a).version, v);
        same(&a, &lead);
        same(&b, &lead);
    }
    /* list, frozen policy, and two slots of experts and state */
    ck_assert_int_eq(keys.n, 1 + 1 + 2 * 2);
    /* what is at hand is not fetched again */
    uint64_t revs = keys.revs;
    struct cluster_stats st;
    all();
    added_shared_stats(&st, a.shared);
    ck_assert_uint_eq(st.added_taken, 5);
    ck_assert_int_eq(st.added_wanted, 1);
    ck_assert_uint_eq(keys.revs, revs);
}

TEST(what_is_deleted_is_nowhere)
{
    want(&a, "cycling");
    want(&b, "other");
    all();
    learn(&lead, 1);
    all();
    ck_assert_int_eq(count(&b), 2);
    ck_assert_int_eq(added_shared_unwant(b.shared, "cycling", NULL), 0);
    ck_assert_int_eq(added_shared_unwant(b.shared, "cycling", NULL), 0);
    all();
    ck_assert_int_eq(count(&lead), 1);
    ck_assert_int_eq(count(&a), 1);
    ck_assert_str_eq(first(&b).name, "other");
    ck_assert_int_eq(added_shared_unwant(a.shared, "other", NULL), 0);
    all();
    ck_assert_int_eq(count(&lead) + count(&a) + count(&b), 0);
    ck_assert_int_eq(keys.n, 1); /* the list, and no pieces */
    char path[400];
    snprintf(path, sizeof path, "%s/grown-sports.safetensors", a.dir);
    ck_assert_int_ne(access(path, F_OK), 0);

    /* the same name again is another growth */
    want(&a, "cycling");
    all();
    ck_assert_uint_eq(first(&b).version, 1);
    same(&b, &lead);
}

TEST(deleted_and_wanted_again_before_anybody_looked)
{
    want(&a, "cycling");
    all();
    learn(&lead, 1);
    all();
    uint64_t id = first(&a).id;
    ck_assert_int_eq(added_shared_unwant(a.shared, "cycling", NULL), 0);
    want(&a, "cycling");
    all();
    ck_assert_uint_ne(first(&a).id, id);
    ck_assert_uint_eq(first(&a).version, 1);
    same(&a, &lead);
    same(&b, &lead);
}

TEST(the_next_learner_goes_on_from_what_was_published)
{
    want(&a, "cycling");
    all();
    learn(&lead, 10);
    learn(&lead, 12);
    all();
    void *was, *is;
    size_t was_n, is_n;
    uint64_t id = first(&lead).id;
    ck_assert_int_eq(added_state(&was, &was_n, lead.added, id, NULL), 0);
    learn(&lead, 13); /* and is not published any more */

    ck_assert_int_eq(added_shared_resume(next.shared, 2, 0, now, NULL), 0);
    same(&next, &a);
    ck_assert_int_eq(added_state(&is, &is_n, next.added, id, NULL), 0);
    ck_assert_uint_eq(is_n, was_n);
    ck_assert_mem_eq(is, was, is_n); /* optimiser, random streams and counts */
    free(was);
    free(is);

    /* what was learned is read again, and teaches nobody; what was not does */
    teach(&next, 10);
    teach(&next, 12);
    ck_assert(!added_ready(next.added));
    learn(&next, 13);
    ck_assert_int_eq(leads(&next), 0);
    ck_assert_int_eq(follows(&a), 0);
    same(&a, &next);
    /* the one before believes that it leads, and changes nothing */
    ck_assert_int_eq(leads(&lead), ERR_CONFLICT);
    ck_assert_int_eq(leads(&lead), ERR_CONFLICT);
    ck_assert_int_eq(follows(&b), 0);
    same(&b, &next);
    ck_assert_int_eq(buckets_count(&keys, "grown.") - 1,
                     2); /* nothing of the term before */
}

TEST(a_stream_that_was_made_anew_is_learned_from)
{
    want(&a, "cycling");
    all();
    learn(&lead, 10);
    learn(&lead, 3); /* another stream: its places begin anew */
    ck_assert_uint_eq(first(&lead).version, 3);
    all();
    /* and when the learner changes with it */
    ck_assert_int_eq(added_shared_resume(next.shared, 2, 3, now, NULL), 0);
    learn(&next, 1);
}

TEST(a_node_that_starts_has_its_files_and_one_that_joins_is_told)
{
    want(&a, "cycling");
    all();
    double since, again;
    ck_assert_int_ge(added_tag(a.added, "cycling", &since), 0);
    learn(&lead, 1);
    all();
    ck_assert_int_eq(added_save(a.added, NULL), 0);
    close_side(&a);
    open_side(&a, 4);
    keys.away = true;
    ck_assert_int_eq(added_restore(a.added, "cycling", &QOE, &a.shape, now, NULL), 1);
    ck_assert_int_eq(follows(&a), ERR_IO);
    same(&a, &lead);
    ck_assert_int_ge(added_tag(a.added, "cycling", &again), 0);
    ck_assert_double_eq_tol(again, since, 1e-3); /* for sessions that were open */
    keys.away = false;
    learn(&lead, 2);
    all();
    same(&a, &lead);

    struct side joins;
    begin(&joins, false);
    ck_assert_int_eq(follows(&joins), 0);
    same(&joins, &lead);
    close_side(&joins);
    tmpdir_remove(joins.dir);
}

static void put_common(const char *name)
{
    static struct bus_wire_common c = {.n = 1};
    void *bytes;
    size_t n;
    c.profile[0] = (struct profile){.qoe = QOE};
    snprintf(c.profile[0].name, sizeof c.profile[0].name, "%s", name);
    ck_assert_int_eq(shared_value_encode(&bytes, &n, &bus_wire_common_kind, &c, NULL), 0);
    ck_assert_int_eq(bucket.set(bucket.self, bus_wire_common_kind.key, bytes, n, NULL),
                     0);
    free(bytes);
}

TEST(a_profile_may_come_later_than_its_experts)
{
    b.knows = false;
    want(&a, "cycling");
    want(&a, "unknown"); /* to nobody */
    all();
    ck_assert_int_eq(count(&lead), 1);
    ck_assert_int_eq(count(&b), 0);
    b.knows = true;
    ck_assert_int_eq(follows(&b), 0);
    same(&b, &lead);
    ck_assert_uint_eq(refused(&b), 0);
    /* the other is on the bucket, only the learner cannot take it */
    put_common("unknown");
    for (int i = 0; i < 9; i++)
        all();
    ck_assert(added_shared_wanted(a.shared, "unknown"));
    /* there is none, as if a node of before had deleted it: not for long */
    put_common("cycling");
    all();
    ck_assert(!added_shared_wanted(a.shared, "unknown"));
    ck_assert(added_shared_wanted(a.shared, "cycling"));

    /* nor is a learner lost that leads before it has heard of the profiles */
    learn(&lead, 1);
    all();
    next.knows = false;
    ck_assert_int_eq(added_shared_resume(next.shared, 2, 0, now, NULL), 0);
    ck_assert_int_eq(count(&next), 0);
    next.knows = true;
    ck_assert_int_eq(leads(&next), 0);
    same(&next, &a);
}

/* One byte of the first value whose name ends so. */
static void damage(const char *end, size_t at)
{
    for (int i = 0; i < keys.n; i++) {
        size_t n = strlen(keys.value[i].key), k = strlen(end);
        if (n < k || strcmp(keys.value[i].key + n - k, end) != 0) continue;
        ((unsigned char *)keys.value[i].data)[at] ^= 1;
        return;
    }
    ck_abort_msg("no %s", end);
}

/* Does the log, since it was asked last, say so? */
static bool told(const char *what)
{
    char *text = capture_end();
    bool found = strstr(text, what) != NULL;
    free(text);
    capture_begin(STDERR_FILENO);
    return found;
}

TEST(what_is_damaged_or_newer_is_refused_and_told_once)
{
    want(&a, "cycling");
    all();
    learn(&lead, 1);
    ck_assert_int_eq(leads(&lead), 0);
    damage(".1.new.0", 100); /* slot 1: version 2 */
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(follows(&a), 0);
    ck_assert_uint_eq(refused(&a), 1);
    ck_assert_uint_eq(first(&a).version, 1); /* goes on with what it has */
    ck_assert(told("has a wrong checksum"));

    damage("grown", 10); /* the list's form */
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(follows(&b), 0);
    ck_assert_uint_eq(refused(&b), 1);
    ck_assert(told("this abrd reads forms 1 to 1"));
    ck_assert_uint_eq(first(&b).version, 1);
}

TEST(nodes_of_another_shape_or_with_less_room_go_on_without)
{
    close_side(&a);
    a.shape.actions--;
    open_side(&a, 4);
    close_side(&b);
    open_side(&b, 1);
    want(&a, "cycling");
    want(&a, "other");
    all();
    ck_assert_int_eq(count(&a), 0);
    ck_assert_uint_eq(refused(&a), 2);
    ck_assert_int_eq(count(&b), 1);
    ck_assert_uint_eq(refused(&b), 1);
    ck_assert(told("--grow-max"));
    struct err e = {0};
    ck_assert_int_eq(added_shared_want(b.shared, "third", &e), ERR_FULL);
    ck_assert_str_eq(e.field, "grow");
}

TEST(a_bucket_that_is_away_or_empty_takes_nothing_away)
{
    want(&a, "cycling");
    all();
    keys.away = true;
    learn(&lead, 1);
    ck_assert_int_eq(leads(&lead), ERR_IO);
    ck_assert_int_eq(follows(&a), ERR_IO);
    ck_assert_int_eq(added_shared_want(a.shared, "other", NULL), ERR_IO);
    ck_assert_uint_eq(first(&a).version, 1);
    keys.away = false;
    all();
    same(&a, &lead);

    buckets_free(&keys); /* all values are lost */
    ck_assert_int_eq(follows(&a), 0);
    ck_assert_int_eq(count(&a), 1);
    all();
    same(&a, &lead);
    /* also when a learner begins to lead then */
    buckets_free(&keys);
    ck_assert_int_eq(added_shared_resume(lead.shared, 3, 0, now, NULL), 0);
    learn(&lead, 1);
    all();
    same(&b, &lead);
}

TEST(an_answer_that_is_lost_does_no_harm)
{
    want(&a, "cycling");
    all();
    learn(&lead, 1);
    keys.lose = 1;
    ck_assert_int_eq(leads(&lead), ERR_IO);
    learn(&lead, 2);
    all();
    ck_assert_uint_eq(first(&a).version, 3);
    same(&a, &lead);
    same(&b, &lead);
}

TEST(a_learner_of_before_leaves_a_newer_list_alone)
{
    want(&a, "cycling");
    all();
    damage("grown", 10);
    uint64_t revs = keys.revs;
    ck_assert_int_eq(added_shared_resume(next.shared, 2, 0, now, NULL), 0);
    ck_assert_int_eq(leads(&next), 0);
    ck_assert_uint_eq(keys.revs, revs);
}

SUITE_SET_UP(serve_cluster_added_shared, 60, setup, teardown,
             what_one_node_wants_all_have,
             what_is_learned_arrives_and_nothing_is_heaped_up, what_is_deleted_is_nowhere,
             deleted_and_wanted_again_before_anybody_looked,
             the_next_learner_goes_on_from_what_was_published,
             a_stream_that_was_made_anew_is_learned_from,
             a_node_that_starts_has_its_files_and_one_that_joins_is_told,
             a_profile_may_come_later_than_its_experts,
             what_is_damaged_or_newer_is_refused_and_told_once,
             nodes_of_another_shape_or_with_less_room_go_on_without,
             a_bucket_that_is_away_or_empty_takes_nothing_away,
             an_answer_that_is_lost_does_no_harm,
             a_learner_of_before_leaves_a_newer_list_alone);

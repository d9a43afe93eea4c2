#include "serve/cluster/lead.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "serve/cluster/cluster_cfg.h"
#include "support/capture.h"
#include "abr/deciders/forecast_own.h"
#include "support/leaders.h"
#include "support/suites.h"

static struct leaders a, b;

static void setup(void)
{
    leaders_bucket = buckets_open(&leaders_keys);
    leaders_mono = 1000;
    leaders_begin(&a, "a", 16);
    leaders_begin(&b, "b", 16);
}

static void teardown(void)
{
    leaders_end(&a);
    leaders_end(&b);
    buckets_free(&leaders_keys);
}

static void a_leads_and_b_follows(void)
{
    leaders_turn(&a);
    leaders_turn(&b);
}

TEST(one_learns_and_the_other_follows)
{
    ck_assert_int_eq(leaders_turn(&a), 0);
    ck_assert_int_eq(leaders_turn(&b), 0);
    ck_assert(lead_leading(a.lead) && !lead_leading(b.lead));
    ck_assert_int_eq(a.rewinds, 1);
    ck_assert_double_eq(b.common.explore_share, .5);

    leaders_mono += 3;
    ck_assert_int_eq(leaders_learn(&a, 2), 1);
    ck_assert_uint_eq(leaders_version(&a), 2);
    ck_assert_int_gt(leaders_keys.calls, 0);
    ck_assert_int_eq(leaders_turn(&b), 0);
    ck_assert_uint_eq(leaders_version(&b), 2);
    ck_assert_uint_eq(leaders_crc(&b), leaders_crc(&a));
    ck_assert_uint_eq(a.trimmed, 2);

    /* as long as it beats it stays */
    for (int i = 0; i < 20; i++) {
        leaders_mono += .5;
        ck_assert_int_eq(leaders_turn(&a), 0);
        ck_assert_int_eq(leaders_turn(&b), 0);
    }
    ck_assert(lead_leading(a.lead) && !lead_leading(b.lead));

    /* other settings here are soon everybody's; those of who follows are not */
    a.share = .25;
    lead_settle(a.lead);
    lead_settle(b.lead);
    ck_assert_int_eq(leaders_turn(&b), 0);
    ck_assert_double_eq(b.common.explore_share, .5);
    ck_assert_int_eq(leaders_turn(&a), 0);
    leaders_mono += 2;
    ck_assert_int_eq(leaders_turn(&a), 0);
    ck_assert_int_eq(leaders_turn(&b), 0);
    ck_assert_double_eq(b.common.explore_share, .25);
}

TEST(the_next_goes_on_from_the_same_moment)
{
    a_leads_and_b_follows();
    leaders_learn(&a, 2);
    leaders_learn(&a, 1); /* half a batch, which nobody published */
    ck_assert_uint_eq(leaders_counted(&a), 3);

    double died = leaders_mono;
    while (!lead_leading(b.lead) && leaders_mono < died + 10) {
        leaders_mono += .25;
        ck_assert_int_eq(leaders_turn(&b), 0);
    }
    ck_assert_double_le(leaders_mono - died, 5);
    ck_assert(lead_leading(b.lead));
    ck_assert_uint_eq(leaders_counted(&b), 2);
    ck_assert_uint_eq(dedup_position(b.dedup), 2);
    ck_assert_int_eq(b.rewinds, 1);
    ck_assert(!dedup_take(b.dedup, 5, 2)); /* what was learned is known */
    struct online_stats s;
    learner_stats(b.learner, &s);
    ck_assert_uint_eq(s.updates, 1);
    ck_assert_uint_eq(s.trajectories, 2);

    /* two learners that go on from one moment with the same data come to the same weights */
    b.number = 2;
    ck_assert_int_eq(leaders_learn(&b, 2), 1);
    ck_assert_uint_eq(leaders_version(&b), 3);
    ck_assert_int_eq(leaders_learn(&a, 1), ERR_CONFLICT);
    ck_assert_uint_eq(policy_crc32(learner_policy(a.learner)), leaders_crc(&b));
    /* pieces of the one before are gone */
    ck_assert_int_eq(buckets_count(&leaders_keys, "state.1."), 0);
    ck_assert_int_gt(buckets_count(&leaders_keys, "state.2."), 0);
}

/* The next learner continues, but not with the correction of another program's forecast. */
TEST(a_correction_of_another_forecast_ends_with_its_learner)
{
    static const float weights[FORECAST_OWN] = {1};
    a_leads_and_b_follows();
    struct policy *p = policy_clone(learner_policy(a.learner), NULL);
    policy_copy_input(p, weights, FORECAST_OWN);
    p->input_of = forecast_crc32() + 1;
    ck_assert_int_eq(lead_commit(a.lead, a.learner, p, 0, .5, NULL), 0);
    while (!lead_leading(b.lead) && leaders_mono < 2000) {
        leaders_mono += .25;
        ck_assert_int_eq(leaders_turn(&b), 0);
    }
    ck_assert(lead_leading(b.lead));
    ck_assert_int_eq(learner_policy(b.learner)->input_n, 0);
    ck_assert_uint_eq(policy_crc32(learner_policy(b.learner)), policy_crc32(p));
    policy_free(p);
}

static int form_of_weights(void)
{
    size_t n;
    void *bytes = leaders_get(&n, bus_wire_weights_kind.key);
    int form = bytes_get_u16((unsigned char *)bytes + 10);
    free(bytes);
    return form;
}

/* Older programs can read weights without a correction, and see of others that they are newer. */
TEST(a_correction_is_published_in_a_form_of_its_own)
{
    static const float weights[FORECAST_OWN] = {1};
    a_leads_and_b_follows();
    ck_assert_int_eq(form_of_weights(), 2);
    struct policy *p = policy_clone(learner_policy(a.learner), NULL);
    policy_copy_input(p, weights, FORECAST_OWN);
    ck_assert_int_eq(lead_commit(a.lead, a.learner, p, 0, .5, NULL), 0);
    ck_assert_int_eq(form_of_weights(), 3);
    policy_copy_input(p, NULL, 0);
    ck_assert_int_eq(lead_commit(a.lead, a.learner, p, 0, .5, NULL), 0);
    ck_assert_int_eq(form_of_weights(), 2);
    policy_free(p);
}

TEST(who_was_taken_for_dead_is_refused)
{
    a_leads_and_b_follows();
    leaders_learn(&a, 2);
    leaders_mono += CLUSTER_TAKE_S + 1; /* a is stopped meanwhile */
    leaders_turn(&b);
    leaders_mono += CLUSTER_TAKE_S + 1;
    leaders_turn(&b);
    ck_assert(lead_leading(b.lead) && lead_leading(a.lead));
    uint64_t weights = buckets_rev(&leaders_keys, bus_wire_weights_kind.key);
    uint32_t before = leaders_crc(&a);

    ck_assert_int_eq(leaders_learn(&a, 2),
                     ERR_CONFLICT); /* its fresh weights are nobody's */
    ck_assert(!lead_leading(a.lead));
    ck_assert_uint_eq(buckets_rev(&leaders_keys, bus_wire_weights_kind.key), weights);
    ck_assert_uint_eq(leaders_crc(&a), before);
    ck_assert_int_eq(leaders_turn(&a), 0); /* and it follows */
    ck_assert_int_eq(leaders_learn(&b, 0), 0);
    b.number = 2;
    ck_assert_int_eq(leaders_learn(&b, 2), 1);
    ck_assert_int_eq(leaders_turn(&a), 0);
    ck_assert_uint_eq(leaders_crc(&a), leaders_crc(&b));

    /* the same by its beat */
    leaders_mono += CLUSTER_TAKE_S + 1;
    leaders_turn(&a);
    leaders_mono += CLUSTER_TAKE_S + 1;
    leaders_turn(&a);
    ck_assert(lead_leading(a.lead));
    ck_assert_int_eq(leaders_turn(&b), 0);
    ck_assert(!lead_leading(b.lead));
}

/* The learner's thread is busy, or its disk is slow: its heartbeat goes on without it. */
TEST(a_long_update_costs_nobody_the_lead)
{
    a_leads_and_b_follows();
    uint64_t before = buckets_rev(&leaders_keys, bus_wire_heartbeat_kind.key);
    double until = leaders_mono + CLUSTER_STUCK_S;
    int beats = 0;
    while (leaders_mono + .25 < until) {
        leaders_mono += .25;
        ck_assert_int_eq(lead_heartbeat(a.lead, leaders_mono, NULL), 0);
        ck_assert_int_eq(leaders_turn(&b), 0);
        ck_assert(!lead_leading(b.lead));
        uint64_t rev = buckets_rev(&leaders_keys, bus_wire_heartbeat_kind.key);
        beats += rev != before;
        before = rev;
    }
    ck_assert_int_ge(beats, (int)(CLUSTER_STUCK_S / CLUSTER_HEARTBEAT_S) - 2);
    ck_assert_int_le(beats, (int)(CLUSTER_STUCK_S / CLUSTER_HEARTBEAT_S));
    ck_assert_int_eq(leaders_learn(&a, 2), 1); /* what the update made is published */
    ck_assert_int_eq(leaders_turn(&b), 0);
    ck_assert_uint_eq(leaders_crc(&b), leaders_crc(&a));
}

TEST(who_is_stuck_loses_the_lead)
{
    a_leads_and_b_follows();
    double stuck = leaders_mono;
    while (!lead_leading(b.lead) && leaders_mono < stuck + 1000) {
        leaders_mono += .25;
        ck_assert_int_eq(lead_heartbeat(a.lead, leaders_mono, NULL), 0);
        ck_assert_int_eq(leaders_turn(&b), 0);
    }
    ck_assert_double_ge(leaders_mono - stuck, CLUSTER_STUCK_S);
    ck_assert_double_le(leaders_mono - stuck,
                        CLUSTER_STUCK_S + CLUSTER_TAKE_S + CLUSTER_HEARTBEAT_S);

    /* it goes on in the midst of an update: nothing of it is published */
    uint64_t weights = buckets_rev(&leaders_keys, bus_wire_weights_kind.key);
    uint32_t before = leaders_crc(&a);
    ck_assert_int_eq(leaders_learn(&a, 2), ERR_CONFLICT);
    ck_assert_uint_eq(buckets_rev(&leaders_keys, bus_wire_weights_kind.key), weights);
    ck_assert_uint_eq(leaders_crc(&a), before);
    ck_assert(!lead_leading(a.lead) && lead_leading(b.lead));
    uint64_t beat = buckets_rev(&leaders_keys, bus_wire_heartbeat_kind.key);
    ck_assert_int_eq(lead_heartbeat(a.lead, leaders_mono + 5, NULL), 0);
    ck_assert_uint_eq(buckets_rev(&leaders_keys, bus_wire_heartbeat_kind.key), beat);
    ck_assert_int_eq(leaders_turn(&a), 0); /* and it follows */
}

/* Another one leads, and the heartbeat is the first to know: what is learned meanwhile is not put. */
TEST(the_heartbeat_finds_that_another_leads)
{
    a_leads_and_b_follows();
    for (int i = 0; i < 2; i++) { /* a process that was stopped: not even the heartbeat */
        leaders_mono += CLUSTER_TAKE_S + 1;
        leaders_turn(&b);
    }
    ck_assert(lead_leading(b.lead) && lead_leading(a.lead));
    uint64_t beat = buckets_rev(&leaders_keys, bus_wire_heartbeat_kind.key);
    ck_assert_int_eq(lead_heartbeat(a.lead, leaders_mono, NULL), 0);
    ck_assert(!lead_leading(a.lead));
    ck_assert_uint_eq(buckets_rev(&leaders_keys, bus_wire_heartbeat_kind.key), beat);
    uint64_t weights = buckets_rev(&leaders_keys, bus_wire_weights_kind.key);
    ck_assert_int_eq(leaders_learn(&a, 2), ERR_CONFLICT);
    ck_assert_uint_eq(buckets_rev(&leaders_keys, bus_wire_weights_kind.key), weights);
    b.number = 2;
    ck_assert_int_eq(leaders_learn(&b, 2), 1);
    ck_assert_int_eq(leaders_turn(&a), 0);
    ck_assert_uint_eq(leaders_crc(&a), leaders_crc(&b));

    /* and it may lead again, in a term of its own */
    lead_resign(b.lead);
    ck_assert_int_eq(leaders_turn(&a), 0);
    ck_assert(lead_leading(a.lead));
    ck_assert_uint_eq(lead_term(a.lead), 3);
}

TEST(who_resigns_is_followed_at_once)
{
    a_leads_and_b_follows();
    lead_resign(a.lead);
    ck_assert(!lead_leading(a.lead));
    ck_assert_int_eq(leaders_turn(&b), 0);
    ck_assert(lead_leading(b.lead));
}

TEST(a_bucket_that_is_away_deposes_nobody)
{
    a_leads_and_b_follows();
    leaders_keys.away = true;
    ck_assert_int_eq(leaders_learn(&a, 2), ERR_IO);
    ck_assert_uint_eq(leaders_version(&a), 1); /* not published, not used */
    for (int i = 0; i < 200; i++) {
        leaders_mono += 1;
        ck_assert_int_eq(leaders_turn(&b), ERR_IO);
        (void)leaders_turn(&a);
    }
    leaders_keys.away = false;
    ck_assert_int_eq(leaders_turn(&b),
                     0); /* has heard nothing for long, but neither could it */
    ck_assert(!lead_leading(b.lead));
    ck_assert_int_eq(leaders_turn(&a), 0);
    ck_assert(lead_leading(a.lead));
    ck_assert_int_eq(leaders_learn(&a, 2), 1);
    ck_assert_int_eq(leaders_turn(&b), 0);
    ck_assert_uint_eq(leaders_version(&b), leaders_version(&a));
    ck_assert_uint_eq(leaders_version(&a), 3);
}

TEST(what_could_not_be_published_is_not_let_go)
{
    a_leads_and_b_follows();
    leaders_keys.away = true;
    ck_assert_int_eq(leaders_learn(&a, 2), ERR_IO);
    leaders_keys.away = false;
    leaders_mono +=
        5; /* no batch since: its place in the stream may not go out without its weights */
    ck_assert_int_eq(leaders_turn(&a), 0);
    ck_assert_uint_eq(a.trimmed, 0);
    ck_assert_int_eq(leaders_turn(&b), 0);
    ck_assert_uint_eq(leaders_version(&b), 1);

    ck_assert_int_eq(learner_turn(a.learner, 0, leaders_mono, NULL), 1);
    ck_assert_uint_eq(a.trimmed, 2);
    ck_assert_uint_eq(leaders_version(&a), 2);
    leaders_mono += 5;
    ck_assert_int_eq(leaders_turn(&a), 0);
    ck_assert_int_eq(leaders_turn(&b), 0);
    ck_assert_uint_eq(leaders_crc(&b), leaders_crc(&a));
    ck_assert_uint_eq(leaders_crc(&b), policy_crc32(learner_policy(a.learner)));
}

TEST(who_is_set_aside_is_known_to_all)
{
    a_leads_and_b_follows();
    ck_assert_int_eq(learner_disable_expert(a.learner, PPO_ACTOR, 1, 3, NULL), 0);
    ck_assert_int_eq(learner_turn(a.learner, 0, leaders_mono, NULL), 1);
    ck_assert_int_eq(leaders_turn(&b), 0);
    const struct weights *w = published_get(b.published);
    ck_assert_uint_eq(w->policy->actor->busy, 2);
    ck_assert_uint_eq(packed_actor_busy(w->packed), 2);
    published_put(b.published, w);
}

TEST(what_was_refused_is_let_go)
{
    leaders_turn(&a);
    a.number = 100; /* trajectories were read, all of them refused */
    dedup_advance(a.dedup, 100);
    ck_assert_int_eq(leaders_turn(&a), 0);
    ck_assert_uint_eq(a.trimmed, 0);
    leaders_mono += 5;
    ck_assert_int_eq(leaders_turn(&a), 0);
    ck_assert_uint_eq(a.trimmed, 100);
    /* but not what waits for an update, nor what came after it */
    leaders_learn(&a, 1);
    leaders_mono += 5;
    ck_assert_int_eq(leaders_turn(&a), 0);
    ck_assert_uint_eq(a.trimmed, 100);
    leaders_learn(&a, 1);
    ck_assert_uint_eq(a.trimmed, 102);
}

TEST(an_operators_order_keeps_what_waits)
{
    a_leads_and_b_follows();
    leaders_learn(&a, 3); /* the third waits */
    ck_assert_int_eq(learner_disable_expert(a.learner, PPO_ACTOR, 0, 3, NULL), 0);
    ck_assert_int_eq(learner_turn(a.learner, 0, leaders_mono, NULL), 1);
    lead_resign(a.lead);
    leaders_turn(&b);
    ck_assert(lead_leading(b.lead));
    ck_assert_uint_eq(leaders_version(&b), leaders_version(&a));
    ck_assert_uint_eq(dedup_position(b.dedup), 2);
    ck_assert(dedup_take(b.dedup, 5, 3));
}

TEST(a_lost_answer_is_no_other_learner)
{
    a_leads_and_b_follows();
    leaders_keys.lose = 1; /* of the weights */
    ck_assert_int_eq(leaders_learn(&a, 2), ERR_IO);
    ck_assert(lead_leading(a.lead));
    ck_assert_int_eq(leaders_learn(&a, 2), 1);
    leaders_keys.lose = 1; /* of the beat */
    leaders_mono += CLUSTER_HEARTBEAT_S;
    (void)leaders_turn(&a);
    leaders_mono += CLUSTER_HEARTBEAT_S;
    ck_assert_int_eq(leaders_turn(&a), 0);
    leaders_mono += CLUSTER_HEARTBEAT_S;
    ck_assert_int_eq(leaders_turn(&a), 0);
    ck_assert(lead_leading(a.lead));
    ck_assert_int_eq(leaders_turn(&b), 0);
    ck_assert_uint_eq(leaders_crc(&b), leaders_crc(&a));
}

TEST(a_bucket_that_takes_too_little_is_told_at_once)
{
    ck_assert_int_eq(leaders_turn(&a), 0);
    ck_assert_int_eq(leaders_learn(&a, 2), 1);
    size_t needs = lead_needs(learner_policy(a.learner));
    for (int i = 0; i < leaders_keys.n; i++)
        ck_assert_uint_le(leaders_keys.value[i].n, needs);

    leaders_log.fd = STDERR_FILENO;
    for (int i = 0; i < 3; i++) { /* not known, enough, too little */
        size_t most[] = {0, needs, needs - 1};
        leaders_keys.most = most[i];
        capture_begin(STDERR_FILENO);
        ck_assert_int_eq(leaders_turn(&a), 0);
        ck_assert_int_eq(leaders_turn(&a), 0);
        char *said = capture_end();
        const char *first = strstr(said, "raise max_payload");
        ck_assert_int_eq(first != NULL, i == 2);
        if (first) ck_assert_ptr_null(strstr(first + 1, "raise max_payload"));
        free(said);
    }
}

/* A bucket that calls the lead and follow from within, as another thread may: it hangs when one of
 * them holds its lock while NATS works. */
static struct bucket within;
static struct leaders reentered;
static bool inside;
static int reentries;

static void reenter(void)
{
    if (inside || !reentered.lead) return;
    struct cluster_stats s;
    inside = true;
    follow_stats(&s, reentered.follow, leaders_mono);
    ck_assert_int_eq(
        lead_heartbeat(reentered.lead, leaders_mono + CLUSTER_HEARTBEAT_S, NULL), 0);
    reentries++;
    inside = false;
}

static int reentering_get(void *self, const char *key, void **out, size_t *n,
                          uint64_t *rev, struct err *e)
{
    reenter();
    return within.get(self, key, out, n, rev, e);
}

static int reentering_put(void *self, const char *key, const void *data, size_t n,
                          uint64_t last, uint64_t *rev, struct err *e)
{
    reenter();
    return within.put(self, key, data, n, last, rev, e);
}

TEST(no_lock_is_held_while_the_bucket_works)
{
    within = leaders_bucket;
    leaders_bucket.get = reentering_get;
    leaders_bucket.put = reentering_put;
    leaders_begin(&reentered, "c", 16);
    ck_assert_int_eq(leaders_turn(&reentered), 0);
    ck_assert(lead_leading(reentered.lead));
    for (int i = 0; i < 4; i++) {
        leaders_mono += CLUSTER_HEARTBEAT_S;
        ck_assert_int_eq(leaders_turn(&reentered), 0);
        ck_assert_int_eq(leaders_learn(&reentered, 2), 1);
    }
    lead_settle(reentered.lead);
    ck_assert_int_eq(leaders_turn(&reentered), 0);
    ck_assert_int_gt(reentries, 20);
    lead_resign(reentered.lead);
    leaders_end(&reentered);
}

/* ---- lost answers, damaged values, and those of older learners ---- */

/* The note of the weights that are on the bucket. */
static struct bus_wire_weights noted(void)
{
    struct bus_wire_weights note;
    void *bytes;
    uint64_t rev;
    ck_assert_int_eq(shared_value_get(&note, &bytes, &rev, &bus_wire_weights_kind,
                                      &leaders_bucket, NULL, NULL),
                     0);
    free(bytes);
    note.dedup = NULL;
    return note;
}

static int commit(struct leaders *r)
{
    return lead_commit(r->lead, r->learner, learner_policy(r->learner), leaders_mono, 0,
                       NULL);
}

TEST(a_damaged_heartbeat_is_written_over)
{
    leaders_turn(&a);
    leaders_set(bus_wire_heartbeat_kind.key, "x", 1);
    for (int i = 0; i < 2; i++) {
        leaders_mono += CLUSTER_HEARTBEAT_S;
        leaders_turn(&a);
    }
    struct bus_wire_heartbeat is;
    void *bytes;
    uint64_t rev;
    ck_assert_int_eq(shared_value_get(&is, &bytes, &rev, &bus_wire_heartbeat_kind,
                                      &leaders_bucket, NULL, NULL),
                     0);
    ck_assert_str_eq(is.name, "a");
    ck_assert(lead_leading(a.lead));
    free(bytes);
}

TEST(a_state_that_may_be_the_published_one_is_not_written_over)
{
    leaders_turn(&a);
    leaders_keys.lose = 1;
    ck_assert_int_eq(commit(&a), ERR_IO);
    int slot = noted().state_slot; /* it has happened */
    char key[64];
    snprintf(key, sizeof key, "state.1.%d.0", slot);
    uint64_t rev = buckets_rev(&leaders_keys, key);
    ck_assert_uint_gt(rev, 0);
    ck_assert_int_eq(commit(&a), 0);
    ck_assert_uint_eq(buckets_rev(&leaders_keys, key), rev);
    ck_assert_int_eq(noted().state_slot, !slot);
}

TEST(a_take_over_that_failed_leaves_nothing)
{
    leaders_turn(&a);
    leaders_learn(&a, 2);
    leaders_set("state.2.0.0", "left", 4);
    leaders_set("state.2.1.0", "left", 4);
    lead_resign(a.lead);
    ck_assert_int_eq(leaders_turn(&b), 0); /* term 2 */
    lead_resign(b.lead);
    leaders_set(bus_wire_weights_kind.key, "x", 1);
    ck_assert_int_lt(leaders_turn(&a), 0); /* term 3 fails */
    leaders_set("state.3.0.0", "left", 4);
    leaders_set(bus_wire_weights_kind.key, NULL, 0);
    leaders_mono += 2 * CLUSTER_TAKE_S;
    ck_assert_int_eq(leaders_turn(&b), 0); /* term 4 */
    ck_assert(lead_leading(b.lead));
    ck_assert_int_eq(buckets_count(&leaders_keys, "state.2."), 0);
    ck_assert_int_eq(buckets_count(&leaders_keys, "state.3."), 0);
    ck_assert_int_gt(buckets_count(&leaders_keys, "state.4."), 0);
}

TEST(a_damaged_dedup_is_done_without)
{
    leaders_turn(&a);
    leaders_learn(&a, 2);
    lead_resign(a.lead);
    size_t n, sealed_n;
    void *sealed, *bytes = leaders_get(&n, bus_wire_weights_kind.key);
    struct bus_wire_weights note;
    ck_assert_int_eq(shared_value_decode(&note, &bus_wire_weights_kind, bytes, n, NULL),
                     0);
    note.dedup = "nonsense";
    note.dedup_n = 8;
    ck_assert_int_eq(
        shared_value_encode(&sealed, &sealed_n, &bus_wire_weights_kind, &note, NULL), 0);
    leaders_set(bus_wire_weights_kind.key, sealed, sealed_n);
    free(sealed);
    free(bytes);
    ck_assert_int_eq(leaders_turn(&b), 0);
    ck_assert(lead_leading(b.lead));
    ck_assert_uint_eq(leaders_crc(&b), leaders_crc(&a));
    ck_assert_uint_eq(dedup_position(b.dedup), 2);
    ck_assert_uint_eq(leaders_counted(&b), 0);
}

TEST(a_damaged_state_leaves_the_weights)
{
    leaders_turn(&a);
    leaders_learn(&a, 2);
    for (int i = 0; i < leaders_keys.n; i++)
        if (!strncmp(leaders_keys.value[i].key, "state.", 6))
            memset(leaders_keys.value[i].data, 7, 100);
    lead_resign(a.lead);
    ck_assert_int_eq(leaders_turn(&b), 0);
    ck_assert(lead_leading(b.lead));
    ck_assert_uint_eq(leaders_crc(&b), leaders_crc(&a));
    ck_assert_uint_eq(dedup_position(b.dedup), 2);
    ck_assert_uint_eq(leaders_counted(&b), 2); /* the dedup came with them */
}

/* What is published of the dedup, as a node reads it. */
static struct dedup_view published(void)
{
    size_t n;
    void *bytes = leaders_get(&n, bus_wire_weights_kind.key);
    struct bus_wire_weights note;
    struct dedup_view v;
    ck_assert_int_eq(shared_value_decode(&note, &bus_wire_weights_kind, bytes, n, NULL),
                     0);
    ck_assert_uint_eq(note.position, 2);
    ck_assert_int_eq(dedup_view(&v, 5, note.dedup, note.dedup_n, NULL), 0);
    free(bytes);
    return v;
}

TEST(the_dedup_is_published_as_of_the_state)
{
    leaders_turn(&a);
    leaders_learn(&a, 3); /* the third waits for its batch */
    struct dedup_view v = published();
    ck_assert_uint_eq(v.position, 2);
    ck_assert(dedup_view_has(&v, 2) && !dedup_view_has(&v, 3));
    /* other weights, the same state: the dedup that belongs to it */
    ck_assert_int_eq(learner_disable_expert(a.learner, PPO_ACTOR, 0, 3, NULL), 0);
    ck_assert_int_eq(learner_turn(a.learner, 0, leaders_mono, NULL), 1);
    v = published();
    ck_assert(dedup_view_has(&v, 2) && !dedup_view_has(&v, 3));
}

/* The bucket as a learner left it that wrote form 1: the dedup is behind the state. */
static void make_old(void)
{
    size_t n;
    void *bytes = leaders_get(&n, bus_wire_weights_kind.key);
    struct bus_wire_weights note;
    ck_assert_int_eq(shared_value_decode(&note, &bus_wire_weights_kind, bytes, n, NULL),
                     0);
    uint64_t old[] = {2, 2, 0, 0, 1, 5, 2, 2, 1, 6, 0, 0, 0};
    char key[64];
    size_t state_n;
    snprintf(key, sizeof key, "state.1.%d.0", note.state_slot);
    void *state = leaders_get(&state_n, key);
    ck_assert_uint_eq(state_n, ENVELOPE_HEAD + note.state_bytes); /* one piece */
    state = realloc(state, state_n + sizeof old);
    unsigned char *to = (unsigned char *)state + state_n;
    for (size_t i = 0; i < sizeof old / 8; i++)
        bytes_put_u64(to + 8 * i, old[i]);
    note.state_bytes += sizeof old;
    note.state_crc =
        bytes_crc32(0, (unsigned char *)state + ENVELOPE_HEAD, note.state_bytes);
    state_n = envelope_seal(state, ENVELOPE_STATE, 1, note.state_bytes);
    leaders_set(key, state, state_n);
    free(state);

    void *sealed;
    size_t sealed_n;
    note.dedup_n = 0;
    ck_assert_int_eq(
        shared_value_encode(&sealed, &sealed_n, &bus_wire_weights_kind, &note, NULL), 0);
    unsigned char *body = (unsigned char *)sealed + ENVELOPE_HEAD;
    memmove(body + sealed_n - ENVELOPE_HEAD - 8 - note.checkpoint_n,
            body + sealed_n - ENVELOPE_HEAD - note.checkpoint_n,
            note.checkpoint_n); /* no length before them */
    sealed_n = envelope_seal(sealed, ENVELOPE_WEIGHTS, 1, sealed_n - ENVELOPE_HEAD - 8);
    leaders_set(bus_wire_weights_kind.key, sealed, sealed_n);
    free(sealed);
    free(bytes);
}

TEST(what_an_older_learner_left_is_gone_on_from)
{
    leaders_turn(&a);
    leaders_learn(&a, 2);
    lead_resign(a.lead);
    make_old();
    ck_assert_int_eq(leaders_turn(&b), 0);
    ck_assert(lead_leading(b.lead));
    ck_assert_uint_eq(leaders_counted(&b), 2);
    ck_assert(!dedup_take(b.dedup, 5, 2) && dedup_take(b.dedup, 5, 3));
    struct online_stats s;
    learner_stats(b.learner, &s);
    ck_assert_uint_eq(s.updates, 1); /* and the optimiser's state is there */
    struct dedup_view v = published();
    ck_assert(dedup_view_has(&v, 2) && !dedup_view_has(&v, 3));
}

/* ---- what a follower refuses ---- */

static uint64_t refused(struct leaders *r)
{
    struct cluster_stats s;
    follow_stats(&s, r->follow, leaders_mono);
    return s.weights_refused;
}

TEST(weights_that_do_not_fit_are_refused)
{
    struct leaders wide;
    a_leads_and_b_follows();
    leaders_begin(&wide, "wide", 24);
    ck_assert_int_eq(leaders_turn(&wide), 0);
    ck_assert_uint_eq(refused(&wide), 1);
    ck_assert_uint_eq(leaders_version(&wide), 1);
    /* nor can it go on from them */
    lead_resign(a.lead);
    ck_assert_int_lt(leaders_turn(&wide), 0);
    ck_assert(!lead_leading(wide.lead));
    leaders_end(&wide);

    /* a newer form, and a damaged one: what is at hand goes on */
    ck_assert_int_eq(leaders_turn(&b), 0);
    leaders_learn(&b, 2);
    leaders_turn(&a);
    uint32_t before = leaders_crc(&a);
    size_t n;
    void *bytes = leaders_get(&n, bus_wire_weights_kind.key);
    struct bus_wire_weights note;
    struct err e = {0};
    bytes_put_u16((unsigned char *)bytes + 10, 4);
    ck_assert_int_eq(shared_value_decode(&note, &bus_wire_weights_kind, bytes, n, &e),
                     ERR_RANGE);
    ck_assert_str_eq(
        e.detail,
        "is published weights of form 4; this abrd reads forms 1 to 3: upgrade it");
    leaders_set(bus_wire_weights_kind.key, bytes, n);
    follow_afresh(a.follow);
    ck_assert_int_eq(leaders_turn(&a), 0);
    ck_assert_uint_eq(refused(&a), 1);
    bytes_put_u16((unsigned char *)bytes + 10, 2);
    ((unsigned char *)bytes)[n / 2] ^= 1;
    leaders_set(bus_wire_weights_kind.key, bytes, n);
    follow_afresh(a.follow);
    ck_assert_int_eq(leaders_turn(&a), 0);
    ck_assert_uint_eq(refused(&a), 2);
    ck_assert_uint_eq(leaders_crc(&a), before);
    free(bytes);
}

SUITE_SET_UP(serve_cluster_lead, 60, setup, teardown, one_learns_and_the_other_follows,
             the_next_goes_on_from_the_same_moment, who_was_taken_for_dead_is_refused,
             a_long_update_costs_nobody_the_lead, who_is_stuck_loses_the_lead,
             no_lock_is_held_while_the_bucket_works,
             the_heartbeat_finds_that_another_leads, who_resigns_is_followed_at_once,
             a_bucket_that_is_away_deposes_nobody,
             what_could_not_be_published_is_not_let_go, who_is_set_aside_is_known_to_all,
             a_correction_of_another_forecast_ends_with_its_learner,
             a_correction_is_published_in_a_form_of_its_own, what_was_refused_is_let_go,
             an_operators_order_keeps_what_waits, a_lost_answer_is_no_other_learner,
             a_bucket_that_takes_too_little_is_told_at_once,
             a_damaged_heartbeat_is_written_over,
             a_state_that_may_be_the_published_one_is_not_written_over,
             a_take_over_that_failed_leaves_nothing, a_damaged_dedup_is_done_without,
             a_damaged_state_leaves_the_weights, the_dedup_is_published_as_of_the_state,
             what_an_older_learner_left_is_gone_on_from,
             weights_that_do_not_fit_are_refused);

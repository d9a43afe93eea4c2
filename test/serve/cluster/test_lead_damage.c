/* What a learner does about lost answers, damaged values and those of older ones. */
#include "serve/cluster/lead.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "serve/cluster/cluster_cfg.h"
#include "support/leaders.h"

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

/* The note of the weights that are on the board. */
static struct bus_wire_weights noted(void)
{
    struct bus_wire_weights note;
    void *bytes;
    size_t n;
    uint64_t rev;
    ck_assert_int_eq(leaders_bucket.get(leaders_bucket.self, bus_wire_weights_kind.key,
                                        &bytes, &n, &rev, NULL),
                     0);
    ck_assert_int_eq(shared_value_decode(&note, &bus_wire_weights_kind, bytes, n, NULL),
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

START_TEST(a_damaged_beat_is_written_over)
{
    leaders_turn(&a);
    ck_assert_int_eq(leaders_bucket.set(leaders_bucket.self, bus_wire_heartbeat_kind.key,
                                        "x", 1, NULL),
                     0);
    for (int i = 0; i < 2; i++) {
        leaders_mono += CLUSTER_HEARTBEAT_S;
        leaders_turn(&a);
    }
    struct bus_wire_heartbeat is;
    void *bytes;
    size_t n;
    uint64_t rev;
    ck_assert_int_eq(leaders_bucket.get(leaders_bucket.self, bus_wire_heartbeat_kind.key,
                                        &bytes, &n, &rev, NULL),
                     0);
    ck_assert_int_eq(shared_value_decode(&is, &bus_wire_heartbeat_kind, bytes, n, NULL),
                     0);
    ck_assert_str_eq(is.name, "a");
    ck_assert(lead_leading(a.lead));
    free(bytes);
}
END_TEST

START_TEST(a_state_that_may_be_the_published_one_is_not_written_over)
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
END_TEST

START_TEST(a_take_over_that_failed_leaves_nothing)
{
    leaders_turn(&a);
    leaders_learn(&a, 2);
    ck_assert_int_eq(
        leaders_bucket.set(leaders_bucket.self, "state.2.0.0", "left", 4, NULL), 0);
    ck_assert_int_eq(
        leaders_bucket.set(leaders_bucket.self, "state.2.1.0", "left", 4, NULL), 0);
    lead_resign(a.lead);
    ck_assert_int_eq(leaders_turn(&b), 0); /* term 2 */
    lead_resign(b.lead);
    ck_assert_int_eq(
        leaders_bucket.set(leaders_bucket.self, bus_wire_weights_kind.key, "x", 1, NULL),
        0);
    ck_assert_int_lt(leaders_turn(&a), 0); /* term 3 fails */
    ck_assert_int_eq(
        leaders_bucket.set(leaders_bucket.self, "state.3.0.0", "left", 4, NULL), 0);
    ck_assert_int_eq(
        leaders_bucket.set(leaders_bucket.self, bus_wire_weights_kind.key, NULL, 0, NULL),
        0);
    leaders_mono += 2 * CLUSTER_TAKE_S;
    ck_assert_int_eq(leaders_turn(&b), 0); /* term 4 */
    ck_assert(lead_leading(b.lead));
    ck_assert_int_eq(buckets_count(&leaders_keys, "state.2."), 0);
    ck_assert_int_eq(buckets_count(&leaders_keys, "state.3."), 0);
    ck_assert_int_gt(buckets_count(&leaders_keys, "state.4."), 0);
}
END_TEST

START_TEST(a_damaged_dedup_is_done_without)
{
    leaders_turn(&a);
    leaders_learn(&a, 2);
    lead_resign(a.lead);
    void *bytes, *sealed;
    size_t n, sealed_n;
    uint64_t rev;
    struct bus_wire_weights note;
    ck_assert_int_eq(leaders_bucket.get(leaders_bucket.self, bus_wire_weights_kind.key,
                                        &bytes, &n, &rev, NULL),
                     0);
    ck_assert_int_eq(shared_value_decode(&note, &bus_wire_weights_kind, bytes, n, NULL),
                     0);
    note.dedup = "nonsense";
    note.dedup_n = 8;
    ck_assert_int_eq(
        shared_value_encode(&sealed, &sealed_n, &bus_wire_weights_kind, &note, NULL), 0);
    ck_assert_int_eq(leaders_bucket.set(leaders_bucket.self, bus_wire_weights_kind.key,
                                        sealed, sealed_n, NULL),
                     0);
    free(sealed);
    free(bytes);
    ck_assert_int_eq(leaders_turn(&b), 0);
    ck_assert(lead_leading(b.lead));
    ck_assert_uint_eq(leaders_crc(&b), leaders_crc(&a));
    ck_assert_uint_eq(dedup_position(b.dedup), 2);
    ck_assert_uint_eq(leaders_counted(&b), 0);
}
END_TEST

START_TEST(a_damaged_state_leaves_the_weights)
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
END_TEST

/* What is published of the dedup, as a node reads it. */
static struct dedup_view published(void)
{
    void *bytes;
    size_t n;
    uint64_t rev;
    struct bus_wire_weights note;
    struct dedup_view v;
    ck_assert_int_eq(leaders_bucket.get(leaders_bucket.self, bus_wire_weights_kind.key,
                                        &bytes, &n, &rev, NULL),
                     0);
    ck_assert_int_eq(shared_value_decode(&note, &bus_wire_weights_kind, bytes, n, NULL),
                     0);
    ck_assert_uint_eq(note.position, 2);
    ck_assert_int_eq(dedup_view(&v, 5, note.dedup, note.dedup_n, NULL), 0);
    free(bytes);
    return v;
}

START_TEST(the_dedup_is_published_as_of_the_state)
{
    leaders_turn(&a);
    leaders_learn(&a, 3); /* the third waits for its batch */
    struct dedup_view v = published();
    ck_assert_uint_eq(v.position, 2);
    ck_assert(dedup_view_has(&v, 2) && !dedup_view_has(&v, 3));
    /* other weights, the same state: the dedup that belongs to it */
    ck_assert_int_eq(learner_set_aside(a.learner, PPO_ACTOR, 0, 3, NULL), 0);
    ck_assert_int_eq(learner_turn(a.learner, 0, leaders_mono, NULL), 1);
    v = published();
    ck_assert(dedup_view_has(&v, 2) && !dedup_view_has(&v, 3));
}
END_TEST

/* The board as a learner left it that wrote form 1: the dedup is behind the state. */
static void make_old(void)
{
    void *bytes;
    size_t n;
    uint64_t rev;
    struct bus_wire_weights note;
    ck_assert_int_eq(leaders_bucket.get(leaders_bucket.self, bus_wire_weights_kind.key,
                                        &bytes, &n, &rev, NULL),
                     0);
    ck_assert_int_eq(shared_value_decode(&note, &bus_wire_weights_kind, bytes, n, NULL),
                     0);
    uint64_t old[] = {2, 2, 0, 0, 1, 5, 2, 2, 1, 6, 0, 0, 0};
    char key[64];
    void *state;
    size_t state_n;
    snprintf(key, sizeof key, "state.1.%d.0", note.state_slot);
    ck_assert_int_eq(
        leaders_bucket.get(leaders_bucket.self, key, &state, &state_n, &rev, NULL), 0);
    ck_assert_uint_eq(state_n, ENVELOPE_HEAD + note.state_bytes); /* one piece */
    state = realloc(state, state_n + sizeof old);
    unsigned char *to = (unsigned char *)state + state_n;
    for (size_t i = 0; i < sizeof old / 8; i++)
        bytes_put_u64(to + 8 * i, old[i]);
    note.state_bytes += sizeof old;
    note.state_crc =
        bytes_crc32(0, (unsigned char *)state + ENVELOPE_HEAD, note.state_bytes);
    state_n = envelope_seal(state, ENVELOPE_STATE, 1, note.state_bytes);
    ck_assert_int_eq(leaders_bucket.set(leaders_bucket.self, key, state, state_n, NULL),
                     0);
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
    ck_assert_int_eq(leaders_bucket.set(leaders_bucket.self, bus_wire_weights_kind.key,
                                        sealed, sealed_n, NULL),
                     0);
    free(sealed);
    free(bytes);
}

START_TEST(what_an_older_learner_left_is_gone_on_from)
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
END_TEST

/* ---- what a follower refuses ---- */

static uint64_t refused(struct leaders *r)
{
    struct follow_stats s;
    follow_stats(&s, r->follow, leaders_mono);
    return s.refused;
}

START_TEST(weights_that_do_not_fit_are_refused)
{
    struct leaders wide;
    leaders_turn(&a);
    leaders_turn(&b);
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
    void *bytes;
    size_t n;
    uint64_t rev;
    ck_assert_int_eq(leaders_bucket.get(leaders_bucket.self, bus_wire_weights_kind.key,
                                        &bytes, &n, &rev, NULL),
                     0);
    struct bus_wire_weights note;
    struct err e = {0};
    bytes_put_u16((unsigned char *)bytes + 10, 3);
    ck_assert_int_eq(shared_value_decode(&note, &bus_wire_weights_kind, bytes, n, &e),
                     ERR_RANGE);
    ck_assert_str_eq(
        e.detail,
        "is published weights of form 3; this abrd reads forms 1 to 2: upgrade it");
    ck_assert_int_eq(leaders_bucket.set(leaders_bucket.self, bus_wire_weights_kind.key,
                                        bytes, n, NULL),
                     0);
    follow_afresh(a.follow);
    ck_assert_int_eq(leaders_turn(&a), 0);
    ck_assert_uint_eq(refused(&a), 1);
    bytes_put_u16((unsigned char *)bytes + 10, 2);
    ((unsigned char *)bytes)[n / 2] ^= 1;
    ck_assert_int_eq(leaders_bucket.set(leaders_bucket.self, bus_wire_weights_kind.key,
                                        bytes, n, NULL),
                     0);
    follow_afresh(a.follow);
    ck_assert_int_eq(leaders_turn(&a), 0);
    ck_assert_uint_eq(refused(&a), 2);
    ck_assert_uint_eq(leaders_crc(&a), before);
    free(bytes);
}
END_TEST
Suite *suite_serve_cluster_lead_damage(void);
Suite *suite_serve_cluster_lead_damage(void)
{
    Suite *s = suite_create("serve/lead_damage");
    TCase *t = tcase_create("serve/lead_damage");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_damaged_beat_is_written_over);
    tcase_add_test(t, a_state_that_may_be_the_published_one_is_not_written_over);
    tcase_add_test(t, a_take_over_that_failed_leaves_nothing);
    tcase_add_test(t, a_damaged_dedup_is_done_without);
    tcase_add_test(t, a_damaged_state_leaves_the_weights);
    tcase_add_test(t, the_dedup_is_published_as_of_the_state);
    tcase_add_test(t, what_an_older_learner_left_is_gone_on_from);
    tcase_add_test(t, weights_that_do_not_fit_are_refused);
    suite_add_tcase(s, t);
    return s;
}

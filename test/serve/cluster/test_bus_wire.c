#include "serve/cluster/bus_wire.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "support/suites.h"
#include "support/trajs.h"

static struct traj sent, got;
static unsigned char bytes[BUS_WIRE_TRAJ_MAX];

static void reseal(unsigned char *p, size_t n)
{
    bytes_put_u32(p + 12, bytes_crc32(0, p + ENVELOPE_HEAD, n - ENVELOPE_HEAD));
}

TEST(the_learner_sees_the_same_trajectory)
{
    struct bus_wire_id id;
    for (uint64_t seed = 1; seed < 60; seed++) {
        int levels = 2 + (int)(seed % (VIEW_LEVELS - 1)),
            n = 1 + (int)(seed * 3 % TRAJ_STEPS);
        trajs_make(&sent, seed, levels, n, seed % 2);
        size_t size = bus_wire_put_traj(bytes, &sent, (struct bus_wire_id){9, seed});
        memset(&got, 0xa5, sizeof got);
        struct err e = {0};
        ck_assert_msg(!bus_wire_get_traj(&got, &id, bytes, size, &e), "%s", e.detail);
        ck_assert_uint_eq(id.maker, 9);
        ck_assert_uint_eq(id.number, seed);
        ck_assert(trajs_equal(&sent, &got));
    }
    /* the longest finds room */
    trajs_make(&sent, 1, VIEW_LEVELS, TRAJ_STEPS, true);
    for (int i = 0; i <= VIEW_HISTORY; i++)
        traj_measure(&sent.before, 1, 1);
    size_t size = bus_wire_put_traj(bytes, &sent, (struct bus_wire_id){9, 1});
    ck_assert_uint_le(size, BUS_WIRE_TRAJ_MAX);
    ck_assert_int_eq(bus_wire_get_traj(&got, &id, bytes, size, NULL), 0);
    ck_assert(trajs_equal(&sent, &got));
}

TEST(whose_experts_it_is_for_travels_in_a_form_of_its_own)
{
    struct bus_wire_id id;
    trajs_make(&sent, 5, 6, 10, true);
    size_t size = bus_wire_put_traj(bytes, &sent, (struct bus_wire_id){9, 1});
    ck_assert_uint_eq(bytes_get_u16(bytes + 10), 3);
    sent.tag = 77; /* what a node calls it is nobody else's business */
    sent.added_id = 0x123456789abcdef0;
    size = bus_wire_put_traj(bytes, &sent, (struct bus_wire_id){9, 2});
    ck_assert_uint_eq(bytes_get_u16(bytes + 10), 4);
    memset(&got, 0xa5, sizeof got);
    ck_assert_int_eq(bus_wire_get_traj(&got, &id, bytes, size, NULL), 0);
    ck_assert_uint_eq(got.added_id, sent.added_id);
    ck_assert_uint_eq(got.place, 0);
    ck_assert_uint_eq(id.number, 2);
    ck_assert_int_ge(got.tag, TRAJ_TAG_OWN); /* none of a reward function */
    got.tag = sent.tag;
    ck_assert(trajs_equal(&sent, &got));

    memset(bytes + ENVELOPE_HEAD + 32, 0, 8); /* of nobody: that cannot be */
    reseal(bytes, size);
    ck_assert_int_lt(bus_wire_get_traj(&got, &id, bytes, size, NULL), 0);
}

/* Whoever may teach is bounded by address on the learner, too. */
TEST(the_source_travels_in_a_form_of_its_own)
{
    struct bus_wire_id id;
    for (int added = 0; added < 2; added++) {
        trajs_make(&sent, 5, added ? 20 : 6, 10, true);
        sent.added_id = added ? 77 : 0;
        sent.source = 0xfedcba9876543210;
        size_t size = bus_wire_put_traj(bytes, &sent, (struct bus_wire_id){9, 1});
        ck_assert_uint_eq(bytes_get_u16(bytes + 10), 7 + added);
        memset(&got, 0xa5, sizeof got);
        ck_assert_int_eq(bus_wire_get_traj(&got, &id, bytes, size, NULL), 0);
        ck_assert_uint_eq(got.source, sent.source);
    }
    sent.source = sent.added_id = 0;
    size_t size = bus_wire_put_traj(bytes, &sent, (struct bus_wire_id){9, 1});
    memset(&got, 0xa5, sizeof got);
    ck_assert_int_eq(bus_wire_get_traj(&got, &id, bytes, size, NULL), 0);
    ck_assert_uint_eq(got.source, 0);
}

/* The learner's forecasts are those of the node, which has seen the whole session. */
TEST(a_long_history_travels_in_a_form_of_its_own)
{
    struct bus_wire_id id;
    for (int n = VIEW_HISTORY; n < VIEW_HISTORY + 300; n += 299)
        for (int added = 0; added < 2; added++) {
            trajs_make(&sent, 5, 20, 10, true);
            sent.before = (struct traj_measured){0};
            for (int i = 0; i < n; i++)
                traj_measure(&sent.before, 1000 + 7u * (unsigned)i, 1 + .01 * i);
            sent.added_id = added ? 77 : 0;
            sent.source = 9;
            size_t size = bus_wire_put_traj(bytes, &sent, (struct bus_wire_id){9, 1});
            ck_assert_uint_eq(bytes_get_u16(bytes + 10),
                              (n > VIEW_HISTORY ? 11 : 7) + added);
            memset(&got, 0xa5, sizeof got);
            ck_assert_int_eq(bus_wire_get_traj(&got, &id, bytes, size, NULL), 0);
            got.tag = sent.tag;
            ck_assert(trajs_equal(&sent, &got));
            ck_assert_uint_eq(got.source, 9);
        }
    /* of an older node: the logarithms are those of the listed downloads */
    size_t size = bus_wire_put_traj(bytes, &sent, (struct bus_wire_id){9, 1});
    enum { LOGS = 4 * 8 };
    unsigned char kbit[8], *at;
    struct view_past listed = {0};
    for (int i = 0; i < sent.before.n; i++)
        view_past_add(&listed, view_kbps(sent.before.bytes[i], sent.before.download_s[i]),
                      sent.before.download_s[i]);
    bytes_put_f64(kbit, sent.before.past.low);
    ck_assert((at = memmem(bytes, size, kbit, sizeof kbit)));
    at += sizeof kbit;
    memmove(at, at + LOGS, (size_t)(bytes + size - at) - LOGS);
    size = envelope_seal(bytes, ENVELOPE_TRAJ, 10, size - ENVELOPE_HEAD - LOGS);
    ck_assert_int_eq(bus_wire_get_traj(&got, &id, bytes, size, NULL), 0);
    ck_assert_double_eq(got.before.past.low, sent.before.past.low);
    ck_assert_double_eq(got.before.past.ln_mean, listed.ln_mean);
    ck_assert_double_eq(got.before.past.ln_change, listed.ln_change);
    /* a summary of nothing */
    size = bus_wire_put_traj(bytes, &sent, (struct bus_wire_id){9, 1});
    bytes_put_f64(kbit, sent.before.past.kbit);
    ck_assert((at = memmem(bytes, size, kbit, sizeof kbit)));
    bytes_put_f64(at, 0);
    reseal(bytes, size);
    ck_assert_int_eq(bus_wire_get_traj(&got, &id, bytes, size, NULL), ERR_CORRUPT);
}

/* Nodes and learners of before know 12 levels: what is longer has a form that they refuse as newer. */
TEST(a_long_ladder_travels_in_a_form_of_its_own)
{
    struct bus_wire_id id;
    for (int levels = 12; levels <= VIEW_LEVELS; levels += levels == 12 ? 1 : 19)
        for (int added = 0; added < 2; added++) {
            trajs_make(&sent, 5, levels, 10, true);
            if (added) sent.added_id = 7;
            size_t size = bus_wire_put_traj(bytes, &sent, (struct bus_wire_id){9, 1});
            ck_assert_uint_eq(bytes_get_u16(bytes + 10), (levels > 12 ? 5 : 3) + added);
            memset(&got, 0xa5, sizeof got);
            ck_assert_int_eq(bus_wire_get_traj(&got, &id, bytes, size, NULL), 0);
            got.tag = sent.tag;
            ck_assert(trajs_equal(&sent, &got));
            size = envelope_seal(bytes, ENVELOPE_TRAJ, 3 + added, size - ENVELOPE_HEAD);
            ck_assert_int_eq(bus_wire_get_traj(&got, &id, bytes, size, NULL),
                             levels > 12 ? ERR_CORRUPT : 0);
        }
}

TEST(a_damaged_trajectory_is_refused)
{
    struct bus_wire_id id;
    trajs_make(&sent, 3, 6, 10, true);
    size_t size = bus_wire_put_traj(bytes, &sent, (struct bus_wire_id){9, 1});
    for (size_t n = 0; n < size; n++)
        ck_assert_int_lt(bus_wire_get_traj(&got, &id, bytes, n, NULL), 0);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 0x10;
        ck_assert_int_lt(bus_wire_get_traj(&got, &id, bytes, size, NULL), 0);
        bytes[i] ^= 0x10;
    }
    /* a sound envelope around what cannot be: numbers 0 and 2^64 - 1; NaN where a ladder was */
    memset(bytes + ENVELOPE_HEAD + 8, 0, 8);
    reseal(bytes, size);
    ck_assert_int_eq(bus_wire_get_traj(&got, &id, bytes, size, NULL), ERR_CORRUPT);
    memset(bytes + ENVELOPE_HEAD + 8, 255, 8);
    reseal(bytes, size);
    ck_assert_int_eq(bus_wire_get_traj(&got, &id, bytes, size, NULL), ERR_CORRUPT);
    size = bus_wire_put_traj(bytes, &sent, (struct bus_wire_id){9, 1});
    bytes_put_f64(bytes + ENVELOPE_HEAD + 36, NAN);
    reseal(bytes, size);
    ck_assert_int_eq(bus_wire_get_traj(&got, &id, bytes, size, NULL), ERR_CORRUPT);
    /* a ladder that falls */
    size = bus_wire_put_traj(bytes, &sent, (struct bus_wire_id){9, 1});
    bytes_put_f64(bytes + ENVELOPE_HEAD + 36, 5000);
    reseal(bytes, size);
    ck_assert_int_eq(bus_wire_get_traj(&got, &id, bytes, size, NULL), ERR_CORRUPT);
}

/* A state that nothing led to or followed: what was made so teaches nothing, and would end the
 * learner that reads it. */
TEST(a_trajectory_without_a_step_is_refused)
{
    enum { N_AT = ENVELOPE_HEAD + 34, OUTCOME = 4 + 8 + 8, STATE = 26 + 4 * 6 };
    struct bus_wire_id id;
    struct err e = {0};
    trajs_make(&sent, 3, 6, 1, true);
    size_t size = bus_wire_put_traj(bytes, &sent, (struct bus_wire_id){9, 1});
    ck_assert_uint_eq(bytes[N_AT], 1);
    /* the first step without its outcome is the state that the critic is asked about */
    bytes[N_AT] = 0;
    size_t body = size - ENVELOPE_HEAD - STATE - OUTCOME;
    size = envelope_seal(bytes, ENVELOPE_TRAJ, 1, body);
    ck_assert_int_eq(bus_wire_get_traj(&got, &id, bytes, size, &e), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(e.detail, "numbers"));
}

TEST(a_newer_form_and_another_kind_are_told)
{
    struct bus_wire_id id;
    struct err e = {0};
    trajs_make(&sent, 3, 6, 10, true);
    size_t size = bus_wire_put_traj(bytes, &sent, (struct bus_wire_id){9, 1});
    bytes_put_u16(bytes + 10, 13);
    ck_assert_int_eq(bus_wire_get_traj(&got, &id, bytes, size, &e), ERR_RANGE);
    ck_assert_str_eq(
        e.detail,
        "is a trajectory of form 13; this abrd reads forms 1 to 12: upgrade it");

    struct bus_wire_heartbeat b;
    e = (struct err){0};
    ck_assert_int_eq(shared_value_decode(&b, &bus_wire_heartbeat_kind, bytes, size, &e),
                     ERR_INVALID);
    ck_assert_str_eq(e.detail, "is a trajectory, not a learner's heartbeat");
    bytes_put_u16(bytes + 8, 300);
    e = (struct err){0};
    ck_assert_int_eq(bus_wire_get_traj(&got, &id, bytes, size, &e), ERR_INVALID);
    ck_assert_str_eq(e.detail, "is something newer, not a trajectory");
}

TEST(weights_bring_their_note)
{
    struct bus_wire_weights w = {.term = 4,
                                 .version = 77,
                                 .position = 1000,
                                 .published_at = 5.5,
                                 .check_score = NAN,
                                 .state_bytes = 12,
                                 .state_crc = 13,
                                 .state_parts = 2,
                                 .state_slot = 1,
                                 .dedup = "dedup!",
                                 .dedup_n = 6,
                                 .checkpoint = "weights",
                                 .checkpoint_n = 7},
                            r;
    void *out;
    size_t n;
    ck_assert_int_eq(shared_value_encode(&out, &n, &bus_wire_weights_kind, &w, NULL), 0);
    ck_assert_int_eq(shared_value_decode(&r, &bus_wire_weights_kind, out, n, NULL), 0);
    ck_assert_uint_eq(r.checkpoint_n, 7);
    ck_assert_mem_eq(r.checkpoint, "weights", 7);
    ck_assert_uint_eq(r.term, 4);
    ck_assert_uint_eq(r.version, 77);
    ck_assert_uint_eq(r.position, 1000);
    ck_assert_double_eq(r.published_at, 5.5);
    ck_assert(isnan(r.check_score));
    ck_assert_uint_eq(r.state_bytes, 12);
    ck_assert_uint_eq(r.state_crc, 13);
    ck_assert_int_eq(r.state_parts, 2);
    ck_assert_int_eq(r.state_slot, 1);
    ck_assert_uint_eq(r.dedup_n, 6);
    ck_assert_mem_eq(r.dedup, "dedup!", 6);

    ck_assert(!r.has_input);
    ck_assert_uint_eq(bytes_get_u16((unsigned char *)out + 10), 2);

    struct err e = {0};
    bytes_put_u16((unsigned char *)out + 10, 9);
    ck_assert_int_eq(shared_value_decode(&r, &bus_wire_weights_kind, out, n, &e),
                     ERR_RANGE);
    ck_assert_str_eq(
        e.detail,
        "is published weights of form 9; this abrd reads forms 1 to 3: upgrade it");

    /* a dedup longer than all there is */
    bytes_put_u16((unsigned char *)out + 10, 2);
    bytes_put_u64((unsigned char *)out + ENVELOPE_HEAD + 61, n);
    reseal(out, n);
    ck_assert_int_eq(shared_value_decode(&r, &bus_wire_weights_kind, out, n, NULL),
                     ERR_CORRUPT);

    /* form 1 had none: the weights follow on the note */
    memmove((unsigned char *)out + ENVELOPE_HEAD + 61,
            (unsigned char *)out + ENVELOPE_HEAD + 61 + 8 + 6, 7);
    size_t old = envelope_seal(out, ENVELOPE_WEIGHTS, 1, 61 + 7);
    ck_assert_int_eq(shared_value_decode(&r, &bus_wire_weights_kind, out, old, NULL), 0);
    ck_assert_uint_eq(r.version, 77);
    ck_assert_ptr_null(r.dedup);
    ck_assert_uint_eq(r.checkpoint_n, 7);
    ck_assert_mem_eq(r.checkpoint, "weights", 7);
    free(out);
    w.term = 0;
    ck_assert_int_eq(shared_value_encode(&out, &n, &bus_wire_weights_kind, &w, NULL),
                     ERR_CORRUPT);
    ck_assert_ptr_null(out);
}

/* Of a policy with an input: a program from before it refuses them as newer. */
TEST(weights_with_an_input_have_a_form_of_their_own)
{
    struct bus_wire_weights r, w = {.term = 4,
                                    .version = 77,
                                    .checkpoint = "weights",
                                    .checkpoint_n = 7,
                                    .has_input = true};
    struct shared_value_kind older = bus_wire_weights_kind;
    struct err e = {0};
    void *out;
    size_t n;
    older.form = 2;
    ck_assert_int_eq(shared_value_encode(&out, &n, &bus_wire_weights_kind, &w, NULL), 0);
    ck_assert_int_eq(shared_value_decode(&r, &bus_wire_weights_kind, out, n, NULL), 0);
    ck_assert(r.has_input);
    ck_assert_mem_eq(r.checkpoint, "weights", 7);
    ck_assert_int_eq(shared_value_decode(&r, &older, out, n, &e), ERR_RANGE);
    ck_assert_str_eq(
        e.detail,
        "is published weights of form 3; this abrd reads forms 1 to 2: upgrade it");
    free(out);
}

TEST(what_is_common_comes_back)
{
    static struct bus_wire_common c, r;
    c.has_explore = true;
    c.explore_share = .25;
    c.n = 2;
    c.profile[0] = (struct profile){.name = "sport", .qoe = qoe_of_mu(2, 1, 3, QOE_LOG)};
    c.profile[1] =
        (struct profile){.name = "kids", .qoe = qoe_of_mu(1, 1, 1, QOE_LINEAR)};
    void *out;
    size_t n;
    ck_assert_int_eq(shared_value_encode(&out, &n, &bus_wire_common_kind, &c, NULL), 0);
    ck_assert_int_eq(shared_value_decode(&r, &bus_wire_common_kind, out, n, NULL), 0);
    ck_assert(r.has_explore);
    ck_assert_double_eq(r.explore_share, .25);
    ck_assert_int_eq(r.n, 2);
    ck_assert_str_eq(r.profile[0].name, "sport");
    ck_assert_double_eq(r.profile[0].qoe.mu_stall, 3);
    ck_assert_int_eq(r.profile[0].qoe.utility, QOE_LOG);
    ck_assert_str_eq(r.profile[1].name, "kids");
    /* names are names */
    static const char *const bad[] = {"", "Sport", "a b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        strcpy(c.profile[1].name, bad[i]);
        void *other;
        size_t m;
        ck_assert_int_eq(shared_value_encode(&other, &m, &bus_wire_common_kind, &c, NULL),
                         0);
        ck_assert_int_eq(shared_value_decode(&r, &bus_wire_common_kind, other, m, NULL),
                         ERR_CORRUPT);
        free(other);
    }
    free(out);
}

TEST(a_heartbeat_comes_back)
{
    struct bus_wire_heartbeat b = {1, 2, 3, 4, 5, true, "learner-1"}, r;
    void *out;
    size_t n;
    ck_assert_int_eq(shared_value_encode(&out, &n, &bus_wire_heartbeat_kind, &b, NULL),
                     0);
    ck_assert_int_eq(shared_value_decode(&r, &bus_wire_heartbeat_kind, out, n, NULL), 0);
    ck_assert_uint_eq(r.term, 1);
    ck_assert_uint_eq(r.count, 2);
    ck_assert_uint_eq(r.version, 3);
    ck_assert_uint_eq(r.weights_rev, 4);
    ck_assert_uint_eq(r.common_rev, 5);
    ck_assert(r.over);
    ck_assert_str_eq(r.name, "learner-1");
    free(out);
}

TEST(profiles_travel_with_their_own_ceilings)
{
    static struct bus_wire_common c, back;
    c.n = 3;
    c.profile[0] = (struct profile){.name = "a",
                                    .qoe = qoe_of_weights((double[]){1, 2, 3, 4}),
                                    .own_startup_max_s = true};
    c.profile[0].qoe.startup_max_s = 1.5;
    c.profile[0].qoe.stall_ratio_max = .04; /* of this node's settings */
    c.profile[1] =
        (struct profile){.name = "sports", .qoe = qoe_of_mu(3, 1, 3, QOE_LINEAR)};
    c.profile[2] = (struct profile){.name = "sports-own", .qoe = *qoe_standard()};
    void *out;
    size_t n;
    ck_assert_int_eq(shared_value_encode(&out, &n, &bus_wire_common_kind, &c, NULL), 0);
    ck_assert_int_eq(shared_value_decode(&back, &bus_wire_common_kind, out, n, NULL), 0);
    ck_assert(qoe_same_weights(&back.profile[0].qoe, &c.profile[0].qoe));
    ck_assert(back.profile[0].own_startup_max_s && !back.profile[0].own_stall_ratio_max);
    ck_assert_double_eq(back.profile[0].qoe.startup_max_s, 1.5);
    ck_assert_double_eq(back.profile[0].qoe.stall_ratio_max, 0);
    /* a name that is built in by now */
    ck_assert_str_eq(back.profile[1].name, "sports-own2");
    ck_assert_double_eq(back.profile[1].qoe.mu_quality, 3);
    ck_assert_str_eq(back.profile[2].name, "sports-own");
    free(out);
}

SUITE(serve_cluster_bus_wire, the_learner_sees_the_same_trajectory,
      a_long_ladder_travels_in_a_form_of_its_own, profiles_travel_with_their_own_ceilings,
      whose_experts_it_is_for_travels_in_a_form_of_its_own,
      the_source_travels_in_a_form_of_its_own,
      a_long_history_travels_in_a_form_of_its_own, a_damaged_trajectory_is_refused,
      a_trajectory_without_a_step_is_refused, a_newer_form_and_another_kind_are_told,
      weights_bring_their_note, weights_with_an_input_have_a_form_of_their_own,
      what_is_common_comes_back, a_heartbeat_comes_back);

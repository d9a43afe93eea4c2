#include "serve/cluster/follow.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abr/deciders/forecast_own.h"
#include "abr/emulator/feat.h"
#include "learn/ckpt.h"
#include "support/buckets.h"
#include "support/capture.h"
#include "support/suites.h"

static struct buckets keys;
static struct bucket bucket;
static struct follow *f;
static struct bus_wire_common common;
static int commons, common_fails, taken_input;
static struct log said;

static int take_weights(void *ctx, struct policy *p, const struct bus_wire_weights *note,
                        struct err *e)
{
    (void)ctx;
    (void)note;
    (void)e;
    taken_input = p->input_n;
    policy_free(p);
    return 0;
}

static int take_common(void *ctx, const struct bus_wire_common *c, uint64_t rev,
                       struct err *e)
{
    (void)ctx;
    ck_assert_uint_eq(rev, buckets_rev(&keys, bus_wire_common_kind.key));
    common = *c;
    commons++;
    return common_fails-- > 0 ? err_set(e, ERR_IO, "the store is full") : 0;
}

static void setup(void)
{
    commons = common_fails = 0;
    bucket = buckets_open(&keys);
    struct follow_cfg cfg = {.bucket = bucket,
                             .shape = policy_cfg_default(FEAT_FULL_DIM),
                             .weights = take_weights,
                             .common = take_common,
                             .log = &said};
    said = log_init(STDERR_FILENO, LOG_WARN, false);
    f = follow_new(&cfg, NULL);
    ck_assert_ptr_nonnull(f);
}

static void teardown(void)
{
    follow_free(f);
    buckets_free(&keys);
}

static int turn(double mono)
{
    struct shared_value *v[FOLLOW_VALUES];
    follow_values(v, f);
    return shared_value_turn(v, FOLLOW_VALUES, false, mono, 0, NULL);
}

static void write_heartbeat(uint64_t count)
{
    void *bytes;
    size_t n;
    struct bus_wire_heartbeat b = {.term = 1, .count = count, .name = "somebody"};
    ck_assert_int_eq(shared_value_encode(&bytes, &n, &bus_wire_heartbeat_kind, &b, NULL),
                     0);
    ck_assert_int_eq(bucket.set(bucket.self, bus_wire_heartbeat_kind.key, bytes, n, NULL),
                     0);
    free(bytes);
}

static double silent(double mono)
{
    struct bus_wire_heartbeat b;
    uint64_t rev;
    double s;
    ck_assert(follow_heartbeat(&b, &rev, &s, f, mono));
    ck_assert_str_eq(b.name, "somebody");
    return s;
}

TEST(silence_counts_while_the_bucket_answers)
{
    write_heartbeat(1);
    ck_assert_int_eq(turn(10), 0);
    ck_assert_int_eq(turn(12), 0);
    ck_assert_double_eq(silent(12), 2);
    write_heartbeat(2);
    ck_assert_int_eq(turn(13), 0);
    ck_assert_double_eq(silent(13), 0);
    keys.away = true;
    ck_assert_int_eq(turn(20), ERR_IO);
    keys.away = false;
    ck_assert_int_eq(turn(30), 0);
    ck_assert_double_eq(silent(31), 1);
}

TEST(a_bucket_without_a_heartbeat_is_silence)
{
    struct cluster_stats s;
    follow_stats(&s, f, 5);
    ck_assert_double_eq(s.learner_silent_s, 0); /* no bucket has answered yet */
    ck_assert_int_eq(turn(10), 0);
    ck_assert_int_eq(turn(50), 0);
    follow_stats(&s, f, 50);
    ck_assert_double_eq(s.learner_silent_s, 40);
    write_heartbeat(1);
    ck_assert_int_eq(turn(60), 0);
    follow_stats(&s, f, 61);
    ck_assert_double_eq(s.learner_silent_s, 1);
}

TEST(a_damaged_heartbeat_is_silence)
{
    write_heartbeat(1);
    ck_assert_int_eq(turn(10), 0);
    ck_assert_int_eq(bucket.set(bucket.self, bus_wire_heartbeat_kind.key, "x", 1, NULL),
                     0);
    ck_assert_int_eq(turn(12), 0);
    ck_assert_double_eq(silent(12), 2);
    struct bus_wire_heartbeat b;
    uint64_t rev;
    double s;
    ck_assert(follow_heartbeat(&b, &rev, &s, f, 12));
    ck_assert_uint_eq(
        rev, buckets_rev(&keys, bus_wire_heartbeat_kind.key)); /* for who takes over */
    write_heartbeat(2);
    ck_assert_int_eq(turn(13), 0);
    ck_assert_double_eq(silent(13), 0);
}

TEST(what_is_common_is_fetched_when_it_changes)
{
    static struct bus_wire_common c = {.has_explore = true, .explore_share = .5};
    void *bytes;
    size_t n;
    ck_assert_int_eq(shared_value_encode(&bytes, &n, &bus_wire_common_kind, &c, NULL), 0);
    ck_assert_int_eq(bucket.set(bucket.self, bus_wire_common_kind.key, bytes, n, NULL),
                     0);
    ck_assert_int_eq(turn(10), 0);
    ck_assert_int_eq(commons, 1);
    ck_assert_double_eq(common.explore_share, .5);
    follow_called(f);
    ck_assert_int_eq(turn(10), 0);
    ck_assert_int_eq(commons, 1); /* it is the same */
    ck_assert_int_eq(bucket.set(bucket.self, bus_wire_common_kind.key, bytes, n, NULL),
                     0);
    follow_called(f);
    ck_assert_int_eq(turn(10), 0);
    ck_assert_int_eq(commons, 2);
    /* what could not be taken is tried again */
    ck_assert_int_eq(bucket.set(bucket.self, bus_wire_common_kind.key, bytes, n, NULL),
                     0);
    common_fails = 1;
    for (int i = 0; i < 3; i++) {
        follow_called(f);
        ck_assert_int_eq(turn(10), 0);
    }
    ck_assert_int_eq(commons, 4);
    /* what cannot be read changes nothing */
    ck_assert_int_eq(bucket.set(bucket.self, bus_wire_common_kind.key, "x", 1, NULL), 0);
    follow_called(f);
    ck_assert_int_eq(turn(10), 0);
    ck_assert_int_eq(commons, 4);
    free(bytes);
}

TEST(what_are_no_weights_is_refused)
{
    struct cluster_stats s;
    ck_assert_int_eq(
        bucket.set(bucket.self, bus_wire_weights_kind.key, "nothing", 7, NULL), 0);
    ck_assert_int_eq(turn(10), 0);
    follow_stats(&s, f, 10);
    ck_assert_uint_eq(s.weights_refused, 1);
    ck_assert_uint_eq(s.weights_taken, 0);
}

/* Publishes a version with a correction of this forecast, and takes it. Returns what the log says. */
static char *take_corrected(uint64_t version, uint32_t of, double mono)
{
    static const float weights[FORECAST_OWN] = {1};
    struct policy_cfg cfg = policy_cfg_default(FEAT_FULL_DIM);
    struct policy *p = policy_new(&cfg, NULL);
    p->version = version;
    policy_copy_input(p, weights, FORECAST_OWN);
    p->input_of = of;
    void *ckpt, *bytes;
    size_t n;
    struct bus_wire_weights w = {.term = 1, .version = version, .has_input = true};
    ck_assert_int_eq(ckpt_encode(&ckpt, &w.checkpoint_n, p, NULL, NULL, 0, NULL), 0);
    w.checkpoint = ckpt;
    ck_assert_int_eq(shared_value_encode(&bytes, &n, &bus_wire_weights_kind, &w, NULL),
                     0);
    ck_assert_int_eq(bucket.set(bucket.self, bus_wire_weights_kind.key, bytes, n, NULL),
                     0);
    free(bytes);
    free(ckpt);
    policy_free(p);
    struct shared_value *v[FOLLOW_VALUES];
    follow_values(v, f);
    shared_value_renew(v[1]);
    capture_begin(STDERR_FILENO);
    ck_assert_int_eq(turn(mono), 0);
    return capture_end();
}

TEST(a_correction_of_another_forecast_is_dropped)
{
    const struct {
        uint32_t of;
        int input;
        bool says;
    } rows[] = {{forecast_crc32(), FORECAST_OWN, false},
                {0, 0, true}, /* of an older learner */
                {forecast_crc32() + 1, 0, false},
                {forecast_crc32(), FORECAST_OWN, false},
                {forecast_crc32() + 1, 0, true}};
    struct cluster_stats s;
    for (int i = 0; i < 5; i++) {
        char *text = take_corrected((uint64_t)i + 1, rows[i].of, i + 1);
        ck_assert_int_eq(taken_input, rows[i].input);
        ck_assert_msg(!!strstr(text, "correction of the published weights") ==
                          rows[i].says,
                      "%d: %s", i, text);
        free(text);
    }
    follow_stats(&s, f, 10);
    ck_assert_uint_eq(s.weights_taken, 5);
    ck_assert_uint_eq(s.weights_refused, 0);
}

SUITE_SET_UP(serve_cluster_follow, 0, setup, teardown,
             silence_counts_while_the_bucket_answers,
             a_bucket_without_a_heartbeat_is_silence, a_damaged_heartbeat_is_silence,
             what_is_common_is_fetched_when_it_changes, what_are_no_weights_is_refused,
             a_correction_of_another_forecast_is_dropped);

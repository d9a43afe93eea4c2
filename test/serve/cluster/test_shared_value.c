#include "serve/cluster/shared_value.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "support/buckets.h"
#include "support/capture.h"
#include "support/suites.h"

/* A value of our own; 0 is invalid. */
struct number {
    uint64_t n;
};

static size_t room(const void *value)
{
    (void)value;
    return 8;
}

static void pass(struct pack *p, void *value, int form)
{
    struct number *v = value;
    (void)form;
    pack_u64(p, &v->n);
    p->ok = p->ok && v->n > 0;
}

static const struct shared_value_kind KIND = {.key = "number",
                                              .envelope = ENVELOPE_STATE,
                                              .form = 2,
                                              .size = 8,
                                              .room = room,
                                              .pass = pass};

static struct buckets keys;
static struct bucket bucket;
static struct log said;
static struct number one, two;
static struct shared_value a, b;
static struct shared_value *const both[] = {&a, &b};
static int takes, unanswered, answer; /* answer: what take returns */
static enum shared_value_due due;

static int take(void *ctx, struct shared_value *v, const struct err *wrong, struct err *e)
{
    (void)ctx;
    takes++;
    if (wrong) {
        shared_value_refuse(v, &said, "test", "the number is refused", wrong);
        return 0;
    }
    return answer < 0 ? err_set(e, answer, "as the test wants") : answer;
}

static void on_unanswered(void *ctx)
{
    (void)ctx;
    unanswered++;
}

static enum shared_value_due is_due(void *ctx, struct shared_value *v)
{
    (void)ctx;
    (void)v;
    return due;
}

static void setup(void)
{
    bucket = buckets_open(&keys);
    said = log_init(STDERR_FILENO, LOG_ERROR, false);
    takes = unanswered = answer = 0;
    due = SHARED_VALUE_BY_TIME;
    a = (struct shared_value){.kind = &KIND,
                              .bucket = bucket,
                              .value = &one,
                              .every_s = 10,
                              .take = take,
                              .due = is_due,
                              .unanswered = on_unanswered};
    b = (struct shared_value){
        .kind = &KIND, .bucket = bucket, .value = &two, .every_s = 10, .take = take};
    shared_value_init(&a);
    shared_value_init(&b);
}

static void teardown(void)
{
    buckets_free(&keys);
}

static uint64_t put(uint64_t n)
{
    uint64_t rev = buckets_rev(&keys, "number");
    struct number v = {n};
    ck_assert_int_eq(shared_value_put(&rev, &v, &KIND, &bucket, NULL, NULL), 0);
    return rev;
}

static void damage(void)
{
    ck_assert_int_eq(bucket.set(bucket.self, "number", "x", 1, NULL), 0);
}

/* Of the first value alone: what the turn returns. */
static int turn(double mono)
{
    return shared_value_turn(both, 1, false, mono, 0, NULL);
}

TEST(a_value_comes_back_or_is_refused)
{
    static const struct {
        uint64_t n;
        int form, rc;
    } row[] = {{7, 1, 0}, {7, 2, 0}, {7, 3, ERR_RANGE}, {0, 2, ERR_CORRUPT}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        unsigned char bytes[ENVELOPE_HEAD + 8];
        bytes_put_u64(bytes + ENVELOPE_HEAD, row[i].n);
        size_t n = envelope_seal(bytes, ENVELOPE_STATE, row[i].form, 8);
        struct number v = {99};
        ck_assert_int_eq(shared_value_decode(&v, &KIND, bytes, n, NULL), row[i].rc);
        ck_assert_uint_eq(v.n, row[i].rc ? 0 : row[i].n);
    }
    struct number none = {0}, v;
    void *bytes;
    size_t n;
    ck_assert_int_eq(shared_value_encode(&bytes, &n, &KIND, &none, NULL), ERR_CORRUPT);
    ck_assert_ptr_null(bytes);
    /* there is none; one that is damaged has a revision all the same */
    uint64_t rev = 5;
    ck_assert_int_eq(shared_value_get(&v, &bytes, &rev, &KIND, &bucket, NULL, NULL), 0);
    ck_assert(rev == 0 && bytes == NULL && v.n == 0);
    damage();
    ck_assert_int_lt(shared_value_get(&v, &bytes, &rev, &KIND, &bucket, NULL, NULL), 0);
    ck_assert_uint_eq(rev, buckets_rev(&keys, "number"));
    ck_assert_ptr_null(bytes);
}

/* ---- compare-and-swap ---- */

static int rivals; /* so many puts of other processes come between reading and putting */
static int changes;

static int add_one(void *ctx, void *value, bool there, struct err *e)
{
    struct number *v = value;
    const int *how = ctx;
    changes++;
    ck_assert_int_eq(there, v->n != 0);
    if (rivals-- > 0) put(v->n + 100);
    v->n++;
    return *how < 0 ? err_set(e, *how, "not this one") : *how;
}

TEST(a_change_starts_again_when_another_process_was_faster)
{
    static const struct {
        int rivals, how, rc, changes;
        uint64_t n;
    } row[] = {{0, 1, 0, 1, 1},
               {3, 1, 0, 4, 301},
               {SHARED_VALUE_TRIES, 1, ERR_CONFLICT, SHARED_VALUE_TRIES, 800},
               {0, 0, 0, 1, 0},
               {0, ERR_FULL, ERR_FULL, 1, 0}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct number v;
        uint64_t rev;
        int how = row[i].how;
        (void)bucket.set(bucket.self, "number", NULL, 0, NULL);
        rivals = row[i].rivals;
        changes = 0;
        ck_assert_int_eq(
            shared_value_change(&v, &rev, &KIND, &bucket, add_one, &how, NULL),
            row[i].rc);
        ck_assert_int_eq(changes, row[i].changes);
        ck_assert_int_eq(shared_value_get(&v, NULL, &rev, &KIND, &bucket, NULL, NULL), 0);
        ck_assert_uint_eq(v.n, row[i].n);
    }
    keys.away = true;
    struct number v;
    uint64_t rev;
    int how = 1;
    ck_assert_int_eq(shared_value_change(&v, &rev, &KIND, &bucket, add_one, &how, NULL),
                     ERR_IO);
}

/* ---- turns ---- */

TEST(a_revision_is_taken_once)
{
    put(1);
    ck_assert_int_eq(turn(100), 0);
    ck_assert_int_eq(takes, 1);
    ck_assert_uint_eq(one.n, 1);
    ck_assert_int_eq(turn(200), 0); /* the same revision */
    ck_assert_int_eq(takes, 1);
    put(2);
    ck_assert_int_eq(turn(205), 0); /* not due */
    ck_assert_int_eq(takes, 1);
    shared_value_called(&a);
    ck_assert_int_eq(turn(205), 0);
    ck_assert_int_eq(takes, 2);
    due = SHARED_VALUE_DUE;
    put(3);
    ck_assert_int_eq(turn(206), 0);
    ck_assert_int_eq(takes, 3);
    due = SHARED_VALUE_IDLE;
    put(4);
    ck_assert_int_eq(turn(900), 0);
    ck_assert_int_eq(takes, 3);
    due = SHARED_VALUE_BY_TIME;
    ck_assert_int_eq(turn(900), 0);
    shared_value_renew(&a); /* the same one again */
    ck_assert_int_eq(turn(901), 0);
    ck_assert_int_eq(takes, 5);
    ck_assert_int_eq(turn(950), 0);
    ck_assert_int_eq(takes, 5);
    /* a leader has its own */
    a.followers_only = true;
    put(5);
    ck_assert_int_eq(shared_value_turn(both, 1, true, 1000, 0, NULL), 0);
    ck_assert_int_eq(takes, 5);
}

TEST(what_cannot_be_used_now_is_tried_again)
{
    put(1);
    answer = 1; /* later */
    for (int i = 1; i < 4; i++) {
        ck_assert_int_eq(turn(100 * i), 0);
        ck_assert_int_eq(takes, i);
    }
    answer = ERR_CONFLICT; /* read again at once, but not for ever */
    ck_assert_int_eq(turn(1000), ERR_CONFLICT);
    ck_assert_int_eq(takes, 3 + SHARED_VALUE_TRIES);
    answer = 0;
    ck_assert_int_eq(turn(1000), 0); /* an error does not wait for the next time */
    ck_assert_int_eq(takes, 4 + SHARED_VALUE_TRIES);
}

TEST(a_revision_is_refused_once)
{
    capture_begin(STDERR_FILENO);
    for (int i = 1; i < 5; i++) {
        if (i != 3) damage();
        for (int k = 0; k < 3; k++) {
            ck_assert_int_eq(turn(1000 * i + 100 * k), 0);
            shared_value_renew(&a);
        }
        ck_assert_uint_eq(atomic_load(&a.refused), i < 3 ? i : i - 1);
    }
    char *text = capture_end();
    int lines = 0;
    for (const char *at = text; (at = strstr(at, "the number is refused")); at++)
        lines++;
    free(text);
    ck_assert_int_eq(lines, 3);
}

TEST(a_bucket_that_does_not_answer_ends_the_turn)
{
    put(1);
    keys.away = true;
    b.unanswered = on_unanswered;
    ck_assert_int_eq(shared_value_turn(both, 2, false, 100, 0, NULL), ERR_IO);
    ck_assert_int_eq(unanswered, 1); /* the second one is not read */
    ck_assert_int_eq(takes, 0);
    keys.away = false;
    /* another error does not keep the second one from being read */
    answer = ERR_RANGE;
    struct err e = {0};
    ck_assert_int_eq(shared_value_turn(both, 2, false, 100, 0, &e), ERR_RANGE);
    ck_assert_str_eq(e.detail, "as the test wants");
    ck_assert_int_eq(takes, 2);
    ck_assert_int_eq(unanswered, 1);
}

SUITE_SET_UP(serve_cluster_shared_value, 0, setup, teardown,
             a_value_comes_back_or_is_refused,
             a_change_starts_again_when_another_process_was_faster,
             a_revision_is_taken_once, what_cannot_be_used_now_is_tried_again,
             a_revision_is_refused_once, a_bucket_that_does_not_answer_ends_the_turn);

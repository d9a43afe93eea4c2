#include "serve/cluster/dedup.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "support/suites.h"

static struct dedup *l;

static void setup(void)
{
    l = dedup_new(NULL);
    ck_assert_ptr_nonnull(l);
}

static void teardown(void)
{
    dedup_free(l);
}

static struct dedup_stats stats(void)
{
    struct dedup_stats s;
    dedup_stats(&s, l);
    return s;
}

TEST(each_number_counts_once)
{
    ck_assert(dedup_take(l, 1, 1));
    ck_assert(!dedup_take(l, 1, 1));
    ck_assert(dedup_take(l, 1, 3));
    ck_assert_uint_eq(stats().missing, 1);
    ck_assert(dedup_take(l, 1, 2));
    ck_assert(!dedup_take(l, 1, 2) && !dedup_take(l, 1, 3));
    ck_assert(dedup_take(l, 2, 1));
    struct dedup_stats s = stats();
    ck_assert_uint_eq(s.counted, 4);
    ck_assert_uint_eq(s.repeated, 3);
    ck_assert_uint_eq(s.missing, 0);
    ck_assert_int_eq(s.makers, 2);
}

/* A maker as outbox.h promises it: number n is sent when n - WINDOW and all before are done with;
 * within that anything happens: other orders, repeats at once and much later. */
TEST(whatever_the_order_and_the_repeats)
{
    enum { N = 40000 };
    static bool arrived[N + 1];
    static int taken[N + 1];
    uint64_t first = 1, at = 0;
    while (first <= N) {
        uint64_t r = rng_u64_at(5, 6, at++), n;
        if (r % 7 == 0)
            n = 1 + (r >> 8) % first; /* long ago */
        else
            n = first + (r >> 8) % DEDUP_WINDOW;
        if (n > N) n = first;
        if (r % 7 == 0 && !arrived[n]) continue;
        taken[n] += dedup_take(l, 42, n);
        arrived[n] = true;
        ck_assert_int_eq(taken[n], 1);
        while (first <= N && arrived[first])
            first++;
        if (at % 1000 == 0) { /* and the learner changes hands */
            size_t size = dedup_state_size(l);
            void *state = malloc(size);
            dedup_state_get(l, state);
            dedup_clear(l);
            ck_assert_int_eq(dedup_state_put(l, DEDUP_FORM, state, size, NULL), 0);
            free(state);
        }
    }
    ck_assert_uint_eq(stats().counted, N);
    ck_assert_uint_eq(stats().missing, 0);
    ck_assert_uint_gt(stats().repeated, N / 7);
}

TEST(the_longest_silent_maker_is_forgotten)
{
    for (uint64_t m = 1; m <= DEDUP_MAKERS; m++) {
        dedup_advance(l, m);
        ck_assert(dedup_take(l, m, 1));
    }
    dedup_advance(l, DEDUP_MAKERS + 1);
    ck_assert(!dedup_take(l, 1, 1)); /* heard again */
    ck_assert(dedup_take(l, 999999, 1));
    ck_assert_int_eq(stats().makers, DEDUP_MAKERS);
    ck_assert(!dedup_take(l, 1, 1));
    ck_assert(dedup_take(l, 2, 1)); /* this one was the longest silent */
}

TEST(a_damaged_state_leaves_it_empty)
{
    dedup_take(l, 1, 5);
    dedup_advance(l, 9);
    size_t size = dedup_state_size(l);
    unsigned char *state = malloc(size);
    dedup_state_get(l, state);
    for (size_t n = 0; n < size; n++) {
        ck_assert_int_eq(dedup_state_put(l, DEDUP_FORM, state, n, NULL), ERR_CORRUPT);
        ck_assert_uint_eq(stats().counted, 0);
        ck_assert_uint_eq(dedup_position(l), 0);
    }
    ck_assert_int_eq(dedup_state_put(l, DEDUP_FORM, state, size, NULL), 0);
    ck_assert_uint_eq(dedup_position(l), 9);
    ck_assert(!dedup_take(l, 1, 5));

    /* numbers that are too near to the last one there is */
    bytes_put_u64(state + size - 33, ((uint64_t)1 << 63) + 5); /* highest */
    bytes_put_u64(state + size - 9, (uint64_t)1 << 63);        /* low */
    ck_assert_int_eq(dedup_state_put(l, DEDUP_FORM, state, size, NULL), ERR_CORRUPT);
    free(state);
}

/* What a maker reads is what the dedup would say, for numbers before, within and behind it. */
TEST(a_maker_reads_what_has_arrived)
{
    static bool arrived[3 * DEDUP_WINDOW];
    dedup_take(l, 41, 1);
    for (uint64_t i = 0; i < DEDUP_WINDOW - 100; i++) { /* some hundred are missing */
        uint64_t n = 1 + i + rng_u64_at(3, 4, i) % 40;
        if (n % 17 == 5) continue;
        dedup_take(l, 42, n);
        arrived[n] = true;
    }
    dedup_advance(l, 777);
    size_t size = dedup_state_size(l);
    unsigned char *state = malloc(size);
    dedup_state_get(l, state);
    struct dedup_view v;
    ck_assert_int_eq(dedup_view(&v, 42, state, size, NULL), 0);
    ck_assert_uint_eq(v.position, 777);
    int missing = 0;
    for (uint64_t n = 1; n < 3 * DEDUP_WINDOW; n++) {
        ck_assert_int_eq(dedup_view_has(&v, n), arrived[n]);
        missing += !arrived[n] && n < v.highest;
    }
    ck_assert_int_gt(missing, 100);
    ck_assert_uint_eq(stats().missing, (uint64_t)missing);

    /* far beyond, what lies below the window counts as seen */
    dedup_take(l, 42, 5 + 2 * DEDUP_WINDOW);
    size = dedup_state_size(l);
    state = realloc(state, size);
    dedup_state_get(l, state);
    ck_assert_int_eq(dedup_view(&v, 42, state, size, NULL), 0);
    ck_assert(dedup_view_has(&v, 5) && dedup_view_has(&v, 5 + DEDUP_WINDOW));
    ck_assert(!dedup_view_has(&v, 6 + DEDUP_WINDOW));
    ck_assert(dedup_view_has(&v, 5 + 2 * DEDUP_WINDOW));
    ck_assert(!dedup_view_has(&v, 6 + 2 * DEDUP_WINDOW));

    /* of whom nothing came there is nothing */
    ck_assert_int_eq(dedup_view(&v, 43, state, size, NULL), 0);
    ck_assert_uint_eq(v.position, 777);
    ck_assert(!dedup_view_has(&v, 1));
    for (size_t n = 0; n < size; n++)
        ck_assert_int_eq(dedup_view(&v, 42, state, n, NULL), ERR_CORRUPT);
    free(state);
}

static unsigned char *u64(unsigned char *at, uint64_t v)
{
    bytes_put_u64(at, v);
    return at + 8;
}

TEST(the_form_of_older_learners_is_read)
{
    unsigned char state[200], *at = state;
    uint64_t head[] = {900, 301, 7, 2,
                       1}; /* position, counted, repeated, missing, makers */
    uint64_t maker[] = {5, 303, 301, 880}; /* id, highest, counted, heard */
    for (int i = 0; i < 5; i++)
        at = u64(at, head[i]);
    for (int i = 0; i < 4; i++)
        at = u64(at, maker[i]);
    for (int i = 0; i < 4; i++) /* bit of n: n % 256; 100 and 300 have not come */
        at = u64(at, ~((uint64_t)(i == 1) << 36 | (uint64_t)(i == 0) << 44));
    size_t n = (size_t)(at - state);
    ck_assert_int_eq(dedup_state_put(l, 1, state, n, NULL), 0);
    ck_assert_uint_eq(dedup_position(l), 900);
    ck_assert_uint_eq(stats().counted, 301);
    ck_assert_uint_eq(stats().missing, 2);
    ck_assert(!dedup_take(l, 5, 1) && !dedup_take(l, 5, 99) && !dedup_take(l, 5, 303));
    ck_assert(dedup_take(l, 5, 100) && dedup_take(l, 5, 300));
    ck_assert(!dedup_take(l, 5, 100) && dedup_take(l, 5, 304));
    ck_assert_int_eq(dedup_state_put(l, 1, state, n - 1, NULL), ERR_CORRUPT);
    ck_assert_int_eq(dedup_state_put(l, DEDUP_FORM, state, n, NULL), ERR_CORRUPT);
    u64(u64(state + 48, UINT64_MAX), 301);
    ck_assert_int_eq(dedup_state_put(l, 1, state, n, NULL), ERR_CORRUPT);
}

SUITE_SET_UP(serve_cluster_dedup, 0, setup, teardown, each_number_counts_once,
             whatever_the_order_and_the_repeats, the_longest_silent_maker_is_forgotten,
             a_damaged_state_leaves_it_empty, a_maker_reads_what_has_arrived,
             the_form_of_older_learners_is_read);

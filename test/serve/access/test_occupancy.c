#include "serve/access/occupancy.h"

#include <check.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "support/alloc.h"
#include "support/suites.h"

static struct addr at(const char *text)
{
    struct addr a;
    ck_assert(addr_parse(&a, text, strlen(text)));
    return a;
}

TEST(each_address_has_its_own_share)
{
    struct err e = {0};
    struct occupancy *t = occupancy_new(4, 7, &e);
    struct addr a = at("192.0.2.1"), b = at("192.0.2.2");
    for (int i = 0; i < 3; i++)
        ck_assert(occupancy_take(t, &a, 3));
    ck_assert(!occupancy_take(t, &a, 3));
    ck_assert(occupancy_take(t, &b, 3));
    ck_assert_int_eq(occupancy_held(t, &a), 3);
    ck_assert_int_eq(occupancy_held(t, &b), 1);
    occupancy_give(t, &a);
    ck_assert(occupancy_take(t, &a, 3));
    ck_assert(!occupancy_take(t, &a, 2)); /* the limit was lowered meanwhile */
    ck_assert_uint_eq(occupancy_refused(t), 2);
    occupancy_free(t);
}

TEST(amounts_count_together)
{
    struct err e = {0};
    struct occupancy *t = occupancy_new(4, 7, &e);
    struct addr a = at("192.0.2.1"), b = at("192.0.2.2");
    ck_assert(occupancy_take_amount(t, &a, 6, 10));
    ck_assert(!occupancy_take_amount(t, &a, 5, 10));
    ck_assert(occupancy_take_amount(t, &a, 4, 10));
    ck_assert(!occupancy_take(t, &a, 10));
    occupancy_give_amount(t, &a, 6);
    occupancy_give_amount(t, &a, 4);
    /* alone it may be as large as it is */
    ck_assert(occupancy_take_amount(t, &b, INT_MAX, 10));
    ck_assert(!occupancy_take(t, &b, 10));
    ck_assert(!occupancy_take(t, &b, INT_MAX));
    occupancy_give_amount(t, &b, INT_MAX);
    ck_assert_int_eq(occupancy_held(t, &b), 0);
    occupancy_free(t);
}

TEST(ipv6_counts_by_its_64_bits)
{
    struct err e = {0};
    struct occupancy *t = occupancy_new(4, 7, &e);
    struct addr a = at("2001:db8::1"), same = at("2001:db8::ffff:0:0:2"),
                other = at("2001:db8:0:1::1");
    ck_assert(occupancy_take(t, &a, 1));
    ck_assert(!occupancy_take(t, &same, 1));
    ck_assert(occupancy_take(t, &other, 1));
    occupancy_give(t, &same);
    ck_assert_int_eq(occupancy_held(t, &a), 0);
    occupancy_free(t);
}

TEST(addresses_that_hold_nothing_take_no_room)
{
    struct err e = {0};
    struct occupancy *t = occupancy_new(2, 7, &e);
    for (int i = 0; i < 250; i++) {
        char text[16];
        snprintf(text, sizeof text, "192.0.2.%d", i);
        struct addr a = at(text);
        ck_assert(occupancy_take(t, &a, 1));
        occupancy_give(t, &a);
    }
    struct addr a = at("192.0.2.1"), b = at("192.0.2.2"), c = at("192.0.2.3");
    ck_assert(occupancy_take(t, &a, 9));
    ck_assert(occupancy_take(t, &b, 9));
    ck_assert(!occupancy_take(t, &c, 9)); /* full */
    ck_assert(occupancy_take(t, &a, 9));
    occupancy_free(t);
}

static void *take_and_give(void *ctx)
{
    struct addr a = at("192.0.2.1");
    intptr_t most = 0;
    for (int i = 0; i < 2000; i++) {
        if (!occupancy_take(ctx, &a, 3)) continue;
        int held = occupancy_held(ctx, &a);
        if (held > most) most = held;
        occupancy_give(ctx, &a);
    }
    return (void *)most;
}

TEST(threads_never_hold_more_than_the_limit)
{
    struct err e = {0};
    struct occupancy *t = occupancy_new(2, 7, &e);
    pthread_t thread[4];
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, take_and_give, t), 0);
    for (int i = 0; i < 4; i++) {
        void *most;
        pthread_join(thread[i], &most);
        ck_assert_int_le((intptr_t)most, 3);
    }
    struct addr a = at("192.0.2.1");
    ck_assert_int_eq(occupancy_held(t, &a), 0);
    occupancy_free(t);
}

static void *make_occupancy(void *ctx, struct err *e)
{
    (void)ctx;
    return occupancy_new(10, 7, e);
}

static void free_occupancy(void *made)
{
    occupancy_free(made);
}

TEST(every_failing_allocation_is_an_error)
{
    ck_assert_int_ge(alloc_each_fails(make_occupancy, free_occupancy, NULL), 2);
}

SUITE(serve_access_occupancy, each_address_has_its_own_share, amounts_count_together,
      ipv6_counts_by_its_64_bits, addresses_that_hold_nothing_take_no_room,
      threads_never_hold_more_than_the_limit, every_failing_allocation_is_an_error);

#include "lab/forgetting/servers.h"

#include "support/suites.h"

static struct servers ring(int n)
{
    struct servers s;
    struct rng r;
    rng_init(&r, 1, 1);
    servers_init(&s, n, &r);
    for (int m = 0; m < n; m++) {
        ck_assert(s.idle[m] && s.power[m] >= 1 && s.power[m] <= 3);
        s.power[m] = 1 + m % 3;
    }
    return s;
}

/* Six servers, the task near 0 with u = .99, jitter .95. Server 3 is 3 hops away, f = 1:
 * d_tr = 1 + floor(4.95) = 5, d_ex = power 1 + 2 = 3. Server 5 is 1 hop away, f = 1/3:
 * d_tr = 1 + floor(1.65) = 2, d_ex = power 3 + 2 = 5. */
TEST(delays_by_hand)
{
    struct servers s = ring(6);
    struct servers_task k = {.near = 0, .travel = .99, .jitter = .95};
    ck_assert_int_eq(servers_start(&s, 3, &k, 1), 0);
    ck_assert_int_eq(s.done[3], 1 + 8);
    ck_assert_int_eq(servers_start(&s, 5, &k, 4), 2);
    ck_assert_int_eq(s.done[5], 4 + 7);
    ck_assert_int_eq(s.next, 3);
    ck_assert_int_eq(s.waited, 1);
    ck_assert_double_eq(s.wait, 2);
    ck_assert_double_eq(s.delay, 15);

    /* jitter below .6 is none, below .9 one; alone on the ring nothing is far */
    struct servers one = ring(1);
    servers_start(&one, 0, &(struct servers_task){0, .99, .59}, 1);
    ck_assert_int_eq(one.done[0], 1 + 2);
    ck_assert(servers_finish(&one, 0, 3));
    servers_start(&one, 0, &(struct servers_task){0, .99, .89}, 3);
    ck_assert_int_eq(one.done[0], 3 + 3);
}

TEST(a_server_is_busy_until_it_is_done)
{
    struct servers s = ring(1);
    struct servers_task k = {0};
    ck_assert(!servers_busy(&s));
    ck_assert(!servers_ready(&s, 0, 10)); /* task 1 comes in slot 1 */
    ck_assert(servers_ready(&s, 1, 10));
    servers_start(&s, 0, &k, 1); /* two slots */
    ck_assert(servers_busy(&s));
    ck_assert(!servers_ready(&s, 2, 10));
    ck_assert(!servers_finish(&s, 0, 2));
    ck_assert(servers_finish(&s, 0, 3));
    ck_assert(!servers_finish(&s, 0, 3)); /* once */
    ck_assert(servers_ready(&s, 3, 10));
    ck_assert(!servers_ready(&s, 3, 1)); /* only one task ever came */
}

/* Powers 1 2 3 1 2 3 around the ring. */
TEST(nearest_and_most_powerful)
{
    struct servers s = ring(6);
    struct servers_task k = {.near = 2};
    ck_assert_int_eq(servers_nearest(&s, &k), 2);
    ck_assert_int_eq(servers_powerful(&s, &k), 3); /* 0 is as strong, two hops away */
    s.idle[2] = s.idle[3] = false;
    ck_assert_int_eq(servers_nearest(&s, &k), 1);
    ck_assert_int_eq(servers_powerful(&s, &k), 0);
    s.idle[1] = false;
    ck_assert_int_eq(servers_nearest(&s, &k), 0); /* 4 is as near and weaker */
    for (int m = 0; m < 6; m++)
        s.idle[m] = false;
    ck_assert_int_eq(servers_nearest(&s, &k), -1);
    ck_assert_int_eq(servers_powerful(&s, &k), -1);
}

TEST(no_delay_exceeds_its_bound)
{
    struct rng r;
    rng_init(&r, 2, 2);
    int most = 0, least = 99;
    double mean = 0;
    for (int i = 0; i < 4000; i++) {
        struct servers s;
        struct servers_task k;
        servers_init(&s, 30, &r);
        servers_arrive(&k, &s, &r);
        servers_start(&s, (int)rng_below(&r, 30), &k, 1);
        most = s.delay > most ? (int)s.delay : most;
        least = s.delay < least ? (int)s.delay : least;
        mean += s.delay / 4000;
    }
    ck_assert_int_eq(least, 2);
    ck_assert_int_ge(most, 9);
    ck_assert_int_le(most, SERVERS_DELAY);
    ck_assert(mean > 4 && mean < 4.9);
}

SUITE(lab_forgetting_servers, delays_by_hand, a_server_is_busy_until_it_is_done,
      nearest_and_most_powerful, no_delay_exceeds_its_bound);

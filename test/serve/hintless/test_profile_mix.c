#include "serve/hintless/profile_mix.h"

#include "support/suites.h"

#include "base/bytes.h"
#include "support/alloc.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct profile_mix *make(int tasks)
{
    struct profile_mix_cfg cfg = profile_mix_cfg_default();
    struct err e = {0};
    struct profile_mix *a = profile_mix_new(&cfg, tasks, &e);
    ck_assert_msg(a != NULL, "%s", e.detail);
    return a;
}

/* From an address that nobody else has. */
static void label(struct profile_mix *a, uint64_t content, int task, bool hintless)
{
    static uint64_t next = 1000; /* each test runs in a process of its own */
    profile_mix_label(a, content, task, hintless, next++);
}

START_TEST(little_evidence_tells_no_mix)
{
    struct profile_mix *a = make(4);
    double psi[4];
    ck_assert(!profile_mix_weights(psi, a));
    for (int v = 0; v < 4; v++)
        ck_assert_double_eq(psi[v], .25);
    for (int i = 0; i < 4; i++)
        label(a, 0, 1, true);
    profile_mix_turn(a);
    ck_assert(!profile_mix_weights(psi, a));
    double keep = exp2(-1. / 3), n = 4 * keep;
    ck_assert_double_eq_tol(psi[1], (n + 5) / (n + 20), 1e-12);
    for (int i = 0; i < 3; i++)
        label(a, 0, 2, true);
    profile_mix_turn(a);
    ck_assert(!profile_mix_weights(psi, a)); /* 4 keep^2 + 3 keep < 5 */
    label(a, 0, 2, true);
    label(a, 0, 2, true);
    profile_mix_turn(a);
    ck_assert(profile_mix_weights(psi, a));
    double one = 4 * keep * keep * keep, two = 3 * keep * keep + 2 * keep;
    ck_assert_double_eq_tol(psi[1], (one + 5) / (one + two + 20), 1e-12);
    ck_assert_double_eq_tol(psi[2], (two + 5) / (one + two + 20), 1e-12);
    ck_assert_double_eq_tol(psi[0], 5 / (one + two + 20), 1e-12);
    profile_mix_free(a);
}
END_TEST

START_TEST(hinted_sessions_label_contents_and_not_the_mix)
{
    struct profile_mix *a = make(3);
    uint64_t film = profile_mix_content(a, "film"),
             match = profile_mix_content(a, "match");
    ck_assert_uint_ne(film, 0);
    ck_assert_uint_eq(profile_mix_content(a, ""), 0);
    double p[3];
    ck_assert(!profile_mix_of(p, a, film));
    for (int i = 0; i < 8; i++)
        label(a, film, 2, false);
    ck_assert(!profile_mix_weights(p, a));
    ck_assert(profile_mix_of(p, a, film));
    ck_assert_double_eq_tol(p[2], (8 + 4. / 3) / 12, 1e-12);
    ck_assert_double_eq_tol(p[0], (4. / 3) / 12, 1e-12);
    ck_assert(!profile_mix_of(p, a, match));
    ck_assert_double_eq_tol(p[2], 1. / 3, 1e-15);

    /* nine viewers of the film, none of whom says a word */
    for (int i = 0; i < 9; i++)
        profile_mix_unlabelled(a, film, (uint64_t)i);
    for (int i = 0; i < 100; i++)
        profile_mix_unlabelled(a, match, (uint64_t)i); /* says nothing */
    profile_mix_unlabelled(a, 0, 7);
    profile_mix_turn(a);
    ck_assert(profile_mix_weights(p, a));
    double n = 9 * exp2(-1. / 3);
    ck_assert_double_eq_tol(p[2], (n * (8 + 4. / 3) / 12 + 20. / 3) / (n + 20), 1e-6);
    ck_assert_double_eq_tol(p[0] + p[1] + p[2], 1, 1e-12);
    profile_mix_free(a);
}
END_TEST

START_TEST(the_mix_follows_and_forgets)
{
    struct profile_mix *a = make(2);
    double psi[2];
    for (int i = 0; i < 64; i++)
        label(a, 0, 0, true);
    for (int t = 0; t < 3; t++)
        profile_mix_turn(a); /* one half-life: 32 left */
    ck_assert(profile_mix_weights(psi, a));
    ck_assert_double_eq_tol(psi[0], 42. / 52, 1e-12);
    for (int t = 0; t < 12; t++)
        profile_mix_turn(
            a); /* 32 / 16 = 2: it goes back to the prior, not to the last labels */
    ck_assert(!profile_mix_weights(psi, a));
    ck_assert_double_eq_tol(psi[0], 12. / 22, 1e-12);
    for (int t = 0; t < 60; t++)
        profile_mix_turn(a);
    profile_mix_weights(psi, a);
    ck_assert_double_eq_tol(psi[0], .5, 1e-5);
    profile_mix_free(a);
}
END_TEST

/* Contents 0 .. n-1, `views` labels each, all of task 0. */
static void views(struct profile_mix *a, int n, int views)
{
    char id[32];
    for (int i = 0; i < n; i++) {
        snprintf(id, sizeof id, "content-%d", i);
        for (int k = 0; k < views; k++)
            label(a, profile_mix_content(a, id), 0, false);
    }
}

static int known(const struct profile_mix *a, const char *name, int n, int task)
{
    int known = 0;
    char id[32];
    double p[PROFILE_MIX_TASKS];
    for (int i = 0; i < n; i++) {
        snprintf(id, sizeof id, "%s-%d", name, i);
        known += profile_mix_of(p, a, profile_mix_content(a, id)) && p[task] > .5;
    }
    return known;
}

START_TEST(a_huge_catalogue_takes_no_more_memory)
{
    struct profile_mix *a = make(4);
    size_t before = profile_mix_state_size(a);
    ck_assert_uint_lt(before, 300000);
    views(a, 2000, 3);
    ck_assert_int_ge(known(a, "content", 2000, 0), 1900);
    ck_assert_int_le(known(a, "other", 2000, 0), 20);

    alloc_watch();
    /* 300,000 more of one view each drown the small ones, and not the popular one */
    for (int i = 0; i < 500; i++)
        label(a, profile_mix_content(a, "popular-0"), 3, false);
    views(a, 302000, 1);
    long calls = alloc_calls();
    ck_assert_int_eq(calls, 0);
    ck_assert_uint_eq(profile_mix_state_size(a), before);
    ck_assert_int_eq(known(a, "popular", 1, 3), 1);
    ck_assert_int_le(known(a, "other", 2000, 1), 200);
    profile_mix_free(a);
}
END_TEST

START_TEST(a_task_that_is_added_takes_no_more_than_its_share)
{
    struct profile_mix *a = make(2);
    for (int i = 0; i < 20; i++)
        label(a, 5, i % 2, true);
    profile_mix_turn(a);
    profile_mix_grow(a);
    ck_assert_int_eq(profile_mix_tasks(a), 3);
    double psi[3], p[3], n = 20 * exp2(-1. / 3);
    ck_assert(profile_mix_weights(psi, a));
    ck_assert_double_eq_tol(psi[2], (20. / 3) / (n + 20), 1e-12);
    ck_assert(profile_mix_of(p, a, 5));
    ck_assert_double_lt(p[2], .04);
    ck_assert_double_eq_tol(p[0], p[1], 1e-12);
    profile_mix_free(a);
}
END_TEST

START_TEST(a_task_that_is_forgotten_begins_anew)
{
    struct profile_mix *a = make(3);
    for (int i = 0; i < 30; i++)
        label(a, 5, i % 3, true);
    profile_mix_turn(a);
    for (int i = 0; i < 9; i++)
        label(a, 5, i % 3, true); /* of the slot under way */
    profile_mix_forget(a, 1);
    struct profile_mix_seats s = profile_mix_seats(a);
    s.gone[1] = true;
    profile_mix_seats_put(a, &s);
    double psi[3], p[3];
    ck_assert(profile_mix_weights(psi, a));
    ck_assert_double_eq(psi[1], 0);
    ck_assert_double_eq_tol(psi[0], .5, 1e-12);
    ck_assert(profile_mix_of(p, a, 5));
    ck_assert_double_eq(p[1], 0);
    ck_assert_double_eq_tol(p[0], .5, .05);

    s.gone[1] = false; /* somebody takes its place */
    profile_mix_seats_put(a, &s);
    profile_mix_turn(a);
    ck_assert(profile_mix_weights(psi, a));
    ck_assert_double_lt(psi[1], .2);
    ck_assert(profile_mix_of(p, a, 5));
    ck_assert_double_lt(p[1], .06);
    for (int i = 0; i < 60; i++)
        label(a, 5, 1, true);
    ck_assert(profile_mix_of(p, a, 5));
    ck_assert_double_gt(p[1], .6);
    profile_mix_free(a);
}
END_TEST

/* ---- what one address may say ---- */

static double share_of(struct profile_mix *a, int task)
{
    double psi[PROFILE_MIX_TASKS];
    profile_mix_turn(a);
    (void)profile_mix_weights(psi, a);
    return psi[task];
}

START_TEST(one_address_moves_the_mix_halfway_at_most)
{
    struct profile_mix *a = make(4);
    double most = 0;
    for (int t = 0; t < 100; t++) {
        for (int i = 0; i < 419; i++)
            profile_mix_label(a, 0, 2, true, 7);
        most = fmax(most, share_of(a, 2));
    }
    ck_assert_double_le(most, (1 + .25) / 2 + 1e-9);
    ck_assert_double_gt(most, .62); /* and that far it may */
    /* of a slot K (1 - keep) / keep count */
    double keep = exp2(-1. / 3), each = 20 * (1 - keep) / keep;
    ck_assert_double_eq_tol(profile_mix_refused(a).mix, 100 * (419 - each), 1e-3);
    profile_mix_free(a);
}
END_TEST

START_TEST(among_others_an_address_has_a_tenth)
{
    struct profile_mix *a = make(4);
    for (uint64_t from = 0; from < 900; from++)
        profile_mix_label(a, 0, (int)(from % 3), true, 1000 + from);
    for (int i = 0; i < 100000; i++)
        profile_mix_label(a, 0, 3, true, 7);
    /* 100 of 1000 count, and those that share its bucket are few */
    double keep = exp2(-1. / 3);
    ck_assert_double_eq_tol(share_of(a, 3), (100 * keep + 5) / (1000 * keep + 20), 1e-3);
    ck_assert_double_eq_tol(profile_mix_refused(a).mix, 99900, 20);

    /* viewers of a known content who say nothing are no way round it */
    struct profile_mix *b = make(4);
    for (uint64_t from = 0; from < 40; from++)
        profile_mix_label(b, 5, 3, false, 1000 + from);
    for (int i = 0; i < 100000; i++)
        profile_mix_unlabelled(b, 5, 7);
    ck_assert_double_le(share_of(b, 3), (1 + .25) / 2);
    ck_assert_double_gt(profile_mix_refused(b).mix, 99000);
    profile_mix_free(b);
    profile_mix_free(a);
}
END_TEST

START_TEST(few_addresses_count_as_many_do)
{
    struct profile_mix *a = make(2);
    /* three addresses of many viewers each: none has more than a lone one, all have that */
    for (int i = 0; i < 3000; i++)
        profile_mix_label(a, 0, i % 3 == 0, true, 1 + (uint64_t)(i % 3));
    double keep = exp2(-1. / 3), each = 20 * (1 - keep);
    ck_assert_double_eq_tol(share_of(a, 1), (each + 10) / (3 * each + 20), 1e-6);
    /* twenty of fifty each: nobody has more than his share, all count */
    struct profile_mix *b = make(2);
    for (int i = 0; i < 1000; i++)
        profile_mix_label(b, 0, 1, true, 1 + (uint64_t)(i % 20));
    (void)share_of(b, 1);
    ck_assert_double_le(profile_mix_refused(b).mix, 100); /* two of one bucket at most */
    profile_mix_free(b);
    profile_mix_free(a);
}
END_TEST

START_TEST(one_address_tells_little_of_a_content)
{
    struct profile_mix *a = make(4);
    double p[4];
    for (int i = 0; i < 419; i++)
        profile_mix_label(a, 5, 2, false, 7);
    ck_assert(profile_mix_of(p, a, 5));
    ck_assert_double_eq_tol(p[2], (2 + 1.) / (2 + 4), 1e-6);
    ck_assert_double_eq(profile_mix_refused(a).content, 417);
    for (uint64_t from = 0; from < 40; from++)
        profile_mix_label(a, 5, 1, false, 100 + from);
    for (int i = 0; i < 419; i++)
        profile_mix_label(a, 5, 2, false, 7);
    ck_assert(profile_mix_of(p, a, 5));
    ck_assert_double_le(p[2], .13);
    profile_mix_free(a);
}
END_TEST

START_TEST(a_state_has_what_counts_and_no_address)
{
    struct profile_mix *a = make(4), *b = make(4);
    for (int i = 0; i < 419; i++)
        profile_mix_label(a, 0, 2, true, 7);
    size_t n = profile_mix_state_size(a);
    unsigned char *state = malloc(n);
    profile_mix_state_get(a, state);
    ck_assert_int_eq(profile_mix_state_put(b, state, n, NULL), 0);
    ck_assert_double_eq_tol(share_of(a, 2), share_of(b, 2), 1e-12);
    ck_assert_double_eq(profile_mix_refused(b).mix, 0);
    free(state);
    profile_mix_free(b);
    profile_mix_free(a);
}
END_TEST

START_TEST(a_state_comes_back_and_a_broken_one_does_not)
{
    struct profile_mix *a = make(2), *b = make(2);
    profile_mix_grow(a);
    for (int i = 0; i < 30; i++)
        label(a, 5, i % 3, true);
    profile_mix_turn(a);
    size_t n = profile_mix_state_size(a);
    unsigned char *state = malloc(n);
    profile_mix_state_get(a, state);

    struct err e = {0};
    ck_assert_int_eq(profile_mix_state_put(b, state, n - 8, &e), ERR_CORRUPT);
    double good = bytes_get_f64(state + 8);
    bytes_put_f64(state + 8, -1);
    ck_assert_int_eq(profile_mix_state_put(b, state, n, NULL), ERR_CORRUPT);
    bytes_put_f64(state + 8, good);
    bytes_put_u64(state, PROFILE_MIX_TASKS + 1);
    ck_assert_int_eq(profile_mix_state_put(b, state, n, NULL), ERR_CORRUPT);
    bytes_put_u64(state, 3);
    ck_assert_int_eq(profile_mix_tasks(b), 2);

    ck_assert_int_eq(profile_mix_state_put(b, state, n, NULL), 0);
    double p[3], q[3];
    ck_assert(profile_mix_weights(p, a) && profile_mix_weights(q, b));
    ck_assert_mem_eq(p, q, sizeof p);
    ck_assert(profile_mix_of(p, a, 5) && profile_mix_of(q, b, 5));
    ck_assert_mem_eq(p, q, sizeof p);
    free(state);
    profile_mix_free(b);
    profile_mix_free(a);
}
END_TEST

static void *make_any(void *ctx, struct err *e)
{
    return profile_mix_new(ctx, 4, e);
}

static void destroy(void *a)
{
    profile_mix_free(a);
}

START_TEST(every_failing_allocation_is_told)
{
    struct profile_mix_cfg cfg = profile_mix_cfg_default();
    ck_assert_int_eq(alloc_each_fails(make_any, destroy, &cfg), 6);
    cfg.half_life = 0;
    struct err e = {0};
    ck_assert_ptr_null(profile_mix_new(&cfg, 4, &e));
    ck_assert_int_eq(e.code, ERR_RANGE);
}
END_TEST

SUITE(serve_hintless_profile_mix, little_evidence_tells_no_mix,
      hinted_sessions_label_contents_and_not_the_mix, the_mix_follows_and_forgets,
      a_huge_catalogue_takes_no_more_memory,
      a_task_that_is_added_takes_no_more_than_its_share,
      a_task_that_is_forgotten_begins_anew, one_address_moves_the_mix_halfway_at_most,
      among_others_an_address_has_a_tenth, few_addresses_count_as_many_do,
      one_address_tells_little_of_a_content, a_state_has_what_counts_and_no_address,
      a_state_comes_back_and_a_broken_one_does_not, every_failing_allocation_is_told);

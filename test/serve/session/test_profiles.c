#include "serve/session/profiles.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "support/alloc.h"
#include "support/suites.h"

static int put(struct profiles *p, const char *name, double stall, struct err *e)
{
    struct profile in = {.qoe = qoe_of_mu(1, 1, stall, QOE_LINEAR)};
    snprintf(in.name, sizeof in.name, "%s", name);
    return profiles_put(p, &in, e);
}

TEST(built_in_ones_stay)
{
    struct profiles *p = profiles_new(NULL);
    static const char *const names[] = {
        "documentary",       "lecture",    "live",       "news",     "paper-documentary",
        "paper-live",        "paper-news", "pensieve",   "sports",   "standard"};
    struct profile list[20];
    ck_assert_int_eq(profiles_list(list, 20, p), QOE_PROFILES);
    for (int i = 0; i < QOE_PROFILES; i++)
        ck_assert_str_eq(list[i].name, names[i]);
    ck_assert_int_eq(put(p, "news", 9, NULL), ERR_CONFLICT);
    ck_assert_int_eq(profiles_delete(p, "news", NULL), ERR_CONFLICT);
    ck_assert_int_eq(put(p, "custom", 9, NULL), ERR_CONFLICT);
    struct profile got;
    int slot;
    ck_assert_int_eq(profiles_get(&got, &slot, p, "news", NULL), 0);
    ck_assert(got.builtin);
    ck_assert(qoe_same(&got.qoe, &qoe_find("news")->qoe));
    ck_assert_str_eq(qoe_profiles[slot].name, "news");
    ck_assert_int_eq(profiles_get(&got, NULL, p, "paper-news", NULL), 0);
    ck_assert_double_eq(got.qoe.mu_quality, 6);
    profiles_free(p);
}

TEST(own_ones_come_and_go)
{
    struct profiles *p = profiles_new(NULL);
    ck_assert_int_eq(put(p, "kids", 2, NULL), 1);
    ck_assert_int_eq(put(p, "kids", 3, NULL), 0);
    struct profile got;
    int slot;
    ck_assert_int_eq(profiles_get(&got, &slot, p, "kids", NULL), 0);
    ck_assert_double_eq(got.qoe.mu_stall, 3);
    ck_assert(!got.builtin);
    ck_assert_int_gt(slot, PROFILES_SLOT_CUSTOM);
    ck_assert_int_eq(profiles_delete(p, "kids", NULL), 0);
    struct err e = {0};
    ck_assert_int_eq(profiles_get(&got, &slot, p, "kids", &e), ERR_ABSENT);
    ck_assert_str_eq(e.field, "profile");
    ck_assert_int_eq(profiles_delete(p, "kids", NULL), ERR_ABSENT);
    ck_assert_int_eq(put(p, "Kids", 3, NULL), ERR_INVALID);
    ck_assert_int_eq(put(p, "", 3, NULL), ERR_RANGE);
    ck_assert_int_eq(put(p, "kids", -3, NULL), ERR_RANGE);
    profiles_free(p);
}

TEST(they_are_bounded_and_sorted)
{
    struct profiles *p = profiles_new(NULL);
    char name[SERVICE_NAME];
    int n = QOE_PROFILES;
    for (; n < PROFILES_MAX; n++) {
        snprintf(name, sizeof name, "p%d", (n * 37) % 1000);
        ck_assert_int_eq(put(p, name, 1, NULL), 1);
    }
    ck_assert_int_eq(put(p, "one-more", 1, NULL), ERR_FULL);
    static struct profile list[PROFILES_MAX];
    ck_assert_int_eq(profiles_list(list, PROFILES_MAX, p), PROFILES_MAX);
    for (int i = 1; i < PROFILES_MAX; i++)
        ck_assert_int_lt(strcmp(list[i - 1].name, list[i].name), 0);

    /* the first names have a slot of their own, the rest share one */
    int slot;
    struct profile got;
    ck_assert_int_eq(profiles_get(&got, &slot, p, name, NULL), 0);
    ck_assert_int_eq(slot, PROFILES_SLOT_CUSTOM);
    char text[SERVICE_NAME];
    ck_assert(profiles_slot_name(text, p, SERVICE_PROFILE_STATS - 1));
    ck_assert(!profiles_slot_name(text, p, SERVICE_PROFILE_STATS));
    profiles_free(p);
}

TEST(a_deleted_profile_frees_its_slot)
{
    struct profiles *p = profiles_new(NULL);
    struct profile got;
    int a, b, slot;
    char text[SERVICE_NAME];
    ck_assert_int_eq(put(p, "a", 1, NULL), 1);
    ck_assert_int_eq(put(p, "b", 1, NULL), 1);
    ck_assert_int_eq(profiles_get(&got, &a, p, "a", NULL), 0);
    ck_assert_int_eq(profiles_get(&got, &b, p, "b", NULL), 0);
    ck_assert_int_eq(profiles_delete(p, "a", NULL), 0);
    ck_assert(!profiles_slot_name(text, p, a));
    ck_assert(profiles_slot_name(text, p, b));
    ck_assert_str_eq(text, "b");
    ck_assert_int_eq(put(p, "c", 1, NULL), 1);
    ck_assert_int_eq(profiles_get(&got, &slot, p, "c", NULL), 0);
    ck_assert_int_eq(slot, a);

    /* however often they come and go, the next one has a slot of its own */
    for (int i = 0; i < 3 * SERVICE_PROFILE_STATS; i++) {
        snprintf(text, sizeof text, "d%d", i);
        ck_assert_int_eq(put(p, text, 1, NULL), 1);
        ck_assert_int_eq(profiles_get(&got, &slot, p, text, NULL), 0);
        ck_assert_int_ne(slot, PROFILES_SLOT_CUSTOM);
        ck_assert_int_eq(profiles_delete(p, text, NULL), 0);
    }
    profiles_free(p);
}

TEST(tags_follow_the_weights)
{
    for (int i = 0; i < QOE_PROFILES; i++)
        ck_assert_int_eq(profiles_tag(&qoe_profiles[i].qoe), i);
    struct qoe k = qoe_profiles[0].qoe;
    k.utility = QOE_LOG;
    ck_assert_int_eq(profiles_tag(&k), QOE_PROFILES);
}

static void *make(void *ctx, struct err *e)
{
    (void)ctx;
    return profiles_new(e);
}

static void destroy(void *p)
{
    profiles_free(p);
}

TEST(every_failing_allocation_is_an_error)
{
    ck_assert_int_gt(alloc_each_fails(make, destroy, NULL), 0);
}

SUITE(serve_session_profiles, built_in_ones_stay, own_ones_come_and_go,
      they_are_bounded_and_sorted, a_deleted_profile_frees_its_slot,
      tags_follow_the_weights, every_failing_allocation_is_an_error);

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
    struct profile list[QOE_PROFILES + 1];
    ck_assert_int_eq(profiles_list(list, QOE_PROFILES + 1, p), QOE_PROFILES);
    ck_assert_str_eq(list[0].name, "documentary");
    ck_assert_str_eq(list[QOE_PROFILES - 1].name, "standard");
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

static struct qoe qoe_named(struct profiles *p, const char *name)
{
    struct profile got;
    ck_assert_int_eq(profiles_get(&got, NULL, p, name, NULL), 0);
    return got.qoe;
}

TEST(ceilings_follow_the_settings)
{
    struct profiles *p = profiles_new(NULL);
    struct service_cfg cfg = service_cfg_default();
    struct profiles_ceilings c;
    struct profile own = {.name = "own", .qoe = *qoe_standard()};
    ck_assert_int_eq(profiles_put(p, &own, NULL), 1);
    strcpy(own.name, "strict");
    own.own_stall_ratio_max = true;
    own.qoe.stall_ratio_max = .002;
    ck_assert_int_eq(profiles_put(p, &own, NULL), 1);
    ck_assert_double_eq(qoe_named(p, "strict").stall_ratio_max, .002);
    ck_assert_double_eq(qoe_named(p, "own").stall_ratio_max, .01);

    cfg.stall_ratio_max = .05;
    cfg.startup_max_s = 7;
    cfg.ceilings = (struct field_list){2, {"news:0.02:2", "live:0:0.5"}};
    ck_assert_int_eq(profiles_ceilings_read(&c, &cfg, NULL), 0);
    profiles_ceilings_put(p, &c);
    ck_assert_double_eq(qoe_named(p, "standard").stall_ratio_max, .05);
    ck_assert_double_eq(qoe_named(p, "news").stall_ratio_max, .02);
    ck_assert_double_eq(qoe_named(p, "news").startup_max_s, 2);
    ck_assert_double_eq(qoe_named(p, "live").stall_ratio_max, 0);
    ck_assert_double_eq(qoe_named(p, "live").startup_max_s, .5);
    ck_assert_double_eq(qoe_named(p, "own").stall_ratio_max, .05);
    ck_assert_double_eq(qoe_named(p, "strict").stall_ratio_max, .002);
    ck_assert_double_eq(qoe_named(p, "strict").startup_max_s, 7);
    ck_assert_double_eq(qoe_named(p, "pensieve").stall_ratio_max, 0);
    struct qoe k = *qoe_standard(), mu = qoe_of_mu(1, 1, 1, QOE_LINEAR);
    profiles_own_weights(&k, p);
    ck_assert_double_eq(k.startup_max_s, 7);
    profiles_own_weights(&mu, p);
    ck_assert_double_eq(mu.startup_max_s, 0);

    /* ceilings are no part of the reward */
    k = qoe_named(p, "news");
    ck_assert_str_eq(qoe_profiles[profiles_tag(&k)].name, "news");
    profiles_free(p);
}

TEST(bad_ceilings_are_named)
{
    static const struct {
        const char *text;
        int code;
    } bad[] = {{"news", ERR_INVALID},         {"news:0.02", ERR_INVALID},
               {"news:x:2", ERR_INVALID},     {"news:0.02:2:3", ERR_INVALID},
               {"mine:0.02:2", ERR_ABSENT},   {"pensieve:0.02:2", ERR_ABSENT},
               {"news:0.9:2", ERR_RANGE},     {"news:0.02:90", ERR_RANGE},
               {"news:-0.02:2", ERR_INVALID}, {":0.02:2", ERR_ABSENT}};
    struct profiles_ceilings c;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct service_cfg cfg = service_cfg_default();
        struct err e = {0};
        cfg.ceilings = (struct field_list){1, {bad[i].text}};
        ck_assert_msg(profiles_ceilings_read(&c, &cfg, &e) == bad[i].code, "%s: %s",
                      bad[i].text, e.detail);
        ck_assert_str_eq(e.field, "ceilings");
    }
    struct service_cfg cfg = service_cfg_default();
    struct err e = {0};
    cfg.ceilings = (struct field_list){2, {"news:0.02:2", "news:0.03:2"}};
    ck_assert_int_eq(profiles_ceilings_read(&c, &cfg, &e), ERR_CONFLICT);
    cfg = service_cfg_default();
    cfg.stall_ratio_max = .00001;
    e = (struct err){0};
    ck_assert_int_eq(profiles_ceilings_read(&c, &cfg, &e), ERR_RANGE);
    ck_assert_str_eq(e.field, "stall-ratio-max");
    cfg = service_cfg_default();
    cfg.startup_max_s = .05;
    e = (struct err){0};
    ck_assert_int_eq(service_check(&cfg, &e), ERR_RANGE);
    ck_assert_str_eq(e.field, "startup-max-s");
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
      tags_follow_the_weights, ceilings_follow_the_settings, bad_ceilings_are_named,
      every_failing_allocation_is_an_error);

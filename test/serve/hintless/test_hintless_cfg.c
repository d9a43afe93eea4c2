#include "serve/hintless/hintless_cfg.h"

#include "support/suites.h"

#include <check.h>

START_TEST(modes_have_names)
{
    enum hintless_mode m = HINTLESS_DEFAULT;
    for (int i = HINTLESS_DEFAULT; i <= HINTLESS_MERGE; i++) {
        ck_assert_int_eq(hintless_mode_parse(&m, hintless_mode_name(i), NULL), 0);
        ck_assert_int_eq((int)m, i);
    }
    struct err e = {0};
    ck_assert_int_eq(hintless_mode_parse(&m, "guess", &e), ERR_INVALID);
    ck_assert_str_eq(e.field, "untagged");
    ck_assert_int_eq(m, HINTLESS_MERGE);
    ck_assert_str_eq(service_by_name(BY_MEAN_HINT), "mean-hint");
    ck_assert_str_eq(service_by_name(BY_ROUTER), "router");
}
END_TEST

static void refused(const struct hintless_cfg *c, const char *field)
{
    struct err e = {0};
    ck_assert_int_eq(hintless_cfg_check(c, &e), ERR_RANGE);
    ck_assert_str_eq(e.field, field);
}

START_TEST(settings_have_limits)
{
    struct hintless_cfg good = hintless_cfg_default(), c = good;
    ck_assert_int_eq(hintless_cfg_check(&good, NULL), 0);
    c.slot_s = .5;
    refused(&c, "slot");
    c = good;
    c.slot_sessions = -1;
    refused(&c, "slot-sessions");
    c = good;
    c.half_life = 0;
    refused(&c, "mix-half-life");
    c = good;
    c.bandit.keep = HINTLESS_EXPERTS + 1;
    refused(&c, "merge-keep");
    c = good;
    c.merge_links = -1;
    refused(&c, "merge-links");
}
END_TEST

SUITE(serve_hintless_hintless_cfg, modes_have_names, settings_have_limits);

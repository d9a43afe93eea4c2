/* The limits; how a request's client is found out is tested against the program (test/http). */
#include "serve/access/admit.h"

#include <check.h>
#include <string.h>

#include "serve/session/service.h"
#include "support/alloc.h"
#include "support/suites.h"

static struct admit *a;
static struct err e;

static void make(const struct admit_cfg *cfg)
{
    e = (struct err){0};
    a = admit_new(cfg, &e);
    ck_assert_msg(a != NULL, "%s: %s", e.field, e.detail);
}

static void teardown(void)
{
    admit_free(a);
    a = NULL;
}

static struct admit_client client(const char *text)
{
    struct admit_client c = {.known = true, .limited = true};
    ck_assert(addr_parse(&c.addr, text, strlen(text)));
    return c;
}

TEST(each_limit_counts_for_itself)
{
    struct admit_cfg cfg = {.proxy_header = "x-forwarded-for",
                            .address_rate = 4,
                            .open_rate = 2,
                            .session_rate = 1};
    make(&cfg);
    struct admit_client c = client("192.0.2.1"), other = client("192.0.2.2");
    static const char id[] = "00112233445566778899aabbccddeeff";
    for (int i = 0; i < 40; i++)
        ck_assert_double_eq(admit_address(a, &c, 100), 0);
    for (int i = 0; i < 120; i++)
        ck_assert_double_eq(admit_open(a, &c, 100), 0);
    for (int i = 0; i < 10; i++)
        ck_assert_double_eq(admit_session(a, i % 2 ? &c : &other, id, 100), 0);
    ck_assert_double_eq(admit_address(a, &c, 100), .25);
    ck_assert_double_eq(admit_open(a, &c, 100), .5);
    ck_assert_double_eq(admit_session(a, &other, id, 100), 1);
    ck_assert_double_eq(admit_address(a, &other, 100), 0);
    ck_assert_double_eq(admit_open(a, &other, 100), 0);
    ck_assert_double_eq(admit_session(a, &c, "00112233445566778899aabbccddeefe", 100), 0);

    struct admit_stats s = admit_stats(a);
    ck_assert_uint_eq(s.address, 1);
    ck_assert_uint_eq(s.open, 1);
    ck_assert_uint_eq(s.session, 1);
}

TEST(refusals_outlive_a_change_of_the_limits)
{
    struct admit_cfg cfg = {
        .proxy_header = "forwarded", .address_rate = .1, .open_rate = .1};
    make(&cfg);
    struct admit_client c = client("192.0.2.1");
    for (int i = 0; i < 4; i++)
        (void)admit_address(a, &c, 100); /* the first one passes */
    struct admit *old = a;
    make(&cfg);
    for (int i = 0; i < 2; i++)
        (void)admit_address(a, &c, 100);
    admit_carry(a, old);
    admit_free(old);
    ck_assert_uint_eq(admit_stats(a).address, 4);
    ck_assert_uint_eq(admit_stats(a).open, 0);
}

TEST(ids_that_are_no_session_are_not_limited)
{
    struct admit_cfg cfg = admit_cfg_default();
    cfg.session_rate = .01;
    make(&cfg);
    struct admit_client c = client("192.0.2.1");
    static const char *const ids[] = {"",
                                      "0",
                                      "nobody",
                                      "00112233445566778899aabbccddeef",
                                      "00112233445566778899aabbccddeeff0",
                                      "00112233445566778899AABBCCDDEEFF"};
    for (size_t i = 0; i < 2 * sizeof ids / sizeof *ids; i++)
        ck_assert_double_eq(
            admit_session(a, &c, ids[i % (sizeof ids / sizeof *ids)], 100), 0);
}

TEST(local_clients_and_disabled_limits_are_free)
{
    struct admit_cfg cfg = {.proxy_header = "forwarded", .open_rate = .1};
    make(&cfg);
    struct admit_client home = client("127.0.0.1"), c = client("192.0.2.1");
    home.limited = false;
    for (int i = 0; i < 100; i++) {
        ck_assert_double_eq(admit_open(a, &home, 100), 0);
        ck_assert_double_eq(admit_address(a, &c, 100), 0);
    }
    /* a request of a test has no connection, so its address is unknown */
    struct http_request q = {.method = HTTP_GET, .path = "/"};
    admit_client(&c, a, &q);
    ck_assert(!c.known && !c.limited);
}

TEST(a_subscriber_has_one_allowance)
{
    struct admit_cfg cfg = admit_cfg_default();
    cfg.open_rate = 1 / ADMIT_OPEN_BURST_S; /* one at once */
    make(&cfg);
    struct admit_client c = client("2001:db8:1:2::3"), same = client("2001:db8:1:2:f::"),
                        next = client("2001:db8:1:3::3");
    ck_assert_double_eq(admit_open(a, &c, 100), 0);
    ck_assert_double_eq(admit_open(a, &same, 100), ADMIT_OPEN_BURST_S);
    ck_assert_double_eq(admit_open(a, &next, 100), 0);
}

TEST(bad_settings_are_errors)
{
    struct admit_cfg cfg = admit_cfg_default();
    e = (struct err){0};
    cfg.trust_proxy = "10.0.0.0/99";
    ck_assert_ptr_null(admit_new(&cfg, &e));
    ck_assert_str_eq(e.field, "trust-proxy");
    e = (struct err){0};
    cfg = admit_cfg_default();
    cfg.proxy_header = "via";
    ck_assert_ptr_null(admit_new(&cfg, &e));
    ck_assert_str_eq(e.field, "proxy-header");
}

static void *make_one(void *ctx, struct err *err)
{
    return admit_new(ctx, err);
}

static void destroy(void *made)
{
    admit_free(made);
}

TEST(memory_may_run_out)
{
    struct admit_cfg cfg = admit_cfg_default();
    ck_assert_int_eq(alloc_each_fails(make_one, destroy, &cfg), 7);
}

/* Viewers behind one address: the sessions and requests of them that the limits refuse. They begin at even
 * distances within start_s, ask every 4 s, and open another session every session_s. */
struct crowd {
    int viewers;
    double start_s, session_s, lasts_s;
};

static void crowd_play(const struct crowd *crowd, int *openings, int *requests)
{
    struct admit_client c = client("192.0.2.1");
    *openings = *requests = 0;
    for (int tick = 0; tick < (int)(crowd->lasts_s * 100); tick++) {
        double now = tick / 100.0, before = (tick - 1) / 100.0;
        for (int v = 0; v < crowd->viewers; v++) {
            double since = now - v * crowd->start_s / crowd->viewers;
            double was = before - v * crowd->start_s / crowd->viewers;
            if (since < 0) break;
            bool opens = was < 0 ||
                         (int)(since / crowd->session_s) != (int)(was / crowd->session_s);
            bool asks = opens || (int)(since / 4) != (int)(was / 4);
            if (asks) *requests += admit_address(a, &c, 1000 + now) > 0;
            if (opens) *openings += admit_open(a, &c, 1000 + now) > 0;
        }
    }
}

/* The defaults leave room for a carrier's NAT or a campus, and no more than they say (admit.h). */
TEST(a_crowd_behind_one_address_is_not_refused)
{
    static const struct {
        struct crowd crowd;
        bool fits;
    } crowds[] = {
        {{2000, 30, 600, 60}, true},   /* all begin the same programme */
        {{1800, 60, 60, 180}, true},   /* each watches clips of a minute */
        {{3900, 300, 600, 310}, true}, /* an evening */
        {{8000, 30, 600, 60}, false},  /* beyond the limits */
    };
    struct admit_cfg cfg = admit_cfg_default();
    for (size_t i = 0; i < sizeof crowds / sizeof *crowds; i++) {
        int openings, requests;
        teardown();
        make(&cfg);
        crowd_play(&crowds[i].crowd, &openings, &requests);
        ck_assert_msg((openings + requests == 0) == crowds[i].fits,
                      "crowd %zu: %d openings and %d requests refused", i, openings,
                      requests);
    }
}

/* One address cannot hold more than a fifth of the session table. */
TEST(one_address_holds_a_small_share_of_the_sessions)
{
    struct admit_cfg cfg = admit_cfg_default();
    const struct service_cfg service = service_cfg_default();
    make(&cfg);
    struct admit_client c = client("192.0.2.1");
    int held = 0;
    for (int i = 0; i < 1000 * (int)service.session_ttl_s; i++)
        held += admit_open(a, &c, 1000 + i / 1000.0) == 0;
    ck_assert_int_gt(held, 0);
    ck_assert_int_le(5 * held, service.max_sessions);
}

SUITE_SET_UP(serve_access_admit, 0, NULL, teardown, each_limit_counts_for_itself,
             refusals_outlive_a_change_of_the_limits,
             ids_that_are_no_session_are_not_limited,
             local_clients_and_disabled_limits_are_free, a_subscriber_has_one_allowance,
             a_crowd_behind_one_address_is_not_refused,
             one_address_holds_a_small_share_of_the_sessions, bad_settings_are_errors,
             memory_may_run_out);

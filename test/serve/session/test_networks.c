#include "serve/session/networks.h"

#include <check.h>
#include <math.h>
#include <stdio.h>

#include "abr/emulator/view.h"
#include "serve/session/core.h"
#include "support/served.h"
#include "support/suites.h"

/* n first chunks, each from another address. */
static void chunks(struct networks *n, uint64_t network, int count, double kbps)
{
    for (int i = 0; i < count; i++)
        networks_first_chunk(n, network, (uint64_t)i, kbps);
}

/* Within one bin below kbps. */
static void nearly(double got, double kbps)
{
    double step = exp(log(VIEW_KBPS_MAX / VIEW_KBPS_MIN) / NETWORKS_BINS);
    ck_assert_msg(got <= kbps * 1.0001 && got > kbps / step * .9999, "%g of %g", got,
                  kbps);
}

TEST(the_tenth_percentile_of_a_network)
{
    struct networks *n = networks_new(16, 1, NULL);
    chunks(n, 1, 3, 500);
    chunks(n, 1, NETWORKS_ENOUGH - 4, 5000);
    ck_assert_double_eq(networks_start_kbps(n, 1), 0);
    chunks(n, 1, 1, 5000);
    nearly(networks_start_kbps(n, 1), 500); /* 3 of 20 */
    chunks(n, 1, 10, 5000);
    nearly(networks_start_kbps(n, 1), 5000); /* 3 of 30: no more than a tenth */
    ck_assert_double_eq(networks_start_kbps(n, 2), 0);
    networks_free(n);
}

TEST(other_networks_count_when_there_are_enough)
{
    struct networks *n = networks_new(64, 1, NULL);
    for (uint64_t w = 1; w < 10; w++)
        chunks(n, w, NETWORKS_ALL_FREE, 800);
    ck_assert_double_eq(networks_start_kbps(n, 99), 0); /* 45 */
    chunks(n, 10, NETWORKS_ALL_FREE, 800);
    nearly(networks_start_kbps(n, 99), 800);
    chunks(n, 11, NETWORKS_ENOUGH, 9000);
    nearly(networks_start_kbps(n, 11), 9000); /* its own */
    nearly(networks_start_kbps(n, 99), 800);
    ck_assert_double_eq(networks_start_kbps(n, 0), 0);
    networks_first_chunk(n, 0, 1, 800);
    ck_assert_int_eq(networks_count(n), 11);
    networks_free(n);
}

/* However much one address or network reports, it has its share. */
TEST(liars_have_their_share)
{
    struct networks *n = networks_new(64, 1, NULL);
    for (int i = 0; i < 10000; i++)
        networks_first_chunk(n, 1, 5, 10);
    ck_assert_double_eq(networks_start_kbps(n, 1), 0); /* not even enough */
    for (uint64_t w = 1; w < 10; w++)
        for (int i = 0; i < 1000; i++)
            networks_first_chunk(n, w, w, 10);
    chunks(n, 20, 1, 4000);
    ck_assert_double_eq(networks_start_kbps(n, 99), 0); /* 46 */

    /* 30 honest addresses: the liar's 1e6 kbit/s do not hide their slow links */
    chunks(n, 21, 30, 2000);
    for (int i = 0; i < 10000; i++)
        networks_first_chunk(n, 21, 31, 1e6);
    nearly(networks_start_kbps(n, 21), 2000);
    networks_free(n);
}

TEST(old_chunks_lose_weight)
{
    struct networks *n = networks_new(4, 1, NULL);
    chunks(n, 1, 600, 500);
    nearly(networks_start_kbps(n, 1), 500);
    chunks(n, 1, 12000, 6000);
    nearly(networks_start_kbps(n, 1), 6000);
    networks_free(n);
}

TEST(the_least_recently_used_gives_way)
{
    struct networks *n = networks_new(3, 1, NULL);
    for (uint64_t w = 1; w <= 3; w++)
        chunks(n, w, NETWORKS_ENOUGH, 1000);
    chunks(n, 1, 1, 1000); /* used again */
    chunks(n, 4, 1, 1000); /* 2 gives way */
    ck_assert_int_eq(networks_count(n), 3);
    ck_assert_double_gt(networks_start_kbps(n, 1), 0);
    ck_assert_double_gt(networks_start_kbps(n, 3), 0);
    ck_assert_double_eq(networks_start_kbps(n, 2), 0);
    networks_free(n);
}

/* ---- in the service: first chunks of a network decide its next first level ---- */

static struct served f;

static void setup(void)
{
    served_begin(&f, false);
    f.cfg.explore_share = 0;
    served_start(&f);
}

static void teardown(void)
{
    served_end(&f);
}

static const char *label = ""; /* of the next sessions */

static int first_level_from(uint64_t network, uint64_t key, double kbps)
{
    struct session_open in = served_request(key, 48);
    snprintf(in.profile, sizeof in.profile, "standard");
    snprintf(in.labels.value[LABELS_NETWORK], LABELS_VALUE, "%s", label);
    struct session_opened o;
    service_worker_from(f.worker, key + 1, network);
    ck_assert_int_eq(service_open(&o, f.service, f.worker, &in, NULL), 0);
    struct reward_in r = {.has_outcome = true,
                          .outcome = {.level = o.first.level,
                                      .bytes = 100000,
                                      .download_s = 800 / kbps,
                                      .rebuffer_s = 800 / kbps}};
    struct reward_out out;
    ck_assert_int_eq(service_reward(&out, f.service, o.session, &r, NULL), 0);
    r.outcome = (struct outcome){
        .chunk = 1, .bytes = 100000, .download_s = 80}; /* later chunks do not count */
    ck_assert_int_eq(service_reward(&out, f.service, o.session, &r, NULL), 0);
    return o.first.level;
}

/* Of an unknown link only level 0 starts within 3 s: 750 kbit/s for 4 s at 538 kbit/s take 5.6 s. */
TEST(fast_networks_begin_higher)
{
    for (uint64_t key = 0; key < NETWORKS_ENOUGH; key++)
        ck_assert_int_eq(first_level_from(7, key, 20000), 0);
    ck_assert_int_gt(first_level_from(7, 50, 20000), 0);
    ck_assert_int_eq(first_level_from(8, 51, 20000), 0);
    ck_assert_int_eq(networks_count(f.service->networks), 2);
}

/* What is known of one kind of link says nothing of another one at the same address. */
TEST(the_label_network_tells_links_apart)
{
    label = "wifi";
    for (uint64_t key = 0; key < NETWORKS_ENOUGH; key++)
        ck_assert_int_eq(first_level_from(7, key, 20000), 0);
    ck_assert_int_gt(first_level_from(7, 50, 20000), 0);
    label = "cellular";
    ck_assert_int_eq(first_level_from(7, 51, 20000), 0);
    label = "";
    ck_assert_int_eq(first_level_from(7, 52, 20000), 0);
    ck_assert_int_eq(networks_count(f.service->networks), 3);
}

/* So that labels of one client cannot replace all networks. */
TEST(a_network_has_few_labels)
{
    uint64_t seen[NETWORKS_LABELS];
    int n = 0;
    for (int i = 0; i < 20 * NETWORKS_LABELS; i++) {
        char text[16];
        snprintf(text, sizeof text, "l%d", i);
        uint64_t of = networks_labelled(7, text);
        ck_assert_uint_ne(of, 0);
        ck_assert_uint_ne(of, networks_labelled(8, text));
        int k = 0;
        while (k < n && seen[k] != of)
            k++;
        if (k < n) continue;
        ck_assert_int_lt(n, NETWORKS_LABELS);
        seen[n++] = of;
    }
    ck_assert_int_gt(n, NETWORKS_LABELS / 2);
    ck_assert_uint_eq(networks_labelled(7, ""), 7);
}

SUITE_SET_UP(serve_session_networks, 0, setup, teardown,
             the_tenth_percentile_of_a_network,
             other_networks_count_when_there_are_enough, liars_have_their_share,
             old_chunks_lose_weight, the_least_recently_used_gives_way,
             fast_networks_begin_higher, the_label_network_tells_links_apart,
             a_network_has_few_labels);

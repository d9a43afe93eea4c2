/* Lies about what viewers without a hint were. The shipped policies serve emulated viewers before and
 * after the lies, on links that neither the policies nor the exam of merges know. Prints what each
 * profile got: build/release/check cli/emulate/labels. */
#include "abr/traces/corpus.h"
#include "abr/manifests/video.h"
#include "cli/emulate/viewers.h"
#include "serve/hintless/merge_exam.h"
#include "support/suites.h"
#include "support/untagged_viewers.h"

enum { LABELS = 419, SLOTS = 6, VIEWERS = 240, ROUTES = 3 };
static const char *const ROUTE[ROUTES] = {"default", "identify", "merge"};

/* Of the scale from the lowest level to the best (merge_exam.h), and of the mean QoE. */
static const double LOSS = .02;

struct seen {
    double qoe, stall_s, scaled;
};

struct figures {
    struct seen of[QOE_PRODUCT];
};

static void setup_shipped(void)
{
    setup();
    f.cfg.data_dir = NULL;
    f.cfg.policy_path = "deploy/policy/moe.safetensors";
    f.cfg.explore_share = 0;
    f.optional.hintless = hintless_cfg_default();
    f.optional.hintless.merge_policy = "deploy/policy/merge.safetensors";
    f.optional.hintless.exam_traces = "traces";
}

/* ---- honest viewers ---- */

static int honest_open(void *self, struct session_opened *out,
                       const struct session_open *in, struct err *e)
{
    struct session_open on = *in;
    (void)self;
    strcpy(on.content_id, "match");
    return service_open(out, f.service, f.worker, &on, e);
}

static int honest_ask(void *self, struct answer *out, const char *session,
                      const struct question *q, struct err *e)
{
    (void)self;
    return service_ask(out, f.service, f.worker, session, q, e);
}

static int honest_reward(void *self, struct reward_out *out, const char *session,
                         const struct reward_in *in, struct err *e)
{
    (void)self;
    return service_reward(out, f.service, session, in, e);
}

/* Time stands still: all of them watch in one slot. What waits for the store is written. */
static int honest_turn(void *self, double seconds, struct err *e)
{
    (void)self;
    (void)seconds;
    (void)e;
    service_tick(f.service);
    return 0;
}

static void play_on(struct seen *sums, struct corpus *links)
{
    struct video *video = video_default(NULL);
    struct viewers_cfg c = {.viewers = VIEWERS,
                            .at_once = 16,
                            .seed = 5,
                            .corpus = links,
                            .video = video,
                            .emu = emu_cfg_default(),
                            .n_profiles = QOE_PRODUCT,
                            .no_hint = 1};
    for (int v = 0; v < QOE_PRODUCT; v++) {
        strcpy(c.profile[v].name, qoe_profiles[v].name);
        c.profile[v].qoe = qoe_profiles[v].qoe;
    }
    struct backend backend = {.open = honest_open,
                              .ask = honest_ask,
                              .reward = honest_reward,
                              .turn = honest_turn};
    struct viewers_result r;
    struct err e = {0};
    ck_assert_ptr_nonnull(links);
    int rc = viewers_play(&r, &c, &backend, &e);
    ck_assert_msg(rc == 0, "%s: %s", e.field, e.detail);
    for (int v = 0; v < QOE_PRODUCT; v++) {
        const struct viewers_row *p = &r.profile[v];
        sums[v].qoe += p->reward / (double)p->chunks / 2;
        sums[v].stall_s += p->stall_s / (double)p->chunks / 2;
        sums[v].scaled += p->gain / p->room / 2;
    }
    video_free(video);
    corpus_free(links);
}

static struct figures viewers_get(void)
{
    struct figures out = {0};
    struct err e = {0};
    service_worker_from(f.worker, 0, 0);
    play_on(out.of, corpus_load("traces", CORPUS_TEST, &e));
    play_on(out.of, corpus_generate(NULL, 5, 320, 4242, &e));
    return out;
}

/* ---- the attack ---- */

/* All at once: the address of each label, 0 for one of its own each. */
static void lie(uint64_t from, const char *profile)
{
    static const struct watching any = {.content = "match", .mbps = 3};
    static uint64_t key;
    for (int i = 0; i < LABELS; i++) {
        struct watching w = any;
        w.label = profile;
        w.chunks = HINTLESS_WATCHED_CHUNKS;
        service_worker_from(f.worker, from, 0);
        watch(&w, 1u << 20 | key++);
        if (i % (LABELS / SLOTS) == LABELS / SLOTS - 1) next_slot();
    }
    next_slot();
}

static double show(const char *what, const char *route, const struct figures *before,
                   const struct figures *after)
{
    double worst = -1;
    for (int v = 0; v < QOE_PRODUCT; v++) {
        const struct seen *b = &before->of[v], *a = &after->of[v];
        double loss = b->scaled - a->scaled, of_qoe = 1 - a->qoe / b->qoe;
        worst = fmax(worst, fmax(loss, of_qoe)); /* no mean is near 0 here */
        printf("%-24s %-8s %-11s QoE %6.3f -> %6.3f  stalls %.3f -> %.3f s  "
               "scaled %.3f -> %.3f  loses %5.1f %% of it, %5.1f %% of its QoE\n",
               what, route, qoe_profiles[v].name, b->qoe, a->qoe, b->stall_s, a->stall_s,
               b->scaled, a->scaled, 100 * loss, 100 * of_qoe);
    }
    return worst;
}

static double attack(const char *what, enum hintless_mode mode, uint64_t from,
                     const char *profile)
{
    start(mode);
    struct figures before = viewers_get();
    lie(from, profile);
    struct figures after = viewers_get();
    double worst = show(what, ROUTE[mode], &before, &after);
    served_kill(&f);
    return worst;
}

TEST(labels_of_one_address_cost_nobody_two_percent)
{
    for (int mode = HINTLESS_DEFAULT; mode <= HINTLESS_MERGE; mode++)
        for (int v = 0; v < QOE_PRODUCT; v++) {
            char what[32];
            snprintf(what, sizeof what, "%d x %s, 1 address", LABELS,
                     qoe_profiles[v].name);
            double worst =
                attack(what, (enum hintless_mode)mode, 7, qoe_profiles[v].name);
            ck_assert_msg(worst <= LOSS, "%s, %s: %.4f", ROUTE[mode], what, worst);
        }
}

TEST(labels_of_many_addresses_cost_nobody_two_percent)
{
    for (int mode = HINTLESS_DEFAULT; mode <= HINTLESS_MERGE; mode++)
        for (int v = 0; v < QOE_PRODUCT; v++) {
            char what[32];
            snprintf(what, sizeof what, "%d x %s, as many", LABELS, qoe_profiles[v].name);
            double worst =
                attack(what, (enum hintless_mode)mode, 0, qoe_profiles[v].name);
            ck_assert_msg(worst <= LOSS, "%s, %s: %.4f", ROUTE[mode], what, worst);
        }
}

/* The test above can fail: without an exam the same lies do harm. */
TEST(without_an_exam_they_would)
{
    f.optional.hintless.exam_links = 0;
    /* a viewer to whom stalls are nearly free */
    static const double weights[QOE_WEIGHTS] = {4, .01, .01, 1};
    struct profile wild = {.name = "wild", .qoe = qoe_of_weights(weights)};
    for (int mode = HINTLESS_DEFAULT; mode <= HINTLESS_IDENTIFY; mode++) {
        start((enum hintless_mode)mode);
        ck_assert_int_eq(service_profile_put(f.service, &wild, NULL), 1);
        struct figures before = viewers_get();
        lie(0, "wild");
        struct figures after = viewers_get();
        ck_assert_double_gt(show("no exam", ROUTE[mode], &before, &after), 2 * LOSS);
        served_kill(&f);
    }
}

TEST(sessions_that_watched_nothing_count_nothing)
{
    start(HINTLESS_MERGE);
    struct hintless_stats before = stats();
    static const struct watching
        seven = {.content = "match", .label = "news", .mbps = 3, .chunks = 7},
        hinted = {.content = "match", .hint = "news", .mbps = 3, .chunks = 7};
    for (uint64_t k = 0; k < 10; k++) {
        struct session_opened o = open_session(&seven, k);
        ck_assert_int_eq(service_close(f.service, o.session, "news", NULL), 0);
        watch(&seven, 100 + k);
        watch(&hinted, 200 + k);
    }
    /* chunks of another level than decided are not followed */
    for (uint64_t k = 0; k < 10; k++) {
        struct session_opened o = open_session(&seven, 300 + k);
        struct answer a = o.first;
        for (int i = 1; i < 20; i++) {
            struct question q = ask_next(&seven, i, a.level ? 0 : 1);
            a = ask(&o, &q);
        }
        ck_assert_int_eq(service_close(f.service, o.session, "news", NULL), 0);
    }
    for (int t = 0; t < 3; t++)
        next_slot();
    struct hintless_stats after = stats();
    ck_assert_uint_eq(after.labels, 30);
    ck_assert_uint_eq(after.labels_unwatched, 40);
    ck_assert(!after.known);
    ck_assert_mem_eq(before.mix, after.mix, sizeof after.mix);

    /* and one chunk more does count */
    static const struct watching eight = {.label = "news", .mbps = 3, .chunks = 8};
    watch(&eight, 400);
    next_slot();
    ck_assert_double_gt(stats().mix[3], before.mix[3]);
    served_kill(&f);
}

/* False reports move the bandit as well: the merge that it wants is examined all the same. */
TEST(false_outcomes_do_not_pass_the_exam)
{
    f.optional.hintless.bandit.eta = .1;
    f.optional.hintless.bandit.gamma = 0;
    start(HINTLESS_MERGE);
    struct figures before = viewers_get();
    uint64_t key = 1u << 21;
    for (int t = 0; t < 30; t++) {
        for (int i = 0; i < 10; i++) {
            /* whatever is played is said to stall, so that anything else looks better */
            static const struct watching any = {.mbps = 3, .chunks = 12};
            struct session_opened o = open_session(&any, key++);
            struct answer a = o.first;
            for (int k = 1; k < any.chunks; k++) {
                struct question q = ask_next(&any, k, a.level);
                q.last.rebuffer_s = q.last.download_s = 50;
                q.last.bytes = 20000000;
                a = ask(&o, &q);
            }
        }
        next_slot();
    }
    struct figures after = viewers_get();
    ck_assert_uint_gt(stats().exam_refused, 0); /* it wanted another merge */
    ck_assert_double_le(show("false outcomes", "merge", &before, &after), LOSS);
    served_kill(&f);
}

/* A merge that was learned without an exam, as by an older program, is not served after a start. */
TEST(a_state_file_brings_no_merge_that_fails)
{
    f.cfg.data_dir = f.data;
    f.optional.hintless.exam_links = 0;
    start(HINTLESS_MERGE);
    struct figures before = viewers_get();
    lie(0, "news");
    struct hintless_stats bad = stats();
    service_drain(f.service, NULL);
    served_kill(&f);
    f.optional.hintless.exam_links = MERGE_EXAM_LINKS;
    served_start(&f);
    struct hintless_stats s = stats();
    ck_assert_uint_eq(s.refused, 0); /* the file was read */
    ck_assert_mem_eq(s.chosen, bad.chosen, sizeof *s.chosen);
    ck_assert_uint_eq(s.slots, bad.slots + 1); /* its slot was not gone on with */
    ck_assert_mem_ne(s.weight, bad.weight, sizeof s.weight);
    ck_assert_double_le(s.exam_loss, MERGE_EXAM_LOSS);
    struct figures after = viewers_get();
    ck_assert_double_le(show("state file", "merge", &before, &after), LOSS);

    /* one that passes is gone on with */
    service_drain(f.service, NULL);
    served_kill(&f);
    served_start(&f);
    ck_assert_uint_eq(stats().slots, s.slots);
    ck_assert_mem_eq(stats().weight, s.weight, sizeof s.weight);

    /* so it is with a mean hint */
    served_kill(&f);
    f.optional.hintless.exam_links = 0;
    start(HINTLESS_DEFAULT);
    lie(0, "documentary");
    ck_assert_int_eq(open_session(&(struct watching){.mbps = 3}, 7).first.by,
                     BY_MEAN_HINT);
    bad = stats();
    service_drain(f.service, NULL);
    served_kill(&f);
    f.optional.hintless.exam_links = MERGE_EXAM_LINKS;
    served_start(&f);
    ck_assert_uint_eq(stats().slots, bad.slots + 1);
    ck_assert_double_lt(stats().hint_share, 1);
    served_kill(&f);
}

static void nothing(void)
{
    served_end(&f);
}

SUITE_SET_UP(cli_emulate_labels, 300, setup_shipped, nothing,
             sessions_that_watched_nothing_count_nothing,
             labels_of_one_address_cost_nobody_two_percent,
             labels_of_many_addresses_cost_nobody_two_percent, without_an_exam_they_would,
             a_state_file_brings_no_merge_that_fails,
             false_outcomes_do_not_pass_the_exam);

/* Nodes with results of slots, around one bucket in memory. */
#include "serve/cluster/slot_share.h"

#include "serve/hintless/merge_exam.h"
#include "abr/emulator/quality.h"
#include "serve/cluster/envelope.h"
#include "serve/cluster/slot_log.h"
#include "support/buckets.h"
#include "support/capture.h"
#include "support/suites.h"
#include "support/untagged_viewers.h"

static const double SLOT_S = 300;

static struct buckets keys;
static struct bucket bucket;
static struct log said;
static double now, mono;

struct node {
    char path[600];
    uint64_t store, skipped; /* numbers of slots that never ended */
    struct hintless *u;
    struct slot_share *share;
};
static struct node a, b;

static void begin(struct node *n)
{
    struct policy_cfg router = policy_cfg_default(FEAT_FULL_DIM);
    struct err e = {0};
    struct hintless_new how = {.cfg = f.optional.hintless,
                               .router = &router,
                               .state_path = n->path,
                               .seed = 1,
                               .now = now,
                               .log = &said};
    n->u = hintless_new(&how, &e);
    ck_assert_msg(n->u != NULL, "%s: %s", e.field, e.detail);
    ck_assert_int_eq(hintless_share(n->u, n->store, 1000 * n->store + (uint64_t)mono, &e),
                     0);
    struct slot_share_cfg cfg = {
        .bucket = bucket, .hintless = n->u, .log = &said, .every_s = 30};
    n->share = slot_share_new(&cfg, &e);
}

static void stop(struct node *n)
{
    slot_share_free(n->share);
    hintless_free(n->u);
    n->u = NULL;
    n->share = NULL;
}

static void name(struct node *n, const char *what, uint64_t store)
{
    snprintf(n->path, sizeof n->path, "%s/%s.state", f.dir, what);
    n->store = store;
}

static void open_all(void)
{
    setup();
    f.optional.hintless.mode = HINTLESS_MERGE;
    bucket = buckets_open(&keys);
    said = log_init(STDERR_FILENO, LOG_ERROR, false);
    now = 1.7e9;
    mono = 1000;
    name(&a, "a", 1);
    name(&b, "b", 2);
    begin(&a);
    begin(&b);
}

static void close_all(void)
{
    stop(&a);
    stop(&b);
    buckets_free(&keys);
    teardown();
}

static struct hintless_stats of(struct node *n)
{
    struct hintless_stats s;
    hintless_stats(&s, n->u);
    return s;
}

static int turn(struct node *n)
{
    mono += 31;
    struct shared_value *v = slot_share_value(n->share);
    return shared_value_turn(&v, 1, false, mono, now, NULL);
}

/* A chunk of the slot under way, of the level that the weights love on average: the link bears 2. */
static void view_some(struct node *n)
{
    struct hintless_stats s = of(n);
    struct track_row row = {
        .levels = 6, .chunk_s = 4, .ladder_kbps = {300, 750, 1200, 1850, 2850, 4300}};
    quality_curve(row.points, row.ladder_kbps, NULL, row.levels);
    int level = (int)lround(3 * s.weight[1] + 5 * s.weight[2]);
    double download_s = row.ladder_kbps[level] * 4 / 2000;
    struct step step = {.flags = STEP_FOLLOWED | BY_MERGE * STEP_BY,
                        .policy = s.slots + 1 + n->skipped,
                        .level = (int8_t)level,
                        .last_level = (int8_t)level,
                        .bytes = (uint32_t)(row.ladder_kbps[level] * 500),
                        .download_s = download_s,
                        .rebuffer_s = fmax(0, download_s - 4)};
    for (int i = 0; i < 60; i++)
        hintless_chunk(n->u, &row, &step);
}

static void end_slot(struct node *n)
{
    ck_assert_int_eq(hintless_tick(n->u, now), 1);
}

/* A slot in which the node has viewers. */
static void view_slot(struct node *n)
{
    view_some(n);
    now += SLOT_S + 1;
    end_slot(n);
}

/* Slots of both, in step; only a has viewers. */
static void live(int slots)
{
    for (int t = 0; t < slots; t++) {
        view_slot(&a);
        ck_assert_int_eq(turn(&a), 0);
        ck_assert_int_eq(turn(&b), 0);
        end_slot(&b);
        ck_assert_int_eq(turn(&b), 0);
    }
}

TEST(who_saw_nobody_chooses_as_who_did)
{
    enum { SLOTS = 60 };
    live(SLOTS);
    struct hintless_stats x = of(&a), y = of(&b);
    ck_assert_uint_eq(x.slots - x.empty_slots, SLOTS);
    ck_assert_uint_eq(y.empty_slots, y.slots);
    ck_assert_uint_eq(x.given, SLOTS);
    ck_assert_uint_eq(y.heard, SLOTS);
    ck_assert_uint_eq(x.heard + y.given + x.missed + y.missed, 0);
    ck_assert_int_eq(x.pending + y.pending, 0);
    ck_assert_int_eq(y.makers, 1);
    ck_assert_double_eq(y.heard_at, now);
    ck_assert_int_eq(x.leaves, y.leaves);
    ck_assert_int_gt(y.leaves, 2);
    for (int k = 0; k < 3; k++)
        ck_assert_double_eq(x.weight[k], y.weight[k]);
    ck_assert_double_eq_tol(x.expected, y.expected, 1e-5);
    ck_assert_double_gt(x.weight[1], .5); /* who loves what the link bears */

    /* one that comes later hears it all */
    struct node c;
    name(&c, "c", 3);
    begin(&c);
    ck_assert_int_eq(turn(&c), 0);
    now += SLOT_S + 1;
    end_slot(&c);
    ck_assert_uint_eq(of(&c).heard, SLOTS);
    for (int k = 0; k < 3; k++)
        ck_assert_double_eq(of(&c).weight[k], y.weight[k]);
    stop(&c);
}

TEST(within_a_slot_nothing_changes)
{
    live(5);
    view_slot(&a);
    struct hintless_stats before = of(&b), after;
    ck_assert_int_eq(turn(&a), 0);
    ck_assert_int_eq(turn(&b), 0);
    after = of(&b);
    ck_assert_uint_eq(after.heard, before.heard);
    ck_assert_mem_eq(after.weight, before.weight, sizeof after.weight);
    ck_assert_double_eq(after.expected, before.expected);
}

static struct slot_log *read_log(void)
{
    static struct slot_log l;
    for (int i = 0; i < keys.n; i++)
        if (!strncmp(keys.value[i].key, "slots.", 6)) {
            ck_assert_int_eq(shared_value_decode(&l, &slot_log_kind, keys.value[i].data,
                                                 keys.value[i].n, NULL),
                             0);
            return &l;
        }
    return NULL;
}

TEST(each_slot_counts_once)
{
    live(2);
    /* the answer to a put is lost: it is found to have happened */
    view_slot(&a);
    keys.lose = 1;
    ck_assert_int_eq(turn(&a), ERR_IO);
    ck_assert_int_eq(of(&a).pending, 1);
    ck_assert_int_eq(turn(&a), 0);
    ck_assert_uint_eq(read_log()->count, 3);
    ck_assert_uint_eq(of(&a).given, 3);

    /* the bucket is away for some slots, and the node is started again */
    keys.away = true;
    for (int i = 0; i < 3; i++) {
        view_slot(&a);
        ck_assert_int_eq(turn(&a), ERR_IO);
    }
    stop(&a);
    begin(&a);
    ck_assert_int_eq(of(&a).pending, 3);
    keys.away = false;
    ck_assert_int_eq(turn(&a), 0);
    ck_assert_uint_eq(read_log()->count, 6);
    ck_assert_int_eq(read_log()->makers, 1);

    /* b has heard some when it is killed: after its start it learns all, none twice */
    ck_assert_int_eq(turn(&b), 0);
    stop(&b);
    begin(&b);
    ck_assert_int_eq(turn(&b), 0);
    ck_assert_int_eq(turn(&b), 0);
    now += SLOT_S + 1;
    end_slot(&b);
    ck_assert_uint_eq(of(&b).heard, 4); /* two were learned before */
    now += SLOT_S + 1;
    ck_assert_int_eq(turn(&b), 0);
    end_slot(&b);
    ck_assert_uint_eq(of(&b).heard, 4);
    /* and a has nothing to hear of its own */
    end_slot(&a);
    ck_assert_uint_eq(of(&a).heard, 0);
}

TEST(a_kill_between_two_slots_costs_one_number)
{
    live(2);
    view_some(&a);
    now += SLOT_S + 1;
    hintless_free(
        a.u); /* killed, as the slot ends: what was written says that it may have */
    a.u = NULL;
    size_t size;
    char *bytes = text_read_file(a.path, 1 << 24, &size, NULL);
    ck_assert_int_eq(bytes[12], 19);
    bytes[12] = 20;
    ck_assert_int_eq(text_write_file(a.path, bytes, size, NULL), 0);
    free(bytes);
    slot_share_free(a.share);
    begin(&a);
    ck_assert_int_eq(turn(&a), 0);
    ck_assert_uint_eq(read_log()->count, 2);

    /* the next one has a number of its own */
    a.skipped = 1;
    view_slot(&a);
    ck_assert_int_eq(turn(&a), 0);
    ck_assert_uint_eq(read_log()->count, 3);
    ck_assert_uint_eq(read_log()->record[2].number, 5);
    ck_assert_int_eq(read_log()->makers, 1);
}

TEST(two_that_put_at_once_lose_nothing)
{
    for (int t = 0; t < 6; t++) {
        view_some(&a);
        view_some(&b);
        now += SLOT_S + 1;
        end_slot(&a);
        end_slot(&b);
        ck_assert_int_eq(turn(&a), 0);
        ck_assert_int_eq(turn(&b), 0);
    }
    ck_assert_uint_eq(read_log()->count, 12);
    ck_assert_int_eq(turn(&a), 0);
    end_slot((now += SLOT_S + 1, &a));
    end_slot(&b);
    ck_assert_uint_eq(of(&a).heard, 6);
    ck_assert_uint_eq(of(&b).heard, 6);
}

TEST(a_state_that_was_lost_is_learned_again)
{
    live(4);
    stop(&a);
    ck_assert_int_eq(unlink(a.path), 0);
    begin(&a); /* another bandit, on the same node */
    ck_assert_int_eq(turn(&a), 0);
    now += SLOT_S + 1;
    end_slot(&a);
    ck_assert_uint_eq(of(&a).heard, 4);
    view_slot(&a);
    ck_assert_int_eq(turn(&a), 0);
    ck_assert_uint_eq(read_log()->count, 5); /* though its slot had this number before */
    ck_assert_int_eq(read_log()->makers, 2);
}

TEST(a_copy_is_another_node)
{
    live(3);
    struct node c = {.store = 9};
    size_t size;
    snprintf(c.path, sizeof c.path, "%s/copy.state", f.dir);
    char *bytes = text_read_file(a.path, 1 << 24, &size, NULL);
    ck_assert_int_eq(text_write_file(c.path, bytes, size, NULL), 0);
    free(bytes);
    begin(&c);
    for (int i = 0; i < 2; i++) { /* both go on */
        view_some(&a);
        view_some(&c);
        now += SLOT_S + 1;
        end_slot(&a);
        end_slot(&c);
        ck_assert_int_eq(turn(&a), 0);
        ck_assert_int_eq(turn(&c), 0);
    }
    ck_assert_uint_eq(read_log()->count, 7);
    now += SLOT_S + 1;
    end_slot(&c);
    ck_assert_uint_eq(of(&c).heard, 2); /* not what it knew as a copy */
    stop(&c);
}

/* The log is put again, of this form, as if it were about experts of this checksum. */
static void replace(int form, uint32_t experts_crc, uint32_t crc)
{
    struct slot_log *l = read_log();
    void *bytes;
    size_t n;
    char key[SLOT_LOG_KEY];
    slot_log_key(key, experts_crc);
    l->crc = crc;
    ck_assert_int_eq(shared_value_encode(&bytes, &n, &slot_log_kind, l, NULL), 0);
    envelope_seal(bytes, ENVELOPE_SLOTS, form, n - ENVELOPE_HEAD);
    ck_assert_int_eq(bucket.set(bucket.self, key, bytes, n, NULL), 0);
    free(bytes);
}

/* b takes two turns; what it says. */
static char *what_b_says(void)
{
    capture_begin(STDERR_FILENO);
    int rc = turn(&b);
    if (!rc) rc = turn(&b);
    char *text = capture_end();
    ck_assert_int_eq(rc, 0);
    return text;
}

TEST(what_is_for_others_is_refused_and_told_once)
{
    live(3);
    const uint32_t crc = read_log()->crc;
    for (int i = 0; i < 2; i++) {
        const char *says =
            i ? "this abrd reads forms 1 to 1: upgrade it" : "is about other experts";
        replace(i ? 2 : 1, crc, i ? crc : 5);
        view_slot(&b);
        uint64_t rev = keys.revs;
        char *text = what_b_says();
        const char *first = strstr(text, "refused, the node learns from its own slots");
        ck_assert_msg(first && strstr(first, says), "%s", text);
        ck_assert_ptr_null(strstr(first + 1, "refused"));
        free(text);
        ck_assert_uint_eq(keys.revs, rev); /* it is the others' */
        ck_assert_int_eq(of(&b).pending, 1 + i);
        ck_assert_uint_eq(of(&b).heard, 3);
    }
}

TEST(a_damaged_log_is_begun_anew)
{
    live(3);
    for (int k = 0; k < keys.n; k++)
        ((unsigned char *)keys.value[k].data)[keys.value[k].n - 1] ^= 1;
    view_slot(&b);
    char *text = what_b_says();
    ck_assert_msg(strstr(text, "is lost and begins anew") != NULL, "%s", text);
    free(text);
    ck_assert_uint_eq(read_log()->count, 1);
    ck_assert_int_eq(turn(&a), 0);
    end_slot(&a);
    ck_assert_uint_eq(of(&a).heard, 1);
}

TEST(other_experts_have_another_log)
{
    live(3);
    stop(&b);
    struct policy *p = ckpt_load(experts, NULL, NULL, NULL, NULL);
    p->actor->theta[0] += 1;
    ck_assert_int_eq(ckpt_save(experts, p, NULL, NULL, 0, NULL), 0);
    policy_free(p);
    begin(&b);
    ck_assert_int_eq(turn(&b), 0);
    view_slot(&b);
    ck_assert_int_eq(turn(&b), 0);
    ck_assert_uint_eq(of(&b).heard, 0);
    ck_assert_int_eq(buckets_count(&keys, "slots."), 2);
}

TEST(what_waits_too_long_is_let_go)
{
    keys.away = true;
    for (int i = 0; i < 130; i++) {
        view_slot(&a);
    }
    ck_assert_int_eq(of(&a).pending, 128);
    ck_assert_uint_eq(of(&a).missed, 2);
    keys.away = false;
    ck_assert_int_eq(turn(&a), 0);
    ck_assert_uint_eq(read_log()->count, 128);
    ck_assert_int_eq(of(&a).pending, 0);
}

/* What another node says of its slots: everything but the first expert, which stays at the lowest level,
 * earned nothing. The other way round would do little harm, since the guard bounds what is risked. */
static void lie(struct slot_log *l, const struct hintless_stats *x, uint32_t crc)
{
    struct slot_tasks tasks = {.n = x->tasks};
    memcpy(tasks.name, x->task, sizeof tasks.name);
    slot_log_begin(l, 5, crc, x->experts);
    for (int i = 0; i < 400; i++) {
        struct slot_record r = {.maker = 99, .number = 1 + (uint64_t)i};
        bool best = i % 2;
        r.x[best ? 0 : 1 + i / 2 % (x->experts - 1)] = 1;
        for (int v = 0; v < x->tasks; v++) {
            r.psi[v] = 1 / (float)x->tasks;
            r.reward[v] = best ? 1 : -1;
            r.trust[v] = 1;
        }
        ck_assert(slot_record_is(&r));
        slot_log_add(l, &r, &tasks);
    }
}

TEST(a_shared_lie_meets_the_exam_of_each_node)
{
    static struct slot_log l;
    struct node c;
    uint32_t crc;
    int n;
    stop(&a);
    make_experts_of((const float[]){4, 5, 4},
                    3); /* equal weights choose the best level */
    name(&a, "d", 4);
    begin(&a);
    f.optional.hintless.exam_links = 1;
    name(&c, "c", 3);
    begin(&c);
    ck_assert(hintless_shares(c.u, &crc, &n));
    struct hintless_stats x = of(&c);
    lie(&l, &x, crc);

    /* a has no exam and believes it */
    hintless_read_log(a.u, &l, now);
    hintless_read_log(c.u, &l, now);
    now += SLOT_S + 1;
    for (int t = 0; t < 3; t++) {
        now += SLOT_S + 1;
        end_slot(&a);
        end_slot(&c);
    }
    ck_assert_uint_eq(of(&a).heard, 400);
    ck_assert_uint_eq(of(&c).heard, 400);
    ck_assert_double_gt(of(&a).weight[0], .6);
    x = of(&c);
    ck_assert_uint_gt(x.exam_refused, 0);
    ck_assert_double_le(x.exam_loss, MERGE_EXAM_LOSS);
    ck_assert_double_lt(x.weight[0], .5);
    stop(&c);
}

SUITE_SET_UP(serve_cluster_slot_share, 60, open_all, close_all,
             who_saw_nobody_chooses_as_who_did, a_shared_lie_meets_the_exam_of_each_node,
             within_a_slot_nothing_changes, each_slot_counts_once,
             a_kill_between_two_slots_costs_one_number, two_that_put_at_once_lose_nothing,
             a_state_that_was_lost_is_learned_again, a_copy_is_another_node,
             what_is_for_others_is_refused_and_told_once, a_damaged_log_is_begun_anew,
             other_experts_have_another_log, what_waits_too_long_is_let_go);

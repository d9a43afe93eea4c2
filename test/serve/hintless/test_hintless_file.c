/* What is known of viewers without a hint outlives the process: restarts, modes, damage. */
#include "serve/session/core.h"
#include "sim/files.h"
#include "support/untagged_viewers.h"

static void same_stats(const struct hintless_stats *a, const struct hintless_stats *b)
{
    ck_assert_uint_eq(a->sessions, b->sessions);
    ck_assert_mem_eq(a->decisions, b->decisions, sizeof a->decisions);
    ck_assert_uint_eq(a->slots, b->slots);
    ck_assert_uint_eq(a->labels, b->labels);
    ck_assert_mem_eq(a->mix, b->mix, sizeof a->mix);
    ck_assert_mem_eq(a->weight, b->weight, sizeof a->weight);
    ck_assert_mem_eq(a->chosen, b->chosen, sizeof a->chosen);
    ck_assert_int_eq(a->leaves, b->leaves);
    ck_assert_int_eq(a->depth, b->depth);
    ck_assert_double_eq(a->regret, b->regret);
    ck_assert_double_eq(a->expected, b->expected);
}

/* Killed right after a slot began, it goes on as if nothing had been. */
START_TEST(a_restart_keeps_everything)
{
    start(HINTLESS_MERGE);
    live_through(0, 4);
    struct hintless_stats before = stats();
    served_kill(&f);
    served_start(&f);
    struct hintless_stats after = stats();
    same_stats(&before, &after);
    live_through(1000, 3);
    before = stats();

    /* the same life without a restart */
    served_end(&f);
    setup();
    f.cfg.data_dir = NULL;
    start(HINTLESS_MERGE);
    live_through(0, 4);
    live_through(1000, 3);
    after = stats();
    same_stats(&before, &after);
}
END_TEST

START_TEST(answers_are_the_same_after_a_kill)
{
    for (int mode = HINTLESS_DEFAULT; mode <= HINTLESS_MERGE; mode++) {
        served_end(&f);
        setup();
        start((enum hintless_mode)mode);
        live_through(0, 3);
        static const struct watching guest = {.content = "b", .mbps = 3, .chunks = 20};
        struct session_opened o = open_session(&guest, 500);
        struct question q1 = ask_next(&guest, 1, o.first.level);
        struct answer a1 = ask(&o, &q1);
        struct question q2 = ask_next(&guest, 2, a1.level);
        service_tick(f.service);            /* the store is flushed, the slot goes on */
        service_save_experience(f.service); /* as once a minute */
        served_kill(&f);
        served_start(&f);
        struct answer again = ask(&o, &q1);
        ck_assert_mem_eq(again.prob, a1.prob, sizeof a1.prob);
        ck_assert_int_eq(again.by, a1.by);
        ck_assert_uint_eq(again.policy, a1.policy);
        struct answer a2 = ask(&o, &q2);

        served_end(&f);
        setup();
        f.cfg.data_dir = NULL;
        start((enum hintless_mode)mode);
        live_through(0, 3);
        o = open_session(&guest, 500);
        a1 = ask(&o, &q1);
        struct answer twin = ask(&o, &q2);
        ck_assert_mem_eq(twin.prob, a2.prob, sizeof twin.prob);
        ck_assert_int_eq(twin.by, a2.by);
        ck_assert_uint_eq(twin.policy, a2.policy);
    }
}
END_TEST

static uint64_t slot_now(uint64_t key)
{
    static const struct watching guest = {.content = "b", .mbps = 3, .chunks = 20};
    struct session_opened o = open_session(&guest, key);
    ck_assert_int_eq(o.first.by, BY_MERGE);
    return o.first.policy;
}

START_TEST(a_slot_that_cannot_be_kept_does_not_begin)
{
    start(HINTLESS_MERGE);
    live_through(0, 2);
    uint64_t slot = slot_now(800);
    struct files_watch full = {.fail_from = 1, .fail_n = 1000};
    files_watch(&full);
    next_slot();
    ck_assert_int_gt(full.failed, 0);
    ck_assert_uint_eq(stats().slots, slot - 1);
    ck_assert_uint_eq(slot_now(801), slot);
    files_watch(NULL);
    service_tick(f.service);
    ck_assert_uint_eq(slot_now(802), slot + 1);
}
END_TEST

START_TEST(the_number_of_a_slot_is_not_given_twice)
{
    start(HINTLESS_MERGE);
    live_through(0, 2);
    uint64_t slot = slot_now(800);
    /* the end of this slot is written (three calls), the beginning of the next is not */
    struct files_watch full = {.fail_from = 4, .fail_n = 1000};
    files_watch(&full);
    next_slot();
    files_watch(NULL);
    ck_assert_int_gt(full.failed, 0);
    ck_assert_uint_eq(slot_now(801), slot + 1);
    served_kill(&f);
    served_start(&f);
    ck_assert_uint_eq(stats().refused, 0);
    ck_assert_uint_eq(slot_now(802), slot + 2);
    ck_assert_int_gt(stats().leaves, 1); /* and the bandit knows what it knew */
}
END_TEST

START_TEST(an_empty_chunk_does_not_spoil_the_file)
{
    start(HINTLESS_MERGE);
    static const struct watching guest = {.content = "b", .mbps = 3, .chunks = 20};
    struct session_opened o = open_session(&guest, 800);
    int level = o.first.level;
    for (int k = 1; k < 4; k++) {
        struct question q = ask_next(&guest, k, level);
        q.last.bytes = 0;
        level = ask(&o, &q).level;
    }
    ck_assert_int_eq(service_drain(f.service, NULL), 0);
    served_kill(&f);
    served_start(&f);
    ck_assert_uint_eq(stats().refused, 0);
}
END_TEST

START_TEST(a_drain_loses_nothing_of_the_slot)
{
    start(HINTLESS_MERGE);
    static const struct watching anyone = {.label = "news", .mbps = 2, .chunks = 20};
    for (uint64_t k = 0; k < 8; k++)
        watch(&anyone, k);
    ck_assert_int_eq(service_drain(f.service, NULL), 0);
    served_kill(&f);
    served_start(&f);
    ck_assert(!stats().known); /* still the same slot */
    ck_assert_uint_eq(stats().labels, 8);
    next_slot();
    struct hintless_stats s = stats();
    ck_assert(s.known);
    ck_assert_uint_eq(s.empty_slots, 0);
    ck_assert_int_gt(s.leaves, 1);
}
END_TEST

START_TEST(the_bandit_waits_while_another_mode_is_on)
{
    start(HINTLESS_MERGE);
    live_through(0, 4);
    struct hintless_stats merged = stats();
    ck_assert_int_gt(merged.leaves, 1);
    for (int mode = HINTLESS_DEFAULT; mode <= HINTLESS_IDENTIFY; mode++) {
        served_kill(&f);
        f.optional.hintless.merge_policy = NULL;
        start((enum hintless_mode)mode);
        ck_assert_int_eq(stats().experts, 0);
        live_through((uint64_t)(100 * mode) + 100, 1);
        ck_assert_uint_eq(stats().decisions[BY_MERGE], merged.decisions[BY_MERGE]);
    }
    served_kill(&f);
    f.optional.hintless.merge_policy = experts;
    start(HINTLESS_MERGE);
    struct hintless_stats s = stats();
    ck_assert_int_eq(s.leaves, merged.leaves);
    ck_assert_uint_eq(s.slots, 6);
    ck_assert_mem_eq(s.weight, merged.weight, sizeof s.weight);
    ck_assert_mem_eq(s.chosen, merged.chosen, sizeof s.chosen);

    /* other experts: what was learned about these is worth nothing */
    served_kill(&f);
    make_experts(2);
    served_start(&f);
    s = stats();
    ck_assert_int_eq(s.experts, 2);
    ck_assert_int_eq(s.leaves, 1);
    ck_assert(s.known); /* the mix is the same people's */
    ck_assert_uint_eq(s.refused, 0);
}
END_TEST

static unsigned form_of_file(void)
{
    char state[512];
    size_t n = 0;
    snprintf(state, sizeof state, "%s/untagged.state", f.data);
    unsigned char *bytes = (unsigned char *)text_read_file(state, 64 << 20, &n, NULL);
    ck_assert_ptr_nonnull(bytes);
    unsigned form = bytes[12];
    free(bytes);
    return form;
}

/* Its tasks were other profiles. */
START_TEST(a_file_of_an_older_version_starts_over)
{
    start(HINTLESS_MERGE);
    live_through(0, 2);
    served_kill(&f);
    char state[512], old[520];
    size_t n = 0;
    snprintf(state, sizeof state, "%s/untagged.state", f.data);
    snprintf(old, sizeof old, "%s.old", state);
    unsigned char *bytes = (unsigned char *)text_read_file(state, 64 << 20, &n, NULL);
    ck_assert_ptr_nonnull(bytes);
    bytes[12] = 1;
    ck_assert_int_eq(text_write_file(state, bytes, n, NULL), 0);
    free(bytes);
    served_start(&f);
    ck_assert_uint_eq(stats().refused, 0); /* nothing is damaged */
    ck_assert_int_eq(access(old, F_OK), 0);
    ck_assert_uint_eq(form_of_file(), 17); /* that of the new slot */
    ck_assert_uint_eq(stats().slots, 0);
}
END_TEST

/* Older programs read the file until a profile is deleted. */
START_TEST(a_deleted_profile_gives_the_file_another_form)
{
    start(HINTLESS_MERGE);
    struct profile p = {.name = "course", .qoe = qoe_of_weights((double[]){1, 9, 1, 1})};
    ck_assert_int_eq(service_profile_put(f.service, &p, NULL), 1);
    live_through(0, 2);
    ck_assert_uint_eq(form_of_file(), 17);
    ck_assert_int_eq(service_profile_delete(f.service, "course", NULL), 0);
    live_through(100, 2);
    ck_assert_uint_eq(form_of_file(), 21);
    struct hintless_stats before = stats();
    ck_assert_int_gt(before.leaves, 1);
    served_kill(&f);
    served_start(&f);
    struct hintless_stats after = stats();
    ck_assert_uint_eq(after.refused, 0);
    same_stats(&before, &after);
}
END_TEST

/* What a damaged file starts with: nothing, and a file to look at. */
static void starts_anew(uint64_t refused)
{
    char state[512], bad[600];
    snprintf(state, sizeof state, "%s/untagged.state", f.data);
    snprintf(bad, sizeof bad, "%s.bad", state);
    served_start(&f);
    struct hintless_stats s = stats();
    ck_assert_uint_eq(s.refused, refused);
    ck_assert(!s.known);
    ck_assert_uint_eq(s.slots, 0);
    ck_assert_int_eq(access(bad, F_OK), 0);
    ck_assert_int_eq(access(state, F_OK), 0); /* the fresh one */
    ck_assert_int_eq(unlink(bad), 0);
    served_kill(&f);
}

START_TEST(a_damaged_file_is_refused_and_kept)
{
    start(HINTLESS_MERGE);
    live_through(0, 2);
    served_kill(&f);
    char state[512];
    snprintf(state, sizeof state, "%s/untagged.state", f.data);
    size_t n = 0;
    char *bytes = text_read_file(state, 64 << 20, &n, NULL);
    ck_assert_ptr_nonnull(bytes);

    static const size_t at[] = {0, 9, 12, 17, 40, 5000};
    for (size_t i = 0; i < sizeof at / sizeof *at + 2; i++) {
        size_t flip = i < 6 ? at[i] : n - 1;
        bytes[flip] ^= 1;
        ck_assert_int_eq(text_write_file(state, bytes, i == 7 ? n - 1 : n, NULL), 0);
        bytes[flip] ^= 1;
        starts_anew(1);
    }
    ck_assert_int_eq(text_write_file(state, bytes, 5, NULL), 0);
    starts_anew(1);

    /* and the sound one is taken */
    ck_assert_int_eq(text_write_file(state, bytes, n, NULL), 0);
    served_start(&f);
    ck_assert_uint_eq(stats().slots, 2);
    ck_assert_uint_eq(stats().refused, 0);
    free(bytes);
}
END_TEST

Suite *suite_serve_hintless_hintless_file(void);
Suite *suite_serve_hintless_hintless_file(void)
{
    Suite *s = suite_create("serve/untagged_file");
    TCase *t = tcase_create("serve/untagged_file");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_restart_keeps_everything);
    tcase_add_test(t, answers_are_the_same_after_a_kill);
    tcase_add_test(t, a_slot_that_cannot_be_kept_does_not_begin);
    tcase_add_test(t, the_number_of_a_slot_is_not_given_twice);
    tcase_add_test(t, an_empty_chunk_does_not_spoil_the_file);
    tcase_add_test(t, a_drain_loses_nothing_of_the_slot);
    tcase_add_test(t, the_bandit_waits_while_another_mode_is_on);
    tcase_add_test(t, a_file_of_an_older_version_starts_over);
    tcase_add_test(t, a_deleted_profile_gives_the_file_another_form);
    tcase_add_test(t, a_damaged_file_is_refused_and_kept);
    suite_add_tcase(s, t);
    return s;
}

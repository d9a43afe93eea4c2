#include "serve/store/folder.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "learn/ckpt.h"
#include "support/sample.h"
#include "support/tmpdir.h"

static char dir[256], data[300], shipped[300];

static void save(const char *path, uint64_t version, const char *extra)
{
    struct policy *p = sample_policy(sample_cfg(MIX_DENSE));
    p->version = version;
    ck_assert_int_eq(ckpt_save(path, p, NULL, extra, extra ? strlen(extra) : 0, NULL), 0);
    policy_free(p);
}

static void setup(void)
{
    snprintf(dir, sizeof dir, "%s", tmpdir_new());
    snprintf(data, sizeof data, "%s/data", dir);
    snprintf(shipped, sizeof shipped, "%s/shipped", dir);
    save(shipped, 1, "not the learner's");
}

static void teardown(void)
{
    tmpdir_remove(dir);
}

START_TEST(one_user_at_a_time)
{
    struct folder a, b;
    struct err e = {0};
    ck_assert_int_eq(folder_open(&a, data, NULL), 0);
    ck_assert_int_eq(folder_open(&b, data, &e), ERR_CONFLICT);
    ck_assert_str_eq(e.field, data);
    folder_close(&a);
    ck_assert_int_eq(folder_open(&b, data, NULL), 0);
    folder_close(&b);
    folder_close(&b);

    ck_assert_int_eq(folder_open(&a, NULL, NULL), 0); /* nothing is kept */
    ck_assert_int_eq(a.lock, -1);
    e = (struct err){0};
    ck_assert_int_eq(folder_open(&a, shipped, &e), ERR_IO); /* a file is in the way */
}
END_TEST

/* The version of the weights a start would take; *learned: with the learner's state. */
static uint64_t begins_with(struct folder *f, bool *learned)
{
    void *state;
    size_t n;
    struct policy *p = folder_policy(f, shipped, NULL, &state, &n, NULL, NULL);
    ck_assert_ptr_nonnull(p);
    uint64_t version = p->version;
    if (learned) *learned = state != NULL;
    free(state);
    policy_free(p);
    return version;
}

START_TEST(the_newest_sound_weights_win)
{
    struct folder f;
    char prev[600], bad[600], text[] = "{\"not\": \"weights\"}";
    bool learned;
    ck_assert_int_eq(folder_open(&f, data, NULL), 0);
    snprintf(prev, sizeof prev, "%s.prev", f.policy);
    snprintf(bad, sizeof bad, "%s.bad", f.policy);

    ck_assert_uint_eq(begins_with(&f, &learned), 1);
    ck_assert(!learned);
    save(prev, 6, "state");
    save(f.policy, 7, "state");
    ck_assert_uint_eq(begins_with(&f, &learned), 7);
    ck_assert(learned);

    FILE *file = fopen(f.policy, "wb");
    fputs(text, file);
    fclose(file);
    ck_assert_uint_eq(begins_with(&f, NULL), 6);
    ck_assert_int_eq(access(bad, R_OK), 0); /* put aside, not deleted */
    ck_assert_int_ne(access(f.policy, R_OK), 0);
    ck_assert_int_eq(truncate(prev, 50), 0);
    ck_assert_uint_eq(begins_with(&f, NULL), 1);
    ck_assert_uint_eq(f.refused, 2);

    void *state;
    size_t n;
    struct err e = {0};
    ck_assert_ptr_null(folder_policy(&f, NULL, NULL, &state, &n, NULL, &e));
    ck_assert_int_eq(e.code, ERR_ABSENT);
    folder_close(&f);
}
END_TEST

START_TEST(what_cannot_be_served_is_refused)
{
    struct folder f;
    struct err e = {0};
    void *state;
    size_t n;
    struct policy *p = sample_policy(sample_cfg(MIX_DENSE));
    struct ckpt_meta meta = {0};
    ckpt_meta_set(&meta, "layout", "blind");
    ck_assert_int_eq(ckpt_save(shipped, p, &meta, NULL, 0, NULL), 0);
    policy_free(p);
    ck_assert_int_eq(folder_open(&f, NULL, NULL), 0);
    ck_assert_ptr_null(folder_policy(&f, shipped, NULL, &state, &n, NULL, &e));
    ck_assert_int_eq(e.code, ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(e.detail, "blind"));
    folder_close(&f);
}
END_TEST

Suite *suite_serve_store_folder(void);
Suite *suite_serve_store_folder(void)
{
    Suite *s = suite_create("serve/folder");
    TCase *t = tcase_create("serve/folder");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, one_user_at_a_time);
    tcase_add_test(t, the_newest_sound_weights_win);
    tcase_add_test(t, what_cannot_be_served_is_refused);
    suite_add_tcase(s, t);
    return s;
}

#include "learn/ckpt.h"

#include "base/bytes.h"
#include "base/text.h"
#include "support/alloc.h"
#include "support/sample.h"
#include "support/tmpdir.h"

#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

START_TEST(a_round_trip_loses_no_bit)
{
    struct policy_cfg c = sample_cfg((enum mix_route)_i);
    c.critic_route = c.route == MIX_DENSE_PROBS ? MIX_DENSE : c.route;
    c.critic_experts = c.experts;
    c.layers = 1 + _i % 3;
    if (_i % 2) c.prior = (struct mix_prior){1, 1, 7};
    struct policy *p = sample_policy(c);
    struct ckpt_meta m, back;
    sample_meta(&m);
    void *file, *again, *extra;
    size_t n, again_n, extra_n;
    sample_encode(&file, &n, p, &m, "trainer's state");

    struct err e = {0};
    struct policy *q = ckpt_decode(file, n, &back, &extra, &extra_n, &e);
    ck_assert_msg(q != NULL, "%s", e.detail);
    sample_same(p, q);
    ck_assert_uint_eq(extra_n, strlen("trainer's state"));
    ck_assert_mem_eq(extra, "trainer's state", extra_n);
    ck_assert_int_eq(back.n, 2);
    ck_assert_str_eq(ckpt_meta_get(&back, "command"), "abrd train --seed 7");
    ck_assert_str_eq(ckpt_meta_get(&back, "author"), ckpt_meta_get(&m, "author"));
    ck_assert_ptr_null(ckpt_meta_get(&back, "format"));

    ck_assert_int_eq(ckpt_encode(&again, &again_n, q, &back, extra, extra_n, NULL), 0);
    ck_assert_uint_eq(again_n, n);
    ck_assert_mem_eq(again, file, n);
    policy_free(q);

    q = ckpt_decode(file, n, NULL, NULL, NULL, NULL); /* nothing else asked for */
    sample_same(p, q);
    policy_free(q);
    policy_free(p);
    free(again);
    free(extra);
    free(file);
}
END_TEST

/* Who is set aside decides nowhere, wherever the weights have come; no word of it when nobody is. */
START_TEST(busy_experts_travel)
{
    struct policy_cfg c = sample_cfg(MIX_TOP1);
    c.critic_route = c.route;
    c.critic_experts = c.experts;
    struct policy *p = sample_policy(c);
    struct ckpt_meta m = {0};
    void *file, *idle;
    size_t n, idle_n;
    ck_assert_int_eq(ckpt_encode(&idle, &idle_n, p, NULL, NULL, 0, NULL), 0);
    ck_assert_ptr_null(memmem(idle, idle_n, "busy", 4));
    p->actor->busy = 2;
    p->critic->busy = 1;
    ck_assert_int_eq(ckpt_encode(&file, &n, p, NULL, NULL, 0, NULL), 0);
    struct policy *q = ckpt_decode(file, n, &m, NULL, NULL, NULL);
    ck_assert_ptr_nonnull(q);
    ck_assert_uint_eq(q->actor->busy, 2);
    ck_assert_uint_eq(q->critic->busy, 1);
    ck_assert_int_eq(m.n, 0); /* no word of the caller's */
    sample_same(p, q);
    policy_free(q);
    policy_free(p);
    free(idle);
    free(file);
}
END_TEST

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Removes a pair from the metadata, and computes the checksum again as ckpt.h says. */
static void file_without(void **file, size_t *n, const char *key)
{
    unsigned char *bytes = *file;
    uint64_t head = bytes_get_u64(bytes), data = *n - 8 - head;
    json_t *header = json_loadb((char *)bytes + 8, head, 0, NULL);
    json_t *meta = json_object_get(header, "__metadata__");
    ck_assert_int_eq(json_object_del(meta, key), 0);
    ck_assert_int_eq(json_object_del(meta, "crc32"), 0);
    uint32_t crc = bytes_crc32(0, bytes + 8 + head, data);
    const char *keys[64], *name;
    json_t *value;
    int count = 0;
    json_object_foreach(meta, name, value) keys[count++] = name;
    qsort(keys, (size_t)count, sizeof *keys, by_name);
    for (int i = 0; i < count; i++) {
        char pair[1024];
        int size = snprintf(pair, sizeof pair, "%s=%s\n", keys[i],
                            json_string_value(json_object_get(meta, keys[i])));
        crc = bytes_crc32(crc, pair, (size_t)size);
    }
    json_object_set_new(meta, "crc32", json_sprintf("%08x", crc));
    char *text = json_dumps(header, JSON_COMPACT);
    size_t text_n = strlen(text), padded = (text_n + 7) / 8 * 8;
    unsigned char *out = malloc(8 + padded + data);
    bytes_put_u64(out, padded);
    memset(out + 8, ' ', padded);
    memcpy(out + 8, text, text_n);
    memcpy(out + 8 + padded, bytes + 8 + head, data);
    json_decref(header);
    free(text);
    free(bytes);
    *file = out;
    *n = 8 + padded + data;
}

/* Numbers of the application are part of the weights, to the bit; a file without them has none. */
START_TEST(the_input_travels)
{
    struct policy *p = sample_policy(sample_cfg(MIX_TOP1));
    const float input[] = {1.5f, -2, .1f};
    policy_copy_input(p, input, 3);
    p->input_of = UINT32_MAX;
    void *file;
    size_t n;
    struct ckpt_meta m;
    sample_encode(&file, &n, p, NULL, NULL);
    struct policy *q = ckpt_decode(file, n, &m, NULL, NULL, NULL);
    sample_same(p, q);
    ck_assert_int_eq(q->input_n, 3);
    ck_assert_mem_eq(q->input, input, sizeof input);
    ck_assert_uint_eq(q->input_of, UINT32_MAX);
    ck_assert_int_eq(m.n, 0); /* no word of the caller's */
    policy_free(q);

    /* as an older program writes it: nobody knows what it belongs to */
    file_without(&file, &n, "input_of");
    q = ckpt_decode(file, n, NULL, NULL, NULL, NULL);
    ck_assert_ptr_nonnull(q);
    ck_assert_int_eq(q->input_n, 3);
    ck_assert_uint_eq(q->input_of, 0);
    policy_free(q);
    free(file);

    p->input[1] = NAN;
    ck_assert_int_eq(ckpt_encode(&file, &n, p, NULL, NULL, 0, NULL), ERR_NUMERIC);
    policy_copy_input(p, NULL, 0);
    sample_encode(&file, &n, p, NULL, NULL);
    q = ckpt_decode(file, n, NULL, NULL, NULL, NULL);
    ck_assert_int_eq(q->input_n, 0);
    policy_free(q);
    policy_free(p);
    free(file);
}
END_TEST

START_TEST(without_trainer_or_metadata)
{
    struct policy *p = sample_policy(sample_cfg(MIX_TOP1));
    void *file, *extra = &p;
    size_t n, extra_n = 99;
    struct ckpt_meta m = {.n = 5};
    sample_encode(&file, &n, p, NULL, NULL);
    struct policy *q = ckpt_decode(file, n, &m, &extra, &extra_n, NULL);
    sample_same(p, q);
    ck_assert_ptr_null(extra);
    ck_assert_uint_eq(extra_n, 0);
    ck_assert_int_eq(m.n, 0);
    policy_free(p);
    policy_free(q);
    free(file);
}
END_TEST

/* ---- damage */

/* a copy whose end is the end of a heap block: overruns show under asan */
static struct policy *decode_copy(const void *bytes, size_t n, struct err *e)
{
    void *copy = malloc(n ? n : 1);
    memcpy(copy, bytes, n);
    struct policy *p = ckpt_decode(copy, n, NULL, NULL, NULL, e);
    free(copy);
    return p;
}

START_TEST(truncated_anywhere)
{
    struct policy *p = sample_policy(sample_cfg(MIX_TOP1));
    void *file;
    size_t n;
    sample_encode(&file, &n, p, NULL, "state");
    for (size_t i = 0; i < n; i++) {
        struct err e = {0};
        ck_assert_msg(decode_copy(file, i, &e) == NULL, "%zu of %zu bytes", i, n);
        ck_assert_int_eq(e.code, ERR_CORRUPT);
    }
    policy_free(p);
    free(file);
}
END_TEST

START_TEST(damaged_anywhere)
{
    struct policy *p = sample_policy(sample_cfg(MIX_SINGLE));
    struct ckpt_meta m;
    sample_meta(&m);
    void *file;
    size_t n;
    sample_encode(&file, &n, p, &m, "state");
    unsigned char *b = file;
    size_t data_at = 8 + (size_t)bytes_get_u64(b);
    for (size_t i = 0; i < n; i++)
        for (int bit = 0; bit < 8; bit++) {
            if (i >= data_at && bit != (int)(i % 8)) continue;
            struct err e = {0};
            b[i] ^= (unsigned char)(1 << bit);
            ck_assert_msg(decode_copy(file, n, &e) == NULL, "byte %zu bit %d", i, bit);
            ck_assert_int_lt(e.code, 0);
            b[i] ^= (unsigned char)(1 << bit);
        }
    policy_free(p);
    free(file);
}
END_TEST

START_TEST(failure_changes_nothing)
{
    struct policy *p = sample_policy(sample_cfg(MIX_TOP1));
    void *file, *extra = &p;
    size_t n, extra_n = 77;
    struct ckpt_meta m = {.n = 1, .key = {"kept"}, .value = {"as it was"}};
    sample_encode(&file, &n, p, NULL, "state");
    ((unsigned char *)file)[n - 1] ^= 1;
    ck_assert_ptr_null(ckpt_decode(file, n, &m, &extra, &extra_n, NULL));
    ck_assert(extra == (void *)&p && extra_n == 77);
    ck_assert_str_eq(ckpt_meta_get(&m, "kept"), "as it was");
    policy_free(p);
    free(file);
}
END_TEST

/* ---- metadata of the caller */

START_TEST(meta_is_set_replaced_and_cut)
{
    struct ckpt_meta m = {0};
    ckpt_meta_set(&m, "a", "1");
    ckpt_meta_set(&m, "b", "2");
    ckpt_meta_set(&m, "a", "%s", "3");
    ck_assert_int_eq(m.n, 2);
    ck_assert_str_eq(ckpt_meta_get(&m, "a"), "3");
    ck_assert_ptr_null(ckpt_meta_get(&m, "c"));

    /* 510 letters and a character of two bytes: it goes as a whole */
    ckpt_meta_set(&m, "a", "%0510d\xc3\xab", 0);
    ck_assert_uint_eq(strlen(ckpt_meta_get(&m, "a")), 510);
    ckpt_meta_set(&m, "a", "%0509d\xc3\xab", 0);
    ck_assert_uint_eq(strlen(ckpt_meta_get(&m, "a")), 511);
    ckpt_meta_set(&m, "a", "%0600d", 0);
    ck_assert_uint_eq(strlen(ckpt_meta_get(&m, "a")), 511);
}
END_TEST

START_TEST(meta_that_cannot_be_written)
{
    struct policy *p = sample_policy(sample_cfg(MIX_TOP1));
    struct ckpt_meta m = {0};
    struct err e = {0};
    void *file;
    size_t n;
    ckpt_meta_set(&m, "hidden", "3");
    ck_assert_int_eq(ckpt_encode(&file, &n, p, &m, NULL, 0, &e), ERR_INVALID);
    ck_assert_str_eq(e.field, "hidden");
    m.n = 0;
    e = (struct err){0};
    ckpt_meta_set(&m, "name",
                  "a\xff"
                  "b\n"); /* made printable here ... */
    ck_assert_str_eq(ckpt_meta_get(&m, "name"), "a?b?");
    strcpy(m.value[0], "\xff\xfe"); /* ... but a caller may write its own */
    ck_assert_int_eq(ckpt_encode(&file, &n, p, &m, NULL, 0, &e), ERR_INVALID);
    ck_assert_str_eq(e.field, "name");
    policy_free(p);
}
END_TEST

/* ---- files */

START_TEST(saved_and_loaded)
{
    const char *dir = tmpdir_new(), *path = tmpdir_path(dir, "a.safetensors");
    struct policy *p = sample_policy(sample_cfg(MIX_DENSE));
    struct ckpt_meta m, back;
    sample_meta(&m);
    struct err e = {0};
    ck_assert_int_eq(ckpt_save(path, p, &m, "xyz", 3, &e), 0);
    void *extra;
    size_t extra_n;
    struct policy *q = ckpt_load(path, &back, &extra, &extra_n, &e);
    ck_assert_msg(q != NULL, "%s: %s", e.field, e.detail);
    sample_same(p, q);
    ck_assert_mem_eq(extra, "xyz", 3);
    free(extra);

    /* a save that fails leaves the old file: the name of the draft is taken by a folder
     */
    p->actor->theta[0] += 1.0f;
    ck_assert_int_eq(mkdir(tmpdir_path(dir, "a.safetensors.tmp"), 0755), 0);
    ck_assert_int_eq(ckpt_save(path, p, NULL, NULL, 0, &e), ERR_IO);
    struct policy *old = ckpt_load(path, NULL, NULL, NULL, NULL);
    sample_same(old, q);
    policy_free(old);
    policy_free(q);
    policy_free(p);
    tmpdir_remove(dir);
}
END_TEST

START_TEST(a_broken_policy_does_not_replace_a_good_one)
{
    const char *dir = tmpdir_new(), *path = tmpdir_path(dir, "c.safetensors");
    struct policy *p = sample_policy(sample_cfg(MIX_TOP1));
    struct err e = {0};
    ck_assert_int_eq(ckpt_save(path, p, NULL, NULL, 0, &e), 0);
    float *last = &p->critic->theta[p->critic->n - 1], *spots[] = {last, &p->ret_std};
    for (int i = 0; i < 2; i++) {
        float good = *spots[i];
        *spots[i] = NAN;
        e = (struct err){0};
        ck_assert_int_eq(ckpt_save(path, p, NULL, NULL, 0, &e), ERR_NUMERIC);
        *spots[i] = good;
    }
    struct policy *q = ckpt_load(path, NULL, NULL, NULL, NULL);
    sample_same(p, q);
    policy_free(p);
    policy_free(q);
    tmpdir_remove(dir);
}
END_TEST

START_TEST(errors_name_the_path)
{
    const char *dir = tmpdir_new(), *path = tmpdir_path(dir, "b.safetensors");
    struct err e = {0};
    ck_assert_ptr_null(ckpt_load(path, NULL, NULL, NULL, &e));
    ck_assert_int_eq(e.code, ERR_ABSENT);
    ck_assert_int_eq(strncmp(e.field, path, 63), 0);

    e = (struct err){0};
    ck_assert_int_eq(text_write_file(path, "no checkpoint", 13, &e), 0);
    ck_assert_ptr_null(ckpt_load(path, NULL, NULL, NULL, &e));
    ck_assert_int_eq(e.code, ERR_CORRUPT);
    ck_assert_int_eq(strncmp(e.field, path, 63), 0);

    struct policy *p = sample_policy(sample_cfg(MIX_TOP1));
    e = (struct err){0};
    ck_assert_int_eq(ckpt_save(tmpdir_path(dir, "no/such/dir"), p, NULL, NULL, 0, &e),
                     ERR_IO);
    policy_free(p);
    tmpdir_remove(dir);
}
END_TEST

/* ---- memory */

struct bytes {
    void *at;
    size_t n;
    struct policy *p;
};

static void *make_by_decoding(void *ctx, struct err *e)
{
    struct bytes *b = ctx;
    struct ckpt_meta m;
    void *extra = NULL;
    size_t extra_n;
    struct policy *p = ckpt_decode(b->at, b->n, &m, &extra, &extra_n, e);
    free(extra);
    return p;
}

static void destroy_policy(void *p)
{
    policy_free(p);
}

static void *make_by_encoding(void *ctx, struct err *e)
{
    struct bytes *b = ctx;
    struct ckpt_meta m;
    void *out = NULL;
    size_t n;
    sample_meta(&m);
    return ckpt_encode(&out, &n, b->p, &m, "state", 5, e) ? NULL : out;
}

START_TEST(every_allocation_may_fail)
{
    struct bytes b = {.p = sample_policy(sample_cfg(MIX_TOP1))};
    sample_encode(&b.at, &b.n, b.p, NULL, "state");
    ck_assert_int_gt(alloc_each_fails(make_by_decoding, destroy_policy, &b), 5);

    /* jansson's own as well; not when decoding, where its parser (2.14) writes behind a
     * block when it gets none */
    json_set_alloc_funcs(malloc, free);
    ck_assert_int_gt(alloc_each_fails(make_by_encoding, free, &b), 20);
    free(b.at);
    policy_free(b.p);
}
END_TEST

Suite *suite_learn_ckpt(void);
Suite *suite_learn_ckpt(void)
{
    Suite *s = suite_create("learn/ckpt");
    TCase *t = tcase_create("learn/ckpt");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, a_round_trip_loses_no_bit, 0, 5);
    tcase_add_test(t, busy_experts_travel);
    tcase_add_test(t, the_input_travels);
    tcase_add_test(t, without_trainer_or_metadata);
    tcase_add_test(t, truncated_anywhere);
    tcase_add_test(t, damaged_anywhere);
    tcase_add_test(t, failure_changes_nothing);
    tcase_add_test(t, meta_is_set_replaced_and_cut);
    tcase_add_test(t, meta_that_cannot_be_written);
    tcase_add_test(t, saved_and_loaded);
    tcase_add_test(t, a_broken_policy_does_not_replace_a_good_one);
    tcase_add_test(t, errors_name_the_path);
    tcase_add_test(t, every_allocation_may_fail);
    suite_add_tcase(s, t);
    return s;
}

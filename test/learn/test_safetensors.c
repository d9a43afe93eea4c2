/* Checkpoints as others see and make them: the file is taken apart and put together here,
 * without the code under test. */
#include "learn/ckpt.h"

#include "support/suites.h"

#include "base/bytes.h"
#include "support/sample.h"

#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parts {
    json_t *header;
    unsigned char *data;
    size_t n;
};

static struct parts take_apart(const void *file)
{
    const unsigned char *b = file;
    size_t header_n = 0;
    for (int i = 7; i >= 0; i--)
        header_n = header_n << 8 | b[i];
    ck_assert_uint_eq(header_n % 8, 0);
    ck_assert(b[8] == '{');
    struct parts p = {json_loadb((const char *)b + 8, header_n, 0, NULL), NULL, 0};
    ck_assert_ptr_nonnull(p.header);

    const char *key;
    json_t *value;
    json_object_foreach(p.header, key, value)
    {
        if (strcmp(key, "__metadata__") == 0) continue;
        size_t end = (size_t)json_integer_value(
            json_array_get(json_object_get(value, "data_offsets"), 1));
        if (end > p.n) p.n = end;
    }
    p.data = malloc(p.n);
    memcpy(p.data, b + 8 + header_n, p.n);
    return p;
}

static struct parts fresh_parts(const char *extra)
{
    struct policy *p = sample_policy(sample_cfg(MIX_TOP1));
    struct ckpt_meta m;
    sample_meta(&m);
    void *file;
    size_t n;
    sample_encode(&file, &n, p, &m, extra);
    struct parts parts = take_apart(file);
    policy_free(p);
    free(file);
    return parts;
}

static json_t *meta_of(struct parts *p)
{
    return json_object_get(p->header, "__metadata__");
}

/* the recipe of ckpt.h */
static void set_crc(struct parts *p)
{
    const char *keys[64], *key;
    json_t *value;
    int n = 0;
    json_object_foreach(meta_of(p), key, value)
    {
        if (strcmp(key, "crc32") == 0) continue;
        int i = n++;
        for (; i > 0 && strcmp(keys[i - 1], key) > 0; i--)
            keys[i] = keys[i - 1];
        keys[i] = key;
    }
    uint32_t crc = bytes_crc32(0, p->data, p->n);
    for (int i = 0; i < n; i++) {
        char line[1200];
        snprintf(line, sizeof line, "%s=%s\n", keys[i],
                 json_string_value(json_object_get(meta_of(p), keys[i])));
        crc = bytes_crc32(crc, line, strlen(line));
    }
    char text[16];
    snprintf(text, sizeof text, "%08x", crc);
    json_object_set_new(meta_of(p), "crc32", json_string(text));
}

static struct policy *load_parts(struct parts *p, struct err *e)
{
    char *text = json_dumps(p->header, 0);
    size_t header_n = strlen(text), n = 8 + header_n + p->n;
    unsigned char *file = malloc(n);
    bytes_put_u64(file, header_n);
    memcpy(file + 8, text, header_n);
    if (p->n) memcpy(file + 8 + header_n, p->data, p->n);
    struct policy *q = ckpt_decode(file, n, NULL, NULL, NULL, e);
    free(file);
    free(text);
    return q;
}

static void drop(struct parts *p)
{
    json_decref(p->header);
    free(p->data);
}

START_TEST(the_file_is_plain_safetensors)
{
    struct policy *p = sample_policy(sample_cfg(MIX_TOP1));
    struct parts f = fresh_parts("abc");
    size_t sum = 0;
    const char *key;
    json_t *value;
    json_object_foreach(f.header, key, value)
    {
        if (strcmp(key, "__metadata__") == 0) continue;
        json_int_t from, to, rows, cols = 1;
        const char *type;
        json_t *shape;
        ck_assert_int_eq(json_unpack(value, "{s:s, s:o, s:[I, I]}", "dtype", &type,
                                     "shape", &shape, "data_offsets", &from, &to),
                         0);
        ck_assert_uint_eq((size_t)from, sum); /* without gaps, in order */
        rows = json_integer_value(json_array_get(shape, 0));
        if (json_array_size(shape) == 2)
            cols = json_integer_value(json_array_get(shape, 1));
        int width = strcmp(key, "trainer") == 0 ? 1 : 4;
        ck_assert_str_eq(type, width == 1 ? "U8" : "F32");
        ck_assert_int_eq(to - from, rows * cols * width);
        sum = (size_t)to;
    }
    ck_assert_uint_eq(sum, 4 * (p->actor->n + p->critic->n) + 3);

    /* the second expert's head: router 2*3+2, expert 0 3*2+2+2*2+2, then 3*2+2 */
    json_t *head = json_object_get(f.header, "actor.expert.1.1.weight");
    json_int_t from =
        json_integer_value(json_array_get(json_object_get(head, "data_offsets"), 0));
    ck_assert_int_eq(from, 4 * (8 + 14 + 8));
    ck_assert_mem_eq(f.data + from, p->actor->theta + 30, 16);
    ck_assert_ptr_nonnull(json_object_get(f.header, "critic.expert.0.1.bias"));
    ck_assert_ptr_null(json_object_get(f.header, "critic.router.weight"));

    char *said = strdup(json_string_value(json_object_get(meta_of(&f), "crc32")));
    set_crc(&f);
    ck_assert_str_eq(said, json_string_value(json_object_get(meta_of(&f), "crc32")));
    free(said);
    drop(&f);
    policy_free(p);
}
END_TEST

START_TEST(tensors_in_another_order_load)
{
    struct policy *p = sample_policy(sample_cfg(MIX_TOP1));
    struct parts f = fresh_parts(NULL);
    json_t *w = json_object_get(f.header, "actor.router.weight");
    json_t *b = json_object_get(f.header, "actor.router.bias");
    unsigned char swapped[32]; /* 6 and 2 floats */
    memcpy(swapped, f.data + 24, 8);
    memcpy(swapped + 8, f.data, 24);
    memcpy(f.data, swapped, 32);
    json_object_set_new(b, "data_offsets", json_pack("[i, i]", 0, 8));
    json_object_set_new(w, "data_offsets", json_pack("[i, i]", 8, 32));
    set_crc(&f);

    struct err e = {0};
    struct policy *q = load_parts(&f, &e);
    ck_assert_msg(q != NULL, "%s", e.detail);
    sample_same(p, q);
    policy_free(q);
    policy_free(p);
    drop(&f);
}
END_TEST

/* ---- what is refused */

static void expect(struct parts *p, int code, const char *says)
{
    struct err e = {0};
    set_crc(p);
    struct policy *q = load_parts(p, &e);
    ck_assert_msg(q == NULL, "accepted, though: %s", says);
    ck_assert_msg(e.code == code && strstr(e.detail, says), "%s: %s (wanted %s)",
                  err_word(e.code), e.detail, says);
    ck_assert_str_eq(e.field, "checkpoint");
    drop(p);
}

static struct parts with_meta(const char *key, const char *value)
{
    struct parts p = fresh_parts(NULL);
    if (value)
        json_object_set_new(meta_of(&p), key, json_string(value));
    else
        json_object_del(meta_of(&p), key);
    return p;
}

static struct parts with_member(const char *tensor, const char *key, json_t *value)
{
    struct parts p = fresh_parts("x");
    json_object_set_new(json_object_get(p.header, tensor), key, value);
    return p;
}

START_TEST(metadata_that_is_wrong)
{
    static const struct {
        const char *key, *value;
        int code;
        const char *says;
    } bad[] = {
        {"format", NULL, ERR_INVALID, "something else (first tensor 'actor.router"},
        {"format", "abrd-9", ERR_INVALID, "has format 'abrd-9', this program reads"},
        {"hidden", NULL, ERR_INVALID, "lacks 'hidden'"},
        {"hidden", "many", ERR_INVALID, "'hidden': 'many' is not a whole number"},
        {"hidden", "3", ERR_INVALID, "wrong shape"},
        {"hidden", "100000", ERR_RANGE, "'hidden': 100000 is not within"},
        {"hidden", "-2", ERR_RANGE, "'hidden'"},
        {"actions", "13", ERR_RANGE, "'actions'"},
        {"layers", "3", ERR_INVALID, "tensor 'actor.expert.0.2.weight' is missing"},
        {"experts", "1", ERR_INVALID, "wrong shape"},
        {"route", "top2", ERR_INVALID, "'route': 'top2' is none of"},
        {"route", "single", ERR_RANGE, "'experts'"},
        {"critic_experts", "0", ERR_RANGE, "critic_experts"},
        {"ret_std", "0", ERR_RANGE, "'ret_std'"},
        {"ret_std", "nan", ERR_INVALID, "'ret_std'"},
        {"ret_mean", "1e300", ERR_RANGE, "'ret_mean'"},
        {"ret_mean", NULL, ERR_INVALID, "lacks 'ret_mean'"},
        {"version", "-1", ERR_INVALID, "'version'"},
        {"actor_busy", "all", ERR_INVALID, "'actor_busy'"},
        {"actor_busy", "3", ERR_RANGE, "'actor_busy': 3 leaves none of 2 experts idle"},
        {"critic_busy", "4", ERR_RANGE, "'critic_busy': 4 leaves none"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct parts p = with_meta(bad[i].key, bad[i].value);
        expect(&p, bad[i].code, bad[i].says);
    }

    struct parts p = fresh_parts(NULL);
    json_object_del(p.header, "__metadata__");
    json_object_set_new(p.header, "__metadata__", json_object());
    expect(&p, ERR_INVALID, "something else");
    p = fresh_parts(NULL);
    json_object_set_new(meta_of(&p), "seed", json_integer(3));
    struct err e = {0};
    ck_assert_ptr_null(load_parts(&p, &e));
    ck_assert_ptr_nonnull(strstr(e.detail, "'seed' is not a string"));
    drop(&p);
}
END_TEST

START_TEST(tensors_that_are_wrong)
{
    const char *w = "actor.router.weight";
    struct parts p = with_member(w, "dtype", json_string("F16"));
    expect(&p, ERR_INVALID, "'actor.router.weight' has type F16, not F32");
    p = with_member(w, "dtype", json_integer(3));
    expect(&p, ERR_INVALID, "has type none");
    p = with_member(w, "shape", json_pack("[i, i]", 3, 2));
    expect(&p, ERR_INVALID, "wrong shape");
    p = with_member(w, "shape", json_pack("[i]", 6));
    expect(&p, ERR_INVALID, "wrong shape");
    p = with_member(w, "shape", json_pack("[f, i]", 2.0, 3));
    expect(&p, ERR_INVALID, "wrong shape");
    p = with_member(w, "data_offsets", json_pack("[i, i]", 0, 20));
    expect(&p, ERR_CORRUPT, "has 20 bytes instead of 24");
    p = with_member(w, "data_offsets", json_pack("[i, i]", -24, 0));
    expect(&p, ERR_CORRUPT, "does not lie within");
    p = with_member(w, "data_offsets", json_pack("[i, i]", 24, 0));
    expect(&p, ERR_CORRUPT, "does not lie within");
    p = with_member(w, "data_offsets", json_pack("[i, i]", 4, 28));
    expect(&p, ERR_CORRUPT, "gap or overlap at byte 0");
    p = with_member("trainer", "dtype", json_string("F32"));
    expect(&p, ERR_INVALID, "'trainer' has type F32, not U8");

    p = fresh_parts(NULL);
    json_object_del(p.header, "critic.expert.0.0.bias");
    expect(&p, ERR_INVALID, "tensor 'critic.expert.0.0.bias' is missing");
    p = fresh_parts(NULL);
    json_object_set_new(p.header, "model.embed", json_object());
    expect(&p, ERR_INVALID, "foreign tensor 'model.embed'");
    p = fresh_parts(NULL);
    json_object_set_new(p.header, w, json_integer(1));
    expect(&p, ERR_INVALID, "has type none");

    /* bytes behind the last tensor, and too few of them */
    p = fresh_parts(NULL);
    p.data = realloc(p.data, p.n + 4);
    memset(p.data + p.n, 0, 4);
    p.n += 4;
    expect(&p, ERR_CORRUPT, "4 bytes follow its last tensor");
    p = fresh_parts(NULL);
    p.n -= 1;
    expect(&p, ERR_CORRUPT, "truncated");
}
END_TEST

START_TEST(weights_that_are_not_finite)
{
    const float bad[] = {NAN, INFINITY};
    for (int i = 0; i < 2; i++) {
        struct parts p = fresh_parts(NULL);
        memcpy(p.data + 12, &bad[i], 4);
        expect(&p, ERR_NUMERIC,
               i ? "'actor.router.weight' holds infinity at place 3"
                 : "'actor.router.weight' holds NaN at place 3");
    }
}
END_TEST

START_TEST(not_a_checkpoint_at_all)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *says;
    } bad[] = {
        {"", 0, "is 0 bytes long"},
        {"abc", 3, "is 3 bytes long"},
        {"\x89PNG\r\n\x1a\n and so on", 18, "no safetensors file"},
        {"\xff\xff\xff\xff\xff\xff\xff\xff{}", 10, "only 2 follow"},
        {"\x02\0\0\0\0\0\0\0[]", 10, "not a JSON object"},
        {"\x02\0\0\0\0\0\0\0{]", 10, "not JSON"},
        {"\0\0\0\0\0\0\0\0", 8, "not JSON"},
        {"\x02\0\0\0\0\0\0\0{}", 10, "something else"},
        {"\x13\0\0\0\0\0\0\0{\"a\":{\"b\":1,\"b\":1}}", 27, "duplicate"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = {0};
        ck_assert_ptr_null(ckpt_decode(bad[i].bytes, bad[i].n, NULL, NULL, NULL, &e));
        ck_assert_msg(strstr(e.detail, bad[i].says) != NULL, "%s (wanted %s)", e.detail,
                      bad[i].says);
    }
}
END_TEST

START_TEST(meta_that_does_not_fit)
{
    struct parts p = fresh_parts(NULL);
    char text[600];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    json_object_set_new(meta_of(&p), "long", json_string(text));
    set_crc(&p);
    struct policy *q = load_parts(&p, NULL); /* nobody asked for it */
    ck_assert_ptr_nonnull(q);
    policy_free(q);

    char *header = json_dumps(p.header, 0);
    size_t n = 8 + strlen(header) + p.n;
    unsigned char *file = malloc(n);
    bytes_put_u64(file, strlen(header));
    memcpy(file + 8, header, strlen(header));
    memcpy(file + 8 + strlen(header), p.data, p.n);
    struct ckpt_meta m;
    struct err e = {0};
    ck_assert_ptr_null(ckpt_decode(file, n, &m, NULL, NULL, &e));
    ck_assert_int_eq(e.code, ERR_RANGE);
    ck_assert_ptr_nonnull(strstr(e.detail, "'long'"));
    free(file);
    free(header);
    drop(&p);
}
END_TEST

SUITE(learn_safetensors, the_file_is_plain_safetensors, tensors_in_another_order_load,
      metadata_that_is_wrong, tensors_that_are_wrong, weights_that_are_not_finite,
      not_a_checkpoint_at_all, meta_that_does_not_fit);

#include "learn/ckpt.h"

#include "base/text.h"
#include "support/alloc.h"
#include "support/tmpdir.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bed {
    struct policy *base, *p; /* the mixture alone; with added experts */
    const char *dir, *path;
    char *file; /* as saved */
    size_t n;
};

static void bed_make(struct bed *b, int sigma)
{
    struct policy_cfg c = policy_cfg_default(5);
    c.actions = 4;
    c.hidden = 3;
    c.critic_hidden = 2;
    b->base = policy_new(&c, NULL);
    policy_init(b->base, 2);
    b->base->ret_mean = 1.5f;
    b->base->ret_std = .25f;
    b->base->version = 40;
    struct policy_added_cfg two = {2, (enum norga_sigma)sigma};
    b->p = policy_clone(b->base, NULL);
    ck_assert_int_eq(policy_add(b->p, &two, NULL, 0, 3, NULL), 0);
    struct policy_added *a = b->p->added;
    for (size_t i = 0; i < a->actor->n; i++)
        a->actor->theta[i] = (float)i / 7;
    a->version = 12;
    a->shape_learns = sigma % 2;
    b->dir = tmpdir_new();
    b->path = tmpdir_path(b->dir, "sports.safetensors");
    struct ckpt_meta meta = {0};
    ckpt_meta_set(&meta, "profile", "sports");
    ck_assert_int_eq(ckpt_save(b->path, b->p, &meta, "state", 5, NULL), 0);
    b->file = text_read_file(b->path, 1 << 20, &b->n, NULL);
    ck_assert_ptr_nonnull(b->file);
}

static void bed_free(struct bed *b)
{
    free(b->file);
    policy_free(b->p);
    policy_free(b->base);
    tmpdir_remove(b->dir);
}

START_TEST(a_round_trip_loses_no_bit)
{
    struct bed b;
    bed_make(&b, _i);
    struct ckpt_meta meta;
    void *state;
    size_t n;
    struct policy *p = ckpt_load_any(b.path, &meta, &state, &n, NULL);
    ck_assert_ptr_nonnull(p);
    const struct policy_added *is = p->added, *was = b.p->added;
    ck_assert(!memcmp(&p->cfg, &b.p->cfg, sizeof p->cfg));
    ck_assert(!memcmp(is->actor->theta, was->actor->theta, is->actor->n * sizeof(float)));
    ck_assert(
        !memcmp(is->critic->theta, was->critic->theta, is->critic->n * sizeof(float)));
    ck_assert_uint_eq(policy_crc32(p), policy_crc32(b.base));
    ck_assert(p->ret_mean == 1.5f && p->ret_std == .25f && p->version == 40);
    ck_assert_uint_eq(is->version, 12);
    ck_assert_uint_eq(is->base_version, 40);
    ck_assert(is->shape_learns == (_i % 2) && policy_added_fits(is, b.base));
    ck_assert_int_eq(meta.n, 1);
    ck_assert_str_eq(ckpt_meta_get(&meta, "profile"), "sports");
    ck_assert_uint_eq(n, 5);
    ck_assert(!memcmp(state, "state", 5));
    free(state);
    policy_free(p);

    /* tensor names, for whoever reads the file with numpy */
    static const char *const names[] = {"\"base.actor.expert.2.0.weight\"",
                                        "\"actor.shape\"", "\"critic.score.bias\"",
                                        "\"actor.new.1.2.bias\""};
    for (int i = 0; i < 4; i++)
        ck_assert_ptr_nonnull(memmem(b.file, b.n, names[i], strlen(names[i])));
    bed_free(&b);
}
END_TEST

static int try(struct bed *b, size_t n, struct err *e)
{
    *e = (struct err){0};
    struct policy *p = ckpt_decode_any(b->file, n, NULL, NULL, NULL, e);
    ck_assert(!p == (e->code != 0));
    policy_free(p);
    return e->code;
}

START_TEST(damaged_or_truncated_anywhere)
{
    struct bed b;
    bed_make(&b, NORGA_TANH);
    struct err e;
    ck_assert_int_eq(try(&b, b.n, &e), 0);
    for (size_t n = 0; n < b.n; n += 1 + n / 16)
        ck_assert_int_ne(try(&b, n, &e), 0);
    for (size_t i = 0; i < b.n; i += 5) {
        b.file[i] ^= 4;
        ck_assert_msg(try(&b, b.n, &e) != 0, "byte %zu may be damaged", i);
        ck_assert(e.detail[0]);
        b.file[i] ^= 4;
    }
    ck_assert_int_eq(try(&b, b.n, &e), 0);
    bed_free(&b);
}
END_TEST

START_TEST(only_whole_and_only_as_asked)
{
    struct bed b;
    bed_make(&b, NORGA_TANH);
    struct err e = {0};
    const char *plain = tmpdir_path(b.dir, "policy.safetensors");
    ck_assert_int_eq(ckpt_save(plain, b.base, NULL, NULL, 0, NULL), 0);
    struct policy *p = ckpt_load_any(plain, NULL, NULL, NULL, NULL);
    ck_assert(p && !p->added);
    policy_free(p);
    ck_assert_ptr_null(ckpt_load(b.path, NULL, NULL, NULL, &e));
    ck_assert_int_eq(e.code, ERR_INVALID);
    ck_assert_str_eq(e.field, b.path);
    e = (struct err){0};
    ck_assert_ptr_null(ckpt_load_any(tmpdir_path(b.dir, "none"), NULL, NULL, NULL, &e));
    ck_assert_int_eq(e.code, ERR_ABSENT);

    /* what cannot be loaded does not replace what can */
    b.p->added->critic->theta[3] = NAN;
    e = (struct err){0};
    ck_assert_int_eq(ckpt_save(b.path, b.p, NULL, NULL, 0, &e), ERR_NUMERIC);
    p = ckpt_load_any(b.path, NULL, NULL, NULL, NULL);
    ck_assert_ptr_nonnull(p);
    struct ckpt_meta meta = {0};
    ckpt_meta_set(&meta, "graft_gate", "relu");
    ck_assert_int_eq(ckpt_save(b.path, p, &meta, NULL, 0, NULL), ERR_INVALID);
    policy_free(p);
    bed_free(&b);
}
END_TEST

static void *load(void *ctx, struct err *e)
{
    struct bed *b = ctx;
    void *state;
    size_t n;
    struct ckpt_meta meta;
    struct policy *p = ckpt_decode_any(b->file, b->n, &meta, &state, &n, e);
    if (p) free(state);
    return p;
}

static void unload(void *made)
{
    policy_free(made);
}

static void *save(void *ctx, struct err *e)
{
    struct bed *b = ctx;
    return ckpt_save(b->path, b->p, NULL, "x", 1, e) ? NULL : b;
}

static void saved(void *made)
{
    (void)made;
}

START_TEST(memory_runs_out)
{
    struct bed b;
    bed_make(&b, NORGA_GELU);
    alloc_each_fails(load, unload, &b);
    alloc_each_fails(save, saved, &b);
    bed_free(&b);
}
END_TEST

Suite *suite_learn_ckpt_added(void);
Suite *suite_learn_ckpt_added(void)
{
    Suite *s = suite_create("learn/ckpt_added");
    TCase *t = tcase_create("learn/ckpt_added");
    tcase_add_loop_test(t, a_round_trip_loses_no_bit, 0, 4);
    tcase_add_test(t, damaged_or_truncated_anywhere);
    tcase_add_test(t, only_whole_and_only_as_asked);
    tcase_add_test(t, memory_runs_out);
    suite_add_tcase(s, t);
    return s;
}

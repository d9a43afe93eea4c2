#include "learn/growth_ckpt.h"

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
    struct policy *base;
    struct graft *graft;
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
    struct graft_cfg gc = {c, 2, (enum norga_sigma)sigma};
    b->graft = graft_new(&gc, NULL);
    ck_assert_int_eq(graft_init(b->graft, b->base, NULL, 0, 3, NULL), 0);
    for (size_t i = 0; i < b->graft->actor->n; i++)
        b->graft->actor->theta[i] = (float)i / 7;
    b->graft->version = 12;
    b->graft->shape_learns = sigma % 2;
    b->dir = tmpdir_new();
    b->path = tmpdir_path(b->dir, "sports.safetensors");
    struct ckpt_meta meta = {0};
    ckpt_meta_set(&meta, "profile", "sports");
    ck_assert_int_eq(
        growth_ckpt_save(b->path, b->base, b->graft, &meta, "state", 5, NULL), 0);
    b->file = text_read_file(b->path, 1 << 20, &b->n, NULL);
    ck_assert_ptr_nonnull(b->file);
}

static void bed_free(struct bed *b)
{
    free(b->file);
    graft_free(b->graft);
    policy_free(b->base);
    tmpdir_remove(b->dir);
}

START_TEST(a_round_trip_loses_no_bit)
{
    struct bed b;
    bed_make(&b, _i);
    struct policy *base;
    struct graft *g;
    struct ckpt_meta meta;
    void *state;
    size_t n;
    ck_assert_int_eq(growth_ckpt_load(&base, &g, b.path, &meta, &state, &n, NULL), 0);
    ck_assert(!memcmp(&g->cfg, &b.graft->cfg, sizeof g->cfg));
    ck_assert(
        !memcmp(g->actor->theta, b.graft->actor->theta, g->actor->n * sizeof(float)));
    ck_assert(
        !memcmp(g->critic->theta, b.graft->critic->theta, g->critic->n * sizeof(float)));
    ck_assert(!memcmp(base->actor->theta, b.base->actor->theta,
                      base->actor->n * sizeof(float)));
    ck_assert(!memcmp(base->critic->theta, b.base->critic->theta,
                      base->critic->n * sizeof(float)));
    ck_assert(base->ret_mean == 1.5f && base->ret_std == .25f && base->version == 40);
    ck_assert_uint_eq(g->version, 12);
    ck_assert_uint_eq(g->base_version, 40);
    ck_assert(g->shape_learns == (_i % 2) && graft_fits(g, base));
    ck_assert_int_eq(meta.n, 1);
    ck_assert_str_eq(ckpt_meta_get(&meta, "profile"), "sports");
    ck_assert_uint_eq(n, 5);
    ck_assert(!memcmp(state, "state", 5));
    free(state);
    graft_free(g);
    policy_free(base);

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
    struct policy *base = (struct policy *)b;
    struct graft *g = (struct graft *)b;
    *e = (struct err){0};
    int rc = growth_ckpt_decode(&base, &g, b->file, n, NULL, NULL, NULL, e);
    if (rc) {
        ck_assert(base == (struct policy *)b && g == (struct graft *)b);
    } else {
        graft_free(g);
        policy_free(base);
    }
    return rc;
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

START_TEST(only_whole_and_only_its_own_kind)
{
    struct bed b;
    bed_make(&b, NORGA_TANH);
    struct err e = {0};
    struct policy *base = NULL;
    struct graft *g = NULL;
    const char *plain = tmpdir_path(b.dir, "policy.safetensors");
    ck_assert_int_eq(ckpt_save(plain, b.base, NULL, NULL, 0, NULL), 0);
    ck_assert_int_eq(growth_ckpt_load(&base, &g, plain, NULL, NULL, NULL, &e),
                     ERR_INVALID);
    ck_assert_str_eq(e.field, plain);
    ck_assert_ptr_null(ckpt_load(b.path, NULL, NULL, NULL, NULL));
    e = (struct err){0};
    ck_assert_int_eq(
        growth_ckpt_load(&base, &g, tmpdir_path(b.dir, "none"), NULL, NULL, NULL, &e),
        ERR_ABSENT);

    /* what cannot be loaded does not replace what can */
    b.graft->critic->theta[3] = NAN;
    e = (struct err){0};
    ck_assert_int_eq(growth_ckpt_save(b.path, b.base, b.graft, NULL, NULL, 0, &e),
                     ERR_NUMERIC);
    ck_assert_int_eq(growth_ckpt_load(&base, &g, b.path, NULL, NULL, NULL, NULL), 0);
    ck_assert_ptr_nonnull(g);
    struct ckpt_meta meta = {0};
    ckpt_meta_set(&meta, "graft_gate", "relu");
    ck_assert_int_eq(growth_ckpt_save(b.path, base, g, &meta, NULL, 0, NULL),
                     ERR_INVALID);
    graft_free(g);
    policy_free(base);
    bed_free(&b);
}
END_TEST

struct pair {
    struct policy *base;
    struct graft *g;
};

static void *load(void *ctx, struct err *e)
{
    struct bed *b = ctx;
    static struct pair p;
    void *state;
    size_t n;
    struct ckpt_meta meta;
    if (growth_ckpt_decode(&p.base, &p.g, b->file, b->n, &meta, &state, &n, e))
        return NULL;
    free(state);
    return &p;
}

static void unload(void *made)
{
    struct pair *p = made;
    graft_free(p->g);
    policy_free(p->base);
}

static void *save(void *ctx, struct err *e)
{
    struct bed *b = ctx;
    return growth_ckpt_save(b->path, b->base, b->graft, NULL, "x", 1, e) ? NULL : b;
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

Suite *suite_learn_growth_ckpt(void);
Suite *suite_learn_growth_ckpt(void)
{
    Suite *s = suite_create("rl/growth_ckpt");
    TCase *t = tcase_create("rl/growth_ckpt");
    tcase_add_loop_test(t, a_round_trip_loses_no_bit, 0, 4);
    tcase_add_test(t, damaged_or_truncated_anywhere);
    tcase_add_test(t, only_whole_and_only_its_own_kind);
    tcase_add_test(t, memory_runs_out);
    suite_add_tcase(s, t);
    return s;
}

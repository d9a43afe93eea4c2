#include "abr/traces/corpus.h"

#include "abr/traces/gen.h"
#include "base/bytes.h"
#include "support/alloc.h"
#include "support/shared.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *dir;

static void set_up(void)
{
    dir = tmpdir_new();
}

TEST(files_in_name_order)
{
    tmpdir_put(dir, "b", "0 2\n1 2\n");
    tmpdir_put(dir, "a", "0 1\n1 1\n");
    tmpdir_put(dir, "c.json", "[{\"duration_ms\": 1000, \"bandwidth_kbps\": 3000}]");
    tmpdir_put(dir, ".hidden", "nonsense");
    tmpdir_put(dir, "README.md", "nonsense");
    ck_assert_int_eq(mkdir(tmpdir_path(dir, "folder"), 0755), 0);
    struct err e = {0};
    struct corpus *c = corpus_load(dir, CORPUS_ALL, &e);
    ck_assert_msg(c != NULL, "%s: %s", e.field, e.detail);
    ck_assert_int_eq(c->n, 3);
    for (int i = 0; i < 3; i++)
        ck_assert_double_eq(c->traces[i]->mbps[1], i + 1);
    ck_assert_str_eq(c->name, strrchr(dir, '/') + 1);
    corpus_free(c);
}

TEST(parts_are_disjoint_and_complete)
{
    struct err e = {0};
    struct corpus *all = corpus_load("traces", CORPUS_ALL, &e);
    struct corpus *train = corpus_load("traces", CORPUS_TRAIN, &e);
    struct corpus *test = corpus_load("traces/", CORPUS_TEST, &e);
    ck_assert_msg(all && train && test, "%s: %s", e.field, e.detail);
    ck_assert_str_eq(test->name, "traces");
    ck_assert_int_eq(all->n, 60);
    ck_assert_int_eq(train->n + test->n, all->n);
    for (int i = 0; i < test->n; i++) {
        const char *name = test->traces[i]->name;
        ck_assert_uint_eq(bytes_crc32(0, name, strlen(name)) % 4, 0);
    }

    /* every kind is in both */
    for (int k = 0; gen_kinds[k]; k++) {
        size_t len = strlen(gen_kinds[k]);
        int seen = 0;
        for (int i = 0; i < test->n; i++)
            seen |= !strncmp(test->traces[i]->name, gen_kinds[k], len);
        for (int i = 0; i < train->n; i++)
            seen |= 2 * !strncmp(train->traces[i]->name, gen_kinds[k], len);
        ck_assert_msg(seen == 3, "%s", gen_kinds[k]);
    }
    corpus_free(test);
    corpus_free(train);
    corpus_free(all);
}

TEST(one_bad_file_fails_the_load)
{
    tmpdir_put(dir, "a", "0 1\n1 1\n");
    tmpdir_put(dir, "b", "0 1\n1 x\n");
    struct err e = {0};
    ck_assert_ptr_null(corpus_load(dir, CORPUS_ALL, &e));
    ck_assert_str_eq(e.field, "b:2");
}

TEST(empty_and_absent_folders)
{
    struct err e = {0};
    ck_assert_ptr_null(corpus_load(dir, CORPUS_ALL, &e));
    ck_assert_int_eq(e.code, ERR_ABSENT);
    e = (struct err){0};
    ck_assert_ptr_null(corpus_load(tmpdir_path(dir, "none"), CORPUS_ALL, &e));
    ck_assert_int_eq(e.code, ERR_ABSENT);
    tmpdir_put(dir, "a", "0 1\n1 1\n");
    e = (struct err){0};
    ck_assert_ptr_null(corpus_load(tmpdir_path(dir, "a"), CORPUS_ALL, &e));
    ck_assert_int_eq(e.code, ERR_IO);

    /* a folder whose only trace is in the other part */
    bool test = bytes_crc32(0, "a", 1) % 4 == 0;
    e = (struct err){0};
    ck_assert_ptr_null(corpus_load(dir, test ? CORPUS_TRAIN : CORPUS_TEST, &e));
    ck_assert_int_eq(e.code, ERR_ABSENT);
    ck_assert_ptr_nonnull(strstr(e.detail, "part"));
}

TEST(generated)
{
    struct err e = {0};
    struct corpus *all = corpus_generate(NULL, 2, 30, 9, &e);
    struct corpus *one = corpus_generate("volatile-low", 3, 30, 9, &e);
    ck_assert_msg(all && one, "%s: %s", e.field, e.detail);
    ck_assert_int_eq(all->n, 12);
    ck_assert_int_eq(one->n, 3);
    ck_assert_str_eq(one->name, "volatile-low");
    for (int i = 1; i < all->n; i++)
        ck_assert_int_lt(strcmp(all->traces[i - 1]->name, all->traces[i]->name), 0);
    corpus_free(one);

    uint32_t hash = corpus_hash(all);
    all->traces[3]->mbps[5] += 1e-4;
    ck_assert_uint_ne(corpus_hash(all), hash);
    corpus_free(all);

    ck_assert_ptr_null(corpus_generate("none", 3, 30, 9, &e));
    ck_assert_int_eq(e.code, ERR_ABSENT);
    e = (struct err){0};
    ck_assert_ptr_null(corpus_generate(NULL, 0, 30, 9, &e));
    ck_assert_str_eq(e.field, "n");
}

static void *make(void *folder, struct err *e)
{
    return corpus_load(folder, CORPUS_ALL, e);
}

static void *generate(void *kind, struct err *e)
{
    return corpus_generate(kind, 2, 10, 1, e);
}

static void unmake(void *c)
{
    corpus_free(c);
}

TEST(every_allocation_may_fail)
{
    tmpdir_put(dir, "a", "0 1\n1 1\n");
    tmpdir_put(dir, "b", "0 1\n1 1\n");
    ck_assert_int_ge(alloc_each_fails(make, unmake, (void *)dir), 10);
    ck_assert_int_ge(alloc_each_fails(generate, unmake, NULL), 30);
}

TEST(real_sets_load)
{
    const struct {
        const char *rel;
        int n;
    } sets[] = {{"traces/pensieve-train-127", 127},
                {"traces/pensieve-test-hsdpa-142", 142},
                {"traces/lumos-4g-175", 175},
                {"traces/sabre-3g-86", 86}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        const char *path = shared_path(sets[i].rel);
        if (!path) continue;
        struct err e = {0};
        struct corpus *c = corpus_load(path, CORPUS_ALL, &e);
        ck_assert_msg(c != NULL, "%s: %s", e.field, e.detail);
        ck_assert_int_eq(c->n, sets[i].n);
        corpus_free(c);
    }
}

SUITE_SET_UP(abr_traces_corpus, 60, set_up, NULL, files_in_name_order,
             parts_are_disjoint_and_complete, one_bad_file_fails_the_load,
             empty_and_absent_folders, generated, every_allocation_may_fail,
             real_sets_load);

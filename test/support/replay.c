#include "support/suites.h"

#include "base/text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

/* NUL-ended text must not hide an overrun: the copy ends where the data end */
static void run_one(const struct fuzz_entry *target, const char *path)
{
    struct err e = {0};
    size_t n = 0;
    char *text = text_read_file(path, 16 << 20, &n, &e);
    ck_assert_msg(text != NULL, "%s: %s", path, e.detail);
    uint8_t *exact = malloc(n ? n : 1);
    ck_assert_ptr_nonnull(exact);
    for (size_t i = 0; i < n; i++)
        exact[i] = (uint8_t)text[i];
    free(text);
    ck_assert_int_eq(target->one(exact, n), 0);
    free(exact);
}

START_TEST(the_corpus_is_survived)
{
    const struct fuzz_entry *target = &fuzz_targets[_i];
    char dir[256];
    snprintf(dir, sizeof dir, "test/fuzz/corpus/%s", target->name);
    DIR *d = opendir(dir);
    ck_assert_msg(d != NULL, "%s is missing", dir);

    int files = 0;
    for (struct dirent *f; (f = readdir(d));) {
        char path[600];
        if (f->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", dir, f->d_name);
        run_one(target, path);
        files++;
    }
    closedir(d);
    ck_assert_msg(files > 0, "%s is empty", dir);
}
END_TEST

Suite *suite_fuzz_replay(void)
{
    int n = 0;
    while (fuzz_targets[n].name)
        n++;
    Suite *s = suite_create("fuzz/replay");
    TCase *t = tcase_create("fuzz/replay");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, the_corpus_is_survived, 0, n);
    suite_add_tcase(s, t);
    return s;
}

#include "lab/gates.h"

#include "base/rng.h"
#include "support/tmpdir.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* in the order of the options */
enum {
    REPS,
    STARTS,
    SEEDS,
    IMAGES,
    TESTS,
    EPOCHS,
    OLD_IMAGES,
    OLD_EPOCHS,
    STEPS,
    SESSIONS,
    VALUES
};

static struct lab_task small(struct lab_value *value, struct err *e)
{
    value[REPS].number = 2;
    value[STARTS].number = 1;
    value[SEEDS].number = 2;
    value[IMAGES].number = 12;
    value[TESTS].number = 5;
    value[EPOCHS].number = 2;
    value[OLD_IMAGES].number = 10;
    value[OLD_EPOCHS].number = 1;
    value[STEPS].number = 2048;
    value[SESSIONS].number = 1;
    struct report *r = report_new("gates", "a title", e);
    ck_assert_ptr_nonnull(r);
    return (struct lab_task){.lab = &gates_lab,
                             .value = value,
                             .report = r,
                             .version = "test",
                             .quick = true,
                             .threads = 1,
                             .seed = 1};
}

START_TEST(options_and_their_order)
{
    const struct lab_option *o = gates_lab.options;
    ck_assert_str_eq(o[REPS].name, "reps");
    ck_assert_str_eq(o[STARTS].name, "starts");
    ck_assert_str_eq(o[SEEDS].name, "seeds");
    ck_assert_str_eq(o[IMAGES].name, "images");
    ck_assert_str_eq(o[TESTS].name, "tests");
    ck_assert_str_eq(o[EPOCHS].name, "epochs");
    ck_assert_str_eq(o[OLD_IMAGES].name, "pretrain-images");
    ck_assert_str_eq(o[OLD_EPOCHS].name, "pretrain-epochs");
    ck_assert_str_eq(o[STEPS].name, "steps");
    ck_assert_str_eq(o[SESSIONS].name, "sessions");
    ck_assert_ptr_null(o[VALUES].name);
    ck_assert_double_ge(o[REPS].value, 20);
}
END_TEST

/* Without images (the task finds no files) the other part runs and a line says what to do. */
struct said {
    int lines;
    char last[512];
};

static void say(void *ctx, const char *line)
{
    struct said *s = ctx;
    s->lines++;
    snprintf(s->last, sizeof s->last, "%s", line);
}

START_TEST(a_small_run_without_images)
{
    struct err e = {0};
    struct lab_value value[VALUES] = {0};
    struct lab_task t = small(value, &e);
    struct said s = {0};
    t.say = say;
    t.ctx = &s;
    ck_assert_int_eq(gates_lab.run(&t, &e), 0);
    ck_assert_int_eq(e.code, 0);
    ck_assert_int_eq(s.lines, 1);
    ck_assert_ptr_nonnull(strstr(s.last, "make lab-data"));

    /* 2 splits, 3 experts x 4 gates; 4 ways to learn a kind of viewer */
    int n = report_checks(t.report);
    ck_assert_int_eq(n, 14 + 4);
    for (int i = 0; i < n; i++) {
        struct report_check c = report_check_at(t.report, i);
        ck_assert_msg(c.pass, "%s: %g", c.name, c.value);
    }
    ck_assert_int_eq(report_rows(t.report, 0), 5);  /* claims on the rates */
    ck_assert_int_eq(report_rows(t.report, 1), 12); /* 3 experts x 4 gates */
    ck_assert_int_eq(report_rows(t.report, 2), 6);  /* splits */
    ck_assert_int_eq(report_rows(t.report, 3), 6);  /* claims on kinds of viewer */
    ck_assert_int_eq(report_rows(t.report, 4), 6);  /* five ways, and none */
    ck_assert_int_eq(report_rows(t.report, 5), 6);  /* five ways, and the lowest level */
    report_free(t.report);
}
END_TEST

/* ---- with images: ten classes of 28 x 28, written as the files of both sets */

enum { SIDE = 28, PIXELS = SIDE * SIDE, EACH = 20, COUNT = 10 * EACH };

static void put(const char *dir, const char *name, const uint8_t *head, size_t n,
                const uint8_t *data, size_t bytes)
{
    char path[LAB_PATH];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(head, 1, n, f), n);
    ck_assert_uint_eq(fwrite(data, 1, bytes, f), bytes);
    ck_assert_int_eq(fclose(f), 0);
}

/* class c is a bright bar of rows 2 c + 4 and 2 c + 5 on noise */
static void put_set(const char *dir, const char *prefix)
{
    static uint8_t pixels[COUNT * PIXELS], labels[COUNT];
    const uint8_t image_head[16] = {0, 0, 8, 3,    0, 0, 0, COUNT,
                                    0, 0, 0, SIDE, 0, 0, 0, SIDE};
    const uint8_t label_head[8] = {0, 0, 8, 1, 0, 0, 0, COUNT};
    struct rng r;
    rng_init(&r, 3, prefix[1]);
    for (int i = 0; i < COUNT; i++) {
        labels[i] = (uint8_t)(i % 10);
        for (int k = 0; k < PIXELS; k++) {
            int row = k / SIDE - 2 * labels[i] - 4;
            pixels[i * PIXELS + k] =
                (uint8_t)(rng_below(&r, 40) + (row == 0 || row == 1 ? 200 : 0));
        }
    }
    char name[64];
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", prefix);
    put(dir, name, image_head, sizeof image_head, pixels, sizeof pixels);
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", prefix);
    put(dir, name, label_head, sizeof label_head, labels, sizeof labels);
}

/* "lab-data/mnist/x" is x in the folder, and so is that of the other set */
static int find(void *ctx, char out[LAB_PATH], const char *rel, struct err *e)
{
    (void)e;
    snprintf(out, LAB_PATH, "%s%s", (const char *)ctx, strrchr(rel, '/'));
    return 0;
}

/* Every part of the report is there, and the figures do not depend on the number of threads; what is
 * checked about learning needs more than two epochs. */
START_TEST(images_are_learned_from)
{
    char dir[LAB_PATH];
    snprintf(dir, sizeof dir, "%s", tmpdir_new());
    put_set(dir, "train");
    put_set(dir, "t10k");
    struct err e = {0};
    struct lab_value value[VALUES] = {0};
    struct lab_task one = small(value, &e), two = small(value, &e);
    two.threads = 2;
    one.find = two.find = find;
    one.ctx = two.ctx = dir;
    ck_assert_msg(!gates_lab.run(&one, &e), "%s %s", e.field, e.detail);
    ck_assert_int_eq(gates_lab.run(&two, &e), 0);
    ck_assert_int_eq(report_checks(one.report), 14 + 5 + 4);
    for (int i = 0; i < report_checks(one.report); i++)
        ck_assert_double_eq(report_check_at(one.report, i).value,
                            report_check_at(two.report, i).value);
    ck_assert_int_eq(report_rows(one.report, 3),
                     3); /* claims between quick's four methods */
    ck_assert_int_eq(report_rows(one.report, 4), 4);
    ck_assert_int_eq(report_rows(one.report, 5), 1);
    report_free(one.report);
    report_free(two.report);
    tmpdir_remove(dir);
}
END_TEST

static bool stop(void *ctx, double share, const char *note)
{
    int *calls = ctx;
    ck_assert(share >= 0 && share <= 1 && note[0]);
    return ++*calls == 3;
}

START_TEST(progress_stops_it)
{
    struct err e = {0};
    struct lab_value value[VALUES] = {0};
    struct lab_task t = small(value, &e);
    int calls = 0;
    t.progress = stop;
    t.ctx = &calls;
    ck_assert_int_eq(gates_lab.run(&t, &e), LAB_STOPPED);
    ck_assert_int_eq(calls, 3);
    report_free(t.report);
}
END_TEST

Suite *suite_lab_gates(void);
Suite *suite_lab_gates(void)
{
    Suite *s = suite_create("lab/gates");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 600);
    tcase_add_test(t, options_and_their_order);
    tcase_add_test(t, a_small_run_without_images);
    tcase_add_test(t, images_are_learned_from);
    tcase_add_test(t, progress_stops_it);
    suite_add_tcase(s, t);
    return s;
}

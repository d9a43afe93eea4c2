#include "lab/gates/gates.h"

#include "base/rng.h"
#include "support/labs.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <string.h>

static void small(struct labs_run *r)
{
    labs_start(r, &gates_lab);
    labs_set(r, "reps", 2);
    labs_set(r, "starts", 1);
    labs_set(r, "seeds", 2);
    labs_set(r, "images", 12);
    labs_set(r, "tests", 5);
    labs_set(r, "epochs", 2);
    labs_set(r, "pretrain-images", 10);
    labs_set(r, "pretrain-epochs", 1);
    labs_set(r, "steps", 2048);
    labs_set(r, "sessions", 1);
}

/* Without images (the task finds no files) the other part runs and a line says what to do. */
TEST(a_small_run_without_images)
{
    ck_assert_double_ge(labs_option(&gates_lab, "reps")->value, 20);
    struct labs_run run;
    small(&run);
    labs_go(&run, 0);
    ck_assert_int_eq(run.e.code, 0);
    ck_assert_int_eq(run.lines, 1);
    ck_assert_ptr_nonnull(strstr(run.last, "make lab-data"));

    /* 2 splits, 3 experts x 4 gates; 4 ways to learn a kind of viewer */
    const struct report *r = run.task.report;
    labs_pass(r, 14 + 4);
    ck_assert_int_eq(report_rows(r, 0), 5);  /* claims on the rates */
    ck_assert_int_eq(report_rows(r, 1), 12); /* 3 experts x 4 gates */
    ck_assert_int_eq(report_rows(r, 2), 6);  /* splits */
    ck_assert_int_eq(report_rows(r, 3), 6);  /* claims on kinds of viewer */
    ck_assert_int_eq(report_rows(r, 4), 6);  /* five ways, and none */
    ck_assert_int_eq(report_rows(r, 5), 6);  /* five ways, and the lowest level */
    labs_end(&run);
}

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

/* Every part of the report is there, and the figures do not depend on the number of threads; what is
 * checked about learning needs more than two epochs. */
TEST(images_are_learned_from)
{
    const char *dir = tmpdir_new();
    put_set(dir, "train");
    put_set(dir, "t10k");
    struct labs_run run[2];
    for (int i = 0; i < 2; i++) {
        small(&run[i]);
        run[i].dir = dir;
    }
    labs_go_twice(run);
    const struct report *r = run[0].task.report;
    ck_assert_int_eq(report_checks(r), 14 + 5 + 4);
    ck_assert_int_eq(report_rows(r, 3), 3); /* claims between quick's four methods */
    ck_assert_int_eq(report_rows(r, 4), 4);
    ck_assert_int_eq(report_rows(r, 5), 1);
    labs_end(&run[0]);
}

TEST(progress_stops_it)
{
    struct labs_run r;
    small(&r);
    labs_stops(&r, 3);
}

SUITE(lab_gates_gates, a_small_run_without_images, images_are_learned_from,
      progress_stops_it);

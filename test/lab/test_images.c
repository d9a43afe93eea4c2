#include "lab/images.h"

#include "support/alloc.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Three images of two rows and three columns, labels 7, 0, 7. */
#define HEAD "\0\0\x08\x03\0\0\0\3\0\0\0\2\0\0\0\3"
#define PIXELS             \
    "\0\1\2\3\4\5"         \
    "\6\7\x08\x09\x0a\x0b" \
    "\x33\x66\x99\xcc\xff\0"
static const char image_file[] = HEAD PIXELS;
static const char label_file[] = "\0\0\x08\x01\0\0\0\3\7\0\7";
enum { IMAGES_LEN = sizeof image_file - 1, LABELS_LEN = sizeof label_file - 1 };

static const char *dir, *image_path, *label_path;

static void setup(void)
{
    dir = tmpdir_new();
    image_path = strdup(tmpdir_path(dir, "i"));
    label_path = strdup(tmpdir_path(dir, "l"));
}

static void teardown(void)
{
    free((char *)image_path), free((char *)label_path);
}

static void put(const char *path, const void *data, size_t len)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(data, 1, len, f), len);
    ck_assert_int_eq(fclose(f), 0);
}

static struct images *load_good(struct err *e)
{
    put(image_path, image_file, IMAGES_LEN);
    put(label_path, label_file, LABELS_LEN);
    return images_load(image_path, label_path, e);
}

TEST(by_hand)
{
    struct err e = {0};
    struct images *im = load_good(&e);
    ck_assert_msg(im != NULL, "%s: %s", e.field, e.detail);
    ck_assert_int_eq(im->n, 3);
    ck_assert_int_eq(im->rows, 2);
    ck_assert_int_eq(im->cols, 3);
    ck_assert_int_eq(im->size, 6);
    ck_assert_int_eq(images_pixels(im, 1)[0], 6);
    ck_assert_int_eq(images_pixels(im, 2)[4], 255);
    ck_assert_int_eq(im->labels[0], 7);
    ck_assert_int_eq(im->labels[1], 0);

    /* 0x33 = 51 = 255 / 5 */
    float v[6];
    images_vector(v, im, 2);
    const float want[6] = {.2f, .4f, .6f, .8f, 1, 0};
    for (int k = 0; k < 6; k++)
        ck_assert_float_eq_tol(v[k], want[k], 1e-7f);

    int index[3] = {-1, -1, -1};
    ck_assert_int_eq(images_of(index, im, 7), 2);
    ck_assert_int_eq(index[0], 0);
    ck_assert_int_eq(index[1], 2);
    ck_assert_int_eq(index[2], -1);
    ck_assert_int_eq(images_of(NULL, im, 0), 1);
    ck_assert_int_eq(images_of(NULL, im, 3), 0);
    images_free(im);
    images_free(NULL);
}

/* Neither file may be anything but what it says it is. */
static const struct bad {
    int which;  /* 0: the images, 1: the labels */
    int at;     /* the byte that is changed, -1: none */
    int value;  /* what it becomes */
    int length; /* added to the file's */
    int code;
    const char *says;
} bad[] = {
    {0, 3, 1, 0, ERR_CORRUPT,
     "begins with 0x00000801 where IDX images begin with 0x00000803"},
    {1, 3, 3, 0, ERR_CORRUPT,
     "begins with 0x00000803 where IDX labels begin with 0x00000801"},
    {0, 2, 13, 0, ERR_CORRUPT, "begins with 0x00000d03"},
    {0, -1, 0, -(IMAGES_LEN - 3), ERR_CORRUPT, "ends after 3 bytes, in its magic"},
    {0, -1, 0, -IMAGES_LEN, ERR_CORRUPT, "ends after 0 bytes, in its magic"},
    {0, -1, 0, -(IMAGES_LEN - 15), ERR_CORRUPT, "ends after 15 bytes, in its head of 16"},
    {1, -1, 0, -4, ERR_CORRUPT, "ends after 7 bytes, in its head of 8"},
    {0, 7, 0, 0, ERR_RANGE, "has 0 items, expected 1 to 1000000"},
    {0, 11, 0, 0, ERR_RANGE, "has 0 rows, expected 1 to 256"},
    {0, 14, 1, 0, ERR_RANGE, "has 259 columns, expected 1 to 256"},
    {0, 4, 255, 0, ERR_RANGE, "has 4278190083 items"},
    {0, -1, 0, -1, ERR_CORRUPT,
     "has 33 bytes where its head promises 34: it was cut off"},
    {0, -1, 0, 1, ERR_CORRUPT,
     "has 35 bytes where its head promises 34: it goes on behind"},
    {1, -1, 0, -1, ERR_CORRUPT,
     "has 10 bytes where its head promises 11: it was cut off"},
    {1, -1, 0, 1, ERR_CORRUPT, "goes on behind its end"},
    {1, 7, 2, -1, ERR_CONFLICT, "has 2 labels for the 3 images beside it"},
    {1, 9, 10, 0, ERR_RANGE, "label 1 is 10, expected 0 to 9"},
};

TEST(refused)
{
    const struct bad *b = &bad[_i];
    struct err e = {0};
    images_free(load_good(&e));
    char data[64] = {0};
    size_t len = b->which ? LABELS_LEN : IMAGES_LEN;
    memcpy(data, b->which ? label_file : image_file, len);
    if (b->at >= 0) data[b->at] = (char)b->value;
    const char *path = b->which ? label_path : image_path;
    put(path, data, len + (size_t)b->length);

    ck_assert_ptr_null(images_load(image_path, label_path, &e));
    ck_assert_int_eq(e.code, b->code);
    ck_assert_ptr_nonnull(strstr(e.detail, b->says));
    size_t name = strlen(e.field);
    ck_assert(name > 0 && strcmp(e.field, path + strlen(path) - name) == 0);
}

TEST(compressed)
{
    struct err e = {0};
    images_free(load_good(&e));
    put(label_path, "\x1f\x8b\x08\0\0\0\0\0\0", 9);
    ck_assert_ptr_null(images_load(image_path, label_path, &e));
    ck_assert_ptr_nonnull(strstr(e.detail, "gzip -d"));
}

TEST(no_file)
{
    struct err e = {0};
    ck_assert_ptr_null(images_load(image_path, label_path, &e));
    ck_assert_int_eq(e.code, ERR_ABSENT);
}

/* Finds what lies below `dir`, as it is named in the sources and as it is named installed. */
static int find(void *ctx, char out[LAB_PATH], const char *rel, struct err *e)
{
    const char *prefix = ctx, *file = strrchr(rel, '/') + 1;
    if (strncmp(rel, prefix, strlen(prefix)) != 0)
        return err_set(e, ERR_ABSENT, "not there");
    snprintf(out, LAB_PATH, "%s", strstr(file, "labels") ? label_path : image_path);
    return 0;
}

TEST(opened)
{
    struct err e = {0};
    images_free(load_good(&e));
    const struct {
        const char *there;
        enum images_part part;
        bool found;
    } row[] = {
        {"lab-data/mnist/train-", IMAGES_TRAIN, true},
        {"lab-data/mnist/train-", IMAGES_TEST, false},
        {"lab-data/mnist/t10k-", IMAGES_TEST, true},
        {"build/lab-data/mnist/train-", IMAGES_TRAIN, true},
        {"lab-data/fashion-mnist/", IMAGES_TRAIN, false},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct lab_task t = {.find = find, .ctx = (void *)row[i].there};
        e = (struct err){0};
        struct images *im = images_open(&t, "mnist", row[i].part, &e);
        ck_assert_int_eq(im != NULL, row[i].found);
        if (!im) {
            ck_assert_int_eq(e.code, ERR_ABSENT);
            ck_assert_ptr_nonnull(strstr(e.field, "lab-data/mnist/"));
            ck_assert_ptr_nonnull(strstr(e.detail, "make lab-data"));
        }
        images_free(im);
    }
}

static void *make(void *ctx, struct err *e)
{
    (void)ctx;
    return images_load(image_path, label_path, e);
}

static void destroy(void *made)
{
    images_free(made);
}

TEST(memory)
{
    struct err e = {0};
    images_free(load_good(&e));
    ck_assert_int_ge(alloc_each_fails(make, destroy, NULL), 3);
}

SUITE_SET_UP(lab_images, 0, setup, teardown, by_hand, ROWS(refused, bad), compressed,
             no_file, opened, memory);

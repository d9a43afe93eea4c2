#include "support/glyphs.h"

#include "base/rng.h"
#include "support/tmpdir.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void number(FILE *f, uint32_t v)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        fputc((int)(v >> shift & 255), f);
}

static void glyph(FILE *f, int digit, struct rng *r)
{
    for (int i = 0; i < GLYPHS_PIXELS; i++) {
        int row = i / GLYPHS_SIDE, col = i % GLYPHS_SIDE;
        bool ink = row == digit % GLYPHS_SIDE || (col == 0 && digit >= GLYPHS_SIDE);
        fputc((ink ? 180 : 0) + (int)rng_below(r, 60), f);
    }
}

static FILE *begin(const char *dir, const char *name, int dims, int n)
{
    FILE *f = fopen(tmpdir_path(dir, name), "wb");
    ck_assert_ptr_nonnull(f);
    number(f, 0x800 + (uint32_t)dims);
    number(f, (uint32_t)n);
    for (int i = 1; i < dims; i++)
        number(f, GLYPHS_SIDE);
    return f;
}

static void part(const char *dir, const char *prefix, int each, int without)
{
    char name[64];
    struct rng r;
    rng_init(&r, 7, (uint64_t)each);
    int n = each * (without < 0 ? 10 : 9);
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", prefix);
    FILE *images = begin(dir, name, 3, n);
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", prefix);
    FILE *labels = begin(dir, name, 1, n);
    for (int i = 0; i < 10 * each; i++) {
        int digit = i % 10;
        if (digit == without) continue;
        glyph(images, digit, &r);
        fputc(digit, labels);
    }
    ck_assert_int_eq(fclose(images), 0);
    ck_assert_int_eq(fclose(labels), 0);
}

void glyphs_write(const char *dir, int train, int test, int without)
{
    part(dir, "train", train, -1);
    part(dir, "t10k", test, without);
}

int glyphs_find(void *ctx, char out[LAB_PATH], const char *rel, struct err *e)
{
    snprintf(out, LAB_PATH, "%s/%s", (const char *)ctx, strrchr(rel, '/') + 1);
    return access(out, R_OK) ? err_set(e, ERR_ABSENT, "not there") : 0;
}

struct digits_set *glyphs_set(void)
{
    struct err e = {0};
    struct digits_set *set;
    char *dir = strdup(tmpdir_new());
    glyphs_write(dir, 20, 8, -1);
    struct lab_task t = {.find = glyphs_find, .ctx = dir};
    ck_assert_int_eq(digits_set_find(&set, &t, &e), 0);
    ck_assert_ptr_nonnull(set);
    tmpdir_remove(dir);
    free(dir);
    return set;
}

struct digits_cfg glyphs_cfg(void)
{
    struct digits_cfg c = digits_cfg_default();
    c.s = 20;
    c.hidden = 8;
    c.tests = 40;
    c.rate = .5;
    return c;
}

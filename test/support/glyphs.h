/* glyphs.h - IDX files of easy images: what `make lab-data` fetches, in small and made up.
 *
 * Six by six pixels; the digit c is a bright row c % 6 and, from 6 on, a bright first column as
 * well, over noise: a small network learns them in a few steps. */
#ifndef TEST_GLYPHS_H
#define TEST_GLYPHS_H

#include "lab/forgetting/digits.h"
#include "lab/lab.h"

enum { GLYPHS_SIDE = 6, GLYPHS_PIXELS = GLYPHS_SIDE * GLYPHS_SIDE };

/* Writes the four files of a set into dir: per digit `train` images to learn from and `test` to
 * test with. The digit `without` (-1: none) is left out of the test part. */
void glyphs_write(const char *dir, int train, int test, int without);

/* For lab_task.find, with the folder as ctx: finds lab-data/<any set>/<file> in it. */
int glyphs_find(void *ctx, char out[LAB_PATH], const char *rel, struct err *e);

/* Twenty images of each digit to learn from and eight to test with, and settings by which networks
 * learn them at once. */
struct digits_set *glyphs_set(void);
struct digits_cfg glyphs_cfg(void);

#endif

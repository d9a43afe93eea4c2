/* images.h - labelled grey images: the files of MNIST and Fashion-MNIST, read strictly.
 *
 * The IDX format, all numbers big-endian (LeCun, Cortes and Burges, "The MNIST database of
 * handwritten digits"):
 *
 *   images  0x00000803, count, rows, columns, then a byte per pixel, 0 = background, 255 = ink,
 *           image after image, row after row
 *   labels  0x00000801, count, then a byte per label
 *
 * A set is four files in one folder, as `make lab-data` puts them: lab-data/mnist and
 * lab-data/fashion-mnist with {train,t10k}-{images-idx3,labels-idx1}-ubyte.
 *
 * The reader refuses, with the file's name and what it expected: another magic number (a compressed
 * file has its own message), sizes of zero or above the limits below, a file that is shorter or longer
 * than its head says, different counts of images and labels, a label of IMAGES_CLASSES or more.
 *
 * Errors: ERR_ABSENT (no such file; names the command that fetches it), ERR_CORRUPT, ERR_RANGE,
 * ERR_IO, ERR_MEMORY.
 * Ownership: struct images owns what it points to.
 * Threads: shared read-only once loaded. */
#ifndef LAB_IMAGES_H
#define LAB_IMAGES_H

#include "base/err.h"
#include "lab/lab.h"

#include <stddef.h>
#include <stdint.h>

#define IMAGES_CLASSES 10
#define IMAGES_SIDE_MAX 256 /* rows, columns */
#define IMAGES_MAX 1000000  /* images */

enum images_part { IMAGES_TRAIN, IMAGES_TEST };

struct images {
    int n, rows, cols;
    int size;              /* rows * cols */
    const uint8_t *pixels; /* (n, size) */
    const uint8_t *labels; /* (n), each < IMAGES_CLASSES */
    char *bytes[2];        /* the files */
};

/* NULL on failure. */
struct images *images_load(const char *image_path, const char *label_path, struct err *e);
/* One part of a set ("mnist", "fashion-mnist"), from where the task finds its files. */
struct images *images_open(const struct lab_task *t, const char *set,
                           enum images_part part, struct err *e);
void images_free(struct images *im);

/* The pixels of image i, 0 <= i < n. */
const uint8_t *images_pixels(const struct images *im, int i);
/* out (size): the pixels of image i as numbers from 0 to 1. */
void images_vector(float *out, const struct images *im, int i);

/* The indices of the images with this label, ascending. Returns how many; index has room for n of
 * them, or is NULL. */
int images_of(int *index, const struct images *im, int label);

/* Reads a file's head and checks its length: dim has `dims` sizes (1: labels, 3: images), the values
 * begin at 4 + 4 * dims. `name` is for the error. */
int images_idx(int dim[3], int dims, const char *name, const void *data, size_t len,
               struct err *e) __attribute__((warn_unused_result));

#endif

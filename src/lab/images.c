#include "lab/images.h"

#include "base/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 0, 0, the type (8: unsigned bytes), how many sizes follow */
enum { MAGIC = 0x00000800, GZIP = 0x1f8b };

static const size_t file_limit = (size_t)256 << 20;

/* ---- one file ---- */

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int check_magic(const char *name, int dims, const uint8_t *p, size_t len,
                       struct err *e)
{
    const char *kind = dims == 1 ? "labels" : "images";
    if (len < 4)
        return text_refuse(name, 0, ERR_CORRUPT, e, "ends after %zu bytes, in its magic",
                           len);
    uint32_t want = MAGIC + (uint32_t)dims, got = big_endian(p);
    if (got == want) return 0;
    if (got >> 16 == GZIP)
        return text_refuse(name, 0, ERR_CORRUPT, e,
                           "is compressed; unpack it with gzip -d");
    return text_refuse(name, 0, ERR_CORRUPT, e,
                       "begins with 0x%08x where IDX %s begin with 0x%08x", (unsigned)got,
                       kind, (unsigned)want);
}

int images_idx(int dim[3], int dims, const char *name, const void *data, size_t len,
               struct err *e)
{
    assert(dims == 1 || dims == 3);
    static const char *const what[] = {"items", "rows", "columns"};
    const uint8_t *p = data;
    int rc = check_magic(name, dims, p, len, e);
    if (rc) return rc;
    size_t head = 4 + 4 * (size_t)dims, values = 1;
    if (len < head)
        return text_refuse(name, 0, ERR_CORRUPT, e,
                           "ends after %zu bytes, in its head of %zu", len, head);
    for (int i = 0; i < dims; i++) {
        uint32_t got = big_endian(p + 4 + 4 * i);
        uint32_t most = i ? IMAGES_SIDE_MAX : IMAGES_MAX;
        if (got < 1 || got > most)
            return text_refuse(name, 0, ERR_RANGE, e, "has %u %s, expected 1 to %u",
                               (unsigned)got, what[i], (unsigned)most);
        dim[i] = (int)got;
        values *= got; /* at most 1e6 * 256^2 */
    }
    if (len == head + values) return 0;
    return text_refuse(
        name, 0, ERR_CORRUPT, e, "has %zu bytes where its head promises %zu: it %s", len,
        head + values, len < head + values ? "was cut off" : "goes on behind its end");
}

/* ---- a set ---- */

static int check_labels(const struct images *im, const char *path, struct err *e)
{
    for (int i = 0; i < im->n; i++) {
        if (im->labels[i] >= IMAGES_CLASSES)
            return text_refuse(path, 0, ERR_RANGE, e, "label %d is %d, expected 0 to %d",
                               i, im->labels[i], IMAGES_CLASSES - 1);
    }
    return 0;
}

static int images_load_file(struct images *im, const char *image_path,
                            const char *label_path, struct err *e)
{
    const char *path[2] = {image_path, label_path};
    int dim[2][3];
    for (int f = 0; f < 2; f++) {
        size_t len;
        im->bytes[f] = text_read_file(path[f], file_limit, &len, e);
        if (!im->bytes[f]) return ERR_IO;
        int rc = images_idx(dim[f], f ? 1 : 3, path[f], im->bytes[f], len, e);
        if (rc) return rc;
    }
    if (dim[0][0] != dim[1][0])
        return text_refuse(label_path, 0, ERR_CONFLICT, e,
                           "has %d labels for the %d images beside it", dim[1][0],
                           dim[0][0]);
    im->n = dim[0][0], im->rows = dim[0][1], im->cols = dim[0][2];
    im->size = im->rows * im->cols;
    im->pixels = (const uint8_t *)im->bytes[0] + 16;
    im->labels = (const uint8_t *)im->bytes[1] + 8;
    return check_labels(im, label_path, e);
}

struct images *images_load(const char *image_path, const char *label_path, struct err *e)
{
    struct images *im = calloc(1, sizeof *im);
    if (!im) {
        err_set(e, ERR_MEMORY, "no memory for images");
        return NULL;
    }
    if (!images_load_file(im, image_path, label_path, e)) return im;
    images_free(im);
    return NULL;
}

void images_free(struct images *im)
{
    if (!im) return;
    for (int f = 0; f < 2; f++)
        free(im->bytes[f]);
    free(im);
}

/* Next to the program, or where the Makefile puts them in the sources. */
static int images_find(const struct lab_task *t, char out[LAB_PATH], const char *set,
                       const char *file, struct err *e)
{
    static const char *const where[] = {"lab-data", "build/lab-data"};
    char rel[128];
    for (int i = 0; i < 2; i++) {
        struct err not_there = {0};
        snprintf(rel, sizeof rel, "%s/%s/%s", where[i], set, file);
        int rc = lab_find(t, out, rel, &not_there);
        if (!rc) return 0;
        if (rc != ERR_ABSENT) return err_field(e, rc, rel, "%s", not_there.detail);
    }
    snprintf(rel, sizeof rel, "lab-data/%s/%s", set, file);
    return err_field(e, ERR_ABSENT, rel,
                     "is not there; run 'make lab-data', which fetches these images");
}

struct images *images_open(const struct lab_task *t, const char *set,
                           enum images_part part, struct err *e)
{
    const char *prefix = part == IMAGES_TRAIN ? "train" : "t10k";
    char path[2][LAB_PATH], file[64];
    for (int f = 0; f < 2; f++) {
        snprintf(file, sizeof file, "%s-%s-ubyte", prefix,
                 f ? "labels-idx1" : "images-idx3");
        if (images_find(t, path[f], set, file, e)) return NULL;
    }
    return images_load(path[0], path[1], e);
}

/* ---- contents ---- */

const uint8_t *images_pixels(const struct images *im, int i)
{
    assert(i >= 0 && i < im->n);
    return im->pixels + (size_t)i * (size_t)im->size;
}

void images_vector(float *out, const struct images *im, int i)
{
    const uint8_t *p = images_pixels(im, i);
    for (int k = 0; k < im->size; k++)
        out[k] = (float)p[k] / 255;
}

int images_of(int *index, const struct images *im, int label)
{
    int n = 0;
    for (int i = 0; i < im->n; i++) {
        if (im->labels[i] != label) continue;
        if (index) index[n] = i;
        n++;
    }
    return n;
}

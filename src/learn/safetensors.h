/* safetensors.h - safetensors files: named tensors of floats, metadata, and a CRC of both.
 *
 * Layout: 8 bytes little-endian header length, JSON header padded with spaces to a multiple of 8,
 * then the tensors' bytes without gaps. Each tensor is row-major F32; "trainer" alone is U8. The
 * header's "__metadata__" holds strings, "format" and "crc32" (ckpt.h) among them. The order of
 * tensors within a file is free, so files re-saved by other tools load.
 *
 * Reading checks length, header, names, shapes, types, CRC and finite values before it returns data.
 * No allocation depends on an unchecked number of the header.
 *
 * Errors: those of ckpt.h; the field is `what` of the file. Ownership: a struct safetensors owns its
 * header and borrows the bytes. Threads: pure functions. */
#ifndef LEARN_SAFETENSORS_H
#define LEARN_SAFETENSORS_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct safetensors_tensor {
    char name[80];
    int rows, cols; /* cols 0: a vector */
    float *at;      /* source or destination; NULL: only checked */
};

int safetensors_no_memory(struct err *e);

/* ---- writing: the metadata, then the file */

int safetensors_add_text(json_t *meta, const char *key, const char *value, struct err *e);
int safetensors_add_number(json_t *meta, const char *key, double value, struct err *e);
/* meta gets its crc32. *out owned by the caller. */
int safetensors_pack(void **out, size_t *n, json_t *meta,
                     const struct safetensors_tensor *t, int count, const void *extra,
                     size_t extra_n, struct err *e);

/* ---- reading */

struct safetensors {
    const char *what; /* the path, for messages */
    json_t *header;   /* owned: safetensors_close */
    const json_t *meta;
    const unsigned char *data;
    size_t data_n;
};

/* The header alone, of a file of any program; meta is then NULL. */
int safetensors_open(struct safetensors *f, const void *bytes, size_t n, struct err *e);
/* The format in its metadata; NULL: none. */
const char *safetensors_format(const struct safetensors *f);
/* ERR_INVALID if the metadata has another format. */
int safetensors_need_format(struct safetensors *f, const char *format, struct err *e);
void safetensors_close(struct safetensors *f);

int safetensors_text(const char **out, const struct safetensors *f, const char *key,
                     struct err *e);
int safetensors_int(int *out, const struct safetensors *f, const char *key,
                    struct err *e);
int safetensors_u64(uint64_t *out, const struct safetensors *f, const char *key,
                    struct err *e);
/* Turns an error of a value in the metadata into one of the file. */
int safetensors_blame(const struct safetensors *f, const char *key, const struct err *why,
                      struct err *e);

/* Does the file consist of exactly these tensors, and optionally the trainer's, with the right CRC? */
int safetensors_check(const struct safetensors *f, const struct safetensors_tensor *t,
                      int count, struct err *e);
/* The same without the CRC. */
int safetensors_check_tensors(const struct safetensors *f,
                              const struct safetensors_tensor *t, int count,
                              struct err *e);
/* Copies checked tensors; ERR_NUMERIC for a number that is not finite. */
int safetensors_fill(const struct safetensors *f, const struct safetensors_tensor *t,
                     int count, struct err *e);
/* The trainer's bytes, owned by the caller; NULL: the file has none. */
int safetensors_trainer(void **out, size_t *out_n, const struct safetensors *f,
                        struct err *e);

#endif

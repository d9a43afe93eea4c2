/* ckpt_priv.h - safetensors files as ckpt.h tells, whatever their tensors are: what the
 * checkpoints of policies (ckpt.c, ckpt_read.c) and of grafts (growth_ckpt.c) share. */
#ifndef RL_CKPT_PRIV_H
#define RL_CKPT_PRIV_H

#include "learn/ckpt.h"

#include <jansson.h>
#include <stdbool.h>

#define CKPT_FORMAT "abrd-1"

struct ckpt_tensor {
    char name[80];
    int rows, cols; /* cols 0: a vector */
    float *at;      /* what is written, or where it is read to; NULL: looked at only */
};

int ckpt_no_memory(struct err *e);

/* The tensors of a policy, their names with `prefix` in front. p NULL: names and shapes
 * alone. *out (*n) owned by the caller, with room for `spare` more. */
int ckpt_list_policy(struct ckpt_tensor **out, int *n, const struct policy_cfg *cfg,
                     struct policy *p, const char *prefix, int spare, struct err *e);

/* ---- writing: the metadata, then the file */

int ckpt_add_text(json_t *meta, const char *key, const char *value, struct err *e);
int ckpt_add_number(json_t *meta, const char *key, double value, struct err *e);
/* Configuration, version, denormaliser and busy experts. */
int ckpt_add_policy(json_t *meta, const struct policy *p, struct err *e);
int ckpt_add_caller(json_t *meta, const struct ckpt_meta *from, struct err *e);

/* meta gets its crc32. *out owned by the caller. */
int ckpt_pack(void **out, size_t *n, json_t *meta, const struct ckpt_tensor *t, int count,
              const void *extra, size_t extra_n, struct err *e);
bool ckpt_finite(const float *x, size_t n);

/* ---- reading */

struct ckpt_file {
    const char *what; /* the path, for messages */
    json_t *header;   /* owned: ckpt_close */
    const json_t *meta;
    const unsigned char *data;
    size_t data_n;
};

int ckpt_open(struct ckpt_file *f, const void *bytes, size_t n, const char *format,
              struct err *e);
/* The header alone: a file of any program, without our metadata (meta is then NULL). */
int ckpt_open_any(struct ckpt_file *f, const void *bytes, size_t n, struct err *e);
void ckpt_close(struct ckpt_file *f);

int ckpt_need_text(const char **out, const struct ckpt_file *f, const char *key,
                   struct err *e);
int ckpt_need_int(int *out, const struct ckpt_file *f, const char *key, struct err *e);
int ckpt_need_u64(uint64_t *out, const struct ckpt_file *f, const char *key,
                  struct err *e);
int ckpt_need_policy_cfg(struct policy_cfg *out, const struct ckpt_file *f,
                         struct err *e);
/* Version, denormaliser and busy experts. */
int ckpt_need_policy(struct policy *p, const struct ckpt_file *f, struct err *e);
/* An err of a value in the metadata, told as one of the file. */
int ckpt_blame(const struct ckpt_file *f, const char *key, const struct err *why,
               struct err *e);
int ckpt_need_meta(struct ckpt_meta *out, const struct ckpt_file *f, struct err *e);

/* Exactly these tensors, and perhaps the trainer's, fill the file, and the CRC is right. */
int ckpt_check(const struct ckpt_file *f, const struct ckpt_tensor *t, int count,
               struct err *e);
/* The same without the CRC. */
int ckpt_check_tensors(const struct ckpt_file *f, const struct ckpt_tensor *t, int count,
                       struct err *e);
/* Copies what ckpt_check has passed; ERR_NUMERIC for a number that is not finite. */
int ckpt_fill(const struct ckpt_file *f, const struct ckpt_tensor *t, int count,
              struct err *e);
int ckpt_need_extra(void **out, size_t *out_n, const struct ckpt_file *f, struct err *e);
/* What else a reader may want, NULL for what it does not: the caller's metadata, and the trainer's
 * bytes with their number (owned by the caller). All of it, or nothing is written. */
int ckpt_need_rest(struct ckpt_meta *meta, void **extra, size_t *extra_n,
                   const struct ckpt_file *f, struct err *e);

#endif

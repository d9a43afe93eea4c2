/* ckpt.h - checkpoints: safetensors files that any numpy user can open.
 *
 * Layout: 8 bytes little-endian header length, JSON header, then the tensors. Tensors are
 * "actor", "critic" split into named parts ("actor.router.weight",
 * "actor.expert.0.0.weight", ...), all F32; "__metadata__" holds strings: format "abrd-1",
 * the configuration, version, ret_mean, ret_std, crc32 of the data bytes, and what the caller
 * adds. Optional blocks: trainer state as U8 tensor "trainer".
 *
 * Written by write-fsync-rename. Loading checks length, header, names, shapes, types, finite
 * values and CRC before anything is given out: a truncated or foreign file is
 * ERR_CORRUPT/ERR_INVALID with what was expected, and nothing changes.
 *
 * Ownership: ckpt_load gives an owned policy. Threads: pure apart from the file. */
#ifndef RL_CKPT_H
#define RL_CKPT_H

#include "moe/policy.h"

#define CKPT_META_MAX 32

struct ckpt_meta {
    int n;
    char key[CKPT_META_MAX][64];
    char value[CKPT_META_MAX][512];
};

/* Adds or replaces; silently full is a bug (assert). */
void ckpt_meta_set(struct ckpt_meta *m, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* NULL when absent. */
const char *ckpt_meta_get(const struct ckpt_meta *m, const char *key);

/* extra/extra_n: trainer state, may be NULL/0. meta may be NULL. */
int ckpt_save(const char *path, const struct policy *p, const struct ckpt_meta *meta,
              const void *extra, size_t extra_n, struct err *e)
    __attribute__((warn_unused_result));

/* meta, extra may be NULL. *extra is owned by the caller (NULL when the file has none). */
struct policy *ckpt_load(const char *path, struct ckpt_meta *meta, void **extra,
                         size_t *extra_n, struct err *e);

/* The same on memory: what GET /v1/policy/weights sends. *out owned by the caller. */
int ckpt_encode(void **out, size_t *n, const struct policy *p,
                const struct ckpt_meta *meta, const void *extra, size_t extra_n,
                struct err *e) __attribute__((warn_unused_result));
struct policy *ckpt_decode(const void *data, size_t n, struct ckpt_meta *meta,
                           void **extra, size_t *extra_n, struct err *e);

#endif

/* ckpt.h - checkpoints: safetensors files that any numpy user can open.
 *
 * Layout (safetensors): 8 bytes little-endian header length, JSON header padded with
 * spaces to a multiple of 8, then the tensors' bytes without gaps. Each tensor is
 * row-major F32, by name and shape:
 *
 *   actor.router.weight (experts, obs_dim), actor.router.bias (experts); none when single
 *   actor.expert.K.L.weight (fan_out, fan_in), actor.expert.K.L.bias (fan_out)
 *   critic. ...                                   L = 0 .. layers, the last is the head
 *   trainer (bytes) U8                            optional: the trainer's state
 *
 * "__metadata__" holds strings: format "abrd-1", obs_dim, actions, hidden, layers,
 * experts, route, critic_hidden, critic_experts, critic_route, version, ret_mean,
 * ret_std, crc32, actor_busy and critic_busy when an expert is set aside (mix.h: bit k, as a
 * decimal number), and what the caller adds (other keys). crc32 is that of the tensors'
 * bytes, carried on over "key=value\n" of every other metadata pair in the order of their
 * keys. In Python, data being the bytes behind the header:
 *
 *   rest = "".join(f"{k}={v}\n" for k, v in sorted(meta.items()) if k != "crc32")
 *   meta["crc32"] = "%08x" % zlib.crc32(rest.encode(), zlib.crc32(data))
 *
 * The order of tensors within a file is free, so files re-saved by other tools load.
 *
 * Saving is write-fsync-rename. Loading checks length, header, names, shapes, types, CRC and
 * finite values before anything is given out; nothing is allocated by what a header merely
 * claims. The err's field is the path (or "checkpoint"), its detail what was expected.
 *
 * Errors: ERR_CORRUPT (truncated, damaged), ERR_INVALID (a sound file of something else;
 * metadata of the caller that is unprintable or has a reserved key), ERR_RANGE (configuration
 * or metadata beyond the limits), ERR_NUMERIC (weights that are not finite: neither
 * saved nor loaded), ERR_IO, ERR_ABSENT, ERR_MEMORY.
 *
 * Ownership: ckpt_load gives an owned policy. Threads: pure apart from the file. */
#ifndef RL_CKPT_H
#define RL_CKPT_H

#include "policy/policy.h"

#define CKPT_META_MAX 32
#define CKPT_FILE_MAX ((size_t)512 << 20) /* bytes ckpt_load is willing to read */

struct ckpt_meta {
    int n;
    char key[CKPT_META_MAX][64];
    char value[CKPT_META_MAX][512];
};

/* Adds or replaces. Full, or a key too long, is a bug (assert). The value is made printable
 * UTF-8 (text_clean), and cut when too long. */
void ckpt_meta_set(struct ckpt_meta *m, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* NULL when absent. */
const char *ckpt_meta_get(const struct ckpt_meta *m, const char *key);

/* extra/extra_n: trainer state, may be NULL/0. meta may be NULL. */
int ckpt_save(const char *path, const struct policy *p, const struct ckpt_meta *meta,
              const void *extra, size_t extra_n, struct err *e)
    __attribute__((warn_unused_result));

/* meta, extra may be NULL; meta receives the caller's keys only, made printable, so that it
 * can be saved again. *extra is owned by the caller (NULL when the file has none). On failure NULL,
 * and *meta, *extra and *extra_n are as they were. */
struct policy *ckpt_load(const char *path, struct ckpt_meta *meta, void **extra,
                         size_t *extra_n, struct err *e);

/* The same on memory: what GET /v1/policy/weights sends. *out owned by the caller. */
int ckpt_encode(void **out, size_t *n, const struct policy *p,
                const struct ckpt_meta *meta, const void *extra, size_t extra_n,
                struct err *e) __attribute__((warn_unused_result));
struct policy *ckpt_decode(const void *data, size_t n, struct ckpt_meta *meta,
                           void **extra, size_t *extra_n, struct err *e);

#endif

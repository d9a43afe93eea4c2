/* ckpt.h - checkpoints: safetensors files that any numpy user can open.
 *
 * Layout: safetensors.h. The tensors by name and shape:
 *
 *   actor.router.weight (experts, obs_dim), actor.router.bias (experts); none when single
 *   actor.expert.K.L.weight (fan_out, fan_in), actor.expert.K.L.bias (fan_out)
 *   critic. ...                                   L = 0 .. layers, the last is the head
 *   input (n)                                     optional: policy.h, with n as input_n and the id of what
 *                                                 it belongs to as input_of in the metadata
 *   trainer (bytes) U8                            optional: the trainer's state
 *
 * "__metadata__" holds strings: format "abrd-1", obs_dim, actions, hidden, layers,
 * experts, route, critic_hidden, critic_experts, critic_route, version, ret_mean,
 * ret_std, crc32, actor_busy and critic_busy if an expert is disabled (mix.h: bit k, as a decimal
 * number), and other keys of the caller. crc32 is that of the tensors'
 * bytes, continued over "key=value\n" of every other metadata pair in the order of their
 * keys. In Python, data being the bytes behind the header:
 *
 *   rest = "".join(f"{k}={v}\n" for k, v in sorted(meta.items()) if k != "crc32")
 *   meta["crc32"] = "%08x" % zlib.crc32(rest.encode(), zlib.crc32(data))
 *
 * A policy with added experts (policy/policy.h) has format "abrd-grown-1", the mixture's tensors as
 * base.NAME with NAME as above, and
 *
 *   actor.shape (2)                             a, tau (policy/norga.h)
 *   actor.score.weight (L, obs_dim), actor.score.bias (L)
 *   actor.new.J.l.weight (fan_out, fan_in), actor.new.J.l.bias (fan_out)
 *   critic. ...                                 l = 0 .. layers, the last is the head
 *
 * Its metadata is that of the mixture and graft_experts, graft_gate, graft_version,
 * graft_learns_shape, graft_base_crc. Added experts fit only these weights, so both are in one file,
 * and the CRC shows whether they belong together.
 *
 * A file without input_of was written by an older program: its id is 0, unknown. Ids mean nothing here.
 * Who decides by an input drops one of another id after loading (abr/deciders/forecast_own.h).
 *
 * Files of other programs (ckpt_import) hold exactly the tensors named above, F32 and row-major (as
 * the weight of a torch.nn.Linear). They need neither metadata nor checksum.
 * K and L count from 0. ReLU is between layers, not after the last, whose outputs are the logits of the
 * levels (actor) or one value (critic). The shapes give experts, layers, hidden units, inputs
 * and actions. The caller gives the routes; the default is top-1 if there is a router.
 * The value is assumed to be in units of scaled rewards (feat_reward_scale): ret_mean 0, ret_std 1.
 *
 * Saving is write-fsync-rename. The err's field is the path (or "checkpoint"), its detail what was
 * expected.
 *
 * Errors: ERR_CORRUPT (truncated, damaged), ERR_INVALID (a valid file of something else;
 * metadata of the caller that is unprintable or has a reserved key), ERR_RANGE (configuration
 * or metadata beyond the limits), ERR_NUMERIC (weights that are not finite: neither
 * saved nor loaded), ERR_IO, ERR_ABSENT (also a tensor that an import lacks), ERR_MEMORY.
 *
 * Ownership: ckpt_load gives an owned policy. Threads: pure apart from the file. */
#ifndef LEARN_CKPT_H
#define LEARN_CKPT_H

#include "policy/policy.h"

#include <stdbool.h>

#define CKPT_META_MAX 32
#define CKPT_FILE_MAX ((size_t)512 << 20) /* most bytes that ckpt_load reads */

struct ckpt_meta {
    int n;
    char key[CKPT_META_MAX][64];
    char value[CKPT_META_MAX][512];
};

/* Adds or replaces a pair. Full, or a key that is too long, is a bug (assert). The value is made
 * printable UTF-8 (text_clean) and cut if too long. */
void ckpt_meta_set(struct ckpt_meta *m, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* NULL: absent. */
const char *ckpt_meta_get(const struct ckpt_meta *m, const char *key);

/* extra/extra_n: trainer state, may be NULL/0. meta may be NULL. */
int ckpt_save(const char *path, const struct policy *p, const struct ckpt_meta *meta,
              const void *extra, size_t extra_n, struct err *e)
    __attribute__((warn_unused_result));

/* Loads a policy without added experts; a file with added experts is ERR_INVALID.
 * meta, extra may be NULL; meta receives the caller's keys only, made printable, so that it
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

/* The same for a policy with or without added experts. */
struct policy *ckpt_load_any(const char *path, struct ckpt_meta *meta, void **extra,
                             size_t *extra_n, struct err *e);
struct policy *ckpt_decode_any(const void *data, size_t n, struct ckpt_meta *meta,
                               void **extra, size_t *extra_n, struct err *e);

struct ckpt_import_cfg {
    bool has_route, has_critic_route;
    enum mix_route route, critic_route;
};

/* Owned by the caller. cfg may be NULL. */
struct policy *ckpt_import(const char *path, const struct ckpt_import_cfg *cfg,
                           struct err *e);

#endif

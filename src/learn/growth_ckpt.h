/* growth_ckpt.h - checkpoints of grown profiles: the frozen policy and the new experts in one
 * safetensors file.
 *
 * As ckpt.h tells, with format "abrd-grown-1" and these tensors:
 *
 *   base.NAME                                   the frozen policy's, NAME as in ckpt.h
 *   actor.shape (2)                             a, tau (policy/norga.h)
 *   actor.score.weight (L, obs_dim), actor.score.bias (L)
 *   actor.new.J.l.weight (fan_out, fan_in), actor.new.J.l.bias (fan_out)
 *   critic. ...                                 l = 0 .. layers, the last is the head
 *   trainer (bytes) U8                          optional: the learner's state
 *
 * The metadata is that of the frozen policy (its configuration, version, denormaliser) and
 * graft_experts, graft_gate, graft_version, graft_learns_shape, graft_base_crc: the new
 * experts are of use with these very weights alone, so that both are in one file and the CRC
 * says whether they still belong together.
 *
 * Errors and checks as in ckpt.h; ERR_CORRUPT also when the frozen weights are not those the
 * experts were grown on. Ownership: loading gives an owned policy and graft. Threads: pure
 * apart from the file. */
#ifndef RL_GROWTH_CKPT_H
#define RL_GROWTH_CKPT_H

#include "policy/graft.h"
#include "learn/ckpt.h"

/* extra/extra_n: the learner's state, may be NULL/0. meta may be NULL. */
int growth_ckpt_save(const char *path, const struct policy *base, const struct graft *g,
                     const struct ckpt_meta *meta, const void *extra, size_t extra_n,
                     struct err *e) __attribute__((warn_unused_result));

/* meta and extra may be NULL. On failure nothing is given out and *base, *g, *meta, *extra are
 * as they were. */
int growth_ckpt_load(struct policy **base, struct graft **g, const char *path,
                     struct ckpt_meta *meta, void **extra, size_t *extra_n, struct err *e)
    __attribute__((warn_unused_result));

/* The same on memory. *out owned by the caller. */
int growth_ckpt_encode(void **out, size_t *n, const struct policy *base,
                       const struct graft *g, const struct ckpt_meta *meta,
                       const void *extra, size_t extra_n, struct err *e)
    __attribute__((warn_unused_result));
int growth_ckpt_decode(struct policy **base, struct graft **g, const void *data, size_t n,
                       struct ckpt_meta *meta, void **extra, size_t *extra_n,
                       struct err *e) __attribute__((warn_unused_result));

#endif

/* graft_pack.h - one decision of a grown profile, fast: a graft packed for batches of one.
 *
 * The same function as graft_decide (graft.h), which is its plain twin in the tests, on top
 * of the packed frozen policy (packed.h). The actor's and the critic's scores are one
 * product; both read the list of the observation's entries that are not 0.
 *
 * Weights that are not finite anywhere: every decision fails with ERR_NUMERIC.
 *
 * Errors: ERR_RANGE, ERR_MEMORY. Ownership: a pack owns its copy of the weights. Threads: a
 * const struct graft_pack is shared read-only after graft_pack_load. Deciding allocates
 * nothing. */
#ifndef MOE_GRAFT_PACK_H
#define MOE_GRAFT_PACK_H

#include "policy/graft.h"
#include "policy/packed.h"

struct graft_pack;

/* Weights 0. */
struct graft_pack *graft_pack_new(const struct graft_cfg *cfg, struct err *e);
void graft_pack_free(struct graft_pack *p);
/* Takes over the weights of a graft of this configuration, grown on `base`. */
void graft_pack_load(struct graft_pack *p, const struct graft *g,
                     const struct policy *base);
uint64_t graft_pack_version(const struct graft_pack *p); /* of the graft */
size_t graft_pack_bytes(const struct graft_pack *p);

/* As graft_decide; frozen is the packed policy that the graft was grown on. *share, when not
 * NULL, is m of the actor (0 when it fails). */
int graft_pack_decide(struct policy_choice *out, float *share, const struct graft_pack *p,
                      const struct packed *frozen, const float *obs, uint32_t mask,
                      double u);

#endif

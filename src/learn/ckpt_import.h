/* ckpt_import.h - a policy from a safetensors file that was trained elsewhere.
 *
 * The file holds the tensors that ckpt.h names, F32 and row-major (a torch.nn.Linear's weight as
 * it is), and nothing else; it needs no metadata and no checksum:
 *
 *   actor.router.weight (experts, obs_dim), actor.router.bias (experts)   none with one expert
 *   actor.expert.K.L.weight (fan_out, fan_in), actor.expert.K.L.bias (fan_out)
 *   critic. ...
 *
 * K counts experts from 0 and L layers from 0; ReLU between layers, none behind the last, whose
 * outputs are the logits of the levels (actor) or one value (critic). What the network is like
 * follows from the shapes: experts, layers, hidden units, inputs and actions. Only the routes do
 * not: the given ones, else top-1 where there is a router.
 *
 * The value is taken to be in units of scaled rewards (feat_reward_scale): ret_mean 0, ret_std 1.
 *
 * Errors: those of ckpt.h, ERR_ABSENT for a tensor that is missing. Threads: pure. */
#ifndef RL_CKPT_IMPORT_H
#define RL_CKPT_IMPORT_H

#include "policy/policy.h"

#include <stdbool.h>

struct ckpt_import_cfg {
    bool has_route, has_critic_route;
    enum mix_route route, critic_route;
};

/* Owned by the caller. cfg may be NULL. */
struct policy *ckpt_import(const char *path, const struct ckpt_import_cfg *cfg,
                           struct err *e);

#endif

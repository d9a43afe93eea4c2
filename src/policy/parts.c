#include "policy/parts.h"

#include "nn/mlp.h"

#include <stdio.h>

static int parts_count_of(const struct mix_cfg *c)
{
    return (c->route != MIX_SINGLE ? 2 : 0) + 2 * (c->layers + 1) * c->experts;
}

/* part i of 0 .. count-1 of one mixture */
static void part_of(struct parts_part *p, const char *who, const struct mix_cfg *c, int i)
{
    bool bias = i % 2;
    const char *kind = bias ? "bias" : "weight";
    if (c->route != MIX_SINGLE) {
        if (i < 2) {
            snprintf(p->name, sizeof p->name, "%s.router.%s", who, kind);
            p->at = bias ? (size_t)c->experts * (size_t)c->in : 0;
            p->rows = c->experts;
            p->cols = bias ? 0 : c->in;
            return;
        }
        i -= 2;
    }

    int per_expert = 2 * (c->layers + 1);
    int k = i / per_expert, l = i % per_expert / 2;
    struct mlp_cfg ec = {c->in, c->hidden, c->layers, c->out};
    struct mlp_layer layer = mlp_layer(&ec, l);
    snprintf(p->name, sizeof p->name, "%s.expert.%d.%d.%s", who, k, l, kind);
    p->at = mix_expert(c, k).at + (bias ? layer.b : layer.w);
    p->rows = layer.out;
    p->cols = bias ? 0 : layer.in;
}

int parts_count(const struct policy_cfg *cfg)
{
    struct mix_cfg actor = policy_actor_cfg(cfg), critic = policy_critic_cfg(cfg);
    return parts_count_of(&actor) + parts_count_of(&critic);
}

bool parts_get(struct parts_part *out, const struct policy_cfg *cfg, int i)
{
    if (i < 0 || i >= parts_count(cfg)) return false;
    struct mix_cfg actor = policy_actor_cfg(cfg), critic = policy_critic_cfg(cfg);
    int of_actor = parts_count_of(&actor);
    if (i < of_actor) {
        part_of(out, "actor", &actor, i);
    } else {
        part_of(out, "critic", &critic, i - of_actor);
        out->at += mix_size(&actor);
    }
    return true;
}

float *parts_view(struct policy *p, const struct parts_part *part)
{
    return part->at < p->actor->n ? p->actor->theta + part->at
                                  : p->critic->theta + (part->at - p->actor->n);
}

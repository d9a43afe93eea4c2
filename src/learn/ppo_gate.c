/* The gates of a learner: what wakes them, what is told of them, an expert's place taken back. */
#include "ppo_priv.h"

#include <assert.h>
#include <string.h>

static const struct ppo_net *ppo_gate_net_of(const struct ppo *p, enum ppo_which which)
{
    return &p->net[which == PPO_ACTOR ? ACTOR : CRITIC];
}

static bool any_latched(const struct ppo *p)
{
    return ppo_net_latched(&p->net[ACTOR], &p->cfg) ||
           ppo_net_latched(&p->net[CRITIC], &p->cfg);
}

void ppo_gate_watch(struct ppo *p)
{
    const struct ppo_batch *b = p->batch;
    p->stats.shift_tag = -1;
    if (p->cfg.drift.limit <= 0.0) return;
    if (!any_latched(p)) {
        p->drift = (struct drift){0}; /* what was before the latch is another regime */
        return;
    }
    int tag = drift_batch(&p->drift, &p->cfg.drift, b->advantage, b->tag, b->n);
    p->stats.shift_level = drift_level(&p->drift);
    p->stats.shift_tag = tag;
    if (tag >= 0) ppo_gate_reset(p);
}

void ppo_gate_report(struct ppo *p)
{
    for (int i = 0; i < 2; i++) {
        const struct ppo_net *l = ppo_gate_net_of(p, (enum ppo_which)i);
        p->stats.gate[i].converged = gate_converged(&l->gate, l->net->cfg.experts);
        p->stats.gate[i].latched = ppo_net_latched(l, &p->cfg);
        for (int k = 0; k < l->net->cfg.experts; k++)
            p->stats.gate[i].moved += (double)l->gate.moved[k] / l->net->cfg.experts;
    }
}

const struct gate *ppo_gate(const struct ppo *p, enum ppo_which which)
{
    return &ppo_gate_net_of(p, which)->gate;
}

bool ppo_gate_latched(const struct ppo *p, enum ppo_which which)
{
    return ppo_net_latched(ppo_gate_net_of(p, which), &p->cfg);
}

void ppo_gate_put(struct ppo *p, enum ppo_which which, const struct gate *g)
{
    p->net[which == PPO_ACTOR ? ACTOR : CRITIC].gate = *g;
}

void ppo_gate_reset(struct ppo *p)
{
    gate_reset(&p->net[ACTOR].gate);
    gate_reset(&p->net[CRITIC].gate);
    p->drift = (struct drift){0};
}

void ppo_undo(struct ppo *p, const void *state)
{
    struct drift seen = p->drift;
    int rc = ppo_state_put(p, state, ppo_state_size(p), NULL);
    assert(rc == 0);
    p->drift = seen;
    if (p->stats.shift_tag >= 0) ppo_gate_reset(p);
}

uint64_t ppo_sick(const struct ppo *p, enum ppo_which which)
{
    return ppo_gate_net_of(p, which)->sick;
}

/* Within the state of one net (ppo_net_state_get): both moments, then the counts. */
void ppo_expert_put(struct ppo *p, const void *state, enum ppo_which which, int expert)
{
    struct ppo_net *l = &p->net[which == PPO_ACTOR ? ACTOR : CRITIC];
    const char *at = (const char *)state + sizeof p->returns + sizeof p->drift;
    if (which == PPO_CRITIC) at += ppo_net_state_size(&p->net[ACTOR]);
    struct mix_range r = mix_expert(&l->net->cfg, expert);
    size_t n = l->net->n * sizeof *l->m, part = r.n * sizeof *l->m;
    memcpy(l->m + r.at, at + r.at * sizeof *l->m, part);
    memcpy(l->v + r.at, at + n + r.at * sizeof *l->m, part);
    memcpy(&l->steps[1 + expert], at + 2 * n + (1 + (size_t)expert) * sizeof *l->steps,
           sizeof *l->steps);
}

#include "policy/pair.h"

#include "nn/mlp.h"

#include <assert.h>
#include <string.h>

static int pair_check(const struct policy *on, const struct policy *off, struct err *e)
{
    const struct policy_cfg *a = &on->cfg, *b = &off->cfg;
    if (a->actions != b->actions || a->hidden != b->hidden || a->layers != b->layers ||
        a->critic_hidden != b->critic_hidden || a->route != b->route ||
        a->critic_route != b->critic_route)
        return err_set(e, ERR_CONFLICT, "the policies have different networks or routes");
    if (a->route == MIX_SINGLE || a->critic_route == MIX_SINGLE)
        return err_set(e, ERR_CONFLICT, "policies of one expert have no router");
    if (a->added.experts || b->added.experts)
        return err_set(e, ERR_CONFLICT, "policies with added experts cannot be paired");
    if (memcmp(&a->prior, &b->prior, sizeof a->prior) != 0)
        return err_set(e, ERR_CONFLICT, "the policies have different priors");
    if (b->obs_dim > a->obs_dim)
        return err_set(e, ERR_CONFLICT,
                       "the second policy observes %d entries, the first %d", b->obs_dim,
                       a->obs_dim);
    if (a->experts + b->experts > POLICY_GATES)
        return err_set(e, ERR_RANGE, "%d experts are more than %d",
                       a->experts + b->experts, POLICY_GATES);
    return 0;
}

/* Rows of `in` numbers become rows of `wide`, with zeros behind them. */
static void put_rows(float *to, int wide, const float *from, int in, int rows)
{
    for (int r = 0; r < rows; r++)
        memcpy(to + (size_t)r * (size_t)wide, from + (size_t)r * (size_t)in,
               (size_t)in * sizeof *to);
}

static struct mlp_cfg shape_of(const struct mix_cfg *c)
{
    return (struct mlp_cfg){c->in, c->hidden, c->layers, c->out};
}

static void pair_expert(struct mix *to, int k, const struct mix *from, int i)
{
    struct mlp_cfg wide = shape_of(&to->cfg), own = shape_of(&from->cfg);
    float *a = to->theta + mix_expert(&to->cfg, k).at;
    const float *b = from->theta + mix_expert(&from->cfg, i).at;
    struct mlp_layer first = mlp_layer(&wide, 0), was = mlp_layer(&own, 0);
    put_rows(a + first.w, wide.in, b + was.w, own.in, wide.hidden);
    /* everything behind the first layer's weights has the same shape */
    memcpy(a + first.b, b + was.b, (mlp_size(&wide) - first.b) * sizeof *a);
}

/* Experts of `from` behind the first `at`; their scores get by * x_entry + always. */
static void pair_mix(struct mix *to, int at, const struct mix *from, int entry, float by,
                     float always)
{
    int experts = from->cfg.experts, in = to->cfg.in;
    float *w = to->theta + (size_t)at * (size_t)in;
    float *b = to->theta + (size_t)to->cfg.experts * (size_t)in + at;
    put_rows(w, in, from->theta, from->cfg.in, experts);
    memcpy(b, from->theta + (size_t)experts * (size_t)from->cfg.in,
           (size_t)experts * sizeof *b);
    for (int k = 0; k < experts; k++) {
        w[(size_t)k * (size_t)in + (size_t)entry] += by;
        b[k] += always;
        pair_expert(to, at + k, from, k);
    }
}

/* The heads of the critic's experts from `at` on, on the scale of the pair. */
static void pair_returns(struct policy *p, int at, const struct policy *own)
{
    struct mlp_cfg shape = shape_of(&p->critic->cfg);
    struct mlp_layer head = mlp_layer(&shape, shape.layers);
    float by = own->ret_std / p->ret_std,
          shift = (own->ret_mean - p->ret_mean) / p->ret_std;
    for (int k = at; k < at + own->cfg.critic_experts; k++) {
        float *theta = p->critic->theta + mix_expert(&p->critic->cfg, k).at;
        for (int i = 0; i < head.in * head.out; i++)
            theta[head.w + (size_t)i] *= by;
        for (int i = 0; i < head.out; i++)
            theta[head.b + (size_t)i] = by * theta[head.b + (size_t)i] + shift;
    }
}

struct policy *pair_new(const struct policy *on, const struct policy *off, int entry,
                        struct err *e)
{
    assert(entry >= 0 && entry < on->cfg.obs_dim);
    if (pair_check(on, off, e)) return NULL;
    struct policy_cfg c = on->cfg;
    c.experts += off->cfg.experts;
    c.critic_experts += off->cfg.critic_experts;
    struct policy *p = policy_new(&c, e);
    if (!p) return NULL;
    p->ret_mean = on->ret_mean;
    p->ret_std = on->ret_std;
    pair_mix(p->actor, 0, on->actor, entry, PAIR_APART, -PAIR_APART);
    pair_mix(p->actor, on->cfg.experts, off->actor, entry, -PAIR_APART, 0);
    pair_mix(p->critic, 0, on->critic, entry, PAIR_APART, -PAIR_APART);
    pair_mix(p->critic, on->cfg.critic_experts, off->critic, entry, -PAIR_APART, 0);
    pair_returns(p, on->cfg.critic_experts, off);
    return p;
}

#include "policy/join.h"

#include "policy/bank.h"
#include "nn/mlp.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

struct policy_cfg join_merged_cfg(const struct policy_cfg *joined)
{
    struct policy_cfg c = *joined;
    c.experts = c.critic_experts = 1;
    c.route = c.critic_route = MIX_SINGLE;
    return c;
}

static int join_check(const struct policy *const *single, int n, struct err *e)
{
    if (n < 2 || n > MIX_EXPERTS_MAX)
        return err_set(e, ERR_RANGE, "2 to %d policies can be joined, not %d",
                       MIX_EXPERTS_MAX, n);
    for (int k = 0; k < n; k++) {
        struct policy_cfg own = join_merged_cfg(&single[k]->cfg);
        if (memcmp(&own, &single[k]->cfg, sizeof own) != 0)
            return err_set(e, ERR_CONFLICT, "policy %d has more than one expert", k);
        if (memcmp(&own, &single[0]->cfg, sizeof own) != 0)
            return err_set(e, ERR_CONFLICT, "policies 0 and %d have different networks",
                           k);
    }
    return 0;
}

static void put_expert(struct mix *joined, int k, const struct mix *single)
{
    struct mix_range to = mix_expert(&joined->cfg, k), from = mix_expert(&single->cfg, 0);
    assert(to.n == from.n);
    memcpy(joined->theta + to.at, single->theta + from.at, sizeof(float) * from.n);
}

/* The head of a critic on the joined policy's scale of returns. */
static void rescale(struct policy *joined, int k, const struct policy *single)
{
    const struct mix_cfg *c = &joined->critic->cfg;
    struct mlp_cfg shape = {c->in, c->hidden, c->layers, c->out};
    struct mlp_layer head = mlp_layer(&shape, c->layers);
    float *theta = joined->critic->theta + mix_expert(c, k).at;
    float by = single->ret_std / joined->ret_std;
    float shift = (single->ret_mean - joined->ret_mean) / joined->ret_std;
    for (int i = 0; i < head.in * head.out; i++)
        theta[head.w + (size_t)i] *= by;
    for (int i = 0; i < head.out; i++)
        theta[head.b + (size_t)i] = by * theta[head.b + (size_t)i] + shift;
}

static bool finite_weights(const struct policy *p)
{
    const struct mix *nets[] = {p->actor, p->critic};
    for (int m = 0; m < 2; m++)
        for (size_t i = 0; i < nets[m]->n; i++)
            if (!isfinite(nets[m]->theta[i])) return false;
    return true;
}

struct policy *join_new(const struct policy *const *single, int n, struct err *e)
{
    if (join_check(single, n, e)) return NULL;
    struct policy_cfg c = single[0]->cfg;
    c.experts = c.critic_experts = n;
    c.route = c.critic_route = MIX_DENSE;
    struct policy *p = policy_new(&c, e);
    if (!p) return NULL;

    p->ret_mean = p->ret_std = 0;
    for (int k = 0; k < n; k++) {
        p->ret_mean += single[k]->ret_mean / (float)n;
        p->ret_std = fmaxf(p->ret_std, single[k]->ret_std);
    }
    for (int k = 0; k < n; k++) {
        put_expert(p->actor, k, single[k]->actor);
        put_expert(p->critic, k, single[k]->critic);
        rescale(p, k, single[k]);
    }
    if (finite_weights(p)) return p;
    policy_free(p);
    err_set(e, ERR_NUMERIC, "weights of a policy are not finite");
    return NULL;
}

int join_merge(struct policy *out, const struct policy *joined, const float *x)
{
    struct policy_cfg want = join_merged_cfg(&joined->cfg);
    assert(memcmp(&want, &out->cfg, sizeof want) == 0);
    int rc = bank_policy(out, joined, x);
    out->version = joined->version;
    return rc;
}

static int count_kept(uint64_t bits)
{
    int n = 0;
    for (; bits; bits &= bits - 1)
        n++;
    return n;
}

static void keep_experts(struct mix *to, const struct mix *from, uint64_t bits)
{
    struct mix_range all = mix_router(&from->cfg), kept = mix_router(&to->cfg);
    size_t in = (size_t)from->cfg.in, experts = (size_t)from->cfg.experts;
    for (int k = 0, at = 0; k < from->cfg.experts; k++) {
        if (!(bits >> k & 1)) continue;
        struct mix_range a = mix_expert(&to->cfg, at), b = mix_expert(&from->cfg, k);
        assert(a.n == b.n);
        memcpy(to->theta + a.at, from->theta + b.at, sizeof(float) * a.n);
        if (kept.n) { /* W (experts, in), b (experts) */
            size_t n = (size_t)to->cfg.experts;
            memcpy(to->theta + kept.at + in * (size_t)at,
                   from->theta + all.at + in * (size_t)k, sizeof(float) * in);
            to->theta[kept.at + in * n + (size_t)at] =
                from->theta[all.at + in * experts + (size_t)k];
        }
        at++;
    }
}

struct policy *join_keep(const struct policy *p, uint64_t actor, uint64_t critic,
                         struct err *e)
{
    const struct policy_cfg *was = &p->cfg;
    if (!actor || !critic || (was->experts < 64 && actor >> was->experts) ||
        (was->critic_experts < 64 && critic >> was->critic_experts)) {
        err_set(e, ERR_RANGE,
                "the policy has experts 0 to %d of the actor, 0 to %d of the critic",
                was->experts - 1, was->critic_experts - 1);
        return NULL;
    }
    struct policy_cfg c = *was;
    c.added = (struct policy_added_cfg){0};
    c.experts = count_kept(actor);
    c.critic_experts = count_kept(critic);
    if (c.experts == 1) c.route = MIX_SINGLE;
    if (c.critic_experts == 1) c.critic_route = MIX_SINGLE;
    struct policy *out = policy_new(&c, e);
    if (!out) return NULL;
    keep_experts(out->actor, p->actor, actor);
    keep_experts(out->critic, p->critic, critic);
    out->ret_mean = p->ret_mean;
    out->ret_std = p->ret_std;
    out->version = p->version;
    return out;
}

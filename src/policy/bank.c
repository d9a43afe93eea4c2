#include "policy/bank.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

int bank_merge(float *theta_out, const struct mix *m, const float *x)
{
    for (int k = 0; k < m->cfg.experts; k++)
        if (!isfinite(x[k])) return ERR_NUMERIC;

    struct mix_range first = mix_expert(&m->cfg, 0);
    bool finite = true;
    for (size_t i = 0; i < first.n; i++) {
        double sum = 0.0;
        for (int k = 0; k < m->cfg.experts; k++)
            sum += (double)x[k] * (double)m->theta[first.at + (size_t)k * first.n + i];
        theta_out[i] = (float)sum;
        finite = finite && isfinite(theta_out[i]);
    }
    return finite ? 0 : ERR_NUMERIC;
}

int bank_policy_cfg(struct policy_cfg *out, const struct policy_cfg *experts,
                    struct err *e)
{
    if (experts->critic_experts != 1 && experts->critic_experts != experts->experts)
        return err_field(e, ERR_INVALID, "critic_experts",
                         "%d cannot be merged along with %d of the actor",
                         experts->critic_experts, experts->experts);
    *out = *experts;
    out->experts = out->critic_experts = 1;
    out->route = out->critic_route = MIX_SINGLE;
    return 0;
}

int bank_policy(struct policy *out, const struct policy *experts, const float *x)
{
    static const float ALONE[1] = {1};
    bool together = experts->cfg.critic_experts == experts->cfg.experts;
    out->ret_mean = experts->ret_mean;
    out->ret_std = experts->ret_std;
    assert(together || experts->critic->cfg.experts == 1);
    int rc = bank_merge(out->actor->theta, experts->actor, x);
    if (rc) return rc;
    return bank_merge(out->critic->theta, experts->critic, together ? x : ALONE);
}

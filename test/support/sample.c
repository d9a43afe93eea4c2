#include "support/sample.h"

#include <check.h>
#include <string.h>

struct policy_cfg sample_cfg(enum mix_route route)
{
    return (struct policy_cfg){.obs_dim = 3,
                               .actions = 2,
                               .hidden = 2,
                               .layers = 1,
                               .experts = route == MIX_SINGLE ? 1 : 2,
                               .critic_hidden = 3,
                               .critic_experts = 1,
                               .route = route,
                               .critic_route = MIX_SINGLE};
}

struct policy *sample_policy(struct policy_cfg c)
{
    struct policy *p = policy_new(&c, NULL);
    ck_assert_ptr_nonnull(p);
    policy_init(p, 9);
    p->actor->theta[1] = -0.0f;
    p->actor->theta[2] = 1e-42f; /* subnormal */
    p->ret_mean = -0.1f;
    p->ret_std = 1.0f / 3.0f;
    p->version = UINT64_MAX;
    return p;
}

void sample_meta(struct ckpt_meta *m)
{
    m->n = 0;
    ckpt_meta_set(m, "command", "abrd train --seed %d", 7);
    ckpt_meta_set(m, "author", "\"quoted\" \\ and Zo\xc3\xab");
}

void sample_encode(void **out, size_t *n, const struct policy *p,
                   const struct ckpt_meta *m, const char *extra)
{
    struct err e = {0};
    ck_assert_msg(ckpt_encode(out, n, p, m, extra, extra ? strlen(extra) : 0, &e) == 0,
                  "%s", e.detail);
}

void sample_same(const struct policy *a, const struct policy *b)
{
    ck_assert_mem_eq(&a->cfg, &b->cfg, sizeof a->cfg);
    ck_assert_mem_eq(a->actor->theta, b->actor->theta, sizeof(float) * a->actor->n);
    ck_assert_mem_eq(a->critic->theta, b->critic->theta, sizeof(float) * a->critic->n);
    ck_assert_mem_eq(&a->ret_mean, &b->ret_mean, sizeof(float));
    ck_assert_mem_eq(&a->ret_std, &b->ret_std, sizeof(float));
    ck_assert_uint_eq(a->version, b->version);
}

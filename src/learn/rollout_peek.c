#include "rollout_priv.h"

#include <math.h>
#include <stdlib.h>

int rollout_peeks_init(struct rollout_peeks *p, const struct env_spec *spec, int envs,
                       bool privileged, struct err *e)
{
    size_t rows = (size_t)envs * (size_t)spec->actions;
    size_t obs = (size_t)spec->obs_dim, priv = (size_t)spec->priv_dim;
    size_t wide = privileged ? obs + priv : obs;
    *p = (struct rollout_peeks){
        .wide = wide,
        .privileged = privileged,
        .obs = calloc(rows * wide, sizeof(float)),
        .priv = calloc(priv + 1, sizeof(float)),
        .value = calloc(rows, sizeof(float)),
        .tag = calloc(rows, sizeof(int)),
        .at = calloc(rows, sizeof(size_t)),
    };
    if (p->obs && p->priv && p->value && p->tag && p->at) return 0;
    return err_set(e, ERR_MEMORY, "no memory to try the actions of %d environments",
                   envs);
}

void rollout_peeks_release(struct rollout_peeks *p)
{
    free(p->at);
    free(p->tag);
    free(p->value);
    free(p->priv);
    free(p->obs);
}

void rollout_peek(struct rollout_peeks *p, float *q, size_t at, const struct env *env,
                  const float *prob, uint32_t mask, int taken, int tag, double least)
{
    for (int a = 0; a < env->spec.actions; a++, at++) {
        q[at] = NAN;
        if (!(mask >> a & 1) || (a != taken && (double)prob[a] < least)) continue;
        size_t i = (size_t)p->n;
        float *row = p->obs + i * p->wide;
        struct env_out out = {.obs = row,
                              .priv = p->privileged ? row + env->spec.obs_dim : p->priv};
        env->peek(env->self, a, &out);
        q[at] = out.reward;
        if (out.done) continue;
        p->tag[i] = tag;
        p->at[i] = at;
        p->n++;
    }
}

void rollout_peeks_add(struct rollout_peeks *p, float *q, double gamma)
{
    for (int i = 0; i < p->n; i++)
        q[p->at[i]] += (float)gamma * p->value[i];
    p->n = 0;
}

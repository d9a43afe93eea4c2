#include "support/toy_env.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

struct toy {
    struct rng rng;
    uint64_t id;
    float scale;
    int context, step;
};

static void show(struct toy *t, struct env_out *out)
{
    memset(out->obs, 0, TOY_OBS * sizeof *out->obs);
    t->context = (int)rng_below(&t->rng, 3);
    out->obs[t->context] = 1.f;
    out->obs[3] = 1.f;
    out->priv[0] = (float)t->context;
    out->priv[1] = (float)(7 - t->step) / 7.f;
    out->mask = 7;
    out->tag = t->context == 2;
}

static void toy_reset(void *self, struct env_out *out)
{
    struct toy *t = self;
    t->step = 0;
    show(t, out);
}

static void toy_step(void *self, int action, struct env_out *out)
{
    struct toy *t = self;
    out->reward = action == t->context ? t->scale : 0.f;
    bool end = ++t->step == 7;
    out->done = end && t->id % 2 == 0;
    out->truncated = end && t->id % 2 == 1;
    show(t, out);
}

static void toy_peek(const void *self, int action, struct env_out *out)
{
    struct toy copy = *(const struct toy *)self;
    toy_step(&copy, action, out);
}

static int toy_advise(void *self)
{
    return ((struct toy *)self)->context;
}

static void toy_get(const void *self, void *out)
{
    memcpy(out, self, sizeof(struct toy));
}

static void toy_put(void *self, const void *in)
{
    memcpy(self, in, sizeof(struct toy));
}

struct env toy_env_make(void *ctx, uint64_t id, struct err *e)
{
    struct toy *t = calloc(1, sizeof *t);
    if (!t) {
        err_set(e, ERR_MEMORY, "no memory for a toy");
        return (struct env){0};
    }
    rng_init(&t->rng, 77, id);
    t->id = id;
    t->scale = ctx ? *(const float *)ctx : 1.f;
    return (struct env){
        .self = t,
        .spec = {TOY_OBS, TOY_PRIV, TOY_ACTIONS, 2},
        .reset = toy_reset,
        .step = toy_step,
        .peek = toy_peek,
        .advise = toy_advise,
        .state_size = sizeof *t,
        .state_get = toy_get,
        .state_put = toy_put,
        .free = free,
    };
}

void toy_viewer_init(struct toy_viewer *v, uint64_t id)
{
    *v = (struct toy_viewer){.env = toy_env_make(NULL, id, NULL)};
    ck_assert_ptr_nonnull(v->env.self);
    rng_init(&v->rng, 31, id);
}

void toy_viewer_release(struct toy_viewer *v)
{
    v->env.free(v->env.self);
}

struct online_trajectory toy_watch(struct toy_viewer *v, toy_decide *decide, void *ctx,
                                   uint64_t version)
{
    float priv[TOY_PRIV];
    struct env_out out = {.obs = v->obs, .priv = priv};
    v->env.reset(v->env.self, &out);
    int n = 0;
    for (bool end = false; !end; n++) {
        struct policy_choice c;
        v->mask[n] = out.mask;
        ck_assert_int_eq(
            decide(ctx, &c, v->obs + n * TOY_OBS, out.mask, rng_uniform(&v->rng)), 0);
        v->action[n] = c.action;
        v->logp[n] = c.logp;
        out.obs = v->obs + (n + 1) * TOY_OBS;
        v->env.step(v->env.self, c.action, &out);
        v->reward[n] = out.reward;
        end = out.done || out.truncated;
    }
    return (struct online_trajectory){.n = n,
                                      .obs = v->obs,
                                      .mask = v->mask,
                                      .action = v->action,
                                      .logp = v->logp,
                                      .reward = v->reward,
                                      .version = version,
                                      .truncated = out.truncated,
                                      .last_obs = v->obs + n * TOY_OBS,
                                      .last_mask = out.mask};
}

double toy_sum(const struct online_trajectory *t)
{
    double sum = 0;
    for (int i = 0; i < t->n; i++)
        sum += (double)t->reward[i];
    return sum;
}

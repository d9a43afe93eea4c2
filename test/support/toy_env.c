#include "support/toy_env.h"

#include "base/rng.h"

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

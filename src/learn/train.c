#include "learn/train.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fixed states and their chosen experts, to count the routes that an update changes. */
struct probe {
    int n;      /* 0 until the first rollout */
    float *obs; /* (TRAIN_PROBE, obs_dim), owned */
    int chosen[2][TRAIN_PROBE], before[2][TRAIN_PROBE]; /* actor, critic */
};

struct train {
    struct train_cfg cfg;
    struct policy *policy;
    struct priv_critic *priv_critic; /* NULL without a privileged critic */
    struct rollout *rollout;
    struct ppo *ppo;
    int64_t iteration, steps;
    struct probe probe;
};

/* Streams of one seed: environments use their number, so the others are far away. */
enum { STREAM_ROLLOUT = 1, STREAM_PPO, STREAM_PRIV_CRITIC };

static uint64_t train_stream(const struct train_cfg *cfg, int which)
{
    return rng_u64_at(cfg->seed, (uint64_t)which, 0);
}

/* The environment determines the numbers of privileged floats and of tags. */
static struct priv_critic *train_priv_critic(const struct train_cfg *cfg,
                                             const struct env_spec *spec, struct err *e)
{
    struct priv_critic_cfg c = {.obs_dim = spec->obs_dim,
                                .priv_dim = spec->priv_dim,
                                .tags = spec->tags,
                                .hidden = cfg->priv_hidden,
                                .layers = cfg->priv_layers};
    return priv_critic_new(&c, train_stream(cfg, STREAM_PRIV_CRITIC), e);
}

struct train *train_new(const struct train_cfg *cfg, struct policy *policy,
                        struct env (*make)(void *ctx, uint64_t id, struct err *e),
                        void *ctx, struct err *e)
{
    assert(cfg->steps > 0);
    struct train *t = calloc(1, sizeof *t);
    if (!t) {
        err_set(e, ERR_MEMORY, "no memory for training");
        return NULL;
    }
    t->cfg = *cfg;
    t->policy = policy;

    struct env probe = make(ctx, 0, e);
    if (!probe.self) goto failed;
    probe.free(probe.self);
    if (cfg->privileged) {
        t->priv_critic = train_priv_critic(cfg, &probe.spec, e);
        if (!t->priv_critic) goto failed;
    }

    struct rollout_cfg rc = cfg->rollout;
    rc.seed = train_stream(cfg, STREAM_ROLLOUT);
    t->rollout = rollout_new(&rc, policy, t->priv_critic, make, ctx, e);
    if (!t->rollout) goto failed;
    t->ppo = ppo_new(&cfg->ppo, policy, t->priv_critic, rc.envs * rc.steps,
                     train_stream(cfg, STREAM_PPO), e);
    if (!t->ppo) goto failed;
    t->probe.obs =
        malloc(TRAIN_PROBE * (size_t)policy->cfg.obs_dim * sizeof *t->probe.obs);
    if (!t->probe.obs) {
        err_set(e, ERR_MEMORY, "no memory for training");
        goto failed;
    }
    return t;

failed:
    train_free(t);
    return NULL;
}

void train_free(struct train *t)
{
    if (!t) return;
    free(t->probe.obs);
    ppo_free(t->ppo);
    rollout_free(t->rollout);
    priv_critic_free(t->priv_critic);
    free(t);
}

bool train_done(const struct train *t)
{
    return t->steps >= t->cfg.steps;
}

int64_t train_steps(const struct train *t)
{
    return t->steps;
}

static double share_done(const struct train *t)
{
    return (double)t->steps / (double)t->cfg.steps;
}

static double scheduled(const struct train *t, double from, double to)
{
    double share = share_done(t);
    switch (t->cfg.schedule) {
    case TRAIN_CONSTANT:
        return from;
    case TRAIN_LINEAR:
        return from + (to - from) * share;
    case TRAIN_GEOMETRIC:
        return from > 0.0 && to > 0.0 ? from * pow(to / from, share) : from;
    }
    return from;
}

/* A latched gate gets no router noise. */
static void rest_with_the_gates(struct train *t)
{
    double z = t->cfg.rollout.router_noise;
    rollout_set_router_noise(t->rollout, ppo_gate_latched(t->ppo, PPO_ACTOR) ? 0.0 : z,
                             ppo_gate_latched(t->ppo, PPO_CRITIC) ? 0.0 : z);
}

const struct gate *train_gate(const struct train *t, enum ppo_which which)
{
    return ppo_gate(t->ppo, which);
}

static void route_probe(struct train *t)
{
    struct probe *p = &t->probe;
    memcpy(p->before, p->chosen, sizeof p->before);
    gate_choose(p->chosen[PPO_ACTOR], t->policy->actor, p->obs, p->n);
    gate_choose(p->chosen[PPO_CRITIC], t->policy->critic, p->obs, p->n);
}

/* The first rollout after a start gives the states, spread over all of it. */
static void take_probe(struct train *t, const struct ppo_batch *b)
{
    struct probe *p = &t->probe;
    if (p->n) return;
    size_t dim = (size_t)t->policy->cfg.obs_dim;
    p->n = b->n < TRAIN_PROBE ? b->n : TRAIN_PROBE;
    for (int i = 0; i < p->n; i++) {
        size_t row = (size_t)((int64_t)i * b->n / p->n);
        memcpy(p->obs + (size_t)i * dim, b->obs + row * dim, dim * sizeof *p->obs);
    }
    route_probe(t);
}

static void tell_rerouted(struct train *t, struct train_row *r)
{
    const struct probe *p = &t->probe;
    route_probe(t);
    for (int w = 0; w < 2; w++) {
        int changed = 0;
        for (int i = 0; i < p->n; i++)
            changed += p->chosen[w][i] != p->before[w][i];
        r->rerouted[w] = (double)changed / p->n;
    }
}

int train_iterate(struct train *t, struct train_row *row)
{
    const struct ppo_cfg *c = &t->cfg.ppo;
    double lr = scheduled(t, c->lr, t->cfg.lr_end);
    double entropy = scheduled(t, c->entropy, t->cfg.entropy_end);
    ppo_set_lr(t->ppo, lr, c->lr > 0.0 ? c->critic_lr * lr / c->lr : c->critic_lr);
    ppo_set_entropy(t->ppo, entropy);
    ppo_set_imitate(t->ppo,
                    c->imitate + (t->cfg.imitate_end - c->imitate) * share_done(t));

    rest_with_the_gates(t);

    struct train_row r = {.lr = lr, .entropy = entropy};
    rollout_collect(t->rollout, c->gamma, c->lambda, &r.rollout);
    struct ppo_batch batch;
    rollout_batch(t->rollout, &batch);
    take_probe(t, &batch);
    int rc = ppo_update(t->ppo, &batch, &r.ppo);
    tell_rerouted(t, &r);

    t->iteration++;
    t->steps += batch.n;
    r.iteration = t->iteration;
    r.steps = t->steps;
    if (row) *row = r;
    return rc;
}

/* What must match before the rest of a state is read. */
struct state_head {
    char magic[8];
    int64_t iteration, steps;
    uint64_t seed, ppo_bytes, rollout_bytes, priv_floats;
};

static struct state_head train_head_of(const struct train *t)
{
    return (struct state_head){
        .magic = "abrdtrn",
        .iteration = t->iteration,
        .steps = t->steps,
        .seed = t->cfg.seed,
        .ppo_bytes = ppo_state_size(t->ppo),
        .rollout_bytes = rollout_state_size(t->rollout),
        .priv_floats = t->priv_critic ? t->priv_critic->mix->n : 0,
    };
}

size_t train_state_size(const struct train *t)
{
    struct state_head h = train_head_of(t);
    size_t priv_critic = t->priv_critic ? sizeof t->priv_critic->scale : 0;
    return sizeof h + h.ppo_bytes + h.rollout_bytes + priv_critic +
           h.priv_floats * sizeof(float);
}

void train_state_get(const struct train *t, void *out)
{
    struct state_head h = train_head_of(t);
    char *p = out;
    memcpy(p, &h, sizeof h);
    p += sizeof h;
    ppo_state_get(t->ppo, p);
    p += h.ppo_bytes;
    if (h.rollout_bytes) rollout_state_get(t->rollout, p);
    p += h.rollout_bytes;
    if (!t->priv_critic) return;
    memcpy(p, t->priv_critic->scale, sizeof t->priv_critic->scale);
    memcpy(p + sizeof t->priv_critic->scale, t->priv_critic->mix->theta,
           h.priv_floats * sizeof(float));
}

int train_state_put(struct train *t, const void *in, size_t n, struct err *e)
{
    struct state_head mine = train_head_of(t), h;
    if (n < sizeof h) return err_set(e, ERR_CORRUPT, "training state is too short");
    memcpy(&h, in, sizeof h);
    mine.iteration = h.iteration;
    mine.steps = h.steps;
    if (memcmp(&h, &mine, sizeof h) != 0 || n != train_state_size(t))
        return err_set(e, ERR_CORRUPT,
                       "training state is of another configuration or seed (%zu bytes, "
                       "expected %zu)",
                       n, train_state_size(t));

    const char *p = (const char *)in + sizeof h;
    int rc = ppo_state_put(t->ppo, p, h.ppo_bytes, e);
    if (rc) return rc;
    p += h.ppo_bytes;
    if (h.rollout_bytes) rollout_state_put(t->rollout, p);
    p += h.rollout_bytes;
    if (t->priv_critic) {
        memcpy(t->priv_critic->scale, p, sizeof t->priv_critic->scale);
        memcpy(t->priv_critic->mix->theta, p + sizeof t->priv_critic->scale,
               h.priv_floats * sizeof(float));
    }
    t->iteration = h.iteration;
    t->steps = h.steps;
    return 0;
}

#include "learn/rollout.h"

#include "base/pool.h"
#include "nn/simd/kern.h"
#include "learn/gae.h"
#include "learn/inject.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One environment and where it stands. */
struct seat {
    struct env env;
    struct rng rng;
    uint32_t mask;
    int tag;
};

enum { CHUNK = 256 }; /* rows per forward pass of the critic, and of followed actions */

/* Where the tried actions of one block's environments lead, until their values are known.
 * Rows are in the order of the trials; at[i] is the place in q that row i belongs to. */
struct rollout_peeks {
    int rows, n; /* room, and rows in use */
    struct env
        *copy; /* (rows), owned; NULL: one step needs none. Row i continues in copy[i] */
    char *state;    /* of the environment whose actions are tried */
    bool *cut;      /* (rows): not followed, so only the value is missing */
    float *weight;  /* (rows): gamma^steps, of what follows */
    uint32_t *mask; /* (rows) */
    struct mix_ws *ws;
    float *x, *logits; /* (CHUNK, obs_dim), (CHUNK, actions) */
    size_t wide;       /* floats of a row of obs, the critic's input */
    bool privileged;   /* a row goes on with the privileged observation */
    float *obs, *value;
    float *priv; /* memory for unused privileged observations */
    int *tag;
    size_t *at;
};

/* Scratch of one block; boot rows are the observations that cut trajectories ended with.
 */
struct block {
    struct mix_ws *actor_ws, *critic_ws;
    float *logits, *prob, *logp; /* (block, actions) */
    uint32_t *mask;              /* (block) */
    float *value;                /* (chunk, critic out) */
    float *input;                /* (chunk, critic in): obs and priv side by side */
    float *value_z;              /* (chunk, critic experts): its router noise */
    float *boot_obs, *boot_priv, *boot_value;
    int *boot_row, *boot_tag; /* the step whose boot value each is, and its tag */
    int boots;
    struct rollout_peeks peeks;
    struct teach_ws *teach; /* (chunk) */
    struct rollout_stats stats;
};

struct rollout {
    struct rollout_cfg cfg;
    const struct policy *policy;
    const struct priv_critic *priv_critic;
    struct env_spec spec;
    int n, blocks, experts;
    struct seat *seats;
    struct block *block;

    float *now_obs, *now_priv, *now_z; /* (envs, ...): what the next step sees */
    float *obs, *priv, *z;             /* (n, ...) */
    float *q, *prob;                   /* (n, actions), when actions are tried */
    float *shown;                      /* (n, actions), when there are teachers */
    double gamma;                      /* of the collect that is running */
    double critic_noise;               /* std of the critic's z; the actor's is in cfg */
    float *logp, *reward, *value, *boot, *advantage, *target;
    uint32_t *mask;
    int *action, *tag;
    uint8_t *last;
};

/* ---- actions that were not taken, tried on the side */

/* Room for every action of `envs` environments. */
static int rollout_peeks_init(struct rollout_peeks *p, const struct env_spec *spec,
                              int envs, bool privileged, struct err *e)
{
    size_t rows = (size_t)envs * (size_t)spec->actions;
    size_t obs = (size_t)spec->obs_dim, priv = (size_t)spec->priv_dim;
    size_t wide = privileged ? obs + priv : obs;
    *p = (struct rollout_peeks){
        .rows = (int)rows,
        .wide = wide,
        .privileged = privileged,
        .obs = calloc(rows * wide, sizeof(float)),
        .priv = calloc(priv + 1, sizeof(float)),
        .value = calloc(rows, sizeof(float)),
        .weight = calloc(rows, sizeof(float)),
        .cut = calloc(rows, sizeof(bool)),
        .mask = calloc(rows, sizeof(uint32_t)),
        .tag = calloc(rows, sizeof(int)),
        .at = calloc(rows, sizeof(size_t)),
    };
    if (p->obs && p->priv && p->value && p->weight && p->cut && p->mask && p->tag &&
        p->at)
        return 0;
    return err_set(e, ERR_MEMORY, "no memory to try the actions of %d environments",
                   envs);
}

/* Copies of the environment, in which tried actions are followed. */
static int rollout_peeks_copies(struct rollout_peeks *p, const struct mix_cfg *actor,
                                struct env (*make)(void *ctx, uint64_t id, struct err *e),
                                void *ctx, struct err *e)
{
    p->copy = calloc((size_t)p->rows, sizeof *p->copy);
    p->x = calloc(CHUNK * (size_t)actor->in, sizeof *p->x);
    p->logits = calloc(CHUNK * (size_t)actor->out, sizeof *p->logits);
    p->ws = mix_ws_new(actor, CHUNK, e);
    if (!p->copy || !p->x || !p->logits || !p->ws)
        return err_set(e, ERR_MEMORY, "no memory to follow actions");
    for (int i = 0; i < p->rows; i++) {
        p->copy[i] = make(ctx, (uint64_t)i, e);
        if (!p->copy[i].self) return e ? e->code : ERR_MEMORY;
    }
    p->state = malloc(p->copy[0].state_size);
    return p->state ? 0 : err_set(e, ERR_MEMORY, "no memory to follow actions");
}

static void rollout_peeks_release(struct rollout_peeks *p)
{
    for (int i = 0; p->copy && i < p->rows; i++)
        if (p->copy[i].self) p->copy[i].free(p->copy[i].self);
    mix_ws_free(p->ws);
    free(p->logits);
    free(p->x);
    free(p->state);
    free(p->copy);
    free(p->mask);
    free(p->cut);
    free(p->weight);
    free(p->at);
    free(p->tag);
    free(p->value);
    free(p->priv);
    free(p->obs);
}

/* Tries the action `taken` and those of probability >= least. q[at ..]: their rewards, NaN for
 * the others; where the episode goes on the next observation is kept. */
static void rollout_peek(struct rollout_peeks *p, float *q, size_t at,
                         const struct env *env, const float *prob, uint32_t mask,
                         int taken, int tag, double least, double gamma)
{
    bool alone = true; /* then nothing is learned from what follows */
    for (int a = 0; a < env->spec.actions; a++)
        alone &= !(mask >> a & 1) || a == taken || (double)prob[a] < least;
    bool copied = p->copy && !alone;
    if (copied) env->state_get(env->self, p->state);
    for (int a = 0; a < env->spec.actions; a++, at++) {
        q[at] = NAN;
        if (!(mask >> a & 1) || (a != taken && (double)prob[a] < least)) continue;
        size_t i = (size_t)p->n;
        float *row = p->obs + i * p->wide;
        struct env_out out = {.obs = row,
                              .priv = p->privileged ? row + env->spec.obs_dim : p->priv};
        if (copied) {
            p->copy[i].state_put(p->copy[i].self, p->state);
            p->copy[i].step(p->copy[i].self, a, &out);
        } else {
            env->peek(env->self, a, &out);
        }
        q[at] = out.reward;
        if (out.done) continue;
        p->weight[i] = (float)gamma;
        p->cut[i] = out.truncated || alone;
        p->mask[i] = out.mask;
        p->tag[i] = tag;
        p->at[i] = at;
        p->n++;
    }
}

/* Row i has ended: the last row takes its place. */
static void rollout_peeks_drop(struct rollout_peeks *p, int i)
{
    int last = --p->n;
    if (i == last) return;
    memcpy(p->obs + (size_t)i * p->wide, p->obs + (size_t)last * p->wide,
           p->wide * sizeof *p->obs);
    struct env ended = p->copy[i];
    p->copy[i] = p->copy[last];
    p->copy[last] = ended;
    p->weight[i] = p->weight[last];
    p->cut[i] = p->cut[last];
    p->mask[i] = p->mask[last];
    p->tag[i] = p->tag[last];
    p->at[i] = p->at[last];
}

static int rollout_best(const float *logits, uint32_t mask, int actions)
{
    int best = -1;
    for (int a = 0; a < actions; a++)
        if (mask >> a & 1 && (best < 0 || logits[a] > logits[best])) best = a;
    return best;
}

/* Every row that goes on takes the policy's best action. q gets the rewards. */
static void rollout_peeks_follow(struct rollout_peeks *p, float *q,
                                 const struct mix *actor, double gamma)
{
    int in = actor->cfg.in, out_dim = actor->cfg.out;
    /* from the end, so that a row that takes the place of another has been stepped */
    for (int to = p->n; to > 0;) {
        int from = to > CHUNK ? to - CHUNK : 0;
        for (int i = from; i < to; i++)
            memcpy(p->x + (i - from) * in, p->obs + (size_t)i * p->wide,
                   (size_t)in * sizeof *p->x);
        mix_forward(p->logits, NULL, NULL, actor, p->ws, p->x, NULL, to - from);
        for (int i = to - 1; i >= from; i--) {
            if (p->cut[i]) continue;
            float *row = p->obs + (size_t)i * p->wide;
            struct env_out out = {.obs = row, .priv = p->privileged ? row + in : p->priv};
            int a = rollout_best(p->logits + (i - from) * out_dim, p->mask[i], out_dim);
            p->copy[i].step(p->copy[i].self, a, &out);
            q[p->at[i]] += p->weight[i] * out.reward;
            p->weight[i] *= (float)gamma;
            p->cut[i] = out.truncated;
            p->mask[i] = out.mask;
            if (out.done) rollout_peeks_drop(p, i);
        }
        to = from;
    }
}

/* q gets the value of what follows the rows kept, and they are forgotten. */
static void rollout_peeks_add(struct rollout_peeks *p, float *q)
{
    for (int i = 0; i < p->n; i++)
        q[p->at[i]] += p->weight[i] * p->value[i];
    p->n = 0;
}

/* ---- making and stepping */

static void *array(size_t n, size_t size, bool *ok)
{
    void *p = calloc(n ? n : 1, size);
    if (!p) *ok = false;
    return p;
}

static float *floats(size_t n, bool *ok)
{
    return array(n, sizeof(float), ok);
}

static int block_envs(const struct rollout *r, int b)
{
    int left = r->cfg.envs - b * r->cfg.block;
    return left < r->cfg.block ? left : r->cfg.block;
}

static const struct mix *critic_of(const struct rollout *r)
{
    return r->priv_critic ? r->priv_critic->mix : r->policy->critic;
}

/* Tried actions are followed for more than one step. */
static bool is_followed(const struct rollout *r)
{
    return r->cfg.peek > 0.0 && r->cfg.branch > 1;
}

static bool new_block(struct rollout *r, int i,
                      struct env (*make)(void *ctx, uint64_t id, struct err *e),
                      void *ctx, struct err *e)
{
    struct block *b = &r->block[i];
    size_t envs = (size_t)block_envs(r, i), boots = envs * ((size_t)r->cfg.steps + 1);
    const struct mix *critic = critic_of(r);
    bool ok = true;
    b->logits = floats(envs * (size_t)r->spec.actions, &ok);
    b->prob = floats(envs * (size_t)r->spec.actions, &ok);
    b->logp = floats(envs * (size_t)r->spec.actions, &ok);
    b->mask = array(envs, sizeof *b->mask, &ok);
    b->value = floats(CHUNK * (size_t)critic->cfg.out, &ok);
    b->input = floats(CHUNK * (size_t)critic->cfg.in, &ok);
    b->value_z = floats(CHUNK * (size_t)critic->cfg.experts, &ok);
    b->boot_obs = floats(boots * (size_t)r->spec.obs_dim, &ok);
    b->boot_priv = floats(boots * (size_t)r->spec.priv_dim, &ok);
    b->boot_value = floats(boots, &ok);
    b->boot_row = array(boots, sizeof *b->boot_row, &ok);
    b->boot_tag = array(boots, sizeof *b->boot_tag, &ok);
    b->actor_ws = mix_ws_new(&r->policy->actor->cfg, (int)envs, e);
    b->critic_ws = mix_ws_new(&critic->cfg, CHUNK, e);
    if (r->cfg.peek > 0.0)
        ok = !rollout_peeks_init(&b->peeks, &r->spec, (int)envs, r->priv_critic, e) && ok;
    if (ok && is_followed(r))
        ok = !rollout_peeks_copies(&b->peeks, &r->policy->actor->cfg, make, ctx, e);
    if (r->cfg.teachers.n) {
        b->teach = teach_ws_new(&r->cfg.teachers, CHUNK, e);
        ok = b->teach && ok;
    }
    return ok && b->actor_ws && b->critic_ws;
}

static bool is_taught(const struct rollout *r)
{
    return r->cfg.teachers.n || r->cfg.advice > 0.0;
}

static bool new_arrays(struct rollout *r)
{
    size_t n = (size_t)r->n, envs = (size_t)r->cfg.envs;
    size_t obs = (size_t)r->spec.obs_dim, priv = (size_t)r->spec.priv_dim;
    size_t experts = (size_t)r->experts;
    bool ok = true;
    r->now_obs = floats(envs * obs, &ok);
    r->now_priv = floats(envs * priv, &ok);
    r->now_z = floats(envs * experts, &ok);
    r->obs = floats(n * obs, &ok);
    r->priv = floats(n * priv, &ok);
    r->z = floats(n * experts, &ok);
    size_t tried = r->cfg.peek > 0.0 ? n * (size_t)r->spec.actions : 0;
    r->q = floats(tried, &ok);
    r->prob = floats(tried, &ok);
    r->shown = floats(is_taught(r) ? n * (size_t)r->spec.actions : 0, &ok);
    r->logp = floats(n, &ok);
    r->reward = floats(n, &ok);
    r->value = floats(n, &ok);
    r->boot = floats(n, &ok);
    r->advantage = floats(n, &ok);
    r->target = floats(n, &ok);
    r->mask = array(n, sizeof *r->mask, &ok);
    r->action = array(n, sizeof *r->action, &ok);
    r->tag = array(n, sizeof *r->tag, &ok);
    r->last = array(n, sizeof *r->last, &ok);
    return ok;
}

static struct env_out rollout_place(struct rollout *r, int env)
{
    size_t i = (size_t)env;
    return (struct env_out){
        .obs = r->now_obs + i * (size_t)r->spec.obs_dim,
        .priv = r->spec.priv_dim ? r->now_priv + i * (size_t)r->spec.priv_dim : NULL,
    };
}

static void reset_seat(struct rollout *r, int env)
{
    struct seat *s = &r->seats[env];
    struct env_out out = rollout_place(r, env);
    s->env.reset(s->env.self, &out);
    s->mask = out.mask;
    s->tag = out.tag;
}

struct rollout *rollout_new(const struct rollout_cfg *cfg, const struct policy *policy,
                            const struct priv_critic *priv_critic,
                            struct env (*make)(void *ctx, uint64_t id, struct err *e),
                            void *ctx, struct err *e)
{
    assert(cfg->envs > 0 && cfg->steps > 0 && cfg->block > 0);
    struct rollout *r = calloc(1, sizeof *r);
    if (!r) goto memory;
    r->cfg = *cfg;
    r->critic_noise = cfg->router_noise;
    r->policy = policy;
    r->priv_critic = priv_critic;
    r->n = cfg->envs * cfg->steps;
    r->blocks = (cfg->envs + cfg->block - 1) / cfg->block;
    r->experts = policy->actor->cfg.experts;
    r->seats = calloc((size_t)cfg->envs, sizeof *r->seats);
    r->block = calloc((size_t)r->blocks, sizeof *r->block);
    if (!r->seats || !r->block) goto memory;

    for (int i = 0; i < cfg->envs; i++) {
        r->seats[i].env = make(ctx, (uint64_t)i, e);
        if (!r->seats[i].env.self) goto failed;
        rng_init(&r->seats[i].rng, cfg->seed, (uint64_t)i);
    }
    r->spec = r->seats[0].env.spec;
    assert(r->spec.obs_dim == policy->cfg.obs_dim && r->spec.tags <= ROLLOUT_TAGS);
    assert(cfg->peek <= 0.0 || r->seats[0].env.peek);
    assert(cfg->advice <= 0.0 || (r->seats[0].env.advise && !cfg->teachers.n));
    for (int k = 0; k < cfg->teachers.n; k++)
        assert(cfg->teachers.policy[k]->cfg.obs_dim == r->spec.obs_dim &&
               cfg->teachers.policy[k]->cfg.actions == r->spec.actions);
    assert(!priv_critic || (priv_critic->priv_dim == r->spec.priv_dim &&
                            priv_critic->tags >= r->spec.tags));

    if (!new_arrays(r)) goto memory;
    for (int i = 0; i < r->blocks; i++)
        if (!new_block(r, i, make, ctx, e)) goto memory;
    for (int i = 0; i < cfg->envs; i++)
        reset_seat(r, i);
    return r;

memory:
    err_set(e, ERR_MEMORY, "no memory for %d environments", cfg->envs);
failed:
    rollout_free(r);
    return NULL;
}

void rollout_free(struct rollout *r)
{
    if (!r) return;
    for (int i = 0; r->seats && i < r->cfg.envs; i++)
        if (r->seats[i].env.self) r->seats[i].env.free(r->seats[i].env.self);
    for (int i = 0; r->block && i < r->blocks; i++) {
        struct block *b = &r->block[i];
        teach_ws_free(b->teach);
        rollout_peeks_release(&b->peeks);
        mix_ws_free(b->critic_ws);
        mix_ws_free(b->actor_ws);
        free(b->boot_tag);
        free(b->boot_row);
        free(b->boot_value);
        free(b->boot_priv);
        free(b->boot_obs);
        free(b->value_z);
        free(b->input);
        free(b->value);
        free(b->mask);
        free(b->logp);
        free(b->prob);
        free(b->logits);
    }
    void *const arrays[] = {r->now_obs, r->now_priv, r->now_z,  r->obs,       r->priv,
                            r->z,       r->logp,     r->reward, r->value,     r->boot,
                            r->action,  r->tag,      r->mask,   r->advantage, r->target,
                            r->last,    r->q,        r->prob,   r->shown};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    free(r->block);
    free(r->seats);
    free(r);
}

/* inverse transform; the last legal action takes what rounding leaves */
static int rollout_sample(const float *prob, uint32_t mask, int actions, double u)
{
    int chosen = 0;
    for (int j = 0; j < actions; j++) {
        if (!(mask >> j & 1)) continue;
        chosen = j;
        u -= (double)prob[j];
        if (u < 0.0) break;
    }
    return chosen;
}

static void keep_boot(struct rollout *r, struct block *b, int env, int row)
{
    size_t obs = (size_t)r->spec.obs_dim, priv = (size_t)r->spec.priv_dim;
    size_t at = (size_t)b->boots;
    struct env_out out = rollout_place(r, env);
    memcpy(b->boot_obs + at * obs, out.obs, obs * sizeof(float));
    if (priv) memcpy(b->boot_priv + at * priv, out.priv, priv * sizeof(float));
    b->boot_tag[b->boots] = r->tag[row];
    b->boot_row[b->boots++] = row;
}

static void show_advice(float *shown, const struct rollout *r, const struct seat *s)
{
    int advised = s->env.advise(s->env.self), legal = 0;
    for (int a = 0; a < r->spec.actions; a++)
        legal += (int)(s->mask >> a & 1);
    assert(s->mask >> advised & 1);
    float sure = legal > 1 ? (float)r->cfg.advice : 1.0f;
    float other = legal > 1 ? (1.0f - sure) / (float)(legal - 1) : 0.0f;
    for (int a = 0; a < r->spec.actions; a++)
        shown[a] = a == advised ? sure : s->mask >> a & 1 ? other : 0.0f;
}

/* prob, logp: (actions) */
static void step_env(struct rollout *r, struct block *b, int env, int t,
                     const float *prob, const float *logp)
{
    struct seat *s = &r->seats[env];
    int row = env * r->cfg.steps + t;
    size_t at = (size_t)row, obs = (size_t)r->spec.obs_dim;
    size_t priv = (size_t)r->spec.priv_dim;
    struct env_out out = rollout_place(r, env);

    int action = rollout_sample(prob, s->mask, r->spec.actions, rng_uniform(&s->rng));
    memcpy(r->obs + at * obs, out.obs, obs * sizeof(float));
    if (priv) memcpy(r->priv + at * priv, out.priv, priv * sizeof(float));
    r->mask[row] = s->mask;
    r->tag[row] = s->tag;
    r->action[row] = action;
    r->logp[row] = logp[action];

    size_t actions = (size_t)r->spec.actions;
    if (r->cfg.advice > 0.0) show_advice(r->shown + at * actions, r, s);
    if (r->cfg.peek > 0.0) {
        memcpy(r->prob + at * actions, prob, actions * sizeof(float));
        rollout_peek(&b->peeks, r->q, at * actions, &s->env, prob, s->mask, action,
                     s->tag, r->cfg.peek, r->gamma);
    }
    s->env.step(s->env.self, action, &out);
    r->reward[row] = out.reward;
    r->last[row] = out.done || out.truncated || t == r->cfg.steps - 1;
    r->boot[row] = 0.0f;
    b->stats.reward[s->tag] += (double)out.reward;
    b->stats.steps[s->tag]++;
    if (r->last[row] && !out.done) keep_boot(r, b, env, row);
    s->mask = out.mask;
    s->tag = out.tag;
    if (out.done || out.truncated) {
        b->stats.episodes++;
        reset_seat(r, env);
    }
}

static float rollout_value_of(const struct rollout *r, const float *y, int tag)
{
    if (!r->priv_critic) return *y * r->policy->ret_std + r->policy->ret_mean;
    return y[tag] * priv_critic_std(r->priv_critic, tag) +
           priv_critic_mean(r->priv_critic, tag);
}

/* n draws from N(0, std^2) */
static void rollout_draw(float *z, size_t n, double std, struct rng *rng)
{
    memset(z, 0, n * sizeof *z);
    inject_noise(z, n, std, rng);
}

/* V in reward units of `rows` inputs x of the critic that gives the advantages; the policy's
 * own has the same router noise as the actor, from `rng` */
static void rollout_values(float *out, const struct rollout *r, struct block *b,
                           const float *x, const int *tag, int rows, struct rng *rng)
{
    const struct mix *critic = critic_of(r);
    double std = r->priv_critic ? 0.0 : r->critic_noise;
    for (int at = 0; at < rows; at += CHUNK) {
        int n = rows - at < CHUNK ? rows - at : CHUNK;
        if (std > 0.0)
            rollout_draw(b->value_z, (size_t)n * (size_t)critic->cfg.experts, std, rng);
        mix_forward(b->value, NULL, NULL, critic, b->critic_ws,
                    x + (size_t)at * (size_t)critic->cfg.in,
                    std > 0.0 ? b->value_z : NULL, n);
        for (int i = 0; i < n; i++)
            out[at + i] =
                rollout_value_of(r, b->value + i * critic->cfg.out, tag[at + i]);
    }
}

/* The same for observations; the privileged critic also gets the privileged ones. */
static void values_of(float *out, const struct rollout *r, struct block *b,
                      const float *obs, const float *priv, const int *tag, int rows,
                      struct rng *rng)
{
    if (!r->priv_critic) {
        rollout_values(out, r, b, obs, tag, rows, rng);
        return;
    }
    size_t obs_dim = (size_t)r->spec.obs_dim, more = (size_t)r->spec.priv_dim;
    for (int at = 0; at < rows; at += CHUNK) {
        int n = rows - at < CHUNK ? rows - at : CHUNK;
        float *to = b->input;
        for (size_t i = (size_t)at, end = i + (size_t)n; i < end;
             i++, to += obs_dim + more) {
            memcpy(to, obs + i * obs_dim, obs_dim * sizeof *to);
            memcpy(to + obs_dim, priv + i * more, more * sizeof *to);
        }
        rollout_values(out + at, r, b, b->input, tag + at, n, rng);
    }
}

static void value_block(struct rollout *r, struct block *b, int first, int envs)
{
    size_t row = (size_t)first * (size_t)r->cfg.steps;
    struct rng *rng = &r->seats[first].rng;
    values_of(r->value + row, r, b, r->obs + row * (size_t)r->spec.obs_dim,
              r->priv + row * (size_t)r->spec.priv_dim, r->tag + row, envs * r->cfg.steps,
              rng);

    values_of(b->boot_value, r, b, b->boot_obs, b->boot_priv, b->boot_tag, b->boots, rng);
    for (int i = 0; i < b->boots; i++)
        r->boot[b->boot_row[i]] = b->boot_value[i];
}

/* q becomes an advantage. */
static void subtract_values(struct rollout *r, int first, int envs)
{
    size_t actions = (size_t)r->spec.actions, steps = (size_t)r->cfg.steps;
    size_t from = (size_t)first * steps, to = from + (size_t)envs * steps;
    for (size_t i = from; i < to; i++)
        for (size_t a = 0; a < actions; a++)
            r->q[i * actions + a] -= r->value[i];
}

/* The teachers' probabilities, for many rows at a time, since teachers do not change during a rollout. */
static void show_block(struct rollout *r, struct block *b, int first, int envs)
{
    size_t row = (size_t)first * (size_t)r->cfg.steps;
    for (int left = envs * r->cfg.steps; left > 0; left -= CHUNK, row += CHUNK)
        teach_show(r->shown + row * (size_t)r->spec.actions, &r->cfg.teachers, b->teach,
                   r->obs + row * (size_t)r->spec.obs_dim, r->mask + row, r->tag + row,
                   left < CHUNK ? left : CHUNK);
}

static void run_block(void *ctx, int i)
{
    struct rollout *r = ctx;
    struct block *b = &r->block[i];
    int first = i * r->cfg.block, envs = block_envs(r, i), actions = r->spec.actions;
    size_t at = (size_t)first, experts = (size_t)r->experts;
    size_t steps = (size_t)r->cfg.steps;
    float *x = r->now_obs + at * (size_t)r->spec.obs_dim, *z = r->now_z + at * experts;
    for (int k = 0; r->cfg.router_noise > 0.0 && k < envs; k++)
        rollout_draw(r->z + (at + (size_t)k) * steps * experts, steps * experts,
                     r->cfg.router_noise, &r->seats[first + k].rng);
    b->boots = 0;
    b->stats = (struct rollout_stats){0};

    for (int t = 0; t < r->cfg.steps; t++) {
        for (size_t k = 0; r->cfg.router_noise > 0.0 && k < (size_t)envs; k++)
            memcpy(z + k * experts, r->z + ((at + k) * steps + (size_t)t) * experts,
                   experts * sizeof(float));
        mix_forward(b->logits, NULL, NULL, r->policy->actor, b->actor_ws, x,
                    r->cfg.router_noise > 0.0 ? z : NULL, envs);
        /* as ppo.c computes them, so that the ratio before the first update is 1 */
        for (int k = 0; k < envs; k++)
            b->mask[k] = r->seats[first + k].mask;
        kern_best()->softmax(b->prob, b->logp, NULL, b->logits, b->mask, envs, actions);
        for (int k = 0; k < envs; k++)
            step_env(r, b, first + k, t, b->prob + k * actions, b->logp + k * actions);
        struct rollout_peeks *tried = &b->peeks;
        for (int h = 1; h < r->cfg.branch; h++)
            rollout_peeks_follow(tried, r->q, r->policy->actor, r->gamma);
        rollout_values(tried->value, r, b, tried->obs, tried->tag, tried->n,
                       &r->seats[first].rng);
        rollout_peeks_add(tried, r->q);
    }
    value_block(r, b, first, envs);
    if (r->cfg.teachers.n) show_block(r, b, first, envs);
    if (r->cfg.peek > 0.0) subtract_values(r, first, envs);
}

static void add_stats(struct rollout_stats *sum, const struct rollout *r)
{
    *sum = (struct rollout_stats){0};
    for (int i = 0; i < r->blocks; i++) {
        const struct rollout_stats *s = &r->block[i].stats;
        sum->episodes += s->episodes;
        for (int tag = 0; tag < ROLLOUT_TAGS; tag++) {
            sum->reward[tag] += s->reward[tag];
            sum->steps[tag] += s->steps[tag];
        }
    }
    for (int tag = 0; tag < ROLLOUT_TAGS; tag++)
        if (sum->steps[tag]) sum->reward[tag] /= sum->steps[tag];
}

void rollout_set_router_noise(struct rollout *r, double actor, double critic)
{
    r->cfg.router_noise = actor;
    r->critic_noise = critic;
}

void rollout_collect(struct rollout *r, double gamma, double lambda,
                     struct rollout_stats *stats)
{
    r->gamma = gamma;
    pool_run(r->blocks, r->cfg.threads, run_block, r);
    gae_compute(r->advantage, r->target, r->reward, r->value, r->boot, r->last, r->n,
                gamma, lambda);
    size_t actions = (size_t)r->spec.actions;
    for (int i = 0; is_followed(r) && i < r->n; i++)
        r->advantage[i] = r->q[(size_t)i * actions + (size_t)r->action[i]];
    if (stats) add_stats(stats, r);
}

void rollout_batch(const struct rollout *r, struct ppo_batch *out)
{
    *out = (struct ppo_batch){
        .n = r->n,
        .obs = r->obs,
        .priv = r->spec.priv_dim ? r->priv : NULL,
        .mask = r->mask,
        .action = r->action,
        .tag = r->tag,
        .logp = r->logp,
        .z = r->cfg.router_noise > 0.0 ? r->z : NULL,
        .q = r->cfg.peek > 0.0 ? r->q : NULL,
        .prob = r->cfg.peek > 0.0 ? r->prob : NULL,
        .shown = is_taught(r) ? r->shown : NULL,
        .advantage = r->advantage,
        .target = r->target,
    };
}

/* Per environment: stream, mask, tag, observation, privileged observation, own state. */
static size_t seat_size(const struct rollout *r)
{
    return sizeof(struct rng) + sizeof(uint32_t) + sizeof(int) +
           ((size_t)r->spec.obs_dim + (size_t)r->spec.priv_dim) * sizeof(float) +
           r->seats[0].env.state_size;
}

size_t rollout_state_size(const struct rollout *r)
{
    return r->seats[0].env.state_size ? (size_t)r->cfg.envs * seat_size(r) : 0;
}

static char *put_bytes(char *to, const void *from, size_t n)
{
    memcpy(to, from, n);
    return to + n;
}

static const char *take_bytes(void *to, const char *from, size_t n)
{
    memcpy(to, from, n);
    return from + n;
}

void rollout_state_get(const struct rollout *r, void *out)
{
    char *p = out;
    size_t obs = (size_t)r->spec.obs_dim, priv = (size_t)r->spec.priv_dim;
    for (int i = 0; i < r->cfg.envs; i++) {
        const struct seat *s = &r->seats[i];
        p = put_bytes(p, &s->rng, sizeof s->rng);
        p = put_bytes(p, &s->mask, sizeof s->mask);
        p = put_bytes(p, &s->tag, sizeof s->tag);
        p = put_bytes(p, r->now_obs + (size_t)i * obs, obs * sizeof(float));
        p = put_bytes(p, r->now_priv + (size_t)i * priv, priv * sizeof(float));
        s->env.state_get(s->env.self, p);
        p += s->env.state_size;
    }
}

void rollout_state_put(struct rollout *r, const void *in)
{
    const char *p = in;
    size_t obs = (size_t)r->spec.obs_dim, priv = (size_t)r->spec.priv_dim;
    for (int i = 0; i < r->cfg.envs; i++) {
        struct seat *s = &r->seats[i];
        p = take_bytes(&s->rng, p, sizeof s->rng);
        p = take_bytes(&s->mask, p, sizeof s->mask);
        p = take_bytes(&s->tag, p, sizeof s->tag);
        p = take_bytes(r->now_obs + (size_t)i * obs, p, obs * sizeof(float));
        p = take_bytes(r->now_priv + (size_t)i * priv, p, priv * sizeof(float));
        s->env.state_put(s->env.self, p);
        p += s->env.state_size;
    }
}

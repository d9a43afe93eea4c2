#include "rl/online.h"

#include "rl/gae.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 256 }; /* rows per forward pass of the critic */

struct online {
    struct online_cfg cfg;
    struct policy *policy, *kept; /* what is trained; what it was before the update */
    struct ppo *ppo;
    void *kept_state; /* of ppo */
    struct mix_ws *critic_ws;
    double (*check)(void *ctx, const struct policy *p);
    void *check_ctx;
    struct online_stats stats;

    /* buffered steps, trajectories one after the other */
    int n, cuts;
    float *obs, *logp, *reward, *value, *boot, *advantage, *target, *cut_obs;
    uint32_t *mask;
    int *action, *tag, *cut_row; /* cut_row[i]: the step that cut_obs row i follows */
    uint8_t *last;
};

struct online_cfg online_cfg_default(void)
{
    struct online_cfg c = {
        .ppo = ppo_cfg_default(),
        .batch = 2048,
        .capacity = 16384,
        .max_age = 8,
        .tolerance = 0.05,
        .seed = 1,
    };
    c.ppo.lr = 3e-4;
    c.ppo.critic_lr = 3e-4;
    c.ppo.gamma = 0.95; /* shorter than in training: real batches are small and noisy */
    c.ppo.entropy = 0.003;
    c.ppo.noise_gamma = 0.5;
    c.ppo.target_kl = 0.03;
    return c;
}

static bool allocate(struct online *o)
{
    size_t n = (size_t)o->cfg.capacity, dim = (size_t)o->policy->cfg.obs_dim;
    o->obs = calloc(n * dim, sizeof *o->obs);
    o->cut_obs = calloc(n * dim, sizeof *o->cut_obs);
    o->logp = calloc(n, sizeof *o->logp);
    o->reward = calloc(n, sizeof *o->reward);
    o->value = calloc(n, sizeof *o->value);
    o->boot = calloc(n, sizeof *o->boot);
    o->advantage = calloc(n, sizeof *o->advantage);
    o->target = calloc(n, sizeof *o->target);
    o->mask = calloc(n, sizeof *o->mask);
    o->action = calloc(n, sizeof *o->action);
    o->tag = calloc(n, sizeof *o->tag);
    o->cut_row = calloc(n, sizeof *o->cut_row);
    o->last = calloc(n, sizeof *o->last);
    o->kept_state = malloc(ppo_state_size(o->ppo));
    return o->obs && o->cut_obs && o->logp && o->reward && o->value && o->boot &&
           o->advantage && o->target && o->mask && o->action && o->tag && o->cut_row &&
           o->last && o->kept_state;
}

struct online *online_new(const struct online_cfg *cfg, const struct policy *start,
                          double (*check)(void *ctx, const struct policy *p), void *ctx,
                          struct err *e)
{
    assert(cfg->batch > 0 && cfg->capacity >= cfg->batch && cfg->max_age >= 0);
    struct online *o = calloc(1, sizeof *o);
    if (!o) goto failed;
    o->cfg = *cfg;
    o->check = check;
    o->check_ctx = ctx;
    o->policy = policy_clone(start, e);
    o->kept = policy_clone(start, e);
    if (!o->policy || !o->kept) goto failed;
    o->ppo = ppo_new(&cfg->ppo, o->policy, NULL, cfg->capacity, cfg->seed, e);
    o->critic_ws = mix_ws_new(&start->critic->cfg, CHUNK, e);
    if (!o->ppo || !o->critic_ws || !allocate(o)) goto failed;

    if (check) o->stats.check_score = o->stats.check_best = check(ctx, o->policy);
    return o;

failed:
    err_set(e, ERR_MEMORY, "no memory for a learner of %d steps", cfg->capacity);
    online_free(o);
    return NULL;
}

void online_free(struct online *o)
{
    if (!o) return;
    void *const arrays[] = {o->obs,  o->cut_obs,   o->logp,   o->reward,    o->value,
                            o->boot, o->advantage, o->target, o->mask,      o->action,
                            o->tag,  o->cut_row,   o->last,   o->kept_state};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    mix_ws_free(o->critic_ws);
    ppo_free(o->ppo);
    policy_free(o->kept);
    policy_free(o->policy);
    free(o);
}

int online_add(struct online *o, const struct online_trajectory *t)
{
    assert(t->n > 0 && (!t->truncated || t->last_obs));
    if (t->version + (uint64_t)o->cfg.max_age < o->policy->version) {
        o->stats.dropped_old++;
        return ERR_CONFLICT;
    }
    if (t->n > o->cfg.capacity - o->n) {
        o->stats.dropped_full++;
        return ERR_FULL;
    }

    size_t dim = (size_t)o->policy->cfg.obs_dim, n = (size_t)t->n, at = (size_t)o->n;
    memcpy(o->obs + at * dim, t->obs, n * dim * sizeof *o->obs);
    memcpy(o->mask + at, t->mask, n * sizeof *o->mask);
    memcpy(o->action + at, t->action, n * sizeof *o->action);
    memcpy(o->logp + at, t->logp, n * sizeof *o->logp);
    memcpy(o->reward + at, t->reward, n * sizeof *o->reward);
    for (size_t i = 0; i < n; i++) {
        o->tag[at + i] = t->tag;
        o->last[at + i] = i == n - 1;
        o->boot[at + i] = 0.0f;
    }
    o->n += t->n;
    if (t->truncated) {
        memcpy(o->cut_obs + (size_t)o->cuts * dim, t->last_obs, dim * sizeof *o->cut_obs);
        o->cut_row[o->cuts++] = o->n - 1;
    }
    o->stats.trajectories++;
    o->stats.steps += (uint64_t)t->n;
    return 0;
}

bool online_ready(const struct online *o)
{
    return o->n >= o->cfg.batch;
}

static float value_of(const struct online *o, float critic)
{
    return critic * o->policy->ret_std + o->policy->ret_mean;
}

static void fill_values(struct online *o)
{
    size_t dim = (size_t)o->policy->cfg.obs_dim;
    float y[CHUNK];
    for (int at = 0; at < o->n; at += CHUNK) {
        int n = o->n - at < CHUNK ? o->n - at : CHUNK;
        mix_forward(y, NULL, NULL, o->policy->critic, o->critic_ws,
                    o->obs + (size_t)at * dim, NULL, n);
        for (int i = 0; i < n; i++)
            o->value[at + i] = value_of(o, y[i]);
    }
    for (int at = 0; at < o->cuts; at += CHUNK) {
        int n = o->cuts - at < CHUNK ? o->cuts - at : CHUNK;
        mix_forward(y, NULL, NULL, o->policy->critic, o->critic_ws,
                    o->cut_obs + (size_t)at * dim, NULL, n);
        for (int i = 0; i < n; i++)
            o->boot[o->cut_row[at + i]] = value_of(o, y[i]);
    }
}

static bool all_finite(const struct mix *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (!isfinite(m->theta[i])) return false;
    return true;
}

/* Is the updated policy one that may be given out? */
static bool acceptable(struct online *o)
{
    if (!all_finite(o->policy->actor) || !all_finite(o->policy->critic)) return false;
    if (!o->check) return true;
    double score = o->check(o->check_ctx, o->policy);
    o->stats.check_score = score;
    if (!(score >= o->stats.check_best - o->cfg.tolerance)) return false; /* NaN, too */
    o->stats.check_best = fmax(o->stats.check_best, score);
    return true;
}

int online_update(struct online *o)
{
    if (!online_ready(o)) return 0;
    fill_values(o);
    gae_compute(o->advantage, o->target, o->reward, o->value, o->boot, o->last, o->n,
                o->cfg.ppo.gamma, o->cfg.ppo.lambda);
    struct ppo_batch batch = {
        .n = o->n,
        .obs = o->obs,
        .mask = o->mask,
        .action = o->action,
        .tag = o->tag,
        .logp = o->logp,
        .advantage = o->advantage,
        .target = o->target,
    };

    policy_copy(o->kept, o->policy);
    ppo_state_get(o->ppo, o->kept_state);
    int rc = ppo_update(o->ppo, &batch, &o->stats.last);
    o->n = o->cuts = 0;
    if (!rc && acceptable(o)) {
        o->policy->version++;
        o->stats.updates++;
        return 1;
    }

    policy_copy(o->policy, o->kept);
    rc = ppo_state_put(o->ppo, o->kept_state, ppo_state_size(o->ppo), NULL);
    assert(rc == 0);
    o->stats.rollbacks++;
    return ERR_NUMERIC;
}

const struct policy *online_policy(const struct online *o)
{
    return o->policy;
}

void online_stats(const struct online *o, struct online_stats *out)
{
    *out = o->stats;
}

size_t online_state_size(const struct online *o)
{
    return sizeof o->stats + ppo_state_size(o->ppo);
}

void online_state_get(const struct online *o, void *out)
{
    memcpy(out, &o->stats, sizeof o->stats);
    ppo_state_get(o->ppo, (char *)out + sizeof o->stats);
}

int online_state_put(struct online *o, const void *in, size_t n, struct err *e)
{
    if (n != online_state_size(o))
        return err_set(e, ERR_CORRUPT,
                       "learner state has %zu bytes, this configuration needs %zu", n,
                       online_state_size(o));
    int rc =
        ppo_state_put(o->ppo, (const char *)in + sizeof o->stats, n - sizeof o->stats, e);
    if (!rc) memcpy(&o->stats, in, sizeof o->stats);
    return rc;
}

#include "rl/online.h"

#include "rl/buffer.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct online {
    struct online_cfg cfg;
    struct policy *policy, *kept; /* what is trained; what it was before the update */
    struct ppo *ppo;
    void *kept_state; /* of ppo */
    struct mix_ws *critic_ws;
    double (*check)(void *ctx, const struct policy *p);
    void *check_ctx;
    struct online_stats stats;
    struct buffer *buffer;
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
    o->critic_ws = mix_ws_new(&start->critic->cfg, BUFFER_ROWS, e);
    o->buffer = buffer_new(cfg->capacity, start->cfg.obs_dim, e);
    if (!o->ppo || !o->critic_ws || !o->buffer) goto failed;
    o->kept_state = malloc(ppo_state_size(o->ppo));
    if (!o->kept_state) goto failed;

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
    buffer_free(o->buffer);
    free(o->kept_state);
    mix_ws_free(o->critic_ws);
    ppo_free(o->ppo);
    policy_free(o->kept);
    policy_free(o->policy);
    free(o);
}

int online_add(struct online *o, const struct online_trajectory *t)
{
    if (t->version + (uint64_t)o->cfg.max_age < o->policy->version) {
        o->stats.dropped_old++;
        return ERR_CONFLICT;
    }
    if (buffer_add(o->buffer, t)) {
        o->stats.dropped_full++;
        return ERR_FULL;
    }
    o->stats.trajectories++;
    o->stats.steps += (uint64_t)t->n;
    return 0;
}

bool online_ready(const struct online *o)
{
    return buffer_steps(o->buffer) >= o->cfg.batch;
}

/* By the policy's own critic, in reward units. */
static void value(void *ctx, float *v, const float *obs, int n)
{
    struct online *o = ctx;
    mix_forward(v, NULL, NULL, o->policy->critic, o->critic_ws, obs, NULL, n);
    for (int i = 0; i < n; i++)
        v[i] = v[i] * o->policy->ret_std + o->policy->ret_mean;
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
    struct ppo_batch batch;
    buffer_settle(o->buffer, value, o, o->cfg.ppo.gamma, o->cfg.ppo.lambda);
    buffer_batch(&batch, o->buffer);

    policy_copy(o->kept, o->policy);
    ppo_state_get(o->ppo, o->kept_state);
    int rc = ppo_update(o->ppo, &batch, &o->stats.last);
    buffer_clear(o->buffer);
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

#include "learn/priv_critic.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct priv_critic *priv_critic_new(const struct priv_critic_cfg *cfg, uint64_t seed,
                                    struct err *e)
{
    assert(cfg->tags > 0 && cfg->tags <= PRIV_CRITIC_TAGS);
    struct mix_cfg mc = {.in = cfg->obs_dim + cfg->priv_dim,
                         .hidden = cfg->hidden,
                         .layers = cfg->layers,
                         .out = cfg->tags,
                         .experts = 1,
                         .route = MIX_SINGLE};
    struct priv_critic *t = calloc(1, sizeof *t);
    if (!t) {
        err_set(e, ERR_MEMORY, "no memory for a critic");
        return NULL;
    }
    t->obs_dim = cfg->obs_dim;
    t->priv_dim = cfg->priv_dim;
    t->tags = cfg->tags;
    t->mix = mix_new(&mc, e);
    if (!t->mix) {
        free(t);
        return NULL;
    }
    struct rng r;
    rng_init(&r, seed, 0);
    mix_init(t->mix, 1.0f, &r);
    return t;
}

void priv_critic_free(struct priv_critic *t)
{
    if (!t) return;
    mix_free(t->mix);
    free(t);
}

void priv_critic_scale_add(struct priv_critic_scale *s, double sum, double square, int n)
{
    if (n == 0) return;
    s->batches = fmin(s->batches + 1.0, PRIV_CRITIC_HORIZON);
    s->mean += (sum / n - s->mean) / s->batches;
    s->square += (square / n - s->square) / s->batches;
}

double priv_critic_scale_std(const struct priv_critic_scale *s)
{
    if (s->batches <= 0.0) return 1.0;
    return sqrt(fmax(s->square - s->mean * s->mean, 1e-4));
}

float priv_critic_mean(const struct priv_critic *t, int tag)
{
    return (float)t->scale[tag].mean;
}

float priv_critic_std(const struct priv_critic *t, int tag)
{
    return (float)priv_critic_scale_std(&t->scale[tag]);
}

void priv_critic_observe(struct priv_critic *t, const float *returns, const int *tag,
                         int n)
{
    double sum[PRIV_CRITIC_TAGS] = {0}, square[PRIV_CRITIC_TAGS] = {0};
    int count[PRIV_CRITIC_TAGS] = {0};
    for (int i = 0; i < n; i++) {
        assert(tag[i] >= 0 && tag[i] < t->tags);
        sum[tag[i]] += (double)returns[i];
        square[tag[i]] += (double)returns[i] * (double)returns[i];
        count[tag[i]]++;
    }
    for (int k = 0; k < t->tags; k++)
        priv_critic_scale_add(&t->scale[k], sum[k], square[k], count[k]);
}

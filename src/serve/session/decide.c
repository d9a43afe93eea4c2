#include "serve/session/decide.h"

#include "abr/deciders/caution.h"
#include "abr/deciders/first_level.h"
#include "abr/deciders/forecast_own.h"
#include "abr/deciders/window.h"
#include "base/rng.h"

_Static_assert(FORECAST_OWN <= POLICY_INPUT, "a policy has room for it");

int decide_layout(enum feat_layout *out, const struct policy_cfg *cfg, struct err *e)
{
    if (cfg->actions < 2 || cfg->actions > FEAT_LEVELS)
        return err_set(e, ERR_INVALID, "the policy has %d actions, not 2 .. %d",
                       cfg->actions, FEAT_LEVELS);
    if (cfg->obs_dim == feat_dim(FEAT_PLAN)) {
        *out = FEAT_PLAN;
    } else if (cfg->obs_dim == feat_dim(FEAT_FULL)) {
        *out = FEAT_FULL;
    } else if (cfg->obs_dim == feat_dim(FEAT_PAPER)) {
        *out = FEAT_PAPER;
    } else {
        return err_set(e, ERR_INVALID,
                       "the policy reads %d inputs; the known layouts have %d, %d and %d",
                       cfg->obs_dim, feat_dim(FEAT_PLAN), feat_dim(FEAT_FULL),
                       feat_dim(FEAT_PAPER));
    }
    return 0;
}

int decide_init(struct decider *d, const struct policy_cfg *cfg, struct err *e)
{
    *d = (struct decider){0};
    return decide_layout(&d->layout, cfg, e);
}

bool decide_serves(const struct policy_cfg *cfg, int levels)
{
    return levels <= cfg->actions || cfg->actions == FEAT_LEVELS;
}

double decide_secret_draw(const uint8_t secret[SIPHASH_KEY], uint64_t key,
                          uint64_t counter)
{
    const uint64_t message[2] = {key, counter};
    uint8_t bytes[sizeof message];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(message[i / 8] >> (i % 8 * 8));
    return (double)(siphash(secret, bytes, sizeof bytes) >> 11) * 0x1p-53;
}

bool decide_explores(uint64_t seed, uint64_t key, double share)
{
    return rng_uniform_at(seed, key, UINT64_MAX) < share;
}

double decide_draw(uint64_t seed, uint64_t key, int chunk)
{
    return rng_uniform_at(seed, key, (uint64_t)chunk);
}

static void decide_tell(struct verdict *out, const struct policy_choice *c, bool ok,
                        uint64_t version, const struct view *v, const struct window *w,
                        uint32_t levels, double u)
{
    *out = (struct verdict){.level = window_level(w, c->action),
                            .seen = window_levels(w),
                            .expert = ok ? c->expert : -1,
                            .logp = c->logp,
                            .value = c->value,
                            .entropy = c->entropy,
                            .added = c->added,
                            .policy = version,
                            .sampled = ok && u >= 0,
                            .guarded = levels != feat_mask(v)};
    for (int i = 0; i < (w->n ? w->n : v->levels); i++)
        out->prob[i] = c->prob[i];
}

static uint32_t offered(const struct view *v, double u)
{
    return u < 0 ? first_level_offer(v) : feat_mask(v);
}

bool decide(struct verdict *out, const struct packed *s, struct decider *d,
            const struct view *v, double u)
{
    uint32_t levels = offered(v, u);
    struct window w;
    struct policy_choice choice;
    struct view fitted;
    const float *own_forecast = u < 0 ? packed_input(s, FORECAST_OWN) : NULL;
    if (own_forecast) {
        fitted = *v;
        fitted.own_forecast = own_forecast;
        v = &fitted;
    }
    feat_observe(d->obs, d->layout, window_see(&w, v, levels));
    bool ok = packed_decide(&choice, s, d->obs, window_mask(&w, levels), u) == 0;
    decide_tell(out, &choice, ok, packed_version(s), v, &w, levels, u);
    return ok;
}

bool decide_cautious(struct verdict *out, const struct packed *s, struct decider *d,
                     const struct view *v)
{
    struct view wary = *v;
    caution_apply(&wary, NULL, NULL);
    return decide(out, s, d, &wary, -1);
}

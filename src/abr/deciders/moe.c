#include "abr/deciders/moe.h"

#include "abr/emulator/feat.h"
#include "abr/deciders/caution.h"
#include "abr/deciders/window.h"
#include "abr/deciders/first_level.h"
#include "abr/deciders/forecast_own.h"
#include "learn/ckpt.h"
#include "policy/packed.h"

#include <stdlib.h>
#include <string.h>

struct moe {
    struct packed *packed;
    enum feat_layout layout;
    struct window window; /* of the last decision, as choice */
    struct policy_choice choice;
    int levels; /* of the ladder */
    struct algo_choice told;
    float
        paper[FEAT_PAPER_HINT_DIM]; /* the paper's state is rolled from chunk to chunk */
};

static void moe_free(void *self)
{
    struct moe *p = self;
    if (!p) return;
    packed_free(p->packed);
    free(p);
}

static void moe_reset(void *self, uint64_t session_key)
{
    (void)session_key;
    struct moe *p = self;
    memset(p->paper, 0, sizeof p->paper);
}

/* Layouts for experiments choose the first chunk themselves. */
static uint32_t moe_offered(const struct moe *p, const struct view *v)
{
    bool own = feat_rolled(p->layout) ||
               (p->layout != FEAT_FULL && p->layout != FEAT_PLAN && first_level_is(v));
    return own ? feat_mask(v) : first_level_offer(v);
}

/* Those of the offered levels for which the policy was trained. */
static uint32_t moe_trained(const struct moe *p, uint32_t offered)
{
    uint32_t trained = (UINT32_C(1) << packed_cfg(p->packed)->actions) - 1;
    uint32_t mask = offered & trained;
    return mask ? mask
                : (trained >> 1) +
                      1; /* the best level lies above all it was trained for */
}

static int moe_decide(void *self, const struct view *v, const struct video *video)
{
    (void)video;
    struct moe *p = self;
    struct view wary = *v;
    caution_apply(&wary, NULL, NULL);
    wary.own_forecast = packed_input(p->packed, FORECAST_OWN);
    uint32_t offered = moe_offered(p, &wary);
    p->levels = wary.levels;
    v = window_see(&p->window, &wary, offered);
    float full[FEAT_DIM_MAX];
    const float *obs = p->paper;
    if (feat_rolled(p->layout)) {
        feat_paper_push(p->paper, v);
        feat_paper_hint(p->paper + FEAT_PAPER_DIM, v);
    } else {
        feat_observe(full, p->layout, v);
        obs = full;
    }

    uint32_t mask = moe_trained(p, window_mask(&p->window, offered));
    int rc = packed_decide(&p->choice, p->packed, obs, mask, -1);
    if (rc) p->choice.expert = -1;
    return rc ? 0 : window_level(&p->window, p->choice.action);
}

static const struct algo_choice *moe_choice(void *self)
{
    struct moe *p = self;
    double prob[VIEW_LEVELS];
    p->told.expert = p->choice.expert;
    p->told.value = p->choice.value;
    window_spread(prob, p->levels, window_levels(&p->window), p->choice.prob);
    for (int k = 0; k < p->levels; k++)
        p->told.prob[k] = (float)prob[k];
    return &p->told;
}

static int moe_load(struct moe *p, const char *path, struct err *e)
{
    struct ckpt_meta *meta = calloc(1, sizeof *meta); /* 18 kB: too much for a stack */
    if (!meta) return err_set(e, ERR_MEMORY, "no memory for the policy");
    struct err why = {0};
    struct policy *policy = ckpt_load_any(path, meta, NULL, NULL, &why);
    const char *layout = ckpt_meta_get(meta, "layout");
    int rc = policy && layout ? feat_layout_parse(&p->layout, layout, &why) : 0;
    /* weights that a daemon hands out name none */
    if (policy && !layout && policy->cfg.obs_dim == FEAT_PLAN_DIM) p->layout = FEAT_PLAN;
    free(meta);

    if (!rc && policy && policy->cfg.obs_dim != feat_dim(p->layout))
        err_field(&why, ERR_INVALID, path, "takes %d inputs, its layout '%s' has %d",
                  policy->cfg.obs_dim, feat_layout_name(p->layout), feat_dim(p->layout));
    if (policy && !why.code) p->packed = packed_new(&policy->cfg, &why);
    if (policy) (void)forecast_own_drop_foreign(policy);
    if (p->packed) packed_load(p->packed, policy);
    policy_free(policy);
    return why.code ? err_field(e, why.code, why.field, "%s", why.detail) : 0;
}

int moe_new(struct algo *out, const char *arg, const struct algo_ctx *ctx, struct err *e)
{
    const char *path = *arg ? arg : ctx ? ctx->policy_path : NULL;
    if (!path)
        return err_field(e, ERR_ABSENT, "policy",
                         "there is no shipped policy here: name a checkpoint, moe:FILE");

    struct moe *p = calloc(1, sizeof *p);
    if (!p) return err_set(e, ERR_MEMORY, "no memory for the policy");
    int rc = moe_load(p, path, e);
    if (rc) {
        moe_free(p);
        return rc;
    }
    out->self = p;
    out->reset = moe_reset;
    out->decide = moe_decide;
    out->choice = moe_choice;
    out->free = moe_free;
    return 0;
}

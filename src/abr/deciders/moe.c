#include "abr/deciders/moe.h"

#include "abr/emulator/feat.h"
#include "abr/deciders/guard.h"
#include "abr/deciders/first_level.h"
#include "policy/graft_pack.h"
#include "learn/growth_ckpt.h"

#include <stdlib.h>
#include <string.h>

struct moe {
    struct packed *packed;
    struct graft_pack *pack; /* new experts on it, NULL: none */
    enum feat_layout layout;
    struct policy_choice choice; /* of the last decision */
    float
        paper[FEAT_PAPER_HINT_DIM]; /* the paper's state is rolled from chunk to chunk */
};

static void moe_free(void *self)
{
    struct moe *p = self;
    if (!p) return;
    graft_pack_free(p->pack);
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
    bool own = feat_rolled(p->layout) || (p->layout != FEAT_FULL && first_level_is(v));
    uint32_t trained = (UINT32_C(1) << packed_cfg(p->packed)->actions) - 1;
    uint32_t mask = (own ? feat_mask(v) : guard_greedy(v)) & trained;
    return mask ? mask
                : (trained >> 1) +
                      1; /* the best level lies above all it was trained for */
}

static int moe_decide(void *self, const struct view *v, const struct video *video)
{
    (void)video;
    struct moe *p = self;
    float full[FEAT_FULL_DIM];
    const float *obs = p->paper;
    if (feat_rolled(p->layout)) {
        feat_paper_push(p->paper, v);
        feat_paper_hint(p->paper + FEAT_PAPER_DIM, v);
    } else {
        feat_observe(full, p->layout, v);
        obs = full;
    }

    uint32_t mask = moe_offered(p, v);
    int rc = p->pack
                 ? graft_pack_decide(&p->choice, NULL, p->pack, p->packed, obs, mask, -1)
                 : packed_decide(&p->choice, p->packed, obs, mask, -1);
    return rc ? 0 : p->choice.action;
}

static const struct policy_choice *moe_choice(void *self)
{
    const struct moe *p = self;
    return &p->choice;
}

/* Loads the file of a profile with added experts. ERR_INVALID: another kind of file, or layout. */
static int moe_load_added(struct moe *p, const char *path, struct err *e)
{
    struct policy *base;
    struct graft *g;
    int rc = growth_ckpt_load(&base, &g, path, NULL, NULL, NULL, e);
    if (rc) return rc;
    if (base->cfg.obs_dim != feat_dim(p->layout)) {
        rc = err_field(e, ERR_INVALID, path, "takes %d inputs, its layout '%s' has %d",
                       base->cfg.obs_dim, feat_layout_name(p->layout),
                       feat_dim(p->layout));
    } else {
        p->packed = packed_new(&base->cfg, e);
        p->pack = p->packed ? graft_pack_new(&g->cfg, e) : NULL;
        rc = p->pack ? 0 : ERR_MEMORY;
    }
    if (!rc) {
        packed_load(p->packed, base);
        graft_pack_load(p->pack, g, base);
    }
    graft_free(g);
    policy_free(base);
    return rc;
}

static int moe_load_policy(struct moe *p, const char *path, struct err *e)
{
    struct ckpt_meta *meta = calloc(1, sizeof *meta); /* 18 kB: too much for a stack */
    if (!meta) return err_set(e, ERR_MEMORY, "no memory for the policy");
    struct err why = {0};
    struct policy *policy = ckpt_load(path, meta, NULL, NULL, &why);
    const char *layout = ckpt_meta_get(meta, "layout");
    int rc = policy && layout ? feat_layout_parse(&p->layout, layout, &why) : 0;
    free(meta);

    if (!rc && policy && policy->cfg.obs_dim != feat_dim(p->layout))
        err_field(&why, ERR_INVALID, path, "takes %d inputs, its layout '%s' has %d",
                  policy->cfg.obs_dim, feat_layout_name(p->layout), feat_dim(p->layout));
    if (policy && !why.code) p->packed = packed_new(&policy->cfg, &why);
    if (p->packed) packed_load(p->packed, policy);
    policy_free(policy);
    return why.code ? err_field(e, why.code, why.field, "%s", why.detail) : 0;
}

/* A sound file that is no policy may be one of a profile with added experts. */
static int moe_load(struct moe *p, const char *path, struct err *e)
{
    struct err why = {0}, added = {0};
    int rc = moe_load_policy(p, path, &why);
    if (rc == ERR_INVALID) rc = moe_load_added(p, path, &added);
    if (!rc) return 0;
    const struct err *first = added.code && added.code != ERR_INVALID ? &added : &why;
    return err_field(e, first->code, first->field, "%s", first->detail);
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

#include "abr/train/recipe.h"

#include "base/rng.h"

#include <assert.h>
#include <string.h>

enum { STREAM_ENVS = 0x656e76 };

enum variant { MLP, MOE, SMOE, PAMOE };

static const char *const VARIANTS[] = {"mlp", "moe", "smoe", "pamoe"};

static int find_variant(enum variant *out, const char *name, struct err *e)
{
    for (int i = 0; i < 4; i++) {
        if (strcmp(VARIANTS[i], name) != 0) continue;
        *out = (enum variant)i;
        return 0;
    }
    return err_field(e, ERR_ABSENT, "variant", "'%.40s' is not mlp, moe, smoe or pamoe",
                     name);
}

static void set_variant(struct recipe *r, enum variant v, enum mix_route top1)
{
    struct policy_cfg *p = &r->policy;
    p->experts = p->critic_experts = v == MLP ? 1 : 3;
    p->route = v == MLP ? MIX_SINGLE : v == MOE ? MIX_DENSE : top1;
    p->critic_route = p->route;
}

static void make_tuned(struct recipe *r, enum variant v)
{
    r->env = abr_env_cfg_default();
    r->policy = policy_cfg_default(FEAT_FULL_DIM);
    set_variant(r, v, MIX_TOP1);
    r->splices = 300;
    r->links = 400;
    r->link_s = 320.0;
    r->ladders = 64;

    struct train_cfg *t = &r->train;
    t->rollout =
        (struct rollout_cfg){.envs = 64, .steps = 64, .block = 32, .peek = 0.003};
    t->ppo = ppo_cfg_default();
    t->ppo.lr = t->ppo.critic_lr = 1e-3;
    t->ppo.entropy = 0.05;
    t->ppo.gamma = 0.98;
    t->ppo.minibatch = 256;
    t->ppo.critic_epochs = 1;
    t->ppo.noise_gamma = v == PAMOE ? 1.0 : 0.0;
    t->schedule = TRAIN_GEOMETRIC;
    t->lr_end = 2e-5;
    t->entropy_end = 0.002;
    t->ppo.imitate = 1.0;
    t->imitate_end = 0.0;
    t->privileged = true;
    t->priv_hidden = 64;
    t->priv_layers = 2;
}

/* Ten segments of the same number of updates. */
static int64_t shift_after(int64_t steps, int per_update)
{
    int64_t updates = steps / per_update / 10;
    return (updates > 0 ? updates : 1) * per_update;
}

static void make_paper(struct recipe *r, enum variant v, bool authors, int64_t steps)
{
    enum { PER_UPDATE = 2000 };
    r->env = abr_env_cfg_paper(authors, shift_after(steps, PER_UPDATE));
    r->policy = policy_cfg_default(FEAT_PAPER_DIM);
    r->policy.hidden = r->policy.critic_hidden = 18;
    set_variant(r, v, authors ? MIX_TOP1_UNSCALED : MIX_TOP1);
    r->links = 60;
    r->link_s = 320.0;
    r->traces_only = true;
    r->uniform_init = true;
    r->min_mbps = authors ? 1.5 : 0.0; /* 3 after doubling */

    struct train_cfg *t = &r->train;
    t->rollout = (struct rollout_cfg){.envs = 1, .steps = PER_UPDATE, .block = 1};
    t->ppo = ppo_cfg_default();
    t->ppo.lr = t->ppo.critic_lr = 1e-4;
    t->ppo.entropy = 0.0;
    t->ppo.value_coef = 5.0;
    t->ppo.gamma = 0.99;
    t->ppo.max_grad_norm = 0.0;
    t->ppo.balance = 0.0;
    t->ppo.epochs = 5;
    t->ppo.minibatch = 62;
    t->ppo.adv_norm = PPO_NORM_BATCH;
    t->ppo.normalise_returns = 0;
    t->schedule = TRAIN_CONSTANT;

    /* The code multiplies the normal draws by softplus of a layer, which has no gradient either.
     * Weight decay therefore leaves softplus(0) = ln 2. */
    double noise = authors ? 0.6931471805599453 : 1.0;
    if (v == SMOE || v == PAMOE) t->rollout.router_noise = t->ppo.router_noise = noise;
    if (authors) {
        t->ppo.redraw_noise = true;
        t->ppo.tied_heads = true;
        t->ppo.beta1 = t->ppo.beta2 = 0.99;
        t->ppo.weight_decay = 1e-4;
        t->ppo.noise_std = v == PAMOE ? 1e-3 : 0.0;
    } else {
        /* the paper names no gamma; its sweep has an inner optimum */
        t->ppo.noise_gamma = v == PAMOE ? 5.0 : 0.0;
    }
}

const char *const recipe_profiles[] = {
    "all",        "product",  "papers", "drawn",   "standard",          "documentary",
    "live",       "news",     "sports", "lecture", "paper-documentary", "paper-live",
    "paper-news", "pensieve", NULL};

int64_t recipe_steps(const char *preset)
{
    return strcmp(preset, "tuned") ? 2000000 : 12000000;
}

int recipe_make(struct recipe *out, const char *preset, const char *variant,
                int64_t steps, uint64_t seed, struct err *e)
{
    assert(steps > 0);
    enum variant v = MLP;
    int rc = find_variant(&v, variant, e);
    if (rc) return rc;

    *out = (struct recipe){0};
    if (!strcmp(preset, "tuned")) {
        make_tuned(out, v);
    } else if (!strcmp(preset, "paper") || !strcmp(preset, "code")) {
        make_paper(out, v, !strcmp(preset, "code"), steps);
    } else {
        return err_field(e, ERR_ABSENT, "preset", "'%.40s' is not paper, code or tuned",
                         preset);
    }
    out->train.rollout.threads = out->train.ppo.threads = 1;
    out->train.steps = steps;
    out->train.seed = seed;
    return 0;
}

void recipe_init(struct policy *p, const struct recipe *r, uint64_t seed)
{
    if (r->uniform_init)
        policy_init_uniform(p, seed);
    else
        policy_init(p, seed);
}

struct env recipe_env(void *ctx, uint64_t id, struct err *e)
{
    const struct recipe_world *w = ctx;
    uint64_t seed = rng_u64_at(w->recipe->train.seed, STREAM_ENVS, 0);
    return abr_env_new(&w->recipe->env, w->worlds, seed, id, e);
}

/* recipe.h - named sets of training settings: --preset and --variant.
 *
 * Presets:
 *   paper   PA-MoE Sec. 5 and Table 1: 2000 steps of one environment per update, minibatch 62,
 *           5 epochs, lr 1e-4, entropy 0, experts of hidden 18, the 6 x 8 state without any hint of
 *           the profile, documentary, live, news in turn, ten shifts. What the paper does not
 *           state (first weights, layout of the state) is taken from the authors' code
 *   code    the authors' code where it differs: ln(R + 0.7) utility, bandwidth doubled, then only
 *           links above 3 Mbit/s, Adam betas 0.99, weight decay 1e-4, a router without gradient whose
 *           noise is drawn again in the update, one head for all experts, noise N(0, 0.001^2) on
 *           every trunk
 *   tuned   the settings of the shipped policy: everything drawn at random, profile weights in the
 *           observation, a privileged critic, 64 environments
 * Variants:
 *   mlp     one network            moe    dense mixture of 3
 *   smoe    top-1 of 3             pamoe  top-1 of 3 with plasticity noise
 *
 * The caller provides the traces and videos of the environments (worlds.h).
 *
 * Errors: ERR_ABSENT for an unknown name (the message lists the known ones).
 * Threads: pure functions. */
#ifndef ABR_RECIPE_H
#define ABR_RECIPE_H

#include "abr/train/abr_env.h"
#include "learn/train.h"

struct recipe {
    struct policy_cfg policy;
    struct train_cfg train;
    struct abr_env_cfg env;
    int splices, links, ladders; /* of struct worlds_cfg */
    double link_s, min_mbps;
    int prior_end;     /* policy.prior.gain in the file; 0: as in training */
    bool traces_only;  /* generated links are used only if no traces are given */
    bool uniform_init; /* policy_init_uniform, not policy_init */
    /* index into recipe_profiles: of the viewers; recipe_fields_apply sets it in env */
    enum {
        RECIPE_ALL,     /* all of qoe_profiles */
        RECIPE_PRODUCT, /* those in points */
        RECIPE_PAPERS,  /* those of the papers */
        RECIPE_DRAWN,   /* no named profile, only drawn weights */
        RECIPE_ONE      /* the first of qoe_profiles; the others follow in their order */
    } profile;
};

int recipe_make(struct recipe *out, const char *preset, const char *variant,
                int64_t steps, uint64_t seed, struct err *e)
    __attribute__((warn_unused_result));

/* The weights that training begins with. */
void recipe_init(struct policy *p, const struct recipe *r, uint64_t seed);

/* Steps that a preset uses when none are given. */
int64_t recipe_steps(const char *preset);

/* The names on the command line: all, documentary, ..., drawn. The last entry is NULL. */
extern const char *const recipe_profiles[];

/* recipe_env and its ctx are arguments of train_new and rollout_new. */
struct recipe_world {
    const struct recipe *recipe;
    const struct worlds *worlds;
};
struct env recipe_env(void *ctx, uint64_t id, struct err *e);

#endif

#include "lab/gates/newcomer.h"

#include "abr/train/recipe.h"
#include "learn/online.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { NEW_EXPERTS = 3, EPISODE = 64, FIRST_LOOK = 256 };

struct newcomer {
    struct newcomer_cfg c;
    const struct arrivals *arrivals;
    const struct policy *base;
    struct policy *policy[ARRIVALS]; /* one for all kinds when fine-tuned: the first */
    struct policy_ws *ws;            /* with room for added experts */
};

const char *newcomer_word(enum newcomer_way way)
{
    static const char *const words[NEWCOMER_WAYS] = {
        "fine-tuning", "fresh head", "linear gate", "NoRGa", "specialist"};
    return words[way];
}

struct policy_cfg newcomer_policy(void)
{
    struct policy_cfg c = policy_cfg_default(FEAT_FULL_DIM);
    c.hidden = c.critic_hidden = 32;
    return c;
}

static struct policy_added_cfg newcomer_added(enum newcomer_way way)
{
    return (struct policy_added_cfg){NEW_EXPERTS,
                                     way == NEWCOMER_NORGA ? NORGA_TANH : NORGA_LINEAR};
}

static bool newcomer_adds(enum newcomer_way way)
{
    return way == NEWCOMER_LINEAR || way == NEWCOMER_NORGA;
}

struct newcomer *newcomer_new(const struct newcomer_cfg *c, const struct arrivals *a,
                              const struct policy *base, struct err *e)
{
    struct newcomer *n = calloc(1, sizeof *n);
    if (!n) {
        err_set(e, ERR_MEMORY, "no memory for a learner");
        return NULL;
    }
    n->c = *c;
    n->arrivals = a;
    n->base = base;
    struct policy_cfg whole = base->cfg;
    whole.added = newcomer_added(c->way);
    n->ws = policy_ws_new(&whole, e);
    if (n->ws) return n;
    newcomer_free(n);
    return NULL;
}

void newcomer_free(struct newcomer *n)
{
    if (!n) return;
    for (int k = 0; k < ARRIVALS; k++)
        policy_free(n->policy[k]);
    policy_ws_free(n->ws);
    free(n);
}

const struct policy_added *newcomer_added_experts(const struct newcomer *n, int kind)
{
    return n->policy[kind] ? n->policy[kind]->added : NULL;
}

/* ---- deciding ---- */

static const struct policy *policy_of(const struct newcomer *n, int kind)
{
    const struct policy *p = n->policy[n->c.way == NEWCOMER_TUNE ? 0 : kind];
    return p ? p : n->base;
}

static int newcomer_decide(void *self, int kind, const float *obs, uint32_t mask)
{
    struct newcomer *n = self;
    struct policy_choice c;
    /* weights that are not finite choose the lowest level, as in the daemon */
    int rc = policy_decide(&c, policy_of(n, kind), n->ws, obs, mask, -1);
    (void)rc;
    return c.action;
}

struct arrivals_decider newcomer_decider(struct newcomer *n)
{
    return (struct arrivals_decider){n, newcomer_decide};
}

/* ---- whole policies ---- */

/* Everything but the heads becomes as in `from`. */
static void newcomer_restore(struct mix *to, const struct mix *from)
{
    struct mix_range r = mix_router(&to->cfg);
    memcpy(to->theta + r.at, from->theta + r.at, sizeof(float) * r.n);
    for (int k = 0; k < to->cfg.experts; k++) {
        r = mix_trunk(&to->cfg, k);
        memcpy(to->theta + r.at, from->theta + r.at, sizeof(float) * r.n);
    }
}

static void clear_heads(struct mix *m)
{
    for (int k = 0; k < m->cfg.experts; k++) {
        struct mix_range all = mix_expert(&m->cfg, k), trunk = mix_trunk(&m->cfg, k);
        assert(trunk.at == all.at);
        memset(m->theta + trunk.at + trunk.n, 0, sizeof(float) * (all.n - trunk.n));
    }
}

static int recipe_of(struct recipe *r, int64_t steps, uint64_t seed, struct err *e)
{
    int rc = recipe_make(r, "tuned", "smoe", steps, seed, e);
    r->train.privileged = false;
    r->train.rollout.envs = 32;
    r->train.rollout.peek = 0;
    return rc;
}

/* frozen NULL: all of it learns; else only the heads do, and the rest stays as in `frozen`. */
static int train(struct policy *p, const struct policy *frozen, const struct recipe *r,
                 struct arrivals_world *w, const struct lab_tick *tick, struct err *e)
{
    struct train *t = train_new(&r->train, p, arrivals_env, w, e);
    if (!t) return ERR_MEMORY;
    int rc = 0;
    while (!rc && !train_done(t)) {
        struct train_row row;
        rc = train_iterate(t, &row);
        if (rc) err_set(e, rc, "an update is not finite");
        if (!rc && frozen) {
            newcomer_restore(p->actor, frozen->actor);
            newcomer_restore(p->critic, frozen->critic);
        }
        if (!rc && lab_tick(tick, (double)train_steps(t) / (double)r->train.steps))
            rc = NEWCOMER_STOPPED;
    }
    train_free(t);
    return rc;
}

int newcomer_before(struct policy *out, const struct arrivals *a, int64_t steps,
                    uint64_t seed, const struct lab_tick *tick, struct err *e)
{
    struct arrivals_world w = {a, ARRIVALS, seed};
    struct recipe r;
    int rc = recipe_of(&r, steps, seed, e);
    if (rc) return rc;
    policy_init(out, seed);
    rc = train(out, NULL, &r, &w, tick, e);
    out->version = 1;
    return rc;
}

static int learn_policy(struct newcomer *n, int kind, const struct lab_tick *tick,
                        struct err *e)
{
    struct policy **p = &n->policy[n->c.way == NEWCOMER_TUNE ? 0 : kind];
    if (!*p) *p = policy_clone(n->base, e);
    if (!*p) return ERR_MEMORY;
    if (n->c.way == NEWCOMER_HEAD) {
        clear_heads((*p)->actor);
        clear_heads((*p)->critic);
    }
    struct recipe r;
    struct arrivals_world w = {n->arrivals, kind, n->c.seed};
    int rc = recipe_of(&r, n->c.steps, n->c.seed + (uint64_t)kind, e);
    return rc ? rc
              : train(*p, n->c.way == NEWCOMER_HEAD ? n->base : NULL, &r, &w, tick, e);
}

/* ---- added experts ---- */

/* One viewer's session, in the learner's form. */
struct session {
    float obs[(EPISODE + 1) * FEAT_FULL_DIM], logp[EPISODE], reward[EPISODE];
    uint32_t mask[EPISODE];
    int action[EPISODE];
};

static struct online_trajectory newcomer_watch(struct session *s,
                                               const struct newcomer *n,
                                               const struct policy *p, struct env *env,
                                               struct rng *r)
{
    struct env_out out = {.obs = s->obs};
    int k = 0;
    env->reset(env->self, &out);
    for (bool end = false; !end && k < EPISODE; k++) {
        const float *obs = s->obs + k * FEAT_FULL_DIM;
        struct policy_choice c;
        int rc = policy_decide(&c, p, n->ws, obs, out.mask, rng_uniform(r));
        (void)rc; /* online_update finds what is not finite */
        s->mask[k] = out.mask;
        s->action[k] = c.action;
        s->logp[k] = c.logp;
        out.obs = s->obs + (k + 1) * FEAT_FULL_DIM;
        env->step(env->self, c.action, &out);
        s->reward[k] = out.reward;
        end = out.done || out.truncated;
    }
    return (struct online_trajectory){.n = k,
                                      .obs = s->obs,
                                      .mask = s->mask,
                                      .action = s->action,
                                      .logp = s->logp,
                                      .reward = s->reward,
                                      .version = p->added->version,
                                      .truncated = !out.done,
                                      .last_obs = s->obs + k * FEAT_FULL_DIM,
                                      .last_mask = out.mask};
}

static struct online_cfg newcomer_online(uint64_t seed)
{
    struct online_cfg c = online_cfg_default();
    c.ppo.lr = c.ppo.critic_lr = 1e-3;
    c.ppo.gamma = .98;
    c.ppo.entropy = .01;
    c.ppo.minibatch = 256;
    c.ppo.target_kl = 0;
    c.batch = 2048;
    c.capacity = c.batch + EPISODE;
    c.seed = seed;
    return c;
}

/* Observations of the kind, for the experts' first features. */
static int newcomer_observe(float *obs, struct newcomer *n, struct env *env)
{
    struct env_out out = {.obs = obs};
    int rows = 0;
    env->reset(env->self, &out);
    while (rows < FIRST_LOOK - 1) {
        uint32_t mask = out.mask;
        int action = newcomer_decide(n, 0, obs + rows * FEAT_FULL_DIM, mask);
        out.obs = obs + ++rows * FEAT_FULL_DIM;
        env->step(env->self, action, &out);
        if (out.done || out.truncated) env->reset(env->self, &out);
    }
    return rows + 1;
}

static int newcomer_train(struct newcomer *n, struct online *o, struct env *env,
                          const struct lab_tick *tick, struct err *e)
{
    struct session *s = malloc(sizeof *s);
    if (!s) return err_set(e, ERR_MEMORY, "no memory for a session");
    struct rng r;
    rng_init(&r, n->c.seed, 0x67726f77);
    int rc = 0;
    for (int64_t steps = 0; steps < n->c.steps && rc >= 0;) {
        struct online_trajectory t = newcomer_watch(s, n, online_policy(o), env, &r);
        steps += t.n;
        rc = online_add(o, &t);
        if (rc) break;
        if (!online_ready(o)) continue;
        rc = online_update(o);
        if (rc < 0) err_set(e, rc, "an update of new experts is not finite");
        if (rc > 0) rc = 0;
        if (!rc && lab_tick(tick, (double)steps / (double)n->c.steps)) {
            rc = NEWCOMER_STOPPED;
            break;
        }
    }
    free(s);
    return rc;
}

/* New experts on a copy of the base. */
static struct policy *newcomer_start(struct newcomer *n, struct env *env, int kind,
                                     struct err *e)
{
    float *obs = malloc(sizeof(float) * FIRST_LOOK * FEAT_FULL_DIM);
    struct policy *p = obs ? policy_clone(n->base, e) : NULL;
    struct policy_added_cfg cfg = newcomer_added(n->c.way);
    if (!p) {
        free(obs);
        err_set(e, ERR_MEMORY, "no memory for observations");
        return NULL;
    }
    int rows = newcomer_observe(obs, n, env);
    int rc = policy_add(p, &cfg, obs, rows, n->c.seed + (uint64_t)kind, e);
    free(obs);
    if (rc) {
        policy_free(p);
        return NULL;
    }
    const struct policy_added *first = newcomer_added_experts(n, 0);
    if (first) policy_take_shape(p, first);
    return p;
}

static int learn_added(struct newcomer *n, int kind, const struct lab_tick *tick,
                       struct err *e)
{
    struct online_cfg c = newcomer_online(n->c.seed + (uint64_t)kind);
    struct arrivals_world w = {n->arrivals, kind, n->c.seed};
    struct online *o = NULL;
    struct env env = arrivals_env(&w, 0, e);
    struct policy *p = env.self ? newcomer_start(n, &env, kind, e) : NULL;
    int rc = p ? 0 : ERR_MEMORY;
    if (!rc && !(o = online_new(&c, p, NULL, NULL, e))) rc = ERR_MEMORY;
    if (!rc) rc = newcomer_train(n, o, &env, tick, e);
    if (!rc) {
        policy_copy(p, online_policy(o));
        n->policy[kind] = p;
        p = NULL;
    }
    online_free(o);
    policy_free(p);
    if (env.self) env.free(env.self);
    return rc;
}

int newcomer_learn(struct newcomer *n, int kind, const struct lab_tick *tick,
                   struct err *e)
{
    assert(kind >= 0 && kind < ARRIVALS);
    return newcomer_adds(n->c.way) ? learn_added(n, kind, tick, e)
                                   : learn_policy(n, kind, tick, e);
}

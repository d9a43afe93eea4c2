#include "learn/ppo.h"

#include "base/pool.h"
#include "nn/simd/kern.h"
#include "ppo_priv.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { TAGS_MAX = 64 };

struct ppo_cfg ppo_cfg_default(void)
{
    return (struct ppo_cfg){
        .lr = 3e-4,
        .critic_lr = 3e-4,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .eps = 1e-5,
        .clip = 0.2,
        .entropy = 0.01,
        .value_coef = 0.5,
        .gamma = 0.98,
        .lambda = 0.95,
        .max_grad_norm = 1.0,
        .balance = 0.01,
        .epochs = 4,
        .minibatch = 256,
        .threads = 1,
        .adv_norm = PPO_NORM_TAG,
        .normalise_returns = 1,
        .gate = gate_cfg_default(),
        .drift = drift_cfg_default(),
    };
}

static bool scratch_init(struct ppo_scratch *t, int minibatch, int actions)
{
    size_t n = (size_t)minibatch, wide = n * (size_t)actions;
    float *at = malloc((2 * wide + 3 * n) * sizeof *at);
    t->mask = malloc(n * sizeof *t->mask);
    t->pi = at; /* the block is freed by this name */
    if (!at || !t->mask) return false;
    t->ln_pi = at + wide;
    t->entropy = at + 2 * wide;
    t->log_ratio = t->entropy + n;
    t->ratio = t->log_ratio + n;
    return true;
}

struct ppo *ppo_new(const struct ppo_cfg *cfg, struct policy *policy, struct tutor *tutor,
                    int max_batch, uint64_t seed, struct err *e)
{
    assert(cfg->minibatch > 0 && cfg->epochs > 0 && max_batch > 0);
    struct ppo *p = calloc(1, sizeof *p);
    if (!p) {
        err_set(e, ERR_MEMORY, "no memory for the learner");
        return NULL;
    }
    p->cfg = *cfg;
    p->policy = policy;
    p->tutor = tutor;
    p->max_batch = max_batch;
    p->advantage = malloc((size_t)max_batch * sizeof *p->advantage);
    p->target = malloc((size_t)max_batch * sizeof *p->target);
    p->tutor_target = malloc((size_t)max_batch * sizeof *p->tutor_target);
    p->unit = malloc((size_t)max_batch * sizeof *p->unit);
    if (!p->advantage || !p->target || !p->tutor_target || !p->unit ||
        !scratch_init(&p->scratch, cfg->minibatch, policy->cfg.actions)) {
        err_set(e, ERR_MEMORY, "no memory for a batch of %d steps", max_batch);
        ppo_free(p);
        return NULL;
    }

    struct mix *const mixes[NETS] = {policy->actor, policy->critic,
                                     tutor ? tutor->mix : NULL};
    for (p->nets = 0; p->nets < NETS && mixes[p->nets];) {
        int i = p->nets++;
        if (ppo_net_init(&p->net[i], mixes[i], cfg, max_batch, seed, (uint64_t)i, e)) {
            ppo_free(p);
            return NULL;
        }
        if (cfg->tied_heads) ppo_net_tie_heads(&p->net[i]);
    }

    if (policy->ret_mean != 0.0f || policy->ret_std != 1.0f) {
        double mean = (double)policy->ret_mean, std = (double)policy->ret_std;
        p->returns = (struct tutor_scale){TUTOR_HORIZON, mean, std * std + mean * mean};
    }
    return p;
}

void ppo_free(struct ppo *p)
{
    if (!p) return;
    for (int i = 0; i < p->nets; i++)
        ppo_net_release(&p->net[i]);
    free(p->unit);
    free(p->scratch.mask);
    free(p->scratch.pi);
    free(p->tutor_target);
    free(p->target);
    free(p->advantage);
    free(p);
}

void ppo_set_lr(struct ppo *p, double lr, double critic_lr)
{
    p->cfg.lr = lr;
    p->cfg.critic_lr = critic_lr;
}

void ppo_set_entropy(struct ppo *p, double entropy)
{
    p->cfg.entropy = entropy;
}

void ppo_set_imitate(struct ppo *p, double imitate)
{
    p->cfg.imitate = imitate;
}

static void ppo_gather(float *out, const float *rows, const int *order, int n, int dim,
                       int stride)
{
    if (dim == stride) {
        kern_best()->gather(out, rows, order, n, dim);
        return;
    }
    for (int i = 0; i < n; i++)
        memcpy(out + (size_t)i * (size_t)stride, rows + (size_t)order[i] * (size_t)dim,
               (size_t)dim * sizeof *out);
}

static double weight_of(const struct ppo_batch *b, int row)
{
    return b->weight ? (double)b->weight[row] : 1.0;
}

static double total_weight(const struct ppo_batch *b, const int *order, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += weight_of(b, order[i]);
    return sum > 0.0 ? sum : 1.0;
}

/* What one minibatch adds to the actor's figures. */
struct actor_sums {
    double loss, entropy, kl, clipped, ratio_error;
};

/* fmax and fmin are calls for the sake of NaN; here one shows in the loss either way */
static double ppo_larger(double a, double b)
{
    return a > b ? a : b;
}

static double ppo_smaller(double a, double b)
{
    return b < a ? b : a;
}

/* The all-action term (ppo.h): push[j] = pi_j c_j with c the centred one-step advantage, 0 for
 * actions that were not tried or are clipped. Adds its loss. All times w. Returns
 * sum push. */
static float all_actions(float *push, double *loss, const struct ppo *p, const float *pi,
                         int row, double w)
{
    int actions = p->policy->cfg.actions;
    size_t at = (size_t)row * (size_t)actions;
    const float *q = p->batch->q + at, *old = p->batch->prob + at;
    double mean = 0.0, tried = 0.0, sum = 0.0;
    double low = 1.0 - p->cfg.clip, high = 1.0 + p->cfg.clip;
    for (int j = 0; j < actions; j++) {
        push[j] = 0.0f;
        if (isnan(q[j])) continue;
        mean += (double)old[j] * (double)q[j];
        tried += (double)old[j];
    }
    for (int j = 0; j < actions; j++) {
        if (isnan(q[j])) continue;
        double c = ((double)q[j] - mean / tried) * (double)p->unit[row];
        double was = ppo_larger((double)old[j], 1e-12), ratio = (double)pi[j] / was;
        double bounded = ppo_smaller(ppo_larger(ratio, low), high);
        *loss -= w * was * ppo_smaller(ratio * c, bounded * c);
        if (bounded * c < ratio * c) continue;
        push[j] = (float)(w * (double)pi[j] * c);
        sum += (double)push[j];
    }
    return (float)sum;
}

/* The cross-entropy of what is shown, times w: its gradient is added to dlogits, its loss
 * given back. Where there is no level, pi, ln pi and what is shown are 0. */
static double imitate(float *dlogits, const float *pi, const float *ln_pi,
                      const float *shown, int actions, double w)
{
    double sum = 0.0;
    for (int j = 0; j < actions; j++) {
        dlogits[j] += (float)w * (pi[j] - shown[j]);
        sum += (double)(shown[j] * ln_pi[j]);
    }
    return -w * sum;
}

/* Loss of sample i of the minibatch and its gradient with respect to the logits, times w.
 *   d ln pi(a) / d logit_j = [j = a] - pi_j,   dH / d logit_j = -pi_j (ln pi_j + H)
 * pi and ln pi are 0 for a level that does not exist, and so is its gradient. */
static void actor_sample(float *dlogits, struct actor_sums *s, const struct ppo *p, int i,
                         int row, double w)
{
    const struct ppo_scratch *t = &p->scratch;
    int actions = p->policy->cfg.actions, action = p->batch->action[row];
    const float *pi = t->pi + i * actions, *ln_pi = t->ln_pi + i * actions;
    double a = (double)p->advantage[row], ratio = (double)t->ratio[i];
    const float *shown = p->batch->shown;
    bool taught = shown && !isnan(shown[row * actions]);
    double copied = taught ? w * p->cfg.imitate : 0.0, own = w - copied;
    double low = 1.0 - p->cfg.clip, high = 1.0 + p->cfg.clip;
    double bounded = ratio < low ? low : ratio > high ? high : ratio;
    bool flat =
        bounded * a < ratio * a; /* the clipped branch is the smaller: no gradient */
    float push = flat ? 0.0f : (float)(own * a * ratio);
    float spread = (float)(w * p->cfg.entropy), entropy = t->entropy[i], sum = 0.0f;
    float every[POLICY_ACTIONS] = {0};
    if (p->batch->q) sum = all_actions(every, &s->loss, p, pi, row, own);

    for (int j = 0; j < actions; j++)
        dlogits[j] = pi[j] * (push + sum + spread * (ln_pi[j] + entropy)) - every[j];
    dlogits[action] -= push;
    s->loss -= own * ppo_smaller(ratio * a, bounded * a);
    if (taught)
        s->loss += imitate(dlogits, pi, ln_pi, shown + row * actions, actions, copied);
    s->entropy += w * (double)entropy;
    s->kl += w * (ratio - 1.0 - (double)t->log_ratio[i]);
    s->clipped += w * (fabs(ratio - 1.0) > p->cfg.clip);
    s->ratio_error = ppo_larger(s->ratio_error, fabs(ratio - 1.0));
}

/* pi, ln pi, entropy and ratio of the minibatch */
static void actor_scratch(struct ppo *p, const int *order, int n)
{
    const struct kern *k = kern_best();
    const struct ppo_batch *b = p->batch;
    struct ppo_scratch *t = &p->scratch;
    int actions = p->policy->cfg.actions;
    for (int i = 0; i < n; i++)
        t->mask[i] = b->mask[order[i]];
    k->softmax(t->pi, t->ln_pi, t->entropy, p->net[ACTOR].y, t->mask, n, actions);
    for (int i = 0; i < n; i++) {
        float d = t->ln_pi[i * actions + b->action[order[i]]] - b->logp[order[i]];
        t->log_ratio[i] = d > 20.0f ? 20.0f : d < -80.0f ? -80.0f : d;
    }
    k->exp(t->ratio, t->log_ratio, (size_t)n);
}

static int actor_minibatch(struct ppo *p, struct actor_sums *s, double *balance, int at,
                           int n)
{
    struct ppo_net *l = &p->net[ACTOR];
    const struct mix_cfg *c = &l->net->cfg;
    const int *order = l->order + at;
    const float *z = NULL;
    ppo_gather(l->x, p->batch->obs, order, n, c->in, c->in);
    bool redraw = p->cfg.redraw_noise && !ppo_net_latched(l, &p->cfg);
    if (redraw && p->cfg.router_noise > 0.0) {
        ppo_net_draw_z(l, n, p->cfg.router_noise);
        z = l->z;
    } else if (p->batch->z) {
        ppo_gather(l->z, p->batch->z, order, n, c->experts, c->experts);
        z = l->z;
    }
    mix_forward(l->y, NULL, NULL, l->net, l->ws, l->x, z, n);

    double whole = total_weight(p->batch, order, n);
    *s = (struct actor_sums){0};
    actor_scratch(p, order, n);
    for (int i = 0; i < n; i++)
        actor_sample(l->dy + i * c->out, s, p, i, order[i],
                     weight_of(p->batch, order[i]) / whole);
    if (!isfinite(s->loss)) {
        ppo_net_blame(l);
        return ERR_NUMERIC;
    }

    float aux;
    double norm = ppo_net_step(l, &p->cfg, p->cfg.lr, p->cfg.noise_gamma, &aux);
    if (!isfinite(norm)) return ERR_NUMERIC;
    *balance = (double)aux;
    p->stats.grad_norm += norm;
    p->stats.steps++;
    for (int k = 0; k < c->experts && k < 16; k++)
        p->stats.expert_share[k] += l->used[k];
    return 0;
}

static void to_shares(double share[16])
{
    double sum = 0.0;
    for (int k = 0; k < 16; k++)
        sum += share[k];
    for (int k = 0; k < 16; k++)
        share[k] /= sum;
}

/* KL, clip share, entropy and losses are those of the last epoch that ran. */
static int update_actor(struct ppo *p)
{
    struct ppo_net *l = &p->net[ACTOR];
    struct ppo_stats *st = &p->stats;
    int n = p->batch->n, size = p->cfg.minibatch;
    l->router_norm = 0.0;
    for (int epoch = 0; epoch < p->cfg.epochs; epoch++) {
        ppo_net_shuffle(l, n);
        struct actor_sums sum = {0}, s;
        double aux = 0.0, balance = 0.0;
        for (int at = 0; at < n; at += size) {
            int rows = n - at < size ? n - at : size;
            int rc = actor_minibatch(p, &s, &aux, at, rows);
            if (rc) return rc;
            if (epoch == 0 && at == 0) st->first_ratio_error = s.ratio_error;
            double share = (double)rows / n;
            sum.loss += share * s.loss;
            sum.entropy += share * s.entropy;
            sum.kl += share * s.kl;
            sum.clipped += share * s.clipped;
            balance += share * aux;
        }
        st->policy_loss = sum.loss;
        st->entropy = sum.entropy;
        st->approx_kl = sum.kl;
        st->clip_share = sum.clipped;
        if (epoch == 0) st->first_clip_share = sum.clipped;
        st->balance = balance;
        if (p->cfg.target_kl > 0.0 && sum.kl > p->cfg.target_kl) break;
    }

    to_shares(st->expert_share);
    st->grad_norm /= st->steps;
    st->router_norm = l->router_norm / st->steps;
    return 0;
}

/* Squared error of one minibatch; *error, *unit get the sums of squares that the
 * explained variance is made of. */
static int critic_minibatch(struct ppo *p, int which, double *loss, double *error, int at,
                            int n)
{
    struct ppo_net *l = &p->net[which];
    const struct mix_cfg *c = &l->net->cfg;
    const int *order = l->order + at;
    const float *target = which == TUTOR ? p->tutor_target : p->target;
    int obs_dim = p->policy->cfg.obs_dim;
    ppo_gather(l->x, p->batch->obs, order, n, obs_dim, c->in);
    if (which == TUTOR)
        ppo_gather(l->x + obs_dim, p->batch->priv, order, n, c->in - obs_dim, c->in);
    bool noisy =
        which == CRITIC && p->cfg.router_noise > 0.0 && !ppo_net_latched(l, &p->cfg);
    if (noisy) ppo_net_draw_z(l, n, p->cfg.router_noise);
    mix_forward(l->y, NULL, NULL, l->net, l->ws, l->x, noisy ? l->z : NULL, n);

    double whole = total_weight(p->batch, order, n), sum = 0.0;
    memset(l->dy, 0, (size_t)n * (size_t)c->out * sizeof *l->dy);
    for (int i = 0; i < n; i++) {
        int row = order[i], at_y = i * c->out + (which == TUTOR ? p->batch->tag[row] : 0);
        double d = (double)l->y[at_y] - (double)target[row];
        double w = weight_of(p->batch, row) / whole;
        l->dy[at_y] = (float)(2.0 * p->cfg.value_coef * w * d);
        sum += w * d * d;
        *error += d * d;
    }
    *loss = p->cfg.value_coef * sum;
    if (!isfinite(sum)) {
        ppo_net_blame(l);
        return ERR_NUMERIC;
    }

    float aux;
    double gamma = which == CRITIC && p->cfg.noise_critic ? p->cfg.noise_gamma : 0.0;
    double norm = ppo_net_step(l, &p->cfg, p->cfg.critic_lr, gamma, &aux);
    if (which == CRITIC)
        for (int k = 0; k < c->experts && k < 16; k++)
            p->stats.critic_share[k] += l->used[k];
    return isfinite(norm) ? 0 : ERR_NUMERIC;
}

static double variance(const float *x, int n)
{
    double sum = 0.0, square = 0.0;
    for (int i = 0; i < n; i++) {
        sum += (double)x[i];
        square += (double)x[i] * (double)x[i];
    }
    double mean = sum / n;
    return fmax(square / n - mean * mean, 0.0);
}

static int update_critic(struct ppo *p, int which)
{
    struct ppo_net *l = &p->net[which];
    int n = p->batch->n, size = p->cfg.minibatch, epochs = p->cfg.epochs;
    bool reported = which == p->nets - 1; /* the one that gives the advantages */
    if (!reported && p->cfg.critic_epochs > 0) epochs = p->cfg.critic_epochs;

    l->router_norm = 0.0;
    int steps = 0;
    for (int epoch = 0; epoch < epochs; epoch++) {
        ppo_net_shuffle(l, n);
        double error = 0.0, mean = 0.0;
        for (int at = 0; at < n; at += size) {
            int rows = n - at < size ? n - at : size;
            double loss;
            int rc = critic_minibatch(p, which, &loss, &error, at, rows);
            if (rc) return rc;
            mean += loss * rows / n;
            steps++;
        }
        double unit = variance(which == TUTOR ? p->tutor_target : p->target, n) * n;
        double explained = unit > 0.0 ? 1.0 - error / unit : 0.0;
        if (epoch == 0 && which == CRITIC) p->stats.critic_variance = explained;
        if (epoch == 0 && reported) p->stats.explained_variance = explained;
        if (reported) p->stats.value_loss = mean;
    }
    if (which == CRITIC) {
        to_shares(p->stats.critic_share);
        p->stats.critic_router_norm = l->router_norm / steps;
    }
    return 0;
}

static void update_net(void *ctx, int i)
{
    struct ppo *p = ctx;
    const struct ppo_batch *b = p->batch;
    bool own = i != TUTOR; /* the tutor has no gate */
    if (own) ppo_net_begin(&p->net[i], &p->cfg, b->obs, b->tag, b->n);
    p->rc[i] = i == ACTOR ? update_actor(p) : update_critic(p, i);
    if (own) ppo_net_end(&p->net[i]);
}

/* What the one-step advantage of the action taken leaves of its advantage: all of it where
 * nothing was tried. */
static double residual(const struct ppo *p, int row)
{
    const struct ppo_batch *b = p->batch;
    double a = (double)b->advantage[row];
    if (!b->q) return a;
    return a -
           (double)b
               ->q[(size_t)row * (size_t)p->policy->cfg.actions + (size_t)b->action[row]];
}

/* Advantage of the rows with this tag (all rows when tag < 0): mean 0, deviation 1. With all
 * actions tried it is the residual that is centred; both terms share the advantage's unit. */
static void normalise_advantage(struct ppo *p, int tag)
{
    const struct ppo_batch *b = p->batch;
    double sum = 0.0, square = 0.0, left = 0.0;
    int n = 0;
    for (int i = 0; i < b->n; i++) {
        if (tag >= 0 && b->tag[i] != tag) continue;
        double a = (double)b->advantage[i];
        left += residual(p, i);
        sum += a;
        square += a * a;
        n++;
    }
    if (n == 0) return;

    double mean = sum / n, std = sqrt(fmax(square / n - mean * mean, 0.0));
    for (int i = 0; i < b->n; i++) {
        if (tag >= 0 && b->tag[i] != tag) continue;
        p->unit[i] = (float)(1.0 / (std + 1e-8));
        p->advantage[i] = (float)((residual(p, i) - left / n) / (std + 1e-8));
    }
}

static void prepare_advantage(struct ppo *p)
{
    const struct ppo_batch *b = p->batch;
    for (int i = 0; i < b->n; i++) {
        p->advantage[i] = (float)residual(p, i);
        p->unit[i] = 1.0f;
    }
    if (p->cfg.adv_norm == PPO_NORM_BATCH ||
        (p->cfg.adv_norm == PPO_NORM_TAG && !b->tag)) {
        normalise_advantage(p, -1);
    } else if (p->cfg.adv_norm == PPO_NORM_TAG) {
        bool present[TAGS_MAX] = {false};
        for (int i = 0; i < b->n; i++) {
            assert(b->tag[i] >= 0 && b->tag[i] < TAGS_MAX);
            present[b->tag[i]] = true;
        }
        for (int tag = 0; tag < TAGS_MAX; tag++)
            if (present[tag]) normalise_advantage(p, tag);
    }
}

static void prepare_target(struct ppo *p)
{
    const struct ppo_batch *b = p->batch;
    struct policy *policy = p->policy;
    if (p->cfg.normalise_returns) {
        double sum = 0.0, square = 0.0;
        for (int i = 0; i < b->n; i++) {
            sum += (double)b->target[i];
            square += (double)b->target[i] * (double)b->target[i];
        }
        tutor_scale_add(&p->returns, sum, square, b->n);
        policy->ret_mean = (float)p->returns.mean;
        policy->ret_std = (float)tutor_scale_std(&p->returns);
    }
    for (int i = 0; i < b->n; i++)
        p->target[i] = (b->target[i] - policy->ret_mean) / policy->ret_std;
    if (!p->tutor) return;

    tutor_observe(p->tutor, b->target, b->tag, b->n);
    for (int i = 0; i < b->n; i++) {
        int tag = b->tag[i];
        p->tutor_target[i] =
            (b->target[i] - tutor_mean(p->tutor, tag)) / tutor_std(p->tutor, tag);
    }
}

int ppo_update(struct ppo *p, const struct ppo_batch *batch, struct ppo_stats *stats)
{
    assert(batch->n > 0 && batch->n <= p->max_batch);
    assert(!p->tutor || (batch->priv && batch->tag));
    p->batch = batch;
    p->stats = (struct ppo_stats){0};
    prepare_advantage(p);
    prepare_target(p);
    ppo_gate_watch(p);

    pool_run(p->nets, p->cfg.threads, update_net, p);

    ppo_gate_report(p);
    if (stats) *stats = p->stats;
    p->batch = NULL;
    for (int i = 0; i < p->nets; i++)
        if (p->rc[i]) return p->rc[i];
    return isfinite((double)p->policy->ret_mean) && isfinite((double)p->policy->ret_std)
               ? 0
               : ERR_NUMERIC;
}

size_t ppo_state_size(const struct ppo *p)
{
    size_t n = sizeof p->returns + sizeof p->drift;
    for (int i = 0; i < p->nets; i++)
        n += ppo_net_state_size(&p->net[i]);
    return n;
}

void ppo_state_get(const struct ppo *p, void *out)
{
    char *at = out;
    memcpy(at, &p->returns, sizeof p->returns);
    at += sizeof p->returns;
    memcpy(at, &p->drift, sizeof p->drift);
    at += sizeof p->drift;
    for (int i = 0; i < p->nets; i++)
        at = ppo_net_state_get(&p->net[i], at);
}

int ppo_state_put(struct ppo *p, const void *in, size_t n, struct err *e)
{
    if (n != ppo_state_size(p))
        return err_set(e, ERR_CORRUPT,
                       "optimiser state has %zu bytes, this configuration needs %zu", n,
                       ppo_state_size(p));
    const char *at = in;
    memcpy(&p->returns, at, sizeof p->returns);
    at += sizeof p->returns;
    memcpy(&p->drift, at, sizeof p->drift);
    at += sizeof p->drift;
    for (int i = 0; i < p->nets; i++)
        at = ppo_net_state_put(&p->net[i], at);
    return 0;
}

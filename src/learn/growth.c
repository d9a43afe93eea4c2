#include "learn/growth.h"

#include "nn/adam.h"
#include "nn/simd/kern.h"
#include "learn/buffer.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The new experts of one network in training. */
struct net {
    struct norga *g; /* borrowed from the graft */
    struct norga_ws *ws;
    float *grad, *m, *v; /* (g->n) */
    float *x, *y, *dy;   /* (BUFFER_ROWS, in / out / out) */
    float *block;        /* owned: all of the above */
    int *order;          /* owned (capacity) */
    int64_t steps;       /* of Adam */
    struct rng rng;
};

struct growth {
    struct online_cfg cfg;
    const struct policy *base;
    struct graft *graft, *kept; /* what is trained; what it was before the update */
    struct buffer *buffer;
    struct net actor, critic;
    void *kept_state;
    double (*check)(void *ctx, const struct graft *g);
    void *check_ctx;
    struct growth_stats stats;
    double score; /* of the weights that are kept */

    /* the frozen policy's part of every step of a batch */
    struct mix_ws *base_actor, *base_critic;
    float *ln_pi0;               /* (capacity, actions) */
    float *v0;                   /* (capacity) */
    float *advantage, *target;   /* (capacity) normalised */
    float *pi, *ln_pi, *entropy; /* (BUFFER_ROWS, actions / actions / 1) */
    uint32_t mask[BUFFER_ROWS];
    double share_sum;
};

/* ---- networks */

static bool net_init(struct net *n, struct norga *g, int capacity, uint64_t seed,
                     uint64_t id)
{
    const struct norga_cfg *c = &g->cfg;
    size_t rows = BUFFER_ROWS, in = (size_t)c->in, out = (size_t)c->out;
    *n = (struct net){.g = g};
    rng_init(&n->rng, seed, id);
    n->ws = norga_ws_new(c, BUFFER_ROWS, NULL);
    n->block = calloc(3 * g->n + rows * (in + 2 * out), sizeof *n->block);
    n->order = calloc((size_t)capacity, sizeof *n->order);
    if (!n->ws || !n->block || !n->order) return false;
    n->grad = n->block;
    n->m = n->grad + g->n;
    n->v = n->m + g->n;
    n->x = n->v + g->n;
    n->y = n->x + rows * in;
    n->dy = n->y + rows * out;
    return true;
}

static void net_release(struct net *n)
{
    free(n->order);
    free(n->block);
    norga_ws_free(n->ws);
}

static void growth_shuffle(struct net *n, int count)
{
    for (int i = 0; i < count; i++)
        n->order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int j = (int)rng_below(&n->rng, (uint32_t)i + 1), t = n->order[i];
        n->order[i] = n->order[j];
        n->order[j] = t;
    }
}

/* y of the rows order[at ..]; adds up the shares of the new experts. */
static void growth_forward(struct net *n, const float *obs, int at, int rows,
                           double *share)
{
    int experts = n->g->cfg.experts;
    float gate[BUFFER_ROWS * NORGA_EXPERTS_MAX];
    kern_best()->gather(n->x, obs, n->order + at, rows, n->g->cfg.in);
    norga_forward(n->y, gate, n->g, n->ws, n->x, rows);
    for (int i = 0; i < rows * experts && share; i++)
        *share += (double)gate[i];
}

/* Backward from n->dy, clip, Adam. Returns the gradient's norm before clipping; when it is not
 * finite nothing was stepped. */
static double growth_step(struct net *n, const struct ppo_cfg *cfg, double lr,
                          bool shape_learns)
{
    norga_backward(n->grad, n->g, n->ws, n->dy);
    struct mix_range shape = norga_shape(&n->g->cfg);
    if (!shape_learns) memset(n->grad + shape.at, 0, sizeof *n->grad * shape.n);
    double norm = sqrt(adam_sumsq(n->grad, n->g->n)), scale = 1.0;
    if (!isfinite(norm)) return norm;
    if (cfg->max_grad_norm > 0.0 && norm > cfg->max_grad_norm)
        scale = cfg->max_grad_norm / norm;

    /* the shape lies first; what stands still is left out, its moments as well */
    size_t from = shape_learns ? 0 : shape.at + shape.n;
    struct adam_cfg adam = {lr, cfg->beta1, cfg->beta2, cfg->eps, 0, 0, 0};
    adam_step(n->g->theta + from, n->m + from, n->v + from, n->grad + from,
              n->g->n - from, &adam, ++n->steps, (float)scale);
    return norm;
}

/* ---- making */

static bool growth_allocate(struct growth *g)
{
    size_t n = (size_t)g->cfg.capacity, actions = (size_t)g->base->cfg.actions;
    g->ln_pi0 = calloc(n * actions, sizeof *g->ln_pi0);
    g->v0 = calloc(3 * n, sizeof *g->v0);
    g->pi = calloc(BUFFER_ROWS * (2 * actions + 1), sizeof *g->pi);
    if (!g->ln_pi0 || !g->v0 || !g->pi) return false;
    g->advantage = g->v0 + n;
    g->target = g->advantage + n;
    g->ln_pi = g->pi + BUFFER_ROWS * actions;
    g->entropy = g->ln_pi + BUFFER_ROWS * actions;
    return true;
}

static bool finite_graft(const struct graft *g)
{
    return isfinite(adam_sumsq(g->actor->theta, g->actor->n)) &&
           isfinite(adam_sumsq(g->critic->theta, g->critic->n));
}

struct growth *growth_new(const struct online_cfg *cfg, const struct policy *base,
                          const struct graft *start,
                          double (*check)(void *ctx, const struct graft *g), void *ctx,
                          struct err *e)
{
    assert(cfg->batch > 0 && cfg->capacity >= cfg->batch && cfg->max_age >= 0);
    assert(cfg->ppo.minibatch > 0 && graft_fits(start, base));
    struct growth *g = calloc(1, sizeof *g);
    if (!g) goto failed;
    g->cfg = *cfg;
    g->base = base;
    g->check = check;
    g->check_ctx = ctx;
    g->graft = graft_clone(start, e);
    g->kept = graft_clone(start, e);
    g->buffer = buffer_new(cfg->capacity, base->cfg.obs_dim, e);
    g->base_actor = mix_ws_new(&base->actor->cfg, BUFFER_ROWS, e);
    g->base_critic = mix_ws_new(&base->critic->cfg, BUFFER_ROWS, e);
    if (!g->graft || !g->kept || !g->buffer || !g->base_actor || !g->base_critic ||
        !net_init(&g->actor, g->graft->actor, cfg->capacity, cfg->seed, 0) ||
        !net_init(&g->critic, g->graft->critic, cfg->capacity, cfg->seed, 1) ||
        !growth_allocate(g))
        goto failed;
    g->kept_state = malloc(growth_state_size(g));
    if (!g->kept_state) goto failed;

    struct online_stats *s = &g->stats.online;
    if (check) g->score = s->check_score = s->check_best = check(ctx, g->graft);
    return g;

failed:
    err_set(e, ERR_MEMORY, "no memory for a learner of %d steps", cfg->capacity);
    growth_free(g);
    return NULL;
}

void growth_free(struct growth *g)
{
    if (!g) return;
    free(g->kept_state);
    free(g->pi);
    free(g->v0);
    free(g->ln_pi0);
    net_release(&g->critic);
    net_release(&g->actor);
    mix_ws_free(g->base_critic);
    mix_ws_free(g->base_actor);
    buffer_free(g->buffer);
    graft_free(g->kept);
    graft_free(g->graft);
    free(g);
}

/* ---- trajectories */

int growth_add(struct growth *g, const struct online_trajectory *t)
{
    struct online_stats *s = &g->stats.online;
    if (online_too_old(&g->cfg, t->version, g->graft->version)) {
        s->dropped_old++;
        return ERR_CONFLICT;
    }
    if (t->client && g->cfg.client_max &&
        buffer_client(g->buffer, t->client) + t->n > g->cfg.client_max) {
        s->dropped_client++;
        return ERR_FULL;
    }
    if (buffer_add(g->buffer, t)) {
        s->dropped_full++;
        return ERR_FULL;
    }
    s->trajectories++;
    s->steps += (uint64_t)t->n;
    return 0;
}

bool growth_ready(const struct growth *g)
{
    return buffer_steps(g->buffer) >= g->cfg.batch;
}

/* ---- update */

/* V0 of the frozen policy, in reward units. */
static void frozen_value(struct growth *g, float *v, const float *obs, int n)
{
    mix_forward(v, NULL, NULL, g->base->critic, g->base_critic, obs, NULL, n);
    for (int i = 0; i < n; i++)
        v[i] = v[i] * g->base->ret_std + g->base->ret_mean;
}

static void added_value(void *ctx, float *v, const float *obs, int n)
{
    struct growth *g = ctx;
    frozen_value(g, v, obs, n);
    norga_forward(g->critic.y, NULL, g->graft->critic, g->critic.ws, obs, n);
    for (int i = 0; i < n; i++)
        v[i] += g->base->ret_std * g->critic.y[i];
}

/* What the frozen policy says of every step. */
static void frozen_part(struct growth *g, const struct ppo_batch *b)
{
    size_t dim = (size_t)g->base->cfg.obs_dim;
    int actions = g->base->cfg.actions;
    for (int at = 0; at < b->n; at += BUFFER_ROWS) {
        int n = b->n - at < BUFFER_ROWS ? b->n - at : BUFFER_ROWS;
        const float *obs = b->obs + (size_t)at * dim;
        float *ln = g->ln_pi0 + (size_t)at * (size_t)actions;
        frozen_value(g, g->v0 + at, obs, n);
        mix_forward(ln, NULL, NULL, g->base->actor, g->base_actor, obs, NULL, n);
        for (int i = 0; i < n; i++) {
            float *row = ln + i * actions;
            policy_softmax(row, row, b->mask[at + i], actions);
            for (int a = 0; a < actions; a++)
                row[a] = graft_ln(row[a]);
        }
    }
}

static void growth_prepare(struct growth *g, const struct ppo_batch *b)
{
    double sum = 0.0, square = 0.0;
    for (int i = 0; i < b->n; i++) {
        double a = (double)b->advantage[i];
        sum += a;
        square += a * a;
    }
    double mean = sum / b->n, std = sqrt(fmax(square / b->n - mean * mean, 0.0));
    for (int i = 0; i < b->n; i++) {
        g->advantage[i] = (float)(((double)b->advantage[i] - mean) / (std + 1e-8));
        g->target[i] = (b->target[i] - g->v0[i]) / g->base->ret_std;
    }
}

struct sums {
    double loss, entropy, kl, clipped, ratio_error;
};

/* Loss of sample i of the minibatch, times w, and its gradient by the logits:
 *   d ln pi(a) / d logit_j = [j = a] - pi_j,   dH / d logit_j = -pi_j (ln pi_j + H)
 * pi and ln pi are 0 for a level that does not exist, and so is its gradient. */
static void growth_sample(struct growth *g, struct sums *s, const struct ppo_batch *b,
                          int i, int row, double w)
{
    const struct ppo_cfg *c = &g->cfg.ppo;
    int actions = g->base->cfg.actions, action = b->action[row];
    const float *pi = g->pi + i * actions, *ln_pi = g->ln_pi + i * actions;
    float *dy = g->actor.dy + i * actions;
    double d = (double)(ln_pi[action] - b->logp[row]);
    d = fmin(fmax(d, -80.0), 20.0);
    double a = (double)g->advantage[row], ratio = exp(d);
    double bounded = fmin(fmax(ratio, 1.0 - c->clip), 1.0 + c->clip);
    bool flat = bounded * a < ratio * a; /* the clipped branch is smaller: no gradient */
    float push = flat ? 0.0f : (float)(w * a * ratio);
    float spread = (float)(w * c->entropy), entropy = g->entropy[i];

    for (int j = 0; j < actions; j++)
        dy[j] = pi[j] * (push + spread * (ln_pi[j] + entropy));
    dy[action] -= push;
    s->loss -= w * fmin(ratio * a, bounded * a);
    s->entropy += w * (double)entropy;
    s->kl += w * (ratio - 1.0 - d);
    s->clipped += w * (fabs(ratio - 1.0) > c->clip);
    s->ratio_error = fmax(s->ratio_error, fabs(ratio - 1.0));
}

static int actor_minibatch(struct growth *g, struct sums *s, const struct ppo_batch *b,
                           int at, int rows)
{
    struct net *n = &g->actor;
    struct ppo_stats *st = &g->stats.online.last;
    int actions = g->base->cfg.actions;
    growth_forward(n, b->obs, at, rows, &g->share_sum);
    for (int i = 0; i < rows; i++) {
        const float *ln = g->ln_pi0 + (size_t)n->order[at + i] * (size_t)actions;
        g->mask[i] = b->mask[n->order[at + i]];
        for (int j = 0; j < actions; j++)
            n->y[i * actions + j] += ln[j];
    }
    kern_best()->softmax(g->pi, g->ln_pi, g->entropy, n->y, g->mask, rows, actions);
    for (int i = 0; i < rows; i++)
        growth_sample(g, s, b, i, n->order[at + i], 1.0 / rows);
    if (!isfinite(s->loss)) return ERR_NUMERIC;

    double norm = growth_step(n, &g->cfg.ppo, g->cfg.ppo.lr, g->graft->shape_learns);
    st->grad_norm += norm;
    st->steps++;
    return isfinite(norm) ? 0 : ERR_NUMERIC;
}

/* KL, clip share, entropy, loss and the share of the new experts are the last epoch's. */
static int update_actor(struct growth *g, const struct ppo_batch *b)
{
    const struct ppo_cfg *c = &g->cfg.ppo;
    struct ppo_stats *st = &g->stats.online.last;
    int size = c->minibatch < BUFFER_ROWS ? c->minibatch : BUFFER_ROWS;
    for (int epoch = 0; epoch < c->epochs; epoch++) {
        struct sums all = {0};
        growth_shuffle(&g->actor, b->n);
        g->share_sum = 0.0;
        for (int at = 0; at < b->n; at += size) {
            int rows = b->n - at < size ? b->n - at : size;
            double part = (double)rows / b->n;
            struct sums s = {0};
            int rc = actor_minibatch(g, &s, b, at, rows);
            if (rc) return rc;
            if (epoch == 0 && at == 0) st->first_ratio_error = s.ratio_error;
            all.loss += part * s.loss;
            all.entropy += part * s.entropy;
            all.kl += part * s.kl;
            all.clipped += part * s.clipped;
        }
        st->policy_loss = all.loss;
        st->entropy = all.entropy;
        st->approx_kl = all.kl;
        st->clip_share = all.clipped;
        if (epoch == 0) st->first_clip_share = all.clipped;
        if (c->target_kl > 0.0 && all.kl > c->target_kl) break;
    }
    st->grad_norm /= st->steps;
    g->stats.share = g->share_sum / b->n;
    return 0;
}

static double variance(const float *x, int n)
{
    double sum = 0.0, square = 0.0;
    for (int i = 0; i < n; i++) {
        sum += (double)x[i];
        square += (double)x[i] * (double)x[i];
    }
    return fmax(square / n - sum / n * (sum / n), 0.0);
}

/* Explained variance: of the returns by V before the update's first epoch ended. */
static int update_critic(struct growth *g, const struct ppo_batch *b)
{
    const struct ppo_cfg *c = &g->cfg.ppo;
    struct ppo_stats *st = &g->stats.online.last;
    struct net *n = &g->critic;
    int size = c->minibatch < BUFFER_ROWS ? c->minibatch : BUFFER_ROWS;
    double unit = (double)g->base->ret_std * (double)g->base->ret_std;
    double spread = variance(b->target, b->n) / unit;
    for (int epoch = 0; epoch < c->epochs; epoch++) {
        double sum = 0.0;
        growth_shuffle(n, b->n);
        for (int at = 0; at < b->n; at += size) {
            int rows = b->n - at < size ? b->n - at : size;
            growth_forward(n, b->obs, at, rows, NULL);
            for (int i = 0; i < rows; i++) {
                double d = (double)n->y[i] - (double)g->target[n->order[at + i]];
                n->dy[i] = (float)(2.0 * c->value_coef * d / rows);
                sum += d * d;
            }
            double norm = growth_step(n, c, c->critic_lr, g->graft->shape_learns);
            if (!isfinite(sum) || !isfinite(norm)) return ERR_NUMERIC;
        }
        st->value_loss = c->value_coef * sum / b->n;
        if (epoch == 0 && spread > 0.0)
            st->explained_variance = 1.0 - sum / b->n / spread;
    }
    return 0;
}

/* Is the updated graft one that may be given out? */
static bool acceptable(struct growth *g)
{
    struct online_stats *s = &g->stats.online;
    if (!finite_graft(g->graft)) return false;
    if (!g->check) return true;
    s->check_score = g->check(g->check_ctx, g->graft);
    if (!(s->check_score >= online_lowest(&g->cfg, s->check_best)))
        return false; /* NaN, too */
    s->check_best = fmax(s->check_best, s->check_score);
    g->score = s->check_score;
    return true;
}

static size_t net_state_size(const struct net *n)
{
    return 2 * n->g->n * sizeof *n->m + sizeof n->steps + sizeof n->rng;
}

static char *net_state_get(const struct net *n, char *out)
{
    size_t moments = 2 * n->g->n * sizeof *n->m;
    memcpy(out, n->m, moments); /* m and v lie side by side */
    memcpy(out + moments, &n->steps, sizeof n->steps);
    memcpy(out + moments + sizeof n->steps, &n->rng, sizeof n->rng);
    return out + net_state_size(n);
}

static const char *net_state_put(struct net *n, const char *in)
{
    size_t moments = 2 * n->g->n * sizeof *n->m;
    memcpy(n->m, in, moments);
    memcpy(&n->steps, in + moments, sizeof n->steps);
    memcpy(&n->rng, in + moments + sizeof n->steps, sizeof n->rng);
    return in + net_state_size(n);
}

int growth_update(struct growth *g)
{
    if (!growth_ready(g)) return 0;
    struct ppo_batch batch;
    buffer_settle(g->buffer, added_value, g, g->cfg.ppo.gamma, g->cfg.ppo.lambda);
    if (g->cfg.sigmas > 0)
        g->stats.online.bounded += (uint64_t)buffer_bound(g->buffer, g->cfg.sigmas);
    buffer_batch(&batch, g->buffer);
    graft_copy(g->kept, g->graft);
    net_state_get(&g->critic, net_state_get(&g->actor, g->kept_state));

    g->stats.online.last = (struct ppo_stats){0};
    frozen_part(g, &batch);
    growth_prepare(g, &batch);
    int rc = update_actor(g, &batch);
    if (!rc) rc = update_critic(g, &batch);
    buffer_clear(g->buffer);
    if (!rc && acceptable(g)) {
        g->graft->version++;
        g->stats.online.updates++;
        return 1;
    }

    graft_copy(g->graft, g->kept);
    net_state_put(&g->critic, net_state_put(&g->actor, g->kept_state));
    g->stats.online.rollbacks++;
    return ERR_NUMERIC;
}

const struct graft *growth_graft(const struct growth *g)
{
    return g->graft;
}

void growth_stats(const struct growth *g, struct growth_stats *out)
{
    *out = g->stats;
}

void growth_freeze_shape(struct growth *g)
{
    g->graft->shape_learns = false;
}

/* ---- state */

size_t growth_state_size(const struct growth *g)
{
    return sizeof g->stats + net_state_size(&g->actor) + net_state_size(&g->critic) +
           sizeof g->score;
}

void growth_state_get(const struct growth *g, void *out)
{
    char *at = out;
    memcpy(at, &g->stats, sizeof g->stats);
    at = net_state_get(&g->critic, net_state_get(&g->actor, at + sizeof g->stats));
    memcpy(at, &g->score, sizeof g->score);
}

/* As rl/online's: the bar of another exam, moved by what today's says of the same weights. */
static void move_bar(struct growth *g, double then)
{
    struct online_stats *s = &g->stats.online;
    double now = g->score;
    if (isfinite(then)) s->check_best += now - then;
    if (!(now >= online_lowest(&g->cfg, s->check_best))) s->check_best = now;
    s->check_score = now;
}

int growth_state_put(struct growth *g, const void *in, size_t n, struct err *e)
{
    /* states of before do not tell the score */
    size_t size = growth_state_size(g);
    bool told = n == size;
    if (!told && n != size - sizeof g->score)
        return err_set(e, ERR_CORRUPT,
                       "learner state has %zu bytes, this configuration needs %zu", n,
                       size);
    const char *at = in;
    memcpy(&g->stats, at, sizeof g->stats);
    at = net_state_put(&g->critic, net_state_put(&g->actor, at + sizeof g->stats));
    double then = NAN;
    if (told) memcpy(&then, at, sizeof then);
    if (g->check) move_bar(g, then);
    return 0;
}

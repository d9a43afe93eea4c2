#include "policy/mix.h"

#include "policy/probs.h"
#include "nn/act.h"
#include "nn/blas.h"
#include "nn/init.h"
#include "nn/simd/kern.h"
#include "nn/linear.h"
#include "nn/mlp.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static_assert(MIX_LAYERS_MAX == MLP_LAYERS_MAX, "an expert is an mlp");

/* The rows that reach an expert lie together, so that each expert is a few products over
 * consecutive rows. Single and dense: in the caller's order, once per expert. Top-1:
 * sorted by expert; order[i] is the caller's row of place i. */
struct mix_ws {
    struct mix_cfg cfg;
    int max_batch, n;
    int start[MIX_EXPERTS_MAX + 1]; /* top-1: first place of each expert's rows */
    int *order, *chosen;            /* (max_batch) */
    float *x;                       /* (max_batch, in), by place */
    float *gate;                    /* (max_batch, experts), by caller's row */
    bool has_p;                     /* gate holds p, else g */
    uint64_t busy;                  /* experts that were busy in the last forward */
    float *h[MIX_LAYERS_MAX];       /* (places, hidden) */
    float *y;                       /* (places, out), before the gate */
    float *mixed;                   /* dense-probs: (max_batch, out), what forward gave */
    float *dy, *d0, *d1, *dgate;    /* backward: (max_batch, out | hidden | experts) */
    float *block;                   /* owned: all of the above */
};

static bool is_top1(const struct mix_cfg *cfg)
{
    return cfg->route == MIX_TOP1 || cfg->route == MIX_TOP1_UNSCALED;
}

static bool is_dense(const struct mix_cfg *cfg)
{
    return cfg->route == MIX_DENSE || cfg->route == MIX_DENSE_PROBS;
}

static struct mlp_cfg expert_cfg(const struct mix_cfg *cfg)
{
    return (struct mlp_cfg){cfg->in, cfg->hidden, cfg->layers, cfg->out};
}

static const char *const ROUTE_WORDS[] = {"single", "dense", "top1", "top1-unscaled",
                                          "dense-probs"};

const char *mix_route_word(enum mix_route route)
{
    int i = (int)route;
    return i >= MIX_SINGLE && i <= MIX_DENSE_PROBS ? ROUTE_WORDS[i] : NULL;
}

/* JSON before 0.1.0 had "top1_unscaled". */
static bool is_route(const char *word, const char *given)
{
    for (; *word; word++, given++)
        if (*given != *word && !(*word == '-' && *given == '_')) return false;
    return !*given;
}

int mix_route_parse(enum mix_route *out, const char *word, struct err *e)
{
    for (int i = MIX_SINGLE; i <= MIX_DENSE_PROBS; i++) {
        if (!is_route(ROUTE_WORDS[i], word)) continue;
        *out = (enum mix_route)i;
        return 0;
    }
    return err_field(e, ERR_INVALID, "route",
                     "'%.30s' is none of single, dense, top1, top1-unscaled, dense-probs",
                     word);
}

static int check_member(const char *name, int value, int max, struct err *e)
{
    if (value >= 1 && value <= max) return 0;
    return err_field(e, ERR_RANGE, name, "%d is not within 1 .. %d", value, max);
}

int mix_cfg_check(const struct mix_cfg *cfg, struct err *e)
{
    int rc = check_member("in", cfg->in, MIX_IN_MAX, e);
    if (!rc) rc = check_member("hidden", cfg->hidden, MIX_HIDDEN_MAX, e);
    if (!rc) rc = check_member("layers", cfg->layers, MIX_LAYERS_MAX, e);
    if (!rc) rc = check_member("out", cfg->out, MIX_OUT_MAX, e);
    if (!rc) rc = check_member("experts", cfg->experts, MIX_EXPERTS_MAX, e);
    if (rc) return rc;

    if (!mix_route_word(cfg->route))
        return err_field(e, ERR_RANGE, "route", "%d is not a route", (int)cfg->route);
    if (cfg->route == MIX_SINGLE && cfg->experts != 1)
        return err_field(e, ERR_RANGE, "experts", "%d experts need a route, not 'single'",
                         cfg->experts);
    if (cfg->route == MIX_DENSE_PROBS && cfg->out < 2)
        return err_field(e, ERR_RANGE, "route",
                         "'dense-probs' mixes distributions over at least 2 outputs; use "
                         "'dense' for values");
    return 0;
}

struct mix_range mix_router(const struct mix_cfg *cfg)
{
    size_t k = (size_t)cfg->experts;
    return (struct mix_range){0, cfg->route == MIX_SINGLE ? 0 : k * (size_t)cfg->in + k};
}

struct mix_range mix_expert(const struct mix_cfg *cfg, int k)
{
    assert(k >= 0 && k < cfg->experts);
    struct mlp_cfg ec = expert_cfg(cfg);
    size_t n = mlp_size(&ec);
    return (struct mix_range){mix_router(cfg).n + (size_t)k * n, n};
}

struct mix_range mix_trunk(const struct mix_cfg *cfg, int k)
{
    struct mlp_cfg ec = expert_cfg(cfg);
    return (struct mix_range){mix_expert(cfg, k).at, mlp_trunk_size(&ec)};
}

size_t mix_size(const struct mix_cfg *cfg)
{
    struct mix_range last = mix_expert(cfg, cfg->experts - 1);
    return last.at + last.n;
}

struct mix *mix_new(const struct mix_cfg *cfg, struct err *e)
{
    if (mix_cfg_check(cfg, e)) return NULL;

    size_t n = mix_size(cfg);
    struct mix *m = calloc(1, sizeof *m);
    float *theta = calloc(n, sizeof *theta);
    if (!m || !theta) {
        err_set(e, ERR_MEMORY, "no memory for a network of %zu parameters", n);
        free(theta);
        free(m);
        return NULL;
    }
    m->cfg = *cfg;
    m->n = n;
    m->theta = theta;
    return m;
}

void mix_free(struct mix *m)
{
    if (!m) return;
    free(m->theta);
    free(m);
}

void mix_init(struct mix *m, float head_gain, struct rng *r)
{
    /* nearly equal gates at first, so that learning decides which expert gets a sample */
    struct mix_range router = mix_router(&m->cfg);
    if (router.n) {
        size_t biases = (size_t)m->cfg.experts;
        init_normal(m->theta, router.n - biases, 0.01f, r);
        memset(m->theta + router.n - biases, 0, sizeof *m->theta * biases);
    }

    struct mlp_cfg ec = expert_cfg(&m->cfg);
    for (int k = 0; k < m->cfg.experts; k++)
        mlp_init(m->theta + mix_expert(&m->cfg, k).at, &ec, head_gain, r);
}

void mix_init_uniform(struct mix *m, struct rng *r)
{
    init_uniform(m->theta, mix_router(&m->cfg).n, 1.0f / sqrtf((float)m->cfg.in), r);
    struct mlp_cfg ec = expert_cfg(&m->cfg);
    for (int k = 0; k < m->cfg.experts; k++)
        mlp_init_uniform(m->theta + mix_expert(&m->cfg, k).at, &ec, r);
}

struct mix_ws *mix_ws_new(const struct mix_cfg *cfg, int max_batch, struct err *e)
{
    assert(max_batch > 0);
    if (mix_cfg_check(cfg, e)) return NULL;

    size_t n = (size_t)max_batch, in = (size_t)cfg->in, out = (size_t)cfg->out;
    size_t hidden = (size_t)cfg->hidden, experts = (size_t)cfg->experts;
    size_t places = is_dense(cfg) ? n * experts : n;
    size_t mixed = cfg->route == MIX_DENSE_PROBS ? n * out : 0;
    size_t floats = n * (in + 2 * experts + out + 2 * hidden) +
                    places * (out + hidden * (size_t)cfg->layers) + mixed;

    struct mix_ws *ws = calloc(1, sizeof *ws);
    float *block = calloc(floats, sizeof *block);
    int *ints = calloc(2 * n, sizeof *ints);
    if (!ws || !block || !ints) {
        err_set(e, ERR_MEMORY, "no memory for a batch of %d", max_batch);
        free(ints);
        free(block);
        free(ws);
        return NULL;
    }

    ws->cfg = *cfg;
    ws->max_batch = max_batch;
    ws->order = ints;
    ws->chosen = ints + n;
    ws->block = block;
    float *at = block;
    ws->x = at, at += n * in;
    ws->gate = at, at += n * experts;
    ws->dgate = at, at += n * experts;
    ws->dy = at, at += n * out;
    ws->d0 = at, at += n * hidden;
    ws->d1 = at, at += n * hidden;
    ws->y = at, at += places * out;
    ws->mixed = at, at += mixed;
    for (int l = 0; l < cfg->layers; l++)
        ws->h[l] = at, at += places * hidden;
    assert(at == block + floats);
    return ws;
}

void mix_ws_free(struct mix_ws *ws)
{
    if (!ws) return;
    free(ws->block);
    free(ws->order);
    free(ws);
}

static bool is_busy(const struct mix_ws *ws, int k)
{
    return ws->busy >> k & 1;
}

/* where expert k's rows lie: `count` of them, inputs from place `in`, activations and
 * outputs from place `at` */
struct span {
    int in, at, count;
};

static struct span span_of(const struct mix_ws *ws, int k)
{
    if (is_top1(&ws->cfg))
        return (struct span){ws->start[k], ws->start[k], ws->start[k + 1] - ws->start[k]};
    return (struct span){0, k * ws->n, is_busy(ws, k) ? 0 : ws->n};
}

static void hidden_of(float **h, const struct mix_ws *ws, struct span s)
{
    for (int l = 0; l < ws->cfg.layers; l++)
        h[l] = ws->h[l] + (size_t)s.at * (size_t)ws->cfg.hidden;
}

/* The gate of busy experts, in every row. */
static void fill_busy(struct mix_ws *ws, float value)
{
    for (int k = 0; k < ws->cfg.experts; k++)
        for (int i = 0; is_busy(ws, k) && i < ws->n; i++)
            ws->gate[(size_t)i * (size_t)ws->cfg.experts + (size_t)k] = value;
}

/* p in the place of g */
static void weigh(struct mix_ws *ws)
{
    if (ws->has_p) return;
    kern_best()->softmax(ws->gate, NULL, NULL, ws->gate, NULL, ws->n, ws->cfg.experts);
    if (ws->busy) fill_busy(ws, 0.0f);
    ws->has_p = true;
}

void mix_scores(float *g, const struct mix *m, const float *x, int n)
{
    assert(m->cfg.route != MIX_SINGLE);
    const float *b = m->theta + (size_t)m->cfg.experts * (size_t)m->cfg.in;
    linear_forward(g, x, m->theta, b, n, m->cfg.in, m->cfg.experts);
}

/* g into ws->gate, the choice, then p if it is needed */
static void mix_route(const struct mix *m, struct mix_ws *ws, const float *x,
                      const float *z, bool wanted)
{
    int experts = m->cfg.experts;
    mix_scores(ws->gate, m, x, ws->n);
    if (ws->busy) fill_busy(ws, -INFINITY);
    kern_best()->choose(ws->chosen, ws->gate, is_top1(&m->cfg) ? z : NULL, ws->n,
                        experts);
    ws->has_p = false;
    if (wanted || m->cfg.route != MIX_TOP1_UNSCALED) weigh(ws);
}

/* counting sort of the rows by chosen expert; stable, so the order is reproducible */
static void sort_by_expert(struct mix_ws *ws)
{
    int next[MIX_EXPERTS_MAX] = {0};
    for (int i = 0; i < ws->n; i++)
        next[ws->chosen[i]]++;
    for (int k = 0, at = 0; k < ws->cfg.experts; k++) {
        ws->start[k] = at;
        at += next[k];
        next[k] = ws->start[k];
        ws->start[k + 1] = at;
    }
    for (int i = 0; i < ws->n; i++)
        ws->order[next[ws->chosen[i]]++] = i;
}

static void run_expert(float *y, const struct mix *m, struct mix_ws *ws, int k)
{
    struct span s = span_of(ws, k);
    if (s.count == 0) return;
    struct mlp_cfg ec = expert_cfg(&m->cfg);
    float *h[MIX_LAYERS_MAX];
    hidden_of(h, ws, s);
    mlp_forward(y, h, &ec, m->theta + mix_expert(&m->cfg, k).at,
                ws->x + (size_t)s.in * (size_t)ec.in, s.count);
}

static void forward_dense(float *y, const struct mix *m, struct mix_ws *ws)
{
    size_t out = (size_t)m->cfg.out, experts = (size_t)m->cfg.experts;
    memset(y, 0, sizeof *y * (size_t)ws->n * out);
    for (size_t k = 0; k < experts; k++) {
        const float *from = ws->y + k * (size_t)ws->n * out;
        run_expert(ws->y + k * (size_t)ws->n * out, m, ws, (int)k);
        if (is_busy(ws, (int)k)) continue;
        for (size_t i = 0; i < (size_t)ws->n; i++)
            for (size_t j = 0; j < out; j++)
                y[i * out + j] += ws->gate[i * experts + k] * from[i * out + j];
    }
}

static void forward_probs(float *y, const struct mix *m, struct mix_ws *ws)
{
    size_t cells = (size_t)ws->n * (size_t)m->cfg.out;
    for (int k = 0; k < m->cfg.experts; k++) {
        if (is_busy(ws, k)) memset(ws->y + (size_t)k * cells, 0, sizeof *y * cells);
        run_expert(ws->y + (size_t)k * cells, m, ws, k);
    }
    probs_forward(y, ws->y, ws->gate, ws->n, m->cfg.experts, m->cfg.out);
    memcpy(ws->mixed, y, sizeof *y * cells);
}

static void forward_top1(float *y, const struct mix *m, struct mix_ws *ws, const float *x)
{
    size_t out = (size_t)m->cfg.out, experts = (size_t)m->cfg.experts;
    sort_by_expert(ws);
    kern_best()->gather(ws->x, x, ws->order, ws->n, m->cfg.in);
    for (int k = 0; k < m->cfg.experts; k++)
        run_expert(ws->y + (size_t)ws->start[k] * out, m, ws, k);

    for (size_t i = 0; i < (size_t)ws->n; i++) {
        size_t row = (size_t)ws->order[i];
        float p = m->cfg.route == MIX_TOP1
                      ? ws->gate[row * experts + (size_t)ws->chosen[row]]
                      : 1.0f;
        for (size_t j = 0; j < out; j++)
            y[row * out + j] = p * ws->y[i * out + j];
    }
}

void mix_forward(float *y, int *chosen, float *gate, const struct mix *m,
                 struct mix_ws *ws, const float *x, const float *z, int n)
{
    assert(n > 0 && n <= ws->max_batch);
    assert(memcmp(&m->cfg, &ws->cfg, sizeof m->cfg) == 0);
    assert(!m->busy || ~m->busy << (64 - m->cfg.experts)); /* one is idle */
    ws->n = n;
    ws->busy = m->busy;

    if (m->cfg.route == MIX_SINGLE) {
        memset(ws->chosen, 0, sizeof *ws->chosen * (size_t)n);
        for (int i = 0; i < n; i++)
            ws->gate[i] = 1.0f;
    } else {
        mix_route(m, ws, x, z, gate);
    }

    if (is_top1(&m->cfg)) {
        forward_top1(y, m, ws, x);
    } else {
        memcpy(ws->x, x, sizeof *x * (size_t)n * (size_t)m->cfg.in);
        if (m->cfg.route == MIX_DENSE)
            forward_dense(y, m, ws);
        else if (m->cfg.route == MIX_DENSE_PROBS)
            forward_probs(y, m, ws);
        else
            run_expert(y, m, ws, 0);
    }

    const struct mix_prior *prior = &m->cfg.prior;
    if (prior->gain)
        for (int i = 0; i < n; i++)
            for (int a = 0; a < m->cfg.out; a++)
                y[i * m->cfg.out + a] +=
                    (float)prior->gain * x[i * m->cfg.in + prior->at + a * prior->stride];

    if (chosen) memcpy(chosen, ws->chosen, sizeof *chosen * (size_t)n);
    if (gate) memcpy(gate, ws->gate, sizeof *gate * (size_t)n * (size_t)m->cfg.experts);
}

static float mix_dot(const float *a, const float *b, size_t n)
{
    float sum = 0.0f;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void back_expert(float *grad, const struct mix *m, struct mix_ws *ws, int k,
                        const float *dy)
{
    struct span s = span_of(ws, k);
    struct mlp_cfg ec = expert_cfg(&m->cfg);
    size_t at = mix_expert(&m->cfg, k).at;
    if (s.count == 0) {
        memset(grad + at, 0, sizeof *grad * mlp_size(&ec));
        return;
    }
    float *h[MIX_LAYERS_MAX];
    hidden_of(h, ws, s);
    mlp_backward(grad + at, ws->d0, ws->d1, &ec, m->theta + at,
                 ws->x + (size_t)s.in * (size_t)ec.in, h, dy, s.count);
}

/* dL/dE_k = p_k dy into each expert, dL/dp_k = dy . E_k into dgate */
static void back_dense(float *grad, const struct mix *m, struct mix_ws *ws,
                       const float *dy)
{
    size_t out = (size_t)m->cfg.out, experts = (size_t)m->cfg.experts, n = (size_t)ws->n;
    for (size_t k = 0; k < experts; k++) {
        const float *from = ws->y + k * n * out;
        for (size_t i = 0; i < n; i++) {
            float p = ws->gate[i * experts + k];
            bool idle = !is_busy(ws, (int)k);
            ws->dgate[i * experts + k] =
                idle ? mix_dot(dy + i * out, from + i * out, out) : 0.0f;
            for (size_t j = 0; j < out; j++)
                ws->dy[i * out + j] = p * dy[i * out + j];
        }
        back_expert(grad, m, ws, (int)k, ws->dy);
    }
}

static void back_probs(float *grad, const struct mix *m, struct mix_ws *ws,
                       const float *dy)
{
    for (int k = 0; k < m->cfg.experts; k++) {
        probs_backward(ws->dy, ws->dgate, dy, ws->mixed, ws->y, ws->gate, ws->n,
                       m->cfg.experts, m->cfg.out, k);
        back_expert(grad, m, ws, k, ws->dy);
    }
}

/* back_dense for the one expert reached; dgate lies by place, as x does */
static void back_top1(float *grad, const struct mix *m, struct mix_ws *ws,
                      const float *dy)
{
    size_t out = (size_t)m->cfg.out, experts = (size_t)m->cfg.experts, n = (size_t)ws->n;
    bool scaled = m->cfg.route == MIX_TOP1;
    memset(ws->dgate, 0, sizeof *ws->dgate * n * experts);
    for (size_t i = 0; i < n; i++) {
        size_t row = (size_t)ws->order[i], c = (size_t)ws->chosen[row];
        float p = scaled ? ws->gate[row * experts + c] : 1.0f;
        if (scaled)
            ws->dgate[i * experts + c] = mix_dot(dy + row * out, ws->y + i * out, out);
        for (size_t j = 0; j < out; j++)
            ws->dy[i * out + j] = p * dy[row * out + j];
    }
    for (int k = 0; k < m->cfg.experts; k++)
        back_expert(grad, m, ws, k, ws->dy + (size_t)ws->start[k] * out);
}

/* The value of the gate's own losses; slope[k] = their dL/dp_k, the same for every row,
 * because the shares f_k are counts, the costs constants, and neither passes a gradient. */
static float gate_loss(float *slope, const struct mix_ws *ws,
                       const struct mix_gate_losses *losses)
{
    int experts = ws->cfg.experts;
    double share[MIX_EXPERTS_MAX] = {0}, mean[MIX_EXPERTS_MAX] = {0}, sum = 0.0;
    double alpha = (double)losses->balance, costs = 0.0;
    for (int i = 0; i < ws->n; i++) {
        share[ws->chosen[i]] += 1.0 / ws->n;
        for (int k = 0; k < experts; k++)
            mean[k] += (double)ws->gate[(size_t)i * (size_t)experts + (size_t)k] / ws->n;
    }
    for (int k = 0; k < experts; k++) {
        sum += share[k] * mean[k];
        double cost = losses->cost ? (double)losses->cost[k] : 0.0;
        costs += cost * mean[k];
        slope[k] = (float)((alpha * experts * share[k] + cost) / ws->n);
    }
    return (float)(alpha * experts * sum + costs);
}

/* dgate holds dL/dp by place; through the softmax to dL/dg, then to W and b */
static void back_router(float *grad, const struct mix *m, struct mix_ws *ws,
                        const float *slope)
{
    int experts = m->cfg.experts;
    for (int i = 0; i < ws->n; i++) {
        int row = is_top1(&m->cfg) ? ws->order[i] : i;
        const float *p = ws->gate + (size_t)row * (size_t)experts;
        float *d = ws->dgate + (size_t)i * (size_t)experts, mean = 0.0f;
        for (int k = 0; k < experts; k++) {
            d[k] += slope[k];
            mean += p[k] * d[k];
        }
        for (int k = 0; k < experts; k++)
            d[k] = p[k] * (d[k] - mean);
    }
    linear_backward(grad, grad + (size_t)experts * (size_t)m->cfg.in, NULL, ws->dgate,
                    ws->x, m->theta, ws->n, m->cfg.in, experts);
}

float mix_backward(float *grad, int *used, const struct mix *m, struct mix_ws *ws,
                   const float *dy, float balance)
{
    return mix_backward_gate(grad, used, m, ws, dy,
                             &(struct mix_gate_losses){.balance = balance});
}

float mix_backward_gate(float *grad, int *used, const struct mix *m, struct mix_ws *ws,
                        const float *dy, const struct mix_gate_losses *losses)
{
    assert(ws->n > 0 && memcmp(&m->cfg, &ws->cfg, sizeof m->cfg) == 0);
    for (int k = 0; used && k < m->cfg.experts; k++)
        used[k] = span_of(ws, k).count;

    if (m->cfg.route == MIX_SINGLE) {
        back_expert(grad, m, ws, 0, dy);
        return 0.0f;
    }
    if (is_top1(&m->cfg))
        back_top1(grad, m, ws, dy);
    else if (m->cfg.route == MIX_DENSE_PROBS)
        back_probs(grad, m, ws, dy);
    else
        back_dense(grad, m, ws, dy);

    float slope[MIX_EXPERTS_MAX] = {0}, loss = 0.0f;
    bool due = !losses->still && (losses->balance > 0.0f || losses->cost);
    if (due) weigh(ws);
    if (due) loss = gate_loss(slope, ws, losses);
    if (due || (!losses->still && m->cfg.route != MIX_TOP1_UNSCALED))
        back_router(grad, m, ws, slope);
    else
        memset(grad, 0, sizeof *grad * mix_router(&m->cfg).n);
    return loss;
}

uint64_t mix_nonfinite(const struct mix *m, const struct mix_ws *ws)
{
    uint64_t bits = 0;
    size_t out = (size_t)m->cfg.out;
    for (int k = 0; k < m->cfg.experts; k++) {
        struct span s = span_of(ws, k);
        const float *y = ws->y + (size_t)s.at * out;
        for (size_t i = 0; i < (size_t)s.count * out; i++)
            if (!isfinite(y[i])) bits |= (uint64_t)1 << k;
    }
    return bits;
}

const float *mix_hidden(const struct mix_ws *ws, int k, int layer, int *rows)
{
    assert(k >= 0 && k < ws->cfg.experts && layer >= 0 && layer < ws->cfg.layers);
    struct span s = span_of(ws, k);
    *rows = s.count;
    return s.count ? ws->h[layer] + (size_t)s.at * (size_t)ws->cfg.hidden : NULL;
}

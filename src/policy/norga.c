#include "policy/norga.h"

#include "nn/init.h"
#include "nn/linear.h"
#include "nn/mlp.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPE = 2 }; /* a, tau */

struct norga_ws {
    struct norga_cfg cfg;
    int max_batch, n;
    float *x;                 /* (max_batch, in) */
    float *s, *gate, *ds;     /* (max_batch, experts) */
    float *e;                 /* (experts, max_batch, out): D_j */
    float *h[MLP_LAYERS_MAX]; /* (experts, max_batch, hidden) */
    float *dy, *d0, *d1;      /* backward: (max_batch, out | hidden | hidden) */
    float *block;             /* owned: all of the above */
};

/* ---- scores */

const char *const norga_sigma_words[] = {"linear", "tanh", "sigmoid", "gelu", NULL};

const char *norga_sigma_word(enum norga_sigma sigma)
{
    int i = (int)sigma;
    return i >= NORGA_LINEAR && i <= NORGA_GELU ? norga_sigma_words[i] : NULL;
}

int norga_sigma_parse(enum norga_sigma *out, const char *word, struct err *e)
{
    for (int i = NORGA_LINEAR; i <= NORGA_GELU; i++) {
        if (strcmp(word, norga_sigma_words[i]) != 0) continue;
        *out = (enum norga_sigma)i;
        return 0;
    }
    return err_field(e, ERR_INVALID, "gate",
                     "'%.30s' is none of linear, tanh, sigmoid, gelu", word);
}

/* sigma(v) and its derivative */
static void activate(float *value, float *slope, float v, enum norga_sigma sigma)
{
    *value = *slope = 0.0f;
    if (sigma == NORGA_TANH) {
        *value = tanhf(v);
        *slope = 1.0f - *value * *value;
    } else if (sigma == NORGA_SIGMOID) {
        *value = 1.0f / (1.0f + expf(-v));
        *slope = *value * (1.0f - *value);
    } else if (sigma == NORGA_GELU) { /* v Phi(v), Phi the normal distribution */
        float cdf = 0.5f * (1.0f + erff(v * 0.70710678f));
        *value = v * cdf;
        *slope = cdf + v * 0.39894228f * expf(-0.5f * v * v);
    }
}

struct norga_score norga_score(float s, float a, float tau, enum norga_sigma sigma)
{
    float value, slope;
    activate(&value, &slope, tau * s, sigma);
    return (struct norga_score){
        .t = s + a * value,
        .by_s = 1.0f + a * tau * slope,
        .by_a = value,
        .by_tau = a * s * slope,
    };
}

float norga_softmax(float *p, const float *t, int experts)
{
    float top = 0.0f, sum = 0.0f; /* the frozen experts' scores add up to e^0 */
    for (int j = 0; j < experts; j++)
        top = t[j] > top ? t[j] : top;
    for (int j = 0; j < experts; j++)
        sum += p[j] = expf(t[j] - top);
    float all = sum + expf(-top);
    for (int j = 0; j < experts; j++)
        p[j] /= all;
    return sum / all;
}

/* ---- parameters */

static struct mlp_cfg expert_cfg(const struct norga_cfg *c)
{
    return (struct mlp_cfg){c->in, c->hidden, c->layers, c->out};
}

static int check_member(const char *name, int value, int max, struct err *e)
{
    if (value >= 1 && value <= max) return 0;
    return err_field(e, ERR_RANGE, name, "%d is not within 1 .. %d", value, max);
}

int norga_cfg_check(const struct norga_cfg *cfg, struct err *e)
{
    int rc = check_member("in", cfg->in, MIX_IN_MAX, e);
    if (!rc) rc = check_member("hidden", cfg->hidden, MIX_HIDDEN_MAX, e);
    if (!rc) rc = check_member("layers", cfg->layers, MIX_LAYERS_MAX, e);
    if (!rc) rc = check_member("out", cfg->out, MIX_OUT_MAX, e);
    if (!rc) rc = check_member("experts", cfg->experts, NORGA_EXPERTS_MAX, e);
    if (!rc && !norga_sigma_word(cfg->sigma))
        rc = err_field(e, ERR_RANGE, "sigma", "%d is not an activation", (int)cfg->sigma);
    return rc;
}

struct mix_range norga_shape(const struct norga_cfg *cfg)
{
    (void)cfg;
    return (struct mix_range){0, SHAPE};
}

struct mix_range norga_scores(const struct norga_cfg *cfg)
{
    size_t experts = (size_t)cfg->experts;
    return (struct mix_range){SHAPE, experts * (size_t)cfg->in + experts};
}

struct mix_range norga_expert(const struct norga_cfg *cfg, int j)
{
    assert(j >= 0 && j < cfg->experts);
    struct mlp_cfg ec = expert_cfg(cfg);
    size_t n = mlp_size(&ec);
    return (struct mix_range){SHAPE + norga_scores(cfg).n + (size_t)j * n, n};
}

size_t norga_size(const struct norga_cfg *cfg)
{
    struct mix_range last = norga_expert(cfg, cfg->experts - 1);
    return last.at + last.n;
}

struct norga *norga_new(const struct norga_cfg *cfg, struct err *e)
{
    if (norga_cfg_check(cfg, e)) return NULL;

    size_t n = norga_size(cfg);
    struct norga *g = calloc(1, sizeof *g);
    float *theta = calloc(n, sizeof *theta);
    if (!g || !theta) {
        err_set(e, ERR_MEMORY, "no memory for new experts of %zu parameters", n);
        free(theta);
        free(g);
        return NULL;
    }
    g->cfg = *cfg;
    g->n = n;
    g->theta = theta;
    return g;
}

void norga_free(struct norga *g)
{
    if (!g) return;
    free(g->theta);
    free(g);
}

void norga_init(struct norga *g, const struct mix *frozen, const int *from, struct rng *r)
{
    const struct norga_cfg *c = &g->cfg;
    const struct mix_cfg *f = &frozen->cfg;
    assert(f->in == c->in && f->hidden == c->hidden && f->layers == c->layers &&
           f->out == c->out);
    memset(g->theta, 0, sizeof *g->theta * g->n);
    g->theta[0] = g->theta[1] = 1.0f;

    size_t weights = (size_t)c->experts * (size_t)c->in;
    float *w = g->theta + SHAPE, *b = w + weights;
    init_normal(w, weights, 0.01f, r);
    for (int j = 0; j < c->experts; j++) {
        b[j] = -logf((float)c->experts);
        struct mix_range trunk = mix_trunk(f, from[j]);
        memcpy(g->theta + norga_expert(c, j).at, frozen->theta + trunk.at,
               sizeof *g->theta * trunk.n);
    }
}

/* ---- scratch */

struct norga_ws *norga_ws_new(const struct norga_cfg *cfg, int max_batch, struct err *e)
{
    assert(max_batch > 0);
    if (norga_cfg_check(cfg, e)) return NULL;

    size_t n = (size_t)max_batch, in = (size_t)cfg->in, out = (size_t)cfg->out;
    size_t hidden = (size_t)cfg->hidden, experts = (size_t)cfg->experts;
    size_t floats = n * (in + 3 * experts + out + 2 * hidden) +
                    n * experts * (out + hidden * (size_t)cfg->layers);
    struct norga_ws *ws = calloc(1, sizeof *ws);
    float *at = calloc(floats, sizeof *at);
    if (!ws || !at) {
        err_set(e, ERR_MEMORY, "no memory for a batch of %d", max_batch);
        free(at);
        free(ws);
        return NULL;
    }

    *ws = (struct norga_ws){.cfg = *cfg, .max_batch = max_batch, .block = at};
    ws->x = at, at += n * in;
    ws->s = at, at += n * experts;
    ws->gate = at, at += n * experts;
    ws->ds = at, at += n * experts;
    ws->dy = at, at += n * out;
    ws->d0 = at, at += n * hidden;
    ws->d1 = at, at += n * hidden;
    ws->e = at, at += n * experts * out;
    for (int l = 0; l < cfg->layers; l++)
        ws->h[l] = at, at += n * experts * hidden;
    assert(at == ws->block + floats);
    return ws;
}

void norga_ws_free(struct norga_ws *ws)
{
    if (!ws) return;
    free(ws->block);
    free(ws);
}

/* ---- forward and backward */

static float *output_of(const struct norga_ws *ws, int j)
{
    return ws->e + (size_t)j * (size_t)ws->n * (size_t)ws->cfg.out;
}

static void hidden_of(float **h, const struct norga_ws *ws, int j)
{
    for (int l = 0; l < ws->cfg.layers; l++)
        h[l] = ws->h[l] + (size_t)j * (size_t)ws->n * (size_t)ws->cfg.hidden;
}

/* s, and from it q */
static void norga_score_one(const struct norga *g, struct norga_ws *ws)
{
    int experts = g->cfg.experts;
    const float *w = g->theta + SHAPE, *b = w + (size_t)experts * (size_t)g->cfg.in;
    const float none[NORGA_EXPERTS_MAX] = {0};
    linear_forward(ws->s, ws->x, w, none, ws->n, g->cfg.in, experts);
    for (int i = 0; i < ws->n; i++) {
        const float *s = ws->s + (size_t)i * (size_t)experts;
        float *q = ws->gate + (size_t)i * (size_t)experts;
        for (int j = 0; j < experts; j++)
            q[j] = b[j] + norga_score(s[j], g->theta[0], g->theta[1], g->cfg.sigma).t;
        norga_softmax(q, q, experts);
    }
}

void norga_forward(float *y, float *gate, const struct norga *g, struct norga_ws *ws,
                   const float *x, int n)
{
    assert(n > 0 && n <= ws->max_batch);
    assert(memcmp(&g->cfg, &ws->cfg, sizeof g->cfg) == 0);
    size_t rows = (size_t)n, out = (size_t)g->cfg.out, experts = (size_t)g->cfg.experts;
    ws->n = n;
    memcpy(ws->x, x, sizeof *x * rows * (size_t)g->cfg.in);
    norga_score_one(g, ws);

    struct mlp_cfg ec = expert_cfg(&g->cfg);
    memset(y, 0, sizeof *y * rows * out);
    for (size_t j = 0; j < experts; j++) {
        float *h[MLP_LAYERS_MAX], *from = output_of(ws, (int)j);
        hidden_of(h, ws, (int)j);
        mlp_forward(from, h, &ec, g->theta + norga_expert(&g->cfg, (int)j).at, ws->x, n);
        for (size_t i = 0; i < rows; i++)
            for (size_t k = 0; k < out; k++)
                y[i * out + k] += ws->gate[i * experts + j] * from[i * out + k];
    }
    if (gate) memcpy(gate, ws->gate, sizeof *gate * rows * experts);
}

/* dL/dq_j = dy . D_j into ds, and each expert's own gradient from q_j dy */
static void back_experts(float *grad, const struct norga *g, struct norga_ws *ws,
                         const float *dy)
{
    size_t rows = (size_t)ws->n, out = (size_t)g->cfg.out;
    size_t experts = (size_t)g->cfg.experts;
    struct mlp_cfg ec = expert_cfg(&g->cfg);
    for (size_t j = 0; j < experts; j++) {
        const float *from = output_of(ws, (int)j);
        for (size_t i = 0; i < rows; i++) {
            float q = ws->gate[i * experts + j], dot = 0.0f;
            for (size_t k = 0; k < out; k++) {
                dot += dy[i * out + k] * from[i * out + k];
                ws->dy[i * out + k] = q * dy[i * out + k];
            }
            ws->ds[i * experts + j] = dot;
        }
        float *h[MLP_LAYERS_MAX];
        hidden_of(h, ws, (int)j);
        size_t at = norga_expert(&g->cfg, (int)j).at;
        mlp_backward(grad + at, ws->d0, ws->d1, &ec, g->theta + at, ws->x, h, ws->dy,
                     ws->n);
    }
}

/* dL/dt_j = q_j (dq_j - sum_l q_l dq_l), the frozen experts' term having dq = 0; then by b, a,
 * tau and s, which takes its place in ds. */
static void back_scores(float *grad, const struct norga *g, struct norga_ws *ws)
{
    int experts = g->cfg.experts;
    float a = g->theta[0], tau = g->theta[1];
    double by_a = 0.0, by_tau = 0.0, by_b[NORGA_EXPERTS_MAX] = {0};
    for (int i = 0; i < ws->n; i++) {
        size_t at = (size_t)i * (size_t)experts;
        const float *q = ws->gate + at, *s = ws->s + at;
        float *ds = ws->ds + at, mean = 0.0f;
        for (int j = 0; j < experts; j++)
            mean += q[j] * ds[j];
        for (int j = 0; j < experts; j++) {
            struct norga_score d = norga_score(s[j], a, tau, g->cfg.sigma);
            float dt = q[j] * (ds[j] - mean);
            by_b[j] += (double)dt;
            by_a += (double)(dt * d.by_a);
            by_tau += (double)(dt * d.by_tau);
            ds[j] = dt * d.by_s;
        }
    }

    const float *w = g->theta + SHAPE;
    float *dw = grad + SHAPE, *db = dw + (size_t)experts * (size_t)g->cfg.in;
    linear_backward(dw, db, NULL, ws->ds, ws->x, w, ws->n, g->cfg.in, experts);
    for (int j = 0; j < experts; j++)
        db[j] = (float)by_b[j];
    grad[0] = (float)by_a;
    grad[1] = (float)by_tau;
}

void norga_backward(float *grad, const struct norga *g, struct norga_ws *ws,
                    const float *dy)
{
    assert(ws->n > 0);
    back_experts(grad, g, ws, dy);
    back_scores(grad, g, ws);
}

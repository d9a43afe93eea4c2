#include "policy/nucb.h"

#include "base/bytes.h"
#include "base/rng.h"
#include "nn/act.h"
#include "nn/blas.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { NUCB_ROWS = 64 /* of one pass through the network */ };

struct nucb_layer {
    size_t at; /* in theta */
    int in, out;
};

struct nucb {
    struct nucb_cfg cfg;
    struct nucb_layer layer[NUCB_DEPTH_MAX];
    size_t params;
    int64_t count; /* rewards learned from */
    struct rng rng;

    float *theta, *theta0;
    float *zinv;   /* (params) 1 / diagonal of Z */
    double *full;  /* (params, params) Z^-1, NUCB_FULL alone */
    float *record; /* (history, K + 2 V): u, reward, trust */
    float *base;   /* (V) b */

    /* scratch of a pass: NUCB_ROWS rows */
    float *act[NUCB_DEPTH_MAX + 1]; /* inputs of each layer, and the output */
    float *square, *spread;         /* (NUCB_ROWS, widest) */
    float *delta[2];                /* (NUCB_ROWS, widest) */
    float *grad, *before;           /* (params) */
    float *target, *weight;         /* (NUCB_ROWS, V) */
    double *g, *zg;                 /* (params), NUCB_FULL alone */
};

struct nucb_cfg nucb_cfg_default(int dim, int tasks)
{
    return (struct nucb_cfg){.dim = dim,
                             .tasks = tasks,
                             .width = 64,
                             .depth = 2,
                             .history = 512,
                             .steps = 20,
                             .batch = 32,
                             .lambda = 0.1,
                             .gamma = 0.02,
                             .eta = 0.1,
                             .cov = NUCB_DIAGONAL};
}

static int range(struct err *e, const char *what, const char *limits)
{
    return err_field(e, ERR_RANGE, what, "must be %s", limits);
}

int nucb_cfg_check(const struct nucb_cfg *c, struct err *e)
{
    if (c->dim < 1 || c->dim > NUCB_DIM_MAX) return range(e, "dim", "1 .. 256");
    if (c->tasks < 1 || c->tasks > NUCB_TASKS_MAX) return range(e, "tasks", "1 .. 16");
    if (c->width < 2 || c->width > NUCB_WIDTH_MAX || c->width % 2)
        return range(e, "width", "even, 2 .. 512");
    if (c->depth < 2 || c->depth > NUCB_DEPTH_MAX) return range(e, "depth", "2 .. 4");
    if (c->history < 1 || c->history > 1 << 20)
        return range(e, "history", "1 .. 1048576");
    if (c->steps < 0 || c->steps > 100000) return range(e, "steps", "0 .. 100000");
    if (c->batch < 1 || c->batch > NUCB_ROWS) return range(e, "batch", "1 .. 64");
    if (!(c->lambda > 0 && isfinite(c->lambda))) return range(e, "lambda", "above 0");
    if (!(c->gamma >= 0 && isfinite(c->gamma))) return range(e, "gamma", "not below 0");
    if (!(c->eta >= 0 && isfinite(c->eta))) return range(e, "eta", "not below 0");
    if (c->cov != NUCB_DIAGONAL && c->cov != NUCB_FULL)
        return range(e, "cov", "diagonal or full");
    if (c->cov == NUCB_FULL && nucb_params(c) > NUCB_FULL_MAX)
        return err_field(e, ERR_RANGE, "cov", "full takes at most %d parameters, not %zu",
                         NUCB_FULL_MAX, nucb_params(c));
    return 0;
}

static struct nucb_layer layer_of(const struct nucb_cfg *c, int l)
{
    size_t w = (size_t)c->width, first = w * (size_t)c->dim;
    return (struct nucb_layer){.at = l ? first + (size_t)(l - 1) * w * w : 0,
                               .in = l ? c->width : c->dim,
                               .out = l < c->depth - 1 ? c->width : c->tasks};
}

size_t nucb_params(const struct nucb_cfg *c)
{
    struct nucb_layer head = layer_of(c, c->depth - 1);
    return head.at + (size_t)head.in * (size_t)head.out;
}

/* ---- life ---- */

/* Layers of two equal blocks, and a head that subtracts them: f = b. */
static void first_weights(struct nucb *b, uint64_t seed)
{
    struct rng r;
    rng_init(&r, seed, 0x6e756362);
    int w = b->cfg.width, half = w / 2;
    double hidden = sqrt(4.0 / w), head = sqrt(2.0 / w);
    memset(b->theta0, 0, sizeof *b->theta0 * b->params);
    for (int l = 0; l < b->cfg.depth; l++) {
        struct nucb_layer a = b->layer[l];
        bool last = l == b->cfg.depth - 1;
        int rows = last ? a.out : half, columns = l ? half : a.in;
        float *theta = b->theta0 + a.at;
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < columns; j++) {
                float drawn = (float)((last ? head : hidden) * rng_normal(&r));
                theta[i * a.in + j] = drawn;
                int twin =
                    last ? i * a.in + half + j : (half + i) * a.in + (l ? half : 0) + j;
                theta[twin] = last ? -drawn : drawn;
            }
    }
    memcpy(b->theta, b->theta0, sizeof *b->theta * b->params);
}

static void know_nothing(struct nucb *b)
{
    float one = (float)(1.0 / b->cfg.lambda);
    for (size_t i = 0; i < b->params; i++)
        b->zinv[i] = one;
    if (!b->full) return;
    memset(b->full, 0, sizeof *b->full * b->params * b->params);
    for (size_t i = 0; i < b->params; i++)
        b->full[i * b->params + i] = 1.0 / b->cfg.lambda;
}

static size_t record_floats(const struct nucb_cfg *c)
{
    return (size_t)c->dim + 2 * (size_t)c->tasks;
}

static int widest(const struct nucb_cfg *c)
{
    int n = c->width > c->dim ? c->width : c->dim;
    return n > c->tasks ? n : c->tasks;
}

static bool nucb_allocate(struct nucb *b)
{
    const struct nucb_cfg *c = &b->cfg;
    size_t p = b->params, rows = NUCB_ROWS * (size_t)widest(c), v = (size_t)c->tasks;
    float **const floats[] = {&b->theta,    &b->theta0, &b->zinv,   &b->grad,
                              &b->before,   &b->square, &b->spread, &b->delta[0],
                              &b->delta[1], &b->target, &b->weight, &b->base,
                              &b->record};
    const size_t sizes[] = {p,
                            p,
                            p,
                            p,
                            p,
                            rows,
                            rows,
                            rows,
                            rows,
                            NUCB_ROWS * v,
                            NUCB_ROWS * v,
                            v,
                            (size_t)c->history * record_floats(c)};
    bool ok = true;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        ok = (*floats[i] = calloc(sizes[i], sizeof(float))) && ok;
    for (int l = 0; l <= c->depth; l++)
        ok = (b->act[l] = calloc(rows, sizeof(float))) && ok;
    if (c->cov != NUCB_FULL) return ok;
    ok = (b->full = calloc(p * p, sizeof(double))) && ok;
    ok = (b->g = calloc(p, sizeof(double))) && ok;
    return (b->zg = calloc(p, sizeof(double))) && ok;
}

struct nucb *nucb_new(const struct nucb_cfg *cfg, uint64_t seed, struct err *e)
{
    if (nucb_cfg_check(cfg, e)) return NULL;
    struct nucb *b = calloc(1, sizeof *b);
    if (b) {
        b->cfg = *cfg;
        b->params = nucb_params(cfg);
        for (int l = 0; l < cfg->depth; l++)
            b->layer[l] = layer_of(cfg, l);
    }
    if (!b || !nucb_allocate(b)) {
        nucb_free(b);
        err_set(e, ERR_MEMORY, "no memory for a reward network of width %d", cfg->width);
        return NULL;
    }
    first_weights(b, seed);
    know_nothing(b);
    rng_init(&b->rng, seed, 0x736764);
    return b;
}

void nucb_free(struct nucb *b)
{
    if (!b) return;
    for (int l = 0; l <= NUCB_DEPTH_MAX; l++)
        free(b->act[l]);
    free(b->theta), free(b->theta0), free(b->zinv), free(b->full);
    free(b->record), free(b->base), free(b->square), free(b->spread);
    free(b->delta[0]), free(b->delta[1]), free(b->grad), free(b->before);
    free(b->target), free(b->weight), free(b->g), free(b->zg);
    free(b);
}

/* ---- the network ---- */

static void direction(float *u, const float *x, int dim)
{
    double square = 0;
    for (int k = 0; k < dim; k++)
        square += (double)x[k] * (double)x[k];
    double by = square > 0 ? 1 / sqrt(square) : 0;
    for (int k = 0; k < dim; k++)
        u[k] = (float)((double)x[k] * by);
}

/* act[0] (n, K) holds the inputs; act[depth] (n, V) becomes sqrt(w) theta_L h, without b. */
static void nucb_forward(struct nucb *b, int n)
{
    int last = b->cfg.depth - 1;
    for (int l = 0; l <= last; l++) {
        struct nucb_layer a = b->layer[l];
        blas_gemm_nt(b->act[l + 1], b->act[l], b->theta + a.at, n, a.out, a.in, 0.0f);
        if (l < last) act_relu(b->act[l + 1], (size_t)n * (size_t)a.out);
    }
    float root = sqrtf((float)b->cfg.width);
    for (int i = 0; i < n * b->cfg.tasks; i++)
        b->act[last + 1][i] *= root;
}

/* What reaches the outputs of the layer below from n rows of `above`: through theta, where that layer
 * is above 0. */
static void nucb_pull_back(struct nucb *b, float *below, const float *above, int l, int n)
{
    struct nucb_layer a = b->layer[l];
    blas_gemm_nn(below, above, b->theta + a.at, n, a.in, a.out, 0.0f);
    for (int i = 0; i < n * a.in; i++)
        if (!(b->act[l][i] > 0)) below[i] = 0;
}

/* ---- Z, its diagonal or all of it ---- */

/* d (psi' f) / d (output of the head before the root), the same in every row */
static void from_psi(const struct nucb *b, float *delta, const float *psi, int n)
{
    int v = b->cfg.tasks;
    float root = sqrtf((float)b->cfg.width);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < v; j++)
            delta[i * v + j] = root * psi[j];
}

/* ---- width: the diagonal ---- */

static void squares(float *out, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = x[i] * x[i];
}

/* sums[i] += sum over the layer's parameters of g^2 / Z, with g[j, k] = delta_j act_k. */
static void add_layer(struct nucb *b, double *sums, const float *delta, int l, int n)
{
    struct nucb_layer a = b->layer[l];
    squares(b->square, b->act[l], (size_t)n * (size_t)a.in);
    blas_gemm_nt(b->spread, b->square, b->zinv + a.at, n, a.out, a.in, 0.0f);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < a.out; j++) {
            double d = (double)delta[i * a.out + j];
            sums[i] += d * d * (double)b->spread[i * a.out + j];
        }
}

static void widths_diagonal(struct nucb *b, double *sums, const float *psi, int n)
{
    float *delta = b->delta[0], *below = b->delta[1];
    from_psi(b, delta, psi, n);
    for (int l = b->cfg.depth - 1;; l--) {
        add_layer(b, sums, delta, l, n);
        if (l == 0) return;
        nucb_pull_back(b, below, delta, l, n);
        float *swap = delta;
        delta = below;
        below = swap;
    }
}

/* 1 / (Z + g^2 / w), for the first row of the last pass. */
static void grow_diagonal(struct nucb *b, const float *psi)
{
    float *delta = b->delta[0], *below = b->delta[1];
    float share = 1.0f / (float)b->cfg.width;
    from_psi(b, delta, psi, 1);
    for (int l = b->cfg.depth - 1;; l--) {
        struct nucb_layer a = b->layer[l];
        for (int j = 0; j < a.out; j++)
            for (int k = 0; k < a.in; k++) {
                float g = delta[j] * b->act[l][k],
                      *z = &b->zinv[a.at + (size_t)(j * a.in + k)];
                *z /= 1.0f + *z * g * g * share;
            }
        if (l == 0) return;
        nucb_pull_back(b, below, delta, l, 1);
        float *swap = delta;
        delta = below;
        below = swap;
    }
}

/* ---- width: all of Z ---- */

/* The gradient of psi' f in row i of the last pass, into g. */
static void gradient_row(struct nucb *b, const float *psi, int i)
{
    float *delta = b->delta[0], *below = b->delta[1];
    from_psi(b, delta, psi, NUCB_ROWS);
    for (int l = b->cfg.depth - 1;; l--) {
        struct nucb_layer a = b->layer[l];
        const float *in = b->act[l] + (size_t)i * (size_t)a.in;
        const float *d = delta + (size_t)i * (size_t)a.out;
        for (int j = 0; j < a.out; j++)
            for (int k = 0; k < a.in; k++)
                b->g[a.at + (size_t)(j * a.in + k)] = (double)d[j] * (double)in[k];
        if (l == 0) return;
        nucb_pull_back(b, below, delta, l, i + 1);
        float *swap = delta;
        delta = below;
        below = swap;
    }
}

/* zg = Z^-1 g; returns g' Z^-1 g. Z^-1 is symmetric, so its rows are summed. */
static double times_full(struct nucb *b)
{
    size_t p = b->params;
    memset(b->zg, 0, sizeof *b->zg * p);
    for (size_t i = 0; i < p; i++) {
        double g = b->g[i];
        if (g == 0) continue;
        const double *z = b->full + i * p;
        for (size_t j = 0; j < p; j++)
            b->zg[j] += g * z[j];
    }
    double s = 0;
    for (size_t i = 0; i < p; i++)
        s += b->g[i] * b->zg[i];
    return s;
}

static void widths_full(struct nucb *b, double *sums, const float *psi, int n)
{
    for (int i = 0; i < n; i++) {
        gradient_row(b, psi, i);
        sums[i] = times_full(b);
    }
}

/* Sherman and Morrison: (Z + g g' / w)^-1 */
static void grow_full(struct nucb *b, const float *psi)
{
    gradient_row(b, psi, 0);
    double w = b->cfg.width, below = w + times_full(b);
    size_t p = b->params;
    for (size_t i = 0; i < p; i++) {
        double by = b->zg[i] / below;
        if (by == 0) continue;
        double *z = b->full + i * p;
        for (size_t j = 0; j < p; j++)
            z[j] -= by * b->zg[j];
    }
}

/* ---- either ---- */

/* sums[i] = g\' Z^-1 g of row i of the last pass, for n rows. */
static void nucb_cov_widths(struct nucb *b, double *sums, const float *psi, int n)
{
    memset(sums, 0, sizeof *sums * (size_t)n);
    if (b->full)
        widths_full(b, sums, psi, n);
    else
        widths_diagonal(b, sums, psi, n);
}

/* Z += g g\' / w, g of the first row of the last pass. */
static void nucb_cov_grow(struct nucb *b, const float *psi)
{
    if (b->full)
        grow_full(b, psi);
    else
        grow_diagonal(b, psi);
}

static const float *from_loss(const struct nucb *b, float *delta, int n)
{
    int outs = n * b->cfg.tasks;
    float root = sqrtf((float)b->cfg.width) / (float)n;
    const float *y = b->act[b->cfg.depth];
    for (int i = 0; i < outs; i++)
        delta[i] = root * b->weight[i] * (y[i] - b->target[i]);
    return delta;
}

/* ---- scores ---- */

static void score_some(struct nucb_score *out, struct nucb *b, const float *const *x,
                       int n, const float *psi)
{
    int dim = b->cfg.dim, v = b->cfg.tasks;
    for (int i = 0; i < n; i++)
        direction(b->act[0] + (size_t)i * (size_t)dim, x[i], dim);
    nucb_forward(b, n);

    double sums[NUCB_ROWS];
    nucb_cov_widths(b, sums, psi, n);
    const float *y = b->act[b->cfg.depth];
    for (int i = 0; i < n; i++) {
        double mean = 0;
        for (int j = 0; j < v; j++)
            mean += (double)psi[j] * (double)(b->base[j] + y[i * v + j]);
        double known = fmax(sums[i], 0) / b->cfg.width;
        out[i] = (struct nucb_score){mean, b->cfg.gamma * sqrt(known)};
    }
}

void nucb_score(struct nucb_score *out, struct nucb *b, const float *const *x, int n,
                const float *psi)
{
    assert(n >= 1);
    for (int i = 0; i < n; i += NUCB_ROWS)
        score_some(out + i, b, x + i, n - i < NUCB_ROWS ? n - i : NUCB_ROWS, psi);
}

void nucb_predict(float *out, struct nucb *b, const float *x)
{
    direction(b->act[0], x, b->cfg.dim);
    nucb_forward(b, 1);
    for (int j = 0; j < b->cfg.tasks; j++)
        out[j] = b->base[j] + b->act[b->cfg.depth][j];
}

/* ---- learning ---- */

static int remembered(const struct nucb *b)
{
    return b->count < b->cfg.history ? (int)b->count : b->cfg.history;
}

static float *record_at(const struct nucb *b, int64_t i)
{
    return b->record + (size_t)(i % b->cfg.history) * record_floats(&b->cfg);
}

/* b: the mean reward of each task over the history, by trust. */
static void update_base(struct nucb *b)
{
    int n = remembered(b), v = b->cfg.tasks;
    for (int j = 0; j < v; j++) {
        double sum = 0, trust = 0;
        for (int i = 0; i < n; i++) {
            const float *r = record_at(b, i) + b->cfg.dim;
            sum += (double)r[j] * (double)r[v + j];
            trust += (double)r[v + j];
        }
        b->base[j] = trust > 0 ? (float)(sum / trust) : 0.0f;
    }
}

/* A batch of the history into act[0], target and weight. */
static void nucb_draw(struct nucb *b, int n)
{
    int dim = b->cfg.dim, v = b->cfg.tasks, known = remembered(b);
    for (int i = 0; i < n; i++) {
        const float *r = record_at(b, rng_below(&b->rng, (uint32_t)known));
        memcpy(b->act[0] + (size_t)i * (size_t)dim, r, sizeof *r * (size_t)dim);
        for (int j = 0; j < v; j++) {
            b->target[i * v + j] = r[dim + j] - b->base[j];
            b->weight[i * v + j] = r[dim + v + j];
        }
    }
}

/* grad = gradient of the batch's mean loss, without lambda. */
static void gradient(struct nucb *b, int n)
{
    nucb_forward(b, n);
    const float *delta = from_loss(b, b->delta[0], n);
    float *below = b->delta[1], *other = b->delta[0];
    for (int l = b->cfg.depth - 1;; l--) {
        struct nucb_layer a = b->layer[l];
        blas_gemm_tn(b->grad + a.at, delta, b->act[l], a.out, a.in, n, 0.0f);
        if (l == 0) return;
        nucb_pull_back(b, below, delta, l, n);
        delta = below;
        below = other;
        other = b->delta[below == b->delta[0]];
    }
}

static int descend(struct nucb *b)
{
    float step = (float)(b->cfg.eta / b->cfg.width);
    float home = (float)(b->cfg.eta * b->cfg.lambda / remembered(b));
    memcpy(b->before, b->theta, sizeof *b->theta * b->params);
    for (int i = 0; i < b->cfg.steps; i++) {
        nucb_draw(b, b->cfg.batch);
        gradient(b, b->cfg.batch);
        for (size_t p = 0; p < b->params; p++)
            b->theta[p] -= step * b->grad[p] + home * (b->theta[p] - b->theta0[p]);
    }
    for (size_t p = 0; p < b->params; p++) {
        if (isfinite(b->theta[p])) continue;
        memcpy(b->theta, b->before, sizeof *b->theta * b->params);
        return ERR_NUMERIC;
    }
    return 0;
}

static bool nucb_all_finite(const float *x, int n)
{
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

/* Adds a record; false: no task had a sample. */
static bool remember(struct nucb *b, const float *x, const float *reward,
                     const float *trust)
{
    int v = b->cfg.tasks;
    bool any = !trust;
    for (int j = 0; j < v && trust; j++)
        any = any || trust[j] > 0;
    if (!any) return false;
    float *r = record_at(b, b->count++);
    direction(r, x, b->cfg.dim);
    for (int j = 0; j < v; j++) {
        float weight = trust ? trust[j] : 1.0f;
        r[b->cfg.dim + j] = weight > 0 ? reward[j] : 0.0f;
        r[b->cfg.dim + v + j] = weight;
    }
    return true;
}

int nucb_learn(struct nucb *b, const float *x, const float *psi, const float *reward,
               const float *trust)
{
    int v = b->cfg.tasks;
    for (int j = 0; j < v; j++)
        if ((!trust || trust[j] > 0) && !isfinite(reward[j])) return ERR_NUMERIC;
    if (!nucb_all_finite(x, b->cfg.dim) || !nucb_all_finite(psi, v) ||
        (trust && !nucb_all_finite(trust, v)))
        return ERR_NUMERIC;

    direction(b->act[0], x, b->cfg.dim);
    nucb_forward(b, 1);
    nucb_cov_grow(b, psi);
    if (!remember(b, x, reward, trust)) return 0;
    update_base(b);
    return descend(b);
}

static void forget_full(struct nucb *b, size_t p)
{
    for (size_t i = 0; i < b->params; i++)
        b->full[p * b->params + i] = b->full[i * b->params + p] = 0;
    b->full[p * b->params + p] = 1.0 / b->cfg.lambda;
}

void nucb_forget(struct nucb *b, int task)
{
    int v = b->cfg.tasks, n = remembered(b);
    assert(task >= 0 && task < v);
    for (int i = 0; i < n; i++) {
        float *r = record_at(b, i) + b->cfg.dim;
        r[task] = r[v + task] = 0;
    }
    b->base[task] = 0;
    struct nucb_layer head = b->layer[b->cfg.depth - 1];
    size_t first = head.at + (size_t)task * (size_t)head.in;
    for (size_t p = first; p < first + (size_t)head.in; p++) {
        b->theta[p] = b->theta0[p];
        b->zinv[p] = (float)(1.0 / b->cfg.lambda);
        if (b->full) forget_full(b, p);
    }
}

int64_t nucb_count(const struct nucb *b)
{
    return b->count;
}

float *nucb_theta(struct nucb *b)
{
    return b->theta;
}

/* ---- state: count, rng (5 u64); theta, theta_0, Z^-1, b, history as they lie in memory ---- */

enum { HEAD = 5 * 8 };

size_t nucb_state_size(const struct nucb_cfg *c)
{
    size_t p = nucb_params(c), v = (size_t)c->tasks;
    size_t floats = 3 * p + v + (size_t)c->history * record_floats(c);
    size_t full = c->cov == NUCB_FULL ? p * p * sizeof(double) : 0;
    return HEAD + floats * sizeof(float) + full;
}

/* The parts of a state behind its head, in their order. */
struct part {
    void *at;
    size_t bytes;
};

static int parts(struct part out[6], const struct nucb *b)
{
    size_t p = b->params * sizeof(float);
    size_t history = (size_t)b->cfg.history * record_floats(&b->cfg) * sizeof(float);
    out[0] = (struct part){b->theta, p};
    out[1] = (struct part){b->theta0, p};
    out[2] = (struct part){b->zinv, p};
    out[3] = (struct part){b->base, (size_t)b->cfg.tasks * sizeof(float)};
    out[4] = (struct part){b->record, history};
    if (!b->full) return 5;
    out[5] = (struct part){b->full, b->params * b->params * sizeof(double)};
    return 6;
}

void nucb_state_get(const struct nucb *b, void *out)
{
    unsigned char *p = out;
    bytes_put_u64(p, (uint64_t)b->count);
    for (int i = 0; i < 4; i++)
        bytes_put_u64(p + 8 + 8 * i, b->rng.s[i]);
    p += HEAD;
    struct part part[6];
    int n = parts(part, b);
    for (int i = 0; i < n; p += part[i++].bytes)
        memcpy(p, part[i].at, part[i].bytes);
}

/* Are all floats of a state numbers? The full Z^-1 is checked as doubles. */
static bool nucb_numbers(const struct nucb *b, const unsigned char *p)
{
    struct part part[6];
    int n = parts(part, b);
    for (int i = 0; i < n; p += part[i++].bytes) {
        bool wide = i == 5;
        size_t each = wide ? sizeof(double) : sizeof(float);
        for (size_t at = 0; at < part[i].bytes; at += each) {
            double d = 0;
            float f = 0;
            memcpy(wide ? (void *)&d : (void *)&f, p + at, each);
            if (!isfinite(d) || !isfinite(f)) return false;
        }
    }
    return true;
}

int nucb_state_put(struct nucb *b, const void *in, struct err *e)
{
    const unsigned char *p = in;
    uint64_t count = bytes_get_u64(p);
    if (count > INT64_MAX || !nucb_numbers(b, p + HEAD))
        return err_set(e, ERR_CORRUPT, "not the state of a reward network");
    b->count = (int64_t)count;
    for (int i = 0; i < 4; i++)
        b->rng.s[i] = bytes_get_u64(p + 8 + 8 * i);
    p += HEAD;
    struct part part[6];
    int n = parts(part, b);
    for (int i = 0; i < n; p += part[i++].bytes)
        memcpy(part[i].at, p, part[i].bytes);
    return 0;
}

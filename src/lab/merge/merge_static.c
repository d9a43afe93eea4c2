#include "lab/merge/merge_static.h"

#include "policy/bank.h"
#include "nn/mlp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double ALPHA = 0.9;

/* The expert of one vertex, as a net of its own in out. */
static int take_expert(struct policy *out, const struct policy *joined, int k)
{
    float x[MIX_EXPERTS_MAX] = {0};
    x[k] = 1;
    return join_merge(out, joined, x);
}

static int average(struct policy *out, const struct policy *joined)
{
    float x[MIX_EXPERTS_MAX] = {0};
    for (int k = 0; k < joined->cfg.experts; k++)
        x[k] = 1.0f / (float)joined->cfg.experts;
    return join_merge(out, joined, x);
}

static int no_memory(struct err *e)
{
    return err_set(e, ERR_MEMORY, "no memory to merge experts");
}

/* ---- Fisher ---- */

struct fisher {
    struct mix_ws *ws;
    double *information, *top; /* (parameters of one expert): F_k, sums of F_k theta_k */
    double *bottom;            /* sums of F_k */
    float *grad;
};

/* d ln pi(a | s) / d logits = one-hot(a) - pi, a drawn by u */
static void log_slope(float *dy, const float *logits, uint32_t mask, int actions,
                      double u)
{
    float prob[POLICY_ACTIONS];
    policy_softmax(prob, logits, mask, actions);
    int drawn = 0;
    double sum = 0;
    for (int a = 0; a < actions; a++) {
        if (!(mask >> a & 1)) continue;
        drawn = a;
        sum += (double)prob[a];
        if (u < sum) break;
    }
    for (int a = 0; a < actions; a++)
        dy[a] = (a == drawn ? 1.0f : 0.0f) - prob[a];
}

static void inform(struct fisher *f, const struct mix *net, const struct merge_states *s,
                   struct rng *r)
{
    float y[POLICY_ACTIONS], dy[POLICY_ACTIONS];
    memset(f->information, 0, sizeof *f->information * net->n);
    for (int i = 0; i < s->n; i++) {
        const float *obs = s->obs + (size_t)i * (size_t)net->cfg.in;
        mix_forward(y, NULL, NULL, net, f->ws, obs, NULL, 1);
        log_slope(dy, y, s->mask[i], net->cfg.out, rng_uniform(r));
        mix_backward(f->grad, NULL, net, f->ws, dy, 0);
        for (size_t p = 0; p < net->n; p++)
            f->information[p] += (double)f->grad[p] * (double)f->grad[p] / s->n;
    }
}

int merge_static_fisher(struct policy *out, const struct policy *joined,
                        const struct merge_states *states, uint64_t seed, struct err *e)
{
    size_t n = out->actor->n;
    struct fisher f = {mix_ws_new(&out->actor->cfg, 1, e), calloc(n, sizeof(double)),
                       calloc(n, sizeof(double)), calloc(n, sizeof(double)),
                       calloc(n, sizeof(float))};
    int rc = 0;
    if (!f.ws || !f.information || !f.top || !f.bottom || !f.grad) rc = no_memory(e);
    struct rng r;
    rng_init(&r, seed, 0x666973686572);
    for (int k = 0; k < joined->cfg.experts && !rc; k++) {
        rc = take_expert(out, joined, k);
        if (rc) break;
        inform(&f, out->actor, &states[k], &r);
        for (size_t p = 0; p < n; p++) {
            f.top[p] += f.information[p] * (double)out->actor->theta[p];
            f.bottom[p] += f.information[p];
        }
    }
    if (!rc) rc = average(out, joined);
    for (size_t p = 0; p < n && !rc; p++)
        if (f.bottom[p] > 0) out->actor->theta[p] = (float)(f.top[p] / f.bottom[p]);
    mix_ws_free(f.ws);
    free(f.information), free(f.top), free(f.bottom), free(f.grad);
    return rc ? err_set(e, rc, "experts could not be merged by Fisher information") : 0;
}

/* ---- RegMean ---- */

/* The normal equations of one layer: a (m, m), b (m, out) with m = in + 1, bias last. */
struct normal {
    int m, out;
    double *a, *b;
};

/* Solves a w = b in place (Cholesky); rows and columns whose diagonal is 0 are left out.
 * ERR_NUMERIC when a is not positive definite. */
static int solve(struct normal *n)
{
    int m = n->m;
    double *a = n->a, *b = n->b;
    for (int i = 0; i < m; i++) {
        if (a[i * m + i] == 0) continue;
        for (int j = 0; j <= i; j++) {
            double s = a[i * m + j];
            for (int k = 0; k < j; k++)
                s -= a[i * m + k] * a[j * m + k];
            if (i == j && !(s > 0)) return ERR_NUMERIC;
            if (i == j)
                a[i * m + i] = sqrt(s);
            else
                a[i * m + j] = a[j * m + j] != 0 ? s / a[j * m + j] : 0;
        }
    }
    for (int c = 0; c < n->out; c++) {
        for (int i = 0; i < m; i++) {
            if (a[i * m + i] == 0) continue;
            for (int k = 0; k < i; k++)
                b[i * n->out + c] -= a[i * m + k] * b[k * n->out + c];
            b[i * n->out + c] /= a[i * m + i];
        }
        for (int i = m - 1; i >= 0; i--) {
            if (a[i * m + i] == 0) continue;
            for (int k = i + 1; k < m; k++)
                b[i * n->out + c] -= a[k * m + i] * b[k * n->out + c];
            b[i * n->out + c] /= a[i * m + i];
        }
    }
    return 0;
}

/* One expert's inputs of one layer: rows of x, and 1 behind each. */
static void gram(double *g, const float *x, int rows, int in)
{
    int m = in + 1;
    memset(g, 0, sizeof *g * (size_t)m * (size_t)m);
    for (int r = 0; r < rows; r++, x += in) {
        for (int i = 0; i < m; i++) {
            /* inputs_of gave it: NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
            double xi = i < in ? (double)x[i] : 1;
            if (xi == 0) continue;
            for (int j = 0; j <= i; j++)
                g[i * m + j] += xi * (j < in ? (double)x[j] : 1);
        }
    }
    for (int i = 0; i < m; i++)
        for (int j = 0; j < i; j++)
            g[j * m + i] = g[i * m + j] *= ALPHA;
}

/* a += g, b += g W' */
static void add_normal(struct normal *n, const double *g, const float *w,
                       const float *bias)
{
    int m = n->m, in = m - 1;
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++) {
            double gij = g[i * m + j];
            if (gij == 0) continue;
            n->a[i * m + j] += gij;
            for (int c = 0; c < n->out; c++)
                n->b[i * n->out + c] +=
                    gij * (j < in ? (double)w[c * in + j] : (double)bias[c]);
        }
    }
}

/* One layer of `out` from all experts; h (rows, in): its inputs when each expert plays. */
static int merge_layer(struct policy *out, const struct policy *joined, int l,
                       float *const *h, const int *rows, struct err *e)
{
    struct mix_cfg *c = &out->actor->cfg;
    struct mlp_cfg shape = {c->in, c->hidden, c->layers, c->out};
    struct mlp_layer layer = mlp_layer(&shape, l);
    size_t m = (size_t)layer.in + 1;
    struct normal n = {(int)m, layer.out, calloc(m * m, sizeof(double)),
                       calloc(m * (size_t)layer.out, sizeof(double))};
    double *g = calloc(m * m, sizeof *g);
    int rc = n.a && n.b && g ? 0 : no_memory(e);
    for (int k = 0; k < joined->cfg.experts && !rc; k++) {
        const float *theta = joined->actor->theta + mix_expert(&joined->actor->cfg, k).at;
        gram(g, h[k], rows[k], layer.in);
        add_normal(&n, g, theta + layer.w, theta + layer.b);
    }
    if (!rc) rc = solve(&n);
    float *theta = out->actor->theta;
    for (int i = 0; i < n.m && !rc; i++) {
        if (n.a[i * n.m + i] == 0) continue; /* never seen: stays the average */
        for (int o = 0; o < n.out; o++) {
            size_t at =
                i < layer.in ? layer.w + (size_t)(o * layer.in + i) : layer.b + (size_t)o;
            theta[at] = (float)n.b[i * n.out + o];
        }
    }
    free(n.a), free(n.b), free(g);
    return rc;
}

/* The inputs of every layer when an expert plays: in[l] (n, fan_in of l), owned. */
static int inputs_of(float *in[MIX_LAYERS_MAX + 1], struct policy *scratch,
                     const struct policy *joined, int k, const struct merge_states *s,
                     struct err *e)
{
    const struct mix_cfg *c = &scratch->actor->cfg;
    int rc = take_expert(scratch, joined, k);
    struct mix_ws *ws = rc ? NULL : mix_ws_new(c, s->n, e);
    float *y = calloc((size_t)s->n * (size_t)c->out, sizeof *y);
    for (int l = 0; l <= c->layers && !rc; l++) {
        size_t width = (size_t)(l ? c->hidden : c->in);
        in[l] = calloc((size_t)s->n * width, sizeof **in);
        if (!ws || !y || !in[l]) rc = no_memory(e);
    }
    if (!rc) mix_forward(y, NULL, NULL, scratch->actor, ws, s->obs, NULL, s->n);
    for (int l = 0; l <= c->layers && !rc; l++) {
        int rows = s->n;
        const float *from = l ? mix_hidden(ws, 0, l - 1, &rows) : s->obs;
        memcpy(in[l], from,
               sizeof *from * (size_t)s->n * (size_t)(l ? c->hidden : c->in));
    }
    free(y);
    mix_ws_free(ws);
    return rc;
}

int merge_static_regmean(struct policy *out, const struct policy *joined,
                         const struct merge_states *states, struct err *e)
{
    int experts = joined->cfg.experts, layers = joined->cfg.layers, rc = 0;
    float *in[MIX_EXPERTS_MAX][MIX_LAYERS_MAX + 1] = {{0}}, *of_layer[MIX_EXPERTS_MAX];
    int rows[MIX_EXPERTS_MAX];
    for (int k = 0; k < experts && !rc; k++) {
        rows[k] = states[k].n;
        rc = inputs_of(in[k], out, joined, k, &states[k], e);
    }
    if (!rc) rc = average(out, joined);
    for (int l = 0; l <= layers && !rc; l++) {
        for (int k = 0; k < experts; k++)
            of_layer[k] = in[k][l];
        rc = merge_layer(out, joined, l, of_layer, rows, e);
    }
    for (int k = 0; k < experts; k++)
        for (int l = 0; l <= layers; l++)
            free(in[k][l]);
    /* all are freed: NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
    return rc ? err_set(e, rc, "experts could not be merged by RegMean") : 0;
}

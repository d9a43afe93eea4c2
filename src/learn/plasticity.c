#include "learn/plasticity.h"

#include "nn/mlp.h"
#include "nn/svd.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const double TAUS[PLASTICITY_TAUS] = {0.0, 0.025, 0.1, 0.5};
static const double KEPT = 0.99;    /* of approx and abs_approx */
static const double FEATURE = 0.01; /* Lyle et al.'s epsilon */

struct plasticity_ws {
    struct policy_cfg cfg;
    int max_rows;
    struct mix_ws *actor, *critic;
    struct svd *svd;
    float *y, *gate;          /* (max_rows, outputs | experts) */
    double *weight, *scale;   /* (max_rows): of the rows that reached an expert */
    double *mean_abs, *sigma; /* (units) */
    int *chosen;              /* (max_rows) */
    float *floats;            /* owned: y and gate */
    double *doubles;          /* owned: weight .. sigma */
};

double plasticity_tau(int i)
{
    assert(i >= 0 && i < PLASTICITY_TAUS);
    return TAUS[i];
}

static size_t most(int a, int b)
{
    return (size_t)(a > b ? a : b);
}

struct plasticity_ws *plasticity_ws_new(const struct policy_cfg *cfg, int max_rows,
                                        struct err *e)
{
    assert(max_rows > 0);
    if (policy_cfg_check(cfg, e)) return NULL;
    struct plasticity_ws *ws = calloc(1, sizeof *ws);
    if (!ws) {
        err_set(e, ERR_MEMORY, "no memory for the diagnostics of a policy");
        return NULL;
    }

    struct mix_cfg actor = policy_actor_cfg(cfg), critic = policy_critic_cfg(cfg);
    size_t rows = (size_t)max_rows, units = most(actor.hidden, critic.hidden);
    size_t outs = most(actor.out, critic.out);
    size_t experts = most(actor.experts, critic.experts);
    ws->cfg = *cfg;
    ws->max_rows = max_rows;
    ws->floats = calloc(rows * (outs + experts), sizeof *ws->floats);
    ws->doubles = calloc(2 * rows + 2 * units, sizeof *ws->doubles);
    ws->chosen = calloc(rows, sizeof *ws->chosen);
    if (!ws->floats || !ws->doubles || !ws->chosen) {
        err_set(e, ERR_MEMORY, "no memory for the diagnostics of %d rows", max_rows);
        goto fail;
    }
    ws->y = ws->floats;
    ws->gate = ws->floats + rows * outs;
    ws->weight = ws->doubles;
    ws->scale = ws->weight + rows;
    ws->mean_abs = ws->scale + rows;
    ws->sigma = ws->mean_abs + units;

    ws->actor = mix_ws_new(&actor, max_rows, e);
    if (!ws->actor) goto fail;
    ws->critic = mix_ws_new(&critic, max_rows, e);
    if (!ws->critic) goto fail;
    ws->svd = svd_new(max_rows, (int)units, e);
    if (!ws->svd) goto fail;
    return ws;
fail:
    plasticity_ws_free(ws);
    return NULL;
}

void plasticity_ws_free(struct plasticity_ws *ws)
{
    if (!ws) return;
    svd_free(ws->svd);
    mix_ws_free(ws->critic);
    mix_ws_free(ws->actor);
    free(ws->chosen);
    free(ws->doubles);
    free(ws->floats);
    free(ws);
}

void plasticity_dormant(double dormant[PLASTICITY_TAUS], const double *mean_abs,
                        int units)
{
    assert(units > 0);
    double sum = 0.0;
    for (int i = 0; i < units; i++)
        sum += mean_abs[i];

    /* s_i <= tau without the division, so that a layer of zeros is dormant as a whole */
    for (int t = 0; t < PLASTICITY_TAUS; t++) {
        int count = 0;
        for (int i = 0; i < units; i++)
            count += mean_abs[i] * units <= TAUS[t] * sum;
        dormant[t] = (double)count / units;
    }
}

/* least r with a sum over the first r of sigma^power >= KEPT of the whole */
static double least_rank(const double *sigma, int n, int power)
{
    double whole = 0.0, sum = 0.0;
    for (int k = 0; k < n; k++)
        whole += power == 2 ? sigma[k] * sigma[k] : sigma[k];
    if (whole <= 0.0) return 0.0;

    for (int k = 0; k < n; k++) {
        sum += power == 2 ? sigma[k] * sigma[k] : sigma[k];
        if (sum >= KEPT * whole) return k + 1;
    }
    return n;
}

static double effective_rank(const double *sigma, int n)
{
    double whole = 0.0, entropy = 0.0;
    for (int k = 0; k < n; k++)
        whole += sigma[k];
    if (whole <= 0.0) return 0.0;

    for (int k = 0; k < n; k++) {
        double p = sigma[k] / whole;
        if (p > 0.0) entropy -= p * log(p);
    }
    return exp(entropy);
}

void plasticity_ranks(struct plasticity_layer *out, const double *sigma, int n,
                      int larger_side, double rows)
{
    assert(n > 0 && larger_side >= n && rows > 0.0);
    double tolerance = larger_side * (double)FLT_EPSILON * sigma[0];
    double feature = FEATURE * sqrt(rows);
    int rank = 0, features = 0;
    for (int k = 0; k < n; k++) {
        rank += sigma[k] > tolerance;
        features += sigma[k] > feature;
    }
    out->rank = rank;
    out->feature = features;
    out->effective = effective_rank(sigma, n);
    out->approx = least_rank(sigma, n, 2);
    out->abs_approx = least_rank(sigma, n, 1);
}

struct plasticity_weight plasticity_weight(const float *w, size_t n)
{
    if (n == 0) return (struct plasticity_weight){NAN, NAN};
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += fabs((double)w[i]);
        squares += (double)w[i] * (double)w[i];
    }
    return (struct plasticity_weight){sum / (double)n, sqrt(squares / (double)n)};
}

static struct plasticity_layer layer_unknown(void)
{
    struct plasticity_layer l = {.rank = NAN,
                                 .effective = NAN,
                                 .approx = NAN,
                                 .abs_approx = NAN,
                                 .feature = NAN,
                                 .activation = NAN};
    for (int t = 0; t < PLASTICITY_TAUS; t++)
        l.dormant[t] = NAN;
    return l;
}

/* sum += x / n */
static void layer_add(struct plasticity_layer *sum, const struct plasticity_layer *x,
                      int n)
{
    for (int t = 0; t < PLASTICITY_TAUS; t++)
        sum->dormant[t] += x->dormant[t] / n;
    sum->rank += x->rank / n;
    sum->effective += x->effective / n;
    sum->approx += x->approx / n;
    sum->abs_approx += x->abs_approx / n;
    sum->feature += x->feature / n;
    sum->activation += x->activation / n;
}

/* h (n, units) with the row weights in ws->weight, which sum to `rows` */
static int measure_layer(struct plasticity_layer *out, struct plasticity_ws *ws,
                         const float *h, int n, int units, double rows, struct err *e)
{
    memset(ws->mean_abs, 0, sizeof *ws->mean_abs * (size_t)units);
    for (int i = 0; i < n; i++) {
        const float *row = h + (size_t)i * (size_t)units;
        ws->scale[i] = sqrt(ws->weight[i]);
        for (int j = 0; j < units; j++)
            ws->mean_abs[j] += ws->weight[i] / rows * fabs((double)row[j]);
    }
    int rc = svd_values(ws->sigma, ws->svd, h, ws->scale, n, units, e);
    if (rc) return rc;

    plasticity_dormant(out->dormant, ws->mean_abs, units);
    plasticity_ranks(out, ws->sigma, n < units ? n : units, n > units ? n : units, rows);
    out->activation = 0.0;
    for (int j = 0; j < units; j++)
        out->activation += ws->mean_abs[j] / units;
    return 0;
}

/* Which rows of the batch reached expert k, in the order of mix_hidden: their weights into
 * ws->weight. Returns the sum. */
static double gather_weights(struct plasticity_ws *ws, const struct mix_cfg *c, int k,
                             const struct plasticity_batch *b, int rows)
{
    bool all = rows == b->n; /* dense and single, or a top-1 expert that got every row */
    int n = 0;
    double sum = 0.0;
    for (int i = 0; i < b->n; i++) {
        if (!all && ws->chosen[i] != k) continue;
        ws->weight[n] = b->weight ? b->weight[i] : 1.0;
        sum += ws->weight[n++];
    }
    assert(n == rows && k < c->experts);
    return sum;
}

static int measure_expert(struct plasticity_expert *out, struct plasticity_ws *ws,
                          const struct mix_cfg *c, const struct mix_ws *mws, int k,
                          const struct plasticity_batch *b, const char *who,
                          struct err *e)
{
    int n = 0;
    mix_hidden(mws, k, 0, &n);
    out->rows = n ? gather_weights(ws, c, k, b, n) : 0.0;
    for (int l = 0; l < c->layers; l++) {
        out->layer[l] = layer_unknown();
        if (out->rows <= 0.0) continue;
        struct err why = {0};
        const float *h = mix_hidden(mws, k, l, &n);
        int rc = measure_layer(&out->layer[l], ws, h, n, c->hidden, out->rows, &why);
        if (rc)
            return err_set(e, rc, "%s, expert %d, layer %d: %s", who, k, l, why.detail);
    }
    return 0;
}

static int measure_routing(struct plasticity_net *out, const struct plasticity_ws *ws,
                           const struct plasticity_batch *b, const char *who,
                           struct err *e)
{
    for (int i = 0; i < b->n; i++) {
        double w = (b->weight ? b->weight[i] : 1.0) / out->rows;
        out->expert[ws->chosen[i]].share += w;
        for (int k = 0; k < out->experts; k++)
            out->expert[k].gate +=
                w * (double)ws->gate[(size_t)i * (size_t)out->experts + (size_t)k];
    }
    for (int k = 0; k < out->experts; k++)
        if (!isfinite(out->expert[k].gate))
            return err_set(e, ERR_NUMERIC, "%s, router: a gate is not finite", who);
    return 0;
}

static void measure_weights(struct plasticity_net *out, const struct mix *m)
{
    const struct mix_cfg *c = &m->cfg;
    struct mlp_cfg ec = {c->in, c->hidden, c->layers, c->out};
    for (int l = 0; l <= c->layers; l++) {
        struct mlp_layer v = mlp_layer(&ec, l);
        double abs = 0.0, squares = 0.0;
        for (int k = 0; k < c->experts; k++) {
            struct plasticity_weight w = plasticity_weight(
                m->theta + mix_expert(c, k).at + v.w, (size_t)v.in * (size_t)v.out);
            out->expert[k].weight[l] = w;
            abs += w.abs / c->experts;
            squares += w.rms * w.rms / c->experts;
        }
        out->mean_weight[l] = (struct plasticity_weight){abs, sqrt(squares)};
    }
    size_t router = mix_router(c).n;
    out->router = plasticity_weight(m->theta + mix_router(c).at,
                                    router ? router - (size_t)c->experts : 0);
}

static void average(struct plasticity_net *out)
{
    for (int k = 0; k < out->experts; k++)
        out->reached += out->expert[k].rows > 0.0;
    for (int l = 0; l < out->layers; l++) {
        for (int k = 0; k < out->experts; k++)
            if (out->expert[k].rows > 0.0)
                layer_add(&out->mean_layer[l], &out->expert[k].layer[l], out->reached);
        layer_add(&out->mean, &out->mean_layer[l], out->layers);
    }
}

static int measure_net(struct plasticity_net *out, struct plasticity_ws *ws,
                       const struct mix *m, struct mix_ws *mws,
                       const struct plasticity_batch *b, const float *z, const char *who,
                       struct err *e)
{
    const struct mix_cfg *c = &m->cfg;
    memset(out, 0, sizeof *out);
    out->layers = c->layers;
    out->experts = c->experts;
    out->hidden = c->hidden;
    for (int i = 0; i < b->n; i++) {
        assert(!b->weight || b->weight[i] >= 0.0);
        out->rows += b->weight ? b->weight[i] : 1.0;
    }
    assert(out->rows > 0.0);

    mix_forward(ws->y, ws->chosen, ws->gate, m, mws, b->obs, z, b->n);
    for (int k = 0; k < c->experts; k++) {
        int rc = measure_expert(&out->expert[k], ws, c, mws, k, b, who, e);
        if (rc) return rc;
    }
    int rc = measure_routing(out, ws, b, who, e);
    if (rc) return rc;

    measure_weights(out, m);
    average(out);
    return 0;
}

int plasticity_measure(struct plasticity *out, struct plasticity_ws *ws,
                       const struct policy *p, const struct plasticity_batch *b,
                       struct err *e)
{
    assert(b->n > 0 && b->n <= ws->max_rows);
    assert(memcmp(&p->cfg, &ws->cfg, sizeof p->cfg) == 0);
    int rc = measure_net(&out->actor, ws, p->actor, ws->actor, b, b->z_actor, "actor", e);
    if (rc) return rc;
    return measure_net(&out->critic, ws, p->critic, ws->critic, b, b->z_critic, "critic",
                       e);
}

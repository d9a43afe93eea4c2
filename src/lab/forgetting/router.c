#include "lab/forgetting/router.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void router_init(struct router *g, const struct router_cfg *cfg, double *theta)
{
    assert(cfg->experts >= 1 && cfg->experts <= RECALL_EXPERTS && cfg->d >= 1);
    memset(g, 0, sizeof *g);
    memset(theta, 0, sizeof *theta * (size_t)cfg->experts * (size_t)cfg->d);
    g->cfg = *cfg;
    g->theta = theta;
}

static double *router_row(const struct router *g, int m)
{
    return g->theta + (size_t)m * (size_t)g->cfg.d;
}

void router_scores(double *h, const struct router *g, const double *sum)
{
    for (int m = 0; m < g->cfg.experts; m++)
        h[m] = task_dot(router_row(g, m), sum, g->cfg.d);
}

int router_pick(const struct router *g, const double *h, const bool *idle, struct rng *r)
{
    int best = -1;
    double top = 0;
    for (int m = 0; m < g->cfg.experts; m++) {
        double score = h[m] + rng_range(r, 0, g->cfg.noise);
        if (idle && !idle[m]) continue;
        if (best < 0 || score > top) {
            best = m;
            top = score;
        }
    }
    return best;
}

void router_softmax(double *pi, const double *h, int experts)
{
    double top = h[0], sum = 0;
    for (int m = 1; m < experts; m++)
        top = fmax(top, h[m]);
    for (int m = 0; m < experts; m++)
        sum += pi[m] = exp(h[m] - top);
    for (int m = 0; m < experts; m++)
        pi[m] /= sum;
}

void router_count(struct router *g, int m)
{
    g->rounds++;
    g->chosen[m]++;
}

void router_step(struct router *g, const double *h, const double *sum, int m,
                 double moved)
{
    const struct router_cfg *c = &g->cfg;
    assert(g->rounds > 0);
    double pi[RECALL_EXPERTS], t = g->rounds;
    router_softmax(pi, h, c->experts);

    double slope = (moved + c->alpha * c->experts * (g->chosen[m] / t) / t) * pi[m];
    for (int k = 0; k < c->experts; k++) {
        double by = c->eta * slope * ((k == m) - pi[k]);
        double *theta = router_row(g, k);
        for (int i = 0; i < c->d; i++)
            theta[i] -= by * sum[i];
    }
}

void router_converge(struct router *g, const double *h, int m)
{
    for (int k = 0; k < g->cfg.experts; k++)
        if (fabs(h[k] - h[m]) < g->cfg.gamma) g->flag[k] = true;
}

bool router_settled(const struct router *g)
{
    for (int k = 0; k < g->cfg.experts; k++)
        if (!g->flag[k]) return false;
    return true;
}

int router_specialty(const struct router *g, int m, const double *signal, int tasks,
                     int stride)
{
    int best = 0;
    double top = task_dot(router_row(g, m), signal, g->cfg.d);
    for (int n = 1; n < tasks; n++) {
        double score =
            task_dot(router_row(g, m), signal + (size_t)n * (size_t)stride, g->cfg.d);
        if (score > top) {
            best = n;
            top = score;
        }
    }
    return best;
}

void router_gaps(double *inside, double *across, const double *h, const int *set,
                 int experts)
{
    double sum[2] = {0, 0};
    int pairs[2] = {0, 0};
    for (int m = 0; m < experts; m++)
        for (int k = 0; k < m; k++) {
            int apart = set[m] != set[k];
            sum[apart] += fabs(h[m] - h[k]);
            pairs[apart]++;
        }
    *inside = pairs[0] ? sum[0] / pairs[0] : (double)NAN;
    *across = pairs[1] ? sum[1] / pairs[1] : (double)NAN;
}

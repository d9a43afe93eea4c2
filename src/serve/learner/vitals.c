#include "serve/learner/vitals.h"

#include <assert.h>
#include <stdlib.h>

#include "learn/plasticity.h"

enum { ROWS = 256 };

struct vitals {
    float *obs; /* (n, obs_dim) */
    int n, tau;
    struct plasticity_ws *ws;
    struct plasticity found; /* scratch */
};

static int index_of_tau(void)
{
    int i = 0;
    while (i < PLASTICITY_TAUS && plasticity_tau(i) != VITALS_TAU)
        i++;
    assert(i < PLASTICITY_TAUS);
    return i;
}

struct vitals *vitals_new(struct exam *exam, const struct policy *start, struct err *e)
{
    struct vitals *v = calloc(1, sizeof *v);
    if (!v) {
        err_set(e, ERR_MEMORY, "no memory for the learner's figures");
        return NULL;
    }
    v->tau = index_of_tau();
    v->obs = malloc((size_t)ROWS * (size_t)start->cfg.obs_dim * sizeof *v->obs);
    if (!v->obs) {
        err_set(e, ERR_MEMORY, "no memory for the learner's figures");
        goto fail;
    }
    v->n = exam_observe(exam, v->obs, ROWS);
    v->ws = plasticity_ws_new(&start->cfg, ROWS, e);
    if (v->ws) return v;
fail:
    vitals_free(v);
    return NULL;
}

void vitals_free(struct vitals *v)
{
    if (!v) return;
    plasticity_ws_free(v->ws);
    free(v->obs);
    free(v);
}

static struct vitals_expert expert_of(const struct plasticity_expert *x, int layers,
                                      int tau)
{
    struct vitals_expert out = {
        .reached = x->rows > 0, .share = x->share, .head_rms = x->weight[layers].rms};
    for (int i = 0; i < layers; i++) {
        const struct plasticity_layer *l = &x->layer[i];
        out.layer[i] = (struct vitals_layer){.dormant = l->dormant[tau],
                                             .rank = l->rank,
                                             .effective = l->effective,
                                             .approx = l->approx,
                                             .abs_approx = l->abs_approx,
                                             .feature = l->feature,
                                             .weight_rms = x->weight[i].rms};
    }
    return out;
}

static void vitals_tell(struct vitals_net *out, const struct plasticity_net *n, int tau)
{
    *out = (struct vitals_net){.dormant = n->mean.dormant[tau],
                               .rank = n->mean.rank,
                               .effective = n->mean.effective,
                               .approx = n->mean.approx,
                               .abs_approx = n->mean.abs_approx,
                               .feature = n->mean.feature,
                               .weight_rms = n->mean_weight[0].rms,
                               .reached = n->reached,
                               .experts = n->experts,
                               .layers = n->layers};
    for (int k = 0; k < n->experts && k < VITALS_EXPERTS; k++)
        out->expert[k] = expert_of(&n->expert[k], n->layers, tau);
}

void vitals_measure(struct vitals_stats *out, struct vitals *v, const struct policy *p)
{
    struct plasticity_batch b = {.obs = v->obs, .n = v->n};
    struct err e = {0};
    *out = (struct vitals_stats){0};
    if (v->n < 1 || plasticity_measure(&v->found, v->ws, p, &b, &e)) return;
    out->known = true;
    vitals_tell(&out->actor, &v->found.actor, v->tau);
    vitals_tell(&out->critic, &v->found.critic, v->tau);
}

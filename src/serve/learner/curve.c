#include "serve/learner/curve.h"

#include <pthread.h>
#include <stdlib.h>

struct curve {
    pthread_mutex_t lock; /* of what follows */
    uint64_t added;       /* point i lies at i % CURVE_POINTS */
    struct curve_point point[CURVE_POINTS];
};

struct curve *curve_new(struct err *e)
{
    struct curve *c = calloc(1, sizeof *c);
    if (!c) {
        err_set(e, ERR_MEMORY, "no memory for the learner's curve");
        return NULL;
    }
    pthread_mutex_init(&c->lock, NULL);
    return c;
}

void curve_free(struct curve *c)
{
    if (!c) return;
    pthread_mutex_destroy(&c->lock);
    free(c);
}

void curve_add(struct curve *c, const struct curve_point *p)
{
    pthread_mutex_lock(&c->lock);
    struct curve_point *at = &c->point[++c->added % CURVE_POINTS];
    *at = *p;
    at->number = c->added;
    pthread_mutex_unlock(&c->lock);
}

void curve_update(struct curve_point *p, const struct online_stats *s,
                  const struct vitals_stats *vitals)
{
    const struct ppo_stats *u = &s->last;
    p->learned = true;
    p->update = (struct curve_update){.policy_loss = u->policy_loss,
                                      .value_loss = u->value_loss,
                                      .entropy = u->entropy,
                                      .approx_kl = u->approx_kl,
                                      .clip_share = u->clip_share,
                                      .explained_variance = u->explained_variance,
                                      .grad_norm = u->grad_norm};
    p->measured = vitals && vitals->known;
    if (!p->measured) return;
    const struct vitals_net *net[2] = {&vitals->actor, &vitals->critic};
    for (int w = 0; w < 2; w++)
        p->weights[w] = (struct curve_weights){net[w]->dormant, net[w]->effective,
                                               net[w]->weight_rms};
}

int curve_read(struct curve_point *out, int max, struct curve *c, uint64_t after)
{
    int n = 0;
    pthread_mutex_lock(&c->lock);
    uint64_t oldest = c->added > CURVE_POINTS ? c->added - CURVE_POINTS + 1 : 1;
    if (after < oldest) after = oldest - 1;
    while (after < c->added && n < max)
        out[n++] = c->point[++after % CURVE_POINTS];
    pthread_mutex_unlock(&c->lock);
    return n;
}

const char *curve_kind_name(enum curve_kind kind)
{
    static const char *const names[] = {"earlier",  "start", "update",
                                        "rollback", "held",  "order"};
    return names[kind];
}

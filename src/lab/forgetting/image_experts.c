#include "lab/forgetting/image_experts.h"

#include <math.h>
#include <stdlib.h>

static float *weights(const struct image_experts *x, int m)
{
    return x->weights + (size_t)m * digits_expert(x->digits);
}

struct image_experts *image_experts_new(const struct digits_set *set,
                                        const struct digits_cfg *cfg, int n,
                                        struct rng *r, struct err *e)
{
    struct image_experts *x = calloc(1, sizeof *x);
    if (!x) {
        err_set(e, ERR_MEMORY, "no memory for %d experts", n);
        return NULL;
    }
    x->digits = digits_new(set, cfg, r, e);
    if (!x->digits) goto fail;
    x->weights = calloc((size_t)n * digits_expert(x->digits), sizeof *x->weights);
    if (!x->weights) {
        err_set(e, ERR_MEMORY, "no memory for %d experts", n);
        goto fail;
    }
    for (int m = 0; m < n; m++)
        digits_start(weights(x, m), x->digits);
    recall_tally_init(&x->tally, cfg->tasks, n);
    for (int i = 0; i < cfg->tasks * n; i++)
        x->stale[i] = true;
    return x;

fail:
    image_experts_free(x);
    return NULL;
}

void image_experts_free(struct image_experts *x)
{
    if (!x) return;
    free(x->weights);
    digits_free(x->digits);
    free(x);
}

static double image_experts_measure(struct image_experts *x, int n, int m)
{
    int at = n * x->tally.experts + m;
    if (x->stale[at]) x->error[at] = digits_error(weights(x, m), x->digits, n);
    x->stale[at] = false;
    return x->error[at];
}

double image_experts_learn(struct image_experts *x, int m,
                           const struct digits_round *round, bool at_once)
{
    double moved = digits_learn(weights(x, m), x->digits, round);
    for (int n = 0; n < x->tally.tasks && moved > 0; n++)
        x->stale[n * x->tally.experts + m] = true;
    recall_tally_add(&x->tally, round->task, m,
                     at_once ? image_experts_measure(x, round->task, m) : 0);
    return moved;
}

/* all that the tally asks for */
static const double *errors(struct image_experts *x)
{
    for (int n = 0; n < x->tally.tasks; n++)
        for (int m = 0; m < x->tally.experts; m++)
            if (x->tally.learned[n][m]) image_experts_measure(x, n, m);
    return x->error;
}

double image_experts_error(struct image_experts *x)
{
    return x->tally.rounds ? recall_tally_error(&x->tally, errors(x)) : (double)NAN;
}

double image_experts_forgot(struct image_experts *x)
{
    return x->tally.rounds > 1 ? recall_tally_forgot(&x->tally, errors(x)) : (double)NAN;
}

int image_experts_habit(const struct image_experts *x, int m)
{
    int best = 0;
    for (int n = 1; n < x->tally.tasks; n++)
        if (x->tally.learned[n][m] > x->tally.learned[best][m]) best = n;
    return best;
}

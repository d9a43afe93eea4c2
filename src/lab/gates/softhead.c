#include "lab/gates/softhead.h"

#include "lab/gates/block.h"
#include "nn/adam.h"
#include "nn/simd/kern.h"
#include "nn/linear.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct softhead {
    int in, classes, batch;
    int64_t t;           /* steps so far */
    float *w, *b;        /* (classes, in), (classes): one block */
    float *m, *v, *grad; /* as w and b together */
    float *p, *logp;     /* (batch, classes) */
    uint32_t *mask;      /* (batch) */
    float block[];
};

static size_t params(const struct softhead *h)
{
    return (size_t)h->classes * ((size_t)h->in + 1);
}

static size_t softhead_cut(struct softhead *h, float *block)
{
    size_t n = params(h), rows = (size_t)h->batch * (size_t)h->classes;
    const struct block_part part[] = {{&h->w, n},    {&h->m, n},    {&h->v, n},
                                      {&h->grad, n}, {&h->p, rows}, {&h->logp, rows}};
    return block_cut(block, part, 6);
}

struct softhead *softhead_new(int in, int classes, int batch, struct err *e)
{
    assert(in >= 1 && classes >= 1 && classes <= 32 && batch >= 1);
    struct softhead want = {.in = in, .classes = classes, .batch = batch};
    size_t floats = softhead_cut(&want, NULL);
    struct softhead *h =
        calloc(1, sizeof *h + floats * sizeof(float) + (size_t)batch * sizeof(uint32_t));
    if (!h) {
        err_set(e, ERR_MEMORY, "no memory for a classifier");
        return NULL;
    }
    *h = want;
    softhead_cut(h, h->block);
    h->b = h->w + classes * in;
    h->mask = (uint32_t *)(h->block + floats);
    return h;
}

void softhead_free(struct softhead *h)
{
    free(h);
}

static void softhead_forward(struct softhead *h, const float *x, uint32_t mask, int n)
{
    assert(n >= 1 && n <= h->batch);
    for (int i = 0; i < n; i++)
        h->mask[i] = mask;
    linear_forward(h->p, x, h->w, h->b, n, h->in, h->classes);
    kern_best()->softmax(h->p, h->logp, NULL, h->p, h->mask, n, h->classes);
}

double softhead_loss(struct softhead *h, float *dx, const float *x, const int *label,
                     uint32_t mask, int n)
{
    double loss = 0;
    softhead_forward(h, x, mask, n);
    for (int i = 0; i < n; i++) {
        assert(mask >> label[i] & 1);
        loss -= (double)h->logp[i * h->classes + label[i]] / n;
        h->p[i * h->classes + label[i]] -= 1;
    }
    for (int i = 0; i < n * h->classes; i++)
        h->p[i] /= (float)n;
    linear_backward(h->grad, h->grad + h->classes * h->in, dx, h->p, x, h->w, n, h->in,
                    h->classes);
    return loss;
}

double softhead_learn(struct softhead *h, float *dx, const float *x, const int *label,
                      uint32_t mask, int n, double lr)
{
    double loss = softhead_loss(h, dx, x, label, mask, n);
    struct adam_cfg c = adam_cfg_default();
    c.lr = lr;
    adam_step(h->w, h->m, h->v, h->grad, params(h), &c, ++h->t, 1);
    return loss;
}

void softhead_classify(struct softhead *h, int *label, const float *x, uint32_t mask,
                       int n)
{
    softhead_forward(h, x, mask, n);
    for (int i = 0; i < n; i++) {
        float most = -INFINITY;
        for (int c = 0; c < h->classes; c++) {
            float p = h->logp[i * h->classes + c];
            if (!(mask >> c & 1) || !(p > most)) continue;
            most = p;
            label[i] = c;
        }
    }
}

#include "lab/gates/attention.h"

#include "nn/simd/kern.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct attention {
    struct attention_dim d;
    int batch, n, length; /* of the last forward pass */
    const float *x;
    struct attention_weights w;
    struct attention_prefix p;
    float *q, *k, *v, *mixed; /* (batch, tokens, dim) */
    float *dq, *dk, *dv, *dmixed;
    float *pk, *pv, *dpk, *dpv; /* (prefix, dim): through Wk and Wv */
    float *shares;              /* (batch, heads, tokens, prefix + tokens) */
    float *raw;  /* (batch, heads, tokens, prefix): scores before the gate */
    float *head; /* scratch of one head */
    float block[];
};

static int columns(const struct attention *a)
{
    return a->length + a->d.tokens;
}

/* The queries, keys and values of one head and sequence, and their gradients. */
struct head {
    float *q, *k, *v, *out, *s, *dq, *dk, *dv, *dout, *ds;
};

static size_t head_floats(const struct attention_dim *d)
{
    size_t each = (size_t)(d->dim / d->heads);
    size_t all = (size_t)d->tokens + (size_t)d->prefix;
    return 4 * (size_t)d->tokens * each + 4 * all * each + 2 * (size_t)d->tokens * all;
}

static struct head attention_head_of(const struct attention *a)
{
    size_t each = (size_t)(a->d.dim / a->d.heads), t = (size_t)a->d.tokens;
    size_t all = t + (size_t)a->d.prefix;
    struct head h = {.q = a->head};
    h.out = h.q + t * each;
    h.dq = h.out + t * each;
    h.dout = h.dq + t * each;
    h.k = h.dout + t * each;
    h.v = h.k + all * each;
    h.dk = h.v + all * each;
    h.dv = h.dk + all * each;
    h.s = h.dv + all * each;
    h.ds = h.s + t * all;
    return h;
}

struct attention *attention_new(const struct attention_dim *d, int batch, struct err *e)
{
    assert(d->tokens > 0 && d->heads > 0 && d->dim % d->heads == 0 && batch > 0 &&
           d->prefix >= 0 && d->tokens + d->prefix <= KERN_SOFTMAX_MAX);
    size_t rows = (size_t)batch * (size_t)d->tokens, dim = (size_t)d->dim;
    size_t prefix = (size_t)d->prefix, all = (size_t)d->tokens + prefix;
    size_t heads = (size_t)d->heads;
    size_t floats = 8 * rows * dim + 4 * prefix * dim + rows * heads * (all + prefix) +
                    head_floats(d);
    struct attention *a = calloc(1, sizeof *a + floats * sizeof(float));
    if (!a) {
        err_set(e, ERR_MEMORY, "no memory for attention over %d sequences", batch);
        return NULL;
    }
    a->d = *d;
    a->batch = batch;
    float *at = a->block;
    float **const wide[8] = {&a->q,  &a->k,  &a->v,  &a->mixed,
                             &a->dq, &a->dk, &a->dv, &a->dmixed};
    for (int i = 0; i < 8; i++, at += rows * dim)
        *wide[i] = at;
    float **const short_[4] = {&a->pk, &a->pv, &a->dpk, &a->dpv};
    for (int i = 0; i < 4; i++, at += prefix * dim)
        *short_[i] = at;
    a->shares = at;
    a->raw = a->shares + rows * heads * all;
    a->head = a->raw + rows * heads * prefix;
    return a;
}

void attention_free(struct attention *a)
{
    free(a);
}

/* ---- products of all rows ---- */

/* y (n, dim) = x (n, dim) W^T */
static void times(float *y, const float *x, const float *w, int n, int dim)
{
    kern_best()->product(&(struct kern_product){
        .c = y, .a = x, .b = w, .m = n, .n = dim, .k = dim, .b_transposed = true});
}

/* dx (n, dim) = or += dy W */
static void back(float *dx, const float *dy, const float *w, int n, int dim, bool add)
{
    kern_best()->product(&(struct kern_product){
        .c = dx, .a = dy, .b = w, .m = n, .n = dim, .k = dim, .add = add});
}

/* dW (dim, dim) = or += dy^T x */
static void weigh(float *dw, const float *dy, const float *x, int n, int dim, bool add)
{
    kern_best()->product(&(struct kern_product){.c = dw,
                                                .a = dy,
                                                .b = x,
                                                .m = dim,
                                                .n = dim,
                                                .k = n,
                                                .a_transposed = true,
                                                .add = add});
}

/* ---- one head of one sequence ---- */

/* rows of width dim, `each` columns from a head's first one on */
static void attention_take(float *out, const float *from, int rows, int dim, int each)
{
    for (int i = 0; i < rows; i++)
        memcpy(out + (size_t)i * (size_t)each, from + (size_t)i * (size_t)dim,
               sizeof(float) * (size_t)each);
}

static void attention_put(float *to, const float *in, int rows, int dim, int each)
{
    for (int i = 0; i < rows; i++)
        memcpy(to + (size_t)i * (size_t)dim, in + (size_t)i * (size_t)each,
               sizeof(float) * (size_t)each);
}

static void attention_add(float *to, const float *in, int rows, int dim, int each)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < each; j++)
            to[i * dim + j] += in[i * each + j];
}

/* where a sequence's rows of one head begin */
static size_t attention_place(const struct attention *a, int sequence, int head)
{
    return (size_t)sequence * (size_t)a->d.tokens * (size_t)a->d.dim +
           (size_t)head * (size_t)(a->d.dim / a->d.heads);
}

static void take_head(const struct attention *a, const struct head *h, int sequence,
                      int head)
{
    int dim = a->d.dim, each = dim / a->d.heads;
    size_t at = attention_place(a, sequence, head), first = (size_t)head * (size_t)each;
    size_t behind = (size_t)a->length * (size_t)each;
    attention_take(h->q, a->q + at, a->d.tokens, dim, each);
    attention_take(h->k, a->pk + first, a->length, dim, each);
    attention_take(h->v, a->pv + first, a->length, dim, each);
    attention_take(h->k + behind, a->k + at, a->d.tokens, dim, each);
    attention_take(h->v + behind, a->v + at, a->d.tokens, dim, each);
}

static float *shares_of(const struct attention *a, int sequence, int head)
{
    return a->shares +
           (size_t)((sequence * a->d.heads + head) * a->d.tokens * columns(a));
}

static float *raw_of(const struct attention *a, int sequence, int head)
{
    return a->raw + (size_t)((sequence * a->d.heads + head) * a->d.tokens * a->length);
}

const float *attention_shares(const struct attention *a, int sequence, int head)
{
    return shares_of(a, sequence, head);
}

/* scores into shares, those of prefix experts through the gate */
static void attention_score(const struct attention *a, const struct head *h, float *s,
                            float *raw)
{
    int each = a->d.dim / a->d.heads, m = columns(a);
    float scale = 1 / sqrtf((float)each);
    kern_best()->product(&(struct kern_product){.c = s,
                                                .a = h->q,
                                                .b = h->k,
                                                .m = a->d.tokens,
                                                .n = m,
                                                .k = each,
                                                .b_transposed = true});
    for (int i = 0; i < a->d.tokens; i++)
        for (int j = 0; j < m; j++) {
            float *x = &s[i * m + j];
            *x *= scale;
            if (j >= a->length) continue;
            raw[i * a->length + j] = *x;
            if (a->p.gate.kind != RESIDUAL_LINEAR)
                *x = (float)residual_score(&a->p.gate, (double)*x).score;
        }
}

static void head_forward(struct attention *a, int sequence, int head)
{
    const struct kern *kern = kern_best();
    struct head h = attention_head_of(a);
    int each = a->d.dim / a->d.heads, m = columns(a);
    float *s = shares_of(a, sequence, head);
    take_head(a, &h, sequence, head);
    attention_score(a, &h, s, raw_of(a, sequence, head));
    kern->softmax(s, NULL, NULL, s, NULL, a->d.tokens, m);
    kern->product(&(struct kern_product){
        .c = h.out, .a = s, .b = h.v, .m = a->d.tokens, .n = each, .k = m});
    attention_put(a->mixed + attention_place(a, sequence, head), h.out, a->d.tokens,
                  a->d.dim, each);
}

void attention_forward(struct attention *a, float *y, const float *x,
                       const struct attention_weights *w,
                       const struct attention_prefix *p, int n)
{
    assert(n >= 1 && n <= a->batch && (!p || p->length <= a->d.prefix));
    int dim = a->d.dim, rows = n * a->d.tokens;
    a->n = n;
    a->x = x;
    a->w = *w;
    a->p = p ? *p : (struct attention_prefix){0};
    a->length = a->p.length;
    times(a->q, x, w->wq, rows, dim);
    times(a->k, x, w->wk, rows, dim);
    times(a->v, x, w->wv, rows, dim);
    if (a->length) {
        times(a->pk, a->p.key, w->wk, a->length, dim);
        times(a->pv, a->p.value, w->wv, a->length, dim);
    }
    for (int b = 0; b < n; b++)
        for (int head = 0; head < a->d.heads; head++)
            head_forward(a, b, head);
    times(y, a->mixed, w->wo, rows, dim);
}

/* ---- backward ---- */

/* dS of the softmax, in place of dP; then through gate and scale */
static void score_backward(const struct attention *a, float *ds, const float *s,
                           const float *raw, const struct attention_grad *g)
{
    int m = columns(a);
    float scale = 1 / sqrtf((float)a->d.dim / (float)a->d.heads);
    for (int i = 0; i < a->d.tokens; i++) {
        float along = 0;
        for (int j = 0; j < m; j++)
            along += ds[i * m + j] * s[i * m + j];
        for (int j = 0; j < m; j++)
            ds[i * m + j] = s[i * m + j] * (ds[i * m + j] - along);
        for (int j = 0; j < a->length && a->p.gate.kind != RESIDUAL_LINEAR; j++) {
            struct residual_at at =
                residual_score(&a->p.gate, (double)raw[i * a->length + j]);
            double d = (double)ds[i * m + j];
            if (g->alpha) {
                *g->alpha += d * at.by_alpha;
                *g->tau += d * at.by_tau;
            }
            ds[i * m + j] = (float)(d * at.by_s);
        }
        for (int j = 0; j < m; j++)
            ds[i * m + j] *= scale;
    }
}

static void head_backward(struct attention *a, int sequence, int head,
                          const struct attention_grad *g)
{
    const struct kern *kern = kern_best();
    struct head h = attention_head_of(a);
    int dim = a->d.dim, each = dim / a->d.heads, m = columns(a), t = a->d.tokens;
    size_t at = attention_place(a, sequence, head), first = (size_t)head * (size_t)each;
    size_t behind = (size_t)a->length * (size_t)each;
    const float *s = shares_of(a, sequence, head);
    take_head(a, &h, sequence, head);
    attention_take(h.dout, a->dmixed + at, t, dim, each);

    kern->product(&(struct kern_product){.c = h.ds,
                                         .a = h.dout,
                                         .b = h.v,
                                         .m = t,
                                         .n = m,
                                         .k = each,
                                         .b_transposed = true});
    kern->product(&(struct kern_product){
        .c = h.dv, .a = s, .b = h.dout, .m = m, .n = each, .k = t, .a_transposed = true});
    score_backward(a, h.ds, s, raw_of(a, sequence, head), g);
    kern->product(&(struct kern_product){
        .c = h.dq, .a = h.ds, .b = h.k, .m = t, .n = each, .k = m});
    kern->product(&(struct kern_product){
        .c = h.dk, .a = h.ds, .b = h.q, .m = m, .n = each, .k = t, .a_transposed = true});

    attention_put(a->dq + at, h.dq, t, dim, each);
    attention_put(a->dk + at, h.dk + behind, t, dim, each);
    attention_put(a->dv + at, h.dv + behind, t, dim, each);
    attention_add(a->dpk + first, h.dk, a->length, dim, each);
    attention_add(a->dpv + first, h.dv, a->length, dim, each);
}

static void weights_backward(struct attention *a, const struct attention_grad *g,
                             const float *dy)
{
    int dim = a->d.dim, rows = a->n * a->d.tokens;
    weigh(g->wo, dy, a->mixed, rows, dim, false);
    weigh(g->wq, a->dq, a->x, rows, dim, false);
    weigh(g->wk, a->dk, a->x, rows, dim, false);
    weigh(g->wv, a->dv, a->x, rows, dim, false);
    if (!a->length) return;
    weigh(g->wk, a->dpk, a->p.key, a->length, dim, true);
    weigh(g->wv, a->dpv, a->p.value, a->length, dim, true);
}

void attention_backward(struct attention *a, float *dx, const struct attention_grad *g,
                        const float *dy)
{
    int dim = a->d.dim, rows = a->n * a->d.tokens;
    size_t prefix = sizeof(float) * (size_t)(a->length * dim);
    memset(a->dpk, 0, prefix);
    memset(a->dpv, 0, prefix);
    if (g->alpha) *g->alpha = *g->tau = 0;
    back(a->dmixed, dy, a->w.wo, rows, dim, false);
    for (int b = 0; b < a->n; b++)
        for (int head = 0; head < a->d.heads; head++)
            head_backward(a, b, head, g);
    if (g->wq) weights_backward(a, g, dy);
    if (g->key && a->length) {
        back(g->key, a->dpk, a->w.wk, a->length, dim, false);
        back(g->value, a->dpv, a->w.wv, a->length, dim, false);
    }
    if (!dx) return;
    back(dx, a->dq, a->w.wq, rows, dim, false);
    back(dx, a->dk, a->w.wk, rows, dim, true);
    back(dx, a->dv, a->w.wv, rows, dim, true);
}

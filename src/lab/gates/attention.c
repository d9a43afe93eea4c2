#include "lab/gates/attention.h"

#include "lab/gates/block.h"
#include "nn/simd/kern.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Queries, keys and values, and what the heads make of them. */
enum { Q, K, V, OUT };

struct attention {
    struct attention_dim d;
    int batch, n, length; /* of the last forward pass */
    const float *x, *w;
    struct attention_prefix p;
    float *row[4], *drow[4];       /* by Q .. OUT: (batch, tokens, dim) */
    float *prefix[3], *dprefix[3]; /* K, V: (prefix, dim) */
    float *head[4],
        *dhead[4]; /* of one head and sequence; K and V begin with the prefix */
    float *shares; /* (batch, heads, tokens, prefix + tokens) */
    float *raw;    /* (batch, heads, tokens, prefix): scores before the gate */
    float *dscore; /* (tokens, prefix + tokens): of one head and sequence */
    float block[];
};

static int columns(const struct attention *a)
{
    return a->length + a->d.tokens;
}

static int each_head(const struct attention *a)
{
    return a->d.dim / a->d.heads;
}

static size_t attention_cut(struct attention *a, float *block)
{
    size_t tokens = (size_t)a->d.tokens, prefix = (size_t)a->d.prefix;
    size_t all = tokens + prefix, heads = (size_t)a->d.heads, dim = (size_t)a->d.dim;
    size_t rows = (size_t)a->batch * tokens, wide = rows * dim, own = prefix * dim;
    size_t few = tokens * (dim / heads), many = all * (dim / heads);
    const struct block_part part[] = {{&a->row[Q], wide},
                                      {&a->row[K], wide},
                                      {&a->row[V], wide},
                                      {&a->row[OUT], wide},
                                      {&a->drow[Q], wide},
                                      {&a->drow[K], wide},
                                      {&a->drow[V], wide},
                                      {&a->drow[OUT], wide},
                                      {&a->prefix[K], own},
                                      {&a->prefix[V], own},
                                      {&a->dprefix[K], own},
                                      {&a->dprefix[V], own},
                                      {&a->head[Q], few},
                                      {&a->head[K], many},
                                      {&a->head[V], many},
                                      {&a->head[OUT], few},
                                      {&a->dhead[Q], few},
                                      {&a->dhead[K], many},
                                      {&a->dhead[V], many},
                                      {&a->dhead[OUT], few},
                                      {&a->shares, rows * heads * all},
                                      {&a->raw, rows * heads * prefix},
                                      {&a->dscore, tokens * all}};
    return block_cut(block, part, sizeof part / sizeof *part);
}

struct attention *attention_new(const struct attention_dim *d, int batch, struct err *e)
{
    assert(d->tokens > 0 && d->heads > 0 && d->dim % d->heads == 0 && batch > 0 &&
           d->prefix >= 0 && d->tokens + d->prefix <= KERN_SOFTMAX_MAX);
    struct attention want = {.d = *d, .batch = batch};
    struct attention *a =
        calloc(1, sizeof *a + attention_cut(&want, NULL) * sizeof(float));
    if (!a) {
        err_set(e, ERR_MEMORY, "no memory for attention over %d sequences", batch);
        return NULL;
    }
    *a = want;
    attention_cut(a, a->block);
    return a;
}

void attention_free(struct attention *a)
{
    free(a);
}

/* ---- products ---- */

enum { TRANSPOSED_A = 1, TRANSPOSED_B = 2, ADD = 4 };

/* C (m, n) = or += A (m, k) B (k, n) */
static void multiply(float *c, const float *a, const float *b, int m, int n, int k,
                     int how)
{
    kern_best()->product(&(struct kern_product){.c = c,
                                                .a = a,
                                                .b = b,
                                                .m = m,
                                                .n = n,
                                                .k = k,
                                                .a_transposed = how & TRANSPOSED_A,
                                                .b_transposed = how & TRANSPOSED_B,
                                                .add = how & ADD});
}

/* Where Wq, Wk, Wv or Wo is in weights and their gradient. */
static size_t matrix(const struct attention *a, int which)
{
    return (size_t)which * (size_t)a->d.dim * (size_t)a->d.dim;
}

/* y (n, dim) = x (n, dim) W^T */
static void times(const struct attention *a, float *y, const float *x, int which, int n)
{
    multiply(y, x, a->w + matrix(a, which), n, a->d.dim, a->d.dim, TRANSPOSED_B);
}

/* dx (n, dim) = or += dy W */
static void times_back(const struct attention *a, float *dx, const float *dy, int which,
                       int n, int how)
{
    multiply(dx, dy, a->w + matrix(a, which), n, a->d.dim, a->d.dim, how);
}

/* dW (dim, dim) = or += dy^T x */
static void weigh(const struct attention *a, float *grad, int which, const float *dy,
                  const float *x, int n, int how)
{
    multiply(grad + matrix(a, which), dy, x, a->d.dim, a->d.dim, n, TRANSPOSED_A | how);
}

/* ---- one head of one sequence ---- */

/* Copies the columns of one head between rows of the model's width and rows of the head's. */
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

/* The first value of a head in a sequence's rows. */
static size_t attention_place(const struct attention *a, int sequence, int head)
{
    return (size_t)sequence * (size_t)a->d.tokens * (size_t)a->d.dim +
           (size_t)head * (size_t)each_head(a);
}

/* The floats of the prefix in a head's keys and values. */
static size_t behind(const struct attention *a)
{
    return (size_t)a->length * (size_t)each_head(a);
}

static void take_head(const struct attention *a, int sequence, int head)
{
    int dim = a->d.dim, each = each_head(a);
    size_t at = attention_place(a, sequence, head), first = attention_place(a, 0, head);
    attention_take(a->head[Q], a->row[Q] + at, a->d.tokens, dim, each);
    for (int i = K; i <= V; i++) {
        attention_take(a->head[i], a->prefix[i] + first, a->length, dim, each);
        attention_take(a->head[i] + behind(a), a->row[i] + at, a->d.tokens, dim, each);
    }
}

static size_t score_row(const struct attention *a, int sequence, int head)
{
    return (size_t)((sequence * a->d.heads + head) * a->d.tokens);
}

const float *attention_shares(const struct attention *a, int sequence, int head)
{
    return a->shares + score_row(a, sequence, head) * (size_t)columns(a);
}

/* Scores into s, those of prefix experts through the gate. */
static void attention_score(const struct attention *a, float *s, float *raw)
{
    int each = each_head(a), m = columns(a);
    float scale = 1 / sqrtf((float)each);
    multiply(s, a->head[Q], a->head[K], a->d.tokens, m, each, TRANSPOSED_B);
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
    int each = each_head(a), m = columns(a);
    size_t row = score_row(a, sequence, head);
    float *s = a->shares + row * (size_t)m;
    take_head(a, sequence, head);
    attention_score(a, s, a->raw + row * (size_t)a->length);
    kern_best()->softmax(s, NULL, NULL, s, NULL, a->d.tokens, m);
    multiply(a->head[OUT], s, a->head[V], a->d.tokens, each, m, 0);
    attention_put(a->row[OUT] + attention_place(a, sequence, head), a->head[OUT],
                  a->d.tokens, a->d.dim, each);
}

void attention_forward(struct attention *a, float *y, const float *x, const float *w,
                       const struct attention_prefix *p, int n)
{
    assert(n >= 1 && n <= a->batch && (!p || p->length <= a->d.prefix));
    int rows = n * a->d.tokens;
    a->n = n;
    a->x = x;
    a->w = w;
    a->p = p ? *p : (struct attention_prefix){0};
    a->length = a->p.length;
    for (int i = Q; i <= V; i++)
        times(a, a->row[i], x, i, rows);
    if (a->length) {
        times(a, a->prefix[K], a->p.key, K, a->length);
        times(a, a->prefix[V], a->p.value, V, a->length);
    }
    for (int b = 0; b < n; b++)
        for (int head = 0; head < a->d.heads; head++)
            head_forward(a, b, head);
    times(a, y, a->row[OUT], OUT, rows);
}

/* ---- backward ---- */

/* dS of the softmax, in place of dP; then through gate and scale. */
static void score_backward(const struct attention *a, const float *s, const float *raw,
                           const struct attention_grad *g)
{
    int m = columns(a);
    float scale = 1 / sqrtf((float)a->d.dim / (float)a->d.heads);
    for (int i = 0; i < a->d.tokens; i++) {
        float along = 0, *ds = a->dscore + i * m;
        for (int j = 0; j < m; j++)
            along += ds[j] * s[i * m + j];
        for (int j = 0; j < m; j++)
            ds[j] = s[i * m + j] * (ds[j] - along);
        for (int j = 0; j < a->length && a->p.gate.kind != RESIDUAL_LINEAR; j++) {
            struct residual_at at =
                residual_score(&a->p.gate, (double)raw[i * a->length + j]);
            double d = (double)ds[j];
            if (g->alpha) {
                *g->alpha += d * at.by_alpha;
                *g->tau += d * at.by_tau;
            }
            ds[j] = (float)(d * at.by_s);
        }
        for (int j = 0; j < m; j++)
            ds[j] *= scale;
    }
}

static void head_backward(struct attention *a, int sequence, int head,
                          const struct attention_grad *g)
{
    int dim = a->d.dim, each = each_head(a), m = columns(a), t = a->d.tokens;
    size_t at = attention_place(a, sequence, head), first = attention_place(a, 0, head);
    size_t row = score_row(a, sequence, head);
    const float *s = attention_shares(a, sequence, head);
    take_head(a, sequence, head);
    attention_take(a->dhead[OUT], a->drow[OUT] + at, t, dim, each);

    multiply(a->dscore, a->dhead[OUT], a->head[V], t, m, each, TRANSPOSED_B);
    multiply(a->dhead[V], s, a->dhead[OUT], m, each, t, TRANSPOSED_A);
    score_backward(a, s, a->raw + row * (size_t)a->length, g);
    multiply(a->dhead[Q], a->dscore, a->head[K], t, each, m, 0);
    multiply(a->dhead[K], a->dscore, a->head[Q], m, each, t, TRANSPOSED_A);

    attention_put(a->drow[Q] + at, a->dhead[Q], t, dim, each);
    for (int i = K; i <= V; i++) {
        attention_put(a->drow[i] + at, a->dhead[i] + behind(a), t, dim, each);
        attention_add(a->dprefix[i] + first, a->dhead[i], a->length, dim, each);
    }
}

void attention_backward(struct attention *a, float *dx, const struct attention_grad *g,
                        const float *dy)
{
    int rows = a->n * a->d.tokens;
    for (int i = K; i <= V; i++)
        memset(a->dprefix[i], 0, sizeof(float) * (size_t)(a->length * a->d.dim));
    if (g->alpha) *g->alpha = *g->tau = 0;
    times_back(a, a->drow[OUT], dy, OUT, rows, 0);
    for (int b = 0; b < a->n; b++)
        for (int head = 0; head < a->d.heads; head++)
            head_backward(a, b, head, g);
    if (g->w) weigh(a, g->w, OUT, dy, a->row[OUT], rows, 0);
    for (int i = Q; i <= V && g->w; i++)
        weigh(a, g->w, i, a->drow[i], a->x, rows, 0);
    if (g->w && a->length) {
        weigh(a, g->w, K, a->dprefix[K], a->p.key, a->length, ADD);
        weigh(a, g->w, V, a->dprefix[V], a->p.value, a->length, ADD);
    }
    if (g->key && a->length) {
        times_back(a, g->key, a->dprefix[K], K, a->length, 0);
        times_back(a, g->value, a->dprefix[V], V, a->length, 0);
    }
    for (int i = Q; i <= V && dx; i++)
        times_back(a, dx, a->drow[i], i, rows, i > Q ? ADD : 0);
}

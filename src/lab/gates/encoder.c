#include "lab/gates/encoder.h"

#include "lab/gates/attention.h"
#include "lab/gates/block.h"
#include "nn/init.h"
#include "nn/simd/kern.h"
#include "nn/linear.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- layer normalisation ---- */

void encoder_norm(float *y, float *root, const float *x, int rows, int n)
{
    for (int i = 0; i < rows; i++, x += n, y += n) {
        float mean = 0, var = 0;
        for (int k = 0; k < n; k++)
            mean += x[k];
        mean /= (float)n;
        for (int k = 0; k < n; k++)
            var += (x[k] - mean) * (x[k] - mean);
        root[i] = 1 / sqrtf(var / (float)n + 1e-5f);
        for (int k = 0; k < n; k++)
            y[k] = (x[k] - mean) * root[i];
    }
}

void encoder_norm_backward(float *dx, const float *dy, const float *y, const float *root,
                           int rows, int n)
{
    for (int i = 0; i < rows; i++, dx += n, dy += n, y += n) {
        float mean = 0, along = 0;
        for (int k = 0; k < n; k++) {
            mean += dy[k];
            along += dy[k] * y[k];
        }
        mean /= (float)n;
        along /= (float)n;
        for (int k = 0; k < n; k++)
            dx[k] = root[i] * (dy[k] - mean - y[k] * along);
    }
}

/* ---- where parameters lie ---- */

struct block_at {
    size_t wq, w1, b1, w2, b2; /* wq: Wq, Wk, Wv, Wo */
};

struct layout {
    size_t embed, offset, position, total;
    struct block_at block[ENCODER_BLOCKS];
};

static int tokens_of(const struct encoder_cfg *c)
{
    int across = c->side / c->patch;
    return across * across;
}

static size_t encoder_claim(size_t *at, int rows, int cols)
{
    size_t was = *at;
    *at += (size_t)rows * (size_t)cols;
    return was;
}

static struct layout layout_of(const struct encoder_cfg *c)
{
    assert(c->patch > 0 && c->side % c->patch == 0 && c->blocks >= 1 &&
           c->blocks <= ENCODER_BLOCKS);
    struct layout l = {0};
    int dim = c->dim;
    l.embed = encoder_claim(&l.total, dim, c->patch * c->patch);
    l.offset = encoder_claim(&l.total, dim, 1);
    l.position = encoder_claim(&l.total, tokens_of(c), dim);
    for (int i = 0; i < c->blocks; i++) {
        struct block_at *b = &l.block[i];
        b->wq = encoder_claim(&l.total, 4 * dim, dim);
        b->w1 = encoder_claim(&l.total, c->hidden, dim);
        b->b1 = encoder_claim(&l.total, c->hidden, 1);
        b->w2 = encoder_claim(&l.total, dim, c->hidden);
        b->b2 = encoder_claim(&l.total, dim, 1);
    }
    return l;
}

size_t encoder_params(const struct encoder_cfg *c)
{
    return layout_of(c).total;
}

size_t encoder_prompt_floats(const struct encoder_cfg *c, int length)
{
    return 2 * (size_t)c->blocks * (size_t)length * (size_t)c->dim;
}

static void init_matrix(float *w, int rows, int cols, double gain, struct rng *r)
{
    init_normal(w, (size_t)rows * (size_t)cols, (float)(gain / sqrt(cols)), r);
}

void encoder_init(float *theta, const struct encoder_cfg *c, struct rng *r)
{
    struct layout l = layout_of(c);
    memset(theta, 0, l.total * sizeof *theta);
    init_matrix(theta + l.embed, c->dim, c->patch * c->patch, 1, r);
    init_normal(theta + l.position, (size_t)tokens_of(c) * (size_t)c->dim, .1f, r);
    for (int i = 0; i < c->blocks; i++) {
        const struct block_at *b = &l.block[i];
        float *square = theta + b->wq;
        /* what is added to the stream begins small */
        for (int k = 0; k < 4; k++, square += c->dim * c->dim)
            init_matrix(square, c->dim, c->dim, k == 3 ? 0.3 : 1, r);
        init_matrix(theta + b->w1, c->hidden, c->dim, 1.4, r);
        init_matrix(theta + b->w2, c->dim, c->hidden, .3, r);
    }
}

/* ---- workspace ---- */

/* Of one block, kept for the backward pass. */
struct tape {
    struct attention *attention;
    float *normed, *root;         /* LN before attention: (rows, dim), (rows) */
    float *normed_mid, *root_mid; /* LN before the perceptron */
    float *active;                /* (rows, hidden): behind the ReLU */
};

struct encoder {
    struct encoder_cfg c;
    struct layout at;
    int batch, length; /* at most */
    int n, prefix;     /* of the last forward pass */
    const float *theta;
    struct tape tape[ENCODER_BLOCKS];
    float *patches;        /* (rows, patch^2) */
    float *stream, *added; /* (rows, dim) */
    float *wide;           /* (rows, hidden) */
    float *feature, *root; /* (batch, dim), (batch) */
    float block[];
};

static size_t encoder_cut(struct encoder *m, float *block)
{
    const struct encoder_cfg *c = &m->c;
    struct block_part part[5 * ENCODER_BLOCKS + 6], *p = part;
    size_t rows = (size_t)m->batch * (size_t)tokens_of(c), dim = (size_t)c->dim;
    size_t hidden = (size_t)c->hidden;
    for (int i = 0; i < c->blocks; i++) {
        struct tape *t = &m->tape[i];
        *p++ = (struct block_part){&t->normed, rows * dim};
        *p++ = (struct block_part){&t->root, rows};
        *p++ = (struct block_part){&t->normed_mid, rows * dim};
        *p++ = (struct block_part){&t->root_mid, rows};
        *p++ = (struct block_part){&t->active, rows * hidden};
    }
    *p++ = (struct block_part){&m->patches, rows * (size_t)(c->patch * c->patch)};
    *p++ = (struct block_part){&m->stream, rows * dim};
    *p++ = (struct block_part){&m->added, rows * dim};
    *p++ = (struct block_part){&m->wide, rows * hidden};
    *p++ = (struct block_part){&m->feature, (size_t)m->batch * dim};
    *p++ = (struct block_part){&m->root, (size_t)m->batch};
    return block_cut(block, part, (int)(p - part));
}

struct encoder *encoder_new(const struct encoder_cfg *c, int batch, int length,
                            struct err *e)
{
    struct encoder want = {.c = *c, .at = layout_of(c), .batch = batch, .length = length};
    struct encoder *m = calloc(1, sizeof *m + encoder_cut(&want, NULL) * sizeof(float));
    if (!m) {
        err_set(e, ERR_MEMORY, "no memory for an encoder of %d images", batch);
        return NULL;
    }
    *m = want;
    encoder_cut(m, m->block);
    const struct attention_dim d = {tokens_of(c), c->dim, c->heads, length};
    for (int i = 0; i < c->blocks; i++) {
        m->tape[i].attention = attention_new(&d, batch, e);
        if (m->tape[i].attention) continue;
        encoder_free(m);
        return NULL;
    }
    return m;
}

void encoder_free(struct encoder *m)
{
    if (!m) return;
    for (int i = 0; i < m->c.blocks; i++)
        attention_free(m->tape[i].attention);
    free(m);
}

/* ---- forward ---- */

static void encoder_patches(const struct encoder *m, const float *images, int n)
{
    int side = m->c.side, patch = m->c.patch, across = side / patch;
    float *to = m->patches;
    for (int b = 0; b < n; b++, images += side * side)
        for (int i = 0; i < across * across; i++)
            for (int y = 0; y < patch; y++, to += patch)
                memcpy(to, images + (i / across * patch + y) * side + i % across * patch,
                       sizeof(float) * (size_t)patch);
}

static void embed(const struct encoder *m, int n)
{
    int tokens = tokens_of(&m->c), dim = m->c.dim;
    const float *position = m->theta + m->at.position;
    linear_forward(m->stream, m->patches, m->theta + m->at.embed, m->theta + m->at.offset,
                   n * tokens, m->c.patch * m->c.patch, dim);
    for (int b = 0; b < n; b++)
        for (int k = 0; k < tokens * dim; k++)
            m->stream[b * tokens * dim + k] += position[k];
}

static void accumulate(float *to, const float *from, int n)
{
    for (int k = 0; k < n; k++)
        to[k] += from[k];
}

static void block_forward(struct encoder *m, int i, const struct encoder_prompt *p)
{
    const struct block_at *at = &m->at.block[i];
    const struct tape *t = &m->tape[i];
    const float *theta = m->theta;
    int dim = m->c.dim, rows = m->n * tokens_of(&m->c);
    struct attention_prefix prefix = {0};
    if (p) {
        const float *key = p->vectors + 2 * i * p->length * dim;
        prefix =
            (struct attention_prefix){p->length, key, key + p->length * dim, p->gate[i]};
    }
    encoder_norm(t->normed, t->root, m->stream, rows, dim);
    attention_forward(t->attention, m->added, t->normed, theta + at->wq,
                      p ? &prefix : NULL, m->n);
    accumulate(m->stream, m->added, rows * dim);

    encoder_norm(t->normed_mid, t->root_mid, m->stream, rows, dim);
    linear_forward_relu(t->active, t->normed_mid, theta + at->w1, theta + at->b1, rows,
                        dim, m->c.hidden);
    linear_forward(m->added, t->active, theta + at->w2, theta + at->b2, rows, m->c.hidden,
                   dim);
    accumulate(m->stream, m->added, rows * dim);
}

void encoder_forward(struct encoder *m, float *features, const float *theta,
                     const float *images, int n, const struct encoder_prompt *p)
{
    assert(n >= 1 && n <= m->batch && (!p || p->length <= m->length));
    int tokens = tokens_of(&m->c), dim = m->c.dim;
    m->n = n;
    m->theta = theta;
    m->prefix = p ? p->length : 0;
    encoder_patches(m, images, n);
    embed(m, n);
    for (int i = 0; i < m->c.blocks; i++)
        block_forward(m, i, p);

    for (int b = 0; b < n; b++) {
        float *f = m->feature + b * dim;
        memset(f, 0, sizeof(float) * (size_t)dim);
        for (int k = 0; k < tokens * dim; k++)
            f[k % dim] += m->stream[b * tokens * dim + k];
        for (int k = 0; k < dim; k++)
            f[k] /= (float)tokens;
    }
    encoder_norm(m->feature, m->root, m->feature, n, dim);
    memcpy(features, m->feature, sizeof(float) * (size_t)(n * dim));
}

/* ---- backward: m->stream holds the gradient by the stream ---- */

static void pool_backward(struct encoder *m, const float *dfeatures)
{
    int tokens = tokens_of(&m->c), dim = m->c.dim;
    float *mean = m->added;
    encoder_norm_backward(mean, dfeatures, m->feature, m->root, m->n, dim);
    for (int b = 0; b < m->n; b++)
        for (int k = 0; k < tokens * dim; k++)
            m->stream[b * tokens * dim + k] = mean[b * dim + k % dim] / (float)tokens;
}

/* dx = dy W, 0 where gate is not > 0 */
static void through(float *dx, const float *dy, const float *w, const float *gate,
                    int rows, int in, int out)
{
    kern_best()->product(&(struct kern_product){
        .c = dx, .a = dy, .b = w, .gate = gate, .m = rows, .n = in, .k = out});
}

/* grad NULL: only the gradient by the stream. */
static void perceptron_backward(struct encoder *m, int i, float *grad)
{
    const struct block_at *at = &m->at.block[i];
    const struct tape *t = &m->tape[i];
    const float *w1 = m->theta + at->w1, *w2 = m->theta + at->w2;
    int dim = m->c.dim, hidden = m->c.hidden, rows = m->n * tokens_of(&m->c);
    if (grad) {
        linear_backward_relu(grad + at->w2, grad + at->b2, m->wide, m->stream, t->active,
                             w2, rows, hidden, dim);
        linear_backward(grad + at->w1, grad + at->b1, m->added, m->wide, t->normed_mid,
                        w1, rows, dim, hidden);
    } else {
        through(m->wide, m->stream, w2, t->active, rows, hidden, dim);
        through(m->added, m->wide, w1, NULL, rows, dim, hidden);
    }
    encoder_norm_backward(m->added, m->added, t->normed_mid, t->root_mid, rows, dim);
    accumulate(m->stream, m->added, rows * dim);
}

static void attention_part_backward(struct encoder *m, int i,
                                    const struct encoder_grad *g, bool further)
{
    const struct block_at *at = &m->at.block[i];
    const struct tape *t = &m->tape[i];
    int dim = m->c.dim, rows = m->n * tokens_of(&m->c);
    struct attention_grad a = {0};
    if (g->theta) a.w = g->theta + at->wq;
    if (g->vectors) {
        a.key = g->vectors + 2 * i * m->prefix * dim;
        a.value = a.key + m->prefix * dim;
    }
    if (g->alpha) {
        a.alpha = &g->alpha[i];
        a.tau = &g->tau[i];
    }
    attention_backward(t->attention, further ? m->added : NULL, &a, m->stream);
    if (!further) return;
    encoder_norm_backward(m->added, m->added, t->normed, t->root, rows, dim);
    accumulate(m->stream, m->added, rows * dim);
}

static void embed_backward(struct encoder *m, float *grad)
{
    int tokens = tokens_of(&m->c), dim = m->c.dim;
    float *position = grad + m->at.position;
    memset(position, 0, sizeof(float) * (size_t)(tokens * dim));
    for (int b = 0; b < m->n; b++)
        accumulate(position, m->stream + b * tokens * dim, tokens * dim);
    linear_backward(grad + m->at.embed, grad + m->at.offset, NULL, m->stream, m->patches,
                    m->theta + m->at.embed, m->n * tokens, m->c.patch * m->c.patch, dim);
}

void encoder_backward(struct encoder *m, const struct encoder_grad *g,
                      const float *dfeatures)
{
    assert(!g->vectors || m->prefix);
    pool_backward(m, dfeatures);
    for (int i = m->c.blocks - 1; i >= 0; i--) {
        perceptron_backward(m, i, g->theta);
        attention_part_backward(m, i, g, i > 0 || g->theta);
    }
    if (g->theta) embed_backward(m, g->theta);
}

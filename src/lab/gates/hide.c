#include "lab/gates/hide.h"

#include "lab/gates/block.h"
#include "lab/gates/softhead.h"
#include "nn/act.h"
#include "nn/adam.h"
#include "nn/init.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 128, TASKS = CONTINUAL_TASKS, CLASSES = HIDE_CLASSES };

/* ---- a class as one Gaussian ---- */

static const double RIDGE = 1e-3;

void hide_gauss_fit(struct hide_gauss *g, const float *x, int n, int dim)
{
    assert(dim >= 1 && dim <= HIDE_DIM && n >= 2);
    double mean[HIDE_DIM], l[HIDE_DIM][HIDE_DIM];
    g->dim = dim;
    for (int k = 0; k < dim; k++) {
        mean[k] = 0;
        for (int i = 0; i < n; i++)
            mean[k] += (double)x[i * dim + k] / n;
        g->mean[k] = (float)mean[k];
    }
    for (int a = 0; a < dim; a++)
        for (int b = 0; b <= a; b++) {
            double sum = 0;
            for (int i = 0; i < n; i++)
                sum += ((double)x[i * dim + a] - mean[a]) *
                       ((double)x[i * dim + b] - mean[b]);
            sum = sum / (n - 1) + (a == b ? RIDGE : 0);
            for (int k = 0; k < b; k++)
                sum -= l[a][k] * l[b][k];
            /* rounding may take what the ridge added */
            l[a][b] = a == b ? sqrt(fmax(sum, 1e-9)) : sum / l[b][b];
            g->root[a * dim + b] = (float)l[a][b];
        }
}

void hide_gauss_draw(float *out, const struct hide_gauss *g, int n, struct rng *r)
{
    for (int i = 0; i < n; i++, out += g->dim) {
        float z[HIDE_DIM];
        for (int k = 0; k < g->dim; k++)
            z[k] = (float)rng_normal(r);
        for (int a = 0; a < g->dim; a++) {
            out[a] = g->mean[a];
            for (int b = 0; b <= a; b++)
                out[a] += g->root[a * g->dim + b] * z[b];
        }
    }
}

/* ---- the contrastive term ---- */

static float hide_dot(const float *a, const float *b, int dim)
{
    float sum = 0;
    for (int i = 0; i < dim; i++)
        sum += a[i] * b[i];
    return sum;
}

static void hide_add(float *to, const float *x, double by, int dim)
{
    for (int i = 0; i < dim; i++)
        to[i] += (float)by * x[i];
}

double hide_contrast(float *dh, const float *h, int n, const float *mu, int k, int dim,
                     double temperature, double weight)
{
    assert(n >= 1 && k >= 1 && n + k <= HIDE_CONTRAST_ROWS);
    double loss = 0, each = weight / (n * temperature);
    for (int i = 0; i < n; i++) {
        const float *own = h + i * dim;
        float p[HIDE_CONTRAST_ROWS];
        double scores = 0;
        for (int j = 0; j < n + k; j++) {
            const float *other = j < n ? h + j * dim : mu + (j - n) * dim;
            p[j] = hide_dot(own, other, dim) / (float)temperature;
            if (j >= n) scores += (double)p[j];
        }
        loss += (scores / k - (double)act_softmax(p, p, n + k)) / n;

        /* as h, and as h' of the sum over H: both have the share p */
        for (int j = 0; j < n; j++) {
            hide_add(dh + i * dim, h + j * dim, -each * (double)p[j], dim);
            hide_add(dh + j * dim, own, -each * (double)p[j], dim);
        }
        for (int c = 0; c < k; c++)
            hide_add(dh + i * dim, mu + c * dim, each * (1.0 / k - (double)p[n + c]),
                     dim);
    }
    return loss;
}

/* ---- the learner ---- */

/* parameters with the state of their Adam */
struct adaptive {
    int64_t t;
    size_t n;
    float *x, *m, *v, *grad;
};

struct hide {
    struct hide_cfg c;
    const float *theta;
    const struct continual_tasks *s;
    struct rng rng;
    const struct lab_tick *tick;

    struct encoder *encoder;
    struct softhead *psi, *omega;
    struct hide_gauss plain[CLASSES], instructed[CLASSES]; /* uninstructed first */
    int task_of[CLASSES];
    uint32_t seen; /* classes */
    int learned;   /* tasks */

    struct adaptive own;     /* e_t */
    struct adaptive factors; /* alpha and tau of each block */
    struct residual gate[ENCODER_BLOCKS];
    double first[HIDE_EPOCHS + 1];

    float *e[TASKS], *p[TASKS]; /* prompts, and as they are used */
    int *order;                 /* of the largest task's images */
    float *pixels, *x, *dx;     /* of a batch: images, features, their gradient */
    float *draws;               /* (CLASSES * head_each, dim) */
    int *draw_label, *draw_order;
    float block[];
};

struct hide_cfg hide_default(const struct encoder_cfg *encoder)
{
    return (struct hide_cfg){.encoder = *encoder,
                             .length = 4,
                             .gate = RESIDUAL_LINEAR,
                             .learn_alpha = true,
                             .learn_tau = true,
                             .contrast = .1,
                             .temperature = .8,
                             .ensemble = .1,
                             .epochs = 20,
                             .lr = .005,
                             .head_epochs = 20,
                             .head_each = 64,
                             .head_lr = .01};
}

/* ---- making and freeing ---- */

static int hide_largest(const struct continual_tasks *s)
{
    int n = 0;
    for (int t = 0; t < TASKS; t++)
        if (s->task[t].train.n > n) n = s->task[t].train.n;
    return n;
}

static size_t hide_cut(struct hide *h, float *block)
{
    const struct hide_cfg *c = &h->c;
    struct block_part part[8 + 2 * TASKS + 4], *p = part;
    size_t dim = (size_t)c->encoder.dim;
    struct adaptive *both[2] = {&h->own, &h->factors};
    for (int i = 0; i < 2; i++) {
        *p++ = (struct block_part){&both[i]->x, both[i]->n};
        *p++ = (struct block_part){&both[i]->m, both[i]->n};
        *p++ = (struct block_part){&both[i]->v, both[i]->n};
        *p++ = (struct block_part){&both[i]->grad, both[i]->n};
    }
    for (int t = 0; t < TASKS; t++) {
        *p++ = (struct block_part){&h->e[t], h->own.n};
        *p++ = (struct block_part){&h->p[t], h->own.n};
    }
    *p++ = (struct block_part){&h->pixels, BATCH * (size_t)h->s->size};
    *p++ = (struct block_part){&h->x, BATCH * dim};
    *p++ = (struct block_part){&h->dx, BATCH * dim};
    *p++ = (struct block_part){&h->draws, (size_t)(CLASSES * c->head_each) * dim};
    return block_cut(block, part, (int)(p - part));
}

struct hide *hide_new(const struct hide_cfg *c, const float *theta,
                      const struct continual_tasks *s, struct rng r,
                      const struct lab_tick *tick, struct err *e)
{
    assert(c->epochs >= 1 && c->epochs <= HIDE_EPOCHS && c->head_each >= 1);
    assert(c->encoder.dim <= HIDE_DIM && s->size == c->encoder.side * c->encoder.side);
    struct hide want = {.c = *c, .theta = theta, .s = s, .rng = r, .tick = tick};
    want.own.n = encoder_prompt_floats(&c->encoder, c->length);
    want.factors.n = 2 * (size_t)c->encoder.blocks;
    size_t floats = hide_cut(&want, NULL);
    size_t ints = (size_t)hide_largest(s) + 2 * CLASSES * (size_t)c->head_each;
    struct hide *h = calloc(1, sizeof *h + floats * sizeof(float) + ints * sizeof(int));
    if (!h) {
        err_set(e, ERR_MEMORY, "no memory for a learner of prompts");
        return NULL;
    }
    *h = want;
    hide_cut(h, h->block);
    h->order = (int *)(h->block + floats);
    h->draw_label = h->order + hide_largest(s);
    h->draw_order = h->draw_label + CLASSES * c->head_each;
    for (int b = 0; b < c->encoder.blocks; b++) {
        h->gate[b] = (struct residual){c->gate, 1, 1};
        h->factors.x[2 * b] = h->factors.x[2 * b + 1] = 1;
    }
    init_normal(h->own.x, h->own.n, 1, &h->rng);

    h->encoder = encoder_new(&c->encoder, BATCH, c->length, e);
    h->psi = softhead_new(c->encoder.dim, CLASSES, BATCH, e);
    h->omega = softhead_new(c->encoder.dim, CLASSES, BATCH, e);
    if (h->encoder && h->psi && h->omega) return h;
    hide_free(h);
    return NULL;
}

void hide_free(struct hide *h)
{
    if (!h) return;
    encoder_free(h->encoder);
    softhead_free(h->psi);
    softhead_free(h->omega);
    free(h);
}

/* ---- features ---- */

static struct encoder_prompt prompt_of(const struct hide *h, const float *vectors)
{
    struct encoder_prompt p = {.length = h->c.length, .vectors = vectors};
    memcpy(p.gate, h->gate, sizeof p.gate);
    return p;
}

/* task < 0: without prompt */
static void features(struct hide *h, float *x, const float *pixels, int n, int task)
{
    if (task < 0 || !h->c.length) {
        encoder_forward(h->encoder, x, h->theta, pixels, n, NULL);
        return;
    }
    struct encoder_prompt p = prompt_of(h, h->p[task]);
    encoder_forward(h->encoder, x, h->theta, pixels, n, &p);
}

static int batch_at(int at, int n)
{
    return n - at < BATCH ? n - at : BATCH;
}

/* A Gaussian for each class of task t, of features with the prompt of `task`. h->draws collects the
 * rows of one class, batch by batch. */
static void remember(struct hide *h, struct hide_gauss *g, int t, int task)
{
    const struct continual_part *train = &h->s->task[t].train;
    int dim = h->c.encoder.dim, size = h->s->size;
    int room = CLASSES * h->c.head_each;
    for (int c = 0; c < CLASSES; c++) {
        if (!(h->s->task[t].classes >> c & 1)) continue;
        int n = 0, waiting = 0;
        for (int i = 0; i <= train->n; i++) {
            if (i < train->n && train->label[i] == c)
                memcpy(h->pixels + (size_t)(waiting++ * size),
                       train->pixels + (size_t)i * (size_t)size,
                       sizeof(float) * (size_t)size);
            if (waiting < BATCH && i < train->n) continue;
            if (waiting > room - n) waiting = room - n;
            if (waiting) features(h, h->draws + n * dim, h->pixels, waiting, task);
            n += waiting;
            waiting = 0;
        }
        hide_gauss_fit(&g[c], h->draws, n, dim);
    }
}

/* ---- TII and TAP: a head learns from draws of all classes so far ---- */

static void learn_head(struct hide *h, struct softhead *head, const struct hide_gauss *g)
{
    int dim = h->c.encoder.dim, each = h->c.head_each;
    for (int epoch = 0; epoch < h->c.head_epochs; epoch++) {
        int n = 0;
        for (int c = 0; c < CLASSES; c++) {
            if (!(h->seen >> c & 1)) continue;
            hide_gauss_draw(h->draws + n * dim, &g[c], each, &h->rng);
            for (int i = 0; i < each; i++)
                h->draw_label[n++] = c;
        }
        continual_order(h->draw_order, n, &h->rng);
        for (int at = 0; at < n; at += BATCH) {
            const struct continual_part draws = {n, h->draws, h->draw_label};
            int label[BATCH], rows = batch_at(at, n);
            continual_batch(h->x, label, &draws, h->draw_order + at, rows, dim);
            softhead_learn(head, NULL, h->x, label, h->seen, rows, h->c.head_lr);
        }
    }
}

/* ---- WTP ---- */

static void hide_step(struct adaptive *a, double lr, float scale)
{
    struct adam_cfg c = adam_cfg_default();
    c.lr = lr;
    adam_step(a->x, a->m, a->v, a->grad, a->n, &c, ++a->t, scale);
}

/* p_t of the e so far and the own one */
static void combine(struct hide *h, int t)
{
    float a = t ? (float)h->c.ensemble : 0;
    for (size_t i = 0; i < h->own.n; i++) {
        float sum = 0;
        for (int k = 0; k < t; k++)
            sum += h->e[k][i];
        h->p[t][i] = a * sum + (1 - a) * h->own.x[i];
    }
}

static void learn_factors(struct hide *h, const double *alpha, const double *tau)
{
    for (int b = 0; b < h->c.encoder.blocks; b++) {
        h->factors.grad[2 * b] = h->c.learn_alpha ? (float)alpha[b] : 0;
        h->factors.grad[2 * b + 1] = h->c.learn_tau ? (float)tau[b] : 0;
    }
    hide_step(&h->factors, h->c.lr, 1);
    for (int b = 0; b < h->c.encoder.blocks; b++) {
        h->gate[b].alpha = (double)h->factors.x[2 * b];
        h->gate[b].tau = (double)h->factors.x[2 * b + 1];
    }
}

static void push_away(struct hide *h, int n)
{
    float mu[CLASSES * HIDE_DIM];
    int k = 0, dim = h->c.encoder.dim;
    for (int c = 0; c < CLASSES; c++)
        if (h->seen >> c & 1)
            memcpy(mu + k++ * dim, h->instructed[c].mean, sizeof(float) * (size_t)dim);
    hide_contrast(h->dx, h->x, n, mu, k, dim, h->c.temperature, h->c.contrast);
}

static void learn_batch(struct hide *h, int t, const int *order, int n)
{
    const struct continual_task *task = &h->s->task[t];
    double alpha[ENCODER_BLOCKS], tau[ENCODER_BLOCKS];
    int label[BATCH];
    continual_batch(h->pixels, label, &task->train, order, n, h->s->size);
    combine(h, t);
    struct encoder_prompt p = prompt_of(h, h->p[t]);
    encoder_forward(h->encoder, h->x, h->theta, h->pixels, n, &p);
    softhead_learn(h->psi, h->dx, h->x, label, task->classes, n, h->c.lr);
    if (t && h->c.contrast > 0) push_away(h, n);

    bool factors =
        !t && h->c.gate != RESIDUAL_LINEAR && (h->c.learn_alpha || h->c.learn_tau);
    const struct encoder_grad g = {.vectors = h->own.grad,
                                   .alpha = factors ? alpha : NULL,
                                   .tau = factors ? tau : NULL};
    encoder_backward(h->encoder, &g, h->dx);
    hide_step(&h->own, h->c.lr, t ? 1 - (float)h->c.ensemble : 1);
    if (factors) learn_factors(h, alpha, tau);
}

static double first_loss(struct hide *h)
{
    const struct continual_part *test = &h->s->task[0].test;
    double sum = 0;
    combine(h, 0);
    for (int at = 0; at < test->n; at += BATCH) {
        int n = batch_at(at, test->n);
        features(h, h->x, test->pixels + (size_t)at * (size_t)h->s->size, n, 0);
        sum += n * softhead_loss(h->psi, NULL, h->x, test->label + at,
                                 h->s->task[0].classes, n);
    }
    return sum / test->n;
}

static bool learn_prompt(struct hide *h, int t)
{
    int n = h->s->task[t].train.n;
    size_t bytes = h->own.n * sizeof(float);
    memset(h->own.m, 0, bytes);
    memset(h->own.v, 0, bytes);
    h->own.t = 0;
    if (!t) h->first[0] = first_loss(h);
    for (int epoch = 0; epoch < h->c.epochs; epoch++) {
        if (lab_tick(h->tick, (t + (double)epoch / h->c.epochs) / TASKS)) return true;
        continual_order(h->order, n, &h->rng);
        for (int at = 0; at < n; at += BATCH)
            learn_batch(h, t, h->order + at, batch_at(at, n));
        if (!t) h->first[epoch + 1] = first_loss(h);
    }
    memcpy(h->e[t], h->own.x, bytes);
    combine(h, t);
    return false;
}

static bool hide_learn(void *self, int t)
{
    struct hide *h = self;
    remember(h, h->plain, t, -1);
    if (h->c.length && learn_prompt(h, t)) return true;
    for (int c = 0; c < CLASSES; c++)
        if (h->s->task[t].classes >> c & 1) h->task_of[c] = t;
    h->seen |= h->s->task[t].classes;
    h->learned = t + 1;
    learn_head(h, h->omega, h->plain);
    if (!h->c.length) return false;
    remember(h, h->instructed, t, t);
    learn_head(h, h->psi, h->instructed);
    return false;
}

/* ---- answers ---- */

/* The task of each image by omega; n <= BATCH. */
static void infer(struct hide *h, int *task, const float *pixels, int n)
{
    features(h, h->x, pixels, n, -1);
    softhead_classify(h->omega, task, h->x, h->seen, n);
    for (int i = 0; i < n; i++)
        task[i] = h->task_of[task[i]];
}

/* Classifies the images whose entry of `of` is the task: psi on features with the task's prompt. */
static void hide_answer(struct hide *h, int *label, const float *pixels, const int *of,
                        int n, int task, uint32_t mask)
{
    int got[BATCH], size = h->s->size, k = 0;
    for (int i = 0; i < n; i++)
        if (of[i] == task)
            memcpy(h->pixels + (size_t)(k++ * size), pixels + (size_t)(i * size),
                   sizeof(float) * (size_t)size);
    if (!k) return;
    features(h, h->x, h->pixels, k, task);
    softhead_classify(h->psi, got, h->x, mask, k);
    k = 0;
    for (int i = 0; i < n; i++)
        if (of[i] == task) label[i] = got[k++];
}

static void classify(void *self, int *label, const float *pixels, int n, int task)
{
    struct hide *h = self;
    uint32_t mask = task < 0 ? h->seen : h->s->task[task].classes;
    assert(n <= BATCH);
    if (!h->c.length) {
        features(h, h->x, pixels, n, -1);
        softhead_classify(h->omega, label, h->x, mask, n);
        return;
    }
    int of[BATCH];
    if (task < 0)
        infer(h, of, pixels, n);
    else
        for (int i = 0; i < n; i++)
            of[i] = task;
    for (int t = 0; t < h->learned; t++)
        hide_answer(h, label, pixels, of, n, t, mask);
}

struct continual_learner hide_learner(struct hide *h)
{
    return (struct continual_learner){h, hide_learn, classify};
}

double hide_inferred(struct hide *h)
{
    int right = 0, all = 0, of[BATCH];
    for (int t = 0; t < h->learned; t++) {
        const struct continual_part *test = &h->s->task[t].test;
        for (int at = 0; at < test->n; at += BATCH) {
            int n = batch_at(at, test->n);
            infer(h, of, test->pixels + (size_t)at * (size_t)h->s->size, n);
            for (int i = 0; i < n; i++)
                right += of[i] == t;
        }
        all += test->n;
    }
    return (double)right / all;
}

const double *hide_first_task(const struct hide *h)
{
    return h->first;
}

struct residual hide_gate(const struct hide *h, int block)
{
    return h->gate[block];
}

const float *hide_prompt(const struct hide *h, int t)
{
    return h->p[t];
}

#include "policy/identity.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

enum { BINS = 10 };
static const double CLIP = 5;
static const double RATE_T = .002, STEP_MAX = 10; /* of ln T */
static const double T_MIN = .1, T_MAX = 20;

/* Sums over examples with exponential forgetting. */
struct figures {
    double weight, correct, loss;
    double bin[BINS], confident[BINS], right[BINS];
};

/* What changes and is not an array. */
struct head {
    int32_t classes;
    uint64_t examples;
    double ln_t;
    struct figures figures;
};

struct identity {
    struct identity_cfg cfg;
    struct head head;
    /* everything below is one block, in this order */
    double *mean, *m2; /* (dim), of Welford's algorithm */
    float *w,
        *w_sq; /* (dim + 1, classes_max): the last row is b; sums of squared gradients */
    uint64_t *seen; /* (classes_max) */
    float *kept;    /* (classes_max, memory, dim) */
    size_t block;   /* bytes */
};

struct identity_cfg identity_cfg_default(int dim, int classes)
{
    return (struct identity_cfg){.dim = dim,
                                 .classes = classes,
                                 .classes_max = classes > 16 ? classes : 16,
                                 .rate = .05,
                                 .l2 = 1e-3,
                                 .memory = 256,
                                 .rehearse = 1};
}

static int identity_check(const struct identity_cfg *c, struct err *e)
{
    if (c->dim < 1 || c->dim > IDENTITY_DIM_MAX)
        return err_field(e, ERR_RANGE, "dim", "%d is not within 1 .. %d", c->dim,
                         IDENTITY_DIM_MAX);
    if (c->classes_max < 1 || c->classes_max > IDENTITY_CLASSES_MAX)
        return err_field(e, ERR_RANGE, "classes_max", "%d is not within 1 .. %d",
                         c->classes_max, IDENTITY_CLASSES_MAX);
    if (c->classes < 1 || c->classes > c->classes_max)
        return err_field(e, ERR_RANGE, "classes", "%d is not within 1 .. %d", c->classes,
                         c->classes_max);
    if (!(c->rate > 0 && c->rate <= 10))
        return err_field(e, ERR_RANGE, "rate", "%g is not within 0 .. 10", c->rate);
    if (!(c->l2 >= 0 && c->l2 <= 1))
        return err_field(e, ERR_RANGE, "l2", "%g is not within 0 .. 1", c->l2);
    if (c->memory < 0 || c->memory > IDENTITY_MEMORY_MAX)
        return err_field(e, ERR_RANGE, "memory", "%d is not within 0 .. %d", c->memory,
                         IDENTITY_MEMORY_MAX);
    if (c->rehearse < 0 || c->rehearse > 64)
        return err_field(e, ERR_RANGE, "rehearse", "%d is not within 0 .. 64",
                         c->rehearse);
    return 0;
}

struct identity *identity_new(const struct identity_cfg *cfg, struct err *e)
{
    if (identity_check(cfg, e)) return NULL;
    size_t dim = (size_t)cfg->dim, most = (size_t)cfg->classes_max;
    size_t n_w = (dim + 1) * most, n_kept = most * (size_t)cfg->memory * dim;
    struct identity *h = calloc(1, sizeof *h);
    size_t block = 2 * dim * sizeof(double) + most * sizeof(uint64_t) +
                   (2 * n_w + n_kept) * sizeof(float);
    if (h) h->mean = calloc(1, block);
    if (!h || !h->mean) {
        identity_free(h);
        err_set(e, ERR_MEMORY, "no memory for a classifier of %d classes", cfg->classes);
        return NULL;
    }
    h->cfg = *cfg;
    h->head.classes = cfg->classes;
    h->block = block;
    h->m2 = h->mean + dim;
    h->seen = (uint64_t *)(h->m2 + dim);
    h->w = (float *)(h->seen + most);
    h->w_sq = h->w + n_w;
    h->kept = h->w_sq + n_w;
    return h;
}

void identity_free(struct identity *h)
{
    if (!h) return;
    free(h->mean);
    free(h);
}

int identity_classes(const struct identity *h)
{
    return h->head.classes;
}

/* ---- scores ---- */

/* 0 for a feature that never changes */
static double standardised(const struct identity *h, const float *x, int j)
{
    double n = (double)h->head.examples;
    double var = n > 1 ? h->m2[j] / n : 0;
    if (var < 1e-10) return 0;
    double u = ((double)x[j] - h->mean[j]) / sqrt(var);
    return fmin(fmax(u, -CLIP), CLIP);
}

static float *identity_row(const struct identity *h, int j)
{
    return h->w + (size_t)j * (size_t)h->cfg.classes_max;
}

static void raw_scores(double *z, const struct identity *h, const float *x)
{
    int n = h->head.classes;
    const float *b = identity_row(h, h->cfg.dim);
    for (int v = 0; v < n; v++)
        z[v] = (double)b[v];
    for (int j = 0; j < h->cfg.dim; j++) {
        double u = standardised(h, x, j);
        if (u == 0) continue;
        const float *w = identity_row(h, j);
        for (int v = 0; v < n; v++)
            z[v] += (double)w[v] * u;
    }
}

/* p may be z; returns the best class. */
static int softmax(double *p, const double *z, int n)
{
    int best = 0;
    for (int v = 1; v < n; v++)
        if (z[v] > z[best]) best = v;
    double top = z[best], sum = 0;
    for (int v = 0; v < n; v++)
        sum += p[v] = exp(z[v] - top);
    for (int v = 0; v < n; v++)
        p[v] /= sum;
    return best;
}

static bool identity_all_finite(const float *x, int n)
{
    for (int j = 0; j < n; j++)
        if (!isfinite(x[j])) return false;
    return true;
}

int identity_scores(double *z, const struct identity *h, const float *x)
{
    if (!identity_all_finite(x, h->cfg.dim)) {
        memset(z, 0, (size_t)h->head.classes * sizeof *z);
        return ERR_NUMERIC;
    }
    raw_scores(z, h, x);
    double beta = exp(-h->head.ln_t);
    for (int v = 0; v < h->head.classes; v++)
        z[v] *= beta;
    return 0;
}

int identity_guess(double *p, const struct identity *h, const float *x)
{
    double z[IDENTITY_CLASSES_MAX];
    (void)identity_scores(z, h, x);
    return softmax(p ? p : z, z, h->head.classes);
}

/* s_v */
static double identity_share(const struct identity *h, int v)
{
    return ((double)h->seen[v] + 1) / ((double)h->head.examples + h->head.classes);
}

double identity_skill(const struct identity *h)
{
    const struct figures *f = &h->head.figures;
    double entropy = 0;
    for (int v = 0; v < h->head.classes; v++)
        entropy -= identity_share(h, v) * log(identity_share(h, v));
    return f->weight > 0 && entropy > 0 ? fmax(0, 1 - f->loss / f->weight / entropy) : 0;
}

int identity_posterior(double *q, const struct identity *h, const float *x,
                       const double *prior)
{
    int n = h->head.classes, best = 0;
    double p[IDENTITY_CLASSES_MAX], sum = 0;
    double skill = identity_all_finite(x, h->cfg.dim) ? identity_skill(h) : 0;
    (void)identity_guess(p, h, x);
    for (int v = 0; v < n; v++) {
        q[v] = prior[v] * pow(p[v] / identity_share(h, v), skill);
        sum += q[v];
        if (q[v] > q[best]) best = v;
    }
    for (int v = 0; v < n; v++)
        q[v] /= sum;
    return best;
}

/* ---- learning ---- */

static void identity_judge(struct figures *f, const double *p, int guess, int y)
{
    double keep = 1 - 1.0 / IDENTITY_WINDOW;
    int bin = (int)fmin(p[guess] * BINS, BINS - 1);
    f->weight = keep * f->weight + 1;
    f->correct = keep * f->correct + (guess == y);
    f->loss = keep * f->loss - log(fmax(p[y], 1e-12));
    for (int i = 0; i < BINS; i++) {
        f->bin[i] *= keep;
        f->confident[i] *= keep;
        f->right[i] *= keep;
    }
    f->bin[bin]++;
    f->confident[bin] += p[guess];
    f->right[bin] += guess == y;
}

/* One step down d(-ln p_y) / d ln T = (z_y - sum_v p_v z_v) / T; its size is bounded. */
static void calibrate(struct head *h, const double *z, const double *p, int y)
{
    double mean = 0;
    for (int v = 0; v < h->classes; v++)
        mean += p[v] * z[v];
    double slope = fmin(fmax(z[y] - mean, -STEP_MAX), STEP_MAX);
    h->ln_t -= RATE_T * slope;
    h->ln_t = fmin(fmax(h->ln_t, log(T_MIN)), log(T_MAX));
}

static void descend(struct identity *h, const float *x, int y)
{
    int n = h->head.classes;
    double p[IDENTITY_CLASSES_MAX];
    raw_scores(p, h, x);
    softmax(p, p, n);
    p[y] -= 1;
    for (int j = 0; j <= h->cfg.dim; j++) {
        bool bias = j == h->cfg.dim;
        double u = bias ? 1 : standardised(h, x, j);
        if (u == 0) continue;
        float *w = identity_row(h, j);
        float *sq = w + (h->w_sq - h->w);
        for (int v = 0; v < n; v++) {
            double g = p[v] * u + (bias ? 0 : h->cfg.l2 * (double)w[v]);
            sq[v] += (float)(g * g);
            w[v] -= (float)(h->cfg.rate * g / sqrt(1 + (double)sq[v]));
        }
    }
}

static void identity_measure(struct identity *h, const float *x)
{
    double n = (double)h->head.examples;
    for (int j = 0; j < h->cfg.dim; j++) {
        double d = (double)x[j] - h->mean[j];
        h->mean[j] += d / n;
        h->m2[j] += d * ((double)x[j] - h->mean[j]);
    }
}

static float *kept(const struct identity *h, int y, uint64_t i)
{
    return h->kept + ((size_t)y * (size_t)h->cfg.memory + (size_t)i) * (size_t)h->cfg.dim;
}

static void identity_keep(struct identity *h, const float *x, int y)
{
    uint64_t room = (uint64_t)h->cfg.memory, i = h->seen[y]++;
    if (i >= room) i = rng_u64_at(h->cfg.seed, (uint64_t)y, i) % (i + 1);
    if (i < room) memcpy(kept(h, y, i), x, (size_t)h->cfg.dim * sizeof *x);
}

static void rehearse(struct identity *h)
{
    for (int k = 0; k < h->cfg.rehearse && h->cfg.memory; k++) {
        uint64_t counter = 2 * (uint64_t)k, at = h->head.examples;
        uint64_t draw = rng_u64_at(~h->cfg.seed, at, counter) % at;
        int y = 0;
        while (draw >= h->seen[y])
            draw -= h->seen[y++];
        uint64_t there = h->seen[y], room = (uint64_t)h->cfg.memory;
        if (there > room) there = room;
        draw = rng_u64_at(~h->cfg.seed, at, counter + 1) % there;
        descend(h, kept(h, y, draw), y);
    }
}

int identity_learn(struct identity *h, const float *x, int y, struct err *e)
{
    assert(y >= 0 && y < h->head.classes);
    if (!identity_all_finite(x, h->cfg.dim))
        return err_set(e, ERR_NUMERIC, "an example has inputs that are not finite");

    double z[IDENTITY_CLASSES_MAX], p[IDENTITY_CLASSES_MAX];
    (void)identity_scores(z, h, x);
    int guess = softmax(p, z, h->head.classes);
    identity_judge(&h->head.figures, p, guess, y);
    calibrate(&h->head, z, p, y);

    h->head.examples++;
    identity_measure(h, x);
    identity_keep(h, x, y);
    descend(h, x, y);
    rehearse(h);
    return 0;
}

/* Weights 0, and a bias below the highest of the other classes. */
static void begin_class(struct identity *h, int y)
{
    float *b = identity_row(h, h->cfg.dim);
    float top = -INFINITY;
    for (int v = 0; v < h->head.classes; v++)
        if (v != y) top = fmaxf(top, b[v]);
    for (int j = 0; j <= h->cfg.dim; j++) {
        float *w = identity_row(h, j) + y;
        *w = 0;
        w[h->w_sq - h->w] = 0;
    }
    b[y] = isfinite(top) ? top - (float)IDENTITY_NEW : 0;
}

int identity_grow(struct identity *h, struct err *e)
{
    int n = h->head.classes;
    if (n == h->cfg.classes_max)
        return err_set(e, ERR_RANGE, "the classifier has room for %d classes", n);
    begin_class(h, n);
    h->head.classes++;
    return n;
}

void identity_forget(struct identity *h, int y)
{
    assert(y >= 0 && y < h->head.classes);
    uint64_t before = h->head.examples, after = before - h->seen[y];
    for (int j = 0; j < h->cfg.dim && before; j++)
        h->m2[j] *= (double)after / (double)before; /* the deviation stays */
    h->head.examples = after;
    h->seen[y] = 0;
    begin_class(h, y);
}

void identity_copy(struct identity *to, const struct identity *from)
{
    assert(to->cfg.dim == from->cfg.dim && to->cfg.classes_max == from->cfg.classes_max);
    size_t dim = (size_t)from->cfg.dim;
    to->head = from->head;
    memcpy(to->seen, from->seen, (size_t)from->cfg.classes_max * sizeof *to->seen);
    memcpy(to->mean, from->mean, 2 * dim * sizeof *to->mean);
    memcpy(to->w, from->w, (dim + 1) * (size_t)from->cfg.classes_max * sizeof *to->w);
}

void identity_stats(struct identity_stats *out, const struct identity *h)
{
    const struct figures *f = &h->head.figures;
    *out = (struct identity_stats){.examples = h->head.examples,
                                   .accuracy = f->correct / f->weight,
                                   .log_loss = f->loss / f->weight,
                                   .temperature = exp(h->head.ln_t)};
    for (int i = 0; i < BINS; i++)
        out->calibration += fabs(f->confident[i] - f->right[i]);
    out->calibration /= f->weight;
    memcpy(out->seen, h->seen, (size_t)h->head.classes * sizeof *h->seen);
}

/* ---- state: configuration, head, block ---- */

size_t identity_state_size(const struct identity *h)
{
    return sizeof h->cfg + sizeof h->head + h->block;
}

void identity_state_get(const struct identity *h, void *out)
{
    char *at = out;
    memcpy(at, &h->cfg, sizeof h->cfg);
    memcpy(at + sizeof h->cfg, &h->head, sizeof h->head);
    memcpy(at + sizeof h->cfg + sizeof h->head, h->mean, h->block);
}

/* Does the state fit this head, whatever number of classes it began with? */
static bool identity_fits(const struct identity *h, struct identity_cfg theirs,
                          const struct head *head)
{
    const struct identity_cfg *ours = &h->cfg;
    return theirs.dim == ours->dim && theirs.classes_max == ours->classes_max &&
           theirs.memory == ours->memory && theirs.seed == ours->seed &&
           head->classes >= h->head.classes && head->classes <= ours->classes_max &&
           isfinite(head->ln_t);
}

/* Every float finite, and as many examples as the classes say. */
static bool identity_sound(const struct identity *h, const struct head *head,
                           const char *block)
{
    size_t dim = (size_t)h->cfg.dim, most = (size_t)h->cfg.classes_max;
    uint64_t seen = 0, one;
    for (size_t v = 0; v < most; v++) {
        memcpy(&one, block + 2 * dim * sizeof(double) + v * sizeof one, sizeof one);
        seen += one;
    }
    if (seen != head->examples) return false;
    for (size_t j = 0; j < 2 * dim; j++) {
        double d;
        memcpy(&d, block + j * sizeof d, sizeof d);
        if (!isfinite(d)) return false;
    }
    size_t at = 2 * dim * sizeof(double) + most * sizeof(uint64_t);
    for (; at < h->block; at += sizeof(float)) {
        float f;
        memcpy(&f, block + at, sizeof f);
        if (!isfinite(f)) return false;
    }
    return true;
}

int identity_state_put(struct identity *h, const void *in, size_t n, struct err *e)
{
    const char *at = in;
    struct identity_cfg cfg;
    struct head head;
    if (n != identity_state_size(h))
        return err_set(e, ERR_CORRUPT, "the classifier's state has %zu bytes, not %zu", n,
                       identity_state_size(h));
    memcpy(&cfg, at, sizeof cfg);
    memcpy(&head, at + sizeof cfg, sizeof head);
    at += sizeof cfg + sizeof head;
    if (!identity_fits(h, cfg, &head) || !identity_sound(h, &head, at))
        return err_set(e, ERR_CORRUPT, "the state is of another classifier, or damaged");
    h->head = head;
    memcpy(h->mean, at, h->block);
    return 0;
}

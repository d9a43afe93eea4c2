#include "lab/forgetting/digits.h"

#include "nn/act.h"
#include "nn/mlp.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUT = IMAGES_CLASSES };

/* ---- the set: which images show which digit, and the mean of all */

struct part {
    struct images *images;
    int *index;         /* sorted by digit */
    int first[OUT + 1]; /* of digit c: index[first[c] .. first[c + 1] - 1] */
};

struct digits_set {
    struct part train, test;
    double mean[DIGITS_PIXELS];    /* of the training part */
    double by[OUT][DIGITS_PIXELS]; /* of each digit there */
};

static int sort_part(struct part *p, const char *name, struct err *e)
{
    p->index = calloc((size_t)p->images->n, sizeof *p->index);
    if (!p->index) return err_set(e, ERR_MEMORY, "no memory for %d images", p->images->n);
    for (int c = 0; c < OUT; c++) {
        int n = images_of(p->index + p->first[c], p->images, c);
        if (!n) return err_field(e, ERR_INVALID, name, "no image shows the digit %d", c);
        p->first[c + 1] = p->first[c] + n;
    }
    return 0;
}

static void take_means(struct digits_set *set)
{
    const struct part *p = &set->train;
    int pixels = p->images->size;
    for (int c = 0; c < OUT; c++) {
        int n = p->first[c + 1] - p->first[c];
        for (int k = p->first[c]; k < p->first[c + 1]; k++) {
            const uint8_t *from = images_pixels(p->images, p->index[k]);
            for (int i = 0; i < pixels; i++)
                set->by[c][i] += from[i] / 255.0;
        }
        for (int i = 0; i < pixels; i++) {
            set->mean[i] += set->by[c][i] / p->images->n;
            set->by[c][i] /= n;
        }
    }
}

static int digits_fill(struct digits_set *set, struct err *e)
{
    const struct images *train = set->train.images, *test = set->test.images;
    if (train->size != test->size || train->size > DIGITS_PIXELS)
        return err_field(e, ERR_INVALID, "images",
                         "have %d and %d pixels, expected the same, at most %d",
                         train->size, test->size, DIGITS_PIXELS);
    int rc = sort_part(&set->train, "training images", e);
    if (!rc) rc = sort_part(&set->test, "test images", e);
    if (!rc) take_means(set);
    return rc;
}

struct digits_set *digits_set_new(struct images *train, struct images *test,
                                  struct err *e)
{
    struct digits_set *set = calloc(1, sizeof *set);
    if (!set) {
        images_free(train);
        images_free(test);
        err_set(e, ERR_MEMORY, "no memory for the images' index");
        return NULL;
    }
    set->train.images = train;
    set->test.images = test;
    if (!digits_fill(set, e)) return set;
    digits_set_free(set);
    return NULL;
}

static void report_absent(const struct lab_task *t, const struct err *why)
{
    char line[512];
    snprintf(line, sizeof line, "the part on MNIST is left out: %s %s", why->field,
             why->detail);
    report_heading(t->report, "Real images: MNIST");
    report_text(t->report, "%s", line);
    report_param(t->report, "MNIST", "left out, %s", why->detail);
    if (t->say) t->say(t->ctx, line);
}

int digits_set_find(struct digits_set **out, const struct lab_task *t, struct err *e)
{
    struct err why = {0};
    struct images *train = images_open(t, "mnist", IMAGES_TRAIN, &why);
    struct images *test = train ? images_open(t, "mnist", IMAGES_TEST, &why) : NULL;
    *out = NULL;
    if (test) {
        *out = digits_set_new(train, test, e);
        return *out ? 0 : ERR_INVALID;
    }
    images_free(train);
    if (why.code != ERR_ABSENT)
        return err_field(e, why.code, why.field, "%s", why.detail);
    report_absent(t, &why);
    return 0;
}

void digits_set_free(struct digits_set *set)
{
    if (!set) return;
    images_free(set->train.images);
    images_free(set->test.images);
    free(set->train.index);
    free(set->test.index);
    free(set);
}

static int digits_count_of(const struct part *p, int digit)
{
    return p->first[digit + 1] - p->first[digit];
}

/* ---- one repetition's tasks */

struct digits {
    const struct digits_set *set;
    struct digits_cfg cfg;
    struct mlp_cfg net;
    size_t size; /* parameters */
    int pixels;
    int digit[DIGITS_TASKS][OUT]; /* of each task */
    int name[DIGITS_TASKS][OUT];  /* that a task gives to a digit */
    int tests[DIGITS_TASKS];      /* how many test images */
    double signal[DIGITS_TASKS * DIGITS_PIXELS];
    double sigma0;

    /* in one block */
    float *start;                               /* the first weights */
    float *test;                                /* (tasks, cfg.tests, pixels) */
    float *x, *h, *y, *dh[2], *dy, *was, *grad; /* scratch */
    int *label; /* (tasks, cfg.tests) of the test images */
    float block[];
};

struct digits_cfg digits_cfg_default(void)
{
    return (struct digits_cfg){.tasks = 3,
                               .each = 5,
                               .own_names = true,
                               .s = DIGITS_SAMPLES,
                               .hidden = 32,
                               .steps = 40,
                               .tests = 400,
                               .rate = .2,
                               .fit = .1};
}

/* A random image of a random one of the task's digits. */
static int pick(const struct part *p, const struct digits *d, int task, struct rng *r)
{
    int digit = d->digit[task][rng_below(r, (uint32_t)d->cfg.each)];
    int at = (int)rng_below(r, (uint32_t)digits_count_of(p, digit));
    return p->index[p->first[digit] + at];
}

static void digits_shuffle(int order[OUT], struct rng *r)
{
    for (int c = 0; c < OUT; c++)
        order[c] = c;
    for (int c = OUT - 1; c > 0; c--) {
        int k = (int)rng_below(r, (uint32_t)c + 1), was = order[c];
        order[c] = order[k];
        order[k] = was;
    }
}

static void draw_tasks(struct digits *d, struct rng *r)
{
    for (int n = 0; n < d->cfg.tasks; n++) {
        digits_shuffle(d->digit[n], r);
        digits_shuffle(d->name[n], r);
        for (int c = 0; c < OUT && !d->cfg.own_names; c++)
            d->name[n][c] = c;
    }
}

/* The test images of a task: equally many of each digit, from a random one on. */
static void draw_tests(struct digits *d, int n, struct rng *r)
{
    const struct part *p = &d->set->test;
    int at = 0, each = d->cfg.tests / d->cfg.each;
    for (int c = 0; c < d->cfg.each; c++) {
        int digit = d->digit[n][c], all = digits_count_of(p, digit);
        int from = (int)rng_below(r, (uint32_t)all);
        for (int k = 0; k < each && k < all; k++, at++) {
            int image = p->index[p->first[digit] + (from + k) % all];
            size_t row = (size_t)n * (size_t)d->cfg.tests + (size_t)at;
            images_vector(d->test + row * (size_t)d->pixels, p->images, image);
            d->label[row] = d->name[n][digit];
        }
    }
    d->tests[n] = at;
}

/* in place: minus the mean of all images, to length 1 */
static void normalise(double *x, const struct digits *d)
{
    double sum = 0;
    for (int i = 0; i < d->pixels; i++) {
        x[i] -= d->set->mean[i];
        sum += x[i] * x[i];
    }
    for (int i = 0; i < d->pixels; i++)
        x[i] /= sum > 0 ? sqrt(sum) : 1;
}

static void take_signals(struct digits *d)
{
    int tasks = d->cfg.tasks;
    for (int n = 0; n < tasks; n++) {
        double *x = d->signal + n * d->pixels;
        for (int c = 0; c < d->cfg.each; c++)
            for (int i = 0; i < d->pixels; i++)
                x[i] += d->set->by[d->digit[n][c]][i] / d->cfg.each;
        normalise(x, d);
    }
    double square = 0;
    for (int i = 0; i < d->pixels; i++) {
        double mean = 0;
        for (int n = 0; n < tasks; n++)
            mean += d->signal[n * d->pixels + i] / tasks;
        for (int n = 0; n < tasks; n++)
            square += pow(d->signal[n * d->pixels + i] - mean, 2) / tasks;
    }
    d->sigma0 = sqrt(square / d->pixels);
}

/* the block's parts, in order; counts when d is NULL */
static size_t lay_out(struct digits *d, const struct digits_cfg *c, size_t size,
                      size_t pixels)
{
    size_t rows = (size_t)(c->s > c->tests ? c->s : c->tests);
    size_t tests = (size_t)c->tasks * (size_t)c->tests, hidden = (size_t)c->hidden;
    size_t s = (size_t)c->s, at = 0;
    struct digits none, *to = d ? d : &none;
    const struct {
        float **where;
        size_t n;
    } part[] = {
        {&to->start, size},          {&to->was, size},     {&to->grad, size},
        {&to->test, tests * pixels}, {&to->x, s * pixels}, {&to->h, rows * hidden},
        {&to->y, rows * OUT},        {&to->dy, s * OUT},   {&to->dh[0], s * hidden},
        {&to->dh[1], s * hidden},
    };
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        if (d) *part[i].where = d->block + at;
        at += part[i].n;
    }
    if (d) d->label = (int *)(d->block + at);
    return at + tests * sizeof(int) / sizeof(float);
}

struct digits *digits_new(const struct digits_set *set, const struct digits_cfg *cfg,
                          struct rng *r, struct err *e)
{
    assert(cfg->tasks >= 1 && cfg->tasks <= DIGITS_TASKS && cfg->each >= 1);
    assert(cfg->each <= OUT && cfg->tests >= cfg->each);
    assert(cfg->s >= 1 && cfg->s <= DIGITS_SAMPLES && cfg->hidden >= 1);
    int pixels = set->train.images->size;
    struct mlp_cfg net = {.in = pixels, .hidden = cfg->hidden, .layers = 1, .out = OUT};
    size_t size = mlp_size(&net), floats = lay_out(NULL, cfg, size, (size_t)pixels);
    struct digits *d = calloc(1, sizeof *d + floats * sizeof(float));
    if (!d) {
        err_set(e, ERR_MEMORY, "no memory for %d tasks of images", cfg->tasks);
        return NULL;
    }
    d->set = set, d->cfg = *cfg, d->net = net, d->size = size, d->pixels = pixels;
    lay_out(d, cfg, size, (size_t)pixels);
    draw_tasks(d, r);
    for (int n = 0; n < cfg->tasks; n++)
        draw_tests(d, n, r);
    mlp_init_uniform(d->start, &net, r);
    take_signals(d);
    return d;
}

void digits_free(struct digits *d)
{
    free(d);
}

int digits_pixels(const struct digits *d)
{
    return d->pixels;
}

const int *digits_of(const struct digits *d, int n)
{
    return d->digit[n];
}

const double *digits_signal(const struct digits *d)
{
    return d->signal;
}

double digits_sigma0(const struct digits *d)
{
    return d->sigma0;
}

size_t digits_expert(const struct digits *d)
{
    return d->size;
}

void digits_start(float *expert, const struct digits *d)
{
    memcpy(expert, d->start, sizeof *expert * d->size);
}

/* ---- a round */

void digits_draw(struct digits_round *round, const struct digits *d, int task,
                 struct rng *r)
{
    const struct part *p = &d->set->train;
    memset(round, 0, sizeof *round);
    round->task = task;
    for (int k = 0; k < d->cfg.s; k++) {
        round->image[k] = pick(p, d, task, r);
        const uint8_t *from = images_pixels(p->images, round->image[k]);
        for (int i = 0; i < d->pixels; i++)
            round->x[i] += from[i] / 255.0 / d->cfg.s;
    }
    normalise(round->x, d);
}

/* mean cross-entropy of the round's images, and its gradient by the outputs in d->dy */
static double loss(const float *expert, struct digits *d,
                   const struct digits_round *round)
{
    int s = d->cfg.s;
    double sum = 0;
    mlp_forward(d->y, &d->h, &d->net, expert, d->x, s);
    for (int k = 0; k < s; k++) {
        const float *y = d->y + k * OUT;
        float *dy = d->dy + k * OUT;
        int digit = d->set->train.images->labels[round->image[k]];
        int label = d->name[round->task][digit];
        sum += (double)(act_softmax(dy, y, OUT) - y[label]);
        dy[label] -= 1;
        for (int c = 0; c < OUT; c++)
            dy[c] /= (float)s;
    }
    return sum / s;
}

double digits_learn(float *expert, struct digits *d, const struct digits_round *round)
{
    for (int k = 0; k < d->cfg.s; k++)
        images_vector(d->x + k * d->pixels, d->set->train.images, round->image[k]);
    memcpy(d->was, expert, sizeof *expert * d->size);
    for (int step = 0; step < d->cfg.steps; step++) {
        if (loss(expert, d, round) <= d->cfg.fit) break;
        mlp_backward(d->grad, d->dh[0], d->dh[1], &d->net, expert, d->x, &d->h, d->dy,
                     d->cfg.s);
        for (size_t i = 0; i < d->size; i++)
            expert[i] -= (float)d->cfg.rate * d->grad[i];
    }
    double moved = 0;
    for (size_t i = 0; i < d->size; i++) {
        double by = (double)expert[i] - (double)d->was[i];
        moved += by * by;
    }
    return sqrt(moved);
}

double digits_error(const float *expert, struct digits *d, int task)
{
    size_t row = (size_t)task * (size_t)d->cfg.tests;
    int n = d->tests[task], wrong = 0;
    mlp_forward(d->y, &d->h, &d->net, expert, d->test + row * (size_t)d->pixels, n);
    for (int k = 0; k < n; k++)
        wrong += act_argmax(d->y + k * OUT, OUT) != d->label[row + (size_t)k];
    return (double)wrong / n;
}

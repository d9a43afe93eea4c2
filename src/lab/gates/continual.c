#include "lab/gates/continual.h"

#include "nn/simd/kern.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* ---- tasks made of images ---- */

static void swap(int *a, int *b)
{
    int was = *a;
    *a = *b;
    *b = was;
}

/* the first k of n become a random choice in random order (Fisher and Yates) */
static void continual_shuffle(int *x, int n, int k, struct rng *r)
{
    for (int i = 0; i < k && i < n - 1; i++)
        swap(&x[i], &x[i + (int)rng_below(r, (uint32_t)(n - i))]);
}

void continual_order(int *order, int n, struct rng *r)
{
    for (int i = 0; i < n; i++)
        order[i] = i;
    continual_shuffle(order, n, n, r);
}

/* indices of the chosen images, mixed; returns how many */
static int continual_choose(int *chosen, int *scratch, const struct images *from,
                            uint32_t classes, int each, struct rng *r)
{
    int n = 0;
    for (int c = 0; c < IMAGES_CLASSES; c++) {
        if (!(classes >> c & 1)) continue;
        int have = images_of(scratch, from, c), k = have < each ? have : each;
        continual_shuffle(scratch, have, k, r);
        for (int i = 0; i < k; i++)
            chosen[n++] = scratch[i];
    }
    continual_shuffle(chosen, n, n, r);
    return n;
}

int continual_draw(struct continual_part *out, const struct images *from,
                   uint32_t classes, int each, struct rng *r, struct err *e)
{
    *out = (struct continual_part){0};
    int *index = malloc(2 * sizeof(int) * (size_t)from->n);
    if (!index) return err_set(e, ERR_MEMORY, "no memory for %d images", from->n);
    int n = continual_choose(index, index + from->n, from, classes, each, r);
    size_t floats = (size_t)(n ? n : 1) * (size_t)from->size;
    out->pixels = malloc(floats * sizeof(float));
    out->label = malloc((size_t)(n ? n : 1) * sizeof(int));
    if (!out->pixels || !out->label) {
        free(index);
        continual_part_free(out);
        return err_set(e, ERR_MEMORY, "no memory for %d images", n);
    }
    out->n = n;
    for (int i = 0; i < n; i++) {
        images_vector(out->pixels + (size_t)i * (size_t)from->size, from, index[i]);
        out->label[i] = from->labels[index[i]];
    }
    free(index);
    return 0;
}

void continual_batch(float *pixels, int *label, const struct continual_part *p,
                     const int *place, int n, int size)
{
    kern_best()->gather(pixels, p->pixels, place, n, size);
    for (int i = 0; i < n; i++)
        label[i] = p->label[place[i]];
}

void continual_part_free(struct continual_part *p)
{
    free(p->pixels);
    free(p->label);
    *p = (struct continual_part){0};
}

void continual_tasks_free(struct continual_tasks *s)
{
    if (!s) return;
    for (int t = 0; t < CONTINUAL_TASKS; t++) {
        continual_part_free(&s->task[t].train);
        continual_part_free(&s->task[t].test);
    }
    free(s);
}

struct continual_tasks *continual_tasks_new(const struct images *train,
                                            const struct images *test, int train_each,
                                            int test_each, struct rng *r, struct err *e)
{
    enum { EACH = IMAGES_CLASSES / CONTINUAL_TASKS };
    assert(train->size == test->size);
    struct continual_tasks *s = calloc(1, sizeof *s);
    if (!s) {
        err_set(e, ERR_MEMORY, "no memory for tasks");
        return NULL;
    }
    s->size = train->size;
    int order[IMAGES_CLASSES];
    continual_order(order, IMAGES_CLASSES, r);
    for (int t = 0; t < CONTINUAL_TASKS; t++) {
        struct continual_task *task = &s->task[t];
        for (int k = 0; k < EACH; k++)
            task->classes |= UINT32_C(1) << order[t * EACH + k];
        if (continual_draw(&task->train, train, task->classes, train_each, r, e) ||
            continual_draw(&task->test, test, task->classes, test_each, r, e)) {
            continual_tasks_free(s);
            return NULL;
        }
    }
    return s;
}

/* ---- measures ---- */

double continual_after(const struct continual_scores *c, int t)
{
    double sum = 0;
    for (int i = 0; i <= t; i++)
        sum += c->s[i][t];
    return sum / (t + 1);
}

double continual_fa(const struct continual_scores *c)
{
    return continual_after(c, c->tasks - 1);
}

double continual_ca(const struct continual_scores *c)
{
    double sum = 0;
    for (int t = 0; t < c->tasks; t++)
        sum += continual_after(c, t);
    return sum / c->tasks;
}

double continual_fm(const struct continual_scores *c)
{
    int last = c->tasks - 1;
    double sum = 0;
    for (int i = 0; i < last; i++) {
        double most = c->s[i][i];
        for (int t = i + 1; t < last; t++)
            most = fmax(most, c->s[i][t]);
        sum += most - c->s[i][last];
    }
    return last ? sum / last : 0;
}

/* ---- a learner and its exams ---- */

enum { BATCH = 128 };

double continual_accuracy(const struct continual_learner *l,
                          const struct continual_part *p, int size, int task)
{
    int right = 0, label[BATCH];
    for (int at = 0; at < p->n; at += BATCH) {
        int n = p->n - at < BATCH ? p->n - at : BATCH;
        l->classify(l->self, label, p->pixels + (size_t)at * (size_t)size, n, task);
        for (int i = 0; i < n; i++)
            right += label[i] == p->label[at + i];
    }
    return (double)right / p->n;
}

bool continual_run(struct continual_result *out, const struct continual_tasks *s,
                   const struct continual_learner *l)
{
    *out = (struct continual_result){.blind = {.tasks = CONTINUAL_TASKS}};
    for (int t = 0; t < CONTINUAL_TASKS; t++) {
        if (l->learn(l->self, t)) return true;
        for (int i = 0; i <= t; i++)
            out->blind.s[i][t] = continual_accuracy(l, &s->task[i].test, s->size, -1);
    }
    for (int i = 0; i < CONTINUAL_TASKS; i++)
        out->told[i] = continual_accuracy(l, &s->task[i].test, s->size, i);
    return false;
}

double continual_told(const struct continual_result *i)
{
    double sum = 0;
    for (int t = 0; t < CONTINUAL_TASKS; t++)
        sum += i->told[t] / CONTINUAL_TASKS;
    return sum;
}

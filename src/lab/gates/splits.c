#include "lab/gates/splits.h"

#include <assert.h>
#include <stdlib.h>

static void swap(int *a, int *b)
{
    int was = *a;
    *a = *b;
    *b = was;
}

/* the first k of n become a random choice in random order (Fisher and Yates) */
static void splits_shuffle(int *x, int n, int k, struct rng *r)
{
    for (int i = 0; i < k && i < n - 1; i++)
        swap(&x[i], &x[i + (int)rng_below(r, (uint32_t)(n - i))]);
}

void splits_order(int *order, int n, struct rng *r)
{
    for (int i = 0; i < n; i++)
        order[i] = i;
    splits_shuffle(order, n, n, r);
}

/* indices of the chosen images, mixed; returns how many */
static int splits_choose(int *chosen, int *scratch, const struct images *from,
                         uint32_t classes, int each, struct rng *r)
{
    int n = 0;
    for (int c = 0; c < IMAGES_CLASSES; c++) {
        if (!(classes >> c & 1)) continue;
        int have = images_of(scratch, from, c), k = have < each ? have : each;
        splits_shuffle(scratch, have, k, r);
        for (int i = 0; i < k; i++)
            chosen[n++] = scratch[i];
    }
    splits_shuffle(chosen, n, n, r);
    return n;
}

int splits_draw(struct splits_part *out, const struct images *from, uint32_t classes,
                int each, struct rng *r, struct err *e)
{
    *out = (struct splits_part){0};
    int *index = malloc(2 * sizeof(int) * (size_t)from->n);
    if (!index) return err_set(e, ERR_MEMORY, "no memory for %d images", from->n);
    int n = splits_choose(index, index + from->n, from, classes, each, r);
    size_t floats = (size_t)(n ? n : 1) * (size_t)from->size;
    out->pixels = malloc(floats * sizeof(float));
    out->label = malloc((size_t)(n ? n : 1) * sizeof(int));
    if (!out->pixels || !out->label) {
        free(index);
        splits_part_free(out);
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

void splits_part_free(struct splits_part *p)
{
    free(p->pixels);
    free(p->label);
    *p = (struct splits_part){0};
}

void splits_free(struct splits *s)
{
    if (!s) return;
    for (int t = 0; t < SPLITS_TASKS; t++) {
        splits_part_free(&s->task[t].train);
        splits_part_free(&s->task[t].test);
    }
    free(s);
}

struct splits *splits_new(const struct images *train, const struct images *test,
                          int train_each, int test_each, struct rng *r, struct err *e)
{
    enum { EACH = IMAGES_CLASSES / SPLITS_TASKS };
    assert(train->size == test->size);
    struct splits *s = calloc(1, sizeof *s);
    if (!s) {
        err_set(e, ERR_MEMORY, "no memory for tasks");
        return NULL;
    }
    s->size = train->size;
    int order[IMAGES_CLASSES];
    splits_order(order, IMAGES_CLASSES, r);
    for (int t = 0; t < SPLITS_TASKS; t++) {
        struct splits_task *task = &s->task[t];
        for (int k = 0; k < EACH; k++)
            task->classes |= UINT32_C(1) << order[t * EACH + k];
        if (splits_draw(&task->train, train, task->classes, train_each, r, e) ||
            splits_draw(&task->test, test, task->classes, test_each, r, e)) {
            splits_free(s);
            return NULL;
        }
    }
    return s;
}

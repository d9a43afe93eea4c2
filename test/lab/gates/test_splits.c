#include "lab/gates/splits.h"

#include "support/alloc.h"

#include <check.h>
#include <stdbool.h>
#include <string.h>

enum { N = 60, SIZE = 4 };

/* image i has label i % 10 and its number in its first pixel */
struct set {
    uint8_t pixels[N * SIZE], labels[N];
    struct images images;
};

static void fill(struct set *s)
{
    memset(s, 0, sizeof *s);
    for (int i = 0; i < N; i++) {
        s->pixels[i * SIZE] = (uint8_t)i;
        s->labels[i] = (uint8_t)(i % 10);
    }
    s->images = (struct images){.n = N,
                                .rows = 2,
                                .cols = 2,
                                .size = SIZE,
                                .pixels = s->pixels,
                                .labels = s->labels};
}

static void check_part(const struct splits_part *p, uint32_t classes, int n)
{
    bool seen[N] = {false};
    ck_assert_int_eq(p->n, n);
    for (int i = 0; i < n; i++) {
        int image = (int)(p->pixels[i * SIZE] * 255 + .5f);
        ck_assert(!seen[image]);
        seen[image] = true;
        ck_assert_int_eq(p->label[i], image % 10);
        ck_assert(classes >> p->label[i] & 1);
    }
}

START_TEST(every_class_has_one_task)
{
    static struct set a, b;
    fill(&a);
    fill(&b);
    struct rng r;
    rng_init(&r, 1, 1);
    struct splits *s = splits_new(&a.images, &b.images, 4, 9, &r, NULL);
    uint32_t all = 0;
    for (int t = 0; t < SPLITS_TASKS; t++) {
        const struct splits_task *k = &s->task[t];
        ck_assert_int_eq(__builtin_popcount(k->classes), 2);
        ck_assert_uint_eq(all & k->classes, 0);
        all |= k->classes;
        check_part(&k->train, k->classes, 8);
        check_part(&k->test, k->classes, 12); /* six of each is all there is */
    }
    ck_assert_uint_eq(all, 1023);
    splits_free(s);
}
END_TEST

START_TEST(streams_differ_and_repeat)
{
    static struct set a;
    fill(&a);
    struct splits *s[3];
    for (int k = 0; k < 3; k++) {
        struct rng r;
        rng_init(&r, k == 2 ? 8 : 7, 1);
        s[k] = splits_new(&a.images, &a.images, 3, 3, &r, NULL);
    }
    size_t bytes = 6 * SIZE * sizeof(float);
    ck_assert_mem_eq(s[0]->task[1].train.pixels, s[1]->task[1].train.pixels, bytes);
    ck_assert_mem_ne(s[0]->task[1].train.pixels, s[2]->task[1].train.pixels, bytes);
    for (int k = 0; k < 3; k++)
        splits_free(s[k]);
}
END_TEST

static void *make(void *ctx, struct err *e)
{
    struct set *a = ctx;
    struct rng r;
    rng_init(&r, 7, 1);
    return splits_new(&a->images, &a->images, 3, 3, &r, e);
}

static void destroy(void *made)
{
    splits_free(made);
}

START_TEST(without_memory_it_says_so)
{
    static struct set a;
    fill(&a);
    ck_assert_int_eq(alloc_each_fails(make, destroy, &a), 1 + SPLITS_TASKS * 6);
}
END_TEST

Suite *suite_lab_gates_splits(void);
Suite *suite_lab_gates_splits(void)
{
    Suite *s = suite_create("lab/splits");
    TCase *t = tcase_create("all");
    tcase_add_test(t, every_class_has_one_task);
    tcase_add_test(t, streams_differ_and_repeat);
    tcase_add_test(t, without_memory_it_says_so);
    suite_add_tcase(s, t);
    return s;
}

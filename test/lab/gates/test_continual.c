#include "lab/gates/continual.h"

#include "support/alloc.h"
#include "support/suites.h"

#include <stdbool.h>
#include <string.h>

/* A_1 = .9, A_2 = (.7 + .8) / 2, A_3 = (.8 + .5 + .6) / 3; the first task was best at .9, the
 * second at .8 */
TEST(metrics_by_hand)
{
    const struct continual_scores c = {3, {{.9, .7, .8}, {9, .8, .5}, {9, 9, .6}}};
    ck_assert_double_eq_tol(continual_fa(&c), 1.9 / 3, 1e-12);
    ck_assert_double_eq_tol(continual_ca(&c), (.9 + .75 + 1.9 / 3) / 3, 1e-12);
    ck_assert_double_eq_tol(continual_fm(&c), (.1 + .3) / 2, 1e-12);
}

/* the best before the end counts, not the first one; a task that gains counts below 0 */
TEST(what_was_best_is_forgotten)
{
    const struct continual_scores c = {3, {{.5, .7, .6}, {0, .4, .9}, {0, 0, 1}}};
    ck_assert_double_eq_tol(continual_fm(&c), (.1 - .5) / 2, 1e-12);
}

TEST(one_task_forgets_nothing)
{
    const struct continual_scores c = {1, {{.25}}};
    ck_assert_double_eq(continual_fa(&c), .25);
    ck_assert_double_eq(continual_ca(&c), .25);
    ck_assert_double_eq(continual_fm(&c), 0);
}

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

static void check_part(const struct continual_part *p, uint32_t classes, int n)
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

TEST(every_class_has_one_task)
{
    static struct set a, b;
    fill(&a);
    fill(&b);
    struct rng r;
    rng_init(&r, 1, 1);
    struct continual_tasks *s = continual_tasks_new(&a.images, &b.images, 4, 9, &r, NULL);
    uint32_t all = 0;
    for (int t = 0; t < CONTINUAL_TASKS; t++) {
        const struct continual_task *k = &s->task[t];
        ck_assert_int_eq(__builtin_popcount(k->classes), 2);
        ck_assert_uint_eq(all & k->classes, 0);
        all |= k->classes;
        check_part(&k->train, k->classes, 8);
        check_part(&k->test, k->classes, 12); /* six of each is all there is */
    }
    ck_assert_uint_eq(all, 1023);
    continual_tasks_free(s);
}

TEST(streams_differ_and_repeat)
{
    static struct set a;
    fill(&a);
    struct continual_tasks *s[3];
    for (int k = 0; k < 3; k++) {
        struct rng r;
        rng_init(&r, k == 2 ? 8 : 7, 1);
        s[k] = continual_tasks_new(&a.images, &a.images, 3, 3, &r, NULL);
    }
    size_t bytes = 6 * SIZE * sizeof(float);
    ck_assert_mem_eq(s[0]->task[1].train.pixels, s[1]->task[1].train.pixels, bytes);
    ck_assert_mem_ne(s[0]->task[1].train.pixels, s[2]->task[1].train.pixels, bytes);
    for (int k = 0; k < 3; k++)
        continual_tasks_free(s[k]);
}

static void *make(void *ctx, struct err *e)
{
    struct set *a = ctx;
    struct rng r;
    rng_init(&r, 7, 1);
    return continual_tasks_new(&a->images, &a->images, 3, 3, &r, e);
}

static void destroy(void *made)
{
    continual_tasks_free(made);
}

TEST(without_memory_it_says_so)
{
    static struct set a;
    fill(&a);
    ck_assert_int_eq(alloc_each_fails(make, destroy, &a), 1 + CONTINUAL_TASKS * 6);
}

/* Five tasks of classes 2 t and 2 t + 1; an image is one pixel, its class. 200 images, so more than
 * one batch. */
enum { MANY = 200 };

static float pixels[CONTINUAL_TASKS][MANY];
static int labels[CONTINUAL_TASKS][MANY];

static struct continual_tasks tasks(void)
{
    struct continual_tasks s = {.size = 1};
    for (int t = 0; t < CONTINUAL_TASKS; t++) {
        for (int i = 0; i < MANY; i++)
            pixels[t][i] = (float)(labels[t][i] = 2 * t + i % 2);
        s.task[t] = (struct continual_task){.classes = UINT32_C(3) << 2 * t,
                                            .test = {MANY, pixels[t], labels[t]}};
    }
    return s;
}

/* knows the last task only; told the task, only its even class */
struct forgetful {
    int last, stop_at;
};

static bool learn(void *self, int t)
{
    struct forgetful *f = self;
    ck_assert_int_eq(t, f->last + 1);
    f->last = t;
    return t == f->stop_at;
}

static void classify(void *self, int *label, const float *x, int n, int task)
{
    const struct forgetful *f = self;
    ck_assert_int_le(n, 128);
    for (int i = 0; i < n; i++)
        label[i] = task >= 0 ? 2 * task : 2 * f->last + (int)x[i] % 2;
}

TEST(a_learner_that_forgets)
{
    struct continual_tasks s = tasks();
    struct forgetful f = {-1, -1};
    struct continual_result out;
    ck_assert(!continual_run(&out, &s, &(struct continual_learner){&f, learn, classify}));
    for (int t = 0; t < CONTINUAL_TASKS; t++)
        for (int i = 0; i <= t; i++)
            ck_assert_double_eq(out.blind.s[i][t], i == t ? 1 : 0);
    ck_assert_double_eq_tol(continual_fa(&out.blind), .2, 1e-12);
    ck_assert_double_eq_tol(continual_fm(&out.blind), 1, 1e-12);
    ck_assert_double_eq_tol(continual_told(&out), .5, 1e-12);
}

TEST(it_stops_when_asked)
{
    struct continual_tasks s = tasks();
    struct forgetful f = {-1, 2};
    struct continual_result out;
    ck_assert(continual_run(&out, &s, &(struct continual_learner){&f, learn, classify}));
    ck_assert_int_eq(f.last, 2);
}

SUITE(lab_gates_continual, metrics_by_hand, what_was_best_is_forgotten,
      one_task_forgets_nothing, every_class_has_one_task, streams_differ_and_repeat,
      without_memory_it_says_so, a_learner_that_forgets, it_stops_when_asked);

#include "nn/linear.h"

#include "base/rng.h"
#include "support/suites.h"

#include <math.h>
#include <string.h>

enum { N = 9, IN = 7, OUT = 5 };

struct bed {
    float x[N * IN], w[OUT * IN], b[OUT], y[N * OUT], dy[N * OUT];
    float dw[OUT * IN], db[OUT], dx[N * IN];
};

static void draw(float *x, int n, struct rng *r)
{
    for (int i = 0; i < n; i++)
        x[i] = (float)rng_normal(r);
}

static void bed_make(struct bed *b)
{
    struct rng r;
    rng_init(&r, 4, 4);
    memset(b, 0, sizeof *b);
    draw(b->x, N * IN, &r);
    draw(b->w, OUT * IN, &r);
    draw(b->b, OUT, &r);
    draw(b->dy, N * OUT, &r);
}

/* sum dy * y by plain loops; one parameter or input is moved by `step` */
static double loss(const struct bed *b, int n, const float *moved, double step)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < OUT; j++) {
            double y = (double)b->b[j] + (moved == &b->b[j] ? step : 0);
            for (int k = 0; k < IN; k++) {
                const float *w = &b->w[j * IN + k], *x = &b->x[i * IN + k];
                y += ((double)*w + (moved == w ? step : 0)) *
                     ((double)*x + (moved == x ? step : 0));
            }
            sum += y * (double)b->dy[i * OUT + j];
        }
    return sum;
}

static void check(const struct bed *b, int n, const float *at, const float *grad,
                  int count)
{
    for (int i = 0; i < count; i++) {
        double slope = (loss(b, n, at + i, 1e-5) - loss(b, n, at + i, -1e-5)) / 2e-5;
        ck_assert_double_eq_tol((double)grad[i], slope, 1e-4);
    }
}

TEST(value_and_gradient_equal_plain_loops)
{
    int n = _i ? N : 1; /* one row goes another way */
    struct bed b;
    bed_make(&b);
    linear_forward(b.y, b.x, b.w, b.b, n, IN, OUT);
    double sum = 0;
    for (int i = 0; i < n * OUT; i++)
        sum += (double)b.y[i] * (double)b.dy[i];
    ck_assert_double_eq_tol(sum, loss(&b, n, NULL, 0), 1e-4);

    linear_backward(b.dw, b.db, b.dx, b.dy, b.x, b.w, n, IN, OUT);
    check(&b, n, b.w, b.dw, OUT * IN);
    check(&b, n, b.b, b.db, OUT);
    check(&b, n, b.x, b.dx, n * IN);
}

TEST(what_was_there_is_written_over)
{
    struct bed b, twin;
    bed_make(&b);
    bed_make(&twin);
    memset(twin.dw, 0x7f, sizeof twin.dw);
    memset(twin.db, 0x7f, sizeof twin.db);
    memset(twin.dx, 0x7f, sizeof twin.dx);
    linear_backward(b.dw, b.db, NULL, b.dy, b.x, b.w, N, IN, OUT);
    linear_backward(twin.dw, twin.db, NULL, b.dy, b.x, b.w, N, IN, OUT);
    ck_assert_mem_eq(twin.dw, b.dw, sizeof b.dw);
    ck_assert_mem_eq(twin.db, b.db, sizeof b.db);
    linear_backward(b.dw, b.db, b.dx, b.dy, b.x, b.w, N, IN, OUT);
    linear_backward(twin.dw, twin.db, twin.dx, b.dy, b.x, b.w, N, IN, OUT);
    ck_assert_mem_eq(twin.dx, b.dx, sizeof b.dx);
}

/* the fused forms are the plain ones with a ReLU behind or before them; _i + 1 rows */
TEST(relu_forms_are_the_two_steps)
{
    int n = _i + 1;
    struct bed b, twin;
    bed_make(&b);
    for (int i = 0; i < N * IN; i++)
        b.x[i] = i % 5 ? fmaxf(b.x[i], 0.0f) : 0.0f;
    twin = b;
    linear_forward_relu(b.y, b.x, b.w, b.b, n, IN, OUT);
    linear_forward(twin.y, twin.x, twin.w, twin.b, n, IN, OUT);
    for (int i = 0; i < n * OUT; i++)
        ck_assert_float_eq(b.y[i], fmaxf(twin.y[i], 0.0f));

    linear_backward_relu(b.dw, b.db, b.dx, b.dy, b.x, b.w, n, IN, OUT);
    linear_backward(twin.dw, twin.db, twin.dx, twin.dy, twin.x, twin.w, n, IN, OUT);
    ck_assert_mem_eq(b.dw, twin.dw, sizeof b.dw);
    ck_assert_mem_eq(b.db, twin.db, sizeof b.db);
    for (int i = 0; i < n * IN; i++)
        ck_assert_float_eq(b.dx[i], b.x[i] > 0.0f ? twin.dx[i] : 0.0f);
}

SUITE(nn_linear, TIMES(value_and_gradient_equal_plain_loops, 2),
      what_was_there_is_written_over, TIMES(relu_forms_are_the_two_steps, N));

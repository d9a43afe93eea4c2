#include "lab/gates/attention.h"

#include "base/rng.h"
#include "support/alloc.h"
#include "support/suites.h"

#include <math.h>
#include <string.h>

enum { N = 5, D = 6, HEADS = 2, L = 3, BATCH = 2, EACH = D / HEADS, ROWS = BATCH * N };

static const struct attention_dim DIM = {N, D, HEADS, L};

struct set {
    float x[ROWS * D], w[4 * D * D], key[L * D], value[L * D]; /* w: Wq, Wk, Wv, Wo */
    double alpha, tau;
};

static void fill(float *x, int n, double std, struct rng *r)
{
    for (int i = 0; i < n; i++)
        x[i] = (float)(std * rng_normal(r));
}

static struct set draw(void)
{
    struct set s = {.alpha = 1.3, .tau = .7};
    struct rng r;
    rng_init(&r, 1, 2);
    fill(s.x, ROWS * D, 1, &r);
    fill(s.w, 4 * D * D, .6, &r);
    fill(s.key, L * D, 1, &r);
    fill(s.value, L * D, 1, &r);
    return s;
}

static void forward(struct attention *a, float *y, const struct set *s,
                    enum residual_kind gate, int length)
{
    const struct attention_prefix p = {
        length, s->key, s->value, {gate, s->alpha, s->tau}};
    attention_forward(a, y, s->x, s->w, length ? &p : NULL, BATCH);
}

/* ---- the mixture of experts of Eq. 8, 9, 11 and 12, token by token, in double */

/* W_l^T z of the paper for head l, (dv) */
static void project(double out[EACH], const float *w, const float *z, int head)
{
    for (int c = 0; c < EACH; c++) {
        out[c] = 0;
        for (int k = 0; k < D; k++)
            out[c] += (double)w[(head * EACH + c) * D + k] * (double)z[k];
    }
}

/* s = x_i^T Wq Wk^T z / sqrt(dv) */
static double quadratic_score(const struct set *s, const float *xi, const float *z,
                              int head)
{
    double q[EACH], k[EACH], sum = 0;
    project(q, s->w, xi, head);
    project(k, s->w + 1 * D * D, z, head);
    for (int c = 0; c < EACH; c++)
        sum += q[c] * k[c];
    return sum / sqrt(EACH);
}

/* h_(l,i): pre-trained experts f_j = Wv^T x_j, then prefix experts f_(N+j) = Wv^T p_j */
static void mixture(double out[EACH], const struct set *s, int sequence, int i, int head,
                    const struct residual *gate, int length)
{
    const float *x = s->x + sequence * N * D;
    double total = 0;
    memset(out, 0, sizeof(double) * EACH);
    for (int j = 0; j < N + length; j++) {
        double f[EACH], score;
        if (j < N) {
            score = quadratic_score(s, x + i * D, x + j * D, head);
            project(f, s->w + 2 * D * D, x + j * D, head);
        } else {
            score = quadratic_score(s, x + i * D, s->key + (j - N) * D, head);
            score = residual_score(gate, score).score;
            project(f, s->w + 2 * D * D, s->value + (j - N) * D, head);
        }
        total += exp(score);
        for (int c = 0; c < EACH; c++)
            out[c] += exp(score) * f[c];
    }
    for (int c = 0; c < EACH; c++)
        out[c] /= total;
}

static void layer(double y[ROWS * D], const struct set *s, const struct residual *gate,
                  int length)
{
    for (int row = 0; row < ROWS; row++) {
        double h[D];
        for (int head = 0; head < HEADS; head++)
            mixture(h + head * EACH, s, row / N, row % N, head, gate, length);
        for (int o = 0; o < D; o++) {
            y[row * D + o] = 0;
            for (int k = 0; k < D; k++)
                y[row * D + o] += (double)s->w[(3 * D + o) * D + k] * h[k];
        }
    }
}

TEST(attention_is_a_mixture_of_experts)
{
    struct set s = draw();
    struct attention *a = attention_new(&DIM, BATCH, NULL);
    for (int gate = 0; gate < RESIDUAL_KINDS; gate++)
        for (int length = 0; length <= L; length++) {
            float y[ROWS * D];
            double moe[ROWS * D];
            const struct residual g = {(enum residual_kind)gate, s.alpha, s.tau};
            forward(a, y, &s, g.kind, length);
            layer(moe, &s, &g, length);
            for (int i = 0; i < ROWS * D; i++)
                ck_assert_double_eq_tol((double)y[i], moe[i], 2e-6);
        }
    attention_free(a);
}

/* and it is not the same without the prefix, or with another gate */
TEST(prefix_and_gate_matter)
{
    struct set s = draw();
    struct attention *a = attention_new(&DIM, BATCH, NULL);
    float none[ROWS * D], linear[ROWS * D], tanh_[ROWS * D];
    forward(a, none, &s, RESIDUAL_LINEAR, 0);
    forward(a, linear, &s, RESIDUAL_LINEAR, L);
    forward(a, tanh_, &s, RESIDUAL_TANH, L);
    double by_prefix = 0, by_gate = 0;
    for (int i = 0; i < ROWS * D; i++) {
        by_prefix = fmax(by_prefix, fabs((double)(none[i] - linear[i])));
        by_gate = fmax(by_gate, fabs((double)(linear[i] - tanh_[i])));
    }
    ck_assert_double_ge(by_prefix, .1);
    ck_assert_double_ge(by_gate, .02);
    const float *share = attention_shares(a, 1, 1);
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int j = 0; j < L + N; j++)
            sum += (double)share[i * (L + N) + j];
        ck_assert_double_eq_tol(sum, 1, 1e-6);
    }
    attention_free(a);
}

/* ---- gradients of sum_i c_i y_i against differences */

static double objective(const struct set *s, const float *c, enum residual_kind gate)
{
    double y[ROWS * D], sum = 0;
    const struct residual g = {gate, s->alpha, s->tau};
    layer(y, s, &g, L);
    for (int i = 0; i < ROWS * D; i++)
        sum += (double)c[i] * y[i];
    return sum;
}

static void check_range(const float *grad, float *at, int n, struct set *s,
                        const float *c, enum residual_kind gate)
{
    for (int i = 0; i < n; i++) {
        float was = at[i], h = 1.0f / 1024;
        at[i] = was + h;
        double up = objective(s, c, gate), high = (double)at[i];
        at[i] = was - h;
        double down = objective(s, c, gate), low = (double)at[i];
        at[i] = was;
        ck_assert_double_eq_tol((double)grad[i], (up - down) / (high - low), 2e-4);
    }
}

TEST(gradients_are_those_of_differences)
{
    enum residual_kind gate = (enum residual_kind)_i;
    struct set s = draw();
    struct attention *a = attention_new(&DIM, BATCH, NULL);
    struct rng r;
    float y[ROWS * D], c[ROWS * D], dx[ROWS * D];
    static struct set d;
    rng_init(&r, 3, 4);
    fill(c, ROWS * D, .5, &r);
    forward(a, y, &s, gate, L);
    const struct attention_grad g = {d.w, d.key, d.value, &d.alpha, &d.tau};
    attention_backward(a, dx, &g, c);

    check_range(dx, s.x, ROWS * D, &s, c, gate);
    check_range(d.w, s.w, 4 * D * D, &s, c, gate);
    check_range(d.key, s.key, L * D, &s, c, gate);
    check_range(d.value, s.value, L * D, &s, c, gate);

    double *const factor[2] = {&s.alpha, &s.tau}, got[2] = {d.alpha, d.tau};
    for (int i = 0; i < 2; i++) {
        double was = *factor[i];
        *factor[i] = was + 1e-4;
        double up = objective(&s, c, gate);
        *factor[i] = was - 1e-4;
        double down = objective(&s, c, gate);
        *factor[i] = was;
        ck_assert_double_eq_tol(got[i], (up - down) / 2e-4, 1e-4);
    }
    attention_free(a);
}

/* what nobody asks for is not needed: the prefix's gradient alone is the same */
TEST(the_prefix_alone)
{
    struct set s = draw();
    struct attention *a = attention_new(&DIM, BATCH, NULL);
    float y[ROWS * D], c[ROWS * D], all[L * D], alone[L * D], dx[ROWS * D];
    static struct set d;
    struct rng r;
    rng_init(&r, 3, 4);
    fill(c, ROWS * D, .5, &r);
    forward(a, y, &s, RESIDUAL_GELU, L);
    attention_backward(a, dx,
                       &(struct attention_grad){d.w, all, d.value, &d.alpha, &d.tau}, c);
    attention_backward(a, NULL, &(struct attention_grad){.key = alone, .value = d.value},
                       c);
    ck_assert_mem_eq(all, alone, sizeof all);
    attention_free(a);
}

static void *make(void *ctx, struct err *e)
{
    (void)ctx;
    return attention_new(&DIM, BATCH, e);
}

static void destroy(void *made)
{
    attention_free(made);
}

TEST(without_memory_it_says_so)
{
    ck_assert_int_eq(alloc_each_fails(make, destroy, NULL), 1);
}

SUITE(lab_gates_attention, attention_is_a_mixture_of_experts, prefix_and_gate_matter,
      TIMES(gradients_are_those_of_differences, RESIDUAL_KINDS), the_prefix_alone,
      without_memory_it_says_so);

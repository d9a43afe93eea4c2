/* Busy experts: a mixture of four whose second is busy, and broken, is the mixture of the other
 * three. */
#include "policy/mix.h"

#include <check.h>
#include <math.h>
#include <string.h>

enum { ROWS = 7, IN = 5, OUT = 4 };
static const enum mix_route ROUTES[] = {MIX_DENSE, MIX_TOP1, MIX_TOP1_UNSCALED,
                                        MIX_DENSE_PROBS};

struct run {
    struct mix *m;
    struct mix_ws *ws;
    int chosen[ROWS], used[4];
    float gate[ROWS * 4], y[ROWS * OUT], grad[4096];
};

static struct run make(enum mix_route route, int experts)
{
    struct mix_cfg c = {IN, 6, 2, OUT, experts, route, {0}};
    struct run r = {.m = mix_new(&c, NULL), .ws = mix_ws_new(&c, ROWS, NULL)};
    ck_assert(r.m && r.ws && r.m->n <= 4096);
    return r;
}

static void run(struct run *r, const float *x, const float *dy)
{
    mix_forward(r->y, r->chosen, r->gate, r->m, r->ws, x, NULL, ROWS);
    (void)mix_backward(r->grad, r->used, r->m, r->ws, dy, 0.0f);
}

static void release(struct run *r)
{
    mix_free(r->m);
    mix_ws_free(r->ws);
}

/* experts 0, 2, 3 of `many` into `few`; expert 1 of many is broken and busy */
static void leave_out_the_second(struct run *few, struct run *many)
{
    const struct mix_cfg *c3 = &few->m->cfg, *c4 = &many->m->cfg;
    size_t expert = mix_expert(c4, 0).n;
    float *t3 = few->m->theta, *t4 = many->m->theta;
    for (size_t k = 0, to = 0; k < 4; k++) {
        float *w = t4 + k * IN, *own = t4 + mix_expert(c4, (int)k).at;
        if (k == 1) {
            t4[4 * IN + 1] = w[0] = own[0] = own[expert - 1] = NAN;
            many->m->busy = 2;
            continue;
        }
        memcpy(t3 + to * IN, w, IN * sizeof *w);
        t3[3 * IN + to] = t4[4 * IN + k];
        memcpy(t3 + mix_expert(c3, (int)to++).at, own, expert * sizeof *own);
    }
}

static void equal(const float *got, const float *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ck_assert_float_eq_tol(got[i], want ? want[i] : 0.0f, 1e-5f);
}

START_TEST(a_busy_expert_is_not_there)
{
    struct run few = make(ROUTES[_i], 3), many = make(ROUTES[_i], 4);
    struct rng r;
    rng_init(&r, 3, (uint64_t)_i);
    float x[ROWS * IN], dy[ROWS * OUT];
    for (size_t i = 0; i < many.m->n; i++)
        many.m->theta[i] = 0.5f * (float)rng_normal(&r);
    for (int i = 0; i < ROWS * IN; i++)
        x[i] = (float)rng_normal(&r);
    for (int i = 0; i < ROWS * OUT; i++)
        dy[i] = (float)rng_normal(&r);
    run(&many, x, dy); /* leaves traces of expert 1 in the scratch */
    int second = 0;
    for (int i = 0; i < ROWS; i++)
        second += many.chosen[i] == 1;
    ck_assert_int_gt(second, 0);

    leave_out_the_second(&few, &many);
    run(&few, x, dy);
    run(&many, x, dy);
    equal(many.y, few.y, ROWS * OUT);
    for (int i = 0; i < ROWS; i++) {
        ck_assert_int_eq(many.chosen[i], few.chosen[i] + (few.chosen[i] > 0));
        ck_assert(ROUTES[_i] == MIX_TOP1_UNSCALED || many.gate[4 * i + 1] == 0.0f);
    }
    for (int k = 0, from = 0; k < 4; k++) {
        const struct mix_range own = mix_expert(&many.m->cfg, k);
        bool busy = k == 1;
        ck_assert_int_eq(many.used[k], busy ? 0 : few.used[from]);
        equal(many.grad + own.at,
              busy ? NULL : few.grad + mix_expert(&few.m->cfg, from).at, own.n);
        equal(many.grad + k * IN, busy ? NULL : few.grad + from * IN, IN);
        from += !busy;
    }
    release(&few);
    release(&many);
}
END_TEST

Suite *suite_policy_mix_busy(void);
Suite *suite_policy_mix_busy(void)
{
    Suite *s = suite_create("policy/mix_busy");
    TCase *t = tcase_create("policy/mix_busy");
    tcase_add_loop_test(t, a_busy_expert_is_not_there, 0, 4);
    suite_add_tcase(s, t);
    return s;
}

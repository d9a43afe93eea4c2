#include "moe/bank.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct mix *three_experts(void)
{
    struct mix_cfg c = {
        .in = 2, .hidden = 3, .layers = 1, .out = 2, .experts = 3, .route = MIX_TOP1};
    struct mix *m = mix_new(&c, NULL);
    struct rng r;
    rng_init(&r, 1, 1);
    mix_init(m, 1.0f, &r);
    return m;
}

START_TEST(merge_is_the_weighted_sum)
{
    struct mix *m = three_experts();
    struct mix_range e = mix_expert(&m->cfg, 0);
    float *out = calloc(e.n, sizeof *out);
    ck_assert_int_eq(bank_merge(out, m, (float[]){0.5f, 0.25f, -1.0f}), 0);
    for (size_t i = 0; i < e.n; i++) {
        const float *t = m->theta + e.at + i;
        double want = 0.5 * (double)t[0] + 0.25 * (double)t[e.n] - (double)t[2 * e.n];
        ck_assert_double_eq_tol((double)out[i], want, 1e-6);
    }

    /* a weight of 1 is that expert to the bit */
    ck_assert_int_eq(bank_merge(out, m, (float[]){0, 1, 0}), 0);
    ck_assert_mem_eq(out, m->theta + mix_expert(&m->cfg, 1).at, sizeof *out * e.n);
    free(out);
    mix_free(m);
}
END_TEST

START_TEST(merging_what_is_not_finite)
{
    struct mix *m = three_experts();
    struct mix_range e = mix_expert(&m->cfg, 0);
    float *out = calloc(e.n, sizeof *out);
    ck_assert_int_eq(bank_merge(out, m, (float[]){NAN, 0, 1}), ERR_NUMERIC);
    m->theta[mix_expert(&m->cfg, 2).at] = INFINITY;
    ck_assert_int_eq(bank_merge(out, m, (float[]){0, 0, 1}), ERR_NUMERIC);
    free(out);
    mix_free(m);
}
END_TEST

Suite *suite_moe_bank(void);
Suite *suite_moe_bank(void)
{
    Suite *s = suite_create("moe/bank");
    TCase *t = tcase_create("moe/bank");
    tcase_add_test(t, merge_is_the_weighted_sum);
    tcase_add_test(t, merging_what_is_not_finite);
    suite_add_tcase(s, t);
    return s;
}

#include "policy/gate.h"

#include "support/suites.h"

#include <check.h>
#include <math.h>
#include <string.h>

/* g_m(x) = x_m + b_m for three experts */
static struct mix *plain(enum mix_route route)
{
    struct mix_cfg c = {3, 2, 1, 2, route == MIX_SINGLE ? 1 : 3, route, {0}};
    struct mix *m = mix_new(&c, NULL);
    ck_assert_ptr_nonnull(m);
    for (int k = 0; k < 3 && route != MIX_SINGLE; k++)
        m->theta[3 * k + k] = 1.0f;
    return m;
}

static const struct gate_cfg AT_2 = {.latch = 2, .gap = 0.5};

START_TEST(flags_rise_after_t1_for_whoever_is_close_and_stay)
{
    struct mix *m = plain(MIX_TOP1);
    struct gate g = {0};
    /* means over the rows: 2, 1.6, 0 */
    float near[] = {1, 1.6f, 0, 3, 1.6f, 0}, far[] = {0, 0, 9};
    for (int t = 1; t <= 2; t++) {
        gate_round(&g, &AT_2, m, near, NULL, 2);
        ck_assert_uint_eq(g.flags, 0);
    }
    gate_round(&g, &AT_2, m, near, NULL, 2);
    ck_assert_uint_eq(g.flags, 3);
    ck_assert_int_eq(gate_converged(&g, 3), 2);
    ck_assert(!gate_latched(&g, &AT_2, 3));
    gate_round(&g, &AT_2, m, far, NULL, 1);
    ck_assert_uint_eq(g.flags, 7);
    ck_assert(gate_latched(&g, &AT_2, 3));
    ck_assert_int_eq(g.rounds, 4);
    gate_round(&g, &AT_2, m, near, NULL, 2);
    ck_assert(gate_latched(&g, &AT_2, 3));

    /* a latch that was switched off holds nothing */
    struct gate_cfg off = gate_cfg_default();
    ck_assert(!gate_latched(&g, &off, 3));
    gate_reset(&g);
    ck_assert_int_eq(g.rounds, 0);
    ck_assert_int_eq(gate_converged(&g, 3), 0);
    for (int t = 0; t < 9; t++)
        gate_round(&g, &off, m, far, NULL, 1);
    ck_assert_uint_eq(g.flags, 0);
    mix_free(m);
}
END_TEST

/* Together the rows say expert 2 or 1; each task by itself has another one. */
START_TEST(every_tag_is_a_task)
{
    struct mix *m = plain(MIX_DENSE);
    float x[] = {4, 0, 3, 0, 4, 3, 4, 0, 3};
    int tag[] = {1, 63, 1};
    struct gate g = {.rounds = 2}, one = {.rounds = 2};
    gate_round(&g, &AT_2, m, x, tag, 3);
    ck_assert_uint_eq(g.flags, 3);
    gate_round(&one, &AT_2, m, x, NULL, 3);
    ck_assert_uint_eq(one.flags, 5);

    /* the gap is strict: 1 is not below 1 */
    struct gate_cfg wide = AT_2;
    wide.gap = 1.0;
    g = (struct gate){.rounds = 2};
    gate_round(&g, &wide, m, x, tag, 3);
    ck_assert_uint_eq(g.flags, 3);
    wide.gap = 1.001;
    gate_round(&g, &wide, m, x, tag, 3);
    ck_assert_uint_eq(g.flags, 7);

    /* a busy expert sets no standard, but may come close to it */
    m->busy = 4;
    float busy[] = {1, 0, 5};
    g = (struct gate){.rounds = 2};
    gate_round(&g, &AT_2, m, busy, NULL, 1);
    ck_assert_uint_eq(g.flags, 1);
    mix_free(m);
}
END_TEST

/* more rows than are scored at a time: only the last one differs */
START_TEST(all_rows_count)
{
    static float x[3 * 200];
    struct mix *m = plain(MIX_TOP1);
    x[3 * 199 + 1] = 101.0f;
    struct gate g = {.rounds = 2};
    gate_round(&g, &AT_2, m, x, NULL, 200); /* 0, .505, 0 */
    ck_assert_uint_eq(g.flags, 2);
    int chosen[200];
    gate_choose(chosen, m, x, 200);
    ck_assert_int_eq(chosen[0], 0);
    ck_assert_int_eq(chosen[198], 0);
    ck_assert_int_eq(chosen[199], 1);
    m->busy = 3;
    gate_choose(chosen, m, x, 200);
    ck_assert_int_eq(chosen[199], 2);
    mix_free(m);
}
END_TEST

START_TEST(one_expert_has_no_gate)
{
    struct mix *m = plain(MIX_SINGLE);
    struct gate g = {.rounds = 5};
    float x[] = {1, 2, 3};
    gate_round(&g, &AT_2, m, x, NULL, 1);
    ck_assert_int_eq(gate_converged(&g, 1), 0);
    ck_assert(!gate_latched(&g, &AT_2, 1));
    int chosen = 7;
    gate_choose(&chosen, m, x, 1);
    ck_assert_int_eq(chosen, 0);
    mix_free(m);
}
END_TEST

START_TEST(costs_are_what_the_experts_moved)
{
    struct mix *m = plain(MIX_TOP1);
    float before[64], cost[3];
    ck_assert_uint_le(m->n, 64);
    memcpy(before, m->theta, m->n * sizeof *before);
    struct gate g = {0};
    m->theta[mix_expert(&m->cfg, 1).at] += 3.0f;
    m->theta[mix_expert(&m->cfg, 2).at - 1] -= 4.0f; /* still of expert 1 */
    m->theta[0] += 100.0f;                           /* the router */
    gate_moved(&g, m, before);
    ck_assert(g.moved[0] == 0.0f && g.moved[1] == 5.0f && g.moved[2] == 0.0f);

    struct gate_cfg c = {.locality = 0.2, .latch = 1};
    struct mix_gate_losses d = gate_losses(cost, &g, &c, 0.01, 3);
    ck_assert(d.cost == cost && d.balance == 0.01f && !d.still);
    ck_assert_float_eq_tol(cost[1], 1.0f, 1e-6f);
    ck_assert(cost[0] == 0.0f);
    g.flags = 7;
    c.locality = 0.0;
    d = gate_losses(cost, &g, &c, 0.01, 3);
    ck_assert(!d.cost && d.still);
    mix_free(m);
}
END_TEST

START_TEST(text_there_and_back)
{
    struct gate g = {.rounds = 40, .flags = 5}, back = {.rounds = 9, .flags = 1};
    char text[GATE_TEXT];
    gate_text(text, &g, 3);
    ck_assert_str_eq(text, "flags=101 rounds=40");
    ck_assert_int_eq(gate_parse(&back, text, 3, NULL), 0);
    ck_assert(back.flags == 5 && back.rounds == 40);

    static const char *const bad[] = {"",
                                      "flags=101",
                                      "flags=10 rounds=4",
                                      "flags=1011 rounds=4",
                                      "flags=102 rounds=4",
                                      "flags=101 rounds=-4",
                                      "flags=101 rounds=",
                                      "flags=101 rounds=4x",
                                      "flag=101 rounds=4",
                                      "flags=101 rounds=18446744073709551615"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = {0};
        ck_assert_int_eq(gate_parse(&back, bad[i], 3, &e), ERR_INVALID);
        ck_assert_str_eq(e.field, "gate");
        ck_assert(back.flags == 5 && back.rounds == 40);
    }

    struct gate many = {.rounds = INT64_MAX, .flags = UINT64_MAX >> 1};
    gate_text(text, &many, MIX_EXPERTS_MAX);
    ck_assert_int_eq(gate_parse(&back, text, MIX_EXPERTS_MAX, NULL), 0);
    ck_assert(back.flags == many.flags && back.rounds == many.rounds);
}
END_TEST

SUITE(policy_gate, flags_rise_after_t1_for_whoever_is_close_and_stay, every_tag_is_a_task,
      all_rows_count, one_expert_has_no_gate, costs_are_what_the_experts_moved,
      text_there_and_back);

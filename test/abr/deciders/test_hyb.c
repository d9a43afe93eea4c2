#include "abr/deciders/hyb.h"

#include "support/made.h"
#include "support/suites.h"

#include <check.h>

/* Five levels of made_view, chunks of 4 s, 2000 kbit/s: level k takes R_k x 4 / (factor x 2000) s. With
 * factor 0.5: 1.2, 3, 4.8, 7.4 and 11.4 s. */
START_TEST(levels_by_hand)
{
    static const struct {
        double buffer_s;
        int level;
    } rows[] = {{0, 0},   {1, 0},   {2.9, 0}, {3.1, 1},
                {4.9, 2}, {7.3, 2}, {7.5, 3}, {11.5, 4}};
    struct algo a = {0};
    struct err e = {0};
    ck_assert_int_eq(hyb_new(&a, "factor=0.5", NULL, &e), 0);
    struct view v = made_view(5);
    for (int i = 0; i < 5; i++)
        view_push(&v, 250e3, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        v.buffer_s = rows[i].buffer_s;
        ck_assert_int_eq(a.decide(a.self, &v, NULL), rows[i].level);
    }
    v.n_history = 0;
    ck_assert_int_eq(a.decide(a.self, &v, NULL), 0);
    a.free(a.self);
}
END_TEST

SUITE(abr_deciders_hyb, levels_by_hand);

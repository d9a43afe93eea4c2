#include "policy/parts.h"

#include <check.h>
#include <string.h>

START_TEST(parts_tile_both_networks)
{
    struct policy_cfg c = policy_cfg_default(7);
    c.route = (enum mix_route)_i;
    c.critic_route = (enum mix_route)(3 - _i);
    c.experts = c.route == MIX_SINGLE ? 1 : 3;
    c.critic_experts = c.critic_route == MIX_SINGLE ? 1 : 2;
    struct policy *p = policy_new(&c, NULL);
    struct parts_part part;
    size_t at = 0;
    int i = 0;
    for (; parts_get(&part, &c, i); i++) {
        bool of_actor = strncmp(part.name, "actor.", 6) == 0;
        ck_assert(of_actor || strncmp(part.name, "critic.", 7) == 0);
        ck_assert_uint_eq(part.at, at);
        ck_assert(
            parts_view(p, &part) ==
            (of_actor ? p->actor->theta + at : p->critic->theta + at - p->actor->n));
        at += (size_t)part.rows * (size_t)(part.cols ? part.cols : 1);
    }
    ck_assert_int_eq(i, parts_count(&c));
    ck_assert_uint_eq(at, p->actor->n + p->critic->n);
    ck_assert(!parts_get(&part, &c, -1));
    policy_free(p);
}
END_TEST

START_TEST(names_and_shapes)
{
    static const struct {
        int i;
        const char *name;
        int rows, cols;
    } want[] = {
        {0, "actor.router.weight", 3, 7},       {1, "actor.router.bias", 3, 0},
        {2, "actor.expert.0.0.weight", 64, 7},  {5, "actor.expert.0.1.bias", 64, 0},
        {6, "actor.expert.0.2.weight", 12, 64}, {8, "actor.expert.1.0.weight", 64, 7},
        {20, "critic.router.weight", 3, 7},     {39, "critic.expert.2.2.bias", 1, 0},
    };
    struct policy_cfg c = policy_cfg_default(7);
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        struct parts_part part;
        ck_assert(parts_get(&part, &c, want[k].i));
        ck_assert_str_eq(part.name, want[k].name);
        ck_assert_int_eq(part.rows, want[k].rows);
        ck_assert_int_eq(part.cols, want[k].cols);
    }
    ck_assert_int_eq(parts_count(&c), 40);
}
END_TEST

Suite *suite_policy_parts(void);
Suite *suite_policy_parts(void)
{
    Suite *s = suite_create("policy/parts");
    TCase *t = tcase_create("policy/parts");
    tcase_add_loop_test(t, parts_tile_both_networks, 0, 4);
    tcase_add_test(t, names_and_shapes);
    suite_add_tcase(s, t);
    return s;
}

#include "lab/gates/arrivals.h"

#include "abr/emulator/feat.h"
#include "support/alloc.h"
#include "support/suites.h"

#include <stdio.h>
#include <string.h>

static int lowest(void *self, int kind, const float *obs, uint32_t mask)
{
    (void)kind;
    (void)obs;
    ck_assert(mask & 1);
    if (self) ++*(int *)self;
    return 0;
}

/* the highest level that fits the harmonic mean, by the features themselves: a level whose
 * predicted stall is 0 */
static int cautious(void *self, int kind, const float *obs, uint32_t mask)
{
    (void)self;
    (void)kind;
    int level = 0;
    for (int k = 0; k < 12; k++)
        if (mask >> k & 1 && obs[56 + 6 * k + 3] <= 0) level = k;
    return level;
}

TEST(kinds_are_as_named)
{
    ck_assert_str_eq(arrivals_kinds[3].name, "sports");
    ck_assert_double_eq(arrivals_kinds[3].qoe.mu_quality, 3);
    ck_assert_double_eq(arrivals_kinds[3].qoe.mu_stall, 3);
    ck_assert_double_eq(arrivals_kinds[4].qoe.mu_switch, 3);
    for (int i = 0; i < 3; i++) {
        char paper[32];
        snprintf(paper, sizeof paper, "paper-%s", arrivals_kinds[i].name);
        const struct qoe_profile *p = qoe_find(paper);
        ck_assert_ptr_nonnull(p);
        ck_assert_double_eq(p->qoe.mu_switch, arrivals_kinds[i].qoe.mu_switch);
        ck_assert_double_eq(p->qoe.mu_quality, arrivals_kinds[i].qoe.mu_quality);
        ck_assert_double_eq(p->qoe.mu_stall, arrivals_kinds[i].qoe.mu_stall);
    }
}

/* 47 chunks a session, the same viewers each time, and a hint makes no difference to who does
 * not look */
TEST(an_exam_repeats)
{
    struct arrivals *a = arrivals_new(3, 1, NULL);
    struct arrivals_score s[3];
    int calls = 0;
    const struct arrivals_decider d = {&calls, lowest};
    struct identity_cfg c = identity_cfg_default(FEAT_FULL_DIM, ARRIVALS);
    struct identity *head = identity_new(&c, NULL);
    ck_assert_int_eq(arrivals_exam(&s[0], a, 2, 2, NULL, &d, NULL), 0);
    ck_assert_int_eq(calls, 2 * 47);
    ck_assert_int_eq(arrivals_exam(&s[1], a, 2, 2, NULL, &d, NULL), 0);
    ck_assert_int_eq(arrivals_exam(&s[2], a, 2, 2, head, &d, NULL), 0);
    ck_assert_double_eq(s[0].reward, s[1].reward);
    ck_assert_double_eq(s[0].reward, s[2].reward);
    ck_assert_double_eq(s[0].told, 1);
    ck_assert_double_eq(s[2].told, 0); /* a head that knows nothing says class 0 */
    identity_free(head);
    arrivals_free(a);
}

/* without the hint the viewer's weights are those of the guess: of class 0 for a new head */
static int expects_documentary(void *self, int kind, const float *obs, uint32_t mask)
{
    (void)mask;
    ck_assert_int_eq(kind, 0);
    struct view v = view_default();
    v.levels = 2;
    v.ladder_kbps[0] = 300;
    v.ladder_kbps[1] = 4300;
    v.chunk_s = v.buffer_max_s = 4;
    float plain[FEAT_FULL_DIM], other[FEAT_FULL_DIM];
    v.qoe = arrivals_kinds[0].qoe;
    feat_observe(plain, FEAT_FULL, &v);
    v.qoe = arrivals_kinds[2].qoe;
    feat_observe(other, FEAT_FULL, &v);
    int differ = 0;
    for (int i = 0; i < 28; i++) {
        char name[32];
        feat_name(name, sizeof name, FEAT_FULL, i);
        if (plain[i] == other[i] || strncmp(name, "weight_", 7) != 0) continue;
        ck_assert_msg(obs[i] == plain[i], "%s", name);
        differ++;
    }
    ck_assert_int_ge(differ, 2);
    ++*(int *)self;
    return 0;
}

TEST(a_guess_takes_the_place_of_the_hint)
{
    struct arrivals *a = arrivals_new(3, 1, NULL);
    struct arrivals_score s;
    int calls = 0;
    const struct arrivals_decider d = {&calls, expects_documentary};
    struct identity_cfg c = identity_cfg_default(FEAT_FULL_DIM, ARRIVALS);
    struct identity *head = identity_new(&c, NULL);
    ck_assert_int_eq(arrivals_exam(&s, a, 2, 1, head, &d, NULL), 0);
    ck_assert_int_eq(calls, 47);
    identity_free(head);
    arrivals_free(a);
}

/* broadband and 3G differ in what can be seen; chance is one in two */
TEST(a_head_learns_kinds_by_their_links)
{
    struct arrivals *a = arrivals_new(10, 1, NULL);
    const struct arrivals_decider d = {NULL, cautious};
    struct identity_cfg c = identity_cfg_default(FEAT_FULL_DIM, 1);
    struct identity *head = identity_new(&c, NULL);
    ck_assert_int_eq(arrivals_teach(head, a, 0, 10, 5, &d, NULL), 0);
    ck_assert_int_eq(arrivals_teach(head, a, 3, 10, 5, &d, NULL), 0);
    ck_assert_int_eq(identity_classes(head), 4);
    struct arrivals_score s[2];
    ck_assert_int_eq(arrivals_exam(&s[0], a, 0, 4, head, &d, NULL), 0);
    ck_assert_int_eq(arrivals_exam(&s[1], a, 3, 4, head, &d, NULL), 0);
    ck_assert_double_ge((s[0].told + s[1].told) / 2, .75);
    identity_free(head);
    arrivals_free(a);
}

static void *make(void *ctx, struct err *e)
{
    (void)ctx;
    return arrivals_new(1, 1, e);
}

static void destroy(void *made)
{
    arrivals_free(made);
}

TEST(without_memory_it_says_so)
{
    ck_assert_int_gt(alloc_each_fails(make, destroy, NULL), 10);
}

SUITE(lab_gates_arrivals, kinds_are_as_named, an_exam_repeats,
      a_guess_takes_the_place_of_the_hint, a_head_learns_kinds_by_their_links,
      without_memory_it_says_so);

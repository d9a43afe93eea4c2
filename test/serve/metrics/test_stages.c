#include "serve/metrics/stages.h"

#include <check.h>
#include <string.h>

#include "base/clock.h"
#include "support/suites.h"

static uint64_t count(struct stages *s, enum stage which)
{
    struct hist_reading r;
    hist_read(&r, &s->seconds[which]);
    return r.count;
}

TEST(one_decision_in_64_is_timed)
{
    struct stages s;
    stages_init(&s);
    for (int i = 0; i < 3 * STAGES_EACH; i++) {
        stages_begin(&s);
        stages_end(&s, STAGE_WIRE);
        if (i % 2 == 0) stages_end(&s, STAGE_TRACK); /* the first of each 64 among them */
    }
    ck_assert_uint_eq(count(&s, STAGE_WIRE), 3);
    ck_assert_uint_eq(count(&s, STAGE_TRACK), 3);
    ck_assert_uint_eq(count(&s, STAGE_EMIT), 0);
    stages_end(NULL, STAGE_EMIT); /* NULL: not timed */
}

TEST(stages_follow_each_other)
{
    struct stages s;
    stages_init(&s);
    double before = clock_mono();
    stages_begin(&s);
    for (int i = 0; i < STAGES; i++)
        stages_end(&s, (enum stage)i);
    double all = clock_mono() - before, sum = 0;
    for (int i = 0; i < STAGES; i++) {
        struct hist_reading r;
        hist_read(&r, &s.seconds[i]);
        ck_assert_uint_eq(r.count, 1);
        ck_assert_double_ge(r.sum, 0);
        sum += r.sum;
    }
    /* no time counts twice */
    ck_assert_double_le(sum, all);
}

TEST(names)
{
    ck_assert_str_eq(stages_name(STAGE_WIRE), "wire");
    ck_assert_str_eq(stages_name(STAGE_EMIT), "emit");
}

SUITE(serve_metrics_stages, one_decision_in_64_is_timed, stages_follow_each_other, names);

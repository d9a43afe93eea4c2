#include "cli/train/candidate.h"

#include <math.h>

#include "support/suites.h"

static const struct {
    struct candidate_exams x;
    const char *verdict;
} rows[] = {{{1, 1.1, .2, -.1}, CANDIDATE_GOOD},
            {{1, .971, .2, -.1}, CANDIDATE_GOOD},
            {{1, .969, .2, -.1}, "worse in the exam"},
            {{-1, -1.02, .2, -.1}, CANDIDATE_GOOD},
            {{-1, -1.04, .2, -.1}, "worse in the exam"},
            {{1, (double)NAN, .2, -.1}, "worse in the exam"},
            {{1, 1, -.01, -.1}, "worse on own sessions"},
            {{1, 1, 0, .0041}, "stalls more on own sessions"},
            {{1, 1, 0, .0039}, CANDIDATE_GOOD}};

TEST(each_verdict)
{
    ck_assert_str_eq(candidate_verdict(&rows[_i].x), rows[_i].verdict);
}

SUITE(cli_train_candidate, ROWS(each_verdict, rows));

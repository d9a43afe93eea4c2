#include "cli/train/candidate.h"

#include <math.h>

static const double EXAM_FALL = 0.03;
static const double STALL_MORE_S = 0.004; /* 0.1 % of chunks of 4 s */

const char *candidate_verdict(const struct candidate_exams *x)
{
    double fall = x->published - x->candidate;
    if (!(fall <= EXAM_FALL * fabs(x->published)))
        return "worse in the exam"; /* or NaN */
    if (x->qoe_hi < 0) return "worse on own sessions";
    if (x->stall_lo > STALL_MORE_S) return "stalls more on own sessions";
    return CANDIDATE_GOOD;
}

/* candidate.h - whether a retrained policy may become an arm of a trial.
 *
 * Refused, for the first of these reasons:
 *   worse in the exam            its score is more than 3 % below that of the published weights, the limit
 *                                at which a daemon rolls back; or it is not a number
 *   worse on own sessions        the interval of the paired difference in QoE lies below 0
 *   stalls more on own sessions  that of the stalls lies above 4 ms per chunk; less is left to the guard
 *                                rails of the trial
 *
 * Threads: pure function. */
#ifndef CLI_TRAIN_CANDIDATE_H
#define CLI_TRAIN_CANDIDATE_H

struct candidate_exams {
    double published, candidate; /* scores of the exam (serve/learner/exam.h) */
    double qoe_hi, stall_lo;     /* ends of the intervals of candidate minus published */
};

#define CANDIDATE_GOOD "candidate"
/* CANDIDATE_GOOD or the reason. */
const char *candidate_verdict(const struct candidate_exams *x);

#endif

/* why.h - one session of a policy, explained chunk by chunk.
 *
 * What was known before each chunk, what the policy and its rivals choose in that state, and what each
 * of these choices would have earned.
 *
 * The first policy plays the session (replay.h). The others watch it: before each chunk they get the
 * same view, so they keep the memory that they would have of this session. For each level k that one
 * of them chooses before chunk n:
 *
 *   reward   of chunk n at level k, on the link of the session
 *   total    of the session with level k at chunk n, if the first policy decides all later chunks. It
 *            is played in the emulator, with the policy's memory of the session until then
 *   best     of the session with level k at chunk n, if the best plan known follows (deciders/oracle.h).
 *            Only if "oracle" is among the rivals
 *
 * best of a chunk is that of the best plan from its state. What a chunk's choice lost against it is
 * best less best of the level taken. These losses are never negative, and they sum up to what the
 * whole session lost: total + sum of losses = optimum. best is a lower bound; gap is the most by which
 * any of the bounds is above it.
 *
 * Errors: those of algo_new, ERR_MEMORY, WHY_STOPPED.
 * Ownership: why_free releases what why_run filled.
 * Threads: chunks are spread over cfg.threads; the result does not depend on it. progress is called
 * from the caller's thread. */
#ifndef ABR_WHY_H
#define ABR_WHY_H

#include "abr/deciders/algo.h"
#include "abr/deciders/forecast.h"
#include "abr/emulator/emu.h"

#define WHY_STOPPED 1 /* progress returned true */
#define WHY_POLICIES 16

/* Quantiles of forecast.h: one download in six is slower than low, half are slower than mid, one in five is
 * faster than high. */
enum { WHY_LOW = FORECAST_LOW, WHY_MID = 7, WHY_HIGH = 9 };

enum why_by {
    WHY_POLICY,      /* a network's most probable level */
    WHY_FIRST_LEVEL, /* deciders/first_level.h */
    WHY_FALLBACK,    /* the network's output is not finite */
    WHY_RULE,        /* an algorithm without a network */
    WHY_PLAN,        /* the oracle */
};
/* "policy", "first-level", "fallback", "rule", "plan" */
const char *why_by_name(enum why_by by);

struct why_cfg {
    const struct emu_world *world;
    const struct qoe *qoe;
    int first_level; /* -1: the policies choose chunk 0 */
    uint64_t key;    /* of the session */
    /* the first is explained and is not "oracle"; up to WHY_POLICIES */
    const char *const *policies;
    int n_policies;
    const struct algo_ctx *ctx;
    int threads;
    /* Called from time to time with the finished share; true stops. May be NULL. */
    bool (*progress)(void *progress_ctx, double share);
    void *progress_ctx;
};

/* What a policy chooses in the session's state. */
struct why_choice {
    int level;
    enum why_by by;
    double prob; /* of a network; NaN: it has none */
};

/* What a level earns there. NaN where no policy chooses it. */
struct why_outcome {
    double reward, stall_s;        /* of the chunk; the wait if it is the first */
    double total, session_stall_s; /* without the start */
    double best;                   /* NaN without the oracle */
};

struct why_chunk {
    struct view view; /* of the decision */
    double start_s;   /* of the request, since the session's first */
    struct forecast forecast;
    struct why_choice choice[WHY_POLICIES];
    struct why_outcome outcome[VIEW_LEVELS];
    double best; /* NaN without the oracle */
};

struct why {
    int n, n_policies;
    struct why_chunk *chunk; /* (n) owned */
    double total, stall_s;   /* of the session; stalls without the start */
    int oracle;              /* its place among the policies; -1: none */
    double optimum, gap;     /* NaN without the oracle */
};

int why_run(struct why *out, const struct why_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
void why_free(struct why *w);

/* The outcome of the level that policy p chooses. */
const struct why_outcome *why_outcome_of(const struct why_chunk *c, int p);
/* What the level taken lost against the best plan. NaN without the oracle. */
double why_lost(const struct why_chunk *c);

#endif

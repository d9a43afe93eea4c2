/* sim.h - the whole server in one thread, in a world that one number decides.
 *
 * Viewers, an operator, a store, a folder, a clock and the turns of the learner, the store and the
 * clock are events of one loop; what happens next, and what goes wrong, is drawn from (seed, step).
 * No sockets, no wall time: one seed replays to the bit (result.hash). Requests also arrive in
 * the midst of others: where the service asks the clock, the store or the bus it holds no
 * lock, so the world may come in there with a request of another worker.
 *
 * A crash drops the service. What the simulated disk had made durable stays, the transaction under
 * way wholly or not at all; of the folder's files what they were at that very moment.
 *
 * Each step holds the service against a plain model of what it has acknowledged (model.h).
 * Which rules that gives is the list of invariants in sim_rule_name.
 *
 * Threads: sim_run shares nothing but its folder, which is the caller's. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum sim_rule {
    SIM_NONE,
    SIM_ONCE,      /* what was acknowledged is in the store, once, and nothing else is */
    SIM_REPEAT,    /* an equal question has the equal answer */
    SIM_PUBLISHED, /* a decision is by the version that is published */
    SIM_VERSION,   /* versions never go back, and none is two policies */
    SIM_SLOT,      /* slots of untagged viewers never go back */
    SIM_LABELS, /* labels move the mix, and the mix what is served, within their bounds */
    SIM_SESSION,  /* a session takes what its rules allow, and never goes back */
    SIM_BOUNDED,  /* live sessions, queues and steps stay within their bounds */
    SIM_HINTLESS, /* sessions without a hint never reach PPO */
    SIM_LOGP,     /* what is taught has the probability it was drawn with */
    SIM_TAUGHT,   /* no step teaches twice */
    SIM_COUNTS,   /* the figures are those of what happened */
    SIM_PROFILE,  /* a profile that was put is there, one that was deleted is not */
    SIM_REFUSAL,  /* refused is what must be, and nothing else */
    SIM_START,    /* a restart succeeds */
    SIM_RULES,
};
const char *sim_rule_name(enum sim_rule r);

/* A rule broken on purpose, to see that it is noticed. */
enum sim_break {
    BREAK_NOTHING,
    BREAK_DROP,    /* the store says yes to a reward and forgets it */
    BREAK_TWICE,   /* the store keeps a reported step twice */
    BREAK_ANSWER,  /* a stored answer comes back as another one */
    BREAK_UNKNOWN, /* an answer names a version that was never published */
    BREAK_BACK,    /* the store forgets versions, and so do the checkpoints */
    BREAK_SLOT,    /* a restart begins at an older slot */
    BREAK_LABEL,   /* a label of a session that was not watched counts */
    BREAK_OLD,     /* a restart loses a session's newest durable step */
    BREAK_EXPIRY,  /* idle sessions are never closed */
    BREAK_HINT,    /* a session without a hint is taught */
    BREAK_LOGP,    /* another probability is taught */
    BREAK_TEACH,   /* a trajectory is taught twice */
    BREAK_COUNT,   /* a reward is counted twice */
    BREAK_PROFILE, /* the store forgets a profile */
    BREAK_REFUSE,  /* a reward is refused without a reason */
    BREAK_START,   /* a restart fails */
    BREAK_EARLY,   /* what is answered at once is taken for durable */
    BREAKS,
};
/* The rule that must notice it. */
enum sim_rule sim_break_rule(enum sim_break b);

struct sim_cfg {
    uint64_t seed;
    const char *dir;    /* of the caller; its contents are removed */
    const char *policy; /* sim_policies' */
    const char *experts;
    int steps;        /* at most so many; 0 = as many as the seed has */
    const bool *skip; /* (steps) events left out; NULL = none */
    enum sim_break broken;
    FILE *tell; /* each event as a line; NULL = silent */
};

struct sim_counts {
    uint64_t steps, requests, refused, decisions, rewards, repeats, conflicts, crashes,
        drains, failed_writes, commits, updates, versions, slots, expired, added, jumps,
        damaged, nested, dropped;
};

struct sim_result {
    enum sim_rule rule; /* SIM_NONE: no finding */
    int step, steps;    /* of the finding; that were done */
    char detail[240];
    uint64_t hash; /* of all that happened */
    struct sim_counts counts;
};

void sim_counts_add(struct sim_counts *to, const struct sim_counts *c);

/* The small policies that all worlds start with, into DIR: once for many runs. Exits on failure. */
void sim_policies(char policy[256], char experts[256], const char *dir);

void sim_run(struct sim_result *out, const struct sim_cfg *cfg);

/* The fewest events that still break the same rule: skip (steps) is filled; the number left. */
int sim_minimise(bool *skip, int steps, const struct sim_cfg *cfg, enum sim_rule rule);

#endif

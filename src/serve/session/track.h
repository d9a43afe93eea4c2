/* track.h - the rules of one session: effects of a question, an outcome and an end.
 *
 * A session is a sequence of steps. A step is a decision with, later, its outcome. It is an outcome
 * alone if the player chose the chunk itself, for instance while the daemon was unreachable.
 *
 * Questions. A repeat of the newest question gets the same answer. The same chunk with another question
 * is ERR_CONFLICT. An older question among the last TRACK_KEEP gets its answer again if it is equal.
 * Any other question is a new step, at any position in the video.
 *
 * Outcomes. An outcome belongs to the newest step of its chunk. An equal repeat counts once, a
 * different one is ERR_CONFLICT. Measurements enter the history in the order of steps. A late outcome
 * of an older step is kept with its step, but does not enter the history after a newer one.
 *
 * Trajectories (sessions that explore). A step is used for training if it was sampled from the policy,
 * its outcome arrived before the next question, and the player fetched the level decided. The open
 * trajectory continues while such steps have consecutive chunks. A seek, a gap, another level, a missing
 * outcome or the end of the session cuts it: it is truncated at the last state in which a decision was
 * made, from which the critic bootstraps. It is terminal if the last chunk of the video was followed
 * and reported, or the player reports the end.
 *
 * Memory. 352 bytes per step and 1,576 per session. Steps come from a pool. A session keeps its
 * pool->keep newest steps and its open trajectory. If the pool is empty it gives up its own oldest.
 *
 * Threads: not shared; the caller holds the lock of the session's shard. No allocation. */
#ifndef SERVE_TRACK_H
#define SERVE_TRACK_H

#include "serve/session/service.h"
#include "serve/session/traj.h"
#include "serve/session/viewing.h"

#define TRACK_ID 16       /* bytes */
#define TRACK_KEEP 4      /* newest steps to which questions and outcomes are matched */
#define TRACK_MEMORY 4096 /* steps kept for the history without a store */
#define TRACK_NAME SERVICE_TRIAL

enum step_flag {
    STEP_DECIDED = 1,   /* answered here */
    STEP_SAMPLED = 2,   /* drawn from the policy */
    STEP_REPORTED = 4,  /* has its outcome */
    STEP_FOLLOWED = 8,  /* the level fetched is the level decided */
    STEP_MEASURED = 16, /* the outcome is in the history */
    STEP_EXTERNAL = 32, /* has an external reward */
    STEP_HEAD = 64,     /* a trajectory begins here */
    STEP_CUT = 128,     /* the open trajectory was closed at this step */
    STEP_BY = 256,      /* times enum service_by: how the decision was made */
    STEP_BY_MASK = 7 * STEP_BY,
    STEP_GUARDED = 2048, /* levels were withheld: abr/deciders/first_level.h */
};

struct step {
    int32_t next, prev; /* pool indices, -1 at the ends */
    int32_t chunk;
    uint32_t ord; /* 0, 1, ... within the session */
    uint16_t rev; /* counts changes: the store keeps the highest */
    uint16_t flags;
    int8_t decided, level, last_level, expert; /* level: fetched */
    float logp, value, entropy;
    uint32_t bytes;          /* received */
    float prob[FEAT_LEVELS]; /* of the levels that the policy saw */
    uint32_t seen;           /* those levels, as bits; 0: all (abr/deciders/window.h) */
    uint32_t next_bytes[VIEW_LEVELS]; /* 0: unknown */
    struct traj_points points;
    uint64_t question; /* hash of the question without next_bytes and next_quality */
    uint64_t policy;
    double buffer_s, download_s, rebuffer_s, reward, external;
    double at; /* last change, s since the epoch */
};

/* A session's place in a trial (serve/trial/trial_run.h). */
enum track_assigned {
    TRACK_COUNTED,   /* counts in the trial's comparison */
    TRACK_AGAIN,     /* its viewer had a session of the trial before */
    TRACK_FELL_BACK, /* its arm was stopped: decided as without a trial */
};
struct track_arm {
    char trial[TRACK_NAME], name[TRACK_NAME]; /* "": in no trial */
    uint64_t unit;    /* keyed hash of the viewer or session that was assigned */
    uint8_t network;  /* kind of network before the assignment */
    uint8_t assigned; /* enum track_assigned */
    /* not stored */
    uint8_t index;   /* of the arm */
    bool own;        /* its arm or the control has rules or weights of its own */
    uint32_t number; /* of the trial in this process; 0: none runs it */
};

/* The constants of a session; the store's row. */
struct track_row {
    uint8_t id[TRACK_ID];
    uint64_t key;
    char profile[SERVICE_NAME]; /* profile in use */
    char content_id[SERVICE_CONTENT];
    double ladder_kbps[VIEW_LEVELS];
    double chunk_s, buffer_max_s, opened_at, closed_at;
    struct qoe qoe;
    double points[VIEW_LEVELS]; /* quality of each level (abr/emulator/quality.h) */
    int32_t levels, chunks;
    uint8_t quality_from; /* enum quality_source of `points` */
    uint8_t
        tag; /* of the reward function; from TRAJ_TAG_OWN on: of the added experts that decide */
    uint8_t slot; /* of the statistics (profiles.h) */
    bool has_mu, has_key, hinted, explores;
    bool closed, terminal;
    bool labelled;   /* without a hint, but `profile` was reported at its end */
    bool observed;   /* the player decides by its own rules */
    uint64_t viewer; /* hash (viewer.h); 0: unknown */
    struct labels labels;
    struct track_arm arm;
    struct viewing seen; /* of a closed session */
    /* not stored */
    bool continued; /* playback was under way: the first chunk is no start */
    bool apart; /* observed, or decided by an arm of a trial: nothing learns from it */
    uint16_t followed; /* chunks fetched as decided, among the known steps */
    uint64_t from;     /* hash of the client's address; 0: unknown after a restart */
    uint64_t network;  /* of its network (networks.h); 0: unknown */
};

struct track {
    struct track_row row;
    struct traj_measured measured; /* now */
    struct traj_measured before;   /* at the start of the open trajectory */
    double last_at;
    int32_t oldest, newest, n; /* steps in the pool */
    int32_t head, head_n;      /* open trajectory and its steps; -1: none */
    uint32_t ords;             /* number of steps ever */
    uint32_t changes;          /* counts changes, to notice those of another thread */
};

struct steps {
    struct step *at;
    int cap, used, free, keep;
};

int track_steps_init(struct steps *p, int cap, int keep, struct err *e)
    __attribute__((warn_unused_result));
void track_steps_release(struct steps *p);

/* A decision, as a step keeps it. */
struct verdict {
    int level, expert; /* expert -1: none, the weights' output was not finite */
    uint32_t seen;     /* as in struct step, also prob */
    float prob[FEAT_LEVELS], logp, value, entropy;
    float added; /* share of the added experts (policy/policy.h); 0 without */
    uint64_t policy;
    bool sampled;
    bool guarded; /* levels were withheld: abr/deciders/first_level.h */
    enum service_by by;
};

/* What an outcome shows of a link and of stalls (experience.h, networks.h). */
struct track_outcome {
    struct traj_measured before; /* the session's history until then */
    double kbps;                 /* of the download; 0: empty, or not measured in order */
    double bytes;                /* of the chunk */
    double lowest_kbps, stall_s, chunk_s, stall_ratio_max;
    uint64_t network, from; /* network 0: unknown, or not the video's first chunk */
    uint8_t slot;
    bool decided, followed; /* by the daemon; by the player */
    bool common; /* decided by the common policy, not by merged or added experts */
    bool first;  /* of the session: the wait is no stall */
    bool apart;  /* nothing learns from the session */
};

/* The changes of an operation: copied out under the lock, passed to store and learner after it. Large;
 * track_changes_clear clears only n, closed, has_traj, starved, unhinted and the counts. */
struct changes {
    int n;
    struct step step[3];
    bool closed; /* row has changed */
    bool has_traj;
    bool starved; /* the pool was empty: an open trajectory was dropped */
    int rewards, not_followed;
    double reward_sum, kbps_sum;
    bool decided;
    int expert;        /* that decided; -1: none */
    bool unhinted;     /* a session without a hint: row is filled */
    uint32_t rewarded; /* if rewards > 0: ord of the step whose outcome arrived */
    struct track_outcome outcome; /* of that step */
    struct track_row row;
    struct traj traj;
};
void track_changes_clear(struct changes *c);

/* A question with a new answer, for part.asked (serve/part.h). */
struct session_asked {
    const uint8_t *id;
    uint64_t key;
    int chunk;
    bool hinted;
    const struct view *view;
};

void track_init(struct track *t, const struct track_row *row);

/* 0: a new question, *view is the policy's input; 1: a repeat, *again is its answer. stalled_s and
 * played_s of the view are those of the outcome that came with the question. */
int track_peek(struct view *view, struct answer *again, const struct track *t,
               const struct steps *pool, const struct question *q, struct err *e)
    __attribute__((warn_unused_result));

/* The view in which the chunk that is being fetched was decided. ERR_CONFLICT: it was not decided last,
 * or has been reported. */
int track_underway(struct view *view, const struct track *t, const struct steps *pool,
                   int chunk, struct err *e) __attribute__((warn_unused_result));

/* Records the question's outcome, and the answer as the newest step. Requires that track_peek returned
 * 0 for this question and nothing changed since. ERR_FULL: no free step. */
int track_decide(struct answer *out, struct track *t, struct steps *pool,
                 const struct question *q, const struct verdict *v, double now,
                 struct changes *c, struct err *e) __attribute__((warn_unused_result));

int track_report(struct reward_out *out, struct track *t, struct steps *pool,
                 const struct reward_in *in, double now, struct changes *c, struct err *e)
    __attribute__((warn_unused_result));

/* Sets the viewer's true profile, reported at the session's end. "" changes nothing. ERR_CONFLICT:
 * another profile was reported before, or given at the opening. */
int track_label(struct track *t, const char *profile, struct err *e)
    __attribute__((warn_unused_result));

/* Closes the open trajectory and the session. */
void track_close(struct track *t, struct steps *pool, double now, struct changes *c);

/* Returns all steps to the pool. */
void track_drop(struct track *t, struct steps *pool);

/* Adds a stored step, in order. After the last one the track is as before the restart. */
int track_restore(struct track *t, struct steps *pool, const struct step *s,
                  struct err *e) __attribute__((warn_unused_result));

/* A step as an answer, and as an entry of a history. */
void track_answer(struct answer *out, const struct step *s, const struct track_row *row);
void track_history(struct history_step *out, const struct step *s,
                   const struct track_row *row);
/* The wait for the step's chunk was a start and no stall. */
bool track_starts(const struct track_row *row, const struct step *s);
/* The step's chunk at a level, and the chunk before it, as the session's viewer sees them. kbps 0:
 * none. */
struct qoe_level track_seen(const struct track_row *row, const struct step *s, int level);
struct qoe_level track_before(const struct track_row *row, const struct step *s);
/* points (levels): of the step's chunk at each level. */
void track_points(double *points, const struct track_row *row, const struct step *s);
enum service_by track_by(const struct step *s);

#endif

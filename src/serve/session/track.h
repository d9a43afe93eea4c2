/* track.h - one session's rules: what a question, an outcome and an end do to it.
 *
 * A session is a sequence of steps. A step is a decision with, later, its outcome; or an
 * outcome alone, when the player fetched a chunk that was never decided here (its own
 * rules while the daemon was away).
 *
 * Questions. The newest step's question repeated gets its answer again; the same chunk
 * asked differently is ERR_CONFLICT; an older one among the last TRACK_KEEP is answered
 * again when the question is the same. Anything else is a new step, wherever it lies in
 * the video.
 *
 * Outcomes. Matched to the newest step of that chunk; an equal repeat counts once, a
 * different one is ERR_CONFLICT. The measurement enters the history in step order: the
 * outcome of an older step is kept with its step, but a later one that is already there
 * is not overtaken.
 *
 * Trajectories (sessions that explore). A step teaches when it was sampled from the
 * policy, its outcome arrived before the next question, and the player fetched the level
 * decided. The open trajectory goes on while chunk follows on chunk with such steps.
 * Everything else - a seek, a gap, another level, a missing outcome, the end of the
 * session - cuts it: it is truncated at the last state that was decided in, which the
 * critic bootstraps from. When the last chunk of the video was followed and reported, or
 * the player says so, it is terminal.
 *
 * Memory. 200 bytes a step and 656 a session. Steps come from a pool. A session keeps
 * pool->keep newest steps and its open trajectory; when the pool is empty it gives up its
 * own oldest.
 *
 * Threads: not shared; the caller holds the lock of the session's shard. No allocation.
 */
#ifndef SERVE_TRACK_H
#define SERVE_TRACK_H

#include "serve/session/service.h"
#include "serve/session/traj.h"

#define TRACK_ID 16       /* bytes */
#define TRACK_KEEP 4      /* steps that questions and outcomes are matched to */
#define TRACK_MEMORY 4096 /* steps kept for the history when there is no store */

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
    STEP_GUARDED = 2048, /* levels were withheld: abr/deciders/guard.h */
};

struct step {
    int32_t next, prev; /* pool indices, -1 at the ends */
    int32_t chunk;
    uint32_t ord; /* 0, 1, ... within the session */
    uint16_t rev; /* raised with every change: the store keeps the highest */
    uint16_t flags;
    int8_t decided, level, last_level, expert; /* level: fetched */
    float logp, value, entropy;
    uint32_t bytes; /* that arrived */
    float prob[VIEW_LEVELS];
    uint32_t next_bytes[VIEW_LEVELS]; /* 0 = unknown */
    uint64_t question;                /* hash of the question, next_bytes left out */
    uint64_t policy;
    double buffer_s, download_s, rebuffer_s, reward, external;
    double at; /* last change, s since the epoch */
};

/* What does not change from chunk to chunk; the store's row of a session. */
struct track_row {
    uint8_t id[TRACK_ID];
    uint64_t key;
    char profile[SERVICE_NAME]; /* as understood */
    char content_id[SERVICE_CONTENT];
    double ladder_kbps[VIEW_LEVELS];
    double chunk_s, buffer_max_s, opened_at, closed_at;
    struct qoe qoe;
    int32_t levels, chunks;
    uint8_t
        tag; /* of the reward function; from TRAJ_TAG_OWN on: whose own experts decide */
    uint8_t slot; /* of the statistics */
    bool has_mu, has_key, hinted, explores;
    bool closed, terminal;
    bool labelled; /* not hinted, but told at its end what it was: then `profile` */
    /* not stored */
    uint16_t followed; /* chunks fetched as decided, as many as are known */
    uint64_t from;     /* who opened it, drawn from the address; 0: not known any more */
};

struct track {
    struct track_row row;
    struct traj_measured measured; /* now */
    struct traj_measured before;   /* when the open trajectory began */
    double last_at;
    int32_t oldest, newest, n; /* steps in the pool */
    int32_t head, head_n;      /* open trajectory and its steps; -1 none */
    uint32_t ords;             /* steps ever made */
    uint32_t changes;          /* of this session: to notice another thread's */
};

struct steps {
    struct step *at;
    int cap, used, free, keep;
};

int track_steps_init(struct steps *p, int cap, int keep, struct err *e)
    __attribute__((warn_unused_result));
void track_steps_release(struct steps *p);

/* The policy's answer, as a step keeps it. */
struct verdict {
    int level, expert; /* expert -1: none, the weights gave nothing finite */
    float prob[VIEW_LEVELS], logp, value, entropy;
    float added; /* share of the added experts (policy/policy.h); 0 without */
    uint64_t policy;
    bool sampled;
    bool guarded; /* levels were withheld: abr/deciders/guard.h */
    enum service_by by;
};

/* What an operation did: taken out under the lock, delivered to store and learner after
 * it. Large; only n, closed, has_traj, starved, unhinted and the counts are ever cleared. */
struct changes {
    int n;
    struct step step[3];
    bool closed; /* row has changed */
    bool has_traj;
    bool starved; /* the pool was empty: an open trajectory was given up */
    int rewards, not_followed;
    double reward_sum, stall_sum_s, kbps_sum;
    bool decided;
    int expert;        /* that decided, -1 none */
    bool unhinted;     /* the session gave no hint: row is filled */
    uint32_t rewarded; /* ord of the step whose outcome came, when rewards > 0 */
    struct track_row row;
    struct traj traj;
};
void track_changes_clear(struct changes *c);

/* A question that was answered anew, for who looks at decisions (serve/part.h). */
struct session_asked {
    const uint8_t *id;
    uint64_t key;
    int chunk;
    bool hinted;
    const struct view *view;
};

void track_init(struct track *t, const struct track_row *row);

/* 0: a new question, *view is what the policy may know; 1: a repeat, *again is its
 * answer. */
int track_peek(struct view *view, struct answer *again, const struct track *t,
               const struct steps *pool, const struct question *q, struct err *e)
    __attribute__((warn_unused_result));

/* What was known when the chunk that is on its way was decided. ERR_CONFLICT: it was not decided
 * last, or has been reported. */
int track_underway(struct view *view, const struct track *t, const struct steps *pool,
                   int chunk, struct err *e) __attribute__((warn_unused_result));

/* Takes the question's outcome in and keeps the answer as the newest step. track_peek has
 * returned 0 for this question and nothing has changed since. ERR_FULL: no step to be
 * had. */
int track_decide(struct answer *out, struct track *t, struct steps *pool,
                 const struct question *q, const struct verdict *v, double now,
                 struct changes *c, struct err *e) __attribute__((warn_unused_result));

int track_report(struct reward_out *out, struct track *t, struct steps *pool,
                 const struct reward_in *in, double now, struct changes *c, struct err *e)
    __attribute__((warn_unused_result));

/* The session's end says what its viewer really watched. ERR_CONFLICT when it said, or was
 * opened with, something else. "" says nothing. */
int track_label(struct track *t, const char *profile, struct err *e)
    __attribute__((warn_unused_result));

/* Closes trajectory and session. */
void track_close(struct track *t, struct steps *pool, double now, struct changes *c);

/* Gives all steps back to the pool. */
void track_drop(struct track *t, struct steps *pool);

/* Takes in a stored step, in order: after the last one the track is as it was. */
int track_restore(struct track *t, struct steps *pool, const struct step *s,
                  struct err *e) __attribute__((warn_unused_result));

/* What a step answers, and what it looks like in a history. */
void track_answer(struct answer *out, const struct step *s, const struct track_row *row);
void track_history(struct history_step *out, const struct step *s,
                   const struct track_row *row);
enum service_by track_by(const struct step *s);

#endif

/* sessions.h - the table of live sessions, with lookup at constant cost.
 *
 * Sessions are spread over shards by their id, which is 128 random bits. Each shard has a lock, a hash
 * table, a pool of steps and its own counts. sessions_new reserves all of it; pages are touched when
 * used. A closed session stays until it is idle for the ttl or its place is needed, so that a repeated
 * report gets the same answer.
 *
 * One decision takes the lock twice. sessions_peek copies the view out; sessions_decide records the
 * answer. If another thread changed the session in between (ticket), the caller peeks again and usually
 * finds a repeat.
 *
 * Errors: ERR_ABSENT unknown or closed session, ERR_FULL no place, those of track.h.
 * Threads: locked inside, one shard's lock at a time, a leaf. No allocation after _new. */
#ifndef SERVE_SESSIONS_H
#define SERVE_SESSIONS_H

#include "base/entropy.h"
#include "serve/session/track.h"
#include "serve/session/viewing.h"

struct sessions;

struct sessions_cfg {
    int max;   /* live sessions */
    int keep;  /* steps per session: TRACK_KEEP, or TRACK_MEMORY without a store */
    int spare; /* steps for open trajectories and long histories */
    struct entropy entropy; /* of ids */
    uint8_t number;         /* first byte of all ids; 0: random */
    bool strict;            /* callers use sessions_stored and sessions_await_stored */
};

struct sessions *sessions_new(const struct sessions_cfg *cfg, struct err *e);
void sessions_free(struct sessions *s);

/* 32 hex digits and NUL; sessions_id_parse returns false for any other text. */
void sessions_id_text(char out[SERVICE_ID], const uint8_t id[TRACK_ID]);
bool sessions_id_parse(uint8_t out[TRACK_ID], const char *text);

/* Creates a session with its first question answered, and draws row->id. */
int sessions_open(struct answer *first, struct sessions *s, struct track_row *row,
                  const struct question *q, const struct verdict *v, struct changes *c,
                  struct err *e) __attribute__((warn_unused_result));

struct session_ticket {
    uint32_t changes;
    uint64_t key, network;
    uint8_t tag; /* of the row: selects the weights that decide */
    bool explores, hinted, apart;
    uint8_t arm;                      /* of the trial */
    uint32_t trial;                   /* struct track_arm: number, if own; 0: none */
    uint8_t slot;                     /* of the statistics */
    char content_id[SERVICE_CONTENT]; /* of a session without a hint */
};

/* As track_peek: 0: new, 1: repeat. stalled_s and played_s of the view are those of the session. */
int sessions_peek(struct view *view, struct answer *again, struct session_ticket *ticket,
                  struct sessions *s, const uint8_t id[TRACK_ID],
                  const struct question *q, struct err *e)
    __attribute__((warn_unused_result));

/* As track_underway, with the same ticket; ticket->explores: the level being fetched was drawn. */
int sessions_underway(struct view *view, struct session_ticket *ticket,
                      struct sessions *s, const uint8_t id[TRACK_ID], int chunk,
                      struct err *e) __attribute__((warn_unused_result));

/* 0: recorded; 1: the session has changed since the ticket, peek again. */
int sessions_decide(struct answer *out, struct sessions *s, const uint8_t id[TRACK_ID],
                    const struct session_ticket *ticket, const struct question *q,
                    const struct verdict *v, double now, struct changes *c, struct err *e)
    __attribute__((warn_unused_result));

int sessions_report(struct reward_out *out, struct sessions *s,
                    const uint8_t id[TRACK_ID], const struct reward_in *in, double now,
                    struct changes *c, struct err *e) __attribute__((warn_unused_result));

/* profile: as track_label. */
int sessions_close(struct sessions *s, const uint8_t id[TRACK_ID], const char *profile,
                   double now, struct changes *c, struct err *e)
    __attribute__((warn_unused_result));

/* Closes one live session whose last request is older than `before` (true, *c has the changes), and
 * removes closed ones that old; false: nothing left to do. */
bool sessions_expire(struct sessions *s, double before, double now, struct changes *c);

/* With cfg.strict. Other threads see the change of an operation before its caller has queued it for
 * the store. After queueing, the caller calls sessions_stored. A thread that answers from such a change
 * waits in sessions_await_stored. */
void sessions_stored(struct sessions *s, const uint8_t id[TRACK_ID]);
void sessions_await_stored(struct sessions *s, const uint8_t id[TRACK_ID]);

/* Sessions of the table that fit, at most max; returns how many. */
int sessions_find(uint8_t (*id)[TRACK_ID], int max, struct sessions *s,
                  bool (*fits)(void *ctx, const struct track_row *row), void *ctx);
/* Removes a closed session from the table. */
void sessions_forget(struct sessions *s, const uint8_t id[TRACK_ID]);

/* True if the session is known and not closed. */
bool sessions_live(struct sessions *s, const uint8_t id[TRACK_ID]);

/* At most limit remembered steps, oldest first, without the first `after` of the session. *steps (n) is
 * owned by the caller. */
int sessions_history(struct track_row *row, double *last_at, struct step **steps, int *n,
                     struct sessions *s, const uint8_t id[TRACK_ID], uint32_t after,
                     int limit, struct err *e) __attribute__((warn_unused_result));

/* Adds a stored session, last active at heard_at; steps in order. Only at the start, before requests. */
int sessions_restore(struct sessions *s, const struct track_row *row,
                     const struct step *steps, int n, double heard_at, struct err *e)
    __attribute__((warn_unused_result));

struct session_stats {
    int live;
    uint64_t decisions, repeats, rewards, not_followed, starved;
    struct session_slot {
        uint64_t rewards;
        double reward_sum, kbps_sum;
        struct viewing_sums viewing;
        uint64_t expert[16];
    } slot[SERVICE_PROFILE_STATS], observed; /* observed sessions, which no slot counts */
};
void sessions_stats(struct session_stats *out, struct sessions *s);
/* Moves the counts and sessions of a slot to PROFILES_SLOT_CUSTOM. So the slot's next owner starts at
 * 0, and no total falls. Visits all sessions, one shard at a time. */
void sessions_slot_gone(struct sessions *s, int slot);

#endif

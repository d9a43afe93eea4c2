/* sessions.h - the table of live sessions: who is asking, found at constant cost.
 *
 * Sessions are spread over shards by their id, which is 128 random bits. Each shard has a
 * lock, a hash table, a pool of steps and its own counts; all of it is sized and reserved
 * by sessions_new (pages are touched when used). A closed session stays, so that a
 * repeated report is answered as before, until it is idle for the ttl or its place is
 * needed.
 *
 * One decision takes the lock twice: sessions_peek copies out what the policy may know,
 * sessions_decide keeps the answer - unless another thread was there in between (ticket),
 * in which case the caller peeks again and usually finds a repeat.
 *
 * Errors: ERR_ABSENT unknown or closed session, ERR_FULL no place, those of track.h.
 * Threads: locked inside, one shard's lock at a time, a leaf. No allocation after _new.
 */
#ifndef SERVE_SESSIONS_H
#define SERVE_SESSIONS_H

#include "base/entropy.h"
#include "serve/session/track.h"

struct sessions;

struct sessions_cfg {
    int max;   /* live sessions */
    int keep;  /* steps per session: TRACK_KEEP, or TRACK_MEMORY without a store */
    int spare; /* steps for open trajectories and long histories */
    struct entropy entropy; /* of ids */
    uint8_t number;         /* 1 .. 255: with which all ids begin; 0: they begin anyhow */
    bool strict; /* sessions_await_stored may be called: sessions_stored will be */
};

struct sessions *sessions_new(const struct sessions_cfg *cfg, struct err *e);
void sessions_free(struct sessions *s);

/* 32 hex digits and NUL; sessions_id_parse returns false when it is not that. */
void sessions_id_text(char out[SERVICE_ID], const uint8_t id[TRACK_ID]);
bool sessions_id_parse(uint8_t out[TRACK_ID], const char *text);

/* A new session, its first question already answered. row->id is drawn here. */
int sessions_open(struct answer *first, struct sessions *s, struct track_row *row,
                  const struct question *q, const struct verdict *v, struct changes *c,
                  struct err *e) __attribute__((warn_unused_result));

struct session_ticket {
    uint32_t changes;
    uint64_t key;
    uint8_t tag; /* of the row: whose weights decide */
    bool explores, hinted;
    char content_id[SERVICE_CONTENT]; /* of a session without a hint */
};

/* As track_peek: 0 new, 1 repeat. */
int sessions_peek(struct view *view, struct answer *again, struct session_ticket *ticket,
                  struct sessions *s, const uint8_t id[TRACK_ID],
                  const struct question *q, struct err *e)
    __attribute__((warn_unused_result));

/* As track_underway; *explores: what is fetched is what was drawn. */
int sessions_underway(struct view *view, bool *explores, struct sessions *s,
                      const uint8_t id[TRACK_ID], int chunk, struct err *e)
    __attribute__((warn_unused_result));

/* 0 kept; 1 the session has changed since the ticket: peek again. */
int sessions_decide(struct answer *out, struct sessions *s, const uint8_t id[TRACK_ID],
                    const struct session_ticket *ticket, const struct question *q,
                    const struct verdict *v, double now, struct changes *c, struct err *e)
    __attribute__((warn_unused_result));

int sessions_report(struct reward_out *out, struct sessions *s,
                    const uint8_t id[TRACK_ID], const struct reward_in *in, double now,
                    struct changes *c, struct err *e) __attribute__((warn_unused_result));

/* profile: track_label's. */
int sessions_close(struct sessions *s, const uint8_t id[TRACK_ID], const char *profile,
                   double now, struct changes *c, struct err *e)
    __attribute__((warn_unused_result));

/* Closes one live session that was last heard of before `before` (true, *c says what
 * changed), or forgets closed ones that old; false when there is nothing left to do. */
bool sessions_expire(struct sessions *s, double before, double now, struct changes *c);

/* With cfg.strict. What an operation that returned 0 (or true) changed is seen by other threads before
 * its caller has put it into the store's queue: once he has, he says so; who answers by what he has
 * seen waits for that. */
void sessions_stored(struct sessions *s, const uint8_t id[TRACK_ID]);
void sessions_await_stored(struct sessions *s, const uint8_t id[TRACK_ID]);

/* It is known, and not closed. */
bool sessions_live(struct sessions *s, const uint8_t id[TRACK_ID]);

/* Steps remembered, oldest first: limit at most, without the first `after` of the session. *steps
 * (n) is owned by the caller. */
int sessions_history(struct track_row *row, double *last_at, struct step **steps, int *n,
                     struct sessions *s, const uint8_t id[TRACK_ID], uint32_t after,
                     int limit, struct err *e) __attribute__((warn_unused_result));

/* Takes a stored session in, last heard of then; steps in order. For the start, before anybody asks. */
int sessions_restore(struct sessions *s, const struct track_row *row,
                     const struct step *steps, int n, double heard_at, struct err *e)
    __attribute__((warn_unused_result));

struct session_stats {
    int live;
    uint64_t decisions, repeats, rewards, not_followed, starved;
    struct session_slot {
        uint64_t rewards;
        double reward_sum, stall_sum_s, kbps_sum;
        uint64_t expert[16];
    } slot[SERVICE_PROFILE_STATS];
};
void sessions_stats(struct session_stats *out, struct sessions *s);
/* What was counted for that slot, and its sessions, belong to PROFILES_SLOT_CUSTOM from now on: so
 * its next owner begins at 0, and no total falls. Goes through all sessions, a shard at a time. */
void sessions_slot_gone(struct sessions *s, int slot);

#endif

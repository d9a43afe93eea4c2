/* service.h - what the daemon does, without sockets: sessions, decisions, rewards, profiles.
 *
 * The HTTP layer, `abrd emulate` in process and the tests call these functions; so an answer is the
 * same over the wire and in process. Time comes in through cfg.clock.
 *
 * One decision: lock the session's shard, append the measurement, copy the view out, unlock;
 * feat; snapshot; policy; lock, keep the pending decision, unlock. No heap call, never two
 * locks, none across the policy.
 *
 * Durability. What was answered is in the store after flush_s and one commit; a crash loses what is
 * younger. With cfg.strict the answer waits for the commit (writer_flush): whoever waits first
 * commits for all that wait by then, so it costs a thread one or two commits and no lock. When
 * the commit fails the request is refused (ERR_IO), though the session has moved on: the records
 * stay queued, and the same request again is a repeat, which waits for them too.
 *
 * Errors: ERR_INVALID and ERR_RANGE (e->field names the JSON field), ERR_ABSENT unknown
 * session or profile, ERR_CONFLICT a repeat that contradicts, ERR_FULL table or queue full,
 * ERR_IO the store refuses.
 * Threads: struct service is locked inside; a struct service_worker belongs to one thread. */
#ifndef SERVE_SERVICE_H
#define SERVE_SERVICE_H

#include "abr/emulator/view.h"
#include "base/entropy.h"
#include "base/field.h"
#include "base/log.h"
#include "learn/online.h"
#include "serve/metrics/figure.h"
#include "serve/metrics/stages.h"
#include "serve/learner/vitals.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVICE_ID 33   /* 32 hex digits and NUL */
#define SERVICE_NAME 64 /* profile names: [a-z0-9_-], 1..63 */
#define SERVICE_CONTENT 128
#define SERVICE_ADDED 16 /* profiles that may have experts of their own */
/* Limits of settings, of service_check and of the options. */
#define SERVICE_BATCH_MAX 8192 /* steps: half of what the learner holds */
#define SERVICE_TTL_MAX_S 1e6
#define SERVICE_CHECKPOINT_MAX_S 1e6
#define SERVICE_RETENTION_MAX_S 8.64e9 /* 1e5 days */

struct bus;
struct parts_cfg;
struct store;

/* What the service is put together from; all NULL = what the daemon runs on. */
struct service_parts {
    /* as store_sqlite_open and bus_local_init do: 0, or a code and nothing to free */
    int (*store)(struct store *out, void *ctx, const char *path, struct err *e);
    int (*bus)(struct bus *out, void *ctx, struct err *e);
    void *ctx;
    struct entropy entropy; /* of ids and keys */
};

struct service_cfg {
    const char *data_dir;    /* NULL: nothing is stored (tests, emulate in process) */
    const char *policy_path; /* start weights unless data_dir holds a newer checkpoint */
    uint64_t seed;
    bool
        secret; /* false; true: who explores, and what is drawn for them, is a secret of data_dir,
                  * or of the process, and not foretold by seed and key */
    double explore_share; /* .2: share of sessions that sample and teach */
    bool learn;
    char default_profile[SERVICE_NAME]; /* "pensieve": for sessions without a hint */
    int max_sessions;                   /* 100000 live */
    double session_ttl_s;               /* 600 without a word: truncated and closed */
    double retention_s;  /* stored sessions older than this are deleted; 0 = keep */
    double checkpoint_s; /* 60 */
    double flush_s;      /* .05: the store commits at most this late */
    bool strict;         /* false: requests are answered when stored, not before */
    int store_queue;     /* 32768: records that wait for the store at most */
    struct online_cfg online;
    /* Of the parts (serve/parts.h); borrowed for the calls that take it. NULL: their defaults. */
    const struct parts_cfg *optional;
    /* seconds since the epoch; NULL: CLOCK_REALTIME at the start, and on from there by
     * CLOCK_MONOTONIC, so that nobody's session ends because somebody sets the clock */
    double (*clock)(void *ctx);
    void *clock_ctx;
    struct service_parts parts;
    const struct log *log; /* what goes on behind the answers; NULL = silent */
};

struct service_cfg service_cfg_default(void);
extern const struct field service_fields[];

struct service;
struct service_worker; /* policy scratch of one thread */

struct service *service_new(const struct service_cfg *cfg, struct err *e);
/* Drains: truncates nothing, flushes the store, writes a checkpoint. Idempotent. */
int service_drain(struct service *s, struct err *e);
void service_free(struct service *s);
/* Would service_new take these numbers? */
int service_check(const struct service_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
/* Takes over explore_share (of sessions opened from now on), session_ttl_s, retention_s and
 * checkpoint_s, at any time; the rest of cfg is only checked. Nothing changes when it is refused. */
int service_reload(struct service *s, const struct service_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
struct service_worker *service_worker_new(struct service *s, struct err *e);
void service_worker_free(struct service_worker *w);
/* Times the worker's decisions from here on; borrowed, NULL: no more. */
void service_worker_stages(struct service_worker *w, struct stages *stages);
/* Who sends the requests that follow: a number drawn from the address, not 0. What an address tells of
 * viewers without a hint counts for a bounded share (profile mix.h). 0, as at first: the caller answers
 * for its viewers, and each session counts as an address of its own. */
void service_worker_from(struct service_worker *w, uint64_t from);

/* ---- sessions ---- */
struct session_open {
    char profile[SERVICE_NAME]; /* "" = no name given */
    bool has_mu;                /* own weights in qoe; excludes profile */
    struct qoe qoe;
    int levels;
    double ladder_kbps[VIEW_LEVELS];
    double chunk_s;
    int chunks; /* 0 = live */
    double buffer_max_s;
    char content_id[SERVICE_CONTENT];
    bool has_key; /* key of the counter-based stream; else drawn */
    uint64_t key;
    bool has_next; /* sizes of chunk 0 */
    double next_bytes[VIEW_LEVELS];
};

/* How a decision was made; part of a step, so that its answer can be given again. */
enum service_by { BY_ROUTER, BY_DEFAULT, BY_MEAN_HINT, BY_IDENTITY, BY_MERGE, BY_WAYS };
/* "router", "default", "mean-hint", "identify", "merge"; ends with NULL. */
extern const char *const service_by_words[BY_WAYS + 1];
const char *service_by_name(enum service_by by);

struct answer {
    int chunk, level, levels;
    double kbps;
    uint64_t policy; /* version that decided; by a merge: the number of its slot */
    int expert; /* in charge; -1: none, mode "fallback", or all of them, mode "merge" */
    double prob[VIEW_LEVELS]; /* the distribution really used */
    double value, entropy;
    bool sampled; /* mode: "sample", else "greedy" */
    bool guarded; /* levels were withheld: abr/deciders/guard.h */
    enum service_by by;
};

struct session_opened {
    char session[SERVICE_ID];
    char profile[SERVICE_NAME]; /* as understood; "custom" for own weights */
    bool hinted;                /* false: default profile was assumed */
    struct qoe qoe;
    uint64_t key;
    bool explores;
    struct answer first; /* chunk 0 */
};

int service_open(struct session_opened *out, struct service *s, struct service_worker *w,
                 const struct session_open *in, struct err *e)
    __attribute__((warn_unused_result));

/* What became of one chunk. */
struct outcome {
    int chunk, level;
    int64_t bytes;
    double download_s, rebuffer_s;
};

struct question {
    int chunk;
    double buffer_s;
    bool has_last;
    struct outcome last; /* of chunk - 1, normally */
    bool has_next;
    int n_next; /* sizes that came, which must be all; 0 = the caller filled all levels */
    double next_bytes[VIEW_LEVELS];
};

/* Idempotent per (session, chunk): an equal repeat gets the equal answer, a different one
 * ERR_CONFLICT. A chunk that does not follow on (seek, gap) closes the trajectory. */
int service_ask(struct answer *out, struct service *s, struct service_worker *w,
                const char *session, const struct question *q, struct err *e)
    __attribute__((warn_unused_result));

/* A chunk that is on its way (abr/deciders/abandon.h). */
struct underway_in {
    int chunk, level;
    int64_t bytes; /* that came */
    double elapsed_s, buffer_s;
};

struct underway_out {
    int chunk, level; /* the level to have it at; that of the question: let it come */
    double kbps;
};

/* Should it be abandoned? Changes nothing; who explores never should. The chunk that was decided
 * last, else ERR_CONFLICT. */
int service_underway(struct underway_out *out, struct service *s, const char *session,
                     const struct underway_in *in, struct err *e)
    __attribute__((warn_unused_result));

struct reward_in {
    bool has_outcome;
    struct outcome outcome; /* the last chunk, when no further decision follows */
    bool has_external;
    int chunk;
    double external; /* -1000 .. 1000, kept beside ours, never used for learning */
    bool final;      /* the video was played to its end */
    char profile
        [SERVICE_NAME]; /* with final: what the viewer really watched; "" = not said */
};

struct reward_out {
    int chunk;
    double reward; /* computed here */
    bool followed, repeated;
};

int service_reward(struct reward_out *out, struct service *s, const char *session,
                   const struct reward_in *in, struct err *e)
    __attribute__((warn_unused_result));

/* Closes: terminal when all chunks were reported, truncated otherwise. profile: what the viewer
 * really watched, NULL or "" when it is not said; ERR_CONFLICT when something else was. */
int service_close(struct service *s, const char *session, const char *profile,
                  struct err *e) __attribute__((warn_unused_result));

/* History of one session, live or stored. */
struct history_step {
    int chunk, level, decided_level, expert;
    int64_t bytes;
    double kbps, buffer_s, download_s, rebuffer_s, reward, external, logp;
    uint64_t policy;
    enum service_by by;
    bool reported, followed, sampled, has_external;
};
struct history {
    struct session_open open;
    struct session_opened opened; /* first is not filled */
    bool closed, terminal;
    double opened_at, last_at; /* s since the epoch */
    int n;
    struct history_step *steps; /* (n) owned */
    uint32_t first;             /* how many steps came before these */
    uint32_t next; /* how many steps there are before the next one; 0: none follows */
};
/* At most limit steps, without the first `after` of the session. Reads the disk: not for a thread
 * that answers (histories.h). */
int service_history_page(struct history *out, struct service *s, const char *session,
                         uint32_t after, int limit, struct err *e)
    __attribute__((warn_unused_result));
/* Everything that was answered before is in what is read after. */
int service_history_settle(struct service *s, struct err *e)
    __attribute__((warn_unused_result));
/* All of it. */
int service_history(struct history *out, struct service *s, const char *session,
                    struct err *e) __attribute__((warn_unused_result));
void service_history_free(struct history *h);

/* ---- stateless ---- */
/* The whole question in one view; nothing is stored. Greedy. profile: by what name the weights
 * were given, as it may have grown; NULL or "" = none. hinted false: view->qoe is the default
 * profile's, and the viewer gets what untagged ones get. */
int service_decide(struct answer *out, struct service *s, struct service_worker *w,
                   const char *profile, bool hinted, const struct view *view,
                   struct err *e) __attribute__((warn_unused_result));

/* ---- profiles ---- */
struct profile {
    char name[SERVICE_NAME];
    struct qoe qoe;
    bool builtin; /* cannot be changed or deleted: ERR_CONFLICT */
    bool grow;    /* has experts of its own (added.h); put: is to have them */
};
int service_profile_get(struct profile *out, struct service *s, const char *name,
                        struct err *e) __attribute__((warn_unused_result));
/* 1 = created, 0 = replaced. grow: new experts for it, on the policy as it is now (ERR_FULL: no
 * more are allowed). They learned what its weights reward: a grown profile with other ones is
 * ERR_CONFLICT. When grow is not set it stays as it is; deletion frees. */
int service_profile_put(struct service *s, const struct profile *p, struct err *e)
    __attribute__((warn_unused_result));
int service_profile_delete(struct service *s, const char *name, struct err *e)
    __attribute__((warn_unused_result));
/* Up to max, sorted by name; returns the number. */
int service_profile_list(struct profile *out, int max, struct service *s);
/* Safetensors bytes of a grown profile (learn/ckpt.h), owned by the caller. For callers that
 * drive service_learn themselves. */
int service_profile_weights(void **out, size_t *n, struct service *s, const char *name,
                            struct err *e) __attribute__((warn_unused_result));

/* ---- policy ---- */
struct policy_info {
    uint64_t version;
    double published_at;
    struct policy_cfg cfg;
    size_t parameters;
    double check_score; /* on the fixed emulator check */
};
void service_policy_info(struct policy_info *out, struct service *s);
/* safetensors bytes, owned by the caller. */
int service_policy_weights(void **out, size_t *n, struct service *s, struct err *e)
    __attribute__((warn_unused_result));

/* ---- routers (policy/gate.h, learn/online.h) ---- */
#define SERVICE_ASIDE_MAX 1000000

/* Orders for the learner, which carries them out at its next turn. ERR_CONFLICT when nothing
 * learns. Latched gates of actor and critic learn again: */
int service_gate_reset(struct service *s, struct err *e)
    __attribute__((warn_unused_result));
/* An expert is busy for so many updates, 0: it is back. ERR_RANGE, ERR_CONFLICT: the last idle
 * one. */
int service_set_aside(struct service *s, bool critic, int expert, int updates,
                      struct err *e) __attribute__((warn_unused_result));

/* ---- seen from outside ---- */
#define SERVICE_PROFILE_STATS 16 /* built-in, custom and the first named ones */
struct service_stats {
    double at; /* when they were taken, s since the epoch */
    uint64_t sessions_opened, sessions_closed, sessions_expired, decisions, repeats,
        rewards, not_followed, conflicts, bus_dropped, store_errors, underway,
        abandoned,           /* questions about chunks on their way; so answered */
        checkpoints_refused, /* damaged, at the start */
        files_missing,       /* of the data folder, at the start */
        misfits;             /* trajectories of more levels than the policy has actions */
    uint64_t
        not_finite; /* decisions whose weights gave none: the lowest level was told */
    int sessions_live;
    uint64_t store_queue, bus_queue;
    bool store_ok, draining, learning;
    uint64_t policy_version;
    uint64_t actor_busy,
        critic_busy;    /* bits: experts of the published weights that nobody
                                       * is routed to */
    double store_lag_s; /* how long the oldest of the records has waited */
    struct online_stats learner;
    struct vitals_stats vitals;
    uint64_t expert_decisions[16];
    int n_profiles;
    struct service_profile_stats {
        char name[SERVICE_NAME];
        uint64_t rewards;
        double reward_sum, stall_sum_s, kbps_sum;
        uint64_t expert[16];
    } profile[SERVICE_PROFILE_STATS];
};
void service_stats(struct service_stats *out, struct service *s);
/* Of service_stats and of its profiles, for /metrics and JSON. */
extern const struct figure service_figures[], service_profile_figures[];

/* For pages, beside the figures: */
struct curve_point;
/* The learner's points after that number, oldest first, at most max; how many (curve.h). */
int service_curve(struct curve_point *out, int max, struct service *s, uint64_t after);

/* Starts learner, store and tick threads. A caller that does not (emulate, tests) takes their turns
 * itself, in any order: */
int service_start_threads(struct service *s, struct err *e)
    __attribute__((warn_unused_result));
/* Learner: takes what the bus has, learns if a batch is ready, and writes a checkpoint when one is
 * due; 1 = new weights. Does nothing while its thread runs. */
int service_learn(struct service *s, struct err *e);
/* Store: what waits for it is durable when this returns 0. */
int service_commit(struct service *s, struct err *e) __attribute__((warn_unused_result));
/* Clock: expires idle sessions, ends the slot of untagged viewers, prunes. Once a second. */
void service_periodic(struct service *s);
/* service_periodic and service_commit, whose failure is logged. */
void service_tick(struct service *s);

#endif

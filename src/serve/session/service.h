/* service.h - the daemon without sockets: sessions, decisions, rewards, profiles.
 *
 * HTTP, `abrd emulate` in process and the tests call these functions, so an answer is the same over the
 * wire and in process. cfg.clock supplies the time.
 *
 * One decision: lock the session's shard, match the measurement, copy the view out, unlock; make the
 * observation; borrow the published weights; run the policy; lock, record the decision, unlock. It
 * makes no heap call, never holds two locks, and holds no lock while the policy runs.
 *
 * Durability. An answer is in the store after flush_s and one commit; a crash loses younger answers.
 * With cfg.strict the answer waits for the commit (writer_flush). The first thread that waits commits
 * for all that wait by then, so a thread waits for one or two commits and holds no lock. If the commit
 * fails the request is refused (ERR_IO), although the session has changed. The records stay queued;
 * the same request again is a repeat, which waits for them too.
 *
 * Errors: ERR_INVALID and ERR_RANGE (e->field names the JSON field), ERR_ABSENT unknown session or
 * profile, ERR_CONFLICT a contradicting repeat, ERR_FULL table or queue full, ERR_IO the store refuses
 * the write.
 * Threads: struct service is locked inside; a struct service_worker belongs to one thread. */
#ifndef SERVE_SERVICE_H
#define SERVE_SERVICE_H

#include "abr/deciders/caution.h"
#include "abr/emulator/quality.h"
#include "abr/emulator/view.h"
#include "base/entropy.h"
#include "base/field.h"
#include "base/log.h"
#include "learn/online.h"
#include "serve/metrics/figure.h"
#include "serve/metrics/stages.h"
#include "serve/session/label_sums.h"
#include "serve/session/labels.h"
#include "serve/session/viewing.h"
#include "serve/learner/vitals.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVICE_ID 33   /* 32 hex digits and NUL */
#define SERVICE_NAME 64 /* profile names: [a-z0-9_-], 1..63 */
#define SERVICE_CONTENT 128
#define SERVICE_VIEWER 129 /* 128 bytes and NUL */
#define SERVICE_TRIAL 24   /* names of trials and arms: [a-z0-9_-], 1..23 */
#define SERVICE_ADDED 16   /* profiles that may have experts of their own */
/* Limits of settings, for service_check and the options. */
#define SERVICE_BATCH_MAX 8192 /* steps: half of the learner's capacity */
#define SERVICE_TTL_MAX_S 1e6
#define SERVICE_CHECKPOINT_MAX_S 1e6
#define SERVICE_RETENTION_MAX_S 8.64e9 /* 1e5 days */

struct bus;
struct parts_cfg;
struct store;

/* Replaceable parts, for tests; NULL: those of the daemon. */
struct service_parts {
    /* as store_sqlite_open and bus_local_init: 0, or an error and nothing to free */
    int (*store)(struct store *out, void *ctx, const char *path, struct err *e);
    int (*bus)(struct bus *out, void *ctx, struct err *e);
    void *ctx;
    struct entropy entropy; /* of ids and keys */
};

/* on: explore and learn. observe: players keep their own rules, unless a session asks for decisions. */
enum service_learn { LEARN_OFF, LEARN_ON, LEARN_OBSERVE };

struct service_cfg {
    const char *data_dir;    /* NULL: nothing is stored (tests, emulate in process) */
    const char *policy_path; /* initial weights unless data_dir has a newer checkpoint */
    uint64_t seed;
    bool
        secret; /* false; true: a secret of data_dir or of the process keys the draws, so that seed
                  * and session key do not reveal them */
    double explore_share; /* 0.2: share of sessions that sample and train the policy */
    enum service_learn learn;           /* LEARN_ON */
    char default_profile[SERVICE_NAME]; /* "standard": for sessions without a hint */
    /* Ceilings (qoe.h) of profiles in points without ceilings of their own, and of sessions with
     * weights of their own. 0: none. */
    double stall_ratio_max; /* 0.01 */
    double startup_max_s;   /* 3 */
    struct field_list
        ceilings;         /* of built-in profiles, NAME:STALL_RATIO:STARTUP_S; borrowed */
    int max_sessions;     /* 100000 live */
    double session_ttl_s; /* 600: close a session after this idle time */
    double retention_s;   /* delete stored sessions older than this; 0: never */
    double checkpoint_s;  /* 60 */
    double flush_s;       /* 0.05: longest delay of a commit */
    bool strict;          /* false; true: answer only after the commit */
    int store_queue;      /* 32768: most records that wait for the store */
    const char *metrics_label; /* key of the label that /metrics has; NULL: none */
    int metrics_values;        /* 16: values of it, the rest counts as "other" */
    struct online_cfg online;
    /* Settings of the parts (serve/parts.h); borrowed for the calls that take it. NULL: defaults. */
    const struct parts_cfg *optional;
    /* seconds since the epoch; NULL: CLOCK_REALTIME at the start, continued by CLOCK_MONOTONIC, so
     * that no session ends because the clock is set */
    double (*clock)(void *ctx);
    void *clock_ctx;
    struct service_parts parts;
    const struct log *log; /* NULL: silent */
};

struct service_cfg service_cfg_default(void);
extern const struct field service_fields[];

struct service;
struct service_worker; /* policy scratch of one thread */

struct service *service_new(const struct service_cfg *cfg, struct err *e);
/* Flushes the store and writes a checkpoint; sessions stay open. Idempotent. */
int service_drain(struct service *s, struct err *e);
void service_free(struct service *s);
/* Checks the settings as service_new does. */
int service_check(const struct service_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
/* Replaces at any time explore_share and the ceilings (for new sessions), session_ttl_s, retention_s
 * and checkpoint_s; the rest of cfg is only checked. On an error nothing changes. */
int service_reload(struct service *s, const struct service_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
struct service_worker *service_worker_new(struct service *s, struct err *e);
void service_worker_free(struct service_worker *w);
/* Times the worker's decisions from now on; borrowed. NULL: stops timing. */
void service_worker_stages(struct service_worker *w, struct stages *stages);
/* Sets the client of the next requests: a hash of its address, not 0. One address gets a bounded share
 * of the estimate of the profile mix (profile_mix.h). 0, the default: each session counts as an address
 * of its own. network: the same of its network, for the first level (networks.h); 0: unknown. */
void service_worker_from(struct service_worker *w, uint64_t from, uint64_t network);

/* ---- sessions ---- */
/* observe: the player decides by its own rules; the daemon stores what it would have decided. */
enum session_mode { SESSION_DEFAULT, SESSION_DECIDE, SESSION_OBSERVE };

/* What the client measured of its link before the session, oldest first. Not stored: after a restart
 * of the daemon the session's own chunks are all that is known. */
struct service_link {
    int n; /* <= VIEW_HISTORY */
    double kbps[VIEW_HISTORY], download_s[VIEW_HISTORY];
};

struct session_open {
    char profile[SERVICE_NAME]; /* "": no name given */
    bool has_mu;                /* own weights in qoe, of any utility; excludes profile */
    struct qoe qoe;
    int levels;
    double ladder_kbps[VIEW_LEVELS];
    /* Quality of each level; QUALITY_CURVE: computed from the ladder and the heights. */
    enum quality_source quality_from;
    int n_quality; /* number of entries received, must be one per level; 0: the caller filled all */
    double quality[VIEW_LEVELS];
    int n_height;
    double height[VIEW_LEVELS]; /* pixels, whole numbers; n_height 0: unknown */
    double chunk_s;
    int chunks; /* 0: live */
    double buffer_max_s;
    char content_id[SERVICE_CONTENT];
    bool has_key; /* key of the draws; else random */
    uint64_t key;
    bool has_next; /* sizes of chunk 0 */
    double next_bytes[VIEW_LEVELS];
    bool has_next_quality; /* of chunk 0 */
    int n_next_quality;
    double next_quality[VIEW_LEVELS]; /* NaN: unknown */
    enum session_mode mode;           /* default: as the settings or a trial say */
    bool greedy;                      /* never explores, so nothing learns from it */
    char viewer
        [SERVICE_VIEWER]; /* names the viewer; only its hash is kept (viewer.h). "": unknown */
    /* Playback is under way: another period, ladder or video of the same viewer, or a session that the
     * daemon has lost. Its first chunk is no start. */
    bool continues;
    double buffer_s; /* media in the buffer now */
    struct service_link link;
    double max_kbps; /* cap of the first chunk (abr/deciders/cap.h); 0: none */
    struct labels labels;
};

/* How a decision was made. Part of a step, so that a repeat gets the same answer. */
enum service_by {
    BY_ROUTER,
    BY_DEFAULT,
    BY_MEAN_HINT,
    BY_IDENTITY,
    BY_MERGE,
    BY_ARM,
    BY_WAYS
};
/* "router", "default", "mean-hint", "identify", "merge", "arm"; ends with NULL. */
extern const char *const service_by_words[BY_WAYS + 1];
const char *service_by_name(enum service_by by);

struct answer {
    int chunk, level, levels;
    double kbps;
    double quality; /* points of the level, from quality_from */
    enum quality_source quality_from;
    uint64_t policy; /* version of the policy; BY_MERGE: number of the slot */
    int expert; /* that decided; -1: none, mode "fallback", or all of them, mode "merge" */
    double prob[VIEW_LEVELS]; /* the distribution in use */
    double value, entropy;
    bool sampled;  /* mode: "sample", else "greedy" */
    bool guarded;  /* levels were withheld: abr/deciders/first_level.h */
    bool observed; /* mode "observe": the player decides */
    enum service_by by;
};

struct session_opened {
    char session[SERVICE_ID];
    char profile[SERVICE_NAME]; /* profile in use; "custom" for own weights */
    bool hinted;                /* false: the default profile is in use */
    struct qoe qoe;
    uint64_t key;
    bool explores;
    bool observed; /* the player decides by its own rules */
    char trial[SERVICE_TRIAL], arm[SERVICE_TRIAL]; /* "": in no trial */
    struct labels labels;
    struct answer first; /* chunk 0 */
};

int service_open(struct session_opened *out, struct service *s, struct service_worker *w,
                 const struct session_open *in, struct err *e)
    __attribute__((warn_unused_result));

/* The outcome of one chunk. */
struct outcome {
    int chunk, level;
    int64_t bytes;
    double download_s, rebuffer_s;
    /* Other streams that the player fetches (sound.h). The recorded bytes are what the link left for the
     * video. */
    bool has_other;
    int64_t other_bytes; /* that arrived meanwhile */
    double other_kbps;   /* their bitrate; 0: none, or not known */
};

struct question {
    int chunk;
    double buffer_s;
    bool has_last;
    struct outcome last; /* normally of chunk - 1 */
    bool has_next;
    int n_next; /* number of sizes received, must be one per level; 0: the caller filled all */
    double next_bytes[VIEW_LEVELS];
    bool has_next_quality;
    int n_next_quality; /* as n_next */
    double
        next_quality[VIEW_LEVELS]; /* points of the chunk at each level; NaN: unknown */
    double max_kbps;               /* cap of this chunk (abr/deciders/cap.h); 0: none */
    struct service_link link;      /* of a session's first question */
};

/* Idempotent per (session, chunk): an equal repeat gets the equal answer, a different one
 * ERR_CONFLICT. A chunk that does not follow on (seek, gap) closes the trajectory. */
int service_ask(struct answer *out, struct service *s, struct service_worker *w,
                const char *session, const struct question *q, struct err *e)
    __attribute__((warn_unused_result));

/* A chunk that is being fetched (abr/deciders/abandon.h). */
struct underway_in {
    int chunk, level;
    int64_t bytes; /* received so far */
    double elapsed_s, buffer_s;
    double max_kbps; /* cap; 0: none */
};

struct underway_out {
    int chunk, level; /* level to fetch; equal to the question's: do not abandon */
    double kbps;
};

/* Decides whether to abandon the chunk; changes nothing. A session that explores never abandons.
 * ERR_CONFLICT unless the chunk is the last one decided. */
int service_underway(struct underway_out *out, struct service *s, const char *session,
                     const struct underway_in *in, struct err *e)
    __attribute__((warn_unused_result));

struct reward_in {
    bool has_outcome;
    struct outcome outcome; /* of a chunk after which no decision follows */
    bool has_external;
    int chunk;
    double external;            /* -1000 .. 1000, stored, never used for learning */
    bool final;                 /* the video was played to its end */
    char profile[SERVICE_NAME]; /* with final: the viewer's true profile; "": unknown */
};

struct reward_out {
    int chunk;
    double reward; /* as the daemon computed it */
    bool followed, repeated;
};

int service_reward(struct reward_out *out, struct service *s, const char *session,
                   const struct reward_in *in, struct err *e)
    __attribute__((warn_unused_result));

/* Closes the session: terminal if all chunks were reported, else truncated. profile: the viewer's true
 * profile, NULL or "": unknown. ERR_CONFLICT: another profile was reported before. */
int service_close(struct service *s, const char *session, const char *profile,
                  struct err *e) __attribute__((warn_unused_result));

struct forget_choice;
struct forget_stats;
/* Deletes sessions from memory and store (store/forget.h); running ones are closed first, and their players
 * then get ERR_ABSENT. The store writes nothing else while it rewrites its database, so requests may get
 * ERR_FULL meanwhile. Sums in memory (figures, a trial's counts) contain these sessions until the daemon
 * restarts; forget.h lists what else stays. dry: only counts. Waits for the disk, so an HTTP worker must not
 * call it. */
int service_forget(struct forget_stats *out, struct service *s,
                   const struct forget_choice *choice, bool dry, struct err *e)
    __attribute__((warn_unused_result));

/* History of one session, live or stored. */
struct history_step {
    int chunk, level, decided_level, expert;
    int64_t bytes;
    double kbps, quality, buffer_s, download_s, rebuffer_s, reward, external, logp;
    uint64_t policy;
    enum service_by by;
    bool reported, followed, sampled, has_external;
};
struct history {
    struct session_open open;
    struct session_opened opened; /* without first */
    bool closed, terminal;
    double opened_at, last_at; /* s since the epoch */
    int n;
    struct history_step *steps; /* (n) owned */
    uint32_t first;             /* number of steps before these */
    uint32_t next; /* number of steps before the next page; 0: no next page */
};
/* At most limit steps, without the first `after` of the session. Reads the disk, so an HTTP worker must
 * not call it (histories.h). */
int service_history_page(struct history *out, struct service *s, const char *session,
                         uint32_t after, int limit, struct err *e)
    __attribute__((warn_unused_result));
/* After it, reads contain every answer given before it. */
int service_history_settle(struct service *s, struct err *e)
    __attribute__((warn_unused_result));
/* The whole history. */
int service_history(struct history *out, struct service *s, const char *session,
                    struct err *e) __attribute__((warn_unused_result));
void service_history_free(struct history *h);

/* ---- stateless ---- */
/* The view is the whole question; nothing is stored. Greedy. profile: name of the profile, which may
 * have added experts; NULL or "": none, and weights in points get the ceilings of the settings. hinted
 * false: view->qoe is the default profile's, and the viewer is treated as a session without a hint. The
 * caller knows where view->points come from and sets out->quality_from. max_kbps: cap; 0: none. */
int service_decide(struct answer *out, struct service *s, struct service_worker *w,
                   const char *profile, bool hinted, const struct view *view,
                   double max_kbps, struct err *e) __attribute__((warn_unused_result));

/* ---- profiles ---- */
struct profile {
    char name[SERVICE_NAME];
    struct qoe qoe;
    /* The ceiling in qoe was stated for this profile; else it follows the settings. */
    bool own_stall_ratio_max, own_startup_max_s;
    bool builtin; /* cannot be changed or deleted: ERR_CONFLICT */
    bool grow;    /* has added experts (added.h); in a put: shall get them */
};
int service_profile_get(struct profile *out, struct service *s, const char *name,
                        struct err *e) __attribute__((warn_unused_result));
/* 1: created, 0: replaced. grow adds experts to the current policy for this profile (ERR_FULL: no more
 * profiles may have them). Other weights for a profile with added experts are ERR_CONFLICT, because
 * its experts learned the old ones. Without grow the experts stay. Deletion frees them. */
int service_profile_put(struct service *s, const struct profile *p, struct err *e)
    __attribute__((warn_unused_result));
int service_profile_delete(struct service *s, const char *name, struct err *e)
    __attribute__((warn_unused_result));
/* Up to max, sorted by name; returns the number. */
int service_profile_list(struct profile *out, int max, struct service *s);
/* Safetensors bytes of a profile with added experts (learn/ckpt.h), owned by the caller. Only for
 * callers that drive service_learn themselves. */
int service_profile_weights(void **out, size_t *n, struct service *s, const char *name,
                            struct err *e) __attribute__((warn_unused_result));

/* ---- policy ---- */
struct policy_info {
    uint64_t version;
    double published_at;
    struct policy_cfg cfg;
    size_t parameters;
    double check_score;       /* of the exam (learner/exam.h) */
    struct online_cfg online; /* settings of the learner */
};
void service_policy_info(struct policy_info *out, struct service *s);
/* safetensors bytes, owned by the caller. */
int service_policy_weights(void **out, size_t *n, struct service *s, struct err *e)
    __attribute__((warn_unused_result));

/* ---- routers (policy/gate.h, learn/online.h) ---- */
#define SERVICE_ASIDE_MAX 1000000

/* Orders for the learner, which executes them at its next turn. ERR_CONFLICT: no learner. Stopped gates
 * of actor and critic learn again: */
int service_gate_reset(struct service *s, struct err *e)
    __attribute__((warn_unused_result));
/* Disables an expert for so many updates; 0: enables it. ERR_RANGE; ERR_CONFLICT: it is the last
 * enabled one. */
int service_set_aside(struct service *s, bool critic, int expert, int updates,
                      struct err *e) __attribute__((warn_unused_result));

/* ---- figures ---- */
#define SERVICE_PROFILE_STATS \
    (QOE_PROFILES + 12) /* built-in, custom and the first 11 named ones */
struct service_stats {
    double at; /* time of the figures, s since the epoch */
    uint64_t sessions_opened, sessions_closed, sessions_expired, decisions, repeats,
        rewards, not_followed, conflicts, bus_dropped, store_errors, underway,
        abandoned, /* underway: questions about chunks being fetched; those abandoned */
        checkpoints_refused, /* damaged at the start */
        files_missing,       /* missing in the data folder at the start */
        misfits;             /* trajectories that the learner ignored (learner_misfits) */
    uint64_t
        not_finite; /* decisions for the lowest level because weights were not finite */
    int sessions_live;
    uint64_t store_queue, bus_queue;
    bool store_ok, draining, learning;
    uint64_t policy_version;
    uint64_t actor_busy,
        critic_busy;    /* bits: disabled experts of the published weights */
    double store_lag_s; /* waiting time of the oldest record */
    struct online_stats learner;
    struct vitals_stats vitals;
    uint64_t expert_decisions[16];
    /* of forecasts by kind of link (abr/deciders/caution.h) */
    uint64_t forecast_downloads[CAUTION_LINKS], forecast_missed[CAUTION_LINKS];
    double forecast_margin[CAUTION_LINKS];
    int networks;                            /* known (networks.h) */
    double startup_bounds_s[VIEWING_BOUNDS]; /* of viewing.startup */
    uint64_t observed_opened;                /* sessions */
    struct service_observed {
        double kbps_sum;
        struct viewing_sums viewing;
    } observed;        /* of observed sessions, which no profile counts */
    int n_labels;      /* rows by metrics_label; 0: there is no such setting */
    const char *label; /* its key */
    struct label_sum labels[LABEL_SUMS_ROWS];
    int n_profiles;
    struct service_profile_stats {
        char name[SERVICE_NAME];
        uint64_t rewards;
        double reward_sum, kbps_sum;
        struct viewing_sums viewing;
        double stall_ratio_max, startup_max_s; /* ceilings; 0: none */
        double stall_weight; /* of all its sessions; 1 without a ceiling */
        uint64_t expert[16];
    } profile[SERVICE_PROFILE_STATS];
};
void service_stats(struct service_stats *out, struct service *s);
/* The figures of service_stats and of its profiles, for /metrics and JSON. */
extern const struct figure service_figures[], service_profile_figures[],
    service_label_figures[]; /* of a row of labels; /metrics only */

struct curve_point;
/* At most max points of the learner's curve after number `after`, oldest first; returns how many (curve.h). */
/* The last exam by cells. false: there was none. */
struct cells_report;
bool service_exam(struct cells_report *out, struct service *s);
int service_curve(struct curve_point *out, int max, struct service *s, uint64_t after);

/* Starts the threads of learner, store and clock. A caller without them (emulate, tests) takes their
 * turns itself, in any order: */
int service_start_threads(struct service *s, struct err *e)
    __attribute__((warn_unused_result));
/* Learner: reads the bus, learns if a batch is ready, writes a checkpoint if one is due; 1: new weights.
 * Does nothing while its thread runs. */
int service_learn(struct service *s, struct err *e);
/* Store: if it returns 0, all queued records are durable. */
int service_commit(struct service *s, struct err *e) __attribute__((warn_unused_result));
/* Clock: closes idle sessions, ends the slot of viewers without a hint, prunes. Call once a second. */
void service_periodic(struct service *s);
/* service_periodic and service_commit; a failure is logged. */
void service_tick(struct service *s);

#endif

/* recordings.h - sessions that a daemon recorded, read from its data folder or a backup for a command.
 *
 * The store is opened read-only, also while a daemon uses it (store_sqlite_read). A session becomes a link,
 * a video and a player (abr/recorded/recorded.h). What is not used is counted: sessions that the filters
 * leave out, that run, that `max` leaves out, and each reason of recorded_why. `max` keeps a sample: the
 * sessions with the lowest hashes of their ids, so the sample changes little when the store grows.
 *
 * Arms are those of one trial: of `trial`, else of trial.state in the folder, else of the trial that began
 * last. What an arm decides is in trial.state, or given by `decides`. Only sessions that count in the
 * trial's comparison have an arm.
 *
 * Errors: those of store_sqlite_read and recorded.h; ERR_ABSENT no session is usable; ERR_INVALID a filter.
 * Threads: not shared; read-only afterwards. */
#ifndef CLI_RECORDINGS_H
#define CLI_RECORDINGS_H

#include "abr/compare.h"
#include "abr/recorded/recorded.h"
#include "base/field.h"
#include "serve/session/service.h"

struct out;

struct recordings_cfg {
    const char *data; /* folder, or its abrd.db */
    struct field_list profiles, arms, networks, labels, decides;
    const char *trial, *since, *until, *content;
    double rtt_ms;
    int least, max;
};

/* rtt: the row of --rtt-ms, which some commands have already */
#define RECORDINGS_OPTIONS(c)                                                            \
    {"arm", "A,B", "sessions of these arms of the trial", FIELD_TO((c).arms),            \
     .group = "recorded sessions"},                                                      \
        {"network", "A,B",                                                               \
         "sessions of these kinds of network, as known before a trial's session: "       \
         "unknown, slow, middle, fast",                                                  \
         FIELD_TO((c).networks), .group = "recorded sessions"},                          \
        {"label", "KEY=VALUE,..",                                                        \
         "sessions with all of these labels, for example device=tv",                     \
         FIELD_TO((c).labels), .group = "recorded sessions"},                            \
        {"since", "TIME",                                                                \
         "sessions that opened then or later: 2026-11-01, 2026-11-01T18:00 (UTC) or "    \
         "seconds since 1970",                                                           \
         FIELD_TO((c).since), .group = "recorded sessions"},                             \
        {"until", "TIME", "sessions that opened earlier", FIELD_TO((c).until),           \
         .group = "recorded sessions"},                                                  \
        {"content", "ID", "sessions of this content", FIELD_TO((c).content),             \
         .group = "recorded sessions"},                                                  \
        {"trial", "NAME",                                                                \
         "trial whose arms are meant (default: that of the folder's trial.state)",       \
         FIELD_TO((c).trial), .group = "recorded sessions"},                             \
        {"decides", "ARM=POLICY,...",                                                    \
         "what arms decide, if trial.state is not there; player: the player's own "      \
         "rules",                                                                        \
         FIELD_TO((c).decides), .group = "recorded sessions"},                           \
        {"least", "N",        "leave out sessions of fewer chunks", FIELD_TO((c).least), \
         .lo = 1, .hi = 1000, .group = "recorded sessions"},                             \
    {                                                                                    \
        "sessions-max", "N", "use a sample of at most N sessions", FIELD_TO((c).max),    \
            .lo = 1, .hi = 1e6, .group = "recorded sessions"                             \
    }

struct recordings_cfg recordings_cfg_default(void);

/* The first option of RECORDINGS_OPTIONS that differs from its default, without its dashes; NULL: none. */
const char *recordings_option(const struct recordings_cfg *c);

struct recordings_arm {
    char name[SERVICE_TRIAL];
    char policy[300]; /* for algo.h; "": the player's own rules, or not known */
    bool known;       /* what it decides; false if reweighted */
    bool reweighted;  /* its QoE has other weights than the control's (trial_cfg.h) */
    int n;            /* usable sessions */
};

struct recordings {
    int n;
    struct recorded *at;           /* (n) owned, in the order of opening */
    char (*profile)[SERVICE_NAME]; /* (n) owned */
    int64_t stored, filtered, running, unsampled, why[RECORDED_WHYS];
    char trial[SERVICE_TRIAL]; /* "": none */
    int arms;
    struct recordings_arm arm[COMPARE_ARMS]; /* 0: the control */
};

int recordings_load(struct recordings *out, const struct recordings_cfg *cfg,
                    struct err *e) __attribute__((warn_unused_result));
void recordings_free(struct recordings *s);

/* "120 of 134 sessions in DATA: ..." with each reason, for people. */
void recordings_say(struct out *o, const struct recordings *s, const char *data);

/* The policy that DATA's daemon published last, as algo.h reads it; the shipped one if there is none, which
 * is not what a daemon with --policy FILE decides with; "" if that is not here either. */
void recordings_published(char *out, size_t size, const char *data);

/* ERR_CONFLICT: an arm of DATA's trial, which has not ended, decides with this file. The daemon reads it at
 * each start, so it must stay what it is. */
int recordings_check_unused(const char *data, const char *file, struct err *e)
    __attribute__((warn_unused_result));

/* The clipped values of all sessions of DATA that ended, as a trial counts them (abr/compare.h). ERR_ABSENT:
 * there is none. */
int recordings_figures(struct compare_cell out[COMPARE_FIGURES], const char *data,
                       struct err *e) __attribute__((warn_unused_result));

/* The mix of the daemon's own viewers as CSV: one row for each kind of session that occurs (ladder, length of
 * chunks, buffer, profile, arm), with the number of sessions. */
int recordings_mix(const struct recordings *s, const char *path, struct err *e)
    __attribute__((warn_unused_result));

#endif

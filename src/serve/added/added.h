/* added.h - profiles with added experts: their weights, learners and files.
 *
 * Such a profile has experts on top of a frozen copy of the policy that was published when the profile
 * was put with "grow" (policy/policy.h). It has its own published weights, learner and exam
 * (serve/learner/training.h). The common policy goes on learning from all other viewers. Neither
 * changes the other's weights, so other profiles get the same decisions, bit for bit.
 *
 * The frozen copy has no correction of the forecast (abr/deciders/forecast_own.h): it would keep for ever what
 * the common policy has improved or given up since. That one's current correction would change decisions
 * that the profile's exam has not seen. So these profiles are examined and served by the shipped forecast.
 *
 * Sessions have a tag (track.h: row.tag). A tag from ADDED_TAG on names a profile with added experts,
 * and the learner finds the profile's learner by it. A tag is reused only after 250 others. Sessions
 * opened before the experts were added do not use them. After the profile is deleted, the common policy
 * answers its sessions greedily, and they are not learned from.
 *
 * Files: DIR/grown-NAME.safetensors (learn/ckpt.h), written before added_add returns, before each new
 * version is published, and at each checkpoint. A file that cannot be used is renamed to .bad and
 * logged; its profile is then answered by the common policy.
 *
 * Among nodes a profile's experts have an id, as tags belong to one process. The leader of the learners
 * adds the experts (added_add) and learns. Nodes that decide, and a learner that takes over, use what
 * was published (added_take; added_shared.h). A node also stores it in its folder, for a start without
 * a bus; `since` is when it was received. A trajectory that is read from the stream again (traj.h:
 * place) is skipped if the published weights have learned from it.
 *
 * Memory, with the shipped policy and two experts: 3 MB each, 7 MB with a learner and batches of 1024
 * steps.
 *
 * Errors: ERR_FULL the limit is reached; ERR_CONFLICT; those of ckpt.h. Threads: locked inside, a leaf.
 * added_teach to added_sweep, and the functions for nodes, belong to the learner's thread. added_decide
 * allocates nothing. */
#ifndef SERVE_ADDED_H
#define SERVE_ADDED_H

#include "base/log.h"
#include "learn/online.h"
#include "serve/session/decide.h"

#define ADDED_TAG TRAJ_TAG_OWN

struct added_settings {
    int max;               /* 8: most profiles with added experts, 0 .. SERVICE_ADDED */
    int experts;           /* 2: new experts of each */
    enum norga_sigma gate; /* tanh */
};

/* Figures of a profile with added experts. */
struct service_added {
    char name[SERVICE_NAME];
    int frozen_experts, experts; /* of the actor: frozen ones, added ones */
    uint64_t version, base_version;
    double alpha, tau; /* of the actor's gate (policy/norga.h) */
    double share;      /* of the new experts in the mixture, mean over its decisions */
    uint64_t decisions;
    struct online_stats learner;
    double base_score; /* of the frozen policy in this profile's exam */
};

extern const struct field added_fields[];

struct added_stats {
    int n;
    struct service_added at[SERVICE_ADDED];
};

struct added;

struct added_cfg {
    int max;     /* profiles, at most SERVICE_ADDED */
    int experts; /* new ones of each */
    enum norga_sigma gate;
    bool learn;
    struct online_cfg online; /* of the common learner; profiles use added_online of it */
    const char *dir;          /* NULL: no files; borrowed */
    const struct log *log;
};

/* Smaller batches: one profile has fewer viewers than all. */
struct online_cfg added_online(const struct online_cfg *common);

/* NULL: the service has no such part. */
struct added *added_of(struct service *s);

struct added *added_new(const struct added_cfg *cfg, struct err *e);
int added_max(const struct added *g); /* cfg.max */
void added_free(struct added *g);     /* when no thread decides */

/* Gives the file of a profile's experts another name, before added_restore. No file: 0. */
int added_rename(const struct added *g, const char *from, const char *to, struct err *e)
    __attribute__((warn_unused_result));

/* base is taken, also on failure; its busy experts become idle. id: among nodes, else 0.
 * 1: added; 0: the profile has experts already. */
int added_add(struct added *g, uint64_t id, const char *name, const struct qoe *qoe,
              struct policy *base, double now, struct err *e)
    __attribute__((warn_unused_result));
/* Restores from the file; 1: restored, 0: no file. It must have the inputs and levels of `serving`. */
int added_restore(struct added *g, const char *name, const struct qoe *qoe,
                  const struct policy_cfg *serving, double now, struct err *e)
    __attribute__((warn_unused_result));
/* Removes experts and file, if there are any. */
void added_remove(struct added *g, const char *name);

/* The tag, or -1. since: when the experts were added, s since the epoch; may be NULL. */
int added_tag(struct added *g, const char *name, double *since);

/* The id of a tag, 0: none; and the tag of an id, -1: none. */
uint64_t added_id(struct added *g, int tag);
int added_tag_of(struct added *g, uint64_t id);

/* 1: decided; 0: the weights gave a value that is not finite; -1: no such profile, *out is unchanged. */
int added_decide(struct verdict *out, struct added *g, int tag, struct decider *d,
                 const struct view *v, double u);

/* t->tag names the profile; unknown ones are dropped. place: in the stream; 0: no stream. */
void added_teach(struct added *g, const struct online_trajectory *t, uint64_t place);
bool added_ready(struct added *g);
/* Makes updates of full batches, and publishes weights that could not be published before. Returns the
 * number of profiles with new weights; ERR_NUMERIC: an update was rolled back (counted); ERR_MEMORY; or
 * once the error that prevented publishing. */
int added_turn(struct added *g, double now, struct err *e)
    __attribute__((warn_unused_result));
/* Writes the files of profiles that learned since the last time. */
int added_save(struct added *g, struct err *e) __attribute__((warn_unused_result));
/* The file of one profile without its learner's state. *out owned by the
 * caller. ERR_ABSENT: no such profile. */
int added_encode(void **out, size_t *n, struct added *g, const char *name, struct err *e)
    __attribute__((warn_unused_result));
/* Frees removed profiles without users. added_turn does it, too. */
void added_sweep(struct added *g);

/* ---- among nodes ---- */

/* Weights that another process has made. */
struct added_taken {
    const char *name;
    uint64_t id;
    const struct qoe *qoe;
    struct policy *base; /* taken, also on failure; NULL: the one that is here */
    const struct policy_added *experts; /* fits base */
    double published_at, score, base_score;
    uint64_t position; /* of the stream: they have learned up to it */
    const void *state; /* of the learner (learn/online.h); NULL: a new one */
    size_t state_n;
};
/* Replaces other experts of that name. Without a learner, newer weights replace older ones. */
int added_take(struct added *g, const struct added_taken *t, double now, struct err *e)
    __attribute__((warn_unused_result));
/* The stream will be read again after this place. */
void added_rewind(struct added *g, uint64_t place);
/* Another stream begins: known places are invalid. */
void added_forget(struct added *g);

struct added_one {
    char name[SERVICE_NAME];
    uint64_t id, version, position;
    double score, base_score;
    const struct policy *base; /* borrowed until the next turn, like experts */
    const struct policy_added *experts;
};
/* All profiles in the order of adding; their number. */
int added_look(struct added_one out[SERVICE_ADDED], struct added *g);
/* The learner's state; *out owned by the caller. ERR_ABSENT: no learner. */
int added_state(void **out, size_t *n, struct added *g, uint64_t id, struct err *e)
    __attribute__((warn_unused_result));
/* Sets the id of a profile without one. */
void added_set_id(struct added *g, const char *name, uint64_t id);

/* In the order of adding; their number. */
int added_stats(struct service_added out[SERVICE_ADDED], struct added *g);

#endif

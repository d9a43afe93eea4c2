/* added.h - the profiles with added experts: what each has, and how it learns.
 *
 * Such a profile has experts on top of a frozen copy of the policy as it was published when the
 * profile was put with "grow" (policy/policy.h). It has its own published weights, learner and exam
 * (serve/learner/training.h). The common policy goes on learning from all other viewers. Neither
 * touches the other's weights: other profiles decide bit for bit as they would without it.
 *
 * Sessions carry a tag (track.h: row.tag). From ADDED_TAG on it says which profile a session is of,
 * and the learner passes trajectories on by it. A tag is used again only after 250 others. A session
 * keeps what it was opened with: sessions from before do not get the added experts. After a profile
 * is deleted, the common policy answers its sessions greedily, and they teach nobody.
 *
 * Files: DIR/grown-NAME.safetensors (learn/ckpt.h), written before added_add returns, before each new
 * version is published, and at each checkpoint. A file that cannot be used is renamed to .bad and
 * reported in the log; its profile is then an ordinary one.
 *
 * Among nodes a profile's experts have an id, as tags are each process's own. The leader of the
 * learners makes them (added_add) and learns. Nodes that decide, and a learner that takes over, take
 * what was published (added_take; added_shared.h). A node keeps it in its folder as well, for a start
 * without a bus, and `since` is when it came here. A trajectory that is read from the stream again
 * (traj.h: place) is skipped if the published weights have learned from it.
 *
 * Memory, with the shipped policy and two experts: 3 MB each, 7 MB once it learns in batches of
 * 1024 steps.
 *
 * Errors: ERR_FULL as many as allowed; ERR_CONFLICT; those of ckpt.h. Threads: locked inside, a
 * leaf. added_teach to added_sweep belong to one thread, the learner's, and so does all that is for
 * nodes. added_decide allocates nothing. */
#ifndef SERVE_ADDED_H
#define SERVE_ADDED_H

#include "base/log.h"
#include "learn/online.h"
#include "serve/session/decide.h"

#define ADDED_TAG TRAJ_TAG_OWN

struct added_settings {
    int max;     /* 8: profiles with added experts at most, 0 .. SERVICE_ADDED */
    int experts; /* 2: new experts of each */
    enum norga_sigma gate; /* tanh */
};

/* What a grown profile has beside the common policy, and how it fares. */
struct service_added {
    char name[SERVICE_NAME];
    int frozen_experts, experts; /* of the actor: those it began with, new ones */
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
    struct online_cfg online; /* of the common learner; theirs is added_online of it */
    const char *dir;          /* NULL: nothing is kept; borrowed */
    const struct log *log;
};

/* Smaller batches: one profile has fewer viewers than all. */
struct online_cfg added_online(const struct online_cfg *common);

/* Of a service; NULL: it has none (added_part.c). */
struct added *added_of(struct service *s);

struct added *added_new(const struct added_cfg *cfg, struct err *e);
int added_max(const struct added *g); /* cfg.max */
void added_free(struct added *g);     /* no thread decides any more */

/* base is taken, also on failure; its busy experts become idle. id: among nodes, else 0.
 * 1: added; 0: it had experts already. */
int added_add(struct added *g, uint64_t id, const char *name, const struct qoe *qoe,
              struct policy *base, double now, struct err *e)
    __attribute__((warn_unused_result));
/* From its file, if there is one: 1. It must have the inputs and levels of `serving`. */
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

/* 1: decided; 0: its weights gave nothing finite (as decide); -1: no such profile, *out is as it
 * was. */
int added_decide(struct verdict *out, struct added *g, int tag, struct decider *d,
                 const struct view *v, double u);

/* t->tag says whose; an unknown one is dropped. place: in the stream, 0: there is none. */
void added_teach(struct added *g, const struct online_trajectory *t, uint64_t place);
bool added_ready(struct added *g);
/* Learns where a batch is full, and publishes what could not be published before. Returns the number
 * of profiles with new weights; ERR_NUMERIC if an update was rolled back (counted), ERR_MEMORY, and
 * what kept new weights from being published, once. */
int added_turn(struct added *g, double now, struct err *e)
    __attribute__((warn_unused_result));
/* Writes what was learned since the last time. */
int added_save(struct added *g, struct err *e) __attribute__((warn_unused_result));
/* What added_save would write of one profile, without its learner's state. *out owned by the
 * caller. ERR_ABSENT: no such profile. */
int added_encode(void **out, size_t *n, struct added *g, const char *name, struct err *e)
    __attribute__((warn_unused_result));
/* Frees what was removed and is no longer in use. added_turn does it, too. */
void added_sweep(struct added *g);

/* ---- among nodes ---- */

/* Weights that another process has made. */
struct added_taken {
    const char *name;
    uint64_t id;
    const struct qoe *qoe;
    struct policy *base; /* taken, also on failure; NULL: as it is here already */
    const struct policy_added *experts; /* fits base */
    double published_at, score, base_score;
    uint64_t position; /* of the stream: they have learned up to it */
    const void *state; /* of what learns (learn/online.h), NULL: begins anew */
    size_t state_n;
};
/* Replaces other experts of that name. Where nothing learns, newer weights replace older ones. */
int added_take(struct added *g, const struct added_taken *t, double now, struct err *e)
    __attribute__((warn_unused_result));
/* The stream will be read again from behind this place. */
void added_rewind(struct added *g, uint64_t place);
/* It will be another stream: known places mean nothing any more. */
void added_forget(struct added *g);

struct added_one {
    char name[SERVICE_NAME];
    uint64_t id, version, position;
    double score, base_score;
    const struct policy *base; /* borrowed until the next turn, as is */
    const struct policy_added *experts;
};
/* All there are, in the order in which they were added; the number. */
int added_look(struct added_one out[SERVICE_ADDED], struct added *g);
/* What learns, as added_taken has it; *out owned by the caller. ERR_ABSENT: nothing does. */
int added_state(void **out, size_t *n, struct added *g, uint64_t id, struct err *e)
    __attribute__((warn_unused_result));
/* Gives an id to one that has none. */
void added_set_id(struct added *g, const char *name, uint64_t id);

/* In the order in which they were added; the number. */
int added_stats(struct service_added out[SERVICE_ADDED], struct added *g);

#endif

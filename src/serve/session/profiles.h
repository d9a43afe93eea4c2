/* profiles.h - the named profiles: the built-in ones and those of the operator.
 *
 * A built-in profile cannot be changed or deleted (ERR_CONFLICT). The settings set the ceilings (qoe.h)
 * of every profile in points that has none of its own. Each profile has a slot in the statistics: a fixed
 * one if it is built in, else a free one. Profiles without a free slot, and weights without a name, share
 * PROFILES_SLOT_CUSTOM. A deleted profile frees its slot; its sessions count as custom from then on
 * (sessions_slot_gone).
 *
 * Threads: locked inside, a leaf. No allocation after _new. */
#ifndef SERVE_PROFILES_H
#define SERVE_PROFILES_H

#include "serve/session/service.h"

#define PROFILES_MAX 256
#define PROFILES_SLOT_CUSTOM QOE_PROFILES /* those before it are the built-in ones */

struct profiles;

/* The ceilings of the settings. */
struct profiles_ceilings {
    double stall_ratio_max, startup_max_s; /* 0: none */
    int n;                                 /* built-in profiles with other ones */
    struct profiles_ceiling {
        char name[SERVICE_NAME];
        double stall_ratio_max, startup_max_s;
    } of[QOE_PRODUCT];
};
/* Reads and checks them. e->field "ceilings", "stall-ratio-max" or "startup-max-s". */
int profiles_ceilings_read(struct profiles_ceilings *out, const struct service_cfg *cfg,
                           struct err *e) __attribute__((warn_unused_result));

/* With the ceilings of qoe_profiles. */
struct profiles *profiles_new(struct err *e);
void profiles_free(struct profiles *p);

/* slot may be NULL. ERR_ABSENT does not list the names, which may be private. */
int profiles_get(struct profile *out, int *slot, struct profiles *p, const char *name,
                 struct err *e) __attribute__((warn_unused_result));
/* Checks name and weights against the limits, and the name against the reserved ones. */
int profiles_check(const struct profile *in, struct err *e)
    __attribute__((warn_unused_result));
/* 1: created, 0: replaced. */
int profiles_put(struct profiles *p, const struct profile *in, struct err *e)
    __attribute__((warn_unused_result));
int profiles_delete(struct profiles *p, const char *name, struct err *e)
    __attribute__((warn_unused_result));
int profiles_list(struct profile *out, int max, struct profiles *p);

/* A free name, NAME-own or alike, for a profile of p (n) whose name is built in. ERR_FULL: none. */
int profiles_free_name(char out[SERVICE_NAME], const struct profile *p, int n,
                       const char *name) __attribute__((warn_unused_result));

/* Replaces the ceilings of the settings. */
void profiles_ceilings_put(struct profiles *p, const struct profiles_ceilings *c);
/* Weights without a profile get the ceilings of the settings if they are in points. */
void profiles_own_weights(struct qoe *k, struct profiles *p);

/* Tag of the reward function for the learner: number of the built-in profile, QOE_PROFILES for any
 * other. Ceilings are no part of a reward. */
int profiles_tag(const struct qoe *k);

/* Name of a slot; false if the slot is free. */
bool profiles_slot_name(char out[SERVICE_NAME], struct profiles *p, int slot);

#endif

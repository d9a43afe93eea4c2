/* profiles.h - what viewers may value, by name: the built-in four and those put by an
 * operator.
 *
 * A built-in profile can be neither changed nor deleted (ERR_CONFLICT). Each profile has
 * a slot in the statistics: the built-in ones their own, custom names one each while there are
 * any, and what comes later, or has no name, shares PROFILES_SLOT_CUSTOM. A deleted profile gives
 * its slot back; its sessions count as custom from then on (sessions_slot_gone).
 *
 * Threads: locked inside, a leaf. No allocation after _new. */
#ifndef SERVE_PROFILES_H
#define SERVE_PROFILES_H

#include "serve/session/service.h"

#define PROFILES_MAX 256
#define PROFILES_SLOT_CUSTOM QOE_PROFILES /* 0 .. 3 are the built-in ones */

struct profiles;

struct profiles *profiles_new(struct err *e);
void profiles_free(struct profiles *p);

/* slot may be NULL. ERR_ABSENT lists nothing: names may be private. */
int profiles_get(struct profile *out, int *slot, struct profiles *p, const char *name,
                 struct err *e) __attribute__((warn_unused_result));
/* Could it be anybody's: name and weights within limits, and no name that is taken for all? */
int profiles_check(const struct profile *in, struct err *e)
    __attribute__((warn_unused_result));
/* 1 created, 0 replaced. */
int profiles_put(struct profiles *p, const struct profile *in, struct err *e)
    __attribute__((warn_unused_result));
int profiles_delete(struct profiles *p, const char *name, struct err *e)
    __attribute__((warn_unused_result));
int profiles_list(struct profile *out, int max, struct profiles *p);

/* Tag of the reward function for the learner: 0 .. 3 built-in, 4 anything else. */
int profiles_tag(const struct qoe *k);

/* Name of a slot; false when nothing has it. */
bool profiles_slot_name(char out[SERVICE_NAME], struct profiles *p, int slot);

#endif

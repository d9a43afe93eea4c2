/* mentors.h - trained policies as the teachers of a student, from their files.
 *
 * A policy teaches the kinds of episodes (abr_env.h: tags) that it was trained on alone, as its
 * metadata tell: "profile", whose weights - one profile's, drawn ones, or all when absent - and
 * "players": standard, drawn, or any. One that was trained on everything teaches where nobody
 * else does, but shorter videos only when it met them ("lengths"): what is left of an episode that
 * nobody teaches is learned without.
 *
 * Errors: those of ckpt.h; ERR_CONFLICT: it sees something else than the student, or was trained
 * for what the student never meets; ERR_FULL: too many. e->field is the path.
 * Ownership: mentors own the policies that `teachers` borrows. Threads: not shared. */
#ifndef ABR_MENTORS_H
#define ABR_MENTORS_H

#include "abr/train/abr_env.h"
#include "learn/teach.h"

struct mentors {
    int n;
    struct policy *policy[TEACHERS_MAX]; /* owned */
    uint32_t crc;                        /* of their actors' weights, in order */
    struct teachers teachers;
};

/* What a policy trained in this environment has as metadata "players". */
const char *mentors_players(const struct abr_env_cfg *cfg);

/* student: what it will be; env: where it learns. m begins as {0}. */
int mentors_add(struct mentors *m, const char *path, const struct policy_cfg *student,
                const struct abr_env_cfg *env, struct err *e)
    __attribute__((warn_unused_result));
void mentors_free(struct mentors *m);

#endif

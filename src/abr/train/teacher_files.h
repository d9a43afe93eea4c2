/* teacher_files.h - trained policies as the teachers of a student, loaded from their files.
 *
 * A policy teaches the kinds of episodes (abr_env.h: tags) that it alone was trained on. Its metadata
 * name them: "profile" (one profile's weights, drawn ones, or all when absent) and "players"
 * (standard, drawn, or any). A policy that was trained on everything teaches the episodes without
 * another teacher; shorter videos only when it met them ("lengths"). Episodes without any teacher are
 * learned without one.
 *
 * Errors: those of ckpt.h; ERR_CONFLICT when its observation differs from the student's, or when the
 * student never meets what it was trained for; ERR_FULL for too many. e->field is the path.
 * Ownership: owns the policies that `teachers` borrows.
 * Threads: not shared. */
#ifndef ABR_TEACHER_FILES_H
#define ABR_TEACHER_FILES_H

#include "abr/train/abr_env.h"
#include "learn/teach.h"

struct teacher_files {
    int n;
    struct policy *policy[TEACHERS_MAX]; /* owned */
    uint32_t crc;                        /* of their actors' weights, in order */
    struct teachers teachers;
};

/* The metadata "players" of a policy that is trained in this environment. */
const char *teacher_files_players(const struct abr_env_cfg *cfg);

/* student: its configuration; env: its environment. m begins as {0}. */
int teacher_files_add(struct teacher_files *m, const char *path,
                      const struct policy_cfg *student, const struct abr_env_cfg *env,
                      struct err *e) __attribute__((warn_unused_result));
void teacher_files_free(struct teacher_files *m);

#endif

/* doctor.h - would a daemon with these options start and serve well? What is wrong, and what
 * to do about it.
 *
 * Everything is looked at, nothing is changed: the store is opened for reading, the port is
 * taken and given back, weights are loaded and score the emulated exam (serve/learner/exam.h), the bus of
 * one among many is read. It may run beside the daemon: then the folder is in use and the port
 * taken, which is as it should be.
 *
 * Errors: none; what goes wrong is a finding. Threads: main thread. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli/serve_options.h"

#define DOCTOR_MAX 48

enum doctor_verdict { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL };

struct doctor_finding {
    const char *what; /* "store", "port", ... */
    enum doctor_verdict verdict;
    char detail[400]; /* what is; where it is not well, what to do */
};

struct doctor_report {
    int n;
    struct doctor_finding at[DOCTOR_MAX];
    int warnings, failures;
};

/* Adds its findings to out, which begins as {0}. */
void doctor_examine(struct doctor_report *out, const struct serve_options *s);

/* Gives up what the store has lost (store_sqlite_accept_loss): the one thing that changes a folder.
 * Fails while a daemon uses it. out begins here. */
void doctor_accept_loss(struct doctor_report *out, const struct serve_options *s);

/* "ok", "warn", "fail". */
const char *doctor_word(enum doctor_verdict v);

#endif

/* doctor.h - checks whether a daemon with these options would start and serve well, and says what to do
 * if not.
 *
 * It checks everything and changes nothing: the store is opened for reading, the port is opened and
 * closed again, weights are loaded and scored in the safety check (serve/learner/exam.h), and the bus
 * of a cluster is read. A daemon may run at the same time: then the folder is in use and the port is
 * in use, which is correct.
 *
 * Errors: none; a failure is a finding. Threads: main thread. */
#ifndef CLI_SERVE_DOCTOR_H
#define CLI_SERVE_DOCTOR_H

#include "cli/serve_options.h"

#define DOCTOR_MAX 48

enum doctor_verdict { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL };

struct doctor_finding {
    const char *what; /* "store", "port", ... */
    enum doctor_verdict verdict;
    char detail[400]; /* what was found and, if it is bad, what to do */
};

struct doctor_report {
    int n;
    struct doctor_finding at[DOCTOR_MAX];
    int warnings, failures;
};

/* Adds its findings to out, which starts as {0}. */
void doctor_examine(struct doctor_report *out, const struct serve_options *s);

/* Accepts the loss of what the store has lost (store_sqlite_accept_loss). Only this function changes a
 * folder. It fails while a daemon uses the folder. It clears out first. */
void doctor_accept_loss(struct doctor_report *out, const struct serve_options *s);

/* "ok", "warn", "fail". */
const char *doctor_word(enum doctor_verdict v);

#endif

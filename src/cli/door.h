/* door.h - how an emulated viewer reaches a daemon: in process, or through the HTTP API.
 *
 * Both doors take and give the structs of serve/session/service.h, and numbers cross the wire
 * with 17 digits, so the same viewer gets the same answers through either.
 *
 * Local: a service of its own, without threads; time is virtual and moves only in `turn`,
 * which also lets the learner work, so a run is reproducible.
 * Remote: libcurl over one kept-alive connection; the daemon learns on its own time.
 *
 * Errors: those of service.h; remote adds ERR_IO (not reachable, with the URL) and maps
 * statuses back to codes. Threads: not shared. */
#ifndef CLI_DOOR_H
#define CLI_DOOR_H

#include "serve/session/service.h"

/* Scores of published policies in the daemon's exam (serve/learner/exam.h). */
struct door_exams {
    uint64_t updates, rollbacks;
    double first, best, last;
    double
        fall; /* largest (best before it - score) / |best before it| of a published one */
};

struct door {
    void *self;
    int (*open)(void *self, struct session_opened *out, const struct session_open *in,
                struct err *e);
    int (*ask)(void *self, struct answer *out, const char *session,
               const struct question *q, struct err *e);
    int (*reward)(void *self, struct reward_out *out, const char *session,
                  const struct reward_in *in, struct err *e);
    /* safetensors bytes, owned by the caller: of the common policy, or of a grown profile */
    int (*weights)(void *self, const char *added, void **out, size_t *n, struct err *e);
    /* puts a profile with experts of its own; NULL: through this door none can be put */
    int (*grow)(void *self, const struct profile *p, struct err *e);
    /* how the policies fared that were published so far; NULL: through this door nobody knows */
    int (*exams)(void *self, struct door_exams *out, struct err *e);
    /* every viewer has made one step; seconds of viewing passed */
    int (*turn)(void *self, double seconds, struct err *e);
    void (*free)(void *self);
};

/* cfg->clock is replaced by the door's own. */
int door_local(struct door *out, const struct service_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
/* url: "http://127.0.0.1:8080" */
int door_remote(struct door *out, const char *url, struct err *e)
    __attribute__((warn_unused_result));
void door_free(struct door *d);

#endif

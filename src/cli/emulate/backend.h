/* backend.h - the daemon that answers emulated viewers: in process, or through the HTTP API.
 *
 * Both backends take and give the structs of serve/session/service.h. Numbers cross the wire with 17
 * digits, so a viewer gets the same answers from either.
 *
 * Local: a service of its own, without threads. Time is virtual and moves only in `turn`, which also
 * lets the learner work, so a run is reproducible.
 * Remote: libcurl over one kept-alive connection; the daemon learns on its own time.
 *
 * Errors: those of service.h; remote adds ERR_IO (not reachable, with the URL) and maps
 * statuses back to codes. Threads: not shared. */
#ifndef CLI_EMULATE_BACKEND_H
#define CLI_EMULATE_BACKEND_H

#include "serve/session/service.h"

/* Scores of published policies in the daemon's exam (serve/learner/exam.h). */
struct backend_exams {
    uint64_t updates, held, rollbacks; /* published, held, refused */
    double first, best, last;
    double fall; /* largest (best so far - score) / |best so far| of a published policy */
};

struct backend {
    void *self;
    int (*open)(void *self, struct session_opened *out, const struct session_open *in,
                struct err *e);
    int (*ask)(void *self, struct answer *out, const char *session,
               const struct question *q, struct err *e);
    int (*reward)(void *self, struct reward_out *out, const char *session,
                  const struct reward_in *in, struct err *e);
    /* safetensors bytes, owned by the caller: of the common policy, or of a profile's experts */
    int (*weights)(void *self, const char *added, void **out, size_t *n, struct err *e);
    /* puts a profile with experts of its own; NULL: not possible here */
    int (*grow)(void *self, const struct profile *p, struct err *e);
    /* scores of the policies that were published so far; NULL: not known here */
    int (*exams)(void *self, struct backend_exams *out, struct err *e);
    /* address of the next sessions: a number, 0: each session counts as an address of its own; NULL:
     * not possible here */
    void (*from)(void *self, uint64_t address);
    /* every viewer has made one step; seconds of viewing passed */
    int (*turn)(void *self, double seconds, struct err *e);
    void (*free)(void *self);
};

/* cfg->clock is replaced by the backend's own. */
int backend_local(struct backend *out, const struct service_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
/* url: "http://127.0.0.1:8080" */
int backend_remote(struct backend *out, const char *url, struct err *e)
    __attribute__((warn_unused_result));
void backend_free(struct backend *b);

#endif

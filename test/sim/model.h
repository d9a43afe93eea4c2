/* model.h - what a session must be, by the rules of serve/session/track.h told plainly.
 *
 * A second, simpler form of the same rules: a session is the list of its steps, nothing is ever
 * forgotten, and a question or a report is looked at as a whole. Each thing that was
 * acknowledged carries the number of records that had been put before the store when it was
 * (`put`), so that it can be said later whether it was durable.
 *
 * What a request gives: 0 it is taken; 1 it is a repeat; or the code of its refusal. */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include "serve/session/service.h"

struct model_step {
    int chunk, last_level;
    bool decided, reported, has_external;
    struct question q;
    struct answer a;
    struct outcome o;
    double reward, external;
    uint64_t put, put_outcome, put_external;
    bool taught;
};

struct model_session {
    struct session_open in;
    struct session_opened out;
    char profile[SERVICE_NAME]; /* as understood, later the label */
    bool labelled, closed, terminal;
    bool forgotten; /* not in memory: a question finds nothing */
    bool gone;      /* nor in the store */
    bool added;     /* opened as one of a grown profile */
    uint64_t put, put_closed;
    double word;   /* by the service's clock: not later than the last one was heard */
    double stored; /* when it last said something new: what a restart knows of its word */
    double closed_at;
    double idle_s; /* that ticks have seen, without a word */
    bool fresh;    /* heard of since the last tick */
    int n, cap;
    int seen_from;           /* what lies before it was not read by the last start */
    struct model_step *step; /* owned */
};

struct model_session *model_open(const struct session_open *in,
                                 const struct session_opened *out, uint64_t put);
void model_free(struct model_session *s);

struct model_step *model_newest(const struct model_session *s);

/* *again: the step that is asked for once more. */
int model_ask(const struct model_step **again, const struct model_session *s,
              const struct question *q);
/* After model_ask gave 0: rewards and not_followed are raised. */
void model_asked(struct model_session *s, const struct question *q,
                 const struct answer *a, uint64_t put, uint64_t *rewards,
                 uint64_t *not_followed);

/* known: the label is the name of a profile. *out as it must be answered. */
int model_report(struct reward_out *out, struct model_session *s,
                 const struct reward_in *in, bool known, uint64_t put, uint64_t *rewards,
                 uint64_t *not_followed);
int model_close(struct model_session *s, const char *label, bool known, uint64_t put);

/* Chunks fetched as decided, as far as the service knows of them. */
int model_followed(const struct model_session *s);

/* Steps from n on never happened. */
void model_cut(struct model_session *s, int n);

#endif

/* wire.h - from the JSON of a request to the plain structs of service.h.
 *
 * Reads syntax and types; what a value may be is the service's business (limits.h). A
 * field that is not known is refused by name, with the known ones in the message: a
 * misspelt optional field would otherwise be lost without a word. null means absent.
 * Whole numbers may be written as 3 or 3.0. Numbers are exact: a double written with 17
 * digits arrives as the same double.
 *
 * The bodies:
 *   open      {ladder_kbps: [..], chunk_s, chunks?, buffer_max_s?, profile? | mu?:
 * [quality, switch, stall] (+ utility?), content_id?, key?, next_bytes?: [..]} question
 * {chunk, buffer_s, last?: {chunk, level, bytes, download_s, rebuffer_s}, next_bytes?:
 * [..]} reward    {chunk, level, bytes, download_s, rebuffer_s, final?, profile?} or
 * {chunk, reward} or both underway {chunk, level, bytes, elapsed_s, buffer_s} decide    {ladder_kbps, chunk_s, buffer_s, chunk?, chunks?,
 * buffer_max_s?, last_level?, throughput_kbps?: [oldest .. newest], download_s?: [..],
 * next_bytes?, profile? | mu? (+ utility?)} profile   {mu: [..], utility?} Defaults:
 * chunks 0 (live), buffer_max_s 60, utility "linear", chunk 0, last_level -1 (none). key
 * is a whole number up to 2^53, or a string of digits for all 64 bits. next_bytes may
 * hold null for a size that is not known. Of longer histories the newest 8 entries count.
 *
 * Errors: ERR_INVALID, ERR_RANGE with e->field the path: "last.bytes", "ladder_kbps[3]".
 * Threads: pure functions. */
#ifndef SERVE_WIRE_H
#define SERVE_WIRE_H

#include "base/field.h"
#include "serve/session/service.h"

#define WIRE_BUFFER_MAX_S 60.0
#define WIRE_HISTORY 64 /* entries of throughput_kbps that are read */

struct wire_decide {
    char profile[SERVICE_NAME]; /* "" = no name given */
    bool has_mu;                /* then view.qoe is what was asked for */
    struct view view;
};

/* Any body, into the struct at base: its fields, of which the last one is {0}. */
int wire_body(const struct field *fields, void *base, const char *body, size_t n,
              struct err *e) __attribute__((warn_unused_result));

int wire_open(struct session_open *out, const char *body, size_t n, struct err *e)
    __attribute__((warn_unused_result));
int wire_question(struct question *out, const char *body, size_t n, struct err *e)
    __attribute__((warn_unused_result));
int wire_reward(struct reward_in *out, const char *body, size_t n, struct err *e)
    __attribute__((warn_unused_result));
int wire_underway(struct underway_in *out, const char *body, size_t n, struct err *e)
    __attribute__((warn_unused_result));
int wire_decide(struct wire_decide *out, const char *body, size_t n, struct err *e)
    __attribute__((warn_unused_result));
/* {reset: true} */
int wire_gate(const char *body, size_t n, struct err *e)
    __attribute__((warn_unused_result));
/* {updates} */
int wire_aside(int *updates, const char *body, size_t n, struct err *e)
    __attribute__((warn_unused_result));
/* Fills out->qoe alone. */
int wire_profile(struct profile *out, const char *body, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#endif

/* wire.h - from the JSON of a request to the structs of service.h.
 *
 * Checks syntax and types; session/limits.h checks the values. An unknown field is an error that names
 * it and lists the known ones: otherwise a misspelt optional field would be lost silently. null means
 * absent. Integers may be written as 3 or 3.0. Numbers are exact: a double written with 17 digits
 * arrives as the same double.
 *
 * The bodies (? optional, | either):
 *   open      {ladder_kbps: [..], chunk_s, chunks?, buffer_max_s?, content_id?, key?,
 *              profile? | WEIGHTS?, next_bytes?: [..], next_quality?: [..], quality?: [..],
 *              height?: [..], mode?, viewer?, explore?, continues?, buffer_s?, max_kbps?,
 *              throughput_kbps?: [oldest .. newest], download_s?: [..],
 *              labels?: LABELS}
 *   question  {chunk, buffer_s, last?: {chunk, level, bytes, download_s, rebuffer_s, other_bytes?},
 *              next_bytes?: [..], next_quality?: [..], max_kbps?, other_kbps?}
 *   reward    {chunk, level, bytes, download_s, rebuffer_s, other_bytes?, other_kbps?, final?, profile?},
 *              {chunk, reward}, or both
 *   underway  {chunk, level, bytes, elapsed_s, buffer_s, max_kbps?}
 *   decide    {ladder_kbps, chunk_s, buffer_s, chunk?, chunks?, buffer_max_s?, last_level?,
 *              throughput_kbps?: [oldest .. newest], download_s?: [..], next_bytes?,
 *              next_quality?, quality?, last_quality?, height?, max_kbps?, other_kbps?,
 *              profile? | WEIGHTS?}
 *   profile   {WEIGHTS, stall_ratio_max?, startup_max_s?, grow?}
 *   forget    {session?, viewer?, before?, labels?: LABELS, dry_run?}: at least one of the first four
 *   WEIGHTS   weights: {quality?, switches?, stalls?, startup?}, relative to `standard` (qoe.h)
 *             | mu: [quality, switch, stall] (+ utility?: linear, log or pamoe), the papers' form
 *   LABELS    {device?, cdn?, country?, app?, network?, experiment?, tenant?} (session/labels.h)
 * mode is decide or observe. viewer names the viewer, in up to 128 bytes (session/viewer.h).
 * Defaults: explore true, chunks 0 (live), buffer_max_s 60, each weight 1, utility "linear", chunk 0,
 * last_level -1 (none), last_quality that of last_level in `quality` or the curve. key is an integer up to
 * 2^53, or a string of digits for all 64 bits. next_bytes and next_quality may hold null for unknown. The newest
 * 8 entries of a history count one by one, in `decide` all of them by their summary (view.h). max_kbps 0 is no
 * cap. other_bytes and other_kbps are of the streams other than the video (session/sound.h).
 *
 * Errors: ERR_INVALID, ERR_RANGE with e->field the path: "last.bytes", "ladder_kbps[3]".
 * Threads: pure functions. */
#ifndef SERVE_WIRE_H
#define SERVE_WIRE_H

#include "base/field.h"
#include "serve/session/service.h"
#include "serve/store/forget.h"

#define WIRE_BUFFER_MAX_S 60.0
#define WIRE_HISTORY 64 /* most entries of throughput_kbps */

struct wire_decide {
    char profile[SERVICE_NAME]; /* "": none given */
    bool has_mu;                /* view.qoe comes from the request, mu or weights */
    struct view view;
    double max_kbps;                       /* cap of the decision; 0: none */
    enum quality_source from[VIEW_LEVELS]; /* of view.points */
};

/* Reads any body into the struct at base. The table ends with {0}. */
int wire_body(const struct field *fields, void *base, const char *body, size_t n,
              struct err *e) __attribute__((warn_unused_result));

/* choice borrows viewer. */
struct wire_forget {
    struct forget_choice choice;
    char session[64], viewer[2 * SERVICE_VIEWER], before[40];
    bool has_viewer, dry_run;
};
int wire_forget(struct wire_forget *out, const char *body, size_t n, struct err *e)
    __attribute__((warn_unused_result));

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
/* Fills qoe, own_stall_ratio_max, own_startup_max_s and grow. */
int wire_profile(struct profile *out, const char *body, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#endif

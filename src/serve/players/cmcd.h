/* cmcd.h - Common Media Client Data, what players report: CTA-5004 (v1, in query or headers) and
 * CTA-5004-A (v2, also in event reports).
 *
 * The keys below are read; all others are ignored, custom keys among them. A v2 value per kind of
 * object, "br=(2000;v 64;a)", is read for the kind that ot names, or else for video. A value without a
 * kind counts for every kind. Milliseconds become seconds, "?0" is false.
 *
 *   bl buffer_s, bs starved, bsd starved_s, br kbps, cid, d chunk_s, e event, mtp throughput_kbps,
 *   ot kind, sid, st live, sta state, tb top_kbps, tpb playable_kbps, ttlb arrived_s, url file
 *
 * sf, the streaming format, is ignored: no decision depends on it.
 *
 * Errors: ERR_INVALID and ERR_RANGE with the key in e->field. Threads: pure functions. */
#ifndef SERVE_CMCD_H
#define SERVE_CMCD_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define CMCD_ID 65 /* sid and cid: 64 characters, and NUL */
#define CMCD_WORD 8
#define CMCD_FILE 256

enum cmcd_kind { CMCD_UNKNOWN, CMCD_VIDEO, CMCD_AUDIO, CMCD_MUXED, CMCD_OTHER };

/* A missing number is negative, a missing text is "". */
struct cmcd {
    enum cmcd_kind kind;
    double buffer_s, chunk_s, kbps, throughput_kbps;
    double top_kbps,
        playable_kbps; /* the highest level; the highest one that may be played now */
    bool starved;      /* since the last request */
    double starved_s;
    double arrived_s; /* from the request to the last byte, as the player measured it */
    char sid[CMCD_ID], cid[CMCD_ID];
    char event[CMCD_WORD], state[CMCD_WORD];
    bool live;            /* st is l, or v2's ll: the end is not known yet */
    char file[CMCD_FILE]; /* of a report: last part of url's path; "" if too long */
};

/* text (n bytes): the decoded value of CMCD= in a query, the four headers joined by commas, or one line
 * of a report. */
int cmcd_parse(struct cmcd *out, const char *text, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#endif

/* cmcd.h - what players tell of themselves: Common Media Client Data, CTA-5004 (v1, in query or
 * headers) and CTA-5004-A (v2, also in reports of events).
 *
 * Read are the keys below; others, custom ones among them, are passed over. What v2 gives per
 * kind of object, "br=(2000;v 64;a)", is taken for the kind that ot names, or else for video; a
 * value without a kind is everybody's. Milliseconds become seconds, "?0" is false.
 *
 *   bl buffer_s, bs starved, bsd starved_s, br kbps, cid, d chunk_s, e event, mtp throughput_kbps,
 *   ot kind, sid, st live, sta state, tb top_kbps, ttlb arrived_s, url file
 *
 * sf, the protocol that the player speaks, is passed over: nothing that is decided hangs on it.
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

/* A number that was not given is negative, a text "". */
struct cmcd {
    enum cmcd_kind kind;
    double buffer_s, chunk_s, kbps, top_kbps, throughput_kbps;
    bool starved; /* since the last request */
    double starved_s;
    double arrived_s; /* from the request to the last byte, as the player measured it */
    char sid[CMCD_ID], cid[CMCD_ID];
    char event[CMCD_WORD], state[CMCD_WORD];
    bool live; /* st is l, or v2's ll: nobody knows the end yet */
    char file
        [CMCD_FILE]; /* of a report: the last part of url's path; "" when that is longer */
};

/* n bytes: the decoded value of CMCD= in a query, the four headers joined by commas, or one line
 * of a report. */
int cmcd_parse(struct cmcd *out, const char *text, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#endif

/* media.h - the demo's segments over an emulated link, whose rate follows a trace.
 *
 *   GET /demo/links                        the links there are, as JSON
 *   GET /demo/{link}/{viewer}/link.json    this viewer's link: its trace and its clock
 *   PUT /demo/{link}/{viewer}/link.json    changes this viewer's link: {"from_s", "at_s": [], "factor": []}
 *   GET /demo/{link}/{viewer}/{file}       a file of the media folder, or the part of it
 *                                          that Range names, paced
 *
 * A link is a kind of gen.h (a fixed trace of that kind, so that two runs compare), the
 * name of a file in the traces folder, or "unlimited". A viewer is a name that the page
 * makes up: each has a link of its own, whose clock begins with the first request.
 *
 * Pacing. While at least one request is under way the link earns the bytes that its trace
 * carries; capacity of idle times is lost. The first byte of a request comes one round trip
 * after the request. Requests of one viewer share the link. The trace is repeated.
 *
 *   bytes(t0, t1) = integral of factor(t) * mbps(from_s + t) * 1e6 / 8 dt
 *
 * Changes. factor is 1 before the first change, and factor[i] from at_s[i] on the link's clock: 0 cuts the
 * link, 0.5 halves it. from_s is where the trace begins for this viewer. A PUT replaces all changes of the
 * viewer. Bytes that the link has earned stay earned. Without a limit only a factor of 0 has an effect.
 *
 * Names are made of [A-Za-z0-9._-] and do not begin with a dot: nothing outside the two folders
 * can be named. Errors go to the reply as JSON: 404 for an unknown link or file (and how to make the
 * media if there is none), 400 for a malformed name or change, 416 for a range beyond the file, 503 when the
 * table of viewers is full, 429 when the client's address has its share of viewers with requests under
 * way. If all places are taken, a new viewer gets the place that has been idle longest. An address that has
 * its share of places loses one of its own then, and an address with more than its share loses one first. A
 * file of the traces folder that is not a trace is read once and remembered until it changes.
 *
 * Threads: struct media is locked inside (one leaf mutex around table and links); the
 * link functions are pure, a struct media_link belongs to one thread. */
#ifndef SERVE_MEDIA_H
#define SERVE_MEDIA_H

#include "abr/traces/trace.h"
#include "base/field.h"
#include "base/log.h"
#include "serve/access/occupancy.h"
#include "serve/http/reply.h"

#include <stdint.h>

/* ---- one link, without clocks or sockets ---- */
#define MEDIA_CHANGES 64 /* of one link */

struct media_changes {
    double from_s; /* >= 0 */
    int n;
    double at_s[MEDIA_CHANGES], factor[MEDIA_CHANGES]; /* (n) at_s ascending */
};

struct media_link {
    const struct trace *trace; /* NULL: no limit */
    struct media_changes changes;
    double rtt_s;
    double start_s; /* when its clock showed 0 */
    int active;     /* requests under way */
    double at_s;    /* earned up to here */
    double credit;  /* earned and not yet sent [bytes] */
};

/* Bytes that the trace carries from from_s to to_s after its beginning; to_s >= from_s >= 0. */
double media_carries(const struct trace *t, double from_s, double to_s);

/* Bytes that the link earns from from_s to to_s on its clock; its changes count. */
double media_link_carries(const struct media_link *l, double from_s, double to_s);

void media_link_init(struct media_link *l, const struct trace *t, double rtt_s,
                     double now_s);
/* A request begins; returns when its first byte may be sent. */
double media_link_begin(struct media_link *l, double now_s);
/* How many of `want` bytes may be sent now; they count as sent. 0 rather than less than a packet, unless
 * less is wanted. */
int64_t media_link_allow(struct media_link *l, double now_s, int64_t want);
void media_link_end(struct media_link *l);

/* ---- the handlers ---- */
struct media_cfg {
    const char *dir;    /* of manifest.mpd and its segments; may be absent */
    const char *traces; /* folder of more traces to offer; may be absent */
    double rtt_s;       /* .08 */
    int viewers;        /* 64 at a time */
    double seconds;     /* 600: length of generated traces */
    uint64_t seed;
    double (*clock)(void *ctx); /* monotonic; NULL = clock_mono */
    void *clock_ctx;
    const struct log *log; /* borrowed; NULL: silent */
};

struct media;

/* The strings are copied. */
struct media *media_new(const struct media_cfg *cfg, struct err *e);
/* Every stream must be done: free the workers' http first. */
void media_free(struct media *m);

void media_links(struct reply *r, struct media *m);

struct media_question {
    const char *link, *viewer, *file;
    const char *range;      /* the header's text, or NULL */
    struct occupancy *held; /* counts viewers with requests by address; NULL: no limit */
    struct addr who;
    int most; /* viewers of `who` at a time */
};

void media_get(struct reply *r, struct media *m, const struct media_question *q);
/* PUT of link.json; answers as GET does. */
void media_put(struct reply *r, struct media *m, const struct media_question *q,
               const char *body, size_t n);

#endif

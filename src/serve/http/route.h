/* route.h - which handler answers which method and path.
 *
 * A pattern is a path whose segments are literal or one parameter: "/v1/sessions/{id}". A
 * last segment "{name...}" takes the rest of the path, "/" included, and may be empty; "{name*}" does
 * too, however long it is, and leaves it to the handler as it was sent.
 * The first row that fits method and path wins. Parameters are percent-decoded; an
 * encoded "/", or one longer than ROUTE_VALUE - 1 bytes, fits nothing.
 *
 * HEAD is answered where GET is. A path that only other methods fit gives 405 and the set
 * of methods for Allow. A row with ROUTE_FALLBACK is taken only where no other row fits the
 * path and does not count for Allow: the pages' catch-all neither hides a 405 nor turns every
 * 404 into one.
 *
 * Threads: pure functions over a table that never changes. */
#ifndef SERVE_ROUTE_H
#define SERVE_ROUTE_H

#include "serve/http/http.h"

#include <stddef.h>

#define ROUTE_PARAMS 3
#define ROUTE_NAME 16
#define ROUTE_VALUE 256

enum route_flags {
    ROUTE_OPEN = 0,
    ROUTE_AUTH = 1,     /* needs the bearer token, when one is configured */
    ROUTE_FALLBACK = 2, /* see above */
    ROUTE_OPENS = 4,    /* opens a session: has a limit of its own (admit.h) */
    ROUTE_SESSION = 8,  /* {id} is a session: likewise */
};

struct route_params {
    int n;
    struct {
        char name[ROUTE_NAME];
        char value[ROUTE_VALUE];
    } at[ROUTE_PARAMS];
};

struct api; /* api.h: what a handler works with */

struct route {
    enum http_method method;
    const char *path;
    unsigned flags;
    void (*handle)(struct api *a, const struct http_request *q,
                   const struct route_params *p, struct reply *r);
};

/* 200 and *out; 404; or 405 and in *allow bit (1 << method) for each that would fit.
 * The table ends with a row whose path is NULL. */
int route_find(const struct route **out, struct route_params *p, unsigned *allow,
               const struct route *table, enum http_method method, const char *path);

/* "GET, HEAD, OPTIONS" for the value of Allow. */
void route_allow_text(char *out, size_t n, unsigned allow);

/* Value of a parameter of the pattern; "" when there is none of that name. */
const char *route_param(const struct route_params *p, const char *name);

#endif

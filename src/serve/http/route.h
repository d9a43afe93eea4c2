/* route.h - finds the handler of a method and path.
 *
 * A pattern is a path whose segments are literal or one parameter: "/v1/sessions/{id}". A last segment
 * "{name...}" takes the rest of the path, with its "/", and may be empty. "{name*}" takes a rest of
 * any length and leaves it encoded.
 * The first row that matches method and path wins. Parameters are percent-decoded. A parameter with
 * an encoded "/", or longer than ROUTE_VALUE - 1 bytes, matches nothing.
 *
 * HEAD is answered where GET is. If only other methods match the path the result is 405 with the set
 * of methods for Allow. A row with ROUTE_FALLBACK is used only if no other row matches the path, and
 * does not count for Allow: the catch-all of the web pages must not hide a 405 nor make every 404 one.
 *
 * Threads: pure functions over a constant table. */
#ifndef SERVE_ROUTE_H
#define SERVE_ROUTE_H

#include "serve/http/http.h"

#include <stddef.h>

#define ROUTE_PARAMS 3
#define ROUTE_NAME 16
#define ROUTE_VALUE 256

enum route_flags {
    ROUTE_OPEN = 0,
    ROUTE_AUTH = 1,     /* needs the bearer token, if one is configured */
    ROUTE_FALLBACK = 2, /* see above */
    ROUTE_OPENS = 4,    /* opens a session: limited apart (admit.h) */
    ROUTE_SESSION = 8,  /* {id} is a session: limited per session (admit.h) */
};

struct route_params {
    int n;
    struct {
        char name[ROUTE_NAME];
        char value[ROUTE_VALUE];
    } at[ROUTE_PARAMS];
};

struct api; /* api.h */

struct route {
    enum http_method method;
    const char *path;
    unsigned flags;
    void (*handle)(struct api *a, const struct http_request *q,
                   const struct route_params *p, struct reply *r);
};

/* 200 and *out; 404; or 405 and in *allow the bit (1 << method) of each method that matches. The table
 * ends with a row whose path is NULL. */
int route_find(const struct route **out, struct route_params *p, unsigned *allow,
               const struct route *table, enum http_method method, const char *path);

/* "GET, HEAD, OPTIONS" for the value of Allow. */
void route_allow_text(char *out, size_t n, unsigned allow);

/* The value of a parameter of the pattern; "" if there is none of that name. */
const char *route_param(const struct route_params *p, const char *name);

#endif

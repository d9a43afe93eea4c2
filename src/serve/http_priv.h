/* http_priv.h - what http.c asks of http_request.c: the reading of one request's head. */
#ifndef SERVE_HTTP_PRIV_H
#define SERVE_HTTP_PRIV_H

#include "serve/http.h"

#include <microhttpd.h>

enum http_method http_method_of(const char *name);

/* The library's hook for percent-decoding: it would decode path and query itself and cut both
 * at an encoded NUL, so this changes nothing. */
size_t http_keep_escapes(void *cls, struct MHD_Connection *c, char *s);

/* True when the head of the request is refused; the reply is filled then. version as the
 * library gave it, not a copy. */
bool http_refuse(struct reply *r, struct MHD_Connection *mhd, const char *version,
                 size_t body_max);

#endif

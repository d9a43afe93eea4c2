/* origins.h - the servers whose media the daemon hands on: their names, and what may be asked of them.
 *
 *   NAME=URL                          cdn=https://media.example/vod
 *   GET /o/cdn/film/1.m4s?sig=x       https://media.example/vod/film/1.m4s?sig=x
 *
 * A name is made of letters, digits, "-" and "_". A URL is http:// or https:// with a host (name,
 * IPv4, or IPv6 in brackets), perhaps a port and a base path; no user, query, fragment, comma or
 * dot segment.
 *
 * A path that players ask for cannot leave the base path, however the origin reads it: segments
 * "." and ".." (percent-encoded, or with ";..." behind them), encoded "/", backslashes, control
 * characters and bytes beyond ASCII are refused, and so is what would be one of these if it were
 * decoded twice. Otherwise path and query go on as they came.
 *
 * Errors: ERR_INVALID, ERR_RANGE, ERR_CONFLICT (the name is taken), with a sentence.
 * Threads: pure functions. */
#ifndef SERVE_ORIGINS_H
#define SERVE_ORIGINS_H

#include "base/err.h"

#include <stddef.h>

#define ORIGINS_MAX 16
#define ORIGINS_NAME 32
#define ORIGINS_URL 256
#define ORIGINS_TARGET 6144 /* base, path and query; a request's head has 8 KiB */

struct origins {
    int n;
    struct {
        char name[ORIGINS_NAME];
        char url[ORIGINS_URL]; /* without a "/" at its end */
    } at[ORIGINS_MAX];
};

/* text: NAME=URL. */
int origins_add(struct origins *o, const char *text, struct err *e)
    __attribute__((warn_unused_result));
/* Its place; -1: no origin is called so. */
int origins_find(const struct origins *o, const char *name);

/* What to ask the origin for: path and query as a player sent them, path without the "/" that
 * it begins with, query without "?", "" for none. */
int origins_target(char *out, size_t size, const char *url, const char *path,
                   const char *query, struct err *e) __attribute__((warn_unused_result));

#endif

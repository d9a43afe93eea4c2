/* origins.h - the list of origins (servers whose media the daemon proxies) and what may be requested.
 *
 *   NAME=URL                          cdn=https://media.example/vod
 *   GET /o/cdn/film/1.m4s?sig=x       https://media.example/vod/film/1.m4s?sig=x
 *
 * A name is made of letters, digits, "-" and "_". A URL is http:// or https:// with a host (name,
 * IPv4, or IPv6 in brackets), optionally a port and a base path; no user, query, fragment, comma or
 * dot segment.
 *
 * A requested path cannot leave the base path, however the origin decodes it. These are refused: segments
 * "." and ".." (also percent-encoded, or followed by ";..."), encoded "/", backslashes, control characters,
 * bytes beyond ASCII, and whatever becomes one of these if it is decoded twice. Otherwise
 * path and query are forwarded unchanged.
 *
 * Errors: ERR_INVALID, ERR_RANGE, ERR_CONFLICT (the name is taken), with a sentence.
 * Threads: pure functions. */
#ifndef SERVE_ORIGINS_H
#define SERVE_ORIGINS_H

#include "base/err.h"

#include <stdbool.h>
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
/* Its index; -1: no origin has this name. */
int origins_find(const struct origins *o, const char *name);

/* The URL to request. path and query are as the player sent them, path without its first "/", query
 * without "?", "" for none. */
int origins_target(char *out, size_t size, const char *url, const char *path,
                   const char *query, struct err *e) __attribute__((warn_unused_result));

/* The path at which the daemon answers with this URL: the name of the origin, "/", and the rest of the
 * URL with its query. False: no origin has it, or it is too long. */
bool origins_path(char *out, size_t size, const struct origins *o, const char *url);
/* The URL of such a path, without a check. False: no origin has the name, or the URL is too long. */
bool origins_url(char *out, size_t size, const struct origins *o, const char *path);

#endif

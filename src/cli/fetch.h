/* fetch.h - a manifest, and the sizes of what it lists, over HTTP(S): `abrd video convert --fetch`.
 *
 * Nothing but http and https, no proxy, at most 3 redirects, a minute a request, 16 MB an
 * answer, FETCH_MAX requests. The host that the user named may be private (serve/http/addr.h: 127.0.0.1,
 * a home network); what it redirects to, and what the manifest names, may not, unless it is the same
 * address and port: what is checked is the address that a socket is opened to, so names do not
 * help.
 *
 * Errors: ERR_IO, ERR_ABSENT, ERR_RANGE, ERR_INVALID, ERR_MEMORY; e->field is the URL.
 * Threads: not shared. */
#ifndef CLI_FETCH_H
#define CLI_FETCH_H

#include "abr/manifests/segments.h"

#define FETCH_MAX 50000

struct fetch;

/* Reads the manifest: *text is owned by the caller, with a NUL behind. quiet: no progress. */
struct fetch *fetch_new(const char *url, bool quiet, char **text, size_t *len,
                        struct err *e);
void fetch_free(struct fetch *f);

/* URLs are resolved against where the manifest was found. Good as long as f. */
struct segments_source fetch_source(struct fetch *f);

/* Whether the server of that URL takes connections, TLS included; it is asked for nothing, and may
 * be private. */
int fetch_reach(const char *url, struct err *e) __attribute__((warn_unused_result));

#endif

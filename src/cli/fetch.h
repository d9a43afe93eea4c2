/* fetch.h - downloads a manifest and the sizes of its segments over HTTP(S): `abrd video convert --fetch`.
 *
 * A size is the Content-Length of HEAD. If HEAD is refused or does not say it, GET asks for one byte and
 * reads the size from Content-Range. A server without ranges sends the whole segment, which is counted and
 * not kept.
 *
 * Only http and https, no proxy, at most 3 redirects, 60 s a request, 16 MB an answer that is kept, FETCH_MAX
 * requests. The host that the user named may be private (serve/access/addr.h: 127.0.0.1, a home network).
 * Hosts of redirects and of the manifest may not, unless address and port are the same. The check is on
 * the address of the socket, so a name that changes its address does not help.
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

/* URLs are relative to the address of the manifest. Valid as long as f. */
struct segments_source fetch_source(struct fetch *f);

/* Connects to the server of that URL, TLS included, without a request. It may be private. */
int fetch_reach(const char *url, struct err *e) __attribute__((warn_unused_result));

#endif

/* forwarded.h - the client's address of a request that came through trusted proxies.
 *
 * A proxy writes the address of its client into X-Forwarded-For (a list to which each proxy appends)
 * or Forwarded (RFC 7239, the same as for= pairs). Entries to the left of the first untrusted address
 * may be forged, so the list is read from the right:
 *
 *   client = peer;  while (client is trusted and an entry is left) client = next entry
 *
 * An entry that is not an address ("unknown", a name, broken quoting) ends the walk: the client is
 * then the proxy that wrote it. An untrusted peer is always the client, whatever its header says.
 *
 * Only the header that the proxies write is read. Most proxies pass the other one through unchanged,
 * so any client can forge it.
 *
 * Threads: pure functions. */
#ifndef SERVE_FORWARDED_H
#define SERVE_FORWARDED_H

#include "serve/access/addr.h"

enum forwarded_by { FORWARDED_X_FOR, FORWARDED_RFC7239 };

/* "x-forwarded-for" or "forwarded"; ERR_INVALID. */
int forwarded_parse(enum forwarded_by *out, const char *word, struct err *e)
    __attribute__((warn_unused_result));
/* Name of the header. */
const char *forwarded_header(enum forwarded_by by);

/* value: all lines of that header, joined by commas in their order; NULL if absent. */
struct addr forwarded_client(const struct addr *peer, const struct addr_nets *trusted,
                             enum forwarded_by by, const char *value);

#endif

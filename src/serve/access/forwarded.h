/* forwarded.h - who is asking, when proxies that we trust stand between.
 *
 * A proxy tells the address that it was asked from in X-Forwarded-For (a list that each
 * proxy adds to at its right end) or in Forwarded (RFC 7239, the same as for= pairs). What
 * stands left of the first address that is not a trusted proxy's was written by whoever
 * sent it, so the list is read from the right:
 *
 *   client = peer;  while (client is trusted and an entry is left) client = next entry
 *
 * An entry that is no address ("unknown", a name, broken quoting) ends the walk where it
 * stands: then the proxy that wrote it answers for it. Whoever is not trusted is the
 * client, whatever he says.
 *
 * Only the one header that the proxies are known to write is read; most pass the other one
 * through as it came from outside.
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

/* value: all lines of that header, joined by commas in their order; NULL when there is none.
 */
struct addr forwarded_client(const struct addr *peer, const struct addr_nets *trusted,
                             enum forwarded_by by, const char *value);

#endif

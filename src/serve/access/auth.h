/* auth.h - who may ask: the Host, Origin and bearer-token rules.
 *
 * A daemon on localhost can be reached by every web page that its user opens, so:
 *
 * Host (against DNS rebinding): an address in numbers, a loopback name, the name it
 * listens on, or one of `hosts`; the port is not looked at. HTTP/1.0 may leave it out.
 *
 * Origin (sent by browsers): absent is fine (no browser). Otherwise it must be the
 * daemon's own - http or https and exactly what Host says - or one of `origins`, or
 * `origins` is "*". Any other is foreign: it may read nothing (no CORS headers) and
 * change nothing (403). Content types are no guard, because a text/plain POST needs no
 * preflight.
 *
 * Bearer token: for routes that ask for it, when one is configured. Compared in constant
 * time.
 *
 * Threads: shared read-only after auth_new. */
#ifndef SERVE_AUTH_H
#define SERVE_AUTH_H

#include "base/err.h"

#include <stdbool.h>

struct auth;

enum auth_origin { AUTH_NO_ORIGIN, AUTH_OUR_ORIGIN, AUTH_FOREIGN };

/* hosts and origins: names between commas, or NULL. token NULL or "": none.
 * Errors: ERR_INVALID (an origin is not scheme://host[:port]), ERR_MEMORY. */
struct auth *auth_new(const char *bind, const char *hosts, const char *origins,
                      const char *token, struct err *e);
void auth_free(struct auth *a);

bool auth_host_ok(const struct auth *a, const char *host);
enum auth_origin auth_origin(const struct auth *a, const char *origin, const char *host);
/* header: value of Authorization, or NULL. */
bool auth_token_ok(const struct auth *a, const char *header);
/* The same where nobody has it when there is none. */
bool auth_token_given(const struct auth *a, const char *header);

#endif

/* auth.h - access rules for Host, Origin and the bearer token.
 *
 * Every web page that a user opens can reach a daemon on localhost. The rules against that:
 *
 * Host (against DNS rebinding): a numeric address, a loopback name, the name on which the daemon
 * listens, or one of `hosts`. The port is ignored. HTTP/1.0 may omit Host.
 *
 * Origin (sent by browsers): absent is accepted (not a browser). Otherwise it must be the daemon's own
 * (http or https and exactly the Host) or one of `origins`, or `origins` is "*". Any other origin is
 * foreign: it can read nothing (no CORS headers) and write nothing (403). The content type is no
 * protection, because a text/plain POST needs no preflight.
 *
 * Bearer token: for routes that need it, if one is configured. Compared in constant time.
 *
 * Threads: shared read-only after auth_new. */
#ifndef SERVE_AUTH_H
#define SERVE_AUTH_H

#include "base/err.h"

#include <stdbool.h>

struct auth;

enum auth_origin { AUTH_NO_ORIGIN, AUTH_OUR_ORIGIN, AUTH_FOREIGN };

/* hosts and origins: names, comma-separated, or NULL. token NULL or "": none.
 * Errors: ERR_INVALID (an origin is not scheme://host[:port]), ERR_MEMORY. */
struct auth *auth_new(const char *bind, const char *hosts, const char *origins,
                      const char *token, struct err *e);
void auth_free(struct auth *a);

bool auth_host_ok(const struct auth *a, const char *host);
enum auth_origin auth_origin(const struct auth *a, const char *origin, const char *host);
/* header: value of Authorization, or NULL. True without a configured token. */
bool auth_token_ok(const struct auth *a, const char *header);
/* The same, but false without a configured token. */
bool auth_token_given(const struct auth *a, const char *header);

#endif

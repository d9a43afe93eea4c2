/* manager.h - the protocols of a service manager that started the daemon: sd_notify(3) and
 * sd_listen_fds(3) of systemd, which other managers use as well.
 *
 * Without a manager (NOTIFY_SOCKET, LISTEN_FDS and WATCHDOG_USEC are not set) every function does
 * nothing.
 *
 * Threads: main thread (the environment is changed). */
#ifndef CLI_SERVE_MANAGER_H
#define CLI_SERVE_MANAGER_H

#include "base/err.h"

#include <stdbool.h>

/* The one listening socket that the manager opened (owned, close it), or MANAGER_NONE; ERR_INVALID:
 * there are several. Call it once. */
enum { MANAGER_NONE = -100 };
int manager_socket(struct err *e) __attribute__((warn_unused_result));

/* The daemon serves; status is one line for `systemctl status`. Call it again after a reload. */
void manager_ready(const char *status);
/* The configuration is being reloaded, until manager_ready. */
void manager_reloading(double mono_s);
void manager_stopping(void);

/* manager_alive must be called at least once within so many seconds; 0: there is no watchdog. */
double manager_watchdog_s(void);
void manager_alive(void);

#endif

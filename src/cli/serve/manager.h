/* manager.h - what a service manager that started us hands over and wants to hear: systemd's
 * protocols of sd_notify(3) and sd_listen_fds(3), which others speak as well.
 *
 * Without a manager (NOTIFY_SOCKET, LISTEN_FDS and WATCHDOG_USEC are not set) every function does
 * nothing: a daemon on a terminal is not told apart.
 *
 * Threads: main thread (the environment is changed). */
#ifndef CLI_MANAGER_H
#define CLI_MANAGER_H

#include "base/err.h"

#include <stdbool.h>

/* The one listening socket that was handed over (owned, close it), or MANAGER_NONE; ERR_INVALID:
 * there are several. To be asked once. */
enum { MANAGER_NONE = -100 };
int manager_socket(struct err *e) __attribute__((warn_unused_result));

/* We serve; status is one line for `systemctl status`. After a reload the same again. */
void manager_ready(const char *status);
/* The configuration is read again: manager_ready says when that is over. */
void manager_reloading(double mono_s);
void manager_stopping(void);

/* Seconds within which manager_alive wants to be called, again and again; 0: nobody watches. */
double manager_watchdog_s(void);
void manager_alive(void);

#endif

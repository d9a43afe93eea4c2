/* interrupt.h - Ctrl-C (SIGINT) and SIGTERM as a flag that long work checks.
 *
 * After interrupt_catch the first signal only sets the flag, so that the command can save
 * and leave. The second one ends the process as usual.
 *
 * Its flags are among the few mutable globals of the program: a signal handler has no argument.
 * Threads: interrupt_seen from any; interrupt_wait from one. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdbool.h>

void interrupt_catch(void);
bool interrupt_seen(void);

/* Sleeps until a signal comes (true) or the seconds are over (false). A caught SIGHUP also ends the sleep
 * (false). */
bool interrupt_wait(double seconds);

/* From now on SIGHUP sets a flag and does not end the program. */
void interrupt_catch_hangup(void);
/* Has one come since the last call? */
bool interrupt_hangup(void);

#endif

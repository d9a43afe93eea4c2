/* interrupt.h - Ctrl-C (SIGINT) and SIGTERM as a flag that long work looks at.
 *
 * After interrupt_catch the first signal only sets the flag, so that the command can save
 * and leave; the second one kills the process as usual.
 *
 * The flag is the one mutable global of the program: a signal handler has no argument.
 * Threads: interrupt_seen from any; interrupt_wait from one. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdbool.h>

void interrupt_catch(void);
bool interrupt_seen(void);

/* Sleeps until a signal has come (true) or the seconds are over (false). */
bool interrupt_wait(double seconds);

#endif

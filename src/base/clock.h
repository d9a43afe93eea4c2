/* clock.h - the clocks of the system, in seconds.
 *
 * Only serve and cli read clocks. The layers below get the time as an argument.
 *
 * Threads: pure functions. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

double clock_now(void);        /* since the epoch; may jump */
double clock_mono(void);       /* since some start; never goes back */
double clock_cpu(void);        /* CPU time of the process */
double clock_thread_cpu(void); /* CPU time of the calling thread */

#endif

/* cond.h - waiting for a condition, or until a time of the steady clock.
 *
 *   double until_s = clock_mono() + wait_s;
 *   while (!ready && cond_wait(&arrived, &lock, until_s))
 *       ;
 *
 * Threads: as pthread_cond_t. */
#ifndef BASE_COND_H
#define BASE_COND_H

#include <pthread.h>
#include <stdbool.h>

/* Release with pthread_cond_destroy. */
void cond_init(pthread_cond_t *c);

/* Call it with the lock held. True may be a spurious wakeup, as with pthread_cond_wait. False:
 * clock_mono has reached until_s. */
bool cond_wait(pthread_cond_t *c, pthread_mutex_t *lock, double until_s);

#endif

/* owner.h - an assertion that one thread at a time works on an object.
 *
 * For objects without a lock whose calls belong to one thread, which may change between the calls:
 *
 *   owner_enter(&x->owner);   (another thread within is a bug, and ends the program)
 *   ...
 *   owner_leave(&x->owner);
 *
 * Calls may nest within one thread. Threads: any, that is the point. */
#ifndef BASE_OWNER_H
#define BASE_OWNER_H

#include <stdatomic.h>
#include <stdint.h>

/* All zero: nobody is within. */
struct owner {
    atomic_uintptr_t thread;
    int depth; /* of the thread within */
};

void owner_enter(struct owner *o);
void owner_leave(struct owner *o);
/* The calling thread is within. */
void owner_assert(struct owner *o);

#endif

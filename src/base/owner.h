/* owner.h - an assertion that one thread at a time works on an object.
 *
 * For objects without a lock. Only one thread at a time may work on the object. The next call may
 * come from another thread.
 *
 *   owner_enter(&x->owner);   (another thread inside is a bug: the program ends)
 *   ...
 *   owner_leave(&x->owner);
 *
 * Calls may nest within one thread.
 *
 * Threads: any thread may call. */
#ifndef BASE_OWNER_H
#define BASE_OWNER_H

#include <stdatomic.h>
#include <stdint.h>

/* All zero: no thread is inside. */
struct owner {
    atomic_uintptr_t thread;
    int depth; /* nested calls of the thread inside */
};

void owner_enter(struct owner *o);
void owner_leave(struct owner *o);
/* Asserts that the calling thread is inside. */
void owner_assert(struct owner *o);

#endif

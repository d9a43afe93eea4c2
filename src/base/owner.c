#include "base/owner.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

void owner_enter(struct owner *o)
{
    uintptr_t self = (uintptr_t)pthread_self(), none = 0;
    bool mine = atomic_compare_exchange_strong(&o->thread, &none, self) || none == self;
    assert(mine);
    o->depth++;
}

void owner_leave(struct owner *o)
{
    owner_assert(o);
    if (--o->depth == 0) atomic_store(&o->thread, 0);
}

void owner_assert(struct owner *o)
{
    assert(atomic_load(&o->thread) == (uintptr_t)pthread_self());
}

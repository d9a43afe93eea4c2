#include "serve/access/occupancy.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/table.h"

struct occupancy {
    atomic_uint_fast64_t refused;
    pthread_mutex_t lock; /* guards the members below */
    struct table *held;   /* struct addr of a subscriber -> int */
};

struct occupancy *occupancy_new(int capacity, uint64_t seed, struct err *e)
{
    struct occupancy *t = calloc(1, sizeof *t);
    if (!t) {
        err_set(e, ERR_MEMORY, "no memory for the counts per address");
        return NULL;
    }
    pthread_mutex_init(&t->lock, NULL);
    t->held = table_new(capacity, sizeof(struct addr), sizeof(int), seed, e);
    if (!t->held) {
        occupancy_free(t);
        return NULL;
    }
    return t;
}

void occupancy_free(struct occupancy *t)
{
    if (!t) return;
    pthread_mutex_destroy(&t->lock);
    table_free(t->held);
    free(t);
}

bool occupancy_take(struct occupancy *t, const struct addr *who, int most)
{
    return occupancy_take_amount(t, who, 1, most);
}

bool occupancy_take_amount(struct occupancy *t, const struct addr *who, int amount,
                           int most)
{
    assert(amount > 0);
    struct addr key = addr_subscriber(who);
    pthread_mutex_lock(&t->lock);
    int *n = most > 0 ? table_put(t->held, &key, NULL) : NULL;
    bool ok = n && (*n == 0 || (*n <= most && amount <= most - *n));
    if (ok) *n += amount;
    pthread_mutex_unlock(&t->lock);
    if (!ok) atomic_fetch_add_explicit(&t->refused, 1, memory_order_relaxed);
    return ok;
}

void occupancy_give(struct occupancy *t, const struct addr *who)
{
    occupancy_give_amount(t, who, 1);
}

void occupancy_give_amount(struct occupancy *t, const struct addr *who, int amount)
{
    struct addr key = addr_subscriber(who);
    pthread_mutex_lock(&t->lock);
    int *n = table_get(t->held, &key);
    assert(n && amount > 0 && *n >= amount);
    *n -= amount;
    if (*n == 0) table_delete(t->held, &key);
    pthread_mutex_unlock(&t->lock);
}

int occupancy_held(struct occupancy *t, const struct addr *who)
{
    struct addr key = addr_subscriber(who);
    pthread_mutex_lock(&t->lock);
    const int *n = table_get(t->held, &key);
    int held = n ? *n : 0;
    pthread_mutex_unlock(&t->lock);
    return held;
}

uint64_t occupancy_refused(const struct occupancy *t)
{
    return atomic_load_explicit(&t->refused, memory_order_relaxed);
}

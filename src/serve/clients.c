#include "serve/clients.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/table.h"

struct place {
    double heard_s;
    unsigned char entry[];
};

struct clients {
    uint64_t seed;
    size_t bytes;
    pthread_mutex_t lock; /* places */
    struct table *places; /* struct place by key */
};

struct clients *clients_new(int capacity, size_t entry_bytes, uint64_t seed,
                            struct err *e)
{
    struct clients *r = calloc(1, sizeof *r);
    if (!r) {
        err_set(e, ERR_MEMORY, "no memory for %d clients", capacity);
        return NULL;
    }
    r->seed = seed;
    r->bytes = entry_bytes;
    pthread_mutex_init(&r->lock, NULL);
    r->places =
        table_new(capacity, CLIENTS_KEY, sizeof(struct place) + entry_bytes, seed, e);
    if (r->places) return r;
    clients_free(r);
    return NULL;
}

void clients_free(struct clients *r)
{
    if (!r) return;
    table_free(r->places);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

void clients_key(unsigned char out[CLIENTS_KEY], const struct clients *r,
                 const void *bytes, size_t n, const char *text)
{
    uint64_t half[2] = {r->seed, ~r->seed};
    const unsigned char *byte = bytes;
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < n; i++)
            half[k] = rng_u64_at(half[k], byte[i], i);
        for (size_t i = 0; text[i]; i++)
            half[k] = rng_u64_at(half[k], (unsigned char)text[i], n + i);
    }
    memcpy(out, half, CLIENTS_KEY);
}

bool clients_get(void *out, struct clients *r, const unsigned char key[CLIENTS_KEY])
{
    pthread_mutex_lock(&r->lock);
    const struct place *p = table_get(r->places, key);
    if (p) memcpy(out, p->entry, r->bytes);
    pthread_mutex_unlock(&r->lock);
    return p;
}

/* The lock is held. */
static void forget_oldest(struct clients *r)
{
    unsigned char oldest[CLIENTS_KEY] = {0};
    double since = 0;
    bool any = false;
    int cursor = 0;
    const void *key;
    for (const struct place *p; (p = table_next(r->places, &cursor, &key));) {
        if (any && p->heard_s >= since) continue;
        any = true;
        since = p->heard_s;
        memcpy(oldest, key, sizeof oldest);
    }
    table_delete(r->places, oldest);
}

void clients_put(struct clients *r, const unsigned char key[CLIENTS_KEY],
                 const void *entry, double now_s)
{
    pthread_mutex_lock(&r->lock);
    struct place *p = table_put(r->places, key, NULL);
    if (!p) {
        forget_oldest(r);
        p = table_put(r->places, key, NULL);
    }
    p->heard_s = now_s;
    memcpy(p->entry, entry, r->bytes);
    pthread_mutex_unlock(&r->lock);
}

void clients_forget(struct clients *r, const unsigned char key[CLIENTS_KEY])
{
    pthread_mutex_lock(&r->lock);
    table_delete(r->places, key);
    pthread_mutex_unlock(&r->lock);
}

int clients_count(struct clients *r)
{
    pthread_mutex_lock(&r->lock);
    int n = table_count(r->places);
    pthread_mutex_unlock(&r->lock);
    return n;
}

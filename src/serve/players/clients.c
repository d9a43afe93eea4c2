#include "serve/players/clients.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/table.h"

struct place {
    unsigned char key[CLIENTS_KEY];
    uint64_t change;             /* number of the last one */
    struct place *older, *newer; /* by that */
    unsigned char entry[];
};

struct clients {
    uint64_t seed;
    size_t bytes;
    pthread_mutex_t opening;       /* held by callers (clients_open_lock) */
    pthread_mutex_t lock;          /* of everything below */
    struct table *places;          /* struct place by key; they do not move */
    struct place *oldest, *newest; /* doubly linked */
    uint64_t changes;
};

struct clients *clients_new(int capacity, size_t entry_bytes, uint64_t seed,
                            struct err *e)
{
    struct clients *c = calloc(1, sizeof *c);
    if (!c) {
        err_set(e, ERR_MEMORY, "no memory for %d clients", capacity);
        return NULL;
    }
    c->seed = seed;
    c->bytes = entry_bytes;
    pthread_mutex_init(&c->opening, NULL);
    pthread_mutex_init(&c->lock, NULL);
    c->places =
        table_new(capacity, CLIENTS_KEY, sizeof(struct place) + entry_bytes, seed, e);
    if (c->places) return c;
    clients_free(c);
    return NULL;
}

void clients_free(struct clients *c)
{
    if (!c) return;
    table_free(c->places);
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->opening);
    free(c);
}

void clients_key(unsigned char out[CLIENTS_KEY], const struct clients *c,
                 const void *bytes, size_t n, const char *text)
{
    uint64_t half[2] = {c->seed, ~c->seed};
    const unsigned char *byte = bytes;
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < n; i++)
            half[k] = rng_u64_at(half[k], byte[i], i);
        for (size_t i = 0; text[i]; i++)
            half[k] = rng_u64_at(half[k], (unsigned char)text[i], n + i);
    }
    memcpy(out, half, CLIENTS_KEY);
}

/* ---- the list by age; the lock is held ---- */

static void unlink_place(struct clients *c, struct place *p)
{
    *(p->older ? &p->older->newer : &c->oldest) = p->newer;
    *(p->newer ? &p->newer->older : &c->newest) = p->older;
}

static void clients_append(struct clients *c, struct place *p)
{
    p->older = c->newest;
    p->newer = NULL;
    *(c->newest ? &c->newest->newer : &c->oldest) = p;
    c->newest = p;
}

static void delete_place(struct clients *c, struct place *p)
{
    unsigned char key[CLIENTS_KEY];
    memcpy(key, p->key, sizeof key); /* the key is part of the place */
    unlink_place(c, p);
    table_delete(c->places, key);
}

/* A place that is in no list yet. */
static struct place *make_place(struct clients *c, const unsigned char *key)
{
    if (table_count(c->places) == table_capacity(c->places)) delete_place(c, c->oldest);
    struct place *p = table_put(c->places, key, NULL);
    memcpy(p->key, key, CLIENTS_KEY);
    return p;
}

/* ---- the calls ---- */

uint64_t clients_get(void *out, struct clients *c, const unsigned char key[CLIENTS_KEY])
{
    pthread_mutex_lock(&c->lock);
    const struct place *p = table_get(c->places, key);
    uint64_t change = p ? p->change : 0;
    if (p) memcpy(out, p->entry, c->bytes);
    pthread_mutex_unlock(&c->lock);
    return change;
}

bool clients_put(struct clients *c, const unsigned char key[CLIENTS_KEY],
                 const void *entry, uint64_t since)
{
    pthread_mutex_lock(&c->lock);
    struct place *p = table_get(c->places, key);
    bool same = (p ? p->change : 0) == since;
    if (same) {
        if (p)
            unlink_place(c, p);
        else
            p = make_place(c, key);
        clients_append(c, p);
        p->change = ++c->changes;
        memcpy(p->entry, entry, c->bytes);
    }
    pthread_mutex_unlock(&c->lock);
    return same;
}

bool clients_forget(struct clients *c, const unsigned char key[CLIENTS_KEY],
                    uint64_t since)
{
    pthread_mutex_lock(&c->lock);
    struct place *p = table_get(c->places, key);
    bool gone = !p || p->change == since;
    if (p && gone) delete_place(c, p);
    pthread_mutex_unlock(&c->lock);
    return gone;
}

int clients_count(struct clients *c)
{
    pthread_mutex_lock(&c->lock);
    int n = table_count(c->places);
    pthread_mutex_unlock(&c->lock);
    return n;
}

void clients_open_lock(struct clients *c)
{
    pthread_mutex_lock(&c->opening);
}

void clients_open_unlock(struct clients *c)
{
    pthread_mutex_unlock(&c->opening);
}

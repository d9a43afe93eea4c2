#include "serve/access/quota.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define PLACES 8 /* of one key */
#define LOCKS 64 /* lock i guards the sets whose number is i modulo LOCKS */

struct bucket {
    uint64_t key[QUOTA_KEY / 8];
    double full_at; /* s; 0: never used */
};

struct set {
    struct bucket at[PLACES];
};

struct quota {
    double step_s, burst_s;
    uint64_t seed;
    uint64_t sets; /* a power of two */
    struct set *set;
    pthread_mutex_t lock[LOCKS];
};

struct quota *quota_new(double rate, double burst_s, int keys, uint64_t seed,
                        struct err *e)
{
    assert(rate > 0 && keys > 0);
    struct quota *q = calloc(1, sizeof *q);
    if (!q) goto fail;
    q->step_s = 1.0 / rate;
    q->burst_s = burst_s > q->step_s ? burst_s : q->step_s;
    q->seed = seed;
    q->sets = LOCKS;
    while (q->sets * PLACES < (uint64_t)keys)
        q->sets *= 2;
    q->set = calloc(q->sets, sizeof *q->set);
    if (!q->set) goto fail;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&q->lock[i], NULL);
    return q;
fail:
    free(q);
    err_set(e, ERR_MEMORY, "no memory for the rate limits");
    return NULL;
}

void quota_free(struct quota *q)
{
    if (!q) return;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_destroy(&q->lock[i]);
    free(q->set);
    free(q);
}

/* The key's bucket, or the fullest, which it replaces. */
static struct bucket *quota_find(struct set *s, const uint64_t *key, double now_s)
{
    struct bucket *fullest = &s->at[0];
    for (int i = 0; i < PLACES; i++) {
        struct bucket *b = &s->at[i];
        if (b->key[0] == key[0] && b->key[1] == key[1]) return b;
        if (b->full_at < fullest->full_at) fullest = b;
    }
    fullest->key[0] = key[0];
    fullest->key[1] = key[1];
    fullest->full_at = now_s;
    return fullest;
}

double quota_take(struct quota *q, const unsigned char key[QUOTA_KEY], double now_s)
{
    uint64_t k[QUOTA_KEY / 8];
    memcpy(k, key, sizeof k);
    uint64_t at = rng_u64_at(q->seed, k[0], k[1]) & (q->sets - 1);
    pthread_mutex_t *lock = &q->lock[at % LOCKS];

    pthread_mutex_lock(lock);
    struct bucket *b = quota_find(&q->set[at], k, now_s);
    double owed_s = b->full_at > now_s ? b->full_at - now_s : 0;
    double excess =
        owed_s + q->step_s - q->burst_s; /* now + step - now is not always step */
    if (excess <= 0) b->full_at = now_s + owed_s + q->step_s;
    pthread_mutex_unlock(lock);
    return excess > 0 ? excess : 0;
}

#include "serve/learner/published.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct held {
    struct weights weights; /* first: readers get a pointer to it */
    struct policy *policy;  /* owned, as is packed */
    struct packed *packed;
    int readers;        /* under the lock */
    struct held *older; /* retired, waiting for its readers */
};

struct published {
    pthread_mutex_t lock; /* of current, retired, readers */
    struct held *current;
    struct held *retired;
};

static struct held *held_new(struct policy *p, double now, double score, struct err *e)
{
    struct held *h = calloc(1, sizeof *h);
    struct packed *packed = h ? packed_new(&p->cfg, e) : NULL;
    if (!packed) {
        free(h);
        policy_free(p);
        err_set(e, ERR_MEMORY, "no memory for new weights");
        return NULL;
    }
    packed_load(packed, p);
    h->policy = p;
    h->packed = packed;
    h->weights = (struct weights){p, packed, now, score};
    return h;
}

static void held_free(struct held *h)
{
    if (!h) return;
    assert(h->readers == 0);
    packed_free(h->packed);
    policy_free(h->policy);
    free(h);
}

struct published *published_new(struct policy *policy, double now, double score,
                                struct err *e)
{
    struct held *h = held_new(policy, now, score, e);
    struct published *s = h ? calloc(1, sizeof *s) : NULL;
    if (!s) {
        held_free(h);
        err_set(e, ERR_MEMORY, "no memory for the weights");
        return NULL;
    }
    pthread_mutex_init(&s->lock, NULL);
    s->current = h;
    return s;
}

void published_free(struct published *s)
{
    if (!s) return;
    held_free(s->current);
    while (s->retired) {
        struct held *h = s->retired;
        s->retired = h->older;
        held_free(h);
    }
    pthread_mutex_destroy(&s->lock);
    free(s);
}

int published_swap(struct published *s, struct policy *policy, double now, double score,
                   struct err *e)
{
    struct held *h = held_new(policy, now, score, e), *unused = NULL;
    if (!h) return ERR_MEMORY;
    pthread_mutex_lock(&s->lock);
    s->current->older = s->retired;
    s->retired = s->current;
    s->current = h;
    for (struct held **at = &s->retired; *at;) {
        struct held *old = *at;
        if (old->readers) {
            at = &old->older;
        } else {
            *at = old->older;
            old->older = unused;
            unused = old;
        }
    }
    pthread_mutex_unlock(&s->lock);

    while (unused) {
        struct held *old = unused;
        unused = old->older;
        held_free(old);
    }
    return 0;
}

const struct weights *published_get(struct published *s)
{
    pthread_mutex_lock(&s->lock);
    struct held *h = s->current;
    h->readers++;
    pthread_mutex_unlock(&s->lock);
    return &h->weights;
}

void published_put(struct published *s, const struct weights *w)
{
    struct held *h = (struct held *)w;
    pthread_mutex_lock(&s->lock);
    assert(h->readers > 0);
    h->readers--;
    pthread_mutex_unlock(&s->lock);
}

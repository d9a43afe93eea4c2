#include "serve/learner/published.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct held {
    struct weights weights; /* first: readers get a pointer to it */
    struct policy *policy;  /* owned, as the next two; NULL: the published's frozen one */
    struct packed *packed;
    struct graft_pack *pack;
    int readers;        /* under the lock */
    struct held *older; /* retired, waiting for its readers */
};

struct published {
    pthread_mutex_t lock; /* of current, retired, readers */
    struct held *current;
    struct held *retired;
    struct held *frozen; /* what packs are published on; NULL: whole policies are */
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
    h->weights = (struct weights){p, packed, NULL, now, score};
    return h;
}

static struct held *held_added(const struct held *frozen, const struct graft *g,
                               double now, double score, struct err *e)
{
    struct held *h = calloc(1, sizeof *h);
    if (h) h->pack = graft_pack_new(&g->cfg, e);
    if (!h || !h->pack) {
        free(h);
        err_set(e, ERR_MEMORY, "no memory for new weights");
        return NULL;
    }
    graft_pack_load(h->pack, g, frozen->policy);
    h->weights = (struct weights){frozen->policy, frozen->packed, h->pack, now, score};
    return h;
}

static void held_free(struct held *h)
{
    if (!h) return;
    assert(h->readers == 0);
    graft_pack_free(h->pack);
    packed_free(h->packed);
    policy_free(h->policy);
    free(h);
}

/* Both are taken. */
static struct published *published_make(struct held *current, struct held *frozen,
                                        struct err *e)
{
    struct published *s = calloc(1, sizeof *s);
    if (!s) {
        held_free(current);
        held_free(frozen);
        err_set(e, ERR_MEMORY, "no memory for the weights");
        return NULL;
    }
    pthread_mutex_init(&s->lock, NULL);
    s->current = current;
    s->frozen = frozen;
    return s;
}

struct published *published_new(struct policy *policy, double now, double score,
                                struct err *e)
{
    struct held *h = held_new(policy, now, score, e);
    return h ? published_make(h, NULL, e) : NULL;
}

struct published *published_new_added(struct policy *base, const struct graft *g,
                                      double now, double score, struct err *e)
{
    struct held *frozen = held_new(base, now, score, e);
    struct held *h = frozen ? held_added(frozen, g, now, score, e) : NULL;
    if (h) return published_make(h, frozen, e);
    held_free(frozen);
    return NULL;
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
    held_free(s->frozen);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static void published_enter(struct published *s, struct held *h)
{
    struct held *unused = NULL;
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
}

int published_swap(struct published *s, struct policy *policy, double now, double score,
                   struct err *e)
{
    assert(!s->frozen);
    struct held *h = held_new(policy, now, score, e);
    if (!h) return ERR_MEMORY;
    published_enter(s, h);
    return 0;
}

int published_swap_added(struct published *s, const struct graft *g, double now,
                         double score, struct err *e)
{
    assert(s->frozen);
    struct held *h = held_added(s->frozen, g, now, score, e);
    if (!h) return ERR_MEMORY;
    published_enter(s, h);
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

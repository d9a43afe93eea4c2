#include "serve/session/networks.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "abr/emulator/view.h"
#include "base/siphash.h"
#include "base/table.h"

enum { BUCKETS = 32, ALL_BUCKETS = 256 };
static const double LOW = 0.1; /* the percentile */

/* n: sum of bins */
struct rates {
    int n;
    uint16_t bin[NETWORKS_BINS];
};

struct network {
    uint64_t id;
    struct network *older, *newer; /* by last use */
    struct rates rates;
    uint16_t bucket[BUCKETS]; /* chunks by address */
};

struct networks {
    pthread_mutex_t lock; /* guards the members below */
    struct table *table;  /* id -> struct network */
    struct network *oldest, *newest;
    struct rates all;
    uint16_t bucket[ALL_BUCKETS]; /* chunks by network */
};

struct networks *networks_new(int max, uint64_t seed, struct err *e)
{
    assert(max > 0 && max <= NETWORKS_MAX);
    struct networks *n = calloc(1, sizeof *n);
    if (!n) {
        err_set(e, ERR_MEMORY, "no memory for the networks");
        return NULL;
    }
    pthread_mutex_init(&n->lock, NULL);
    n->table = table_new(max, sizeof(uint64_t), sizeof(struct network), seed, e);
    if (n->table) return n;
    networks_free(n);
    return NULL;
}

void networks_free(struct networks *n)
{
    if (!n) return;
    table_free(n->table);
    pthread_mutex_destroy(&n->lock);
    free(n);
}

uint64_t networks_labelled(uint64_t network, const char *label)
{
    static const uint8_t KEY[SIPHASH_KEY] = {0};
    if (!label[0]) return network;
    uint64_t slot = siphash(KEY, label, strlen(label)) % NETWORKS_LABELS;
    uint64_t both[2] = {network, slot + 1};
    return siphash(KEY, both, sizeof both) | 1; /* 0 is unknown */
}

/* ---- by last use ---- */

static void network_remove(struct networks *n, struct network *w)
{
    *(w->older ? &w->older->newer : &n->oldest) = w->newer;
    *(w->newer ? &w->newer->older : &n->newest) = w->older;
}

static void network_append(struct networks *n, struct network *w)
{
    w->older = n->newest;
    w->newer = NULL;
    *(n->newest ? &n->newest->newer : &n->oldest) = w;
    n->newest = w;
}

static struct network *network_put(struct networks *n, uint64_t id)
{
    bool fresh = false;
    struct network *w = table_put(n->table, &id, &fresh);
    if (!w) {
        uint64_t gone = n->oldest->id;
        network_remove(n, n->oldest);
        table_delete(n->table, &gone);
        w = table_put(n->table, &id, &fresh);
    }
    if (!fresh) network_remove(n, w);
    w->id = id;
    network_append(n, w);
    return w;
}

/* ---- histograms ---- */

static double rates_step(void)
{
    return log(VIEW_KBPS_MAX / VIEW_KBPS_MIN) / NETWORKS_BINS;
}

static int rates_bin(double kbps)
{
    int i = (int)floor(log(kbps / VIEW_KBPS_MIN) / rates_step());
    return i < 0 ? 0 : i >= NETWORKS_BINS ? NETWORKS_BINS - 1 : i;
}

static double rates_low(const struct rates *r)
{
    int i = 0, below = r->bin[0];
    while (i < NETWORKS_BINS - 1 && below <= LOW * r->n)
        below += r->bin[++i];
    return VIEW_KBPS_MIN * exp(i * rates_step());
}

/* Counts a chunk unless its bucket has more than its share. */
static void rates_add(struct rates *r, uint16_t *bucket, int buckets, int own, int most,
                      double share, double kbps)
{
    if (bucket[own] >= fmax(most, share * r->n)) return;
    bucket[own]++;
    r->bin[rates_bin(kbps)]++;
    if (++r->n < NETWORKS_HALVE) return;
    r->n = 0;
    for (int i = 0; i < NETWORKS_BINS; i++)
        r->n += r->bin[i] /= 2;
    for (int i = 0; i < buckets; i++)
        bucket[i] /= 2;
}

void networks_first_chunk(struct networks *n, uint64_t network, uint64_t from,
                          double kbps)
{
    if (!network || !(kbps > 0)) return;
    pthread_mutex_lock(&n->lock);
    struct network *w = network_put(n, network);
    rates_add(&w->rates, w->bucket, BUCKETS, (int)(from % BUCKETS), NETWORKS_FREE, 0.25,
              kbps);
    rates_add(&n->all, n->bucket, ALL_BUCKETS, (int)(network % ALL_BUCKETS),
              NETWORKS_ALL_FREE, 0.1, kbps);
    pthread_mutex_unlock(&n->lock);
}

double networks_start_kbps(struct networks *n, uint64_t network)
{
    if (!network) return 0;
    pthread_mutex_lock(&n->lock);
    const struct network *w = table_get(n->table, &network);
    double kbps = w && w->rates.n >= NETWORKS_ENOUGH ? rates_low(&w->rates)
                  : n->all.n >= NETWORKS_ALL_ENOUGH  ? rates_low(&n->all)
                                                     : 0;
    pthread_mutex_unlock(&n->lock);
    return kbps;
}

int networks_count(struct networks *n)
{
    pthread_mutex_lock(&n->lock);
    int count = table_count(n->table);
    pthread_mutex_unlock(&n->lock);
    return count;
}

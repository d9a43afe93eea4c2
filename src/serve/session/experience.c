#include "serve/session/experience.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/pack.h"
#include "base/text.h"
#include "serve/session/track.h"

enum {
    HEAD = 12, /* magic, checksum */
    LINK_BYTES = 3 * 8,
    SLOT_BYTES = SERVICE_NAME + 8,
    FILE_MAX = HEAD + CAUTION_LINKS * LINK_BYTES + 8 + SERVICE_PROFILE_STATS * SLOT_BYTES,
};
static const char MAGIC[8] = "abrdexp1";

struct experience_seen {
    struct caution_links links;
    struct caution_stalls stalls[SERVICE_PROFILE_STATS];
};

struct experience {
    pthread_mutex_t lock; /* guards seen */
    struct experience_seen seen;
    /* copies for decisions */
    _Atomic double margin[CAUTION_LINKS], lambda[SERVICE_PROFILE_STATS];
};

/* The caller holds the lock. */
static void experience_publish(struct experience *x)
{
    for (int i = 0; i < CAUTION_LINKS; i++)
        atomic_store_explicit(&x->margin[i], x->seen.links.margin[i],
                              memory_order_relaxed);
    for (int i = 0; i < SERVICE_PROFILE_STATS; i++)
        atomic_store_explicit(&x->lambda[i], x->seen.stalls[i].lambda,
                              memory_order_relaxed);
}

struct experience *experience_new(struct err *e)
{
    struct experience *x = calloc(1, sizeof *x);
    if (!x) {
        err_set(e, ERR_MEMORY, "no memory for what was seen of links and stalls");
        return NULL;
    }
    pthread_mutex_init(&x->lock, NULL);
    experience_publish(x);
    return x;
}

void experience_free(struct experience *x)
{
    if (!x) return;
    pthread_mutex_destroy(&x->lock);
    free(x);
}

void experience_apply(struct view *v, struct experience *x, int slot)
{
    struct caution_links links = {0};
    for (int i = 0; i < CAUTION_LINKS; i++)
        links.margin[i] = atomic_load_explicit(&x->margin[i], memory_order_relaxed);
    struct caution_stalls stalls = {
        .lambda = atomic_load_explicit(&x->lambda[slot], memory_order_relaxed)};
    caution_apply(v, &links, &stalls);
}

void experience_outcome(struct experience *x, const struct track_outcome *o,
                        const float *own_forecast)
{
    struct view v = {.chunk_s = o->chunk_s,
                     .ladder_kbps = {o->lowest_kbps},
                     .own_forecast = own_forecast};
    traj_measured_view(&v, &o->before);
    bool stalls = o->followed && !caution_link_bound(&v, o->kbps);

    pthread_mutex_lock(&x->lock);
    if (o->decided && o->kbps > 0)
        caution_download(&x->seen.links, &v, o->kbps, o->bytes);
    if (stalls)
        caution_chunk(&x->seen.stalls[o->slot], o->first ? 0 : o->stall_s, o->chunk_s,
                      o->stall_ratio_max);
    experience_publish(x);
    pthread_mutex_unlock(&x->lock);
}

void experience_slot_gone(struct experience *x, int slot)
{
    pthread_mutex_lock(&x->lock);
    x->seen.stalls[slot] = (struct caution_stalls){0};
    experience_publish(x);
    pthread_mutex_unlock(&x->lock);
}

void experience_stats(struct experience_stats *out, struct experience *x)
{
    pthread_mutex_lock(&x->lock);
    memcpy(out->seen, x->seen.links.seen, sizeof out->seen);
    memcpy(out->missed, x->seen.links.missed, sizeof out->missed);
    memcpy(out->margin, x->seen.links.margin, sizeof out->margin);
    for (int i = 0; i < SERVICE_PROFILE_STATS; i++)
        out->stall_weight[i] = 1 + x->seen.stalls[i].lambda;
    pthread_mutex_unlock(&x->lock);
}

/* ---- the file ---- */

static void pass_links(struct pack *p, struct caution_links *c)
{
    for (int i = 0; i < CAUTION_LINKS; i++) {
        pack_real(p, &c->margin[i]);
        pack_u64(p, &c->seen[i]);
        pack_u64(p, &c->missed[i]);
    }
}

static void pass_slot(struct pack *p, char name[SERVICE_NAME], struct caution_stalls *s)
{
    pack_text(p, name, SERVICE_NAME);
    pack_real(p, &s->lambda);
}

int experience_save(struct experience *x, const char *path, struct profiles *p,
                    struct err *e)
{
    unsigned char bytes[FILE_MAX] = {0};
    pthread_mutex_lock(&x->lock);
    struct experience_seen seen = x->seen;
    pthread_mutex_unlock(&x->lock);

    char name[SERVICE_PROFILE_STATS][SERVICE_NAME];
    int n = 0, at[SERVICE_PROFILE_STATS];
    for (int i = 0; i < SERVICE_PROFILE_STATS; i++)
        if (profiles_slot_name(name[n], p, i)) at[n++] = i;
    struct pack f = pack_writer(bytes + HEAD, sizeof bytes - HEAD);
    pass_links(&f, &seen.links);
    pack_int(&f, &n, 0, SERVICE_PROFILE_STATS);
    for (int i = 0; i < n; i++)
        pass_slot(&f, name[i], &seen.stalls[at[i]]);
    size_t end = pack_done(&f, bytes);
    memcpy(bytes, MAGIC, sizeof MAGIC);
    bytes_put_u32(bytes + 8, bytes_crc32(0, bytes + HEAD, end - HEAD));
    return text_write_file(path, bytes, end, e);
}

static int experience_slot(struct profiles *p, const char *name)
{
    struct profile unused;
    int slot = PROFILES_SLOT_CUSTOM;
    if (!strcmp(name, "custom")) return slot;
    if (profiles_get(&unused, &slot, p, name, NULL) || slot == PROFILES_SLOT_CUSTOM)
        return -1;
    return slot;
}

static int experience_read(struct experience *x, unsigned char *bytes, size_t n,
                           struct profiles *p, struct err *e)
{
    if (n < HEAD || memcmp(bytes, MAGIC, sizeof MAGIC) != 0)
        return err_set(e, ERR_CORRUPT, "is no record of links and stalls");
    if (bytes_get_u32(bytes + 8) != bytes_crc32(0, bytes + HEAD, n - HEAD))
        return err_set(e, ERR_CORRUPT, "its checksum is wrong: the file is damaged");
    struct experience_seen next = x->seen;
    struct pack f = pack_reader(bytes + HEAD, n - HEAD);
    pass_links(&f, &next.links);
    for (int i = 0; i < CAUTION_LINKS; i++)
        next.links.margin[i] = caution_margin(next.links.margin[i]);
    int slots = 0;
    pack_int(&f, &slots, 0, SERVICE_PROFILE_STATS);
    for (int i = 0; i < slots; i++) {
        char name[SERVICE_NAME];
        struct caution_stalls s = {0};
        pass_slot(&f, name, &s);
        bool fits = s.lambda >= 0 && s.lambda <= CAUTION_LAMBDA_MAX;
        int slot = f.ok && fits ? experience_slot(p, name) : -1;
        if (slot >= 0) next.stalls[slot] = s;
        f.ok = f.ok && fits;
    }
    if (!f.ok || !pack_over(&f))
        return err_set(e, ERR_CORRUPT, "its numbers do not fit: the file is damaged");
    x->seen = next;
    return 0;
}

int experience_load(struct experience *x, const char *path, struct profiles *p,
                    struct err *e)
{
    if (access(path, F_OK)) return 0;
    size_t n = 0;
    char *bytes = text_read_file(path, FILE_MAX, &n, e);
    if (!bytes) return ERR_IO;
    struct err why = {0};
    int rc = experience_read(x, (unsigned char *)bytes, n, p, &why);
    free(bytes);
    if (!rc) experience_publish(x);
    return rc ? err_field(e, rc, path, "%s", why.detail) : 0;
}

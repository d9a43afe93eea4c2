#include "serve/players/contents.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abr/manifests/segments.h"
#include "base/bytes.h"

/* A chunk in a resource. Sorted by path and from. */
struct chunk_at {
    uint32_t path; /* CRC of the path, as the daemon is asked for it */
    int32_t chunk;
    int32_t level; /* -1: the levels have one name */
    int64_t from;  /* first byte; -1: the whole resource */
};

struct content {
    int users; /* the table is one */
    struct video *video;
    struct chunk_at *at; /* (n) */
    size_t n;
};

struct place {
    char path[CONTENTS_PATH]; /* "": free */
    uint32_t crc;             /* of the manifest */
    uint64_t used;
    struct addr who;                    /* whose share it counts in; all 0: nobody's */
    int n;                              /* 0: cannot be parsed */
    struct content *one[CONTENTS_SETS]; /* (n) a ladder each */
};

struct contents {
    const struct origins *names;
    pthread_mutex_t lock; /* of what follows, and of users of all contents */
    uint64_t turn;
    int n;
    struct place at[];
};

struct contents *contents_new(int n, const struct origins *names, struct err *e)
{
    struct contents *c = calloc(1, sizeof *c + (size_t)n * sizeof c->at[0]);
    if (!c) {
        err_set(e, ERR_MEMORY, "no memory for %d manifests", n);
        return NULL;
    }
    c->n = n;
    c->names = names;
    pthread_mutex_init(&c->lock, NULL);
    return c;
}

static void content_free(struct content *one)
{
    if (!one) return;
    video_free(one->video);
    free(one->at);
    free(one);
}

void contents_free(struct contents *c)
{
    if (!c) return;
    for (int i = 0; i < c->n; i++)
        for (int k = 0; k < c->at[i].n; k++) {
            assert(c->at[i].one[k]->users == 1);
            content_free(c->at[i].one[k]);
        }
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* ---- parsing a manifest ----
 *
 * The parser shows its list of segments before it asks for the sizes of files. Those are answered with
 * UNKNOWN and estimated afterwards, because the list has the duration of each chunk. */

static const int64_t UNKNOWN = 1; /* byte */

enum { SETS_TRIED = 16 }; /* of a Period; the manifest is parsed anew for each */

struct reading {
    struct contents *contents;
    const struct contents_manifest *manifest;
    const struct segments_source *files; /* NULL: none */
    struct content *one;
    double *duration_s; /* (chunks), owned */
};

static int no_size(void *self, int64_t *bytes, const char *url, struct err *e)
{
    (void)self;
    (void)url;
    (void)e;
    *bytes = UNKNOWN;
    return 0;
}

static char *read_file(void *self, const char *url, int64_t from, size_t max, size_t *len,
                       struct err *e)
{
    struct reading *r = self;
    if (r->files) return r->files->read(r->files->self, url, from, max, len, e);
    err_field(e, ERR_ABSENT, url, "files next to a manifest are not fetched");
    return NULL;
}

static bool found_file(void *self, char url[SEGMENTS_URL])
{
    struct reading *r = self;
    return !r->files || !r->files->found || r->files->found(r->files->self, url);
}

static uint32_t path_crc(const char *path)
{
    return bytes_crc32(0, path, strcspn(path, "?#"));
}

/* False: no origin has the segment. */
static bool segment_crc(uint32_t *crc, const struct reading *r, const char *url)
{
    char joined[SEGMENTS_URL], path[SEGMENTS_URL + ORIGINS_NAME];
    if (!*url || !segments_join(joined, r->manifest->url, url) ||
        !origins_path(path, sizeof path, r->contents->names, joined))
        return false;
    *crc = path_crc(path);
    return true;
}

static int by_place(const void *a, const void *b)
{
    const struct chunk_at *x = a, *y = b;
    if (x->path != y->path) return x->path < y->path ? -1 : 1;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return (x->chunk > y->chunk) - (x->chunk < y->chunk);
}

/* Keeps each resource once. A name that several chunks share identifies none of them. */
static void merge_names(struct content *one)
{
    size_t kept = 0;
    for (size_t i = 0, next; i < one->n; i = next) {
        struct chunk_at a = one->at[i];
        bool same = true;
        for (next = i + 1; next < one->n && one->at[next].path == a.path &&
                           one->at[next].from == a.from;
             next++) {
            same &= one->at[next].chunk == a.chunk;
            a.level = -1;
        }
        if (same) one->at[kept++] = a;
    }
    one->n = kept;
}

static int note_segments(void *self, const struct segments *s, struct err *e)
{
    struct reading *r = self;
    const int chunks = s->level[0].n;
    size_t all = (size_t)chunks * (size_t)s->levels;
    r->one->at = malloc((all + 1) * sizeof *r->one->at);
    r->duration_s = malloc(((size_t)chunks + 1) * sizeof *r->duration_s);
    if (!r->one->at || !r->duration_s)
        return err_set(e, ERR_MEMORY, "no memory for %zu segments", all);
    for (int c = 0; c < chunks; c++) {
        r->duration_s[c] = s->level[0].at[c].duration_s;
        for (int k = 0; k < s->levels; k++) {
            const struct segment *one = &s->level[k].at[c];
            struct chunk_at *at = &r->one->at[r->one->n];
            at->chunk = c;
            at->level = k;
            at->from = one->from;
            r->one->n += segment_crc(&at->path, r, segments_url(s, one->url));
        }
    }
    qsort(r->one->at, r->one->n, sizeof *r->one->at, by_place);
    merge_names(r->one);
    return 0;
}

static void estimate_sizes(struct video *v, const double *duration_s)
{
    for (int c = 0; c < v->chunks; c++)
        for (int k = 0; k < v->levels; k++) {
            int64_t *bytes = &v->bytes[(size_t)c * (size_t)v->levels + (size_t)k];
            if (*bytes == UNKNOWN)
                *bytes = (int64_t)fmin(ceil(v->ladder_kbps[k] * 125 * duration_s[c]),
                                       (double)VIDEO_BYTES_MAX);
        }
}

/* One set of one Period, or of all. */
static struct content *content_read(struct reading *r, int set, int period, struct err *e)
{
    const struct contents_manifest *m = r->manifest;
    struct segments_source source = {.self = r,
                                     .must = true,
                                     .size = no_size,
                                     .read = read_file,
                                     .found = found_file,
                                     .listed = note_segments};
    const struct video_cfg cfg = {
        .set = set, .period = period, .segments = CONTENTS_SIZES, .any_length = true};
    r->one = calloc(1, sizeof *r->one);
    if (!r->one) {
        err_set(e, ERR_MEMORY, "no memory for a manifest");
        return NULL;
    }
    r->one->users = 1;
    r->one->video = video_parse_from(m->text, m->n, m->path, &source, &cfg, e);
    struct content *one = r->one;
    if (one->video) {
        estimate_sizes(one->video, r->duration_s);
    } else {
        content_free(one);
        one = NULL;
    }
    free(r->duration_s);
    r->duration_s = NULL;
    return one;
}

/* Adds the sets of one Period, or of all. What cannot be read is left out; e: the first reason. */
static void read_sets(struct place *p, struct reading *r, int period, struct err *e)
{
    for (int set = 0; p->n < CONTENTS_SETS && set < SETS_TRIED; set++) {
        struct err why = {0};
        struct content *one = content_read(r, set, period, &why);
        if (one) p->one[p->n++] = one;
        if (!one && (set == 0 || why.code != ERR_ABSENT))
            err_field(e, why.code, why.field, "%s", why.detail);
        if (!one && (why.code == ERR_ABSENT || why.code == ERR_MEMORY || set == 0))
            return;
    }
}

/* Periods with different ladders are read one by one. */
static void content_read_all(struct place *p, struct reading *r, struct err *e)
{
    struct err why = {0};
    read_sets(p, r, 0, &why);
    if (!p->n && why.code == ERR_INVALID && r->manifest->text[0] != '#')
        for (int period = 1, before = -1; p->n != before && p->n < CONTENTS_SETS;
             period++) {
            struct err unused = {0};
            before = p->n;
            read_sets(p, r, period, &unused);
        }
    if (!p->n) err_field(e, why.code, why.field, "%s", why.detail);
}

/* ---- the table ---- */

/* The lock is held. */
static struct place *contents_find(struct contents *c, const char *path)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->at[i].path, path) == 0) return &c->at[i];
    return NULL;
}

/* The place for a new manifest: the least recently used one, or that of `who` if it has its share. The
 * lock is held. */
static struct place *contents_place(struct contents *c, const struct addr *who)
{
    static const struct addr nobody;
    struct place *oldest = &c->at[0], *own = NULL;
    int n = 0;
    for (int i = 0; i < c->n; i++) {
        struct place *p = &c->at[i];
        if (p->used < oldest->used) oldest = p;
        if (!addr_equal(&p->who, who)) continue;
        if (!own || p->used < own->used) own = p;
        n++;
    }
    bool full = own && 4 * n >= c->n && !addr_equal(who, &nobody);
    return full ? own : oldest;
}

/* The lock is held. Takes the contents out of the place; the caller frees those returned. */
static int place_release(struct content *last[CONTENTS_SETS], struct place *p)
{
    int n = 0;
    for (int i = 0; i < p->n; i++)
        if (--p->one[i]->users == 0) last[n++] = p->one[i];
    p->n = 0;
    return n;
}

/* 0: known; 1: known, and cannot be parsed; ERR_CONFLICT: another one at this path could not be parsed;
 * ERR_ABSENT. */
static int known_as(struct contents *c, const char *path, uint32_t crc)
{
    int rc = ERR_ABSENT;
    pthread_mutex_lock(&c->lock);
    struct place *p = contents_find(c, path);
    if (p && (p->crc == crc || !p->n)) {
        p->used = ++c->turn;
        rc = p->n ? 0 : 1;
        if (p->crc != crc) rc = ERR_CONFLICT;
    }
    pthread_mutex_unlock(&c->lock);
    return rc;
}

bool contents_known(struct contents *c, const struct contents_manifest *m)
{
    return known_as(c, m->path, bytes_crc32(0, m->text, m->n)) >= 0;
}

int contents_learn(struct contents *c, const struct contents_manifest *m,
                   const struct segments_source *files, struct err *e)
{
    if (!*m->path || strlen(m->path) >= CONTENTS_PATH)
        return err_set(e, ERR_RANGE, "the manifest's path is over %d characters",
                       CONTENTS_PATH - 1);
    uint32_t crc = bytes_crc32(0, m->text, m->n);
    int before = known_as(c, m->path, crc);
    if (before >= 0) return before;
    struct reading r = {.contents = c, .manifest = m, .files = files};
    struct place read = {.n = 0};
    struct err why = {0};
    content_read_all(&read, &r, &why);
    if (!read.n) err_field(e, why.code, why.field, "%s", why.detail);
    if (!read.n && why.code == ERR_IO) return ERR_IO; /* perhaps the next time */

    struct content *old[CONTENTS_SETS];
    pthread_mutex_lock(&c->lock);
    struct place *p = contents_find(c, m->path);
    if (!p) {
        p = contents_place(c, &m->who);
        p->who = m->who;
    }
    int n_old = place_release(old, p);
    snprintf(p->path, sizeof p->path, "%s", m->path);
    p->crc = crc;
    p->used = ++c->turn;
    p->n = read.n;
    memcpy(p->one, read.one, sizeof p->one);
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < n_old; i++)
        content_free(old[i]);
    if (read.n) return 0;
    return before == ERR_CONFLICT ? 1 : ERR_INVALID;
}

/* ---- what a file is ---- */

/* The last entry of the resource that does not begin after `from`; NULL: none. */
static const struct chunk_at *find_chunk(bool *known, const struct content *one,
                                         uint32_t path, int64_t from)
{
    size_t lo = 0, hi = one->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct chunk_at *a = &one->at[mid];
        if (a->path < path || (a->path == path && a->from <= from))
            lo = mid + 1;
        else
            hi = mid;
    }
    *known =
        (lo && one->at[lo - 1].path == path) || (lo < one->n && one->at[lo].path == path);
    return lo && one->at[lo - 1].path == path ? &one->at[lo - 1] : NULL;
}

struct contents_chunk contents_chunk(const struct content *one, const char *path,
                                     int64_t from)
{
    struct contents_chunk out = {-1, -1};
    const struct video *v = one->video;
    bool known;
    const struct chunk_at *a = find_chunk(&known, one, path_crc(path), from);
    if (!known) return out;
    out.number = 0;
    if (!a) return out;
    out.level = a->level;
    int64_t bytes = video_chunk(v, a->chunk)[a->level < 0 ? v->levels - 1 : a->level];
    /* within the chunk: a player may ask for what is left of it */
    if (a->from < 0 || from - a->from < bytes) out.number = a->chunk + 1;
    return out;
}

/* Characters of the manifest's folder, if the path lies in it; else 0. */
static size_t folder_length(const struct place *p, const char *path)
{
    const char *slash = strrchr(p->path, '/');
    size_t n = slash ? (size_t)(slash - p->path) + 1 : 0;
    return n && strncmp(p->path, path, n) == 0 ? n : 0;
}

/* How well it fits a file: it names the file, has a level of its bitrate, and has the ladder of the
 * session. */
static int content_fit(const struct content *one, uint32_t crc, double kbps,
                       uint32_t ladder, bool *named)
{
    const struct video *v = one->video;
    bool has = false;
    for (int k = 0; k < v->levels; k++)
        has |= fabs(v->ladder_kbps[k] - kbps) <= 1 + .01 * kbps;
    (void)find_chunk(named, one, crc, INT64_MAX);
    return 4 * *named + 2 * has + (video_ladder_crc(v) == ladder);
}

struct content *contents_get(struct contents *c, const char *path, double kbps,
                             uint32_t ladder)
{
    struct place *best = NULL;
    struct content *one = NULL;
    size_t best_n = 0;
    int best_fit = 0;
    uint32_t crc = path_crc(path);
    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < c->n; i++) {
        struct place *p = &c->at[i];
        size_t n = folder_length(p, path);
        for (int k = 0; k < p->n; k++) {
            bool named;
            int f = content_fit(p->one[k], crc, kbps, ladder, &named);
            if (!n && !named) continue;
            bool better = !one || n > best_n ||
                          (n == best_n &&
                           (f > best_fit || (f == best_fit && p->used > best->used)));
            if (!better) continue;
            best = p;
            one = p->one[k];
            best_n = n;
            best_fit = f;
        }
    }
    if (one) one->users++;
    if (one) best->used = ++c->turn;
    pthread_mutex_unlock(&c->lock);
    return one;
}

struct content *contents_of(struct contents *c, const char *path)
{
    pthread_mutex_lock(&c->lock);
    struct place *p = contents_find(c, path);
    struct content *one = p && p->n ? p->one[0] : NULL;
    if (one) one->users++;
    if (one) p->used = ++c->turn;
    pthread_mutex_unlock(&c->lock);
    return one;
}

void contents_put(struct contents *c, struct content *one)
{
    if (!one) return;
    pthread_mutex_lock(&c->lock);
    bool last = --one->users == 0;
    pthread_mutex_unlock(&c->lock);
    if (last) content_free(one);
}

const struct video *contents_video(const struct content *one)
{
    return one->video;
}

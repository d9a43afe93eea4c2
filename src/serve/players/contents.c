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

struct content {
    int users; /* the table is one */
    struct video *video;
    uint32_t
        *name; /* (chunks, levels), CRC of the files' names; NULL: they are of no use */
};

struct place {
    char path[CONTENTS_PATH]; /* "": free */
    uint32_t crc;             /* of the manifest */
    uint64_t used;
    struct content *content; /* NULL: cannot be parsed */
};

struct contents {
    pthread_mutex_t lock; /* of what follows, and of users of all contents */
    uint64_t turn;
    int n;
    struct place at[];
};

struct contents *contents_new(int n, struct err *e)
{
    struct contents *c = calloc(1, sizeof *c + (size_t)n * sizeof c->at[0]);
    if (!c) {
        err_set(e, ERR_MEMORY, "no memory for %d manifests", n);
        return NULL;
    }
    c->n = n;
    pthread_mutex_init(&c->lock, NULL);
    return c;
}

static void content_free(struct content *one)
{
    if (!one) return;
    video_free(one->video);
    free(one->name);
    free(one);
}

void contents_free(struct contents *c)
{
    if (!c) return;
    for (int i = 0; i < c->n; i++) {
        assert(!c->at[i].content || c->at[i].content->users == 1);
        content_free(c->at[i].content);
    }
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* ---- parsing a manifest ----
 *
 * The parser asks a source for the size of every file (segments.h), level by level, chunk after chunk.
 * This source notes the names of the files, and the sizes are estimated afterwards. */

static const int64_t UNKNOWN = 1; /* byte */

struct names {
    uint32_t *crc;
    size_t n, cap;
};

static uint32_t file_name_crc(const char *url)
{
    size_t n = strcspn(url, "?#");
    const char *file = url;
    for (size_t i = 0; i < n; i++)
        if (url[i] == '/') file = url + i + 1;
    return bytes_crc32(0, file, n - (size_t)(file - url));
}

static int note_name(void *self, int64_t *bytes, const char *url, struct err *e)
{
    struct names *l = self;
    if (l->n == CONTENTS_SIZES)
        return err_set(e, ERR_RANGE, "more than %d segments", CONTENTS_SIZES);
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 1024;
        uint32_t *more = realloc(l->crc, cap * sizeof *more);
        if (!more) return err_set(e, ERR_MEMORY, "no memory for %zu names", cap);
        l->crc = more;
        l->cap = cap;
    }
    l->crc[l->n++] = file_name_crc(url);
    *bytes = UNKNOWN;
    return 0;
}

static char *read_nothing(void *self, const char *url, int64_t from, size_t max,
                          size_t *len, struct err *e)
{
    (void)self;
    (void)from;
    (void)max;
    (void)len;
    err_field(e, ERR_ABSENT, url, "files next to a manifest are not fetched");
    return NULL;
}

static void estimate_sizes(struct video *v)
{
    for (int c = 0; c < v->chunks; c++)
        for (int k = 0; k < v->levels; k++) {
            int64_t *bytes = &v->bytes[(size_t)c * (size_t)v->levels + (size_t)k];
            if (*bytes == UNKNOWN)
                *bytes = (int64_t)fmin(ceil(v->ladder_kbps[k] * 125 * v->chunk_s),
                                       (double)VIDEO_BYTES_MAX);
        }
}

/* Is there one name for each chunk of each level, rather than one file with all chunks? */
static bool names_are_useful(const struct names *l, const struct video *v)
{
    size_t levels = (size_t)v->levels;
    return l->n == (size_t)v->chunks * levels && l->n > levels &&
           l->crc[0] != l->crc[levels];
}

static struct content *content_read(const char *path, const char *text, size_t n,
                                    struct err *e)
{
    struct names names = {0};
    struct segments_source source = {
        .self = &names, .must = true, .size = note_name, .read = read_nothing};
    struct content *one = calloc(1, sizeof *one);
    if (!one) {
        err_set(e, ERR_MEMORY, "no memory for a manifest");
        return NULL;
    }
    one->users = 1;
    one->video = video_parse_from(text, n, path, &source, NULL, e);
    if (!one->video) goto fail;
    if ((int64_t)one->video->chunks * one->video->levels > CONTENTS_SIZES) {
        err_set(e, ERR_RANGE, "more than %d segments", CONTENTS_SIZES);
        goto fail;
    }
    estimate_sizes(one->video);
    if (names_are_useful(&names, one->video)) {
        one->name = names.crc;
        return one;
    }
    free(names.crc);
    return one;
fail:
    free(names.crc);
    content_free(one);
    return NULL;
}

/* ---- the table ---- */

/* The lock is held. */
static struct place *contents_find(struct contents *c, const char *path)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->at[i].path, path) == 0) return &c->at[i];
    return NULL;
}

static struct place *contents_oldest(struct contents *c)
{
    struct place *p = &c->at[0];
    for (int i = 1; i < c->n; i++)
        if (c->at[i].used < p->used) p = &c->at[i];
    return p;
}

/* The lock is held. The caller frees what is returned. */
static struct content *content_release(struct content *one)
{
    return one && --one->users == 0 ? one : NULL;
}

/* 0: known; 1: known, and cannot be parsed; ERR_CONFLICT: another one at this path could not be parsed;
 * ERR_ABSENT. */
static int contents_known(struct contents *c, const char *path, uint32_t crc)
{
    int rc = ERR_ABSENT;
    pthread_mutex_lock(&c->lock);
    struct place *p = contents_find(c, path);
    if (p && (p->crc == crc || !p->content)) {
        p->used = ++c->turn;
        rc = p->content ? 0 : 1;
        if (p->crc != crc) rc = ERR_CONFLICT;
    }
    pthread_mutex_unlock(&c->lock);
    return rc;
}

int contents_learn(struct contents *c, const char *path, const char *text, size_t n,
                   struct err *e)
{
    if (!*path || strlen(path) >= CONTENTS_PATH)
        return err_set(e, ERR_RANGE, "the manifest's path is over %d characters",
                       CONTENTS_PATH - 1);
    uint32_t crc = bytes_crc32(0, text, n);
    int before = contents_known(c, path, crc);
    if (before >= 0) return before;
    struct content *one = content_read(path, text, n, e);

    pthread_mutex_lock(&c->lock);
    struct place *p = contents_find(c, path);
    if (!p) p = contents_oldest(c);
    struct content *old = content_release(p->content);
    snprintf(p->path, sizeof p->path, "%s", path);
    p->crc = crc;
    p->used = ++c->turn;
    p->content = one;
    pthread_mutex_unlock(&c->lock);
    content_free(old);
    if (one) return 0;
    return before == ERR_CONFLICT ? 1 : ERR_INVALID;
}

/* Characters of the manifest's folder, if the path lies in it; else 0. */
static size_t folder_length(const struct place *p, const char *path)
{
    const char *slash = p->content ? strrchr(p->path, '/') : NULL;
    size_t n = slash ? (size_t)(slash - p->path) + 1 : 0;
    return n && strncmp(p->path, path, n) == 0 ? n : 0;
}

/* How well a manifest fits a file: it names the file, has a level of its bitrate, and has the ladder of
 * the session. */
static int content_fit(const struct content *one, const char *path, double kbps,
                       uint32_t ladder)
{
    const struct video *v = one->video;
    bool has = false;
    for (int k = 0; k < v->levels; k++)
        has |= fabs(v->ladder_kbps[k] - kbps) <= 1 + .01 * kbps;
    bool same_ladder = video_ladder_crc(v) == ladder;
    return 4 * (contents_number(one, path) > 0) + 2 * has + same_ladder;
}

struct content *contents_get(struct contents *c, const char *path, double kbps,
                             uint32_t ladder)
{
    struct place *best = NULL;
    size_t best_n = 0;
    int best_fit = 0;
    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < c->n; i++) {
        struct place *p = &c->at[i];
        size_t n = folder_length(p, path);
        if (!n || n < best_n) continue;
        int f = content_fit(p->content, path, kbps, ladder);
        bool better =
            n > best_n || f > best_fit || (f == best_fit && p->used > best->used);
        if (!better) continue;
        best = p;
        best_n = n;
        best_fit = f;
    }
    struct content *one = best ? best->content : NULL;
    if (one) one->users++;
    if (one) best->used = ++c->turn;
    pthread_mutex_unlock(&c->lock);
    return one;
}

void contents_put(struct contents *c, struct content *one)
{
    if (!one) return;
    pthread_mutex_lock(&c->lock);
    struct content *last = content_release(one);
    pthread_mutex_unlock(&c->lock);
    content_free(last);
}

const struct video *contents_video(const struct content *one)
{
    return one->video;
}

int contents_number(const struct content *one, const char *file)
{
    uint32_t crc = file_name_crc(file);
    size_t levels = (size_t)one->video->levels;
    size_t n = one->name ? (size_t)one->video->chunks * levels : 0;
    for (size_t i = 0; i < n; i++)
        if (one->name[i] == crc) return (int)(i / levels) + 1;
    return -1;
}

#include "abr/manifests/segments.h"

#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- a folder ---- */

/* False for names that leave the manifest's folder: URLs, absolute paths, and any "..". */
static bool stays_inside(const char *path)
{
    if (*path == '/' || strchr(path, ':') || strchr(path, '?')) return false;
    for (const char *s = path; (s = strstr(s, "..")); s += 2)
        if ((s == path || s[-1] == '/') && (s[2] == '/' || !s[2])) return false;
    return true;
}

static bool file_path(char *out, size_t n, const char *dir, const char *url)
{
    return stays_inside(url) && snprintf(out, n, "%s/%s", dir, url) < (int)n;
}

static int folder_size(void *self, int64_t *bytes, const char *url, struct err *e)
{
    (void)e;
    char path[4096 + SEGMENTS_URL];
    struct stat st;
    if (!file_path(path, sizeof path, self, url) || stat(path, &st) ||
        !S_ISREG(st.st_mode))
        return ERR_ABSENT;
    *bytes = (int64_t)st.st_size;
    return 0;
}

static char *folder_read(void *self, const char *url, int64_t from, size_t max,
                         size_t *len, struct err *e)
{
    int64_t size;
    char path[4096 + SEGMENTS_URL], *text = NULL;
    if (folder_size(self, &size, url, e)) {
        err_field(e, ERR_ABSENT, url, "there is no such file beside the manifest");
        return NULL;
    }
    if (!file_path(path, sizeof path, self, url)) return NULL;
    FILE *f = fopen(path, "rb");
    if (!f || fseeko(f, (off_t)from, SEEK_SET)) {
        err_field(e, ERR_IO, url, "%s", strerror(errno));
        goto out;
    }
    if (from + (int64_t)max > size) max = from < size ? (size_t)(size - from) : 0;
    text = malloc(max + 1);
    if (!text) {
        err_set(e, ERR_MEMORY, "no memory for %zu bytes of %.60s", max, url);
        goto out;
    }
    *len = fread(text, 1, max, f);
    text[*len] = '\0';
out:
    if (f) fclose(f);
    return text;
}

struct segments_source segments_folder(const char *dir)
{
    return (struct segments_source){
        .self = (void *)(uintptr_t)dir, .size = folder_size, .read = folder_read};
}

/* ---- the list ---- */

int segments_level(struct segments *s, const char *id, double kbps, struct err *e)
{
    if (s->levels == VIEW_LEVELS)
        return text_refuse(s->name, 0, ERR_RANGE, e, "more than %d levels of video",
                           VIEW_LEVELS);
    struct segments_level *l = &s->level[s->levels];
    *l = (struct segments_level){
        .kbps = kbps, .init = SEGMENTS_NONE, .playlist = SEGMENTS_NONE};
    text_clean(l->id, sizeof l->id, id);
    return s->levels++;
}

/* Consecutive URLs are often equal and are then stored once. */
static int keep_url(size_t *out, struct segments *s, const char *url, size_t before,
                    struct err *e)
{
    size_t n = strlen(url) + 1;
    *out = before;
    if (s->text_len && !strcmp(s->text + before, url)) return 0;
    if (s->most && s->text_len + n > (size_t)s->most * SEGMENTS_URL_MEAN)
        return text_refuse(s->name, 0, ERR_RANGE, e, "more than %zu bytes of URLs",
                           (size_t)s->most * SEGMENTS_URL_MEAN);
    if (s->text_len + n > s->text_cap) {
        size_t cap = 2 * (s->text_len + n) + 256;
        char *more = realloc(s->text, cap);
        if (!more) return err_set(e, ERR_MEMORY, "no memory for %zu bytes of URLs", cap);
        s->text = more;
        s->text_cap = cap;
    }
    *out = s->text_len;
    memcpy(s->text + s->text_len, url, n);
    s->text_len += n;
    return 0;
}

const char *segments_url(const struct segments *s, size_t at)
{
    return s->text + at;
}

int segments_keep(struct segments *s, size_t *at, const char *url, struct err *e)
{
    return keep_url(at, s, url, 0, e);
}

int segments_add(struct segments *s, int level, double duration_s, int64_t bytes,
                 const char *url, struct err *e)
{
    struct segments_level *l = &s->level[level];
    bool full = s->most && s->n == s->most;
    if (full || l->n == VIDEO_CHUNKS_MAX)
        return text_refuse(s->name, 0, ERR_RANGE, e, "more than %d segments",
                           full ? s->most : VIDEO_CHUNKS_MAX);
    if (l->n == l->cap) {
        int cap = l->cap ? 2 * l->cap : 64;
        struct segment *more = realloc(l->at, (size_t)cap * sizeof *more);
        if (!more) return err_set(e, ERR_MEMORY, "no memory for %d segments", cap);
        l->at = more;
        l->cap = cap;
    }
    struct segment *one = &l->at[l->n];
    *one = (struct segment){
        .duration_s = duration_s, .bytes = bytes, .from = -1, .points = -1.0F};
    int rc = keep_url(&one->url, s, url, l->n ? one[-1].url : 0, e);
    if (rc) return rc;
    l->n++;
    s->n++;
    return 0;
}

void segments_begins(struct segments *s, int level, int64_t from)
{
    struct segments_level *l = &s->level[level];
    l->at[l->n - 1].from = from;
}

int segments_rate(struct segments *s, int level, const double *points, int n,
                  struct err *e)
{
    struct segments_level *l = &s->level[level];
    if (n != 1 && n < l->n - 1)
        return err_set(e, ERR_INVALID, "%d numbers of quality for %d segments", n, l->n);
    for (int i = 0; i < n; i++)
        if (!(points[i] >= 0.0 && points[i] <= QUALITY_MAX))
            return err_set(e, ERR_RANGE, "a quality of %g is not within 0 .. %g",
                           points[i], QUALITY_MAX);
    for (int i = 0; i < l->n; i++)
        l->at[i].points = (float)points[i < n ? i : n - 1];
    return 0;
}

static int by_rate(const void *a, const void *b)
{
    const struct segments_level *x = a, *y = b;
    return (x->kbps > y->kbps) - (x->kbps < y->kbps);
}

void segments_sort(struct segments *s)
{
    qsort(s->level, (size_t)s->levels, sizeof s->level[0], by_rate);
}

int segments_append(struct segments *to, const struct segments *from, struct err *e)
{
    bool same = to->levels == from->levels;
    for (int k = 0; same && k < to->levels; k++)
        same = fabs(to->level[k].kbps - from->level[k].kbps) <= 1e-3 * to->level[k].kbps;
    if (!same)
        return text_refuse(to->name, 0, ERR_INVALID, e,
                           "its periods have different ladders, and a video has one: "
                           "convert them one by one");
    to->periods++;
    for (int k = 0; k < to->levels; k++)
        for (int i = 0; i < from->level[k].n; i++) {
            const struct segment *one = &from->level[k].at[i];
            int rc = segments_add(to, k, one->duration_s, one->bytes,
                                  from->text + one->url, e);
            if (rc) return rc;
            to->level[k].at[to->level[k].n - 1].points = one->points;
            segments_begins(to, k, one->from);
        }
    return 0;
}

void segments_free(struct segments *s)
{
    for (int k = 0; k < s->levels; k++)
        free(s->level[k].at);
    free(s->text);
    *s = (struct segments){0};
}

/* ---- addresses ---- */

/* The parts of a URL or relative reference by RFC 3986, appendix B. The parts have no NUL. */
struct parts {
    const char *scheme, *authority, *path, *query, *fragment;
    /* with the ":" of the scheme, the "//" of the authority and the "?" of the query */
    int scheme_len, authority_len, path_len, query_len;
};

static struct parts segments_cut(const char *s)
{
    static const char scheme[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                 "0123456789+-.";
    struct parts u = {.scheme = s};
    size_t n = strspn(s, scheme);
    if (s[n] == ':' && isalpha((unsigned char)*s)) u.scheme_len = (int)n + 1;
    u.authority = u.scheme + u.scheme_len;
    if (!strncmp(u.authority, "//", 2))
        u.authority_len = 2 + (int)strcspn(u.authority + 2, "/?#");
    u.path = u.authority + u.authority_len;
    u.path_len = (int)strcspn(u.path, "?#");
    u.query = u.path + u.path_len;
    u.query_len = (int)strcspn(u.query, "#");
    u.fragment = u.query + u.query_len;
    return u;
}

/* RFC 3986, 5.2.4, in place. Differs: a path may be relative, and a ".." that leads out of it stays
 * at its front. */
static void remove_dot_segments(char *path)
{
    bool rooted = *path == '/';
    char *least = path + rooted, *out = least; /* least: no ".." takes what is before */
    for (const char *in = least; *in;) {
        size_t name = strcspn(in, "/"), len = name + (in[name] == '/');
        bool one = name == 1 && *in == '.', two = name == 2 && !strncmp(in, "..", 2);
        if (two && out > least) {
            do
                out--;
            while (out > least && out[-1] != '/');
        } else if (!one && !(two && rooted)) {
            memmove(out, in, len);
            out += len;
            if (two) least = out;
        }
        in += len;
    }
    *out = '\0';
}

/* The path of a reference without scheme and authority (5.2.3). An empty path gives the base's path;
 * otherwise it replaces what follows the base's last '/'. False when it is too long. */
static bool merge(char out[SEGMENTS_URL], const struct parts *base,
                  const struct parts *ref)
{
    int keep = *ref->path == '/' ? 0 : base->path_len;
    while (ref->path_len && keep && base->path[keep - 1] != '/')
        keep--;
    bool top = ref->path_len && base->authority_len && !base->path_len; /* of a server */
    const char *between = top && *ref->path != '/' ? "/" : "";
    return snprintf(out, SEGMENTS_URL, "%.*s%s%.*s", keep, base->path, between,
                    ref->path_len, ref->path) < SEGMENTS_URL;
}

/* RFC 3986, 5.2.2. */
bool segments_join(char out[SEGMENTS_URL], const char *base, const char *ref)
{
    static const struct parts nothing = {.path = ""};
    const struct parts b = segments_cut(base), r = segments_cut(ref);
    bool relative = !r.scheme_len && !r.authority_len;
    const struct parts *scheme = r.scheme_len ? &r : &b;
    const struct parts *authority = relative ? &b : &r;
    const struct parts *query = relative && !r.path_len && !r.query_len ? &b : &r;
    char path[SEGMENTS_URL];
    if (!merge(path, relative ? &b : &nothing, &r)) return false;
    remove_dot_segments(path);
    /* "./" keeps a first segment such as "a:b" from being read as a scheme */
    bool guard =
        !scheme->scheme_len && !authority->authority_len && segments_cut(path).scheme_len;
    return snprintf(out, SEGMENTS_URL, "%.*s%.*s%s%s%.*s%s", scheme->scheme_len,
                    scheme->scheme, authority->authority_len, authority->authority,
                    guard ? "./" : "", path, query->query_len, query->query,
                    r.fragment) < SEGMENTS_URL;
}

/* ---- the video ---- */

/* A player changes levels between chunks, so the chunks of all levels must begin together. */
static int check_aligned(const struct segments *s, struct err *e)
{
    if (s->levels < 2)
        return text_refuse(s->name, 0, ERR_RANGE, e, "%d levels of video, 2 needed",
                           s->levels);
    const struct segments_level *first = &s->level[0];
    for (int k = 1; k < s->levels; k++) {
        const struct segments_level *l = &s->level[k];
        if (l->n != first->n)
            return text_refuse(s->name, 0, ERR_INVALID, e,
                               "'%.40s' has %d segments and '%.40s' has %d: levels must "
                               "be aligned",
                               l->id, l->n, first->id, first->n);
        for (int i = 0; i < l->n; i++)
            if (fabs(l->at[i].duration_s - first->at[i].duration_s) >
                .1 + .1 * first->at[i].duration_s)
                return text_refuse(s->name, 0, ERR_INVALID, e,
                                   "segment %d of '%.40s' lasts %.2f s and that of "
                                   "'%.40s' %.2f s: levels must be aligned",
                                   i, l->id, l->at[i].duration_s, first->id,
                                   first->at[i].duration_s);
    }
    return 0;
}

/* Bytes of a segment. ERR_ABSENT without a message when they are unknown. */
static int find_size(int64_t *out, const struct segments *s, int level, int chunk,
                     const struct segments_source *source, struct err *e)
{
    const struct segment *one = &s->level[level].at[chunk];
    *out = one->bytes;
    if (one->bytes >= 0) return 0;
    const char *url = s->text + one->url;
    return source && *url ? source->size(source->self, out, url, e) : ERR_ABSENT;
}

/* Number of chunks: in a folder, how many files of the first level exist without a gap. 0: no size is
 * known. */
static int count_sized(int *n, const struct segments *s,
                       const struct segments_source *source, struct err *e)
{
    int64_t bytes;
    int rc = 0;
    *n = source && source->must ? s->level[0].n : 0;
    while (*n < s->level[0].n && !(rc = find_size(&bytes, s, 0, *n, source, e)))
        ++*n;
    return rc == ERR_ABSENT ? 0 : rc;
}

static double chunk_length_s(const struct segments_level *l)
{
    int whole_ones = l->n > 1 ? l->n - 1 : 1; /* the last may be a rest */
    double sum = 0.0;
    for (int i = 0; i < whole_ones; i++)
        sum += l->at[i].duration_s;
    return sum / whole_ones;
}

static int64_t estimate(const struct segments_level *l, int chunk)
{
    double bytes = ceil(l->kbps * 125.0 * l->at[chunk].duration_s);
    return (int64_t)fmin(bytes, (double)VIDEO_BYTES_MAX + 1.0);
}

static int segments_fill(struct video *v, const struct segments *s, bool sized,
                         const struct segments_source *source, struct err *e)
{
    int64_t *at = v->bytes;
    for (int c = 0; c < v->chunks; c++)
        for (int k = 0; k < v->levels; k++, at++) {
            *at = estimate(&s->level[k], c);
            int rc = sized ? find_size(at, s, k, c, source, e) : 0;
            if (rc == ERR_ABSENT)
                return err_field(
                    e, ERR_ABSENT, s->name,
                    "the file of segment %d of '%.40s' is missing, and those "
                    "of '%.40s' are there",
                    c, s->level[k].id, s->level[0].id);
            if (rc) return rc;
            double share = (double)(at - v->bytes) / ((double)v->chunks * v->levels);
            if (source && source->progress && source->progress(source->self, share))
                return err_set(e, ERR_IO, "stopped");
        }
    return 0;
}

/* Only what every segment of every level states is of use: decisions compare levels. */
static enum quality_source segments_quality(const struct segments *s, int chunks)
{
    bool stated = true, constant = true;
    for (int k = 0; k < s->levels; k++)
        for (int c = 0; c < chunks; c++) {
            float points = s->level[k].at[c].points, first = s->level[k].at[0].points;
            stated &= points >= 0.0F;
            constant &= !(points < first) && !(points > first);
        }
    if (!stated) return QUALITY_CURVE;
    return constant ? QUALITY_LEVEL : QUALITY_CHUNK;
}

static int segments_fill_quality(struct video *v, const struct segments *s, struct err *e)
{
    for (int k = 0; k < v->levels; k++)
        v->heights[k] = s->level[k].height;
    enum quality_source from = segments_quality(s, v->chunks);
    double points[VIEW_LEVELS];
    for (int k = 0; k < v->levels; k++)
        points[k] = (double)s->level[k].at[0].points;
    if (from == QUALITY_LEVEL) video_set_levels(v, points);
    if (from != QUALITY_CHUNK) return 0;
    int rc = video_make_points(v, e);
    float *at = v->points;
    for (int c = 0; c < v->chunks && !rc; c++)
        for (int k = 0; k < v->levels; k++)
            *at++ = s->level[k].at[c].points;
    return rc;
}

struct video *segments_video(struct segments *s, const struct segments_source *source,
                             struct err *e)
{
    segments_sort(s);
    int sized = 0;
    if (check_aligned(s, e)) return NULL;
    if (source && source->listed && source->listed(source->self, s, e)) return NULL;
    if (!s->level[0].n) {
        text_refuse(s->name, 0, ERR_INVALID, e, "no segments");
        return NULL;
    }
    if (count_sized(&sized, s, source, e)) return NULL;

    double ladder[VIEW_LEVELS];
    for (int k = 0; k < s->levels; k++)
        ladder[k] = s->level[k].kbps;
    struct video *v = video_new(s->levels, sized ? sized : s->level[0].n,
                                chunk_length_s(&s->level[0]), ladder, e);
    for (int k = 0; v && k < s->levels; k++)
        v->peak_kbps[k] = s->level[k].peak_kbps;
    if (v) {
        v->live = s->live;
        v->sound = s->sound;
    }
    if (v &&
        (segments_fill(v, s, sized > 0, source, e) || segments_fill_quality(v, s, e))) {
        video_free(v);
        v = NULL;
    }
    return v;
}

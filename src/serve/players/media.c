#include "serve/players/media.h"

#include "abr/traces/gen.h"
#include "base/clock.h"
#include "base/field.h"
#include "serve/wire/emit.h"
#include "serve/wire/wire.h"
#include "serve/http/range.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PACKET = 1448, POLL_MS = 5, NAME_MAX_LEN = 100, FILES_LISTED = 200, BROKEN = 64 };

static const char UNLIMITED[] = "unlimited";
static const char EXTRA_KIND[] = "volatile-low"; /* gen.h keeps it out of gen_kinds */

/* ---- one link ---- */

/* The first row whose slot ends after `at`; n when none does. */
static int trace_row(const struct trace *t, double at)
{
    int lo = 1, hi = t->n;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (t->time_s[mid] > at)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* Bytes from `from` to `to`, both on the trace's own time scale. */
static double trace_bytes(const struct trace *t, double from, double to)
{
    double bytes = 0.0;
    for (int i = trace_row(t, from); i < t->n && t->time_s[i - 1] < to; i++) {
        double begin = fmax(t->time_s[i - 1], from), end = fmin(t->time_s[i], to);
        bytes += t->mbps[i] * 1e6 / 8.0 * (end - begin);
    }
    return bytes;
}

double media_carries(const struct trace *t, double from_s, double to_s)
{
    assert(from_s >= 0.0 && to_s >= from_s);
    double first = t->time_s[0], last = t->time_s[t->n - 1], round_s = last - first;
    double rounds = floor(to_s / round_s) - floor(from_s / round_s);
    double from = first + fmod(from_s, round_s), to = first + fmod(to_s, round_s);

    if (rounds < 1.0) return trace_bytes(t, from, to);
    double bytes = trace_bytes(t, from, last) + trace_bytes(t, first, to);
    if (rounds > 1.0) bytes += (rounds - 1.0) * trace_bytes(t, first, last);
    return bytes;
}

/* Factor of the link from at_s on; *until: when the next change is due. */
static double factor_at(double *until, const struct media_changes *c, double at_s)
{
    int i = 0;
    while (i < c->n && c->at_s[i] <= at_s)
        i++;
    *until = i < c->n ? c->at_s[i] : (double)INFINITY;
    return i ? c->factor[i - 1] : 1.0;
}

double media_link_carries(const struct media_link *l, double from_s, double to_s)
{
    double bytes = 0.0, from = l->changes.from_s;
    for (double at = from_s, until; at < to_s; at = until) {
        double factor = factor_at(&until, &l->changes, at);
        if (until > to_s) until = to_s;
        if (factor > 0.0)
            bytes += factor * media_carries(l->trace, from + at, from + until);
    }
    return bytes;
}

void media_link_init(struct media_link *l, const struct trace *t, double rtt_s,
                     double now_s)
{
    *l = (struct media_link){.trace = t, .rtt_s = rtt_s, .start_s = now_s, .at_s = now_s};
}

double media_link_begin(struct media_link *l, double now_s)
{
    double first_s = now_s + l->rtt_s;
    if (l->active++ == 0) {
        l->at_s = first_s;
        l->credit = 0.0;
    }
    return first_s;
}

int64_t media_link_allow(struct media_link *l, double now_s, int64_t want)
{
    assert(l->active > 0);
    if (want <= 0 || now_s < l->at_s) return 0;
    if (!l->trace) {
        double until;
        return factor_at(&until, &l->changes, now_s - l->start_s) > 0.0 ? want : 0;
    }

    l->credit += media_link_carries(l, l->at_s - l->start_s, now_s - l->start_s);
    l->at_s = now_s;
    int64_t least = want < PACKET ? want : PACKET;
    if (l->credit < (double)least) return 0;

    int64_t n = l->credit < (double)want ? (int64_t)l->credit : want;
    l->credit -= (double)n;
    return n;
}

void media_link_end(struct media_link *l)
{
    assert(l->active > 0);
    l->active--;
}

/* ---- viewers ---- */

struct viewer {
    char link[NAME_MAX_LEN + 1], name[NAME_MAX_LEN + 1]; /* link "" = free place */
    struct trace *trace;                                 /* owned; NULL = unlimited */
    struct media_link state;
    double used_s;
    struct occupancy *held; /* counts it while requests are under way; NULL: none */
    struct addr who;        /* the address that it counts for */
};

/* A file that is not a trace. */
struct broken {
    char link[NAME_MAX_LEN + 1];
    struct stat st; /* another state of the file is read again */
};

struct media {
    struct media_cfg cfg;
    char *dir, *traces;
    pthread_mutex_t lock; /* of what follows, and all that is in it */
    struct viewer *viewer;
    struct broken broken[BROKEN]; /* number i lies at i % BROKEN */
    unsigned n_broken;
};

static double media_now(const struct media *m)
{
    return m->cfg.clock ? m->cfg.clock(m->cfg.clock_ctx) : clock_mono();
}

struct media *media_new(const struct media_cfg *cfg, struct err *e)
{
    assert(cfg->viewers > 0);
    struct media *m = calloc(1, sizeof *m);
    if (!m) goto memory;
    m->cfg = *cfg;
    pthread_mutex_init(&m->lock, NULL);
    m->viewer = calloc((size_t)cfg->viewers, sizeof *m->viewer);
    m->dir = strdup(cfg->dir ? cfg->dir : "");
    m->traces = strdup(cfg->traces ? cfg->traces : "");
    if (!m->viewer || !m->dir || !m->traces) goto memory;
    return m;
memory:
    media_free(m);
    err_set(e, ERR_MEMORY, "no memory for %d viewers", cfg->viewers);
    return NULL;
}

void media_free(struct media *m)
{
    if (!m) return;
    for (int i = 0; m->viewer && i < m->cfg.viewers; i++) {
        assert(m->viewer[i].state.active == 0);
        trace_free(m->viewer[i].trace);
    }
    pthread_mutex_destroy(&m->lock);
    free(m->viewer);
    free(m->dir);
    free(m->traces);
    free(m);
}

static bool name_ok(const char *s)
{
    static const char harmless[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t n = strlen(s);
    return n > 0 && n <= NAME_MAX_LEN && s[0] != '.' && strspn(s, harmless) == n;
}

static bool is_kind(const char *link)
{
    for (int i = 0; gen_kinds[i]; i++)
        if (strcmp(gen_kinds[i], link) == 0) return true;
    return strcmp(link, EXTRA_KIND) == 0;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static bool broken_known(struct media *m, const char *link, const struct stat *st)
{
    bool known = false;
    pthread_mutex_lock(&m->lock);
    for (unsigned i = 0; i < BROKEN && !known; i++)
        known = strcmp(m->broken[i].link, link) == 0 && same_file(&m->broken[i].st, st);
    pthread_mutex_unlock(&m->lock);
    return known;
}

static void broken_add(struct media *m, const char *link, const struct stat *st)
{
    pthread_mutex_lock(&m->lock);
    struct broken *b = NULL;
    for (unsigned i = 0; i < BROKEN && !b; i++)
        if (strcmp(m->broken[i].link, link) == 0) b = &m->broken[i];
    if (!b) b = &m->broken[m->n_broken++ % BROKEN];
    snprintf(b->link, sizeof b->link, "%s", link);
    b->st = *st;
    pthread_mutex_unlock(&m->lock);
}

/* The trace behind a link's name; *out stays NULL for the one without limit. */
static int link_trace(struct trace **out, struct media *m, const char *link,
                      struct err *e)
{
    *out = NULL;
    if (strcmp(link, UNLIMITED) == 0) return 0;
    if (is_kind(link)) {
        *out = gen_trace(link, m->cfg.seconds, m->cfg.seed, 0, e);
    } else {
        char path[4096];
        int n = snprintf(path, sizeof path, "%s/%s", m->traces, link);
        struct stat st; /* before reading: a change meanwhile makes another state */
        bool there = m->traces[0] && n < (int)sizeof path && stat(path, &st) == 0 &&
                     access(path, R_OK) == 0;
        if (!there)
            return err_field(e, ERR_ABSENT, "link", "no link \"%s\"; see /demo/links",
                             link);
        if (!broken_known(m, link, &st)) {
            struct err why = {0};
            *out = trace_load(path, &why);
            if (*out) return 0;
            broken_add(m, link, &st);
            /* the error quotes the file, and the demo may not publish that file */
            log_event(m->cfg.log, LOG_WARN, "demo",
                      "%s is not a trace and is left out of the links", link);
            log_err(m->cfg.log, LOG_DEBUG, "demo", &why);
        }
        return err_field(e, ERR_ABSENT, "link", "\"%s\" is not readable as a trace",
                         link);
    }
    return *out ? 0 : ERR_INVALID;
}

/* The viewer's place, or NULL. The lock is held. */
static struct viewer *viewer_find(struct media *m, const char *link, const char *name)
{
    for (int i = 0; i < m->cfg.viewers; i++) {
        struct viewer *v = &m->viewer[i];
        if (v->link[0] && strcmp(v->link, link) == 0 && strcmp(v->name, name) == 0)
            return v;
    }
    return NULL;
}

static bool viewer_of(const struct viewer *v, const struct addr *who)
{
    struct addr a = addr_subscriber(&v->who), b = addr_subscriber(who);
    return v->link[0] && addr_equal(&a, &b);
}

/* Places of the address, also idle ones. The lock is held. */
static int viewers_of(const struct media *m, const struct addr *who)
{
    int n = 0;
    for (int i = 0; i < m->cfg.viewers; i++)
        n += viewer_of(&m->viewer[i], who);
    return n;
}

/* A free place, else an idle one, else NULL. An address that has its share gives up one of its own. Another
 * one gets that of an address with more than its share, else the one idle longest. The lock is held. */
static struct viewer *viewer_place(struct media *m, const struct media_question *q)
{
    struct viewer *place = NULL;
    bool full = q->held && viewers_of(m, &q->who) >= q->most, place_over = false;
    for (int i = 0; i < m->cfg.viewers; i++) {
        struct viewer *v = &m->viewer[i];
        if (!v->link[0]) return v;
        if (v->state.active > 0 || (full && !viewer_of(v, &q->who))) continue;
        bool over = q->held && viewers_of(m, &v->who) > q->most;
        bool older = !place || v->used_s < place->used_s;
        if (over < place_over || (over == place_over && !older)) continue;
        place = v;
        place_over = over;
    }
    if (place) {
        trace_free(place->trace);
        memset(place, 0, sizeof *place);
    }
    return place;
}

/* Gives the viewer a place if it has none. The trace is loaded without the lock. */
static int viewer_admit(struct media *m, const struct media_question *q, struct err *e)
{
    const char *link = q->link, *name = q->viewer;
    pthread_mutex_lock(&m->lock);
    bool known = viewer_find(m, link, name);
    pthread_mutex_unlock(&m->lock);
    if (known) return 0;

    struct trace *trace;
    int rc = link_trace(&trace, m, link, e);
    if (rc) return rc;

    pthread_mutex_lock(&m->lock);
    struct viewer *v = viewer_find(m, link, name) ? NULL : viewer_place(m, q);
    if (v) {
        snprintf(v->link, sizeof v->link, "%s", link);
        snprintf(v->name, sizeof v->name, "%s", name);
        v->who = q->who;
        v->trace = trace;
        trace = NULL;
        v->used_s = media_now(m);
        media_link_init(&v->state, v->trace, m->cfg.rtt_s, v->used_s);
    }
    known = viewer_find(m, link, name);
    pthread_mutex_unlock(&m->lock);

    trace_free(trace);
    if (!known)
        err_set(e, ERR_FULL, "no place is free among those of %d viewers",
                m->cfg.viewers);
    return known ? 0 : ERR_FULL;
}

/* ---- one paced file ---- */

struct stream {
    struct media *m;
    struct viewer *viewer; /* cannot go while the stream counts as active */
    int fd;
    int64_t left;
    double first_s;
};

static ssize_t stream_pull(void *self, char *buf, size_t max)
{
    struct stream *s = self;
    if (s->left == 0) return REPLY_END;
    double t = media_now(s->m);
    if (t < s->first_s) return REPLY_LATER;

    int64_t want = s->left < (int64_t)max ? s->left : (int64_t)max;
    pthread_mutex_lock(&s->m->lock);
    int64_t n = media_link_allow(&s->viewer->state, t, want);
    pthread_mutex_unlock(&s->m->lock);
    if (n == 0) return REPLY_LATER;

    ssize_t got = read(s->fd, buf, (size_t)n);
    if (got <= 0) return REPLY_BROKEN; /* the file shrank */
    s->left -= got;
    return got;
}

static void stream_done(void *self)
{
    struct stream *s = self;
    struct viewer *v = s->viewer;
    pthread_mutex_lock(&s->m->lock);
    media_link_end(&v->state);
    v->used_s = media_now(s->m);
    bool last = v->state.active == 0;
    struct occupancy *held = last ? v->held : NULL;
    struct addr who = v->who;
    if (last) v->held = NULL;
    pthread_mutex_unlock(&s->m->lock);
    if (held) occupancy_give(held, &who);
    close(s->fd);
    free(s);
}

/* Begins a request over the viewer's link; false with the reply if it cannot. The viewer's first request
 * takes one of its address's share, and the last one gives it back. */
static bool stream_begin(struct stream *s, const struct media_question *q,
                         struct reply *r)
{
    struct media *m = s->m;
    pthread_mutex_lock(&m->lock);
    s->viewer = viewer_find(m, q->link, q->viewer);
    bool busy = s->viewer && s->viewer->state.active > 0;
    if (busy) s->first_s = media_link_begin(&s->viewer->state, media_now(m));
    pthread_mutex_unlock(&m->lock);
    if (busy) return true;

    struct occupancy *taken = q->held;
    if (taken && !occupancy_take(taken, &q->who, q->most)) {
        reply_fail(r, 429, "",
                   "%d viewers are playing from this address, which is its share",
                   q->most);
        reply_constant(r, "Retry-After", "1");
        return false;
    }
    pthread_mutex_lock(&m->lock);
    struct viewer *v = s->viewer = viewer_find(m, q->link, q->viewer);
    if (v && v->state.active == 0) {
        v->held = taken;
        v->who = q->who;
        taken = NULL; /* the viewer has it now */
    }
    if (v) s->first_s = media_link_begin(&v->state, media_now(m));
    pthread_mutex_unlock(&m->lock);
    if (taken) occupancy_give(taken, &q->who);
    /* other viewers took all places since viewer_admit */
    if (!v) reply_fail(r, 503, "", "too many viewers");
    return v != NULL;
}

static const char *content_type(const char *file)
{
    const char *dot = strrchr(file, '.');
    if (dot && strcmp(dot, ".mpd") == 0) return "application/dash+xml";
    if (dot && strcmp(dot, ".m3u8") == 0) return "application/vnd.apple.mpegurl";
    if (dot && strcmp(dot, ".mp4") == 0) return "video/mp4";
    if (dot && strcmp(dot, ".m4s") == 0) return "video/iso.segment";
    return "application/octet-stream";
}

/* An open descriptor and the size, or < 0 after the reply got its error. */
static int open_file(struct reply *r, const struct media *m, const char *file,
                     int64_t *size)
{
    char path[4096];
    struct stat st;
    int n = snprintf(path, sizeof path, "%s/%s", m->dir, file);
    int fd = n < (int)sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        *size = st.st_size;
        return fd;
    }
    if (fd >= 0) close(fd);

    snprintf(path, sizeof path, "%s/manifest.mpd", m->dir);
    if (access(path, R_OK))
        reply_fail(r, 404, "",
                   "there is no demo media yet: run `make media` (needs ffmpeg)");
    else
        reply_fail(r, 404, "", "no such file: %s", file);
    return -1;
}

static void send_file(struct reply *r, struct media *m, const struct media_question *q)
{
    int64_t size = 0, first, n;
    int fd = open_file(r, m, q->file, &size);
    if (fd < 0) return;
    enum range_kind part = range_of(&first, &n, q->range, size);
    if (part == RANGE_BEYOND || lseek(fd, first, SEEK_SET) != first) {
        close(fd);
        reply_fail(r, 416, "Range", "the file has %" PRId64 " bytes", size);
        reply_header(r, "Content-Range", "bytes */%" PRId64, size);
        return;
    }
    struct stream *s = malloc(sizeof *s);
    if (!s) {
        close(fd);
        reply_fail(r, 503, "", "no memory");
        return;
    }

    *s = (struct stream){.m = m, .fd = fd, .left = n};
    if (!stream_begin(s, q, r)) {
        close(fd);
        free(s);
        return;
    }
    struct reply_stream stream = {stream_pull, stream_done, s, POLL_MS, n, false};
    reply_stream(r, part == RANGE_PART ? 206 : 200, content_type(q->file), &stream);
    if (part == RANGE_PART)
        reply_header(r, "Content-Range", "bytes %" PRId64 "-%" PRId64 "/%" PRId64, first,
                     first + n - 1, size);
    reply_header(r, "Accept-Ranges", "bytes");
}

/* ---- the handlers ---- */

static void send_json(struct reply *r, struct emit *o)
{
    if (o->failed) {
        emit_free(o);
        reply_fail(r, 503, "", "no memory");
    } else {
        reply_owned(r, 200, "application/json", o->at, o->n);
    }
}

static void emit_changes(struct emit *o, const struct media_changes *c)
{
    if (c->from_s > 0.0) {
        emit_key(o, "from_s");
        emit_double(o, c->from_s);
    }
    if (!c->n) return;
    emit_key(o, "at_s");
    emit_doubles(o, c->at_s, c->n);
    emit_key(o, "factor");
    emit_doubles(o, c->factor, c->n);
}

static void send_link(struct reply *r, struct media *m, const char *link,
                      const char *viewer)
{
    struct emit o = {0};
    emit_open(&o, '{');
    emit_key(&o, "name");
    emit_string(&o, link);
    emit_key(&o, "rtt_s");
    emit_double(&o, m->cfg.rtt_s);

    pthread_mutex_lock(&m->lock);
    const struct viewer *v = viewer_find(m, link, viewer);
    if (v) {
        emit_key(&o, "now_s");
        emit_double(&o, media_now(m) - v->state.start_s);
    }
    if (v && v->trace) {
        const struct trace *t = v->trace;
        emit_key(&o, "mean_mbps");
        emit_double(&o, trace_mean_mbps(t));
        emit_key(&o, "duration_s");
        emit_double(&o, t->time_s[t->n - 1] - t->time_s[0]);
        emit_key(&o, "time_s");
        emit_doubles(&o, t->time_s, t->n);
        emit_key(&o, "mbps");
        emit_doubles(&o, t->mbps, t->n);
    }
    if (v) emit_changes(&o, &v->state.changes);
    pthread_mutex_unlock(&m->lock);
    emit_close(&o, '}');
    send_json(r, &o);
}

void media_get(struct reply *r, struct media *m, const struct media_question *q)
{
    struct err e = {0};
    if (!name_ok(q->link) || !name_ok(q->viewer) || !name_ok(q->file)) {
        reply_fail(r, 400, "", "names are made of A-Z, a-z, 0-9, \".\", \"_\" and \"-\"");
    } else if (viewer_admit(m, q, &e)) {
        reply_err(r, &e);
    } else {
        if (strcmp(q->file, "link.json") == 0)
            send_link(r, m, q->link, q->viewer);
        else
            send_file(r, m, q);
        reply_header(r, "Cache-Control", "no-store"); /* a cache would not be paced */
    }
}

struct changes_body {
    struct media_changes c;
    int n_factor;
};
static const struct field CHANGES[] = {{"from_s", FIELD(struct changes_body, c.from_s)},
                                       {"at_s", FIELD(struct changes_body, c.at_s),
                                        .n = FIELD_PLACE(struct changes_body, c.n)},
                                       {"factor", FIELD(struct changes_body, c.factor),
                                        .n = FIELD_PLACE(struct changes_body, n_factor)},
                                       {0}};

static int read_changes(struct media_changes *out, const char *body, size_t n,
                        struct err *e)
{
    struct changes_body b = {0};
    int rc = wire_body(CHANGES, &b, body, n, e);
    if (rc) return rc;
    if (b.n_factor != b.c.n)
        return err_field(e, ERR_INVALID, "factor", "has %d values, at_s has %d",
                         b.n_factor, b.c.n);
    if (!(b.c.from_s >= 0.0 && b.c.from_s <= 1e6))
        return err_field(e, ERR_INVALID, "from_s", "must be 0 to 1000000");
    for (int i = 0; i < b.c.n; i++) {
        double before = i ? b.c.at_s[i - 1] : 0.0;
        if (!(b.c.at_s[i] >= before && b.c.at_s[i] <= 1e6))
            return err_field(e, ERR_INVALID, "at_s", "must ascend from 0 to 1000000");
        if (!(b.c.factor[i] >= 0.0 && b.c.factor[i] <= 100.0))
            return err_field(e, ERR_INVALID, "factor", "must be 0 to 100");
    }
    *out = b.c;
    return 0;
}

void media_put(struct reply *r, struct media *m, const struct media_question *q,
               const char *body, size_t n)
{
    struct err e = {0};
    struct media_changes changes;
    if (!name_ok(q->link) || !name_ok(q->viewer)) {
        reply_fail(r, 400, "", "names are made of A-Z, a-z, 0-9, \".\", \"_\" and \"-\"");
    } else if (strcmp(q->file, "link.json") != 0) {
        reply_fail(r, 404, "", "only link.json can be changed");
    } else if (read_changes(&changes, body, n, &e) || viewer_admit(m, q, &e)) {
        reply_err(r, &e);
    } else {
        pthread_mutex_lock(&m->lock);
        struct viewer *v = viewer_find(m, q->link, q->viewer);
        if (v) {
            struct media_link *l = &v->state;
            double now = media_now(m);
            /* earned by the changes so far */
            if (l->active > 0 && l->trace && now > l->at_s) {
                l->credit +=
                    media_link_carries(l, l->at_s - l->start_s, now - l->start_s);
                l->at_s = now;
            }
            l->changes = changes;
        }
        pthread_mutex_unlock(&m->lock);
        send_link(r, m, q->link, q->viewer);
        reply_header(r, "Cache-Control", "no-store");
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void emit_folder(struct emit *o, const char *path)
{
    char *name[FILES_LISTED];
    int n = 0;
    DIR *d = path[0] ? opendir(path) : NULL;
    for (struct dirent *f; d && n < FILES_LISTED && (f = readdir(d));) {
        bool skip = !name_ok(f->d_name) || strncmp(f->d_name, "README", 6) == 0 ||
                    f->d_type == DT_DIR;
        if (!skip && (name[n] = strdup(f->d_name))) n++;
    }
    if (d) closedir(d);

    qsort(name, (size_t)n, sizeof *name, by_name);
    for (int i = 0; i < n; i++) {
        emit_string(o, name[i]);
        free(name[i]);
    }
}

void media_links(struct reply *r, struct media *m)
{
    char manifest[4096];
    int n = snprintf(manifest, sizeof manifest, "%s/manifest.mpd", m->dir);
    bool media = m->dir[0] && n < (int)sizeof manifest && access(manifest, R_OK) == 0;

    struct emit o = {0};
    emit_open(&o, '{');
    emit_key(&o, "media");
    emit_bool(&o, media);
    emit_key(&o, "kinds");
    emit_open(&o, '[');
    for (int i = 0; gen_kinds[i]; i++)
        emit_string(&o, gen_kinds[i]);
    emit_string(&o, EXTRA_KIND);
    emit_string(&o, UNLIMITED);
    emit_close(&o, ']');
    emit_key(&o, "traces");
    emit_open(&o, '[');
    emit_folder(&o, m->traces);
    emit_close(&o, ']');
    emit_close(&o, '}');
    send_json(r, &o);
}

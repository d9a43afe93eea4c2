#include "serve/players/manifests.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "abr/manifests/hls.h"
#include "serve/http/reply.h"

static const size_t INLINE_BYTES = (size_t)256 << 10;
static const size_t FIRST_BYTES = (size_t)16 << 10;

/* A manifest that waits; its texts are owned. */
struct task {
    char *path, *url, *text;
    size_t n;
    struct addr who;
};

struct manifests {
    struct origin *origin;
    struct contents *contents;
    const struct log *log;
    pthread_t thread;
    bool started;
    int bell; /* rung by transfers and by manifests_free */
    atomic_bool stop;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t more;
    int waiting;
    struct task
        task[MANIFESTS_QUEUE]; /* (waiting) oldest first; the first one is being read */
};

void manifests_refuse(const struct log *log, const char *path, const struct err *why)
{
    log_event(log, LOG_INFO, "origin", "nobody is steered by %s: %s%s%s", path,
              why->field, *why->field ? ": " : "", why->detail);
}

bool manifests_takes(const struct contents_manifest *one)
{
    return one->n > INLINE_BYTES || hls_kind(one->text) == HLS_MULTIVARIANT ||
           strstr(one->text, "SegmentBase") || strstr(one->text, "SegmentTimeline");
}

static void task_free(struct task *t)
{
    free(t->path);
    free(t->url);
    free(t->text);
}

/* ---- files ---- */

/* One manifest's files. */
struct files {
    struct manifests *m;
    const struct task *task;
    char found[SEGMENTS_URL]; /* where the last file was; "": not redirected */
};

/* Fills the question for a file of the manifest. */
static int file_question(struct origin_question *q, const struct files *f,
                         const char *url, struct err *e)
{
    const struct origins *names = origin_names(f->m->origin);
    char joined[SEGMENTS_URL], path[SEGMENTS_URL + ORIGINS_NAME], name[ORIGINS_NAME];
    if (!segments_join(joined, f->task->url, url) ||
        !origins_path(path, sizeof path, names, joined))
        return err_field(e, ERR_INVALID, url, "is on a server that is no origin");
    size_t n = strcspn(path, "/");
    snprintf(name, sizeof name, "%.*s", (int)n, path);
    q->origin = origins_find(names, name);
    q->bell = f->m->bell;
    char *query = strchr(path, '?');
    if (query) *query++ = '\0';
    return origins_target(q->target, sizeof q->target, names->at[q->origin].url,
                          path + n + 1, query ? query : "", e);
}

/* Until the bell rings; false: the daemon stops. */
static bool files_wait(struct manifests *m)
{
    struct pollfd p = {.fd = m->bell, .events = POLLIN};
    eventfd_t rung;
    while (!m->stop && poll(&p, 1, -1) < 0)
        continue;
    (void)!eventfd_read(m->bell, &rung);
    return !m->stop;
}

/* The body without its first `skip` bytes, at most max; owned, NULL on failure. */
static char *files_body(struct manifests *m, struct origin_transfer *t, int64_t skip,
                        size_t max, size_t *len, struct err *e)
{
    size_t cap = max < FIRST_BYTES ? max : FIRST_BYTES, n = 0;
    char *text = malloc(cap + 1), passed[4096];
    while (text && n < max) {
        if (!skip && n == cap) {
            cap = cap > max / 2 ? max : 2 * cap;
            char *more = realloc(text, cap + 1);
            if (!more) break;
            text = more;
        }
        size_t want = skip < (int64_t)sizeof passed ? (size_t)skip : sizeof passed;
        ssize_t got =
            skip ? origin_pull(t, passed, want) : origin_pull(t, text + n, cap - n);
        if (got > 0 && skip) {
            skip -= got;
        } else if (got > 0) {
            n += (size_t)got;
        } else if (got == REPLY_END) {
            max = n;
        } else if (got == REPLY_BROKEN || !files_wait(m)) {
            err_set(e, ERR_IO, "the origin broke off its answer");
            free(text);
            return NULL;
        }
    }
    if (!text || n < max) {
        err_set(e, ERR_MEMORY, "no memory for a file of a manifest");
        free(text);
        return NULL;
    }
    text[n] = '\0';
    *len = n;
    return text;
}

/* 200 for a part means that the origin ignores ranges. */
static char *files_answer(struct files *f, struct origin_transfer *t, const char *url,
                          int64_t from, size_t max, size_t *len, struct err *e)
{
    while (!origin_ready(t))
        if (!files_wait(f->m)) {
            err_set(e, ERR_IO, "the daemon stops");
            return NULL;
        }
    const struct origin_head *h = origin_head(t);
    const char *found = origin_found(t);
    snprintf(f->found, sizeof f->found, "%s", strlen(found) < SEGMENTS_URL ? found : "");
    if (h->fault) {
        err_field(e, ERR_IO, url, "the origin %s", origin_fault_text(h->fault));
        return NULL;
    }
    if (h->status == 416) { /* nothing is there */
        *len = 0;
        return calloc(1, 1);
    }
    bool whole = h->status == 200;
    if (!whole && h->status != 206) {
        err_field(e, h->status >= 500 || h->status == 429 ? ERR_IO : ERR_ABSENT, url,
                  "the origin answered %d", h->status);
        return NULL;
    }
    if (h->told[ORIGIN_ENCODING][0] || (whole && from > (int64_t)CONTENTS_MANIFEST)) {
        err_field(e, ERR_INVALID, url,
                  whole && !h->told[ORIGIN_ENCODING][0] ? "the origin has no byte ranges"
                                                        : "the origin compressed it");
        return NULL;
    }
    return files_body(f->m, t, whole ? from : 0, max, len, e);
}

static char *files_read(void *self, const char *url, int64_t from, size_t max,
                        size_t *len, struct err *e)
{
    struct files *f = self;
    bool part = from || max < CONTENTS_MANIFEST;
    if (max > CONTENTS_MANIFEST) max = CONTENTS_MANIFEST;
    struct origin_question *q = calloc(1, sizeof *q);
    struct origin_transfer *t = NULL;
    char *text = NULL;
    if (!q) {
        err_set(e, ERR_MEMORY, "no memory for a transfer");
    } else if (!file_question(q, f, url, e)) {
        if (part)
            snprintf(q->asked[ORIGIN_RANGE], ORIGIN_VALUE, "bytes=%lld-%lld",
                     (long long)from, (long long)from + (long long)max - 1);
        t = origin_begin(f->m->origin, q, e);
    }
    free(q);
    if (t) text = files_answer(f, t, url, from, max, len, e);
    if (t) origin_drop(t);
    if (!text || part || *len < CONTENTS_MANIFEST) return text;
    err_field(e, ERR_RANGE, url, "is over %zu bytes", CONTENTS_MANIFEST - 1);
    free(text);
    return NULL;
}

static bool files_found(void *self, char url[SEGMENTS_URL])
{
    const struct files *f = self;
    if (f->found[0]) strcpy(url, f->found);
    return true;
}

/* ---- the thread ---- */

/* False, with e filled: its videos stay unknown. */
static bool manifests_read(struct manifests *m, const struct task *t, struct err *e)
{
    struct files f = {.m = m, .task = t};
    const struct contents_manifest one = {t->path, t->url, t->text, t->n, t->who};
    const struct segments_source source = {
        .self = &f, .read = files_read, .found = files_found};
    return contents_learn(m->contents, &one, &source, e) >= 0;
}

/* A refusal is logged only after its manifest has left the queue, because a reader of the log may add the
 * manifest again. */
static void *manifests_run(void *ctx)
{
    struct manifests *m = ctx;
    pthread_mutex_lock(&m->lock);
    while (!m->stop) {
        if (!m->waiting) {
            pthread_cond_wait(&m->more, &m->lock);
            continue;
        }
        struct task t = m->task[0];
        pthread_mutex_unlock(&m->lock);
        struct err e = {0};
        bool learned = manifests_read(m, &t, &e);
        pthread_mutex_lock(&m->lock);
        memmove(m->task, m->task + 1, (size_t)--m->waiting * sizeof *m->task);
        pthread_mutex_unlock(&m->lock);
        if (!learned && !m->stop) manifests_refuse(m->log, t.path, &e);
        task_free(&t);
        pthread_mutex_lock(&m->lock);
    }
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

void manifests_add(struct manifests *m, const struct contents_manifest *one)
{
    if (contents_known(m->contents, one)) return;
    struct task t = {strdup(one->path), strdup(one->url), malloc(one->n + 1), one->n,
                     one->who};
    bool taken = t.path && t.url && t.text;
    if (taken) memcpy(t.text, one->text, one->n + 1);
    pthread_mutex_lock(&m->lock);
    taken = taken && m->waiting < MANIFESTS_QUEUE;
    for (int i = 0; taken && i < m->waiting; i++)
        taken = strcmp(m->task[i].path, t.path) != 0;
    if (taken) m->task[m->waiting++] = t;
    pthread_cond_signal(&m->more);
    pthread_mutex_unlock(&m->lock);
    if (!taken) task_free(&t);
}

struct manifests *manifests_new(struct origin *o, struct contents *c,
                                const struct log *log, struct err *e)
{
    struct manifests *m = calloc(1, sizeof *m);
    if (!m) {
        err_set(e, ERR_MEMORY, "no memory for manifests");
        return NULL;
    }
    m->origin = o;
    m->contents = c;
    m->log = log;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->more, NULL);
    m->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int rc = m->bell < 0 ? -1 : pthread_create(&m->thread, NULL, manifests_run, m);
    m->started = rc == 0;
    if (m->started) {
        pthread_setname_np(m->thread, "manifests");
        return m;
    }
    err_set(e, ERR_IO, "the thread for manifests cannot be started");
    manifests_free(m);
    return NULL;
}

void manifests_free(struct manifests *m)
{
    if (!m) return;
    pthread_mutex_lock(&m->lock);
    m->stop = true;
    pthread_cond_signal(&m->more);
    pthread_mutex_unlock(&m->lock);
    if (m->bell >= 0) (void)!eventfd_write(m->bell, 1);
    if (m->started) pthread_join(m->thread, NULL);
    for (int i = 0; i < m->waiting; i++)
        task_free(&m->task[i]);
    if (m->bell >= 0) close(m->bell);
    pthread_cond_destroy(&m->more);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

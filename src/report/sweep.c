#include "report/sweep.h"

#include "base/bytes.h"
#include "base/pool.h"
#include "base/text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADER = 128, FILE_LIMIT = 1 << 30 };

struct sweep_job {
    struct sweep *sweep;
    int run;
    char *at; /* the result so far */
    size_t n, cap;
    bool no_memory;
    struct err err;
    int rc;
    _Atomic double share;
    atomic_bool running;
};

struct sweep {
    struct sweep_cfg cfg;
    const struct sweep_run *run;
    int n;
    struct sweep_job *job;
    bool *have;
    int *todo; /* indices of runs that are not there */
    int n_todo, kept, redo;
    char why[256];

    int (*one)(void *ctx, int i, struct sweep_job *job, struct err *e);
    void *ctx;
    atomic_int done;
    atomic_bool stop;    /* asked for by progress */
    atomic_int failed;   /* the lowest run that failed; n while none did */
    atomic_flag showing; /* one thread at a time is in the callback */
};

/* FNV-1a over name, configuration and version, their ends included */
static uint64_t hash_of(const struct sweep *s, int i)
{
    const char *part[] = {s->run[i].name, s->run[i].config, s->cfg.version};
    uint64_t h = 0xcbf29ce484222325u;
    for (int k = 0; k < 3; k++)
        for (const char *c = part[k];; c++) {
            h = (h ^ (unsigned char)*c) * 0x100000001b3u;
            if (!*c) break;
        }
    return h;
}

/* ---- files ---- */

static int path_of(char *out, size_t size, const struct sweep *s, int i, struct err *e)
{
    if (snprintf(out, size, "%s/%s.run", s->cfg.dir, s->run[i].name) < (int)size)
        return 0;
    return err_field(e, ERR_RANGE, s->run[i].name, "the path of its file is too long");
}

static void sweep_take(struct sweep *s, int i, char *data, size_t n)
{
    s->job[i].at = data;
    s->job[i].n = n;
    s->have[i] = true;
}

static void do_again(struct sweep *s, int i, const char *why)
{
    if (!s->redo++) snprintf(s->why, sizeof s->why, "%.100s.run %s", s->run[i].name, why);
}

/* The payload's place in a file's text, or NULL and why not. */
static const char *payload(const struct sweep *s, int i, const char *text, size_t len,
                           size_t *n, const char **why)
{
    uint64_t hash;
    uint32_t crc;
    size_t bytes;
    int version, end = 0;
    *why = "is not a file of a run, or torn";
    /* NOLINTNEXTLINE(cert-err34-c): no field is longer than its type */
    if (sscanf(text, "abrd run %9d %16" SCNx64 " %18zu %8" SCNx32 "%n", &version, &hash,
               &bytes, &crc, &end) != 4 ||
        version != 1 || text[end] != '\n')
        return NULL;
    const char *config = text + end + 1;
    const char *line_end = memchr(config, '\n', len - (size_t)(config - text));
    if (!line_end) return NULL;
    if (hash != hash_of(s, i)) {
        *why = "is of another configuration or version";
        return NULL;
    }
    const char *data = line_end + 1;
    *n = len - (size_t)(data - text);
    if (*n != bytes || bytes_crc32(0, config, len - (size_t)(config - text)) != crc)
        return NULL;
    return data;
}

static int read_back(struct sweep *s, int i, struct err *e)
{
    char path[4096];
    int rc = path_of(path, sizeof path, s, i, e);
    if (rc) return rc;
    if (access(path, F_OK)) return 0;

    size_t len, n;
    char *text = text_read_file(path, FILE_LIMIT, &len, e);
    if (!text) return e && e->code ? e->code : ERR_IO;
    const char *why, *data = payload(s, i, text, len, &n, &why);
    if (!data) {
        do_again(s, i, why);
        free(text);
        return 0;
    }
    memmove(text, data, n); /* to the front, so that it is aligned */
    sweep_take(s, i, text, n);
    s->kept++;
    return 0;
}

static int sweep_keep(const struct sweep *s, const struct sweep_job *j, struct err *e)
{
    if (!s->cfg.dir) return 0;
    char path[4096];
    int rc = path_of(path, sizeof path, s, j->run, e);
    if (rc) return rc;

    const char *config = s->run[j->run].config;
    uint32_t crc = bytes_crc32(0, config, strlen(config));
    crc = bytes_crc32(crc, "\n", 1);
    crc = bytes_crc32(crc, j->at, j->n);
    char *file = malloc(HEADER + strlen(config) + 1 + j->n);
    if (!file) return err_set(e, ERR_MEMORY, "no memory for the file of a run");
    int at = snprintf(file, HEADER, "abrd run 1 %016" PRIx64 " %zu %08" PRIx32 "\n",
                      hash_of(s, j->run), j->n, crc);
    size_t n = (size_t)at;
    memcpy(file + n, config, strlen(config));
    n += strlen(config);
    file[n++] = '\n';
    if (j->n) memcpy(file + n, j->at, j->n);
    rc = text_write_file(path, file, n + j->n, e);
    free(file);
    return rc;
}

/* ---- the list of runs ---- */

static int check_run(const struct sweep_run *run, int i, struct err *e)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    const char *name = run[i].name;
    if (!*name || *name == '.' || name[strspn(name, letters)])
        return err_field(e, ERR_INVALID, name, "a run's name cannot be that of a file");
    if (strchr(run[i].config, '\n'))
        return err_field(e, ERR_INVALID, name, "its configuration is not one line");
    for (int k = 0; k < i; k++)
        if (strcmp(run[k].name, name) == 0)
            return err_field(e, ERR_INVALID, name, "two runs have this name");
    return 0;
}

struct sweep *sweep_new(const struct sweep_cfg *cfg, const struct sweep_run *run, int n,
                        struct err *e)
{
    assert(n > 0 && cfg->version);
    struct sweep *s = calloc(1, sizeof *s);
    if (!s) goto memory;
    *s = (struct sweep){.cfg = *cfg, .run = run, .n = n, .showing = ATOMIC_FLAG_INIT};
    s->job = calloc((size_t)n, sizeof *s->job);
    s->have = calloc((size_t)n, sizeof *s->have);
    s->todo = calloc((size_t)n, sizeof *s->todo);
    if (!s->job || !s->have || !s->todo) goto memory;

    for (int i = 0; i < n; i++) {
        s->job[i].sweep = s;
        s->job[i].run = i;
        if (check_run(run, i, e)) goto fail;
        if (cfg->dir && read_back(s, i, e)) goto fail;
        if (!s->have[i]) s->todo[s->n_todo++] = i;
    }
    return s;
memory:
    err_set(e, ERR_MEMORY, "no memory for %d runs", n);
fail:
    sweep_free(s);
    return NULL;
}

void sweep_free(struct sweep *s)
{
    if (!s) return;
    for (int i = 0; s->job && i < s->n; i++)
        free(s->job[i].at);
    free(s->job);
    free(s->have);
    free(s->todo);
    free(s);
}

int sweep_kept(const struct sweep *s)
{
    return s->kept;
}

int sweep_redo(const struct sweep *s, const char **why)
{
    if (why) *why = s->why;
    return s->redo;
}

/* ---- running ---- */

static void survey(struct sweep_progress *p, const struct sweep *s)
{
    *p = (struct sweep_progress){.n = s->n, .done = s->kept + atomic_load(&s->done)};
    double sum = s->kept;
    size_t at = 0;
    for (int k = 0; k < s->n_todo; k++) {
        const struct sweep_job *j = &s->job[s->todo[k]];
        sum += atomic_load_explicit(&j->share, memory_order_relaxed);
        if (!atomic_load(&j->running) || at >= sizeof p->running) continue;
        int w = snprintf(p->running + at, sizeof p->running - at, "%s%s", at ? ", " : "",
                         s->run[j->run].name);
        at += (size_t)w;
    }
    p->share = sum / s->n;
}

static bool sweep_show(struct sweep *s)
{
    if (s->cfg.progress && !atomic_flag_test_and_set(&s->showing)) {
        struct sweep_progress p;
        survey(&p, s);
        if (s->cfg.progress(s->cfg.progress_ctx, &p)) atomic_store(&s->stop, true);
        atomic_flag_clear(&s->showing);
    }
    return atomic_load(&s->stop);
}

/* Not to be begun, or gone on with: asked to stop, or one before it failed. Those before a failure
 * go on, so that the lowest one is found whatever the threads do. */
static bool over(struct sweep *s, const struct sweep_job *j)
{
    return sweep_show(s) || j->run > atomic_load(&s->failed);
}

static void sweep_failed(struct sweep *s, int run)
{
    int lowest = atomic_load(&s->failed);
    while (run < lowest && !atomic_compare_exchange_weak(&s->failed, &lowest, run))
        ;
}

bool sweep_tick(struct sweep_job *j, double share)
{
    atomic_store_explicit(&j->share, share, memory_order_relaxed);
    return over(j->sweep, j);
}

void sweep_put(struct sweep_job *j, const void *data, size_t n)
{
    if (j->no_memory || !n) return;
    if (j->n + n > j->cap) {
        size_t want = j->cap ? j->cap : 1024;
        while (want < j->n + n)
            want *= 2;
        char *more = realloc(j->at, want);
        if (!more) {
            j->no_memory = true;
            return;
        }
        j->at = more;
        j->cap = want;
    }
    memcpy(j->at + j->n, data, n);
    j->n += n;
}

static int do_run(struct sweep *s, struct sweep_job *j)
{
    int rc = s->one(s->ctx, j->run, j, &j->err);
    if (rc) return rc;
    if (j->no_memory) return err_set(&j->err, ERR_MEMORY, "no memory for its result");
    return sweep_keep(s, j, &j->err);
}

static void work(void *ctx, int k)
{
    struct sweep *s = ctx;
    struct sweep_job *j = &s->job[s->todo[k]];
    if (over(s, j)) return;
    atomic_store(&j->running, true);
    j->rc = do_run(s, j);
    atomic_store(&j->running, false);
    if (!j->rc) {
        s->have[j->run] = true;
        atomic_store(&j->share, 1);
        atomic_fetch_add(&s->done, 1);
    } else if (j->rc < 0) {
        sweep_failed(s, j->run);
    }
    sweep_show(s);
}

int sweep_go(struct sweep *s,
             int (*one)(void *ctx, int i, struct sweep_job *job, struct err *e),
             void *ctx, struct err *e)
{
    s->one = one;
    s->ctx = ctx;
    atomic_store(&s->failed, s->n);
    pool_run(s->n_todo, s->cfg.threads, work, s);

    for (int k = 0; k < s->n_todo; k++) {
        const struct sweep_job *j = &s->job[s->todo[k]];
        if (j->rc < 0)
            return err_field(e, j->rc, s->run[j->run].name, "%s%s%.180s", j->err.field,
                             *j->err.field ? ": " : "", j->err.detail);
    }
    for (int i = 0; i < s->n; i++)
        if (!s->have[i]) return SWEEP_STOPPED;
    return 0;
}

const void *sweep_result(const struct sweep *s, int i, size_t *bytes)
{
    assert(i >= 0 && i < s->n && s->have[i]);
    if (bytes) *bytes = s->job[i].n;
    return s->job[i].at;
}

#include "abr/traces/corpus.h"

#include "abr/traces/gen.h"
#include "base/bytes.h"
#include "base/text.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES_MAX = 100000 };

void corpus_files_free(struct corpus_files *f)
{
    for (int i = 0; i < f->n; i++)
        free(f->path[i]);
    free(f->path);
    *f = (struct corpus_files){0};
}

static int corpus_add(struct corpus_files *f, const char *path, struct err *e)
{
    if (f->n == FILES_MAX)
        return err_set(e, ERR_RANGE, "more than %d files in one folder", FILES_MAX);
    if (f->n == f->cap) {
        int cap = f->cap ? f->cap * 2 : 64;
        char **more = realloc(f->path, (size_t)cap * sizeof *more);
        if (!more) return err_set(e, ERR_MEMORY, "no memory for %d file names", cap);
        f->path = more;
        f->cap = cap;
    }
    f->path[f->n] = strdup(path);
    if (!f->path[f->n]) return err_set(e, ERR_MEMORY, "no memory for a file name");
    f->n++;
    return 0;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool in_part(const char *name, enum corpus_part part)
{
    bool test = bytes_crc32(0, name, strlen(name)) % 4 == 0;
    return part == CORPUS_ALL || test == (part == CORPUS_TEST);
}

/* Adds dir/name when it is a regular file. */
static int add_entry(struct corpus_files *f, const char *dir, const char *name,
                     struct err *e)
{
    char path[4096];
    struct stat st;
    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        return err_field(e, ERR_RANGE, name, "the path is too long");
    if (stat(path, &st)) return err_field(e, ERR_IO, path, "%s", strerror(errno));
    return S_ISREG(st.st_mode) ? corpus_add(f, path, e) : 0;
}

int corpus_files_list(struct corpus_files *out, const char *dir, enum corpus_part part,
                      struct err *e)
{
    DIR *d = opendir(dir);
    if (!d)
        return err_field(e, errno == ENOENT ? ERR_ABSENT : ERR_IO, dir, "%s",
                         strerror(errno));
    int rc = 0;
    struct dirent *entry;
    while (!rc && (entry = readdir(d))) {
        const char *name = entry->d_name;
        bool skipped = name[0] == '.' || !strncmp(name, "README", 6);
        if (!skipped && in_part(name, part)) rc = add_entry(out, dir, name, e);
    }
    closedir(d);
    if (rc) return rc;
    if (!out->n)
        return err_field(e, ERR_ABSENT, dir, "holds no trace%s",
                         part == CORPUS_TEST    ? " of the test part"
                         : part == CORPUS_TRAIN ? " of the training part"
                                                : "");
    qsort(out->path, (size_t)out->n, sizeof *out->path, by_path);
    return 0;
}

static struct corpus *corpus_new(int n, struct err *e)
{
    struct corpus *c = calloc(1, sizeof *c);
    if (c) c->traces = calloc((size_t)n, sizeof *c->traces);
    if (c && c->traces) return c;
    corpus_free(c);
    err_set(e, ERR_MEMORY, "no memory for %d traces", n);
    return NULL;
}

void corpus_free(struct corpus *c)
{
    if (!c) return;
    for (int i = 0; i < c->n; i++)
        trace_free(c->traces[i]);
    free(c->traces);
    free(c);
}

struct corpus *corpus_load(const char *dir, enum corpus_part part, struct err *e)
{
    struct corpus_files files = {0};
    struct corpus *c = NULL;
    if (!corpus_files_list(&files, dir, part, e)) c = corpus_new(files.n, e);
    if (!c) goto out;

    text_last_component(c->name, sizeof c->name, dir);
    for (int i = 0; i < files.n; i++) {
        struct trace *t = trace_load(files.path[i], e);
        if (!t) {
            corpus_free(c);
            c = NULL;
            break;
        }
        c->traces[c->n++] = t;
    }
out:
    corpus_files_free(&files);
    return c;
}

static int by_trace_name(const void *a, const void *b)
{
    const struct trace *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

struct corpus *corpus_generate(const char *kind, int n, double seconds, uint64_t seed,
                               struct err *e)
{
    const char *const one[] = {kind, NULL};
    const char *const *kinds = kind ? one : gen_kinds;
    int n_kinds = 0;
    while (kinds[n_kinds])
        n_kinds++;
    assert(n_kinds > 0);
    if (n < 1 || n > FILES_MAX / n_kinds) {
        err_field(e, ERR_RANGE, "n", "%d traces of a kind are not within 1 .. %d", n,
                  FILES_MAX / n_kinds);
        return NULL;
    }

    struct corpus *c = corpus_new(n * n_kinds, e);
    if (!c) return NULL;
    snprintf(c->name, sizeof c->name, "%s", kind ? kind : "generated");
    for (int k = 0; k < n_kinds; k++)
        for (int i = 0; i < n; i++) {
            struct trace *t = gen_trace(kinds[k], seconds, seed, (uint64_t)i, e);
            if (!t) {
                corpus_free(c);
                return NULL;
            }
            c->traces[c->n++] = t;
        }
    qsort(c->traces, (size_t)c->n, sizeof(struct trace *), by_trace_name);
    return c;
}

uint32_t corpus_hash(const struct corpus *c)
{
    uint32_t crc = 0;
    for (int i = 0; i < c->n; i++)
        crc = trace_crc(crc, c->traces[i]);
    return crc;
}

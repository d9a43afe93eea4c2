#include "abr/corpus.h"

#include "abr/gen.h"
#include "base/bytes.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES_MAX = 100000 };

struct names {
    char **at;
    int n, cap;
};

static void names_free(struct names *l)
{
    for (int i = 0; i < l->n; i++)
        free(l->at[i]);
    free(l->at);
}

static int names_add(struct names *l, const char *name, struct err *e)
{
    if (l->n == FILES_MAX)
        return err_set(e, ERR_RANGE, "more than %d files in one folder", FILES_MAX);
    if (l->n == l->cap) {
        int cap = l->cap ? l->cap * 2 : 64;
        char **more = realloc(l->at, (size_t)cap * sizeof *more);
        if (!more) return err_set(e, ERR_MEMORY, "no memory for %d file names", cap);
        l->at = more;
        l->cap = cap;
    }
    l->at[l->n] = strdup(name);
    if (!l->at[l->n]) return err_set(e, ERR_MEMORY, "no memory for a file name");
    l->n++;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool in_part(const char *name, enum corpus_part part)
{
    bool test = bytes_crc32(0, name, strlen(name)) % 4 == 0;
    return part == CORPUS_ALL || test == (part == CORPUS_TEST);
}

static int join(char *out, size_t size, const char *dir, const char *name, struct err *e)
{
    if (snprintf(out, size, "%s/%s", dir, name) < (int)size) return 0;
    return err_field(e, ERR_RANGE, name, "the path is too long");
}

/* The regular files of the folder that belong to the part, in name order. */
static int list(struct names *l, const char *dir, enum corpus_part part, struct err *e)
{
    DIR *d = opendir(dir);
    if (!d)
        return err_field(e, errno == ENOENT ? ERR_ABSENT : ERR_IO, dir, "%s",
                         strerror(errno));
    int rc = 0;
    struct dirent *entry;
    while (!rc && (entry = readdir(d))) {
        const char *name = entry->d_name;
        char path[4096];
        struct stat st;
        if (name[0] == '.' || !strncmp(name, "README", 6) || !in_part(name, part))
            continue;
        rc = join(path, sizeof path, dir, name, e);
        if (rc) break;
        if (stat(path, &st))
            rc = err_field(e, ERR_IO, path, "%s", strerror(errno));
        else if (S_ISREG(st.st_mode))
            rc = names_add(l, name, e);
    }
    closedir(d);
    if (!rc && l->n) qsort(l->at, (size_t)l->n, sizeof *l->at, by_name);
    return rc;
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
    struct names l = {0};
    struct corpus *c = NULL;
    if (list(&l, dir, part, e)) goto out;
    if (!l.n) {
        err_field(e, ERR_ABSENT, dir, "holds no trace%s",
                  part == CORPUS_TEST    ? " of the test part"
                  : part == CORPUS_TRAIN ? " of the training part"
                                         : "");
        goto out;
    }

    c = corpus_new(l.n, e);
    if (!c) goto out;
    text_last_component(c->name, sizeof c->name, dir);
    for (int i = 0; i < l.n; i++) {
        char path[4096];
        struct trace *t =
            join(path, sizeof path, dir, l.at[i], e) ? NULL : trace_load(path, e);
        if (!t) {
            corpus_free(c);
            c = NULL;
            goto out;
        }
        c->traces[c->n++] = t;
    }
out:
    names_free(&l);
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
    for (int i = 0; i < c->n; i++) {
        const struct trace *t = c->traces[i];
        crc = bytes_crc32(crc, t->time_s, (size_t)t->n * sizeof *t->time_s);
        crc = bytes_crc32(crc, t->mbps, (size_t)t->n * sizeof *t->mbps);
    }
    return crc;
}

#include "support/tmpdir.h"

#include <assert.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct made {
    struct made *next;
    pid_t maker; /* a forked child leaves its parent's folders alone */
    char path[256];
};

static struct made *all;

static void remove_at_exit(void)
{
    for (struct made *m = all, *next; m; m = next) {
        next = m->next;
        if (m->maker == getpid()) tmpdir_remove(m->path);
    }
}

const char *tmpdir_new(void)
{
    const char *base = getenv("TMPDIR");
    struct made *m = malloc(sizeof *m);
    assert(m);
    *m = (struct made){.next = all, .maker = getpid()};
    snprintf(m->path, sizeof m->path, "%s/abrd-test-XXXXXX",
             base && *base ? base : "/tmp");
    const char *path = mkdtemp(m->path);
    assert(path);
    if (!all) atexit(remove_at_exit);
    all = m;
    return path;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

void tmpdir_keep(const char *dir)
{
    for (struct made **m = &all; *m; m = &(*m)->next)
        if (!strcmp((*m)->path, dir)) {
            struct made *gone = *m;
            *m = gone->next;
            free(gone);
            return;
        }
}

void tmpdir_remove(const char *dir)
{
    nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    tmpdir_keep(dir);
}

const char *tmpdir_path(const char *dir, const char *name)
{
    static char ring[8][512];
    static int next;
    char *path = ring[next++ % 8];
    snprintf(path, sizeof ring[0], "%s/%s", dir, name);
    return path;
}

void tmpdir_put(const char *dir, const char *name, const char *text)
{
    FILE *f = fopen(tmpdir_path(dir, name), "w");
    assert(f);
    int whole = fputs(text, f) >= 0 && !fclose(f);
    assert(whole);
}

#include "support/tmpdir.h"

#include <assert.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

const char *tmpdir_new(void)
{
    static char dir[256];
    const char *base = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/abrd-test-XXXXXX", base && *base ? base : "/tmp");
    const char *made = mkdtemp(dir);
    assert(made);
    return made;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

void tmpdir_remove(const char *dir)
{
    nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *tmpdir_path(const char *dir, const char *name)
{
    static char ring[8][512];
    static int next;
    char *path = ring[next++ % 8];
    snprintf(path, sizeof ring[0], "%s/%s", dir, name);
    return path;
}

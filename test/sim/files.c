#include "sim/files.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int __real_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __real_link(const char *from, const char *to);
int __wrap_fsync(int fd);
int __wrap_rename(const char *from, const char *to);
int __wrap_link(const char *from, const char *to);

static struct files_watch *watch;

void files_watch(struct files_watch *w)
{
    watch = w;
}

static bool fails(void)
{
    struct files_watch *w = watch;
    if (!w) return false;
    if (w->before) w->before(w->ctx);
    int call = ++w->calls;
    if (!w->fail_from || call < w->fail_from || call >= w->fail_from + w->fail_n)
        return false;
    w->failed++;
    errno = ENOSPC;
    return true;
}

int __wrap_fsync(int fd)
{
    if (!watch) return __real_fsync(fd);
    return fails() ? -1 : 0; /* what survives is decided here, not by the device */
}

int __wrap_rename(const char *from, const char *to)
{
    return fails() ? -1 : __real_rename(from, to);
}

int __wrap_link(const char *from, const char *to)
{
    return fails() ? -1 : __real_link(from, to);
}

/* ---- remembered ---- */

static void path_of(char out[512], const char *dir, const char *name)
{
    int n = snprintf(out, 512, "%s/%s", dir, name);
    assert(n < 512);
    (void)n;
}

static void *read_all(const char *path, size_t *size)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert(fd >= 0);
    int rc = fstat(fd, &st);
    assert(!rc);
    *size = (size_t)st.st_size;
    void *bytes = malloc(*size + 1);
    assert(bytes);
    ssize_t n = read(fd, bytes, *size);
    assert(n == (ssize_t)*size);
    (void)n;
    (void)rc;
    close(fd);
    return bytes;
}

static void write_all(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert(fd >= 0);
    ssize_t n = write(fd, bytes, size);
    assert(n == (ssize_t)size);
    (void)n;
    close(fd);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Sorted, so that a folder's own order decides nothing. */
static int list(char name[FILES_MAX][96], const char *dir)
{
    DIR *d = opendir(dir);
    if (!d) return 0;
    int n = 0;
    for (const struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.' || !strcmp(e->d_name, "lock")) continue;
        assert(n < FILES_MAX && strlen(e->d_name) < 96);
        strcpy(name[n++], e->d_name);
    }
    closedir(d);
    qsort(name, (size_t)n, sizeof name[0], by_name);
    return n;
}

static bool ends(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && !strcmp(name + n - m, end);
}

/* DIR.kept/NAME */
static void kept_path(char out[512], const char *dir, const char *name)
{
    int n = snprintf(out, 512, "%s.kept/%s", dir, name);
    assert(n < 512);
    (void)n;
}

/* Files that are replaced as a whole keep their bytes: another name is enough. */
static void keep_link(const char *dir, const char *name)
{
    char path[512], kept[512];
    kept_path(kept, dir, "");
    mkdir(kept, 0755);
    path_of(path, dir, name);
    kept_path(kept, dir, name);
    unlink(kept);
    int rc = __real_link(path, kept);
    assert(!rc);
    (void)rc;
}

void files_remember(struct files *f, const char *dir, struct rng *torn)
{
    char name[FILES_MAX][96], path[512];
    files_release(f);
    f->n = list(name, dir);
    for (int i = 0; i < f->n; i++) {
        strcpy(f->at[i].name, name[i]);
        f->at[i].bytes = NULL;
        bool half = ends(name[i], ".tmp") && !ends(name[i], ".prev.tmp");
        if (!half && !strstr(name[i], ".db")) {
            keep_link(dir, name[i]);
            continue;
        }
        path_of(path, dir, name[i]);
        f->at[i].bytes = read_all(path, &f->at[i].size);
        if (half)
            f->at[i].size = (size_t)(rng_uniform(torn) * (double)(f->at[i].size + 1));
    }
}

void files_put_back(const struct files *f, const char *dir)
{
    char name[FILES_MAX][96], path[512], kept[512];
    int n = list(name, dir);
    for (int i = 0; i < n; i++) {
        path_of(path, dir, name[i]);
        unlink(path);
    }
    for (int i = 0; i < f->n; i++) {
        path_of(path, dir, f->at[i].name);
        kept_path(kept, dir, f->at[i].name);
        if (f->at[i].bytes)
            write_all(path, f->at[i].bytes, f->at[i].size);
        else
            __real_rename(kept, path);
    }
}

void files_release(struct files *f)
{
    for (int i = 0; i < f->n; i++)
        free(f->at[i].bytes);
    f->n = 0;
}

void files_remove(const char *dir, const char *name)
{
    char path[512];
    path_of(path, dir, name);
    unlink(path);
}

bool files_damage(char name[96], const char *dir, struct rng *r)
{
    char all[FILES_MAX][96], path[512];
    int n = list(all, dir), m = 0;
    for (int i = 0; i < n; i++)
        if (ends(all[i], ".safetensors") || ends(all[i], ".prev") ||
            ends(all[i], ".state"))
            memmove(all[m++], all[i], 96);
    if (!m) return false;
    strcpy(name, all[rng_below(r, (uint32_t)m)]);
    path_of(path, dir, name);
    size_t size;
    unsigned char *bytes = read_all(path, &size);
    switch (rng_below(r, 3)) {
    case 0:
        if (size)
            bytes[rng_below(r, (uint32_t)size)] ^= (unsigned char)(1 + rng_below(r, 255));
        break;
    case 1:
        size = (size_t)(rng_uniform(r) * (double)size);
        break;
    default:
        unlink(path);
        free(bytes);
        return true;
    }
    unlink(path);
    write_all(path, bytes, size);
    free(bytes);
    return true;
}

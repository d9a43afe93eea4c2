#include "serve/http/files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

struct files {
    char root[PATH_MAX]; /* resolved; "": none */
};

struct files *files_new(const char *dir, struct err *e)
{
    struct files *f = calloc(1, sizeof *f);
    if (!f) {
        err_set(e, ERR_MEMORY, "no memory for the pages");
        return NULL;
    }
    struct stat st;
    if (dir && (!realpath(dir, f->root) || stat(f->root, &st) || !S_ISDIR(st.st_mode))) {
        err_field(e, ERR_ABSENT, "web-dir", "%.200s is not a folder", dir);
        free(f);
        return NULL;
    }
    return f;
}

void files_free(struct files *f)
{
    free(f);
}

const char *files_type(const char *name)
{
    static const struct {
        const char *ending, *type;
    } types[] = {
        {".html", "text/html; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".mjs", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".json", "application/json"},
        {".map", "application/json"},
        {".svg", "image/svg+xml"},
        {".png", "image/png"},
        {".jpg", "image/jpeg"},
        {".ico", "image/x-icon"},
        {".woff2", "font/woff2"},
        {".txt", "text/plain; charset=utf-8"},
        {".md", "text/plain; charset=utf-8"},
        {".mpd", "application/dash+xml"},
        {".mp4", "video/mp4"},
        {".m4s", "video/iso.segment"},
    };
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof types / sizeof *types; i++)
        if (strcasecmp(dot, types[i].ending) == 0) return types[i].type;
    return NULL;
}

static bool is_plain(const char *path)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    while (*path) {
        size_t n = strcspn(path, "/");
        if (n == 0 || path[0] == '.' || strspn(path, letters) < n) return false;
        path += n;
        if (*path) path++;
    }
    return true;
}

/* Opens a file inside the root; -1: there is none. */
static int open_inside(const struct files *f, const char *path, struct stat *st)
{
    char full[PATH_MAX * 2], real[PATH_MAX];
    snprintf(full, sizeof full, "%s/%s", f->root, path);
    size_t n = strlen(f->root);
    if (!realpath(full, real) || strncmp(real, f->root, n) != 0 || real[n] != '/')
        return -1;

    int fd = open(real, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return -1;
    if (fstat(fd, st) == 0 && S_ISREG(st->st_mode)) return fd;
    close(fd);
    return -1;
}

/* Whether path is a folder with an index.html. */
static bool is_index(const struct files *f, const char *path)
{
    char name[512];
    struct stat st;
    if (snprintf(name, sizeof name, "%s/index.html", path) >= (int)sizeof name)
        return false;
    int fd = open_inside(f, name, &st);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

void files_get(struct reply *r, const struct files *f, const char *path,
               const char *if_none_match)
{
    char name[512];
    size_t n = strlen(path);
    bool folder = n == 0 || path[n - 1] == '/';
    struct stat st;
    int fd = -1;
    const char *type = NULL;

    if (f->root[0] && is_plain(path) &&
        snprintf(name, sizeof name, "%s%s", path, folder ? "index.html" : "") <
            (int)sizeof name &&
        (type = files_type(name)))
        fd = open_inside(f, name, &st);
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    if (fd < 0 && !folder && !type && strlen(last) < REPLY_VALUE - 1 && f->root[0] &&
        is_plain(path) && is_index(f, path)) {
        /* relative, so that it holds behind a proxy that adds a prefix */
        reply_empty(r, 308);
        reply_header(r, "Location", "%s/", last);
        return;
    }
    if (fd < 0) {
        reply_fail(r, 404, "", "no such page");
        return;
    }

    char tag[64];
    snprintf(tag, sizeof tag, "\"%" PRIx64 "-%" PRIx64 "%08lx\"", (uint64_t)st.st_size,
             (uint64_t)st.st_mtim.tv_sec, (unsigned long)st.st_mtim.tv_nsec);
    if (if_none_match &&
        (strstr(if_none_match, tag) || strcmp(if_none_match, "*") == 0)) {
        close(fd);
        reply_empty(r, 304);
    } else if (st.st_size == 0) {
        close(fd);
        reply_static(r, 200, type, "", 0);
    } else {
        reply_file(r, 200, type, fd, (size_t)st.st_size);
    }
    reply_header(r, "ETag", "%s", tag);
    reply_header(r, "Cache-Control", "no-cache");
}

#include "serve/store/backup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/text.h"
#include "serve/store/folder.h"

enum { PART = FOLDER_PATH + 8, NAME = FOLDER_PATH + 300, TRIES = 5 };

struct job {
    char to[FOLDER_PATH], part[PART];
    const char *from;
    struct backup_stats *out;
    store_sqlite_watch *watch;
    void *ctx;
};

static int failed(const char *path, const char *what, struct err *e)
{
    return err_field(e, ERR_IO, path, "cannot be %s: %s", what, strerror(errno));
}

static bool is_added(const char *name)
{
    static const char end[] = ".safetensors";
    size_t n = strlen(name), k = sizeof end - 1;
    return strncmp(name, "grown-", 6) == 0 && n > 6 + k && strcmp(name + n - k, end) == 0;
}

static int by_name(const struct dirent *d)
{
    return is_added(d->d_name);
}

/* Which profiles have grown: a number that changes when one more has, or one no longer. */
static uint32_t added_ones(const char *dir)
{
    struct dirent **found = NULL;
    int n = scandir(dir, &found, by_name, alphasort);
    uint32_t crc = 0;
    for (int i = 0; i < n; i++) {
        crc = bytes_crc32(crc, found[i]->d_name, strlen(found[i]->d_name) + 1);
        free(found[i]);
    }
    free(found);
    return crc;
}

/* ---- one file ---- */

static int pour(int to, int from)
{
    char buf[1 << 16];
    ssize_t n;
    while ((n = read(from, buf, sizeof buf)) != 0) {
        if (n < 0) return -1;
        for (ssize_t at = 0, k; at < n; at += k)
            if ((k = write(to, buf + at, (size_t)(n - at))) < 0) return -1;
    }
    return fsync(to);
}

/* Nothing happens when it is not there. Checkpoints are replaced by renaming, never written to: what
 * was opened is whole. */
static int copy_file(struct job *j, const char *name, struct err *e)
{
    char from[NAME], to[NAME];
    snprintf(from, sizeof from, "%s/%s", j->from, name);
    snprintf(to, sizeof to, "%s/%s", j->part, name);
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0) return errno == ENOENT ? 0 : failed(from, "read", e);
    int rc = 0, out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out < 0 || pour(out, in)) rc = failed(to, "written", e);
    close(in);
    if (out >= 0 && close(out) && !rc) rc = failed(to, "written", e);
    return rc;
}

static int copy_added(struct job *j, struct err *e)
{
    struct dirent **found = NULL;
    int rc = 0, n = scandir(j->from, &found, by_name, alphasort);
    if (n < 0) return failed(j->from, "read", e);
    for (int i = 0; i < n; i++) {
        if (!rc) rc = copy_file(j, found[i]->d_name, e);
        free(found[i]);
    }
    free(found);
    return rc;
}

static int copy_all(struct job *j, struct err *e)
{
    char from[NAME], to[NAME];
    snprintf(from, sizeof from, "%s/abrd.db", j->from);
    snprintf(to, sizeof to, "%s/abrd.db", j->part);
    int rc = copy_file(j, "policy.safetensors", e);
    if (!rc) rc = copy_file(j, "policy.safetensors.prev", e);
    if (!rc) rc = store_sqlite_copy(&j->out->store, to, from, j->watch, j->ctx, e);
    if (!rc && chmod(to, 0600)) rc = failed(to, "written", e);
    if (!rc) rc = copy_added(j, e);
    if (!rc) rc = copy_file(j, "untagged.state", e);
    if (!rc) rc = copy_file(j, "secret", e);
    return rc;
}

/* ---- the folder ---- */

/* Only what we made ourselves is in it. */
static void empty(const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *at; d && (at = readdir(d));) {
        char path[NAME];
        snprintf(path, sizeof path, "%s/%s", dir, at->d_name);
        unlink(path);
    }
    if (d) closedir(d);
}

static void count(struct job *j)
{
    DIR *d = opendir(j->part);
    struct stat st;
    j->out->files = 0;
    j->out->bytes = 0;
    for (struct dirent *at; d && (at = readdir(d));) {
        if (fstatat(dirfd(d), at->d_name, &st, 0) || !S_ISREG(st.st_mode)) continue;
        j->out->files++;
        j->out->bytes += st.st_size;
    }
    if (d) closedir(d);
}

static int backup_begin(struct job *j, const char *to, struct err *e)
{
    size_t n = strlen(to);
    while (n > 1 && to[n - 1] == '/')
        n--;
    if (!n || n >= sizeof j->to || strlen(j->from) >= FOLDER_PATH)
        return err_field(e, ERR_RANGE, to, "the path is too long, or empty");
    memcpy(j->to, to, n);
    j->to[n] = '\0';
    snprintf(j->part, sizeof j->part, "%s.part", j->to);

    char db[NAME];
    snprintf(db, sizeof db, "%s/abrd.db", j->from);
    if (access(db, F_OK))
        return errno == ENOENT ? err_field(e, ERR_ABSENT, j->from,
                                           "has no abrd.db: is it a data folder? (abrd "
                                           "doctor tells whether it was lost)")
                               : failed(db, "read", e);
    if (rmdir(j->to) && errno != ENOENT) /* an empty one may be there */
        return err_field(e, ERR_CONFLICT, j->to,
                         "is there already and cannot be replaced (%s): a backup is a "
                         "new folder",
                         strerror(errno));
    if (!mkdir(j->part, 0700)) return 0;
    if (errno != EEXIST) return failed(j->part, "made", e);
    return err_field(e, ERR_CONFLICT, j->part,
                     "is left of a backup that was cut off, or of one that runs: remove "
                     "it");
}

int backup_make(struct backup_stats *out, const char *to, const char *from,
                store_sqlite_watch *watch, void *ctx, struct err *e)
{
    *out = (struct backup_stats){0};
    struct job j = {.from = from, .out = out, .watch = watch, .ctx = ctx};
    int rc = backup_begin(&j, to, e);
    if (rc) return rc;

    bool same = false;
    for (int i = 0; i < TRIES && !rc && !same; i++) {
        empty(j.part);
        uint32_t before = added_ones(from);
        rc = copy_all(&j, e);
        same = added_ones(from) == before;
    }
    if (!rc && !same)
        rc = err_field(e, ERR_CONFLICT, from,
                       "profiles grow or are deleted all the time: try later");
    if (!rc && text_sync_folder(j.part)) rc = failed(j.part, "written", e);
    if (!rc) count(&j);
    if (!rc && rename(j.part, j.to)) rc = failed(j.to, "made", e);
    if (!rc) return text_sync_folder_of(j.to) ? failed(j.to, "written", e) : 0;
    empty(j.part);
    rmdir(j.part);
    return rc;
}

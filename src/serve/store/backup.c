#include "serve/store/backup.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/text.h"
#include "serve/store/folder.h"

enum { PART = FOLDER_PATH + 8, NAME = FOLDER_PATH + 300, TRIES = 5 };

struct backup_job {
    char to[FOLDER_PATH], part[PART];
    const char *from;
    struct backup_stats *out;
    store_sqlite_watch *watch;
    void *ctx;
};

static int backup_failed(const char *path, const char *what, struct err *e)
{
    return err_field(e, ERR_IO, path, "cannot be %s: %s", what, strerror(errno));
}

/* grown-NAME.safetensors: the experts of a profile */
static int is_added(const struct dirent *d)
{
    static const char end[] = ".safetensors";
    size_t n = strlen(d->d_name), k = sizeof end - 1;
    return strncmp(d->d_name, "grown-", 6) == 0 && n > 6 + k &&
           strcmp(d->d_name + n - k, end) == 0;
}

/* Changes when a profile gets experts of its own, or loses them. */
static uint32_t added_sum(const char *dir)
{
    struct dirent **found = NULL;
    int n = scandir(dir, &found, is_added, alphasort);
    uint32_t crc = 0;
    for (int i = 0; i < n; i++) {
        crc = bytes_crc32(crc, found[i]->d_name, strlen(found[i]->d_name) + 1);
        free(found[i]);
    }
    free(found);
    return crc;
}

/* ---- the files ---- */

/* Does nothing if the file is not there. A checkpoint is replaced by renaming and never written to:
 * what was opened is whole. */
static int copy_file(struct backup_job *j, const char *name, struct err *e)
{
    struct err why = {0};
    char from[NAME], to[NAME];
    snprintf(from, sizeof from, "%s/%s", j->from, name);
    snprintf(to, sizeof to, "%s/%s", j->part, name);
    int rc = folder_copy_file(to, from, &why);
    if (!rc || rc == ERR_ABSENT) return 0;
    return err_field(e, rc, why.field, "%s", why.detail);
}

static int copy_added(struct backup_job *j, struct err *e)
{
    struct dirent **found = NULL;
    int rc = 0, n = scandir(j->from, &found, is_added, alphasort);
    if (n < 0) return backup_failed(j->from, "read", e);
    for (int i = 0; i < n; i++) {
        if (!rc) rc = copy_file(j, found[i]->d_name, e);
        free(found[i]);
    }
    free(found);
    return rc;
}

static int copy_all(struct backup_job *j, struct err *e)
{
    char from[NAME], to[NAME];
    snprintf(from, sizeof from, "%s/abrd.db", j->from);
    snprintf(to, sizeof to, "%s/abrd.db", j->part);
    int rc = copy_file(j, "policy.safetensors", e);
    if (!rc) rc = copy_file(j, "policy.safetensors.prev", e);
    if (!rc) rc = store_sqlite_copy(&j->out->store, to, from, j->watch, j->ctx, e);
    if (!rc && chmod(to, 0600)) rc = backup_failed(to, "written", e);
    if (!rc) rc = copy_added(j, e);
    if (!rc) rc = copy_file(j, "untagged.state", e);
    if (!rc) rc = copy_file(j, "experience.state", e);
    if (!rc) rc = copy_file(j, "trial.state", e);
    if (!rc) rc = copy_file(j, "secret", e);
    return rc;
}

/* ---- the folder ---- */

/* It holds only what backup_make wrote. */
static void empty_folder(const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *at; d && (at = readdir(d));) {
        char path[NAME];
        snprintf(path, sizeof path, "%s/%s", dir, at->d_name);
        unlink(path);
    }
    if (d) closedir(d);
}

static void count_files(struct backup_job *j)
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

static int backup_begin(struct backup_job *j, const char *to, struct err *e)
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
                                           "has no abrd.db: is it a data folder? ('abrd "
                                           "doctor' says whether it was lost)")
                               : backup_failed(db, "read", e);
    if (rmdir(j->to) && errno != ENOENT) /* an empty folder is replaced */
        return err_field(e, ERR_CONFLICT, j->to,
                         "exists and cannot be replaced (%s): name a new folder for "
                         "the backup",
                         strerror(errno));
    if (!mkdir(j->part, 0700)) return 0;
    if (errno != EEXIST) return backup_failed(j->part, "made", e);
    return err_field(
        e, ERR_CONFLICT, j->part,
        "belongs to a backup that was cut off, or to one that runs: remove it "
        "if none runs");
}

int backup_make(struct backup_stats *out, const char *to, const char *from,
                store_sqlite_watch *watch, void *ctx, struct err *e)
{
    *out = (struct backup_stats){0};
    struct backup_job j = {.from = from, .out = out, .watch = watch, .ctx = ctx};
    int rc = backup_begin(&j, to, e);
    if (rc) return rc;

    bool same = false;
    for (int i = 0; i < TRIES && !rc && !same; i++) {
        empty_folder(j.part);
        uint32_t before = added_sum(from);
        rc = copy_all(&j, e);
        same = added_sum(from) == before;
    }
    if (!rc && !same)
        rc = err_field(e, ERR_CONFLICT, from,
                       "profiles with added experts change all the time: try later");
    if (!rc && text_sync_folder(j.part)) rc = backup_failed(j.part, "written", e);
    if (!rc) count_files(&j);
    if (!rc && rename(j.part, j.to)) rc = backup_failed(j.to, "made", e);
    if (!rc) return text_sync_folder_of(j.to) ? backup_failed(j.to, "written", e) : 0;
    empty_folder(j.part);
    rmdir(j.part);
    return rc;
}

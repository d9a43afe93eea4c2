#include "serve/store/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abr/deciders/forecast_own.h"
#include "base/text.h"
#include "learn/ckpt.h"

static int file_path(char out[FOLDER_PATH], const char *dir, const char *file,
                     struct err *e)
{
    if (snprintf(out, FOLDER_PATH, "%s/%s", dir, file) < FOLDER_PATH) return 0;
    return err_field(e, ERR_RANGE, "data", "the path is too long");
}

int folder_open(struct folder *f, const char *dir, struct err *e)
{
    *f = (struct folder){.lock = -1};
    if (!dir) return 0;

    if (mkdir(dir, 0755) && errno != EEXIST)
        return err_field(e, ERR_IO, dir, "cannot be made: %s", strerror(errno));
    char lock[FOLDER_PATH];
    int rc = file_path(lock, dir, "lock", e);
    if (!rc) rc = file_path(f->db, dir, "abrd.db", e);
    if (!rc) rc = file_path(f->policy, dir, "policy.safetensors", e);
    if (!rc) rc = file_path(f->hintless, dir, "untagged.state", e);
    if (!rc) rc = file_path(f->secret, dir, "secret", e);
    if (!rc) rc = file_path(f->experience, dir, "experience.state", e);
    if (!rc) rc = file_path(f->trial, dir, "trial.state", e);
    if (rc) return rc;

    f->used = !access(f->db, F_OK);
    f->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (f->lock < 0)
        return err_field(e, ERR_IO, lock, "cannot be written: %s", strerror(errno));
    if (!flock(f->lock, LOCK_EX | LOCK_NB)) return 0;
    rc = errno == EWOULDBLOCK
             ? err_field(e, ERR_CONFLICT, dir, "is in use by another abrd")
             : err_field(e, ERR_IO, lock, "cannot be locked: %s", strerror(errno));
    folder_close(f);
    return rc;
}

void folder_close(struct folder *f)
{
    if (f->lock >= 0) close(f->lock);
    f->lock = -1;
}

bool folder_in_use(const char *dir)
{
    char path[FOLDER_PATH];
    int fd = file_path(path, dir, "lock", NULL) ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool busy = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return busy;
}

/* Reads to the end, writes all of it, and puts it on the disk. */
static int copy_bytes(int to, int from)
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

int folder_copy_file(const char *to, const char *from, struct err *e)
{
    int in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return err_field(e, errno == ENOENT ? ERR_ABSENT : ERR_IO, from,
                         "cannot be read: %s", strerror(errno));
    int rc = 0, out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out < 0 || copy_bytes(out, in))
        rc = err_field(e, ERR_IO, to, "cannot be written: %s", strerror(errno));
    close(in);
    if (out >= 0 && close(out) && !rc)
        rc = err_field(e, ERR_IO, to, "cannot be written: %s", strerror(errno));
    return rc;
}

static void keep_as_bad(const char *path)
{
    char bad[FOLDER_PATH + 8];
    snprintf(bad, sizeof bad, "%s.bad", path);
    rename(path, bad);
}

void folder_misses(struct folder *f, const struct log *log, const char *event,
                   const char *path, const char *otherwise)
{
    f->missing++;
    log_event(log, LOG_WARN, event,
              "%s is not there: restore it from a backup; otherwise %s", path, otherwise);
}

void folder_keep_bad(struct folder *f, const char *path)
{
    f->refused++;
    keep_as_bad(path);
}

void folder_hintless(struct folder *f, const struct log *log)
{
    if (f->lock >= 0 && f->used && access(f->hintless, F_OK))
        folder_misses(f, log, "slot", f->hintless,
                      "learning about viewers without a hint starts from nothing");
}

/* ---- the secret ---- */

static bool secret_parse(uint8_t out[SIPHASH_KEY], const char *text, ssize_t n)
{
    if (n != 2 * SIPHASH_KEY + 1 || text[n - 1] != '\n') return false;
    for (int i = 0; i < 2 * SIPHASH_KEY; i++) {
        const char *digits = "0123456789abcdef", *at = strchr(digits, text[i]);
        if (!text[i] || !at) return false;
        out[i / 2] = (uint8_t)(out[i / 2] << 4 | (at - digits));
    }
    return true;
}

static int secret_write(const char *path, const uint8_t secret[SIPHASH_KEY],
                        struct err *e)
{
    char part[FOLDER_PATH + 8], text[2 * SIPHASH_KEY + 2];
    for (int i = 0; i < SIPHASH_KEY; i++)
        snprintf(text + 2 * i, sizeof text - 2 * (size_t)i, "%02x", secret[i]);
    text[2 * SIPHASH_KEY] = '\n';
    snprintf(part, sizeof part, "%s.part", path);
    unlink(part); /* of a killed start */
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1 &&
              fsync(fd) == 0;
    if (fd >= 0) ok = close(fd) == 0 && ok;
    if (ok) ok = !rename(part, path) && !text_sync_folder_of(path);
    return ok ? 0 : err_field(e, ERR_IO, path, "cannot be written: %s", strerror(errno));
}

int folder_secret(struct folder *f, uint8_t out[SIPHASH_KEY], const struct entropy *from,
                  const struct log *log, struct err *e)
{
    char text[2 * SIPHASH_KEY + 8];
    int fd = f->lock >= 0 ? open(f->secret, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0 && f->lock >= 0 && errno != ENOENT)
        return err_field(e, ERR_IO, f->secret, "cannot be read: %s", strerror(errno));
    if (fd >= 0) {
        ssize_t n = read(fd, text, sizeof text);
        close(fd);
        if (secret_parse(out, text, n)) return 0;
        f->refused++;
        keep_as_bad(f->secret);
    }
    int rc = entropy_draw(from, out, SIPHASH_KEY, e);
    if (rc || f->lock < 0) return rc;
    if (fd >= 0)
        log_event(log, LOG_ERROR, "secret",
                  "%s is damaged: a new one decides which sessions explore", f->secret);
    else if (f->used)
        folder_misses(f, log, "secret", f->secret,
                      "a new one decides which sessions explore");
    return secret_write(f->secret, out, e);
}

/* NULL when it is not there or is damaged (then it is kept as .bad). */
static struct policy *load_own(struct folder *f, const char *path, struct ckpt_meta *meta,
                               void **state, size_t *state_n, const struct log *log)
{
    struct err why = {0};
    struct policy *p = ckpt_load(path, meta, state, state_n, &why);
    if (p) {
        snprintf(f->from, sizeof f->from, "%s", path);
    } else if (why.code != ERR_ABSENT) {
        log_err(log, LOG_ERROR, "policy", &why);
        f->refused++;
        keep_as_bad(path);
    }
    return p;
}

/* A policy from elsewhere. It must have been trained with the viewers' weights as inputs. */
static struct policy *load_given(const char *path, struct ckpt_meta *meta, struct err *e)
{
    struct policy *p = ckpt_load(path, meta, NULL, NULL, e);
    const char *layout = ckpt_meta_get(meta, "layout");
    if (p && layout && strcmp(layout, "blind") == 0) {
        err_field(e, ERR_INVALID, path,
                  "was trained without the viewers' weights as inputs (layout "
                  "'blind'): it can be evaluated, not served");
        policy_free(p);
        p = NULL;
    }
    return p;
}

static struct policy *folder_find(struct folder *f, const char *fallback,
                                  struct ckpt_meta *meta, void **state, size_t *state_n,
                                  const struct log *log, struct err *e)
{
    struct policy *p = NULL;
    if (f->lock >= 0) {
        char prev[FOLDER_PATH + 8];
        snprintf(prev, sizeof prev, "%s.prev", f->policy);
        uint64_t before = f->refused;
        p = load_own(f, f->policy, meta, state, state_n, log);
        bool gone = !p && access(f->policy, F_OK) && f->refused == before;
        if (!p) p = load_own(f, prev, meta, state, state_n, log);
        if (p && gone)
            folder_misses(f, log, "policy", f->policy,
                          "it continues from policy.safetensors.prev, the one before");
    }
    if (p) return p;

    if (!fallback) {
        err_field(e, ERR_ABSENT, "policy", "no policy is given: name a checkpoint");
        return NULL;
    }
    p = load_given(fallback, meta, e);
    if (p) snprintf(f->from, sizeof f->from, "%s", fallback);
    return p;
}

struct policy *folder_policy(struct folder *f, const char *fallback,
                             struct ckpt_meta *meta, void **state, size_t *state_n,
                             const struct log *log, struct err *e)
{
    *state = NULL;
    *state_n = 0;
    struct ckpt_meta *own = calloc(1, sizeof *own); /* 18 kB: too much for a stack */
    if (!own) {
        err_set(e, ERR_MEMORY, "no memory for the policy");
        return NULL;
    }
    struct policy *p = folder_find(f, fallback, own, state, state_n, log, e);
    if (p && forecast_own_drop_foreign(p))
        log_event(log, LOG_WARN, "policy",
                  "%s: its correction of the forecast is dropped: it was fitted to the "
                  "forecast of another program",
                  f->from);
    if (p && meta) *meta = *own;
    free(own);
    return p;
}

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* strtod also accepts hex, inf, nan and leading white space, so the characters are checked first. The
 * daemon never calls setlocale, so the decimal point is a point. */
static bool looks_decimal(const char *s)
{
    if (*s == '-' || *s == '+') s++;
    if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) return false;
    return (*s >= '0' && *s <= '9') || (*s == '.' && s[1] >= '0' && s[1] <= '9');
}

int text_double(double *out, const char *s, double lo, double hi, const char *what,
                struct err *e)
{
    char *end = NULL;
    double v = looks_decimal(s) ? strtod(s, &end) : 0.0;
    if (!end || *end || !isfinite(v))
        return err_field(e, ERR_INVALID, what, "'%.40s' is not a number", s);
    if (v < lo || v > hi)
        return err_field(e, ERR_RANGE, what, "%g is not within %g .. %g", v, lo, hi);
    *out = v;
    return 0;
}

int text_int(int64_t *out, const char *s, int64_t lo, int64_t hi, const char *what,
             struct err *e)
{
    char *end = NULL;
    errno = 0;
    long long v = looks_decimal(s) ? strtoll(s, &end, 10) : 0;
    if (!end || *end || end == s)
        return err_field(e, ERR_INVALID, what, "'%.40s' is not a whole number", s);
    if (errno == ERANGE || v < lo || v > hi)
        return err_field(e, ERR_RANGE, what, "%.40s is not within %lld .. %lld", s,
                         (long long)lo, (long long)hi);
    *out = v;
    return 0;
}

int text_u64(uint64_t *out, const char *s, const char *what, struct err *e)
{
    char *end = NULL;
    errno = 0;
    unsigned long long v = *s >= '0' && *s <= '9' ? strtoull(s, &end, 10) : 0;
    if (!end || *end)
        return err_field(e, ERR_INVALID, what, "'%.40s' is not a whole number >= 0", s);
    if (errno == ERANGE)
        return err_field(e, ERR_RANGE, what, "%.40s does not fit 64 bits", s);
    *out = v;
    return 0;
}

int text_scan_double(double *out, const char **s, struct err *e)
{
    const char *p = *s + strspn(*s, " \t");
    char *end = NULL;
    double v = looks_decimal(p) ? strtod(p, &end) : 0.0;
    if (!end || !isfinite(v))
        return err_set(e, ERR_INVALID, "'%.20s' is not a number", p);
    *out = v;
    *s = end;
    return 0;
}

static int text_smaller(int a, int b)
{
    return a < b ? a : b;
}

int text_distance(const char *a, const char *b)
{
    int row[TEXT_DISTANCE_MAX + 1], n = (int)strnlen(b, TEXT_DISTANCE_MAX + 1);
    if (n > TEXT_DISTANCE_MAX || strlen(a) > TEXT_DISTANCE_MAX) return INT_MAX;
    for (int j = 0; j <= n; j++)
        row[j] = j;

    /* row i of the table replaces row i-1; corner is the entry above and to the left */
    for (int i = 1; a[i - 1]; i++) {
        int corner = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int swap = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            row[j] = text_smaller(swap, 1 + text_smaller(row[j], row[j - 1]));
        }
    }
    return row[n];
}

void text_put(struct text_buffer *b, const char *bytes, size_t n)
{
    if (b->n + n + 1 > b->cap) {
        size_t cap = 2 * (b->n + n) + 256;
        char *more = b->no_memory ? NULL : realloc(b->text, cap);
        if (!more) {
            b->no_memory = true;
            return;
        }
        b->text = more;
        b->cap = cap;
    }
    memcpy(b->text + b->n, bytes, n);
    b->n += n;
    b->text[b->n] = '\0';
}

char *text_read_file(const char *path, size_t limit, size_t *len, struct err *e)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        err_field(e, errno == ENOENT ? ERR_ABSENT : ERR_IO, path, "%s", strerror(errno));
        return NULL;
    }

    size_t cap = 64 * 1024, n = 0;
    char *buf = malloc(cap);
    while (buf) {
        n += fread(buf + n, 1, cap - 1 - n, f);
        if (n < cap - 1 || n > limit) break;
        char *more = realloc(buf, cap *= 2);
        if (!more) free(buf);
        buf = more;
    }

    if (!buf) {
        err_field(e, ERR_MEMORY, path, "out of memory after %zu bytes", n);
    } else if (ferror(f)) {
        err_field(e, ERR_IO, path, "%s", strerror(errno));
        free(buf);
        buf = NULL;
    } else if (n > limit) {
        err_field(e, ERR_RANGE, path, "is larger than the limit of %zu bytes", limit);
        free(buf);
        buf = NULL;
    } else {
        buf[n] = '\0';
        if (len) *len = n;
    }
    fclose(f);
    return buf;
}

static int write_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t w = write(fd, p, n);
        if (w < 0 && errno == EINTR) continue;
        if (w < 0) return -1;
        p += w;
        n -= (size_t)w;
    }
    return 0;
}

int text_sync_folder(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return -1;
    int rc = fsync(fd);
    close(fd);
    return rc;
}

const char *text_folder_of(char out[PATH_MAX], const char *path)
{
    snprintf(out, PATH_MAX, "%s", path);
    char *slash = strrchr(out, '/');
    if (!slash) return strcpy(out, ".");
    slash[slash == out ? 1 : 0] = '\0';
    return out;
}

int text_sync_folder_of(const char *path)
{
    char dir[PATH_MAX];
    return text_sync_folder(text_folder_of(dir, path));
}

static int write_in_place(const char *path, const void *data, size_t len, struct err *e)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write_all(fd, data, len) == 0;
    int why = errno;
    if (fd >= 0) close(fd);
    return ok ? 0 : err_field(e, ERR_IO, path, "cannot be written: %s", strerror(why));
}

bool text_is_special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

const char *text_link_target(char out[PATH_MAX], const char *path)
{
    struct stat st;
    bool link = lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
    return link && realpath(path, out) ? out : path;
}

int text_write_file(const char *path, const void *data, size_t len, struct err *e)
{
    if (text_is_special(path)) return write_in_place(path, data, len, e);

    char tmp[4096], target[PATH_MAX];
    path = text_link_target(target, path);
    if (snprintf(tmp, sizeof tmp, "%s.tmp", path) >= (int)sizeof tmp)
        return err_field(e, ERR_RANGE, path, "the path is too long");

    int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return err_field(e, ERR_IO, tmp, "%s", strerror(errno));

    bool ok = write_all(fd, data, len) == 0 && fsync(fd) == 0;
    int why = errno;
    if (close(fd) && ok) {
        ok = false;
        why = errno;
    }
    if (ok && (rename(tmp, path) || text_sync_folder_of(path))) {
        ok = false;
        why = errno;
    }
    if (ok) return 0;

    unlink(tmp);
    return err_field(e, ERR_IO, path, "cannot be written: %s", strerror(why));
}

int text_utf8(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80) return s[0] >= 0x20 && s[0] != 0x7f;
    int more = s[0] >= 0xc2 && s[0] < 0xe0   ? 1
               : s[0] >= 0xe0 && s[0] < 0xf0 ? 2
               : s[0] >= 0xf0 && s[0] < 0xf5 ? 3
                                             : 0;
    for (int i = 1; i <= more; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (s[0] == 0xc2 && s[1] < 0xa0) return 0; /* the second set of control characters */
    /* overlong forms, surrogates, beyond the last plane */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)) return 0;
    if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)) return 0;
    return more ? more + 1 : 0;
}

void text_clean(char *out, size_t size, const char *s)
{
    size_t n = 0;
    while (*s) {
        int len = text_utf8(s);
        size_t step = len ? (size_t)len : 1;
        if (n + step >= size) break;
        if (len)
            memcpy(out + n, s, step);
        else
            out[n] = '?';
        n += step;
        s += step;
    }
    out[n] = '\0';
}

void text_put_csv(FILE *f, const char *s)
{
    if (!strpbrk(s, ",\"\r\n")) {
        fputs(s, f);
        return;
    }
    fputc('"', f);
    for (; *s; s++) {
        if (*s == '"') fputc('"', f);
        fputc(*s, f);
    }
    fputc('"', f);
}

void text_last_component(char *out, size_t size, const char *path)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t from = end;
    while (from > 0 && path[from - 1] != '/')
        from--;
    snprintf(out, size, "%.*s", (int)(end - from), path + from);
}

#undef text_refuse /* defined for analysers */
int text_refuse(const char *name, int line, int code, struct err *e, const char *fmt, ...)
{
    char raw[sizeof e->detail], detail[sizeof e->detail];
    char field[sizeof e->field], where[16] = "";
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(raw, sizeof raw, fmt, ap);
    va_end(ap);
    text_clean(detail, sizeof detail, raw);

    /* a long name loses its beginning, never its line */
    if (line) snprintf(where, sizeof where, ":%d", line);
    char shown[256]; /* a file name */
    text_clean(shown, sizeof shown, name);
    size_t room = sizeof field - sizeof where, len = strlen(shown);
    const char *tail = len > room ? shown + (len - room) : shown;
    while (((unsigned char)*tail & 0xc0) == 0x80)
        tail++;
    snprintf(field, sizeof field, "%.*s%s", (int)room, tail, where);
    return err_field(e, code, field, "%s", detail);
}

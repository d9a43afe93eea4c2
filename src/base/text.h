/* text.h - strict reading of numbers and of text files.
 *
 * Numbers: the whole string is one decimal number, independent of the locale. "12x", "", " 1",
 * "0x10", "nan" and "1e999" are refused.
 * Files: read whole, up to a limit, so that a huge or endless input is an error.
 *
 * Errors: ERR_INVALID, ERR_RANGE, ERR_IO, ERR_MEMORY.
 * Threads: pure functions. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TEXT_CHECK __attribute__((warn_unused_result))

/* `what` names the thing in the error message ("--seed", "line 3"). */
TEXT_CHECK int text_double(double *out, const char *s, double lo, double hi,
                           const char *what, struct err *e);
TEXT_CHECK int text_int(int64_t *out, const char *s, int64_t lo, int64_t hi,
                        const char *what, struct err *e);
TEXT_CHECK int text_u64(uint64_t *out, const char *s, const char *what, struct err *e);

/* Reads one number at *s, after spaces and tabs, and moves *s behind it. ERR_INVALID when there is no
 * number or it is not finite. */
TEXT_CHECK int text_scan_double(double *out, const char **s, struct err *e);

/* A text that grows. All zero at first; text is owned, with a NUL behind n bytes. After a failure to grow
 * no_memory stays set. */
struct text_buffer {
    char *text;
    size_t n, cap;
    bool no_memory;
};

void text_put(struct text_buffer *b, const char *bytes, size_t n);

/* Levenshtein distance of a and b, for "did you mean". INT_MAX when one is longer than
 * TEXT_DISTANCE_MAX. */
#define TEXT_DISTANCE_MAX 64
int text_distance(const char *a, const char *b);

/* The file's bytes and a NUL, owned by the caller; NULL on failure. ERR_RANGE for a file over `limit`
 * bytes. len may be NULL. */
char *text_read_file(const char *path, size_t limit, size_t *len, struct err *e);

/* The folder of a path, in out; "." if the path names none. Longer paths are cut off. */
const char *text_folder_of(char out[PATH_MAX], const char *path);

/* Whether path is a device, a pipe or a socket, which a rename must not replace. */
bool text_is_special(const char *path);
/* The file that a symbolic link leads to, in out; path itself if it is no link or leads nowhere. */
const char *text_link_target(char out[PATH_MAX], const char *path);

/* Writes path.tmp, fsyncs it, renames it to path and fsyncs the folder. After a crash the path holds
 * the old bytes or the new ones, never a mixture. An existing device or pipe is written to directly.
 * A symbolic link stays: the file that it leads to is replaced. */
TEXT_CHECK int text_write_file(const char *path, const void *data, size_t len,
                               struct err *e);

/* Fsyncs a folder, or the folder of a path, so that files that were made, renamed or removed in it
 * are durable. 0, or -1 with errno. */
TEXT_CHECK int text_sync_folder(const char *dir);
TEXT_CHECK int text_sync_folder_of(const char *path);

/* Bytes of the printable UTF-8 character at s, 0 when there is none (RFC 3629: no overlong forms, no
 * surrogates, at most U+10FFFF; no control characters). */
int text_utf8(const char *s);

/* Copies s for people and JSON. Bytes that are not printable UTF-8 become '?'. A text that does not
 * fit is cut between characters. */
void text_clean(char *out, size_t size, const char *s);

/* Writes one field of a CSV line, with quotes where RFC 4180 needs them. */
void text_put_csv(FILE *f, const char *s);

/* "a/b/c", "c" and "a/b/c/" all give "c". A result that does not fit is cut. */
void text_last_component(char *out, size_t size, const char *path);

/* Records that the input `name` is refused at a line (0: as a whole). e->field becomes "name:line"; a
 * long name loses its beginning. Field and detail pass through text_clean. Returns code. */
int text_refuse(const char *name, int line, int code, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

#ifdef __clang_analyzer__ /* as in err.h */
#define text_refuse(name, line, code, ...) \
    (text_refuse(name, line, code, __VA_ARGS__), (code))
#endif

#endif

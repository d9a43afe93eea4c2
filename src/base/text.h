/* text.h - strict reading of numbers and of text files.
 *
 * Numbers: the whole string must be one number ("12x", "", " 1", "0x10", "nan", "1e999"
 * are refused), decimal, independent of the locale.
 * Files: read whole, with a limit, so that a huge or endless input is an error.
 *
 * Errors: ERR_INVALID, ERR_RANGE, ERR_IO, ERR_MEMORY.
 * Threads: pure functions. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/err.h"

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

/* Scans one number at *s (spaces and tabs before it are skipped) and moves *s behind it.
 * ERR_INVALID when there is none or it is not finite. */
TEXT_CHECK int text_scan_double(double *out, const char **s, struct err *e);

/* How many characters have to be typed, dropped or changed to make a into b (Levenshtein): for
 * "did you mean". INT_MAX when either is longer than TEXT_DISTANCE_MAX. */
#define TEXT_DISTANCE_MAX 64
int text_distance(const char *a, const char *b);

/* The file's bytes with a NUL behind them, owned by the caller; NULL on failure. A file
 * over `limit` bytes is ERR_RANGE. len may be NULL. */
char *text_read_file(const char *path, size_t limit, size_t *len, struct err *e);

/* Writes path.tmp, fsyncs it, renames it over path and fsyncs the folder: after a crash
 * the path holds the old bytes or the new, never a mixture. What is there and not a regular
 * file (a device, a pipe) is written to instead. */
TEXT_CHECK int text_write_file(const char *path, const void *data, size_t len,
                               struct err *e);

/* What was made, renamed or removed in a folder, or in that of a path, is on the disk. 0, or -1 with
 * errno. */
TEXT_CHECK int text_sync_folder(const char *dir);
TEXT_CHECK int text_sync_folder_of(const char *path);

/* Bytes of the printable UTF-8 character at s (RFC 3629: no overlong forms, no surrogates, at
 * most U+10FFFF; no control characters); 0 when there is none. */
int text_utf8(const char *s);

/* Copies s for people and JSON to read: bytes that are not printable UTF-8 become '?', and
 * what does not fit is cut between characters. */
void text_clean(char *out, size_t size, const char *s);

/* One field of a line of comma-separated values, quoted where it has to be (RFC 4180). */
void text_put_csv(FILE *f, const char *s);

/* "a/b/c", "c" and "a/b/c/" all give "c"; what does not fit is cut. */
void text_last_component(char *out, size_t size, const char *path);

/* Records that the input `name` is refused at a line (0: as a whole): e->field becomes
 * "name:line", a long name losing its beginning, and both are cleaned. Returns code. */
int text_refuse(const char *name, int line, int code, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

#ifdef __clang_analyzer__ /* as in err.h */
#define text_refuse(name, line, code, ...) \
    (text_refuse(name, line, code, __VA_ARGS__), (code))
#endif

#endif

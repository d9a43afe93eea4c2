/* err.h - why a function failed: a code, the field to blame, one sentence.
 *
 * Functions that can fail return 0 or one of the negative ERR_* codes. They write the reason into
 * an optional last argument `struct err *e`. The first failure wins: a struct err that already
 * holds a failure is not overwritten. So the message names the cause and not its consequences.
 *
 * Ownership: fixed size, the caller's; nothing to free. Start from `struct err e = {0}`.
 * Threads: not shared. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

enum err_code {
    ERR_NONE = 0,
    ERR_IO = -1,       /* a system call failed */
    ERR_MEMORY = -2,   /* allocation failed */
    ERR_INVALID = -3,  /* malformed input: syntax, type, missing field */
    ERR_RANGE = -4,    /* well-formed, but outside its limits */
    ERR_ABSENT = -5,   /* named thing does not exist */
    ERR_CONFLICT = -6, /* contradicts what is already there */
    ERR_FULL = -7,     /* a bounded table or queue has no room */
    ERR_CORRUPT = -8,  /* checksum or structure of a file is wrong */
    ERR_NUMERIC = -9,  /* NaN, infinity, exploding loss, refused weights */
};

struct err {
    int code;
    char field[64];   /* the field, option or file:line to blame; may be "" */
    char detail[256]; /* one sentence, no newline: what is wrong and what to do */
};

/* Records the failure, unless e is NULL or already holds one. Returns code. */
int err_set(struct err *e, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, with the field to blame. */
int err_field(struct err *e, int code, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#ifdef __clang_analyzer__ /* the analyzer does not read err.c */
#define err_set(e, code, ...) (err_set(e, code, __VA_ARGS__), (code))
#define err_field(e, code, ...) (err_field(e, code, __VA_ARGS__), (code))
#endif

/* Short lower-case word for a code: "io", "memory", ... */
const char *err_word(int code);

#endif

/* field.h - a table of named fields: one row declares a member of a struct.
 *
 *   struct cfg { double ttl_s; bool strict; enum level level; };
 *   static const char *const LEVELS[] = {"error", "warn", NULL};
 *   static const struct field FIELDS[] = {
 *       {"ttl", "S", "close a session after S seconds", FIELD(struct cfg, ttl_s), .lo = 1,
 *        .hi = 1e6, .unit = "seconds", .group = "sessions", .flags = FIELD_LIVE},
 *       {"level", "LEVEL", "least severe event to log", FIELD(struct cfg, level), .words = LEVELS},
 *       {0},
 *   };
 *
 * From such a table follow the command line (cli/opt.h), the configuration file (field_file), --help
 * and the manual page (cli/man.h), the request's JSON (serve/wire/wire.h), the checks of a
 * configuration (field_check) and the reference in README.md. What the struct holds before anything is
 * read is the default.
 *
 * FIELD takes the type from the member. FIELD_TO(variable) is a row for a variable of the caller
 * instead. field_bind turns rows of the first kind into rows of the second, so that the tables of
 * several structs can be joined. Functions that have no `base` take bound rows only.
 *
 *   bool          a switch; with words a choice of two, {"off", "on"}
 *   int, int64_t, uint64_t, double     a number within lo .. hi; lo = hi = 0: any
 *   an enum       one of words, in the order of the enum
 *   const char *  a text, borrowed from what was read
 *   char[n]       a text, copied; at most n - 1 bytes
 *   struct field_list                  texts between commas
 *   double[n]     JSON and figures only
 *
 * A configuration file has one `key = value` per line. Blanks around key and value do not count. '#'
 * at the start of a word begins a comment. A value in double quotes is taken as it is. '-' and '_' in
 * keys are the same. An empty text leaves the default.
 *
 * Errors name the row in e->field, and in e->detail the value, the limits and the unit. ERR_INVALID: not
 * of the type, none of the words, an unknown key. ERR_RANGE: outside the limits, too long. ERR_CONFLICT:
 * a key that is set twice. From a file e->field is "file:line", and e->detail begins with the key.
 * Threads: pure functions. */
#ifndef BASE_FIELD_H
#define BASE_FIELD_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIELD_LIST_MAX 64         /* items */
#define FIELD_TABLE_MAX 128       /* rows of joined tables */
#define FIELD_FILE_MAX (64 << 10) /* bytes of a configuration file */
#define FIELD_TEXT_MAX 1024       /* bytes of a value that is shown */

struct field_list {
    int n;
    const char *item[FIELD_LIST_MAX];
};

enum field_type {
    FIELD_FLAG,
    FIELD_INT,
    FIELD_INT64,
    FIELD_UINT64,
    FIELD_REAL,
    FIELD_WORD, /* an enum */
    FIELD_TEXT,
    FIELD_CHARS,
    FIELD_LIST,
    FIELD_REALS,  /* a JSON array of numbers */
    FIELD_COUNTS, /* figures only: uint64_t[n] */
    FIELD_NAMES,  /* figures only: char[n][size], not found by FIELD */
    FIELD_OBJECT, /* a JSON object; its rows are in `fields` */
    FIELD_ANY,    /* any JSON, skipped; a row named "*" stands for all unknown names */
};

enum {
    FIELD_LIVE = 1 << 0,     /* SIGHUP takes it over */
    FIELD_ADVANCED = 1 << 1, /* shown by --help-all only */
    FIELD_SECRET = 1 << 2,   /* the value is never shown */
    FIELD_NO_FILE = 1 << 3,  /* not a key of the configuration file */
    FIELD_WHOLE_ITEMS =
        1 << 4, /* list: each use of the option is one item, commas included */
    FIELD_OUTPUT =
        1 << 5, /* a file to write; "-" is stdout, for one such option at most */
    FIELD_REQUIRED = 1 << 6,     /* JSON: must be given */
    FIELD_NULL_IS_ZERO = 1 << 7, /* JSON: a null in the array is 0 */
    FIELD_NULL_IS_NAN = 1 << 8, /* JSON: a null in the array is NaN, as 0 has a meaning */
};

struct field {
    const char *name; /* NULL ends the table */
    const char *arg;  /* placeholder in the help; NULL: a switch */
    const char *help;
    enum field_type type;
    size_t at, size;          /* place in the struct; bytes */
    void *to;                 /* bound rows: the place itself */
    double lo, hi;            /* as the user writes the value */
    double scale;             /* the member is the user's number times this; 0 = 1 */
    const char *unit;         /* "seconds" */
    const char *const *words; /* ended by NULL */
    const char *shown;        /* the default in the help, if it depends on the machine */
    const char *
        group; /* heading in the help; NULL: none, or that of the row before (field_bind) */
    unsigned flags;
    /* JSON */
    size_t has; /* FIELD_PLACE of a bool: the value is there and not null */
    size_t n;   /* FIELD_PLACE of an int: the length of the array */
    const struct field *fields; /* of FIELD_OBJECT; places in the same struct */
};

/* No default: a member of another type does not compile. */
#define FIELD_TYPE_OF(x) \
    _Generic((x),                      \
        bool: FIELD_FLAG,              \
        int: FIELD_INT,                \
        int64_t: FIELD_INT64,          \
        uint64_t: FIELD_UINT64,        \
        double: FIELD_REAL,            \
        unsigned: FIELD_WORD,          \
        const char *: FIELD_TEXT,      \
        char *: FIELD_CHARS,           \
        double *: FIELD_REALS,         \
        uint64_t *: FIELD_COUNTS,      \
        struct field_list: FIELD_LIST)
#define FIELD(tag, member)                                                  \
    .type = FIELD_TYPE_OF(((tag *)0)->member), .at = offsetof(tag, member), \
    .size = sizeof(((tag *)0)->member)
/* A further member of the struct; 0 means none, and the first member is not 0. */
#define FIELD_PLACE(tag, member) (offsetof(tag, member) + 1)
#define FIELD_TO(x) .type = FIELD_TYPE_OF(x), .size = sizeof(x), .to = &(x)

/* Where the row's value is; where the member of a FIELD_PLACE is, NULL for 0. */
static inline void *field_place(const struct field *f, const void *base)
{
    return f->to ? f->to : (char *)(uintptr_t)base + f->at;
}
static inline void *field_member(const void *base, size_t place)
{
    return place ? (char *)(uintptr_t)base + place - 1 : NULL;
}

/* The row of that name, '_' for '-' allowed; NULL: none. */
const struct field *field_find(const struct field *rows, const char *name, size_t n);
/* The name that was probably meant: at most two letters differ, or a third of them. NULL: none is
 * near. */
const char *field_nearest(const struct field *rows, const char *name);

/* Appends `rows`, bound to *base, to the out table of FIELD_TABLE_MAX + 1 rows. */
void field_bind(struct field *out, const struct field *rows, const void *base);

/* Sets the value from text. text NULL: the switch is on. more: a list is extended instead of
 * replaced. Lists are cut up in place, texts are borrowed. */
int field_read(const struct field *f, char *text, bool more, struct err *e)
    __attribute__((warn_unused_result));

/* The value as text, "" for none; out (n). */
void field_show(char *out, size_t n, const struct field *f, const void *base);
/* The default as the help shows it: `shown` or the value. */
void field_default(char *out, size_t n, const struct field *f, const void *base);
bool field_same(const struct field *a, const struct field *b);

/* Are the numbers and enums of *base within the limits of their rows? ERR_RANGE. */
int field_check(const struct field *rows, const void *base, struct err *e)
    __attribute__((warn_unused_result));

/* Reads a configuration file into bound rows. *text is the file's bytes, owned by the caller, which
 * the values point into; it is set on failure, too. Values may be set in part then. ERR_ABSENT,
 * ERR_IO, ERR_RANGE (over FIELD_FILE_MAX), and as above. */
int field_file(char **text, const char *path, const struct field *rows, struct err *e)
    __attribute__((warn_unused_result));
/* The same on n bytes with a NUL behind them, which are cut up in place. */
int field_parse(char *text, size_t n, const char *name, const struct field *rows,
                struct err *e) __attribute__((warn_unused_result));

#endif

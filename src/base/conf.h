/* conf.h - a configuration file: one `key = value` per line.
 *
 *   # a comment
 *   port = 8080
 *   data = /var/lib/abrd        # a comment too
 *   name = "with # and blanks kept "
 *
 * The caller's table says which keys there are, their types and limits. What the targets hold
 * before is the default: a key that is not in the file leaves it alone. Blanks around key and
 * value do not count; a value in double quotes is taken as it is.
 *
 *   const struct conf_key keys[] = {
 *       {"port", .i = &port, .lo = 1, .hi = 65535},
 *       {"data", .text = dir, .size = sizeof dir},
 *       {0},
 *   };
 *
 * Exactly one target per key; lo = hi = 0 means any number.
 *
 * Errors: e->field is "file:line". ERR_INVALID no '=', unknown key (the message names the
 * known ones), bad value; ERR_RANGE value outside its limits or too long; ERR_CONFLICT key given
 * twice; those of text_read_file. Targets may then hold a part of the file's values.
 * Threads: pure functions. */
#ifndef BASE_CONF_H
#define BASE_CONF_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONF_KEYS_MAX 128
#define CONF_FILE_MAX (64 << 10) /* bytes */

struct conf_key {
    const char *name; /* NULL ends the table */
    bool *flag;       /* true/false, yes/no, on/off, 1/0 */
    int *i;
    uint64_t *u64;
    double *d;
    char *text;  /* copied, always NUL-ended */
    size_t size; /* of text */
    double lo, hi;
};

int conf_read(const char *path, const struct conf_key *keys, struct err *e)
    __attribute__((warn_unused_result));

/* The same on n bytes that came from `name`. */
int conf_parse(const char *data, size_t n, const char *name, const struct conf_key *keys,
               struct err *e) __attribute__((warn_unused_result));

#endif

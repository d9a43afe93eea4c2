/* labels.h - what an application says of a session: its device, CDN, country and so on.
 *
 * A label is a key of labels_keys and a value of 1 to 31 characters of [A-Za-z0-9._-]. "" is no label.
 * Labels select sessions in lists, reports and figures. Decisions do not depend on them, with one
 * exception: the label `network` tells apart the links of one network of addresses (networks.h).
 *
 * A filter is a struct labels too: a session fits if it has each label of the filter.
 *
 * Errors: ERR_INVALID, ERR_RANGE; e->field is "labels.device", for example.
 * Threads: plain data, pure functions. */
#ifndef SERVE_LABELS_H
#define SERVE_LABELS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum labels_key {
    LABELS_DEVICE,
    LABELS_CDN,
    LABELS_COUNTRY,
    LABELS_APP,
    LABELS_NETWORK,
    LABELS_EXPERIMENT,
    LABELS_TENANT,
    LABELS_KEYS
};

#define LABELS_VALUE 32 /* bytes of a value, with its NUL */

struct labels {
    char value[LABELS_KEYS][LABELS_VALUE];
};

/* "device", "cdn", ...; ends with NULL. */
extern const char *const labels_keys[LABELS_KEYS + 1];

/* -1: no such key. */
int labels_find(const char *key);

int labels_check(const struct labels *l, struct err *e)
    __attribute__((warn_unused_result));
/* One value, as labels_check. `prefix` precedes the key in e->field: "labels." or "". */
int labels_check_value(enum labels_key key, const char *value, const char *prefix,
                       struct err *e) __attribute__((warn_unused_result));

bool labels_none(const struct labels *l);
/* "device=tv;cdn=a", keys in their order; "": none. Returns the length. */
#define LABELS_TEXT (LABELS_KEYS * (LABELS_VALUE + 12))
size_t labels_text(char out[LABELS_TEXT], const struct labels *l);
bool labels_fit(const struct labels *l, const struct labels *filter);

/* Reads "device=tv", or several with commas between, into the filter. e->field is `option`. */
int labels_read(struct labels *filter, const char *text, const char *option,
                struct err *e) __attribute__((warn_unused_result));

#endif

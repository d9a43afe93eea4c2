/* settings.h - the numbers of a classical algorithm: one set per kind of viewer, found by search.
 *
 * An algorithm keeps a table of sets, in the order of qoe_profiles. A viewer gets the set of the built-in
 * profile with the same unit (points or Mbit/s) and the nearest weights of quality, switches and stalls: L1
 * distance after division by their sum. In points, weights are relative to `standard`. The numbers in a spec
 * such as "soda:beta=2+gamma=40" replace those of all sets. test/score/rivals.mjs searches with such specs.
 *
 * Errors: as field_read; the err's field is the setting's name.
 * Threads: pure functions. */
#ifndef ABR_SETTINGS_H
#define ABR_SETTINGS_H

#include "abr/deciders/algo.h"
#include "base/field.h"

#define SETTINGS_TEXT 160 /* longest text of settings, with its NUL */

/* Index into qoe_profiles. */
int settings_kind(const struct qoe *q);

/* An algorithm without memory, whose level depends on the view and on the viewer's set. */
struct settings_algo {
    const void *sets; /* QOE_PROFILES of them */
    size_t size;      /* of one */
    const struct field *rows;
    int (*level)(const void *set, const struct view *v, const struct video *video);
};

/* Fills *out; arg as in algo.h. a is borrowed as long as *out lives. */
int settings_new(struct algo *out, const struct settings_algo *a, const char *arg,
                 struct err *e) __attribute__((warn_unused_result));

/* Reads "name=value+..." into each of the n sets of `size` bytes at `sets`. arg NULL or "": nothing. */
int settings_read(void *sets, size_t size, int n, const struct field *rows,
                  const char *arg, struct err *e) __attribute__((warn_unused_result));

#endif

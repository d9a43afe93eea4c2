/* scan.h - the JSON that players send, read in one pass into the fields of a table.
 *
 * A request is described by a table of its fields; wire.c reads every table with jansson,
 * which takes ten times as long as the decision that was asked for. scan_object reads what
 * bodies usually are, and nothing else: an object that begins at the first byte, without
 * escapes, without anything but ASCII in its strings, in which every field is known, given
 * once, of its kind and within its bounds, and no required one is missing. Of anything else
 * it says so, and the caller reads the body again with jansson, whose verdict and words then
 * hold. What it accepts jansson accepts too, with the same values to the last bit: that is
 * what test/fuzz/fuzz_scan.c looks for exceptions to.
 *
 * Numbers: up to 2^53 and 22 decimals they are the quotient or product of two whole numbers
 * that a double holds, rounded once (Clinger 1990); the others are strtod's.
 *
 * Threads: pure functions. No heap. */
#ifndef SERVE_SCAN_H
#define SERVE_SCAN_H

#include <stdbool.h>
#include <stddef.h>

enum scan_kind {
    SCAN_NUMBER,  /* double */
    SCAN_WHOLE,   /* int; 3.0 is whole */
    SCAN_WHOLE64, /* int64_t */
    SCAN_KEY,     /* uint64_t: up to 2^53, or a string of digits */
    SCAN_YES,     /* bool */
    SCAN_TEXT,    /* char[max] */
    SCAN_NUMBERS, /* double[max] */
    SCAN_SIZES,   /* the same; null is 0 */
    SCAN_OBJECT,
    SCAN_ANY /* only `has`; never usual. Named "*": whatever no other row is for */
};

/* `has`, where given, is set when the field is there and not null; `n` gets the length of
 * an array. A table ends with a name of NULL and has at most SCAN_FIELDS rows. */
#define SCAN_FIELDS 32

struct scan_field {
    const char *name;
    enum scan_kind kind;
    void *out;
    int max; /* array entries, or bytes of a text with its NUL */
    bool required;
    bool *has;
    int *n;
    const struct scan_field *fields; /* of an OBJECT */
};

/* False when the body is not of the usual kind; some fields may be filled then. */
bool scan_object(const struct scan_field *fields, const char *body, size_t n);

#endif

/* scan.h - a fast parser of the JSON that players send.
 *
 * A table of fields (base/field.h) describes a request. wire.c can read every table with jansson, which
 * takes ten times as long as the decision itself. scan_object accepts the usual form only: an object
 * that begins at the first byte, ASCII strings without escapes, every field known, given once, of its
 * type and within its bounds, no required field missing. For all other bodies it returns false; the
 * caller then parses with jansson, which accepts the body or words the error. jansson accepts whatever
 * scan_object accepts, with the same values to the last bit; test/fuzz/fuzz_scan.c searches for
 * exceptions.
 *
 * Numbers: up to 2^53 and 22 decimals they are the quotient or product of two integers that a double
 * holds exactly, rounded once. strtod reads all other numbers.
 * Source: Clinger, How to read floating point numbers accurately, PLDI 1990.
 *
 * Threads: pure functions. No heap. */
#ifndef SERVE_SCAN_H
#define SERVE_SCAN_H

#include "base/field.h"

#include <stdbool.h>
#include <stddef.h>

#define SCAN_FIELDS 32 /* most rows of a table */

/* False if the body does not have the usual form; some fields may be set then. */
bool scan_object(const struct field *fields, void *base, const char *body, size_t n);

#endif

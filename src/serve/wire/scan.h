/* scan.h - a fast reader of the JSON that players send.
 *
 * A table of fields (base/field.h) describes a request. wire.c can read every table with jansson,
 * which takes ten times as long as the decision itself. scan_object reads the usual form only: an
 * object that begins at the first byte, without escapes, with ASCII strings, in which every field is
 * known, given once, of its type and within its bounds, and no required field is missing. It returns
 * false for anything else; the caller then reads the body with jansson, which decides and words the
 * error. What scan_object accepts jansson accepts too, with the same values to the last bit:
 * test/fuzz/fuzz_scan.c looks for exceptions.
 *
 * Numbers: up to 2^53 and 22 decimals they are the quotient or product of two whole numbers
 * that a double holds, rounded once (Clinger 1990); the others are strtod's.
 *
 * Threads: pure functions. No heap. */
#ifndef SERVE_SCAN_H
#define SERVE_SCAN_H

#include "base/field.h"

#include <stdbool.h>
#include <stddef.h>

#define SCAN_FIELDS 32 /* rows of a table, at most */

/* False when the body is not of the usual form; some fields may be set then. */
bool scan_object(const struct field *fields, void *base, const char *body, size_t n);

#endif

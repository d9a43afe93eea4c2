/* json_text.h - a JSON text as a jansson value, with the line in the error.
 *
 * A text that names a member twice is refused.
 *
 * Errors: ERR_RANGE (longer than max bytes), ERR_INVALID (not JSON), ERR_MEMORY; e->field is
 * "name:line".
 * Ownership: the caller calls json_decref.
 * Threads: pure function. */
#ifndef BASE_JSON_TEXT_H
#define BASE_JSON_TEXT_H

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>

/* NULL on failure. name: of the file, for messages. */
json_t *json_text_parse(const char *text, size_t len, int max, const char *name,
                        struct err *e);

#endif

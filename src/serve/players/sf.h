/* sf.h - parses dictionaries of structured fields (RFC 8941 3.2) one member at a time.
 *
 *   bl=21300, br=3200, bs, nor="..%2F300kbps%2Fx.m4v", ot=v, bsd=(120;v 0;a)
 *
 * Members are items or inner lists of items. Items are integers, decimals, strings, tokens, booleans (a
 * key alone is true) and byte sequences. All parameters of an item are checked, and the name of the
 * first is kept: CMCD v2 distinguishes values by it (";v", ";a"). A repeated key is another member; by
 * the RFC the later one counts.
 *
 * Differs: spaces and tabs are skipped on both sides of a comma, keys may have capitals (custom CMCD
 * keys do), a comma at the end is ignored.
 *
 * Limits: SF_KEY and SF_TEXT bytes with their NUL, SF_ITEMS of a list. Longer text, or text with
 * other than printable ASCII characters, is an error. Byte sequences are checked and not kept.
 *
 * Errors: ERR_INVALID and ERR_RANGE, e->field the member's key or "" and e->detail what is wrong.
 * Threads: pure functions. No heap. */
#ifndef SERVE_SF_H
#define SERVE_SF_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define SF_KEY 64
#define SF_TEXT 4096 /* an address may be long */
#define SF_ITEMS 8

enum sf_kind { SF_NUMBER, SF_TRUTH, SF_STRING, SF_TOKEN, SF_BYTES };

struct sf_item {
    enum sf_kind kind;
    double number;
    bool truth;
    const char *at; /* text of a string or token within the input, with its escapes */
    size_t n;
    char param[SF_KEY]; /* name of its first parameter; "" none */
};

struct sf_member {
    char key[SF_KEY];
    bool list;
    int n; /* items: 1 unless it is a list */
    struct sf_item item[SF_ITEMS];
};

struct sf {
    const char *at, *end;
};

/* 1 and the next member, or 0 at the end. After an error there is no next. */
int sf_next(struct sf_member *out, struct sf *in, struct err *e)
    __attribute__((warn_unused_result));

/* A string without its escapes, or a token. size >= SF_TEXT is enough for any. */
int sf_text(char *out, size_t size, const struct sf_item *item, struct err *e)
    __attribute__((warn_unused_result));

#endif

#include "support/fuzz.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "serve/wire/wire.h"

/* The fast reader and jansson must not differ: in what they accept, in any byte of what they
 * make of it, in the words of a refusal. A space in front of a body changes nothing of what
 * it says, and is more than the fast reader takes.
 *
 * The first byte chooses the body. */

union any {
    struct session_open open;
    struct question question;
    struct reward_in reward;
    struct wire_decide decide;
    struct profile profile;
    struct underway_in underway;
};

static int read_any(union any *out, int which, const char *body, size_t n, struct err *e)
{
    memset(out, 0, sizeof *out);
    *e = (struct err){0};
    switch (which) {
    case 0:
        return wire_open(&out->open, body, n, e);
    case 1:
        return wire_question(&out->question, body, n, e);
    case 2:
        return wire_reward(&out->reward, body, n, e);
    case 3:
        return wire_decide(&out->decide, body, n, e);
    case 4:
        return wire_profile(&out->profile, body, n, e);
    default:
        return wire_underway(&out->underway, body, n, e);
    }
}

/* The words of a syntax error tell where it is, which the space has moved. */
static bool same_words(const struct err *a, const struct err *b)
{
    static const char syntax[] = "the body is not JSON";
    if (a->code != b->code || strcmp(a->field, b->field) != 0) return false;
    if (strncmp(a->detail, syntax, sizeof syntax - 1) == 0)
        return strncmp(b->detail, syntax, sizeof syntax - 1) == 0;
    return strcmp(a->detail, b->detail) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    size_t n = size - 1;
    /* no byte more than there is, so that the sanitizer sees a reader who goes on */
    char *body = malloc(n), *spaced = malloc(n + 1);
    if (!body || !spaced) abort();
    memcpy(body, data + 1, n);
    spaced[0] = ' ';
    memcpy(spaced + 1, body, n);

    union any fast, slow;
    struct err ef, es;
    int which = data[0] % 6, rc = read_any(&fast, which, body, n, &ef);
    if (rc != read_any(&slow, which, spaced, n + 1, &es)) __builtin_trap();
    if (rc ? !same_words(&ef, &es) : memcmp(&fast, &slow, sizeof fast) != 0)
        __builtin_trap();
    free(body);
    free(spaced);
    return 0;
}

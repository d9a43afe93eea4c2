/* Any bytes as a log of many sessions (behind a form feed: Puffer's second file): refused with
 * a reason, or traces that pass their own check. */
#include "support/fuzz.h"

#include "abr/traces/trace_set.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    char *acked = strchr(text, '\f');
    if (acked) *acked++ = '\0';

    struct err e = {0};
    struct trace_set s;
    const struct trace_set_cfg cfg = {.min_s = 0, .max = 100};
    int rc = trace_set_parse(&s, text, acked, "fuzz", &cfg, &e);
    assert(rc == e.code && (rc || s.n > 0));
    for (int i = 0; i < s.n; i++)
        assert(trace_check(s.traces[i], &e) == 0);
    trace_set_free(&s);
    free(text);
    return 0;
}

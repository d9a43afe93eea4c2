/* Any bytes as an index box: refused with a reason, or segments that last and weigh something. */
#include "support/fuzz.h"

#include "abr/manifests/sidx.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {0};
    struct sidx_entry *s = NULL;
    int n = 0, rc = sidx_parse(&s, &n, data, size, "fuzz", &e);
    assert(rc == e.code && (rc == 0) == (s != NULL));
    for (int i = 0; i < n; i++)
        assert(s[i].bytes > 0 && s[i].duration_s > 0.0);
    free(s);
    return 0;
}

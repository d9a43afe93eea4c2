/* Checkpoints of grown profiles: whatever the bytes are, decoding ends in a frozen policy with
 * its new experts or in a told error, and what was decoded can be encoded and decoded again to
 * the same. */
#include "support/fuzz.h"

#include "learn/growth_ckpt.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {0};
    struct ckpt_meta meta;
    struct policy *base, *base2;
    struct graft *g, *g2;
    void *extra, *again;
    size_t extra_n, again_n;
    int rc = growth_ckpt_decode(&base, &g, data, size, &meta, &extra, &extra_n, &e);
    assert(rc ? e.code == rc && e.detail[0] : e.code == 0);
    if (rc) return 0;

    rc = growth_ckpt_encode(&again, &again_n, base, g, &meta, extra, extra_n, &e);
    assert(rc == 0);
    rc = growth_ckpt_decode(&base2, &g2, again, again_n, NULL, NULL, NULL, &e);
    assert(rc == 0 && g2->actor->n == g->actor->n);
    assert(!memcmp(g2->actor->theta, g->actor->theta, sizeof(float) * g->actor->n));
    assert(
        !memcmp(base2->actor->theta, base->actor->theta, sizeof(float) * base->actor->n));
    graft_free(g2);
    policy_free(base2);
    graft_free(g);
    policy_free(base);
    free(again);
    free(extra);
    return 0;
}

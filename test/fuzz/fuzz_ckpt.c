/* Checkpoints: whatever the bytes are, decoding ends in a policy or in a told error, and
 * a policy that was decoded can be encoded and decoded again to the same. */
#include "support/fuzz.h"

#include "learn/ckpt.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {0};
    struct ckpt_meta meta;
    void *extra, *again;
    size_t extra_n, again_n;
    struct policy *p = ckpt_decode_any(data, size, &meta, &extra, &extra_n, &e);
    assert(p ? e.code == 0 : e.code < 0 && e.detail[0]);
    if (!p) return 0;

    int rc = ckpt_encode(&again, &again_n, p, &meta, extra, extra_n, &e);
    assert(rc == 0);
    struct policy *q = ckpt_decode_any(again, again_n, NULL, NULL, NULL, &e);
    assert(q && q->actor->n == p->actor->n && !q->added == !p->added);
    assert(memcmp(q->actor->theta, p->actor->theta, sizeof(float) * p->actor->n) == 0);
    if (p->added) {
        const struct norga *a = p->added->actor, *b = q->added->actor;
        assert(a->n == b->n && !memcmp(a->theta, b->theta, sizeof(float) * a->n));
    }
    policy_free(q);
    policy_free(p);
    free(again);
    free(extra);
    return 0;
}

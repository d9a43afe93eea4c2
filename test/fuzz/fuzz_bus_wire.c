/* What nodes send each other: whatever the bytes are, reading ends in plain values that can be
 * written and read again to the same, or in a told error. The first byte chooses what they are
 * read as; the envelope around the rest is sealed here, else nothing would get further. */
#include "support/fuzz.h"

#include "serve/cluster/bus_wire.h"
#include "serve/added/added_wire.h"
#include "serve/cluster/dedup.h"
#include "serve/cluster/slot_log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct traj t;
static struct bus_wire_common c;
static struct slot_log slots, twin;
static struct added_wire added;
static unsigned char again[BUS_WIRE_TRAJ_MAX], twice[BUS_WIRE_TRAJ_MAX];
static float obs[(TRAJ_STEPS + 1) * FEAT_FULL_DIM];
static uint32_t mask[TRAJ_STEPS + 1];
static int action[TRAJ_STEPS + 1];

static int one(enum envelope_kind kind, const void *bytes, size_t n, struct err *e)
{
    struct bus_wire_id id;
    struct bus_wire_weights w;
    struct bus_wire_heartbeat b;
    void *copy;
    size_t m;
    int rc = 0;
    if (kind == ENVELOPE_TRAJ) {
        rc = bus_wire_get_traj(&t, &id, bytes, n, e);
        if (rc) return rc;
        /* its assertions hold; an action outside its window is legal here */
        (void)!traj_observe(obs, mask, action, &t, FEAT_FULL);
        /* older forms are read, the newest is written: what is written is read and written again */
        m = bus_wire_put_traj(again, &t, id);
        rc = bus_wire_get_traj(&t, &id, again, m, e);
        assert(!rc && bus_wire_put_traj(twice, &t, id) == m &&
               memcmp(again, twice, m) == 0);
    } else if (kind == ENVELOPE_WEIGHTS) {
        rc = shared_value_decode(&w, &bus_wire_weights_kind, bytes, n, e);
        if (rc) return rc;
        assert(w.term > 0 && w.checkpoint_n + w.dedup_n <= n);
        struct dedup_view v;
        rc = dedup_view(&v, 5, w.dedup, w.dedup_n, e);
        if (!rc) assert(v.low <= v.highest && v.highest - v.low <= DEDUP_WINDOW);
    } else if (kind == ENVELOPE_COMMON) {
        rc = shared_value_decode(&c, &bus_wire_common_kind, bytes, n, e);
        if (rc) return rc;
        int put = shared_value_encode(&copy, &m, &bus_wire_common_kind, &c, e);
        assert(put == 0 && m >= n); /* an older form has fewer bytes */
        rc = shared_value_decode(&c, &bus_wire_common_kind, copy, m, e);
        assert(!rc);
        free(copy);
    } else if (kind == ENVELOPE_SLOTS) {
        rc = shared_value_decode(&slots, &slot_log_kind, bytes, n, e);
        if (rc) return rc;
        assert(slots.n <= SLOT_LOG_RECORDS && slots.count >= (uint64_t)slots.n);
        int put = shared_value_encode(&copy, &m, &slot_log_kind, &slots, NULL);
        assert(put == 0 && m == n);
        free(copy);
        twin = slots;
        for (int i = 0; i < slots.n && twin.count < UINT64_MAX; i++) {
            struct slot_record r;
            slot_log_read(&r, &slots, i, &slots.tasks);
            slot_log_add(&twin, &r, &slots.tasks);
            assert(slot_log_has(&twin, r.maker, r.number));
        }
    } else if (kind == ENVELOPE_ADDED) {
        rc = shared_value_decode(&added, &added_wire_list_kind, bytes, n, e);
        if (rc) return rc;
        assert(added_wire_count(&added) <= added.n && added.n <= ADDED_WIRE_MAX);
        int put = shared_value_encode(&copy, &m, &added_wire_list_kind, &added, NULL);
        assert(put == 0 && m == n);
        free(copy);
    } else {
        rc = shared_value_decode(&b, &bus_wire_heartbeat_kind, bytes, n, e);
        if (!rc) assert(strlen(b.name) < sizeof b.name);
    }
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum envelope_kind kinds[] = {ENVELOPE_TRAJ,   ENVELOPE_WEIGHTS,
                                               ENVELOPE_COMMON, ENVELOPE_HEARTBEAT,
                                               ENVELOPE_SLOTS,  ENVELOPE_ADDED};
    if (!size) return 0;
    enum envelope_kind kind = kinds[data[0] % 6];
    struct err e = {0};
    int rc = one(kind, data + 1, size - 1, &e);
    assert(rc == 0 || (e.code == rc && *e.detail));

    unsigned char *sealed = malloc(ENVELOPE_HEAD + size);
    assert(sealed);
    memcpy(sealed + ENVELOPE_HEAD, data + 1, size - 1);
    size_t n = envelope_seal(sealed, kind, kind == ENVELOPE_WEIGHTS ? 2 : 1, size - 1);
    e = (struct err){0};
    rc = one(kind, sealed, n, &e);
    assert(rc == 0 || (e.code == rc && *e.detail));
    free(sealed);
    return 0;
}

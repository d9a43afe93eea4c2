/* What nodes send each other: whatever the bytes are, reading ends in plain values that can be
 * written and read again to the same, or in a told error. The first byte chooses what they are
 * read as; the envelope around the rest is sealed here, else nothing would get further. */
#include "support/fuzz.h"

#include "serve/cluster/bus_wire.h"
#include "serve/added/grown_wire.h"
#include "serve/cluster/ledger.h"
#include "serve/cluster/slot_log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct traj t;
static struct bus_wire_common c;
static struct slot_log slots, twin;
static struct grown_wire grown;
static unsigned char again[BUS_WIRE_TRAJ_MAX];
static float obs[(TRAJ_STEPS + 1) * FEAT_FULL_DIM];
static uint32_t mask[TRAJ_STEPS + 1];

static int one(enum parcel_kind kind, const void *bytes, size_t n, struct err *e)
{
    struct bus_wire_id id;
    struct bus_wire_weights w;
    struct bus_wire_beat b;
    const void *ckpt;
    void *copy;
    size_t m;
    int rc = 0;
    if (kind == PARCEL_TRAJ) {
        rc = bus_wire_get_traj(&t, &id, bytes, n, e);
        if (rc) return rc;
        traj_observe(obs, mask, &t, FEAT_FULL); /* its assertions hold */
        m = bus_wire_put_traj(again, &t, id);
        assert(m == n && memcmp(bytes, again, n) == 0);
    } else if (kind == PARCEL_WEIGHTS) {
        rc = bus_wire_get_weights(&w, &ckpt, &m, bytes, n, e);
        if (rc) return rc;
        assert(w.term > 0 && m + w.ledger_n <= n);
        struct ledger_view v;
        rc = ledger_view(&v, 5, w.ledger, w.ledger_n, e);
        if (!rc) assert(v.low <= v.highest && v.highest - v.low <= LEDGER_WINDOW);
    } else if (kind == PARCEL_COMMON) {
        rc = bus_wire_get_common(&c, bytes, n, e);
        if (rc) return rc;
        int put = bus_wire_put_common(&copy, &m, &c, e);
        assert(put == 0 && m == n);
        free(copy);
    } else if (kind == PARCEL_SLOTS) {
        rc = slot_log_get(&slots, bytes, n, e);
        if (rc) return rc;
        assert(slots.n <= SLOT_LOG_RECORDS && slots.count >= (uint64_t)slots.n);
        int put = slot_log_put(&copy, &m, &slots, NULL);
        assert(put == 0 && m == n);
        free(copy);
        twin = slots;
        for (int i = 0; i < slots.n && twin.count < UINT64_MAX; i++) {
            struct slot_record r;
            slot_log_read(&r, &slots, i, &slots.tasks);
            slot_log_add(&twin, &r, &slots.tasks);
            assert(slot_log_has(&twin, r.maker, r.number));
        }
    } else if (kind == PARCEL_GROWN) {
        rc = grown_wire_get(&grown, bytes, n, e);
        if (rc) return rc;
        assert(grown_wire_count(&grown) <= grown.n && grown.n <= GROWN_WIRE_MAX);
        int put = grown_wire_put(&copy, &m, &grown, NULL);
        assert(put == 0 && m == n);
        free(copy);
    } else {
        rc = bus_wire_get_beat(&b, bytes, n, e);
        if (!rc) assert(strlen(b.name) < sizeof b.name);
    }
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum parcel_kind kinds[] = {PARCEL_TRAJ, PARCEL_WEIGHTS, PARCEL_COMMON,
                                             PARCEL_BEAT, PARCEL_SLOTS,   PARCEL_GROWN};
    if (!size) return 0;
    enum parcel_kind kind = kinds[data[0] % 6];
    struct err e = {0};
    int rc = one(kind, data + 1, size - 1, &e);
    assert(rc == 0 || (e.code == rc && *e.detail));

    unsigned char *sealed = malloc(PARCEL_HEAD + size);
    assert(sealed);
    memcpy(sealed + PARCEL_HEAD, data + 1, size - 1);
    size_t n = parcel_seal(sealed, kind, kind == PARCEL_WEIGHTS ? 2 : 1, size - 1);
    e = (struct err){0};
    rc = one(kind, sealed, n, &e);
    assert(rc == 0 || (e.code == rc && *e.detail));
    free(sealed);
    return 0;
}

/* What slots of the merge earn, on all nodes: glue between slot_share and the turns (guest.h). */
#include "serve/cluster/guest.h"

#include <math.h>

#include "serve/cluster/slot_share.h"
#include "serve/hintless/hintless.h"

extern const struct guest slot_guest;

/* between reads of the log of slots; half a slot, if less */
static const double SLOTS_S = 30;

static int slot_guest_open(void **self, const struct guest_host *host, struct err *e)
{
    struct service *s = host->service;
    struct hintless *u = hintless_of(s);
    struct hintless_cfg settings;
    hintless_settings(&settings, u);
    if (host->role != ROLE_DECIDE || settings.mode != HINTLESS_MERGE) return 0;
    struct slot_share_cfg cfg = {.bucket = host->bucket,
                                 .hintless = u,
                                 .log = s->cfg.log,
                                 .every_s = fmin(SLOTS_S, settings.slot_s / 2)};
    uint64_t id;
    int rc = entropy_draw(&s->cfg.parts.entropy, &id, sizeof id, e);
    if (!rc) rc = hintless_share(u, host->maker, id, e);
    if (rc) return rc;
    *self = slot_share_new(&cfg, e);
    return *self ? 0 : ERR_MEMORY;
}

static void slot_guest_free(void *self)
{
    slot_share_free(self);
}

static struct shared_value *slot_guest_value(void *self)
{
    return slot_share_value(self);
}

const struct guest slot_guest = {
    .open = slot_guest_open, .free = slot_guest_free, .value = slot_guest_value};

/* What slots of the merge earned, on this node and on the others. */
#include "service_priv.h"

#include <math.h>

#include "base/clock.h"

static const double LOOK_S = 30; /* half a slot, when that is less */

int service_share_open(struct service *s, struct err *e)
{
    const struct hintless_cfg *u = &s->cfg.hintless;
    if (s->cfg.cluster.role != ROLE_DECIDE || u->mode != HINTLESS_MERGE) return 0;
    uint64_t maker, id;
    struct share_cfg cfg = {.bucket = service_cluster_board(s, &maker),
                            .hintless = s->hintless,
                            .log = s->cfg.log,
                            .every_s = fmin(LOOK_S, u->slot_s / 2)};
    int rc = entropy_draw(&s->cfg.parts.entropy, &id, sizeof id, e);
    if (!rc) rc = hintless_share(s->hintless, maker, id, e);
    if (rc) return rc;
    s->share = share_new(&cfg, e);
    return s->share ? 0 : ERR_MEMORY;
}

void service_share_turn(struct service *s)
{
    struct err why = {0};
    if (!s->share || !share_turn(s->share, clock_mono(), service_now(s), &why)) return;
    log_err(s->cfg.log, LOG_DEBUG, "share", &why);
}

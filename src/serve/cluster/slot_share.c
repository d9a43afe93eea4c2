#include "serve/cluster/slot_share.h"

#include <stdlib.h>

#include "serve/cluster/slot_log.h"

struct slot_share {
    struct slot_share_cfg cfg;
    struct shared_value value;
    struct slot_log *slots; /* as read last */
    uint32_t crc;           /* of this node's experts */
    int experts;
    bool logged; /* that it shares, and with which nodes */
};

/* A node whose experts are not merged shares nothing. */
static enum shared_value_due slot_share_due(void *ctx, struct shared_value *v)
{
    struct slot_share *s = ctx;
    if (!hintless_shares(s->cfg.hintless, &s->crc, &s->experts)) return SHARED_VALUE_IDLE;
    slot_log_key(v->key, s->crc);
    return hintless_has_pending(s->cfg.hintless) ? SHARED_VALUE_DUE
                                                 : SHARED_VALUE_BY_TIME;
}

/* false: the log is not for this node. */
static bool slot_share_usable(struct slot_share *s, struct shared_value *v,
                              const struct err *wrong)
{
    struct err why = wrong ? *wrong : (struct err){0};
    if (!wrong && v->rev && (s->slots->crc != s->crc || s->slots->experts != s->experts))
        err_set(&why, ERR_CONFLICT, "it is about other experts");
    bool damaged = why.code == ERR_CORRUPT;
    if (why.code)
        shared_value_refuse(
            v, s->cfg.log, "share",
            damaged ? "the log of slots is lost and begins anew"
                    : "the log of slots is refused, the node learns from its own slots",
            &why);
    if (damaged || (!why.code && !v->rev))
        slot_log_begin(s->slots,
                       hintless_maker(s->cfg.hintless) ^ (uint64_t)(v->now * 1e6), s->crc,
                       s->experts);
    return damaged || !why.code;
}

static int slot_share_take(void *ctx, struct shared_value *v, const struct err *wrong,
                           struct err *e)
{
    struct slot_share *s = ctx;
    struct hintless *u = s->cfg.hintless;
    if (!slot_share_usable(s, v, wrong)) return 1;
    if (!s->logged)
        log_event(
            s->cfg.log, LOG_INFO, "share",
            "results of slots are shared with all nodes of these experts (%s): %llu "
            "slots of %d nodes so far",
            v->key, (unsigned long long)s->slots->count, s->slots->makers);
    s->logged = true;
    hintless_read_log(u, s->slots, v->now);
    if (!hintless_append_pending(u, s->slots)) return 1;
    int rc = shared_value_put(&v->rev, s->slots, v->kind, &v->bucket, v->key, e);
    if (rc) return rc;
    hintless_read_log(u, s->slots, v->now);
    return 1;
}

struct slot_share *slot_share_new(const struct slot_share_cfg *cfg, struct err *e)
{
    struct slot_share *s = calloc(1, sizeof *s);
    if (s) s->slots = calloc(1, sizeof *s->slots);
    if (!s || !s->slots) {
        free(s);
        err_set(e, ERR_MEMORY, "no memory to share results of slots");
        return NULL;
    }
    s->cfg = *cfg;
    s->value = (struct shared_value){.kind = &slot_log_kind,
                                     .bucket = cfg->bucket,
                                     .value = s->slots,
                                     .every_s = cfg->every_s,
                                     .due = slot_share_due,
                                     .take = slot_share_take,
                                     .ctx = s};
    shared_value_init(&s->value);
    return s;
}

void slot_share_free(struct slot_share *s)
{
    if (!s) return;
    free(s->slots);
    free(s);
}

struct shared_value *slot_share_value(struct slot_share *s)
{
    return &s->value;
}

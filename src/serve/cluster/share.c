#include "serve/cluster/share.h"

#include <math.h>
#include <stdlib.h>

#include "serve/cluster/slot_log.h"

enum { TRIES = 8 };
static const double AGAIN_S = 1; /* after a turn that failed */

struct share {
    struct share_cfg cfg;
    struct slot_log *slots; /* scratch */
    double next;            /* turn that looks without anything to give */
    double again;           /* none before */
    uint64_t refused;       /* revision that was told */
    bool told;              /* that it shares, and with whom */
};

struct share *share_new(const struct share_cfg *cfg, struct err *e)
{
    struct share *s = calloc(1, sizeof *s);
    if (s) s->slots = calloc(1, sizeof *s->slots);
    if (!s || !s->slots) {
        free(s);
        err_set(e, ERR_MEMORY, "no memory to share what slots earn");
        return NULL;
    }
    s->cfg = *cfg;
    s->next = s->again = -INFINITY;
    return s;
}

void share_free(struct share *s)
{
    if (!s) return;
    free(s->slots);
    free(s);
}

static void share_begin(struct share *s, uint32_t crc, int experts, double now)
{
    uint64_t id = hintless_maker(s->cfg.hintless) ^ (uint64_t)(now * 1e6);
    slot_log_begin(s->slots, id, crc, experts);
}

/* false: it is not for this node. */
static bool read_log(struct share *s, const void *bytes, size_t n, uint64_t rev,
                     uint32_t crc, int experts, double now)
{
    struct err why = {0};
    int rc = slot_log_get(s->slots, bytes, n, &why);
    if (!rc && (s->slots->crc != crc || s->slots->experts != experts))
        rc = err_set(&why, ERR_CONFLICT, "they are about other experts");
    if (!rc) return true;
    bool damaged = rc == ERR_CORRUPT;
    if (rev != s->refused)
        log_event(s->cfg.log, LOG_ERROR, "share",
                  damaged ? "what slots on other nodes earned is lost and begun anew: %s"
                          : "what slots on other nodes earned is refused, going on with "
                            "this node's own: %s",
                  why.detail);
    s->refused = rev;
    if (damaged) share_begin(s, crc, experts, now);
    return damaged;
}

static void share_tell(struct share *s, const char *key)
{
    if (!s->told)
        log_event(s->cfg.log, LOG_INFO, "share",
                  "what slots earn is shared with all nodes of these experts (%s): %llu "
                  "slots of %d so far",
                  key, (unsigned long long)s->slots->count, s->slots->makers);
    s->told = true;
}

static int exchange(struct share *s, uint32_t crc, int experts, double now, struct err *e)
{
    struct bucket *b = &s->cfg.bucket;
    struct hintless *u = s->cfg.hintless;
    char key[SLOT_LOG_KEY];
    void *bytes = NULL;
    size_t n;
    uint64_t rev;
    slot_log_key(key, crc);
    int rc = b->get(b->self, key, &bytes, &n, &rev, e);
    if (rc) return rc;
    bool ours = true;
    if (bytes)
        ours = read_log(s, bytes, n, rev, crc, experts, now);
    else
        share_begin(s, crc, experts, now);
    free(bytes);
    if (!ours) return 0;
    share_tell(s, key);
    hintless_hear(u, s->slots, now);
    if (!hintless_give(u, s->slots)) return 0;
    rc = slot_log_put(&bytes, &n, s->slots, e);
    if (!rc) rc = b->put(b->self, key, bytes, n, rev, &rev, e);
    if (!rc) hintless_hear(u, s->slots, now);
    free(bytes);
    return rc;
}

int share_turn(struct share *s, double mono, double now, struct err *e)
{
    uint32_t crc;
    int experts, rc = ERR_CONFLICT;
    if (mono < s->again || !hintless_shares(s->cfg.hintless, &crc, &experts)) return 0;
    if (mono < s->next && !hintless_gives(s->cfg.hintless)) return 0;
    struct err why = {0};
    for (int i = 0; i < TRIES && rc == ERR_CONFLICT; i++) {
        why = (struct err){0};
        rc = exchange(s, crc, experts, now, &why);
    }
    s->next = mono + s->cfg.every_s;
    s->again = mono + AGAIN_S;
    return rc ? err_field(e, rc, why.field, "%s", why.detail) : 0;
}

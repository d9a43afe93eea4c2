/* The state file: 32 bytes (magic, CRC-32 of the rest, form, length of the rest), then the slot,
 * the tasks, the merge, what the slot has brought so far, counters, both heads, both audiences and
 * the bandit. Numbers are little-endian, those of heads and bandit as they lie in memory. One
 * function walks over it in either direction, so that writing and reading cannot differ.
 * Form 2 is the same and says that the slot after this one may have begun. Forms 3 and 4 are those with
 * what is shared with other nodes (slot_log.h) before the bandit. */
#include "untagged_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/pack.h"
#include "base/text.h"
#include "serve/session/limits.h"

enum { HEAD = 32, FORM = 1, FORM_AHEAD = 2, FORM_SHARED = 2, FORMS = 4, NUMBERS = 512 };
enum { FILE_MAX = 64 << 20 };
static const char MAGIC[8] = "abrduntg";

static void pass_qoe(struct pack *f, struct qoe *k)
{
    pack_real(f, &k->mu_quality);
    pack_real(f, &k->mu_switch);
    pack_real(f, &k->mu_stall);
}

static void pass_name(struct pack *f, char *name)
{
    pack_text(f, name, SERVICE_NAME);
    f->ok = f->ok && (!name[0] || !limits_name(name, NULL));
}

/* What is plain numbers in a struct untagged, and the merge's beside it. */
struct plain {
    struct untagged_told told;
    int tasks;
    char task[AUDIENCE_TASKS][SERVICE_NAME];
    struct qoe qoe[AUDIENCE_TASKS];
    struct untagged_sums sums;
    uint64_t slot_sessions, decisions[BY_WAYS];
    struct untagged_stats stats;
    int node;
    uint64_t crc;
    double x[UNTAGGED_EXPERTS], expected;
};

static void pass_told(struct pack *f, struct untagged_told *t)
{
    pack_u64(f, &t->slot);
    pack_real(f, &t->since);
    pack_bool(f, &t->known);
    pack_bool(f, &t->taught);
    pack_int(f, &t->tasks, 1, AUDIENCE_TASKS);
    for (int v = 0; v < AUDIENCE_TASKS; v++) {
        pack_real(f, &t->mix[v]);
        pass_qoe(f, &t->qoe[v]);
    }
    pass_qoe(f, &t->hint);
    f->ok = f->ok && t->slot > 0;
}

static void pass_stats(struct pack *f, struct untagged_stats *s)
{
    uint64_t *const counts[] = {&s->sessions, &s->slots,   &s->empty_slots, &s->labels,
                                &s->late,     &s->dropped, &s->refused};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        pack_u64(f, counts[i]);
    for (int k = 0; k < UNTAGGED_EXPERTS; k++)
        pack_u64(f, &s->chosen[k]);
    pack_real(f, &s->reward);
    pack_real(f, &s->regret);
}

static void pass_plain(struct pack *f, struct plain *p)
{
    pass_told(f, &p->told);
    pack_int(f, &p->tasks, p->told.tasks, AUDIENCE_TASKS);
    for (int v = 0; v < AUDIENCE_TASKS; v++) {
        pass_name(f, p->task[v]);
        pass_qoe(f, &p->qoe[v]);
        pack_real(f, &p->sums.weight[v]);
        pack_real(f, &p->sums.gain[v]);
        pack_real(f, &p->sums.room[v]);
    }
    pack_u64(f, &p->slot_sessions);
    for (int i = 0; i < BY_WAYS; i++)
        pack_u64(f, &p->decisions[i]);
    pass_stats(f, &p->stats);
    pack_int(f, &p->node, 0, INT32_MAX);
    pack_u64(f, &p->crc);
    pack_real(f, &p->expected);
    for (int k = 0; k < UNTAGGED_EXPERTS; k++)
        pack_real(f, &p->x[k]);
}

/* All experts and tasks, whether they are there or not: pending records are few. */
static void pass_pending(struct pack *f, struct slot_record *r)
{
    pack_u64(f, &r->maker);
    pack_u64(f, &r->number);
    for (int k = 0; k < UNTAGGED_EXPERTS; k++)
        pack_f32(f, &r->x[k]);
    for (int v = 0; v < AUDIENCE_TASKS; v++) {
        pack_f32(f, &r->psi[v]);
        pack_f32(f, &r->reward[v]);
        pack_f32(f, &r->trust[v]);
    }
    f->ok = f->ok && slot_record_is(r);
}

static void pass_share(struct pack *f, struct untagged_share *s)
{
    pack_u64(f, &s->maker);
    pack_u64(f, &s->store);
    pack_u64(f, &s->was);
    pack_u64(f, &s->was_number);
    pack_u64(f, &s->learned_to.log);
    pack_u64(f, &s->learned_to.count);
    pack_int(f, &s->n_pending, 0, UNTAGGED_PENDING);
    for (int i = 0; i < s->n_pending && f->ok; i++)
        pass_pending(f, &s->pending[i]);
}

static void plain_of(struct plain *p, const struct untagged *u)
{
    *p = (struct plain){.told = u->told,
                        .tasks = u->tasks,
                        .sums = u->sums,
                        .slot_sessions = u->slot_sessions,
                        .stats = u->stats,
                        .node = u->merge.node,
                        .crc = u->merge.crc,
                        .expected = u->merge.expected};
    memcpy(p->task, u->task, sizeof p->task);
    memcpy(p->qoe, u->qoe, sizeof p->qoe);
    for (int i = 0; i < BY_WAYS; i++)
        p->decisions[i] = atomic_load(&u->decisions[i]);
    for (int k = 0; k < UNTAGGED_EXPERTS; k++)
        p->x[k] = (double)u->merge.x[k];
}

/* ---- writing ---- */

static size_t bandit_size(const struct untagged *u)
{
    return u->merge.bandit ? tanbr_state_size(u->merge.bandit) : u->merge.carried_n;
}

static size_t file_size(const struct untagged *u)
{
    return HEAD + 8 * NUMBERS + AUDIENCE_TASKS * SERVICE_NAME +
           identity_state_size(u->told_head) + identity_state_size(u->head) +
           2 * audience_state_size(u->audience) + sizeof u->share.pending + 8 +
           bandit_size(u);
}

/* The caller holds the lock. Returns the end. */
static unsigned char *put_all(unsigned char *at, unsigned char *end, struct untagged *u)
{
    struct plain p;
    plain_of(&p, u);
    struct pack f = pack_writer(at, (size_t)(end - at));
    pass_plain(&f, &p);
    identity_state_get(u->told_head, f.at);
    f.at += identity_state_size(u->told_head);
    identity_state_get(u->head, f.at);
    f.at += identity_state_size(u->head);
    audience_state_get(u->told_audience, f.at);
    f.at += audience_state_size(u->told_audience);
    audience_state_get(u->audience, f.at);
    f.at += audience_state_size(u->audience);

    if (u->share.maker) pass_share(&f, &u->share);
    uint64_t n = bandit_size(u);
    pack_u64(&f, &n);
    if (u->merge.bandit)
        tanbr_state_get(u->merge.bandit, f.at);
    else if (n)
        memcpy(f.at, u->merge.carried, n);
    return f.at + n;
}

/* A slot is given when the file would not learn it again, as another one. */
static int save(struct untagged *u, uint32_t form, struct err *e)
{
    uint64_t slot = u->told.slot; /* the tick's own to change */
    if (!u->state_path) {
        untagged_share_kept(u, slot);
        return 0;
    }
    size_t room = file_size(u);
    unsigned char *bytes = malloc(room);
    if (!bytes) return err_set(e, ERR_MEMORY, "no memory for a state file");

    pthread_mutex_lock(&u->lock);
    size_t n = (size_t)(put_all(bytes + HEAD, bytes + room, u) - bytes);
    pthread_mutex_unlock(&u->lock);
    if (u->share.maker)
        form += FORM_SHARED; /* set for good, before the first slot ends */
    memset(bytes, 0, HEAD);
    memcpy(bytes, MAGIC, sizeof MAGIC);
    bytes_put_u32(bytes + 8, bytes_crc32(0, bytes + HEAD, n - HEAD));
    bytes_put_u32(bytes + 12, form);
    bytes_put_u64(bytes + 16, n - HEAD);
    int rc = text_write_file(u->state_path, bytes, n, e);
    free(bytes);
    if (!rc) untagged_share_kept(u, slot);
    return rc;
}

int untagged_save(struct untagged *u, struct err *e)
{
    return save(u, FORM, e);
}

int untagged_save_ahead(struct untagged *u, struct err *e)
{
    return save(u, FORM_AHEAD, e);
}

/* ---- reading ---- */

static int check_head(const unsigned char *bytes, size_t n, struct err *e)
{
    if (n < HEAD || memcmp(bytes, MAGIC, sizeof MAGIC) != 0)
        return err_set(e, ERR_CORRUPT, "is no state of untagged viewers");
    uint32_t form = bytes_get_u32(bytes + 12);
    if (form < FORM || form > FORMS)
        return err_set(e, ERR_CORRUPT, "has form %u, not %d", (unsigned)form, FORM);
    if (bytes_get_u64(bytes + 16) != n - HEAD)
        return err_set(e, ERR_CORRUPT, "has %zu bytes after its head, not %llu", n - HEAD,
                       (unsigned long long)bytes_get_u64(bytes + 16));
    if (bytes_get_u32(bytes + 8) != bytes_crc32(0, bytes + HEAD, n - HEAD))
        return err_set(e, ERR_CORRUPT, "its checksum is wrong: it was damaged");
    return 0;
}

/* Both heads and both audiences: all of them or an error. */
static int get_parts(struct pack *f, struct untagged *u, struct err *e)
{
    size_t told = identity_state_size(u->told_head), head = identity_state_size(u->head),
           who = audience_state_size(u->audience);
    if ((size_t)(f->end - f->at) < told + head + 2 * who)
        return err_set(e, ERR_CORRUPT, "it ends too early");
    int rc = identity_state_put(u->told_head, f->at, told, e);
    f->at += told;
    if (!rc) rc = identity_state_put(u->head, f->at, head, e);
    f->at += head;
    if (!rc) rc = audience_state_put(u->told_audience, f->at, who, e);
    f->at += who;
    if (!rc) rc = audience_state_put(u->audience, f->at, who, e);
    f->at += who;
    return rc;
}

static void get_merge(struct untagged_merge *m, const struct plain *p)
{
    m->node = p->node;
    m->expected = p->expected;
    for (int k = 0; k < UNTAGGED_EXPERTS; k++)
        m->x[k] = (float)p->x[k];
}

/* Kept for when there is something to merge again. */
static int carry(struct untagged_merge *m, const void *state, size_t n,
                 const struct plain *p, struct err *e)
{
    if (!n) return 0;
    m->carried = malloc(n);
    if (!m->carried) return err_set(e, ERR_MEMORY, "no memory for the bandit's state");
    memcpy(m->carried, state, n);
    m->carried_n = n;
    m->crc = (uint32_t)p->crc;
    get_merge(m, p);
    return 0;
}

/* The bandit goes on only with the experts and settings that it learned about. */
static bool get_bandit(struct untagged *u, const void *state, size_t n,
                       const struct plain *p)
{
    struct untagged_merge *m = &u->merge;
    struct err why = {0};
    const char *reason = !n                 ? "nothing was merged before"
                         : p->crc != m->crc ? "the experts are others than before"
                         : tanbr_state_put(m->bandit, state, n, &why) ? why.detail
                                                                      : NULL;
    if (reason)
        log_event(u->log, LOG_WARN, "slot", "the bandit starts anew: %s", reason);
    else
        get_merge(m, p);
    return !reason;
}

static void take(struct untagged *u, const struct plain *p)
{
    u->told = p->told;
    u->told.fallback = u->fallback;
    const struct qoe *h = &p->told.hint,
                     *none = &u->fallback; /* the one that was served */
    u->told.hinted = p->told.known &&
                     (h->mu_quality != none->mu_quality ||
                      h->mu_switch != none->mu_switch || h->mu_stall != none->mu_stall);
    u->tasks = p->tasks;
    memcpy(u->task, p->task, sizeof u->task);
    memcpy(u->qoe, p->qoe, sizeof u->qoe);
    u->sums = p->sums;
    u->slot_sessions = p->slot_sessions;
    u->stats = p->stats;
    for (int i = 0; i < BY_WAYS; i++)
        atomic_store(&u->decisions[i], p->decisions[i]);
    atomic_store(&u->slot, p->told.slot);
}

/* 0, 1, 2 as untagged_load, or an error: some parts may then have changed. */
static int get_all(struct untagged *u, unsigned char *bytes, size_t n, struct err *e)
{
    struct plain p = {0};
    int rc = check_head(bytes, n, e);
    if (rc) return rc;
    struct pack f = pack_reader(bytes + HEAD, n - HEAD);
    pass_plain(&f, &p);
    if (!f.ok) return err_set(e, ERR_CORRUPT, "it holds numbers that cannot be");
    rc = get_parts(&f, u, e);
    if (rc) return rc;
    uint32_t form = bytes_get_u32(bytes + 12);
    struct untagged_share *share = &u->share;
    if (form > FORM_SHARED) pass_share(&f, share);
    uint64_t bandit = 0;
    pack_u64(&f, &bandit);
    if (!f.ok || bandit != (uint64_t)(f.end - f.at))
        return err_set(e, ERR_CORRUPT, "it ends in the wrong place");

    take(u, &p);
    bool ahead = form == FORM_AHEAD || form == FORM_AHEAD + FORM_SHARED;
    u->told.slot += ahead; /* its number is taken */
    if (u->merge.bandit && !get_bandit(u, f.at, bandit, &p)) {
        *share = (struct untagged_share){0}; /* it is another's */
        return 1;
    }
    share->heard_to = share->learned_to;
    if (!u->merge.bandit) rc = carry(&u->merge, f.at, bandit, &p, e);
    return rc ? rc : 2 * ahead;
}

static void put_aside(const char *path)
{
    char bad[4096];
    if (snprintf(bad, sizeof bad, "%s.bad", path) < (int)sizeof bad) rename(path, bad);
}

int untagged_load(struct untagged *u, struct err *e)
{
    if (!u->state_path || access(u->state_path, F_OK)) return 1;
    struct err why = {0};
    size_t n = 0;
    char *bytes = text_read_file(u->state_path, FILE_MAX, &n, &why);
    int rc = bytes ? get_all(u, (unsigned char *)bytes, n, &why) : why.code;
    free(bytes);
    if (rc >= 0) return rc;
    if (rc != ERR_CORRUPT && rc != ERR_RANGE)
        return err_field(e, rc, u->state_path, "%s", why.detail);

    log_event(u->log, LOG_WARN, "slot",
              "%s: %s; it is put aside as .bad, and what was learned of untagged viewers "
              "starts anew",
              u->state_path, why.detail);
    put_aside(u->state_path);
    return ERR_CORRUPT;
}

#include "serve/cluster/bus_wire.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/pack.h"
#include "serve/added/added.h"
#include "serve/session/limits.h"

enum {
    FORM_TRAJ = 12,  /* the newest form of a trajectory */
    FORM_LOGS = 11,  /* the first whose summary has the logarithms */
    FORM_PAST = 9,   /* the first with a summary of more downloads than are listed */
    FORM_SOURCE = 7, /* the first with the source */
    FORM_LONG = 5,   /* the first with more than LEVELS_SHORT levels */
    FORM_UNITS = 3,  /* the first with points, all weights and ceilings */
    LEVELS_SHORT = 12,
    FORM_COMMON = 2,
    FORM_WEIGHTS = 3, /* the newest form of weights */
    FORM_DEDUP = 2,   /* the first with the state of the de-duplication */
    FORM_INPUT = 3,   /* the first whose policy may have an input */
    NOTE_BYTES = 80,
    COMMON_HEAD = 24,
    PROFILE_BYTES = SERVICE_NAME + 80,
    HEARTBEAT_BYTES = 48 + BUS_WIRE_NAME,
};
static const double REWARD_MAX = 1e9;

/* units: with what the papers' weights do not have. */
static void pass_qoe(struct pack *p, struct qoe *k, bool units)
{
    int utility = (int)k->utility;
    pack_real(p, &k->mu_quality);
    pack_real(p, &k->mu_switch);
    pack_real(p, &k->mu_stall);
    pack_small(p, &utility, QOE_LINEAR, units ? QOE_POINTS : QOE_PAMOE);
    if (!p->writing) k->utility = (enum qoe_utility)utility;
    if (units) {
        pack_real(p, &k->mu_rise);
        pack_real(p, &k->mu_start);
        pack_real(p, &k->stall_ratio_max);
        pack_real(p, &k->startup_max_s);
    } else {
        k->mu_rise = k->mu_start = k->stall_ratio_max = k->startup_max_s = 0;
    }
}

static void need(struct pack *p, bool ok)
{
    p->ok = p->ok && ok;
}

/* ---- trajectories ---- */

/* Even forms have the id of the added experts instead of the tag, which belongs to one process. Tags
 * of forms 1 and 2 have other numbers and are computed again. */
static bool has_added(int form)
{
    return form % 2 == 0;
}

static void pass_head(struct pack *p, struct traj *t, struct bus_wire_id *id, int form)
{
    int truncated = p->writing && t->truncated, n = t->n;
    pack_u64(p, &id->maker);
    pack_u64(p, &id->number);
    pack_u64(p, &t->key);
    pack_u64(p, &t->client);
    if (form >= FORM_SOURCE)
        pack_u64(p, &t->source);
    else if (!p->writing)
        t->source = 0;
    if (has_added(form))
        pack_u64(p, &t->added_id);
    else
        pack_small(p, &t->tag, 0, ADDED_TAG - 1);
    pack_small(p, &truncated, 0, 1);
    pack_small(p, &n, 0, TRAJ_STEPS);
    t->truncated = truncated;
    t->n = n;
    need(p, id->number > 0 && id->number <= INT64_MAX && t->n > 0 &&
                (!has_added(form) || t->added_id));
}

/* What is the same in all steps. */
static void pass_view(struct pack *p, struct view *v, int form)
{
    bool units = form >= FORM_UNITS;
    pack_small(p, &v->levels, 2, form < FORM_LONG ? LEVELS_SHORT : VIEW_LEVELS);
    for (int k = 0; k < v->levels; k++)
        pack_real(p, &v->ladder_kbps[k]);
    for (int k = 0; k < v->levels && units; k++)
        pack_real(p, &v->points[k]);
    /* older nodes knew no quality, and no session had one */
    if (!units && p->ok && v->ladder_kbps[0] > 0)
        quality_curve(v->points, v->ladder_kbps, NULL, v->levels);
    pack_real(p, &v->chunk_s);
    pack_int(p, &v->chunks, 0, LIMITS_CHUNKS);
    pack_real(p, &v->buffer_max_s);
    pass_qoe(p, &v->qoe, units);
}

static void pass_past(struct pack *p, struct view_past *past, int form)
{
    pack_small(p, &past->n, VIEW_HISTORY + 1, VIEW_PAST);
    pack_real(p, &past->kbit);
    pack_real(p, &past->download_s);
    pack_real(p, &past->low);
    need(p, past->kbit > 0 && past->download_s > 0);
    if (form < FORM_LOGS) return;
    pack_real(p, &past->ln_mean);
    pack_real(p, &past->ln_variance);
    pack_real(p, &past->ln_change);
    pack_real(p, &past->ln_last);
    need(p, past->ln_variance >= 0 && past->ln_change >= 0);
}

static void pass_measured(struct pack *p, struct traj_measured *m, int form)
{
    pack_small(p, &m->n, 0, VIEW_HISTORY);
    for (int i = 0; i < m->n; i++) {
        pack_u32(p, &m->bytes[i]);
        pack_real(p, &m->download_s[i]);
        need(p, m->bytes[i] > 0 && m->download_s[i] >= LIMITS_DOWNLOAD_S_MIN &&
                    m->download_s[i] <= LIMITS_SECONDS);
    }
    if (!p->writing) { /* what an older form does not tell follows from what is listed */
        m->past = (struct view_past){0};
        for (int i = 0; p->ok && i < m->n; i++)
            view_past_add(&m->past, view_kbps(m->bytes[i], m->download_s[i]),
                          m->download_s[i]);
    }
    if (form >= FORM_PAST) pass_past(p, &m->past, form);
}

static void pass_code(struct pack *p, uint16_t *code)
{
    uint8_t low = (uint8_t)*code, high = (uint8_t)(*code >> 8);
    pack_u8(p, &low);
    pack_u8(p, &high);
    if (!p->writing) *code = (uint16_t)(low | high << 8);
    need(p, *code <= 100 * (int)LIMITS_QUALITY + 1);
}

/* One byte if nothing is known of the chunk itself, as is usual. */
static void pass_points(struct pack *p, struct traj_points *q, int levels)
{
    int known = q->last != 0;
    for (int k = 0; k < levels; k++)
        known |= q->next[k] != 0;
    pack_small(p, &known, 0, 1);
    if (!p->writing) *q = (struct traj_points){0};
    for (int k = 0; k < levels && known; k++)
        pass_code(p, &q->next[k]);
    if (known) pass_code(p, &q->last);
}

static void pass_step(struct pack *p, struct traj_step *s, int levels, bool last,
                      bool units)
{
    uint32_t chunk = (uint32_t)s->chunk, bytes = (uint32_t)s->bytes;
    int action = s->action, last_level = s->last_level;
    pack_u32(p, &chunk);
    pack_small(p, &action, 0, levels - 1);
    pack_small(p, &last_level, -1, levels - 1);
    pack_f32(p, &s->logp);
    pack_u64(p, &s->policy);
    for (int k = 0; k < levels; k++)
        pack_u32(p, &s->next_bytes[k]);
    if (units)
        pass_points(p, &s->points, levels);
    else
        s->points = (struct traj_points){0};
    pack_real(p, &s->buffer_s);
    if (!last) {
        pack_u32(p, &bytes);
        pack_real(p, &s->download_s);
        pack_real(p, &s->reward);
    }
    if (p->writing) return;
    need(p, chunk <= LIMITS_CHUNK && s->buffer_s >= 0 && s->buffer_s <= LIMITS_BUFFER_S);
    if (!last)
        need(p, s->download_s >= LIMITS_DOWNLOAD_S_MIN &&
                    s->download_s <= LIMITS_SECONDS && fabs(s->reward) <= REWARD_MAX);
    s->chunk = (int32_t)chunk;
    s->bytes = last ? 0 : (double)bytes;
    s->action = (int8_t)action;
    s->last_level = (int8_t)last_level;
}

static void pass_traj(struct pack *p, struct traj *t, struct bus_wire_id *id, int form)
{
    bool units = form >= FORM_UNITS;
    pass_head(p, t, id, form);
    pass_view(p, &t->view, form);
    pass_measured(p, &t->before, form);
    /* the state after the last step has no outcome */
    for (int i = 0; p->ok && i < traj_states(t); i++)
        pass_step(p, &t->step[i], t->view.levels, i == t->n, units);
}

size_t bus_wire_put_traj(void *out, const struct traj *t, struct bus_wire_id id)
{
    unsigned char *body = (unsigned char *)out + ENVELOPE_HEAD;
    struct pack p = pack_writer(body, BUS_WIRE_TRAJ_MAX - ENVELOPE_HEAD);
    int form = t->before.past.n > VIEW_HISTORY ? FORM_LOGS
               : t->source                     ? FORM_SOURCE
               : t->view.levels > LEVELS_SHORT ? FORM_LONG
                                               : FORM_UNITS;
    form += t->added_id != 0;
    pass_traj(&p, (struct traj *)(uintptr_t)t, &id, form); /* which a writer only reads */
    assert(p.ok);
    return envelope_seal(out, ENVELOPE_TRAJ, form, pack_done(&p, body));
}

struct bus_wire_id bus_wire_peek(const void *bytes)
{
    const unsigned char *body = (const unsigned char *)bytes + ENVELOPE_HEAD;
    return (struct bus_wire_id){bytes_get_u64(body), bytes_get_u64(body + 8)};
}

/* The checks of a request (limits.h). */
static int check_view(const struct view *constants, struct err *e)
{
    struct view v = *constants;
    v.chunk = 0;
    v.buffer_s = 0;
    v.last_level = -1;
    v.n_history = 0;
    memset(v.next_bytes, 0, sizeof v.next_bytes);
    return limits_view(&v, e);
}

int bus_wire_get_traj(struct traj *out, struct bus_wire_id *id, const void *bytes,
                      size_t n, struct err *e)
{
    const void *body;
    int form, rc = envelope_open(&body, &n, &form, bytes, n, ENVELOPE_TRAJ, FORM_TRAJ, e);
    if (rc) return rc;
    struct pack p = pack_reader(body, n);
    out->view = view_default();
    out->tag = has_added(form) ? ADDED_TAG : 0;
    out->added_id = out->place = 0;
    pass_traj(&p, out, id, form);
    if (!p.ok || !pack_over(&p) || check_view(&out->view, NULL))
        return err_set(e, ERR_CORRUPT, "a trajectory: invalid numbers");
    if (form < FORM_UNITS && !has_added(form)) out->tag = profiles_tag(&out->view.qoe);
    return 0;
}

/* ---- weights ---- */

/* n bytes as they are; a reader borrows them. */
static void pass_blob(struct pack *p, const void **bytes, size_t n)
{
    need(p, n <= (size_t)(p->end - p->at));
    if (!p->ok) return;
    if (p->writing && n) memcpy(p->at, *bytes, n);
    if (!p->writing) *bytes = n ? p->at : NULL;
    p->at += n;
}

static void pass_weights(struct pack *p, void *value, int form)
{
    struct bus_wire_weights *w = value;
    uint64_t dedup_n = w->dedup_n;
    pack_u64(p, &w->term);
    pack_u64(p, &w->version);
    pack_u64(p, &w->position);
    pack_real(p, &w->published_at);
    pack_f64(p, &w->check_score);
    pack_u64(p, &w->state_bytes);
    pack_u32(p, &w->state_crc);
    pack_int(p, &w->state_parts, 0, 4096);
    pack_small(p, &w->state_slot, 0, 1);
    need(p, w->term > 0 && w->version > 0);
    if (form >= FORM_DEDUP) pack_u64(p, &dedup_n);
    if (!p->writing) w->dedup_n = dedup_n;
    if (!p->writing) w->has_input = form >= FORM_INPUT;
    pass_blob(p, &w->dedup, w->dedup_n);
    if (!p->writing) w->checkpoint_n = (size_t)(p->end - p->at);
    pass_blob(p, &w->checkpoint, w->checkpoint_n);
}

static size_t room_weights(const void *value)
{
    const struct bus_wire_weights *w = value;
    return NOTE_BYTES + w->dedup_n + w->checkpoint_n;
}

static int written_weights(const void *value)
{
    const struct bus_wire_weights *w = value;
    return w->has_input ? FORM_INPUT : FORM_DEDUP;
}

const struct shared_value_kind bus_wire_weights_kind = {
    .key = "weights",
    .envelope = ENVELOPE_WEIGHTS,
    .form = FORM_WEIGHTS,
    .size = sizeof(struct bus_wire_weights),
    .room = room_weights,
    .pass = pass_weights,
    .written = written_weights};

/* ---- profiles and settings of the whole cluster ---- */

/* Ceilings that follow the settings of each node do not travel. */
static void pass_profile(struct pack *p, struct profile *v, bool units)
{
    struct qoe k = v->qoe;
    if (!v->own_stall_ratio_max) k.stall_ratio_max = 0;
    if (!v->own_startup_max_s) k.startup_max_s = 0;
    pack_text(p, v->name, SERVICE_NAME);
    pass_qoe(p, &k, units);
    if (units) {
        pack_bool(p, &v->own_stall_ratio_max);
        pack_bool(p, &v->own_startup_max_s);
    }
    if (p->writing) return;
    v->qoe = k;
    if (p->ok) need(p, !limits_name(v->name, NULL) && !limits_qoe(&v->qoe, NULL));
}

/* Renames a profile whose name has become built-in; every node chooses the same new name. */
static void common_rename(struct bus_wire_common *c)
{
    char name[SERVICE_NAME];
    for (int i = 0; i < c->n; i++)
        if (qoe_find(c->profile[i].name) &&
            !profiles_free_name(name, c->profile, c->n, c->profile[i].name))
            memcpy(c->profile[i].name, name, sizeof name);
}

static void pass_common(struct pack *p, void *value, int form)
{
    struct bus_wire_common *c = value;
    pack_bool(p, &c->has_explore);
    pack_real(p, &c->explore_share);
    pack_int(p, &c->n, 0, PROFILES_MAX);
    need(p, c->explore_share >= 0 && c->explore_share <= 1);
    for (int i = 0; p->ok && i < c->n; i++)
        pass_profile(p, &c->profile[i], form > 1);
    if (!p->writing && p->ok) common_rename(c);
}

static size_t room_common(const void *value)
{
    const struct bus_wire_common *c = value;
    return COMMON_HEAD + (size_t)c->n * PROFILE_BYTES;
}

const struct shared_value_kind bus_wire_common_kind = {.key = "common",
                                                       .envelope = ENVELOPE_COMMON,
                                                       .form = FORM_COMMON,
                                                       .size =
                                                           sizeof(struct bus_wire_common),
                                                       .room = room_common,
                                                       .pass = pass_common};

/* ---- the leader's heartbeat ---- */

static void pass_heartbeat(struct pack *p, void *value, int form)
{
    struct bus_wire_heartbeat *b = value;
    (void)form;
    pack_u64(p, &b->term);
    pack_u64(p, &b->count);
    pack_u64(p, &b->version);
    pack_u64(p, &b->weights_rev);
    pack_u64(p, &b->common_rev);
    pack_bool(p, &b->over);
    pack_text(p, b->name, sizeof b->name);
    need(p, b->term > 0);
}

static size_t room_heartbeat(const void *value)
{
    (void)value;
    return HEARTBEAT_BYTES;
}

const struct shared_value_kind bus_wire_heartbeat_kind = {
    .key = "beat",
    .envelope = ENVELOPE_HEARTBEAT,
    .form = 1,
    .size = sizeof(struct bus_wire_heartbeat),
    .room = room_heartbeat,
    .pass = pass_heartbeat};

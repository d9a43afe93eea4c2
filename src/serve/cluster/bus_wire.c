#include "serve/cluster/bus_wire.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/pack.h"
#include "serve/added/added.h"
#include "serve/session/limits.h"

/* the newest forms that are written and read */
enum { FORM_TRAJ = 2, FORM_WEIGHTS = 2, FORM_COMMON = 1, FORM_BEAT = 1 };
enum {
    NOTE_BYTES = 72,
    LENGTH_BYTES = 8,
    COMMON_HEAD = 24,
    PROFILE_BYTES = SERVICE_NAME + 32
};
static const double REWARD_MAX = 1e9;

static int corrupt(struct err *e, const char *what)
{
    return err_set(e, ERR_CORRUPT, "%s holds numbers that cannot be", what);
}

static void pass_qoe(struct pack *p, struct qoe *k)
{
    int utility = (int)k->utility;
    pack_real(p, &k->mu_quality);
    pack_real(p, &k->mu_switch);
    pack_real(p, &k->mu_stall);
    pack_small(p, &utility, QOE_LINEAR, QOE_PAMOE);
    k->utility = (enum qoe_utility)utility;
}

static void need(struct pack *p, bool ok)
{
    p->ok = p->ok && ok;
}

/* ---- trajectories ---- */

/* Form 2 has the id of added experts, and no tag, which is this node's own. */
static void pass_head(struct pack *p, struct traj *t, struct bus_wire_id *id, int form)
{
    int truncated = p->writing && t->truncated, n = t->n;
    pack_u64(p, &id->maker);
    pack_u64(p, &id->number);
    pack_u64(p, &t->key);
    pack_u64(p, &t->client);
    if (form > 1)
        pack_u64(p, &t->added_id);
    else
        pack_small(p, &t->tag, 0, ADDED_TAG - 1);
    pack_small(p, &truncated, 0, 1);
    pack_small(p, &n, 0, TRAJ_STEPS);
    t->truncated = truncated;
    t->n = n;
    need(p, id->number > 0 && id->number <= INT64_MAX && t->n > 0 &&
                (form == 1 || t->added_id));
}

/* The constants; the rest of a view changes from step to step. */
static void pass_view(struct pack *p, struct view *v)
{
    pack_small(p, &v->levels, 2, VIEW_LEVELS);
    for (int k = 0; k < v->levels; k++)
        pack_real(p, &v->ladder_kbps[k]);
    pack_real(p, &v->chunk_s);
    pack_int(p, &v->chunks, 0, LIMITS_CHUNKS);
    pack_real(p, &v->buffer_max_s);
    pass_qoe(p, &v->qoe);
}

static void pass_measured(struct pack *p, struct traj_measured *m)
{
    pack_small(p, &m->n, 0, VIEW_HISTORY);
    for (int i = 0; i < m->n; i++) {
        pack_u32(p, &m->bytes[i]);
        pack_real(p, &m->download_s[i]);
        need(p, m->bytes[i] > 0 && m->download_s[i] >= LIMITS_DOWNLOAD_S_MIN &&
                    m->download_s[i] <= LIMITS_SECONDS);
    }
}

static void pass_step(struct pack *p, struct traj_step *s, int levels, bool last)
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
    pass_head(p, t, id, form);
    pass_view(p, &t->view);
    pass_measured(p, &t->before);
    /* the state behind the last step has no outcome */
    for (int i = 0; p->ok && i < traj_states(t); i++)
        pass_step(p, &t->step[i], t->view.levels, i == t->n);
}

size_t bus_wire_put_traj(void *out, const struct traj *t, struct bus_wire_id id)
{
    unsigned char *body = (unsigned char *)out + ENVELOPE_HEAD;
    struct pack p = pack_writer(body, BUS_WIRE_TRAJ_MAX - ENVELOPE_HEAD);
    int form =
        t->added_id ? FORM_TRAJ : 1; /* learners of before read what is not grown */
    pass_traj(&p, (struct traj *)(uintptr_t)t, &id, form); /* which a writer only reads */
    assert(p.ok);
    return envelope_seal(out, ENVELOPE_TRAJ, form, pack_done(&p, body));
}

struct bus_wire_id bus_wire_peek(const void *bytes)
{
    const unsigned char *body = (const unsigned char *)bytes + ENVELOPE_HEAD;
    return (struct bus_wire_id){bytes_get_u64(body), bytes_get_u64(body + 8)};
}

/* As limits.h has it for a viewer's own. */
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
    out->tag = form > 1 ? ADDED_TAG : 0;
    out->added_id = out->place = 0;
    pass_traj(&p, out, id, form);
    if (!p.ok || !pack_over(&p) || check_view(&out->view, NULL))
        return corrupt(e, "the trajectory");
    return 0;
}

/* ---- weights ---- */

static void pass_weights(struct pack *p, struct bus_wire_weights *w)
{
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
}

int bus_wire_put_weights(void **out, size_t *n, const struct bus_wire_weights *w,
                         const void *checkpoint, size_t checkpoint_n, struct err *e)
{
    *out = NULL;
    size_t room = NOTE_BYTES + LENGTH_BYTES + w->dedup_n;
    unsigned char *bytes = malloc(ENVELOPE_HEAD + room + checkpoint_n);
    if (!bytes) return err_set(e, ERR_MEMORY, "no memory to publish weights");
    struct bus_wire_weights note = *w;
    struct pack p = pack_writer(bytes + ENVELOPE_HEAD, room);
    uint64_t dedup_n = w->dedup_n;
    pass_weights(&p, &note);
    pack_u64(&p, &dedup_n);
    if (!p.ok) {
        free(bytes);
        return corrupt(e, "the note of the weights");
    }
    size_t noted = pack_done(&p, bytes + ENVELOPE_HEAD);
    if (w->dedup_n) memcpy(p.at, w->dedup, w->dedup_n);
    memcpy(p.at + w->dedup_n, checkpoint, checkpoint_n);
    *out = bytes;
    *n = envelope_seal(bytes, ENVELOPE_WEIGHTS, FORM_WEIGHTS,
                       noted + w->dedup_n + checkpoint_n);
    return 0;
}

int bus_wire_get_weights(struct bus_wire_weights *w, const void **checkpoint,
                         size_t *checkpoint_n, const void *bytes, size_t n, struct err *e)
{
    const void *body;
    int form,
        rc = envelope_open(&body, &n, &form, bytes, n, ENVELOPE_WEIGHTS, FORM_WEIGHTS, e);
    if (rc) return rc;
    struct pack p = pack_reader(body, n);
    uint64_t dedup_n = 0;
    pass_weights(&p, w);
    if (form > 1) pack_u64(&p, &dedup_n);
    if (!p.ok || dedup_n > (size_t)(p.end - p.at))
        return corrupt(e, "the note of the weights");
    w->dedup = dedup_n ? p.at : NULL;
    w->dedup_n = dedup_n;
    p.at += dedup_n;
    if (!checkpoint) return 0;
    *checkpoint = p.at;
    *checkpoint_n = (size_t)(p.end - p.at);
    return 0;
}

/* ---- what is equal everywhere ---- */

static void pass_profile(struct pack *p, struct profile *v)
{
    pack_text(p, v->name, SERVICE_NAME);
    pass_qoe(p, &v->qoe);
    if (!p->writing && p->ok)
        need(p, !limits_name(v->name, NULL) && !limits_qoe(&v->qoe, NULL) &&
                    !qoe_find(v->name));
}

static void pass_common(struct pack *p, struct bus_wire_common *c)
{
    pack_bool(p, &c->has_explore);
    pack_real(p, &c->explore_share);
    pack_int(p, &c->n, 0, PROFILES_MAX);
    need(p, c->explore_share >= 0 && c->explore_share <= 1);
    for (int i = 0; p->ok && i < c->n; i++)
        pass_profile(p, &c->profile[i]);
}

int bus_wire_put_common(void **out, size_t *n, const struct bus_wire_common *c,
                        struct err *e)
{
    size_t room = COMMON_HEAD + (size_t)c->n * PROFILE_BYTES;
    unsigned char *bytes = malloc(ENVELOPE_HEAD + room);
    *out = bytes;
    if (!bytes) return err_set(e, ERR_MEMORY, "no memory for the common settings");
    struct pack p = pack_writer(bytes + ENVELOPE_HEAD, room);
    pass_common(&p, (struct bus_wire_common *)(uintptr_t)c);
    assert(p.ok);
    *n = envelope_seal(bytes, ENVELOPE_COMMON, FORM_COMMON,
                       pack_done(&p, bytes + ENVELOPE_HEAD));
    return 0;
}

int bus_wire_get_common(struct bus_wire_common *c, const void *bytes, size_t n,
                        struct err *e)
{
    const void *body;
    int form,
        rc = envelope_open(&body, &n, &form, bytes, n, ENVELOPE_COMMON, FORM_COMMON, e);
    if (rc) return rc;
    *c = (struct bus_wire_common){0};
    struct pack p = pack_reader(body, n);
    pass_common(&p, c);
    return p.ok && pack_over(&p) ? 0 : corrupt(e, "the common settings");
}

/* ---- who learns ---- */

static void pass_beat(struct pack *p, struct bus_wire_beat *b)
{
    pack_u64(p, &b->term);
    pack_u64(p, &b->beats);
    pack_u64(p, &b->version);
    pack_u64(p, &b->weights_rev);
    pack_u64(p, &b->common_rev);
    pack_bool(p, &b->over);
    pack_text(p, b->name, sizeof b->name);
    need(p, b->term > 0);
}

size_t bus_wire_put_beat(void *out, const struct bus_wire_beat *b)
{
    unsigned char *body = (unsigned char *)out + ENVELOPE_HEAD;
    struct pack p = pack_writer(body, BUS_WIRE_BEAT_MAX - ENVELOPE_HEAD);
    pass_beat(&p, (struct bus_wire_beat *)(uintptr_t)b);
    assert(p.ok);
    return envelope_seal(out, ENVELOPE_BEAT, FORM_BEAT, pack_done(&p, body));
}

int bus_wire_get_beat(struct bus_wire_beat *b, const void *bytes, size_t n, struct err *e)
{
    const void *body;
    int form, rc = envelope_open(&body, &n, &form, bytes, n, ENVELOPE_BEAT, FORM_BEAT, e);
    if (rc) return rc;
    struct pack p = pack_reader(body, n);
    pass_beat(&p, b);
    return p.ok && pack_over(&p) ? 0 : corrupt(e, "the beat");
}

#include "sim/model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "abr/emulator/quality.h"
#include "serve/session/track.h"

struct model_session *model_open(const struct session_open *in,
                                 const struct session_opened *out, uint64_t put)
{
    struct model_session *s = calloc(1, sizeof *s);
    assert(s);
    s->in = *in;
    s->out = *out;
    s->put = put;
    memcpy(s->profile, out->profile, sizeof s->profile);
    struct question q = {.has_next = in->has_next};
    memcpy(q.next_bytes, in->next_bytes, sizeof q.next_bytes);
    uint64_t none;
    model_asked(s, &q, &out->first, put, &none, &none);
    return s;
}

void model_free(struct model_session *s)
{
    if (!s) return;
    free(s->step);
    free(s);
}

struct model_step *model_newest(const struct model_session *s)
{
    return s->n ? &s->step[s->n - 1] : NULL;
}

/* The newest of the last steps of this chunk that are still looked at, or NULL. */
static struct model_step *find(const struct model_session *s, int chunk)
{
    for (int i = s->n - 1; i >= 0 && i >= s->n - TRACK_KEEP; i--)
        if (s->step[i].chunk == chunk) return &s->step[i];
    return NULL;
}

int model_followed(const struct model_session *s)
{
    int n = 0;
    for (int i = s->seen_from; i < s->n; i++) {
        const struct model_step *m = &s->step[i];
        n += m->decided && m->reported && m->a.level == m->o.level;
    }
    return n;
}

void model_cut(struct model_session *s, int n)
{
    s->n = n;
}

/* ---- rules ---- */

static bool same_outcome(const struct outcome *a, const struct outcome *b)
{
    return a->chunk == b->chunk && a->level == b->level && a->bytes == b->bytes &&
           a->download_s == b->download_s && a->rebuffer_s == b->rebuffer_s;
}

/* Sizes are kept as whole bytes, unknown ones as 0. */
static bool same_sizes(const struct question *kept, const struct question *q, int levels)
{
    for (int k = 0; k < levels; k++) {
        double was = kept->has_next ? kept->next_bytes[k] : 0;
        if ((uint32_t)(was + .5) != (uint32_t)(q->next_bytes[k] + .5)) return false;
    }
    return true;
}

static bool same_question(const struct model_step *s, const struct question *q,
                          int levels)
{
    const struct question *k = &s->q;
    return s->decided && k->chunk == q->chunk && k->buffer_s == q->buffer_s &&
           k->has_last == q->has_last &&
           (!q->has_last || same_outcome(&k->last, &q->last)) &&
           (!q->has_next || same_sizes(k, q, levels));
}

int model_ask(const struct model_step **again, const struct model_session *s,
              const struct question *q)
{
    if (s->closed || s->forgotten) return ERR_ABSENT;
    const struct model_step *at = find(s, q->chunk);
    if (at && same_question(at, q, s->in.levels)) {
        *again = at;
        return 1;
    }
    bool played = q->has_last && q->last.chunk == q->chunk;
    if (at && at == model_newest(s) && at->decided && !played) return ERR_CONFLICT;

    const struct model_step *last = q->has_last ? find(s, q->last.chunk) : NULL;
    if (last && last->reported && !same_outcome(&last->o, &q->last)) return ERR_CONFLICT;
    return 0;
}

/* ---- what is taken ---- */

static struct model_step *append(struct model_session *s, int chunk)
{
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 16;
        s->step = realloc(s->step, (size_t)s->cap * sizeof *s->step);
        assert(s->step);
    }
    const struct model_step *before = model_newest(s);
    int level = !before ? -1 : before->reported ? before->o.level : before->a.level;
    s->step[s->n] = (struct model_step){.chunk = chunk, .last_level = level};
    return &s->step[s->n++];
}

static void take(struct model_session *s, struct model_step *at, const struct outcome *o,
                 uint64_t put, uint64_t *rewards, uint64_t *not_followed)
{
    const double *ladder = s->in.ladder_kbps;
    double points[VIEW_LEVELS];
    quality_curve(points, ladder, NULL, s->in.levels);
    struct qoe_level before = {0, 0}, now = {ladder[o->level], points[o->level]};
    if (at->last_level >= 0)
        before = (struct qoe_level){ladder[at->last_level], points[at->last_level]};
    at->reported = true;
    at->o = *o;
    at->put_outcome = put;
    at->reward =
        qoe_chunk(&s->out.qoe, now, before, s->in.chunk_s, o->rebuffer_s, ladder[0])
            .reward;
    *rewards += 1;
    *not_followed += !(at->decided && at->a.level == o->level);
}

void model_asked(struct model_session *s, const struct question *q,
                 const struct answer *a, uint64_t put, uint64_t *rewards,
                 uint64_t *not_followed)
{
    struct model_step *at = q->has_last ? find(s, q->last.chunk) : NULL;
    if (q->has_last && !at) {
        at = append(s, q->last.chunk);
        at->a.level = -1;
        at->put = put;
    }
    if (at && !at->reported) take(s, at, &q->last, put, rewards, not_followed);
    at = append(s, q->chunk);
    at->decided = true;
    at->q = *q;
    at->a = *a;
    at->put = put;
}

static int label_agrees(const struct model_session *s, const char *label)
{
    bool said = s->out.hinted || s->labelled;
    if (!label[0]) return 0;
    if (said && !s->in.has_mu && !strcmp(s->profile, label)) return 0;
    return !said && !s->closed ? 0 : ERR_CONFLICT;
}

static void close_now(struct model_session *s, const char *label, bool terminal,
                      uint64_t put)
{
    const struct model_step *at = model_newest(s);
    bool last = at->reported && s->in.chunks && at->chunk == s->in.chunks - 1;
    if (label[0] && !s->out.hinted) {
        strcpy(s->profile, label);
        s->labelled = true;
    }
    s->terminal = terminal || last;
    s->closed = true;
    s->put_closed = put;
}

int model_close(struct model_session *s, const char *label, bool known, uint64_t put)
{
    if (label[0] && !known) return ERR_ABSENT;
    if (s->forgotten) return ERR_ABSENT;
    int rc = label_agrees(s, label);
    if (rc || s->closed) return rc;
    close_now(s, label, false, put);
    return 0;
}

static int take_report(struct model_step **at, bool *repeated, struct model_session *s,
                       const struct outcome *o, uint64_t put, uint64_t *rewards,
                       uint64_t *not_followed)
{
    struct model_step *m = find(s, o->chunk);
    if (m && m->reported) {
        *repeated = true;
        *at = m;
        return same_outcome(&m->o, o) ? 0 : ERR_CONFLICT;
    }
    if (s->closed) return ERR_ABSENT;
    if (!m && o->chunk <= model_newest(s)->chunk) return ERR_ABSENT;
    if (!m) {
        m = append(s, o->chunk);
        m->a.level = -1;
        m->put = put;
    }
    take(s, m, o, put, rewards, not_followed);
    *at = m;
    return 0;
}

static int take_external(struct model_step **at, bool *repeated, struct model_session *s,
                         const struct reward_in *in, uint64_t put)
{
    struct model_step *m = find(s, in->chunk);
    if (!m) return ERR_ABSENT;
    *at = m;
    *repeated = m->has_external;
    if (m->has_external) return m->external == in->external ? 0 : ERR_CONFLICT;
    if (s->closed) return ERR_ABSENT;
    m->has_external = true;
    m->external = in->external;
    m->put_external = put;
    return 0;
}

int model_report(struct reward_out *out, struct model_session *s,
                 const struct reward_in *in, bool known, uint64_t put, uint64_t *rewards,
                 uint64_t *not_followed)
{
    if (in->profile[0] && !in->final) return ERR_INVALID;
    if (in->profile[0] && !known) return ERR_ABSENT;
    if (s->forgotten) return ERR_ABSENT;
    if (!in->has_outcome && !in->has_external && !in->final) return ERR_INVALID;
    if (in->has_outcome && in->has_external && in->outcome.chunk != in->chunk)
        return ERR_INVALID;
    int rc = label_agrees(s, in->profile);
    if (rc) return rc;
    const struct model_step *was =
        in->has_outcome && in->has_external ? find(s, in->chunk) : NULL;
    if (was && was->has_external && was->external != in->external) return ERR_CONFLICT;

    struct model_step *at = model_newest(s);
    bool repeated = in->final && s->closed;
    if (in->has_outcome)
        rc = take_report(&at, &repeated, s, &in->outcome, put, rewards, not_followed);
    if (!rc && in->has_external) rc = take_external(&at, &repeated, s, in, put);
    if (rc) return rc;
    *out = (struct reward_out){.chunk = at->chunk,
                               .reward = at->reported ? at->reward : 0,
                               .followed = at->reported && at->decided &&
                                           at->a.level == at->o.level,
                               .repeated = repeated};
    if (in->final && !s->closed) close_now(s, in->profile, true, put);
    return 0;
}

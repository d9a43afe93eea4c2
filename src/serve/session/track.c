#include "serve/session/track.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abr/deciders/window.h"
#include "base/rng.h"
#include "serve/session/limits.h"

/* ---- answers ---- */

enum service_by track_by(const struct step *s)
{
    return (enum service_by)((s->flags & STEP_BY_MASK) / STEP_BY);
}

void track_answer(struct answer *out, const struct step *s, const struct track_row *row)
{
    *out = (struct answer){.chunk = s->chunk,
                           .level = s->decided,
                           .levels = row->levels,
                           .kbps = row->ladder_kbps[s->decided],
                           .quality = track_seen(row, s, s->decided).points,
                           .quality_from = s->points.next[s->decided]
                                               ? QUALITY_CHUNK
                                               : (enum quality_source)row->quality_from,
                           .policy = s->policy,
                           .expert = s->expert,
                           .value = (double)s->value,
                           .entropy = (double)s->entropy,
                           .sampled = s->flags & STEP_SAMPLED,
                           .guarded = s->flags & STEP_GUARDED,
                           .observed = row->observed,
                           .by = track_by(s)};
    window_spread(out->prob, row->levels, s->seen, s->prob);
}

void track_history(struct history_step *out, const struct step *s,
                   const struct track_row *row)
{
    bool reported = s->flags & STEP_REPORTED;
    int shown = reported ? s->level : s->decided;
    *out = (struct history_step){.chunk = s->chunk,
                                 .level = reported ? s->level : -1,
                                 .decided_level = s->decided,
                                 .expert = s->expert,
                                 .bytes = s->bytes,
                                 .kbps = row->ladder_kbps[shown],
                                 .quality = track_seen(row, s, shown).points,
                                 .buffer_s = s->buffer_s,
                                 .download_s = s->download_s,
                                 .rebuffer_s = s->rebuffer_s,
                                 .reward = s->reward,
                                 .external = s->external,
                                 .logp = (double)s->logp,
                                 .policy = s->policy,
                                 .by = track_by(s),
                                 .reported = reported,
                                 .followed = s->flags & STEP_FOLLOWED,
                                 .sampled = s->flags & STEP_SAMPLED,
                                 .has_external = s->flags & STEP_EXTERNAL};
}

/* ---- labels ---- */

/* 0 if `profile` equals the profile that was given first, by the hint or at the end, or if none was
 * given yet; else ERR_CONFLICT. */
static int track_label_agrees(const struct track_row *row, const char *profile,
                              struct err *e)
{
    if (!profile[0]) return 0;
    bool said = row->hinted || row->labelled;
    if (said && !row->has_mu && !strcmp(row->profile, profile)) return 0;
    if (!said && !row->closed) return 0;
    return err_field(e, ERR_CONFLICT, "profile", "the session %s %s",
                     row->hinted ? "was opened as" : "ended as",
                     said ? row->profile : "one without a profile");
}

static void track_label_put(struct track_row *row, const char *profile)
{
    if (!profile[0] || row->hinted) return;
    snprintf(row->profile, sizeof row->profile, "%s", profile);
    row->labelled = true;
}

int track_label(struct track *t, const char *profile, struct err *e)
{
    int rc = track_label_agrees(&t->row, profile, e);
    if (!rc && !t->row.closed) track_label_put(&t->row, profile);
    return rc;
}

/* ---- steps ---- */

int track_steps_init(struct steps *p, int cap, int keep, struct err *e)
{
    *p = (struct steps){.cap = cap, .free = -1, .keep = keep};
    /* calloc: pages are not touched until their steps are used */
    p->at = calloc((size_t)cap, sizeof *p->at);
    if (!p->at) return err_set(e, ERR_MEMORY, "no memory for %d steps", cap);
    return 0;
}

void track_steps_release(struct steps *p)
{
    free(p->at);
    p->at = NULL;
}

static int32_t track_take(struct steps *p)
{
    int32_t i = p->free;
    if (i >= 0) {
        p->free = p->at[i].next;
        return i;
    }
    return p->used < p->cap ? p->used++ : -1;
}

static void give_back_oldest(struct track *t, struct steps *p)
{
    int32_t i = t->oldest;
    struct step *s = &p->at[i];
    if (t->head == i) t->head = -1;
    t->oldest = s->next;
    if (t->oldest < 0)
        t->newest = -1;
    else
        p->at[t->oldest].prev = -1;
    t->n--;
    s->next = p->free;
    p->free = i;
}

/* A zeroed step after the newest one; NULL: no free step. */
static struct step *track_append(struct track *t, struct steps *p, struct changes *c)
{
    while (t->n >= p->keep && t->oldest != t->head)
        give_back_oldest(t, p);

    int32_t i = track_take(p);
    if (i < 0 && t->n) {
        c->starved |= t->oldest == t->head;
        give_back_oldest(t, p);
        i = track_take(p);
    }
    if (i < 0) return NULL;

    struct step *s = &p->at[i];
    *s = (struct step){.next = -1, .prev = t->newest, .ord = t->ords++};
    if (t->newest < 0)
        t->oldest = i;
    else
        p->at[t->newest].next = i;
    t->newest = i;
    t->n++;
    t->head_n++;
    return s;
}

static void step_changed(struct step *s, double now, struct changes *c)
{
    s->rev++;
    s->at = now;
    int k = 0;
    while (k < c->n && c->step[k].ord != s->ord)
        k++;
    assert(k < 3);
    c->step[k] = *s;
    if (k == c->n) c->n++;
}

/* The newest step of this chunk among the last TRACK_KEEP. */
static struct step *track_find(const struct track *t, const struct steps *p, int chunk)
{
    int32_t i = t->newest;
    for (int k = 0; k < TRACK_KEEP && i >= 0; k++, i = p->at[i].prev)
        if (p->at[i].chunk == chunk) return &p->at[i];
    return NULL;
}

/* ---- trajectories ---- */

static void emit_trajectory(const struct track *t, const struct steps *p, int n,
                            bool truncated, struct changes *c)
{
    if (n < 1) return;
    assert(!c->has_traj && n <= TRAJ_STEPS);
    const struct track_row *row = &t->row;
    struct traj *j = &c->traj;
    c->has_traj = true;
    j->key = row->key;
    memcpy(&j->client, row->id, sizeof j->client);
    j->source = row->from;
    j->tag = row->tag;
    j->added_id = j->place = 0;
    j->truncated = truncated;
    j->n = n;
    j->before = t->before;
    j->view = (struct view){.levels = row->levels,
                            .chunk_s = row->chunk_s,
                            .chunks = row->chunks,
                            .buffer_max_s = row->buffer_max_s,
                            .qoe = row->qoe};
    memcpy(j->view.ladder_kbps, row->ladder_kbps, sizeof j->view.ladder_kbps);
    memcpy(j->view.points, row->points, sizeof j->view.points);

    int32_t i = t->head;
    for (int k = 0; k < n + truncated; k++, i = p->at[i].next) {
        const struct step *s = &p->at[i];
        struct traj_step *d = &j->step[k];
        d->chunk = s->chunk;
        d->action = s->decided;
        d->last_level = s->last_level;
        d->logp = s->logp;
        memcpy(d->next_bytes, s->next_bytes, sizeof d->next_bytes);
        d->points = s->points;
        d->policy = s->policy;
        d->buffer_s = s->buffer_s;
        d->download_s = s->download_s;
        d->bytes = (double)s->bytes;
        d->reward = s->reward;
    }
}

/* Closes the open trajectory at the newest step, whose own outcome does not count if truncated. */
static void close_trajectory(struct track *t, struct steps *p, bool truncated, double now,
                             struct changes *c)
{
    if (t->head < 0) return;
    emit_trajectory(t, p, t->head_n - truncated, truncated, c);
    t->head = -1;
    p->at[t->newest].flags |= STEP_CUT;
    step_changed(&p->at[t->newest], now, c);
}

static void track_begin(struct track *t, struct step *s)
{
    t->head = t->newest;
    t->head_n = 1;
    t->before = t->measured;
    s->flags |= STEP_HEAD;
}

static bool teaches(const struct step *s)
{
    unsigned want = STEP_SAMPLED | STEP_REPORTED | STEP_FOLLOWED;
    return (s->flags & want) == want;
}

static bool is_last_chunk(const struct track *t, int chunk)
{
    return t->row.chunks && chunk == t->row.chunks - 1;
}

/* ---- outcomes ---- */

static int check_same(bool equal, const char *prefix, const char *name, int chunk,
                      struct err *e)
{
    if (equal) return 0;
    char field[64];
    snprintf(field, sizeof field, "%s%s", prefix, name);
    return err_field(e, ERR_CONFLICT, field,
                     "chunk %d was reported before with another value", chunk);
}

/* True if the repeat of an outcome is equal. */
static int check_repeat(const struct step *s, const struct outcome *o, const char *prefix,
                        struct err *e)
{
    int rc = check_same(s->level == o->level, prefix, "level", o->chunk, e);
    if (!rc) rc = check_same(s->bytes == o->bytes, prefix, "bytes", o->chunk, e);
    if (!rc)
        rc =
            check_same(s->download_s == o->download_s, prefix, "download_s", o->chunk, e);
    if (!rc)
        rc =
            check_same(s->rebuffer_s == o->rebuffer_s, prefix, "rebuffer_s", o->chunk, e);
    return rc;
}

/* The level that the player fetched last, as far as known; -1: none. */
static int level_before(const struct track *t, const struct steps *p)
{
    if (t->newest < 0) return -1;
    const struct step *s = &p->at[t->newest];
    return s->flags & STEP_REPORTED ? s->level : s->decided;
}

/* What is known of the newest chunk's quality at that level (struct traj_points). */
static uint16_t points_before(const struct track *t, const struct steps *p, int level)
{
    return t->newest < 0 || level < 0 ? 0 : p->at[t->newest].points.next[level];
}

struct qoe_level track_seen(const struct track_row *row, const struct step *s, int level)
{
    return (struct qoe_level){row->ladder_kbps[level],
                              traj_points_of(s->points.next[level], row->points[level])};
}

bool track_starts(const struct track_row *row, const struct step *s)
{
    return s->last_level < 0 && !row->continued;
}

struct qoe_level track_before(const struct track_row *row, const struct step *s)
{
    int level = s->last_level;
    if (level < 0) return (struct qoe_level){0, 0};
    return (struct qoe_level){row->ladder_kbps[level],
                              traj_points_of(s->points.last, row->points[level])};
}

void track_points(double *points, const struct track_row *row, const struct step *s)
{
    for (int k = 0; k < row->levels; k++)
        points[k] = traj_points_of(s->points.next[k], row->points[k]);
}

static bool overtaken(const struct track *t, const struct steps *p, const struct step *s)
{
    for (int32_t i = t->newest; i >= 0 && p->at[i].ord > s->ord; i = p->at[i].prev)
        if (p->at[i].flags & STEP_MEASURED) return true;
    return false;
}

static void count_followed(struct track *t)
{
    if (t->row.followed < UINT16_MAX) t->row.followed++;
}

static void put_outcome(struct track_outcome *out, const struct track *t,
                        const struct step *s, bool in_order)
{
    const struct track_row *row = &t->row;
    *out = (struct track_outcome){.before = t->measured,
                                  .lowest_kbps = row->ladder_kbps[0],
                                  .stall_s = s->rebuffer_s,
                                  .chunk_s = row->chunk_s,
                                  .stall_ratio_max = row->qoe.stall_ratio_max,
                                  .from = row->from,
                                  .slot = row->slot,
                                  .decided = s->flags & STEP_DECIDED,
                                  .followed = s->flags & STEP_FOLLOWED,
                                  .common =
                                      row->tag < TRAJ_TAG_OWN && track_by(s) != BY_MERGE,
                                  .first = track_starts(row, s),
                                  .apart = row->apart};
    if (out->first && out->decided && s->chunk == 0) out->network = row->network;
    if (in_order) out->kbps = s->bytes * 8e-3 / s->download_s;
    out->bytes = s->bytes;
}

/* s has no outcome yet. */
static void take_outcome(struct track *t, struct steps *p, struct step *s,
                         const struct outcome *o, double now, struct changes *c)
{
    const struct track_row *row = &t->row;
    struct qoe_parts parts =
        qoe_chunk(&row->qoe, track_seen(row, s, o->level), track_before(row, s),
                  row->chunk_s, o->rebuffer_s, row->ladder_kbps[0]);
    s->level = (int8_t)o->level;
    s->bytes = (uint32_t)o->bytes;
    s->download_s = o->download_s;
    s->rebuffer_s = o->rebuffer_s;
    s->reward = parts.reward;
    s->flags |= STEP_REPORTED;
    if ((s->flags & STEP_DECIDED) && s->decided == o->level) {
        s->flags |= STEP_FOLLOWED;
        count_followed(t);
    }

    bool newest = s == &p->at[t->newest], in_order = !overtaken(t, p, s);
    put_outcome(&c->outcome, t, s, in_order);
    if (in_order) {
        /* the newest step was decided without the measurement of an older step */
        if (!newest) close_trajectory(t, p, true, now, c);
        traj_measure(&t->measured, s->bytes, s->download_s);
        s->flags |= STEP_MEASURED;
    }
    step_changed(s, now, c);
    t->last_at = now;

    c->rewards++;
    c->rewarded = s->ord;
    c->not_followed += !(s->flags & STEP_FOLLOWED);
    c->reward_sum += s->reward;
    c->kbps_sum += row->ladder_kbps[o->level];

    if (newest && !teaches(s)) close_trajectory(t, p, true, now, c);
    if (newest && is_last_chunk(t, s->chunk)) close_trajectory(t, p, false, now, c);
}

/* Records an outcome without a decision: the player chose the level itself. */
static int take_undecided(struct track *t, struct steps *p, const struct outcome *o,
                          double now, struct changes *c, struct err *e)
{
    close_trajectory(t, p, true, now, c);
    int before = level_before(t, p);
    uint16_t last = points_before(t, p, before);
    struct step *s = track_append(t, p, c);
    if (!s) return err_set(e, ERR_FULL, "no room for another step");
    s->chunk = o->chunk;
    s->decided = -1;
    s->expert = -1;
    s->last_level = (int8_t)before;
    s->points.last = last;
    take_outcome(t, p, s, o, now, c);
    return 0;
}

/* ---- questions ---- */

static uint64_t double_bits(double x)
{
    uint64_t u;
    x += 0.0; /* -0 becomes 0 */
    memcpy(&u, &x, sizeof u);
    return u;
}

static uint64_t question_hash(const struct question *q)
{
    uint64_t h = rng_u64_at(q->has_last, (uint64_t)q->chunk, double_bits(q->buffer_s));
    if (q->max_kbps > 0) h = rng_u64_at(h, double_bits(q->max_kbps), 0);
    if (!q->has_last) return h;
    const struct outcome *o = &q->last;
    h = rng_u64_at(h, (uint64_t)o->chunk, (uint64_t)o->level);
    h = rng_u64_at(h, (uint64_t)o->bytes, double_bits(o->download_s));
    return rng_u64_at(h, double_bits(o->rebuffer_s), 0);
}

static uint32_t whole_bytes(double bytes)
{
    return (uint32_t)(bytes + .5);
}

/* A repeat may leave next_bytes and next_quality out. */
static bool same_question(const struct step *s, const struct question *q, int levels)
{
    if (!(s->flags & STEP_DECIDED) || s->question != question_hash(q)) return false;
    for (int k = 0; q->has_next && k < levels; k++)
        if (s->next_bytes[k] != whole_bytes(q->next_bytes[k])) return false;
    for (int k = 0; q->has_next_quality && k < levels; k++)
        if (s->points.next[k] != traj_points_code(q->next_quality[k])) return false;
    return true;
}

/* What a question says of its chunk's quality; last: of the chunk before. */
static struct traj_points question_points(const struct question *q, int levels,
                                          uint16_t last)
{
    struct traj_points p = {.last = last};
    for (int k = 0; q->has_next_quality && k < levels; k++)
        p.next[k] = traj_points_code(q->next_quality[k]);
    return p;
}

/* The view: the session's constants and its measurements. */
static void view_of(struct view *v, const struct track *t, int chunk, double buffer_s,
                    int last_level)
{
    const struct track_row *row = &t->row;
    *v = (struct view){.levels = row->levels,
                       .chunk_s = row->chunk_s,
                       .chunk = chunk,
                       .chunks = row->chunks,
                       .buffer_s = buffer_s,
                       .buffer_max_s = row->buffer_max_s,
                       .last_level = last_level,
                       .qoe = row->qoe};
    memcpy(v->ladder_kbps, row->ladder_kbps, sizeof v->ladder_kbps);
    traj_measured_view(v, &t->measured);
}

/* What was measured before a session's first question. A download may be larger than any chunk: then its
 * first LIMITS_BYTES count, at the same rate. */
static void measure_link(struct traj_measured *m, const struct service_link *link)
{
    for (int i = 0; i < link->n; i++) {
        double bytes_s = link->kbps[i] * 125, download_s = link->download_s[i];
        if (bytes_s * download_s > LIMITS_BYTES) download_s = LIMITS_BYTES / bytes_s;
        traj_measure(m, whole_bytes(bytes_s * download_s), download_s);
    }
}

static void make_view(struct view *v, const struct track *t, const struct steps *p,
                      const struct question *q, bool fresh)
{
    bool undecided =
        false; /* the player chose the chunk before: nothing is known of it */
    view_of(v, t, q->chunk, q->buffer_s, level_before(t, p));
    if (t->newest < 0 && q->link.n) {
        struct traj_measured link = {0};
        measure_link(&link, &q->link);
        for (int i = 0; i < link.n; i++)
            view_push(v, link.bytes[i], link.download_s[i]);
    }
    if (fresh) {
        const struct step *s = track_find(t, p, q->last.chunk);
        if (!s || !overtaken(t, p, s))
            if (q->last.bytes > 0)
                view_push(v, (double)q->last.bytes, q->last.download_s);
        if (!s || s == &p->at[t->newest]) v->last_level = q->last.level;
        undecided = !s;
        bool first =
            s ? track_starts(&t->row, s) : level_before(t, p) < 0 && !t->row.continued;
        v->stalled_s = first ? 0 : q->last.rebuffer_s;
        v->played_s = v->chunk_s;
    }
    uint16_t last = undecided ? 0 : points_before(t, p, v->last_level);
    struct traj_points points = question_points(q, v->levels, last);
    traj_points_view(v, &points, t->row.points);
    for (int k = 0; q->has_next && k < v->levels; k++)
        v->next_bytes[k] = whole_bytes(q->next_bytes[k]);
}

int track_underway(struct view *view, const struct track *t, const struct steps *pool,
                   int chunk, struct err *e)
{
    if (t->row.closed)
        return err_field(e, ERR_ABSENT, "session", "is closed: open a new one");
    const struct step *s = t->newest >= 0 ? &pool->at[t->newest] : NULL;
    if (!s || s->chunk != chunk || !(s->flags & STEP_DECIDED) || s->flags & STEP_REPORTED)
        return err_field(e, ERR_CONFLICT, "chunk",
                         "chunk %d is not being fetched: it was not decided last, or has "
                         "arrived",
                         chunk);
    view_of(view, t, chunk, s->buffer_s, s->last_level);
    for (int k = 0; k < view->levels; k++)
        view->next_bytes[k] = s->next_bytes[k];
    traj_points_view(view, &s->points, t->row.points);
    return 0;
}

int track_peek(struct view *view, struct answer *again, const struct track *t,
               const struct steps *pool, const struct question *q, struct err *e)
{
    const struct track_row *row = &t->row;
    if (row->closed)
        return err_field(e, ERR_ABSENT, "session", "is closed: open a new one");
    int rc = limits_question(q, row->levels, row->chunks, e);
    if (rc) return rc;

    const struct step *s = track_find(t, pool, q->chunk);
    if (s && same_question(s, q, row->levels)) {
        track_answer(again, s, row);
        return 1;
    }
    /* a played chunk that is asked again is a seek back, not a contradiction */
    bool played = q->has_last && q->last.chunk == q->chunk;
    if (s && s == &pool->at[t->newest] && (s->flags & STEP_DECIDED) && !played)
        return err_field(e, ERR_CONFLICT, "chunk",
                         "chunk %d was already decided for a different question",
                         q->chunk);

    bool fresh = false;
    if (q->has_last) {
        s = track_find(t, pool, q->last.chunk);
        fresh = !s || !(s->flags & STEP_REPORTED);
        rc = fresh ? 0 : check_repeat(s, &q->last, "last.", e);
    }
    if (!rc) make_view(view, t, pool, q, fresh);
    return rc;
}

int track_decide(struct answer *out, struct track *t, struct steps *pool,
                 const struct question *q, const struct verdict *v, double now,
                 struct changes *c, struct err *e)
{
    if (q->has_last) {
        struct step *s = track_find(t, pool, q->last.chunk);
        if (!s) {
            int rc = take_undecided(t, pool, &q->last, now, c, e);
            if (rc) return rc;
        } else if (!(s->flags & STEP_REPORTED)) {
            take_outcome(t, pool, s, &q->last, now, c);
        }
    }

    if (t->newest < 0) measure_link(&t->measured, &q->link);
    if (t->head >= 0) {
        const struct step *p = &pool->at[t->newest];
        if (!teaches(p) || !v->sampled || q->chunk != p->chunk + 1)
            close_trajectory(t, pool, true, now, c);
    }
    int before = level_before(t, pool);
    uint16_t last = points_before(t, pool, before);
    struct step *s = track_append(t, pool, c);
    if (!s) return err_set(e, ERR_FULL, "no room for another step");
    s->chunk = q->chunk;
    s->flags = (uint16_t)(STEP_DECIDED | v->sampled * STEP_SAMPLED |
                          v->guarded * STEP_GUARDED | v->by * STEP_BY);
    s->decided = (int8_t)v->level;
    s->level = -1;
    s->last_level = (int8_t)before;
    s->expert = (int8_t)v->expert;
    s->logp = v->logp;
    s->value = v->value;
    s->entropy = v->entropy;
    s->seen = v->seen;
    memcpy(s->prob, v->prob, sizeof s->prob);
    for (int k = 0; q->has_next && k < t->row.levels; k++)
        s->next_bytes[k] = whole_bytes(q->next_bytes[k]);
    s->points = question_points(q, t->row.levels, last);
    s->question = question_hash(q);
    s->policy = v->policy;
    s->buffer_s = q->buffer_s;

    if (t->row.explores && v->sampled) {
        if (t->head >= 0 && t->head_n > TRAJ_STEPS) {
            emit_trajectory(t, pool, t->head_n - 1, true, c);
            t->head = -1;
        }
        if (t->head < 0) track_begin(t, s);
    }
    step_changed(s, now, c);
    t->last_at = now;
    t->changes++;
    c->decided = true;
    c->expert = v->expert;
    track_answer(out, s, &t->row);
    return 0;
}

/* ---- rewards and ends ---- */

static int report_outcome(struct step **at, bool *repeated, struct track *t,
                          struct steps *p, const struct outcome *o, double now,
                          struct changes *c, struct err *e)
{
    struct step *s = track_find(t, p, o->chunk);
    if (s && (s->flags & STEP_REPORTED)) {
        *repeated = true;
        *at = s;
        return check_repeat(s, o, "", e);
    }
    if (t->row.closed)
        return err_field(e, ERR_ABSENT, "session", "is closed: nothing can be added");
    if (!s && t->newest >= 0 && o->chunk <= p->at[t->newest].chunk)
        return err_field(e, ERR_ABSENT, "chunk", "no decision for chunk %d is remembered",
                         o->chunk);
    if (s) {
        take_outcome(t, p, s, o, now, c);
    } else {
        int rc = take_undecided(t, p, o, now, c, e);
        if (rc) return rc;
        s = &p->at[t->newest];
    }
    *at = s;
    return 0;
}

static int report_external(struct step **at, bool *repeated, struct track *t,
                           struct steps *p, const struct reward_in *in, double now,
                           struct changes *c, struct err *e)
{
    struct step *s = track_find(t, p, in->chunk);
    if (!s)
        return err_field(e, ERR_ABSENT, "chunk", "no decision for chunk %d is remembered",
                         in->chunk);
    *at = s;
    if (s->flags & STEP_EXTERNAL) {
        *repeated = true;
        return check_same(s->external == in->external, "", "reward", in->chunk, e);
    }
    if (t->row.closed)
        return err_field(e, ERR_ABSENT, "session", "is closed: nothing can be added");
    s->external = in->external;
    s->flags |= STEP_EXTERNAL;
    step_changed(s, now, c);
    *repeated = false;
    return 0;
}

int track_report(struct reward_out *out, struct track *t, struct steps *pool,
                 const struct reward_in *in, double now, struct changes *c, struct err *e)
{
    int rc = limits_reward(in, t->row.levels, t->row.chunks, e);
    if (!rc) rc = track_label_agrees(&t->row, in->profile, e);
    if (rc) return rc;

    /* all or nothing: check for contradictions before any change */
    if (in->has_outcome && in->has_external) {
        const struct step *s = track_find(t, pool, in->chunk);
        if (s && (s->flags & STEP_EXTERNAL) && s->external != in->external)
            return check_same(false, "", "reward", in->chunk, e);
    }

    struct step *s = &pool->at[t->newest];
    bool repeated = in->final && t->row.closed;
    if (in->has_outcome)
        rc = report_outcome(&s, &repeated, t, pool, &in->outcome, now, c, e);
    if (!rc && in->has_external)
        rc = report_external(&s, &repeated, t, pool, in, now, c, e);
    if (rc) return rc;

    *out = (struct reward_out){.chunk = s->chunk,
                               .reward = s->flags & STEP_REPORTED ? s->reward : 0,
                               .followed = s->flags & STEP_FOLLOWED,
                               .repeated = repeated};
    t->changes++;
    t->last_at = now;
    if (in->final && !t->row.closed) {
        t->row.terminal = true;
        track_label_put(&t->row, in->profile);
        track_close(t, pool, now, c);
    }
    return 0;
}

void track_close(struct track *t, struct steps *pool, double now, struct changes *c)
{
    if (t->row.closed) return;
    const struct step *s = &pool->at[t->newest];
    bool played = (s->flags & STEP_REPORTED) && is_last_chunk(t, s->chunk);
    t->row.terminal |= played;
    if (t->row.terminal && teaches(s))
        close_trajectory(t, pool, false, now, c);
    else
        close_trajectory(t, pool, true, now, c);
    t->row.closed = true;
    t->row.closed_at = now;
    t->changes++;
    c->closed = true;
    c->row = t->row;
}

/* ---- life ---- */

void track_changes_clear(struct changes *c)
{
    c->n = 0;
    c->closed = c->has_traj = c->starved = c->decided = c->unhinted = false;
    c->rewards = c->not_followed = 0;
    c->reward_sum = c->kbps_sum = 0;
    c->expert = -1;
}

void track_init(struct track *t, const struct track_row *row)
{
    *t = (struct track){.row = *row, .oldest = -1, .newest = -1, .head = -1};
    t->last_at = row->opened_at;
}

void track_drop(struct track *t, struct steps *pool)
{
    t->head = -1;
    while (t->n)
        give_back_oldest(t, pool);
}

int track_restore(struct track *t, struct steps *pool, const struct step *s,
                  struct err *e)
{
    struct changes c;
    track_changes_clear(&c);
    t->ords = s->ord;
    struct step *d = track_append(t, pool, &c);
    if (!d) return err_set(e, ERR_FULL, "no room for another step");
    int32_t prev = d->prev;
    *d = *s;
    d->prev = prev;
    d->next = -1;
    if (d->flags & STEP_HEAD) {
        t->head = t->newest;
        t->head_n = 1;
        t->before = t->measured;
    }
    if (d->flags & STEP_MEASURED) traj_measure(&t->measured, d->bytes, d->download_s);
    if (d->flags & STEP_CUT) t->head = -1;
    if (d->flags & STEP_FOLLOWED) count_followed(t);
    if (d->at > t->last_at) t->last_at = d->at;
    return 0;
}

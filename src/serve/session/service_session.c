/* Requests of viewers: sessions, decisions and rewards. */
#include "serve/session/core.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abr/deciders/abandon.h"
#include "abr/deciders/cap.h"
#include "abr/deciders/first_level.h"
#include "abr/deciders/forecast_own.h"
#include "abr/deciders/window.h"
#include "abr/emulator/quality.h"
#include "base/rng.h"
#include "serve/parts.h"
#include "serve/session/limits.h"
#include "serve/session/sound.h"
#include "serve/session/viewer.h"

static int find_id(uint8_t id[TRACK_ID], const char *session, struct err *e)
{
    if (sessions_id_parse(id, session)) return 0;
    return err_field(e, ERR_ABSENT, "session", "no such session");
}

/* Counts conflicts and returns rc. */
static int count_conflict(struct service *s, int rc)
{
    if (rc == ERR_CONFLICT) atomic_fetch_add(&s->conflicts, 1);
    return rc;
}

int service_admit(struct service *s, struct err *e)
{
    if (atomic_load(&s->draining)) return err_set(e, ERR_FULL, "the daemon is stopping");
    return s->writer ? writer_reserve(s->writer, SERVICE_RECORDS, e) : 0;
}

void service_dismiss(struct service *s)
{
    if (s->writer) writer_put(s->writer, NULL, 0, SERVICE_RECORDS);
}

/* Tags of added experts differ among nodes, so a trajectory also carries their id. A trajectory for
 * experts that are gone is dropped. */
static void address_trajectory(struct service *s, struct changes *c)
{
    if (!c->has_traj || !s->peers || c->traj.tag < TRAJ_TAG_OWN) return;
    c->traj.added_id = s->others.self ? s->others.id(s->others.self, c->traj.tag) : 0;
    c->has_traj = c->traj.added_id != 0;
}

/* Reports a request's changes to the parts. */
static void report_to_parts(struct service *s, const struct changes *c)
{
    for (int p = 0; p < parts_n(); p++) {
        const struct part *part = parts_at(p);
        bool chunk = part->chunk && c->unhinted && c->rewards && !c->outcome.apart;
        for (int i = 0; i < c->n && chunk; i++)
            if (c->step[i].ord == c->rewarded)
                part->chunk(s->part[p], &c->row, &c->step[i]);
        if (part->closed && c->closed) part->closed(s->part[p], &c->row);
    }
}

void service_deliver(struct service *s, struct changes *c, bool opened,
                     const uint8_t id[TRACK_ID])
{
    const struct bus *bus = &s->bus;
    address_trajectory(s, c);
    struct bus_envelope envelope;
    bool keep = s->writer && bus->stage;
    bool staged = keep && c->has_traj && bus->stage(bus->self, &c->traj, &envelope);
    if (s->writer)
        writer_put_changes(s->writer, c, opened, id, staged ? &envelope : NULL,
                           SERVICE_RECORDS);
    sessions_stored(s->sessions, id);
    if (c->rewards && !c->outcome.apart) {
        const struct track_outcome *o = &c->outcome;
        const struct weights *w = published_get(s->published);
        experience_outcome(s->experience, o,
                           o->common ? packed_input(w->packed, FORECAST_OWN) : NULL);
        published_put(s->published, w);
        networks_first_chunk(s->networks, o->network, o->from, o->kbps);
    }
    if (c->has_traj && !keep && bus->send) bus->send(bus->self, &c->traj);
    report_to_parts(s, c);
    if (c->closed) atomic_fetch_add(&s->closed, 1);
    if (c->closed) label_sums_ended(&s->labels, &c->row);
}

/* With cfg.strict, before an answer: waits until its changes are durable, also those of a repeat. */
static int settle(struct service *s, const uint8_t id[TRACK_ID], struct err *e)
{
    if (!s->cfg.strict || !s->writer) return 0;
    sessions_await_stored(s->sessions, id);
    return writer_flush(s->writer, e);
}

/* ---- decisions ---- */

/* Counts decisions by weights whose output is not finite, and logs the first one. */
static void numeric(struct service *s, const struct verdict *v, const char *what)
{
    if (atomic_fetch_add(&s->numeric, 1) == 0)
        log_event(
            s->cfg.log, LOG_ERROR, what,
            "version %llu gave a value that is not finite: answering the lowest level",
            (unsigned long long)v->policy);
}

uint8_t service_tag(struct service *s, const struct track_row *row)
{
    for (int i = 0; i < parts_n(); i++) {
        int tag = parts_at(i)->tag ? parts_at(i)->tag(s->part[i], row) : -1;
        if (tag >= 0) return (uint8_t)tag;
    }
    return (uint8_t)profiles_tag(&row->qoe);
}

/* Applies what was seen of links and stalls to a copy of the view, *out. Returns it, or d->view if the
 * session explores. */
static const struct view *view_wary(struct view *out, struct service *s,
                                    struct decision *d)
{
    d->stall_weight = 1;
    if (d->explores) return d->view;
    *out = *d->view;
    experience_apply(out, s->experience, d->slot);
    if (first_level_is(out))
        out->start_kbps = networks_start_kbps(s->networks, d->network);
    double own = d->view->qoe.mu_stall;
    if (own > 0) d->stall_weight = out->qoe.mu_stall / own;
    return out;
}

/* Decides by a part or by the published weights. A session whose added experts are gone, or without a
 * hint, gets the common policy's best level, which is not used for training. */
static void verdict_on(struct verdict *out, struct service_worker *worker,
                       struct decision *d)
{
    struct service *s = worker->service;
    struct view wary;
    d->asked = d->view;
    d->view = view_wary(&wary, s, d);
    d->decider = &worker->decider;
    d->whose = "policy";
    for (int i = 0; i < parts_n(); i++) {
        const struct part *part = parts_at(i);
        enum part_decide did = part->decide
                                   ? part->decide(out, s->part[i], worker->desk[i], d)
                                   : PART_PASSES;
        if (did == PART_PASSES) continue;
        if (did == PART_NOT_FINITE) numeric(s, out, d->whose);
        return;
    }
    bool best = !d->hinted || d->tag >= TRAJ_TAG_OWN;
    const struct weights *w = published_get(s->published);
    bool ok = decide(out, w->packed, &worker->decider, d->view, best ? -1 : d->u);
    published_put(s->published, w);
    if (!d->hinted) out->by = BY_DEFAULT;
    if (!ok) numeric(s, out, d->whose);
}

static double draw(const struct service *s, bool explores, uint64_t key, int chunk)
{
    if (!explores) return -1;
    return s->cfg.secret ? decide_secret_draw(s->secret, key, (uint64_t)chunk)
                         : decide_draw(s->cfg.seed, key, chunk);
}

/* As verdict_on, up to the cap. d->view is `view`, whose upper levels are gone afterwards. */
static void verdict_below(struct verdict *out, struct service_worker *w,
                          struct view *view, struct decision *d, double max_kbps)
{
    int all = view->levels, allowed = cap_levels(view, max_kbps);
    if (allowed == all) {
        verdict_on(out, w, d);
        return;
    }
    cap_view(view, allowed);
    d->u = -1;
    verdict_on(out, w, d);
    if (!out->seen && all > FEAT_LEVELS) out->seen = (1u << view->levels) - 1;
    if (out->level < allowed) return;
    /* the cap allows only the lower one of the two levels that were compared */
    out->level = 0;
    memset(out->prob, 0, sizeof out->prob);
    out->prob[0] = 1;
}

static bool chosen_to_explore(const struct service *s, uint64_t key)
{
    if (s->cfg.secret)
        return decide_secret_draw(s->secret, key, UINT64_MAX) < s->explore_share;
    return decide_explores(s->cfg.seed, key, s->explore_share);
}

/* Fills a new session's row: looks up the profile, draws the key and whether it explores. */
static int make_row(struct track_row *row, struct service_worker *w,
                    const struct session_open *in, struct err *e)
{
    struct service *s = w->service;
    int rc = limits_open(in, e);
    if (rc) return rc;
    if (!decide_serves(&s->policy_cfg, in->levels))
        return err_field(e, ERR_RANGE, "ladder_kbps",
                         "has %d levels, the policy supports at most %d", in->levels,
                         s->policy_cfg.actions);

    *row = (struct track_row){.chunk_s = in->chunk_s,
                              .buffer_max_s = in->buffer_max_s,
                              .opened_at = service_now(s),
                              .levels = in->levels,
                              .chunks = in->chunks,
                              .key = in->key,
                              .has_key = in->has_key,
                              .has_mu = in->has_mu,
                              .continued = in->continues,
                              .hinted = in->has_mu || in->profile[0]};
    memcpy(row->ladder_kbps, in->ladder_kbps, (size_t)in->levels * sizeof(double));
    row->quality_from = (uint8_t)in->quality_from;
    if (in->quality_from == QUALITY_CURVE)
        limits_curve(row->points, in->ladder_kbps, in->n_height ? in->height : NULL,
                     in->levels);
    else
        memcpy(row->points, in->quality, (size_t)in->levels * sizeof(double));
    snprintf(row->content_id, sizeof row->content_id, "%s", in->content_id);
    if (in->has_mu) {
        row->qoe = in->qoe;
        profiles_own_weights(&row->qoe, s->profiles);
        row->slot = PROFILES_SLOT_CUSTOM;
        snprintf(row->profile, sizeof row->profile, "custom");
    } else {
        struct profile p;
        int slot = PROFILES_SLOT_CUSTOM;
        const char *name = in->profile[0] ? in->profile : s->cfg.default_profile;
        rc = profiles_get(&p, &slot, s->profiles, name, e);
        if (rc) return rc;
        row->qoe = p.qoe;
        row->slot = (uint8_t)slot;
        snprintf(row->profile, sizeof row->profile, "%s", p.name);
        for (int i = 0; i < parts_n() && !row->hinted; i++)
            if (parts_at(i)->hint) parts_at(i)->hint(&row->qoe, s->part[i], w->desk[i]);
    }
    if (!in->has_key)
        rc = entropy_draw(&s->cfg.parts.entropy, &row->key, sizeof row->key, e);
    row->labels = in->labels;
    row->viewer = viewer_hash(s->viewers, in->viewer);
    row->network = networks_labelled(w->network, in->labels.value[LABELS_NETWORK]);
    row->from = w->from ? w->from : rng_u64_at(~s->cfg.seed, row->key, 0) | 1;
    row->observed = in->mode == SESSION_OBSERVE ||
                    (in->mode == SESSION_DEFAULT && s->cfg.learn == LEARN_OBSERVE);
    for (int i = 0; i < parts_n() && !rc; i++)
        if (parts_at(i)->assign) parts_at(i)->assign(s->part[i], row, in);
    row->apart |= row->observed;
    row->tag = service_tag(s, row);
    /* a session without a hint has no reward function to learn from */
    row->explores = row->hinted && !row->apart && !row->arm.trial[0] && !in->greedy &&
                    chosen_to_explore(s, row->key);
    return rc;
}

int service_open(struct session_opened *out, struct service *s, struct service_worker *w,
                 const struct session_open *in, struct err *e)
{
    if (s->no_sessions) return err_set(e, ERR_FULL, "%s", s->no_sessions);
    struct track_row row;
    int rc = make_row(&row, w, in, e);
    if (!rc) rc = service_admit(s, e);
    if (rc) return rc;

    struct question q = {.buffer_s = in->buffer_s,
                         .has_next = in->has_next,
                         .has_next_quality = in->has_next_quality,
                         .max_kbps = in->max_kbps,
                         .link = in->link};
    memcpy(q.next_bytes, in->next_bytes, sizeof q.next_bytes);
    memcpy(q.next_quality, in->next_quality, sizeof q.next_quality);
    struct track first;
    struct steps none = {.free = -1};
    struct view view;
    struct answer unused;
    struct verdict v;
    track_init(&first, &row);
    rc = track_peek(&view, &unused, &first, &none, &q, e);
    if (!rc) {
        stages_end(w->stages, STAGE_TRACK);
        verdict_below(&v, w, &view,
                      &(struct decision){.view = &view,
                                         .hinted = row.hinted,
                                         .tag = row.tag,
                                         .content_id = row.content_id,
                                         .slot = row.slot,
                                         .network = row.network,
                                         .explores = row.explores,
                                         .trial = row.arm.own ? row.arm.number : 0,
                                         .arm = row.arm.index,
                                         .u = draw(s, row.explores, row.key, 0)},
                      in->max_kbps);
        stages_end(w->stages, STAGE_POLICY);
        track_changes_clear(&w->changes);
        rc = sessions_open(&out->first, s->sessions, &row, &q, &v, &w->changes, e);
    }
    if (rc) {
        service_dismiss(s);
        return rc;
    }
    service_deliver(s, &w->changes, true, row.id);
    atomic_fetch_add(&s->opened, 1);
    if (row.observed) atomic_fetch_add(&s->observed, 1);
    for (int i = 0; i < parts_n(); i++)
        if (parts_at(i)->opened) parts_at(i)->opened(s->part[i], &row);
    rc = settle(s, row.id, e);
    stages_end(w->stages, STAGE_KEEP);
    if (rc) return rc;

    sessions_id_text(out->session, row.id);
    memcpy(out->profile, row.profile, sizeof out->profile);
    out->hinted = row.hinted;
    out->qoe = row.qoe;
    out->key = row.key;
    out->explores = row.explores;
    out->observed = row.observed;
    memcpy(out->trial, row.arm.trial, sizeof out->trial);
    memcpy(out->arm, row.arm.name, sizeof out->arm);
    out->labels = row.labels;
    return 0;
}

/* The outcome without other streams. */
static int leave_video(struct outcome *o, const char *prefix, struct err *e)
{
    static const int64_t MOST = (int64_t)LIMITS_BYTES;
    if (!o->has_other || o->download_s < LIMITS_DOWNLOAD_S_MIN || o->bytes < 0) return 0;
    int rc = limits_other(o, prefix, e);
    if (rc) return rc;
    int64_t left =
        sound_left_bytes(o->bytes, o->other_bytes, o->other_kbps, o->download_s);
    if ((double)o->bytes <= LIMITS_BYTES) o->bytes = left < MOST ? left : MOST;
    o->has_other = false;
    return 0;
}

int service_ask(struct answer *out, struct service *s, struct service_worker *w,
                const char *session, const struct question *asked, struct err *e)
{
    uint8_t id[TRACK_ID];
    struct question own;
    const struct question *q = asked;
    int rc = find_id(id, session, e);
    if (!rc && asked->has_last && asked->last.has_other) {
        own = *asked;
        q = &own;
        rc = leave_video(&own.last, "last.", e);
    }
    if (!rc) rc = service_admit(s, e);
    if (rc) return rc;

    bool kept = false;
    struct view view;
    struct session_ticket ticket;
    do { /* repeat if another thread changed the session meanwhile */
        rc = sessions_peek(&view, out, &ticket, s->sessions, id, q, e);
        if (rc) break;
        stages_end(w->stages, STAGE_TRACK);
        struct verdict v;
        verdict_below(
            &v, w, &view,
            &(struct decision){.view = &view,
                               .hinted = ticket.hinted,
                               .tag = ticket.tag,
                               .content_id = ticket.content_id,
                               .slot = ticket.slot,
                               .network = ticket.network,
                               .explores = ticket.explores,
                               .trial = ticket.trial,
                               .arm = ticket.arm,
                               .u = draw(s, ticket.explores, ticket.key, q->chunk)},
            q->max_kbps);
        stages_end(w->stages, STAGE_POLICY);
        track_changes_clear(&w->changes);
        rc = sessions_decide(out, s->sessions, id, &ticket, q, &v, service_now(s),
                             &w->changes, e);
        kept = rc == 0;
    } while (rc == 1);

    for (int i = 0; i < parts_n() && kept && !ticket.apart; i++)
        if (parts_at(i)->asked)
            parts_at(i)->asked(
                s->part[i], w->desk[i],
                &(struct session_asked){id, ticket.key, q->chunk, ticket.hinted, &view});
    if (kept)
        service_deliver(s, &w->changes, false, id);
    else
        service_dismiss(s);
    rc = rc < 0 ? count_conflict(s, rc) : settle(s, id, e);
    stages_end(w->stages, STAGE_KEEP);
    return rc;
}

int service_underway(struct underway_out *out, struct service *s, const char *session,
                     const struct underway_in *in, struct err *e)
{
    uint8_t id[TRACK_ID];
    struct view view;
    struct session_ticket ticket;
    int rc = find_id(id, session, e);
    if (!rc) rc = limits_chunk(in->chunk, e);
    if (!rc) rc = sessions_underway(&view, &ticket, s->sessions, id, in->chunk, e);
    if (!rc) rc = limits_underway(in, view.levels, e);
    if (rc) return rc;

    const struct underway u = {in->level, (double)in->bytes, in->elapsed_s, in->buffer_s};
    int level = in->level;
    if (!ticket.explores && !ticket.apart) {
        int allowed = cap_levels(&view, in->max_kbps);
        if (allowed > in->level) cap_view(&view, allowed);
        experience_apply(&view, s->experience, ticket.slot);
        level = abandon_level(&view, &u);
        if (level >= allowed && level > in->level) level = in->level;
    }
    *out = (struct underway_out){in->chunk, level, view.ladder_kbps[level]};
    atomic_fetch_add(&s->underway, 1);
    if (level != in->level) atomic_fetch_add(&s->abandoned, 1);
    return 0;
}

int service_decide(struct answer *out, struct service *s, struct service_worker *w,
                   const char *profile, bool hinted, const struct view *view,
                   double max_kbps, struct err *e)
{
    int rc = limits_view(view, e);
    if (!rc) rc = limits_cap(max_kbps, e);
    if (rc) return rc;
    if (!decide_serves(&s->policy_cfg, view->levels))
        return err_field(e, ERR_RANGE, "ladder_kbps",
                         "has %d levels, the policy supports at most %d", view->levels,
                         s->policy_cfg.actions);

    struct verdict v;
    struct view asked = *view;
    struct profile known;
    int slot = PROFILES_SLOT_CUSTOM;
    if (profile && *profile)
        (void)!profiles_get(&known, &slot, s->profiles, profile, NULL);
    else
        profiles_own_weights(&asked.qoe, s->profiles);
    struct track_row row = {.opened_at = INFINITY, .hinted = hinted, .qoe = asked.qoe};
    if (profile && strlen(profile) < sizeof row.profile) strcpy(row.profile, profile);
    verdict_below(&v, w, &asked,
                  &(struct decision){.view = &asked,
                                     .hinted = hinted,
                                     .tag = service_tag(s, &row),
                                     .content_id = "",
                                     .slot = slot,
                                     .network = w->network,
                                     .u = -1},
                  max_kbps);
    *out = (struct answer){.chunk = view->chunk,
                           .level = v.level,
                           .levels = view->levels,
                           .kbps = view->ladder_kbps[v.level],
                           .quality = view->points[v.level],
                           .policy = v.policy,
                           .expert = v.expert,
                           .guarded = v.guarded,
                           .by = v.by,
                           .value = (double)v.value,
                           .entropy = (double)v.entropy};
    window_spread(out->prob, view->levels, v.seen, v.prob);
    return 0;
}

/* ---- rewards and ends ---- */

/* A reported profile must exist. */
static int check_label(struct service *s, const char *profile, struct err *e)
{
    struct profile p;
    return profile[0] ? profiles_get(&p, NULL, s->profiles, profile, e) : 0;
}

int service_reward(struct reward_out *out, struct service *s, const char *session,
                   const struct reward_in *reported, struct err *e)
{
    uint8_t id[TRACK_ID];
    struct reward_in own = *reported;
    const struct reward_in *in = &own;
    int rc = find_id(id, session, e);
    if (!rc && in->has_outcome) rc = leave_video(&own.outcome, "", e);
    if (!rc && in->profile[0] && !in->final)
        rc = err_field(e, ERR_INVALID, "profile",
                       "belongs to the final report: send final as well");
    if (!rc) rc = check_label(s, in->profile, e);
    if (!rc) rc = service_admit(s, e);
    if (rc) return rc;

    struct changes c;
    track_changes_clear(&c);
    rc = sessions_report(out, s->sessions, id, in, service_now(s), &c, e);
    if (rc) {
        service_dismiss(s);
        return count_conflict(s, rc);
    }
    service_deliver(s, &c, false, id);
    return settle(s, id, e);
}

int service_close(struct service *s, const char *session, const char *profile,
                  struct err *e)
{
    uint8_t id[TRACK_ID];
    int rc = find_id(id, session, e);
    if (!profile) profile = "";
    if (!rc) rc = check_label(s, profile, e);
    if (!rc) rc = service_admit(s, e);
    if (rc) return rc;

    struct changes c;
    track_changes_clear(&c);
    rc = sessions_close(s->sessions, id, profile, service_now(s), &c, e);
    if (rc) {
        service_dismiss(s);
        return count_conflict(s, rc);
    }
    service_deliver(s, &c, false, id);
    return settle(s, id, e);
}

/* ---- history ---- */

static void fill_history(struct history *out, const struct track_row *row)
{
    *out = (struct history){.closed = row->closed,
                            .terminal = row->terminal,
                            .opened_at = row->opened_at,
                            .last_at = row->closed ? row->closed_at : row->opened_at};
    struct session_open *o = &out->open;
    if (row->hinted && !row->has_mu) memcpy(o->profile, row->profile, sizeof o->profile);
    o->has_mu = row->has_mu;
    o->qoe = row->qoe;
    o->levels = row->levels;
    memcpy(o->ladder_kbps, row->ladder_kbps, sizeof o->ladder_kbps);
    o->quality_from = (enum quality_source)row->quality_from;
    memcpy(o->quality, row->points, sizeof o->quality);
    o->chunk_s = row->chunk_s;
    o->chunks = row->chunks;
    o->buffer_max_s = row->buffer_max_s;
    memcpy(o->content_id, row->content_id, sizeof o->content_id);
    o->has_key = row->has_key;
    o->key = row->key;

    struct session_opened *p = &out->opened;
    sessions_id_text(p->session, row->id);
    memcpy(p->profile, row->profile, sizeof p->profile);
    p->hinted = row->hinted;
    p->qoe = row->qoe;
    p->key = row->key;
    p->explores = row->explores;
    p->observed = row->observed;
    memcpy(p->trial, row->arm.trial, sizeof p->trial);
    memcpy(p->arm, row->arm.name, sizeof p->arm);
    p->labels = row->labels;
    o->labels = row->labels;
}

int service_history_settle(struct service *s, struct err *e)
{
    if (!s->writer) return 0;
    /* no flush while the disk hangs: this thread would hang as well */
    int rc = writer_reserve(s->writer, 0, e);
    return rc ? rc : writer_flush(s->writer, e);
}

int service_history_page(struct history *out, struct service *s, const char *session,
                         uint32_t after, int limit, struct err *e)
{
    assert(limit > 0);
    uint8_t id[TRACK_ID];
    int rc = find_id(id, session, e);
    if (rc) return rc;

    struct track_row row;
    struct step *steps = NULL;
    double last_at;
    int n = 0, read = limit < INT_MAX ? limit + 1
                                      : limit; /* one more shows whether a page follows */
    if (s->writer) {
        const struct store *store = writer_store(s->writer);
        rc = store->history(store->self, &row, &last_at, &steps, &n, id, after, read, e);
    } else {
        rc =
            sessions_history(&row, &last_at, &steps, &n, s->sessions, id, after, read, e);
    }
    if (rc) return rc;

    fill_history(out, &row);
    out->first = n ? steps[0].ord : after;
    if (n > limit) out->next = steps[--n].ord;
    out->steps = calloc((size_t)n + 1, sizeof *out->steps);
    if (!out->steps) {
        free(steps);
        return err_set(e, ERR_MEMORY, "no memory for %d steps", n);
    }
    out->n = n;
    if (last_at > out->last_at) out->last_at = last_at;
    for (int i = 0; i < n; i++)
        track_history(&out->steps[i], &steps[i], &row);
    for (int k = 0; n && steps[0].ord == 0 && k < row.levels; k++) {
        out->open.next_bytes[k] = steps[0].next_bytes[k];
        out->open.has_next |= steps[0].next_bytes[k] > 0;
        out->open.next_quality[k] = traj_points_of(steps[0].points.next[k], (double)NAN);
        out->open.has_next_quality |= steps[0].points.next[k] > 0;
    }
    free(steps);
    return 0;
}

int service_history(struct history *out, struct service *s, const char *session,
                    struct err *e)
{
    uint8_t id[TRACK_ID];
    int rc = find_id(id, session, e);
    if (!rc) rc = service_history_settle(s, e);
    return rc ? rc : service_history_page(out, s, session, 0, INT_MAX, e);
}

void service_history_free(struct history *h)
{
    if (!h) return;
    free(h->steps);
    h->steps = NULL;
    h->n = 0;
}

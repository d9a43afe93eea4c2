/* Viewers: what a player may ask and tell, well-behaved or not, one request at a time. Each request
 * is made of the service and, when it has been answered, of the model. */
#include "sim/world.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { RECORDS = 5 }; /* that a request needs room for: SERVICE_RECORDS */

/* ---- refusals ---- */

struct door {
    int must, may; /* codes; 0 = none */
};

static struct door door_of(struct world *w)
{
    struct service_stats s;
    world_stats(&s, w);
    struct door d = {0, 0};
    int room = w->sc.store_queue - (int)s.store_queue;
    if (!s.store_ok)
        d.must = ERR_IO;
    else if (room < RECORDS)
        d.must = ERR_FULL;
    else if (room < RECORDS * (w->depth + 1)) /* what is under way has room reserved */
        d.may = ERR_FULL;
    return d;
}

/* Did the service have to refuse, and did it? true: the request is over. */
static bool refused(struct world *w, struct door d, int rc, const char *what)
{
    if (w->cfg->broken == BREAK_REFUSE && !d.must && !rc && world_chance(w, .1))
        rc = ERR_FULL;
    bool closed = rc == ERR_IO || rc == ERR_FULL;
    if (d.must && rc != d.must && rc != ERR_ABSENT)
        world_finding(w, SIM_REFUSAL, "%s: code %d although the store cannot take it",
                      what, rc);
    else if (closed && rc != d.must && rc != d.may)
        world_finding(w, SIM_REFUSAL, "%s: refused (%d) without a reason", what, rc);
    if (closed) w->out->counts.refused++;
    return closed;
}

static void expect(struct world *w, const struct model_session *s, int rc, int want,
                   const char *what)
{
    if (rc == want) return;
    /* a closed session's place may be needed */
    if (rc == ERR_ABSENT && s && s->closed) return;
    world_finding(w, SIM_SESSION, "%s: code %d, its rules say %d", what, rc, want);
}

/* With cfg.strict an answer is given when all that was put is durable. */
static void acked(struct world *w)
{
    bool waits = w->sc.strict || w->cfg->broken == BREAK_EARLY;
    if (waits && w->disk.written < world_put(w))
        world_finding(w, SIM_ONCE, "answered with %llu of %llu records durable",
                      (unsigned long long)w->disk.written,
                      (unsigned long long)world_put(w));
}

/* ---- asking ---- */

static void heard(struct world *w, struct model_session *s, bool stored)
{
    if (stored) s->stored = w->now;
    s->word = w->now;
    s->idle_s = 0;
    s->fresh = true;
}

/* Is the chunk that was just decided better had at another level? No event of its own: nothing is
 * drawn, and nothing may change by it. */
static void doubt(struct world *w, const struct model_session *s, const struct answer *a)
{
    struct underway_in in = {a->chunk, a->level,     1000 * (a->chunk % 7),
                             1,        a->chunk % 3, 0};
    struct underway_out out;
    int rc = service_underway(&out, w->service, s->out.session, &in, NULL);
    if (rc || out.chunk != a->chunk || out.level < 0 || out.level >= s->in.levels ||
        out.kbps != s->in.ladder_kbps[out.level])
        world_finding(w, SIM_SESSION, "chunk %d on its way: code %d", a->chunk, rc);
    else if (s->out.explores && out.level != a->level)
        world_finding(w, SIM_SESSION, "chunk %d of who explores is to be abandoned",
                      a->chunk);
    in.chunk++;
    rc = service_underway(&out, w->service, s->out.session, &in, NULL);
    if (rc != ERR_CONFLICT)
        world_finding(w, SIM_SESSION, "chunk %d is not on its way: code %d", in.chunk,
                      rc);
}

static void ask(struct world *w, struct model_session *s, const struct question *q)
{
    struct answer a;
    struct err e = {0};
    struct door d = door_of(w);
    w->out->counts.requests++;
    int rc = service_ask(&a, w->service, w->worker[w->depth], s->out.session, q, &e);
    world_note(w, "ask %.6s chunk %d last %d: %d level %d by %d version %llu",
               s->out.session, q->chunk, q->has_last ? q->last.chunk : -1, rc,
               rc ? -1 : a.level, rc ? -1 : (int)a.by,
               rc ? 0 : (unsigned long long)a.policy);
    world_mix(w, (uint64_t)rc, rc ? 0 : (uint64_t)a.level ^ a.policy << 8);
    if (w->doomed || refused(w, d, rc, "a question")) return;

    const struct model_step *again = NULL;
    int want = model_ask(&again, s, q);
    expect(w, s, rc, want == 1 ? 0 : want, "a question");
    if (rc == ERR_CONFLICT) w->count.conflicts++, w->out->counts.conflicts++;
    if (rc || world_found(w)) return;
    acked(w);
    if (w->cfg->broken == BREAK_UNKNOWN) a.policy += 1000;
    if (want == 1) {
        w->count.repeats++;
        w->out->counts.repeats++;
        check_same(w, &again->a, &a);
        struct service_stats st;
        world_stats(&st, w);
        if (!w->depth && st.repeats != w->count.repeats)
            world_finding(w, SIM_SESSION, "chunk %d, answered before, is decided anew",
                          q->chunk);
        return;
    }
    check_answer(w, s, &a);
    if (a.chunk != q->chunk)
        world_finding(w, SIM_SESSION, "asked for chunk %d, answered %d", q->chunk,
                      a.chunk);
    model_asked(s, q, &a, world_put(w), &w->count.rewards, &w->count.not_followed);
    w->count.decisions++;
    w->out->counts.decisions++;
    heard(w, s, true);
    if (!w->depth) doubt(w, s, &a);
}

static struct outcome outcome_of(struct world *w, const struct model_session *s,
                                 const struct model_step *m)
{
    if (m->reported) return m->o;
    int level =
        m->decided && !world_chance(w, .15) ? m->a.level : world_below(w, s->in.levels);
    double kbps = s->in.ladder_kbps[level], mbps = rng_range(&w->rng, .2, 6);
    int64_t bytes = world_chance(w, .02) ? 0 : (int64_t)(kbps * s->in.chunk_s * 125);
    double seconds = .05 + (double)bytes * 8 / 1e6 / mbps;
    double stall = seconds > 2 * s->in.chunk_s ? rng_range(&w->rng, 0, 3) : 0;
    return (struct outcome){.chunk = m->chunk,
                            .level = level,
                            .bytes = bytes,
                            .download_s = seconds,
                            .rebuffer_s = stall};
}

static int last_chunk(const struct model_session *s)
{
    return s->in.chunks ? s->in.chunks - 1 : 100000;
}

static struct question next_question(struct world *w, const struct model_session *s)
{
    const struct model_step *m = model_newest(s);
    struct question q = {.chunk = m->chunk + 1, .buffer_s = rng_range(&w->rng, 0, 60)};
    if (q.chunk > last_chunk(s)) q.chunk = world_below(w, last_chunk(s) + 1);
    q.has_last = !world_chance(w, .1);
    if (q.has_last) q.last = outcome_of(w, s, m);
    q.has_next = world_chance(w, .5);
    for (int k = 0; k < s->in.levels; k++)
        q.next_bytes[k] =
            s->in.ladder_kbps[k] * s->in.chunk_s * rng_range(&w->rng, 90, 160);
    return q;
}

static void ask_next(struct world *w, struct model_session *s)
{
    struct question q = next_question(w, s);
    ask(w, s, &q);
}

/* The answer was lost, or slow: the player asks once more, now or some chunks later. */
static void ask_again(struct world *w, struct model_session *s)
{
    int back = world_chance(w, .6) ? 1 : 1 + world_below(w, s->n < 10 ? s->n : 10);
    const struct model_step *m = &s->step[s->n - back];
    if (!m->decided) return;
    struct question q = m->q;
    if (world_chance(w, .2)) q.has_next = false;
    ask(w, s, &q);
}

static void seek(struct world *w, struct model_session *s)
{
    struct question q = next_question(w, s);
    q.chunk = world_below(w, (s->in.chunks ? s->in.chunks : 200));
    if (q.has_last && world_chance(w, .3))
        q.last.chunk = world_below(w, last_chunk(s) + 1);
    ask(w, s, &q);
}

static void contradict(struct world *w, struct model_session *s)
{
    const struct model_step *m = &s->step[s->n - 1 - world_below(w, s->n < 4 ? s->n : 4)];
    struct question q = m->decided ? m->q : next_question(w, s);
    switch (world_below(w, 3)) {
    case 0:
        q.buffer_s += 1;
        break;
    case 1:
        q.has_last = !q.has_last;
        if (q.has_last) q.last = outcome_of(w, s, m);
        break;
    default:
        q.last.bytes++;
        q.chunk = m->chunk + world_below(w, 2);
        if (q.chunk > last_chunk(s)) q.chunk = last_chunk(s);
    }
    ask(w, s, &q);
}

/* ---- telling ---- */

static bool known(const struct world *w, const char *name)
{
    if (qoe_find(name)) return true;
    for (int i = 0; i < WORLD_PROFILES; i++)
        if (!strcmp(w->profile[i].name, name))
            return w->profile[i].state == PROFILE_THERE;
    return false;
}

/* Of a name whose profile may be there or not the model says nothing: it is not told. */
static void label(struct world *w, char out[SERVICE_NAME])
{
    out[0] = '\0';
    int k = world_below(w, 12);
    if (k < QOE_PROFILES) strcpy(out, qoe_profiles[k].name);
    const struct world_profile *p = &w->profile[world_below(w, WORLD_PROFILES)];
    if (k == QOE_PROFILES && p->state != PROFILE_UNSURE) strcpy(out, p->name);
    if (k == QOE_PROFILES + 1) strcpy(out, "nobody");
}

static void tell(struct world *w, struct model_session *s, const struct reward_in *in)
{
    struct reward_out r = {0}, want = {0};
    struct err e = {0};
    struct door d = door_of(w);
    w->out->counts.requests++;
    int rc = service_reward(&r, w->service, s->out.session, in, &e);
    world_note(w, "tell %.6s chunk %d external %d final %d '%s': %d reward %.4f",
               s->out.session, in->has_outcome ? in->outcome.chunk : -1,
               in->has_external ? in->chunk : -1, in->final, in->profile, rc, r.reward);
    world_mix(w, (uint64_t)rc, (uint64_t)(int64_t)(r.reward * 1e6));
    if (w->doomed) return;
    bool named = known(w, in->profile);
    if (in->profile[0] && (!in->final || !named)) d = (struct door){0, 0};
    if (refused(w, d, rc, "a report")) return;

    bool was_closed = s->closed;
    uint64_t taken = w->count.rewards, put = world_put(w);
    int expected = rc == ERR_ABSENT && s->closed
                       ? ERR_ABSENT
                       : model_report(&want, s, in, named, put, &w->count.rewards,
                                      &w->count.not_followed);
    expect(w, s, rc, expected, "a report");
    w->out->counts.rewards += w->count.rewards - taken;
    if (rc == ERR_CONFLICT) w->count.conflicts++, w->out->counts.conflicts++;
    if (rc || world_found(w)) return;
    acked(w);
    if (r.chunk != want.chunk || r.reward != want.reward || r.followed != want.followed ||
        r.repeated != want.repeated)
        world_finding(
            w, SIM_SESSION,
            "a report of chunk %d: reward %.9g followed %d repeated %d, its rules "
            "say %d: %.9g, %d, %d",
            r.chunk, r.reward, r.followed, r.repeated, want.chunk, want.reward,
            want.followed, want.repeated);
    if (w->cfg->broken == BREAK_COUNT && !r.repeated) w->count.rewards++;
    if (!was_closed) heard(w, s, !r.repeated);
    if (s->closed && !was_closed) {
        s->closed_at = w->now;
        w->count.closed++;
        check_end(w, s);
    }
}

static void tell_outcome(struct world *w, struct model_session *s)
{
    int back = world_chance(w, .6) ? 1 : 1 + world_below(w, s->n < 11 ? s->n : 11);
    const struct model_step *m = &s->step[s->n - back];
    struct reward_in in = {.has_outcome = !world_chance(w, .15),
                           .outcome = outcome_of(w, s, m)};
    if (world_chance(w, .1) && in.outcome.bytes) in.outcome.download_s += .125;
    if (world_chance(w, .05)) in.outcome.chunk = world_below(w, last_chunk(s) + 1);
    in.has_external = !in.has_outcome || world_chance(w, .2);
    in.chunk = in.outcome.chunk;
    in.external = world_chance(w, .8) ? (double)(in.chunk % 100) / 8 : 1;
    tell(w, s, &in);
}

static void tell_final(struct world *w, struct model_session *s)
{
    struct reward_in in = {.has_outcome = world_chance(w, .7), .final = true};
    in.outcome = outcome_of(w, s, model_newest(s));
    label(w, in.profile);
    tell(w, s, &in);
}

static void leave(struct world *w, struct model_session *s)
{
    char name[SERVICE_NAME];
    struct err e = {0};
    label(w, name);
    struct door d = door_of(w);
    w->out->counts.requests++;
    int rc = service_close(w->service, s->out.session, name, &e);
    world_note(w, "close %.6s as '%s': %d", s->out.session, name, rc);
    world_mix(w, (uint64_t)rc, 1);
    if (w->doomed) return;
    if (name[0] && !known(w, name)) d = (struct door){0, 0};
    if (refused(w, d, rc, "an end")) return;
    bool was_closed = s->closed;
    int want = rc == ERR_ABSENT && s->closed
                   ? ERR_ABSENT
                   : model_close(s, name, known(w, name), world_put(w));
    expect(w, s, rc, want, "an end");
    if (rc == ERR_CONFLICT) w->count.conflicts++, w->out->counts.conflicts++;
    if (!rc && !was_closed) {
        s->closed_at = w->now;
        w->count.closed++;
        check_end(w, s);
    }
    if (!rc) acked(w);
}

/* ---- what is not allowed changes nothing ---- */

static void misbehave(struct world *w, struct model_session *s)
{
    struct question q = next_question(w, s);
    struct answer a;
    struct err e = {0};
    q.has_last = true;
    q.last = outcome_of(w, s, model_newest(s));
    switch (world_below(w, 4)) {
    case 0:
        q.chunk = -1;
        break;
    case 1:
        q.last.level = s->in.levels;
        break;
    case 2:
        q.last.download_s = 0;
        break;
    default:
        q.buffer_s = 1e9;
    }
    struct door d = door_of(w);
    int rc = service_ask(&a, w->service, w->worker[w->depth], s->out.session, &q, &e);
    world_note(w, "bad %.6s: %d %s", s->out.session, rc, e.field);
    if (w->doomed || refused(w, d, rc, "a bad question")) return;
    expect(w, s, rc, s->closed || s->forgotten ? ERR_ABSENT : ERR_RANGE,
           "a bad question");
    rc = service_ask(&a, w->service, w->worker[w->depth],
                     "0123456789abcdef0123456789abcdef", &q, NULL);
    if (rc != ERR_ABSENT && !d.must && !d.may)
        world_finding(w, SIM_SESSION, "a session that never was: code %d", rc);
}

/* ---- beginning ---- */

static void describe(struct world *w, struct session_open *in)
{
    *in =
        (struct session_open){.levels = 2 + world_below(w, 5),
                              .chunk_s = world_chance(w, .5) ? 4 : 2,
                              .chunks = world_chance(w, .2) ? 0 : 2 + world_below(w, 30),
                              .buffer_max_s = 60,
                              .has_key = world_chance(w, .5)};
    double kbps = 200;
    for (int k = 0; k < in->levels; k++)
        in->ladder_kbps[k] = kbps *= rng_range(&w->rng, 1.2, 2.2);
    in->key = rng_u64(&w->rng);
    static const char *const CONTENT[] = {"", "news-at-ten", "match", "whales"};
    strcpy(in->content_id, CONTENT[world_below(w, 4)]);
    in->has_next = world_chance(w, .5);
    for (int k = 0; k < in->levels; k++)
        in->next_bytes[k] = in->ladder_kbps[k] * in->chunk_s * 125;

    int who = world_below(w, 100);
    const struct world_profile *p = &w->profile[world_below(w, WORLD_PROFILES)];
    if (who < 35 && p->state != PROFILE_UNSURE)
        strcpy(in->profile, who < 20 ? qoe_profiles[who % QOE_PROFILES].name : p->name);
    else if (who < 60)
        strcpy(in->profile, qoe_profiles[who % QOE_PROFILES].name);
    else if (who < 68)
        in->has_mu = true, in->qoe = qoe_of_mu(1, rng_uniform(&w->rng), 2, QOE_LOG);
}

static bool added_name(const struct world *w, const char *name)
{
    for (int i = 0; i < WORLD_PROFILES; i++)
        if (!strcmp(w->profile[i].name, name)) return w->profile[i].added;
    return false;
}

static void begin(struct world *w)
{
    if (w->sessions == WORLD_SESSIONS) return;
    struct session_open in;
    struct session_opened out;
    struct err e = {0};
    describe(w, &in);
    struct service_stats before;
    world_stats(&before, w);
    struct door d = door_of(w);
    uint64_t arrived = w->arrived;
    w->refuse_entropy = world_chance(w, .02);
    w->out->counts.requests++;
    int rc = service_open(&out, w->service, w->worker[w->depth], &in, &e);
    bool dry = w->refuse_entropy;
    w->refuse_entropy = false;
    world_note(w, "open '%s'%s chunks %d: %d %s level %d", in.profile,
               in.has_mu ? " mu" : "", in.chunks, rc, rc ? e.detail : out.session,
               rc ? -1 : out.first.level);
    world_mix(w, (uint64_t)rc, rc ? 0 : out.key ^ out.first.policy);
    if (w->doomed) return;
    if (rc == ERR_IO && dry) return;
    if (w->arrived != arrived) d.may = rc; /* the door was another one by then */
    bool absent = in.profile[0] && !known(w, in.profile);
    if (absent) {
        expect(w, NULL, rc == ERR_IO && dry ? ERR_ABSENT : rc, ERR_ABSENT, "a beginning");
        return;
    }
    if (rc == ERR_FULL && before.sessions_live == w->sc.max_sessions) return;
    if (refused(w, d, rc, "a beginning")) return;
    expect(w, NULL, rc, 0, "a beginning");
    if (rc) return;
    acked(w);

    struct model_session *s = model_open(&in, &out, world_put(w));
    s->added = out.hinted && !in.has_mu && added_name(w, in.profile);
    w->session[w->sessions++] = s;
    w->count.opened++;
    w->count.decisions++;
    w->out->counts.decisions++;
    heard(w, s, true);
    if (out.hinted != (in.has_mu || in.profile[0]))
        world_finding(w, SIM_SESSION, "opened with a hint: %d", out.hinted);
    if (w->cfg->broken == BREAK_UNKNOWN) out.first.policy += 1000;
    check_answer(w, s, &out.first);
}

/* ---- who does what ---- */

static struct model_session *someone(struct world *w)
{
    for (int tries = 0; tries < 12; tries++) {
        struct model_session *s = w->session[world_below(w, w->sessions)];
        bool there = !s->closed && !s->forgotten;
        if (there || (!s->gone && world_chance(w, .05))) return s;
    }
    return NULL;
}

void viewers_act(struct world *w)
{
    struct model_session *s = w->sessions ? someone(w) : NULL;
    int what = world_below(w, 100);
    if (!s || what < 9)
        begin(w);
    else if (what < 62)
        ask_next(w, s);
    else if (what < 70)
        ask_again(w, s);
    else if (what < 75)
        seek(w, s);
    else if (what < 79)
        contradict(w, s);
    else if (what < 90)
        tell_outcome(w, s);
    else if (what < 93)
        tell_final(w, s);
    else if (what < 96)
        leave(w, s);
    else
        misbehave(w, s);
}

/* The bus: a short ring, and a look at every trajectory that is sent to the learner. */
#include "sim/world.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "serve/session/decide.h"
#include "serve/added/added.h"

static const struct model_session *viewer_of(const struct world *w, uint64_t key)
{
    for (int i = w->sessions; i-- > 0;)
        if (w->session[i]->out.key == key) return w->session[i];
    return NULL;
}

/* The step of a session, whatever trajectory it comes in. */
static uint64_t name_of(const struct traj *t, const struct traj_step *s)
{
    uint64_t seconds;
    memcpy(&seconds, &s->download_s, sizeof seconds);
    uint64_t h = rng_u64_at(t->key, (uint64_t)s->chunk, s->policy);
    return rng_u64_at(h, seconds, (uint64_t)s->bytes);
}

/* How many steps of the session this can be: a chunk may be played again and go the same way. */
static int likely(const struct model_session *s, const struct traj_step *t)
{
    int n = 0;
    for (int i = 0; i < s->n; i++) {
        const struct model_step *m = &s->step[i];
        bool same = m->o.bytes == (int64_t)t->bytes && m->o.download_s == t->download_s;
        n += m->chunk == t->chunk && m->decided && m->a.policy == t->policy &&
             (same || !m->reported);
    }
    return n;
}

static void check_taught(struct world *w, const struct model_session *s,
                         const struct traj *t)
{
    for (int i = 0; i < t->n; i++) {
        uint64_t what = name_of(t, &t->step[i]);
        assert(w->n_taught < WORLD_TAUGHT);
        w->taught[w->n_taught++] = (struct world_taught){what, UINT64_MAX};
        int taught = 0;
        for (int k = 0; k < w->n_taught; k++)
            taught += w->taught[k].what == what;
        if (taught > likely(s, &t->step[i]))
            world_finding(w, SIM_TAUGHT, "%.6s: chunk %d is taught a second time",
                          s->out.session, t->step[i].chunk);
    }
}

/* Drawn again with what the learner sees: the same level, the same probability, to the bit. */
static bool drawn_so(const struct world *w, const struct traj *t, int i, uint32_t mask,
                     int action)
{
    const struct traj_step *s = &t->step[i];
    const float *obs = w->obs + (size_t)i * (size_t)feat_dim(FEAT_FULL);
    double u = decide_draw(w->sc.seed, t->key, s->chunk);
    for (int k = w->versions; k-- > 0;) {
        struct policy_choice c;
        if (w->version[k].number != s->policy) continue;
        if (!packed_decide(&c, w->version[k].packed, obs, mask, u) &&
            c.action == action && c.logp == s->logp)
            return true;
    }
    return false;
}

static void check_drawn(struct world *w, const struct traj *t)
{
    uint32_t mask[TRAJ_STEPS + 1];
    int action[TRAJ_STEPS + 1];
    bool known = traj_observe(w->obs, mask, action, t, FEAT_FULL);
    for (int i = 0; i < t->n; i++)
        if (!known || !drawn_so(w, t, i, mask[i], action[i]))
            world_finding(w, SIM_LOGP,
                          "chunk %d, level %d: ln p = %.9g was not drawn by version %llu",
                          t->step[i].chunk, t->step[i].action, (double)t->step[i].logp,
                          (unsigned long long)t->step[i].policy);
}

static void check_traj(struct world *w, struct traj *t)
{
    if (w->cfg->broken == BREAK_LOGP) t->step[0].logp += 1e-3f;
    if (w->cfg->broken == BREAK_HINT)
        for (int i = 0; i < w->sessions; i++)
            if (!w->session[i]->out.hinted) t->key = w->session[i]->out.key;

    const struct model_session *s = viewer_of(w, t->key);
    if (!s)
        world_finding(w, SIM_HINTLESS, "a trajectory of no session");
    else if (!s->out.hinted)
        world_finding(w, SIM_HINTLESS, "session %s gave no hint", s->out.session);
    else if (!s->out.explores)
        world_finding(w, SIM_HINTLESS, "session %s does not explore", s->out.session);
    if (world_found(w)) return;
    check_taught(w, s, t);
    if (w->cfg->broken == BREAK_TEACH) check_taught(w, s, t);
    if (t->tag < ADDED_TAG) check_drawn(w, t);
}

/* ---- the ring ---- */

static bool lane_send(void *self, const struct traj *t)
{
    struct world *w = self;
    if (!w->doomed) {
        static struct traj seen;
        seen = *t;
        check_traj(w, &seen);
    }
    if (w->ring_n == w->ring_cap) {
        w->out->counts.dropped++;
        return false;
    }
    w->ring[(w->ring_first + w->ring_n++) % w->ring_cap] = *t;
    return true;
}

static bool lane_receive(void *self, struct traj *out, double wait_s)
{
    struct world *w = self;
    (void)wait_s;
    world_meanwhile(w);
    if (!w->ring_n) return false;
    *out = w->ring[w->ring_first];
    w->ring_first = (w->ring_first + 1) % w->ring_cap;
    w->ring_n--;
    return true;
}

static void lane_wake(void *self)
{
    (void)self;
}

static void lane_stats(void *self, struct bus_stats *out)
{
    const struct world *w = self;
    *out = (struct bus_stats){.queued = (uint64_t)w->ring_n};
}

int lane_bus(struct bus *out, void *ctx, struct err *e)
{
    struct world *w = ctx;
    (void)e;
    w->ring_first = w->ring_n = 0;
    *out = (struct bus){.self = w,
                        .send = lane_send,
                        .receive = lane_receive,
                        .wake = lane_wake,
                        .stats = lane_stats,
                        .free = lane_wake};
    return 0;
}

void lane_settle(struct world *w)
{
    uint64_t put = 0;
    for (int i = w->n_taught; i-- > 0 && w->taught[i].put == UINT64_MAX;) {
        if (!put) put = world_put(w);
        w->taught[i].put = put;
    }
}

void lane_forget(struct world *w, uint64_t durable)
{
    int kept = 0;
    for (int i = 0; i < w->n_taught; i++)
        if (w->taught[i].put <= durable) w->taught[kept++] = w->taught[i];
    w->n_taught = kept;
}

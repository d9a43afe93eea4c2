#include "abr/train/abr_env.h"

#include "abr/deciders/mpc.h"
#include "abr/deciders/first_level.h"
#include "abr/deciders/hold.h"
#include "abr/deciders/window.h"
#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double AHEAD_S[ABR_ENV_PRIV - 1] = {2, 5, 10, 20, 40, 80, 140};
static const double SHORT_BUFFER_S = 12.0;
/* mean throughput of a link, of the top rate of a drawn ladder */
static const double LINK_LEAST = 0.04, LINK_MOST = 2.5;
/* and at least this much of the lowest level */
static const double LOWEST_LEAST = 0.8;
/* Episodes on a drawn ladder: the link is scaled to the ladder. In the others a ladder is drawn that suits
 * the link as it was recorded: what a rate says about the kind of the link must stay true. */
static const double SCALED = 0.4;
static const int TRIES = 8; /* to find such a ladder */

/* Everything that an episode depends on. Plain bytes, except player.emu.world, which state_put sets to
 * its own world. */
struct state {
    struct rng rng;
    int trace, video, tag;
    int skipped; /* chunks of the video before the episode's first one */
    bool live, drawn_player;
    struct emu_cfg emu;
    double scale;
    int64_t steps;
    struct player player;
    struct mpc_memory mpc;
    float paper[FEAT_PAPER_DIM];
};

/* cfg and video are outside of it, so that env_peek copies little. */
struct abr_env {
    const struct abr_env_cfg *cfg;
    struct video *video; /* the episode's part of its video; the bytes are borrowed */
    const struct worlds *worlds;
    struct emu_world world;
    struct state s;
};

struct owned {
    struct abr_env env; /* first, since free gets its address */
    struct abr_env_cfg cfg;
    struct video video;
};

struct abr_env_cfg abr_env_cfg_default(void)
{
    struct abr_env_cfg c = {
        .layout = FEAT_FULL,
        .emu = emu_cfg_default(),
        .noise = 0.1,
        .n_profiles = QOE_PROFILES,
        .generated = 0.3,
        .custom = 0.25,
        .simplex = 0.5,
        .ladders = 0.3,
        .players = 0.45,
        .live = 0.15,
        .choose_first = 0.3,
        .first_level = 1,
        .scale_reward = true,
        .privileged = true,
    };
    for (int i = 0; i < QOE_PROFILES; i++)
        c.profiles[i] = qoe_profiles[i].qoe;
    return c;
}

struct abr_env_cfg abr_env_cfg_paper(bool authors, int64_t cycle_steps)
{
    static const char *const order[] = {"paper-documentary", "paper-live", "paper-news"};
    struct abr_env_cfg c = {
        .layout = FEAT_PAPER,
        .emu = emu_cfg_default(),
        .noise = 0.1,
        .n_profiles = 3,
        .cycle_steps = cycle_steps,
        .first_level = -1,
    };
    for (int i = 0; i < c.n_profiles; i++) {
        c.profiles[i] = qoe_find(order[i])->qoe;
        if (authors) c.profiles[i].utility = QOE_PAMOE;
    }
    if (authors) {
        c.emu.bandwidth_x = 2.0;
        c.emu.wrap = EMU_WRAP_FIRST;
    }
    return c;
}

static bool chance(struct rng *r, double share)
{
    return rng_uniform(r) < share;
}

/* Draws nothing for a share of 0, so that episodes without the feature keep their random numbers. */
static bool maybe(struct rng *r, double share)
{
    return share > 0.0 && chance(r, share);
}

static double log_uniform(struct rng *r, double lo, double hi)
{
    return lo * exp(rng_uniform(r) * log(hi / lo));
}

/* uniform on the simplex: three exponentials over their sum */
static struct qoe simplex_weights(struct rng *r)
{
    double w[3], sum = 0.0;
    for (int i = 0; i < 3; i++)
        sum += w[i] = rng_exponential(r, 1.0);
    return qoe_of_mu(w[0] / sum, w[1] / sum, w[2] / sum, QOE_LINEAR);
}

/* Points: weights relative to `standard`. Stalls may weigh much more, as they do while a ceiling is
 * exceeded. */
static struct qoe draw_points(struct rng *r)
{
    double weight[QOE_WEIGHTS];
    for (int i = 0; i < QOE_WEIGHTS; i++)
        weight[i] = log_uniform(r, 0.25, 4.0);
    if (chance(r, 0.5)) weight[2] = log_uniform(r, 1.0, 12.0);
    struct qoe q = qoe_of_weights(weight);
    if (chance(r, 0.25)) q.mu_rise = q.mu_switch * rng_uniform(r);
    return q;
}

static struct qoe draw_weights(struct rng *r, double points, double simplex)
{
    if (maybe(r, points)) return draw_points(r);
    if (chance(r, simplex)) return simplex_weights(r);
    struct qoe q = {
        .mu_quality = log_uniform(r, 0.5, 8.0),
        .mu_switch = log_uniform(r, 0.2, 8.0),
        .mu_stall = log_uniform(r, 0.5, 8.0),
    };
    if (chance(r, 1.0 / 3.0)) q.utility = chance(r, 0.5) ? QOE_LOG : QOE_PAMOE;
    return q;
}

static struct qoe choose_profile(struct abr_env *m)
{
    struct state *s = &m->s;
    int n = m->cfg->n_profiles;
    if (m->cfg->cycle_steps > 0) {
        s->tag = (int)(s->steps / m->cfg->cycle_steps % n);
    } else if (chance(&s->rng, m->cfg->custom)) {
        s->tag = n;
        return draw_weights(&s->rng, m->cfg->points, m->cfg->simplex);
    } else {
        s->tag = (int)rng_below(&s->rng, (uint32_t)n);
    }
    return m->cfg->profiles[s->tag];
}

/* Chunks that a shorter video leaves out at its start. So the sizes of its first chunks vary, too. */
static int draw_skip(struct abr_env *m)
{
    int chunks = m->worlds->videos[m->s.video]->chunks;
    if (m->s.video || chunks <= WORLDS_LEAST_CHUNKS || !maybe(&m->s.rng, m->cfg->lengths))
        return 0;
    int left = (int)log_uniform(&m->s.rng, WORLDS_LEAST_CHUNKS, chunks + 1);
    return left < chunks ? chunks - left : 0;
}

static int draw_ladder(struct abr_env *m)
{
    return 1 + (int)rng_below(&m->s.rng, (uint32_t)m->worlds->n_videos - 1);
}

/* A link on which there is something to decide: it carries nearly the lowest level or more, and not far
 * more than the top level. */
static bool suits(const struct video *v, double mbps)
{
    double top_mbps = v->ladder_kbps[v->levels - 1] / 1e3;
    return mbps > LOWEST_LEAST * v->ladder_kbps[0] / 1e3 &&
           mbps > LINK_LEAST * top_mbps && mbps < LINK_MOST * top_mbps;
}

/* From links that carry little more than the lowest level to those that carry all. */
static double draw_mbps(struct abr_env *m, const struct video *v)
{
    double top_mbps = v->ladder_kbps[v->levels - 1] / 1e3,
           low_mbps = v->ladder_kbps[0] / 1e3;
    double mbps = top_mbps * log_uniform(&m->s.rng, LINK_LEAST, LINK_MOST);
    double least_mbps = LOWEST_LEAST * low_mbps;
    return mbps < least_mbps ? low_mbps * log_uniform(&m->s.rng, LOWEST_LEAST, 4.0)
                             : mbps;
}

static void choose_world(struct abr_env *m)
{
    struct state *s = &m->s;
    const struct worlds *w = m->worlds;
    int links = w->n_traces - w->n_real;
    bool generated = !w->n_real || (links && chance(&s->rng, m->cfg->generated));
    int first = generated ? w->n_real : 0, n = generated ? links : w->n_real;
    s->trace = first + (int)rng_below(&s->rng, (uint32_t)n);
    s->video = 0;
    s->emu = m->cfg->emu;

    if (w->n_videos > 1 && chance(&s->rng, m->cfg->ladders)) {
        double mbps = trace_mean_mbps(w->traces[s->trace]);
        s->video = draw_ladder(m);
        for (int i = 0; i < TRIES && !suits(w->videos[s->video], mbps); i++)
            s->video = draw_ladder(m);
        if (chance(&s->rng, SCALED) || !suits(w->videos[s->video], mbps))
            s->emu.bandwidth_x *= draw_mbps(m, w->videos[s->video]) / mbps;
    }
    s->drawn_player = chance(&s->rng, m->cfg->players);
    if (s->drawn_player) {
        double chunk_s = w->videos[s->video]->chunk_s;
        /* a few chunks: decisions are hardest there, and live players often hold so little */
        double longest_s = chance(&s->rng, 0.4) ? SHORT_BUFFER_S : 120.0;
        s->emu.buffer_max_s = fmax(log_uniform(&s->rng, 4.0, longest_s), 2.0 * chunk_s);
        s->emu.rtt_s = log_uniform(&s->rng, 0.01, 0.3);
    }
    if (chance(&s->rng, m->cfg->stretch))
        s->emu.bandwidth_x *= log_uniform(&s->rng, 0.6, 1.6);
    s->emu.abandon |= maybe(&s->rng, m->cfg->abandon);
    s->skipped = draw_skip(m);
    s->live = chance(&s->rng, m->cfg->live);
    if (s->live && chance(&s->rng, 0.5)) /* close to the live edge */
        s->emu.buffer_max_s = rng_range(&s->rng, 2.0, 6.0) * w->videos[s->video]->chunk_s;
}

/* The world that the state names. Videos and traces are the same in every process. */
static void enter_world(struct abr_env *m)
{
    *m->video = *m->worlds->videos[m->s.video];
    m->video->bytes += m->s.skipped * m->video->levels;
    m->video->chunks -= m->s.skipped;
    m->world = (struct emu_world){
        .video = m->video,
        .trace = m->worlds->traces[m->s.trace],
        .cfg = m->s.emu,
    };
    m->s.player.emu.world = &m->world;
}

static double noise_of(struct abr_env *m)
{
    return rng_range(&m->s.rng, 1.0 - m->cfg->noise, 1.0 + m->cfg->noise);
}

/* log2 / 4 on a scale where the top rate is 0 */
static float quarter_log(double share)
{
    float x = log2f((float)share + 1e-3f) / 4.0f;
    return x < 3.0f ? x : 3.0f;
}

static void observe_ahead(float *priv, const struct abr_env *m)
{
    const struct state *s = &m->s;
    const struct emu *emu = &s->player.emu;
    const struct trace *t = m->world.trace;
    double top_mbps = m->world.video->ladder_kbps[m->world.video->levels - 1] / 1e3;
    double scale = s->emu.bandwidth_x * s->emu.payload / top_mbps;
    double mbps[ABR_ENV_PRIV];
    int row = emu->row < t->n ? emu->row : t->n - 1;
    mbps[0] = t->mbps[row];
    worlds_ahead(mbps + 1, m->worlds, s->trace, row, emu->clock_s, AHEAD_S,
                 ABR_ENV_PRIV - 1);
    for (int i = 0; i < ABR_ENV_PRIV; i++)
        priv[i] = quarter_log(mbps[i] * scale);
}

int abr_env_tag_drawn(const struct abr_env_cfg *cfg, int i)
{
    return cfg->n_profiles + 2 + i;
}

int abr_env_tag_short(const struct abr_env_cfg *cfg, int i)
{
    bool other_players = cfg->players > 0.0 || cfg->live > 0.0;
    return cfg->n_profiles + 2 + (other_players ? cfg->n_profiles : 0) + i;
}

int abr_env_tags(const struct abr_env_cfg *cfg)
{
    return abr_env_tag_short(cfg, 0) + (cfg->lengths > 0.0 ? cfg->n_profiles + 1 : 0);
}

static int tag_of(const struct abr_env *m)
{
    const struct state *s = &m->s;
    int n = m->cfg->n_profiles;
    if (s->video) return n + 1;
    if (s->skipped) return abr_env_tag_short(m->cfg, s->tag);
    return s->tag < n && (s->drawn_player || s->live) ? abr_env_tag_drawn(m->cfg, s->tag)
                                                      : s->tag;
}

/* What the learner sees, and the levels that it is offered. A live stream shows no end. */
static const struct view *abr_env_see(struct window *w, struct view *live, uint32_t *mask,
                                      const struct abr_env *m)
{
    const struct view *v = &m->s.player.view;
    uint32_t offered = feat_mask(v);
    if (m->s.live && !feat_rolled(m->cfg->layout)) {
        *live = *v;
        live->chunks = 0;
        v = live;
    }
    v = window_see(w, v, offered);
    *mask = window_mask(w, offered);
    return v;
}

/* The level of an action. */
static int abr_env_level(const struct abr_env *m, int action)
{
    if (m->s.player.view.levels <= FEAT_LEVELS) return action;
    struct window w;
    struct view live;
    uint32_t mask;
    (void)abr_env_see(&w, &live, &mask, m);
    return window_level(&w, action);
}

static void observe(struct abr_env *m, struct env_out *out)
{
    struct state *s = &m->s;
    struct window w;
    struct view live;
    const struct view *v = abr_env_see(&w, &live, &out->mask, m);
    out->tag = tag_of(m);
    if (feat_rolled(m->cfg->layout)) {
        memcpy(out->obs, s->paper, sizeof s->paper);
        if (m->cfg->layout == FEAT_PAPER_HINT)
            feat_paper_hint(out->obs + FEAT_PAPER_DIM, v);
    } else {
        feat_observe(out->obs, m->cfg->layout, v);
    }
    if (m->cfg->privileged) observe_ahead(out->priv, m);
}

static void abr_env_push(struct abr_env *m)
{
    struct window w;
    struct view live;
    uint32_t mask;
    feat_paper_push(m->s.paper, abr_env_see(&w, &live, &mask, m));
}

static bool abr_env_fetch(struct abr_env *m, int level)
{
    bool over = player_step(&m->s.player, level, noise_of(m));
    /* behind the end the authors' environment shows the next episode's buffer */
    if (over && feat_rolled(m->cfg->layout)) m->s.player.view.buffer_s = 0.0;
    if (feat_rolled(m->cfg->layout)) abr_env_push(m);
    return over;
}

static int abr_env_first_level(struct abr_env *m)
{
    struct state *s = &m->s;
    int levels = m->world.video->levels, first = m->cfg->first_level;
    if (maybe(&s->rng, m->cfg->start)) return first_level(&s->player.view);
    if (first < 0) first = (int)rng_below(&s->rng, (uint32_t)levels);
    return first < levels ? first : levels - 1;
}

static double scale_of(const struct abr_env *m)
{
    const struct view *v = &m->s.player.view;
    if (m->cfg->layout != FEAT_PLAN) return feat_reward_scale(v);
    double kbps =
        trace_mean_mbps(m->world.trace) * 1e3 * m->s.emu.bandwidth_x * m->s.emu.payload;
    return feat_link_scale(v, kbps);
}

static void env_reset(void *self, struct env_out *out)
{
    struct abr_env *m = self;
    struct state *s = &m->s;
    choose_world(m);
    enter_world(m);
    struct qoe qoe = choose_profile(m);
    int row = 1 + (int)rng_below(&s->rng, (uint32_t)m->world.trace->n - 1);
    player_start(&s->player, &m->world, row, &qoe, -1);
    s->scale = m->cfg->scale_reward ? scale_of(m) : 1.0;

    s->mpc = (struct mpc_memory){.chunk = -1};
    memset(s->paper, 0, sizeof s->paper);
    if (!chance(&s->rng, m->cfg->choose_first)) {
        abr_env_fetch(m, abr_env_first_level(m));
    } else if (feat_rolled(m->cfg->layout)) {
        abr_env_push(m);
    }
    observe(m, out);
}

/* A shift takes effect at once, in the middle of an episode. */
static void shift_profile(struct abr_env *m)
{
    if (m->cfg->cycle_steps <= 0 || m->s.steps % m->cfg->cycle_steps) return;
    m->s.player.view.qoe = choose_profile(m);
}

/* The reward of the last chunk. */
static double reward_of(const struct abr_env *m)
{
    const struct state *s = &m->s;
    double reward = s->player.last.reward;
    if (s->emu.buffer_max_s <= SHORT_BUFFER_S)
        reward -=
            m->cfg->caution * s->player.view.qoe.mu_stall * s->player.result.rebuffer_s;
    reward /= s->scale;
    return m->cfg->reward_floor < 0.0 ? fmax(reward, m->cfg->reward_floor) : reward;
}

static void env_step(void *self, int action, struct env_out *out)
{
    struct abr_env *m = self;
    struct state *s = &m->s;
    bool over = abr_env_fetch(m, abr_env_level(m, action));
    double reward = reward_of(m);

    s->steps++;
    shift_profile(m);
    observe(m, out);
    out->reward = (float)reward;
    out->done = over && !s->live;
    out->truncated = over && s->live;
}

/* The plan that the layout shows, else RobustMPC; for the viewer's own weights. */
static int abr_env_advised(struct abr_env *m)
{
    const struct view *v = &m->s.player.view;
    if (m->cfg->layout == FEAT_PLAN) {
        static const struct plan_cfg cfg = PLAN_DEFAULT;
        return v->n_history ? hold_level(&cfg, v) : first_level(v);
    }
    double kbps = mpc_forecast_kbps(&m->s.mpc, v);
    if (kbps <= 0.0) return 0;
    struct mpc_task task = mpc_task(v, m->world.video, &v->qoe, kbps);
    return mpc_plan(&task).level;
}

/* The action of that level, or of the next lower one that the learner sees and is offered. */
static int env_advise(void *self)
{
    struct abr_env *m = self;
    int level = abr_env_advised(m), action = FEAT_LEVELS - 1;
    if (m->s.player.view.levels <= FEAT_LEVELS) return level;
    struct window w;
    struct view live;
    uint32_t mask;
    (void)abr_env_see(&w, &live, &mask, m);
    while (action > 0 && (window_level(&w, action) > level || !(mask >> action & 1)))
        action--;
    return action;
}

static void env_peek(const void *self, int action, struct env_out *out)
{
    struct abr_env copy = *(const struct abr_env *)self;
    copy.s.player.emu.world = &copy.world;
    env_step(&copy, action, out);
}

static void env_state_get(const void *self, void *out)
{
    const struct abr_env *m = self;
    struct state s = m->s;
    s.player.emu.world = NULL; /* an address has no meaning in another process */
    memcpy(out, &s, sizeof s);
}

static void env_state_put(void *self, const void *in)
{
    struct abr_env *m = self;
    memcpy(&m->s, in, sizeof m->s);
    enter_world(m);
}

const struct player *abr_env_player(const struct env *env)
{
    assert(env->step == env_step);
    const struct abr_env *m = env->self;
    return &m->s.player;
}

struct env abr_env_new(const struct abr_env_cfg *cfg, const struct worlds *worlds,
                       uint64_t seed, uint64_t id, struct err *e)
{
    assert(cfg->n_profiles > 0 && cfg->n_profiles <= ABR_ENV_PROFILES);
    struct owned *owned = calloc(1, sizeof *owned);
    if (!owned) {
        err_set(e, ERR_MEMORY, "no memory for an environment");
        return (struct env){0};
    }
    struct abr_env *m = &owned->env;
    owned->cfg = *cfg;
    m->cfg = &owned->cfg;
    m->video = &owned->video;
    m->worlds = worlds;
    rng_init(&m->s.rng, seed, id);
    return (struct env){
        .self = m,
        .spec = {.obs_dim = feat_dim(cfg->layout),
                 .priv_dim = cfg->privileged ? ABR_ENV_PRIV : 0,
                 .actions = FEAT_LEVELS,
                 .tags = abr_env_tags(cfg)},
        .reset = env_reset,
        .step = env_step,
        .peek = env_peek,
        .advise = env_advise,
        .state_size = sizeof m->s,
        .state_get = env_state_get,
        .state_put = env_state_put,
        .free = free,
    };
}

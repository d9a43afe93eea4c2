#include "lab/trials/trial_sim.h"

#include <math.h>
#include <stdlib.h>

#include "abr/emulator/replay.h"
#include "abr/traces/gen.h"
#include "abr/traces/trace_stats.h"
#include "base/rng.h"

enum { OTHER = 997 /* of a pool: the session whose stalls are added */ };
static const double LINK_S = 400;
static const double WATCH_LOG_MEAN = 4.4, WATCH_LOG_SIGMA = 1.1; /* median 81 s */
static const double START_SHARE =
    .3; /* of a link's mean: what its network is known for */

/* ---- pools ---- */

struct watching {
    struct compare_ended *out;
    double leaves_s; /* of media */
};

static int watch_chunk(void *ctx, const struct replay_step *s, struct err *e)
{
    (void)e;
    const struct watching *w = ctx;
    struct compare_ended *o = w->out;
    if (s->prev_level < 0) {
        o->started = true;
        o->startup_s = fmax(s->stall_s, s->download_s);
    } else {
        o->stall_s += s->stall_s;
        o->switches += s->level != s->prev_level;
    }
    o->played_s += s->view->chunk_s;
    o->points += s->view->points[s->level];
    o->reward += s->reward;
    o->chunks++;
    return o->played_s >= w->leaves_s;
}

static int watch_session(struct trial_sim_session *out, struct algo *algo,
                         const struct video *video, uint64_t seed, uint64_t i,
                         struct err *e)
{
    struct rng r;
    rng_init(&r, seed, i);
    int kinds = 0;
    while (gen_kinds[kinds])
        kinds++;
    const char *kind = gen_kinds[rng_below(&r, (uint32_t)kinds)];
    struct trace *link = gen_trace(kind, LINK_S, seed, i, e);
    if (!link) return e->code;
    struct trace_stats stats;
    int rc;
    rc = trace_stats(&stats, &link, 1, e);
    out->network = compare_network(START_SHARE * stats.mean * 1000);
    struct watching w = {&out->ended,
                         exp(WATCH_LOG_MEAN + WATCH_LOG_SIGMA * rng_normal(&r))};
    struct emu_world world = {video, link, emu_cfg_default()};
    struct replay session = {.world = &world,
                             .qoe = qoe_standard(),
                             .first_level = -1,
                             .algo = algo,
                             .key = i};
    if (!rc) rc = replay_run(&session, watch_chunk, &w, e);
    trace_free(link);
    return rc < 0 ? rc : 0;
}

int trial_sim_pool(struct trial_sim_pool *out, const char *algo, int n, uint64_t seed,
                   struct err *e)
{
    struct algo_ctx ctx = {.seed = seed};
    struct algo chooses = {0};
    struct video *video = video_default(e);
    *out = (struct trial_sim_pool){.n = n,
                                   .session = calloc((size_t)n, sizeof *out->session)};
    int rc = video && out->session ? algo_new(&chooses, algo, &ctx, e)
                                   : err_set(e, ERR_MEMORY, "no memory for sessions");
    for (int i = 0; i < n && !rc; i++)
        rc = watch_session(&out->session[i], &chooses, video, seed, (uint64_t)i, e);
    algo_free(&chooses);
    video_free(video);
    if (rc) trial_sim_pool_free(out);
    return rc;
}

void trial_sim_pool_free(struct trial_sim_pool *p)
{
    free(p->session);
    *p = (struct trial_sim_pool){0};
}

/* ---- trials ---- */

struct trial_sim_cfg trial_sim_cfg_default(void)
{
    struct compare_cfg c = compare_cfg_default();
    return (struct trial_sim_cfg){.share = .5,
                                  .sessions = 2000,
                                  .planned = c.sessions,
                                  .stall_margin = c.stall_margin,
                                  .startup_margin_s = c.startup_margin_s};
}

static struct compare_ended outcome_of(const struct trial_sim_cfg *c, int arm, int i)
{
    const struct trial_sim_pool *p = c->pool[arm];
    struct compare_ended e = p->session[i].ended;
    const struct compare_ended *other = &p->session[(i + OTHER) % p->n].ended;
    if (arm && c->twice && e.chunks)
        e.stall_s += other->stall_s / other->played_s * e.played_s;
    return e;
}

static struct compare_cfg compare_cfg_of(const struct trial_sim_cfg *c)
{
    return (struct compare_cfg){.arms = 2,
                                .share = {1 - c->share, c->share},
                                .sessions = c->planned,
                                .stall_margin = c->stall_margin,
                                .startup_margin_s = c->startup_margin_s};
}

void trial_sim_truth(struct trial_sim_truth *out, const struct trial_sim_cfg *c)
{
    struct compare all;
    struct compare_cfg cfg = compare_cfg_of(c);
    compare_init(&all, &cfg);
    for (int arm = 0; arm < 2; arm++)
        for (int i = 0; i < c->pool[arm]->n; i++) {
            struct compare_ended e = outcome_of(c, arm, i);
            compare_end(&all, arm, 0, &e);
        }
    for (int f = 0; f < COMPARE_FIGURES; f++) {
        const struct compare_cell *a = &all.arm[0].cell[0][f],
                                  *b = &all.arm[1].cell[0][f];
        out->difference[f] = compare_mean(b) - compare_mean(a);
        out->deviation[f][0] = compare_deviation(a);
        out->deviation[f][1] = compare_deviation(b);
    }
}

double trial_sim_fixed(const struct trial_sim_truth *t, double share, int figure)
{
    return confseq_fixed(share, t->deviation[figure], t->difference[figure]);
}

static void look(struct trial_sim *out, const struct compare *all,
                 const struct trial_sim_truth *truth, int sessions)
{
    for (int f = 0; f < COMPARE_FIGURES; f++) {
        struct confseq_interval k = compare_diff(all, 1, 0, (enum compare_figure)f);
        double d = truth->difference[f];
        out->missed[f] |= k.lo > d || k.hi < d;
        if (!out->decided[f] && (k.lo > 0 || k.hi < 0)) out->decided[f] = sessions;
    }
    double unused;
    out->mismatch |= compare_mismatch(&unused, all);
    if (out->stopped || compare_worse(all, 1) < 0) return;
    out->stopped = (int)compare_analysed(&all->arm[1]);
    out->stopped_all = sessions;
}

void trial_sim_run(struct trial_sim *out, const struct trial_sim_cfg *c,
                   const struct trial_sim_truth *truth, uint64_t trial)
{
    struct compare all;
    struct compare_cfg cfg = compare_cfg_of(c);
    compare_init(&all, &cfg);
    *out = (struct trial_sim){0};
    struct rng r;
    rng_init(&r, c->seed, trial);
    for (int i = 1; i <= c->sessions && !(c->stops && out->stopped); i++) {
        int arm = rng_uniform(&r) < c->share;
        int at = (int)rng_below(&r, (uint32_t)c->pool[arm]->n);
        struct compare_ended e = outcome_of(c, arm, at);
        compare_assign(&all, arm, COMPARE_COUNTED);
        compare_end(&all, arm, c->pool[arm]->session[at].network, &e);
        look(out, &all, truth, i);
    }
}

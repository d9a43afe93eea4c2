#include "abr/why.h"

#include "abr/deciders/first_level.h"
#include "abr/deciders/oracle.h"
#include "abr/emulator/feat.h"
#include "abr/emulator/player.h"
#include "abr/emulator/replay.h"
#include "base/pool.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *why_by_name(enum why_by by)
{
    static const char *const names[] = {"policy", "first-level", "fallback", "rule",
                                        "plan"};
    return names[by];
}

const struct why_outcome *why_outcome_of(const struct why_chunk *c, int p)
{
    return &c->outcome[c->choice[p].level];
}

double why_lost(const struct why_chunk *c)
{
    return c->best - why_outcome_of(c, 0)->best;
}

/* The session before a chunk. */
struct why_state {
    struct player player;
    double clock_s;         /* of the link, as in struct oracle_from */
    double earned, stall_s; /* by the chunks before */
};

struct why_worker {
    struct algo algo; /* the first policy */
    struct oracle *oracle;
};

struct why_task {
    struct why *out;
    const struct why_cfg *cfg;
    struct why_state *state; /* (n) */
    double *gap;             /* (n) */
    struct why_worker *worker;
    int workers, from, to; /* chunks from .. to - 1 are this round's */
};

/* ---- the session ---- */

static enum why_by network_by(const struct algo_choice *p, const struct view *v)
{
    int offered = 0;
    for (int k = 0; k < v->levels; k++)
        offered += p->prob[k] > 0;
    if (p->expert < 0) return WHY_FALLBACK;
    return offered == 1 && first_level_is(v) ? WHY_FIRST_LEVEL : WHY_POLICY;
}

static struct why_choice choice_of(const struct algo *a, const struct view *v, int level)
{
    struct why_choice c = {.level = level, .by = WHY_RULE, .prob = (double)NAN};
    const struct algo_choice *p = a->choice ? a->choice(a->self) : NULL;
    if (!p) return c;
    c.prob = (double)p->prob[level];
    c.by = network_by(p, v);
    return c;
}

/* The player took another chunk. */
static void pass(struct why_state *s, const struct view *before, int wanted)
{
    const struct player *p = &s->player;
    struct oracle_from f = {.emu = p->emu, .clock_s = s->clock_s};
    oracle_pass(&f, p->result.level == wanted ? 1 : 2, before->buffer_s, &p->result);
    s->clock_s = f.clock_s;
    s->earned += p->last.reward;
    if (before->last_level >= 0) s->stall_s += p->last.stall_s;
}

static void begin_session(struct why_state *s, double *start_s, const struct why_cfg *cfg)
{
    *s = (struct why_state){0};
    player_start(&s->player, cfg->world, REPLAY_START_ROW, cfg->qoe, cfg->first_level);
    *start_s = 0;
    if (cfg->first_level < 0) return;
    struct oracle_from f = {.emu = s->player.emu};
    oracle_pass(&f, 1, 0, &s->player.result);
    s->clock_s = f.clock_s;
    *start_s = f.clock_s + cfg->world->cfg.rtt_s;
}

static void play_session(struct why_task *t, struct algo *algos)
{
    const struct why_cfg *cfg = t->cfg;
    struct why *out = t->out;
    struct why_state s;
    double start_s;
    begin_session(&s, &start_s, cfg);
    for (int p = 0; p < cfg->n_policies; p++)
        if (p != out->oracle) algos[p].reset(algos[p].self, cfg->key);

    for (bool end = false; !end;) {
        assert(out->n < cfg->world->video->chunks);
        struct why_chunk *c = &out->chunk[out->n];
        const struct view known = s.player.view;
        t->state[out->n++] = s;
        *c = (struct why_chunk){.view = known, .start_s = start_s, .best = (double)NAN};
        c->forecast = forecast_of(&known);
        for (int k = 0; k < VIEW_LEVELS; k++)
            c->outcome[k] = (struct why_outcome){NAN, NAN, NAN, NAN, NAN};
        for (int p = 0; p < cfg->n_policies; p++) {
            if (p == out->oracle) continue;
            int level = algos[p].decide(algos[p].self, &known, cfg->world->video);
            c->choice[p] = choice_of(&algos[p], &known, level);
        }
        int wanted = c->choice[0].level;
        end = player_step(&s.player, wanted, 1.0);
        double clock_s = s.clock_s;
        pass(&s, &known, wanted);
        start_s += s.clock_s - clock_s +
                   (s.player.result.level == wanted ? 1 : 2) * cfg->world->cfg.rtt_s;
    }
    out->total = s.earned;
    out->stall_s = s.stall_s;
}

/* ---- what else could have been ---- */

/* The session with `level` at chunk i, if the policy goes on. after: the state behind chunk i. True if
 * chunk i is the last. */
static bool play_other(struct why_outcome *o, struct why_state *after, struct why_task *t,
                       struct why_worker *w, int i, int level)
{
    const struct video *video = t->cfg->world->video;
    struct algo *a = &w->algo;
    a->reset(a->self, t->cfg->key);
    for (int j = 0; j <= i; j++) /* what it remembers */
        (void)a->decide(a->self, &t->out->chunk[j].view, video);

    struct why_state s = t->state[i];
    const struct view before = s.player.view;
    bool last = player_step(&s.player, level, 1.0);
    pass(&s, &before, level);
    o->reward = s.player.last.reward;
    o->stall_s = s.player.last.stall_s;
    *after = s;
    for (bool end = last; !end;) {
        const struct view known = s.player.view;
        int wanted = a->decide(a->self, &known, video);
        end = player_step(&s.player, wanted, 1.0);
        pass(&s, &known, wanted);
    }
    o->total = s.earned;
    o->session_stall_s = s.stall_s;
    return last;
}

static int solve(struct oracle_result *out, const struct why_task *t,
                 struct why_worker *w, const struct why_state *s, int chunk,
                 struct err *e)
{
    struct oracle_from from = {s->player.emu, s->clock_s, s->player.view.last_level};
    int rc = oracle_solve_from(out, w->oracle, &from, REPLAY_START_ROW, t->cfg->qoe, e);
    if (!rc) t->gap[chunk] = fmax(t->gap[chunk], out->bound - out->value);
    return rc;
}

/* The best plan from the state, and the oracle's choice. */
static int plan_chunk(struct why_task *t, struct why_worker *w, int i, struct err *e)
{
    struct why_chunk *c = &t->out->chunk[i];
    struct oracle_result plan;
    int rc = solve(&plan, t, w, &t->state[i], i, e);
    if (rc) return rc;
    c->best = t->state[i].earned + plan.value;
    c->choice[t->out->oracle] = (struct why_choice){
        .level = plan.levels[c->view.chunk], .by = WHY_PLAN, .prob = (double)NAN};
    return 0;
}

static int explain_chunk(struct why_task *t, struct why_worker *w, int i, struct err *e)
{
    struct why *out = t->out;
    struct why_chunk *c = &out->chunk[i];
    int rc = w->oracle ? plan_chunk(t, w, i, e) : 0;
    uint32_t asked = 0;
    for (int p = 0; p < out->n_policies; p++)
        asked |= UINT32_C(1) << c->choice[p].level;
    for (int k = 0; k < c->view.levels && !rc; k++) {
        if (!(asked >> k & 1)) continue;
        struct why_outcome *o = &c->outcome[k];
        struct why_state after;
        bool last = play_other(o, &after, t, w, i, k);
        if (!w->oracle) continue;
        /* what follows the level taken is the next chunk's state: settle_best */
        if (last || k == c->choice[0].level) {
            o->best = after.earned;
            continue;
        }
        if (k == c->choice[out->oracle].level) {
            o->best = c->best;
            continue;
        }
        struct oracle_result plan;
        rc = solve(&plan, t, w, &after, i, e);
        if (!rc) o->best = after.earned + plan.value;
    }
    return rc;
}

static int why_work(void *ctx, int w, struct err *e)
{
    struct why_task *t = ctx;
    int rc = 0;
    for (int i = t->from + w; i < t->to && !rc; i += t->workers)
        rc = explain_chunk(t, &t->worker[w], i, e);
    return rc;
}

/* A plan that the search found from a later state is a plan from the earlier ones, too. */
static void settle_best(struct why *out, const double *gap)
{
    out->optimum = out->gap = (double)NAN;
    if (out->oracle < 0) return;
    out->gap = 0;
    double follows = out->total;
    for (int i = out->n - 1; i >= 0; i--) {
        struct why_chunk *c = &out->chunk[i];
        struct why_choice *plan = &c->choice[out->oracle];
        c->outcome[c->choice[0].level].best = follows;
        for (int k = 0; k < c->view.levels; k++) {
            if (!(c->outcome[k].best > c->best)) continue;
            c->best = c->outcome[k].best;
            plan->level = k;
        }
        follows = c->best;
        out->gap = fmax(out->gap, gap[i]);
    }
    out->optimum = follows;
}

static int explain(struct why_task *t, struct err *e)
{
    const struct why_cfg *cfg = t->cfg;
    int round = 2 * t->workers;
    for (t->from = 0; t->from < t->out->n; t->from = t->to) {
        t->to = t->out->n - t->from < round ? t->out->n : t->from + round;
        int rc = pool_try(t->workers, t->workers, why_work, t, e);
        if (rc) return rc;
        if (cfg->progress && cfg->progress(cfg->progress_ctx, (double)t->to / t->out->n))
            return WHY_STOPPED;
    }
    settle_best(t->out, t->gap);
    return 0;
}

static int make_why_workers(struct why_task *t, struct err *e)
{
    int rc = 0;
    for (int w = 0; w < t->workers && !rc; w++) {
        rc = algo_new(&t->worker[w].algo, t->cfg->policies[0], t->cfg->ctx, e);
        if (rc || t->out->oracle < 0) continue;
        t->worker[w].oracle = oracle_new(t->cfg->world->video, 0, e);
        if (!t->worker[w].oracle) rc = ERR_MEMORY;
    }
    return rc;
}

int why_run(struct why *out, const struct why_cfg *cfg, struct err *e)
{
    assert(cfg->n_policies >= 1 && cfg->n_policies <= WHY_POLICIES);
    *out = (struct why){.n_policies = cfg->n_policies, .oracle = -1};
    struct why_task t = {.out = out, .cfg = cfg};
    struct algo algos[WHY_POLICIES] = {0};
    size_t n = (size_t)cfg->world->video->chunks;
    t.workers = cfg->threads < 1 ? 1 : cfg->threads;
    out->chunk = calloc(n, sizeof *out->chunk);
    t.state = calloc(n, sizeof *t.state);
    t.gap = calloc(n, sizeof *t.gap);
    t.worker = calloc((size_t)t.workers, sizeof *t.worker);
    int rc = 0;
    if (!out->chunk || !t.state || !t.gap || !t.worker)
        rc = err_set(e, ERR_MEMORY, "no memory to explain %zu chunks", n);
    for (int p = 0; p < cfg->n_policies && !rc; p++) {
        if (p && !strcmp(cfg->policies[p], "oracle"))
            out->oracle = p;
        else
            rc = algo_new(&algos[p], cfg->policies[p], cfg->ctx, e);
    }
    if (!rc) play_session(&t, algos);
    if (!rc) rc = make_why_workers(&t, e);
    if (!rc) rc = explain(&t, e);

    for (int w = 0; t.worker && w < t.workers; w++) {
        algo_free(&t.worker[w].algo);
        oracle_free(t.worker[w].oracle);
    }
    for (int p = 0; p < cfg->n_policies; p++)
        algo_free(&algos[p]);
    free(t.worker);
    free(t.gap);
    free(t.state);
    if (rc) why_free(out);
    return rc;
}

void why_free(struct why *w)
{
    free(w->chunk);
    *w = (struct why){0};
}

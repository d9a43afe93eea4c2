#include "serve/learner/exam.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abr/traces/corpus.h"
#include "abr/emulator/player.h"
#include "serve/session/decide.h"

enum { TRACES_EACH = 2 };
static const double TRACE_S = 320;
static const uint64_t SEED = 20;

struct exam {
    struct decider decider;
    struct packed *packed;   /* the weights under examination, or the frozen ones */
    struct graft_pack *pack; /* of the grown profile under examination, else NULL */
    struct policy *base;     /* that it grows on */
    struct qoe qoe;          /* of that profile */
    bool added;              /* the pack decides */
    struct corpus *corpus;
    struct video *video;
};

struct exam *exam_new(const struct policy_cfg *cfg, struct err *e)
{
    struct exam *x = calloc(1, sizeof *x);
    if (!x) {
        err_set(e, ERR_MEMORY, "no memory for the exam");
        return NULL;
    }
    if (decide_init(&x->decider, cfg, e)) goto fail;
    x->packed = packed_new(cfg, e);
    if (!x->packed) goto fail;
    x->corpus = corpus_generate(NULL, TRACES_EACH, TRACE_S, SEED, e);
    x->video = video_default(e);
    if (!x->corpus || !x->video) goto fail;
    if (x->video->levels > cfg->actions) {
        err_set(e, ERR_INVALID, "the policy chooses among %d levels; the exam needs %d",
                cfg->actions, x->video->levels);
        goto fail;
    }
    return x;

fail:
    exam_free(x);
    return NULL;
}

void exam_free(struct exam *x)
{
    if (!x) return;
    policy_free(x->base);
    graft_pack_free(x->pack);
    packed_free(x->packed);
    corpus_free(x->corpus);
    video_free(x->video);
    free(x);
}

static bool verdict_on(struct verdict *v, struct exam *x, const struct view *view)
{
    float share;
    if (!x->added) return decide(v, x->packed, &x->decider, view, -1);
    return decide_added(v, &share, x->pack, x->packed, &x->decider, view, -1);
}

/* Observations that are kept, until there is no room. */
struct seen {
    float *obs;
    int n, max;
    int each; /* of so many one is kept */
    int met;
};

static void keep(struct seen *s, const struct decider *d)
{
    if (!s || s->n == s->max || s->met++ % s->each) return;
    size_t dim = (size_t)feat_dim(d->layout);
    memcpy(s->obs + dim * (size_t)s->n++, d->obs, sizeof *s->obs * dim);
}

/* Mean scaled reward per chunk of one viewer. */
static double play(struct exam *x, const struct trace *trace, const struct qoe *qoe,
                   struct seen *seen)
{
    struct emu_world world = {x->video, trace, emu_cfg_default()};
    struct player player;
    player_start(&player, &world, 1, qoe, -1);

    double scale = feat_reward_scale(&player.view), sum = 0;
    int chunks = 0;
    for (bool end = false; !end; chunks++) {
        struct verdict v;
        if (!verdict_on(&v, x, &player.view)) return NAN;
        keep(seen, &x->decider);
        end = player_step(&player, v.level, 1);
        sum += player.last.reward / scale;
    }
    return sum / chunks;
}

/* By the weights that are loaded. */
static double score_all(struct exam *x, struct seen *seen)
{
    double sum = 0;
    for (int k = 0; k < QOE_PROFILES; k++)
        for (int i = 0; i < x->corpus->n; i++)
            sum += play(x, x->corpus->traces[i], &qoe_profiles[k].qoe, seen);
    return sum / (QOE_PROFILES * x->corpus->n);
}

double exam_score(struct exam *x, const struct policy *p)
{
    packed_load(x->packed, p);
    return score_all(x, NULL);
}

struct exam *exam_new_added(const struct policy *base, const struct graft_cfg *cfg,
                            const struct qoe *qoe, struct err *e)
{
    struct exam *x = exam_new(&base->cfg, e);
    if (!x) return NULL;
    x->qoe = *qoe;
    x->base = policy_clone(base, e);
    x->pack = x->base ? graft_pack_new(cfg, e) : NULL;
    if (!x->pack) {
        exam_free(x);
        return NULL;
    }
    packed_load(x->packed, base);
    return x;
}

static double score_one(struct exam *x, struct seen *seen)
{
    double sum = 0;
    for (int i = 0; i < x->corpus->n; i++)
        sum += play(x, x->corpus->traces[i], &x->qoe, seen);
    return sum / x->corpus->n;
}

double exam_score_added(struct exam *x, const struct graft *g)
{
    assert(x->pack);
    x->added = g != NULL;
    if (g) graft_pack_load(x->pack, g, x->base);
    return score_one(x, NULL);
}

int exam_observe(struct exam *x, float *obs, int max)
{
    struct seen seen = {.obs = obs, .max = max, .each = 1};
    x->added = false;
    if (x->pack) {
        (void)score_one(x, &seen);
        return seen.n;
    }
    int chunks = QOE_PROFILES * x->corpus->n * x->video->chunks;
    seen.each = chunks > max ? (chunks + max - 1) / max : 1;
    (void)score_all(x, &seen);
    return seen.n;
}

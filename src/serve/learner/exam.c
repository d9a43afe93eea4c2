#include "serve/learner/exam.h"

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
    struct packed *packed; /* the weights under examination */
    struct qoe qoe[QOE_PROFILES];
    int profiles;
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
    for (x->profiles = 0; x->profiles < QOE_PROFILES; x->profiles++)
        x->qoe[x->profiles] = qoe_profiles[x->profiles].qoe;
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
    packed_free(x->packed);
    corpus_free(x->corpus);
    video_free(x->video);
    free(x);
}

struct exam *exam_new_profile(const struct policy_cfg *cfg, const struct qoe *qoe,
                              struct err *e)
{
    struct exam *x = exam_new(cfg, e);
    if (!x) return NULL;
    x->qoe[0] = *qoe;
    x->profiles = 1;
    return x;
}

/* Observations that are kept, until there is no room. */
struct seen {
    float *obs;
    int n, max;
    int each; /* one in this many is kept */
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
        if (!decide_cautious(&v, x->packed, &x->decider, &player.view)) return NAN;
        keep(seen, &x->decider);
        end = player_step(&player, v.level, 1);
        sum += player.last.reward / scale;
    }
    return sum / chunks;
}

/* The score of the weights that are loaded. */
static double exam_play(struct exam *x, struct seen *seen)
{
    double sum = 0;
    for (int k = 0; k < x->profiles; k++)
        for (int i = 0; i < x->corpus->n; i++)
            sum += play(x, x->corpus->traces[i], &x->qoe[k], seen);
    return sum / (x->profiles * x->corpus->n);
}

double exam_score(struct exam *x, const struct policy *p)
{
    packed_load(x->packed, p);
    return exam_play(x, NULL);
}

int exam_observe(struct exam *x, float *obs, int max)
{
    int chunks = x->profiles * x->corpus->n * x->video->chunks;
    int each = chunks > max ? (chunks + max - 1) / max : 1;
    struct seen seen = {.obs = obs, .max = max, .each = each};
    (void)exam_play(x, &seen);
    return seen.n;
}

#include "serve/exam.h"

#include <math.h>
#include <stdlib.h>

#include "abr/corpus.h"
#include "abr/player.h"
#include "serve/decide.h"

enum { TRACES_EACH = 2 };
static const double TRACE_S = 320;
static const uint64_t SEED = 20;

struct exam {
    struct decider decider;
    struct swift *swift; /* the weights under examination */
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
    x->swift = swift_new(cfg, e);
    if (!x->swift) goto fail;
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
    swift_free(x->swift);
    corpus_free(x->corpus);
    video_free(x->video);
    free(x);
}

/* Mean scaled reward per chunk of one viewer. */
static double play(struct exam *x, const struct trace *trace, const struct qoe *qoe)
{
    struct emu_world world = {x->video, trace, emu_cfg_default()};
    struct player player;
    player_start(&player, &world, 1, qoe, -1);

    double scale = feat_reward_scale(&player.view), sum = 0;
    int chunks = 0;
    for (bool end = false; !end; chunks++) {
        struct verdict v;
        if (!decide(&v, x->swift, &x->decider, &player.view, -1)) return NAN;
        end = player_step(&player, v.level, 1);
        sum += player.last.reward / scale;
    }
    return sum / chunks;
}

double exam_score(struct exam *x, const struct policy *p)
{
    swift_load(x->swift, p);
    double sum = 0;
    for (int k = 0; k < QOE_PROFILES; k++)
        for (int i = 0; i < x->corpus->n; i++)
            sum += play(x, x->corpus->traces[i], &qoe_profiles[k].qoe);
    return sum / (QOE_PROFILES * x->corpus->n);
}

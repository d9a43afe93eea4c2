#include "serve/hintless/merge_exam.h"

#include <stdlib.h>
#include <string.h>

#include "abr/traces/corpus.h"
#include "abr/manifests/video.h"

static const double LINK_S = 320;
static const uint64_t SEED =
    22; /* other links than those of the bandit's prior and of the learner's exam */

struct merge_exam {
    struct corpus *links[MERGE_EXAM_SETS]; /* NULL: that set is empty */
    struct video *video;
};

struct merge_exam *merge_exam_new(int links, const char *recorded, int actions,
                                  struct err *e)
{
    struct merge_exam *x = calloc(1, sizeof *x);
    if (!x) {
        err_set(e, ERR_MEMORY, "no memory for the exam of merges");
        return NULL;
    }
    x->video = video_default(e);
    if (!x->video) goto fail;
    if (x->video->levels > actions) {
        err_set(e, ERR_INVALID,
                "the policy chooses among %d levels; the exam of merges needs %d",
                actions, x->video->levels);
        goto fail;
    }
    if (links) {
        x->links[MERGE_EXAM_GENERATED] = corpus_generate(NULL, links, LINK_S, SEED, e);
        if (!x->links[MERGE_EXAM_GENERATED]) goto fail;
    }
    if (recorded) {
        x->links[MERGE_EXAM_TRACES] = corpus_load(recorded, CORPUS_TRAIN, e);
        if (!x->links[MERGE_EXAM_TRACES]) goto fail;
    }
    return x;

fail:
    merge_exam_free(x);
    return NULL;
}

void merge_exam_free(struct merge_exam *x)
{
    if (!x) return;
    for (int s = 0; s < MERGE_EXAM_SETS; s++)
        corpus_free(x->links[s]);
    video_free(x->video);
    free(x);
}

/* Plays one link and adds to the sums. */
static bool play_link(struct merge_score_sums *sums, struct merge_exam *x,
                      const struct trace *link, const struct packed *weights,
                      struct decider *d, const struct qoe *hint, const struct qoe *qoe,
                      int tasks)
{
    struct emu_world world = {x->video, link, emu_cfg_default()};
    struct player p;
    player_start(&p, &world, 1, hint, -1);
    for (bool end = false; !end;) {
        struct verdict v;
        bool first = p.view.last_level < 0;
        if (!decide_cautious(&v, weights, d, &p.view)) return false;
        end = player_step(&p, v.level, 1);
        if (!first) merge_score_add(sums, qoe, tasks, &p);
    }
    return true;
}

bool merge_exam_play(struct merge_exam_marks *out, struct merge_exam *x,
                     const struct packed *weights, enum feat_layout layout,
                     const struct qoe *hint, const struct qoe *qoe, int tasks)
{
    struct decider d = {.layout = layout};
    memset(out, 0, sizeof *out);
    for (int s = 0; s < MERGE_EXAM_SETS; s++) {
        struct merge_score_sums sums = {{0}, {0}};
        const struct corpus *c = x->links[s];
        int n = !c ? 0
                : s == MERGE_EXAM_TRACES && c->n > MERGE_EXAM_RECORDED
                    ? MERGE_EXAM_RECORDED
                    : c->n;
        /* a part of the links is spread over the folder */
        for (int i = 0; i < n; i++)
            if (!play_link(&sums, x, c->traces[(size_t)i * (size_t)c->n / (size_t)n],
                           weights, &d, hint, qoe, tasks))
                return false;
        for (int t = 0; t < tasks; t++)
            out->merit[s][t] = sums.room[t] > 0 ? sums.gain[t] / sums.room[t] : 0;
    }
    return true;
}

double merge_exam_loss(const struct merge_exam_marks *candidate,
                       const struct merge_exam_marks *reference, int tasks, int *task)
{
    double worst = -2;
    for (int s = 0; s < MERGE_EXAM_SETS; s++)
        for (int t = 0; t < tasks; t++) {
            double loss = reference->merit[s][t] - candidate->merit[s][t];
            if (!(loss > worst)) continue;
            worst = loss;
            if (task) *task = t;
        }
    return worst;
}

#include "abr/merge_score.h"

#include "abr/deciders/window.h"
#include "abr/traces/corpus.h"
#include "abr/manifests/video.h"
#include "base/pool.h"
#include "policy/bank.h"
#include "policy/lattice.h"
#include "policy/packed.h"

#include <assert.h>
#include <math.h>

static const double LINK_S = 320;

struct judging {
    const struct policy *experts;
    const struct merge_score_cfg *cfg;
    struct policy_cfg merged; /* configuration of a merge */
    const struct corpus *corpus;
    const struct video *video;
    float *out;
};

void merge_score_add(struct merge_score_sums *s, const struct qoe *qoe, int tasks,
                     const struct player *p)
{
    double carried = p->view.throughput_kbps[p->view.n_history - 1];
    for (int t = 0; t < tasks; t++) {
        struct qoe_range r = player_range(p, &qoe[t], carried);
        double got = player_felt(p, &qoe[t]).reward;
        s->gain[t] += got - r.low;
        s->room[t] += r.high - r.low;
    }
}

double merge_score_of(const struct merge_score_sums *s, int task)
{
    if (s->room[task] <= 0) return 0;
    return fmin(fmax(s->gain[task] / s->room[task], -1), 1);
}

static int merge_play(struct merge_score_sums *s, const struct judging *j,
                      const struct packed *policy, const struct trace *link)
{
    struct emu_world world = {j->video, link, emu_cfg_default()};
    struct player p;
    struct qoe hint = view_default().qoe;
    player_start(&p, &world, 1, &hint, 1);
    for (bool end = false; !end;) {
        float obs[FEAT_DIM_MAX];
        struct policy_choice choice;
        struct window w;
        uint32_t levels = feat_mask(&p.view);
        feat_observe(obs, j->cfg->layout, window_see(&w, &p.view, levels));
        int rc = packed_decide(&choice, policy, obs, window_mask(&w, levels), -1);
        if (rc) return rc;
        end = player_step(&p, window_level(&w, choice.action), 1);
        merge_score_add(s, j->cfg->qoe, j->cfg->tasks, &p);
    }
    return 0;
}

static int merge_judge(void *ctx, int point, struct err *e)
{
    const struct judging *j = ctx;
    float x[LATTICE_DIM_MAX];
    int tasks = j->cfg->tasks;
    struct merge_score_sums s = {{0}, {0}};
    lattice_at(x, j->experts->cfg.experts, j->cfg->steps, point);
    struct policy *p = policy_new(&j->merged, e);
    struct packed *w = p ? packed_new(&j->merged, e) : NULL;
    int rc = w ? bank_policy(p, j->experts, x) : ERR_MEMORY;
    if (!rc) packed_load(w, p);
    for (int i = 0; i < j->corpus->n && !rc; i++)
        rc = merge_play(&s, j, w, j->corpus->traces[i]);
    for (int t = 0; t < tasks && !rc; t++)
        j->out[point * tasks + t] = (float)merge_score_of(&s, t);
    packed_free(w);
    policy_free(p);
    return rc ? err_set(e, rc, "a merge is not finite") : 0; /* the first failure stays */
}

int merge_score_all(float *out, const struct policy *experts,
                    const struct merge_score_cfg *cfg, struct err *e)
{
    assert(cfg->tasks >= 1 && cfg->tasks <= MERGE_SCORE_TASKS &&
           !feat_rolled(cfg->layout));
    assert(experts->cfg.experts <= LATTICE_DIM_MAX);
    int n = lattice_points(experts->cfg.experts, cfg->steps);
    struct judging j = {.experts = experts, .cfg = cfg, .out = out};
    int rc = bank_policy_cfg(&j.merged, &experts->cfg, e);
    if (rc) return rc;
    struct corpus *links = corpus_generate(NULL, cfg->links, LINK_S, cfg->seed, e);
    struct video *video = links ? video_default(e) : NULL;
    j.corpus = links;
    j.video = video;
    if (!video)
        rc = ERR_MEMORY;
    else if (video->levels > experts->cfg.actions)
        rc = err_set(e, ERR_INVALID, "the experts choose among %d levels, not %d",
                     experts->cfg.actions, video->levels);
    if (!rc) rc = pool_try(n, cfg->threads, merge_judge, &j, e);
    video_free(video);
    corpus_free(links);
    return rc;
}

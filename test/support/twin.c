#include "support/twin.h"

#include "abr/emulator/feat.h"
#include "abr/traces/gen.h"
#include "abr/deciders/first_level.h"
#include "abr/emulator/player.h"
#include "policy/packed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void *need(void *p)
{
    if (p) return p;
    fprintf(stderr, "twin: no memory\n");
    exit(1);
}

static struct video *make_video(struct rng *r, uint64_t seed)
{
    double ladder[FEAT_LEVELS];
    int levels = 2 + (int)rng_below(r, FEAT_LEVELS - 1);
    double low = rng_range(r, 100, 500), top = low * rng_range(r, 3, 40);
    for (int k = 0; k < levels; k++)
        ladder[k] = low * pow(top / low, k / (levels - 1.));
    double chunk_s = rng_below(r, 2) ? 4 : 2;
    return need(video_generate(levels, 48, chunk_s, ladder, .3, seed, NULL));
}

static void larger(double *most, double a, double b)
{
    *most = fmax(*most, fabs(a - b));
}

static void look(struct twin *t, const struct policy *p, const struct policy_choice *got,
                 const struct policy_choice *want)
{
    t->views++;
    t->other_level += got->action != want->action;
    t->other_expert += got->expert != want->expert;
    if (got->expert != want->expert) return;
    for (int a = 0; a < POLICY_ACTIONS; a++)
        larger(&t->prob, (double)got->prob[a], (double)want->prob[a]);
    larger(&t->value, (double)(got->value / p->ret_std),
           (double)(want->value / p->ret_std));
    if (got->action == want->action)
        larger(&t->logp, (double)got->logp, (double)want->logp);
}

struct twin twin_compare(const struct policy *p, int views, uint64_t seed)
{
    struct twin t = {0};
    struct packed *s = need(packed_new(&p->cfg, NULL));
    struct policy_ws *ws = need(policy_ws_new(&p->cfg, NULL));
    packed_load(s, p);
    enum feat_layout layout = p->cfg.obs_dim == FEAT_PLAN_DIM ? FEAT_PLAN : FEAT_FULL;
    struct rng r;
    rng_init(&r, seed, 0);
    for (uint64_t i = 0; t.views < views; i++) {
        struct video *video = make_video(&r, i);
        struct trace *trace = need(gen_random_link(320, seed, i, NULL));
        struct emu_world world = {video, trace, emu_cfg_default()};
        struct player viewer;
        player_start(&viewer, &world, 1, &qoe_profiles[i % QOE_PROFILES].qoe, -1);
        for (bool end = false; !end && t.views < views;) {
            float obs[FEAT_DIM_MAX];
            struct policy_choice got, want;
            uint32_t mask = feat_mask(&viewer.view);
            feat_observe(obs, layout, &viewer.view);
            if (packed_decide(&got, s, obs, mask, -1) ||
                policy_decide(&want, p, ws, obs, mask, -1))
                t.other_level++;
            look(&t, p, &got, &want);
            int level = rng_below(&r, 8)
                            ? want.action
                            : (int)rng_below(&r, (uint32_t)viewer.view.levels);
            end = player_step(&viewer, level, 1.0);
        }
        trace_free(trace);
        video_free(video);
    }
    policy_ws_free(ws);
    packed_free(s);
    return t;
}

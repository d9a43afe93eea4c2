/* What the level of the first chunk is worth: QoE per chunk of short sessions that begin at each level
 * and go on as the shipped policy decides, with the wait for the first picture counted as a stall, as
 * the emulator does, and without, as the daemon does. abr/deciders/first_level.h was chosen by these figures, on
 * training traces: the bundled ones of that part, or all of TRACES=DIR (with VIDEO=PATH).
 * CHUNKS=15 STARTS=4 BUFFER_S=24. */
#include "abr/deciders/algo.h"
#include "abr/traces/corpus.h"
#include "abr/emulator/feat.h"

#include "abr/emulator/player.h"
#include "abr/deciders/first_level.h"
#include "policy/packed.h"
#include "learn/ckpt.h"
#include "support/bench.h"

#include <stdio.h>
#include <stdlib.h>

#define POLICY "deploy/policy/moe.safetensors"

enum { LEVELS = 6 };
static const double LADDER[LEVELS] = {300, 750, 1200, 1850, 2850, 4300}, CHUNK_S = 4;

struct sessions {
    struct corpus *corpus;
    struct video *video;
    struct algo algo;
    struct packed *policy;
    int starts;
    double buffer_s;
};

struct worth {
    double counted, not_counted;
};

static double option(const char *name, double usual)
{
    const char *text = getenv(name);
    return text ? atof(text) : usual;
}

static void play(struct worth *sum, struct sessions *s, const struct trace *t, int row,
                 const struct qoe *qoe, int first)
{
    struct emu_world w = {.trace = t, .video = s->video, .cfg = emu_cfg_default()};
    struct player p;
    w.cfg.buffer_max_s = s->buffer_s;
    player_start(&p, &w, row, qoe, -1);
    s->algo.reset(s->algo.self, 1);
    bool over = player_step(&p, first, 1);
    double wait = qoe->mu_stall * p.last.stall_s, all = p.last.reward;
    while (!over) {
        over = player_step(&p, s->algo.decide(s->algo.self, &p.view, s->video), 1);
        all += p.last.reward;
    }
    sum->counted += all / s->video->chunks;
    sum->not_counted += (all + wait) / s->video->chunks;
}

static struct worth mean(struct sessions *s, const struct qoe *qoe, int first)
{
    struct worth sum = {0};
    for (int i = 0; i < s->corpus->n; i++)
        for (int k = 0; k < s->starts; k++) {
            const struct trace *t = s->corpus->traces[i];
            play(&sum, s, t, 1 + (int)((long)(t->n - 1) * k / s->starts), qoe, first);
        }
    double n = (double)s->corpus->n * s->starts;
    return (struct worth){sum.counted / n, sum.not_counted / n};
}

/* The rule's first level, and the one that the policy would take by itself. */
static void choices(int *rule, int *own, const struct sessions *s, const struct qoe *qoe)
{
    struct emu_world w = {
        .trace = s->corpus->traces[0], .video = s->video, .cfg = emu_cfg_default()};
    struct player p;
    float obs[FEAT_FULL_DIM];
    struct policy_choice c;
    w.cfg.buffer_max_s = s->buffer_s;
    player_start(&p, &w, 1, qoe, -1);
    feat_observe(obs, FEAT_FULL, &p.view);
    if (packed_decide(&c, s->policy, obs, feat_mask(&p.view), -1))
        bench_fail("the policy gives no number");
    *own = c.action;
    *rule = first_level(&p.view);
}

static void tell(struct bench *b, struct sessions *s, const struct qoe_profile *profile)
{
    int rule, own;
    choices(&rule, &own, s, &profile->qoe);
    bench_say("%s", profile->name);
    for (int k = 0; k < s->video->levels; k++) {
        char key[64];
        struct worth w = mean(s, &profile->qoe, k);
        snprintf(key, sizeof key, "%s_%.0f", profile->name, s->video->ladder_kbps[k]);
        bench_one(b, key, w.not_counted, "QoE",
                  k == rule && k == own ? "the rule's choice, and the policy's"
                  : k == rule           ? "the rule's choice"
                  : k == own            ? "the policy's own choice"
                                        : "");
        snprintf(key, sizeof key, "%s_%.0f_wait", profile->name,
                 s->video->ladder_kbps[k]);
        bench_one(b, key, w.counted, "QoE", "with the wait for the first picture");
    }
}

int main(void)
{
    struct err e = {0};
    const char *dir = getenv("TRACES"), *path = getenv("VIDEO");
    struct video_cfg first = {.chunks = (int)option("CHUNKS", 15)};
    struct sessions s = {.starts = (int)option("STARTS", 4),
                         .buffer_s = option("BUFFER_S", 24)};
    s.corpus = corpus_load(dir ? dir : "traces", dir ? CORPUS_ALL : CORPUS_TRAIN, &e);
    if (!s.corpus) bench_fail("%s: %s", e.field, e.detail);
    s.video = path ? video_load(path, &first, &e)
                   : video_generate(LEVELS, first.chunks, CHUNK_S, LADDER,
                                    VIDEO_DEFAULT_SPREAD, 1, &e);
    if (!s.video) bench_fail("%s: %s", e.field, e.detail);
    struct algo_ctx ctx = {.policy_path = POLICY};
    struct policy *policy = ckpt_load(POLICY, NULL, NULL, NULL, &e);
    s.policy = policy ? packed_new(&policy->cfg, &e) : NULL;
    if (!s.policy || algo_new(&s.algo, "moe", &ctx, &e))
        bench_fail("%s: %s", e.field, e.detail);
    packed_load(s.policy, policy);

    struct bench *b = bench_open("start");
    bench_say("%d traces, %d starts each, %d chunks", s.corpus->n, s.starts,
              s.video->chunks);
    for (int i = 0; i < QOE_PROFILES; i++)
        tell(b, &s, &qoe_profiles[i]);
    bench_close(b);
    algo_free(&s.algo);
    packed_free(s.policy);
    policy_free(policy);
    video_free(s.video);
    corpus_free(s.corpus);
    return 0;
}

#include "lab/shift/shift.h"

#include "base/bytes.h"
#include "lab/shift/shift_claims.h"
#include "lab/shift/shift_figures.h"
#include "lab/shift/shift_plan.h"
#include "learn/ckpt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct lab_option OPTIONS[] = {
    {"preset", "NAME,...",
     "presets to run: paper, code, tuned. Here tuned is the paper's task with better "
     "settings, not the preset of abrd train",
     LAB_TEXT, .text = "paper,code,tuned", .quick_text = "paper,code"},
    {"variant", "NAME,...",
     "networks to compare: mlp, moe (dense), smoe (top-1), pamoe (with noise)", LAB_TEXT,
     .text = "mlp,moe,smoe,pamoe"},
    {"hints", "NAME",
     "whether the observation has the profile's weights: without, with or both", LAB_TEXT,
     .text = "both", .quick_text = "without"},
    {"seeds", "N", "runs of each network and preset", LAB_INT, .value = 10, .quick = 2,
     .lo = 1, .hi = 64},
    {"steps", "N", "chunks of each run, with ten shifts", LAB_INT, .value = 2e6,
     .quick = 40000, .lo = 20000, .hi = 1e9},
    {"probe-every", "N",
     "iterations of 2000 steps between two measurements of the networks", LAB_INT,
     .value = 10, .quick = 2, .lo = 1, .hi = 100000},
    {"no-sweep", NULL, "leave out the noise sweep", LAB_FLAG, .quick = 1},
    {"no-extras", NULL, "leave out the extra runs: probabilities, noisy critic", LAB_FLAG,
     .quick = 1},
    {"set", "LIST", "settings to change in every run, as in \"lr=3e-4 epochs=4\"",
     LAB_TEXT, .text = ""},
    {"traces", "DIR", "folder of traces (default: generated links)", LAB_TEXT,
     .text = ""},
    {"video", "PATH", "folder of chunk sizes, video_size_* (default: a generated video)",
     LAB_TEXT, .text = ""},
    {"policies", "DIR", "folder for the weights of each run (default: none)", LAB_TEXT,
     .text = ""},
    {0},
};

/* What all runs share; the presets differ in which traces are fast enough. */
struct ground {
    struct shift_plan plan;
    struct corpus *corpus; /* NULL: generated links */
    struct video *video;
    struct worlds *all, *fast;
};

static int make_worlds(struct worlds **out, const struct ground *g, const char *preset,
                       uint64_t seed, struct err *e)
{
    struct recipe r;
    int rc = recipe_make(&r, preset, "mlp", 2000000, seed, e);
    if (rc) return rc;
    struct worlds_cfg c = {.n_corpora = g->corpus != NULL,
                           .corpora = {g->corpus},
                           .min_mbps = r.min_mbps,
                           .links = g->corpus ? 0 : r.links,
                           .link_s = r.link_s,
                           .video = g->video,
                           .seed = seed};
    *out = worlds_new(&c, e);
    return *out ? 0 : e ? e->code : ERR_MEMORY;
}

static int make_ground(struct ground *g, const struct lab_task *t, struct err *e)
{
    const char *traces = lab_text(t, "traces"), *video = lab_text(t, "video");
    if (*traces) {
        g->corpus = corpus_load(traces, CORPUS_ALL, e);
        if (!g->corpus) return e ? e->code : ERR_ABSENT;
    }
    g->video = *video ? video_load(video, NULL, e) : video_default(e);
    if (!g->video) return e ? e->code : ERR_ABSENT;
    int rc = make_worlds(&g->all, g, "paper", t->seed, e);
    if (!rc) rc = make_worlds(&g->fast, g, "code", t->seed, e);
    if (rc) return rc;

    const uint32_t worlds[] = {worlds_crc(g->all), worlds_crc(g->fast)};
    const struct shift_request q = {.presets = lab_text(t, "preset"),
                                    .variants = lab_text(t, "variant"),
                                    .hints = lab_text(t, "hints"),
                                    .noise_sweep = !lab_flag(t, "no-sweep"),
                                    .once = !lab_flag(t, "no-extras"),
                                    .set = lab_text(t, "set"),
                                    .seeds = (int)lab_int(t, "seeds"),
                                    .steps = lab_int(t, "steps"),
                                    .probe_every = (int)lab_int(t, "probe-every"),
                                    .seed = t->seed,
                                    .worlds = bytes_crc32(0, worlds, sizeof worlds)};
    return shift_plan_make(&g->plan, &q, e);
}

static void free_ground(struct ground *g)
{
    worlds_free(g->fast);
    worlds_free(g->all);
    video_free(g->video);
    corpus_free(g->corpus);
    shift_plan_free(&g->plan);
}

static int shift_one(void *ctx, int i, struct sweep_job *job, struct err *e)
{
    const struct ground *g = ctx;
    struct shift_arm arm = shift_plan_arm(&g->plan, i);
    return shift_run(job, &arm, strcmp(arm.preset, "code") ? g->all : g->fast, e);
}

/* NAME-documentary.safetensors and so on: the weights at the end of each profile's last
 * segment. */
static int write_policies(const struct shift_plan *p, const char *dir, struct err *e)
{
    static const char *const profile[SHIFT_PROFILES] = {"documentary", "live", "news"};
    struct ckpt_meta *meta = calloc(1, sizeof *meta);
    if (!meta) return err_set(e, ERR_MEMORY, "no memory for a checkpoint");
    int rc = 0;
    for (int i = 0; !rc && i < p->runs; i++)
        for (int k = 0; !rc && k < SHIFT_PROFILES; k++) {
            const struct shift_record *r = &p->record[i];
            if (!r->policy[k]) continue;
            char path[LAB_PATH];
            snprintf(path, sizeof path, "%s/%s-%s.safetensors", dir, p->name[i],
                     profile[k]);
            struct policy *policy =
                ckpt_decode(r->policy[k], r->policy_bytes[k], meta, NULL, NULL, e);
            rc = policy ? ckpt_save(path, policy, meta, NULL, 0, e) : ERR_CORRUPT;
            policy_free(policy);
        }
    free(meta);
    return rc;
}

static int read_records(struct shift_plan *p, const struct sweep *s, struct err *e)
{
    int rc = 0;
    for (int i = 0; !rc && i < p->runs; i++) {
        size_t n;
        const void *data = sweep_result(s, i, &n);
        rc = shift_record_read(&p->record[i], data, n, e);
    }
    return rc;
}

static void shift_describe(const struct lab_task *t, const struct ground *g)
{
    struct report *r = t->report;
    report_param_int(r, "seeds", g->plan.seeds);
    report_param_int(r, "steps", lab_int(t, "steps"));
    report_param_int(r, "runs", g->plan.runs);
    report_param(r, "traces", "%s (%d; %d above 3 Mbit/s when doubled, for preset code)",
                 g->corpus ? g->corpus->name : "generated", g->all->n_traces,
                 g->fast->n_traces);
    report_param(r, "video", "%s, %d levels, %d chunks", g->video->name, g->video->levels,
                 g->video->chunks);
    if (*lab_text(t, "set")) report_param(r, "changes", "%s", lab_text(t, "set"));
}

static int shift_run_lab(struct lab_task *t, struct err *e)
{
    struct ground g = {0};
    struct sweep *s = NULL;
    int rc = make_ground(&g, t, e);
    if (!rc) rc = lab_sweep(&s, t, g.plan.run, g.plan.runs, shift_one, &g, e);
    if (!rc) rc = read_records(&g.plan, s, e);
    if (!rc) {
        shift_describe(t, &g);
        shift_claims(t->report, &g.plan);
        rc = shift_figures(t->report, &g.plan);
    }
    const char *dir = lab_text(t, "policies");
    if (!rc && *dir) rc = write_policies(&g.plan, dir, e);
    sweep_free(s);
    free_ground(&g);
    return rc;
}

const struct lab shift_lab = {
    .name = "shift",
    .about = "PA-MoE's experiment: PPO while the viewer's QoE weights change",
    .title = "Learning under shifts of the QoE: PA-MoE's experiment",
    .source =
        "He and Liu, Plasticity-Aware Mixture of Experts for Learning Under QoE Shifts "
        "in Adaptive Video Streaming, 2025",
    .options = OPTIONS,
    .run = shift_run_lab,
};

/* Speed of the oracle: the best plan of every trace of a set and the proof of how good it
 * is, one core, per profile. The set is the 142 test traces with the Envivio video beside
 * the project (../shared), or, where they are not, the bundled corpus and the default
 * video: the figures then say so and have no goal. */
#include "abr/eval.h"
#include "base/clock.h"
#include "support/bench.h"
#include "support/shared.h"

#include <math.h>
#include <stdio.h>

struct set {
    struct corpus *corpus;
    struct video *video;
    bool real;
};

static struct set load(void)
{
    struct err e = {0};
    const char *traces = shared_path("traces/pensieve-test-hsdpa-142");
    const char *video = shared_path("video/envivio-dash3");
    struct set s = {.real = traces && video};
    s.corpus = s.real ? corpus_load(traces, CORPUS_ALL, &e)
                      : corpus_load("traces", CORPUS_ALL, &e);
    s.video = s.real ? video_load(video, NULL, &e) : video_default(&e);
    if (!s.corpus || !s.video) bench_fail("%s %s", e.field, e.detail);
    return s;
}

static void one_profile(struct bench *b, const struct set *set, int profile)
{
    struct err e = {0};
    struct eval_row row;
    struct eval_cfg cfg = eval_cfg_default();
    const char *name = qoe_profiles[profile].name;
    double t = clock_cpu();
    if (eval_run(&row, "oracle", NULL, name, &qoe_profiles[profile].qoe, set->corpus,
                 set->video, &cfg, &e))
        bench_fail("%s %s", e.field, e.detail);
    t = clock_cpu() - t;

    /* the share of the mean bound that is not proven to be reached */
    double gap = 100 * row.oracle_gap / fabs(row.mean_qoe + row.oracle_gap), open = 0;
    for (int i = 0; i < row.n; i++)
        open += row.trace_bound[i] - row.trace_qoe[i] > 1e-8;
    struct bench_goal time = {0}, share = {0};
    if (set->real) {
        time = (struct bench_goal){120, 20, false};
        share = (struct bench_goal){1, .2, false};
    }
    char key[64], note[96];
    snprintf(key, sizeof key, "%s_seconds", name);
    snprintf(note, sizeof note, "%d traces, QoE %.4f per chunk", row.n, row.mean_qoe);
    bench_put(b, key, &t, 1, "s", time, note);
    snprintf(key, sizeof key, "%s_gap", name);
    snprintf(note, sizeof note, "of the bound; %g traces not proven to the end", open);
    bench_put(b, key, &gap, 1, "%", share, note);
    eval_row_free(&row);
}

int main(void)
{
    struct bench *b = bench_open("oracle");
    struct set set = load();
    bench_say("oracle, %d traces of %s%s, one core:", set.corpus->n, set.corpus->name,
              set.real ? "" : " (bundled: ../shared is not here, no goals)");
    for (int p = 0; p < QOE_PROFILES; p++)
        one_profile(b, &set, p);
    corpus_free(set.corpus);
    video_free(set.video);
    bench_close(b);
    return 0;
}

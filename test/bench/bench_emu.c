/* Speed of the emulator: chunks per second on one core, per kind of link, alone and inside a
 * player (view and QoE kept). CPU time of this thread, the best of a few repetitions. */
#include "abr/gen.h"
#include "abr/player.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

enum { TRACES = 16, REPETITIONS = 5 };

static void must(const void *p, const struct err *e)
{
    if (p) return;
    fprintf(stderr, "bench_emu: %s: %s\n", e->field, e->detail);
    exit(1);
}

/* Levels as a policy moves: near one another, all in use. */
static int level_of(int i)
{
    static const int walk[] = {0, 1, 2, 2, 3, 4, 4, 5, 4, 3, 3, 2, 1, 1};
    return walk[i % (int)(sizeof walk / sizeof *walk)];
}

static double emu_seconds(const struct emu_world *w, int chunks)
{
    struct emu m;
    struct emu_result r;
    double start = clock_thread_cpu();
    emu_start(&m, w, 1);
    for (int i = 0; i < chunks; i++)
        emu_step(&m, level_of(i), 1.0, &r);
    return clock_thread_cpu() - start;
}

static double player_seconds(const struct emu_world *w, int chunks)
{
    const struct qoe *qoe = &qoe_find("live")->qoe;
    struct player p;
    double start = clock_thread_cpu();
    for (int i = 0; i < chunks; i++) {
        if (i % w->video->chunks == 0) player_start(&p, w, 1, qoe, -1);
        player_step(&p, level_of(i), 1.0);
    }
    return clock_thread_cpu() - start;
}

static double mchunks_per_s(double (*run)(const struct emu_world *, int),
                            const char *kind)
{
    const int chunks = 48 * 400;
    struct err e = {0};
    struct video *video = video_default(&e);
    must(video, &e);
    double best = 1e9;
    for (int rep = 0; rep < REPETITIONS; rep++) {
        double s = 0.0;
        for (int i = 0; i < TRACES; i++) {
            struct trace *t = kind ? gen_trace(kind, 320, 1, (uint64_t)i, &e)
                                   : gen_random_link(320, 1, (uint64_t)i, &e);
            must(t, &e);
            struct emu_world w = {video, t, emu_cfg_default()};
            s += run(&w, chunks);
            trace_free(t);
        }
        if (s < best) best = s;
    }
    video_free(video);
    return (double)chunks * TRACES / best / 1e6;
}

int main(void)
{
    printf("emulator, million chunks per second of CPU:\n  %-12s %8s %8s\n", "kind",
           "emu", "player");
    for (int k = 0; gen_kinds[k]; k++)
        printf("  %-12s %8.2f %8.2f\n", gen_kinds[k],
               mchunks_per_s(emu_seconds, gen_kinds[k]),
               mchunks_per_s(player_seconds, gen_kinds[k]));
    printf("  %-12s %8.2f %8.2f\n", "random", mchunks_per_s(emu_seconds, NULL),
           mchunks_per_s(player_seconds, NULL));
    return 0;
}

/* Speed of the emulator: chunks per second of CPU on one core, deterministic, alone and
 * inside a player (view and QoE kept); over the test traces beside the project (../shared;
 * where they are not: the bundled corpus), per kind of generated link, per length of the
 * ladder. */
#include "abr/traces/corpus.h"
#include "abr/traces/gen.h"
#include "abr/emulator/player.h"
#include "base/clock.h"
#include "support/bench.h"
#include "support/shared.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRACES = 16, SAMPLES = 7 };

/* Levels as a policy moves: near one another, all in use. */
static int level_of(int i, int levels)
{
    static const int walk[] = {0, 1, 2, 2, 3, 4, 4, 5, 4, 3, 3, 2, 1, 1};
    return walk[i % (int)(sizeof walk / sizeof *walk)] * (levels - 1) / 5;
}

static void run_emu(const struct emu_world *w, int chunks)
{
    struct emu m;
    struct emu_result r;
    emu_start(&m, w, 1);
    for (int i = 0; i < chunks; i++)
        emu_step(&m, level_of(i, w->video->levels), 1.0, &r);
}

static void run_player(const struct emu_world *w, int chunks)
{
    const struct qoe *qoe = &qoe_find("paper-live")->qoe;
    struct player p;
    for (int i = 0; i < chunks; i++) {
        if (i % w->video->chunks == 0) player_start(&p, w, 1, qoe, -1);
        player_step(&p, level_of(i, w->video->levels), 1.0);
    }
}

struct set {
    void (*run)(const struct emu_world *w, int chunks);
    struct trace *const *traces;
    const struct video *video;
    int n, chunks; /* traces, chunks on each */
};

static void run_set(void *ctx)
{
    struct set *s = ctx;
    for (int i = 0; i < s->n; i++) {
        struct emu_world w = {s->video, s->traces[i], emu_cfg_default()};
        s->run(&w, s->chunks);
    }
}

static void put(struct bench *b, const char *key, const char *what,
                struct bench_goal goal, struct set *s, const char *note)
{
    double x[SAMPLES];
    char name[64];
    bench_time(x, SAMPLES, .01, run_set, s);
    for (int i = 0; i < SAMPLES; i++)
        x[i] = 1e-6 * s->n * s->chunks / x[i];
    snprintf(name, sizeof name, "%s%s", key, what);
    bench_put(b, name, x, SAMPLES, "Mchunks/s", goal, note);
}

static void both(struct bench *b, const char *what, struct set *s, const char *note)
{
    s->run = run_emu;
    put(b, "chunks_", what, (struct bench_goal){0}, s, note);
    s->run = run_player;
    put(b, "player_", what, (struct bench_goal){0}, s, note);
}

static void real_traces(struct bench *b)
{
    struct err e = {0};
    const char *traces = shared_path("traces/pensieve-test-hsdpa-142");
    const char *sizes = shared_path("video/envivio-dash3");
    struct corpus *c = corpus_load(traces && sizes ? traces : "traces", CORPUS_ALL, &e);
    struct video *v = traces && sizes ? video_load(sizes, NULL, &e) : video_default(&e);
    if (!c || !v) bench_fail("%s %s", e.field, e.detail);
    char note[96];
    snprintf(note, sizeof note, "%d traces of %s, whole sessions", c->n, c->name);
    bench_say("emulator, one core:");
    struct set s = {run_emu, c->traces, v, c->n, v->chunks};
    put(b, "chunks", "", (struct bench_goal){5, 15, true}, &s, note);
    s.run = run_player;
    put(b, "player", "", (struct bench_goal){0}, &s, "view and QoE kept");
    corpus_free(c);
    video_free(v);
}

static void generated(struct bench *b, const char *kind, const char *what, int levels)
{
    struct err e = {0};
    struct trace *t[TRACES];
    double ladder[VIEW_LEVELS];
    for (int k = 0; k < levels; k++)
        ladder[k] = 300 * pow(4300 / 300., k / (levels - 1.));
    struct video *v = video_generate(levels, 48, 4, ladder, .3, 1, &e);
    if (!v) bench_fail("%s %s", e.field, e.detail);
    for (int i = 0; i < TRACES; i++) {
        t[i] = kind ? gen_trace(kind, 320, 1, (uint64_t)i, &e)
                    : gen_random_link(320, 1, (uint64_t)i, &e);
        if (!t[i]) bench_fail("%s %s", e.field, e.detail);
    }
    struct set s = {run_emu, t, v, TRACES, 48 * 50};
    both(b, what, &s, "");
    for (int i = 0; i < TRACES; i++)
        trace_free(t[i]);
    video_free(v);
}

int main(void)
{
    struct bench *b = bench_open("emu");
    real_traces(b);
    bench_say("kinds of links, levels of the ladder:");
    for (int k = 0; gen_kinds[k]; k++)
        generated(b, gen_kinds[k], gen_kinds[k], 6);
    static const int levels[] = {2, 4, 6, 8, 12};
    char what[32];
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        snprintf(what, sizeof what, "levels_%d", levels[i]);
        generated(b, NULL, what, levels[i]);
    }
    bench_close(b);
    return 0;
}

/* Speed of training: runs of `abrd train`, everything included (start, worlds, rollouts,
 * updates, the checkpoint), in CPU seconds, user and system, of the whole process.
 *
 * A run of 2,000,000 steps is told from runs of BENCH_STEPS steps (default 200,000), scaled
 * by the number of steps; the start is scaled with them, so the figure is a little high.
 * BENCH_FULL=1 runs all of them.
 *
 * `CPPFLAGS=-DSIMD_AVX2 make bench BENCH_ONLY=train` measures what a processor without AVX-512 would run.
 * OPENBLAS_CORETYPE=Haswell makes the peak that of AVX2, too.
 *
 * The goals are of one core. The products of forward and backward, at the measured peak,
 * are what no program can be below. */
#include "abr/train/recipe.h"
#include "base/clock.h"
#include "nn/simd/kern.h"
#include "support/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUNS = 3, FULL = 2000000 };

static char dir[] = "/tmp/abrd-bench-XXXXXX";

struct run {
    const char *preset, *variant;
    int hidden, experts, steps;
};

/* CPU seconds of each of `together` runs at once */
static void train(double *seconds, const struct run *r, int together)
{
    char steps[16], hidden[16], experts[16], out[64];
    snprintf(steps, sizeof steps, "%d", r->steps);
    snprintf(hidden, sizeof hidden, "%d", r->hidden);
    snprintf(experts, sizeof experts, "%d", r->experts);
    snprintf(out, sizeof out, "%s/p%%d.safetensors", dir);
    const char *argv[] = {"build/abrd", "train",   "--preset",  r->preset,  "--variant",
                          r->variant,   "--steps", steps,       "--hidden", hidden,
                          "--experts",  experts,   "--threads", "1",        "--seed",
                          "%d",         "--quiet", "--out",     out,        NULL};
    bench_program(seconds, together, argv);
}

/* Operations of the products in 5 epochs' forward and backward and in the rollout, actor
 * and critic of one chosen expert and its router, per step. */
static double operations(int hidden, int experts)
{
    double in = FEAT_PAPER_DIM, h = hidden;
    double forward = 2 * (in * h + h * h + h * 6 + in * experts);
    double backward = 2 * (in * h + 2 * h * h + 2 * h * 6 + in * experts);
    return 2 * (5 * (forward + backward) + forward);
}

static void scaled(struct bench *b, const char *key, const struct run *r,
                   struct bench_goal goal, double peak)
{
    double s[RUNS];
    char note[160];
    for (int i = 0; i < RUNS; i++) {
        train(&s[i], r, 1);
        s[i] *= (double)FULL / r->steps;
    }
    double least = operations(r->hidden, r->experts) * FULL / (1e9 * peak);
    snprintf(note, sizeof note, "from runs of %d steps; its products at the peak: %.2g s",
             r->steps, least);
    bench_put(b, key, s, RUNS, "s", goal, note);
}

/* As deploy/policy/make.sh trains the first generation of the shipped policy, on generated links alone:
 * CPU per step, without the start. */
static void shipped(struct bench *b, int steps)
{
    char count[16], out[64];
    double s[2], us[RUNS];
    snprintf(out, sizeof out, "%s/p0.safetensors", dir);
    const char *argv[] = {"build/abrd",
                          "train",
                          "--preset",
                          "tuned",
                          "--variant",
                          "pamoe",
                          "--layout",
                          "plan",
                          "--profile",
                          "product",
                          "--part",
                          "all",
                          "--share-ladders",
                          ".5",
                          "--share-players",
                          ".6",
                          "--share-custom",
                          ".4",
                          "--share-points",
                          ".5",
                          "--share-live",
                          ".15",
                          "--share-lengths",
                          ".3",
                          "--share-first",
                          ".15",
                          "--ladders",
                          "256",
                          "--gamma",
                          ".97",
                          "--lambda",
                          ".9",
                          "--entropy",
                          ".02,.002",
                          "--steps",
                          count,
                          "--threads",
                          "1",
                          "--seed",
                          "1",
                          "--quiet",
                          "--out",
                          out,
                          NULL};
    for (int i = 0; i < RUNS; i++) {
        for (int k = 0; k < 2; k++) {
            snprintf(count, sizeof count, "%d", (1 + 2 * k) * steps);
            bench_program(&s[k], 1, argv);
        }
        us[i] = 1e6 * (s[1] - s[0]) / (2.0 * steps);
    }
    bench_put(b, "shipped", us, RUNS, "us/step", (struct bench_goal){0},
              "preset tuned, layout plan, 6 experts of 64, without the start");
}

/* The processor's name, as Linux gives it, and the kernels of training. */
static void say_processor(void)
{
    char line[256], name[200] = "unknown";
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "model name : %199[^\n]", name) == 1) break;
    if (f) fclose(f);
    bench_say("processor: %s; kernels: %s", name, kern_best()->name);
}

/* Do two runs on two cores cost what one costs? */
static void two_at_once(struct bench *b, const struct run *r)
{
    double one[RUNS], two[2 * RUNS];
    for (int i = 0; i < RUNS; i++) {
        train(&one[i], r, 1);
        train(&two[2 * i], r, 2);
    }
    double alone = bench_median(one, RUNS);
    for (int i = 0; i < 2 * RUNS; i++)
        two[i] /= alone;
    bench_put(b, "two_at_once", two, 2 * RUNS, "x", (struct bench_goal){1.2, 1.05, false},
              "each, of a run alone");
}

/* us of CPU per step of the training loop in this process */
static double loop(const struct run *r, const struct video *video)
{
    struct err e = {0};
    struct recipe recipe;
    if (recipe_make(&recipe, r->preset, r->variant, r->steps, 1, &e))
        bench_fail("%s", e.detail);
    struct policy_cfg *c = &recipe.policy;
    c->hidden = c->critic_hidden = r->hidden;
    c->experts = c->critic_experts = r->experts;
    recipe.train.rollout.threads = recipe.train.ppo.threads = 1;
    struct worlds_cfg wc = {.min_mbps = recipe.min_mbps,
                            .links = recipe.links,
                            .link_s = recipe.link_s,
                            .video = video,
                            .ladders = recipe.ladders,
                            .seed = 1};
    struct worlds *worlds = worlds_new(&wc, &e);
    struct policy *p = policy_new(c, &e);
    if (!worlds || !p) bench_fail("%s %s", e.field, e.detail);
    policy_init(p, 1);
    struct recipe_world world = {&recipe, worlds};
    struct train *t = train_new(&recipe.train, p, recipe_env, &world, &e);
    if (!t) bench_fail("%s %s", e.field, e.detail);
    struct train_row row;
    double start = clock_thread_cpu();
    while (!train_done(t))
        if (train_iterate(t, &row)) bench_fail("training blew up");
    double s = clock_thread_cpu() - start;
    train_free(t);
    policy_free(p);
    worlds_free(worlds);
    return 1e6 * s / r->steps;
}

static void growth(struct bench *b, int steps)
{
    static const int hidden[] = {18, 32, 64, 128, 256, 512},
                     experts[] = {1, 3, 6, 16, 64};
    char key[64], note[96];
    struct video *video = video_default(NULL);
    if (!video) bench_fail("no memory");
    bench_say("how training grows, us of CPU per step (code, pamoe):");
    for (int k = 1; k <= 8; k *= 2) {
        struct run r = {"code", "pamoe", 18, 3, steps / 4 * k};
        snprintf(key, sizeof key, "steps_%d", r.steps);
        bench_one(b, key, loop(&r, video), "us/step", "3 experts of 18");
    }
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        struct run r = {"code", "pamoe", hidden[i], 3,
                        hidden[i] > 64 ? steps / 40 : steps / 4};
        snprintf(key, sizeof key, "hidden_%d", hidden[i]);
        snprintf(note, sizeof note, "3 experts, %d steps", r.steps);
        bench_one(b, key, loop(&r, video), "us/step", note);
    }
    for (size_t i = 0; i < sizeof experts / sizeof *experts; i++) {
        struct run r = {"code", experts[i] > 1 ? "pamoe" : "mlp", 18, experts[i],
                        steps / 4};
        snprintf(key, sizeof key, "experts_%d", experts[i]);
        snprintf(note, sizeof note, "of 18, %d steps%s", r.steps,
                 experts[i] == 1 ? ", no router" : "");
        bench_one(b, key, loop(&r, video), "us/step", note);
    }
    video_free(video);
}

/* Viewers in one rollout: CPU per chunk of the tuned recipe's environments and networks. */
static void viewers(struct bench *b)
{
    static const int envs[] = {1, 4, 16, 64, 256, 1024};
    struct err e = {0};
    struct recipe recipe;
    if (recipe_make(&recipe, "tuned", "pamoe", 1000000, 1, &e))
        bench_fail("%s", e.detail);
    struct video *video = video_default(&e);
    struct worlds_cfg wc = {.links = recipe.links < 64 ? recipe.links : 64,
                            .link_s = recipe.link_s,
                            .video = video,
                            .ladders = recipe.ladders,
                            .seed = 1};
    struct worlds *worlds = video ? worlds_new(&wc, &e) : NULL;
    struct policy *p = policy_new(&recipe.policy, &e);
    if (!worlds || !p) bench_fail("%s", e.detail);
    policy_init(p, 1);
    struct recipe_world world = {&recipe, worlds};
    bench_say("viewers in one rollout, us of CPU per chunk (tuned, 3 experts of %d):",
              recipe.policy.hidden);
    for (size_t i = 0; i < sizeof envs / sizeof *envs; i++) {
        struct rollout_cfg rc = recipe.train.rollout;
        rc.envs = envs[i];
        rc.block = rc.block < envs[i] ? rc.block : envs[i];
        rc.threads = 1;
        rc.steps = 8192 / envs[i];
        struct rollout *r = rollout_new(&rc, p, NULL, recipe_env, &world, &e);
        if (!r) bench_fail("%s", e.detail);
        double s[5];
        char key[32];
        for (int k = 0; k < 5; k++) {
            struct rollout_stats stats;
            double t = clock_thread_cpu();
            rollout_collect(r, .98, .95, &stats);
            s[k] = 1e6 * (clock_thread_cpu() - t) / (rc.envs * rc.steps);
        }
        snprintf(key, sizeof key, "viewers_%d", envs[i]);
        bench_put(b, key, s, 5, "us/chunk", (struct bench_goal){0}, "");
        rollout_free(r);
    }
    policy_free(p);
    worlds_free(worlds);
    video_free(video);
}

int main(void)
{
    const char *said = getenv("BENCH_STEPS"), *full = getenv("BENCH_FULL");
    int steps = said ? atoi(said) : 200000;
    if (steps < 4000) bench_fail("BENCH_STEPS must be at least 4000");
    if (!mkdtemp(dir)) bench_fail("no folder in /tmp");
    struct bench *b = bench_open("train");
    double peak = bench_peak_gflops();
    bool all = full && *full == '1';
    say_processor();
    bench_say("training, 2,000,000 steps of pamoe as the authors' code has it, one core "
              "(peak %.0f GFLOP/s):",
              peak);
    bench_one(b, "peak", peak, "GFLOP/s", "one large matrix product, one core");
    struct run small = {"code", "pamoe", 18, 3, all ? FULL : steps};
    struct run large = {"code", "pamoe", 128, 3, all ? FULL : steps / 4};
    scaled(b, "code_pamoe_18", &small, (struct bench_goal){8, 3, false}, peak);
    scaled(b, "code_pamoe_128", &large, (struct bench_goal){60, 30, false}, peak);
    shipped(b, steps / 4);
    small.steps = steps;
    two_at_once(b, &small);
    growth(b, steps);
    viewers(b);
    bench_close(b);

    char path[64];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/p%d.safetensors", dir, i);
        unlink(path);
    }
    rmdir(dir);
    return 0;
}

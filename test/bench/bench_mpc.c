/* Speed of RobustMPC's search, and that it is a search for the right thing: on 100,000
 * states (6 levels, horizon 5) its choice and value equal trying all 6^5 plans.
 * BENCH_STATES changes their number. */
#include "base/clock.h"
#include "support/bench.h"
#include "support/mpc_brute.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 1000, PARTS = 20, WORST = 25 };

struct set {
    struct mpc_task task[BATCH];
    long level_sum; /* so that nothing is left out */
};

static void make_set(struct set *s, int levels, int horizon, uint64_t seed)
{
    struct rng r;
    rng_init(&r, seed, (uint64_t)levels);
    for (int i = 0; i < BATCH; i++)
        s->task[i] = mpc_brute_task(&r, levels, horizon);
}

static void plan_all(void *ctx)
{
    struct set *s = ctx;
    for (int i = 0; i < BATCH; i++)
        s->level_sum += mpc_plan(&s->task[i]).level;
}

static void brute_all(void *ctx)
{
    struct set *s = ctx;
    for (int i = 0; i < BATCH / 10; i++)
        s->level_sum += mpc_brute(&s->task[i]).level;
}

/* mean us of a plan over a batch of states, PARTS batches */
static double mean_us(struct bench *b, const char *key, struct bench_goal goal,
                      int levels, int horizon, const char *note)
{
    static struct set set;
    double us[PARTS];
    for (int i = 0; i < PARTS; i++) {
        make_set(&set, levels, horizon, 100 + (uint64_t)i);
        bench_time(&us[i], 1, .005, plan_all, &set);
        us[i] *= 1e6 / BATCH;
    }
    bench_put(b, key, us, PARTS, "us", goal, note);
    return bench_median(us, PARTS);
}

static void plan_one(void *ctx)
{
    struct mpc_task *t = ctx;
    if (mpc_plan(t).level < 0) bench_fail("no level");
}

/* The states with the most nodes, each timed alone. */
static void worst_us(struct bench *b, const char *key, struct bench_goal goal, int levels,
                     int states)
{
    static struct mpc_task worst[WORST];
    long nodes[WORST] = {0};
    double us[WORST];
    struct rng r;
    rng_init(&r, 9, 9);
    for (int i = 0; i < states; i++) {
        struct mpc_task t = mpc_brute_task(&r, levels, 5);
        long n = mpc_plan(&t).nodes;
        int least = 0;
        for (int k = 1; k < WORST; k++)
            if (nodes[k] < nodes[least]) least = k;
        if (n <= nodes[least]) continue;
        nodes[least] = n;
        worst[least] = t;
    }
    for (int k = 0; k < WORST; k++) {
        bench_time(&us[k], 1, .002, plan_one, &worst[k]);
        us[k] *= 1e6;
    }
    char note[96];
    snprintf(note, sizeof note, "the %d hardest of %d states; max is the worst", WORST,
             states);
    bench_put(b, key, us, WORST, "us", goal, note);
}

static void verify(struct bench *b, int states)
{
    struct rng r;
    rng_init(&r, 77, 0);
    int different = 0;
    for (int i = 0; i < states; i++) {
        struct mpc_task t = mpc_brute_task(&r, 6, 5);
        struct mpc_brute want = mpc_brute(&t);
        struct mpc_answer got = mpc_plan(&t);
        different += got.level != want.level || got.value != want.value;
    }
    char note[96];
    snprintf(note, sizeof note, "of %d states, level or value of the plan", states);
    bench_one(b, "differs_from_brute_force", different, "states", note);
    if (different) bench_fail("the search is not exact");
}

int main(void)
{
    const char *said = getenv("BENCH_STATES");
    int states = said ? atoi(said) : 100000;
    struct bench *b = bench_open("mpc");
    bench_say("RobustMPC, horizon 5:");
    double fast = mean_us(b, "plan_6", (struct bench_goal){60, 10, false}, 6, 5,
                          "6 levels, mean of 1000 states");
    worst_us(b, "plan_6_worst", (struct bench_goal){60, 10, false}, 6, states);
    worst_us(b, "plan_32_worst", (struct bench_goal){2000, 0, false}, 32, states / 5);

    static struct set set;
    double s[3];
    make_set(&set, 6, 5, 1);
    bench_time(s, 3, .01, brute_all, &set);
    for (int i = 0; i < 3; i++)
        s[i] *= 1e6 / (BATCH / 10);
    bench_put(b, "brute_6", s, 3, "us", (struct bench_goal){0}, "all 7776 plans");
    bench_one(b, "speedup_6", bench_median(s, 3) / fast, "x", "of brute force");
    verify(b, states);

    bench_say("how a plan grows:");
    static const int levels[] = {2, 3, 4, 6, 8, 10, 12, 20, 32};
    char key[32];
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        snprintf(key, sizeof key, "levels_%d", levels[i]);
        mean_us(b, key, (struct bench_goal){0}, levels[i], 5, "");
    }
    for (int h = 1; h <= 5; h++) {
        snprintf(key, sizeof key, "horizon_%d", h);
        mean_us(b, key, (struct bench_goal){0}, 6, h, "6 levels");
    }
    bench_close(b);
    return 0;
}

/* Speed of merging: choosing the weights, and a decision of the merged expert.
 *
 * Steps to 20 leaves is how many slots it takes until the tree offers so many candidates when
 * every choice is the bandit's and all rewards are equal; the paper's Fig. 6 has both over K. */
#include "policy/bank.h"
#include "policy/packed.h"
#include "policy/tanbr.h"
#include "support/bench.h"

#include <stdio.h>
#include <stdlib.h>

enum { TASKS = 4, LEAVES = 20, SAMPLES = 25 };

struct choosing {
    struct tanbr *t;
    float *x;
    float psi[TASKS];
};

static void run_choose(void *ctx)
{
    struct choosing *c = ctx;
    tanbr_choose(c->t, c->x, NULL, c->psi);
}

/* Slots until there are that many leaves. */
static int grow(struct choosing *c)
{
    const float reward[TASKS] = {.5f, .5f, .5f, .5f};
    int steps = 0;
    for (; tanbr_stats(c->t).tree.leaves < LEAVES; steps++) {
        int node = tanbr_choose(c->t, c->x, NULL, c->psi);
        if (tanbr_learn(c->t, node, c->psi, reward, NULL)) bench_fail("not a number");
    }
    return steps;
}

static void choose_at(struct bench *b, int experts)
{
    struct tanbr_cfg cfg = tanbr_cfg_default(experts, TASKS);
    if (cfg.keep > 8) cfg.keep = 8; /* the paper's B */
    struct choosing c = {.t = tanbr_new(&cfg, 1, NULL),
                         .x = calloc((size_t)experts, sizeof(float)),
                         .psi = {.4f, .3f, .2f, .1f}};
    if (!c.t || !c.x) bench_fail("no memory");

    char key[64], note[64];
    int steps = grow(&c);
    snprintf(key, sizeof key, "steps_%d", experts);
    bench_one(b, key, steps, "slots", "to 20 leaves");

    double s[SAMPLES];
    bench_time(s, SAMPLES, .002, run_choose, &c);
    for (int i = 0; i < SAMPLES; i++)
        s[i] *= 1e6;
    snprintf(key, sizeof key, "choose_%d", experts);
    snprintf(note, sizeof note, "%d leaves of %d experts", LEAVES, experts);
    struct bench_goal goal = {.floor = 200, .aim = 100};
    bench_put(b, key, s, SAMPLES, "us", experts == 192 ? goal : (struct bench_goal){0},
              note);
    tanbr_free(c.t);
    free(c.x);
}

/* ---- a decision: routed among K experts, or of their merger ---- */

struct deciding {
    struct packed *packed;
    float obs[128];
};

static void run_decide(void *ctx)
{
    struct deciding *d = ctx;
    struct policy_choice c;
    if (packed_decide(&c, d->packed, d->obs, 0x3f, -1)) bench_fail("not a number");
}

static struct policy *random_policy(int experts, enum mix_route route)
{
    struct policy_cfg cfg = policy_cfg_default(128);
    cfg.experts = cfg.critic_experts = experts;
    cfg.route = cfg.critic_route = route;
    struct policy *p = policy_new(&cfg, NULL);
    if (!p) bench_fail("no memory");
    policy_init(p, 3);
    return p;
}

static double decide(struct bench *b, const char *key, const struct policy *p,
                     const char *note)
{
    struct deciding d = {.packed = packed_new(&p->cfg, NULL)};
    if (!d.packed) bench_fail("no memory");
    packed_load(d.packed, p);
    struct rng r;
    rng_init(&r, 4, 0);
    for (int i = 0; i < 128; i++)
        d.obs[i] = i % 2 ? (float)rng_normal(&r) : 0.0f;
    double s[SAMPLES];
    bench_time(s, SAMPLES, .002, run_decide, &d);
    for (int i = 0; i < SAMPLES; i++)
        s[i] *= 1e6;
    bench_put(b, key, s, SAMPLES, "us", (struct bench_goal){0}, note);
    packed_free(d.packed);
    return bench_median(s, SAMPLES);
}

static void decisions(struct bench *b)
{
    struct policy *routed = random_policy(4, MIX_TOP1);
    struct policy *merged = random_policy(1, MIX_SINGLE);
    const float x[4] = {.25f, .25f, .25f, .25f};
    if (bank_merge(merged->actor->theta, routed->actor, x) ||
        bank_merge(merged->critic->theta, routed->critic, x))
        bench_fail("not a number");
    double from = decide(b, "routed", routed, "4 experts of 64, top-1");
    double to = decide(b, "merged", merged, "one of them in memory");
    bench_put(b, "merged_over_routed", (double[]){to / from}, 1, "x",
              (struct bench_goal){.floor = 1, .aim = .9}, "");
    bench_one(b, "routed_kB", (double)(routed->actor->n + routed->critic->n) * 4e-3, "kB",
              "weights");
    bench_one(b, "merged_kB", (double)(merged->actor->n + merged->critic->n) * 4e-3, "kB",
              "weights");
    policy_free(routed);
    policy_free(merged);
}

int main(void)
{
    static const int experts[] = {4, 8, 16, 32, 64, 128, 192};
    struct bench *b = bench_open("merge");
    bench_say("choosing among %d candidates, width 64, depth 2, %d tasks:", LEAVES,
              TASKS);
    for (size_t i = 0; i < sizeof experts / sizeof *experts; i++)
        choose_at(b, experts[i]);
    bench_say("one decision:");
    decisions(b);
    bench_close(b);
    return 0;
}

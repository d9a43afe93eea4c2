/* What added experts cost: a decision with them and one of the mixture alone, and one update of
 * them. The shipped shape: 3 experts of 64, two layers, top-1. */
#include "base/clock.h"
#include "learn/online.h"
#include "policy/packed.h"
#include "support/bench.h"

#include <stdio.h>
#include <stdlib.h>

enum { OBS = 128, LEVELS = 6, STATES = 256, SAMPLES = 9, STEPS = 48, BATCH = 1024 };
static const double MIN_S = .01;

struct one {
    struct policy *policy; /* with added experts */
    struct packed *packed, *alone;
    struct policy_choice choice;
    float obs[STATES][OBS];
    unsigned turn;
};

static void observe(float *x, int n, struct rng *r)
{
    for (int i = 0; i < n; i++)
        x[i] = rng_below(r, 2) ? (float)rng_normal(r) : 0.0f;
}

static struct one *one_new(int experts)
{
    struct err e = {0};
    struct one *o = calloc(1, sizeof *o);
    struct policy_cfg c = policy_cfg_default(OBS);
    c.hidden = c.critic_hidden = 64;
    struct policy_added_cfg added = {experts, NORGA_TANH};
    if (!o) bench_fail("no memory");
    o->policy = policy_new(&c, &e);
    o->alone = packed_new(&c, &e);
    if (!o->policy || !o->alone) bench_fail("%s", e.detail);
    policy_init(o->policy, 1);
    struct rng r;
    rng_init(&r, 2, 0);
    struct mix *nets[] = {o->policy->actor, o->policy->critic};
    for (int n = 0; n < 2; n++)
        for (size_t i = 0; i < mix_router(&nets[n]->cfg).n; i++)
            nets[n]->theta[i] = 0.3f * (float)rng_normal(&r);
    for (int i = 0; i < STATES; i++)
        observe(o->obs[i], OBS, &r);
    packed_load(o->alone, o->policy);
    if (policy_add(o->policy, &added, o->obs[0], STATES, 1, &e))
        bench_fail("%s", e.detail);
    o->packed = packed_new(&o->policy->cfg, &e);
    if (!o->packed) bench_fail("%s", e.detail);
    packed_load(o->packed, o->policy);
    return o;
}

static void one_free(struct one *o)
{
    packed_free(o->alone);
    packed_free(o->packed);
    policy_free(o->policy);
    free(o);
}

static void run_routed(void *ctx)
{
    struct one *o = ctx;
    const float *x = o->obs[++o->turn * 37 % STATES];
    if (packed_decide(&o->choice, o->alone, x, (1u << LEVELS) - 1, -1))
        bench_fail("not finite");
}

static void run_added(void *ctx)
{
    struct one *o = ctx;
    const float *x = o->obs[++o->turn * 37 % STATES];
    if (packed_decide(&o->choice, o->packed, x, (1u << LEVELS) - 1, -1))
        bench_fail("not finite");
}

static double put(struct bench *b, const char *key, void (*fn)(void *), struct one *o,
                  const char *note)
{
    double s[SAMPLES];
    bench_time(s, SAMPLES, MIN_S, fn, o);
    for (int i = 0; i < SAMPLES; i++)
        s[i] *= 1e6;
    bench_put(b, key, s, SAMPLES, "us", (struct bench_goal){0}, note);
    return bench_median(s, SAMPLES);
}

static void decisions(struct bench *b)
{
    static const int experts[] = {1, 2, 4, 8};
    bench_say("one decision, observation to choice, 3 experts of 64, top-1:");
    for (size_t i = 0; i < sizeof experts / sizeof *experts; i++) {
        struct one *o = one_new(experts[i]);
        char key[32], note[64];
        if (i == 0) put(b, "routed", run_routed, o, "the common policy");
        snprintf(key, sizeof key, "new_%d", experts[i]);
        snprintf(note, sizeof note, "new experts: %d; packed: %.0f kB", experts[i],
                 1e-3 * (double)(packed_bytes(o->packed) - packed_bytes(o->alone)));
        put(b, key, run_added, o, note);
        one_free(o);
    }
}

/* An update of 1024 steps; the trajectories are made up, what they cost is not. */
static void update(struct bench *b)
{
    struct one *o = one_new(2);
    struct online_cfg cfg = online_cfg_default();
    cfg.batch = BATCH;
    cfg.capacity = BATCH + STEPS;
    cfg.ppo.target_kl = 0;
    struct err e = {0};
    struct online *g = online_new(&cfg, o->policy, NULL, NULL, &e);
    if (!g) bench_fail("%s", e.detail);
    struct rng r;
    rng_init(&r, 3, 0);
    static float obs[STEPS * OBS], logp[STEPS], reward[STEPS];
    static uint32_t mask[STEPS];
    static int action[STEPS];
    double s[5];
    for (int k = 0; k < 5; k++) {
        while (!online_ready(g)) {
            for (int i = 0; i < STEPS; i++) {
                observe(obs + i * OBS, OBS, &r);
                mask[i] = (1u << LEVELS) - 1;
                action[i] = (int)rng_below(&r, LEVELS);
                logp[i] = -1.79f;
                reward[i] = (float)rng_normal(&r);
            }
            struct online_trajectory t = {.n = STEPS,
                                          .obs = obs,
                                          .mask = mask,
                                          .action = action,
                                          .logp = logp,
                                          .reward = reward,
                                          .version = policy_version(online_policy(g))};
            if (online_add(g, &t)) bench_fail("a trajectory was refused");
        }
        double began = clock_cpu();
        if (online_update(g) != 1) bench_fail("an update was rolled back");
        s[k] = 1e3 * (clock_cpu() - began);
    }
    bench_say("one update, 2 new experts, 1024 steps:");
    bench_put(b, "update", s, 5, "ms", (struct bench_goal){0},
              "all epochs, actor and critic");
    online_free(g);
    one_free(o);
}

int main(void)
{
    struct bench *b = bench_open("grown");
    decisions(b);
    update(b);
    bench_close(b);
    return 0;
}

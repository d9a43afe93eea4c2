/* Speed of one decision: the observation from a session's view, router and chosen expert
 * of the actor, the same of the critic, softmax, choice. 256 views of viewers on a random
 * link, so that neither the caches nor the branch predictor know the answer.
 *
 * decide.* are told beside the plain twin (policy_decide through BLAS) and in GFLOP/s of
 * the products that a dense evaluation would need. */
#include "abr/gen.h"
#include "abr/player.h"
#include "base/clock.h"
#include "moe/swift.h"
#include "serve/decide.h"
#include "support/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { VIEWS = 256, SAMPLES = 9 };
static const double MIN_S = .01;

struct one {
    struct view view[VIEWS];
    float obs[VIEWS][FEAT_FULL_DIM];
    struct policy *policy;
    struct policy_ws *ws;
    struct swift *swift;
    struct decider decider;
    struct verdict verdict;
    struct policy_choice choice;
    unsigned turn;
};

static const struct view *next(struct one *o)
{
    return &o->view[++o->turn * 37 % VIEWS];
}

static void run_decide(void *ctx)
{
    struct one *o = ctx;
    if (!decide(&o->verdict, o->swift, &o->decider, next(o), -1))
        bench_fail("not finite");
}

static void run_sampled(void *ctx)
{
    struct one *o = ctx;
    if (!decide(&o->verdict, o->swift, &o->decider, next(o), .7))
        bench_fail("not finite");
}

static void run_observe(void *ctx)
{
    struct one *o = ctx;
    feat_observe(o->decider.obs, FEAT_FULL, next(o));
}

static void run_swift(void *ctx)
{
    struct one *o = ctx;
    const struct view *v = next(o);
    if (swift_decide(&o->choice, o->swift, o->obs[v - o->view], feat_mask(v), -1))
        bench_fail("not finite");
}

static void run_plain(void *ctx)
{
    struct one *o = ctx;
    const struct view *v = next(o);
    if (policy_decide(&o->choice, o->policy, o->ws, o->obs[v - o->view], feat_mask(v),
                      -1))
        bench_fail("not finite");
}

/* A viewer on a ladder of `levels`, who walks up and down. */
static void make_views(struct one *o, int levels, enum qoe_utility utility)
{
    struct err e = {0};
    double ladder[VIEW_LEVELS];
    for (int k = 0; k < levels; k++)
        ladder[k] = 300 * pow(4300 / 300., k / (levels - 1.));
    struct video *video = video_generate(levels, 48, 4, ladder, .3, 1, &e);
    struct trace *trace = gen_random_link(320, 1, 3, &e);
    if (!video || !trace) bench_fail("%s", e.detail);
    struct emu_world w = {video, trace, emu_cfg_default()};
    struct qoe qoe = qoe_find("live")->qoe;
    qoe.utility = utility;
    struct player p;
    for (int i = 0; i < VIEWS; i++) {
        if (i % 40 == 0) player_start(&p, &w, 1 + i, &qoe, -1);
        o->view[i] = p.view;
        feat_observe(o->obs[i], FEAT_FULL, &p.view);
        player_step(&p, i * 7 % levels, 1.0);
    }
    trace_free(trace);
    video_free(video);
}

static struct one *one_new(int hidden, int experts)
{
    struct err e = {0};
    struct one *o = calloc(1, sizeof *o);
    struct policy_cfg c = policy_cfg_default(FEAT_FULL_DIM);
    c.hidden = c.critic_hidden = hidden;
    c.experts = c.critic_experts = experts;
    if (experts == 1) c.route = c.critic_route = MIX_SINGLE;
    if (!o) bench_fail("no memory");
    o->policy = policy_new(&c, &e);
    o->ws = policy_ws_new(&c, &e);
    o->swift = swift_new(&c, &e);
    if (!o->policy || !o->ws || !o->swift || decide_init(&o->decider, &c, &e))
        bench_fail("%s", e.detail);
    policy_init(o->policy, 1);
    /* routers that send views to every expert */
    struct rng r;
    rng_init(&r, 2, 0);
    struct mix *nets[] = {o->policy->actor, o->policy->critic};
    for (int n = 0; n < 2; n++)
        for (size_t i = 0; i < mix_router(&nets[n]->cfg).n; i++)
            nets[n]->theta[i] = 0.3f * (float)rng_normal(&r);
    swift_load(o->swift, o->policy);
    make_views(o, 6, QOE_LINEAR);
    return o;
}

static void one_free(struct one *o)
{
    policy_free(o->policy);
    policy_ws_free(o->ws);
    swift_free(o->swift);
    free(o);
}

/* us per call; the median */
static double put(struct bench *b, const char *key, struct bench_goal goal,
                  void (*fn)(void *), struct one *o, const char *note)
{
    double s[SAMPLES];
    bench_time(s, SAMPLES, MIN_S, fn, o);
    for (int i = 0; i < SAMPLES; i++)
        s[i] *= 1e6;
    bench_put(b, key, s, SAMPLES, "us", goal, note);
    return bench_median(s, SAMPLES);
}

/* operations of router, two layers and head, actor and critic, nothing left out */
static double operations(const struct policy_cfg *c)
{
    double in = c->obs_dim, h = c->hidden;
    return 2 * (2 * (in * h + h * h) + (in * 2 * c->experts) + h * (c->actions + 1));
}

static void the_decision(struct bench *b, double peak)
{
    const struct bench_goal none = {0};
    struct one *o = one_new(128, 3);
    char note[128];
    bench_say("one decision, 3 experts of 128, top-1, 6 levels (%s; peak %.0f GFLOP/s):",
              swift_isa(o->swift), peak);
    double all = put(b, "top1_128", (struct bench_goal){1.5, .5, false}, run_decide, o,
                     "view to verdict, greedy");
    put(b, "top1_128_sampled", none, run_sampled, o, "");
    put(b, "observe", none, run_observe, o, "view to observation");
    double fast = put(b, "forward_128", none, run_swift, o, "observation to choice");
    double plain = put(b, "plain_128", none, run_plain, o, "policy_decide, through BLAS");
    double rate = 1e-3 * operations(&o->policy->cfg) / fast;
    bench_one(b, "speedup_128", plain / fast, "x", "of the plain twin");
    snprintf(note, sizeof note, "as if dense; %.0f %% of the peak", 100 * rate / peak);
    bench_one(b, "rate_128", rate, "GFLOP/s", note);
    bench_one(b, "per_second", 1e6 / all, "1/s", "decisions of one core");
    one_free(o);
}

static void growth(struct bench *b)
{
    const struct bench_goal none = {0};
    static const int hidden[] = {18, 32, 64, 128, 256, 512},
                     experts[] = {1, 3, 6, 16, 64}, levels[] = {2, 4, 6, 8, 12};
    char key[64];
    bench_say("how a decision grows:");
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        struct one *o = one_new(hidden[i], 3);
        snprintf(key, sizeof key, "hidden_%d", hidden[i]);
        put(b, key, none, run_decide, o, "3 experts");
        one_free(o);
    }
    for (size_t i = 0; i < sizeof experts / sizeof *experts; i++) {
        struct one *o = one_new(128, experts[i]);
        snprintf(key, sizeof key, "experts_%d", experts[i]);
        put(b, key, none, run_decide, o, "of 128");
        one_free(o);
    }
    struct one *o = one_new(128, 3);
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        make_views(o, levels[i], QOE_LINEAR);
        snprintf(key, sizeof key, "levels_%d", levels[i]);
        put(b, key, none, run_decide, o, "3 experts of 128");
    }
    make_views(o, 12, QOE_LOG);
    put(b, "levels_12_log", none, run_decide, o, "logarithmic utility");
    one_free(o);
}

int main(void)
{
    struct bench *b = bench_open("decide");
    double peak = bench_peak_gflops();
    the_decision(b, peak);
    growth(b);
    bench_close(b);
    return 0;
}

/* Speed of one decision: the observation from a session's view, router and chosen expert
 * of the actor, the same of the critic, softmax, choice. 256 views of viewers on a random
 * link, so that neither the caches nor the branch predictor know the answer.
 *
 * decide.* are told beside the plain twin (policy_decide through BLAS), in GFLOP/s of
 * the products that a dense evaluation would need, and beside the time that reading the
 * weights takes at the speed of the second-level cache, in which they lie. decide.agree_*
 * compare the shipped policy's decisions with the plain twin's. */
#include "abr/traces/gen.h"
#include "abr/deciders/first_level.h"
#include "abr/deciders/window.h"
#include "abr/emulator/player.h"
#include "base/clock.h"
#include "policy/packed.h"
#include "nn/mlp.h"
#include "nn/simd/vecmat.h"
#include "learn/ckpt.h"
#include "serve/session/decide.h"
#include "support/bench.h"
#include "support/twin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { VIEWS = 256, SAMPLES = 9 };
static const double MIN_S = .01;

struct one {
    struct view view[VIEWS];
    float obs[VIEWS][FEAT_PLAN_DIM];
    struct policy *policy;
    struct policy_ws *ws;
    struct packed *packed;
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
    if (!decide(&o->verdict, o->packed, &o->decider, next(o), -1))
        bench_fail("not finite");
}

static void run_sampled(void *ctx)
{
    struct one *o = ctx;
    if (!decide(&o->verdict, o->packed, &o->decider, next(o), .7))
        bench_fail("not finite");
}

static void run_observe(void *ctx)
{
    struct one *o = ctx;
    feat_observe(o->decider.obs, FEAT_PLAN, next(o));
}

static void run_packed(void *ctx)
{
    struct one *o = ctx;
    const struct view *v = next(o);
    if (packed_decide(&o->choice, o->packed, o->obs[v - o->view], feat_mask(v), -1))
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
    struct qoe qoe =
        utility == QOE_POINTS ? *qoe_standard() : qoe_find("paper-live")->qoe;
    qoe.utility = utility;
    struct player p;
    for (int i = 0; i < VIEWS; i++) {
        if (i % 40 == 0) player_start(&p, &w, 1 + i, &qoe, -1);
        o->view[i] = p.view;
        window_observe(o->obs[i], FEAT_PLAN, &p.view);
        player_step(&p, i * 7 % levels, 1.0);
    }
    trace_free(trace);
    video_free(video);
}

static struct one *one_new(int hidden, int experts)
{
    struct err e = {0};
    struct one *o = calloc(1, sizeof *o);
    struct policy_cfg c = policy_cfg_default(FEAT_PLAN_DIM);
    c.hidden = c.critic_hidden = hidden;
    c.experts = c.critic_experts = experts;
    if (experts == 1) c.route = c.critic_route = MIX_SINGLE;
    if (!o) bench_fail("no memory");
    o->policy = policy_new(&c, &e);
    o->ws = policy_ws_new(&c, &e);
    o->packed = packed_new(&c, &e);
    if (!o->policy || !o->ws || !o->packed || decide_init(&o->decider, &c, &e))
        bench_fail("%s", e.detail);
    policy_init(o->policy, 1);
    /* routers that send views to every expert */
    struct rng r;
    rng_init(&r, 2, 0);
    struct mix *nets[] = {o->policy->actor, o->policy->critic};
    for (int n = 0; n < 2; n++)
        for (size_t i = 0; i < mix_router(&nets[n]->cfg).n; i++)
            nets[n]->theta[i] = 0.3f * (float)rng_normal(&r);
    packed_load(o->packed, o->policy);
    make_views(o, 6, QOE_POINTS);
    return o;
}

static void one_free(struct one *o)
{
    policy_free(o->policy);
    policy_ws_free(o->ws);
    packed_free(o->packed);
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

/* entries of x that are not 0 */
static int count(const float *x, int n)
{
    int found = 0;
    for (int i = 0; i < n; i++)
        found += x[i] != 0.0f;
    return found;
}

/* Bytes of weights, steps and biases that one expert's decision reads: as packed packs them */
static double expert_bytes(const struct mix *m, int expert, const float *obs)
{
    const struct mix_cfg *c = &m->cfg;
    struct mlp_cfg mlp = {c->in, c->hidden, c->layers, c->out};
    float block[MIX_LAYERS_MAX][MIX_HIDDEN_MAX], *h[MIX_LAYERS_MAX], y[POLICY_ACTIONS];
    for (int l = 0; l < c->layers; l++)
        h[l] = block[l];
    mlp_forward(y, h, &mlp, m->theta + mix_expert(c, expert).at, obs, 1);
    double bytes = 4. * vecmat_pad(c->out) * (count(h[c->layers - 1], c->hidden) + 1);
    for (int l = 0; l < c->layers; l++) {
        int active = l ? count(h[l - 1], c->hidden) : count(obs, c->in);
        bytes += vecmat_quant_pad(c->hidden) * (2. * active + 8);
    }
    return bytes;
}

/* the mean over the views; the critic's expert counts as if it were the actor's */
static double decision_bytes(struct one *o)
{
    double bytes = 0;
    for (int i = 0; i < VIEWS; i++) {
        const float *obs = o->obs[i];
        if (policy_decide(&o->choice, o->policy, o->ws, obs, 1, -1)) bench_fail("odd");
        bytes += 4. * VECMAT_LANES * (count(obs, FEAT_PLAN_DIM) + 1);
        bytes += expert_bytes(o->policy->actor, o->choice.expert, obs);
        bytes += expert_bytes(o->policy->critic, o->choice.expert, obs);
    }
    return bytes / VIEWS;
}

enum {
    WIDE = 128,
    DEEP = 1536
}; /* 768 KB: more than the first level's, less than the second's */

struct stream {
    const struct vecmat_kernel *k;
    float *w, x[DEEP], y[WIDE];
    int at[DEEP + VECMAT_LANES];
};

static void run_stream(void *ctx)
{
    struct stream *s = ctx;
    s->k->affine(s->y, s->w, s->x, s->x, s->at, DEEP, WIDE, false);
}

/* GB/s of weights that follow one another, no result of which anything waits for */
static double cache_speed(void)
{
    struct stream *s = malloc(sizeof *s);
    size_t n = (size_t)WIDE * DEEP;
    if (!s || !(s->w = aligned_alloc(64, sizeof *s->w * n))) bench_fail("no memory");
    s->k = vecmat_kernel(0);
    for (size_t i = 0; i < n; i++)
        s->w[i] = 1.0f;
    for (int i = 0; i < DEEP; i++)
        s->x[i] = 1.0f, s->at[i] = i;
    double t[SAMPLES], best = INFINITY;
    bench_time(t, SAMPLES, MIN_S, run_stream, s);
    for (int i = 0; i < SAMPLES; i++)
        best = fmin(best, t[i]);
    free(s->w);
    free(s);
    return 1e-9 * (double)(sizeof(float) * n) / best;
}

static void the_bound(struct bench *b, struct one *o)
{
    char note[128];
    double bytes = decision_bytes(o), speed = cache_speed();
    snprintf(note, sizeof note, "%.0f KB of weights at %.0f GB/s", bytes / 1e3, speed);
    bench_one(b, "bound_128", 1e-3 * bytes / speed, "us", note);
}

static void the_twin(struct bench *b)
{
    enum { RECORDED = 120000 };
    struct err e = {0};
    struct policy *p = ckpt_load("deploy/policy/moe.safetensors", NULL, NULL, NULL, &e);
    if (!p) bench_fail("%s", e.detail);
    struct twin t = twin_compare(p, RECORDED, 1);
    char note[128];
    snprintf(note, sizeof note, "%d of %d differ, %d of them by the expert",
             t.other_level, t.views, t.other_expert);
    bench_say("the shipped policy's decisions and their plain twin:");
    bench_one(b, "agree", 100. * (t.views - t.other_level) / t.views, "%", note);
    bench_one(b, "agree_prob", t.prob, "", "largest difference of a probability");
    bench_one(b, "agree_logp", t.logp, "nats", "largest difference");
    bench_one(b, "agree_value", t.value, "stddev", "largest difference");
    policy_free(p);
}

static void the_decision(struct bench *b, double peak)
{
    const struct bench_goal none = {0};
    struct one *o = one_new(128, 3);
    char note[128];
    bench_say("one decision, 3 experts of 128, top-1, 6 levels (%s; peak %.0f GFLOP/s):",
              packed_isa(o->packed), peak);
    double all = put(b, "top1_128", (struct bench_goal){1.5, .5, false}, run_decide, o,
                     "view to verdict, greedy");
    put(b, "top1_128_sampled", none, run_sampled, o, "");
    put(b, "observe", none, run_observe, o, "view to observation");
    double fast = put(b, "forward_128", none, run_packed, o, "observation to choice");
    double plain = put(b, "plain_128", none, run_plain, o, "policy_decide, through BLAS");
    double rate = 1e-3 * operations(&o->policy->cfg) / fast;
    bench_one(b, "speedup_128", plain / fast, "x", "of the plain twin");
    snprintf(note, sizeof note, "as if dense; %.0f %% of the peak", 100 * rate / peak);
    bench_one(b, "rate_128", rate, "GFLOP/s", note);
    the_bound(b, o);
    bench_one(b, "per_second", 1e6 / all, "1/s", "decisions of one core");
    one_free(o);
}

static void growth(struct bench *b)
{
    const struct bench_goal none = {0};
    static const int hidden[] = {18, 32, 64, 128, 256, 512},
                     experts[] = {1, 3, 6, 16, 64}, levels[] = {2, 4, 6, 8, 12, 20, 32};
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
    the_twin(b);
    growth(b);
    bench_close(b);
    return 0;
}

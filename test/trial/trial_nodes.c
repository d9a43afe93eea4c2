/* Does it matter to the learner on how many nodes its viewers are? The same viewers (links, profiles,
 * session keys, and so the same draws) play on one node and split over NODES of them; the learner is
 * beside them, over a real JetStream, in both cases, begins with the same random policy,
 * and stops after UPDATES updates. Compared is what its weights score in the daemon's exam
 * (serve/learner/exam.h), paired by seed; and, to know what is noise, one node with the same viewers and
 * other draws against the first.
 *
 * Time is virtual: a round of chunks is over when all that was closed in it has been learned from and
 * all nodes have the newest weights, so that a busy machine changes nothing.
 *
 *   SEEDS=8 NODES=3 UPDATES=16 BATCH=1024 VIEWERS=48 */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abr/emulator/feat.h"
#include "base/clock.h"
#include "base/stats.h"
#include "cli/emulate/viewers.h"
#include "learn/ckpt.h"
#include "serve/parts.h"
#include "serve/session/traj.h"
#include "support/bench.h"
#include "support/nats.h"
#include "support/tmpdir.h"
#include "support/trial.h"

enum { NODES_MAX = 8, SEEDS_MAX = 12, WAIT_S = 60, ALL_VIEWERS = 1000000 };

struct cluster {
    struct nats server;
    int n;
    uint64_t updates; /* to stop after */
    struct service *node[NODES_MAX], *learner;
    struct service_worker *worker[NODES_MAX];
    _Atomic double now;
    double first;
};

static double virtual_clock(void *ctx)
{
    return atomic_load(&((struct cluster *)ctx)->now);
}

static struct service_stats stats(struct service *s)
{
    struct service_stats out;
    service_stats(&out, s);
    return out;
}

static struct cluster_stats bus_stats(struct service *s)
{
    struct parts_stats out;
    parts_stats(&out, s);
    return out.cluster;
}

static double score(const struct cluster *c)
{
    struct policy_info p;
    service_policy_info(&p, c->learner);
    return p.check_score;
}

/* ---- the daemons that viewers ask ---- */

static int of_session(const char *session)
{
    char number[3] = {session[0], session[1]};
    return (int)strtol(number, NULL, 16) - 1;
}

static int many_open(void *self, struct session_opened *out,
                     const struct session_open *in, struct err *e)
{
    struct cluster *c = self;
    int i = (int)(in->key % (uint64_t)c->n);
    return service_open(out, c->node[i], c->worker[i], in, e);
}

static int many_ask(void *self, struct answer *out, const char *session,
                    const struct question *q, struct err *e)
{
    struct cluster *c = self;
    int i = of_session(session);
    return service_ask(out, c->node[i], c->worker[i], session, q, e);
}

static int many_reward(void *self, struct reward_out *out, const char *session,
                       const struct reward_in *in, struct err *e)
{
    struct cluster *c = self;
    return service_reward(out, c->node[of_session(session)], session, in, e);
}

static int many_weights(void *self, const char *added, void **out, size_t *n,
                        struct err *e)
{
    (void)added;
    return service_policy_weights(out, n, ((struct cluster *)self)->learner, e);
}

/* Has all that was closed been learned from, and has every node the newest weights? */
static bool settled(struct cluster *c)
{
    uint64_t sent = 0;
    struct service_stats l = stats(c->learner);
    for (int i = 0; i < c->n; i++) {
        struct service_stats s = stats(c->node[i]);
        struct cluster_stats sender = bus_stats(c->node[i]);
        if (sender.buffered || s.policy_version != l.policy_version) return false;
        sent += sender.published;
    }
    struct cluster_stats taker = bus_stats(c->learner);
    return taker.leading && taker.counted + taker.again >= sent &&
           stats(c->learner).policy_version == l.policy_version;
}

static void settle(struct cluster *c)
{
    for (double until = clock_mono() + WAIT_S; !settled(c); usleep(500))
        if (clock_mono() > until) bench_fail("nodes and learner do not settle");
}

static int many_turn(void *self, double seconds, struct err *e)
{
    struct cluster *c = self;
    (void)e;
    atomic_store(&c->now, atomic_load(&c->now) + seconds);
    settle(c);
    return 0;
}

static bool enough(void *ctx, double share, int finished)
{
    struct cluster *c = ctx;
    (void)share;
    (void)finished;
    return stats(c->learner).learner.updates >= c->updates;
}

/* ---- nodes and learner ---- */

static struct service *start(struct cluster *c, struct service_cfg *cfg,
                             enum cluster_role role, int number)
{
    struct err e = {0};
    struct parts_cfg parts = parts_cfg_default();
    parts.cluster.role = role;
    parts.cluster.number = number;
    parts.cluster.url = c->server.url;
    snprintf(parts.cluster.node, sizeof parts.cluster.node, "%s%d",
             role == ROLE_LEARN ? "learner" : "node", number);
    cfg->optional = &parts;
    struct service *s = service_new(cfg, &e);
    if (!s || service_start_threads(s, &e)) bench_fail("%s %s", e.field, e.detail);
    return s;
}

static void begin(struct cluster *c, int n, struct service_cfg cfg)
{
    nats_begin(&c->server);
    c->n = n;
    atomic_store(&c->now, 1.6e9);
    cfg.clock = virtual_clock;
    cfg.clock_ctx = c;
    c->learner = start(c, &cfg, ROLE_LEARN, 0);
    for (int i = 0; i < n; i++) {
        c->node[i] = start(c, &cfg, ROLE_DECIDE, i + 1);
        c->worker[i] = service_worker_new(c->node[i], NULL);
        if (!c->worker[i]) bench_fail("no memory");
    }
    settle(c);
    c->first = score(c);
}

static void end(struct cluster *c)
{
    for (int i = 0; i < c->n; i++) {
        service_worker_free(c->worker[i]);
        service_free(c->node[i]);
    }
    service_free(c->learner);
    nats_end(&c->server);
}

/* What the weights score after so many updates; *first: before them. */
static double learned(double *first, int n, uint64_t updates, struct service_cfg cfg,
                      const struct viewers_cfg *viewers)
{
    struct cluster *c = calloc(1, sizeof *c);
    if (!c) bench_fail("no memory");
    c->updates = updates;
    begin(c, n, cfg);
    struct viewers_cfg crowd = *viewers;
    crowd.progress = enough;
    crowd.progress_ctx = c;
    struct backend backend = {.self = c,
                              .open = many_open,
                              .ask = many_ask,
                              .reward = many_reward,
                              .weights = many_weights,
                              .turn = many_turn};
    struct viewers_result out;
    struct err e = {0};
    if (viewers_play(&out, &crowd, &backend, &e)) bench_fail("%s %s", e.field, e.detail);
    double last = score(c);
    *first = c->first;
    struct service_stats s = stats(c->learner);
    uint64_t missing = bus_stats(c->learner).missing;
    if (s.learner.updates != updates || missing)
        bench_fail("%llu updates, %llu missing", (unsigned long long)s.learner.updates,
                   (unsigned long long)missing);
    end(c);
    free(c);
    return last;
}

/* ---- the comparison ---- */

static void random_policy(const char *path, uint64_t seed)
{
    struct policy_cfg cfg = policy_cfg_default(FEAT_FULL_DIM);
    cfg.hidden = cfg.critic_hidden = 32;
    struct policy *p = policy_new(&cfg, NULL);
    struct err e = {0};
    if (!p) bench_fail("no memory");
    policy_init(p, seed);
    if (ckpt_save(path, p, NULL, NULL, 0, &e)) bench_fail("%s", e.detail);
    policy_free(p);
}

static struct viewers_cfg viewers_of(uint64_t seed, int at_once)
{
    static const char *const name[] = {"news", "live", "documentary", "standard"};
    struct err e = {0};
    struct viewers_cfg c = {.viewers = ALL_VIEWERS,
                            .at_once = at_once,
                            .seed = seed,
                            .corpus = corpus_generate("lte", 24, 320, seed, &e),
                            .video = video_default(&e),
                            .emu = emu_cfg_default(),
                            .n_profiles = 4};
    if (!c.corpus || !c.video) bench_fail("%s", e.detail);
    for (int i = 0; i < 4; i++) {
        const struct qoe_profile *p = qoe_find(name[i]);
        if (!p) bench_fail("no profile %s", name[i]);
        snprintf(c.profile[i].name, sizeof c.profile[i].name, "%s", name[i]);
        c.profile[i].qoe = p->qoe;
    }
    return c;
}

/* Half the 95 % interval of the mean, by Student. */
static double half(const double *x, int n)
{
    static const double t[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447,
                               2.365,  2.306, 2.262, 2.228, 2.201};
    return t[n - 2] * stats_std(x, n) / sqrt(n);
}

int main(void)
{
    struct trial *t = trial_new("nodes", "The same viewers on one node and on several");
    int seeds = (int)trial_option(t, "SEEDS", 8), n = (int)trial_option(t, "NODES", 3);
    uint64_t updates = (uint64_t)trial_option(t, "UPDATES", 16);
    int batch = (int)trial_option(t, "BATCH", 1024);
    int at_once = (int)trial_option(t, "VIEWERS", 48);
    if (seeds < 2 || seeds > SEEDS_MAX || n < 2 || n > NODES_MAX || updates < 1 ||
        batch < 64 || at_once < n)
        bench_fail("SEEDS is 2 .. %d, NODES 2 .. %d, BATCH 64 at least", SEEDS_MAX,
                   NODES_MAX);

    double gain[SEEDS_MAX], split[SEEDS_MAX], draws[SEEDS_MAX];
    printf("%6s %10s %10s %10s %12s\n", "seed", "before", "1 node", "several",
           "other draws");
    for (int i = 0; i < seeds; i++) {
        uint64_t seed = 1 + (uint64_t)i;
        const char *path = trial_path(t, "start.safetensors");
        random_policy(path, seed);
        struct viewers_cfg viewers = viewers_of(seed, at_once);
        struct service_cfg cfg = service_cfg_default();
        cfg.policy_path = path;
        cfg.seed = seed;
        cfg.max_sessions = 4 * at_once;
        cfg.explore_share = 1;
        cfg.online.batch = batch;
        cfg.online.exam_links = 0; /* random weights pass no exam by cells */
        cfg.online.capacity = batch + TRAJ_STEPS;
        cfg.online.seed = seed;
        double first, one, many, other;
        one = learned(&first, 1, updates, cfg, &viewers);
        many = learned(&first, n, updates, cfg, &viewers);
        cfg.seed += 1000;
        other = learned(&first, 1, updates, cfg, &viewers);
        printf("%6d %10.4f %10.4f %10.4f %12.4f\n", i + 1, first, one, many, other);
        fflush(stdout);
        gain[i] = one - first;
        split[i] = many - one;
        draws[i] = other - one;
        corpus_free((struct corpus *)(uintptr_t)viewers.corpus);
        video_free((struct video *)(uintptr_t)viewers.video);
    }
    double mean = stats_mean(split, seeds), h = half(split, seeds);
    printf("gained by learning on one node: %.4f\n", stats_mean(gain, seeds));
    printf("%d nodes - 1 node, the same draws: %+.4f [%+.4f, %+.4f]\n", n, mean, mean - h,
           mean + h);
    printf("1 node, other draws - the same: %+.4f [%+.4f, %+.4f]\n",
           stats_mean(draws, seeds), stats_mean(draws, seeds) - half(draws, seeds),
           stats_mean(draws, seeds) + half(draws, seeds));
    struct report *r = trial_report(t);
    report_check(r, "mean difference, in halves of its 95 % interval",
                 h > 0 ? fabs(mean) / h : fabs(mean), 0, 1);
    report_check(r, "half of that interval, of what learning gained",
                 h / stats_mean(gain, seeds), 0, .5);
    return trial_end(t);
}

/* What a trial costs a decision: sessions of the service in process, without store and sockets, of a
 * daemon without a trial and of one in which every session is in an arm. Both play the same sessions in
 * turns, in one sitting; a session opens, asks 24 times and closes. */
#include "base/clock.h"
#include "serve/parts.h"
#include "serve/session/service.h"
#include "support/bench.h"

#include <stdio.h>
#include <string.h>

enum { ASKS = 24, SAMPLES = 15, SESSIONS = 400 };

struct played {
    struct service *service;
    struct service_worker *worker;
    uint64_t key;
};

static void played_open(struct played *p, const char *const *arms)
{
    struct err e = {0};
    struct parts_cfg optional = parts_cfg_default();
    struct service_cfg cfg = service_cfg_default();
    cfg.policy_path = "deploy/policy/moe.safetensors";
    cfg.seed = 1;
    cfg.learn = LEARN_OFF;
    cfg.explore_share = 0;
    cfg.optional = &optional;
    if (arms) {
        optional.trial.name = "bench";
        for (; arms[optional.trial.arms.n]; optional.trial.arms.n++)
            optional.trial.arms.item[optional.trial.arms.n] = arms[optional.trial.arms.n];
    }
    *p = (struct played){.service = service_new(&cfg, &e)};
    if (p->service) p->worker = service_worker_new(p->service, &e);
    if (!p->worker) bench_fail("%s", e.detail);
}

static void played_session(struct played *p)
{
    struct session_open in = {.profile = "news",
                              .levels = 6,
                              .ladder_kbps = {300, 750, 1200, 1850, 2850, 4300},
                              .chunk_s = 4,
                              .chunks = 100,
                              .buffer_max_s = 60,
                              .has_key = true,
                              .key = ++p->key};
    struct session_opened o;
    struct answer a = {0};
    struct err e = {0};
    int rc = service_open(&o, p->service, p->worker, &in, &e);
    for (int k = 1; k <= ASKS && !rc; k++) {
        struct question q = {.chunk = k, .buffer_s = 8 + k % 7, .has_last = true};
        q.last = (struct outcome){.chunk = k - 1,
                                  .level = k % 6,
                                  .bytes = 400000 + 9000 * (k % 5),
                                  .download_s = .8};
        rc = service_ask(&a, p->service, p->worker, o.session, &q, &e);
    }
    if (!rc) rc = service_close(p->service, o.session, NULL, &e);
    if (rc) bench_fail("%s", e.detail);
}

/* CPU per decision [us]. */
static double played_us(struct played *p)
{
    double began = clock_cpu();
    for (int i = 0; i < SESSIONS; i++)
        played_session(p);
    return 1e6 * (clock_cpu() - began) / (SESSIONS * (ASKS + 1));
}

static void compare(struct bench *b, const char *key, const char *const *arms,
                    struct bench_goal goal, const char *note)
{
    struct played without, with;
    double ratio[SAMPLES], alone[SAMPLES];
    played_open(&without, NULL);
    played_open(&with, arms);
    played_us(&without);
    played_us(&with);
    for (int i = 0; i < SAMPLES; i++) {
        double a = played_us(&without), c = played_us(&with), d = played_us(&without);
        alone[i] = (a + d) / 2;
        ratio[i] = c / alone[i];
    }
    bench_say("%.2f us without a trial", bench_median(alone, SAMPLES));
    bench_put(b, key, ratio, SAMPLES, "x", goal, note);
    service_worker_free(without.worker);
    service_free(without.service);
    service_worker_free(with.worker);
    service_free(with.service);
}

int main(void)
{
    static const char *const SAME[] = {"old:0.5:abrd", "new:0.5:abrd", NULL};
    static const char *const RULES[] = {"old:0.5:abrd", "new:0.5:bola", NULL};
    struct bench *b = bench_open("trial");
    bench_say("CPU of a decision in a trial, of one without (sessions in process):");
    compare(b, "abrd", SAME, (struct bench_goal){1.02, 1.02, false},
            "both arms by the published weights");
    compare(b, "bola", RULES, (struct bench_goal){0}, "half of the sessions by bola");
    bench_close(b);
    return 0;
}

/* A long time under load: VIEWERS players watch video after video at RATE decisions a second in all,
 * the daemon learns, writes checkpoints and lets silent sessions go. Resident memory, open
 * descriptors and answers are looked at every EVERY seconds; behind WARM seconds, or a quarter of
 * the time when that is less, neither may grow.
 *
 * TTL_S: a session that is silent so long is closed. A machine that stalls longer closes those of living
 * viewers, who are then refused. Refusals of a store that is late are counted apart: they are the machine's.
 *
 *   SECONDS=600 RATE=500 VIEWERS=128 EVERY=5 WARM=60 GROWTH_MB=8 TTL_S=10 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/bench.h"
#include "support/swarm.h"
#include "support/trial.h"
#include "support/viewers.h"

struct samples {
    int n, cap;
    double *at_s, *memory_mb, *descriptors, *p99_ms;
};

static double *column(int n)
{
    double *v = calloc((size_t)n, sizeof *v);
    if (!v) bench_fail("no memory");
    return v;
}

static double most(const double *v, int from, int to)
{
    double best = v[from];
    for (int i = from; i < to; i++)
        best = fmax(best, v[i]);
    return best;
}

static void figure(struct report *r, const char *id, const char *title, const char *unit,
                   const struct samples *s, const double *y)
{
    report_figure(r, id, title, NULL);
    report_panel(
        r, &(struct report_panel){.x = {.label = "time [s]"}, .y = {.label = unit}});
    report_series(
        r, &(struct report_series){.name = title, .n = s->n, .x = s->at_s, .y = y});
}

int main(void)
{
    struct trial *t = trial_new("soak", "A long time under load");
    double seconds = trial_option(t, "SECONDS", 600), rate = trial_option(t, "RATE", 500);
    double every = trial_option(t, "EVERY", 5), warm = trial_option(t, "WARM", 60);
    double growth = trial_option(t, "GROWTH_MB", 8);
    int viewers = (int)trial_option(t, "VIEWERS", 128);
    if (!(seconds >= 4 * every && every > 0) || viewers < 1)
        bench_fail("SECONDS is to be 4 times EVERY at least, VIEWERS 1");
    char ttl[32];
    snprintf(ttl, sizeof ttl, "%.0f", trial_option(t, "TTL_S", 10));
    trial_start(t, (const char *[]){"--session-ttl", ttl, "--checkpoint", "10", NULL});

    struct viewer *v = calloc((size_t)viewers, sizeof *v);
    if (!v) bench_fail("no memory");
    for (int i = 0; i < viewers; i++)
        v[i].chunks = 24 + i * 7 % 80;
    struct samples s = {.cap = (int)(seconds / every) + 1};
    s.at_s = column(s.cap);
    s.memory_mb = column(s.cap);
    s.descriptors = column(s.cap);
    s.p99_ms = column(s.cap);

    struct swarm *swarm = swarm_open(trial_server(t)->port, viewers);
    struct swarm_result r;
    char refusal[sizeof r.refusal] = "";
    double answers = 0, failed = 0, stalled = 0, longest_ms = 0, at_s = 0;
    while (at_s < seconds && s.n < s.cap) {
        swarm_run(&r, swarm, viewers_watch, v, every, 0, rate);
        at_s += r.seconds;
        answers += (double)r.answers;
        failed += (double)(r.refused - r.stalled + r.broken);
        stalled += (double)r.stalled;
        longest_ms = fmax(longest_ms, r.max_ms);
        if (r.refused) snprintf(refusal, sizeof refusal, "%s", r.refusal);
        s.at_s[s.n] = at_s;
        s.memory_mb[s.n] = server_memory(*trial_server(t)) / 1e6;
        s.descriptors[s.n] = server_descriptors(*trial_server(t));
        s.p99_ms[s.n++] = r.p99_ms;
    }
    double watched = 0;
    for (int i = 0; i < viewers; i++)
        watched += v[i].watched;
    swarm_close(swarm);

    /* the highest before a moment against the highest behind it: no single value decides */
    int quiet = 0;
    while (s.at_s[quiet] < fmin(warm, seconds / 4))
        quiet++;
    int half = quiet + (s.n - quiet) / 2;
    double added = most(s.memory_mb, half, s.n) - most(s.memory_mb, quiet, half);
    double opened = most(s.descriptors, half, s.n) - most(s.descriptors, quiet, half);
    double updates = trial_updates(t);

    struct report *p = trial_report(t);
    report_table(p, "Figures");
    report_row(p);
    report_real(p, "answers", answers, 0);
    report_real(p, "per second", answers / at_s, 0);
    report_real(p, "sessions watched", watched, 0);
    report_real(p, "updates of the policy", updates, 0);
    report_real(p, "MB after the warm-up", s.memory_mb[quiet], 1);
    report_real(p, "MB at the end", s.memory_mb[s.n - 1], 1);
    report_real(p, "descriptors at the end", s.descriptors[s.n - 1], 0);
    report_real(p, "longest answer ms", longest_ms, 1);
    report_real(p, "refused while the store was late", stalled, 0);
    figure(p, "memory", "resident memory", "MB", &s, s.memory_mb);
    figure(p, "descriptors", "open descriptors", "number", &s, s.descriptors);
    figure(p, "p99", "99 % of answers within", "ms", &s, s.p99_ms);
    printf("%.0f s: %.0f answers, %.0f sessions, %.0f updates; %.1f MB after the "
           "warm-up, %.1f "
           "at the end; %.0f descriptors; longest answer %.1f ms\n",
           at_s, answers, watched, updates, s.memory_mb[quiet], s.memory_mb[s.n - 1],
           s.descriptors[s.n - 1], longest_ms);
    if (refusal[0]) printf("refused: %s\n", refusal);

    report_check(p, "not answered", failed, 0, 0);
    report_check(p, "sessions that were watched to their end", watched, 1, INFINITY);
    report_check(p, "growth of resident memory behind the warm-up [MB]", added, -INFINITY,
                 growth);
    report_check(p, "growth of open descriptors behind the warm-up", opened, -INFINITY,
                 0);
    free(v);
    free(s.at_s);
    free(s.memory_mb);
    free(s.descriptors);
    free(s.p99_ms);
    return trial_end(t);
}

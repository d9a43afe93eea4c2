/* Many at once: the daemon under any number of connections, while it learns, and with its table of
 * sessions full.
 *
 * 1. Connections, 1 to 5000. Players who ask at a rate that one machine carries (PACE decisions a
 *    second in all): the longest any of them waits. Then all of them without pause, stateless
 *    questions, which overfills the machine by intent: nobody is refused, and there is no moment
 *    at which nobody is answered.
 * 2. What a PPO update and a publish add to the time of an answer: the same players, every one
 *    of them exploring, with and without a learner, in turn.
 * 3. SESSIONS live ones: bytes each, and the longest answer while all of them fall silent: in the
 *    seconds that were ours alone, as a pause of the machine cannot be told from one of the daemon.
 *
 * Times are of the clock on the wall, and so of the machine: a row is measured again, up to TRIES
 * times, while other programs take more than a fifth of a processor; the least disturbed counts,
 * and what the others took stands beside it.
 *
 *   SECONDS=4 PACE=2000 TRIES=5 MOST=5000 ROUNDS=3 SESSIONS=200000 FILL=4000 TTL=120 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/stats.h"
#include "serve/session/track.h"
#include "support/bench.h"
#include "support/swarm.h"
#include "support/trial.h"
#include "support/viewers.h"

static const double DISTURBED = .2; /* processors that others take */
static const double ALONE = .02;    /* what ticking clocks cannot tell from nothing */

/* ---- the machine ---- */

/* Seconds that all processors together were not idle. */
static double machine_busy(void)
{
    unsigned long long v[8] = {0};
    FILE *f = fopen("/proc/stat", "r");
    if (!f || fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1],
                     &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) != 8)
        bench_fail("/proc/stat cannot be read");
    fclose(f);
    return (double)(v[0] + v[1] + v[2] + v[5] + v[6] + v[7]) /
           (double)sysconf(_SC_CLK_TCK);
}

struct watch {
    double wall_s, busy_s, ours_s;
};

static struct watch watch_now(struct trial *t)
{
    return (struct watch){clock_mono(), machine_busy(),
                          clock_cpu() + server_cpu(*trial_server(t), "")};
}

/* Processors that other programs took since then. */
static double watch_others(struct trial *t, const struct watch *w)
{
    struct watch now = watch_now(t);
    double others = now.busy_s - w->busy_s - (now.ours_s - w->ours_s);
    return fmax(0, others / (now.wall_s - w->wall_s));
}

static void restart(struct trial *t, const char *const *options)
{
    if (trial_server(t)->pid) server_stop(trial_server(t));
    trial_start(t, options);
}

/* ---- 1. connections ---- */

struct row {
    struct swarm_result paced, flat_out;
    double others;
};

static void measure(struct row *out, struct trial *t, int n, double seconds, double pace)
{
    struct swarm *s = swarm_open(trial_server(t)->port, n);
    struct viewer *v = calloc((size_t)n, sizeof *v);
    if (!v) bench_fail("no memory");
    for (int i = 0; i < n; i++)
        v[i].chunks = 1 << 30;
    unsigned turn = 0;
    struct swarm_result opened;
    swarm_run(&opened, s, viewers_watch, v, 600, n, pace);
    struct watch w = watch_now(t);
    swarm_run(&out->paced, s, viewers_watch, v, seconds, 0, pace);
    swarm_run(&out->flat_out, s, viewers_decide, &turn, seconds / 2, 0, 0);
    out->others = watch_others(t, &w);
    out->paced.refused += opened.refused;
    out->paced.broken += opened.broken;
    free(v);
    swarm_close(s);
}

static void tell_row(struct report *r, int n, const struct row *a)
{
    const struct swarm_result *p = &a->paced, *f = &a->flat_out;
    char name[96];
    report_row(r);
    report_int(r, "connections", n);
    report_real(r, "decisions/s", (double)p->answers / p->seconds, 0);
    report_real(r, "p50 ms", p->p50_ms, 3);
    report_real(r, "p99 ms", p->p99_ms, 3);
    report_real(r, "max ms", p->max_ms, 2);
    report_real(r, "flat out 1/s", (double)f->answers / f->seconds, 0);
    report_real(r, "its p99 ms", f->p99_ms, 1);
    report_real(r, "longest silence ms", 1e3 * fmax(p->gap_s, f->gap_s), 1);
    report_int(r, "not answered", p->refused + p->broken + f->refused + f->broken);
    report_real(r, "others, processors", a->others, 2);
    printf("%5d connections: %6.0f decisions/s, p50 %.3f p99 %.3f max %.2f ms; flat out "
           "%.0f/s, silence %.1f ms; others %.2f\n",
           n, (double)p->answers / p->seconds, p->p50_ms, p->p99_ms, p->max_ms,
           (double)f->answers / f->seconds, 1e3 * fmax(p->gap_s, f->gap_s), a->others);
    if (p->refused + f->refused)
        printf("refused: %s\n", p->refused ? p->refusal : f->refusal);
    fflush(stdout);

    snprintf(name, sizeof name, "%d connections: not answered", n);
    report_check(r, name, (double)(p->refused + p->broken + f->refused + f->broken), 0,
                 0);
    snprintf(name, sizeof name, "%d connections: p99 of paced decisions [ms]", n);
    report_check(r, name, p->p99_ms, 0, n <= 256 ? 5 : 50);
    snprintf(name, sizeof name, "%d connections: longest silence [ms]", n);
    report_check(r, name, 1e3 * fmax(p->gap_s, f->gap_s), 0, 250);
}

static void with_connections(struct trial *t)
{
    static const int all[] = {1, 10, 64, 127, 128, 129, 256, 512, 1000, 5000};
    double seconds = trial_option(t, "SECONDS", 4), pace = trial_option(t, "PACE", 2000);
    int tries = (int)trial_option(t, "TRIES", 5),
        most = (int)trial_option(t, "MOST", 5000);
    struct report *r = trial_report(t);
    report_table(r, "Connections");
    restart(t, (const char *[]){"--max-connections", "6000", NULL});
    for (size_t i = 0; i < sizeof all / sizeof *all && all[i] <= most; i++) {
        struct row best = {.others = INFINITY};
        for (int k = 0; k < tries && best.others > DISTURBED; k++) {
            struct row a;
            measure(&a, t, all[i], seconds, pace);
            if (a.others < best.others) best = a;
        }
        tell_row(r, all[i], &best);
    }
}

/* ---- 2. learning ---- */

enum { PLAYERS = 64, ROUNDS_MAX = 32 };

struct round {
    double p99_ms, max_ms, others, updates;
};

static struct round play(struct trial *t, const char *learn, double seconds, double pace)
{
    static struct viewer v[PLAYERS];
    restart(t, (const char *[]){"--explore", "1", "--learn", learn, NULL});
    memset(v, 0, sizeof v);
    for (int i = 0; i < PLAYERS; i++)
        v[i].chunks = 30 + i % 10;
    struct swarm *s = swarm_open(trial_server(t)->port, PLAYERS);
    struct swarm_result r;
    swarm_run(&r, s, viewers_watch, v, seconds / 2, 0, pace);
    double before = trial_updates(t);
    struct watch w = watch_now(t);
    swarm_run(&r, s, viewers_watch, v, 2 * seconds, 0, pace);
    struct round out = {.p99_ms = r.p99_ms, .max_ms = r.max_ms};
    out.others = watch_others(t, &w);
    out.updates = trial_updates(t) - before;
    if (r.refused) bench_fail("a question was refused: %s", r.refusal);
    swarm_close(s);
    return out;
}

static void while_learning(struct trial *t)
{
    double seconds = trial_option(t, "SECONDS", 4), pace = trial_option(t, "PACE", 2000);
    int rounds = (int)trial_option(t, "ROUNDS", 3),
        tries = (int)trial_option(t, "TRIES", 5);
    double ratio[ROUNDS_MAX], updates = 0;
    if (rounds < 1 || rounds > ROUNDS_MAX) bench_fail("ROUNDS is 1 to %d", ROUNDS_MAX);
    struct report *r = trial_report(t);
    report_table(r, "Learning");
    for (int k = 0; k < rounds; k++) {
        struct round off = {.others = INFINITY}, on = off;
        for (int i = 0; i < tries && off.others + on.others > 2 * DISTURBED; i++) {
            struct round a = play(t, "off", seconds, pace),
                         b = play(t, "on", seconds, pace);
            if (a.others + b.others < off.others + on.others) off = a, on = b;
        }
        ratio[k] = on.p99_ms / off.p99_ms;
        updates += on.updates;
        report_row(r);
        report_int(r, "round", k);
        report_real(r, "p99 ms, no learner", off.p99_ms, 3);
        report_real(r, "p99 ms, learning", on.p99_ms, 3);
        report_real(r, "ratio", ratio[k], 2);
        report_real(r, "max ms, no learner", off.max_ms, 2);
        report_real(r, "max ms, learning", on.max_ms, 2);
        report_int(r, "updates", (int64_t)on.updates);
        report_real(r, "others, processors", .5 * (off.others + on.others), 2);
        printf("learning: p99 %.3f ms, without %.3f: x %.2f; %.0f updates; others %.2f "
               "%.2f\n",
               on.p99_ms, off.p99_ms, ratio[k], on.updates, on.others, off.others);
        fflush(stdout);
    }
    report_check(r, "updates while it was measured", updates, 1, INFINITY);
    report_check(r, "p99 while learning, of that without",
                 stats_percentile(ratio, rounds, .5), 0, 2);
}

/* ---- 3. sessions ---- */

enum { OPENERS = 64 };

/* Requests about session after session, whichever connection is free. */
struct crowd {
    struct viewer *v;
    int end, next;      /* sessions [next, end) come in this turn */
    int about[OPENERS]; /* the session that was asked about last; -1: none yet */
};

static size_t crowd_next(char *out, int i, const char *answer, void *ctx)
{
    struct crowd *c = ctx;
    int k = c->about[i];
    if (k >= 0 && answer) viewers_take(&c->v[k], answer);
    if (k < 0 || answer) k = c->next++; /* else it was refused: once more */
    if (k >= c->end) bench_fail("more was asked than there is");
    c->about[i] = k;
    return c->v[k].session[0] ? viewers_ask(out, k, NULL, c->v)
                              : viewers_open(out, k, NULL, c->v);
}

/* Each of the first n sessions says one thing more. Returns how many were refused at first: the
 * store writes at its own rate. */
static long turn(struct swarm *s, struct crowd *c, int n, double rate)
{
    long refused = 0;
    c->next = 0;
    c->end = n;
    while (c->next < n) {
        struct swarm_result r;
        swarm_run(&r, s, crowd_next, c, 3600, n - c->next, rate);
        if (r.broken) bench_fail("a connection ended");
        refused += r.refused;
    }
    return refused;
}

struct silence {
    struct swarm_result all;
    int seconds, alone; /* of these without others */
    double alone_ms;    /* the longest answer in these */
    double middle_ms;   /* the longest of the second in the middle, of all */
};

/* Answers to others while the crowd is silent, for that long, or until no more than `left`
 * sessions are live. */
static struct silence listen_for(struct trial *t, double seconds, double left)
{
    static struct viewer v[PLAYERS];
    memset(v, 0, sizeof v);
    for (int i = 0; i < PLAYERS; i++)
        v[i].chunks = 1 << 30;
    struct swarm *s = swarm_open(trial_server(t)->port, PLAYERS);
    struct silence out = {0};
    enum { SECONDS = 4096 };
    double longest[SECONDS];
    struct swarm_result r;
    double until_s = clock_mono() + seconds;
    swarm_run(&r, s, viewers_watch, v, 60, PLAYERS, 1000);
    do {
        struct watch w = watch_now(t);
        swarm_run(&r, s, viewers_watch, v, 1, 0, 500);
        longest[out.seconds++] = r.max_ms;
        if (watch_others(t, &w) < ALONE) {
            out.alone++;
            out.alone_ms = fmax(out.alone_ms, r.max_ms);
        }
        out.all.answers += r.answers;
        out.all.refused += r.refused + r.broken;
        out.all.max_ms = fmax(out.all.max_ms, r.max_ms);
    } while (clock_mono() < until_s && out.seconds < SECONDS &&
             trial_metric(t, "abrd_sessions_live") > left);
    out.middle_ms = stats_percentile(longest, out.seconds, .5);
    swarm_close(s);
    return out;
}

static void with_sessions(struct trial *t)
{
    int n = (int)trial_option(t, "SESSIONS", 200000);
    double fill = trial_option(t, "FILL", 4000), ttl = trial_option(t, "TTL", 120);
    char most[16], silence[16];
    if (n < 1000) bench_fail("SESSIONS is 1000 at least");
    snprintf(most, sizeof most, "%d", n + n / 10);
    snprintf(silence, sizeof silence, "%.0f", ttl);
    /* nobody explores: an open trajectory would count as the session's */
    restart(t, (const char *[]){"--max-sessions", most, "--session-ttl", silence,
                                "--explore", "0", NULL});
    struct crowd c = {.v = calloc((size_t)n, sizeof *c.v)};
    if (!c.v) bench_fail("no memory");
    for (int i = 0; i < OPENERS; i++)
        c.about[i] = -1;

    /* a tenth first, as fast as it goes: then the store's queue was full once, and that and its
     * cache have their size */
    struct swarm *s = swarm_open(trial_server(t)->port, OPENERS);
    long refused = 0;
    for (int k = 0; k < 3 * TRACK_KEEP; k++)
        refused += turn(s, &c, n / 10, 0);
    double first = server_memory(*trial_server(t));
    for (int k = 0; k < TRACK_KEEP; k++)
        refused += turn(s, &c, n, fill);
    double full = server_memory(*trial_server(t));
    double live = trial_metric(t, "abrd_sessions_live");
    swarm_close(s);

    struct watch w = watch_now(t);
    struct silence quiet = listen_for(t, 10, 0),
                   fall = listen_for(t, 4 * ttl, PLAYERS * 2);
    double left = trial_metric(t, "abrd_sessions_live"), others = watch_others(t, &w);

    memset(c.v, 0, (size_t)n * sizeof *c.v);
    for (int i = 0; i < OPENERS; i++)
        c.about[i] = -1;
    s = swarm_open(trial_server(t)->port, OPENERS);
    refused += turn(s, &c, n / 10, fill);
    double above = server_memory(*trial_server(t)) - full;
    swarm_close(s);
    free(c.v);

    double each = (full - first) / (n - n / 10);
    struct report *r = trial_report(t);
    report_table(r, "Sessions");
    report_row(r);
    report_int(r, "live", (int64_t)live);
    report_real(r, "bytes each", each, 0);
    report_real(r, "resident MB", full / 1e6, 1);
    report_real(r, "longest answer before ms", quiet.alone_ms, 2);
    report_real(r, "longest while they fall silent ms", fall.alone_ms, 2);
    report_int(r, "seconds of that", fall.alone);
    report_real(r, "longest of the second in the middle ms", fall.middle_ms, 2);
    report_real(r, "the same before ms", quiet.middle_ms, 2);
    report_real(r, "with those that others disturbed ms", fall.all.max_ms, 2);
    report_int(r, "seconds then", fall.seconds);
    report_int(r, "answers then", fall.all.answers);
    report_real(r, "live afterwards", left, 0);
    report_real(r, "MB above that with a tenth opened anew", above / 1e6, 2);
    report_int(r, "refused while filling", refused);
    report_real(r, "others, processors", others, 2);
    printf("%.0f sessions: %.0f bytes each; longest answer %.2f ms before (%d of %d s "
           "alone), %.2f while they fall silent (%d of %d s alone; %.2f in all, %.2f in "
           "the middle second, %.2f before); %ld refused while filling; others %.2f\n",
           live, each, quiet.alone_ms, quiet.alone, quiet.seconds, fall.alone_ms,
           fall.alone, fall.seconds, fall.all.max_ms, fall.middle_ms, quiet.middle_ms,
           refused, others);

    report_check(r, "live sessions", live, n, n);
    report_check(r, "bytes of a live session", each, 0, 1536);
    report_check(r, "sessions left when all were silent", left, 0, PLAYERS * 2);
    report_check(r, "seconds alone while they fall silent", fall.alone, 20, INFINITY);
    report_check(r, "longest answer in them [ms]", fall.alone_ms, 0, 5);
    report_check(r, "answers that were refused meanwhile", (double)fall.all.refused, 0,
                 0);
    /* who fell silent keeps his place for as long again: late outcomes find it */
    report_check(r, "MB above the full table with a tenth opened anew", above / 1e6,
                 -INFINITY, n / 10 * 1536e-6);
}

int main(void)
{
    struct trial *t = trial_new("load", "Many at once");
    report_text(
        trial_report(t),
        "Times are as the clients' clock saw them, clients and daemon on the same "
        "machine of %ld processors; a row is repeated while other programs take more "
        "than %g of a processor.",
        sysconf(_SC_NPROCESSORS_ONLN), DISTURBED);
    with_connections(t);
    while_learning(t);
    with_sessions(t);
    return trial_end(t);
}

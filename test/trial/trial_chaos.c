/* Nothing that was acknowledged is lost: the daemon serves viewers, learns, writes checkpoints, and
 * is killed (SIGKILL) at random moments, also while it starts and while it writes a checkpoint.
 * Each viewer keeps a dedup of what it was answered and when; after each start the store is held
 * against it.
 *
 * A reward must be there when it was acknowledged WINDOW_MS before the kill, by the viewer's clock
 * when the answer was read and the killer's before the signal, both of which are to the daemon's
 * disadvantage. What was acknowledged before a moment at which the store's queue was seen
 * empty must be there too, without any clock: WINDOW_MS=0 leaves only that. The second half of the
 * kills meets --durability strict, under which everything must be there.
 *
 *   KILLS=200 SEED=1 VIEWERS=24 THINK_MS=5 WINDOW_MS=200 */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "learn/ckpt.h"
#include "support/bench.h"
#include "support/client.h"
#include "support/trial.h"

enum { CHUNKS = 40, VIEWERS_MAX = 256 };

/* An acknowledged reward. */
struct entry {
    char session[33];
    int chunk;
    long bytes;
    double at;
    bool stored; /* it was there after a kill */
};

struct viewer {
    struct chaos *chaos;
    struct rng rng;
    struct client client;
    char session[33]; /* "": none is open */
    double opened_at;
    int next;           /* chunk to ask for */
    char question[512]; /* the last one that was answered; "": none */
    int level;          /* what it was answered */
    double answered_at;
    long bytes; /* of the chunk before `next` */
    double took_s;
    struct entry *dedup;
    int n, cap, checked;
    double policy; /* newest version that answered */
};

struct chaos {
    struct trial *trial;
    struct rng rng;
    double window_s, think_ms;
    bool strict;
    struct viewer *viewer;
    int viewers;
    pthread_mutex_t lock; /* of the rest */
    pthread_cond_t moved;
    bool run, over;
    int parked;
    double safe_at; /* what was acknowledged before is to be there */
    long decisions, lost_sessions, other_answers, refused, busy, conflicts;
    long at_start;               /* decisions when this life began */
    double rate_n[2], rate_s[2]; /* decisions and seconds of lives: window, strict */
};

static void pause_ms(double ms)
{
    if (ms > 0) usleep((useconds_t)(1e3 * ms));
}

/* ---- viewers ---- */

/* Until the daemon serves again; false: it is over. */
static bool park(struct viewer *v)
{
    struct chaos *c = v->chaos;
    pthread_mutex_lock(&c->lock);
    c->parked++;
    pthread_cond_broadcast(&c->moved);
    while (!c->run && !c->over)
        pthread_cond_wait(&c->moved, &c->lock);
    c->parked--;
    bool over = c->over;
    pthread_mutex_unlock(&c->lock);
    return !over;
}

static bool may_run(struct chaos *c)
{
    pthread_mutex_lock(&c->lock);
    bool run = c->run;
    pthread_mutex_unlock(&c->lock);
    return run;
}

static void count(struct chaos *c, long *what)
{
    pthread_mutex_lock(&c->lock);
    ++*what;
    pthread_mutex_unlock(&c->lock);
}

/* What was acknowledged then is to be there now. */
static bool owed(struct chaos *c, double at)
{
    return at <= c->safe_at;
}

static double number(const char *json, const char *key)
{
    const char *at = strstr(json, key);
    return at ? strtod(at + strlen(key), NULL) : (double)NAN;
}

static void fetch(struct viewer *v)
{
    static const double mbps[] = {.3, .75, 1.2, 1.85, 2.85, 4.3};
    v->bytes = lround(mbps[v->level] * 5e5 * rng_range(&v->rng, .8, 1.2));
    v->took_s = (double)v->bytes * 8e-6 / rng_range(&v->rng, .3, 5);
}

static void keep(struct viewer *v, int chunk)
{
    if (v->n == v->cap) {
        v->cap = v->cap ? 2 * v->cap : 1024;
        v->dedup = realloc(v->dedup, (size_t)v->cap * sizeof *v->dedup);
        if (!v->dedup) bench_fail("no memory");
    }
    struct entry *e = &v->dedup[v->n++];
    *e = (struct entry){.chunk = chunk, .bytes = v->bytes, .at = clock_mono()};
    memcpy(e->session, v->session, sizeof e->session);
}

static void heard(struct viewer *v)
{
    const char *body = client_body(&v->client);
    v->answered_at = clock_mono();
    v->level = (int)number(body, "\"level\":");
    v->policy = fmax(v->policy, number(body, "\"policy\":"));
    count(v->chaos, &v->chaos->decisions);
    fetch(v);
}

static int open_session(struct viewer *v)
{
    int status = client_ask(&v->client, "POST", "/v1/sessions",
                            "{\"ladder_kbps\":[300,750,1200,1850,2850,4300],"
                            "\"chunk_s\":4,\"chunks\":40,\"profile\":\"live\"}");
    if (status != 201) return status;
    v->opened_at = clock_mono();
    sscanf(strstr(client_body(&v->client), "\"session\":\"") + 11, "%32s", v->session);
    v->question[0] = '\0';
    v->next = 1;
    heard(v);
    return status;
}

static void outcome(char *out, size_t size, const struct viewer *v, int chunk)
{
    snprintf(out, size,
             "{\"chunk\":%d,\"level\":%d,\"bytes\":%ld,\"download_s\":%.3f,"
             "\"rebuffer_s\":%.3f}",
             chunk, v->level, v->bytes, v->took_s, fmax(0, v->took_s - 4));
}

static int ask(struct viewer *v)
{
    char path[80], body[512], last[256];
    outcome(last, sizeof last, v, v->next - 1);
    if (v->next < CHUNKS) {
        snprintf(path, sizeof path, "/v1/sessions/%s/decisions", v->session);
        snprintf(body, sizeof body, "{\"chunk\":%d,\"buffer_s\":%d,\"last\":%s}", v->next,
                 v->next % 20, last);
    } else {
        snprintf(path, sizeof path, "/v1/sessions/%s/rewards", v->session);
        snprintf(body, sizeof body, "%s", last);
    }
    int status = client_ask(&v->client, "POST", path, body);
    if (status != 200) return status;
    keep(v, v->next - 1);
    if (v->next < CHUNKS) {
        memcpy(v->question, body, sizeof v->question);
        v->next++;
        heard(v);
    } else {
        v->session[0] = '\0'; /* some are left to expire: nobody closes them */
    }
    return status;
}

/* After a kill: is the session known, is the last question answered as before? */
static int again(struct viewer *v)
{
    if (!v->session[0]) return 200;
    char path[80];
    snprintf(path, sizeof path, "/v1/sessions/%s/decisions", v->session);
    bool first = !v->question[0];
    int status = client_ask(&v->client, "POST", path,
                            first ? "{\"chunk\":0,\"buffer_s\":0}" : v->question);
    if (status == 404) {
        if (owed(v->chaos, v->opened_at)) count(v->chaos, &v->chaos->lost_sessions);
        v->session[0] = '\0';
        return 200;
    }
    if (status != 200) return status;
    /* a decision that may have been lost may have been made again: this answer counts from now on,
     * also if the next kill comes before another one */
    int level = (int)number(client_body(&v->client), "\"level\":");
    if (owed(v->chaos, v->answered_at)) {
        if (level != v->level) count(v->chaos, &v->chaos->other_answers);
    } else if (level != v->level) {
        heard(v);
    } else {
        v->answered_at = clock_mono();
    }
    return status;
}

static void *watch(void *ctx)
{
    struct viewer *v = ctx;
    struct chaos *c = v->chaos;
    bool returning = false;
    while (park(v))
        while (may_run(c)) {
            int status = returning ? again(v) : v->session[0] ? ask(v) : open_session(v);
            if (!status) { /* killed: the driver stops us soon */
                returning = true;
                break;
            }
            returning = false;
            pause_ms(rng_range(&v->rng, 0, 2 * c->think_ms));
            if (status == 409) count(c, &c->conflicts);
            if (status == 503) count(c, &c->busy); /* the disk is slow today */
            if (status >= 400 && status != 503) count(c, &c->refused);
            if (status >= 400) v->session[0] = '\0';
        }
    return NULL;
}

/* ---- the driver ---- */

static void set_run(struct chaos *c, bool run, bool over)
{
    pthread_mutex_lock(&c->lock);
    c->run = run;
    c->over = over;
    pthread_cond_broadcast(&c->moved);
    while (!run && !over && c->parked < c->viewers)
        pthread_cond_wait(&c->moved, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

/* The store has all that was acknowledged; nobody asks meanwhile. */
static double settled(struct chaos *c)
{
    set_run(c, false, false);
    double at = clock_mono();
    while (trial_metric(c->trial, "abrd_store_queue") > 0)
        pause_ms(5);
    set_run(c, true, false);
    return at;
}

/* The next time a checkpoint is being written; a second at most. */
static void await_checkpoint(struct chaos *c)
{
    int fd = inotify_init1(IN_CLOEXEC);
    if (inotify_add_watch(fd, trial_path(c->trial, "data"), IN_CREATE | IN_MOVED_TO) < 0)
        bench_fail("no watch on the data folder");
    char text[4096];
    double until = clock_mono() + 1;
    for (bool seen = false; !seen && clock_mono() < until;) {
        struct pollfd p = {fd, POLLIN, 0};
        if (poll(&p, 1, 100) <= 0) continue;
        ssize_t n = read(fd, text, sizeof text);
        for (ssize_t at = 0; at < n;) {
            struct inotify_event e;
            memcpy(&e, text + at, sizeof e);
            seen |= strncmp(text + at + sizeof e, "policy.safetensors", 18) == 0;
            at += (ssize_t)(sizeof e + e.len);
        }
    }
    close(fd);
    pause_ms(rng_range(&c->rng, 0, 3));
}

/* The checkpoint that a start will find: its version and updates. */
static bool find_checkpoint(struct chaos *c, double *version, double *updates)
{
    struct ckpt_meta meta;
    struct err e = {0};
    *version = *updates = 0;
    const char *path = trial_path(c->trial, "data/policy.safetensors");
    struct policy *p = ckpt_load(path, &meta, NULL, NULL, &e);
    if (!p) return e.code == ERR_ABSENT;
    *version = (double)p->version;
    const char *text = ckpt_meta_get(&meta, "updates");
    *updates = text ? strtod(text, NULL) : 0;
    policy_free(p);
    return true;
}

struct found {
    long missing[2], doubled, wrong, damaged, backwards, unlearned, bad_checkpoints;
    long let_in; /* new sessions while it drained */
    int drain_code;
    double drain_s;
    long owed, young_lost; /* rewards looked for; lost within the window */
    double oldest_lost_s;
};

static sqlite3 *open_store(struct chaos *c)
{
    sqlite3 *db;
    if (sqlite3_open_v2(trial_path(c->trial, "data/abrd.db"), &db, SQLITE_OPEN_READONLY,
                        NULL))
        bench_fail("the store: %s", sqlite3_errmsg(db));
    sqlite3_busy_timeout(db, 10000);
    return db;
}

static void check_integrity(sqlite3 *db, struct found *f)
{
    sqlite3_stmt *st;
    if (sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &st, NULL))
        bench_fail("the store: %s", sqlite3_errmsg(db));
    if (sqlite3_step(st) != SQLITE_ROW ||
        strcmp((const char *)sqlite3_column_text(st, 0), "ok") != 0)
        f->damaged++;
    sqlite3_finalize(st);
}

/* A reward of the dedup, in the store. */
static void look_up(sqlite3_stmt *st, struct entry *e, bool due, bool strict,
                    double killed_at, struct found *f)
{
    unsigned char id[16];
    for (int i = 0; i < 16; i++)
        sscanf(e->session + 2 * i, "%2hhx", &id[i]);
    sqlite3_bind_blob(st, 1, id, sizeof id, SQLITE_TRANSIENT);
    sqlite3_bind_int(st, 2, e->chunk);
    int rows = 0;
    for (; sqlite3_step(st) == SQLITE_ROW; rows++)
        f->wrong += sqlite3_column_int64(st, 0) != e->bytes;
    sqlite3_reset(st);
    f->doubled += rows > 1;
    f->owed += due;
    if (rows) {
        e->stored = true;
    } else if (due) {
        f->missing[strict]++;
        f->oldest_lost_s = fmax(f->oldest_lost_s, killed_at - e->at);
    } else {
        f->young_lost++;
        f->oldest_lost_s = fmax(f->oldest_lost_s, killed_at - e->at);
    }
}

/* since the last kill, or, at the end, all that was ever there */
static void check_dedups(struct chaos *c, sqlite3 *db, double killed_at, bool all,
                         struct found *f)
{
    sqlite3_stmt *st;
    if (sqlite3_prepare_v2(db,
                           "SELECT bytes FROM steps WHERE session = ?1 AND "
                           "chunk = ?2 AND flags & 4",
                           -1, &st, NULL))
        bench_fail("the store: %s", sqlite3_errmsg(db));
    for (int i = 0; i < c->viewers; i++) {
        struct viewer *v = &c->viewer[i];
        for (int k = all ? 0 : v->checked; k < v->n; k++) {
            struct entry *e = &v->dedup[k];
            if (!all || e->stored)
                look_up(st, e, all || owed(c, e->at), isinf(c->safe_at), killed_at, f);
        }
        v->checked = v->n;
    }
    sqlite3_finalize(st);
}

static void check_store(struct chaos *c, double killed_at, bool all, struct found *f)
{
    sqlite3 *db = open_store(c);
    check_integrity(db, f);
    check_dedups(c, db, killed_at, all, f);
    sqlite3_close(db);
}

static void start(struct chaos *c)
{
    trial_start(c->trial,
                (const char *[]){"--explore", "1", "--checkpoint", "0.1", "--batch",
                                 "256", "--workers", "0", "--durability",
                                 c->strict ? "strict" : "window", "--exam-links", "0",
                                 "--tolerance", "1", NULL}); /* publishes */
}

/* Kills a daemon before it listens, when the dice say so; its start lasts about start_s. */
static int kill_starts(struct chaos *c, double start_s)
{
    int kills = 0;
    while (rng_uniform(&c->rng) < .25) {
        trial_launch(c->trial, NULL);
        pause_ms(rng_range(&c->rng, 0, 1e3 * start_s));
        server_kill(trial_server(c->trial));
        kills++;
    }
    return kills;
}

/* One life: viewers play, then it is killed. Returns when that was. */
static double live_and_die(struct chaos *c)
{
    double began = clock_mono();
    c->at_start = c->decisions;
    set_run(c, true, false);
    pause_ms(rng_range(&c->rng, 5, 300));
    double settled_at = settled(c);
    if (rng_uniform(&c->rng) < .3)
        await_checkpoint(c);
    else
        pause_ms(rng_range(&c->rng, 0, 400));

    double at = clock_mono();
    server_kill(trial_server(c->trial));
    set_run(c, false, false);
    c->rate_n[c->strict] += (double)(c->decisions - c->at_start);
    c->rate_s[c->strict] += at - began;
    c->safe_at = c->strict         ? INFINITY
                 : c->window_s > 0 ? fmax(settled_at, at - c->window_s)
                                   : settled_at;
    return at;
}

/* SIGTERM while viewers play: sessions go on, new ones are refused, all that was answered is stored,
 * the checkpoint is written. Returns the seconds it took. */
static double drain(struct chaos *c, struct found *f)
{
    set_run(c, true, false);
    pause_ms(300);
    struct client newcomer = client_open(trial_server(c->trial)->port);
    double began = clock_mono();
    server_signal(trial_server(c->trial), SIGTERM);
    int status = 200;
    while (status == 200 && clock_mono() - began < 5)
        status = client_ask(&newcomer, "GET", "/readyz", NULL);
    if (status == 503) {
        status = client_ask(&newcomer, "POST", "/v1/sessions",
                            "{\"ladder_kbps\":[300,750],\"chunk_s\":4}");
        f->let_in += status != 503 && status != 0;
    }
    client_close(&newcomer);
    f->drain_code = server_await(trial_server(c->trial));
    double took = clock_mono() - began;
    set_run(c, false, false);
    c->safe_at = (double)INFINITY;
    double version, updates;
    f->bad_checkpoints += !find_checkpoint(c, &version, &updates) || version <= 0;
    start(c);
    check_store(c, clock_mono(), false, f);
    return took;
}

static void check_life(struct chaos *c, double killed_at, double version, double updates,
                       struct found *f)
{
    double newest = 0;
    for (int i = 0; i < c->viewers; i++)
        newest = fmax(newest, c->viewer[i].policy);
    f->backwards +=
        !(trial_metric(c->trial, "abrd_policy_version") >= fmax(newest, version));
    f->unlearned += !(trial_metric(c->trial, "abrd_learner_updates_total") >= updates);
    struct stat st;
    f->bad_checkpoints +=
        stat(trial_path(c->trial, "data/policy.safetensors.bad"), &st) == 0;
    check_store(c, killed_at, false, f);
}

static void report(struct chaos *c, const struct found *f, int kills, int early)
{
    struct report *r = trial_report(c->trial);
    long acknowledged = 0;
    for (int i = 0; i < c->viewers; i++)
        acknowledged += c->viewer[i].n;
    report_table(r, "What happened");
    const struct {
        const char *name;
        double value;
    } row[] = {
        {"kills", kills},
        {"of them while it started", early},
        {"decisions", (double)c->decisions},
        {"rewards acknowledged", (double)acknowledged},
        {"rewards that had to be there", (double)f->owed},
        {"rewards younger than the window, lost", (double)f->young_lost},
        {"age of the oldest that was lost [ms]", 1e3 * f->oldest_lost_s},
        {"requests put off (503)", (double)c->busy},
        {"decisions per second, window", c->rate_n[0] / c->rate_s[0]},
        {"decisions per second, strict", c->rate_n[1] / c->rate_s[1]},
        {"policy version at the end", trial_metric(c->trial, "abrd_policy_version")},
        {"updates", trial_metric(c->trial, "abrd_learner_updates_total")}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        report_row(r);
        report_cell(r, "what", "%s", row[i].name);
        report_real(r, "number", row[i].value, 0);
        printf("%-40s %.0f\n", row[i].name, row[i].value);
    }
    report_check(r, "window: acknowledged rewards missing", (double)f->missing[0], 0, 0);
    report_check(r, "strict: acknowledged rewards missing", (double)f->missing[1], 0, 0);
    report_check(r, "rewards stored twice", (double)f->doubled, 0, 0);
    report_check(r, "rewards stored wrongly", (double)f->wrong, 0, 0);
    report_check(r, "stores that are not sound", (double)f->damaged, 0, 0);
    report_check(r, "checkpoints that do not load", (double)f->bad_checkpoints, 0, 0);
    report_check(r, "starts with an older policy version", (double)f->backwards, 0, 0);
    report_check(r, "learners that did not go on", (double)f->unlearned, 0, 0);
    report_check(r, "live sessions not known", (double)c->lost_sessions, 0, 0);
    report_check(r, "repeated questions answered differently", (double)c->other_answers,
                 0, 0);
    report_check(r, "contradictions (409)", (double)c->conflicts, 0, 0);
    report_check(r, "requests refused", (double)c->refused, 0, 0);
    report_check(r, "SIGTERM under load: exit code", f->drain_code, 0, 0);
    report_check(r, "SIGTERM under load: new sessions let in", (double)f->let_in, 0, 0);
    if (c->window_s > 0) report_check(r, "SIGTERM under load: seconds", f->drain_s, 0, 5);
    report_check(r, "rewards looked for", (double)f->owed, 1, INFINITY);
    report_check(
        r, "steps learned per reward",
        trial_metric(c->trial, "abrd_learner_steps_total") / (double)acknowledged, 0, 1);
}

int main(void)
{
    struct chaos c = {.trial =
                          trial_new("chaos", "Killed at any moment: nothing is lost"),
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .moved = PTHREAD_COND_INITIALIZER};
    int kills = (int)trial_option(c.trial, "KILLS", 200), early = 0, done = 0;
    uint64_t seed = (uint64_t)trial_option(c.trial, "SEED", 1);
    c.viewers = (int)trial_option(c.trial, "VIEWERS", 24);
    c.window_s = 1e-3 * trial_option(c.trial, "WINDOW_MS", 200);
    c.think_ms = trial_option(c.trial, "THINK_MS", 5);
    if (c.viewers < 1 || c.viewers > VIEWERS_MAX) bench_fail("VIEWERS is 1 to 256");
    rng_init(&c.rng, seed, 0);
    c.viewer = calloc((size_t)c.viewers, sizeof *c.viewer);
    pthread_t thread[VIEWERS_MAX];
    for (int i = 0; i < c.viewers; i++) {
        struct viewer *v = &c.viewer[i];
        v->chaos = &c;
        v->client = client_open(trial_server(c.trial)->port);
        rng_init(&v->rng, seed, 1 + (uint64_t)i);
        if (pthread_create(&thread[i], NULL, watch, v)) bench_fail("no thread");
    }
    set_run(&c, false, false);

    struct found f = {0};
    double began = clock_mono();
    start(&c);
    double start_s = clock_mono() - began;
    while (done < kills) {
        double killed_at = live_and_die(&c), version, updates;
        done++;
        f.bad_checkpoints += !find_checkpoint(&c, &version, &updates);
        int more = kill_starts(&c, start_s);
        early += more;
        done += more;
        c.strict = done >= kills / 2;
        start(&c);
        check_life(&c, killed_at, version, updates, &f);
    }
    c.strict = false;
    server_stop(trial_server(c.trial));
    start(&c);
    f.drain_s = drain(&c, &f);
    check_store(&c, clock_mono(), true, &f);
    set_run(&c, false, true);
    for (int i = 0; i < c.viewers; i++)
        pthread_join(thread[i], NULL);
    report(&c, &f, done, early);
    for (int i = 0; i < c.viewers; i++) {
        client_close(&c.viewer[i].client);
        free(c.viewer[i].dedup);
    }
    free(c.viewer);
    return trial_end(c.trial);
}

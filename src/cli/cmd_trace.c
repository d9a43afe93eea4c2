/* abrd trace: look at traces, convert and generate them. */
#include "abr/traces/corpus.h"
#include "abr/traces/gen.h"
#include "abr/traces/overlap.h"
#include "abr/traces/trace_set.h"
#include "abr/traces/trace_stats.h"
#include "base/pool.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/interrupt.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/recordings.h"
#include "cli/setup.h"
#include "cli/trace_adversary.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_folder(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static int make_folder(const char *dir, struct err *e)
{
    if (!mkdir(dir, 0755) || (errno == EEXIST && is_folder(dir))) return 0;
    return err_field(e, ERR_IO, dir, "cannot be created: %s", strerror(errno));
}

/* ----------------------------------------------------------------------------- check */

struct verdicts {
    struct out *out;
    int good, refused;
};

static void check_file(struct verdicts *v, const char *path)
{
    struct err e = {0};
    struct trace *t = trace_load(path, &e);
    out_row(v->out);
    out_cells(v->out, "file=%s verdict=%s", path, t ? "ok" : "refused");
    if (t) {
        out_cells(v->out, "rows=%d duration_s=%.1f mean_mbps=%.3f", t->n,
                  t->time_s[t->n - 1] - t->time_s[0], trace_mean_mbps(t));
    } else {
        out_cells(v->out, "where=%s why=%s", e.field, e.detail);
    }
    *(t ? &v->good : &v->refused) += 1;
    trace_free(t);
}

static int trace_check_command(int argc, char **argv)
{
    struct out_cfg cfg = {0};
    bool quiet = false;
    const struct field opts[] = {OPT_QUIET(quiet), OUT_OPTIONS(cfg), {0}};
    const struct opt_cmd cmd = {
        .name = "trace check",
        .args = "FILE|DIR...",
        .min_args = 1,
        .about = "Prints for each file whether it is a valid trace, and if not, which "
                 "line is wrong.\n"
                 "The format is recognised by the content: Pensieve, Mahimahi, sabre "
                 "JSON or CSV.\n"
                 "The exit code is 1 if a file is refused.",
        .opts = opts,
        .example = "abrd trace check traces my-trace.csv",
    };
    int at = opt_parse(&cmd, argc, argv);
    if (at < 0) return opt_status(at);

    struct err e = {0};
    struct verdicts v = {.out = out_new(&cfg, &e)};
    struct progress bar = {0};
    if (!v.out) return cmd_fail("trace check", &e);
    for (; at < argc && !e.code; at++) {
        struct corpus_files files = {0};
        if (!is_folder(argv[at])) {
            check_file(&v, argv[at]);
        } else if (!corpus_files_list(&files, argv[at], CORPUS_ALL, &e)) {
            progress_end(&bar);
            progress_init(&bar, "check",
                          quiet); /* the time left is that of this folder */
            for (int i = 0; i < files.n; i++) {
                check_file(&v, files.path[i]);
                progress_show(&bar, (i + 1.0) / files.n, argv[at]);
            }
        }
        corpus_files_free(&files);
    }
    progress_end(&bar);
    out_say(v.out, "%d ok, %d refused", v.good, v.refused);
    if (!e.code && out_finish(v.out, &e)) v.refused++;
    out_free(v.out);
    if (e.code) return cmd_fail("trace check", &e);
    return v.refused ? OPT_EXIT_FAILED : OPT_EXIT_DONE;
}

/* --------------------------------------------------------------------------- convert */

struct conversion {
    struct trace_set_cfg cfg; /* for logs with many sessions */
    struct out *out;
    int traces;
    bool quiet;
    struct progress bar; /* of the folder, or of the log being read */
};

static void begin_bar(struct conversion *c)
{
    progress_init(&c->bar, "convert", c->quiet);
}

/* Of one log, whose sessions are converted together. */
static void show_share(void *ctx, double share)
{
    struct conversion *c = ctx;
    progress_show(&c->bar, share, "");
}

static void put_trace(struct out *o, const char *path, const struct trace *t)
{
    out_row(o);
    out_cells(o, "file=%s rows=%d duration_s=%.1f mean_mbps=%.3f", path, t->n,
              t->time_s[t->n - 1] - t->time_s[0], trace_mean_mbps(t));
}

static int save_trace(struct conversion *c, const struct trace *t, const char *path,
                      struct err *e)
{
    int rc = trace_save(t, path, e);
    if (rc) return rc;
    c->traces++;
    put_trace(c->out, path, t);
    if (t->rtt_s < 0.0) return 0;
    out_real(c->out, "rtt_ms", t->rtt_s * 1000.0, 0);
    out_say(c->out,
            "%s: the mean latency of %.0f ms is not stored: give it to other commands as "
            "--rtt-ms",
            path, t->rtt_s * 1000.0);
    return 0;
}

static int join_path(char *out, size_t n, const char *dir, const char *name,
                     struct err *e)
{
    if (snprintf(out, n, "%s/%s", dir, name) < (int)n) return 0;
    return err_field(e, ERR_RANGE, name, "the path is too long");
}

/* A log of many sessions into a folder. */
static int convert_set(struct conversion *c, const char *from, const char *to,
                       struct err *e)
{
    struct trace_set s;
    begin_bar(c); /* with a time left of its own */
    int rc = trace_set_load(&s, from, &c->cfg, e);
    if (!rc) rc = make_folder(to, e);
    progress_end(&c->bar);
    if (!rc)
        out_say(c->out, "%s: %s, %d of %d sessions are traces of %g s or more", from,
                s.format, s.n, s.sessions, c->cfg.min_s);
    c->cfg.first += s.sessions; /* so that no log of a folder has names of another */
    for (int i = 0; i < s.n && !rc; i++) {
        char path[4096];
        rc = join_path(path, sizeof path, to, s.traces[i]->name, e);
        if (!rc) rc = save_trace(c, s.traces[i], path, e);
    }
    trace_set_free(&s);
    return rc;
}

static int convert_file(struct conversion *c, const char *from, const char *to,
                        struct err *e)
{
    struct trace *t = trace_load(from, e);
    int rc = t ? save_trace(c, t, to, e) : e->code;
    trace_free(t);
    return rc;
}

static int convert_folder(struct conversion *c, const char *from, const char *to,
                          struct err *e)
{
    struct corpus_files files = {0};
    int rc = corpus_files_list(&files, from, CORPUS_ALL, e);
    if (!rc) rc = make_folder(to, e);
    begin_bar(c);
    bool logs = false; /* they have bars of their own */
    for (int i = 0; i < files.n && !rc; i++) {
        char name[256], path[4096];
        text_last_component(name, sizeof name, files.path[i]);
        rc = join_path(path, sizeof path, to, name, e);
        if (!rc && !trace_set_is(files.path[i])) {
            rc = convert_file(c, files.path[i], path, e);
            if (!logs) progress_show(&c->bar, (i + 1.0) / files.n, "");
        } else if (!rc && strncmp(name, "video_acked", 11) != 0) {
            progress_end(&c->bar);
            logs = true;
            rc = convert_set(c, files.path[i], to, e); /* with its video_acked */
        }
    }
    corpus_files_free(&files);
    return rc;
}

/* How links were made of sessions, in the folder of the links: README* is no trace. */
static const char SESSIONS_README[] =
    "Links of recorded sessions, made by `abrd trace convert --from`.\n\n"
    "A line is \"seconds Mbit/s\". While a chunk was downloaded, the link has the\n"
    "throughput of that download. While the player was idle, nothing was measured: the\n"
    "first half of the gap has the throughput of the download before, the second half\n"
    "that of the download behind. So no rate appears that was not measured.\n\n"
    "Time is that of the player: it follows from buffers, downloads and stalls. Pauses\n"
    "of the viewer are left out.\n\n"
    "A replay on these links cannot see that the link would have carried another\n"
    "throughput with other levels, nor that a viewer would have left at another time.\n"
    "`abrd eval --sessions` measures that bias where a trial ran.\n\n"
    "mix/sessions.csv has the audience's ladders, chunk lengths, buffers and profiles,\n"
    "with the number of sessions of each.\n";

/* The links of a daemon's sessions, and their mix. */
static int convert_recordings(struct conversion *c, const struct recordings_cfg *cfg,
                              const char *to, struct err *e)
{
    struct recordings s;
    char path[4096];
    int rc = recordings_load(&s, cfg, e);
    if (rc) return rc;
    rc = make_folder(to, e);
    for (int i = 0; i < s.n && !rc; i++) {
        rc = join_path(path, sizeof path, to, s.at[i].link->name, e);
        if (!rc) rc = save_trace(c, s.at[i].link, path, e);
        progress_show(&c->bar, (i + 1.0) / s.n, "");
    }
    if (!rc) rc = join_path(path, sizeof path, to, "README", e);
    if (!rc) rc = text_write_file(path, SESSIONS_README, sizeof SESSIONS_README - 1, e);
    if (!rc) rc = join_path(path, sizeof path, to, "mix", e);
    if (!rc) rc = make_folder(path, e);
    if (!rc) rc = join_path(path, sizeof path, to, "mix/sessions.csv", e);
    if (!rc) rc = recordings_mix(&s, path, e);
    if (!rc) recordings_say(c->out, &s, cfg->data);
    recordings_free(&s);
    return rc;
}

static int convert(int argc, char **argv)
{
    struct out_cfg cfg = {0};
    struct conversion c = {.cfg = trace_set_cfg_default()};
    struct recordings_cfg sessions = recordings_cfg_default();
    const struct field opts[] = {
        {"from", "DATA",
         "take the sessions that a daemon recorded, from its data folder or a backup; "
         "the "
         "daemon may be running",
         FIELD_TO(sessions.data)},
        {"profile", "A,B", "sessions of these profiles", FIELD_TO(sessions.profiles),
         .group = "recorded sessions"},
        RECORDINGS_OPTIONS(sessions),
        {"rtt-ms", "MS",
         "round-trip time to take out of each download, in milliseconds, as other "
         "commands charge it",
         FIELD_TO(sessions.rtt_ms), .lo = 0, .hi = 10000, .group = "recorded sessions"},
        {"min-s", "S", "leave out sessions of a log that are shorter than S seconds",
         FIELD_TO(c.cfg.min_s), .lo = 0, .hi = 1e6},
        {"max", "N",
         "convert at most N sessions of a log, the first that are long enough",
         FIELD_TO(c.cfg.max), .lo = 1, .hi = 1e6},
        OPT_QUIET(c.quiet),
        OUT_OPTIONS(cfg),
        {0},
    };
    const struct opt_cmd cmd = {
        .name = "trace convert",
        .args = "[FROM] TO",
        .min_args = 1,
        .max_args = 2,
        .about =
            "Converts a trace of any known format, or a folder of traces, to Pensieve "
            "text:\n"
            "lines of \"seconds Mbit/s\". A log of many sessions becomes a folder with "
            "one trace\n"
            "per session. Known logs are FCC webget and httpgetmt, Lumos5G, and Puffer\n"
            "video_sent with video_acked in the same folder.\n"
            "With --from the sessions of a daemon become links, one each. README in TO "
            "says how,\nand mix/sessions.csv has their ladders, buffers and profiles.",
        .opts = opts,
        .example =
            "abrd trace convert verizon.up verizon.txt\n"
            "abrd trace convert curr_webget_2016_01.csv fcc --min-s 320 --max 1000\n"
            "abrd trace convert --from /var/lib/abrd own --since 2026-11-01",
    };
    int at = opt_parse(&cmd, argc, argv);
    if (at < 0) return opt_status(at);
    if (argc - at != (sessions.data ? 1 : 2))
        return opt_usage("trace convert", sessions.data
                                              ? "--from takes the place of FROM: give TO"
                                              : "needs FROM and TO, or --from DATA TO");
    const char *filter = recordings_option(&sessions);
    if (sessions.profiles.n) filter = "profile";
    if (sessions.rtt_ms != recordings_cfg_default().rtt_ms) filter = "rtt-ms";
    if (!sessions.data && filter)
        return opt_usage("trace convert", "--%s needs --from DATA", filter);

    struct err e = {0};
    const char *from = sessions.data ? NULL : argv[at], *to = argv[argc - 1];
    c.out = out_new(&cfg, &e);
    int rc = c.out ? 0 : e.code;
    begin_bar(&c);
    c.cfg.progress = show_share;
    c.cfg.progress_ctx = &c;
    if (!rc)
        rc = sessions.data        ? convert_recordings(&c, &sessions, to, &e)
             : is_folder(from)    ? convert_folder(&c, from, to, &e)
             : trace_set_is(from) ? convert_set(&c, from, to, &e)
                                  : convert_file(&c, from, to, &e);
    progress_end(&c.bar);
    if (!rc) out_say(c.out, "traces written: %d", c.traces);
    if (!rc) rc = out_finish(c.out, &e);
    out_free(c.out);
    return rc ? cmd_fail("trace convert", &e) : OPT_EXIT_DONE;
}

/* -------------------------------------------------------------------------- generate */

static int save_all(struct out *o, const struct corpus *c, const char *dir,
                    struct progress *bar, struct err *e)
{
    int rc = make_folder(dir, e);
    for (int i = 0; i < c->n && !rc; i++) {
        char path[4096];
        rc = join_path(path, sizeof path, dir, c->traces[i]->name, e);
        if (!rc) rc = trace_save(c->traces[i], path, e);
        if (!rc) put_trace(o, path, c->traces[i]);
        progress_show(bar, (i + 1.0) / c->n, "");
    }
    progress_end(bar);
    return rc;
}

static int generate(int argc, char **argv)
{
    const char *kind = "all", *dir = NULL;
    int n = 10;
    double seconds = 320.0;
    uint64_t seed = 1;
    bool quiet = false;
    struct out_cfg cfg = {0};
    const struct field opts[] = {
        {"out", "DIR", "folder for the traces; created if absent", FIELD_TO(dir)},
        {"kind", "NAME",
         "kind of links: 3g-commute, broadband, lte, wifi, outage, high-4g, all of "
         "these, or volatile-low",
         FIELD_TO(kind)},
        {"n", "N", "traces of each kind", FIELD_TO(n), .lo = 1, .hi = 10000},
        {"seconds", "S", "length of each trace, in seconds", FIELD_TO(seconds), .lo = 10,
         .hi = 1e5},
        {"seed", "N", "seed of the random numbers; the same seed gives the same files",
         FIELD_TO(seed)},
        OPT_QUIET(quiet),
        OUT_OPTIONS(cfg),
        {0},
    };
    const struct opt_cmd cmd = {
        .name = "trace generate",
        .about = "Generates traces from a Markov model. traces/README.md lists its "
                 "parameters.",
        .opts = opts,
        .example = "abrd trace generate --out /tmp/low --kind volatile-low --n 50",
    };
    int at = opt_parse(&cmd, argc, argv);
    if (at < 0) return opt_status(at);
    if (!dir) return opt_usage("trace generate", "--out DIR is missing");

    struct err e = {0};
    struct progress bar;
    progress_init(&bar, "generate", quiet);
    struct corpus *c =
        corpus_generate(strcmp(kind, "all") ? kind : NULL, n, seconds, seed, &e);
    if (!c && e.code == ERR_ABSENT) return opt_usage("trace generate", "%s", e.detail);
    struct out *o = c ? out_new(&cfg, &e) : NULL;
    int rc = o ? save_all(o, c, dir, &bar, &e) : e.code;
    assert((c && o) || rc);
    if (!rc) out_say(o, "%d traces in %s, CRC-32 %08x", c->n, dir, corpus_hash(c));
    if (!rc) rc = out_finish(o, &e);
    out_free(o);
    corpus_free(c);
    return rc ? cmd_fail("trace generate", &e) : OPT_EXIT_DONE;
}

/* ----------------------------------------------------------------------------- stats */

struct traces {
    int n, cap;
    struct trace **at;
};

static int load_one(struct traces *l, const char *path, struct err *e)
{
    if (l->n == l->cap) {
        int cap = l->cap ? 2 * l->cap : 64;
        struct trace **more = realloc(l->at, (size_t)cap * sizeof *more);
        if (!more) return err_set(e, ERR_MEMORY, "no memory for %d traces", cap);
        l->at = more;
        l->cap = cap;
    }
    l->at[l->n] = trace_load(path, e);
    if (!l->at[l->n]) return e->code;
    l->n++;
    return 0;
}

static int load_arg(struct traces *l, const char *path, enum corpus_part part,
                    struct err *e)
{
    if (!is_folder(path)) return load_one(l, path, e);
    struct corpus_files files = {0};
    int rc = corpus_files_list(&files, path, part, e);
    for (int i = 0; i < files.n && !rc; i++)
        rc = load_one(l, files.path[i], e);
    corpus_files_free(&files);
    return rc;
}

static int put_stats(struct out *o, const char *name, struct trace **traces, int n,
                     struct err *e)
{
    struct trace_stats s;
    int rc = trace_stats(&s, traces, n, e);
    if (rc) return rc;
    out_row(o);
    out_cells(o,
              "trace=%s slots=%lld duration_s=%.1f mean_mbps=%.3f p5=%.3f p50=%.3f "
              "p95=%.3f cv=%.3f zero_share=%.4f",
              name, (long long)s.slots, s.duration_s, s.mean, s.p5, s.p50, s.p95, s.cv,
              s.zero_share);
    return 0;
}

static int stats(int argc, char **argv)
{
    struct out_cfg cfg = {0};
    const char *part_name = "all";
    bool total = false;
    const struct field opts[] = {
        {"part", "NAME", "part of the folders to use, split by name: all, train or test",
         FIELD_TO(part_name)},
        {"total", NULL, "print only the row for all traces together", FIELD_TO(total)},
        OUT_OPTIONS(cfg),
        {0},
    };
    const struct opt_cmd cmd = {
        .name = "trace stats",
        .args = "FILE|DIR...",
        .min_args = 1,
        .about = "Prints statistics of the throughput, weighted by time, for each trace "
                 "and for all\n"
                 "together: mean, percentiles, coefficient of variation, share of time "
                 "at zero.",
        .opts = opts,
        .example = "abrd trace stats traces --total",
    };
    int at = opt_parse(&cmd, argc, argv);
    if (at < 0) return opt_status(at);
    enum corpus_part part;
    struct err e = {0};
    if (setup_part(&part, part_name, &e))
        return opt_usage("trace stats", "--part %s", e.detail);

    struct traces l = {0};
    struct out *o = out_new(&cfg, &e);
    int rc = o ? 0 : e.code;
    for (; at < argc && !rc; at++)
        rc = load_arg(&l, argv[at], part, &e);
    for (int i = 0; i < l.n && !rc && !total; i++)
        rc = put_stats(o, l.at[i]->name, &l.at[i], 1, &e);
    if (!rc) rc = put_stats(o, "total", l.at, l.n, &e);
    if (!rc) rc = out_finish(o, &e);
    out_free(o);
    for (int i = 0; i < l.n; i++)
        trace_free(l.at[i]);
    free(l.at);
    return rc ? cmd_fail("trace stats", &e) : OPT_EXIT_DONE;
}

/* --------------------------------------------------------------------------- overlap */

/* The names in B, one a line: what `abrd eval --exclude` reads. */
static int write_list(const char *path, const struct overlap *o, const struct corpus *b,
                      struct err *e)
{
    enum { LINE_MAX_BYTES = sizeof b->traces[0]->name + 1 };
    char *text = malloc((size_t)o->n * LINE_MAX_BYTES + 1);
    if (!text) return err_set(e, ERR_MEMORY, "no memory for %d names", o->n);
    size_t len = 0;
    for (int i = 0; i < o->n; i++)
        if (!i || o->pairs[i].b != o->pairs[i - 1].b)
            len += (size_t)snprintf(text + len, LINE_MAX_BYTES, "%s\n",
                                    b->traces[o->pairs[i].b]->name);
    int rc = text_write_file(path, text, len, e);
    free(text);
    return rc;
}

static void put_pairs(struct out *out, const struct overlap *o, const struct corpus *a,
                      const struct corpus *b, const struct overlap_cfg *cfg)
{
    int distinct = 0;
    for (int i = 0; i < o->n; i++) {
        const struct overlap_pair *p = &o->pairs[i];
        distinct += !i || p->b != p[-1].b;
        out_row(out);
        out_cells(out, "trace=%s like=%s r=%.3f at_s=%d like_at_s=%d",
                  b->traces[p->b]->name, a->traces[p->a]->name, p->r, p->b_s, p->a_s);
    }
    out_say(out,
            "%d of %d traces in %s correlate above %g with a trace in %s over %d s; %d "
            "and %d traces are shorter and were not compared",
            distinct, b->n, b->name, cfg->threshold, a->name, cfg->window_s, o->short_b,
            o->short_a);
}

/* A set without a trace as long as the window: there is no verdict. */
static int refuse_short(const struct corpus *c, int shorter, int window_s, struct err *e)
{
    if (shorter < c->n) return 0;
    return err_field(e, ERR_INVALID, c->name,
                     "none of its %d traces lasts %d s: give a shorter --window", c->n,
                     window_s);
}

static int overlap(int argc, char **argv)
{
    struct out_cfg cfg = {0};
    struct progress bar;
    bool quiet = false;
    struct overlap_cfg how = overlap_cfg_default();
    how.threads = pool_cpus();
    const char *list = NULL;
    const struct field opts[] = {
        {"window", "S", "length of the compared windows, in seconds",
         FIELD_TO(how.window_s), .lo = 10, .hi = 100000},
        {"threshold", "R", "smallest correlation at which two windows count as alike",
         FIELD_TO(how.threshold), .lo = 0, .hi = 1},
        {"level", "X",
         "largest relative difference between the means of two alike windows; 1: any",
         FIELD_TO(how.level), .lo = 0, .hi = 1},
        {"list", "FILE", "file for the names of the traces found in B, one per line",
         FIELD_TO(list)},
        {"threads", "N", "threads that compare windows", FIELD_TO(how.threads), .lo = 1,
         .hi = POOL_THREADS, .shown = "one per processor"},
        OPT_QUIET(quiet),
        OUT_OPTIONS(cfg),
        {0},
    };
    const struct opt_cmd cmd = {
        .name = "trace overlap",
        .args = "A B",
        .min_args = 2,
        .max_args = 2,
        .about = "Finds traces in folder B (test) that come from the same recording as a "
                 "trace in\n"
                 "folder A (training), even if the files differ. Compares every window "
                 "of one trace\n"
                 "with every window of the other.",
        .opts = opts,
        .example = "abrd trace overlap train test --list leaked.txt\n"
                   "abrd eval --traces test --exclude leaked.txt",
    };
    int at = opt_parse(&cmd, argc, argv);
    if (at < 0) return opt_status(at);

    struct err e = {0};
    struct overlap found = {0};
    struct out *o = out_new(&cfg, &e);
    struct corpus *a = o ? corpus_load(argv[at], CORPUS_ALL, &e) : NULL;
    struct corpus *b = a ? corpus_load(argv[at + 1], CORPUS_ALL, &e) : NULL;
    interrupt_catch();
    progress_init(&bar, "overlap", quiet);
    how.progress = progress_watch;
    how.progress_ctx = &bar;
    int rc = b ? overlap_find(&found, a, b, &how, &e) : e.code;
    progress_end(&bar);
    if (rc == OVERLAP_STOPPED) err_set(&e, rc, "stopped; there is no result");
    assert(b || rc);
    if (!rc) rc = refuse_short(a, found.short_a, how.window_s, &e);
    if (!rc) rc = refuse_short(b, found.short_b, how.window_s, &e);
    if (!rc && list) rc = write_list(list, &found, b, &e);
    if (!rc) put_pairs(o, &found, a, b, &how);
    if (!rc) rc = out_finish(o, &e);
    overlap_free(&found);
    corpus_free(b);
    corpus_free(a);
    out_free(o);
    return rc ? cmd_fail("trace overlap", &e) : OPT_EXIT_DONE;
}

/* ----------------------------------------------------------------------------- trace */

static const struct cmd_sub subcommands[] = {
    {"check", "check whether files are valid traces", trace_check_command},
    {"convert", "convert traces and logs of sessions to Pensieve text", convert},
    {"generate", "generate traces of several kinds of links", generate},
    {"stats", "print the mean, percentiles, variation and outages of traces", stats},
    {"overlap", "find traces of one folder that leaked into another", overlap},
    {"adversary", "find links on which a policy does worst", trace_adversary_command},
    {NULL, NULL, NULL},
};

int cmd_trace(int argc, char **argv)
{
    return cmd_sub_run("trace",
                       "Checks, converts, generates and compares throughput traces.",
                       subcommands, "abrd trace check traces", argc, argv);
}

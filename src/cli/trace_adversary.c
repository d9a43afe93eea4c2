#include "cli/trace_adversary.h"

#include "abr/adversary.h"
#include "base/pool.h"
#include "cli/cmd.h"
#include "cli/home.h"
#include "cli/interrupt.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/progress.h"
#include "cli/setup.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct attack {
    struct setup setup;
    struct adversary_cfg cfg;
    struct out_cfg out;
    struct field_list policies; /* the first is searched against */
    const char *dir, *given;    /* folders: for the links; of links to score */
    bool quiet, count_first;
    char shipped[HOME_PATH];

    struct adversary_world world;
    struct video *video; /* owned */
    struct setup_profile profile;
    struct adversary_links found;
    struct corpus *corpus;       /* of --links */
    struct trace *const *traces; /* of one of the two */
    struct trace **borrowed;     /* those of found */
    int n;
    struct adversary_score *scores; /* (policies, n) */
    struct progress bar;
};

/* Exit code, or -1 to go on. */
static int check_attack(struct attack *a, bool shipped)
{
    const char *name = "trace adversary";
    struct setup_profile profiles[SETUP_PROFILES];
    struct err e = {0};
    if (!a->given && !a->dir)
        return opt_usage(name, "--out DIR is missing, the folder for the links");
    if (a->given && a->dir)
        return opt_usage(name, "--out cannot be combined with --links, which searches "
                               "for no link");
    if (a->setup.abandon)
        return opt_usage(name, "--abandon is not possible: the optimum abandons nothing");
    int n = setup_profiles(profiles, &a->setup, "standard", &e);
    if (n < 0) return opt_usage(name, "%s: %s", e.field, e.detail);
    if (n != 1) return opt_usage(name, "--profile: name one profile, not %d", n);
    a->profile = profiles[0];
    a->world.ctx = (struct algo_ctx){a->cfg.seed, shipped ? a->shipped : NULL};
    for (int p = 0; p < a->policies.n; p++) {
        struct algo algo;
        int rc = algo_new(&algo, a->policies.item[p], &a->world.ctx, &e);
        algo_free(&algo);
        if (rc && !strncmp(a->policies.item[p], "moe", 3)) return cmd_fail(name, &e);
        if (rc) return opt_usage(name, "--policy: %s", e.detail);
    }
    return -1;
}

/* The names of options for those of settings. */
static int check_bounds(const struct attack *a)
{
    static const struct {
        const char *setting, *option;
    } names[] = {{"low_mbps", "low-mbps"}, {"high_mbps", "high-mbps"}};
    struct err e = {0};
    if (!adversary_check(&a->cfg, &e)) return -1;
    const char *option = e.field;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].setting, e.field)) option = names[i].option;
    return opt_usage("trace adversary", "--%s: %s", option, e.detail);
}

static int make_links_folder(const char *dir, struct err *e)
{
    struct stat st;
    if (!mkdir(dir, 0755)) return 0;
    if (errno == EEXIST && !stat(dir, &st) && S_ISDIR(st.st_mode)) return 0;
    return err_field(e, ERR_IO, dir, "cannot be created: %s", strerror(errno));
}

static int save_links(const struct attack *a, struct err *e)
{
    int rc = 0;
    for (int i = 0; i < a->n && !rc; i++) {
        char path[HOME_PATH];
        int len = snprintf(path, sizeof path, "%s/%s", a->dir, a->traces[i]->name);
        if (len >= (int)sizeof path)
            rc = err_field(e, ERR_RANGE, a->dir, "the path is too long");
        if (!rc) rc = trace_save(a->traces[i], path, e);
    }
    return rc;
}

/* The links: found or given. */
static int get_links(struct attack *a, struct err *e)
{
    if (a->given) {
        a->corpus = corpus_load(a->given, CORPUS_ALL, e);
        if (!a->corpus) return e->code;
        a->traces = a->corpus->traces;
        a->n = a->corpus->n;
        return 0;
    }
    int rc = make_links_folder(a->dir, e);
    if (rc) return rc;
    progress_init(&a->bar, "adversary", a->quiet);
    a->cfg.progress = progress_watch;
    a->cfg.progress_ctx = &a->bar;
    rc = adversary_search(&a->found, a->policies.item[0], &a->world, &a->cfg, e);
    progress_end(&a->bar);
    if (rc == ADVERSARY_STOPPED) return err_set(e, ERR_IO, "stopped; there are no links");
    if (rc) return rc;
    a->n = a->found.n;
    a->borrowed = calloc((size_t)a->n, sizeof *a->borrowed);
    if (!a->borrowed) return err_set(e, ERR_MEMORY, "no memory for %d links", a->n);
    for (int i = 0; i < a->n; i++)
        a->borrowed[i] = a->found.link[i].trace;
    a->traces = a->borrowed;
    return save_links(a, e);
}

static struct adversary_score *scores_of(const struct attack *a, int policy)
{
    return &a->scores[(size_t)policy * (size_t)a->n];
}

static int judge_links(struct attack *a, struct err *e)
{
    a->scores = calloc((size_t)(a->policies.n * a->n), sizeof *a->scores);
    if (!a->scores) return err_set(e, ERR_MEMORY, "no memory for %d links", a->n);
    int rc = 0;
    for (int p = 0; p < a->policies.n && !rc; p++)
        rc = adversary_judge(scores_of(a, p), a->policies.item[p], &a->world, a->traces,
                             a->n, a->cfg.threads, e);
    return rc;
}

/* ---- the report ---- */

struct shares {
    double mean, worst; /* of the links that have one; NaN: none */
    int n;
};

static struct shares shares_of(const struct attack *a, int policy)
{
    struct shares s = {0, INFINITY, 0};
    for (int i = 0; i < a->n; i++) {
        double share = adversary_share(&scores_of(a, policy)[i]);
        if (share != share) continue;
        s.mean += share;
        s.worst = fmin(s.worst, share);
        s.n++;
    }
    s.mean = s.n ? s.mean / s.n : (double)NAN;
    if (!s.n) s.worst = (double)NAN;
    return s;
}

static void put_link(struct out *o, const struct attack *a, int i)
{
    int chunks = a->video->chunks - !a->count_first;
    bool points = a->world.qoe.utility == QOE_POINTS;
    for (int p = 0; p < a->policies.n; p++) {
        const struct adversary_score *s = &scores_of(a, p)[i];
        const char *policy = a->policies.item[p];
        double share = adversary_share(s);
        out_row(o);
        out_cells(o,
                  "link=%s policy=%s profile=%s share=%.3f qoe=%.3f optimum=%.3f "
                  "bound=%.3f stall_s=%.2f optimum_stall_s=%.2f mean_mbps=%.3f",
                  a->traces[i]->name, policy, a->profile.name, share, s->policy / chunks,
                  s->optimum / chunks, s->bound / chunks, s->stall_s, s->optimum_stall_s,
                  trace_mean_mbps(a->traces[i]));
        out_brief(o, "link", true, "%s", a->traces[i]->name);
        out_brief(o, "Mbit/s", false, "%.2f", trace_mean_mbps(a->traces[i]));
        out_brief(o, "policy", true, "%s", policy);
        out_brief(o, "QoE", false, "%.*f", points ? 2 : 3, s->policy / chunks);
        out_brief(o, "optimum", false, "%.*f", points ? 2 : 3, s->optimum / chunks);
        if (share == share) out_brief(o, "share %", false, "%.1f", 100 * share);
        out_brief(o, "stall s", false, "%.1f", s->stall_s);
        out_brief(o, "of the optimum", false, "%.1f", s->optimum_stall_s);
    }
}

static void put_all(struct out *o, const struct attack *a, int policy)
{
    struct shares s = shares_of(a, policy);
    out_row(o);
    out_cells(o, "link=%s policy=%s profile=%s share=%.3f worst=%.3f", "all",
              a->policies.item[policy], a->profile.name, s.mean, s.worst);
    if (!policy && !a->given) out_real(o, "begin", a->found.begin_share, 3);
}

static void say_links(struct out *o, const struct attack *a)
{
    const struct adversary_cfg *c = &a->cfg;
    out_say(o, "profile %s; video %s: %d chunks of %g s; %s", a->profile.name,
            a->video->name, a->video->chunks, a->video->chunk_s,
            a->count_first ? "chunk 0 counted" : "chunk 0 at level 1 and not counted");
    if (a->given) {
        out_say(o, "links: %s, %d", a->given, a->n);
        return;
    }
    out_say(o,
            "links: %g to %g Mbit/s, at most a factor %g between slots of %g s, %d "
            "slots, begun again at the end",
            c->low_mbps, c->high_mbps, c->factor, c->step_s,
            adversary_slots(c, a->video));
    out_say(o, "search: against %s, %d times %d links, seed %llu", a->policies.item[0],
            c->searches, c->trials, (unsigned long long)c->seed);
    out_say(o,
            "share of the offline optimum: %s %.1f %% on the random links that the "
            "searches began with",
            a->policies.item[0], 100 * a->found.begin_share);
}

static void say_shares(struct out *o, const struct attack *a)
{
    for (int p = 0; p < a->policies.n; p++) {
        struct shares s = shares_of(a, p);
        if (!s.n) {
            out_say(o, "share of the offline optimum: none, it earns too little");
            return;
        }
        out_say(o,
                "share of the offline optimum: %s %.1f %% on the %d links, %.1f %% on "
                "the worst (%.0f and %.0f %% below it)",
                a->policies.item[p], 100 * s.mean, s.n, 100 * s.worst, 100 * (1 - s.mean),
                100 * (1 - s.worst));
    }
}

static int report_links(const struct attack *a, struct out *o, struct err *e)
{
    say_links(o, a);
    say_shares(o, a);
    for (int i = 0; i < a->n; i++)
        put_link(o, a, i);
    for (int p = 0; p < a->policies.n; p++)
        put_all(o, a, p);
    return out_finish(o, e);
}

/* ---- the command ---- */

static int attack_run(struct attack *a)
{
    struct err e = {0};
    struct out *o = out_new(&a->out, &e);
    int rc = o ? 0 : e.code;
    if (!rc) a->video = setup_video(&a->setup, &e);
    if (!rc && !a->video) rc = e.code;
    if (!rc) {
        a->world.video = a->video;
        a->world.emu = setup_emu(&a->setup);
        a->world.qoe = a->profile.qoe;
        a->world.count_first = a->count_first;
        rc = emu_check(&a->world.emu, a->video, &e);
    }
    interrupt_catch();
    if (!rc) rc = get_links(a, &e);
    if (!rc) rc = judge_links(a, &e);
    if (!rc) rc = report_links(a, o, &e);
    out_free(o);
    return rc ? cmd_fail("trace adversary", &e) : OPT_EXIT_DONE;
}

static void attack_free(struct attack *a)
{
    free(a->scores);
    free(a->borrowed);
    adversary_links_free(&a->found);
    corpus_free(a->corpus);
    video_free(a->video);
}

int trace_adversary_command(int argc, char **argv)
{
    struct attack a = {.setup = setup_default(), .cfg = adversary_cfg_default()};
    a.cfg.threads = pool_cpus();
    a.policies = (struct field_list){.n = 1, .item = {"moe"}};
    struct err absent = {0};
    bool shipped = !home_find(a.shipped, HOME_POLICY, &absent);
    const struct field opts[] = {
        {"policy", "A,B",
         "policies: links are searched against the first and scored with all of them; "
         "abrd eval --help lists the names",
         FIELD_TO(a.policies)},
        {"out", "DIR", "folder for the links, as traces; created if absent",
         FIELD_TO(a.dir)},
        {"links", "DIR", "score the links in this folder instead of searching",
         FIELD_TO(a.given)},
        {"n", "N", "links to find, each by a search of its own", FIELD_TO(a.cfg.searches),
         .lo = 1, .hi = ADVERSARY_SEARCHES_MAX},
        {"trials", "N", "links that each search tries", FIELD_TO(a.cfg.trials), .lo = 16,
         .hi = 1e6},
        {"low-mbps", "MBPS", "lowest speed of a link, in Mbit/s",
         FIELD_TO(a.cfg.low_mbps), .lo = 0.01, .hi = 1000},
        {"high-mbps", "MBPS", "highest speed of a link, in Mbit/s",
         FIELD_TO(a.cfg.high_mbps), .lo = 0.01, .hi = 1000},
        {"factor", "X", "largest factor between the speeds of a slot and the next",
         FIELD_TO(a.cfg.factor), .lo = 1, .hi = 1e6},
        {"step-s", "S", "length of a slot, in seconds", FIELD_TO(a.cfg.step_s), .lo = 0.1,
         .hi = 100},
        {"slots", "N",
         "slots of a link, at least 2; 0: as many as last a quarter longer than the "
         "video",
         FIELD_TO(a.cfg.slots), .lo = 0, .hi = ADVERSARY_SLOTS_MAX},
        {"count-first", NULL,
         "let the policy choose the level of chunk 0, and count its reward",
         FIELD_TO(a.count_first)},
        SETUP_WORLD(a.setup),
        {"seed", "N", "seed of the search; the same seed gives the same links",
         FIELD_TO(a.cfg.seed)},
        {"threads", "N", "threads that search", FIELD_TO(a.cfg.threads), .lo = 1,
         .hi = POOL_THREADS, .shown = "one per processor"},
        OPT_QUIET(a.quiet),
        OUT_WIDE(a.out),
        OUT_OPTIONS(a.out),
        {0},
    };
    const struct opt_cmd cmd = {
        .name = "trace adversary",
        .about = "Searches for links on which a policy does worst against the offline "
                 "optimum, within\n"
                 "bounds of speed and change. Writes them as traces and prints the "
                 "policy's share of\n"
                 "the optimum's QoE. --links scores links that were found before, with a "
                 "newer policy\n"
                 "for example.",
        .opts = opts,
        .example = "abrd trace adversary --policy moe,mpc --count-first --out worst\n"
                   "abrd trace adversary --profile pensieve --low-mbps 0.8 --high-mbps "
                   "4.8 --out worst\n"
                   "abrd trace adversary --links worst --policy moe:old.safetensors,moe",
    };
    int at = opt_parse(&cmd, argc, argv);
    if (at < 0) return opt_status(at);
    int code = cmd_blas("trace adversary", a.cfg.threads);
    if (code) return code;
    code = check_attack(&a, shipped);
    if (code < 0) code = check_bounds(&a);
    if (code < 0) code = attack_run(&a);
    attack_free(&a);
    return code;
}

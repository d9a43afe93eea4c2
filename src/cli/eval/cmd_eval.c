/* abrd eval: policies scored on traces. */
#include "abr/eval.h"
#include "abr/why.h"

#include "base/pool.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/eval/eval_draws.h"
#include "cli/eval/eval_recorded.h"
#include "cli/eval/eval_routing.h"
#include "cli/eval/eval_sessions.h"
#include "cli/eval/eval_why.h"
#include "cli/home.h"
#include "cli/interrupt.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/page.h"
#include "cli/progress.h"
#include "cli/setup.h"
#include "cli/eval/trajectories.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLICIES FIELD_LIST_MAX
#define EXCLUDE_BYTES (16u << 20)

/* of the mean of --gain, as in the papers */
static const char *const GAIN_PROFILES[] = {"paper-documentary", "paper-live",
                                            "paper-news"};
#define GAIN_MEAN "documentary+live+news"

struct work {
    struct setup setup;
    struct out_cfg out;
    struct field_list policies, bars; /* bars: what --gain is over */
    const char *paired, *gain, *exclude, *why;
    const char *page, *trajectories; /* files; NULL = none */
    struct field_list detail;        /* of trajectories */
    const char *shipped; /* the shipped policy's path; NULL when it is not here */
    char shipped_path[HOME_PATH];
    uint64_t seed;
    int threads, draws, mu_draws, worst;
    bool count_first, quiet, routing;

    struct recordings_cfg sessions; /* --sessions, if its data is set */
    struct recordings recordings;
    struct eval_session *recorded; /* (recordings.n) owned */

    struct corpus *corpus;
    struct video *video;
    char *exclude_text;
    const char **excluded;
    int n_excluded;
    int n_profiles;
    struct setup_profile profiles[SETUP_PROFILES];
    struct eval_row *rows; /* (profiles, policies) */

    struct progress progress;
    int done; /* rows */
};

static bool draws(const struct work *w)
{
    return w->draws || w->mu_draws;
}

static bool eval_show_progress(void *ctx, double share)
{
    struct work *w = ctx;
    int p = w->done % w->policies.n, rows = w->policies.n * w->n_profiles;
    if (w->progress.start_s > 0 && draws(w))
        progress_show(&w->progress, share, "drawn weights");
    else if (w->progress.start_s > 0)
        progress_show(&w->progress, (w->done + share) / rows, w->policies.item[p]);
    return interrupt_seen();
}

static int place(const struct work *w, const char *policy)
{
    for (int p = 0; p < w->policies.n; p++)
        if (strcmp(w->policies.item[p], policy) == 0) return p;
    return -1;
}

static struct eval_row *row_of(const struct work *w, int profile, int policy)
{
    return &w->rows[profile * w->policies.n + policy];
}

static void add_policy(struct work *w, const char *policy)
{
    if (place(w, policy) < 0 && w->policies.n < POLICIES)
        w->policies.item[w->policies.n++] = policy;
}

/* Unknown names are refused before anything runs. Exit code, or -1 to go on. */
static int check_policies(struct work *w)
{
    for (int p = 0; p < w->policies.n; p++) {
        const char *name = w->policies.item[p];
        if (place(w, name) != p)
            return opt_usage("eval", "policy %s is given twice", name);
        if (strcmp(name, "oracle") == 0) continue;
        if (w->sessions.data && strcmp(name, EVAL_RECORDED) == 0) continue;
        struct err e = {0};
        struct algo a;
        const struct algo_ctx ctx = {w->seed, w->shipped};
        int rc = algo_new(&a, name, &ctx, &e);
        algo_free(&a);
        if (rc && strncmp(name, "moe", 3) == 0) return cmd_fail("eval", &e);
        if (rc) return opt_usage("eval", "%s: %s", e.field, e.detail);
    }
    if (w->paired && place(w, w->paired) < 0)
        return opt_usage("eval", "--paired %s is not among the policies", w->paired);
    if (!w->paired && w->policies.n > 1) w->paired = w->policies.item[0];
    return -1;
}

/* Names of traces, one a line; blank lines and lines that begin with # are ignored. */
static int read_excluded(struct work *w, struct err *e)
{
    if (!w->exclude) return 0;
    w->exclude_text = text_read_file(w->exclude, EXCLUDE_BYTES, NULL, e);
    if (!w->exclude_text) return ERR_IO;
    size_t lines = 1;
    for (const char *c = w->exclude_text; *c; c++)
        lines += *c == '\n';
    w->excluded = calloc(lines, sizeof *w->excluded);
    if (!w->excluded) return err_set(e, ERR_MEMORY, "no memory for %zu names", lines);
    char *rest;
    for (char *line = strtok_r(w->exclude_text, "\r\n", &rest); line;
         line = strtok_r(NULL, "\r\n", &rest)) {
        line += strspn(line, " \t");
        size_t n = strlen(line);
        while (n && (line[n - 1] == ' ' || line[n - 1] == '\t'))
            line[--n] = 0;
        if (n && *line != '#') w->excluded[w->n_excluded++] = line;
    }
    return 0;
}

static struct eval_cfg eval_cfg(struct work *w)
{
    struct eval_cfg cfg = eval_cfg_default();
    cfg.emu = setup_emu(&w->setup);
    cfg.count_first = w->count_first;
    cfg.threads = w->threads;
    cfg.seed = w->seed;
    cfg.exclude = w->excluded;
    cfg.n_exclude = w->n_excluded;
    cfg.progress = eval_show_progress;
    cfg.progress_ctx = w;
    return cfg;
}

static int play(struct work *w, struct err *e)
{
    struct eval_cfg cfg = eval_cfg(w);
    const struct algo_ctx ctx = {w->seed, w->shipped};

    int rows = w->n_profiles * w->policies.n;
    w->rows = calloc((size_t)rows, sizeof *w->rows);
    if (!w->rows) return err_set(e, ERR_MEMORY, "no memory for %d rows", rows);
    progress_init(&w->progress, "eval", w->quiet);
    int rc = 0;
    for (w->done = 0; w->done < rows && !rc; w->done++) {
        const struct setup_profile *profile = &w->profiles[w->done / w->policies.n];
        const char *policy = w->policies.item[w->done % w->policies.n];
        rc = w->recorded
                 ? eval_run_sessions(&w->rows[w->done], policy, &ctx, profile->name,
                                     w->recorded, w->recordings.n, &cfg, e)
                 : eval_run(&w->rows[w->done], policy, &ctx, profile->name, &profile->qoe,
                            w->corpus, w->video, &cfg, e);
    }
    progress_end(&w->progress);
    if (rc == EVAL_STOPPED) rc = err_set(e, ERR_IO, "stopped; there are no results");
    return rc;
}

/* The best policy of --over for a profile. */
static const struct eval_row *bar_of(const struct work *w, int profile)
{
    const struct eval_row *best = NULL;
    for (int i = 0; i < w->bars.n; i++) {
        const struct eval_row *r = row_of(w, profile, place(w, w->bars.item[i]));
        if (!best || r->mean_qoe > best->mean_qoe) best = r;
    }
    return best;
}

static void put_gain(struct out *o, double gain, double lo, double hi, const char *over)
{
    out_text(o, "gain_over", over);
    out_interval(o, "gain", gain, lo, hi, 3);
}

static void put_oracle(struct out *o, const struct work *w, int profile,
                       const struct eval_row *r)
{
    int p = place(w, "oracle");
    if (p < 0 || r->trace_bound) return;
    double share, lo, hi;
    eval_share(&share, &lo, &hi, r, row_of(w, profile, p), w->seed);
    out_interval(o, "of_oracle", share, lo, hi, 3);
    out_int(o, "above_bound", eval_above_bound(r, row_of(w, profile, p)));
}

/* ---- the brief table ---- */

/* A gain, as a percentage of the bar's mean, or as a difference. */
struct gain {
    double mean, lo, hi;
    bool known, relative;
};

static void brief_gain(struct out *o, const struct gain *g)
{
    bool certain = g->lo > 0 || g->hi < 0;
    if (!g->known)
        out_brief(o, "gain", false, "-  ");
    else if (g->relative)
        out_brief(o, "gain", false, "%+.1f %%%s", 100 * g->mean, certain ? "*" : " ");
    else
        out_brief(o, "gain", false, "%+.3f%s", g->mean, certain ? "*" : " ");
}

static bool any_utility(const struct work *w, bool points)
{
    for (int i = 0; i < w->n_profiles; i++)
        if ((w->profiles[i].qoe.utility == QOE_POINTS) == points) return true;
    return false;
}

/* A policy in a file without its folder. */
static void brief_policy(struct out *o, const char *policy)
{
    const char *slash = strrchr(policy, '/');
    out_brief(o, "policy", true, "%s%s", slash ? "moe:" : "", slash ? slash + 1 : policy);
}

static void brief_stalls(struct out *o, const struct eval_row *r)
{
    if (!r->link_bound)
        out_brief(o, "stall %", false, "%.2f", 100 * r->stall_ratio);
    else if (r->link_bound == r->n)
        out_brief(o, "stall %", false, "%.2f (-)", 100 * r->stall_ratio);
    else
        out_brief(o, "stall %", false, "%.2f (%.2f)", 100 * r->stall_ratio,
                  100 * r->stall_ratio_carried);
}

static void brief_row(struct out *o, const struct work *w, const struct eval_row *r,
                      const struct gain *gain)
{
    bool points = r->qoe.utility == QOE_POINTS;
    brief_policy(o, r->policy);
    if (w->n_profiles > 1) out_brief(o, "profile", true, "%s", r->profile);
    out_brief(o, "QoE", false, "%.*f", points ? 2 : 3, r->mean_qoe);
    if (w->gain || w->paired) brief_gain(o, gain);
    if (any_utility(w, true)) out_brief(o, "quality", false, "%.1f", r->quality);
    if (any_utility(w, false)) out_brief(o, "Mbit/s", false, "%.3f", r->bitrate_mbps);
    brief_stalls(o, r);
    out_brief(o, "switches/min", false, "%.2f", r->switches_per_min);
    if (w->count_first)
        out_brief(o, "start s (p90)", false, "%.2f (%.2f)", r->startup_median_s,
                  r->startup_p90_s);
}

/* ---- rows ---- */

static void put_paired(struct out *o, const struct work *w, int profile,
                       const struct eval_row *r, struct gain *gain)
{
    if (!w->paired || strcmp(w->paired, r->policy) == 0) return;
    const struct eval_row *than = row_of(w, profile, place(w, w->paired));
    double mean, lo, hi;
    eval_paired(&mean, &lo, &hi, r, than, w->seed);
    out_interval(o, "diff", mean, lo, hi, 3);
    *gain = (struct gain){mean, lo, hi, .known = true};
    eval_paired_stall(&mean, &lo, &hi, r, than, w->seed);
    out_interval(o, "stall_diff", mean, lo, hi, 4);

    if (w->gain || r->mean_qoe <= 0 || than->mean_qoe <= 0) return;
    *gain = (struct gain){.known = true, .relative = true};
    eval_gain(&gain->mean, &gain->lo, &gain->hi, r, than, w->seed);
    put_gain(o, gain->mean, gain->lo, gain->hi, than->policy);
}

/* The row of --gain's policy. */
static void put_over(struct out *o, const struct work *w, int profile,
                     const struct eval_row *r, struct gain *gain)
{
    double mean, lo, hi;
    const struct eval_row *bar = bar_of(w, profile);
    *gain = (struct gain){.known = true, .relative = true};
    eval_gain(&gain->mean, &gain->lo, &gain->hi, r, bar, w->seed);
    put_gain(o, gain->mean, gain->lo, gain->hi, bar->policy);
    int best = place(w, "oracle");
    if (best < 0 || r->trace_bound) return;
    eval_gap_closed(&mean, &lo, &hi, r, bar, row_of(w, profile, best), w->seed);
    out_interval(o, "gap_closed", mean, lo, hi, 3);
}

static const char *set_name(const struct work *w)
{
    return w->recorded ? w->sessions.data : w->corpus->name;
}

static void put_row(struct out *o, const struct work *w, int profile, int policy)
{
    const struct eval_row *r = row_of(w, profile, policy);
    out_row(o);
    out_cells(o,
              "policy=%s profile=%s set=%s n=%d mean_qoe=%.3f ci_lo=%.3f ci_hi=%.3f "
              "bitrate_mbps=%.3f quality=%.2f stall_ratio=%.4f stall_ratio_carried=%.4f "
              "link_bound=%d switches_per_min=%.2f startup_median_s=%.2f "
              "startup_p90_s=%.2f stall_s=%.4f switch_mbps=%.3f stalled=%.4f "
              "session_stall_s=%.2f",
              r->policy, r->profile, set_name(w), r->n, r->mean_qoe, r->ci_lo, r->ci_hi,
              r->bitrate_mbps, r->quality, r->stall_ratio, r->stall_ratio_carried,
              r->link_bound, r->switches_per_min, r->startup_median_s, r->startup_p90_s,
              r->stall_s, r->switch_mbps, r->stalled, r->session_stall_s);
    if (r->trace_bound) out_real(o, "oracle_gap", r->oracle_gap, 4);

    struct gain gain = {0};
    put_paired(o, w, profile, r, &gain);
    put_oracle(o, w, profile, r);
    if (w->gain) gain.known = false;
    if (w->gain && strcmp(w->gain, r->policy) == 0) put_over(o, w, profile, r, &gain);
    brief_row(o, w, r, &gain);
}

/* "mpc and mpc-default" */
static void name_bars(char *out, size_t n, const struct work *w)
{
    *out = 0;
    for (int i = 0; i < w->bars.n; i++) {
        size_t used = strlen(out);
        snprintf(out + used, n - used, "%s%s", i ? " and " : "", w->bars.item[i]);
    }
}

/* The mean of the gains over the papers' documentary, live and news, where all three were played. */
static void put_mean_gain(struct out *o, const struct work *w)
{
    enum { K = sizeof GAIN_PROFILES / sizeof *GAIN_PROFILES };
    const struct eval_row *a[K], *b[K];
    double qoe = 0, bitrate = 0, stall = 0, change = 0, ratio = 0, switches = 0;
    int k = 0;
    for (int i = 0; i < w->n_profiles && k < K; i++) {
        bool counts = false;
        for (int j = 0; j < K; j++)
            counts |= strcmp(w->profiles[i].name, GAIN_PROFILES[j]) == 0;
        if (!counts) continue;
        a[k] = row_of(w, i, place(w, w->gain));
        b[k] = bar_of(w, i);
        qoe += a[k]->mean_qoe / K;
        bitrate += a[k]->bitrate_mbps / K;
        stall += a[k]->stall_s / K;
        change += a[k]->switch_mbps / K;
        ratio += a[k]->stall_ratio / K;
        switches += a[k]->switches_per_min / K;
        k++;
    }
    if (k < K) return;
    double mean, lo, hi;
    eval_gain_mean(&mean, &lo, &hi, a, b, K, w->seed);
    out_row(o);
    out_cells(o,
              "policy=%s profile=%s set=%s n=%d mean_qoe=%.3f bitrate_mbps=%.3f "
              "stall_s=%.4f switch_mbps=%.3f",
              w->gain, GAIN_MEAN, w->corpus->name, a[0]->n, qoe, bitrate, stall, change);
    char over[256];
    name_bars(over, sizeof over, w);
    put_gain(o, mean, lo, hi, over);
    brief_policy(o, w->gain);
    out_brief(o, "profile", true, "mean of the papers'");
    out_brief(o, "QoE", false, "%.3f", qoe);
    brief_gain(o, &(struct gain){mean, lo, hi, .known = true, .relative = true});
    out_brief(o, "Mbit/s", false, "%.3f", bitrate);
    out_brief(o, "stall %", false, "%.2f", 100 * ratio);
    out_brief(o, "switches/min", false, "%.2f", switches);
    out_say(
        o,
        "%s over the best of %s of each profile: %+.1f %% (%+.1f .. %+.1f), mean over "
        "paper-documentary, paper-live and paper-news",
        w->gain, over, 100 * mean, 100 * lo, 100 * hi);
    eval_ratio(&mean, &lo, &hi, a, b, K, w->seed);
    out_interval(o, "ratio", mean, lo, hi, 3);
}

/* What --gain is over, or the policy that the others are compared with. */
static void say_gain(struct out *o, const struct work *w)
{
    char over[256] = "";
    if (w->gain) name_bars(over, sizeof over, w);
    if (w->gain)
        out_say(o, "gain of %s: relative to the best of %s; *: 95 %% interval excludes 0",
                w->gain, over);
    else if (w->paired)
        out_say(
            o,
            "gain: over %s, paired by %s; *: 95 %% interval excludes 0; without %%: a "
            "difference",
            w->paired, w->recorded ? "session" : "trace");
}

/* True if some session is bound by its link. */
static bool any_link_bound(const struct work *w)
{
    for (int i = 0; i < w->n_profiles * w->policies.n; i++)
        if (w->rows[i].link_bound) return true;
    return false;
}

/* What the weights mean, in lines of at most SAID bytes where that is possible. */
static void say_profile(struct out *o, const struct setup_profile *p)
{
    enum { SAID = 96 };
    char means[QOE_MEANS], text[QOE_MEANS + 64];
    qoe_means(means, sizeof means, &p->qoe);
    snprintf(text, sizeof text, "profile %s: %s", p->name, means);
    size_t line = 0; /* start of the current line */
    for (char *at = strstr(text, "; "); at; at = strstr(at + 1, "; ")) {
        const char *next = strstr(at + 2, "; ");
        size_t end = next ? (size_t)(next - text) : strlen(text);
        if (end - line <= SAID) continue;
        at[1] = '\n';
        line = (size_t)(at - text) + 2;
    }
    out_say(o, "%s", text);
}

/* Of recorded sessions. */
static void say_recorded(struct out *o, const struct work *w)
{
    recordings_say(o, &w->recordings, w->sessions.data);
    out_say(o,
            "each session with its own link, video, buffer and profile, up to where its "
            "viewer left; QoE: per chunk, by the session's weights");
    say_gain(o, w);
}

static void say_setup(struct out *o, const struct work *w)
{
    if (w->recorded) {
        say_recorded(o, w);
        return;
    }
    const char *first =
        w->count_first ? "chunk 0 counted" : "chunk 0 at level 1 and not counted";
    out_say(o, "%s: %d traces; video %s: %d chunks of %g s, quality by %s; %s",
            w->corpus->name, w->rows[0].n, w->video->name, w->video->chunks,
            w->video->chunk_s, quality_source_name(w->video->quality), first);
    if (w->n_profiles == 1) say_profile(o, &w->profiles[0]);
    bool points = any_utility(w, true), papers = any_utility(w, false);
    out_say(
        o,
        "QoE: per chunk%s%s%s; quality: 0 to 100; stall %%: of stalled and played time",
        points ? ", in points" : "",
        !papers  ? ""
        : points ? "; of papers' profiles "
                 : ", ",
        papers ? w->setup.utility : "");
    if (any_link_bound(w))
        out_say(
            o,
            "stall %% in parentheses: without %d sessions whose link cannot carry the "
            "lowest level",
            w->rows[0].link_bound);
    say_gain(o, w);
}

static int eval_report(const struct work *w, struct out *o, struct err *e)
{
    say_setup(o, w);
    for (int i = 0; i < w->n_profiles; i++)
        for (int p = 0; p < w->policies.n; p++)
            put_row(o, w, i, p);
    if (w->gain) put_mean_gain(o, w);
    if (!w->recorded) return out_finish(o, e);
    const struct algo_ctx ctx = {w->seed, w->shipped};
    struct eval_recorded r = {
        .recordings = &w->recordings, .rows = w->rows, .n = w->policies.n, .ctx = &ctx};
    int rc = eval_recorded_compare(&r, o, e);
    if (!rc) rc = out_finish(o, e);
    if (!rc) eval_recorded_say(&r, o);
    eval_recorded_free(&r);
    return rc;
}

/* --trajectories and --report. */
static int export_sessions(struct work *w, struct out *o, struct err *e)
{
    struct eval_cfg cfg = eval_cfg(w);
    const struct algo_ctx ctx = {w->seed, w->shipped};
    int moe = place(w, "moe"), with = 0, rc = 0;
    const struct eval_sessions s = {.rows = w->rows,
                                    .n_profiles = w->n_profiles,
                                    .n_policies = w->policies.n,
                                    .profiles = w->profiles,
                                    .shown = w->gain    ? w->gain
                                             : moe >= 0 ? "moe"
                                                        : w->policies.item[0],
                                    .corpus = w->corpus,
                                    .video = w->video,
                                    .cfg = &cfg,
                                    .ctx = &ctx,
                                    .progress = progress_watch,
                                    .progress_ctx = &w->progress};
    for (int i = 0; i < w->detail.n; i++)
        with |= strcmp(w->detail.item[i], "obs") ? TRAJECTORIES_PROBS : TRAJECTORIES_OBS;
    if (w->trajectories) {
        int64_t rows = 0;
        progress_init(&w->progress, "trajectories", w->quiet);
        rc = eval_sessions_export(&rows, &s, w->trajectories, with, e);
        progress_end(&w->progress);
        if (!rc) out_say(o, "%lld chunks in %s", (long long)rows, w->trajectories);
    }
    if (!rc && w->page) rc = eval_sessions_page(&s, w->page, e);
    if (!rc && w->page) out_say(o, "report: %s", w->page);
    return rc;
}

static int judge_draws(struct work *w, struct out *o, struct err *e)
{
    struct eval_cfg cfg = eval_cfg(w);
    const struct algo_ctx ctx = {w->seed, w->shipped};
    enum qoe_utility utility = QOE_POINTS;
    if (w->mu_draws && qoe_utility_parse(&utility, w->setup.utility, e)) return e->code;
    struct eval_draws d = {.n = w->mu_draws ? w->mu_draws : w->draws,
                           .worst = w->worst,
                           .seed = w->seed,
                           .utility = utility,
                           .policies = &w->policies,
                           .corpus = w->corpus,
                           .video = w->video};
    progress_init(&w->progress, "eval", w->quiet);
    int rc = eval_draws_run(o, &d, &ctx, &cfg, e);
    progress_end(&w->progress);
    if (rc == EVAL_STOPPED) rc = err_set(e, ERR_IO, "stopped; there are no results");
    return rc ? rc : out_finish(o, e);
}

static int show_routing(struct work *w, struct out *o, struct err *e)
{
    struct eval_routing r = {.policies = &w->policies,
                             .shipped = w->shipped,
                             .profiles = w->profiles,
                             .n_profiles = w->n_profiles,
                             .emu = setup_emu(&w->setup),
                             .corpus = w->corpus,
                             .video = w->video};
    int rc = eval_routing_run(o, &r, e);
    return rc ? rc : out_finish(o, e);
}

static int show_why(struct work *w, struct out *o, struct err *e)
{
    struct eval_cfg cfg = eval_cfg(w);
    const struct algo_ctx ctx = {w->seed, w->shipped};
    const struct eval_why y = {.trace = w->why,
                               .policies = &w->policies,
                               .setup = &w->setup,
                               .profiles = w->profiles,
                               .n_profiles = w->n_profiles,
                               .video = w->video,
                               .cfg = &cfg,
                               .ctx = &ctx,
                               .worst = w->worst,
                               .page = w->page,
                               .quiet = w->quiet};
    return eval_why_run(o, &y, e);
}

/* The policies of --why without --policy: the shipped one and its rivals. */
static void name_explained(struct work *w)
{
    static const char *const names[] = {"moe", "mpc", "buffer", "rate", "bola", "oracle"};
    w->policies.n = 0;
    for (size_t i = w->shipped ? 0 : 1; i < sizeof names / sizeof *names; i++)
        w->policies.item[w->policies.n++] = names[i];
}

/* The policies of --sessions without --policy. */
static void name_recorded(struct work *w)
{
    for (int i = w->policies.n++; i > 0; i--)
        w->policies.item[i] = w->policies.item[i - 1];
    w->policies.item[0] = EVAL_RECORDED;
}

/* Exit code, or -1. */
static int check_why(const struct work *w)
{
    if (!w->why) return -1;
    if (w->gain || w->paired || draws(w) || w->routing || w->exclude || w->trajectories)
        return opt_usage("eval",
                         "--why cannot be combined with --gain, --paired, --draws, "
                         "--mu-draws, --routing, --exclude and --trajectories");
    if (w->policies.n > WHY_POLICIES)
        return opt_usage("eval", "--policy: --why takes at most %d policies",
                         WHY_POLICIES);
    if (w->policies.n && !strcmp(w->policies.item[0], "oracle"))
        return opt_usage("eval", "--policy: the first one is explained by --why, and the "
                                 "oracle cannot be; name it behind another");
    return -1;
}

static int check_routing(const struct work *w)
{
    if (w->routing && (w->gain || w->paired || draws(w) || w->exclude))
        return opt_usage("eval",
                         "--routing cannot be combined with --gain, --paired, --draws, "
                         "--mu-draws and --exclude");
    return -1;
}

static int play_and_report(struct work *w, struct out *o, struct err *e)
{
    if (w->why) return show_why(w, o, e);
    if (w->routing) return show_routing(w, o, e);
    if (draws(w)) return judge_draws(w, o, e);
    int rc = play(w, e);
    if (!rc && (w->trajectories || w->page)) rc = export_sessions(w, o, e);
    return rc ? rc : eval_report(w, o, e);
}

/* Finds mistakes that would otherwise show only after the work. Exit code, or -1. */
static int check_files(const struct work *w)
{
    struct err e = {0};
    if ((w->page || w->trajectories) && (w->routing || draws(w)))
        return opt_usage("eval",
                         "--report and --trajectories cannot be combined with --routing, "
                         "--draws and --mu-draws");
    for (int i = 0; i < w->detail.n; i++)
        if (strcmp(w->detail.item[i], "obs") != 0 &&
            strcmp(w->detail.item[i], "probs") != 0)
            return opt_usage("eval", "--detail must be obs, probs or both");
    if (w->detail.n && !w->trajectories)
        return opt_usage("eval", "--detail needs --trajectories FILE");
    if (!w->page) return -1;
    struct report *r = page_new(w->page, "", &e);
    report_free(r);
    return r ? -1 : cmd_fail("eval", &e);
}

/* Options that contradict --draws and --mu-draws. Exit code, or -1. */
static int check_draws(const struct work *w)
{
    if (!draws(w)) return -1;
    const char *which = w->draws ? "--draws" : "--mu-draws";
    if (w->draws && w->mu_draws)
        return opt_usage("eval", "--draws and --mu-draws cannot be combined");
    if (w->setup.profiles.n || w->setup.mu || w->setup.weights.n || w->gain || w->paired)
        return opt_usage("eval",
                         "%s cannot be combined with --profile, --weights, --mu, --gain "
                         "and --paired",
                         which);
    if (place(w, "oracle") >= 0)
        return opt_usage("eval", "%s cannot score the oracle", which);
    if (!eval_draws_judged(&w->policies))
        return opt_usage(
            "eval",
            "%s compares a policy with buffer, bola and mpc: name one, as in "
            "--policy moe",
            which);
    return -1;
}

/* Options that sessions bring along. Exit code, or -1. */
static int check_sessions(const struct work *w)
{
    const struct setup *s = &w->setup, usual = setup_default();
    bool world = s->traces || s->part != usual.part || s->video || s->quality ||
                 s->ladder.n || s->chunk_s > 0 || s->chunks || s->mu || s->weights.n ||
                 s->spread >= 0 || strcmp(s->utility, usual.utility) || s->no_wrap ||
                 s->buffer_s < usual.buffer_s || s->buffer_s > usual.buffer_s;
    const char *filter = recordings_option(&w->sessions);
    if (!w->sessions.data && filter)
        return opt_usage("eval", "--%s needs --sessions DATA", filter);
    if (!w->sessions.data) return -1;
    if (world)
        return opt_usage("eval",
                         "--sessions brings links, videos, buffers and weights: it "
                         "cannot be combined with --traces, --part, --video, "
                         "--quality, --ladder, --chunk-s, --chunks, --spread, "
                         "--weights, --mu, --utility, --buffer-s and --no-wrap");
    if (w->gain || draws(w) || w->routing || w->why || w->exclude || w->page ||
        w->trajectories)
        return opt_usage("eval", "--sessions cannot be combined with --gain, --draws, "
                                 "--mu-draws, --routing, --why, --exclude, --report and "
                                 "--trajectories");
    if (place(w, "oracle") >= 0)
        return opt_usage("eval", "--sessions cannot score the oracle");
    return -1;
}

/* Sessions, and the deciders of the arms that ran. */
static int load_sessions(struct work *w, struct err *e)
{
    struct recordings *s = &w->recordings;
    w->sessions.profiles = w->setup.profiles;
    int rc = recordings_load(s, &w->sessions, e);
    if (!rc) w->recorded = eval_recorded_sessions(s, w->setup.abandon, e);
    if (!w->recorded) return rc ? rc : ERR_MEMORY;
    for (int a = 0; a < s->arms; a++)
        if (s->arm[a].known && *s->arm[a].policy && s->arm[a].n)
            add_policy(w, s->arm[a].policy);
    snprintf(w->profiles[0].name, sizeof w->profiles[0].name, "own");
    w->profiles[0].qoe = s->at[0].terms.qoe;
    w->n_profiles = 1;
    w->count_first = true;
    return 0;
}

static int eval_command(struct work *w)
{
    struct err e = {0};
    int wrong = check_sessions(w);
    if (wrong >= 0) return wrong;
    if (w->sessions.data && load_sessions(w, &e)) return cmd_fail("eval", &e);
    const char *otherwise = w->gain ? "papers" : w->routing ? "all" : "standard";
    if (!w->recorded)
        w->n_profiles = setup_profiles(w->profiles, &w->setup, otherwise, &e);
    if (w->n_profiles < 0) return opt_usage("eval", "%s: %s", e.field, e.detail);
    if (w->gain) {
        add_policy(w, w->gain);
        for (int i = 0; i < w->bars.n; i++)
            add_policy(w, w->bars.item[i]);
    }
    int code = check_why(w);
    if (code < 0) code = check_draws(w);
    if (code < 0) code = check_routing(w);
    if (code < 0) code = check_files(w);
    if (code < 0) code = check_policies(w);
    if (code >= 0) return code;

    w->out.taken = w->trajectories && strcmp(w->trajectories, "-") == 0;
    struct out *o = out_new(&w->out, &e);
    if (!o) return cmd_fail("eval", &e);
    code = OPT_EXIT_FAILED;
    if (read_excluded(w, &e)) goto out;
    /* eval_why finds its own */
    w->corpus = w->why || w->recorded ? NULL : setup_corpus(&w->setup, &e);
    if (!w->corpus && !w->why && !w->recorded) goto out;
    w->video = w->recorded ? NULL : setup_video(&w->setup, &e);
    if (!w->video && !w->recorded) goto out;
    interrupt_catch();
    if (play_and_report(w, o, &e)) goto out;
    code = OPT_EXIT_DONE;
out:
    if (code) cmd_fail("eval", &e);
    out_free(o);
    return code;
}

int cmd_eval(int argc, char **argv)
{
    struct work w = {.setup = setup_default(),
                     .sessions = recordings_cfg_default(),
                     .seed = 1,
                     .threads = pool_cpus(),
                     .worst = 5};
    struct err absent = {0};
    bool shipped = !home_find(w.shipped_path, HOME_POLICY, &absent);
    if (shipped) w.shipped = w.shipped_path;
    static const char first_default[] = "buffer";
    w.policies = (struct field_list){
        .n = shipped ? 5 : 4, .item = {first_default, "rate", "bola", "mpc", "moe"}};
    w.bars = (struct field_list){.n = 2, .item = {"mpc", "mpc-default"}};
    const struct field opts[] = {
        {"policy", "A,B",
         "policies to score: fixed-N, random, rate, buffer, bola, bola-e, bba-2, hyb, "
         "soda, "
         "mpc, mpc-default, mpc-tail, fugu, hold, "
         "oracle, moe, moe:FILE",
         FIELD_TO(w.policies)},
        {"sessions", "DATA",
         "play the sessions that a daemon recorded, from its data folder or a backup, "
         "each with its own link, video, buffer and profile; --profile then chooses "
         "sessions. The policy 'recorded' plays what was played",
         FIELD_TO(w.sessions.data)},
        SETUP_OPTIONS(w.setup),
        {"count-first", NULL,
         "let the policy choose the level of chunk 0, and count its reward",
         FIELD_TO(w.count_first)},
        {"exclude", "FILE", "file with the names of traces to leave out, one per line",
         FIELD_TO(w.exclude)},
        {"paired", "POLICY",
         "policy that the others are compared with, trace by trace (default: the first)",
         FIELD_TO(w.paired)},
        {"gain", "POLICY",
         "print the relative gain of this policy over the best of --over, per profile; "
         "with the papers' profiles also the papers' mean over documentary, live and "
         "news",
         FIELD_TO(w.gain)},
        {"over", "A,B", "policies that --gain is compared with", FIELD_TO(w.bars)},
        {"draws", "N",
         "draw N sets of --weights instead of using profiles, each between 0.25 and 4 of "
         "'standard' (log-uniform); print how often each policy is not below the best of "
         "buffer, bola and mpc",
         FIELD_TO(w.draws), .lo = 0, .hi = EVAL_SAMPLED_MAX},
        {"mu-draws", "N",
         "the same with N sets of weights in the papers' form (--mu, --utility), with "
         "sum "
         "1",
         FIELD_TO(w.mu_draws), .lo = 0, .hi = EVAL_SAMPLED_MAX},
        {"routing", NULL,
         "print which expert of moe or moe:FILE is chosen, per profile, instead of "
         "scores; later policies are compared in the states that the first one visits",
         FIELD_TO(w.routing)},
        {"why", "TRACE",
         "explain one session of the first policy instead of printing scores: for each "
         "chunk what was known, what the other policies would take, and what that would "
         "have earned; TRACE is the name of a trace, or a file; with oracle among the "
         "policies also what each choice lost (default policies: moe, mpc, buffer, rate, "
         "bola, oracle)",
         FIELD_TO(w.why)},
        {"worst", "N",
         "print the N worst draws of --draws or --mu-draws, or the N chunks of --why "
         "that cost most",
         FIELD_TO(w.worst), .lo = 0, .hi = EVAL_SAMPLED_MAX},
        {"seed", "N", "seed of the policy random, of drawn weights and of the bootstrap",
         FIELD_TO(w.seed)},
        {"threads", "N", "threads that play traces", FIELD_TO(w.threads), .lo = 1,
         .hi = 64, .shown = "one per processor"},
        {"report", "FILE.html",
         "HTML page with distributions, stalls and timelines, with CSV and JSON next to "
         "it",
         FIELD_TO(w.page)},
        {"trajectories", "FILE",
         "file for every chunk of every session, as CSV, or as JSON lines for "
         "FILE.jsonl; - is standard output; traces/README.md describes the columns",
         FIELD_TO(w.trajectories), .flags = FIELD_OUTPUT},
        {"detail", "A,B",
         "columns to add to --trajectories: obs (observations), probs (probabilities of "
         "the levels)",
         FIELD_TO(w.detail)},
        RECORDINGS_OPTIONS(w.sessions),
        OPT_QUIET(w.quiet),
        OUT_WIDE(w.out),
        OUT_OPTIONS(w.out),
        {0},
    };
    struct setup_terms terms;
    setup_terms(&terms);
    const struct opt_cmd cmd = {
        .name = "eval",
        .terms_heading = "profiles",
        .terms = terms.at,
        .about = "Plays traces with each policy in the deterministic emulator. Prints "
                 "the mean QoE\n"
                 "per chunk and what viewers see: quality, stalls, switches; with "
                 "--count-first also\n"
                 "the start-up. --wide adds intervals and differences, paired by trace.",
        .opts = opts,
        .example =
            "abrd eval --policy buffer,mpc,oracle --profile all\n"
            "abrd eval --policy moe,mpc,oracle --report scores.html\n"
            "abrd eval --policy moe --trajectories moe.jsonl --detail obs,probs\n"
            "abrd eval --sessions /var/lib/abrd --policy recorded,moe,mpc\n"
            "abrd eval --policy moe --draws 200\n"
            "abrd eval --why 3g-commute-04 --count-first\n"
            "abrd eval --policy moe:old.safetensors,moe:new.safetensors --routing\n"
            "abrd eval --gain moe --traces DIR --video DIR --json -",
    };
    int first = opt_parse(&cmd, argc, argv);
    if (first < 0) return opt_status(first);
    int short_of = cmd_blas("eval", w.threads);
    if (short_of) return short_of;

    if (!shipped && w.policies.item[0] == first_default)
        fprintf(stderr, "abrd eval: moe is not %s: %s%s%s\n",
                w.why ? "explained" : "scored", absent.field, *absent.field ? ": " : "",
                absent.detail);
    if (w.why && w.policies.item[0] == first_default) name_explained(&w);
    if (w.sessions.data && w.policies.item[0] == first_default) name_recorded(&w);
    /* taken out of the measured downloads, and charged again */
    w.sessions.rtt_ms = w.setup.rtt_ms;
    int code = eval_command(&w);
    for (int i = 0; w.rows && i < w.policies.n * w.n_profiles; i++)
        eval_row_free(&w.rows[i]);
    free(w.rows);
    free(w.recorded);
    recordings_free(&w.recordings);
    free(w.excluded);
    free(w.exclude_text);
    video_free(w.video);
    corpus_free(w.corpus);
    return code;
}

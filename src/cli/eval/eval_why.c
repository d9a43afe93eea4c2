#include "cli/eval/eval_why.h"

#include "abr/emulator/feat.h"
#include "abr/why.h"
#include "cli/page.h"
#include "cli/progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LINE = 400, NAME = 40 };

/* One explained session. */
struct session {
    const struct eval_why *all;
    const struct trace *trace;
    const struct setup_profile *profile;
    struct why why;
};

/* ---- the trace ---- */

static int no_such_trace(const struct eval_why *w, const struct corpus *c, struct err *e)
{
    char names[200] = "";
    for (int i = 0; i < c->n && i < 3; i++) {
        size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", c->traces[i]->name);
    }
    return err_field(e, ERR_ABSENT, "--why",
                     "'%.80s' is neither a file nor one of the %d traces of '%s' (%s%s); "
                     "see --traces and --part",
                     w->trace, c->n, c->name, names, c->n > 3 ? ", ..." : "");
}

/* Sets *file (owned) or *corpus (owned), *trace in it and its place. */
static int find_trace(struct trace **file, struct corpus **corpus,
                      const struct trace **trace, uint64_t *key, const struct eval_why *w,
                      struct err *e)
{
    struct stat st;
    if (!stat(w->trace, &st) && S_ISREG(st.st_mode)) {
        *trace = *file = trace_load(w->trace, e);
        return *file ? 0 : e->code;
    }
    *corpus = setup_corpus(w->setup, e);
    if (!*corpus) return e->code;
    for (int i = 0; i < (*corpus)->n; i++) {
        if (strcmp((*corpus)->traces[i]->name, w->trace) != 0) continue;
        *trace = (*corpus)->traces[i];
        *key = (uint64_t)i;
        return 0;
    }
    return no_such_trace(w, *corpus, e);
}

/* ---- words ---- */

/* A policy in a file without its folder. */
static const char *short_name(char buf[NAME], const char *policy)
{
    const char *slash = strrchr(policy, '/');
    snprintf(buf, NAME, "%s%s", slash ? "moe:" : "", slash ? slash + 1 : policy);
    return buf;
}

static const char *policy_of(const struct session *s, int p)
{
    return s->all->policies->item[p];
}

/* Digits of a QoE. */
static int digits(const struct session *s)
{
    return s->profile->qoe.utility == QOE_POINTS ? 1 : 2;
}

static const char *unit(const struct session *s)
{
    return s->profile->qoe.utility == QOE_POINTS ? "points" : "QoE";
}

static double kbps_of(const struct why_chunk *c, int p)
{
    return c->view.ladder_kbps[c->choice[p].level];
}

static double last_kbps(const struct why_chunk *c)
{
    const struct view *v = &c->view;
    return v->n_history ? v->throughput_kbps[v->n_history - 1] : (double)NAN;
}

static double forecast_kbps(const struct why_chunk *c, int quantile)
{
    return c->forecast.mean_kbps > 0 ? c->forecast.next_kbps[quantile] : (double)NAN;
}

/* What the session would have earned more. */
static double session_diff(const struct session *s, const struct why_chunk *c, int p)
{
    return why_outcome_of(c, p)->total - s->why.total;
}

static double qoe_diff(const struct why_chunk *c, int p)
{
    return why_outcome_of(c, p)->reward - why_outcome_of(c, 0)->reward;
}

/* The first policy that chooses p's level: it speaks for all of them. */
static bool speaks(const struct why_chunk *c, int p)
{
    for (int q = 0; q < p; q++)
        if (c->choice[q].level == c->choice[p].level) return false;
    return true;
}

static void add_text(char *text, size_t size, const char *more)
{
    size_t n = strlen(text);
    snprintf(text + n, size - n, "%s", more);
}

/* "rate,bola": the policies that choose p's level. */
static void name_alike(char *text, size_t size, const struct session *s,
                       const struct why_chunk *c, int p)
{
    char name[NAME];
    *text = '\0';
    for (int q = 0; q < s->why.n_policies; q++) {
        if (c->choice[q].level != c->choice[p].level) continue;
        if (*text) add_text(text, size, ",");
        add_text(text, size, short_name(name, policy_of(s, q)));
    }
}

/* "rate,bola 750 -3.1/-2.0; mpc 2850 +20.1/-12.4" */
static void name_others(char text[LINE], const struct session *s,
                        const struct why_chunk *c)
{
    *text = '\0';
    for (int p = 1; p < s->why.n_policies; p++) {
        if (!speaks(c, p)) continue;
        char names[LINE / 2], one[LINE];
        name_alike(names, sizeof names, s, c, p);
        snprintf(one, sizeof one, "%s%s %.0f %+.*f/%+.*f", *text ? "; " : "", names,
                 kbps_of(c, p), digits(s), qoe_diff(c, p), digits(s),
                 session_diff(s, c, p));
        add_text(text, LINE, one);
    }
}

static void name_by(char buf[NAME], const struct why_choice *c)
{
    if (c->prob == c->prob && c->by != WHY_FIRST_LEVEL)
        snprintf(buf, NAME, "%s %.0f %%", why_by_name(c->by), 100 * c->prob);
    else
        snprintf(buf, NAME, "%s", why_by_name(c->by));
}

/* ---- rows ---- */

static void brief_mbps(struct out *o, const char *title, double kbps)
{
    if (kbps == kbps)
        out_brief(o, title, false, "%.2f", kbps / 1000);
    else
        out_brief(o, title, false, "-");
}

static void brief_chunk(struct out *o, const struct session *s, const struct why_chunk *c)
{
    const struct why_outcome *own = why_outcome_of(c, 0);
    char by[NAME], others[LINE];
    if (s->all->n_profiles > 1) out_brief(o, "profile", true, "%s", s->profile->name);
    out_brief(o, "chunk", false, "%d", c->view.chunk);
    out_brief(o, "buffer s", false, "%.1f", c->view.buffer_s);
    brief_mbps(o, "last", last_kbps(c));
    brief_mbps(o, "low", forecast_kbps(c, WHY_LOW));
    brief_mbps(o, "mid", forecast_kbps(c, WHY_MID));
    brief_mbps(o, "high", forecast_kbps(c, WHY_HIGH));
    out_brief(o, "took", false, "%.0f", kbps_of(c, 0));
    name_by(by, &c->choice[0]);
    out_brief(o, "by", true, "%s", by);
    out_brief(o, "QoE", false, "%.*f", digits(s), own->reward);
    out_brief(o, "stall s", false, "%.1f", own->stall_s);
    if (s->why.oracle >= 0) out_brief(o, "lost", false, "%.*f", digits(s), why_lost(c));
    if (s->why.n_policies == 1) return;
    name_others(others, s, c);
    out_brief(o, "others", true, "%s", others);
}

static void put_choice(struct out *o, const struct session *s, const struct why_chunk *c,
                       int p)
{
    const struct why_choice *choice = &c->choice[p];
    const struct why_outcome *x = why_outcome_of(c, p);
    out_row(o);
    out_cells(o,
              "profile=%s trace=%s chunk=%d start_s=%.2f buffer_s=%.2f last_kbps=%.0f "
              "forecast_low_kbps=%.0f forecast_mid_kbps=%.0f forecast_high_kbps=%.0f "
              "policy=%s level=%d kbps=%.0f by=%s prob=%.3f",
              s->profile->name, s->trace->name, c->view.chunk, c->start_s,
              c->view.buffer_s, last_kbps(c), forecast_kbps(c, WHY_LOW),
              forecast_kbps(c, WHY_MID), forecast_kbps(c, WHY_HIGH), policy_of(s, p),
              choice->level, kbps_of(c, p), why_by_name(choice->by), choice->prob);
    out_cells(o,
              "qoe=%.3f stall_s=%.3f qoe_diff=%.3f session_qoe=%.3f "
              "session_stall_s=%.3f session_diff=%.3f stall_diff=%.3f",
              x->reward, x->stall_s, qoe_diff(c, p), x->total, x->session_stall_s,
              session_diff(s, c, p), x->session_stall_s - s->why.stall_s);
    if (s->why.oracle >= 0) out_real(o, "lost", c->best - x->best, 3);
    if (p == 0) brief_chunk(o, s, c);
}

static void say_session(struct out *o, const struct session *s)
{
    const struct why *y = &s->why;
    char name[NAME];
    int n = y->n;
    out_say(o,
            "%s on %s, profile %s: QoE %.*f per chunk, %.*f in %d chunks; %.1f s of "
            "stalls",
            short_name(name, policy_of(s, 0)), s->trace->name, s->profile->name,
            digits(s) + 1, y->total / n, digits(s), y->total, n, y->stall_s);
    if (y->oracle < 0) return;
    char share[64] = "", gap[64] = "";
    if (y->optimum > 0)
        snprintf(share, sizeof share, ", of which this is %.1f %%",
                 100 * y->total / y->optimum);
    if (y->gap > 0.01 * fabs(y->optimum) / n)
        snprintf(gap, sizeof gap, "; proven up to %.*f", digits(s), y->gap);
    out_say(o, "the offline optimum: %.*f per chunk, %.*f in all%s%s", digits(s) + 1,
            y->optimum / n, digits(s), y->optimum, share, gap);
}

static bool any_utility(const struct eval_why *w, bool points)
{
    for (int i = 0; i < w->n_profiles; i++)
        if ((w->profiles[i].qoe.utility == QOE_POINTS) == points) return true;
    return false;
}

static void say_columns(struct out *o, const struct session *s)
{
    const struct eval_why *w = s->all;
    bool points = any_utility(w, true), papers = any_utility(w, false);
    char utility[80] = "";
    if (papers)
        snprintf(utility, sizeof utility, "%s%s", points ? "; of papers' profiles " : "",
                 w->setup->utility);
    out_say(o, "QoE: %s%s; %s", points ? "points" : "", utility,
            w->cfg->count_first ? "chunk 0 counted"
                                : "chunk 0 at level 1 and not counted");
    out_say(o,
            "last, low, mid, high: Mbit/s measured last, and the forecast for this chunk "
            "(5 of 6, half and\na fifth of downloads are faster)");
    if (s->why.oracle >= 0)
        out_say(o, "lost: by this choice, against the best plan from this state");
    if (s->why.n_policies > 1)
        out_say(o, "others: who would take another level here, its kbit/s, and what "
                   "this chunk and the\nsession would have earned more, if the policy "
                   "decided all later chunks");
}

/* ---- the chunks that cost most ---- */

struct cost {
    double qoe;        /* what the session would have earned more */
    int chunk, policy; /* places */
};

static int by_cost(const void *a, const void *b)
{
    const struct cost *x = a, *y = b;
    if (x->qoe != y->qoe) return x->qoe < y->qoe ? 1 : -1;
    return x->chunk - y->chunk;
}

/* The best other choice of each chunk, the largest gain first. *n: those that gain. NULL: no memory. */
static struct cost *other_choices(int *n, const struct session *s)
{
    struct cost *costs = calloc((size_t)s->why.n + 1, sizeof *costs);
    *n = 0;
    for (int i = 0; costs && i < s->why.n; i++) {
        struct cost best = {5e-4, i, 0}; /* less is not shown */
        for (int p = 1; p < s->why.n_policies; p++) {
            double more = session_diff(s, &s->why.chunk[i], p);
            if (more > best.qoe) best = (struct cost){more, i, p};
        }
        if (best.policy) costs[(*n)++] = best;
    }
    if (costs) qsort(costs, (size_t)*n, sizeof *costs, by_cost);
    return costs;
}

/* The chunks that lost against the best plan, the largest loss first. */
static struct cost *losses(int *n, const struct session *s)
{
    struct cost *costs = calloc((size_t)s->why.n + 1, sizeof *costs);
    *n = 0;
    for (int i = 0; costs && i < s->why.n && s->why.oracle >= 0; i++)
        if (why_lost(&s->why.chunk[i]) > 5e-4)
            costs[(*n)++] = (struct cost){why_lost(&s->why.chunk[i]), i, s->why.oracle};
    if (costs) qsort(costs, (size_t)*n, sizeof *costs, by_cost);
    return costs;
}

/* "would have saved 3.1 s of stall, +12.4 points" */
static void word_gain(char text[LINE], const struct session *s, const struct cost *x)
{
    const struct why_chunk *c = &s->why.chunk[x->chunk];
    double saved_s = s->why.stall_s - why_outcome_of(c, x->policy)->session_stall_s;
    if (saved_s >= 0.05)
        snprintf(text, LINE, "would have saved %.1f s of stall, %+.*f %s", saved_s,
                 digits(s), x->qoe, unit(s));
    else if (saved_s <= -0.05)
        snprintf(text, LINE, "would have earned %+.*f %s, with %.1f s more of stall",
                 digits(s), x->qoe, unit(s), -saved_s);
    else
        snprintf(text, LINE, "would have earned %+.*f %s", digits(s), x->qoe, unit(s));
}

static int say_costs(struct out *o, const struct session *s, struct err *e)
{
    int n, m;
    struct cost *other = other_choices(&n, s), *lost = losses(&m, s);
    int most = s->all->worst, rc = 0;
    if (!other || !lost) rc = err_set(e, ERR_MEMORY, "no memory for %d chunks", s->why.n);
    const char *which = s->all->n_profiles > 1 ? s->profile->name : "";
    if (!rc && !n && s->why.n_policies > 1)
        out_say(o, "%s%sno other single choice would have earned more", which,
                *which ? ": " : "");
    for (int i = 0; i < n && i < most && !rc; i++) {
        const struct why_chunk *c = &s->why.chunk[other[i].chunk];
        char names[LINE / 2], gain[LINE];
        name_alike(names, sizeof names, s, c, other[i].policy);
        word_gain(gain, s, &other[i]);
        out_say(o, "%s%schunk %d: took %.0f, %s %.0f %s", which, *which ? ": " : "",
                c->view.chunk, kbps_of(c, 0), names, kbps_of(c, other[i].policy), gain);
    }
    char text[LINE] = "";
    for (int i = 0; i < m && i < most && !rc; i++) {
        char one[64];
        snprintf(one, sizeof one, "%s%d (%.*f)", i ? ", " : "",
                 s->why.chunk[lost[i].chunk].view.chunk, digits(s), lost[i].qoe);
        add_text(text, sizeof text, one);
    }
    if (*text)
        out_say(o, "%s%slost most against the best plan: chunk %s", which,
                *which ? ": " : "", text);
    free(lost);
    free(other);
    return rc;
}

/* ---- the page ---- */

static void page_costs(struct report *r, const struct session *s)
{
    int n;
    struct cost *x = other_choices(&n, s);
    char title[120];
    snprintf(title, sizeof title, "The chunks at which another choice gains most, %s",
             s->profile->name);
    if (n) report_table(r, title);
    for (int i = 0; i < n && i < s->all->worst; i++) {
        const struct why_chunk *c = &s->why.chunk[x[i].chunk];
        const struct why_outcome *y = why_outcome_of(c, x[i].policy);
        char names[LINE / 2];
        name_alike(names, sizeof names, s, c, x[i].policy);
        report_row(r);
        report_int(r, "chunk", c->view.chunk);
        report_real(r, "took [kbit/s]", kbps_of(c, 0), 0);
        report_cell(r, "other choice of", "%s", names);
        report_real(r, "it [kbit/s]", kbps_of(c, x[i].policy), 0);
        report_real(r, "QoE of the session, more", x[i].qoe, digits(s));
        report_real(r, "stalls of the session, less [s]",
                    s->why.stall_s - y->session_stall_s, 2);
    }
    free(x);
}

static void page_chunks(struct report *r, const struct session *s)
{
    char title[80], by[NAME], others[LINE];
    snprintf(title, sizeof title, "Every chunk, %s", s->profile->name);
    report_table(r, title);
    for (int i = 0; i < s->why.n; i++) {
        const struct why_chunk *c = &s->why.chunk[i];
        const struct why_outcome *own = why_outcome_of(c, 0);
        name_by(by, &c->choice[0]);
        name_others(others, s, c);
        report_row(r);
        report_int(r, "chunk", c->view.chunk);
        report_real(r, "time [s]", c->start_s, 1);
        report_real(r, "buffer [s]", c->view.buffer_s, 1);
        report_real(r, "last [Mbit/s]", last_kbps(c) / 1000, 2);
        report_real(r, "low", forecast_kbps(c, WHY_LOW) / 1000, 2);
        report_real(r, "mid", forecast_kbps(c, WHY_MID) / 1000, 2);
        report_real(r, "high", forecast_kbps(c, WHY_HIGH) / 1000, 2);
        report_real(r, "took [kbit/s]", kbps_of(c, 0), 0);
        report_cell(r, "by", "%s", by);
        report_real(r, "QoE", own->reward, digits(s));
        report_real(r, "stall [s]", own->stall_s, 1);
        if (s->why.oracle >= 0) report_real(r, "lost", why_lost(c), digits(s));
        report_cell(r, "others", "%s", others);
    }
}

enum { X, TIME, BUFFER, RATE, LAST, STALL, VALUE, SERIES };

/* data: (SERIES, n) */
static void page_session_timeline(struct report *r, const struct session *s, double *data)
{
    size_t n = (size_t)s->why.n;
    for (size_t i = 0; i < n; i++) {
        const struct why_chunk *c = &s->why.chunk[i];
        data[X * n + i] = c->view.chunk;
        data[TIME * n + i] = c->start_s;
        data[BUFFER * n + i] = c->view.buffer_s;
        data[RATE * n + i] = kbps_of(c, 0) / 1000;
        data[LAST * n + i] = last_kbps(c) / 1000;
        data[STALL * n + i] = why_outcome_of(c, 0)->stall_s;
    }
    char id[64], title[400], name[NAME];
    snprintf(id, sizeof id, "timeline-%s", s->profile->name);
    snprintf(title, sizeof title, "%s on %s, profile %s",
             short_name(name, policy_of(s, 0)), s->trace->name, s->profile->name);
    page_timeline(r, id, title,
                  "A point marks the time of a request: the buffer and the throughput "
                  "measured last, as the policy saw them.",
                  &(struct page_timeline){.n = s->why.n,
                                          .at_s = data + TIME * n,
                                          .buffer_s = data + BUFFER * n,
                                          .mbps = data + RATE * n,
                                          .throughput_mbps = data + LAST * n,
                                          .stall_s = data + STALL * n});
}

/* A figure over chunks with a series per policy. */
static void page_over_chunks(struct report *r, const struct session *s, double *data,
                             const char *what, const char *title, const char *caption,
                             const char *y, int first,
                             double (*value)(const struct session *s,
                                             const struct why_chunk *c, int p))
{
    size_t n = (size_t)s->why.n;
    char id[64], name[NAME];
    snprintf(id, sizeof id, "%s-%s", what, s->profile->name);
    report_figure(r, id, title, caption);
    report_panel(r, &(struct report_panel){.x = {.label = "chunk"}, .y = {.label = y}});
    for (int p = first; p < s->why.n_policies; p++) {
        for (size_t i = 0; i < n; i++)
            data[VALUE * n + i] = value(s, &s->why.chunk[i], p);
        report_series(r,
                      &(struct report_series){.name = short_name(name, policy_of(s, p)),
                                              .kind = first ? REPORT_POINTS : REPORT_LINE,
                                              .n = s->why.n,
                                              .x = data + X * n,
                                              .y = data + VALUE * n});
    }
}

static double mbps_value(const struct session *s, const struct why_chunk *c, int p)
{
    (void)s;
    return kbps_of(c, p) / 1000;
}

/* No point where a rival agrees. */
static double session_value(const struct session *s, const struct why_chunk *c, int p)
{
    bool same = c->choice[p].level == c->choice[0].level;
    return same ? (double)NAN : session_diff(s, c, p);
}

static void page_losses(struct report *r, const struct session *s, double *data)
{
    size_t n = (size_t)s->why.n;
    char id[64];
    for (size_t i = 0; i < n; i++)
        data[VALUE * n + i] = why_lost(&s->why.chunk[i]);
    snprintf(id, sizeof id, "lost-%s", s->profile->name);
    report_figure(r, id, "Lost against the best plan",
                  "What each choice lost against the best plan from its state. The sum "
                  "is the distance from the offline optimum.");
    report_panel(
        r, &(struct report_panel){.x = {.label = "chunk"}, .y = {.label = unit(s)}});
    report_series(r, &(struct report_series){.name = "lost",
                                             .kind = REPORT_POINTS,
                                             .n = s->why.n,
                                             .x = data + X * n,
                                             .y = data + VALUE * n});
}

static int page_session(struct report *r, const struct session *s, struct err *e)
{
    double *data = calloc(SERIES * (size_t)s->why.n, sizeof *data);
    if (!data) return err_set(e, ERR_MEMORY, "no memory for %d chunks", s->why.n);
    page_costs(r, s);
    page_session_timeline(r, s, data);
    page_over_chunks(r, s, data, "choices", "What each policy would take",
                     "In the state of the session, chunk by chunk.", "Mbit/s", 0,
                     mbps_value);
    if (s->why.n_policies > 1)
        page_over_chunks(r, s, data, "gains", "What other choices would have earned",
                         "QoE of the whole session with this one choice, less that of "
                         "the session.",
                         unit(s), 1, session_value);
    if (s->why.oracle >= 0) page_losses(r, s, data);
    page_chunks(r, s);
    free(data);
    return 0;
}

/* ---- all profiles ---- */

static int report_session(struct out *o, struct report *r, const struct session *s,
                          struct err *e)
{
    say_session(o, s);
    for (int i = 0; i < s->why.n; i++)
        for (int p = 0; p < s->why.n_policies; p++)
            put_choice(o, s, &s->why.chunk[i], p);
    return r ? page_session(r, s, e) : 0;
}

static int why_page(struct report **out, const struct eval_why *w,
                    const struct trace *trace, struct err *e)
{
    *out = NULL;
    if (!w->page) return 0;
    *out = page_new(w->page, "Why this bitrate", e);
    if (!*out) return e->code;
    report_summary(*out,
                   "What each policy chose on %s, chunk by chunk, and what it cost.",
                   trace->name);
    report_param(*out, "trace", "%s", trace->name);
    report_param(*out, "video", "%s, %d chunks of %g s", w->video->name, w->video->chunks,
                 w->video->chunk_s);
    report_param(*out, "chunk 0", "%s",
                 w->cfg->count_first ? "counted" : "at level 1, not counted");
    return 0;
}

static int explain_session(struct session *s, const struct emu_world *world, uint64_t key,
                           struct err *e)
{
    const struct eval_why *w = s->all;
    struct progress bar;
    const struct why_cfg cfg = {.world = world,
                                .qoe = &s->profile->qoe,
                                .first_level = eval_first_level(w->cfg),
                                .key = key,
                                .policies = w->policies->item,
                                .n_policies = w->policies->n,
                                .ctx = w->ctx,
                                .threads = w->cfg->threads,
                                .progress = progress_watch,
                                .progress_ctx = &bar};
    progress_init(&bar, "why", w->quiet);
    int rc = why_run(&s->why, &cfg, e);
    progress_end(&bar);
    return rc == WHY_STOPPED ? err_set(e, ERR_IO, "stopped; there are no results") : rc;
}

int eval_why_run(struct out *o, const struct eval_why *w, struct err *e)
{
    struct trace *file = NULL;
    struct corpus *corpus = NULL;
    const struct trace *trace = NULL;
    struct report *page = NULL;
    struct session s[SETUP_PROFILES] = {0};
    uint64_t key = 0;
    int rc = find_trace(&file, &corpus, &trace, &key, w, e);
    if (!rc) rc = emu_check(&w->cfg->emu, w->video, e);
    if (!rc && !w->cfg->count_first && w->video->chunks < 2)
        rc = err_field(e, ERR_RANGE, "--video",
                       "has one chunk, which only --count-first lets the policy choose");
    if (!rc) rc = why_page(&page, w, trace, e);

    const struct emu_world world = {w->video, trace, w->cfg->emu};
    for (int i = 0; i < w->n_profiles && !rc; i++) {
        s[i] = (struct session){.all = w, .trace = trace, .profile = &w->profiles[i]};
        rc = explain_session(&s[i], &world, key, e);
    }
    for (int i = 0; i < w->n_profiles && !rc; i++)
        rc = report_session(o, page, &s[i], e);
    if (!rc) say_columns(o, &s[0]);
    if (!rc) rc = out_finish(o, e);
    for (int i = 0; i < w->n_profiles && !rc; i++)
        rc = say_costs(o, &s[i], e);
    if (!rc && page) rc = page_write(page, w->page, e);
    if (!rc && page) out_say(o, "report: %s", w->page);

    for (int i = 0; i < w->n_profiles; i++)
        why_free(&s[i].why);
    report_free(page);
    trace_free(file);
    corpus_free(corpus);
    return rc;
}

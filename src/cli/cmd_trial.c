/* abrd trial: look at the trial of a running daemon, begin one, promote an arm, roll back. */
#include "abr/compare.h"
#include "base/pool.h"
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/eval/eval_recorded.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/page.h"
#include "cli/trial_plan.h"
#include "serve/session/labels.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------ CSV */

/* Rows of the daemon's CSV, whose cells have no quotes. */
enum { CELLS = 16, ASK_PATH = 512 };

struct csv {
    char *text;
    int n, cells;
    char *(*row)[CELLS]; /* (n); the first has the names; owned */
};

static void csv_free(struct csv *c)
{
    free(c->row);
    free(c->text);
    *c = (struct csv){0};
}

/* Takes the text. */
static int csv_read(struct csv *out, char *text, struct err *e)
{
    int lines = 1;
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    *out = (struct csv){.text = text, .row = calloc((size_t)lines, sizeof *out->row)};
    if (!out->row) {
        free(text);
        return err_set(e, ERR_MEMORY, "no memory for %d rows", lines);
    }
    char *rest = NULL;
    for (char *line = strtok_r(text, "\r\n", &rest); line;
         line = strtok_r(NULL, "\r\n", &rest)) {
        int k = 0;
        for (char *cell = line; cell && k < CELLS; k++) {
            char *comma = strchr(cell, ',');
            if (comma) *comma = '\0';
            out->row[out->n][k] = cell;
            cell = comma ? comma + 1 : NULL;
        }
        for (int i = k; i < CELLS; i++)
            out->row[out->n][i] = line + strlen(line);
        if (!out->n++) out->cells = k;
    }
    if (out->n > 1) return 0;
    csv_free(out);
    return err_set(e, ERR_IO, "the daemon's answer has no rows");
}

static const char *csv_cell(const struct csv *c, int row, const char *name)
{
    for (int i = 0; i < c->cells; i++)
        if (!strcmp(c->row[0][i], name)) return c->row[row][i];
    return "";
}

static double csv_number(const struct csv *c, int row, const char *name)
{
    const char *text = csv_cell(c, row, name);
    return *text ? strtod(text, NULL) : (double)NAN;
}

static int csv_ask(struct csv *out, const struct ask_cfg *cfg, const char *path,
                   struct err *e)
{
    char *text = NULL;
    int rc = ask(&text, cfg, "GET", path, NULL, e);
    return rc ? rc : csv_read(out, text, e);
}

/* ------------------------------------------------------------------------------ show */

static const struct compare_kind *kind_of(const char *name)
{
    for (int f = 0; f < COMPARE_FIGURES; f++)
        if (!strcmp(compare_kinds[f].name, name)) return &compare_kinds[f];
    return &compare_kinds[0];
}

/* In words, for people. */
static void say_verdict(char out[48], const struct csv *c, int row)
{
    const struct compare_kind *kind = kind_of(csv_cell(c, row, "figure"));
    double lo = csv_number(c, row, "lo"), hi = csv_number(c, row, "hi");
    double needed = csv_number(c, row, "needed");
    bool control = isnan(csv_number(c, row, "difference")) && isnan(lo);
    if (lo > 0 || hi < 0)
        snprintf(out, 48, "%s", (lo > 0) == kind->lower ? "worse" : "better");
    else if (control)
        snprintf(out, 48, "-");
    else if (needed > 0 && needed < 1e9)
        snprintf(out, 48, "open: about %.3g more", needed);
    else
        snprintf(out, 48, "open");
}

static void show_flow(struct out *o, const struct csv *flow)
{
    const char *labels = csv_cell(flow, 1, "labels");
    double nodes = csv_number(flow, 1, "nodes");
    if (*labels)
        out_say(o, "sessions with %s, as this daemon's store has them", labels);
    else if (nodes > 1)
        out_say(o, "sessions of %.0f nodes", nodes);
    out_say(o, "trial %s, %s; shares %s", csv_cell(flow, 1, "trial"),
            csv_cell(flow, 1, "phase"), csv_cell(flow, 1, "shares"));
    for (int i = 1; i < flow->n; i++)
        out_say(o,
                "%s (%s, %s): assigned %s = again %s + fell back %s + running %s + empty "
                "%s + analysed %s",
                csv_cell(flow, i, "arm"), csv_cell(flow, i, "decides"),
                csv_cell(flow, i, "state"), csv_cell(flow, i, "assigned"),
                csv_cell(flow, i, "again"), csv_cell(flow, i, "fell_back"),
                csv_cell(flow, i, "running"), csv_cell(flow, i, "empty"),
                csv_cell(flow, i, "analysed"));
}

static void show_rows(struct out *o, const struct csv *c, bool networks)
{
    for (int i = 1; i < c->n; i++) {
        const char *network = csv_cell(c, i, "network");
        char verdict[48];
        if (!networks && strcmp(network, "all")) continue;
        say_verdict(verdict, c, i);
        out_row(o);
        out_text(o, "arm", csv_cell(c, i, "arm"));
        if (networks) out_text(o, "network", network);
        out_text(o, "figure", csv_cell(c, i, "figure"));
        out_int(o, "sessions", (int64_t)csv_number(c, i, "sessions"));
        out_real(o, "mean", csv_number(c, i, "mean"), OUT_SHORT);
        out_real(o, "difference", csv_number(c, i, "difference"), OUT_SHORT);
        out_real(o, "lo", csv_number(c, i, "lo"), OUT_SHORT);
        out_real(o, "hi", csv_number(c, i, "hi"), OUT_SHORT);
        out_text(o, "verdict", verdict);
    }
}

static void page_flow(struct report *r, const struct csv *flow)
{
    static const char *const COLUMNS[] = {"arm",     "decides",  "profile", "share",
                                          "state",   "assigned", "again",   "fell_back",
                                          "running", "empty",    "analysed"};
    report_table(r,
                 "Sessions: assigned = again + fell_back + running + empty + analysed");
    for (int i = 1; i < flow->n; i++) {
        report_row(r);
        for (size_t k = 0; k < sizeof COLUMNS / sizeof *COLUMNS; k++)
            report_cell(r, COLUMNS[k], "%s", csv_cell(flow, i, COLUMNS[k]));
    }
    report_text(
        r,
        "again: the viewer had a session of this trial, so its arm was not drawn "
        "anew. fell_back: the arm had been stopped, and the session was treated as "
        "the control. empty: no chunk was reported. Shares: %s.",
        csv_cell(flow, 1, "shares"));
}

static void page_figures(struct report *r, const struct csv *c)
{
    report_table(r, "Figures, and differences to the control");
    for (int i = 1; i < c->n; i++) {
        if (strcmp(csv_cell(c, i, "network"), "all")) continue;
        const struct compare_kind *kind = kind_of(csv_cell(c, i, "figure"));
        char verdict[48];
        say_verdict(verdict, c, i);
        report_row(r);
        report_cell(r, "arm", "%s", csv_cell(c, i, "arm"));
        report_cell(r, "figure", "%s", kind->name);
        report_cell(r, "unit", "%s", kind->unit);
        report_int(r, "sessions", (int64_t)csv_number(c, i, "sessions"));
        report_real(r, "mean", csv_number(c, i, "mean"), kind->digits);
        report_interval(r, "difference", csv_number(c, i, "difference"),
                        csv_number(c, i, "lo"), csv_number(c, i, "hi"), kind->digits);
        report_cell(r, "verdict", "%s", verdict);
    }
    report_text(r, "Intervals hold at 95 %% at every look, each by itself. Values of "
                   "single sessions are clipped: start-up at 20 s, stall ratio at 0.05, "
                   "switches at 15 per minute, watch time at 3 h.");
}

/* A panel per figure, a point with its interval per arm. */
static void page_differences(struct report *r, const struct csv *c,
                             const struct csv *flow)
{
    const char *arms[COMPARE_ARMS] = {0};
    int n = 0;
    for (int i = 2; i < flow->n && n < COMPARE_ARMS; i++)
        arms[n++] = csv_cell(flow, i, "arm");
    report_figure(r, "differences", "Differences to the control",
                  "Arm minus control, with intervals that hold at every look.");
    for (int f = 0; f < COMPARE_FIGURES; f++) {
        const struct compare_kind *kind = &compare_kinds[f];
        double y[COMPARE_ARMS], lo[COMPARE_ARMS], hi[COMPARE_ARMS];
        for (int a = 0; a < n; a++)
            for (int i = 1; i < c->n; i++)
                if (!strcmp(csv_cell(c, i, "arm"), arms[a]) &&
                    !strcmp(csv_cell(c, i, "figure"), kind->name) &&
                    !strcmp(csv_cell(c, i, "network"), "all")) {
                    y[a] = csv_number(c, i, "difference");
                    lo[a] = csv_number(c, i, "lo");
                    hi[a] = csv_number(c, i, "hi");
                }
        char label[80];
        snprintf(label, sizeof label, "difference%s%s", *kind->unit ? ", " : "",
                 kind->unit);
        report_panel(r, &(struct report_panel){.title = kind->name,
                                               .x = {.label = "arm"},
                                               .y = {.label = label},
                                               .category = arms,
                                               .categories = n});
        report_series(r, &(struct report_series){.name = kind->name,
                                                 .kind = REPORT_POINTS,
                                                 .n = n,
                                                 .y = y,
                                                 .lo = lo,
                                                 .hi = hi});
        report_rule(r, 'y', 0, NULL);
    }
}

static int show_page(const char *path, const struct csv *flow, const struct csv *c,
                     struct err *e)
{
    char title[80];
    snprintf(title, sizeof title, "Trial %.40s", csv_cell(flow, 1, "trial"));
    struct report *r = page_new(path, title, e);
    if (!r) return e->code;
    report_param(r, "phase", "%s", csv_cell(flow, 1, "phase"));
    if (*csv_cell(flow, 1, "labels"))
        report_param(r, "labels", "%s", csv_cell(flow, 1, "labels"));
    page_flow(r, flow);
    page_figures(r, c);
    page_differences(r, c, flow);
    int rc = page_write(r, path, e);
    report_free(r);
    return rc;
}

/* "/v1/trial?format=FORMAT", of sessions with these labels. Their characters need no escapes. */
static void show_path(char out[ASK_PATH], const char *format,
                      const struct field_list *labels)
{
    size_t n = (size_t)snprintf(out, ASK_PATH, "/v1/trial?format=%s", format);
    for (int i = 0; i < labels->n && n < ASK_PATH; i++)
        n += (size_t)snprintf(out + n, ASK_PATH - n, "%s%s",
                              i ? "," : "&label=", labels->item[i]);
}

/* The daemon reads them again; here a wrong one gets the option's name. */
static int show_labels(const struct field_list *labels, struct err *e)
{
    struct labels unused = {0};
    int rc = 0;
    for (int i = 0; i < labels->n && !rc; i++)
        rc = labels_read(&unused, labels->item[i], "--label", e);
    return rc;
}

static int trial_show(int argc, char **argv)
{
    struct ask_cfg cfg = {.url = ASK_URL};
    struct out_cfg rows = {0};
    bool networks = false;
    const char *page = NULL, *data = NULL;
    struct field_list labels = {0};
    char path[ASK_PATH];
    const struct field opts[] = {
        ASK_OPTIONS(cfg),
        {"networks", NULL, "also by kind of network, as known before each session",
         FIELD_TO(networks)},
        {"label", "KEY=VALUE,..",
         "only sessions with all of these labels, for example device=tv; needs the "
         "token",
         FIELD_TO(labels)},
        {"report", "FILE", "write a page to FILE (.html, with .csv and .json beside it)",
         FIELD_TO(page)},
        {"data", "DATA",
         "also replay the trial's sessions, from the daemon's data folder or a backup: "
         "predicted and observed differences, and the bias of replays",
         FIELD_TO(data)},
        OUT_OPTIONS(rows),
        {0}};
    const struct opt_cmd cmd = {
        .name = "trial show",
        .about =
            "Shows the trial of a running daemon: its sessions as CONSORT draws them, "
            "and\n"
            "for each arm start-up, stall ratio, quality, switches, QoE and watch time. "
            "A\n"
            "difference is arm minus control. Its 95 % interval holds at every look, so "
            "you\nmay look as often as you like.",
        .opts = opts,
        .example = "abrd trial show\nabrd trial show --report trial.html --networks\n"
                   "abrd trial show --label device=tv,app=web --token-file token"};
    int at = opt_parse(&cmd, argc, argv);
    if (at < 0) return opt_status(at);
    int short_of = data ? cmd_blas("trial show", pool_cpus()) : 0;
    if (short_of) return short_of;
    struct err e = {0};
    struct csv flow = {0}, figures = {0};
    struct out *o = out_new(&rows, &e);
    int rc = o ? show_labels(&labels, &e) : e.code;
    show_path(path, "flow", &labels);
    if (!rc) rc = csv_ask(&flow, &cfg, path, &e);
    show_path(path, "csv", &labels);
    if (!rc) rc = csv_ask(&figures, &cfg, path, &e);
    if (!rc) {
        show_flow(o, &flow);
        show_rows(o, &figures, networks);
        rc = out_finish(o, &e);
    }
    if (!rc && page) rc = show_page(page, &flow, &figures, &e);
    if (!rc && data)
        rc = eval_recorded_trial(o, data, csv_cell(&flow, 1, "trial"), &labels, &e);
    csv_free(&flow);
    csv_free(&figures);
    out_free(o);
    return rc ? cmd_fail("trial show", &e) : OPT_EXIT_DONE;
}

/* ------------------------------------------------------------------------------ orders */

struct order {
    const char *name, *method, *path;
    const char *done; /* for people */
};

/* Takes the body. The row says what the daemon's trial is now. */
static int order(const struct order *how, const struct ask_cfg *cfg,
                 const struct out_cfg *rows, json_t *body)
{
    struct err e = {0};
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL, *answer = NULL;
    json_decref(body);
    struct out *o = text ? out_new(rows, &e) : NULL;
    int rc = o ? ask(&answer, cfg, how->method, how->path, text, &e)
               : err_set(&e, ERR_MEMORY, "out of memory");
    json_t *now = rc ? NULL : json_loads(answer, 0, NULL);
    const char *trial = json_string_value(json_object_get(now, "name"));
    const char *phase = json_string_value(json_object_get(now, "phase"));
    if (!rc) {
        out_say(o, "%s", how->done);
        out_row(o);
        out_text(o, "trial", trial ? trial : "");
        out_text(o, "phase", phase ? phase : "");
        rc = out_finish(o, &e);
    }
    json_decref(now);
    out_free(o);
    free(text);
    free(answer);
    return rc ? cmd_fail(how->name, &e) : OPT_EXIT_DONE;
}

static int trial_begin(int argc, char **argv)
{
    struct ask_cfg cfg = {.url = ASK_URL};
    struct out_cfg rows = {0};
    double sessions = 1000, stall = 0, startup_s = 0;
    const struct field opts[] = {
        ASK_OPTIONS(cfg),
        {"sessions", "N",
         "sessions of an arm and the control at which intervals are tightest",
         FIELD_TO(sessions), .lo = 60, .hi = 1e9},
        {"stall-margin", "SHARE",
         "stop an arm whose stall ratio is surely worse than the control's by more",
         FIELD_TO(stall), .lo = 0, .hi = 1},
        {"startup-margin", "S",
         "stop an arm whose start-up is surely later than the control's by more",
         FIELD_TO(startup_s), .lo = 0, .hi = 60, .unit = "seconds"},
        OUT_OPTIONS(rows),
        {0}};
    const struct opt_cmd cmd = {
        .name = "trial start",
        .args = "NAME ARMS",
        .min_args = 2,
        .max_args = 2,
        .about =
            "Begins a trial; one that runs ends. ARMS are NAME:SHARE:DECIDER[@PROFILE] "
            "with\ncommas between, the control first. DECIDER is abrd, abrd:FILE, "
            "player, or an\nalgorithm such as mpc-tail.",
        .opts = opts,
        .example = "abrd trial start spring old:0.5:player,new:0.5:abrd"};
    int at = opt_parse(&cmd, argc, argv);
    if (at < 0) return opt_status(at);
    static const struct order how = {"trial start", "PUT", "/v1/trial",
                                     "the trial runs; abrd trial show"};
    return order(&how, &cfg, &rows,
                 json_pack("{ss ss sf sf sf}", "name", argv[at], "arms", argv[at + 1],
                           "sessions", sessions, "stall_margin", stall,
                           "startup_margin_s", startup_s));
}

static int trial_promote(int argc, char **argv)
{
    struct ask_cfg cfg = {.url = ASK_URL};
    struct out_cfg rows = {0};
    const struct field opts[] = {ASK_OPTIONS(cfg), OUT_OPTIONS(rows), {0}};
    const struct opt_cmd cmd = {
        .name = "trial promote",
        .args = "ARM",
        .min_args = 1,
        .max_args = 1,
        .about = "Treats all sessions that give no mode as the arm does, from now on and "
                 "over\nrestarts. abrd trial rollback ends it.",
        .opts = opts,
        .example = "abrd trial promote new"};
    int at = opt_parse(&cmd, argc, argv);
    if (at < 0) return opt_status(at);
    static const struct order how = {"trial promote", "POST", "/v1/trial/promote",
                                     "promoted; abrd trial rollback ends it"};
    return order(&how, &cfg, &rows, json_pack("{ss}", "arm", argv[at]));
}

static int trial_rollback(int argc, char **argv)
{
    struct ask_cfg cfg = {.url = ASK_URL};
    struct out_cfg rows = {0};
    const struct field opts[] = {ASK_OPTIONS(cfg), OUT_OPTIONS(rows), {0}};
    const struct opt_cmd cmd = {
        .name = "trial rollback",
        .about =
            "Ends the trial or the promotion: all sessions are decided as without it. "
            "The\nreport stays.",
        .opts = opts,
        .example = "abrd trial rollback"};
    int at = opt_parse(&cmd, argc, argv);
    if (at < 0) return opt_status(at);
    static const struct order how = {"trial rollback", "POST", "/v1/trial/rollback",
                                     "rolled back"};
    return order(&how, &cfg, &rows, json_object());
}

/* ------------------------------------------------------------------------------ all */

static const struct cmd_sub trial_commands[] = {
    {"plan", "sessions that a trial needs to tell a difference", trial_plan_cmd},
    {"show", "sessions, figures and differences of the trial", trial_show},
    {"start", "begin a trial", trial_begin},
    {"promote", "let an arm decide for all", trial_promote},
    {"rollback", "end the trial or the promotion", trial_rollback},
    {0}};

int cmd_trial(int argc, char **argv)
{
    return cmd_sub_run(
        "trial",
        "Compares arms on the viewers of a running daemon: observe, trial, "
        "roll out.",
        trial_commands, "abrd trial show", argc, argv);
}

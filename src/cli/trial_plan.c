#include "cli/trial_plan.h"

#include <math.h>

#include "abr/compare.h"
#include "cli/cmd.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/recordings.h"

/* Sessions in units of the fixed-size test's: the most that the lab `trial` measures, rounded up
 * (web/docs/trials.md). */
static const double ON_AVERAGE = 1.1, FOUR_OF_FIVE = 1.7;

static const struct {
    enum compare_figure figure;
    double difference;
} ROWS[] = {
    {COMPARE_STARTUP, .5},       {COMPARE_STARTUP, .2},       {COMPARE_STARTUP, .1},
    {COMPARE_STALL_RATIO, .005}, {COMPARE_STALL_RATIO, .002}, {COMPARE_STALL_RATIO, .001},
    {COMPARE_QUALITY, 5},        {COMPARE_QUALITY, 2},        {COMPARE_QUALITY, 1},
    {COMPARE_WATCHED, 300},      {COMPARE_WATCHED, 60}};

static void plan_row(struct out *o, int i, const struct compare_cell *cell, double share,
                     double per_day)
{
    const struct compare_kind *kind = &compare_kinds[ROWS[i].figure];
    double sd = cell ? compare_deviation(&cell[ROWS[i].figure]) : kind->scale;
    if (!(sd > 0)) sd = (double)NAN; /* all are alike: not known */
    double fixed = confseq_fixed(share, (double[]){sd, sd}, ROWS[i].difference);
    out_row(o);
    out_text(o, "figure", kind->name);
    out_text(o, "unit", kind->unit);
    out_real(o, "deviation", sd, OUT_SHORT);
    out_real(o, "difference", ROWS[i].difference, OUT_SHORT);
    out_real(o, "fixed", fixed, 0);
    out_real(o, "sessions", ON_AVERAGE * fixed, 0);
    out_real(o, "most", FOUR_OF_FIVE * fixed, 0);
    if (per_day > 0) out_real(o, "days", FOUR_OF_FIVE * fixed / per_day, 1);
}

int trial_plan_cmd(int argc, char **argv)
{
    struct out_cfg rows = {0};
    const char *data = NULL;
    double share = .5, per_day = 0;
    const struct field opts[] = {
        {"data", "DATA",
         "data folder or backup whose sessions show how much viewers differ (default: "
         "typical deviations)",
         FIELD_TO(data)},
        {"share", "X", "the new arm's share of the sessions of both arms",
         FIELD_TO(share), .lo = .001, .hi = .999},
        {"per-day", "N", "sessions of both arms in a day: also how many days it takes",
         FIELD_TO(per_day), .lo = 0, .hi = 1e9},
        OUT_OPTIONS(rows),
        {0}};
    const struct opt_cmd cmd = {
        .name = "trial plan",
        .about =
            "Says how many sessions, of both arms together, a trial needs to tell a\n"
            "difference: of a fixed-size test that knows it, of a trial on average, and\n"
            "until four of five trials have told. A viewer's first session counts, if "
            "it\n"
            "has a chunk.",
        .opts = opts,
        .example = "abrd trial plan\nabrd trial plan --data /var/lib/abrd --share 0.1 "
                   "--per-day 20000"};
    int at = opt_parse(&cmd, argc, argv);
    if (at < 0) return opt_status(at);
    struct err e = {0};
    struct compare_cell own[COMPARE_FIGURES];
    struct out *o = out_new(&rows, &e);
    int rc = o ? 0 : e.code;
    if (!rc && data) rc = recordings_figures(own, data, &e);
    for (int i = 0; !rc && i < (int)(sizeof ROWS / sizeof *ROWS); i++)
        plan_row(o, i, data ? own : NULL, share, per_day);
    if (!rc && data)
        out_say(o, "deviations of %llu sessions in %s",
                (unsigned long long)own[COMPARE_QUALITY].n, data);
    if (!rc) rc = out_finish(o, &e);
    out_free(o);
    return rc ? cmd_fail("trial plan", &e) : OPT_EXIT_DONE;
}

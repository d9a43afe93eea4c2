#include "serve/trial/trial_cfg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

const char *const trial_phases[] = {"none", "runs", "promoted", "ended", NULL};

#define ROW(member) FIELD(struct trial_cfg, member)
const struct field trial_fields[] = {
    {"trial", "NAME",
     "name of a trial that compares arms on your viewers; a new name begins a new trial",
     ROW(name), .group = "trial"},
    {"trial-arms", "ARM,..",
     "its arms, each NAME:SHARE:DECIDER, the control first; DECIDER is abrd, abrd:FILE, "
     "player or an algorithm such as mpc-tail, and @PROFILE behind it replaces the "
     "session's profile",
     ROW(arms)},
    {"trial-sessions", "N",
     "sessions of an arm and the control at which intervals are tightest", ROW(sessions),
     .lo = 60, .hi = 1e9},
    {"trial-stall-margin", "SHARE",
     "an arm is stopped when its stall ratio is surely worse than the control's by more",
     ROW(stall_margin), .lo = 0, .hi = 1},
    {"trial-startup-margin", "S",
     "an arm is stopped when its start-up is surely later than the control's by more",
     ROW(startup_margin_s), .lo = 0, .hi = 60, .unit = "seconds"},
    {0}};
#undef ROW

struct trial_cfg trial_cfg_default(void)
{
    struct compare_cfg c = compare_cfg_default();
    return (struct trial_cfg){.sessions = c.sessions,
                              .stall_margin = c.stall_margin,
                              .startup_margin_s = c.startup_margin_s};
}

static int plan_name(char *out, size_t size, const char *text, size_t n,
                     const char *field, struct err *e)
{
    bool ok = n > 0 && n < size;
    for (size_t i = 0; i < n && ok; i++)
        ok = (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= '0' && text[i] <= '9') ||
             text[i] == '-' || text[i] == '_';
    if (!ok)
        return err_field(e, ERR_INVALID, field,
                         "the name '%.*s' must be 1 to %zu of the characters a-z, 0-9, - "
                         "and _",
                         (int)(n < 40 ? n : 40), text, size - 1);
    memcpy(out, text, n);
    out[n] = '\0';
    return 0;
}

static int plan_arm(struct trial_arm *out, const char *text, struct err *e)
{
    static const char field[] = "trial-arms";
    text += strspn(text, " \t");
    const char *share = strchr(text, ':'),
               *decides = share ? strchr(share + 1, ':') : NULL;
    if (!decides)
        return err_field(e, ERR_INVALID, field,
                         "'%.60s' must be NAME:SHARE:DECIDER, for example old:0.5:player",
                         text);
    char number[32] = "";
    size_t n = (size_t)(decides - share - 1);
    *out = (struct trial_arm){.share = 0};
    int rc =
        plan_name(out->name, sizeof out->name, text, (size_t)(share - text), field, e);
    if (!rc && n < sizeof number) memcpy(number, share + 1, n);
    if (!rc && text_double(&out->share, number, 1e-4, 1, "share", NULL))
        rc = err_field(e, ERR_RANGE, field,
                       "the share of %s is not a number within 0.0001 .. 1", out->name);
    if (rc) return rc;
    const char *at = strrchr(++decides, '@');
    n = at ? (size_t)(at - decides) : strlen(decides);
    if (!n || n >= sizeof out->decides)
        return err_field(e, ERR_RANGE, field,
                         "the decider of %s must have 1 to %zu characters", out->name,
                         sizeof out->decides - 1);
    memcpy(out->decides, decides, n);
    return at ? plan_name(out->profile, sizeof out->profile, at + 1, strlen(at + 1),
                          field, e)
              : 0;
}

static int plan_check(const struct trial_plan *p, struct err *e)
{
    double sum = 0;
    for (int i = 0; i < p->arms; i++) {
        sum += p->arm[i].share;
        for (int k = 0; k < i; k++)
            if (!strcmp(p->arm[i].name, p->arm[k].name))
                return err_field(e, ERR_INVALID, "trial-arms",
                                 "two arms have the name %s", p->arm[i].name);
    }
    if (p->arms < 2)
        return err_field(e, ERR_INVALID, "trial-arms",
                         "has %d arm: a trial needs a control and another one", p->arms);
    if (sum > 1 + 1e-9)
        return err_field(e, ERR_RANGE, "trial-arms",
                         "the shares are %g together, above 1", sum);
    return 0;
}

int trial_plan_of(struct trial_plan *out, const struct trial_cfg *cfg, struct err *e)
{
    *out = (struct trial_plan){.sessions = cfg->sessions,
                               .stall_margin = cfg->stall_margin,
                               .startup_margin_s = cfg->startup_margin_s};
    int rc =
        plan_name(out->name, sizeof out->name, cfg->name, strlen(cfg->name), "trial", e);
    if (!rc && cfg->arms.n > COMPARE_ARMS)
        rc = err_field(e, ERR_RANGE, "trial-arms", "has %d arms, the limit is %d",
                       cfg->arms.n, COMPARE_ARMS);
    for (int i = 0; i < cfg->arms.n && !rc; i++)
        rc = plan_arm(&out->arm[out->arms++], cfg->arms.item[i], e);
    return rc ? rc : plan_check(out, e);
}

int trial_plan_read(struct trial_plan *out, const struct trial_cfg *cfg, const char *arms,
                    struct err *e)
{
    struct trial_cfg c = *cfg;
    char text[TRIAL_ARMS_TEXT];
    if (snprintf(text, sizeof text, "%s", arms) >= (int)sizeof text)
        return err_field(e, ERR_RANGE, "arms", "is longer than %zu characters",
                         sizeof text - 1);
    struct field row = {"arms", FIELD_TO(c.arms)};
    c.arms.n = 0;
    int rc = text[0] ? field_read(&row, text, false, e) : 0;
    return rc ? rc : trial_plan_of(out, &c, e);
}

bool trial_plan_same(const struct trial_plan *a, const struct trial_plan *b)
{
    bool same = !strcmp(a->name, b->name) && a->arms == b->arms;
    for (int i = 0; i < a->arms && same; i++) {
        const struct trial_arm *x = &a->arm[i], *y = &b->arm[i];
        same = !strcmp(x->name, y->name) && !strcmp(x->decides, y->decides) &&
               !strcmp(x->profile, y->profile) && fabs(x->share - y->share) < 1e-9;
    }
    return same;
}

bool trial_plan_reweighted(const struct trial_plan *p, int arm)
{
    return strcmp(p->arm[arm].profile, p->arm[0].profile) != 0;
}

void trial_plan_arms(char out[TRIAL_ARMS_TEXT], const struct trial_plan *p)
{
    size_t n = 0;
    *out = '\0';
    for (int i = 0; i < p->arms && n < TRIAL_ARMS_TEXT; i++) {
        const struct trial_arm *a = &p->arm[i];
        n += (size_t)snprintf(out + n, TRIAL_ARMS_TEXT - n, "%s%s:%.12g:%s%s%s",
                              i ? ", " : "", a->name, a->share, a->decides,
                              a->profile[0] ? "@" : "", a->profile);
    }
}

int trial_cfg_check(const struct trial_cfg *cfg, struct err *e)
{
    struct trial_plan unused;
    int rc = field_check(trial_fields, cfg, e);
    if (!rc && !cfg->name && cfg->arms.n)
        rc = err_field(e, ERR_INVALID, "trial", "has no name, but trial-arms has arms");
    return rc || !cfg->name ? rc : trial_plan_of(&unused, cfg, e);
}

struct compare_ended trial_ended_of(const struct track_row *row)
{
    const struct viewing *v = &row->seen;
    return (struct compare_ended){.started = v->started,
                                  .startup_s = (double)v->startup_s,
                                  .stall_s = (double)v->stall_s,
                                  .played_s = (double)v->played_s,
                                  .points = (double)v->points,
                                  .reward = (double)v->reward,
                                  .chunks = v->chunks,
                                  .switches = v->switches};
}

/* ---- figures ---- */

#define ROW(member) FIELD(struct trial_saved, member)
static const struct field STATE[] = {
    {"name", "NAME", "", ROW(name)},
    {"phase", "PHASE", "", ROW(phase), .words = trial_phases},
    {"promoted", "ARM", "", ROW(promoted)},
    {"stopped", "ARM:FIGURE,..", "", ROW(stopped)},
    {"arms", "ARMS", "", ROW(arms)},
    {"sessions", "N", "", ROW(sessions)},
    {"stall-margin", "X", "", ROW(stall_margin)},
    {"startup-margin", "S", "", ROW(startup_margin_s)},
    {"started-at", "S", "", ROW(started_at)},
    {"key", "HEX", "", ROW(key)},
    {0}};
#undef ROW

int trial_saved_read(struct trial_saved *out, char **text, const char *path,
                     struct err *e)
{
    struct field rows[FIELD_TABLE_MAX + 1] = {{0}};
    *out = (struct trial_saved){0};
    field_bind(rows, STATE, out);
    return field_file(text, path, rows, e);
}

int trial_saved_plan(struct trial_plan *out, const struct trial_saved *s, struct err *e)
{
    struct trial_cfg cfg = {s->name, s->arms, s->sessions, s->stall_margin,
                            s->startup_margin_s};
    return trial_plan_of(out, &cfg, e);
}

#define ROW(member) FIELD(struct trial_stats, member)
#define BY_ARM_NAME                                             \
    .label = "arm", .names = offsetof(struct trial_stats, arm), \
    .name_size = SERVICE_TRIAL, .count = FIELD_PLACE(struct trial_stats, arms)

const struct figure trial_figures[] = {
    {"abrd_trial_phase", "phase", FIGURE_GAUGE,
     "1 for the state of the trial: none, runs, promoted (an arm decides for all), "
     "ended.",
     ROW(phase), .label = "phase", .words = trial_phases},
    {"abrd_trial_stops_total", "stops", FIGURE_COUNTER,
     "Arms that a guard rail has stopped since the daemon started.", ROW(stops)},
    {"abrd_trial_shares_mismatch", "mismatch", FIGURE_GAUGE,
     "1 if the sessions did not fall into the arms by their shares: do not trust the "
     "trial.",
     ROW(mismatch)},
    {"abrd_trial_nodes", "nodes", FIGURE_GAUGE,
     "Nodes whose sessions are counted, this one included.", ROW(nodes)},
    {"abrd_trial_sessions", NULL, FIGURE_GAUGE,
     "Sessions assigned to each arm that count in the comparison.", ROW(assigned),
     BY_ARM_NAME},
    {"abrd_trial_analysed", NULL, FIGURE_GAUGE,
     "Of these, sessions that ended with at least one chunk.", ROW(analysed),
     BY_ARM_NAME},
    {"abrd_trial_stopped", NULL, FIGURE_GAUGE, "1 if a guard rail has stopped the arm.",
     ROW(stopped), BY_ARM_NAME},
    {"abrd_trial_stall_ratio", NULL, FIGURE_GAUGE,
     "Mean stall ratio of the arm's sessions, each counted as at most 0.05.",
     ROW(stall_ratio), BY_ARM_NAME},
    {"abrd_trial_startup_seconds", NULL, FIGURE_GAUGE,
     "Mean wait for the first picture of the arm's sessions, each counted as at most 20 "
     "s.",
     ROW(startup_s), BY_ARM_NAME},
    {"abrd_trial_quality_points", NULL, FIGURE_GAUGE,
     "Mean quality of the arm's sessions, 0 to 100.", ROW(quality), BY_ARM_NAME},
    {0}};

#include "serve/trial/api_trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/http/api.h"
#include "serve/session/core.h"
#include "serve/wire/wire.h"
#include "serve/wire/wire_put_priv.h"

/* ---- the report ---- */

/* "all", then the kinds of network. */
static const char *network_name(int k)
{
    return k ? compare_networks[k - 1] : "all";
}

struct difference {
    struct confseq_interval of;
    double needed; /* more sessions; NaN: not asked */
};

/* Arm minus control; the control itself has none. QoE by different weights has none either. */
static struct difference difference_of(const struct trial_report *r, int arm, int network,
                                       int figure)
{
    struct difference d = {{(double)NAN, (double)NAN, (double)NAN}, (double)NAN};
    enum compare_figure f = (enum compare_figure)figure;
    if (!arm || (f == COMPARE_QOE && trial_plan_reweighted(&r->plan, arm))) return d;
    d.of = compare_diff(&r->compare, arm, network, f);
    if (!network) d.needed = compare_needed(&r->compare, arm, f);
    return d;
}

static void put_figure(struct emit *o, const struct trial_report *r, int arm, int network,
                       int figure)
{
    const struct compare_kind *kind = &compare_kinds[figure];
    const struct compare_cell *cell = &r->compare.arm[arm].cell[network][figure];
    emit_open(o, '{');
    put_string(o, "figure", kind->name);
    put_string(o, "unit", kind->unit);
    put_bool(o, "lower_is_better", kind->lower);
    put_u64(o, "sessions", cell->n);
    put_u64(o, "clipped", cell->clipped);
    put_rounded(o, "mean", compare_mean(cell));
    put_rounded(o, "deviation", compare_deviation(cell));
    if (arm) {
        struct difference d = difference_of(r, arm, network, figure);
        put_rounded(o, "difference", d.of.mean);
        put_rounded(o, "lo", d.of.lo);
        put_rounded(o, "hi", d.of.hi);
        if (!network) put_rounded(o, "needed", d.needed);
    }
    emit_close(o, '}');
}

static void put_figures(struct emit *o, const struct trial_report *r, int arm,
                        int network)
{
    emit_key(o, "figures");
    emit_open(o, '[');
    for (int f = 0; f < COMPARE_FIGURES; f++)
        put_figure(o, r, arm, network, f);
    emit_close(o, ']');
}

static void put_arm_report(struct emit *o, const struct trial_report *r, int arm)
{
    const struct trial_arm *plan = &r->plan.arm[arm];
    const struct compare_arm *a = &r->compare.arm[arm];
    emit_open(o, '{');
    put_string(o, "name", plan->name);
    put_double(o, "share", plan->share);
    put_string(o, "decides", plan->decides);
    if (plan->profile[0]) put_string(o, "profile", plan->profile);
    put_bool(o, "control", arm == 0);
    put_bool(o, "promoted", r->promoted == arm);
    emit_key(o, "stopped_by");
    r->stopped_by[arm] >= 0 ? emit_string(o, compare_kinds[r->stopped_by[arm]].name)
                            : emit_null(o);
    put_u64(o, "assigned", a->counted + a->again + a->fell_back);
    put_u64(o, "again", a->again);
    put_u64(o, "fell_back", a->fell_back);
    put_u64(o, "running", compare_running(a));
    put_u64(o, "empty", a->empty);
    put_u64(o, "analysed", compare_analysed(a));
    put_figures(o, r, arm, 0);
    emit_key(o, "networks");
    emit_open(o, '[');
    for (int k = 1; k <= COMPARE_NETWORKS; k++) {
        emit_open(o, '{');
        put_string(o, "network", network_name(k));
        put_figures(o, r, arm, k);
        emit_close(o, '}');
    }
    emit_close(o, ']');
    emit_close(o, '}');
}

void api_trial_put_report(struct emit *o, const struct trial_report *r)
{
    double evidence;
    bool mismatch = compare_mismatch(&evidence, &r->compare);
    emit_open(o, '{');
    put_string(o, "name", r->plan.name);
    put_string(o, "phase", trial_phases[r->phase]);
    put_double(o, "started_at", r->started_at);
    put_double(o, "sessions", r->plan.sessions);
    put_double(o, "stall_margin", r->plan.stall_margin);
    put_double(o, "startup_margin_s", r->plan.startup_margin_s);
    put_double(o, "alpha", COMPARE_ALPHA);
    put_u64(o, "nodes", (uint64_t)r->nodes);
    wire_put_labels(o, &r->labels);
    put_bool(o, "shares_mismatch", mismatch);
    put_rounded(o, "shares_log_evidence", evidence);
    emit_key(o, "arms");
    emit_open(o, '[');
    for (int a = 0; a < r->plan.arms; a++)
        put_arm_report(o, r, a);
    emit_close(o, ']');
    emit_close(o, '}');
}

/* ",x", or "," if it is not known. */
static void put_cell(struct emit *o, double x)
{
    char text[32] = "";
    if (isfinite(x)) emit_format_double(text, round(x * 1e6) / 1e6);
    emit_text(o, ",%s", text);
}

void api_trial_put_csv(struct emit *o, const struct trial_report *r)
{
    char labels[LABELS_TEXT];
    labels_text(labels, &r->labels);
    emit_text(o, "trial,arm,network,figure,sessions,clipped,mean,deviation,difference,lo,"
                 "hi,needed,labels\r\n");
    for (int a = 0; a < r->plan.arms; a++)
        for (int k = 0; k <= COMPARE_NETWORKS; k++)
            for (int f = 0; f < COMPARE_FIGURES; f++) {
                const struct compare_cell *cell = &r->compare.arm[a].cell[k][f];
                struct difference d = difference_of(r, a, k, f);
                emit_text(o, "%s,%s,%s,%s,%" PRIu64 ",%" PRIu64, r->plan.name,
                          r->plan.arm[a].name, network_name(k), compare_kinds[f].name,
                          cell->n, cell->clipped);
                put_cell(o, compare_mean(cell));
                put_cell(o, compare_deviation(cell));
                put_cell(o, d.of.mean);
                put_cell(o, d.of.lo);
                put_cell(o, d.of.hi);
                put_cell(o, d.needed);
                emit_text(o, ",%s\r\n", labels);
            }
}

void api_trial_put_flow(struct emit *o, const struct trial_report *r)
{
    double unused;
    bool mismatch = compare_mismatch(&unused, &r->compare);
    char labels[LABELS_TEXT];
    labels_text(labels, &r->labels);
    emit_text(o, "trial,phase,arm,decides,profile,share,state,assigned,again,fell_back,"
                 "running,empty,analysed,shares,nodes,labels\r\n");
    for (int i = 0; i < r->plan.arms; i++) {
        const struct trial_arm *arm = &r->plan.arm[i];
        const struct compare_arm *a = &r->compare.arm[i];
        char state[64];
        snprintf(state, sizeof state, "%s%s",
                 r->promoted == i        ? "promoted"
                 : r->stopped_by[i] >= 0 ? "stopped: "
                 : i                     ? "arm"
                                         : "control",
                 r->promoted != i && r->stopped_by[i] >= 0
                     ? compare_kinds[r->stopped_by[i]].name
                     : "");
        emit_text(o,
                  "%s,%s,%s,%s,%s,%.12g,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
                  ",%" PRIu64 ",%" PRIu64 ",%s,%d,%s\r\n",
                  r->plan.name, trial_phases[r->phase], arm->name, arm->decides,
                  arm->profile, arm->share, state, a->counted + a->again + a->fell_back,
                  a->again, a->fell_back, compare_running(a), a->empty,
                  compare_analysed(a), mismatch ? "mismatch" : "as planned", r->nodes,
                  labels);
    }
}

/* ---- requests ---- */

/* The report of sessions with labels, which is read from the store. */
struct labelled {
    struct trial_run *trial;
    struct labels labels;
    struct trial_report report;
    int rc;
    struct err e;
};

static void labelled_run(void *self)
{
    struct labelled *l = self;
    l->rc = trial_run_labelled(&l->report, l->trial, &l->labels, &l->e);
}

static void put_answer(struct api *a, struct reply *r, const struct trial_report *report,
                       const char *format)
{
    bool csv = !strcmp(format, "csv"), flow = !strcmp(format, "flow");
    (csv    ? api_trial_put_csv
     : flow ? api_trial_put_flow
            : api_trial_put_report)(&a->out, report);
    if (!csv && !flow)
        api_json(a, r, 200);
    else if (a->out.failed)
        reply_fail(r, 503, "", "no memory for the answer");
    else
        reply_copy(r, 200, "text/csv; charset=utf-8", a->out.at, a->out.n);
}

static void labelled_begin(struct api *a, const struct http_request *q, struct reply *r,
                           const char *text)
{
    struct err e = {0};
    if (!auth_token_ok(a->shared->auth, http_header(q, "Authorization"))) {
        reply_fail(r, 401, "label",
                   "reads the store: send the header Authorization: Bearer TOKEN");
        reply_constant(r, "WWW-Authenticate", "Bearer realm=\"abrd\"");
        return;
    }
    struct labelled *l = calloc(1, sizeof *l);
    if (!l) {
        reply_fail(r, 503, "", "no memory for the report");
        return;
    }
    l->trial = trial_run_of(a->shared->service);
    if (labels_read(&l->labels, text, "label", &e)) {
        free(l);
        reply_err(r, &e);
        return;
    }
    api_job(a, r, labelled_run, l);
}

static void labelled_answer(struct api *a, void *job, struct reply *r, const char *format)
{
    const struct labelled *l = jobs_result(job);
    if (!l)
        reply_fail(r, 503, "", "the daemon is stopping");
    else if (l->rc)
        reply_err(r, &l->e);
    else
        put_answer(a, r, &l->report, format);
    jobs_drop(job);
}

static void api_trial_get(struct api *a, const struct http_request *q,
                          const struct route_params *p, struct reply *r)
{
    (void)p;
    struct err e = {0};
    char format[16] = "", label[1024] = "";
    struct trial_run *t = trial_run_of(a->shared->service);
    int rc = http_query(format, sizeof format, q, "format", &e);
    if (rc >= 0) rc = http_query(label, sizeof label, q, "label", &e);
    if (rc >= 0 && format[0] && strcmp(format, "csv") && strcmp(format, "flow") &&
        strcmp(format, "json"))
        err_field(&e, ERR_INVALID, "format", "must be json, csv or flow");
    if (q->waited) {
        labelled_answer(a, q->waited, r, format);
        return;
    }
    if (!e.code && label[0]) {
        labelled_begin(a, q, r, label);
        return;
    }
    struct trial_report *report = e.code ? NULL : malloc(sizeof *report);
    if (!e.code && !report) err_set(&e, ERR_FULL, "no memory for the report");
    if (!e.code) (void)!trial_run_report(report, t, &e);
    if (e.code)
        reply_err(r, &e);
    else
        put_answer(a, r, report, format);
    free(report);
}

enum order_kind { ORDER_START, ORDER_PROMOTE, ORDER_ROLLBACK };

struct order {
    enum order_kind kind;
    struct trial_run *trial;
    struct trial_plan plan;
    char arm[SERVICE_TRIAL];
    double now;
    int rc; /* 1: a trial began; 0: done; else ERR_* */
    struct err e;
};

static void order_run(void *self)
{
    struct order *o = self;
    if (o->kind == ORDER_START)
        o->rc = trial_run_start(o->trial, &o->plan, o->now, &o->e);
    else if (o->kind == ORDER_PROMOTE)
        o->rc = trial_run_promote(o->trial, o->arm, &o->e);
    else
        o->rc = trial_run_rollback(o->trial, &o->e);
}

static int read_start(struct order *o, const struct http_request *q, struct err *e)
{
    struct {
        char name[64], arms[TRIAL_ARMS_TEXT];
        struct trial_cfg cfg;
    } b = {.cfg = trial_cfg_default()};
    const struct field fields[] = {{"name", FIELD_TO(b.name), .flags = FIELD_REQUIRED},
                                   {"arms", FIELD_TO(b.arms), .flags = FIELD_REQUIRED},
                                   {"sessions", FIELD_TO(b.cfg.sessions)},
                                   {"stall_margin", FIELD_TO(b.cfg.stall_margin)},
                                   {"startup_margin_s", FIELD_TO(b.cfg.startup_margin_s)},
                                   {0}};
    int rc = wire_body(fields, &b, q->body, q->n_body, e);
    b.cfg.name = b.name;
    if (!rc) rc = field_check(trial_fields, &b.cfg, e);
    return rc ? rc : trial_plan_read(&o->plan, &b.cfg, b.arms, e);
}

static int read_promote(struct order *o, const struct http_request *q, struct err *e)
{
    const struct field fields[] = {{"arm", FIELD_TO(o->arm), .flags = FIELD_REQUIRED},
                                   {0}};
    return wire_body(fields, o, q->body, q->n_body, e);
}

static int read_rollback(const struct http_request *q, struct err *e)
{
    int unused;
    const struct field fields[] = {{"*", .type = FIELD_ANY, .to = &unused}, {0}};
    return q->n_body ? wire_body(fields, &unused, q->body, q->n_body, e) : 0;
}

static void order_answer(struct api *a, void *job, struct reply *r)
{
    const struct order *o = jobs_result(job);
    struct err e = {0};
    struct trial_report *report = NULL;
    if (!o) {
        reply_fail(r, 503, "", "the daemon is stopping");
    } else if (o->rc < 0) {
        reply_err(r, &o->e);
    } else if (!(report = malloc(sizeof *report)) ||
               trial_run_report(report, o->trial, &e)) {
        reply_fail(r, 503, "", "no memory for the report");
    } else {
        api_trial_put_report(&a->out, report);
        api_json(a, r, o->rc == 1 ? 201 : 200);
    }
    free(report);
    jobs_drop(job);
}

static void order_begin(struct api *a, const struct http_request *q, struct reply *r,
                        enum order_kind kind)
{
    struct err e = {0};
    struct trial_run *t = trial_run_of(a->shared->service);
    struct order *o = calloc(1, sizeof *o);
    if (!o) {
        reply_fail(r, 503, "", "no memory for an order");
        return;
    }
    *o = (struct order){.kind = kind, .trial = t, .now = service_now(a->shared->service)};
    int rc = kind == ORDER_START     ? read_start(o, q, &e)
             : kind == ORDER_PROMOTE ? read_promote(o, q, &e)
                                     : read_rollback(q, &e);
    if (rc) {
        free(o);
        reply_err(r, &e);
        return;
    }
    api_job(a, r, order_run, o);
}

#define ORDER_HANDLER(name, kind)                                               \
    static void name(struct api *a, const struct http_request *q,               \
                     const struct route_params *p, struct reply *r)             \
    {                                                                           \
        (void)p;                                                                \
        q->waited ? order_answer(a, q->waited, r) : order_begin(a, q, r, kind); \
    }
ORDER_HANDLER(api_trial_put, ORDER_START)
ORDER_HANDLER(api_trial_promote, ORDER_PROMOTE)
ORDER_HANDLER(api_trial_rollback, ORDER_ROLLBACK)

const struct route api_trial_routes[] = {
    {HTTP_GET, "/v1/trial", ROUTE_OPEN, api_trial_get},
    {HTTP_PUT, "/v1/trial", ROUTE_AUTH, api_trial_put},
    {HTTP_POST, "/v1/trial/promote", ROUTE_AUTH, api_trial_promote},
    {HTTP_POST, "/v1/trial/rollback", ROUTE_AUTH, api_trial_rollback},
    {HTTP_OTHER, NULL, ROUTE_OPEN, NULL},
};

#include "serve/http/api.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "serve/wire/wire.h"
#include "serve/wire/wire_put.h"

static void sessions_publish(struct api *a, const char *type)
{
    if (!a->event.failed)
        events_publish(a->shared->events, type, a->event.at, a->event.n);
}

void api_session_open(struct api *a, const struct http_request *q,
                      const struct route_params *p, struct reply *r)
{
    (void)p;
    struct err e = {0};
    struct session_open in;
    struct session_opened opened;
    struct stages *stages = metrics_stages(a->shared->metrics, a->worker);
    if (a->shared->draining) {
        reply_fail(r, 503, "", "the daemon is stopping and takes no new sessions");
        return;
    }
    stages_begin(stages);
    int rc = wire_open(&in, q->body, q->n_body, &e);
    stages_end(stages, STAGE_WIRE);
    if (!rc) rc = service_open(&opened, a->shared->service, a->scratch, &in, &e);
    if (rc) {
        reply_err(r, &e);
        return;
    }

    wire_put_opened(&a->out, &opened);
    stages_end(stages, STAGE_EMIT);
    if (events_watched(a->shared->events)) {
        emit_reset(&a->event);
        emit_raw(&a->event, a->out.at, a->out.n);
        sessions_publish(a, "session");
    }
    api_json(a, r, 201);
    reply_header(r, "Location", "/v1/sessions/%s", opened.session);
}

void api_session_ask(struct api *a, const struct http_request *q,
                     const struct route_params *p, struct reply *r)
{
    struct err e = {0};
    struct question question;
    struct answer answer;
    const char *id = route_param(p, "id");
    struct stages *stages = metrics_stages(a->shared->metrics, a->worker);
    stages_begin(stages);
    int rc = wire_question(&question, q->body, q->n_body, &e);
    stages_end(stages, STAGE_WIRE);
    if (!rc) rc = service_ask(&answer, a->shared->service, a->scratch, id, &question, &e);
    if (rc) {
        reply_err(r, &e);
        return;
    }

    wire_put_answer(&a->out, &answer);
    stages_end(stages, STAGE_EMIT);
    if (events_watched(a->shared->events)) {
        emit_reset(&a->event);
        wire_put_decision_event(&a->event, id, &answer);
        sessions_publish(a, "decision");
    }
    api_json(a, r, 200);
}

void api_session_abandon(struct api *a, const struct http_request *q,
                         const struct route_params *p, struct reply *r)
{
    struct err e = {0};
    struct underway_in in;
    struct underway_out out;
    if (wire_underway(&in, q->body, q->n_body, &e) ||
        service_underway(&out, a->shared->service, route_param(p, "id"), &in, &e)) {
        reply_err(r, &e);
        return;
    }
    wire_put_underway(&a->out, &out);
    api_json(a, r, 200);
}

void api_session_reward(struct api *a, const struct http_request *q,
                        const struct route_params *p, struct reply *r)
{
    struct err e = {0};
    struct reward_in in;
    struct reward_out reward;
    const char *id = route_param(p, "id");
    if (wire_reward(&in, q->body, q->n_body, &e) ||
        service_reward(&reward, a->shared->service, id, &in, &e)) {
        reply_err(r, &e);
        return;
    }

    wire_put_reward(&a->out, &reward);
    if (events_watched(a->shared->events)) {
        emit_reset(&a->event);
        wire_put_reward_event(&a->event, id, &reward);
        sessions_publish(a, "reward");
    }
    api_json(a, r, 200);
}

/* ?format= wins over Accept. */
static bool wants_csv(const struct http_request *q, struct err *e)
{
    char format[16];
    int given = http_query(format, sizeof format, q, "format", e);
    if (given) {
        if (strcmp(format, "csv") == 0) return true;
        if (strcmp(format, "json") != 0)
            err_field(e, ERR_INVALID, "format", "must be json or csv");
        return false;
    }
    const char *accept = http_header(q, "Accept");
    return accept && strstr(accept, "text/csv") && !strstr(accept, "application/json");
}

/* Reads ?name=N, within lo .. hi. */
static int query_number(int64_t *out, const struct http_request *q, const char *name,
                        int64_t lo, int64_t hi, struct err *e)
{
    char text[32];
    int given = http_query(text, sizeof text, q, name, e);
    if (given < 0) return e->code;
    return given ? text_int(out, text, lo, hi, name, e) : 0;
}

/* NULL: an error in e, or a 429 in the reply if the address has its share. */
static struct histories_answer *begin_history(struct api *a, const struct http_request *q,
                                              struct histories_question *ask,
                                              struct reply *r, struct err *e)
{
    const struct api_shared *sh = a->shared;
    struct admit_client client;
    admit_client(&client, sh->admit, q);
    ask->who = client.addr;
    ask->held = client.limited ? sh->reading : NULL;
    if (ask->held && !occupancy_take(ask->held, &ask->who, sh->histories_each)) {
        reply_fail(r, 429, "",
                   "%d histories are being sent to this address, which is its share",
                   sh->histories_each);
        reply_constant(r, "Retry-After", "1");
        return NULL;
    }
    struct histories_answer *answer = histories_begin(sh->histories, ask, e);
    if (!answer && ask->held) occupancy_give(ask->held, &ask->who);
    return answer;
}

static void ask_history(struct api *a, const struct http_request *q,
                        const struct route_params *p, struct reply *r)
{
    struct err e = {0};
    struct histories_question ask = {.csv = wants_csv(q, &e), .bell = a->bell};
    int64_t after = 0, limit = ask.csv ? INT_MAX : HISTORIES_PAGE;
    if (!e.code) query_number(&after, q, "after", 0, UINT32_MAX, &e);
    if (!e.code) query_number(&limit, q, "limit", 1, HISTORIES_PAGE_MAX, &e);
    snprintf(ask.session, sizeof ask.session, "%s", route_param(p, "id"));
    ask.after = (uint32_t)after;
    ask.limit = (int)limit;
    struct histories_answer *answer = e.code ? NULL : begin_history(a, q, &ask, r, &e);
    if (answer)
        reply_wait(r, &(struct reply_wait){histories_ready, histories_drop, answer});
    else if (e.code)
        reply_err(r, &e);
}

void api_session_get(struct api *a, const struct http_request *q,
                     const struct route_params *p, struct reply *r)
{
    enum { POLL_MS = 1000 }; /* the eventfd wakes the worker earlier */
    struct histories_answer *answer = q->waited;
    if (!answer) {
        ask_history(a, q, p, r);
        return;
    }
    const struct err *why = histories_error(answer);
    if (why) {
        reply_err(r, why);
        histories_drop(answer);
        return;
    }
    bool csv = wants_csv(q, &(struct err){0});
    struct reply_stream stream = {histories_pull, histories_drop, answer, POLL_MS, -1,
                                  false};
    reply_stream(r, 200, csv ? "text/csv; charset=utf-8" : "application/json", &stream);
    if (csv)
        reply_header(r, "Content-Disposition", "attachment; filename=\"%s.csv\"",
                     route_param(p, "id"));
}

void api_session_close(struct api *a, const struct http_request *q,
                       const struct route_params *p, struct reply *r)
{
    struct err e = {0};
    char profile[4 * SERVICE_NAME]; /* longer than a name: a cut must not match one */
    if (http_query(profile, sizeof profile, q, "profile", &e) < 0 ||
        service_close(a->shared->service, route_param(p, "id"), profile, &e)) {
        reply_err(r, &e);
    } else {
        reply_empty(r, 204);
    }
}

/* ---- deleting sessions ---- */

struct forget_job {
    struct service *service;
    struct wire_forget what;
    struct forget_stats stats;
    int rc;
    struct err e;
};

static void forget_run(void *self)
{
    struct forget_job *f = self;
    f->rc =
        service_forget(&f->stats, f->service, &f->what.choice, f->what.dry_run, &f->e);
}

static void forget_begin(struct api *a, const struct http_request *q, struct reply *r)
{
    struct err e = {0};
    struct forget_job *f = calloc(1, sizeof *f);
    if (!f) {
        reply_fail(r, 503, "", "no memory to delete sessions");
    } else if (wire_forget(&f->what, q->body, q->n_body, &e)) {
        free(f);
        reply_err(r, &e);
    } else {
        f->service = a->shared->service;
        api_job(a, r, forget_run, f);
    }
}

void api_sessions_forget(struct api *a, const struct http_request *q,
                         const struct route_params *p, struct reply *r)
{
    (void)p;
    if (!q->waited) {
        forget_begin(a, q, r);
        return;
    }
    const struct forget_job *f = jobs_result(q->waited);
    if (!f) {
        reply_fail(r, 503, "", "the daemon is stopping");
    } else if (f->rc) {
        reply_err(r, &f->e);
    } else {
        wire_put_forgotten(&a->out, &f->stats, f->what.dry_run);
        api_json(a, r, 200);
    }
    jobs_drop(q->waited);
}

#include "serve/http/api.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "serve/wire/wire_put.h"
#include "serve/parts.h"

void api_healthz(struct api *a, const struct http_request *q,
                 const struct route_params *p, struct reply *r)
{
    (void)q;
    (void)p;
    emit_open(&a->out, '{');
    emit_key(&a->out, "status");
    emit_string(&a->out, "ok");
    emit_key(&a->out, "version");
    emit_string(&a->out, API_VERSION);
    emit_key(&a->out, "uptime_s");
    emit_rounded(&a->out, clock_now() - a->shared->started_at);
    emit_close(&a->out, '}');
    api_json(a, r, 200);
}

/* A daemon that stops, or whose store refuses writes, is alive but should get no players. */
void api_readyz(struct api *a, const struct http_request *q, const struct route_params *p,
                struct reply *r)
{
    (void)q;
    (void)p;
    struct service_stats s;
    service_stats(&s, a->shared->service);
    if (a->shared->draining || s.draining) {
        reply_fail(r, 503, "", "the daemon is stopping");
    } else if (!s.store_ok) {
        reply_fail(r, 503, "", "the store refuses writes");
    } else {
        emit_open(&a->out, '{');
        emit_key(&a->out, "ready");
        emit_bool(&a->out, true);
        emit_key(&a->out, "policy");
        emit_u64(&a->out, s.policy_version);
        emit_key(&a->out, "sessions_live");
        emit_int(&a->out, s.sessions_live);
        struct parts_stats parts;
        parts_stats(&parts, a->shared->service);
        for (int i = 0; i < parts_n(); i++)
            if (parts_at(i)->ready) parts_at(i)->ready(&a->out, parts_figures(i, &parts));
        emit_close(&a->out, '}');
        api_json(a, r, 200);
    }
}

static uint64_t refused_of(const struct occupancy *t)
{
    return t ? occupancy_refused(t) : 0;
}

void api_metrics(struct api *a, const struct http_request *q,
                 const struct route_params *p, struct reply *r)
{
    (void)q;
    (void)p;
    struct service_stats s;
    struct policy_info info;
    service_stats(&s, a->shared->service);
    service_policy_info(&info, a->shared->service);
    struct admit_stats admit = admit_stats(a->shared->admit);
    const struct api_shared *sh = a->shared;
    struct parts_stats parts;
    parts_stats(&parts, sh->service);
    admit.events = refused_of(sh->watching);
    admit.long_answers = refused_of(sh->answering);
    admit.histories = refused_of(sh->reading);
    for (int i = 0; i < parts_n(); i++) {
        const struct part *part = parts_at(i);
        if (part->limited) part->limited(sh->part[i], &admit);
        if (part->listen_stats) part->listen_stats(sh->part[i], parts_figures(i, &parts));
    }
    metrics_put(&a->out, a->shared->metrics, &s, &parts, &info, &admit);
    if (a->out.failed) {
        reply_fail(r, 503, "", "no memory for the answer");
    } else {
        reply_copy(r, 200, "text/plain; version=0.0.4; charset=utf-8", a->out.at,
                   a->out.n);
    }
}

static void put_stats(void *ctx, struct emit *o)
{
    struct api_shared *shared = ctx;
    struct service_stats s;
    struct parts_stats parts;
    service_stats(&s, shared->service);
    parts_stats(&parts, shared->service);
    wire_put_stats(o, &s, &parts);
}

void api_events(struct api *a, const struct http_request *q, const struct route_params *p,
                struct reply *r)
{
    (void)p;
    struct err e = {0};
    char only[16] = "";
    int given = http_query(only, sizeof only, q, "only", &e);
    if (given < 0 || (only[0] && strcmp(only, "stats") != 0)) {
        err_field(&e, ERR_INVALID, "only", "must be stats");
        reply_err(r, &e);
        return;
    }
    if (a->shared->draining) {
        reply_fail(r, 503, "", "the daemon is stopping");
        return;
    }

    /* an id from the events lets a client send requests for that session */
    struct admit_client client;
    admit_client(&client, a->shared->admit, q);
    bool all = !client.limited ||
               auth_token_given(a->shared->auth, http_header(q, "Authorization"));

    uint64_t after = UINT64_MAX;
    const char *last = http_header(q, "Last-Event-ID");
    if (last && text_u64(&after, last, "Last-Event-ID", NULL)) after = UINT64_MAX;
    events_reply(r, a->shared->events,
                 &(struct events_cfg){.stats = put_stats,
                                      .ctx = a->shared,
                                      .only_stats = only[0] || !all,
                                      .withheld = !only[0] && !all,
                                      .held = client.limited ? a->shared->watching : NULL,
                                      .who = client.addr,
                                      .most = a->shared->watchers_each,
                                      .after = after});
}

void api_page(struct api *a, const struct http_request *q, const struct route_params *p,
              struct reply *r)
{
    files_get(r, a->shared->files, route_param(p, "page"),
              http_header(q, "If-None-Match"));
}

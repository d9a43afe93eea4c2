#include "serve/http/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/wire/wire.h"
#include "serve/wire/wire_put.h"

#define LIST_MAX 1024

void api_profile_list(struct api *a, const struct http_request *q,
                      const struct route_params *p, struct reply *r)
{
    (void)q;
    (void)p;
    struct profile *list = malloc(LIST_MAX * sizeof *list);
    if (!list) {
        reply_fail(r, 503, "", "no memory for the list");
        return;
    }
    int n = service_profile_list(list, LIST_MAX, a->shared->service);

    emit_open(&a->out, '{');
    emit_key(&a->out, "default");
    emit_string(&a->out, a->shared->default_profile);
    emit_key(&a->out, "profiles");
    emit_open(&a->out, '[');
    for (int i = 0; i < n; i++)
        wire_put_profile(&a->out, &list[i]);
    emit_close(&a->out, ']');
    emit_close(&a->out, '}');
    api_json(a, r, 200);
    free(list);
}

static void put_one(struct api *a, struct reply *r, int status, const struct profile *p)
{
    wire_put_profile(&a->out, p);
    api_json(a, r, status);
}

void api_profile_get(struct api *a, const struct http_request *q,
                     const struct route_params *p, struct reply *r)
{
    (void)q;
    struct err e = {0};
    struct profile profile;
    if (service_profile_get(&profile, a->shared->service, route_param(p, "name"), &e)) {
        reply_err(r, &e);
    } else {
        put_one(a, r, 200, &profile);
    }
}

/* ---- changes: jobs, because they wait for the disk, an emulation, or NATS ---- */

struct profile_change {
    struct service *service;
    struct profile profile; /* for a delete only its name */
    bool deletes;
    int rc; /* 1: created, 0: done, else ERR_* */
    struct err e;
};

static void change_run(void *self)
{
    struct profile_change *c = self;
    c->rc = c->deletes ? service_profile_delete(c->service, c->profile.name, &c->e)
                       : service_profile_put(c->service, &c->profile, &c->e);
    if (c->rc < 0 || c->deletes) return;
    int rc = service_profile_get(&c->profile, c->service, c->profile.name, &c->e);
    if (rc) c->rc = rc;
}

static void change_begin(struct api *a, const struct profile *p, bool deletes,
                         struct reply *r)
{
    struct profile_change *c = malloc(sizeof *c);
    if (!c) {
        reply_fail(r, 503, "", "no memory for a change");
        return;
    }
    *c = (struct profile_change){
        .service = a->shared->service, .profile = *p, .deletes = deletes};
    api_job(a, r, change_run, c);
}

/* The result of a change as the answer. */
static void change_answer(struct api *a, void *job, struct reply *r)
{
    const struct profile_change *c = jobs_result(job);
    if (!c) {
        reply_fail(r, 503, "", "the daemon is stopping");
    } else if (c->rc < 0) {
        reply_err(r, &c->e);
    } else if (c->deletes) {
        reply_empty(r, 204);
    } else {
        put_one(a, r, c->rc ? 201 : 200, &c->profile);
        if (c->rc) reply_header(r, "Location", "/v1/profiles/%s", c->profile.name);
    }
    jobs_drop(job);
}

static int change_name(struct profile *p, const char *name, struct err *e)
{
    if (snprintf(p->name, sizeof p->name, "%s", name) < (int)sizeof p->name) return 0;
    return err_field(e, ERR_RANGE, "name", "is longer than %zu characters",
                     sizeof p->name - 1);
}

void api_profile_put(struct api *a, const struct http_request *q,
                     const struct route_params *p, struct reply *r)
{
    struct err e = {0};
    struct profile profile = {0};
    if (q->waited) {
        change_answer(a, q->waited, r);
    } else if (change_name(&profile, route_param(p, "name"), &e) ||
               wire_profile(&profile, q->body, q->n_body, &e)) {
        reply_err(r, &e);
    } else {
        change_begin(a, &profile, false, r);
    }
}

void api_profile_delete(struct api *a, const struct http_request *q,
                        const struct route_params *p, struct reply *r)
{
    struct err e = {0};
    struct profile profile = {0};
    if (q->waited) {
        change_answer(a, q->waited, r);
    } else if (change_name(&profile, route_param(p, "name"), NULL)) {
        /* no profile can have a name this long */
        err_field(&e, ERR_ABSENT, "profile", "there is no profile '%.63s'",
                  route_param(p, "name"));
        reply_err(r, &e);
    } else {
        change_begin(a, &profile, true, r);
    }
}

#include "serve/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/wire.h"
#include "serve/wire_put.h"

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

void api_profile_put(struct api *a, const struct http_request *q,
                     const struct route_params *p, struct reply *r)
{
    struct err e = {0};
    struct profile profile = {0};
    const char *name = route_param(p, "name");
    int rc = 0;
    if (snprintf(profile.name, sizeof profile.name, "%s", name) >=
        (int)sizeof profile.name)
        rc = err_field(&e, ERR_RANGE, "name", "is longer than %zu characters",
                       sizeof profile.name - 1);
    if (!rc) rc = wire_profile(&profile, q->body, q->n_body, &e);
    int made = rc ? rc : service_profile_put(a->shared->service, &profile, &e);
    rc = made < 0 ? made
                  : service_profile_get(&profile, a->shared->service, profile.name, &e);
    if (rc) {
        reply_err(r, &e);
        return;
    }
    put_one(a, r, made ? 201 : 200, &profile);
    if (made) reply_header(r, "Location", "/v1/profiles/%s", profile.name);
}

void api_profile_delete(struct api *a, const struct http_request *q,
                        const struct route_params *p, struct reply *r)
{
    (void)q;
    struct err e = {0};
    if (service_profile_delete(a->shared->service, route_param(p, "name"), &e)) {
        reply_err(r, &e);
    } else {
        reply_empty(r, 204);
    }
}

#include "serve/http/api.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "serve/wire/wire.h"
#include "serve/wire/wire_put.h"

void api_policy_get(struct api *a, const struct http_request *q,
                    const struct route_params *p, struct reply *r)
{
    (void)q;
    (void)p;
    struct policy_info info;
    service_policy_info(&info, a->shared->service);
    wire_put_policy(&a->out, &info);
    api_json(a, r, 200);
}

/* The version alone is not enough: another policy file counts from 1 again. */
static void tag_of(char *out, size_t n, const struct policy_info *info)
{
    snprintf(out, n, "\"v%" PRIu64 "-%" PRIx64 "\"", info->version,
             (uint64_t)llround(info->published_at * 1000.0));
}

void api_policy_weights(struct api *a, const struct http_request *q,
                        const struct route_params *p, struct reply *r)
{
    (void)p;
    struct service *s = a->shared->service;
    struct policy_info info, after;
    char tag[64];
    service_policy_info(&info, s);
    tag_of(tag, sizeof tag, &info);

    const char *known = http_header(q, "If-None-Match");
    if (known && strstr(known, tag)) {
        reply_empty(r, 304);
        reply_header(r, "ETag", "%s", tag);
        reply_constant(r, "Cache-Control", "no-cache");
        return;
    }

    /* the tag must belong to these bytes: try again if a version was published meanwhile */
    struct err e = {0};
    void *bytes = NULL;
    size_t n = 0;
    for (;;) {
        if (service_policy_weights(&bytes, &n, s, &e)) {
            reply_err(r, &e);
            return;
        }
        service_policy_info(&after, s);
        if (after.version == info.version) break;
        free(bytes);
        info = after;
    }
    tag_of(tag, sizeof tag, &info);
    struct admit_client client;
    admit_client(&client, a->shared->admit, q);
    api_long(a, &client, r, "application/octet-stream", bytes, n);
    if (r->status != 200) return;
    reply_header(r, "ETag", "%s", tag);
    reply_constant(r, "Cache-Control", "no-cache");
    reply_header(r, "Content-Disposition",
                 "attachment; filename=\"abrd-policy-%" PRIu64 ".safetensors\"",
                 info.version);
}

/* The order as JSON; the learner executes it at its next turn. */
static void accepted(struct api *a, struct reply *r, const struct err *e, int rc)
{
    if (rc) {
        reply_err(r, e);
        return;
    }
    struct service_stats s;
    service_stats(&s, a->shared->service);
    wire_put_gates(&a->out, &s);
    api_json(a, r, 202);
}

void api_policy_gate(struct api *a, const struct http_request *q,
                     const struct route_params *p, struct reply *r)
{
    (void)p;
    struct err e = {0};
    int rc = wire_gate(q->body, q->n_body, &e);
    if (!rc) rc = service_gate_reset(a->shared->service, &e);
    accepted(a, r, &e, rc);
}

void api_policy_expert(struct api *a, const struct http_request *q,
                       const struct route_params *p, struct reply *r)
{
    struct err e = {0};
    const char *network = route_param(p, "network");
    bool critic = strcmp(network, "critic") == 0;
    int64_t expert;
    int updates;
    if (!critic && strcmp(network, "actor") != 0) {
        reply_fail(r, 404, "network", "must be actor or critic");
        return;
    }
    int rc = text_int(&expert, route_param(p, "expert"), 0, 1000, "expert", &e);
    if (!rc) rc = wire_aside(&updates, q->body, q->n_body, &e);
    if (!rc) rc = service_set_aside(a->shared->service, critic, (int)expert, updates, &e);
    accepted(a, r, &e, rc);
}

#include "serve/http/api.h"

#include "serve/wire/wire.h"
#include "serve/wire/wire_put.h"

void api_decide(struct api *a, const struct http_request *q, const struct route_params *p,
                struct reply *r)
{
    (void)p;
    struct err e = {0};
    struct wire_decide in;
    struct profile profile = {.name = "custom"};
    struct answer answer;
    int rc = wire_decide(&in, q->body, q->n_body, &e);
    if (!rc && !in.has_mu) {
        rc = api_profile(&profile, a, in.profile, &e);
        in.view.qoe = profile.qoe;
    }
    if (!rc)
        rc = service_decide(&answer, a->shared->service, a->scratch,
                            in.has_mu ? NULL : profile.name, in.has_mu || in.profile[0],
                            &in.view, in.max_kbps, &e);
    if (rc) {
        reply_err(r, &e);
        return;
    }
    answer.quality_from = in.from[answer.level];
    wire_put_decided(&a->out, &answer, profile.name, in.has_mu || in.profile[0],
                     &in.view.qoe);
    api_json(a, r, 200);
}

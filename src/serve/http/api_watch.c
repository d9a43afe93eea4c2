/* Data that dashboards request next to the figures of the event stream. */
#include "serve/http/api.h"

#include <stdlib.h>

#include "base/text.h"
#include "serve/learner/cells.h"
#include "serve/wire/wire_put.h"

void api_policy_updates(struct api *a, const struct http_request *q,
                        const struct route_params *p, struct reply *r)
{
    (void)p;
    struct err e = {0};
    char text[32] = "";
    uint64_t after = 0;
    int given = http_query(text, sizeof text, q, "after", &e);
    if (given < 0 || (text[0] && text_u64(&after, text, "after", &e))) {
        reply_err(r, &e);
        return;
    }
    struct curve_point *points = calloc(CURVE_POINTS, sizeof *points);
    if (!points) {
        reply_fail(r, 503, "", "no memory for the answer");
        return;
    }
    int n = service_curve(points, CURVE_POINTS, a->shared->service, after);
    struct cells_report exam;
    bool examined = service_exam(&exam, a->shared->service);
    wire_put_curve(&a->out, points, n, examined ? &exam : NULL);
    free(points);
    api_json(a, r, 200);
}

void api_policy_plasticity(struct api *a, const struct http_request *q,
                           const struct route_params *p, struct reply *r)
{
    (void)q;
    (void)p;
    struct service_stats s;
    service_stats(&s, a->shared->service);
    wire_put_plasticity(&a->out, &s.vitals);
    api_json(a, r, 200);
}

/* metrics.h - the daemon's figures as Prometheus text (exposition format 0.0.4).
 *
 * Each room owns the table of its figures (figure.h). This module joins the tables and adds the counts
 * of HTTP and of the process. HTTP is counted per worker, so that workers share no cache line.
 *
 * Threads: metrics_request and metrics_connections from the worker that they name; metrics_put
 * from any. */
#ifndef SERVE_METRICS_H
#define SERVE_METRICS_H

#include "serve/access/admit.h"
#include "serve/wire/emit.h"
#include "serve/http/http.h"
#include "serve/http/route.h"
#include "serve/parts.h"
#include "serve/session/service.h"
#include "serve/metrics/stages.h"

struct metrics;

/* routes: borrowed until metrics_free; the rows name the counters. */
struct metrics *metrics_new(int workers, const struct route *routes, double started_at,
                            const char *version, struct err *e);
void metrics_free(struct metrics *m);

/* route: index of the row, or the number of rows if no route matched. seconds: from the complete
 * request to the reply, without sending it. */
void metrics_request(struct metrics *m, int worker, int route, int status,
                     double seconds);
void metrics_connections(struct metrics *m, int worker, const struct http_stats *s);

/* The worker's timers of decisions. */
struct stages *metrics_stages(struct metrics *m, int worker);

/* The reference of all families as a Markdown table. */
void metrics_reference(struct emit *o);

/* admit NULL: no rate limits. */
void metrics_put(struct emit *o, const struct metrics *m, const struct service_stats *s,
                 const struct parts_stats *parts, const struct policy_info *p,
                 const struct admit_stats *admit);

#endif

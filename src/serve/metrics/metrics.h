/* metrics.h - what the daemon counts, as Prometheus text (exposition format 0.0.4).
 *
 * The one place that makes such text. The service counts for itself (service_stats); here are
 * the counts of HTTP, one set per worker so that workers do not fight for cache lines, and
 * the figures of the process.
 *
 * Threads: metrics_request and metrics_connections from the worker they name; metrics_put
 * from any. */
#ifndef SERVE_METRICS_H
#define SERVE_METRICS_H

#include "serve/http/admit.h"
#include "serve/http/emit.h"
#include "serve/http/http.h"
#include "serve/players/origin.h"
#include "serve/http/route.h"
#include "serve/session/service.h"
#include "serve/metrics/stages.h"

struct metrics;

/* routes: the table, whose rows name the counters; it must outlive the metrics. */
struct metrics *metrics_new(int workers, const struct route *routes, double started_at,
                            const char *version, struct err *e);
void metrics_free(struct metrics *m);

/* route: index of the row, or the number of rows when none fitted. seconds: from the
 * complete request to the reply, sending not counted. */
void metrics_request(struct metrics *m, int worker, int route, int status,
                     double seconds);
void metrics_connections(struct metrics *m, int worker, const struct http_stats *s);

/* Of that worker: for it to time its decisions. */
struct stages *metrics_stages(struct metrics *m, int worker);

/* admit may be NULL: nothing is limited; and origin: nothing is handed on. */
void metrics_put(struct emit *o, const struct metrics *m, const struct service_stats *s,
                 const struct policy_info *p, const struct admit_stats *admit,
                 const struct origin_stats *origin);

#endif

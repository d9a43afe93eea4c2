#include "metrics_priv.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"

/* what this daemon answers; anything else counts as the last, which no alert takes for a failure */
static const int statuses[] = {200, 201, 202, 203, 204, 206, 304, 400, 401, 403, 404, 405,
                               409, 413, 414, 416, 429, 431, 500, 502, 503, 504, 505, 0};
#define STATUSES (int)(sizeof statuses / sizeof *statuses)

struct worker_metrics {
    struct hist *seconds;           /* (rows) */
    atomic_uint_fast64_t *requests; /* (rows, STATUSES) */
    struct stages stages;
    atomic_int connections, streams;
    atomic_uint_fast64_t refused, turned_away, gave_way;
};

struct metrics {
    int workers, rows; /* rows: of the route table, + 1 for "no route" */
    const struct route *routes;
    double started_at;
    char version[32];
    struct worker_metrics *worker; /* (workers) */
};

struct metrics *metrics_new(int workers, const struct route *routes, double started_at,
                            const char *version, struct err *e)
{
    struct metrics *m = calloc(1, sizeof *m);
    if (!m) goto fail;
    m->workers = workers;
    m->routes = routes;
    m->started_at = started_at;
    snprintf(m->version, sizeof m->version, "%s", version);
    while (routes[m->rows].path)
        m->rows++;
    m->rows++;

    m->worker = calloc((size_t)workers, sizeof *m->worker);
    if (!m->worker) goto fail;
    for (int i = 0; i < workers; i++) {
        struct worker_metrics *w = &m->worker[i];
        w->seconds = calloc((size_t)m->rows, sizeof *w->seconds);
        w->requests = calloc((size_t)m->rows * (size_t)STATUSES, sizeof *w->requests);
        if (!w->seconds || !w->requests) goto fail;
        for (int r = 0; r < m->rows; r++)
            hist_init(&w->seconds[r], 10e-6, 2.0, 20); /* 10 us .. 5.2 s */
        stages_init(&w->stages);
    }
    return m;
fail:
    err_set(e, ERR_MEMORY, "no memory for the counters");
    metrics_free(m);
    return NULL;
}

void metrics_free(struct metrics *m)
{
    if (!m) return;
    for (int i = 0; m->worker && i < m->workers; i++) {
        free(m->worker[i].seconds);
        free(m->worker[i].requests);
    }
    free(m->worker);
    free(m);
}

void metrics_request(struct metrics *m, int worker, int route, int status, double seconds)
{
    int column = 0;
    while (column < STATUSES - 1 && statuses[column] != status)
        column++;
    struct worker_metrics *w = &m->worker[worker];
    atomic_fetch_add_explicit(&w->requests[route * STATUSES + column], 1,
                              memory_order_relaxed);
    hist_add(&w->seconds[route], seconds);
}

struct stages *metrics_stages(struct metrics *m, int worker)
{
    return &m->worker[worker].stages;
}

void metrics_connections(struct metrics *m, int worker, const struct http_stats *s)
{
    struct worker_metrics *w = &m->worker[worker];
    atomic_store_explicit(&w->connections, s->connections, memory_order_relaxed);
    atomic_store_explicit(&w->streams, s->streams, memory_order_relaxed);
    atomic_store_explicit(&w->refused, s->refused, memory_order_relaxed);
    atomic_store_explicit(&w->turned_away, s->turned_away, memory_order_relaxed);
    atomic_store_explicit(&w->gave_way, s->gave_way, memory_order_relaxed);
}

/* ---- the text ---- */

static const char *row_path(const struct metrics *m, int row)
{
    return row < m->rows - 1 ? m->routes[row].path : "none";
}

static const char *row_method(const struct metrics *m, int row)
{
    return row < m->rows - 1 ? http_method_name(m->routes[row].method) : "any";
}

static void put_requests(struct emit *o, const struct metrics *m)
{
    metrics_head(o, "abrd_http_requests_total", "counter", "Requests answered.");
    for (int row = 0; row < m->rows; row++) {
        for (int c = 0; c < STATUSES; c++) {
            uint64_t n = 0;
            char code[16] = "other";
            if (statuses[c]) snprintf(code, sizeof code, "%d", statuses[c]);
            for (int w = 0; w < m->workers; w++)
                n += atomic_load_explicit(&m->worker[w].requests[row * STATUSES + c],
                                          memory_order_relaxed);
            if (n)
                emit_text(
                    o,
                    "abrd_http_requests_total{route=\"%s\",method=\"%s\",code=\"%s\"} "
                    "%" PRIu64 "\n",
                    row_path(m, row), row_method(m, row), code, n);
        }
    }
}

static void add_reading(struct hist_reading *sum, const struct hist *h)
{
    struct hist_reading one;
    hist_read(&one, h);
    for (int k = 0; k < sum->n; k++)
        sum->below[k] += one.below[k];
    sum->count += one.count;
    sum->sum += one.sum;
}

static void put_stages(struct emit *o, const struct metrics *m)
{
    static const char name[] = "abrd_decision_stage_seconds";
    metrics_head(o, name, "histogram",
                 "Stages of decisions, of one decision in 64: wire, track, policy, keep, "
                 "emit.");
    for (int i = 0; i < STAGES; i++) {
        struct hist_reading sum;
        char labels[32];
        hist_read(&sum, &m->worker[0].stages.seconds[i]);
        for (int w = 1; w < m->workers; w++)
            add_reading(&sum, &m->worker[w].stages.seconds[i]);
        snprintf(labels, sizeof labels, "stage=\"%s\"", stages_name((enum stage)i));
        metrics_hist(o, name, labels, &sum);
    }
}

static void put_seconds(struct emit *o, const struct metrics *m)
{
    static const char name[] = "abrd_http_request_seconds";
    metrics_head(o, name, "histogram",
                 "From the complete request to the reply, without sending.");
    for (int row = 0; row < m->rows; row++) {
        struct hist_reading sum;
        hist_read(&sum, &m->worker[0].seconds[row]);
        for (int w = 1; w < m->workers; w++)
            add_reading(&sum, &m->worker[w].seconds[row]);
        if (!sum.count) continue;

        char labels[160];
        snprintf(labels, sizeof labels, "route=\"%.100s\",method=\"%s\"",
                 row_path(m, row), row_method(m, row));
        metrics_hist(o, name, labels, &sum);
    }
}

static void put_admit(struct emit *o, const struct admit_stats *a)
{
    static const char name[] = "abrd_limited_total";
    metrics_head(o, name, "counter", "Requests refused with 429, by the limit they met.");
    metrics_labelled(o, name, "limit", "address", (double)a->address);
    metrics_labelled(o, name, "limit", "open", (double)a->open);
    metrics_labelled(o, name, "limit", "session", (double)a->session);
    metrics_labelled(o, name, "limit", "events", (double)a->events);
    metrics_labelled(o, name, "limit", "transfers", (double)a->transfers);
}

static void put_origin(struct emit *o, const struct origin_stats *s)
{
    static const char failures[] = "abrd_origin_failures_total";
    metrics_gauge(o, "abrd_origin_transfers", "Media handed on from origins just now.",
                  s->transfers);
    metrics_gauge(o, "abrd_origin_transfers_max", "Of those at most.", s->transfers_max);
    metrics_counter(o, "abrd_origin_requests_total", "Requests that went to origins.",
                    (double)s->begun);
    metrics_counter(o, "abrd_origin_refused_total",
                    "Requests refused since all transfers were taken.",
                    (double)s->refused);
    metrics_counter(o, "abrd_origin_bytes_total", "Bytes of media handed on.",
                    (double)s->bytes);
    metrics_head(o, failures, "counter",
                 "Transfers that failed: the origin unreachable, silent, redirecting to "
                 "where nobody may follow, or its answer broken off.");
    for (int f = ORIGIN_SOUND + 1; f < ORIGIN_FAULTS; f++)
        metrics_labelled(o, failures, "why", origin_fault_name((enum origin_fault)f),
                         (double)s->failed[f]);
}

static void put_http(struct emit *o, const struct metrics *m)
{
    put_requests(o, m);
    put_seconds(o, m);
    put_stages(o, m);
    int connections = 0, streams = 0;
    uint64_t refused = 0, turned_away = 0, gave_way = 0;
    for (int w = 0; w < m->workers; w++) {
        connections +=
            atomic_load_explicit(&m->worker[w].connections, memory_order_relaxed);
        streams += atomic_load_explicit(&m->worker[w].streams, memory_order_relaxed);
        refused += atomic_load_explicit(&m->worker[w].refused, memory_order_relaxed);
        turned_away +=
            atomic_load_explicit(&m->worker[w].turned_away, memory_order_relaxed);
        gave_way += atomic_load_explicit(&m->worker[w].gave_way, memory_order_relaxed);
    }
    metrics_gauge(o, "abrd_http_connections", "Open connections.", connections);
    metrics_gauge(o, "abrd_http_streams", "Open event streams and demo segments.",
                  streams);
    metrics_counter(o, "abrd_http_refused_total",
                    "Requests refused before any route: framing, size, Host.",
                    (double)refused);
    metrics_counter(o, "abrd_http_connections_refused_total",
                    "Connections closed at once: their address held its share "
                    "(--address-connections).",
                    (double)turned_away);
    metrics_counter(o, "abrd_http_connections_evicted_total",
                    "Idle connections of the address with most of them, closed to make "
                    "room.",
                    (double)gave_way);
}

static int open_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = -1; /* the folder itself */
    while (d && readdir(d))
        n++;
    if (d) closedir(d);
    return n > 1 ? n - 2 : 0; /* without "." and ".." */
}

static void put_process(struct emit *o, const struct metrics *m)
{
    metrics_head(o, "abrd_build_info", "gauge", "Always 1; the version is in the label.");
    metrics_labelled(o, "abrd_build_info", "version", m->version, 1);
    metrics_gauge(o, "process_start_time_seconds", "Since the epoch.", m->started_at);
    metrics_counter(o, "process_cpu_seconds_total", "User and system time.", clock_cpu());
    metrics_gauge(o, "process_open_fds", "Open file descriptors.", open_files());
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        metrics_gauge(o, "process_max_fds", "Of those at most.", (double)files.rlim_cur);

    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f) {
        /* NOLINTNEXTLINE(cert-err34-c): the kernel's own number */
        if (fscanf(f, "%*s %ld", &pages) != 1) pages = 0;
        fclose(f);
    }
    metrics_gauge(o, "process_resident_memory_bytes", "Resident memory.",
                  (double)pages * (double)sysconf(_SC_PAGESIZE));
}

void metrics_put(struct emit *o, const struct metrics *m, const struct service_stats *s,
                 const struct policy_info *p, const struct admit_stats *admit,
                 const struct origin_stats *origin)
{
    metrics_put_service(o, s);
    metrics_put_learning(o, s, p);
    metrics_put_untagged(o, &s->untagged);
    metrics_put_cluster(o, &s->cluster);
    if (admit) put_admit(o, admit);
    if (origin) put_origin(o, origin);
    put_http(o, m);
    put_process(o, m);
}

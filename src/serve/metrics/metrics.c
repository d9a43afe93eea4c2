#include "serve/metrics/metrics.h"

#include "base/clock.h"
#include "base/hist.h"
#include "serve/added/added_figures.h"
#include "serve/learner/learner_figures.h"
#include "serve/metrics/figure.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Status codes of the daemon. Any other counts as the last one, for which no alert exists. */
static const int statuses[] = {200, 201, 202, 203, 204, 206, 304, 308, 400,
                               401, 403, 404, 405, 409, 413, 414, 416, 429,
                               431, 500, 502, 503, 504, 505, 0};
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

/* ---- figures of this module ---- */

/* Figures of the published weights. */
struct policy_figures {
    double published_at, age_s;
    uint64_t parameters;
    int actor_busy, critic_busy; /* experts */
};

static const struct figure POLICY[] = {
    {"abrd_policy_published_timestamp_seconds", NULL, FIGURE_GAUGE,
     "Time at which the published weights were published.",
     FIELD(struct policy_figures, published_at)},
    {"abrd_policy_age_seconds", NULL, FIGURE_GAUGE,
     "Seconds since the published weights were published.",
     FIELD(struct policy_figures, age_s)},
    {"abrd_policy_parameters", NULL, FIGURE_GAUGE, "Weights of actor and critic.",
     FIELD(struct policy_figures, parameters)},
    {"abrd_experts_busy", NULL, FIGURE_GAUGE,
     "Disabled experts: no state is routed to them.",
     FIELD(struct policy_figures, actor_busy), .label = "network", .word = "actor"},
    {"abrd_experts_busy", NULL, FIGURE_GAUGE, NULL,
     FIELD(struct policy_figures, critic_busy), .label = "network", .word = "critic"},
    {0}};

/* Sums over the workers. */
struct http_figures {
    int connections, streams;
    uint64_t refused, turned_away, gave_way;
};

static const struct figure HTTP[] = {
    {"abrd_http_connections", NULL, FIGURE_GAUGE, "Open connections.",
     FIELD(struct http_figures, connections)},
    {"abrd_http_streams", NULL, FIGURE_GAUGE, "Open event streams and demo segments.",
     FIELD(struct http_figures, streams)},
    {"abrd_http_refused_total", NULL, FIGURE_COUNTER,
     "Requests refused before routing: framing, size, Host.",
     FIELD(struct http_figures, refused)},
    {"abrd_http_connections_refused_total", NULL, FIGURE_COUNTER,
     "Connections closed at once because their address had too many "
     "(--address-connections).",
     FIELD(struct http_figures, turned_away)},
    {"abrd_http_connections_evicted_total", NULL, FIGURE_COUNTER,
     "Idle connections closed to make room, of the address with the most connections.",
     FIELD(struct http_figures, gave_way)},
    {0}};

enum { REQUESTS, SECONDS, STAGE_SECONDS };
static const struct figure ROUTES[] = {
    {.metric = "abrd_http_requests_total",
     .kind = FIGURE_COUNTER,
     .help = "Answered requests by route, method and status code."},
    {.metric = "abrd_http_request_seconds",
     .kind = FIGURE_HISTOGRAM,
     .help = "Seconds from the complete request to the reply, without sending it."},
    {.metric = "abrd_decision_stage_seconds",
     .kind = FIGURE_HISTOGRAM,
     .help = "Seconds of each stage of a decision, measured for one decision in 64."},
    {0}};

struct process_figures {
    int build;
    double started_at, cpu_s, resident_bytes;
    int fds;
    uint64_t fds_max;
};

static const struct figure BUILD[] = {{"abrd_build_info", NULL, FIGURE_GAUGE,
                                       "Always 1; the label is the version.",
                                       FIELD(struct process_figures, build)},
                                      {0}};

static const struct figure PROCESS[] = {
    {"process_start_time_seconds", NULL, FIGURE_GAUGE,
     "Start of the process, in seconds since the epoch.",
     FIELD(struct process_figures, started_at)},
    {"process_cpu_seconds_total", NULL, FIGURE_COUNTER,
     "CPU time of the process, user and system.", FIELD(struct process_figures, cpu_s)},
    {"process_open_fds", NULL, FIGURE_GAUGE, "Open file descriptors.",
     FIELD(struct process_figures, fds)},
    {"process_max_fds", NULL, FIGURE_GAUGE, "File descriptors that can be open.",
     FIELD(struct process_figures, fds_max),
     FIGURE_WHEN(struct process_figures, fds_max)},
    {"process_resident_memory_bytes", NULL, FIGURE_GAUGE, "Resident memory.",
     FIELD(struct process_figures, resident_bytes)},
    {0}};

/* All tables for the reference, with the labels of their structs. */
static const struct {
    const struct figure *rows;
    const char *labels;
} TABLES[] = {
    {service_figures, ""},
    {service_profile_figures, "profile"},
    {service_label_figures, "label, value"},
    {POLICY, ""},
    {learner_figures, ""},
    {learner_update_figures, ""},
    {learner_gates_figures, ""},
    {learner_setting_figures, "setting"},
    {learner_gate_figures, "network"},
    {learner_vitals_figures, "network"},
    {learner_weights_figures, "network, expert, layer"},
    {learner_units_figures, "network, expert, layer"},
    {added_figures, "profile"},
    {hintless_figures, ""},
    {hintless_exam_figures, ""},
    {hintless_merge_exam_figures, ""},
    {cluster_figures, ""},
    {admit_figures, ""},
    {players_origin_figures, ""},
    {trial_figures, ""},
    {HTTP, ""},
    {BUILD, "version"},
    {PROCESS, ""},
};

void metrics_reference(struct emit *o)
{
    static const char *const labels[] = {"route, method, code", "route, method", "stage"};
    emit_text(o, "\n| metric | type | labels | what it is |\n|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES; i++)
        figure_reference(o, TABLES[i].rows, TABLES[i].labels);
    for (int i = REQUESTS; i <= STAGE_SECONDS; i++) {
        const struct figure one[] = {ROUTES[i], {0}};
        figure_reference(o, one, labels[i]);
    }
}

/* ---- requests ---- */

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
    figure_head(o, &ROUTES[REQUESTS]);
    for (int row = 0; row < m->rows; row++) {
        for (int c = 0; c < STATUSES; c++) {
            uint64_t n = 0;
            char code[16] = "other", labels[200];
            if (statuses[c]) snprintf(code, sizeof code, "%d", statuses[c]);
            for (int w = 0; w < m->workers; w++)
                n += atomic_load_explicit(&m->worker[w].requests[row * STATUSES + c],
                                          memory_order_relaxed);
            if (!n) continue;
            snprintf(labels, sizeof labels, "route=\"%.100s\",method=\"%s\",code=\"%s\"",
                     row_path(m, row), row_method(m, row), code);
            figure_sample(o, ROUTES[REQUESTS].metric, labels, (double)n);
        }
    }
}

static void put_hist(struct emit *o, const char *name, const char *labels,
                     const struct hist_reading *h)
{
    for (int k = 0; k < h->n; k++)
        emit_text(o, "%s_bucket{%s,le=\"%.6g\"} %" PRIu64 "\n", name, labels, h->bound[k],
                  h->below[k]);
    emit_text(o, "%s_bucket{%s,le=\"+Inf\"} %" PRIu64 "\n", name, labels, h->count);
    char part[64];
    snprintf(part, sizeof part, "%s_sum", name);
    figure_sample(o, part, labels, h->sum);
    snprintf(part, sizeof part, "%s_count", name);
    figure_sample(o, part, labels, (double)h->count);
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
    figure_head(o, &ROUTES[STAGE_SECONDS]);
    for (int i = 0; i < STAGES; i++) {
        struct hist_reading sum;
        char labels[32];
        hist_read(&sum, &m->worker[0].stages.seconds[i]);
        for (int w = 1; w < m->workers; w++)
            add_reading(&sum, &m->worker[w].stages.seconds[i]);
        snprintf(labels, sizeof labels, "stage=\"%s\"", stages_name((enum stage)i));
        put_hist(o, ROUTES[STAGE_SECONDS].metric, labels, &sum);
    }
}

static void put_seconds(struct emit *o, const struct metrics *m)
{
    figure_head(o, &ROUTES[SECONDS]);
    for (int row = 0; row < m->rows; row++) {
        struct hist_reading sum;
        hist_read(&sum, &m->worker[0].seconds[row]);
        for (int w = 1; w < m->workers; w++)
            add_reading(&sum, &m->worker[w].seconds[row]);
        if (!sum.count) continue;

        char labels[160];
        snprintf(labels, sizeof labels, "route=\"%.100s\",method=\"%s\"",
                 row_path(m, row), row_method(m, row));
        put_hist(o, ROUTES[SECONDS].metric, labels, &sum);
    }
}

static void put_http(struct emit *o, const struct metrics *m)
{
    put_requests(o, m);
    put_seconds(o, m);
    put_stages(o, m);
    struct http_figures sum = {0};
    for (int w = 0; w < m->workers; w++) {
        struct worker_metrics *one = &m->worker[w];
        sum.connections += atomic_load_explicit(&one->connections, memory_order_relaxed);
        sum.streams += atomic_load_explicit(&one->streams, memory_order_relaxed);
        sum.refused += atomic_load_explicit(&one->refused, memory_order_relaxed);
        sum.turned_away += atomic_load_explicit(&one->turned_away, memory_order_relaxed);
        sum.gave_way += atomic_load_explicit(&one->gave_way, memory_order_relaxed);
    }
    figure_put(o, HTTP, &sum);
}

static int open_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = -1; /* less the descriptor of the folder itself */
    while (d && readdir(d))
        n++;
    if (d) closedir(d);
    return n > 1 ? n - 2 : 0; /* "." and ".." */
}

static void put_process(struct emit *o, const struct metrics *m)
{
    struct process_figures p = {.build = 1,
                                .started_at = m->started_at,
                                .cpu_s = clock_cpu(),
                                .fds = open_files()};
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) p.fds_max = files.rlim_cur;

    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f) {
        /* NOLINTNEXTLINE(cert-err34-c): the kernel's own number */
        if (fscanf(f, "%*s %ld", &pages) != 1) pages = 0;
        fclose(f);
    }
    p.resident_bytes = (double)pages * (double)sysconf(_SC_PAGESIZE);

    struct figure_element build = {.base = &p};
    snprintf(build.labels, sizeof build.labels, "version=\"%s\"", m->version);
    figure_put_each(o, BUILD, &build, 1);
    figure_put(o, PROCESS, &p);
}

/* ---- figures of other rooms ---- */

static void put_profiles(struct emit *o, const struct service_stats *s)
{
    struct figure_element e[SERVICE_PROFILE_STATS];
    for (int i = 0; i < s->n_profiles; i++) {
        e[i].base = &s->profile[i];
        snprintf(e[i].labels, sizeof e[i].labels, "profile=\"%s\"", s->profile[i].name);
    }
    figure_put_each(o, service_profile_figures, e, s->n_profiles);
}

static void put_labels(struct emit *o, const struct service_stats *s)
{
    struct figure_element e[LABEL_SUMS_ROWS];
    for (int i = 0; i < s->n_labels; i++) {
        e[i].base = &s->labels[i];
        snprintf(e[i].labels, sizeof e[i].labels, "label=\"%s\",value=\"%s\"", s->label,
                 s->labels[i].value);
    }
    if (s->n_labels) figure_put_each(o, service_label_figures, e, s->n_labels);
}

static void put_added(struct emit *o, const struct added_stats *s)
{
    struct figure_element e[SERVICE_ADDED];
    for (int i = 0; i < s->n; i++) {
        e[i].base = &s->at[i];
        snprintf(e[i].labels, sizeof e[i].labels, "profile=\"%s\"", s->at[i].name);
    }
    if (s->n) figure_put_each(o, added_figures, e, s->n);
}

/* The families over actor and critic. */
static void put_networks(struct emit *o, const struct figure *rows, const void *actor,
                         const void *critic)
{
    const struct figure_element e[] = {{"network=\"actor\"", actor},
                                       {"network=\"critic\"", critic}};
    figure_put_each(o, rows, e, 2);
}

enum { LAYERS_MAX = 2 * VITALS_EXPERTS * MIX_LAYERS_MAX };

/* Appends the layers of a network that a state reached. Returns the new number. */
static int add_layers(struct figure_element e[LAYERS_MAX], int n, const char *network,
                      const struct vitals_net *net, bool reached)
{
    for (int k = 0; k < net->experts && k < VITALS_EXPERTS; k++)
        for (int i = 0; i < net->layers; i++) {
            if (reached && !net->expert[k].reached) continue;
            e[n].base = &net->expert[k].layer[i];
            snprintf(e[n].labels, sizeof e[n].labels,
                     "network=\"%s\",expert=\"%d\",layer=\"%d\"", network, k, i);
            n++;
        }
    return n;
}

static void put_layers(struct emit *o, const struct figure *rows,
                       const struct vitals_stats *v, bool reached)
{
    struct figure_element e[LAYERS_MAX];
    int n = add_layers(e, 0, "actor", &v->actor, reached);
    n = add_layers(e, n, "critic", &v->critic, reached);
    figure_put_each(o, rows, e, n);
}

static int count_bits(uint64_t bits)
{
    int n = 0;
    for (; bits; bits &= bits - 1)
        n++;
    return n;
}

static void put_settings(struct emit *o, const struct online_cfg *c)
{
    const struct figure *family = learner_setting_figures;
    figure_head(o, family);
    for (const struct field *f = online_fields; f->name; f++) {
        char text[64], labels[96], *end;
        field_show(text, sizeof text, f, c);
        double v = strtod(text, &end);
        if (end == text || *end) continue;
        snprintf(labels, sizeof labels, "setting=\"%.60s\"", f->name);
        figure_sample(o, family->metric, labels, v);
    }
}

static void put_learning(struct emit *o, const struct service_stats *s,
                         const struct policy_info *p)
{
    const struct policy_figures policy = {.published_at = p->published_at,
                                          .age_s = clock_now() - p->published_at,
                                          .parameters = p->parameters,
                                          .actor_busy = count_bits(s->actor_busy),
                                          .critic_busy = count_bits(s->critic_busy)};
    const struct online_stats *l = &s->learner;
    figure_put(o, POLICY, &policy);
    figure_put(o, learner_figures, l);
    figure_put(o, learner_update_figures, l);
    figure_put(o, learner_gates_figures, l);
    put_settings(o, &p->online);
    put_networks(o, learner_gate_figures, &l->gate[PPO_ACTOR], &l->gate[PPO_CRITIC]);
    if (!s->vitals.known) return;
    put_networks(o, learner_vitals_figures, &s->vitals.actor, &s->vitals.critic);
    put_layers(o, learner_weights_figures, &s->vitals, false);
    put_layers(o, learner_units_figures, &s->vitals, true);
}

void metrics_put(struct emit *o, const struct metrics *m, const struct service_stats *s,
                 const struct parts_stats *parts, const struct policy_info *p,
                 const struct admit_stats *admit)
{
    const struct hintless_stats *u = &parts->hintless;
    figure_put(o, service_figures, s);
    put_profiles(o, s);
    put_labels(o, s);
    put_learning(o, s, p);
    put_added(o, &parts->added);
    figure_put(o, hintless_figures, u);
    figure_put(o, trial_figures, &parts->trial);
    figure_put(o, hintless_exam_figures, u);
    if (u->examined) figure_put(o, hintless_merge_exam_figures, u);
    if (parts->cluster.role != ROLE_STANDALONE)
        figure_put(o, cluster_figures, &parts->cluster);
    if (admit) figure_put(o, admit_figures, admit);
    if (parts->players.hands_on)
        figure_put(o, players_origin_figures, &parts->players.origin);
    put_http(o, m);
    put_process(o, m);
}

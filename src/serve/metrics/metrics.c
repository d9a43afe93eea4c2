#include "serve/metrics/metrics.h"

#include "base/clock.h"
#include "base/hist.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* HELP and TYPE of a family. */
static void metrics_head(struct emit *o, const char *name, const char *type,
                         const char *help);
/* A family of one sample without labels. */
static void metrics_counter(struct emit *o, const char *name, const char *help, double v);
static void metrics_gauge(struct emit *o, const char *name, const char *help, double v);
/* name{label="text"} v; text holds only names that we have checked. */
static void metrics_labelled(struct emit *o, const char *name, const char *label,
                             const char *text, double v);
/* name{labels} v; labels: the inside of the braces. */
static void metrics_sample(struct emit *o, const char *name, const char *labels,
                           double v);
/* The samples of one histogram; labels: the inside of the braces, may be "". */
static void metrics_hist(struct emit *o, const char *name, const char *labels,
                         const struct hist_reading *h);

/* Sessions, decisions, store and bus, profiles. */
static void metrics_put_service(struct emit *o, const struct service_stats *s);
/* The learner, grown profiles, gates. */
static void metrics_put_learning(struct emit *o, const struct service_stats *s,
                                 const struct policy_info *p);
/* Viewers without a hint. */
static void metrics_put_hintless(struct emit *o, const struct hintless_stats *u);
/* The bus to others, and what came over it. */
static void metrics_put_cluster(struct emit *o, const struct cluster_stats *c);

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
    metrics_labelled(o, name, "limit", "demo_viewers", (double)a->demo_viewers);
    metrics_labelled(o, name, "limit", "long_answers", (double)a->long_answers);
    metrics_labelled(o, name, "limit", "histories", (double)a->histories);
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
    metrics_put_hintless(o, &s->hintless);
    metrics_put_cluster(o, &s->cluster);
    if (admit) put_admit(o, admit);
    if (origin) put_origin(o, origin);
    put_http(o, m);
    put_process(o, m);
}

/* ---- text ---- */

/* As Prometheus writes numbers; out holds EMIT_DOUBLE bytes. */
static void put_number(char *out, double v)
{
    if (isfinite(v))
        emit_format_double(out, v);
    else
        snprintf(out, EMIT_DOUBLE, "%s", isnan(v) ? "NaN" : v > 0 ? "+Inf" : "-Inf");
}

static void metrics_head(struct emit *o, const char *name, const char *type,
                         const char *help)
{
    emit_text(o, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void value(struct emit *o, const char *name, double v)
{
    char text[EMIT_DOUBLE];
    put_number(text, v);
    emit_text(o, "%s %s\n", name, text);
}

static void metrics_counter(struct emit *o, const char *name, const char *help, double v)
{
    metrics_head(o, name, "counter", help);
    value(o, name, v);
}

static void metrics_gauge(struct emit *o, const char *name, const char *help, double v)
{
    metrics_head(o, name, "gauge", help);
    value(o, name, v);
}

static void metrics_labelled(struct emit *o, const char *name, const char *label,
                             const char *text, double v)
{
    char number[EMIT_DOUBLE];
    put_number(number, v);
    emit_text(o, "%s{%s=\"%s\"} %s\n", name, label, text, number);
}

static void metrics_sample(struct emit *o, const char *name, const char *labels, double v)
{
    char number[EMIT_DOUBLE];
    put_number(number, v);
    emit_text(o, "%s{%s} %s\n", name, labels, number);
}

static void metrics_hist(struct emit *o, const char *name, const char *labels,
                         const struct hist_reading *h)
{
    const char *comma = *labels ? "," : "", *open = *labels ? "{" : "",
               *close = *labels ? "}" : "";
    char number[EMIT_DOUBLE];
    for (int k = 0; k < h->n; k++)
        emit_text(o, "%s_bucket{%s%sle=\"%.6g\"} %" PRIu64 "\n", name, labels, comma,
                  h->bound[k], h->below[k]);
    emit_text(o, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, comma,
              h->count);
    put_number(number, h->sum);
    emit_text(o, "%s_sum%s%s%s %s\n%s_count%s%s%s %" PRIu64 "\n", name, open, labels,
              close, number, name, open, labels, close, h->count);
}

/* ---- service ---- */

static void put_sessions(struct emit *o, const struct service_stats *s)
{
    metrics_gauge(o, "abrd_sessions_live", "Sessions under way.", s->sessions_live);
    metrics_counter(o, "abrd_sessions_opened_total", "Sessions opened.",
                    (double)s->sessions_opened);
    metrics_counter(o, "abrd_sessions_closed_total", "Sessions closed by their players.",
                    (double)s->sessions_closed);
    metrics_counter(o, "abrd_sessions_expired_total", "Sessions that fell silent.",
                    (double)s->sessions_expired);
    metrics_counter(o, "abrd_decisions_total", "Bitrates decided.", (double)s->decisions);
    metrics_counter(o, "abrd_decision_repeats_total",
                    "Questions asked again and answered as before.", (double)s->repeats);
    metrics_counter(o, "abrd_conflicts_total", "Repeats that contradicted.",
                    (double)s->conflicts);
    metrics_counter(o, "abrd_underway_total",
                    "Questions whether a chunk on its way is better abandoned.",
                    (double)s->underway);
    metrics_counter(o, "abrd_abandoned_total", "Those whose answer was another level.",
                    (double)s->abandoned);
    metrics_counter(o, "abrd_rewards_total", "Chunks whose reward was computed.",
                    (double)s->rewards);
    metrics_counter(o, "abrd_not_followed_total",
                    "Chunks played at another level than decided.",
                    (double)s->not_followed);
    metrics_counter(o, "abrd_decisions_not_finite_total",
                    "Decisions whose weights gave no finite value: the lowest level was "
                    "told.",
                    (double)s->not_finite);
    metrics_gauge(o, "abrd_bus_queue", "Trajectories on their way to the learner.",
                  (double)s->bus_queue);
    metrics_counter(o, "abrd_bus_dropped_total",
                    "Trajectories dropped because the bus was full.",
                    (double)s->bus_dropped);
    metrics_gauge(o, "abrd_store_queue", "Records on their way to the store.",
                  (double)s->store_queue);
    metrics_gauge(o, "abrd_store_lag_seconds",
                  "How long the oldest of those records has waited.", s->store_lag_s);
    metrics_counter(o, "abrd_checkpoints_refused_total",
                    "Damaged files of the data folder that the start put aside.",
                    (double)s->checkpoints_refused);
    metrics_counter(o, "abrd_files_missing_total",
                    "Files of the data folder that were not there at a start.",
                    (double)s->files_missing);
    metrics_counter(
        o, "abrd_store_errors_total",
        "Writes that the store refused, and times it had no room for the next.",
        (double)s->store_errors);
    metrics_gauge(o, "abrd_store_up", "1 when the store takes writes.", s->store_ok);
    metrics_gauge(o, "abrd_draining", "1 while the daemon is stopping.", s->draining);

    metrics_head(o, "abrd_expert_decisions_total", "counter",
                 "Decisions by the expert in charge.");
    for (int k = 0; k < 16; k++) {
        char name[16];
        snprintf(name, sizeof name, "%d", k);
        if (s->expert_decisions[k] || k == 0)
            metrics_labelled(o, "abrd_expert_decisions_total", "expert", name,
                             (double)s->expert_decisions[k]);
    }
}

/* One family over all profiles; v (n_profiles). */
static void family(struct emit *o, const struct service_stats *s, const char *name,
                   const char *type, const char *help, const double *v)
{
    metrics_head(o, name, type, help);
    for (int i = 0; i < s->n_profiles; i++)
        metrics_labelled(o, name, "profile", s->profile[i].name, v[i]);
}

static void put_profiles(struct emit *o, const struct service_stats *s)
{
    double chunks[SERVICE_PROFILE_STATS], reward[SERVICE_PROFILE_STATS],
        stall[SERVICE_PROFILE_STATS], kbps[SERVICE_PROFILE_STATS];
    for (int i = 0; i < s->n_profiles; i++) {
        chunks[i] = (double)s->profile[i].rewards;
        reward[i] = s->profile[i].reward_sum;
        stall[i] = s->profile[i].stall_sum_s;
        kbps[i] = s->profile[i].kbps_sum;
    }
    family(o, s, "abrd_profile_chunks_total", "counter", "Chunks rewarded, by profile.",
           chunks);
    /* rewards may be negative, and counters may not fall */
    family(o, s, "abrd_profile_reward", "gauge", "Sum of the rewards, by profile.",
           reward);
    family(o, s, "abrd_profile_stall_seconds_total", "counter",
           "Seconds of stall, by profile.", stall);
    family(o, s, "abrd_profile_kbps_total", "counter",
           "Sum of the chunks' bitrates in kbit/s, by profile.", kbps);
}

/* Who is in charge for whom: specialists show as rows with one large number. */
static void put_use(struct emit *o, const struct service_stats *s)
{
    static const char name[] = "abrd_profile_expert_decisions_total";
    metrics_head(o, name, "counter",
                 "Decisions by profile and by the expert in charge; merges not counted.");
    for (int i = 0; i < s->n_profiles; i++)
        for (int k = 0; k < 16; k++)
            if (s->profile[i].expert[k])
                emit_text(o, "%s{profile=\"%s\",expert=\"%d\"} %" PRIu64 "\n", name,
                          s->profile[i].name, k, s->profile[i].expert[k]);
}

static void metrics_put_service(struct emit *o, const struct service_stats *s)
{
    put_sessions(o, s);
    put_profiles(o, s);
    put_use(o, s);
}

/* ---- learning ---- */

static void put_learner(struct emit *o, const struct service_stats *s,
                        const struct policy_info *p)
{
    const struct online_stats *l = &s->learner;
    metrics_gauge(o, "abrd_policy_version", "Version of the weights that decide.",
                  (double)s->policy_version);
    metrics_gauge(o, "abrd_policy_published_timestamp_seconds",
                  "When that version was published.", p->published_at);
    metrics_gauge(o, "abrd_policy_age_seconds", "How long ago that was.",
                  clock_now() - p->published_at);
    metrics_gauge(o, "abrd_policy_parameters", "Weights of actor and critic.",
                  (double)p->parameters);
    metrics_gauge(o, "abrd_learning", "1 when learning is on.", s->learning);
    metrics_counter(o, "abrd_learner_trajectories_total",
                    "Closed trajectories learned from.", (double)l->trajectories);
    metrics_counter(o, "abrd_learner_steps_total", "Steps in them.", (double)l->steps);
    metrics_counter(o, "abrd_learner_updates_total", "Updates that were published.",
                    (double)l->updates);
    metrics_counter(o, "abrd_learner_rollbacks_total", "Updates that were taken back.",
                    (double)l->rollbacks);
    metrics_counter(o, "abrd_learner_dropped_old_total",
                    "Trajectories of too old weights.", (double)l->dropped_old);
    metrics_counter(o, "abrd_learner_dropped_client_total",
                    "Trajectories beyond what one client may give to an update.",
                    (double)l->dropped_client);
    metrics_counter(o, "abrd_learner_bounded_steps_total",
                    "Steps that claimed more than a step may weigh.", (double)l->bounded);
    metrics_counter(o, "abrd_learner_dropped_full_total",
                    "Trajectories beyond the buffer.", (double)l->dropped_full);
    metrics_counter(o, "abrd_learner_dropped_levels_total",
                    "Trajectories of more levels than the policy chooses among.",
                    (double)s->misfits);
    metrics_gauge(o, "abrd_learner_check_score", "Emulator check of the last update.",
                  l->check_score);
    metrics_gauge(o, "abrd_learner_check_best", "The best of them that was published.",
                  l->check_best);
}

/* Share of an update's samples that each expert was trained by. */
static void put_shares(struct emit *o, const char *name, const char *help,
                       const double *share, int experts)
{
    char expert[16];
    metrics_head(o, name, "gauge", help);
    for (int k = 0; k < experts && k < 16; k++) {
        snprintf(expert, sizeof expert, "%d", k);
        metrics_labelled(o, name, "expert", expert, share[k]);
    }
}

static void put_update(struct emit *o, const struct online_stats *l)
{
    const struct ppo_stats *u = &l->last;
    metrics_gauge(o, "abrd_learner_policy_loss", "PPO's actor loss, last update.",
                  u->policy_loss);
    metrics_gauge(o, "abrd_learner_value_loss", "The critic's loss, last update.",
                  u->value_loss);
    metrics_gauge(o, "abrd_learner_entropy", "Of the policy in nats, last update.",
                  u->entropy);
    metrics_gauge(o, "abrd_learner_approx_kl",
                  "KL divergence of the new policy from the old, last update.",
                  u->approx_kl);
    metrics_gauge(o, "abrd_learner_clip_share",
                  "Share of the samples whose ratio was clipped, last update.",
                  u->clip_share);
    metrics_gauge(o, "abrd_learner_explained_variance",
                  "Of the returns, by the critic, last update.", u->explained_variance);
    metrics_gauge(o, "abrd_learner_grad_norm", "Norm of the gradient, last update.",
                  u->grad_norm);
    put_shares(o, "abrd_learner_expert_share",
               "Share of the samples that trained each expert of the actor, last update.",
               u->expert_share, l->gate[PPO_ACTOR].experts);
    put_shares(o, "abrd_learner_critic_share", "The same of the critic's experts.",
               u->critic_share, l->gate[PPO_CRITIC].experts);
}

/* One family over all grown profiles; v (n_added). */
static void added_family(struct emit *o, const struct service_stats *s, const char *name,
                         const char *type, const char *help, const double *v)
{
    if (!s->n_added) return;
    metrics_head(o, name, type, help);
    for (int i = 0; i < s->n_added; i++)
        metrics_labelled(o, name, "profile", s->added[i].name, v[i]);
}

static void put_added(struct emit *o, const struct service_stats *s)
{
    enum {
        EXPERTS,
        VERSION,
        BASE,
        ALPHA,
        TAU,
        SHARE,
        DECISIONS,
        STEPS,
        UPDATES,
        ROLLBACKS,
        CHECK,
        BEFORE,
        FAMILIES
    };
    double v[FAMILIES][SERVICE_ADDED];
    for (int i = 0; i < s->n_added; i++) {
        const struct service_added *g = &s->added[i];
        v[EXPERTS][i] = g->experts;
        v[VERSION][i] = (double)g->version;
        v[BASE][i] = (double)g->base_version;
        v[ALPHA][i] = g->alpha;
        v[TAU][i] = g->tau;
        v[SHARE][i] = g->share;
        v[DECISIONS][i] = (double)g->decisions;
        v[STEPS][i] = (double)g->learner.steps;
        v[UPDATES][i] = (double)g->learner.updates;
        v[ROLLBACKS][i] = (double)g->learner.rollbacks;
        v[CHECK][i] = g->learner.check_score;
        v[BEFORE][i] = g->base_score;
    }
    static const struct {
        const char *name, *type, *help;
    } family[FAMILIES] = {
        {"abrd_grown_experts", "gauge", "New experts of a grown profile's actor."},
        {"abrd_grown_version", "gauge", "Version of a grown profile's experts."},
        {"abrd_grown_base_version", "gauge",
         "Version of the frozen policy beneath them."},
        {"abrd_grown_alpha", "gauge", "Weight of the gate's non-linear part."},
        {"abrd_grown_tau", "gauge", "Slope within the gate's non-linear part."},
        {"abrd_grown_share", "gauge",
         "Share of the new experts in the mixture, mean over their decisions."},
        {"abrd_grown_decisions_total", "counter", "Decisions of a grown profile."},
        {"abrd_grown_steps_total", "counter", "Steps that its experts learned from."},
        {"abrd_grown_updates_total", "counter", "Updates that were published."},
        {"abrd_grown_rollbacks_total", "counter", "Updates that were taken back."},
        {"abrd_grown_check_score", "gauge", "Emulator check of the last update."},
        {"abrd_grown_base_score", "gauge", "The same of the frozen policy."},
    };
    for (int i = 0; i < FAMILIES; i++)
        added_family(o, s, family[i].name, family[i].type, family[i].help, v[i]);
}

static int count_bits(uint64_t bits)
{
    int n = 0;
    for (; bits; bits &= bits - 1)
        n++;
    return n;
}

/* One family over the two networks. */
static void networks(struct emit *o, const char *name, const char *help, double actor,
                     double critic)
{
    metrics_head(o, name, "gauge", help);
    metrics_labelled(o, name, "network", "actor", actor);
    metrics_labelled(o, name, "network", "critic", critic);
}

static void put_vitals(struct emit *o, const struct vitals_stats *v)
{
    const struct vitals_net *a = &v->actor, *c = &v->critic;
    networks(o, "abrd_policy_dormant_ratio",
             "Share of hidden units that are dormant (tau = 0.025).", a->dormant,
             c->dormant);
    networks(o, "abrd_policy_rank", "Rank of the hidden units' activations.", a->rank,
             c->rank);
    networks(o, "abrd_policy_rank_effective", "Their effective rank.", a->effective,
             c->effective);
    networks(o, "abrd_policy_rank_approximate",
             "The least rank that holds 99 % of their variance.", a->approx, c->approx);
    networks(o, "abrd_policy_rank_stable",
             "The least rank that holds 99 % of the sum of singular values.",
             a->abs_approx, c->abs_approx);
    networks(o, "abrd_policy_rank_feature",
             "Singular values above 0.01 per root of rows.", a->feature, c->feature);
    networks(o, "abrd_policy_weight_rms",
             "Root mean square of the first layers' weights.", a->weight_rms,
             c->weight_rms);
    networks(o, "abrd_policy_experts_reached", "Experts that the measured states reach.",
             a->reached, c->reached);
}

enum { DORMANT, RANK, EFFECTIVE, WEIGHT, OF_LAYERS };

static double of_layer(const struct vitals_layer *l, int what)
{
    switch (what) {
    case DORMANT:
        return l->dormant;
    case RANK:
        return l->rank;
    case EFFECTIVE:
        return l->effective;
    default:
        return l->weight_rms;
    }
}

/* One figure of every layer of every expert; those that were reached by no state have but sizes. */
static void put_layers(struct emit *o, const char *name, const char *network,
                       const struct vitals_net *n, int what)
{
    for (int k = 0; k < n->experts && k < VITALS_EXPERTS; k++)
        for (int i = 0; i < n->layers; i++) {
            if (!n->expert[k].reached && what != WEIGHT) continue;
            char labels[96];
            snprintf(labels, sizeof labels, "network=\"%s\",expert=\"%d\",layer=\"%d\"",
                     network, k, i);
            metrics_sample(o, name, labels, of_layer(&n->expert[k].layer[i], what));
        }
}

static void put_experts(struct emit *o, const struct vitals_stats *v)
{
    static const struct {
        const char *name, *help;
    } family[OF_LAYERS] = {
        {"abrd_policy_layer_dormant_ratio",
         "Share of dormant units in a layer of an expert (tau = 0.025)."},
        {"abrd_policy_layer_rank", "Rank of the layer's activations."},
        {"abrd_policy_layer_rank_effective", "Their effective rank."},
        {"abrd_policy_layer_weight_rms", "Root mean square of the layer's weights."},
    };
    for (int what = 0; what < OF_LAYERS; what++) {
        metrics_head(o, family[what].name, "gauge", family[what].help);
        put_layers(o, family[what].name, "actor", &v->actor, what);
        put_layers(o, family[what].name, "critic", &v->critic, what);
    }
}

static void put_gates(struct emit *o, const struct service_stats *s)
{
    const struct online_stats *l = &s->learner;
    networks(o, "abrd_gate_latched", "1 while the router does not learn any more.",
             l->gate[PPO_ACTOR].latched, l->gate[PPO_CRITIC].latched);
    networks(o, "abrd_gate_converged_experts", "Experts whose flag is up.",
             l->gate[PPO_ACTOR].converged, l->gate[PPO_CRITIC].converged);
    networks(o, "abrd_experts_busy", "Experts that nobody is routed to.",
             count_bits(s->actor_busy), count_bits(s->critic_busy));
    metrics_counter(o, "abrd_expert_quarantines_total",
                    "Experts put back after an update that left them not finite.",
                    (double)l->quarantines);
    metrics_head(o, "abrd_gate_resets_total", "counter",
                 "Times that latched routers were woken.");
    metrics_labelled(o, "abrd_gate_resets_total", "by", "operator",
                     (double)l->gate_resets);
    metrics_labelled(o, "abrd_gate_resets_total", "by", "shift", (double)l->shifts);
    metrics_gauge(o, "abrd_gate_shift_level",
                  "CUSUM of the critic's surprise, largest of the tags.",
                  l->last.shift_level);
    metrics_counter(o, "abrd_routing_states_total",
                    "States routed before and after an update.", (double)l->routed);
    metrics_counter(o, "abrd_routing_changes_total", "Those that went to another expert.",
                    (double)l->rerouted);
}

static void metrics_put_learning(struct emit *o, const struct service_stats *s,
                                 const struct policy_info *p)
{
    put_learner(o, s, p);
    if (s->learner.updates) put_update(o, &s->learner);
    if (s->vitals.known) {
        put_vitals(o, &s->vitals);
        put_experts(o, &s->vitals);
    }
    put_added(o, s);
    put_gates(o, s);
}

/* ---- untagged ---- */

static void put_mix(struct emit *o, const struct hintless_stats *u)
{
    metrics_head(o, "abrd_untagged_mix", "gauge",
                 "Share of each profile among viewers without a hint, as estimated.");
    for (int v = 0; v < u->tasks; v++)
        metrics_labelled(o, "abrd_untagged_mix", "profile", u->task[v], u->mix[v]);
    metrics_gauge(o, "abrd_untagged_mix_known", "0 while too little is known of the mix.",
                  u->known);
}

static void put_refused(struct emit *o, const struct hintless_stats *u)
{
    static const char NAME[] = "abrd_untagged_labels_refused_total";
    metrics_head(
        o, NAME, "counter",
        "What did not count: sessions with too few chunks fetched as decided; "
        "sessions of an address beyond its share of a slot; labels of an address "
        "beyond its share of a content or of the classifier's examples.");
    metrics_labelled(o, NAME, "reason", "unwatched", (double)u->labels_unwatched);
    metrics_labelled(o, NAME, "reason", "address", u->labels_address);
    metrics_labelled(o, NAME, "reason", "content", u->labels_content);
}

static void put_exam(struct emit *o, const struct hintless_stats *u)
{
    static const char NAME[] = "abrd_untagged_served_share";
    metrics_counter(o, "abrd_untagged_exam_refused_total",
                    "Merges and mean hints that the exam refused since the start.",
                    (double)u->exam_refused);
    metrics_head(
        o, NAME, "gauge",
        "How far what is served goes from what is known at a start, 0, to what was "
        "learned, 1.");
    metrics_labelled(o, NAME, "served", "hint", u->hint_share);
    if (!u->experts) return;
    metrics_labelled(o, NAME, "served", "merge", u->merge_share);
    metrics_gauge(
        o, "abrd_merge_kept",
        "1 while the slot keeps the last good merge, since none passed the exam.",
        u->exam_kept);
    metrics_counter(o, "abrd_merge_kept_total", "Such slots since the start.",
                    (double)u->exam_kept_all);
    metrics_gauge(
        o, "abrd_merge_exam_loss",
        "What this slot's merge costs the profile that loses most, as a share of "
        "its scale from the lowest level to the best; at most 0.01.",
        u->exam_loss);
}

static void put_merge(struct emit *o, const struct hintless_stats *u)
{
    char name[16];
    metrics_head(o, "abrd_merge_weight", "gauge",
                 "Weight of each expert in this slot's merge.");
    for (int k = 0; k < u->experts; k++) {
        snprintf(name, sizeof name, "%d", k);
        metrics_labelled(o, "abrd_merge_weight", "expert", name, u->weight[k]);
    }
    metrics_head(o, "abrd_merge_chosen_total", "counter",
                 "Slots in which the expert had the largest weight.");
    for (int k = 0; k < u->experts; k++) {
        snprintf(name, sizeof name, "%d", k);
        metrics_labelled(o, "abrd_merge_chosen_total", "expert", name,
                         (double)u->chosen[k]);
    }
    metrics_gauge(o, "abrd_merge_tree_nodes", "Nodes of the partition tree.", u->nodes);
    metrics_gauge(o, "abrd_merge_tree_leaves", "Leaves that may be chosen.", u->leaves);
    metrics_gauge(o, "abrd_merge_tree_depth", "Depth of the deepest of them.", u->depth);
    metrics_gauge(o, "abrd_merge_left_cells",
                  "Leaves whose weights lie outside their cell.", u->left);
    metrics_gauge(o, "abrd_merge_reward",
                  "What the last slot earned, 0 the lowest level.", u->reward);
    metrics_gauge(o, "abrd_merge_expected", "What this slot is expected to earn.",
                  u->expected);
    metrics_counter(
        o, "abrd_merge_regret_total",
        "Sum over slots of what the best known weights were expected to earn more.",
        u->regret);
}

static void put_share(struct emit *o, const struct hintless_stats *u)
{
    metrics_counter(o, "abrd_merge_given_total",
                    "Slots of this node that other nodes can learn from.",
                    (double)u->given);
    metrics_counter(o, "abrd_merge_heard_total",
                    "Slots of other nodes that this one has learned from.",
                    (double)u->heard);
    metrics_counter(o, "abrd_merge_missed_total",
                    "Slots that were gone before they could be given or heard.",
                    (double)u->missed);
    metrics_gauge(o, "abrd_merge_pending", "Slots that wait until the bus answers.",
                  u->pending);
    metrics_gauge(o, "abrd_merge_makers",
                  "Bandits whose slots are shared, this one's included.", u->makers);
    metrics_gauge(o, "abrd_merge_read_timestamp_seconds",
                  "When the slots of all nodes were read last; 0 never.", u->heard_at);
}

static void metrics_put_hintless(struct emit *o, const struct hintless_stats *u)
{
    metrics_head(o, "abrd_untagged_mode", "gauge",
                 "1 for what viewers without a hint get.");
    for (int i = HINTLESS_DEFAULT; i <= HINTLESS_MERGE; i++)
        metrics_labelled(o, "abrd_untagged_mode", "mode",
                         hintless_mode_name((enum hintless_mode)i),
                         u->mode == (enum hintless_mode)i);
    metrics_counter(o, "abrd_untagged_sessions_total", "Sessions opened without a hint.",
                    (double)u->sessions);
    metrics_head(o, "abrd_untagged_decisions_total", "counter",
                 "Decisions for them, by how they were made.");
    for (int i = BY_ROUTER + 1; i < BY_WAYS; i++)
        metrics_labelled(o, "abrd_untagged_decisions_total", "by",
                         hintless_by_name((enum hintless_by)i), (double)u->decisions[i]);
    metrics_counter(
        o, "abrd_untagged_labels_total",
        "Sessions without a hint that named a profile at their end, counted or not.",
        (double)u->labels);
    put_refused(o, u);
    metrics_counter(o, "abrd_slots_total", "Slots that have ended.", (double)u->slots);
    metrics_counter(o, "abrd_slots_empty_total",
                    "Of those: without a chunk to learn from.", (double)u->empty_slots);
    metrics_counter(o, "abrd_slot_late_total", "Chunks of a slot that was over.",
                    (double)u->late);
    metrics_counter(o, "abrd_untagged_state_refused_total",
                    "Damaged state files that were put aside.", (double)u->refused);
    put_mix(o, u);
    if (u->examined) put_exam(o, u);
    if (u->experts) put_merge(o, u);
    if (u->shares) put_share(o, u);
    metrics_counter(o, "abrd_identity_examples_total",
                    "Labelled sessions the head learned from.", (double)u->examples);
    metrics_counter(o, "abrd_identity_dropped_total",
                    "Of those, dropped for want of room.", (double)u->dropped);
    if (!u->examples) return;
    metrics_gauge(o, "abrd_identity_accuracy",
                  "Share of profiles guessed before being told.", u->accuracy);
    metrics_gauge(o, "abrd_identity_calibration_error",
                  "Mean distance between how sure the guesses are and how often right.",
                  u->calibration);
    metrics_gauge(o, "abrd_identity_log_loss", "Of the same guesses, in nats.",
                  u->log_loss);
}

/* ---- cluster ---- */

static void put_sent(struct emit *o, const struct cluster_stats *c)
{
    metrics_gauge(o, "abrd_outbox_waiting",
                  "Trajectories that the bus does not have yet.", c->buffered);
    metrics_gauge(o, "abrd_outbox_size", "How many may be kept.", c->buffer);
    metrics_gauge(
        o, "abrd_outbox_unconfirmed",
        "Kept until the learner publishes that it has counted them; the bus has them.",
        c->unconfirmed);
    metrics_counter(o, "abrd_outbox_resent_total",
                    "Acknowledged by the bus and then lost by it: sent again.",
                    (double)c->resent);
    metrics_counter(o, "abrd_outbox_let_go_total",
                    "Acknowledged by the bus and let go before they were confirmed.",
                    (double)c->let_go);
    metrics_counter(o, "abrd_outbox_dropped_total",
                    "Trajectories dropped because too many waited.", (double)c->dropped);
    metrics_counter(o, "abrd_outbox_published_total", "Acknowledged by the bus.",
                    (double)c->published);
    metrics_counter(o, "abrd_outbox_repeated_total",
                    "Known to the bus already, and sent under another id.",
                    (double)c->repeated);
    metrics_counter(o, "abrd_outbox_refused_total",
                    "Not taken or not answered, and sent again.", (double)c->refused);
    metrics_counter(o, "abrd_outbox_full_total", "Of those, as the stream was full.",
                    (double)c->full);
}

static void put_learned(struct emit *o, const struct cluster_stats *c)
{
    metrics_gauge(o, "abrd_learner_leading", "1 for the one learner that learns.",
                  c->leading);
    metrics_counter(o, "abrd_ledger_counted_total",
                    "Trajectories that were taken from the stream.", (double)c->counted);
    metrics_counter(o, "abrd_ledger_repeated_total",
                    "Those that came again and were passed over.", (double)c->again);
    metrics_gauge(o, "abrd_ledger_missing",
                  "Numbers that nodes gave and that never came.", (double)c->missing);
    metrics_gauge(o, "abrd_ledger_makers", "Nodes that were heard.", c->makers);
    metrics_gauge(o, "abrd_ledger_position",
                  "In the stream: what lies before has been read.", (double)c->position);
    metrics_counter(o, "abrd_stream_damaged_total", "Messages that were no trajectory.",
                    (double)c->damaged);
    metrics_counter(o, "abrd_stream_skipped_total",
                    "Messages that were gone before they were read.", (double)c->skipped);
}

static void metrics_put_cluster(struct emit *o, const struct cluster_stats *c)
{
    if (c->role == ROLE_STANDALONE) return;
    metrics_gauge(o, "abrd_bus_up", "1 while the bus answers.", c->connected);
    metrics_counter(o, "abrd_bus_connects_total", "Connections made.",
                    (double)c->reconnects);
    metrics_gauge(o, "abrd_learner_term", "How often the learner has changed, and once.",
                  (double)c->term);
    metrics_gauge(o, "abrd_learner_silent_seconds",
                  "Since the learner was heard last; it speaks once a second.",
                  c->learner_silent_s);
    metrics_counter(o, "abrd_weights_taken_total", "Published weights taken over.",
                    (double)c->weights_taken);
    metrics_counter(o, "abrd_weights_refused_total",
                    "Those that were damaged, of another shape or of a newer form.",
                    (double)c->weights_refused);
    metrics_gauge(o, "abrd_weights_delay_seconds",
                  "From their publication to this node, of the last ones.",
                  c->weights_delay_s);
    metrics_gauge(o, "abrd_weights_delay_max_seconds", "The longest so far.",
                  c->weights_delay_max_s);
    metrics_gauge(o, "abrd_grown_wanted", "Profiles that are to grow, on all nodes.",
                  c->added_wanted);
    if (c->role == ROLE_DECIDE) {
        metrics_counter(o, "abrd_grown_taken_total",
                        "Published experts of grown profiles taken over.",
                        (double)c->added_taken);
        metrics_counter(
            o, "abrd_grown_refused_total",
            "Those that were damaged, of another shape, of a newer form or too many.",
            (double)c->added_refused);
    }
    if (c->role == ROLE_DECIDE)
        put_sent(o, c);
    else
        put_learned(o, c);
}

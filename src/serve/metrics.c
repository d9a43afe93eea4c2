#include "serve/metrics.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hist.h"

/* what this daemon answers; anything else counts as the last */
static const int statuses[] = {200, 201, 204, 304, 400, 401, 403,
                               404, 405, 409, 429, 503, 500};
#define STATUSES (int)(sizeof statuses / sizeof *statuses)

struct worker_metrics {
    struct hist *seconds;           /* (rows) */
    atomic_uint_fast64_t *requests; /* (rows, STATUSES) */
    atomic_int connections, streams;
    atomic_uint_fast64_t refused;
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

void metrics_connections(struct metrics *m, int worker, const struct http_stats *s)
{
    struct worker_metrics *w = &m->worker[worker];
    atomic_store_explicit(&w->connections, s->connections, memory_order_relaxed);
    atomic_store_explicit(&w->streams, s->streams, memory_order_relaxed);
    atomic_store_explicit(&w->refused, s->refused, memory_order_relaxed);
}

/* ---- the text ---- */

static void head(struct emit *o, const char *name, const char *type, const char *help)
{
    emit_text(o, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void value(struct emit *o, const char *name, double v)
{
    char text[32];
    emit_format_double(text, v);
    emit_text(o, "%s %s\n", name, text);
}

static void counter(struct emit *o, const char *name, const char *help, double v)
{
    head(o, name, "counter", help);
    value(o, name, v);
}

static void gauge(struct emit *o, const char *name, const char *help, double v)
{
    head(o, name, "gauge", help);
    value(o, name, v);
}

/* name{label="text"} v; text holds only names that we have checked */
static void labelled(struct emit *o, const char *name, const char *label,
                     const char *text, double v)
{
    char number[32];
    emit_format_double(number, v);
    emit_text(o, "%s{%s=\"%s\"} %s\n", name, label, text, number);
}

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
    head(o, "abrd_http_requests_total", "counter", "Requests answered.");
    for (int row = 0; row < m->rows; row++) {
        for (int c = 0; c < STATUSES; c++) {
            uint64_t n = 0;
            for (int w = 0; w < m->workers; w++)
                n += atomic_load_explicit(&m->worker[w].requests[row * STATUSES + c],
                                          memory_order_relaxed);
            if (n)
                emit_text(
                    o,
                    "abrd_http_requests_total{route=\"%s\",method=\"%s\",code=\"%d\"} "
                    "%" PRIu64 "\n",
                    row_path(m, row), row_method(m, row), statuses[c], n);
        }
    }
}

static void put_seconds(struct emit *o, const struct metrics *m)
{
    static const char name[] = "abrd_http_request_seconds";
    head(o, name, "histogram",
         "From the complete request to the reply, without sending.");
    for (int row = 0; row < m->rows; row++) {
        struct hist_reading sum, one;
        hist_read(&sum, &m->worker[0].seconds[row]);
        for (int w = 1; w < m->workers; w++) {
            hist_read(&one, &m->worker[w].seconds[row]);
            for (int k = 0; k < sum.n; k++)
                sum.below[k] += one.below[k];
            sum.count += one.count;
            sum.sum += one.sum;
        }
        if (!sum.count) continue;

        char labels[160], number[32];
        snprintf(labels, sizeof labels, "route=\"%.100s\",method=\"%s\"",
                 row_path(m, row), row_method(m, row));
        for (int k = 0; k < sum.n; k++)
            emit_text(o, "%s_bucket{%s,le=\"%.6g\"} %" PRIu64 "\n", name, labels,
                      sum.bound[k], sum.below[k]);
        emit_text(o, "%s_bucket{%s,le=\"+Inf\"} %" PRIu64 "\n", name, labels, sum.count);
        emit_format_double(number, sum.sum);
        emit_text(o, "%s_sum{%s} %s\n%s_count{%s} %" PRIu64 "\n", name, labels, number,
                  name, labels, sum.count);
    }
}

static void put_http(struct emit *o, const struct metrics *m)
{
    put_requests(o, m);
    put_seconds(o, m);
    int connections = 0, streams = 0;
    uint64_t refused = 0;
    for (int w = 0; w < m->workers; w++) {
        connections +=
            atomic_load_explicit(&m->worker[w].connections, memory_order_relaxed);
        streams += atomic_load_explicit(&m->worker[w].streams, memory_order_relaxed);
        refused += atomic_load_explicit(&m->worker[w].refused, memory_order_relaxed);
    }
    gauge(o, "abrd_http_connections", "Open connections.", connections);
    gauge(o, "abrd_http_streams", "Open event streams and demo segments.", streams);
    counter(o, "abrd_http_refused_total",
            "Requests refused before any route: framing, size, Host.", (double)refused);
}

static void put_service(struct emit *o, const struct service_stats *s)
{
    gauge(o, "abrd_sessions_live", "Sessions under way.", s->sessions_live);
    counter(o, "abrd_sessions_opened_total", "Sessions opened.",
            (double)s->sessions_opened);
    counter(o, "abrd_sessions_closed_total", "Sessions closed by their players.",
            (double)s->sessions_closed);
    counter(o, "abrd_sessions_expired_total", "Sessions that fell silent.",
            (double)s->sessions_expired);
    counter(o, "abrd_decisions_total", "Bitrates decided.", (double)s->decisions);
    counter(o, "abrd_decision_repeats_total",
            "Questions asked again and answered as before.", (double)s->repeats);
    counter(o, "abrd_conflicts_total", "Repeats that contradicted.",
            (double)s->conflicts);
    counter(o, "abrd_rewards_total", "Chunks whose reward was computed.",
            (double)s->rewards);
    counter(o, "abrd_not_followed_total", "Chunks played at another level than decided.",
            (double)s->not_followed);
    gauge(o, "abrd_bus_queue", "Trajectories on their way to the learner.",
          (double)s->bus_queue);
    counter(o, "abrd_bus_dropped_total", "Trajectories dropped because the bus was full.",
            (double)s->bus_dropped);
    gauge(o, "abrd_store_queue", "Records on their way to the store.",
          (double)s->store_queue);
    counter(o, "abrd_store_errors_total", "Writes that the store refused.",
            (double)s->store_errors);
    gauge(o, "abrd_store_up", "1 when the store takes writes.", s->store_ok);
    gauge(o, "abrd_draining", "1 while the daemon is stopping.", s->draining);

    head(o, "abrd_expert_decisions_total", "counter",
         "Decisions by the expert in charge.");
    for (int k = 0; k < 16; k++) {
        char name[16];
        snprintf(name, sizeof name, "%d", k);
        if (s->expert_decisions[k] || k == 0)
            labelled(o, "abrd_expert_decisions_total", "expert", name,
                     (double)s->expert_decisions[k]);
    }
}

/* One family over all profiles; v (n_profiles). */
static void family(struct emit *o, const struct service_stats *s, const char *name,
                   const char *type, const char *help, const double *v)
{
    head(o, name, type, help);
    for (int i = 0; i < s->n_profiles; i++)
        labelled(o, name, "profile", s->profile[i].name, v[i]);
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
    family(o, s, "abrd_profile_reward_sum", "gauge", "Sum of the rewards, by profile.",
           reward);
    family(o, s, "abrd_profile_stall_seconds_total", "counter",
           "Seconds of stall, by profile.", stall);
    family(o, s, "abrd_profile_kbps_total", "counter",
           "Sum of the chunks' bitrates in kbit/s, by profile.", kbps);
}

static void put_learner(struct emit *o, const struct service_stats *s,
                        const struct policy_info *p)
{
    const struct online_stats *l = &s->learner;
    gauge(o, "abrd_policy_version", "Version of the weights that decide.",
          (double)s->policy_version);
    gauge(o, "abrd_policy_published_timestamp_seconds",
          "When that version was published.", p->published_at);
    gauge(o, "abrd_policy_parameters", "Weights of actor and critic.",
          (double)p->parameters);
    gauge(o, "abrd_learning", "1 when learning is on.", s->learning);
    counter(o, "abrd_learner_trajectories_total", "Closed trajectories learned from.",
            (double)l->trajectories);
    counter(o, "abrd_learner_steps_total", "Steps in them.", (double)l->steps);
    counter(o, "abrd_learner_updates_total", "Updates that were published.",
            (double)l->updates);
    counter(o, "abrd_learner_rollbacks_total", "Updates that were taken back.",
            (double)l->rollbacks);
    counter(o, "abrd_learner_dropped_old_total", "Trajectories of too old weights.",
            (double)l->dropped_old);
    counter(o, "abrd_learner_dropped_full_total", "Trajectories beyond the buffer.",
            (double)l->dropped_full);
    gauge(o, "abrd_learner_check_score", "Emulator check of the last update.",
          l->check_score);
}

/* One family over all grown profiles; v (n_grown). */
static void grown_family(struct emit *o, const struct service_stats *s, const char *name,
                         const char *type, const char *help, const double *v)
{
    if (!s->n_grown) return;
    head(o, name, type, help);
    for (int i = 0; i < s->n_grown; i++)
        labelled(o, name, "profile", s->grown[i].name, v[i]);
}

static void put_grown(struct emit *o, const struct service_stats *s)
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
    double v[FAMILIES][SERVICE_GROWN];
    for (int i = 0; i < s->n_grown; i++) {
        const struct service_grown *g = &s->grown[i];
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
        grown_family(o, s, family[i].name, family[i].type, family[i].help, v[i]);
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
    head(o, name, "gauge", help);
    labelled(o, name, "network", "actor", actor);
    labelled(o, name, "network", "critic", critic);
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
    counter(o, "abrd_expert_quarantines_total",
            "Experts put back after an update that left them not finite.",
            (double)l->quarantines);
    head(o, "abrd_gate_resets_total", "counter",
         "Times that latched routers were woken.");
    labelled(o, "abrd_gate_resets_total", "by", "operator", (double)l->gate_resets);
    labelled(o, "abrd_gate_resets_total", "by", "shift", (double)l->shifts);
    gauge(o, "abrd_gate_shift_level",
          "CUSUM of the critic's surprise, largest of the tags.", l->last.shift_level);
    counter(o, "abrd_routing_states_total", "States routed before and after an update.",
            (double)l->routed);
    counter(o, "abrd_routing_changes_total", "Those that went to another expert.",
            (double)l->rerouted);
}

static void put_mix(struct emit *o, const struct untagged_stats *u)
{
    head(o, "abrd_untagged_mix", "gauge",
         "Share of each profile among viewers without a hint, as estimated.");
    for (int v = 0; v < u->tasks; v++)
        labelled(o, "abrd_untagged_mix", "profile", u->task[v], u->mix[v]);
    gauge(o, "abrd_untagged_mix_known", "0 while too little is known of the mix.",
          u->known);
}

static void put_merge(struct emit *o, const struct untagged_stats *u)
{
    char name[16];
    head(o, "abrd_merge_weight", "gauge", "Weight of each expert in this slot's merge.");
    for (int k = 0; k < u->experts; k++) {
        snprintf(name, sizeof name, "%d", k);
        labelled(o, "abrd_merge_weight", "expert", name, u->weight[k]);
    }
    head(o, "abrd_merge_chosen_total", "counter",
         "Slots in which the expert had the largest weight.");
    for (int k = 0; k < u->experts; k++) {
        snprintf(name, sizeof name, "%d", k);
        labelled(o, "abrd_merge_chosen_total", "expert", name, (double)u->chosen[k]);
    }
    gauge(o, "abrd_merge_tree_nodes", "Nodes of the partition tree.", u->nodes);
    gauge(o, "abrd_merge_tree_leaves", "Leaves that may be chosen.", u->leaves);
    gauge(o, "abrd_merge_tree_depth", "Depth of the deepest of them.", u->depth);
    gauge(o, "abrd_merge_left_cells", "Leaves whose weights lie outside their cell.",
          u->left);
    gauge(o, "abrd_merge_reward", "What the last slot earned, 0 the lowest level.",
          u->reward);
    gauge(o, "abrd_merge_expected", "What this slot is expected to earn.", u->expected);
    counter(o, "abrd_merge_regret_total",
            "Sum over slots of what the best known weights were expected to earn more.",
            u->regret);
}

static void put_untagged(struct emit *o, const struct untagged_stats *u)
{
    head(o, "abrd_untagged_mode", "gauge", "1 for what viewers without a hint get.");
    for (int i = UNTAGGED_DEFAULT; i <= UNTAGGED_MERGE; i++)
        labelled(o, "abrd_untagged_mode", "mode",
                 untagged_mode_name((enum untagged_mode)i),
                 u->mode == (enum untagged_mode)i);
    counter(o, "abrd_untagged_sessions_total", "Sessions opened without a hint.",
            (double)u->sessions);
    head(o, "abrd_untagged_decisions_total", "counter",
         "Decisions for them, by how they were made.");
    for (int i = BY_ROUTER + 1; i < BY_WAYS; i++)
        labelled(o, "abrd_untagged_decisions_total", "by",
                 untagged_by_name((enum untagged_by)i), (double)u->decisions[i]);
    counter(o, "abrd_untagged_labels_total",
            "Sessions without a hint that said at their end what they had been.",
            (double)u->labels);
    counter(o, "abrd_slots_total", "Slots that have ended.", (double)u->slots);
    counter(o, "abrd_slots_empty_total", "Of those: without a chunk to learn from.",
            (double)u->empty_slots);
    counter(o, "abrd_slot_late_total", "Chunks of a slot that was over.",
            (double)u->late);
    counter(o, "abrd_untagged_state_refused_total",
            "Damaged state files that were put aside.", (double)u->refused);
    put_mix(o, u);
    if (u->experts) put_merge(o, u);
    counter(o, "abrd_identity_examples_total", "Labelled sessions the head learned from.",
            (double)u->examples);
    counter(o, "abrd_identity_dropped_total", "Of those, dropped for want of room.",
            (double)u->dropped);
    if (!u->examples) return;
    gauge(o, "abrd_identity_accuracy", "Share of profiles guessed before being told.",
          u->accuracy);
    gauge(o, "abrd_identity_calibration_error",
          "Mean distance between how sure the guesses are and how often right.",
          u->calibration);
    gauge(o, "abrd_identity_log_loss", "Of the same guesses, in nats.", u->log_loss);
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
    head(o, "abrd_build_info", "gauge", "Always 1; the version is in the label.");
    labelled(o, "abrd_build_info", "version", m->version, 1);
    gauge(o, "process_start_time_seconds", "Since the epoch.", m->started_at);
    counter(o, "process_cpu_seconds_total", "User and system time.", clock_cpu());
    gauge(o, "process_open_fds", "Open file descriptors.", open_files());

    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f) {
        if (fscanf(f, "%*s %ld", &pages) != 1) pages = 0;
        fclose(f);
    }
    gauge(o, "process_resident_memory_bytes", "Resident memory.",
          (double)pages * (double)sysconf(_SC_PAGESIZE));
}

void metrics_put(struct emit *o, const struct metrics *m, const struct service_stats *s,
                 const struct policy_info *p)
{
    put_service(o, s);
    put_profiles(o, s);
    put_learner(o, s, p);
    put_grown(o, s);
    put_gates(o, s);
    put_untagged(o, &s->untagged);
    put_http(o, m);
    put_process(o, m);
}

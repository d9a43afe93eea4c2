#include "metrics_priv.h"

#include <inttypes.h>
#include <stdio.h>

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
                    "Damaged checkpoints that the start put aside.",
                    (double)s->checkpoints_refused);
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

void metrics_put_service(struct emit *o, const struct service_stats *s)
{
    put_sessions(o, s);
    put_profiles(o, s);
    put_use(o, s);
}

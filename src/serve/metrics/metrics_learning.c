#include "metrics_priv.h"

#include <stdio.h>

#include "base/clock.h"

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

/* One family over all grown profiles; v (n_grown). */
static void grown_family(struct emit *o, const struct service_stats *s, const char *name,
                         const char *type, const char *help, const double *v)
{
    if (!s->n_grown) return;
    metrics_head(o, name, type, help);
    for (int i = 0; i < s->n_grown; i++)
        metrics_labelled(o, name, "profile", s->grown[i].name, v[i]);
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

void metrics_put_learning(struct emit *o, const struct service_stats *s,
                          const struct policy_info *p)
{
    put_learner(o, s, p);
    if (s->learner.updates) put_update(o, &s->learner);
    if (s->vitals.known) {
        put_vitals(o, &s->vitals);
        put_experts(o, &s->vitals);
    }
    put_grown(o, s);
    put_gates(o, s);
}

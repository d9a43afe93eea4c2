#include "serve/learner/learner_figures.h"

#include "learn/online.h"
#include "serve/learner/vitals.h"

#define ROW(member) FIELD(struct online_stats, member)

const struct figure learner_figures[] = {
    {"abrd_learner_trajectories_total", "trajectories", FIGURE_COUNTER,
     "Trajectories that the learner received.", ROW(trajectories)},
    {"abrd_learner_steps_total", "steps", FIGURE_COUNTER, "Steps of these trajectories.",
     ROW(steps)},
    {"abrd_learner_updates_total", "updates", FIGURE_COUNTER,
     "Updates that were published.", ROW(updates)},
    {"abrd_learner_rollbacks_total", "rollbacks", FIGURE_COUNTER,
     "Updates that were rolled back.", ROW(rollbacks)},
    {"abrd_learner_dropped_old_total", "dropped_old", FIGURE_COUNTER,
     "Trajectories dropped because too old weights decided them.", ROW(dropped_old)},
    {"abrd_learner_dropped_full_total", "dropped_full", FIGURE_COUNTER,
     "Trajectories dropped because the buffer was full.", ROW(dropped_full)},
    {"abrd_learner_check_score", "check_score", FIGURE_GAUGE,
     "Score of the last update in the safety check.", ROW(check_score)},
    {"abrd_learner_check_best", "check_best", FIGURE_GAUGE,
     "Best score of the safety check among published weights.", ROW(check_best)},
    {"abrd_learner_dropped_client_total", NULL, FIGURE_COUNTER,
     "Trajectories dropped because their client had used up its share of the update.",
     ROW(dropped_client)},
    {"abrd_learner_bounded_steps_total", NULL, FIGURE_COUNTER,
     "Steps whose advantage was cut to the bound.", ROW(bounded)},
    {"abrd_learner_exams_total", NULL, FIGURE_COUNTER,
     "Updates by verdict of the exam by cells.", ROW(judged.better), .label = "verdict",
     .word = "better"},
    {"abrd_learner_exams_total", "held", FIGURE_COUNTER, NULL, ROW(judged.held),
     .label = "verdict", .word = "even"},
    {"abrd_learner_exams_total", NULL, FIGURE_COUNTER, NULL, ROW(judged.worse),
     .label = "verdict", .word = "worse"},
    {"abrd_learner_exams_total", NULL, FIGURE_COUNTER, NULL, ROW(judged.fallen),
     .label = "verdict", .word = "fallen"},
    {"abrd_learner_forecasts_offered_total", NULL, FIGURE_COUNTER,
     "Fitted forecasts that the exam has judged.", ROW(judged.offered)},
    {"abrd_learner_forecasts_total", NULL, FIGURE_COUNTER,
     "Of these, the ones that were published.", ROW(judged.taken)},
    {"abrd_learner_returned_total", NULL, FIGURE_COUNTER,
     "Number of times that learning returned to the published weights.",
     ROW(judged.returned)},
    {"abrd_learner_holding", NULL, FIGURE_GAUGE,
     "Updates since the published weights that are held.", ROW(judged.holding)},
    {"abrd_learner_sources_bounded_total", NULL, FIGURE_COUNTER,
     "Client addresses whose weight in an update was bounded.",
     ROW(judged.sources_bounded)},
    {"abrd_learner_retries_total", NULL, FIGURE_COUNTER,
     "Refused updates that were made again without the most suspicious address.",
     ROW(judged.retried)},
    {"abrd_learner_rescued_total", NULL, FIGURE_COUNTER,
     "Of these, the ones that were not refused.", ROW(judged.rescued)},
    {"abrd_learner_rehearsed_steps_total", NULL, FIGURE_COUNTER,
     "Emulated steps that joined updates.", ROW(judged.rehearsed)},
    {0}};

/* While there was no update, published or not, these have no value. */
#define LAST(member) ROW(last.member), FIGURE_WHEN(struct online_stats, last.steps)

const struct figure learner_update_figures[] = {
    {"abrd_learner_policy_loss", "policy_loss", FIGURE_GAUGE,
     "PPO's actor loss in the last update.", LAST(policy_loss)},
    {"abrd_learner_value_loss", "value_loss", FIGURE_GAUGE,
     "The critic's loss in the last update.", LAST(value_loss)},
    {"abrd_learner_entropy", "entropy", FIGURE_GAUGE,
     "Entropy of the policy in the last update, in nats.", LAST(entropy)},
    {"abrd_learner_approx_kl", "approx_kl", FIGURE_GAUGE,
     "KL divergence of the new policy from the old in the last update.", LAST(approx_kl)},
    {"abrd_learner_clip_share", "clip_share", FIGURE_GAUGE,
     "Share of the samples whose ratio was clipped in the last update.",
     LAST(clip_share)},
    {"abrd_learner_explained_variance", "explained_variance", FIGURE_GAUGE,
     "Share of the returns' variance that the critic explains, last update.",
     LAST(explained_variance)},
    {"abrd_learner_grad_norm", "grad_norm", FIGURE_GAUGE,
     "Norm of the gradient in the last update.", LAST(grad_norm)},
    {"abrd_learner_expert_share", NULL, FIGURE_GAUGE,
     "Share of the last update's samples that trained each expert of the actor.",
     LAST(expert_share), .label = "expert",
     .count = FIELD_PLACE(struct online_stats, gate[PPO_ACTOR].experts)},
    {"abrd_learner_critic_share", NULL, FIGURE_GAUGE,
     "Share of the last update's samples that trained each expert of the critic.",
     LAST(critic_share), .label = "expert",
     .count = FIELD_PLACE(struct online_stats, gate[PPO_CRITIC].experts)},
    {0}};

const struct figure learner_gates_figures[] = {
    {"abrd_routing_states_total", "routed", FIGURE_COUNTER,
     "States that were routed before and after an update.", ROW(routed)},
    {"abrd_routing_changes_total", "rerouted", FIGURE_COUNTER,
     "States that an update moved to another expert.", ROW(rerouted)},
    {"abrd_expert_quarantines_total", "quarantines", FIGURE_COUNTER,
     "Experts disabled for some updates because their weights were not finite.",
     ROW(quarantines)},
    {"abrd_gate_resets_total", "resets", FIGURE_COUNTER,
     "Number of times that stopped routers began to learn again.", ROW(gate_resets),
     .label = "by", .word = "operator"},
    {"abrd_gate_resets_total", "shifts", FIGURE_COUNTER, NULL, ROW(shifts), .label = "by",
     .word = "shift"},
    {"abrd_gate_shift_level", "shift_level", FIGURE_GAUGE,
     "Largest CUSUM of the critic's error among the profiles (--shift-limit).",
     ROW(last.shift_level)},
    {0}};

const struct figure learner_setting_figures[] = {
    {"abrd_learner_setting", NULL, FIGURE_GAUGE,
     "Settings of the learner, by the option's name.", .type = FIELD_ANY},
    {0}};

#undef ROW
#define ROW(member) FIELD(struct online_gate, member)

const struct figure learner_gate_figures[] = {
    {"abrd_gate_latched", "latched", FIGURE_GAUGE, "1 while the router has stopped.",
     ROW(latched)},
    {"abrd_gate_converged_experts", "converged", FIGURE_GAUGE,
     "Experts that have converged.", ROW(converged)},
    {NULL, "rounds", FIGURE_GAUGE, NULL, ROW(rounds)},
    {0}};

#undef ROW
#define ROW(member) FIELD(struct vitals_net, member)

const struct figure learner_vitals_figures[] = {
    {"abrd_policy_dormant_ratio", NULL, FIGURE_GAUGE,
     "Share of hidden units that are dormant (tau = 0.025).", ROW(dormant)},
    {"abrd_policy_rank", NULL, FIGURE_GAUGE, "Rank of the hidden units' activations.",
     ROW(rank)},
    {"abrd_policy_rank_effective", NULL, FIGURE_GAUGE,
     "Effective rank of the activations.", ROW(effective)},
    {"abrd_policy_rank_approximate", NULL, FIGURE_GAUGE,
     "Least rank that holds 99 % of the activations' variance.", ROW(approx)},
    {"abrd_policy_rank_stable", NULL, FIGURE_GAUGE,
     "Least rank that holds 99 % of the sum of singular values.", ROW(abs_approx)},
    {"abrd_policy_rank_feature", NULL, FIGURE_GAUGE,
     "Number of singular values above 0.01 times the root of the rows.", ROW(feature)},
    {"abrd_policy_weight_rms", NULL, FIGURE_GAUGE,
     "Root mean square of the first layers' weights.", ROW(weight_rms)},
    {"abrd_policy_experts_reached", NULL, FIGURE_GAUGE,
     "Experts that at least one measured state is routed to.", ROW(reached)},
    {0}};

#undef ROW
#define ROW(member) FIELD(struct vitals_layer, member)

const struct figure learner_weights_figures[] = {
    {"abrd_policy_layer_weight_rms", "weight_rms", FIGURE_GAUGE,
     "Root mean square of the layer's weights.", ROW(weight_rms)},
    {0}};

const struct figure learner_units_figures[] = {
    {"abrd_policy_layer_dormant_ratio", "dormant", FIGURE_GAUGE,
     "Share of the layer's units that are dormant (tau = 0.025).", ROW(dormant)},
    {"abrd_policy_layer_rank", "rank", FIGURE_GAUGE, "Rank of the layer's activations.",
     ROW(rank)},
    {"abrd_policy_layer_rank_effective", "rank_effective", FIGURE_GAUGE,
     "Effective rank of the layer's activations.", ROW(effective)},
    {NULL, "rank_approximate", FIGURE_GAUGE, NULL, ROW(approx)},
    {NULL, "rank_stable", FIGURE_GAUGE, NULL, ROW(abs_approx)},
    {NULL, "rank_feature", FIGURE_GAUGE, NULL, ROW(feature)},
    {0}};

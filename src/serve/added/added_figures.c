#include "serve/added/added_figures.h"

#include "serve/added/added.h"

#define ROW(member) FIELD(struct service_added, member)

const struct figure added_figures[] = {
    {NULL, "name", FIGURE_GAUGE, NULL, ROW(name)},
    {NULL, "frozen_experts", FIGURE_GAUGE, NULL, ROW(frozen_experts)},
    {"abrd_grown_experts", "experts", FIGURE_GAUGE, "Experts added to the actor.",
     ROW(experts)},
    {"abrd_grown_version", "version", FIGURE_GAUGE, "Version of the added experts.",
     ROW(version)},
    {"abrd_grown_base_version", "base_version", FIGURE_GAUGE,
     "Version of the frozen policy that they were added to.", ROW(base_version)},
    {"abrd_grown_alpha", "alpha", FIGURE_GAUGE,
     "Weight of the non-linear part of the added experts' gate.", ROW(alpha)},
    {"abrd_grown_tau", "tau", FIGURE_GAUGE,
     "Slope inside the non-linear part of the added experts' gate.", ROW(tau)},
    {"abrd_grown_share", "share", FIGURE_GAUGE,
     "Share of the added experts in the mixture, mean over the profile's decisions.",
     ROW(share)},
    {"abrd_grown_decisions_total", "decisions", FIGURE_COUNTER,
     "Decisions for viewers of the profile.", ROW(decisions)},
    {"abrd_grown_base_score", "base_score", FIGURE_GAUGE,
     "Score of the frozen policy in the safety check of the profile.", ROW(base_score)},
    {"abrd_grown_steps_total", NULL, FIGURE_COUNTER,
     "Steps that the added experts learned from.", ROW(learner.steps)},
    {"abrd_grown_updates_total", NULL, FIGURE_COUNTER, "Updates that were published.",
     ROW(learner.updates)},
    {"abrd_grown_rollbacks_total", NULL, FIGURE_COUNTER, "Updates that were rolled back.",
     ROW(learner.rollbacks)},
    {"abrd_grown_check_score", NULL, FIGURE_GAUGE,
     "Score of the last update in the safety check of the profile.",
     ROW(learner.check_score)},
    {0}};

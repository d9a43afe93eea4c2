/* The settings of the online learner that operators change (online.h). */
#include "learn/online.h"

#define ROW(member) FIELD(struct online_cfg, member)

const struct field online_fields[] = {
    {"learn-rate", "LR", "learning rate of the actor", ROW(ppo.lr), .lo = 0, .hi = .1,
     .group = "learning", .flags = FIELD_ADVANCED},
    {"critic-rate", "LR", "learning rate of the critic", ROW(ppo.critic_lr), .lo = 0,
     .hi = .1, .flags = FIELD_ADVANCED},
    {"noise", "GAMMA",
     "plasticity noise on the experts that learn, as a multiple of the learning rate; 0: "
     "none",
     ROW(ppo.noise_gamma), .lo = 0, .hi = 100, .flags = FIELD_ADVANCED},
    {"tolerance", "SHARE",
     "largest fall of the exam's score below the best one that an update may cause",
     ROW(tolerance), .lo = 0, .hi = 1, .flags = FIELD_ADVANCED},
    {"quarantine", "N",
     "disable an expert for N updates after one of its weights became NaN or infinite",
     ROW(quarantine), .lo = 1, .hi = 1e6, .unit = "updates", .flags = FIELD_ADVANCED},
    {"rehearse", "R",
     "emulated steps that join an update, for each step of a viewer; 0: none",
     ROW(rehearse), .lo = 0, .hi = 6},
    {"anchor", "C",
     "weight of the shipped policy's decisions in emulated steps of known ground; 0: "
     "none",
     ROW(anchor), .lo = 0, .hi = 1},
    {"exam-links", "N",
     "links of each kind in the exam by cells, even and at least 4; 0: no exam by cells",
     ROW(exam_links), .lo = 0, .hi = 64},
    {"exam-margin", "SHARE",
     "largest loss against the shipped policy in any cell of the exam, at its upper "
     "bound",
     ROW(exam_margin), .lo = 0, .hi = 10},
    {"source-share", "SHARE",
     "largest weight of one client address in an update and among the recorded links of "
     "the exam; 1: no bound, for installations that see all viewers with one address",
     ROW(source_share), .lo = 0.001, .hi = 1},
    {"retries", "N",
     "number of times that a refused update is made again, each time without the most "
     "suspicious address",
     ROW(retries), .lo = 0, .hi = 10, .flags = FIELD_ADVANCED},
    {"hold", "N",
     "updates that may be held while they are nowhere better; then learning returns to "
     "the published weights",
     ROW(hold), .lo = 1, .hi = 1e6, .unit = "updates", .flags = FIELD_ADVANCED},
    {"forecast-steps", "N",
     "steps of a fit of the forecast to the viewers' links; 0: it stays as shipped",
     ROW(input_steps), .lo = 0, .hi = 1e5, .flags = FIELD_ADVANCED},
    {"locality", "L", "weight of the routers' locality loss", ROW(ppo.gate.locality),
     .lo = 0, .hi = 1e4, .flags = FIELD_ADVANCED},
    {"latch", "N",
     "stop a router whose experts have converged, after N updates at the earliest; 0: "
     "never",
     ROW(ppo.gate.latch), .lo = 0, .hi = 1 << 30, .unit = "updates",
     .flags = FIELD_ADVANCED},
    {"latch-gap", "G",
     "experts have converged if their score is within G of the chosen expert's",
     ROW(ppo.gate.gap), .lo = 0, .hi = 1e4, .flags = FIELD_ADVANCED},
    {"shift-limit", "H",
     "wake a stopped router when the CUSUM of the critic's error exceeds H; 0: never",
     ROW(ppo.drift.limit), .lo = 0, .hi = 1e4, .flags = FIELD_ADVANCED},
    {0}};

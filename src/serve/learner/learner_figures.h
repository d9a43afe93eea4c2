/* learner_figures.h - the figures of the learner and of its weights, for /metrics and JSON. */
#ifndef SERVE_LEARNER_FIGURES_H
#define SERVE_LEARNER_FIGURES_H

#include "serve/metrics/figure.h"

/* Of struct online_stats; its last update; its gates as a whole. */
extern const struct figure learner_figures[], learner_update_figures[],
    learner_gates_figures[];
/* Of each network, actor and critic: struct online_gate; struct vitals_net. */
extern const struct figure learner_gate_figures[], learner_vitals_figures[];
/* The head of a family with a sample for each number of online_fields (learn/online.h). */
extern const struct figure learner_setting_figures[];
/* Of each layer of an expert, struct vitals_layer: its weights; its units, if a state reached it. */
extern const struct figure learner_weights_figures[], learner_units_figures[];

#endif

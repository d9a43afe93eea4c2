/* added_figures.h - the figures of a profile with added experts, for /metrics and JSON. */
#ifndef SERVE_ADDED_FIGURES_H
#define SERVE_ADDED_FIGURES_H

#include "serve/metrics/figure.h"

/* Of struct service_added; each is labelled with its profile. */
extern const struct figure added_figures[];

#endif

/* metrics_priv.h - what the sources of metrics.c share: families of Prometheus text, and the
 * themes they are written by. */
#ifndef SERVE_METRICS_PRIV_H
#define SERVE_METRICS_PRIV_H

#include "base/hist.h"
#include "serve/metrics/metrics.h"

/* HELP and TYPE of a family. */
void metrics_head(struct emit *o, const char *name, const char *type, const char *help);
/* A family of one sample without labels. */
void metrics_counter(struct emit *o, const char *name, const char *help, double v);
void metrics_gauge(struct emit *o, const char *name, const char *help, double v);
/* name{label="text"} v; text holds only names that we have checked. */
void metrics_labelled(struct emit *o, const char *name, const char *label,
                      const char *text, double v);
/* name{labels} v; labels: the inside of the braces. */
void metrics_sample(struct emit *o, const char *name, const char *labels, double v);
/* The samples of one histogram; labels: the inside of the braces, may be "". */
void metrics_hist(struct emit *o, const char *name, const char *labels,
                  const struct hist_reading *h);

/* Sessions, decisions, store and bus, profiles. */
void metrics_put_service(struct emit *o, const struct service_stats *s);
/* The learner, grown profiles, gates. */
void metrics_put_learning(struct emit *o, const struct service_stats *s,
                          const struct policy_info *p);
/* Viewers without a hint. */
void metrics_put_untagged(struct emit *o, const struct untagged_stats *u);
/* The bus to others, and what came over it. */
void metrics_put_cluster(struct emit *o, const struct cluster_stats *c);

#endif

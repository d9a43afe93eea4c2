/* caution.h - observed slow downloads and stalls, and how they make later decisions more cautious.
 *
 * Coverage. Decisions rely on the quantiles of the forecast. A download should be slower than the quantile
 * FORECAST_LOW at most once in 6 times (forecast.h). There are CAUTION_LINKS kinds of link, by the spread of
 * their history: calm, uneven, volatile. For each kind a margin follows what is observed (online conformal
 * prediction: Gibbs and Candes, "Adaptive conformal inference under distribution shift", NeurIPS 2021, here
 * on the quantile itself):
 *
 *   margin <- margin + step (missed - 1/6)      within 0 .. 2
 *
 * With n that quantile, missed is 1 when the download was slower than n exp(- margin), else 0. The download
 * counts as one of the usual size (forecast_usual_kbps). Plans multiply all quantiles by exp(- margin)
 * (plan.h). While the margin is below 2, at most T / 6 + 2 / step of T downloads
 * are missed, for any sequence of links, so over a long time the share is at most 1/6. It is smaller on links
 * that are as fast as forecast, because no margin raises a forecast. This bound is about all downloads of a
 * kind together, not about one viewer. For viewers with a ceiling the kind's caution_margins is added. It was
 * chosen on training links, where a margin on calm and uneven links costs quality and saves few stalls.
 *
 * Stall weight. While a stall ratio is above its ceiling, stalls cost more in decisions (a multiplier of
 * the constraint, as in dual ascent). The policy is conditioned on the weights, so this needs no training:
 *
 *   mu_stall <- mu_stall min(3, (1 + lambda + slow) (1 + kappa max(0, S - max (S + P))))
 *   slow     =  CAUTION_SLOW min(1, max(0, 2 - 2 m / R))
 *   lambda   <- lambda + rate (s - max (s + p))      within 0 .. 2
 *
 * m is the mean throughput (forecast.h), R the top level's bitrate. So stalls weigh more from the beginning on
 * a slow link: in full where it carries at most half of the top level, and no more where it carries all of it.
 * CAUTION_SLOW was chosen on training links (deploy/policy/README.md).
 *
 * S and P are the seconds that this session has stalled and played (view.h). Their term reacts to a link
 * that is worse than its history shows. s and p are those of one chunk of any session of the profile, so
 * lambda follows all its viewers; it begins at 0. Stalls that no level could have prevented do not count
 * (caution_link_bound). Nothing is promised for a single session.
 *
 * A session that explores decides by the viewer's own weights. Otherwise the learner would take the raised
 * stall weight for the viewer's own.
 *
 * Threads: plain data, not shared; the caller locks. No allocation. */
#ifndef ABR_CAUTION_H
#define ABR_CAUTION_H

#include "abr/emulator/view.h"

#include <stdbool.h>
#include <stdint.h>

#define CAUTION_LINKS 3
#define CAUTION_MISSES (1.0 / 6)
#define CAUTION_LAMBDA_MAX 2.0
#define CAUTION_WEIGHT_MAX 3.0
#define CAUTION_SLOW 0.3

/* Added to the margins of viewers with a ceiling, by kind of link. */
extern const double caution_margins[CAUTION_LINKS];

/* "calm", "uneven", "volatile"; ends with NULL. */
extern const char *const caution_link_names[CAUTION_LINKS + 1];

struct caution_links {
    double margin[CAUTION_LINKS];
    uint64_t seen[CAUTION_LINKS], missed[CAUTION_LINKS]; /* downloads */
};

struct caution_stalls {
    double lambda; /* 0 at first */
};

/* Kind of link by the view's history; -1 when nothing was measured. */
int caution_link(const struct view *v);

/* The margin within its bounds. */
double caution_margin(double margin);

/* The chunk that was decided in v had this throughput and size. */
void caution_download(struct caution_links *c, const struct view *v, double kbps,
                      double bytes);

/* A chunk of chunk_s was played, with this stall. max: the profile's ceiling; 0: none, nothing changes. */
void caution_chunk(struct caution_stalls *c, double stall_s, double chunk_s, double max);

/* Whether the link carried less than the lowest level: kbps of the last download. */
bool caution_link_bound(const struct view *v, double kbps);

/* Applies both to the view of a viewer with a ceiling: sets v->margin, multiplies v->qoe.mu_stall. NULL:
 * nothing was seen of other sessions. */
void caution_apply(struct view *v, const struct caution_links *links,
                   const struct caution_stalls *stalls);

#endif

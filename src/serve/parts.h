/* parts.h - the parts of this build: one table, their settings and their figures.
 *
 * Every build includes the headers of all parts, so that settings and figures have the same form. An
 * omitted part (`make WITHOUT=NAME`) has no row in the table. Settings that need it are an error, and
 * its figures stay 0.
 *
 * Threads: the table is constant; parts_stats from any thread. */
#ifndef SERVE_PARTS_H
#define SERVE_PARTS_H

#include "serve/added/added.h"
#include "serve/cluster/cluster_cfg.h"
#include "serve/hintless/hintless_cfg.h"
#include "serve/part.h"
#include "serve/players/players.h"
#include "serve/trial/trial_cfg.h"

struct parts_cfg {
    struct added_settings added;
    struct hintless_cfg hintless;
    struct cluster_cfg cluster;
    struct players_cfg players;
    struct trial_cfg trial;
};

struct parts_cfg parts_cfg_default(void);
/* ERR_INVALID also for settings of an omitted part. */
int parts_check(const struct parts_cfg *cfg, const struct service_cfg *common,
                struct err *e) __attribute__((warn_unused_result));

struct parts_stats {
    struct added_stats added;
    struct hintless_stats hintless;
    struct cluster_stats cluster;
    struct players_stats players;
    struct trial_stats trial;
};

void parts_stats(struct parts_stats *out, struct service *s);

/* The table, in the order in which the core calls its rows; it ends with a row without a part. */
struct parts_row {
    const struct part *part;
    size_t settings, figures; /* where they are in parts_cfg and parts_stats */
};

extern const struct parts_row parts_table[];
extern const int parts_rows; /* without the last one; at most PARTS_MAX */

static inline int parts_n(void)
{
    return parts_rows;
}

static inline const struct part *parts_at(int i)
{
    return parts_table[i].part;
}

/* The settings of a row; cfg NULL: the defaults. */
const void *parts_settings(int i, const struct parts_cfg *cfg);
/* The figures of a row. */
void *parts_figures(int i, struct parts_stats *out);

#endif

/* oracle_priv.h - the two halves of oracle.h: oracle.c plays plans in the emulator, keeps the
 * best and decides when to stop; oracle_graph.c searches the relaxed world. */
#ifndef ABR_ORACLE_PRIV_H
#define ABR_ORACLE_PRIV_H

#include "abr/emulator/link.h"
#include "abr/deciders/oracle.h"
#include "abr/emulator/qoe.h"

/* What a search works on. */
struct oracle_task {
    const struct link *link;
    const struct video *video;
    double rtt_s, buffer_max_s, drain_s;
    double mu_stall;
    /* reward of a level after a level when nothing stalls; row [levels] after none */
    double gain[VIEW_LEVELS + 1][VIEW_LEVELS];
    /* where the search begins: before chunk `chunk`, level -1 = none fetched yet */
    int chunk, level;
    double clock_s, buffer_s;
};

struct oracle_graph;

struct oracle_graph *oracle_graph_new(const struct video *video, long node_budget,
                                      struct err *e);
void oracle_graph_free(struct oracle_graph *g);

/* Forgets all stages. Returns a first bound: what could be earned if nothing ever stalled. */
double oracle_graph_begin(struct oracle_graph *g, const struct oracle_task *task);

/* One stage with squares of `side_s`, following only what may be worth more than
 * `incumbent`. *bound: no plan's value is larger, or than the incumbent when that is. False
 * when the node budget did not suffice (the stages before stay), or memory. */
bool oracle_graph_refine(struct oracle_graph *g, double *bound, double side_s,
                         double incumbent);

/* Real states through the last stage's nodes. True when some plan ended with a value above
 * the incumbent (by this module's arithmetic): then levels[task->chunk ..] is the best. */
bool oracle_graph_plan(struct oracle_graph *g, int *levels, double incumbent);

long oracle_graph_nodes(const struct oracle_graph *g); /* of the last stage */

#endif

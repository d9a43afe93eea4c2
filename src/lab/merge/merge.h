/* merge.h - the lab `merge`: viewers without a hint, served by merged experts (Tanbr).
 *
 * The methods that it compares: lab/merge/merge_sim.h. The experts come from a joined policy
 * (policy/join.h); hints go to the shipped policy. */
#ifndef LAB_MERGE_H
#define LAB_MERGE_H

#include "lab/lab.h"

extern const struct lab merge_lab;

#endif

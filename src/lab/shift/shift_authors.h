/* shift_authors.h - preset code beside runs of PA-MoE's authors' own code.
 *
 * Their code was run once each with moe and pamoe, as preset code has it (profile coefficient 6,
 * learning rate 1e-4), and once each as it is shipped (7, 1e-3, half the steps). What is held
 * against ours is the mean QoE per chunk of a profile's segments, from the second round of
 * profiles on, without hints; ours are moe and pamoe together, as theirs were of either.
 *
 * A policy freezes near one bitrate, which decides its QoE, so there are two readings:
 *   spread  their value lies between the lowest and the highest of our runs. Of 6 values of the
 *           same distribution .57 lie outside of 20 runs on average (2 / 21 each), and three or
 *           more in 2 % of the cases: the check asks for 4 inside.
 *   frozen  the mean of those of our runs that froze at 1850 or 2850 kbit/s, as all of theirs
 *           did, lies between the lowest and the highest of their segments.
 *
 * Checks need at least SHIFT_SEEDS_NEEDED seeds. Threads: as report.h says. */
#ifndef LAB_SHIFT_AUTHORS_H
#define LAB_SHIFT_AUTHORS_H

#include "report/report.h"
#include "lab/shift/shift_stat.h"

/* Two tables and their checks; nothing when the plan has neither moe nor pamoe. */
void shift_authors(struct report *r, const struct shift_plan *p);

#endif

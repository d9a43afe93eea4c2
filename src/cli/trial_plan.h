/* trial_plan.h - abrd trial plan: how many sessions a trial needs to detect a difference.
 *
 * A row for each figure and difference: sessions of a fixed-size test that knows the difference, of a trial on
 * average, and those after which four of five trials have detected it. The last two are the first times what
 * `abrd lab trial` measures. Deviations are of the viewers in DATA, or the typical ones of abr/compare.h.
 *
 * Threads: main thread. */
#ifndef CLI_TRIAL_PLAN_H
#define CLI_TRIAL_PLAN_H

int trial_plan_cmd(int argc, char **argv);

#endif

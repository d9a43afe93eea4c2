/* trials.h - the lab `trial`: how often a trial of the daemon errs, and how long it takes.
 *
 * Trials with emulated viewers whose truth is known (trial_sim.h), looked at after every session:
 *
 *   A/A         both arms alike, at equal shares and at a share of 0.1: false alarms of any figure, of a
 *               guard rail, of the check of the shares
 *   A/B         two algorithms: coverage at all looks; sessions until the interval leaves out 0, divided
 *               by those of a fixed-size test with power 0.8 that knows difference and deviations
 *   a bad arm   stalls twice as frequent: sessions of the arm until the guard rail stops it
 *   replays     predicted differences of two algorithms on recorded sessions, with and without congestion
 *               that a replay cannot see (replay_sim.h): the bias, and how often its interval covers it
 *
 * Threads: see lab.h. */
#ifndef LAB_TRIALS_H
#define LAB_TRIALS_H

#include "lab/lab.h"

extern const struct lab trials_lab;

#endif

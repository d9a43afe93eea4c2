/* fpu.h - treat subnormal numbers as 0 during long computations.
 *
 * The processor needs a hundred times longer for a float below 1.2e-38, and training makes many of
 * them: the moments of a weight whose unit has died shrink by a constant factor at every step and
 * then stay subnormal for ever. A run of a dense mixture took 80 s with them and 13 s without. The
 * first addition loses their value anyway.
 *
 * Does nothing on processors that this file does not know.
 *
 * Threads: the setting belongs to the calling thread; every begin has its end in it. */
#ifndef BASE_FPU_H
#define BASE_FPU_H

#include <stdint.h>

/* Returns the setting that fpu_flush_end restores. Calls may nest. */
uint64_t fpu_flush_begin(void);
void fpu_flush_end(uint64_t before);

#endif

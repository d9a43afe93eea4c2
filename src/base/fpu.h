/* fpu.h - take subnormal numbers as 0 while numbers are crunched.
 *
 * A float below 1.2e-38 costs the processor a hundred times a normal one, and training makes
 * many: the moments of a weight whose unit has died shrink by a constant factor at every
 * step and then stay there for ever. A run of a dense mixture took 80 s with them and 13 s
 * without. What they are worth is lost in the first addition anyway.
 *
 * A no-op on processors that this file does not know.
 * Threads: the setting is the calling thread's own; every begin has its end in it. */
#ifndef BASE_FPU_H
#define BASE_FPU_H

#include <stdint.h>

/* Returns what fpu_flush_end puts back. Nests. */
uint64_t fpu_flush_begin(void);
void fpu_flush_end(uint64_t before);

#endif

/* kern_priv.h - the tables of kern.h, one per source that is built for an instruction
 * set of its own. */
#ifndef NN_KERN_PRIV_H
#define NN_KERN_PRIV_H

#include "nn/simd/kern.h"

extern const struct kern kern_plain;
#ifdef __x86_64__
extern const struct kern kern_avx2, kern_avx512;
#endif

#endif

/* vecmat_priv.h - the kernels there are. One that was built for another kind of processor is
 * the same as the base. */
#ifndef VECMAT_PRIV_H
#define VECMAT_PRIV_H

#include "nn/simd/vecmat.h"

extern const struct vecmat_kernel vecmat_avx512, vecmat_avx2, vecmat_base;

#endif

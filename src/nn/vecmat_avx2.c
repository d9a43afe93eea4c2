#include "vecmat_kernel_priv.h"

const struct vecmat_kernel vecmat_avx2 = {"avx2", nonzero, affine, softmax};

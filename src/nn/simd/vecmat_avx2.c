#include "vecmat_priv.h"

const struct vecmat_kernel vecmat_avx2 = {"avx2",   nonzero,      affine,
                                          quantize, quant_affine, softmax};

#include "vecmat_priv.h"

const struct vecmat_kernel vecmat_avx512 = {"avx512", nonzero,      affine,
                                            quantize, quant_affine, softmax};

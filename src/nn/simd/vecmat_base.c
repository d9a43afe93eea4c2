#include "vecmat_priv.h"

const struct vecmat_kernel vecmat_base = {"base",   nonzero,      affine,
                                          quantize, quant_affine, softmax};

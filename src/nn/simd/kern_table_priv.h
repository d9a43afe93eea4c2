/* kern_table_priv.h - ends a kern_*.c: its functions as one table. */
#include "kern_priv.h"

const struct kern KERN_TABLE = {
    .name = KERN_WORD,
    .product = product,
    .affine = affine,
    .gather = gather,
    .choose = choose,
    .colsum = colsum,
    .adam = adam,
    .sumsq = sumsq,
    .noise = noise,
    .softmax = softmax,
    .exp = exp_all,
};

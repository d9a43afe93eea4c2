#include "lab/gates/block.h"

size_t block_cut(float *block, const struct block_part *part, int parts)
{
    size_t n = 0;
    for (int i = 0; i < parts; i++) {
        if (block) *part[i].at = block + n;
        n += part[i].n;
    }
    return n;
}

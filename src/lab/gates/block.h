/* block.h - one allocation of floats, cut into parts.
 *
 *   static size_t head_cut(struct head *h, float *block)
 *   {
 *       const struct block_part part[] = {{&h->w, h->n}, {&h->grad, h->n}};
 *       return block_cut(block, part, 2);
 *   }
 *   struct head want = {.n = n}, *h = malloc(sizeof *h + head_cut(&want, NULL) * sizeof(float));
 *   *h = want;
 *   head_cut(h, h->block);
 *
 * One list says what there is and how large it is. Threads: pure function. */
#ifndef LAB_BLOCK_H
#define LAB_BLOCK_H

#include <stddef.h>

struct block_part {
    float **at;
    size_t n; /* floats */
};

/* The parts point into the block, one after another; with NULL they stay. Returns their floats. */
size_t block_cut(float *block, const struct block_part *part, int parts);

#endif

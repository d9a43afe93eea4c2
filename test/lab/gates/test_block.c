#include "lab/gates/block.h"

#include "support/suites.h"

TEST(parts_follow_each_other)
{
    float block[10], *a = NULL, *b = NULL, *none = block, *c = NULL;
    const struct block_part part[] = {{&a, 3}, {&b, 5}, {&none, 0}, {&c, 2}};
    ck_assert_uint_eq(block_cut(NULL, part, 4), 10);
    ck_assert_ptr_null(a);
    ck_assert_uint_eq(block_cut(block, part, 4), 10);
    ck_assert(a == block && b == block + 3 && none == block + 8 && c == block + 8);
}

SUITE(lab_gates_block, parts_follow_each_other);

/* kern_product_priv.h - small products by register tiles, for AVX2 and AVX-512.
 *
 * C is cut into tiles of a few rows and 1 .. TILE_VECS vectors, whose sums stay in
 * registers while k runs. B is read in place, its last vector under a mask; a transposed B
 * is turned into a panel first. No packing of A, no blocking of m and n: for matrices
 * that fit the second-level cache, where general libraries lose more to copies than they
 * gain. */
#include "kern_vec_priv.h"
#include "nn/simd/kern.h"

#include <assert.h>
#include <math.h>

/* ---- one tile ---- */

/* Rows by vectors per row: all sums, one row of B and one of A in the registers. */
#ifdef __AVX512F__
enum { TILE_VECS = 4 };
static const int TILE_ROWS[TILE_VECS + 1] = {0, 14, 12, 8, 6};
#else
enum { TILE_VECS = 3 };
static const int TILE_ROWS[TILE_VECS + 1] = {0, 8, 6, 4};
#endif

/* What the tiles of one pass over k have in common; b is the panel's first row. */
struct pass {
    const float *b, *start, *gate;
    float *c;
    long ldb, ldc, ldstart, a_row, a_col; /* ldstart 0: the same start for each row */
    int k, lanes;                         /* lanes of the last vector */
    float floor;                          /* 0, or -inf: no relu */
};

/* rows and vecs are constants wherever this is expanded */
LANE void tile(const struct pass *p, const float *a, long row, int rows, int vecs)
{
    part last = part_of(p->lanes), whole = part_of(LANES);
    vec sum[14][TILE_VECS];
    const float *start = p->start + row * p->ldstart;
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < vecs; j++) {
            part on = j == vecs - 1 ? last : whole;
            sum[i][j] = load(start + i * p->ldstart + j * LANES, on);
        }

    const float *b = p->b;
    long a_row = p->a_row, a_col = p->a_col, ldb = p->ldb;
    a += row * a_row;
    for (int k = p->k; k > 0; k--, a += a_col, b += ldb) {
        vec v[TILE_VECS];
#pragma GCC unroll 4
        for (int j = 0; j < vecs; j++)
            v[j] = load(b + j * LANES, j == vecs - 1 ? last : whole);
#pragma GCC unroll 14
        for (int i = 0; i < rows; i++) {
            vec x = all(a[i * a_row]);
#pragma GCC unroll 4
            for (int j = 0; j < vecs; j++)
                sum[i][j] = multiply_add(x, v[j], sum[i][j]);
        }
    }

    float *c = p->c + row * p->ldc;
    vec floor = all(p->floor);
    if (p->gate) {
        const float *gate = p->gate + row * p->ldc;
#pragma GCC unroll 14
        for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
            for (int j = 0; j < vecs; j++) {
                vec open =
                    load(gate + i * p->ldc + j * LANES, j == vecs - 1 ? last : whole);
                sum[i][j] = where_positive(open, sum[i][j]);
            }
    }
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < vecs; j++)
            store(c + i * p->ldc + j * LANES, j == vecs - 1 ? last : whole,
                  not_below(floor, sum[i][j]));
}

typedef void tile_fn(const struct pass *p, const float *a, long row);

#define TILE(vecs, rows)                                                             \
    static void tile_##vecs##_##rows(const struct pass *p, const float *a, long row) \
    {                                                                                \
        tile(p, a, row, rows, vecs);                                                 \
    }

/* clang-format off */
TILE(1, 1) TILE(1, 2) TILE(1, 3) TILE(1, 4) TILE(1, 5) TILE(1, 6) TILE(1, 7) TILE(1, 8)
TILE(2, 1) TILE(2, 2) TILE(2, 3) TILE(2, 4) TILE(2, 5) TILE(2, 6)
TILE(3, 1) TILE(3, 2) TILE(3, 3) TILE(3, 4)
#ifdef __AVX512F__
TILE(1, 9) TILE(1, 10) TILE(1, 11) TILE(1, 12) TILE(1, 13) TILE(1, 14)
TILE(2, 7) TILE(2, 8) TILE(2, 9) TILE(2, 10) TILE(2, 11) TILE(2, 12)
TILE(3, 5) TILE(3, 6) TILE(3, 7) TILE(3, 8)
TILE(4, 1) TILE(4, 2) TILE(4, 3) TILE(4, 4) TILE(4, 5) TILE(4, 6)
#endif

static tile_fn *const tiles[TILE_VECS + 1][15] = {
#ifdef __AVX512F__
    [1] = {NULL, tile_1_1, tile_1_2, tile_1_3, tile_1_4, tile_1_5, tile_1_6, tile_1_7, tile_1_8,
           tile_1_9, tile_1_10, tile_1_11, tile_1_12, tile_1_13, tile_1_14},
    [2] = {NULL, tile_2_1, tile_2_2, tile_2_3, tile_2_4, tile_2_5, tile_2_6, tile_2_7, tile_2_8,
           tile_2_9, tile_2_10, tile_2_11, tile_2_12},
    [3] = {NULL, tile_3_1, tile_3_2, tile_3_3, tile_3_4, tile_3_5, tile_3_6, tile_3_7, tile_3_8},
    [4] = {NULL, tile_4_1, tile_4_2, tile_4_3, tile_4_4, tile_4_5, tile_4_6},
#else
    [1] = {NULL, tile_1_1, tile_1_2, tile_1_3, tile_1_4, tile_1_5, tile_1_6, tile_1_7, tile_1_8},
    [2] = {NULL, tile_2_1, tile_2_2, tile_2_3, tile_2_4, tile_2_5, tile_2_6},
    [3] = {NULL, tile_3_1, tile_3_2, tile_3_3, tile_3_4},
#endif
};
/* clang-format on */

/* ---- the product ---- */

/* turn_panel for a corner, where rows and depth are LANES at most */
static void turn_corner(float *panel, int wide, const float *b, long ldb, int rows,
                        int depth)
{
    enum { FEW = 4 };
    if (rows <= FEW || depth <= FEW) {
        for (int j = 0; j < rows; j++)
            for (int k = 0; k < depth; k++)
                panel[k * wide + j] = b[j * ldb + k];
        return;
    }
    vec r[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        r[i] = i < rows ? load(b + i * ldb, part_of(depth)) : all(0.0f);
    turn(r);
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        if (i < depth) store(panel + i * wide, part_of(LANES), r[i]);
}

/* B (rows, ldb) to panel (depth, wide); behind the rows it is left as it was */
static void turn_panel(float *panel, int wide, const float *b, long ldb, int rows,
                       int depth)
{
    for (int j = 0; j < rows; j += LANES)
        for (int k = 0; k < depth; k += LANES) {
            float *to = panel + k * wide + j;
            const float *from = b + j * ldb + k;
            int down = rows - j < LANES ? rows - j : LANES;
            int over = depth - k < LANES ? depth - k : LANES;
            if (down < LANES || over < LANES) {
                turn_corner(to, wide, from, ldb, down, over);
                continue;
            }
            vec r[LANES];
            load_turned(r, from, ldb);
#pragma GCC unroll 16
            for (int i = 0; i < LANES; i++)
                store(to + i * wide, part_of(LANES), r[i]);
        }
}

/* a panel stays in the first-level cache while all rows of A pass */
enum { DEPTH = 160 };

/* where a product starts that has nothing to start from */
static const float nothing[TILE_VECS * LANES];

/* the columns from j on, `cols` of them in `vecs` vectors */
static void columns(const struct kern_product *q, int j, int cols, int vecs)
{
    float panel[DEPTH * TILE_VECS * LANES] __attribute__((aligned(64)));
    int passes = (q->k + DEPTH - 1) / DEPTH, wide = vecs * LANES;
    /* tiles of two heights, one row apart, as tall as they can be */
    int count = (q->m + TILE_ROWS[vecs] - 1) / TILE_ROWS[vecs];
    int least = q->m / count, more = q->m % count;
    struct pass p = {.c = q->c + j,
                     .ldb = q->b_transposed ? wide : q->n,
                     .ldc = q->n,
                     .a_row = q->a_transposed ? 1 : q->k,
                     .a_col = q->a_transposed ? q->m : 1,
                     .lanes = cols - (vecs - 1) * LANES};
    for (int i = 0; i < passes; i++) {
        int k = passes == 1 ? 0 : (int)((long)q->k * i / passes);
        bool end = i == passes - 1;
        p.k = end ? q->k - k : (int)((long)q->k * (i + 1) / passes) - k;
        p.b = q->b_transposed ? panel : q->b + (long)k * q->n + j;
        bool add = q->add || i;
        p.start = add ? p.c : q->bias ? q->bias + j : nothing;
        p.ldstart = add ? p.ldc : 0;
        p.gate = q->gate && end ? q->gate + j : NULL;
        p.floor = q->relu && end ? 0.0f : -INFINITY;
        if (q->b_transposed)
            turn_panel(panel, wide, q->b + (long)j * q->k + k, q->k, cols, p.k);
        for (int t = 0, row = 0; t < count; t++) {
            int rows = least + (t < more);
            tiles[vecs][rows](&p, q->a + k * p.a_col, row);
            row += rows;
        }
    }
}

static void product(const struct kern_product *q)
{
    assert(q->m >= 0 && q->n >= 0 && q->k > 0);
    assert(!(q->a_transposed && q->b_transposed) && !(q->add && q->bias));
    if (q->m == 0 || q->n == 0) return;
    int vecs = (q->n + LANES - 1) / LANES;
    int panels = (vecs + TILE_VECS - 1) / TILE_VECS;
    for (int i = 0; i < panels; i++) {
        int from = vecs * i / panels, to = vecs * (i + 1) / panels;
        int j = from * LANES, end = to * LANES < q->n ? to * LANES : q->n;
        columns(q, j, end - j, to - from);
    }
}

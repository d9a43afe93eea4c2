#include "nn/simd/vecmat.h"

#include <math.h>
#include <string.h>

/* A kernel that was compiled for another kind of processor equals the base. */
extern const struct vecmat_kernel vecmat_avx512, vecmat_avx2, vecmat_base;

static bool works(const struct vecmat_kernel *k)
{
#ifdef SIMD_AVX2 /* as in kern.c */
    if (k == &vecmat_avx512) return false;
#endif
#ifdef __x86_64__
    if (k == &vecmat_avx512)
        return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni");
    if (k == &vecmat_avx2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return k == &vecmat_base;
}

const struct vecmat_kernel *vecmat_kernel(int i)
{
    static const struct vecmat_kernel *const ALL[] = {&vecmat_avx512, &vecmat_avx2,
                                                      &vecmat_base};
    for (size_t k = 0; k < sizeof ALL / sizeof *ALL; k++)
        if (works(ALL[k]) && i-- == 0) return ALL[k];
    return NULL;
}

int vecmat_pad(int n)
{
    return (n + VECMAT_LANES - 1) / VECMAT_LANES * VECMAT_LANES;
}

void vecmat_pack(float *wt, const float *w, int in, int out)
{
    size_t pad = (size_t)vecmat_pad(out), n = (size_t)in;
    memset(wt, 0, sizeof *wt * n * pad);
    for (size_t i = 0; i < (size_t)out; i++)
        for (size_t j = 0; j < n; j++)
            wt[j * pad + i] = w[i * n + j];
}

int vecmat_quant_pad(int n)
{
    return (n + VECMAT_BLOCK - 1) / VECMAT_BLOCK * VECMAT_BLOCK;
}

/* Columns c and c + 16 of a block lie four words apart. When the words of two rows are interleaved
 * within 16 bytes, the columns are then in order for every width of the vector. */
int vecmat_word(int column)
{
    int c = column % VECMAT_BLOCK;
    return column - c + c % 16 / 4 * 8 + c / 16 * 4 + c % 4;
}

void vecmat_quant_pack(int16_t *q, float *step, const float *w, int in, int out)
{
    int pad = vecmat_quant_pad(out);
    memset(q, 0, sizeof *q * (size_t)in * (size_t)pad);
    for (int i = 0; i < pad; i++) {
        const float *row = w + (size_t)i * (size_t)in;
        float most = 0.0f;
        for (int j = 0; i < out && j < in; j++)
            most = fmaxf(most, fabsf(row[j]));
        step[i] = most > 1e-30f ? most / VECMAT_WEIGHT_MAX : 1e-30f;
        for (int j = 0; i < out && j < in; j++)
            q[(size_t)j * (size_t)pad + (size_t)vecmat_word(i)] =
                (int16_t)lrintf(row[j] / step[i]);
    }
}

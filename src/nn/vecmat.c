#include "nn/vecmat.h"

#include "vecmat_priv.h"

#include <string.h>

static bool works(const struct vecmat_kernel *k)
{
#ifdef __x86_64__
    if (k == &vecmat_avx512) return __builtin_cpu_supports("avx512f");
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

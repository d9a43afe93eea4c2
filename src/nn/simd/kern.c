#include "nn/simd/kern.h"

/* one table per source that is compiled for an instruction set of its own */
extern const struct kern kern_plain;
#ifdef __x86_64__
extern const struct kern kern_avx2, kern_avx512;
#endif

/* The compiler's runtime asks the CPU once, before main. __builtin_cpu_supports reads its notes, which
 * include whether the system saves the wide registers. */
static bool runs(const struct kern *k)
{
#ifdef __x86_64__
#ifdef SIMD_AVX2 /* as on a processor without AVX-512: to measure (web/docs/speed.md) */
    if (k == &kern_avx512) return false;
#endif
    if (k == &kern_avx512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    if (k == &kern_avx2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return k == &kern_plain;
}

static const struct kern *const TABLES[] = {
    &kern_plain,
#ifdef __x86_64__
    &kern_avx2,
    &kern_avx512,
#endif
};

enum { COUNT = sizeof TABLES / sizeof *TABLES };

const struct kern *kern_best(void)
{
    for (int i = COUNT - 1; i > 0; i--)
        if (runs(TABLES[i])) return TABLES[i];
    return &kern_plain;
}

const struct kern *kern_get(int i)
{
    return i < COUNT && runs(TABLES[i]) ? TABLES[i] : NULL;
}

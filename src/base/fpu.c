#include "base/fpu.h"

#if defined(__SSE__)

#include <xmmintrin.h>

enum { FLUSH = 0x8040 }; /* results and operands: FTZ and DAZ of MXCSR */

uint64_t fpu_flush_begin(void)
{
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | FLUSH);
    return before;
}

void fpu_flush_end(uint64_t before)
{
    _mm_setcsr((unsigned)before);
}

#elif defined(__aarch64__)

#define FLUSH (UINT64_C(1) << 24) /* FZ of FPCR */

uint64_t fpu_flush_begin(void)
{
    uint64_t before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(before | FLUSH));
    return before;
}

void fpu_flush_end(uint64_t before)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(before));
}

#else

uint64_t fpu_flush_begin(void)
{
    return 0;
}

void fpu_flush_end(uint64_t before)
{
    (void)before;
}

#endif

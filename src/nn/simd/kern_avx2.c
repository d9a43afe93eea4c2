/* The table for x86 CPUs with AVX2 and FMA; the Makefile gives this file its flags. */
#ifdef __x86_64__
#define KERN_TABLE kern_avx2
#define KERN_WORD "avx2"
#include "kern_priv.h"
#endif

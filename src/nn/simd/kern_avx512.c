/* The table for x86 CPUs with AVX-512 (F, DQ, VL, BW); the Makefile gives this file its flags. */
#ifdef __x86_64__
#define KERN_TABLE kern_avx512
#define KERN_WORD "avx512"
#include "kern_priv.h"
#endif

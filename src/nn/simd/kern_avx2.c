/* The table for x86 CPUs with AVX2 and FMA; the Makefile gives this file its flags. */
#ifdef __x86_64__

#define KERN_TABLE kern_avx2
#define KERN_WORD "avx2"

#include "kern_loops_priv.h"

#include "kern_noise_priv.h"

#include "kern_adam_priv.h"

#include "kern_product_priv.h"

#include "kern_affine_priv.h"

#include "kern_table_priv.h"

#endif

#include "nn/blas.h"

#include <assert.h>
#include <cblas.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What OpenBLAS maps for each call that runs at the same time as others: BUFFER_SIZE of its
 * common_x86_64.h and common_arm64.h. */
enum { BUFFER_MB = 128, CALLERS_MAX = 128 };

/* Of OpenBLAS (memory.c), in all its builds. */
void *blas_memory_alloc(int position);
void blas_memory_free(void *buffer);

/* ---- one thread per caller ----
 *
 * OpenBLAS starts a thread for every further processor while it is loaded. Each of them maps a
 * buffer, and tries for ever where an address-space limit forbids it; the program's end waits for
 * them. It starts none if it sees one processor. So the process has one processor from before the
 * libraries' constructors (.preinit_array) until its own (one_thread_per_caller). OPENBLAS_NUM_THREADS
 * would do the same, but the C library has no environment of ours to change that early. */

enum { MASK_BYTES = 1024 };

static struct {
    long bytes; /* of the mask; 0: nothing was changed */
    unsigned char mask[MASK_BYTES];
} processors;

/* Before any sanitizer is ready, hence plain system calls and no instrumentation. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static void
one_processor(int argc, char **argv, char **envp)
{
    (void)argc, (void)argv, (void)envp;
    long n = syscall(SYS_sched_getaffinity, 0, MASK_BYTES, processors.mask);
    unsigned char one[MASK_BYTES];
    for (long i = 0; i < MASK_BYTES; i++)
        one[i] = 0;
    for (long i = 0; i < n; i++) {
        unsigned char byte = processors.mask[i];
        if (!byte) continue;
        one[i] = (unsigned char)(byte & -byte);
        if (!syscall(SYS_sched_setaffinity, 0, n, one)) processors.bytes = n;
        return;
    }
}

__attribute__((section(".preinit_array"),
               used)) static void (*const before_libraries)(int, char **,
                                                            char **) = one_processor;

/* Two BLAS threads made batches of this size 1.6-2.8 times slower, and would take cores
 * from the callers' own threads. A constructor, because the setting is global to the
 * library and must not race with a product under way. */
__attribute__((constructor)) static void one_thread_per_caller(void)
{
    if (processors.bytes)
        syscall(SYS_sched_setaffinity, 0, processors.bytes, processors.mask);
    openblas_set_num_threads(1);
}

int blas_reserve(int callers, struct err *e)
{
    assert(callers > 0);
    if (callers > CALLERS_MAX) callers = CALLERS_MAX;
    size_t bytes = (size_t)callers * BUFFER_MB << 20;
    void *room =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return err_set(e, ERR_MEMORY,
                       "OpenBLAS needs %zu MB more of address space: raise ulimit -v "
                       "(RLIMIT_AS, systemd's LimitAS), or allow more overcommit "
                       "(vm.overcommit_memory)",
                       bytes >> 20);
    munmap(room, bytes);

    /* what it has mapped it keeps: no later call has to ask */
    void *held[CALLERS_MAX];
    for (int i = 0; i < callers; i++)
        held[i] = blas_memory_alloc(0);
    for (int i = 0; i < callers; i++)
        blas_memory_free(held[i]);
    return 0;
}

void blas_gemm_nn(float *c, const float *a, const float *b, int m, int n, int k,
                  float beta)
{
    assert(m >= 0 && n >= 0 && k > 0);
    if (m == 0 || n == 0) return;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0f, a, k, b, n,
                beta, c, n);
}

void blas_gemm_nt(float *c, const float *a, const float *b, int m, int n, int k,
                  float beta)
{
    assert(m >= 0 && n >= 0 && k > 0);
    if (m == 0 || n == 0) return;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1.0f, a, k, b, k, beta,
                c, n);
}

void blas_gemm_tn(float *c, const float *a, const float *b, int m, int n, int k,
                  float beta)
{
    assert(m >= 0 && n >= 0 && k > 0);
    if (m == 0 || n == 0) return;
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, n, k, 1.0f, a, m, b, n, beta,
                c, n);
}

void blas_gemv(float *y, const float *a, const float *x, int m, int n, float beta)
{
    assert(m >= 0 && n > 0);
    if (m == 0) return;
    cblas_sgemv(CblasRowMajor, CblasNoTrans, m, n, 1.0f, a, n, x, 1, beta, y, 1);
}

const char *blas_config(void)
{
    return openblas_get_config();
}

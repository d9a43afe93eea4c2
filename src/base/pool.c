#include "base/pool.h"

#include "base/fpu.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

struct job {
    atomic_int next;
    int n;
    void (*fn)(void *ctx, int i);
    void *ctx;
};

static void *work(void *arg)
{
    struct job *j = arg;
    uint64_t before = fpu_flush_begin();
    for (;;) {
        int i = atomic_fetch_add(&j->next, 1);
        if (i >= j->n) break;
        j->fn(j->ctx, i);
    }
    fpu_flush_end(before);
    return NULL;
}

int pool_run(int n, int threads, void (*fn)(void *ctx, int i), void *ctx)
{
    struct job j = {.n = n, .fn = fn, .ctx = ctx};
    if (threads > POOL_THREADS) threads = POOL_THREADS;
    if (threads > n) threads = n;

    pthread_t helper[POOL_THREADS];
    int helpers = 0;
    while (helpers + 1 < threads && !pthread_create(&helper[helpers], NULL, work, &j))
        helpers++;

    work(&j);
    for (int i = 0; i < helpers; i++)
        pthread_join(helper[i], NULL);
    return helpers + 1;
}

int pool_cpus(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    int n = CPU_COUNT(&set);
    return n > 0 ? n : 1;
}

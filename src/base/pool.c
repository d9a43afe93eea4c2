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

struct trial {
    int (*fn)(void *ctx, int i, struct err *e);
    void *ctx;
    atomic_int failed; /* the lowest index that failed so far; n: none */
    pthread_mutex_t lock;
    int code; /* of that item; under lock, like its reason */
    struct err why;
};

static void try_one(void *ctx, int i)
{
    struct trial *t = ctx;
    if (i > atomic_load(&t->failed)) return;
    struct err why = {0};
    int code = t->fn(t->ctx, i, &why);
    if (!code) return;
    pthread_mutex_lock(&t->lock);
    if (i < atomic_load(&t->failed)) {
        t->code = code;
        t->why = why;
        atomic_store(&t->failed, i);
    }
    pthread_mutex_unlock(&t->lock);
}

int pool_try(int n, int threads, int (*fn)(void *ctx, int i, struct err *e), void *ctx,
             struct err *e)
{
    struct trial t = {.fn = fn, .ctx = ctx, .failed = n};
    pthread_mutex_init(&t.lock, NULL);
    pool_run(n, threads, try_one, &t);
    pthread_mutex_destroy(&t.lock);
    if (t.why.code) err_field(e, t.why.code, t.why.field, "%s", t.why.detail);
    return t.code;
}

int pool_cpus(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    int n = CPU_COUNT(&set);
    return n > 0 ? n : 1;
}

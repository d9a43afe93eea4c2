#include "support/alloc.h"

#include <check.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
char *__real_strdup(const char *s);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
char *__wrap_strdup(const char *s);
void __wrap_free(void *p);

enum { LIVE = 1 << 16 };

static atomic_bool watching;
static atomic_long calls, live, fail_at; /* fail_at: the call that fails; 0 = none */

/* Blocks got while watching: those of the C library itself (getline, open_memstream) are
 * freed through us but were never seen, and must not count. Open addressing, no removal
 * but by a mark; large enough for what one constructor does. */
static _Atomic(uintptr_t) block[LIVE];

static size_t start_of(uintptr_t p)
{
    return (size_t)((p >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 48) % LIVE;
}

static void *got(void *p)
{
    if (!watching || !p) return p;
    size_t i = start_of((uintptr_t)p);
    for (int tries = 0; tries < LIVE; tries++, i = (i + 1) % LIVE) {
        uintptr_t empty = 0;
        if (block[i] == (uintptr_t)p ||
            atomic_compare_exchange_strong(&block[i], &empty, (uintptr_t)p))
            break;
    }
    live++;
    return p;
}

/* the slot is marked 1, not emptied: later ones stay reachable */
static void given_back(void *p)
{
    if (!watching || !p) return;
    size_t i = start_of((uintptr_t)p);
    for (int tries = 0; tries < LIVE && block[i]; tries++, i = (i + 1) % LIVE) {
        uintptr_t mine = (uintptr_t)p;
        if (atomic_compare_exchange_strong(&block[i], &mine, (uintptr_t)1)) {
            live--;
            return;
        }
    }
}

static bool refused(void)
{
    if (!watching) return false;
    return ++calls == fail_at;
}

void *__wrap_malloc(size_t n)
{
    return refused() ? NULL : got(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return refused() ? NULL : got(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t n)
{
    if (refused()) return NULL;
    uintptr_t old = (uintptr_t)p;
    given_back((void *)old);
    return got(__real_realloc(p, n));
}

void *__wrap_aligned_alloc(size_t align, size_t n)
{
    return refused() ? NULL : got(__real_aligned_alloc(align, n));
}

char *__wrap_strdup(const char *s)
{
    return refused() ? NULL : got(__real_strdup(s));
}

void __wrap_free(void *p)
{
    given_back(p);
    __real_free(p);
}

void alloc_watch(void)
{
    watching = false;
    for (int i = 0; i < LIVE; i++)
        block[i] = 0;
    calls = live = fail_at = 0;
    watching = true;
}

void alloc_watch_failing(long n)
{
    alloc_watch();
    fail_at = n;
}

long alloc_calls(void)
{
    return calls;
}

long alloc_live(void)
{
    return live;
}

int alloc_each_fails(void *(*make)(void *ctx, struct err *e), void (*destroy)(void *made),
                     void *ctx)
{
    for (int n = 1;; n++) {
        struct err e = {0};
        alloc_watch_failing(n);
        void *made = make(ctx, &e);
        bool met = calls >= n;
        watching = false;
        if (!met) {
            ck_assert_msg(made != NULL, "without a failing allocation: %s", e.detail);
            ck_assert_int_gt(n, 1);
            destroy(made);
            return n - 1;
        }
        ck_assert_msg(made == NULL, "allocation %d failed, yet there is a result", n);
        ck_assert_msg(e.code == ERR_MEMORY, "allocation %d failed: code %s, '%s'", n,
                      err_word(e.code), e.detail);
        ck_assert_msg(live == 0, "allocation %d failed: %ld blocks are left behind", n,
                      (long)live);
    }
}

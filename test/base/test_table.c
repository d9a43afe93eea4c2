#include "base/table.h"

#include "base/rng.h"
#include "support/suites.h"

#include <stdint.h>
#include <string.h>

/* A model that cannot be wrong, against which random operations are compared: an array
 * indexed by the key. Few keys, a small and nearly full table: long probe runs,
 * wrap-around and deletions within them. */
enum { KEYS = 40, CAPACITY = 16 };

TEST(does_what_an_array_does)
{
    struct table *t =
        table_new(CAPACITY, sizeof(uint32_t), sizeof(uint64_t), (uint64_t)_i, NULL);
    bool there[KEYS] = {false};
    uint64_t value[KEYS] = {0}, *at[KEYS] = {NULL};
    int count = 0;
    struct rng r;
    rng_init(&r, 9, (uint64_t)_i);

    for (int step = 0; step < 5000; step++) {
        uint32_t k = rng_below(&r, KEYS);
        uint64_t *v;
        bool fresh;
        switch (rng_below(&r, 3)) {
        case 0:
            v = table_put(t, &k, &fresh);
            ck_assert_int_eq(fresh, !there[k]);
            if (!there[k] && count == CAPACITY) {
                ck_assert_ptr_null(v);
                break;
            }
            ck_assert_ptr_nonnull(v);
            if (fresh) {
                ck_assert_uint_eq(*v, 0);
                at[k] = v;
                count++;
            }
            there[k] = true;
            *v = value[k] = rng_u64(&r);
            break;
        case 1:
            ck_assert_int_eq(table_delete(t, &k), there[k]);
            count -= there[k];
            there[k] = false;
            break;
        default:
            v = table_get(t, &k);
            ck_assert_int_eq(v != NULL, there[k]);
            if (!v) break;
            ck_assert_ptr_eq(v, at[k]); /* entries do not move */
            ck_assert_uint_eq(*v, value[k]);
        }
        ck_assert_int_eq(table_count(t), count);
    }
    table_free(t);
}

TEST(next_visits_each_once_and_allows_deletion)
{
    struct table *t = table_new(100, sizeof(int), sizeof(int), 1, NULL);
    for (int k = 0; k < 100; k++)
        *(int *)table_put(t, &k, NULL) = k;
    int cursor = 0, seen = 0;
    const void *key;
    for (int *v; (v = table_next(t, &cursor, &key)); seen++) {
        ck_assert_int_eq(*v, *(const int *)key);
        if (*v % 2) ck_assert(table_delete(t, &(int){*v}));
    }
    ck_assert_int_eq(seen, 100);
    ck_assert_int_eq(table_count(t), 50);

    cursor = seen = 0;
    for (int *v; (v = table_next(t, &cursor, NULL)); seen++)
        ck_assert_int_eq(*v % 2, 0);
    ck_assert_int_eq(seen, 50);
    table_free(t);
}

TEST(long_keys_differ_in_any_byte)
{
    struct table *t = table_new(64, 33, 1, 1, NULL);
    for (int i = 0; i < 33; i++) {
        char key[33] = {0};
        key[i] = 1;
        *(char *)table_put(t, key, NULL) = (char)(i + 1);
    }
    for (int i = 0; i < 33; i++) {
        char key[33] = {0};
        key[i] = 1;
        ck_assert_int_eq(*(char *)table_get(t, key), i + 1);
        key[(i + 1) % 33] = 1;
        ck_assert_ptr_null(table_get(t, key));
    }
    table_free(t);
}

TEST(values_are_aligned)
{
    struct table *t = table_new(8, 5, 24, 1, NULL);
    for (int k = 0; k < 8; k++) {
        char key[5] = {(char)k};
        ck_assert_uint_eq((uintptr_t)table_put(t, key, NULL) % 16, 0);
    }
    ck_assert_int_eq(table_capacity(t), 8);
    table_free(t);
    table_free(NULL);
}

SUITE(base_table, TIMES(does_what_an_array_does, 10),
      next_visits_each_once_and_allows_deletion, long_keys_differ_in_any_byte,
      values_are_aligned);

#include "serve/cluster/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "support/buckets.h"
#include "support/suites.h"

enum { N = 3 * 8000 + 100 };

static struct buckets keys;
static struct bucket bucket;
static unsigned char data[N];
static struct pieces made;

static void setup(void)
{
    bucket = buckets_open(&keys);
    keys.most = 8000 + ENVELOPE_HEAD;
    for (int i = 0; i < N; i++)
        data[i] = (unsigned char)(i * 7 % 251);
    ck_assert_int_eq(pieces_put(&made, &bucket, "some", ENVELOPE_STATE, 1, data, N, NULL),
                     0);
}

static void teardown(void)
{
    buckets_free(&keys);
}

static int get(const struct pieces *p, int newest)
{
    void *out;
    struct err e = {0};
    int rc = pieces_get(&out, p, &bucket, "some", ENVELOPE_STATE, newest, &e);
    if (!rc) ck_assert_mem_eq(out, data, p->bytes);
    if (rc) ck_assert_ptr_null(out);
    free(out);
    return rc;
}

TEST(all_of_it_comes_back_in_pieces_that_the_bucket_takes)
{
    ck_assert_int_eq(made.parts, 4);
    ck_assert_int_eq(buckets_count(&keys, "some."), 4);
    for (int i = 0; i < keys.n; i++)
        ck_assert_uint_le(keys.value[i].n, keys.most);
    ck_assert_int_eq(get(&made, 1), 0);
    /* where nobody tells how much, half a megabyte */
    keys.most = 0;
    ck_assert_int_eq(pieces_put(&made, &bucket, "some", ENVELOPE_STATE, 1, data, N, NULL),
                     0);
    ck_assert_int_eq(made.parts, 1);
    ck_assert_int_eq(get(&made, 1), 0);
    ck_assert_int_eq(pieces_put(&made, &bucket, "none", ENVELOPE_STATE, 1, data, 0, NULL),
                     0);
    ck_assert_int_eq(made.parts, 0);
    ck_assert_int_eq(get(&made, 1), 0);
}

TEST(what_is_not_what_was_named_is_refused)
{
    struct pieces other = made;
    other.crc ^= 1;
    ck_assert_int_eq(get(&other, 1), ERR_CORRUPT);
    other = made;
    other.bytes -= 5000; /* the last piece is too long */
    ck_assert_int_eq(get(&other, 1), ERR_CORRUPT);
    other = made;
    other.parts = 3;
    ck_assert_int_eq(get(&other, 1), ERR_CORRUPT);
    other.bytes = UINT64_MAX / 2; /* nobody allocates that */
    ck_assert_int_eq(get(&other, 1), ERR_CORRUPT);
    ck_assert_int_eq(get(&made, 0), ERR_RANGE); /* a reader of before this form */
    ck_assert_int_eq(bucket.set(bucket.self, "some.2", NULL, 0, NULL), 0);
    ck_assert_int_eq(get(&made, 1), ERR_CORRUPT);
    keys.away = true;
    ck_assert_int_eq(get(&made, 1), ERR_IO);
    ck_assert_int_eq(
        pieces_put(&other, &bucket, "some", ENVELOPE_STATE, 1, data, N, NULL), ERR_IO);
}

TEST(they_go_together)
{
    keys.away = true;
    ck_assert(!pieces_drop(&bucket, "some", made.parts));
    keys.away = false;
    ck_assert_int_eq(buckets_count(&keys, "some."), 4);
    ck_assert(pieces_drop(&bucket, "some", made.parts));
    ck_assert_int_eq(keys.n, 0);
}

SUITE_SET_UP(serve_cluster_pieces, 0, setup, teardown,
             all_of_it_comes_back_in_pieces_that_the_bucket_takes,
             what_is_not_what_was_named_is_refused, they_go_together);

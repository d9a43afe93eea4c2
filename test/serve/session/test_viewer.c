#include "serve/session/viewer.h"
#include "support/suites.h"

#include <check.h>

TEST(a_hash_depends_on_key_viewer_and_trial)
{
    static const uint8_t KEY[SIPHASH_KEY] = {1}, OTHER[SIPHASH_KEY] = {2};
    uint64_t ann = viewer_hash(KEY, "ann");
    ck_assert_uint_eq(viewer_hash(KEY, ""), 0);
    ck_assert_uint_eq(viewer_hash(KEY, "ann"), ann);
    ck_assert_uint_ne(ann, 0);
    ck_assert_uint_ne(viewer_hash(KEY, "bob"), ann);
    ck_assert_uint_ne(viewer_hash(OTHER, "ann"), ann);
    ck_assert_uint_ne(viewer_unit(KEY, "spring", "ann", 7), ann);
}

TEST(a_unit_is_a_viewer_or_a_session)
{
    static const uint8_t KEY[SIPHASH_KEY] = {1};
    uint64_t ann = viewer_unit(KEY, "spring", "ann", 7);
    ck_assert_uint_eq(viewer_unit(KEY, "spring", "ann", 8), ann);
    ck_assert_uint_eq(ann & VIEWER_NAMED, VIEWER_NAMED);
    uint64_t session = viewer_unit(KEY, "spring", "", 7);
    ck_assert_uint_ne(viewer_unit(KEY, "spring", "", 8), session);
    ck_assert_uint_eq(session & VIEWER_NAMED, 0);
}

SUITE(serve_session_viewer, a_hash_depends_on_key_viewer_and_trial,
      a_unit_is_a_viewer_or_a_session);

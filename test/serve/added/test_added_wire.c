#include "serve/added/added_wire.h"

#include "support/suites.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abr/emulator/feat.h"
#include "base/bytes.h"

static struct added_wire sent, got;

static void fill(void)
{
    sent = (struct added_wire){.term = 7, .n = ADDED_WIRE_MAX};
    for (int i = 0; i < sent.n; i++) {
        struct added_wire_one *g = &sent.at[i];
        *g = (struct added_wire_one){.id = 100 + (uint64_t)i,
                                     .gone = i % 3 == 1,
                                     .version = (uint64_t)i,
                                     .base_term = 3,
                                     .term = 5,
                                     .slot = i % 2,
                                     .position = 9000,
                                     .published_at = 1e9 + .5,
                                     .score = .7,
                                     .base_score = NAN,
                                     .base = {315000, 1, 1},
                                     .experts = {80000, 2, 1},
                                     .state = {160000, 3, 2}};
        memset(g->name, 'a' + i % 26, SERVICE_NAME - 2); /* as long as names may be */
        g->name[0] = (char)('a' + i / 26);
    }
}

START_TEST(the_list_comes_back)
{
    fill();
    void *bytes;
    size_t n;
    ck_assert_int_eq(shared_value_encode(&bytes, &n, &added_wire_list_kind, &sent, NULL),
                     0);
    memset(&got, 0xa5, sizeof got);
    struct err e = {0};
    ck_assert_msg(!shared_value_decode(&got, &added_wire_list_kind, bytes, n, &e), "%s",
                  e.detail);
    ck_assert_uint_eq(got.term, 7);
    ck_assert_int_eq(got.n, sent.n);
    for (int i = 0; i < sent.n; i++) {
        const struct added_wire_one *a = &sent.at[i], *b = &got.at[i];
        ck_assert_str_eq(a->name, b->name);
        ck_assert_uint_eq(a->id, b->id);
        ck_assert_int_eq(a->gone, b->gone);
        ck_assert_uint_eq(a->version, b->version);
        ck_assert_int_eq(a->slot, b->slot);
        ck_assert_uint_eq(a->position, b->position);
        ck_assert(a->published_at == b->published_at && a->score == b->score);
        ck_assert(isnan(b->base_score));
        ck_assert_uint_eq(a->experts.bytes, b->experts.bytes);
        ck_assert_uint_eq(a->state.crc, b->state.crc);
        ck_assert_int_eq(a->state.parts, b->state.parts);
    }
    /* whatever bit is wrong, it is noticed */
    for (size_t i = 0; i < n; i++) {
        ((unsigned char *)bytes)[i] ^= 0x10;
        ck_assert_int_lt(shared_value_decode(&got, &added_wire_list_kind, bytes, n, NULL),
                         0);
        ((unsigned char *)bytes)[i] ^= 0x10;
    }
    /* a later form is told in plain words */
    bytes_put_u16((unsigned char *)bytes + 10, ADDED_WIRE_FORM + 1);
    ck_assert_int_eq(shared_value_decode(&got, &added_wire_list_kind, bytes, n, &e),
                     ERR_RANGE);
    ck_assert_str_eq(e.detail, "is the list of added profiles of form 2; this abrd reads "
                               "forms 1 to 1: upgrade it");
    free(bytes);
}
END_TEST

START_TEST(who_is_gone_is_not_found)
{
    fill();
    ck_assert_ptr_eq(added_wire_of(&sent, 100), &sent.at[0]);
    ck_assert_ptr_eq(added_wire_find(&sent, sent.at[0].name), &sent.at[0]);
    ck_assert_ptr_null(added_wire_of(&sent, 101));
    ck_assert_ptr_null(added_wire_find(&sent, sent.at[1].name));
    ck_assert_int_eq(added_wire_count(&sent), 21);

    /* both slots, the state and the frozen policy lie apart, and so do other growths and terms */
    char key[6][PIECES_KEY];
    struct added_wire_one one = sent.at[0];
    added_wire_key(key[0], &one, ADDED_WIRE_BASE);
    added_wire_key(key[1], &one, ADDED_WIRE_EXPERTS);
    added_wire_key(key[2], &one, ADDED_WIRE_STATE);
    ck_assert_str_eq(key[0], "grown.0000000000000064.3.base");
    ck_assert_str_eq(key[1], "grown.0000000000000064.5.0.new");
    one.slot = 1;
    added_wire_key(key[3], &one, ADDED_WIRE_EXPERTS);
    one.term = 6;
    added_wire_key(key[4], &one, ADDED_WIRE_EXPERTS);
    one.id++;
    added_wire_key(key[5], &one, ADDED_WIRE_EXPERTS);
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(key[i], key[k]);
}
END_TEST

START_TEST(new_experts_come_back)
{
    struct policy_cfg base = policy_cfg_default(FEAT_FULL_DIM);
    struct policy *p = policy_new(&base, NULL);
    policy_init(p, 3);
    struct policy_added_cfg two = {2, NORGA_TANH};
    ck_assert_int_eq(policy_add(p, &two, NULL, 0, 4, NULL), 0);
    struct policy_added *g = p->added, *r;
    g->version = 12;
    g->shape_learns = false;
    void *bytes;
    size_t n;
    ck_assert_int_eq(added_wire_put_experts(&bytes, &n, g, NULL), 0);
    ck_assert_uint_eq(n, 23 + 4 * policy_added_floats(g));
    r = added_wire_get_experts(&p->cfg, bytes, n, NULL);
    ck_assert_ptr_nonnull(r);
    ck_assert(policy_added_fits(r, p));
    ck_assert_uint_eq(r->version, 12);
    ck_assert(!r->shape_learns);
    ck_assert_mem_eq(r->actor->theta, g->actor->theta, sizeof(float) * g->actor->n);
    ck_assert_mem_eq(r->critic->theta, g->critic->theta, sizeof(float) * g->critic->n);
    policy_added_free(r);

    struct err e = {0};
    ck_assert_ptr_null(added_wire_get_experts(&p->cfg, bytes, n - 1, &e));
    ck_assert_int_eq(e.code, ERR_CORRUPT);
    base.hidden++; /* of another policy */
    ck_assert_ptr_null(added_wire_get_experts(&base, bytes, n, NULL));
    free(bytes);
    g->critic->theta[5] = NAN;
    ck_assert_int_eq(added_wire_put_experts(&bytes, &n, g, NULL), ERR_CORRUPT);
    policy_free(p);
}
END_TEST

SUITE(serve_added_added_wire, the_list_comes_back, who_is_gone_is_not_found,
      new_experts_come_back);

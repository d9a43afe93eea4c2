#include "base/pack.h"

#include "support/suites.h"

#include <math.h>
#include <string.h>

struct thing {
    uint8_t a;
    uint32_t b;
    uint64_t c;
    float d;
    double e, f;
    int g, h;
    bool i;
    char j[8];
};

static void pass(struct pack *p, struct thing *t)
{
    pack_u8(p, &t->a);
    pack_u32(p, &t->b);
    pack_u64(p, &t->c);
    pack_f32(p, &t->d);
    pack_f64(p, &t->e);
    pack_real(p, &t->f);
    pack_int(p, &t->g, -5, 1000);
    pack_small(p, &t->h, -1, 11);
    pack_bool(p, &t->i);
    pack_text(p, t->j, sizeof t->j);
}

static const struct thing THING = {7,  70000, UINT64_MAX - 1, .5f,    NAN, -1e300,
                                   -5, -1,    true,           "words"};
enum { SIZE = 1 + 4 + 8 + 4 + 8 + 8 + 8 + 1 + 8 + 8 };

TEST(what_is_written_is_read)
{
    unsigned char bytes[100];
    struct thing t = THING;
    struct pack w = pack_writer(bytes, sizeof bytes);
    pass(&w, &t);
    ck_assert(w.ok);
    ck_assert_uint_eq(pack_done(&w, bytes), SIZE);

    struct thing got;
    memset(&got, 0xff, sizeof got);
    struct pack r = pack_reader(bytes, SIZE);
    pass(&r, &got);
    ck_assert(r.ok && pack_over(&r));
    ck_assert_uint_eq(got.a, 7);
    ck_assert_uint_eq(got.b, 70000);
    ck_assert_uint_eq(got.c, UINT64_MAX - 1);
    ck_assert_float_eq(got.d, .5f);
    ck_assert(isnan(got.e));
    ck_assert_double_eq(got.f, -1e300);
    ck_assert_int_eq(got.g, -5);
    ck_assert_int_eq(got.h, -1);
    ck_assert(got.i);
    ck_assert_str_eq(got.j, "words");
}

TEST(what_ends_too_early_is_not_ok)
{
    unsigned char bytes[SIZE];
    struct thing t = THING;
    struct pack w = pack_writer(bytes, sizeof bytes);
    pass(&w, &t);
    for (size_t n = 0; n < SIZE; n++) {
        struct thing got;
        memset(&got, 0xff, sizeof got);
        struct pack r = pack_reader(bytes, n);
        pass(&r, &got);
        ck_assert(!r.ok);
        ck_assert_str_eq(got.j, "");
        unsigned char less[SIZE];
        struct pack s = pack_writer(less, n);
        pass(&s, &t);
        ck_assert(!s.ok);
        ck_assert_uint_le(pack_done(&s, less), n);
    }
}

TEST(what_lies_outside_is_not_ok)
{
    unsigned char bytes[16];
    struct pack p = pack_writer(bytes, sizeof bytes);
    int i = 12;
    pack_int(&p, &i, 0, 11);
    ck_assert(!p.ok);
    p = pack_writer(bytes, sizeof bytes);
    pack_small(&p, &i, 0, 11);
    ck_assert(!p.ok);
    p = pack_writer(bytes, sizeof bytes);
    double d = INFINITY;
    pack_real(&p, &d);
    ck_assert(!p.ok);
    p = pack_writer(bytes, sizeof bytes);
    char full[4] = {'f', 'u', 'l', 'l'};
    pack_text(&p, full, sizeof full);
    ck_assert(!p.ok);

    memset(bytes, 0xff, sizeof bytes);
    p = pack_reader(bytes, sizeof bytes);
    pack_small(&p, &i, -1, 11);
    ck_assert(!p.ok);
    ck_assert_int_eq(i, -1);
    float f;
    p = pack_reader(bytes, sizeof bytes);
    pack_f32(&p, &f);
    ck_assert(!p.ok);
    ck_assert_float_eq(f, 0);
    p = pack_reader(bytes, sizeof bytes);
    pack_text(&p, full, sizeof full);
    ck_assert(!p.ok);
    ck_assert_int_eq(full[0], 0);
}

SUITE(base_pack, what_is_written_is_read, what_ends_too_early_is_not_ok,
      what_lies_outside_is_not_ok);

#include "abr/traces/splice.h"

#include "support/alloc.h"
#include "support/suites.h"

#include <math.h>
#include <string.h>

enum { ROWS = 400, IDS = 60 };

/* Throughputs that tell where they come from: base + .001 * row. */
static struct trace *counting(double base, double slot_s)
{
    struct trace *t = trace_new(ROWS, "counting", NULL);
    ck_assert_ptr_nonnull(t);
    for (int i = 0; i < ROWS; i++) {
        t->time_s[i] = slot_s * i;
        t->mbps[i] = i ? base + .001 * i : 0.0;
    }
    return t;
}

static void drop(struct trace **t, int n)
{
    for (int i = 0; i < n; i++)
        trace_free(t[i]);
}

/* From one recording: every slot is one of its slots, at one pace, and the one behind it lies
 * next to it but where pieces meet. Pieces run both ways. */
TEST(made_of_pieces)
{
    struct trace *from = counting(2.0, 0.5);
    int ahead = 0, back = 0, jumps = 0;
    for (uint64_t id = 0; id < IDS; id++) {
        struct trace *t =
            splice_link((const struct trace **)&from, 1, 320.0, 4, id, NULL);
        ck_assert_ptr_nonnull(t);
        ck_assert_double_ge(t->time_s[t->n - 1], 320.0);
        ck_assert_double_eq(t->mbps[0], 0.0);
        /* one step of the recording, whatever the pace */
        double step = INFINITY;
        for (int i = 2; i < t->n; i++) {
            double by = fabs(t->mbps[i] - t->mbps[i - 1]);
            if (by > 0.0)
                step = fmin(step, by); /* 0: a piece began where the last ended */
        }
        double pace = step / .001;
        ck_assert_double_ge(pace, 1.0 / 1.2 - 1e-9);
        ck_assert_double_le(pace, 1.2 + 1e-9);
        for (int i = 1; i < t->n; i++) {
            ck_assert_double_eq_tol(t->time_s[i] - t->time_s[i - 1], 0.5, 1e-9);
            double row = (t->mbps[i] / pace - 2.0) / .001;
            ck_assert_double_eq_tol(row, round(row), 1e-6);
            ck_assert(row > .5 && row < ROWS - .5);
            if (i == 1) continue;
            double moved = (t->mbps[i] - t->mbps[i - 1]) / pace / .001;
            ahead += fabs(moved - 1.0) < 1e-6;
            back += fabs(moved + 1.0) < 1e-6;
            jumps += fabs(fabs(moved) - 1.0) > 1e-6;
        }
        trace_free(t);
    }
    int all = ahead + back + jumps;
    ck_assert_int_gt(ahead, all / 3);
    ck_assert_int_gt(back, all / 3);
    /* 60 times 640 slots in pieces of 80 on average: 480, less the first ones, and where a
     * piece goes round the recording's end */
    ck_assert_int_gt(jumps, 300);
    ck_assert_int_lt(jumps, 800);
    trace_free(from);
}

/* Pieces come from recordings of about the same mean: 1 and 1.3 mix, 8 stays alone. */
TEST(like_with_like)
{
    struct trace *from[] = {counting(1.0, 1.0), counting(1.3, 1.0), counting(8.0, 1.0)};
    int mixed = 0, fast = 0;
    for (uint64_t id = 0; id < IDS; id++) {
        struct trace *t = splice_link((const struct trace **)from, 3, 320.0, 4, id, NULL);
        ck_assert_ptr_nonnull(t);
        int slow_slots = 0, fast_slots = 0;
        double low = INFINITY, high = 0.0;
        for (int i = 1; i < t->n; i++) {
            *(t->mbps[i] < 4.0 ? &slow_slots : &fast_slots) += 1;
            low = fmin(low, t->mbps[i]);
            high = fmax(high, t->mbps[i]);
        }
        ck_assert(!slow_slots || !fast_slots);
        fast += fast_slots > 0;
        mixed += slow_slots && high / low > 1.45; /* one recording spans 1.4 or 1.31 */
        trace_free(t);
    }
    ck_assert_int_gt(mixed, IDS / 4);
    ck_assert_int_gt(fast, IDS / 6);
    drop(from, 3);
}

TEST(the_same_again)
{
    struct trace *from[] = {counting(1.0, 1.0), counting(1.3, 0.7)};
    struct trace *a = splice_link((const struct trace **)from, 2, 100.0, 7, 3, NULL);
    struct trace *b = splice_link((const struct trace **)from, 2, 100.0, 7, 3, NULL);
    struct trace *c = splice_link((const struct trace **)from, 2, 100.0, 7, 4, NULL);
    ck_assert_int_eq(a->n, b->n);
    ck_assert_mem_eq(a->mbps, b->mbps, (size_t)a->n * sizeof *a->mbps);
    ck_assert_mem_eq(a->time_s, b->time_s, (size_t)a->n * sizeof *a->time_s);
    ck_assert(a->n != c->n || memcmp(a->mbps, c->mbps, (size_t)a->n * sizeof *a->mbps));
    struct trace *all[] = {a, b, c};
    drop(all, 3);
    drop(from, 2);
}

/* A recording that never carries anything gives no link. */
TEST(nothing_to_carry)
{
    struct trace *from = trace_new(3, "dead", NULL);
    from->time_s[1] = 1.0;
    from->time_s[2] = 2.0;
    struct err e = {0};
    ck_assert_ptr_null(splice_link((const struct trace **)&from, 1, 10.0, 1, 1, &e));
    ck_assert_int_lt(e.code, 0);
    trace_free(from);
}

static void *make_splice(void *ctx, struct err *e)
{
    return splice_link(ctx, 1, 60.0, 1, 1, e);
}

static void free_splice(void *t)
{
    trace_free(t);
}

TEST(memory)
{
    struct trace *from = counting(2.0, 1.0);
    alloc_each_fails(make_splice, free_splice, &from);
    trace_free(from);
}

SUITE(abr_traces_splice, made_of_pieces, like_with_like, the_same_again, nothing_to_carry,
      memory);

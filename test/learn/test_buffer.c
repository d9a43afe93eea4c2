#include "learn/buffer.h"

#include "support/suites.h"

#include "support/alloc.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

enum { DIM = 2 };

/* V = first entry of the observation */
static void first_entry(void *ctx, float *v, const float *obs, int n)
{
    *(int *)ctx += n;
    for (int i = 0; i < n; i++)
        v[i] = obs[i * DIM];
}

static struct online_trajectory three(const float *obs, bool truncated)
{
    static const uint32_t mask[] = {3, 3, 3};
    static const int action[] = {0, 1, 0};
    static const float logp[] = {-.5f, -.25f, -1}, reward[] = {1, 2, 4};
    return (struct online_trajectory){.n = 3,
                                      .obs = obs,
                                      .mask = mask,
                                      .action = action,
                                      .logp = logp,
                                      .reward = reward,
                                      .tag = truncated,
                                      .truncated = truncated,
                                      .last_obs = obs + 3 * DIM};
}

/* gamma .5, lambda 1: returns by hand, values 10, 20, 30, behind the cut 8 */
START_TEST(returns_by_hand)
{
    static const float obs[] = {10, 0, 20, 0, 30, 0, 8, 0};
    struct buffer *b = buffer_new(8, DIM, NULL);
    struct online_trajectory end = three(obs, false), cut = three(obs, true);
    ck_assert_int_eq(buffer_add(b, &end), 0);
    ck_assert_int_eq(buffer_add(b, &cut), 0);
    ck_assert_int_eq(buffer_add(b, &cut), ERR_FULL);
    ck_assert_int_eq(buffer_steps(b), 6);
    int asked = 0;
    struct ppo_batch p;
    buffer_advantages(b, first_entry, &asked, .5, 1);
    buffer_batch(&p, b);
    ck_assert_int_eq(asked, 7);
    ck_assert_int_eq(p.n, 6);
    /* ended: 4; 2 + 2; 1 + 2. Cut: 4 + .5 * 8 = 8; 2 + 4 = 6; 1 + 3 = 4 */
    static const double want[] = {3, 4, 4, 4, 6, 8};
    for (int i = 0; i < 6; i++) {
        ck_assert_double_eq_tol((double)p.target[i], want[i], 1e-6);
        ck_assert_double_eq_tol((double)p.advantage[i],
                                want[i] - (double)obs[i % 3 * DIM], 1e-6);
        ck_assert_int_eq(p.tag[i], i / 3);
        ck_assert_int_eq(p.action[i], i % 3 == 1);
    }
    ck_assert(p.obs[3 * DIM] == 10.0f && p.logp[5] == -1.0f && p.mask[4] == 3);

    buffer_clear(b);
    ck_assert_int_eq(buffer_steps(b), 0);
    ck_assert_int_eq(buffer_add(b, &end), 0);
    buffer_advantages(b, first_entry, &asked, .5, 1);
    buffer_batch(&p, b);
    ck_assert_double_eq_tol((double)p.target[2], 4, 1e-6); /* no trace of the cut one */
    buffer_free(b);
}
END_TEST

/* more than one block of observations, every one valued once */
START_TEST(values_come_in_blocks)
{
    enum { N = 3 * BUFFER_ROWS };
    static float obs[4 * DIM] = {1, 0, 2, 0, 3, 0, 9, 0};
    struct buffer *b = buffer_new(N, DIM, NULL);
    struct online_trajectory t = three(obs, true);
    int n = 0, asked = 0;
    while (!buffer_add(b, &t))
        n++;
    ck_assert_int_eq(n, N / 3);
    buffer_advantages(b, first_entry, &asked, .5, 0);
    ck_assert_int_eq(asked, N + N / 3);
    struct ppo_batch p;
    buffer_batch(&p, b);
    for (int i = 0; i < N; i++) /* lambda 0: r + gamma V' */
        ck_assert_double_eq_tol((double)p.target[i],
                                i % 3 == 0   ? 2
                                : i % 3 == 1 ? 3.5
                                             : 8.5,
                                1e-6);
    buffer_free(b);
}
END_TEST

static void *make(void *ctx, struct err *e)
{
    (void)ctx;
    return buffer_new(9, DIM, e);
}

static void drop(void *made)
{
    buffer_free(made);
}

START_TEST(memory_runs_out)
{
    alloc_each_fails(make, drop, NULL);
}
END_TEST

static void add_from(struct buffer *b, uint64_t source, float reward)
{
    static const float obs[] = {10, 0, 20, 0, 30, 0, 8, 0};
    float rewards[] = {reward, reward, reward};
    struct online_trajectory t = three(obs, false);
    t.reward = rewards;
    t.source = source;
    ck_assert_int_eq(buffer_add(b, &t), 0);
}

/* 7 sends six steps, 9 three, and three are of nobody known. */
START_TEST(a_source_weighs_no_more_than_its_share)
{
    struct buffer *b = buffer_new(32, DIM, NULL);
    int calls = 0;
    add_from(b, 7, 1);
    add_from(b, 0, 2);
    add_from(b, 9, 900);
    add_from(b, 7, 1);
    buffer_advantages(b, first_entry, &calls, .5, 1);
    ck_assert_int_eq(buffer_weigh(b, 3), 1);
    struct ppo_batch batch;
    buffer_batch(&batch, b);
    for (int i = 0; i < batch.n; i++)
        ck_assert_float_eq(batch.weight[i], i < 3 || i >= 9 ? .5f : 1.0f);

    ck_assert_uint_eq(buffer_suspect(b), 9); /* extreme, and not most of all */
    buffer_exclude(b, 9);
    for (int i = 0; i < batch.n; i++)
        ck_assert_float_eq(batch.weight[i], i < 3 || i >= 9 ? .5f : i < 6 ? 1.0f : 0.0f);
    ck_assert_uint_eq(buffer_suspect(b), 7);
    buffer_exclude(b, 7);
    ck_assert_uint_eq(buffer_suspect(b), 0); /* what nobody sent is nobody's fault */
    buffer_clear(b);
    add_from(b, 9, 1);
    buffer_advantages(b, first_entry, &calls, .5, 1);
    ck_assert_int_eq(buffer_weigh(b, 3), 0);
    buffer_batch(&batch, b);
    ck_assert_float_eq(batch.weight[0], 1.0f);
    buffer_free(b);
}
END_TEST

/* Rows that are joined count in one batch, and have what viewers' rows have not. */
START_TEST(emulated_rows_join_one_batch)
{
    struct buffer *b = buffer_new(6, DIM, NULL);
    ck_assert_int_eq(buffer_join_init(b, 2, NULL), 0);
    int calls = 0;
    add_from(b, 0, 1);
    buffer_advantages(b, first_entry, &calls, .5, 1);
    static const float obs[] = {1, 2, 3, 4}, logp[] = {-1, -2}, a[] = {5, 6},
                       q[] = {1, 2, 3, 4};
    static const uint32_t mask[] = {3, 3};
    static const int action[] = {1, 0}, tag[] = {11, 12};
    struct ppo_batch rows = {.n = 2,
                             .obs = obs,
                             .mask = mask,
                             .action = action,
                             .tag = tag,
                             .logp = logp,
                             .advantage = a,
                             .target = a,
                             .q = q,
                             .prob = q};
    ck_assert_int_eq(buffer_join(b, &rows), 0);
    ck_assert_int_eq(buffer_steps(b), 3);
    struct ppo_batch batch;
    buffer_batch(&batch, b);
    ck_assert_int_eq(batch.n, 5);
    ck_assert(isnan(batch.q[5]) && isnan(batch.shown[9]));
    ck_assert_float_eq(batch.q[6], 1);
    ck_assert_float_eq(batch.advantage[4], 6);
    ck_assert_int_eq(batch.tag[4], 12);
    ck_assert_int_eq(buffer_join(b, &rows), ERR_FULL);
    buffer_clear(b);
    add_from(b, 0, 1);
    buffer_batch(&batch, b);
    ck_assert_int_eq(batch.n, 3);
    ck_assert_ptr_null(batch.q);
    buffer_free(b);
}
END_TEST

SUITE(learn_buffer, returns_by_hand, values_come_in_blocks,
      a_source_weighs_no_more_than_its_share, emulated_rows_join_one_batch,
      memory_runs_out);

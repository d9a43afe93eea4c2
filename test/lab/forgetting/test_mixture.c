#include "lab/forgetting/mixture.h"

#include "support/alloc.h"
#include "support/glyphs.h"
#include "support/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8 }; /* points of a grid */

/* One repetition, with all its series. */
struct played {
    double v[MIXTURE_SERIES][MOST];
    int set[MOST][RECALL_EXPERTS];
    struct mixture_end end;
};

static struct played play_at(struct mixture_cfg c, const int *grid, int points,
                             uint64_t seed, int repetition)
{
    struct played out;
    double value[MIXTURE_SERIES * MOST];
    int set[MOST * RECALL_EXPERTS], experts = c.router.experts;
    struct err e = {0};
    const struct mixture_to to = {grid, points, MIXTURE_SERIES, value, set};
    c.rounds = grid[points - 1];
    ck_assert_int_eq(mixture_run(&out.end, &to, &c, NULL, seed, repetition, &e), 0);
    for (int i = 0; i < MIXTURE_SERIES; i++)
        for (int p = 0; p < points; p++)
            out.v[i][p] = value[i * points + p];
    for (int p = 0; p < points; p++)
        memcpy(out.set[p], set + p * experts, (size_t)experts * sizeof *set);
    return out;
}

/* the end alone */
static struct mixture_end run_for(struct mixture_cfg c, int rounds,
                                  const struct task_pool *pool, uint64_t seed,
                                  int repetition)
{
    struct mixture_end end;
    struct err e = {0};
    const struct mixture_to nothing = {.series = MIXTURE_CORE};
    c.rounds = rounds;
    ck_assert_int_eq(mixture_run(&end, &nothing, &c, pool, seed, repetition, &e), 0);
    return end;
}

static struct digits_set *images;

static void setup(void)
{
    images = glyphs_set();
}

static void teardown(void)
{
    digits_set_free(images);
}

static struct mixture_cfg small(bool edge, int experts, enum mixture_rule rule)
{
    struct mixture_cfg c = mixture_images(images, edge, experts, rule);
    c.digits = glyphs_cfg();
    c.task.tasks = c.task.clusters = c.digits.tasks;
    return c;
}

/* ---- settings ---- */

TEST(continual_setting_by_hand)
{
    struct mixture_cfg c = mixture_default(false, 5, MIXTURE_STOP);
    ck_assert_int_eq(mixture_t1(&c), 10); /* ceil(5 / .5) */
    ck_assert_double_eq_tol(c.router.gamma, .31811, 1e-5);
    c = mixture_default(false, 20, MIXTURE_STOP);
    ck_assert_int_eq(mixture_t1(&c), 40);
}

/* T1 = 10 + ceil(M ln(M / .1)); T2 = T1 + 10 + ceil(N (M_th + ln 10)). M_th = log_N 10 is 1 for N = 10
 * and 2.0959 for the images' N = 3, which need N M_th ln 10 experts. */
TEST(edge_setting_by_hand)
{
    static const struct {
        bool images;
        int experts, t1, t2;
        double mth, need;
    } row[] = {
        {false, 5, 30, 74, 1, 23.0259},      /* 10 + ceil(5 ln 50 = 19.56); + 10 + 34 */
        {false, 60, 394, 438, 1, 23.0259},   /* 10 + ceil(60 ln 600 = 383.8) */
        {true, 15, 86, 110, 2.0959, 14.478}, /* 10 + ceil(75.16); + 10 + ceil(13.2) */
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct mixture_cfg c = row[i].images
                                   ? small(true, row[i].experts, MIXTURE_STOP)
                                   : mixture_default(true, row[i].experts, MIXTURE_STOP);
        ck_assert_int_eq(mixture_t1(&c), row[i].t1);
        ck_assert_int_eq(mixture_t2(&c), row[i].t2);
        ck_assert_double_eq_tol(mixture_mth(&c), row[i].mth, 1e-4);
        ck_assert_double_eq_tol(mixture_need(&c), row[i].need, 1e-3);
        c.delta = 1e-30;
        ck_assert_double_eq(mixture_mth(&c), 10); /* d_u */
    }
}

/* sigma0 .0625: eta = alpha = .25, noise = gamma = .0625^1.25 = 2^-5; edge: noise = 2^-8, no rest */
TEST(image_gate_by_hand)
{
    for (int edge = 0; edge < 2; edge++) {
        struct router_cfg c = mixture_image_router(edge, 4, 36, .0625);
        ck_assert_int_eq(c.experts, 4);
        ck_assert_int_eq(c.d, 36);
        ck_assert_double_eq_tol(c.eta, .25, 1e-15);
        ck_assert_double_eq_tol(c.alpha, edge ? 0 : .25, 1e-15);
        ck_assert_double_eq_tol(c.noise, edge ? 1.0 / 256 : 1.0 / 32, 1e-15);
        ck_assert_double_eq_tol(c.gamma, edge ? 0 : 1.0 / 32, 1e-15);
    }
}

TEST(norms_count_the_tasks_own_part)
{
    struct mixture_cfg c = mixture_default(true, 5, MIXTURE_STOP);
    c.task.clusters = c.task.tasks = 2, c.task.d = 2;
    struct task_pool p = {.w = {{1, 0}, {0, 3}}};
    double own = 2 * .108 * .108; /* d (.3 * .36)^2 */
    struct exact_norms n = mixture_norms(&p, &c);
    ck_assert_double_eq_tol(n.a, 5 + own, 1e-14);
    ck_assert_double_eq_tol(n.b, 5 + 2 * own, 1e-14);
    c.edge = false; /* the pool holds the tasks themselves */
    ck_assert_double_eq_tol(mixture_norms(&p, &c).a, 5, 1e-14);
}

/* ---- continual learning ---- */

static const int GRID[MOST] = {2, 5, 15, 25, 40, 80, 150, 300};

/* One expert: the same streams, F and G summed over the whole past as they are defined. */
TEST(one_expert_is_a_plain_loop)
{
    struct mixture_cfg c = mixture_default(false, 1, MIXTURE_STOP);
    struct played out = play_at(c, GRID, MOST, 9, 4);

    struct rng pool_rng, data;
    rng_init(&pool_rng, 9, 12);
    rng_init(&data, 9, 13);
    struct task_pool p;
    task_pool_draw(&p, &c.task, &pool_rng);
    double w[TASK_DIM] = {0}, once[300];
    int past[300], k = 0;
    for (int t = 1; t <= 300; t++) {
        past[t - 1] = (int)rng_below(&data, 6);
        struct task_data x;
        task_draw(&x, &c.task, p.w[past[t - 1]], &data);
        task_learn(w, &c.task, &x, p.w[past[t - 1]]);
        once[t - 1] = task_distance2(w, p.w[past[t - 1]], 10);
        if (t != GRID[k]) continue;
        double f = 0, g = 0;
        for (int i = 0; i < t; i++) {
            double e = task_distance2(w, p.w[past[i]], 10);
            g += e / t;
            if (i < t - 1) f += (e - once[i]) / (t - 1);
        }
        ck_assert_double_eq_tol(out.v[MIXTURE_FORGOT][k], f, 1e-11);
        ck_assert_double_eq_tol(out.v[MIXTURE_ERROR][k], g, 1e-11);
        ck_assert_double_nan(out.v[MIXTURE_ACROSS][k]); /* no pair of experts */
        k++;
    }
    ck_assert_int_eq(k, MOST);
}

/* The two series that a comparison asks for are those of the whole. */
TEST(the_core_alone_is_the_same)
{
    struct mixture_cfg c = mixture_default(false, 5, MIXTURE_STOP);
    struct played all = play_at(c, GRID, MOST, 4, 1);
    double value[MIXTURE_CORE][MOST];
    struct mixture_end end;
    const struct mixture_to to = {GRID, MOST, MIXTURE_CORE, value[0], NULL};
    c.rounds = GRID[MOST - 1];
    ck_assert_int_eq(mixture_run(&end, &to, &c, NULL, 4, 1, NULL), 0);
    ck_assert_mem_eq(value[MIXTURE_ERROR], all.v[MIXTURE_ERROR], sizeof value[0]);
    ck_assert_mem_eq(value[MIXTURE_FORGOT], all.v[MIXTURE_FORGOT], sizeof value[0]);
    ck_assert_double_eq(end.error, all.v[MIXTURE_ERROR][MOST - 1]);
}

/* The gate stops once; before that nothing differs, after it the sets stay. */
TEST(termination_is_a_latch)
{
    struct mixture_cfg c = mixture_default(false, 10, MIXTURE_ON), may = c;
    may.rule = MIXTURE_STOP;
    for (int rep = 0; rep < 5; rep++) {
        struct played a = play_at(c, GRID, MOST, 1, rep),
                      b = play_at(may, GRID, MOST, 1, rep);
        int stopped = b.end.stopped;
        ck_assert_int_eq(a.end.stopped, 0);
        ck_assert_int_gt(stopped, mixture_t1(&may));
        ck_assert_int_lt(stopped, 80);
        for (int p = 0; p < MOST; p++) {
            bool running = GRID[p] < stopped;
            ck_assert(b.v[MIXTURE_RUNNING][p] == running);
            if (running)
                ck_assert_double_eq(a.v[MIXTURE_ERROR][p], b.v[MIXTURE_ERROR][p]);
            if (p > 0 && GRID[p - 1] >= stopped)
                ck_assert_double_eq(b.v[MIXTURE_CHANGED][p], 0);
        }
        ck_assert_double_gt(a.v[MIXTURE_CHANGED][MOST - 1], 0);
    }
}

/* The sets at the points are those that CHANGED, LARGEST and SMALLEST count. */
TEST(sets_and_their_sizes)
{
    enum { M = 10 };
    struct played out = play_at(mixture_default(false, M, MIXTURE_ON), GRID, MOST, 3, 1);
    ck_assert_mem_eq(out.set[MOST - 1], out.end.set, M * sizeof(int));
    for (int p = 0; p < MOST; p++) {
        int size[3] = {0}, moved = 0;
        for (int m = 0; m < M; m++) {
            size[out.set[p][m]]++;
            moved += p > 0 && out.set[p][m] != out.set[p - 1][m];
        }
        int low = size[0] < size[1] ? size[0] : size[1];
        int high = size[0] > size[1] ? size[0] : size[1];
        low = size[2] < low ? size[2] : low;
        high = size[2] > high ? size[2] : high;
        ck_assert_double_eq_tol(out.v[MIXTURE_LARGEST][p], high / 10.0, 1e-15);
        ck_assert_double_eq_tol(out.v[MIXTURE_SMALLEST][p], low / 10.0, 1e-15);
        if (p > 0)
            ck_assert_double_eq_tol(out.v[MIXTURE_CHANGED][p], moved / 10.0, 1e-15);
    }
}

/* Theorem 1 behind T1: F falls as (T1 - 1)/(t - 1). */
TEST(the_theorem_is_drawn_as_printed)
{
    /* T1 = 40 = GRID[4] */
    struct played out =
        play_at(mixture_default(false, 20, MIXTURE_STOP), GRID, MOST, 2, 0);
    const double *f = out.v[MIXTURE_BOUND_F];
    ck_assert_double_gt(f[4], 0);
    ck_assert_double_eq_tol(f[5], f[4] * 39 / 79, 1e-14);
    ck_assert_double_eq_tol(f[7], f[4] * 39 / 299, 1e-14);
}

/* Three experts, two clusters. Cluster 0: experts 0 and 1 with 30 and 10 of 50 picks, cluster 1:
 * expert 2 with all of 40. home = (.8 + 1)/2; even = (exp(H(.75, .25))/2 + 1)/2. */
TEST(spread_by_hand)
{
    struct mixture_end end = {.set = {0, 0, 1}, .chosen = {{30, 0}, {10, 0}, {10, 40}}};
    struct mixture_spread s = mixture_spread(&end, 3, 2);
    double h = -.75 * log(.75) - .25 * log(.25);
    ck_assert_double_eq_tol(s.home, .9, 1e-15);
    ck_assert_double_eq_tol(s.even, (exp(h) / 2 + 1) / 2, 1e-15);
    ck_assert_double_eq(s.served, 1);

    end.set[2] = 0; /* no expert is left for cluster 1 */
    s = mixture_spread(&end, 3, 2);
    ck_assert_double_eq(s.served, .5);
    ck_assert_double_eq(s.home, 1);
}

/* ---- edge computing ---- */

/* One server works tasks off one by one, so every rule does the same, and since no task takes less
 * than two slots all but the first wait. Linear tasks, and images. */
TEST(one_expert_serves_a_line)
{
    enum { TASKS = 80 };
    for (int kind = 0; kind < 2; kind++) {
        struct mixture_end first = {0};
        for (int rule = MIXTURE_STOP; rule <= MIXTURE_POWERFUL; rule++) {
            enum mixture_rule by = (enum mixture_rule)rule;
            struct mixture_cfg c =
                kind ? small(true, 1, by) : mixture_default(true, 1, by);
            struct mixture_end end = run_for(c, TASKS, NULL, 5, 1);
            if (rule == MIXTURE_STOP) first = end;
            ck_assert_double_eq(end.error, first.error);
            ck_assert_int_eq(end.waited, TASKS - 1);
        }
        /* task i begins when the i - 1 before it are done: mean wait about (mean delay - 1) T/2 */
        ck_assert_double_eq_tol(first.wait / ((first.delay - 1) * (TASKS - 1) / 2), 1,
                                .1);
    }
}

TEST(rules_choose_by_what_they_say)
{
    double delay[4];
    for (int rule = MIXTURE_STOP; rule <= MIXTURE_POWERFUL; rule++) {
        struct mixture_cfg c = mixture_default(true, 30, (enum mixture_rule)rule);
        struct mixture_end end = run_for(c, 400, NULL, 6, 1);
        ck_assert_int_eq(end.waited, 0);
        delay[rule] = end.delay;
    }
    /* powers 1 to 3 and 0 to 4 slots of the way: the gate looks at neither */
    ck_assert_double_lt(delay[MIXTURE_POWERFUL], delay[MIXTURE_STOP] - .8);
    ck_assert_double_lt(delay[MIXTURE_NEAREST], delay[MIXTURE_STOP] - .5);
}

/* Up to T1 both gates are one, after it the one that stops keeps its sets. */
TEST(the_gate_stops_at_t1)
{
    struct mixture_cfg stop = mixture_default(true, 10, MIXTURE_STOP), on = stop;
    on.rule = MIXTURE_ON;
    const int grid[] = {20, 57, 300}; /* T1 = 57 */
    struct played a = play_at(stop, grid, 3, 7, 2), b = play_at(on, grid, 3, 7, 2);
    ck_assert_double_eq(a.v[MIXTURE_ERROR][0], b.v[MIXTURE_ERROR][0]);
    ck_assert_double_eq(a.v[MIXTURE_ERROR][1], b.v[MIXTURE_ERROR][1]);
    ck_assert_double_ne(a.v[MIXTURE_ERROR][2], b.v[MIXTURE_ERROR][2]);

    struct mixture_end early = run_for(stop, 57, NULL, 7, 2);
    ck_assert_mem_eq(early.set, a.end.set, sizeof a.end.set);
    ck_assert(memcmp(a.end.set, b.end.set, sizeof a.end.set) != 0);
}

/* Without signal, routing blind to the tasks: G - its expectation given the L^(m), over
 * repetitions with one pool. The printed form fails the same test. */
TEST(proposition_nine_needs_its_factor)
{
    enum { REPS = 300 };
    for (int rule = MIXTURE_NEAREST; rule <= MIXTURE_POWERFUL; rule++) {
        struct mixture_cfg c = mixture_default(true, 10, (enum mixture_rule)rule);
        c.task.signal = false;
        struct task_pool pool;
        mixture_pool(&pool, &c, 1, 0);
        double sum[2] = {0}, squares[2] = {0};
        for (int i = 0; i < REPS; i++) {
            struct mixture_end e = run_for(c, 100, &pool, 8, i);
            double off[2] = {e.error - e.exact, e.error - e.printed};
            for (int k = 0; k < 2; k++) {
                sum[k] += off[k] / REPS;
                squares[k] += off[k] * off[k] / REPS;
            }
        }
        double z[2];
        for (int k = 0; k < 2; k++)
            z[k] = fabs(sum[k]) / sqrt((squares[k] - sum[k] * sum[k]) / (REPS - 1));
        ck_assert_double_le(z[0], 4);
        ck_assert_double_gt(z[1], 8);
    }
}

/* ---- images ---- */

static const int IMAGE_GRID[] = {2, 20, 40, 80};
enum { IMAGE_POINTS = 4, LAST = IMAGE_POINTS - 1 };

TEST(the_same_again)
{
    for (int edge = 0; edge < 2; edge++) {
        struct mixture_cfg c = small(edge, 4, MIXTURE_STOP);
        struct played a = play_at(c, IMAGE_GRID, IMAGE_POINTS, 1, 0),
                      b = play_at(c, IMAGE_GRID, IMAGE_POINTS, 1, 0),
                      other = play_at(c, IMAGE_GRID, IMAGE_POINTS, 1, 1);
        for (int i = 0; i < MIXTURE_SERIES; i++)
            for (int p = 0; p < IMAGE_POINTS; p++)
                ck_assert(a.v[i][p] == b.v[i][p] ||
                          (isnan(a.v[i][p]) && isnan(b.v[i][p])));
        ck_assert_double_eq(a.end.error, b.end.error);
        ck_assert_double_ne(a.end.sigma0, other.end.sigma0);
    }
}

/* One gate that may not stop and one that may meet the same rounds until it does, and the stopped
 * one stays. */
TEST(termination_on_images)
{
    struct played stop =
        play_at(small(false, 4, MIXTURE_STOP), IMAGE_GRID, IMAGE_POINTS, 1, 0);
    struct played on =
        play_at(small(false, 4, MIXTURE_ON), IMAGE_GRID, IMAGE_POINTS, 1, 0);
    int t1 = (int)ceil(4 / sqrt(stop.end.sigma0));
    ck_assert_int_eq(stop.end.t1, t1);
    ck_assert_int_gt(stop.end.stopped, t1);
    ck_assert_int_le(stop.end.stopped, IMAGE_GRID[LAST]);
    ck_assert_int_eq(on.end.stopped, 0);
    ck_assert_double_eq(stop.v[MIXTURE_RUNNING][LAST], 0);
    ck_assert_double_eq(on.v[MIXTURE_RUNNING][LAST], 1);
    for (int p = 0; IMAGE_GRID[p] < stop.end.stopped; p++)
        ck_assert_double_eq(stop.v[MIXTURE_ERROR][p], on.v[MIXTURE_ERROR][p]);
    ck_assert_double_ne(stop.v[MIXTURE_ERROR][LAST], on.v[MIXTURE_ERROR][LAST]);
}

/* Errors are shares; one expert that meets contradicting tasks forgets, and one that meets tasks
 * with common names does not. */
TEST(one_expert_on_images)
{
    struct mixture_cfg c = small(false, 1, MIXTURE_STOP);
    c.digits.each = 10;
    struct played own = play_at(c, IMAGE_GRID, IMAGE_POINTS, 1, 0);
    c.digits.own_names = false;
    struct played common = play_at(c, IMAGE_GRID, IMAGE_POINTS, 1, 0);
    ck_assert_double_gt(own.v[MIXTURE_FORGOT][LAST], .3);
    ck_assert_double_gt(own.v[MIXTURE_ERROR][LAST], .3);
    ck_assert_double_lt(common.v[MIXTURE_ERROR][LAST], .1);
    ck_assert_double_lt(common.v[MIXTURE_FORGOT][LAST], .05);
    ck_assert(isnan(own.v[MIXTURE_HOME][LAST]));
    ck_assert_double_gt(own.v[MIXTURE_STEP][LAST], common.v[MIXTURE_STEP][LAST]);
    for (int p = 0; p < IMAGE_POINTS; p++) {
        ck_assert_double_ge(own.v[MIXTURE_ERROR][p], 0);
        ck_assert_double_le(own.v[MIXTURE_ERROR][p], 1);
    }
}

/* Up to T1 both gates are one; the rules that do not look at the data have no sets. */
TEST(rules_on_images)
{
    static const int grid[] = {10, 40, 150};
    struct played by[4];
    for (int rule = MIXTURE_STOP; rule <= MIXTURE_POWERFUL; rule++)
        by[rule] = play_at(small(true, 5, (enum mixture_rule)rule), grid, 3, 1, 3);
    const struct played *stop = &by[MIXTURE_STOP], *on = &by[MIXTURE_ON];
    ck_assert_double_eq(stop->v[MIXTURE_ERROR][0], on->v[MIXTURE_ERROR][0]);
    ck_assert_double_ne(stop->v[MIXTURE_ERROR][2], on->v[MIXTURE_ERROR][2]);
    ck_assert(isnan(by[MIXTURE_NEAREST].v[MIXTURE_HOME][2]));
    ck_assert(isnan(by[MIXTURE_POWERFUL].v[MIXTURE_READY][2]));
    ck_assert(!isnan(stop->v[MIXTURE_HOME][2]) && !isnan(stop->v[MIXTURE_READY][2]));
    ck_assert_double_lt(by[MIXTURE_POWERFUL].end.delay, stop->end.delay);
    ck_assert_double_lt(by[MIXTURE_NEAREST].end.delay, stop->end.delay);
    for (int p = 0; p < 3; p++) {
        ck_assert_double_ge(stop->v[MIXTURE_ERROR][p], 0);
        ck_assert_double_le(stop->v[MIXTURE_ERROR][p], 1);
    }
}

/* ---- */

static void *run_once(void *ctx, struct err *e)
{
    struct mixture_cfg c = mixture_default(true, 5, MIXTURE_STOP);
    const struct mixture_to nothing = {.series = MIXTURE_CORE};
    c.rounds = 10;
    return mixture_run(ctx, &nothing, &c, NULL, 1, 0, e) ? NULL : ctx;
}

static void keep(void *made)
{
    (void)made;
}

TEST(without_memory_it_says_so)
{
    struct mixture_end end;
    ck_assert_int_eq(alloc_each_fails(run_once, keep, &end), 2);
}

SUITE_SET_UP(lab_forgetting_mixture, 0, setup, teardown, continual_setting_by_hand,
             edge_setting_by_hand, image_gate_by_hand, norms_count_the_tasks_own_part,
             one_expert_is_a_plain_loop, the_core_alone_is_the_same,
             termination_is_a_latch, sets_and_their_sizes,
             the_theorem_is_drawn_as_printed, spread_by_hand, one_expert_serves_a_line,
             rules_choose_by_what_they_say, the_gate_stops_at_t1,
             proposition_nine_needs_its_factor, the_same_again, termination_on_images,
             one_expert_on_images, rules_on_images, without_memory_it_says_so);

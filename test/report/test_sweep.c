#include "report/sweep.h"

#include "base/rng.h"
#include "base/text.h"
#include "support/alloc.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 9, VALUES = 50 };

static struct sweep_run runs[N];
static char names[N][16], configs[N][32];

static void list_runs(int variant)
{
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "run-%d", i);
        snprintf(configs[i], sizeof configs[i], "variant=%d seed=%d", variant, i);
        runs[i] = (struct sweep_run){names[i], configs[i]};
    }
}

/* What happens within the runs of one test. */
struct scene {
    atomic_int calls;
    int stop_at;        /* of progress, in calls; 0 = never */
    int progress_calls; /* never in two threads at once */
    int fails[2];       /* these runs fail; 0 = none */
    double last;        /* share */
    bool fell;          /* it became less */
    char running[96];
};

static int one(void *ctx, int i, struct sweep_job *job, struct err *e)
{
    struct scene *s = ctx;
    atomic_fetch_add(&s->calls, 1);
    struct rng r;
    rng_init(&r, 7, (uint64_t)i);
    for (int k = 0; k < VALUES; k++) {
        double v = rng_uniform(&r);
        sweep_put(job, &v, sizeof v);
        if (sweep_tick(job, (k + 1.) / VALUES)) return SWEEP_STOPPED;
    }
    if (i && (i == s->fails[0] || i == s->fails[1]))
        return err_field(e, ERR_NUMERIC, "loss", "is not finite at step %d", i);
    return 0;
}

static bool on_progress(void *ctx, const struct sweep_progress *p)
{
    struct scene *s = ctx;
    s->progress_calls++;
    s->fell |= p->share < s->last - 1e-12;
    s->last = p->share;
    if (*p->running) memcpy(s->running, p->running, sizeof s->running);
    ck_assert_int_eq(p->n, N);
    return s->stop_at && s->progress_calls >= s->stop_at;
}

static struct sweep_cfg cfg_of(const char *dir, int threads, struct scene *s)
{
    return (struct sweep_cfg){.dir = dir,
                              .version = "1",
                              .threads = threads,
                              .progress = on_progress,
                              .progress_ctx = s};
}

static struct sweep *begin(const struct sweep_cfg *cfg)
{
    struct err e = {0};
    struct sweep *s = sweep_new(cfg, runs, N, &e);
    ck_assert_msg(s != NULL, "%s: %s", e.field, e.detail);
    return s;
}

static int go(struct sweep *s, struct scene *scene)
{
    struct err e = {0};
    return sweep_go(s, one, scene, &e);
}

static void expect_results(const struct sweep *s)
{
    for (int i = 0; i < N; i++) {
        size_t bytes;
        const double *v = sweep_result(s, i, &bytes);
        ck_assert_uint_eq(bytes, VALUES * sizeof *v);
        struct rng r;
        rng_init(&r, 7, (uint64_t)i);
        for (int k = 0; k < VALUES; k++)
            ck_assert_double_eq(v[k], rng_uniform(&r));
    }
}

TEST(results_do_not_depend_on_threads)
{
    static const int threads[] = {1, 2, 8};
    list_runs(0);
    struct scene scene = {0};
    struct sweep_cfg cfg = cfg_of(NULL, threads[_i], &scene);
    struct sweep *s = begin(&cfg);
    ck_assert_int_eq(go(s, &scene), 0);
    ck_assert_int_eq(scene.calls, N);
    expect_results(s);
    sweep_free(s);
}

TEST(progress_grows_to_the_end)
{
    list_runs(0);
    struct scene scene = {0};
    struct sweep_cfg cfg = cfg_of(NULL, 1, &scene);
    struct sweep *s = begin(&cfg);
    ck_assert_int_eq(go(s, &scene), 0);
    ck_assert(!scene.fell);
    ck_assert_double_eq_tol(scene.last, 1, 1e-12);
    ck_assert_str_eq(scene.running, "run-8");
    sweep_free(s);
}

TEST(a_stopped_sweep_goes_on)
{
    const char *dir = tmpdir_new();
    list_runs(0);
    struct scene scene = {.stop_at = 3 * VALUES};
    struct sweep_cfg cfg = cfg_of(dir, 1, &scene);
    struct sweep *s = begin(&cfg);
    ck_assert_int_eq(go(s, &scene), SWEEP_STOPPED);
    int begun = scene.calls; /* 2 ended, the third was stopped */
    ck_assert_int_eq(begun, 3);
    sweep_free(s);

    scene = (struct scene){0};
    cfg.threads = 2;
    s = begin(&cfg);
    ck_assert_int_eq(sweep_kept(s), 2);
    ck_assert_int_eq(sweep_redo(s, NULL), 0);
    ck_assert_int_eq(go(s, &scene), 0);
    ck_assert_int_eq(scene.calls, N - 2);
    expect_results(s);
    sweep_free(s);

    scene = (struct scene){0};
    s = begin(&cfg);
    ck_assert_int_eq(sweep_kept(s), N);
    ck_assert_int_eq(go(s, &scene), 0);
    ck_assert_int_eq(scene.calls, 0);
    expect_results(s);
    sweep_free(s);
}

static void finish(const char *dir)
{
    struct scene scene = {0};
    struct sweep_cfg cfg = cfg_of(dir, 1, &scene);
    struct sweep *s = begin(&cfg);
    ck_assert_int_eq(go(s, &scene), 0);
    sweep_free(s);
}

/* Reads the folder again: n runs do not fit, the first says `why`, and are right afterwards. */
static void expect_redo(const char *dir, const char *version, int n, const char *why)
{
    struct scene scene = {0};
    struct sweep_cfg cfg = cfg_of(dir, 1, &scene);
    cfg.version = version;
    struct sweep *s = begin(&cfg);
    const char *said;
    ck_assert_int_eq(sweep_redo(s, &said), n);
    ck_assert_msg(strstr(said, why) != NULL, "%s", said);
    ck_assert_int_eq(sweep_kept(s), N - n);
    ck_assert_int_eq(go(s, &scene), 0);
    ck_assert_int_eq(scene.calls, n);
    expect_results(s);
    sweep_free(s);
}

TEST(another_configuration_is_done_again)
{
    const char *dir = tmpdir_new();
    list_runs(0);
    finish(dir);
    list_runs(1);
    expect_redo(dir, "1", N, "run-0.run is of another configuration");
    expect_redo(dir, "2", N, "of another configuration or version");
    snprintf(configs[4], sizeof configs[4], "changed");
    expect_redo(dir, "2", 1, "run-4.run");
}

/* Every file that a crash or a hand could leave: cut anywhere, a bit changed anywhere. */
TEST(a_torn_file_is_done_again)
{
    const char *dir = tmpdir_new();
    list_runs(0);
    finish(dir);
    const char *path = tmpdir_path(dir, "run-3.run");
    struct err e = {0};
    size_t n;
    char *whole = text_read_file(path, 1 << 20, &n, &e);
    for (size_t cut = 0; cut < n; cut += cut < 100 ? 7 : 41) {
        ck_assert_int_eq(text_write_file(path, whole, cut, &e), 0);
        expect_redo(dir, "1", 1, "torn");
    }
    for (size_t at = 0; at < n; at += at < 100 ? 5 : 37) {
        whole[at] ^= 4;
        ck_assert_int_eq(text_write_file(path, whole, n, &e), 0);
        expect_redo(dir, "1", 1, "run-3.run");
        whole[at] ^= 4;
    }
    free(whole);
}

TEST(the_lowest_failure_is_told)
{
    static const int threads[] = {1, 2};
    list_runs(0);
    struct scene scene = {.fails = {3, 8}};
    struct sweep_cfg cfg = cfg_of(NULL, threads[_i], &scene);
    struct sweep *s = begin(&cfg);
    struct err e = {0};
    ck_assert_int_eq(sweep_go(s, one, &scene, &e), ERR_NUMERIC);
    ck_assert_str_eq(e.field, "run-3");
    ck_assert_str_eq(e.detail, "loss: is not finite at step 3");
    /* the rest was not begun; by another thread it may be, before this one fails */
    if (threads[_i] == 1) ck_assert_int_eq(scene.calls, 4);
    sweep_free(s);
}

TEST(names_are_names_of_files)
{
    static const char *const bad[] = {"", "a/b", "..", ".run", "a b"};
    struct scene scene = {0};
    struct sweep_cfg cfg = cfg_of(NULL, 1, &scene);
    for (int i = 0; i < 5; i++) {
        struct sweep_run r = {bad[i], "c"};
        struct err e = {0};
        ck_assert_ptr_null(sweep_new(&cfg, &r, 1, &e));
        ck_assert_int_eq(e.code, ERR_INVALID);
    }
    struct sweep_run twice[] = {{"a", "1"}, {"b", "1"}, {"a", "2"}};
    struct err e = {0};
    ck_assert_ptr_null(sweep_new(&cfg, twice, 3, &e));
    ck_assert_str_eq(e.field, "a");
    struct sweep_run lines = {"a", "1\n2"};
    e = (struct err){0};
    ck_assert_ptr_null(sweep_new(&cfg, &lines, 1, &e));
    ck_assert_int_eq(e.code, ERR_INVALID);
}

TEST(a_folder_that_is_not_there)
{
    list_runs(0);
    struct scene scene = {0};
    struct sweep_cfg cfg = cfg_of("/nowhere/at/all", 1, &scene);
    struct sweep *s = begin(&cfg);
    struct err e = {0};
    ck_assert_int_eq(sweep_go(s, one, &scene, &e), ERR_IO);
    ck_assert_str_eq(e.field, "run-0");
    sweep_free(s);
}

static void *make(void *ctx, struct err *e)
{
    return sweep_new(ctx, runs, N, e);
}

static void destroy(void *s)
{
    sweep_free(s);
}

TEST(allocations_may_fail)
{
    const char *dir = tmpdir_new();
    list_runs(0);
    finish(dir);
    struct scene scene = {0};
    struct sweep_cfg cfg = cfg_of(dir, 1, &scene);
    ck_assert_int_ge(alloc_each_fails(make, destroy, &cfg), 4);
}

SUITE(report_sweep, TIMES(results_do_not_depend_on_threads, 3), progress_grows_to_the_end,
      a_stopped_sweep_goes_on, another_configuration_is_done_again,
      a_torn_file_is_done_again, TIMES(the_lowest_failure_is_told, 2),
      names_are_names_of_files, a_folder_that_is_not_there, allocations_may_fail);

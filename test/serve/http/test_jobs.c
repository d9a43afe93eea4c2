#include "serve/http/jobs.h"

#include <check.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "support/alloc.h"
#include "support/suites.h"

enum { WORKS = 4 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool shut;
    int begun, freed; /* of all */
    char order[WORKS + 1];
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static char name[WORKS][2] = {"a", "b", "c", "d"};

static void work_run(void *self)
{
    pthread_mutex_lock(&gate.lock);
    gate.order[gate.begun++] = *(char *)self;
    pthread_cond_broadcast(&gate.changed);
    while (gate.shut)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static void work_free(void *self)
{
    (void)self;
    pthread_mutex_lock(&gate.lock);
    gate.freed++;
    pthread_mutex_unlock(&gate.lock);
}

static void gate_set(bool shut)
{
    pthread_mutex_lock(&gate.lock);
    gate.shut = shut;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

static void gate_await(int begun)
{
    pthread_mutex_lock(&gate.lock);
    while (gate.begun < begun)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static void *begin(struct jobs *j, int i, int bell, struct err *e)
{
    struct jobs_work w = {work_run, work_free, name[i], bell};
    return jobs_begin(j, &w, e);
}

TEST(they_run_one_by_one_and_ring)
{
    int bell = eventfd(0, 0); /* blocks until it is rung */
    eventfd_t rung;
    struct jobs *j = jobs_new(WORKS, NULL);
    gate_set(true);
    void *job[3];
    for (int i = 0; i < 3; i++)
        job[i] = begin(j, i, bell, NULL);
    gate_await(1);
    for (int i = 0; i < 3; i++)
        ck_assert(!jobs_ready(job[i]));
    gate_set(false);
    while (!jobs_ready(job[2]))
        ck_assert_int_eq(eventfd_read(bell, &rung), 0);
    for (int i = 0; i < 3; i++) {
        ck_assert(jobs_ready(job[i]));
        ck_assert_ptr_eq(jobs_result(job[i]), name[i]);
        ck_assert_int_eq(gate.freed, i);
        jobs_drop(job[i]);
    }
    jobs_free(j);
    ck_assert_str_eq(gate.order, "abc");
    ck_assert_int_eq(gate.freed, 3);
    close(bell);
}

/* A running and a waiting job: both are finished, and no eventfd is written. */
TEST(a_dropped_job_is_finished)
{
    int bell = eventfd(0, EFD_NONBLOCK);
    eventfd_t rung;
    struct jobs *j = jobs_new(WORKS, NULL);
    gate_set(true);
    void *runs = begin(j, 0, bell, NULL), *waits = begin(j, 1, bell, NULL);
    gate_await(1);
    jobs_drop(runs);
    jobs_drop(waits);
    ck_assert_int_eq(gate.freed, 0);
    gate_set(false);
    gate_await(2);
    jobs_free(j);
    ck_assert_int_eq(gate.freed, 2);
    ck_assert_int_eq(eventfd_read(bell, &rung), -1);
    close(bell);
}

TEST(more_than_max_are_refused)
{
    struct err e = {0};
    struct jobs *j = jobs_new(2, NULL);
    gate_set(true);
    void *a = begin(j, 0, -1, NULL), *b = begin(j, 1, -1, NULL);
    ck_assert_ptr_null(begin(j, 2, -1, &e));
    ck_assert_int_eq(e.code, ERR_FULL);
    ck_assert_int_eq(gate.freed, 1); /* it was taken */
    gate_set(false);
    gate_await(2);
    jobs_drop(a);
    jobs_drop(b);
    jobs_free(j);
    ck_assert_int_eq(gate.freed, 3);
}

TEST(a_job_that_waits_at_the_stop_is_not_run)
{
    int bell = eventfd(0, 0);
    eventfd_t rung;
    struct err e = {0};
    struct jobs *j = jobs_new(WORKS, NULL);
    gate_set(true);
    void *runs = begin(j, 0, -1, NULL);
    gate_await(1);
    void *waits = begin(j, 1, bell, NULL);
    jobs_drop(begin(j, 2, -1, NULL)); /* no client waits for this one */
    jobs_stop(j);
    ck_assert_int_eq(eventfd_read(bell, &rung), 0);
    ck_assert(jobs_ready(waits));
    ck_assert_ptr_null(jobs_result(waits));
    ck_assert(!jobs_ready(runs));
    ck_assert_int_eq(gate.freed, 1);
    ck_assert_ptr_null(begin(j, 3, -1, &e));
    ck_assert_str_eq(e.detail, "the daemon is stopping");
    gate_set(false);
    jobs_drop(waits);
    jobs_drop(runs);
    jobs_free(j);
    ck_assert_str_eq(gate.order, "a");
    ck_assert_int_eq(gate.freed, 4);
    close(bell);
}

static void *make_one(void *ctx, struct err *e)
{
    (void)ctx;
    return jobs_new(1, e);
}

static void destroy(void *made)
{
    jobs_free(made);
}

TEST(memory_may_run_out)
{
    ck_assert_int_ge(alloc_each_fails(make_one, destroy, NULL), 1);
}

SUITE(serve_http_jobs, they_run_one_by_one_and_ring, a_dropped_job_is_finished,
      more_than_max_are_refused, a_job_that_waits_at_the_stop_is_not_run,
      memory_may_run_out);

#include "serve/http/jobs.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

enum job_state { JOB_WAITS, JOB_RUNS, JOB_DONE, JOB_REFUSED };

struct job {
    struct jobs *jobs;
    struct jobs_work work;
    enum job_state state;
    bool dropped;
    struct job *next;
};

struct jobs {
    pthread_t thread;
    pthread_mutex_t lock; /* guards the members below and the jobs */
    pthread_cond_t work;
    struct job *first, **last; /* queue of waiting jobs */
    int n, max;                /* n: waiting and running */
    bool stopping;
};

static void job_free(struct job *k)
{
    k->work.free(k->work.self);
    free(k);
}

/* The lock is held. True: the job was dropped, so the caller frees it. */
static bool job_over(struct job *k, enum job_state state)
{
    k->state = state;
    k->jobs->n--;
    if (k->work.bell >= 0) (void)!eventfd_write(k->work.bell, 1); /* full: it wakes too */
    return k->dropped;
}

/* The lock is held. */
static struct job *job_next(struct jobs *j)
{
    struct job *k = j->first;
    j->first = k->next;
    if (!j->first) j->last = &j->first;
    return k;
}

static void *jobs_main(void *ctx)
{
    struct jobs *j = ctx;
    pthread_mutex_lock(&j->lock);
    for (;;) {
        while (!j->first && !j->stopping)
            pthread_cond_wait(&j->work, &j->lock);
        if (!j->first) break;
        struct job *k = job_next(j);
        k->state = JOB_RUNS;
        pthread_mutex_unlock(&j->lock);
        k->work.run(k->work.self);
        pthread_mutex_lock(&j->lock);
        bool mine = job_over(k, JOB_DONE);
        if (!mine) continue;
        pthread_mutex_unlock(&j->lock);
        job_free(k);
        pthread_mutex_lock(&j->lock);
    }
    pthread_mutex_unlock(&j->lock);
    return NULL;
}

struct jobs *jobs_new(int max, struct err *e)
{
    struct jobs *j = calloc(1, sizeof *j);
    if (!j) {
        err_set(e, ERR_MEMORY, "no memory for slow requests");
        return NULL;
    }
    j->max = max;
    j->last = &j->first;
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->work, NULL);
    int rc = pthread_create(&j->thread, NULL, jobs_main, j);
    if (rc) {
        err_set(e, ERR_IO, "no thread for slow requests: %s", strerror(rc));
        pthread_cond_destroy(&j->work);
        pthread_mutex_destroy(&j->lock);
        free(j);
        return NULL;
    }
    pthread_setname_np(j->thread, "jobs");
    return j;
}

void jobs_stop(struct jobs *j)
{
    struct job *dropped = NULL;
    pthread_mutex_lock(&j->lock);
    j->stopping = true;
    while (j->first) {
        struct job *k = job_next(j);
        if (!job_over(k, JOB_REFUSED)) continue;
        k->next = dropped;
        dropped = k;
    }
    pthread_cond_signal(&j->work);
    pthread_mutex_unlock(&j->lock);
    while (dropped) {
        struct job *k = dropped;
        dropped = k->next;
        job_free(k);
    }
}

void jobs_free(struct jobs *j)
{
    if (!j) return;
    jobs_stop(j);
    pthread_join(j->thread, NULL);
    assert(j->n == 0);
    pthread_cond_destroy(&j->work);
    pthread_mutex_destroy(&j->lock);
    free(j);
}

void *jobs_begin(struct jobs *j, const struct jobs_work *work, struct err *e)
{
    struct job *k = calloc(1, sizeof *k);
    if (!k) {
        work->free(work->self);
        err_set(e, ERR_MEMORY, "no memory for a slow request");
        return NULL;
    }
    *k = (struct job){.jobs = j, .work = *work};
    pthread_mutex_lock(&j->lock);
    bool stopping = j->stopping, taken = !stopping && j->n < j->max;
    if (taken) {
        *j->last = k;
        j->last = &k->next;
        j->n++;
        pthread_cond_signal(&j->work);
    }
    pthread_mutex_unlock(&j->lock);
    if (taken) return k;
    job_free(k);
    if (stopping)
        err_set(e, ERR_FULL, "the daemon is stopping");
    else
        err_set(e, ERR_FULL, "%d changes are waiting: try again", j->max);
    return NULL;
}

bool jobs_ready(void *job)
{
    struct job *k = job;
    pthread_mutex_lock(&k->jobs->lock);
    bool over = k->state >= JOB_DONE;
    pthread_mutex_unlock(&k->jobs->lock);
    return over;
}

void *jobs_result(void *job)
{
    struct job *k = job;
    pthread_mutex_lock(&k->jobs->lock);
    enum job_state state = k->state;
    pthread_mutex_unlock(&k->jobs->lock);
    assert(state >= JOB_DONE);
    return state == JOB_DONE ? k->work.self : NULL;
}

void jobs_drop(void *job)
{
    struct job *k = job;
    pthread_mutex_lock(&k->jobs->lock);
    k->dropped = true;
    k->work.bell = -1;
    bool over = k->state >= JOB_DONE;
    pthread_mutex_unlock(&k->jobs->lock);
    if (over) job_free(k);
}

#include "serve/http/worker.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"

struct worker {
    pthread_t thread;
    int wake; /* eventfd: written by worker_quit, worker_wake, jobs, histories and origin */
    _Atomic bool quit;
    _Atomic uint64_t turns;
    double grace_s;
    struct http *http;
    struct api api;
};

static void count_connections(struct worker *w)
{
    struct http_stats s = http_stats(w->http);
    metrics_connections(w->api.shared->metrics, w->api.worker, &s);
}

static void *run(void *ctx)
{
    struct worker *w = ctx;
    while (!w->quit) {
        http_step(w->http, w->wake, 1000);
        count_connections(w);
        w->turns++;
    }

    http_quiesce(w->http);
    double until = clock_mono() + w->grace_s;
    struct http_stats s = http_stats(w->http);
    while (s.requests > s.endless && clock_mono() < until) {
        http_step(w->http, w->wake, 10);
        s = http_stats(w->http);
    }
    http_free(w->http);
    w->http = NULL;
    return NULL;
}

static void release(struct worker *w)
{
    http_free(w->http);
    api_clear(&w->api);
    if (w->wake >= 0) close(w->wake);
    free(w);
}

struct worker *worker_start(const struct http_cfg *cfg, int listen_fd,
                            struct api_shared *shared, int index, double grace_s,
                            struct err *e)
{
    struct worker *w = calloc(1, sizeof *w);
    if (!w) {
        err_set(e, ERR_MEMORY, "no memory for a worker");
        return NULL;
    }
    w->grace_s = grace_s;
    w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->wake < 0) {
        err_set(e, ERR_IO, "eventfd: %s", strerror(errno));
        goto fail;
    }
    if (api_init(&w->api, shared, index, w->wake, e)) goto fail;
    w->http = http_new(cfg, listen_fd, api_handle, &w->api, e);
    if (!w->http) goto fail;

    int rc = pthread_create(&w->thread, NULL, run, w);
    if (rc) {
        err_set(e, ERR_IO, "a worker thread does not start: %s", strerror(rc));
        goto fail;
    }
    pthread_setname_np(w->thread, "worker");
    return w;
fail:
    release(w);
    return NULL;
}

uint64_t worker_turns(const struct worker *w)
{
    return w->turns;
}

void worker_wake(struct worker *w)
{
    uint64_t one = 1;
    /* an eventfd cannot fail to take one more */
    ssize_t n = write(w->wake, &one, sizeof one);
    assert(n == (ssize_t)sizeof one);
}

void worker_quit(struct worker *w)
{
    w->quit = true;
    worker_wake(w);
}

void worker_join(struct worker *w)
{
    if (!w) return;
    pthread_join(w->thread, NULL);
    release(w);
}

/* Every error answer gets the request's id and a line in the log. */
#include "serve/http/api.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"

#define ID_MAX 64
/* per worker: a flood of refused requests must not fill the disk */
#define LINES_A_SECOND 10

/* Ids of proxies and clients are kept, so that their logs can be joined with ours. */
static bool api_error_id_ok(const char *id)
{
    size_t n = id ? strlen(id) : 0;
    return n >= 1 && n <= ID_MAX &&
           strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                      "._-") == n;
}

/* False if this second has had its lines. */
static bool api_error_may_log(struct api_errors *x, const struct log *log, double now_s)
{
    if (now_s - x->since_s >= 1.0) {
        if (x->unlogged)
            log_event(log, LOG_INFO, "errors", "%d more error answers were not logged",
                      x->unlogged);
        x->since_s = now_s;
        x->logged = x->unlogged = 0;
    }
    if (x->logged < LINES_A_SECOND) {
        x->logged++;
        return true;
    }
    x->unlogged++;
    return false;
}

static void api_error_log(const struct api_shared *sh, const struct http_request *q,
                          const char *path, const struct reply *r, const char *id)
{
    struct admit_client client;
    char from[ADDR_TEXT] = "-";
    admit_client(&client, sh->admit, q);
    if (client.known) addr_text(from, &client.addr);
    /* the body is JSON with the error; its last byte is a newline */
    bool json = r->kind == REPLY_OWNED && r->n > 0;
    log_event(sh->log, r->status >= 500 ? LOG_WARN : LOG_INFO, "error",
              "%d %s %s from %s, request %s%s%.*s", r->status,
              http_method_name(q->method), path, from, id, json ? ": " : "",
              json ? (int)r->n - 1 : 0, json ? (const char *)r->data : "");
}

void api_turned_away(void *ctx, const struct addr *peer)
{
    struct api *a = ctx;
    char from[ADDR_TEXT];
    if (!api_error_may_log(&a->errors, a->shared->log, clock_mono())) return;
    addr_text(from, peer);
    log_event(a->shared->log, LOG_WARN, "connections",
              "closed a connection from %s: the address reached --address-connections",
              from);
}

void api_error(struct api *a, const struct http_request *q, const char *path,
               struct reply *r, double now_s)
{
    struct api_errors *x = &a->errors;
    char made[17];
    const char *id = http_header(q, "X-Request-Id");
    if (!api_error_id_ok(id)) {
        snprintf(made, sizeof made, "%016" PRIx64,
                 rng_u64_at(a->shared->secret, (uint64_t)a->worker, x->count++));
        id = made;
    }
    if (api_error_may_log(x, a->shared->log, now_s))
        api_error_log(a->shared, q, path, r, id);
    reply_error_id(r, id);
    reply_header(r, "X-Request-Id", "%s", id);
}

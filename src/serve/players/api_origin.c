/* Media of other servers, handed on (origin.h): first the question, and when the origin has
 * answered, the answer. */
#include "serve/players/api_players.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/players/contents.h"

enum { POLL_MS = 1000 }; /* the bell rings before */

/* The player's own words, for what can be asked of an origin. */
static void copy_asked(struct origin_question *asked, const struct http_request *q)
{
    for (int i = 0; i < ORIGIN_ASKED; i++) {
        const char *value = http_header(q, origin_asked_name[i]);
        if (value && strlen(value) < ORIGIN_VALUE) strcpy(asked->asked[i], value);
    }
}

/* NULL when there is no place for it: with e, or with the reply when the address has its share. */
static struct origin_transfer *origin_begin_one(struct api *a,
                                                const struct http_request *q,
                                                struct origin_question *asked,
                                                struct reply *r, struct err *e)
{
    const struct players *players = players_of(a);
    struct admit_client client;
    admit_client(&client, a->shared->admit, q);
    asked->who = client.addr;
    asked->held = client.limited ? players->fetching : NULL;
    if (asked->held &&
        !occupancy_take(asked->held, &asked->who, players->transfers_each)) {
        reply_fail(
            r, 429, "",
            "this address already has %d requests to origins in progress, its limit",
            players->transfers_each);
        reply_constant(r, "Retry-After", "1");
        return NULL;
    }
    struct origin_transfer *t = origin_begin(players->origin, asked, e);
    if (!t && asked->held) occupancy_give(asked->held, &asked->who);
    return t;
}

static void ask(struct api *a, const struct http_request *q, const struct route_params *p,
                struct reply *r)
{
    struct origin *o = players_of(a)->origin;
    const struct origins *names = o ? origin_names(o) : NULL;
    struct err e = {0};
    const char *name = route_param(p, "origin");
    int at = names ? origins_find(names, name) : -1;
    if (at < 0) {
        reply_fail(r, 404, "origin",
                   "there is no origin '%.40s'; the daemon is given them with --origin "
                   "NAME=URL",
                   name);
        return;
    }
    struct origin_question *asked = calloc(1, sizeof *asked);
    if (!asked) {
        reply_fail(r, 503, "", "no memory for a transfer");
        return;
    }
    asked->origin = at;
    asked->head = q->method == HTTP_HEAD;
    asked->bell = a->bell;
    copy_asked(asked, q);

    /* as it was sent: what a decoded path means is the origin's business */
    const char *path = strchr(q->path + strlen("/o/"), '/') + 1;
    char query[ORIGINS_TARGET];
    struct origin_transfer *t = NULL;
    if (!http_query_text(query, sizeof query, q, "CMCD"))
        err_field(&e, ERR_RANGE, "query", "is over %zu bytes", sizeof query - 1);
    else if (!origins_target(asked->target, sizeof asked->target, names->at[at].url, path,
                             query, &e))
        t = origin_begin_one(a, q, asked, r, &e);
    free(asked);
    if (t)
        reply_wait(r, &(struct reply_wait){origin_ready, origin_drop, t});
    else if (e.code)
        reply_err(r, &e);
}

/* Of what the origin told, that which is for players; never cookies, nor what it lets pages do. */
static void pass_headers(struct reply *r, const struct origin_head *h)
{
    for (int i = 0; i < ORIGIN_TOLD; i++)
        if (h->told[i][0] && i != ORIGIN_RETRY_AFTER)
            reply_header(r, origin_told_name[i], "%s", h->told[i]);
}

/* Of 401 and 407 the player would think that they were about our own token. */
static int status_of(const struct origin_head *h)
{
    if (h->fault) return h->fault == ORIGIN_SILENT ? 504 : 502;
    switch (h->status) {
    case 401:
    case 403:
    case 407:
    case 451:
        return 403;
    case 404:
    case 410:
        return 404;
    case 416:
        return 416;
    case 429:
    case 503:
        return 503;
    default:
        return 502;
    }
}

static void fail(struct reply *r, const char *name, const struct origin_head *h)
{
    int status = status_of(h);
    if (h->fault)
        reply_fail(r, status, "", "the origin '%s' %s", name,
                   origin_fault_text(h->fault));
    else
        reply_fail(r, status, "", "the origin '%s' answered %d", name, h->status);
    if (status == 416 && h->told[ORIGIN_CONTENT_RANGE][0])
        reply_header(r, "Content-Range", "%s", h->told[ORIGIN_CONTENT_RANGE]);
    if (status == 503 && h->told[ORIGIN_RETRY_AFTER][0])
        reply_header(r, "Retry-After", "%s", h->told[ORIGIN_RETRY_AFTER]);
}

/* ---- manifests that pass: what they tell is remembered (contents.h) ---- */

/* The reply's stream, and a copy of what passed. */
struct manifest {
    struct reply_stream inner;
    struct contents *contents;
    const struct log *log;
    int64_t left; /* -1: until it ends */
    bool over, read;
    size_t n;
    char path[CONTENTS_PATH];
    char text[CONTENTS_MANIFEST + 1];
};

static void learn(struct manifest *m)
{
    struct err e = {0};
    m->read = true;
    m->text[m->n] = '\0';
    if (m->over)
        err_set(&e, ERR_RANGE, "the manifest is over %zu bytes", CONTENTS_MANIFEST);
    else if (contents_learn(m->contents, m->path, m->text, m->n, &e) >= 0)
        return;
    log_event(m->log, LOG_INFO, "origin", "nobody is steered by %s: %s%s%s", m->path,
              e.field, *e.field ? ": " : "", e.detail);
}

static ssize_t manifest_pull(void *self, char *buf, size_t max)
{
    struct manifest *m = self;
    ssize_t n = m->inner.pull(m->inner.self, buf, max);
    if (n > 0) {
        m->over |= (size_t)n > CONTENTS_MANIFEST - m->n;
        if (!m->over) {
            memcpy(m->text + m->n, buf, (size_t)n);
            m->n += (size_t)n;
        }
        if (m->left >= 0) m->left -= n;
    }
    if (!m->read && (m->left == 0 || n == REPLY_END)) learn(m);
    return n;
}

static void manifest_done(void *self)
{
    struct manifest *m = self;
    m->inner.done(m->inner.self);
    free(m);
}

static bool is_manifest(const struct origin_head *h, const char *path)
{
    size_t n = strlen(path);
    return h->status == 200 && !h->told[ORIGIN_ENCODING][0] &&
           (strstr(h->told[ORIGIN_TYPE], "dash+xml") ||
            (n > 4 && strcmp(path + n - 4, ".mpd") == 0));
}

static void read_manifest(struct reply *r, struct api *a, const char *path)
{
    if (strlen(path) >= CONTENTS_PATH) return;
    struct manifest *m = malloc(sizeof *m);
    if (!m) return;
    m->inner = r->stream;
    m->contents = players_of(a)->contents;
    m->log = a->shared->log;
    m->left = r->stream.length;
    m->over = m->read = false;
    m->n = 0;
    snprintf(m->path, sizeof m->path, "%s", path);
    r->stream.pull = manifest_pull;
    r->stream.done = manifest_done;
    r->stream.self = m;
}

static void origin_answer(struct api *a, const struct http_request *q,
                          const struct route_params *p, struct reply *r)
{
    struct origin_transfer *t = q->waited;
    const struct origin_head *h = origin_head(t);
    bool sound = !h->fault && (h->status == 200 || h->status == 203 || h->status == 206);
    bool empty = !h->fault && (h->status == 204 || h->status == 304);
    const char *path = q->path + strlen("/o/");
    if (empty) {
        reply_empty(r, h->status);
        pass_headers(r, h);
    } else if (sound) {
        struct reply_stream stream = {origin_pull, origin_drop, t,
                                      POLL_MS,     h->length,   false};
        reply_stream(r, h->status, "application/octet-stream", &stream);
        pass_headers(r, h);
        if (is_manifest(h, path) && q->method == HTTP_GET)
            read_manifest(r, a, path);
        else
            api_cmcd_origin(a, q, path, r);
    } else {
        fail(r, route_param(p, "origin"), h);
    }
    /* whatever it sends, it is no page of ours */
    reply_constant(r, "Content-Security-Policy", "sandbox");
    if (!sound) origin_drop(t);
}

void api_origin(struct api *a, const struct http_request *q, const struct route_params *p,
                struct reply *r)
{
    if (q->waited)
        origin_answer(a, q, p, r);
    else
        ask(a, q, p, r);
}

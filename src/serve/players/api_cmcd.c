#include "serve/players/api_players.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "serve/http/range.h"
#include "serve/players/cmcd.h"
#include "serve/players/contents.h"
#include "serve/players/steer.h"

enum { CMCD_BYTES = 2048 };

static bool in_headers(char *out, size_t size, const struct http_request *q)
{
    static const char *const names[] = {"CMCD-Request", "CMCD-Object", "CMCD-Status",
                                        "CMCD-Session"};
    size_t w = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (w + 2 >= size) return false;
        if (w) out[w++] = ',';
        if (http_header_list(out + w, size - w, q, names[i]))
            w += strlen(out + w);
        else if (w)
            w--;
    }
    out[w] = '\0';
    return w;
}

/* ---- a segment that goes out ---- */

/* What is known of the segment, apart from what the player reports. */
struct known {
    const struct video *video; /* that contains it */
    const char *file;
    int number, level;       /* as steer.h's */
    int64_t from;            /* likewise */
    struct content *content; /* that has the video; NULL: the demo's own video */
};

/* Wraps the reply's stream, to notice its last byte. */
struct watch {
    struct reply_stream inner;
    const struct players *players;
    struct service *service;
    const struct video *video;
    struct content *content;
    bool whole;
    char sid[CMCD_ID], file[ROUTE_VALUE];
};

static ssize_t watch_pull(void *self, char *buf, size_t max)
{
    struct watch *w = self;
    ssize_t n = w->inner.pull(w->inner.self, buf, max);
    bool sized = w->inner.length >= 0;
    if (n > 0 && sized) w->inner.length -= n;
    if (!w->whole && ((sized && w->inner.length == 0) || (!sized && n == REPLY_END))) {
        w->whole = true;
        steer_sent(w->players->steered, w->service, w->video, w->sid, w->file,
                   clock_mono());
    }
    return n;
}

static void watch_done(void *self)
{
    struct watch *w = self;
    if (w->inner.done) w->inner.done(w->inner.self);
    contents_put(w->players->contents, w->content);
    free(w);
}

/* Takes the content. */
static void watch_stream(struct reply *r, struct api *a, const char *sid, struct known *k)
{
    struct watch *w = malloc(sizeof *w);
    if (!w) return; /* steer.h then estimates the download time without it */
    *w = (struct watch){.inner = r->stream,
                        .players = players_of(a),
                        .service = a->shared->service,
                        .video = k->video,
                        .content = k->content};
    k->content = NULL;
    snprintf(w->sid, sizeof w->sid, "%s", sid);
    snprintf(w->file, sizeof w->file, "%s", k->file);
    r->stream.pull = watch_pull;
    r->stream.done = watch_done;
    r->stream.self = w;
}

static void put_told(struct reply *r, const struct steer_told *t)
{
    static const char *const names[] = {"chunk", "buffer_s", "download_s", "rebuffer_s"};
    char guesses[80] = "", params[80] = "";
    size_t w = 0;
    for (int i = 0; i < 4; i++)
        if (t->estimated >> i & 1)
            w += (size_t)snprintf(guesses + w, sizeof guesses - w, "%s%s", w ? ", " : "",
                                  names[i]);
    w = 0;
    if (t->throughput_kbps > 0)
        w = (size_t)snprintf(params, sizeof params, ";etp=%.0f", t->throughput_kbps);
    if (t->max_kbps > 0)
        snprintf(params + w, sizeof params - w, ";mb=%.0f", ceil(t->max_kbps));
    if (params[0]) reply_header(r, "CMSD-Dynamic", "\"abrd\"%s", params);
    reply_header(r, "Abrd-Session", "%s", t->session);
    if (guesses[0]) reply_header(r, "Abrd-Estimated", "%s", guesses);
}

/* Seconds until this player may send a question or a report again. */
static double wait_of(struct api *a, const struct admit_client *from,
                      const struct cmcd *c, double now_s)
{
    unsigned char key[CLIENTS_KEY];
    steer_key(key, players_of(a)->steered, c->sid);
    return admit_key(a->shared->admit, from, key, now_s);
}

static int steer(struct steer_told *told, struct api *a, const struct http_request *q,
                 const struct video *video, const struct steer_segment *in, struct err *e)
{
    struct api_shared *sh = a->shared;
    struct clients *steered = players_of(a)->steered;
    struct admit_client from;
    admit_client(&from, sh->admit, q);
    if (wait_of(a, &from, in->cmcd, in->now_s) > 0)
        return err_set(e, ERR_FULL, "too many segments of this player");
    int rc = steer_ask(told, steered, sh->service, a->scratch, video, in, e);
    if (rc != 1) return rc;
    if (sh->draining) return err_set(e, ERR_FULL, "the daemon takes no new sessions");
    if (admit_open(sh->admit, &from, in->now_s) > 0)
        return err_set(e, ERR_FULL, "too many sessions are opened from this address");
    rc = steer_open(steered, sh->service, a->scratch, video, in->cmcd, e);
    if (!rc) rc = steer_ask(told, steered, sh->service, a->scratch, video, in, e);
    return rc == 1 ? err_set(e, ERR_FULL, "too many players") : rc;
}

/* Whether the request has CMCD of a segment of video or sound, and which; true with an error in e, too. */
static bool tells(struct cmcd *c, const struct http_request *q, const struct reply *r,
                  struct err *e)
{
    char text[CMCD_BYTES];
    bool sent = r->status == 200 || r->status == 206;
    if (!sent || r->kind != REPLY_STREAM || q->method != HTTP_GET) return false;
    *c = (struct cmcd){0};
    int given = http_query(text, sizeof text, q, "CMCD", e);
    if (given < 0) return true;
    if (!given && !in_headers(text, sizeof text, q)) return false;
    if (cmcd_parse(c, text, strlen(text), e)) return true;
    if (c->kind == CMCD_UNKNOWN && c->kbps > 0) c->kind = CMCD_VIDEO;
    /* a player without sid does not want to be recognised */
    return c->sid[0] && c->kind != CMCD_OTHER && c->kind != CMCD_UNKNOWN;
}

/* A segment is served even if its CMCD is wrong; then a header of the answer has the error. */
static void cmcd_answer(struct api *a, const struct http_request *q, const struct cmcd *c,
                        struct known *k, struct reply *r, struct err *e)
{
    struct steer_told told;
    int64_t bytes = r->stream.length;
    if (bytes < 0) bytes = (int64_t)fmax(c->kbps * 125 * k->video->chunk_s, 0);
    struct steer_segment in = {c,         k->file,  bytes,  clock_mono(),
                               k->number, k->level, k->from};
    if (e->code || steer(&told, a, q, k->video, &in, e)) {
        reply_header(r, "Abrd-Cmcd-Error", "%.40s%s%.160s", e->field,
                     *e->field ? ": " : "", e->detail);
        return;
    }
    put_told(r, &told);
    if (c->kind != CMCD_AUDIO) watch_stream(r, a, c->sid, k);
}

void api_cmcd_segment(struct api *a, const struct http_request *q, const char *file,
                      struct reply *r)
{
    struct cmcd c;
    struct err e = {0};
    struct known k = {
        .video = players_of(a)->video, .file = file, .level = -1, .from = -1};
    if (k.video && tells(&c, q, r, &e)) cmcd_answer(a, q, &c, &k, r, &e);
}

/* Where the requested part of the file begins; -1: the whole file. */
static int64_t range_begin(const struct http_request *q)
{
    int64_t first, n;
    const char *range = http_header(q, "Range");
    return range_of(&first, &n, range, INT64_MAX) == RANGE_PART ? first : -1;
}

void api_cmcd_origin(struct api *a, const struct http_request *q, const char *path,
                     struct reply *r)
{
    struct cmcd c;
    struct err e = {0};
    const char *slash = strrchr(path, '/');
    if (!tells(&c, q, r, &e)) return;
    struct known k = {.file = slash ? slash + 1 : path, .from = range_begin(q)};
    k.content = contents_get(players_of(a)->contents, path, c.kbps,
                             steer_ladder(players_of(a)->steered, c.sid));
    if (!k.content) return; /* its manifest was not proxied */
    k.video = contents_video(k.content);
    struct contents_chunk chunk = contents_chunk(k.content, path, k.from);
    /* the window of a live stream moves, so the same chunk gets another number in a later manifest */
    bool live = c.live || k.video->live;
    k.number = live && chunk.number > 0 ? -1 : chunk.number;
    k.level = chunk.level;
    /* the head and the index of a file are not chunks */
    if (k.number || c.kind == CMCD_AUDIO) cmcd_answer(a, q, &c, &k, r, &e);
    /* the answer is for this player and this moment */
    reply_constant(r, "Cache-Control", "no-store");
    contents_put(players_of(a)->contents, k.content);
}

/* ---- reports of events ---- */

/* Reads line by line. apply false: only checks the lines, and how long the player must wait to send
 * them. */
static int each_line(double *wait_s, struct api *a, const struct http_request *q,
                     bool apply, struct err *e)
{
    const char *at = q->body, *end = q->body + q->n_body;
    struct admit_client from;
    admit_client(&from, a->shared->admit, q);
    double now_s = clock_mono();
    *wait_s = 0;
    for (int line = 1; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at);
        size_t text = n && at[n - 1] == '\r' ? n - 1 : n;
        struct cmcd c;
        struct err why = {0};
        int rc = cmcd_parse(&c, at, text, &why);
        /* sid is optional: a report without it belongs to no player and is ignored */
        if (!rc && c.sid[0] && apply)
            rc = steer_event(players_of(a)->steered, a->shared->service, &c, now_s, &why);
        else if (!rc && c.sid[0])
            *wait_s = fmax(*wait_s, wait_of(a, &from, &c, now_s));
        if (rc) return err_field(e, rc, why.field, "%s (line %d)", why.detail, line);
        at += stop ? n + 1 : n;
    }
    return 0;
}

void api_cmcd_events(struct api *a, const struct http_request *q,
                     const struct route_params *p, struct reply *r)
{
    (void)p;
    struct err e = {0};
    double wait_s;
    if (!q->n_body) {
        reply_fail(r, 400, "", "the body is empty; a report of CMCD is expected");
        return;
    }
    int rc = each_line(&wait_s, a, q, false, &e);
    if (!rc && api_too_often(r, wait_s, "reports of this player")) return;
    if (!rc) rc = each_line(&wait_s, a, q, true, &e);
    if (rc)
        reply_err(r, &e);
    else
        reply_empty(r, 204);
}

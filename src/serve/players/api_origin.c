/* Proxies media of other servers (origin.h): first sends the request; once the origin has answered, the
 * answer. */
#include "serve/players/api_players.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "abr/manifests/hls.h"
#include "serve/players/contents.h"
#include "serve/players/manifests.h"

enum { POLL_MS = 1000 }; /* the bell rings earlier */

static const char MAX_KBPS[] = "abrd-max-kbps", MAX_HEIGHT[] = "abrd-max-height";
/* Parameters that are not for the origin. */
static const char *const OURS[] = {"CMCD", MAX_KBPS, MAX_HEIGHT, NULL};

static const double BUFFER_MAX_S = 60;
static const double USUAL_CHUNK_S = 6; /* of HLS, until its media playlists were read */

/* Copies the player's headers that a request to an origin may have. */
static void copy_asked(struct origin_question *asked, const struct http_request *q)
{
    for (int i = 0; i < ORIGIN_ASKED; i++) {
        const char *value = http_header(q, origin_asked_name[i]);
        if (value && strlen(value) < ORIGIN_VALUE) strcpy(asked->asked[i], value);
    }
}

/* NULL if there is no room for a transfer: in e, or in the reply if the address has its share. */
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

/* The caps of the request's query; 0: none. */
struct caps {
    double max_kbps;
    int max_height;
};

static int read_caps(struct caps *out, const struct http_request *q, struct err *e)
{
    double height = 0;
    int rc = http_number(&out->max_kbps, q, MAX_KBPS, VIEW_KBPS_MIN, VIEW_KBPS_MAX, e);
    if (!rc) rc = http_number(&height, q, MAX_HEIGHT, 1, VIDEO_HEIGHT_MAX, e);
    out->max_height = (int)height;
    return rc;
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

    /* still encoded: only the origin knows what a decoded path means */
    const char *path = strchr(q->path + strlen("/o/"), '/') + 1;
    char query[ORIGINS_TARGET];
    struct origin_transfer *t = NULL;
    struct caps unused;
    if (read_caps(&unused, q, &e))
        ; /* the error is in e */
    else if (!http_query_text(query, sizeof query, q, OURS))
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

/* Passes on the headers that are for players; never cookies or CORS headers. */
static void pass_headers(struct reply *r, const struct origin_head *h)
{
    for (int i = 0; i < ORIGIN_TOLD; i++)
        if (h->told[i][0] && i != ORIGIN_RETRY_AFTER)
            reply_header(r, origin_told_name[i], "%s", h->told[i]);
}

/* 401 and 407 become 403: a player would take them for an error of our own token. */
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

/* ---- proxied manifests: what they contain is remembered (contents.h) ---- */

/* The reply's stream, and its text as far as it has come. A playlist is written anew when it is
 * complete; an MPD is handed on meanwhile. */
struct manifest {
    struct reply_stream inner;
    struct api *api;
    uint64_t from, network; /* of the client (service_worker_from) */
    struct addr who;        /* all 0: not limited (contents.h) */
    struct caps caps;
    bool hls;
    bool over; /* too long, or no memory: nothing is learned */
    bool read, ended;
    int64_t left; /* -1: until it ends */
    size_t n, cap;
    char *text; /* (n), and a NUL; owned */
    size_t out; /* of a playlist: bytes sent */
    char path[CONTENTS_PATH], url[SEGMENTS_URL];
};

static bool manifest_room(struct manifest *m, size_t more)
{
    if (more > CONTENTS_MANIFEST - m->n) return false;
    if (m->n + more < m->cap) return true;
    size_t cap = 2 * (m->n + more) + 4096;
    char *text = realloc(m->text, cap);
    if (!text) return false;
    m->text = text;
    m->cap = cap;
    return true;
}

static void learn(struct manifest *m)
{
    const struct players *players = players_of(m->api);
    const struct log *log = m->api->shared->log;
    struct err e = {0};
    m->read = true;
    if (m->over) {
        err_set(&e, ERR_RANGE, "the manifest is over %zu bytes", CONTENTS_MANIFEST);
        manifests_refuse(log, m->path, &e);
        return;
    }
    m->text[m->n] = '\0';
    const struct contents_manifest one = {m->path, m->url, m->text, m->n, m->who};
    if (m->hls && hls_kind(m->text) != HLS_MULTIVARIANT) return;
    if (manifests_takes(&one))
        manifests_add(players->manifests, &one);
    else if (contents_learn(players->contents, &one, NULL, &e) < 0)
        manifests_refuse(log, m->path, &e);
}

/* ---- playlists ---- */

/* The daemon's URI for one in a playlist, relative to the playlist. */
static bool map_uri(void *self, char out[SEGMENTS_URL], const char *uri)
{
    const struct manifest *m = self;
    const struct origins *names = origin_names(players_of(m->api)->origin);
    char full[SEGMENTS_URL], path[SEGMENTS_URL + ORIGINS_NAME], own[SEGMENTS_URL];
    size_t scheme = strcspn(uri, ":/?#");
    bool absolute = uri[scheme] == ':' || uri[0] == '/';
    bool web =
        uri[scheme] != ':' || !strncmp(uri, "http:", 5) || !strncmp(uri, "https:", 6);
    if (!web || strstr(uri, "{$") || !segments_join(full, m->url, uri)) return false;
    bool ours = origins_path(path, sizeof path, names, full);
    bool moved =
        !origins_url(own, sizeof own, names, m->path) || strcmp(own, m->url) != 0;
    bool same = ours && !strncmp(path, m->path, strcspn(m->path, "/") + 1);
    if (same && !absolute && !moved) return false;
    size_t n = 0;
    for (const char *s = ours ? m->path : ""; *s && n + 3 < SEGMENTS_URL; s++)
        if (*s == '/') n += (size_t)snprintf(out + n, SEGMENTS_URL - n, "../");
    return snprintf(out + n, SEGMENTS_URL - n, "%s", ours ? path : full) <
           (int)(SEGMENTS_URL - n);
}

/* The bitrate of the first level for a viewer whose link is unknown; 0: none. */
static double first_kbps(struct manifest *m, const struct video *v)
{
    struct service *s = m->api->shared->service;
    struct profile profile;
    struct answer answer;
    struct err e = {0};
    if (api_profile(&profile, m->api, "", &e)) return 0;
    struct view view = view_default();
    view.levels = v->levels;
    view.chunk_s = v->chunk_s;
    view.chunks = v->live ? 0 : v->chunks;
    view.buffer_max_s = BUFFER_MAX_S;
    view.qoe = profile.qoe;
    memcpy(view.ladder_kbps, v->ladder_kbps, sizeof view.ladder_kbps);
    memcpy(view.points, v->level_points, sizeof view.points);
    service_worker_from(m->api->scratch, m->from, m->network);
    int rc = service_decide(&answer, s, m->api->scratch, profile.name, false, &view,
                            m->caps.max_kbps, &e);
    return rc ? 0 : answer.kbps;
}

/* Of the multivariant playlist. Its media playlists may not have been read yet. */
static double playlist_first(struct manifest *m)
{
    struct contents *contents = players_of(m->api)->contents;
    struct content *one = contents_of(contents, m->path);
    struct video *ladder = one ? NULL : hls_ladder(m->text, m->path, USUAL_CHUNK_S, NULL);
    const struct video *v = one ? contents_video(one) : ladder;
    double kbps = v ? first_kbps(m, v) : 0;
    contents_put(contents, one);
    video_free(ladder);
    return kbps;
}

/* A playlist that cannot be rewritten is passed on unchanged. */
static void playlist_rewrite(struct manifest *m)
{
    struct hls_offer offer = {.max_kbps = m->caps.max_kbps,
                              .max_height = m->caps.max_height,
                              .self = m,
                              .map = map_uri};
    enum hls_kind kind = hls_kind(m->text);
    struct err e = {0};
    if (kind == HLS_NONE) return;
    if (kind == HLS_MULTIVARIANT) offer.first_kbps = playlist_first(m);
    size_t n = 0;
    char *text = hls_offer(&n, m->text, m->n, m->path, &offer, &e);
    if (!text) {
        manifests_refuse(m->api->shared->log, m->path, &e);
        return;
    }
    free(m->text);
    m->text = text;
    m->n = n;
}

/* A playlist that is too long is passed on unchanged. */
static ssize_t playlist_pull(void *self, char *buf, size_t max)
{
    struct manifest *m = self;
    for (;;) {
        if (m->read && m->out < m->n) {
            size_t n = m->n - m->out < max ? m->n - m->out : max;
            memcpy(buf, m->text + m->out, n);
            m->out += n;
            return (ssize_t)n;
        }
        if (m->ended) return REPLY_END;
        if (m->over) return m->inner.pull(m->inner.self, buf, max);
        size_t want = CONTENTS_MANIFEST - m->n;
        if (want > max) want = max;
        m->over = !want || !manifest_room(m, want);
        if (m->over) {
            learn(m);
            continue;
        }
        ssize_t n = m->inner.pull(m->inner.self, m->text + m->n, want);
        if (n > 0) m->n += (size_t)n;
        if (n == REPLY_LATER || n == REPLY_BROKEN) return n;
        if (n != REPLY_END) continue;
        m->ended = true;
        learn(m);
        playlist_rewrite(m);
    }
}

static ssize_t manifest_pull(void *self, char *buf, size_t max)
{
    struct manifest *m = self;
    ssize_t n = m->inner.pull(m->inner.self, buf, max);
    if (n > 0) {
        m->over |= !manifest_room(m, (size_t)n);
        if (!m->over) {
            memcpy(m->text + m->n, buf, (size_t)n);
            m->n += (size_t)n;
        }
        if (m->left >= 0) m->left -= n;
    }
    if (!m->read && m->n && (m->left == 0 || n == REPLY_END)) learn(m);
    return n;
}

static void manifest_done(void *self)
{
    struct manifest *m = self;
    m->inner.done(m->inner.self);
    free(m->text);
    free(m);
}

static bool path_ends(const char *path, const char *end)
{
    size_t n = strlen(path), n_end = strlen(end);
    return n > n_end && !strcasecmp(path + n - n_end, end);
}

enum manifest_kind { NO_MANIFEST, MANIFEST_DASH, MANIFEST_HLS };

static enum manifest_kind manifest_kind(const struct origin_head *h, const char *path)
{
    const char *type = h->told[ORIGIN_TYPE];
    if (h->status != 200 || h->told[ORIGIN_ENCODING][0]) return NO_MANIFEST;
    if (strstr(type, "dash+xml") || path_ends(path, ".mpd")) return MANIFEST_DASH;
    if (strcasestr(type, "mpegurl") || path_ends(path, ".m3u8") ||
        path_ends(path, ".m3u"))
        return MANIFEST_HLS;
    return NO_MANIFEST;
}

static void read_manifest(struct reply *r, struct api *a, const struct http_request *q,
                          struct origin_transfer *t, bool hls)
{
    const char *path = q->path + strlen("/o/"), *found = origin_found(t);
    struct admit_client client;
    struct err unused = {0};
    if (strlen(path) >= CONTENTS_PATH) return;
    struct manifest *m = calloc(1, sizeof *m);
    if (!m) return;
    bool has_url = *found ? snprintf(m->url, sizeof m->url, "%s", found) > 0
                          : origins_url(m->url, sizeof m->url,
                                        origin_names(players_of(a)->origin), path);
    if (!has_url || read_caps(&m->caps, q, &unused)) {
        free(m);
        return;
    }
    admit_client(&client, a->shared->admit, q);
    m->from = admit_number(&client, a->shared->secret);
    m->network = admit_network(&client, a->shared->secret);
    if (client.limited) m->who = addr_subscriber(&client.addr);
    m->inner = r->stream;
    m->api = a;
    m->hls = hls;
    m->left = r->stream.length;
    snprintf(m->path, sizeof m->path, "%s", path);
    r->stream.pull = hls ? playlist_pull : manifest_pull;
    r->stream.done = manifest_done;
    r->stream.self = m;
    if (hls) r->stream.length = -1;
}

/* The order of the levels is for this viewer, so no cache may keep it. What the origin says about its own
 * text does not hold for the new one. */
static void own_playlist(struct reply *r)
{
    static const char *const of_origin[] = {"ETag", "Last-Modified", "Expires",
                                            "Accept-Ranges"};
    for (size_t i = 0; i < sizeof of_origin / sizeof *of_origin; i++)
        reply_constant(r, of_origin[i], "");
    reply_constant(r, "Cache-Control", "no-store");
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
        enum manifest_kind kind = manifest_kind(h, path);
        if (kind == NO_MANIFEST)
            api_cmcd_origin(a, q, path, r);
        else if (q->method == HTTP_GET)
            read_manifest(r, a, q, t, kind == MANIFEST_HLS);
        else if (kind == MANIFEST_HLS)
            r->stream.length = -1;
        if (kind == MANIFEST_HLS) own_playlist(r);
    } else {
        fail(r, route_param(p, "origin"), h);
    }
    /* whatever the origin sends must not run as a page of ours */
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

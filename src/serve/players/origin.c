#include "serve/players/origin.h"

#include <assert.h>
#include <curl/curl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "serve/access/addr.h"
#include "serve/http/reply.h"

enum { POLL_MS = 1000, LINES_A_SECOND = 10, LOCATION = 2048 };
static const long KEPT_CONNECTIONS = 64, CONNECT_S = 5, SLOWEST = 1; /* byte/s */
static const size_t REDIRECT_BODY = (size_t)64 << 10;

struct origin {
    struct origin_cfg cfg;
    CURLM *multi;
    pthread_t thread;
    atomic_bool stop, poked; /* poked: a worker has work for the thread */
    atomic_int running;
    atomic_uint_fast64_t begun, refused, bytes, failed[ORIGIN_FAULTS];
    pthread_mutex_t lock;          /* of fresh */
    struct origin_transfer *fresh; /* begun, and not yet known to the thread */
    /* the thread's own */
    struct origin_transfer *all;
    int lines; /* of the log, in the second since */
    double since_s;
};

struct origin_transfer {
    struct origin *origin;
    struct origin_question q;
    struct origin_transfer *next;
    /* the thread's own */
    CURL *easy;
    struct curl_slist *headers;
    char error[CURL_ERROR_SIZE];
    int hop;
    bool redirecting, refused; /* refused: it would have gone to a private address */
    bool chunked, head_over;
    size_t head_bytes, redirect_bytes;
    char location[LOCATION], found[LOCATION];
    struct addr reached;     /* the address of the origin itself */
    long reached_port;       /* 0: not known yet */
    struct origin_head head; /* the worker's once it is ready */

    pthread_mutex_t lock; /* of what follows */
    int bell;             /* -1: dropped */
    bool ready, ended, broken, dropped;
    bool paused;  /* the ring was full */
    bool go_on;   /* and has room again */
    bool waiting; /* the worker found nothing */
    char *buf;    /* (ORIGIN_BUFFER), a ring */
    size_t at, n;
};

const char *const origin_asked_name[ORIGIN_ASKED] = {"Range", "If-Range", "If-None-Match",
                                                     "If-Modified-Since"};
const char *const origin_told_name[ORIGIN_TOLD] = {
    "Content-Type",  "Content-Range",    "ETag",
    "Last-Modified", "Cache-Control",    "Expires",
    "Accept-Ranges", "Content-Encoding", "Retry-After"};

const char *origin_fault_text(enum origin_fault f)
{
    static const char *const texts[] = {
        "has answered", "cannot be reached", "did not answer in time",
        "redirects to an address that is not allowed", "broke off its answer"};
    return texts[f];
}

/* ---- calls of the workers ---- */

static void thread_wake(struct origin *o)
{
    atomic_store(&o->poked, true);
    curl_multi_wakeup(o->multi);
}

static void transfer_free(struct origin_transfer *t)
{
    atomic_fetch_sub(&t->origin->running, 1);
    if (t->q.held) occupancy_give(t->q.held, &t->q.who);
    pthread_mutex_destroy(&t->lock);
    free(t->buf);
    free(t);
}

struct origin_transfer *origin_begin(struct origin *o, const struct origin_question *q,
                                     struct err *e)
{
    if (atomic_fetch_add(&o->running, 1) >= o->cfg.transfers) {
        atomic_fetch_sub(&o->running, 1);
        atomic_fetch_add(&o->refused, 1);
        err_set(e, ERR_FULL, "%d requests to origins are in progress: this is the limit",
                o->cfg.transfers);
        return NULL;
    }
    struct origin_transfer *t = calloc(1, sizeof *t);
    if (!t) {
        atomic_fetch_sub(&o->running, 1);
        err_set(e, ERR_MEMORY, "no memory for a transfer");
        return NULL;
    }
    t->origin = o;
    t->q = *q;
    t->bell = q->bell;
    pthread_mutex_init(&t->lock, NULL);
    atomic_fetch_add(&o->begun, 1);

    pthread_mutex_lock(&o->lock);
    t->next = o->fresh;
    o->fresh = t;
    pthread_mutex_unlock(&o->lock);
    thread_wake(o);
    return t;
}

bool origin_ready(void *transfer)
{
    struct origin_transfer *t = transfer;
    pthread_mutex_lock(&t->lock);
    bool ready = t->ready;
    pthread_mutex_unlock(&t->lock);
    return ready;
}

const struct origin_head *origin_head(const struct origin_transfer *t)
{
    return &t->head;
}

const char *origin_found(const struct origin_transfer *t)
{
    return t->found;
}

/* At most max bytes out of the ring. */
static size_t ring_take(struct origin_transfer *t, char *buf, size_t max)
{
    size_t n = t->n < max ? t->n : max, first = ORIGIN_BUFFER - t->at;
    if (first > n) first = n;
    if (n) {
        memcpy(buf, t->buf + t->at, first);
        memcpy(buf + first, t->buf, n - first);
    }
    t->at = (t->at + n) % ORIGIN_BUFFER;
    t->n -= n;
    return n;
}

ssize_t origin_pull(void *transfer, char *buf, size_t max)
{
    struct origin_transfer *t = transfer;
    pthread_mutex_lock(&t->lock);
    size_t n = ring_take(t, buf, max);
    bool go_on = t->paused && t->n <= ORIGIN_BUFFER / 2;
    if (go_on) t->paused = false;
    bool ended = !n && t->ended, broken = t->broken;
    t->waiting = !n;
    t->go_on |= go_on;
    pthread_mutex_unlock(&t->lock);

    if (go_on) thread_wake(t->origin);
    atomic_fetch_add_explicit(&t->origin->bytes, n, memory_order_relaxed);
    if (ended) return broken ? REPLY_BROKEN : REPLY_END;
    return n ? (ssize_t)n : REPLY_LATER;
}

void origin_drop(void *transfer)
{
    struct origin_transfer *t = transfer;
    struct origin *o = t->origin;
    pthread_mutex_lock(&t->lock);
    t->bell = -1;
    t->dropped = true;
    bool last = t->ended;
    pthread_mutex_unlock(&t->lock);
    if (last)
        transfer_free(t);
    else
        thread_wake(o);
}

/* ---- from the thread to the worker ---- */

/* The lock is held. */
static void ring_bell(const struct origin_transfer *t)
{
    if (t->bell >= 0) (void)!eventfd_write(t->bell, 1); /* full: it rings already */
}

/* The head is complete. */
static void transfer_publish(struct origin_transfer *t)
{
    pthread_mutex_lock(&t->lock);
    t->ready = true;
    ring_bell(t);
    pthread_mutex_unlock(&t->lock);
}

enum room { ROOM_TAKEN, ROOM_WAIT, ROOM_GONE };

static enum room ring_put(struct origin_transfer *t, const char *data, size_t n)
{
    enum room room = ROOM_TAKEN;
    pthread_mutex_lock(&t->lock);
    if (!t->buf && !t->dropped) t->buf = malloc(ORIGIN_BUFFER);
    if (t->dropped || !t->buf) {
        room = ROOM_GONE;
    } else if (n > ORIGIN_BUFFER - t->n) {
        room = ROOM_WAIT;
        t->paused = true;
    } else {
        size_t at = (t->at + t->n) % ORIGIN_BUFFER, first = ORIGIN_BUFFER - at;
        if (first > n) first = n;
        memcpy(t->buf + at, data, first);
        memcpy(t->buf, data + first, n - first);
        t->n += n;
        if (t->waiting) ring_bell(t);
        t->waiting = false;
    }
    pthread_mutex_unlock(&t->lock);
    return room;
}

/* ---- one transfer as libcurl sees it: which addresses it may reach ---- */

static bool may_reach(const struct origin_transfer *t, const struct sockaddr *to)
{
    struct addr a;
    if (t->hop == 0) return true; /* the operator configured it */
    if (!addr_from_socket(&a, to)) return false;
    return !addr_is_private(&a) ||
           (t->reached_port == addr_port(to) && addr_equal(&a, &t->reached));
}

static curl_socket_t open_socket(void *ctx, curlsocktype purpose,
                                 struct curl_sockaddr *to)
{
    (void)purpose;
    struct origin_transfer *t = ctx;
    if (may_reach(t, &to->addr))
        return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
    t->refused = true;
    return CURL_SOCKET_BAD;
}

/* Notes the address of the origin itself, also on a connection that is used again. */
static int before_request(void *ctx, char *their_ip, char *our_ip, int their_port,
                          int our_port)
{
    (void)our_ip;
    (void)our_port;
    struct origin_transfer *t = ctx;
    if (t->hop == 0 && addr_parse(&t->reached, their_ip, strlen(their_ip)))
        t->reached_port = their_port;
    return CURL_PREREQFUNC_OK;
}

/* ---- the answer of the origin ---- */

static bool is_redirect(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 ||
           status == 308;
}

static void begin_head(struct origin_transfer *t, const char *line, size_t n)
{
    const char *space = memchr(line, ' ', n);
    int status = 0;
    for (int i = 1; space && i <= 3 && space + i < line + n; i++)
        status = status * 10 + (space[i] - '0');
    t->head = (struct origin_head){.status = status, .length = -1};
    t->location[0] = '\0';
    t->chunked = false;
}

/* Copies the value unless it is too long or holds control characters. */
static void keep_value(char *out, size_t size, const char *value, size_t n)
{
    bool sane = n < size;
    for (size_t i = 0; sane && i < n; i++)
        sane = (unsigned char)value[i] >= 0x20 && value[i] != 0x7f;
    snprintf(out, size, "%.*s", sane ? (int)n : 0, value);
}

static void read_header(struct origin_transfer *t, const char *name, size_t n_name,
                        const char *value, size_t n)
{
    char text[32];
    for (int i = 0; i < ORIGIN_TOLD; i++)
        if (strlen(origin_told_name[i]) == n_name &&
            strncasecmp(name, origin_told_name[i], n_name) == 0)
            keep_value(t->head.told[i], ORIGIN_VALUE, value, n);
    if (n_name == 8 && strncasecmp(name, "Location", 8) == 0)
        keep_value(t->location, sizeof t->location, value, n);
    if (n_name == 17 && strncasecmp(name, "Transfer-Encoding", 17) == 0)
        t->chunked = true;
    if (n_name == 14 && strncasecmp(name, "Content-Length", 14) == 0) {
        keep_value(text, sizeof text, value, n);
        if (text_int(&t->head.length, text, 0, INT64_MAX, "length", NULL))
            t->head.length = -1;
    }
}

static void end_head(struct origin_transfer *t)
{
    if (t->head.status < 200) return; /* the real one follows */
    if (t->chunked) t->head.length = -1;
    t->redirecting = is_redirect(t->head.status) && t->location[0];
    t->redirect_bytes = 0;
    if (t->redirecting) return;
    char *url = NULL;
    if (t->hop) curl_easy_getinfo(t->easy, CURLINFO_EFFECTIVE_URL, &url);
    if (url && strlen(url) < sizeof t->found) strcpy(t->found, url);
    transfer_publish(t);
}

static size_t on_head(char *data, size_t size, size_t count, void *ctx)
{
    struct origin_transfer *t = ctx;
    size_t all = size * count, n = all;
    if (origin_ready(t)) return all; /* a trailer */
    t->head_bytes += all;
    t->head_over = t->head_bytes > ORIGIN_HEAD;
    if (t->head_over) return 0;
    while (n && (data[n - 1] == '\r' || data[n - 1] == '\n'))
        n--;
    const char *colon = memchr(data, ':', n);
    if (!n) {
        end_head(t);
    } else if (n > 5 && memcmp(data, "HTTP/", 5) == 0) {
        begin_head(t, data, n);
    } else if (colon) {
        const char *value = colon + 1, *stop = data + n;
        while (value < stop && (*value == ' ' || *value == '\t'))
            value++;
        while (stop > value && (stop[-1] == ' ' || stop[-1] == '\t'))
            stop--;
        read_header(t, data, (size_t)(colon - data), value, (size_t)(stop - value));
    }
    return all;
}

static size_t on_body(char *data, size_t size, size_t count, void *ctx)
{
    struct origin_transfer *t = ctx;
    size_t n = size * count;
    if (t->redirecting) {
        t->redirect_bytes += n;
        return t->redirect_bytes > REDIRECT_BODY ? 0 : n;
    }
    switch (ring_put(t, data, n)) {
    case ROOM_TAKEN:
        return n;
    case ROOM_WAIT:
        return CURL_WRITEFUNC_PAUSE;
    default:
        return 0;
    }
}

/* ---- the request ---- */

static bool add_header(struct origin_transfer *t, const char *name, const char *value)
{
    char line[ORIGIN_VALUE + 32];
    snprintf(line, sizeof line, "%s: %s", name, value);
    struct curl_slist *more = curl_slist_append(t->headers, line);
    if (more) t->headers = more;
    return more;
}

static bool make_headers(struct origin_transfer *t)
{
    /* a compressed body has no ranges of the original */
    bool ok = add_header(t, "Accept-Encoding", "identity");
    for (int i = 0; i < ORIGIN_ASKED && ok; i++)
        if (t->q.asked[i][0]) ok = add_header(t, origin_asked_name[i], t->q.asked[i]);
    return ok;
}

static void set_options(struct origin_transfer *t)
{
    CURL *c = t->easy;
    curl_easy_setopt(c, CURLOPT_PRIVATE, t);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, t->error);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    /* a name that does not resolve is left to its own thread: else all transfers wait for it */
    curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    curl_easy_setopt(c, CURLOPT_PROXY, "");
    curl_easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(c, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(c, CURLOPT_USERAGENT, "abrd");
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, t->headers);
    curl_easy_setopt(c, CURLOPT_NOBODY, t->q.head ? 1L : 0L);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, SLOWEST);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)ceil(t->origin->cfg.silence_s));
    curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, t);
    curl_easy_setopt(c, CURLOPT_PREREQFUNCTION, before_request);
    curl_easy_setopt(c, CURLOPT_PREREQDATA, t);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_head);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
}

/* Sends the request; false: it could not. */
static bool transfer_attach(struct origin_transfer *t)
{
    t->easy = curl_easy_init();
    if (!t->easy || !make_headers(t)) return false;
    set_options(t);
    return curl_easy_setopt(t->easy, CURLOPT_URL, t->q.target) == CURLE_OK &&
           curl_multi_add_handle(t->origin->multi, t->easy) == CURLM_OK;
}

static void transfer_detach(struct origin_transfer *t)
{
    if (t->easy) curl_multi_remove_handle(t->origin->multi, t->easy);
    curl_easy_cleanup(t->easy);
    curl_slist_free_all(t->headers);
    t->easy = NULL;
    t->headers = NULL;
}

/* ---- redirects ---- */

/* The URL that Location means, relative to its page; owned by libcurl, NULL: none. */
static char *resolve_location(const struct origin_transfer *t)
{
    char *found = NULL, *full = NULL;
    CURLU *u = curl_url();
    curl_easy_getinfo(t->easy, CURLINFO_EFFECTIVE_URL, &found);
    if (u && found && !curl_url_set(u, CURLUPART_URL, found, CURLU_PATH_AS_IS) &&
        !curl_url_set(u, CURLUPART_URL, t->location, 0))
        curl_url_get(u, CURLUPART_URL, &full, 0);
    curl_url_cleanup(u);
    return full;
}

/* On a new connection: the kept ones were opened for an origin. */
static bool follow_redirect(struct origin_transfer *t)
{
    if (t->hop++ == ORIGIN_HOPS) {
        snprintf(t->error, sizeof t->error, "more than %d redirects", ORIGIN_HOPS);
        return false;
    }
    char *url = resolve_location(t);
    if (!url) {
        snprintf(t->error, sizeof t->error, "a Location that is no URL");
        return false;
    }
    CURLM *multi = t->origin->multi;
    curl_multi_remove_handle(multi, t->easy);
    bool ok = curl_easy_setopt(t->easy, CURLOPT_URL, url) == CURLE_OK;
    curl_free(url);
    curl_easy_setopt(t->easy, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(t->easy, CURLOPT_FORBID_REUSE, 1L);
    t->redirecting = false;
    return ok && curl_multi_add_handle(multi, t->easy) == CURLM_OK;
}

static enum origin_fault fault_of(struct origin_transfer *t, CURLcode rc)
{
    if (!t->error[0]) snprintf(t->error, sizeof t->error, "%s", curl_easy_strerror(rc));
    if (t->head_over)
        snprintf(t->error, sizeof t->error, "a head over %zu bytes", ORIGIN_HEAD);
    if (t->refused)
        snprintf(t->error, sizeof t->error, "redirected to a private address");
    if (t->refused) return ORIGIN_REDIRECT;
    switch (rc) {
    case CURLE_OK:
        return origin_ready(t) ? ORIGIN_SOUND : ORIGIN_BROKEN;
    case CURLE_OPERATION_TIMEDOUT:
        return ORIGIN_SILENT;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_LOGIN_DENIED:
        return t->hop ? ORIGIN_REDIRECT : ORIGIN_BROKEN;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
        return ORIGIN_UNREACHABLE;
    default:
        return ORIGIN_BROKEN;
    }
}

/* libcurl has ended it. True: it follows a redirect. */
static bool transfer_continues(struct origin_transfer *t, CURLcode rc,
                               enum origin_fault *fault)
{
    /* its body may have been cut: it is not used */
    if (t->redirecting && follow_redirect(t)) return true;
    *fault = t->redirecting || t->hop > ORIGIN_HOPS ? ORIGIN_REDIRECT : fault_of(t, rc);
    return false;
}

/* ---- the thread ---- */

/* At most ten lines a second: an origin that is down must not fill the disk. */
static void log_fault(struct origin *o, const struct origin_transfer *t,
                      enum origin_fault fault)
{
    double now = clock_mono();
    if (now - o->since_s >= 1) {
        o->since_s = now;
        o->lines = 0;
    }
    if (o->lines++ >= LINES_A_SECOND) return;
    log_event(o->cfg.log, LOG_WARN, "origin", "%s %s: %s",
              o->cfg.names.at[t->q.origin].name, origin_fault_text(fault),
              t->error[0] ? t->error : "no details");
}

/* Takes it off the thread's list. The last of the two users, thread and worker, frees it. */
static void transfer_end(struct origin *o, struct origin_transfer *t,
                         enum origin_fault fault)
{
    transfer_detach(t);
    struct origin_transfer **at = &o->all;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;

    pthread_mutex_lock(&t->lock);
    bool dropped = t->dropped;
    pthread_mutex_unlock(&t->lock);
    if (fault && !dropped) {
        atomic_fetch_add(&o->failed[fault], 1);
        log_fault(o, t, fault);
    }

    pthread_mutex_lock(&t->lock);
    if (!t->ready) t->head.fault = fault;
    t->broken = fault != ORIGIN_SOUND;
    t->ready = t->ended = true;
    ring_bell(t);
    dropped = t->dropped;
    pthread_mutex_unlock(&t->lock);
    if (dropped) transfer_free(t);
}

static void admit_fresh(struct origin *o)
{
    pthread_mutex_lock(&o->lock);
    struct origin_transfer *list = o->fresh;
    o->fresh = NULL;
    pthread_mutex_unlock(&o->lock);
    while (list) {
        struct origin_transfer *t = list;
        list = t->next;
        t->next = o->all;
        o->all = t;
        if (!transfer_attach(t)) transfer_end(o, t, ORIGIN_UNREACHABLE);
    }
}

/* Transfers that the workers began, dropped, or made room in. */
static void serve_workers(struct origin *o)
{
    if (!atomic_exchange(&o->poked, false)) return;
    admit_fresh(o);
    for (struct origin_transfer *t = o->all, *next; t; t = next) {
        next = t->next;
        pthread_mutex_lock(&t->lock);
        bool dropped = t->dropped, go_on = t->go_on;
        t->go_on = false;
        pthread_mutex_unlock(&t->lock);
        if (dropped)
            transfer_end(o, t, ORIGIN_SOUND);
        else if (go_on)
            curl_easy_pause(t->easy, CURLPAUSE_CONT);
    }
}

static void serve_origins(struct origin *o)
{
    int n;
    curl_multi_perform(o->multi, &n);
    for (const CURLMsg *m; (m = curl_multi_info_read(o->multi, &n));) {
        struct origin_transfer *t = NULL;
        if (m->msg != CURLMSG_DONE) continue;
        CURLcode rc = m->data.result;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &t);
        enum origin_fault fault = ORIGIN_SOUND;
        if (!transfer_continues(t, rc, &fault)) transfer_end(o, t, fault);
    }
}

static void *origin_run(void *ctx)
{
    struct origin *o = ctx;
    while (!o->stop) {
        serve_workers(o);
        serve_origins(o);
        if (!atomic_load(&o->poked)) curl_multi_poll(o->multi, NULL, 0, POLL_MS, NULL);
    }
    serve_workers(o);
    return NULL;
}

/* ---- start and end ---- */

static void origin_release(struct origin *o)
{
    curl_multi_cleanup(o->multi);
    pthread_mutex_destroy(&o->lock);
    curl_global_cleanup();
    free(o);
}

struct origin *origin_new(const struct origin_cfg *cfg, struct err *e)
{
    struct origin *o = calloc(1, sizeof *o);
    if (!o) {
        err_set(e, ERR_MEMORY, "no memory for the origins");
        return NULL;
    }
    o->cfg = *cfg;
    pthread_mutex_init(&o->lock, NULL);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) o->multi = curl_multi_init();
    if (!o->multi) {
        err_set(e, ERR_MEMORY, "libcurl cannot be initialised");
        origin_release(o);
        return NULL;
    }
    curl_multi_setopt(o->multi, CURLMOPT_MAXCONNECTS, KEPT_CONNECTIONS);
    int rc = pthread_create(&o->thread, NULL, origin_run, o);
    if (rc) {
        err_set(e, ERR_IO, "the thread for origins cannot be started: %s", strerror(rc));
        origin_release(o);
        return NULL;
    }
    pthread_setname_np(o->thread, "origin");
    return o;
}

void origin_free(struct origin *o)
{
    if (!o) return;
    o->stop = true;
    thread_wake(o);
    pthread_join(o->thread, NULL);
    assert(!o->all && o->running == 0);
    origin_release(o);
}

const struct origins *origin_names(const struct origin *o)
{
    return &o->cfg.names;
}

struct origin_stats origin_stats(const struct origin *o)
{
    struct origin_stats s = {.transfers = o->running,
                             .transfers_max = o->cfg.transfers,
                             .begun = o->begun,
                             .refused = o->refused,
                             .bytes = o->bytes};
    for (int i = 0; i < ORIGIN_FAULTS; i++)
        s.failed[i] = o->failed[i];
    return s;
}

/* One transfer as libcurl sees it: what it may say, where it may go, what it hears. */
#include "origin_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/text.h"

static const long CONNECT_S = 5, SLOWEST = 1; /* byte/s */
static const size_t REDIRECT_BODY = (size_t)64 << 10;

const char *const origin_asked_name[ORIGIN_ASKED] = {"Range", "If-Range", "If-None-Match",
                                                     "If-Modified-Since"};
const char *const origin_told_name[ORIGIN_TOLD] = {
    "Content-Type",  "Content-Range",    "ETag",
    "Last-Modified", "Cache-Control",    "Expires",
    "Accept-Ranges", "Content-Encoding", "Retry-After"};

/* ---- where it may go ---- */

static bool may_reach(const struct origin_transfer *t, const struct sockaddr *to)
{
    struct addr a;
    if (t->hop == 0) return true; /* the operator named it */
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

/* Also when a connection is used again: where the origin itself is. */
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

/* ---- what it hears ---- */

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

/* Copies the value unless it is too long or holds what no header should. */
static void keep(char *out, size_t size, const char *value, size_t n)
{
    bool sane = n < size;
    for (size_t i = 0; sane && i < n; i++)
        sane = (unsigned char)value[i] >= 0x20 && value[i] != 0x7f;
    snprintf(out, size, "%.*s", sane ? (int)n : 0, value);
}

static void origin_curl_note(struct origin_transfer *t, const char *name, size_t n_name,
                             const char *value, size_t n)
{
    char text[32];
    for (int i = 0; i < ORIGIN_TOLD; i++)
        if (strlen(origin_told_name[i]) == n_name &&
            strncasecmp(name, origin_told_name[i], n_name) == 0)
            keep(t->head.told[i], ORIGIN_VALUE, value, n);
    if (n_name == 8 && strncasecmp(name, "Location", 8) == 0)
        keep(t->location, sizeof t->location, value, n);
    if (n_name == 17 && strncasecmp(name, "Transfer-Encoding", 17) == 0)
        t->chunked = true;
    if (n_name == 14 && strncasecmp(name, "Content-Length", 14) == 0) {
        keep(text, sizeof text, value, n);
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
    if (!t->redirecting) origin_publish(t);
}

static bool is_published(struct origin_transfer *t)
{
    return origin_ready(t);
}

static size_t hear_head(char *data, size_t size, size_t count, void *ctx)
{
    struct origin_transfer *t = ctx;
    size_t all = size * count, n = all;
    if (is_published(t)) return all; /* a trailer */
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
        origin_curl_note(t, data, (size_t)(colon - data), value, (size_t)(stop - value));
    }
    return all;
}

static size_t hear_body(char *data, size_t size, size_t count, void *ctx)
{
    struct origin_transfer *t = ctx;
    size_t n = size * count;
    if (t->redirecting) {
        t->redirect_bytes += n;
        return t->redirect_bytes > REDIRECT_BODY ? 0 : n;
    }
    switch (origin_put(t, data, n)) {
    case ORIGIN_TAKEN:
        return n;
    case ORIGIN_WAIT:
        return CURL_WRITEFUNC_PAUSE;
    default:
        return 0;
    }
}

/* ---- what it says ---- */

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
    /* a body that is coded has no parts that could be asked for */
    bool ok = add_header(t, "Accept-Encoding", "identity");
    for (int i = 0; i < ORIGIN_ASKED && ok; i++)
        if (t->q.asked[i][0]) ok = add_header(t, origin_asked_name[i], t->q.asked[i]);
    return ok;
}

static void configure(struct origin_transfer *t)
{
    CURL *c = t->easy;
    curl_easy_setopt(c, CURLOPT_PRIVATE, t);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, t->error);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    /* a name that nobody resolves is left to its thread: all transfers would wait for it */
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
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, hear_head);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, hear_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
}

bool origin_attach(struct origin_transfer *t)
{
    t->easy = curl_easy_init();
    if (!t->easy || !make_headers(t)) return false;
    configure(t);
    return curl_easy_setopt(t->easy, CURLOPT_URL, t->q.target) == CURLE_OK &&
           curl_multi_add_handle(t->origin->multi, t->easy) == CURLM_OK;
}

void origin_detach(struct origin_transfer *t)
{
    if (t->easy) curl_multi_remove_handle(t->origin->multi, t->easy);
    curl_easy_cleanup(t->easy);
    curl_slist_free_all(t->headers);
    t->easy = NULL;
    t->headers = NULL;
}

/* ---- redirects ---- */

/* Where Location leads, as seen from where it was found; owned by libcurl, NULL: nowhere. */
static char *resolve(const struct origin_transfer *t)
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

/* On connections of its own: those that are kept were opened for an origin. */
static bool follow(struct origin_transfer *t)
{
    if (t->hop++ == ORIGIN_HOPS) {
        snprintf(t->error, sizeof t->error, "more than %d redirects", ORIGIN_HOPS);
        return false;
    }
    char *url = resolve(t);
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
        return is_published(t) ? ORIGIN_SOUND : ORIGIN_BROKEN;
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

bool origin_goes_on(struct origin_transfer *t, CURLcode rc, enum origin_fault *fault)
{
    /* its body may have been cut: nobody wants that */
    if (t->redirecting && follow(t)) return true;
    *fault = t->redirecting || t->hop > ORIGIN_HOPS ? ORIGIN_REDIRECT : fault_of(t, rc);
    return false;
}

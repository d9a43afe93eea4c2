#include "cli/fetch.h"

#include "cli/interrupt.h"
#include "cli/progress.h"
#include "serve/access/addr.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

enum { TRUSTED_MAX = 8 };
static const long TIMEOUT_S = 60, CONNECT_S = 10, REDIRECTS = 3;

struct fetch {
    CURL *curl;
    CURLU *base; /* the address of the manifest */
    struct progress bar;
    int requests;

    /* addresses of the host that the user named, until it redirects */
    bool named_host;
    int n_trusted;
    struct sockaddr_storage trusted[TRUSTED_MAX];
    bool refused; /* the last request led to a private address */

    char *body; /* of the answer under way, (len) of at most max bytes, and a NUL */
    size_t len, cap, max;
    bool cut;      /* the answer is longer */
    bool answered; /* the server sent a status */

    bool counts; /* bodies are counted, not kept */
    int64_t counted;
};

/* -------------------------------------------------------------------------- addresses */

static bool is_private(const struct sockaddr *to)
{
    struct addr a;
    return !addr_from_socket(&a, to) || addr_is_private(&a);
}

/* The same address and port. */
static bool same_address(const struct sockaddr_storage *a, const struct curl_sockaddr *b)
{
    if (a->ss_family != b->addr.sa_family) return false;
    if (a->ss_family == AF_INET) {
        struct sockaddr_in x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, &b->addr, sizeof y);
        return x.sin_port == y.sin_port && x.sin_addr.s_addr == y.sin_addr.s_addr;
    }
    struct sockaddr_in6 x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, &b->addr, sizeof y);
    return x.sin6_port == y.sin6_port && !memcmp(&x.sin6_addr, &y.sin6_addr, 16);
}

static curl_socket_t open_socket(void *ctx, curlsocktype purpose,
                                 struct curl_sockaddr *to)
{
    (void)purpose;
    struct fetch *f = ctx;
    bool trusted = !is_private(&to->addr);
    for (int i = 0; i < f->n_trusted && !trusted; i++)
        trusted = same_address(&f->trusted[i], to);
    if (!trusted && f->named_host && f->n_trusted < TRUSTED_MAX &&
        to->addrlen <= sizeof f->trusted[0]) {
        memcpy(&f->trusted[f->n_trusted++], &to->addr, to->addrlen);
        trusted = true;
    }
    f->refused |= !trusted;
    return trusted ? socket(to->family, to->socktype, to->protocol) : CURL_SOCKET_BAD;
}

/* --------------------------------------------------------------------------- requests */

static size_t on_header(char *data, size_t size, size_t count, void *ctx)
{
    struct fetch *f = ctx;
    size_t n = size * count;
    const char *space = n > 5 && !memcmp(data, "HTTP/", 5) ? memchr(data, ' ', n) : NULL;
    if (space && space + 1 < data + n && space[1] == '3') f->named_host = false;
    return n;
}

static size_t receive(char *data, size_t size, size_t count, void *ctx)
{
    struct fetch *f = ctx;
    size_t n = size * count, room = f->max - f->len;
    if (f->counts) {
        f->counted += (int64_t)n;
        return n;
    }
    f->cut |= n > room;
    if (n > room) n = room;
    if (f->len + n + 1 > f->cap) {
        size_t cap = 2 * (f->len + n + 1);
        char *more = realloc(f->body, cap);
        if (!more) return 0;
        f->body = more;
        f->cap = cap;
    }
    memcpy(f->body + f->len, data, n);
    f->len += n;
    f->body[f->len] = '\0';
    return f->cut ? 0 : n;
}

static int absolute(char **out, const struct fetch *f, const char *url, struct err *e)
{
    CURLU *u = f->base ? curl_url_dup(f->base) : curl_url();
    if (!u) return err_set(e, ERR_MEMORY, "no memory for a URL");
    CURLUcode rc = curl_url_set(u, CURLUPART_URL, url, 0);
    if (!rc) rc = curl_url_get(u, CURLUPART_URL, out, 0);
    curl_url_cleanup(u);
    return rc ? err_field(e, ERR_INVALID, url, "%s", curl_url_strerror(rc)) : 0;
}

/* One request; range NULL: all of it. The status, or < 0. */
static long request(struct fetch *f, const char *url, bool head, const char *range,
                    size_t max, struct err *e)
{
    char *full = NULL;
    if (++f->requests > FETCH_MAX)
        return err_field(e, ERR_RANGE, url, "more than %d requests", FETCH_MAX);
    int bad = absolute(&full, f, url, e);
    if (bad) return bad;
    f->len = 0;
    f->max = max;
    f->counted = 0;
    f->cut = f->refused = false;
    curl_easy_setopt(f->curl, CURLOPT_URL, full);
    curl_easy_setopt(f->curl, CURLOPT_NOBODY, head ? 1L : 0L);
    if (!head) curl_easy_setopt(f->curl, CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(f->curl, CURLOPT_RANGE, range);
    CURLcode rc = curl_easy_perform(f->curl);
    curl_free(full);

    long status = 0;
    curl_easy_getinfo(f->curl, CURLINFO_RESPONSE_CODE, &status);
    f->answered = !rc && status;
    if (f->refused)
        return err_field(e, ERR_INVALID, url,
                         "leads to a private address; only the URL on the command line "
                         "may be private");
    if (rc && !f->cut) return err_field(e, ERR_IO, url, "%s", curl_easy_strerror(rc));
    if (status == 200 || status == 206) return status;
    return err_field(e, status == 404 ? ERR_ABSENT : ERR_IO, url,
                     "answered with status %ld", status);
}

static char *take_body(struct fetch *f, size_t *len, struct err *e)
{
    char *body = f->body ? f->body : calloc(1, 1);
    *len = f->len;
    f->body = NULL;
    f->cap = 0;
    if (!body) err_set(e, ERR_MEMORY, "no memory for an answer");
    return body;
}

static char *get_all(struct fetch *f, const char *url, size_t *len, struct err *e)
{
    long status = request(f, url, false, NULL, VIDEO_FILE_MAX, e);
    if (status < 0) return NULL;
    if (!f->cut) return take_body(f, len, e);
    err_field(e, ERR_RANGE, url, "more than %zu bytes", VIDEO_FILE_MAX);
    return NULL;
}

/* ----------------------------------------------------------------------------- source */

/* The size in "Content-Range: bytes 0-0/1234"; -1: there is none. */
static curl_off_t range_total(CURL *curl)
{
    struct curl_header *h = NULL;
    curl_off_t total = -1;
    if (curl_easy_header(curl, "Content-Range", 0, CURLH_HEADER, -1, &h)) return -1;
    const char *slash = strrchr(h->value, '/');
    char *end = NULL;
    if (slash && slash[1] >= '0' && slash[1] <= '9') total = strtoll(slash + 1, &end, 10);
    return end && !*end ? total : -1;
}

/* Asks for one byte: the answer names the size, or has no range and is counted to its end. */
static int size_by_get(struct fetch *f, int64_t *bytes, const char *url, struct err *e)
{
    f->counts = true;
    long status = request(f, url, false, "0-0", VIDEO_FILE_MAX, e);
    f->counts = false;
    if (status < 0) return (int)status;
    *bytes = status == 206 ? range_total(f->curl) : f->counted;
    if (*bytes > 0) return 0;
    return err_field(e, ERR_IO, url, "neither HEAD nor GET says how long it is");
}

static int source_size(void *self, int64_t *bytes, const char *url, struct err *e)
{
    struct fetch *f = self;
    struct err refused = {0};
    curl_off_t length = -1;
    long status = request(f, url, true, NULL, VIDEO_FILE_MAX, &refused);
    if (f->refused || (status < 0 && !f->answered) || f->requests > FETCH_MAX)
        return err_field(e, refused.code, refused.field, "%s", refused.detail);
    if (status > 0)
        curl_easy_getinfo(f->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    *bytes = length;
    /* some servers refuse HEAD, others leave out Content-Length or say 0 */
    return length > 0 ? 0 : size_by_get(f, bytes, url, e);
}

/* Without ranges the whole is read up to the end of the part, which is moved to the front. */
static char *whole_part(struct fetch *f, const char *url, int64_t from, size_t max,
                        size_t *len, struct err *e)
{
    if (from > (int64_t)(VIDEO_FILE_MAX - max)) {
        err_field(
            e, ERR_RANGE, url,
            "the server does not answer Range requests, and the part at byte %lld is "
            "behind the first %zu bytes",
            (long long)from, VIDEO_FILE_MAX);
        return NULL;
    }
    if (request(f, url, false, NULL, (size_t)from + max, e) < 0) return NULL;
    size_t skip = f->len < (size_t)from ? f->len : (size_t)from;
    if (f->body) memmove(f->body, f->body + skip, f->len - skip + 1);
    f->len -= skip;
    return take_body(f, len, e);
}

static char *source_read(void *self, const char *url, int64_t from, size_t max,
                         size_t *len, struct err *e)
{
    struct fetch *f = self;
    if (!from && max >= VIDEO_FILE_MAX) return get_all(f, url, len, e);
    char range[64];
    snprintf(range, sizeof range, "%lld-%lld", (long long)from,
             (long long)from + (long long)max - 1);
    long status = request(f, url, false, range, max, e);
    if (status < 0) return NULL;
    if (status == 206 || !from) return take_body(f, len, e);
    return whole_part(f, url, from, max, len, e);
}

static bool source_found(void *self, char url[SEGMENTS_URL])
{
    struct fetch *f = self;
    long redirects = 0;
    const char *at = NULL;
    curl_easy_getinfo(f->curl, CURLINFO_REDIRECT_COUNT, &redirects);
    if (!redirects || curl_easy_getinfo(f->curl, CURLINFO_EFFECTIVE_URL, &at) || !at)
        return true;
    return snprintf(url, SEGMENTS_URL, "%s", at) < SEGMENTS_URL;
}

static bool source_progress(void *self, double share)
{
    struct fetch *f = self;
    char note[32];
    snprintf(note, sizeof note, "%d requests", f->requests);
    progress_show(&f->bar, share, note);
    return interrupt_seen();
}

struct segments_source fetch_source(struct fetch *f)
{
    return (struct segments_source){.self = f,
                                    .must = true,
                                    .size = source_size,
                                    .read = source_read,
                                    .found = source_found,
                                    .progress = source_progress};
}

static void fetch_options(struct fetch *f)
{
    curl_easy_setopt(f->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(f->curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(f->curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(f->curl, CURLOPT_MAXREDIRS, REDIRECTS);
    curl_easy_setopt(f->curl, CURLOPT_PROXY, "");
    curl_easy_setopt(f->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(f->curl, CURLOPT_TIMEOUT, TIMEOUT_S);
    curl_easy_setopt(f->curl, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
    curl_easy_setopt(f->curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(f->curl, CURLOPT_OPENSOCKETDATA, f);
    curl_easy_setopt(f->curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(f->curl, CURLOPT_HEADERDATA, f);
    curl_easy_setopt(f->curl, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(f->curl, CURLOPT_WRITEDATA, f);
}

struct fetch *fetch_new(const char *url, bool quiet, char **text, size_t *len,
                        struct err *e)
{
    struct fetch *f = calloc(1, sizeof *f);
    if (f) f->curl = curl_easy_init();
    if (!f || !f->curl) {
        err_set(e, ERR_MEMORY, "no memory to fetch");
        goto fail;
    }
    fetch_options(f);
    f->named_host = true;
    progress_init(&f->bar, "video", quiet);
    *text = get_all(f, url, len, e);
    f->named_host = false;
    if (!*text) goto fail;

    const char *found = NULL; /* after redirects */
    curl_easy_getinfo(f->curl, CURLINFO_EFFECTIVE_URL, &found);
    f->base = curl_url();
    if (f->base && !curl_url_set(f->base, CURLUPART_URL, found ? found : url, 0))
        return f;
    free(*text);
    *text = NULL;
    err_set(e, ERR_MEMORY, "no memory for a URL");
fail:
    fetch_free(f);
    return NULL;
}

void fetch_free(struct fetch *f)
{
    if (!f) return;
    progress_end(&f->bar);
    curl_url_cleanup(f->base);
    curl_easy_cleanup(f->curl);
    free(f->body);
    free(f);
}

int fetch_reach(const char *url, struct err *e)
{
    CURL *c = curl_easy_init();
    if (!c) return err_set(e, ERR_MEMORY, "no memory to connect");
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_CONNECT_ONLY, 1L);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c, CURLOPT_PROXY, "");
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_TIMEOUT, CONNECT_S);
    CURLcode rc = curl_easy_perform(c);
    curl_easy_cleanup(c);
    return rc ? err_field(e, ERR_IO, url, "%s", curl_easy_strerror(rc)) : 0;
}

#include "cli/emulate/backend.h"

#include <assert.h>
#include <curl/curl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/interrupt.h"

static const long TIMEOUT_MS = 10000;
static const double WAIT_MAX_S = 5; /* before a request is sent again */
enum { TRIES = 8 };
static const size_t ANSWER_MAX = (size_t)64 << 20; /* weights are the largest answer */

struct remote {
    CURL *curl;
    struct curl_slist *headers;
    char url[512];
    char *body; /* answer of the last request, NUL-terminated, owned */
    size_t n, cap;
};

static size_t remote_receive(char *data, size_t size, size_t count, void *ctx)
{
    struct remote *d = ctx;
    size_t n = size * count;
    if (d->n + n > ANSWER_MAX) return 0;
    if (d->n + n + 1 > d->cap) {
        size_t cap = 2 * (d->n + n + 1);
        char *more = realloc(d->body, cap);
        if (!more) return 0;
        d->body = more;
        d->cap = cap;
    }
    memcpy(d->body + d->n, data, n);
    d->n += n;
    d->body[d->n] = '\0';
    return n;
}

static int status_code(long status)
{
    switch (status) {
    case 400:
        return ERR_INVALID;
    case 404:
        return ERR_ABSENT;
    case 409:
        return ERR_CONFLICT;
    case 429:
    case 503:
        return ERR_FULL;
    default:
        return ERR_IO;
    }
}

static int remote_refused(const struct remote *d, const char *path, long status,
                          struct err *e)
{
    json_t *j = json_loadb(d->body, d->n, 0, NULL);
    const char *field = json_string_value(json_object_get(j, "field"));
    const char *detail = json_string_value(json_object_get(j, "detail"));
    int rc = err_field(e, status_code(status), field ? field : "",
                       "%s%s answered with status %ld: %s", d->url, path, status,
                       detail ? detail : "(no detail)");
    json_decref(j);
    return rc;
}

/* A daemon whose disk is slow answers 503 with Retry-After. It has not changed anything then, so the
 * same request is sent again. */
static CURLcode remote_perform(long *status, struct remote *d)
{
    for (int tries = 0;; tries++) {
        d->n = 0;
        CURLcode rc = curl_easy_perform(d->curl);
        if (rc) return rc;
        curl_off_t wait_s = 0;
        curl_easy_getinfo(d->curl, CURLINFO_RESPONSE_CODE, status);
        curl_easy_getinfo(d->curl, CURLINFO_RETRY_AFTER, &wait_s);
        if (*status != 503 || !wait_s || tries == TRIES) return CURLE_OK;
        if (interrupt_wait(wait_s < WAIT_MAX_S ? (double)wait_s : WAIT_MAX_S))
            return CURLE_OK;
    }
}

/* Sends body (taken; NULL for GET) and leaves the answer in d->body. */
static int remote_request(struct remote *d, const char *path, json_t *body, struct err *e)
{
    char url[1024];
    snprintf(url, sizeof url, "%s%s", d->url, path);
    char *text = body ? json_dumps(body, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    bool lost = body && !text;
    json_decref(body);
    if (lost) return err_set(e, ERR_MEMORY, "out of memory");

    curl_easy_setopt(d->curl, CURLOPT_URL, url);
    if (text) {
        curl_easy_setopt(d->curl, CURLOPT_POSTFIELDS, text);
        curl_easy_setopt(d->curl, CURLOPT_POSTFIELDSIZE, (long)strlen(text));
    } else {
        curl_easy_setopt(d->curl, CURLOPT_HTTPGET, 1L);
    }
    long status = 0;
    CURLcode rc = remote_perform(&status, d);
    free(text);
    if (rc)
        return err_field(e, ERR_IO, "--server", "%s: %s; is `abrd serve` running?", url,
                         curl_easy_strerror(rc));
    return status >= 200 && status < 300 ? 0 : remote_refused(d, path, status, e);
}

/* The answer's JSON, owned; NULL and e on failure. */
static json_t *remote_json(struct remote *d, const char *path, json_t *body,
                           struct err *e)
{
    if (remote_request(d, path, body, e)) return NULL;
    json_t *j = json_loadb(d->body, d->n, 0, NULL);
    if (!json_is_object(j)) {
        err_field(e, ERR_IO, "--server", "%s%s did not answer with a JSON object", d->url,
                  path);
        json_decref(j);
        return NULL;
    }
    return j;
}

static json_t *numbers(const double *x, int n)
{
    json_t *a = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(a, json_real(x[i]));
    return a;
}

static json_t *outcome_json(const struct outcome *o)
{
    return json_pack("{si si sI sf sf}", "chunk", o->chunk, "level", o->level, "bytes",
                     (json_int_t)o->bytes, "download_s", o->download_s, "rebuffer_s",
                     o->rebuffer_s);
}

static int read_answer(struct answer *a, const json_t *j, const char *url, struct err *e)
{
    json_t *chunk = json_object_get(j, "chunk"), *level = json_object_get(j, "level");
    if (!json_is_integer(chunk) || !json_is_integer(level) ||
        json_integer_value(level) < 0 || json_integer_value(level) >= VIEW_LEVELS)
        return err_field(e, ERR_IO, "--server", "%s: the answer lacks chunk and level",
                         url);

    *a = (struct answer){
        .chunk = (int)json_integer_value(chunk),
        .level = (int)json_integer_value(level),
        .kbps = json_number_value(json_object_get(j, "kbps")),
        .policy = (uint64_t)json_integer_value(json_object_get(j, "policy")),
        .expert = (int)json_integer_value(json_object_get(j, "expert")),
        .value = json_number_value(json_object_get(j, "value")),
        .entropy = json_number_value(json_object_get(j, "entropy")),
    };
    const char *mode = json_string_value(json_object_get(j, "mode"));
    a->sampled = mode && strcmp(mode, "sample") == 0;
    const char *by = json_string_value(json_object_get(j, "by"));
    for (int i = 0; by && i < BY_WAYS; i++)
        if (strcmp(by, service_by_name((enum service_by)i)) == 0)
            a->by = (enum service_by)i;
    const json_t *prob = json_object_get(j, "probabilities");
    a->levels = (int)json_array_size(prob);
    if (a->levels > VIEW_LEVELS) a->levels = VIEW_LEVELS;
    for (int i = 0; i < a->levels; i++)
        a->prob[i] = json_number_value(json_array_get(prob, (size_t)i));
    return 0;
}

static int remote_open(void *self, struct session_opened *out,
                       const struct session_open *in, struct err *e)
{
    struct remote *d = self;
    json_t *body = json_pack("{so sf si sf}", "ladder_kbps",
                             numbers(in->ladder_kbps, in->levels), "chunk_s", in->chunk_s,
                             "chunks", in->chunks, "buffer_max_s", in->buffer_max_s);
    if (in->has_mu && in->qoe.utility == QOE_POINTS) {
        double weight[QOE_WEIGHTS];
        json_t *weights = json_object();
        qoe_weights(weight, &in->qoe);
        for (int i = 0; i < QOE_WEIGHTS; i++)
            json_object_set_new(weights, qoe_weight_names[i], json_real(weight[i]));
        json_object_set_new(body, "weights", weights);
    } else if (in->has_mu) {
        double mu[3] = {in->qoe.mu_quality, in->qoe.mu_switch, in->qoe.mu_stall};
        json_object_set_new(body, "mu", numbers(mu, 3));
        json_object_set_new(body, "utility",
                            json_string(qoe_utility_name(in->qoe.utility)));
    } else if (in->profile[0]) {
        json_object_set_new(body, "profile", json_string(in->profile));
    }
    if (in->has_key) json_object_set_new(body, "key", json_integer((json_int_t)in->key));
    if (in->has_next)
        json_object_set_new(body, "next_bytes", numbers(in->next_bytes, in->levels));
    if (in->content_id[0])
        json_object_set_new(body, "content_id", json_string(in->content_id));

    json_t *j = remote_json(d, "/v1/sessions", body, e);
    if (!j) return e ? e->code : ERR_IO;
    memset(out, 0, sizeof *out);
    const char *id = json_string_value(json_object_get(j, "session"));
    const char *profile = json_string_value(json_object_get(j, "profile"));
    int rc = read_answer(&out->first, j, d->url, e);
    if (!rc && (!id || strlen(id) >= SERVICE_ID))
        rc = err_field(e, ERR_IO, "--server", "%s: the answer lacks a session", d->url);
    if (!rc) {
        strcpy(out->session, id);
        snprintf(out->profile, sizeof out->profile, "%s", profile ? profile : "");
    }
    json_decref(j);
    return rc;
}

static int remote_ask(void *self, struct answer *out, const char *session,
                      const struct question *q, struct err *e)
{
    struct remote *d = self;
    json_t *body = json_pack("{si sf}", "chunk", q->chunk, "buffer_s", q->buffer_s);
    if (q->has_last) json_object_set_new(body, "last", outcome_json(&q->last));
    if (q->has_next) {
        int n = VIEW_LEVELS;
        while (n > 0 && q->next_bytes[n - 1] <= 0)
            n--;
        json_object_set_new(body, "next_bytes", numbers(q->next_bytes, n));
    }

    char path[128];
    snprintf(path, sizeof path, "/v1/sessions/%s/decisions", session);
    json_t *j = remote_json(d, path, body, e);
    if (!j) return e ? e->code : ERR_IO;
    int rc = read_answer(out, j, d->url, e);
    json_decref(j);
    return rc;
}

static int remote_reward(void *self, struct reward_out *out, const char *session,
                         const struct reward_in *in, struct err *e)
{
    struct remote *d = self;
    json_t *body = in->has_outcome
                       ? outcome_json(&in->outcome)
                       : json_pack("{si sf}", "chunk", in->chunk, "reward", in->external);
    if (in->final) json_object_set_new(body, "final", json_true());
    if (in->profile[0]) json_object_set_new(body, "profile", json_string(in->profile));

    char path[128];
    snprintf(path, sizeof path, "/v1/sessions/%s/rewards", session);
    json_t *j = remote_json(d, path, body, e);
    if (!j) return e ? e->code : ERR_IO;
    *out = (struct reward_out){
        .chunk = (int)json_integer_value(json_object_get(j, "chunk")),
        .reward = json_number_value(json_object_get(j, "reward")),
        .followed = json_is_true(json_object_get(j, "followed")),
        .repeated = json_is_true(json_object_get(j, "repeated")),
    };
    json_decref(j);
    return 0;
}

static int remote_weights(void *self, const char *added, void **out, size_t *n,
                          struct err *e)
{
    assert(!added); /* a profile cannot be put here (backend.h: grow) */
    struct remote *d = self;
    int rc = remote_request(d, "/v1/policy/weights", NULL, e);
    if (rc) return rc;
    *out = d->body;
    *n = d->n;
    d->body = NULL;
    d->cap = d->n = 0;
    return 0;
}

/* the daemon has its own clock and its own learner */
static int remote_turn(void *self, double seconds, struct err *e)
{
    (void)self, (void)seconds, (void)e;
    return 0;
}

static void remote_free(void *self)
{
    struct remote *d = self;
    if (!d) return;
    curl_easy_cleanup(d->curl);
    curl_slist_free_all(d->headers);
    free(d->body);
    free(d);
}

int backend_remote(struct backend *out, const char *url, struct err *e)
{
    size_t n = strlen(url);
    while (n && url[n - 1] == '/')
        n--;
    struct remote *d = calloc(1, sizeof *d);
    if (!d) return err_set(e, ERR_MEMORY, "out of memory");
    if (n >= sizeof d->url || strncmp(url, "http", 4) != 0) {
        free(d);
        return err_field(e, ERR_INVALID, "--server",
                         "'%.80s' is not a URL like http://127.0.0.1:8080", url);
    }
    memcpy(d->url, url, n);

    d->curl = curl_easy_init();
    d->headers = curl_slist_append(NULL, "Content-Type: application/json");
    if (!d->curl || !d->headers) {
        remote_free(d);
        return err_set(e, ERR_MEMORY, "out of memory");
    }
    curl_easy_setopt(d->curl, CURLOPT_HTTPHEADER, d->headers);
    curl_easy_setopt(d->curl, CURLOPT_WRITEFUNCTION, remote_receive);
    curl_easy_setopt(d->curl, CURLOPT_WRITEDATA, d);
    curl_easy_setopt(d->curl, CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
    curl_easy_setopt(d->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(d->curl, CURLOPT_TCP_NODELAY, 1L);

    *out = (struct backend){.self = d,
                            .open = remote_open,
                            .ask = remote_ask,
                            .reward = remote_reward,
                            .weights = remote_weights,
                            .turn = remote_turn,
                            .free = remote_free};
    return 0;
}

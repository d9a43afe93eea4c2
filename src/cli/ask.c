#include "cli/ask.h"

#include <curl/curl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/serve_options.h"

static const long ASK_TIMEOUT_S = 30;
static const size_t ASK_MOST = (size_t)16 << 20;

struct heard {
    char *text;
    size_t n;
};

static size_t ask_receive(char *data, size_t size, size_t count, void *ctx)
{
    struct heard *h = ctx;
    size_t n = size * count;
    if (h->n + n > ASK_MOST) return 0;
    char *more = realloc(h->text, h->n + n + 1);
    if (!more) return 0;
    memcpy(more + h->n, data, n);
    h->text = more;
    h->n += n;
    h->text[h->n] = '\0';
    return n;
}

static int ask_code(long status)
{
    static const struct {
        long status;
        int code;
    } of[] = {{400, ERR_INVALID},
              {404, ERR_ABSENT},
              {409, ERR_CONFLICT},
              {429, ERR_FULL},
              {503, ERR_FULL}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (of[i].status == status) return of[i].code;
    return ERR_IO;
}

static int ask_refused(const struct heard *h, long status, const char *url, struct err *e)
{
    json_t *j = h->text ? json_loadb(h->text, h->n, 0, NULL) : NULL;
    const char *field = json_string_value(json_object_get(j, "field"));
    const char *detail = json_string_value(json_object_get(j, "detail"));
    int rc = err_field(e, ask_code(status), field && *field ? field : url, "%s%s",
                       detail ? detail : "the daemon refused the request",
                       status == 401 ? ": name its token with --token-file" : "");
    json_decref(j);
    return rc;
}

int ask(char **answer, const struct ask_cfg *cfg, const char *method, const char *path,
        const char *body, struct err *e)
{
    char url[1024], token[SERVE_OPTIONS_TOKEN] = "", bearer[SERVE_OPTIONS_TOKEN + 32];
    size_t n = strlen(cfg->url);
    while (n && cfg->url[n - 1] == '/')
        n--;
    snprintf(url, sizeof url, "%.*s%s", (int)(n < 900 ? n : 900), cfg->url, path);
    int rc = cfg->token_file ? serve_options_token(token, cfg->token_file, e) : 0;
    if (rc) return rc;

    struct heard heard = {0};
    struct curl_slist *headers = NULL;
    CURL *curl = curl_easy_init();
    if (!curl) return err_set(e, ERR_MEMORY, "no memory for a request");
    snprintf(bearer, sizeof bearer, "Authorization: Bearer %s", token);
    if (token[0]) headers = curl_slist_append(headers, bearer);
    if (body) headers = curl_slist_append(headers, "Content-Type: application/json");
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT,
                     cfg->timeout_s ? (long)cfg->timeout_s : ASK_TIMEOUT_S);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ask_receive);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &heard);
    if (body) curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    CURLcode code = curl_easy_perform(curl);
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    if (code)
        rc = err_field(e, ERR_IO, url, "%s; is `abrd serve` running?",
                       curl_easy_strerror(code));
    else if (status < 200 || status > 299)
        rc = ask_refused(&heard, status, url, e);
    if (!rc && !heard.text && !(heard.text = calloc(1, 1)))
        rc = err_set(e, ERR_MEMORY, "no memory for an answer");
    if (rc) {
        free(heard.text);
        heard.text = NULL;
    }
    *answer = heard.text;
    return rc;
}

/* The API over loopback: every rule that holds for all routes, and that the wire changes no
 * answer. What single routes say and refuse is tested against the program in test/http. */
#include "serve/parts.h"
#include "serve/http/api.h"

#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abr/emulator/feat.h"
#include "policy/policy.h"
#include "learn/ckpt.h"
#include "serve/http/node.h"
#include "serve/http/worker.h"
#include "support/alloc.h"
#include "support/raw.h"
#include "support/suites.h"
#include "support/tmpdir.h"

static char dir[256], weights[512];
static struct service *behind, *direct; /* two services that were made alike */
static struct service_worker *scratch;
static struct node *node;
static struct raw_answer a;

static struct service *make_service(void)
{
    struct err e = {0};
    struct service_cfg cfg = service_cfg_default();
    cfg.policy_path = weights;
    cfg.seed = 11;
    cfg.explore_share = 0.5;
    cfg.learn = false;
    struct service *s = service_new(&cfg, &e);
    ck_assert_msg(s != NULL, "%s: %s", e.field, e.detail);
    return s;
}

static void setup(void)
{
    struct err e = {0};
    snprintf(dir, sizeof dir, "%s", tmpdir_new());
    snprintf(weights, sizeof weights, "%s/p.safetensors", dir);
    struct policy_cfg pc = policy_cfg_default(feat_dim(FEAT_FULL));
    struct policy *p = policy_new(&pc, &e);
    policy_init(p, 5);
    ck_assert_int_eq(ckpt_save(weights, p, NULL, NULL, 0, &e), 0);
    policy_free(p);

    behind = make_service();
    direct = make_service();
    scratch = service_worker_new(direct, &e);
    struct node_cfg cfg = node_cfg_default();
    cfg.port = 0;
    cfg.workers = 2;
    cfg.host = "video.example";
    cfg.allow_origin = "https://player.example";
    cfg.token = "0123456789abcdef";
    node = node_start(&cfg, behind, &e);
    ck_assert_msg(node != NULL, "%s: %s", e.field, e.detail);
}

static void teardown(void)
{
    node_stop(node);
    service_worker_free(scratch);
    service_free(direct);
    service_free(behind);
    tmpdir_remove(dir);
}

/* method and path, further header lines, body */
static int ask(const char *line, const char *headers, const char *body)
{
    char text[8192];
    int n =
        snprintf(text, sizeof text,
                 "%s HTTP/1.1\r\n%s%sContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
                 line, strstr(headers, "Host:") ? "" : "Host: localhost\r\n", headers,
                 strlen(body), body);
    ck_assert_int_lt(n, (int)sizeof text);
    raw_ask(&a, node_port(node), text);
    return a.status;
}

#define OPEN                                                                      \
    "{\"ladder_kbps\":[300,750,1200,1850,2850,4300],\"chunk_s\":4,\"chunks\":24," \
    "\"profile\":\"news\",\"key\":%d}"

/* ---- the description ---- */

static const char *const methods[] = {"get", "head", "post", "put", "delete", "options"};

/* "/demo/{link}/{file...}" and "{path*}" are written without dots and star there */
static void described_path(char *out, size_t n, const char *pattern)
{
    const char *dots = strpbrk(pattern, ".*");
    if (dots)
        snprintf(out, n, "%.*s}", (int)(dots - pattern), pattern);
    else
        snprintf(out, n, "%s", pattern);
}

enum { PARTS = 5 };          /* of a whole build */
static struct route *routes; /* of the core and of the parts */
static int n_routes;

static const struct route *row_of(const char *path, const char *method)
{
    char own[128];
    for (const struct route *r = routes; r->path; r++) {
        described_path(own, sizeof own, r->path);
        if (strcmp(own, path) == 0 && strcmp(methods[r->method], method) == 0) return r;
    }
    return NULL;
}

TEST(openapi_and_the_route_table_agree)
{
    routes = api_all_routes(&n_routes, NULL);
    ck_assert_ptr_nonnull(routes);
    json_error_t why;
    json_t *doc = json_load_file("web/openapi.json", JSON_REJECT_DUPLICATES, &why);
    ck_assert_msg(doc != NULL, "web/openapi.json:%d: %s", why.line, why.text);
    json_t *paths = json_object_get(doc, "paths"), *item, *operation;
    ck_assert_uint_gt(json_object_size(paths), 0);

    char path[128];
    for (const struct route *r = routes; r->path; r++) {
        described_path(path, sizeof path, r->path);
        operation = json_object_get(json_object_get(paths, path), methods[r->method]);
        ck_assert_msg(operation != NULL, "%s %s is not described", methods[r->method],
                      path);
        ck_assert_msg((json_object_get(operation, "security") != NULL) ==
                          ((r->flags & ROUTE_AUTH) != 0),
                      "%s %s: security", methods[r->method], path);
    }

    const char *name, *method;
    int n = 0;
    json_object_foreach(paths, name, item)
    {
        json_object_foreach(item, method, operation)
        {
            const struct route *r = row_of(name, method);
            if (!r && parts_n() < PARTS) continue; /* of a part that is left out */
            ck_assert_msg(r != NULL, "%s %s has no route", method, name);
            n++;

            /* each {parameter} of the path is listed */
            json_t *params = json_object_get(operation, "parameters"), *param;
            size_t i;
            int in_path = 0, braces = 0;
            json_array_foreach(
                params, i,
                param) if (strcmp(json_string_value(json_object_get(param, "in")),
                                  "path") == 0) in_path++;
            for (const char *c = name; *c; c++)
                braces += *c == '{';
            ck_assert_msg(in_path == braces, "%s %s: parameters", method, name);
        }
    }
    ck_assert_int_eq(n, n_routes);
    json_decref(doc);
    free(routes);
}

/* ---- the wire changes nothing but the seventh decimal ---- */

static void rounded_from(const json_t *j, double want)
{
    ck_assert(json_is_number(j));
    ck_assert_double_eq_tol(json_number_value(j), want, .5000001e-6);
}

static void same_answer(const json_t *j, const struct answer *want)
{
    ck_assert_int_eq(json_integer_value(json_object_get(j, "chunk")), want->chunk);
    ck_assert_int_eq(json_integer_value(json_object_get(j, "level")), want->level);
    ck_assert_int_eq(json_integer_value(json_object_get(j, "expert")), want->expert);
    ck_assert_int_eq(json_integer_value(json_object_get(j, "policy")), (int)want->policy);
    ck_assert(json_number_value(json_object_get(j, "kbps")) == want->kbps);
    rounded_from(json_object_get(j, "value"), want->value);
    rounded_from(json_object_get(j, "entropy"), want->entropy);
    ck_assert_str_eq(json_string_value(json_object_get(j, "mode")),
                     want->sampled ? "sample" : "greedy");
    const json_t *p = json_object_get(j, "probabilities");
    ck_assert_uint_eq(json_array_size(p), (size_t)want->levels);
    for (int i = 0; i < want->levels; i++)
        rounded_from(json_array_get(p, (size_t)i), want->prob[i]);
}

static json_t *body_json(void)
{
    json_t *j = json_loads(a.body, 0, NULL);
    ck_assert_msg(json_is_object(j), "%s", a.body);
    return j;
}

TEST(answers_are_the_same_over_http)
{
    int sampled = 0;
    for (int key = 0; key < 6; key++) {
        struct err e = {0};
        struct session_open in = {.levels = 6,
                                  .chunk_s = 4.0,
                                  .chunks = 24,
                                  .buffer_max_s = 60.0,
                                  .profile = "news",
                                  .has_key = true,
                                  .key = (uint64_t)key,
                                  .ladder_kbps = {300, 750, 1200, 1850, 2850, 4300}};
        struct session_opened opened;
        ck_assert_int_eq(service_open(&opened, direct, scratch, &in, &e), 0);

        char body[512], line[128], id[SERVICE_ID];
        snprintf(body, sizeof body, OPEN, key);
        ck_assert_int_eq(ask("POST /v1/sessions", "", body), 201);
        json_t *j = body_json();
        same_answer(j, &opened.first);
        ck_assert(json_is_true(json_object_get(j, "explores")) == opened.explores);
        snprintf(id, sizeof id, "%s", json_string_value(json_object_get(j, "session")));
        json_decref(j);

        struct answer want = opened.first;
        double buffer_s = 0.0;
        for (int chunk = 1; chunk < 24; chunk++) {
            /* numbers that need all their digits */
            double download_s = 0.1 + (double)((chunk * 7 + key) % 11) / 3.0;
            struct question q = {.chunk = chunk,
                                 .buffer_s = buffer_s,
                                 .has_last = true,
                                 .last = {.chunk = chunk - 1,
                                          .level = want.level,
                                          .bytes = 100000 + 12345 * chunk,
                                          .download_s = download_s,
                                          .rebuffer_s = 0.1}};
            snprintf(line, sizeof line, "POST /v1/sessions/%s/decisions", id);
            snprintf(
                body, sizeof body,
                "{\"chunk\":%d,\"buffer_s\":%.17g,\"last\":{\"chunk\":%d,\"level\":%d,"
                "\"bytes\":%d,\"download_s\":%.17g,\"rebuffer_s\":%.17g}}",
                chunk, buffer_s, chunk - 1, want.level, 100000 + 12345 * chunk,
                download_s, 0.1);
            ck_assert_int_eq(service_ask(&want, direct, scratch, opened.session, &q, &e),
                             0);
            ck_assert_int_eq(ask(line, "", body), 200);
            j = body_json();
            same_answer(j, &want);
            json_decref(j);
            sampled += want.sampled;
            buffer_s = 1.0 + (double)chunk / 7.0;
        }
    }
    ck_assert_int_gt(sampled, 0); /* else half of the rule was not tried */
}

/* ---- rules for every route ---- */

/* ---- no heap call ---- */

static void handle(struct api *to, struct reply *r, const char *path, const char *body)
{
    struct http_request q = {
        .method = HTTP_POST, .path = path, .body = body, .n_body = strlen(body)};
    reply_init(r);
    api_handle(to, &q, r);
}

/* The number behind this key of the answer, which need not end with a NUL. */
static int number_in(const struct reply *r, const char *key)
{
    char text[2048];
    ck_assert_uint_lt(r->n, sizeof text);
    memcpy(text, r->data, r->n);
    text[r->n] = '\0';
    const char *at = strstr(text, key);
    ck_assert_msg(at != NULL, "no %s in %s", key, text);
    return atoi(at + strlen(key));
}

/* From the parsed request to the reply: question, decision and outcome, rewards, and the
 * question without a session. */
TEST(answers_allocate_nothing)
{
    struct err e = {0};
    struct auth *auth = auth_new("127.0.0.1", "", "", NULL, &e);
    struct events *events = events_new(4, &e);
    struct metrics *metrics = metrics_new(1, api_routes, 0, API_VERSION, &e);
    struct admit_cfg limits = admit_cfg_default();
    struct admit *admit = admit_new(&limits, &e);
    struct api_shared shared = {.service = direct,
                                .auth = auth,
                                .admit = admit,
                                .events = events,
                                .metrics = metrics,
                                .routes = api_routes,
                                .default_profile = "pensieve"};
    struct api api;
    static struct reply r;
    ck_assert_int_eq(api_init(&api, &shared, 0, -1, &e), 0);

    char id[64], path[128], rewards[128], body[1024];
    snprintf(body, sizeof body, OPEN, 3);
    handle(&api, &r, "/v1/sessions", body);
    ck_assert_int_eq(r.status, 201);
    ck_assert_int_eq(sscanf(r.data, "{\"session\":\"%32[0-9a-f]", id), 1);
    snprintf(path, sizeof path, "/v1/sessions/%s/decisions", id);
    snprintf(rewards, sizeof rewards, "/v1/sessions/%s/rewards", id);
    int level = number_in(&r, "\"level\":");

    long calls = 0;
    for (int k = 1; k < 23; k++) {
        snprintf(body, sizeof body,
                 "{\"chunk\":%d,\"buffer_s\":%d.25,\"last\":{\"chunk\":%d,\"level\":%d,"
                 "\"bytes\":%d,\"download_s\":1.125,\"rebuffer_s\":0},"
                 "\"next_bytes\":[148213,370411,598213,923100,null,2148123]}",
                 k, 4 + k % 20, k - 1, level, 300000 + k);
        alloc_watch();
        handle(&api, &r, path, body);
        calls += alloc_calls();
        ck_assert_int_eq(r.status, 200);
        level = number_in(&r, "\"level\":");
    }
    snprintf(body, sizeof body,
             "{\"chunk\":22,\"level\":%d,\"bytes\":250000,\"download_s\":0.75,"
             "\"rebuffer_s\":0.5}",
             level);
    alloc_watch();
    handle(&api, &r, rewards, body);
    calls += alloc_calls();
    ck_assert_int_eq(r.status, 200);
    alloc_watch();
    handle(
        &api, &r, "/v1/decide",
        "{\"ladder_kbps\":[300,750,1200,1850,2850,4300],\"chunk_s\":4,\"buffer_s\":9.5,"
        "\"throughput_kbps\":[2113.5,1999.25],\"download_s\":[1.25,2.125],"
        "\"last_level\":2,\"profile\":\"news\"}");
    calls += alloc_calls();
    ck_assert_int_eq(r.status, 200);
    ck_assert_int_eq(calls, 0);

    /* the count does count: a refusal brings a body of its own */
    alloc_watch();
    handle(&api, &r, path, "{}");
    ck_assert_int_gt(alloc_calls(), 0);
    ck_assert_int_eq(r.status, 400);
    reply_drop(&r);
    api_clear(&api);
    admit_free(admit);
    metrics_free(metrics);
    events_free(events);
    auth_free(auth);
}

TEST(hosts_that_are_not_ours)
{
    ck_assert_int_eq(ask("GET /healthz", "Host: evil.example\r\n", ""), 403);
    ck_assert_ptr_nonnull(strstr(a.body, "\"field\":\"Host\""));
    ck_assert_int_eq(ask("GET /healthz", "Host: video.example:80\r\n", ""), 200);
    ck_assert_int_eq(ask("GET /healthz", "Host: 127.0.0.1:1\r\n", ""), 200);
}

TEST(foreign_pages_may_not_write_nor_read)
{
    static const char foreign[] = "Origin: https://evil.example\r\n";
    char body[512];
    snprintf(body, sizeof body, OPEN, 1);
    ck_assert_int_eq(ask("POST /v1/sessions", foreign, body), 403);
    ck_assert_ptr_nonnull(strstr(a.body, "\"field\":\"Origin\""));
    ck_assert_int_eq(ask("POST /v1/sessions", "Origin: null\r\n", body), 403);
    ck_assert_int_eq(ask("OPTIONS /v1/sessions", foreign, ""), 403);
    ck_assert_int_eq(ask("GET /v1/policy", foreign, ""), 200);
    ck_assert_str_eq(raw_header(&a, "Access-Control-Allow-Origin"), "");
    ck_assert_str_eq(raw_header(&a, "Vary"), "Origin");

    struct service_stats s;
    service_stats(&s, behind);
    ck_assert_uint_eq(s.sessions_opened, 0);
}

TEST(allowed_pages_may)
{
    static const char player[] = "Origin: https://player.example\r\n";
    char body[512];
    snprintf(body, sizeof body, OPEN, 1);
    ck_assert_int_eq(ask("POST /v1/sessions", player, body), 201);
    ck_assert_str_eq(raw_header(&a, "Access-Control-Allow-Origin"),
                     "https://player.example");
    ck_assert_str_eq(raw_header(&a, "Access-Control-Allow-Credentials"), "true");
    ck_assert_int_eq(ask("POST /v1/sessions", player, "{"), 400);
    ck_assert_str_eq(raw_header(&a, "Access-Control-Allow-Origin"),
                     "https://player.example");
    ck_assert_int_eq(ask("POST /v1/sessions",
                         "Host: localhost:7\r\nOrigin: http://localhost:7\r\n", body),
                     201);

    ck_assert_int_eq(ask("OPTIONS /v1/profiles/x",
                         "Origin: https://player.example\r\n"
                         "Access-Control-Request-Method: PUT\r\n"
                         "Access-Control-Request-Private-Network: true\r\n",
                         ""),
                     204);
    ck_assert_str_eq(raw_header(&a, "Access-Control-Allow-Methods"),
                     "GET, HEAD, PUT, DELETE, OPTIONS");
    ck_assert_str_eq(raw_header(&a, "Access-Control-Allow-Private-Network"), "true");

    /* what a player of segments sends and reads */
    static const char *const sent[] = {", Range,", "If-Range,", "If-None-Match,",
                                       "If-Modified-Since,", "CMCD-Object,"};
    for (size_t i = 0; i < sizeof sent / sizeof *sent; i++)
        ck_assert_msg(strstr(raw_header(&a, "Access-Control-Allow-Headers"), sent[i]) !=
                          NULL,
                      "%s", sent[i]);
    static const char *const read[] = {"Accept-Ranges,", "Content-Range,", "ETag,"};
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        ck_assert_msg(strstr(raw_header(&a, "Access-Control-Expose-Headers"), read[i]) !=
                          NULL,
                      "%s", read[i]);
}

TEST(missing_paths_and_methods)
{
    ck_assert_int_eq(ask("POST /v1/nothing", "", "{}"), 404);
    ck_assert_int_eq(ask("GET /v1/nothing", "", ""), 404);
    ck_assert_int_eq(ask("PATCH /v1/decide", "", "{}"), 405);
    ck_assert_str_eq(raw_header(&a, "Allow"), "POST, OPTIONS");
    ck_assert_int_eq(ask("GET /v1/sessions", "", ""), 405);
    ck_assert_int_eq(ask("HEAD /healthz", "", ""), 200);
}

TEST(writing_profiles_needs_the_token)
{
    static const char token[] = "Authorization: Bearer 0123456789abcdef\r\n";
    ck_assert_int_eq(ask("PUT /v1/profiles/mine", "", "{\"mu\":[1,2,3]}"), 401);
    ck_assert_str_eq(raw_header(&a, "WWW-Authenticate"), "Bearer realm=\"abrd\"");
    ck_assert_int_eq(
        ask("DELETE /v1/profiles/mine", "Authorization: Bearer wrong\r\n", ""), 401);
    ck_assert_int_eq(ask("PUT /v1/profiles/mine", token, "{\"mu\":[1,2,3]}"), 201);
    ck_assert_int_eq(ask("PUT /v1/profiles/mine", token, "{\"mu\":[1,2,4]}"), 200);
    ck_assert_int_eq(ask("GET /v1/profiles/mine", "", ""), 200);
    ck_assert_int_eq(ask("DELETE /v1/profiles/mine", token, ""), 204);
    ck_assert_int_eq(ask("GET /v1/profiles/mine", "", ""), 404);
}

TEST(a_draining_daemon_takes_no_new_sessions)
{
    char body[512], line[128];
    snprintf(body, sizeof body, OPEN, 1);
    ck_assert_int_eq(ask("POST /v1/sessions", "", body), 201);
    json_t *j = body_json();
    snprintf(line, sizeof line, "POST /v1/sessions/%s/decisions",
             json_string_value(json_object_get(j, "session")));
    json_decref(j);
    ck_assert_int_eq(ask("GET /readyz", "", ""), 200);
    const char *bed = "{\"Type\":\"RL\",\"lastRequest\":0,\"lastquality\":1,\"buffer\":4,"
                      "\"bufferAdjusted\":0,\"bandwidthEst\":1000,\"RebufferTime\":0,"
                      "\"lastChunkStartTime\":0,\"lastChunkFinishTime\":1000,"
                      "\"lastChunkSize\":300000,"
                      "\"nextChunkSize\":[150000,375000,600000,925000,1425000,2150000]}";
    bool players = false; /* in this build? */
    for (int i = 0; i < parts_n(); i++)
        players |= strcmp(parts_at(i)->name, "players") == 0;
    ck_assert_int_eq(ask("POST /?client=old", "", bed), players ? 200 : 404);

    node_drain(node);
    ck_assert_int_eq(ask("POST /?client=new", "", bed), players ? 503 : 404);
    ck_assert_int_eq(ask("POST /v1/sessions", "", body), 503);
    ck_assert_str_ne(raw_header(&a, "Retry-After"), "");
    ck_assert_int_eq(ask("GET /readyz", "", ""), 503);
    ck_assert_int_eq(ask("GET /v1/events", "", ""), 503);
    ck_assert_int_eq(ask("GET /healthz", "", ""), 200);
    ck_assert_int_eq(ask(line, "", "{\"chunk\":1,\"buffer_s\":4}"), 200);
    ck_assert_str_eq(raw_header(&a, "Connection"), "close");
}

/* ---- metrics ---- */

/* every line is a comment or `name{labels} number`, every family has HELP and TYPE first */
static void check_exposition(const char *text)
{
    char family[128] = "";
    int samples = 0;
    for (const char *p = text; *p; p += strcspn(p, "\n") + 1) {
        char line[512], name[128];
        size_t n = strcspn(p, "\n");
        ck_assert_uint_lt(n, sizeof line);
        memcpy(line, p, n);
        line[n] = '\0';
        if (sscanf(line, "# HELP %127s", name) == 1) {
            snprintf(family, sizeof family, "%s", name);
            ck_assert_int_eq(strncmp(p + n + 1, "# TYPE ", 7), 0);
            continue;
        }
        if (line[0] == '#') continue;

        char *end, *space = strrchr(line, ' ');
        ck_assert_msg(space != NULL && strncmp(line, family, strlen(family)) == 0, "%s",
                      line);
        strtod(space + 1, &end);
        ck_assert_msg(end > space + 1 && *end == '\0', "%s", line);
        samples++;
    }
    ck_assert_int_gt(samples, 40);
}

TEST(metrics_are_prometheus_text_and_move)
{
    char body[512];
    snprintf(body, sizeof body, OPEN, 1);
    ask("POST /v1/sessions", "", body);
    ask("POST /v1/sessions", "", "{}");
    ask("GET /v1/nothing", "", "");
    ck_assert_int_eq(ask("GET /metrics", "", ""), 200);
    ck_assert_str_eq(raw_header(&a, "Content-Type"),
                     "text/plain; version=0.0.4; charset=utf-8");
    check_exposition(a.body);
    static const char *const wanted[] = {
        "abrd_sessions_opened_total 1\n",
        "abrd_http_requests_total{route=\"/v1/sessions\",method=\"POST\",code=\"201\"} "
        "1\n",
        "abrd_http_requests_total{route=\"/v1/sessions\",method=\"POST\",code=\"400\"} "
        "1\n",
        "abrd_http_request_seconds_count{route=\"/v1/sessions\",method=\"POST\"} 2\n",
        "abrd_http_request_seconds_bucket{route=\"/v1/"
        "sessions\",method=\"POST\",le=\"+Inf\"} "
        "2\n"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        ck_assert_msg(strstr(a.body, wanted[i]) != NULL, "no %s", wanted[i]);
}

/* ---- starting ---- */

TEST(a_node_refuses_bad_settings)
{
    struct err e = {0};
    struct node_cfg cfg = node_cfg_default();
    cfg.port = node_port(node);
    ck_assert_ptr_null(node_start(&cfg, direct, &e));
    ck_assert_int_eq(e.code, ERR_CONFLICT);
    ck_assert_str_eq(e.field, "port");

    e = (struct err){0};
    cfg.port = 0;
    cfg.bind = "0.0.0.0";
    ck_assert_ptr_null(node_start(&cfg, direct, &e));
    ck_assert_str_eq(e.field, "admin-token-file");

    e = (struct err){0};
    cfg.bind = "no.such.host.invalid";
    cfg.token = "0123456789abcdef";
    ck_assert_ptr_null(node_start(&cfg, direct, &e));
    ck_assert_str_eq(e.field, "bind");

    e = (struct err){0};
    cfg.bind = "127.0.0.1";
    cfg.allow_origin = "player.example";
    ck_assert_ptr_null(node_start(&cfg, direct, &e));
    ck_assert_str_eq(e.field, "allow-origin");

    e = (struct err){0};
    cfg.allow_origin = NULL;
    cfg.web_dir = "/no/such/folder";
    ck_assert_ptr_null(node_start(&cfg, direct, &e));
    ck_assert_int_eq(e.code, ERR_ABSENT);
}

TEST(a_request_in_progress_is_answered_before_the_end)
{
    /* the head arrives before the node's stop, the body after it */
    int fd = raw_connect(node_port(node)), other = raw_connect(node_port(node));
    raw_text(
        fd,
        "POST /v1/decide HTTP/1.1\r\nHost: h.localhost\r\nContent-Length: 2\r\n\r\n{");
    raw_text(other, "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    raw_head(&a, other);
    ck_assert_int_eq(a.status, 200);

    node_drain(node);
    raw_text(fd, "}");
    raw_answer(&a, fd);
    ck_assert_int_eq(a.status, 400);
    node_stop(node);
    node = NULL;
    close(fd);
    close(other);
}

SUITE_SET_UP(serve_http_api, 60, setup, teardown, openapi_and_the_route_table_agree,
             answers_are_the_same_over_http, answers_allocate_nothing,
             hosts_that_are_not_ours, foreign_pages_may_not_write_nor_read,
             allowed_pages_may, missing_paths_and_methods,
             writing_profiles_needs_the_token, a_draining_daemon_takes_no_new_sessions,
             metrics_are_prometheus_text_and_move, a_node_refuses_bad_settings,
             a_request_in_progress_is_answered_before_the_end);

/* Profiles that are put and deleted over HTTP: the work is slow, and no other request waits for it.
 * The store is one whose commits a test holds up. */
#include "serve/http/api.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/http/node.h"
#include "serve/store/store_sqlite.h"
#include "support/raw.h"
#include "support/served.h"
#include "support/suites.h"

static struct served f;
static struct node *node;
static struct node_cfg cfg;
static struct raw_answer a;

/* ---- a store whose commits wait ---- */

static struct {
    struct store real;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool shut;
    int entered; /* commits that began */
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int gate_write(void *self, const struct store_rec *rec, int n, struct err *e)
{
    (void)self;
    pthread_mutex_lock(&gate.lock);
    gate.entered++;
    pthread_cond_broadcast(&gate.changed);
    while (gate.shut)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
    return gate.real.write(gate.real.self, rec, n, e);
}

static int gate_open(struct store *out, void *ctx, const char *path, struct err *e)
{
    (void)ctx;
    struct store_sqlite_cfg sc = {.path = path};
    int rc = store_sqlite_open(&gate.real, &sc, e);
    *out = gate.real;
    out->write = gate_write;
    return rc;
}

static void gate_set(bool shut)
{
    pthread_mutex_lock(&gate.lock);
    gate.shut = shut;
    gate.entered = 0;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

static void gate_await(void)
{
    pthread_mutex_lock(&gate.lock);
    while (!gate.entered)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

/* ---- one worker ---- */

static void setup(void)
{
    served_begin(&f, true);
    f.cfg.parts.store = gate_open;
    f.cfg.learn = true;
    served_start(&f);
    struct err e = {0};
    cfg = node_cfg_default();
    cfg.port = 0;
    cfg.workers = 1;
    cfg.grace_s = 50;
    cfg.token = "0123456789abcdef";
    node = node_start(&cfg, f.service, &e);
    ck_assert_msg(node != NULL, "%s: %s", e.field, e.detail);
}

static void teardown(void)
{
    gate_set(false);
    node_stop(node);
    served_end(&f);
}

#define WEIGHTS "{\"mu\":[1,4.3,1],\"grow\":%s}"

static int begin(const char *method, const char *name, const char *body)
{
    char text[1024];
    int fd = raw_connect(node_port(node));
    snprintf(text, sizeof text,
             "%s /v1/profiles/%s HTTP/1.1\r\nHost: localhost\r\n"
             "Authorization: Bearer 0123456789abcdef\r\nContent-Length: %zu\r\n\r\n%s",
             method, name, strlen(body), body);
    raw_text(fd, text);
    return fd;
}

/* Does this build have added experts? */
static bool can_grow(void)
{
    for (int i = 0; i < parts_n(); i++)
        if (strcmp(parts_at(i)->name, "added") == 0) return true;
    return false;
}

static int put(const char *name, bool grow)
{
    grow = grow && can_grow();
    char body[128];
    snprintf(body, sizeof body, WEIGHTS, grow ? "true" : "false");
    return begin("PUT", name, body);
}

static int get(const char *path)
{
    char text[256];
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    raw_ask(&a, node_port(node), text);
    return a.status;
}

static int status_of(int fd)
{
    raw_answer(&a, fd);
    close(fd);
    return a.status;
}

/* The worker reads in order: a request answered now was read after all requests sent before it. */
static void others_are_answered(void)
{
    ck_assert_int_eq(get("/healthz"), 200);
    raw_ask(&a, node_port(node),
            "POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: 73\r\n\r\n"
            "{\"ladder_kbps\":[300,750,1200,1850,2850,4300],\"chunk_s\":4,\"buffer_s\":9."
            "50}");
    ck_assert_msg(a.status == 200, "%s", a.body);
}

static void not_answered(int fd)
{
    char byte;
    ck_assert_int_eq((int)recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK), -1);
    ck_assert_int_eq(errno, EAGAIN);
}

TEST(requests_are_answered_while_a_profile_grows)
{
    gate_set(true);
    int fd = put("night", true);
    gate_await();
    others_are_answered();
    not_answered(fd);
    gate_set(false);
    ck_assert_msg(status_of(fd) == 201, "%s", a.body);
    ck_assert_str_eq(raw_header(&a, "Location"), "/v1/profiles/night");
    ck_assert_ptr_nonnull(
        strstr(a.body, can_grow() ? "\"grow\":true" : "\"grow\":false"));
    ck_assert_ptr_nonnull(strstr(a.body, "\"name\":\"night\""));

    gate_set(true);
    fd = begin("DELETE", "night", "");
    gate_await();
    others_are_answered();
    not_answered(fd);
    gate_set(false);
    raw_head(&a, fd);
    close(fd);
    ck_assert_int_eq(a.status, 204);
    ck_assert_int_eq(get("/v1/profiles/night"), 404);
}

TEST(changes_of_one_name_come_in_their_order)
{
    gate_set(true);
    int first = put("night", false);
    gate_await();
    int second = put("night", true);
    others_are_answered();
    int third = begin("DELETE", "night", "");
    others_are_answered();
    int fourth = begin("DELETE", "night", "");
    others_are_answered();
    not_answered(second);
    gate_set(false);
    ck_assert_int_eq(status_of(first), 201);
    ck_assert_msg(status_of(second) == 200, "%s", a.body);
    raw_head(&a, third);
    close(third);
    ck_assert_int_eq(a.status, 204);
    ck_assert_int_eq(status_of(fourth), 404);
}

TEST(errors_are_answered_at_once)
{
    gate_set(true);
    int fd = put("night", false);
    gate_await();
    ck_assert_int_eq(status_of(begin("PUT", "day", "{\"mu\":\"x\"}")), 400);
    not_answered(fd);
    gate_set(false);
    ck_assert_int_eq(status_of(fd), 201);
}

TEST(a_client_that_leaves_changes_nothing)
{
    gate_set(true);
    close(put("night", true));
    gate_await();
    others_are_answered();
    int waits = put("day", false); /* and one that leaves before its turn */
    others_are_answered();
    close(waits);
    others_are_answered();
    gate_set(false);
    ck_assert_int_eq(status_of(put("noon", false)), 201); /* which comes behind them */
    ck_assert_int_eq(get("/v1/profiles/night"), 200);
    ck_assert_int_eq(get("/v1/profiles/day"), 200);
}

TEST(too_many_are_refused)
{
    int fd[API_JOBS];
    gate_set(true);
    for (int i = 0; i < API_JOBS; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", i);
        fd[i] = put(name, false);
        if (!i) gate_await();
        others_are_answered();
    }
    ck_assert_int_eq(status_of(put("night", false)), 503);
    ck_assert_str_eq(raw_header(&a, "Retry-After"), "5");
    others_are_answered();
    gate_set(false);
    for (int i = 0; i < API_JOBS; i++)
        ck_assert_int_eq(status_of(fd[i]), 201);
    ck_assert_int_eq(get("/v1/profiles/night"), 404);
    ck_assert_int_eq(status_of(put("night", false)), 201);
}

/* Figures of a profile go when it goes, wherever they are shown. */
TEST(a_deleted_profile_is_shown_nowhere)
{
    ck_assert_int_eq(status_of(put("night", true)), 201);
    struct session_open in = served_request(1, 8);
    snprintf(in.profile, sizeof in.profile, "night");
    struct session_opened o;
    ck_assert_int_eq(service_open(&o, f.service, f.worker, &in, NULL), 0);
    struct answer next;
    struct question q = served_question(1, o.first.level);
    ck_assert_int_eq(service_ask(&next, f.service, f.worker, o.session, &q, NULL), 0);
    ck_assert_int_eq(get("/metrics"), 200);
    ck_assert_ptr_nonnull(
        strstr(a.body, "abrd_profile_chunks_total{profile=\"night\"} 1"));
    ck_assert_ptr_nonnull(
        strstr(a.body, "abrd_profile_chunks_total{profile=\"custom\"} 0"));

    int fd = begin("DELETE", "night", "");
    raw_head(&a, fd);
    close(fd);
    ck_assert_int_eq(a.status, 204);
    ck_assert_int_eq(get("/metrics"), 200);
    ck_assert_ptr_null(strstr(a.body, "night"));
    ck_assert_ptr_nonnull(
        strstr(a.body, "abrd_profile_chunks_total{profile=\"custom\"} 1"));
    ck_assert_int_eq(get("/v1/profiles"), 200);
    ck_assert_ptr_null(strstr(a.body, "night"));
    struct service_stats s; /* what events and pages are made of */
    service_stats(&s, f.service);
    for (int i = 0; i < s.n_profiles; i++)
        ck_assert_str_ne(s.profile[i].name, "night");
    ck_assert_int_eq(served_parts(&f).added.n, 0);

    /* its session goes on, and the next profile begins at 0 */
    ck_assert_int_eq(status_of(put("noon", false)), 201);
    q = served_question(2, next.level);
    ck_assert_int_eq(service_ask(&next, f.service, f.worker, o.session, &q, NULL), 0);
    ck_assert_int_eq(get("/metrics"), 200);
    ck_assert_ptr_nonnull(
        strstr(a.body, "abrd_profile_chunks_total{profile=\"noon\"} 0"));
    ck_assert_ptr_nonnull(
        strstr(a.body, "abrd_profile_chunks_total{profile=\"custom\"} 2"));
}

/* The token that let a request in was good then. */
TEST(a_reload_takes_nothing_back)
{
    struct err e = {0};
    gate_set(true);
    int fd = put("night", false);
    gate_await();
    struct node_cfg other = cfg;
    other.token = "fedcba9876543210";
    ck_assert_int_eq(node_reload(node, &other, &e), 0);
    ck_assert_int_eq(status_of(put("day", false)), 401);
    gate_set(false);
    ck_assert_msg(status_of(fd) == 201, "%s", a.body);
}

static void *stop_main(void *ctx)
{
    (void)ctx;
    node_stop(node);
    return NULL;
}

TEST(the_end_finishes_running_changes)
{
    pthread_t stopper;
    gate_set(true);
    int runs = put("night", false);
    gate_await();
    int waits = put("day", false);
    others_are_answered();
    ck_assert_int_eq(pthread_create(&stopper, NULL, stop_main, NULL), 0);
    ck_assert_int_eq(status_of(waits), 503);
    ck_assert_ptr_nonnull(strstr(a.body, "stopping"));
    not_answered(runs);
    gate_set(false);
    ck_assert_int_eq(status_of(runs), 201);
    pthread_join(stopper, NULL);
    node = NULL;
    struct profile p;
    ck_assert_int_eq(service_profile_get(&p, f.service, "night", NULL), 0);
    ck_assert_int_eq(service_profile_get(&p, f.service, "day", NULL), ERR_ABSENT);
}

/* A job that outlasts the grace: its client is cut off, and nothing is left behind. */
TEST(the_end_cuts_clients_that_wait_too_long)
{
    pthread_t stopper;
    node_stop(node);
    struct err e = {0};
    cfg.grace_s = 0;
    node = node_start(&cfg, f.service, &e);
    ck_assert_ptr_nonnull(node);
    gate_set(true);
    int runs = put("night", true);
    gate_await();
    ck_assert_int_eq(pthread_create(&stopper, NULL, stop_main, NULL), 0);
    ck_assert_int_eq(raw_closed(runs), 1);
    close(runs);
    gate_set(false);
    pthread_join(stopper, NULL);
    node = NULL;
    struct profile p;
    ck_assert_int_eq(service_profile_get(&p, f.service, "night", NULL), 0);
}

SUITE_SET_UP(serve_http_api_profiles, 60, setup, teardown,
             requests_are_answered_while_a_profile_grows,
             changes_of_one_name_come_in_their_order, errors_are_answered_at_once,
             a_client_that_leaves_changes_nothing, too_many_are_refused,
             a_deleted_profile_is_shown_nowhere, a_reload_takes_nothing_back,
             the_end_finishes_running_changes, the_end_cuts_clients_that_wait_too_long);

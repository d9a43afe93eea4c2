#include "serve/http/route.h"
#include "support/suites.h"

#include <check.h>

static const struct route table[] = {
    {HTTP_POST, "/v1/sessions", 0, NULL},
    {HTTP_GET, "/v1/sessions/{id}", 0, NULL},
    {HTTP_DELETE, "/v1/sessions/{id}", 0, NULL},
    {HTTP_POST, "/v1/sessions/{id}/decisions", 0, NULL},
    {HTTP_PUT, "/v1/profiles/{name}", ROUTE_AUTH, NULL},
    {HTTP_GET, "/media/{link}/{file...}", 0, NULL},
    {HTTP_GET, "/{file...}", ROUTE_FALLBACK, NULL},
    {HTTP_GET, NULL, 0, NULL},
};

static const struct route *row;
static struct route_params p;
static unsigned allow;

static int find(enum http_method m, const char *path)
{
    row = NULL;
    return route_find(&row, &p, &allow, table, m, path);
}

TEST(literals_and_parameters)
{
    ck_assert_int_eq(find(HTTP_POST, "/v1/sessions"), 200);
    ck_assert_ptr_eq(row, &table[0]);
    ck_assert_int_eq(find(HTTP_POST, "/v1/sessions/a%20b/decisions"), 200);
    ck_assert_ptr_eq(row, &table[3]);
    ck_assert_str_eq(route_param(&p, "id"), "a b");
    ck_assert_str_eq(route_param(&p, "nothing"), "");
    ck_assert_int_eq(find(HTTP_HEAD, "/v1/sessions/x"), 200);
    ck_assert_ptr_eq(row, &table[1]);
}

TEST(the_rest_of_a_path)
{
    ck_assert_int_eq(find(HTTP_GET, "/media/3g/a/b.m4s"), 200);
    ck_assert_str_eq(route_param(&p, "link"), "3g");
    ck_assert_str_eq(route_param(&p, "file"), "a/b.m4s");
    ck_assert_int_eq(find(HTTP_GET, "/"), 200);
    ck_assert_str_eq(route_param(&p, "file"), "");
}

TEST(absent_and_wrong_method)
{
    char text[64];
    ck_assert_int_eq(find(HTTP_POST, "/nothing"), 404);
    ck_assert_int_eq(find(HTTP_GET, "/v1/sessions"), 405);
    ck_assert_int_eq(find(HTTP_PUT, "/v1/sessions/x"), 405);
    route_allow_text(text, sizeof text, allow);
    ck_assert_str_eq(text, "GET, HEAD, DELETE, OPTIONS");
    ck_assert_int_eq(find(HTTP_OTHER, "/v1/sessions"), 405);
    route_allow_text(text, sizeof text, allow);
    ck_assert_str_eq(text, "POST, OPTIONS");
}

static const char *const odd[] = {"/v1/sessions/",
                                  "/v1/sessions//decisions",
                                  "/v1/sessions/a%2fb",
                                  "/v1/sessions/%00/decisions",
                                  "/v1/sessions/%/decisions",
                                  "/v1/sessions/%zz",
                                  "v1/sessions",
                                  "",
                                  "//v1/sessions",
                                  "/V1/sessions"};

TEST(odd_paths_fit_nothing)
{
    ck_assert_int_eq(find(HTTP_POST, odd[_i]), 404);
}

SUITE(serve_http_route, literals_and_parameters, the_rest_of_a_path,
      absent_and_wrong_method, ROWS(odd_paths_fit_nothing, odd));

#include "serve/http/files.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/suites.h"
#include "support/tmpdir.h"

static char dir[256];
static struct files *files;
static struct reply r;

static void put(const char *path, const char *text)
{
    FILE *f = fopen(tmpdir_path(dir, path), "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

static void setup(void)
{
    struct err e = {0};
    snprintf(dir, sizeof dir, "%s", tmpdir_new());
    ck_assert_int_eq(mkdir(tmpdir_path(dir, "web"), 0755), 0);
    ck_assert_int_eq(mkdir(tmpdir_path(dir, "web/sub"), 0755), 0);
    ck_assert_int_eq(mkdir(tmpdir_path(dir, "web/.git"), 0755), 0);
    ck_assert_int_eq(mkdir(tmpdir_path(dir, "web2"), 0755), 0);
    put("web/index.html", "<p>hi</p>");
    put("web/empty.js", "");
    put("web/sub/a.mjs", "export {};");
    put("web/sub/run.sh", "echo");
    put("web/.env.json", "{}");
    put("web/.git/x.json", "{}");
    put("secret.json", "{}");
    put("web2/x.json", "{}");
    ck_assert_int_eq(symlink("../secret.json", tmpdir_path(dir, "web/out.json")), 0);
    ck_assert_int_eq(symlink("../web2/x.json", tmpdir_path(dir, "web/out2.json")), 0);
    ck_assert_int_eq(symlink("sub/a.mjs", tmpdir_path(dir, "web/in.mjs")), 0);
    ck_assert_int_eq(mkfifo(tmpdir_path(dir, "web/pipe.json"), 0644), 0);
    files = files_new(tmpdir_path(dir, "web"), &e);
    ck_assert_msg(files != NULL, "%s", e.detail);
    reply_init(&r);
}

static void teardown(void)
{
    reply_drop(&r);
    files_free(files);
    tmpdir_remove(dir);
}

static int get(const char *path, const char *known)
{
    reply_drop(&r);
    reply_init(&r);
    files_get(&r, files, path, known);
    return r.status;
}

TEST(pages_and_their_types)
{
    ck_assert_int_eq(get("", NULL), 200);
    ck_assert_str_eq(reply_header_get(&r, "Content-Type"), "text/html; charset=utf-8");
    ck_assert_uint_eq(r.n, 9);
    ck_assert_int_eq(get("sub/a.mjs", NULL), 200);
    ck_assert_str_eq(reply_header_get(&r, "content-type"),
                     "text/javascript; charset=utf-8");
    ck_assert_int_eq(get("in.mjs", NULL), 200);
    ck_assert_int_eq(get("empty.js", NULL), 200);
    ck_assert_uint_eq(r.n, 0);
}

TEST(nothing_else_is_served)
{
    static const char *const bad[] = {"../secret.json",
                                      "sub/../../secret.json",
                                      "sub/../index.html",
                                      "/etc/passwd",
                                      "out.json",
                                      "out2.json",
                                      "pipe.json",
                                      ".env.json",
                                      ".git/x.json",
                                      "sub",
                                      "sub/",
                                      "sub/run.sh",
                                      "a\\b.json",
                                      "index.html ",
                                      "sub//a.mjs",
                                      "./index.html",
                                      "no.html",
                                      "index.html/",
                                      "a\nb.json"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(get(bad[i], NULL) == 404, "%s gave %d", bad[i], r.status);

    char deep[9000];
    memset(deep, 'a', sizeof deep);
    memcpy(deep + sizeof deep - 6, ".html", 6);
    ck_assert_int_eq(get(deep, NULL), 404);
}

TEST(a_folder_with_a_page_redirects)
{
    ck_assert_int_eq(mkdir(tmpdir_path(dir, "web/docs"), 0755), 0);
    ck_assert_int_eq(mkdir(tmpdir_path(dir, "web/sub/docs"), 0755), 0);
    ck_assert_int_eq(get("docs", NULL), 404);
    put("web/docs/index.html", "<p>manual</p>");
    put("web/sub/docs/index.html", "<p>manual</p>");
    ck_assert_int_eq(get("docs/", NULL), 200);
    ck_assert_int_eq(get("docs", NULL), 308);
    ck_assert_str_eq(reply_header_get(&r, "Location"), "docs/");
    ck_assert_int_eq(get("sub/docs", NULL), 308);
    ck_assert_str_eq(reply_header_get(&r, "Location"), "docs/");
    ck_assert_int_eq(get("../web/docs", NULL), 404);
    ck_assert_int_eq(symlink("../web2", tmpdir_path(dir, "web/outside")), 0);
    put("web2/index.html", "<p>not a page</p>");
    ck_assert_int_eq(get("outside", NULL), 404);
}

TEST(unchanged_files_are_304)
{
    char tag[64];
    get("index.html", NULL);
    snprintf(tag, sizeof tag, "%s", reply_header_get(&r, "ETag"));
    ck_assert_int_eq(get("index.html", tag), 304);
    ck_assert_int_eq(get("index.html", "\"other\""), 200);

    put("web/index.html", "<p>changed</p>");
    ck_assert_int_eq(get("index.html", tag), 200);
    ck_assert_str_ne(reply_header_get(&r, "ETag"), tag);
}

TEST(no_folder)
{
    struct err e = {0};
    ck_assert_ptr_null(files_new(tmpdir_path(dir, "nothing"), &e));
    ck_assert_int_eq(e.code, ERR_ABSENT);
    ck_assert_ptr_null(files_new(tmpdir_path(dir, "secret.json"), &e));
    files_free(files);
    files = files_new(NULL, &e);
    ck_assert_ptr_nonnull(files);
    ck_assert_int_eq(get("index.html", NULL), 404);
}

SUITE_SET_UP(serve_http_files, 0, setup, teardown, pages_and_their_types,
             nothing_else_is_served, a_folder_with_a_page_redirects,
             unchanged_files_are_304, no_folder);

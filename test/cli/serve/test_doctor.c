/* What the doctor finds; the command is tried from outside in test_cmd_doctor.c. */
#include "cli/serve/doctor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "serve/http/listen.h"
#include "serve/store/store_sqlite.h"
#include "support/suites.h"
#include "support/tmpdir.h"

static const char *dir;
static struct serve_options s;
static struct doctor_report r;

static void setup(void)
{
    dir = tmpdir_new();
    chmod(dir, 0700);
    s = serve_options_default();
    s.node.port = 0;
    s.service.data_dir = dir;
}

static const struct doctor_finding *finding(const char *what)
{
    for (int i = 0; i < r.n; i++)
        if (strcmp(r.at[i].what, what) == 0) return &r.at[i];
    ck_abort_msg("nothing about %s", what);
    return NULL;
}

/* Examines, and holds one finding against its verdict and a part of its words. */
static void expect(const char *what, enum doctor_verdict verdict, const char *words)
{
    r = (struct doctor_report){0};
    doctor_examine(&r, &s);
    const struct doctor_finding *f = finding(what);
    ck_assert_msg(f->verdict == verdict, "%s: %s %s", what, doctor_word(f->verdict),
                  f->detail);
    ck_assert_msg(strstr(f->detail, words) != NULL, "%s: %s", what, f->detail);
}

static void write_text(const char *name, const char *text, mode_t mode)
{
    struct err e = {0};
    const char *path = tmpdir_path(dir, name);
    ck_assert_int_eq(text_write_file(path, text, strlen(text), &e), 0);
    ck_assert_int_eq(chmod(path, mode), 0);
}

TEST(a_sound_house)
{
    r = (struct doctor_report){0};
    doctor_examine(&r, &s);
    for (int i = 0; i < r.n; i++)
        ck_assert_msg(r.at[i].verdict != DOCTOR_FAIL, "%s: %s", r.at[i].what,
                      r.at[i].detail);
    ck_assert_int_eq(r.failures, 0);
    expect("folder", DOCTOR_OK, dir);
    expect("store", DOCTOR_OK, "does not exist yet");
    expect("policy", DOCTOR_OK, "safety check");
    expect("token", DOCTOR_OK, "none");
    expect("port", DOCTOR_OK, "is free");
    expect("clock", DOCTOR_OK, "plausible");
}

TEST(folders)
{
    chmod(dir, 0777);
    expect("folder", DOCTOR_WARN, "chmod go-w");
    s.service.data_dir = "/no/such/folder";
    expect("folder", DOCTOR_OK, "serve creates it");
    write_text("file", "x", 0600);
    char file[300];
    snprintf(file, sizeof file, "%s/file", dir);
    s.service.data_dir = file;
    expect("folder", DOCTOR_FAIL, "is not a folder");
    s.service.data_dir = NULL;
    expect("folder", DOCTOR_WARN, "nothing is stored");
}

TEST(stores)
{
    struct err e = {0};
    struct store store;
    char path[300];
    snprintf(path, sizeof path, "%s/abrd.db", dir);
    struct store_sqlite_cfg cfg = {.path = path};
    ck_assert_int_eq(store_sqlite_open(&store, &cfg, &e), 0);
    struct store_rec rec = {.kind = STORE_SESSION};
    rec.row = (struct track_row){.id = {1}, .levels = 2, .ladder_kbps = {1, 2}};
    ck_assert_int_eq(store.write(store.self, &rec, 1, &e), 0);
    expect("store", DOCTOR_OK, "1 sessions, 1 of them open, 0 steps"); /* in use */
    store.free(store.self);
    expect("store", DOCTOR_OK, "1 sessions");

    /* pages overwritten in the middle, then no database at all */
    int fd = open(cfg.path, O_WRONLY);
    char junk[4096];
    memset(junk, 0x5a, sizeof junk);
    for (off_t at = 4096; at < 32768; at += 4096)
        ck_assert_int_eq(pwrite(fd, junk, sizeof junk, at), sizeof junk);
    close(fd);
    expect("store", DOCTOR_FAIL, "damaged");
    write_text("abrd.db",
               "not a database, and long enough to be taken for one by its size alone"
               "----------------------------------------------------------------",
               0600);
    expect("store", DOCTOR_FAIL, "restore a backup");

    /* the database is gone, but its count is there; given up, a start begins with an empty store */
    unlink(cfg.path);
    expect("store", DOCTOR_FAIL, "is missing, but it had 1 commits with 1 records");
    doctor_accept_loss(&r, &s);
    ck_assert_int_eq(r.failures, 0);
    ck_assert_str_eq(r.at[0].what, "loss");
    ck_assert_ptr_nonnull(strstr(r.at[0].detail, "abrd.db-count.bad"));
    expect("store", DOCTOR_OK, "0 sessions");
    doctor_accept_loss(&r, &s);
    ck_assert_int_eq(r.n, 1);
    ck_assert_ptr_nonnull(strstr(r.at[0].detail, "nothing is damaged"));
    s.service.data_dir = NULL;
    doctor_accept_loss(&r, &s);
    ck_assert_ptr_nonnull(strstr(r.at[0].detail, "--data"));
}

/* A folder that a daemon has used, and a file that is gone. */
TEST(files_that_are_missing)
{
    struct err e = {0};
    struct store store;
    char path[300];
    snprintf(path, sizeof path, "%s/abrd.db", dir);
    struct store_sqlite_cfg cfg = {.path = path};
    ck_assert_int_eq(store_sqlite_open(&store, &cfg, &e), 0);
    struct store_rec rec = {.kind = STORE_PROFILE,
                            .profile = {"sport", {1, 2, 3, QOE_LINEAR}, .grow = true}};
    ck_assert_int_eq(store.write(store.self, &rec, 1, &e), 0);
    store.free(store.self);
    expect("missing", DOCTOR_WARN, "untagged.state is missing: restore it");
    write_text("untagged.state", "", 0600);
    expect("missing", DOCTOR_WARN, "secret is missing");
    write_text("secret", "", 0600);
    expect("missing", DOCTOR_WARN, "grown-sport.safetensors is missing");
    write_text("grown-sport.safetensors", "", 0600);
    write_text("policy.safetensors.prev", "", 0600);
    expect("missing", DOCTOR_WARN, "policy.safetensors is missing");
    expect("learned before", DOCTOR_FAIL, "policy.safetensors.prev");

    /* a profile that is deleted is expected no more */
    ck_assert_int_eq(unlink(tmpdir_path(dir, "grown-sport.safetensors")), 0);
    ck_assert_int_eq(unlink(tmpdir_path(dir, "policy.safetensors.prev")), 0);
    ck_assert_int_eq(store_sqlite_open(&store, &cfg, &e), 0);
    rec.kind = STORE_PROFILE_GONE;
    ck_assert_int_eq(store.write(store.self, &rec, 1, &e), 0);
    store.free(store.self);
    r = (struct doctor_report){0};
    doctor_examine(&r, &s);
    for (int i = 0; i < r.n; i++)
        ck_assert_str_ne(r.at[i].what, "missing");
}

TEST(weights)
{
    write_text("policy.safetensors", "no weights", 0600);
    expect("learned", DOCTOR_FAIL, "renames it to NAME.bad");
    s.service.policy_path = "Makefile";
    expect("policy", DOCTOR_FAIL, "--policy");
    s.optional.hintless.mode = HINTLESS_MERGE;
    s.optional.hintless.merge_policy = "/no/such/file";
    expect("merge-policy", DOCTOR_FAIL, "--merge-policy");
}

TEST(tokens)
{
    s.node.bind = "0.0.0.0";
    expect("token", DOCTOR_FAIL, "--admin-token-file");
    char token[300];
    snprintf(token, sizeof token, "%s/token", dir);
    s.token_file = token;
    expect("token", DOCTOR_OK, "serve creates it");
    write_text("token", "0123456789abcdef\n", 0644);
    expect("token", DOCTOR_FAIL, "mode 644");
    chmod(s.token_file, 0600);
    expect("token", DOCTOR_OK, "its owner only");
    if (geteuid() == 0) { /* a secret that is given to the daemon's group */
        ck_assert_int_eq(chown(s.token_file, 12345, getegid()), 0);
        chmod(s.token_file, 0440);
        expect("token", DOCTOR_OK, "its group only");
        chmod(s.token_file, 0444); /* of a container's host: not ours to change */
        expect("token", DOCTOR_WARN, "mode 444): its owner, user 12345, can change that");
        chmod(s.token_file, 0466);
        expect("token", DOCTOR_FAIL, "mode 466");
        ck_assert_int_eq(chown(s.token_file, 0, getegid()), 0);
        chmod(s.token_file, 0440);
        expect("token", DOCTOR_FAIL, "mode 440");
    }
    write_text("token", "short\n", 0600);
    expect("token", DOCTOR_FAIL, "one token");
}

TEST(access_rules)
{
    expect("access", DOCTOR_OK, "are valid");
    s.node.allow_origin = "*";
    expect("access", DOCTOR_WARN, "every web page");
    s.node.allow_origin = "player.example";
    expect("access", DOCTOR_FAIL, "allow-origin");
    s.node.allow_origin = NULL;
    s.node.admit.trust_proxy = "10.0.0.1/8";
    expect("access", DOCTOR_FAIL, "trust-proxy");
}

TEST(servers_of_media)
{
    struct err e = {0};
    char text[80];
    int port = 0, fd = listen_open("127.0.0.1", &port, &e);
    snprintf(text, sizeof text, "near=http://127.0.0.1:%d/vod", port);
    ck_assert_int_eq(origins_add(&s.optional.players.origin.names, text, &e), 0);
    expect("origin", DOCTOR_OK, "near: ");
    close(fd);
    expect("origin", DOCTOR_WARN, "players that request its media get 502");
}

TEST(ports)
{
    struct err e = {0};
    int fd = listen_open(s.node.bind, &s.node.port, &e);
    ck_assert_int_ge(fd, 0);
    expect("port", DOCTOR_FAIL, "in use");

    /* the folder's lock is held: then it is the daemon's */
    int lock = open(tmpdir_path(dir, "lock"), O_RDWR | O_CREAT, 0600);
    ck_assert_int_eq(flock(lock, LOCK_EX), 0);
    expect("port", DOCTOR_OK, "by the running daemon");
    expect("folder", DOCTOR_OK, "in use by a daemon");
    close(lock);
    close(fd);
    s.node.bind = "no.such.host.invalid";
    expect("port", DOCTOR_FAIL, "no.such.host.invalid");
}

TEST(limits_and_pages)
{
    s.node.workers = 64;
    s.node.http.max_connections = 60000;
    expect("files", DOCTOR_WARN, "LimitNOFILE");
    s.node.web_dir = "src";
    expect("pages", DOCTOR_FAIL, "index.html");
}

SUITE_SET_UP(cli_serve_doctor, 0, setup, NULL, a_sound_house, folders, stores,
             files_that_are_missing, weights, tokens, access_rules, ports,
             servers_of_media, limits_and_pages);

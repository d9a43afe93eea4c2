/* abrd backup from outside: what it says and its exit code; test/http/backup.mjs tries it beside a
 * daemon that answers. */
#include "support/program.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/store/store_sqlite.h"

TEST(exit_codes)
{
    char args[700];
    struct err e = {0};
    struct store store;
    const char *dir = tmpdir_new();
    struct store_sqlite_cfg cfg = {.path = tmpdir_path(dir, "abrd.db")};
    ck_assert_int_eq(store_sqlite_open(&store, &cfg, &e), 0);
    snprintf(args, sizeof args, "backup %s %s/to --quiet", dir, dir);
    program_expect(args, 0, "serve --data");
    program_expect(args, 1, "a new folder");
    snprintf(args, sizeof args, "backup %s %s/two --quiet --json -", dir, dir);
    program_expect(args, 0, "\"sessions\": 0");
    program_expect_in(dir, "backup @/none @/three", 1, "is it a data folder?");
    program_expect("backup here", 2, "--help");
    store.free(store.self);
}

SUITE(cli_serve_cmd_backup, exit_codes);

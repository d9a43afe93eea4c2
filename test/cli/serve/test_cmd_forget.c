/* abrd forget from outside: what it says and its exit code; test/http/forget.mjs tries it on the folder
 * of a daemon. */
#include "support/program.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>

#include "serve/store/store_sqlite.h"

TEST(exit_codes)
{
    char args[700];
    struct err e = {0};
    struct store store;
    const char *dir = tmpdir_new();
    struct store_sqlite_cfg cfg = {.path = tmpdir_path(dir, "abrd.db")};
    ck_assert_int_eq(store_sqlite_open(&store, &cfg, &e), 0);
    store.free(store.self);
    snprintf(args, sizeof args, "forget --data %s --before 2026-11-24 --dry-run", dir);
    program_expect(args, 0, "nothing was deleted");
    snprintf(args, sizeof args, "forget --data %s --label device=tv --json -", dir);
    program_expect(args, 0, "\"sessions\": 0");
    snprintf(args, sizeof args, "forget --data %s", dir);
    program_expect(args, 1, "session, viewer, before or a label");
    snprintf(args, sizeof args, "forget --data %s --viewer anna", dir);
    program_expect(args, 1, "secret");
    program_expect_in(dir, "forget --data @/none --before 2026-11-24", 1,
                      "no such folder");
    program_expect("forget --before 2026-11-24", 1, "data");
    program_expect("forget here", 2, "--help");
}

SUITE(cli_serve_cmd_forget, exit_codes);

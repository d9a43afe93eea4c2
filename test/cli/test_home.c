#include "cli/home.h"

#include "base/text.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TEST(the_sources_are_found_from_the_build_folder)
{
    struct err e = {0};
    char path[HOME_PATH];
    unsetenv("ABRD_HOME");
    ck_assert_int_eq(home_find(path, "src/cli/home.h", &e), 0);
    ck_assert_int_eq(access(path, R_OK), 0);
    ck_assert_int_eq(home_find(path, "no/such/file", &e), ERR_ABSENT);
    ck_assert_str_eq(e.field, "no/such/file");
    ck_assert_ptr_nonnull(strstr(e.detail, "ABRD_HOME"));
}

TEST(the_environment_decides_alone)
{
    struct err e = {0};
    char path[HOME_PATH];
    const char *dir = tmpdir_new(), *file = tmpdir_path(dir, "a");
    ck_assert_int_eq(text_write_file(file, "x", 1, &e), 0);
    setenv("ABRD_HOME", dir, 1);
    ck_assert_int_eq(home_find(path, "a", &e), 0);
    ck_assert_str_eq(path, file);
    ck_assert_int_eq(home_find(path, "src/cli/home.h", &e), ERR_ABSENT);
}

SUITE(cli_home, the_sources_are_found_from_the_build_folder,
      the_environment_decides_alone);

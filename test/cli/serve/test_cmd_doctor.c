/* abrd doctor from outside: what it says and its exit code. */
#include "support/program.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

TEST(exit_codes)
{
    char args[512];
    const char *dir = tmpdir_new();
    chmod(dir, 0700);
    snprintf(args, sizeof args, "doctor --port 0 --data %s", dir);
    program_expect(args, 0, "");
    snprintf(args, sizeof args, "doctor --port 0 --data %s --policy Makefile", dir);
    program_expect(args, 1, "");
    program_expect("doctor --port 0 --bind 0.0.0.0", 1, "");
    program_expect("doctor --port x", 2, "--port");
    program_expect("doctor --durability maybe", 2, "durability");
    program_expect("doctor --config /no/such.conf", 2, "/no/such.conf");
}

SUITE(cli_serve_cmd_doctor, exit_codes);

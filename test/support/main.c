/* Runs every suite, or those whose name contains argv[1]; fails if nothing ran. */
#include "support/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : "";
    /* against tests that hang, not against slow machines: check's own 4 s are those */
    setenv("CK_DEFAULT_TIMEOUT", "60", 0);
    SRunner *runner = srunner_create(NULL);
    for (int i = 0; suites[i].name; i++)
        if (strstr(suites[i].name, only)) srunner_add_suite(runner, suites[i].make());
    if (strstr("fuzz/replay", only)) srunner_add_suite(runner, suite_fuzz_replay());

    srunner_run_all(runner, CK_ENV);
    int ran = srunner_ntests_run(runner), failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    if (!ran) fprintf(stderr, "no test ran (nothing matches '%s')\n", only);
    return ran > 0 && failed == 0 ? 0 : 1;
}

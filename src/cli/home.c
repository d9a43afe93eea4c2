#include "cli/home.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool home_has(char out[HOME_PATH], const char *dir, const char *between,
                     const char *rel)
{
    int n = snprintf(out, HOME_PATH, "%s%s/%s", dir, between, rel);
    return n < HOME_PATH && access(out, F_OK) == 0;
}

int home_find(char out[HOME_PATH], const char *rel, struct err *e)
{
    const char *home = getenv("ABRD_HOME");
    if (home && *home) {
        if (home_has(out, home, "", rel)) return 0;
        return err_field(e, ERR_ABSENT, rel, "is not in ABRD_HOME=%.150s", home);
    }

    char dir[HOME_PATH];
    ssize_t n = readlink("/proc/self/exe", dir, sizeof dir - 1);
    if (n < 0)
        return err_field(e, ERR_IO, rel,
                         "the program cannot find its own path: set ABRD_HOME");
    dir[n] = '\0';
    char *slash = strrchr(dir, '/');
    *slash = '\0';
    if (home_has(out, dir, "/../share/abrd", rel)) return 0;

    char above[HOME_PATH];
    strcpy(above, dir);
    for (int up = 0; up < 3 && (slash = strrchr(above, '/')); up++) {
        *slash = '\0';
        if (home_has(out, above, "", rel)) return 0;
    }
    return err_field(
        e, ERR_ABSENT, rel,
        "is neither in %.100s/../share/abrd nor in a folder above: set ABRD_HOME", dir);
}

#include "support/shared.h"

#include <stdio.h>
#include <unistd.h>

const char *shared_path(const char *rel)
{
    static char ring[8][512];
    static int next;
    char *path = ring[next++ % 8];
    snprintf(path, sizeof ring[0], "../shared/%s", rel);
    if (access(path, R_OK) == 0) return path;
    printf("skipped: %s is not there\n", path);
    fflush(stdout);
    return NULL;
}

#include "serve/session/viewer.h"

#include <stdio.h>
#include <string.h>

#include "serve/session/service.h"

uint64_t viewer_unit(const uint8_t key[SIPHASH_KEY], const char *trial,
                     const char *viewer, uint64_t session)
{
    char text[SERVICE_TRIAL + SERVICE_VIEWER + 4];
    size_t n = (size_t)snprintf(text, sizeof text, "%s%c%s", trial, viewer[0] ? '/' : '#',
                                viewer);
    if (!viewer[0]) {
        memcpy(text + n, &session, sizeof session);
        n += sizeof session;
    }
    uint64_t unit = siphash(key, text, n);
    return viewer[0] ? unit | VIEWER_NAMED : unit & ~(uint64_t)VIEWER_NAMED;
}

uint64_t viewer_hash(const uint8_t key[SIPHASH_KEY], const char *viewer)
{
    return viewer[0] ? viewer_unit(key, "", viewer, 0) : 0;
}

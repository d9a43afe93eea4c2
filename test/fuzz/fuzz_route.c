#include "support/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "serve/http/route.h"

static const struct route table[] = {
    {HTTP_POST, "/v1/sessions", ROUTE_OPEN, NULL},
    {HTTP_GET, "/v1/sessions/{id}", ROUTE_OPEN, NULL},
    {HTTP_POST, "/v1/sessions/{id}/decisions", ROUTE_OPEN, NULL},
    {HTTP_GET, "/demo/{link}/{viewer}/{file...}", ROUTE_OPEN, NULL},
    {HTTP_GET, "/o/{origin}/{path*}", ROUTE_OPEN, NULL},
    {HTTP_GET, "/{page...}", ROUTE_FALLBACK, NULL},
    {HTTP_OTHER, NULL, ROUTE_OPEN, NULL},
};

/* The first byte is the method, the rest the path. A parameter is never empty in mid-path
 * and never holds a slash there. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    char *path = malloc(size);
    memcpy(path, data + 1, size - 1);
    path[size - 1] = '\0';

    const struct route *row = NULL;
    struct route_params p;
    unsigned allow;
    enum http_method m = (enum http_method)(data[0] % (HTTP_OTHER + 1));
    int status = route_find(&row, &p, &allow, table, m, path);
    if (status == 200) {
        const char *id = route_param(&p, "id");
        if (strchr(id, '/')) __builtin_trap();
        if (!*id && row != &table[0] && row != &table[3] && row < &table[4])
            __builtin_trap();
    } else {
        char text[64];
        route_allow_text(text, sizeof text, allow);
        if ((status == 405) != (text[0] != '\0')) __builtin_trap();
    }
    free(path);
    return 0;
}

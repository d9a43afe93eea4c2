#include "support/fuzz.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "serve/players/origins.h"

static int hex(char c)
{
    const char *set = "0123456789abcdef0123456789ABCDEF", *at = c ? strchr(set, c) : NULL;
    return at ? (int)(at - set) % 16 : -1;
}

/* As an origin would that decodes, in place. */
static void decode(char *s)
{
    char *w = s;
    for (; *s; s++) {
        bool is_escape = *s == '%' && hex(s[1]) >= 0 && hex(s[2]) >= 0;
        *w++ = is_escape ? (char)(hex(s[1]) << 4 | hex(s[2])) : *s;
        if (is_escape) s += 2;
    }
    *w = '\0';
}

static bool climbs(const char *path)
{
    for (const char *s = path;; s++) {
        size_t n = strcspn(s, "/\\"), name = strcspn(s, "/\\;");
        if ((name == 1 && s[0] == '.') || (name == 2 && s[0] == '.' && s[1] == '.'))
            return true;
        s += n;
        if (!*s) return false;
    }
}

/* The first line is an origin, the second a path, the rest a query. What is accepted stays under
 * the origin's URL, also for who decodes once more than he should. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), empty[] = "";
    memcpy(text, data, size);
    text[size] = '\0';
    char *path = strchr(text, '\n');
    if (path) *path++ = '\0';
    char *query = path ? strchr(path, '\n') : NULL;
    if (query) *query++ = '\0';

    struct origins o = {0};
    struct err e = {0};
    int rc = origins_add(&o, text, &e);
    if (rc && (e.code != rc || !*e.detail || o.n)) __builtin_trap();
    const char *url = rc ? "http://h/b" : o.at[0].url;
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        __builtin_trap();

    char target[ORIGINS_TARGET];
    e = (struct err){0};
    rc = origins_target(target, sizeof target, url, path ? path : empty,
                        query ? query : empty, &e);
    if (rc && (e.code != rc || !*e.detail)) __builtin_trap();
    if (!rc) {
        size_t n = strlen(url);
        if (strncmp(target, url, n) != 0 || target[n] != '/') __builtin_trap();
        char *rest = target + n + 1;
        rest[strcspn(rest, "?")] = '\0';
        for (int times = 0; times < 3; times++) {
            if (climbs(rest)) __builtin_trap();
            decode(rest);
        }
    }
    free(text);
    return 0;
}

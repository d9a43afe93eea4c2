#include "serve/http/route.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool add_param(struct route_params *p, const char *name, size_t n_name,
                      const char *value, size_t n_value)
{
    assert(p->n < ROUTE_PARAMS && n_name < ROUTE_NAME);
    memcpy(p->at[p->n].name, name, n_name);
    p->at[p->n].name[n_name] = '\0';
    if (http_decode(p->at[p->n].value, ROUTE_VALUE, value, n_value, NULL)) return false;
    p->n++;
    return true;
}

/* Length up to the next slash. */
static size_t segment(const char *s)
{
    size_t n = 0;
    while (s[n] && s[n] != '/')
        n++;
    return n;
}

static bool fits(struct route_params *p, const char *pattern, const char *path)
{
    p->n = 0;
    while (*pattern == '/') {
        if (*path != '/') return false;
        pattern++, path++;
        if (*pattern != '{') {
            for (; *pattern && *pattern != '/'; pattern++, path++)
                if (*pattern != *path) return false;
            if (*path && *path != '/') return false;
        } else {
            size_t n_path = segment(path);
            const char *name = pattern + 1;
            size_t n_name = strcspn(name, ".*}");
            if (name[n_name] == '*') return true;
            if (name[n_name] == '.')
                return add_param(p, name, n_name, path, strlen(path));
            if (n_path == 0 || !add_param(p, name, n_name, path, n_path)) return false;
            if (strchr(p->at[p->n - 1].value, '/')) return false;
            pattern += segment(pattern);
            path += n_path;
        }
    }
    return *pattern == '\0' && *path == '\0';
}

int route_find(const struct route **out, struct route_params *p, unsigned *allow,
               const struct route *table, enum http_method method, const char *path)
{
    enum http_method wanted = method == HTTP_HEAD ? HTTP_GET : method;
    const struct route *fallback = NULL;
    *allow = 0;
    for (const struct route *row = table; row->path; row++) {
        if (!fits(p, row->path, path)) continue;
        if (row->flags & ROUTE_FALLBACK) {
            if (row->method == wanted && !fallback) fallback = row;
        } else if (row->method == wanted) {
            *out = row;
            return 200;
        } else {
            *allow |= 1u << row->method;
        }
    }

    if (*allow) {
        if (*allow & 1u << HTTP_GET) *allow |= 1u << HTTP_HEAD;
        *allow |= 1u << HTTP_OPTIONS;
        return 405;
    }
    *out = fallback;
    return fallback && fits(p, fallback->path, path) ? 200 : 404;
}

void route_allow_text(char *out, size_t n, unsigned allow)
{
    size_t w = 0;
    out[0] = '\0';
    for (int m = HTTP_GET; m < HTTP_OTHER && w < n; m++)
        if (allow & 1u << m)
            w += (size_t)snprintf(out + w, n - w, "%s%s", w ? ", " : "",
                                  http_method_name(m));
}

const char *route_param(const struct route_params *p, const char *name)
{
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->at[i].name, name) == 0) return p->at[i].value;
    return "";
}

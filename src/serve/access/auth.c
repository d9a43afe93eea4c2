#include "serve/access/auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "serve/http/listen.h"

#define AUTH_LIST 32
#define AUTH_TEXT 128

struct list {
    int n;
    char item[AUTH_LIST][AUTH_TEXT];
};

struct auth {
    struct list hosts, origins;
    bool any_origin;
    char token[256];
};

static int split(struct list *l, const char *text, const char *what, struct err *e)
{
    for (const char *p = text; p && *p;) {
        p += strspn(p, ", \t");
        size_t n = strcspn(p, ", \t");
        if (!n) break;
        if (l->n == AUTH_LIST)
            return err_field(e, ERR_RANGE, what, "has more than %d entries", AUTH_LIST);
        if (n >= AUTH_TEXT)
            return err_field(e, ERR_RANGE, what, "an entry is longer than %d characters",
                             AUTH_TEXT - 1);
        memcpy(l->item[l->n], p, n);
        l->item[l->n++][n] = '\0';
        p += n;
    }
    return 0;
}

static bool contains(const struct list *l, const char *text)
{
    for (int i = 0; i < l->n; i++)
        if (strcasecmp(l->item[i], text) == 0) return true;
    return false;
}

/* The text after http:// or https://; NULL: neither. */
static const char *origin_host(const char *origin)
{
    if (strncasecmp(origin, "http://", 7) == 0) return origin + 7;
    if (strncasecmp(origin, "https://", 8) == 0) return origin + 8;
    return NULL;
}

static int check_origins(struct auth *a, struct err *e)
{
    for (int i = 0; i < a->origins.n; i++) {
        const char *o = a->origins.item[i];
        if (strcmp(o, "*") == 0) {
            a->any_origin = true;
            continue;
        }
        const char *host = origin_host(o);
        if (!host || !*host || strchr(host, '/'))
            return err_field(e, ERR_INVALID, "allow-origin",
                             "'%.80s' is not like https://example.org or "
                             "http://localhost:3000 (no path, no trailing slash)",
                             o);
    }
    return 0;
}

struct auth *auth_new(const char *bind, const char *hosts, const char *origins,
                      const char *token, struct err *e)
{
    struct auth *a = calloc(1, sizeof *a);
    if (!a) {
        err_set(e, ERR_MEMORY, "no memory for the access rules");
        return NULL;
    }
    int rc = split(&a->hosts, bind, "bind", e);
    if (!rc) rc = split(&a->hosts, hosts, "host", e);
    if (!rc) rc = split(&a->origins, origins, "allow-origin", e);
    if (!rc) rc = check_origins(a, e);
    if (!rc && token &&
        snprintf(a->token, sizeof a->token, "%s", token) >= (int)sizeof a->token)
        rc = err_field(e, ERR_RANGE, "admin-token-file",
                       "the token is over %zu characters", sizeof a->token - 1);
    if (!rc) return a;
    auth_free(a);
    return NULL;
}

void auth_free(struct auth *a)
{
    free(a);
}

bool auth_host_ok(const struct auth *a, const char *host)
{
    if (!host) return true;

    /* cut off the port: after the last colon, unless that is inside [::1] */
    char name[AUTH_TEXT];
    const char *colon = strrchr(host, ':'), *bracket = strrchr(host, ']');
    size_t n =
        colon && (!bracket || colon > bracket) ? (size_t)(colon - host) : strlen(host);
    if (n == 0 || n >= sizeof name) return false;
    memcpy(name, host, n);
    name[n] = '\0';

    size_t localhost = strlen(".localhost");
    if (n > localhost && strcasecmp(name + n - localhost, ".localhost") == 0) return true;
    return listen_is_numeric(name) || listen_is_loopback(name) ||
           contains(&a->hosts, name);
}

enum auth_origin auth_origin(const struct auth *a, const char *origin, const char *host)
{
    if (!origin) return AUTH_NO_ORIGIN;
    if (a->any_origin || contains(&a->origins, origin)) return AUTH_OUR_ORIGIN;
    const char *from = origin_host(origin);
    return from && host && strcasecmp(from, host) == 0 ? AUTH_OUR_ORIGIN : AUTH_FOREIGN;
}

bool auth_token_ok(const struct auth *a, const char *header)
{
    return !a->token[0] || auth_token_given(a, header);
}

bool auth_token_given(const struct auth *a, const char *header)
{
    if (!a->token[0]) return false;
    if (!header || strncasecmp(header, "Bearer ", 7) != 0) return false;

    const char *given = header + 7;
    given += strspn(given, " ");
    size_t n = strlen(given), want = strlen(a->token);
    unsigned differ = n != want;
    for (size_t i = 0; i < want; i++)
        differ |= (unsigned char)a->token[i] ^ (unsigned char)(i < n ? given[i] : 0);
    return differ == 0;
}

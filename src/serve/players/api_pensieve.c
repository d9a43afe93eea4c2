#include "serve/players/api_players.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "serve/players/pensieve.h"

/* The value of the cookie `name`; false when there is none, or it does not fit. */
static bool cookie(char *out, size_t size, const struct http_request *q, const char *name)
{
    const char *at = http_header(q, "Cookie");
    size_t n_name = strlen(name);
    while (at && *at) {
        at += strspn(at, "; ");
        size_t n = strcspn(at, ";");
        if (n > n_name && strncmp(at, name, n_name) == 0 && at[n_name] == '=') {
            size_t n_value = n - n_name - 1;
            if (n_value >= size) return false;
            memcpy(out, at + n_name + 1, n_value);
            out[n_value] = '\0';
            return true;
        }
        at += n;
    }
    return false;
}

/* The client's key: its address, and a name that it may give, since clients may share an address. */
static int who(unsigned char key[CLIENTS_KEY], const struct api *a,
               const struct http_request *q, const struct admit_client *from,
               struct err *e)
{
    char name[128];
    int given = http_query(name, sizeof name, q, "client", e);
    if (given < 0) return given;
    if (!given && !cookie(name, sizeof name, q, "abrd")) name[0] = '\0';
    clients_key(key, players_of(a)->pensieve, from->addr.byte,
                from->known ? sizeof from->addr.byte : 0, name);
    return 0;
}

static void pensieve_tell(struct reply *r, int level)
{
    static const char *const words[] = {"0", "1", "2", "3", "4", "5"};
    const char *word = level == PENSIEVE_REFRESH ? "REFRESH" : words[level];
    reply_static(r, 200, "text/plain", word, strlen(word));
}

void api_pensieve(struct api *a, const struct http_request *q,
                  const struct route_params *p, struct reply *r)
{
    (void)p;
    struct err e = {0};
    struct pensieve_post post;
    if (pensieve_read(&post, q->body, q->n_body, &e)) {
        reply_err(r, &e);
        return;
    }
    if (post.summary) { /* was only written down there, too */
        reply_empty(r, 204);
        return;
    }

    struct api_shared *sh = a->shared;
    struct clients *clients = players_of(a)->pensieve;
    struct admit_client from;
    unsigned char key[CLIENTS_KEY];
    char profile[4 * SERVICE_NAME]; /* more than a name: none is cut to another */
    admit_client(&from, sh->admit, q);
    int given = who(key, a, q, &from, &e);
    double max_kbps = 0;
    if (!given && http_number(&max_kbps, q, "max_kbps", VIEW_KBPS_MIN, VIEW_KBPS_MAX, &e))
        given = e.code;
    if (!given) given = http_query(profile, sizeof profile, q, "profile", &e);
    if (given < 0) {
        reply_err(r, &e);
        return;
    }
    if (!given) snprintf(profile, sizeof profile, "pensieve");
    if (strlen(profile) >= SERVICE_NAME) {
        reply_fail(r, 404, "profile", "there is no such profile");
        return;
    }

    int level = 0;
    double now = clock_mono();
    if (api_too_often(r, admit_key(sh->admit, &from, key, now),
                      "requests of this client"))
        return;
    int rc =
        pensieve_ask(&level, clients, sh->service, a->scratch, key, &post, max_kbps, &e);
    if (rc == 1 && sh->draining) {
        reply_fail(r, 503, "", "the daemon is stopping and takes no new sessions");
        return;
    }
    if (rc == 1) {
        if (api_too_often(r, admit_open(sh->admit, &from, now),
                          "sessions are opened from this address"))
            return;
        rc = pensieve_open(clients, sh->service, a->scratch, key, profile, &post,
                           max_kbps, &e);
        if (!rc)
            rc = pensieve_ask(&level, clients, sh->service, a->scratch, key, &post,
                              max_kbps, &e);
    }
    if (rc == 1) /* another post with this key came in between */
        reply_fail(r, 409, "lastRequest", "two clients with one address: give ?client=");
    else if (rc)
        reply_err(r, &e);
    else
        pensieve_tell(r, level);
}

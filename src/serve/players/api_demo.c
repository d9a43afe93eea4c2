/* The demo's media and the links that it offers. */
#include "serve/players/api_players.h"

void api_demo_links(struct api *a, const struct http_request *q,
                    const struct route_params *p, struct reply *r)
{
    (void)q;
    (void)p;
    const struct players *players = players_of(a);
    if (!players->media) {
        reply_fail(r, 404, "", "this daemon has no demo");
    } else {
        media_links(r, players->media);
    }
}

void api_demo_file(struct api *a, const struct http_request *q,
                   const struct route_params *p, struct reply *r)
{
    const char *file = route_param(p, "file");
    const struct players *players = players_of(a);
    if (!players->media) {
        reply_fail(r, 404, "", "this daemon has no demo");
    } else {
        struct admit_client client;
        admit_client(&client, a->shared->admit, q);
        media_get(
            r, players->media,
            &(struct media_question){.link = route_param(p, "link"),
                                     .viewer = route_param(p, "viewer"),
                                     .file = file,
                                     .range = http_header(q, "Range"),
                                     .held = client.limited ? players->viewing : NULL,
                                     .who = client.addr,
                                     .most = players->viewers_each});
        api_cmcd_segment(a, q, file, r);
    }
}

void api_demo_change(struct api *a, const struct http_request *q,
                     const struct route_params *p, struct reply *r)
{
    const struct players *players = players_of(a);
    if (!players->media) {
        reply_fail(r, 404, "", "this daemon has no demo");
        return;
    }
    struct admit_client client;
    admit_client(&client, a->shared->admit, q);
    media_put(r, players->media,
              &(struct media_question){.link = route_param(p, "link"),
                                       .viewer = route_param(p, "viewer"),
                                       .file = route_param(p, "file"),
                                       .held = client.limited ? players->viewing : NULL,
                                       .who = client.addr,
                                       .most = players->viewers_each},
              q->body, q->n_body);
}

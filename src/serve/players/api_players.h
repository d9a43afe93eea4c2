/* api_players.h - the handlers of players without a plugin (players.h).
 *
 * Threads: as api.h. */
#ifndef SERVE_API_PLAYERS_H
#define SERVE_API_PLAYERS_H

#include "serve/http/api.h"
#include "serve/players/players.h"

API_HANDLER(api_pensieve);
API_HANDLER(api_cmcd_events);
API_HANDLER(api_demo_links);
API_HANDLER(api_demo_file);
API_HANDLER(api_demo_change);
API_HANDLER(api_origin);

/* The CMCD that came with a request for a media segment, and the answer to it: of the demo's media,
 * and of an origin's, whose path is the one of contents.h. */
void api_cmcd_segment(struct api *a, const struct http_request *q, const char *file,
                      struct reply *r);
void api_cmcd_origin(struct api *a, const struct http_request *q, const char *path,
                     struct reply *r);

#endif
